//! Which of the units that a search found are shown: the best, and as they fit those that are nearly as likely, most for their length first.

use std::collections::HashSet;
use std::ops::Range;

use super::sections::{Section, Shown, and_decoded};
use crate::prune::FocusQuestion;
use crate::prune::code::Code;
use crate::prune::render::{LONGEST_LINE, cut_line};
use crate::prune::select::fill_cheap_gaps;
use crate::prune::{Material, Pointer};
use crate::search::units::{Source, Unit};
use crate::search::{Found, Ranked};
use crate::syntax::Access;
use crate::tokens::o200k;

/// Definitions of so many lines are shown whole.
const SHORT: usize = 30;
/// Comments above a definition of so many lines are shown with it.
const SHORT_ABOVE: usize = 8;
/// Units whose score is further below that of the best are not shown; where the question names the best, they have to be nearer.
const DROP: f32 = 4.0;
const DROP_FROM_NAMED: f32 = 1.5;
/// How much a unit counts less for its length: its score less so much of the logarithm of its characters, which are `FEW` at least. So of one that is
/// twice as long one and a half times as much has to be expected. Chosen in `training/LOG.md`.
const LENGTH: f32 = 0.6;
const FEW: usize = 200;
/// Units that do not fit before no more are tried.
const MISSES: usize = 20;
/// Lines of all files among which views are completed, at most, each time that a unit is tried: beyond, units come without what is around them.
const MOST_WORK: usize = 400_000;
/// Units that are tried, at most.
const MOST: usize = 120;
/// Tokens of a heading, and of a line that marks a gap.
const HEADING: usize = 24;
const GAP: usize = 10;
/// Names in a heading, at most.
const NAMED: usize = 4;

/// What is shown of a file.
pub struct View {
    /// Which of the files that were read.
    pub source: usize,
    /// One flag a line of the file.
    pub kept: Vec<bool>,
    /// What is named in its gaps.
    pub pointers: Vec<Pointer>,
    /// The units that it is shown for, the best first.
    pub units: Vec<Ranked>,
    /// What it costs, about, in tokens.
    cost: usize,
}

/// The lines that a unit is shown by: those of its definition where that is short, with what is said above it where that is short, too.
pub fn lines_of(source: &Source, unit: &Unit) -> Range<usize> {
    let of = |at: usize| source.syntax.as_ref().map(|syntax| &syntax.definitions[at]);
    match unit.at.and_then(of) {
        Some(it) if it.lines.len() <= SHORT && it.lines.start - it.from.min(unit.lines.start) <= SHORT_ABOVE => {
            it.from.min(unit.lines.start)..it.lines.end
        }
        Some(it) if it.lines.len() <= SHORT => it.lines.clone(),
        _ => unit.lines.clone(),
    }
}

/// The lines of the definition that a unit is a piece of; its own if it is none.
pub fn definition(source: &Source, unit: &Unit) -> Range<usize> {
    let of = |at: usize| source.syntax.as_ref().map(|syntax| syntax.definitions[at].from..syntax.definitions[at].lines.end);
    unit.at.and_then(of).unwrap_or_else(|| unit.lines.clone())
}

