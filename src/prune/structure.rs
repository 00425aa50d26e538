//! Completion by syntax: whole statements, the headers around them, and what closes them.
//!
//! A line that is kept brings along every line of its statement and of the statements around it, except inside their containers (bodies,
//! cases, literals), where only children with kept lines stay, and what a kept comment is right above of. So the view still parses when each
//! gap is read as one statement.

use std::collections::HashMap;
use std::ops::Range;

use super::{Piece, Wanted, gaps, indent, pieces};
use crate::syntax::preprocessor::{Condition, conditions};
use crate::syntax::{Access, Definition, Kind, Names, Part, Stays, Syntax};

/// Rounds of completion; more than three are rare, and [`repair`] has the last word.
const ROUNDS: usize = 4;
/// Rounds of closing gaps around what does not parse, before the whole text is shown.
const REPAIRS: usize = 12;
/// Texts of more lines are not repaired.
const LONGEST_REPAIRED: usize = 20_000;
/// Definitions within definitions that have headers.
pub const LEVELS: usize = 3;

/// Extends `kept` to whole statements with their headers and closers.
pub fn complete(syntax: &Syntax, lines: &[&str], kept: &mut [bool]) {
    let conditions = if syntax.grammar.has_preprocessor() { conditions(lines) } else { Vec::new() };
    // A line that came along may also close or open something else, as `) {` does: then that is wanted too.
    for _ in 0..ROUNDS {
        let before = kept.to_vec();
        if !syntax.parts.is_empty() {
            visit(&syntax.parts, &Wanted::new(&before), kept);
        }
        keep_conditions(&conditions, kept);
        if before == kept {
            return;
        }
    }
}

fn keep(kept: &mut [bool], range: Range<usize>) {
    let end = range.end.min(kept.len());
    kept[range.start.min(end)..end].fill(true);
}

/// Completes a part that stays in the view: the first of `parts`, which the others are in.
fn visit(parts: &[Part], wanted: &Wanted, kept: &mut [bool]) {
    let (part, inner) = (parts[0], &parts[1..]);
    let lines = part.lines();
    match part.stays {
        Stays::Wanted if !wanted.any(&lines) => return,
        Stays::Ends => {
            keep(kept, lines.start..lines.start + 1);
            return keep(kept, lines.end.max(1) - 1..lines.end);
        }
        Stays::Parts | Stays::Wanted if !inner.is_empty() => {}
        _ => return keep(kept, lines),
    }
    let mut prefixes = Vec::new();
    let mut introduces = false; // whether the part before is a kept prefix of this one
    let mut says = None; // where a wanted comment ends, and what it is about begins
    let mut at = 0;
    while let Some(child) = inner.get(at) {
        let own = child.lines();
        let tree = &inner[at..at + 1 + child.within as usize];
        at += tree.len();
        let is_about = says == Some(own.start);
        let is_wanted = wanted.any(&own);
        says = (child.comment && (is_about || is_wanted)).then_some(own.end);
        let introduced = std::mem::replace(&mut introduces, child.prefix && is_wanted) || is_about && !child.comment;
        if child.optional && !introduced && !is_wanted {
            if child.prefix {
                prefixes.push(tree)
            } else {
                prefixes.clear()
            }
            continue;
        }
        for prefix in prefixes.drain(..) {
            visit(prefix, wanted, kept);
        }
        visit(tree, wanted, kept);
    }
}

/// Keeps the conditions around each kept line: what opens its branch, what opens the first one, and what closes them.
fn keep_conditions(conditions: &[Condition], kept: &mut [bool]) {
    let wanted = Wanted::new(kept);
    for Condition { branches, end, .. } in conditions {
        let last = branches.len() - 1;
        let closes = end.clone().unwrap_or(kept.len()..kept.len());
        let has_kept = |i: &usize| {
            let own = &branches[*i];
            wanted.any(&(own.opener.start..if *i == last { closes.end } else { own.lines.end })) // what closes it belongs to the last branch
        };
        let shown: Vec<usize> = (0..=last).filter(has_kept).collect();
        if !shown.is_empty() {
            shown.iter().chain([&0]).for_each(|i| kept[branches[*i].opener.clone()].fill(true));
            kept[closes].fill(true);
        }
    }
}

