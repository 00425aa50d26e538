//! Stops Claude Code's own Read of a large file, or a Grep with much output, once, and names the tool that would have cost less.
//!
//! It never stops the same call twice in a session, nor a Read with a range, nor one of a file that codeskim has shown already, as that is what
//! comes before an edit. Whatever goes wrong, the call goes on.

use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::event::{Event, Hook, deny};
use super::memory::Notes;
use super::told::end_of;
use crate::tools::{Call, Options, Session, grep};
use crate::workspace::text::read;

/// Files of fewer lines are read as they are.
const LARGE_FILE: usize = 400;
/// Searches with less output are left alone, in characters.
const LARGE_OUTPUT: usize = 12_000;
/// A search that takes longer than this to measure is left alone.
const PATIENCE: Duration = Duration::from_secs(2);

/// Arguments of Read and of Grep.
#[derive(Deserialize)]
struct Input {
    file_path: Option<String>,
    offset: Option<serde_json::Value>,
    limit: Option<serde_json::Value>,
    pages: Option<serde_json::Value>,
    pattern: Option<String>,
    path: Option<String>,
    glob: Option<String>,
    output_mode: Option<String>,
    head_limit: Option<u64>,
    #[serde(rename = "-i")]
    ignore_case: Option<bool>,
    #[serde(rename = "-C")]
    context: Option<usize>,
    r#type: Option<String>,
}

/// The answer to an event, if the call is to be stopped.
pub fn answer(event: &Event, hook: &Hook<'_>) -> Option<String> {
    let roots = if hook.roots.is_empty() { std::slice::from_ref(&event.cwd) } else { hook.roots };
    let input = serde_json::from_value(event.tool_input.clone()).ok()?;
    let (what, reason) = match event.tool_name.as_str() {
        "Read" => large_file(event, &input, roots)?,
        "Grep" => large_output(event, &input, roots)?,
        _ => return None,
    };
    Notes::of(&hook.memory, &event.session_id, "stopped").once(&what)?;
    Some(deny(&reason))
}

fn session(roots: &[PathBuf]) -> Option<Session> {
    Session::new(roots, Options { shared: true, ..Options::default() }).ok()
}

/// What is read and why it should not be, if it is the whole of a large file.
fn large_file(event: &Event, input: &Input, roots: &[PathBuf]) -> Option<(String, String)> {
    if input.offset.is_some() || input.limit.is_some() || input.pages.is_some() {
        return None;
    }
    let path = input.file_path.as_deref()?;
    let open = session(roots)?.workspace.open_file(path).ok()?;
    let shown = open.shown.clone();
    let lines = read(open, None, None, &CancellationToken::new()).ok()?.text.len();
    if lines < LARGE_FILE || was_shown(event, path, &shown) {
        return None;
    }
    let reason = format!(
        "{shown} has {lines} lines. mcp__codeskim__read_file with a context_focus_question returns only the lines that answer it, for a fraction of the tokens. \
         If you need all of it, or are about to edit it, call Read again: it will not be stopped."
    );
    Some((format!("Read {path}"), reason))
}

/// The same of a search that prints much.
fn large_output(event: &Event, input: &Input, roots: &[PathBuf]) -> Option<(String, String)> {
    if input.output_mode.as_deref() != Some("content") || input.head_limit.is_some_and(|most| most > 0) || input.r#type.is_some() {
        return None; // little is printed, or of files that are not told apart here
    }
    let path = event.cwd.join(input.path.as_deref().unwrap_or_default());
    let request = grep::Request {
        pattern: input.pattern.clone()?,
        path: Some(path.to_str()?.to_owned()),
        glob: input.glob.iter().cloned().collect(),
        context: input.context,
        ignore_case: input.ignore_case,
        ..grep::Request::default()
    };
    let call = Call::default();
    let (cancel, session) = (call.cancel.clone(), session(roots)?);
    std::thread::spawn(move || {
        std::thread::sleep(PATIENCE);
        cancel.cancel();
    });
    let found = grep::run(&session, &request, &call).ok()?;
    if found.text.chars().count() < LARGE_OUTPUT {
        return None;
    }
    let reason = "This search prints a lot. mcp__codeskim__grep with a context_focus_question returns only the matches that answer it, and says what it left out. \
                  If you need all of them, call Grep again: it will not be stopped.";
    Some((format!("Grep {} {}", request.pattern, path.display()), reason.to_owned()))
}

/// Whether codeskim has read the file in this session.
fn was_shown(event: &Event, path: &str, shown: &str) -> bool {
    let record = event.transcript_path.as_ref().and_then(|path| end_of(path).ok()).unwrap_or_default();
    let called = [path.to_owned(), shown.to_owned(), format!("./{shown}"), event.cwd.join(shown).display().to_string()];
    let called = called.map(|path| json!(path).to_string());
    let is_reading = |line: &str| ["mcp__codeskim__read_file", "mcp__codeskim__head"].iter().any(|tool| line.contains(tool));
    record.lines().any(|line| is_reading(line) && called.iter().any(|path| line.contains(path)))
}
