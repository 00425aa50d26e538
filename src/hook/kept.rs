//! Whole outputs of commands, kept for a day in files that only their user can read.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::memory::remove_old;
use crate::ledger::for_owner;

/// Outputs are kept so long.
const KEPT: Duration = Duration::from_secs(24 * 3600);

/// Keeps a whole output in a file that only its user can read, in a directory of such files, and says where.
pub fn keep(directory: &Path, text: &str) -> Option<PathBuf> {
    fs::create_dir_all(directory).ok()?;
    remove_old(directory, KEPT);
    let path = directory.join(format!("{:016x}.txt", rand::random::<u64>()));
    for_owner().open(&path).ok()?.write_all(text.as_bytes()).ok()?;
    Some(path)
}
