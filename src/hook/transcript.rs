//! What led to a call, as the records that clients keep of their sessions tell it.

use std::fs::File;
use std::io::{self, Read as _, Seek, SeekFrom};
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::Value;

/// Bytes of a record that are read, from its end.
const RECORD: u64 = 4_000_000;
/// How late a call may be in the record, and how often it is looked for.
const LATE: Duration = Duration::from_millis(150);
const GLANCE: Duration = Duration::from_millis(10);

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Called {
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub input: Value,
}

/// What was said and done before a call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Told {
    /// What the user asked for last.
    pub request: String,
    /// What the agent said right before the call.
    pub said: String,
    /// What it thought right before.
    pub thought: String,
    /// What it said before that, if it was not silent.
    pub said_before: String,
    /// The calls before, in order.
    pub calls: Vec<Called>,
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

/// Reads what led to the call with this id from the end of Claude Code's record, which is written a little after the call.
///
/// # Errors
/// A record that is no regular file or cannot be read.
pub fn of_claude_code(path: &Path, id: &str) -> io::Result<Told> {
    let until = Instant::now() + LATE;
    loop {
        let record = end_of(path);
        match record {
            Ok(record) if record.contains(id) || Instant::now() > until => return Ok(told(&record, id)),
            Err(error) if error.kind() != io::ErrorKind::NotFound || Instant::now() > until => return Err(error),
            _ => std::thread::sleep(GLANCE),
        }
    }
}

/// The same from that of Gemini CLI, in which the last call is not written yet.
///
/// # Errors
/// As those of [`of_claude_code`].
pub fn of_gemini(path: &Path) -> io::Result<Told> {
    Ok(told_by_gemini(&end_of(path)?))
}

/// The last [`RECORD`] bytes of a regular file, from the beginning of a line.
pub fn end_of(path: &Path) -> io::Result<String> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into()); // opening a FIFO would wait for its writer
    }
    let mut file = File::open(path)?;
    let from = file.metadata()?.len().saturating_sub(RECORD);
    file.seek(SeekFrom::Start(from))?;
    let mut end = Vec::new();
    file.take(RECORD).read_to_end(&mut end)?;
    let start = if from == 0 { 0 } else { memchr::memchr(b'\n', &end).map_or(end.len(), |newline| newline + 1) };
    Ok(String::from_utf8_lossy(&end[start..]).into_owned())
}

