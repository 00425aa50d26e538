//! What a function calls, by name.

use tree_sitter::Node;

use super::kinds::ByKind;
use super::{each_node, last_named_child};

/// The fields that say what nodes call.
pub type Fields = ByKind<&'static [&'static str]>;

/// Names of one function, at most.
const MOST: usize = 200;
/// Steps from what is called to its last name, at most: of `f()()()` each call is in the next one.
const STEPS: usize = 8;
/// Longer names are none.
const LONGEST: usize = 100;

/// The names of what is called, or made, in a node, each once, in order.
pub fn of(node: Node<'_>, text: &str, fields: &mut Fields) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    each_node(node, |inner, _| {
        if inner.child_count() == 0 {
            return false; // most nodes, whose kind would have to be looked up
        }
        if let Some(name) = called(inner, fields.of(inner, fields_of)).map(last_name).map(|name| &text[name.byte_range()])
            && name.len() <= LONGEST
            && name.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && !names.iter().any(|known| known == name)
        {
            names.push(name.to_owned());
        }
        names.len() < MOST
    });
    names
}

/// The fields, one of which says what is called or made by a node of this kind; none of a node that calls nothing.
fn fields_of(kind: &str) -> &'static [&'static str] {
    match kind {
        "call_expression" | "invocation_expression" | "function_call_expression" => &["function"],
        "call" => &["function", "method"],
        "method_invocation" | "member_call_expression" | "nullsafe_member_call_expression" | "scoped_call_expression" | "command" => {
            &["name"]
        }
        "new_expression" => &["constructor", "type"],
        "object_creation_expression" => &["type"],
        "macro_invocation" => &["macro"],
        _ => &[],
    }
}

/// What a node calls or makes.
fn called<'tree>(node: Node<'tree>, fields: &[&str]) -> Option<Node<'tree>> {
    if fields.is_empty() {
        return None;
    }
    // Kotlin, Swift and PHP have no name for it where it comes first.
    let named = fields.iter().find_map(|field| node.child_by_field_name(field));
    named.or_else(|| node.named_child(0).filter(|_| matches!(node.kind(), "call_expression" | "object_creation_expression")))
}

/// The last name of a path, without what it is generic over: of `a.b::go::<T>` that is `go`.
fn last_name(callee: Node<'_>) -> Node<'_> {
    let mut node = callee;
    for _ in 0..STEPS {
        let field =
            ["field", "property", "attribute", "name", "suffix", "function"].iter().find_map(|field| node.child_by_field_name(field));
        let inner = match node.kind() {
            _ if field.is_some() => field,
            "generic_type" | "generic_name" | "template_function" => node.named_child(0),
            _ => last_named_child(node),
        };
        match inner {
            Some(inner) => node = inner,
            None => break,
        }
    }
    node
}
