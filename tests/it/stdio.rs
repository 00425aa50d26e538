//! Lines that no well-behaved client sends: each that could be a request is answered, and the server goes on.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Map, Value, json};

use crate::common::{BINARY, FILE, QUESTION, REPOSITORY, Raw, initialize};
use crate::protocol::long_search;

const LIST: &str = r#"{"jsonrpc":"2.0","id":"list","method":"tools/list"}"#;

/// A server that has heard nothing yet.
fn fresh() -> Raw {
    Raw::of(Command::new(BINARY).current_dir(REPOSITORY).stderr(Stdio::piped()))
}

/// The next answer is an error, one sentence under this id.
#[track_caller]
fn is_refused(raw: &mut Raw, id: &Value, code: i64) -> String {
    let answer = raw.receive();
    is_error(&answer, id, code)
}

#[track_caller]
fn is_error(answer: &Value, id: &Value, code: i64) -> String {
    assert_eq!((&answer["jsonrpc"], answer.get("id"), &answer["error"]["code"]), (&json!("2.0"), Some(id), &json!(code)), "{answer}");
    let message = answer["error"]["message"].as_str().expect("a message");
    assert!(message.ends_with('.') && message.len() < 300 && !message.contains('\n'), "{message}");
    message.to_owned()
}

#[test]
fn what_is_no_json_is_answered() {
    for mut raw in [fresh(), Raw::start(Path::new(REPOSITORY))] {
        for line in [
            &b"{ this is not JSON"[..],
            b"{",
            b"hello",
            b"\"half",
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"",
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}}",
            b"{'id': 1}",
            b"{\"id\":01}",
            b"\xff\xfe{\x00}\x00",
            b"\x00",
            b"Content-Length: 20",
            b"[{\"jsonrpc\":\"2.0\",",
            b"{\"id\":1}{\"id\":2}",
        ] {
            raw.send(line);
            is_refused(&mut raw, &Value::Null, -32700);
        }
        for blank in ["", " ", "\t\r"] {
            raw.send(blank);
        }
        assert!(raw.is_silent());
    }
}

#[test]
fn an_initialize_that_lacks_something_is_told_what_and_may_be_sent_again() {
    let change = |path: &[&str], value: Option<Value>| {
        let mut request = initialize(7);
        let (last, before) = path.split_last().expect("a path");
        let parent = before.iter().fold(&mut request, |value, key| &mut value[*key]);
        match value {
            Some(value) => parent[*last] = value,
            None => drop(parent.as_object_mut().expect("an object").remove(*last)),
        }
        request
    };
    let mut raw = fresh();
    for (path, name) in [
        (&["params", "clientInfo"][..], "clientInfo"),
        (&["params", "clientInfo", "name"], "clientInfo.name"),
        (&["params", "clientInfo", "version"], "clientInfo.version"),
        (&["params", "protocolVersion"], "protocolVersion"),
        (&["params", "capabilities"], "capabilities"),
        (&["params"], "protocolVersion (a string), capabilities (an object), clientInfo"),
    ] {
        for value in [None, Some(Value::Null), Some(json!(7)), Some(json!([])), Some(json!(true))] {
            raw.send(change(path, value).to_string());
            let said = is_refused(&mut raw, &json!(7), -32602);
            assert!(said.contains(name), "{name}: {said}");
        }
    }
    for (path, value) in [
        (&["params", "clientInfo", "title"][..], json!(7)),
        (&["params", "clientInfo", "icons"], json!("x".repeat(1000))),
        (&["params", "capabilities", "experimental"], json!({ "x".repeat(1000): 1 })),
    ] {
        raw.send(change(path, Some(value)).to_string());
        assert!(is_refused(&mut raw, &json!(7), -32602).contains(path[2]));
    }
    raw.begin();
    raw.send(change(&["params", "clientInfo"], None).to_string());
    is_refused(&mut raw, &json!(7), -32602);
    assert!(raw.is_silent());
    let mut stderr = raw.child.stderr.take().expect("piped");
    assert_eq!(raw.end(), (vec![], Some(0)));
    let mut said = String::new();
    stderr.read_to_string(&mut said).expect("UTF-8");
    assert_eq!(said, "");
}

