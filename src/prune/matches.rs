//! Search results as [`Material`], and how they are shown: `path`, then `12:match` and `13-context`, as ripgrep shows them with headings.
//!
//! A gap inside a file says which lines and how many matches it holds; one over whole files names them with their counts.

use std::ops::Range;

use super::render::{LONGEST_LINE, MARKER, cut_line};
use super::{Decision, Material, Piece, pieces};

/// Files named in one gap; the rest are counted.
const NAMED: usize = 20;
/// Characters of the result set aside for its header and last gap.
const RESERVE: usize = 1500;

/// A line of a search result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundLine {
    /// 1-based number in its file.
    pub number: usize,
    /// The line without its `\n`, cut around the match when it is very long.
    pub text: String,
    /// Whether it matches, or is context.
    pub is_match: bool,
}

/// The lines found in one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileMatches {
    /// The path as shown.
    pub path: String,
    /// Lines whose text was kept, in order.
    pub lines: Vec<FoundLine>,
    /// Matching lines in the file, kept or not.
    pub matches: usize,
}

/// Results of a search, in order of path.
#[derive(Debug, PartialEq, Eq)]
pub struct Results {
    files: Vec<FileMatches>,
    /// For each file, its heading as the skimmer reads it.
    headings: Vec<String>,
}

/// The rows of the results: for each file with text its heading, then its lines.
pub struct Rows<'a> {
    results: &'a Results,
    lines: Vec<&'a str>,
}

impl FoundLine {
    /// A line as the search found it; `span` is the match in bytes.
    pub fn new(number: usize, text: &str, is_match: bool, span: Range<usize>) -> Self {
        let text = text.strip_suffix('\n').unwrap_or(text);
        Self { number, text: cut_line(text, LONGEST_LINE, span).0, is_match }
    }

    fn render(&self) -> String {
        format!("{}{}{}\n", self.number, if self.is_match { ':' } else { '-' }, self.text)
    }
}

impl FileMatches {
    /// Length of its kept lines as shown.
    pub fn characters(&self) -> usize {
        self.path.chars().count() + self.lines.iter().map(|line| line.text.chars().count() + 8).sum::<usize>()
    }

    /// A gap over some of its lines.
    fn gap(&self, lines: Range<usize>) -> String {
        let matches = self.lines[lines.clone()].iter().filter(|line| line.is_match).count();
        let range = super::render::numbers(0, &(self.lines[lines.start].number - 1..self.lines[lines.end - 1].number));
        match matches {
            0 => format!("{MARKER} {range}\n"),
            _ => format!("{MARKER} {range}: {}\n", count(matches, "match")),
        }
    }
}

impl Results {
    /// From files in order of path, those without text last.
    pub fn new(files: Vec<FileMatches>) -> Self {
        let headings = files.iter().map(|file| format!("== {}", file.path)).collect();
        Self { files, headings }
    }

    /// Matching lines in all.
    pub fn matches(&self) -> usize {
        self.files.iter().map(|file| file.matches).sum()
    }

