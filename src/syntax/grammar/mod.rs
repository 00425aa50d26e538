//! Reading a text with its grammar: the only module that knows tree-sitter, whose trees do not leave it.
//!
//! It is trusted with nothing: whatever it does to the process it runs in, [`super::children`] has other ones.

mod calls;
mod definitions;
mod harmless;
mod imports;
mod kinds;
mod signatures;
mod statements;
mod values;

use std::cell::LazyCell;
use std::ops::Range;

use tree_sitter::{Node, Parser, Tree};

use super::component::{self, Block, Scripts};
use super::preprocessor::{blank, unread};
use super::{Import, Language, MOST_IMPORTS, Place, Syntax};

/// Longer texts are read in one way only, in bytes: a reading of so many takes a tenth of a second.
const LONGEST_READ_AGAIN: usize = 1 << 20;

/// Reads a text.
///
/// C and C++ with errors are also read with one branch of each condition, and C, as headers of both are called `.h`, as C++: of these
/// readings it is the one with the fewest errors. Of components only the scripts are read.
pub fn read(language: Language, text: &str) -> Syntax {
    read_then(language, text, |syntax| syntax)
}

/// [`read`], with what is done before the tree's memory is given back: that takes a tenth of the time, and nobody should wait for it.
pub fn read_then<T>(language: Language, text: &str, act: impl FnOnce(Syntax) -> T) -> T {
    let lines = text.split_inclusive('\n').count();
    let text: &str = &harmless::ended(text);
    let component = language.is_component().then(|| Reading::of_component(language, text));
    let (mut reading, scripts) =
        component.map_or_else(|| (Reading::of(language, text), None), |(reading, scripts)| (reading, Some(scripts)));
    let text = scripts.as_ref().map_or(text, |scripts| scripts.text.as_str());
    let has_options = language == Language::Vue;
    let language = if scripts.is_some() { reading.grammar } else { language };
    let mut imports = imports::imports(language, text, reading.tree.root_node());
    if let Some(scripts) = scripts.as_ref() {
        (reading.unread, reading.partly) = (scripts.unread.clone(), scripts.partly.clone());
        imports.extend(scripts.sources.iter().cloned().map(Import::Named));
        imports.truncate(MOST_IMPORTS);
    }
    let root = reading.tree.root_node();
    act(Syntax {
        grammar: reading.grammar,
        has_errors: root.has_error(),
        in_vain: is_in_vain(root),
        outdated: language == Language::Python && is_outdated(root),
        begins: statements::begins(reading.grammar, root, lines),
        parts: statements::parts(root, lines),
        definitions: definitions::of(reading.grammar, has_options, text, root, lines),
        imports,
        unread: std::mem::take(&mut reading.unread),
        partly: std::mem::take(&mut reading.partly),
    })
}

/// The line of the first place of a text that its grammar cannot read; 0-based.
pub fn first_error(grammar: Language, text: &str) -> Option<usize> {
    let tree = tree(grammar, text);
    let mut row = None;
    each_node(tree.root_node(), |node, _| {
        if row.is_none() && (node.is_error() || node.is_missing()) {
            row = Some(node.start_position().row);
        }
        row.is_none() && node.has_error()
    });
    row
}

/// A text as a grammar reads it.
struct Reading {
    /// C++ where that reads a header of C better.
    grammar: Language,
    /// The tree; bytes and lines are those of the text.
    tree: Tree,
    /// Runs of lines that were not read.
    unread: Vec<Range<usize>>,
    /// Of lines that were read in part, what was.
    partly: Vec<Place>,
}

impl Reading {
    fn new(grammar: Language, tree: Tree) -> Self {
        Self { grammar, tree, unread: Vec::new(), partly: Vec::new() }
    }

    /// The scripts of a component. One that does not parse by itself is not read where it takes others along.
    fn of_component(language: Language, text: &str) -> (Self, Scripts) {
        let mut blocks = component::blocks(language, text);
        let scripts = component::scripts(text, &blocks);
        let reading = Self::of_script(&scripts.text);
        if text.len() > LONGEST_READ_AGAIN || !reading.goes_over(&blocks) {
            return (reading, scripts);
        }
        blocks.retain(|block| !Self::of_script(&text[block.code.clone()]).tree.root_node().has_error());
        let scripts = component::scripts(text, &blocks);
        (Self::of_script(&scripts.text), scripts)
    }

    /// Whether anything begins in one block and ends in another.
    fn goes_over(&self, blocks: &[Block]) -> bool {
        let root = self.tree.root_node();
        let over = |node: Node<'_>| {
            let first = blocks.partition_point(|block| block.code.end <= node.start_byte());
            blocks.get(first + 1).is_some_and(|next| next.code.start < node.end_byte())
        };
        let mut found = false;
        each_node(root, |node, parent| {
            found |= node.has_error() && (parent.is_some() || node.is_error()) && over(node);
            !found && node.has_error()
        });
        found
    }

    /// Scripts of a component. Elements in them are what its language may call TypeScript, and a grammar of its own reads.
    fn of_script(text: &str) -> Self {
        let first = Self::new(Language::TypeScript, tree(Language::TypeScript, text));
        let fewest = errors(&first.tree);
        if fewest == 0 {
            return first;
        }
        let other = Self::new(Language::Tsx, tree(Language::Tsx, text));
        if errors(&other.tree) < fewest { other } else { first }
    }

    fn of(language: Language, text: &str) -> Self {
        let first = tree(language, text);
        let mut fewest = errors(&first);
        let mut best = Self::new(language, first);
        if fewest == 0 || text.len() > LONGEST_READ_AGAIN {
            return best;
        }
        let one_branch = LazyCell::new(|| if language.has_preprocessor() { one_branch(text) } else { None });
        let as_cpp = (language == Language::C).then_some(Language::Cpp);
        for grammar in [Some(language), as_cpp].into_iter().flatten() {
            for in_part in [false, true] {
                let (text, unread) = match &*one_branch {
                    _ if !in_part && grammar == language => continue, // as it was first
                    _ if !in_part => (text, &[][..]),
                    Some((text, unread)) => (text.as_str(), unread.as_slice()),
                    None => continue,
                };
                let tree = tree(grammar, text);
                let errors = errors(&tree);
                if errors < fewest {
                    (fewest, best) = (errors, Self { unread: unread.to_vec(), ..Self::new(grammar, tree) });
                }
                if fewest == 0 {
                    return best;
                }
            }
        }
        best
    }
}

