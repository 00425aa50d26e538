//! The files of one root as the map sees them: by path, parsed once while they do not change.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::symbols::{Symbol, symbols};
use crate::syntax::{Access, Import, Language, Syntax};
use crate::workspace::listing::is_settled;
use crate::workspace::text::read;
use crate::workspace::{Location, OpenFile, Stamp, Workspace};

/// Larger files are made by programs and say little about a repository, in bytes.
const LARGEST_SOURCE: u64 = 1_000_000;
/// Files that are remembered, at most: some kilobytes each.
const REMEMBERED: usize = 10_000;

/// Symbols of a file, at most: no map shows more.
const MOST_SYMBOLS: usize = 2000;
/// Places that are remembered as there or not, at most.
const MOST_PLACES: usize = 200_000;

/// Bytes of the texts of manifests that are remembered, at most: what is made of them takes many times as much.
const MOST_OF_MANIFESTS: usize = 8_000_000;

/// Why a file is not in the map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Skipped {
    /// It does not parse.
    Syntax,
    /// Its parser failed or took too long.
    Parser,
    /// It is too large to have been written by hand.
    Large,
    /// It cannot be read, or is in no language that is known.
    Unreadable,
}

/// What the map needs of a file.
#[derive(Debug)]
pub struct Parsed {
    /// What it asks for.
    pub imports: Vec<Import>,
    /// What it offers.
    pub symbols: Arc<[Symbol]>,
}

/// What was parsed for earlier maps, as agents ask for one after another.
#[derive(Default)]
pub struct Memory(Mutex<HashMap<PathBuf, (Stamp, Found)>>);

type Found = Result<Arc<Parsed>, Skipped>;

/// Manifests that were read in a call.
#[derive(Default)]
struct Manifests {
    known: HashMap<String, Arc<Value>>,
    /// Of their texts.
    bytes: usize,
}

/// The files beneath one root. Paths are relative to it, with slashes.
pub struct Repository<'a> {
    workspace: &'a Workspace,
    base: Location,
    memory: &'a Memory,
    access: &'a Access<'a>,
    cancel: &'a CancellationToken,
    exists: Mutex<HashMap<String, bool>>,
    manifests: Mutex<Manifests>,
    all: OnceLock<Vec<String>>,
    places: OnceLock<Places>,
    script_packages: OnceLock<HashMap<String, String>>,
}

/// Where files are in the list of all of them.
#[derive(Default)]
struct Places {
    /// By their own names.
    called: HashMap<String, Vec<usize>>,
    /// By the names of the directories that they are in.
    inside: HashMap<String, Vec<usize>>,
}

impl<'a> Repository<'a> {
    /// The repository that a place is in.
    pub fn new(
        workspace: &'a Workspace,
        place: &Location,
        memory: &'a Memory,
        access: &'a Access<'a>,
        cancel: &'a CancellationToken,
    ) -> Self {
        let base = place.beside("");
        Self {
            workspace,
            base,
            memory,
            access,
            cancel,
            exists: Mutex::default(),
            manifests: Mutex::default(),
            all: OnceLock::new(),
            places: OnceLock::new(),
            script_packages: OnceLock::new(),
        }
    }

    /// The same, where its files in known languages are known, in order of path; those that are too large for the map may be missing.
    #[must_use]
    pub fn knowing(self, all: Vec<String>) -> Self {
        Self { all: all.into(), ..self }
    }

    /// Whether there is a file of this path.
    pub fn is_file(&self, path: &str) -> bool {
        self.once(path.to_owned(), || !path.is_empty() && self.workspace.is_file(&self.base.beside(path)))
    }

    /// Whether there is a directory of this path.
    pub fn is_directory(&self, path: &str) -> bool {
        self.once(format!("{path}/"), || !path.is_empty() && self.workspace.is_directory_at(&self.base.beside(path)))
    }

    /// What was found out, or is now, as modules are looked for in the same places again and again.
    fn once(&self, key: String, find_out: impl Fn() -> bool) -> bool {
        let known = lock(&self.exists).get(&key).copied();
        known.unwrap_or_else(|| {
            let found = find_out();
            let mut exists = lock(&self.exists);
            if exists.len() >= MOST_PLACES {
                exists.clear();
            }
            exists.insert(key, found);
            found
        })
    }

    /// Whether the call was withdrawn.
    pub fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// A file, parsed now or before.
    ///
    /// # Errors
    /// Why it is not in the map.
    pub fn parsed(&self, path: &str) -> Found {
        let language = Language::of(path).ok_or(Skipped::Unreadable)?;
        let place = self.base.beside(path);
        let open = self.workspace.open_location(&place).map_err(|_| Skipped::Unreadable)?;
        let changed = open.file.metadata().and_then(|metadata| metadata.modified()).map_err(|_| Skipped::Unreadable)?;
        let (key, stamp) = (self.workspace.absolute(&place), (open.bytes, changed));
        if let Some((_, known)) = lock(&self.memory.0).get(&key).filter(|(of, _)| *of == stamp) {
            return known.clone();
        }
        let parsed = self.parse(open, language).map(|syntax| {
            let mut symbols = symbols(&syntax.definitions);
            symbols.truncate(MOST_SYMBOLS);
            let symbols = symbols.into();
            Arc::new(Parsed { imports: syntax.imports.clone(), symbols })
        });
        if matches!(parsed, Err(Skipped::Unreadable | Skipped::Parser)) {
            return parsed; // it may be readable the next time, or the call was withdrawn
        }
        if is_settled(changed) {
            let mut memory = lock(&self.memory.0);
            if memory.len() >= REMEMBERED {
                memory.clear();
            }
            memory.insert(key, (stamp, parsed.clone()));
        }
        parsed
    }

