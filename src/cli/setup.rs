//! `codeskim setup` and `codeskim doctor`.

use std::fmt::Write as _;
use std::io::{self, BufRead, IsTerminal, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use codeskim::error::{Error, Result, quote};
use codeskim::setup::clients::{Client, Launch, Places};
use codeskim::setup::{self, Change};
use codeskim::tools::{Call, Output, Session, prune};

/// A file to prune wherever codeskim is installed, and what to ask of it.
const SAMPLE: &str = include_str!("../workspace/mod.rs");
const QUESTION: &str = "What happens when a link with an absolute target points into the root?";

/// How long a configured program may take to say its version.
const PATIENCE: Duration = Duration::from_secs(5);

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
    for change in &changes {
        let kept = change.write()?.map_or_else(String::new, |kept| format!(" The old one is {}.", kept.display()));
        let _ = writeln!(io::stdout().lock(), "{} is written.{kept}", change.path.display()); // at once: the next may fail
    }
    Ok(say(if request.remove { String::new() } else { format!("{}\n", client.next()) }))
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
pub fn doctor(session: Result<Session>, roots: &[PathBuf]) -> Result<Output> {
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
    match session.and_then(|session| prune::run(&session, request, &Call::default())) {
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
        let mut files = vec![(client.path(&places), Written::ByUser)];
        files.extend(client.project_path(&places).filter(|path| *path != files[0].0).map(|path| (path, Written::ByProject)));
        files.retain(|(file, _)| file.is_file());
        for (file, written) in &files {
            check(*client, file, *written, &mut report);
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

/// Who has written a configuration.
#[derive(Clone, Copy)]
enum Written {
    ByUser,
    /// Whoever wrote the repository: its programs are not started.
    ByProject,
}

fn check(client: Client, file: &Path, written: Written, report: &mut Report) {
    let (title, shown) = (client.title(), file.display());
    let command = match setup::command(client, file) {
        Err(error) => return report.bad(format!("{title}: {error}")),
        Ok(None) => return report.line('-', format!("{title}: not in {shown}; codeskim setup {} adds it", name(client))),
        Ok(Some(command)) => command,
    };
    let program = command.first().map_or("nothing", String::as_str);
    let starts = format!("{title}: {shown} starts {}", quote(program));
    let good = format!("{title}: {shown} starts {program}");
    if is_this_program(program) {
        return report.good(good);
    }
    if matches!(written, Written::ByProject) {
        return report.line('-', format!("{starts}, which is another program; it was not tried, as it came with the project"));
    }
    match version(program) {
        Ok(version) if version == concat!("codeskim ", env!("CARGO_PKG_VERSION")) => report.good(good),
        Ok(version) => report.bad(format!("{starts}, which says it is {}", quote(&version))),
        Err(problem) => report.bad(format!("{starts}, which {problem}; codeskim setup {} mends it", name(client))),
    }
}

fn name(client: Client) -> String {
    client.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

/// Whether a client that starts `program` starts this one: by its path, or as the first of its name among the user's programs.
fn is_this_program(program: &str) -> bool {
    let own = std::env::current_exe().and_then(|own| own.canonicalize()).ok();
    let is_own = |path: &Path| own.is_some() && path.canonicalize().ok() == own;
    if Path::new(program).components().count() != 1 {
        return is_own(Path::new(program));
    }
    let found = std::env::var_os("PATH")
        .and_then(|directories| std::env::split_paths(&directories).map(|directory| directory.join(program)).find(|path| path.is_file()));
    found.is_some_and(|path| is_own(&path))
}

/// What a configured program says its version is.
fn version(program: &str) -> std::result::Result<String, String> {
    let child = Command::new(program).arg("--version").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut child = child.map_err(|error| format!("does not start ({error})"))?;
    let began = Instant::now();
    while child.try_wait().map_err(|error| error.to_string())?.is_none() {
        if began.elapsed() > PATIENCE {
            let _ = child.kill();
            return Err(format!("does not say its version within {} seconds", PATIENCE.as_secs()));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
