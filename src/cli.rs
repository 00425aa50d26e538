//! Commands and their arguments, turned into the same requests that the server makes.

use std::io::{self, IsTerminal, Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use codeskim::error::{Error, Result, quote};
use codeskim::server::Server;
use codeskim::tools::{Call, Options, Output, Session, grep, head, prune, read_file};

/// How long calls may take to end after the client has gone.
const LAST_CALLS: Duration = Duration::from_millis(500);
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
    /// Longest result, in characters
    #[arg(long, value_name = "N", default_value_t = Options::default().most, value_parser = at_least_1000, global = true)]
    max_chars: usize,
}

#[derive(Subcommand)]
enum Command {
    /// Serve MCP on stdin and stdout (what happens without a command)
    Serve,
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
        /// File or directory, inside a root
        path: Option<String>,
        /// Only files matching this glob; all but them with a leading !
        #[arg(short, long)]
        glob: Option<String>,
        /// Lines to show around each match
        #[arg(short = 'C', long)]
        context: Option<usize>,
        /// Ignore case
        #[arg(short, long)]
        ignore_case: bool,
        /// Take the pattern literally
        #[arg(short = 'F', long)]
        literal: bool,
        #[command(flatten)]
        focus: Focus,
    },
    /// Show the lines of standard input that answer a question
    Prune {
        /// A complete question
        #[arg(long, value_name = "QUESTION")]
        focus: String,
        /// What the text is; a file name tells the language
        #[arg(long, default_value = "stdin")]
        name: String,
    },
}

#[derive(Args)]
struct Focus {
    /// Show only the lines that answer this question
    #[arg(long, value_name = "QUESTION")]
    focus: Option<String>,
}

fn at_least_1000(text: &str) -> std::result::Result<usize, String> {
    text.parse().ok().filter(|number| *number >= 1000).ok_or_else(|| "give a number of at least 1000".to_owned())
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
    match execute(cli) {
        Ok(Output { text, found: true }) => match io::stdout().lock().write_all(text.as_bytes()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => fail(&format!("The result could not be written: {error}.")),
            _ => ExitCode::SUCCESS,
        },
        Ok(Output { text, found: false }) => {
            let _ = io::stderr().lock().write_all(text.as_bytes());
            ExitCode::from(NOTHING_FOUND)
        }
        Err(error) => fail(&error.to_string()),
    }
}

fn fail(message: &str) -> ExitCode {
    let _ = writeln!(io::stderr().lock(), "codeskim: {message}");
    ExitCode::from(FAILED)
}

fn execute(cli: Cli) -> Result<Output> {
    let roots = if cli.roots.is_empty() { vec![PathBuf::from(".")] } else { cli.roots };
    let shell = !matches!(cli.command, None | Some(Command::Serve));
    let session = Session::new(&roots, Options { most: cli.max_chars, shell })?;
    let call = Call::default();
    match cli.command.unwrap_or(Command::Serve) {
        Command::Serve => serve(session),
        Command::Read { file, lines, focus } => {
            let (start_line, end_line) = lines.map_or((None, None), |(from, to)| (Some(from), to));
            read_file::run(&session, &read_file::Request { path: file, start_line, end_line, context_focus_question: focus.focus }, &call)
        }
        Command::Head { file, lines, focus } => {
            head::run(&session, &head::Request { path: file, lines: Some(lines), context_focus_question: focus.focus }, &call)
        }
        Command::Grep { pattern, path, glob, context, ignore_case, literal, focus } => {
            let request = grep::Request {
                pattern,
                path,
                glob,
                context,
                ignore_case: Some(ignore_case),
                literal: Some(literal),
                context_focus_question: focus.focus,
            };
            grep::run(&session, &request, &call)
        }
        Command::Prune { focus, name } => {
            let mut bytes = Vec::new();
            io::stdin().lock().read_to_end(&mut bytes).map_err(|source| Error::Unreadable { path: quote(&name), source })?;
            prune::run(&session, prune::Request { name, bytes, focus }, &call)
        }
    }
}

fn serve(session: Session) -> Result<Output> {
    let failed = |error: String| Error::bad_argument(format!("The MCP session could not be served: {error}."));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(|error| failed(error.to_string()))?;
    let served = runtime.block_on(Server::new(session).serve_stdio()).map_err(failed);
    runtime.shutdown_timeout(LAST_CALLS); // the client is gone: nobody waits for what is still running
    served?;
    Ok(Output { text: String::new(), found: true })
}
