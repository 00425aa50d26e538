//! A file as the first stage sees it: passages of some lines, and how often each term stands in them as what is defined, in comments, and elsewhere.
//!
//! No grammar reads it, as tens of thousands of files are: lines tell by their words and marks what they are.

use std::ops::Range;

use super::terms::{Term, Terms, is_whole, whole};

/// Lines of a passage, at most.
const LONGEST_PASSAGE: usize = 60;
/// A definition begins a passage where the one before has so many lines.
const SHORTEST_PASSAGE: usize = 6;
/// Passages of a file, at most; the last one has the rest.
const MOST_PASSAGES: usize = 4000;
/// Longer lines are not written by hand, in bytes: of them only the beginning counts.
const LONGEST_LINE: usize = 1000;

/// How often a term stands in a passage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The term.
    pub term: Term,
    /// Which of the passages.
    pub passage: u16,
    /// How often in code.
    pub code: u8,
    /// How often in comments, and, times 16, in the names of what is defined.
    said: u8,
}

impl Entry {
    /// How often in comments, 15 at most.
    pub fn comments(&self) -> u8 {
        self.said & 15
    }

    /// How often in the names of what is defined, 15 at most.
    pub fn names(&self) -> u8 {
        self.said >> 4
    }
}

/// Some lines of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passage {
    /// The first of them, 0-based.
    pub start: u32,
    /// How many terms they have.
    pub length: u32,
}

/// A file.
#[derive(Debug, Clone, Default)]
pub struct Document {
    /// Its passages, in order.
    pub passages: Box<[Passage]>,
    /// Its terms, in order of term and passage.
    pub entries: Box<[Entry]>,
    /// How many terms it has.
    pub length: u32,
    /// How many lines.
    pub lines: u32,
}

/// Where a term stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Where {
    /// In code.
    Code,
    /// In a comment.
    Comment,
    /// In the name of what a line defines.
    Name,
}

impl Document {
    /// Reads a text.
    pub fn new(text: &[u8], terms: &mut Terms) -> Self {
        let mut passages: Vec<Passage> = vec![Passage { start: 0, length: 0 }];
        let mut found: Vec<u64> = Vec::new();
        let (mut lines, mut about) = (0, None); // the first line of comments and decorators right above
        for line in text.split(|byte| *byte == b'\n') {
            let line = &line[..line.len().min(LONGEST_LINE)];
            let kind = Line::of(line);
            let last = passages.last().expect("there is one");
            let begun = about.unwrap_or(lines);
            let is_long = lines - last.start as usize >= LONGEST_PASSAGE;
            let begins = kind.defines.is_some() && kind.is_outer && begun - last.start as usize >= SHORTEST_PASSAGE;
            if (is_long || begins) && passages.len() < MOST_PASSAGES {
                passages.push(Passage { start: lines as u32, length: 0 });
            }
            about = if kind.is_about { about.or(Some(lines)) } else { None };
            let at = (passages.len() - 1) as u64;
            let length = &mut passages.last_mut().expect("there is one").length;
            kind.each(line, terms, |term, place| {
                *length += u32::from(place != Where::Name);
                found.push(u64::from(term) << 32 | at << 16 | place as u64);
            });
            lines += 1;
        }
        found.sort_unstable();
        let same = |a: &u64, b: &u64| a >> 16 == b >> 16;
        let entry = |run: &[u64]| {
            let count = |place: Where, most: usize| run.iter().filter(|one| **one & 3 == place as u64).count().min(most) as u8;
            let said = count(Where::Comment, 15) | count(Where::Name, 15) << 4;
            Entry { term: (run[0] >> 32) as Term, passage: (run[0] >> 16) as u16, code: count(Where::Code, 255), said }
        };
        let entries = found.chunk_by(same).map(entry).collect();
        let length = passages.iter().map(|passage| passage.length).sum();
        Self { passages: passages.into(), entries, length, lines: lines as u32 }
    }

    /// The entries of a term, passage by passage.
    pub fn of(&self, term: Term) -> &[Entry] {
        let from = self.entries.partition_point(|entry| entry.term < term);
        let count = self.entries[from..].iter().take_while(|entry| entry.term == term).count();
        &self.entries[from..from + count]
    }

    /// Bytes that it takes in memory, about.
    pub fn size(&self) -> usize {
        size_of::<Self>() + self.entries.len() * size_of::<Entry>() + self.passages.len() * size_of::<Passage>()
    }

    /// The lines of a passage.
    pub fn lines_of(&self, passage: usize) -> Range<usize> {
        let end = self.passages.get(passage + 1).map_or(self.lines, |next| next.start);
        self.passages[passage].start as usize..end as usize
    }
}

/// What a line is.
pub struct Line {
    /// Whether it is a comment or a decorator, and so about what follows.
    is_about: bool,
    is_comment: bool,
    /// Where in it the name is of what it defines.
    pub defines: Option<Range<usize>>,
    /// Whether that is no more than a few steps in.
    is_outer: bool,
}

/// Words before the name of what is defined.
const DEFINE: [&str; 33] = [
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
    "init",
    "actor",
    "typealias",
    "delegate",
    "macro",
];
/// Words with which no definition begins.
const OTHER: [&str; 34] = [
    "if", "else", "elif", "for", "while", "return", "switch", "case", "match", "try", "catch", "except", "raise", "throw", "yield",
    "await", "import", "from", "use", "using", "include", "require", "package", "new", "delete", "assert", "with", "do", "goto", "break",
    "continue", "super", "self", "this",
];
/// Words in front of a name in brackets are types and modifiers, so many at most.
const MOST_BEFORE: usize = 8;
/// Indentation of what may be a definition, at most, in columns.
const DEEPEST: usize = 12;

