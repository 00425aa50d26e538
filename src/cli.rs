//! Commands and their arguments, turned into the same requests that the server makes.

mod arguments;
mod measure;
mod serve;
mod setup;
mod stats;

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::ValueEnum;
use clap::builder::PossibleValue;
use codeskim::error::{Error, Result, quote};
use codeskim::hook;
use codeskim::hub;
use codeskim::ledger::{self, Ledger};
use codeskim::prune::Limits;
use codeskim::prune_protocol::Pruner;
use codeskim::skim::fallback::Fallback;
use codeskim::skim::remote::Remote;
use codeskim::skim::swe_pruner::{Precision, SwePruner};
use codeskim::skim::{Keep, Skimmer};
use codeskim::tokens::cl100k;
use codeskim::tools::{Call, Options, Output, Session, grep, head, prune, read_file, repo_map};

pub use self::arguments::parse;
use self::arguments::{Cli, Command, ControlName, Hook, ModelCommand, Models, REMOTE_TIMEOUT};

/// The exit status of a search without match, as of grep(1).
const NOTHING_FOUND: u8 = 1;
/// The exit status of every failure, as of grep(1).
const FAILED: u8 = 2;

impl Models {
    /// The published pruner, if one is asked for. A shell's call waits for its weights; a server's calls are answered meanwhile.
    fn published(&self, waits: bool) -> Result<Option<Arc<SwePruner>>> {
        let open = |directory: &PathBuf| SwePruner::open(directory, self.precision, waits).map(Arc::new);
        self.model.as_ref().map(open).transpose()
    }

    fn server(&self) -> Result<Option<Arc<Remote>>> {
        let token = std::env::var("CODESKIM_REMOTE_TOKEN").ok().filter(|token| !token.is_empty());
        let open = |url: &String| Remote::new(url, token, Duration::from_secs(self.remote_timeout)).map(Arc::new);
        self.remote.as_ref().map(open).transpose()
    }
}

/// Who reads the results.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Readers {
    /// One agent, over MCP.
    Agent,
    /// Several, over HTTP.
    Several,
    /// Someone at a shell.
    Shell,
}

impl Command {
    /// The tool that the command calls.
    fn tool(&self) -> Option<&'static str> {
        Some(match self {
            Self::Read { .. } => "read",
            Self::Head { .. } => "head",
            Self::Grep { .. } => "grep",
            Self::Prune { .. } => "prune",
            Self::Map { report: None, .. } => "map",
            _ => return None,
        })
    }

    fn question(&self) -> Option<&String> {
        match self {
            Self::Read { focus, .. } | Self::Head { focus, .. } | Self::Grep { focus, .. } | Self::Map { focus, .. } => {
                focus.focus.as_ref()
            }
            Self::Prune { focus, .. } => Some(focus),
            _ => None,
        }
    }
}

impl Cli {
    /// Whether a model is asked for whose weights are quantized.
    pub fn is_quantized(&self) -> bool {
        self.models.precision == Precision::Q8
    }

    fn roots(&self) -> Vec<PathBuf> {
        if self.roots.is_empty() { vec![PathBuf::from(".")] } else { self.roots.clone() }
    }

    fn limits(&self) -> Limits {
        Limits { most: self.max_chars, tokens: self.budget, keep: self.keep }
    }

    /// The session that is asked for, and the published pruner in it if there is one.
    fn session(&self, readers: Readers) -> Result<(Session, Option<Arc<SwePruner>>)> {
        let options = Options {
            limits: self.limits(),
            shell: readers == Readers::Shell,
            shared: readers == Readers::Several,
            observe: self.accounts.observe,
        };
        let session = Session::new(&self.roots(), options)?;
        if self.accounts.observe && (readers == Readers::Several || self.ledger(false).is_none()) {
            return Err(Error::bad_argument("--observe needs a ledger, which is turned off or cannot be kept over HTTP; leave it out."));
        }
        if self.models.model.is_some() && self.models.remote.is_some() {
            return Err(Error::bad_argument("--model and --remote both say what scores lines; give one of them."));
        }
        let published = self.models.published(readers == Readers::Shell)?;
        let skimmer = match (&published, self.models.server()?) {
            (Some(model), _) => Fallback::new(Arc::clone(model) as Arc<dyn Skimmer>),
            (None, Some(server)) => Fallback::new(server),
            (None, None) => return Ok((session, None)),
        };
        Ok((session.with_skimmer(Arc::new(skimmer)), published))
    }

