//! What Copilot CLI tells its hook after a tool, and what it takes from it: a result in the place of its own.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Value, json};

use super::command::output_of;
use super::event::{Answer, Event, Hook, Of, Returned};
use super::pass::{chosen, pass};
use super::told::{Told, end_with};

/// How lines of a file are read, and all of it.
const READS: &str = "view with view_range shows them, view again all of it";

/// Answers an event; nothing is said where things are to stay as they are. Its tool that writes whole files writes none that is there, so
/// that nothing can be lost by it.
pub fn answer(event: &str, hook: &Hook<'_>) -> Answer {
    let Ok(event) = serde_json::from_str::<Event>(event) else { return Answer::default() };
    after(&event, hook).unwrap_or_default()
}

/// What takes the place of a result.
fn after(event: &Event, hook: &Hook<'_>) -> Option<Answer> {
    let response = &event.tool_response;
    let text = response["textResultForLlm"].as_str().filter(|_| response["resultType"] == "success")?;
    let of = match event.tool_name.as_str() {
        "view" if event.has_only(&["path"]) => Of::File(event.path("path"), READS),
        "view" => {
            let first = event.tool_input["view_range"][0].as_u64()?.try_into().ok()?;
            return chosen(&event.path("path"), first, text, false, &event.reader(), hook);
        }
        "grep" => Of::Search(event.input("pattern").to_owned()),
        "bash" => output_of(event.input("command"), event.input("description"), &event.cwd)?,
        _ => return None,
    };
    let own = |told: &Told| told.calls.iter().rposition(|call| call.tool == event.tool_name && call.input == event.tool_input);
    let told = || {
        let record = end_with(&record(&event.session_id, hook)?, |record| own(&told(record)).is_some()).ok()?;
        let mut told = told(&record);
        own(&told).map(|own| told.calls.remove(own));
        Some(told)
    };
    let noted = pass(&Returned { session: &event.reader(), of, text }, told, hook)?;
    Some(Answer::with(noted, |text| json!({ "modifiedResult": { "resultType": "success", "textResultForLlm": text } })))
}

/// Where a session is recorded: the hook is not told.
fn record(session: &str, hook: &Hook<'_>) -> Option<PathBuf> {
    let is_name = session.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    let home = std::env::var_os("COPILOT_HOME").map_or_else(|| hook.home.join(".copilot"), PathBuf::from);
    is_name.then(|| home.join("session-state").join(session).join("events.jsonl"))
}

/// A line of the record.
#[derive(Deserialize)]
struct Line {
    r#type: String,
    data: Value,
}

fn told(record: &str) -> Told {
    let mut told = Told::default();
    for Line { r#type, data } in record.lines().filter_map(|line| serde_json::from_str(line).ok()) {
        let text = |key: &str| data[key].as_str().unwrap_or_default();
        match r#type.as_str() {
            "user.message" => told.asks(text("content")),
            "assistant.message" => {
                told.goes_on();
                told.thinks(text("reasoningText"));
                told.says(text("content"));
            }
            "tool.execution_start" => told.calls(text("toolName"), &data["arguments"]),
            _ => {}
        }
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_and_done() {
        let line = |kind: &str, data: Value| json!({ "type": kind, "data": data });
        let call = |path: &str| line("tool.execution_start", json!({ "toolName": "view", "arguments": { "path": path } }));
        let lines = [
            line("user.message", json!({ "content": "Why is it slow?" })),
            line("assistant.message", json!({ "content": "Let me look." })),
            call("/a"),
            line("tool.execution_complete", json!({ "success": true })),
            line("assistant.message", json!({ "content": "", "reasoningText": "It may be the cache." })),
            call("/b"),
        ];
        let told = told(&lines.iter().map(|line| format!("{line}\n")).collect::<String>());
        assert_eq!((told.request.as_str(), told.said_before.as_str(), told.said.as_str()), ("Why is it slow?", "Let me look.", ""));
        assert_eq!((told.thought.as_str(), told.calls.len()), ("It may be the cache.", 2));
    }
}
