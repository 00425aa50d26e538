//! SWE-Pruner's `POST /prune`: an answer as its service gives it.
//!
//! Clients of the published service see no difference, so lines are split, scored, kept and joined by its rules and not by ours: lines end
//! where Python's `splitlines` ends them, blank lines are not counted as content, and a single line between two kept ones is kept.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::skim::protocol::{self, Request, Response};
use crate::skim::swe_pruner::prompt::LEAST_CODE;
use crate::skim::swe_pruner::{Scores, SwePruner, Token, Unscored, by_character, mean};
use crate::skim::{LONGEST_SKIMMED, SkimError, Skimmer, skim_safely};
use crate::tokens::o200k;

/// What answers requests.
#[derive(Clone)]
pub enum Pruner {
    /// The published model, token by token.
    Tokens(Arc<SwePruner>),
    /// Any skimmer, a line being one token.
    Lines(Arc<dyn Skimmer>),
}

impl Pruner {
    /// Answers a request.
    ///
    /// # Errors
    /// A model that is not there or fails.
    pub fn prune(&self, request: &Request, cancel: &CancellationToken) -> Result<Response, SkimError> {
        match self {
            Self::Lines(skimmer) => by_line(skimmer.as_ref(), request, cancel),
            Self::Tokens(pruner) => match pruner.score(&request.query, &request.code, request.chunk_overlap_tokens, cancel) {
                Ok(scores) => answer(request, scores, service_lines(&request.code), |text| pruner.tokens(text)),
                Err(Unscored::QueryTooLong { left, code_tokens }) => {
                    let why = format!(
                        "Query too long, insufficient space for code processing. Available code tokens: {left}, minimum required: {LEAST_CODE}."
                    );
                    Ok(unpruned(request, code_tokens, why))
                }
                Err(Unscored::Failed(error)) => Err(error),
            },
        }
    }

    /// Whether a request would be answered now.
    pub fn is_ready(&self) -> bool {
        match self {
            Self::Tokens(pruner) => pruner.is_loaded(),
            Self::Lines(_) => true,
        }
    }
}

/// An answer from the scores of lines. Clients mean "balanced" by 0.5, so that is where the skimmer's own threshold is moved.
fn by_line(skimmer: &dyn Skimmer, request: &Request, cancel: &CancellationToken) -> Result<Response, SkimError> {
    let lines: Vec<&str> = request.code.split_inclusive('\n').collect();
    if lines.len() > LONGEST_SKIMMED {
        return Err(SkimError::TooLong { lines: lines.len(), most: LONGEST_SKIMMED });
    }
    let code_tokens = o200k(&request.code);
    let input_tokens = code_tokens + o200k(&request.query);
    let count = |text: &str| Ok(o200k(text));
    let counted = protocol::lines(&request.code);
    if lines.is_empty() {
        return answer(request, Scores { relevance: 0.0, tokens: Vec::new(), code_tokens, input_tokens }, counted, count);
    }
    let scores = match skim_safely(skimmer, &lines, &request.query, cancel) {
        Err(SkimError::NoWords) => {
            return Ok(unpruned(request, code_tokens, "The query has no words; ask a complete question.".to_owned()));
        }
        scores => scores?,
    };
    if let Some(note) = &scores.note {
        tracing::warn!("{note}");
    }
    let log_odds = |p: f32| (f64::from(p).clamp(1e-6, 1.0 - 1e-6) / (1.0 - f64::from(p).clamp(1e-6, 1.0 - 1e-6))).ln();
    let shift = log_odds(scores.thresholds.balanced);
    let mut at = 0;
    let token = |(line, keep): (&&str, &f32)| {
        let from = at;
        at += line.chars().count();
        Token { word: (*line).to_owned(), at: (from, at), keep: 1.0 / (1.0 + (shift - log_odds(*keep)).exp()) }
    };
    let tokens = lines.iter().zip(&scores.keep).map(token).collect();
    let note = scores.note;
    let scores = Scores { relevance: f64::from(scores.answer), tokens, code_tokens, input_tokens };
    Ok(Response { note, ..answer(request, scores, counted, count)? })
}

