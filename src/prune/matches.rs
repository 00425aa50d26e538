//! Search results as [`Material`], and how they are shown: `path`, then `12:match` and `13-context`, as ripgrep shows them with headings.
//!
//! A gap inside a file says which lines and how many matches it holds; one over whole files names them with their counts.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::render::{DOUBT, LONGEST_LINE, MARKER, cut_line, numbers};
use super::structure::Header;
use super::{Decision, Definition, FocusQuestion, Material, Piece, Pointer, View, pieces};
use crate::error::{counted, shorten};
use crate::skim::{LineScores, best_first};

/// Files named in one gap; of more, the directories are named.
const NAMED: usize = 10;
/// Characters of what says where the matches of a gap are.
const WHEREABOUTS: usize = 120;
/// Characters of a result that begins with the counts of its files, where these are more than [`MANY_FILES`].
const LARGE: usize = 8000;
/// See [`LARGE`].
const MANY_FILES: usize = 3;
/// With a question no match is left out where there are so few.
pub const FEW_MATCHES: usize = 40;
/// How matches are found that a result has no room for.
const NARROWER: &str = "a narrower search (path, glob, a longer pattern) shows them";
/// Lines shown where none seems to answer.
const LIKELIEST: usize = 5;
/// Characters of the result set aside for its header and its last gaps, at most half of it.
const RESERVE: usize = 1600;
/// Characters of an ordinary header.
const HEADER: usize = 120;
/// Characters of a path that are shown, counted from its end.
const LONGEST_PATH: usize = 200;
/// Tokens that a header, one line and the gaps around it take without any names.
const BARE: usize = 120;
/// Characters of file names in one gap.
const NAMES: usize = RESERVE / 3;

/// A line of a search result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundLine {
    /// 1-based number in its file.
    pub number: usize,
    /// The line without its `\n`, cut around the match when it is very long.
    pub text: String,
    /// Whether it matches, or is context.
    pub is_match: bool,
    /// The definition whose body it is in.
    pub within: Option<Arc<Within>>,
}

/// A definition that matches stand in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Within {
    /// Its name, after whose it is: `Store.get`.
    pub name: String,
    /// Its lines, 0-based.
    pub lines: Range<usize>,
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
    /// Whether the file turned out not to be text.
    pub binary: bool,
    /// Whether there was no room for all lines of context.
    pub clipped: bool,
}

/// What a search went through and does not show.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Unshown {
    /// Files and directories that could not be read.
    pub failed: usize,
    /// Hidden files that match, of which only this is told.
    pub hidden: usize,
}

impl Unshown {
    /// In words, if there is anything.
    pub fn describe(self) -> Option<String> {
        let failed = (self.failed > 0).then(|| format!("{} could not be read", counted(self.failed, "path")));
        let hidden = (self.hidden > 0).then(|| {
            let matching = if self.hidden == 1 { "matches: path or glob has to name it" } else { "match: path or glob has to name them" };
            format!("{} {matching}", counted(self.hidden, "hidden file"))
        });
        let said: Vec<String> = failed.into_iter().chain(hidden).collect();
        (!said.is_empty()).then(|| said.join(", "))
    }
}

/// Results of a search, in order of path.
#[derive(Debug, PartialEq, Eq)]
pub struct Results {
    files: Vec<FileMatches>,
    /// For each file, its heading as the skimmer reads it.
    headings: Vec<String>,
    /// Characters of file names in one gap.
    names: usize,
}

/// The rows of the results: for each file with text its heading, then its lines.
pub struct Rows<'a> {
    results: &'a Results,
    lines: Vec<&'a str>,
    is_heading: Vec<bool>,
}

impl FoundLine {
    /// A line as the search found it; `span` is the match in bytes.
    pub fn new(number: usize, text: &str, is_match: bool, span: Range<usize>) -> Self {
        let text = text.strip_suffix('\n').unwrap_or(text);
        Self { number, text: cut_line(text, LONGEST_LINE, span).0, is_match, within: None }
    }

    /// Its length as shown.
    pub fn characters(&self) -> usize {
        self.text.chars().count() + 8
    }

    fn render(&self) -> String {
        format!("{}{}{}\n", self.number, if self.is_match { ':' } else { '-' }, self.text)
    }
}

