//! Scoring lines against a focus question.
//!
//! A skimmer sees text and a question and gives every line the probability that a careful reader would keep it. It knows nothing of
//! files, thresholds on size, or how a result is shown.

pub mod bm25;
pub mod embedded;
pub mod fallback;
pub mod kernels;
pub mod protocol;
pub mod remote;
mod shortlist;
pub mod swe_pruner;

use std::ops::Range;

use tokio_util::sync::CancellationToken;

/// Texts of more lines are not skimmed: even to pick some of them would take longer than clients wait.
pub const LONGEST_SKIMMED: usize = 500_000;

/// Scores of the lines of one text.
#[derive(Debug, Clone)]
pub struct LineScores {
    /// For each line the probability, 0 to 1, that it belongs to the answer.
    pub keep: Vec<f32>,
    /// The probability, 0 to 1, that anything in the text answers the question.
    pub answer: f32,
    /// Where the scores turn into decisions.
    pub thresholds: Thresholds,
    /// Something the reader should know about where the scores are from, as a sentence.
    pub note: Option<String>,
}

/// Decision points of a skimmer, calibrated on validation labels and shipped with its weights.
#[derive(Debug, Clone, Copy, serde::Deserialize)]
pub struct Thresholds {
    /// Lines at or above it are kept when precision counts twice as much as recall (best F0.5).
    pub strict: f32,
    /// Lines at or above it are kept by default (best F1).
    pub balanced: f32,
    /// Lines at or above it are kept when recall counts twice as much as precision (best F2).
    pub generous: f32,
    /// Below it the text is taken not to answer the question.
    pub answer: f32,
    /// Below it the text may well not answer; never below `answer`.
    pub doubt: f32,
}

/// How much to keep.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Keep {
    /// Fewer lines.
    Strict,
    /// What suits most questions.
    #[default]
    Balanced,
    /// More lines.
    Generous,
}

impl Thresholds {
    /// The threshold of the lines.
    pub fn keep(&self, keep: Keep) -> f32 {
        match keep {
            Keep::Strict => self.strict,
            Keep::Balanced => self.balanced,
            Keep::Generous => self.generous,
        }
    }
}

/// Why a skimmer gave no scores.
#[derive(Debug, thiserror::Error)]
pub enum SkimError {
    /// The caller withdrew the call.
    #[error("cancelled")]
    Cancelled,
    /// The model did not load or its arithmetic failed.
    #[error("{}", first_line(_0))]
    Model(#[from] candle_core::Error),
    /// The model is not in memory yet.
    #[error("the model is still loading")]
    Loading,
    /// A text that would take too long with this model.
    #[error("{0}")]
    TooLarge(String),
    /// A server that does not answer, or not to the point.
    #[error("{0}")]
    Remote(String),
    /// The scores are not numbers, or not one for each line.
    #[error("the model gave no usable scores")]
    Unusable,
    /// More lines than can be scored while somebody waits.
    #[error("{lines} lines are too many to skim, which takes {most} at most")]
    TooLong {
        /// Lines of the text.
        lines: usize,
        /// Lines that would do.
        most: usize,
    },
    /// A question that has nothing in it to look for.
    #[error("the question has no words")]
    NoWords,
    /// A bug in the skimmer, caught.
    #[error("the skimmer stopped unexpectedly")]
    Panicked,
}

/// What went wrong without the call stack that candle adds where RUST_BACKTRACE is set.
fn first_line(error: &candle_core::Error) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

/// A model that scores lines.
pub trait Skimmer: Send + Sync {
    /// Scores each of `lines` for `question`. Lines come with what ends them, or, if they are of a search result, without.
    ///
    /// # Errors
    /// Any failure; the caller then shows the text whole and says so.
    fn skim(&self, lines: &[&str], question: &str, cancel: &CancellationToken) -> Result<LineScores, SkimError>;

    /// Characters of search results that it scores while somebody waits.
    fn room(&self) -> usize {
        200_000
    }

    /// Loads what the first call would otherwise wait for; to be run where nobody waits.
    fn warm_up(&self) {}
}

/// One text of some lines, all but the last ended, and where in it the content of each is, in characters. Models and servers that read text
/// get it; lines of search results come without their ends.
pub fn joined(lines: &[&str]) -> (String, Vec<Range<usize>>) {
    let (mut text, mut at) = (String::new(), 0);
    let mut add = |(i, line): (usize, &&str)| {
        let content = at..at + line.trim_end_matches(['\r', '\n']).chars().count();
        let end = if line.ends_with('\n') || i + 1 == lines.len() { "" } else { "\n" };
        text.extend([*line, end]);
        at += line.chars().count() + end.len();
        content
    };
    let contents = lines.iter().enumerate().map(&mut add).collect();
    (text, contents)
}

/// Some lines, the best-scored first; of equals the earlier one.
pub fn best_first(scores: &[f32], lines: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut order: Vec<usize> = lines.collect();
    order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]).then(a.cmp(b)));
    order
}

/// Runs a skimmer on a text that is not too long for it, so that neither a panic nor an unusable score gets out of it.
pub fn skim_safely(skimmer: &dyn Skimmer, lines: &[&str], question: &str, cancel: &CancellationToken) -> Result<LineScores, SkimError> {
    if lines.len() > LONGEST_SKIMMED {
        return Err(SkimError::TooLong { lines: lines.len(), most: LONGEST_SKIMMED });
    }
    let call = std::panic::AssertUnwindSafe(|| shortlist::skim(skimmer, lines, question, cancel));
    let scores = std::panic::catch_unwind(call).unwrap_or(Err(SkimError::Panicked))?;
    if scores.keep.len() != lines.len() || !scores.answer.is_finite() || scores.keep.iter().any(|score| !score.is_finite()) {
        return Err(SkimError::Unusable);
    }
    Ok(scores)
}
