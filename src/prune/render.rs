//! A view as text: a header line where there is something to say, the kept lines as they are, and one line for each gap.
//!
//! Without a header the result is the exact text. A gap line is the marker and the range it stands for; where a shown line begins with the
//! marker itself, a longer marker is used, so that no line of the file can be taken for a gap.

use std::collections::HashSet;
use std::ops::Range;

use super::{FocusQuestion, HEADER_TOKENS, Piece, Pointer, pieces};
use crate::error::{counted, quote, shorten};
use crate::skim::SkimError;

/// Begins a gap line: no programming language has it.
pub const MARKER: char = '⋮';
/// Longer lines are cut, in characters, unless one is read alone.
pub const LONGEST_LINE: usize = 2000;
/// Lines are cut to no fewer characters.
const SHORTEST_CUT: usize = 80;
/// Characters of code that make a token, at least.
const CHARACTERS_A_TOKEN: usize = 2;
/// Characters of the result set aside for its header and the gap that closes a result cut short.
const RESERVE: usize = 800;
/// Characters of an ordinary header.
const HEADER: usize = 90;
/// Characters that the mark of a cut line takes at most.
const MARK: usize = 50;
/// What is said of lines that may well not answer.
pub const DOUBT: &str = ", which may not answer the question";
/// Longer names lose their beginning in the header, in characters.
const LONGEST_NAME: usize = 120;
/// Longer names of definitions are cut in gaps, in characters.
const LONGEST_POINTER: usize = 60;

/// Lines to show and where they come from.
#[derive(Debug, Clone, Copy, Default)]
pub struct Page<'a> {
    /// What the lines are of, for the header.
    pub name: &'a str,
    /// The lines, with terminators.
    pub lines: &'a [&'a str],
    /// 0-based number of the first of them.
    pub first: usize,
    /// Lines there are in all, where that is known.
    pub total: Option<usize>,
    /// The encoding, where it is not UTF-8.
    pub decoded_from: Option<&'a str>,
    /// The path that was asked for, where there is no such file and this one looks like it.
    pub instead_of: Option<&'a str>,
    /// Definitions to be named in the gaps that they are in.
    pub pointers: &'a [Pointer],
    /// What the reader should know about where the scores are from, as a sentence.
    pub note: Option<&'a str>,
    /// How what is left out is read.
    pub read_back: ReadBack,
    /// What is asked: of a line that is cut, its words are shown.
    pub question: Option<&'a FocusQuestion>,
    /// Whether lines begin with their numbers, as in search results.
    pub numbered: bool,
    /// Longer lines are cut, in characters, unless one is alone and nothing is asked.
    pub longest: usize,
}

/// How the reader gets what is left out.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReadBack {
    /// The lines of a gap, as in "start_line/end_line reads them".
    pub gap: &'static str,
    /// More of a line that is cut, as in "read it alone to see more".
    pub line: &'static str,
    /// More of a line that is alone, but cut as there is a question, as in "leave the question out to see more".
    pub only_line: &'static str,
}

/// Why the view is what it is.
#[derive(Debug, Clone, Copy)]
pub enum Status<'a> {
    /// Nothing was pruned.
    Exact,
    /// The lines that answer are kept.
    Pruned {
        /// Whether they may well not answer.
        doubtful: bool,
    },
    /// Nothing answers; the outline is kept.
    Unanswered,
    /// Nothing was pruned, because the skimmer failed.
    Failed(&'a SkimError),
}

/// Length of a view in characters with an ordinary header; `first` is the 0-based number of the first line.
pub fn cost(lines: &[&str], first: usize, kept: &[bool], pointers: &[Pointer], numbered: bool) -> usize {
    let length = |i: usize| {
        number(first + i, numbered).len()
            + match lines[i].chars().count() {
                long if long > LONGEST_LINE => LONGEST_LINE + MARK,
                count => count,
            }
    };
    let marker = marker(lines).chars().count() + " \n".len();
    let body: usize = pieces(kept)
        .into_iter()
        .map(|piece| match piece {
            Piece::Lines(range) => range.map(length).sum(),
            Piece::Gap(gap) => marker + numbers(first, &gap).len() + named(first, &gap, pointers).chars().count(),
        })
        .sum();
    body + if kept.contains(&false) { HEADER } else { 0 }
}

