//! Words of code and of questions, as they are compared: parts of identifiers without their endings, and identifiers whole.

use std::collections::{HashMap, HashSet};

use rust_stemmers::{Algorithm, Stemmer};

use crate::skim::embedded::text::{Subtokens, fnv1a, is_function_word};
use crate::skim::embedded::vocabulary;

/// A word as it is compared: a hash of 32 bits.
pub type Term = u32;

/// Set in the terms of whole identifiers, so that they are told from words.
const WHOLE: Term = 1 << 31;
/// Longer words are made by programs, in bytes.
const LONGEST_WORD: usize = 64;
/// Words whose stems are remembered, at most.
const REMEMBERED: usize = 200_000;

/// Turns words into terms. It remembers the stems it has found, so that each thread has one of its own.
pub struct Terms {
    stemmer: Stemmer,
    /// The stem of each word; 0 for one that says nothing.
    known: HashMap<u32, Term>,
}

impl Default for Terms {
    fn default() -> Self {
        Self { stemmer: Stemmer::create(Algorithm::English), known: HashMap::new() }
    }
}

impl Terms {
    /// The term of a word: of `Routing` that of `route`. None for a function word.
    pub fn of(&mut self, word: &[u8]) -> Option<Term> {
        let mut lower = [0; LONGEST_WORD];
        let lower = &mut lower[..word.len().min(LONGEST_WORD)];
        lower.iter_mut().zip(word).for_each(|(to, from)| *to = from.to_ascii_lowercase());
        let key = fnv1a(lower);
        if let Some(known) = self.known.get(&key) {
            return Some(*known).filter(|term| *term != 0);
        }
        let term = self.stem(lower);
        if self.known.len() >= REMEMBERED {
            self.known.clear();
        }
        self.known.insert(key, term.unwrap_or(0));
        term
    }

    fn stem(&self, lower: &[u8]) -> Option<Term> {
        let Ok(word) = std::str::from_utf8(lower) else { return Some(fnv1a(lower) & !WHOLE | 1) };
        if is_function_word(word) {
            return None;
        }
        let stem = self.stemmer.stem(vocabulary().base(word));
        Some(fnv1a(shorter(&stem).as_bytes()) & !WHOLE | 1) // never 0
    }

    /// The terms of a name.
    pub fn of_name(&mut self, name: &str) -> HashSet<Term> {
        let mut all = HashSet::new();
        self.each(name.as_bytes(), |term| {
            all.insert(term);
        });
        all
    }

    /// Visits the terms of a text: those of the parts of each identifier, and that of the identifier where it has several.
    pub fn each(&mut self, text: &[u8], mut visit: impl FnMut(Term)) {
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || !byte.is_ascii();
        let (mut rest, mut joined) = (text, None);
        while let Some(start) = rest.iter().position(is_part) {
            let identifier = &rest[start..];
            let end = identifier.iter().position(|byte| !is_part(byte)).unwrap_or(identifier.len());
            let (identifier, after) = identifier.split_at(end);
            rest = after;
            let (mut parts, mut whole) = (0, WHOLE_SEED);
            for part in Subtokens::of(identifier) {
                if let Some(term) = self.of(part) {
                    visit(term);
                }
                whole = part.iter().fold(whole, |hash, byte| hash_on(hash, byte.to_ascii_lowercase()));
                parts += 1;
            }
            if parts > 1 {
                visit(whole | WHOLE);
            }
            // `X-Forwarded-Proto` is one name, too.
            joined = match rest.first() {
                Some(b'-') if rest.get(1).is_some_and(u8::is_ascii_alphabetic) => Some(on_from(joined.unwrap_or(WHOLE_SEED), identifier)),
                _ => {
                    if let Some(before) = joined {
                        visit(on_from(before, identifier) | WHOLE);
                    }
                    None
                }
            };
        }
    }
}

/// A stem without what it has left of `-y`, `-e`, `-er` and `-or`: `recovery`, `recoverer` and `recover` are forms of one word.
fn shorter(stem: &str) -> &str {
    let stem = stem.strip_suffix(['i', 'e']).unwrap_or(stem);
    ["er", "or"].iter().find_map(|end| stem.strip_suffix(end)).filter(|rest| rest.len() >= 5).unwrap_or(stem)
}

const WHOLE_SEED: u32 = 0x811C_9DC5;

fn hash_on(hash: u32, byte: u8) -> u32 {
    (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
}

/// The term of a whole identifier: `maxDelay`, `max_delay` and `MAX_DELAY` are one. One of a single part has it where it is the name of something.
pub fn whole(identifier: &[u8]) -> Term {
    on_from(WHOLE_SEED, identifier) | WHOLE
}

fn on_from(hash: u32, identifier: &[u8]) -> u32 {
    let on = |hash, part: &[u8]| part.iter().fold(hash, |hash, byte| hash_on(hash, byte.to_ascii_lowercase()));
    Subtokens::of(identifier).fold(hash, on)
}

/// Whether a term is that of a whole identifier.
pub fn is_whole(term: Term) -> bool {
    term & WHOLE != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_are_one() {
        let mut terms = Terms::default();
        let mut of = |word: &str| terms.of(word.as_bytes());
        for forms in
            [["route", "Routing"], ["parsing", "parses"], ["throttle", "THROTTLED"], ["retries", "retry"], ["recovery", "recoverer"]]
        {
            assert_eq!(of(forms[0]), of(forms[1]), "{forms:?}");
        }
        assert_ne!(of("route"), of("root"));
        assert_eq!(of("the"), None);
    }

    #[test]
    fn identifiers_count_in_parts_and_whole() {
        let mut terms = Terms::default();
        let mut all = |text: &str| {
            let mut found = Vec::new();
            terms.each(text.as_bytes(), |term| found.push(term));
            found
        };
        assert_eq!(all("maxDelay"), all("MAX_DELAYS").into_iter().take(2).chain([whole(b"max_delay")]).collect::<Vec<_>>());
        assert_eq!(all("max delay").len(), 2);
        assert_eq!(all("max-delay"), all("max delay").into_iter().chain([whole(b"maxDelay")]).collect::<Vec<_>>());
        assert_eq!(all("max - delay"), all("max delay"));
        assert!(is_whole(whole(b"max_delay")));
        assert!(all(" (); ").is_empty());
    }
}
