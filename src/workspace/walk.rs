//! Listing files as ripgrep does: .gitignore and its kin respected, hidden files left out, links not followed.
//!
//! Only names come from here, and names alone may be those of a place outside that a directory has become a link to: whatever tells them looks at
//! them beneath their root first, or opens them there ([`Workspace::open_location`]). Which are left out `rules.rs` says.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use ignore::overrides::{Override, OverrideBuilder};
use ignore::{DirEntry, WalkBuilder, WalkState};
use tokio_util::sync::CancellationToken;

use super::listing::Notes;
use super::real::canonical;
use super::repository::exclude_of;
use super::rules::{Harmful, LeftOut, MOST_BRACES, MOST_RULES, NAMES, Rules};
use super::{Location, Root, Workspace};
use crate::error::{Error, Result, quote, shorten};

/// Characters of a glob, at most: its compiler calls itself at every brace.
const LONGEST_GLOB: usize = 1000;
/// Entries looked at, at most, to suggest another file for one that does not exist.
const SUGGESTION_ENTRIES: usize = 20_000;

/// Directories in which version control keeps what it has.
const OF_VERSION_CONTROL: [&str; 5] = [".git", ".hg", ".svn", ".jj", ".bzr"];

impl Workspace {
    /// Calls `visit` on every file beneath `start` in parallel and in no order, until the call is cancelled. Returns how many directories could
    /// not be listed.
    ///
    /// Globs are matched against paths from the root: only matching files, or all but them with a leading `!`; the last that matches decides.
    /// Unlike ripgrep's `-g` they bring back no file that is ignored or hidden: `*.py` does not mean a git-ignored file with passwords.
    ///
    /// # Errors
    /// A glob that cannot be parsed, or an ignore file in or above `start` that is not harmless; directories below with such a
    /// file are among those that could not be listed.
    pub fn walk(&self, start: &Location, globs: &[String], cancel: &CancellationToken, visit: impl Fn(Location) + Sync) -> Result<usize> {
        self.walk_noting(start, globs, cancel, None, visit)
    }

    /// The same with `most` hidden files and directories, without those of version control. It says which files are hidden and
    /// not named by a glob with a dot.
    ///
    /// # Errors
    /// As those of [`Self::walk`].
    pub fn walk_hidden(
        &self,
        start: &Location,
        globs: &[String],
        most: usize,
        cancel: &CancellationToken,
        visit: impl Fn(Location, bool) + Sync,
    ) -> Result<usize> {
        let mut named = OverrideBuilder::new(&self.roots[start.root].path);
        for glob in globs.iter().filter(|glob| !glob.starts_with('!') && names_hidden(glob)) {
            let _ = named.add(glob); // a bad one is refused below
        }
        let named = named.build().unwrap_or_else(|_| Override::empty());
        let root = Location { root: start.root, relative: Default::default() };
        self.walk_with(start, globs, cancel, (None, most), |location, is_hidden| {
            let is_named = is_hidden && named.matched(self.absolute(&root).join(&location.relative), false).is_whitelist();
            visit(location, is_hidden && !is_named);
        })
    }

    /// The same, which notes the directories and ignore files that decide what is visited.
    pub(super) fn walk_noting(
        &self,
        start: &Location,
        globs: &[String],
        cancel: &CancellationToken,
        notes: Option<&Arc<Notes>>,
        visit: impl Fn(Location) + Sync,
    ) -> Result<usize> {
        self.walk_with(start, globs, cancel, (notes, 0), |location, _| visit(location))
    }