fn tree(grammar: Language, text: &str) -> Tree {
    let text = harmless::text(grammar, text);
    parser(grammar).parse(text.as_bytes(), None).expect("a language is set, and nothing ends it early")
}

fn parser(grammar: Language) -> Parser {
    use Language::*;
    let grammar = match grammar {
        Bash => tree_sitter_bash::LANGUAGE,
        C => tree_sitter_c::LANGUAGE,
        CSharp => tree_sitter_c_sharp::LANGUAGE,
        Cpp => tree_sitter_cpp::LANGUAGE,
        Go => tree_sitter_go::LANGUAGE,
        Java => tree_sitter_java::LANGUAGE,
        JavaScript => tree_sitter_javascript::LANGUAGE,
        Kotlin => tree_sitter_kotlin_ng::LANGUAGE,
        Php => tree_sitter_php::LANGUAGE_PHP,
        Python => tree_sitter_python::LANGUAGE,
        Ruby => tree_sitter_ruby::LANGUAGE,
        Rust => tree_sitter_rust::LANGUAGE,
        Swift => tree_sitter_swift::LANGUAGE,
        Tsx => tree_sitter_typescript::LANGUAGE_TSX,
        Astro | Svelte | TypeScript | Vue => tree_sitter_typescript::LANGUAGE_TYPESCRIPT,
    };
    let mut parser = Parser::new();
    parser.set_language(&grammar.into()).expect("the grammars are built for this tree-sitter");
    parser
}

/// A text with one branch of each condition that breaks what is around it, every other byte in its place, and which runs of lines are unread.
fn one_branch(text: &str) -> Option<(String, Vec<Range<usize>>)> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let unread = unread(&lines)?;
    let mut read = String::with_capacity(text.len());
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (i, line) in lines.iter().enumerate() {
        if !unread[i] {
            read.push_str(line);
            continue;
        }
        read.push_str(&blank(line));
        match runs.last_mut() {
            Some(run) if run.end == i => run.end += 1,
            _ => runs.push(i..i + 1),
        }
    }
    Some((read, runs))
}

/// How many places of a text its grammar could not read.
fn errors(tree: &Tree) -> usize {
    let mut found = 0;
    each_node(tree.root_node(), |node, _| {
        found += usize::from(node.is_error() || node.is_missing());
        node.has_error()
    });
    found
}

/// Whether more than half of the text is in places that the grammar could not read.
fn is_in_vain(root: Node<'_>) -> bool {
    let mut lost = 0;
    each_node(root, |node, _| {
        if node.is_error() {
            lost += node.end_byte() - node.start_byte();
        }
        node.has_error() && !node.is_error()
    });
    2 * lost > root.end_byte()
}

/// What the grammar takes and Python 3 does not.
fn is_outdated(root: Node<'_>) -> bool {
    let mut found = false;
    each_node(root, |node, _| {
        found |= matches!(node.kind(), "print_statement" | "exec_statement") || node.kind() == "block" && node.named_child_count() == 0;
        imports::holds_statements(node.kind())
    });
    found
}

/// The lines of a node. Swift's statements end where the next line begins to say something.
fn rows(node: Node<'_>) -> Range<usize> {
    let (start, end) = (node.start_position().row, node.end_position().row);
    if start == end {
        return start..start + 1;
    }
    let mut last = node;
    while matches!(last.kind(), "statements" | "switch_entry")
        && let Some(inner) = last_child(last)
    {
        last = inner;
    }
    let end = last.end_position();
    let last = if end.column == 0 && end.row > start { end.row - 1 } else { end.row };
    start..last + 1
}

fn last_child(node: Node<'_>) -> Option<Node<'_>> {
    node.child(node.child_count().checked_sub(1)?)
}

fn last_named_child(node: Node<'_>) -> Option<Node<'_>> {
    node.named_child(node.named_child_count().checked_sub(1)? as u32)
}

/// Visits a node and what is in it, in order and without recursion, telling each node's parent; children are visited where `visit` says so.
fn each_node<'tree>(root: Node<'tree>, mut visit: impl FnMut(Node<'tree>, Option<Node<'tree>>) -> bool) {
    let mut cursor = root.walk();
    let mut parents: Vec<Node<'tree>> = Vec::new();
    loop {
        let node = cursor.node();
        let inside = visit(node, parents.last().copied());
        if inside && cursor.goto_first_child() {
            parents.push(node);
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return;
            }
            parents.pop();
        }
    }
}
