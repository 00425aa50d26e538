//! `codeskim setup`: codeskim's entry in the configuration of a client, put in, brought up to date or taken out.
//!
//! [`clients`] knows where each client keeps what, [`hooks`] the same of its hooks, [`edit`] changes the text. A change is shown before it is written, and the old file is kept.

pub mod clients;
pub mod edit;
pub mod hooks;
mod yaml;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use self::clients::{Client, Launch};
use self::hooks::HookKind;
use crate::error::{Error, Result, quote};
use crate::regular;
use crate::workspace::real::canonical;

/// What a new file of Continue's needs beside its servers.
const CONTINUE: &str = "name: Local Config\nversion: 1.0.0\nschema: v1\n";

/// The byte order mark that some editors put before a text.
const MARK: &str = "\u{feff}";

/// A change of one file, not yet written.
#[derive(Debug)]
pub struct Change {
    /// The file.
    pub path: PathBuf,
    /// Its text; none if there is no such file.
    before: Option<String>,
    /// Its new text; none if it is to be removed.
    after: Option<String>,
}

/// The change that sets a client up, in the configuration at `path`.
///
/// # Errors
/// A configuration that cannot be read or is broken; it is left alone.
pub fn add(client: Client, launch: &Launch, path: PathBuf) -> Result<Change> {
    change(client, path, |text| {
        let text = if text.is_empty() && client == Client::Continue { CONTINUE } else { text };
        edit::with(text, client.format(), &client.entry(launch))
    })
}

/// The change that takes codeskim out again.
///
/// # Errors
/// As [`add`].
pub fn remove(client: Client, path: PathBuf) -> Result<Change> {
    change(client, path, |text| edit::without(text, client.format()))
}

/// Adds to some changes that which makes a client run codeskim beside its own tools.
///
/// # Errors
/// As [`add`].
pub fn add_hook(client: Client, kind: HookKind, launch: &Launch, path: PathBuf, changes: &mut Vec<Change>) -> Result<()> {
    if hooks::is_own(client) {
        written_by_codeskim(client, &path)?;
    }
    go_on(client, path, changes, |text| hooks::with(client, kind, launch, text))
}

/// Adds that which takes these hooks out again.
///
/// # Errors
/// As [`add`].
pub fn remove_hook(client: Client, path: PathBuf, changes: &mut Vec<Change>) -> Result<()> {
    if hooks::is_own(client) {
        let before = written_by_codeskim(client, &path)?;
        changes.push(Change { path, before, after: None });
        return Ok(());
    }
    go_on(client, path, changes, edit::without_hooks)
}

/// The text of a file that is codeskim's alone, which may be replaced or removed: it is no link, and has what codeskim writes.
fn written_by_codeskim(client: Client, path: &Path) -> Result<Option<String>> {
    let refused = |what: &str| {
        let name = quote(&path.display().to_string());
        Err(Error::bad_argument(format!("{name} {what}, and is left alone; remove it yourself, and set up again.")))
    };
    if path.is_symlink() {
        return refused("is a link");
    }
    match read(path)? {
        Some(text) if !hooks::wrote(client, &text) => refused("is not as codeskim writes it"),
        text => Ok(text),
    }
}

/// Whether a file of a project's configuration is in the project, wherever links lead.
///
/// # Errors
/// One that is not.
pub fn in_project(project: &Path, path: &Path) -> Result<()> {
    let Ok(project) = canonical(project) else { return Ok(()) };
    let Some(there) = path.ancestors().find_map(|part| canonical(part).ok()) else { return Ok(()) };
    if there.starts_with(&project) {
        return Ok(());
    }
    let name = quote(&path.display().to_string());
    Err(Error::bad_argument(format!("{name} leads out of the project, and is left alone; remove the link, or leave --project out.")))
}

/// Adds a change of a file to some, in which it may be changed already.
fn go_on(
    client: Client,
    path: PathBuf,
    changes: &mut Vec<Change>,
    edit: impl Fn(&str) -> std::result::Result<String, String>,
) -> Result<()> {
    match changes.iter_mut().find(|change| change.path == path) {
        Some(change) => change.after = Some(edited(client, &path, change.after.as_deref().unwrap_or_default(), edit)?),
        None => changes.push(self::change(client, path, edit)?),
    }
    Ok(())
}

fn change(client: Client, path: PathBuf, edit: impl Fn(&str) -> std::result::Result<String, String>) -> Result<Change> {
    let before = read(&path)?;
    let after = edited(client, &path, before.as_deref().unwrap_or_default(), edit)?;
    Ok(Change { path, before, after: Some(after) })
}

