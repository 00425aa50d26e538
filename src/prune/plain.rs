//! Texts without a grammar: which lines stand under which, by indentation, by section, or as version control prints them.

use std::ops::Range;

use super::structure::Header;
use super::{indent, records};
use crate::workspace::notebook::{HEADING, path_of_cells};

/// What version control prints is known by one of its first lines, so many.
const FIRST: usize = 100;
/// Changed lines in a row, at most, that are shown together: what is taken out and what comes in its place.
const LONGEST_CHANGE: usize = 12;
/// Lines at the head of a record, at most, that say what it is: name, version, source.
const LONGEST_RECORD: usize = 3;
/// Marks of a line that says what went wrong.
const ERRORS: [&str; 9] = ["error:", "Error:", "ERROR", "error[", "error TS", "fatal", "FATAL", "FAILED", "panicked at"];
/// Words of a question that asks for such lines, or their beginnings.
const ASKS_FOR_ERRORS: [&str; 5] = ["error", "fail", "crash", "exception", "cause"];

/// How lines of such a text belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Headings in brackets, as in TOML; those in two head records, as in lock files.
    Sections,
    /// Commits, files and hunks, as `git log -p` and `diff` print them.
    Changes,
    /// Cells of a notebook, each below a heading.
    Cells,
    /// Lines belong to the nearest line before them that is indented less, and to the heading of their record.
    Indentation,
}

impl Form {
    /// By the path, and where that does not tell by what is in the lines.
    pub fn of(path: &str, lines: &[&str]) -> Self {
        let first = || lines.iter().take(FIRST);
        if path_of_cells(path).is_some() {
            Self::Cells
        } else if [".toml", ".ini", ".cfg", ".conf"].iter().any(|end| path.ends_with(end))
            || path.ends_with(".lock") && first().any(|line| line.starts_with("[["))
        {
            Self::Sections
        } else if (0..lines.len().min(FIRST)).any(|line| change(lines, line).is_some()) {
            Self::Changes
        } else {
            Self::Indentation
        }
    }

    /// For each line, the line that it stands under.
    pub fn parents(self, lines: &[&str]) -> Vec<Option<usize>> {
        let mut open: Vec<(usize, usize)> = Vec::new(); // (line, level)
        let headings = if matches!(self, Self::Changes | Self::Cells) { Vec::new() } else { records::levels(lines) };
        let level = |line: usize| match self {
            Self::Cells if lines[line].starts_with(HEADING) => 0,
            Self::Cells => indent(lines[line]) + 1,
            Self::Changes => change(lines, line).unwrap_or(usize::MAX),
            Self::Sections if lines[line].starts_with('[') => records::DEEPEST,
            Self::Sections | Self::Indentation => headings[line].unwrap_or(records::DEEPEST + 1 + indent(lines[line])),
        };
        let mut out = Vec::with_capacity(lines.len());
        for (i, line) in lines.iter().enumerate() {
            if line.trim().is_empty() {
                out.push(None);
                continue;
            }
            let own = level(i);
            while open.pop_if(|(_, level)| *level >= own).is_some() {}
            out.push(open.last().map(|(line, _)| *line));
            if own != usize::MAX {
                open.push((i, own));
            }
        }
        out
    }

    /// Extends `kept` to the lines that kept ones stand under, to what stack traces say went wrong, and to all of a change and the head of a record
    /// of which any line is kept.
    pub fn complete(self, lines: &[&str], kept: &mut [bool]) {
        for trace in traces(lines) {
            if kept[trace.lines.clone()].contains(&true) {
                trace.telling.into_iter().for_each(|line| kept[line] = true);
            }
        }
        let told_with: Vec<(Range<usize>, Range<usize>)> = match self {
            Self::Changes => changes(lines).into_iter().map(|run| (run.clone(), run)).collect(),
            Self::Sections => locked(lines),
            Self::Indentation | Self::Cells => Vec::new(),
        };
        for (any, told) in told_with {
            if kept[any].contains(&true) {
                kept[told].fill(true);
            }
        }
        for (document, told) in records::documents(lines) {
            if kept[document].contains(&true) {
                told.into_iter().for_each(|line| kept[line] = true);
            }
        }
        let parents = self.parents(lines);
        let names = records::names(lines, &parents);
        let mut told = vec![false; kept.len()];
        for i in (0..kept.len()).rev().filter(|i| kept[*i]).collect::<Vec<_>>() {
            let mut up = parents[i];
            while let Some(line) = up.filter(|line| !told[*line]) {
                (told[line], kept[line]) = (true, true);
                if let Some(name) = names.get(&line) {
                    kept[*name] = true;
                }
                up = parents[line];
            }
        }
    }
}

