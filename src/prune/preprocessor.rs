//! Conditions of the C preprocessor. Their branches are alternatives that a grammar reads one after the other: a brace that both open and
//! that is closed once is an error to it, and whatever is around is lost.

use std::ops::Range;

/// What a line that begins with `#` says of conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Directive {
    /// `#if`, `#ifdef`, `#ifndef`
    If {
        /// `#if 0`: its first branch is no code.
        never: bool,
    },
    /// `#else`, `#elif` and its kin
    Else,
    /// `#endif`
    End,
    /// Any other.
    Other,
}

impl Directive {
    fn of(line: &str) -> Option<Self> {
        let rest = line.trim_start().strip_prefix('#')?.trim_start();
        let (word, rest) = rest.split_at(rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len()));
        Some(match word {
            "if" => Self::If { never: rest.split_whitespace().next() == Some("0") },
            "ifdef" | "ifndef" => Self::If { never: false },
            "else" | "elif" | "elifdef" | "elifndef" => Self::Else,
            "endif" => Self::End,
            _ => Self::Other,
        })
    }
}

/// Each line with the directive that it is the first line or a further one of.
fn directives<'a>(lines: impl Iterator<Item = &'a str>) -> impl Iterator<Item = (&'a str, Option<Directive>, bool)> {
    let mut open = None;
    lines.map(move |line| {
        let further = open.is_some();
        let directive = open.or_else(|| Directive::of(line));
        open = directive.filter(|_| line.trim_end().ends_with('\\'));
        (line, directive, further)
    })
}

/// What the last line of a branch ends with that consists of whole statements, members or comments.
const WHOLE: [char; 7] = [';', '{', '}', ',', ':', ')', '/'];

/// A condition whose branches are not whole: one opens or closes a brace that is closed or opened elsewhere, or stands within an expression.
struct Broken {
    /// Its lines, from `#if` to `#endif`.
    lines: Range<usize>,
    /// The branch that is read.
    read: Range<usize>,
}

/// The conditions that a grammar cannot read.
fn broken(text: &str) -> Vec<Broken> {
    struct Branch {
        /// The directive that opens it, and the line after that.
        directive: usize,
        begins: usize,
        /// Braces open at its end, and at least anywhere in it.
        open: isize,
        least: isize,
        /// The last character of its code.
        last: Option<char>,
    }
    impl Branch {
        fn is_whole(&self) -> bool {
            self.open == 0 && self.least == 0 && self.last.is_none_or(|last| WHOLE.contains(&last))
        }
    }
    struct Condition {
        begins: usize,
        never: bool,
        branches: Vec<Branch>,
    }
    let branch = |directive: usize| Branch { directive, begins: directive + 1, open: 0, least: 0, last: None };
    let (mut stack, mut found): (Vec<Condition>, Vec<Broken>) = (Vec::new(), Vec::new());
    for (i, (line, directive, further)) in directives(text.split_inclusive('\n')).enumerate() {
        match directive {
            Some(Directive::If { .. } | Directive::Else) if further => {
                stack.last_mut().and_then(|condition| condition.branches.last_mut()).into_iter().for_each(|branch| branch.begins = i + 1);
            }
            Some(_) if further => {}
            Some(Directive::If { never }) => stack.push(Condition { begins: i, never, branches: vec![branch(i)] }),
            Some(Directive::Else) => stack.last_mut().into_iter().for_each(|condition| condition.branches.push(branch(i))),
            Some(Directive::End) => {
                let Some(Condition { begins, never, branches }) = stack.pop() else { continue };
                let read = usize::from(never && branches.len() > 1);
                let ends = branches.get(read + 1).map_or(i, |next| next.directive);
                if !branches.iter().all(Branch::is_whole) {
                    found.push(Broken { lines: begins..i + 1, read: branches[read].begins..ends });
                }
                if let Some(outer) = stack.last_mut().and_then(|condition| condition.branches.last_mut()) {
                    outer.least = outer.least.min(outer.open + branches[read].least);
                    outer.open += branches[read].open;
                }
            }
            Some(Directive::Other) => {}
            None => {
                let Some(inside) = stack.last_mut().and_then(|condition| condition.branches.last_mut()) else { continue };
                inside.last = line.split("//").next().and_then(|code| code.trim_end().chars().next_back()).or(inside.last);
                for brace in braces(line) {
                    inside.open += brace;
                    inside.least = inside.least.min(inside.open);
                }
            }
        }
    }
    found
}

/// 1 for each brace that a line opens and -1 for each that it closes, outside of what is quoted.
fn braces(line: &str) -> impl Iterator<Item = isize> {
    let (mut quote, mut escaped) = (None, false);
    line.split("//").next().unwrap_or_default().chars().filter_map(move |c| {
        let was_escaped = escaped;
        escaped = c == '\\' && !was_escaped;
        match (quote, c) {
            (Some(open), c) => quote = Some(open).filter(|open| *open != c || was_escaped),
            (None, '"' | '\'') => quote = Some(c),
            (None, '{') => return Some(1),
            (None, '}') => return Some(-1),
            (None, _) => {}
        }
        None
    })
}

