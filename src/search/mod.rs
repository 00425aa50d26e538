//! Questions to all files: which definitions answer them, best first.
//!
//! First all files by their words ([`index`], [`lexical`]), then the likeliest by their grammars ([`units`]), by what words mean (`meanings`) and by the
//! skimmer, then one ranking of all that speaks for each definition ([`ranking`]).

mod document;
mod evidence;
pub mod index;
pub mod lexical;
mod meanings;
pub mod ranking;
mod skimmed;
mod terms;
pub mod units;

use std::sync::{Arc, LazyLock};
use std::time::Instant;

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use self::index::{Files, Index};
use self::lexical::{Asked, Candidate};
use self::ranking::{Verdict, first, second};
use self::terms::Terms;
use self::units::{Source, relate};
use crate::error::{Error, Result};
use crate::progress::Progress;
use crate::prune::FocusQuestion;
use crate::skim::Skimmer;
use crate::syntax::Access;
use crate::workspace::{Location, Workspace};

/// Files that are read, at most, the likeliest first.
const MOST_FILES: usize = 40;

/// The threads that search: they wait for those who parse, and what other calls skim is not to wait for them.
static SEARCHERS: LazyLock<ThreadPool> = LazyLock::new(|| ThreadPoolBuilder::new().build().expect("threads can be started"));

/// What a question is asked of.
pub struct Asking<'a> {
    /// The roots.
    pub workspace: &'a Workspace,
    /// The files that are known.
    pub index: &'a Index,
    /// Where to look.
    pub starts: &'a [Location],
    /// Reads syntax.
    pub access: &'a Access<'a>,
    /// Scores lines.
    pub skimmer: &'a Arc<dyn Skimmer>,
    /// Told how far it is.
    pub progress: Option<Progress<'a>>,
}

/// What was found.
pub struct Found {
    /// The files that were read.
    pub sources: Vec<Source>,
    /// Their units, best first.
    pub ranked: Vec<Ranked>,
    /// The score of each of the files: comparable within a search.
    pub of_files: Vec<f32>,
    /// Whether any of them answers.
    pub verdict: Verdict,
    /// Whether the question is no more than the name of the best.
    pub names_best: bool,
    /// The scores of the lines that were skimmed, for each of the files.
    pub scores: Vec<skimmed::Scores>,
    /// What is to be said of how the lines were scored, if anything.
    pub remark: Option<String>,
    /// All files, and which were passed over.
    pub files: Files,
}

/// A unit and its score.
#[derive(Debug, Clone, Copy)]
pub struct Ranked {
    /// Which of the files.
    pub source: usize,
    /// Which of its units.
    pub unit: usize,
    /// How likely it answers; comparable within a search.
    pub score: f32,
}

/// Asks all files.
///
/// # Errors
/// A directory that cannot be walked, and a call that was withdrawn.
pub fn search(question: &FocusQuestion, asking: &Asking<'_>) -> Result<Found> {
    let (cancel, began) = (asking.access.cancel(), Instant::now());
    let stage = |name: &str| tracing::debug!(milliseconds = began.elapsed().as_millis(), "{name}");
    SEARCHERS.install(|| {
        let files = asking.index.files(asking.workspace, asking.starts, cancel, asking.progress)?;
        stage("all files are known");
        answer(question, asking, files, &stage)
    })
}

/// Ranks what answers in these files.
fn answer(question: &FocusQuestion, asking: &Asking<'_>, files: Files, stage: &(dyn Fn(&str) + Sync)) -> Result<Found> {
    let cancel = asking.access.cancel();
    let mut asked = Asked::new(question, &mut Terms::default());
    let mut candidates = asked.score(&files.files);
    candidates.sort_by(|a, b| first(b).total_cmp(&first(a)).then(a.file.cmp(&b.file)));
    candidates.truncate(MOST_FILES);
    stage("files are ranked by words");
    let read = |terms: &mut Terms, candidate: Candidate| {
        if cancel.is_cancelled() {
            return None;
        }
        let indexed = &files.files[candidate.file];
        Source::read(candidate, indexed, &asked, asking.workspace, asking.access, terms)
    };
    let mut sources: Vec<Source> = candidates.into_par_iter().map_init(Terms::default, read).flatten().collect();
    stage("the likeliest are read");
    relate(&mut sources, |source, unit| second(&source.candidate.evidence, &unit.evidence));
    let (scores, remark) = skimmed::skim(&mut sources, question, asking.skimmer.as_ref(), cancel);
    if cancel.is_cancelled() {
        return Err(Error::Cancelled);
    }
    stage("the likeliest units are skimmed");
    let (of_files, of_units) = ranking::scores(&sources);
    let ranked = rank(&of_units);
    let unit = |ranked: &Ranked| &sources[ranked.source].units[ranked.unit];
    let names_best = asked.is_name && ranked.first().is_some_and(|best| unit(best).evidence.exactly > 0.0);
    let verdict =
        if names_best { Verdict::Answers } else { ranking::verdict(ranked.iter().map(|ranked| &unit(ranked).evidence), asked.words) };
    Ok(Found { ranked, sources, of_files, verdict, names_best, scores, remark, files })
}

/// All units, best first.
fn rank(of_units: &[Vec<f32>]) -> Vec<Ranked> {
    let all =
        of_units.iter().enumerate().flat_map(|(source, scores)| scores.iter().enumerate().map(move |(unit, score)| (source, unit, *score)));
    let mut ranked: Vec<Ranked> = all.map(|(source, unit, score)| Ranked { source, unit, score }).collect();
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score).then((a.source, a.unit).cmp(&(b.source, b.unit))));
    ranked
}