    /// The rows to skim and prune.
    pub fn material(&self) -> Rows<'_> {
        let rows = self.with_text().flat_map(|(i, file)| {
            let lines = file.lines.iter().map(|line| line.text.as_str());
            std::iter::once(self.headings[i].as_str()).chain(lines)
        });
        Rows { results: self, lines: rows.collect() }
    }

    fn with_text(&self) -> impl Iterator<Item = (usize, &FileMatches)> {
        self.files.iter().enumerate().filter(|(_, file)| !file.lines.is_empty())
    }

    /// The result as text, in at most `most` characters. `pattern` is quoted for the header.
    pub fn render(&self, pattern: &str, decision: &Decision, most: usize) -> String {
        let all = vec![true; self.material().lines.len()];
        let kept = match decision {
            Decision::Partial(kept) | Decision::Unanswered(kept) => kept,
            Decision::Whole | Decision::Failed(_) => &all,
        };
        let mut page = Page {
            body: String::new(),
            length: 0,
            budget: most.saturating_sub(RESERVE),
            shown: 0,
            shown_files: 0,
            left_out: Vec::new(),
            gaps: 0,
        };
        let separate = self.files.iter().any(|file| file.lines.iter().any(|line| !line.is_match));
        let mut rows = kept.as_slice();
        for file in &self.files {
            if file.lines.is_empty() {
                page.left_out.push((&file.path, file.matches));
                continue;
            }
            let (own, rest) = rows.split_at(1 + file.lines.len());
            rows = rest;
            page.add_file(file, own, separate);
        }
        page.flush();
        let total = self.matches();
        let notes = match decision {
            Decision::Whole if page.gaps == 0 => return page.body,
            Decision::Whole => format!(
                "{} of {}, as many as fit in {most} characters; narrow the search with path, glob or a longer pattern.",
                page.shown,
                count(total, "match")
            ),
            Decision::Failed(error) => {
                format!("{} of {}; the skimmer failed ({error}), so nothing was pruned.", page.shown, count(total, "match"))
            }
            Decision::Partial(_) => {
                format!("{} of {}, in {} of {}.", page.shown, count(total, "match"), page.shown_files, count(self.files.len(), "file"))
            }
            Decision::Unanswered(_) => {
                format!("{} in {}; none of them seems to answer the question.", count(total, "match"), count(self.files.len(), "file"))
            }
        };
        let gaps = if page.gaps > 0 {
            format!(" {MARKER} = matches left out; the same search without a question, or narrower, shows them.")
        } else {
            String::new()
        };
        format!("{pattern}: {notes}{gaps}\n{}", page.body)
    }
}

impl Material for Rows<'_> {
    fn lines(&self) -> &[&str] {
        &self.lines
    }

    fn complete(&self, kept: &mut [bool]) {
        let mut at = 0;
        for (_, file) in self.results.with_text() {
            let lines = at + 1..at + 1 + file.lines.len();
            kept[at] = kept[lines.clone()].contains(&true);
            at = lines.end;
        }
    }

    fn outline(&self) -> Vec<bool> {
        vec![false; self.lines.len()]
    }

    fn cost(&self, kept: &[bool]) -> usize {
        let shown: usize = self.lines.iter().zip(kept).filter(|(_, kept)| **kept).map(|(line, _)| line.chars().count() + 6).sum();
        let gaps = pieces(kept).iter().filter(|piece| matches!(piece, Piece::Gap(_))).count();
        shown + gaps * 30
    }
}

/// A result while it is written.
struct Page<'a> {
    body: String,
    length: usize,
    budget: usize,
    shown: usize,
    shown_files: usize,
    /// Files left out since the last one shown, with their matches.
    left_out: Vec<(&'a str, usize)>,
    gaps: usize,
}

impl<'a> Page<'a> {
    fn full(&self) -> bool {
        self.length > self.budget
    }

    fn push(&mut self, text: &str) {
        self.length += text.chars().count();
        self.body.push_str(text);
    }

    /// Adds a file's lines; `kept` has a flag for its heading and one for each line.
    fn add_file(&mut self, file: &'a FileMatches, kept: &[bool], separate: bool) {
        if !kept[0] || self.full() {
            self.left_out.push((&file.path, file.matches));
            return;
        }
        self.flush();
        if !self.body.is_empty() {
            self.push("\n");
        }
        self.push(&format!("{}\n", file.path));
        self.shown_files += 1;
        let (mut seen, mut last) = (0, None);
        for piece in pieces(&kept[1..]) {
            match piece {
                Piece::Gap(lines) => {
                    seen += file.lines[lines.clone()].iter().filter(|line| line.is_match).count();
                    self.push(&file.gap(lines));
                    self.gaps += 1;
                    last = None;
                }
                Piece::Lines(lines) => {
                    for line in &file.lines[lines] {
                        if self.full() {
                            break;
                        }
                        if separate && last.is_some_and(|last| last + 1 != line.number) {
                            self.push("--\n");
                        }
                        self.push(&line.render());
                        last = Some(line.number);
                        seen += usize::from(line.is_match);
                        self.shown += usize::from(line.is_match);
                    }
                }
            }
        }
        if seen < file.matches {
            self.push(&format!("{MARKER} {} more here\n", count(file.matches - seen, "match")));
            self.gaps += 1;
        }
    }

