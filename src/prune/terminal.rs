//! What programs write to a terminal, as it would show it: colours, cursor movements and overwritten text say nothing to a reader of lines.
//!
//! Lines stay lines: what moves the cursor up is passed over, so that line numbers are those of the text.

use std::borrow::Cow;

use vte::{Params, Parser, Perform};

/// Whether a text has anything in it that a terminal does not show as it stands.
fn is_for_terminal(text: &str) -> bool {
    let bytes = text.as_bytes();
    let overwrites = |at: usize| !matches!(bytes.get(at + 1), None | Some(b'\n'));
    memchr::memchr2(0x1b, 0x08, bytes).is_some() || memchr::memchr_iter(b'\r', bytes).any(overwrites)
}

/// A text as a terminal of endless width shows it, which most texts are already. Of a line that was written several times that is the last time.
pub fn shown(text: &str) -> Cow<'_, str> {
    // Some texts have lines that end in a carriage return alone, and no other line ends.
    let is_one_line = !text.contains(['\n', '\x1b', '\x08']);
    if !is_one_line && is_for_terminal(text) { rendered(text).into() } else { text.into() }
}

fn rendered(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut blanks = text.len().max(BLANKS); // that may be filled in all
    for line in text.split_inclusive('\n') {
        let content = line.strip_suffix('\n').unwrap_or(line).trim_end_matches('\r');
        if is_for_terminal(content) {
            let mut screen = Line { longest: LONGEST.min(content.len() + blanks), work: WORK + 4 * content.len(), ..Line::default() };
            Parser::new().advance(&mut screen, ended(content).as_bytes());
            blanks -= blanks.min(screen.cells.len().saturating_sub(content.len()));
            let would_vanish = screen.cells.is_empty() && !line.ends_with('\n'); // a last line without a line break
            out.push_str(if would_vanish { content } else { "" });
            out.extend(screen.cells);
        } else {
            out.push_str(if content.is_empty() && !line.ends_with('\n') { line } else { content });
        }
        out.push_str(if line.ends_with("\r\n") { "\r\n" } else { &line[line.trim_end_matches('\n').len()..] });
    }
    out
}

/// A line without the beginnings of strings to the terminal, such as a title, that do not end in it: all that follows would count as theirs.
fn ended(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find('\x1b') {
        let (before, sequence) = rest.split_at(at);
        out.push_str(before);
        let is_string = sequence[1..].starts_with([']', 'P', 'X', '^', '_']);
        if !is_string || sequence[1..].contains(['\x07', '\x1b', '\u{9c}']) {
            out.push('\x1b');
        }
        rest = &sequence[1..];
    }
    out + rest
}

/// A line of a terminal, and where its cursor is.
#[derive(Default)]
struct Line {
    cells: Vec<char>,
    column: usize,
    /// Whether the cursor went back to the beginning, so that what comes takes the place of all.
    anew: bool,
    /// How far a movement of the cursor goes.
    longest: usize,
    /// Characters that may still be moved or overwritten by a sequence: more of them does nothing.
    work: usize,
}

/// No line of a terminal is longer, in characters: a movement of the cursor alone fills it.
const LONGEST: usize = 10_000;
/// Blanks that are filled in where the cursor was moved, in all of a short text.
const BLANKS: usize = 1 << 20;
/// Characters of a line that sequences move or overwrite, beside some times its length.
const WORK: usize = 100 * LONGEST;

impl Line {
    fn to(&mut self, column: usize) {
        self.anew = column == 0;
        self.column = column.min(self.longest);
    }

    /// Whether so many characters may be moved or overwritten.
    fn has_worked(&mut self, characters: usize) -> bool {
        let may = characters <= self.work;
        self.work -= characters.min(self.work);
        may
    }
}

