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

/// Whether a file is such a one, as codeskim has written it.
pub fn wrote(client: Client, text: &str) -> bool {
    match client {
        Client::Opencode => text.lines().next() == PLUGIN.lines().next(),
        _ => edit::starts_codeskim(text),
    }
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
            let name = client.name();
            let command: Vec<&str> = [&launch.command, "hook", &name].into_iter().chain(passed_on(launch)).collect();
            let plugin = PLUGIN.replacen("const COMMAND = []", &format!("const COMMAND = {}", json!(command)), 1);
            Ok(plugin.replacen("const LARGE = 0", &format!("const LARGE = {LARGE}"), 1))
        }
        Client::Copilot => {
            let (bash, powershell) = (Shell::Posix.command(client, launch), Shell::Power.command(client, launch));
            let hook = json!({ "type": "command", "bash": bash, "powershell": powershell, "timeoutSec": PATIENCE });
            let all = json!({ "version": 1, "hooks": { "postToolUse": [hook] } });
            Ok(format!("{all:#}\n"))
        }
        _ => edit::with_hooks(text, events(client, kind), &Shell::of(client, cfg!(windows)).command(client, launch)),
    }
}

/// What runs a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shell {
    /// A shell of Unix; on Windows the one that git brings.
    Posix,
    /// Windows PowerShell, and its successor.
    Power,
    /// Whichever of Windows' own two it is.
    Either,
}

impl Shell {
    /// That of a client: on Windows Claude Code takes git's, Gemini CLI PowerShell, and Codex one or the other, by version.
    fn of(client: Client, on_windows: bool) -> Self {
        match client {
            Client::Gemini if on_windows => Self::Power,
            Client::Codex if on_windows => Self::Either,
            _ => Self::Posix,
        }
    }

    /// A command that runs codeskim as a client's hook.
    fn command(self, client: Client, launch: &Launch) -> String {
        let is_option = |argument: &str| ["--root"].iter().chain(&FLAGS).any(|option| argument == *option);
        let said = |argument: &str| if is_option(argument) { format!(" {argument}") } else { format!(" {}", self.quoted(argument)) };
        let rest = format!("{HOOK}{}{}", client.name(), passed_on(launch).map(said).collect::<String>());
        let program = self.quoted(&launch.command);
        match self {
            Self::Posix => format!("{program} {rest}"),
            Self::Power => format!("& {program} {rest}"),
            Self::Either => format!("cmd /c call {program} {rest}"), // without it cmd takes the first and the last quote away
        }
    }

    fn quoted(self, text: &str) -> String {
        match self {
            Self::Posix => format!("'{}'", text.replace('\'', r"'\''")),
            Self::Power => format!("'{}'", text.replace('\'', "''")),
            Self::Either => format!("\"{text}\""), // no path of Windows has a quote in it
        }
    }
}

/// Options of a server without a value that are a hook's, too: what is noted.
const FLAGS: [&str; 2] = ["--no-ledger", "--ledger-questions"];

/// The arguments of a server that are a hook's, too.
fn passed_on(launch: &Launch) -> impl Iterator<Item = &str> {
    let arguments = launch.arguments.iter().map(String::as_str);
    let before = std::iter::once("").chain(arguments.clone());
    let is_root = |argument: &str| argument == "--root";
    let is_passed =
        move |(before, argument): &(&str, &str)| is_root(before) || is_root(argument) || FLAGS.iter().any(|flag| flag == argument);
    before.zip(arguments).filter(is_passed).map(|(_, argument)| argument)
}

/// What is left to do before a hook runs.
pub fn next(client: Client) -> Option<&'static str> {
    (client == Client::Codex).then_some("Codex runs only hooks that you trust: it asks at its next start, and /hooks lists them.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_shell_is_told_the_program_in_its_own_way() {
        let arguments = ["--keep", "strict", "--root", r"C:\it's here"].map(str::to_owned).to_vec();
        let launch = Launch { command: r"C:\Program Files\codeskim.exe".to_owned(), arguments };
        let told = |client, on_windows| Shell::of(client, on_windows).command(client, &launch);
        let posix = r"'C:\Program Files\codeskim.exe' hook claude-code --root 'C:\it'\''s here'";
        assert_eq!([told(Client::ClaudeCode, false), told(Client::ClaudeCode, true)], [posix, posix]);
        assert_eq!(told(Client::Gemini, true), r"& 'C:\Program Files\codeskim.exe' hook gemini --root 'C:\it''s here'");
        assert_eq!(told(Client::Codex, true), r#"cmd /c call "C:\Program Files\codeskim.exe" hook codex --root "C:\it's here""#);
        let launch =
            Launch { command: "codeskim".to_owned(), arguments: vec!["--no-ledger".to_owned(), "--budget".to_owned(), "9".to_owned()] };
        assert_eq!(Shell::Posix.command(Client::Codex, &launch), "'codeskim' hook codex --no-ledger");
        assert!(
            with(Client::Opencode, HookKind::Prune, &launch, "")
                .is_ok_and(|plugin| plugin.contains(r#"["codeskim","hook","opencode","--no-ledger"]"#))
        );
    }
}
