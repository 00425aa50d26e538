//! `search`: a question to all files, answered with the lines that answer it.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::arguments::{lenient_number, lenient_text};
use super::sections::{Section, Style, render};
use super::selection::{View, definition, select};
use super::{Account, Call, Output, Session};
use crate::error::{Error, Result, counted, quote};
use crate::lookup::words::{Everywhere, LARGEST_SOURCE, search as search_words};
use crate::lookup::{Hit, Related, Source as Definitions, related};
use crate::prune::FocusQuestion;
use crate::prune::render::numbers;
use crate::repomap::repository::Repository;
use crate::search::ranking::Verdict;
use crate::search::{Found, Ranked, search};
use crate::syntax::Access;
use crate::tokens::o200k;
use crate::workspace::Location;
use crate::workspace::text::read as read_text;

/// Tokens of a result, unless another number is asked for.
const TOKENS: usize = 2000;
/// Fewer show nothing.
const LEAST_TOKENS: usize = 100;
/// Of these, how many are for what is said beside the lines: a share, and at most.
const BESIDE: (usize, usize) = (6, 300);
const LEAST_BESIDE: usize = 30;
/// Characters of it, at most.
const NOTES: usize = 3000;
/// Definitions that are told beside those that are shown, at most: in a text, and in JSON with those that are.
const LIKELY: usize = 6;
const LISTED: usize = 20;
/// Where what is chosen does not fit into a result, the next try has this share of its tokens at least and at most.
const HALF: f64 = 0.5;
const LESS: f64 = 0.9;
/// Words of a line that says something.
const SENTENCE: usize = 4;
/// Definitions whose score is further below that of the best are not likely.
const UNLIKELY: f32 = 8.0;
/// Definitions of which it is told what uses them and what they call, at most, and how many of each.
const RELATED: usize = 2;
const MENTIONED: usize = 4;
/// A name that more files have is not looked for.
const MOST_FILES: usize = 100;

/// What to ask.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Complete, with names and words its code may use
    pub question: String,
    /// File or directory; everything if left out
    #[serde(default, deserialize_with = "lenient_text")]
    pub path: Option<String>,
    /// 2000 if left out
    #[serde(default, deserialize_with = "lenient_number")]
    pub max_tokens: Option<usize>,
    /// Files and directories after the first, which only a shell gives.
    #[serde(skip)]
    #[schemars(skip)]
    pub more_paths: Vec<String>,
}

/// What a search found, and what of it is shown.
struct Answer {
    question: FocusQuestion,
    found: Found,
    views: Vec<View>,
    /// Units beside those that are shown, best first, one of each definition.
    likely: Vec<Ranked>,
    /// What uses definitions that are shown, and what they call.
    related: Vec<(String, Related)>,
    /// Tokens of what is said beside the lines, at most.
    beside: usize,
}

/// Asks all files, and shows the lines that answer.
///
/// # Errors
/// A question without words, a path that is not there, a budget that holds nothing.
pub fn run(session: &Session, request: &Request, call: &Call<'_>) -> Result<Output> {
    let answer = ask(session, request, call)?;
    if answer.views.is_empty() {
        return Ok(Output { found: false, ..Output::new(answer.nothing()) });
    }
    let mut sections: Vec<Section> = answer.views.iter().map(|view| view.section(&answer.found, &answer.question)).collect();
    sections[0].before = (answer.found.verdict == Verdict::Doubtful).then(|| "this may well not answer the question".to_owned());
    sections.last_mut().expect("a view").notes = answer.notes();
    sections.iter().for_each(|section| session.remember(&section.path, false));
    let (text, parts) = render(&sections, Style::of(session, false));
    Ok(Output { account: Some(Account { parts, ..Account::default() }), ..Output::new(text) })
}

