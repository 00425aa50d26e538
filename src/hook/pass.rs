//! What every client's results go through: what is wanted, whether anything may be left out, and what is.

use std::path::Path;

use super::event::{Answer, Hook, Noted, Of, Returned};
use super::memory::Notes;
use super::rules::{is_large, may_be_pruned};
use super::told::Told;
use super::{excerpt, question};
use crate::tools::Output;
use crate::tools::passing::seen;
use crate::workspace::given::{lexical, one_name};

/// What takes the place of a result, or is read again after an excerpt; none where a result is to stay as it is, and is not of interest.
pub fn pass(returned: &Returned<'_>, told: impl FnOnce() -> Option<Told>, hook: &Hook<'_>) -> Option<Noted> {
    let noted = |output: Output, question: Option<String>| Noted { session: returned.session.to_owned(), output, question };
    let notes = Notes::of(&hook.memory, returned.session, "shown");
    match &returned.of {
        Of::File(path, _) if notes.has(&excerpt_of(path)) => {
            notes.once(&whole(path))?;
            return Some(noted(seen(path, 1, returned.text), None));
        }
        _ if !is_large(returned.text) => return None,
        _ => {}
    }
    let told = told()?;
    let question = question::infer(&told, &returned.of)?;
    if !may_be_pruned(returned, &told, &notes) {
        return None;
    }
    let output = excerpt::prune(returned, &question, (hook.session)()?, &hook.memory.join("outputs"))?;
    if let Of::File(path, _) = &returned.of {
        notes.once(&excerpt_of(path))?;
    }
    Some(noted(output, Some(question.as_str().to_owned())))
}

/// Lines of a file that the agent chose, all of them or not, come as they are, from the line `first`; after an excerpt of it they are of interest to the ledger.
pub fn chosen(path: &str, first: usize, text: &str, is_all: bool, session: &str, hook: &Hook<'_>) -> Option<Answer> {
    let notes = Notes::of(&hook.memory, session, "shown");
    let is_known = notes.has(&excerpt_of(path));
    if is_known && is_all {
        let _ = notes.once(&whole(path)); // it may be noted already
    }
    is_known.then(|| Answer {
        said: String::new(),
        noted: Some(Noted { session: session.to_owned(), output: seen(path, first, text), question: None }),
    })
}

/// Why a file is not to be written, if the agent has seen only an excerpt of it: what was left out would be lost. `reads` says how it is read.
pub fn would_lose(path: &str, reads: &str, session: &str, hook: &Hook<'_>) -> Option<String> {
    let notes = Notes::of(&hook.memory, session, "shown");
    let in_part = notes.has(&excerpt_of(path)) && !notes.has(&whole(path)) && lexical(path, Path::new("")).exists();
    in_part.then(|| {
        format!("You have seen only an excerpt of {path}, and writing it would lose the rest. Read all of it first ({reads}), or edit it in place.")
    })
}

fn excerpt_of(path: &str) -> String {
    format!("excerpt {}", one_name(path))
}

fn whole(path: &str) -> String {
    format!("whole {}", one_name(path))
}