    /// Where calls are noted. A server over HTTP keeps no ledger, as it cannot tell its readers apart.
    fn ledger(&self, session: bool) -> Option<ledger::Settings> {
        let path = ledger::place().filter(|_| !self.accounts.no_ledger)?;
        let project = self.roots().first()?.canonicalize().ok()?;
        Some(ledger::Settings { path, project, session, questions: self.accounts.ledger_questions })
    }

    /// The ledger, the tool and the question, if this command calls a tool and is to be noted.
    fn note(&self) -> Option<(Ledger, &'static str, Option<String>)> {
        let command = self.command.as_ref()?;
        let tool = command.tool()?;
        let (ledger, question) = (Ledger::open(self.ledger(false)?), command.question().cloned());
        if question.is_some() {
            ledger.warm_up();
        }
        Some((ledger, tool, question))
    }

    /// The options that were given, but for the roots, as a server is to get them.
    fn options_of_server(&self) -> Vec<String> {
        let Models { model, precision, remote, remote_timeout } = &self.models;
        let named = |name: &str, given: Option<String>| given.map(|value| [format!("--{name}"), value]);
        let unusual = |name: &str, value: String, usual: String| named(name, (value != usual).then_some(value));
        let turned_off = std::env::var_os(ledger::VARIABLE).is_some_and(|value| value == "off");
        let set = |name: &str, given: bool| given.then(|| format!("--{name}"));
        let possible = |value: &dyn Fn() -> Option<PossibleValue>| value().map_or_else(String::new, |value| value.get_name().to_owned());
        let whole = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone()).display().to_string();
        [
            unusual("keep", possible(&|| self.keep.to_possible_value()), possible(&|| Keep::default().to_possible_value())),
            unusual("max-chars", self.max_chars.to_string(), Limits::default().most.to_string()),
            named("budget", self.budget.map(|budget| budget.to_string())),
            named("model", model.as_ref().map(whole)),
            unusual("precision", possible(&|| precision.to_possible_value()), possible(&|| Precision::default().to_possible_value())),
            named("remote", remote.clone()),
            unusual("remote-timeout", remote_timeout.to_string(), REMOTE_TIMEOUT.to_string()),
        ]
        .into_iter()
        .flatten()
        .flatten()
        .chain(set("observe", self.accounts.observe))
        .chain(set("no-ledger", self.accounts.no_ledger || turned_off)) // clients start servers without the user's environment
        .chain(set("ledger-questions", self.accounts.ledger_questions))
        .collect()
    }
}

/// Runs a command line to its exit status.
pub fn run(cli: Cli) -> ExitCode {
    let filter = tracing_subscriber::EnvFilter::try_from_env("CODESKIM_LOG").unwrap_or_else(|_| "warn".into());
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).with_ansi(io::stderr().is_terminal()).init();
    let note = cli.note();
    let is_report = matches!(cli.command, Some(Command::Doctor)); // what it finds wrong is its result
    match execute(cli) {
        Ok(output) => {
            let status = if output.found || is_report { print(&output) } else { say(&output) };
            if let Some((ledger, tool, question)) = note {
                ledger.call(tool, question.as_deref(), &output);
                ledger.close();
            }
            status
        }
        Err(error) => fail(&error.to_string()),
    }
}

fn print(output: &Output) -> ExitCode {
    match io::stdout().lock().write_all(output.text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => fail(&format!("The result could not be written: {error}.")),
        _ if output.found => ExitCode::SUCCESS,
        _ => ExitCode::from(NOTHING_FOUND),
    }
}

/// Says that nothing was found, which is no result.
fn say(output: &Output) -> ExitCode {
    let _ = io::stderr().lock().write_all(output.text.as_bytes());
    ExitCode::from(NOTHING_FOUND)
}

fn fail(message: &str) -> ExitCode {
    let _ = writeln!(io::stderr().lock(), "codeskim: {message}");
    ExitCode::from(FAILED)
}

