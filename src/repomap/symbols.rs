//! What a file offers to a map: the signatures of its top level with their members, and the first line of what is said about each.

use crate::syntax::{Definition, Offer};

/// A function, class or the like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    /// `def foo(x, y=1) -> int`, `pub fn new(…) -> Self`, …
    pub signature: String,
    /// The first line of its documentation.
    pub doc: Option<String>,
    /// Whether it is a member of the symbol before it.
    pub member: bool,
}

impl Symbol {
    /// As a line of the map, in the study's form.
    pub fn line(&self) -> String {
        let colon = if self.signature.starts_with("class ") { ":" } else { " :" };
        let doc = self.doc.as_ref().map(|doc| format!("{colon} \"{}\"", doc.replace('"', "'"))).unwrap_or_default();
        format!("{}- {}{doc}", if self.member { "  " } else { "" }, self.signature)
    }
}

/// The symbols of a file in their order: after each its members, then the types in it.
pub fn symbols(definitions: &[Definition]) -> Vec<Symbol> {
    let mut out = Vec::new();
    add(definitions, &mut out);
    out
}

fn add(definitions: &[Definition], out: &mut Vec<Symbol>) {
    for (definition, inner) in beside_each_other(definitions) {
        let Some(offer) = &definition.offer else {
            add(inner, out); // as of a namespace
            continue;
        };
        if offer.member {
            continue;
        }
        out.push(symbol(offer));
        out.extend(beside_each_other(inner).filter_map(|(member, _)| member.offer.as_ref()).filter(|offer| offer.member).map(symbol));
        add(inner, out);
    }
}

/// The definitions that are in none of the others, each with those in it.
fn beside_each_other(definitions: &[Definition]) -> impl Iterator<Item = (&Definition, &[Definition])> {
    let mut rest = definitions;
    std::iter::from_fn(move || {
        let (first, behind) = rest.split_first()?;
        let (inner, after) = behind.split_at(first.within.min(behind.len()));
        rest = after;
        Some((first, inner))
    })
}

fn symbol(Offer { signature, doc, member }: &Offer) -> Symbol {
    Symbol { signature: signature.clone(), doc: doc.clone(), member: *member }
}
