//! How soon an agent is served: from the start of the process to the first answer, and to the first pruned read.
//!
//! ```text
//! cargo bench --bench start      the ratio is to `python3 -c pass`, what any server in Python needs before its first line runs
//! ```

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const HANDSHAKES: usize = 50;
const READS: usize = 20;
/// Between two reads, so that the ledger of the first is written: with the vocabulary to load, that takes half a second of another core.
const PAUSE: Duration = Duration::from_secs(1);
const QUESTION: &str = "Where is it decided which lines are kept when the result would be too long?";

/// A server that was just started.
struct Server {
    child: std::process::Child,
    answers: std::io::Lines<BufReader<std::process::ChildStdout>>,
    began: Instant,
}

impl Server {
    fn start(directory: &Path) -> Self {
        let began = Instant::now();
        let mut child = Command::new(env!("CARGO_BIN_EXE_codeskim"))
            .current_dir(directory)
            .env("CODESKIM_LEDGER", std::env::temp_dir().join("codeskim-bench-ledger.jsonl")) // as anyone has one
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let answers = BufReader::new(child.stdout.take().expect("piped")).lines();
        Self { child, answers, began }
    }

    /// Sends a request and returns the answer with the milliseconds since the process was started.
    fn ask(&mut self, method: &str, params: Value) -> (Value, f64) {
        writeln!(self.child.stdin.as_mut().expect("piped"), "{}", json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }))
            .expect("sent");
        let answer = self.answers.next().expect("an answer").expect("UTF-8");
        (serde_json::from_str(&answer).expect("JSON"), self.began.elapsed().as_secs_f64() * 1000.0)
    }

    fn initialize(&mut self) -> f64 {
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "bench", "version": "0" } });
        let (_, time) = self.ask("initialize", params);
        writeln!(self.child.stdin.as_mut().expect("piped"), "{}", json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))
            .expect("sent");
        time
    }

    /// Milliseconds from start to a pruned read, and what the read itself took; then the same read again, as an agent does, some time later.
    fn read(&mut self, path: &str) -> [f64; 3] {
        let mut call = || {
            let began = self.began.elapsed().as_secs_f64() * 1000.0;
            let arguments = json!({ "path": path, "context_focus_question": QUESTION });
            let (answer, time) = self.ask("tools/call", json!({ "name": "read_file", "arguments": arguments }));
            let text = answer["result"]["content"][0]["text"].as_str().expect("text");
            assert!(text.lines().next().is_some_and(|header| header.contains(" lines")), "not pruned: {text}");
            (time, time - began)
        };
        let (since_start, first) = call();
        std::thread::sleep(PAUSE);
        [since_start, first, call().1]
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() {
    let directory = tempfile::tempdir().expect("a directory");
    let sources = ["src/prune/select.rs", "src/prune/structure.rs", "src/prune/render.rs", "src/workspace/mod.rs", "src/tools/grep.rs"];
    let code: String =
        sources.iter().map(|path| std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect("a source")).collect();
    for lines in [150, 800] {
        let text: String = code.split_inclusive('\n').take(lines).collect();
        assert_eq!(text.lines().count(), lines);
        std::fs::write(directory.path().join(format!("{lines}.rs")), text).expect("written");
    }
    // The interpreter itself, past any version manager's wrapper
    let found = Command::new("python3").args(["-c", "import sys; print(sys.executable, end='')"]).output().expect("python3");
    let interpreter = String::from_utf8(found.stdout).expect("a path");
    let python = (0..HANDSHAKES).map(|_| {
        let began = Instant::now();
        Command::new(&interpreter).args(["-c", "pass"]).status().expect("python3");
        began.elapsed().as_secs_f64() * 1000.0
    });
    let python = median(python.collect());
    let start = median((0..HANDSHAKES).map(|_| Server::start(directory.path()).initialize()).collect());
    println!(
        "start to the answer to initialize: {start:.1} ms (median of {HANDSHAKES}); python3 -c pass: {python:.1} ms; ratio {:.2}",
        start / python
    );
    for lines in [150, 800] {
        let times: Vec<[f64; 3]> = (0..READS)
            .map(|_| {
                let mut server = Server::start(directory.path());
                server.initialize();
                server.read(&format!("{lines}.rs"))
            })
            .collect();
        let column = |i: usize| median(times.iter().map(|times| times[i]).collect());
        println!(
            "{lines} lines: start to first pruned read {:.1} ms, the read itself {:.1} ms, the same read again {:.1} ms (medians of {READS})",
            column(0),
            column(1),
            column(2)
        );
    }
}
