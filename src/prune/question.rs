//! The focus question: what it names, and where in a long line its words stand.

use std::ops::Range;

use aho_corasick::AhoCorasick;

use super::{few_of, is_name_part};
use crate::error::{Error, Result};
use crate::skim::embedded::text::{guesses, is_function_word};

/// Longest focus question, in characters.
pub const LONGEST_QUESTION: usize = 2000;
/// Shorter words in capitals, in letters of ASCII, are rather abbreviations than names; so are those of a question that is all in capitals.
const SHOUTED: usize = 6;
/// Shorter words are not looked for in a long line, in bytes.
const SHORTEST_WORD: usize = 3;
/// Names that are said to be absent, at most.
const MOST_ABSENT: usize = 3;
/// Places of words in a line that are looked at, at most.
const MOST_PLACES: usize = 100_000;

/// What the reader wants to know: complete, self-contained and not too long.
#[derive(Debug, Clone)]
pub struct FocusQuestion(String);

impl FocusQuestion {
    /// Checks a question.
    ///
    /// # Errors
    /// One that is empty, has no word in it, or is too long to be a question.
    pub fn new(question: &str) -> Result<Self> {
        let question = question.trim();
        let length = question.chars().count();
        if length > LONGEST_QUESTION {
            return Err(Error::bad_argument(format!("The focus question has {length} characters; ask in {LONGEST_QUESTION} at most.")));
        }
        if !question.chars().any(char::is_alphanumeric) {
            return Err(Error::bad_argument(
                "The focus question is empty; ask a complete question, or leave it out to get the exact text.",
            ));
        }
        Ok(Self(question.to_owned()))
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The words in it that look like names in code: `a_b`, `aB`, `a()` and `ABCDEF`, and those between backticks.
    pub fn names(&self) -> Vec<&str> {
        names_in(self.as_str())
    }

    /// All of it but the words in brackets at its end, which are only guessed.
    pub fn spelt(&self) -> &str {
        let guessed = guesses(self.0.as_bytes()).len();
        &self.0[..self.0.len() - guessed - usize::from(guessed > 0)]
    }

    /// Its words that begin with a capital inside of a sentence, and so may be names of types.
    pub(super) fn capitalised(&self) -> Vec<&str> {
        let begins_sentence = |before: &str| before.trim_end().is_empty() || before.trim_end().ends_with(['.', '?', '!', ':']);
        let is_capitalised =
            |word: &&str| word.starts_with(|c: char| c.is_ascii_uppercase()) && word.contains(|c: char| c.is_ascii_lowercase());
        let asked = self.spelt();
        let words = asked.split(|c| !is_name_part(c)).filter(is_capitalised);
        words.filter(|word| !begins_sentence(&asked[..word.as_ptr() as usize - asked.as_ptr() as usize])).collect()
    }

    /// Its words that tell something from all others, and the lines on which each stands where these are few: names, words with digits or marks in
    /// them (`SKU-0077`, `99%`), and what is guessed.
    pub(super) fn rare_words(&self, lines: &[&str]) -> Vec<(&str, Vec<usize>)> {
        let mut words = [self.names(), self.identifying(), self.guessed()].concat();
        let mut seen = std::collections::HashSet::new();
        words.retain(|word| seen.insert(*word));
        let on_lines = few_with(&words, lines);
        words.into_iter().zip(on_lines).filter(|(_, on)| !on.is_empty()).collect()
    }

    /// The words in brackets at its end, but for those that are short or say nothing.
    pub(super) fn guessed(&self) -> Vec<&str> {
        let length = guesses(self.0.as_bytes()).len();
        let guessed = self.0[self.0.len() - length - usize::from(length > 0)..].trim_end_matches(')');
        let words = guessed.split(',').map(|word| word.trim().trim_end_matches("()"));
        words.filter(|word| word.len() > SHORTEST_WORD && !is_function_word(&word.to_lowercase())).collect()
    }

    /// Its words that have digits or marks in them as no word of a sentence does: `SKU-0077`, `99%`, `48213`, `tier33`.
    fn identifying(&self) -> Vec<&str> {
        let edges: &[char] = &['.', ',', ';', ':', '?', '!', '"', '\'', '`', '(', ')', '[', ']'];
        let tells = |word: &&str| {
            let digits = word.bytes().filter(u8::is_ascii_digit).count();
            let marks = word.contains(['%', '#', '@', '/']) || word.contains('-') && digits > 0;
            digits > 0 && (marks || word.len() > 2 && (digits > 2 || word.contains(char::is_alphabetic)))
        };
        self.0.split_whitespace().map(|word| word.trim_matches(edges)).filter(tells).collect()
    }

    /// Those of its names that stand on none of these lines, in capitals or not.
    pub fn absent_from(&self, lines: &[&str]) -> Vec<&str> {
        let mut names = names_in(self.spelt());
        names.dedup();
        if names.is_empty() {
            return names; // before all lines are gone through
        }
        let Ok(finder) = AhoCorasick::builder().ascii_case_insensitive(true).build(&names) else { return Vec::new() };
        let mut found = vec![false; names.len()];
        lines.iter().flat_map(|line| finder.find_overlapping_iter(line)).for_each(|place| found[place.pattern()] = true);
        names.into_iter().zip(found).filter(|(_, found)| !found).map(|(name, _)| name).take(MOST_ABSENT).collect()
    }

    /// Where in a line as many as possible of its words stand within so many bytes, rare and long ones before others; the beginning if none does.
    pub fn place_in(&self, line: &str, within: usize) -> Range<usize> {
        let mut words: Vec<String> = self.0.split(|c| !is_name_part(c)).map(str::to_lowercase).collect();
        words.retain(|word| word.len() >= SHORTEST_WORD && !is_function_word(word));
        words.sort_unstable();
        words.dedup();
        let Ok(finder) = AhoCorasick::builder().ascii_case_insensitive(true).build(&words) else { return 0..0 };
        let found = finder.find_overlapping_iter(line).map(|place| (place.pattern().as_usize(), place.range()));
        let found: Vec<_> = found.take(MOST_PLACES).collect();
        let mut times = vec![0.0; words.len()];
        found.iter().for_each(|(word, _)| times[*word] += 1.0);
        let worth = |word: usize| words[word].len() as f64 / times[word];
        let (mut best, mut place) = (0.0, 0..0);
        let (mut first, mut now, mut near) = (0, 0.0, vec![0usize; words.len()]);
        for (word, range) in &found {
            near[*word] += 1;
            now += if near[*word] == 1 { worth(*word) } else { 0.0 };
            while range.end - found[first].1.start > within && found[first].1.start < range.start {
                let gone = found[first].0;
                near[gone] -= 1;
                now -= if near[gone] == 0 { worth(gone) } else { 0.0 };
                first += 1;
            }
            if now > best {
                (best, place) = (now, found[first].1.start..range.end);
            }
        }
        place
    }

    /// The lines on which a rare one of the names that it spells out stands. Not those of a guessed one: to show them, too, cost more than it
    /// brought (`training/LOG.md`).
    pub(super) fn mentioned_on(&self, lines: &[&str]) -> Vec<usize> {
        let spelt = self.spelt();
        let mut words = names_in(spelt);
        words.extend(self.identifying().into_iter().filter(|word| word.as_ptr() < spelt.as_bytes().as_ptr_range().end));
        few_with(&words, lines).concat()
    }
}

/// The lines on which each of some words stands by itself; none where they are not few.
fn few_with(words: &[&str], lines: &[&str]) -> Vec<Vec<usize>> {
    let (most, mut found) = (few_of(lines.len()), vec![Vec::new(); words.len()]);
    let Ok(finder) = AhoCorasick::new(words) else { return found };
    for (i, line) in lines.iter().enumerate().filter(|_| !words.is_empty()) {
        for place in finder.find_overlapping_iter(line) {
            let on: &mut Vec<usize> = &mut found[place.pattern().as_usize()];
            let is_alone = !line[..place.start()].ends_with(is_name_part) && !line[place.end()..].starts_with(is_name_part);
            if is_alone && on.len() <= most && on.last() != Some(&i) {
                on.push(i);
            }
        }
    }
    found.iter_mut().filter(|on| on.len() > most).for_each(Vec::clear);
    found
}

/// The words of a text that look like names in code.
fn names_in(text: &str) -> Vec<&str> {
    let (mut names, mut rest) = (Vec::new(), text);
    let calm = rest.contains(char::is_lowercase);
    while let Some(start) = rest.find(is_name_part) {
        let (before, from) = rest.split_at(start);
        let (word, after) = from.split_at(from.find(|c| !is_name_part(c)).unwrap_or(from.len()));
        let case = |byte: u8| match byte {
            b'a'..=b'z' => b'a',
            b'A'..=b'Z' => b'A',
            _ => b'.',
        };
        let cases: Vec<u8> = word.bytes().map(case).collect();
        let two_cases = [&b"aA"[..], b"AAaa"].iter().any(|turn| cases.windows(turn.len()).any(|part| part == *turn)); // maxDelay, IOError, but not URLs
        let quoted = before.ends_with('`') && after.starts_with('`');
        let shouted = calm && word.len() >= SHOUTED && word.bytes().all(|byte| byte.is_ascii_uppercase());
        if two_cases || shouted || quoted || word.trim_matches('_').contains('_') || after.starts_with("()") {
            names.push(word);
        }
        rest = after;
    }
    names
}

#[cfg(test)]
mod tests {
    use super::super::RARE_NAME;
    use super::*;