#[test]
fn nothing_before_a_session_ends_it() {
    for line in [
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}"#,
        r#"{"jsonrpc":"2.0","method":"tools/list"}"#,
        r#"{"jsonrpc":"2.0","id":3,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":3,"error":{"code":1,"message":"x"}}"#,
    ] {
        let mut raw = fresh();
        raw.send(line);
        assert!(raw.is_silent(), "{line}");
        for method in ["tools/list", "tools/call", "server/discover", "no/such/method", "notifications/initialized"] {
            raw.send(json!({ "jsonrpc": "2.0", "id": method, "method": method }).to_string());
            assert_eq!(raw.receive()["id"], method);
        }
        raw.begin();
        raw.send(LIST);
        assert!(raw.receive()["result"]["tools"].is_array());
    }
    let mut raw = fresh();
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} });
    for method in ["server/discover", "tools/list"] {
        raw.send(json!({ "jsonrpc": "2.0", "id": method, "method": method, "params": { "_meta": meta } }).to_string());
        let answer = raw.receive();
        assert!(answer["id"] == method && answer["result"].is_object(), "{answer}");
    }
    let (rest, status) = fresh().end();
    assert_eq!((rest, status), (vec![], Some(2)));
}

#[test]
fn each_request_of_a_batch_is_refused() {
    for mut raw in [fresh(), Raw::start(Path::new(REPOSITORY))] {
        let (notification, response) = (json!({ "jsonrpc": "2.0", "method": "x" }), json!({ "jsonrpc": "2.0", "id": 9, "result": {} }));
        let request = |id: Value| json!({ "jsonrpc": "2.0", "id": id, "method": "ping" });
        for (batch, ids) in [
            (json!([request(json!(1)), notification, request(json!("b"))]), json!([1, "b"])),
            (json!([response, request(json!(1))]), json!([1])),
            (json!([1, {}, request(json!({}))]), json!([null, null, null])),
            (json!([request(json!(1)), request(json!(1)), [request(json!(2))]]), json!([1, 1, null])),
        ] {
            raw.send(batch.to_string());
            let answers = raw.receive();
            let answers = answers.as_array().expect("one array");
            answers.iter().for_each(|answer| drop(is_error(answer, &answer["id"], -32600)));
            assert_eq!(answers.iter().map(|answer| answer["id"].clone()).collect::<Value>(), ids, "{batch}");
        }
        for batch in [json!([]), json!([notification]), json!([response, notification]), vec![json!(1); 20_000].into()] {
            raw.send(batch.to_string());
            is_refused(&mut raw, &Value::Null, -32600);
        }
        assert!(raw.is_silent());
    }
}

#[test]
fn what_is_json_but_no_message_is_answered_under_its_id() {
    let number: Value = serde_json::from_str("18446744073709551615").expect("a number");
    for mut raw in [fresh(), Raw::start(Path::new(REPOSITORY))] {
        for line in ["1", "null", "true", "\"x\"", "1.5"] {
            raw.send(line);
            is_refused(&mut raw, &Value::Null, -32600);
        }
        for (mut fields, id) in [
            (json!({ "id": 7 }), json!(7)),
            (json!({ "id": "a" }), json!("a")),
            (json!({ "id": 7, "method": 7 }), json!(7)),
            (json!({ "id": 7, "method": null }), json!(7)),
            (json!({ "id": 7, "method": ["ping"] }), json!(7)),
            (json!({ "id": 7, "method": "ping", "jsonrpc": "1.0" }), json!(7)),
            (json!({ "id": 7, "method": "ping", "jsonrpc": 2.0 }), json!(7)),
            (json!({ "id": 7, "method": "ping", "jsonrpc": null }), json!(7)),
            (json!({ "id": 7, "method": "ping", "result": {} }), json!(7)),
            (json!({ "id": 7, "method": "ping", "error": {} }), json!(7)),
            (json!({ "id": 7, "result": 1, "error": {} }), json!(7)),
            (json!({ "id": 7, "method": "tools/list", "params": "x" }), json!(7)),
            (json!({ "id": number, "method": "ping" }), number.clone()),
            (json!({ "id": 1.5, "method": "ping" }), Value::Null),
            (json!({ "id": {}, "method": "ping" }), Value::Null),
            (json!({ "id": [1], "method": "ping" }), Value::Null),
            (json!({ "id": true, "method": "ping" }), Value::Null),
            (json!({ "id": null, "method": "ping" }), Value::Null),
            (json!({ "method": 7 }), Value::Null),
            (json!({}), Value::Null),
        ] {
            let message = fields.as_object_mut().expect("an object");
            message.entry("jsonrpc").or_insert("2.0".into());
            raw.send(fields.to_string());
            is_refused(&mut raw, &id, -32600);
        }
        raw.send(r#"{"id":7,"method":"ping"}"#);
        assert!(is_refused(&mut raw, &json!(7), -32600).contains("jsonrpc"));
        assert!(raw.is_silent());
    }
}

#[test]
fn an_id_has_one_answer() {
    let directory = tempfile::tempdir().expect("a directory");
    let arguments = long_search(directory.path(), 20);
    let mut raw = Raw::start(directory.path());
    let call = |arguments: &Value| {
        json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": { "name": "grep", "arguments": arguments } }).to_string()
    };
    raw.send([call(&arguments), call(&json!({ "pattern": "no" })), LIST.replace("\"list\"", "7")].join("\n"));
    for _ in 0..2 {
        assert!(is_refused(&mut raw, &json!(7), -32600).contains("in use"));
    }
    let answer = raw.receive();
    assert!(answer["id"] == 7 && answer["result"]["content"][0]["text"].as_str().expect("a text").contains("[a-z]"), "{answer}");
    for _ in 0..200 {
        raw.send(LIST); // the same id, one after another
        assert!(raw.receive()["result"]["tools"].is_array());
    }
}

#[test]
fn an_id_that_is_used_again_has_its_own_answer() {
    let directory = tempfile::tempdir().expect("a directory");
    let arguments = long_search(directory.path(), 20);
    let mut raw = Raw::start(directory.path());
    let call = |name: &str, arguments: &Value| {
        json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": { "name": name, "arguments": arguments } }).to_string()
    };
    let withdrawn = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 7 } }).to_string();
    std::fs::write(directory.path().join("own.txt"), "its own\n").expect("written");
    for _ in 0..20 {
        raw.send([call("grep", &arguments), withdrawn.clone(), call("read_file", &json!({ "path": "own.txt" }))].join("\n"));
        let answer = raw.receive();
        assert_eq!((&answer["id"], &answer["result"]["content"][0]["text"]), (&json!(7), &json!("its own\n")), "{answer}");
    }
    assert!(raw.is_silent());
}

