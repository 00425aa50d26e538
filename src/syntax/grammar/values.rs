//! Values with a name: constants, variables and fields of files and types.

use tree_sitter::Node;

/// Names that one statement gives, at most.
const MOST: usize = 64;

/// The names that a node gives to values, each with the node whose lines are those of the value.
pub fn named_by(node: Node<'_>) -> Vec<(Node<'_>, Node<'_>)> {
    let mut found = Vec::new();
    collect(node, node, &mut found);
    found.truncate(MOST);
    found
}

fn collect<'tree>(node: Node<'tree>, around: Node<'tree>, found: &mut Vec<(Node<'tree>, Node<'tree>)>) {
    let field = |name: &str| node.child_by_field_name(name);
    let named = || node.named_children(&mut node.walk()).collect::<Vec<_>>();
    let is_name = |node: &Node<'tree>| matches!(node.kind(), "identifier" | "constant" | "simple_identifier" | "variable_name" | "name");
    match node.kind() {
        // Python's statement, and what declares several things
        "expression_statement" | "lexical_declaration" | "variable_declaration" | "field_declaration" | "declaration_command" => {
            named().into_iter().for_each(|child| collect(child, around, found));
        }
        "assignment" => {
            let left = field("left");
            let several = left.filter(|left| matches!(left.kind(), "pattern_list" | "tuple_pattern"));
            let names = several.map_or_else(|| left.into_iter().collect(), |it| it.named_children(&mut it.walk()).collect::<Vec<_>>());
            found.extend(names.into_iter().filter(is_name).map(|name| (name, around)));
        }
        "variable_declarator" => found.extend(field("name").filter(is_name).map(|name| (name, around))),
        "field_definition" | "public_field_definition" => {
            found.extend(field("property").or_else(|| field("name")).map(|name| (name, around)));
        }
        "const_declaration" | "var_declaration" | "var_spec_list" => named().into_iter().for_each(|child| collect(child, child, found)),
        "const_spec" | "var_spec" => {
            let names: Vec<_> = node.children_by_field_name("name", &mut node.walk()).filter(is_name).collect();
            found.extend(names.into_iter().map(|name| (name, node)));
        }
        "const_element" | "property_element" => found.extend(node.named_child(0).filter(is_name).map(|name| (name, around))),
        "const_item" | "static_item" | "preproc_def" | "preproc_function_def" | "variable_assignment" => {
            found.extend(field("name").map(|name| (name, around)));
        }
        "property_declaration" => {
            let declared = named().into_iter().find(|child| matches!(child.kind(), "variable_declaration" | "property_element"));
            match (field("name"), declared) {
                (Some(name), _) => found.push((name, around)),
                (None, Some(declared)) => found.extend(declared.named_child(0).filter(is_name).map(|name| (name, around))),
                (None, None) => {}
            }
        }
        "declaration" => {
            let names: Vec<_> = node.children_by_field_name("declarator", &mut node.walk()).filter_map(innermost).collect();
            found.extend(names.into_iter().map(|name| (name, around)));
        }
        _ => {}
    }
}

/// The name inside of what C says of its type: the `x` of `*x[3] = …`; none of a function, which is declared and not a value.
fn innermost(declarator: Node<'_>) -> Option<Node<'_>> {
    let mut node = declarator;
    while let Some(inner) = node.child_by_field_name("declarator") {
        if node.kind() == "function_declarator" {
            return None;
        }
        node = inner;
    }
    (node.kind() == "identifier").then_some(node)
}

#[cfg(test)]
mod tests {
    use crate::syntax::{Kind, Language, grammar};

    #[test]
    fn values_of_files_and_types_have_names() {
        let cases = [
            (Language::Bash, "MAX=3\nreadonly DIR=/x\nf() {\n  y=1\n}\n", "MAX DIR"),
            (
                Language::C,
                "#define MAX 3\n#define SQ(x) ((x) * (x))\nstatic int *table[3] = {0};\nint f(void) {\n  int y = 1;\n}\n",
                "MAX SQ",
            ),
            (Language::CSharp, "class A {\n  const int Max = 3;\n  int P { get; set; }\n}\n", "Max"),
            (Language::Go, "const Max = 3\nvar (\n\ta, b int\n\tc = 2\n)\n", "Max a b c"),
            (Language::Java, "class A {\n  static final int MAX = 3, LEAST = 1;\n}\n", "MAX LEAST"),
            (Language::JavaScript, "export const MAX = 3;\nlet a = 1, b;\nclass A {\n  size = 2;\n}\n", "MAX a b size"),
            (Language::Kotlin, "const val MAX = 3\nclass A {\n  private val size = 2\n}\n", "size"),
            (Language::Php, "<?php\nconst MAX = 3;\nclass A {\n  const LEAST = 1;\n  private $size = 2;\n}\n", "MAX LEAST $size"),
            (Language::Python, "_ = get_translation('x')\na, b = 1, 2\nclass A:\n    size: int = 3\n", "_ a b size"),
            (Language::Ruby, "MAX = 3\nclass A\n  LEAST = 1\nend\n", "MAX LEAST"),
            (Language::Rust, "impl A {\n    const LEAST: u8 = 1;\n}\n", "LEAST"),
            (Language::Swift, "let max = 3\nstruct A {\n  private var size = 2\n}\n", "max size"),
        ];
        for (language, text, wanted) in cases {
            let lines: Vec<&str> = text.lines().collect();
            let found = grammar::read(language, text).definitions;
            let values = found.iter().filter(|it| it.kind == Kind::Value && it.offer.is_none());
            let names: Vec<&str> = values.filter_map(|it| it.name.clone()).map(|(line, bytes)| &lines[line][bytes]).collect();
            assert_eq!(names.join(" "), wanted, "{language:?}");
        }
    }
}
