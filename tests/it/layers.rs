//! Each file can be understood with those that it names, and without those that name it: no files import each other.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;

use tree_sitter::{Node, Parser};

use crate::common::REPOSITORY;

/// Adds the tokens of a node, but for those of comments, literals and items that are compiled for tests only.
fn tokens<'a>(node: Node<'_>, source: &'a str, out: &mut Vec<&'a str>) {
    if node.child_count() == 0 {
        out.push(&source[node.byte_range()]);
        return;
    }
    let mut for_tests = false;
    for child in node.children(&mut node.walk()) {
        if child.kind().ends_with("_comment") || child.kind().ends_with("_literal") {
            continue;
        }
        if child.kind() == "attribute_item" {
            for_tests |= &source[child.byte_range()] == "#[cfg(test)]";
        } else if std::mem::take(&mut for_tests) {
            continue;
        }
        tokens(child, source, out);
    }
}

/// Adds the paths that tokens begin with, each below `path`, and gives the tokens after them: `a::{b, c::d}` are `a::b` and `a::c::d`.
fn branches<'t, 'a>(tokens: &'t [&'a str], path: &[&'a str], out: &mut Vec<Vec<&'a str>>) -> &'t [&'a str] {
    match tokens {
        ["{", inside @ ..] => {
            let mut rest = inside;
            loop {
                rest = match rest {
                    [] => return rest,
                    ["}", after @ ..] => return after,
                    [",", after @ ..] => after,
                    _ => branches(rest, path, out),
                };
            }
        }
        [name, "::", after @ ..] => branches(after, &[path, &[*name]].concat(), out),
        [name, "as", _, after @ ..] | [name, after @ ..] => {
            out.push([path, &[*name]].concat());
            after
        }
        [] => tokens,
    }
}

/// The paths in a source that say where they begin, in `use` or anywhere else.
fn paths(source: &str) -> Vec<Vec<&str>> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_rust::LANGUAGE.into()).expect("a grammar");
    let tree = parser.parse(source, None).expect("a tree");
    let (mut words, mut out) = (Vec::new(), Vec::new());
    tokens(tree.root_node(), source, &mut words);
    for (at, word) in words.iter().enumerate() {
        let is_first = at == 0 || words[at - 1] != "::";
        if is_first && matches!(*word, "codeskim" | "crate" | "self" | "super") && words.get(at + 1) == Some(&"::") {
            branches(&words[at..], &[], &mut out);
        }
    }
    out
}

/// The module that a file holds. The library and the program have no modules of the same path.
fn module(file: &str) -> Vec<&str> {
    let path = file.trim_start_matches("src/").trim_end_matches(".rs");
    path.strip_suffix("/mod").unwrap_or(path).split('/').collect()
}

/// The files whose modules each file names. A module and those beneath it are one thing, in which either may name the other.
fn imports(sources: &BTreeMap<String, String>) -> BTreeMap<&str, BTreeSet<&str>> {
    let modules: BTreeMap<Vec<&str>, &str> = sources.keys().map(|file| (module(file), file.as_str())).collect();
    let mut imports: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (file, source) in sources {
        let own = module(file);
        for path in paths(source) {
            let mut whole = match path[0] {
                "self" => own.clone(),
                "super" => own[..own.len() - 1].to_vec(),
                _ => Vec::new(),
            };
            for name in &path[1..] {
                if *name == "super" {
                    whole.pop();
                } else {
                    whole.push(*name);
                }
            }
            let named = (1..=whole.len()).rev().find_map(|length| modules.get_key_value(&whole[..length]));
            if let Some((module, other)) = named
                && !module.starts_with(&own)
                && !own.starts_with(module)
            {
                imports.entry(file).or_default().insert(*other);
            }
        }
    }
    imports
}

/// The shortest way from a file back to it.
fn circle<'a>(file: &'a str, imports: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> Option<Vec<&'a str>> {
    let (mut ways, mut seen) = (VecDeque::from([vec![file]]), BTreeSet::new());
    while let Some(way) = ways.pop_front() {
        for next in imports.get(way[way.len() - 1]).into_iter().flatten() {
            let longer = [&way[..], &[*next]].concat();
            if *next == file {
                return Some(longer);
            }
            if seen.insert(*next) {
                ways.push_back(longer);
            }
        }
    }
    None
}

/// A circle for each file that is in any, where no other shows it already.
fn circles(sources: &BTreeMap<String, String>) -> Vec<String> {
    let imports = imports(sources);
    let (mut shown, mut out) = (BTreeSet::<&str>::new(), Vec::new());
    for file in imports.keys() {
        if !shown.contains(file)
            && let Some(circle) = circle(file, &imports)
        {
            out.push(circle.join(" -> "));
            shown.extend(circle);
        }
    }
    out
}

#[test]
fn no_files_import_each_other() {
    let walk = ignore::WalkBuilder::new(Path::new(REPOSITORY).join("src")).standard_filters(false).build();
    let files =
        walk.map(|entry| entry.expect("an entry").into_path()).filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    let sources = files.map(|path| {
        let name = path.strip_prefix(REPOSITORY).expect("a file of it").to_string_lossy().replace('\\', "/");
        (name, std::fs::read_to_string(path).expect("a source"))
    });
    let circles = circles(&sources.collect());
    assert!(circles.is_empty(), "move what both need to where both may import it from:\n{}", circles.join("\n"));
}

/// What a comment, a string or a test names does not count, nor what a module and those beneath it name of each other.
#[test]
fn a_circle_is_found() {
    let quiet = "//! crate::a::A\nfn g() { \"crate::a::A\"; }\n#[cfg(test)]\nmod tests { use crate::a::A; }\n";
    let files = [
        ("src/a.rs", "use codeskim::b::{B as _, c::{self, C}};"),
        ("src/b/mod.rs", "mod c; use self::c::C; struct B;"),
        ("src/b/c.rs", "use super::B; fn e() { println!(\"{}\", super::super::f::g()) }"),
        ("src/f.rs", quiet),
    ];
    let mut sources: BTreeMap<_, _> = files.map(|(file, source)| (file.to_owned(), source.to_owned())).into();
    assert!(circles(&sources).is_empty());
    sources.insert("src/f.rs".to_owned(), format!("{quiet}fn h(a: crate::a::A) {{}}"));
    assert_eq!(circles(&sources), ["src/a.rs -> src/b/c.rs -> src/f.rs -> src/a.rs"]);
}
