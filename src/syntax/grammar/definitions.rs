//! Definitions: their names, whose they are, their signatures and bodies, and what they offer to other files.

use tree_sitter::Node;

use super::kinds::{Definer, Role};
use super::{calls, last_named_child, rows, signatures, values};
use crate::syntax::{DEEPEST, Definition, Kind, Language, MOST_LEVELS, Offer, Place};

/// The definitions of a text of so many lines; `has_options`: also those in the object that it exports, as Vue's components are.
pub fn of(language: Language, has_options: bool, text: &str, root: Node<'_>, lines: usize) -> Vec<Definition> {
    let mut walk = Walk { language, has_options, text, lines, found: Vec::new(), called: calls::Fields::default() };
    walk.beneath(root, Offers::Top, Depth::default());
    walk.found
}

/// What the definitions in a node offer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Offers {
    /// What a file, a module or a namespace has.
    Top,
    /// What a type has.
    Members,
    /// Nothing.
    Nothing,
}

/// How deep a node is.
#[derive(Clone, Copy, Default)]
struct Depth {
    /// Definitions around it that count.
    level: usize,
    /// Definitions around it.
    definitions: usize,
    /// Nodes around it that were gone through.
    nodes: usize,
}

struct Walk<'a> {
    language: Language,
    has_options: bool,
    text: &'a str,
    lines: usize,
    found: Vec<Definition>,
    /// What is called by which nodes.
    called: calls::Fields,
}

