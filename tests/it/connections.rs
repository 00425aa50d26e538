//! HTTP where many connect, send half of what they began, or send what is no message.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::common::{BINARY, REPOSITORY};
use crate::serving::{Served, post, serve};

/// Connects and sends the beginning of something.
fn begin(served: &Served, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(served.base.trim_start_matches("http://")).expect("connected");
    let _ = stream.write_all(text.as_bytes());
    stream
}

/// What comes back until the connection ends, or for so long.
fn rest(stream: &mut TcpStream, patience: Duration) -> Option<String> {
    stream.set_read_timeout(Some(patience)).expect("set");
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Err(error) if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) => None,
        _ => Some(String::from_utf8_lossy(&answer).into_owned()),
    }
}

/// How long it takes until /health answers.
fn healthy(served: &Served) -> Duration {
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(20) {
        let mut stream = begin(served, "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        if rest(&mut stream, Duration::from_secs(2)).is_some_and(|answer| answer.contains("healthy")) {
            return began.elapsed();
        }
    }
    panic!("/health does not answer");
}

/// A server that may have few descriptors.
fn small() -> Served {
    let mut command = Command::new("sh");
    command.args(["-c", r#"ulimit -n 128; exec "$0" serve --http 0"#, BINARY]).current_dir(REPOSITORY).stderr(Stdio::piped());
    Served::of(command.env_remove("CODESKIM_TOKEN"))
}

const HALF: &str = "POST /prune HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{\"query\":";

#[test]
fn connections_that_do_nothing_keep_nobody_out() {
    let served = small();
    let prune = |count: usize| {
        let answers = (0..count).map(|_| post(&format!("{}/prune", served.base), &[], &json!({ "query": "why?", "code": "x" })).0);
        assert!(answers.into_iter().all(|status| status == 200));
    };
    let heads = ["", "GET /health HTTP/1.1\r\nHost: ", HALF, "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n", "\r\n"];
    for head in heads {
        let _open: Vec<TcpStream> = (0..200).map(|_| begin(&served, head)).collect();
        assert!(healthy(&served) < Duration::from_secs(5), "{head}");
        prune(3);
    }
    prune(40);
}

#[test]
fn a_head_that_does_not_come_is_not_waited_for() {
    let served = serve(&["--http", "0"], None);
    let began = Instant::now();
    let mut open = ["", "GET /health HT", "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"].map(|head| begin(&served, head));
    for stream in &mut open {
        assert!(rest(stream, Duration::from_secs(25)).is_some(), "it is closed");
    }
    assert!(began.elapsed() < Duration::from_secs(25));
}

#[test]
fn what_is_no_message_is_answered_as_json_rpc_does() {
    let served = serve(&["--http", "0"], None);
    let ask = |body: &[u8]| {
        let head =
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n";
        let mut stream = begin(&served, &format!("{head}Connection: close\r\nContent-Length: {}\r\n\r\n", body.len()));
        stream.write_all(body).expect("sent");
        let answer = rest(&mut stream, Duration::from_secs(20)).expect("an answer");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        assert!(head.contains("content-type: application/json"), "{head}");
        (head[9..12].to_owned(), serde_json::from_str::<Value>(body).expect("JSON"))
    };
    for (body, code, id) in [
        ("{", -32700, Value::Null),
        ("", -32700, Value::Null),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"", -32700, Value::Null),
        ("nonsense", -32700, Value::Null),
        ("[]", -32600, Value::Null),
        ("5", -32600, Value::Null),
        ("{}", -32600, Value::Null),
        (r#"{"jsonrpc":"2.0","id":7}"#, -32600, json!(7)),
    ] {
        let (status, answer) = ask(body.as_bytes());
        assert_eq!((status.as_str(), &answer["error"]["code"], &answer["id"]), ("400", &json!(code), &id), "{body}: {answer}");
        assert_eq!(answer["jsonrpc"], "2.0");
    }
    let call = |path: &[u8]| {
        let begin = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"path":""#;
        ask(&[begin, path, br#""}}}"#].concat())
    };
    for path in [br"no \ud83d such".as_slice(), b"no \xe9 such", br"no \uDE00 such"] {
        let (status, answer) = call(path);
        let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
        assert!(status == "200" && text.contains("There is no file \"no \u{fffd} such\""), "{answer}");
    }
}
