//! The files of the roots as documents, in memory, in step with the disk: each search looks at sizes and times, and reads what has changed.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rayon::prelude::*;
use tokio_util::sync::CancellationToken;

use super::document::Document;
use super::terms::{Terms, whole};
use crate::error::{Error, Result};
use crate::lookup::words::LARGEST_SOURCE;
use crate::syntax::Language;
use crate::workspace::text::{SAMPLE, decode};
use crate::workspace::{Location, Stamp, Workspace};

/// What the index may take in memory, in bytes: files beyond are passed over.
const MOST_MEMORY: usize = 1 << 29;

/// Files that were changed so lately are read anew by the next search.
const SETTLED: Duration = Duration::from_millis(100);

/// A file in the index.
#[derive(Clone)]
pub struct Indexed {
    /// The file.
    pub file: Location,
    /// Its path in its root, with slashes.
    pub path: String,
    /// What it has.
    pub document: Arc<Document>,
}

/// What is known of the files, between searches.
#[derive(Default)]
pub struct Index {
    known: Mutex<HashMap<Location, Known>>,
    bytes: AtomicUsize,
}

struct Known {
    stamp: Stamp,
    document: Arc<Document>,
}

/// The files of a search.
pub struct Files {
    /// In order of path.
    pub files: Vec<Indexed>,
    /// Source files that were passed over, as they are too large to have been written by hand.
    pub large: usize,
    /// Files that were passed over, as the index is full.
    pub beyond: usize,
}

impl Files {
    /// How many passages seem to define a name.
    pub fn defining(&self, name: &str) -> usize {
        let term = whole(name.as_bytes());
        let defines = |indexed: &Indexed| indexed.document.of(term).iter().filter(|entry| entry.names() > 0).count();
        self.files.par_iter().map(defines).sum()
    }

    /// The files that have a name, as far as words tell.
    pub fn with_name(&self, name: &str) -> Vec<Location> {
        let all = Terms::default().of_name(name);
        let has = |indexed: &&Indexed| all.iter().all(|term| !indexed.document.of(*term).is_empty());
        self.files.iter().filter(has).map(|indexed| indexed.file.clone()).collect()
    }
}

thread_local! {
    static TERMS: RefCell<Terms> = RefCell::default();
}

impl Index {
    /// The files beneath some places as they are now; ignore files are respected as in searches, and what is binary is left out.
    ///
    /// # Errors
    /// A directory that cannot be walked, and a call that was withdrawn: what was read until then is kept.
    pub fn files(
        &self,
        workspace: &Workspace,
        starts: &[Location],
        cancel: &CancellationToken,
        progress: Option<&(dyn Fn(usize) + Sync)>,
    ) -> Result<Files> {
        let (found, seen) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
        let (large, beyond) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let visit = |file: Location, stamp: &dyn Fn() -> Option<Stamp>| {
            let Some(stamp) = stamp() else { return };
            let count = seen.fetch_add(1, Ordering::Relaxed) + 1;
            if let Some(progress) = progress {
                progress(count);
            }
            if stamp.0 > LARGEST_SOURCE {
                large.fetch_add(usize::from(Language::of(&file.path()).is_some()), Ordering::Relaxed);
                return;
            }
            let known = lock(&self.known).get(&file).filter(|known| known.stamp == stamp).map(|known| Arc::clone(&known.document));
            let document = match known {
                Some(document) => document,
                None if self.bytes.load(Ordering::Relaxed) > MOST_MEMORY => {
                    beyond.fetch_add(1, Ordering::Relaxed);
                    return;
                }
                None => {
                    let Some(document) = read(workspace, &file).map(Arc::new) else { return };
                    // A file that was changed just now may be changed again within the same tick of its clock.
                    if stamp.1.elapsed().is_ok_and(|age| age > SETTLED) {
                        self.keep(file.clone(), Known { stamp, document: Arc::clone(&document) });
                    }
                    document
                }
            };
            let path = file.path();
            lock(&found).push(Indexed { file, path, document });
        };
        for start in starts {
            match workspace.is_file(start) {
                true => visit(start.clone(), &|| workspace.stamp(start)),
                false => drop(workspace.walk_with_stamps(start, &[], cancel, visit)?),
            }
        }
        if cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let mut files: Vec<Indexed> = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        files.sort_by(|a, b| a.path.cmp(&b.path));
        files.dedup_by(|a, b| a.file == b.file);
        self.forget(starts, &files);
        Ok(Files { files, large: large.into_inner(), beyond: beyond.into_inner() })
    }

    fn keep(&self, file: Location, known: Known) {
        self.bytes.fetch_add(known.document.size(), Ordering::Relaxed);
        if let Some(old) = lock(&self.known).insert(file, known) {
            self.bytes.fetch_sub(old.document.size(), Ordering::Relaxed);
        }
    }

    /// Forgets what is no longer there beneath some places.
    fn forget(&self, starts: &[Location], files: &[Indexed]) {
        let mut known = lock(&self.known);
        if known.len() == files.len() {
            return; // of so many files none is gone
        }
        let there: HashSet<&Location> = files.iter().map(|indexed| &indexed.file).collect();
        let is_gone = |file: &Location| !there.contains(file) && starts.iter().any(|start| file.is_beneath(start));
        known.retain(|file, known| {
            let gone = is_gone(file);
            if gone {
                self.bytes.fetch_sub(known.document.size(), Ordering::Relaxed);
            }
            !gone
        });
    }

    /// What it takes in memory, in bytes.
    pub fn size(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }
}

/// A file as a document; one without passages where it is no text, none where it cannot be read.
fn read(workspace: &Workspace, file: &Location) -> Option<Document> {
    let open = workspace.open_location(file).ok()?;
    let mut bytes = Vec::with_capacity(open.bytes.min(LARGEST_SOURCE) as usize + 1);
    open.file.take(LARGEST_SOURCE).read_to_end(&mut bytes).ok()?;
    if memchr::memchr(0, &bytes[..bytes.len().min(SAMPLE)]).is_some() {
        let Ok(text) = decode(bytes) else { return Some(Document::default()) }; // UTF-16
        bytes = text.as_str().as_bytes().to_vec();
    }
    Some(TERMS.with_borrow_mut(|terms| Document::new(&bytes, terms)))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