impl Walk<'_> {
    fn beneath(&mut self, scope: Node<'_>, offers: Offers, depth: Depth) {
        if depth.nodes > DEEPEST || depth.definitions > MOST_LEVELS {
            return;
        }
        let children: Vec<Node<'_>> = scope.named_children(&mut scope.walk()).collect();
        for (i, child) in children.iter().enumerate() {
            let (node, scope) = unwrapped(*child, scope.kind());
            let inner = Depth { nodes: depth.nodes + 1, ..depth };
            match content(node, offers) {
                Some(offers) => self.beneath(node, offers, inner),
                None if self.has_options && child.kind() == "export_statement" && options(node).is_some() => {
                    options(node).into_iter().for_each(|options| self.add_options(options, inner));
                }
                None if self.add(Defined::by(node, scope), &children[..=i], offers, inner) => {}
                None => self.add_values(node, &children[..=i], inner),
            }
        }
    }

    /// Adds the functions in an object and in those in it: `export default { methods: { save() {`.
    fn add_options(&mut self, object: Node<'_>, depth: Depth) {
        if depth.nodes > DEEPEST {
            return;
        }
        let members: Vec<Node<'_>> = object.named_children(&mut object.walk()).collect();
        for (i, member) in members.iter().enumerate() {
            let value = member.child_by_field_name("value").unwrap_or(*member);
            let name = member.child_by_field_name("key").or_else(|| member.child_by_field_name("name"));
            match options(value) {
                Some(inner) => self.add_options(inner, Depth { nodes: depth.nodes + 1, ..depth }),
                None => {
                    let defined = Defined { definition: value, around: *member, name, of: None };
                    self.add(defined, &members[..=i], Offers::Nothing, depth);
                }
            }
        }
    }

    /// Adds the values that a node gives a name to, which nobody outside needs a signature of.
    fn add_values(&mut self, node: Node<'_>, siblings: &[Node<'_>], depth: Depth) {
        let above = signatures::right_above(self.language, self.text, siblings);
        for (name, around) in values::named_by(node) {
            let own = rows(around);
            let lines = own.start..own.end.min(self.lines);
            if lines.is_empty() {
                continue;
            }
            self.found.push(Definition {
                kind: Kind::Value,
                name: place(name),
                of: None,
                header: lines.start..lines.start + 1,
                from: self.from(node, siblings, &above).min(lines.start),
                doc: None,
                calls: Vec::new(),
                lines,
                level: depth.level,
                within: 0,
                offer: None,
            });
        }
    }

    /// The first line of what belongs to a node: its wrappers, and what is right above them.
    fn from(&self, node: Node<'_>, siblings: &[Node<'_>], above: &[Node<'_>]) -> usize {
        let first = above.last().or(siblings.last()).copied().unwrap_or(node);
        first.start_position().row.min(self.lines)
    }

    /// Adds what is a definition, and those in it, and says whether it is one. `siblings`: those before it, and itself in its wrappers.
    fn add(&mut self, defined: Defined<'_>, siblings: &[Node<'_>], offers: Offers, depth: Depth) -> bool {
        let group = is_group(defined.around);
        let definer = defined.defines().filter(|_| !group);
        let Defined { definition, around, name, of } = defined;
        let member = self.offers(around, offers);
        let lines = rows(around);
        let lines = lines.start..lines.end.min(self.lines);
        if definer.is_none() && member.is_none() && !group || lines.is_empty() {
            return false;
        }
        let above = signatures::right_above(self.language, self.text, siblings);
        let said = signatures::said(self.language, around, &above);
        let offer = member.map(|member| Offer {
            signature: signatures::signature(self.language, self.text, around),
            doc: said.and_then(|said| signatures::first_line_of(self.language, self.text, said)),
            member,
        });
        let container = |node: &Node<'_>| Role::of(node.kind()) == Role::Container;
        let body = definition.child_by_field_name("body").or_else(|| definition.named_children(&mut definition.walk()).find(container));
        let body = body.or((definition != around && container(&definition)).then_some(definition));
        let ends_before = |body: Node<'_>| {
            let row = body.start_position().row;
            // `) -> T {`: what stands before the brace is still the signature.
            row + usize::from(before(around, body).is_some_and(|before| before.end_position().row == row))
        };
        // The body of a class that is just being typed may be nothing, behind all that there is.
        let header_end = body.map_or(lines.start + 1, ends_before).max(lines.start + 1).min(lines.end);
        let kind = match definer {
            Some(Definer::Holder) => Kind::Holder,
            Some(Definer::Function) => Kind::Function,
            None => Kind::Value,
        };
        let is_offered = offer.as_ref().is_some_and(|offer| !offer.member);
        let calls = if kind == Kind::Function { calls::of(definition, self.text, &mut self.called) } else { Vec::new() };
        let at = self.found.len();
        self.found.push(Definition {
            kind,
            name: name.filter(|_| !group).and_then(place),
            of: of.or_else(|| type_of(definition)).and_then(place),
            header: lines.start..header_end,
            from: self.from(around, siblings, &above).min(lines.start),
            doc: said.map(|(first, last)| first.start_position().row..rows(last).end.min(self.lines)),
            calls,
            lines,
            level: depth.level,
            within: 0,
            offer,
        });
        let inner = Depth { definitions: depth.definitions + 1, ..depth };
        if group {
            self.beneath(around, Offers::Nothing, inner);
        } else if let Some(body) = body.filter(|_| kind == Kind::Holder) {
            let level = depth.level + usize::from(definition.kind() != "namespace_declaration"); // C# files are all in one
            let offers = self.offers_in(definition, around, is_offered, offers);
            self.beneath(body, offers, Depth { level, ..inner });
        }
        self.found[at].within = self.found.len() - at - 1;
        true
    }

    /// What those in a definition offer.
    fn offers_in(&self, definition: Node<'_>, around: Node<'_>, is_offered: bool, offers: Offers) -> Offers {
        match definition.kind() {
            "mod_item" if is_offered && !signatures::is_of_tests(self.text, definition) => Offers::Top,
            "mod_item" => Offers::Nothing,
            "namespace_definition" | "namespace_declaration" | "internal_module" if offers == Offers::Top => Offers::Top,
            _ if is_offered && signatures::has_members(around.kind()) => Offers::Members,
            _ => Offers::Nothing,
        }
    }

    /// Whether a node is offered as a member, if it is offered at all.
    fn offers(&self, node: Node<'_>, offers: Offers) -> Option<bool> {
        let member = match offers {
            Offers::Nothing => return None,
            Offers::Top if signatures::is_symbol(self.language, node) => false,
            Offers::Members if signatures::is_member(self.language, node) => true,
            Offers::Members if signatures::is_inner_type(self.language, node.kind()) => false,
            _ => return None,
        };
        (!signatures::is_private(self.text, node)).then_some(member)
    }
}

