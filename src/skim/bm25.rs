//! The baseline: BM25 with the text's own document frequencies, smoothed over neighbouring lines. No model, no training; words count as they are
//! spelled, as in BM25 elsewhere.

use tokio_util::sync::CancellationToken;

use super::embedded::text::{Document, FEATURES, best_place};
use super::{LineScores, SkimError, Skimmer, Thresholds, embedded};

/// Scores are shares of the text's highest one. It has no notion of a text that does not answer.
const THRESHOLDS: Thresholds = Thresholds { strict: 0.5, balanced: 0.35, generous: 0.2, answer: 0.0, doubt: 0.0 };

/// A BM25 skimmer.
#[derive(Debug, Clone, Copy)]
pub struct Bm25 {
    column: usize,
}

impl Bm25 {
    /// Means over three lines before and after each.
    pub const NEAR: Self = Self { column: 1 };
    /// Means over ten lines before and after each.
    pub const WIDE: Self = Self { column: 2 };
}

impl Skimmer for Bm25 {
    /// `answer` is the share of the question's idf mass that occurs within ten lines, at its best place.
    fn skim(&self, lines: &[&str], question: &str, _: &CancellationToken) -> Result<LineScores, SkimError> {
        let document = Document::new(lines, question, embedded::vocabulary_as_spelled());
        let keep = document.features.iter().map(|row| row[FEATURES + self.column]).collect();
        Ok(LineScores { keep, answer: best_place(&document.features), thresholds: THRESHOLDS, note: None })
    }
}