impl FileMatches {
    /// Length of its kept lines as shown.
    pub fn characters(&self) -> usize {
        self.path.chars().count() + self.lines.iter().map(FoundLine::characters).sum::<usize>()
    }

    /// Its path, without the beginning when it is very long.
    fn name(&self) -> Cow<'_, str> {
        match self.path.char_indices().rev().nth(LONGEST_PATH) {
            Some((i, first)) => format!("…{}", &self.path[i + first.len_utf8()..]).into(),
            None => self.path.as_str().into(),
        }
    }

    /// A gap over some of its lines.
    fn gap(&self, lines: Range<usize>, room: usize) -> String {
        let range = numbers(0, &(self.lines[lines.start].number - 1..self.lines[lines.end - 1].number));
        let matches: Vec<&FoundLine> = self.lines[lines].iter().filter(|line| line.is_match).collect();
        match matches.len() {
            0 => format!("{MARKER} {range}\n"),
            count => format!("{MARKER} {range}: {}{}\n", counted(count, "match"), whereabouts(&matches, room)),
        }
    }
}

/// Where matches are, in about so many characters: `: 41, Store.get 50 52`; nothing where there is no room for that.
fn whereabouts(matches: &[&FoundLine], room: usize) -> String {
    let (mut said, mut within) = (String::new(), None);
    for (i, line) in matches.iter().enumerate() {
        let place = match &line.within {
            own if *own == within => format!(" {}", line.number),
            Some(own) => format!(", {} {}", own.name, line.number),
            None => format!(", {}", line.number),
        };
        if said.len() + place.len() > room {
            let more = format!(" and {} more", matches.len() - i);
            return if said.is_empty() { said } else { format!(": {}{more}", said.trim_start_matches([',', ' '])) };
        }
        within.clone_from(&line.within);
        said.push_str(&place);
    }
    if said.is_empty() { said } else { format!(": {}", said.trim_start_matches([',', ' '])) }
}

impl Results {
    /// From files in order of path, those without text last.
    pub fn new(files: Vec<FileMatches>) -> Self {
        let headings = files.iter().map(|file| format!("== {}", file.path)).collect();
        Self { files, headings, names: NAMES }
    }

    /// The same with gaps that name fewer files where little may be shown: one line with a gap on either side fits into `tokens`, and the gaps
    /// around the likeliest lines into `most` characters.
    pub fn within(self, most: usize, tokens: Option<usize>) -> Self {
        let names = NAMES.min(most / 20);
        Self { names: tokens.map_or(names, |tokens| names.min(tokens.saturating_sub(BARE) / 2)), ..self }
    }

    /// Matching lines in all.
    pub fn matches(&self) -> usize {
        self.files.iter().map(|file| file.matches).sum()
    }

