//! Hooks: what agents' own tools return is pruned on its way, or a large read stopped once; and never anything that stands in the way.

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
    hook_of("claude-code", memory, event, arguments)
}

fn hook_of(client: &str, memory: &Path, event: &str, arguments: &[&str]) -> String {
    let mut child = Command::new(BINARY)
        .args(["hook", client])
        .args(arguments)
        .env("XDG_STATE_HOME", memory)
        .env("HOME", memory)
        .env("CODESKIM_LEDGER", memory.join("ledger.jsonl"))
        .env_remove("COPILOT_HOME")
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

/// A file of many definitions, of which few have to do with delays.
fn large_text() -> String {
    let other = |i: usize| {
        format!(
            "def paint_{i}(canvas, colour):\n    for x in range(canvas.width):\n        canvas.draw(x, {i}, colour)\n    return canvas\n\n\n"
        )
    };
    let delay = "def next_delay(attempt, limit):\n    delay = 2 ** attempt\n    return min(delay, limit)\n\n\n";
    (0..40).map(other).collect::<String>() + delay + &(40..80).map(other).collect::<String>()
}

/// An agent's session: its record, and what its tools returned.
struct Agent {
    memory: tempfile::TempDir,
    record: Vec<Value>,
}

impl Agent {
    fn new(asked: &str) -> Self {
        Self { memory: tempfile::tempdir().expect("a directory"), record: vec![json!({ "type": "user", "message": { "content": asked } })] }
    }

    /// It says something, calls a tool and gets a result; what the hook makes of that.
    fn calls(&mut self, said: &str, tool: &str, input: &Value, response: &Value) -> Option<Value> {
        let id = format!("toolu_{}", self.record.len());
        for item in [json!({ "type": "text", "text": said }), json!({ "type": "tool_use", "id": id, "name": tool, "input": input })] {
            self.record.push(json!({ "type": "assistant", "message": { "content": [item] } }));
        }
        let path = self.memory.path().join("record.jsonl");
        std::fs::write(&path, self.record.iter().map(|line| format!("{line}\n")).collect::<String>()).expect("written");
        let result = json!({ "type": "tool_result", "tool_use_id": id, "content": "" });
        self.record.push(json!({ "type": "user", "message": { "content": [result] } }));
        let mut event = event(tool, input);
        (event["hook_event_name"], event["transcript_path"], event["tool_response"]) =
            (json!("PostToolUse"), json!(path), response.clone());
        event["tool_use_id"] = json!(id);
        let said = hook(self.memory.path(), &event.to_string());
        (!said.is_empty()).then(|| serde_json::from_str::<Value>(&said).expect("JSON")["hookSpecificOutput"]["updatedToolOutput"].clone())
    }

    fn reads(&mut self, said: &str, path: &str, text: &str) -> Option<String> {
        let count = text.lines().count();
        let file = json!({ "filePath": path, "content": text, "numLines": count, "startLine": 1, "totalLines": count });
        let new = self.calls(said, "Read", &json!({ "file_path": path }), &json!({ "type": "text", "file": file }))?;
        assert_eq!((&new["type"], &new["file"]["filePath"]), (&json!("notebook"), &json!(path)));
        Some(new["file"]["cells"][0]["source"].as_str().expect("a text").to_owned())
    }
}

const ASKED: &str = "Retries wait too long. Where is the delay between attempts limited?";
const SAID: &str = "Let me look at how the next delay is computed and limited.";

#[test]
fn a_large_read_comes_pruned_once() {
    let (text, mut agent) = (large_text(), Agent::new(ASKED));
    let excerpt = agent.reads(SAID, "/w/net.py", &text).expect("an excerpt");
    insta::assert_snapshot!("read", excerpt);
    assert_eq!(agent.reads("Once more.", "/w/net.py", &text), None, "a second read is whole");
}

#[test]
fn what_is_needed_whole_stays_whole() {
    let text = large_text();
    let whole = |said: &str, tool: &str, input: Value, response: Value| {
        assert_eq!(Agent::new(ASKED).calls(said, tool, &input, &response), None, "{said} {tool} {input}");
    };
    let file = |content: &str, first: usize, total: usize| {
        let file = json!({ "filePath": "/w/net.py", "content": content, "numLines": content.lines().count(), "startLine": first, "totalLines": total });
        json!({ "type": "text", "file": file })
    };
    let (lines, path) = (text.lines().count(), json!({ "file_path": "/w/net.py" }));
    whole(SAID, "Read", json!({ "file_path": "/w/net.py", "offset": 1, "limit": 900 }), file(&text, 1, lines));
    whole(SAID, "Read", path.clone(), file(&text, 1, lines + 5000));
    whole(SAID, "Read", path.clone(), file(&text[..2000], 1, 80));
    whole("Now I'll change the delay.", "Read", path.clone(), file(&text, 1, lines));
    whole(SAID, "Read", path.clone(), json!({ "type": "image", "file": { "base64": "aGk=" } }));
    whole(SAID, "Read", path.clone(), json!({ "type": "notebook", "file": { "filePath": "/w/a.ipynb", "cells": [] } }));
    whole(SAID, "Read", path.clone(), json!("an error"));
    whole(SAID, "Edit", path, json!({ "type": "text" }));
    whole(SAID, "Bash", json!({ "command": "make" }), json!({ "stdout": "short", "stderr": "", "interrupted": false, "isImage": false }));
    whole(SAID, "Grep", json!({ "pattern": "x" }), json!({ "mode": "files_with_matches", "numFiles": 900, "filenames": [] }));
    assert_eq!(Agent::new("Hi.").reads("", "/w/net.py", &text), None, "nothing is known of what is wanted");
}

#[test]
fn a_file_that_was_edited_or_read_stays_whole() {
    let text = large_text();
    for tool in ["Edit", "Write", "Read"] {
        let mut agent = Agent::new(ASKED);
        agent.calls("", tool, &json!({ "file_path": "/w/net.py", "offset": 3 }), &json!({ "filePath": "/w/net.py" }));
        assert_eq!(agent.reads(SAID, "/w/net.py", &text), None, "{tool}");
    }
}

#[test]
fn of_an_excerpt_no_file_is_written() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("net.py");
    std::fs::write(&path, large_text()).expect("written");
    let (path, mut agent) = (path.display().to_string(), Agent::new(ASKED));
    let write = event("Write", &json!({ "file_path": path, "content": "x = 1\n" })).to_string();
    assert_eq!(hook(agent.memory.path(), &write), "", "nothing was read");
    assert!(agent.reads(SAID, &path, &large_text()).is_some());
    let said = hook(agent.memory.path(), &write);
    assert!(said.contains("\"deny\"") && said.contains("only an excerpt"), "{said}");
    let otherwise = [path.replace("net.py", "./net.py"), path.replace("net.py", "sub/../net.py"), format!("file://{path}")];
    for path in otherwise {
        let said = hook(agent.memory.path(), &event("Write", &json!({ "file_path": path, "content": "x = 1\n" })).to_string());
        assert!(said.contains("\"deny\""), "{path}: {said}");
    }
    assert_eq!(agent.reads("All of it.", &path, &large_text()), None);
    assert_eq!(hook(agent.memory.path(), &write), "", "it was read whole");
    // Claude Code answers the same call without the text: what shows all of it is a range of all lines.
    let mut agent = Agent::new(ASKED);
    assert!(agent.reads(SAID, &path, &large_text()).is_some());
    let lines = large_text().lines().count();
    let all = json!({ "filePath": path, "content": large_text(), "numLines": lines, "startLine": 1, "totalLines": lines });
    let ranged = json!({ "file_path": path, "offset": 1, "limit": 100_000 });
    assert_eq!(agent.calls("All of it.", "Read", &ranged, &json!({ "type": "text", "file": all })), None);
    assert_eq!(hook(agent.memory.path(), &write), "", "it was read whole");
}

