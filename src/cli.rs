//! Commands and their arguments, turned into the same requests that the server makes.

mod arguments;
mod doctor;
mod measure;
mod progress;
mod serve;
mod session;
mod setup;
mod stats;

use std::io::{self, IsTerminal, Read, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
#[cfg(unix)]
use std::time::Duration;

use clap::ValueEnum;
use codeskim::error::{Error, Result, quote};
use codeskim::hook::{self, Client, Hook};
use codeskim::hub;
use codeskim::ledger::{Ledger, Settings, new_session};
use codeskim::prune_protocol::Pruner;
use codeskim::tokens::cl100k;
use codeskim::tools::{Call, Output, Session, grep, head, prune, read_file, repo_map, search};

pub use self::arguments::parse;
use self::arguments::{Cli, Command, ControlName, ModelCommand};
use self::progress::Progress;
use self::session::Readers;

/// The exit status of a search without match, as of grep(1).
const NOTHING_FOUND: u8 = 1;
/// What is said to whoever pipes something into a search.
const UNREAD: &str = "Standard input was not searched; codeskim prune reads it.";
/// How long it is waited for the first byte of a pipe, to say that it is not searched.
#[cfg(unix)]
const GLANCE: Duration = Duration::from_millis(5);
/// The exit status of every failure, as of grep(1).
const FAILED: u8 = 2;

impl Command {
    /// The tool that the command calls.
    fn tool(&self) -> Option<&'static str> {
        Some(match self {
            Self::Read { .. } => "read",
            Self::Head { .. } => "head",
            Self::Grep { .. } => "grep",
            Self::Search { explain: false, .. } => "search",
            Self::Prune { .. } => "prune",
            Self::Map { report: None, .. } => "map",
            _ => return None,
        })
    }

    /// Whether it will most likely ask for the syntax of a text.
    fn needs_syntax(&self) -> bool {
        matches!(self, Self::Map { .. } | Self::Search { .. })
            || matches!(self, Self::Read { symbol, .. } if !symbol.is_empty())
            || self.question().is_some() && !matches!(self, Self::Grep { .. })
    }

    /// Whether it reads what is piped into it, or typed.
    fn reads_stdin(&self) -> bool {
        matches!(self, Self::Prune { .. }) || matches!(self, Self::Map { task: Some(task), .. } if task == Path::new("-"))
    }

    fn question(&self) -> Option<&String> {
        match self {
            Self::Read { focus, .. } | Self::Head { focus, .. } | Self::Grep { focus, .. } | Self::Map { focus, .. } => {
                focus.focus.as_ref()
            }
            Self::Prune { focus, .. } | Self::Search { question: focus, .. } => Some(focus),
            _ => None,
        }
    }
}

/// What is logged unless `CODESKIM_LOG` says otherwise. rmcp warns of each error that a client is answered, which the client knows.
const LOG: &str = "warn,rmcp=error";

/// Runs a command line to its exit status.
pub fn run(cli: Cli) -> ExitCode {
    let filter = tracing_subscriber::EnvFilter::try_from_env("CODESKIM_LOG").unwrap_or_else(|_| LOG.into());
    // A log that nobody reads any more is no reason to stop: the word of it would go to the same closed pipe, and panic.
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).log_internal_errors(false);
    log.with_ansi(io::stderr().is_terminal()).init();
    let note = cli.note();
    // What it finds wrong, or does not find, is its result.
    let is_report = matches!(cli.command, Some(Command::Doctor | Command::Search { json: true, .. }));
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
    remark(output);
    let mut out = io::stdout().lock();
    match out.write_all(output.text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => fail(&format!("The result could not be written: {error}.")),
        _ if output.found => ExitCode::SUCCESS,
        _ => ExitCode::from(NOTHING_FOUND),
    }
}

/// Says that nothing was found, which is no result.
fn say(output: &Output) -> ExitCode {
    let _ = io::stderr().lock().write_all(output.text.as_bytes());
    remark(output);
    ExitCode::from(NOTHING_FOUND)
}

/// Says what is to be said beside a result.
fn remark(output: &Output) {
    if let Some(aside) = &output.aside {
        let _ = writeln!(io::stderr().lock(), "{aside}");
    }
}

fn fail(message: &str) -> ExitCode {
    let _ = writeln!(io::stderr().lock(), "codeskim: {message}");
    ExitCode::from(FAILED)
}

fn execute(mut cli: Cli) -> Result<Output> {
    match cli.command.take().unwrap_or(Command::Serve { http: None }) {
        Command::Serve { http: None } => {
            let settings = cli.ledger(Some(new_session())).map(|settings| Settings { background: true, ..settings });
            serve::stdio(cli.session(Readers::Agent)?.0, settings.map(Ledger::open))
        }
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
            let _progress = Progress::of("checks"); // a large model takes long to read
            doctor::examine(cli.session(Readers::Shell).map(|(session, _)| session), &cli.roots())
        }
        Command::Stats { days, json, html } => stats::show(days, json, html.as_deref()),
        Command::Hook { client } => answer_hook(client, &cli),
        Command::Model(ModelCommand::Pull { name: model, endpoint, cache }) => {
            let directory = hub::pull(&hub::Request { model, endpoint, cache, progress: io::stderr().is_terminal() })?;
            Ok(Output::new(format!("{}\n", directory.display())))
        }
        Command::Eval { labels, skimmer, baseline, json, examples } => {
            measure::skimmers(&labels, skimmer, &baseline, json, examples, &cli.limits(), &cli.models)
        }
        command => {
            // Whoever types what it reads, or looks at what writes it, is not to be written over.
            let progress = (!command.reads_stdin()).then(|| Progress::of("files"));
            let session = cli.session(Readers::Shell)?.0;
            if command.needs_syntax() {
                let syntax = Arc::clone(&session.syntax);
                std::thread::spawn(move || syntax.warm_up());
            }
            call(command, &session, progress.as_ref())
        }
    }
}

