//! Where a search goes: paths and globs as people write them, which is not always as they are matched.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio_util::sync::CancellationToken;

use crate::error::{Error, Result, quote};
use crate::workspace::{Location, Workspace, given};

/// Globs of one search, at most: each is compiled.
const MOST_GLOBS: usize = 100;
/// Characters that make a path a glob.
const OF_GLOBS: [char; 4] = ['*', '?', '[', '{'];

/// Where a search begins, and which files it takes.
#[derive(Debug, Default)]
pub struct Places {
    /// Files and directories.
    pub starts: Vec<Location>,
    /// Globs, as they are matched.
    pub globs: Vec<String>,
    /// What is to be said of how they were understood.
    pub remarks: Vec<String>,
}

impl Places {
    /// Those of paths and globs; everything where there are no paths.
    ///
    /// # Errors
    /// Paths of which none is there, or one that leads outside.
    pub fn of(workspace: &Workspace, paths: &[String], globs: &[String], cancel: &CancellationToken) -> Result<Self> {
        if globs.len() > MOST_GLOBS {
            return Err(Error::bad_argument(format!(
                "{} globs are more than {MOST_GLOBS}; write several as one: {{*.a,*.b}}.",
                globs.len()
            )));
        }
        let mut places = Self { globs: globs.iter().map(|glob| meant(workspace, glob)).collect(), ..Self::default() };
        let (mut missing, mut named) = (None, Vec::new());
        for path in paths {
            match workspace.locate(Some(path)) {
                Ok(found) => {
                    let is_plain = |path: &String| !path.contains(OF_GLOBS);
                    let directories = found.iter().filter(|start| is_directory(workspace, start)).map(Location::path);
                    let directories = directories.map(|path| if is_plain(&path) { path } else { path.replace(OF_GLOBS, "?") });
                    named.extend(directories.map(|path| if path.is_empty() { "*".to_owned() } else { format!("/{path}/**") }));
                    places.starts.extend(found);
                }
                // One that is missing does not keep the others from being searched.
                Err(error @ Error::NotFound { .. }) if !places.take_as_glob(workspace, path) && !places.take_alike(workspace, path) => {
                    places.remarks.push(format!("There is no {}.", quote(path)));
                    missing.get_or_insert(error);
                }
                Err(Error::NotFound { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        match missing {
            Some(error) if places.starts.is_empty() => return Err(error),
            _ if paths.is_empty() => places.starts = workspace.locate(None)?,
            _ => {}
        }
        if globs.is_empty() && !places.globs.is_empty() {
            places.globs.extend(named); // what is named as it is, a path that is a glob does not narrow
        }
        places.settle(workspace, cancel)?;
        Ok(places)
    }

    /// Takes a path that is a glob as one, beneath the directory that it begins with.
    fn take_as_glob(&mut self, workspace: &Workspace, path: &str) -> bool {
        let glob = meant(workspace, path);
        if !glob.contains(OF_GLOBS) || Path::new(&glob).is_absolute() {
            return false;
        }
        let parts: Vec<&str> = glob.split('/').take_while(|part| !part.contains(OF_GLOBS)).collect();
        let directory = Some(parts.join("/")).filter(|directory| !directory.is_empty());
        let Ok(found) = workspace.locate(directory.as_deref()) else { return false };
        self.starts.extend(found);
        self.globs.push(glob);
        true
    }

    /// Takes the one file or directory that looks like a path that is not there.
    fn take_alike(&mut self, workspace: &Workspace, path: &str) -> bool {
        let alike = workspace.alike(path);
        let [only] = alike.as_slice() else { return false };
        self.remarks.push(format!("There is no {}; {} looks like it.", quote(path), quote(&workspace.show(only))));
        self.starts.push(only.clone());
        true
    }

    /// Where none of the files beneath the searched paths matches, the globs may be relative to these, or written with backslashes.
    fn settle(&mut self, workspace: &Workspace, cancel: &CancellationToken) -> Result<()> {
        let directories: Vec<String> = self
            .starts
            .iter()
            .filter(|start| workspace.is_directory_at(start))
            .map(Location::path)
            .filter(|path| !path.is_empty())
            .collect();
        let can_differ = !directories.is_empty() || self.globs.iter().any(|glob| glob.contains('\\'));
        if !can_differ || self.globs.iter().all(|glob| glob.starts_with('!')) || self.any(workspace, &self.globs, cancel)? {
            return Ok(());
        }
        let below = |glob: &String| {
            let (not, bare) = parted(glob);
            directories.iter().map(|directory| format!("{not}/{directory}/{}", bare.trim_start_matches('/'))).collect::<Vec<_>>()
        };
        let slashed: Vec<String> = self.globs.iter().map(|glob| glob.replace('\\', "/")).collect();
        let relative: Vec<String> = self.globs.iter().flat_map(below).collect();
        for (globs, remark) in [(relative, "The glob is matched below the searched path."), (slashed, "The glob is matched with slashes.")]
        {
            if !globs.is_empty() && globs != self.globs && self.any(workspace, &globs, cancel)? {
                self.globs = globs;
                self.remarks.push(remark.to_owned());
                return Ok(());
            }
        }
        Ok(())
    }

    /// Whether any file beneath the starts matches.
    fn any(&self, workspace: &Workspace, globs: &[String], cancel: &CancellationToken) -> Result<bool> {
        let (found, enough) = (AtomicUsize::new(0), cancel.child_token());
        for start in self.starts.iter().filter(|start| is_directory(workspace, start)) {
            workspace.walk_hidden(start, globs, usize::MAX, &enough, |file, is_hidden| {
                if !is_hidden && workspace.is_file(&file) {
                    found.fetch_add(1, Ordering::Relaxed);
                    enough.cancel();
                }
            })?;
        }
        Ok(found.into_inner() > 0)
    }
}

/// Whether a place is a directory, as a root is.
fn is_directory(workspace: &Workspace, place: &Location) -> bool {
    place.path().is_empty() || workspace.is_directory_at(place)
}

/// A glob's `!`, and the rest of it.
fn parted(glob: &str) -> (&str, &str) {
    glob.strip_prefix('!').map_or(("", glob), |bare| ("!", bare))
}

/// An absolute glob in a root, from there.
fn beneath(workspace: &Workspace, glob: &str) -> Option<String> {
    let meant = given::meant(glob);
    let (directory, rest) = meant.split_at(meant[..meant.find(OF_GLOBS)?].rfind('/')?);
    let places = Path::new(directory).is_absolute().then(|| workspace.locate(Some(directory)).ok())??;
    let [place] = places.as_slice() else { return None };
    Some(format!("{}{rest}", place.path()))
}

/// A glob as it is matched: from its root, without `./` before it, on Windows with slashes, and with all that is in it where it is a directory.
fn meant(workspace: &Workspace, glob: &str) -> String {
    let slashed = if cfg!(windows) { glob.replace('\\', "/") } else { glob.to_owned() };
    let (not, bare) = parted(slashed.trim());
    let beneath = beneath(workspace, bare);
    let bare = beneath.as_deref().unwrap_or(bare).trim_start_matches("./");
    let directory = bare.trim_end_matches('/');
    let may_be_one = !directory.is_empty() && !directory.contains(OF_GLOBS) && (directory.contains('/') || directory.len() < bare.len());
    if may_be_one && workspace.has_directory(directory) {
        return format!("{not}{directory}/**");
    }
    format!("{not}{bare}")
}
