//! What a file offers: the signatures of its top level, and the first line of what is said about each.

use std::ops::Range;

use tree_sitter::Node;

use super::repository::Source;
use crate::prune::language::{Language, each_node};

/// Longer signatures and descriptions are cut, in characters.
const LONGEST: usize = 200;
/// Namespaces and conditions in each other, at most: nobody writes more, and the stack is finite.
const DEEPEST: usize = 32;

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

/// The symbols of a file in their order, members after what they belong to.
pub fn symbols(source: &Source) -> Vec<Symbol> {
    let mut out = Vec::new();
    collect(source, source.tree.root_node(), DEEPEST, &mut out);
    out
}

/// Symbols among the children of a node, through what only wraps them, `levels` of it.
fn collect(source: &Source, parent: Node<'_>, levels: usize, out: &mut Vec<Symbol>) {
    let mut cursor = parent.walk();
    for node in parent.named_children(&mut cursor) {
        match node.kind() {
            "export_statement"
            | "decorated_definition"
            | "linkage_specification"
            | "declaration_list"
            | "compound_statement"
            | "namespace_definition"
            | "namespace_declaration"
            | "template_declaration"
            | "preproc_ifdef"
            | "preproc_if"
            | "ambient_declaration"
            | "internal_module"
            | "statement_block"
                if levels > 0 =>
            {
                collect(source, node, levels - 1, out);
            }
            // TypeScript's `namespace N { … }`.
            "expression_statement" if levels > 0 && node.named_child(0).is_some_and(|child| child.kind() == "internal_module") => {
                collect(source, node, levels - 1, out);
            }
            "mod_item" if node.child_by_field_name("body").is_none() => {}
            kind if is_symbol(source.language, kind) && !is_forward(node) && !is_value(node) && !is_private(source, node) => {
                add(source, node, levels, out);
            }
            _ => {}
        }
    }
}

fn is_symbol(language: Language, kind: &str) -> bool {
    let kinds: &[&str] = match language {
        Language::Python => &["function_definition", "class_definition"],
        Language::Rust => &[
            "function_item",
            "struct_item",
            "enum_item",
            "trait_item",
            "impl_item",
            "type_item",
            "const_item",
            "static_item",
            "macro_definition",
            "mod_item",
        ],
        Language::JavaScript | Language::TypeScript | Language::Tsx => &[
            "function_declaration",
            "generator_function_declaration",
            "class_declaration",
            "abstract_class_declaration",
            "interface_declaration",
            "type_alias_declaration",
            "enum_declaration",
            "lexical_declaration",
        ],
        Language::Go => &["function_declaration", "method_declaration", "type_declaration"],
        Language::Java => {
            &["class_declaration", "interface_declaration", "enum_declaration", "record_declaration", "annotation_type_declaration"]
        }
        Language::C | Language::Cpp => &[
            "function_definition",
            "struct_specifier",
            "class_specifier",
            "enum_specifier",
            "type_definition",
            "declaration",
            "alias_declaration",
        ],
        Language::Php => &["function_definition", "class_declaration", "interface_declaration", "trait_declaration", "enum_declaration"],
        Language::Ruby => &["method", "singleton_method", "class", "module"],
        Language::CSharp => &[
            "class_declaration",
            "struct_declaration",
            "record_declaration",
            "interface_declaration",
            "enum_declaration",
            "delegate_declaration",
        ],
        Language::Kotlin => {
            &["class_declaration", "object_declaration", "companion_object", "function_declaration", "property_declaration", "type_alias"]
        }
        Language::Swift => &["class_declaration", "protocol_declaration", "function_declaration"],
        Language::Bash => &["function_definition"],
    };
    kinds.contains(&kind)
}

/// Declarations that only announce a type.
fn is_forward(node: Node<'_>) -> bool {
    matches!(node.kind(), "struct_specifier" | "class_specifier" | "enum_specifier") && node.child_by_field_name("body").is_none()
}

/// Constants that are no functions.
fn is_value(node: Node<'_>) -> bool {
    let function = |declarator: Node<'_>| {
        let value = declarator.child_by_field_name("value").map_or("", |value| value.kind());
        value.contains("function") || value == "class"
    };
    let mut cursor = node.walk();
    node.kind() == "lexical_declaration" && !node.named_children(&mut cursor).any(function)
}

