//! Text to numbers: subtokens, line features and lexical evidence.
//!
//! `training/text.py` does the same for the trainer; change both or neither. All of it works on UTF-8 bytes.

use std::collections::HashMap;

/// Subtokens read of a line: four times what the weights were trained on, as paragraphs and logs say late what they say.
pub const LINE_TOKENS: usize = 96;
/// Subtokens read of a question.
pub const QUESTION_TOKENS: usize = 48;
/// The feature that says that a line is blank.
pub const BLANK: usize = 1;
/// Structure features of a line.
pub const FEATURES: usize = 13;
/// Lexical features of a line.
pub const LEXICAL: usize = 5;
/// Hash buckets for subtokens outside the vocabulary.
const BUCKETS: usize = 4096;

/// Function words say nothing about which line matters, yet are rare in code and so would weigh most there.
const STOP: &str = "a an and any are as at be been but by can could do does each for from get gets has have how i if in into is it its \
    me my need not of on or our should show so such than that the their them then there these they this to us use used uses want was we \
    what when where which while who why will with would you your";
/// How a question opens tells labellers' habits and not what it asks for: of the labelled questions that begin with "where" three quarters
/// have no answer, and a model that reads the word learns to say so. So the first word goes, and the verb after it.
const OPENERS: &str = "how what when where which who why";
const AUXILIARIES: &str = "are can could did do does has have is may must should was were will would";
const HEADER: &str = "abstract async class const def enum export fn func function impl interface int module namespace private protected \
    pub public static struct template trait type void";
const CONTROL: &str = "if else elif case for while match switch try except catch";
const LEAVE: &str = "return raise throw yield";
const IMPORT: &str = "import from use require package include";
const COMMENT: [&[u8]; 7] = [b"#", b"//", b"/*", b"*", b"\"\"\"", b"'''", b"--"];

/// Ids of subtokens: 0 is padding, then the words by frequency, then the hash buckets.
pub struct Vocabulary {
    /// The words, most frequent first.
    words: Vec<&'static str>,
    ids: HashMap<&'static [u8], u32>,
    stop: Vec<u32>,
    /// For each word, the id of the most frequent word that it is a form of; none where each form is a word of its own.
    stems: Vec<u32>,
}

impl Vocabulary {
    /// From the words, one a line, most frequent first; behind a space the most frequent word that each is a form of, if that is another.
    pub fn new(words: &'static str) -> Self {
        let rows = words.lines().map(|line| line.split_once(' ').unwrap_or((line, line)));
        let ids: HashMap<_, _> = rows.clone().zip(1..).map(|((word, _), id)| (word.as_bytes(), id)).collect();
        let stop = STOP.split_whitespace().filter_map(|word| ids.get(word.as_bytes()).copied()).collect();
        let stems = rows.clone().map(|(_, stem)| ids[stem.as_bytes()]).collect();
        Self { words: rows.map(|(word, _)| word).collect(), ids, stop, stems }
    }

    /// The same words, each form of one being a word of its own.
    pub fn as_spelled(words: &'static str) -> Self {
        Self { stems: Vec::new(), ..Self::new(words) }
    }

    /// Number of ids.
    pub fn size(&self) -> usize {
        1 + self.ids.len() + BUCKETS
    }

    fn id(&self, token: &[u8]) -> u32 {
        self.ids.get(token).copied().unwrap_or_else(|| (1 + self.ids.len() + fnv1a(token) as usize % BUCKETS) as u32)
    }