    /// Notes what decides what is visited, if it is to, and looks into so many hidden directories.
    fn walk_with(
        &self,
        start: &Location,
        globs: &[String],
        cancel: &CancellationToken,
        (notes, most_hidden): (Option<&Arc<Notes>>, usize),
        visit: impl Fn(Location, bool) + Sync,
    ) -> Result<usize> {
        let (opened, from) = (&self.roots[start.root], self.absolute(start));
        let root = &opened.path;
        if let Some(notes) = notes {
            note_above(root, &from, notes);
        }
        let (mut walker, rules) = plain_walker(opened, &from)?;
        let hidden = Arc::new(Hidden { most: most_hidden, inside: RwLock::default() });
        let unlisted = Arc::new(AtomicUsize::new(0));
        let mut overrides = OverrideBuilder::new(root);
        let bad = |glob: &str, reason: &str| Error::bad_argument(format!("The glob {} is not valid: {}.", quote(glob), shorten(reason)));
        for glob in globs {
            if glob.chars().count() > LONGEST_GLOB {
                return Err(Error::bad_argument(format!(
                    "The glob {} is longer than {LONGEST_GLOB} characters; give a shorter one.",
                    quote(glob)
                )));
            }
            if glob.starts_with('#') {
                return Err(bad(glob, "as in an ignore file, # begins a comment; write \\#"));
            }
            overrides.add(glob).map_err(|error| match error {
                ignore::Error::Glob { err, .. } => bad(glob, &err),
                other => bad(glob, &other.to_string()),
            })?;
        }
        let overrides = overrides.build().map_err(|error| bad(&globs.join(", "), &error.to_string()))?;
        let (refused, around, notes) = (Arc::clone(&unlisted), root.clone(), notes.cloned());
        let seen = Arc::clone(&hidden);
        let is_wanted = move |entry: &DirEntry| {
            let left_out = rules.left_out(entry);
            if left_out == Some(LeftOut::Ignored)
                || !seen.admits(entry, left_out == Some(LeftOut::Hidden))
                || overrides.matched(entry.path(), is_directory(entry)).is_ignore()
            {
                return false;
            }
            if let Some(notes) = notes.as_ref().filter(|_| is_directory(entry)) {
                note_directory(&around, entry.path(), notes);
            }
            let is_harmful = is_directory(entry) && !rules.enter(entry.path());
            refused.fetch_add(usize::from(is_harmful), Ordering::Relaxed);
            !is_harmful
        };
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(12);
        walker.filter_entry(is_wanted).threads(threads).build_parallel().run(|| {
            Box::new(|entry| {
                if cancel.is_cancelled() {
                    return WalkState::Quit;
                }
                let entry = match entry {
                    Ok(entry) => entry,
                    Err(error) => {
                        let gone = error.io_error().is_some_and(|error| error.kind() == io::ErrorKind::NotFound);
                        unlisted.fetch_add(usize::from(!gone), Ordering::Relaxed);
                        return WalkState::Continue;
                    }
                };
                if !entry.file_type().is_some_and(|kind| kind.is_file()) {
                    return WalkState::Continue;
                }
                if let Some(location) = self.beneath(start, entry.path()) {
                    let is_hidden = most_hidden > 0 && (hidden.has(entry.path().parent()) || hidden.has(Some(entry.path())));
                    visit(location, is_hidden);
                }
                WalkState::Continue
            })
        });
        Ok(unlisted.load(Ordering::Relaxed))
    }

    /// Up to three files that have the last component of `path` as their name, for a helpful refusal.
    pub(super) fn same_name(&self, path: &str) -> Vec<String> {
        let Some(name) = Path::new(path).file_name() else { return Vec::new() };
        let mut found = Vec::new();
        for (root, opened) in self.roots.iter().enumerate() {
            let Ok((mut walker, rules)) = plain_walker(opened, &opened.path) else { continue };
            let is_wanted = move |entry: &DirEntry| rules.left_out(entry).is_none() && (!is_directory(entry) || rules.enter(entry.path()));
            let walker = walker.filter_entry(is_wanted).sort_by_file_name(Ord::cmp).build();
            for entry in walker.flatten().take(SUGGESTION_ENTRIES) {
                if entry.file_name() == name && entry.file_type().is_some_and(|kind| kind.is_file()) {
                    // Looked at beneath the handle: a directory may have become a link that leads outside.
                    let place = self.beneath(&Location { root, relative: Default::default() }, entry.path());
                    found.extend(place.filter(|place| self.is_file(place)).map(|place| quote(&self.show(&place))));
                }
                if found.len() == 3 {
                    return found;
                }
            }
        }
        found
    }
}

