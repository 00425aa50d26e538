//! What may be meant where nothing matches.

use super::search::place;
use super::{Call, Session};
use crate::prune::FocusQuestion;
use crate::search::ranking::Verdict;
use crate::search::search;

/// More files take too long to be read for a remark.
const MOST_FILES: usize = 5000;
/// The least that the words of a place are worth, as a share of those of the pattern.
const ENOUGH: f32 = 0.5;
/// Letters and digits of a word that says something.
const SHORTEST: usize = 3;

/// The best place that a search for the words of a pattern knows, as `src/a.py 12-40 Store.get`, if it has most of them. `searched` is in how many files
/// the pattern was looked for.
pub fn nearest(session: &Session, pattern: &str, literal: bool, path: Option<&str>, searched: usize, call: &Call<'_>) -> Option<String> {
    if !(1..=MOST_FILES).contains(&searched) {
        return None;
    }
    let question = FocusQuestion::new(&words(pattern, literal)?).ok()?;
    let starts = session.workspace.locate(path).ok()?;
    let access = session.syntax.access(&call.cancel);
    let found = search(&question, &session.asking(&starts, &access, None)).ok()?;
    let best = found.ranked.first().filter(|_| found.verdict == Verdict::Answers)?;
    let has = found.sources[best.source].units[best.unit].evidence.has;
    (has >= ENOUGH).then(|| place(&found, best))
}

/// The words of a pattern, those of names apart, as no file has these names; without what makes it a regular expression.
fn words(pattern: &str, literal: bool) -> Option<String> {
    let (mut text, mut before) = (String::new(), ' ');
    for c in pattern.chars() {
        let is_escaped = before == '\\' && !literal;
        if c.is_uppercase() && before.is_lowercase() {
            text.push(' ');
        }
        text.push(if c.is_alphanumeric() && !is_escaped { c } else { ' ' });
        before = if is_escaped { ' ' } else { c };
    }
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let says_something = |word: &str| word.chars().filter(|c| c.is_alphanumeric()).count() >= SHORTEST;
    text.split(' ').any(says_something).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn only_words_of_a_pattern_are_asked() {
        assert_eq!(words(r"fn\s+render_gap\(", false).as_deref(), Some("fn render gap"));
        assert_eq!(words(r"C:\new", true).as_deref(), Some("C new"));
        assert_eq!(words(r"\\getUserById", false).as_deref(), Some("get User By Id"));
        assert_eq!(words(r"Store\.(get|put)$", false).as_deref(), Some("Store get put"));
        assert_eq!(words(r"^\d+$", false), None);
    }
}
