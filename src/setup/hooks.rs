//! Where each client that has hooks keeps them, and how codeskim's are written.

use std::path::PathBuf;

use serde_json::json;

use super::clients::{Client, Launch, Places};
use super::edit::{self, HOOK};
use crate::hook::LARGE;

/// What a hook does with what an agent reads by its own tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum HookKind {
    /// Prune large results on their way to the model, to a question taken from what the agent said
    Prune,
    /// Stop a large read once, and name the tool that would cost less
    Steer,
}

/// The plugin of opencode; what it starts, and which results are large, is put in.
const PLUGIN: &str = include_str!("opencode.js");
/// Seconds that Copilot CLI waits for its hook.
const PATIENCE: u64 = 5;

/// The file of a client's hooks, for the user or for one project; none where codeskim knows of none.
pub fn path(client: Client, places: &Places, project: bool) -> Option<PathBuf> {
    let own = |in_project: &str| if project { places.project.join(in_project) } else { client.directory(places) };
    Some(match client {
        Client::ClaudeCode => own(".claude").join("settings.json"),
        Client::Codex => own(".codex").join("hooks.json"),
        Client::Copilot => own(".github").join("hooks/codeskim.json"),
        Client::Gemini => own(".gemini").join("settings.json"),
        Client::Opencode => own(".opencode").join("plugin/codeskim.js"),
        _ => return None,
    })
}

/// Whether a client has hooks that do such a thing.
pub fn does(client: Client, kind: HookKind) -> bool {
    match client {
        Client::Copilot | Client::Opencode => kind == HookKind::Prune,
        _ => !events(client, kind).is_empty(),
    }
}

/// Whether the file of a client's hooks is codeskim's alone.
pub fn is_own(client: Client) -> bool {
    matches!(client, Client::Copilot | Client::Opencode)
}

/// At which events codeskim is run, and for which tools, by clients whose hooks are in one file.
fn events(client: Client, kind: HookKind) -> &'static [(&'static str, &'static str)] {
    match (client, kind) {
        (Client::ClaudeCode, HookKind::Prune) => &[("PostToolUse", "Read|Grep|Bash"), ("PreToolUse", "Write")],
        (Client::ClaudeCode, HookKind::Steer) => &[("PreToolUse", "Read|Grep")],
        (Client::Codex, HookKind::Prune) => &[("PostToolUse", "Bash"), ("PreToolUse", "apply_patch")],
        (Client::Gemini, HookKind::Prune) => &[("AfterTool", "read_file|grep_search|run_shell_command"), ("BeforeTool", "write_file")],
        _ => &[],
    }
}

/// The file of a client's hooks with codeskim's in it.
///
/// # Errors
/// A file that is broken.
pub fn with(client: Client, kind: HookKind, launch: &Launch, text: &str) -> Result<String, String> {
    match client {
        Client::Opencode => {
            let (name, roots) = (client.name(), roots(launch).flat_map(|root| ["--root", root]));
            let command: Vec<&str> = [&launch.command, "hook", &name].into_iter().chain(roots).collect();
            let plugin = PLUGIN.replacen("const COMMAND = []", &format!("const COMMAND = {}", json!(command)), 1);
            Ok(plugin.replacen("const LARGE = 0", &format!("const LARGE = {LARGE}"), 1))
        }
        Client::Copilot => {
            let (bash, powershell) = (shell(client, launch, r"'\''"), format!("& {}", shell(client, launch, "''")));
            let hook = json!({ "type": "command", "bash": bash, "powershell": powershell, "timeoutSec": PATIENCE });
            let all = json!({ "version": 1, "hooks": { "postToolUse": [hook] } });
            Ok(format!("{all:#}\n"))
        }
        _ => edit::with_hooks(text, events(client, kind), &shell(client, launch, r"'\''")),
    }
}

/// What a shell runs as a hook, in which a quote within quotes is written in this way.
fn shell(client: Client, launch: &Launch, quote: &str) -> String {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', quote));
    let roots = roots(launch).map(|root| format!(" --root {}", quoted(root)));
    format!("{} {HOOK}{}{}", quoted(&launch.command), client.name(), roots.collect::<String>())
}

fn roots(launch: &Launch) -> impl Iterator<Item = &str> {
    launch.arguments.windows(2).filter(|pair| pair[0] == "--root").map(|pair| pair[1].as_str())
}

/// What is left to do before a hook runs.
pub fn next(client: Client) -> Option<&'static str> {
    (client == Client::Codex).then_some("Codex runs only hooks that you trust: it asks at its next start, and /hooks lists them.")
}
