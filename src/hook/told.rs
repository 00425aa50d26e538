//! What led to a call, as the records that clients keep of their sessions tell it: each client's file knows how its own is written.

use std::io::{self, Read as _, Seek, SeekFrom};
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::regular;

/// Bytes of a record that are read, from its end.
const RECORD: u64 = 4_000_000;

/// How late a call may be in its record, and how often it is looked for.
const LATE: Duration = Duration::from_millis(150);
const GLANCE: Duration = Duration::from_millis(10);

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Called {
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub input: Value,
}

/// What was said and done before a call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Told {
    /// What the user asked for last.
    pub request: String,
    /// What the agent said right before the call.
    pub said: String,
    /// What it thought right before.
    pub thought: String,
    /// What it said before that, if it was not silent.
    pub said_before: String,
    /// The calls before, in order.
    pub calls: Vec<Called>,
}

impl Told {
    /// The user asks for something. What clients put in themselves begins with an angle bracket.
    pub fn asks(&mut self, request: &str) {
        let request = request.trim();
        if !request.is_empty() && !request.starts_with('<') {
            *self = Self { request: request.to_owned(), calls: std::mem::take(&mut self.calls), ..Self::default() };
        }
    }

    /// The agent begins to speak again, after a result.
    pub fn goes_on(&mut self) {
        if !self.said.is_empty() {
            self.said_before = std::mem::take(&mut self.said);
        }
        self.thought.clear();
    }

    /// The agent says something.
    pub fn says(&mut self, text: &str) {
        add(&mut self.said, text);
    }

    /// The agent thinks something.
    pub fn thinks(&mut self, text: &str) {
        add(&mut self.thought, text);
    }

    /// The agent calls a tool.
    pub fn calls(&mut self, tool: &str, input: &Value) {
        self.calls.push(Called { tool: tool.to_owned(), input: input.clone() });
    }
}

fn add(to: &mut String, text: &str) {
    let text = text.trim();
    if !to.is_empty() && !text.is_empty() {
        to.push('\n');
    }
    to.push_str(text);
}

/// The last [`RECORD`] bytes of a regular file, from the beginning of a line.
///
/// # Errors
/// A file that cannot be read, or is none.
pub fn end_of(path: &Path) -> io::Result<String> {
    let mut file = regular::open(path)?.ok_or(io::ErrorKind::InvalidInput)?;
    let from = file.metadata()?.len().saturating_sub(RECORD);
    file.seek(SeekFrom::Start(from))?;
    let mut end = Vec::new();
    file.take(RECORD).read_to_end(&mut end)?;
    let start = if from == 0 { 0 } else { memchr::memchr(b'\n', &end).map_or(end.len(), |newline| newline + 1) };
    Ok(String::from_utf8_lossy(&end[start..]).into_owned())
}

/// The same of a record that is written a little after the call: once it has the call, or as it is when that takes too long.
///
/// # Errors
/// As [`end_of`].
pub fn end_with(path: &Path, has_call: impl Fn(&str) -> bool) -> io::Result<String> {
    let until = Instant::now() + LATE;
    loop {
        match end_of(path) {
            Ok(record) if has_call(&record) || Instant::now() > until => return Ok(record),
            Err(error) if error.kind() != io::ErrorKind::NotFound || Instant::now() > until => return Err(error),
            _ => std::thread::sleep(GLANCE),
        }
    }
}
