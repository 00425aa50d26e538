//! What every client's results go through: what is wanted, whether anything may be left out, and what is.

use std::path::Path;

use super::event::{Hook, Of, Returned};
use super::memory::Notes;
use super::transcript::Told;
use super::{excerpt, question, rules};
use crate::tools::Output;

/// What takes the place of a result, and the question; none where it is to stay as it is.
pub fn pass(returned: &Returned<'_>, told: &Told, hook: &Hook<'_>) -> Option<(Output, String)> {
    let notes = Notes::of(&hook.memory, returned.session, "shown");
    if let Of::File(path, _) = returned.of
        && notes.has(&excerpt_of(path))
    {
        notes.once(&whole(path))?;
        return None;
    }
    let question = question::infer(told, returned.of)?;
    if !rules::may_be_pruned(returned, told, &notes) {
        return None;
    }
    let output = excerpt::prune(returned, &question, (hook.session)()?, &hook.memory.join("outputs"))?;
    if let Of::File(path, _) = returned.of {
        notes.once(&excerpt_of(path))?;
    }
    Some((output, question.as_str().to_owned()))
}

/// Why a file is not to be written, if the agent has seen only an excerpt of it: what was left out would be lost.
pub fn would_lose(path: &str, session: &str, hook: &Hook<'_>) -> Option<String> {
    let notes = Notes::of(&hook.memory, session, "shown");
    let in_part = notes.has(&excerpt_of(path)) && !notes.has(&whole(path)) && Path::new(path).exists();
    in_part.then(|| {
        format!("You have seen only an excerpt of {path}, and writing it would lose the rest. Read it again, which shows all of it, or edit it in place.")
    })
}

fn excerpt_of(path: &str) -> String {
    format!("excerpt {path}")
}

fn whole(path: &str) -> String {
    format!("whole {path}")
}
