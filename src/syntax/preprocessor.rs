//! Conditions of the C preprocessor, and those of C# and Swift. Their branches are alternatives that a grammar reads one after the other: a
//! brace that both open and that is closed once is an error to it, and whatever is around is lost.

use std::collections::HashMap;
use std::ops::Range;

/// What a line says of conditions.
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
    /// A further line of the directive before it.
    Further,
}

impl Directive {
    fn of(line: &str) -> Option<Self> {
        let rest = line.trim_start().strip_prefix('#')?.trim_start();
        let (word, rest) = rest.split_at(rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len()));
        Some(match word {
            "if" => Self::If { never: rest.split_whitespace().next() == Some("0") },
            "ifdef" | "ifndef" => Self::If { never: false },
            "else" | "elif" | "elseif" | "elifdef" | "elifndef" => Self::Else,
            "endif" => Self::End,
            _ => Self::Other,
        })
    }

    /// What each line is, where it is no code: `code` is what [`code`] leaves of the lines.
    fn of_all(lines: &[&str], code: &[String]) -> Vec<Option<Self>> {
        let mut goes_on = false;
        let of = |(line, code): (&&str, &String)| {
            let directive = if goes_on { Some(Self::Further) } else { Self::of(code) };
            goes_on = directive.is_some() && line.trim_end().ends_with('\\');
            directive
        };
        lines.iter().zip(code).map(of).collect()
    }
}

/// The lines without comments and without what is quoted. A quote ends with its line, as the apostrophe of a message has no other.
fn code(lines: &[&str]) -> Vec<String> {
    let mut in_comment = false;
    lines.iter().map(|line| code_of(line, &mut in_comment)).collect()
}

/// The code of a line; `in_comment` is whether a block comment is open before it, and then whether one is after it.
fn code_of(line: &str, in_comment: &mut bool) -> String {
    let (mut code, mut quote, mut rest) = (String::new(), None, line.chars());
    let mut word = None; // whether the word that the code ends in begins with a digit, if it ends in one
    let mut push = |c: char, code: &mut String| {
        let of_word = c.is_alphanumeric() || matches!(c, '_' | '\'');
        word = if of_word { word.or(Some(c.is_ascii_digit())) } else { None };
        code.push(c);
        word == Some(true)
    };
    let mut in_number = false;
    while let Some(c) = rest.next() {
        let next = rest.as_str().chars().next();
        if *in_comment {
            if c == '*' && next == Some('/') {
                rest.next();
                *in_comment = false;
            }
            continue;
        }
        match (quote, c, next) {
            (Some(_), '\\', _) => drop(rest.next()),
            (Some(open), c, _) if c != open => {}
            (Some(_), c, _) => {
                quote = None;
                in_number = push(c, &mut code);
            }
            (None, '/', Some('/')) => break,
            (None, '/', Some('*')) => {
                rest.next();
                *in_comment = true;
            }
            (None, c, _) => {
                quote = (c == '"' || c == '\'' && !in_number).then_some(c); // which parts digits in `1'000`
                in_number = push(c, &mut code);
            }
        }
    }
    code
}

/// What stands between two directives of a condition.
pub struct Branch {
    /// The lines of the directive that opens it.
    pub opener: Range<usize>,
    /// What follows, to the next directive.
    pub lines: Range<usize>,
}

/// A condition, from `#if` to `#endif` or to the end of the text.
pub struct Condition {
    /// Whether its first branch is no code.
    never: bool,
    /// One or more, in order.
    pub branches: Vec<Branch>,
    /// The lines of its `#endif`.
    pub end: Option<Range<usize>>,
}

impl Condition {
    /// A branch that begins with a directive.
    fn open(&mut self, opener: Range<usize>) {
        self.branches.push(Branch { lines: opener.end..opener.end, opener });
    }

    /// Ends the last branch before a line.
    fn close(&mut self, line: usize) {
        self.branches.last_mut().expect("it begins with one").lines.end = line;
    }

    /// Which branch is read where not all can be; none where the only one is no code.
    fn read(&self) -> Option<usize> {
        let read = usize::from(self.never);
        (read < self.branches.len()).then_some(read)
    }
}

/// All conditions, those that are in others before them.
pub fn conditions(lines: &[&str]) -> Vec<Condition> {
    conditions_of(&Directive::of_all(lines, &code(lines)))
}

fn conditions_of(directives: &[Option<Directive>]) -> Vec<Condition> {
    let (mut open, mut found): (Vec<Condition>, Vec<Condition>) = (Vec::new(), Vec::new());
    for (i, directive) in directives.iter().enumerate() {
        let own = || i..i + 1 + directives[i + 1..].iter().take_while(|next| **next == Some(Directive::Further)).count();
        match (directive, open.last_mut()) {
            (Some(Directive::If { never }), _) => {
                let mut condition = Condition { never: *never, branches: Vec::new(), end: None };
                condition.open(own());
                open.push(condition);
            }
            (Some(Directive::Else), Some(condition)) => {
                condition.close(i);
                condition.open(own());
            }
            (Some(Directive::End), Some(condition)) => {
                condition.close(i);
                condition.end = Some(own());
                found.extend(open.pop());
            }
            _ => {}
        }
    }
    open.iter_mut().for_each(|condition| condition.close(directives.len()));
    found.extend(open.into_iter().rev());
    found
}

