//! A file, or lines of one, as [`Material`]: completed by syntax where there is a grammar, by blocks in Markdown, by indentation elsewhere.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::markdown::{Heading, Markdown};
use super::plain::{Form, errors_asked_for, records_asked_for};
use super::select::is_structural;
use super::structure::{Header, LEVELS};
use super::{Definition, FocusQuestion, Material, Pointer, component, constants, few_of, gaps, render, structure};
use crate::error::quote;
use crate::skim::{LineScores, best_first};
use crate::syntax::{Access, Kind, Language, Names, Syntax, Unread};

/// Lines of an outline, at most.
const LONGEST_OUTLINE: usize = 40;
/// Last lines that its outline has.
const LAST: usize = 5;
/// Likeliest lines shown with an outline.
const LIKELIEST: usize = 8;
/// Definitions named in a gap of which nothing else is said, at most.
const NAMED: usize = 2;

/// Lines of a file.
pub struct Code<'a> {
    /// The text as far as it is known: what begins before the lines and ends after them says what they are.
    text: &'a [&'a str],
    /// Which of it the lines are.
    range: Range<usize>,
    /// 0-based number of the first of the lines.
    first: usize,
    /// Whether the lines are only a part of a file.
    is_part: bool,
    /// Whether lines are shown with their numbers.
    numbered: bool,
    form: Known,
    access: &'a Access<'a>,
    structure: OnceLock<Structure>,
}

/// How lines belong together, as far as the path tells.
enum Known {
    Grammar(Language),
    Markdown,
    Plain(Form),
}

/// What belongs together in the text.
enum Structure {
    Syntax(Arc<Syntax>),
    Markdown(Markdown),
    Plain(Form),
    /// By indentation, as the grammar could not read it.
    Unread(Unread),
}