/// The same as JSON, for programs.
///
/// # Errors
/// As those of [`run`].
pub fn run_json(session: &Session, request: &Request, call: &Call<'_>) -> Result<Output> {
    let answer = ask(session, request, call)?;
    let results = answer.results();
    let all = if answer.views.is_empty() { json!({ "results": [], "nearest": results }) } else { json!({ "results": results }) };
    Ok(Output { found: !answer.views.is_empty(), ..Output::extra(all.to_string() + "\n") })
}

/// What speaks for each of the units that were ranked, as JSON: what `training/ranking.py` and `answered.py` learn from.
///
/// # Errors
/// As those of [`run`].
pub fn explain(session: &Session, request: &Request, call: &Call<'_>) -> Result<Output> {
    let answer = ask(session, request, call)?;
    let one = |ranked: &Ranked| {
        let source = &answer.found.sources[ranked.source];
        let unit = &source.units[ranked.unit];
        let keep = |line| answer.found.scores[ranked.source].keep.get(&line).map(|keep| (keep * 1000.0).round() / 1000.0);
        json!({
            "path": source.shown, "lines": [unit.lines.start + 1, unit.lines.end], "definition": unit.name, "score": ranked.score,
            "keep": unit.lines.clone().map(keep).collect::<Vec<_>>(), "file": source.candidate.evidence, "unit": unit.evidence,
        })
    };
    let units: Vec<Value> = answer.found.ranked.iter().map(one).collect();
    let (verdict, files) = (answer.found.verdict, answer.found.files.files.len());
    Ok(Output::new(json!({ "units": units, "verdict": verdict, "files": files, "bytes": session.index.size() }).to_string() + "\n"))
}

fn ask(session: &Session, request: &Request, call: &Call<'_>) -> Result<Answer> {
    if !request.question.chars().any(char::is_alphanumeric) {
        return Err(Error::bad_argument("The question is empty; ask a complete one, such as: Where is the retry delay capped?"));
    }
    let question = FocusQuestion::new(&request.question)?;
    let budget = request.max_tokens.or(session.options.limits.tokens).unwrap_or(TOKENS);
    if budget < LEAST_TOKENS {
        return Err(Error::bad_argument(format!("A result takes {LEAST_TOKENS} tokens at least, and this one is to have {budget}.")));
    }
    std::thread::spawn(|| o200k("")); // its vocabulary takes a while to load
    let mut starts: Vec<Location> = Vec::new();
    for path in request.path.iter().chain(&request.more_paths) {
        let places = session.workspace.locate(Some(path))?;
        if let Some(file) = session.workspace.one_file(path, &places)? {
            let open = session.workspace.open_location(&file)?;
            if open.bytes > LARGEST_SOURCE {
                let megabytes = open.bytes.div_ceil(LARGEST_SOURCE);
                let (shown, most) = (quote(&open.shown), LARGEST_SOURCE / 1_000_000);
                return Err(Error::bad_argument(format!(
                    "{shown} has {megabytes} MB, and a search looks at files of up to {most} MB; use grep, or read_file with a question."
                )));
            }
            read_text(open, None, None, &call.cancel)?; // or it is said what is wrong with it
        }
        starts.extend(places);
    }
    if starts.is_empty() {
        starts = session.workspace.locate(None)?;
    }
    let access = session.syntax.access(&call.cancel);
    let asking = session.asking(&starts, &access, call.progress);
    let found = search(&question, &asking)?;
    let (beside, began) = ((budget / BESIDE.0).min(BESIDE.1), Instant::now());
    let views = match found.verdict {
        Verdict::Nothing => Vec::new(),
        Verdict::Answers | Verdict::Doubtful => fitting(session, &found, &question, budget - beside, &access),
    };
    tracing::debug!(milliseconds = began.elapsed().as_millis(), "lines are chosen");
    let likely = likely(&found, &views);
    let related = relations(session, &found, &views, &starts, &access, call)?;
    tracing::debug!(milliseconds = began.elapsed().as_millis(), "what is related is known");
    if call.cancel.is_cancelled() {
        return Err(Error::Cancelled);
    }
    Ok(Answer { question, found, views, likely, related, beside })
}

