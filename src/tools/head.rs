//! `head`: the first lines of a file.

use schemars::JsonSchema;
use serde::Deserialize;

use super::arguments::{lenient_number, lenient_text};
use super::{Call, Output, Session, read_file};
use crate::error::{Error, Result};

/// Lines shown when no number is given, as head(1) does.
pub const DEFAULT_LINES: usize = 10;

/// What to read.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// As for read_file
    pub path: String,
    /// 10 if left out
    #[serde(default, deserialize_with = "lenient_number")]
    pub lines: Option<usize>,
    /// As for read_file
    #[serde(default, deserialize_with = "lenient_text")]
    pub context_focus_question: Option<String>,
}

/// Reads the first lines of a file.
///
/// # Errors
/// As [`read_file::run`], and a number of lines that is 0.
pub fn run(session: &Session, request: &Request, call: &Call<'_>) -> Result<Output> {
    let lines = request.lines.unwrap_or(DEFAULT_LINES);
    if lines == 0 {
        return Err(Error::bad_argument("lines is 0; ask for at least one line."));
    }
    let read = read_file::Request {
        end_line: Some(lines),
        context_focus_question: request.context_focus_question.clone(),
        ..read_file::Request::new(&request.path)
    };
    read_file::run(session, &read, call)
}