#[test]
fn what_takes_long_is_answered_after_the_end_of_the_input() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("an address");
    let url = format!("http://{}", silent.local_addr().expect("an address")); // it takes connections, and says nothing
    let mut raw = Raw::of(Command::new(BINARY).current_dir(REPOSITORY).args(["--no-ledger", "--remote", &url, "--remote-timeout", "7"]));
    raw.begin();
    raw.call(1, "read_file", json!({ "path": FILE, "context_focus_question": QUESTION }));
    let (rest, status) = raw.end();
    let answer = rest.iter().find(|answer| answer["id"] == 1).expect("an answer");
    assert!(
        answer["result"]["content"][0]["text"].as_str().is_some_and(|text| text.contains("Chosen by the embedded skimmer")),
        "{answer}"
    );
    assert_eq!(status, Some(0));
}

#[test]
fn calls_that_are_withdrawn_take_no_place() {
    let directory = tempfile::tempdir().expect("a directory");
    let arguments = long_search(directory.path(), 1000);
    let mut raw = Raw::start(directory.path());
    for id in 0..300 {
        raw.send(
            json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "grep", "arguments": arguments } }).to_string(),
        );
        raw.send(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }).to_string());
    }
    raw.send(LIST);
    assert_eq!(raw.receive()["id"], "list");
}

#[test]
fn what_is_under_way_is_answered_at_the_end_of_the_input() {
    let directory = tempfile::tempdir().expect("a directory");
    let arguments = long_search(directory.path(), 20);
    let mut raw = Raw::start(directory.path());
    raw.call(1, "grep", arguments);
    raw.child.stdin.as_mut().expect("piped").write_all(LIST.as_bytes()).expect("sent"); // and no end of the line
    let (rest, status) = raw.end();
    let answered = |id: Value| rest.iter().any(|answer| answer["id"] == id && answer["result"].is_object());
    assert!(answered(json!(1)) && answered(json!("list")) && status == Some(0), "{rest:?}");
    let mut raw = fresh();
    raw.send("no JSON");
    let (rest, _) = raw.end();
    assert_eq!((rest.len(), &rest[0]["error"]["code"]), (1, &json!(-32700)));
}

/// Megabytes of memory that are the server's.
#[cfg(target_os = "linux")]
fn memory(child: &std::process::Child) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
    line.trim().trim_end_matches(" kB").parse::<usize>().expect("a number") >> 10
}

#[cfg(target_os = "linux")]
#[test]
fn a_client_that_does_not_read_fills_no_memory() {
    use std::io::{BufRead, BufReader};

    const CALLS: usize = 3000;
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("a.txt"), "0123456789abcdef0123456789abcdef\n".repeat(1500)).expect("written");
    let mut child =
        Command::new(BINARY).current_dir(directory.path()).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut input = child.stdin.take().expect("piped");
    let (sent, is_sent) = std::sync::mpsc::channel();
    let writing = std::thread::spawn(move || {
        writeln!(input, "{}", initialize(0)).expect("sent");
        for id in 1..=CALLS {
            let params = json!({ "name": "read_file", "arguments": { "path": "a.txt" } });
            writeln!(input, "{}", json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })).expect("sent");
        }
        let _ = sent.send(());
        input // open until all is read
    });
    assert!(is_sent.recv_timeout(Duration::from_secs(5)).is_err(), "it reads on though nobody reads its answers");
    let megabytes = memory(&child);
    assert!(megabytes < 300, "{megabytes} MB");
    let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let mut ids: Vec<u64> = Vec::new();
    for line in lines.take(CALLS + 1) {
        let answer: Value = serde_json::from_str(&line.expect("UTF-8")).expect("JSON");
        assert!(answer["result"].is_object(), "{answer}");
        ids.push(answer["id"].as_u64().expect("an id"));
    }
    ids.sort_unstable();
    assert!(ids.into_iter().eq(0..=CALLS as u64));
    drop(writing.join().expect("all is sent"));
    assert!(child.wait().expect("it ends").success());
}

