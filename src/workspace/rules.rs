//! Which files are not listed: what ignore files say, with ripgrep's precedence, and hidden ones.
//!
//! The walker would open ignore files by name, and wait at a FIFO that has taken the place of one. Here they are opened beneath the root's handle
//! without waiting, and what is not harmless is refused. Only those above the root, and the user's own, are opened by name.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use ignore::gitignore::{Gitignore, GitignoreBuilder, gitconfig_excludes_path};
use ignore::{DirEntry, Match};

use super::real::canonical;
use super::repository::exclude_of;
use super::{Root, is_escape};
use crate::regular;

/// Braces in a line of an ignore file, at most: the compiler of globs calls itself at every brace.
pub const MOST_BRACES: usize = 100;
/// Bytes of an ignore file, at most: its rules are compiled for every search.
const LARGEST_RULES: u64 = 1_000_000;
/// Lines of an ignore file, at most, and those of them that are more than names and endings: each is a regular expression.
pub const MOST_RULES: (usize, usize) = (20_000, 2_000);
/// The ignore files of a directory, of which the first counts for more.
pub const NAMES: [&str; 2] = [".ignore", ".gitignore"];
/// What makes a directory a repository, in which `.gitignore` counts.
const REPOSITORIES: [&str; 2] = [".git", ".jj"];

/// An ignore file that is not read: no regular file, one that leads out of the root, or whose rules would use up memory or stack.
pub struct Harmful(pub PathBuf);

/// Why something is not listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftOut {
    /// A rule says so.
    Ignored,
    /// No rule brings it back.
    Hidden,
}

/// The rules for what is beneath one directory, found as the walk goes on.
pub struct Rules {
    root: Arc<Root>,
    /// Where the walk begins, by the path it is given and by its own.
    from: PathBuf,
    real: PathBuf,
    global: Gitignore,
    levels: RwLock<HashMap<PathBuf, Arc<Level>>>,
}

/// What one directory says, and those above it.
struct Level {
    ignore: Gitignore,
    git: Gitignore,
    exclude: Gitignore,
    is_repository: bool,
    in_repository: bool,
    above: Option<Arc<Level>>,
}

impl Rules {
    /// The rules above a directory and in it.
    ///
    /// # Errors
    /// One of their files that is harmful.
    pub fn new(root: &Arc<Root>, from: &Path) -> Result<Self, Harmful> {
        let real = canonical(from).unwrap_or_else(|_| from.to_path_buf());
        let mut rules = Self {
            root: Arc::clone(root),
            from: from.to_path_buf(),
            real: real.clone(),
            global: Gitignore::empty(),
            levels: RwLock::default(),
        };
        let repository = real.ancestors().find(|directory| rules.is_repository(directory));
        let mut above: Vec<&Path> = real.ancestors().collect();
        above.reverse();
        let mut level = None;
        for directory in above {
            // Excludes further up than the nearest repository are those of another.
            level = Some(rules.level(directory, level, repository.is_none_or(|nearest| nearest == directory))?);
        }
        if let Some(file) = gitconfig_excludes_path() {
            let text = regular::open(&file).ok().flatten().and_then(|file| text(file).ok()).unwrap_or_default();
            rules.global = compiled(repository.unwrap_or(&real), &file, &text);
        }
        rules.levels = RwLock::new(level.map(|level| (from.to_path_buf(), level)).into_iter().collect());
        Ok(rules)
    }

    /// Why something is not listed, if it is not, by what is known of the directory that it is in.
    pub fn left_out(&self, entry: &DirEntry) -> Option<LeftOut> {
        let level = self.level_of(entry.path().parent())?;
        let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
        match self.matched(&level, &self.real(entry.path()), is_directory) {
            Match::None => is_hidden(entry).then_some(LeftOut::Hidden),
            matched => matched.is_ignore().then_some(LeftOut::Ignored),
        }
    }

    /// Reads the rules of a directory that is to be listed; false if they are harmful.
    pub fn enter(&self, directory: &Path) -> bool {
        let Ok(level) = self.level(&self.real(directory), self.level_of(directory.parent()), true) else { return false };
        self.levels.write().unwrap_or_else(PoisonError::into_inner).insert(directory.to_path_buf(), level);
        true
    }

    /// Of each kind of file the nearest directory that says anything decides, and of the kinds the first that does.
    fn matched<'a>(&'a self, level: &'a Level, path: &Path, is_directory: bool) -> Match<&'a ignore::gitignore::Glob> {
        let (mut ignore, mut git, mut exclude) = (Match::None, Match::None, Match::None);
        let mut counts = level.in_repository;
        for level in std::iter::successors(Some(level), |level| level.above.as_deref()) {
            if ignore.is_none() {
                ignore = level.ignore.matched(path, is_directory);
            }
            if counts && git.is_none() {
                git = level.git.matched(path, is_directory);
            }
            if counts && exclude.is_none() {
                exclude = level.exclude.matched(path, is_directory);
            }
            counts &= !level.is_repository;
        }
        let global = if level.in_repository { self.global.matched(path, is_directory) } else { Match::None };
        ignore.or(git).or(exclude).or(global)
    }

