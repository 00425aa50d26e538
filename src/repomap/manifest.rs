//! What manifests say of the names in imports: packages beside this one, and TypeScript's aliases. Nothing of them is run, and what a build tool
//! would add is not known.

use serde_json::Value;

use super::repository::{Repository, directory, join, join_file, upwards};

/// Where TypeScript's aliases stand, beside the file whose name is looked for.
const SCRIPT_CONFIGS: [&str; 4] = ["tsconfig.json", "jsconfig.json", "tsconfig.app.json", "tsconfig.base.json"];
/// Configurations that extend each other, at most.
const EXTENDED: usize = 4;
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
pub fn aliased(path: &str, wanted: &str, repository: &Repository<'_>) -> Vec<String> {
    let configs = upwards(directory(path)).flat_map(|at| SCRIPT_CONFIGS.map(|name| join_file(at, name)));
    configs.flat_map(|config| through(&config, wanted, repository, EXTENDED)).collect()
}

fn through(config: &str, wanted: &str, repository: &Repository<'_>, levels: usize) -> Vec<String> {
    let (at, manifest) = (directory(config), repository.manifest(config));
    let options = &manifest["compilerOptions"];
    let base = options["baseUrl"].as_str().and_then(|base| join(at, base));
    let mut found: Vec<(usize, String)> = Vec::new();
    for (pattern, targets) in options["paths"].as_object().into_iter().flatten() {
        let (before, after) = pattern.split_once('*').unwrap_or((pattern, ""));
        let star = wanted.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
        let Some(star) = star.filter(|star| pattern.contains('*') || star.is_empty()) else { continue };
        let targets = targets.as_array().into_iter().flatten().filter_map(Value::as_str);
        let places = targets.filter_map(|target| join(base.as_deref().unwrap_or(at), &target.replacen('*', star, 1)));
        found.extend(places.map(|place| (before.len(), place)));
    }
    found.sort_by_key(|(matched, _)| std::cmp::Reverse(*matched)); // the longest pattern counts
    let mut places: Vec<String> = found.into_iter().map(|(_, place)| place).collect();
    places.extend(base.and_then(|base| join(&base, wanted)));
    if levels > 0 {
        let extended = match &manifest["extends"] {
            Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
            one => one.as_str().into_iter().collect::<Vec<_>>(),
        };
        for other in extended.into_iter().filter(|other| other.starts_with('.')) {
            let ending = if other.ends_with(".json") { "" } else { ".json" };
            let other = join(at, &format!("{other}{ending}"));
            places.extend(other.into_iter().flat_map(|other| through(&other, wanted, repository, levels - 1)));
        }
    }
    places
}

/// The paths without ending that a JavaScript package of the same workspace may mean: its sources, as what it is built into is not there.
pub fn in_package(path: &str, wanted: &str, repository: &Repository<'_>) -> Vec<String> {
    let is_workspace = |at: &&str| {
        !repository.manifest(&join_file(at, "package.json"))["workspaces"].is_null()
            || repository.is_file(&join_file(at, "pnpm-workspace.yaml"))
    };
    if upwards(directory(path)).find(is_workspace).is_none() {
        return Vec::new();
    }
    let parts = if wanted.starts_with('@') { 2 } else { 1 };
    let end = wanted.match_indices('/').nth(parts - 1).map_or(wanted.len(), |(at, _)| at);
    let (name, rest) = (&wanted[..end], wanted[end..].trim_start_matches('/'));
    let Some(package) = repository.script_package(name) else { return Vec::new() };
    let places = match rest {
        "" => {
            let manifest = repository.manifest(&join_file(package, "package.json"));
            let named = ["source", "module", "main", "types"].map(|key| manifest[key].as_str().map(str::to_owned));
            named.into_iter().flatten().chain(["src/index", "index", "src/main"].map(str::to_owned)).collect()
        }
        rest => vec![rest.to_owned(), format!("src/{rest}")],
    };
    places.iter().filter_map(|place| join(package, place)).collect()
}
