//! What the command line may say.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use codeskim::prune::Limits;
use codeskim::repomap;
use codeskim::server::http;
use codeskim::skim::Keep;
use codeskim::skim::swe_pruner::Precision;
use codeskim::tools::arguments::{Lines, ranges};
use codeskim::tools::head;

use super::setup;

/// Seconds that a call to another server may take, unless another number is asked for.
pub const REMOTE_TIMEOUT: u64 = 10;

/// Reads code for agents: only the lines that answer a question, every gap marked. Without a command, serves MCP on stdin and stdout.
#[derive(Parser)]
#[command(version, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Directory that may be read; repeatable [default: the working directory]
    #[arg(long = "root", value_name = "DIR", global = true)]
    pub roots: Vec<PathBuf>,
    /// Longest result, in characters, at least 4000
    #[arg(long, value_name = "N", default_value_t = Limits::default().most, value_parser = |text: &str| at_least(4000, text), global = true)]
    pub max_chars: usize,
    /// Longest pruned result, in tokens (o200k), at least 100: the best lines that fit
    #[arg(long, value_name = "N", value_parser = |text: &str| at_least(100, text), global = true)]
    pub budget: Option<usize>,
    /// How much a question keeps
    #[arg(long, value_enum, default_value_t = Keep::default(), global = true)]
    pub keep: Keep,
    #[command(flatten)]
    pub models: Models,
    #[command(flatten)]
    pub accounts: Accounts,
}

/// What is noted of each call.
#[derive(Args)]
pub struct Accounts {
    /// Return whole texts, and note what pruned ones would save (see `codeskim stats`)
    #[arg(long, global = true)]
    pub observe: bool,
    /// Note nothing of what is read; so does CODESKIM_LEDGER=off, and CODESKIM_LEDGER=FILE puts the notes there
    #[arg(long, conflicts_with_all = ["observe", "ledger_questions"], global = true)]
    pub no_ledger: bool,
    /// Note the questions too
    #[arg(long, global = true)]
    pub ledger_questions: bool,
}

/// What scores lines, where it is not the model inside the binary.
#[derive(Args, Clone)]
pub struct Models {
    /// Score lines with the published pruner in this directory (see `codeskim model pull`)
    #[arg(long, value_name = "DIR", global = true)]
    pub model: Option<PathBuf>,
    /// What its weights are kept in
    #[arg(long, value_enum, default_value_t = Precision::default(), global = true)]
    pub precision: Precision,
    /// Score lines with a server that speaks SWE-Pruner's POST /prune; CODESKIM_REMOTE_TOKEN is its bearer token
    #[arg(long, value_name = "URL", global = true)]
    pub remote: Option<String>,
    /// Seconds that a call to it may take
    #[arg(long, value_name = "N", default_value_t = REMOTE_TIMEOUT, value_parser = clap::value_parser!(u64).range(1..=600), global = true)]
    pub remote_timeout: u64,
}