/// How deep a line of what version control prints stands, if others stand under it.
fn change(lines: &[&str], line: usize) -> Option<usize> {
    let (text, next) = (lines[line], lines.get(line + 1).copied().unwrap_or_default());
    let is_commit =
        |rest: &str| rest.split_whitespace().next().is_some_and(|hash| hash.len() >= 7 && hash.bytes().all(|b| b.is_ascii_hexdigit()));
    if text.strip_prefix("commit ").is_some_and(is_commit) {
        Some(0)
    } else if ["diff --git ", "diff --cc "].iter().any(|start| text.starts_with(start))
        || text.starts_with("diff -") && next.starts_with("--- ")
    {
        Some(1)
    } else if text.starts_with("+++ ") && line > 0 && lines[line - 1].starts_with("--- ") {
        Some(2)
    } else if text.starts_with("@@ -") || text.starts_with("@@@ -") {
        Some(3)
    } else {
        None
    }
}

/// The short runs of changed lines in hunks, in order.
fn changes(lines: &[&str]) -> Vec<Range<usize>> {
    let (mut found, mut in_hunk, mut start) = (Vec::new(), false, 0);
    for (i, line) in lines.iter().enumerate() {
        let changed = in_hunk && line.starts_with(['+', '-']);
        if !changed {
            found.extend((start < i).then_some(start..i));
            start = i + 1;
            in_hunk = line.starts_with("@@") || in_hunk && line.starts_with([' ', '\\', '\n', '\r']);
        }
    }
    found.extend((start < lines.len()).then_some(start..lines.len()));
    found.retain(|range| range.len() <= LONGEST_CHANGE);
    found
}

/// The records of a lock file, each with its head: `[[package]]` and the values below it, up to its first list.
fn locked(lines: &[&str]) -> Vec<(Range<usize>, Range<usize>)> {
    let starts: Vec<usize> = (0..lines.len()).filter(|line| lines[*line].starts_with("[[")).collect();
    let ends = starts.iter().skip(1).copied().chain([lines.len()]);
    let is_value = |line: &&&str| line.contains(" = ") && !line.trim_end().ends_with(['[', '{']);
    let head = |start: usize| start..start + 1 + lines[start + 1..].iter().take(LONGEST_RECORD).take_while(is_value).count();
    starts.iter().zip(ends).map(|(start, end)| (*start..end, head(*start))).collect()
}

/// The heads of the records of a lock file that are called what the question names.
pub fn records_asked_for(lines: &[&str], question: &str) -> Vec<Header> {
    let words: Vec<&str> = question.split(|c: char| c.is_whitespace() || "\"'`,;:?!()".contains(c)).collect();
    let name = |line: &usize| lines[*line].trim_end().strip_prefix("name = \"").and_then(|name| name.strip_suffix('"'));
    let is_named = |head: &Range<usize>| head.clone().any(|line| name(&line).is_some_and(|name| words.contains(&name)));
    let heads = locked(lines).into_iter().map(|(_, head)| head).filter(is_named);
    heads.map(|head| Header { rows: head.clone(), whole: head, doc: 0..0, name: String::new(), own: String::new(), level: 0 }).collect()
}

/// A stack trace.
struct Trace {
    lines: Range<usize>,
    /// Those of its lines that say what went wrong.
    telling: Vec<usize>,
}

/// Python's tracebacks, each with the line after its frames, and what Java and JavaScript print, each with the line before its frames and all
/// causes.
fn traces(lines: &[&str]) -> Vec<Trace> {
    let mut found = Vec::new();
    let mut i = 0;
    while i < lines.len() {
        let begins = lines[i].trim_start().starts_with("Traceback (most recent call last)");
        let frames = |goes_on: &dyn Fn(&str) -> bool| lines[i + 1..].iter().take_while(|line| goes_on(line)).count();
        let end = if begins {
            let end = (i + 2 + frames(&|line| line.trim().is_empty() || indent(line) > indent(lines[i]))).min(lines.len());
            found.push(Trace { lines: i..end, telling: vec![i, end - 1] });
            end
        } else {
            let end = i
                + 1
                + if lines.get(i + 1).is_some_and(|line| is_frame(line)) { frames(&|line| is_frame(line) || is_cause(line)) } else { 0 };
            let telling = (i..end).filter(|line| *line == i || is_cause(lines[*line])).collect();
            found.extend((end > i + 1).then_some(Trace { lines: i..end, telling }));
            end
        };
        i = end;
    }
    found
}