/// The text with spaces in place of the conditions that break what is around them, and of all their branches but one; none where there are no such
/// conditions. Every other byte stays where it is.
pub fn one_branch(text: &str) -> Option<String> {
    let broken = broken(text);
    if broken.is_empty() {
        return None;
    }
    let mut read = vec![true; text.split_inclusive('\n').count()];
    for Broken { lines, read: branch } in broken {
        read[lines.start..branch.start].fill(false);
        read[branch.end..lines.end].fill(false);
    }
    let mut out = String::with_capacity(text.len());
    for (line, read) in text.split_inclusive('\n').zip(read) {
        if read {
            out.push_str(line);
        } else {
            out.extend(line.bytes().map(|byte| if matches!(byte, b'\n' | b'\r') { char::from(byte) } else { ' ' }));
        }
    }
    Some(out)
}

/// Keeps the conditions around each kept line: what opens its branch, what opens the first one, and what closes them.
pub fn keep_conditions(lines: &[&str], kept: &mut [bool]) {
    struct Condition {
        /// What opens the first branch, and those that have a kept line.
        openers: Vec<usize>,
        /// What opens the branch that is read.
        branch: usize,
        /// Whether any branch has a kept line.
        wanted: bool,
    }
    let (mut open, mut shown): (Vec<Condition>, Vec<usize>) = (Vec::new(), Vec::new());
    for (i, (_, directive, further)) in directives(lines.iter().copied()).enumerate() {
        let directive = directive.filter(|_| !further);
        match (directive, open.last_mut()) {
            (Some(Directive::If { .. }), _) => open.push(Condition { openers: vec![i], branch: i, wanted: false }),
            (Some(Directive::Else), Some(condition)) => condition.branch = i,
            _ => {}
        }
        for condition in open.iter_mut().rev().take_while(|_| kept[i]) {
            let known = condition.openers.last() == Some(&condition.branch);
            if known && condition.wanted {
                break; // and so are those around it
            }
            condition.wanted = true;
            if !known {
                condition.openers.push(condition.branch);
            }
        }
        if directive == Some(Directive::End)
            && let Some(condition) = open.pop().filter(|condition| condition.wanted)
        {
            shown.extend(condition.openers);
            shown.push(i);
        }
    }
    shown.extend(open.into_iter().filter(|condition| condition.wanted).flat_map(|condition| condition.openers));
    for first in shown {
        let goes_on = lines[first..].iter().take_while(|line| line.trim_end().ends_with('\\')).count();
        kept[first..(first + goes_on + 1).min(lines.len())].fill(true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO_WAYS: &str = "#if A && \\\n    B\nif (a) {\n#elif C\nif (b) {\n#else\nif (c) {\n#endif\n  f();\n}\n";

    #[test]
    fn one_branch_has_one_brace_and_every_byte_in_its_place() {
        let lines: Vec<&str> = TWO_WAYS.lines().collect();
        let read = one_branch(TWO_WAYS).expect("conditions");
        assert_eq!(read.len(), TWO_WAYS.len());
        let read_lines: Vec<&str> = read.lines().collect();
        let code: Vec<usize> = (0..lines.len()).filter(|i| !read_lines[*i].trim().is_empty()).collect();
        assert_eq!(code, [2, 8, 9]);
        assert!(code.iter().all(|i| read_lines[*i] == lines[*i]));
        assert_eq!(one_branch("#define A 1\nint a;\n"), None);
        let never = one_branch("#if 0 // old\nint ä() {\n#else\nint b() {\n#endif\n").expect("conditions");
        assert_eq!(never.trim(), "int b() {");
    }

    #[test]
    fn branches_that_close_what_they_open_are_all_read() {
        let whole = "#ifdef A\nint f() { return '{'; }\n#else\nint f()\n{\n#if B\n  g(\"}\"); // }\n#endif\n}\n#endif\n";
        assert_eq!(one_branch(whole), None);
        let within = "int a =\n#ifdef A\n  A |\n#endif\n  0;\n";
        assert_eq!(one_branch(within).expect("conditions").split_whitespace().collect::<String>(), "inta=A|0;");
        let read = one_branch(&format!("{whole}{TWO_WAYS}#ifdef A\n}} else {{\n#endif\n")).expect("conditions");
        assert!(read.starts_with(whole) && read.trim_end().ends_with("} else {") && !read.contains("if (b)"), "{read}");
    }

    #[test]
    fn conditions_come_along_with_what_is_in_their_branches() {
        let lines: Vec<&str> = TWO_WAYS.lines().collect();
        let with = |picked: &[usize]| {
            let mut kept: Vec<bool> = (0..lines.len()).map(|i| picked.contains(&i)).collect();
            keep_conditions(&lines, &mut kept);
            (0..lines.len()).filter(|i| kept[*i]).collect::<Vec<_>>()
        };
        assert_eq!(with(&[2]), [0, 1, 2, 7]);
        assert_eq!(with(&[6]), [0, 1, 5, 6, 7]);
        assert_eq!(with(&[8]), [8]);
        assert_eq!(with(&[7]), [0, 1, 5, 7]);
        let mut kept = [false, true];
        keep_conditions(&["#ifdef A", "int a;"], &mut kept);
        assert_eq!(kept, [true, true]);
    }
}
