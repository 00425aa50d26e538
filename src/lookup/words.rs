//! Where in the files of the roots words stand, and which of those lines look as if they define them.

use std::io::Read;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use aho_corasick::AhoCorasick;
use tokio_util::sync::CancellationToken;

use crate::error::{Error, Result};
use crate::progress::Progress;
use crate::syntax::Language;
use crate::workspace::text::{SAMPLE, decode};
use crate::workspace::{Location, Workspace};

/// Larger files are made by programs, in bytes.
pub const LARGEST_SOURCE: u64 = 1_000_000;
/// Lines of a file that are noted for a word, at most, of those that define and of others.
const MOST_LINES: [usize; 2] = [40, 20];
/// Longer lines are not written by hand, in bytes.
const LONGEST_LINE: usize = 2000;

/// A line on which a word stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Which of the words.
    pub word: usize,
    /// The line, 0-based.
    pub line: usize,
    /// How it looks there.
    pub looks: Looks,
}

/// How a word looks on a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Looks {
    /// As what is defined there.
    Defined,
    /// As what is called or belongs to something.
    Used,
    /// As what is imported.
    Imported,
    /// As anything else, in comments above all.
    Said,
}

/// The places in one file.
#[derive(Debug, Clone)]
pub struct Found {
    /// The file.
    pub file: Location,
    /// Its path in its root, with slashes.
    pub path: String,
    /// The places, in order.
    pub places: Vec<Place>,
}

/// What a walk found.
#[derive(Debug, Default)]
pub struct Everywhere {
    /// Files with any of the words, in order of path.
    pub files: Vec<Found>,
    /// Files that were looked at.
    pub searched: usize,
    /// Files that are too large to have been written by hand, and were not.
    pub large: usize,
}

/// Looks for words in all source files beneath some places; ignore files are respected as in searches. `within`: also in other words than alone, and
/// in capitals or not.
///
/// # Errors
/// A directory that cannot be walked, and a call that was withdrawn.
pub fn search(
    workspace: &Workspace,
    starts: &[Location],
    words: &[&str],
    within: bool,
    cancel: &CancellationToken,
    progress: Option<Progress<'_>>,
) -> Result<Everywhere> {
    let finder = AhoCorasick::builder().ascii_case_insensitive(within).build(words);
    let finder = finder.map_err(|error| Error::bad_argument(format!("These names cannot be looked for: {error}.")))?;
    let (found, searched, large) = (Mutex::new(Vec::new()), AtomicUsize::new(0), AtomicUsize::new(0));
    let visit = |file: Location| {
        let path = file.path();
        if Language::of(&path).is_none() {
            return;
        }
        let Ok(open) = workspace.open_location(&file) else { return };
        if open.bytes > LARGEST_SOURCE {
            large.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let count = searched.fetch_add(1, Ordering::Relaxed) + 1;
        if let Some(progress) = progress {
            progress(count, None);
        }
        let mut bytes = Vec::with_capacity(open.bytes.min(LARGEST_SOURCE) as usize + 1);
        if open.file.take(LARGEST_SOURCE).read_to_end(&mut bytes).is_err() {
            return;
        }
        if bytes[..bytes.len().min(SAMPLE)].contains(&0) {
            bytes = decode(bytes).map_or_else(|_| Vec::new(), |text| text.as_str().as_bytes().to_vec()); // UTF-16
        }
        let places = places(&finder, &bytes, within);
        if !places.is_empty() {
            found.lock().expect("no visitor panics").push(Found { file, path, places });
        }
    };
    for start in starts {
        match workspace.is_file(start) {
            true => visit(start.clone()),
            false => drop(workspace.walk(start, &[], cancel, visit)?),
        }
    }
    if cancel.is_cancelled() {
        return Err(Error::Cancelled);
    }
    let mut files: Vec<Found> = found.into_inner().expect("no visitor panics");
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files.dedup_by(|a, b| a.path == b.path && a.file.same_root(&b.file));
    Ok(Everywhere { files, searched: searched.into_inner(), large: large.into_inner() })
}

/// The places in a text.
fn places(finder: &AhoCorasick, bytes: &[u8], within: bool) -> Vec<Place> {
    let is_part = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80);
    let mut places: Vec<Place> = Vec::new();
    let (mut line, mut counted, mut noted) = (0, 0, vec![[0; 2]; finder.patterns_len()]);
    for found in finder.find_overlapping_iter(bytes) {
        let (start, end) = (found.start(), found.end());
        if !within && (is_part(bytes[..start].last()) || is_part(bytes.get(end))) {
            continue;
        }
        if start >= counted {
            line += memchr::memchr_iter(b'\n', &bytes[counted..start]).count();
            counted = start;
        }
        let word = found.pattern().as_usize();
        if places.iter().rev().take_while(|place| place.line == line).any(|place| place.word == word) {
            continue;
        }
        // Of a long line no more is looked at: it may have a name a hundred thousand times.
        let (from, to) = (start.saturating_sub(LONGEST_LINE), (end + LONGEST_LINE).min(bytes.len()));
        let first = memchr::memrchr(b'\n', &bytes[from..start]).map_or(from, |at| from + at + 1);
        let last = memchr::memchr(b'\n', &bytes[end..to]).map_or(to, |at| end + at);
        if last - first > LONGEST_LINE {
            continue;
        }
        let (before, after) = (String::from_utf8_lossy(&bytes[first..start]), String::from_utf8_lossy(&bytes[end..last]));
        let looks = looks(&before, &after);
        let kind = usize::from(looks != Looks::Defined);
        noted[word][kind] += 1;
        if noted[word][kind] <= MOST_LINES[kind] {
            places.push(Place { word, line, looks });
        }
    }
    places
}

