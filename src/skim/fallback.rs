//! A skimmer that may not answer, and the embedded one in its place.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::embedded::Embedded;
use super::{LineScores, SkimError, Skimmer, skim_safely};

/// Asks the first skimmer, and where it fails the embedded one, which says so.
pub struct Fallback {
    first: Arc<dyn Skimmer>,
    embedded: Embedded,
}

impl Fallback {
    /// The embedded skimmer behind another one.
    pub fn new(first: Arc<dyn Skimmer>) -> Self {
        Self { first, embedded: Embedded::default() }
    }
}

impl Skimmer for Fallback {
    fn skim(&self, lines: &[&str], question: &str, cancel: &CancellationToken) -> Result<LineScores, SkimError> {
        match skim_safely(self.first.as_ref(), lines, question, cancel) {
            Ok(scores) => Ok(scores),
            Err(SkimError::Cancelled) => Err(SkimError::Cancelled),
            Err(error) => {
                tracing::debug!(%error, "the embedded skimmer is used");
                let scores = self.embedded.skim(lines, question, cancel)?;
                Ok(LineScores { note: Some(format!("Chosen by the embedded skimmer, because {error}.")), ..scores })
            }
        }
    }

    fn room(&self) -> usize {
        self.first.room()
    }

    fn warm_up(&self) {
        self.embedded.warm_up();
        self.first.warm_up();
    }
}
