//! The pattern of a search: a regular expression in the syntax of ripgrep, or, where it looks around or back, one that is matched by backtracking.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use fancy_regex::{Expr, Regex, RegexBuilder};
use grep_matcher::{LineTerminator, Match, Matcher, NoCaptures};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use regex_syntax::ast::ErrorKind;

use crate::error::{Error, Result, counted, quote};

/// Memory of a compiled pattern, at most: compiling cannot be cancelled, and up to here takes half a second.
const REGEX_BYTES: usize = 10_000_000;
/// Steps back in one line, at most.
const MOST_STEPS: usize = 200_000;
/// Bytes of a line that is looked at by backtracking, at most: each step may go through all of it.
const LONGEST_LINE: usize = 8_000;
/// A line that takes longer ends the search.
const PATIENCE: Duration = Duration::from_millis(500);

/// A compiled pattern.
pub enum Pattern {
    /// Matched in time linear in the text, and how lines end for it.
    Linear(RegexMatcher, LineTerminator),
    /// Matched by backtracking.
    Backtracking(Backtracking),
}

/// How a pattern is taken.
#[derive(Debug, Clone, Copy)]
pub struct Taken {
    /// As a text, and no expression.
    pub literal: bool,
    /// In any case.
    pub ignore_case: bool,
    /// As a whole word.
    pub word: bool,
}

/// A pattern that looks around or back.
pub struct Backtracking {
    regex: Regex,
    /// Whether it took too many steps somewhere, or too long.
    ran_away: AtomicBool,
    /// Lines that were too long to be looked at.
    passed_over: AtomicUsize,
}

impl Pattern {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// One that is none, in a sentence that says where.
    pub fn new(pattern: &str, Taken { literal, ignore_case, word }: Taken) -> Result<Self> {
        if pattern.is_empty() {
            return Err(Error::bad_argument("The pattern is empty; give a regular expression, or a text with literal set (-F)."));
        }
        // Bytes that are not UTF-8 may be searched for, as with ripgrep.
        if !literal && let Err(error) = regex_syntax::ParserBuilder::new().utf8(false).build().parse(pattern) {
            if !looks_around(pattern, &error) {
                return Err(bad_pattern(pattern, &error));
            }
            let whole = if word { format!(r"(?<!\w)(?:{pattern})(?!\w)") } else { pattern.to_owned() };
            return Ok(Self::Backtracking(Backtracking::new(pattern, &whole, ignore_case)?));
        }
        let mut builder = RegexMatcherBuilder::new();
        builder
            .case_insensitive(ignore_case)
            .fixed_strings(literal)
            .word(word)
            .multi_line(true)
            .size_limit(REGEX_BYTES)
            .dfa_size_limit(10 * REGEX_BYTES);
        // A line ends before its carriage return, but for who asks for that.
        let ends = if pattern.contains("\\r") || pattern.contains('\r') { LineTerminator::byte(b'\n') } else { LineTerminator::crlf() };
        if ends.is_crlf() {
            builder.crlf(true);
        } else {
            builder.line_terminator(Some(b'\n'));
        }
        let matcher = builder.build(pattern).map_err(|error| {
            let reason = error.to_string();
            let reason = reason.lines().last().unwrap_or_default().trim_end_matches('.');
            let advice = if reason.contains("\\n") { "; search for one line of it" } else { "" };
            Error::bad_argument(format!("The pattern {} cannot be searched for line by line: {reason}{advice}.", quote(pattern)))
        })?;
        Ok(Self::Linear(matcher, ends))
    }

    /// Where a line matches first.
    pub fn find(&self, line: &str) -> Option<Range<usize>> {
        let found = match self {
            Self::Linear(matcher, _) => matcher.find(line.as_bytes()).ok().flatten(),
            Self::Backtracking(matcher) => matcher.find(line.as_bytes()).ok().flatten(),
        };
        found.map(|found| found.start()..found.end())
    }

    /// What is to be said of lines that were too long for this pattern, if there were any.
    pub fn remark(&self) -> Option<String> {
        let Self::Backtracking(matcher) = self else { return None };
        let passed_over = matcher.passed_over.load(Ordering::Relaxed);
        (passed_over > 0)
            .then(|| format!("Passed over, as the pattern looks around: {} of over {LONGEST_LINE} bytes.", counted(passed_over, "line")))
    }

