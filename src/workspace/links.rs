//! Links with an absolute target, which a handle refuses even where they lead into its root.

use std::path::{Component, Path, PathBuf};

use cap_std::fs::Dir;

/// Links that are followed in a path; Linux follows as many.
pub(super) const MOST_LINKS: usize = 40;

/// Where a path leads beneath `dir`, if every link on the way stays there by its text: what is outside is never looked at. Absolute targets have to
/// begin with one of `names`. Only a name: it is opened beneath the handle again.
pub fn resolve(dir: &Dir, names: [&Path; 2], relative: &Path) -> Option<PathBuf> {
    let (mut reached, mut left, mut links) = (PathBuf::new(), relative.to_path_buf(), 0);
    loop {
        let mut parts = left.components();
        let after = match parts.next() {
            None => return Some(reached),
            Some(Component::CurDir) => parts.as_path().to_path_buf(),
            Some(Component::ParentDir) if !reached.as_os_str().is_empty() && !is_directory(dir, &reached) => {
                return Some(reached.join(left));
            }
            Some(Component::ParentDir) => {
                let after = parts.as_path().to_path_buf();
                reached.pop().then_some(after)?
            }
            Some(Component::Normal(name)) => {
                let next = reached.join(name);
                match dir.read_link_contents(&next) {
                    Ok(_) if links == MOST_LINKS => return None,
                    Ok(target) => {
                        links += 1;
                        let target = if target.is_absolute() {
                            reached = PathBuf::new();
                            inside(&names, &target)?
                        } else {
                            &target
                        };
                        target.join(parts.as_path())
                    }
                    Err(_) => {
                        reached = next;
                        parts.as_path().to_path_buf()
                    }
                }
            }
            Some(Component::RootDir | Component::Prefix(_)) => return None,
        };
        left = after;
    }
}

/// What the target of a link has after the root's path.
fn inside<'a>(names: &[&Path], target: &'a Path) -> Option<&'a Path> {
    names.iter().find_map(|name| target.strip_prefix(name).ok())
}

/// Whether a path without links is a directory's.
fn is_directory(dir: &Dir, path: &Path) -> bool {
    dir.symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir())
}
