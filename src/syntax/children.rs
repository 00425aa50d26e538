//! Child processes of this program that read texts, started when they are needed and kept.
//!
//! What a text does to a child costs nobody else anything: a child that dies, takes too long or whose caller has gone is ended, and the next
//! text gets another one.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::message::{Answer, Hello, Request, Walls, decode, encode, longest_answer, receive, send};
use super::worker::{ARGUMENT, LARGE, TOO_LARGE, TOO_SLOW, time_for};

/// Children that wait for the next text, at most.
const KEPT: usize = 2;
/// Children at once, at least and at most; between them as many as there are processors.
const AT_ONCE: [usize; 2] = [4, 8];
/// How often a caller who waits is asked whether it still does.
const TICK: Duration = Duration::from_millis(10);
/// How much longer than its time on the processor a child may take on a busy machine.
const BUSY: u32 = 20;
/// The longest first frame, in bytes.
const LONGEST_HELLO: u32 = 1000;
/// How long a child that says no more may take to end.
const LAST: Duration = Duration::from_millis(200);

/// Why the syntax of a text is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unread {
    /// It takes longer than ordinary code does.
    #[error("parsing took too long")]
    TooSlow,
    /// It takes more memory than ordinary code does.
    #[error("parsing took too much memory")]
    TooLarge,
    /// The child that reads it does not answer; the machine may be too busy.
    #[error("the parser did not answer")]
    NoAnswer,
    /// The child that read it died.
    #[error("the parser failed on it")]
    Crashed,
    /// No child can be started.
    #[error("no parser could be started")]
    NoChild,
    /// The call was withdrawn.
    #[error("cancelled")]
    Cancelled,
}

/// Processes that read texts.
pub struct Children {
    program: PathBuf,
    most: usize,
    state: Mutex<State>,
    /// Told when a child may be had.
    freed: Condvar,
    /// Held while a large text is read.
    large: Mutex<()>,
}

#[derive(Default)]
struct State {
    idle: Vec<Child>,
    busy: usize,
}

impl Children {
    /// Children of `program`, which reads texts when it gets [`ARGUMENT`].
    pub fn of(program: PathBuf) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let most = processors.clamp(AT_ONCE[0], AT_ONCE[1]);
        Self { program, most, state: Mutex::default(), freed: Condvar::new(), large: Mutex::default() }
    }

    /// Starts a child where nobody waits for it, unless there is one.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn start(&self) -> Result<(), Unread> {
        if self.has_any() {
            return Ok(());
        }
        let place = self.place(&CancellationToken::new())?;
        let child = place.child()?;
        place.keep(child);
        Ok(())
    }

    /// The walls around a child.
    ///
    /// # Errors
    /// The program cannot be started, or says nothing.
    pub fn walls(&self) -> Result<Walls, Unread> {
        let never = CancellationToken::new();
        let place = self.place(&never)?;
        let mut child = place.child()?;
        let walls = child.walls(&never).map_err(|_| Unread::NoChild)?;
        place.keep(child);
        Ok(walls)
    }

    /// Asks a child; says how long it took for the answer. What does not fit the request is no answer, and ends the child.
    ///
    /// # Errors
    /// Why there is no answer.
    pub fn ask(
        &self,
        request: &Request<'_>,
        fits: impl Fn(&Answer) -> bool,
        cancel: &CancellationToken,
    ) -> Result<(Answer, Duration), Unread> {
        let bytes = request.text().len();
        let _turn = if bytes > LARGE { Some(self.turn(cancel)?) } else { None };
        let message = encode(request);
        let place = self.place(cancel)?;
        let mut child = place.child()?;
        let began = Instant::now();
        let believed =
            |answer: Result<Answer, Unread>| answer.and_then(|answer| if fits(&answer) { Ok(answer) } else { Err(Unread::Crashed) });
        let mut answer = believed(child.ask(&message, bytes, cancel));
        if answer == Err(Unread::Crashed) {
            // Something else may have ended it: the text has where a child ends that was started for it.
            child = Child::start(&self.program)?;
            answer = believed(child.ask(&message, bytes, cancel));
        }
        if answer == Err(Unread::Crashed) && child.walls.is_none() {
            return Err(Unread::NoChild); // it has not even begun
        }
        if answer.is_ok() && bytes <= LARGE {
            place.keep(child);
        }
        Ok((answer?, began.elapsed()))
    }

    /// Waits for the turn of a large text.
    fn turn(&self, cancel: &CancellationToken) -> Result<MutexGuard<'_, ()>, Unread> {
        loop {
            match self.large.try_lock() {
                Ok(turn) => return Ok(turn),
                Err(std::sync::TryLockError::Poisoned(turn)) => return Ok(turn.into_inner()),
                Err(std::sync::TryLockError::WouldBlock) if cancel.is_cancelled() => return Err(Unread::Cancelled),
                Err(std::sync::TryLockError::WouldBlock) => std::thread::sleep(TICK),
            }
        }
    }

    /// A place for a child, as soon as there is one.
    fn place(&self, cancel: &CancellationToken) -> Result<Place<'_>, Unread> {
        let mut state = self.state();
        while state.busy >= self.most {
            state = self.freed.wait_timeout(state, TICK).unwrap_or_else(PoisonError::into_inner).0;
            if cancel.is_cancelled() {
                return Err(Unread::Cancelled);
            }
        }
        state.busy += 1;
        Ok(Place(self))
    }

    fn has_any(&self) -> bool {
        let state = self.state();
        state.busy > 0 || !state.idle.is_empty()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to have a child at work. It ends with this.
struct Place<'a>(&'a Children);