    /// The rows to skim and prune.
    pub fn material(&self) -> Rows<'_> {
        let rows = self.with_text().flat_map(|(i, file)| {
            let lines = file.lines.iter().map(|line| (line.text.as_str(), false));
            std::iter::once((self.headings[i].as_str(), true)).chain(lines)
        });
        let (lines, is_heading) = rows.unzip();
        Rows { results: self, lines, is_heading }
    }

    /// The lines of each file with text: their numbers, whether they are shown, and what they say.
    pub fn files_with(&self, decision: &Decision) -> impl Iterator<Item = (&str, impl Iterator<Item = (usize, bool, &str)>)> {
        let kept = decision.kept(self.material().lines.len());
        let mut row = 0;
        self.with_text().map(move |(_, file)| {
            let own = kept[row + 1..row + 1 + file.lines.len()].to_vec(); // after the heading
            row += 1 + file.lines.len();
            let lines = file.lines.iter().zip(own).map(|(line, kept)| (line.number, kept, line.text.as_str()));
            (file.path.as_str(), lines)
        })
    }

    fn with_text(&self) -> impl Iterator<Item = (usize, &FileMatches)> {
        self.files.iter().enumerate().filter(|(_, file)| !file.lines.is_empty())
    }

    /// The result as text, in at most `most` characters. `pattern` is quoted for the header, which also says what is `unshown`, and
    /// what else there is to remark.
    pub fn render(&self, pattern: &str, decision: &Decision, unshown: Unshown, remarks: &[String], most: usize) -> String {
        let all = vec![true; self.material().lines.len()];
        let kept = decision.kept(all.len());
        let whole = self.page(&all, most);
        let clipped = self.files.iter().any(|file| file.clipped);
        let whole_fits = whole.gaps == 0 && !whole.full && !clipped;
        let is_large = whole.length > LARGE && self.files.len() > MANY_FILES;
        if matches!(decision, Decision::Whole) && whole_fits && unshown == Unshown::default() && remarks.is_empty() && !is_large {
            return whole.body;
        }
        let page = self.page(&kept, room(most));
        let is_whole = matches!(decision, Decision::Whole) && page.gaps == 0 && !page.full && !clipped;
        let (matches, files) = (counted(self.matches(), "match"), counted(self.files.len(), "file"));
        let seen = self.files.iter().flat_map(|file| &file.lines).filter(|line| line.is_match).count();
        let mut notes = match decision {
            Decision::Unanswered(_) => {
                let which = if seen < self.matches() { format!("the first {seen}") } else { "them".to_owned() };
                format!("{matches} in {files}; none of {which} seems to answer the question, and the likeliest are shown.")
            }
            Decision::Whole if is_large => {
                format!("{}.", summary(&self.files.iter().collect::<Vec<_>>(), self.names))
            }
            Decision::Whole if is_whole => format!("all {matches} in {files}."),
            _ => {
                let doubt = if matches!(decision, Decision::Partial(View { doubtful: true, .. })) { DOUBT } else { "" };
                format!("{} of {matches}, in {} of {files}{doubt}.", page.shown, page.shown_files)
            }
        };
        if matches!(decision, Decision::Partial(_)) && seen < self.matches() {
            notes.push_str(&format!(" Only the first {seen} were looked at."));
        }
        if let Decision::Partial(View { note: Some(note), .. }) | Decision::Unanswered(View { note: Some(note), .. }) = decision {
            notes.push_str(&format!(" {}", shorten(note)));
        }
        if let Decision::Failed(error) = decision {
            notes.push_str(&format!(" The skimmer failed ({}), so nothing was pruned.", shorten(&error.to_string())));
        }
        if let Some(unshown) = unshown.describe() {
            notes.push_str(&format!(" {unshown}."));
        }
        remarks.iter().for_each(|remark| notes.push_str(&format!(" {remark}")));
        if page.gaps == 0 && page.full || clipped {
            notes.push_str(" Not all of the context fits; ask for less of it.");
        }
        if page.gaps > 0 {
            let was_asked = matches!(decision, Decision::Partial(_) | Decision::Unanswered(_));
            let comes_whole = was_asked && whole_fits && whole.length <= room(most); // below a header, too
            let way = if comes_whole { "the same search without a question shows them" } else { NARROWER };
            let what = if page.separate { "lines" } else { "matches" };
            notes.push_str(&format!(" {MARKER} = {what} left out; {way}."));
        }
        format!("{pattern}: {notes}\n{}", page.body)
    }

    /// The files alone, each on a line with its number of matches or `bare`, in at most `most` characters, and what is to be said of them: what is
    /// `unshown`, and which files did not fit.
    pub fn list(&self, pattern: &str, bare: bool, unshown: Unshown, most: usize) -> (String, Option<String>) {
        let line = |file: &FileMatches| if bare { format!("{}\n", file.path) } else { format!("{}:{}\n", file.path, file.matches) };
        let lines: Vec<String> = self.files.iter().map(line).collect();
        let all = lines.concat();
        if unshown == Unshown::default() && all.chars().count() <= most {
            return (all, None);
        }
        let mut length = 0;
        let fits = |line: &&String| {
            length += line.chars().count();
            length <= room(most)
        };
        let shown = lines.iter().take_while(fits).count();
        let rest: Vec<&FileMatches> = self.files[shown..].iter().collect();
        let left_out = (!rest.is_empty()).then(|| format!("left out: {}; {NARROWER}", summary(&rest, self.names)));
        let said: Vec<String> = left_out.into_iter().chain(unshown.describe()).collect();
        let (matches, files) = (counted(self.matches(), "match"), counted(self.files.len(), "file"));
        let remark = format!("{pattern}: {matches} in {files}; {}.", said.join("; "));
        (lines[..shown].concat(), Some(remark))
    }

    /// Writes the rows that are kept, as many as fit into `budget` characters, and gaps for the rest.
    fn page(&self, kept: &[bool], budget: usize) -> Page<'_> {
        let separate = self.files.iter().any(|file| file.lines.iter().any(|line| !line.is_match));
        let mut page = Page { separate, budget, names: self.names, ..Page::default() };
        let mut rows = kept;
        for file in &self.files {
            if file.lines.is_empty() {
                page.left_out.push(file);
                continue;
            }
            let (own, rest) = rows.split_at(1 + file.lines.len());
            rows = rest;
            page.add_file(file, own);
        }
        page.close_gap();
        page
    }
}

