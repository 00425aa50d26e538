//! Numbers from outcomes. Counts are micro-averaged over lines; recall at a keep rate is averaged over questions.

use serde::Serialize;

use super::{Label, Outcome};
use crate::skim::best_first;

/// Shares of the lines kept at which recall is given.
pub const KEEP_RATES: [f64; 4] = [0.1, 0.2, 0.3, 0.4];
/// Bins of the calibration table.
const BINS: usize = 10;

/// Figures of one skimmer over some questions.
#[derive(Debug, Clone, Serialize)]
pub struct Figures {
    /// Questions that have an answer.
    pub answerable: usize,
    /// Questions that have none.
    pub absent: usize,
    /// Of the lines at or above the threshold, over answerable questions.
    pub scored: Agreement,
    /// Of the lines that the tool would show.
    pub shown: Agreement,
    /// Mean share of the answer's lines among the best-scored 10, 20, 30 and 40 % of the lines.
    pub recall_at: [f64; 4],
    /// The chance that an answerable question's text scores higher than an absent one's.
    pub absent_auc: Option<f64>,
    /// Share of the answerable questions, and of the absent ones, of which the tool would say that nothing answers.
    pub unanswered: [Option<f64>; 2],
    /// The same, of which it would say so or that the lines may not answer.
    pub doubted: [Option<f64>; 2],
    /// Share of the o200k tokens that the tool would not show, over all questions.
    pub tokens_saved: f64,
    /// Of the short definitions that hold a line that answers, the shares that are shown whole, and in pieces.
    pub definitions: [Option<f64>; 2],
    /// Share of the gaps that have one or two lines.
    pub thin_gaps: Option<f64>,
    /// Share of the views that parse, among texts that do.
    pub parse_valid: Option<f64>,
    /// Milliseconds of the skimmer: median and 95th percentile.
    pub latency: [f64; 2],
}

/// How two sets of lines agree.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Agreement {
    /// Harmonic mean of the next two.
    pub f1: f64,
    /// Share of the kept lines that answer.
    pub precision: f64,
    /// Share of the answering lines that are kept.
    pub recall: f64,
    /// Share of the lines that are kept.
    pub keep_rate: f64,
}

/// One bin of the calibration table.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Bin {
    /// Lines whose score falls into it.
    pub lines: usize,
    /// Their mean score.
    pub score: f64,
    /// The share of them that answers.
    pub answers: f64,
}

/// Lines, of those that count, as numbers to add up.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    /// All of them.
    lines: f64,
    /// Those that are kept and answer.
    pub both: f64,
    /// Those that are kept.
    pub kept: f64,
    /// Those that answer.
    pub labelled: f64,
}

impl Counts {
    /// Of the lines of one outcome that `kept` picks out.
    pub fn of(outcome: &Outcome, kept: &[bool]) -> Self {
        let mut counts = Self::default();
        for (label, kept) in outcome.labels.iter().zip(kept).filter(|(label, _)| **label != Label::Either) {
            let (label, kept) = (f64::from(u8::from(*label == Label::Keep)), f64::from(u8::from(*kept)));
            counts.add(&Self { lines: 1.0, both: label * kept, kept, labelled: label });
        }
        counts
    }

    pub fn add(&mut self, other: &Self) {
        self.lines += other.lines;
        self.both += other.both;
        self.kept += other.kept;
        self.labelled += other.labelled;
    }
}

impl Agreement {
    /// Of the lines that `kept` picks out of each outcome.
    pub fn of<'a>(outcomes: impl IntoIterator<Item = (&'a Outcome, &'a [bool])>) -> Self {
        let mut sum = Counts::default();
        outcomes.into_iter().for_each(|(outcome, kept)| sum.add(&Counts::of(outcome, kept)));
        let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        Self {
            f1: share(2.0 * sum.both, sum.kept + sum.labelled),
            precision: share(sum.both, sum.kept),
            recall: share(sum.both, sum.labelled),
            keep_rate: share(sum.kept, sum.lines),
        }
    }
}

