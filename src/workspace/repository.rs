//! What a repository excludes without its being committed, and where git keeps that.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::real::canonical_here;
use crate::regular;

/// Bytes of a file in which git names another, at most.
const LONGEST_NAME: u64 = 1 << 14;

/// The file of a repository that excludes without being committed. Where `.git` is a file, it is that of the repository of which this is a
/// worktree, by git's own rules: a directory of the repository, which anybody's `.git` may name, has to name this `.git` in turn.
pub fn exclude_of(root: &Path, repository: &Path) -> Option<PathBuf> {
    let git = canonical_here(&repository.join(".git"), repository)?;
    if repository.starts_with(root) && !git.starts_with(root) {
        return None; // a link that leads out
    }
    if git.is_dir() {
        return Some(git.join("info/exclude"));
    }
    let named = |path: PathBuf| canonical_here(&path, repository);
    let own = named(repository.join(first_line(&git)?.strip_prefix("gitdir: ")?))?;
    let is_its_own = named(own.join(first_line(&own.join("gitdir"))?))? == git;
    let common = named(own.join(first_line(&own.join("commondir"))?))?;
    let stays = !repository.starts_with(root) || common.starts_with(root) || repository == root;
    (is_its_own && stays && own.parent()? == common.join("worktrees")).then(|| common.join("info/exclude"))
}

/// The first line of a small file, in which git names another.
fn first_line(file: &Path) -> Option<String> {
    let mut line = String::new();
    regular::open(file).ok()??.take(LONGEST_NAME).read_to_string(&mut line).ok()?;
    line.lines().next().map(str::to_owned)
}