#[test]
fn an_agent_within_a_session_has_its_own_notes_and_words() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("net.py");
    std::fs::write(&path, large_text()).expect("written");
    let (path, mut agent) = (path.display().to_string(), Agent::new(ASKED));
    assert!(agent.reads(SAID, &path, &large_text()).is_some());
    let mut write = event("Write", &json!({ "file_path": path, "content": "x = 1\n" }));
    write["agent_id"] = json!("a1");
    assert_eq!(hook(agent.memory.path(), &write.to_string()), "", "it has seen nothing of the file");
    // Its calls are in no record that the hook is told of.
    let lines = large_text().lines().count();
    let file = json!({ "filePath": path, "content": large_text(), "numLines": lines, "startLine": 1, "totalLines": lines });
    let mut read = event("Read", &json!({ "file_path": path }));
    (read["hook_event_name"], read["transcript_path"]) = (json!("PostToolUse"), json!(agent.memory.path().join("record.jsonl")));
    (read["tool_response"], read["tool_use_id"], read["agent_id"]) =
        (json!({ "type": "text", "file": file }), json!("toolu_other"), json!("a1"));
    assert_eq!(hook(agent.memory.path(), &read.to_string()), "");
}

#[test]
fn a_path_is_the_same_however_it_is_written() {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("net.py"), large_text()).expect("written");
    let (gemini, place) = (Other::new("gemini"), directory.path().display().to_string());
    let said = |calls: Value| json!({ "type": "gemini", "id": "2", "content": SAID, "toolCalls": calls });
    let asked = json!({ "type": "user", "id": "1", "content": [{ "text": ASKED }] });
    let event = |event: &str, tool: &str, path: &str, record: &str| {
        json!({ "hook_event_name": event, "session_id": format!("g{}", record.len()), "cwd": place, "tool_name": tool, "tool_input": { "file_path": path },
            "tool_response": { "llmContent": large_text() }, "transcript_path": record })
    };
    let record = gemini.write("record", &[asked.clone(), said(json!([]))]);
    assert!(gemini.says(&event("AfterTool", "read_file", "net.py", &record)).is_some());
    let whole = format!("{place}/net.py");
    assert!(gemini.says(&event("BeforeTool", "write_file", &whole, &record)).is_some_and(|said| said["reason"].as_str().is_some()));
    let edited = json!([{ "id": "x", "name": "replace", "args": { "file_path": "net.py" } }]);
    let record = gemini.write("longer-record", &[asked, said(edited)]);
    assert_eq!(gemini.says(&event("AfterTool", "read_file", &whole, &record)), None, "it was edited");
}