impl<'a> Code<'a> {
    /// `path` only says the language; `first` is the 0-based number of the first line.
    pub fn new(path: &str, lines: &'a [&'a str], first: usize, access: &'a Access<'a>) -> Self {
        Self { first, is_part: first > 0, ..Self::part(path, lines, 0..lines.len(), access) }
    }

    /// Some lines of a whole file.
    pub fn part(path: &str, text: &'a [&'a str], range: Range<usize>, access: &'a Access<'a>) -> Self {
        let form = match Language::of(path) {
            Some(Language::Bash) if is_of_another_interpreter(text) => Known::Plain(Form::of(path, text)),
            Some(language) => Known::Grammar(language),
            None if [".md", ".markdown", ".mdx"].iter().any(|end| path.ends_with(end)) => Known::Markdown,
            None => Known::Plain(Form::of(path, text)),
        };
        let is_part = range.len() < text.len();
        Self { text, first: range.start, range, is_part, numbered: false, form, access, structure: OnceLock::new() }
    }

    /// The same, to be shown with or without numbers.
    #[must_use]
    pub fn numbered(self, numbered: bool) -> Self {
        Self { numbered, ..self }
    }

    /// The same, as a part of a file of which no more is known.
    #[must_use]
    pub fn of_more(self, is_part: bool) -> Self {
        Self { is_part, ..self }
    }

    fn structure(&self) -> &Structure {
        self.structure.get_or_init(|| match self.form {
            Known::Grammar(language) => match self.access.read(language, &self.text.concat()) {
                Ok(syntax) if language == Language::Bash && syntax.in_vain => Structure::Plain(Form::Indentation),
                Ok(syntax) => Structure::Syntax(syntax),
                Err(why) => Structure::Unread(why),
            },
            Known::Markdown => Structure::Markdown(Markdown::new(&self.text.concat())),
            Known::Plain(form) => Structure::Plain(form),
        })
    }

    /// What the lines have of a range of the text, counted from the first of them.
    fn own(&self, rows: &Range<usize>) -> Range<usize> {
        let row = |row: usize| row.clamp(self.range.start, self.range.end) - self.range.start;
        row(rows.start)..row(rows.end)
    }

    /// The headers of definitions that have any of the lines, as far as they have; rows count from the first line.
    fn own_headers(&self, syntax: &Syntax) -> Vec<Header> {
        let clip =
            |header: Header| Header { rows: self.own(&header.rows), whole: self.own(&header.whole), doc: self.own(&header.doc), ..header };
        structure::headers(syntax, self.text).into_iter().map(clip).filter(|header| !header.whole.is_empty()).collect()
    }

    /// Which definitions are called a test, or are in what is.
    fn are_tests(&self, headers: &[Header]) -> Vec<bool> {
        let mut end = 0; // of what is called so
        let is_test = |header: &Header| {
            if is_of_tests(&header.own) {
                end = end.max(header.whole.end);
            }
            header.whole.start < end
        };
        headers.iter().map(is_test).collect()
    }

    /// What says what a text is about where names do not: headings in Markdown; in what is mostly outside of definitions and in texts without a
    /// grammar the least indented lines that others stand under, and the end of what is no change, where logs and tables sum up.
    fn headers(&self) -> Vec<bool> {
        let (heads, with_end) = match self.structure() {
            Structure::Syntax(syntax) if !self.is_mostly_outside(&self.own_headers(syntax)) => return vec![false; self.lines().len()],
            Structure::Syntax(_) => (outermost(Form::Indentation, self.lines()), false),
            Structure::Markdown(markdown) => {
                (markdown.headings().iter().flat_map(|heading| self.own(&heading.lines)).take(LONGEST_OUTLINE).collect(), false)
            }
            Structure::Plain(form) => (outermost(*form, self.lines()), *form != Form::Changes),
            Structure::Unread(_) => (outermost(Form::Indentation, self.lines()), true),
        };
        let mut kept = vec![false; self.lines().len()];
        if heads.is_empty() || with_end {
            let end = kept.len();
            kept[end.saturating_sub(LAST)..].fill(true);
        }
        heads.into_iter().for_each(|line| kept[line] = true);
        kept
    }

    /// Whether definitions have less than a third of the lines, as in scripts: then their headers alone are no outline.
    fn is_mostly_outside(&self, headers: &[Header]) -> bool {
        let defined = self.are_defined(headers);
        3 * defined.iter().filter(|defined| **defined).count() < defined.len()
    }

    /// Which lines are those of definitions.
    fn are_defined(&self, headers: &[Header]) -> Vec<bool> {
        let mut defined = vec![false; self.lines().len()];
        headers.iter().for_each(|header| defined[header.whole.clone()].fill(true));
        defined
    }

    /// What is in a gap, by name: of what lies in it on the outermost levels, as many as may be named, tests after all others.
    fn inside(
        &self,
        gap: &Range<usize>,
        headers: &[Header],
        tests: &[bool],
        values: &[Pointer],
        (most, with_lines): (usize, bool),
    ) -> Vec<Pointer> {
        let is_inside = |lines: &Range<usize>| gap.start <= lines.start && lines.end <= gap.end;
        let mut around: Vec<usize> = Vec::new(); // where those end that have a name and are in the gap
        let mut named: Vec<(usize, usize)> = Vec::new();
        for (i, header) in headers.iter().enumerate().filter(|(_, header)| is_inside(&header.whole) && !header.name.is_empty()) {
            while around.pop_if(|end| *end <= header.whole.start).is_some() {}
            named.push((i, around.len()));
            around.push(header.whole.end);
        }
        let up_to = |level: usize| named.iter().filter(move |(_, depth)| *depth <= level);
        let fits = |level: &usize| with_lines || up_to(*level).count() <= most;
        let level = (1..LEVELS).take_while(fits).last().unwrap_or(0);
        let mut chosen: Vec<(usize, usize)> = up_to(level).copied().collect();
        chosen.sort_by_key(|(i, depth)| (tests[*i], *depth, *i));
        let pointer = |(i, _): &(usize, usize)| Pointer { lines: headers[*i].whole.clone(), name: headers[*i].name.clone(), with_lines };
        let mut pointers: Vec<Pointer> = chosen.iter().map(pointer).collect();
        pointers.extend(values.iter().filter(|value| is_inside(&value.lines)).cloned());
        let most = if pointers.len() == most + 1 { most + 1 } else { most }; // its name is as short as the word that there is one more
        let more = pointers.len().saturating_sub(most);
        pointers.truncate(most);
        pointers.sort_by_key(|pointer| pointer.lines.start);
        if more > 0 {
            pointers.push(Pointer { lines: gap.end - 1..gap.end, name: format!("{more} more"), with_lines: false });
        }
        pointers
    }

    /// The values that have any of the lines and are in no definition.
    fn values(&self, syntax: &Syntax, headers: &[Header]) -> Vec<Pointer> {
        let defined = self.are_defined(headers);
        let names = Names::new(&syntax.definitions, self.text);
        let value = |(i, it): (usize, &crate::syntax::Definition)| {
            let lines = self.own(&it.lines);
            let is_one = it.kind == Kind::Value && !lines.is_empty() && !defined[lines.start] && !names.own(i).is_empty();
            is_one.then(|| Pointer { lines, name: names.own(i).to_owned(), with_lines: false })
        };
        syntax.definitions.iter().enumerate().filter_map(value).collect()
    }
}

