//! `read_file`: a text file, lines of it, or definitions by their names; whole or pruned to a question.

use schemars::JsonSchema;
use serde::Deserialize;

use super::arguments::{Lines, lenient_flag, lenient_names, lenient_number, lenient_ranges, lenient_text};
use super::sections::{Section, Shown, Style, and_decoded, render};
use super::{Account, Call, Output, Session, question, symbol};
use crate::error::{Error, Result, quote};
use crate::prune::FocusQuestion;
use crate::prune::render::ReadBack;
use crate::workspace::text::{self, Excerpt, Text};
use crate::workspace::{OpenFile, notebook};

/// Runs of lines in one call, at most.
const MOST_RANGES: usize = 50;

/// What to read.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Relative to the root, or absolute; with symbol a directory too, or none
    #[serde(default, deserialize_with = "lenient_text")]
    pub path: Option<String>,
    /// Definitions to read whole, with what uses them: "Store.get, open"
    #[serde(default, deserialize_with = "lenient_names")]
    #[schemars(with = "String")]
    pub symbol: Vec<String>,
    /// Only these lines: "12-40,200-230"
    #[serde(default, deserialize_with = "lenient_ranges")]
    #[schemars(with = "String")]
    pub lines: Vec<Lines>,
    /// The first line, where another tool's habit gives it.
    #[serde(default, deserialize_with = "lenient_number")]
    #[schemars(skip)]
    pub start_line: Option<usize>,
    /// The last line, as well.
    #[serde(default, deserialize_with = "lenient_number")]
    #[schemars(skip)]
    pub end_line: Option<usize>,
    /// Begin each line with its number
    #[serde(default, deserialize_with = "lenient_flag")]
    pub line_numbers: Option<bool>,
    /// Files and directories after the first, which only a shell gives.
    #[serde(skip)]
    #[schemars(skip)]
    pub more_paths: Vec<String>,
    /// A complete question, then 4 to 8 other words its code may use: "Where is the retry delay capped? (backoff, sleep, max)"
    #[serde(default, deserialize_with = "lenient_text")]
    pub context_focus_question: Option<String>,
}

impl Request {
    /// A whole file.
    pub fn new(path: &str) -> Self {
        Self { path: Some(path.to_owned()), ..Self::default() }
    }

    /// The lines that are asked for; none for all of them.
    fn ranges(&self) -> Result<Vec<Lines>> {
        let habit = self.start_line.is_some() || self.end_line.is_some();
        match (self.lines.len(), habit) {
            (0, false) => Ok(Vec::new()),
            (0, true) => Ok(vec![(self.start_line.unwrap_or(1), self.end_line)]),
            (1..=MOST_RANGES, false) => Ok(self.lines.clone()),
            (many, false) => Err(Error::bad_argument(format!("{many} ranges are more than {MOST_RANGES}; ask for fewer at once."))),
            (_, true) => Err(Error::bad_argument("lines and start_line or end_line say the same; give lines alone.")),
        }
    }
}

/// Reads a file, or definitions.
///
/// # Errors
/// Anything about the path, the file, the range, the names or the question that cannot be served, in one sentence.
pub fn run(session: &Session, request: &Request, call: &Call<'_>) -> Result<Output> {
    let question = question(request.context_focus_question.as_ref())?;
    let ranges = request.ranges()?;
    let numbered = request.line_numbers.unwrap_or(false);
    if !request.symbol.is_empty() {
        if !ranges.is_empty() {
            return Err(Error::bad_argument("symbol and lines (--symbol, --lines) are two ways to say what to read; give one of them."));
        }
        let paths: Vec<String> = request.path.iter().chain(&request.more_paths).cloned().collect();
        let wanted = symbol::Request { symbols: &request.symbol, paths: &paths, numbered, question: question.as_ref() };
        return symbol::run(session, &wanted, call);
    }
    let Some(path) = &request.path else {
        return Err(Error::bad_argument("There is nothing to read yet; give a path, or a symbol to look for in all files."));
    };
    if !request.more_paths.is_empty() {
        return Err(Error::bad_argument("One file is read at a time; give several paths with --symbol, or use grep."));
    }
    match ranges.as_slice() {
        [] => one(session, path, (None, None), numbered, question.as_ref(), call),
        [(first, last)] => one(session, path, (Some(*first), *last), numbered, question.as_ref(), call),
        several => parts(session, path, several, numbered, question.as_ref(), call),
    }
}

fn one(
    session: &Session,
    path: &str,
    (first, last): (Option<usize>, Option<usize>),
    numbered: bool,
    question: Option<&FocusQuestion>,
    call: &Call<'_>,
) -> Result<Output> {
    let Found { open, name, cells } = find(session, path, question, call)?;
    let read_back = if cells.is_some() { of_cells(session) } else { session.read_back() };
    let excerpt = lines(open, cells, (first, last), question, call)?;
    let output = session.show(&name, &excerpt, question, numbered, read_back, &call.cancel)?;
    session.remember(&name, excerpt.total == Some(excerpt.text.len()) && output.text.ends_with(excerpt.text.as_str()));
    Ok(output)
}

/// A file to read.
struct Found {
    open: OpenFile,
    /// What it is called in the result.
    name: String,
    /// Its cells, where those are to be shown in its place.
    cells: Option<Text>,
}