    /// Writes the gap for the files left out since the last one shown.
    fn flush(&mut self) {
        let files = std::mem::take(&mut self.left_out);
        if files.is_empty() {
            return;
        }
        let matches: usize = files.iter().map(|(_, matches)| matches).sum();
        let mut names = Vec::new();
        let mut length = 0;
        for (path, matches) in files.iter().take(NAMED) {
            let name = format!("{path} ({matches})");
            length += name.chars().count();
            if length > RESERVE / 2 {
                break;
            }
            names.push(name);
        }
        let more = if names.len() < files.len() { format!(" and {} more", files.len() - names.len()) } else { String::new() };
        let blank = if self.body.is_empty() { "" } else { "\n" };
        self.push(&format!("{blank}{MARKER} {} in {}: {}{more}\n", count(matches, "match"), count(files.len(), "file"), names.join(", ")));
        self.gaps += 1;
    }
}

/// "1 match", "2 matches", "3 files".
fn count(n: usize, what: &str) -> String {
    let plural = if what.ends_with("ch") { "es" } else { "s" };
    format!("{n} {what}{}", if n == 1 { "" } else { plural })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, lines: &[(usize, bool)]) -> FileMatches {
        let found = lines.iter().map(|(number, is_match)| FoundLine::new(*number, "text\n", *is_match, 0..0)).collect();
        FileMatches { path: path.to_owned(), lines: found, matches: lines.iter().filter(|(_, is_match)| *is_match).count() }
    }

    #[test]
    fn results_look_as_ripgrep_shows_them() {
        let results = Results::new(vec![file("a.rs", &[(1, true), (2, false), (9, true)]), file("b.rs", &[(4, true)])]);
        assert_eq!(results.render("\"t\"", &Decision::Whole, 20_000), "a.rs\n1:text\n2-text\n--\n9:text\n\nb.rs\n4:text\n");
    }

    #[test]
    fn gaps_say_which_matches_are_left_out_of_which_files() {
        let results = Results::new(vec![
            file("a.rs", &[(1, true), (5, true), (9, true)]),
            file("b.rs", &[(4, true)]),
            file("c.rs", &[(2, true), (3, true)]),
            file("d.rs", &[(7, true)]),
        ]);
        let rows = results.material();
        let mut kept: Vec<bool> = (0..rows.lines.len()).map(|i| i == 1 || i == 10).collect();
        rows.complete(&mut kept);
        let text = results.render("\"t\"", &Decision::Partial(kept), 20_000);
        assert_eq!(
            text,
            "\"t\": 2 of 7 matches, in 2 of 4 files. ⋮ = matches left out; the same search without a question, or narrower, shows them.\n\
             a.rs\n1:text\n⋮ 5-9: 2 matches\n\n⋮ 3 matches in 2 files: b.rs (1), c.rs (2)\n\nd.rs\n7:text\n"
        );
    }

    #[test]
    fn a_result_that_does_not_fit_counts_the_rest() {
        let many: Vec<_> = (1..400).map(|number| (number, true)).collect();
        let results = Results::new(vec![file("a.rs", &many), file("b.rs", &[(4, true)])]);
        let text = results.render("\"t\"", &Decision::Whole, 3000);
        assert!(text.chars().count() <= 3000, "{}", text.len());
        assert!(text.contains("more here") && text.contains("b.rs (1)"), "{text}");
    }
}
