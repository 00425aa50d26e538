//! What manifests say of the names in imports: packages beside this one, and TypeScript's aliases. Nothing of them is run, and what a build tool
//! would add is not known.

use std::cmp::Reverse;
use std::sync::Arc;

use serde_json::Value;

use super::repository::{Repository, directory, join, join_file, upwards};

/// Where TypeScript's aliases stand, beside the importing file or above it.
const SCRIPT_CONFIGS: [&str; 4] = ["tsconfig.json", "jsconfig.json", "tsconfig.app.json", "tsconfig.base.json"];
/// Configurations that extend each other, at most.
const EXTENDED: usize = 16;
/// Places that an alias may mean, at most.
const MOST_PLACES: usize = 64;
/// Patterns of a configuration that are looked at, at most.
const MOST_PATTERNS: usize = 1000;
/// Where Cargo.toml names other packages.
const DEPENDENCIES: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];

/// The directory with the sources of a crate that a file calls by its name: its own package's library, or one that its package or workspace
/// depends on by a path.
pub fn crate_sources(path: &str, name: &str, repository: &Repository<'_>) -> Option<String> {
    let manifest = |at: &str| repository.manifest(&join_file(at, "Cargo.toml"));
    let package = upwards(directory(path)).find(|at| !manifest(at).is_null())?;
    let own = manifest(package);
    let is_it = |key: &str| key.replace('-', "_") == name;
    if own["package"]["name"].as_str().is_some_and(is_it) {
        return Some(join_file(package, "src"));
    }
    let tables = DEPENDENCIES.iter().filter_map(|table| own[*table].as_object());
    let (key, dependency) = tables.flatten().find(|(key, _)| is_it(key))?;
    let (at, beside) = match dependency["path"].as_str() {
        Some(beside) => (package, beside.to_owned()),
        None => {
            let shared = |at: &str| manifest(at)["workspace"]["dependencies"][key]["path"].as_str().map(str::to_owned);
            upwards(package).find_map(|at| Some((at, shared(at)?))).filter(|_| dependency["workspace"] == true)?
        }
    };
    join(at, &format!("{beside}/src"))
}

/// The paths without ending that a TypeScript alias may mean, the likeliest first.
pub fn aliased(path: &str, wanted: &str, repository: &Repository<'_>) -> impl Iterator<Item = String> {
    let configs = upwards(directory(path)).flat_map(|at| SCRIPT_CONFIGS.map(|name| join_file(at, name)));
    configs.flat_map(move |config| by_config(config, wanted, repository)).take(MOST_PLACES)
}

/// What a configuration and those it extends say. Of `paths` the nearest count; they are below the nearest `baseUrl`, or below their own file,
/// and both are tried.
fn by_config(config: String, wanted: &str, repository: &Repository<'_>) -> Vec<String> {
    let chain = with_extended(config, repository);
    let base = chain.iter().find_map(|(at, manifest)| join(at, manifest["compilerOptions"]["baseUrl"].as_str()?));
    let paths = chain.iter().find_map(|(at, manifest)| Some((at, manifest["compilerOptions"]["paths"].as_object()?)));
    let mut found: Vec<(usize, String)> = Vec::new();
    for (at, (pattern, targets)) in paths.into_iter().flat_map(|(at, paths)| paths.iter().take(MOST_PATTERNS).map(move |path| (at, path))) {
        let (before, after) = pattern.split_once('*').unwrap_or((pattern, ""));
        let star = wanted.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
        let Some(star) = star.filter(|star| pattern.contains('*') || star.is_empty()) else { continue };
        let targets = targets.as_array().into_iter().flatten().filter_map(Value::as_str).take(MOST_PLACES);
        let below = |target: &str| [base.as_deref(), Some(at)].into_iter().flatten().filter_map(|at| join(at, target)).collect::<Vec<_>>();
        found.extend(targets.flat_map(|target| below(&target.replacen('*', star, 1))).map(|place| (before.len(), place)));
    }
    found.sort_by_key(|(matched, _)| Reverse(*matched)); // the longest pattern counts
    found.into_iter().map(|(_, place)| place).chain(base.and_then(|base| join(&base, wanted))).collect()
}

/// A configuration and those it extends, each once, with their directories.
fn with_extended(config: String, repository: &Repository<'_>) -> Vec<(String, Arc<Value>)> {
    let (mut names, mut chain) = (vec![config], Vec::new());
    while let Some(name) = names.get(chain.len()).cloned() {
        let (at, manifest) = (directory(&name).to_owned(), repository.manifest(&name));
        let several = manifest["extends"].as_array().into_iter().flatten();
        for other in several.chain([&manifest["extends"]]).filter_map(Value::as_str).filter(|other| other.starts_with('.')) {
            let ending = if other.ends_with(".json") { "" } else { ".json" };
            let other = join(&at, &format!("{other}{ending}")).filter(|other| names.len() < EXTENDED && !names.contains(other));
            names.extend(other);
        }
        chain.push((at, manifest));
    }
    chain
}

/// The paths without ending that a JavaScript package of the same workspace may mean: its sources, as what it is built into is not there.
pub fn in_package(path: &str, wanted: &str, repository: &Repository<'_>) -> Vec<String> {
    let is_workspace = |at: &str| {
        !repository.manifest(&join_file(at, "package.json"))["workspaces"].is_null()
            || repository.is_file(&join_file(at, "pnpm-workspace.yaml"))
    };
    if !upwards(directory(path)).any(is_workspace) {
        return Vec::new();
    }
    let parts = if wanted.starts_with('@') { 2 } else { 1 };
    let end = wanted.match_indices('/').nth(parts - 1).map_or(wanted.len(), |(at, _)| at);
    let (name, rest) = (&wanted[..end], wanted[end..].trim_start_matches('/'));
    let Some(package) = repository.script_package(name) else { return Vec::new() };
    let places = match rest {
        "" => {
            let manifest = repository.manifest(&join_file(package, "package.json"));
            let named = |key: &str| manifest[key].as_str().map(str::to_owned);
            let usual = ["src/index", "index", "src/main"].map(|place| Some(place.to_owned()));
            [named("source")].into_iter().chain(usual).chain(["module", "main", "types"].map(named)).flatten().collect()
        }
        rest => vec![rest.to_owned(), format!("src/{rest}")],
    };
    places.iter().filter_map(|place| join(package, place)).collect()
}
