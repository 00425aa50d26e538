//! Running the built binary: as a command, and as a server for rmcp's own client.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{CallToolRequestParams, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, RunningService};
use rmcp::transport::TokioChildProcess;
use serde_json::{Value, json};

/// The binary under test.
pub const BINARY: &str = env!("CARGO_BIN_EXE_codeskim");
/// This repository: real code to read.
pub const REPOSITORY: &str = env!("CARGO_MANIFEST_DIR");
/// A file of it, as in the README.
pub const FILE: &str = "src/workspace/mod.rs";
/// What the README asks of that file.
pub const QUESTION: &str = "What happens with a link whose target is absolute but lies inside the root?";

/// What was said, without what differs by machine and system: where the root is, and the system's words for what is not there.
pub fn settled(said: &str, root: &Path) -> String {
    let root = dunce::canonicalize(root).unwrap_or_else(|_| root.to_owned()).display().to_string();
    let not_there = |code| std::io::Error::from_raw_os_error(code).to_string();
    let said = said.replace(&root, "ROOT").replace(&not_there(2), NOT_THERE);
    if cfg!(windows) { said.replace(&not_there(3), NOT_THERE) } else { said }
}

/// What Unix says of a file that is not there.
const NOT_THERE: &str = "No such file or directory (os error 2)";

/// A directory with these files.
pub fn directory_of<P: AsRef<Path>, T: AsRef<[u8]>>(files: impl IntoIterator<Item = (P, T)>) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    for (path, text) in files {
        let path = directory.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("created");
        std::fs::write(path, text).expect("written");
    }
    directory
}

/// Both ways in which clients begin.
pub fn eras() -> [ClientLifecycleMode; 2] {
    [ClientLifecycleMode::Initialize, ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] }]
}

/// A client of a server of its own.
pub struct Client(pub RunningService<RoleClient, ()>);

/// What a tool call gave.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    pub text: String,
    pub is_error: bool,
}

/// The lines that a gap stands for, from what follows its marker: `20-47`, `20`, or either with the names of definitions.
pub fn gap(text: &str) -> (usize, usize) {
    let range = text.split(':').next().expect("before the names").trim();
    let (from, to) = range.split_once('-').unwrap_or((range, range));
    (from.parse().expect("a number"), to.parse().expect("a number"))
}

impl Client {
    pub async fn start(directory: &Path, era: ClientLifecycleMode) -> Self {
        Self::start_with(directory, era, &[]).await
    }

    pub async fn start_with(directory: &Path, era: ClientLifecycleMode, arguments: &[&str]) -> Self {
        let mut command = tokio::process::Command::new(BINARY);
        command.current_dir(directory).args(arguments);
        Self::of(command, era).await
    }

    /// A client of the server that a command starts.
    pub async fn of(command: tokio::process::Command, era: ClientLifecycleMode) -> Self {
        Self::of_process(command, era).await.0
    }

    /// The same, and the number of the server's process.
    pub async fn of_process(command: tokio::process::Command, era: ClientLifecycleMode) -> (Self, u32) {
        let transport = TokioChildProcess::new(command).expect("the server starts");
        let process = transport.id().expect("it runs");
        (Self(().serve_with_lifecycle(transport, era).await.expect("the handshake succeeds")), process)
    }

    /// Calls a tool; the result must be exactly one block of text.
    pub async fn call(&self, tool: &'static str, arguments: Value) -> Answer {
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        let result = self.0.call_tool(CallToolRequestParams::new(tool).with_arguments(arguments)).await.expect("an answer");
        assert!(result.structured_content.is_none());
        let [block] = result.content.as_slice() else { panic!("one block: {result:?}") };
        Answer { text: block.as_text().expect("text").text.clone(), is_error: result.is_error == Some(true) }
    }

    /// The text of a call that must succeed.
    pub async fn text(&self, tool: &'static str, arguments: Value) -> String {
        let answer = self.call(tool, arguments).await;
        assert!(!answer.is_error, "{answer:?}");
        answer.text
    }
}

/// What a command printed and its exit status.
#[derive(Debug)]
pub struct Printed {
    pub stdout: String,
    pub stderr: String,
    pub status: i32,
}

/// Runs a command line in a directory.
pub fn codeskim(directory: &Path, arguments: &[&str]) -> Printed {
    codeskim_with_input(directory, arguments, b"")
}

/// The same, with something on standard input.
pub fn codeskim_with_input(directory: &Path, arguments: &[&str], input: &[u8]) -> Printed {
    let mut child = Command::new(BINARY)
        .args(arguments)
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    child.stdin.take().expect("piped").write_all(input).expect("input is read");
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    Printed { stdout: text(output.stdout), stderr: text(output.stderr), status: output.status.code().unwrap_or(-1) }
}

/// A server spoken to line by line, for what a well-behaved client cannot do.
pub struct Raw {
    pub child: Child,
    lines: Receiver<String>,
}

impl Raw {
    /// A server in a session of a client that initializes.
    pub fn start(directory: &Path) -> Self {
        let mut raw = Self::of(Command::new(BINARY).current_dir(directory));
        raw.begin();
        raw
    }

    /// A server that has heard nothing yet.
    pub fn of(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the server starts");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        let (to, lines) = channel();
        std::thread::spawn(move || output.lines().map_while(Result::ok).all(|line| to.send(line).is_ok()));
        Self { child, lines }
    }

    /// Initializes.
    pub fn begin(&mut self) {
        self.send(initialize(0).to_string());
        assert_eq!(self.receive()["result"]["protocolVersion"], "2025-06-18");
        self.send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string());
    }

    pub fn send(&mut self, line: impl AsRef<[u8]>) {
        self.child.stdin.as_mut().expect("piped").write_all(&[line.as_ref(), b"\n"].concat()).expect("sent");
    }

    pub fn receive(&mut self) -> Value {
        let line = self.lines.recv_timeout(Duration::from_secs(120)).expect("an answer");
        serde_json::from_str(&line).expect("stdout carries nothing but JSON-RPC")
    }

    /// What is sent and answered next has to be the same: there is nothing else to be received.
    pub fn is_silent(&mut self) -> bool {
        self.send(r#"{"jsonrpc":"2.0","id":"silent?","method":"ping"}"#);
        self.receive()["id"] == "silent?"
    }

    /// Ends the input: what is answered still, and the exit status.
    pub fn end(mut self) -> (Vec<Value>, Option<i32>) {
        drop(self.child.stdin.take());
        self.rest()
    }

    /// What is answered still, and the exit status.
    pub fn rest(mut self) -> (Vec<Value>, Option<i32>) {
        let mut rest = Vec::new();
        loop {
            match self.lines.recv_timeout(Duration::from_secs(120)) {
                Ok(line) => rest.push(serde_json::from_str(&line).expect("JSON")),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("it does not end"),
            }
        }
        (rest, self.child.wait().expect("it ends").code())
    }

    pub fn call(&mut self, id: u64, tool: &str, arguments: Value) {
        let params = json!({ "name": tool, "arguments": arguments, "_meta": { "progressToken": id } });
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string());
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The request that begins a session.
pub fn initialize(id: u64) -> Value {
    let client = json!({ "name": "test", "version": "0" });
    let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
    json!({ "jsonrpc": "2.0", "id": id, "method": "initialize", "params": params })
}