impl Perform for Line {
    fn print(&mut self, c: char) {
        if std::mem::take(&mut self.anew) {
            self.cells.clear();
        }
        if self.cells.len() < self.column {
            self.cells.resize(self.column, ' ');
        }
        match self.cells.get_mut(self.column) {
            Some(cell) => *cell = c,
            None => self.cells.push(c),
        }
        self.column += 1;
    }

    fn execute(&mut self, byte: u8) {
        match byte {
            b'\r' => self.to(0),
            0x08 => self.column = self.column.saturating_sub(1),
            b'\t' => self.print('\t'),
            _ => {}
        }
    }

    fn csi_dispatch(&mut self, params: &Params, _: &[u8], _: bool, action: char) {
        let given = params.iter().next().and_then(|param| param.first()).map_or(0, |number| usize::from(*number));
        match (action, given) {
            ('C', _) => self.to(self.column + given.max(1)),
            ('D', _) => self.column = self.column.saturating_sub(given.max(1)),
            ('G', _) => self.to(given.max(1) - 1),
            ('K', 0) => self.cells.truncate(self.column),
            ('K', 2) | ('J', 2) => self.cells.clear(),
            ('K', 1) if self.has_worked(self.column) => {
                let end = self.column.min(self.cells.len());
                self.cells[..end].fill(' ');
            }
            ('P', _) if self.has_worked(self.cells.len()) => {
                let from = self.column.min(self.cells.len());
                let to = (from + given.max(1)).min(self.cells.len());
                self.cells.drain(from..to);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_a_terminal_shows() {
        for (written, seen) in [
            ("10 %\r20 %\rerror: no space\n", "error: no space\n"),
            ("Downloading 100 %\rdone\r\n", "done\r\n"),
            ("frame\r", "frame"),
            ("a\x1b[31mred\x1b[0m b\n", "ared b\n"),
            ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\\n", "link\n"),
            ("N\x08NA\x08AM\x08ME\x08E\n", "NAME\n"),
            ("\x1b[2K\x1b[1Gpercent 5\x1b[2K\x1b[1Gdone\n", "done\n"),
            ("abc\x1b[2D\x1b[Kz\n", "az\n"),
            ("a\x1b[3Cb\n", "a   b\n"),
            ("\x1b[1A\x1b[2Kbuilt x\n", "built x\n"),
            ("\x1b]0;what is left\n", "]0;what is left\n"),
            ("plain\ttext\r\n", "plain\ttext\r\n"),
        ] {
            assert_eq!(rendered(written), seen, "{written:?}");
        }
        assert!(!is_for_terminal("a\r\nb\r\n\r") && is_for_terminal("a\rb\n") && is_for_terminal("\x1b[0m"));
    }

    #[test]
    fn what_is_shown_has_bounds() {
        let jumps = "\x1b[9999Cx\n".repeat(20_000);
        assert!(rendered(&jumps).len() < 2 * jumps.len() + 2 * BLANKS);
        assert_eq!(rendered("\x1b[40Cx\n"), format!("{}x\n", " ".repeat(40)));
        let cleared = format!("{}{}\n", "a".repeat(200_000), "\x1b[1K\x1b[P".repeat(20_000));
        assert!(rendered(&cleared).len() <= 200_001);
    }

    #[test]
    fn lines_of_old_are_not_overwritten() {
        assert_eq!(shown("a\rb\rc"), "a\rb\rc");
        assert_eq!(shown("10 %\r20 %\nb\n"), "20 %\nb\n");
    }

    proptest! {
        #[test]
        fn lines_stay_lines(text in "[a-c\r\n\t \u{8}\u{1b}\\[0-9KDmé]{0,80}") {
            prop_assert_eq!(rendered(&text).split_inclusive('\n').count(), text.split_inclusive('\n').count());
        }

        #[test]
        fn what_is_for_no_terminal_stays(text in "[a-cé\n\t ]{0,60}(\r\n)?") {
            prop_assert_eq!(rendered(&text), text);
        }
    }
}
