//! The files of the roots as documents, in memory, in step with the disk: each search looks at sizes and times, and reads what has changed.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockWriteGuard};

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

/// What the index may take in memory, in bytes: files beyond are passed over, but those that are asked for come before others.
const MOST_MEMORY: usize = 1 << 29;
/// Files that are looked up at a time.
const LOOKED_UP: usize = 256;

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
pub struct Index {
    /// No work is handed to other threads under its lock: a thread that waits for them takes up other searches, which want the lock, too.
    known: RwLock<HashMap<Location, Known>>,
    listings: Mutex<HashMap<Location, Arc<Listing>>>,
    bytes: AtomicUsize,
    most: usize,
}

impl Default for Index {
    fn default() -> Self {
        Self { known: RwLock::default(), listings: Mutex::default(), bytes: AtomicUsize::new(0), most: MOST_MEMORY }
    }
}

struct Known {
    stamp: Stamp,
    indexed: Arc<Indexed>,
}

/// What is known of a file before a search looks at it.
enum Before {
    /// It is as it was.
    Same(Arc<Indexed>),
    /// It was something else.
    Changed,
    /// Nothing.
    Unknown,
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
        let mut found = self.read(workspace, &listed, cancel, progress);
        if found.beyond > 0 && self.make_room(&listed) {
            found = self.read(workspace, &listed, cancel, progress);
        }
        if cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        found.files.sort_by(|a, b| a.path.cmp(&b.path).then_with(|| a.file.cmp(&b.file)));
        found.files.dedup_by(|a, b| a.file == b.file);
        self.forget(starts, &found.files);
        Ok(found)
    }

    /// These files, as far as there is room for them; in no order. What is known of one that has changed has had room already.
    fn read(&self, workspace: &Workspace, listed: &[Listed], cancel: &CancellationToken, progress: Option<Progress<'_>>) -> Files {
        let (seen, large, beyond) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
        let passing = AtomicUsize::new(0); // bytes of what is not kept
        let one = |(Listed { file, stamp }, before): (&Listed, Before)| {
            if cancel.is_cancelled() {
                return None;
            }
            if let Some(progress) = progress {
                progress(seen.fetch_add(1, Ordering::Relaxed) + 1, Some(listed.len()));
            }
            let is_new = matches!(before, Before::Unknown);
            if let Before::Same(indexed) = before {
                return Some(indexed);
            }
            let path = file.path();
            if stamp.0 > LARGEST_SOURCE {
                large.fetch_add(usize::from(Language::of(&path).is_some()), Ordering::Relaxed);
                return None;
            }
            if is_new && self.size() + passing.load(Ordering::Relaxed) > self.most {
                beyond.fetch_add(1, Ordering::Relaxed);
                return None;
            }
            let indexed = Arc::new(Indexed { document: read(workspace, file)?, file: file.clone(), path });
            if is_settled(stamp.1) {
                self.keep(Known { stamp: *stamp, indexed: Arc::clone(&indexed) });
            } else {
                passing.fetch_add(indexed.document.size(), Ordering::Relaxed);
            }
            Some(indexed)
        };
        let files = listed.par_iter().zip(self.look_up(listed)).filter_map(one).collect();
        Files { files, large: large.into_inner(), beyond: beyond.into_inner() }
    }

    /// What is known of each of these files.
    fn look_up(&self, listed: &[Listed]) -> Vec<Before> {
        let some = |listed: &[Listed]| {
            let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
            let of = |Listed { file, stamp }: &Listed| match known.get(file) {
                None => Before::Unknown,
                Some(known) if known.stamp == *stamp => Before::Same(Arc::clone(&known.indexed)),
                Some(_) => Before::Changed,
            };
            listed.iter().map(of).collect::<Vec<_>>()
        };
        listed.par_chunks(LOOKED_UP).flat_map_iter(some).collect()
    }

    /// Forgets all but these files; false if nothing else was known.
    fn make_room(&self, listed: &[Listed]) -> bool {
        let asked: HashSet<&Location> = listed.iter().map(|listed| &listed.file).collect();
        let mut known = self.write();
        let before = known.len();
        self.retain(&mut known, |file| asked.contains(file));
        known.len() < before
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
        if let Some(old) = self.write().insert(known.indexed.file.clone(), known) {
            self.bytes.fetch_sub(old.indexed.document.size(), Ordering::Relaxed);
        }
    }

    /// Forgets what is no longer there beneath some places.
    fn forget(&self, starts: &[Location], files: &[Arc<Indexed>]) {
        let mut known = self.write();
        if known.len() == files.len() {
            return; // of so many files none is gone
        }
        let there: HashSet<&Location> = files.iter().map(|indexed| &indexed.file).collect();
        let is_gone = |file: &Location| !there.contains(file) && starts.iter().any(|start| file.is_beneath(start));
        self.retain(&mut known, |file| !is_gone(file));
    }

    fn retain(&self, known: &mut HashMap<Location, Known>, stays: impl Fn(&Location) -> bool) {
        known.retain(|file, known| {
            let stays = stays(file);
            if !stays {
                self.bytes.fetch_sub(known.indexed.document.size(), Ordering::Relaxed);
            }
            stays
        });
    }

    fn write(&self) -> RwLockWriteGuard<'_, HashMap<Location, Known>> {
        self.known.write().unwrap_or_else(PoisonError::into_inner)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::listing::SETTLED;

    #[test]
    fn a_full_index_makes_room_for_what_is_asked_for() {
        let directory = tempfile::tempdir().expect("a directory");
        let at = |path: &str| directory.path().join(path);
        for of in ["a", "b"] {
            std::fs::create_dir(at(of)).expect("created");
            (0..20).for_each(|i| {
                std::fs::write(at(&format!("{of}/{i}.py")), format!("def {of}_{i}():\n    pass\n").repeat(20)).expect("written")
            });
        }
        let settle = || std::thread::sleep(2 * SETTLED);
        settle();
        let workspace = Workspace::open(&[directory.path()]).expect("a root");
        let cancel = CancellationToken::new();
        let found = |index: &Index, path: Option<&str>| {
            let starts = workspace.locate(path).expect("places");
            let files = index.files(&workspace, &starts, &cancel, None).expect("files");
            assert_eq!(index.size(), index.write().values().map(|known| known.indexed.document.size()).sum::<usize>());
            (files.files.len(), files.beyond, files.defining("changed"))
        };
        let all = Index::default();
        assert_eq!(found(&all, None), (40, 0, 0));
        let index = Index { most: all.size() * 5 / 8, ..Index::default() };
        let (known, beyond, _) = found(&index, None);
        assert!(beyond > 0 && known + beyond == 40, "{known} {beyond}");
        for of in ["a", "b", "a"] {
            assert_eq!(found(&index, Some(of)), (20, 0, 0), "{of}");
        }
        found(&index, None);
        std::fs::write(at("a/0.py"), "def changed():\n    pass\n").expect("written");
        assert_eq!(found(&index, None).2, 1); // it is not settled
        settle();
        assert_eq!(found(&index, None).2, 1);
    }
}
