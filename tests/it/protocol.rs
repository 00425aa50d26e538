//! What clients see of the server itself.

use std::path::Path;

use rmcp::model::GetPromptRequestParams;
use serde_json::{Value, json};

use crate::common::{Client, REPOSITORY, Raw, eras};

#[tokio::test]
async fn both_eras_list_the_same_tools_and_read_the_same_file() {
    let mut lists = Vec::new();
    for era in eras() {
        let client = Client::start(Path::new(REPOSITORY), era).await;
        let tools = client.0.list_all_tools().await.expect("tools");
        assert_eq!(tools.iter().map(|tool| tool.name.as_ref()).collect::<Vec<_>>(), ["read_file", "grep", "search", "head", "repo_map"]);
        for tool in &tools {
            let hints = tool.annotations.as_ref().expect("annotations");
            assert_eq!((hints.read_only_hint, hints.destructive_hint, hints.open_world_hint), (Some(true), Some(false), Some(false)));
            assert!(tool.title.is_some() && tool.output_schema.is_none());
        }
        let instructions = client.0.peer_info().and_then(|info| info.instructions.clone()).expect("instructions");
        assert!(instructions.contains("context_focus_question"), "{instructions}");
        let text = client.text("read_file", json!({ "path": "Cargo.toml" })).await;
        assert_eq!(text, std::fs::read_to_string("Cargo.toml").expect("Cargo.toml"));
        lists.push(tools);
    }
    assert_eq!(lists[0], lists[1]);
}

/// `UPDATE_SCHEMAS=1 cargo test` writes the files anew.
#[test]
fn the_committed_schemas_are_those_served_and_cost_little() {
    let tools = codeskim::server::tools();
    for tool in &tools {
        let path = Path::new(REPOSITORY).join(format!("tool-schemas/{}.json", tool.name));
        let served = format!("{}\n", serde_json::to_string_pretty(tool).expect("JSON"));
        if std::env::var_os("UPDATE_SCHEMAS").is_some() {
            std::fs::write(&path, &served).expect("written");
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap_or_default(), served, "{} is not what is served", path.display());
        assert!(!served.contains("null") && !served.contains("\"format\""), "{served}");
    }
    let list = json!({ "tools": tools }).to_string();
    let tokens = tiktoken_rs::o200k_base().expect("o200k").encode_ordinary(&list).len();
    let instructions = codeskim::tokens::o200k(codeskim::server::INSTRUCTIONS);
    println!("tools/list costs {tokens} o200k tokens, the instructions {instructions}");
    assert_eq!(tokens + instructions, codeskim::server::SCHEMA_TOKENS, "what the ledger takes it to be");
}

/// Tokens of what an agent is told of reading, at most: it pays for them on every turn.
const TEMPLATE: usize = 400;

#[tokio::test]
async fn what_agents_are_told_of_reading_is_served_and_short() {
    let client = Client::start(Path::new(REPOSITORY), eras()[1].clone()).await;
    let get = async |agent: &str| {
        let Value::Object(arguments) = json!({ "agent": agent }) else { unreachable!() };
        client.0.get_prompt(GetPromptRequestParams::new("reading").with_arguments(arguments)).await
    };
    for agent in ["generic", "claude-code", "openhands", "shell"] {
        let text = std::fs::read_to_string(Path::new(REPOSITORY).join(format!("prompts/{agent}.md"))).expect("a template");
        let served = get(agent).await.expect("a prompt").messages[0].content.as_text().expect("text").text.clone();
        assert_eq!(served, text);
        let tokens = codeskim::tokens::o200k(&text);
        println!("prompts/{agent}.md costs {tokens} o200k tokens");
        assert!(tokens <= TEMPLATE, "{agent}: {tokens}");
    }
    assert!(get("emacs").await.expect_err("no such agent").to_string().contains("nothing for the agent \"emacs\""));
}