/// Closes gaps until the view, read as the text was, parses as well as it does; nothing can be said about a text that has errors itself, and
/// a text too large to parse again and again is left as it is.
pub fn repair(syntax: &Syntax, lines: &[&str], kept: &mut [bool], access: &Access<'_>) {
    if syntax.has_errors || lines.len() > LONGEST_REPAIRED {
        return;
    }
    for round in 0.. {
        let view = Placeheld::new(syntax, lines, kept);
        let Ok(Some(error)) = access.first_error(syntax.grammar, &view.text) else { return };
        if round == REPAIRS {
            return kept.fill(true);
        }
        let at = view.origin[error.min(view.origin.len() - 1)];
        let (before, after): (Vec<_>, Vec<_>) = gaps(kept).into_iter().partition(|gap| gap.start <= at);
        // The shorter one first; where that does not help, both.
        let mut nearest: Vec<_> = [before.last(), after.first()].into_iter().flatten().collect();
        nearest.sort_by_key(|gap| gap.len());
        nearest.truncate(if round < REPAIRS / 2 { 1 } else { 2 });
        nearest.into_iter().for_each(|gap| kept[gap.clone()].fill(true));
    }
}

/// Whether the view, read as the text was, parses without error when each gap is read as one statement.
pub fn parses(syntax: &Syntax, lines: &[&str], kept: &[bool], access: &Access<'_>) -> bool {
    let view = Placeheld::new(syntax, lines, kept);
    access.first_error(syntax.grammar, &view.text) == Ok(None)
}

/// The view with each gap read as one statement.
struct Placeheld {
    text: String,
    /// The line of the text that each row of the view stands for.
    origin: Vec<usize>,
}

impl Placeheld {
    fn new(syntax: &Syntax, lines: &[&str], kept: &[bool]) -> Self {
        let (mut text, mut origin) = (String::new(), Vec::new());
        for piece in pieces(kept) {
            match piece {
                Piece::Lines(range) => {
                    for i in range {
                        text.push_str(&syntax.line(i, lines[i]));
                        origin.push(i);
                    }
                }
                Piece::Gap(gap) => {
                    let first = gap.clone().find(|i| !lines[*i].trim().is_empty());
                    if let Some(first) = first.filter(|row| syntax.begins_at(*row)) {
                        text.push_str(&lines[first][..indent(lines[first])]);
                        text.push_str("...");
                    }
                    text.push('\n');
                    origin.push(gap.start);
                }
            }
        }
        origin.push(lines.len());
        Self { text, origin }
    }
}

/// The first lines of a definition that has a body.
pub struct Header {
    /// Where they are.
    pub rows: Range<usize>,
    /// All its lines.
    pub whole: Range<usize>,
    /// What is said of it: comments before it, or Python's docstring in its body.
    pub doc: Range<usize>,
    /// Its own name; empty if it has none.
    pub own: String,
    /// The same, after that of what it is in or says it belongs to where the text has several of its name: `Store.get`.
    pub name: String,
    /// How many definitions are around it.
    pub level: usize,
}