    /// The most frequent word that a word in lower case is a form of; itself where that is not known.
    pub fn base<'a>(&self, word: &'a str) -> &'a str {
        let stem = self.ids.get(word.as_bytes()).map(|id| self.stem(*id)).and_then(|id| self.words.get(id as usize - 1));
        stem.copied().unwrap_or(word)
    }

    /// What forms of one word have in common.
    fn stem(&self, id: u32) -> u32 {
        (id as usize).checked_sub(1).and_then(|word| self.stems.get(word)).copied().unwrap_or(id)
    }

    /// Ids of the subtokens of a question after the word that says what kind it is, and after that one's verb. Of a long one function words are
    /// left out, and if that is not enough the middle: words in brackets stand at the end.
    fn question_ids(&self, question: &str) -> Vec<u32> {
        let is_one_of = |words: &str, token: &[u8]| words.split(' ').any(|word| token.eq_ignore_ascii_case(word.as_bytes()));
        let (mut rest, mut subtokens) = (question.as_bytes(), Subtokens::of(question.as_bytes()));
        for words in [OPENERS, AUXILIARIES] {
            if !subtokens.next().is_some_and(|token| is_one_of(words, token)) {
                break;
            }
            rest = subtokens.rest;
        }
        let mut ids = self.ids(rest, usize::MAX);
        if ids.is_empty() {
            ids = self.ids(question.as_bytes(), usize::MAX);
        }
        if ids.len() > QUESTION_TOKENS {
            ids.retain(|id| !self.stop.contains(id));
            if let Some(surplus) = ids.len().checked_sub(QUESTION_TOKENS) {
                ids.drain(QUESTION_TOKENS / 2..QUESTION_TOKENS / 2 + surplus);
            }
        }
        ids
    }

    /// Ids of the words that come with a question.
    fn guess_ids(&self, question: &str) -> Vec<u32> {
        let mut ids = self.ids(guesses(question.as_bytes()), QUESTION_TOKENS);
        ids.retain(|id| !self.stop.contains(id));
        ids
    }

    /// Ids of the first `most` subtokens.
    fn ids(&self, line: &[u8], most: usize) -> Vec<u32> {
        let mut lower = Vec::new();
        Subtokens::of(line)
            .take(most)
            .map(|token| {
                lower.clear();
                lower.extend(token.iter().map(u8::to_ascii_lowercase));
                self.id(&lower)
            })
            .collect()
    }
}

/// The words that the code may use, which the tools ask for in brackets at the end of a question, after a space; none if there are none.
/// Brackets without a comma are an aside.
pub fn guesses(question: &[u8]) -> &[u8] {
    let Some(inside) = question.trim_ascii_end().strip_suffix(b")") else { return b"" };
    let mut depth = 1;
    let opens = inside.iter().rposition(|byte| {
        depth += i32::from(*byte == b')') - i32::from(*byte == b'(');
        depth == 0
    });
    let Some((before, words)) = opens.map(|at| (&inside[..at], &inside[at + 1..])) else { return b"" };
    if before.ends_with(b" ") && words.contains(&b',') { words } else { b"" }
}

/// Whether a word, in lower case, says nothing about which line matters.
pub fn is_function_word(word: &str) -> bool {
    STOP.split_whitespace().any(|other| other == word)
}

/// The hash of a word.
pub fn fnv1a(token: &[u8]) -> u32 {
    token.iter().fold(0x811C_9DC5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

/// Splits identifiers at case changes, digits and punctuation; punctuation is dropped.
pub struct Subtokens<'a> {
    rest: &'a [u8],
}

impl<'a> Subtokens<'a> {
    /// Those of a text.
    pub fn of(text: &'a [u8]) -> Self {
        Self { rest: text }
    }
}

impl<'a> Iterator for Subtokens<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let begin = self.rest.iter().position(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii())?;
        let rest = &self.rest[begin..];
        let run = |class: fn(&u8) -> bool| rest.iter().take_while(|byte| class(byte)).count();
        let length = match rest[0] {
            b'A'..=b'Z' => {
                let upper = run(u8::is_ascii_uppercase);
                let lower = rest[upper..].iter().take_while(|byte| byte.is_ascii_lowercase()).count();
                match (upper, lower) {
                    (_, 0) => upper,
                    (1, _) => 1 + lower,
                    _ => upper - 1, // "HTTPServer": the last capital begins the next word
                }
            }
            b'a'..=b'z' => run(u8::is_ascii_lowercase),
            b'0'..=b'9' => run(u8::is_ascii_digit),
            _ => rest.iter().take_while(|byte| !byte.is_ascii()).count(),
        };
        let (token, rest) = rest.split_at(length);
        self.rest = rest;
        Some(token)
    }
}