/// Valid JSON that a server of the protocol cannot take: a client that waits for an answer gets one.
#[test]
fn a_request_that_is_none_is_answered() {
    let mut raw = Raw::start(Path::new(REPOSITORY));
    let call = |params: &str| format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{params}}}"#);
    let deep = format!(r#"{{"name":"head","arguments":{{"path":{}1{}}}}}"#, "[".repeat(200), "]".repeat(200));
    for (params, code, problem) in [
        (r#"{"name":"head","arguments":{"path":"a","lines":1e400}}"#, -32600, "The request is not valid JSON: number out of range"),
        (&deep, -32600, "The request is not valid JSON: recursion limit exceeded"),
        ("[1]", -32600, "params is no object."),
        (r#"{"name":"head","arguments":"{}"}"#, -32602, "params must have the name of a tool and an object of arguments: "),
        ("{}", -32602, "params must have the name of a tool and an object of arguments: "),
    ] {
        raw.send(call(params));
        let answer = raw.receive();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(7), &json!(code)), "{answer}");
        assert!(answer["error"]["message"].as_str().expect("a message").starts_with(problem), "{answer}");
    }
}

/// JavaScript writes half an emoji as an escape that is no JSON, and some clients send Latin-1: such a call must not wait for ever.
#[test]
fn a_call_with_a_faulty_character_is_answered() {
    let mut raw = Raw::start(Path::new(REPOSITORY));
    let call = |id: u64, path: &[u8]| {
        let (before, after) = (
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"read_file","arguments":{{"path":""#),
            r#"","end_line":1}}}"#,
        );
        [before.as_bytes(), path, after.as_bytes()].concat()
    };
    for (id, path, said) in
        [(7, &br"half \ud83d"[..], "half \u{fffd}"), (8, &b"caf\xe9"[..], "caf\u{fffd}"), (9, &br"whole \ud83d\ude00"[..], "whole 😀")]
    {
        raw.send(call(id, path));
        let answer = raw.receive();
        let text = answer["result"]["content"][0]["text"].as_str().expect("text");
        assert!(answer["id"] == id && text.starts_with(&format!("There is no file \"{said}\"")), "{answer}");
    }
}

#[test]
fn a_tool_that_is_none_does_not_end_the_session() {
    let mut server = Raw::start(Path::new(REPOSITORY));
    server.call(2, "no_such_tool", json!({}));
    assert_eq!(server.receive()["error"]["code"], -32602);
    server.call(1, "head", json!({ "path": "Cargo.toml", "lines": 1 }));
    let answer = server.receive();
    assert_eq!((&answer["id"], &answer["result"]["content"][0]["text"]), (&json!(1), &json!("[package]\n")));
}

/// A search through gigabytes: one file under so many names.
pub fn long_search(directory: &Path, files: usize) -> Value {
    let first = directory.join("000.txt");
    std::fs::write(&first, ("a b ".repeat(25) + "\n").repeat(80_000)).expect("written");
    for i in 1..files {
        std::fs::hard_link(&first, directory.join(format!("{i:03}.txt"))).expect("linked");
    }
    json!({ "pattern": "[a-z]\\s(?:[a-z]|\\s){40,200}\\d" })
}

#[cfg(target_os = "linux")]
#[test]
fn a_long_search_reports_progress_and_stops_when_cancelled() {
    let directory = tempfile::tempdir().expect("a directory");
    let arguments = long_search(directory.path(), 1000);
    let mut server = Raw::start(directory.path());
    server.call(7, "grep", arguments);
    let progress = server.receive();
    assert_eq!((&progress["method"], &progress["params"]["progressToken"]), (&json!("notifications/progress"), &json!(7)));
    server.send(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 7 } }).to_string());
    server.call(8, "head", json!({ "path": "000.txt", "lines": 1 }));
    while server.receive()["id"] != 8 {}
    // The search itself has stopped, and not only its answer: nothing uses the processor any more.
    let busy = |child: &std::process::Child| {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).expect("it runs");
        let fields: Vec<_> = stat.rsplit(") ").next().expect("fields").split(' ').collect();
        fields[11].parse::<u64>().expect("user time") + fields[12].parse::<u64>().expect("system time")
    };
    std::thread::sleep(std::time::Duration::from_millis(500));
    let before = busy(&server.child);
    std::thread::sleep(std::time::Duration::from_millis(500));
    let ticks = busy(&server.child) - before;
    assert!(ticks < 10, "{ticks} ticks of 10 ms in half a second");
}