/// Lines and where they begin for the service, to which a line end is one character also where it has two: in a text with CRLF it drifts away.
fn service_lines(code: &str) -> Vec<(usize, &str)> {
    let mut at = 0;
    let place = |(_, line): (usize, _)| {
        let start = at;
        at += str::chars(line).count() + 1;
        (start, line)
    };
    protocol::lines(code).into_iter().map(place).collect()
}

/// The mean score of each line's characters.
fn line_scores(code: &str, lines: &[(usize, &str)], tokens: &[Token]) -> Vec<Option<f64>> {
    let characters = by_character(tokens, code.chars().count());
    let score = |(from, line): &(usize, &str)| {
        let to = from + line.chars().count();
        mean(characters.get(*from..to.min(characters.len())).unwrap_or_default())
    };
    lines.iter().map(score).collect()
}

/// Answers a request from its scores; `lines` are its lines and where they begin, `count` gives the tokens of a text.
fn answer(
    request: &Request,
    scores: Scores,
    lines: Vec<(usize, &str)>,
    count: impl Fn(&str) -> Result<usize, SkimError>,
) -> Result<Response, SkimError> {
    let kept = kept(&line_scores(&request.code, &lines, &scores.tokens), request);
    let lines: Vec<&str> = lines.into_iter().map(|(_, line)| line).collect();
    let pruned_code = render(&lines, &kept);
    Ok(Response {
        score: scores.relevance,
        left_token_cnt: count(&pruned_code)?,
        pruned_code,
        token_scores: scores.tokens.into_iter().map(|token| (token.word, token.keep)).collect(),
        kept_frags: (1..=lines.len()).filter(|number| kept[number - 1]).collect(),
        origin_token_cnt: scores.code_tokens,
        model_input_token_cnt: scores.input_tokens,
        error_msg: None,
        note: None,
    })
}

/// The whole text, and why.
fn unpruned(request: &Request, code_tokens: usize, why: String) -> Response {
    Response {
        score: 0.0,
        pruned_code: request.code.clone(),
        token_scores: Vec::new(),
        kept_frags: (1..=protocol::lines(&request.code).len()).collect(),
        origin_token_cnt: code_tokens,
        left_token_cnt: code_tokens,
        model_input_token_cnt: 0,
        error_msg: Some(why),
        note: None,
    }
}

/// Which lines are kept: those that reach the threshold, the first if it is to be, and any single line between two of them.
fn kept(scores: &[Option<f64>], request: &Request) -> Vec<bool> {
    let chosen: Vec<bool> = scores
        .iter()
        .enumerate()
        .map(|(i, score)| i == 0 && request.always_keep_first_frags || score.is_some_and(|score| score >= request.threshold))
        .collect();
    let between = |i: usize| i > 0 && i + 1 < chosen.len() && chosen[i - 1] && chosen[i + 1];
    (0..chosen.len()).map(|i| chosen[i] || between(i)).collect()
}

/// Kept lines, and what was left out as a count where that is shorter than the lines themselves. Blank lines are always left out.
fn render(lines: &[&str], kept: &[bool]) -> String {
    let marker = |count: usize| format!("(filtered {count} lines)");
    let (mut out, mut left_out, mut characters) = (Vec::new(), 0, 0);
    for (i, line) in lines.iter().enumerate() {
        let blank = line.trim_matches(is_python_space).is_empty();
        if blank || !kept[i] {
            left_out += 1;
            characters += if blank { 0 } else { line.chars().count() };
            continue;
        }
        if left_out > 0 && characters > marker(0).len() {
            out.push(marker(left_out));
        } else {
            out.extend(lines[i - left_out..i].iter().map(|line| (*line).to_owned()));
        }
        (left_out, characters) = (0, 0);
        out.push((*line).to_owned());
    }
    if left_out > 0 {
        out.push(marker(left_out));
    }
    out.join("\n")
}

/// What Python's `str.strip` takes away.
fn is_python_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\x1c'..='\x1f')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_gaps_are_shown_and_long_ones_counted() {
        let lines = ["fn a() {", "", "    short", "}", "a line that is longer than its marker", "b", "", "c"];
        let kept = [true, false, false, true, false, true, false, false];
        assert_eq!(render(&lines, &kept), "fn a() {\n\n    short\n}\n(filtered 1 lines)\nb\n(filtered 2 lines)");
    }
}