/// A text and a question in numbers.
pub struct Document {
    /// Subtoken ids of each line.
    pub tokens: Vec<Vec<u32>>,
    /// Structure, then lexical features of each line.
    pub features: Vec<[f32; FEATURES + LEXICAL]>,
    /// The line that encloses each line by indentation; itself at the top.
    pub parent: Vec<usize>,
    /// Subtoken ids of the question.
    pub question: Vec<u32>,
    /// For each of them, its idf in this text, scaled.
    pub question_idf: Vec<f32>,
    /// If words that the code may use come with the question: how many of them stand within ten lines of one line, at the best such place, as a
    /// share of all, rare ones counting more (by idf).
    pub found: Option<f32>,
}

impl Document {
    /// Encodes lines (with or without terminators) and a question.
    pub fn new(lines: &[&str], question: &str, vocabulary: &Vocabulary) -> Self {
        let tokens: Vec<_> = lines.iter().map(|line| vocabulary.ids(line.as_bytes(), LINE_TOKENS)).collect();
        let guessed = vocabulary.guess_ids(question);
        let question = vocabulary.question_ids(question);
        let (mut features, parent) = line_features(lines);
        let stems = |ids: &[u32]| ids.iter().map(|id| vocabulary.stem(*id)).collect::<Vec<_>>();
        let words: Vec<_> = tokens.iter().map(|line| stems(line)).collect();
        let question_idf = lexical(&words, &stems(&question), &vocabulary.stop, &mut features);
        let found = (!guessed.is_empty()).then(|| found(&words, &stems(&guessed), &vocabulary.stop));
        Self { tokens, features, parent, question, question_idf, found }
    }
}

/// The structure features, and the enclosing line of each line.
fn line_features(lines: &[&str]) -> (Vec<[f32; FEATURES + LEXICAL]>, Vec<usize>) {
    let mut out = vec![[0.0; FEATURES + LEXICAL]; lines.len()];
    let mut parent: Vec<_> = (0..lines.len()).collect();
    let mut stack: Vec<(usize, usize)> = Vec::new(); // (line, indentation)
    for (i, line) in lines.iter().enumerate() {
        let text = line.trim_matches([' ', '\t', '\r', '\n']).as_bytes();
        let (Some(first), Some(last)) = (text.first(), text.last()) else {
            out[i][BLANK] = 1.0;
            out[i][7] = stack.len() as f32 / 6.0;
            continue;
        };
        let indent: usize = line
            .bytes()
            .map_while(|byte| match byte {
                b' ' => Some(1),
                b'\t' => Some(4),
                _ => None,
            })
            .sum();
        while stack.last().is_some_and(|top| top.1 >= indent) {
            stack.pop();
        }
        if let Some(top) = stack.last() {
            parent[i] = top.0;
        }
        let closer = b"})]".contains(first);
        if !closer {
            stack.push((i, indent));
        }
        let word = leading_word(text);
        let directive = *first == b'#' && among(leading_word(&text[1..]), IMPORT);
        let features = [
            indent.min(40) as f32 / 20.0,
            0.0,
            flag(among(word, HEADER)),
            flag(COMMENT.iter().any(|mark| text.starts_with(mark)) && !directive),
            text.len().min(240) as f32 / 80.0,
            flag(b":{([,".contains(last)),
            flag(closer),
            stack.len() as f32 / 6.0,
            flag(among(word, IMPORT) || directive),
            flag(among(word, LEAVE)),
            flag(among(word, CONTROL)),
            flag(text.starts_with(b"@") || text.starts_with(b"#[")),
            flag(text.starts_with(b"== ")),
        ];
        out[i][..FEATURES].copy_from_slice(&features);
    }
    (out, parent)
}

fn flag(condition: bool) -> f32 {
    f32::from(u8::from(condition))
}

fn leading_word(text: &[u8]) -> &[u8] {
    &text[..text.iter().take_while(|byte| byte.is_ascii_alphabetic()).count()]
}

fn among(word: &[u8], words: &str) -> bool {
    !word.is_empty() && words.split_whitespace().any(|other| other.as_bytes() == word)
}

