//! What Gemini CLI tells its hooks, and what it takes from them: a denied result is replaced by the reason.

use serde::Deserialize;
use serde_json::{Value, json};

use super::command::output_of;
use super::event::{Answer, Event, Hook, Of, Returned};
use super::pass::{chosen, pass, would_lose};
use super::told::{Told, end_of};

/// What is before the lines of a file that was not read to its end.
const CUT: &str = "--- FILE CONTENT (truncated) ---\n";

/// How lines of a file are read, and all of it.
const READS: &str = "read_file with start_line and end_line shows them, read_file again all of it";

/// Answers an event; nothing is said where things are to stay as they are.
pub fn answer(event: &str, hook: &Hook<'_>) -> Answer {
    let Ok(event) = serde_json::from_str::<Event>(event) else { return Answer::default() };
    match (event.hook_event_name.as_str(), event.tool_name.as_str()) {
        ("BeforeTool", "write_file") => {
            Answer::only(would_lose(&event.path("file_path"), READS, &event.reader(), hook).map(|reason| replaced(&reason).to_string()))
        }
        ("AfterTool", _) => after(&event, hook).unwrap_or_default(),
        _ => Answer::default(),
    }
}

/// What takes the place of a result.
fn after(event: &Event, hook: &Hook<'_>) -> Option<Answer> {
    let response = &event.tool_response;
    let content = response["llmContent"].as_str().filter(|_| response["error"].is_null())?;
    let cut = content.split_once(CUT).map(|(_, lines)| lines).filter(|_| event.tool_name == "read_file");
    let of = match event.tool_name.as_str() {
        "read_file" if event.has_only(&["file_path"]) && cut.is_none() => Of::File(event.path("file_path"), READS),
        "read_file" => {
            let first = event.number("start_line").unwrap_or(1);
            return chosen(&event.path("file_path"), first, cut.unwrap_or(content), false, &event.reader(), hook);
        }
        "grep_search" => Of::Search(event.input("pattern").to_owned()),
        "run_shell_command" => match output_of(event.input("command"), event.input("description"), &event.cwd)? {
            Of::File(..) => return None, // with more around it than the file
            of => of,
        },
        _ => return None,
    };
    let told = || Some(told(&end_of(event.transcript_path.as_ref()?).ok()?));
    let noted = pass(&Returned { session: &event.reader(), of, text: content }, told, hook)?;
    Some(Answer::with(noted, replaced))
}

/// What puts a text in the place of a result.
fn replaced(text: &str) -> Value {
    json!({ "decision": "deny", "reason": text })
}

/// A line of the record: what the agent said is written again, under the same id, with the calls that followed. The last call is not there yet.
#[derive(Deserialize)]
struct Line {
    id: String,
    r#type: String,
    content: Value,
    #[serde(default)]
    thoughts: Vec<Value>,
    #[serde(default, rename = "toolCalls")]
    calls: Vec<Value>,
}

fn told(record: &str) -> Told {
    let (mut told, mut last) = (Told::default(), String::new());
    for Line { id, r#type, content, thoughts, calls } in record.lines().filter_map(|line| serde_json::from_str(line).ok()) {
        match (r#type.as_str(), content.as_str()) {
            ("user", _) => {
                let parts = content.as_array().into_iter().flatten().filter_map(|part| part["text"].as_str());
                told.asks(&parts.collect::<Vec<_>>().join("\n"));
            }
            ("gemini", said) => {
                if id == last {
                    told.said.clear();
                }
                told.goes_on();
                told.says(said.unwrap_or_default());
                thoughts.iter().filter_map(|thought| thought["description"].as_str()).for_each(|thought| told.thinks(thought));
                calls.iter().for_each(|call| told.calls(call["name"].as_str().unwrap_or_default(), &call["args"]));
            }
            _ => {}
        }
        last = id;
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gemini_writes_what_it_said_twice() {
        let line =
            |kind: &str, id: &str, content: Value, calls: Value| json!({ "type": kind, "id": id, "content": content, "toolCalls": calls });
        let called = json!([{ "id": "x", "name": "read_file", "args": { "file_path": "/a" } }]);
        let told = told(&[
            json!({ "$set": { "messages": [] } }),
            line("user", "1", json!([{ "text": "Why is it slow?" }]), json!([])),
            line("gemini", "2", json!("Let me look."), json!([])),
            line("gemini", "2", json!("Let me look."), called),
            line("user", "3", json!([{ "functionResponse": {} }]), json!([])),
            json!({ "type": "gemini", "id": "4", "content": "", "thoughts": [{ "subject": "Cache", "description": "It may be the cache." }] }),
        ]
        .iter()
        .map(|line| format!("{line}\n"))
        .collect::<String>());
        assert_eq!((told.request.as_str(), told.said_before.as_str(), told.said.as_str()), ("Why is it slow?", "Let me look.", ""));
        assert_eq!((told.thought.as_str(), told.calls.len()), ("It may be the cache.", 1));
    }
}
