//! Where paths lead, as people write them.

use std::io;
use std::path::{Component, Path, PathBuf, Prefix};

use super::links::MOST_LINKS;

/// Characters of a path on another machine that Windows takes without `\\?\`.
const LONGEST_SHARE: usize = 250;

/// A path with all links followed. On Windows without the `\\?\` that the system puts before it, where the path means the same without.
///
/// # Errors
/// A path that leads nowhere.
pub fn canonical(path: &Path) -> io::Result<PathBuf> {
    let real = dunce::canonicalize(path)?;
    let share = real.to_str().and_then(|text| text.strip_prefix(r"\\?\UNC\")).filter(|share| share.len() < LONGEST_SHARE);
    Ok(share.map(|share| format!(r"\\{share}").into()).unwrap_or(real))
}

/// What of a path is beneath a root, both canonical. Windows knows long paths with `\\?\` only, those of a root without it too.
pub fn beneath(path: &Path, root: &Path) -> Option<PathBuf> {
    let as_windows_says = || path.strip_prefix(root.canonicalize().ok()?).ok();
    path.strip_prefix(root).ok().or_else(as_windows_says).map(Path::to_path_buf)
}

/// Whether a path leads to another machine or a device, and none of `known` begins there too. To look there would open a connection, and on
/// Windows hand over the user's name and a proof of the password.
pub fn is_far<'a>(path: &Path, known: impl IntoIterator<Item = &'a Path>) -> bool {
    match path.components().next() {
        Some(Component::Prefix(start)) if !matches!(start.kind(), Prefix::Disk(_) | Prefix::VerbatimDisk(_)) => {
            known.into_iter().all(|known| share(known).is_none_or(|share| Some(share) != self::share(path)))
        }
        _ => false,
    }
}

/// The machine and the share that a path begins with.
fn share(path: &Path) -> Option<(String, String)> {
    let Some(Component::Prefix(start)) = path.components().next() else { return None };
    match start.kind() {
        Prefix::UNC(machine, share) | Prefix::VerbatimUNC(machine, share) => {
            Some((machine.to_string_lossy().to_lowercase(), share.to_string_lossy().to_lowercase()))
        }
        _ => None,
    }
}

/// A path with all links followed, if none of them leads to another machine; what is beside `known` does not.
pub fn canonical_here(path: &Path, known: &Path) -> Option<PathBuf> {
    if cfg!(windows) {
        let mut left = std::path::absolute(path).ok()?;
        for _ in 0..MOST_LINKS {
            if is_far(&left, [known]) {
                return None;
            }
            let mut down: Vec<&Path> = left.ancestors().collect();
            down.reverse();
            let Some((link, target)) = down.into_iter().find_map(|part| Some((part.to_owned(), part.read_link().ok()?))) else { break };
            let rest = left.strip_prefix(&link).ok()?.to_owned();
            left = std::path::absolute(link.parent()?.join(target).join(rest)).ok()?;
        }
    }
    canonical(path).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On Windows a canonical path of the standard library begins with `\\?\`.
    #[test]
    fn paths_are_as_people_write_them() {
        let directory = tempfile::tempdir().expect("a directory");
        std::fs::write(directory.path().join("a.txt"), "").expect("written");
        let root = canonical(directory.path()).expect("a path");
        let file = canonical(&directory.path().join("a.txt")).expect("a path");
        assert!(!file.display().to_string().starts_with(r"\\?\"), "{}", file.display());
        assert_eq!(beneath(&file, &root).as_deref(), Some(Path::new("a.txt")));
        let as_the_system_says = directory.path().join("a.txt").canonicalize().expect("a path");
        assert_eq!(beneath(&as_the_system_says, &root).as_deref(), Some(Path::new("a.txt")));
        assert_eq!(beneath(&root, &file), None);
        assert!(canonical(&root.join("b.txt")).is_err());
    }

    #[cfg(windows)]
    #[test]
    fn other_machines_are_not_looked_at() {
        let here = [Path::new(r"C:\a"), Path::new(r"\\server\share\a")];
        for (path, far) in [
            (r"C:\b", false),
            (r"\\?\C:\b", false),
            (r"D:\b", false),
            (r"\\server\share\b", false),
            (r"\\?\UNC\SERVER\share\b", false),
            ("//server/share/b", false),
            (r"\\server\other\b", true),
            (r"\\evil\share\b", true),
            (r"\\?\UNC\evil\share\b", true),
            (r"\\.\pipe\b", true),
            (r"\\?\GLOBALROOT\Device\b", true),
        ] {
            assert_eq!(is_far(Path::new(path), here), far, "{path}");
        }
    }
}
