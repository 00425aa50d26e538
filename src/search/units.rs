//! The second stage: the likeliest files are read by their grammars, and come apart into units: definitions, and what is between them.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use super::document::{Line, Where};
use super::evidence::evidence;
use super::index::Indexed;
use super::lexical::{Asked, Candidate, names_of};
use super::meanings::{Meaning, Word};
use super::terms::{Term, Terms, is_whole, whole};
use crate::lookup::words::LARGEST_SOURCE;
use crate::syntax::{Access, Kind, Language, Names, Syntax};
use crate::workspace::Workspace;
use crate::workspace::text::{self, Text};

/// Lines of a unit, at most: of longer ones each piece is one.
const LONGEST: usize = 30;
/// Shorter values are no units of their own.
const SHORTEST_VALUE: usize = 4;
/// Units of a file, at most; what is further below is not ranked.
const MOST: usize = 5000;
/// What an occurrence in a name counts against one in code.
const NAME: f32 = 4.0;
/// How much the name of a file counts for what the file means.
const NAME_OF_FILE: f32 = 3.0;

/// A file that was read.
pub struct Source {
    /// Which of the files it is.
    pub candidate: Candidate,
    /// Its path as it is shown.
    pub shown: String,
    /// What it is in the index.
    pub indexed: Arc<Indexed>,
    /// Its text.
    pub text: Text,
    /// What its grammar tells, if there is one.
    pub syntax: Option<Arc<Syntax>>,
    /// Its units.
    pub units: Vec<Unit>,
}

/// A definition with comments and decorators right above, without those in it; a piece of a long one; or some lines between definitions.
#[derive(Debug, Clone, Default)]
pub struct Unit {
    /// Its lines.
    pub lines: Range<usize>,
    /// Its name, after whose it is; empty between definitions.
    pub name: String,
    /// Which of the definitions it is.
    pub at: Option<usize>,
    /// What speaks for it.
    pub evidence: OfUnit,
}

evidence! {
    /// What speaks for a unit; shares are of what the question's terms are worth.
    OfUnit {
        /// BM25 of its own lines.
        matches,
        /// The share that they have at all.
        has,
        /// The share that its name has.
        called,
        /// How much of its name is in the question.
        asked,
        /// The share that is its name.
        exactly,
        /// Whether its name has several words, and the question all of them.
        titled,
        /// The share that the name of its owner has.
        owner,
        /// The share that its signature and what is said of it have.
        head,
        /// What the rarest of the terms that it has is worth, against the rarest of all.
        rarest,
        /// How much speaks for the best of what calls it, against the best of all.
        callers,
        /// How much speaks for the best other unit of its file.
        beside,
        /// BM25 of all of the definition that it is a piece of.
        around,
        /// Whether it is a piece that is not the first.
        piece,
        /// The logarithm of its lines.
        length,
        /// Whether it holds others.
        holder,
        /// Whether it is a test in a file that is none.
        test,
        /// The best score that the skimmer gives any of its own lines.
        best,
        /// Their mean, of the best three.
        top,
        /// Their mean.
        mean,
        /// Log-odds that what was skimmed with it answers.
        answers,
        /// Whether it was skimmed.
        skimmed,
        /// How near it is in meaning to the first line of the question, with the name of its file.
        near,
        /// How near to all of it.
        near_all,
    }
}

impl Unit {
    /// Its name, without whose it is.
    pub fn own_name(&self) -> &str {
        self.name.rsplit('.').next().unwrap_or_default()
    }
}

impl Source {
    /// Reads a file; none where it cannot be read, or has no text.
    pub fn read(
        candidate: Candidate,
        indexed: &Arc<Indexed>,
        asked: &Asked,
        workspace: &Workspace,
        access: &Access<'_>,
        terms: &mut Terms,
    ) -> Option<Self> {
        let open = workspace.open_location(&indexed.file).ok().filter(|open| open.bytes <= LARGEST_SOURCE)?;
        let shown = open.shown.clone();
        let text = text::read(open, None, None, access.cancel()).ok()?.text;
        let language = Language::of(&indexed.path);
        let syntax = language.and_then(|language| access.read(language, text.as_str()).ok());
        let mut source = Self { candidate, shown, indexed: Arc::clone(indexed), text, syntax, units: Vec::new() };
        (source.units, source.candidate.evidence.near, source.candidate.evidence.near_all) = source.all_units(asked, terms);
        (!source.units.is_empty()).then_some(source)
    }

