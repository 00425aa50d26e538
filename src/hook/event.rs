//! What hooks are told and what they say, and what is common to all clients.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::{Output, Session};
use crate::workspace::given::{lexical, shown};

/// What a client says before and after it uses a tool. Copilot CLI has its own names.
#[derive(Deserialize)]
pub struct Event {
    /// The session.
    #[serde(alias = "sessionId")]
    pub session_id: String,
    /// The agent within it, if it is not the first.
    #[serde(default)]
    pub agent_id: Option<String>,
    /// Where the session is recorded.
    pub transcript_path: Option<PathBuf>,
    /// The directory that the client works in.
    pub cwd: PathBuf,
    /// When it says so.
    #[serde(default)]
    pub hook_event_name: String,
    /// The tool.
    #[serde(alias = "toolName")]
    pub tool_name: String,
    /// Its arguments.
    #[serde(alias = "toolArgs")]
    pub tool_input: Value,
    /// What it returned.
    #[serde(default, alias = "toolResult")]
    pub tool_response: Value,
    /// Which call it is.
    #[serde(default)]
    pub tool_use_id: String,
}

impl Event {
    /// An argument that is a text; an empty one where there is none.
    pub fn input(&self, name: &str) -> &str {
        self.tool_input[name].as_str().unwrap_or_default()
    }

    /// An argument that is a path, beneath the directory that the client works in; empty where there is none.
    pub fn path(&self, name: &str) -> String {
        Some(self.input(name)).filter(|path| !path.is_empty()).map_or_else(String::new, |path| shown(&lexical(path, &self.cwd)))
    }

    /// Who reads: the session, or an agent within it, which has not read what the session has.
    pub fn reader(&self) -> String {
        self.agent_id.as_ref().map_or_else(|| self.session_id.clone(), |agent| format!("{}-{agent}", self.session_id))
    }

    /// An argument that is a number.
    pub fn number(&self, name: &str) -> Option<usize> {
        self.tool_input[name].as_u64().and_then(|number| usize::try_from(number).ok())
    }

    /// Whether a tool was called with these arguments at most; those that are null count as absent.
    pub fn has_only(&self, names: &[&str]) -> bool {
        self.tool_input.as_object().is_some_and(|all| all.iter().all(|(name, value)| names.contains(&name.as_str()) || value.is_null()))
    }
}

/// What a hook works with.
pub struct Hook<'a> {
    /// Where it is noted what happened in sessions, and where outputs of commands are kept.
    pub memory: PathBuf,
    /// The user's directory, in which clients keep their records.
    pub home: PathBuf,
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
    /// What the agent gets to see, for the ledger; none where codeskim had no part in it.
    pub noted: Option<Noted>,
}

/// A view that took the place of a result, or what was read again after one.
#[derive(Debug)]
pub struct Noted {
    /// The client's session.
    pub session: String,
    /// What the agent sees.
    pub output: Output,
    /// What a view answers.
    pub question: Option<String>,
}

impl Answer {
    /// Words to the client, if any, and no view.
    pub fn only(said: Option<String>) -> Self {
        Self { said: said.unwrap_or_default(), noted: None }
    }

    /// The view that takes the place of a result, told to the client in its way; nothing is said of what it is to get as it is.
    pub fn with(noted: Noted, said: impl FnOnce(&str) -> Value) -> Self {
        let said = noted.question.as_ref().map(|_| said(&noted.output.text).to_string());
        Self { said: said.unwrap_or_default(), noted: Some(noted) }
    }
}

/// A result of a client's own tool.
pub struct Returned<'a> {
    /// The session that it belongs to.
    pub session: &'a str,
    /// What it is of.
    pub of: Of,
    /// Its text.
    pub text: &'a str,
}

/// What a result is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Of {
    /// All of a file, by its path, and how the client's own tool reads lines of it and all of it.
    File(String, &'static str),
    /// A search, by its pattern.
    Search(String),
    /// A command, and what it is for in the agent's words.
    Command(String, String),
}

/// The answer that stops a call.
pub fn deny(reason: &str) -> String {
    let decision = json!({ "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": reason });
    json!({ "hookSpecificOutput": decision }).to_string()
}
