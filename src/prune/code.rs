//! A file, or lines of one, as [`Material`]: completed by syntax where there is a grammar, by indentation where there is none.

use std::ops::Range;
use std::sync::OnceLock;

use tree_sitter::Tree;

use super::language::Language;
use super::select::is_structural;
use super::structure::Header;
use super::{Definition, FocusQuestion, Material, Pointer, indent, render, structure};
use crate::skim::{LineScores, best_first};

/// Lines of an outline, at most.
const LONGEST_OUTLINE: usize = 60;
/// Last lines that its outline has.
const LAST: usize = 5;
/// Likeliest lines shown with an outline.
const LIKELIEST: usize = 8;

/// Lines of a file.
pub struct Code<'a> {
    /// The text as far as it is known: what begins before the lines and ends after them says what they are.
    text: &'a [&'a str],
    /// Which of it the lines are.
    range: Range<usize>,
    /// 0-based number of the first of the lines.
    first: usize,
    syntax: Syntax,
    tree: OnceLock<Option<Tree>>,
}

/// How lines belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Syntax {
    Grammar(Language),
    /// Headings with `#`.
    Markdown,
    /// Headings in brackets, as in TOML.
    Sections,
    /// Lines belong to the nearest line before them that is indented less.
    Indentation,
}

impl<'a> Code<'a> {
    /// `path` only says the language; `first` is the 0-based number of the first line.
    pub fn new(path: &str, lines: &'a [&'a str], first: usize) -> Self {
        Self { first, ..Self::part(path, lines, 0..lines.len()) }
    }

    /// Some lines of a whole file.
    pub fn part(path: &str, text: &'a [&'a str], range: Range<usize>) -> Self {
        let syntax = match Language::of(path) {
            Some(language) => Syntax::Grammar(language),
            None if [".md", ".markdown", ".mdx"].iter().any(|end| path.ends_with(end)) => Syntax::Markdown,
            None if [".toml", ".ini", ".cfg", ".conf"].iter().any(|end| path.ends_with(end)) => Syntax::Sections,
            None => Syntax::Indentation,
        };
        Self { text, first: range.start, range, syntax, tree: OnceLock::new() }
    }

    fn tree(&self, language: Language) -> Option<&Tree> {
        self.tree.get_or_init(|| language.parse(&self.text.concat())).as_ref()
    }

    /// The headers of definitions that have any of the lines, as far as they have; rows count from the first line.
    fn own_headers(&self, tree: &Tree) -> Vec<Header> {
        let shown = &self.range;
        let own = |rows: &Range<usize>| {
            let row = |row: usize| row.clamp(shown.start, shown.end) - shown.start;
            row(rows.start)..row(rows.end)
        };
        let clip = |header: Header| Header {
            rows: own(&header.rows),
            whole: own(&header.whole),
            name: header.name.filter(|(line, _)| shown.contains(line)).map(|(line, bytes)| (line - shown.start, bytes)),
            level: header.level,
        };
        structure::headers(tree).into_iter().map(clip).filter(|header| !header.whole.is_empty()).collect()
    }

    /// For each line, the line that it stands under.
    fn parents(&self) -> Vec<Option<usize>> {
        let mut open: Vec<(usize, usize)> = Vec::new(); // (line, level)
        let mut fenced = false;
        let level = |line: &str, fenced: bool| match self.syntax {
            Syntax::Markdown if fenced => usize::MAX,
            Syntax::Markdown => match line.bytes().take_while(|byte| *byte == b'#').count() {
                0 => usize::MAX,
                depth => depth,
            },
            Syntax::Sections if line.starts_with('[') => 0,
            Syntax::Sections => indent(line) + 1,
            _ => indent(line),
        };
        let mut out = Vec::with_capacity(self.lines().len());
        for (i, line) in self.lines().iter().enumerate() {
            if line.trim().is_empty() {
                out.push(None);
                continue;
            }
            fenced ^= self.syntax == Syntax::Markdown && line.trim_start().starts_with("```");
            let own = level(line, fenced);
            while open.last().is_some_and(|(_, level)| *level >= own) {
                open.pop();
            }
            out.push(open.last().map(|(line, _)| *line));
            if own != usize::MAX {
                open.push((i, own));
            }
        }
        out
    }

    /// Headers of definitions, or what comes closest to them. Of too many definitions those come first that are in no other, then those that
    /// score best, with a line each.
    fn headers(&self, scores: &[f32]) -> Vec<bool> {
        if let Syntax::Grammar(language) = self.syntax
            && let Some(tree) = self.tree(language)
        {
            let mut headers = self.own_headers(tree);
            headers.retain(|header| !header.rows.is_empty());
            if headers.iter().map(|header| header.rows.len()).sum::<usize>() > LONGEST_OUTLINE {
                let score = |header: &Header| scores[header.rows.start];
                headers.sort_by(|a, b| a.level.cmp(&b.level).then(score(b).total_cmp(&score(a))));
                headers.truncate(LONGEST_OUTLINE);
                let line = |header: &Header| header.name.as_ref().map_or(header.rows.start, |(line, _)| *line); // not that of an annotation
                headers.iter_mut().for_each(|header| header.rows = line(header)..line(header) + 1);
            }
            if !headers.is_empty() {
                let mut kept = vec![false; self.lines().len()];
                headers.into_iter().for_each(|header| kept[header.rows].fill(true));
                return kept;
            }
        }
        // Headings in Markdown; elsewhere the least indented lines that others stand under, and the end, where logs and tables sum up
        let parents = self.parents();
        let mut kept = vec![false; parents.len()];
        let heads = parents.iter().flatten().filter(|line| parents[**line].is_none() || self.syntax == Syntax::Markdown);
        heads.for_each(|line| kept[*line] = true);
        let surplus: Vec<_> = (0..kept.len()).filter(|i| kept[*i]).skip(LONGEST_OUTLINE).collect();
        surplus.into_iter().for_each(|i| kept[i] = false);
        if matches!(self.syntax, Syntax::Indentation | Syntax::Sections) || !kept.contains(&true) {
            let end = kept.len();
            kept[end.saturating_sub(LAST)..].fill(true);
        }
        kept
    }
}

