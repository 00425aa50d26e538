//! `codeskim prune`: any text, pruned to a question. For pipes; the server does not offer it.

use super::{Call, Output, Session};
use crate::error::{Error, Result, quote};
use crate::prune::FocusQuestion;
use crate::workspace::text::{Excerpt, decode};

/// A text and what is asked of it.
#[derive(Debug, Clone)]
pub struct Request {
    /// What the text is, for the header and, by its ending, the language.
    pub name: String,
    /// The text.
    pub bytes: Vec<u8>,
    /// The question.
    pub focus: String,
}

/// Prunes a text.
///
/// # Errors
/// Bytes that are not text, or a question that cannot be one.
pub fn run(session: &Session, request: Request, call: &Call<'_>) -> Result<Output> {
    let question = FocusQuestion::new(&request.focus)?;
    let bytes = request.bytes.len() as u64;
    let text = decode(request.bytes).ok_or_else(|| Error::Binary { path: quote(&request.name), bytes })?;
    let excerpt = Excerpt { total: text.len(), text, first: 0 };
    session.show(&request.name, &excerpt, Some(&question), "sed -n A,Bp on a saved copy (tee) shows them", &call.cancel)
}