    fn parse(&self, open: OpenFile, language: Language) -> Result<Arc<Syntax>, Skipped> {
        if open.bytes > LARGEST_SOURCE {
            return Err(Skipped::Large);
        }
        let excerpt = read(open, None, None, self.cancel).map_err(|_| Skipped::Unreadable)?;
        let syntax = self.access.read(language, excerpt.text.as_str()).map_err(|_| Skipped::Parser)?;
        // Other grammars find errors in valid code, macros above all.
        if language == Language::Python && (syntax.has_errors || syntax.outdated) {
            return Err(Skipped::Syntax);
        }
        Ok(syntax)
    }

    /// What follows `start` on the first line of a file that begins with it.
    pub fn line_of(&self, path: &str, start: &str) -> Option<String> {
        self.text(path)?.lines().find_map(|line| line.strip_prefix(start).map(str::to_owned))
    }

    fn text(&self, path: &str) -> Option<String> {
        let open = self.workspace.open_location(&self.base.beside(path)).ok().filter(|open| open.bytes <= LARGEST_SOURCE)?;
        Some(read(open, None, None, self.cancel).ok()?.text.as_str().trim_start_matches('\u{feff}').to_owned())
    }

    /// What a manifest in TOML or in JSON, comments in it or not, says; null where there is none that can be read.
    pub fn manifest(&self, path: &str) -> Arc<Value> {
        if let Some(known) = lock(&self.manifests).known.get(path) {
            return Arc::clone(known);
        }
        let parse = |text: String| match path.ends_with(".toml") {
            true => toml_edit::de::from_str(&text).ok(),
            false => jsonc_parser::parse_to_serde_value(&text, &jsonc_parser::ParseOptions::default()).ok(),
        };
        let text = Some(path).filter(|path| self.is_file(path)).and_then(|path| self.text(path));
        let bytes = text.as_ref().map_or(0, String::len);
        let found = Arc::new(text.and_then(parse).unwrap_or_default());
        let mut manifests = lock(&self.manifests);
        if manifests.bytes + bytes > MOST_OF_MANIFESTS {
            *manifests = Manifests::default();
        }
        manifests.bytes += bytes;
        manifests.known.insert(path.to_owned(), Arc::clone(&found));
        found
    }

    /// The directory of the JavaScript package of this name, of those that have source files; of several the shortest.
    pub fn script_package(&self, name: &str) -> Option<&str> {
        let packages = self.script_packages.get_or_init(|| {
            let mut directories: Vec<&str> = self.all().iter().flat_map(|file| upwards(directory(file))).collect();
            directories.sort_unstable_by_key(|at| (at.len(), *at));
            directories.dedup();
            let mut packages = HashMap::new();
            for at in directories.into_iter().take_while(|_| !self.is_cancelled()) {
                if let Some(name) = self.manifest(&join_file(at, "package.json"))["name"].as_str() {
                    packages.entry(name.to_owned()).or_insert_with(|| at.to_owned());
                }
            }
            packages
        });
        packages.get(name).map(String::as_str)
    }

    /// All files with this name, in order.
    pub fn files_called(&self, name: &str) -> impl Iterator<Item = &String> {
        self.places().called.get(name).into_iter().flatten().map(|at| &self.all()[*at])
    }

    /// All files in directories with the name of this one, in order.
    pub fn files_in_any(&self, directory: &str) -> impl Iterator<Item = &String> {
        self.places().inside.get(last(directory)).into_iter().flatten().map(|at| &self.all()[*at])
    }

    fn places(&self) -> &Places {
        self.places.get_or_init(|| {
            let mut places = Places::default();
            for (i, file) in self.all().iter().enumerate() {
                places.called.entry(last(file).to_owned()).or_default().push(i);
                places.inside.entry(last(directory(file)).to_owned()).or_default().push(i);
            }
            places
        })
    }

    /// All files in known languages, in order; .gitignore and its kin respected.
    pub fn all(&self) -> &[String] {
        self.all.get_or_init(|| {
            // Where nothing can be listed there are no files to choose from.
            let found = source_files(self.workspace, std::slice::from_ref(&self.base), self.cancel).unwrap_or_default();
            found.iter().map(Location::path).collect()
        })
    }
}

/// The files beneath some directories in languages that are known, in order of path; .gitignore and its kin respected. Each is looked at beneath
/// its root, as a walk lists names of elsewhere where a directory becomes a link.
///
/// # Errors
/// A directory that cannot be listed, as [`Workspace::walk`] says.
pub fn source_files(workspace: &Workspace, directories: &[Location], cancel: &CancellationToken) -> crate::error::Result<Vec<Location>> {
    let found = Mutex::new(Vec::new());
    for directory in directories {
        workspace.walk(directory, &[], cancel, |file| {
            if Language::of(&file.path()).is_some() && workspace.is_file(&file) {
                lock(&found).push(file);
            }
        })?;
    }
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort_by_cached_key(Location::path);
    Ok(found)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The directory of a path; empty at the top.
pub fn directory(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}

/// The last component of a path.
pub fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// A directory and those above it, to the top.
pub fn upwards(from: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(from), |at| (!at.is_empty()).then(|| directory(at)))
}

/// A file in a directory, which may be the top.
pub fn join_file(directory: &str, file: &str) -> String {
    if directory.is_empty() { file.to_owned() } else { format!("{directory}/{file}") }
}

/// A path below a directory, `.` and `..` resolved; `None` for one that leads out of the repository.
pub fn join(directory: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = directory.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split(|c| c == '/' || cfg!(windows) && c == '\\') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}