/// The longest line, in characters, that fits into so many tokens with a header.
pub fn longest_line_in(tokens: usize) -> usize {
    (tokens.saturating_sub(HEADER_TOKENS) * CHARACTERS_A_TOKEN).clamp(SHORTEST_CUT, LONGEST_LINE)
}

/// The kept lines and the gaps between them, without a header.
pub fn view(lines: &[&str], first: usize, kept: &[bool], pointers: &[Pointer], numbered: bool) -> String {
    let page = Page { lines, first, pointers, numbered, ..Page::default() };
    Body::write(&page, kept, LONGEST_LINE, usize::MAX).text
}

/// Characters that lines and gaps may take in a result of at most `most`.
pub fn room(most: usize) -> usize {
    most.saturating_sub(RESERVE)
}

/// Renders the kept lines of a page in at most `most` characters.
pub fn page(page: &Page<'_>, kept: &[bool], status: Status<'_>, most: usize) -> String {
    let exact = page.lines.concat();
    let is_exact = matches!(status, Status::Exact) && page.question.is_none();
    let plain = is_exact && page.decoded_from.is_none() && page.instead_of.is_none() && !page.numbered && !kept.contains(&false);
    let alone = page.lines.len() == 1 && page.question.is_none();
    let longest = if alone { room(most).saturating_sub(MARK) } else { page.longest.min(room(most)) };
    if plain && exact.chars().count() <= most && (alone || !page.lines.iter().any(|line| is_long(line, longest))) {
        return exact;
    }
    let longer = marker(page.lines).chars().count() - 1; // than what room is set aside for, in the header and in the last gap
    let body = Body::write(page, kept, longest, room(most).saturating_sub(2 * longer));
    format!("{}: {}\n{}", title(page), notes(page, &body, status, longest, most).join(" "), body.text)
}

/// The lines and gaps of a page.
struct Body {
    text: String,
    marker: String,
    /// Lines shown, and how many of them were cut.
    shown: usize,
    cut: usize,
    gaps: usize,
    /// Whether the room ended before the kept lines did.
    stopped: bool,
}

impl Body {
    fn write(page: &Page<'_>, kept: &[bool], longest: usize, room: usize) -> Self {
        let mut body = Self { text: String::new(), marker: marker(page.lines), shown: 0, cut: 0, gaps: 0, stopped: false };
        let mut length = 0;
        let mut fits = |text: &str| {
            length += text.chars().count();
            length <= room
        };
        let stopped_at = pieces(kept).into_iter().find_map(|piece| match piece {
            Piece::Gap(gap) => {
                let line = body.gap_line(page, &gap);
                if !fits(&line) {
                    return Some(gap.start);
                }
                body.text.push_str(&line);
                body.gaps += 1;
                None
            }
            Piece::Lines(mut range) => range.find(|i| {
                let line = page.lines[*i];
                let asked = page.question.filter(|_| is_long(line, longest));
                let (line, was_cut) = cut_line(line, longest, asked.map_or(0..0, |question| question.place_in(line, longest / 2)));
                let line = number(page.first + *i, page.numbered) + &line;
                if !fits(&line) {
                    return true;
                }
                body.text.push_str(&line);
                body.shown += 1;
                body.cut += usize::from(was_cut);
                false
            }),
        });
        if let Some(from) = stopped_at {
            let rest = body.gap_line(page, &(from..page.lines.len()));
            body.text.push_str(&rest);
            body.gaps += 1;
            body.stopped = true;
        }
        body
    }

    fn gap_line(&self, page: &Page<'_>, gap: &Range<usize>) -> String {
        format!("{} {}{}\n", self.marker, numbers(page.first, gap), named(page.first, gap, page.pointers))
    }
}

/// What stands before the line that has this number, counted from 0.
fn number(line: usize, numbered: bool) -> String {
    if numbered { format!("{}:", line + 1) } else { String::new() }
}

/// `: refresh 30-41, revoke 43-47`: the definitions in a gap that are to be named.
pub fn named(first: usize, gap: &Range<usize>, pointers: &[Pointer]) -> String {
    let inside = pointers.iter().filter(|pointer| gap.start <= pointer.lines.start && pointer.lines.end <= gap.end);
    let name = |pointer: &Pointer| pointer.name.chars().take(LONGEST_POINTER).collect::<String>();
    let told = |pointer: &Pointer| match pointer.with_lines {
        true => format!("{} {}", name(pointer), numbers(first, &pointer.lines)),
        false => name(pointer),
    };
    let names: Vec<String> = inside.map(told).collect();
    if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) }
}