    /// Its units, with what the words of the question say for them, and how near the file as a whole is to the question's first line and to all of it.
    fn all_units(&self, asked: &Asked, terms: &mut Terms) -> (Vec<Unit>, f32, f32) {
        let lines = self.text.lines(0..self.text.len());
        let mut units = match &self.syntax {
            Some(syntax) => of_syntax(syntax, &lines),
            None => self.of_passages(&lines),
        };
        units.truncate(MOST);
        let wanted: HashMap<Term, usize> = asked.terms.iter().enumerate().map(|(at, wanted)| (wanted.term, at)).collect();
        let mut on_lines: Vec<Vec<(usize, f32)>> = Vec::with_capacity(lines.len());
        let mut lengths = Vec::with_capacity(lines.len());
        let (mut words, mut ends): (Vec<Word>, Vec<usize>) = (Vec::new(), vec![0]); // and where those of each line end
        for line in &lines {
            let (mut found, mut length) = (Vec::new(), 0.0);
            Line::of(line.as_bytes()).each(line.as_bytes(), terms, |term, place| {
                if place != Where::Name {
                    length += 1.0;
                    words.extend(Word::of(term));
                }
                if let Some(at) = wanted.get(&term).filter(|_| place != Where::Name) {
                    found.push((*at, 1.0));
                }
            });
            on_lines.push(found);
            lengths.push(length);
            ends.push(words.len());
        }
        let mut called = Vec::new();
        terms.each(names_of(&self.indexed.path).0.as_bytes(), |term| called.extend(Word::of(term)));
        let called = Meaning::told(&mut called);
        let near = |words: &[Word], times: f32| {
            let told = Meaning::told(&mut words.to_vec()).with(&called, times);
            (asked.meaning.near(&told), asked.meaning_of_all.near(&told))
        };
        let count = |range: &[Range<usize>]| {
            let mut counts = vec![0.0; asked.terms.len()];
            range.iter().flat_map(|range| &on_lines[range.clone()]).flatten().for_each(|(at, count)| counts[*at] += count);
            (range.iter().flat_map(|range| &lengths[range.clone()]).sum::<f32>(), counts)
        };
        let (mut of_whole, mut heads): (HashMap<usize, f32>, HashMap<usize, HashSet<usize>>) = (HashMap::new(), HashMap::new());
        let mut pieces: HashMap<usize, Vec<Range<usize>>> = HashMap::new();
        units
            .iter()
            .filter_map(|unit| Some((unit.at?, unit.lines.clone())))
            .for_each(|(at, lines)| pieces.entry(at).or_default().push(lines));
        for (at, pieces) in &pieces {
            let (length, counts) = count(pieces);
            of_whole.insert(*at, asked.bm25(length, asked.average_passage, |at| counts[at]));
            let header = self.syntax.as_ref().map(|syntax| &syntax.definitions[*at]).map_or(0..0, |it| {
                let end = it.doc.as_ref().map_or(it.header.end, |doc| doc.end.max(it.header.end));
                it.from..end.min(lines.len())
            });
            heads.insert(*at, header.flat_map(|line| &on_lines[line]).map(|(at, _)| *at).collect());
        }
        for unit in &mut units {
            let (owner, own_name) = unit.name.rsplit_once('.').unwrap_or(("", &unit.name));
            let (called, of_owner) = (terms.of_name(own_name), terms.of_name(owner));
            let (length, mut counts) = count(std::slice::from_ref(&unit.lines));
            for (at, wanted) in asked.terms.iter().enumerate() {
                if called.contains(&wanted.term) {
                    counts[at] += NAME;
                }
            }
            let parts: Vec<&Term> = called.iter().filter(|term| !is_whole(**term)).collect();
            let is_asked = |term: &&&Term| asked.terms.iter().any(|wanted| wanted.term == ***term);
            let kind = unit.at.and_then(|at| self.syntax.as_ref().map(|syntax| syntax.definitions[at].kind));
            let flag = |is: bool| f32::from(u8::from(is));
            let (near_first, near_all) = near(&words[ends[unit.lines.start]..ends[unit.lines.end]], 1.0);
            unit.evidence = OfUnit {
                matches: asked.bm25(length, asked.average_passage, |at| counts[at]),
                has: asked.share(|at| counts[at] > 0.0),
                called: asked.share_of(&called),
                asked: parts.iter().filter(is_asked).count() as f32 / parts.len().max(1) as f32,
                exactly: asked.share_of_name(whole(own_name.as_bytes())),
                titled: flag(parts.len() > 1 && parts.iter().all(|term| is_asked(&term))),
                owner: asked.share_of(&of_owner),
                rarest: asked.rarest(|at| counts[at] > 0.0),
                head: unit.at.map_or(0.0, |definition| asked.share(|at| heads[&definition].contains(&at))),
                around: unit.at.map_or(0.0, |at| of_whole[&at]),
                piece: flag(unit.at.is_some_and(|at| pieces[&at][0].start < unit.lines.start)),
                length: (1.0 + unit.lines.len() as f32).ln(),
                holder: flag(kind == Some(Kind::Holder)),
                test: flag(!asked.wants_aside && unit.name.to_lowercase().split(['.', '_']).any(|part| part == "test" || part == "tests")),
                near: near_first,
                near_all,
                ..OfUnit::default()
            };
        }
        let (near_first, near_all) = near(&words, NAME_OF_FILE);
        (units, near_first, near_all)
    }

