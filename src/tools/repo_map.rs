//! `repo_map`: the files around some files, and what they offer.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Deserialize;

use super::arguments::{lenient_list, lenient_number, lenient_text};
use super::{Call, Output, Session, question};
use crate::error::{Error, Result, counted, quote, shorten};
use crate::prune::FocusQuestion;
use crate::repomap::repository::{Repository, Skipped, join, source_files};
use crate::repomap::{self, Closure, Entry, LEAST_TOKENS, Map, Options, TOKENS, control, task};
use crate::search::search;
use crate::syntax::Language;
use crate::workspace::{Location, Workspace};

/// Files of a directory that a map starts from, at most: it has to name them all.
const MOST_ROOTS: usize = 40;
/// Files named in a remark, at most.
const NAMED: usize = 10;

/// What to map.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Where to start; files read so far if left out
    #[serde(default, deserialize_with = "lenient_list")]
    pub roots: Option<Vec<String>>,
    /// A text that names them as Path: 'pkg/a.py'
    #[serde(default, deserialize_with = "lenient_text")]
    pub task: Option<String>,
    /// Puts what answers it first
    #[serde(default, deserialize_with = "lenient_text")]
    pub context_focus_question: Option<String>,
    /// 1500 if left out
    #[serde(default, deserialize_with = "lenient_number")]
    pub max_tokens: Option<usize>,
    /// What the task calls the repository; written before every path.
    #[serde(skip)]
    #[schemars(skip)]
    pub prefix: Option<String>,
}

/// A map at random, to compare with.
#[derive(Debug, Clone, Copy)]
pub struct Control {
    /// Of the random numbers.
    pub seed: u64,
    /// cl100k tokens of the map to compare with; those of the request's own map if none.
    pub tokens: Option<usize>,
}

/// A map and what it is of.
#[derive(Debug, serde::Serialize)]
pub struct Mapped {
    /// The files it starts from.
    pub roots: Vec<String>,
    /// Paths that the task names and that are no files.
    pub missing: Vec<String>,
    /// The files it reaches.
    pub closure: Closure,
    /// The map.
    pub map: Map,
}

/// Makes a map.
///
/// # Errors
/// Nothing to start from, a root that cannot be read, a budget that holds nothing.
pub fn run(session: &Session, request: &Request, call: &Call<'_>) -> Result<Output> {
    Ok(Output::extra(map(session, request, None, call)?.map.text))
}

/// Makes a map, or its control.
///
/// # Errors
/// As [`run`].
pub fn map(session: &Session, request: &Request, random: Option<Control>, call: &Call<'_>) -> Result<Mapped> {
    let question = question(request.context_focus_question.as_ref())?;
    let max_tokens = request.max_tokens.unwrap_or(TOKENS);
    let wanted = random.and_then(|control| control.tokens).unwrap_or(max_tokens);
    if max_tokens.min(wanted) < LEAST_TOKENS {
        return Err(Error::bad_argument(format!(
            "A map takes {LEAST_TOKENS} tokens at least, and this one is to have {}.",
            max_tokens.min(wanted)
        )));
    }
    let start = start(session, request, call)?;
    let prefix = match prefix(request) {
        none if none.is_empty() => session.workspace.prefix_of(&start.first),
        given => given,
    };
    let options = Options { max_tokens, prefix, known: start.known.clone() };
    let access = session.syntax.access(&call.cancel);
    let repository = Repository::new(&session.workspace, &start.first, &session.parsed, &access, &call.cancel);
    let closure = repomap::closure(&start.roots, &repository);
    let entries = repomap::entries(&closure, &options);
    let (order, note) = match &question {
        Some(question) => by_question(session, &start.first, &closure, &entries, question, call)?,
        None => (repomap::by_closure(&entries), None),
    };
    let most = session.options.limits.most;
    let remarks = repomap::cut(remarks(&start, &closure, note.as_deref()), max_tokens.min(most / 4) / 4);
    let render = |tokens| repomap::render(&start.roots, &closure, &entries, &order, &options, tokens, &remarks);
    let mut map = render(max_tokens);
    let mut tokens = max_tokens;
    while map.text.chars().count() > most && !call.cancel.is_cancelled() {
        tokens = (map.tokens.min(tokens) * most / map.text.chars().count()).min(tokens - tokens.div_ceil(20));
        map = render(tokens);
    }
    if let Some(control) = random {
        let tokens = control.tokens.unwrap_or(map.tokens);
        map = control::random(&start.roots, &closure, &repository, control.seed, tokens, &options);
    }
    if call.cancel.is_cancelled() {
        return Err(Error::Cancelled);
    }
    Ok(Mapped { roots: start.roots, missing: start.missing, closure, map })
}