/// Whether a script names an interpreter that is no shell.
fn is_of_another_interpreter(text: &[&str]) -> bool {
    let interpreter = text.first().and_then(|line| line.strip_prefix("#!"));
    interpreter.is_some_and(|it| !it.split_whitespace().any(|word| word.ends_with("sh")))
}

/// Whether this is what tests are called: `tests`, `test_retry`, `TestRetry`, `RetryTest`.
fn is_of_tests(name: &str) -> bool {
    ["test", "Test"].iter().any(|start| name.starts_with(start)) || ["Test", "Tests"].iter().any(|end| name.ends_with(end))
}

/// The first lines that others stand under and that stand under none.
fn outermost(form: Form, lines: &[&str]) -> Vec<usize> {
    let parents = form.parents(lines);
    let mut heads: Vec<usize> = parents.iter().flatten().copied().filter(|line| parents[*line].is_none()).collect();
    heads.dedup();
    heads.truncate(LONGEST_OUTLINE);
    heads
}

impl Material for Code<'_> {
    fn lines(&self) -> &[&str] {
        &self.text[self.range.clone()]
    }

    fn complete(&self, kept: &mut [bool]) {
        let mut all = vec![false; self.text.len()];
        all[self.range.clone()].copy_from_slice(kept);
        match self.structure() {
            Structure::Syntax(syntax) => {
                structure::complete(syntax, self.text, &mut all);
                if let Known::Grammar(language) = self.form
                    && language.is_component()
                {
                    component::complete(language, self.text, &mut all);
                }
                structure::repair(syntax, self.text, &mut all, self.access);
            }
            Structure::Markdown(markdown) => markdown.complete(&mut all),
            Structure::Plain(form) => form.complete(self.text, &mut all),
            Structure::Unread(_) => Form::Indentation.complete(self.text, &mut all),
        }
        kept.copy_from_slice(&all[self.range.clone()]);
    }

    fn named(&self, question: &FocusQuestion) -> Vec<Header> {
        if let Known::Plain(Form::Sections) = self.form {
            return records_asked_for(self.lines(), question.as_str());
        }
        let (names, guessed) = ([question.names(), question.capitalised()].concat(), question.guessed());
        if names.is_empty() && guessed.is_empty() {
            return Vec::new();
        }
        let Structure::Syntax(syntax) = self.structure() else { return Vec::new() };
        let mut headers = self.own_headers(syntax);
        let mut times: HashMap<&str, usize> = HashMap::new();
        headers.iter().for_each(|header| *times.entry(&header.own).or_default() += 1);
        let is_named = |own: &str| names.contains(&own) || guessed.contains(&own) && times[own] == 1; // of several it cannot be told which is meant
        let named: Vec<bool> = headers.iter().map(|header| is_named(&header.own)).collect();
        let mut named = named.into_iter();
        headers.retain(|_| named.next() == Some(true));
        headers
    }

    /// Few lines that say what went wrong in what a program printed, where that is asked; in code, the constants that are used.
    fn wanted_with(&self, question: &FocusQuestion, picked: &[bool]) -> Vec<usize> {
        let lines = self.lines();
        match self.form {
            Known::Grammar(_) => constants::used(lines, picked),
            Known::Markdown => Vec::new(),
            Known::Plain(_) => {
                Some(errors_asked_for(lines, question.as_str())).filter(|errors| errors.len() <= few_of(lines.len())).unwrap_or_default()
            }
        }
    }

    fn prepare(&self) {
        self.structure();
    }

    fn note(&self) -> Option<String> {
        match self.structure() {
            Structure::Unread(why) => Some(format!("Lines go together by indentation, as {why}.")),
            _ => None,
        }
    }

    fn absent<'q>(&self, question: &'q FocusQuestion) -> Vec<&'q str> {
        question.absent_from(self.lines())
    }

    fn definitions(&self) -> Vec<Definition> {
        match self.structure() {
            Structure::Syntax(syntax) => {
                let headers = self.own_headers(syntax);
                let holds_no_other = |i: usize| headers.get(i + 1).is_none_or(|next: &Header| next.whole.start >= headers[i].whole.end);
                let definition = |Header { rows, whole, doc, name, .. }: &Header| Definition {
                    lines: whole.clone(),
                    body: rows.end..whole.end,
                    name: Some(name.clone()).filter(|name| !name.is_empty()),
                    doc: if doc.start >= rows.end { doc.clone() } else { rows.end..rows.end },
                    is_code: true,
                };
                let leaves = headers.iter().enumerate().filter(|(i, _)| holds_no_other(*i));
                leaves.map(|(_, header)| definition(header)).collect()
            }
            Structure::Markdown(markdown) => {
                let name = |heading: &Heading| self.text[heading.lines.start].trim_matches(['#', ' ', '\t', '\r', '\n']);
                let section = |heading: &Heading| Definition {
                    lines: self.own(&(heading.lines.start..heading.own_end)),
                    body: self.own(&(heading.lines.end..heading.own_end)),
                    name: Some(name(heading).to_owned()).filter(|name| !name.is_empty()),
                    doc: 0..0,
                    is_code: false,
                };
                markdown.headings().iter().map(section).filter(|section| !section.body.is_empty()).collect()
            }
            Structure::Plain(_) | Structure::Unread(_) => Vec::new(),
        }
    }

    /// The likeliest lines all the same, as a wrong "none" would cost another call, and what names do not say.
    fn outline(&self, scores: &LineScores, mentioned: &[usize]) -> Vec<bool> {
        let mut kept = self.headers();
        mentioned.iter().for_each(|line| kept[*line] = true);
        let likely = (0..kept.len()).filter(|line| self.can_pick(*line) && scores.keep[*line] >= scores.thresholds.generous);
        best_first(&scores.keep, likely).into_iter().take(LIKELIEST).for_each(|line| kept[line] = true);
        kept
    }

    fn elsewhere(&self, question: &FocusQuestion) -> Option<String> {
        let outside = |(word, on): (&str, Vec<usize>)| {
            let first = on.into_iter().find(|line| !self.range.contains(line))?;
            Some(format!("{} on line {}", quote(word), first + 1))
        };
        let found: Vec<String> = question.rare_words(self.text).into_iter().filter_map(outside).take(NAMED).collect();
        (!found.is_empty()).then(|| format!("Elsewhere in the file: {}.", found.join(", ")))
    }

    fn is_part(&self) -> bool {
        self.is_part
    }

    fn contents(&self, kept: &[bool], answered: bool) -> Vec<Pointer> {
        let Structure::Syntax(syntax) = self.structure() else { return Vec::new() };
        let headers = self.own_headers(syntax);
        let values = self.values(syntax, &headers);
        let tests = self.are_tests(&headers);
        let most = if answered { (NAMED, false) } else { (LONGEST_OUTLINE, true) };
        let of_gap = |gap: Range<usize>| {
            let inside = self.inside(&gap, &headers, &tests, &values, most);
            if !inside.is_empty() {
                return inside;
            }
            let around =
                headers.iter().rfind(|header| header.rows.end <= gap.start && gap.end <= header.whole.end && !header.name.is_empty());
            // Right below the header it is clear what a gap is of.
            let is_clear = |of: &Header| gap.start == of.rows.end && !kept[gap.end..of.whole.end.max(gap.end + 1) - 1].contains(&true);
            let of = |of: &Header| Pointer { lines: gap.clone(), name: format!("of {}", of.name), with_lines: false };
            around.filter(|of| !is_clear(of)).map(of).into_iter().collect()
        };
        gaps(kept).into_iter().flat_map(of_gap).collect()
    }

    fn can_pick(&self, line: usize) -> bool {
        !is_structural(self.lines()[line])
    }

    fn view(&self, kept: &[bool], pointers: &[Pointer]) -> String {
        render::view(self.lines(), self.first, kept, pointers, self.numbered)
    }

    fn cost(&self, kept: &[bool], pointers: &[Pointer]) -> usize {
        render::cost(self.lines(), self.first, kept, pointers, self.numbered)
    }

    fn room(&self, most: usize) -> usize {
        render::room(most)
    }
}

