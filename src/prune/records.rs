//! Records in texts without a grammar: which line is the heading of the record that a line is in. A line of one record without its heading reads
//! as a line of another.

use std::collections::HashMap;
use std::ops::Range;

use super::indent;

/// Headings of one form, at least, that make records of a text; fewer where the form is made to be seen.
const RECUR: usize = 3;
const MARKED: usize = 2;
/// Marks with which a heading begins or ends.
const MARKS: [char; 8] = ['=', '-', '#', '*', '~', '+', '>', '<'];
/// Marks at the end of a heading that has none at its beginning, at least.
const LONG_MARK: usize = 3;
/// Characters of a key, at most.
const LONGEST_KEY: usize = 30;
/// Keys that say which record it is, before all others.
const NAMES: [&str; 12] = ["name", "id", "key", "title", "host", "hostname", "service", "sku", "path", "file", "label", "ref"];

/// The form of a heading: lines with the same begin records of the same kind.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Form {
    /// `==> a <==`, `=== a ===`, `### a`, `TASK [a] ****`, by the marks.
    Marked(char),
    /// `make[2]: Entering directory '/a'`
    Directory(usize),
    /// `[a]`
    Bracketed,
    /// `$ command`
    Prompt,
    /// `a.b/c:`
    Colon,
    /// `Name: a`, by the key; `Issue 12`, `2026-11-28`, by what is around the numbers.
    Shape(String),
    /// A line of a log: what has no time itself belongs to it.
    Time,
}

/// How deep each line stands as a heading: 0 is outermost; none for other lines.
pub fn levels(lines: &[&str]) -> Vec<Option<usize>> {
    let forms = forms(lines);
    let mut count: HashMap<&Form, usize> = HashMap::new();
    forms.iter().flatten().for_each(|form| *count.entry(form).or_default() += 1);
    let recurs = |form: &Form| match form {
        Form::Directory(_) => true,
        Form::Shape(_) | Form::Time => count[form] >= RECUR,
        _ => count[form] >= MARKED,
    };
    // A record begins with its heading, so that the form which comes first is the outermost. Times are within all others.
    let mut order: HashMap<&Form, usize> = HashMap::new();
    for form in forms.iter().flatten().filter(|form| recurs(form) && **form != Form::Time) {
        let next = order.len();
        order.entry(form).or_insert(next);
    }
    let level = |form: &Form| match form {
        Form::Directory(depth) => Some(*depth),
        Form::Time => recurs(form).then_some(order.len()),
        _ => order.get(form).copied(),
    };
    forms.iter().map(|form| form.as_ref().and_then(level)).collect()
}

/// The deepest level there may be.
pub const DEEPEST: usize = 1 << 16;

/// The form of each line that may be a heading.
fn forms(lines: &[&str]) -> Vec<Option<Form>> {
    let first = lines.iter().position(|line| !line.trim().is_empty()).and_then(|line| shape(lines[line]));
    let mut after_blank = true;
    let of = |(i, line): (usize, &&str)| {
        let text = line.trim_end();
        let begins = std::mem::replace(&mut after_blank, text.is_empty());
        if text.is_empty() || indent(line) > 0 {
            return None;
        }
        let goes_on = lines.get(i + 1).is_some_and(|next| !next.trim().is_empty());
        marked(text, goes_on).or_else(|| is_time(text).then_some(Form::Time)).or_else(|| {
            let shape = shape(text)?;
            (begins && goes_on || Some(&shape) == first.as_ref()).then_some(Form::Shape(shape))
        })
    };
    lines.iter().enumerate().map(of).collect()
}

/// A form that is made to be seen.
fn marked(text: &str, goes_on: bool) -> Option<Form> {
    if let Some((program, _)) = text.split_once(": Entering directory ") {
        return Some(Form::Directory(
            program.bytes().filter(u8::is_ascii_digit).fold(0, |depth, digit| (10 * depth + usize::from(digit - b'0')) % DEEPEST),
        ));
    }
    let said = text.trim_matches(|c: char| MARKS.contains(&c) || c == ' ');
    if !said.contains(|c: char| c.is_alphanumeric()) {
        return None;
    }
    let (first, last) = (text.chars().next()?, text.chars().next_back()?);
    let (before, after) = (text.chars().take_while(|c| *c == first).count(), text.chars().rev().take_while(|c| *c == last).count());
    if MARKS.contains(&first) && before > 1 && text.chars().nth(before).is_some_and(|c| c == ' ' || MARKS.contains(&c)) {
        return Some(Form::Marked(first));
    }
    if MARKS.contains(&last) && after >= LONG_MARK || text.ends_with(" >>") || first == '-' && text.starts_with("-[ ") {
        return Some(Form::Marked(last));
    }
    match first {
        '[' if text.ends_with(']') && text.len() > 2 && !text.contains(',') => Some(Form::Bracketed),
        '$' if text.starts_with("$ ") => Some(Form::Prompt),
        _ if goes_on && text.ends_with(':') && !text.contains([' ', '\t', '"', '{', '(']) && text.len() > 1 => Some(Form::Colon),
        _ => None,
    }
}

/// The key that a line begins with, or its first words with a 0 for every number, if there is one.
fn shape(text: &str) -> Option<String> {
    if let Some((key, rest)) = text.split_once(':')
        && key.chars().count() <= LONGEST_KEY
        && key.starts_with(char::is_alphabetic)
        && key.chars().all(|c| c.is_alphanumeric() || "-_ ".contains(c))
        && (rest.is_empty() || rest.starts_with([' ', '\t']))
    {
        return Some(without_numbers(key) + ":");
    }
    let words: Vec<&str> = text.split_whitespace().take(2).collect();
    let shape = without_numbers(&words.join(" "));
    shape.contains('0').then(|| shape.split('0').next().map_or_else(String::new, str::to_owned) + "0")
}

