//! Any server that speaks SWE-Pruner's `POST /prune`: the published one, faster models behind vLLM, or another codeskim.

use std::io::Read as _;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use ureq::http::StatusCode;
use ureq::{Agent, Body};

use super::protocol::{self, Request, Response};
use super::swe_pruner::{THRESHOLDS, Token, of_lines};
use super::{LineScores, SkimError, Skimmer, joined};
use crate::error::{Error, Result, quote, shorten};

/// Longer texts are not sent, in bytes.
const LARGEST_TEXT: usize = 8 << 20;
/// Longer answers are not read, in bytes.
const LARGEST_ANSWER: u64 = 256 << 20;
/// How long a server that failed is left alone, so that it costs one timeout and not one a call.
const LEFT_ALONE: Duration = Duration::from_secs(30);
/// Bytes that are read of what a server says went wrong.
const LONGEST_REASON: u64 = 4096;
/// How far from a probability a score may be by rounding.
const ROUNDING: f64 = 1e-3;
/// Before the one retry of a call that was refused or interrupted.
const PAUSE: Duration = Duration::from_millis(100);

/// A server that scores lines. A call that is withdrawn while the server is at work ends with its answer or its timeout.
pub struct Remote {
    agent: Agent,
    url: String,
    token: Option<String>,
    timeout: Duration,
    down_until: Mutex<Option<Instant>>,
}

/// What went wrong with a call.
struct Failed {
    what: String,
    /// Whether another call may go better at once.
    again: bool,
    /// Whether it is the server that failed, and not this call.
    down: bool,
}

impl Remote {
    /// A server by its address, with or without `/prune`; each call takes `timeout` at most. `token` is sent as a bearer token.
    ///
    /// # Errors
    /// An address that is none.
    pub fn new(url: &str, token: Option<String>, timeout: Duration) -> Result<Self> {
        let is_address = |rest: &str| !rest.is_empty() && !rest.contains(['?', '#']) && url.parse::<ureq::http::Uri>().is_ok();
        let parts = url.split_once("://").filter(|(_, rest)| is_address(rest)).map(|(scheme, rest)| (scheme.to_ascii_lowercase(), rest));
        let Some((scheme, rest)) = parts.filter(|(scheme, _)| ["http", "https"].contains(&scheme.as_str())) else {
            let message = format!("{} is not the address of a server; give one such as http://localhost:8000.", quote(url));
            return Err(Error::bad_argument(message));
        };
        if rest.contains('@') {
            return Err(Error::bad_argument(
                "The server's address has a password in it; give its bearer token as CODESKIM_REMOTE_TOKEN instead.",
            ));
        }
        if token.as_ref().is_some_and(|token| token.contains(|c: char| !c.is_ascii_graphic())) {
            return Err(Error::bad_argument("CODESKIM_REMOTE_TOKEN has characters in it that no token has, such as a line end."));
        }
        let rest = rest.trim_end_matches('/');
        let rest = rest.strip_suffix("/prune").unwrap_or(rest);
        let config = Agent::config_builder().max_redirects(0).http_status_as_error(false).build();
        Ok(Self { agent: config.into(), url: format!("{scheme}://{rest}/prune"), token, timeout, down_until: Mutex::new(None) })
    }

    fn ask(&self, request: &Request, until: Instant) -> std::result::Result<Response, Failed> {
        let left = until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        let mut post = self.agent.post(&self.url).config().timeout_global(Some(left)).build();
        if let Some(token) = &self.token {
            post = post.header("Authorization", &format!("Bearer {token}"));
        }
        let interrupted = |error: ureq::Error| {
            let how = if matches!(error, ureq::Error::Json(_)) { "answered in another protocol" } else { "did not answer" };
            let again = !matches!(error, ureq::Error::Timeout(_) | ureq::Error::Json(_));
            Failed { what: format!("the server at {} {how} ({error})", self.url), again, down: true }
        };
        let mut response = post.send_json(request).map_err(interrupted)?;
        let status = response.status();
        if status == StatusCode::OK {
            return response.body_mut().with_config().limit(LARGEST_ANSWER).read_json().map_err(interrupted);
        }
        let again = matches!(status, StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT);
        let why = if status == StatusCode::UNAUTHORIZED {
            "; set CODESKIM_REMOTE_TOKEN to its token".to_owned()
        } else {
            reason(response.body_mut())
        };
        Err(Failed { what: format!("the server at {} answered {status}{why}", self.url), again, down: false })
    }

    /// Asks, once more where that may help and within the same time; a server that is gone is then left alone for a while.
    fn ask_patiently(&self, request: &Request, cancel: &CancellationToken) -> std::result::Result<Response, SkimError> {
        let began = Instant::now();
        {
            let mut down_until = self.down_until();
            match *down_until {
                Some(until) if until > began => {
                    return Err(SkimError::Remote(format!("the server at {} did not answer before and is asked again later", self.url)));
                }
                Some(_) => *down_until = Some(began + self.timeout.max(LEFT_ALONE)), // this call alone asks again
                None => {}
            }
        }
        let answer = self.ask(request, began + self.timeout).or_else(|failed| {
            if !failed.again || cancel.is_cancelled() {
                return Err(failed);
            }
            std::thread::sleep(PAUSE);
            self.ask(request, began + self.timeout)
        });
        let gone = answer.as_ref().is_err_and(|failed| failed.down);
        *self.down_until() = gone.then(|| Instant::now() + LEFT_ALONE);
        answer.map_err(|failed| SkimError::Remote(failed.what))
    }