/// A node without what is only around it, and the kind of the node that it is in: `export`, decorators, `template <class T>`.
fn unwrapped<'tree>(outermost: Node<'tree>, scope: &'tree str) -> (Node<'tree>, &'tree str) {
    let (mut node, mut scope) = (outermost, scope);
    let is_wrapper = |node: Node<'tree>| match node.kind() {
        "decorated_definition" | "export_statement" | "template_declaration" | "ambient_declaration" => true,
        "expression_statement" => last_named_child(node).is_some_and(|inner| inner.kind() == "internal_module"),
        _ => false,
    };
    while is_wrapper(node)
        && let Some(inner) = last_named_child(node)
    {
        (node, scope) = (inner, node.kind());
    }
    (node, scope)
}

/// An object, also one that something is called with: `defineComponent({`.
fn options(node: Node<'_>) -> Option<Node<'_>> {
    match node.kind() {
        "object" => Some(node),
        "call_expression" => last_named_child(node.child_by_field_name("arguments")?).filter(|last| last.kind() == "object"),
        _ => None,
    }
}

/// What the definitions in a node offer that stands for its content, as include guards and the bodies of namespaces do.
fn content(node: Node<'_>, offers: Offers) -> Option<Offers> {
    match node.kind() {
        "declaration_list" | "linkage_specification" | "compound_statement" | "statement_block" => Some(offers),
        "preproc_if" | "preproc_ifdef" => Some(offers),
        "ERROR" => Some(Offers::Nothing),
        "preproc_def" | "preproc_function_def" => None,
        kind if kind.starts_with("preproc_") => Some(Offers::Nothing),
        _ => None,
    }
}

/// Go's `type ( … )`.
fn is_group(node: Node<'_>) -> bool {
    node.kind() == "type_declaration" && node.named_child_count() > 1
}

/// What stands right before a node in another one.
fn before<'tree>(around: Node<'tree>, node: Node<'tree>) -> Option<Node<'tree>> {
    let mut scope = around;
    loop {
        let mut previous = None;
        let holder = scope.children(&mut scope.walk()).find(|child| {
            let is_there = child.end_byte() > node.start_byte() || child.id() == node.id();
            if !is_there {
                previous = Some(*child);
            }
            is_there
        })?;
        if holder.id() == node.id() {
            return previous;
        }
        scope = holder;
    }
}

/// Where a node is that is on one line.
fn place(node: Node<'_>) -> Option<Place> {
    let (start, end) = (node.start_position(), node.end_position());
    (start.row == end.row).then_some((start.row, start.column..end.column))
}

/// The name that a definition gives; in C and C++ it is inside of what says the type, and that of a test is what its macro is given last.
fn name_of<'tree>(definition: Node<'tree>, scope: &str) -> Option<Node<'tree>> {
    if let Some(test) = name_of_test(definition, scope) {
        return Some(test);
    }
    let node = declared(definition);
    if definition.kind() == "type_declaration" {
        return last_named_child(definition)?.child_by_field_name("name"); // Go's `type Id int`
    }
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
        "pointer_type" | "reference_type" | "parenthesized_type" => last_named_child(node),
        "generic_type" => node.child_by_field_name("type"),
        "scoped_type_identifier" | "template_type" => node.child_by_field_name("name"),
        _ => None,
    } {
        node = inner;
    }
    Some(node)
}

