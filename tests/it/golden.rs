//! The embedded skimmer in Candle gives what the trainer's PyTorch model gives. `training/export.py` writes the expected figures.

use codeskim::skim::Skimmer;
use codeskim::skim::embedded::Embedded;
use tokio_util::sync::CancellationToken;

/// The largest difference allowed between the two, in log-odds and in probability.
const TOLERANCE: f32 = 1e-4;

#[derive(serde::Deserialize)]
struct Case {
    lines: Vec<String>,
    question: String,
    emission: Vec<f32>,
    marginal: Vec<f32>,
    answer: f32,
}

fn largest_difference(ours: &[f32], theirs: &[f32]) -> f32 {
    assert_eq!(ours.len(), theirs.len());
    ours.iter().zip(theirs).map(|(a, b)| (a - b).abs()).fold(0.0, |far, apart| if apart > far || apart.is_nan() { apart } else { far })
}

#[test]
fn scores_equal_the_trainers() {
    let cases: Vec<Case> = serde_json::from_str(include_str!("../golden/embedded.json")).expect("golden file");
    let skimmer = Embedded::default();
    let cancel = CancellationToken::new();
    for case in cases {
        let lines: Vec<_> = case.lines.iter().map(String::as_str).collect();
        let raw = skimmer.raw(&lines, &case.question, &cancel).expect("scores");
        let scores = skimmer.skim(&lines, &case.question, &cancel).expect("scores");
        let (line, kept, answer) = (
            largest_difference(&raw.emission, &case.emission),
            largest_difference(&scores.keep, &case.marginal),
            (raw.answer - case.answer).abs(),
        );
        println!(
            "{} lines: largest difference of line log-odds {line:.1e}, of keep probabilities {kept:.1e}, of the answer's log-odds {answer:.1e}",
            lines.len()
        );
        assert!(line < TOLERANCE && kept < TOLERANCE && answer < TOLERANCE);
    }
}
