//! `grep`: ripgrep's search in-process, its results grouped by file, whole or pruned to a question.
//!
//! The walk is parallel and so comes in no order; results are kept sorted by path, and only as much text of them as can be shown or skimmed.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use grep_matcher::LineTerminator;
use grep_searcher::{BinaryDetection, Encoding, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkFinish, SinkMatch};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::arguments::{lenient_flag, lenient_number, lenient_text, lenient_texts};
use super::nearest::nearest;
use super::pattern::{Pattern, Taken};
use super::places::Places;
use super::{Call, Output, Part, Session, answer, question};
use crate::error::{Error, Result, counted, quote, shorten};
use crate::lookup::Source;
use crate::prune::matches::{FileMatches, FoundLine, Results, Unshown, Within};
use crate::prune::{Decision, decide};
use crate::syntax::Names;
use crate::workspace::text::{HEAD, behind_head, decode_line, encoding_of, looks_like_text};
use crate::workspace::{Location, OpenFile};

/// Lines of context, at most.
const MOST_CONTEXT: usize = 50;
/// A file with a longer line is not searched, so that a few huge ones cannot fill the memory.
const LONGEST_LINE_BYTES: usize = 64_000_000;
/// Files whose definitions are named, at most, the first of a result.
const MOST_NAMED: usize = 60;
/// Hidden directories that are looked into, at most, to tell how many files in them match.
const MOST_HIDDEN: usize = 200;
/// Larger files are searched without, in bytes.
const LARGEST_NAMED: usize = 1_000_000;

/// What to search for.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Regular expression, as in ripgrep
    pub pattern: String,
    /// File or directory; everything if left out
    #[serde(default, deserialize_with = "lenient_text")]
    pub path: Option<String>,
    /// Only files matching this, e.g. *.rs or !tests/**
    #[serde(default, deserialize_with = "lenient_texts")]
    #[schemars(with = "Option<String>")]
    pub glob: Vec<String>,
    /// Lines around each match
    #[serde(default, deserialize_with = "lenient_number")]
    pub context: Option<usize>,
    /// Ignore case
    #[serde(default, deserialize_with = "lenient_flag")]
    pub ignore_case: Option<bool>,
    /// Take the pattern literally
    #[serde(default, deserialize_with = "lenient_flag")]
    pub literal: Option<bool>,
    /// Only which files match, and how often
    #[serde(default, deserialize_with = "lenient_flag")]
    pub files_only: Option<bool>,
    /// What only a shell gives.
    #[serde(skip)]
    #[schemars(skip)]
    pub more: More,
    /// As for read_file
    #[serde(default, deserialize_with = "lenient_text")]
    pub context_focus_question: Option<String>,
}

/// What a shell's search has beyond an agent's, whose list of tools is to stay short.
#[derive(Debug, Clone, Default)]
pub struct More {
    /// Other files or directories to search.
    pub paths: Vec<String>,
    /// Lines before each match, where it is not `context`.
    pub before: Option<usize>,
    /// Lines after each match, where it is not `context`.
    pub after: Option<usize>,
    /// Whether the pattern is to match whole words.
    pub word: bool,
    /// Whether of files alone no more than the paths are shown.
    pub bare: bool,
}

