//! What a file asks for in its imports, as it is written.

use tree_sitter::Node;

use super::each_node;
use crate::syntax::{Import, Language, MOST_IMPORTS, MOST_NAMES};

/// Braces of a use declaration in each other, at most: nobody writes more, and the stack is finite.
const DEEPEST: usize = 32;
/// As much of a node is read, in bytes: they may be in each other, and no path is longer.
const LONGEST: usize = 2000;
/// As much of a use declaration, and of a name in it.
const LONGEST_USE: usize = 20_000;
const LONGEST_NAME: usize = 200;

/// The imports of a file, in its order, anywhere in it.
pub fn imports(language: Language, text: &str, root: Node<'_>) -> Vec<Import> {
    let mut found = Vec::new();
    let text = |node: Node<'_>, most: usize| {
        let text = &text[node.byte_range()];
        let end = (0..=most.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
        text[..end.unwrap_or(0)].to_owned()
    };
    each_node(root, |node, _| {
        match language {
            Language::Python => found.extend(python(node, &text)),
            Language::JavaScript | Language::TypeScript | Language::Tsx | Language::Astro | Language::Svelte | Language::Vue => {
                found.extend(script(node, &text).map(Import::Named));
            }
            Language::Rust => found.extend(rust(node, &text)),
            Language::Go => found.extend(go(node, &text).map(Import::Named)),
            Language::Java => found.extend(java(node, &text).map(Import::Named)),
            Language::C | Language::Cpp => found.extend(include(node, &text).map(Import::Named)),
            Language::Kotlin => found.extend(kotlin(node, &text).map(Import::Named)),
            Language::Php | Language::Ruby => found.extend(required(node, &text).map(Import::Named)),
            Language::Bash => found.extend(sourced(node, &text).map(Import::Named)),
            // They import modules, whose files only the build knows.
            Language::CSharp | Language::Swift => {}
        }
        found.len() < MOST_IMPORTS && (language != Language::Python || holds_statements(node.kind()))
    });
    found.truncate(MOST_IMPORTS);
    found
}

/// Nodes of Python that may have statements in them; there is nothing to look for in the others.
pub fn holds_statements(kind: &str) -> bool {
    kind.ends_with("_statement") && !matches!(kind, "expression_statement" | "return_statement" | "assert_statement" | "delete_statement")
        || kind.ends_with("_clause")
        || kind.ends_with("_definition")
        || matches!(kind, "module" | "block")
}

