//! The tools, as plain functions from a request to text. The server and the command line both call these.

pub mod arguments;
pub mod grep;
pub mod head;
mod nearest;
pub mod passing;
mod pattern;
mod places;
pub mod prune;
pub mod read_file;
pub mod repo_map;
pub mod search;
mod sections;
mod selection;
mod symbol;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use tokio_util::sync::CancellationToken;

use crate::error::{Result, counted};
use crate::progress::Progress;
use crate::prune::code::Code;
use crate::prune::render::{self, Page, ReadBack};
use crate::prune::terminal;
use crate::prune::{Decision, FocusQuestion, Limits, Pointer, decide};
use crate::repomap::repository::Memory;
use crate::search::Asking;
use crate::search::index::Index;
use crate::skim::Skimmer;
use crate::skim::embedded::Embedded;
use crate::syntax::{Access, Language, Reader};
use crate::workspace::text::{Excerpt, Text};
use crate::workspace::{Location, Workspace};

/// Lines of a file, at most, that is parsed whole where only a part of it is asked for.
const LONGEST_AROUND: usize = 20_000;

/// What all calls share.
pub struct Session {
    /// The directories that may be read.
    pub workspace: Workspace,
    /// The model that scores lines.
    pub skimmer: Arc<dyn Skimmer>,
    /// Reads the syntax of texts.
    pub syntax: Arc<Reader>,
    /// Limits and wording.
    pub options: Options,
    /// Files that were read, and whether in full: where a map starts that is asked for without roots.
    read: Mutex<BTreeMap<String, bool>>,
    /// What was parsed for maps.
    parsed: Memory,
    /// The files by their words.
    index: Index,
}

/// Limits and wording.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// How much may be shown.
    pub limits: Limits,
    /// Whether results are read by someone at a shell, who reads gaps back with `--lines`.
    pub shell: bool,
    /// Whether several readers share the session, so that what one has read says nothing of another.
    pub shared: bool,
    /// Whether whole texts are returned while it is noted what pruned ones would have been.
    pub observe: bool,
}

/// The state of one call.
#[derive(Default)]
pub struct Call<'a> {
    /// Set when the caller withdraws the call.
    pub cancel: CancellationToken,
    /// Told how many files a search has gone through.
    pub progress: Option<Progress<'a>>,
}

/// A tool's answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Output {
    /// What the reader gets.
    pub text: String,
    /// What is to be said beside it: by a shell to whoever looks on, and not to the program that reads the result.
    pub aside: Option<String>,
    /// Whether there was anything to find: false for a search without match.
    pub found: bool,
    /// What the text is of, and what it could have been; none where there is nothing to compare it with.
    pub account: Option<Account>,
}

/// What a result is of, and what it could have been.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Account {
    /// What the same call returns without its question, where that is something else; if `observed`, the view in its place.
    pub other: Option<String>,
    /// Whether the whole is returned, to observe what a view would save.
    pub observed: bool,
    /// The lines of the whole.
    pub parts: Vec<Part>,
}

/// Lines of one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Part {
    /// The file as it is shown to the reader.
    pub of: String,
    /// Runs of lines that the view shows: first and last, from 1.
    pub shown: Vec<(usize, usize)>,
    /// Runs that it leaves out.
    pub left_out: Vec<LeftOut>,
}

/// Lines that a view leaves out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The first of them, from 1.
    pub first: usize,
    /// The last of them.
    pub last: usize,
    /// Their text, as far as it would be shown.
    pub text: String,
}

impl Output {
    /// A text that was found.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), found: true, ..Self::default() }
    }

    /// A text that takes the place of nothing that another call returns.
    pub fn extra(text: impl Into<String>) -> Self {
        Self { account: Some(Account { other: Some(String::new()), ..Account::default() }), ..Self::new(text) }
    }
}