/// Searches the roots, or one file or directory in them.
///
/// # Errors
/// Arguments that cannot be served, in one sentence. Files that cannot be read are passed over, as ripgrep passes them over.
pub fn run(session: &Session, request: &Request, call: &Call<'_>) -> Result<Output> {
    let question = question(request.context_focus_question.as_ref())?;
    let search = Search::new(request, &call.cancel)?;
    let most = session.options.limits.most;
    let files_only = request.files_only.unwrap_or(false);
    if files_only && question.is_some() {
        return Err(Error::bad_argument("files_only (-l, -c) shows no lines that could answer; leave it or the focus question out."));
    }
    let room = match (files_only, &question) {
        (true, _) => 0,
        (false, None) => most,
        (false, Some(_)) => most.max(session.skimmer.room()),
    };
    let collected = search.everywhere(session, request, call, room)?;
    if call.cancel.is_cancelled() {
        return Err(Error::Cancelled);
    }
    search.pattern.ran_away(&request.pattern)?;
    let pattern = quote(&request.pattern);
    if collected.results.matches() == 0 {
        let named: Vec<String> = request.path.iter().chain(&request.more.paths).map(|path| quote(path)).collect();
        let place = if named.is_empty() { session.workspace.describe() } else { shorten(&named.join(", ")) };
        let unshown = collected.unshown.describe().map_or_else(String::new, |unshown| format!(", {unshown}"));
        let literal = request.literal.unwrap_or(false);
        let hint = match (collected.searched, request.glob.first()) {
            (0, Some(glob)) if glob.contains(',') && !glob.contains('{') => "for one of several globs write {*.a,*.b}",
            (0, Some(_)) => "the glob is matched against paths from the root, and brings back no hidden or ignored files",
            _ if !literal && request.pattern.contains("\\|") => "alternatives are written a|b",
            _ if !literal && request.pattern.contains("(?s") => "a match is within one line",
            _ => "hidden and ignored files only where path names them",
        };
        let mut remarks: String = collected.remarks.iter().map(|remark| format!(" {remark}")).collect();
        if let [first, ..] = collected.passed_over.as_slice() {
            let all = counted(collected.passed_over.len(), "binary file");
            remarks.push_str(&format!(
                " Passed over: {all}, {}{}.",
                quote(first),
                if collected.passed_over.len() > 1 { " the first" } else { "" }
            ));
        }
        let may_name = !session.options.shell && request.glob.is_empty();
        let name = || nearest(session, &request.pattern, literal, request.path.as_deref(), collected.searched, call);
        if let Some(place) = may_name.then(name).flatten() {
            remarks.push_str(&format!(" Nearest by its words: {place}."));
        }
        let searched = counted(collected.searched, "file");
        let text = format!("No match for {pattern} in {place} ({searched} searched{unshown}; {hint}).{remarks}\n");
        return Ok(Output { found: false, ..Output::new(text) });
    }
    if files_only {
        let (list, remark) = collected.results.list(&pattern, request.more.bare, collected.unshown, most);
        return Ok(match remark {
            Some(remark) if !session.options.shell => Output::new(format!("{remark}\n{list}")),
            aside => Output { aside, ..Output::new(list) },
        });
    }
    let limits = &session.options.limits;
    let results = collected.results.within(most, limits.tokens.filter(|_| question.is_some()));
    let decision = match &question {
        Some(question) => decide(&results.material(), question, session.skimmer.as_ref(), &limits.beside(&pattern), &call.cancel)?,
        None => Decision::Whole,
    };
    let mut remarks = collected.remarks;
    if question.is_some() && matches!(decision, Decision::Whole) {
        remarks.push("The question leaves nothing out.".to_owned());
    }
    let render = |decision: &Decision, remarks: &[String]| results.render(&pattern, decision, collected.unshown, remarks, most);
    let text = render(&decision, &remarks);
    let whole = (!matches!(decision, Decision::Whole)).then(|| render(&Decision::Whole, &remarks));
    let mut room = most;
    let parts = results.files_with(&decision).map(|(path, lines)| Part::new(path, lines, &decision, &mut room)).collect();
    Ok(answer(text, whole, parts, session.options.observe))
}

/// A compiled search.
struct Search<'a> {
    pattern: Pattern,
    before: usize,
    after: usize,
    /// What is said of more context than there may be.
    cut: Option<String>,
    cancel: &'a CancellationToken,
}

/// What a search found, how many files it went through, and what of them is not shown.
struct Collected {
    results: Results,
    searched: usize,
    unshown: Unshown,
    /// Files that are no text, in order of path.
    passed_over: Vec<String>,
    /// What else is to be said.
    remarks: Vec<String>,
}

impl<'a> Search<'a> {
    fn new(request: &Request, cancel: &'a CancellationToken) -> Result<Self> {
        let context = |other: Option<usize>| other.or(request.context).unwrap_or(0);
        let (before, after) = (context(request.more.before), context(request.more.after));
        let cut = (before.max(after) > MOST_CONTEXT)
            .then(|| format!("context {} is cut to {MOST_CONTEXT}; read the file for more.", before.max(after)));
        let (before, after) = (before.min(MOST_CONTEXT), after.min(MOST_CONTEXT));
        let (literal, ignore_case) = (request.literal.unwrap_or(false), request.ignore_case.unwrap_or(false));
        let pattern = Pattern::new(&request.pattern, Taken { literal, ignore_case, word: request.more.word })?;
        Ok(Self { pattern, before, after, cut, cancel })
    }

