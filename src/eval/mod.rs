//! `codeskim eval`: how well a skimmer finds the lines that people marked, on anyone's labels.
//!
//! [`Record`] is a labelled question, [`run`] asks it as a tool would, [`figures`] turns the outcomes into numbers, [`intervals`] says how far these can be
//! trusted, and [`report`] turns all into text.

pub mod figures;
pub mod intervals;
pub mod report;

use std::io::{self, BufRead};
use std::time::Instant;

use tokio_util::sync::CancellationToken;

use crate::error::{Error, Result, quote};
use crate::prune::code::Code;
use crate::prune::matches::{FileMatches, FoundLine, Results, Unshown};
use crate::prune::render::{LONGEST_LINE, Page, ReadBack};
use crate::prune::{Decision, Definition, FocusQuestion, Limits, Material, View, decide_by, gaps, structure};
use crate::skim::{Skimmer, skim_safely};
use crate::syntax::{Access, Language, Reader};
use crate::tokens::o200k;

/// Longer definitions may be shown in part, in lines.
const SHORT_DEFINITION: usize = 40;
/// What headers say of what is left out.
const READ_BACK: ReadBack = ReadBack { gap: "lines A-B reads them", line: "", only_line: "" };

/// A question about a text and the lines that answer it.
#[derive(Debug, Clone, serde::Deserialize)]
pub struct Record {
    /// What it is about; questions with the same one are drawn together for the intervals. The text itself if there is none.
    #[serde(default)]
    pub package: String,
    /// The language, for the tables and for completion: `python`, `c`, …
    #[serde(default)]
    pub lang: String,
    /// The kind of question, for the tables.
    #[serde(default)]
    pub kind: String,
    /// The focus question.
    pub question: String,
    /// The text, without terminators. Search results begin with `== path`, and their lines read `12: text`.
    pub lines: Vec<String>,
    /// Whether the lines are a part of a file, read by range, and not all of it.
    #[serde(default)]
    pub part: bool,
    /// 0-based indices of the lines that answer; none where nothing does.
    pub keep: Vec<usize>,
    /// 0-based indices of lines that may be kept or not and do not count. Blank lines never count.
    #[serde(default)]
    pub either: Vec<usize>,
}

/// What a line should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Label {
    /// It answers.
    Keep,
    /// It does not.
    Drop,
    /// It does not count.
    Either,
}

/// What a skimmer made of a record.
#[derive(Debug)]
pub struct Outcome {
    /// One for each line.
    pub labels: Vec<Label>,
    /// Scores of the lines, 0 to 1.
    pub scores: Vec<f32>,
    /// The score of the text.
    pub answer: f32,
    /// Lines at or above the threshold.
    pub kept: Vec<bool>,
    /// Lines that the tool would show: completed, or whole or outlined where that is what it decides.
    pub shown: Vec<bool>,
    /// o200k tokens of the whole text, and of what the tool would print: header, lines and gaps.
    pub tokens: [usize; 2],
    /// Definitions of at most 40 lines that hold a line that answers: how many of them are shown whole, how many in pieces, how
    /// many there are.
    pub definitions: [usize; 3],
    /// Gaps of one or two lines, and all gaps.
    pub gaps: [usize; 2],
    /// Whether what is shown parses; nothing where the text itself does not, or its language has no grammar.
    pub parses: Option<bool>,
    /// How long the skimmer took.
    pub milliseconds: f64,
    /// Whether the text was taken for search results.
    pub search: bool,
    /// Whether the tool would say that nothing answers.
    pub unanswered: bool,
    /// Whether the tool would say so, or that it is in doubt.
    pub doubted: bool,
}

