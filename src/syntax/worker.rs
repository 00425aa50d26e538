//! What a child process does: it reads texts, one after another, until nobody asks any more.
//!
//! It ends itself where a text takes too much time or memory, and its exit status says which. It counts its own time on the processor, so
//! that a busy machine makes no text unreadable; on Windows, the time that passes.

use std::io;
use std::process::{ExitCode, exit};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use super::message::{Answer, Hello, LONGEST, Request, decode, encode, receive, send};
use super::{grammar, sandbox};

/// The argument that makes the program a child which reads texts.
pub const ARGUMENT: &str = "read-syntax";
/// The exit status of a child that took too long for a text.
pub const TOO_SLOW: u8 = 81;
/// That of one that took too much memory.
pub const TOO_LARGE: u8 = 82;
/// Texts of more bytes are large: they are read one at a time, each by a child of its own.
pub const LARGE: usize = 1 << 20;

/// How often the time is looked at.
const TICK: Duration = Duration::from_millis(20);

/// How long a text of so many bytes may take. Ordinary code takes a tenth of a microsecond a byte.
pub fn time_for(bytes: usize) -> Duration {
    let most = Duration::from_secs(3);
    (Duration::from_millis(250) + Duration::from_micros(3) * u32::try_from(bytes).unwrap_or(u32::MAX)).min(most)
}

/// Bytes of memory that the tree of a text of so many bytes may take. That of ordinary code takes twenty a byte.
pub fn memory_for(bytes: usize) -> usize {
    ((32 << 20) + bytes.saturating_mul(80)).min(512 << 20)
}

/// Reads what is asked for on standard input and answers on standard output, until the end of input. `limit` is told how many bytes the grammars
/// may take for the next text.
pub fn serve(limit: impl Fn(usize)) -> ExitCode {
    let (walls, clock) = sandbox::close(Clock::start);
    let hello = Hello { version: env!("CARGO_PKG_VERSION").to_owned(), walls };
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    if send(&mut output, &encode(&hello)).is_err() {
        return ExitCode::FAILURE;
    }
    while let Ok(frame) = receive(&mut input, LONGEST) {
        let Ok(request) = decode::<Request<'_>>(&frame) else { return ExitCode::FAILURE };
        let bytes = request.text().len();
        limit(memory_for(bytes));
        clock.set(Some(time_for(bytes)));
        let mut answer = |answer: Answer| send(&mut output, &encode(&answer));
        let sent = match request {
            Request::Read(language, text) => grammar::read_then(language, text, |syntax| answer(Answer::Syntax(Box::new(syntax)))),
            Request::FirstError(grammar, text) => answer(Answer::FirstError(grammar::first_error(grammar, text))),
        };
        clock.set(None);
        if sent.is_err() {
            return ExitCode::FAILURE;
        }
        if bytes > LARGE {
            break; // its memory goes back at once
        }
    }
    ExitCode::SUCCESS
}

/// Ends the process when a text takes too long.
struct Clock(Sender<Option<Duration>>);

impl Clock {
    /// Starts its thread, and waits until it runs: what a thread does to begin is refused behind the walls.
    fn start() -> Self {
        let ((set, told), (runs, begun)) = (channel(), channel());
        std::thread::spawn(move || {
            let _ = runs.send(());
            watch(&told);
        });
        let _ = begun.recv();
        Self(set)
    }

    /// How much more time there is; none to wait without an end.
    fn set(&self, time: Option<Duration>) {
        let _ = self.0.send(time);
    }
}

fn watch(told: &Receiver<Option<Duration>>) {
    let mut end = None;
    loop {
        let next = match end {
            None => told.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(_) => told.recv_timeout(TICK),
        };
        match next {
            Ok(time) => end = time.map(|time| used() + time),
            Err(RecvTimeoutError::Timeout) if end.is_some_and(|end| used() > end) => exit(TOO_SLOW.into()),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// The time that this process has used of a processor.
#[cfg(unix)]
fn used() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.try_into().unwrap_or(0), time.tv_nsec.try_into().unwrap_or(0))
}

#[cfg(not(unix))]
fn used() -> Duration {
    use std::sync::LazyLock;
    use std::time::Instant;

    static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
    BEGAN.elapsed()
}