/// BM25 of each line with the text's own document frequencies, written behind the structure features. Of tokens and question it takes the stems, as
/// people ask in one form for what code spells in another.
///
/// Columns: BM25 of the line, of +-3 and of +-10 lines (each divided by its maximum), the share of the question's idf mass on the line,
/// and within +-10 lines. Returns the idf of each question token in this text, divided by 8.
fn lexical(tokens: &[Vec<u32>], question: &[u32], stop: &[u32], features: &mut [[f32; FEATURES + LEXICAL]]) -> Vec<f32> {
    let n = tokens.len();
    let mut wanted: Vec<u32> = question.iter().copied().filter(|id| !stop.contains(id)).collect();
    wanted.sort_unstable();
    wanted.dedup();
    let filled = tokens.iter().filter(|line| !line.is_empty()).count().max(1);
    let average = (tokens.iter().map(Vec::len).sum::<usize>() as f64 / filled as f64).max(1.0);
    let norm: Vec<f64> = tokens.iter().map(|line| 1.2 * (0.25 + 0.75 * line.len() as f64 / average)).collect();
    let (mut score, mut here, mut near, mut mass) = (vec![0.0; n], vec![0.0; n], vec![0.0; n], 0.0);
    let mut idf_of = HashMap::new();
    for id in wanted {
        let count: Vec<f64> = tokens.iter().map(|line| line.iter().filter(|token| **token == id).count() as f64).collect();
        let with = count.iter().filter(|tf| **tf > 0.0).count() as f64;
        let idf = (1.0 + (n as f64 - with + 0.5) / (with + 0.5)).ln();
        idf_of.insert(id, idf);
        mass += idf;
        if with == 0.0 {
            continue;
        }
        let present: Vec<f64> = count.iter().map(|tf| f64::from(u8::from(*tf > 0.0))).collect();
        let around = window_mean(&present, 10);
        for i in 0..n {
            score[i] += idf * 2.2 * count[i] / (count[i] + norm[i]);
            here[i] += idf * present[i];
            near[i] += if around[i] > 1e-9 { idf } else { 0.0 };
        }
    }
    let mass = if mass > 0.0 { mass } else { 1.0 };
    let smooth = [score.clone(), window_mean(&score, 3), window_mean(&score, 10)];
    for (column, values) in smooth.iter().enumerate() {
        let top = values.iter().copied().fold(0.0, f64::max);
        if top > 1e-9 {
            values.iter().zip(&mut *features).for_each(|(value, row)| row[FEATURES + column] = (value / top) as f32);
        }
    }
    for (row, (here, near)) in features.iter_mut().zip(here.iter().zip(&near)) {
        row[FEATURES + 3] = (here / mass) as f32;
        row[FEATURES + 4] = (near / mass) as f32;
    }
    question.iter().map(|id| (idf_of.get(id).copied().unwrap_or(0.0) / 8.0) as f32).collect()
}

/// How much of what was guessed the text has: see [`Document::found`].
fn found(tokens: &[Vec<u32>], guessed: &[u32], stop: &[u32]) -> f32 {
    let mut evidence = vec![[0.0; FEATURES + LEXICAL]; tokens.len()];
    lexical(tokens, guessed, stop, &mut evidence);
    best_place(&evidence)
}

/// The largest share of the idf mass of what was looked for that stands within ten lines of one.
pub fn best_place(features: &[[f32; FEATURES + LEXICAL]]) -> f32 {
    features.iter().map(|row| row[FEATURES + 4]).fold(0.0, f32::max)
}