/// What is shown in so many tokens, and in as many characters as a result may have: all of it.
fn fitting(session: &Session, found: &Found, question: &FocusQuestion, budget: usize, access: &Access<'_>) -> Vec<View> {
    let style = Style::of(session, false);
    let style = Style { most: style.most.saturating_sub(NOTES), ..style };
    let mut budget = budget.min(style.most); // a token has a character at least
    loop {
        let views = select(found, budget, access);
        let sections: Vec<Section> = views.iter().map(|view| view.section(found, question)).collect();
        let shown: usize = render(&sections, style).1.iter().flat_map(|part| &part.shown).map(|(first, last)| last + 1 - first).sum();
        let kept: usize = views.iter().map(|view| view.kept.iter().filter(|kept| **kept).count()).sum();
        if shown == kept || budget <= LEAST_TOKENS {
            return views;
        }
        budget = (budget as f64 * (shown as f64 / kept as f64).clamp(HALF, LESS)) as usize;
    }
}

/// Which definition a unit is of; itself where it is of none.
fn whose(found: &Found, ranked: &Ranked) -> (usize, Range<usize>) {
    let source = &found.sources[ranked.source];
    (ranked.source, definition(source, &source.units[ranked.unit]))
}

/// The best units that are not shown, one of each definition. Where none is shown, without lists of words, which come near to any question.
fn likely(found: &Found, views: &[View]) -> Vec<Ranked> {
    let mut seen: HashSet<_> = views.iter().flat_map(|view| &view.units).map(|ranked| whose(found, ranked)).collect();
    let is_shown = |ranked: &Ranked| {
        let lines = found.sources[ranked.source].units[ranked.unit].lines.clone();
        views.iter().any(|view| view.source == ranked.source && view.kept[lines.clone()].iter().any(|kept| *kept))
    };
    // What is between definitions, imports above all, has no name to be told by; of prose the lines are enough, and of a file that has nothing else.
    let has_names: Vec<bool> = found.sources.iter().map(|source| source.units.iter().any(|unit| !unit.name.is_empty())).collect();
    let can_be_told = |ranked: &Ranked| {
        let source = &found.sources[ranked.source];
        source.syntax.is_none() || !has_names[ranked.source] || !source.units[ranked.unit].name.is_empty()
    };
    let others = found.ranked.iter().filter(|ranked| can_be_told(ranked) && !is_shown(ranked) && seen.insert(whose(found, ranked)));
    let says_something = |ranked: &&Ranked| {
        let source = &found.sources[ranked.source];
        let unit = &source.units[ranked.unit];
        let has_sentence = || source.text.lines(unit.lines.clone()).iter().any(|line| line.split_whitespace().count() >= SENTENCE);
        !views.is_empty() || !unit.name.is_empty() || has_sentence()
    };
    others.filter(says_something).copied().collect()
}

/// `src/a.py 12-40 Store.get`.
pub(super) fn place(found: &Found, ranked: &Ranked) -> String {
    let source = &found.sources[ranked.source];
    let unit = &source.units[ranked.unit];
    let name = if unit.name.is_empty() { String::new() } else { format!(" {}", unit.name) };
    format!("{} {}{name}", source.shown, numbers(0, &definition(source, unit)))
}

