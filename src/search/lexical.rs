//! The first stage: which files and passages have the words of a question, by BM25 over where the words stand.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::document::Entry;
use super::evidence::evidence;
use super::index::Indexed;
use super::meanings::{Meaning, Word};
use super::terms::{Term, Terms, is_whole, whole};
use crate::lookup::is_aside;
use crate::prune::FocusQuestion;
use crate::syntax::Language;

/// How soon further occurrences of a term count less, and how much long texts have to have more of them: as usual with BM25.
const K1: f32 = 1.2;
const B: f32 = 0.75;
/// Occurrences in comments and in names of definitions, against one in code.
const COMMENT: f32 = 1.0;
const NAME: f32 = 4.0;
/// Words that are guessed, and those of a long question below its first line, against others.
const GUESSED: f32 = 0.6;
const BELOW: f32 = 0.5;
/// Names that the question spells out count so many times as much as their parts do.
const SPELT: f32 = 1.5;
/// Words that say what is wanted of code and not which code, and what they count against others.
const VAGUE: &str = "fix bug issue problem improve ensure avoid prevent properly correctly wrong incorrect allow mechanism purpose relationship \
    interaction influence effect affect impact design architecture pattern implementation determine occur happen work behave behavior \
    responsible component function method class module code add remove change support handle make update";
const SAYS_LITTLE: f32 = 0.4;
/// Terms of a question, at most.
const MOST_TERMS: usize = 120;
/// Words that may be one name together, at most.
const MOST_JOINED: usize = 3;

/// A term of a question.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    /// The term.
    pub term: Term,
    /// How much it counts in the question.
    pub weight: f32,
    /// What it counts in all: its weight times its idf among the files.
    pub worth: f32,
}

/// Where a term of a question stands among the entries of a document.
struct Placed {
    /// Which of the terms, or, after them, of the names.
    at: u32,
    /// The first of the entries, and the one after the last.
    from: u32,
    to: u32,
}

/// A question as the first stage reads it.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// Its terms.
    pub terms: Vec<Wanted>,
    /// The terms of names that it may mean: of all its words.
    pub names: Vec<Wanted>,
    /// Whether it asks for tests, documents or examples.
    pub wants_aside: bool,
    /// Whether it is no more than a name.
    pub is_name: bool,
    /// How many different words it has.
    pub words: usize,
    /// The sum of what its terms are worth.
    pub mass: f32,
    /// Terms of a file on average.
    pub average: f32,
    /// Terms of a passage on average.
    pub average_passage: f32,
    /// What its first line means.
    pub meaning: Meaning,
    /// What all of it means.
    pub meaning_of_all: Meaning,
}

/// A file that has some of the terms.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// Which of the files.
    pub file: usize,
    /// What speaks for it.
    pub evidence: OfFile,
}

evidence! {
    /// What speaks for a file; shares are of what the question's terms are worth.
    OfFile {
        /// BM25 of the file.
        whole,
        /// BM25 of its best passage.
        passage,
        /// BM25 of the next ones, up to three on average.
        others,
        /// The share that it has at all.
        has,
        /// The share that its own name has.
        called,
        /// How much of its own name is in the question.
        asked,
        /// The share that the names of its directories have.
        inside,
        /// The share that names of definitions in it have.
        defines,
        /// The share that are names of definitions in it.
        exactly,
        /// The share that is its own name.
        named,
        /// Whether its own name has several words, and the question all of them.
        titled,
        /// Whether it has several words, and the question has them one after the other.
        joined,
        /// Whether it is beside what the repository is about, and not asked for.
        aside,
        /// Whether it is no code.
        prose,
        /// How near it is in meaning to the first line of the question; known once it is read.
        near,
        /// How near to all of it.
        near_all,
    }
}