type Text<'a> = &'a dyn Fn(Node<'_>, usize) -> String;

fn python(node: Node<'_>, text: Text<'_>) -> Vec<Import> {
    if !matches!(node.kind(), "import_statement" | "import_from_statement") {
        return Vec::new();
    }
    let dotted = |node: Node<'_>| text(node, LONGEST).chars().filter(|c| !c.is_whitespace() && *c != '\\').collect::<String>();
    let mut cursor = node.walk();
    let name = |node: Node<'_>| node.child_by_field_name("name").map_or_else(|| dotted(node), dotted);
    let names = node.children_by_field_name("name", &mut cursor).map(name);
    if node.kind() == "import_statement" {
        return names.map(|module| Import::Python { dots: 0, module, name: None }).collect();
    }
    let Some(module) = node.child_by_field_name("module_name").map(dotted) else { return Vec::new() };
    let dots = module.len() - module.trim_start_matches('.').len();
    let of = |name| Import::Python { dots, module: module[dots..].to_owned(), name };
    let named: Vec<Import> = names.map(|name| of(Some(name))).collect();
    if named.is_empty() { vec![of(None)] } else { named }
}

fn script(node: Node<'_>, text: Text<'_>) -> Option<String> {
    let from = match node.kind() {
        "import_statement" | "export_statement" => node.child_by_field_name("source"),
        "call_expression" => {
            let called =
                node.child_by_field_name("function").filter(|called| called.byte_range().len() < 8).map(|called| text(called, LONGEST))?;
            let first = node.child_by_field_name("arguments").and_then(|arguments| arguments.named_child(0));
            first.filter(|first| matches!(called.as_str(), "require" | "import") && first.kind() == "string")
        }
        _ => None,
    };
    from.map(|from| unquote(&text(from, LONGEST)))
}

fn rust(node: Node<'_>, text: Text<'_>) -> Vec<Import> {
    match node.kind() {
        "mod_item" if node.child_by_field_name("body").is_none() => {
            let name = node.child_by_field_name("name").map(|name| text(name, LONGEST));
            name.map(|name| Import::Module([inline_modules(node, text), vec![name]].concat().join("/"))).into_iter().collect()
        }
        "use_declaration" => {
            let argument = node.child_by_field_name("argument").map(|argument| text(argument, LONGEST_USE)).unwrap_or_default();
            let within = inline_modules(node, text);
            used_paths(&argument).into_iter().map(|path| Import::Use(from_file(path, &within))).collect()
        }
        _ => Vec::new(),
    }
}

/// The modules of this file that something is in, the outermost first.
fn inline_modules(node: Node<'_>, text: Text<'_>) -> Vec<String> {
    let around = std::iter::successors(node.parent(), Node::parent).filter(|around| around.kind() == "mod_item");
    let mut names: Vec<String> = around.filter_map(|around| around.child_by_field_name("name")).map(|name| text(name, LONGEST)).collect();
    names.reverse();
    names
}

/// A path in some modules of a file, as it is outside of them.
fn from_file(path: Vec<String>, within: &[String]) -> Vec<String> {
    let ups = path.iter().take_while(|name| *name == "super").count();
    let is_own = path.first().is_some_and(|name| name == "self");
    match within.len().checked_sub(ups) {
        Some(left) if ups > 0 && !within.is_empty() || is_own => {
            [&["self".to_owned()], &within[..left], &path[ups + usize::from(is_own)..]].concat()
        }
        None => path[within.len()..].to_vec(),
        _ => path,
    }
}

/// The paths of a use declaration: `a::{b, c::d as e, *}` -> a::b, a::c::d, a. Braces [`DEEPEST`] deep are as good as none.
fn used_paths(tree: &str) -> Vec<Vec<String>> {
    fn part(prefix: &[String], tree: &str, levels: usize, out: &mut Vec<Vec<String>>) {
        let tree = tree.trim();
        if levels == 0 || out.len() >= MOST_IMPORTS {
            return;
        }
        if let Some((before, inside)) = tree.split_once('{') {
            let prefix: Vec<String> = prefix.iter().cloned().chain(names(before)).take(MOST_NAMES).collect();
            let inside = inside.strip_suffix('}').unwrap_or(inside);
            let (mut depth, mut from) = (0, 0);
            for (at, c) in inside.char_indices().chain([(inside.len(), ',')]) {
                match c {
                    '{' => depth += 1,
                    '}' => depth -= 1,
                    ',' if depth == 0 => {
                        part(&prefix, &inside[from..at], levels - 1, out);
                        from = at + 1;
                    }
                    _ => {}
                }
            }
        } else if !tree.is_empty() {
            let path = tree.split(" as ").next().unwrap_or_default();
            let names = prefix.iter().cloned().chain(names(path)).filter(|name| name != "*" && name != "self" || prefix.is_empty());
            out.push(names.take(MOST_NAMES).collect());
        }
    }
    fn names(path: &str) -> Vec<String> {
        let is_name = |name: &&str| !name.is_empty() && name.len() <= LONGEST_NAME && *name != "*";
        path.split("::").map(str::trim).filter(is_name).map(str::to_owned).collect()
    }
    let mut out = Vec::new();
    part(&[], tree, DEEPEST, &mut out);
    out
}

fn go(node: Node<'_>, text: Text<'_>) -> Option<String> {
    node.child_by_field_name("path").filter(|_| node.kind() == "import_spec").map(|path| unquote(&text(path, LONGEST)))
}

/// A class, or a package with `/*` after it, with slashes.
fn java(node: Node<'_>, text: Text<'_>) -> Option<String> {
    let whole = (node.kind() == "import_declaration").then(|| text(node, LONGEST))?;
    Some(whole.trim_start_matches("import").trim().trim_start_matches("static ").trim_end_matches(';').trim().replace('.', "/"))
}

fn kotlin(node: Node<'_>, text: Text<'_>) -> Option<String> {
    let whole = (node.kind() == "import").then(|| text(node, LONGEST))?;
    let name = whole.trim_start_matches("import").split(" as ").next().unwrap_or_default();
    Some(name.trim().replace('.', "/"))
}

/// The script that `source` or `.` reads; of `"$here/lib.sh"` what stands behind the variable, which is mostly the script's own directory.
fn sourced(node: Node<'_>, text: Text<'_>) -> Option<String> {
    let called = (node.kind() == "command").then(|| node.child_by_field_name("name").map(|name| text(name, LONGEST)))??;
    let script = unquote(&text(node.child_by_field_name("argument").filter(|_| matches!(called.as_str(), "source" | "."))?, LONGEST));
    match script.rsplit_once('$') {
        Some((_, behind)) => behind.split_once('/').map(|(_, path)| path.to_owned()),
        None => Some(script),
    }
}

fn include(node: Node<'_>, text: Text<'_>) -> Option<String> {
    node.child_by_field_name("path").filter(|_| node.kind() == "preproc_include").map(|path| unquote(&text(path, LONGEST)))
}

fn required(node: Node<'_>, text: Text<'_>) -> Option<String> {
    let wanted = match node.kind() {
        "require_expression" | "require_once_expression" | "include_expression" | "include_once_expression" => text(node, LONGEST),
        "call" if node.child_by_field_name("method").is_some_and(|method| text(method, LONGEST) == "require_relative") => {
            text(node, LONGEST)
        }
        _ => return None,
    };
    let rest = &wanted[wanted.find(['\'', '"'])? + 1..];
    Some(rest[..rest.find(['\'', '"'])?].trim_start_matches('/').to_owned())
}

fn unquote(text: &str) -> String {
    text.trim_matches(['"', '\'', '`', '<', '>']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn use_trees_come_apart() {
        let flat = |tree: &str| used_paths(tree).into_iter().map(|path| path.join("::")).collect::<Vec<_>>();
        assert_eq!(flat("crate::a::{b, c::{d as e, *}, self}"), ["crate::a::b", "crate::a::c::d", "crate::a::c", "crate::a"]);
        assert_eq!(flat("super::x"), ["super::x"]);
        assert_eq!(flat("self::y::*"), ["self::y"]);
    }

    #[test]
    fn modules_of_a_file_are_parts_of_paths() {
        let text = "mod outer {\n    mod inner;\n    mod deep {\n        use super::a;\n        use super::super::b;\n        use super::super::super::c;\n        \
                    use self::d;\n        use crate::e;\n    }\n}\nuse super::f;\nmod g;\n";
        let shown = |import: Import| match import {
            Import::Module(name) => format!("mod {name}"),
            Import::Use(path) => path.join("::"),
            other => format!("{other:?}"),
        };
        let found: Vec<String> = crate::syntax::grammar::read(Language::Rust, text).imports.into_iter().map(shown).collect();
        assert_eq!(
            found,
            ["mod outer/inner", "self::outer::a", "self::b", "super::c", "self::outer::deep::d", "crate::e", "super::f", "mod g"]
        );
    }
}
