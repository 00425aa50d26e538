//! Completion by syntax: whole statements, the headers around them, and what closes them.
//!
//! A line that is kept brings along every line of its statement and of the statements around it, except inside their containers (bodies,
//! cases, literals), where only children with kept lines stay, and what a kept comment is right above of. So the view still parses when each
//! gap is read as one statement.

use std::collections::HashSet;
use std::ops::Range;

use tree_sitter::{Node, Tree};

use super::language::{Definer, Reading, Role, each_node};
use super::preprocessor::{conditions, keep_conditions};
use super::{Piece, Wanted, gaps, indent, pieces};

/// A literal or text of so many lines is kept whole when any of its lines is.
const SHORT: usize = 8;
/// Nodes nested deeper are kept whole, and are not in outlines: no code that people write goes there, and the stack is not endless.
const DEEPEST: usize = 400;
/// Rounds of completion; more than three are rare, and [`repair`] has the last word.
const ROUNDS: usize = 4;
/// Rounds of closing gaps around what does not parse, before the whole text is shown.
const REPAIRS: usize = 12;
/// Texts of more lines are not repaired.
const LONGEST_REPAIRED: usize = 20_000;
/// Definitions within definitions that have headers.
const LEVELS: usize = 3;

/// Rows (0-based lines) of a node. Swift's statements end where the next line begins to say something.
fn rows(node: Node<'_>) -> Range<usize> {
    let mut last = node;
    while matches!(last.kind(), "statements" | "switch_entry")
        && let Some(inner) = last.child(last.child_count().saturating_sub(1))
    {
        last = inner;
    }
    let (start, end) = (node.start_position(), last.end_position());
    let last = if end.column == 0 && end.row > start.row { end.row - 1 } else { end.row };
    start.row..last + 1
}

/// Extends `kept` to whole statements with their headers and closers.
pub fn complete(reading: &Reading, lines: &[&str], kept: &mut [bool]) {
    let conditions = if reading.grammar.has_preprocessor() { conditions(lines) } else { Vec::new() };
    // A line that came along may also close or open something else, as `) {` does: then that is wanted too.
    for _ in 0..ROUNDS {
        let before = kept.to_vec();
        visit(reading.tree.root_node(), &Wanted::new(&before), kept, 0);
        keep_conditions(&conditions, kept);
        if before == kept {
            return;
        }
    }
}

fn keep(kept: &mut [bool], range: Range<usize>) {
    let end = range.end.min(kept.len());
    kept[range.start.min(end)..end].fill(true);
}

/// How completion treats a node, where its kind means two things.
fn role_of(node: Node<'_>) -> Role {
    let begins_with = |kind: &str| node.child(0).is_some_and(|first| first.kind() == kind);
    match node.kind() {
        "function_body" if begins_with("=") => Role::Statement, // Kotlin's `fun f() = …` has one expression
        "list" if !begins_with("[") => Role::Statement,         // Bash's `a && b`
        "subshell" if begins_with("(") => Role::Container,      // Bash's; Ruby's is a command in backticks
        kind => Role::of(kind),
    }
}

/// Whether a node is Bash's `else` with its statements, which are its own children; those of its `if` follow `then`.
fn is_branch(node: Node<'_>) -> bool {
    let ends_with_fi = |parent: Node<'_>| parent.child(parent.child_count().saturating_sub(1)).is_some_and(|last| last.kind() == "fi");
    node.kind() == "else_clause" && node.parent().is_some_and(ends_with_fi)
}