    fn everywhere(&self, session: &Session, request: &Request, call: &Call<'_>, room: usize) -> Result<Collected> {
        let (searched, failed, hidden) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
        let passed_over = Mutex::new(Vec::new());
        let collector = Mutex::new(Collector::new(room));
        let collect = |location: &Location, found| {
            let path = session.workspace.absolute(location);
            collector.lock().expect("no visitor panics").add(path, Some(location.clone()), found);
        };
        let paths: Vec<String> = request.path.iter().chain(&request.more.paths).cloned().collect();
        let Places { starts, globs, mut remarks } = Places::of(&session.workspace, &paths, &request.glob, self.cancel)?;
        remarks.splice(0..0, self.cut.clone());
        for start in starts {
            if !session.workspace.absolute(&start).is_dir() {
                // A file that was named is searched even where a walk would ignore it, and its faults are told.
                let open = session.workspace.open_location(&start)?;
                let (shown, bytes) = (quote(&open.shown), open.bytes);
                match self.one_file(open, room) {
                    Ok(found) if found.binary => return Err(Error::Binary { path: shown, bytes }),
                    Ok(found) => collect(&start, found),
                    Err(_) if self.cancel.is_cancelled() => return Err(Error::Cancelled),
                    Err(source) => {
                        self.pattern.ran_away(&request.pattern)?;
                        return Err(Error::Unreadable { path: shown, source });
                    }
                }
                searched.fetch_add(1, Ordering::Relaxed);
                continue;
            }
            let unlisted = session.workspace.walk_hidden(&start, &globs, MOST_HIDDEN, self.cancel, |location, is_hidden| {
                // Of hidden files it is only told that they match.
                let room = if is_hidden { 0 } else { room };
                let found = session.workspace.open_location(&location).map(|open| self.one_file(open, room));
                match found {
                    Ok(Ok(found)) if is_hidden => {
                        hidden.fetch_add(usize::from(found.matches > 0 && !found.binary), Ordering::Relaxed);
                    }
                    Ok(Ok(found)) if !found.binary => collect(&location, found),
                    Ok(Ok(found)) => passed_over.lock().expect("no visitor panics").push(found.path),
                    Err(Error::NotFound { .. } | Error::OutsideRoots { .. }) => return, // gone since it was listed, or become a link
                    _ if is_hidden => return,
                    _ => drop(failed.fetch_add(1, Ordering::Relaxed)),
                }
                if is_hidden {
                    return;
                }
                let count = searched.fetch_add(1, Ordering::Relaxed) + 1;
                if let Some(progress) = call.progress {
                    progress(count, None);
                }
            })?;
            failed.fetch_add(unlisted, Ordering::Relaxed);
        }
        remarks.extend(self.pattern.remark());
        let mut files = collector.into_inner().expect("no visitor panics").finish();
        if room > 0 {
            name_definitions(session, &mut files, self.cancel);
        }
        let results = Results::new(files.into_iter().map(|(_, file)| file).collect());
        let unshown = Unshown { failed: failed.into_inner(), hidden: hidden.into_inner() };
        let mut passed_over = passed_over.into_inner().expect("no visitor panics");
        passed_over.sort_unstable();
        Ok(Collected { results, searched: searched.into_inner(), unshown, passed_over, remarks })
    }

    /// The matches in one file, keeping `room` characters of them. What is no text is searched up to its first zero.
    fn one_file(&self, open: OpenFile, room: usize) -> io::Result<FileMatches> {
        let OpenFile { mut file, shown, bytes, .. } = open;
        let mut head = Vec::with_capacity(bytes.min(HEAD as u64) as usize + 1);
        file.by_ref().take(HEAD as u64).read_to_end(&mut head)?;
        let encoding = encoding_of(&head, bytes);
        let has_zeros = memchr::memchr(0, &head).is_some();
        let is_whole = encoding.is_some() || has_zeros && is_text(&mut file, &head, bytes)?;
        let found = self.searched(head.as_slice().chain(&file), &shown, room, encoding, is_whole)?;
        if !found.binary || has_zeros || !is_text(&mut file, &head, bytes)? {
            return Ok(found);
        }
        file.seek(SeekFrom::Start(0))?;
        self.searched(&file, &shown, room, encoding, true)
    }