#[cfg(target_os = "linux")]
#[test]
fn a_message_that_is_too_long_is_refused_and_passed_over() {
    let mut raw = Raw::start(Path::new(REPOSITORY));
    let filler = "a".repeat(1 << 20);
    for (start, id) in [
        (r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":""#, json!(7)),
        (r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":""#, Value::Null),
        ("", Value::Null),
    ] {
        let input = raw.child.stdin.as_mut().expect("piped");
        input.write_all(start.as_bytes()).expect("sent");
        for _ in 0..300 {
            input.write_all(filler.as_bytes()).expect("sent");
        }
        raw.send("\"}}");
        assert!(is_refused(&mut raw, &id, -32600).contains("16 MB"));
    }
    let megabytes = memory(&raw.child);
    assert!(megabytes < 300, "{megabytes} MB");
    raw.call(1, "read_file", json!({ "path": "a".repeat(15 << 20) }));
    assert_eq!(raw.receive()["result"]["isError"], true);
    assert!(raw.is_silent());
}

/// Values of any type.
fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z/\\\\\"\u{0}é]{0,8}".prop_map(Value::from),
        prop::sample::select(vec!["2.0", "tools/list", "tools/call", "initialize", "ping", "notifications/cancelled", "2025-06-18"])
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        let key =
            prop::sample::select(vec!["jsonrpc", "id", "method", "params", "result", "error", "_meta", "name", "arguments", "requestId"]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key, inner), 0..5).prop_map(|fields| fields
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect::<Map<_, _>>()
                .into()),
        ]
    })
}

/// Lines that are messages in part.
fn garbled() -> impl Strategy<Value = Vec<u8>> {
    let call =
        json!({ "jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": { "name": "head", "arguments": { "path": "Cargo.toml" } } });
    let whole = prop::sample::select(vec![call.to_string(), initialize(6).to_string(), LIST.replace("\"list\"", "8"), format!("[{call}]")]);
    let field = prop::sample::select(vec!["jsonrpc", "id", "method", "params"]);
    let changed = (field, any_value()).prop_map(move |(field, value)| {
        let mut call = call.clone();
        call[field] = value;
        call.to_string().into_bytes()
    });
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..60),
        any_value().prop_map(|value| value.to_string().into_bytes()),
        changed,
        (whole, any::<prop::sample::Index>(), prop::collection::vec(any::<u8>(), 0..3), 0..4usize).prop_map(|(text, at, bytes, cut)| {
            let at = at.index(text.len());
            [&text.as_bytes()[..at], &bytes, &text.as_bytes()[(at + cut).min(text.len())..]].concat()
        }),
        any::<prop::sample::Index>().prop_map(|at| LIST.as_bytes()[..at.index(LIST.len())].to_vec()),
    ]
    .prop_map(|mut line| {
        line.retain(|byte| *byte != b'\n');
        line
    })
}

#[test]
fn no_line_ends_the_server() {
    let servers = std::cell::RefCell::new([(fresh(), true), (Raw::start(Path::new(REPOSITORY)), false)]);
    let late = Instant::now() + Duration::from_secs(60);
    let count = std::cell::Cell::new(0);
    let lines = prop::collection::vec(garbled(), 1..8);
    let test = |lines: Vec<Vec<u8>>| {
        for (raw, _) in servers.borrow_mut().iter_mut() {
            count.set(count.get() + 1);
            let id = format!("asked {}", count.get());
            lines.iter().for_each(|line| raw.send(line));
            raw.send(LIST.replace("list\",\"m", &format!("{id}\",\"m")));
            while raw.receive()["id"] != id {
                assert!(Instant::now() < late, "{lines:?}");
            }
        }
        Ok(())
    };
    TestRunner::default().run(&lines, test).expect("an answer to each");
    for (mut raw, is_fresh) in servers.into_inner() {
        if is_fresh {
            raw.send(initialize(1).to_string());
            while raw.receive()["id"] != 1 {}
        }
        raw.send(LIST.replace("\"list\"", "\"last\""));
        let answer = std::iter::repeat_with(|| raw.receive()).find(|answer| answer["id"] == "last").expect("an answer");
        assert!(answer["result"]["tools"].is_array(), "{answer}");
    }
}
