//! `codeskim prune`: any text, pruned to a question. For pipes; the server does not offer it.
//!
//! What comes through a pipe cannot be read again, so nothing is refused for what it is: bytes that are not text are replaced, and of an
//! endless text the end stays, where a log tells what went wrong.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read};

use super::{Call, Output, Session};
use crate::error::{Error, Result, one_line};
use crate::prune::FocusQuestion;
use crate::prune::render::ReadBack;
use crate::skim::LONGEST_SKIMMED;
use crate::workspace::text::{Excerpt, LARGEST, decode_anything};

/// A text and what is asked of it.
#[derive(Debug, Clone)]
pub struct Request<R> {
    /// What the text is, for the header and, by its ending, the language.
    pub name: String,
    /// Where it comes from.
    pub input: R,
    /// The question.
    pub focus: String,
}

/// Prunes a text.
///
/// # Errors
/// A question that cannot be one, before anything is read, or an input that fails.
pub fn run<R: Read>(session: &Session, request: Request<R>, call: &Call<'_>) -> Result<Output> {
    let question = FocusQuestion::new(&request.focus)?;
    let (bytes, dropped) = last_lines(request.input)
        .map_err(|error| Error::failed(format!("Standard input could not be read ({error}); pipe the text again.")))?;
    let text = decode_anything(bytes);
    let too_many = text.len().saturating_sub(LONGEST_SKIMMED);
    let total = Some(dropped + text.len());
    let text = if too_many == 0 { text } else { text.part(too_many..text.len()) };
    let excerpt = Session::asked_of(&request.name, Excerpt { text, first: dropped + too_many, whole: None, total, instead_of: None });
    let content = text_hash(excerpt.text.as_str());
    let all = "a saved copy (tee) has all of it";
    let read_back = ReadBack { gap: "sed -n A,Bp on a saved copy (tee) shows them", line: all, only_line: all };
    let mut output = session.show(&one_line(&request.name), &excerpt, Some(&question), false, read_back, &call.cancel)?;
    for part in output.account.iter_mut().flat_map(|account| &mut account.parts) {
        part.of = format!("pipe {content:016x}"); // the same text again is no other
    }
    Ok(output)
}

/// A text in a number, to tell it from others.
pub fn text_hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// The last lines of a text, at most [`LARGEST`] bytes of them, and how many came before.
fn last_lines(mut input: impl Read) -> io::Result<(Vec<u8>, usize)> {
    let (mut kept, mut dropped) = (Vec::new(), 0);
    loop {
        let read = input.by_ref().take(LARGEST).read_to_end(&mut kept)?;
        if let Some(surplus) = kept.len().checked_sub(LARGEST as usize).filter(|surplus| *surplus > 0) {
            let line_end = memchr::memchr(b'\n', &kept[surplus - 1..]).map(|newline| surplus + newline);
            let end = line_end.filter(|end| *end < kept.len()).unwrap_or(surplus);
            dropped += memchr::memchr_iter(b'\n', &kept[..end]).count();
            kept.drain(..end);
        }
        if read == 0 {
            return Ok((kept, dropped));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_an_endless_text_the_last_lines_stay() {
        let line = |i: usize| format!("{i:>99}\n").into_bytes();
        let all: Vec<u8> = (0..250_000).flat_map(line).collect();
        let (kept, dropped) = last_lines(all.as_slice()).expect("read");
        assert_eq!((kept.len(), dropped), (LARGEST as usize, 150_000));
        assert!(kept.starts_with(&line(150_000)) && kept.ends_with(&line(249_999)));
        let (kept, dropped) = last_lines(&all[..1_000]).expect("read");
        assert_eq!((kept.len(), dropped), (1_000, 0));
        let (kept, dropped) = last_lines(io::repeat(b'x').take(2 * LARGEST + 5)).expect("read");
        assert_eq!((kept.len(), dropped), (LARGEST as usize, 0));
    }
}
