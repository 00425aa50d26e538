//! A result of another tool on its way to an agent that has not asked for less of it: what is left out is left out in whole definitions, and
//! seldom. The server does not offer it.

use std::ops::Range;

use tokio_util::sync::CancellationToken;

use super::{Output, Part, Session, answer};
use crate::error::{Error, Result, one_line};
use crate::prune::code::Code;
use crate::prune::outputs::{always_shown, is_routine};
use crate::prune::render::{self, Page, ReadBack, Status};
use crate::prune::select::fill_cheap_gaps;
use crate::prune::terminal;
use crate::prune::{Decision, FocusQuestion, Material, View, WORTHWHILE};
use crate::skim::skim_safely;

/// Lines outside of definitions that are left out or shown together, at most.
const TOGETHER: usize = 30;
/// What a command prints whenever things go well is shown from this probability on.
const ASKED: f32 = 0.5;

/// What a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A file.
    File,
    /// Matches of a search, each after its path and a colon, or below it.
    Matches,
    /// What a command printed.
    Output,
}

impl Form {
    /// A definition, or other lines together, whose probability on average is below this is left out: so low that in one of twenty results, at most, a
    /// line that was needed is hidden (`tests/hook/measure.py`).
    fn enough(self) -> f32 {
        match self {
            Self::File => 0.009,
            Self::Matches => 0.005,
            Self::Output => 0.012,
        }
    }
}

/// A text, and what its reader is after.
#[derive(Debug, Clone)]
pub struct Request {
    /// What it is of, for the header and, by its ending, the language.
    pub name: String,
    /// The text.
    pub text: String,
    /// What it is.
    pub form: Form,
    /// What the reader is after.
    pub question: FocusQuestion,
    /// How the reader gets what is left out.
    pub read_back: ReadBack,
}

/// An excerpt; none where the text is better left as it is.
///
/// # Errors
/// A skimmer that fails, and a call that was withdrawn.
pub fn run(session: &Session, request: &Request, cancel: &CancellationToken) -> Result<Option<Output>> {
    let text = if request.form == Form::Output { terminal::shown(&request.text) } else { request.text.as_str().into() };
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let access = session.syntax.access(cancel);
    let path = if request.form == Form::File { request.name.as_str() } else { "" };
    let code = Code::new(path, &lines, 0, &access);
    let (scores, ()) = std::thread::scope(|scope| {
        let prepared = scope.spawn(|| code.prepare());
        let scores = skim_safely(session.skimmer.as_ref(), &lines, request.question.as_str(), cancel);
        (scores, prepared.join().unwrap_or_default())
    });
    let scores = scores.map_err(|error| Error::failed(error.to_string()))?;
    let mut kept = vec![false; lines.len()];
    for together in groups(request.form, &lines, &code) {
        let says = |line: &usize| request.form != Form::Matches || !is_heading(lines[*line]);
        let probabilities: Vec<f32> = together.clone().filter(says).map(|line| scores.keep[line]).collect();
        let mean = probabilities.iter().sum::<f32>() / probabilities.len().max(1) as f32;
        kept[together].fill(mean >= request.form.enough());
    }
    if request.form == Form::Matches && kept.contains(&true) {
        kept.iter_mut().zip(&lines).for_each(|(kept, line)| *kept |= is_note(line));
    }
    if request.form == Form::Output {
        let routine = lines.iter().zip(&scores.keep).map(|(line, keep)| is_routine(line) && *keep < ASKED);
        kept.iter_mut().zip(routine).for_each(|(kept, routine)| *kept &= !routine);
    }
    for header in code.named(&request.question) {
        kept[header.whole].fill(true);
    }
    code.wanted_with(&request.question, &kept).into_iter().for_each(|line| kept[line] = true);
    if request.form == Form::Output {
        kept.iter_mut().zip(always_shown(&lines)).for_each(|(kept, always)| *kept |= always);
    }
    code.complete(&mut kept);
    drop_blank(&mut kept, &lines);
    fill_cheap_gaps(&mut kept, &lines);
    let pointers = code.contents(&kept, true);
    let whole = text.chars().count();
    // Where nothing seems to be of use, what was asked is not what is wanted.
    let is_excerpt = kept.contains(&true) && kept.contains(&false);
    if !is_excerpt || code.cost(&kept, &pointers) as f64 > WORTHWHILE * whole as f64 {
        return Ok(None);
    }
    let name = one_line(&request.name);
    let page = Page {
        name: &name,
        lines: &lines,
        total: Some(lines.len()),
        pointers: &pointers,
        read_back: request.read_back,
        longest: render::LONGEST_LINE,
        ..Page::default()
    };
    let view = render::page(&page, &kept, Status::Pruned { doubtful: false }, usize::MAX);
    let decision = Decision::Partial(View { kept: kept.clone(), pointers: pointers.clone(), doubtful: false, note: None });
    let numbered = (1..).zip(&lines).zip(&kept).map(|((number, line), kept)| (number, *kept, *line));
    let part = Part::new(&name, numbered, &decision, &mut { usize::MAX });
    Ok(Some(answer(view, Some(request.text.clone()), vec![part], false)))
}