#[test]
fn of_an_output_what_went_wrong_stays_and_all_is_kept() {
    let passed = |i: usize| format!("tests/test_{i}.py::test_paints_the_canvas PASSED [{i:>3}%]\n");
    let failure = "E       AssertionError: assert 64 == 30\ntests/test_net.py:12: AssertionError\n";
    let all = (0..300).map(passed).collect::<String>()
        + failure
        + &(0..90).map(passed).collect::<String>()
        + "==== 1 failed, 390 passed in 3.02s ====\n";
    let mut agent = Agent::new("Why do the tests of the delay fail?");
    let response = json!({ "stdout": all, "stderr": "warning", "interrupted": false, "isImage": false });
    let input = json!({ "command": "pytest -v", "description": "Run the tests" });
    let new = agent.calls("Let me run the tests of the delay.", "Bash", &input, &response).expect("an excerpt");
    let text = new["stdout"].as_str().expect("a text");
    assert!(text.contains(failure) && text.contains("1 failed, 390 passed") && text.len() < all.len() / 2, "{text}");
    assert_eq!(new["stderr"], "warning");
    let kept = text.lines().next().and_then(|line| line.strip_suffix('.')?.split(" is in ").nth(1)).expect("a file is named");
    assert_eq!(std::fs::read_to_string(kept).expect("it is there"), all);
    #[cfg(unix)]
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(kept).expect("a file").permissions()) & 0o077, 0);
}

