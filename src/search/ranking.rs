//! One notion of relevance: what speaks for a file and for a unit, weighed. The weights of the last stage are fitted by `training/ranking.py`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::lexical::{Candidate, OfFile};
use super::units::{OfUnit, Source};

/// How much the score of its file counts for a unit.
const OF_ITS_FILE: f32 = 0.2;

/// How likely a file is worth to be read.
pub fn first(candidate: &Candidate) -> f32 {
    of_words(&candidate.evidence)
}

fn of_words(it: &OfFile) -> f32 {
    let by_words = it.whole + it.passage + 0.3 * it.others + 0.5 * it.has;
    let by_name = 0.8 * it.called + 0.2 * it.asked + 0.2 * it.inside + 0.3 * it.defines + 0.5 * it.exactly;
    (by_words + by_name) * (1.0 - 0.7 * it.aside) * (1.0 - 0.5 * it.prose)
}

/// How likely a unit is worth to be skimmed.
pub fn second(file: &OfFile, unit: &OfUnit) -> f32 {
    let by_name = 0.8 * unit.called + 0.3 * unit.asked + unit.exactly + 0.3 * unit.owner + 0.5 * unit.head;
    0.6 * of_words(file) + (unit.matches + 0.5 * unit.has + by_name) * (1.0 - 0.7 * unit.test)
}

/// Whether anything answers, by the best units: logistic regression on 430 questions, half of them asked of another repository, so that 3 of 100 that
/// have an answer, at most, fall below `NOTHING`.
const HAS: f32 = 3.77;
const ANSWERS: f32 = 0.1;
const NOTHING: f32 = 0.63;
const DOUBT: f32 = 1.0;
/// Units that are looked at for that.
const BEST: usize = 5;

/// What is thought of an answer as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It answers.
    Answers,
    /// It may not.
    Doubtful,
    /// Nothing does.
    Nothing,
}

/// Whether anything answers, by the best units.
pub fn verdict<'a>(best: impl Iterator<Item = &'a OfUnit>) -> Verdict {
    let best: Vec<&OfUnit> = best.take(BEST).collect();
    let most = |of: fn(&OfUnit) -> f32| best.iter().map(|unit| of(unit)).fold(f32::NEG_INFINITY, f32::max);
    match HAS * most(|unit| unit.has) + ANSWERS * most(|unit| unit.answers) {
        enough if enough >= DOUBT => Verdict::Answers,
        some if some >= NOTHING => Verdict::Doubtful,
        _ => Verdict::Nothing,
    }
}

/// Fitted weights, in the order of what they weigh.
struct Weights {
    unit: Vec<f32>,
    file: Vec<f32>,
}

static WEIGHTS: LazyLock<Weights> = LazyLock::new(|| {
    let named: BTreeMap<String, BTreeMap<String, f32>> = serde_json::from_str(include_str!("weights.json")).expect("the weights are JSON");
    let of = |which: &str, names: Vec<String>| names.iter().map(|name| named[which].get(name).copied().unwrap_or(0.0)).collect();
    Weights { unit: of("unit", names_of_unit()), file: of("file", names_of_file()) }
});

fn weigh(weights: &[f32], values: &[f32]) -> f32 {
    weights.iter().zip(values).map(|(weight, value)| weight * value).sum()
}

fn with_prefix(prefix: &str, names: &[&str]) -> Vec<String> {
    names.iter().map(|name| format!("{prefix}.{name}")).collect()
}

fn names_of_unit() -> Vec<String> {
    let together = ["all its words", "aside and words", "prose and words", "best and answers"].map(str::to_owned);
    [with_prefix("file", OfFile::NAMES), with_prefix("unit", OfUnit::NAMES), together.to_vec()].concat()
}

/// What is weighed of a unit, by the names of [`names_of_unit`].
fn of_unit(file: &OfFile, unit: &OfUnit) -> Vec<f32> {
    let mut values = [file.values(), unit.values(), together(file).to_vec()].concat();
    values.push(unit.best * unit.answers);
    values
}

/// What counts only together.
fn together(file: &OfFile) -> [f32; 3] {
    let all_its_words = if file.asked > 0.99 { file.called } else { 0.0 };
    [all_its_words, file.aside * file.whole, file.prose * file.whole]
}

fn names_of_file() -> Vec<String> {
    let of_units = ["best unit", "best two", "best four", "all units"].map(str::to_owned);
    let together = ["all its words", "aside and words", "prose and words"].map(str::to_owned);
    [with_prefix("file", OfFile::NAMES), of_units.to_vec(), with_prefix("most", OfUnit::NAMES), together.to_vec()].concat()
}

/// What is weighed of a file, by the names of [`names_of_file`]: of its units their scores, and the most that speaks for any of them. `all` is the
/// logarithm of the sum of all exponentials of scores, which are at most 0.
fn of_file(file: &OfFile, units: &[OfUnit], scores: &[f32], all: f32) -> Vec<f32> {
    let mut best = scores.to_vec();
    best.sort_by(|a, b| b.total_cmp(a));
    let mean = |count: usize| best.iter().take(count).sum::<f32>() / best.len().min(count).max(1) as f32;
    let sum: f32 = scores.iter().map(|score| score.exp()).sum();
    let mut most = vec![f32::NEG_INFINITY; OfUnit::NAMES.len()];
    units.iter().for_each(|unit| most.iter_mut().zip(unit.values()).for_each(|(most, value)| *most = most.max(value)));
    let of_units = vec![mean(1), mean(2), mean(4), sum.max(f32::MIN_POSITIVE).ln() - all];
    [file.values(), of_units, most, together(file).to_vec()].concat()
}

/// The scores of files, and of the units of each: comparable within a search.
pub fn scores(sources: &[Source]) -> (Vec<f32>, Vec<Vec<f32>>) {
    let of = |source: &Source| -> Vec<f32> {
        source.units.iter().map(|unit| weigh(&WEIGHTS.unit, &of_unit(&source.candidate.evidence, &unit.evidence))).collect()
    };
    let mut units: Vec<Vec<f32>> = sources.iter().map(of).collect();
    let top = units.iter().flatten().copied().fold(f32::NEG_INFINITY, f32::max);
    units.iter_mut().flatten().for_each(|score| *score -= top);
    let all = units.iter().flatten().map(|score| score.exp()).sum::<f32>().ln();
    let of = |(source, scores): (&Source, &Vec<f32>)| {
        let evidence: Vec<OfUnit> = source.units.iter().map(|unit| unit.evidence).collect();
        weigh(&WEIGHTS.file, &of_file(&source.candidate.evidence, &evidence, scores, all))
    };
    let files: Vec<f32> = sources.iter().zip(&units).map(of).collect();
    units.iter_mut().zip(&files).for_each(|(units, file)| units.iter_mut().for_each(|score| *score += OF_ITS_FILE * file));
    (files, units)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_weights_are_of_something() {
        let named: BTreeMap<String, BTreeMap<String, f32>> = serde_json::from_str(include_str!("weights.json")).expect("JSON");
        for (which, names) in [("unit", names_of_unit()), ("file", names_of_file())] {
            let unknown: Vec<&String> = named[which].keys().filter(|name| !names.contains(name)).collect();
            assert!(unknown.is_empty() && !named[which].is_empty(), "{which}: {unknown:?}");
        }
        let (file, unit) = (OfFile::default(), OfUnit::default());
        assert_eq!(of_unit(&file, &unit).len(), names_of_unit().len());
        assert_eq!(of_file(&file, &[unit], &[0.0], 0.0).len(), names_of_file().len());
    }
}