/// Chooses what is shown in `budget` tokens, file by file, the best first.
pub fn select(found: &Found, budget: usize, access: &Access<'_>) -> Vec<View> {
    let lines: Vec<Vec<&str>> = found.sources.iter().map(|source| source.text.lines(0..source.text.len())).collect();
    let codes: Vec<Code<'_>> =
        found.sources.iter().zip(&lines).map(|(source, lines)| Code::part(&source.shown, lines, 0..lines.len(), access)).collect();
    let mut views: Vec<View> = Vec::new();
    let (mut spent, mut misses, mut work) = (0, 0, 0);
    let drop = if found.names_best { DROP_FROM_NAMED } else { DROP };
    let least = found.ranked.first().map_or(0.0, |best| best.score) - drop;
    let likely = found.ranked.iter().take(MOST).take_while(|ranked| ranked.score >= least);
    for ranked in most_for_their_length(likely, found, &lines) {
        if misses == MISSES || access.cancel().is_cancelled() {
            break;
        }
        let source = &found.sources[ranked.source];
        let wanted = lines_of(source, &source.units[ranked.unit]);
        let known = views.iter().position(|view| view.source == ranked.source);
        let (old, cost) = known.map_or_else(|| (vec![false; source.text.len()], 0), |at| (views[at].kept.clone(), views[at].cost));
        if old[wanted.clone()].iter().all(|kept| *kept) {
            if let Some(at) = known {
                views[at].units.push(*ranked);
            }
            continue;
        }
        work += lines[ranked.source].len();
        let with = |wanted: &Range<usize>, completed: bool| {
            let mut kept = old.clone();
            kept[wanted.clone()].fill(true);
            if completed && work <= MOST_WORK {
                codes[ranked.source].complete(&mut kept);
                fill_cheap_gaps(&mut kept, &lines[ranked.source]);
            }
            let new = cost_of(&kept, &old, cost, &lines[ranked.source]);
            (spent - cost + new <= budget).then_some((kept, new))
        };
        let mut fitting = with(&wanted, true);
        if fitting.is_none() && views.is_empty() {
            // Of the best there is something in any case: its beginning.
            let shorter = std::iter::successors(Some(wanted.len()), |length| Some(length / 2).filter(|length| *length > 0));
            let beginnings = shorter.map(|length| wanted.start..wanted.start + length);
            fitting = beginnings.flat_map(|part| [with(&part, true), with(&part, false)]).flatten().next();
            fitting = fitting.or_else(|| {
                let mut kept = old.clone();
                kept[wanted.start] = true;
                Some((kept, budget))
            });
        }
        let Some((kept, new)) = fitting else {
            misses += 1;
            continue;
        };
        spent += new - cost;
        match known {
            Some(at) => {
                (views[at].kept, views[at].cost) = (kept, new);
                views[at].units.push(*ranked);
            }
            None => views.push(View { source: ranked.source, kept, pointers: Vec::new(), units: vec![*ranked], cost: new }),
        }
    }
    for view in &mut views {
        view.pointers = codes[view.source].contents(&view.kept, true);
        view.units.sort_by(|a, b| b.score.total_cmp(&a.score));
    }
    views.sort_by(|a, b| found.of_files[b.source].total_cmp(&found.of_files[a.source]).then(a.source.cmp(&b.source)));
    views
}

/// The best unit, and then those first that have most to expect for their length.
fn most_for_their_length<'a>(ranked: impl Iterator<Item = &'a Ranked>, found: &Found, lines: &[Vec<&str>]) -> Vec<&'a Ranked> {
    let worth = |ranked: &Ranked| {
        let source = &found.sources[ranked.source];
        let characters: usize = lines[ranked.source][lines_of(source, &source.units[ranked.unit])].iter().map(|line| line.len()).sum();
        ranked.score - LENGTH * (characters.max(FEW) as f32).ln()
    };
    let mut order: Vec<(&Ranked, f32)> = ranked.map(|ranked| (ranked, worth(ranked))).collect();
    if let Some((_, others)) = order.split_first_mut() {
        others.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    }
    order.into_iter().map(|(ranked, _)| ranked).collect()
}

/// What the view of a file costs, about, in tokens, where less of it cost so many.
fn cost_of(kept: &[bool], old: &[bool], cost: usize, lines: &[&str]) -> usize {
    let as_shown = |line: usize| cut_line(lines[line], LONGEST_LINE, 0..0).0;
    let new: String = (0..kept.len()).filter(|line| kept[*line] && !old[*line]).map(as_shown).collect();
    let gaps = |kept: &[bool]| kept.windows(2).filter(|pair| pair[0] && !pair[1]).count();
    let heading = if cost == 0 { HEADING } else { 0 };
    (cost + heading + o200k(&new) + GAP * gaps(kept)).saturating_sub(GAP * gaps(old))
}

impl View {
    /// From the first line that is shown to the last.
    fn range(&self) -> Range<usize> {
        let first = self.kept.iter().position(|kept| *kept).unwrap_or(0);
        first..self.kept.iter().rposition(|kept| *kept).map_or(first, |last| last + 1)
    }

    /// The view as a part of a result.
    pub fn section(&self, found: &Found, question: &FocusQuestion) -> Section {
        let source = &found.sources[self.source];
        let range = self.range();
        let inside = |pointer: &&Pointer| range.start <= pointer.lines.start && pointer.lines.end <= range.end;
        let shift =
            |pointer: &Pointer| Pointer { lines: pointer.lines.start - range.start..pointer.lines.end - range.start, ..pointer.clone() };
        let mut seen = HashSet::new();
        let names = self.units.iter().map(|ranked| source.units[ranked.unit].name.as_str());
        let names: Vec<&str> = names.filter(|name| !name.is_empty() && seen.insert(*name)).collect();
        let more = names.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let names = names[..names.len().min(NAMED)].join(", ") + &more;
        Section {
            path: source.shown.clone(),
            first: range.start,
            total: Some(source.text.len()),
            name: and_decoded(names, &source.text),
            question: Some(question.clone()),
            lines: source.text.lines(range.clone()).into_iter().map(str::to_owned).collect(),
            shown: Shown::View(self.kept[range.clone()].to_vec(), self.pointers.iter().filter(inside).map(shift).collect()),
            ..Section::default()
        }
    }
}
