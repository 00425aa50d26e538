//! `read_file` by name: definitions, whole, from wherever they are.

use std::sync::Arc;

use super::sections::{Section, Shown, Style, and_decoded, render};
use super::{Account, Call, Output, Session};
use crate::error::{Error, Result, counted, quote};
use crate::lookup::words::{Everywhere, Found, Looks, search};
use crate::lookup::{Hit, Query, definitions, near, related};
use crate::prune::{FocusQuestion, SMALL};
use crate::repomap::repository::Repository;
use crate::syntax::Kind;
use crate::workspace::Location;
use crate::workspace::text::Excerpt;

/// Names in one call, at most.
const MOST_NAMES: usize = 20;
/// Types and modules of more lines are shown as the signatures of their members.
const LONG_HOLDER: usize = 80;
/// Definitions of so many lines are short.
const SHORT: usize = 20;
/// Short definitions that are shown beside the best one.
const BESIDE: usize = 3;
/// Lines that may define a name, told at most.
const NEAR: usize = 3;
/// Others that are named, at most.
const NAMED: usize = 10;

/// What to look for.
pub struct Request<'a> {
    /// The names.
    pub symbols: &'a [String],
    /// Files and directories to find the definitions in; everything if there is none.
    pub paths: &'a [String],
    /// Whether lines begin with their numbers.
    pub numbered: bool,
    /// What the reader wants to know.
    pub question: Option<&'a FocusQuestion>,
}

/// Shows definitions by their names.
///
/// # Errors
/// Names that are none, and paths that are not there, in one sentence.
pub fn run(session: &Session, request: &Request<'_>, call: &Call<'_>) -> Result<Output> {
    if request.symbols.len() > MOST_NAMES {
        return Err(Error::bad_argument(format!("{} names are more than {MOST_NAMES}; ask for fewer at once.", request.symbols.len())));
    }
    let mut queries: Vec<Query> = Vec::new();
    for query in request.symbols.iter().map(|symbol| Query::new(symbol)) {
        let query = query?;
        if !queries.contains(&query) {
            queries.push(query);
        }
    }
    let mut starts = Vec::new();
    for path in request.paths {
        starts.extend(session.workspace.locate(Some(path))?);
    }
    // Of what belongs to something, only files that have that, too, are read.
    let mut words: Vec<&str> = queries.iter().map(|query| query.name.as_str()).collect();
    words.extend(queries.iter().filter_map(|query| query.owners.last()).map(String::as_str));
    let everywhere = search(&session.workspace, &session.workspace.locate(None)?, &words, false, &call.cancel, call.progress)?;
    // A file that is named is read even where a walk ignores it.
    let named: Vec<Location> = starts.iter().filter(|start| session.workspace.is_file(start)).cloned().collect();
    let in_named = search(&session.workspace, &named, &words, false, &call.cancel, None)?;
    let access = session.syntax.access(&call.cancel);
    let words = words.into_iter().map(str::to_owned).collect();
    let lookup = Lookup { session, request, call, starts, words, everywhere, in_named };
    let (mut sections, mut missing) = (Vec::new(), Vec::new());
    for (word, query) in queries.iter().enumerate() {
        let (hits, unread) = definitions(query, word, &lookup.files(word, query), &session.workspace, &access);
        if hits.is_empty() {
            missing.push(lookup.missing(query, word)?);
            continue;
        }
        lookup.add(&hits, unread, word, query, &mut sections)?;
    }
    if call.cancel.is_cancelled() {
        return Err(Error::Cancelled);
    }
    let missing: String = missing.iter().map(|line| format!("{line}\n")).collect();
    if sections.is_empty() {
        return Ok(Output { found: false, ..Output::new(missing) });
    }
    let style = Style::of(session, request.numbered);
    let (text, parts) = render(&sections, Style { most: style.most.saturating_sub(missing.chars().count()), ..style });
    sections.iter().for_each(|section| session.remember(&section.path, false));
    Ok(Output { account: Some(Account { parts, ..Account::default() }), ..Output::new(missing + &text) })
}

