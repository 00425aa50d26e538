//! What Claude Code tells its hooks, and what it takes from them.

use serde::Deserialize;
use serde_json::{Value, json};

use super::command::output_of;
use super::event::{Answer, Event, Hook, Of, Returned, deny};
use super::pass::{chosen, pass, would_lose};
use super::steer;
use super::told::{Told, end_with};

/// How lines of a file are read, and all of it.
const READS: &str = "Read with offset and limit shows them, or with limit 100000 all of it"; // the same call again is answered without the text

/// Answers an event; nothing is said where things are to stay as they are.
pub fn answer(event: &str, hook: &Hook<'_>) -> Answer {
    let Ok(event) = serde_json::from_str::<Event>(event) else { return Answer::default() };
    match (event.hook_event_name.as_str(), event.tool_name.as_str()) {
        ("PreToolUse", "Write") => {
            Answer::only(would_lose(&event.path("file_path"), READS, &event.reader(), hook).map(|reason| deny(&reason)))
        }
        ("PreToolUse", _) => Answer::only(steer::answer(&event, hook)),
        ("PostToolUse", _) => after(&event, hook).unwrap_or_default(),
        _ => Answer::default(),
    }
}

/// What takes the place of a result.
fn after(event: &Event, hook: &Hook<'_>) -> Option<Answer> {
    let (input, response) = (&event.tool_input, &event.tool_response);
    let (text, of) = match event.tool_name.as_str() {
        "Read" if response["type"] == "text" => {
            let (file, path) = (&response["file"], event.path("file_path"));
            let is_all = file["startLine"] == 1 && file["numLines"] == file["totalLines"];
            if !is_all || !event.has_only(&["file_path"]) {
                let first = file["startLine"].as_u64().and_then(|first| usize::try_from(first).ok())?;
                return chosen(&path, first, file["content"].as_str()?, is_all, &event.reader(), hook);
            }
            (&file["content"], Of::File(path, READS))
        }
        "Grep" if response["mode"] == "content" => (&response["content"], Of::Search(event.input("pattern").to_owned())),
        "Bash" if response["isImage"] != true && response["interrupted"] != true && input["run_in_background"] != true => {
            (&response["stdout"], output_of(event.input("command"), event.input("description"), &event.cwd)?)
        }
        _ => return None,
    };
    let told = || {
        let record = end_with(event.transcript_path.as_ref()?, |record| record.contains(&event.tool_use_id)).ok()?;
        told(&record, &event.tool_use_id)
    };
    let noted = pass(&Returned { session: &event.reader(), of, text: text.as_str()? }, told, hook)?;
    let replaced = |text: &str| {
        let mut replaced = response.clone();
        match event.tool_name.as_str() {
            // In the shape of a notebook, as before lines of a text it puts numbers, which would not be the file's.
            "Read" => {
                let cell = json!({ "cellType": "markdown", "source": text, "cell_id": "excerpt" });
                replaced = json!({ "type": "notebook", "file": { "filePath": response["file"]["filePath"], "cells": [cell] } });
            }
            "Grep" => {
                replaced["numLines"] = json!(text.lines().count());
                replaced["content"] = json!(text);
            }
            _ => replaced["stdout"] = json!(text),
        }
        json!({ "hookSpecificOutput": { "hookEventName": "PostToolUse", "updatedToolOutput": replaced } })
    };
    Some(Answer::with(noted, replaced))
}

/// A line of the record, as far as it matters.
#[derive(Deserialize)]
struct Entry {
    r#type: String,
    message: Option<Message>,
    #[serde(default, rename = "isMeta")]
    is_meta: bool,
}

#[derive(Deserialize)]
struct Message {
    content: Value,
}

/// What the lines of a record tell, up to the call with this id; none where that is not there, as a call of another agent is not.
fn told(record: &str, id: &str) -> Option<Told> {
    let mut told = Told::default();
    let mut is_over = false; // whether a result or the user has spoken since
    for line in record.lines() {
        let Ok(Entry { r#type, message: Some(message), is_meta: false }) = serde_json::from_str(line) else { continue };
        let items = match message.content {
            Value::String(text) => vec![json!({ "type": "text", "text": text })],
            Value::Array(items) => items,
            _ => continue,
        };
        for item in &items {
            let text = |key: &str| item[key].as_str().unwrap_or_default();
            match item["type"].as_str().unwrap_or_default() {
                "tool_result" => is_over = true,
                "text" if r#type == "user" => {
                    told.asks(text("text"));
                    is_over = true;
                }
                kind @ ("text" | "thinking" | "tool_use") if r#type == "assistant" => {
                    if std::mem::take(&mut is_over) {
                        told.goes_on();
                    }
                    match kind {
                        "text" => told.says(text("text")),
                        "thinking" => told.thinks(text("thinking")),
                        _ if item["id"] == id => return Some(told),
                        _ => told.calls(text("name"), &item["input"]),
                    }
                }
                _ => {}
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_last_counts() {
        let said = |text: &str| json!({ "type": "assistant", "message": { "content": [{ "type": "text", "text": text }] } });
        let call = |id: &str| json!({ "type": "assistant", "message": { "content": [{ "type": "tool_use", "id": id, "name": "Read", "input": { "file_path": id } }] } });
        let result = json!({ "type": "user", "message": { "content": [{ "type": "tool_result", "tool_use_id": "x", "content": "…" }] } });
        let asked = json!({ "type": "user", "message": { "content": "Why is it slow?" } });
        let put_in = json!({ "type": "user", "message": { "content": "<system-reminder>be kind</system-reminder>" } });
        let lines = [
            asked,
            put_in,
            said("Let me look."),
            call("a"),
            result.clone(),
            said("Now the cache."),
            call("b"),
            call("c"),
            result.clone(),
            result,
            call("d"),
        ];
        let record = lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        let told = |id: &str| super::told(&record, id).expect("the call is there");
        let first = told("a");
        assert_eq!((first.request.as_str(), first.said.as_str(), first.calls.len()), ("Why is it slow?", "Let me look.", 0));
        let third = told("c");
        assert_eq!((third.said.as_str(), third.said_before.as_str(), third.calls.len()), ("Now the cache.", "Let me look.", 2));
        let silent = told("d");
        assert_eq!((silent.said.as_str(), silent.said_before.as_str()), ("", "Now the cache."));
        assert_eq!([super::told("no JSON\n", "a"), super::told(&record, "e")], [None, None]);
    }
}