    /// The refusal of a pattern that took too many steps in some line, or too long.
    ///
    /// # Errors
    /// That one.
    pub fn ran_away(&self, pattern: &str) -> Result<()> {
        match self {
            Self::Backtracking(matcher) if matcher.ran_away.load(Ordering::Relaxed) => Err(Error::bad_argument(format!(
                "The pattern {} goes back too often in some line; make its repeats more specific, or search without look-around.",
                quote(pattern)
            ))),
            _ => Ok(()),
        }
    }
}

impl Backtracking {
    /// Compiles `whole`, which a search called `pattern`.
    fn new(pattern: &str, whole: &str, ignore_case: bool) -> Result<Self> {
        let is_none = |error: fancy_regex::Error| {
            let reason = error.to_string();
            Error::bad_argument(format!("The pattern {} is not a regular expression: {}.", quote(pattern), reason.trim_end_matches('.')))
        };
        let tree = Expr::parse_tree(whole).map_err(is_none)?;
        if tree.contains_subroutines || loops_around(&tree.expr).0 > 1 {
            return Err(Error::bad_argument(format!(
                "The pattern {} repeats look-around within a repeat, or calls itself, which has no bound; write it without one of them.",
                quote(pattern)
            )));
        }
        let mut builder = RegexBuilder::new(whole);
        builder.case_insensitive(ignore_case).multi_line(true).backtrack_limit(MOST_STEPS).delegate_size_limit(REGEX_BYTES);
        let regex = builder.build().map_err(is_none)?;
        Ok(Self { regex, ran_away: AtomicBool::new(false), passed_over: AtomicUsize::new(0) })
    }
}

/// How many repeats are around each other and around what only backtracking matches, and whether there is any of that. One of them goes through a
/// line once for each of its characters, two as often as that squared, and no step back is counted.
fn loops_around(expression: &Expr) -> (usize, bool) {
    let inside = expression.children_iter().map(loops_around);
    let (loops, is_hard) = inside.fold((0, false), |(most, any), (loops, is_hard)| (most.max(loops), any | is_hard));
    match expression {
        Expr::Repeat { hi, .. } if *hi > 1 && is_hard => (loops + 1, true),
        Expr::LookAround(..) | Expr::Backref { .. } | Expr::AtomicGroup(_) | Expr::Conditional { .. } | Expr::Absent(_) => (loops, true),
        _ => (loops, is_hard),
    }
}

impl Matcher for Backtracking {
    type Captures = NoCaptures;
    type Error = String;

    fn find_at(&self, line: &[u8], at: usize) -> std::result::Result<Option<Match>, String> {
        let text = String::from_utf8_lossy(line);
        let text = text.strip_suffix('\r').unwrap_or(&text);
        if self.ran_away.load(Ordering::Relaxed) || at > text.len() {
            return Ok(None);
        }
        if text.len() > LONGEST_LINE {
            self.passed_over.fetch_add(1, Ordering::Relaxed);
            return Ok(None);
        }
        let began = Instant::now();
        let found = self.regex.find_from_pos(text, at);
        if found.is_err() || began.elapsed() > PATIENCE {
            self.ran_away.store(true, Ordering::Relaxed);
        }
        let found = found.map_err(|error| error.to_string())?;
        Ok(found.map(|found| Match::new(found.start().min(line.len()), found.end().min(line.len()))))
    }

    fn new_captures(&self) -> std::result::Result<NoCaptures, String> {
        Ok(NoCaptures::new())
    }
}

/// Whether a pattern is no regular expression for ripgrep only because it looks around, or back at what it has matched.
fn looks_around(pattern: &str, error: &regex_syntax::Error) -> bool {
    let by_kind = matches!(error, regex_syntax::Error::Parse(error) if matches!(error.kind(), ErrorKind::UnsupportedLookAround | ErrorKind::UnsupportedBackreference));
    by_kind || pattern.contains("(?>") || pattern.contains("\\K")
}

/// One sentence with the position, from an error that knows it.
fn bad_pattern(pattern: &str, error: &regex_syntax::Error) -> Error {
    let (span, reason) = match error {
        regex_syntax::Error::Parse(error) => (error.span(), error.kind().to_string()),
        regex_syntax::Error::Translate(error) => (error.span(), error.kind().to_string()),
        other => return Error::bad_argument(format!("The pattern {} is not a regular expression: {other}.", quote(pattern))),
    };
    let position = pattern.get(..span.start.offset).map_or(0, |before| before.chars().count()) + 1;
    Error::bad_argument(format!(
        "The pattern {} is not a regular expression: {reason} at character {position}; escape it with \\ or set literal (-F).",
        quote(pattern)
    ))
}
