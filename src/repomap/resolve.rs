//! Which files of the repository an import means.
//!
//! Python to the letter of the study: absolute imports from the source roots, relative ones from the file's package; `from a import b` is the
//! module a.b where there is one, else a. The other languages by their own rules, as far as they can be followed without their build tools.

use std::collections::HashSet;

use super::manifest;
use super::repository::{Repository, directory, join, join_file, last, upwards};
use crate::syntax::{Import, Language};

/// Directories that are often on the path of a language's imports, beside the top.
const SOURCE_ROOTS: [&str; 5] = ["", "src", "lib", "python", "include"];
const CLASS_ENDINGS: [&str; 2] = [".java", ".kt"];
/// Files that a file imports, at most: a wildcard may mean thousands.
const MOST: usize = 500;
const SCRIPT_ENDINGS: [&str; 12] = ["ts", "tsx", "d.ts", "js", "jsx", "mjs", "cjs", "mts", "cts", "vue", "svelte", "astro"];

/// The files that `path` imports, in the order of its imports, each once and never itself.
pub fn files(path: &str, imports: &[Import], repository: &Repository<'_>) -> Vec<String> {
    let mut seen = HashSet::from([path.to_owned()]);
    let mut known: HashSet<&Import> = HashSet::new(); // some files say the same a thousand times
    let asked = imports.iter().take_while(|_| !repository.is_cancelled()).filter(|import| known.insert(*import));
    let found = asked.flat_map(|import| meant(path, import, repository)).filter(|file| seen.insert(file.clone()));
    found.take(MOST).collect()
}

fn meant(path: &str, import: &Import, repository: &Repository<'_>) -> Vec<String> {
    let one = |file: Option<String>| file.into_iter().collect();
    match import {
        Import::Python { dots, module, name } => one(python(path, *dots, module, name.as_deref(), repository)),
        Import::Module(name) => one(join(&own_module(path, repository), name).and_then(|base| rust_module(&base, repository))),
        Import::Use(used) => one(rust(path, used, repository)),
        Import::Named(name) => match Language::of(path) {
            Some(Language::Go) => go(path, name, repository),
            Some(Language::Java) => java(name, repository),
            Some(Language::Kotlin) => kotlin(name, repository),
            Some(Language::C | Language::Cpp | Language::Bash) => one(include(path, name, repository)),
            Some(Language::Php | Language::Ruby) => one(required(path, name, repository)),
            _ => one(script(path, name, repository)),
        },
    }
}

fn python(path: &str, dots: usize, module: &str, name: Option<&str>, repository: &Repository<'_>) -> Option<String> {
    let start = match dots {
        0 => absolute(path, repository),
        _ => vec![package(path, dots, repository)?],
    };
    let itself = || match module {
        "" => start.first().map(|package| join_file(package, "__init__.py")).filter(|file| repository.is_file(file)),
        module => find(module, &start, repository),
    };
    let below = name.map(|name| [module, name].iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join("."));
    below.and_then(|below| find(&below, &start, repository)).or_else(itself)
}

/// The package that a relative import with so many dots starts from; never a source root, which is no package.
fn package(path: &str, dots: usize, repository: &Repository<'_>) -> Option<String> {
    let mut package = directory(path);
    for _ in 1..dots {
        package = Some(directory(package)).filter(|up| !is_source_root(up, repository))?;
    }
    Some(package.to_owned())
}

fn is_source_root(path: &str, repository: &Repository<'_>) -> bool {
    SOURCE_ROOTS.contains(&path.rsplit('/').next().unwrap_or_default()) && !repository.is_file(&join_file(path, "__init__.py"))
}

