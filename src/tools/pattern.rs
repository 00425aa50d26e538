//! The pattern of a search: a regular expression in the syntax of ripgrep, or, where it looks around or back, one that is matched by backtracking.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use fancy_regex::{Regex, RegexBuilder};
use grep_matcher::{LineTerminator, Match, Matcher, NoCaptures};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use regex_syntax::ast::ErrorKind;

use crate::error::{Error, Result, quote};

/// Memory of a compiled pattern, at most: compiling cannot be cancelled, and up to here takes half a second.
const REGEX_BYTES: usize = 10_000_000;
/// Steps back in one line, at most: they take a tenth of a second.
const MOST_STEPS: usize = 1_000_000;

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
    /// Whether it took more than [`MOST_STEPS`] somewhere.
    ran_away: AtomicBool,
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
            let regex = RegexBuilder::new(&whole)
                .case_insensitive(ignore_case)
                .multi_line(true)
                .backtrack_limit(MOST_STEPS)
                .delegate_size_limit(REGEX_BYTES)
                .build();
            let regex = regex.map_err(|error| {
                let reason = error.to_string();
                Error::bad_argument(format!(
                    "The pattern {} is not a regular expression: {}.",
                    quote(pattern),
                    reason.trim_end_matches('.')
                ))
            })?;
            return Ok(Self::Backtracking(Backtracking { regex, ran_away: AtomicBool::new(false) }));
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

    /// The refusal of a pattern that took too many steps in some line.
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

impl Matcher for Backtracking {
    type Captures = NoCaptures;
    type Error = String;

    fn find_at(&self, line: &[u8], at: usize) -> std::result::Result<Option<Match>, String> {
        let text = String::from_utf8_lossy(line);
        let text = text.strip_suffix('\r').unwrap_or(&text);
        if self.ran_away.load(Ordering::Relaxed) || at > text.len() {
            return Ok(None);
        }
        match self.regex.find_from_pos(text, at) {
            Ok(found) => Ok(found.map(|found| Match::new(found.start().min(line.len()), found.end().min(line.len())))),
            Err(error) => {
                self.ran_away.store(true, Ordering::Relaxed);
                Err(error.to_string())
            }
        }
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
