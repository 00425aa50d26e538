//! Commands and their arguments, turned into the same requests that the server makes.

mod measure;
mod serve;
mod setup;

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::builder::PossibleValue;
use clap::{Args, Parser, Subcommand, ValueEnum};
use codeskim::error::{Error, Result, quote};
use codeskim::hook;
use codeskim::hub;
use codeskim::ledger::{self, Ledger};
use codeskim::prune::Limits;
use codeskim::prune_protocol::Pruner;
use codeskim::repomap;
use codeskim::server::http;
use codeskim::skim::fallback::Fallback;
use codeskim::skim::remote::Remote;
use codeskim::skim::swe_pruner::{Precision, SwePruner};
use codeskim::skim::{Keep, Skimmer};
use codeskim::tokens::cl100k;
use codeskim::tools::{Call, Options, Output, Session, grep, head, prune, read_file, repo_map};

/// Seconds that a call to another server may take, unless another number is asked for.
const REMOTE_TIMEOUT: u64 = 10;
/// The exit status of a search without match, as of grep(1).
const NOTHING_FOUND: u8 = 1;
/// The exit status of every failure, as of grep(1).
const FAILED: u8 = 2;

/// Reads code for agents: only the lines that answer a question, every gap marked. Without a command, serves MCP on stdin and stdout.
#[derive(Parser)]
#[command(version, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    /// Directory that may be read; repeatable [default: the working directory]
    #[arg(long = "root", value_name = "DIR", global = true)]
    roots: Vec<PathBuf>,
    /// Longest result, in characters, at least 4000
    #[arg(long, value_name = "N", default_value_t = Limits::default().most, value_parser = |text: &str| at_least(4000, text), global = true)]
    max_chars: usize,
    /// Longest pruned result, in tokens (o200k), at least 100: the best lines that fit
    #[arg(long, value_name = "N", value_parser = |text: &str| at_least(100, text), global = true)]
    budget: Option<usize>,
    /// How much a question keeps
    #[arg(long, value_enum, default_value_t = Keep::default(), global = true)]
    keep: Keep,
    #[command(flatten)]
    models: Models,
    #[command(flatten)]
    accounts: Accounts,
}

/// What is noted of each call.
#[derive(Args)]
struct Accounts {
    /// Return whole texts, and note what pruned ones would save (see `codeskim stats`)
    #[arg(long, global = true)]
    observe: bool,
    /// Note nothing of what is read; so does CODESKIM_LEDGER=off, and CODESKIM_LEDGER=FILE puts the notes there
    #[arg(long, conflicts_with_all = ["observe", "ledger_questions"], global = true)]
    no_ledger: bool,
    /// Note the questions too
    #[arg(long, global = true)]
    ledger_questions: bool,
}

/// What scores lines, where it is not the model inside the binary.
#[derive(Args, Clone)]
struct Models {
    /// Score lines with the published pruner in this directory (see `codeskim model pull`)
    #[arg(long, value_name = "DIR", global = true)]
    model: Option<PathBuf>,
    /// What its weights are kept in
    #[arg(long, value_enum, default_value_t = Precision::default(), global = true)]
    precision: Precision,
    /// Score lines with a server that speaks SWE-Pruner's POST /prune; CODESKIM_REMOTE_TOKEN is its bearer token
    #[arg(long, value_name = "URL", global = true)]
    remote: Option<String>,
    /// Seconds that a call to it may take
    #[arg(long, value_name = "N", default_value_t = REMOTE_TIMEOUT, value_parser = clap::value_parser!(u64).range(1..=600), global = true)]
    remote_timeout: u64,
}

