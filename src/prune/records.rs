//! Records in texts without a grammar: which line is the heading of the record that a line is in. A line of one record without its heading reads
//! as a line of another.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::indent;

/// Headings of one form, at least, that make records of a text; fewer where the form is made to be seen.
const RECUR: usize = 3;
const MARKED: usize = 2;
/// Marks with which a heading begins or ends.
const MARKS: [char; 12] = ['=', '-', '#', '*', '~', '+', '>', '<', '_', '─', '━', '═'];
/// Characters of a rule between lines, at least, and those beside the drawn ones.
const SHORTEST_RULE: usize = 5;
const OF_RULES: &str = "-=*#~+_/\\|.:";
/// Lines between the two rules of a box, at most.
const LONGEST_BOX: usize = 4;
/// Words of a line without a mark between them that may be a field, at most.
const SHORT: usize = 4;
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
    /// The first line below a rule, or between two.
    Ruled,
    /// Any first line of a record, where what is in records tells them.
    Block,
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
    let (ruled, blocks) = (ruled(lines), blocks(lines));
    let by_block = blocks.contains(&true);
    let mut after_blank = true;
    let of = |(i, line): (usize, &&str)| {
        let text = line.trim_end();
        let begins = std::mem::replace(&mut after_blank, text.is_empty());
        if ruled[i] {
            return Some(Form::Ruled);
        }
        if text.is_empty() || indent(line) > 0 {
            return None;
        }
        let goes_on = lines.get(i + 1).is_some_and(|next| !next.trim().is_empty());
        let seen = || marked(text, goes_on).or_else(|| is_time(text).then_some(Form::Time));
        let by_shape = || {
            let shape = shape(text)?;
            (!by_block && begins && goes_on || Some(&shape) == first.as_ref()).then_some(Form::Shape(shape))
        };
        seen().or_else(|| blocks[i].then_some(Form::Block)).or_else(by_shape)
    };
    lines.iter().enumerate().map(of).collect()
}

/// Whether a line is a heading for the rules around it: the first of a box, or the first below a rule that underlines nothing.
fn ruled(lines: &[&str]) -> Vec<bool> {
    let mut found = vec![false; lines.len()];
    let is_text = |line: usize| lines.get(line).is_some_and(|line| !line.trim().is_empty() && !is_rule(line));
    let is_a_rule = |line: usize| lines.get(line).is_some_and(|line| is_rule(line));
    let mut i = 0;
    while i < lines.len() {
        if !is_a_rule(i) {
            i += 1;
            continue;
        }
        let end = (i + 1..).find(|line| !is_text(*line)).unwrap_or(lines.len());
        let underlines = i > 0 && is_text(i - 1) && (i == 1 || !is_text(i - 2));
        let is_box = is_a_rule(end) && end - i - 1 <= LONGEST_BOX;
        // Of a table with a rule after each row, no row is a heading.
        let begins = if is_box { is_text(end + 1) && !is_a_rule(end + 2) } else { !underlines };
        if is_text(i + 1) && begins {
            found[i + 1] = true;
        }
        i = end + usize::from(is_box);
    }
    found
}

/// Whether a line is nothing but a rule.
fn is_rule(line: &str) -> bool {
    let text = line.trim();
    let drawn = |c: char| OF_RULES.contains(c) || ('\u{2500}'..='\u{257f}').contains(&c);
    if !text.chars().all(drawn) || text.chars().count() < SHORTEST_RULE {
        return false;
    }
    let most = text.chars().nth(text.chars().count() / 2).expect("a character");
    2 * text.chars().filter(|c| *c == most).count() > text.chars().count()
}