/// Lines of a text, from the line `first`, that a reader sees as they are.
pub fn seen(name: &str, first: usize, text: &str) -> Output {
    let lines = (first..).zip(text.split_inclusive('\n')).map(|(number, line)| (number, true, line));
    answer(text.to_owned(), None, vec![Part::new(&one_line(name), lines, &Decision::Whole, &mut { usize::MAX })], false)
}

/// Leaves out lines that say nothing, between such as are left out.
fn drop_blank(kept: &mut [bool], lines: &[&str]) {
    let says = |line: &&str| line.chars().any(char::is_alphanumeric);
    let mut start = 0;
    for run in lines.chunk_by(|a, b| says(a) == says(b)) {
        let range = start..start + run.len();
        start = range.end;
        let is_beside = |line: Option<usize>| line.is_none_or(|line| !kept.get(line).copied().unwrap_or(false));
        if !says(&run[0]) && is_beside(range.start.checked_sub(1)) && is_beside(Some(range.end)) {
            kept[range].fill(false);
        }
    }
}

/// The path before a match, or above the matches of a file; none in what belongs to the line before.
fn path(line: &str) -> Option<&str> {
    let (path, _) = line.split_once(':')?;
    let is_number = path.trim_start_matches('L').bytes().all(|byte| byte.is_ascii_digit());
    (!is_number && !path.starts_with(char::is_whitespace)).then_some(path)
}

/// Whether a line of a search is no match: the path above those of a file, or a line between them.
fn is_heading(line: &str) -> bool {
    let line = line.trim_end();
    line.is_empty() || line.ends_with(':') && path(line).is_some() || line.bytes().all(|byte| byte == b'-')
}

/// Whether a line says something of a search: how many matches there are, or that there are more.
fn is_note(line: &str) -> bool {
    path(line).is_none() && line.starts_with(|c: char| c.is_alphabetic() || c == '(' || c == '[') && !line.starts_with('L')
}

/// What is shown or left out together: definitions that hold no other, the matches in a file, and runs of other lines.
fn groups(form: Form, lines: &[&str], code: &Code<'_>) -> Vec<Range<usize>> {
    let mut whose: Vec<usize> = vec![0; lines.len()];
    match form {
        Form::Matches => {
            let paths: Vec<Option<&str>> = lines.iter().map(|line| path(line)).collect();
            (1..lines.len()).for_each(|i| whose[i] = whose[i - 1] + usize::from(paths[i].is_some() && paths[i] != paths[i - 1]));
        }
        Form::File => code.definitions().iter().enumerate().for_each(|(i, definition)| whose[definition.lines.clone()].fill(i + 1)),
        Form::Output => {}
    }
    let mut start = 0;
    let runs = whose.chunk_by(|a, b| a == b).map(|run| {
        start += run.len();
        (start - run.len()..start, run[0] > 0 && form != Form::Output)
    });
    let in_pieces = |run: Range<usize>| run.clone().step_by(TOGETHER).map(move |from| from..(from + TOGETHER).min(run.end));
    runs.flat_map(|(run, is_one)| if is_one { vec![run] } else { in_pieces(run).collect() }).collect()
}
