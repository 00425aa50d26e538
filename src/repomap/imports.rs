//! Which files of the repository a file imports.
//!
//! Python to the letter of the study: every import statement anywhere in the file, absolute ones from the source roots, relative ones from the
//! file's package; `from a import b` is the module a.b where there is one, else a. The other languages by their own rules, as far as they can
//! be followed without their build tools.

use tree_sitter::Node;

use super::repository::{Repository, Source, directory, is_expression, join, walk};
use crate::prune::language::Language;

/// Directories that are often on the path of a language's imports, beside the top.
const SOURCE_ROOTS: [&str; 5] = ["", "src", "lib", "python", "include"];
const SCRIPT_ENDINGS: [&str; 9] = ["ts", "tsx", "d.ts", "js", "jsx", "mjs", "cjs", "mts", "cts"];

/// The files that `path` imports, in the order of its imports, each once and never itself.
pub fn imports(path: &str, source: &Source, repository: &Repository<'_>) -> Vec<String> {
    let mut found = Vec::new();
    let mut visit = |node: Node<'_>| {
        let text = |node: Node<'_>| source.text[node.byte_range()].to_owned();
        match source.language {
            Language::Python => python(path, node, &text, repository),
            Language::JavaScript | Language::TypeScript | Language::Tsx => script(path, node, &text, repository),
            Language::Rust => rust(path, node, &text, repository),
            Language::Go => go(path, node, &text, repository),
            Language::Java => java(node, &text, repository),
            Language::C | Language::Cpp => include(path, node, &text, repository),
            Language::Php | Language::Ruby => required(path, node, &text, repository),
        }
        .into_iter()
        .for_each(|file| found.push(file));
        source.language != Language::Python || !is_expression(node.kind())
    };
    walk(source.tree.root_node(), &mut visit);
    let mut seen = std::collections::HashSet::from([path.to_owned()]);
    found.retain(|file| seen.insert(file.clone()));
    found
}