    #[test]
    fn names_in_a_question_look_like_code() {
        let names = |question: &str| FocusQuestion::new(question).expect("a question").names().join(" ");
        assert_eq!(
            names("How does get_backoff_time() cap it, and where is maxDelay or `flock` read by run() up to MAXLINELEN?"),
            "get_backoff_time maxDelay flock run MAXLINELEN"
        );
        assert_eq!(names("Do IOError and HTTPServer know URLs, IDs and VNode?"), "IOError HTTPServer VNode");
        let capitalised = |question: &str| FocusQuestion::new(question).expect("a question").capitalised().join(" ");
        assert_eq!(capitalised("Which methods has Markdown? Does it call HTTP or Proof(x)? (Lock, Guard)"), "Markdown Proof");
        assert_eq!(names("Which HTTP headers does Retry remove on redirect 307, _if_ any?"), "");
        assert_eq!(names("WHICH HEADERS ARE REMOVED FROM A СЕРВЕР?"), "");
        assert_eq!(names("何処?"), "");
    }

    #[test]
    fn a_rare_name_is_found_where_it_stands_alone() {
        let question = FocusQuestion::new("Where is max_delay read?").expect("a question");
        let lines = ["max_delay = 1\n", "  x.max_delay\n", "max_delays, my_max_delay\n", "MAX_DELAY"];
        assert_eq!(question.mentioned_on(&lines), [0, 1]);
        assert!(question.mentioned_on(&["max_delay"; RARE_NAME + 1]).is_empty());
        let guessed = FocusQuestion::new("Where is it read? (max_delay, sleep)").expect("a question");
        assert!(guessed.mentioned_on(&lines).is_empty());
    }