impl Line {
    /// Looks at a line.
    pub fn of(line: &[u8]) -> Self {
        let indent =
            line.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).map(|byte| if *byte == b'\t' { 4 } else { 1 }).sum::<usize>();
        let text = line.trim_ascii();
        let is_comment = [&b"//"[..], b"/*", b"*", b"\"\"\"", b"'''", b"--", b"<!--"].iter().any(|mark| text.starts_with(mark))
            || text.starts_with(b"#") && !text.starts_with(b"#define") && !text.starts_with(b"#[") && !text.starts_with(b"#!");
        let is_about = is_comment || text.starts_with(b"@") || text.starts_with(b"#[") || text.starts_with(b"[");
        let defines = if is_comment || indent > DEEPEST { None } else { defined(line) };
        Self { is_about, is_comment, defines, is_outer: indent <= DEEPEST / 2 }
    }

    /// Visits its terms.
    pub fn each(&self, line: &[u8], terms: &mut Terms, mut visit: impl FnMut(Term, Where)) {
        if let Some(name) = self.defines.clone() {
            let mut has_whole = false;
            terms.each(&line[name.clone()], |term| {
                has_whole |= is_whole(term);
                visit(term, Where::Name);
            });
            if !has_whole {
                visit(whole(&line[name]), Where::Name);
            }
        }
        let place = if self.is_comment { Where::Comment } else { Where::Code };
        terms.each(line, |term| visit(term, place));
    }
}

/// Where in a line the name is of what it seems to define.
fn defined(line: &[u8]) -> Option<Range<usize>> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || !byte.is_ascii();
    let mut words: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    let mut keyword = false;
    while at < line.len() && words.len() < MOST_BEFORE {
        let byte = line[at];
        if is_part(&byte) {
            let end = at + line[at..].iter().take_while(|byte| is_part(byte)).count();
            let word = std::str::from_utf8(&line[at..end]).unwrap_or_default();
            if words.is_empty() && OTHER.contains(&word) {
                return None;
            }
            if keyword && !DEFINE.contains(&word) {
                return Some(at..end);
            }
            keyword |= DEFINE.contains(&word);
            words.push(at..end);
            at = end;
            continue;
        }
        match byte {
            // `impl<T>`, Go's `func (s *Store) Get`
            b'<' if keyword => at += closing(&line[at..], b'<', b'>')?,
            b'(' if keyword && words.len() == 1 => at += closing(&line[at..], b'(', b')')?,
            // `int get(`, `get(key) {`
            b'(' => {
                let ends = line.trim_ascii_end().last();
                let name = words.last()?.clone();
                let is_body = ends == Some(&b'{') && !line.trim_ascii_end().ends_with(b"=> {");
                let may_be = name.end == at && (is_body || words.len() > 1 && matches!(ends, Some(b')' | b',' | b'(')));
                return may_be.then_some(name);
            }
            b'=' | b'"' | b'\'' | b';' | b'.' | b'{' | b'}' | b')' => return None,
            _ => at += 1,
        }
    }
    None
}

/// Bytes up to the one that closes what the first opens; none if nothing does.
fn closing(text: &[u8], open: u8, close: u8) -> Option<usize> {
    let mut depth = 0;
    text.iter()
        .position(|byte| {
            depth += i32::from(*byte == open) - i32::from(*byte == close);
            depth == 0
        })
        .map(|at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_tell_what_they_define() {
        let of = |line: &str| Line::of(line.as_bytes()).defines.map(|name| line[name].to_owned());
        for (line, name) in [
            ("def get_all(self):", "get_all"),
            ("    async def get(", "get"),
            ("pub(crate) fn get<T>(x: T) {", "get"),
            ("func (s *Store) Get(key string) error {", "Get"),
            ("impl<T> Store<T> {", "Store"),
            ("static int *get_item(void)", "get_item"),
            ("  get(key) {", "get"),
            ("export const load = () => {", "load"),
            ("#define MAX 3", "MAX"),
            ("public static List<String> names(int x) {", "names"),
            ("export default class Store extends Base {", "Store"),
        ] {
            assert_eq!(of(line).as_deref(), Some(name), "{line}");
        }
        for line in ["    return get(x)", "x = get(y)", "if (ready) {", "// fn get() {", "get(x);", "store.get(x) {", "}", ""] {
            assert_eq!(of(line), None, "{line}");
        }
    }

    #[test]
    fn passages_begin_at_definitions() {
        let function = "# says\ndef f():\n    a = 1\n    b = a\n    c = b\n    d = c\n    return d\n";
        let text = function.repeat(30);
        let document = Document::new(text.as_bytes(), &mut Terms::default());
        assert_eq!(document.lines, 211);
        assert!(document.passages.iter().all(|passage| passage.start == 0 || passage.start % 7 == 1), "{:?}", document.passages);
        assert_eq!(document.lines_of(0).start, 0);
        assert_eq!(document.lines_of(document.passages.len() - 1).end, 211);
    }

    #[test]
    fn terms_are_counted_by_where_they_stand() {
        let text = "// a store\nfn open_store() {\n    open(store)\n}\n";
        let document = Document::new(text.as_bytes(), &mut Terms::default());
        let count = |term: Term| document.of(term).iter().map(|entry| (entry.names(), entry.comments(), entry.code)).collect::<Vec<_>>();
        assert_eq!(count(Terms::default().of(b"stores").expect("a word")), [(1, 1, 2)]);
        assert_eq!(count(whole(b"openStore")), [(1, 0, 1)]);
        assert!(count(7).is_empty());
    }
}
