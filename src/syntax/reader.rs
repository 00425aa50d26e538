//! What everything above asks for the syntax of a text: what is known already, or a child that reads it.

use std::num::NonZero;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lru::LruCache;
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

use super::children::{Children, Unread};
use super::message::{Answer, Request, Walls};
use super::{Language, Syntax, grammar};

/// Texts whose syntax is remembered, at most: those of some searches, each of which reads forty.
const REMEMBERED: NonZero<usize> = NonZero::new(1000).expect("more than none");
/// What all of it takes, at most, in bytes.
const MOST_REMEMBERED: usize = 1 << 25;
/// Larger syntax of one text is not remembered, in bytes.
const LARGEST_REMEMBERED: usize = 1 << 19;
/// Texts that cannot be read are remembered, at most so many, and not tried again.
const FAILED: NonZero<usize> = NonZero::new(4096).expect("more than none");
/// How long all views of a call may take to be read again, together.
const LONGEST_AGAIN: Duration = Duration::from_secs(3);

/// A text, as far as it has to be told from others.
type Key = [u8; 32];

/// Reads texts, and remembers those it has read.
pub struct Reader {
    /// Those who read; none where this process does it itself.
    children: Option<Children>,
    known: Mutex<Known>,
    failed: Mutex<LruCache<Key, Unread>>,
}

/// Syntax of the texts that were read last.
struct Known {
    of: LruCache<Key, Arc<Syntax>>,
    bytes: usize,
}

impl Known {
    /// Remembers one more, unless it is large, and forgets those that were not asked for the longest.
    fn keep(&mut self, key: Key, syntax: Arc<Syntax>, most: usize) {
        let size = syntax.size();
        if size > LARGEST_REMEMBERED {
            return;
        }
        self.bytes += size;
        if let Some((_, old)) = self.of.push(key, syntax) {
            self.bytes -= old.size();
        }
        while self.bytes > most {
            let Some((_, old)) = self.of.pop_lru() else { break };
            self.bytes -= old.size();
        }
    }
}

impl Reader {
    /// Reads in child processes of `program`, which is codeskim.
    pub fn guarded(program: PathBuf) -> Self {
        Self::with(Some(Children::of(program)))
    }

    /// Reads in this process, which a text can end: for texts that are known.
    pub fn unguarded() -> Self {
        Self::with(None)
    }

    fn with(children: Option<Children>) -> Self {
        Self { children, known: Mutex::new(Known { of: LruCache::new(REMEMBERED), bytes: 0 }), failed: Mutex::new(LruCache::new(FAILED)) }
    }

    /// Starts what the first text would otherwise wait for; to be called where nobody waits.
    pub fn warm_up(&self) {
        if let Some(children) = &self.children {
            let _ = children.start(); // what is wrong with it, the first text is told
        }
    }

    /// The walls around those who read; none where this process does it itself.
    ///
    /// # Errors
    /// A child that cannot be started.
    pub fn walls(&self) -> Result<Option<Walls>, Unread> {
        self.children.as_ref().map(Children::walls).transpose()
    }

    /// The same for one call.
    pub fn access<'a>(&'a self, cancel: &'a CancellationToken) -> Access<'a> {
        Access { reader: self, cancel, spent: Mutex::default() }
    }

    fn ask(&self, request: &Request<'_>, cancel: &CancellationToken) -> Result<(Answer, Duration), Unread> {
        let Some(children) = &self.children else {
            let answer = match request {
                Request::Read(language, text) => Answer::Syntax(Box::new(grammar::read(*language, text))),
                Request::FirstError(grammar, text) => Answer::FirstError(grammar::first_error(*grammar, text)),
            };
            return Ok((answer, Duration::ZERO));
        };
        let key = key(request);
        if let Some(why) = lock(&self.failed).get(&key) {
            return Err(*why);
        }
        let answer = children.ask(request, |answer| fits(answer, request), cancel);
        if let Err(why @ (Unread::TooSlow | Unread::TooLarge | Unread::Crashed)) = answer {
            tracing::warn!(%why, "a text of {} bytes is read without its grammar", request.text().len());
            lock(&self.failed).put(key, why);
        }
        answer
    }
}

