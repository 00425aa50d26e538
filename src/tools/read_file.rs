//! `read_file`: a text file, or lines of it, whole or pruned to a question.

use schemars::JsonSchema;
use serde::Deserialize;

use super::arguments::{lenient_flag, lenient_number, lenient_text};
use super::{Call, Output, Session, question};
use crate::error::Result;
use crate::workspace::text;

/// What to read.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Relative to the root, or absolute inside it
    pub path: String,
    /// First line, from 1
    #[serde(default, deserialize_with = "lenient_number")]
    pub start_line: Option<usize>,
    /// Last line, inclusive
    #[serde(default, deserialize_with = "lenient_number")]
    pub end_line: Option<usize>,
    /// Begin each line with its number
    #[serde(default, deserialize_with = "lenient_flag")]
    pub line_numbers: Option<bool>,
    /// A complete question that this read should answer, then 4 to 8 other words its code may use: "Where is the retry delay capped? (backoff, sleep, max)". Leave out for the exact text
    #[serde(default, deserialize_with = "lenient_text")]
    pub context_focus_question: Option<String>,
}

impl Request {
    /// A whole file.
    pub fn new(path: &str) -> Self {
        Self { path: path.to_owned(), ..Self::default() }
    }
}

/// Reads a file.
///
/// # Errors
/// Anything about the path, the file, the range or the question that cannot be served, in one sentence.
pub fn run(session: &Session, request: &Request, call: &Call<'_>) -> Result<Output> {
    let question = question(request.context_focus_question.as_ref())?;
    let open = session.workspace.open_file(&request.path)?;
    let name = open.shown.clone();
    let excerpt = text::read(open, request.start_line, request.end_line, &call.cancel)?;
    let numbered = request.line_numbers.unwrap_or(false);
    let output = session.show(&name, &excerpt, question.as_ref(), numbered, session.read_back(), &call.cancel)?;
    session.remember(&name, excerpt.total == Some(excerpt.text.len()) && output.text == excerpt.text.as_str());
    Ok(output)
}
