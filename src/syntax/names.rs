//! What definitions are called: by their own names, and by whose they are.

use super::{Definition, Kind, Place};

/// Longer names are none, in bytes: each of what is in a definition is told with its name.
const LONGEST: usize = 200;

/// The names of the definitions of a text.
pub struct Names<'a> {
    definitions: &'a [Definition],
    /// The own name of each; of an `impl` that of its type; empty where there is none.
    own: Vec<&'a str>,
    /// Whose each is: of the type that it says it belongs to, or of what is around it; empty where there is none.
    owner: Vec<&'a str>,
    /// Which of the definitions is around each.
    around: Vec<Option<usize>>,
}

impl<'a> Names<'a> {
    /// Those in a text of these lines.
    pub fn new(definitions: &'a [Definition], lines: &[&'a str]) -> Self {
        let at = |place: &Option<Place>| {
            let (line, bytes) = place.as_ref()?;
            lines.get(*line)?.get(bytes.clone()).filter(|name| name.len() <= LONGEST)
        };
        let (mut own, mut owner, mut around) = (Vec::new(), Vec::new(), Vec::new());
        let mut open: Vec<(usize, usize)> = Vec::new(); // which definitions are around, and where what is in each ends
        for (i, definition) in definitions.iter().enumerate() {
            while open.pop_if(|(_, end)| *end <= i).is_some() {}
            let (name, of) = (at(&definition.name), at(&definition.of));
            // C++'s `class Outer::Inner {`
            let (name, of) = match name.and_then(|name| name.rsplit_once("::")) {
                Some((outer, inner)) => (Some(inner), Some(outer.rsplit("::").next().unwrap_or(outer))),
                None => (name, of),
            };
            let named = || open.iter().rev().map(|(outer, _)| own[*outer]).find(|name: &&str| !name.is_empty());
            let whose = of.filter(|_| name.is_some()).or_else(named).unwrap_or_default();
            owner.push(whose);
            around.push(open.last().map(|(outer, _)| *outer));
            own.push(name.or(of).unwrap_or_default().trim_matches(['(', ')'])); // C's `TEST(name) {`
            open.push((i, i + 1 + definition.within));
        }
        Self { definitions, own, owner, around }
    }

    /// The own name of a definition; empty if it has none.
    pub fn own(&self, i: usize) -> &'a str {
        self.own[i]
    }

    /// Whose it is; empty if it is nobody's.
    pub fn owner(&self, i: usize) -> &'a str {
        self.owner[i]
    }

    /// `Store.get`, or `get` where it is nobody's.
    pub fn full(&self, i: usize) -> String {
        match (self.owner[i], self.own[i]) {
            ("", own) => own.to_owned(),
            (owner, own) => format!("{owner}.{own}"),
        }
    }

    /// Whether a definition has this name, and is in, or of, definitions of those names, the innermost last.
    pub fn is_called(&self, i: usize, name: &str, owners: &[&str]) -> bool {
        if self.own[i] != name {
            return false;
        }
        if let [owner] = owners
            && self.owner[i] == *owner
        {
            return true;
        }
        // Each of the names is of the nearest around that has it: where any further one would do, the nearest does.
        let (mut left, mut around) = (owners, self.around[i]);
        while let (Some((nearest, outer)), Some(at)) = (left.split_last(), around) {
            if self.own[at] == *nearest {
                if let [owner] = outer
                    && self.owner[at] == *owner
                {
                    return true;
                }
                left = outer;
            }
            around = self.around[at];
        }
        left.is_empty()
    }

    /// The innermost definition of more than a line whose body a line is in.
    pub fn innermost(&self, line: usize) -> Option<usize> {
        self.nearest(|it| it.lines.contains(&line) && !it.header.contains(&line))
    }

    /// The innermost definition of more than a line that a line is in, its header included.
    pub fn holding(&self, line: usize) -> Option<usize> {
        self.nearest(|it| it.lines.contains(&line))
    }

    fn nearest(&self, is_there: impl Fn(&Definition) -> bool) -> Option<usize> {
        let is_one = |i: &usize| {
            let it = &self.definitions[*i];
            is_there(it) && !self.own[*i].is_empty() && (it.kind != Kind::Value || it.lines.len() > 1)
        };
        (0..self.definitions.len()).rev().find(is_one)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::{Language, grammar};

    #[test]
    fn definitions_are_called_by_whose_they_are() {
        let rust = "struct Store;\nimpl Store {\n    fn get() {\n        go();\n    }\n}\nmod inner {\n    impl Store {\n        fn put() {}\n    }\n}\n";
        let lines: Vec<&str> = rust.split_inclusive('\n').collect();
        let syntax = grammar::read(Language::Rust, rust);
        let names = Names::new(&syntax.definitions, &lines);
        let all: Vec<String> = (0..syntax.definitions.len()).map(|i| names.full(i)).collect();
        assert_eq!(all, ["Store", "Store", "Store.get", "inner", "inner.Store", "Store.put"]);
        assert!(
            names.is_called(2, "get", &["Store"])
                && names.is_called(5, "put", &["inner", "Store"])
                && names.is_called(5, "put", &["inner"])
        );
        assert!(!names.is_called(2, "get", &["inner"]) && !names.is_called(2, "put", &[]));
        let inside = |line: usize| names.innermost(line).map(|i| names.full(i));
        assert_eq!([inside(0), inside(1), inside(2), inside(3)], [None, None, Some("Store".into()), Some("Store.get".into())]);
        let nested: String =
            (0..60).map(|depth| format!("{}class a:\n", " ".repeat(depth))).collect::<String>() + &" ".repeat(60) + "def f(): pass\n";
        let lines: Vec<&str> = nested.split_inclusive('\n').collect();
        let syntax = grammar::read(Language::Python, &nested);
        let names = Names::new(&syntax.definitions, &lines);
        let deep = syntax.definitions.len() - 1;
        assert!(names.is_called(deep, "f", &["a"; 30]) && !names.is_called(deep, "f", &[&["x"][..], &["a"; 30]].concat()));
        let long = format!("class {}:\n    def get(self):\n        pass\n", "a".repeat(LONGEST + 1));
        let lines: Vec<&str> = long.split_inclusive('\n').collect();
        let syntax = grammar::read(Language::Python, &long);
        let names = Names::new(&syntax.definitions, &lines);
        assert_eq!([names.full(0), names.full(1)], ["", "get"]);
        let go = "func (s *Store) Get() {\n\tgo()\n}\n";
        let lines: Vec<&str> = go.split_inclusive('\n').collect();
        let syntax = grammar::read(Language::Go, go);
        let names = Names::new(&syntax.definitions, &lines);
        assert!(names.is_called(0, "Get", &["Store"]) && names.full(0) == "Store.Get");
    }
}
