//! Listing files as ripgrep does: .gitignore and its kin respected, hidden files left out, links not followed.
//!
//! Only names come from here. Files are opened beneath their root by [`Workspace::open_location`], so that a name which has turned into a
//! link meanwhile leads nowhere. Ignore files are the one thing that is opened by name, by the walker: those beneath a root and above it once
//! `is_harmless` has seen them, and the user's own. They decide which names are listed, and nothing of their text goes further.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ignore::overrides::OverrideBuilder;
use ignore::{DirEntry, WalkBuilder, WalkState};
use tokio_util::sync::CancellationToken;

use super::listing::Notes;
use super::{Location, Workspace};
use crate::error::{Error, Result, quote, shorten};
use crate::regular;

/// Characters of a glob, at most: its compiler calls itself at every brace.
const LONGEST_GLOB: usize = 1000;
/// Braces in a line of an ignore file, at most, for the same reason.
const MOST_BRACES: usize = 100;
/// Bytes of an ignore file, at most: its rules are compiled for every search.
const LARGEST_RULES: u64 = 1_000_000;
/// Bytes of a file in which git names another, at most.
const LONGEST_NAME: u64 = 1 << 14;
/// The ignore files of a directory.
const RULES: [&str; 2] = [".gitignore", ".ignore"];
/// Entries looked at, at most, to suggest another file for one that does not exist.
const SUGGESTION_ENTRIES: usize = 20_000;

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

    /// The same, which notes the directories and ignore files that decide what is visited.
    pub(super) fn walk_noting(
        &self,
        start: &Location,
        globs: &[String],
        cancel: &CancellationToken,
        notes: Option<&Arc<Notes>>,
        visit: impl Fn(Location) + Sync,
    ) -> Result<usize> {
        let (root, from) = (&self.roots[start.root].path, self.absolute(start));
        if let Some(notes) = notes {
            note_above(root, &from, notes);
        }
        let mut walker = plain_walker(root, &from)?;
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
        let excluded = Excludes::default();
        let is_wanted = move |entry: &DirEntry| {
            if overrides.matched(entry.path(), is_directory(entry)).is_ignore() || excluded.has(entry) {
                return false;
            }
            if let Some(notes) = notes.as_ref().filter(|_| is_directory(entry)) {
                note_directory(&around, entry.path(), notes);
            }
            let is_harmful =
                is_directory(entry) && (harmful_rules(&around, entry.path()).is_some() || !excluded.note(&around, entry.path()));
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
                    visit(location);
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
            let Ok(mut walker) = plain_walker(&opened.path, &opened.path) else { continue };
            let around = opened.path.clone();
            let is_wanted = move |entry: &DirEntry| !is_directory(entry) || harmful_rules(&around, entry.path()).is_none();
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

/// What repositories below the start exclude without its being committed, which the walker is not asked to look at: see [`plain_walker`].
#[derive(Default)]
struct Excludes(RwLock<Vec<Gitignore>>);

impl Excludes {
    /// Whether a file or directory is excluded.
    fn has(&self, entry: &DirEntry) -> bool {
        let excludes = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let matches =
            |rules: &Gitignore| entry.path().starts_with(rules.path()) && rules.matched(entry.path(), is_directory(entry)).is_ignore();
        excludes.iter().any(matches)
    }

    /// Notes what a directory excludes if it is the top of a repository; false if that is nothing to be read.
    fn note(&self, root: &Path, directory: &Path) -> bool {
        let repository = directory.join(".git").exists().then(|| exclude_of(root, directory)).flatten();
        let Some(exclude) = repository.filter(|file| file.is_file()) else { return true };
        if !is_harmless(root, &exclude) {
            return false;
        }
        let mut rules = GitignoreBuilder::new(directory);
        rules.add(exclude); // a rule that is none is passed over, as the walker does
        self.0.write().unwrap_or_else(PoisonError::into_inner).extend(rules.build());
        true
    }
}

fn is_directory(entry: &DirEntry) -> bool {
    entry.file_type().is_some_and(|kind| kind.is_dir())
}

/// A walker from `from` in `root`, which has not looked at any ignore file yet. What lies below is the caller's to filter.
///
/// # Errors
/// An ignore file in or above `from` that is not harmless.
fn plain_walker(root: &Path, from: &Path) -> Result<WalkBuilder> {
    let real = from.canonicalize().unwrap_or_else(|_| from.to_path_buf()); // the directories above it are those the walker looks into
    let mut walker = WalkBuilder::new(from);
    // The walker would follow a `.git` that is a file wherever it leads, in any directory.
    walker.git_exclude(false);
    let repository = real.ancestors().find(|directory| directory.join(".git").exists());
    let exclude = repository.and_then(|directory| exclude_of(root, directory));
    let harmful = real.ancestors().find_map(|directory| harmful_rules(root, directory));
    if let Some(file) = harmful.or_else(|| exclude.clone().filter(|file| !is_harmless(root, file))) {
        return Err(Error::failed(format!(
            "{} is no ordinary ignore file (inside the root, of a megabyte and of {MOST_BRACES} braces a line at most), so that no files can be \
             listed below; mend or remove it.",
            quote(&file.display().to_string())
        )));
    }
    if let (Some(repository), Some(exclude)) = (repository, exclude.filter(|file| file.is_file())) {
        walker.current_dir(repository).add_ignore(exclude);
    }
    Ok(walker)
}

/// Notes a directory and what it has of ignore files. One that it does not have yet changes the directory when it comes.
fn note_directory(root: &Path, directory: &Path, notes: &Notes) {
    notes.note(directory.to_path_buf());
    RULES.map(|name| directory.join(name)).into_iter().filter(|file| file.exists()).for_each(|file| notes.note(file));
    if directory.join(".git").exists() {
        note_repository(root, directory, notes);
    }
}

/// Notes what makes a directory a repository, and what that excludes. Of a `.git` that is a directory that is its HEAD, as it changes itself
/// with every command.
fn note_repository(root: &Path, directory: &Path, notes: &Notes) {
    let git = directory.join(".git");
    notes.note(if git.is_dir() { git.join("HEAD") } else { git });
    exclude_of(root, directory).into_iter().for_each(|file| notes.note(file));
}

/// Notes where a walk begins, and the ignore files above it: each whether it is there or not, as these directories are not listed.
fn note_above(root: &Path, from: &Path, notes: &Notes) {
    note_directory(root, from, notes);
    let real = from.canonicalize().unwrap_or_else(|_| from.to_path_buf());
    for directory in real.ancestors() {
        RULES.map(|name| directory.join(name)).into_iter().for_each(|file| notes.note(file));
        note_repository(root, directory, notes);
    }
    ignore::gitignore::gitconfig_excludes_path().into_iter().for_each(|file| notes.note(file));
}

/// The file of a repository that excludes without being committed. Where `.git` is a file, it is that of the repository of which this is a
/// worktree, by git's own rules: a directory of the repository, which anybody's `.git` may name, has to name this `.git` in turn.
fn exclude_of(root: &Path, repository: &Path) -> Option<PathBuf> {
    let git = repository.join(".git");
    if git.is_dir() {
        return Some(git.join("info/exclude"));
    }
    let own = repository.join(first_line(&git)?.strip_prefix("gitdir: ")?).canonicalize().ok()?;
    let is_its_own = own.join(first_line(&own.join("gitdir"))?).canonicalize().ok()? == git.canonicalize().ok()?;
    let common = own.join(first_line(&own.join("commondir"))?).canonicalize().ok()?;
    let stays = !repository.starts_with(root) || common.starts_with(root) || repository == root;
    (is_its_own && stays && own.parent()? == common.join("worktrees")).then(|| common.join("info/exclude"))
}

/// The first line of a small file, in which git names another.
fn first_line(file: &Path) -> Option<String> {
    let mut line = String::new();
    regular::open(file).ok()??.take(LONGEST_NAME).read_to_string(&mut line).ok()?;
    line.lines().next().map(str::to_owned)
}

/// The ignore file of a directory, if it has one that is not harmless.
fn harmful_rules(root: &Path, directory: &Path) -> Option<PathBuf> {
    RULES.map(|name| directory.join(name)).into_iter().find(|file| !is_harmless(root, file))
}

/// Whether the walker can read an ignore file: one that is missing or a regular file, that leads nowhere else if it is beneath the root, and whose
/// rules use up neither the memory nor the stack.
fn is_harmless(root: &Path, file: &Path) -> bool {
    let Ok(metadata) = std::fs::metadata(file) else { return true };
    if metadata.is_dir() {
        return true; // which cannot be read, and so has no rules
    }
    let stays = !file.starts_with(root) || file.canonicalize().is_ok_and(|real| real.starts_with(root));
    if !stays || !metadata.is_file() || metadata.len() > LARGEST_RULES {
        return false;
    }
    let mut rules = Vec::new();
    let read = File::open(file).and_then(|file| file.take(LARGEST_RULES).read_to_end(&mut rules));
    read.is_err() || rules.split(|byte| *byte == b'\n').all(|line| braces(line) <= MOST_BRACES) // what cannot be read the walker does without
}

fn braces(line: &[u8]) -> usize {
    memchr::memchr_iter(b'{', line).count()
}
