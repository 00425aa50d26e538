//! What is shown of a definition of which some lines are picked: where it is short all of it, its signature or nothing, and never pieces; where it is
//! long, with what its lines need.

use std::collections::HashSet;

use super::select::is_structural;
use super::{Definition, is_name_part};

/// Definitions of so many lines are shown whole for a single line: their signature with a gap would cost as much.
const TINY: usize = 5;
/// Definitions of so many lines are never shown in pieces.
const SHORT: usize = 30;
/// A short definition is shown whole where its lines are on average as likely to be wanted as this, and this share of the threshold.
const WORTH: [f32; 2] = [0.1, 0.4];
/// Or where one of its lines is as sure to be wanted as this.
const SURE: f32 = 0.9;
/// Characters of an average line. Longer ones weigh more, by the root of their length.
const LINE: f32 = 36.0;
/// A line that leaves a function is shown with others of it where its score has this share of what is enough.
const LEAVES: f32 = 0.8;

/// Settles what is shown of each definition of which lines are kept. The figures that these rules were chosen by are in `training/LOG.md`.
pub fn settle(kept: &mut [bool], lines: &[&str], definitions: &[Definition], scores: &[f32], enough: f32) {
    let best = (0..kept.len()).filter(|line| kept[*line]).max_by(|a, b| scores[*a].total_cmp(&scores[*b]));
    for definition in definitions.iter().filter(|it| it.is_code && it.lines.len() > 1) {
        if !kept[definition.lines.clone()].contains(&true) {
            continue;
        }
        if definition.lines.len() <= SHORT {
            settle_short(kept, lines, definition, scores, enough);
        } else {
            settle_long(kept, lines, definition, scores, enough);
        }
    }
    // The likeliest of all stays, whatever is around it.
    if let Some(best) = best.filter(|_| !kept.contains(&true)) {
        definitions.iter().filter(|it| it.lines.contains(&best)).for_each(|it| kept[it.lines.clone()].fill(true));
    }
}

fn settle_short(kept: &mut [bool], lines: &[&str], Definition { lines: all, body, .. }: &Definition, scores: &[f32], enough: f32) {
    let says: Vec<usize> = body.clone().filter(|line| !is_structural(lines[*line])).collect();
    let weight: f32 = says.iter().map(|line| (lines[*line].trim().len() as f32 / LINE).sqrt()).sum();
    let wanted: f32 = says.iter().map(|line| scores[*line]).sum();
    let is_picked = kept[body.clone()].contains(&true);
    let is_sure = body.clone().any(|line| kept[line] && scores[line] >= SURE);
    if is_sure || is_picked && all.len() <= TINY || wanted >= (WORTH[0] + WORTH[1] * enough) * weight.max(1.0) {
        return kept[all.clone()].fill(true);
    }
    let header = all.start..body.start;
    let is_named = kept[header.clone()].contains(&true);
    kept[all.clone()].fill(false);
    kept[header].fill(is_named);
}

/// Leaves out what is said in its docstring, and adds what gives values to what is shown, and where it returns.
fn settle_long(kept: &mut [bool], lines: &[&str], Definition { body, doc, .. }: &Definition, scores: &[f32], enough: f32) {
    let shown = |kept: &[bool]| body.clone().filter(|line| kept[*line] && !doc.contains(line)).collect::<Vec<_>>();
    let Some(last) = shown(kept).last().copied() else { return };
    doc.clone().filter(|line| scores[*line] < 1.0).for_each(|line| kept[line] = false);
    let used: HashSet<&str> = shown(kept).into_iter().flat_map(|line| names(lines[line])).collect();
    let mut given = HashSet::new();
    for line in (body.start..last).rev() {
        // The nearest one alone: what was there before it is gone.
        if assigned(lines[line]).is_some_and(|name| used.contains(name) && given.insert(name)) {
            kept[line] = true;
        }
    }
    let leaves = |line: &usize| leaves(lines[*line]) && scores[*line] >= LEAVES * enough;
    body.clone().filter(leaves).for_each(|line| kept[line] = true);
}

fn names(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c| !is_name_part(c)).filter(|word| word.starts_with(|c: char| c.is_alphabetic() || c == '_'))
}

/// Whether a line leaves its function.
fn leaves(line: &str) -> bool {
    let word = line.trim_start().split(|c| !is_name_part(c)).next();
    matches!(word, Some("return" | "raise" | "throw"))
}

/// The name that a line gives a value: the `x` of `let x: u8 = 1`, `int x = 1;` and `x := 1`.
fn assigned(line: &str) -> Option<&str> {
    let (before, after) = line.split_once('=')?;
    if after.starts_with(['=', '>', '~']) || before.ends_with(['!', '<', '>', '+', '-', '*', '/', '%', '&', '|', '^']) {
        return None;
    }
    let before = before.trim_end_matches(':').trim_end();
    let before = before.split_once(": ").map_or(before, |(name, _)| name);
    let name = before.rsplit(|c| !is_name_part(c)).next().filter(|name| !name.is_empty())?;
    (!before.contains(['(', '"', '\'', '[', '.', '#', '?'])).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_line_assigns() {
        let cases = [
            ("    x = 1", Some("x")),
            ("let mut x: u8 = 1;", Some("x")),
            ("  int *x = f(a);", Some("x")),
            ("x := 1", Some("x")),
            ("if x == 1:", None),
            ("x += 1", None),
            ("f(x=1)", None),
            ("self.x = 1", None),
            ("a <= b", None),
            ("(a) => b", None),
        ];
        cases.into_iter().for_each(|(line, name)| assert_eq!(assigned(line), name, "{line}"));
    }

    fn settled(length: usize, score: impl Fn(usize) -> f32, text: impl Fn(usize) -> &'static str) -> Vec<usize> {
        let lines: Vec<&str> = (0..length).map(text).collect();
        let scores: Vec<f32> = (0..length).map(score).collect();
        let mut kept: Vec<bool> = scores.iter().map(|score| *score >= 0.3).collect();
        let definition = Definition { lines: 0..length, body: 1..length, name: None, doc: 1..4, is_code: true };
        settle(&mut kept, &lines, &[definition], &scores, 0.3);
        (0..length).filter(|line| kept[*line]).collect()
    }

    #[test]
    fn a_short_definition_is_shown_whole_or_as_its_signature_or_not_at_all() {
        let line = |_| "an ordinary line of some length, so";
        assert_eq!(settled(20, |line| if line > 9 { 0.5 } else { 0.0 }, line), (0..20).collect::<Vec<_>>());
        assert_eq!(settled(20, |line| if line == 0 || line == 9 { 0.5 } else { 0.0 }, line), [0]);
        assert_eq!(settled(20, |line| if line == 0 || line == 9 { 0.95 } else { 0.0 }, line), (0..20).collect::<Vec<_>>());
        assert_eq!(settled(20, |line| if line == 9 { 0.5 } else { 0.0 }, line), (0..20).collect::<Vec<_>>(), "there is nothing else");
        assert_eq!(settled(TINY, |line| if line == 4 { 0.5 } else { 0.0 }, line), (0..TINY).collect::<Vec<_>>());
    }

    #[test]
    fn of_a_long_definition_what_its_lines_need_is_shown() {
        let text = |line: usize| match line {
            10 | 20 => "    x = f()",
            30 => "    go(x)",
            40 => "    return y",
            _ => "    pass",
        };
        let score = |line: usize| match line {
            2 | 30 => 0.9,
            40 => 0.25,
            _ => 0.0,
        };
        assert_eq!(settled(60, score, text), [20, 30, 40]);
    }
}