type Text<'a> = &'a dyn Fn(Node<'_>) -> String;

fn python(path: &str, node: Node<'_>, text: Text<'_>, repository: &Repository<'_>) -> Vec<String> {
    if !matches!(node.kind(), "import_statement" | "import_from_statement") {
        return Vec::new();
    }
    let dotted = |node: Node<'_>| text(node).chars().filter(|c| !c.is_whitespace() && *c != '\\').collect::<String>();
    let mut cursor = node.walk();
    let name = |node: Node<'_>| node.child_by_field_name("name").map_or_else(|| dotted(node), dotted);
    let names: Vec<String> = node.children_by_field_name("name", &mut cursor).map(name).collect();
    if node.kind() == "import_statement" {
        return names.iter().filter_map(|module| find(module, &absolute(path, repository), repository)).collect();
    }
    let Some(module) = node.child_by_field_name("module_name").map(dotted) else { return Vec::new() };
    let dots = module.len() - module.trim_start_matches('.').len();
    let (module, start) = match dots {
        0 => (module.as_str(), absolute(path, repository)),
        _ => match package(path, dots, repository) {
            Some(package) => (&module[dots..], vec![package]),
            None => return Vec::new(), // beyond the outermost package, which Python refuses
        },
    };
    let below = |name: &str| [module, name].iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join(".");
    let itself = || match module {
        "" => start.first().map(|package| join_file(package, "__init__.py")).filter(|file| repository.is_file(file)),
        module => find(module, &start, repository),
    };
    if names.is_empty() {
        return itself().into_iter().collect();
    }
    names.iter().filter_map(|name| find(&below(name), &start, repository).or_else(itself)).collect()
}

/// The package that a relative import with so many dots starts from.
fn package(path: &str, dots: usize, repository: &Repository<'_>) -> Option<String> {
    let mut package = directory(path);
    for _ in 1..dots {
        let inside = repository.is_file(&join_file(package, "__init__.py"));
        let up = directory(package);
        if package.is_empty() || inside && !repository.is_file(&join_file(up, "__init__.py")) {
            return None;
        }
        package = up;
    }
    Some(package.to_owned())
}

/// Where absolute imports are looked for: from the directory above the importing file's outermost package upwards, and in the usual ones below
/// each, as a server may be started above several projects.
fn absolute(path: &str, repository: &Repository<'_>) -> Vec<String> {
    let mut own = directory(path);
    while !own.is_empty() && repository.is_file(&join_file(own, "__init__.py")) {
        own = directory(own);
    }
    let up = std::iter::successors(Some(own), |at| (!at.is_empty()).then(|| directory(at)));
    up.flat_map(|at| SOURCE_ROOTS.map(|root| join(at, root).unwrap_or_default())).collect()
}

/// The file of a module by its dotted name. Each part is looked for in what the one before it was found to be: a package, or, where no place
/// has one or a module of that name, all directories of that name together.
fn find(module: &str, places: &[String], repository: &Repository<'_>) -> Option<String> {
    let mut places = places.to_vec();
    let mut file = None;
    for part in module.split('.') {
        let at: Vec<String> = places.iter().filter_map(|place| join(place, part)).collect();
        let found = at.iter().find_map(|base| {
            let package = join_file(base, "__init__.py");
            if repository.is_file(&package) {
                return Some((package, vec![base.clone()]));
            }
            Some(format!("{base}.py")).filter(|module| repository.is_file(module)).map(|module| (module, Vec::new()))
        });
        (file, places) = match found {
            Some((found, below)) => (Some(found), below),
            None => (None, at.into_iter().filter(|base| repository.is_directory(base)).collect()),
        };
    }
    file
}

fn join_file(directory: &str, file: &str) -> String {
    if directory.is_empty() { file.to_owned() } else { format!("{directory}/{file}") }
}

fn script(path: &str, node: Node<'_>, text: Text<'_>, repository: &Repository<'_>) -> Vec<String> {
    let from = match node.kind() {
        "import_statement" | "export_statement" => node.child_by_field_name("source"),
        "call_expression" => {
            let called = node.child_by_field_name("function").map(text).unwrap_or_default();
            let first = node.child_by_field_name("arguments").and_then(|arguments| arguments.named_child(0));
            first.filter(|first| matches!(called.as_str(), "require" | "import") && first.kind() == "string")
        }
        _ => None,
    };
    let Some(from) = from.map(|from| unquote(&text(from))).filter(|from| from.starts_with('.')) else { return Vec::new() };
    let Some(base) = join(directory(path), &from) else { return Vec::new() };
    let endings = |base: &str| SCRIPT_ENDINGS.map(|ending| format!("{base}.{ending}"));
    // TypeScript imports "./a.js" and means a.ts.
    let without = base.rsplit_once('.').filter(|(_, ending)| ending.ends_with("js") || *ending == "jsx").map(|(base, _)| base);
    let candidates = std::iter::once(base.clone())
        .chain(endings(&base))
        .chain(without.into_iter().flat_map(endings))
        .chain(endings(&format!("{base}/index")));
    candidates.into_iter().find(|file| Language::of(file).is_some() && repository.is_file(file)).into_iter().collect()
}

fn rust(path: &str, node: Node<'_>, text: Text<'_>, repository: &Repository<'_>) -> Vec<String> {
    let file_name = path.rsplit('/').next().unwrap_or_default();
    let own = match file_name {
        "mod.rs" | "lib.rs" | "main.rs" => directory(path).to_owned(),
        name => join(directory(path), name.trim_end_matches(".rs")).unwrap_or_default(),
    };
    let module = |base: &str| [format!("{base}.rs"), format!("{base}/mod.rs")].into_iter().find(|file| repository.is_file(file));
    match node.kind() {
        "mod_item" if node.child_by_field_name("body").is_none() => {
            let name = node.child_by_field_name("name").map(text).unwrap_or_default();
            join(&own, &name).and_then(|base| module(&base)).into_iter().collect()
        }
        "use_declaration" => {
            let Some(argument) = node.child_by_field_name("argument") else { return Vec::new() };
            let mut root = directory(path);
            while !root.is_empty() && !["lib.rs", "main.rs"].iter().any(|file| repository.is_file(&format!("{root}/{file}"))) {
                root = directory(root);
            }
            let resolve = |used: Vec<String>| {
                let (start, rest) = match used.first().map(String::as_str) {
                    Some("crate") => (root.to_owned(), &used[1..]),
                    Some("self") => (own.clone(), &used[1..]),
                    Some("super") => {
                        let ups = used.iter().take_while(|part| *part == "super").count();
                        let up = (0..ups).try_fold(own.as_str(), |at, _| (!at.is_empty()).then(|| directory(at)))?;
                        (up.to_owned(), &used[ups..])
                    }
                    _ => return None,
                };
                // The longest part of the path that is a file; the rest are items in it.
                (1..=rest.len()).rev().find_map(|length| module(&join(&start, &rest[..length].join("/"))?))
            };
            used_paths(&text(argument)).into_iter().filter_map(resolve).collect()
        }
        _ => Vec::new(),
    }
}

/// The paths of a use declaration: `a::{b, c::d as e, *}` -> a::b, a::c::d, a.
fn used_paths(tree: &str) -> Vec<Vec<String>> {
    fn part(prefix: &[String], tree: &str, out: &mut Vec<Vec<String>>) {
        let tree = tree.trim();
        if let Some((before, inside)) = tree.split_once('{') {
            let prefix: Vec<String> = prefix.iter().cloned().chain(names(before)).collect();
            let inside = inside.strip_suffix('}').unwrap_or(inside);
            let (mut depth, mut from) = (0, 0);
            for (at, c) in inside.char_indices().chain([(inside.len(), ',')]) {
                match c {
                    '{' => depth += 1,
                    '}' => depth -= 1,
                    ',' if depth == 0 => {
                        part(&prefix, &inside[from..at], out);
                        from = at + 1;
                    }
                    _ => {}
                }
            }
        } else if !tree.is_empty() {
            let path = tree.split(" as ").next().unwrap_or_default();
            out.push(prefix.iter().cloned().chain(names(path)).filter(|name| name != "*" && name != "self" || prefix.is_empty()).collect());
        }
    }
    fn names(path: &str) -> Vec<String> {
        path.split("::").map(str::trim).filter(|name| !name.is_empty() && *name != "*").map(str::to_owned).collect()
    }
    let mut out = Vec::new();
    part(&[], tree, &mut out);
    out
}

fn go(path: &str, node: Node<'_>, text: Text<'_>, repository: &Repository<'_>) -> Vec<String> {
    if node.kind() != "import_spec" {
        return Vec::new();
    }
    let Some(wanted) = node.child_by_field_name("path").map(|path| unquote(&text(path))) else { return Vec::new() };
    // The nearest go.mod above says what the imports of this module begin with.
    let mut root = directory(path);
    while !root.is_empty() && !repository.is_file(&format!("{root}/go.mod")) {
        root = directory(root);
    }
    let module = repository.line_of(&join(root, "go.mod").unwrap_or_default(), "module ").unwrap_or_default();
    let Some(below) = wanted.strip_prefix(module.trim()).filter(|rest| rest.is_empty() || rest.starts_with('/')) else { return Vec::new() };
    let Some(package) = join(root, below).filter(|_| !module.is_empty()) else { return Vec::new() };
    let in_package = |file: &&String| directory(file) == package && file.ends_with(".go") && !file.ends_with("_test.go");
    repository.all().iter().filter(in_package).cloned().collect()
}

fn java(node: Node<'_>, text: Text<'_>, repository: &Repository<'_>) -> Vec<String> {
    if node.kind() != "import_declaration" {
        return Vec::new();
    }
    let whole = text(node);
    let name = whole.trim_start_matches("import").trim().trim_start_matches("static ").trim_end_matches(';').trim().replace('.', "/");
    if let Some(package) = name.strip_suffix("/*") {
        let in_package = |file: &&String| file.ends_with(".java") && is_below(directory(file), package);
        return repository.all().iter().filter(in_package).cloned().collect();
    }
    // A static import names a member of the class before it.
    let class =
        |name: &str| repository.all().iter().find(|file| file.strip_suffix(".java").is_some_and(|file| is_below(file, name))).cloned();
    class(&name).or_else(|| class(directory(&name))).into_iter().collect()
}

/// Whether `path` is `end` below some source root.
fn is_below(path: &str, end: &str) -> bool {
    !end.is_empty() && path.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

fn include(path: &str, node: Node<'_>, text: Text<'_>, repository: &Repository<'_>) -> Vec<String> {
    if node.kind() != "preproc_include" {
        return Vec::new();
    }
    let Some(wanted) = node.child_by_field_name("path").map(|path| unquote(&text(path))) else { return Vec::new() };
    let near = std::iter::once(directory(path)).chain(SOURCE_ROOTS);
    near.filter_map(|root| join(root, &wanted)).find(|file| repository.is_file(file)).into_iter().collect()
}

fn required(path: &str, node: Node<'_>, text: Text<'_>, repository: &Repository<'_>) -> Vec<String> {
    let wanted = match node.kind() {
        "require_expression" | "require_once_expression" | "include_expression" | "include_once_expression" => Some(text(node)),
        "call" if node.child_by_field_name("method").is_some_and(|method| text(method) == "require_relative") => Some(text(node)),
        _ => None,
    };
    let literal = wanted.and_then(|wanted| {
        let from = wanted.find(['\'', '"'])?;
        let rest = &wanted[from + 1..];
        Some(rest[..rest.find(['\'', '"'])?].trim_start_matches('/').to_owned())
    });
    let Some(base) = literal.and_then(|literal| join(directory(path), &literal)) else { return Vec::new() };
    [base.clone(), format!("{base}.rb")]
        .into_iter()
        .find(|file| Language::of(file).is_some() && repository.is_file(file))
        .into_iter()
        .collect()
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
}