/// A reader, for one call that may be withdrawn.
pub struct Access<'a> {
    reader: &'a Reader,
    cancel: &'a CancellationToken,
    /// How long children have read views again for.
    spent: Mutex<Duration>,
}

impl Access<'_> {
    /// Tells when the call is withdrawn.
    pub fn cancel(&self) -> &CancellationToken {
        self.cancel
    }

    /// What its grammar tells of a text.
    ///
    /// # Errors
    /// Why it cannot be told; the text can then be shown as one without a grammar.
    pub fn read(&self, language: Language, text: &str) -> Result<Arc<Syntax>, Unread> {
        let request = Request::Read(language, text);
        let key = key(&request);
        if let Some(known) = lock(&self.reader.known).of.get(&key) {
            return Ok(Arc::clone(known));
        }
        let (Answer::Syntax(syntax), _) = self.reader.ask(&request, self.cancel)? else { return Err(Unread::Crashed) };
        let syntax: Arc<Syntax> = Arc::from(syntax);
        lock(&self.reader.known).keep(key, Arc::clone(&syntax), MOST_REMEMBERED);
        Ok(syntax)
    }

    /// The line of the first place of a text that its grammar cannot read; 0-based.
    ///
    /// # Errors
    /// Why it cannot be told, also that those before it have taken too long.
    pub fn first_error(&self, grammar: Language, text: &str) -> Result<Option<usize>, Unread> {
        if *lock(&self.spent) > LONGEST_AGAIN {
            return Err(Unread::TooSlow);
        }
        let (answer, time) = self.reader.ask(&Request::FirstError(grammar, text), self.cancel)?;
        *lock(&self.spent) += time;
        match answer {
            Answer::FirstError(error) => Ok(error),
            Answer::Syntax(_) => Err(Unread::Crashed),
        }
    }
}

/// Whether an answer can be one to this request.
fn fits(answer: &Answer, request: &Request<'_>) -> bool {
    match (answer, request) {
        (Answer::Syntax(syntax), Request::Read(_, text)) => syntax.is_of(text.split_inclusive('\n').count()),
        (Answer::FirstError(_), Request::FirstError(..)) => true,
        _ => false,
    }
}

fn key(request: &Request<'_>) -> Key {
    let mut hash = Sha256::new();
    hash.update(format!("{:?}", std::mem::discriminant(request)));
    let (Request::Read(language, text) | Request::FirstError(language, text)) = request;
    hash.update(format!("{language:?}\n"));
    hash.update(text);
    hash.finalize().into()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_has_a_bound() {
        let mut known = Known { of: LruCache::new(NonZero::new(5).expect("more than none")), bytes: 0 };
        let syntax: Vec<Arc<Syntax>> =
            (1..9).map(|count| Arc::new(grammar::read(Language::Python, &"def f():\n    pass\n".repeat(count)))).collect();
        let most = 3 * syntax[7].size();
        for (at, one) in syntax.iter().chain(&syntax).enumerate() {
            known.keep([(at % 8) as u8; 32], Arc::clone(one), most);
            assert_eq!(known.bytes, known.of.iter().map(|(_, one)| one.size()).sum::<usize>());
            assert!(known.bytes <= most && known.of.len() <= 5 && known.of.contains(&[(at % 8) as u8; 32]), "after {at}");
        }
        assert_eq!(known.of.len(), 3);
        known.keep([7; 32], Arc::clone(&syntax[7]), most);
        assert_eq!((known.of.len(), known.bytes), (3, known.of.iter().map(|(_, one)| one.size()).sum())); // the same again
        let before = known.bytes;
        known.keep([8; 32], Arc::new(grammar::read(Language::Python, &"def f():\n    pass\n".repeat(10_000))), usize::MAX);
        assert_eq!((known.of.len(), known.bytes), (3, before)); // too large
    }
}