struct Lookup<'a> {
    session: &'a Session,
    request: &'a Request<'a>,
    call: &'a Call<'a>,
    /// Where definitions are looked for; everywhere if there are none.
    starts: Vec<Location>,
    /// What was searched for: the names, then what they belong to.
    words: Vec<String>,
    everywhere: Everywhere,
    /// What was found in files that were named.
    in_named: Everywhere,
}

impl Lookup<'_> {
    /// The files in which a word may be defined.
    fn files(&self, word: usize, query: &Query) -> Vec<&Found> {
        let is_beneath = |found: &&Found| {
            self.starts.is_empty() || self.starts.iter().any(|start| found.file.is_beneath(start) && !self.session.workspace.is_file(start))
        };
        let beneath = self.everywhere.files.iter().filter(is_beneath);
        let has_owner = |found: &Found| {
            let Some(owner) = query.owners.last() else { return true };
            found.places.iter().any(|place| self.words.get(place.word) == Some(owner))
        };
        let all = beneath.chain(&self.in_named.files);
        all.filter(|found| found.places.iter().any(|place| place.word == word) && has_owner(found)).collect()
    }

    /// Says that a name is not there, and which are near.
    fn missing(&self, query: &Query, word: usize) -> Result<String> {
        let place = match self.request.paths {
            [] => self.session.workspace.describe(),
            paths => paths.iter().map(|path| quote(path)).collect::<Vec<_>>().join(", "),
        };
        // Definitions inside of functions have no name of their own.
        let lines = |found: &Found| {
            let defined = found.places.iter().filter(|place| place.word == word && place.looks == Looks::Defined);
            defined.map(|place| format!("{}:{}", self.session.workspace.show(&found.file), place.line + 1)).collect::<Vec<_>>()
        };
        let inside: Vec<String> = self.files(word, query).into_iter().flat_map(lines).take(NEAR).collect();
        let hint =
            if inside.is_empty() { self.near(query)? } else { format!("a line may define it inside of something: {}", inside.join(", ")) };
        let large = self.everywhere.large + self.in_named.large;
        let large = if large > 0 { format!("{} too large to look into; ", counted(large, "file")) } else { String::new() };
        let searched = match self.request.paths {
            [] => format!("{} searched; ", counted(self.everywhere.searched, "source file")),
            _ => String::new(),
        };
        Ok(format!("No definition of {} in {place} ({searched}{large}{hint}).", quote(&query.asked)))
    }

    /// Names near one that is not there, or what else to do.
    fn near(&self, query: &Query) -> Result<String> {
        let workspace = &self.session.workspace;
        let access = self.session.syntax.access(&self.call.cancel);
        let everything = workspace.locate(None)?;
        let found = near(query, workspace, if self.starts.is_empty() { &everything } else { &self.starts }, &access)?;
        if !found.is_empty() {
            return Ok(format!("near: {}", found.join(", ")));
        }
        let elsewhere = if self.starts.is_empty() { Vec::new() } else { near(query, workspace, &everything, &access)? };
        Ok(match elsewhere.is_empty() {
            true => "grep finds where the text stands".to_owned(),
            false => format!("elsewhere near: {}", elsewhere.join(", ")),
        })
    }

    /// Adds what is shown of the definitions of a name, the best of which is first.
    fn add(&self, hits: &[Hit], unread: usize, word: usize, query: &Query, sections: &mut Vec<Section>) -> Result<()> {
        let best = &hits[0];
        let is_shown = |hit: &&Hit| {
            let same = Arc::ptr_eq(&hit.source, &best.source);
            same && hit.kind() == Kind::Holder && best.kind() == Kind::Holder || hit.lines().len() <= SHORT && hit.kind() != Kind::Value
        };
        let beside: Vec<&Hit> = hits[1..].iter().filter(|hit| !inside(best, hit)).filter(is_shown).take(BESIDE).collect();
        let from = sections.len();
        for hit in std::iter::once(best).chain(beside.iter().copied()) {
            sections.push(self.section(hit)?);
        }
        let is_one = |hit: &&Hit| !inside(best, hit) && !beside.iter().any(|shown| std::ptr::eq(*shown, *hit));
        let others: Vec<String> = hits[1..].iter().filter(is_one).map(place).collect();
        let last = sections.len() - 1;
        if !others.is_empty() {
            let more = others.len().saturating_sub(NAMED);
            let more = if more > 0 { format!(", and {more} more") } else { String::new() };
            sections[last].notes.push(format!("also: {}{more}", others[..others.len().min(NAMED)].join(", ")));
        }
        if unread > 0 {
            sections[last].notes.push(format!("{} more may define it; name a path to look there", counted(unread, "file")));
        }
        let access = self.session.syntax.access(&self.call.cancel);
        let repository = Repository::new(&self.session.workspace, &best.source.file, &self.session.parsed, &access, &self.call.cancel);
        let owner = query.owners.last().and_then(|owner| self.words.iter().rposition(|word| word == owner));
        let around = related(hits, (word, owner), &self.everywhere, &self.session.workspace, &repository, &access);
        if !around.used_by.is_empty() {
            let said: Vec<String> = around.used_by.iter().map(ToString::to_string).collect();
            let more = if around.more > 0 { format!(", and {} more", around.more) } else { String::new() };
            sections[from].notes.push(format!("used by: {}{more}", said.join(", ")));
        }
        if !around.calls.is_empty() {
            sections[from].notes.push(format!("calls: {}", around.calls.join(", ")));
        }
        Ok(())
    }

    /// A definition: whole, or, of a long type or module, the signatures in it; with a question, what of it answers.
    fn section(&self, hit: &Hit) -> Result<Section> {
        let (source, range) = (&hit.source, hit.with_above());
        let all = source.lines();
        let lines: Vec<String> = all[range.clone()].iter().map(|line| (*line).to_owned()).collect();
        let mut section = Section {
            path: source.shown.clone(),
            first: range.start,
            total: Some(all.len()),
            name: and_decoded(hit.name.clone(), &source.text),
            lines,
            question: self.request.question.cloned(),
            ..Section::default()
        };
        if let Some(question) = self.request.question.filter(|_| range.len() >= SMALL) {
            let excerpt = Excerpt {
                text: source.text.part(range.clone()),
                first: range.start,
                whole: Some(source.text.clone()),
                total: section.total,
                instead_of: None,
            };
            let (kept, pointers, said) =
                self.session.decide_on(&source.shown, &excerpt, question, self.request.numbered, &self.call.cancel)?;
            section.name = format!("{}; {said}", section.name);
            section.shown = Shown::View(kept, pointers);
            return Ok(section);
        }
        if hit.kind() == Kind::Holder && range.len() > LONG_HOLDER {
            let signatures = signatures(hit, range.start);
            if signatures.len() > 1 {
                section.name.push_str("; what is in it by its signatures, each with its lines");
                section.shown = Shown::Signatures(signatures);
            }
        }
        Ok(section)
    }
}

/// Whether a definition is in another one.
fn inside(outer: &Hit, inner: &Hit) -> bool {
    let (all, own) = (outer.lines(), inner.lines());
    Arc::ptr_eq(&outer.source, &inner.source) && all.start <= own.start && own.end <= all.end && outer.at != inner.at
}

/// `src/a.py 12-40 Store.get`.
fn place(hit: &Hit) -> String {
    format!("{} {} {}", hit.source.shown, crate::prune::render::numbers(0, &hit.lines()), hit.name)
}

/// The headers of a definition and of those in it, each with its lines, counted from `first`.
fn signatures(hit: &Hit, first: usize) -> Vec<(std::ops::Range<usize>, std::ops::Range<usize>)> {
    let definitions = &hit.source.syntax.definitions;
    let those = &definitions[hit.at..=hit.at + definitions[hit.at].within];
    let own = |lines: &std::ops::Range<usize>| lines.start - first..lines.end - first;
    let mut last = 0;
    let mut signatures = Vec::new();
    for it in those {
        // Two may be on one line.
        if it.header.start >= last && it.lines.start >= first {
            last = it.header.end;
            signatures.push((own(&it.header), own(&it.lines)));
        }
    }
    signatures
}
