//! What Codex tells its hooks, and what it takes from them: the reason of a blocked result takes its place. It reads and searches by commands.

use serde::Deserialize;
use serde_json::{Value, json};

use super::command::{READS, output_of, patched};
use super::event::{Answer, Event, Hook, Of, Returned, deny};
use super::pass::{pass, would_lose};
use super::told::{Told, end_of};

/// Answers an event; nothing is said where things are to stay as they are.
pub fn answer(event: &str, hook: &Hook<'_>) -> Answer {
    let Ok(event) = serde_json::from_str::<Event>(event) else { return Answer::default() };
    match (event.hook_event_name.as_str(), event.tool_name.as_str()) {
        ("PreToolUse", "apply_patch") => {
            let mut added = patched(event.input("command"), &["*** Add File: "]).map(|path| event.cwd.join(path).display().to_string());
            Answer::only(added.find_map(|path| would_lose(&path, READS, &event.reader(), hook)).map(|reason| deny(&reason)))
        }
        ("PostToolUse", "Bash") => after(&event, hook).unwrap_or_default(),
        _ => Answer::default(),
    }
}

/// What takes the place of a result. The hook is told the result as Codex has cut it, the record has all of it, and how the command ended.
fn after(event: &Event, hook: &Hook<'_>) -> Option<Answer> {
    let cut = event.tool_response.as_str()?;
    let of = output_of(event.input("command"), "", &event.cwd)?;
    let Record { told, ended } = Record::told(&end_of(event.transcript_path.as_deref()?).ok()?, &event.tool_use_id);
    let Ended { status, output } = ended?; // else it runs on
    let end = format!("Process exited with code {status}\n");
    // A file is what was printed and no more; where that failed it is something else.
    let (text, after) = match of {
        Of::File(..) if status != 0 => return None,
        Of::File(..) => (output, end.as_str()),
        _ => (format!("{}\n{end}", output.trim_end_matches('\n')), ""),
    };
    let noted = pass(&Returned { session: &event.reader(), of, text: &text }, || Some(told), hook)?;
    let is_less = noted.question.is_none() || noted.output.text.len() < cut.len();
    is_less.then(|| Answer::with(noted, |text| json!({ "decision": "block", "reason": format!("{text}{after}") })))
}

/// What the record of a session says up to a call, and of its command.
struct Record {
    told: Told,
    ended: Option<Ended>,
}

/// What a command printed, and how it ended.
#[derive(Debug, PartialEq, Eq, Deserialize)]
struct Ended {
    #[serde(rename = "exit_code")]
    status: i64,
    #[serde(rename = "aggregated_output")]
    output: String,
}

/// A line of the record.
#[derive(Deserialize)]
struct Line {
    r#type: String,
    payload: Value,
}

impl Record {
    fn told(record: &str, id: &str) -> Self {
        let (mut told, mut ended, mut is_over, mut is_there) = (Told::default(), None, false, false);
        for Line { r#type, payload } in record.lines().filter_map(|line| serde_json::from_str(line).ok()) {
            let text = |key: &str| payload[key].as_str().unwrap_or_default();
            let texts = |key: &str| {
                let parts = payload[key].as_array().into_iter().flatten().filter_map(|part| part["text"].as_str());
                parts.collect::<Vec<_>>().join("\n")
            };
            if r#type == "event_msg" && payload["item"]["id"] == id {
                ended = Ended::deserialize(&payload["item"]).ok().or(ended);
            }
            if r#type != "response_item" || is_there {
                continue;
            }
            let kind = text("type");
            if kind.ends_with("_output") {
                is_over = true;
            } else if (text("role") == "assistant" || kind != "message") && std::mem::take(&mut is_over) {
                told.goes_on();
            }
            match (kind, text("role")) {
                ("message", "user") => told.asks(&texts("content")),
                ("message", "assistant") => told.says(&texts("content")),
                ("reasoning", _) => told.thinks(&texts("summary")),
                ("function_call" | "custom_tool_call", _) if text("call_id") == id => is_there = true,
                ("function_call", _) => told.calls(text("name"), &serde_json::from_str(text("arguments")).unwrap_or_default()),
                ("custom_tool_call", _) => told.calls(text("name"), &json!({ "input": text("input") })),
                _ => {}
            }
        }
        Self { told, ended }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_and_how_it_ended() {
        let item = |payload: Value| json!({ "type": "response_item", "payload": payload });
        let message =
            |role: &str, text: &str| item(json!({ "type": "message", "role": role, "content": [{ "type": "text", "text": text }] }));
        let call =
            |id: &str| item(json!({ "type": "function_call", "name": "exec_command", "arguments": "{\"cmd\": \"ls\"}", "call_id": id }));
        let ended = json!({ "type": "event_msg", "payload": { "type": "item_completed", "item": { "id": "b", "exit_code": 3, "aggregated_output": "x" } } });
        let lines = [
            message("user", "<environment_context>"),
            message("user", "Why is it slow?"),
            message("assistant", "Let me look."),
            call("a"),
            item(json!({ "type": "function_call_output", "call_id": "a", "output": "…" })),
            item(json!({ "type": "reasoning", "summary": [{ "text": "It may be the cache." }] })),
            call("b"),
            ended,
        ];
        let record = lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        let Record { told, ended } = Record::told(&record, "b");
        assert_eq!((told.request.as_str(), told.said_before.as_str(), told.said.as_str()), ("Why is it slow?", "Let me look.", ""));
        assert_eq!((told.thought.as_str(), told.calls.len()), ("It may be the cache.", 1));
        assert_eq!(ended, Some(Ended { status: 3, output: "x".to_owned() }));
    }
}
