//! Arguments as agents write them: blank, quoted, one where a list is asked for.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// What some agents write for an argument that they leave out.
const ABSENT: [&str; 6] = ["", "null", "none", "nil", "undefined", "nan"];

/// Whether a text stands for an argument that is left out.
fn is_absent(text: &str) -> bool {
    ABSENT.iter().any(|absent| text.trim().eq_ignore_ascii_case(absent))
}

/// Reads a text that may be blank, or a word for nothing, where it is left out: some agents fill in every argument.
pub fn lenient_text<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Option<String>, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.filter(|text| !is_absent(text)))
}

/// Reads a whole number that may be blank where it is left out, and may have come as a string or with a fraction of zero: some agents write theirs so.
pub fn lenient_number<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Option<usize>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "a whole number from 0 up is needed")]
    enum Number {
        Whole(usize),
        Fraction(f64),
        Text(String),
        Nothing(()),
    }
    let whole = |number: f64| (number >= 0.0 && number.fract() == 0.0).then_some(number as usize); // the largest stands for more
    let wrong = |what: String| D::Error::custom(format!("{what} is not a whole number from 0 up"));
    match Deserialize::deserialize(deserializer)? {
        Number::Whole(number) => Ok(Some(number)),
        Number::Fraction(number) => whole(number).map(Some).ok_or_else(|| wrong(number.to_string())),
        Number::Text(text) if is_absent(&text) => Ok(None),
        Number::Text(text) => text.trim().parse().ok().and_then(whole).map(Some).ok_or_else(|| wrong(crate::error::quote(&text))),
        Number::Nothing(()) => Ok(None),
    }
}

/// Reads yes or no, which may have come as a string.
pub fn lenient_flag<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Option<bool>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "true or false is needed")]
    enum Flag {
        Plain(bool),
        Text(String),
        Nothing(()),
    }
    match Deserialize::deserialize(deserializer)? {
        Flag::Plain(flag) => Ok(Some(flag)),
        Flag::Text(text) => match text.trim() {
            text if is_absent(text) => Ok(None),
            text => text.to_lowercase().parse().map(Some).map_err(|_| D::Error::custom("true or false is needed")),
        },
        Flag::Nothing(()) => Ok(None),
    }
}

/// Reads a list that may have come as its only element, or written out in a string.
pub fn lenient_list<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Option<Vec<String>>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "a list of texts is needed")]
    enum List {
        Several(Vec<String>),
        One(String),
        Nothing(()),
    }
    Ok(match Deserialize::deserialize(deserializer)? {
        List::Several(texts) => Some(texts),
        List::One(text) if text.trim_start().starts_with('[') => Some(serde_json::from_str(&text).unwrap_or_else(|_| vec![text])),
        List::One(text) => Some(text).filter(|text| !is_absent(text)).map(|text| vec![text]),
        List::Nothing(()) => None,
    })
}

/// Reads texts that may have come as their only one; blank ones are left out.
pub fn lenient_texts<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Vec<String>, D::Error> {
    Ok(lenient_list(deserializer)?.unwrap_or_default().into_iter().filter(|text| !is_absent(text)).collect())
}

/// Lines of a file: the first, and the last unless they go on to its end; from 1.
pub type Lines = (usize, Option<usize>);

/// Reads runs of lines: `12-40,200-230`, `12-`, `12`.
///
/// # Errors
/// What is none, in a sentence.
pub fn ranges(text: &str) -> std::result::Result<Vec<Lines>, String> {
    let bad = |part: &str| format!("{} is no range of lines; give some such as 12-40,200-230 or 12-", crate::error::quote(part));
    let range = |part: &str| {
        let number = |text: &str| text.trim().parse::<usize>().map_err(|_| bad(part));
        match part.trim().split_once('-') {
            None => number(part).map(|line| (line, Some(line))),
            Some((from, "")) => Ok((number(from)?, None)),
            Some((from, to)) => Ok((number(from)?, Some(number(to)?))),
        }
    };
    text.split([',', ';']).filter(|part| !part.trim().is_empty()).map(range).collect()
}

/// Reads [`ranges`] that may have come as a number or as a list.
pub fn lenient_ranges<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Vec<Lines>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "lines such as \"12-40,200-230\" are needed")]
    enum Ranges {
        Text(String),
        Number(usize),
        Several(Vec<Ranges>),
        Nothing(()),
    }
    fn text(ranges: Ranges) -> String {
        match ranges {
            Ranges::Text(text) => text.trim().trim_matches(['[', ']', '"']).replace("\"", ""),
            Ranges::Number(number) => number.to_string(),
            Ranges::Several(several) => several.into_iter().map(text).collect::<Vec<_>>().join(","),
            Ranges::Nothing(()) => String::new(),
        }
    }
    let text = text(Deserialize::deserialize(deserializer)?);
    if is_absent(&text) { Ok(Vec::new()) } else { ranges(&text).map_err(D::Error::custom) }
}

/// Reads names that may have come as one text with commas between them.
pub fn lenient_names<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Vec<String>, D::Error> {
    let names = lenient_list(deserializer)?.unwrap_or_default();
    let names: Vec<String> = names.iter().flat_map(|name| name.split(',')).map(|name| name.trim().to_owned()).collect();
    let is_left_out = names.len() == 1 && is_absent(&names[0]);
    Ok(names.into_iter().filter(|name| !name.is_empty() && !is_left_out).collect())
}