#[cfg(test)]
mod tests {
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::syntax::Reader;

    #[test]
    fn of_many_definitions_tests_come_last() {
        let function = |name: String| format!("    fn {name}() {{\n        go();\n    }}\n");
        let tests: String = (0..80).map(|i| function(format!("case_{i}"))).collect();
        let text = format!("impl A {{\n{}}}\nmod tests {{\n{tests}}}\n", function("go_on".to_owned()));
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let (reader, cancel) = (Reader::unguarded(), CancellationToken::new());
        let named = |kept: Vec<bool>, answered: bool| {
            let pointers = Code::new("a.rs", &lines, 0, &reader.access(&cancel)).contents(&kept, answered);
            pointers.into_iter().map(|pointer| pointer.name).collect::<Vec<_>>()
        };
        let all = named(vec![false; lines.len()], false);
        assert!(
            all[..3] == ["go_on", "tests", "case_0"] && all.len() == LONGEST_OUTLINE + 1 && all[LONGEST_OUTLINE] == "42 more",
            "{all:?}"
        );
        let kept: Vec<bool> = (0..lines.len()).map(|line| matches!(line, 2 | 5 | 15 | 16)).collect();
        assert_eq!(named(kept, true), ["case_0", "case_1", "case_2", "case_4", "case_5", "74 more"]);
    }