/// The `Name` of `TEST_F(Suite, Name) {`, which to the grammar is a function that returns nothing, outside of any class, with nameless parameters.
fn name_of_test<'tree>(definition: Node<'tree>, scope: &str) -> Option<Node<'tree>> {
    let outside = scope != "field_declaration_list";
    if definition.kind() != "function_definition" || definition.child_by_field_name("type").is_some() || !outside {
        return None;
    }
    let macro_call = definition.child_by_field_name("declarator").filter(|it| it.kind() == "function_declarator")?;
    macro_call.child_by_field_name("declarator").filter(|name| name.kind() == "identifier")?;
    let given = macro_call.child_by_field_name("parameters")?;
    let last = given.named_child(1).filter(|_| given.named_child_count() == 2)?;
    last.child_by_field_name("type").filter(|name| name.byte_range() == last.byte_range())
}

/// What a node defines, its lines and its name, where they may be those of what is around it: `const f = () => {`, `app.use = function`,
/// `type T struct {`, `typedef struct {`.
struct Defined<'tree> {
    /// Has the kind and the body.
    definition: Node<'tree>,
    /// Has the lines.
    around: Node<'tree>,
    name: Option<Node<'tree>>,
    /// What it is given to: the `app` of `app.use = function`.
    of: Option<Node<'tree>>,
}

impl<'tree> Defined<'tree> {
    /// By a node without wrappers; `scope` is the kind of the node that it is in.
    fn by(node: Node<'tree>, scope: &str) -> Self {
        let last = last_named_child(node);
        let value = |holder: Node<'tree>, value: &str, name: Option<Node<'tree>>| {
            let definition = holder.child_by_field_name(value)?;
            Some(Self { definition, around: node, name, of: None }).filter(|it| it.defines().is_some())
        };
        let inner = match node.kind() {
            "lexical_declaration" | "variable_declaration" => last.and_then(|one| value(one, "value", one.child_by_field_name("name"))),
            "field_definition" | "public_field_definition" => {
                value(node, "value", node.child_by_field_name("property").or_else(|| node.child_by_field_name("name")))
            }
            "expression_statement" => last.filter(|last| last.kind() == "assignment_expression").and_then(|assignment| {
                let left = assignment.child_by_field_name("left")?;
                let given = value(assignment, "right", left.child_by_field_name("property").or(Some(left)))?;
                Some(Self { of: left.child_by_field_name("object").and_then(given_to), ..given })
            }),
            // C++'s types in types
            "field_declaration" if node.child_by_field_name("declarator").is_none() => {
                value(node, "type", node.child_by_field_name("type").and_then(|one| one.child_by_field_name("name")))
            }
            "type_declaration" => last.and_then(|one| value(one, "type", one.child_by_field_name("name"))),
            "property_declaration" | "indexer_declaration" => property(node),
            "type_spec" => value(node, "type", node.child_by_field_name("name")),
            "type_definition" => value(node, "type", name_of(node, scope)),
            _ => None,
        };
        inner.unwrap_or_else(|| Self { definition: node, around: node, name: name_of(node, scope), of: None })
    }

    fn defines(&self) -> Option<Definer> {
        Definer::of(self.definition.kind())
    }
}