/// Reads records, one JSON object a line.
///
/// # Errors
/// The first line that is not a record, by number.
pub fn read(input: impl BufRead, name: &str) -> Result<Vec<Record>> {
    let mut records = Vec::new();
    for (number, line) in (1..).zip(input.lines()) {
        let wrong = |what: String| Error::bad_argument(format!("Line {number} of {} is not a record: {what}.", quote(name)));
        let line = line.map_err(|source| match source.kind() {
            io::ErrorKind::InvalidData => wrong("it is not UTF-8".to_owned()),
            _ => Error::Unreadable { path: quote(name), source },
        })?;
        let line = line.trim_start_matches('\u{feff}'); // a byte order mark
        if line.trim().is_empty() {
            continue;
        }
        let record: Record = serde_json::from_str(line).map_err(|error| wrong(error.to_string()))?;
        if let Some(beyond) = record.keep.iter().chain(&record.either).find(|index| **index >= record.lines.len()) {
            return Err(wrong(format!("it names index {beyond} of {} lines, counted from 0", record.lines.len())));
        }
        if let Err(error) = FocusQuestion::new(&record.question) {
            return Err(wrong(error.to_string().trim_end_matches('.').to_owned()));
        }
        let search = search_results(&record);
        let rows = search.as_ref().map(Results::material);
        let lines = rows.as_ref().map_or_else(|| record.lines.iter().map(String::as_str).collect(), |rows| rows.lines().to_vec());
        if !record.keep.is_empty() && !labels(&record, &lines).contains(&Label::Keep) {
            return Err(wrong("none of the lines it keeps counts".to_owned()));
        }
        records.push(record);
    }
    if records.is_empty() {
        return Err(Error::bad_argument(format!("{} holds no records; give one JSON object a line.", quote(name))));
    }
    Ok(records)
}

/// Asks a skimmer for the scores and decisions of one record.
///
/// # Errors
/// A question that cannot be one, or a skimmer that fails.
pub fn run(record: &Record, skimmer: &dyn Skimmer, reader: &Reader, limits: &Limits) -> Result<Outcome> {
    let question = FocusQuestion::new(&record.question)?;
    let cancel = CancellationToken::new();
    let text: Vec<String> = record.lines.iter().map(|line| format!("{line}\n")).collect();
    let lines: Vec<&str> = text.iter().map(String::as_str).collect();
    let path = path_for(&record.lang);
    let search = search_results(record);
    let rows = search.as_ref().map(Results::material);
    let access = reader.access(&cancel);
    let code = Code::new(path, &lines, 0, &access).of_more(record.part);
    let material: &dyn Material = rows.as_ref().map_or(&code, |rows| rows);

    let began = Instant::now();
    let scores = skim_safely(skimmer, material.lines(), question.as_str(), &cancel)
        .map_err(|error| Error::failed(format!("The skimmer failed: {error}.")))?;
    let milliseconds = began.elapsed().as_secs_f64() * 1000.0;

    let labels = labels(record, material.lines());
    let kept: Vec<bool> = scores.keep.iter().map(|score| *score >= scores.thresholds.keep(limits.keep)).collect();
    let decision = decide_by(material, &question, || Ok(scores.clone()), limits, &cancel)?;
    let unanswered = matches!(decision, Decision::Unanswered(_));
    let doubted = unanswered || matches!(&decision, Decision::Partial(View { doubtful: true, .. }));
    let shown = decision.kept(lines.len());
    let printed = match &search {
        Some(results) => results.render("\"pattern\"", &decision, Unshown::default(), &[], limits.most),
        None => {
            let (total, question) = (Some(lines.len()), Some(&question));
            let page = Page { name: path, lines: &lines, total, read_back: READ_BACK, question, longest: LONGEST_LINE, ..Page::default() };
            decision.render(&page, limits.most)
        }
    };
    let whole = o200k(&material.view(&vec![true; lines.len()], &[]));
    let tokens = [whole, if matches!(decision, Decision::Whole | Decision::Failed(_)) { whole } else { o200k(&printed) }];
    let definitions = if search.is_some() { [0; 3] } else { definitions_shown(&material.definitions(), &labels, &shown) };
    let gaps = if search.is_some() { [0; 2] } else { gaps_of(&shown) };
    let parses = if search.is_some() { None } else { parses(path, &lines, &shown, &access) };
    Ok(Outcome {
        labels,
        scores: scores.keep,
        answer: scores.answer,
        kept,
        shown,
        tokens,
        definitions,
        gaps,
        parses,
        milliseconds,
        search: search.is_some(),
        unanswered,
        doubted,
    })
}

