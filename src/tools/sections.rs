//! Parts of files in one result: each below a line that says where it is from.
//!
//! Lines that begin with the marker are codeskim's, and all others the files', verbatim; the marker is longer where a file has lines that begin with it.

use std::ops::Range;

use super::{Part, Session};
use crate::prune::render::{self, LONGEST_LINE, cut_line, marker, numbers};
use crate::prune::{FocusQuestion, Piece, Pointer, pieces};
use crate::workspace::text::Text;

/// Characters set aside for what says that a result is full.
const RESERVE: usize = 400;

/// Lines of one file.
#[derive(Debug, Clone, Default)]
pub struct Section {
    /// The file as it is shown.
    pub path: String,
    /// 0-based number of the first line.
    pub first: usize,
    /// Lines of the file, if that is known.
    pub total: Option<usize>,
    /// What the lines are, and what is said of how they are shown.
    pub name: String,
    /// The lines, with terminators.
    pub lines: Vec<String>,
    /// What of them is shown.
    pub shown: Shown,
    /// What was asked: long lines are cut around words of it.
    pub question: Option<FocusQuestion>,
    /// What is said before its heading.
    pub before: Option<String>,
    /// What is said after them, a line each.
    pub notes: Vec<String>,
}

/// What of its lines a section shows.
#[derive(Debug, Clone, Default)]
pub enum Shown {
    /// All.
    #[default]
    Whole,
    /// Those that are kept, one flag a line, with what is named in the gaps.
    View(Vec<bool>, Vec<Pointer>),
    /// Signatures: their lines, and those of what each is of.
    Signatures(Vec<(Range<usize>, Range<usize>)>),
}

/// How sections are shown.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    /// Whether lines begin with their numbers.
    pub numbered: bool,
    /// Longest result, in characters.
    pub most: usize,
    /// How lines that are left out are read: `lines` or `--lines`.
    pub read_back: &'static str,
}

impl Style {
    /// As the readers of a session are shown results.
    pub fn of(session: &Session, numbered: bool) -> Self {
        let read_back = if session.options.shell { "--lines" } else { "lines" };
        Self { numbered, most: session.options.limits.most, read_back }
    }
}

/// The sections one after the other, as many lines of them as fit, and which lines are shown.
pub fn render(sections: &[Section], style: Style) -> (String, Vec<Part>) {
    let all: Vec<&str> = sections.iter().flat_map(|section| section.lines.iter().map(String::as_str)).collect();
    let mut out = Out { marker: marker(&all), text: String::new(), length: 0, style, parts: Vec::new() };
    for (i, section) in sections.iter().enumerate() {
        if !out.add(section) {
            out.name_rest(&sections[i + 1..]);
            break;
        }
    }
    (out.text, out.parts)
}

struct Out {
    marker: String,
    text: String,
    length: usize,
    style: Style,
    parts: Vec<Part>,
}

impl Out {
    fn push(&mut self, text: &str) {
        self.length += text.chars().count();
        self.text.push_str(text);
    }

    fn fits(&self, text: &str) -> bool {
        self.length + text.chars().count() + RESERVE <= self.style.most
    }

    fn say(&mut self, what: &str) {
        let line = format!("{} {what}\n", self.marker);
        self.push(&line);
    }

    /// Adds a section; false if not all of it fits.
    fn add(&mut self, section: &Section) -> bool {
        let heading = section.heading();
        if !self.fits(&heading) {
            self.name_rest(std::slice::from_ref(section));
            return true;
        }
        if let Some(before) = &section.before {
            self.say(before);
        }
        self.say(&heading);
        self.parts.push(Part { of: section.path.clone(), ..Part::default() });
        let stopped = match &section.shown {
            Shown::Whole => self.lines(section, 0..section.lines.len()),
            Shown::View(kept, pointers) => self.view(section, kept, pointers),
            Shown::Signatures(signatures) => self.signatures(section, signatures),
        };
        if let Some(from) = stopped {
            let rest = numbers(section.first, &(from..section.lines.len()));
            self.say(&format!(
                "{rest} left out: the result has {} characters; {} {rest} reads them",
                self.style.most, self.style.read_back
            ));
            return false;
        }
        for note in &section.notes {
            if self.fits(note) {
                self.say(note);
            }
        }
        true
    }

    /// Writes a line after its number; false if it does not fit.
    fn line(&mut self, section: &Section, i: usize, number: &str) -> bool {
        let whole = &section.lines[i];
        let question = section.question.as_ref().filter(|_| whole.len() > LONGEST_LINE);
        let focus = question.map_or(0..0, |question| question.place_in(whole, LONGEST_LINE / 2));
        let mut line = format!("{number}{}", cut_line(whole, LONGEST_LINE, focus).0);
        if !self.fits(&line) {
            return false;
        }
        if !line.ends_with('\n') {
            line.push('\n'); // the last of its file, with something after it
        }
        self.push(&line);
        self.shown(section.first + i + 1);
        true
    }