/// `    at a.b.C.d(C.java:12)`, `    at f (/a/b.js:1:2)`
fn is_frame(line: &str) -> bool {
    let text = line.trim();
    indent(line) > 0 && text.strip_prefix("at ").is_some_and(|place| place.ends_with(')') || place.contains(':'))
        || text.starts_with("... ")
}

fn is_cause(line: &str) -> bool {
    ["Caused by: ", "Suppressed: "].iter().any(|start| line.trim_start().starts_with(start))
}

/// The lines that say what went wrong, if that is what is asked for.
pub fn errors_asked_for(lines: &[&str], question: &str) -> Vec<usize> {
    let asked = question.split_whitespace().map(str::to_lowercase).any(|word| ASKS_FOR_ERRORS.iter().any(|start| word.starts_with(start)));
    let says = |line: &usize| ERRORS.iter().any(|mark| lines[*line].contains(mark)) || is_cause(lines[*line]);
    if asked { (0..lines.len()).filter(says).collect() } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completed(path: &str, lines: &[&str], picked: &[usize]) -> Vec<usize> {
        let mut kept: Vec<bool> = (0..lines.len()).map(|line| picked.contains(&line)).collect();
        Form::of(path, lines).complete(lines, &mut kept);
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
    fn a_stack_trace_says_all_its_causes() {
        let log = [
            "12:00 ERROR request failed",
            "a.OrderException: no order",
            "\tat a.B.c(B.java:12)",
            "\tat a.B.d(B.java:13)",
            "Caused by: b.PoolException: no connection",
            "\tat b.C.e(C.java:1)",
            "\t... 12 more",
            "Caused by: java.net.ConnectException: refused",
            "\tat java.net.f(Net.java)",
            "12:01 INFO next",
        ];
        assert_eq!(completed("log.txt", &log, &[3]), [1, 3, 4, 7]);
        assert_eq!(completed("log.txt", &log, &[9]), [9]);
        assert_eq!(errors_asked_for(&log, "What is the root cause?"), [0, 4, 7]);
        assert!(errors_asked_for(&log, "Which request is next?").is_empty());
    }

    #[test]
    fn a_change_comes_with_its_commit_its_file_and_its_hunk() {
        let log = [
            "commit 0123abc4",
            "Author: A",
            "    a message",
            "diff --git a/x.py b/x.py",
            "--- a/x.py",
            "+++ b/x.py",
            "@@ -1,2 +1,2 @@",
            "-a = 1",
            "+a = 2",
            "commit 0123abc5",
            "    another",
        ];
        assert_eq!(completed("stdin", &log, &[8]), [0, 3, 5, 6, 7, 8]);
        assert_eq!(completed("stdin", &log, &[10]), [9, 10]);
    }

    #[test]
    fn a_short_change_is_shown_whole() {
        let diff = ["diff --git a/x b/x\n", "--- a/x\n", "+++ b/x\n", "@@ -1,4 +1,4 @@\n", " a\n", "-b\n", "-c\n", "+d\n", " e\n", "-f\n"];
        assert_eq!(completed("stdin", &diff, &[7]), [0, 2, 3, 5, 6, 7]);
        assert_eq!(completed("stdin", &diff, &[4]), [0, 2, 3, 4]);
        assert_eq!(completed("stdin", &diff, &[9]), [0, 2, 3, 9]);
        let long = [&diff[..4], &["+x\n"; LONGEST_CHANGE + 1]].concat();
        assert_eq!(completed("stdin", &long, &[6]), [0, 2, 3, 6]);
    }

    #[test]
    fn a_locked_package_comes_with_its_version() {
        let lock = [
            "version = 4",
            "[[package]]",
            "name = \"a\"",
            "version = \"1.2\"",
            "dependencies = [",
            " \"b\",",
            "]",
            "[[package]]",
            "name = \"b\"",
        ];
        assert_eq!(completed("Cargo.lock", &lock, &[2]), [1, 2, 3]);
        assert_eq!(completed("Cargo.lock", &lock, &[5]), [1, 2, 3, 4, 5]);
        assert_eq!(completed("Cargo.lock", &lock, &[0, 8]), [0, 7, 8]);
        let asked = records_asked_for(&lock, "Which version of \"b\" is locked?");
        assert!(asked.len() == 1 && asked[0].whole == (7..9));
    }

    #[test]
    fn a_setting_comes_with_its_section() {
        let lines = ["name = 1", "[a]", "x = 1", "y = [", "  2,", "]", "[b]", "z = 3"];
        assert_eq!(completed("Cargo.toml", &lines, &[4]), [1, 3, 4]);
        assert_eq!(completed("Cargo.toml", &lines, &[0, 7]), [0, 6, 7]);
    }
}
