//! The directories that may be read, and the files in them.
//!
//! Every file is opened beneath a directory handle taken at start-up (cap-std), so that no path, link or rename during a call can lead
//! outside, and is checked after it is open, not before. What the text says is [`text`]'s business, and of notebooks [`notebook`]'s; which
//! files exist is [`walk`]'s and, from one call to the next, [`listing`]'s.

mod alike;
pub(crate) mod given;
mod links;
pub mod listing;
pub mod notebook;
pub mod real;
mod refusals;
mod repository;
mod rules;
pub mod text;
pub mod walk;

use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use cap_fs_ext::OpenOptionsSyncExt;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, Metadata, OpenOptions};

use self::real::{beneath, canonical, is_far};
use self::refusals::{in_several, no_root};
use crate::error::{Error, Result, one_line, quote};

/// Linux refuses longer paths itself (PATH_MAX); refusing them here keeps them out of every message.
const LONGEST_PATH: usize = 4096;

/// The roots: the only directories that are read.
#[derive(Debug)]
pub struct Workspace {
    roots: Vec<Arc<Root>>,
}

/// One root, held open.
#[derive(Debug)]
pub struct Root {
    /// Its canonical path, for messages and for the walker.
    path: PathBuf,
    /// The path by which it was given, made absolute; links in it may begin so.
    given: PathBuf,
    dir: Dir,
    /// Which directory it is, to see whether its path still leads there.
    identity: same_file::Handle,
}

/// The size of a file, in bytes, and when it was changed: one with the same is the same.
pub type Stamp = (u64, SystemTime);

/// A place inside a root.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location {
    /// Index of the root.
    root: usize,
    /// Path beneath it; empty for the root itself.
    relative: PathBuf,
}

impl Location {
    /// Another path beneath the same root.
    pub fn beside(&self, path: &str) -> Self {
        Self { root: self.root, relative: PathBuf::from(path) }
    }

    /// The path beneath the root, with slashes.
    pub fn path(&self) -> String {
        self.relative.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
    }

    /// Whether it is another place or beneath it.
    pub fn is_beneath(&self, other: &Self) -> bool {
        self.root == other.root && self.relative.starts_with(&other.relative)
    }

    /// Whether another place is beneath the same root.
    pub fn same_root(&self, other: &Self) -> bool {
        self.root == other.root
    }
}

/// A regular file, open for reading.
#[derive(Debug)]
pub struct OpenFile {
    /// The handle.
    pub file: File,
    /// The path to show: relative to the root if there is only one, absolute otherwise.
    pub shown: String,
    /// Its size in bytes when it was opened.
    pub bytes: u64,
    /// The path that was asked for, where it is not there and this file looks like it.
    pub instead_of: Option<String>,
}

impl Workspace {
    /// Opens the roots; one inside another adds nothing and is dropped.
    ///
    /// # Errors
    /// One that does not exist or is not a directory.
    pub fn open<P: AsRef<Path>>(roots: &[P]) -> Result<Self> {
        let mut opened: Vec<Arc<Root>> = Vec::new();
        for root in roots {
            let root = Root::open(root.as_ref())?;
            if !opened.iter().any(|other| root.path.starts_with(&other.path)) {
                opened.retain(|other| !other.path.starts_with(&root.path));
                opened.push(Arc::new(root));
            }
        }
        if opened.is_empty() {
            return Err(Error::bad_argument("At least one root is needed; give --root DIR."));
        }
        Ok(Self { roots: opened })
    }

    /// The roots as they appear in messages.
    pub fn describe(&self) -> String {
        let names: Vec<_> = self.roots.iter().map(|root| root.path.display().to_string()).collect();
        match names.as_slice() {
            [one] => format!("the root {one}"),
            many => format!("the roots {}", many.join(", ")),
        }
    }

