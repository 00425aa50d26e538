//! A name as it is asked for: `get`, `Store.get`, `Store::get`, `a.b.Store`.

use crate::error::{Error, Result, quote};

/// Longer names are none, in characters.
const LONGEST: usize = 200;

/// What is looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// As it was asked for.
    pub asked: String,
    /// Its own name.
    pub name: String,
    /// What it is in, or belongs to, the innermost last.
    pub owners: Vec<String>,
}

impl Query {
    /// Reads a name.
    ///
    /// # Errors
    /// What cannot be a name, in a sentence.
    pub fn new(asked: &str) -> Result<Self> {
        let asked = asked.trim();
        let bad = || Error::bad_argument(format!("{} is no name; give one such as Store.get, Store::get or get.", quote(asked)));
        let bare = asked.trim_end_matches("()").trim_end_matches('!');
        let mut parts: Vec<String> = bare.split(['.', ':', '#']).filter(|part| !part.is_empty()).map(str::to_owned).collect();
        let is_name = |part: &String| part.chars().all(|c| c.is_alphanumeric() || "_$~?!=@-".contains(c));
        if asked.chars().count() > LONGEST || !parts.iter().all(is_name) {
            return Err(bad());
        }
        let name = parts.pop().filter(|name| name.chars().any(|c| c.is_alphanumeric() || c == '_')).ok_or_else(bad)?;
        Ok(Self { asked: asked.to_owned(), name, owners: parts })
    }

    /// Its owners, as they are compared.
    pub fn owners(&self) -> Vec<&str> {
        self.owners.iter().map(String::as_str).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_apart() {
        let of = |asked: &str| Query::new(asked).map(|query| format!("{} in {}", query.name, query.owners.join(",")));
        assert_eq!(of("Store::get()").expect("a name"), "get in Store");
        assert_eq!(of(" a.b.Store ").expect("a name"), "Store in a,b");
        assert_eq!(of("Array#each?").expect("a name"), "each? in Array");
        assert_eq!(of("vec!").expect("a name"), "vec in ");
        for bad in ["", "..", "a b", "def get(self):", "x/y.rs", &"a".repeat(300)] {
            assert!(of(bad).is_err(), "{bad}");
        }
    }
}
