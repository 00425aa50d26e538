//! The languages whose structure is known, and what their grammars call the places where lines may be left out.

use std::borrow::Cow;
use std::cell::LazyCell;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tree_sitter::{Node, ParseOptions, ParseState, Parser, Tree};

use super::preprocessor::{blank, unread};

/// How long parsing may take: much longer than ordinary code of as many lines as are skimmed.
const LONGEST_PARSE: Duration = Duration::from_secs(3);
/// Longer texts are read in one way only, in bytes: a reading of so many takes a tenth of a second.
const LONGEST_READ_AGAIN: usize = 1 << 20;

/// A language with a grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Language {
    Bash,
    C,
    CSharp,
    Cpp,
    Go,
    Java,
    JavaScript,
    Kotlin,
    Php,
    Python,
    Ruby,
    Rust,
    Swift,
    Tsx,
    TypeScript,
}

use Language::*;

/// Nodes whose children are independent of each other, so that any of them can be left out: blocks, bodies, cases and literals.
/// The kinds of all grammars together; what few names mean two things, completion tells apart by the node.
const CONTAINERS: &[&str] = &[
    // whole files
    "module",
    "program",
    "source_file",
    "translation_unit",
    "compilation_unit",
    "ERROR",
    // blocks and bodies
    "block",
    "statement_list",
    "statement_block",
    "compound_statement",
    "declaration_list",
    "class_body",
    "interface_body",
    "object_type",
    "enum_body",
    "enum_body_declarations",
    "annotation_type_body",
    "constructor_body",
    "field_declaration_list",
    "enum_variant_list",
    "enumerator_list",
    "enum_declaration_list",
    "body_statement",
    "else",
    "ensure",
    "block_body",
    "then",
    "do",
    "begin",
    "interface_type",
    "function_body",
    "enum_class_body",
    "enum_member_declaration_list",
    "protocol_body",
    "accessor_list",
    "computed_property",
    "statements",
    "lambda_literal",
    "do_group",
    // cases
    "switch_body",
    "switch_block",
    "switch_block_statement_group",
    "match_block",
    "switch_case",
    "switch_default",
    "case_statement",
    "default_statement",
    "expression_switch_statement",
    "type_switch_statement",
    "select_statement",
    "expression_case",
    "type_case",
    "default_case",
    "communication_case",
    "switch_section",
    "when_expression",
    "case_item",
    // grouped declarations, and preprocessor branches
    "const_declaration",
    "var_declaration",
    "import_spec_list",
    "var_spec_list",
    "use_list",
    "preproc_if",
    "preproc_ifdef",
    "preproc_else",
    "preproc_elif",
    "jsx_element",
];
/// Containers that are one value: kept whole where they are short.
const LITERALS: &[&str] = &[
    "list",
    "dictionary",
    "set",
    "tuple",
    "object",
    "array",
    "array_expression",
    "literal_value",
    "array_initializer",
    "array_literal",
    "dictionary_literal",
    "initializer_expression",
    "initializer_list",
    "array_creation_expression",
    "hash",
    "field_initializer_list",
    "token_tree",
];
/// What a call is given: one argument says little of the others where they are many.
const ARGUMENTS: &[&str] = &["arguments", "argument_list", "value_arguments"];
/// Text whose lines are its parts.
const TEXTS: &[&str] = &[
    "string",
    "string_literal",
    "raw_string_literal",
    "template_string",
    "interpreted_string_literal",
    "encapsed_string",
    "heredoc",
    "heredoc_body",
    "nowdoc",
    "text_block",
    "verbatim_string_literal",
    "interpolated_string_expression",
    "multiline_string_literal",
    "multi_line_string_literal",
    "comment",
    "multiline_comment",
    "block_comment",
    "line_comment",
    "text",
    "string_content",
];
/// Branches that can be left out of their statement.
const ALTERNATIVES: &[&str] = &["elif_clause", "else_clause", "else_if_clause", "switch_entry"];
/// Written before what they belong to, as its siblings.
const PREFIXES: &[&str] = &["attribute_item", "decorator", "attribute_list"];