/// Completes a node that stays in the view.
fn visit(node: Node<'_>, wanted: &Wanted, kept: &mut [bool], depth: usize) {
    let span = rows(node);
    if node.kind() == "statements" && !wanted.any(&span) {
        return; // Swift's, whose braces are around them
    }
    let role = role_of(node);
    if span.len() == 1 || depth > DEEPEST || (matches!(role, Role::Literal | Role::Text) && span.len() <= SHORT) {
        return keep(kept, span);
    }
    if role == Role::Text {
        keep(kept, span.start..span.start + 1);
        return keep(kept, span.end - 1..span.end);
    }
    if node.child_count() == 0 {
        return keep(kept, span);
    }
    let container = matches!(role, Role::Container | Role::Literal) || role == Role::Arguments && span.len() > SHORT;
    let (first, last) = (node.child(0).map_or(0, |child| child.id()), node.child(node.child_count() - 1).map_or(0, |child| child.id()));
    let mut prefixes = Vec::new();
    let mut introduces = false; // whether the child before is a kept prefix of this one
    let mut says = None; // where a wanted comment ends, and what it is about begins
    let mut previous_end = span.start;
    let mut in_branch = is_branch(node);
    for child in node.children(&mut node.walk()) {
        let own = rows(child);
        let is_about = says == Some(own.start);
        let child_role = Role::of(child.kind());
        let optional = if node.kind() == "token_tree" {
            child.id() != first && child.id() != last // every word of a macro is a child of its own
        } else if container || in_branch {
            child.is_named() && !is_delimiter(child) || is_separator(child, node)
        } else {
            child_role == Role::Alternative && own.start > previous_end
        };
        in_branch |= child.kind() == "then" && !child.is_named();
        let comment = child.kind().ends_with("comment") && (own.start > previous_end || child.id() == first);
        says = (comment && (is_about || wanted.any(&own))).then_some(own.end);
        previous_end = own.end - 1;
        let introduced = std::mem::replace(&mut introduces, child_role == Role::Prefix && wanted.any(&own)) || is_about && !comment;
        if optional && !introduced && !wanted.any(&own) {
            if child_role == Role::Prefix {
                prefixes.push(child)
            } else {
                prefixes.clear()
            }
            continue;
        }
        for prefix in prefixes.drain(..) {
            visit(prefix, wanted, kept, depth + 1);
        }
        visit(child, wanted, kept, depth + 1);
    }
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

/// Closes gaps until the view, read as the text was, parses as well as it does; nothing can be said about a text that has errors itself, and
/// a text too large to parse again and again is left as it is.
pub fn repair(reading: &Reading, lines: &[&str], kept: &mut [bool]) {
    if reading.tree.root_node().has_error() || lines.len() > LONGEST_REPAIRED {
        return;
    }
    let statements = Statements::new(reading);
    for round in 0.. {
        let view = Placeheld::new(reading, &statements, lines, kept);
        let Some(parsed) = reading.again(&view.text) else { return };
        let Some(error) = first_error(&parsed) else { return };
        if round == REPAIRS {
            return kept.fill(true);
        }
        let at = view.origin[error.min(view.origin.len() - 1)];
        let (before, after): (Vec<_>, Vec<_>) = gaps(kept).into_iter().partition(|gap| gap.start <= at);
        // The shorter one first; where that does not help, both.
        let mut nearest: Vec<_> = [before.last(), after.first()].into_iter().flatten().collect();
        nearest.sort_by_key(|gap| gap.len());
        nearest.truncate(if round < REPAIRS / 2 { 1 } else { 2 });
        nearest.into_iter().for_each(|gap| kept[gap.clone()].fill(true));
    }
}

/// Whether the view, read as the text was, parses without error when each gap is read as one statement.
pub fn parses(reading: &Reading, lines: &[&str], kept: &[bool]) -> bool {
    let view = Placeheld::new(reading, &Statements::new(reading), lines, kept);
    reading.again(&view.text).is_some_and(|parsed| !parsed.root_node().has_error())
}

/// The view with each gap read as one statement.
struct Placeheld {
    text: String,
    /// The line of the text that each row of the view stands for.
    origin: Vec<usize>,
}

impl Placeheld {
    fn new(reading: &Reading, statements: &Statements, lines: &[&str], kept: &[bool]) -> Self {
        let (mut text, mut origin) = (String::new(), Vec::new());
        for piece in pieces(kept) {
            match piece {
                Piece::Lines(range) => {
                    for i in range {
                        text.push_str(&reading.line(i, lines[i]));
                        origin.push(i);
                    }
                }
                Piece::Gap(gap) => {
                    let first = gap.clone().find(|i| !lines[*i].trim().is_empty());
                    if let Some(first) = first.filter(|row| statements.begins_at(*row)) {
                        text.push_str(&lines[first][..indent(lines[first])]);
                        text.push_str("...");
                    }
                    text.push('\n');
                    origin.push(gap.start);
                }
            }
        }
        origin.push(lines.len());
        Self { text, origin }
    }
}

/// The rows on which a statement of a block begins (and not, say, an element of a list or an `else`), in a language in which a block must
/// not be empty.
struct Statements(HashSet<usize>);

impl Statements {
    fn new(Reading { grammar, tree, .. }: &Reading) -> Self {
        let mut rows = HashSet::new();
        let never_empty = grammar.never_empty();
        if !never_empty.is_empty() {
            each_node(tree.root_node(), |node, parent| {
                if node.is_named() && parent.is_some_and(|parent| never_empty.contains(&parent)) {
                    rows.insert(node.start_position().row);
                }
                true
            });
        }
        Self(rows)
    }

    fn begins_at(&self, row: usize) -> bool {
        self.0.contains(&row)
    }
}

/// The row of the first error.
fn first_error(tree: &Tree) -> Option<usize> {
    let mut row = None;
    each_node(tree.root_node(), |node, _| {
        if row.is_none() && (node.is_error() || node.is_missing()) {
            row = Some(node.start_position().row);
        }
        row.is_none() && node.has_error()
    });
    row
}

/// A line, and bytes of it.
pub type Place = (usize, Range<usize>);

/// The first lines of a definition that has a body.
pub struct Header {
    /// Where they are.
    pub rows: Range<usize>,
    /// All its lines.
    pub whole: Range<usize>,
    /// Where its name is.
    pub name: Option<Place>,
    /// Where the type is that it says it belongs to, as an `impl`, a method of Go and `Store::get` do.
    pub of: Option<Place>,
    /// How many definitions are around it.
    pub level: usize,
}

/// The headers of all definitions, of the outer three levels, in order.
pub fn headers(tree: &Tree) -> Vec<Header> {
    let mut found = Vec::new();
    collect_headers(tree.root_node(), 0, 0, &mut found);
    found
}

/// Where a node is that is on one line.
fn place(node: Node<'_>) -> Option<Place> {
    let (start, end) = (node.start_position(), node.end_position());
    (start.row == end.row).then_some((start.row, start.column..end.column))
}

/// The name that a definition gives; in C and C++ it is inside of what says the type, and that of a test is what its macro is given last.
fn name_of(definition: Node<'_>) -> Option<Node<'_>> {
    if let Some(test) = name_of_test(definition) {
        return Some(test);
    }
    let node = declared(definition);
    node.child_by_field_name("name").or((node != definition).then_some(node))
}

/// What C and C++ declare inside of what says the type, as the `Store::get` of `int *Store::get() {`; elsewhere the definition itself.
fn declared(definition: Node<'_>) -> Node<'_> {
    let mut node = definition;
    while let Some(inner) = if node.kind() == "reference_declarator" { node.named_child(0) } else { node.child_by_field_name("declarator") }
    {
        node = inner;
    }
    node
}

/// The type that a definition says it belongs to: that of an `impl` or of a receiver, without what it is generic over, or the `Store` of
/// `Store::get`.
fn type_of(definition: Node<'_>) -> Option<Node<'_>> {
    let mut node = match definition.kind() {
        "impl_item" => definition.child_by_field_name("type")?,
        "method_declaration" => definition.child_by_field_name("receiver")?.named_child(0)?.child_by_field_name("type")?,
        _ => Some(declared(definition)).filter(|declared| declared.kind() == "qualified_identifier")?.child_by_field_name("scope")?,
    };
    while let Some(inner) = match node.kind() {
        "pointer_type" | "reference_type" | "parenthesized_type" => node.named_child(node.named_child_count().saturating_sub(1) as u32),
        "generic_type" => node.child_by_field_name("type"),
        "scoped_type_identifier" | "template_type" => node.child_by_field_name("name"),
        _ => None,
    } {
        node = inner;
    }
    Some(node)
}

/// The `Name` of `TEST_F(Suite, Name) {`, which to the grammar is a function that returns nothing, outside of any class, with nameless parameters.
fn name_of_test(definition: Node<'_>) -> Option<Node<'_>> {
    let outside = definition.parent().is_none_or(|parent| parent.kind() != "field_declaration_list");
    if definition.kind() != "function_definition" || definition.child_by_field_name("type").is_some() || !outside {
        return None;
    }
    let macro_call = definition.child_by_field_name("declarator").filter(|it| it.kind() == "function_declarator")?;
    macro_call.child_by_field_name("declarator").filter(|name| name.kind() == "identifier")?;
    let given = macro_call.child_by_field_name("parameters")?;
    let last = given.named_child(1).filter(|_| given.named_child_count() == 2)?;
    last.child_by_field_name("type").filter(|name| name.byte_range() == last.byte_range())
}

/// What a node defines, its lines and its name, where they may be those of what is around it: `export`, `const f = () => {`, `app.use = function`,
/// `type T struct {`, `typedef struct {`.
struct Defined<'tree> {
    /// Has the kind and the body.
    definition: Node<'tree>,
    /// Has the lines.
    around: Node<'tree>,
    name: Option<Node<'tree>>,
}

impl<'tree> Defined<'tree> {
    fn by(outermost: Node<'tree>) -> Self {
        let last = |node: Node<'tree>| node.named_child(node.named_child_count().saturating_sub(1) as u32);
        let mut node = outermost;
        let is_wrapper = |node: Node<'tree>| match node.kind() {
            "decorated_definition" | "export_statement" | "template_declaration" | "ambient_declaration" => true,
            "expression_statement" => last(node).is_some_and(|inner| inner.kind() == "internal_module"),
            _ => false,
        };
        while is_wrapper(node)
            && let Some(inner) = last(node)
        {
            node = inner;
        }
        let last = last(node);
        let value = |holder: Node<'tree>, value: &str, name: Option<Node<'tree>>| {
            let definition = holder.child_by_field_name(value)?;
            Some(Self { definition, around: node, name }).filter(|it| it.defines().is_some())
        };
        let inner = match node.kind() {
            "lexical_declaration" | "variable_declaration" => last.and_then(|one| value(one, "value", one.child_by_field_name("name"))),
            "field_definition" | "public_field_definition" => {
                value(node, "value", node.child_by_field_name("property").or_else(|| node.child_by_field_name("name")))
            }
            "expression_statement" => last.filter(|last| last.kind() == "assignment_expression").and_then(|assignment| {
                let left = assignment.child_by_field_name("left")?;
                value(assignment, "right", left.child_by_field_name("property").or(Some(left)))
            }),
            "type_declaration" => last.and_then(|one| value(one, "type", one.child_by_field_name("name"))),
            "property_declaration" | "indexer_declaration" => property(node),
            "type_spec" => value(node, "type", node.child_by_field_name("name")),
            "type_definition" => value(node, "type", name_of(node)),
            _ => None,
        };
        inner.unwrap_or_else(|| Self { definition: node, around: node, name: name_of(node) })
    }

    fn defines(&self) -> Option<Definer> {
        Definer::of(self.definition.kind())
    }
}

/// A property that does something when it is read; others are values.
fn property(node: Node<'_>) -> Option<Defined<'_>> {
    let definition = node.named_children(&mut node.walk()).find(|child| Definer::of(child.kind()) == Some(Definer::Function))?;
    let variable = node.named_children(&mut node.walk()).find(|child| child.kind() == "variable_declaration"); // Kotlin's
    let name = node.child_by_field_name("name").or_else(|| variable?.named_child(0));
    Some(Defined { definition, around: node, name })
}

/// `depth`: how far below the root `node` is.
fn collect_headers(node: Node<'_>, level: usize, depth: usize, found: &mut Vec<Header>) {
    if level == LEVELS || depth > DEEPEST {
        return;
    }
    for child in node.named_children(&mut node.walk()) {
        let is_group = child.kind() == "type_declaration" && child.named_child_count() > 1; // Go's `type ( … )`
        let stands_for_content = matches!(child.kind(), "declaration_list" | "linkage_specification" | "ERROR") || is_group;
        if child.kind().starts_with("preproc_") || stands_for_content {
            collect_headers(child, level, depth + 1, found); // as include guards and the bodies of namespaces do
            continue;
        }
        let defined = Defined::by(child);
        let Some(definer) = defined.defines().filter(|_| rows(defined.around).len() > 1) else { continue };
        let Defined { definition, around, name } = defined;
        let container = |node: &Node<'_>| Role::of(node.kind()) == Role::Container;
        let body = definition.child_by_field_name("body").or_else(|| definition.named_children(&mut definition.walk()).find(container));
        let body = body.or((definition != around && container(&definition)).then_some(definition));
        let start = around.start_position().row;
        let ends_before = |body: Node<'_>| {
            let row = body.start_position().row;
            // `) -> T {`: what stands before the brace is still the signature.
            row + usize::from(body.prev_sibling().is_some_and(|before| before.end_position().row == row))
        };
        // The body of a class that is just being typed may be nothing, behind all that there is.
        let inside = body.map_or(start + 1, ends_before).min(rows(around).end);
        let (name, of) = (name.and_then(place), type_of(definition).and_then(place));
        found.push(Header { rows: start..inside.max(start + 1), whole: rows(around), name, of, level });
        if let Some(body) = body.filter(|_| definer == Definer::Holder) {
            let inner = if definition.kind() == "namespace_declaration" { level } else { level + 1 }; // C# files are all in one
            collect_headers(body, inner, depth + 1, found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::language::Language;
    use super::*;

    fn names(language: Language, text: &str) -> Vec<String> {
        let tree = language.parse(text).expect("a tree").tree;
        let lines: Vec<&str> = text.lines().collect();
        let name = |header: Header| header.name.map(|(line, bytes)| format!("{} {:?}", &lines[line][bytes], header.whole));
        headers(&tree).into_iter().filter_map(name).collect()
    }

    #[test]
    fn functions_that_are_values_have_the_name_they_are_given() {
        let text = "export const load = async (id) => {\n  go(id);\n};\napp.use = function (f) {\n  f();\n};\nconst short = (x) => x;\n\
                    class A {\n  handle = (e) => {\n    go(e);\n  };\n}\n";
        let wanted = ["load 0..3", "use 3..6", "A 7..12", "handle 8..11"];
        assert_eq!(names(Language::JavaScript, text), wanted);
        assert_eq!(names(Language::TypeScript, text), wanted);
    }

    #[test]
    fn types_have_names_in_every_language() {
        let go = "type Retry struct {\n  Max int\n}\ntype (\n  Doer interface {\n    Do()\n  }\n  Id int\n)\nfunc (r Retry) f() {\n}\n";
        assert_eq!(names(Language::Go, go), ["Retry 0..3", "Doer 4..7", "f 9..11"]);
        let c =
            "typedef struct retry {\n  int max;\n} retry_t;\nstruct plain {\n  int x;\n};\ntypedef enum {\n  A\n} kind;\ntypedef int id;\n";
        assert_eq!(names(Language::C, c), ["retry_t 0..3", "plain 3..6", "kind 6..9"]);
        let java = "record Retry(\n  int max) {\n  Retry {\n    check(max);\n  }\n}\n@interface Mark {\n  int value();\n}\n";
        assert_eq!(names(Language::Java, java), ["Retry 0..6", "Retry 2..5", "Mark 6..9"]);
        let typescript = "type Props = {\n  a: number;\n};\nnamespace N {\n  export interface I {\n    b: string;\n  }\n}\n";
        assert_eq!(names(Language::TypeScript, typescript), ["Props 0..3", "N 3..8", "I 4..7"]);
        let php = "<?php\nuse A\\{\n  B,\n};\nnamespace C {\n  trait T {\n    function f() {\n    }\n  }\n}\n";
        assert_eq!(names(Language::Php, php), ["C 4..10", "T 5..9", "f 6..8"]);
        let ruby = "module M\n  validates :a,\n    presence: true if x\n  class << self\n    def f\n    end\n  end\nend\n";
        assert_eq!(names(Language::Ruby, ruby), ["M 0..8", "f 4..6"]);
        let csharp = "namespace N\n{\n  class A\n  {\n    [X]\n    public int P\n    {\n      get { return 1; }\n    }\n    class B\n    {\n      void f()\n      {\n      }\n    }\n  }\n}\n";
        assert_eq!(names(Language::CSharp, csharp), ["N 0..17", "A 2..16", "P 4..9", "B 9..15", "f 11..14"]);
        let kotlin = "class A {\n  companion object {\n    val x = listOf(\n      1,\n    )\n  }\n  val String.p: Int\n    get() = 1\n  fun f(): Int =\n    1\n}\n";
        assert_eq!(names(Language::Kotlin, kotlin), ["A 0..11", "p 6..8", "f 8..10"]);
        let swift = "extension A {\n  var p: Int {\n    return 1\n  }\n  let q = [\n    1,\n  ]\n  func f() {\n  }\n}\n";
        assert_eq!(names(Language::Swift, swift), ["A 0..10", "p 1..4", "f 7..9"]);
        assert_eq!(names(Language::Bash, "f() {\n  go\n}\nfunction g {\n  go\n}\n"), ["f 0..3", "g 3..6"]);
        assert_eq!(names(Language::Rust, "union U {\n  a: u8,\n}\nextern \"C\" {\n  fn f(\n    a: u8,\n  );\n}\n"), ["U 0..3", "f 4..7"]);
    }

    #[test]
    fn a_test_has_the_name_that_its_macro_is_given() {
        let text = "TEST_F(Parser, Empty) {\n  go();\n}\nclass A {\n  A(B, C) {\n    go();\n  }\n};\nvoid f(B, C) {\n  go();\n}\n";
        assert_eq!(names(Language::Cpp, text), ["Empty 0..3", "A 3..8", "A 4..7", "f 8..11"]);
    }

    #[test]
    fn a_header_is_the_whole_signature() {
        let rows = |language: Language, text: &str| headers(&language.parse(text).expect("a tree").tree)[0].rows.clone();
        assert_eq!(rows(Language::Rust, "fn f(\n  a: u8,\n) -> u8 {\n  a\n}\n"), 0..3);
        assert_eq!(rows(Language::TypeScript, "const f = (\n  a: number,\n) => {\n  go(a);\n};\n"), 0..3);
        assert_eq!(rows(Language::C, "int f(int a,\n      int b)\n{\n  return a;\n}\n"), 0..2);
        assert_eq!(rows(Language::Python, "def f(\n  a,\n) -> int:\n  return a\n"), 0..3);
    }

    #[test]
    fn of_many_arguments_those_stay_that_are_wanted() {
        let text = format!("f(1)\ng(\n{})\n", (0..12).map(|i| format!("  a{i}={i},\n")).collect::<String>());
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let reading = Language::Python.parse(&text).expect("a reading");
        let mut kept: Vec<bool> = (0..lines.len()).map(|line| line == 7).collect();
        complete(&reading, &lines, &mut kept);
        assert_eq!((0..kept.len()).filter(|line| kept[*line]).collect::<Vec<_>>(), [1, 7, 14]);
        assert!(parses(&reading, &lines, &kept));
    }

    #[test]
    fn a_view_is_read_as_its_file_was() {
        let text = "void f(void) {\n  call(a,\n#ifdef X\n       b,\n#else\n       c +\n#endif\n       d);\n}\n";
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let reading = Language::C.parse(text).expect("a reading");
        let mut kept: Vec<bool> = (0..lines.len()).map(|line| line == 7).collect();
        complete(&reading, &lines, &mut kept);
        assert_eq!(kept, [true, true, true, true, true, false, true, true, true]);
        assert!(parses(&reading, &lines, &kept), "the branch that is left out was not read in the file either");
    }

    #[test]
    fn a_name_is_on_one_line() {
        let text = "a[\nkey] = function () {\n  go();\n};\nconst {a,\n  b} = function () {\n  go();\n};\nc = function () {\n  go();\n};\n";
        assert_eq!(names(Language::JavaScript, text), ["c 8..11"]);
    }

    #[test]
    fn templates_of_templates_do_not_use_up_the_stack() {
        let text = format!("{}struct A {{\n  int x;\n}};\n", "template<class T> ".repeat(50_000));
        std::thread::Builder::new()
            .stack_size(256 << 10)
            .spawn(move || assert_eq!(names(Language::Cpp, &text), ["A 0..3"]))
            .expect("a thread")
            .join()
            .expect("no overflow");
    }

    #[test]
    fn what_a_function_returns_is_no_part_of_its_name() {
        assert_eq!(names(Language::Cpp, "string_t& get_string()\n{\n  return s;\n}\n"), ["get_string 0..4"]);
    }
}