#[derive(Subcommand)]
pub enum Command {
    /// Serve MCP on stdin and stdout (what happens without a command), or over HTTP
    Serve {
        /// Serve MCP at /mcp and SWE-Pruner's protocol at /prune and /health, at an address or a port of this machine. CODESKIM_TOKEN is the
        /// bearer token that clients need; other addresses than this machine's want one
        #[arg(long, value_name = "ADDR", value_parser = http::address)]
        http: Option<SocketAddr>,
    },
    /// Show a file, lines of it or the definitions of a name; whole, or what of it answers a question
    Read {
        /// The file, inside a root; with --symbol any files and directories, or none for all
        #[arg(value_name = "PATH", required_unless_present = "symbol")]
        paths: Vec<String>,
        /// The whole definitions of a name: get, Store.get or Store::get, and what uses them; repeatable
        #[arg(short, long, value_name = "NAME", value_delimiter = ',', conflicts_with = "lines")]
        symbol: Vec<String>,
        /// Only these lines: 12-40,200-230, 12- or 12
        #[arg(long, value_name = "A-B", value_parser = lines)]
        lines: Option<Ranges>,
        /// Begin each line with its number
        #[arg(short = 'n', long)]
        line_numbers: bool,
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
        #[arg(short = 'F', long, alias = "fixed-strings")]
        literal: bool,
        /// Match whole words only
        #[arg(short, long, alias = "word-regexp")]
        word: bool,
        /// Only the paths of files that match
        #[arg(short = 'l', long, conflicts_with_all = ["count", "focus"])]
        files_with_matches: bool,
        /// Only the paths of files that match, each with the number of its matching lines
        #[arg(short, long, conflicts_with = "focus")]
        count: bool,
        #[command(flatten)]
        _habits: Habits,
        #[command(flatten)]
        focus: Focus,
    },
    /// Ask all files a question: the definitions that answer it, best first; exits with 1 if nothing seems to
    ///
    /// --budget is how many tokens the result may have, 2000 if left out.
    Search {
        /// A complete question, then words that its code may use: "Where is the retry delay capped? (backoff, max)"
        #[arg(allow_hyphen_values = true)]
        question: String,
        /// Files or directories, inside a root
        paths: Vec<String>,
        /// Print {"results": [{"path", "lines": [[first, last], …], "definition", "whole": [first, last], "score"}, …]}, best first; lines are those that
        /// are shown. If nothing seems to answer, results are empty, and nearest has the same of what comes nearest
        #[arg(long)]
        json: bool,
        /// Print what speaks for each definition, as JSON
        #[arg(long, hide = true, conflicts_with = "json")]
        explain: bool,
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
        /// What to measure [default: the model or the server that is given, else embedded]
        #[arg(long, value_enum)]
        skimmer: Option<SkimmerName>,
        /// What to measure beside it; repeatable
        #[arg(long, value_enum)]
        baseline: Vec<SkimmerName>,
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
    /// Show what was saved, by tool, project, client and day
    Stats {
        /// Only the last days, today included
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=36500))]
        days: Option<u64>,
        /// Print the figures as JSON
        #[arg(long)]
        json: bool,
        /// Write them into this file instead, as a page to look at and to show
        #[arg(long, value_name = "FILE", conflicts_with = "json")]
        html: Option<PathBuf>,
    },
    /// Look whether all that an agent needs is there; exits with 1 if something is not
    Doctor,
    /// Answer an agent's hook on standard input
    #[command(hide = true)]
    Hook {
        /// The agent
        client: codeskim::hook::Client,
    },
    /// Manage the larger models
    #[command(subcommand)]
    Model(ModelCommand),
}

/// What is measured.
#[derive(Clone, Copy, clap::ValueEnum)]
pub enum SkimmerName {
    /// The model inside the binary
    Embedded,
    /// BM25 over three lines each way
    Bm25,
    /// BM25 over ten lines each way
    Bm25Wide,
    /// The published pruner given as --model
    Model,
    /// The server given as --remote
    Remote,
}

#[derive(Clone, Copy, clap::ValueEnum)]
pub enum ControlName {
    /// Random files and symbols of the same repository
    Random,
}

#[derive(Subcommand)]
pub enum ModelCommand {
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

#[derive(Args)]
pub struct Focus {
    /// Show only the lines that answer this question, of a map first what answers it; words after it that the code may use help: "Where is the delay capped? (backoff, max)"
    #[arg(long, alias = "question", value_name = "QUESTION")]
    pub focus: Option<String>,
}

/// What people and agents type from habit, and what a search does anyway.
#[derive(Args)]
pub struct Habits {
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
    let count = |argument: &OsString| argument.to_str()?.strip_prefix('-')?.parse::<usize>().ok();
    for argument in arguments.iter_mut().skip_while(|argument| *argument != "head").take_while(|argument| *argument != "--") {
        if let Some(count) = count(argument) {
            *argument = format!("-n{count}").into();
        }
    }
    Cli::parse_from(arguments)
}

fn at_least(least: usize, text: &str) -> std::result::Result<usize, String> {
    text.parse().ok().filter(|number| *number >= least).ok_or_else(|| format!("give a number of at least {least}"))
}

fn lines(text: &str) -> std::result::Result<Ranges, String> {
    ranges(text).map(Ranges)
}

/// Runs of lines; a type of its own, as they are one value to the command line.
#[derive(Clone)]
pub struct Ranges(pub Vec<Lines>);
