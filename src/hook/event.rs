//! What hooks are told and what they say, and what is common to all clients.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::{Output, Session};

/// What Claude Code says before and after it uses a tool.
#[derive(Deserialize)]
pub struct Event {
    /// The session.
    pub session_id: String,
    /// Where the session is recorded.
    pub transcript_path: Option<PathBuf>,
    /// The directory that Claude Code works in.
    pub cwd: PathBuf,
    /// When it says so.
    #[serde(default)]
    pub hook_event_name: String,
    /// The tool.
    pub tool_name: String,
    /// Its arguments.
    pub tool_input: Value,
    /// What it returned.
    #[serde(default)]
    pub tool_response: Value,
    /// Which call it is.
    #[serde(default)]
    pub tool_use_id: String,
}

/// What a hook works with.
pub struct Hook<'a> {
    /// Where it is noted what happened in sessions, and where outputs of commands are kept.
    pub memory: PathBuf,
    /// What the server may read; the directory that the client works in if there are none.
    pub roots: &'a [PathBuf],
    /// Opens a session; it is asked for only where something is pruned.
    pub session: &'a (dyn Fn() -> Option<Session> + Sync),
}

/// What a hook says.
#[derive(Debug, Default)]
pub struct Answer {
    /// For the client, on standard output; nothing lets the original stay.
    pub said: String,
    /// The view that took the place of a result, and the question, for the ledger.
    pub pruned: Option<(Output, String)>,
}

impl Answer {
    /// Words to the client, if any, and no view.
    pub fn only(said: Option<String>) -> Self {
        Self { said: said.unwrap_or_default(), pruned: None }
    }
}

/// A result of a client's own tool.
pub struct Returned<'a> {
    /// The session that it belongs to.
    pub session: &'a str,
    /// What it is of.
    pub of: Of<'a>,
    /// Its text.
    pub text: &'a str,
}

/// What a result is of.
#[derive(Clone, Copy)]
pub enum Of<'a> {
    /// All of a file, by its path, and how the client's own tool reads lines of it and all of it.
    File(&'a str, &'static str),
    /// A search, by its pattern.
    Search(&'a str),
    /// A command, and what it is for in the agent's words.
    Command(&'a str, &'a str),
}

/// The answer that stops a call.
pub fn deny(reason: &str) -> String {
    let decision = json!({ "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": reason });
    json!({ "hookSpecificOutput": decision }).to_string()
}
