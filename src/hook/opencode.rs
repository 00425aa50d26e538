//! What codeskim's plugin of opencode tells (`setup` writes it), and what it takes: a text in the place of a result, or a reason to stop a call.

use serde::Deserialize;
use serde_json::{Value, json};

use super::command::output_of;
use super::event::{Answer, Event, Hook, Of, Returned};
use super::pass::{chosen, pass, would_lose};
use super::told::Told;

/// How lines of a file are read, and all of it.
const READS: &str = "read with offset and limit shows them, read again all of it";

/// What the plugin says.
#[derive(Deserialize)]
struct Said {
    #[serde(flatten)]
    event: Event,
    /// The session so far.
    #[serde(default)]
    messages: Vec<Message>,
}

/// A message of a session, and who it is from.
#[derive(Deserialize)]
struct Message {
    role: String,
    parts: Vec<Value>,
}

/// Answers an event; nothing is said where things are to stay as they are.
pub fn answer(event: &str, hook: &Hook<'_>) -> Answer {
    let Ok(said) = serde_json::from_str::<Said>(event) else { return Answer::default() };
    let event = &said.event;
    match (event.hook_event_name.as_str(), event.tool_name.as_str()) {
        ("tool.execute.before", "write") => {
            let reason = would_lose(&event.path("filePath"), READS, &event.reader(), hook);
            Answer::only(reason.map(|reason| json!({ "deny": reason }).to_string()))
        }
        ("tool.execute.after", _) => after(&said, hook).unwrap_or_default(),
        _ => Answer::default(),
    }
}

/// What takes the place of a result.
fn after(said: &Said, hook: &Hook<'_>) -> Option<Answer> {
    let event = &said.event;
    let output = event.tool_response.as_str()?;
    let (of, text) = match event.tool_name.as_str() {
        "read" => {
            let (path, first) = (event.path("filePath"), event.number("offset").unwrap_or(1));
            let (text, is_whole) = file(output, first)?;
            if !is_whole || !event.has_only(&["filePath"]) {
                return chosen(&path, first, &text, is_whole && first == 1, &event.reader(), hook);
            }
            (Of::File(path, READS), text)
        }
        "grep" => (Of::Search(event.input("pattern").to_owned()), output.to_owned()),
        "bash" => (output_of(event.input("command"), event.input("description"), &event.cwd)?, output.to_owned()),
        _ => return None,
    };
    let told = || Some(told(&said.messages, &event.tool_use_id));
    let noted = pass(&Returned { session: &event.reader(), of, text: &text }, told, hook)?;
    Some(Answer::with(noted, |text| json!({ "output": text })))
}

/// The lines of a file from the line `first`, without what `read` puts before and around them, and whether they go on to the end.
fn file(output: &str, first: usize) -> Option<(String, bool)> {
    let (_, content) = output.split_once("<content>\n")?;
    let (content, how) = content.rsplit_once("\n\n(")?;
    let line = |(number, line): (usize, &str)| {
        let (before, text) = line.split_once(": ").or_else(|| Some((line.strip_suffix(':')?, "")))?;
        (before.parse() == Ok(number)).then(|| format!("{text}\n"))
    };
    Some(((first..).zip(content.split('\n')).map(line).collect::<Option<_>>()?, how.starts_with("End of file")))
}

/// What the messages of a session tell, up to the call with this id.
fn told(messages: &[Message], id: &str) -> Told {
    let mut told = Told::default();
    for Message { role, parts } in messages {
        if role == "assistant" {
            told.goes_on();
        }
        for part in parts {
            let text = |key: &str| part[key].as_str().unwrap_or_default();
            match (text("type"), role.as_str()) {
                ("text", "user") => told.asks(text("text")),
                ("text", _) => told.says(text("text")),
                ("reasoning", _) => told.thinks(text("text")),
                ("tool", _) if text("callID") == id => return told,
                ("tool", _) => told.calls(text("tool"), &part["input"]),
                _ => {}
            }
        }
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_before_lines_are_taken_away() {
        let output = "<path>/a</path>\n<type>file</type>\n<content>\n1: a: b\n2: \n3: c\n\n(End of file - total 3 lines)\n</content>";
        assert_eq!(file(output, 1), Some(("a: b\n\nc\n".to_owned(), true)));
        assert_eq!(file(output, 2), None);
        assert_eq!(file(&output.replace("(End of file - total 3", "(Showing lines 1-3 of 9"), 1), Some(("a: b\n\nc\n".to_owned(), false)));
    }

    #[test]
    fn what_was_said_and_done() {
        let message = |role: &str, parts: Value| Message { role: role.to_owned(), parts: parts.as_array().expect("a list").clone() };
        let call = |id: &str| json!({ "type": "tool", "tool": "read", "callID": id, "input": { "filePath": "/a" } });
        let messages = [
            message("user", json!([{ "type": "text", "text": "Why is it slow?" }])),
            message("assistant", json!([{ "type": "text", "text": "Let me look." }, call("a")])),
            message("assistant", json!([{ "type": "reasoning", "text": "It may be the cache." }, call("b")])),
        ];
        let told = told(&messages, "b");
        assert_eq!((told.request.as_str(), told.said_before.as_str(), told.said.as_str()), ("Why is it slow?", "Let me look.", ""));
        assert_eq!((told.thought.as_str(), told.calls.len()), ("It may be the cache.", 1));
    }
}
