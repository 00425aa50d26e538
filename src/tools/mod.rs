//! The tools, as plain functions from a request to text. The server and the command line both call these.

pub mod grep;
pub mod head;
pub mod prune;
pub mod read_file;
pub mod repo_map;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use tokio_util::sync::CancellationToken;

use crate::error::Result;
use crate::prune::code::Code;
use crate::prune::render::{self, Page, Status};
use crate::prune::{Decision, FocusQuestion, Limits, View, decide};
use crate::repomap::repository::Memory;
use crate::skim::Skimmer;
use crate::skim::embedded::Embedded;
use crate::workspace::Workspace;
use crate::workspace::text::Excerpt;

/// What all calls share.
pub struct Session {
    /// The directories that may be read.
    pub workspace: Workspace,
    /// The model that scores lines.
    pub skimmer: Arc<dyn Skimmer>,
    /// Limits and wording.
    pub options: Options,
    /// Files that were read, and whether in full: where a map starts that is asked for without roots.
    read: Mutex<BTreeMap<String, bool>>,
    /// What was parsed for maps.
    parsed: Memory,
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
}

/// The state of one call.
#[derive(Default)]
pub struct Call<'a> {
    /// Set when the caller withdraws the call.
    pub cancel: CancellationToken,
    /// Told how many files a search has gone through.
    pub progress: Option<&'a (dyn Fn(usize) + Sync)>,
}

/// A tool's answer.
#[derive(Debug, PartialEq, Eq)]
pub struct Output {
    /// What the reader gets.
    pub text: String,
    /// Whether there was anything to find: false for a search without match.
    pub found: bool,
}

impl Session {
    /// Opens the roots; the embedded skimmer loads at its first use.
    ///
    /// # Errors
    /// A root that cannot be opened.
    pub fn new<P: AsRef<Path>>(roots: &[P], options: Options) -> Result<Self> {
        Ok(Self {
            workspace: Workspace::open(roots)?,
            skimmer: Arc::new(Embedded::default()),
            options,
            read: Mutex::default(),
            parsed: Memory::default(),
        })
    }

    /// The same with another skimmer.
    #[must_use]
    pub fn with_skimmer(self, skimmer: Arc<dyn Skimmer>) -> Self {
        Self { skimmer, ..self }
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

    /// Shows lines of a file: those that answer the question, or all of them.
    fn show(
        &self,
        name: &str,
        excerpt: &Excerpt,
        question: Option<&FocusQuestion>,
        read_back: &str,
        cancel: &CancellationToken,
    ) -> Result<Output> {
        let limits = &self.options.limits;
        let lines = excerpt.text.lines(0..excerpt.text.len());
        if lines.is_empty() {
            return Ok(Output { text: format!("{name} is empty: it has no lines.\n"), found: true });
        }
        let decision = match question {
            Some(question) => {
                decide(&Code::new(name, &lines, excerpt.first), question, self.skimmer.as_ref(), &limits.beside(name), cancel)?
            }
            None => Decision::Whole,
        };
        let all = View { kept: vec![true; lines.len()], note: None };
        let (view, status) = match &decision {
            Decision::Whole => (&all, Status::Exact),
            Decision::Failed(error) => (&all, Status::Failed(error)),
            Decision::Partial(view) => (view, Status::Pruned),
            Decision::Unanswered(view) => (view, Status::Unanswered),
        };
        let page = Page {
            name,
            lines: &lines,
            first: excerpt.first,
            total: excerpt.total,
            decoded_from: excerpt.text.decoded_from,
            note: view.note.as_deref(),
            read_back,
        };
        Ok(Output { text: render::page(&page, &view.kept, status, limits.most), found: true })
    }

    /// How a gap of a file is read back.
    fn read_back(&self) -> &'static str {
        if self.options.shell { "--lines A-B reads them" } else { "start_line/end_line reads them" }
    }
}

/// Checks an optional question.
fn question(text: Option<&String>) -> Result<Option<FocusQuestion>> {
    text.map(|text| FocusQuestion::new(text)).transpose()
}

/// Reads a whole number that may have come as a string or with a fraction of zero: some agents write theirs so.
fn lenient_number<'de, D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Option<usize>, D::Error> {
    #[derive(serde::Deserialize)]
    #[serde(untagged, expecting = "a whole number from 0 up is needed")]
    enum Number {
        Whole(usize),
        Fraction(f64),
        Text(String),
        Nothing(()),
    }
    let whole = |number: f64| (number >= 0.0 && number.fract() == 0.0 && number < u32::MAX.into()).then_some(number as usize);
    let wrong = |what: String| serde::de::Error::custom(format!("{what} is not a whole number from 0 up"));
    match serde::Deserialize::deserialize(deserializer)? {
        Number::Whole(number) => Ok(Some(number)),
        Number::Fraction(number) => whole(number).map(Some).ok_or_else(|| wrong(number.to_string())),
        Number::Text(text) => text.trim().parse().map(Some).map_err(|_| wrong(crate::error::quote(&text))),
        Number::Nothing(()) => Ok(None),
    }
}