    /// The passages of a file without a grammar.
    fn of_passages(&self, lines: &[&str]) -> Vec<Unit> {
        let document = &self.indexed.document;
        let passages = (0..document.passages.len()).map(|passage| document.lines_of(passage));
        let indents = indents(lines);
        let inside = |range: Range<usize>| range.start.min(lines.len())..range.end.min(lines.len());
        let parts = passages.map(inside).flat_map(|range| pieces(&indents, range)).filter(|range| says_something(&lines[range.clone()]));
        parts.map(|lines| Unit { lines, ..Unit::default() }).collect()
    }
}

/// Notes of each unit how much speaks for what calls it, and for the others of its file.
pub fn relate(sources: &mut [Source], score: impl Fn(&Source, &Unit) -> f32) {
    let scores: Vec<Vec<f32>> = sources.iter().map(|source| source.units.iter().map(|unit| score(source, unit)).collect()).collect();
    let top = scores.iter().flatten().copied().fold(f32::MIN_POSITIVE, f32::max);
    let mut calls: HashMap<&str, f32> = HashMap::new(); // the best of what calls each name
    for (source, scores) in sources.iter().zip(&scores) {
        let Some(syntax) = &source.syntax else { continue };
        for (unit, score) in source.units.iter().zip(scores) {
            let called = unit.at.map_or(&[][..], |at| &syntax.definitions[at].calls);
            for name in called.iter().filter(|name| unit.own_name() != *name) {
                let best = calls.entry(name).or_default();
                *best = best.max(*score);
            }
        }
    }
    // A name that several have says nothing of which of them is called.
    let mut definitions: HashMap<&str, HashSet<(usize, usize)>> = HashMap::new();
    for (at, source) in sources.iter().enumerate() {
        source.units.iter().filter_map(|unit| Some((unit.own_name(), unit.at?))).for_each(|(name, definition)| {
            definitions.entry(name).or_default().insert((at, definition));
        });
    }
    let is_one = |name: &str| definitions.get(name).is_some_and(|those| those.len() == 1);
    let callers = |unit: &Unit| calls.get(unit.own_name()).copied().filter(|_| is_one(unit.own_name())).unwrap_or(0.0) / top;
    let callers: Vec<Vec<f32>> = sources.iter().map(|source| source.units.iter().map(callers).collect()).collect();
    for ((source, scores), callers) in sources.iter_mut().zip(&scores).zip(callers) {
        let mut best = [0.0, 0.0];
        for score in scores {
            best = if *score > best[0] { [*score, best[0]] } else { [best[0], score.max(best[1])] };
        }
        for ((unit, score), callers) in source.units.iter_mut().zip(scores).zip(callers) {
            let other = if *score == best[0] { best[1] } else { best[0] };
            (unit.evidence.beside, unit.evidence.callers) = (other / top, callers);
        }
    }
}