impl Material for Rows<'_> {
    fn lines(&self) -> &[&str] {
        &self.lines
    }

    /// A kept line of context brings the nearest match, and any kept line its heading.
    fn complete(&self, kept: &mut [bool]) {
        let mut at = 0;
        for (_, file) in self.results.with_text() {
            let lines = &mut kept[at + 1..at + 1 + file.lines.len()];
            let matches: Vec<usize> = (0..lines.len()).filter(|line| file.lines[*line].is_match).collect();
            let own: Vec<usize> = (0..lines.len()).filter(|line| lines[*line] && !file.lines[*line].is_match).collect();
            for line in own {
                let after = matches.partition_point(|other| *other < line);
                let beside = &matches[after.saturating_sub(1)..matches.len().min(after + 1)];
                let nearest = beside.iter().min_by_key(|other| file.lines[**other].number.abs_diff(file.lines[line].number));
                nearest.into_iter().for_each(|other| lines[*other] = true);
            }
            let lines = &mut kept[at + 1..at + 1 + file.lines.len()];
            if self.results.matches() <= FEW_MATCHES {
                matches.into_iter().for_each(|line| lines[line] = true);
            }
            kept[at] = lines.contains(&true);
            at += 1 + file.lines.len();
        }
    }

    fn named(&self, _: &FocusQuestion) -> Vec<Header> {
        Vec::new() // a search has found its names
    }

    fn definitions(&self) -> Vec<Definition> {
        Vec::new()
    }

    /// The likeliest matches: a wrong "none" would cost another call.
    fn outline(&self, scores: &LineScores, mentioned: &[usize]) -> Vec<bool> {
        let best = best_first(&scores.keep, (0..self.lines.len()).filter(|line| self.can_pick(*line)));
        let mut kept = vec![false; self.lines.len()];
        let mentioned = mentioned.iter().copied().filter(|line| self.can_pick(*line));
        best.into_iter().take(LIKELIEST).chain(mentioned).for_each(|line| kept[line] = true);
        self.complete(&mut kept);
        kept
    }

    /// Headings stand and fall with their lines.
    fn can_pick(&self, line: usize) -> bool {
        !self.is_heading[line]
    }

    fn view(&self, kept: &[bool], _: &[Pointer]) -> String {
        self.results.page(kept, usize::MAX).body
    }

    fn cost(&self, kept: &[bool], _: &[Pointer]) -> usize {
        let page = self.results.page(kept, usize::MAX);
        page.length + if page.gaps > 0 { HEADER } else { 0 }
    }

    fn room(&self, most: usize) -> usize {
        room(most)
    }
}

/// Characters that lines and gaps may take in a result of at most `most`.
fn room(most: usize) -> usize {
    most - RESERVE.min(most / 2)
}

/// A result while it is written.
#[derive(Default)]
struct Page<'a> {
    body: String,
    length: usize,
    budget: usize,
    /// Characters of file names in one gap.
    names: usize,
    /// Whether something did not fit.
    full: bool,
    /// Whether stretches of lines are separated, as they are when there is context.
    separate: bool,
    shown: usize,
    shown_files: usize,
    /// Files left out since the last one shown.
    left_out: Vec<&'a FileMatches>,
    gaps: usize,
}

impl<'a> Page<'a> {
    /// Adds lines that are shown, if they fit.
    fn push(&mut self, text: &str) -> bool {
        let length = text.chars().count();
        self.full |= self.length + length > self.budget;
        if !self.full {
            self.write(text, length);
        }
        !self.full
    }

    /// Adds a gap; there are few of them once nothing more fits, and room is set aside for those.
    fn gap(&mut self, text: &str) {
        self.write(text, text.chars().count());
        self.gaps += 1;
    }

