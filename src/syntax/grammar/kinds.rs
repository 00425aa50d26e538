//! What the grammars call the places where lines may be left out, and what defines something.

use tree_sitter::Node;

use crate::syntax::Language;

/// Something told of each kind of node, by the kind's number in its grammar, as far as it has been asked for: names of kinds are slow to compare.
pub struct ByKind<T>(Vec<Option<T>>);

impl<T> Default for ByKind<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Copy> ByKind<T> {
    /// What is told of a node's kind; `tell` says it at first.
    pub fn of(&mut self, node: Node<'_>, tell: impl FnOnce(&str) -> T) -> T {
        let number = usize::from(node.kind_id());
        if self.0.len() <= number {
            self.0.resize(number + 1, None);
        }
        *self.0[number].get_or_insert_with(|| tell(node.kind()))
    }
}

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

/// Nodes whose statements must not all be missing, so that a gap in one has to be read as a statement.
pub fn never_empty(language: Language) -> &'static [&'static str] {
    match language {
        Language::Bash => &["compound_statement", "do_group", "if_statement", "elif_clause", "else_clause", "subshell"],
        Language::Python => &["block", "module"],
        Language::Swift => &["statements"],
        _ => &[],
    }
}