#[derive(Subcommand)]
enum Command {
    /// Serve MCP on stdin and stdout (what happens without a command), or over HTTP
    Serve {
        /// Serve MCP at /mcp and SWE-Pruner's protocol at /prune and /health, at an address or a port of this machine. CODESKIM_TOKEN is the
        /// bearer token that clients need; other addresses than this machine's want one
        #[arg(long, value_name = "ADDR", value_parser = http::address)]
        http: Option<SocketAddr>,
    },
    /// Show a file, or the lines of it that answer a question
    Read {
        /// The file, inside a root
        file: String,
        /// Only these lines: 12-40, 12- or 12
        #[arg(long, value_name = "A-B", value_parser = lines)]
        lines: Option<(usize, Option<usize>)>,
        #[command(flatten)]
        focus: Focus,
    },
    /// Show the first lines of a file
    Head {
        /// The file, inside a root
        file: String,
        /// How many lines
        #[arg(short = 'n', long, default_value_t = head::DEFAULT_LINES)]
        lines: usize,
        #[command(flatten)]
        focus: Focus,
    },
    /// Search files as ripgrep does; exits with 0 if something matched, 1 if nothing did, 2 on an error
    Grep {
        /// Regular expression
        pattern: String,
        /// Files or directories, inside a root
        paths: Vec<String>,
        /// Only files matching this glob; all but them with a leading !; repeatable, the last that matches a file decides
        #[arg(short, long)]
        glob: Vec<String>,
        /// Lines to show around each match, where -A or -B does not say another number
        #[arg(short = 'C', long, value_name = "N", overrides_with = "context")]
        context: Option<usize>,
        /// Lines to show before each match
        #[arg(short = 'B', long, value_name = "N", overrides_with = "before_context")]
        before_context: Option<usize>,
        /// Lines to show after each match
        #[arg(short = 'A', long, value_name = "N", overrides_with = "after_context")]
        after_context: Option<usize>,
        /// Ignore case
        #[arg(short, long)]
        ignore_case: bool,
        /// Take the pattern literally
        #[arg(short = 'F', long)]
        literal: bool,
        #[command(flatten)]
        _habits: Habits,
        #[command(flatten)]
        focus: Focus,
    },
    /// Show the lines of standard input that answer a question
    Prune {
        /// A complete question, then words that may be in the lines that answer it: "Why did the build stop? (error, failed, undefined)"
        #[arg(long, value_name = "QUESTION")]
        focus: String,
        /// What the text is; a file name tells the language
        #[arg(long, default_value = "stdin")]
        name: String,
    },
    /// Measure a skimmer on labelled questions
    ///
    /// The labels are JSON objects, one a line: {"lang": "rust", "kind": "narrow", "question": "…", "lines": ["…"], "keep": [3, 4]}, where
    /// keep holds the indices, counted from 0, of the lines that answer; none where nothing does. An optional "either" holds those of lines
    /// that do not count. Search results are lines "== path" followed by "12: text". --keep, --budget and --max-chars apply.
    Eval {
        /// The labels
        labels: PathBuf,
        /// What to measure
        #[arg(long, value_enum, default_value_t = measure::SkimmerName::Embedded)]
        skimmer: measure::SkimmerName,
        /// What to measure beside it; repeatable
        #[arg(long, value_enum)]
        baseline: Vec<measure::SkimmerName>,
        /// Print the figures as JSON
        #[arg(long)]
        json: bool,
        /// Print this many of the largest wins and losses against the first baseline
        #[arg(long, value_name = "N", requires = "baseline", conflicts_with = "json")]
        examples: Option<usize>,
    },
    /// Map the files around some files: what they import, three steps far, and what is in them
    Map {
        /// Files or directories to start from, inside a root
        files: Vec<String>,
        /// Print the closure and the map as JSON
        #[arg(long, conflicts_with_all = ["report", "control"])]
        json: bool,
        /// Map a list of tasks, JSON objects {"repository": "DIR", "task": "…"}, one a line, and print their figures as CSV
        #[arg(long, value_name = "TASKS", conflicts_with_all = ["files", "task", "control", "focus"])]
        report: Option<PathBuf>,
        /// A problem statement that names them in lines such as Path: '/testbed/pkg/a.py'; - is standard input
        #[arg(long, value_name = "FILE")]
        task: Option<PathBuf>,
        /// What the problem statement calls the repository; written before every path of the map
        #[arg(long, value_name = "PREFIX", default_value = "")]
        prefix: String,
        /// Tokens (cl100k) of the map
        #[arg(long, value_name = "N", default_value_t = repomap::TOKENS)]
        max_tokens: usize,
        /// Make a map at random instead, of the same files' number and length
        #[arg(long, value_enum)]
        control: Option<ControlName>,
        /// Of the random map
        #[arg(long, default_value_t = 0, requires = "control")]
        seed: u64,
        /// A map whose tokens the random one is to have
        #[arg(long, value_name = "MAP", requires = "control")]
        match_tokens_of: Option<PathBuf>,
        #[command(flatten)]
        focus: Focus,
    },
    /// Put codeskim into the configuration of an agent: shows the change, asks, keeps the old file
    Setup(setup::Setup),
    /// Show what was saved, by tool, project and day
    Stats {
        /// Only the last days, today included
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=36500))]
        days: Option<u64>,
        /// Print the figures as JSON
        #[arg(long)]
        json: bool,
    },
    /// Look whether all that an agent needs is there; exits with 1 if something is not
    Doctor,
    /// Answer an agent's hook on standard input
    #[command(subcommand, hide = true)]
    Hook(Hook),
    /// Manage the larger models
    #[command(subcommand)]
    Model(ModelCommand),
}

