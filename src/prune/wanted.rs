//! Which ranges have a line that is wanted.

use std::ops::Range;

/// The lines that are wanted, for quick look-ups by range.
pub struct Wanted {
    /// How many there are before each line.
    before: Vec<usize>,
}

impl Wanted {
    /// Those for which `kept` is set.
    pub fn new(kept: &[bool]) -> Self {
        let mut before = vec![0];
        before.extend(kept.iter().scan(0, |sum, kept| {
            *sum += usize::from(*kept);
            Some(*sum)
        }));
        Self { before }
    }

    /// Whether any is in a range.
    pub fn any(&self, range: &Range<usize>) -> bool {
        let last = self.before.len() - 1;
        self.before[range.end.min(last)] > self.before[range.start.min(last)]
    }
}
