//! Tokens, as the two vocabularies that matter here count them.

use tiktoken_rs::CoreBPE;

/// Bytes of text whose tokens are counted at once: the tokenizer gives up on a run of a million blanks.
const AT_ONCE: usize = 100_000;

/// o200k tokens of a text, what agents pay for it. A long one is counted in parts; a seam costs a token at most.
pub fn o200k(text: &str) -> usize {
    count(tiktoken_rs::o200k_base_singleton(), text)
}

/// cl100k tokens of a text, in which the study of repository maps counts. Long ones as with [`o200k`].
pub fn cl100k(text: &str) -> usize {
    count(tiktoken_rs::cl100k_base_singleton(), text)
}

fn count(vocabulary: &CoreBPE, text: &str) -> usize {
    let (mut count, mut rest) = (0, text);
    while !rest.is_empty() {
        let end = (0..=AT_ONCE.min(rest.len())).rev().find(|at| rest.is_char_boundary(*at)).unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        count += vocabulary.encode_ordinary(part).len();
        rest = after;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_of_any_text_are_counted() {
        assert_eq!((o200k(""), o200k("fn main() {}\n"), cl100k("fn main() {}\n")), (0, 4, 4));
        assert!(o200k(&format!("a{}b", " ".repeat(1_200_000))) > 2);
        let text = "let größe = 日本(🦀);\n".repeat(20_000);
        let whole = tiktoken_rs::o200k_base_singleton().encode_ordinary(&text).len();
        assert!(o200k(&text).abs_diff(whole) < 20);
    }
}
