//! Which lines the scores pick: by threshold, and by a higher one where the view would not fit.

use crate::skim::LineScores;

/// Lines picked at least, when the text answers but fewer lines reach the threshold: an answer is never empty, nor a lone header.
const FALLBACK: usize = 5;
/// A gap whose text is this short, in characters, costs no more than its marker: `⋮ 120-347` takes 7 o200k and 8 cl100k tokens.
const CHEAP_GAP: usize = 24;

/// Picks lines and completes them (`complete` extends the flags it is given and returns the cost of the view). Among the sets at or above
/// the threshold, the largest one that costs at most `most`; if none does, the best lines without what belongs to them.
pub fn select(scores: &LineScores, pickable: &[bool], most: usize, mut complete: impl FnMut(&mut [bool]) -> usize) -> Vec<bool> {
    let mut order: Vec<usize> = (0..pickable.len()).filter(|i| pickable[*i]).collect();
    order.sort_by(|a, b| scores.keep[*b].total_cmp(&scores.keep[*a]).then(a.cmp(b)));
    let above = order.iter().take_while(|i| scores.keep[**i] >= scores.thresholds.keep).count();
    let picked = above.max(FALLBACK).min(order.len());
    let pick = |count: usize| {
        let mut kept = vec![false; pickable.len()];
        order[..count].iter().for_each(|i| kept[*i] = true);
        kept
    };
    let mut attempt = |count: usize| {
        let mut kept = pick(count);
        let cost = complete(&mut kept);
        (cost <= most).then_some(kept)
    };
    if let Some(kept) = attempt(picked) {
        return kept;
    }
    let (mut fits, mut too_many, mut best) = (0, picked, None);
    while too_many - fits > 1 {
        let middle = fits.midpoint(too_many);
        match attempt(middle) {
            Some(kept) => (fits, best) = (middle, Some(kept)),
            None => too_many = middle,
        }
    }
    best.unwrap_or_else(|| pick(FALLBACK.min(picked)))
}

/// Blank lines and lone closers are not picked for themselves; completion brings them back where they belong.
pub fn is_structural(line: &str) -> bool {
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

    fn count(kept: &mut [bool]) -> usize {
        kept.iter().filter(|kept| **kept).count()
    }

    #[test]
    fn the_threshold_picks_and_the_budget_raises_it() {
        let pickable = [true, true, false, true, true, true, true, true];
        let scores = scores(&[0.6, 0.9, 0.99, 0.2, 0.7, 0.8, 0.55, 0.65]);
        assert_eq!(select(&scores, &pickable, 10, count), [true, true, false, false, true, true, true, true]);
        assert_eq!(select(&scores, &pickable, 2, count), [false, true, false, false, false, true, false, false]);
    }

    #[test]
    fn an_answer_is_never_empty() {
        assert_eq!(select(&scores(&[0.1, 0.2]), &[true, true], 10, count), [true, true]);
    }

    #[test]
    fn where_nothing_fits_the_best_lines_stay() {
        let all = |kept: &mut [bool]| {
            kept.fill(true);
            100
        };
        let scores = scores(&[0.6, 0.9, 0.8, 0.55, 0.7, 0.95]);
        assert_eq!(select(&scores, &[true; 6], 10, all), [true, true, true, false, true, true]);
    }

    #[test]
    fn brackets_and_blank_lines_are_structure() {
        assert!(["", "  });\n", "end\n"].into_iter().all(is_structural) && !is_structural("} else {"));
    }

    #[test]
    fn a_gap_cheaper_than_its_marker_is_filled() {
        let lines = ["keep", "", "}", "keep", "a long line that is worth a marker"];
        let mut kept = [true, false, false, true, false];
        fill_cheap_gaps(&mut kept, &lines);
        assert_eq!(kept, [true, true, true, true, false]);
    }
}
