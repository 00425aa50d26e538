//! Which lines the scores pick: by threshold, and by a higher one where the view would not fit.

use std::collections::HashSet;
use std::ops::Range;

use super::{Definition, Pointer, is_name_part};
use crate::skim::{LineScores, best_first};

/// Lines picked at least, when the text answers but fewer lines reach the threshold: an answer is never empty, nor a lone header.
const FALLBACK: usize = 5;
/// Fewer lines are few in a long text, where scores are lower: with the threshold of short ones, one view in twelve of a file misses the answer
/// altogether and one in three shows less than half of it; with so many lines it is one in twenty-five to forty by set, and one in four, for thirteen
/// lines more in eight hundred (`training/LOG.md`).
const FEW: usize = 80;
/// A text is long in which these are no more than one line in so many.
const FEW_IN: usize = 20;
/// A gap whose text is this short, in characters, costs no more than its marker: `⋮ 120-347` takes 7 o200k and 8 cl100k tokens.
const CHEAP_GAP: usize = 24;
/// The same with blank lines beside a single line that says something, in a gap of no more lines than [`LONE`].
const CHEAP_LINE: usize = 100;
/// Lines of such a gap.
const LONE: usize = 3;
/// Gaps of so many lines are not worth a call of their own to read, nor a marker with what it says.
const THIN: usize = 2;
/// Unless they are longer, in characters.
const THIN_GAP: usize = 300;
/// Definitions named in the gaps of a view, at most.
const POINTERS: usize = 4;
/// Shorter ones are not named, in lines: the name would cost as much as they do.
const POINTED_TO: usize = 4;
/// One whose best line has less than this share of the generous threshold is not named.
const UNLIKELY: f32 = 0.3;

/// Which scores are picked.
#[derive(Debug, Clone, Copy)]
pub struct Cut {
    /// All lines with this score.
    pub enough: f32,
    /// In a long text also the best of those with this one, until they are few no longer.
    pub likely: f32,
}

/// Picks lines and completes them. Among the sets of lines that the cut allows, the largest one that fits; if none does, the best lines, few
/// enough to fit but at least one, without what belongs to them.
pub fn select(scores: &[f32], cut: Cut, pickable: &[bool], complete: impl Fn(&mut [bool]), fits: impl Fn(&[bool]) -> bool) -> Vec<bool> {
    let order = best_first(scores, (0..pickable.len()).filter(|i| pickable[*i]));
    let reach = |least: f32| order.iter().take_while(|i| scores[**i] >= least).count();
    let few = FEW.min(order.len() / FEW_IN);
    let picked = reach(cut.enough).max(reach(cut.likely).min(few)).max(FALLBACK).min(order.len());
    let pick = |count: usize| flags(pickable.len(), &order[..count]);
    let attempt = |count: usize| {
        let mut kept = pick(count);
        complete(&mut kept);
        fits(&kept).then_some(kept)
    };
    if let Some(kept) = attempt(picked) {
        return kept;
    }
    let (mut few_enough, mut too_many, mut best) = (0, picked, None);
    while too_many - few_enough > 1 {
        let middle = few_enough.midpoint(too_many);
        match attempt(middle) {
            Some(kept) => (few_enough, best) = (middle, Some(kept)),
            None => too_many = middle,
        }
    }
    best.or_else(|| (1..=FALLBACK.min(picked)).rev().map(pick).find(|kept| fits(kept))).unwrap_or_else(|| pick(1.min(picked)))
}

/// One flag a line, set for `picked`.
fn flags(lines: usize, picked: &[usize]) -> Vec<bool> {
    let mut kept = vec![false; lines];
    picked.iter().for_each(|line| kept[*line] = true);
    kept
}

/// The first of the kept lines, as many as fit, at least one.
pub fn first_that_fit(kept: Vec<bool>, fits: impl Fn(&[bool]) -> bool) -> Vec<bool> {
    if fits(&kept) {
        return kept;
    }
    let order: Vec<usize> = (0..kept.len()).filter(|line| kept[*line]).collect();
    let first = |count: usize| flags(kept.len(), &order[..count]);
    let most = (1..order.len()).collect::<Vec<_>>().partition_point(|count| fits(&first(*count)));
    first(most.max(1).min(order.len()))
}

