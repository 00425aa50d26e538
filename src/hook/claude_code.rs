//! What Claude Code tells its hooks, and what it takes from them.

use serde_json::{Value, json};

use super::event::{Answer, Event, Hook, Of, Returned, deny};
use super::pass::{pass, would_lose};
use super::rules::is_large;
use super::{steer, transcript};

/// How lines of a file are read, and all of it.
const READS: &str = "Read with offset and limit shows them, Read again all of it";

/// Answers an event; nothing is said where things are to stay as they are.
pub fn answer(event: &str, hook: &Hook<'_>) -> Answer {
    let Ok(event) = serde_json::from_str::<Event>(event) else { return Answer::default() };
    match (event.hook_event_name.as_str(), event.tool_name.as_str()) {
        ("PreToolUse", "Write") => {
            let reason = event.tool_input["file_path"].as_str().and_then(|path| would_lose(path, &event.session_id, hook));
            Answer::only(reason.map(|reason| deny(&reason)))
        }
        ("PreToolUse", _) => Answer::only(steer::answer(&event, hook)),
        ("PostToolUse", _) => after(&event, hook).unwrap_or_default(),
        _ => Answer::default(),
    }
}

/// What takes the place of a result.
fn after(event: &Event, hook: &Hook<'_>) -> Option<Answer> {
    let (input, response) = (&event.tool_input, &event.tool_response);
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let file_path = text(&input["file_path"]).unwrap_or_default();
    let (content, of) = match event.tool_name.as_str() {
        "Read" if ["offset", "limit", "pages"].iter().all(|key| input[key].is_null()) => {
            let file = &response["file"];
            let is_whole = file["startLine"] == 1 && file["numLines"] == file["totalLines"];
            let content = text(&file["content"]).filter(|_| response["type"] == "text" && is_whole)?;
            (content, Of::File(&file_path, READS))
        }
        "Grep" if response["mode"] == "content" => (text(&response["content"])?, Of::Search(input["pattern"].as_str()?)),
        "Bash" if response["isImage"] != true && response["interrupted"] != true && input["run_in_background"] != true => {
            let command = input["command"].as_str()?;
            (text(&response["stdout"])?, Of::Command(command, input["description"].as_str().unwrap_or_default()))
        }
        _ => return None,
    };
    if !is_large(&content) {
        return None; // before the record is waited for
    }
    let told = transcript::of_claude_code(event.transcript_path.as_ref()?, &event.tool_use_id).ok()?;
    let (output, question) = pass(&Returned { session: &event.session_id, of, text: &content }, &told, hook)?;
    let mut replaced = response.clone();
    match event.tool_name.as_str() {
        // In the shape of a notebook, as before lines of a text it puts numbers, which would not be the file's.
        "Read" => {
            let cell = json!({ "cellType": "markdown", "source": output.text, "cell_id": "excerpt" });
            replaced = json!({ "type": "notebook", "file": { "filePath": response["file"]["filePath"], "cells": [cell] } });
        }
        "Grep" => {
            replaced["numLines"] = json!(output.text.lines().count());
            replaced["content"] = json!(output.text);
        }
        _ => replaced["stdout"] = json!(output.text),
    }
    let said = json!({ "hookSpecificOutput": { "hookEventName": "PostToolUse", "updatedToolOutput": replaced } }).to_string();
    Some(Answer { said, pruned: Some((output, question)) })
}