/// Words that come before the name that a line defines.
const DEFINE: &[&str] = &[
    "def",
    "class",
    "fn",
    "func",
    "function",
    "fun",
    "struct",
    "enum",
    "trait",
    "interface",
    "type",
    "typedef",
    "mod",
    "module",
    "union",
    "record",
    "object",
    "protocol",
    "extension",
    "namespace",
    "impl",
    "macro_rules",
    "define",
    "const",
    "let",
    "var",
    "val",
    "static",
    "readonly",
    "constructor",
    "init",
    "actor",
    "typealias",
    "event",
    "delegate",
];
/// Words after which a name in brackets is called.
const CALL: &[&str] = &[
    "return", "new", "await", "throw", "yield", "else", "in", "case", "not", "and", "or", "raise", "delete", "go", "defer", "assert", "if",
    "while", "unless", "until", "when", "is", "as", "do", "then", "elif", "lambda",
];

/// How a word looks between what stands before and after it on its line.
fn looks(before: &str, after: &str) -> Looks {
    let (left, right) = (before.trim(), after.trim_start());
    if ["//", "#!", "/*", "*", "\"\"\"", "--", "# "].iter().any(|mark| left.starts_with(mark)) || left == "#" {
        return Looks::Said;
    }
    let mut words = left.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    let first = words.next().unwrap_or_default();
    if matches!(first, "import" | "from" | "use" | "using" | "include" | "require" | "package") {
        return Looks::Imported;
    }
    let is_member = left.ends_with('.') || left.ends_with("->") || left.ends_with("?.");
    let last = left.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
    let follows_type = left.is_empty()
        || !last.is_empty() && !CALL.contains(&last)
        || left.ends_with(['*', '&', '>', ']', '}', '~'])
        || left.ends_with("::");
    let assigned = right.starts_with('=') && !right.starts_with("==") && !right.starts_with("=>") || right.starts_with(":=");
    let is_defined = DEFINE.contains(&first)
        || words.any(|word| DEFINE.contains(&word)) && !is_member
        || !is_member && follows_type && right.starts_with(['(', '<', '{'])
        || !is_member && follows_type && (assigned || right.starts_with([':', ';', '[']) || right.is_empty())
        || assigned && !left.contains(['(', '"', '\''])
        || last == "self" && first == "def";
    if is_defined {
        Looks::Defined
    } else if is_member || right.starts_with(['(', '.', ':', '<', '!', '[', '{']) {
        Looks::Used
    } else {
        Looks::Said
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_that_are_not_long_have_places() {
        let finder = AhoCorasick::builder().build(["a"]).expect("a word");
        let of = |text: &str| places(&finder, text.as_bytes(), false).iter().map(|place| place.line).collect::<Vec<_>>();
        let long = "a,".repeat(LONGEST_LINE / 2 + 1);
        assert_eq!(of(&format!("b\na\n{long}\na\n{long}")), [1, 3]);
        assert_eq!(of(&format!("{}\n{}", &long[2..], &long[2..])), [0, 1]);
        assert_eq!(of(&format!("a{}a", " ".repeat(LONGEST_LINE))), [0; 0]);
    }

    #[test]
    fn lines_that_define_are_told_from_others() {
        let of = |line: &str| {
            let at = line.find("NAME").expect("a name");
            looks(&line[..at], &line[at + 4..])
        };
        for line in [
            "def NAME(self):",
            "    async def NAME(",
            "pub(crate) fn NAME<T>(x: T) {",
            "func (s *Store) NAME() error {",
            "static int *NAME(void)",
            "NAME (int x)",
            "int Store::NAME(int x) {",
            "  NAME(key) {",
            "export const NAME = () => {",
            "app.NAME = function (x) {",
            "NAME = 3",
            "    NAME: int = 3",
            "#define NAME 3",
            "} NAME;",
            "impl<T> fmt::Display for NAME<T> {",
            "public static List<String> NAME(int x) {",
        ] {
            assert_eq!(of(line), Looks::Defined, "{line}");
        }
        for line in ["    return NAME(x)", "x = a.NAME(y)", "if NAME(x) {", "go(x, NAME.y)", "  s->NAME(1);"] {
            assert_eq!(of(line), Looks::Used, "{line}");
        }
        assert_eq!(
            [of("from a import NAME"), of("// as NAME does"), of("\"the NAME of it\"")],
            [Looks::Imported, Looks::Said, Looks::Said]
        );
    }
}
