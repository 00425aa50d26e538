//! Which lines the scores pick: by threshold, and by a higher one where the view would not fit.

use crate::skim::LineScores;

/// Lines picked when the text answers but no line reaches the threshold: the best ones, so that the answer is never empty.
const FALLBACK: usize = 5;
/// Tries to find a threshold that fits the budget; each halves the candidates.
const BUDGET_STEPS: usize = 12;
/// A gap whose text is this short, in characters, costs no more tokens than its marker would.
const CHEAP_GAP: usize = 20;

/// Picks lines and completes them (`complete` extends the flags it is given and returns the cost of the view). Among the sets at or above
/// the threshold, the largest one that costs at most `most`.
pub fn select(scores: &LineScores, lines: &[&str], most: usize, mut complete: impl FnMut(&mut Vec<bool>) -> usize) -> Vec<bool> {
    let scored: Vec<f32> = scores.keep.iter().zip(lines).map(|(score, line)| if is_structural(line) { 0.0 } else { *score }).collect();
    let mut order: Vec<usize> = (0..scored.len()).filter(|i| scored[*i] > 0.0).collect();
    order.sort_by(|a, b| scored[*b].total_cmp(&scored[*a]).then(a.cmp(b)));
    let above = order.iter().take_while(|i| scored[**i] >= scores.thresholds.keep).count();
    let picked = if above == 0 { FALLBACK.min(order.len()) } else { above };
    let mut attempt = |count: usize| {
        let mut kept = vec![false; lines.len()];
        order[..count].iter().for_each(|i| kept[*i] = true);
        let cost = complete(&mut kept);
        (kept, cost)
    };
    let (kept, cost) = attempt(picked);
    if cost <= most {
        return kept;
    }
    let (mut fits, mut too_many, mut best) = (0usize, picked, vec![false; lines.len()]);
    for _ in 0..BUDGET_STEPS {
        let middle = fits.midpoint(too_many);
        if middle == fits {
            break;
        }
        let (kept, cost) = attempt(middle);
        if cost <= most {
            (fits, best) = (middle, kept);
        } else {
            too_many = middle;
        }
    }
    if fits == 0 { kept } else { best }
}

/// Blank lines and lone closers are never picked for themselves; completion brings them back where they belong.
fn is_structural(line: &str) -> bool {
    let text = line.trim();
    text == "end" || text.chars().all(|c| "{}()[];,".contains(c))
}

/// Keeps lines whose gap marker would cost as much as they do.
pub fn fill_cheap_gaps(kept: &mut [bool], lines: &[&str]) {
    let gaps: Vec<_> =
        super::pieces(kept).into_iter().filter_map(|piece| if let super::Piece::Gap(gap) = piece { Some(gap) } else { None }).collect();
    for gap in gaps {
        let edge = gap.start == 0 || gap.end == lines.len();
        let blank = lines[gap.clone()].iter().all(|line| line.trim().is_empty());
        let cost: usize = lines[gap.clone()].iter().map(|line| line.trim().len() + 1).sum();
        if cost <= CHEAP_GAP && !(edge && blank && gap.len() > 1) {
            kept[gap].fill(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skim::Thresholds;

    fn scores(keep: &[f32]) -> LineScores {
        LineScores { keep: keep.to_vec(), answer: 1.0, thresholds: Thresholds { keep: 0.5, answer: 0.5 } }
    }

    fn count(kept: &mut Vec<bool>) -> usize {
        kept.iter().filter(|kept| **kept).count()
    }

    #[test]
    fn the_threshold_picks_and_the_budget_raises_it() {
        let lines = ["a", "b", "}", "d", "e"];
        let scores = scores(&[0.6, 0.9, 0.99, 0.2, 0.7]);
        assert_eq!(select(&scores, &lines, 10, count), [true, true, false, false, true]);
        assert_eq!(select(&scores, &lines, 2, count), [false, true, false, false, true]);
    }

    #[test]
    fn an_answer_is_never_empty() {
        assert_eq!(select(&scores(&[0.1, 0.2]), &["a", "b"], 10, count), [true, true]);
    }

    #[test]
    fn a_gap_cheaper_than_its_marker_is_filled() {
        let lines = ["keep", "", "}", "keep", "a long line that is worth a marker"];
        let mut kept = [true, false, false, true, false];
        fill_cheap_gaps(&mut kept, &lines);
        assert_eq!(kept, [true, true, true, true, false]);
    }
}