    fn down_until(&self) -> MutexGuard<'_, Option<Instant>> {
        self.down_until.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a server says went wrong.
fn reason(body: &mut Body) -> String {
    let mut begin = Vec::new();
    let _ = body.as_reader().take(LONGEST_REASON).read_to_end(&mut begin); // what has come says something, too
    let text = String::from_utf8_lossy(&begin);
    if text.trim().is_empty() { String::new() } else { format!(": {}", shorten(text.trim())) }
}

impl Skimmer for Remote {
    fn skim(&self, lines: &[&str], question: &str, cancel: &CancellationToken) -> std::result::Result<LineScores, SkimError> {
        let (code, contents) = joined(lines);
        if code.len() > LARGEST_TEXT {
            return Err(SkimError::Remote(format!("{} MB are too much to send to a server", code.len() >> 20)));
        }
        let request = Request::new(question, code);
        if cancel.is_cancelled() {
            return Err(SkimError::Cancelled);
        }
        let response = self.ask_patiently(&request, cancel)?;
        if let Some(error) = response.error_msg {
            return Err(SkimError::Remote(format!("the server could not prune this: {}", shorten(&error))));
        }
        if response.token_scores.iter().any(|(_, score)| !(-ROUNDING..=1.0 + ROUNDING).contains(score)) {
            return Err(SkimError::Remote(format!("the server at {} answered with scores that are no probabilities", self.url)));
        }
        let keep = line_scores(&response, &request.code, &contents)
            .ok_or_else(|| SkimError::Remote(format!("the server at {} answered about another text", self.url)))?;
        // A codeskim behind this one says so where its own skimmer failed.
        let note = response.note.as_deref().map(shorten);
        Ok(LineScores { keep, answer: response.score as f32, thresholds: THRESHOLDS, note })
    }
}

/// The scores of lines from those of their tokens, where the tokens spell the text; else from the lines that the server kept.
fn line_scores(response: &Response, code: &str, contents: &[Range<usize>]) -> Option<Vec<f32>> {
    if let Some(tokens) = spelt(&response.token_scores, code) {
        return Some(of_lines(&tokens, contents));
    }
    let mut keep = vec![0.0; contents.len()];
    let numbered = protocol::lines(code);
    for number in &response.kept_frags {
        let (start, _) = numbered.get(number.checked_sub(1)?)?;
        keep[contents.partition_point(|content| content.start <= *start) - 1] = 1.0;
    }
    Some(keep)
}

/// The tokens with their places, if together they are the text: as they are, or in the letters that byte-level vocabularies have for bytes.
fn spelt(tokens: &[(String, f64)], code: &str) -> Option<Vec<Token>> {
    let as_they_are = |word: &str| Some(word.as_bytes().to_vec());
    let in_letters = |word: &str| word.chars().map(byte_of).collect::<Option<Vec<u8>>>();
    [&as_they_are as &dyn Fn(&str) -> Option<Vec<u8>>, &in_letters].into_iter().find_map(|bytes| {
        let starts: Vec<usize> = code.char_indices().map(|(at, _)| at).chain([code.len()]).collect();
        let character = |byte: usize| starts.partition_point(|start| *start <= byte) - 1;
        let mut at = 0;
        let mut out = Vec::new();
        for (word, keep) in tokens {
            let bytes = bytes(word)?;
            if code.as_bytes().get(at..at + bytes.len()) != Some(&bytes) {
                return None;
            }
            let to = at + bytes.len();
            out.push(Token { word: word.clone(), at: (character(at), starts.partition_point(|start| *start < to)), keep: *keep });
            at = to;
        }
        (at == code.len()).then_some(out)
    })
}

/// The byte that a letter of a byte-level vocabulary stands for: printable Latin-1 is itself, the rest is numbered from U+0100 on.
fn byte_of(letter: char) -> Option<u8> {
    let printable = |byte: u8| matches!(byte, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff);
    match u32::from(letter) {
        code @ 0..=0xff => u8::try_from(code).ok().filter(|byte| printable(*byte)),
        code => (0..=255).filter(|byte| !printable(*byte)).nth(code as usize - 0x100),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_found_in_the_text_in_either_spelling() {
        let at = |tokens: &[&str], code: &str| {
            let tokens: Vec<_> = tokens.iter().map(|word| ((*word).to_owned(), 0.5)).collect();
            spelt(&tokens, code).map(|tokens| tokens.into_iter().map(|token| token.at).collect::<Vec<_>>())
        };
        assert_eq!(at(&["fn a", "\n"], "fn a\n"), Some(vec![(0, 4), (4, 5)]));
        assert_eq!(at(&["fn", "Ġ", "Ã©", "Ċ"], "fn é\n"), Some(vec![(0, 2), (2, 3), (3, 4), (4, 5)]));
        assert_eq!(at(&["fn", "Ġ", "Ã", "©"], "fn é"), Some(vec![(0, 2), (2, 3), (3, 4), (3, 4)]));
        assert_eq!(at(&["fn"], "fn a"), None);
    }
}
