//! Running the built binary: as a command, and as a server for rmcp's own client.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use rmcp::RoleClient;
use rmcp::model::{CallToolRequestParams, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, RunningService};
use rmcp::transport::TokioChildProcess;
use serde_json::Value;

/// The binary under test.
pub const BINARY: &str = env!("CARGO_BIN_EXE_codeskim");
/// This repository: real code to read.
pub const REPOSITORY: &str = env!("CARGO_MANIFEST_DIR");
/// A file of it, as in the README.
pub const FILE: &str = "src/workspace/mod.rs";
/// What the README asks of that file.
pub const QUESTION: &str = "What happens with a link whose target is absolute but lies inside the root?";

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
