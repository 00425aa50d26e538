//! Measuring: skimmers on labelled questions, maps of many tasks.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use codeskim::error::{Error, Result, quote};
use codeskim::eval::{self, report};
use codeskim::prune::Limits;
use codeskim::skim::Skimmer;
use codeskim::skim::bm25::Bm25;
use codeskim::skim::embedded::Embedded;
use codeskim::tools::{Call, Options, Output, Session, repo_map};

use super::arguments::{Models, SkimmerName};
use super::progress::Progress;
use super::read_text;
use super::session::reader;

impl SkimmerName {
    fn title(self) -> &'static str {
        match self {
            Self::Embedded => "embedded",
            Self::Bm25 => "BM25, 3 lines each way",
            Self::Bm25Wide => "BM25, 10 lines each way",
            Self::Model => "model",
            Self::Remote => "remote",
        }
    }

    fn create(self, models: &Models) -> Result<Arc<dyn Skimmer>> {
        let needs = |option: &str| Error::bad_argument(format!("This skimmer needs {option}."));
        Ok(match self {
            Self::Embedded => Arc::new(Embedded::default()),
            Self::Bm25 => Arc::new(Bm25::NEAR),
            Self::Bm25Wide => Arc::new(Bm25::WIDE),
            Self::Model => models.published(true)?.ok_or_else(|| needs("--model DIR"))?,
            Self::Remote => models.server()?.ok_or_else(|| needs("--remote URL"))?,
        })
    }
}

/// The figures of a skimmer, and of others beside it, on labelled questions.
pub fn skimmers(
    labels: &Path,
    skimmer: Option<SkimmerName>,
    baselines: &[SkimmerName],
    json: bool,
    examples: Option<usize>,
    limits: &Limits,
    models: &Models,
) -> Result<Output> {
    let name = labels.display().to_string();
    let file = File::open(labels).map_err(|source| Error::Unreadable { path: quote(&name), source })?;
    let records = eval::read(BufReader::new(file), &name)?;
    let skimmer = match (skimmer, &models.model, &models.remote) {
        (Some(chosen), _, _) => chosen,
        (None, Some(_), Some(_)) => {
            return Err(Error::bad_argument("--model and --remote both say what is measured; choose with --skimmer."));
        }
        (None, Some(_), None) => SkimmerName::Model,
        (None, None, Some(_)) => SkimmerName::Remote,
        (None, None, None) => SkimmerName::Embedded,
    };
    let (mut measured, reader) = (Vec::new(), reader());
    let (progress, all) = (Progress::of("questions"), records.len() * (1 + baselines.len()));
    progress.set(0, Some(all));
    for skimmer in std::iter::once(&skimmer).chain(baselines) {
        let model = skimmer.create(models)?;
        model.warm_up();
        let before = measured.len() * records.len();
        let run = |(count, record)| {
            let outcome = eval::run(record, model.as_ref(), &reader, limits);
            progress.set(before + count, Some(all));
            outcome
        };
        let outcomes = (1..).zip(&records).map(run).collect::<Result<Vec<_>>>()?;
        measured.push((report::Report::new(skimmer.title(), &records, &outcomes), outcomes));
    }
    let reports: Vec<_> = measured.iter().map(|(report, _)| report).collect();
    let mut text = if json {
        serde_json::to_string_pretty(&reports).expect("figures are JSON") + "\n"
    } else {
        reports.iter().map(|report| report.render()).collect::<Vec<_>>().join("\n")
    };
    if let Some(count) = examples {
        text.push('\n');
        text.push_str(&report::examples(&records, &measured[0].1, &measured[1].1, count));
    }
    Ok(Output::new(text))
}

/// A task to be mapped.
#[derive(serde::Deserialize)]
struct Task {
    repository: PathBuf,
    task: String,
}

/// The figures of the maps of many tasks, one a row; those that cannot be mapped have a reason instead.
pub fn maps(tasks: &Path, max_tokens: usize, prefix: Option<String>, limits: &Limits) -> Result<String> {
    let reader = reader();
    let failed = |error: &dyn std::fmt::Display| Error::failed(format!("The report could not be written: {error}."));
    let mut table = csv::Writer::from_writer(Vec::new());
    let columns = ["repository", "roots", "missing", "files", "symbols", "shown", "tokens", "milliseconds", "problem"];
    table.write_record(columns).map_err(|error| failed(&error))?;
    let text = read_text(tasks)?;
    let (progress, all) = (Progress::of("lines"), text.lines().count());
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        progress.set(number, Some(all));
        let task: Task = serde_json::from_str(line).map_err(|error| {
            Error::bad_argument(format!("Line {} of {} is no task: {error}.", number + 1, quote(&tasks.display().to_string())))
        })?;
        let began = Instant::now();
        let request =
            repo_map::Request { task: Some(task.task), max_tokens: Some(max_tokens), prefix: prefix.clone(), ..Default::default() };
        let mapped = Session::new(&[&task.repository], Options { limits: limits.clone(), shell: true, ..Options::default() })
            .and_then(|session| repo_map::map(&session.with_syntax(Arc::clone(&reader)), &request, None, &Call::default()));
        let time = began.elapsed().as_millis().to_string();
        let repository = task.repository.display().to_string();
        let row = match mapped {
            Ok(mapped) => {
                let map = &mapped.map;
                let numbers = [mapped.roots.len(), mapped.missing.len(), mapped.closure.nodes.len(), map.symbols, map.shown, map.tokens];
                std::iter::once(repository).chain(numbers.map(|number| number.to_string())).chain([time, String::new()]).collect::<Vec<_>>()
            }
            Err(error) => {
                let nothing = std::iter::repeat_n(String::new(), 6);
                std::iter::once(repository).chain(nothing).chain([time, error.to_string()]).collect()
            }
        };
        table.write_record(row).map_err(|error| failed(&error))?;
    }
    let bytes = table.into_inner().map_err(|error| failed(&error))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