/// Python's tracebacks in a log, each with the line after its frames, which says what went wrong.
fn tracebacks<'a>(lines: &'a [&str]) -> impl Iterator<Item = Range<usize>> + 'a {
    let begins = |i: &usize| lines[*i].trim_start().starts_with("Traceback (most recent call last)");
    (0..lines.len()).filter(begins).map(move |start| {
        let frames = lines[start + 1..].iter().take_while(|line| line.trim().is_empty() || indent(line) > indent(lines[start])).count();
        start..(start + frames + 2).min(lines.len())
    })
}

impl Material for Code<'_> {
    fn lines(&self) -> &[&str] {
        &self.text[self.range.clone()]
    }

    fn complete(&self, kept: &mut [bool]) {
        if let Syntax::Grammar(language) = self.syntax
            && let Some(tree) = self.tree(language)
        {
            let mut all = vec![false; self.text.len()];
            all[self.range.clone()].copy_from_slice(kept);
            structure::complete(tree, &mut all);
            structure::repair(language, tree, self.text, &mut all);
            return kept.copy_from_slice(&all[self.range.clone()]);
        }
        for traceback in tracebacks(self.lines()).filter(|lines| kept[lines.clone()].contains(&true)).collect::<Vec<_>>() {
            (kept[traceback.start], kept[traceback.end - 1]) = (true, true);
        }
        let parents = self.parents();
        for i in (0..kept.len()).rev().filter(|i| kept[*i]).collect::<Vec<_>>() {
            let mut up = parents[i];
            while let Some(line) = up.filter(|line| !kept[*line]) {
                kept[line] = true;
                up = parents[line];
            }
        }
    }

    fn named(&self, question: &FocusQuestion) -> Vec<Header> {
        let names = question.names();
        let Syntax::Grammar(language) = self.syntax else { return Vec::new() };
        let Some(tree) = self.tree(language).filter(|_| !names.is_empty()) else { return Vec::new() };
        let mut headers = self.own_headers(tree);
        let text = |header: &Header| header.name.as_ref().and_then(|(line, bytes)| self.lines()[*line].get(bytes.clone()));
        headers.retain(|header| text(header).is_some_and(|name| names.contains(&name)));
        headers
    }

    fn definitions(&self) -> Vec<Definition> {
        let Syntax::Grammar(language) = self.syntax else { return Vec::new() };
        let headers = self.tree(language).map(|tree| self.own_headers(tree)).unwrap_or_default();
        let holds_no_other = |i: usize| headers.get(i + 1).is_none_or(|next: &Header| next.whole.start >= headers[i].whole.end);
        let definition = |Header { rows, whole, name, .. }: &Header| Definition {
            lines: whole.clone(),
            body: rows.end..whole.end,
            name: name.clone().and_then(|(line, bytes)| self.lines()[line].get(bytes).map(str::to_owned)),
        };
        (0..headers.len()).filter(|i| holds_no_other(*i)).map(|i| definition(&headers[i])).collect()
    }

    /// The headers, and the likeliest lines all the same: a wrong "none" would cost another call.
    fn outline(&self, scores: &LineScores) -> Vec<bool> {
        let mut kept = self.headers(&scores.keep);
        let likely = (0..kept.len()).filter(|line| self.can_pick(*line) && scores.keep[*line] >= scores.thresholds.generous);
        best_first(&scores.keep, likely).into_iter().take(LIKELIEST).for_each(|line| kept[line] = true);
        kept
    }

    fn can_pick(&self, line: usize) -> bool {
        !is_structural(self.lines()[line])
    }

    fn view(&self, kept: &[bool], pointers: &[Pointer]) -> String {
        render::view(self.lines(), self.first, kept, pointers)
    }

    fn cost(&self, kept: &[bool], pointers: &[Pointer]) -> usize {
        render::cost(self.lines(), self.first, kept, pointers)
    }

    fn room(&self, most: usize) -> usize {
        render::room(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completed(path: &str, lines: &[&str], picked: &[usize]) -> Vec<usize> {
        let mut kept: Vec<bool> = (0..lines.len()).map(|line| picked.contains(&line)).collect();
        Code::new(path, lines, 0).complete(&mut kept);
        (0..lines.len()).filter(|line| kept[*line]).collect()
    }

    #[test]
    fn a_traceback_says_what_went_wrong() {
        let log = [
            "ok",
            "Traceback (most recent call last):",
            "  File \"a.py\", line 3",
            "    f()",
            "",
            "  File \"b.py\"",
            "KeyError: 'a'",
            "ok",
        ];
        assert_eq!(completed("log.txt", &log, &[3]), [1, 2, 3, 6]);
        assert_eq!(completed("log.txt", &log, &[0]), [0]);
        assert_eq!(completed("log.txt", &log[..4], &[1]), [1, 2, 3]);
    }

    #[test]
    fn a_setting_comes_with_its_section() {
        let lines = ["name = 1", "[a]", "x = 1", "y = [", "  2,", "]", "[b]", "z = 3"];
        assert_eq!(completed("Cargo.toml", &lines, &[4]), [1, 3, 4]);
        assert_eq!(completed("Cargo.toml", &lines, &[0, 7]), [0, 6, 7]);
    }
}
