//! What uses a definition, and where what it calls is defined.

use std::collections::{HashMap, HashSet};
use std::fmt;

use super::words::{Everywhere, Found, Looks};
use super::{Hit, Source, around, is_aside, with_word};
use crate::repomap::repository::Repository;
use crate::repomap::resolve;
use crate::syntax::{Access, Kind, Names};
use crate::workspace::{Location, Workspace};

/// Places told, at most.
const MOST: usize = 8;
/// Places of a member in files without its owner's name are told where there are so few.
const FEW: usize = 20;
/// Imported files that are read to find what is called, at most.
const MOST_IMPORTED: usize = 20;

/// A place that mentions a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    /// `src/a.py:12`.
    pub place: String,
    /// The definition that it is in.
    pub within: Option<String>,
}

impl fmt::Display for Mention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.within {
            Some(within) => write!(f, "{} in {within}", self.place),
            None => f.write_str(&self.place),
        }
    }
}

/// What is around a definition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Related {
    /// Places that mention its name, what calls it first.
    pub used_by: Vec<Mention>,
    /// How many more there are.
    pub more: usize,
    /// What it calls and where that is defined, as `lookup src/cache.py:14-30`.
    pub calls: Vec<String>,
}

/// What is around the best of some definitions of a name, the first of these words that were looked for everywhere; the second is its owner's, if that
/// was asked for.
pub fn related(
    hits: &[Hit],
    words: (usize, Option<usize>),
    everywhere: &Everywhere,
    workspace: &Workspace,
    repository: &Repository<'_>,
    access: &Access<'_>,
) -> Related {
    let Some(best) = hits.first() else { return Related::default() };
    let (used_by, more) = used_by(hits, best, words, everywhere, workspace, access);
    Related { used_by, more, calls: calls(best, repository, workspace, access) }
}

fn used_by(
    hits: &[Hit],
    best: &Hit,
    (word, owner): (usize, Option<usize>),
    everywhere: &Everywhere,
    workspace: &Workspace,
    access: &Access<'_>,
) -> (Vec<Mention>, usize) {
    let is_defined_at = |file: &Location, line: usize| {
        let in_file = hits.iter().filter(|hit| hit.source.file == *file);
        in_file.into_iter().any(|hit| {
            let it = &hit.source.syntax.definitions[hit.at];
            (it.from..it.header.end).contains(&line) || std::ptr::eq(hit, best) && it.lines.contains(&line)
        })
    };
    let (own, name) = (&best.source.file, best.name.rsplit('.').next().unwrap_or_default().to_owned());
    // Of a member, those come first that stand in files with its owner's name; where there are many others, these are of something else.
    let has_owner = |found: &Found| owner.is_none_or(|owner| found.places.iter().any(|place| place.word == owner));
    let mut places = Vec::new();
    for found in with_word(everywhere, word) {
        for place in found.places.iter().filter(|place| place.word == word && !is_defined_at(&found.file, place.line)) {
            let looks = if place.looks == Looks::Defined { Looks::Said } else { place.looks }; // something else of the name
            places.push(((!has_owner(found), is_aside(&found.path), looks, found.file != *own, &found.file, place.line), found));
        }
    }
    places.sort_by_key(|(rank, _)| *rank);
    let mut sources: HashMap<&Location, Option<Source>> = HashMap::new();
    let mut said: HashSet<(String, Option<String>)> = HashSet::new();
    let (mut mentions, mut told) = (Vec::new(), 0);
    let is_plain_word = name.bytes().all(|byte| byte.is_ascii_lowercase());
    let is_common = places.iter().filter(|((is_anothers, ..), _)| *is_anothers).count() > FEW;
    for ((is_anothers, _, looks, _, file, line), _) in &places {
        if mentions.len() == MOST || *is_anothers && is_common {
            break;
        }
        told += 1;
        if is_plain_word && *looks == Looks::Said {
            continue; // `use` in a text
        }
        let source = sources.entry(*file).or_insert_with(|| Source::read(workspace, file, access));
        if source.as_ref().is_some_and(|source| defines(source, *line, &name) || says(source, *line)) {
            continue; // something else of the name, or a comment
        }
        let within = source.as_ref().and_then(|source| around(source, *line));
        let shown = workspace.show(file);
        // Of one definition the first place is enough.
        if within.is_none() || said.insert((shown.clone(), within.clone())) {
            mentions.push(Mention { place: format!("{shown}:{}", line + 1), within });
        }
    }
    (mentions, places.len() - told)
}

/// Whether a line is a comment, or is said about a definition.
fn says(source: &Source, line: usize) -> bool {
    let lines = source.lines();
    let Some(text) = lines.get(line).map(|line| line.trim_start()) else { return true }; // the file has changed since it was searched
    let is_comment = ["//", "# ", "##", "/*", "* ", "--"].iter().any(|mark| text.starts_with(mark));
    is_comment || source.syntax.definitions.iter().any(|it| it.doc.as_ref().is_some_and(|doc| doc.contains(&line)))
}