/// Definitions that are units, and what is between them.
fn of_syntax(syntax: &Syntax, lines: &[&str]) -> Vec<Unit> {
    let names = Names::new(&syntax.definitions, lines);
    let mut whose: Vec<Option<usize>> = vec![None; lines.len()];
    for (at, it) in syntax.definitions.iter().enumerate() {
        if it.kind != Kind::Value || it.lines.len() >= SHORTEST_VALUE {
            whose[it.from..it.lines.end].fill(Some(at)); // those in it come later
        }
    }
    // Where grammars do not tell, comments right above a definition are its own.
    for at in 0..syntax.definitions.len() {
        if whose[syntax.definitions[at].from] != Some(at) {
            continue;
        }
        let first = syntax.definitions[at].from;
        let around = whose[..first].last().copied().flatten();
        let is_its = |line: &usize| whose[*line] == around && Line::of(lines[*line].as_bytes()).is_about();
        let from = first - usize::from(first > 0 && lines[first - 1].trim().is_empty()); // some leave a line blank between
        let above = (0..from).rev().take_while(is_its).last().unwrap_or(first);
        if above > 0 {
            whose[above..first].fill(Some(at)); // at the top of a file a comment is the file's
        }
    }
    let indents = indents(lines);
    let mut units = Vec::new();
    let mut start = 0;
    for run in whose.chunk_by(|a, b| a == b) {
        let range = start..start + run.len();
        start = range.end;
        let name = run[0].map_or_else(String::new, |at| names.full(at));
        let unit = |lines| Unit { lines, name: name.clone(), at: run[0], evidence: OfUnit::default() };
        // Long comments above a short definition do not make it a long one.
        let is_short = run[0].is_some_and(|at| syntax.definitions[at].within == 0 && syntax.definitions[at].lines.len() <= LONGEST);
        let parts = if is_short { vec![range] } else { pieces(&indents, range) };
        units.extend(parts.into_iter().filter(|range| says_something(&lines[range.clone()])).map(unit));
    }
    units
}

/// Whether any line has a letter or a digit.
fn says_something(lines: &[&str]) -> bool {
    lines.iter().any(|line| line.chars().any(char::is_alphanumeric))
}

/// How far each line is indented, in bytes; none for one with which no statement begins.
fn indents(lines: &[&str]) -> Vec<Option<usize>> {
    let of = |line: &&str| {
        let text = line.trim_start();
        text.starts_with(|c: char| !matches!(c, '}' | ')' | ']')).then(|| line.len() - text.len())
    };
    lines.iter().map(of).collect()
}

/// A run of lines, in pieces where it is long: each of some statements, and long ones of these in pieces, too.
fn pieces(indents: &[Option<usize>], run: Range<usize>) -> Vec<Range<usize>> {
    if run.len() <= LONGEST {
        return vec![run];
    }
    let mut levels: Vec<usize> = indents[run.clone()].iter().flatten().copied().collect();
    levels.sort_unstable();
    levels.dedup();
    let starts_at = |level: usize| run.clone().filter(|i| indents[*i].is_some_and(|indent| indent <= level)).collect::<Vec<_>>();
    let Some(starts) = levels.into_iter().map(starts_at).find(|starts| starts.len() > 1) else {
        return run.clone().step_by(LONGEST).map(|start| start..(start + LONGEST).min(run.end)).collect();
    };
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut last = run.start..run.start;
    let bounds = starts[1..].iter().copied().chain([run.end]);
    for end in bounds {
        let statement = last.end..end;
        if last.len() + statement.len() <= LONGEST {
            last.end = end;
            continue;
        }
        if !last.is_empty() {
            found.push(last);
        }
        last = end..end;
        if statement.len() > LONGEST {
            found.extend(pieces(indents, statement));
        } else {
            last = statement;
        }
    }
    if !last.is_empty() {
        found.push(last);
    }
    found
}