impl Place<'_> {
    /// A child that has nothing to do, or a new one.
    fn child(&self) -> Result<Child, Unread> {
        let idle = self.0.state().idle.pop();
        idle.map_or_else(|| Child::start(&self.0.program), Ok)
    }

    /// Keeps a child for the next text, if there are not too many.
    fn keep(&self, child: Child) {
        let mut state = self.0.state();
        if state.idle.len() < KEPT {
            state.idle.push(child);
        } else {
            drop(state); // before it is waited for the child's end
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.state().busy -= 1;
        self.0.freed.notify_one();
    }
}

/// A process that reads one text after another. It ends with this.
struct Child {
    process: std::process::Child,
    jobs: Sender<Job>,
    frames: Receiver<io::Result<Vec<u8>>>,
    /// What its first frame says, once that has come.
    walls: Option<Walls>,
}

/// A message, and how long its answer may be.
struct Job {
    message: Vec<u8>,
    most: u32,
}

impl Child {
    fn start(program: &Path) -> Result<Self, Unread> {
        let failed = |error: io::Error| {
            tracing::warn!(%error, "no process can be started that reads syntax");
            Unread::NoChild
        };
        let mut command = Command::new(program);
        command.arg(ARGUMENT).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let keeps = |name: &OsStr| !cfg!(unix) || ["LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"].iter().any(|kept| name == *kept);
        command.env_clear().envs(std::env::vars_os().filter(|(name, _)| keeps(name) && !is_secret(name)));
        #[cfg(unix)]
        std::os::unix::process::CommandExt::arg0(&mut command, "codeskim").current_dir("/");
        #[cfg(windows)]
        std::os::windows::process::CommandExt::creation_flags(&mut command, DETACHED_PROCESS);
        let mut process = command.spawn().map_err(failed)?;
        let (mut input, mut output) = (process.stdin.take().expect("piped"), process.stdout.take().expect("piped"));
        let (jobs, next) = channel::<Job>();
        let (answer, frames) = channel();
        let child = Self { process, jobs, frames, walls: None };
        // A pipe can be waited for in no other way that all systems have; it ends when the child does.
        let wait = move || {
            let mut received = receive(&mut output, LONGEST_HELLO);
            while answer.send(received).is_ok()
                && let Ok(Job { message, most }) = next.recv()
            {
                received = send(&mut input, &message).and_then(|()| receive(&mut output, most));
            }
        };
        std::thread::Builder::new().spawn(wait).map_err(failed)?;
        Ok(child)
    }

    /// Asks for the answer about a text of so many bytes.
    fn ask(&mut self, message: &[u8], bytes: usize, cancel: &CancellationToken) -> Result<Answer, Unread> {
        self.walls(cancel)?;
        if self.jobs.send(Job { message: message.to_vec(), most: longest_answer(bytes) }).is_err() {
            return Err(self.end());
        }
        let frame = self.frame(time_for(bytes) * BUSY, cancel)?;
        decode(&frame).map_err(|_| Unread::Crashed)
    }

    /// The walls around it, which it tells first.
    fn walls(&mut self, cancel: &CancellationToken) -> Result<Walls, Unread> {
        if let Some(walls) = self.walls {
            return Ok(walls);
        }
        let frame = self.frame(time_for(0) * BUSY, cancel).map_err(|why| match why {
            Unread::Cancelled | Unread::Crashed => why, // of one that was idle, which may have been ended
            _ => Unread::NoChild,
        })?;
        let hello: Hello = decode(&frame).map_err(|_| Unread::NoChild)?;
        if hello.version != env!("CARGO_PKG_VERSION") {
            return Err(Unread::NoChild); // the program was replaced while it ran
        }
        self.walls = Some(hello.walls);
        Ok(hello.walls)
    }

    /// Its next frame.
    fn frame(&mut self, patience: Duration, cancel: &CancellationToken) -> Result<Vec<u8>, Unread> {
        let began = Instant::now();
        loop {
            match self.frames.recv_timeout(TICK) {
                Ok(Ok(frame)) => return Ok(frame),
                Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => return Err(self.end()),
                Err(RecvTimeoutError::Timeout) if cancel.is_cancelled() => return Err(Unread::Cancelled),
                Err(RecvTimeoutError::Timeout) if began.elapsed() > patience => return Err(Unread::NoAnswer),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Why it says no more.
    fn end(&mut self) -> Unread {
        let began = Instant::now();
        while began.elapsed() < LAST {
            match self.process.try_wait() {
                Ok(None) => std::thread::sleep(Duration::from_millis(1)),
                Ok(Some(status)) if status.code() == Some(TOO_SLOW.into()) => return Unread::TooSlow,
                Ok(Some(status)) if status.code() == Some(TOO_LARGE.into()) => return Unread::TooLarge,
                _ => break,
            }
        }
        Unread::Crashed
    }
}

/// Whether a variable of the environment is for this process alone.
fn is_secret(name: &OsStr) -> bool {
    name.to_string_lossy().ends_with("TOKEN")
}

/// Without a console, for which Windows would open a window or start a process more.
#[cfg(windows)]
const DETACHED_PROCESS: u32 = 0x0000_0008;

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
