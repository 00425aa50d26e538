//! A faulty character in JSON is no reason not to read it.
//!
//! JavaScript writes half of a cut emoji as `\ud83d`, which no JSON parser takes, and some clients send bytes that are no UTF-8. Both become
//! the replacement character.

use std::borrow::Cow;

/// JSON without bytes that are no UTF-8 and escapes that are half a character.
pub fn mend(message: &[u8]) -> Cow<'_, [u8]> {
    let text = String::from_utf8_lossy(message);
    if !(text.contains("\\ud") || text.contains("\\uD")) {
        return match text {
            Cow::Borrowed(_) => message.into(),
            Cow::Owned(text) => text.into_bytes().into(),
        };
    }
    with_halves(&text, |_| REPLACEMENT.to_owned()).into_bytes().into()
}

/// The escape of the replacement character.
pub const REPLACEMENT: &str = "\\ufffd";

/// JSON with something else in the place of each escape that is half a character.
pub fn with_halves(text: &str, mut instead: impl FnMut(&str) -> String) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let length = match (unit(escape), escape.get(6..).and_then(unit)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (Some(0xd800..=0xdfff), _) => {
                out.push_str(&instead(&escape[..6]));
                rest = &escape[6..];
                continue;
            }
            // The backslash and what it escapes, which may be a backslash too.
            _ => 1 + escape[1..].chars().next().map_or(0, char::len_utf8),
        };
        out.push_str(&escape[..length]);
        rest = &escape[length..];
    }
    out + rest
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

    proptest! {
        #[test]
        fn whatever_comes_stays_what_it_is_if_it_was_json(text in "[a\\\\ud8cD3é\"n ]{0,40}") {
            let json = serde_json::to_string(&text).expect("JSON");
            prop_assert_eq!(mend(json.as_bytes()), json.as_bytes());
            mend(text.as_bytes());
        }
    }
}