/// Whether a line gives something this name.
fn defines(source: &Source, line: usize, name: &str) -> bool {
    let lines = source.lines();
    let is_at = |place: &(usize, std::ops::Range<usize>)| place.0 == line && lines[line].get(place.1.clone()) == Some(name);
    source.syntax.definitions.iter().any(|it| it.kind != Kind::Value && it.name.as_ref().is_some_and(is_at))
}

/// What a function calls, as far as it is told where that is defined: in its own file, or in one that this imports.
fn calls(best: &Hit, repository: &Repository<'_>, workspace: &Workspace, access: &Access<'_>) -> Vec<String> {
    let source = &best.source;
    let called = &source.syntax.definitions[best.at].calls;
    if called.is_empty() {
        return Vec::new();
    }
    let path = source.file.path();
    let mut found: HashMap<&str, String> = HashMap::new();
    let own = source.lines();
    let whose = Names::new(&source.syntax.definitions, &own).owner(best.at);
    let text = own[best.lines()].concat();
    let lower = text.to_lowercase();
    // `x.len()` may be that of anything: a member is told where it is called as one's own, or the text has its owner's name, too.
    let may_be = |owner: &str, name: &str, stem: &str| match owner {
        "" => is_bare(&text, name, stem),
        owner if owner == whose => is_own(&text, name, owner),
        owner => lower.contains(&owner.to_lowercase()) && is_of_something(&text, name),
    };
    add_defined(source, called, &may_be, &mut found);
    let imported = resolve::files(&path, &source.syntax.imports, repository);
    for file in imported.iter().take(MOST_IMPORTED) {
        if called.iter().all(|name| found.contains_key(name.as_str())) {
            break;
        }
        if let Some(source) = Source::read(workspace, &source.file.beside(file), access) {
            add_defined(&source, called, &may_be, &mut found);
        }
    }
    let own = Names::new(&source.syntax.definitions, &own).own(best.at);
    called.iter().filter(|name| *name != own).filter_map(|name| found.get(name.as_str()).cloned()).take(MOST).collect()
}

/// Whether a member of a type is called in a text of this type as its own: bare, or by `self`, `this` or the type's name.
fn is_own(text: &str, name: &str, owner: &str) -> bool {
    places(text, name).any(|(before, _)| {
        let by = ["self.", "Self::", "self::", "this.", "this->", "cls.", "static::"].iter().any(|by| before.ends_with(by));
        let by_type = before.trim_end_matches(['.', ':']).ends_with(owner);
        by || by_type || !before.ends_with(['.', ':', '>'])
    })
}

/// The places of a name in a text: what is before each, and what is after it.
fn places<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let around = text.match_indices(name).map(|(at, _)| (&text[..at], &text[at + name.len()..]));
    around.filter(move |(before, after)| !before.ends_with(is_part) && !after.starts_with(is_part))
}

/// Whether a name stands in a text by itself, or after that of the file that it is in: `x.get()` may be of anything.
fn is_bare(text: &str, name: &str, stem: &str) -> bool {
    let by_file = |before: &str| before.trim_end_matches(['.', ':']).ends_with(stem);
    places(text, name).any(|(before, _)| !before.ends_with(['.', '>', ':']) || by_file(before))
}

/// Whether a name stands in a text after what it is of.
fn is_of_something(text: &str, name: &str) -> bool {
    places(text, name).any(|(before, _)| before.ends_with(['.', '>', ':']))
}

/// Adds those of the names that are defined once in a file, where nothing defines them yet.
fn add_defined<'a>(source: &Source, called: &'a [String], may_be: &dyn Fn(&str, &str, &str) -> bool, found: &mut HashMap<&'a str, String>) {
    let lines = source.lines();
    let path = source.file.path();
    let stem = path.rsplit('/').next().and_then(|file| file.split('.').next()).unwrap_or_default();
    let names = Names::new(&source.syntax.definitions, &lines);
    for name in called.iter().filter(|name| !found.contains_key(name.as_str())).collect::<Vec<_>>() {
        let is_one = |at: &usize| {
            names.own(*at) == name && may_be(names.owner(*at), name, stem) && source.syntax.definitions[*at].kind != Kind::Value
        };
        let mut those = (0..source.syntax.definitions.len()).filter(is_one);
        if let (Some(at), None) = (those.next(), those.next()) {
            let lines = crate::prune::render::numbers(0, &source.syntax.definitions[at].lines);
            found.insert(name, format!("{} {}:{lines}", names.full(at), source.shown));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ones_own_is_told() {
        let of = |text: &str| is_own(text, "get", "Store");
        assert!(["self.get(1)", "return get(x)", "Store::get()", "this->get()", "Store.get"].into_iter().all(of));
        assert!(!["x.get(1)", "Vec::get()", "self.get_all()", "p->get()"].into_iter().any(of));
    }
}
