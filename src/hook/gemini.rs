//! What Gemini CLI tells its hooks, and what it takes from them: a denied result is replaced by the reason.

use serde_json::{Value, json};

use super::event::{Answer, Event, Hook, Of, Returned};
use super::pass::{pass, would_lose};
use super::rules::is_large;
use super::transcript;

/// How a file begins that was not read to its end.
const CUT: &str = "\nIMPORTANT: The file content has been truncated";

/// How lines of a file are read, and all of it.
const READS: &str = "read_file with start_line and end_line shows them, read_file again all of it";

/// Answers an event; nothing is said where things are to stay as they are.
pub fn answer(event: &str, hook: &Hook<'_>) -> Answer {
    let Ok(event) = serde_json::from_str::<Event>(event) else { return Answer::default() };
    match (event.hook_event_name.as_str(), event.tool_name.as_str()) {
        ("BeforeTool", "write_file") => {
            let reason = event.tool_input["file_path"].as_str().and_then(|path| would_lose(path, &event.session_id, hook));
            Answer::only(reason.map(|reason| replaced(&reason)))
        }
        ("AfterTool", _) => after(&event, hook).unwrap_or_default(),
        _ => Answer::default(),
    }
}

/// What takes the place of a result.
fn after(event: &Event, hook: &Hook<'_>) -> Option<Answer> {
    let (input, response) = (&event.tool_input, &event.tool_response);
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let content = text(&response["llmContent"]).filter(|content| response["error"].is_null() && is_large(content))?;
    let path = text(&input["file_path"]).unwrap_or_default();
    let of = match event.tool_name.as_str() {
        "read_file" => {
            let is_whole = input.as_object()?.keys().all(|key| key == "file_path") && !content.starts_with(CUT);
            is_whole.then_some(Of::File(&path, READS))?
        }
        "run_shell_command" => Of::Command(input["command"].as_str()?, input["description"].as_str().unwrap_or_default()),
        _ => return None,
    };
    let told = transcript::of_gemini(event.transcript_path.as_ref()?).ok()?;
    let (output, question) = pass(&Returned { session: &event.session_id, of, text: &content }, &told, hook)?;
    Some(Answer { said: replaced(&output.text), pruned: Some((output, question)) })
}

/// What puts a text in the place of a result.
fn replaced(text: &str) -> String {
    json!({ "decision": "deny", "reason": text }).to_string()
}
