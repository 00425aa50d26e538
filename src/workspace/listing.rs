//! The files beneath a directory with their sizes and times, told again without a walk as long as no directory and no ignore file has changed.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use rayon::prelude::*;
use tokio_util::sync::CancellationToken;

use super::real::canonical;
use super::{Location, Stamp, Workspace};
use crate::error::Result;

/// What was changed so lately may be changed again within the same tick of the file system's clock.
pub const SETTLED: Duration = Duration::from_millis(100);

/// A file that was listed.
#[derive(Debug, Clone)]
pub struct Listed {
    /// The file.
    pub file: Location,
    /// Its size and when it was changed.
    pub stamp: Stamp,
}

/// The files beneath a directory, and what decides which these are.
#[derive(Debug)]
pub struct Listing {
    files: Vec<Listed>,
    /// The directories and ignore files that were looked at, as they were before that; none where it is not known that nothing was missed.
    looked: Option<Vec<(PathBuf, Option<State>)>>,
}

impl Listing {
    /// The files as they are now; none if a walk has to tell.
    pub fn look_again(&self, workspace: &Workspace) -> Option<Vec<Listed>> {
        let is_same = |(path, was): &(PathBuf, Option<State>)| State::of(path) == *was;
        if !self.looked.as_ref()?.par_iter().all(is_same) {
            return None;
        }
        // By name, which is sooner told than beneath the handle: no directory has changed since these names were looked at there.
        let again = |Listed { file, .. }: &Listed| {
            let metadata = fs::symlink_metadata(workspace.absolute(file)).ok()?;
            Some(Listed { file: file.clone(), stamp: (metadata.len(), metadata.modified().ok()?) })
        };
        Some(self.files.par_iter().filter_map(again).collect())
    }

    /// The files as they were listed.
    pub fn files(&self) -> &[Listed] {
        &self.files
    }
}

/// What tells whether a directory has other entries, or a file other text, than before.
#[derive(Debug, PartialEq, Eq)]
struct State {
    bytes: u64,
    modified: SystemTime,
    /// On Unix the time of any change, which nothing can set back.
    changed: (i64, i64),
}

impl State {
    fn of(path: &Path) -> Option<Self> {
        let metadata = fs::symlink_metadata(path).ok()?;
        #[cfg(unix)]
        let changed = (std::os::unix::fs::MetadataExt::ctime(&metadata), std::os::unix::fs::MetadataExt::ctime_nsec(&metadata));
        #[cfg(not(unix))]
        let changed = (0, 0);
        Some(Self { bytes: metadata.len(), modified: metadata.modified().ok()?, changed })
    }
}

/// Takes note of what a walk looks at.
#[derive(Debug, Default)]
pub(super) struct Notes {
    looked: Mutex<Vec<(PathBuf, Option<State>)>>,
    is_unsettled: AtomicBool,
}

impl Notes {
    /// Notes a directory or an ignore file, which may be missing, before it is read. Where it is a link, what it leads to is not looked at: it may
    /// change, and be on another machine.
    pub(super) fn note(&self, path: PathBuf) {
        if path.is_symlink() {
            self.is_unsettled.store(true, Ordering::Relaxed);
        }
        self.push(path);
    }

    /// The same of what is above the root, or the user's own: a link is followed.
    pub(super) fn note_above(&self, path: PathBuf) {
        if let Some(real) = path.is_symlink().then(|| canonical(&path).ok()).flatten() {
            self.push(real);
        }
        self.push(path);
    }

    fn push(&self, path: PathBuf) {
        let state = State::of(&path);
        if state.as_ref().is_some_and(|state| !is_settled(state.modified)) {
            self.is_unsettled.store(true, Ordering::Relaxed);
        }
        self.looked.lock().unwrap_or_else(PoisonError::into_inner).push((path, state));
    }
}

/// Whether something was changed so long ago that another change has another time.
pub fn is_settled(modified: SystemTime) -> bool {
    modified.elapsed().is_ok_and(|age| age > SETTLED)
}

impl Workspace {
    /// Lists the files beneath `start` as [`Workspace::walk`] does.
    ///
    /// # Errors
    /// As those of [`Workspace::walk`].
    pub fn list(&self, start: &Location, cancel: &CancellationToken) -> Result<Listing> {
        let (files, notes) = (Mutex::new(Vec::new()), Arc::new(Notes::default()));
        let unlisted = self.walk_noting(start, &[], cancel, Some(&notes), |file| {
            let Some(stamp) = self.stamp(&file) else { return };
            files.lock().unwrap_or_else(PoisonError::into_inner).push(Listed { file, stamp });
        })?;
        let is_sure = unlisted == 0 && !cancel.is_cancelled() && !notes.is_unsettled.load(Ordering::Relaxed);
        let looked = std::mem::take(&mut *notes.looked.lock().unwrap_or_else(PoisonError::into_inner));
        let mut files = files.into_inner().unwrap_or_else(PoisonError::into_inner);
        files.sort_by_cached_key(|listed| listed.file.path());
        Ok(Listing { files, looked: is_sure.then_some(looked) })
    }
}