/// What the header says, sentence by sentence.
fn notes(page: &Page<'_>, body: &Body, status: Status<'_>, longest: usize, most: usize) -> Vec<String> {
    let lines = page.lines.len();
    let mut notes = Vec::new();
    match status {
        Status::Unanswered => notes.push(format!(
            "nothing in these {lines} lines seems to answer the question; what is in them is named, and the likeliest lines are shown if any come near."
        )),
        Status::Failed(error) => notes.push(format!("the skimmer failed ({}), so nothing was pruned.", shorten(&error.to_string()))),
        Status::Pruned { doubtful } => notes.push(format!("{} of {lines} lines{}.", body.shown, if doubtful { DOUBT } else { "" })),
        Status::Exact if page.question.is_some() && !body.stopped && body.cut == 0 => {
            notes.push(format!("all {}; the question leaves nothing out.", counted(lines, "line")));
        }
        Status::Exact if body.stopped || page.numbered => notes.push(format!("{} of {lines} lines.", body.shown)),
        Status::Exact => {}
    }
    if page.numbered {
        notes.push("Each begins with its number.".to_owned());
    }
    notes.extend(page.note.map(shorten));
    if body.stopped {
        notes.push(format!("Stopped at {most} characters."));
    }
    notes.extend(page.instead_of.map(|path| format!("There is no {}, which this looks like.", quote(path))));
    if let Some(encoding) = page.decoded_from {
        notes.push(format!("Decoded from {encoding}."));
    }
    if body.cut > 0 {
        let more = match (lines, page.question) {
            (1, None) => "grep shows the text around its first match in it",
            (1, Some(_)) => page.read_back.only_line,
            _ => page.read_back.line,
        };
        let around = if page.question.is_some() { " around words of the question" } else { "" };
        notes.push(format!("{MARKER} + = a line cut at {longest} characters{around}; {more}."));
    }
    if body.gaps > 0 {
        notes.push(format!("{} = lines left out; {}.", body.marker, page.read_back.gap));
    }
    notes
}

/// The page's name, with the range when it is not the whole file.
fn title(page: &Page<'_>) -> String {
    let tail = page.name.char_indices().rev().nth(LONGEST_NAME - 1).map_or(0, |(i, _)| i);
    let name = if tail == 0 { page.name.to_owned() } else { format!("…{}", &page.name[tail..]) };
    let range = numbers(page.first, &(0..page.lines.len()));
    match page.total {
        Some(total) if total == page.lines.len() => name,
        Some(total) => format!("{name} lines {range} of {total}"),
        None => format!("{name} lines {range}"),
    }
}

/// `20-47`, or `20` for one line: 1-based numbers of a range of lines.
pub fn numbers(first: usize, range: &Range<usize>) -> String {
    let (from, to) = (first + range.start + 1, first + range.end);
    if from == to { from.to_string() } else { format!("{from}-{to}") }
}

/// The shortest run of [`MARKER`] that no line begins with.
pub fn marker(lines: &[&str]) -> String {
    let run = |line: &&str| line.chars().take_while(|c| *c == MARKER).count();
    let taken: HashSet<usize> = lines.iter().filter(|line| line.starts_with(MARKER)).map(run).collect();
    MARKER.to_string().repeat((1..).find(|length| !taken.contains(length)).unwrap_or(1))
}

/// A line of at most `longest` characters around `focus` (bytes), what is missing counted at either end, its terminator kept.
pub fn cut_line(line: &str, longest: usize, focus: Range<usize>) -> (String, bool) {
    if !is_long(line, longest) {
        return (line.to_owned(), false);
    }
    let text = content(line);
    let count = text.chars().count();
    let focus_end = text.get(..focus.end.min(text.len())).map_or(0, |before| before.chars().count());
    let start = if focus_end <= longest { 0 } else { focus_end.saturating_sub(longest / 2).min(count - longest) };
    let middle: String = text.chars().skip(start).take(longest).collect();
    let rest = count - start - longest;
    let before = if start > 0 { format!("{MARKER} +{start} characters {MARKER} ") } else { String::new() };
    let after = if rest > 0 { format!(" {MARKER} +{rest} characters") } else { String::new() };
    (format!("{before}{middle}{after}{}", &line[text.len()..]), true)
}

fn is_long(line: &str, longest: usize) -> bool {
    let text = content(line);
    text.len() > longest && text.chars().count() > longest
}

