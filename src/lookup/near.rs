//! Names near one that is nowhere.

use similar::get_close_matches;

use super::words::{Found, Looks, search};
use super::{Query, Source, is_aside};
use crate::error::Result;
use crate::syntax::{Access, Names};
use crate::workspace::{Location, Workspace};

/// Names told, at most.
const MOST: usize = 5;
/// Files that are read for them, at most.
const MOST_FILES: usize = 20;
/// How alike names are that one may have been meant by the other, from 0 to 1.
const ALIKE: f32 = 0.6;
/// Shorter parts of a name are not looked for, in bytes.
const SHORTEST_PART: usize = 3;

/// Definitions whose names are near the one that was asked for, each as `Store.get src/a.py:12`: those that are the same but for capitals and
/// underscores, those that hold it, and those that read much the same.
///
/// # Errors
/// As those of a search.
pub fn near(query: &Query, workspace: &Workspace, starts: &[Location], access: &Access<'_>) -> Result<Vec<String>> {
    let mut words = vec![query.name.as_str()];
    words.extend(parts(&query.name).into_iter().max_by_key(|part| part.len()));
    words.extend(query.owners.last().map(String::as_str));
    words.retain(|word| word.len() >= SHORTEST_PART);
    words.dedup();
    if words.is_empty() {
        return Ok(Vec::new());
    }
    let found = search(workspace, starts, &words, true, access.cancel(), None)?;
    let mut files: Vec<&Found> =
        found.files.iter().filter(|found| found.places.iter().any(|place| place.looks == Looks::Defined)).collect();
    let first_word = |found: &Found| found.places.iter().filter(|place| place.looks == Looks::Defined).map(|place| place.word).min();
    files.sort_by_key(|found| (first_word(found), is_aside(&found.path), found.path.len()));
    let mut known: Vec<(String, String, String)> = Vec::new(); // own name, whole name, place
    for source in files.into_iter().take(MOST_FILES).filter_map(|found| Source::read(workspace, &found.file, access)) {
        let lines = source.lines();
        let names = Names::new(&source.syntax.definitions, &lines);
        for (at, definition) in source.syntax.definitions.iter().enumerate().filter(|(at, _)| !names.own(*at).is_empty()) {
            known.push((names.own(at).to_owned(), names.full(at), format!("{}:{}", source.shown, definition.lines.start + 1)));
        }
    }
    Ok(nearest(query, &known))
}

fn nearest(query: &Query, known: &[(String, String, String)]) -> Vec<String> {
    let wanted = plain(&query.name);
    let own: Vec<&str> = known.iter().map(|(own, ..)| own.as_str()).collect();
    let alike = get_close_matches(query.name.as_str(), &own, MOST, ALIKE);
    let owned = |full: &str| query.owners.last().is_some_and(|owner| full.rsplit_once('.').is_some_and(|(of, _)| of == owner));
    let rank = |(own, full, _): &(String, String, String)| {
        let is_same = plain(own) == wanted;
        let holds = wanted.len() >= SHORTEST_PART && plain(own).contains(&wanted);
        let alike = alike.iter().position(|other| other == own); // the likest first
        (is_same || holds || alike.is_some()).then_some((!is_same, !owned(full), alike.unwrap_or(MOST)))
    };
    let mut ranked: Vec<_> = known.iter().filter_map(|one| Some((rank(one)?, one))).collect();
    ranked.sort_by(|(a, one), (b, other)| a.cmp(b).then(one.1.len().cmp(&other.1.len())));
    if ranked.first().is_some_and(|((is_other, ..), _)| !is_other) {
        ranked.retain(|((is_other, ..), _)| !is_other);
    }
    let mut said: Vec<String> = ranked.into_iter().map(|(_, (_, full, place))| format!("{full} {place}")).collect();
    let mut seen = std::collections::HashSet::new();
    said.retain(|one| seen.insert(one.clone()));
    said.truncate(MOST);
    said
}

/// A name without what writers do differently.
fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The words of a name: `from`, `raw` and `segments` of `from_raw_segments` and of `fromRawSegments`.
fn parts(name: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let bytes = name.as_bytes();
    for at in 1..=bytes.len() {
        let ends = at == bytes.len() || bytes[at] == b'_' || bytes[at].is_ascii_uppercase() && bytes[at - 1].is_ascii_lowercase();
        if ends && name.is_char_boundary(at) {
            parts.extend(name.get(start..at).map(|part| part.trim_matches('_')).filter(|part| part.len() >= SHORTEST_PART));
            start = at;
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_may_be_meant_are_told() {
        let known = [("get_all", "Store.get_all"), ("getAll", "Cache.getAll"), ("gel_al", "gel_al"), ("put", "Store.put")];
        let known: Vec<_> = known.map(|(own, full)| (own.to_owned(), full.to_owned(), "a.py:1".to_owned())).into();
        let of = |asked: &str| nearest(&Query::new(asked).expect("a name"), &known);
        assert_eq!(of("Cache.get_al"), ["Cache.getAll a.py:1", "Store.get_all a.py:1", "gel_al a.py:1"]);
        assert_eq!(of("GetAll")[..2], ["Cache.getAll a.py:1", "Store.get_all a.py:1"]);
        assert!(of("unlike").is_empty());
        assert_eq!(parts("from_raw_segments"), ["from", "raw", "segments"]);
        assert_eq!(parts("fromRawSegments"), ["from", "Raw", "Segments"]);
    }
}