fn edited(client: Client, path: &Path, text: &str, edit: impl Fn(&str) -> std::result::Result<String, String>) -> Result<String> {
    let (mark, text) = text.strip_prefix(MARK).map_or(("", text), |text| (MARK, text));
    edit(text).map(|after| format!("{mark}{after}")).map_err(|problem| {
        let name = quote(&path.display().to_string());
        Error::bad_argument(format!(
            "{name}, the configuration of {}, is left alone: {problem}. Mend it, or add codeskim by hand.",
            client.title()
        ))
    })
}

/// The program that a client starts as codeskim, with its arguments, or nothing where it reaches a server at an address; none if codeskim is not set up
/// there.
///
/// # Errors
/// A configuration that cannot be read or is broken.
pub fn command(client: Client, path: &Path) -> Result<Option<Vec<String>>> {
    let Some(text) = read(path)? else { return Ok(None) };
    edit::command(text.strip_prefix(MARK).unwrap_or(&text), client.format())
        .map_err(|problem| Error::bad_argument(format!("{}: {problem}.", quote(&path.display().to_string()))))
}

fn read(path: &Path) -> Result<Option<String>> {
    let name = || quote(&path.display().to_string());
    match regular::open(path).and_then(|file| file.map(io::read_to_string).transpose()) {
        Ok(Some(text)) => Ok(Some(text)),
        Ok(None) => Err(Error::NotRegular(name())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::Unreadable { path: name(), source }),
    }
}

impl Change {
    /// Whether everything is as it should be already.
    pub fn is_nothing(&self) -> bool {
        self.before.as_deref().unwrap_or_default() == self.after.as_deref().unwrap_or_default()
    }

    /// Whether the file is to be removed.
    pub fn removes(&self) -> bool {
        self.after.is_none()
    }

    /// The change as people read it.
    pub fn diff(&self) -> String {
        let name = self.path.display().to_string();
        let side = |text: &Option<String>| if text.is_some() { name.clone() } else { "/dev/null".to_owned() };
        let (old, new) = (self.before.as_deref().unwrap_or_default(), self.after.as_deref().unwrap_or_default());
        similar::TextDiff::from_lines(old, new).unified_diff().header(&side(&self.before), &side(&self.after)).to_string()
    }

    /// Writes the file, all of it or nothing, and says where the old one is kept; or removes it.
    ///
    /// # Errors
    /// A file that was changed since it was read, or cannot be written.
    pub fn write(&self) -> Result<Option<PathBuf>> {
        if read(&self.path)? != self.before {
            let name = quote(&self.path.display().to_string());
            return Err(Error::failed(format!("{name} was changed by another program just now; set up again.")));
        }
        // A link to a file elsewhere stays one.
        let path = match canonical(&self.path) {
            Ok(path) => path,
            Err(_) if self.path.is_symlink() => {
                let name = quote(&self.path.display().to_string());
                return Err(Error::failed(format!("{name} is a link to a file that is not there; make that file, or remove the link.")));
            }
            Err(_) => self.path.clone(),
        };
        self.replace(&path).map_err(|error| {
            Error::failed(format!("{} could not be written ({error}); it is as it was.", quote(&path.display().to_string())))
        })
    }

    fn replace(&self, path: &Path) -> io::Result<Option<PathBuf>> {
        let Some(after) = &self.after else {
            let copy = kept(path)?;
            return std::fs::remove_file(path).map(|()| Some(copy));
        };
        let directory = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
        std::fs::create_dir_all(directory)?;
        let mut backup = None;
        let new = regular::beside(directory)?;
        if self.before.is_some() {
            let old = std::fs::metadata(path)?;
            let permissions = old.permissions();
            if permissions.readonly() {
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is read-only"));
            }
            #[cfg(unix)]
            give(new.path(), &old)?;
            let copy = kept(path)?;
            #[cfg(unix)]
            give(&copy, &old)?;
            backup = Some(copy);
            std::fs::set_permissions(new.path(), permissions)?; // before there is a key in it that others may not read
        }
        std::fs::write(new.path(), after)?;
        new.persist(path)?;
        Ok(backup)
    }
}

/// A copy of the file beside it, under a name that no earlier copy has.
fn kept(path: &Path) -> io::Result<PathBuf> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
    let name = format!("{}.{now}", path.file_name().unwrap_or_default().to_string_lossy());
    let names = std::iter::once(format!("{name}.bak")).chain((2..).map(|count| format!("{name}-{count}.bak")));
    for copy in names.map(|name| path.with_file_name(name)) {
        match File::create_new(&copy) {
            Ok(_) => return std::fs::copy(path, &copy).map(|_| copy),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    unreachable!("there is always another number")
}

/// Gives a file to the owner of another one, whose configuration it would be no longer where `sudo` has written it.
#[cfg(unix)]
fn give(file: &Path, like: &std::fs::Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, chown};
    let own = std::fs::metadata(file)?;
    if own.uid() == like.uid() { Ok(()) } else { chown(file, Some(like.uid()), Some(like.gid())) }
}
