//! Whether anything of a result may be left out at all.

use std::path::Path;

use super::command::touches;
use super::event::{Of, Returned};
use super::memory::Notes;
use super::told::{Called, Told};
use crate::tools::prune::text_hash;
use crate::workspace::given::{lexical, one_name};

/// Results of fewer lines stay as they are.
pub const LARGE: usize = 150;
/// What is said of a file that is about to be changed.
const CHANGES: [&str; 22] = [
    "add",
    "adjust",
    "apply",
    "change",
    "delete",
    "drop",
    "edit",
    "extend",
    "fix",
    "implement",
    "insert",
    "make the change",
    "modify",
    "move",
    "patch",
    "refactor",
    "remove",
    "rename",
    "replace",
    "rewrite",
    "update",
    "write",
];
const INTENTS: [&str; 9] = ["i'll", "i will", "let me", "let's", "now", "going to", "i can", "ready to", "time to"];
/// Tools that show or change a file, of all clients.
const OF_FILES: [&str; 13] =
    ["Read", "Edit", "MultiEdit", "Write", "NotebookEdit", "read_file", "replace", "edit", "write_file", "view", "create", "read", "write"];

/// Whether a result is so large that something may be left out.
pub fn is_large(text: &str) -> bool {
    text.lines().nth(LARGE - 1).is_some()
}

/// Whether a large result may be pruned: the agent sees it for the first time and is not about to change it.
pub fn may_be_pruned(returned: &Returned<'_>, told: &Told, notes: &Notes) -> bool {
    let (what, is_known) = match &returned.of {
        Of::File(path, _) => (format!("file {}", one_name(path)), is_about_to_change(&told.said) || was_used(told, path)),
        Of::Search(_) => (format!("search {:016x}", text_hash(returned.text)), false),
        Of::Command(..) => (format!("command {:016x}", text_hash(returned.text)), false),
    };
    // What is read a second time is wanted whole; what could not be noted would be pruned each time.
    notes.once(&what).is_some() && !is_known
}

/// Whether a file was read, changed or written before in this session.
fn was_used(told: &Told, path: &str) -> bool {
    let (name, path) = (one_name(path), lexical(path, Path::new("")));
    // Some clients take a path relative to their directory, and the same one absolute.
    let is_same = |value: &str| {
        let plain = lexical(value, Path::new(""));
        one_name(value) == name || plain.is_relative() && plain.file_name().is_some() && path.ends_with(plain)
    };
    let is_it = |called: &Called| {
        let values = called.input.as_object().into_iter().flatten().filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)));
        values.into_iter().any(|(key, value)| match key {
            "file_path" | "path" | "filePath" | "absolute_path" | "notebook_path" => {
                is_same(value) && OF_FILES.contains(&called.tool.as_str())
            }
            "command" | "cmd" | "input" => touches(value, &path),
            _ => false,
        })
    };
    told.calls.iter().any(is_it)
}

/// Whether the agent says that it changes something next.
fn is_about_to_change(said: &str) -> bool {
    let said = said.to_lowercase().replace('’', "'");
    let begins = |clause: &str, at: usize| !clause[..at].ends_with(char::is_alphanumeric);
    let after = |clause: &str, intent: &str| {
        let places = clause.match_indices(intent).filter(|(at, _)| begins(clause, *at));
        places.map(|(at, _)| clause[at + intent.len()..].to_owned()).collect::<Vec<_>>()
    };
    let clauses = said.split(['.', '!', '?', ';', '\n']);
    clauses.flat_map(|clause| INTENTS.iter().flat_map(move |intent| after(clause, intent))).any(|rest| {
        let first =
            rest.trim_start_matches([',', ' ']).trim_start_matches("now ").trim_start_matches("just ").trim_start_matches("go ahead and ");
        CHANGES.iter().any(|change| first.strip_prefix(change).is_some_and(|after| !after.starts_with(|c: char| c.is_alphanumeric())))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_about_to_be_changed_is_told() {
        for said in [
            "Now let me add the option to the parser.",
            "I'll fix this in the reader.",
            "I’ll fix this in the reader.",
            "Let me read the parser so I can edit it.",
            "Good. Now, update the cache:",
        ] {
            assert!(is_about_to_change(said), "{said}");
        }
        for said in [
            "Let me look at how fixes are applied.",
            "I'll read the file that adds options.",
            "We know add is slow.",
            "Where is the change made?",
            "",
        ] {
            assert!(!is_about_to_change(said), "{said}");
        }
    }
}