/// Definitions that may hold others. `struct_type` and `interface_type` are what Go's types are.
const HOLDERS: &[&str] = &[
    "class",
    "class_definition",
    "class_declaration",
    "abstract_class_declaration",
    "class_specifier",
    "singleton_class",
    "struct_item",
    "struct_specifier",
    "struct_type",
    "struct_declaration",
    "record_declaration",
    "union_item",
    "union_specifier",
    "enum_item",
    "enum_declaration",
    "enum_specifier",
    "interface_declaration",
    "interface_type",
    "annotation_type_declaration",
    "type_alias_declaration",
    "trait_item",
    "trait_declaration",
    "protocol_declaration",
    "object_declaration",
    "companion_object",
    "impl_item",
    "mod_item",
    "foreign_mod_item",
    "module",
    "internal_module",
    "namespace_definition",
    "namespace_declaration",
];
/// Definitions that hold no others which are worth a name.
const FUNCTIONS: &[&str] = &[
    "function_definition",
    "function_declaration",
    "function_item",
    "function_expression",
    "function_signature",
    "function_signature_item",
    "generator_function",
    "generator_function_declaration",
    "arrow_function",
    "method",
    "singleton_method",
    "method_definition",
    "method_declaration",
    "method_signature",
    "abstract_method_signature",
    "constructor_declaration",
    "compact_constructor_declaration",
    "secondary_constructor",
    "destructor_declaration",
    "init_declaration",
    "deinit_declaration",
    "protocol_function_declaration",
    "local_function_statement",
    "operator_declaration",
    "macro_definition",
    // what a property does when it is read
    "accessor_list",
    "computed_property",
    "getter",
];

/// What a node defines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Definer {
    /// Something that may hold other definitions.
    Holder,
    /// Something that is called.
    Function,
}

impl Definer {
    /// By the kind of the node.
    pub fn of(kind: &str) -> Option<Self> {
        let roles = [(HOLDERS, Self::Holder), (FUNCTIONS, Self::Function)];
        roles.into_iter().find(|(kinds, _)| kinds.contains(&kind)).map(|(_, role)| role)
    }
}

/// How completion treats a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Children may be left out one by one.
    Container,
    /// The same, but short ones are kept whole.
    Literal,
    /// The same, but short ones are as any other part of a statement.
    Arguments,
    /// Lines may be left out between the first and the last.
    Text,
    /// May be left out of its parent.
    Alternative,
    /// Goes with the sibling that follows it.
    Prefix,
    /// Kept with all its lines, but for the containers in it.
    Statement,
}

impl Role {
    /// The role of a node kind.
    pub fn of(kind: &str) -> Self {
        let roles = [
            (CONTAINERS, Self::Container),
            (LITERALS, Self::Literal),
            (ARGUMENTS, Self::Arguments),
            (TEXTS, Self::Text),
            (ALTERNATIVES, Self::Alternative),
            (PREFIXES, Self::Prefix),
        ];
        roles.into_iter().find(|(kinds, _)| kinds.contains(&kind)).map_or(Self::Statement, |(_, role)| role)
    }
}

impl Language {
    /// By file name.
    pub fn of(path: &str) -> Option<Self> {
        Some(match Path::new(path).extension()?.to_str()? {
            "c" | "h" => C,
            "cs" => CSharp,
            "cc" | "cpp" | "cxx" | "hpp" | "hh" | "hxx" | "cu" => Cpp,
            "go" => Go,
            "java" => Java,
            "js" | "jsx" | "mjs" | "cjs" => JavaScript,
            "kt" | "kts" => Kotlin,
            "php" => Php,
            "py" | "pyi" => Python,
            "rb" | "rake" => Ruby,
            "rs" => Rust,
            "sh" | "bash" => Bash,
            "swift" => Swift,
            "tsx" => Tsx,
            "ts" | "mts" | "cts" => TypeScript,
            _ => return None,
        })
    }

