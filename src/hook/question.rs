//! A focus question from what an agent said, thought and was asked: it is seldom a question, and as often as not only the user's request has a name in it.

use super::event::Of;
use super::told::Told;
use crate::prune::FocusQuestion;

/// Characters of what was said and thought, of the request, and of a command or pattern, at most: the skimmer reads 48 subtokens.
const MOST_SAID: usize = 500;
const MOST_ASKED: usize = 300;
const MOST_CALLED: usize = 120;
/// Words with which less is asked than nothing.
const LEAST_WORDS: usize = 3;
/// What agents say of any file.
const GENERIC: &str = "a about actually again all also an and are at be both but by can check code do does each exactly examine explore file files find first for from \
    further good great here how i i'll if implementation in into is it its let let's ll look looks looking main me more my need next no not now of okay on one open or other our out perfect read \
    reading relevant right s see show so some start t take that the their them then there these they this to understand up us use view want was we well what when where which while who \
    whole why will with work works would you";

/// What is wanted of a result; none where too little was said to tell.
pub fn infer(told: &Told, of: &Of) -> Option<FocusQuestion> {
    let said = if told.said.is_empty() { &told.said_before } else { &told.said };
    let called = match of {
        Of::File(..) => "",
        Of::Search(pattern) => pattern,
        Of::Command(_, description) => description,
    };
    let parts = [last(said, MOST_SAID), last(&told.thought, MOST_SAID), first(called, MOST_CALLED), first(&told.request, MOST_ASKED)];
    let text = parts.into_iter().filter(|part| !part.trim().is_empty()).collect::<Vec<_>>().join("\n");
    let says = text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '\'').filter(|word| !is_generic(word)).count();
    FocusQuestion::new(&text).ok().filter(|_| says >= LEAST_WORDS)
}

/// Whether a word says nothing of what is looked for.
fn is_generic(word: &str) -> bool {
    let word = word.to_lowercase();
    word.len() < 2 || GENERIC.split_whitespace().any(|generic| generic == word)
}

/// The first words of a text.
fn first(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

/// The last words of a text: agents come to the point at the end.
fn last(text: &str, most: usize) -> String {
    let skipped = text.chars().count().saturating_sub(most);
    text.chars().skip(skipped).collect()
}
