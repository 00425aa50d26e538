//! The ledger: what each call returned, and what it would have returned without its question, in tokens, one JSON object a line.
//!
//! It stays on this machine and has no text in it: names of files, ranges of lines and counts; questions only when asked for. It is written by a
//! thread of its own after the answer has gone. A ledger that cannot be written costs nothing but a line in the log.

pub mod page;
pub mod report;
pub mod stats;

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use thread_priority::ThreadPriority;

use crate::prune::LONGEST_QUESTION;
use crate::tokens::o200k;
use crate::tools::{Account, Output, Part};

/// Says where the ledger is, or that there is none: `off`.
pub const VARIABLE: &str = "CODESKIM_LEDGER";
/// A ledger of more bytes is put aside; the one put aside before is dropped.
const LARGE: u64 = 32 << 20;
/// How long the end of the program waits for what is still to be written.
const PATIENCE: Duration = Duration::from_secs(10);
/// Notes that may wait to be written, as while another program holds the ledger. What does not fit is not noted.
const MOST_WAITING: usize = 1_000;
/// Bytes of the texts of notes that may wait.
const LARGEST_WAITING: usize = 64 << 20;
/// Characters that are kept of a client's name for itself.
const LONGEST_NAME: usize = 200;

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
    /// Milliseconds since 1970.
    pub time: u64,
    /// What its calls are marked with.
    pub session: String,
    /// The first root.
    pub project: PathBuf,
    /// The agent's name for itself.
    pub client: String,
    /// Tokens of the list of tools and of the server's instructions.
    pub schema: usize,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Milliseconds since 1970.
    pub time: u64,
    /// The session it belongs to; none at a shell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The agent, of a call that comes from a hook: the session is then the agent's own, and of that nothing else is noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The first root.
    pub project: PathBuf,
    /// The tool, or the command.
    pub tool: String,
    /// Tokens of the view, or of the whole where nothing was pruned.
    pub returned: usize,
    /// Tokens of what the same call returns without its question.
    pub whole: usize,
    /// The lines of that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Lines>,
    /// Whether the whole was returned all the same, to observe what would be saved.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub observed: bool,
    /// The question, if they are to be kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
}

/// Lines of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lines {
    /// Its path.
    pub of: PathBuf,
    /// Runs that the view shows: first and last line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shown: Vec<(usize, usize)>,
    /// Runs that it leaves out: first line, last line, tokens.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<(usize, usize, usize)>,
}

/// What is written, and where.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The file.
    pub path: PathBuf,
    /// The first root.
    pub project: PathBuf,
    /// The session of an agent that is noted; none at a shell.
    pub session: Option<String>,
    /// The agent whose hook this is, if it is one.
    pub client: Option<String>,
    /// Whether what is done next goes before the ledger.
    pub background: bool,
    /// Whether questions are kept.
    pub questions: bool,
}

/// An open ledger.
#[derive(Debug)]
pub struct Ledger {
    notes: Mutex<Option<SyncSender<(u64, Note)>>>,
    /// Bytes of the notes that wait.
    waiting: Arc<AtomicUsize>,
    /// Whether it has been said that not all is noted.
    is_full: AtomicBool,
    /// Whether questions are kept.
    questions: bool,
    written: Mutex<Receiver<()>>,
}

/// What is to be done.
enum Note {
    WarmUp,
    Session { client: String, schema: usize },
    Call { tool: &'static str, question: Option<String>, output: Box<Output> },
}

/// Where the ledger is: where [`VARIABLE`] says, or else in the user's directory for such things. None if it is turned off.
pub fn place() -> Option<PathBuf> {
    match std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
        Some(off) if off == "off" => None,
        Some(path) => Some(path.into()),
        None => Some(dirs::state_dir().or_else(dirs::data_local_dir)?.join("codeskim").join("ledger.jsonl")),
    }
}

/// The name of a session that has none.
pub fn new_session() -> String {
    format!("{:016x}", rand::random::<u64>())
}

impl Ledger {
    /// Starts to write. Nothing is created before there is something to write.
    pub fn open(settings: Settings) -> Self {
        let (notes, to_write) = mpsc::sync_channel::<(u64, Note)>(MOST_WAITING);
        let (done, written) = mpsc::channel();
        let (waiting, questions) = (Arc::new(AtomicUsize::new(0)), settings.questions);
        let taken = Arc::clone(&waiting);
        std::thread::spawn(move || {
            let _done = done; // hangs up when all is written
            if settings.background {
                // The next call goes first; a command has none, and would wait for this on a busy machine. Where it cannot be set, nothing is lost.
                let _ = ThreadPriority::Min.set_for_current();
            }
            for (time, note) in to_write {
                taken.fetch_sub(note.bytes(), Ordering::Relaxed);
                let Some(entry) = note.entry(time, &settings) else { continue };
                if let Err(error) = append(&settings.path, &entry) {
                    tracing::warn!(%error, path = %settings.path.display(), "the ledger could not be written");
                }
            }
        });
        Self { notes: Mutex::new(Some(notes)), waiting, is_full: AtomicBool::new(false), questions, written: Mutex::new(written) }
    }