    fn write(&mut self, text: &str, length: usize) {
        self.length += length;
        self.body.push_str(text);
    }

    /// Adds a file's lines; `kept` has a flag for its heading and one for each line.
    fn add_file(&mut self, file: &'a FileMatches, kept: &[bool]) {
        if !kept.contains(&true) || self.full {
            return self.left_out.push(file);
        }
        self.close_gap();
        let blank = if self.body.is_empty() { "" } else { "\n" };
        if !self.push(&format!("{blank}{}\n", file.name())) {
            return self.left_out.push(file);
        }
        self.shown_files += 1;
        let (mut seen, mut last, mut within) = (0, None, None);
        for piece in pieces(&kept[1..]) {
            match piece {
                Piece::Gap(lines) if !self.full => {
                    seen += file.lines[lines.clone()].iter().filter(|line| line.is_match).count();
                    self.gap(&file.gap(lines, WHEREABOUTS.min(self.names / 4)));
                    last = None;
                }
                Piece::Gap(_) => {}
                Piece::Lines(lines) => {
                    for (i, line) in lines.clone().zip(&file.lines[lines.clone()]) {
                        let separator = if self.separate && last.is_some_and(|last| last + 1 != line.number) { "--\n" } else { "" };
                        let begins = last.is_none_or(|last| last + 1 != line.number);
                        let label = label(&file.lines[i..lines.end], begins).filter(|own| within != Some(*own));
                        let said = label.map_or_else(String::new, |own| format!("in {} {}\n", own.name, numbers(0, &own.lines)));
                        if !self.push(&format!("{separator}{said}{}", line.render())) {
                            break;
                        }
                        within = label.or(within);
                        last = Some(line.number);
                        seen += usize::from(line.is_match);
                        self.shown += usize::from(line.is_match);
                    }
                }
            }
        }
        if seen < file.matches {
            self.full = true; // matches without text follow only where there was no more room for text
            self.gap(&format!("{MARKER} {} more here\n", counted(file.matches - seen, "match")));
        }
    }

    /// Writes the gap for the files left out since the last one shown.
    fn close_gap(&mut self) {
        let files = std::mem::take(&mut self.left_out);
        if files.is_empty() {
            return;
        }
        let blank = if self.body.is_empty() { "" } else { "\n" };
        self.gap(&format!("{blank}{MARKER} {}\n", summary(&files, self.names)));
    }
}

/// The definition that is to be named before the first of these lines: that of a match, or, where lines that follow each other begin, of the first
/// match among them.
fn label(lines: &[FoundLine], begins: bool) -> Option<&Within> {
    let mut run = lines.iter().zip(lines[0].number..).take_while(|(line, number)| line.number == *number).map(|(line, _)| line);
    let first = if begins { run.find(|line| line.is_match) } else { run.next().filter(|line| line.is_match) };
    // Above context of something else it would say what is not so.
    first?.within.as_deref().filter(|own| own.lines.contains(&(lines[0].number - 1)))
}

/// `7 matches in 3 files: a.rs (4), src/ (3)`, with names of at most so many characters.
fn summary(files: &[&FileMatches], room: usize) -> String {
    let matches: usize = files.iter().map(|file| file.matches).sum();
    let (mut names, mut named, mut length) = (Vec::new(), 0, 0);
    for Place { name, matches, files, lines } in places(files) {
        let lines = whereabouts(&lines, (room / 8).min(WHEREABOUTS / 2));
        let name = format!("{name} ({matches}{lines})");
        length += name.chars().count();
        if length > room {
            break;
        }
        names.push(name);
        named += files;
    }
    let named = match (names.is_empty(), files.len() - named) {
        (true, _) => String::new(),
        (false, 0) => format!(": {}", names.join(", ")),
        (false, more) => format!(": {} and {} more", names.join(", "), counted(more, "file")),
    };
    format!("{} in {}{named}", counted(matches, "match"), counted(files.len(), "file"))
}

/// Where files of a gap are, and how many matches are there.
struct Place<'a> {
    name: Cow<'a, str>,
    matches: usize,
    files: usize,
    /// The matches, of a file by itself.
    lines: Vec<&'a FoundLine>,
}