    /// The matches in an input: in all of it, or up to its first zero.
    fn searched(
        &self,
        input: impl Read,
        shown: &str,
        room: usize,
        encoding: Option<&'static encoding_rs::Encoding>,
        is_whole: bool,
    ) -> io::Result<FileMatches> {
        let ends = match &self.pattern {
            Pattern::Linear(_, ends) => *ends,
            Pattern::Backtracking(_) => LineTerminator::byte(b'\n'),
        };
        let mut searcher = SearcherBuilder::new()
            .line_terminator(ends)
            .encoding(encoding.and_then(|encoding| Encoding::new(encoding.name()).ok()))
            .line_number(true)
            .binary_detection(if is_whole { BinaryDetection::none() } else { BinaryDetection::quit(0) })
            .before_context(self.before)
            .after_context(self.after)
            .heap_limit(Some(LONGEST_LINE_BYTES))
            .build();
        let found = FileMatches { path: shown.to_owned(), ..FileMatches::default() };
        let mut sink = Matches { search: self, room, before: Vec::new(), found };
        let input = Cancellable { input, cancel: self.cancel };
        match &self.pattern {
            Pattern::Linear(matcher, _) => searcher.search_reader(matcher, input, &mut sink)?,
            Pattern::Backtracking(matcher) => searcher.search_reader(matcher, input, &mut sink)?,
        }
        Ok(sink.found)
    }
}

/// Whether a file is a text, by its head, its middle and its end. Where it stands in the file is as before.
fn is_text(file: &mut File, head: &[u8], bytes: u64) -> io::Result<bool> {
    let at = file.stream_position()?;
    let mut is_text = looks_like_text(head, bytes > head.len() as u64);
    for from in behind_head(bytes) {
        let mut part = Vec::with_capacity(HEAD);
        file.seek(SeekFrom::Start(from))?;
        file.by_ref().take(HEAD as u64).read_to_end(&mut part)?;
        is_text &= looks_like_text(&part, true);
    }
    file.seek(SeekFrom::Start(at))?;
    Ok(is_text)
}

/// Says of the lines of files in which definition each stands, of the first files, as far as their grammars tell.
fn name_definitions(session: &Session, files: &mut [(Option<Location>, FileMatches)], cancel: &CancellationToken) {
    let access = session.syntax.access(cancel);
    files.par_iter_mut().take(MOST_NAMED).for_each(|(location, file)| {
        let is_short = |source: &Source| source.text.as_str().len() <= LARGEST_NAMED;
        let Some(source) = location.as_ref().and_then(|file| Source::read(&session.workspace, file, &access)).filter(is_short) else {
            return;
        };
        let lines = source.lines();
        let names = Names::new(&source.syntax.definitions, &lines);
        let mut known: HashMap<usize, Arc<Within>> = HashMap::new();
        for line in &mut file.lines {
            line.within = names.innermost(line.number - 1).map(|at| {
                let within = || Within { name: names.full(at), lines: source.syntax.definitions[at].lines.clone() };
                Arc::clone(known.entry(at).or_insert_with(|| Arc::new(within())))
            });
        }
    });
}

/// A file that ends with an error once the call is cancelled, however long it takes to find a match in it.
struct Cancellable<'a, R> {
    input: R,
    cancel: &'a CancellationToken,
}

impl<R: Read> Read for Cancellable<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cancel.is_cancelled() {
            return Err(io::Error::other("cancelled"));
        }
        self.input.read(buffer)
    }
}

/// Receives the lines of one file.
struct Matches<'s, 'a> {
    search: &'s Search<'a>,
    /// Characters that may still be kept.
    room: usize,
    /// Context that came before a match that has not come yet.
    before: Vec<FoundLine>,
    found: FileMatches,
}

impl Matches<'_, '_> {
    fn line(&self, number: Option<u64>, bytes: &[u8], is_match: bool) -> FoundLine {
        let text = decode_line(bytes);
        let span = if is_match { self.search.pattern.find(text.trim_end_matches(['\r', '\n'])).unwrap_or(0..0) } else { 0..0 };
        FoundLine::new(number.unwrap_or(0) as usize, &text, is_match, span)
    }

    fn keep(&mut self, line: FoundLine) {
        self.room = self.room.saturating_sub(line.characters());
        self.found.lines.push(line);
    }

    /// Keeps what came before a match, the nearest lines first, in half of the room: the match must not want for it.
    fn keep_before(&mut self) {
        let lines = std::mem::take(&mut self.before);
        let mut room = self.room / 2;
        let fits = |line: &&FoundLine| {
            room = room.saturating_sub(line.characters());
            room > 0
        };
        let far = lines.len() - lines.iter().rev().take_while(fits).count();
        self.found.clipped |= far > 0;
        lines.into_iter().skip(far).for_each(|line| self.keep(line));
    }
}