/// Finds a file. A notebook that is asked something is read as its cells; what is no notebook but by its name is a text like any other.
fn find(session: &Session, path: &str, question: Option<&FocusQuestion>, call: &Call<'_>) -> Result<Found> {
    let of_cells = notebook::path_of_cells(path);
    let open = session.workspace.open_file(of_cells.unwrap_or(path))?;
    let name = open.shown.clone();
    if of_cells.is_none() && (question.is_none() || !notebook::is_notebook(path)) {
        return Ok(Found { open, name, cells: None });
    }
    let json = text::read(open, None, None, &call.cancel)?.text;
    let Some(cells) = notebook::cells(json.as_str()) else {
        return Ok(Found { open: session.workspace.open_file(of_cells.unwrap_or(path))?, name, cells: None });
    };
    let cells = Text::new(cells).decoded_from(notebook::SAID.into());
    Ok(Found { open: session.workspace.open_file(of_cells.unwrap_or(path))?, name: name + notebook::CELLS, cells: Some(cells) })
}

/// Lines of a file, or of the cells in it, as they are to be shown.
fn lines(
    open: OpenFile,
    cells: Option<Text>,
    (first, last): (Option<usize>, Option<usize>),
    question: Option<&FocusQuestion>,
    call: &Call<'_>,
) -> Result<Excerpt> {
    let shown = open.shown.clone();
    match (cells, question) {
        (Some(cells), _) => {
            let instead_of = open.instead_of;
            Ok(Excerpt { instead_of, ..text::lines_of(cells, first.unwrap_or(1), last, &(shown + notebook::CELLS))? })
        }
        (None, None) => text::read(open, first, last, &call.cancel),
        (None, Some(_)) => Ok(Session::asked_of(&shown, text::read(open, first, last, &call.cancel)?)),
    }
}

/// How what is left out of a notebook's cells is read.
fn of_cells(session: &Session) -> ReadBack {
    let gap = if session.options.shell {
        "--lines A-B of this path with #cells reads them"
    } else {
        "lines A-B of this path with #cells reads them"
    };
    ReadBack { gap, ..session.read_back() }
}

/// Several runs of lines of a file, in order; those that overlap or follow each other are one.
fn parts(
    session: &Session,
    path: &str,
    ranges: &[Lines],
    numbered: bool,
    question: Option<&FocusQuestion>,
    call: &Call<'_>,
) -> Result<Output> {
    let mut sections = Vec::new();
    for (first, last) in joined(ranges)? {
        let Found { open, name, cells } = find(session, path, question, call)?;
        let excerpt = lines(open, cells, (Some(first), last), question, call)?;
        let lines: Vec<String> = excerpt.text.lines(0..excerpt.text.len()).into_iter().map(str::to_owned).collect();
        let instead =
            excerpt.instead_of.as_ref().map_or_else(String::new, |path| format!("in place of {}, which is not there", quote(path)));
        let mut section = Section {
            path: name.clone(),
            first: excerpt.first,
            total: excerpt.total,
            name: and_decoded(instead, &excerpt.text),
            lines,
            question: question.cloned(),
            ..Section::default()
        };
        if let Some(question) = question {
            let (kept, pointers, said) = session.decide_on(&name, &excerpt, question, numbered, &call.cancel)?;
            section.name = [section.name, said].into_iter().filter(|said| !said.is_empty()).collect::<Vec<_>>().join("; ");
            section.shown = Shown::View(kept, pointers);
        }
        session.remember(&name, false);
        sections.push(section);
    }
    let (text, parts) = render(&sections, Style::of(session, numbered));
    Ok(Output { account: Some(Account { parts, ..Account::default() }), ..Output::new(text) })
}

/// Ranges in order, without what is in two of them.
fn joined(ranges: &[Lines]) -> Result<Vec<Lines>> {
    if let Some((first, last)) = ranges.iter().find(|(first, last)| *first == 0 || last.is_some_and(|last| last < *first)) {
        let last = last.map_or_else(String::new, |last| last.to_string());
        return Err(Error::bad_argument(format!("The range {first}-{last} is none: lines count from 1, and a range goes forward.")));
    }
    let mut sorted = ranges.to_vec();
    sorted.sort_unstable_by_key(|(first, _)| *first);
    let mut joined: Vec<Lines> = Vec::new();
    for (first, last) in sorted {
        match joined.last_mut() {
            Some((_, None)) => {}
            Some((_, Some(end))) if first <= end.saturating_add(1) => match last {
                Some(last) => *end = last.max(*end),
                None => joined.last_mut().expect("there is one").1 = None,
            },
            _ => joined.push((first, last)),
        }
    }
    Ok(joined)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_put_in_order() {
        let of = |ranges: &[Lines]| joined(ranges).expect("ranges");
        assert_eq!(of(&[(200, Some(230)), (12, Some(40)), (41, Some(50))]), [(12, Some(50)), (200, Some(230))]);
        assert_eq!(of(&[(5, None), (7, Some(9)), (1, Some(2))]), [(1, Some(2)), (5, None)]);
        assert_eq!(of(&[(1, Some(usize::MAX)), (5, Some(9))]), [(1, Some(usize::MAX))]);
        assert!(joined(&[(0, None)]).is_err() && joined(&[(5, Some(4))]).is_err());
    }
}
