//! What grammars tell of a text, as plain data: definitions, statements with their headers and brackets, imports, whether it parses.
//!
//! Grammars are C, and a text can make one crash, take all memory or never end. So they run in child processes of this program
//! ([`children`], [`worker`]), and nothing outside of [`grammar`] knows tree-sitter. What a child sends is checked before it is believed.

pub mod children;
pub mod component;
pub mod grammar;
mod language;
pub mod message;
mod names;
pub mod preprocessor;
mod reader;
mod sandbox;
pub mod worker;

use std::borrow::Cow;
use std::ops::Range;

use serde::{Deserialize, Serialize};

pub use self::children::Unread;
pub use self::language::Language;
pub use self::names::Names;
use self::preprocessor::blank;
pub use self::reader::{Access, Reader};

/// Parts in each other, at most: deeper ones are whole, as no code that people write goes there, and the stack is not endless.
pub const DEEPEST: usize = 400;
/// Definitions in each other, at most.
pub const MOST_LEVELS: usize = 64;

/// Imports of a text, at most, and names of the path of one.
pub const MOST_IMPORTS: usize = 4000;
/// See [`MOST_IMPORTS`].
pub const MOST_NAMES: usize = 32;
/// Dots of a relative import, at most.
const MOST_DOTS: usize = 2000;

/// What a grammar tells of a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Syntax {
    /// The grammar that read it: C++ where that reads a header of C better.
    pub grammar: Language,
    /// Whether it has places that the grammar could not read.
    pub has_errors: bool,
    /// Whether those are more than half of it.
    pub in_vain: bool,
    /// Whether it has what the grammar takes and the language does not: statements of Python 2, and blocks without any.
    pub outdated: bool,
    /// Runs of lines that were not read, in order: branches of conditions that cannot be read together, and what is no script of a component.
    pub unread: Vec<Range<usize>>,
    /// Of lines that were read in part, what was, in order.
    pub partly: Vec<Place>,
    /// Lines on which a statement of a block begins, in order, in a language in which a block must not be empty. A gap there is read as one.
    pub begins: Vec<usize>,
    /// The tree of statements, each part before those in it.
    pub parts: Vec<Part>,
    /// Definitions in order, each before those in it.
    pub definitions: Vec<Definition>,
    /// What it asks for, in order.
    pub imports: Vec<Import>,
}

/// A part of a statement, or a block, as far as views have to tell its lines apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Its first line, 0-based.
    pub start: u32,
    /// The line after its last one.
    pub end: u32,
    /// What stays of it where it stays.
    pub stays: Stays,
    /// Whether it can be left out of what it is in.
    pub optional: bool,
    /// Whether it goes with the part that follows it, as an attribute does.
    pub prefix: bool,
    /// Whether it is a comment, and so about what follows it.
    pub comment: bool,
    /// How many of the parts after it are in it.
    pub within: u32,
}

/// What stays of a part that stays in a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stays {
    /// All its lines.
    Whole,
    /// The first and the last: it is text.
    Ends,
    /// What stays of the parts in it.
    Parts,
    /// The same, and nothing where none of its lines is wanted.
    Wanted,
}

impl Part {
    /// Its lines.
    pub fn lines(&self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// A line, and bytes of it.
pub type Place = (usize, Range<usize>);

/// Something with a name of its own: a type, a function, a namespace, a value of a file or a type; none that a function has inside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Definition {
    /// What it is.
    pub kind: Kind,
    /// Where its name is, if that is on one line.
    pub name: Option<Place>,
    /// Where the type is that it says it belongs to, as an `impl`, a method of Go and `Store::get` do.
    pub of: Option<Place>,
    /// The lines of its signature; those after it are its body.
    pub header: Range<usize>,
    /// All its lines.
    pub lines: Range<usize>,
    /// The first line of what belongs to it: decorators, attributes and comments right above it, or its own first line.
    pub from: usize,
    /// The lines of what is said about it: the comments right before it, in Python its docstring.
    pub doc: Option<Range<usize>>,
    /// The names of what it calls, each once, in order; of a function.
    pub calls: Vec<String>,
    /// How many definitions are around it; a namespace that C# puts around all of a file is none.
    pub level: usize,
    /// How many of the definitions after it are in it.
    pub within: usize,
    /// What it offers to other files.
    pub offer: Option<Offer>,
}

/// What a definition is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// May hold other definitions.
    Holder,
    /// Is called.
    Function,
    /// Any other.
    Value,
}

/// What a definition offers, on a line each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// `def foo(x, y=1) -> int`, `pub fn new(…) -> Self`, …
    pub signature: String,
    /// The first line of its documentation with words in it.
    pub doc: Option<String>,
    /// Whether it is a member of the definition around it.
    pub member: bool,
}

/// One import, as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Import {
    /// Python's `import module` and `from ..module import name`.
    Python {
        /// Dots before the module.
        dots: usize,
        /// The module after them, if one is named.
        module: String,
        /// What is imported from it, if it is not the module itself.
        name: Option<String>,
    },
    /// Rust's `mod name;`
    Module(String),
    /// Rust's `use a::b;`, part by part.
    Use(Vec<String>),
    /// A path or a name in the language's own terms.
    Named(String),
}