/// Hidden files and directories that a walk visits.
struct Hidden {
    /// So many, at most.
    most: usize,
    /// They, and the directories beneath them.
    inside: RwLock<HashSet<PathBuf>>,
}

impl Hidden {
    /// Whether something may be visited, though it is hidden.
    fn admits(&self, entry: &DirEntry, is_hidden: bool) -> bool {
        if self.most == 0 || !is_hidden && (!is_directory(entry) || !self.has(entry.path().parent())) {
            return !is_hidden;
        }
        let mut inside = self.inside.write().unwrap_or_else(PoisonError::into_inner);
        let is_wanted = inside.len() < self.most && !OF_VERSION_CONTROL.iter().any(|name| entry.file_name() == *name);
        is_wanted && inside.insert(entry.path().to_path_buf())
    }

    fn has(&self, path: Option<&Path>) -> bool {
        let inside = self.inside.read().unwrap_or_else(PoisonError::into_inner);
        !inside.is_empty() && path.is_some_and(|path| inside.contains(path))
    }
}

/// Whether a glob has a part that begins with a dot.
fn names_hidden(glob: &str) -> bool {
    glob.split('/').any(|part| part.starts_with('.') && !matches!(part, "." | ".."))
}

fn is_directory(entry: &DirEntry) -> bool {
    entry.file_type().is_some_and(|kind| kind.is_dir())
}

/// A walker from `from` in a root, which opens no file itself, and the rules by which it is to be filtered.
///
/// # Errors
/// An ignore file in or above `from` that is harmful.
fn plain_walker(root: &Arc<Root>, from: &Path) -> Result<(WalkBuilder, Arc<Rules>)> {
    let rules = Rules::new(root, from).map_err(|Harmful(file)| {
        Error::failed(format!(
            "{} is no ordinary ignore file (inside the root; at most a megabyte, {} lines, {} of them with wildcards, and {MOST_BRACES} braces a line), so \
             that no files can be listed below; mend or remove it.",
            quote(&file.display().to_string()),
            MOST_RULES.0,
            MOST_RULES.1
        ))
    })?;
    let mut walker = WalkBuilder::new(from);
    walker.standard_filters(false);
    Ok((walker, Arc::new(rules)))
}

/// Notes a directory and what it has of ignore files. One that it does not have yet changes the directory when it comes.
fn note_directory(root: &Path, directory: &Path, notes: &Notes) {
    notes.note(directory.to_path_buf());
    NAMES.map(|name| directory.join(name)).into_iter().filter(|file| file.symlink_metadata().is_ok()).for_each(|file| notes.note(file));
    if directory.join(".git").symlink_metadata().is_ok() {
        note_repository(root, directory, notes);
    }
}

/// Notes what makes a directory a repository, and what that excludes. Of a `.git` that is a directory that is its HEAD, as it changes itself
/// with every command.
fn note_repository(root: &Path, directory: &Path, notes: &Notes) {
    let git = directory.join(".git");
    let is_directory = git.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
    notes.note(if is_directory { git.join("HEAD") } else { git });
    exclude_of(root, directory).into_iter().for_each(|file| notes.note(file));
}

/// Notes where a walk begins, and the ignore files above it: each whether it is there or not, as these directories are not listed.
fn note_above(root: &Path, from: &Path, notes: &Notes) {
    note_directory(root, from, notes);
    let real = canonical(from).unwrap_or_else(|_| from.to_path_buf());
    for directory in real.ancestors() {
        let is_inside = directory.starts_with(root);
        let note = |file| if is_inside { notes.note(file) } else { notes.note_above(file) };
        NAMES.map(|name| directory.join(name)).into_iter().for_each(note);
        note_repository(root, directory, notes);
    }
    ignore::gitignore::gitconfig_excludes_path().into_iter().for_each(|file| notes.note_above(file));
}
