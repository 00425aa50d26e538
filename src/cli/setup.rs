//! `codeskim setup` and `codeskim doctor`.

use std::fmt::Write as _;
use std::io::{self, BufRead, IsTerminal, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use clap::{Args, ValueEnum};
use codeskim::error::{Error, Result, quote};
use codeskim::setup::clients::{Client, Launch, Places};
use codeskim::setup::{self, Change};
use codeskim::tools::{Call, Output, Session, prune};

/// A file to prune wherever codeskim is installed, and what to ask of it.
const SAMPLE: &str = include_str!("../workspace/mod.rs");
const QUESTION: &str = "What happens when a link with an absolute target points into the root?";

/// Arguments of `codeskim setup`.
#[derive(Args)]
pub struct Setup {
    /// The agent to set up
    client: Client,
    /// In the configuration of this directory, not in the user's own
    #[arg(long)]
    project: bool,
    /// For Claude Code: answer its own Read of a large file, and a Grep that prints much, with a word of codeskim, once
    #[arg(long)]
    hook: bool,
    /// Take codeskim out again
    #[arg(long)]
    remove: bool,
    /// Write without asking
    #[arg(short, long)]
    yes: bool,
    /// Show the change, write nothing
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
}

impl Setup {
    /// Whether it takes codeskim out.
    pub fn removes(&self) -> bool {
        self.remove
    }
}

/// Shows the changes of a client's configuration and, when told to, writes them. `roots` and `options` are those of the server to be.
pub fn setup(request: &Setup, roots: &[PathBuf], options: Vec<String>) -> Result<Output> {
    let places = places()?;
    let client = request.client;
    if request.hook && client != Client::ClaudeCode {
        return Err(Error::bad_argument("Only Claude Code has hooks that codeskim knows; leave --hook out."));
    }
    let path = match request.project {
        false => client.path(&places),
        true => client.project_path(&places).ok_or_else(|| {
            Error::bad_argument(format!("{} has no configuration of single projects; leave --project out.", client.title()))
        })?,
    };
    let hooks = Client::hooks_path(&places, request.project);
    let mut changes = Vec::new();
    if request.remove {
        changes.push(setup::remove(client, path)?);
        if client == Client::ClaudeCode {
            changes.push(setup::remove_hook(hooks)?);
        }
    } else {
        let launch = launch(client, &places, roots, options)?;
        changes.push(setup::add(client, &launch, path)?);
        if request.hook {
            changes.push(setup::add_hook(&launch, hooks)?);
        }
    }
    changes.retain(|change| !change.is_nothing());
    if changes.is_empty() {
        let how = if request.remove { "is not in the configuration of" } else { "is already set up in" };
        return Ok(say(format!("codeskim {how} {}; nothing is to be done.\n", client.title())));
    }
    let diff: String = changes.iter().map(Change::diff).collect();
    if request.dry_run {
        return Ok(say(diff));
    }
    let _ = io::stdout().lock().write_all(diff.as_bytes());
    if !request.yes && !agreed()? {
        return Ok(say("Nothing was written.\n".to_owned()));
    }
    let mut said = String::new();
    for change in &changes {
        let kept = change.write()?.map_or_else(String::new, |kept| format!(" The old one is {}.", kept.display()));
        let _ = writeln!(said, "{} is written.{kept}", change.path.display());
    }
    if !request.remove {
        let _ = writeln!(said, "{}", client.next());
    }
    Ok(say(said))
}

fn say(text: String) -> Output {
    Output::new(text)
}

fn agreed() -> Result<bool> {
    if !io::stdin().is_terminal() {
        return Err(Error::bad_argument("Nothing was written, as nobody can be asked here; give --yes to write it."));
    }
    let _ = write!(io::stderr().lock(), "Write this? [y/N] ");
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer);
    Ok(read.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn places() -> Result<Places> {
    let nowhere = |what: &str| Error::bad_argument(format!("There is no {what}; set HOME."));
    Ok(Places {
        home: dirs::home_dir().ok_or_else(|| nowhere("home directory"))?,
        config: dirs::config_dir().ok_or_else(|| nowhere("configuration directory"))?,
        project: std::env::current_dir().map_err(|_| nowhere("working directory"))?,
        variable: |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from),
    })
}

/// How the client is to start this very program.
fn launch(client: Client, places: &Places, roots: &[PathBuf], options: Vec<String>) -> Result<Launch> {
    let own = std::env::current_exe().map_err(|error| Error::bad_argument(format!("codeskim does not know where it is ({error}).")))?;
    let given = roots.iter().map(|root| {
        let whole = root.canonicalize().map_err(|source| Error::Unreadable { path: quote(&root.display().to_string()), source })?;
        Ok(whole.display().to_string())
    });
    let mut roots = given.collect::<Result<Vec<_>>>()?;
    if roots.is_empty() {
        roots.extend(client.root(places));
    }
    let arguments = roots.into_iter().flat_map(|root| ["--root".to_owned(), root]).chain(options).collect();
    Ok(Launch { command: own.display().to_string(), arguments })
}

/// Looks whether all that an agent needs is there: the program, the roots, the skimmer, and the clients that are set up.
pub fn doctor(session: &Session, roots: &[PathBuf]) -> Result<Output> {
    let mut report = Report::default();
    let own = std::env::current_exe().map_or_else(|error| error.to_string(), |own| own.display().to_string());
    report.good(format!("codeskim {} at {own}", env!("CARGO_PKG_VERSION")));
    for root in roots {
        let entries = std::fs::read_dir(root).map(Iterator::count);
        let root = root.canonicalize().unwrap_or_else(|_| root.clone());
        match entries {
            Ok(entries) => report.good(format!("root {}: {entries} entries", root.display())),
            Err(error) => report.bad(format!("root {}: {error}", root.display())),
        }
    }
    let began = Instant::now();
    let request = prune::Request { name: "sample.rs".to_owned(), input: SAMPLE.as_bytes(), focus: QUESTION.to_owned() };
    match prune::run(session, request, &Call::default()) {
        Ok(output) => {
            let header = output.text.lines().next().unwrap_or_default();
            let fine = header.contains(" lines. ⋮ ");
            let said = format!("a pruned read in {} ms: {header}", began.elapsed().as_millis());
            if fine { report.good(said) } else { report.bad(said) }
        }
        Err(error) => report.bad(format!("a pruned read: {error}")),
    }
    let places = places()?;
    for client in Client::value_variants() {
        let mut files: Vec<PathBuf> = std::iter::once(client.path(&places)).chain(client.project_path(&places)).collect();
        files.retain(|file| file.is_file());
        files.dedup();
        for file in &files {
            check(*client, file, &mut report);
        }
        if files.is_empty() {
            report.line('-', format!("{}: no configuration", client.title()));
        }
    }
    Ok(Output { found: !report.failed, ..Output::new(report.text) })
}

/// What doctor has found.
#[derive(Default)]
struct Report {
    text: String,
    failed: bool,
}

impl Report {
    fn good(&mut self, what: String) {
        self.line('✓', what);
    }

    fn bad(&mut self, what: String) {
        self.failed = true;
        self.line('✗', what);
    }

    fn line(&mut self, mark: char, what: String) {
        let _ = writeln!(self.text, "{mark} {what}");
    }
}

fn check(client: Client, file: &Path, report: &mut Report) {
    let (title, shown) = (client.title(), file.display());
    match setup::command(client, file) {
        Err(error) => report.bad(format!("{title}: {error}")),
        Ok(None) => report.line('-', format!("{title}: not in {shown}; codeskim setup {} adds it", name(client))),
        Ok(Some(command)) => match version(&command) {
            Ok(version) if version == concat!("codeskim ", env!("CARGO_PKG_VERSION")) => {
                report.good(format!("{title}: {shown} starts {}", command[0]))
            }
            Ok(version) => report.bad(format!("{title}: {shown} starts {}, which is {}", command[0], quote(&version))),
            Err(problem) => report.bad(format!("{title}: {shown} starts {problem}; codeskim setup {} mends it", name(client))),
        },
    }
}

fn name(client: Client) -> String {
    client.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

/// What a configured program says its version is.
fn version(command: &[String]) -> std::result::Result<String, String> {
    let program = command.first().ok_or("no program")?;
    let output = Command::new(program).arg("--version").stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{}, which does not start ({error})", quote(program)))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