/// Blank lines and lone closers are not picked for themselves; completion brings them back where they belong.
pub fn is_structural(line: &str) -> bool {
    let text = line.trim();
    text == "end" || text.chars().all(|c| "{}()[];,".contains(c))
}

/// Where the best line of all is in the header of a definition and no line of its body reaches the threshold, lifts the best lines of the body
/// to it: the header says that the answer is there, and not what it is.
pub fn open_bodies(scores: &mut [f32], enough: f32, pickable: &[bool], definitions: &[Definition]) {
    let best = scores.iter().copied().fold(enough, f32::max);
    for Definition { lines, body, .. } in definitions {
        let reaches = |mut lines: Range<usize>, least: f32| lines.any(|line| pickable[line] && scores[line] >= least);
        if reaches(lines.start..body.start, best) && !reaches(body.clone(), enough) {
            let order = best_first(scores, body.clone().filter(|line| pickable[*line]));
            order.into_iter().take(FALLBACK).for_each(|line| scores[line] = enough);
        }
    }
}

/// The definitions without a kept line, or without one below a kept header, that are likeliest to be missed, the likeliest first. Before all others
/// come those that kept lines name.
pub fn likeliest_left_out(definitions: &[Definition], kept: &[bool], lines: &[&str], scores: &LineScores) -> Vec<Pointer> {
    let said: HashSet<&str> = lines.iter().zip(kept).filter(|(_, kept)| **kept).flat_map(|(line, _)| names_used(line)).collect();
    let none_kept = |lines: &Range<usize>| !kept[lines.clone()].contains(&true);
    // What is shown is what is meant by its name.
    let is_shown = |definition: &&Definition| !none_kept(&definition.body);
    let shown: HashSet<&str> = definitions.iter().filter(is_shown).filter_map(|definition| definition.name.as_deref()).collect();
    let mut left_out = Vec::new();
    for Definition { lines, body, name, .. } in definitions {
        let Some(name) = name else { continue };
        let is_named = !shown.contains(name.as_str()) && name.split('.').all(|part| said.contains(part));
        let best = scores.keep[lines.clone()].iter().copied().fold(0.0, f32::max);
        let hidden = [lines, body].into_iter().find(|lines| none_kept(lines)).filter(|lines| lines.len() >= POINTED_TO);
        let Some(lines) = hidden.filter(|_| is_named || best >= scores.thresholds.generous * UNLIKELY) else { continue };
        left_out.push((is_named, best, Pointer { lines: lines.clone(), name: name.clone(), with_lines: true }));
    }
    left_out.sort_by(|a, b| b.0.cmp(&a.0).then(b.1.total_cmp(&a.1)));
    left_out.truncate(POINTERS);
    left_out.into_iter().map(|(_, _, definition)| definition).collect()
}

/// The words of a line that are names of something: what is called or belongs to something, and what is written as no word of a sentence is.
fn names_used(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c| !is_name_part(c)).filter(|word| {
        let at = word.as_ptr() as usize - line.as_ptr() as usize;
        let belongs = line[..at].ends_with(['.', ':', '>']) || line[at + word.len()..].starts_with('(');
        !word.is_empty() && (belongs || word.contains(|c: char| c == '_' || c.is_uppercase()))
    })
}