impl Asked {
    /// Reads a question.
    pub fn new(question: &FocusQuestion, terms: &mut Terms) -> Self {
        let mut asked = Self::default();
        let text = question.spelt();
        let (first, below) = text.split_once('\n').unwrap_or((text, ""));
        let guessed = &question.as_str()[text.len()..];
        let mut known: HashSet<Term> = HashSet::new();
        let mut add = |term: Term, weight: f32| {
            if asked.terms.len() < MOST_TERMS && known.insert(term) {
                asked.terms.push(Wanted { term, weight: if is_whole(term) { weight * SPELT } else { weight }, worth: 0.0 });
            }
        };
        for (part, weight) in [(first, 1.0), (guessed, GUESSED), (below, BELOW)] {
            terms.each(part.as_bytes(), |term| add(term, weight));
        }
        let mut words = Vec::new();
        for (at, part) in [first, guessed, below].into_iter().enumerate() {
            terms.each(part.as_bytes(), |term| words.extend(Word::of(term)));
            if at == 0 {
                asked.meaning = Meaning::asked(&words);
            }
        }
        asked.meaning_of_all = Meaning::asked(&words);
        let letters: Vec<Term> = (b'a'..=b'z').filter_map(|letter| terms.of(&[letter])).collect();
        if asked.terms.iter().any(|wanted| !letters.contains(&wanted.term)) {
            asked.terms.retain(|wanted| !letters.contains(&wanted.term)); // a letter says nothing beside words
        }
        let vague: HashSet<Term> = VAGUE.split_whitespace().filter_map(|word| terms.of(word.as_bytes())).collect();
        asked.terms.iter_mut().filter(|wanted| vague.contains(&wanted.term)).for_each(|wanted| wanted.weight *= SAYS_LITTLE);
        let mut seen = HashSet::new();
        let words: Vec<&str> = first.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()).collect();
        // `real IP` may be called `realip`, `JSON array` be a `JsonArray`.
        let joined = (2..=MOST_JOINED).flat_map(|count| words.windows(count)).map(<[&str]>::concat);
        for word in words.iter().copied().chain(question.names()).map(str::to_owned).chain(joined) {
            if asked.names.len() < MOST_TERMS && terms.of(word.as_bytes()).is_some() && seen.insert(whole(word.as_bytes())) {
                asked.names.push(Wanted { term: whole(word.as_bytes()), weight: 1.0, worth: 0.0 });
            }
        }
        const ASIDE: [&str; 12] = [
            "test",
            "tests",
            "tested",
            "testing",
            "example",
            "examples",
            "documentation",
            "docs",
            "benchmark",
            "benchmarks",
            "readme",
            "changelog",
        ];
        asked.wants_aside = first.split(|c: char| !c.is_alphanumeric()).any(|word| ASIDE.contains(&word.to_lowercase().as_str()));
        asked.is_name = words.len() == 1 && below.trim().is_empty();
        let all = question.as_str().split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 1).map(str::to_lowercase);
        asked.words = all.collect::<HashSet<String>>().len();
        asked
    }

    /// BM25 of a text, a share of what it could be at most; `of` tells how much a term occurs in it, all places weighed.
    pub fn bm25(&self, length: f32, average: f32, of: impl Fn(usize) -> f32) -> f32 {
        let norm = K1 * (1.0 - B + B * length / average.max(1.0));
        let score: f32 = self
            .terms
            .iter()
            .enumerate()
            .map(|(at, wanted)| {
                let count = of(at);
                if count > 0.0 { wanted.worth * count * (K1 + 1.0) / (count + norm) } else { 0.0 }
            })
            .sum();
        score / (self.mass * (K1 + 1.0)).max(f32::MIN_POSITIVE)
    }

    /// The share that some of the terms have.
    pub fn share(&self, has: impl Fn(usize) -> bool) -> f32 {
        let worth: f32 = self.terms.iter().enumerate().filter(|(at, _)| has(*at)).map(|(_, wanted)| wanted.worth).sum();
        worth / self.mass.max(f32::MIN_POSITIVE)
    }

    /// What the rarest of some of the terms is worth, against the rarest of all.
    pub fn rarest(&self, has: impl Fn(usize) -> bool) -> f32 {
        let worth = |(_, wanted): (usize, &Wanted)| wanted.worth;
        let all = self.terms.iter().enumerate().map(worth).fold(f32::MIN_POSITIVE, f32::max);
        self.terms.iter().enumerate().filter(|(at, _)| has(*at)).map(worth).fold(0.0, f32::max) / all
    }

    /// The share that these terms have.
    pub fn share_of(&self, terms: &HashSet<Term>) -> f32 {
        self.share(|at| terms.contains(&self.terms[at].term))
    }

    /// The share that is this name.
    pub fn share_of_name(&self, name: Term) -> f32 {
        let worth = self.names.iter().find(|wanted| wanted.term == name).map_or(0.0, |wanted| wanted.worth);
        worth / self.mass.max(f32::MIN_POSITIVE)
    }

    /// Weighs the terms by how many of the files have them, and scores those that have any.
    pub fn score(&mut self, files: &[Arc<Indexed>]) -> Vec<Candidate> {
        let places = |indexed: &Arc<Indexed>| -> Vec<Placed> {
            let of = |(at, wanted): (usize, &Wanted)| {
                let range = indexed.document.places(wanted.term);
                (!range.is_empty()).then_some(Placed { at: at as u32, from: range.start as u32, to: range.end as u32 })
            };
            self.terms.iter().chain(&self.names).enumerate().filter_map(of).collect()
        };
        let found: Vec<(usize, Vec<Placed>)> =
            files.par_iter().enumerate().map(|(at, indexed)| (at, places(indexed))).filter(|(_, places)| !places.is_empty()).collect();
        let mut with = vec![0.0; self.terms.len() + self.names.len()];
        found.iter().flat_map(|(_, places)| places).for_each(|placed| with[placed.at as usize] += 1.0);
        let count = files.len() as f32;
        let idfs: Vec<f32> = with.into_iter().map(|with: f32| (1.0 + (count - with + 0.5) / (with + 0.5)).ln()).collect();
        self.terms.iter_mut().chain(&mut self.names).zip(&idfs).for_each(|(wanted, idf)| wanted.worth = wanted.weight * idf);
        self.mass = self.terms.iter().map(|wanted| wanted.worth).sum();
        let length: f64 = files.iter().map(|indexed| f64::from(indexed.document.length)).sum();
        let passages: usize = files.iter().map(|indexed| indexed.document.passages.len()).sum();
        self.average = (length / files.len().max(1) as f64) as f32;
        self.average_passage = (length / passages.max(1) as f64) as f32;
        found.par_iter().map_init(Terms::default, |terms, (file, places)| self.candidate(*file, &files[*file], places, terms)).collect()
    }

    fn candidate(&self, file: usize, indexed: &Indexed, placed: &[Placed], terms: &mut Terms) -> Candidate {
        let document = &indexed.document;
        let mut places: Vec<Option<Range<usize>>> = vec![None; self.terms.len() + self.names.len()];
        placed.iter().for_each(|placed| places[placed.at as usize] = Some(placed.from as usize..placed.to as usize));
        let (own, named) = places.split_at(self.terms.len());
        let entries = |at: usize| own[at].clone().map_or(&[][..], |range| &document.entries[range]);
        let total = |at: usize| entries(at).iter().map(weighed).sum();
        let of_all = self.bm25(document.length as f32, self.average, total);
        let mut by_passage: HashMap<u16, Vec<f32>> = HashMap::new();
        for at in 0..own.len() {
            for entry in entries(at) {
                by_passage.entry(entry.passage).or_insert_with(|| vec![0.0; own.len()])[at] += weighed(entry);
            }
        }
        let score = |(passage, counts): (&u16, &Vec<f32>)| {
            let length = document.passages[usize::from(*passage)].length as f32;
            self.bm25(length, self.average_passage, |at| counts[at])
        };
        let mut passages: Vec<f32> = by_passage.iter().map(score).collect();
        passages.sort_by(|a, b| b.total_cmp(a));
        let (stem, directories) = names_of(&indexed.path);
        let (called, directories) = (terms.of_name(stem), directories.iter().flat_map(|part| terms.of_name(part)).collect());
        let is_asked = |term: &&Term| self.terms.iter().any(|wanted| wanted.term == **term);
        let words: Vec<&Term> = called.iter().filter(|term| !is_whole(**term)).collect();
        let defines =
            |place: &Option<Range<usize>>| place.clone().is_some_and(|range| document.entries[range].iter().any(|it| it.names() > 0));
        let share_of_names: f32 = self.names.iter().zip(named).filter(|(_, place)| defines(place)).map(|(wanted, _)| wanted.worth).sum();
        let evidence = OfFile {
            whole: of_all,
            passage: passages.first().copied().unwrap_or(0.0),
            others: passages.iter().skip(1).take(3).sum::<f32>() / 3.0,
            has: self.share(|at| own[at].is_some()),
            called: self.share_of(&called),
            asked: words.iter().copied().filter(is_asked).count() as f32 / words.len().max(1) as f32,
            inside: self.share_of(&directories),
            defines: self.share(|at| entries(at).iter().any(|entry| entry.names() > 0)),
            exactly: share_of_names / self.mass.max(f32::MIN_POSITIVE),
            named: self.share_of_name(whole(stem.as_bytes())),
            titled: f32::from(u8::from(words.len() > 1 && words.iter().all(is_asked))),
            joined: f32::from(u8::from(words.len() > 1 && self.share_of_name(whole(stem.as_bytes())) > 0.0)),
            aside: f32::from(u8::from(document.is_generated || is_aside(&indexed.path) && !self.wants_aside)),
            prose: f32::from(u8::from(Language::of(&indexed.path).is_none())),
            ..OfFile::default()
        };
        Candidate { file, evidence }
    }
}

/// Occurrences in code, comments and names together.
fn weighed(entry: &Entry) -> f32 {
    f32::from(entry.code) + COMMENT * f32::from(entry.comments()) + NAME * f32::from(entry.names())
}

/// Names that say nothing of a file but what its directory is called.
const UNNAMED: [&str; 6] = ["mod", "index", "__init__", "lib", "main", "init"];

/// What a file is called, and the names of the directories that it is in.
pub fn names_of(path: &str) -> (&str, Vec<&str>) {
    let mut parts: Vec<&str> = path.split('/').collect();
    let file = parts.pop().unwrap_or_default();
    let stem = file.split('.').next().unwrap_or_default();
    match parts.pop() {
        Some(directory) if UNNAMED.contains(&stem) => (directory, parts),
        directory => {
            parts.extend(directory);
            (stem, parts)
        }
    }
}