impl Part {
    /// Of lines in order: the number of each, whether the decision shows it, and its text. The whole has `room` for so many characters more: what is
    /// beyond is not left out by a view, and without one it is not shown.
    fn new<'a>(of: &str, lines: impl Iterator<Item = (usize, bool, &'a str)>, decision: &Decision, room: &mut usize) -> Self {
        let is_view = matches!(decision, Decision::Partial(_) | Decision::Unanswered(_));
        let mut part = Self { of: of.to_owned(), ..Self::default() };
        for (number, shown, line) in lines {
            let rest = room.checked_sub(line.chars().count().min(render::LONGEST_LINE));
            *room = rest.unwrap_or(0);
            if rest.is_none() && !(shown && is_view) {
                continue;
            }
            if shown {
                match part.shown.last_mut() {
                    Some((_, last)) if *last + 1 == number => *last = number,
                    _ => part.shown.push((number, number)),
                }
                continue;
            }
            let line = render::cut_line(line, render::LONGEST_LINE, 0..0).0;
            match part.left_out.last_mut() {
                Some(gap) if gap.last + 1 == number => {
                    gap.last = number;
                    gap.text.push_str(&line);
                }
                _ => part.left_out.push(LeftOut { first: number, last: number, text: line }),
            }
        }
        part
    }
}

/// The answer with a view, or with the whole if that is only observed.
fn answer(view: String, whole: Option<String>, parts: Vec<Part>, observe: bool) -> Output {
    let (text, other, observed) = match whole {
        Some(whole) if observe => (whole, Some(view), true),
        whole => (view, whole, false),
    };
    Output { account: Some(Account { other, observed, parts }), ..Output::new(text) }
}

impl Session {
    /// Opens the roots; the embedded skimmer loads at its first use. Syntax is read in this process, until [`Session::with_syntax`] says otherwise.
    ///
    /// # Errors
    /// A root that cannot be opened.
    pub fn new<P: AsRef<Path>>(roots: &[P], options: Options) -> Result<Self> {
        Ok(Self {
            workspace: Workspace::open(roots)?,
            skimmer: Arc::new(Embedded::default()),
            syntax: Arc::new(Reader::unguarded()),
            options,
            read: Mutex::default(),
            parsed: Memory::default(),
            index: Index::default(),
        })
    }

    /// The same with another skimmer.
    #[must_use]
    pub fn with_skimmer(self, skimmer: Arc<dyn Skimmer>) -> Self {
        Self { skimmer, ..self }
    }

    /// The same with another reader of syntax.
    #[must_use]
    pub fn with_syntax(self, syntax: Arc<Reader>) -> Self {
        Self { syntax, ..self }
    }

