//! SWE-Pruner's `POST /prune`: its messages, and the lines they count.

use serde::{Deserialize, Serialize};

use super::swe_pruner::OVERLAP;

/// A text to prune.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Request {
    /// What the reader wants to know.
    pub query: String,
    /// The text.
    pub code: String,
    /// Lines at or above it are kept.
    #[serde(default = "half")]
    pub threshold: f64,
    /// Whether the first line is kept in any case.
    #[serde(default)]
    pub always_keep_first_frags: bool,
    /// Tokens that neighbouring chunks of a long text share.
    #[serde(default = "overlap")]
    pub chunk_overlap_tokens: usize,
}

impl Request {
    /// A request with the protocol's defaults.
    pub fn new(query: &str, code: String) -> Self {
        Self { query: query.to_owned(), code, threshold: half(), always_keep_first_frags: false, chunk_overlap_tokens: overlap() }
    }
}

fn half() -> f64 {
    0.5
}

fn overlap() -> usize {
    OVERLAP
}

/// A pruned text.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Response {
    /// The probability that the text has to do with the query.
    pub score: f64,
    /// The text, `(filtered N lines)` where lines were left out.
    pub pruned_code: String,
    /// Each token and its score.
    pub token_scores: Vec<(String, f64)>,
    /// Numbers of the kept lines, from 1.
    pub kept_frags: Vec<usize>,
    /// Tokens of the text.
    pub origin_token_cnt: usize,
    /// Tokens of the pruned text.
    pub left_token_cnt: usize,
    /// Tokens of the whole prompt.
    pub model_input_token_cnt: usize,
    /// Why nothing was pruned, if nothing was.
    pub error_msg: Option<String>,
    /// What a reader should know about where the scores are from. The published service has no such field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Lines of a text as Python's `str.splitlines` has them, without what ends them, each with its place in the text, in characters.
pub fn lines(text: &str) -> Vec<(usize, &str)> {
    let ends = |c: char| matches!(c, '\n' | '\r' | '\x0b' | '\x0c' | '\x1c'..='\x1e' | '\u{85}' | '\u{2028}' | '\u{2029}');
    let mut lines = Vec::new();
    let (mut rest, mut at) = (text, 0);
    while let Some((length, end)) = rest.char_indices().find(|(_, c)| ends(*c)) {
        let (line, after) = rest.split_at(length);
        let ending = if after.starts_with("\r\n") { 2 } else { 1 };
        lines.push((at, line));
        at += line.chars().count() + ending;
        rest = if ending == 2 { &after[2..] } else { &after[end.len_utf8()..] };
    }
    if !rest.is_empty() {
        lines.push((at, rest));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_where_python_ends_them() {
        assert_eq!(lines("ä\r\nb\rc\u{2028}d\x0c\n\ne"), [(0, "ä"), (3, "b"), (5, "c"), (7, "d"), (9, ""), (10, ""), (11, "e")]);
        assert_eq!(lines("a\n"), [(0, "a")]);
        assert!(lines("").is_empty());
    }
}
