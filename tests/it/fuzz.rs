//! Texts that nobody writes, in every language: whatever a grammar does with one, the reader gets its lines.
//!
//! ```text
//! cargo test --test it fuzz -- --nocapture                                        a minute, from the same seed
//! CODESKIM_FUZZ_SECONDS=3600 CODESKIM_FUZZ_SEED=7 cargo test --release --test it fuzz -- --nocapture
//! ```
//!
//! Each text follows from the seed and its number, which are printed where it ends a child in a way that no limit explains.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use codeskim::prune::code::Code;
use codeskim::prune::render::LONGEST_LINE;
use codeskim::prune::{Decision, FocusQuestion, Limits, Material, Piece, View, decide, pieces};
use codeskim::skim::{LineScores, SkimError, Skimmer, Thresholds};
use codeskim::syntax::{Language, Reader, Unread};
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tokio_util::sync::CancellationToken;

use crate::common::{BINARY, REPOSITORY};
use crate::structure::FILES;

/// What opens, ends or disturbs something in some language.
const TOKENS: &[&str] = &[
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "<",
    ">",
    "\"",
    "'",
    "`",
    "/*",
    "*/",
    "//",
    "#",
    "\"\"\"",
    "'''",
    "${",
    "#{",
    "<<",
    "<<-EOF",
    "<<~'A'",
    "EOF",
    "->",
    "=>",
    "::",
    "?",
    ":",
    "a<b,",
    "a<b|",
    "(a)-",
    "if(a){",
    "if x:",
    "if x; then",
    "fi",
    "do",
    "done",
    "end",
    "begin",
    "case",
    "esac",
    "def f",
    "class A",
    "fn f()",
    "r#\"",
    "R\"x(",
    "@a",
    "@",
    "%(",
    "%w[",
    "$(",
    "$((",
    "\\",
    ";",
    ",",
    ".",
    "..",
    "...",
    "=",
    "==",
    "&&",
    "||",
    "!",
    "~",
    "#if 0",
    "#else",
    "#endif",
    "#define A \\",
    "<?php",
    "?>",
    "<a>",
    "</a>",
    "<a b={",
    "f\"{",
    "lambda x:",
    "async",
    "await",
    "yield",
    "\\u{",
    "0x",
    "1e",
    "'''\\",
];
/// Characters that scanners may not have been tried with.
const CHARACTERS: &[char] =
    &['\0', '\t', '\r', '\u{b}', '\u{c}', '\u{85}', 'é', 'ß', '…', '“', '\u{200b}', '\u{2028}', '\u{feff}', '𝕏', '\u{f0301}', '\u{10ffff}'];
const ENDINGS: [&str; 15] = ["c", "cpp", "cs", "go", "java", "js", "kt", "php", "py", "rb", "rs", "sh", "swift", "tsx", "ts"];

/// Scores lines by their number and the seed's, so that every view is another one.
struct Arbitrary(u64);

impl Skimmer for Arbitrary {
    fn skim(&self, lines: &[&str], _: &str, _: &CancellationToken) -> Result<LineScores, SkimError> {
        let mut random = ChaCha8Rng::seed_from_u64(self.0);
        let share = random.random_range(0.01..0.4);
        let keep = lines.iter().map(|_| if random.random_bool(share) { 0.9 } else { 0.1 }).collect();
        let thresholds = Thresholds { strict: 0.7, balanced: 0.5, generous: 0.3, answer: 0.2, doubt: 0.3 };
        Ok(LineScores { keep, answer: random.random_range(0.1..1.0), thresholds, note: None })
    }
}

/// Some lines of a file.
fn part(files: &[String], random: &mut ChaCha8Rng) -> String {
    let lines: Vec<&str> = files.choose(random).expect("files").split_inclusive('\n').collect();
    let from = random.random_range(0..lines.len());
    let to = random.random_range(from..lines.len().min(from + 120)) + 1;
    lines[from..to].concat()
}

/// A number that is small more often than not.
fn few(most: usize, random: &mut ChaCha8Rng) -> usize {
    let most = [4, 40, most].choose(random).copied().expect("sizes").min(most);
    random.random_range(1..=most)
}

/// A text made of real code, opened, cut off, nested and spliced.
fn text(files: &[String], random: &mut ChaCha8Rng) -> String {
    let mut text = if random.random_bool(0.2) { String::new() } else { part(files, random) };
    for _ in 0..random.random_range(1..6) {
        let piece = match random.random_range(0..6) {
            0 => part(files, random),
            1 => {
                let (token, end) = (TOKENS.choose(random).expect("tokens"), ["", "\n", " "].choose(random).expect("ends"));
                format!("{token}{end}").repeat(few(8000, random))
            }
            2 => {
                let tokens: Vec<&str> = (0..few(4, random)).map(|_| *TOKENS.choose(random).expect("tokens")).collect();
                format!("{}{}", tokens.concat(), if random.random_bool(0.5) { "\n" } else { "" }).repeat(few(3000, random))
            }
            3 => (0..few(60, random)).map(|i| format!("{}{}\n", " ".repeat(i * 2), TOKENS.choose(random).expect("tokens"))).collect(),
            4 => (0..few(30, random)).map(|_| *CHARACTERS.choose(random).expect("characters")).collect(),
            _ => {
                let word: String = (0..few(600, random)).map(|_| random.random_range('A'..='Z')).collect();
                format!("{}{word}", TOKENS.choose(random).expect("tokens"))
            }
        };
        let at = (0..=text.len()).filter(|at| text.is_char_boundary(*at)).collect::<Vec<_>>();
        text.insert_str(*at.choose(random).expect("a place"), &piece);
    }
    if random.random_bool(0.3) {
        let end = (0..=text.len()).filter(|at| text.is_char_boundary(*at)).collect::<Vec<_>>();
        text.truncate(*end.choose(random).expect("a place"));
    }
    text
}

