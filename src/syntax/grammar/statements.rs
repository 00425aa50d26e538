//! Statements as views need them: which lines belong together, and which can be left out of what.
//!
//! What stays and what is optional follows from the kinds of nodes alone, so it is told once, for all views of a text.

use std::ops::Range;

use tree_sitter::Node;

use super::kinds::{ByKind, Role, never_empty};
use super::{each_node, last_child, rows};
use crate::syntax::{DEEPEST, Language, Part, Stays};

/// A literal or text of so many lines is kept whole when any of its lines is.
const SHORT: usize = 8;

/// The lines on which a statement of a block begins (and not, say, an element of a list or an `else`), in order, in a language in which a
/// block must not be empty.
pub fn begins(grammar: Language, root: Node<'_>, lines: usize) -> Vec<usize> {
    let never_empty = never_empty(grammar);
    if never_empty.is_empty() {
        return Vec::new();
    }
    let mut begins = vec![false; lines + 1];
    each_node(root, |node, parent| {
        let (first, last) = (node.start_position().row.min(lines), node.end_position().row);
        begins[first] |= node.is_named() && parent.is_some_and(|parent| never_empty.contains(&parent.kind()));
        first != last || !begins[first] // else all that is in it begins on the same line
    });
    (0..lines).filter(|line| begins[*line]).collect()
}

/// The roles of nodes.
#[derive(Default)]
struct Roles(ByKind<Role>);

impl Roles {
    /// By the kind of a node alone.
    fn of_kind(&mut self, node: Node<'_>) -> Role {
        self.0.of(node, Role::of)
    }

    /// How completion treats a node, where its kind means two things.
    fn of(&mut self, node: Node<'_>) -> Role {
        let begins_with = |kind: &str| node.child(0).is_some_and(|first| first.kind() == kind);
        match self.of_kind(node) {
            Role::Container if node.kind() == "function_body" && begins_with("=") => Role::Statement, // Kotlin's `fun f() = …` has one expression
            Role::Literal if node.kind() == "list" && !begins_with("[") => Role::Statement,           // Bash's `a && b`
            Role::Statement if node.kind() == "subshell" && begins_with("(") => Role::Container, // Bash's; Ruby's is a command in backticks
            role => role,
        }
    }
}

/// The tree of parts of a text of so many lines.
pub fn parts(root: Node<'_>, lines: usize) -> Vec<Part> {
    let (mut found, mut roles) = (Vec::new(), Roles::default());
    let whole = Found { span: rows(root), role: roles.of(root), in_parent: InParent::default(), branch: false };
    add(root, whole, 0, &mut roles, &mut found);
    // Nodes without text may be behind the last line.
    let inside = |row: u32| row.min(lines as u32);
    found.iter_mut().for_each(|part| (part.start, part.end) = (inside(part.start), inside(part.end)));
    found
}

/// What its parent says of a part.
#[derive(Clone, Copy, Default)]
struct InParent {
    optional: bool,
    prefix: bool,
    comment: bool,
}

/// A node, looked at.
struct Found {
    span: Range<usize>,
    role: Role,
    in_parent: InParent,
    /// Whether it is Bash's `else` with its statements, which are its own children; those of its `if` follow `then`.
    branch: bool,
}

/// Adds a node and the parts in it.
fn add(node: Node<'_>, Found { span, role, in_parent, branch }: Found, depth: usize, roles: &mut Roles, parts: &mut Vec<Part>) {
    let is_short = matches!(role, Role::Literal | Role::Text) && span.len() <= SHORT;
    let stays = if role == Role::Container && node.kind() == "statements" {
        Stays::Wanted // Swift's, whose braces are around them
    } else if span.len() == 1 || depth > DEEPEST || is_short {
        Stays::Whole
    } else if role == Role::Text {
        Stays::Ends
    } else {
        Stays::Parts
    };
    let has_parts = matches!(stays, Stays::Parts | Stays::Wanted) && span.len() > 1 && depth <= DEEPEST && node.child_count() > 0;
    let stays = if has_parts || matches!(stays, Stays::Ends | Stays::Wanted) { stays } else { Stays::Whole };
    let InParent { optional, prefix, comment } = in_parent;
    let part = Part { start: span.start as u32, end: span.end as u32, stays, optional, prefix, comment, within: 0 };
    let at = parts.len();
    parts.push(part);
    if has_parts {
        add_children(node, &span, role, branch, depth, roles, parts);
        parts[at].within = (parts.len() - at - 1) as u32;
    }
}

fn add_children(node: Node<'_>, span: &Range<usize>, role: Role, branch: bool, depth: usize, roles: &mut Roles, parts: &mut Vec<Part>) {
    let container = matches!(role, Role::Container | Role::Literal) || role == Role::Arguments && span.len() > SHORT;
    let (first, last) = (node.child(0).map(|child| child.id()), last_child(node).map(|child| child.id()));
    let ends_with_fi = last_child(node).is_some_and(|last| last.kind() == "fi");
    let mut previous_end = span.start;
    let mut in_branch = branch;
    let mut joined: Option<usize> = None; // the last of the parts, where the next one may be joined with it
    for child in node.children(&mut node.walk()) {
        let (own, is_first) = (rows(child), Some(child.id()) == first);
        let child_role = roles.of_kind(child);
        let optional = if node.kind() == "token_tree" {
            !is_first && Some(child.id()) != last // every word of a macro is a child of its own
        } else if container || in_branch {
            child.is_named() && !is_delimiter(child) || is_separator(child, node)
        } else {
            child_role == Role::Alternative && own.start > previous_end
        };
        in_branch |= child.kind() == "then" && !child.is_named();
        let comment = (own.start > previous_end || is_first) && child.kind().ends_with("comment");
        previous_end = own.end - 1;
        let in_parent = InParent { optional, prefix: child_role == Role::Prefix, comment };
        let found = Found { span: own, role: roles.of(child), in_parent, branch: ends_with_fi && child.kind() == "else_clause" };
        let at = parts.len();
        add(child, found, depth + 1, roles, parts);
        joined = join(parts, joined, at);
    }
}

/// Joins a part with the one before it where both are all that stays or goes with their lines, as words of a line are. Says which part the next
/// one may be joined with.
fn join(parts: &mut Vec<Part>, before: Option<usize>, at: usize) -> Option<usize> {
    let part = parts[at];
    let is_plain = part.stays == Stays::Whole && !part.prefix && !part.comment;
    if !is_plain {
        return None;
    }
    let Some(before) = before else { return Some(at) };
    let earlier = &mut parts[before];
    let same_lines = earlier.lines() == part.lines();
    let follows = !part.optional && part.start <= earlier.end && part.start >= earlier.start;
    if earlier.optional != part.optional || !(same_lines || follows) {
        return Some(at);
    }
    earlier.end = earlier.end.max(part.end);
    parts.truncate(at);
    Some(before)
}

/// Named children that open or close their parent.
fn is_delimiter(node: Node<'_>) -> bool {
    matches!(node.kind(), "jsx_opening_element" | "jsx_closing_element" | "string_start" | "string_end" | "php_tag")
}

/// What stands between children: also the colon of a C++ `private:`, but not the semicolon that ends the constants of a Java enum.
fn is_separator(node: Node<'_>, parent: Node<'_>) -> bool {
    match node.kind() {
        "," => true,
        ";" => parent.kind() != "enum_body_declarations",
        ":" => parent.kind() == "field_declaration_list",
        _ => false,
    }
}
