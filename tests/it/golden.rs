//! The embedded skimmer in Candle gives what the trainer's PyTorch model gives. `training/export.py` writes the expected figures.

use codeskim::skim::Skimmer;
use codeskim::skim::embedded::{Embedded, Raw};
use tokio_util::sync::CancellationToken;

/// The largest difference allowed between the two, in log-odds and in probability.
const TOLERANCE: f32 = 1e-4;
/// The same for what the shipped skimmer's products in eight bits change.
const ROUNDING: f32 = 0.5;
/// The same for the mean over the lines.
const MEAN_ROUNDING: f32 = 0.2;

#[derive(serde::Deserialize)]
struct Case {
    lines: Vec<String>,
    question: String,
    emission: Vec<f32>,
    marginal: Vec<f32>,
    answer: f32,
    /// The same with the words weighed that came with the question, if any did.
    weighed: f32,
}

impl Case {
    fn lines(&self) -> Vec<&str> {
        self.lines.iter().map(String::as_str).collect()
    }
}

fn largest_difference(ours: &[f32], theirs: &[f32]) -> f32 {
    assert_eq!(ours.len(), theirs.len());
    ours.iter().zip(theirs).map(|(a, b)| (a - b).abs()).fold(0.0, |far, apart| if apart > far || apart.is_nan() { apart } else { far })
}

/// Each golden case with what `skimmer` makes of its lines before the CRF.
fn cases(skimmer: &Embedded) -> impl Iterator<Item = (Case, Raw)> {
    let cases: Vec<Case> = serde_json::from_str(include_str!("../golden/embedded.json")).expect("golden file");
    cases.into_iter().map(|case| {
        let raw = skimmer.raw(&case.lines(), &case.question, &CancellationToken::new()).expect("scores");
        (case, raw)
    })
}

#[test]
fn scores_equal_the_trainers() {
    let skimmer = Embedded::exact();
    for (case, raw) in cases(&skimmer) {
        let scores = skimmer.skim(&case.lines(), &case.question, &CancellationToken::new()).expect("scores");
        let (line, kept, answer, weighed) = (
            largest_difference(&raw.emission, &case.emission),
            largest_difference(&scores.keep, &case.marginal),
            (raw.answer - case.answer).abs(),
            (scores.answer - 1.0 / (1.0 + (-case.weighed).exp())).abs(),
        );
        let n = case.lines.len();
        println!(
            "{n} lines: largest difference of line log-odds {line:.1e}, of keep probabilities {kept:.1e}, of the answer's log-odds {answer:.1e}, \
             of its probability with words weighed {weighed:.1e}"
        );
        assert!(line < TOLERANCE && kept < TOLERANCE && answer < TOLERANCE && weighed < TOLERANCE);
    }
}

#[test]
fn products_in_eight_bits_change_little() {
    for (case, raw) in cases(&Embedded::default()) {
        let line = largest_difference(&raw.emission, &case.emission);
        let mean = raw.emission.iter().zip(&case.emission).map(|(a, b)| (a - b).abs()).sum::<f32>() / case.lines.len() as f32;
        let answer = (raw.answer - case.answer).abs();
        println!("{} lines: log-odds differ by {mean:.3}, at most {line:.3}, the answer's by {answer:.3}", case.lines.len());
        assert!(line > 0.0, "nothing was rounded");
        assert!(line < ROUNDING && mean < MEAN_ROUNDING && answer < ROUNDING);
    }
}