impl Syntax {
    /// A line of the text as it was read: spaces in place of one that was not.
    pub fn line<'a>(&self, number: usize, line: &'a str) -> Cow<'a, str> {
        let run = self.unread.partition_point(|run| run.end <= number);
        let is_unread = self.unread.get(run).is_some_and(|run| run.start <= number);
        let from = self.partly.partition_point(|(of, _)| *of < number);
        let mut parts = self.partly[from..].iter().take_while(|(of, _)| *of == number).peekable();
        if !is_unread && parts.peek().is_none() {
            return Cow::Borrowed(line);
        }
        let mut read = blank(line);
        for (_, bytes) in parts {
            if let Some(part) = line.get(bytes.clone()).filter(|_| read.is_char_boundary(bytes.start) && read.is_char_boundary(bytes.end)) {
                read.replace_range(bytes.clone(), part);
            }
        }
        Cow::Owned(read)
    }

    /// Whether a statement of a block begins on a line.
    pub fn begins_at(&self, line: usize) -> bool {
        self.begins.binary_search(&line).is_ok()
    }

    /// Bytes that it takes in memory, about.
    pub fn size(&self) -> usize {
        let of_import = |import: &Import| match import {
            Import::Python { module, name, .. } => module.len() + name.as_ref().map_or(0, String::len),
            Import::Use(names) => names.iter().map(|name| name.len() + size_of::<String>()).sum(),
            Import::Module(name) | Import::Named(name) => name.len(),
        };
        let of_definition = |it: &Definition| {
            let calls: usize = it.calls.iter().map(|name| name.len() + size_of::<String>()).sum();
            size_of::<Definition>()
                + calls
                + it.offer.as_ref().map_or(0, |offer| offer.signature.len() + offer.doc.as_ref().map_or(0, String::len))
        };
        self.parts.len() * size_of::<Part>()
            + self.unread.len() * size_of::<Range<usize>>()
            + self.partly.len() * size_of::<Place>()
            + self.begins.len() * size_of::<usize>()
            + self.definitions.iter().map(of_definition).sum::<usize>()
            + self.imports.iter().map(|import| size_of::<Import>() + of_import(import)).sum::<usize>()
    }

    /// Whether this can be of a text of so many lines: what a child sends is used only then.
    pub fn is_of(&self, lines: usize) -> bool {
        let inside = |range: &Range<usize>| range.start <= range.end && range.end <= lines;
        let on_line = |place: &Option<Place>| place.as_ref().is_none_or(|(line, bytes)| *line < lines && bytes.start <= bytes.end);
        let fits = |it: &Definition| {
            inside(&it.lines)
                && it.lines.start == it.header.start
                && it.from <= it.lines.start
                && it.header.start < it.header.end
                && it.header.end <= it.lines.end
                && on_line(&it.name)
                && on_line(&it.of)
                && it.doc.as_ref().is_none_or(inside)
        };
        let is_short = |import: &Import| match import {
            Import::Python { dots, .. } => *dots <= MOST_DOTS,
            Import::Use(names) => names.len() <= MOST_NAMES,
            Import::Module(_) | Import::Named(_) => true,
        };
        self.unread.iter().all(inside)
            && self.partly.iter().all(|(line, bytes)| *line < lines && bytes.start <= bytes.end)
            && self.partly.is_sorted_by_key(|(line, _)| *line)
            && self.begins.len() <= lines
            && self.imports.len() <= MOST_IMPORTS
            && self.imports.iter().all(is_short)
            && self.unread.is_sorted_by_key(|run| run.end)
            && self.begins.is_sorted()
            && self.parts.iter().all(|part| part.start <= part.end && part.end as usize <= lines)
            && nests(self.parts.iter().map(|part| part.within as usize), self.parts.len(), DEEPEST + 2)
            && self.definitions.iter().all(fits)
            && nests(self.definitions.iter().map(|it| it.within), self.definitions.len(), MOST_LEVELS + 1)
    }
}

/// Whether each of `count` things holds only what is in what it is in itself, `deepest` levels of them.
fn nests(within: impl Iterator<Item = usize>, count: usize, deepest: usize) -> bool {
    let mut open: Vec<usize> = Vec::new();
    within.enumerate().all(|(i, within)| {
        while open.pop_if(|end| *end <= i).is_some() {}
        let Some(end) = i.checked_add(1 + within).filter(|end| *end <= open.last().copied().unwrap_or(count)) else { return false };
        open.push(end);
        open.len() <= deepest
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_of_a_text_is_not_believed() {
        let text = "def f():\n    return [\n        1,\n    ]\nclass A:\n    def g(self):\n        pass\n";
        let good = grammar::read(Language::Python, text);
        assert!(good.is_of(7) && !good.is_of(3));
        let mut longer = good.clone();
        longer.parts[0].within += 1;
        assert!(!longer.is_of(7));
        let mut deeper = good.clone();
        deeper.parts = (0..1000).map(|i| Part { within: 999 - i, ..good.parts[0] }).collect();
        assert!(!deeper.is_of(7));
        let mut beyond = good.clone();
        beyond.definitions[0].name = Some((7, 0..1));
        assert!(!beyond.is_of(7));
        let mut backwards = good;
        backwards.definitions[0].header = Range { start: 1, end: 0 };
        assert!(!backwards.is_of(7));
    }
}