/// The `Store` of `Store.get` and of `Store.prototype.get`.
fn given_to(object: Node<'_>) -> Option<Node<'_>> {
    let inner = object.child_by_field_name("object").unwrap_or(object);
    (inner.kind() == "identifier").then_some(inner)
}

/// A property that does something when it is read; others are values.
fn property(node: Node<'_>) -> Option<Defined<'_>> {
    let definition = node.named_children(&mut node.walk()).find(|child| Definer::of(child.kind()) == Some(Definer::Function))?;
    let variable = node.named_children(&mut node.walk()).find(|child| child.kind() == "variable_declaration"); // Kotlin's
    let name = node.child_by_field_name("name").or_else(|| variable?.named_child(0));
    Some(Defined { definition, around: node, name, of: None })
}

#[cfg(test)]
mod tests {
    use crate::syntax::{Definition, Kind, Language, grammar};

    /// Names and lines of what is on more than a line and holds others or is called.
    fn names(language: Language, text: &str) -> Vec<String> {
        let lines: Vec<&str> = text.lines().collect();
        let shown = |it: &Definition| it.kind != Kind::Value && it.lines.len() > 1;
        let name = |it: Definition| it.name.map(|(line, bytes)| format!("{} {:?}", &lines[line][bytes], it.lines));
        grammar::read(language, text).definitions.into_iter().filter(shown).filter_map(name).collect()
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
    fn a_group_of_types_is_none_itself() {
        let go = "type (\n\t// A is one.\n\tA struct {\n\t\tb int\n\t}\n\tC struct {\n\t\td int\n\t}\n)\n";
        assert_eq!(names(Language::Go, go), ["A 2..5", "C 5..8"]);
        let found = grammar::read(Language::Go, go).definitions;
        assert!(found[0].kind == Kind::Value && found[0].name.is_none() && found[0].offer.is_some() && found[0].within == 2);
    }

    #[test]
    fn a_header_is_the_whole_signature() {
        let rows = |language: Language, text: &str| grammar::read(language, text).definitions[0].header.clone();
        assert_eq!(rows(Language::Rust, "fn f(\n  a: u8,\n) -> u8 {\n  a\n}\n"), 0..3);
        assert_eq!(rows(Language::TypeScript, "const f = (\n  a: number,\n) => {\n  go(a);\n};\n"), 0..3);
        assert_eq!(rows(Language::C, "int f(int a,\n      int b)\n{\n  return a;\n}\n"), 0..2);
        assert_eq!(rows(Language::Python, "def f(\n  a,\n) -> int:\n  return a\n"), 0..3);
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

    #[test]
    fn what_is_said_of_a_definition_and_what_it_calls() {
        let cases = [
            (Language::Bash, "# Goes.\nf() {\n  go now\n}\n", "go"),
            (Language::C, "/* Goes. */\nint f(void) {\n  return s->go(1) + stop();\n}\n", "go stop"),
            (Language::CSharp, "class A {\n  // Goes.\n  void F() {\n    x.Go<int>(new B());\n  }\n}\n", "Go B"),
            (Language::Cpp, "// Goes.\nint f() {\n  return a::go<int>(x.stop());\n}\n", "go stop"),
            (Language::Go, "// Goes.\nfunc f() {\n\ta.Go(stop())\n}\n", "Go stop"),
            (Language::Java, "class A {\n  // Goes.\n  void f() {\n    x.go(new B<C>());\n  }\n}\n", "go B"),
            (Language::JavaScript, "// Goes.\nfunction f() {\n  a.go(new B(), stop());\n}\n", "go B stop"),
            (Language::Kotlin, "// Goes.\nfun f() {\n  a.go(stop())\n}\n", "go stop"),
            (Language::Php, "<?php\n// Goes.\nfunction f() {\n  $a->go(A::stop(), new B(), end($x));\n}\n", "go stop B end"),
            (Language::Python, "def f():\n    \"Goes.\"\n    a.go(stop())\n", "go stop"),
            (Language::Ruby, "# Goes.\ndef f\n  a.go(stop(1))\nend\n", "go stop"),
            (Language::Rust, "/// Goes.\nfn f() {\n    a.go::<u8>(b::stop(vec![1]));\n}\n", "go stop vec"),
            (Language::Swift, "// Goes.\nfunc f() {\n  a.go(stop())\n}\n", "go stop"),
            (Language::TypeScript, "// Goes.\nfunction f(): void {\n  a.go<number>(stop());\n}\n", "go stop"),
        ];
        for (language, text, wanted) in cases {
            let lines: Vec<&str> = text.lines().collect();
            let found = grammar::read(language, text).definitions;
            let function = found.iter().find(|it| it.kind == Kind::Function).expect("a function");
            assert!(lines[function.doc.clone().expect("a comment").start].contains("Goes."), "{language:?}: {function:?}");
            assert_eq!(function.calls.join(" "), wanted, "{language:?}");
        }
    }
}