/// A session of a client other than Claude Code, in which something is read.
struct Other {
    client: &'static str,
    memory: tempfile::TempDir,
}

impl Other {
    fn new(client: &'static str) -> Self {
        Self { client, memory: tempfile::tempdir().expect("a directory") }
    }

    /// What takes the place of a result.
    fn says(&self, event: &Value) -> Option<Value> {
        let said = hook_of(self.client, self.memory.path(), &event.to_string(), &[]);
        (!said.is_empty()).then(|| serde_json::from_str(&said).expect("JSON"))
    }

    fn write(&self, name: &str, lines: &[Value]) -> String {
        let path = self.memory.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("created");
        std::fs::write(&path, lines.iter().map(|line| format!("{line}\n")).collect::<String>()).expect("written");
        path.display().to_string()
    }

    /// What codeskim has noted of the agent: what was saved, and what was read again.
    fn noted(&self) -> Value {
        let output = Command::new(BINARY)
            .args(["stats", "--json"])
            .env("CODESKIM_LEDGER", self.memory.path().join("ledger.jsonl"))
            .output()
            .expect("it runs");
        serde_json::from_slice::<Value>(&output.stdout).expect("JSON")["clients"][self.client].clone()
    }
}

#[test]
fn codex_gets_an_excerpt_of_what_a_command_printed() {
    let agent = Other::new("codex");
    let run = |id: &str, command: &str, printed: &str, cut: &str, status: i64| {
        let item = |payload: Value| json!({ "type": "response_item", "payload": payload });
        let record = agent.write(
            "rollout.jsonl",
            &[
                item(json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": ASKED }] })),
                item(json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": SAID }] })),
                item(json!({ "type": "function_call", "name": "exec_command", "arguments": "{}", "call_id": id })),
                json!({ "type": "event_msg", "payload": { "item": { "id": id, "exit_code": status, "aggregated_output": printed } } }),
            ],
        );
        agent.says(&json!({
            "session_id": "c", "hook_event_name": "PostToolUse", "cwd": "/w", "tool_name": "Bash", "tool_input": { "command": command }, "tool_response": cut,
            "tool_use_id": id, "transcript_path": record
        }))
    };
    let text = large_text();
    let said = run("a", "cat net.py", &text, &text, 0).expect("an excerpt");
    let reason = said["reason"].as_str().expect("a text");
    assert!(said["decision"] == "block" && reason.contains("/w/net.py: ") && reason.contains("def next_delay"), "{reason}");
    assert!(reason.lines().next().is_some_and(|header| header.starts_with("codeskim shows an excerpt of this file")), "{reason}");
    assert_eq!(run("b", "cat net.py", &text, &text, 0), None, "a second read is whole");
    assert_eq!(run("c", "sed -n '1,400p' other.py", &text, &text, 0), None, "the lines were chosen");
    assert_eq!(run("d", "cat third.py", &text, "cut", 0), None, "it is more than Codex itself would show");
    let tests = (0..300).map(|i| format!("test paint_{i} ... ok\n")).collect::<String>() + "test delay ... FAILED\n";
    let said = run("e", "cargo test", &tests, &tests, 101).expect("an excerpt");
    let reason = said["reason"].as_str().expect("a text");
    assert!(reason.contains("test delay ... FAILED") && reason.ends_with("Process exited with code 101\n"), "{reason}");
    let patch = |path: &str| {
        let input = json!({ "command": format!("*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch") });
        json!({ "session_id": "c2", "hook_event_name": "PreToolUse", "cwd": REPOSITORY, "tool_name": "apply_patch", "tool_input": input })
    };
    assert_eq!(agent.says(&patch("src/main.rs")), None);
}

#[test]
fn copilot_gets_an_excerpt_and_what_it_reads_again_is_noted() {
    let (agent, text) = (Other::new("copilot"), large_text());
    let view = |input: Value, text: &str| {
        let line = |kind: &str, data: Value| json!({ "type": kind, "data": data });
        agent.write(
            ".copilot/session-state/0f-1/events.jsonl",
            &[
                line("user.message", json!({ "content": ASKED })),
                line("assistant.message", json!({ "content": SAID })),
                line("tool.execution_start", json!({ "toolName": "view", "arguments": input })),
            ],
        );
        let result = json!({ "resultType": "success", "textResultForLlm": text });
        agent
            .says(&json!({ "sessionId": "0f-1", "timestamp": 1, "cwd": "/w", "toolName": "view", "toolArgs": input, "toolResult": result }))
    };
    let said = view(json!({ "path": "/w/net.py" }), &text).expect("an excerpt");
    let new = &said["modifiedResult"];
    assert!(
        new["resultType"] == "success" && new["textResultForLlm"].as_str().is_some_and(|text| text.contains("def next_delay")),
        "{said}"
    );
    let saved = agent.noted()["net"].as_i64().expect("a number");
    assert!(saved > 0, "{}", agent.noted());
    let first = text.split_inclusive('\n').take(30).collect::<String>();
    assert_eq!(view(json!({ "path": "/w/net.py", "view_range": [1, 30] }), &first), None);
    let after = agent.noted();
    assert!(after["again"].as_i64().is_some_and(|again| again > 0) && after["net"].as_i64() < Some(saved), "{after}");
    assert_eq!(view(json!({ "path": "/w/net.py" }), &text), None, "a second read is whole");
    assert!(agent.noted()["net"].as_i64() < after["net"].as_i64(), "{}", agent.noted());
}

#[test]
fn opencode_gets_an_excerpt_without_numbers_before_lines() {
    let (agent, text) = (Other::new("opencode"), large_text());
    let numbered = (1..).zip(text.lines()).map(|(number, line)| format!("{number}: {line}\n")).collect::<String>();
    let returned = format!(
        "<path>/w/net.py</path>\n<type>file</type>\n<content>\n{numbered}\n(End of file - total {} lines)\n</content>",
        text.lines().count()
    );
    let path = json!({ "filePath": agent.write("net.py", &[json!("x")]) });
    let event = |event: &str, tool: &str, input: &Value, response: &str| {
        let part = json!({ "type": "tool", "tool": tool, "callID": "a", "input": input });
        let said = json!({ "role": "assistant", "parts": [{ "type": "text", "text": SAID }, part] });
        json!({ "hook_event_name": event, "session_id": "o", "cwd": "/w", "tool_name": tool, "tool_input": input, "tool_response": response, "tool_use_id": "a",
            "messages": [{ "role": "user", "parts": [{ "type": "text", "text": ASKED }] }, said] })
    };
    let said = agent.says(&event("tool.execute.after", "read", &path, &returned)).expect("an excerpt");
    let output = said["output"].as_str().expect("a text");
    assert!(output.contains("\ndef next_delay(attempt, limit):\n") && !output.contains("1: "), "{output}");
    let write = event("tool.execute.before", "write", &path, "");
    assert!(agent.says(&write).is_some_and(|said| said["deny"].as_str().is_some_and(|why| why.contains("only an excerpt"))));
    assert_eq!(agent.says(&event("tool.execute.after", "read", &path, &returned)), None, "a second read is whole");
    assert_eq!(agent.says(&write), None, "it was read whole");
}

#[cfg(unix)]
#[test]
fn a_record_that_is_no_file_holds_up_nothing() {
    let mut agent = Agent::new(ASKED);
    let fifo = agent.memory.path().join("record.jsonl");
    assert!(Command::new("mkfifo").arg(&fifo).status().expect("mkfifo runs").success());
    let text = large_text();
    let file = json!({ "filePath": "/w/net.py", "content": text, "numLines": text.lines().count(), "startLine": 1, "totalLines": text.lines().count() });
    let mut event = event("Read", &json!({ "file_path": "/w/net.py" }));
    (event["hook_event_name"], event["transcript_path"]) = (json!("PostToolUse"), json!(fifo));
    event["tool_response"] = json!({ "type": "text", "file": file });
    assert_eq!(hook(agent.memory.path(), &event.to_string()), "");
    agent.record.clear();
}