/// What is written before every path, ended by a slash.
fn prefix(request: &Request) -> String {
    match request.prefix.as_deref() {
        None | Some("") => String::new(),
        Some(prefix) => format!("{}/", slashed(prefix).trim_end_matches('/')),
    }
}

/// Where a map starts.
struct Start {
    roots: Vec<String>,
    first: Location,
    /// Files that the reader has seen whole.
    known: BTreeSet<String>,
    /// Paths of the task that are no files.
    missing: Vec<String>,
    /// Files that are in another root than the first.
    elsewhere: Vec<String>,
}

fn start(session: &Session, request: &Request, call: &Call<'_>) -> Result<Start> {
    let workspace = &session.workspace;
    let (mut places, mut whole, mut missing) = (Vec::new(), Vec::new(), Vec::new());
    let roots: Vec<&String> = request.roots.iter().flatten().filter(|root| !root.trim().is_empty()).collect();
    let text = request.task.as_deref().filter(|task| !task.trim().is_empty());
    for root in &roots {
        let found = workspace.locate(Some(root))?;
        match workspace.one_file(root, &found)? {
            Some(file) if Language::of(&file.path()).is_some() => places.push(file),
            Some(_) => return Err(no_source(root)),
            None => places.extend(beneath(workspace, root, &found, call)?),
        }
    }
    if let Some(text) = text {
        let prefix = Some(prefix(request)).filter(|prefix| !prefix.is_empty()).unwrap_or_else(|| task::PREFIX.to_owned());
        for path in task::paths(text, &prefix) {
            match find(workspace, &path) {
                Some(place) => places.push(place),
                None => missing.push(path),
            }
        }
        if places.is_empty() {
            let named = match missing.as_slice() {
                [] => "names no files (Path: 'pkg/a.py')".to_owned(),
                missing => format!("names only files that are not here: {}", list(missing)),
            };
            return Err(Error::bad_argument(format!("The task {named}; give roots instead.")));
        }
    }
    if roots.is_empty() && text.is_none() {
        for (path, seen_whole) in session.files_read() {
            let Some(place) = workspace.find(&path).filter(|place| Language::of(&place.path()).is_some()) else { continue };
            if seen_whole {
                whole.push(place.clone());
            }
            places.push(place);
        }
    }
    let Some(first) = places.first().cloned() else {
        return Err(Error::bad_argument(match session.options.shared {
            true => "There is nothing to start from; give roots or a task.",
            false if session.options.shell => "There is nothing to start from; name files, or give a --task.",
            false => "There is nothing to start from yet; give roots, or read some source files first.",
        }));
    };
    // A path with .. in it is that of another file of the same root.
    let relative = |place: &Location| join("", &place.path()).unwrap_or_else(|| place.path());
    let (here, elsewhere): (Vec<&Location>, Vec<&Location>) = places.iter().partition(|place| place.same_root(&first));
    let mut roots: Vec<String> = Vec::new();
    for path in here.into_iter().map(relative) {
        if !roots.contains(&path) {
            roots.push(path);
        }
    }
    let known = whole.iter().filter(|place| place.same_root(&first)).map(relative).collect();
    let elsewhere = elsewhere.into_iter().map(|place| workspace.show(place)).collect();
    Ok(Start { roots, first, known, missing, elsewhere })
}

/// The source files beneath some directories; `name` is what they were asked for by.
fn beneath(workspace: &Workspace, name: &str, directories: &[Location], call: &Call<'_>) -> Result<Vec<Location>> {
    let found = source_files(workspace, directories, &call.cancel)?;
    match found.len() {
        0 => Err(no_source(name)),
        1..=MOST_ROOTS => Ok(found),
        many => Err(Error::bad_argument(format!(
            "{} has {many} source files, and a map starts from {MOST_ROOTS} at most; name files or smaller directories{}.",
            quote(name),
            largest(directories, &found)
        ))),
    }
}

fn no_source(name: &str) -> Error {
    Error::bad_argument(format!("{} is no source file and has none in it; name files to start from.", quote(name)))
}