impl Figures {
    /// Over some outcomes.
    pub fn of(outcomes: &[&Outcome]) -> Self {
        let (answerable, absent): (Vec<&Outcome>, Vec<&Outcome>) = outcomes.iter().copied().partition(|outcome| outcome.is_answerable());
        let recall_at = KEEP_RATES.map(|rate| mean(answerable.iter().map(|outcome| outcome.recall_at(rate))));
        let answers = |outcomes: &[&Outcome]| outcomes.iter().map(|outcome| outcome.answer).collect::<Vec<_>>();
        let [whole, shown] = [0, 1].map(|i| outcomes.iter().map(|outcome| outcome.tokens[i]).sum::<usize>() as f64);
        let sum = |of: &dyn Fn(&Outcome) -> usize| outcomes.iter().map(|outcome| of(outcome)).sum::<usize>();
        let mut times: Vec<f64> = outcomes.iter().map(|outcome| outcome.milliseconds).collect();
        times.sort_by(f64::total_cmp);
        let percentile = |share: f64| times.get(((times.len() as f64 - 1.0) * share).round() as usize).copied().unwrap_or(0.0);
        Self {
            answerable: answerable.len(),
            absent: absent.len(),
            scored: Agreement::of(answerable.iter().map(|outcome| (*outcome, outcome.kept.as_slice()))),
            shown: Agreement::of(answerable.iter().map(|outcome| (*outcome, outcome.shown.as_slice()))),
            recall_at,
            absent_auc: auc(&answers(&answerable), &answers(&absent)),
            unanswered: [&answerable, &absent].map(|some| share(some.iter().map(|outcome| outcome.unanswered))),
            doubted: [&answerable, &absent].map(|some| share(some.iter().map(|outcome| outcome.doubted))),
            tokens_saved: if whole > 0.0 { 1.0 - shown / whole } else { 0.0 },
            definitions: [0, 1].map(|i| ratio(sum(&|outcome| outcome.definitions[i]), sum(&|outcome| outcome.definitions[2]))),
            thin_gaps: ratio(sum(&|outcome| outcome.gaps[0]), sum(&|outcome| outcome.gaps[1])),
            parse_valid: share(outcomes.iter().filter_map(|outcome| outcome.parses)),
            latency: [percentile(0.5), percentile(0.95)],
        }
    }
}

impl Outcome {
    /// Whether any line that counts answers.
    pub fn is_answerable(&self) -> bool {
        self.labels.contains(&Label::Keep)
    }

    /// F1 of the lines that the tool would show.
    pub fn f1(&self) -> f64 {
        Agreement::of([(self, self.shown.as_slice())]).f1
    }

    /// The share of the answer's lines among the best-scored `rate` of the lines that count, at least one; what is to be expected where lines with
    /// the same score are taken in any order.
    pub fn recall_at(&self, rate: f64) -> f64 {
        let order = best_first(&self.scores, (0..self.labels.len()).filter(|i| self.labels[*i] != Label::Either));
        let room = ((order.len() as f64 * rate) as usize).max(1);
        let (mut taken, mut found, mut all) = (0, 0.0, 0);
        for equal in order.chunk_by(|a, b| self.scores[*a] == self.scores[*b]) {
            let answering = equal.iter().filter(|i| self.labels[**i] == Label::Keep).count();
            let fit = equal.len().min(room - taken);
            found += answering as f64 * fit as f64 / equal.len() as f64;
            (taken, all) = (taken + fit, all + answering);
        }
        if all > 0 { found / all as f64 } else { 0.0 }
    }
}