/// See [`Outcome::definitions`].
fn definitions_shown(definitions: &[Definition], labels: &[Label], shown: &[bool]) -> [usize; 3] {
    let short = definitions.iter().filter(|it| it.is_code && (2..=SHORT_DEFINITION).contains(&it.lines.len()));
    let answers = short.filter(|it| labels[it.lines.clone()].contains(&Label::Keep));
    answers.fold([0; 3], |[whole, pieces, all], it| {
        let is_whole = !shown[it.lines.clone()].contains(&false);
        let in_pieces = !is_whole && shown[it.body.start..it.lines.end.max(it.body.start + 1) - 1].contains(&true);
        [whole + usize::from(is_whole), pieces + usize::from(in_pieces), all + 1]
    })
}

/// See [`Outcome::gaps`].
fn gaps_of(shown: &[bool]) -> [usize; 2] {
    let gaps = gaps(shown);
    [gaps.iter().filter(|gap| gap.len() <= 2).count(), gaps.len()]
}

/// Labels of the lines as the skimmer reads them; blank ones do not count.
fn labels(record: &Record, lines: &[&str]) -> Vec<Label> {
    let mut labels = vec![Label::Drop; record.lines.len()];
    record.keep.iter().for_each(|index| labels[*index] = Label::Keep);
    record.either.iter().for_each(|index| labels[*index] = Label::Either);
    for (label, line) in labels.iter_mut().zip(lines) {
        if line.trim().is_empty() {
            *label = Label::Either;
        }
    }
    labels
}

/// Search results as the search itself would have made them, if that is what the record holds.
fn search_results(record: &Record) -> Option<Results> {
    if !record.lines.first()?.starts_with("== ") {
        return None;
    }
    let mut files: Vec<FileMatches> = Vec::new();
    for line in &record.lines {
        if let Some(path) = line.strip_prefix("== ") {
            files.push(FileMatches { path: path.to_owned(), ..Default::default() });
            continue;
        }
        let file = files.last_mut()?;
        let (number, rest) = line.split_at(line.bytes().take_while(u8::is_ascii_digit).count());
        let number = number.parse().ok().filter(|number| *number > 0)?;
        let is_match = rest.starts_with(':');
        let text = rest.strip_prefix([':', '-'])?;
        file.lines.push(FoundLine::new(number, text.strip_prefix(' ').unwrap_or(text), is_match, 0..0));
        file.matches += usize::from(is_match);
    }
    files.iter().all(|file| !file.lines.is_empty()).then(|| Results::new(files))
}

fn path_for(lang: &str) -> &'static str {
    match lang {
        "c" => "x.c",
        "c#" | "csharp" => "x.cs",
        "cpp" | "c++" => "x.cpp",
        "go" => "x.go",
        "java" => "x.java",
        "javascript" => "x.js",
        "kotlin" => "x.kt",
        "markdown" => "x.md",
        "php" => "x.php",
        "python" => "x.py",
        "ruby" => "x.rb",
        "rust" => "x.rs",
        "bash" | "shell" => "x.sh",
        "swift" => "x.swift",
        "typescript" => "x.ts",
        _ => "x.txt",
    }
}

fn parses(path: &str, lines: &[&str], shown: &[bool], access: &Access<'_>) -> Option<bool> {
    let syntax = access.read(Language::of(path)?, &lines.concat()).ok()?;
    (!syntax.has_errors).then(|| structure::parses(&syntax, lines, shown, access))
}
