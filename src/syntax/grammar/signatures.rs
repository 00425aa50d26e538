//! What definitions offer: signatures, and the first line of what is said about each.

use std::ops::Range;

use tree_sitter::Node;

use super::each_node;
use super::kinds::Role;
use crate::syntax::Language;

/// Longer signatures and descriptions are cut, in characters.
const LONGEST: usize = 200;

/// Whether a node is what a file offers in this language.
pub fn is_symbol(language: Language, node: Node<'_>) -> bool {
    let announced = node.kind() == "mod_item" && node.child_by_field_name("body").is_none();
    is_of_symbol(language, node.kind()) && !announced && !is_forward(node) && !is_value(node)
}

fn is_of_symbol(language: Language, kind: &str) -> bool {
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
        Language::JavaScript | Language::TypeScript | Language::Tsx | Language::Astro | Language::Svelte | Language::Vue => &[
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

/// Whether a Rust module has tests, which offer nothing.
pub fn is_of_tests(text: &str, module: Node<'_>) -> bool {
    module.child_by_field_name("name").is_some_and(|name| matches!(&text[name.byte_range()], "test" | "tests"))
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
pub fn is_private(text: &str, node: Node<'_>) -> bool {
    let modifiers = || &text[node.start_byte()..body_of(node).map_or(node.end_byte(), |body| body.start_byte())];
    is_property(node.kind()) && modifiers().split_whitespace().any(|word| matches!(word, "private" | "fileprivate" | "protected"))
}

/// Types that stand in other ones, or in modules, as they stand at the top elsewhere.
pub fn is_inner_type(language: Language, kind: &str) -> bool {
    match language {
        Language::Ruby => matches!(kind, "class" | "module"),
        Language::Java | Language::CSharp => is_of_symbol(language, kind),
        Language::Kotlin | Language::Swift => {
            is_of_symbol(language, kind) && !matches!(kind, "function_declaration" | "property_declaration" | "type_alias")
        }
        _ => false,
    }
}

/// Whether a definition of this kind has members.
pub fn has_members(kind: &str) -> bool {
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

/// Whether a node is a member of the type that it is in.
pub fn is_member(language: Language, node: Node<'_>) -> bool {
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
pub fn signature(language: Language, text: &str, node: Node<'_>) -> String {
    if language == Language::Python && node.kind() == "class_definition" {
        let name = node.child_by_field_name("name").map(|name| &text[name.byte_range()]).unwrap_or_default();
        return format!("class {name}");
    }
    let body = body_of(node).or_else(|| value_body(node)).map(|body| body.start_byte());
    // In Python, comments before the first statement come before the body.
    let head = (language == Language::Python)
        .then(|| node.child_by_field_name("return_type").or_else(|| node.child_by_field_name("parameters")))
        .flatten()
        .map(|last| last.end_byte());
    let end = head.or(body).unwrap_or(node.end_byte());
    let attributes = if language == Language::CSharp { "attribute_list" } else { "" };
    let first = node.children(&mut node.walk()).find(|child| child.kind() != attributes).unwrap_or(node);
    let text = without_comments(text, node, first.start_byte()..end);
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
    cut(if language == Language::Ruby { text.trim_end_matches(" end") } else { text })
}

/// Some bytes of a node, its comments left out.
fn without_comments(text: &str, node: Node<'_>, Range { start, end }: Range<usize>) -> String {
    let (mut out, mut at) = (String::new(), start);
    each_node(node, |inner, _| {
        if inner.kind().contains("comment") && inner.start_byte() >= at && inner.end_byte() <= end {
            out.push_str(&text[at..inner.start_byte()]);
            at = inner.end_byte();
        }
        inner.start_byte() < end
    });
    out.push_str(&text[at..end]);
    out
}

/// The body of a function that is assigned to a constant.
fn value_body(node: Node<'_>) -> Option<Node<'_>> {
    let mut cursor = node.walk();
    let declarator = node.named_children(&mut cursor).find(|child| child.kind() == "variable_declarator")?;
    let value = declarator.child_by_field_name("value")?;
    value.child_by_field_name("body").or(Some(value))
}

/// What is said about a definition: its docstring in Python, elsewhere the comments right before it, first and last. `above`: see [`right_above`].
pub fn said<'tree>(language: Language, node: Node<'tree>, above: &[Node<'tree>]) -> Option<(Node<'tree>, Node<'tree>)> {
    if language == Language::Python {
        let first = node.child_by_field_name("body")?.named_child(0).filter(|first| first.kind() == "expression_statement")?;
        let string = first.named_child(0).filter(|string| string.kind() == "string")?;
        return Some((string, string));
    }
    let mut comments = above.iter().filter(|node| is_comment(**node));
    let last = *comments.next()?;
    Some((comments.next_back().copied().unwrap_or(last), last))
}

fn is_comment(node: Node<'_>) -> bool {
    node.kind().contains("comment")
}

/// The comments and attributes right above a definition, the nearest first. `siblings`: the nodes before it, and itself in its wrappers.
pub fn right_above<'tree>(language: Language, text: &str, siblings: &[Node<'tree>]) -> Vec<Node<'tree>> {
    let Some((outer, before)) = siblings.split_last() else { return Vec::new() };
    let mut line = outer.start_position().row;
    let belongs = |node: &&Node<'tree>| {
        let (starts, ends) = (node.start_position(), node.end_position());
        let last = if ends.column == 0 { ends.row.saturating_sub(1) } else { ends.row };
        // A comment behind a statement is about that, and of a script some say what runs or checks it.
        let alone = text[..node.start_byte()].rsplit('\n').next().is_some_and(|before| before.trim().is_empty());
        let runs = language == Language::Bash && ["#!", "# shellcheck"].iter().any(|start| text[node.byte_range()].starts_with(start));
        let is_one = Role::of(node.kind()) == Role::Prefix || is_comment(**node) && alone && !runs;
        let is_right_above = last + 1 >= line;
        line = starts.row;
        is_one && is_right_above
    };
    before.iter().rev().take_while(belongs).copied().collect()
}

/// The first line with words of what is said about a definition.
pub fn first_line_of(language: Language, text: &str, (first, last): (Node<'_>, Node<'_>)) -> Option<String> {
    match language {
        Language::Python => {
            let inside = text[first.byte_range()].trim_start_matches(['r', 'R', 'u', 'U']).trim_matches(['"', '\'']);
            first_line(inside)
        }
        // A line is a comment of its own, and the first may be nothing but a tag.
        Language::CSharp => first_line(&without_tags(beginning(&text[first.start_byte()..last.end_byte()]))),
        _ => first_line(&text[first.byte_range()]),
    }
}

/// As much of a comment as its first line with words in it may take.
fn beginning(text: &str) -> &str {
    text.char_indices().nth(20 * LONGEST).map_or(text, |(end, _)| &text[..end])
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