fn execute(mut cli: Cli) -> Result<Output> {
    match cli.command.take().unwrap_or(Command::Serve { http: None }) {
        Command::Serve { http: None } => serve::stdio(cli.session(Readers::Agent)?.0, cli.ledger(true).map(Ledger::open)),
        Command::Serve { http: Some(address) } => {
            let (session, published) = cli.session(Readers::Several)?;
            let lines = Pruner::Lines(Arc::clone(&session.skimmer));
            serve::over_http(session, published.map_or(lines, Pruner::Tokens), address)
        }
        Command::Map { report: Some(tasks), max_tokens, prefix, .. } => {
            measure::maps(&tasks, max_tokens, Some(prefix).filter(|prefix| !prefix.is_empty()), &cli.limits()).map(Output::new)
        }
        Command::Setup(request) => {
            if !request.removes() {
                cli.session(Readers::Agent)?; // what no server can start with is not written into a configuration
            }
            setup::setup(&request, &cli.roots, cli.options_of_server())
        }
        Command::Doctor => {
            cli.accounts.observe = false;
            setup::doctor(cli.session(Readers::Shell).map(|(session, _)| session), &cli.roots())
        }
        Command::Stats { days, json } => stats::show(days, json),
        Command::Hook(Hook::ClaudeCode) => {
            let event = io::read_to_string(io::stdin().lock()).unwrap_or_default();
            let memory = dirs::state_dir().or_else(dirs::data_local_dir).map(|state| state.join("codeskim/hook"));
            let answer = memory.and_then(|memory| hook::claude_code(&event, &memory));
            Ok(Output::new(answer.map_or_else(String::new, |answer| answer + "\n")))
        }
        Command::Model(ModelCommand::Pull { name: model, endpoint, cache }) => {
            let directory = hub::pull(&hub::Request { model, endpoint, cache, progress: io::stderr().is_terminal() })?;
            Ok(Output::new(format!("{}\n", directory.display())))
        }
        Command::Eval { labels, skimmer, baseline, json, examples } => {
            measure::skimmers(&labels, skimmer, &baseline, json, examples, &cli.limits(), &cli.models)
        }
        command => call(command, &cli.session(Readers::Shell)?.0),
    }
}

/// Calls a tool from a shell.
fn call(command: Command, session: &Session) -> Result<Output> {
    let call = Call::default();
    match command {
        Command::Read { file, lines, focus } => {
            let (start_line, end_line) = lines.map_or((None, None), |(from, to)| (Some(from), to));
            read_file::run(session, &read_file::Request { path: file, start_line, end_line, context_focus_question: focus.focus }, &call)
        }
        Command::Head { file, lines, focus } => {
            head::run(session, &head::Request { path: file, lines: Some(lines), context_focus_question: focus.focus }, &call)
        }
        Command::Grep { pattern, paths, glob, context, before_context, after_context, ignore_case, literal, _habits, focus } => {
            let (mut paths, mut globs) = (paths.into_iter(), glob.into_iter());
            let request = grep::Request {
                pattern,
                path: paths.next(),
                glob: globs.next(),
                context,
                more: grep::More { paths: paths.collect(), globs: globs.collect(), before: before_context, after: after_context },
                ignore_case: Some(ignore_case),
                literal: Some(literal),
                context_focus_question: focus.focus,
            };
            grep::run(session, &request, &call)
        }
        Command::Prune { focus, name } => prune::run(session, prune::Request { name, input: io::stdin().lock(), focus }, &call),
        Command::Map { files, json, task, prefix, max_tokens, control, seed, match_tokens_of, focus, report: _ } => {
            let task = task.map(|path| read_text(&path)).transpose()?;
            let request = repo_map::Request {
                roots: (!files.is_empty()).then_some(files),
                task,
                context_focus_question: focus.focus,
                max_tokens: Some(max_tokens),
                prefix: Some(prefix).filter(|prefix| !prefix.is_empty()),
            };
            let tokens = match_tokens_of.map(|path| read_text(&path)).transpose()?.map(|map| cl100k(&map));
            let control = control.map(|ControlName::Random| repo_map::Control { seed, tokens });
            let mapped = repo_map::map(session, &request, control, &call)?;
            Ok(Output::extra(if json { serde_json::to_string_pretty(&mapped).expect("a map is JSON") + "\n" } else { mapped.map.text }))
        }
        _ => unreachable!("the other commands call no tool"),
    }
}

/// A file that is named on the command line, wherever it is; - is standard input.
fn read_text(path: &Path) -> Result<String> {
    let read = if path == Path::new("-") { io::read_to_string(io::stdin().lock()) } else { std::fs::read_to_string(path) };
    read.map_err(|source| Error::Unreadable { path: quote(&path.display().to_string()), source })
}