/// The headers of all definitions of more than a line, of the outer three levels, in order.
pub fn headers(syntax: &Syntax, lines: &[&str]) -> Vec<Header> {
    let names = Names::new(&syntax.definitions, lines);
    let shown = |it: &Definition| it.kind != Kind::Value && it.lines.len() > 1 && it.level < LEVELS;
    let shown: Vec<usize> = (0..syntax.definitions.len()).filter(|i| shown(&syntax.definitions[*i])).collect();
    let own = |i: usize| if syntax.definitions[i].name.is_some() { names.own(i) } else { "" }; // not that of the type of an `impl`
    let mut times: HashMap<&str, usize> = HashMap::new();
    shown.iter().for_each(|i| *times.entry(own(*i)).or_default() += 1);
    let header = |i: usize| {
        let it = &syntax.definitions[i];
        let name = if own(i).is_empty() || times[own(i)] == 1 { own(i).to_owned() } else { names.full(i) };
        Header {
            rows: it.header.clone(),
            whole: it.lines.clone(),
            doc: it.doc.clone().unwrap_or_default(),
            own: own(i).to_owned(),
            name,
            level: it.level,
        }
    };
    shown.into_iter().map(header).collect()
}

#[cfg(test)]
mod tests {
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::syntax::{Language, Reader, grammar};

    fn parses(syntax: &Syntax, lines: &[&str], kept: &[bool]) -> bool {
        super::parses(syntax, lines, kept, &Reader::unguarded().access(&CancellationToken::new()))
    }

    #[test]
    fn of_many_arguments_those_stay_that_are_wanted() {
        let text = format!("f(1)\ng(\n{})\n", (0..12).map(|i| format!("  a{i}={i},\n")).collect::<String>());
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let syntax = grammar::read(Language::Python, &text);
        let mut kept: Vec<bool> = (0..lines.len()).map(|line| line == 7).collect();
        complete(&syntax, &lines, &mut kept);
        assert_eq!((0..kept.len()).filter(|line| kept[*line]).collect::<Vec<_>>(), [1, 7, 14]);
        assert!(parses(&syntax, &lines, &kept));
    }

    #[test]
    fn a_view_is_read_as_its_file_was() {
        let text = "void f(void) {\n  call(a,\n#ifdef X\n       b,\n#else\n       c +\n#endif\n       d);\n}\n";
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let syntax = grammar::read(Language::C, text);
        let mut kept: Vec<bool> = (0..lines.len()).map(|line| line == 7).collect();
        complete(&syntax, &lines, &mut kept);
        assert_eq!(kept, [true, true, true, true, true, false, true, true, true]);
        assert!(parses(&syntax, &lines, &kept), "the branch that is left out was not read in the file either");
    }

    #[test]
    fn headers_are_those_of_definitions_of_more_than_a_line() {
        let text =
            "class A:\n    def f(self): pass\n    class B:\n        class C:\n            class D:\n                x = 1\nMAX = 3\n";
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let found = headers(&grammar::read(Language::Python, text), &lines);
        let found: Vec<_> = found.into_iter().map(|header| (header.rows, header.level)).collect();
        assert_eq!(found, [(0..1, 0), (2..3, 1), (3..4, 2)]);
    }

    const TWO_WAYS: &str = "#if A && \\\n    B\nif (a) {\n#elif C\nif (b) {\n#else\nif (c) {\n#endif\n  f();\n}\n";

    #[test]
    fn conditions_come_along_with_what_is_in_their_branches() {
        let lines: Vec<&str> = TWO_WAYS.lines().collect();
        let with = |picked: &[usize]| {
            let mut kept: Vec<bool> = (0..lines.len()).map(|i| picked.contains(&i)).collect();
            keep_conditions(&conditions(&lines), &mut kept);
            (0..lines.len()).filter(|i| kept[*i]).collect::<Vec<_>>()
        };
        assert_eq!(with(&[2]), [0, 1, 2, 7]);
        assert_eq!(with(&[6]), [0, 1, 5, 6, 7]);
        assert_eq!(with(&[8]), [8]);
        assert_eq!(with(&[7]), [0, 1, 5, 7]);
        let mut kept = [false, true];
        keep_conditions(&conditions(&["#ifdef A", "int a;"]), &mut kept);
        assert_eq!(kept, [true, true]);
    }
}