/// A text with a 0 for each run of digits.
fn without_numbers(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let c = if c.is_ascii_digit() { '0' } else { c };
        if c != '0' || !out.ends_with('0') {
            out.push(c);
        }
    }
    out
}

/// Whether a line of a log begins here: with a date or a time.
fn is_time(text: &str) -> bool {
    let start: String = text.trim_start_matches(['[', '<', '(']).chars().take(24).collect();
    let start = without_numbers(&start);
    let months = ["Jan ", "Feb ", "Mar ", "Apr ", "May ", "Jun ", "Jul ", "Aug ", "Sep ", "Oct ", "Nov ", "Dec "];
    let is_date = ["0-0-0T", "0-0-0 0:0", "0/0/0 0:0", "0:0:0"].iter().any(|form| start.starts_with(form));
    is_date || months.iter().any(|month| start.strip_prefix(month).is_some_and(|rest| rest.trim_start().starts_with("0 0:0:0")))
}

/// For lines that stand under one that only opens a record (`{`, `<server>`): the line of it that says which record it is.
pub fn names(lines: &[&str], parents: &[Option<usize>]) -> HashMap<usize, usize> {
    let mut found: HashMap<usize, (usize, bool)> = HashMap::new();
    for (i, line) in lines.iter().enumerate() {
        let Some(parent) = parents[i].filter(|parent| opens_only(lines[*parent])) else { continue };
        let Some(key) = key(line) else { continue };
        let is_name = NAMES.contains(&key.to_lowercase().as_str());
        let best = found.entry(parent).or_insert((i, is_name));
        if is_name && !best.1 {
            *best = (i, true);
        }
    }
    found.into_iter().map(|(parent, (line, _))| (parent, line)).collect()
}

/// Whether a line opens a record and says nothing of it.
fn opens_only(line: &str) -> bool {
    let text = line.trim().trim_start_matches("- ").trim_end_matches(',');
    let is_tag = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "-_:.".contains(c));
    ["{", "[{", "}, {", "},{", "-"].contains(&text) || text.strip_prefix('<').and_then(|text| text.strip_suffix('>')).is_some_and(is_tag)
}

/// The key of a line that has a value beside it: `"name": "a",`, `name: a`, `<name>a</name>`.
fn key(line: &str) -> Option<&str> {
    let text = line.trim().trim_end_matches(',');
    if let Some(tag) = text.strip_prefix('<') {
        let (key, rest) = tag.split_once('>')?;
        return rest.ends_with(&format!("</{key}>")).then_some(key);
    }
    let (key, value) = text.split_once(':').or_else(|| text.split_once('='))?;
    let (key, value) = (key.trim().trim_matches(['"', '\'']), value.trim());
    (!key.is_empty() && !value.is_empty() && !value.ends_with(['{', '['])).then_some(key)
}

/// The lines that say which document of several in a YAML text a line is in: what kind it is, and its name; each with the lines of its document.
pub fn documents(lines: &[&str]) -> Vec<(Range<usize>, Vec<usize>)> {
    let starts: Vec<usize> = (0..lines.len()).filter(|line| lines[*line].trim_end() == "---").collect();
    if starts.is_empty() {
        return Vec::new();
    }
    let starts: Vec<usize> = std::iter::once(0).chain(starts).collect();
    let ends = starts.iter().skip(1).copied().chain([lines.len()]);
    let says = |range: Range<usize>| {
        let kind = range.clone().find(|line| lines[*line].starts_with("kind:"));
        let name = range.clone().find(|line| lines[*line].trim_start().starts_with("name:"));
        (range, kind.into_iter().chain(name).collect())
    };
    starts.iter().copied().zip(ends).map(|(start, end)| says(start..end)).filter(|(_, told): &(_, Vec<usize>)| !told.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heads(text: &str) -> Vec<&str> {
        let lines: Vec<&str> = text.lines().collect();
        levels(&lines).into_iter().zip(lines).filter(|(level, _)| level.is_some()).map(|(_, line)| line).collect()
    }

    #[test]
    fn headings_recur_in_form() {
        let record = |head: &str| format!("{head}\nload 3\ntls off\n\n");
        for form in [
            "==> conf/N.conf <==",
            "=== host N ===",
            "### host N",
            "TASK [install N] ********",
            "-[ RECORD N ]------",
            "*************************** N. row ***************************",
            "[hostN]",
            "hostN:",
            "/srv/hostN:",
            "$ ssh hostN uptime",
            "hostN | CHANGED | rc=0 >>",
            "Name: web-N",
            "Issue #N: it is slow",
            "2026-11-N",
            "web-N   Running",
            "N. Of hosts",
        ] {
            let text: String = (1..5).map(|i| record(&form.replace('N', &i.to_string()))).collect();
            assert_eq!(heads(&text).len(), 4, "{form}: {:?}", heads(&text));
        }
        for none in [
            "A text of words.\nAnd more.\n\nAnother one.\nAnd more.\n\nThe last one.\nAnd more.\n",
            "a\nb\nc\n",
            "x: 1\ny: 2\nz: 3\n",
            "-----\na b\n-----\n",
        ] {
            assert!(heads(none).is_empty(), "{:?}", heads(none));
        }
    }
}
