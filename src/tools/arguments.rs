//! Arguments as agents write them: blank, quoted, one where a list is asked for.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// Reads a text that may be blank where it is left out: some agents fill in every argument.
pub fn lenient_text<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Option<String>, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.filter(|text| !text.trim().is_empty()))
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
        Number::Text(text) if text.trim().is_empty() => Ok(None),
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
            "" => Ok(None),
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
        List::One(text) => Some(text).filter(|text| !text.trim().is_empty()).map(|text| vec![text]),
        List::Nothing(()) => None,
    })
}
