//! A skimmer that may not answer, and the embedded one in its place.

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::embedded::Embedded;
use super::{LineScores, SkimError, Skimmer, skim_safely};

/// Asks the first skimmer, and where it fails the embedded one, which says so.
pub struct Fallback {
    first: Arc<dyn Skimmer>,
    embedded: Embedded,
    patience: Option<Duration>,
}

impl Fallback {
    /// The embedded skimmer behind another one.
    pub fn new(first: Arc<dyn Skimmer>) -> Self {
        Self { first, embedded: Embedded::default(), patience: None }
    }

    /// The same, where the first skimmer may take so long and no longer.
    #[must_use]
    pub fn within(self, patience: Duration) -> Self {
        Self { patience: Some(patience), ..self }
    }

    /// The scores of the first skimmer, if it has them in time.
    fn first(&self, lines: &[&str], question: &str, cancel: &CancellationToken) -> Result<LineScores, SkimError> {
        let Some(patience) = self.patience else { return skim_safely(self.first.as_ref(), lines, question, cancel) };
        let in_time = cancel.child_token();
        let (is_done, done) = mpsc::channel::<()>();
        let watched = in_time.clone();
        std::thread::spawn(move || {
            if done.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
                watched.cancel();
            }
        });
        let scores = skim_safely(self.first.as_ref(), lines, question, &in_time);
        drop(is_done);
        match scores {
            Err(SkimError::Cancelled) if !cancel.is_cancelled() => {
                Err(SkimError::TooLarge(format!("the model takes over {} seconds for this text", patience.as_secs())))
            }
            scores => scores,
        }
    }
}

impl Skimmer for Fallback {
    fn skim(&self, lines: &[&str], question: &str, cancel: &CancellationToken) -> Result<LineScores, SkimError> {
        match self.first(lines, question, cancel) {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes until it is cancelled.
    struct Endless;

    impl Skimmer for Endless {
        fn skim(&self, _: &[&str], _: &str, cancel: &CancellationToken) -> Result<LineScores, SkimError> {
            while !cancel.is_cancelled() {
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(SkimError::Cancelled)
        }
    }

    #[test]
    fn a_model_that_takes_too_long_is_not_waited_for() {
        let fallback = Fallback::new(Arc::new(Endless)).within(Duration::from_millis(20));
        let lines = ["fn a() {}\n"; 50];
        let scores = fallback.skim(&lines, "What does a() do?", &CancellationToken::new()).expect("scores");
        let note = "Chosen by the embedded skimmer, because the model takes over 0 seconds for this text.";
        assert_eq!((scores.keep.len(), scores.note.as_deref()), (50, Some(note)));
        let withdrawn = CancellationToken::new();
        withdrawn.cancel();
        assert!(matches!(fallback.skim(&lines, "What does a() do?", &withdrawn), Err(SkimError::Cancelled)));
    }
}