    /// Writes lines as they are; the first that does not fit.
    fn lines(&mut self, section: &Section, range: Range<usize>) -> Option<usize> {
        for i in range {
            let number = if self.style.numbered { format!("{}:", section.first + i + 1) } else { String::new() };
            if !self.line(section, i, &number) {
                return Some(i);
            }
        }
        None
    }

    fn view(&mut self, section: &Section, kept: &[bool], pointers: &[Pointer]) -> Option<usize> {
        for piece in pieces(kept) {
            match piece {
                Piece::Lines(range) => {
                    if let Some(stopped) = self.lines(section, range) {
                        return Some(stopped);
                    }
                }
                Piece::Gap(gap) => {
                    let line = format!("{}{}", numbers(section.first, &gap), render::named(section.first, &gap, pointers));
                    if !self.fits(&line) {
                        return Some(gap.start);
                    }
                    self.say(&line);
                }
            }
        }
        None
    }

    fn signatures(&mut self, section: &Section, signatures: &[(Range<usize>, Range<usize>)]) -> Option<usize> {
        for (header, of) in signatures {
            for i in header.clone() {
                let number = if i == header.start { numbers(section.first, of) } else { (section.first + i + 1).to_string() };
                if !self.line(section, i, &format!("{number}:")) {
                    return Some(i);
                }
            }
        }
        None
    }

    /// Notes that a line is shown.
    fn shown(&mut self, number: usize) {
        let Some(part) = self.parts.last_mut() else { return };
        match part.shown.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => part.shown.push((number, number)),
        }
    }

    /// Says which sections are left out, each with its lines, as far as there is room.
    fn name_rest(&mut self, rest: &[Section]) {
        for section in rest {
            let line = format!("{} left out: no room", section.heading());
            if self.length + line.chars().count() + RESERVE / 2 > self.style.most {
                return;
            }
            self.say(&line);
        }
    }
}

impl Section {
    fn heading(&self) -> String {
        let range = numbers(self.first, &(0..self.lines.len()));
        let total = self.total.map_or_else(String::new, |total| format!(" of {total}"));
        let name = if self.name.is_empty() { String::new() } else { format!(": {}", self.name) };
        format!("{} {range}{total}{name}", self.path)
    }
}

/// What is said of some lines, and from what their text was decoded, if it was.
pub fn and_decoded(said: String, text: &Text) -> String {
    let decoded = text.decoded_from.as_ref().map(|encoding| format!("decoded from {encoding}"));
    [Some(said).filter(|said| !said.is_empty()), decoded].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_follows_the_last_line_of_a_file_begins_a_line() {
        let header = "def z(self): pass".to_owned();
        let shown = Shown::Signatures(vec![(0..1, 0..1)]);
        let section =
            Section { path: "a.py".into(), lines: vec![header], shown, notes: vec!["used by: b.py:3".into()], ..Section::default() };
        let (text, _) = render(&[section], Style { numbered: false, most: 5000, read_back: "lines" });
        assert_eq!(text, "⋮ a.py 1\n1:def z(self): pass\n⋮ used by: b.py:3\n");
    }

    #[test]
    fn a_long_line_is_cut_around_words_of_the_question() {
        let line = format!("{}needle = 1{}\n", "x".repeat(5000), "y".repeat(5000));
        let question = FocusQuestion::new("Where is the needle?").ok();
        let section = Section { path: "a.js".into(), lines: vec![line], question, ..Section::default() };
        let (text, _) = render(&[section], Style { numbered: false, most: 9000, read_back: "lines" });
        assert!(text.contains("needle = 1") && text.contains("⋮ +"), "{text}");
    }

    proptest! {
        /// Reads a result back: below each heading stand the lines that it names, whatever these look like.
        #[test]
        fn lines_are_the_files_or_begin_with_the_marker(
            rows in prop::collection::vec("[a-z⋮ 0-9\\-:]{0,12}", 1..30), first in 0usize..100, most in 1000usize..1900, several in 1usize..4,
        ) {
            let lines: Vec<String> = rows.iter().map(|row| format!("{row}\n")).collect();
            let section = Section { path: "a.rs".into(), first, total: Some(500), name: "f".into(), lines: lines.clone(), ..Section::default() };
            let style = Style { numbered: false, most, read_back: "--lines" };
            let (text, _) = render(&vec![section; several], style);
            prop_assert!(text.chars().count() <= most);
            let all: Vec<&str> = lines.iter().map(String::as_str).collect();
            let marker = format!("{} ", marker(&all));
            let mut next = None;
            for line in text.split_inclusive('\n') {
                if let Some(said) = line.strip_prefix(&marker) {
                    next = Some(if said.starts_with("a.rs") { 0 } else { lines.len() });
                    continue;
                }
                let at = next.expect("below a heading");
                prop_assert_eq!(line, &lines[at]);
                next = Some(at + 1);
            }
        }
    }
}