#[derive(Subcommand)]
enum Hook {
    /// Claude Code's PreToolUse
    ClaudeCode,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum ControlName {
    /// Random files and symbols of the same repository
    Random,
}

#[derive(Subcommand)]
enum ModelCommand {
    /// Fetch a published pruner from the model hub, and say where it is
    Pull {
        /// swe-pruner, or a repository of the hub: owner/name
        #[arg(value_name = "MODEL")]
        name: String,
        /// The hub [default: HF_ENDPOINT, or the public one]
        #[arg(long, value_name = "URL")]
        endpoint: Option<String>,
        /// Where models are kept [default: the hub's own cache, below HF_HOME]
        #[arg(long, value_name = "DIR")]
        cache: Option<PathBuf>,
    },
}

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
        if self.accounts.observe && (readers == Readers::Several || self.ledger(false).is_none()) {
            return Err(Error::bad_argument("--observe needs a ledger, which is turned off or cannot be kept over HTTP; leave it out."));
        }
        let options = Options {
            limits: self.limits(),
            shell: readers == Readers::Shell,
            shared: readers == Readers::Several,
            observe: self.accounts.observe,
        };
        let session = Session::new(&self.roots(), options)?;
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

#[derive(Args)]
struct Focus {
    /// Show only the lines that answer this question; words after it that the code may use help: "Where is the delay capped? (backoff, max)"
    #[arg(long, alias = "question", value_name = "QUESTION")]
    focus: Option<String>,
}

/// What people and agents type from habit, and what a search does anyway.
#[derive(Args)]
struct Habits {
    #[arg(short = 'n', long = "line-number", hide = true)]
    _line_number: bool,
    #[arg(short = 'r', long = "recursive", short_alias = 'R', hide = true)]
    _recursive: bool,
    #[arg(short = 'E', long = "extended-regexp", hide = true)]
    _extended_regexp: bool,
}

/// Reads the command line, also `head -20`.
pub fn parse() -> Cli {
    let mut arguments: Vec<OsString> = std::env::args_os().collect();
    let is_head = arguments.get(1).is_some_and(|command| command == "head");
    let count = |argument: &OsString| argument.to_str()?.strip_prefix('-')?.parse::<usize>().ok();
    for argument in arguments.iter_mut().skip(2).filter(|_| is_head) {
        if let Some(count) = count(argument) {
            *argument = format!("-n{count}").into();
        }
    }
    Cli::parse_from(arguments)
}

fn at_least(least: usize, text: &str) -> std::result::Result<usize, String> {
    text.parse().ok().filter(|number| *number >= least).ok_or_else(|| format!("give a number of at least {least}"))
}

fn lines(text: &str) -> std::result::Result<(usize, Option<usize>), String> {
    let number = |part: &str| part.parse::<usize>().map_err(|_| "give a range such as 12-40, 12- or 12".to_owned());
    match text.split_once('-') {
        None => number(text).map(|line| (line, Some(line))),
        Some((from, "")) => Ok((number(from)?, None)),
        Some((from, to)) => Ok((number(from)?, Some(number(to)?))),
    }
}

/// Runs a command line to its exit status.
pub fn run(cli: Cli) -> ExitCode {
    let filter = tracing_subscriber::EnvFilter::try_from_env("CODESKIM_LOG").unwrap_or_else(|_| "warn".into());
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).with_ansi(io::stderr().is_terminal()).init();
    let note = cli.note();
    match execute(cli) {
        Ok(output) => {
            let status = print(&output);
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
    if !output.found {
        let _ = io::stderr().lock().write_all(output.text.as_bytes());
        return ExitCode::from(NOTHING_FOUND);
    }
    match io::stdout().lock().write_all(output.text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => fail(&format!("The result could not be written: {error}.")),
        _ => ExitCode::SUCCESS,
    }
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
        Command::Stats { days, json } => show_stats(days, json),
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

/// What was saved, as text or JSON.
fn show_stats(days: Option<u64>, json: bool) -> Result<Output> {
    let place = ledger::place().ok_or_else(|| Error::bad_argument("The ledger is turned off by CODESKIM_LEDGER, or HOME is not set."))?;
    let shown = place.display().to_string();
    let entries = ledger::read(&place).map_err(|source| Error::Unreadable { path: quote(&shown), source })?;
    let stats = ledger::stats::stats(&entries, days);
    Ok(Output::new(match (json, entries.is_empty(), stats.days.is_empty()) {
        (true, ..) => serde_json::to_string_pretty(&stats).expect("figures are JSON") + "\n",
        (false, true, _) => format!("Nothing is in the ledger yet; it will be {shown}.\n"),
        (false, false, true) => format!("Nothing in {shown} is of these days.\n"),
        (false, false, false) => ledger::report::render(&stats),
    }))
}

/// A file that is named on the command line, wherever it is; - is standard input.
fn read_text(path: &Path) -> Result<String> {
    let read = if path == Path::new("-") { io::read_to_string(io::stdin().lock()) } else { std::fs::read_to_string(path) };
    read.map_err(|source| Error::Unreadable { path: quote(&path.display().to_string()), source })
}