/// What uses the best definitions that are shown, and what they call.
fn relations(
    session: &Session,
    found: &Found,
    views: &[View],
    starts: &[Location],
    access: &Access<'_>,
    call: &Call<'_>,
) -> Result<Vec<(String, Related)>> {
    let mut repositories: Vec<(Location, Repository<'_>)> = Vec::new();
    let mut best: Vec<Ranked> = views.iter().flat_map(|view| view.units.iter().copied()).collect();
    best.sort_by(|a, b| b.score.total_cmp(&a.score));
    let (mut seen, mut all) = (HashSet::new(), Vec::new());
    for ranked in best.iter().filter(|ranked| seen.insert(whose(found, ranked))) {
        if call.cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let source = &found.sources[ranked.source];
        let unit = &source.units[ranked.unit];
        let (Some(at), Some(syntax)) = (unit.at, &source.syntax) else { continue };
        let files = found.files.with_name(unit.own_name());
        if unit.own_name().is_empty() || files.len() > MOST_FILES {
            continue;
        }
        let owner = unit.name.rsplit_once('.').map(|(owner, _)| owner);
        let words: Vec<&str> = std::iter::once(unit.own_name()).chain(owner).collect();
        // Of a name that several definitions have, it cannot be told which of them is used.
        let everywhere = match found.files.defining(unit.own_name()) {
            0 | 1 => search_words(&session.workspace, &files, &words, false, &call.cancel, None)?,
            _ => Everywhere::default(),
        };
        let file = source.indexed.file.clone();
        let definitions =
            Definitions { file: file.clone(), shown: source.shown.clone(), text: source.text.clone(), syntax: Arc::clone(syntax) };
        let hit = Hit { source: Arc::new(definitions), at, name: unit.name.clone(), is_member: owner.is_some() };
        let known = repositories.iter().position(|(place, _)| place.same_root(&file)).unwrap_or_else(|| {
            let repository = Repository::new(&session.workspace, &file, &session.parsed, access, &call.cancel);
            let root = file.beside("");
            // Where all of the root is in the index it is not walked again.
            let all = (starts.contains(&root) && found.files.beyond == 0).then(|| found.files.in_known_languages(&root));
            let repository = match all {
                Some(all) => repository.knowing(all),
                None => repository,
            };
            repositories.push((root, repository));
            repositories.len() - 1
        });
        let around = related(&[hit], (0, owner.map(|_| 1)), &everywhere, &session.workspace, &repositories[known].1, access);
        if !around.used_by.is_empty() || !around.calls.is_empty() {
            all.push((unit.name.clone(), around));
        }
        if all.len() == RELATED {
            break;
        }
    }
    Ok(all)
}

impl Answer {
    /// What is said after the lines.
    fn notes(&self) -> Vec<String> {
        let least = self.found.ranked.first().map_or(0.0, |best| best.score) - UNLIKELY;
        let likely = self.likely.iter().take_while(|ranked| ranked.score >= least).take(LIKELY);
        let likely = likely.map(|ranked| format!("also likely: {}", place(&self.found, ranked)));
        let mut notes: Vec<String> = likely.collect();
        for (name, around) in &self.related {
            let more = around.more + around.used_by.len().saturating_sub(MENTIONED);
            let used: Vec<String> = around.used_by.iter().take(MENTIONED).map(ToString::to_string).collect();
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let used = if used.is_empty() { String::new() } else { format!("used by {}{more}", used.join(", ")) };
            let calls: Vec<&str> = around.calls.iter().take(MENTIONED).map(String::as_str).collect();
            let calls = if calls.is_empty() { String::new() } else { format!("calls {}", calls.join(", ")) };
            let both = [used, calls].into_iter().filter(|said| !said.is_empty()).collect::<Vec<_>>().join("; ");
            notes.push(format!("{name}: {both}"));
        }
        let mut left = self.beside.max(LEAST_BESIDE);
        notes.retain(|note| {
            let cost = o200k(note) + 2;
            let fits = cost <= left;
            left -= if fits { cost } else { 0 };
            fits
        });
        notes.extend(self.passed_over());
        notes
    }

    /// Which files were not looked at, and what the skimmer has to say.
    fn passed_over(&self) -> Vec<String> {
        let files = &self.found.files;
        let large = (files.large > 0).then(|| format!("not looked at, as over 1 MB: {}", counted(files.large, "source file")));
        let beyond =
            (files.beyond > 0).then(|| format!("not looked at, as there are too many: {}; name a path", counted(files.beyond, "file")));
        large.into_iter().chain(beyond).chain(self.found.remark.clone()).collect()
    }

    /// Says that nothing answers, and what comes nearest.
    fn nothing(&self) -> String {
        let near: Vec<String> = self.likely.iter().take(LIKELY).map(|ranked| place(&self.found, ranked)).collect();
        let near = if near.is_empty() { String::new() } else { format!(" Nearest: {}.", near.join(", ")) };
        let said: String = self.passed_over().iter().map(|said| format!(" ({said}.)")).collect();
        format!("Nothing in {} seems to answer this.{near}{said}\n", counted(self.found.files.files.len(), "file"))
    }

    /// Definitions with the lines that are shown of them, and the best of which none are: by file, the best file first.
    fn results(&self) -> Vec<Value> {
        let sum: f32 = self.found.ranked.iter().map(|ranked| ranked.score.exp()).sum();
        let of = |ranked: &Ranked, lines: Vec<Range<usize>>| {
            let source = &self.found.sources[ranked.source];
            let unit = &source.units[ranked.unit];
            let lines: Vec<[usize; 2]> = lines.iter().map(|run| [run.start + 1, run.end]).collect();
            let whole = definition(source, unit);
            json!({
                "path": source.shown, "lines": lines, "definition": unit.name, "whole": [whole.start + 1, whole.end],
                "score": f64::from((ranked.score.exp() / sum * 10_000.0).round()) / 10_000.0,
            })
        };
        let mut results: Vec<(usize, Value)> = Vec::new();
        for view in &self.views {
            let mut seen = HashSet::new();
            let units: Vec<&Ranked> = view.units.iter().filter(|ranked| seen.insert(whose(&self.found, ranked))).collect();
            let mut left = view.kept.clone();
            let mut of_units: Vec<Vec<Range<usize>>> = vec![Vec::new(); units.len()];
            // What is in another has its lines for itself.
            let mut inner_first: Vec<usize> = (0..units.len()).collect();
            inner_first.sort_by_key(|unit| whose(&self.found, units[*unit]).1.len());
            for unit in inner_first {
                let lines = whose(&self.found, units[unit]).1;
                of_units[unit] = runs(lines.clone().filter(|line| left[*line]));
                left[lines].fill(false);
            }
            // What is shown around them, headers of what they are in above all, goes with the first.
            of_units[0].extend(runs((0..left.len()).filter(|line| left[*line])));
            of_units[0].sort_by_key(|run| run.start);
            results.extend(units.into_iter().zip(of_units).map(|(ranked, lines)| (view.source, of(ranked, lines))));
        }
        // One of each further file, and the next best.
        let mut likely = self.likely.clone();
        likely.sort_by(|a, b| self.found.of_files[b.source].total_cmp(&self.found.of_files[a.source])); // stable: within a file as they were
        let mut seen: HashSet<usize> = self.views.iter().map(|view| view.source).collect();
        let told: HashSet<_> = self.likely.iter().take(LIKELY).map(|ranked| whose(&self.found, ranked)).collect();
        let is_listed = |ranked: &&Ranked| seen.insert(ranked.source) || told.contains(&whose(&self.found, ranked));
        let listed = LISTED.saturating_sub(results.len()).max(LIKELY);
        let beside: Vec<&Ranked> = likely.iter().filter(is_listed).take(listed).collect();
        results.extend(beside.into_iter().map(|ranked| (ranked.source, of(ranked, Vec::new()))));
        results.sort_by(|(a, _), (b, _)| self.found.of_files[*b].total_cmp(&self.found.of_files[*a]));
        results.into_iter().map(|(_, result)| result).collect()
    }
}

/// Lines in order, as runs of them.
fn runs(lines: impl Iterator<Item = usize>) -> Vec<Range<usize>> {
    let lines: Vec<usize> = lines.collect();
    lines.chunk_by(|a, b| a + 1 == *b).map(|run| run[0]..run[run.len() - 1] + 1).collect()
}
