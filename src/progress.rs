//! How far a call is, told while it runs.

/// Told how many files were looked at, and of how many, where that is known.
pub type Progress<'a> = &'a (dyn Fn(usize, Option<usize>) + Sync);