/// Answers an agent's hook. Nothing that goes wrong is an error: the client goes on without an answer.
fn answer_hook(client: Client, cli: &Cli) -> Result<Output> {
    let event = io::read_to_string(io::stdin().lock().take(LONGEST_EVENT)).unwrap_or_default();
    let (Some(state), Some(home)) = (dirs::state_dir().or_else(dirs::data_local_dir), dirs::home_dir()) else { return Ok(Output::new("")) };
    let session = || cli.session(Readers::Agent).ok().map(|(session, _)| session);
    let answer = hook::answer(client, &event, &Hook { memory: state.join("codeskim/hook"), home, roots: &cli.roots, session: &session });
    let _ = io::stdout().lock().write_all(answer.said.as_bytes());
    if let Some(noted) = &answer.noted
        && let Some(settings) = cli.ledger(Some(noted.session.clone()))
    {
        let client = client.to_possible_value().map(|value| value.get_name().to_owned());
        let ledger = Ledger::open(Settings { client, ..settings });
        ledger.call("hook", noted.question.as_deref(), &noted.output);
        ledger.close();
    }
    Ok(Output::new(""))
}

/// Bytes of what a client says to a hook, at most: a result beyond is left alone.
const LONGEST_EVENT: u64 = 16 << 20;

/// Calls a tool from a shell.
fn call(command: Command, session: &Session, progress: Option<&Progress>) -> Result<Output> {
    let said = progress.map(|progress| |files, all| progress.set(files, all));
    let call = Call { progress: said.as_ref().map(|said| said as _), ..Call::default() };
    call_with(command, session, &call)
}

fn call_with(command: Command, session: &Session, call: &Call<'_>) -> Result<Output> {
    match command {
        Command::Read { paths, symbol, lines, line_numbers, focus } => {
            let mut paths = paths.into_iter();
            let request = read_file::Request {
                path: paths.next(),
                more_paths: paths.collect(),
                symbol,
                lines: lines.map(|lines| lines.0).unwrap_or_default(),
                line_numbers: Some(line_numbers),
                context_focus_question: focus.focus,
                ..read_file::Request::default()
            };
            read_file::run(session, &request, call)
        }
        Command::Head { file, lines, focus } => {
            head::run(session, &head::Request { path: file, lines: Some(lines), context_focus_question: focus.focus }, call)
        }
        Command::Grep {
            pattern,
            paths,
            glob,
            context,
            before_context,
            after_context,
            ignore_case,
            literal,
            word,
            files_with_matches,
            count,
            _habits,
            focus,
        } => {
            let everywhere = paths.is_empty();
            let mut paths = paths.into_iter();
            let request = grep::Request {
                pattern,
                path: paths.next(),
                glob,
                context,
                more: grep::More { paths: paths.collect(), before: before_context, after: after_context, word, bare: files_with_matches },
                ignore_case: Some(ignore_case),
                literal: Some(literal),
                files_only: Some(files_with_matches || count),
                context_focus_question: focus.focus,
            };
            let output = grep::run(session, &request, call)?;
            let unread = everywhere && something_is_piped();
            let aside = output.aside.into_iter().chain(unread.then(|| UNREAD.to_owned())).reduce(|a, b| format!("{a}\n{b}"));
            Ok(Output { aside, ..output })
        }
        Command::Search { question, paths, json, explain } => {
            let mut paths = paths.into_iter();
            let request = search::Request { question, path: paths.next(), max_tokens: None, more_paths: paths.collect() };
            let run = if json {
                search::run_json
            } else if explain {
                search::explain
            } else {
                search::run
            };
            run(session, &request, call)
        }
        Command::Prune { focus, name } => prune::run(session, prune::Request { name, input: io::stdin().lock(), focus }, call),
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
            let mapped = repo_map::map(session, &request, control, call)?;
            Ok(Output::extra(if json { serde_json::to_string_pretty(&mapped).expect("a map is JSON") + "\n" } else { mapped.map.text }))
        }
        _ => unreachable!("the other commands call no tool"),
    }
}

/// Whether something is piped or redirected into the program: of the end of a pipe that nobody writes to, there is nothing to say. Nothing is read,
/// as what is there may be meant for the next command of a script.
#[cfg(unix)]
fn something_is_piped() -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::fs::FileType;

    let stdin = io::stdin();
    let Ok(stat) = rustix::fs::fstat(&stdin) else { return false };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => stat.st_size > 0,
        FileType::Fifo => {
            let mut pipe = [PollFd::new(&stdin, PollFlags::IN)];
            let glance = Timespec { tv_sec: 0, tv_nsec: GLANCE.as_nanos() as i64 };
            poll(&mut pipe, Some(&glance)).is_ok_and(|ready| ready > 0) && pipe[0].revents().contains(PollFlags::IN)
        }
        _ => false,
    }
}

#[cfg(not(unix))]
fn something_is_piped() -> bool {
    false
}

/// A file that is named on the command line, wherever it is; - is standard input.
fn read_text(path: &Path) -> Result<String> {
    let read = if path == Path::new("-") { io::read_to_string(io::stdin().lock()) } else { std::fs::read_to_string(path) };
    let name = quote(&path.display().to_string());
    read.map_err(|source| match source.kind() {
        io::ErrorKind::InvalidData => Error::bad_argument(format!("{name} is not UTF-8 text; convert it first.")),
        _ => Error::Unreadable { path: name, source },
    })
}
