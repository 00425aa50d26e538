//! What is said of paths that are not read, in one sentence that helps.

use std::io;
use std::path::Path;

use super::{Location, Workspace, is_escape, is_missing};
use crate::error::{Error, one_line, quote};

/// Places of a path that is in several roots, named at most.
const NAMED: usize = 3;
/// Characters of the names told of a directory that was to be read as a file.
const LISTED: usize = 600;

impl Workspace {
    pub(super) fn classify(&self, shown: &str, error: io::Error) -> Error {
        const ENXIO: i32 = 6; // on Unix: opening a socket, or a FIFO for writing
        if is_escape(&error) {
            self.outside(shown)
        } else if cfg!(unix) && error.raw_os_error() == Some(ENXIO) {
            Error::NotRegular(quote(shown))
        } else if is_missing(&error) {
            self.not_found(shown, None)
        } else {
            Error::Unreadable { path: quote(shown), source: error }
        }
    }

    pub(super) fn is_directory(&self, path: String, location: &Location) -> Error {
        Error::IsDirectory { path, entries: self.entries(location).unwrap_or_else(|_| "unreadable entries".to_owned()) }
    }

    /// What is in a directory but for hidden entries, as many names as fit into [`LISTED`] characters.
    pub(super) fn entries(&self, location: &Location) -> io::Result<String> {
        let inside = if location.relative.as_os_str().is_empty() { Path::new(".") } else { &location.relative };
        let mut names = Vec::new();
        for entry in self.roots[location.root].through_links(inside, |dir, path| dir.read_dir(path))? {
            let entry = entry?;
            let slash = if entry.file_type()?.is_dir() { "/" } else { "" };
            names.push(one_line(&format!("{}{slash}", entry.file_name().display())));
        }
        names.retain(|name| !name.starts_with('.'));
        names.sort_unstable();
        let mut room = LISTED;
        let fitting = names.iter().take_while(|name| {
            room = room.saturating_sub(name.chars().count() + 1);
            room > 0
        });
        let listed: Vec<&str> = fitting.map(String::as_str).collect();
        Ok(match names.len() - listed.len() {
            0 if names.is_empty() => "nothing to read in it".to_owned(),
            0 => listed.join(" "),
            more => format!("{} and {more} more", listed.join(" ")),
        })
    }

    pub(super) fn outside(&self, path: &str) -> Error {
        Error::OutsideRoots { path: quote(path), roots: self.describe() }
    }

    /// `alike`: what looks like the path; where nothing does, a file of the same name is looked for, which takes a walk. None of this without it.
    pub(super) fn not_found(&self, path: &str, alike: Option<&[Location]>) -> Error {
        let with_line = with_line(path).filter(|(file, _)| alike.is_some() && self.find(file).is_some());
        let mut found = match alike {
            Some([]) if with_line.is_none() => self.same_name(path),
            Some(alike) if with_line.is_none() => alike.iter().map(|place| quote(&self.show(place))).collect(),
            _ => Vec::new(),
        };
        if self.still_there().is_err() {
            found.clear(); // names of another directory
        }
        let hint = match (found.as_slice(), with_line) {
            (_, Some((file, line))) => {
                format!("; for line {line} of {} give lines {line}- (--lines {line}-) beside the path", quote(file))
            }
            ([], None) if path == "-" => "; codeskim prune reads standard input".to_owned(),
            ([], None) => "; paths are relative to the root, and grep finds files by their text".to_owned(),
            (found, None) => format!("; did you mean {}", found.join(" or ")),
        };
        Error::NotFound { path: quote(path), roots: self.describe(), hint }
    }
}

/// The file and the line of a path as compilers and searches print it: `a.rs:12`, `a.rs:12:5`, `a.rs:12-20`.
fn with_line(path: &str) -> Option<(&str, usize)> {
    let (file, last) = path.trim_end_matches(':').rsplit_once(':')?;
    let last = last.split('-').next()?.parse().ok()?;
    match file.rsplit_once(':').map(|(file, line)| (file, line.parse())) {
        Some((file, Ok(line))) => Some((file, line)),
        _ => Some((file, last)),
    }
}

/// The refusal of a path that several roots have. The places are named in full, to be asked for.
pub(super) fn in_several<S: AsRef<str>>(path: &str, places: impl Iterator<Item = S>) -> Error {
    let places: Vec<_> = places.take(NAMED).map(|place| format!("\"{}\"", place.as_ref())).collect();
    Error::bad_argument(format!("{} is in several roots; ask for {}.", quote(path), places.join(" or ")))
}

pub(super) fn no_root(path: &Path, error: &io::Error) -> Error {
    let path = quote(&path.display().to_string());
    Error::bad_argument(format!("The root {path} cannot be opened ({error}); give --root an existing directory."))
}