/// Scores against the share of lines that answer, over answerable questions, in ten bins of equal width.
pub fn calibration(outcomes: &[&Outcome]) -> Vec<Bin> {
    let mut bins = vec![Bin::default(); BINS];
    for outcome in outcomes.iter().filter(|outcome| outcome.is_answerable()) {
        for (label, score) in outcome.labels.iter().zip(&outcome.scores).filter(|(label, _)| **label != Label::Either) {
            let bin = &mut bins[((f64::from(*score) * BINS as f64) as usize).min(BINS - 1)];
            bin.lines += 1;
            bin.score += f64::from(*score);
            bin.answers += f64::from(u8::from(*label == Label::Keep));
        }
    }
    for bin in bins.iter_mut().filter(|bin| bin.lines > 0) {
        bin.score /= bin.lines as f64;
        bin.answers /= bin.lines as f64;
    }
    bins
}

fn ratio(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// How many of some are; nothing where there are none.
fn share(some: impl Iterator<Item = bool>) -> Option<f64> {
    let all: Vec<f64> = some.map(|is| f64::from(u8::from(is))).collect();
    (!all.is_empty()).then(|| mean(all.into_iter()))
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len().max(1) as f64;
    values.fold(0.0, |sum, value| sum + value) / count // `sum` of nothing is -0
}

/// Area under the ROC curve; nothing where one side is missing.
fn auc(positive: &[f32], negative: &[f32]) -> Option<f64> {
    if positive.is_empty() || negative.is_empty() {
        return None;
    }
    let won = |p: &f32, n: &f32| if p > n { 1.0 } else { f64::from(u8::from(p == n)) / 2.0 };
    let total: f64 = positive.iter().flat_map(|p| negative.iter().map(move |n| won(p, n))).sum();
    Some(total / (positive.len() * negative.len()) as f64)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// An outcome with a threshold of a half.
    pub fn outcome(labels: &[Label], scores: &[f32], answer: f32) -> Outcome {
        let kept: Vec<bool> = scores.iter().map(|score| *score >= 0.5).collect();
        let shown = kept.clone();
        Outcome {
            labels: labels.to_vec(),
            scores: scores.to_vec(),
            answer,
            kept,
            shown,
            tokens: [10, 4],
            definitions: [1, 1, 2],
            gaps: [1, 4],
            parses: None,
            milliseconds: 1.0,
            search: false,
            unanswered: answer < 0.5,
            doubted: answer < 0.7,
        }
    }

    #[test]
    fn figures_of_a_small_case() {
        use Label::*;
        let a = outcome(&[Keep, Drop, Either, Keep, Drop], &[0.95, 0.65, 0.99, 0.2, 0.1], 0.8);
        let b = outcome(&[Drop, Drop], &[0.1, 0.2], 0.3);
        let figures = Figures::of(&[&a, &b]);
        assert_eq!((figures.answerable, figures.absent), (1, 1));
        assert!((figures.scored.f1 - 0.5).abs() < 1e-9 && (figures.scored.keep_rate - 0.5).abs() < 1e-9, "{figures:?}");
        assert!((figures.recall_at[3] - 0.5).abs() < 1e-9, "one of four lines is kept, and it answers");
        assert_eq!((figures.absent_auc, figures.unanswered), (Some(1.0), [Some(0.0), Some(1.0)]));
        assert_eq!(figures.doubted, [Some(0.0), Some(1.0)]);
        assert!((figures.tokens_saved - 0.6).abs() < 1e-9);
        let bins = calibration(&[&a, &b]);
        assert_eq!(bins.iter().map(|bin| bin.lines).sum::<usize>(), 4);
        assert!((bins[9].answers - 1.0).abs() < 1e-9 && bins[6].answers == 0.0);
    }

    #[test]
    fn ties_count_as_in_any_order() {
        assert_eq!(auc(&[0.5, 0.9], &[0.5]), Some(0.75));
        assert_eq!(auc(&[], &[0.5]), None);
        use Label::*;
        let tied = outcome(&[Keep, Drop, Keep, Drop, Drop], &[0.0, 0.9, 0.0, 0.0, 0.0], 0.8);
        assert!((tied.recall_at(0.4) - 0.25).abs() < 1e-9, "one of two places is taken, the other is one of four");
    }
}
