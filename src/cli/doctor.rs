//! `codeskim doctor`: is everything there that an agent needs?

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use codeskim::error::{Result, quote};
use codeskim::setup;
use codeskim::setup::clients::Client;
use codeskim::syntax::message::Walls;
use codeskim::tools::{Call, Output, Session, prune};
use codeskim::workspace::real::canonical;

use super::setup::places;

/// A file to prune wherever codeskim is installed, and what to ask of it.
const SAMPLE: &str = include_str!("../workspace/mod.rs");
const QUESTION: &str = "What happens with a link whose target is absolute but lies inside the root?";

/// How long a configured program may take to say its version.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes of that which are read.
const LONGEST_VERSION: u64 = 1000;

/// Looks whether all that an agent needs is there: the program, the roots, the skimmer, and the clients that are set up.
pub fn examine(session: Result<Session>, roots: &[PathBuf]) -> Result<Output> {
    let mut report = Report::default();
    let own = std::env::current_exe().map_or_else(|error| error.to_string(), |own| own.display().to_string());
    report.good(format!("codeskim {} at {own}", env!("CARGO_PKG_VERSION")));
    for root in roots {
        let entries = std::fs::read_dir(root).map(Iterator::count);
        let root = canonical(root).unwrap_or_else(|_| root.clone());
        match entries {
            Ok(entries) => report.good(format!("root {}: {entries} entries", root.display())),
            Err(error) => report.bad(format!("root {}: {error}", root.display())),
        }
    }
    if let Ok(session) = &session {
        match session.syntax.walls() {
            Ok(walls) => report.good(format!("a process of its own reads syntax{}", around(walls.unwrap_or_default()))),
            Err(error) => report.bad(format!("syntax: {error}, so that views go by indentation")),
        }
    }
    let began = Instant::now();
    let request = prune::Request { name: "sample.rs".to_owned(), input: SAMPLE.as_bytes(), focus: QUESTION.to_owned() };
    match session.and_then(|session| prune::run(&session, request, &Call::default())) {
        Ok(output) => {
            let header = output.text.lines().next().unwrap_or_default();
            let fine = header.contains(" lines. ⋮ ");
            let shown = header.split(" ⋮ ").next().unwrap_or_default(); // how lines are read back is nothing to do here
            let said = format!("a pruned read in {} ms: {shown}", began.elapsed().as_millis());
            if fine { report.good(said) } else { report.bad(said) }
        }
        Err(error) => report.bad(format!("a pruned read: {error}")),
    }
    let places = places()?;
    for client in Client::value_variants() {
        let mut files = vec![(client.path(&places), Written::ByUser)];
        files.extend(client.project_path(&places).filter(|path| *path != files[0].0).map(|path| (path, Written::ByProject)));
        files.retain(|(file, _)| file.exists());
        for (file, written) in &files {
            check(*client, file, *written, &mut report);
        }
        if files.is_empty() {
            report.line('-', format!("{}: no configuration", client.title()));
        }
    }
    Ok(Output { found: !report.failed, ..Output::new(report.text) })
}

/// The walls around a process, in words.
fn around(Walls { no_descriptors, landlock, seccomp }: Walls) -> String {
    let walls = [(no_descriptors, "no descriptors"), (landlock, "Landlock"), (seccomp, "seccomp")];
    let up: Vec<&str> = walls.into_iter().filter(|(up, _)| *up).map(|(_, name)| name).collect();
    if up.is_empty() { String::new() } else { format!(", closed in by {}", up.join(", ")) }
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
        Ok(None) => return report.line('-', format!("{title}: not in {shown}; codeskim setup {} adds it", client.name())),
        Ok(Some(command)) => command,
    };
    let Some(program) = command.first() else {
        return report.line('-', format!("{title}: {shown} starts nothing, as for a server at an address; that was not tried"));
    };
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
        Err(problem) => report.bad(format!("{starts}, which {problem}; codeskim setup {} mends it", client.name())),
    }
}

/// What a program may be called: on Windows its ending is left out.
fn programs(path: PathBuf) -> Vec<PathBuf> {
    let whole = cfg!(windows).then(|| path.with_extension(std::env::consts::EXE_EXTENSION));
    std::iter::once(path).chain(whole).collect()
}

/// Whether a client that starts `program` starts this one: by its path, or as the first of its name among the user's programs.
fn is_this_program(program: &str) -> bool {
    let own = std::env::current_exe().and_then(|own| canonical(&own)).ok();
    let is_own = |path: &Path| own.is_some() && canonical(path).ok() == own;
    if Path::new(program).components().count() != 1 {
        return is_own(Path::new(program));
    }
    let found = std::env::var_os("PATH").and_then(|directories| {
        std::env::split_paths(&directories).flat_map(|directory| programs(directory.join(program))).find(|path| path.is_file())
    });
    found.is_some_and(|path| is_own(&path))
}

/// What a configured program says its version is: its first line, as a child of its own may keep its output open.
fn version(program: &str) -> std::result::Result<String, String> {
    let child = Command::new(program).arg("--version").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut child = child.map_err(|error| format!("does not start ({error})"))?;
    let output = child.stdout.take().expect("it is piped");
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = BufReader::new(output.take(LONGEST_VERSION)).read_line(&mut line);
        let _ = sender.send(read.map(|_| line));
    });
    let line = receiver.recv_timeout(PATIENCE);
    let _ = child.kill();
    let _ = child.wait();
    let line = line.map_err(|_| format!("does not say its version within {} seconds", PATIENCE.as_secs()))?;
    line.map(|line| line.trim().to_owned()).map_err(|error| error.to_string())
}