/// Whether a line begins a record, by what is in records: most runs of lines without a blank one between have the same key, or, where there
/// are none, what follows the first line recurs, each time below a line of its kind.
fn blocks(lines: &[&str]) -> Vec<bool> {
    let mut found = vec![false; lines.len()];
    let is_blank = |line: usize| lines.get(line).is_none_or(|line| line.trim().is_empty());
    let starts: Vec<usize> = (0..lines.len()).filter(|i| !is_blank(*i) && (*i == 0 || is_blank(i - 1)) && !is_blank(i + 1)).collect();
    let is_most = |heads: usize, all: usize| heads >= RECUR && 5 * heads >= 3 * all;
    let heads: Vec<usize> = if starts.len() >= RECUR {
        let mut in_blocks: HashMap<&str, usize> = HashMap::new();
        for start in &starts {
            let keys: HashSet<&str> = (start + 1..).take_while(|line| !is_blank(*line)).filter_map(|line| field(lines[line])).collect();
            keys.into_iter().for_each(|key| *in_blocks.entry(key).or_default() += 1);
        }
        if !in_blocks.values().any(|count| is_most(*count, starts.len())) {
            return found;
        }
        starts
    } else {
        let Some((second, key)) = starts.first().and_then(|first| Some((first + 1, field(lines[first + 1])?))) else { return found };
        let mut count: HashMap<&str, usize> = HashMap::new();
        lines.iter().for_each(|line| *count.entry(first_word(line)).or_default() += 1);
        let own = first_word(lines[second - 1]);
        let before: Vec<usize> = (second..lines.len()).filter(|line| field(lines[*line]) == Some(key)).map(|line| line - 1).collect();
        let is_head = |line: &usize| first_word(lines[*line]) == own || count[first_word(lines[*line])] == 1;
        let heads: Vec<usize> = before.iter().copied().filter(is_head).collect();
        if !is_most(heads.len(), before.len()) {
            return found;
        }
        heads
    };
    heads
        .into_iter()
        .filter(|line| !is_blank(*line) && !is_rule(lines[*line]) && indent(lines[*line]) == 0)
        .for_each(|line| found[line] = true);
    found
}

/// What a line is about, if it is a field of a record: what stands before its `:`, `=`, `|` or tab, or the first word of few.
fn field(line: &str) -> Option<&str> {
    match line.trim().split_once([':', '=', '|', '\t']) {
        Some((key, _)) => Some(key.trim_end()).filter(|key| !key.is_empty()),
        None if line.split_whitespace().count() <= SHORT && !line.trim_end().ends_with(['.', '!', '?']) => Some(first_word(line)),
        None => None,
    }
}

fn first_word(line: &str) -> &str {
    line.split_whitespace().next().unwrap_or_default()
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
    if let Some((key, rest)) = text.split_once([':', '='])
        && let key = key.trim_end()
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

/// For lines that stand under one that only opens a record (`{`, `<server>`, `-[ RECORD 2 ]-`): the line of it that says which record it is.
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
    let counts = text.contains("[ RECORD ") || text.ends_with('*') && text.contains(". row ");
    counts
        || text.starts_with("BEGIN:")
        || ["{", "[{", "}, {", "},{", "-"].contains(&text)
        || text.strip_prefix('<').and_then(|text| text.strip_suffix('>')).is_some_and(is_tag)
}

/// The key of a line that has a value beside it: `"name": "a",`, `name: a`, `<name>a</name>`.
fn key(line: &str) -> Option<&str> {
    let text = line.trim().trim_end_matches(',');
    if let Some(tag) = text.strip_prefix('<') {
        let (key, rest) = tag.split_once('>')?;
        return rest.ends_with(&format!("</{key}>")).then_some(key);
    }
    let (key, value) = text.split_once(':').or_else(|| text.split_once('=')).or_else(|| text.split_once('|'))?;
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
            "----------\nhost N",
            "##########\n# host N\n##########",
            "/*********\n * host N\n *********/",
            "┌────────┐\n│ host N │\n└────────┘",
            "═══ host N ═══",
            "name\t: host N",
            "name = host N",
            "Checking the settings of host N",
            "* Connected to host N port 443",
        ] {
            let text: String = (1..5).map(|i| record(&form.replace('N', &i.to_string()))).collect();
            assert_eq!(heads(&text).len(), 4, "{form}: {:?}", heads(&text));
        }
        for (form, names) in
            [("Host N", ["alpha", "beta", "gamma"]), ("Server N is up", ["alpha", "beta", "gamma"]), ("interface N", ["lo", "eth", "wlan"])]
        {
            for blank in ["", "\n"] {
                let text: String = names.iter().map(|name| format!("{}\nload 3\ntls off\n{blank}", form.replace('N', name))).collect();
                assert_eq!(heads(&text).len(), 3, "{form}: {:?}", heads(&text));
            }
        }
        for none in [
            "A text of words.\nAnd more.\n\nAnother one.\nAnd more.\n\nThe last one.\nAnd more.\n",
            "a\nb\nc\n",
            "x: 1\ny: 2\nz: 3\n",
            "-----\na b\n-----\n",
            "+---+---+\n| a | b |\n+---+---+\n| 1 | 2 |\n+---+---+\n| 3 | 4 |\n+---+---+\n",
            " a  | b\n----+----\n 1  | 2\n 3  | 4\n",
        ] {
            assert!(heads(none).is_empty(), "{:?}", heads(none));
        }
    }
}
