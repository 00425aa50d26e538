//! `repo_map`: the files around some files, and what they offer.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Call, Output, Session, lenient_number, question};
use crate::error::{Error, Result, count, quote};
use crate::prune::FocusQuestion;
use crate::repomap::repository::{Repository, Skipped};
use crate::repomap::{self, Closure, Entry, LEAST_TOKENS, Map, Options, TOKENS, control, task};
use crate::skim::{SkimError, best_first, skim_safely};
use crate::workspace::Location;

/// Files named in a remark, at most.
const NAMED: usize = 10;

/// What to map.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Files to start from; those read so far if left out
    #[serde(default)]
    pub roots: Option<Vec<String>>,
    /// A problem statement that names them in lines such as Path: 'pkg/a.py'
    #[serde(default)]
    pub task: Option<String>,
    /// Shows the symbols that answer it first
    #[serde(default)]
    pub context_focus_question: Option<String>,
    /// Tokens of the map; 1500 if left out
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
    Ok(Output { text: map(session, request, None, call)?.map.text, found: true })
}

/// Makes a map, or its control.
///
/// # Errors
/// As [`run`].
pub fn map(session: &Session, request: &Request, random: Option<Control>, call: &Call<'_>) -> Result<Mapped> {
    let question = question(request.context_focus_question.as_ref())?;
    let max_tokens = request.max_tokens.unwrap_or(TOKENS);
    if max_tokens < LEAST_TOKENS {
        return Err(Error::bad_argument(format!("max_tokens is {max_tokens}; a map takes {LEAST_TOKENS} at least.")));
    }
    let prefix = request.prefix.clone().unwrap_or_default();
    let start = start(session, request)?;
    let repository = Repository::new(&session.workspace, &start.first, &call.cancel);
    let closure = repomap::closure(&start.roots, &repository);
    let remarks = remarks(&start, &closure);
    let options = Options { max_tokens, reserved: repomap::count(&remarks), prefix, known: start.known.clone() };
    let entries = repomap::entries(&closure, &repository, &options);
    let order = match &question {
        Some(question) => by_question(session, &closure, &entries, question, call)?,
        None => repomap::by_closure(&entries),
    };
    let mut map = repomap::render(&start.roots, &closure, &entries, &order, &options);
    if let Some(control) = random {
        let tokens = control.tokens.unwrap_or(map.tokens);
        map = control::random(&start.roots, &closure, &repository, control.seed, tokens, &options);
    } else {
        map.text.push_str(&remarks);
        map.tokens = repomap::count(&map.text);
    }
    if call.cancel.is_cancelled() {
        return Err(Error::Cancelled);
    }
    Ok(Mapped { roots: start.roots, missing: start.missing, closure, map })
}

/// Where a map starts.
struct Start {
    roots: Vec<String>,
    first: Location,
    /// Files that the reader has seen whole.
    known: BTreeSet<String>,
    /// Paths of the task that are no files.
    missing: Vec<String>,
}

fn start(session: &Session, request: &Request) -> Result<Start> {
    let workspace = &session.workspace;
    let (mut places, mut known, mut missing) = (Vec::new(), BTreeSet::new(), Vec::new());
    for root in request.roots.iter().flatten() {
        let place = workspace.locate(Some(root))?.into_iter().find(|place| workspace.is_file(place));
        places.push(place.ok_or_else(|| Error::bad_argument(format!("{} is a directory; name files to start from.", quote(root))))?);
    }
    if let Some(text) = &request.task {
        let paths = task::paths(text, request.prefix.as_deref().unwrap_or(task::PREFIX));
        for path in paths {
            let place = workspace.locate(Some(&path)).ok().and_then(|places| places.into_iter().find(|place| workspace.is_file(place)));
            match place {
                Some(place) => places.push(place),
                None => missing.push(path),
            }
        }
        if places.is_empty() {
            let named = if missing.is_empty() {
                "names no files (Path: 'pkg/a.py')".to_owned()
            } else {
                format!("names only files that are not here: {}", list(&missing))
            };
            return Err(Error::bad_argument(format!("The task {named}; give roots instead.")));
        }
    }
    if request.roots.is_none() && request.task.is_none() {
        for (path, whole) in session.files_read() {
            if let Ok(found) = workspace.locate(Some(&path)) {
                places.extend(found);
                if whole {
                    known.insert(path);
                }
            }
        }
    }
    let Some(first) = places.first().cloned() else {
        return Err(Error::bad_argument("There is nothing to start from yet; give roots, or read some files first."));
    };
    let mut roots: Vec<String> = Vec::new();
    for place in places.iter().filter(|place| workspace.same_root(place, &first)) {
        let path = crate::workspace::Workspace::relative(place);
        if !roots.contains(&path) {
            roots.push(path);
        }
    }
    Ok(Start { roots, first, known, missing })
}

/// What the reader should know beside the map, after an empty line.
fn remarks(start: &Start, closure: &Closure) -> String {
    let mut out = String::new();
    if !start.missing.is_empty() {
        let _ = write!(out, "\nNot found: {}\n", list(&start.missing));
    }
    for (why, what) in [
        (Skipped::Syntax, "Left out, as they do not parse"),
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
    let named: Vec<String> = paths.iter().take(NAMED).map(|path| crate::error::shorten(path)).collect();
    match paths.len() - named.len() {
        0 => named.join(", "),
        more => format!("{} and {}", named.join(", "), count(more, "more file")),
    }
}

/// Symbols in the order in which the skimmer takes them to answer the question.
fn by_question(session: &Session, closure: &Closure, entries: &[Entry], question: &FocusQuestion, call: &Call<'_>) -> Result<Vec<usize>> {
    let mut lines = Vec::new();
    let mut places = Vec::new();
    for (i, entry) in entries.iter().enumerate() {
        if i == 0 || entries[i - 1].file != entry.file {
            lines.push(format!("{}\n", closure.nodes[entry.file].path));
        }
        places.push(lines.len());
        lines.push(format!("{}\n", entry.symbol.line()));
    }
    let text: Vec<&str> = lines.iter().map(String::as_str).collect();
    match skim_safely(session.skimmer.as_ref(), &text, question.as_str(), &call.cancel) {
        Ok(scores) => {
            let scores: Vec<f32> = places.iter().map(|place| scores.keep[*place]).collect();
            Ok(best_first(&scores, 0..entries.len()))
        }
        Err(SkimError::Cancelled) => Err(Error::Cancelled),
        Err(error) => {
            tracing::warn!(%error, "skimmer failed");
            Ok(repomap::by_closure(entries))
        }
    }
}