/// Where absolute imports are looked for: from the directory above the importing file's outermost package upwards, and in the usual ones below
/// each, as a server may be started above several projects.
fn absolute(path: &str, repository: &Repository<'_>) -> Vec<String> {
    let mut own = directory(path);
    while !own.is_empty() && repository.is_file(&join_file(own, "__init__.py")) {
        own = directory(own);
    }
    upwards(own).flat_map(|at| SOURCE_ROOTS.map(|root| join(at, root).unwrap_or_default())).collect()
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

fn script(path: &str, from: &str, repository: &Repository<'_>) -> Option<String> {
    if from.starts_with('.') {
        return script_file(join(directory(path), from)?, repository);
    }
    let file = |place| script_file(place, repository);
    manifest::aliased(path, from, repository)
        .find_map(file)
        .or_else(|| manifest::in_package(path, from, repository).into_iter().find_map(file))
}

fn script_file(base: String, repository: &Repository<'_>) -> Option<String> {
    let endings = |base: &str| SCRIPT_ENDINGS.map(|ending| format!("{base}.{ending}"));
    // TypeScript imports "./a.js" and means a.ts.
    let without = base.rsplit_once('.').filter(|(_, ending)| ending.ends_with("js") || *ending == "jsx").map(|(base, _)| base);
    let candidates = std::iter::once(base.clone())
        .chain(endings(&base))
        .chain(without.into_iter().flat_map(endings))
        .chain(endings(&format!("{base}/index")));
    candidates.into_iter().find(|file| Language::of(file).is_some() && repository.is_file(file))
}

/// The directory of a Rust file's own submodules.
fn own_module(path: &str, repository: &Repository<'_>) -> String {
    match last(path) {
        "mod.rs" | "lib.rs" | "main.rs" => directory(path).to_owned(),
        _ if is_own_crate(path, repository) => directory(path).to_owned(),
        name => join(directory(path), name.trim_end_matches(".rs")).unwrap_or_default(),
    }
}

/// Whether Cargo makes a crate of this file alone, by where it is.
fn is_own_crate(path: &str, repository: &Repository<'_>) -> bool {
    let at = directory(path);
    let package = match (last(at), last(path)) {
        (_, "build.rs") => at,
        ("tests" | "benches" | "examples", _) => directory(at),
        ("bin", _) if last(directory(at)) == "src" => directory(directory(at)),
        _ => return false,
    };
    repository.is_file(&join_file(package, "Cargo.toml"))
}

fn rust_module(base: &str, repository: &Repository<'_>) -> Option<String> {
    [format!("{base}.rs"), format!("{base}/mod.rs")].into_iter().find(|file| repository.is_file(file))
}

fn rust(path: &str, used: &[String], repository: &Repository<'_>) -> Option<String> {
    let own = own_module(path, repository);
    let (start, rest) = match used.first().map(String::as_str)? {
        "crate" if is_own_crate(path, repository) => (own, &used[1..]),
        "crate" => {
            let is_root = |at: &&str| at.is_empty() || ["lib.rs", "main.rs"].iter().any(|file| repository.is_file(&format!("{at}/{file}")));
            let root = upwards(directory(path)).find(is_root)?;
            (root.to_owned(), &used[1..])
        }
        "self" => (own, &used[1..]),
        "super" => {
            let ups = used.iter().take_while(|part| *part == "super").count();
            let up = (0..ups).try_fold(own.as_str(), |at, _| (!at.is_empty()).then(|| directory(at)))?;
            (up.to_owned(), &used[ups..])
        }
        name => {
            let sources = manifest::crate_sources(path, name, repository)?;
            return module_in(&sources, &used[1..], repository).or_else(|| rust_module(&join(&sources, "lib")?, repository));
        }
    };
    module_in(&start, rest, repository)
}

/// The longest part of a path of modules that is a file; the rest are items in it.
fn module_in(start: &str, path: &[String], repository: &Repository<'_>) -> Option<String> {
    (1..=path.len()).rev().find_map(|length| rust_module(&join(start, &path[..length].join("/"))?, repository))
}

fn go(path: &str, wanted: &str, repository: &Repository<'_>) -> Vec<String> {
    // The nearest go.mod above says what the imports of this module begin with.
    let Some(root) = upwards(directory(path)).find(|at| repository.is_file(&join_file(at, "go.mod"))) else { return Vec::new() };
    let module = repository.line_of(&join_file(root, "go.mod"), "module ").unwrap_or_default();
    // `module "example.com/app" // Deprecated: …`
    let module = module.split("//").next().unwrap_or_default().trim().trim_matches(['"', '`']);
    let Some(below) = wanted.strip_prefix(module).filter(|rest| rest.is_empty() || rest.starts_with('/')) else { return Vec::new() };
    let Some(package) = join(root, below).filter(|_| !module.is_empty()) else { return Vec::new() };
    let in_package = |file: &&String| directory(file) == package && file.ends_with(".go") && !file.ends_with("_test.go");
    repository.files_in_any(&package).filter(in_package).cloned().collect()
}

/// The path of a file without the ending of Java's or Kotlin's classes.
fn class_of(file: &str) -> Option<&str> {
    CLASS_ENDINGS.iter().find_map(|ending| file.strip_suffix(ending))
}

/// Java's and Kotlin's classes, which import each other.
fn java(name: &str, repository: &Repository<'_>) -> Vec<String> {
    if let Some(package) = name.strip_suffix("/*") {
        let in_package = |file: &&String| class_of(file).is_some() && is_below(directory(file), package);
        return repository.files_in_any(package).filter(in_package).cloned().collect();
    }
    // A static import names a member of the class before it.
    let class = |name: &str| {
        let is_it = |file: &&String| class_of(file).is_some_and(|class| is_below(class, name));
        CLASS_ENDINGS.iter().find_map(|ending| repository.files_called(&format!("{}{ending}", last(name))).find(is_it).cloned())
    };
    class(name).or_else(|| class(directory(name))).into_iter().collect()
}

/// As Java's, and functions and values, which may be in any file of their package.
fn kotlin(name: &str, repository: &Repository<'_>) -> Vec<String> {
    let found = java(name, repository);
    if !found.is_empty() || !last(name).starts_with(char::is_lowercase) {
        return found;
    }
    java(&format!("{}/*", directory(name)), repository).into_iter().filter(|file| file.ends_with(".kt")).collect()
}

/// Whether `path` is `end` below some source root.
fn is_below(path: &str, end: &str) -> bool {
    !end.is_empty() && path.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

fn include(path: &str, wanted: &str, repository: &Repository<'_>) -> Option<String> {
    let near = std::iter::once(directory(path)).chain(SOURCE_ROOTS);
    near.filter_map(|root| join(root, wanted)).find(|file| repository.is_file(file))
}

fn required(path: &str, literal: &str, repository: &Repository<'_>) -> Option<String> {
    let base = join(directory(path), literal)?;
    [base.clone(), format!("{base}.rb")].into_iter().find(|file| Language::of(file).is_some() && repository.is_file(file))
}