/// Adds a symbol, its members, and then the types in it, which are symbols of their own.
fn add(source: &Source, node: Node<'_>, levels: usize, out: &mut Vec<Symbol>) {
    out.push(Symbol { signature: signature(source, node), doc: doc(source, node), member: false });
    let Some(body) = body_of(node) else { return };
    if node.kind() == "mod_item" {
        if levels > 0 && !is_of_tests(source, node) {
            collect(source, body, levels - 1, out);
        }
        return;
    }
    if !has_members(node.kind()) {
        return;
    }
    let mut cursor = body.walk();
    // C# has conditions among its members.
    let children: Vec<Node<'_>> = body.named_children(&mut cursor).flat_map(unconditional).collect();
    for child in &children {
        let child = child.child_by_field_name("definition").filter(|_| child.kind() == "decorated_definition").unwrap_or(*child);
        if is_member(source.language, child) && !is_private(source, child) {
            out.push(Symbol { signature: signature(source, child), doc: doc(source, child), member: true });
        }
    }
    for child in children.into_iter().filter(|child| levels > 0 && is_inner_type(source.language, child.kind())) {
        add(source, child, levels - 1, out);
    }
}

/// Whether a Rust module has tests, which offer nothing.
fn is_of_tests(source: &Source, module: Node<'_>) -> bool {
    module.child_by_field_name("name").is_some_and(|name| matches!(&source.text[name.byte_range()], "test" | "tests"))
}

/// The body of a definition, or what a property is or does; Kotlin's grammar has no name for it.
fn body_of(node: Node<'_>) -> Option<Node<'_>> {
    let is_body = |child: &Node<'_>| match child.kind() {
        "class_body" | "enum_class_body" | "function_body" => true,
        "accessor_list" | "arrow_expression_clause" | "computed_property" | "getter" | "property_delegate" | "=" => {
            is_property(node.kind())
        }
        "block" => node.kind() == "secondary_constructor",
        _ => false,
    };
    node.child_by_field_name("body").or_else(|| node.children(&mut node.walk()).find(is_body))
}

/// Properties of C#, Kotlin and Swift.
fn is_property(kind: &str) -> bool {
    matches!(kind, "property_declaration" | "indexer_declaration")
}

/// Whether a property is for its own class or file only: of methods all are listed, but values are many.
fn is_private(source: &Source, node: Node<'_>) -> bool {
    let modifiers = || &source.text[node.start_byte()..body_of(node).map_or(node.end_byte(), |body| body.start_byte())];
    is_property(node.kind()) && modifiers().split_whitespace().any(|word| matches!(word, "private" | "fileprivate" | "protected"))
}

/// Types that stand in other ones, or in modules, as they stand at the top elsewhere.
fn is_inner_type(language: Language, kind: &str) -> bool {
    match language {
        Language::Ruby => matches!(kind, "class" | "module"),
        Language::Java | Language::CSharp => is_symbol(language, kind),
        Language::Kotlin | Language::Swift => {
            is_symbol(language, kind) && !matches!(kind, "function_declaration" | "property_declaration" | "type_alias")
        }
        _ => false,
    }
}

fn has_members(kind: &str) -> bool {
    kind.starts_with("class")
        || kind.starts_with("interface")
        || kind.starts_with("trait")
        || kind.starts_with("abstract_class")
        || matches!(
            kind,
            "impl_item"
                | "struct_specifier"
                | "struct_declaration"
                | "enum_declaration"
                | "record_declaration"
                | "module"
                | "object_declaration"
                | "companion_object"
                | "protocol_declaration"
        )
}

