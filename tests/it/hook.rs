//! Claude Code's hook: one sentence instead of a large read, once, and never anything that stands in the way.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::common::{BINARY, REPOSITORY};

const LARGE: &str = "src/prune/matches.rs";

/// What the hook says to an event; nothing lets the call go on.
fn hook(memory: &Path, event: &str) -> String {
    hook_with(memory, event, &[])
}

fn hook_with(memory: &Path, event: &str, arguments: &[&str]) -> String {
    let mut child = Command::new(BINARY)
        .args(["hook", "claude-code"])
        .args(arguments)
        .env("XDG_STATE_HOME", memory)
        .env("HOME", memory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    child.stdin.take().expect("piped").write_all(event.as_bytes()).expect("written");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{event}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn event(tool: &str, input: &Value) -> Value {
    json!({ "session_id": "8c1f", "hook_event_name": "PreToolUse", "cwd": REPOSITORY, "tool_name": tool, "tool_input": input })
}

fn whole_path(file: &str) -> String {
    Path::new(REPOSITORY).join(file).display().to_string()
}

#[test]
fn a_large_read_is_answered_once() {
    let memory = tempfile::tempdir().expect("a directory");
    let read = event("Read", &json!({ "file_path": whole_path(LARGE) })).to_string();
    let answer: Value = serde_json::from_str(&hook(memory.path(), &read)).expect("JSON");
    let said = &answer["hookSpecificOutput"];
    assert_eq!((&said["hookEventName"], &said["permissionDecision"]), (&json!("PreToolUse"), &json!("deny")));
    let reason = said["permissionDecisionReason"].as_str().expect("a reason");
    assert!(
        reason.starts_with("src/prune/matches.rs has ") && reason.contains("mcp__codeskim__read_file with a context_focus_question"),
        "{reason}"
    );
    assert_eq!(hook(memory.path(), &read), "", "the second try goes through");
    let other = read.replace("8c1f", "9d2e");
    assert_ne!(hook(memory.path(), &other), "", "another session knows nothing of it");
    #[cfg(unix)]
    for entry in std::fs::read_dir(memory.path().join("codeskim/hook")).expect("notes").flatten() {
        let mode = std::os::unix::fs::PermissionsExt::mode(&entry.metadata().expect("a file").permissions());
        assert_eq!(mode & 0o077, 0, "what is read is nobody else's business");
    }
}

#[test]
fn a_search_that_prints_much_is_answered_once() {
    let memory = tempfile::tempdir().expect("a directory");
    let search = |input: Value| event("Grep", &input).to_string();
    let much = search(json!({ "pattern": "let ", "path": "src", "output_mode": "content" }));
    assert!(hook(memory.path(), &much).contains("mcp__codeskim__grep with a context_focus_question"));
    assert_eq!(hook(memory.path(), &much), "");
    for little in [
        json!({ "pattern": "let ", "path": "src" }),
        json!({ "pattern": "let ", "path": "src", "output_mode": "content", "head_limit": 20 }),
        json!({ "pattern": "fn a_large_read_is_answered_once", "output_mode": "content" }),
        json!({ "pattern": "(", "output_mode": "content" }),
    ] {
        assert_eq!(hook(memory.path(), &search(little)), "");
    }
}

#[test]
fn only_what_the_server_may_read_is_stopped() {
    let memory = tempfile::tempdir().expect("a directory");
    let read = event("Read", &json!({ "file_path": whole_path(LARGE) })).to_string();
    let search = event("Grep", &json!({ "pattern": "let ", "path": "src", "output_mode": "content" })).to_string();
    for (root, stops) in [("tests", false), ("src", true)] {
        for event in [&read, &search] {
            assert_eq!(!hook_with(memory.path(), event, &["--root", &whole_path(root)]).is_empty(), stops, "{root}: {event}");
        }
    }
}

#[test]
fn nothing_else_is_stopped() {
    let memory = tempfile::tempdir().expect("a directory");
    let record = memory.path().join("record.jsonl");
    std::fs::write(&record, r#"{"type":"tool_use","name":"mcp__codeskim__read_file","input":{"path":"src/prune/matches.rs"}}"#)
        .expect("written");
    let namesake = memory.path().join("namesake.jsonl");
    for (i, path) in ["other/matches.rs", "other/src/prune/matches.rs"].into_iter().enumerate() {
        let call = json!({ "type": "tool_use", "name": "mcp__codeskim__read_file", "input": { "path": path } });
        std::fs::write(&namesake, call.to_string()).expect("written");
        let mut other = event("Read", &json!({ "file_path": whole_path(LARGE) }));
        (other["transcript_path"], other["session_id"]) = (json!(namesake), json!(format!("77a{i}")));
        assert_ne!(hook(memory.path(), &other.to_string()), "", "it was another file that was shown");
    }
    let mut shown = event("Read", &json!({ "file_path": whole_path(LARGE) }));
    shown["transcript_path"] = json!(record);
    for event in [
        event("Read", &json!({ "file_path": whole_path(LARGE), "offset": 10, "limit": 20 })).to_string(),
        event("Read", &json!({ "file_path": whole_path("src/main.rs") })).to_string(),
        event("Read", &json!({ "file_path": "/etc/services" })).to_string(),
        event("Read", &json!({ "file_path": whole_path("models/embedded/model.safetensors") })).to_string(),
        event("Read", &json!({ "file_path": whole_path("nowhere.rs") })).to_string(),
        event("Edit", &json!({ "file_path": whole_path(LARGE) })).to_string(),
        shown.to_string(),
        "{".to_owned(),
        String::new(),
    ] {
        assert_eq!(hook(memory.path(), &event), "", "{event}");
    }
}