    #[test]
    fn definitions_of_the_same_name_say_whose_they_are() {
        let texts = [
            (
                "a.rs",
                "impl<T> Store<T> {\n    fn get() {\n    }\n    fn put() {\n    }\n}\nimpl fmt::Display for &a::Cache {\n    fn get() {\n    }\n}\nmod m {\n    fn get() {\n    }\n}\n",
                vec!["Store.get", "put", "Cache.get", "m.get"],
            ),
            (
                "a.go",
                "func (s *Store[K]) Get() {\n}\nfunc (Cache) Get() {\n}\nfunc (c *Cache) Put() {\n}\nfunc Get() {\n}\n",
                vec!["Store.Get", "Cache.Get", "Put", "Get"],
            ),
            (
                "a.cpp",
                "int *Store::get() {\n}\ntemplate <class T>\nint Cache<T>::get() {\n}\nvoid Store::put() {\n}\nclass A {\n  void get() {\n  }\n};\n",
                vec!["Store.get", "Cache.get", "put", "A.get"],
            ),
            ("a.py", "class A:\n    def get():\n        pass\nclass B:\n    def get():\n        pass\n", vec!["A.get", "B.get"]),
        ];
        for (name, text, wanted) in texts {
            let lines: Vec<&str> = text.split_inclusive('\n').collect();
            let (reader, cancel) = (Reader::unguarded(), CancellationToken::new());
            let names: Vec<String> = Code::new(name, &lines, 0, &reader.access(&cancel))
                .definitions()
                .into_iter()
                .filter_map(|definition| definition.name)
                .collect();
            assert_eq!(names, wanted, "{name}");
        }
    }

    #[test]
    fn definitions_of_a_text_that_is_just_being_typed_are_in_it() {
        let texts = [
            (
                "a.py",
                "class A:\n    x = foo(1, \\\n        2)\n\n    @b\n    def f(self, \\\n          a):\n        return [\n            a]\n",
            ),
            ("a.rs", "mod m {\n    impl A {\n        fn f(\n            a: u8,\n        ) -> u8 {\n            a\n        }\n    }\n}\n"),
            (
                "a.ts",
                "export class A {\n  f = (\n    a: number,\n  ) => {\n    go(a);\n  };\n}\nnamespace N {\n  type T = {\n    a: 1;\n  };\n}\n",
            ),
            ("a.cpp", "template <class T>\nstruct A {\n#ifdef X\n  int f(int a,\n        int b)\n  {\n    return a;\n  }\n#endif\n};\n"),
            ("a.go", "type (\n\tA struct {\n\t\tb int\n\t}\n)\n\nfunc (a A) f(\n\tb int,\n) int {\n\treturn b\n}\n"),
            ("a.rb", "module M\n  class A\n    def f(a,\n          b)\n      a\n    end\n  end\nend\n"),
            ("a.md", "# A\n\ntext\n\n##\n\n- a\n  b\n\n```\n# no\n```\n"),
        ];
        let (reader, cancel) = (Reader::unguarded(), CancellationToken::new());
        for (name, text) in texts {
            for (cut, end) in (0..=text.len()).flat_map(|cut| ["", "\n", "\n    ", " \\\n  "].map(|end| (cut, end))) {
                let text = format!("{}{end}", &text[..cut]);
                let lines: Vec<&str> = text.split_inclusive('\n').collect();
                for Definition { lines: whole, body, name: called, .. } in Code::new(name, &lines, 0, &reader.access(&cancel)).definitions()
                {
                    let is_inside = whole.start < body.start && body.start <= body.end && body.end == whole.end && whole.end <= lines.len();
                    assert!(is_inside && called.is_none_or(|called| !called.is_empty()), "{text:?}: {whole:?}, {body:?}");
                }
            }
        }
    }
}
