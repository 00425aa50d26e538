//! Definitions by name, in all files of the roots: found by a word search, and read by their grammars.

mod near;
mod query;
mod related;
pub mod words;

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

pub use self::near::near;
pub use self::query::Query;
pub use self::related::{Mention, Related, related};
use self::words::{Everywhere, Found, LARGEST_SOURCE, Looks};
use crate::syntax::{Access, Kind, Language, Names, Syntax};
use crate::workspace::text::{self, Text};
use crate::workspace::{Location, Workspace};

/// Files that are read for one name, at most, the likeliest first.
const MOST_FILES: usize = 60;

/// A source file and what its grammar tells of it.
pub struct Source {
    /// The file.
    pub file: Location,
    /// Its path as it is shown.
    pub shown: String,
    /// Its text.
    pub text: Text,
    /// What is known of it.
    pub syntax: Arc<Syntax>,
}

impl Source {
    /// Reads a file; none where it cannot be read, or has no grammar.
    pub fn read(workspace: &Workspace, file: &Location, access: &Access<'_>) -> Option<Self> {
        let language = Language::of(&file.path())?;
        let open = workspace.open_location(file).ok().filter(|open| open.bytes <= LARGEST_SOURCE)?;
        let shown = open.shown.clone();
        let text = text::read(open, None, None, access.cancel()).ok()?.text;
        let syntax = access.read(language, text.as_str()).ok()?;
        Some(Self { file: file.clone(), shown, text, syntax })
    }

    /// Its lines.
    pub fn lines(&self) -> Vec<&str> {
        self.text.lines(0..self.text.len())
    }
}

/// A definition that was found.
#[derive(Clone)]
pub struct Hit {
    /// The file that it is in.
    pub source: Arc<Source>,
    /// Which of its definitions it is.
    pub at: usize,
    /// Its name, after whose it is.
    pub name: String,
    /// Whether it belongs to something.
    pub is_member: bool,
}

impl Hit {
    /// Its lines.
    pub fn lines(&self) -> Range<usize> {
        self.source.syntax.definitions[self.at].lines.clone()
    }

    /// Its lines and those of what belongs to it right above.
    pub fn with_above(&self) -> Range<usize> {
        let it = &self.source.syntax.definitions[self.at];
        it.from..it.lines.end
    }

    /// What it is.
    pub fn kind(&self) -> Kind {
        self.source.syntax.definitions[self.at].kind
    }
}

/// The definitions of a name, best first: what is code of its own before tests, examples and documents; functions and types before values; of a bare
/// name what is nobody's before members. `files` are those with the name on a line. Tells, too, how many that look as if they define it were not read.
pub fn definitions(query: &Query, word: usize, files: &[&Found], workspace: &Workspace, access: &Access<'_>) -> (Vec<Hit>, usize) {
    let looks = |found: &Found| found.places.iter().filter(|place| place.word == word).map(|place| place.looks).min();
    let with_word: Vec<(&Found, Looks)> = files.iter().filter_map(|found| Some((*found, looks(found)?))).collect();
    let (mut defined, mut others): (Vec<_>, Vec<_>) = with_word.into_iter().partition(|(_, looks)| *looks == Looks::Defined);
    let hits_in = |files: &mut Vec<(&Found, Looks)>| {
        files.sort_by_key(|(found, _)| (is_aside(&found.path), found.path.len()));
        files.truncate(MOST_FILES);
        let read = |(found, _): &(&Found, Looks)| Source::read(workspace, &found.file, access).map(Arc::new);
        let sources: Vec<Arc<Source>> = files.par_iter().filter_map(read).collect();
        sources.iter().flat_map(|source| in_source(query, source)).collect::<Vec<Hit>>()
    };
    let unread = defined.len().saturating_sub(MOST_FILES);
    let mut hits = hits_in(&mut defined);
    if hits.is_empty() {
        hits = hits_in(&mut others); // what looks like something else all the same
    }
    let has_body = |hit: &Hit| hit.source.syntax.definitions[hit.at].header.end < hit.lines().end;
    let is_unnamed = |hit: &Hit| hit.source.syntax.definitions[hit.at].name.is_none(); // an `impl`
    hits.sort_by_cached_key(|hit| {
        let is_bare_member = query.owners.is_empty() && hit.is_member;
        let path = hit.source.file.path();
        (is_aside(&path), hit.kind() == Kind::Value, is_bare_member, is_unnamed(hit), !has_body(hit), path.len(), path, hit.lines().start)
    });
    (hits, unread)
}

/// The definitions of a name in one file.
fn in_source(query: &Query, source: &Arc<Source>) -> Vec<Hit> {
    let (lines, owners) = (source.lines(), query.owners());
    let names = Names::new(&source.syntax.definitions, &lines);
    let hit = |at| Hit { source: Arc::clone(source), at, name: names.full(at), is_member: !names.owner(at).is_empty() };
    (0..source.syntax.definitions.len()).filter(|at| names.is_called(*at, &query.name, &owners)).map(hit).collect()
}

/// Whether a file is beside what a repository is about: tests, examples, documents, what was copied from elsewhere.
pub fn is_aside(path: &str) -> bool {
    const ASIDE: [&str; 18] = [
        "test",
        "tests",
        "testing",
        "__tests__",
        "spec",
        "specs",
        "example",
        "examples",
        "doc",
        "docs",
        "bench",
        "benches",
        "benchmarks",
        "vendor",
        "third_party",
        "node_modules",
        "fixtures",
        "samples",
    ];
    let (directories, file) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = file.split('.').next().unwrap_or_default();
    directories.split('/').any(|part| ASIDE.contains(&part))
        || stem.starts_with("test_")
        || ["_test", "_spec", "Test", "Tests"].iter().any(|end| stem.ends_with(end))
        || [".test.", ".spec."].iter().any(|part| file.contains(part))
}

/// The definition that a line is in, by its name.
pub fn around(source: &Source, line: usize) -> Option<String> {
    let lines = source.lines();
    let names = Names::new(&source.syntax.definitions, &lines);
    names.holding(line).map(|at| names.full(at))
}

/// The files that have a word.
pub fn with_word(everywhere: &Everywhere, word: usize) -> impl Iterator<Item = &Found> {
    everywhere.files.iter().filter(move |found| found.places.iter().any(|place| place.word == word))
}
