//! How far figures can be trusted: the range that they have where other packages had been drawn (bootstrap, Efron 1979).
//!
//! Questions about one package are right or wrong together, so whole packages are drawn, with replacement and as many as there are.

use std::collections::HashMap;
use std::hash::Hash;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use super::Outcome;
use super::figures::{Counts, KEEP_RATES};

/// Times that packages are drawn.
const DRAWS: usize = 1000;
/// Share of the draws that an interval holds.
const HOLDS: f64 = 0.95;

/// From and to; nothing where there is only one package, or nothing to measure.
pub type Interval = Option<[f64; 2]>;

/// The intervals of the figures that decide.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Intervals {
    /// Packages that questions are about; texts where the labels name none.
    pub packages: usize,
    /// Of F1 of the lines at or above the threshold.
    pub f1: Interval,
    /// Of recall at [`KEEP_RATES`].
    pub recall_at: [Interval; 4],
    /// Of the AUC of questions without an answer.
    pub absent_auc: Interval,
}

/// What the questions of one package add to the figures.
#[derive(Default)]
struct Package {
    lines: Counts,
    answerable: f64,
    recall: [f64; 4],
}

impl Intervals {
    /// Of some outcomes, each with the package that it is about.
    pub fn of<'a, K: Eq + Hash>(outcomes: impl IntoIterator<Item = (K, &'a Outcome)>) -> Self {
        let mut places: HashMap<K, usize> = HashMap::new();
        let mut packages: Vec<Package> = Vec::new();
        let mut answers: Vec<(f32, bool, usize)> = Vec::new(); // score, whether there is an answer, package
        for (package, outcome) in outcomes {
            let at = *places.entry(package).or_insert_with(|| {
                packages.push(Package::default());
                packages.len() - 1
            });
            answers.push((outcome.answer, outcome.is_answerable(), at));
            if outcome.is_answerable() {
                packages[at].add(outcome);
            }
        }
        answers.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut draws = ChaCha8Rng::seed_from_u64(0);
        let (mut f1, mut recall, mut auc) = (Vec::new(), [(); 4].map(|()| Vec::new()), Vec::new());
        for _ in 0..if packages.len() > 1 { DRAWS } else { 0 } {
            let mut times = vec![0.0; packages.len()];
            (0..packages.len()).for_each(|_| times[draws.random_range(0..packages.len())] += 1.0);
            let sum = |of: &dyn Fn(&Package) -> f64| packages.iter().zip(&times).map(|(package, times)| times * of(package)).sum::<f64>();
            f1.push(2.0 * sum(&|package| package.lines.both) / sum(&|package| package.lines.kept + package.lines.labelled));
            for (i, recall) in recall.iter_mut().enumerate() {
                recall.push(sum(&|package| package.recall[i]) / sum(&|package| package.answerable));
            }
            auc.push(weighted_auc(&answers, &times));
        }
        Self { packages: packages.len(), f1: interval(f1), recall_at: recall.map(interval), absent_auc: interval(auc) }
    }
}

impl Package {
    fn add(&mut self, outcome: &Outcome) {
        self.answerable += 1.0;
        for (sum, rate) in self.recall.iter_mut().zip(KEEP_RATES) {
            *sum += outcome.recall_at(rate);
        }
        self.lines.add(&Counts::of(outcome, &outcome.kept));
    }
}

/// The AUC of answers in order of their scores, where each counts as often as its package was drawn.
fn weighted_auc(answers: &[(f32, bool, usize)], times: &[f64]) -> f64 {
    let (mut won, mut with, mut below) = (0.0, 0.0, 0.0);
    for equal in answers.chunk_by(|a, b| a.0 == b.0) {
        let count = |is_answerable| equal.iter().filter(|one| one.1 == is_answerable).map(|one| times[one.2]).sum::<f64>();
        let (answerable, absent) = (count(true), count(false));
        won += answerable * (below + absent / 2.0);
        with += answerable;
        below += absent;
    }
    won / (with * below)
}

/// The middle of what was drawn; draws without anything to measure do not count.
fn interval(mut drawn: Vec<f64>) -> Interval {
    drawn.retain(|value| value.is_finite());
    drawn.sort_by(f64::total_cmp);
    let at = |share: f64| drawn.get((share * (drawn.len() as f64 - 1.0)).round() as usize).copied();
    Some([at((1.0 - HOLDS) / 2.0)?, at(f64::midpoint(1.0, HOLDS))?])
}

#[cfg(test)]
mod tests {
    use super::super::Label::{Drop, Keep};
    use super::super::figures::tests::outcome;
    use super::*;

    #[test]
    fn packages_that_agree_leave_nothing_open_and_others_do() {
        let (right, wrong) = (outcome(&[Keep, Drop], &[0.9, 0.1], 0.9), outcome(&[Keep, Drop], &[0.1, 0.9], 0.4));
        let absent = outcome(&[Drop, Drop], &[0.1, 0.1], 0.6);
        let of = |outcomes: &[(&'static str, &Outcome)]| Intervals::of(outcomes.iter().copied());
        let same = of(&[("a", &right), ("b", &right), ("a", &absent), ("b", &absent)]);
        assert_eq!((same.packages, same.f1, same.absent_auc), (2, Some([1.0, 1.0]), Some([1.0, 1.0])));
        let differ = of(&[("a", &right), ("b", &wrong), ("a", &absent), ("b", &absent)]);
        assert_eq!((differ.f1, differ.recall_at[0], differ.absent_auc), (Some([0.0, 1.0]), Some([0.0, 1.0]), Some([0.0, 1.0])));
        assert_eq!(of(&[("a", &right), ("a", &wrong)]).f1, None);
    }
}