/// Keeps lines whose gap marker would cost as much as they do.
pub fn fill_cheap_gaps(kept: &mut [bool], lines: &[&str]) {
    for gap in super::gaps(kept) {
        let edge = gap.start == 0 || gap.end == lines.len();
        let says = lines[gap.clone()].iter().filter(|line| !line.trim().is_empty()).count();
        let blank = says == 0;
        let cost: usize = lines[gap.clone()].iter().map(|line| line.trim().len() + 1).sum();
        let cheap = if says == 1 && gap.len() <= LONE { CHEAP_LINE } else { CHEAP_GAP };
        let cheap = if gap.len() <= THIN { THIN_GAP } else { cheap };
        if cost <= cheap && !(edge && blank && gap.len() > THIN) {
            kept[gap].fill(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_most(lines: usize) -> impl Fn(&[bool]) -> bool {
        move |kept| kept.iter().filter(|kept| **kept).count() <= lines
    }

    fn cut(enough: f32, likely: f32) -> Cut {
        Cut { enough, likely }
    }

    #[test]
    fn the_threshold_picks_and_the_budget_raises_it() {
        let pickable = [true, true, false, true, true, true, true, true];
        let scores = [0.6, 0.9, 0.99, 0.2, 0.7, 0.8, 0.55, 0.65];
        assert_eq!(select(&scores, cut(0.5, 0.5), &pickable, |_| (), at_most(10)), [true, true, false, false, true, true, true, true]);
        assert_eq!(select(&scores, cut(0.5, 0.5), &pickable, |_| (), at_most(2)), [false, true, false, false, false, true, false, false]);
    }

    #[test]
    fn in_a_long_text_few_lines_are_filled_up_with_likely_ones() {
        let picked = |lines: usize, likely: usize| {
            let scores: Vec<f32> = (0..lines).map(|line| if line < likely { 0.2 } else { 0.1 }).collect();
            select(&scores, cut(0.5, 0.2), &vec![true; lines], |_| (), at_most(lines)).into_iter().filter(|kept| *kept).count()
        };
        assert_eq!([picked(60, 30), picked(400, 30), picked(400, 12), picked(5000, 300)], [5, 20, 12, FEW]);
    }

    #[test]
    fn the_best_header_opens_its_body() {
        let definition =
            |start: usize| Definition { lines: start..start + 10, body: start + 1..start + 10, name: None, doc: 0..0, is_code: true };
        let mut scores = vec![0.1; 20];
        (scores[0], scores[10]) = (0.9, 0.6);
        open_bodies(&mut scores, 0.5, &[true; 20], &[definition(0), definition(10)]);
        assert_eq!(scores.iter().filter(|score| **score == 0.5).count(), FALLBACK);
        assert!(scores[10..].iter().all(|score| *score != 0.5));
    }

    #[test]
    fn names_are_told_from_words_of_a_comment() {
        let names: Vec<&str> = names_used("// an absolute path: close it with self.db, Root::open(x) or max_age").collect();
        assert_eq!(names, ["db", "Root", "open", "max_age"]);
    }

    #[test]
    fn an_answer_is_never_empty() {
        assert_eq!(select(&[0.1, 0.2], cut(0.5, 0.5), &[true, true], |_| (), at_most(10)), [true, true]);
    }

    #[test]
    fn where_nothing_fits_the_best_lines_stay() {
        let all = |kept: &mut [bool]| kept.fill(true);
        let scores = [0.6, 0.9, 0.8, 0.55, 0.7, 0.95];
        assert_eq!(select(&scores, cut(0.5, 0.5), &[true; 6], all, at_most(5)), [true, true, true, false, true, true]);
    }

    #[test]
    fn an_outline_is_cut_to_what_fits() {
        let kept = vec![true, false, true, true, true];
        assert_eq!(first_that_fit(kept.clone(), at_most(2)), [true, false, true, false, false]);
        assert_eq!(first_that_fit(kept.clone(), at_most(9)), kept);
        assert_eq!(first_that_fit(kept, at_most(0)), [true, false, false, false, false]);
    }

    #[test]
    fn brackets_and_blank_lines_are_structure() {
        assert!(["", "  });\n", "end\n"].into_iter().all(is_structural) && !is_structural("} else {"));
    }

    #[test]
    fn a_gap_cheaper_than_its_marker_is_filled() {
        let long = "a long line ".repeat(30);
        let lines = [
            "keep",
            "",
            "}",
            "keep",
            "two lines of",
            "ordinary length",
            "keep",
            "three lines",
            "that are worth",
            "a marker",
            "keep",
            &long,
        ];
        let mut kept = [true, false, false, true, false, false, true, false, false, false, true, false];
        fill_cheap_gaps(&mut kept, &lines);
        assert_eq!(kept, [true, true, true, true, true, true, true, false, false, false, true, false]);
    }
}
