//! Listing files as ripgrep does: .gitignore and its kin respected, hidden files left out, links not followed.
//!
//! Only names come from here. Files are opened beneath their root by [`Workspace::open_location`], so that a name which has turned into a
//! link meanwhile leads nowhere. Ignore files above a root, and the user's own, are read as ripgrep reads them; they decide which names are
//! listed, and nothing of their text goes further.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ignore::overrides::OverrideBuilder;
use ignore::{DirEntry, WalkBuilder, WalkState};
use tokio_util::sync::CancellationToken;

use super::{Location, Workspace};
use crate::error::{Error, Result, quote, shorten};

/// Characters of a glob, at most: its compiler calls itself at every brace.
const LONGEST_GLOB: usize = 1000;
/// Braces in a line of an ignore file, at most, for the same reason.
const MOST_BRACES: usize = 100;
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
    /// A glob that cannot be parsed, or an ignore file in or above `start` that would use up the stack; directories below with such a file are
    /// among those that could not be listed.
    pub fn walk(&self, start: &Location, globs: &[String], cancel: &CancellationToken, visit: impl Fn(Location) + Sync) -> Result<usize> {
        let from = self.absolute(start);
        if let Some(file) = from.ancestors().find_map(endless_rules) {
            return Err(Error::failed(format!(
                "{} has a line with more than {MOST_BRACES} braces, so that no files can be listed below; shorten it.",
                quote(&file.display().to_string())
            )));
        }
        let unlisted = Arc::new(AtomicUsize::new(0));
        let mut overrides = OverrideBuilder::new(&self.roots[start.root].path);
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
        let refused = Arc::clone(&unlisted);
        let is_wanted = move |entry: &DirEntry| {
            if overrides.matched(entry.path(), is_directory(entry)).is_ignore() {
                return false;
            }
            let is_endless = is_directory(entry) && endless_rules(entry.path()).is_some();
            refused.fetch_add(usize::from(is_endless), Ordering::Relaxed);
            !is_endless
        };
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(12);
        WalkBuilder::new(&from).filter_entry(is_wanted).threads(threads).build_parallel().run(|| {
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
            if opened.path.ancestors().any(|directory| endless_rules(directory).is_some()) {
                continue;
            }
            let is_harmless = |entry: &DirEntry| !is_directory(entry) || endless_rules(entry.path()).is_none();
            let walker = WalkBuilder::new(&opened.path).filter_entry(is_harmless).sort_by_file_name(Ord::cmp).build();
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

fn is_directory(entry: &DirEntry) -> bool {
    entry.file_type().is_some_and(|kind| kind.is_dir())
}

/// The ignore file of a directory, if there is one that would use up the stack.
fn endless_rules(directory: &Path) -> Option<PathBuf> {
    let is_endless = |path: &PathBuf| {
        let is_long = std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.len() > MOST_BRACES as u64);
        is_long && std::fs::read(path).is_ok_and(|rules| rules.split(|byte| *byte == b'\n').any(|line| braces(line) > MOST_BRACES))
    };
    [".gitignore", ".ignore", ".git/info/exclude"].map(|name| directory.join(name)).into_iter().find(is_endless)
}

fn braces(line: &[u8]) -> usize {
    memchr::memchr_iter(b'{', line).count()
}