impl Sink for Matches<'_, '_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.found.matches += 1;
        if self.room > 0 {
            self.keep_before();
            self.keep(self.line(found.line_number(), found.bytes(), true));
        }
        Ok(!self.search.cancel.is_cancelled())
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        if self.room > 0 {
            let line = self.line(context.line_number(), context.bytes(), false);
            match context.kind() {
                SinkContextKind::Before => self.before.push(line),
                _ => self.keep(line),
            }
        } else {
            self.found.clipped = true;
        }
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> io::Result<()> {
        self.found.binary = finish.binary_byte_offset().is_some();
        Ok(())
    }
}

/// Files with matches in order of path, with as much text of the first as there is room for, and the counts of the rest. Which text that is
/// does not depend on the order in which files come: the limit only ever moves to a smaller path.
struct Collector {
    room: usize,
    used: usize,
    /// Each with its characters and where it is.
    with_text: BTreeMap<PathBuf, (usize, Option<Location>, FileMatches)>,
    counted: BTreeMap<PathBuf, FileMatches>,
    limit: Option<PathBuf>,
}

impl Collector {
    fn new(room: usize) -> Self {
        Self { room, used: 0, with_text: BTreeMap::new(), counted: BTreeMap::new(), limit: None }
    }

    fn add(&mut self, path: PathBuf, location: Option<Location>, found: FileMatches) {
        if found.matches == 0 {
            return;
        }
        if self.limit.as_ref().is_some_and(|limit| path >= *limit) {
            self.counted.insert(path, FileMatches { lines: Vec::new(), ..found });
            return;
        }
        let characters = found.characters();
        self.used += characters;
        if let Some((before, ..)) = self.with_text.insert(path, (characters, location, found)) {
            self.used -= before;
        }
        // The last file is the one that fills the room, and perhaps more than that.
        while let Some(last) = self.with_text.last_entry().filter(|last| self.used - last.get().0 >= self.room) {
            let (path, (characters, _, last)) = last.remove_entry();
            self.used -= characters;
            self.limit = Some(path.clone());
            self.counted.insert(path, FileMatches { lines: Vec::new(), ..last });
        }
    }

    fn finish(mut self) -> Vec<(Option<Location>, FileMatches)> {
        if let Some(mut last) = self.with_text.last_entry().filter(|_| self.used > self.room) {
            let (.., last) = last.get_mut();
            let mut surplus = self.used - self.room;
            while let Some(line) = last.lines.pop_if(|line| line.characters() <= surplus) {
                surplus -= line.characters();
                last.clipped |= !line.is_match;
            }
        }
        let with_text = self.with_text.into_values().map(|(_, location, file)| (location, file));
        with_text.chain(self.counted.into_values().map(|file| (None, file))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn file(path: usize, size: usize) -> (PathBuf, FileMatches) {
        let line = FoundLine::new(1, &"x".repeat(size), true, 0..1);
        (
            PathBuf::from(format!("{path:03}")),
            FileMatches { path: path.to_string(), lines: vec![line], matches: 1, ..FileMatches::default() },
        )
    }

    proptest! {
        #[test]
        fn what_is_kept_does_not_depend_on_the_order(sizes in prop::collection::vec(1usize..40, 1..20), seed in any::<u64>()) {
            let files: Vec<_> = sizes.iter().enumerate().map(|(i, size)| file(i, *size)).collect();
            let mut shuffled = files.clone();
            shuffled.sort_by_key(|(path, _)| path.to_string_lossy().bytes().fold(seed, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()).rotate_left(7)));
            let collect = |files: Vec<(PathBuf, FileMatches)>| {
                let mut collector = Collector::new(100);
                files.into_iter().for_each(|(path, found)| collector.add(path, None, found));
                collector.finish().into_iter().map(|(_, file)| file).collect::<Vec<_>>()
            };
            prop_assert_eq!(collect(files), collect(shuffled));
        }

        #[test]
        fn the_room_is_filled(lines in prop::collection::vec(1usize..40, 1..9)) {
            let mut collector = Collector::new(300);
            for (i, lines) in lines.iter().enumerate() {
                let (path, found) = file(i, 4);
                collector.add(path, None, FileMatches { lines: vec![found.lines[0].clone(); *lines], ..found });
            }
            let kept: usize = collector.finish().into_iter().map(|(_, file)| file.lines.len()).sum();
            let all: usize = lines.iter().sum();
            prop_assert!(kept == all || (300 - 12 - lines.len()..=300 + 12).contains(&(12 * kept)), "{kept} of {all}");
        }
    }
}