    #[test]
    fn names_that_are_not_there_are_told_unless_they_are_guessed() {
        let absent = |question: &str| FocusQuestion::new(question).expect("a question").absent_from(&["MaxDelay = 1\n", "x"]).join(" ");
        assert_eq!(absent("Where are max_delay and maxDelay read? (sleep_time, retryCount)"), "max_delay");
        assert_eq!(absent("Where is sleep_time read?"), "sleep_time");
        assert_eq!(absent("Where is it read? (a_b, c_d)"), "");
    }

    #[test]
    fn a_long_line_is_looked_at_where_most_of_the_words_are() {
        let filler = "function a(b){return b.timeout};".repeat(50);
        let line = format!("{filler}abort(x,{{timeout:5}});{filler}");
        let place = |question: &str| &line[FocusQuestion::new(question).expect("a question").place_in(&line, 100)];
        assert!(place("How does abort() treat a timeout?").ends_with("timeout};abort"));
        assert_eq!(place("How is it retried?"), "");
        assert_eq!(FocusQuestion::new("何処 is ABORT?").expect("a question").place_in("何処 何処abort", 100), 0..18);
    }

    #[test]
    fn a_question_needs_words_and_an_end() {
        assert!(FocusQuestion::new(" \n").is_err());
        assert!(FocusQuestion::new("?!").is_err());
        assert!(FocusQuestion::new(&"why ".repeat(25_000)).is_err());
        assert_eq!(FocusQuestion::new(" 何処? ").expect("a question").as_str(), "何処?");
    }
}