    /// What a question to all files beneath some places is asked of.
    fn asking<'a>(&'a self, starts: &'a [Location], access: &'a Access<'a>, progress: Option<Progress<'a>>) -> Asking<'a> {
        Asking { workspace: &self.workspace, index: &self.index, starts, access, skimmer: &self.skimmer, progress }
    }

    /// Notes that a file was read.
    fn remember(&self, path: &str, whole: bool) {
        if self.options.shared {
            return;
        }
        *self.read.lock().unwrap_or_else(PoisonError::into_inner).entry(path.to_owned()).or_default() |= whole;
    }

    /// The files that were read, and whether in full.
    fn files_read(&self) -> BTreeMap<String, bool> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Lines of which something is asked: of what a program wrote to a terminal, those that it showed.
    fn asked_of(name: &str, excerpt: Excerpt) -> Excerpt {
        if Language::of(name).is_some() {
            return excerpt;
        }
        let shown = |text: Text| {
            let Cow::Owned(shown) = terminal::shown(text.as_str()) else { return text };
            let said = "terminal output, without colours and what was overwritten";
            let from = text.decoded_from.as_ref().map_or_else(|| said.into(), |from| format!("{from}, and {said}").into());
            Text::new(shown).decoded_from(from)
        };
        Excerpt { text: shown(excerpt.text), whole: excerpt.whole.map(shown), ..excerpt }
    }

    /// What is shown of lines of a file that are to answer a question: one flag a line, what is named in the gaps, and what is said of it.
    fn decide_on(
        &self,
        name: &str,
        excerpt: &Excerpt,
        question: &FocusQuestion,
        numbered: bool,
        cancel: &CancellationToken,
    ) -> Result<(Vec<bool>, Vec<Pointer>, String)> {
        let lines = excerpt.text.lines(0..excerpt.text.len());
        let decision = self.decision(name, excerpt, &lines, question, numbered, cancel)?;
        let kept = decision.kept(lines.len());
        let shown = kept.iter().filter(|kept| **kept).count();
        let said = match &decision {
            Decision::Whole => "the question leaves nothing out".to_owned(),
            Decision::Failed(error) => format!("the skimmer failed ({error}), so nothing was pruned"),
            Decision::Partial(_) => format!("{shown} of {}", counted(lines.len(), "line")),
            Decision::Unanswered(_) => "nothing in it seems to answer the question".to_owned(),
        };
        let pointers = decision.view().0.map(|view| view.pointers.clone()).unwrap_or_default();
        Ok((kept, pointers, said))
    }

    fn decision(
        &self,
        name: &str,
        excerpt: &Excerpt,
        lines: &[&str],
        question: &FocusQuestion,
        numbered: bool,
        cancel: &CancellationToken,
    ) -> Result<Decision> {
        let whole = excerpt.whole.as_ref().filter(|whole| whole.len() <= LONGEST_AROUND).map(|whole| whole.lines(0..whole.len()));
        let access = self.syntax.access(cancel);
        let code = match &whole {
            Some(whole) => Code::part(name, whole, excerpt.first..excerpt.first + lines.len(), &access),
            None => Code::new(name, lines, excerpt.first, &access),
        };
        decide(&code.numbered(numbered), question, self.skimmer.as_ref(), &self.options.limits.beside(name), cancel)
    }

    /// Shows lines of a file, `numbered` or as they are: those that answer the question, or all of them.
    fn show(
        &self,
        name: &str,
        excerpt: &Excerpt,
        question: Option<&FocusQuestion>,
        numbered: bool,
        read_back: ReadBack,
        cancel: &CancellationToken,
    ) -> Result<Output> {
        let limits = &self.options.limits;
        let lines = excerpt.text.lines(0..excerpt.text.len());
        if lines.is_empty() {
            let said = format!("{name} is empty: it has no lines.");
            // What a shell prints may be written to a file; an agent is never given nothing.
            let shell = self.options.shell.then(|| Output { aside: Some(said.clone()), ..Output::new(String::new()) });
            return Ok(shell.unwrap_or_else(|| Output::new(said + "\n")));
        }
        let decision = match question {
            Some(question) => self.decision(name, excerpt, &lines, question, numbered, cancel)?,
            None => Decision::Whole,
        };
        let kept = decision.kept(lines.len());
        let page = Page {
            name,
            lines: &lines,
            first: excerpt.first,
            total: excerpt.total,
            decoded_from: excerpt.text.decoded_from.as_deref(),
            instead_of: excerpt.instead_of.as_deref(),
            read_back,
            question,
            numbered,
            longest: limits.tokens.filter(|_| question.is_some()).map_or(render::LONGEST_LINE, render::longest_line_in),
            ..Page::default()
        };
        let text = decision.render(&page, limits.most);
        let exact = Page { question: None, longest: render::LONGEST_LINE, ..page };
        let whole = (!matches!(decision, Decision::Whole)).then(|| Decision::Whole.render(&exact, limits.most));
        let lines = (excerpt.first + 1..).zip(&lines).zip(&kept).map(|((number, line), kept)| (number, *kept, *line));
        let part = Part::new(name, lines, &decision, &mut { limits.most });
        Ok(answer(text, whole, vec![part], self.options.observe))
    }

    /// How what is left out of a file is read.
    fn read_back(&self) -> ReadBack {
        let gap = if self.options.shell { "--lines A-B reads them" } else { "lines A-B reads them" };
        ReadBack { gap, line: "read it alone to see more", only_line: "leave the question out to see more" }
    }
}

/// Checks an optional question.
fn question(text: Option<&String>) -> Result<Option<FocusQuestion>> {
    text.map(|text| FocusQuestion::new(text)).transpose()
}
