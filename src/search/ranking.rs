//! One notion of relevance: what speaks for a file and for a unit, weighed. The weights of the last stage are fitted by `training/ranking.py`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::lexical::{Candidate, OfFile};
use super::units::{OfUnit, Source, Unit};

/// How much the score of its file counts for a unit.
const OF_ITS_FILE: f32 = 0.2;

/// How far behind the best of the source tests and examples are, at least, where the question does not ask for them.
const BEHIND: f32 = 0.5;

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

/// Whether anything answers, by the best units: logistic regression by `training/answered.py`, on questions and on the same asked of another repository. Of a
/// long question even what answers has a smaller share. Of questions with an answer about 1 in 100 falls below `NOTHING`, and 5 below `DOUBT`.
const BIAS: f32 = -8.03;
const HAS: f32 = -3.85;
const ANSWERS: f32 = 0.043;
const LONG: f32 = -0.273;
const HAS_OF_LONG: f32 = 6.09;
const NEAR: f32 = 14.84;
const NOTHING: f32 = -2.6;
const DOUBT: f32 = -1.0;
/// How near the best are to a question of which no word has a vector: as those of all questions are in the mean.
const UNKNOWN: f32 = 0.38;
/// Where one of the best has so much of the question, it answers; where its name is so much of it, it may answer.
const ALL: f32 = 0.99;
const NAMED: f32 = 0.3;
/// Words of a question: shorter ones count as this long.
const FEWEST_WORDS: usize = 3;
/// Units that are looked at for that.
const BEST: usize = 5;

/// What is thought of an answer as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It answers.
    Answers,
    /// It may not.
    Doubtful,
    /// Nothing does.
    Nothing,
}