    fn level_of(&self, directory: Option<&Path>) -> Option<Arc<Level>> {
        self.levels.read().unwrap_or_else(PoisonError::into_inner).get(directory?).cloned()
    }

    /// The level of a directory; that above where it says nothing of its own.
    fn level(&self, directory: &Path, above: Option<Arc<Level>>, excludes: bool) -> Result<Arc<Level>, Harmful> {
        let is_repository = self.is_repository(directory);
        let exclude = if is_repository && excludes { exclude_of(&self.root.path, directory) } else { None };
        let [ignore, git] = NAMES.map(|name| self.rules(directory, &directory.join(name)));
        let (ignore, git) = (ignore?, git?);
        let exclude = exclude.map_or(Ok(Gitignore::empty()), |file| self.rules(directory, &file))?;
        match above {
            Some(above) if !is_repository && ignore.is_empty() && git.is_empty() => Ok(above),
            above => {
                let in_repository = is_repository || above.as_ref().is_some_and(|above| above.in_repository);
                Ok(Arc::new(Level { ignore, git, exclude, is_repository, in_repository, above }))
            }
        }
    }

    /// Whether a directory is the top of a repository. That a link of this name leads out of the root is enough: what is there is not looked at.
    fn is_repository(&self, directory: &Path) -> bool {
        REPOSITORIES.map(|name| directory.join(name)).iter().filter(|path| is_there(path)).any(|path| {
            match path.strip_prefix(&self.root.path) {
                Ok(beneath) => match self.root.through_links(beneath, |dir, path| dir.metadata(path)) {
                    Ok(_) => true,
                    Err(error) => is_escape(&error),
                },
                Err(_) => path.exists(),
            }
        })
    }

    /// The rules of a file; none if there is no such file, or none that can be read.
    fn rules(&self, directory: &Path, file: &Path) -> Result<Gitignore, Harmful> {
        if !is_there(file) {
            return Ok(Gitignore::empty());
        }
        let opened = match file.strip_prefix(&self.root.path) {
            Ok(beneath) => self.root.open_regular(beneath),
            Err(_) => regular::open(file),
        };
        match opened.map(|opened| opened.map(text)) {
            Ok(Some(Ok(text))) if is_bounded(&text) => Ok(compiled(directory, file, &text)),
            Ok(Some(Err(_))) => Ok(Gitignore::empty()), // a directory, for one
            Err(error) if !is_escape(&error) => Ok(Gitignore::empty()),
            _ => Err(Harmful(file.to_path_buf())),
        }
    }

    /// The path that something has in the directory above which rules were looked for.
    fn real<'a>(&self, path: &'a Path) -> Cow<'a, Path> {
        match path.strip_prefix(&self.from) {
            Ok(beneath) if self.from != self.real => self.real.join(beneath).into(),
            _ => path.into(),
        }
    }
}

/// Whether a name is there at all, which mostly it is not: sooner told than by opening it.
fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// A text, and one byte of what is more than may be in it.
fn text(file: File) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    file.take(LARGEST_RULES + 1).read_to_end(&mut text)?;
    Ok(text)
}

fn is_bounded(text: &[u8]) -> bool {
    let braces = |line: &[u8]| memchr::memchr_iter(b'{', line).count();
    let is_wild =
        |line: &&[u8]| !line.starts_with(b"#") && line.strip_prefix(b"*.").unwrap_or(line).iter().any(|byte| b"*?[{".contains(byte));
    let lines = || text.split(|byte| *byte == b'\n');
    text.len() as u64 <= LARGEST_RULES
        && lines().count() <= MOST_RULES.0
        && lines().filter(is_wild).count() <= MOST_RULES.1
        && lines().all(|line| braces(line) <= MOST_BRACES)
}

/// The rules of a text, read as the walker reads a file: up to what is no UTF-8, and without lines that are no rules.
fn compiled(directory: &Path, file: &Path, text: &[u8]) -> Gitignore {
    if text.is_empty() {
        return Gitignore::empty();
    }
    let mut rules = GitignoreBuilder::new(directory);
    let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
    let lines = text.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    for line in lines.map_while(|line| std::str::from_utf8(line).ok()) {
        let _ = rules.add_line(Some(file.to_path_buf()), line);
    }
    rules.build().unwrap_or_else(|_| Gitignore::empty())
}

fn is_hidden(entry: &DirEntry) -> bool {
    #[cfg(windows)]
    if entry.metadata().is_ok_and(|metadata| std::os::windows::fs::MetadataExt::file_attributes(&metadata) & 2 != 0) {
        return true;
    }
    OsStr::as_encoded_bytes(entry.file_name()).starts_with(b".")
}
