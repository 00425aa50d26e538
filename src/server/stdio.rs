//! Standard input, mended: a message with a faulty character in it is a request all the same, and would otherwise never be answered.
//!
//! JavaScript writes half of a cut emoji as `\ud83d`, which no JSON parser takes, and some clients send bytes that are no UTF-8. Both become
//! the replacement character. A request that cannot be read even so, but for its id, becomes one that is answered with what is wrong.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream, duplex};

/// Longer messages go on as they are, in bytes.
const LONGEST: u64 = 1 << 20;

/// The method of a request that takes the place of one which cannot be read; its `problem` says why.
pub const UNREADABLE: &str = "unreadable";

/// The same stream of lines, each mended.
pub fn mended(input: impl AsyncRead + Send + Unpin + 'static) -> DuplexStream {
    let (mut to, from) = duplex(1 << 16);
    tokio::spawn(async move {
        let mut input = BufReader::new(input);
        let mut begins = true; // a message, and not the rest of a long one
        loop {
            let mut part = Vec::new();
            match (&mut input).take(LONGEST).read_until(b'\n', &mut part).await {
                Ok(1..) => {}
                Ok(0) | Err(_) => return,
            }
            let ends = part.ends_with(b"\n");
            let part = if begins && ends { answerable(mend(&part)) } else { part.into() };
            begins = ends;
            if to.write_all(&part).await.is_err() {
                return;
            }
        }
    });
    from
}

/// A message as it is, or what is answered in place of a request that nobody could read.
fn answerable(message: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    /// Of a request what can be read whatever the rest is: numbers out of range and endless nesting are no hindrance.
    #[derive(Deserialize)]
    struct Request {
        id: Value,
        #[serde(rename = "method")]
        _method: IgnoredAny,
    }
    let problem = match serde_json::from_slice::<Value>(&message) {
        Err(error) => format!("The request is not valid JSON: {error}."),
        Ok(read) => match read.get("params") {
            Some(params) if !params.is_object() && !params.is_null() => "params is no object.".to_owned(),
            Some(params) if params.get("_meta").is_some_and(|meta| !meta.is_object()) => "params._meta is no object.".to_owned(),
            _ => return message,
        },
    };
    match serde_json::from_slice(&message) {
        Ok(Request { id, .. }) if id.is_number() || id.is_string() => {
            let request = json!({ "jsonrpc": "2.0", "id": id, "method": UNREADABLE, "params": { "problem": problem } });
            format!("{request}\n").into_bytes().into()
        }
        _ => message,
    }
}

/// A message without bytes that are no UTF-8 and escapes that are half a character.
pub(super) fn mend(message: &[u8]) -> Cow<'_, [u8]> {
    let text = String::from_utf8_lossy(message);
    if !(text.contains("\\ud") || text.contains("\\uD")) {
        return match text {
            Cow::Borrowed(_) => message.into(),
            Cow::Owned(text) => text.into_bytes().into(),
        };
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_ref();
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let length = match (unit(escape), escape.get(6..).and_then(unit)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (Some(0xd800..=0xdfff), _) => {
                out.push_str("\\ufffd");
                rest = &escape[6..];
                continue;
            }
            // The backslash and what it escapes, which may be a backslash too.
            _ => 1 + escape[1..].chars().next().map_or(0, char::len_utf8),
        };
        out.push_str(&escape[..length]);
        rest = &escape[length..];
    }
    out.push_str(rest);
    out.into_bytes().into()
}

/// The UTF-16 unit of an escape that a text begins with.
fn unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn half_characters_are_replaced_and_whole_ones_stay() {
        let mended = |text: &str| String::from_utf8(mend(text.as_bytes()).into_owned()).expect("UTF-8");
        assert_eq!(mended(r#""a \ud83d b""#), r#""a \ufffd b""#);
        assert_eq!(mended(r#""\uDE00\ud83d\ude00\uD83D""#), r#""\ufffd\ud83d\ude00\ufffd""#);
        assert_eq!(mended(r#""a \\ud83d \\\ud83d""#), r#""a \\ud83d \\\ufffd""#);
        assert_eq!(mend(b"\"caf\xe9\"").as_ref(), "\"caf\u{fffd}\"".as_bytes());
    }

    #[test]
    fn what_cannot_be_read_is_answered_if_it_has_an_id() {
        let sent = |text: &str| String::from_utf8(answerable(text.as_bytes().into()).into_owned()).expect("UTF-8");
        for (request, problem) in [
            (r#"{"id":7,"method":"x","params":{"a":1e400}}"#.to_owned(), "number out of range"),
            (format!(r#"{{"method":"x","params":{}{},"id":7}}"#, "[".repeat(5000), "]".repeat(5000)), "recursion limit"),
            (r#"{"id":7,"method":"x","params":[1]}"#.to_owned(), "params is no object"),
            (r#"{"id":7,"method":"x","params":{"_meta":5}}"#.to_owned(), "params._meta is no object"),
        ] {
            let answer: Value = serde_json::from_str(&sent(&request)).expect("JSON");
            assert_eq!((&answer["id"], &answer["method"]), (&json!(7), &json!(UNREADABLE)));
            assert!(answer["params"]["problem"].as_str().expect("a text").contains(problem), "{answer}");
        }
        for fine in [r#"{"id":7,"method":"x","params":{}}"#, r#"{"id":7,"method":"x"}"#, r#"{"method":"x","params":{"a":1e400}}"#, "{"] {
            assert_eq!(sent(fine), fine);
        }
    }

    proptest! {
        #[test]
        fn whatever_comes_stays_what_it_is_if_it_was_json(text in "[a\\\\ud8cD3é\"n ]{0,40}") {
            let json = serde_json::to_string(&text).expect("JSON");
            prop_assert_eq!(mend(json.as_bytes()), json.as_bytes());
            mend(text.as_bytes());
        }
    }
}