/// Whether anything answers a question of so many words, by the best units.
pub fn verdict<'a>(best: impl Iterator<Item = &'a OfUnit>, words: usize) -> Verdict {
    let best: Vec<&OfUnit> = best.take(BEST).collect();
    let most = |of: fn(&OfUnit) -> f32| best.iter().map(|unit| of(unit)).fold(f32::NEG_INFINITY, f32::max);
    let (has, answers, long) = (most(|unit| unit.has), most(|unit| unit.answers), (words.max(FEWEST_WORDS) as f32).ln());
    if best.is_empty() {
        return Verdict::Nothing;
    }
    if has >= ALL {
        return Verdict::Answers;
    }
    let near = best.iter().map(|unit| unit.near_all).sum::<f32>() / best.len() as f32;
    let near = if best.iter().all(|unit| unit.near_all == 0.0) { UNKNOWN } else { near };
    match BIAS + HAS * has + ANSWERS * answers + (LONG + HAS_OF_LONG * has) * long + NEAR * near {
        enough if enough >= DOUBT => Verdict::Answers,
        some if some >= NOTHING || most(|unit| unit.exactly) >= NAMED => Verdict::Doubtful,
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

fn with_prefix(prefix: &str, names: &[String]) -> Vec<String> {
    names.iter().map(|name| format!("{prefix}.{name}")).collect()
}

/// What is weighed as it is and against the most in the search, of units and of files.
const UNITS_AGAINST_MOST: [&str; 8] = ["matches", "best", "top", "mean", "called", "has", "near", "near_all"];
const FILES_AGAINST_MOST: [&str; 7] = ["whole", "passage", "others", "has", "near", "near_all", "called"];
/// The least that counts as the most.
const LEAST: f32 = 1e-3;

/// Values against the most of each in a search.
struct AgainstMost {
    at: Vec<usize>,
    most: Vec<f32>,
}

impl AgainstMost {
    fn new(names: &[&str], which: &[&str], all: impl Iterator<Item = Vec<f32>>) -> Self {
        let at: Vec<usize> = which.iter().filter_map(|name| names.iter().position(|other| other == name)).collect();
        let mut most = vec![LEAST; at.len()];
        all.for_each(|values| most.iter_mut().zip(&at).for_each(|(most, at)| *most = most.max(values[*at])));
        Self { at, most }
    }

    fn of(&self, values: &[f32]) -> Vec<f32> {
        [values.to_vec(), self.at.iter().zip(&self.most).map(|(at, most)| values[*at] / most).collect()].concat()
    }
}

fn with_most(names: &[&str], which: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).chain(which.iter().map(|name| format!("{name} of most"))).collect()
}

fn names_of_unit() -> Vec<String> {
    let together = ["all its words", "aside and words", "prose and words", "best and answers"].map(str::to_owned);
    [with_prefix("file", &of_files_names()), with_prefix("unit", &of_units_names()), together.to_vec()].concat()
}

fn names_of_file() -> Vec<String> {
    let of_units = ["best unit", "best two", "best four", "all units"].map(str::to_owned);
    let together = ["all its words", "aside and words", "prose and words"].map(str::to_owned);
    [with_prefix("file", &of_files_names()), of_units.to_vec(), with_prefix("most", &of_units_names()), together.to_vec()].concat()
}

fn of_files_names() -> Vec<String> {
    with_most(OfFile::NAMES, &FILES_AGAINST_MOST)
}

fn of_units_names() -> Vec<String> {
    with_most(OfUnit::NAMES, &UNITS_AGAINST_MOST)
}

/// What counts only together.
fn together(file: &OfFile) -> [f32; 3] {
    let all_its_words = if file.asked > 0.99 { file.called } else { 0.0 };
    [all_its_words, file.aside * file.whole, file.prose * file.whole]
}

/// What is weighed of a unit, by the names of [`names_of_unit`]. `of_file` and `of_unit` are the values of its file and its own, with those against the
/// most.
fn of_unit(file: &OfFile, of_file: &[f32], unit: &OfUnit, of_unit: &[f32]) -> Vec<f32> {
    let mut values = [of_file, of_unit, &together(file)].concat();
    values.push(unit.best * unit.answers);
    values
}

/// What is weighed of a file, by the names of [`names_of_file`]: of its units their scores, and the most that speaks for any of them. `all` is the
/// logarithm of the sum of all exponentials of scores, which are at most 0.
fn of_file(file: &OfFile, of_file: &[f32], of_units: &[Vec<f32>], scores: &[f32], all: f32) -> Vec<f32> {
    let mut best = scores.to_vec();
    best.sort_by(|a, b| b.total_cmp(a));
    let mean = |count: usize| best.iter().take(count).sum::<f32>() / best.len().min(count).max(1) as f32;
    let sum: f32 = scores.iter().map(|score| score.exp()).sum();
    let mut most = vec![f32::NEG_INFINITY; OfUnit::NAMES.len() + UNITS_AGAINST_MOST.len()];
    of_units.iter().for_each(|values| most.iter_mut().zip(values).for_each(|(most, value)| *most = most.max(*value)));
    let of_scores = [mean(1), mean(2), mean(4), sum.max(f32::MIN_POSITIVE).ln() - all];
    [of_file, &of_scores, &most, &together(file)].concat()
}

/// The scores of files, and of the units of each: comparable within a search.
pub fn scores(sources: &[Source]) -> (Vec<f32>, Vec<Vec<f32>>) {
    let file = |source: &Source| source.candidate.evidence;
    let of_files = AgainstMost::new(OfFile::NAMES, &FILES_AGAINST_MOST, sources.iter().map(|source| file(source).values()));
    let all_units = sources.iter().flat_map(|source| source.units.iter().map(|unit| unit.evidence.values()));
    let of_units = AgainstMost::new(OfUnit::NAMES, &UNITS_AGAINST_MOST, all_units);
    let file_values: Vec<Vec<f32>> = sources.iter().map(|source| of_files.of(&file(source).values())).collect();
    let unit_values: Vec<Vec<Vec<f32>>> =
        sources.iter().map(|source| source.units.iter().map(|unit| of_units.of(&unit.evidence.values())).collect()).collect();
    let score = |((source, of_file), of_units): ((&Source, &Vec<f32>), &Vec<Vec<f32>>)| -> Vec<f32> {
        let weighed = |(unit, values): (&Unit, &Vec<f32>)| weigh(&WEIGHTS.unit, &of_unit(&file(source), of_file, &unit.evidence, values));
        source.units.iter().zip(of_units).map(weighed).collect()
    };
    let mut units: Vec<Vec<f32>> = sources.iter().zip(&file_values).zip(&unit_values).map(score).collect();
    let top = units.iter().flatten().copied().fold(f32::NEG_INFINITY, f32::max);
    units.iter_mut().flatten().for_each(|score| *score -= top);
    let all = units.iter().flatten().map(|score| score.exp()).sum::<f32>().ln();
    let score =
        |(at, source): (usize, &Source)| weigh(&WEIGHTS.file, &of_file(&file(source), &file_values[at], &unit_values[at], &units[at], all));
    let mut files: Vec<f32> = sources.iter().enumerate().map(score).collect();
    units.iter_mut().zip(&files).for_each(|(units, file)| units.iter_mut().for_each(|score| *score += OF_ITS_FILE * file));
    let is_aside = |source: &Source, unit: &Unit| file(source).aside > 0.0 || unit.evidence.test > 0.0;
    let of_aside = sources.iter().zip(&mut units);
    put_behind(
        of_aside.flat_map(|(source, scores)| source.units.iter().zip(scores).map(move |(unit, score)| (is_aside(source, unit), score))),
    );
    put_behind(sources.iter().zip(&mut files).map(|(source, score)| (file(source).aside > 0.0, score)));
    (files, units)
}

/// Puts what is aside behind the best that is not: a test may have all words of a question, and often has them as its name.
fn put_behind<'a>(scores: impl Iterator<Item = (bool, &'a mut f32)>) {
    let (aside, source): (Vec<_>, Vec<_>) = scores.partition(|(is_aside, _)| *is_aside);
    if let Some(best) = source.iter().map(|(_, score)| **score).reduce(f32::max) {
        aside.into_iter().for_each(|(_, score)| *score = score.min(best - BEHIND));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invented_name_that_is_found_is_no_doubt() {
        let found = OfUnit { has: 1.0, exactly: 0.5, ..OfUnit::default() };
        assert_eq!(verdict([found, OfUnit::default()].iter(), 3), Verdict::Answers);
        let named = OfUnit { has: 0.5, exactly: 0.4, near_all: 0.1, ..OfUnit::default() };
        assert_eq!(verdict([named].iter(), 3), Verdict::Doubtful);
        let half = OfUnit { has: 0.5, near_all: 0.1, ..OfUnit::default() };
        assert_eq!(verdict([half].iter(), 3), Verdict::Nothing);
        assert_eq!(verdict([OfUnit { near_all: 0.0, ..half }].iter(), 12), Verdict::Answers); // nothing is known of what it means
        assert_eq!(verdict([].iter(), 3), Verdict::Nothing);
    }

    #[test]
    fn all_weights_are_of_something() {
        let named: BTreeMap<String, BTreeMap<String, f32>> = serde_json::from_str(include_str!("weights.json")).expect("JSON");
        for (which, names) in [("unit", names_of_unit()), ("file", names_of_file())] {
            let unknown: Vec<&String> = named[which].keys().filter(|name| !names.contains(name)).collect();
            assert!(unknown.is_empty() && !named[which].is_empty(), "{which}: {unknown:?}");
        }
        let (file, unit) = (OfFile::default(), OfUnit::default());
        let of_files = AgainstMost::new(OfFile::NAMES, &FILES_AGAINST_MOST, [file.values()].into_iter()).of(&file.values());
        let of_units = AgainstMost::new(OfUnit::NAMES, &UNITS_AGAINST_MOST, [unit.values()].into_iter()).of(&unit.values());
        assert_eq!(of_unit(&file, &of_files, &unit, &of_units).len(), names_of_unit().len());
        assert_eq!(of_file(&file, &of_files, &[of_units], &[0.0], 0.0).len(), names_of_file().len());
    }
}
