//! Where each client keeps its MCP servers, and how it writes one.

use std::path::PathBuf;

/// The name of codeskim's entry.
pub const NAME: &str = "codeskim";

/// An agent that codeskim can be set up for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Client {
    /// Claude Code
    ClaudeCode,
    /// Claude Desktop
    ClaudeDesktop,
    /// OpenAI's Codex
    Codex,
    /// Continue
    Continue,
    /// GitHub Copilot in a terminal
    Copilot,
    /// Cursor
    Cursor,
    /// Gemini CLI
    Gemini,
    /// opencode
    Opencode,
    /// OpenHands
    Openhands,
    /// Qwen Code
    Qwen,
    /// Visual Studio Code
    Vscode,
    /// Zed
    Zed,
}

/// How a configuration is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// JSON, with comments and trailing commas where there are any; servers are in the object of this key.
    Json(&'static str),
    /// TOML; servers are tables below this one.
    Toml(&'static str),
    /// YAML; servers are in the list of this key.
    Yaml(&'static str),
}

/// Where configurations are.
#[derive(Debug, Clone)]
pub struct Places {
    /// The user's directory.
    pub home: PathBuf,
    /// Where the platform keeps the configuration of programs.
    pub config: PathBuf,
    /// The directory that `--project` means.
    pub project: PathBuf,
    /// What the environment says instead: by name.
    pub variable: fn(&str) -> Option<PathBuf>,
}

/// How a client starts codeskim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// The program, as an absolute path: not every client has the user's PATH.
    pub command: String,
    /// Its arguments.
    pub arguments: Vec<String>,
}

/// A value of a configuration, in every format the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A text.
    Text(String),
    /// Texts.
    List(Vec<String>),
    /// Yes or no.
    Flag(bool),
}

/// Properties of an entry, in order.
pub type Entry = [(&'static str, Value)];

impl Client {
    /// What people call it.
    pub fn title(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::ClaudeDesktop => "Claude Desktop",
            Self::Codex => "Codex",
            Self::Continue => "Continue",
            Self::Copilot => "Copilot CLI",
            Self::Cursor => "Cursor",
            Self::Gemini => "Gemini CLI",
            Self::Opencode => "opencode",
            Self::Openhands => "OpenHands",
            Self::Qwen => "Qwen Code",
            Self::Vscode => "VS Code",
            Self::Zed => "Zed",
        }
    }

    /// The user's directory of those clients that keep several things in one.
    pub fn directory(self, places: &Places) -> PathBuf {
        let of = |variable: &str, own: &str| (places.variable)(variable).unwrap_or_else(|| places.home.join(own));
        match self {
            Self::ClaudeCode => of("CLAUDE_CONFIG_DIR", ".claude"),
            Self::Codex => of("CODEX_HOME", ".codex"),
            Self::Copilot => of("COPILOT_HOME", ".copilot"),
            Self::Opencode => of("XDG_CONFIG_HOME", ".config").join("opencode"),
            Self::Zed if cfg!(windows) => places.config.join("Zed"),
            Self::Zed => of("XDG_CONFIG_HOME", ".config").join("zed"),
            _ => places.home.join(format!(".{}", self.name())),
        }
    }

    /// The user's configuration, for all projects.
    pub fn path(self, places: &Places) -> PathBuf {
        let home = |path: &str| places.home.join(path);
        let own = |path: &str| self.directory(places).join(path);
        match self {
            Self::ClaudeCode => (places.variable)("CLAUDE_CONFIG_DIR").unwrap_or_else(|| places.home.clone()).join(".claude.json"),
            Self::ClaudeDesktop => places.config.join("Claude/claude_desktop_config.json"),
            Self::Codex => own("config.toml"),
            Self::Continue => home(".continue/config.yaml"),
            Self::Copilot => own("mcp-config.json"),
            Self::Cursor => home(".cursor/mcp.json"),
            Self::Gemini => own("settings.json"),
            Self::Opencode => either(self.directory(places), "opencode.jsonc", "opencode.json"),
            Self::Openhands => home(".openhands/mcp.json"),
            Self::Qwen => home(".qwen/settings.json"),
            Self::Vscode => places.config.join("Code/User/mcp.json"),
            Self::Zed => own("settings.json"),
        }
    }

    /// The configuration of one project, for clients that have one.
    pub fn project_path(self, places: &Places) -> Option<PathBuf> {
        let path = match self {
            Self::ClaudeCode => ".mcp.json",
            Self::Codex => ".codex/config.toml",
            Self::Cursor => ".cursor/mcp.json",
            Self::Gemini => ".gemini/settings.json",
            Self::Opencode => return Some(either(places.project.clone(), "opencode.jsonc", "opencode.json")),
            Self::Qwen => ".qwen/settings.json",
            Self::Vscode => ".vscode/mcp.json",
            Self::Zed => ".zed/settings.json",
            Self::ClaudeDesktop | Self::Continue | Self::Copilot | Self::Openhands => return None,
        };
        Some(places.project.join(path))
    }

    /// What it is called on the command line.
    pub fn name(self) -> String {
        clap::ValueEnum::to_possible_value(&self).map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// How its configuration is written.
    pub fn format(self) -> Format {
        match self {
            Self::Codex => Format::Toml("mcp_servers"),
            Self::Continue => Format::Yaml("mcpServers"),
            Self::Opencode => Format::Json("mcp"),
            Self::Vscode => Format::Json("servers"),
            Self::Zed => Format::Json("context_servers"),
            _ => Format::Json("mcpServers"),
        }
    }

    /// The root to name where none was: clients with a window have a variable for the folder that is open in it, and Claude Desktop has no
    /// folder at all. The others start servers in the directory they work in.
    pub fn root(self, places: &Places) -> Option<String> {
        match self {
            Self::Cursor | Self::Vscode => Some("${workspaceFolder}".to_owned()),
            Self::ClaudeDesktop => Some(places.project.display().to_string()),
            _ => None,
        }
    }

    /// The properties of codeskim's entry.
    pub fn entry(self, launch: &Launch) -> Vec<(&'static str, Value)> {
        let text = |text: &str| Value::Text(text.to_owned());
        let command = ("command", Value::Text(launch.command.clone()));
        let arguments = ("args", Value::List(launch.arguments.clone()));
        match self {
            Self::ClaudeCode | Self::Vscode => vec![("type", text("stdio")), command, arguments],
            Self::Copilot => vec![("type", text("local")), command, arguments, ("tools", Value::List(vec!["*".to_owned()]))],
            Self::Opencode => {
                let command = std::iter::once(&launch.command).chain(&launch.arguments).cloned().collect();
                vec![("type", text("local")), ("command", Value::List(command)), ("enabled", Value::Flag(true))]
            }
            // Qwen Code shows tools by name only until they are searched for, unless the entry says this.
            Self::Qwen => vec![command, arguments, ("alwaysLoadTools", Value::Flag(true))],
            _ => vec![command, arguments],
        }
    }

    /// What is left to do once the entry is written.
    pub fn next(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Start Claude Code anew; /mcp lists codeskim.",
            Self::ClaudeDesktop => "Quit Claude Desktop and start it again.",
            Self::Cursor | Self::Vscode | Self::Zed => "It is started with the next window.",
            _ => "It is started with the next session.",
        }
    }
}

/// The first of two files of a directory if it is there, else the second.
fn either(directory: PathBuf, first: &str, second: &str) -> PathBuf {
    let file = directory.join(first);
    if file.exists() { file } else { directory.join(second) }
}
