//! A file, or lines of one, as [`Material`]: completed by syntax where there is a grammar, by blocks in Markdown, by indentation elsewhere.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::markdown::{Heading, Markdown};
use super::plain::{Form, errors_asked_for, records_asked_for};
use super::select::is_structural;
use super::structure::Header;
use super::{Definition, FocusQuestion, Material, Pointer, constants, few_of, render, structure};
use crate::skim::{LineScores, best_first};
use crate::syntax::{Access, Language, Place, Syntax, Unread};

/// Lines of an outline, at most.
const LONGEST_OUTLINE: usize = 60;
/// Last lines that its outline has.
const LAST: usize = 5;
/// Likeliest lines shown with an outline.
const LIKELIEST: usize = 8;

/// Lines of a file.
pub struct Code<'a> {
    /// The text as far as it is known: what begins before the lines and ends after them says what they are.
    text: &'a [&'a str],
    /// Which of it the lines are.
    range: Range<usize>,
    /// 0-based number of the first of the lines.
    first: usize,
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
        Self { first, ..Self::part(path, lines, 0..lines.len(), access) }
    }

    /// Some lines of a whole file.
    pub fn part(path: &str, text: &'a [&'a str], range: Range<usize>, access: &'a Access<'a>) -> Self {
        let form = match Language::of(path) {
            Some(Language::Bash) if is_of_another_interpreter(text) => Known::Plain(Form::of(path, text)),
            Some(language) => Known::Grammar(language),
            None if [".md", ".markdown", ".mdx"].iter().any(|end| path.ends_with(end)) => Known::Markdown,
            None => Known::Plain(Form::of(path, text)),
        };
        Self { text, first: range.start, range, numbered: false, form, access, structure: OnceLock::new() }
    }

    /// The same, to be shown with or without numbers.
    #[must_use]
    pub fn numbered(self, numbered: bool) -> Self {
        Self { numbered, ..self }
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
        let place = |place: Option<Place>| {
            place.filter(|(line, _)| self.range.contains(line)).map(|(line, bytes)| (line - self.range.start, bytes))
        };
        let clip = |header: Header| Header {
            rows: self.own(&header.rows),
            whole: self.own(&header.whole),
            name: place(header.name),
            of: place(header.of),
            level: header.level,
        };
        structure::headers(syntax).map(clip).filter(|header| !header.whole.is_empty()).collect()
    }

    /// The name of a definition; none if it has none on a line of these.
    fn name_of(&self, header: &Header) -> &str {
        self.at(header.name.as_ref())
    }

    fn at(&self, place: Option<&Place>) -> &str {
        place.and_then(|(line, bytes)| self.lines()[*line].get(bytes.clone())).unwrap_or_default()
    }

    /// The names of definitions, none where there is none; where several have the same, each with what it is in or says it belongs to: `Store.get`.
    fn names_of(&self, headers: &[Header]) -> Vec<String> {
        let mut times: HashMap<&str, usize> = HashMap::new();
        headers.iter().for_each(|header| *times.entry(self.name_of(header)).or_default() += 1);
        let mut around: Vec<&Header> = Vec::new();
        let mut names = Vec::with_capacity(headers.len());
        for header in headers {
            while around.pop_if(|outer| outer.level >= header.level).is_some() {}
            let name = self.name_of(header);
            let outer = header.of.as_ref().or_else(|| around.last().and_then(|outer| outer.name.as_ref().or(outer.of.as_ref())));
            let outer = self.at(outer);
            names.push(if name.is_empty() || outer.is_empty() || times[name] == 1 { name.to_owned() } else { format!("{outer}.{name}") });
            around.push(header);
        }
        names
    }

    /// Which definitions are called a test, or are in what is.
    fn are_tests(&self, headers: &[Header]) -> Vec<bool> {
        let mut end = 0; // of what is called so
        let is_test = |header: &Header| {
            if is_of_tests(self.name_of(header)) {
                end = end.max(header.whole.end);
            }
            header.whole.start < end
        };
        headers.iter().map(is_test).collect()
    }

    /// Headers of definitions, or what comes closest to them: headings in Markdown; elsewhere the least indented lines that others stand under,
    /// and the end of what is no change, where logs and tables sum up.
    fn headers(&self, scores: &[f32]) -> Vec<bool> {
        let (heads, with_end) = match self.structure() {
            Structure::Syntax(syntax) => {
                let headers = self.own_headers(syntax);
                let mostly_outside = self.is_mostly_outside(&headers);
                let mut heads = self.heads_of_definitions(headers, scores);
                if mostly_outside {
                    let more = LONGEST_OUTLINE.saturating_sub(heads.len());
                    heads.extend(outermost(Form::Indentation, self.lines()).into_iter().take(more));
                }
                (heads, false)
            }
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
        let mut defined = vec![false; self.lines().len()];
        headers.iter().for_each(|header| defined[header.whole.clone()].fill(true));
        3 * defined.iter().filter(|defined| **defined).count() < defined.len()
    }

    /// Lines of the headers of definitions. Of too many definitions those come first that are no tests, then those that are in no other, then those
    /// that score best, with a line each.
    fn heads_of_definitions(&self, mut headers: Vec<Header>, scores: &[f32]) -> Vec<usize> {
        headers.retain(|header| !header.rows.is_empty());
        if headers.iter().map(|header| header.rows.len()).sum::<usize>() > LONGEST_OUTLINE {
            let score = |header: &Header| scores[header.rows.start];
            let mut ordered: Vec<(bool, Header)> = self.are_tests(&headers).into_iter().zip(headers).collect();
            ordered.sort_by(|(a_test, a), (b_test, b)| (a_test, a.level).cmp(&(b_test, b.level)).then(score(b).total_cmp(&score(a))));
            headers = ordered.into_iter().map(|(_, header)| header).take(LONGEST_OUTLINE).collect();
            let line = |header: &Header| header.name.as_ref().map_or(header.rows.start, |(line, _)| *line); // not that of an annotation
            headers.iter_mut().for_each(|header| header.rows = line(header)..line(header) + 1);
        }
        headers.into_iter().flat_map(|header| header.rows).collect()
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
        let names = [question.names(), question.capitalised()].concat();
        if names.is_empty() {
            return Vec::new();
        }
        let Structure::Syntax(syntax) = self.structure() else { return Vec::new() };
        let mut headers = self.own_headers(syntax);
        headers.retain(|header| names.contains(&self.name_of(header)));
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
                let names = self.names_of(&headers);
                let holds_no_other = |i: usize| headers.get(i + 1).is_none_or(|next: &Header| next.whole.start >= headers[i].whole.end);
                let definition = |(Header { rows, whole, .. }, name): (&Header, String)| Definition {
                    lines: whole.clone(),
                    body: rows.end..whole.end,
                    name: Some(name).filter(|name| !name.is_empty()),
                };
                let leaves = headers.iter().zip(names).enumerate().filter(|(i, _)| holds_no_other(*i));
                leaves.map(|(_, named)| definition(named)).collect()
            }
            Structure::Markdown(markdown) => {
                let name = |heading: &Heading| self.text[heading.lines.start].trim_matches(['#', ' ', '\t', '\r', '\n']);
                let section = |heading: &Heading| Definition {
                    lines: self.own(&(heading.lines.start..heading.own_end)),
                    body: self.own(&(heading.lines.end..heading.own_end)),
                    name: Some(name(heading).to_owned()).filter(|name| !name.is_empty()),
                };
                markdown.headings().iter().map(section).filter(|section| !section.body.is_empty()).collect()
            }
            Structure::Plain(_) | Structure::Unread(_) => Vec::new(),
        }
    }

    /// The headers, and the likeliest lines all the same: a wrong "none" would cost another call.
    fn outline(&self, scores: &LineScores, mentioned: &[usize]) -> Vec<bool> {
        let mut kept = self.headers(&scores.keep);
        mentioned.iter().for_each(|line| kept[*line] = true);
        let likely = (0..kept.len()).filter(|line| self.can_pick(*line) && scores.keep[*line] >= scores.thresholds.generous);
        best_first(&scores.keep, likely).into_iter().take(LIKELIEST).for_each(|line| kept[line] = true);
        kept
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
        let kept =
            Code::new("a.rs", &lines, 0, &reader.access(&cancel)).headers(&(0..lines.len()).map(|line| line as f32).collect::<Vec<_>>());
        assert!(kept[0] && kept[1] && kept.iter().filter(|kept| **kept).count() == LONGEST_OUTLINE);
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
                for Definition { lines: whole, body, name: called } in Code::new(name, &lines, 0, &reader.access(&cancel)).definitions() {
                    let is_inside = whole.start < body.start && body.start <= body.end && body.end == whole.end && whole.end <= lines.len();
                    assert!(is_inside && called.is_none_or(|called| !called.is_empty()), "{text:?}: {whole:?}, {body:?}");
                }
            }
        }
    }
}