/// Whether what is shown and the gaps are the lines, in the view as it is read.
fn is_partition(code: &Code<'_>, kept: &[bool], view: &str) -> bool {
    let lines = code.lines();
    let mut rest = view;
    let mut next = 0;
    for piece in pieces(kept) {
        let range = match piece {
            Piece::Lines(range) => {
                for line in &lines[range.clone()] {
                    if line.chars().count() > LONGEST_LINE {
                        rest = rest.split_once('\n').map_or("", |(_, behind)| behind); // it is cut
                        continue;
                    }
                    let Some(behind) = rest.strip_prefix(line) else { return false };
                    rest = behind;
                    if !line.ends_with('\n') {
                        rest = rest.strip_prefix('\n').unwrap_or(rest);
                    }
                }
                range
            }
            Piece::Gap(range) => {
                let Some((gap, behind)) = rest.split_once('\n') else { return false };
                let numbers = if range.len() == 1 { format!("{}", range.start + 1) } else { format!("{}-{}", range.start + 1, range.end) };
                let said = gap.trim_start_matches('⋮').trim_start();
                if !gap.starts_with('⋮') || said.split(':').next() != Some(numbers.as_str()) {
                    return false;
                }
                rest = behind;
                range
            }
        };
        if range.start != next {
            return false;
        }
        next = range.end;
    }
    rest.trim_end_matches('\n').is_empty() && next == lines.len()
}

#[test]
fn fuzz() {
    let setting = |name: &str| std::env::var(name).ok().map(|value| value.parse::<u64>().expect("a number"));
    let (seed, seconds) = (setting("CODESKIM_FUZZ_SEED").unwrap_or(1), setting("CODESKIM_FUZZ_SECONDS").unwrap_or(60));
    let first = setting("CODESKIM_FUZZ_FIRST").unwrap_or(0);
    let files: Vec<String> = FILES.iter().map(|path| std::fs::read_to_string(Path::new(REPOSITORY).join(path)).expect("a file")).collect();
    let reader = Arc::new(Reader::guarded(BINARY.into()));
    let (cancel, began) = (CancellationToken::new(), Instant::now());
    let (mut texts, mut bytes, mut views, mut slowest) = (0, 0, 0, Duration::ZERO);
    let mut lost = BTreeMap::<String, usize>::new();
    for number in first.. {
        if began.elapsed() > Duration::from_secs(seconds) {
            break;
        }
        let mut random = ChaCha8Rng::seed_from_u64(seed.wrapping_mul(1 << 32).wrapping_add(number));
        let text = text(&files, &mut random);
        let ending = ENDINGS.choose(&mut random).expect("endings");
        let name = format!("a.{ending}");
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let at = Instant::now();
        let access = reader.access(&cancel);
        let code = Code::new(&name, &lines, 0, &access);
        if let Err(why) = access.read(Language::of(&name).expect("a grammar"), &text) {
            *lost.entry(format!("{ending}: {why}")).or_default() += 1;
            if why == Unread::Crashed {
                println!("text {number} of seed {seed} ({ending}, {} bytes) ended its child", text.len());
            }
        }
        let question = FocusQuestion::new("Where is it cached, and who calls get_value() or EVICT?").expect("a question");
        let limits = Limits { most: *[20_000, 1_000_000].choose(&mut random).expect("limits"), ..Limits::default() };
        let decision = decide(&code, &question, &Arbitrary(number), &limits, &cancel).expect("a decision");
        assert!(!matches!(decision, Decision::Failed(_)), "text {number} of seed {seed} ({ending}): {decision:?}");
        if let Decision::Partial(View { kept, pointers, .. }) | Decision::Unanswered(View { kept, pointers, .. }) = &decision {
            let view = code.view(kept, pointers);
            assert!(is_partition(&code, kept, &view), "text {number} of seed {seed} ({ending}):\n{view}");
            views += 1;
        }
        (texts, bytes, slowest) = (texts + 1, bytes + text.len(), slowest.max(at.elapsed()));
    }
    println!("{texts} texts of {} kB, {views} views, all of them right; the slowest took {slowest:?}", bytes / 1000);
    println!("children lost: {lost:?}");
    assert!(views > 0);
}