    /// Opens a regular file given by a path relative to a root, or an absolute one inside a root. One that several roots have is refused: which
    /// of them is meant cannot be told, and an exact text leaves no place to say which it is.
    pub fn open_file(&self, path: &str) -> Result<OpenFile> {
        let (mut opened, mut outside, mut refused) = (Vec::new(), None, None);
        for location in self.candidates(path)? {
            match self.open_location(&location) {
                Ok(open) => opened.push(open),
                Err(Error::NotFound { .. }) => {}
                Err(error @ Error::OutsideRoots { .. }) => outside = outside.or(Some(error)),
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        if opened.len() > 1 {
            return Err(in_several(path, opened.iter().map(|open| open.shown.as_str())));
        }
        match (opened.pop(), refused.or(outside)) {
            (Some(open), _) => Ok(open),
            (None, Some(error)) => Err(error),
            (None, None) => {
                let alike = self.alike(path);
                let mut files = alike.iter().filter(|place| self.is_file(place));
                match (files.next(), files.next()) {
                    (Some(only), None) => Ok(OpenFile { instead_of: Some(path.to_owned()), ..self.open_location(only)? }),
                    _ => Err(self.not_found(path, Some(&alike))),
                }
            }
        }
    }

    /// Opens a regular file at a known place.
    pub fn open_location(&self, location: &Location) -> Result<OpenFile> {
        let root = &self.roots[location.root];
        let shown = self.show(location);
        if location.relative.as_os_str().is_empty() {
            return Err(self.is_directory("The root".to_owned(), location));
        }
        let fail = |error: io::Error| self.classify(&shown, error);
        let file = match root.open_at_once(&location.relative) {
            // Windows opens no directory as a file, and says that access is denied.
            Err(error) if !is_escape(&error) && !is_missing(&error) && self.is_directory_at(location) => {
                return Err(self.is_directory(quote(&shown), location));
            }
            opened => opened.map_err(fail)?,
        };
        let metadata = file.metadata().map_err(fail)?;
        if metadata.is_dir() {
            return Err(self.is_directory(quote(&shown), location));
        }
        if !metadata.is_file() {
            return Err(Error::NotRegular(quote(&shown)));
        }
        Ok(OpenFile { bytes: metadata.len(), file: file.into_std(), shown, instead_of: None })
    }

    /// The size of a regular file and when it was changed; none where there is none.
    pub fn stamp(&self, location: &Location) -> Option<Stamp> {
        let metadata = self.roots[location.root].through_links(&location.relative, |dir, path| dir.metadata(path)).ok()?;
        Some((metadata.len(), metadata.modified().ok()?.into_std())).filter(|_| metadata.is_file())
    }

    /// The one file among places of a path, if there is any.
    ///
    /// # Errors
    /// Several of them.
    pub fn one_file(&self, path: &str, places: &[Location]) -> Result<Option<Location>> {
        let files: Vec<&Location> = places.iter().filter(|place| self.is_file(place)).collect();
        match files.as_slice() {
            [] => Ok(None),
            [one] => Ok(Some((*one).clone())),
            several => Err(in_several(path, several.iter().map(|place| self.show(place)))),
        }
    }

    /// Finds an existing file or directory, in every root that has one of this path; the roots themselves when no path is given.
    pub fn locate(&self, path: Option<&str>) -> Result<Vec<Location>> {
        let Some(path) = path else {
            self.still_there()?;
            return Ok((0..self.roots.len()).map(|root| Location { root, relative: PathBuf::new() }).collect());
        };
        let (mut found, mut outside, mut refused) = (Vec::new(), false, None);
        for location in self.candidates(path)? {
            let root = &self.roots[location.root];
            if location.relative.as_os_str().is_empty() {
                found.push(location);
                continue;
            }
            match root.through_links(&location.relative, |dir, path| dir.metadata(path).map(|_| path.to_path_buf())) {
                Ok(relative) => found.push(Location { relative, ..location }),
                Err(error) if is_escape(&error) => outside = true,
                Err(error) if !is_missing(&error) => refused = Some(error),
                Err(_) => {}
            }
        }
        match (found.is_empty(), outside, refused) {
            (false, ..) => Ok(found),
            (true, true, _) => Err(self.outside(path)),
            (true, false, Some(source)) => Err(Error::Unreadable { path: quote(path), source }),
            (true, false, None) => Err(self.not_found(path, Some(&self.alike(path)))),
        }
    }

    /// The path to show for a place.
    pub fn show(&self, location: &Location) -> String {
        let path = if self.roots.len() == 1 { location.relative.clone() } else { self.absolute(location) };
        one_line(&given::shown(&path))
    }

    /// What paths beneath the root of a place begin with where they are shown: nothing if there is only one root.
    pub fn prefix_of(&self, location: &Location) -> String {
        if self.roots.len() == 1 { String::new() } else { format!("{}/", given::shown(&self.roots[location.root].path)) }
    }

    /// A regular file by its path, without looking for another one where there is none.
    pub fn find(&self, path: &str) -> Option<Location> {
        self.candidates(path).ok()?.into_iter().find(|place| self.is_file(place))
    }

    /// Whether a path is a directory's, in any root.
    pub fn has_directory(&self, path: &str) -> bool {
        self.candidates(path).is_ok_and(|places| places.iter().any(|place| self.is_directory_at(place)))
    }

    /// Whether there is a directory at a place, inside its root.
    pub fn is_directory_at(&self, location: &Location) -> bool {
        self.metadata(location).is_some_and(|metadata| metadata.is_dir())
    }

    /// Whether there is a regular file at a place, inside its root.
    pub fn is_file(&self, location: &Location) -> bool {
        self.metadata(location).is_some_and(|metadata| metadata.is_file())
    }

    /// Of what is at a place, if that is inside its root, through links as [`Self::open_location`] follows them.
    fn metadata(&self, location: &Location) -> Option<Metadata> {
        self.roots[location.root].through_links(&location.relative, |dir, path| dir.metadata(path)).ok()
    }

    /// The path on the file system; only for listing directories, never for opening a file.
    pub fn absolute(&self, location: &Location) -> PathBuf {
        let root = &self.roots[location.root].path;
        if location.relative.as_os_str().is_empty() { root.clone() } else { root.join(&location.relative) }
    }

    /// The same root, another path beneath it.
    fn beneath(&self, location: &Location, absolute: &Path) -> Option<Location> {
        let relative = absolute.strip_prefix(&self.roots[location.root].path).ok()?.to_path_buf();
        Some(Location { root: location.root, relative })
    }

    /// The places a path may mean: an absolute one belongs to the root it is in, a relative one to any of them, in order.
    fn candidates(&self, path: &str) -> Result<Vec<Location>> {
        if path.is_empty() {
            return Err(Error::bad_argument("The path is empty; give one relative to the root."));
        }
        if path.len() > LONGEST_PATH || path.contains('\0') {
            return Err(Error::bad_argument(format!("{} cannot be a path; give one relative to the root.", quote(path))));
        }
        self.still_there()?;
        let meant = given::meant(path);
        let wanted = Path::new(meant.as_ref());
        let is_whole = wanted.is_absolute() || cfg!(windows) && wanted.has_root(); // without a drive, of the one that is worked on
        if !is_whole {
            let relative: PathBuf = wanted.components().filter(|component| *component != Component::CurDir).collect();
            return Ok((0..self.roots.len()).map(|root| Location { root, relative: relative.clone() }).collect());
        }
        let wanted = given::plain(wanted);
        let place = self.inside(&wanted).or_else(|| self.by_other_name(&wanted));
        place.map(|place| vec![place]).ok_or_else(|| self.outside(path))
    }

    /// The place that an absolute path names, if it begins as one of the roots does.
    fn inside(&self, path: &Path) -> Option<Location> {
        let of = |(root, opened): (usize, &Arc<Root>)| Some(Location { root, relative: beneath(path, &opened.path)? });
        self.roots.iter().enumerate().find_map(of)
    }

    /// The same of a path that reaches a root by another name: only as much of it is followed as leads there, and nothing after a `..`.
    fn by_other_name(&self, path: &Path) -> Option<Location> {
        if is_far(path, self.roots.iter().map(|root| root.path.as_path())) {
            return None;
        }
        let down: PathBuf = path.components().take_while(|part| *part != Component::ParentDir).collect();
        let mut beginnings: Vec<&Path> = down.ancestors().collect();
        beginnings.reverse();
        let real = beginnings.into_iter().map_while(|beginning| Some((beginning, canonical(beginning).ok()?)));
        let (beginning, mut place) = real.filter_map(|(beginning, real)| Some((beginning, self.inside(&real)?))).next()?;
        place.relative.push(path.strip_prefix(beginning).ok()?);
        Some(place)
    }

    /// Files are opened beneath the handles and listed by path: once these part, what is listed is not what is read.
    fn still_there(&self) -> Result<()> {
        match self.roots.iter().find(|root| !root.is_at_its_path()) {
            None => Ok(()),
            Some(root) => Err(Error::failed(format!(
                "The root {} has been moved, removed or replaced since codeskim started; start codeskim again.",
                quote(&root.path.display().to_string())
            ))),
        }
    }
}

impl Root {
    fn open(path: &Path) -> Result<Self> {
        let no_root = |error| no_root(path, &error);
        let meant = path.to_str().map_or(path.into(), |text| PathBuf::from(given::meant(text).as_ref()));
        let given = std::path::absolute(&meant).map_err(no_root)?;
        let path = canonical(&meant).map_err(no_root)?;
        let dir = Dir::open_ambient_dir(&path, ambient_authority()).map_err(no_root)?;
        let identity = dir.try_clone().and_then(|dir| same_file::Handle::from_file(dir.into_std_file())).map_err(no_root)?;
        Ok(Self { path, given, dir, identity })
    }

    fn is_at_its_path(&self) -> bool {
        same_file::Handle::from_path(&self.path).is_ok_and(|there| there == self.identity)
    }

    /// What `act` does with a path beneath this root. A link with an absolute target is refused beneath a handle, even when it points into the
    /// root, so that its links are read one by one and the path is tried again.
    fn through_links<T>(&self, relative: &Path, act: impl Fn(&Dir, &Path) -> io::Result<T>) -> io::Result<T> {
        match act(&self.dir, relative) {
            Err(error) if is_escape(&error) => {
                act(&self.dir, &links::resolve(&self.dir, [&self.path, &self.given], relative).ok_or(error)?)
            }
            done => done,
        }
    }

    /// Opens what is beneath this root, without waiting for the writer of a FIFO.
    fn open_at_once(&self, relative: &Path) -> io::Result<cap_std::fs::File> {
        let mut options = OpenOptions::new();
        options.read(true).nonblock(true);
        self.through_links(relative, |dir, path| dir.open_with(path, &options))
    }

    /// Opens a regular file, or a directory as one; none if there is something else.
    fn open_regular(&self, relative: &Path) -> io::Result<Option<File>> {
        let file = self.open_at_once(relative)?;
        let kind = file.metadata()?.file_type();
        Ok((kind.is_file() || kind.is_dir()).then(|| file.into_std()))
    }
}

/// Whether there is nothing of this name.
fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::InvalidFilename)
}

/// cap-std reports a path that leads outside as a permission error that no system call has returned.
fn is_escape(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none()
}
