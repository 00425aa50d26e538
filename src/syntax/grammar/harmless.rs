//! What is known to break a grammar's scanner is not shown to it: other bytes stand in its place, as many, so that every place stays where it is.
//!
//! The newest release of each grammar has these faults, and so has what its authors work on.

use std::borrow::Cow;

use crate::syntax::Language;

/// Longest word of a here-document that Ruby's scanner is shown, in characters: it keeps the length in a byte.
const LONGEST_WORD: usize = 100;
/// Here-documents that begin on a line, at most, that it is shown: their words together must fit into a kilobyte.
const MOST_WORDS: usize = 8;
/// Widest indentation that Python's scanner is shown, in columns: it keeps those of 511 blocks.
const WIDEST: usize = 400;

/// A text as its grammar may read it.
pub fn text(grammar: Language, text: &str) -> Cow<'_, str> {
    match grammar {
        Language::Bash => without_wide_ranges(text),
        Language::Python => without_wide_indentation(text),
        Language::Ruby => without_long_words(text),
        Language::Kotlin | Language::Swift => ended(text),
        _ => Cow::Borrowed(text),
    }
}

/// Ended by a newline. Kotlin's scanner never stops looking for one behind an annotation at the end, and Swift's looks behind a directive there.
pub fn ended(text: &str) -> Cow<'_, str> {
    if text.ends_with('\n') { Cow::Borrowed(text) } else { Cow::Owned(format!("{text}\n")) }
}

/// Bash's scanner asks whether the character behind `{1..` is a digit in a way that reads beyond a table where it is not one of Latin-1.
fn without_wide_ranges(text: &str) -> Cow<'_, str> {
    let is_wide = |c: char| c > '\u{ff}';
    let may_be_of_range = |c: char| matches!(c, '{' | '.') || c.is_ascii_digit();
    let mut out = String::new();
    let (mut done, mut before) = (0, ' ');
    for (at, c) in text.char_indices() {
        if is_wide(c) && may_be_of_range(before) {
            out.push_str(&text[done..at]);
            out.push_str(["", "", "é", "éx", "éé"][c.len_utf8()]);
            done = at + c.len_utf8();
        }
        before = c;
    }
    if done == 0 { Cow::Borrowed(text) } else { Cow::Owned(out + &text[done..]) }
}

/// Python's scanner writes beyond its buffer where hundreds of blocks are in each other. A form feed begins the indentation anew.
fn without_wide_indentation(text: &str) -> Cow<'_, str> {
    let columns = |byte: &u8| if *byte == b'\t' { 8 } else { 1 };
    let mut cuts = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let indentation = &line.as_bytes()[..line.len() - line.trim_start_matches([' ', '\t']).len()];
        let mut width = 0;
        let fits = |byte: &&u8| {
            width += columns(byte);
            width <= WIDEST
        };
        let shown = indentation.iter().rev().take_while(fits).count();
        if shown < indentation.len() {
            cuts.push(start + indentation.len() - shown - 1);
        }
        start += line.len();
    }
    replaced(text, cuts, "\u{c}")
}

/// Ruby's scanner ends the process where the words of here-documents are long or many.
fn without_long_words(text: &str) -> Cow<'_, str> {
    let mut cuts = Vec::new();
    let (mut words, mut line) = (0, 0);
    for (at, _) in text.match_indices("<<") {
        if text[line..at].contains('\n') {
            words = 0;
        }
        line = at;
        words += 1;
        let behind = text[at + 2..].trim_start_matches(['-', '~']);
        let word = match behind.chars().next().filter(|first| matches!(first, '"' | '\'' | '`')) {
            Some(quote) => behind[1..].chars().take(LONGEST_WORD + 1).take_while(|c| *c != quote).count(),
            None => behind.chars().take(LONGEST_WORD + 1).take_while(|c| c.is_alphanumeric() || *c == '_').count(),
        };
        if word > LONGEST_WORD || words > MOST_WORDS {
            cuts.push(at + 1);
        }
    }
    replaced(text, cuts, " ")
}

/// A text with a byte in place of another at each of these places.
fn replaced<'a>(text: &'a str, places: Vec<usize>, by: &str) -> Cow<'a, str> {
    if places.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for place in places {
        out.push_str(&text[done..place]);
        out.push_str(by);
        done = place + 1;
    }
    Cow::Owned(out + &text[done..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::grammar;

    #[test]
    fn every_byte_stays_in_its_place_and_ordinary_code_is_as_it_was() {
        let cases = [
            (Language::Bash, "echo {\u{d5e20}} {12…} {1..\u{d5e20}\n", "echo {éé} {12éx} {1..éé\n"),
            (Language::Bash, "echo “{1..3}” …\n", "echo “{1..3}” …\n"),
            (Language::Ruby, "x = <<~A + <<-'B'\na\nA\nb\nB\ny << 1\n", "x = <<~A + <<-'B'\na\nA\nb\nB\ny << 1\n"),
            (Language::Python, "if x:\n\ty\n", "if x:\n\ty\n"),
            (Language::Kotlin, "val x = 1", "val x = 1\n"),
        ];
        for (language, shown, wanted) in cases {
            assert_eq!(text(language, shown), wanted);
        }
        let deep = format!("if x:\n{}y\n", "\t".repeat(60));
        assert_eq!(text(Language::Python, &deep), format!("if x:\n{}\u{c}{}y\n", "\t".repeat(9), "\t".repeat(50)));
    }

    /// Each of these ends or hangs the process where it is shown to its grammar.
    #[test]
    fn known_faults_do_not_fire() {
        let blocks: String = (0..511).map(|i| format!("{}{}if x:\n", "\t".repeat(i / 8), " ".repeat(i % 8))).collect();
        let deep = format!("{blocks}{}{}\"a\"\n", "\t".repeat(63), " ".repeat(7));
        let many: Vec<String> = [252, 252, 252, 251].map(|length| format!("<<{}", "K".repeat(length))).to_vec();
        let words: Vec<String> = (0..60).map(|_| format!("<<{}", "K".repeat(90))).collect();
        let faults = [
            (Language::Bash, "{\u{f0301}".to_owned()),
            (Language::Bash, "{12\u{f0301}".to_owned()),
            (Language::Bash, "{1..2\u{f0301}".to_owned()),
            (Language::Ruby, format!("<<{}", "K".repeat(256))),
            (Language::Ruby, format!("x=<<\"K{}", "\n".repeat(256))),
            (Language::Ruby, format!("f({})\n", many.join(","))),
            (Language::Ruby, format!("f({})\n", words.join(","))),
            (Language::Python, deep),
            (Language::Kotlin, "class A\n@a".to_owned()),
            (Language::Kotlin, "class A{\nval x=1\n@a(b)c".to_owned()),
            (Language::Swift, "#if".to_owned()),
        ];
        for (language, text) in faults {
            grammar::first_error(language, &text);
        }
    }
}