/// A line without its terminator.
fn content(line: &str) -> &str {
    let text = line.strip_suffix('\n').unwrap_or(line);
    text.strip_suffix('\r').unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PAGE: Page<'_> = Page {
        name: "a.txt",
        lines: &[],
        first: 0,
        total: None,
        decoded_from: None,
        instead_of: None,
        pointers: &[],
        note: None,
        read_back: ReadBack { gap: "read it", line: "read it alone", only_line: "do not ask" },
        question: None,
        numbered: false,
        longest: LONGEST_LINE,
    };

    #[test]
    fn a_line_that_looks_like_a_gap_makes_the_marker_longer() {
        let lines = ["⋮ 2-9\n", "x\n", "y\n"];
        let text = page(&Page { lines: &lines, total: Some(3), ..PAGE }, &[true, false, true], Status::Pruned { doubtful: false }, 20_000);
        assert_eq!(text, "a.txt: 2 of 3 lines. ⋮⋮ = lines left out; read it.\n⋮ 2-9\n⋮⋮ 2\ny\n");
    }

    #[test]
    fn a_long_line_is_cut_around_words_of_the_question() {
        let line = format!("{}needle{}\n", "a".repeat(5000), "b".repeat(5000));
        let question = FocusQuestion::new("Where is the needle?").expect("a question");
        let shown = page(&Page { lines: &[&line], total: Some(1), question: Some(&question), ..PAGE }, &[true], Status::Exact, 20_000);
        assert!(
            shown.starts_with("a.txt: ⋮ + = a line cut at 2000 characters around words of the question; do not ask.\n⋮ +4006 "),
            "{shown}"
        );
        assert!(shown.contains("aneedleb") && shown.chars().count() < 2200, "{shown}");
        let shown = page(&Page { lines: &[&line], total: Some(1), ..PAGE }, &[true], Status::Exact, 20_000);
        assert_eq!(shown, line);
    }

    #[test]
    fn a_long_line_is_cut_around_its_match_and_says_by_how_much() {
        let line = format!("{}needle{}\n", "a".repeat(50), "b".repeat(50));
        assert_eq!(
            cut_line(&line, 20, 50..56).0,
            format!("⋮ +46 characters ⋮ {}needle{} ⋮ +40 characters\n", "a".repeat(4), "b".repeat(10))
        );
        assert_eq!(cut_line("abcdef\r\n", 4, 0..0).0, "abcd ⋮ +2 characters\r\n");
        assert_eq!(cut_line("äöü\n", 3, 0..0), ("äöü\n".to_owned(), false));
        assert_eq!(cut_line("a\r\r\r\r\r\n", 3, 0..0).0, "a\r\r ⋮ +2 characters\r\n");
    }

    proptest! {
        /// Reads a rendered view back: shown lines and gaps make up the file, whatever the lines look like.
        #[test]
        fn shown_lines_and_gaps_are_exactly_the_file(
            rows in prop::collection::vec(("[a-z⋮ 0-9\\-]{0,12}(\r)?", any::<bool>()), 1..60), first in 0usize..1000, most in 1000usize..1900,
            numbered in any::<bool>(),
        ) {
            let owned: Vec<String> = rows.iter().map(|(line, _)| format!("{line}\n")).collect();
            let lines: Vec<&str> = owned.iter().map(String::as_str).collect();
            let kept: Vec<bool> = rows.iter().map(|(_, kept)| *kept).collect();
            let all = Page { lines: &lines, first, total: Some(first + lines.len()), numbered, ..PAGE };
            let shown = page(&all, &kept, Status::Pruned { doubtful: false }, most);
            prop_assert!(shown.chars().count() <= most, "{} > {most}", shown.chars().count());
            let marker = format!("{} ", marker(&lines));
            let mut next = 0;
            for line in shown.split_inclusive('\n').skip(1) {
                if let Some(range) = line.strip_prefix(&marker) {
                    let (from, to) = range.trim().split_once('-').unwrap_or((range.trim(), range.trim()));
                    prop_assert_eq!(from.parse::<usize>().unwrap(), first + next + 1);
                    next = to.parse::<usize>().unwrap() - first;
                } else {
                    prop_assert_eq!(line, number(first + next, numbered) + lines[next]);
                    next += 1;
                }
            }
            prop_assert_eq!(next, lines.len());
        }
    }
}