/// What the last line of code ends with that is a whole statement or member.
const WHOLE: [char; 6] = [';', '{', '}', ',', ':', ')'];

/// What lines do to the braces around them.
#[derive(Clone, Copy, Default)]
struct Balance {
    /// Braces open at the end, and at least anywhere before.
    open: isize,
    least: isize,
}

impl Balance {
    fn then(&mut self, next: Self) {
        self.least = self.least.min(self.open + next.least);
        self.open += next.open;
    }
}

/// The conditions that a grammar cannot read: one of their branches opens or closes a brace that is closed or opened elsewhere, or stands
/// within an expression.
fn broken(lines: &[&str]) -> Vec<Condition> {
    let code = code(lines);
    let directives = Directive::of_all(lines, &code);
    let mut inner: HashMap<usize, (usize, Balance)> = HashMap::new(); // by first line: where it ends, and what the branch that is read does
    let mut found = Vec::new();
    for condition in conditions_of(&directives) {
        let Some(end) = condition.end.as_ref().map(|end| end.end) else { continue };
        let (mut whole, mut read) = (true, Balance::default());
        for (which, branch) in condition.branches.iter().enumerate() {
            let (mut balance, mut last, mut i) = (Balance::default(), None, branch.lines.start);
            while i < branch.lines.end {
                if let Some((end, within)) = inner.get(&i) {
                    balance.then(*within);
                    i = *end;
                    continue;
                }
                if directives[i].is_none() {
                    last = code[i].trim_end().chars().next_back().or(last);
                    braces(&code[i]).for_each(|open| balance.then(Balance { open, least: open.min(0) }));
                }
                i += 1;
            }
            whole &= balance.open == 0 && balance.least == 0 && last.is_none_or(|last| WHOLE.contains(&last));
            if condition.read() == Some(which) {
                read = balance;
            }
        }
        inner.insert(condition.branches[0].opener.start, (end, read));
        if !whole {
            found.push(condition);
        }
    }
    found
}

/// 1 for each brace that a line's code opens and -1 for each that it closes.
fn braces(code: &str) -> impl Iterator<Item = isize> {
    code.chars().filter_map(|c| match c {
        '{' => Some(1),
        '}' => Some(-1),
        _ => None,
    })
}

/// The lines of the conditions that break what is around them, but for those of one branch, one flag a line; none where there are no such
/// conditions.
pub fn unread(lines: &[&str]) -> Option<Vec<bool>> {
    let broken = broken(lines);
    if broken.is_empty() {
        return None;
    }
    let mut unread = vec![false; lines.len()];
    for condition in broken {
        let end = condition.end.as_ref().map_or(lines.len(), |end| end.end);
        let read = condition.read().map_or(end..end, |read| condition.branches[read].lines.clone());
        unread[condition.branches[0].opener.start..read.start].fill(true);
        unread[read.end..end].fill(true);
    }
    Some(unread)
}

/// As many spaces as a line has bytes, and what ends it.
pub fn blank(line: &str) -> String {
    line.bytes().map(|byte| if matches!(byte, b'\n' | b'\r') { char::from(byte) } else { ' ' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text with spaces in place of what is not read.
    fn one_branch(text: &str) -> Option<String> {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let unread = unread(&lines)?;
        Some(lines.iter().zip(unread).map(|(line, unread)| if unread { blank(line) } else { (*line).to_owned() }).collect())
    }

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
        let only = one_branch("#if 0\nint a() {\n#endif\nint b() {\n}\n").expect("conditions");
        assert_eq!(only.trim(), "int b() {\n}");
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
    fn what_is_in_comments_and_quotes_neither_opens_nor_closes_anything() {
        for code in [
            "/* It isn't {\n} */ int a = 1'000; f('}');\n",
            "f(\"// {\"); // }\n",
            "f('\\'', \"\\\"{\", u8'{'); /* } */\n",
            "/*\n#endif\n#if B\n*/ a();\n",
        ] {
            assert_eq!(one_branch(&format!("#if A\n{code}#endif\n")), None, "{code}");
        }
        for code in ["/* It isn't } */ {\n", "int a = 1'000; {\n", "f('\\'', \"/*\"); {\n", "a = b /\n"] {
            assert!(one_branch(&format!("#if A\n{code}#endif\n")).is_some(), "{code}");
        }
        let message = "#error This isn't \\\n#endif\n#endif";
        assert_eq!(conditions(&format!("#if A\n{message}").lines().collect::<Vec<_>>()).len(), 1);
    }
}