/// A node, or what a condition holds.
fn unconditional(node: Node<'_>) -> Vec<Node<'_>> {
    if node.kind() == "preproc_if" { node.named_children(&mut node.walk()).collect() } else { vec![node] }
}

fn is_member(language: Language, node: Node<'_>) -> bool {
    let has_properties = matches!(language, Language::CSharp | Language::Kotlin | Language::Swift);
    has_properties && is_property(node.kind())
        || matches!(node.kind(), "field_declaration" | "declaration") && announces_function(node)
        || matches!(
            node.kind(),
            "function_definition"
                | "function_declaration"
                | "function_item"
                | "function_signature_item"
                | "method_definition"
                | "method_declaration"
                | "constructor_declaration"
                | "secondary_constructor"
                | "init_declaration"
                | "operator_declaration"
                | "protocol_function_declaration"
                | "method_signature"
                | "abstract_method_signature"
                | "method"
                | "singleton_method"
        )
}

/// Whether what C++ declares is a function, defined elsewhere: `const T *find(int) const;`.
fn announces_function(declaration: Node<'_>) -> bool {
    let mut declarator = declaration.child_by_field_name("declarator");
    while let Some(outer) = declarator.filter(|node| matches!(node.kind(), "pointer_declarator" | "reference_declarator")) {
        declarator = outer.child_by_field_name("declarator").or_else(|| outer.named_child(0));
    }
    declarator.is_some_and(|declarator| declarator.kind() == "function_declarator")
}

/// The text of a definition up to its body, on one line. Of a Python class only the name, as in the study.
fn signature(source: &Source, node: Node<'_>) -> String {
    if source.language == Language::Python && node.kind() == "class_definition" {
        let name = node.child_by_field_name("name").map(|name| &source.text[name.byte_range()]).unwrap_or_default();
        return format!("class {name}");
    }
    let body = body_of(node).or_else(|| value_body(node)).map(|body| body.start_byte());
    // In Python, comments before the first statement come before the body.
    let head = (source.language == Language::Python)
        .then(|| node.child_by_field_name("return_type").or_else(|| node.child_by_field_name("parameters")))
        .flatten()
        .map(|last| last.end_byte());
    let end = head.or(body).unwrap_or(node.end_byte());
    let attributes = if source.language == Language::CSharp { "attribute_list" } else { "" };
    let first = node.children(&mut node.walk()).find(|child| child.kind() != attributes).unwrap_or(node);
    let text = without_comments(source, node, first.start_byte()..end);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let mut text = String::new();
    for line in lines {
        // Brackets close up where lines are joined; inside a line nothing changes.
        if line.starts_with([')', ']']) {
            text.truncate(text.trim_end_matches([' ', ',']).len());
        } else if !text.is_empty() && !text.ends_with(['(', '[']) {
            text.push(' ');
        }
        text.push_str(line);
    }
    let text = text.trim_end_matches(['{', ':', ';', ' ', '=']).trim_end_matches("=>").trim_end();
    // In Ruby, a method that does nothing has no body that its end could stand behind.
    cut(if source.language == Language::Ruby { text.trim_end_matches(" end") } else { text })
}

/// Some bytes of a node, its comments left out.
fn without_comments(source: &Source, node: Node<'_>, Range { start, end }: Range<usize>) -> String {
    let (mut out, mut at) = (String::new(), start);
    each_node(node, |inner, _| {
        if inner.kind().contains("comment") && inner.start_byte() >= at && inner.end_byte() <= end {
            out.push_str(&source.text[at..inner.start_byte()]);
            at = inner.end_byte();
        }
        inner.start_byte() < end
    });
    out.push_str(&source.text[at..end]);
    out
}

/// The body of a function that is assigned to a constant.
fn value_body(node: Node<'_>) -> Option<Node<'_>> {
    let mut cursor = node.walk();
    let declarator = node.named_children(&mut cursor).find(|child| child.kind() == "variable_declarator")?;
    let value = declarator.child_by_field_name("value")?;
    value.child_by_field_name("body").or(Some(value))
}

/// The first line of a docstring, or of the comments right before a definition.
fn doc(source: &Source, node: Node<'_>) -> Option<String> {
    let text = |node: Node<'_>| &source.text[node.byte_range()];
    if source.language == Language::Python {
        let first = node.child_by_field_name("body")?.named_child(0).filter(|first| first.kind() == "expression_statement")?;
        let string = first.named_child(0).filter(|string| string.kind() == "string")?;
        let inside = text(string).trim_start_matches(['r', 'R', 'u', 'U']).trim_matches(['"', '\'']);
        return first_line(inside);
    }
    let outer = node.parent().filter(|parent| matches!(parent.kind(), "export_statement" | "template_declaration")).unwrap_or(node);
    let mut first = None;
    let mut line = outer.start_position().row;
    let mut before = outer.prev_named_sibling();
    while let Some(comment) = before.filter(|comment| {
        let ends = comment.end_position();
        let last = if ends.column == 0 { ends.row.saturating_sub(1) } else { ends.row };
        last + 1 >= line && (comment.kind().contains("comment") || comment.kind() == "attribute_item")
    }) {
        // Of a script, not what runs or checks it.
        let about = !(source.language == Language::Bash && ["#!", "# shellcheck"].iter().any(|start| text(comment).starts_with(start)));
        if comment.kind().contains("comment") && about {
            first = Some(comment);
        }
        line = comment.start_position().row;
        before = comment.prev_named_sibling();
    }
    // In C#, a line is a comment of its own, and the first may be nothing but a tag.
    let first = first?;
    if source.language == Language::CSharp {
        first_line(&without_tags(&source.text[first.start_byte()..outer.start_byte()]))
    } else {
        first_line(text(first))
    }
}

/// `<summary>Reads orders.</summary>` without its tags.
fn without_tags(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, tag)) = rest.split_once('<') {
        out.push_str(before);
        rest = match tag.split_once('>').filter(|_| tag.starts_with(|c: char| c == '/' || c.is_ascii_alphabetic())) {
            Some((_, behind)) => behind,
            None => {
                out.push('<');
                tag
            }
        };
    }
    out + rest
}

/// The first line with words in it, without comment marks.
fn first_line(text: &str) -> Option<String> {
    let marks: &[char] = &['/', '*', '!', '#', '<', ' ', '\t', '-'];
    let line = text.lines().map(|line| line.trim().trim_start_matches(marks).trim_end_matches(['*', '/']).trim());
    line.into_iter().find(|line| line.chars().any(char::is_alphanumeric)).map(cut)
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
