//! Conditions of the C preprocessor. Their branches are alternatives that a grammar reads one after the other: a brace that both open and
//! that is closed once is an error to it, and whatever is around is lost.

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
            "if" => Self::If { never: rest.trim() == "0" },
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

/// The text with spaces in place of the conditions and of all branches but the first of each, or none where it has no conditions. Every
/// other byte stays where it is.
pub fn one_branch(text: &str) -> Option<String> {
    struct Condition {
        read: bool,
        was_read: bool,
    }
    let mut open: Vec<Condition> = Vec::new();
    let (mut out, mut any) = (String::with_capacity(text.len()), false);
    for (line, directive, further) in directives(text.split_inclusive('\n')) {
        match directive.filter(|_| !further) {
            Some(Directive::If { never }) => open.push(Condition { read: !never, was_read: !never }),
            Some(Directive::Else) => {
                if let Some(condition) = open.last_mut() {
                    *condition = Condition { read: !condition.was_read, was_read: true };
                }
            }
            Some(Directive::End) => {
                open.pop();
            }
            Some(Directive::Other) | None => {}
        }
        let is_condition = directive.is_some_and(|directive| directive != Directive::Other);
        any |= is_condition;
        if is_condition || open.iter().any(|condition| !condition.read) {
            out.extend(line.bytes().map(|byte| if matches!(byte, b'\n' | b'\r') { char::from(byte) } else { ' ' }));
        } else {
            out.push_str(line);
        }
    }
    any.then_some(out)
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
        for condition in open.iter_mut().rev().filter(|_| kept[i]) {
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
        let never = one_branch("#if 0\nint ä;\n#else\nint b;\n#endif\n").expect("conditions");
        assert_eq!(never.trim(), "int b;");
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