    /// Reads a text; none if that takes too long, as with thousands of lines that could each be read in many ways.
    ///
    /// C and C++ with errors are also read with one branch of each condition, and C, as headers of both are called `.h`, as C++: of these
    /// readings it is the one with the fewest errors.
    pub fn parse(self, text: &str) -> Option<Reading> {
        let began = Instant::now();
        let again = text.len() <= LONGEST_READ_AGAIN;
        let as_cpp = if again && self == C { Some(Cpp) } else { None };
        let one_branch = LazyCell::new(|| if again && self.has_preprocessor() { one_branch(text) } else { None });
        let mut best: Option<(usize, Reading)> = None;
        for grammar in [Some(self), as_cpp].into_iter().flatten() {
            for in_part in [false, true] {
                let (text, unread) = match &*one_branch {
                    _ if !in_part => (text, None),
                    Some((text, unread)) => (text.as_str(), Some(unread)),
                    None => continue,
                };
                let Some(tree) = grammar.tree(text, began) else { continue };
                let errors = errors(&tree);
                if best.as_ref().is_none_or(|(fewest, _)| errors < *fewest) {
                    best = Some((errors, Reading { grammar, tree, unread: unread.cloned().unwrap_or_default(), spent: Mutex::default() }));
                }
                if errors == 0 {
                    return best.map(|(_, reading)| reading);
                }
            }
        }
        best.map(|(_, reading)| reading)
    }

    fn tree(self, text: &str, began: Instant) -> Option<Tree> {
        let mut slow = |_: &ParseState| if began.elapsed() > LONGEST_PARSE { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
        let mut rest = |at: usize, _| text.as_bytes().get(at..).unwrap_or_default();
        self.parser().parse_with_options(&mut rest, None, Some(ParseOptions::new().progress_callback(&mut slow)))
    }

    fn parser(self) -> Parser {
        let grammar = match self {
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
            TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT,
        };
        let mut parser = Parser::new();
        parser.set_language(&grammar.into()).expect("the grammars are built for this tree-sitter");
        parser
    }

    /// Whether `#if` and its kin stand between lines.
    pub fn has_preprocessor(self) -> bool {
        matches!(self, C | Cpp | CSharp | Swift)
    }

    /// Nodes whose statements must not all be missing, so that a gap in one has to be read as a statement.
    pub fn never_empty(self) -> &'static [&'static str] {
        match self {
            Bash => &["compound_statement", "do_group", "if_statement", "elif_clause", "else_clause", "subshell"],
            Python => &["block", "module"],
            Swift => &["statements"],
            _ => &[],
        }
    }
}

/// A text with one branch of each condition that breaks what is around it, every other byte in its place, and which of its lines are unread.
fn one_branch(text: &str) -> Option<(String, Vec<bool>)> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let unread = unread(&lines)?;
    Some((lines.iter().zip(&unread).map(|(line, unread)| as_read(line, *unread)).collect(), unread))
}

fn as_read(line: &str, unread: bool) -> Cow<'_, str> {
    if unread { Cow::Owned(blank(line)) } else { Cow::Borrowed(line) }
}

/// A text as a grammar reads it.
pub struct Reading {
    /// C++ where that reads a header of C better.
    pub grammar: Language,
    /// The tree; bytes and lines are those of the text.
    pub tree: Tree,
    /// Which lines were not read, one flag a line; empty where all were.
    unread: Vec<bool>,
    /// How long some of its lines have been read again for: all of that together may take as long as one parse.
    spent: Mutex<Duration>,
}

impl Reading {
    /// A line of the text as it was read: spaces in place of one that was not.
    pub fn line<'a>(&self, number: usize, line: &'a str) -> Cow<'a, str> {
        as_read(line, self.unread.get(number).copied().unwrap_or_default())
    }

    /// Whether more than half of the text is in places that the grammar could not read.
    pub fn is_in_vain(&self) -> bool {
        let mut lost = 0;
        each_node(self.tree.root_node(), |node, _| {
            if node.is_error() {
                lost += node.end_byte() - node.start_byte();
            }
            node.has_error() && !node.is_error()
        });
        2 * lost > self.tree.root_node().end_byte()
    }

    /// The tree of some of these lines; none once that has taken too long.
    pub fn again(&self, lines: &str) -> Option<Tree> {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        let began = Instant::now().checked_sub(*spent)?;
        let tree = self.grammar.tree(lines, began);
        *spent = began.elapsed();
        tree
    }
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

/// Visits a node and what is in it, in order and without recursion, telling each node's parent's kind; children are visited where `visit`
/// says so.
pub fn each_node<'tree>(root: Node<'tree>, mut visit: impl FnMut(Node<'tree>, Option<&'tree str>) -> bool) {
    let mut cursor = root.walk();
    let mut parents: Vec<&'tree str> = Vec::new();
    loop {
        let node = cursor.node();
        let inside = visit(node, parents.last().copied());
        if inside && cursor.goto_first_child() {
            parents.push(node.kind());
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
