//! The ledger: what each call returned, and what it would have returned without its question, in tokens, one JSON object a line.
//!
//! It stays on this machine and has no text in it: names of files, ranges of lines and counts; questions only when asked for. Counting tokens takes
//! longer than most answers (the vocabulary has to be read first, 110 ms), so nobody waits for it: a server has a [`Ledger`] with a thread of its
//! own, a command hands its note [`over`](hand_over) to a process of its own. A ledger that cannot be written costs nothing but a line in the log.

pub mod report;
pub mod stats;

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::tokens::o200k;
use crate::tools::Output;

/// A ledger of more bytes is put aside when the next session begins; the one before it is dropped.
const LARGE: u64 = 32 << 20;
/// How long the end of the program waits for what is still to be written.
const PATIENCE: Duration = Duration::from_secs(2);

/// A line of the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Entry {
    /// An agent has been told of the tools.
    Session(Session),
    /// A tool has answered.
    Call(Call),
}

/// A session of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Seconds since 1970.
    pub time: u64,
    /// What its calls are marked with.
    pub session: String,
    /// The first root.
    pub project: String,
    /// The agent's name for itself.
    pub client: String,
    /// Tokens of the list of tools and of the server's instructions.
    pub schema: usize,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Seconds since 1970.
    pub time: u64,
    /// The session it belongs to; none at a shell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The first root.
    pub project: String,
    /// The tool, or the command.
    pub tool: String,
    /// The file or the search; none for what cannot be asked for again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// Another one when the file has changed.
    #[serde(default)]
    pub version: u64,
    /// The lines asked for: first and last, from 1.
    pub lines: (usize, usize),
    /// Tokens of the pruned result, or of the exact one where nothing was pruned.
    pub returned: usize,
    /// Tokens of what the same call returns without its question.
    pub whole: usize,
    /// What of that was left out: first line, last line, tokens.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<(usize, usize, usize)>,
    /// Whether the whole was returned all the same, to observe what would be saved.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub observed: bool,
    /// The question, if they are to be kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
}

/// What is written, and where.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Settings {
    /// The file.
    pub path: PathBuf,
    /// The first root.
    pub project: String,
    /// Whether questions are kept.
    pub questions: bool,
}

/// The ledger of a server, which serves one session of an agent.
#[derive(Debug)]
pub struct Ledger {
    notes: Mutex<Option<Sender<Note>>>,
    written: Mutex<Receiver<()>>,
}

/// What is to be written.
#[derive(Serialize, Deserialize)]
enum Note {
    Session { client: String, schema: usize },
    Call { tool: String, question: Option<String>, output: Box<Output> },
}

impl Note {
    fn call(tool: &str, question: Option<&str>, output: &Output) -> Self {
        Self::Call { tool: tool.to_owned(), question: question.map(str::to_owned), output: Box::new(output.clone()) }
    }
}

/// Where the ledger is: in the user's directory for such things.
pub fn place() -> Option<PathBuf> {
    Some(dirs::state_dir().or_else(dirs::data_local_dir)?.join("codeskim").join("ledger.jsonl"))
}

impl Ledger {
    /// Starts to write. Nothing is created before there is something to write.
    pub fn open(settings: Settings) -> Self {
        let (notes, to_write) = mpsc::channel::<Note>();
        let (done, written) = mpsc::channel();
        std::thread::spawn(move || {
            let _done = done; // hangs up when all is written
            let session = format!("{:016x}", rand::random::<u64>());
            for note in to_write {
                if let Err(error) = append(&settings, &note.entry(&settings, Some(&session))) {
                    tracing::warn!(%error, path = %settings.path.display(), "the ledger could not be written");
                }
            }
        });
        Self { notes: Mutex::new(Some(notes)), written: Mutex::new(written) }
    }

    /// Notes that an agent has been told of tools which cost it so many tokens.
    pub fn session(&self, client: &str, schema: usize) {
        self.note(Note::Session { client: client.to_owned(), schema });
    }

    /// Notes what a tool has returned.
    pub fn call(&self, tool: &str, question: Option<&str>, output: &Output) {
        self.note(Note::call(tool, question, output));
    }

    fn note(&self, note: Note) {
        if let Ok(notes) = self.notes.lock()
            && let Some(notes) = notes.as_ref()
        {
            let _ = notes.send(note);
        }
    }

    /// Waits, not for long, until all is written.
    pub fn close(&self) {
        if let (Ok(mut notes), Ok(written)) = (self.notes.lock(), self.written.lock()) {
            *notes = None;
            let _ = written.recv_timeout(PATIENCE);
        }
    }
}

/// Lets another process of this program, started as `command`, note what a command has returned, and does not wait for it.
///
/// # Errors
/// A process that cannot be started.
pub fn hand_over(command: &mut Command, settings: &Settings, tool: &str, question: Option<&str>, output: &Output) -> io::Result<()> {
    let message = serde_json::to_vec(&(settings, Note::call(tool, question, output)))?;
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0); // an interrupt at the shell is not meant for it
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    child.stdin.take().map_or(Ok(()), |mut input| input.write_all(&message))
}

/// Notes what was handed over.
///
/// # Errors
/// What is no note, or a ledger that cannot be written.
pub fn take_over(message: impl io::Read) -> io::Result<()> {
    let (settings, note): (Settings, Note) = serde_json::from_reader(message)?;
    append(&settings, &note.entry(&settings, None))
}

impl Note {
    fn entry(self, settings: &Settings, session: Option<&str>) -> Entry {
        let (time, project) = (now(), settings.project.clone());
        match self {
            Self::Session { client, schema } => {
                Entry::Session(Session { time, session: session.unwrap_or_default().to_owned(), project, client, schema })
            }
            Self::Call { tool, question, output } => {
                let account = output.account.unwrap_or_default();
                let own = o200k(&output.text);
                let other = account.other.as_deref().map_or(own, o200k);
                let (returned, whole) = if account.observed { (other, own) } else { (own, other) };
                Entry::Call(Call {
                    time,
                    session: session.map(str::to_owned),
                    project,
                    tool,
                    of: account.of,
                    version: account.version,
                    lines: account.lines,
                    returned,
                    whole,
                    left_out: account.left_out.iter().map(|gap| (gap.first, gap.last, o200k(&gap.text))).collect(),
                    observed: account.observed,
                    question: question.filter(|_| settings.questions),
                })
            }
        }
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Writes one line, at once, so that lines of several programs do not mix.
fn append(settings: &Settings, entry: &Entry) -> io::Result<()> {
    let path = &settings.path;
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    if matches!(entry, Entry::Session(_)) && fs::metadata(path).is_ok_and(|metadata| metadata.len() > LARGE) {
        fs::rename(path, before(path))?;
    }
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut line = serde_json::to_vec(entry)?;
    line.push(b'\n');
    options.open(path)?.write_all(&line)
}

/// Where a large ledger is put aside.
fn before(path: &Path) -> PathBuf {
    path.with_extension("old.jsonl")
}

/// What is in the ledger, in order of time. Lines that are none, as after a power cut, are passed over.
///
/// # Errors
/// A ledger that is there and cannot be read.
pub fn read(path: &Path) -> io::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for path in [before(path), path.to_owned()] {
        let file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            other => other?,
        };
        for line in BufReader::new(file).split(b'\n') {
            entries.extend(serde_json::from_slice::<Entry>(&line?));
        }
    }
    entries.sort_by_key(Entry::time);
    Ok(entries)
}

impl Entry {
    /// Seconds since 1970.
    pub fn time(&self) -> u64 {
        match self {
            Self::Session(session) => session.time,
            Self::Call(call) => call.time,
        }
    }
}