/// What the lines of a record tell, up to the call with this id.
fn told(record: &str, id: &str) -> Told {
    let mut told = Told::default();
    let mut is_over = false; // whether a result or the user has spoken since
    for line in record.lines() {
        let Ok(Entry { r#type, message: Some(message), is_meta: false }) = serde_json::from_str(line) else { continue };
        let items = match message.content {
            Value::String(text) => vec![serde_json::json!({ "type": "text", "text": text })],
            Value::Array(items) => items,
            _ => continue,
        };
        let text = |item: &Value, key: &str| item[key].as_str().unwrap_or_default().trim().to_owned();
        let from_user = r#type == "user";
        for item in &items {
            match item["type"].as_str().unwrap_or_default() {
                "tool_result" => is_over = true,
                "text" if from_user => {
                    // What the client puts in is in angle brackets.
                    let request = text(item, "text");
                    if !request.is_empty() && !request.starts_with('<') {
                        told = Told { request, calls: told.calls, ..Told::default() };
                        is_over = true;
                    }
                }
                kind @ ("text" | "thinking" | "tool_use") if r#type == "assistant" => {
                    if std::mem::take(&mut is_over) {
                        if !told.said.is_empty() {
                            told.said_before = std::mem::take(&mut told.said);
                        }
                        told.thought.clear();
                    }
                    match kind {
                        "text" => add(&mut told.said, &text(item, "text")),
                        "thinking" => add(&mut told.thought, &text(item, "thinking")),
                        _ if item["id"] == id => return told,
                        _ => told.calls.push(Called { tool: text(item, "name"), input: item["input"].clone() }),
                    }
                }
                _ => {}
            }
        }
    }
    told
}

/// A line of Gemini's record: what it said is written again, under the same id, with the calls that followed.
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

fn told_by_gemini(record: &str) -> Told {
    let (mut told, mut last) = (Told::default(), String::new());
    for Line { id, r#type, content, thoughts, calls } in record.lines().filter_map(|line| serde_json::from_str(line).ok()) {
        let parts = content.as_array().into_iter().flatten().filter_map(|part| part["text"].as_str());
        match (r#type.as_str(), content.as_str()) {
            ("user", _) => {
                let request = parts.collect::<Vec<_>>().join("\n");
                if !request.trim().is_empty() && !request.starts_with('<') {
                    told = Told { request, calls: told.calls, ..Told::default() };
                }
            }
            ("gemini", said) => {
                if id != last && !told.said.is_empty() {
                    told.said_before = std::mem::take(&mut told.said);
                }
                let thought = |thought: &Value| thought["description"].as_str().map(str::to_owned);
                told.said = said.unwrap_or_default().trim().to_owned();
                told.thought = thoughts.iter().filter_map(thought).collect::<Vec<_>>().join("\n");
                let called =
                    |call: &Value| Called { tool: call["name"].as_str().unwrap_or_default().to_owned(), input: call["args"].clone() };
                told.calls.extend(calls.iter().map(called));
            }
            _ => {}
        }
        last = id;
    }
    told
}

fn add(to: &mut String, text: &str) {
    if !to.is_empty() {
        to.push('\n');
    }
    to.push_str(text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn gemini_writes_what_it_said_twice() {
        let line =
            |kind: &str, id: &str, content: Value, calls: Value| json!({ "type": kind, "id": id, "content": content, "toolCalls": calls });
        let called = json!([{ "id": "x", "name": "read_file", "args": { "file_path": "/a" } }]);
        let told = told_by_gemini(&record(&[
            json!({ "$set": { "messages": [] } }),
            line("user", "1", json!([{ "text": "Why is it slow?" }]), json!([])),
            line("gemini", "2", json!("Let me look."), json!([])),
            line("gemini", "2", json!("Let me look."), called),
            line("user", "3", json!([{ "functionResponse": {} }]), json!([])),
            json!({ "type": "gemini", "id": "4", "content": "", "thoughts": [{ "subject": "Cache", "description": "It may be the cache." }] }),
        ]));
        assert_eq!((told.request.as_str(), told.said_before.as_str(), told.said.as_str()), ("Why is it slow?", "Let me look.", ""));
        assert_eq!((told.thought.as_str(), told.calls.len()), ("It may be the cache.", 1));
    }

    fn record(lines: &[Value]) -> String {
        lines.iter().map(|line| format!("{line}\n")).collect()
    }

    #[test]
    fn what_was_said_last_counts() {
        let said = |text: &str| json!({ "type": "assistant", "message": { "content": [{ "type": "text", "text": text }] } });
        let call = |id: &str| json!({ "type": "assistant", "message": { "content": [{ "type": "tool_use", "id": id, "name": "Read", "input": { "file_path": id } }] } });
        let result = json!({ "type": "user", "message": { "content": [{ "type": "tool_result", "tool_use_id": "x", "content": "…" }] } });
        let asked = json!({ "type": "user", "message": { "content": "Why is it slow?" } });
        let put_in = json!({ "type": "user", "message": { "content": "<system-reminder>be kind</system-reminder>" } });
        let record = record(&[
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
        ]);
        let first = told(&record, "a");
        assert_eq!((first.request.as_str(), first.said.as_str(), first.calls.len()), ("Why is it slow?", "Let me look.", 0));
        let third = told(&record, "c");
        assert_eq!((third.said.as_str(), third.said_before.as_str(), third.calls.len()), ("Now the cache.", "Let me look.", 2));
        let silent = told(&record, "d");
        assert_eq!((silent.said.as_str(), silent.said_before.as_str()), ("", "Now the cache."));
        assert_eq!(told("no JSON\n", "a"), Told::default());
    }
}