/// Mean over `[i - half, i + half]`, divided by the full width at the ends too, so that they do not stand out.
fn window_mean(x: &[f64], half: usize) -> Vec<f64> {
    let mut sums = vec![0.0];
    sums.extend(x.iter().scan(0.0, |sum, value| {
        *sum += value;
        Some(*sum)
    }));
    (0..x.len()).map(|i| (sums[(i + half + 1).min(x.len())] - sums[i.saturating_sub(half)]) / (2 * half + 1) as f64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_come_apart_at_case_digits_and_punctuation() {
        let split = |text: &'static str| {
            Subtokens::of(text.as_bytes()).map(|t| String::from_utf8_lossy(t).into_owned()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(split("HTTPServer.get_item2(x, naïve) -> IO"), "HTTP Server get item 2 x na ï ve IO");
        assert_eq!(split("ABC aB Z9"), "ABC a B Z 9");
        assert_eq!(split("(); \n"), "");
    }

    #[test]
    fn guesses_are_what_is_in_brackets_at_the_end() {
        let of = |question: &'static str| String::from_utf8_lossy(guesses(question.as_bytes()));
        assert_eq!(of("Where is the delay capped? (backoff, sleep, max)\n"), "backoff, sleep, max");
        assert_eq!(of("(in ms) How is it capped (min(), unit (), sleep)"), "min(), unit (), sleep");
        for none in [
            "Where is the delay (in ms) capped?",
            "Is it capped? (in version 2)",
            "What calls retry(a, b)",
            "(a, b)",
            "a, b)",
            "capped (",
            ")",
            " (",
            "",
        ] {
            assert_eq!(of(none), "", "{none}");
        }
    }

    proptest::proptest! {
        #[test]
        fn of_any_brackets_guesses_are_a_part(question in "[ (),a?\n]{0,12}") {
            let words = guesses(question.as_bytes());
            let brackets = format!(" ({})", String::from_utf8_lossy(words));
            proptest::prop_assert!(words.is_empty() || question.trim_end().ends_with(&brackets), "{question:?}: {brackets:?}");
        }
    }

    #[test]
    fn of_guessed_words_it_counts_how_many_stand_near_each_other() {
        let vocabulary = Vocabulary::new("sleep\nbackoff\nother\nif\nhow");
        let mut lines = vec!["other"; 40];
        let found = |lines: &[&str], words: &str| Document::new(lines, &format!("delay ({words})"), &vocabulary).found;
        assert_eq!(found(&lines, "sleep, backoff"), Some(0.0));
        (lines[0], lines[39]) = ("sleep", "backoff");
        assert_eq!(found(&lines, "sleep, backoff"), Some(0.5));
        lines[8] = "backoff";
        assert!(found(&lines, "sleep, backoff") > Some(0.99));
        assert_eq!(found(&lines, "if, how"), None, "function words say nothing");
        assert_eq!(Document::new(&lines, "delay", &vocabulary).found, None);
    }

    #[test]
    fn evidence_counts_forms_of_one_word_as_that_word() {
        let vocabulary = Vocabulary::new("parse\nparser parse\nother");
        let document = Document::new(&["other", "the parser", "other parser"], "Who reads? (parser, parse)", &vocabulary);
        let evidence: Vec<_> = document.features.iter().map(|row| row[FEATURES]).collect();
        assert!(evidence[0] == 0.0 && evidence[1] == 1.0 && evidence[2] > 0.0, "{evidence:?}");
        assert_eq!(document.found, Some(1.0));
        assert_ne!(document.question[1], document.question[2], "the network reads the words themselves");
    }

    #[test]
    fn how_a_question_opens_is_not_read() {
        let vocabulary = Vocabulary::new("how\nis\ntime\nspent\nwhere");
        let same = |a: &str, b: &str| assert_eq!(vocabulary.question_ids(a), vocabulary.ids(b.as_bytes(), QUESTION_TOKENS), "{a}");
        same("How is time spent?", "time spent");
        same("Where time is spent", "time is spent");
        same("Is time spent?", "is time spent");
        same("Where is?", "where is");
    }

    #[test]
    fn of_a_long_question_the_beginning_and_the_end_are_read() {
        let vocabulary = Vocabulary::new("how\nis\nthe\nlock\nfreed");
        let words = |words: &str, times: usize| vec![words; times].join(" ");
        let long = format!("lock {} freed", words("the", 60));
        assert_eq!(vocabulary.question_ids(&long), vocabulary.ids(b"lock freed", 2), "function words go first");
        let long = format!("lock {} {} freed (spin, guard)", words("a b", 20), words("c", 60));
        let read = vocabulary.question_ids(&long);
        assert_eq!((read.len(), read[0]), (QUESTION_TOKENS, vocabulary.ids(b"lock", 1)[0]));
        assert_eq!(read[QUESTION_TOKENS - 3..], vocabulary.ids(b"freed spin guard", 3));
    }
}
