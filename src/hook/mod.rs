//! `codeskim hook CLIENT`: what an agent's own tools return, pruned on its way to the model to a question that is taken from what the agent said.
//!
//! A client runs it after a tool (`claude_code` and its kin know what each sends and takes). `question` says what is wanted, `rules` whether
//! anything may be left out, `excerpt` leaves it out. Whatever goes wrong, the original stays: an empty answer says so to every client.
//! `steer` is the other thing a hook can do: stop a large read before it runs, once.

mod claude_code;
mod codex;
mod command;
mod copilot;
mod event;
mod excerpt;
mod gemini;
mod kept;
mod memory;
mod opencode;
mod pass;
mod question;
mod rules;
mod steer;
mod told;

pub use self::event::{Answer, Hook};
pub use self::rules::LARGE;

/// A client whose hooks are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Client {
    /// Claude Code
    ClaudeCode,
    /// Codex
    Codex,
    /// Copilot CLI
    Copilot,
    /// Gemini CLI
    Gemini,
    /// opencode
    Opencode,
}

/// Answers what a client says to its hook; nothing is said where things are to stay as they are.
pub fn answer(client: Client, event: &str, hook: &Hook<'_>) -> Answer {
    match client {
        Client::ClaudeCode => claude_code::answer(event, hook),
        Client::Codex => codex::answer(event, hook),
        Client::Copilot => copilot::answer(event, hook),
        Client::Gemini => gemini::answer(event, hook),
        Client::Opencode => opencode::answer(event, hook),
    }
}
