//! The files of the roots as documents, in memory, in step with the disk: each search looks at sizes and times, and reads what has changed.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rayon::prelude::*;
use tokio_util::sync::CancellationToken;

use super::document::Document;
use super::terms::{Terms, whole};
use crate::error::{Error, Result};
use crate::lookup::words::LARGEST_SOURCE;
use crate::progress::Progress;
use crate::syntax::Language;
use crate::workspace::listing::{Listed, Listing, is_settled};
use crate::workspace::text::{SAMPLE, decode};
use crate::workspace::{Location, Stamp, Workspace};

/// What the index may take in memory, in bytes: files beyond are passed over.
const MOST_MEMORY: usize = 1 << 29;

/// Places whose files are remembered, at most.
const MOST_LISTINGS: usize = 16;

/// A file in the index.
pub struct Indexed {
    /// The file.
    pub file: Location,
    /// Its path in its root, with slashes.
    pub path: String,
    /// What it has.
    pub document: Document,
}

/// What is known of the files, between searches.
#[derive(Default)]
pub struct Index {
    known: Mutex<HashMap<Location, Known>>,
    listings: Mutex<HashMap<Location, Arc<Listing>>>,
    bytes: AtomicUsize,
}

struct Known {
    stamp: Stamp,
    indexed: Arc<Indexed>,
}

/// The files of a search.
pub struct Files {
    /// In order of path.
    pub files: Vec<Arc<Indexed>>,
    /// Source files that were passed over, as they are too large to have been written by hand.
    pub large: usize,
    /// Files that were passed over, as the index is full.
    pub beyond: usize,
}

impl Files {
    /// How many passages seem to define a name.
    pub fn defining(&self, name: &str) -> usize {
        let term = whole(name.as_bytes());
        let defines = |indexed: &Arc<Indexed>| indexed.document.of(term).iter().filter(|entry| entry.names() > 0).count();
        self.files.par_iter().map(defines).sum()
    }

    /// The paths of the files beneath a root that are in known languages, in order.
    pub fn in_known_languages(&self, root: &Location) -> Vec<String> {
        let own = self.files.iter().filter(|indexed| indexed.file.same_root(root) && Language::of(&indexed.path).is_some());
        own.map(|indexed| indexed.path.clone()).collect()
    }

    /// The files that have a name, as far as words tell.
    pub fn with_name(&self, name: &str) -> Vec<Location> {
        let all = Terms::default().of_name(name);
        let has = |indexed: &&Arc<Indexed>| all.iter().all(|term| !indexed.document.of(*term).is_empty());
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
        progress: Option<Progress<'_>>,
    ) -> Result<Files> {
        let mut listed = Vec::new();
        for start in starts {
            match workspace.is_file(start) {
                true => listed.extend(workspace.stamp(start).map(|stamp| Listed { file: start.clone(), stamp })),
                false => listed.extend(self.list(workspace, start, cancel)?),
            }
        }
        let all = listed.len();
        let (seen, large, beyond) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
        let known: Vec<Option<Arc<Indexed>>> = {
            let known = lock(&self.known);
            let of = |Listed { file, stamp }: &Listed| {
                known.get(file).filter(|known| known.stamp == *stamp).map(|known| Arc::clone(&known.indexed))
            };
            listed.par_iter().map(of).collect()
        };
        let read = |(Listed { file, stamp }, known): (Listed, Option<Arc<Indexed>>)| {
            if cancel.is_cancelled() {
                return None;
            }
            if let Some(progress) = progress {
                progress(seen.fetch_add(1, Ordering::Relaxed) + 1, Some(all));
            }
            if known.is_some() {
                return known;
            }
            let path = file.path();
            if stamp.0 > LARGEST_SOURCE {
                large.fetch_add(usize::from(Language::of(&path).is_some()), Ordering::Relaxed);
                return None;
            }
            if self.bytes.load(Ordering::Relaxed) > MOST_MEMORY {
                beyond.fetch_add(1, Ordering::Relaxed);
                return None;
            }
            let indexed = Arc::new(Indexed { document: read(workspace, &file)?, file, path });
            if is_settled(stamp.1) {
                self.keep(Known { stamp, indexed: Arc::clone(&indexed) });
            }
            Some(indexed)
        };
        let mut files: Vec<Arc<Indexed>> = listed.into_par_iter().zip(known).filter_map(read).collect();
        if cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        files.dedup_by(|a, b| a.file == b.file);
        self.forget(starts, &files);
        Ok(Files { files, large: large.into_inner(), beyond: beyond.into_inner() })
    }

    /// The files beneath a place, from the last listing where that still holds.
    fn list(&self, workspace: &Workspace, start: &Location, cancel: &CancellationToken) -> Result<Vec<Listed>> {
        let last = lock(&self.listings).get(start).cloned();
        if let Some(files) = last.and_then(|listing| listing.look_again(workspace)) {
            return Ok(files);
        }
        let listing = workspace.list(start, cancel)?;
        let files = listing.files().to_vec();
        let mut listings = lock(&self.listings);
        if listings.len() >= MOST_LISTINGS {
            listings.clear();
        }
        listings.insert(start.clone(), Arc::new(listing));
        Ok(files)
    }

    fn keep(&self, known: Known) {
        self.bytes.fetch_add(known.indexed.document.size(), Ordering::Relaxed);
        if let Some(old) = lock(&self.known).insert(known.indexed.file.clone(), known) {
            self.bytes.fetch_sub(old.indexed.document.size(), Ordering::Relaxed);
        }
    }

    /// Forgets what is no longer there beneath some places.
    fn forget(&self, starts: &[Location], files: &[Arc<Indexed>]) {
        let mut known = lock(&self.known);
        if known.len() == files.len() {
            return; // of so many files none is gone
        }
        let there: HashSet<&Location> = files.iter().map(|indexed| &indexed.file).collect();
        let is_gone = |file: &Location| !there.contains(file) && starts.iter().any(|start| file.is_beneath(start));
        known.retain(|file, known| {
            let gone = is_gone(file);
            if gone {
                self.bytes.fetch_sub(known.indexed.document.size(), Ordering::Relaxed);
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