    /// Reads the vocabulary while there is something else to wait for.
    pub fn warm_up(&self) {
        self.note(Note::WarmUp);
    }

    /// Notes that an agent has been told of tools which cost it so many tokens.
    pub fn session(&self, client: &str, schema: usize) {
        self.note(Note::Session { client: start_of(client, LONGEST_NAME), schema });
    }

    /// Notes what a tool has returned.
    pub fn call(&self, tool: &'static str, question: Option<&str>, output: &Output) {
        let question = question.filter(|_| self.questions).map(|question| start_of(question.trim(), LONGEST_QUESTION));
        self.note(Note::Call { tool, question, output: Box::new(output.clone()) });
    }

    fn note(&self, note: Note) {
        let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
        if let Ok(notes) = self.notes.lock()
            && let Some(notes) = notes.as_ref()
        {
            let bytes = note.bytes();
            let fits = self.waiting.fetch_add(bytes, Ordering::Relaxed) <= LARGEST_WAITING;
            if !fits || notes.try_send((time, note)).is_err() {
                self.waiting.fetch_sub(bytes, Ordering::Relaxed);
                if !self.is_full.swap(true, Ordering::Relaxed) {
                    tracing::warn!("the ledger cannot be written as fast as calls are made, so some are not noted");
                }
            }
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

/// The first characters of a text that a client wrote.
fn start_of(text: &str, characters: usize) -> String {
    text.chars().take(characters).collect()
}

impl Note {
    /// Bytes of its texts.
    fn bytes(&self) -> usize {
        let Self::Call { output, .. } = self else { return 0 };
        let account = output.account.iter();
        let other = |account: &Account| account.other.as_ref().map_or(0, String::len);
        let gaps = |account: &Account| account.parts.iter().flat_map(|part| &part.left_out).map(|gap| gap.text.len()).sum::<usize>();
        output.text.len() + account.map(|account| other(account) + gaps(account)).sum::<usize>()
    }

    fn entry(self, time: u64, settings: &Settings) -> Option<Entry> {
        let (project, session) = (settings.project.clone(), settings.session.clone());
        Some(match self {
            Self::WarmUp => {
                o200k("");
                return None;
            }
            Self::Session { client, schema } => {
                Entry::Session(Session { time, session: session.unwrap_or_default(), project, client, schema })
            }
            Self::Call { tool, question, output } => {
                let account = output.account.unwrap_or_default();
                // Reading the vocabulary takes longer than a command without a question, whose tokens are the same on both sides.
                let count = |text: &str| if session.is_none() && account.other.is_none() { 0 } else { o200k(text) };
                let own = count(&output.text);
                let other = account.other.as_deref().map_or(own, count);
                let (returned, whole) = if account.observed { (other, own) } else { (own, other) };
                let parts = account.parts.iter().map(|part| Lines::new(part, &project)).collect();
                Entry::Call(Call {
                    time,
                    session,
                    client: settings.client.clone(),
                    project,
                    tool: tool.to_owned(),
                    returned,
                    whole,
                    parts,
                    observed: account.observed,
                    question,
                })
            }
        })
    }
}

impl Lines {
    fn new(part: &Part, project: &Path) -> Self {
        let left_out = part.left_out.iter().map(|gap| (gap.first, gap.last, o200k(&gap.text))).collect();
        Self { of: project.join(&part.of), shown: part.shown.clone(), left_out }
    }
}

/// Writes one line. Programs that write at once wait for each other, as one of them may put the ledger aside.
fn append(path: &Path, entry: &Entry) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    let mut options = for_owner();
    let turn = options.open(path.with_extension("lock"))?;
    turn.lock()?;
    if fs::metadata(path).is_ok_and(|metadata| metadata.len() > LARGE) {
        fs::rename(path, before(path))?;
    }
    let mut file = options.read(true).open(path)?;
    let mut line = if ends_in_a_line(&mut file)? { Vec::new() } else { vec![b'\n'] };
    serde_json::to_writer(&mut line, entry)?;
    line.push(b'\n');
    file.write_all(&line)
}

/// Whether there is no line that was cut off, as by a power cut: the next one would be lost with it.
fn ends_in_a_line(file: &mut File) -> io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(true);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

/// How a file is opened that is added to, and that is nobody's business but its owner's.
pub fn for_owner() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
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
    /// Milliseconds since 1970.
    pub fn time(&self) -> u64 {
        match self {
            Self::Session(session) => session.time,
            Self::Call(call) => call.time,
        }
    }
}