/// `: "src/cli" (12), "src/prune" (9)`: which directories right below these have most of the files.
fn largest(directories: &[Location], files: &[Location]) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for file in files {
        let path = file.path();
        let above = directories.iter().filter(|directory| directory.same_root(file)).map(Location::path);
        let below = above.filter_map(|above| path.strip_prefix(&above).map(|below| (above.len(), below.trim_start_matches('/')))).max();
        if let Some((_, below)) = below
            && let Some((child, _)) = below.split_once('/')
        {
            *counts.entry(path[..path.len() - below.len() + child.len()].to_owned()).or_default() += 1;
        }
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let named: Vec<String> = counts.iter().take(NAMED).map(|(directory, count)| format!("{} ({count})", quote(directory))).collect();
    if named.is_empty() { String::new() } else { format!(": {}", named.join(", ")) }
}

/// A path with slashes, where the system has others too.
fn slashed(path: &str) -> Cow<'_, str> {
    if cfg!(windows) { path.replace('\\', "/").into() } else { path.into() }
}

/// A file that a task names: as it is, or below whatever else the task calls the repository.
fn find(workspace: &Workspace, path: &str) -> Option<Location> {
    let shorter = |path: &str| path.trim_start_matches('/').split_once('/').map(|(_, rest)| rest.to_owned());
    let path = &*slashed(path);
    let is_absolute = path.starts_with('/') || cfg!(windows) && path.get(1..3) == Some(":/");
    let absolute = is_absolute.then(|| shorter(path)).flatten();
    let below = std::iter::successors(absolute, |path| shorter(path).filter(|rest| rest.contains('/')));
    std::iter::once(path.to_owned()).chain(below).find_map(|path| workspace.find(&path))
}

/// What the reader should know beside the map, after an empty line.
fn remarks(start: &Start, closure: &Closure, note: Option<&str>) -> String {
    let mut out = note.map_or_else(String::new, |note| format!("\n{}\n", shorten(note)));
    if !start.missing.is_empty() {
        let _ = write!(out, "\nNot found: {}\n", list(&start.missing));
    }
    if !start.elsewhere.is_empty() {
        let _ = write!(out, "\nLeft out, as they are in another root: {}\n", list(&start.elsewhere));
    }
    for (why, what) in [
        (Skipped::Syntax, "Left out, as they do not parse"),
        (Skipped::Parser, "Left out, as the parser failed on them or took too long"),
        (Skipped::Large, "Left out, as too large to be written by hand"),
        (Skipped::Unreadable, "Left out, as they cannot be read or are in no language that is known"),
    ] {
        let files: Vec<String> = closure.skipped.iter().filter(|(_, reason)| *reason == why).map(|(path, _)| path.clone()).collect();
        if !files.is_empty() {
            let _ = write!(out, "\n{what}: {}\n", list(&files));
        }
    }
    out
}

fn list(paths: &[String]) -> String {
    let named: Vec<String> = paths.iter().take(NAMED).map(|path| shorten(path)).collect();
    match paths.len() - named.len() {
        0 => named.join(", "),
        more => format!("{} and {}", named.join(", "), counted(more, "more file")),
    }
}

/// Symbols in the order in which a search of their files ranks their definitions, and what the reader should know about how lines were scored.
fn by_question(
    session: &Session,
    first: &Location,
    closure: &Closure,
    entries: &[Entry],
    question: &FocusQuestion,
    call: &Call<'_>,
) -> Result<(Vec<usize>, Option<String>)> {
    let starts: Vec<Location> = closure.nodes.iter().map(|node| first.beside(&node.path)).collect();
    let access = session.syntax.access(&call.cancel);
    let asking = session.asking(&starts, &access, call.progress);
    let found = search(question, &asking)?;
    let mut with_word: HashMap<(&str, &str), Vec<usize>> = HashMap::new(); // by file and word of the signature
    for (i, entry) in entries.iter().enumerate() {
        for word in entry.symbol.signature.split(|c: char| !c.is_alphanumeric() && c != '_') {
            with_word.entry((closure.nodes[entry.file].path.as_str(), word)).or_default().push(i);
        }
    }
    let (mut order, mut placed) = (Vec::new(), HashSet::new());
    for ranked in &found.ranked {
        let source = &found.sources[ranked.source];
        let name = source.units[ranked.unit].own_name();
        let those = if name.is_empty() { None } else { with_word.remove(&(source.indexed.path.as_str(), name)) };
        order.extend(those.into_iter().flatten().filter(|i| placed.insert(*i)));
    }
    // What it did not read comes last, the nearest files first.
    order.extend(repomap::by_closure(entries).into_iter().filter(|i| !placed.contains(i)));
    Ok((order, found.remark.map(|said| format!("How it is ordered: {said}."))))
}
