//! Files whose names look like one that is not there: composed or decomposed letters, other spaces, quotes and dashes, letter case, backslashes, and
//! endings that mean the same.

use std::path::{Component, Path, PathBuf};

use unicode_normalization::UnicodeNormalization;

use super::{Location, Workspace};

/// Entries of a directory that are compared, at most.
const MOST_ENTRIES: usize = 20_000;
/// Files that are named, at most.
const MOST_FOUND: usize = 3;
/// Endings that mean the same.
const ENDINGS: [&[&str]; 9] = [
    &["yml", "yaml"],
    &["htm", "html"],
    &["md", "markdown", "mdx"],
    &["jpg", "jpeg"],
    &["js", "mjs", "cjs", "jsx"],
    &["ts", "mts", "cts", "tsx"],
    &["cc", "cpp", "cxx", "c++"],
    &["h", "hh", "hpp", "hxx"],
    &["txt", "text"],
];

impl Workspace {
    /// The files and directories that look like a path that is not there, a few at most.
    pub fn alike(&self, path: &str) -> Vec<Location> {
        let slashed = if cfg!(windows) { path.to_owned() } else { path.replace('\\', "/") };
        let Ok(candidates) = self.candidates(&slashed) else { return Vec::new() };
        let mut found = Vec::new();
        for candidate in candidates {
            let mut places = vec![PathBuf::new()];
            let mut parts = candidate.relative.components().peekable();
            while let Some(part) = parts.next() {
                let Component::Normal(name) = part else {
                    places.clear();
                    break;
                };
                let (name, is_last) = (name.to_string_lossy(), parts.peek().is_none());
                places =
                    places.iter().flat_map(|place| self.entries_alike(candidate.root, place, &name, is_last)).take(MOST_FOUND).collect();
            }
            found.extend(places.into_iter().map(|relative| Location { root: candidate.root, relative }));
        }
        found.truncate(MOST_FOUND);
        found
    }

    /// The entries of a directory that look like a name: the one that has it, or else all that do.
    fn entries_alike(&self, root: usize, directory: &Path, name: &str, with_endings: bool) -> Vec<PathBuf> {
        let exact = directory.join(name);
        if self.roots[root].through_links(&exact, |dir, path| dir.metadata(path)).is_ok() {
            return vec![exact];
        }
        let inside = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
        let Ok(entries) = self.roots[root].through_links(inside, |dir, path| dir.read_dir(path)) else { return Vec::new() };
        let names: Vec<String> =
            entries.take(MOST_ENTRIES).flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        let looks = |is_alike: &dyn Fn(&str) -> bool| {
            let mut found: Vec<PathBuf> = names.iter().filter(|entry| is_alike(entry)).map(|entry| directory.join(entry)).collect();
            found.sort_unstable();
            found
        };
        let folded = fold(name);
        let same = looks(&|entry| fold(entry) == folded);
        if same.is_empty() && with_endings { looks(&|entry| differ_in_ending(&fold(entry), &folded)) } else { same }
    }
}

/// A name as it looks.
fn fold(name: &str) -> String {
    let plain = |c: char| match c {
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        '\u{2018}' | '\u{2019}' | '\u{201a}' | '\u{201b}' | '\u{2032}' | '\u{ff07}' => '\'',
        '\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{201f}' | '\u{2033}' | '\u{ff02}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe63}' | '\u{ff0d}' => '-',
        c => c,
    };
    let is_shown = |c: &char| !matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' | '\u{ad}');
    name.nfc().filter(is_shown).map(plain).flat_map(char::to_lowercase).nfc().collect()
}

/// Whether two names differ only in endings that mean the same.
fn differ_in_ending(one: &str, other: &str) -> bool {
    let (Some((stem, ending)), Some((other_stem, other_ending))) = (one.rsplit_once('.'), other.rsplit_once('.')) else { return false };
    stem == other_stem && ENDINGS.iter().any(|same| same.contains(&ending) && same.contains(&other_ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_look_alike_are_folded() {
        for (one, other) in [
            ("caf\u{e9}.txt", "cafe\u{301}.txt"),
            ("Screenshot 3.04\u{202f}PM.png", "screenshot 3.04 pm.png"),
            ("it\u{2019}s \u{201c}here\u{201d}", "it's \"here\""),
            ("a\u{2013}b\u{200b}", "a-b"),
            ("README.md", "readme.MD"),
        ] {
            assert_eq!(fold(one), fold(other));
        }
        assert!(differ_in_ending("a.yaml", "a.yml") && !differ_in_ending("a.yaml", "b.yml") && !differ_in_ending("a.rs", "a.py"));
    }
}
