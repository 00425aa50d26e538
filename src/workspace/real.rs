//! Where paths lead, as people write them.

use std::io;
use std::path::{Path, PathBuf};

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
}