/// Few files by themselves, more of them by their directories, to be searched one by one.
fn places<'a>(files: &[&'a FileMatches]) -> Vec<Place<'a>> {
    let (mut places, mut at): (Vec<Place<'a>>, HashMap<Cow<'a, str>, usize>) = Default::default();
    for file in files {
        let name = file.name();
        let directory = || name.rfind('/').map_or_else(|| name.clone(), |slash| Cow::Owned(name[..=slash].to_owned()));
        let name = if files.len() <= NAMED { name.clone() } else { directory() };
        let place = *at.entry(name).or_insert_with_key(|name| {
            let own = if files.len() <= NAMED { file.lines.iter().filter(|line| line.is_match).collect() } else { Vec::new() };
            places.push(Place { name: name.clone(), matches: 0, files: 0, lines: own });
            places.len() - 1
        });
        let place = &mut places[place];
        (place.matches, place.files) = (place.matches + file.matches, place.files + 1);
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, lines: &[(usize, bool)]) -> FileMatches {
        let found = lines.iter().map(|(number, is_match)| FoundLine::new(*number, "text\n", *is_match, 0..0)).collect();
        FileMatches {
            path: path.to_owned(),
            lines: found,
            matches: lines.iter().filter(|(_, is_match)| *is_match).count(),
            ..FileMatches::default()
        }
    }

    #[test]
    fn results_look_as_ripgrep_shows_them() {
        let results = Results::new(vec![file("a.rs", &[(1, true), (2, false), (9, true)]), file("b.rs", &[(4, true)])]);
        assert_eq!(
            results.render("\"t\"", &Decision::Whole, Unshown::default(), &[], 20_000),
            "a.rs\n1:text\n2-text\n--\n9:text\n\nb.rs\n4:text\n"
        );
    }

    #[test]
    fn gaps_say_which_matches_are_left_out_of_which_files() {
        let results = Results::new(vec![
            file("a.rs", &[(1, true), (5, true), (9, true)]),
            file("b.rs", &[(4, true)]),
            file("c.rs", &[(2, true), (3, true)]),
            file("d.rs", &[(7, true)]),
            FileMatches { path: "z.rs".to_owned(), matches: FEW_MATCHES, ..FileMatches::default() },
        ]);
        let rows = results.material();
        let mut kept: Vec<bool> = (0..rows.lines.len()).map(|i| i == 1 || i == 10).collect();
        rows.complete(&mut kept);
        let text = |doubtful: bool| {
            let view = View { kept: kept.clone(), pointers: Vec::new(), doubtful, note: None };
            results.render("\"t\"", &Decision::Partial(view), Unshown::default(), &[], 20_000)
        };
        assert!(text(true).starts_with("\"t\": 2 of 47 matches, in 2 of 5 files, which may not answer the question. Only the first 7"));
        let mut more = Results::new(vec![file("a.rs", &[(1, true), (5, true)])]);
        more.files[0].matches = 9;
        let view = View { kept: vec![true, true, false], pointers: Vec::new(), doubtful: false, note: None };
        let more = more.render("\"t\"", &Decision::Partial(view), Unshown::default(), &[], 20_000);
        assert!(more.starts_with("\"t\": 1 of 9 matches, in 1 of 1 file. Only the first 2 were looked at. "), "{more}");
        assert_eq!(
            text(false),
            "\"t\": 2 of 47 matches, in 2 of 5 files. Only the first 7 were looked at. ⋮ = matches left out; a narrower search (path, glob, a longer \
             pattern) shows them.\na.rs\n1:text\n⋮ 5-9: 2 matches: 5 9\n\n⋮ 3 matches in 2 files: b.rs (1: 4), c.rs (2: 2 3)\n\nd.rs\n7:text\n\n\
             ⋮ 40 matches in 1 file: z.rs (40)\n"
        );
    }

    #[test]
    fn a_gap_over_many_files_names_their_directories() {
        let mut files: Vec<_> = (0..9).map(|i| file(&format!("src/a/{i}.rs"), &[(1, true), (2, true)])).collect();
        files.extend([file("src/b/x.rs", &[(1, true)]), file("top.rs", &[(1, true)]), file("z.rs", &[(1, true)])]);
        let results = Results::new(files);
        let mut kept = vec![false; results.material().lines.len()];
        let end = kept.len();
        kept[end - 2..].fill(true);
        let view = View { kept, pointers: Vec::new(), doubtful: false, note: None };
        let text = results.render("\"t\"", &Decision::Partial(view), Unshown::default(), &[], 20_000);
        assert!(text.ends_with("\n⋮ 20 matches in 11 files: src/a/ (18), src/b/ (1), top.rs (1)\n\nz.rs\n1:text\n"), "{text}");
    }

    #[test]
    fn context_brings_its_match_and_headings_are_not_picked() {
        let results = Results::new(vec![file("a.rs", &[(1, true), (5, true), (6, false)])]);
        let rows = results.material();
        assert!(!rows.can_pick(0) && rows.can_pick(1));
        let mut kept = vec![false, false, false, true];
        rows.complete(&mut kept);
        assert_eq!(kept, [true; 4], "few matches are all shown");
        let many = FileMatches { path: "z.rs".to_owned(), matches: FEW_MATCHES, ..FileMatches::default() };
        let results = Results::new(vec![file("a.rs", &[(1, true), (5, true), (6, false)]), many]);
        let mut kept = vec![false, false, false, true];
        results.material().complete(&mut kept);
        assert_eq!(kept, [true, false, true, true]);
    }

    #[test]
    fn runs_of_matches_say_which_definition_they_are_in() {
        let mut found = file("a.rs", &[(3, false), (4, true), (5, true), (9, true), (30, true), (31, true)]);
        let within = |name: &str, lines: Range<usize>| Some(Arc::new(Within { name: name.to_owned(), lines }));
        for (line, own) in [(0, within("A.f", 1..6)), (1, within("A.f", 1..6)), (2, within("A.f", 1..6)), (3, within("A", 0..20))] {
            found.lines[line].within = own;
        }
        found.lines[5].within = within("g", 29..40);
        let text = Results::new(vec![found]).render("\"t\"", &Decision::Whole, Unshown::default(), &[], 20_000);
        assert_eq!(text, "a.rs\nin A.f 2-6\n3-text\n4:text\n5:text\n--\nin A 1-20\n9:text\n--\n30:text\nin g 30-40\n31:text\n");
    }

    #[test]
    fn long_lines_and_paths_stay_within_the_limit() {
        let wide = |i: usize| FileMatches {
            path: "d/".repeat(1500) + &i.to_string(),
            lines: vec![FoundLine::new(1, &"x".repeat(9000), true, 0..1)],
            matches: 1,
            ..FileMatches::default()
        };
        for files in [9, 10, 11, 60] {
            let results = Results::new((0..files).map(wide).collect());
            for most in [1000, 5000, 20_000] {
                let text = results.render("\"x\"", &Decision::Whole, Unshown::default(), &[], most);
                assert!(text.chars().count() <= most && text.contains(" more"), "{files} files, {most}: {}", text.chars().count());
            }
        }
    }

    #[test]
    fn files_alone_are_listed_with_counts_as_many_as_fit() {
        let results = Results::new((0..400).map(|i| file(&format!("src/{i}.rs"), &[(1, true), (2, true)])).collect());
        let (all, remark) = results.list("\"t\"", false, Unshown::default(), 20_000);
        assert!(all.starts_with("src/0.rs:2\nsrc/1.rs:2\n") && all.ends_with("src/399.rs:2\n") && remark.is_none());
        assert!(results.list("\"t\"", true, Unshown::default(), 20_000).0.starts_with("src/0.rs\nsrc/1.rs\n"));
        let (cut, remark) = results.list("\"t\"", false, Unshown { failed: 1, hidden: 0 }, 2000);
        let left = 400 - cut.lines().count();
        assert_eq!(
            remark.as_deref(),
            Some(&*format!(
                "\"t\": 800 matches in 400 files; left out: {} matches in {left} files: src/ ({}); a narrower search (path, glob, a longer pattern) \
                 shows them; 1 path could not be read.",
                2 * left,
                2 * left
            ))
        );
    }

    #[test]
    fn a_result_that_does_not_fit_counts_the_rest() {
        let many: Vec<_> = (1..400).map(|number| (number, true)).collect();
        let results = Results::new(vec![file("a.rs", &many), file("b.rs", &[(4, true)])]);
        let text = results.render("\"t\"", &Decision::Whole, Unshown::default(), &[], 3000);
        assert!(text.chars().count() <= 3000, "{}", text.len());
        assert!(text.contains("more here") && text.contains("b.rs (1: 4)"), "{text}");
    }
}
