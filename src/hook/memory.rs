//! What happened in a session, in a private file: what was stopped or pruned once is not again.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::ledger::for_owner;

/// Sessions are forgotten after this.
const FORGOTTEN: Duration = Duration::from_secs(7 * 24 * 3600);

/// The notes of a session.
pub struct Notes {
    path: PathBuf,
}

impl Notes {
    /// Those of a session, in a directory of such files. `kind` tells files for different purposes apart.
    pub fn of(memory: &Path, session: &str, kind: &str) -> Self {
        let name: String = session.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
        Self { path: memory.join(format!("{name}.{kind}")) }
    }

    /// Whether something was noted.
    pub fn has(&self, what: &str) -> bool {
        let line = one_line(what);
        fs::read_to_string(&self.path).unwrap_or_default().lines().any(|before| before == line)
    }

    /// Notes something; nothing if it was noted before, or cannot be.
    pub fn once(&self, what: &str) -> Option<()> {
        let directory = self.path.parent()?;
        fs::create_dir_all(directory).ok()?;
        remove_old(directory, FORGOTTEN);
        if self.has(what) {
            return None;
        }
        writeln!(for_owner().open(&self.path).ok()?, "{}", one_line(what)).ok()
    }
}

fn one_line(what: &str) -> String {
    what.replace(['\n', '\r'], " ")
}

/// Removes the files of a directory that were not changed for so long.
pub fn remove_old(directory: &Path, after: Duration) {
    for old in fs::read_dir(directory).into_iter().flatten().flatten() {
        let age = old.metadata().and_then(|metadata| metadata.modified()).ok().and_then(|then| SystemTime::now().duration_since(then).ok());
        if age.is_some_and(|age| age > after) {
            let _ = fs::remove_file(old.path());
        }
    }
}
