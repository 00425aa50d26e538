//! Maps of repositories: what they hold, what they cost, and what is said when there is none. `tests/repo_map/check.py` compares closures with
//! those of Python's own `ast` and `importlib` on real packages.

use std::path::Path;

use rmcp::model::GetPromptRequestParams;
use serde_json::{Value, json};

use crate::common::{Client, Printed, REPOSITORY, codeskim, directory_of, eras, settled};

/// Paths and texts.
type Files = &'static [(&'static str, &'static str)];

/// A Python package with a src/ layout, relative imports, a namespace package, a cycle, and files that are left out.
const PYTHON: Files = &[
    ("src/pkg/__init__.py", "from .core import Engine\n"),
    (
        "src/pkg/core.py",
        "import os\nfrom pkg.util import text as t, nothing\nfrom . import helpers\nfrom .sub.deep import far\n\n\nclass Engine(t.Base):\n    \"\"\"Runs \"things\".\n\n    At length.\n    \"\"\"\n\n    \
         def run(self, x: int = 1, *, loud=False) -> str:\n        \"\"\"Runs one.\"\"\"\n        import pkg.late\n        return str(x)\n\n\nasync def start(\n    engine: Engine,\n    when=None,\n):\n    pass\n",
    ),
    ("src/pkg/late.py", "def late():\n    '''Too late.'''\n"),
    ("src/pkg/util/__init__.py", "nothing = None\n"),
    ("src/pkg/util/text.py", "import pkg.core\n\nclass Base: ...\n"),
    ("src/pkg/helpers.py", "import ns.mod\nfrom .broken import x\nfrom .generated import y\n\ndef help(): pass\n"),
    ("src/pkg/broken.py", "def broken(:\n"),
    ("src/pkg/sub/__init__.py", ""),
    ("src/pkg/sub/deep/__init__.py", "from ...far_away import far\n"),
    ("src/pkg/far_away.py", "from .four import four\nfar = 1\n"),
    ("src/pkg/four.py", "def four(): return 4\n"),
    ("src/ns/mod.py", "def in_namespace(): pass\n"),
];

fn repository(files: Files) -> tempfile::TempDir {
    directory_of(files.iter().copied())
}

fn python() -> tempfile::TempDir {
    let directory = repository(PYTHON);
    std::fs::write(directory.path().join("src/pkg/generated.py"), "x = 1\n".repeat(900_000)).expect("written");
    directory
}

fn map(directory: &Path, arguments: &[&str]) -> Printed {
    codeskim(directory, &[&["map"], arguments].concat())
}

fn mapped(directory: &Path, arguments: &[&str]) -> Value {
    let printed = map(directory, &[arguments, &["--json"]].concat());
    assert_eq!(printed.status, 0, "{}", printed.stderr);
    serde_json::from_str(&printed.stdout).expect("JSON")
}

#[test]
fn the_closure_of_a_python_file_is_what_it_imports_three_steps_far() {
    let map = mapped(python().path(), &["src/pkg/core.py"]);
    let nodes: Vec<String> =
        map["closure"]["nodes"].as_array().expect("nodes").iter().map(|node| format!("{} {}", node["depth"], node["path"])).collect();
    // The package itself is imported where a name is no module of it; a file four steps away is not reached.
    insta::assert_snapshot!(nodes.join("\n").replace('"', ""), @r"
    0 src/pkg/core.py
    1 src/pkg/helpers.py
    1 src/pkg/sub/deep/__init__.py
    1 src/pkg/util/text.py
    1 src/pkg/late.py
    1 src/pkg/util/__init__.py
    2 src/pkg/far_away.py
    2 src/ns/mod.py
    3 src/pkg/four.py
    ");
    assert_eq!(map["closure"]["skipped"], json!([["src/pkg/broken.py", "syntax"], ["src/pkg/generated.py", "large"]]));
}

#[test]
fn a_map_is_in_the_form_of_the_study() {
    let repository = python();
    let task = repository.path().join("task.md");
    std::fs::write(&task, "Build it.\nPath: '/testbed/src/pkg/core.py'\nPath: '/testbed/src/pkg/new.py'\n").expect("written");
    let printed = map(repository.path(), &["--task", task.to_str().expect("UTF-8"), "--prefix", "/testbed/"]);
    insta::assert_snapshot!(printed.stdout);
}

#[test]
fn a_map_never_costs_more_than_its_budget_and_is_always_the_same() {
    for tokens in [100, 150, 300, 700, 1500, 5000] {
        let budget = tokens.to_string();
        let arguments = ["src/cli.rs", "src/tools/repo_map.rs", "--max-tokens", &budget];
        let map = mapped(Path::new(REPOSITORY), &arguments);
        let text = map["map"]["text"].as_str().expect("text");
        let counted = tiktoken_rs::cl100k_base().expect("cl100k").encode_ordinary(text).len();
        assert!(counted <= tokens && map["map"]["tokens"] == counted, "{counted} of {tokens}");
        assert!(tokens < 1500 || counted * 10 > tokens * 9, "{counted} of {tokens}");
        assert_eq!(mapped(Path::new(REPOSITORY), &arguments), map);
    }
    let many: Vec<String> = (0..300).map(|i| format!("package/module_number_{i}.py")).collect();
    let repository = tempfile::tempdir().expect("a directory");
    std::fs::create_dir(repository.path().join("package")).expect("created");
    many.iter().for_each(|path| std::fs::write(repository.path().join(path), "def f(: broken\n").expect("written"));
    let missing: String = (0..50).map(|i| format!("Path: 'a/rather/long/path/to/nowhere_{i}.py'\n")).collect();
    std::fs::write(repository.path().join("task.md"), missing).expect("written");
    let mut arguments: Vec<&str> = many.iter().map(String::as_str).collect();
    arguments.extend(["--task", "task.md", "--max-tokens", "100"]);
    let map = mapped(repository.path(), &arguments);
    assert!(map["map"]["tokens"].as_u64().is_some_and(|tokens| tokens <= 100), "{}", map["map"]["text"]);
}

#[test]
fn a_map_is_no_longer_than_any_result() {
    let directory = tempfile::tempdir().expect("a directory");
    let functions: String = (0..500).map(|i| format!("def function_number_{i}(argument): pass\n")).collect();
    std::fs::write(directory.path().join("a.py"), functions).expect("a file");
    for tokens in ["30000", "576460752303423488"] {
        let map = map(directory.path(), &["a.py", "--max-tokens", tokens, "--max-chars", "4000"]).stdout;
        assert!(map.contains("function_number_60(") && map.chars().count() <= 4000, "{}", map.chars().count());
    }
}

/// Problem statements in the style of the study's benchmark: what they say, the roots they name, and the files that are not there.
const STATEMENTS: &[(&str, &[&str], &[&str])] = &[
    (
        "# Feature: engines\n\nImplement the interface below.\n\n## Interface\n\n```python\nPath: '/testbed/src/pkg/core.py'\n\nclass Engine:\n    def run(self, x: int = 1) -> str: ...\n```\n",
        &["src/pkg/core.py"],
        &[],
    ),
    ("Path: \"/testbed/src/pkg/helpers.py\"\nAdd `help()`.", &["src/pkg/helpers.py"], &[]),
    ("The module is at\n\tPath: 'src/pkg/late.py'\nand is loaded late.", &["src/pkg/late.py"], &[]),
    ("1. Path: `./src/pkg/util/text.py`\n2. Path: `./src/pkg/helpers.py`\n", &["src/pkg/util/text.py", "src/pkg/helpers.py"], &[]),
    (
        "- **Path**: /testbed/src/pkg/core.py\n- **Path:** /testbed/src/pkg/late.py (new behaviour)\n",
        &["src/pkg/core.py", "src/pkg/late.py"],
        &[],
    ),
    ("Path: '/testbed/src/pkg/core.py'\n...\nPath: '/testbed/src/pkg/brand_new.py'\n", &["src/pkg/core.py"], &["src/pkg/brand_new.py"]),
    ("Path: '/testbed/src/pkg/core.py'\r\nPath: 'src/pkg/core.py'\r\nPath: ./src/pkg/core.py\r\n", &["src/pkg/core.py"], &[]),
    ("Path: '/workspace/project/src/pkg/core.py'\nclass Engine", &["src/pkg/core.py"], &[]),
    ("Path: '/testbed/src/pkg/__init__.py'\nPath: '/testbed/src/ns/mod.py'", &["src/pkg/__init__.py", "src/ns/mod.py"], &[]),
    (
        "Path: '/testbed/README.md'\nPath: '/testbed/src/pkg'\nPath: '../../etc/shadow.py'\nThe Path of the request is /api/users.\nPath: '/testbed/src/pkg/late.py'",
        &["src/pkg/late.py"],
        &["../../etc/shadow.py"],
    ),
];

#[test]
fn problem_statements_name_their_roots() {
    let repository = python();
    for (statement, roots, missing) in STATEMENTS {
        let task = repository.path().join("task.md");
        std::fs::write(&task, statement).expect("written");
        let map = mapped(repository.path(), &["--task", task.to_str().expect("UTF-8")]);
        assert_eq!((&map["roots"], &map["missing"]), (&json!(roots), &json!(missing)), "{statement}");
        let text = map["map"]["text"].as_str().expect("a map");
        assert!(missing.iter().all(|path| text.contains(&format!("Not found: {path}"))), "{text}");
    }
}

#[test]
fn the_control_is_as_long_and_the_same_for_a_seed() {
    let here = Path::new(REPOSITORY);
    let tokens = |text: &str| tiktoken_rs::cl100k_base().expect("cl100k").encode_ordinary(text).len() as f64;
    let own = map(here, &["src/cli.rs"]).stdout;
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("map.txt");
    std::fs::write(&file, &own).expect("written");
    let random = |seed: &str| {
        map(here, &["src/cli.rs", "--control", "random", "--seed", seed, "--match-tokens-of", file.to_str().expect("UTF-8")]).stdout
    };
    for seed in ["1", "2", "3", "4", "5"] {
        let text = random(seed);
        assert!((tokens(&text) - tokens(&own)).abs() <= 0.02 * tokens(&own), "{seed}: {} for {}", tokens(&text), tokens(&own));
        assert_eq!(random(seed), text);
    }
    assert_ne!(random("1"), random("2"));
}

#[tokio::test]
async fn a_file_that_changed_is_parsed_again() {
    let directory = repository(&[("a.py", "import b\n"), ("c.py", "def c(): pass\n")]);
    let client = Client::start(directory.path(), eras()[0].clone()).await;
    let map = async || client.text("repo_map", json!({ "roots": ["a.py"] })).await;
    assert!(!map().await.contains("a.py ->"), "there is no b yet");
    std::fs::write(directory.path().join("b.py"), "def b(): pass\n").expect("written");
    assert!(map().await.contains("a.py -> b.py"), "the same import means another file now");
    std::fs::write(directory.path().join("a.py"), "import b, c\n").expect("written");
    assert!(map().await.contains("a.py -> b.py, c.py"));
}

#[tokio::test]
async fn without_roots_the_files_read_so_far_are_the_roots() {
    let repository = python();
    let client = Client::start(repository.path(), eras()[1].clone()).await;
    let nothing = client.call("repo_map", json!({})).await;
    assert_eq!(
        (nothing.text.as_str(), nothing.is_error),
        ("There is nothing to start from yet; give roots, or read some source files first.", true)
    );
    client.text("read_file", json!({ "path": "src/pkg/util/text.py" })).await;
    client.text("head", json!({ "path": "src/pkg/late.py", "lines": 1 })).await;
    let map = client.text("repo_map", json!({})).await;
    assert!(map.contains("Interface roots:\n- src/pkg/late.py\n- src/pkg/util/text.py\n"), "{map}");
    assert!(!map.contains("class Base") && map.contains("- def late() : \"Too late.\"") && map.contains("class Engine"), "{map}");
    let asked = client.text("repo_map", json!({ "max_tokens": "220", "context_focus_question": "Which function returns four?" })).await;
    assert!(asked.contains("Symbols:\n"), "{asked}");
}

#[tokio::test]
async fn a_prompt_puts_the_map_before_the_task() {
    let repository = python();
    for era in eras() {
        let client = Client::start(repository.path(), era).await;
        let prompts = client.0.list_all_prompts().await.expect("prompts");
        assert_eq!(prompts.iter().map(|prompt| prompt.name.as_str()).collect::<Vec<_>>(), ["reading", "repo_map"]);
        let get = |task: &str| {
            let Value::Object(arguments) = json!({ "task": task }) else { unreachable!() };
            client.0.get_prompt(GetPromptRequestParams::new("repo_map").with_arguments(arguments))
        };
        let prompt = get("Fix it.\nPath: '/testbed/src/pkg/late.py'").await.expect("a prompt");
        let text = prompt.messages[0].content.as_text().expect("text").text.clone();
        assert!(
            text.starts_with("[IR-RepoMap | auto-generated]\n") && text.ends_with("\nFix it.\nPath: '/testbed/src/pkg/late.py'"),
            "{text}"
        );
        let refused = get("Fix it.").await.expect_err("no files");
        assert!(refused.to_string().contains("The task names no files"), "{refused}");
    }
}

#[test]
fn a_binary_calls_its_own_library_by_name() {
    let directory = repository(&[
        ("app/Cargo.toml", "[package]\nname = \"my-tool\"\n"),
        ("app/src/lib.rs", "pub mod read;\n"),
        ("app/src/read.rs", "pub fn read() {}\n"),
        ("app/src/main.rs", "use my_tool::read::read;\nuse unlisted::read;\n\nfn main() {}\n"),
        ("app/tests/it.rs", "use my_tool::read;\n"),
        ("unlisted/Cargo.toml", "[package]\nname = \"unlisted\"\n"),
        ("unlisted/src/read.rs", "pub fn read() {}\n"),
    ]);
    for start in ["app/src/main.rs", "app/tests/it.rs"] {
        let map = map(directory.path(), &[start]).stdout;
        assert!(map.contains(&format!("- {start} -> app/src/read.rs\n")) && map.contains("pub fn read()"), "{map}");
    }
}

#[test]
fn a_directory_stands_for_the_files_in_it() {
    let directory = repository(&[
        ("app/b.py", "from lib.c import c\n\ndef b(): pass\n"),
        ("app/a.py", "def a(): pass\n"),
        ("app/notes.md", "# Notes\n"),
        ("lib/c.py", "def c(): pass\n"),
        (".gitignore", "build/\n"),
        ("app/build/d.py", "def d(): pass\n"),
    ]);
    std::fs::create_dir(directory.path().join(".git")).expect("created");
    let named = map(directory.path(), &["app/a.py", "app/b.py"]);
    assert_eq!(map(directory.path(), &["app"]).stdout, named.stdout);
    assert!(named.stdout.contains("- def c()"), "{named:?}");
    assert_eq!(map(directory.path(), &["."]).stdout.matches("def ").count(), 3);
}

#[test]
fn bad_input_gets_one_sentence() {
    let repository = python();
    let mut said = String::new();
    let task = repository.path().join("task.md");
    std::fs::write(&task, "Path: 'a.py'\nPath: 'b.py'\n").expect("written");
    std::fs::write(repository.path().join("empty.md"), "Do something.\n").expect("written");
    ["docs", "many"].into_iter().for_each(|name| std::fs::create_dir(repository.path().join(name)).expect("created"));
    std::fs::write(repository.path().join("docs/a.md"), "# A\n").expect("written");
    (0..41).for_each(|i| std::fs::write(repository.path().join(format!("many/{i}.py")), "x = 1\n").expect("written"));
    for arguments in [
        &["../outside.py"][..],
        &["/etc/passwd"],
        &["docs"],
        &["many"],
        &["src/pkg/nowhere.py"],
        &["src/pkg/core.py", "--max-tokens", "1"],
        &["--task", "task.md"],
        &["--task", "empty.md"],
        &["--task", "nowhere.md"],
        &["--report", "task.md"],
        &[],
    ] {
        let printed = map(repository.path(), arguments);
        assert_eq!((printed.status, printed.stdout.as_str()), (2, ""), "{arguments:?}");
        said += &format!("{}: {}", arguments.join(" "), settled(&printed.stderr, repository.path()));
    }
    insta::assert_snapshot!(said);
    let printed = map(repository.path(), &["src/pkg/broken.py"]);
    assert!(printed.stdout.ends_with("\nLeft out, as they do not parse: src/pkg/broken.py\n"), "{}", printed.stdout);
}

#[test]
fn a_report_has_a_row_for_every_task() {
    let repository = python();
    let here = repository.path().to_str().expect("UTF-8");
    let tasks: String = [
        json!({ "repository": here, "task": "Path: '/testbed/src/pkg/core.py'\nPath: '/testbed/none.py'" }),
        json!({ "repository": here, "task": "Nothing, to be sure." }),
        json!({ "repository": "/nowhere", "task": "Path: 'a.py'" }),
    ]
    .iter()
    .map(|task| format!("{task}\n"))
    .collect();
    std::fs::write(repository.path().join("tasks.jsonl"), tasks).expect("written");
    let printed = map(repository.path(), &["--report", "tasks.jsonl"]);
    let rows: Vec<Vec<&str>> = printed.stdout.lines().map(|line| line.splitn(9, ',').collect()).collect();
    assert_eq!(rows.len(), 4, "{}", printed.stdout);
    assert_eq!(rows[1][1..5], ["1", "1", "9", "8"], "{}", printed.stdout);
    let nowhere = settled(rows[3][8], repository.path());
    assert!(rows[2][8].contains("names no files") && nowhere.contains("No such file"), "{}", printed.stdout);
}

#[test]
fn packages_of_a_cargo_workspace_are_followed() {
    let directory = repository(&[
        ("Cargo.toml", "[workspace]\nmembers = [\"*\"]\n[workspace.dependencies]\nshared-core = { path = \"core\" }\n"),
        (
            "app/Cargo.toml",
            "[package]\nname = \"app\"\n[dependencies]\nshared-core.workspace = true\nserde = \"1\"\n[dev-dependencies]\nhelp = { path = \"../help\" }\n",
        ),
        ("app/src/main.rs", "use shared_core::store::Store;\nuse shared_core::Opened;\nuse help::given;\nuse serde::ser;\nfn main() {}\n"),
        ("core/Cargo.toml", "[package]\nname = \"shared-core\"\n"),
        ("core/src/lib.rs", "pub mod store;\npub struct Opened;\n"),
        ("core/src/store.rs", "pub struct Store;\n"),
        ("help/Cargo.toml", "[package]\nname = \"help\"\n"),
        ("help/src/given.rs", "pub fn given() {}\n"),
    ]);
    let map = map(directory.path(), &["app/src/main.rs"]).stdout;
    assert!(map.contains("core/src/lib.rs") && map.contains("help/src/given.rs") && map.contains("pub struct Store"), "{map}");
}

#[test]
fn aliases_and_packages_of_a_javascript_workspace_are_followed() {
    let directory = repository(&[
        ("package.json", "{ \"workspaces\": [\"packages/*\"] }\n"),
        ("tsconfig.base.json", "{ \"compilerOptions\": { \"baseUrl\": \".\", \"paths\": { \"@lib/*\": [\"packages/lib/src/*\"] } } }\n"),
        (
            "packages/app/tsconfig.json",
            "{\n  // What the editor reads.\n  \"extends\": [\"../../tsconfig.base\", \"./tsconfig.json\", \"./tsconfig\"],\n  \"compilerOptions\": { \"paths\": { \"@/*\": [\"./src/*\"], }, },\n}\n",
        ),
        (
            "packages/app/src/main.ts",
            "import { a } from '@/views/a';\nimport { b } from '@lib/b';\nimport { c } from '@acme/tools';\nimport { d } from '@acme/tools/deep';\nimport React from 'react';\n",
        ),
        ("packages/app/src/views/a.tsx", "export const a = 1;\n"),
        ("packages/lib/src/b.ts", "export function b() {}\n"),
        ("packages/tools/package.json", "{ \"name\": \"@acme/tools\", \"main\": \"dist/index.js\" }\n"),
        ("packages/tools/dist/index.js", "export function c() {}\n"),
        ("packages/tools/src/index.ts", "export function c() {}\n"),
        ("packages/tools/src/deep.ts", "export function d() {}\n"),
    ]);
    let map = map(directory.path(), &["packages/app/src/main.ts"]).stdout;
    for file in ["packages/app/src/views/a.tsx", "packages/lib/src/b.ts", "packages/tools/src/index.ts", "packages/tools/src/deep.ts"] {
        assert!(map.contains(file), "{file} in {map}");
    }
}

#[test]
fn every_language_has_its_imports_and_symbols() {
    let projects: [(&str, &str, Files); 14] = [
        (
            "TypeScript",
            "src/app.ts",
            &[
                (
                    "src/app.ts",
                    "import { Cache } from './cache.js';\nimport type { Key } from \"./types\";\nimport fs from 'fs';\n\n/** Starts it. */\nexport async function start(cache: Cache<Key>, retries = 3): Promise<void> {\n}\nexport const double = (n: number): number => n * 2;\n",
                ),
                (
                    "src/cache.ts",
                    "export * from './types/index';\n// Keeps things.\nexport class Cache<K> {\n  /** Gets one. */\n  get(key: K): string | undefined {\n    return undefined;\n  }\n}\n",
                ),
                ("src/types/index.ts", "export type Key = string;\nexport interface Named {\n  name(): string;\n}\n"),
            ],
        ),
        (
            "JavaScript",
            "index.js",
            &[
                (
                    "index.js",
                    "const { read } = require('./lib/read');\nimport('./lazy.mjs');\n/** Runs. */\nfunction run(a, { b } = {}) {}\nmodule.exports = run;\n",
                ),
                ("lib/read.js", "exports.read = function read() {};\nfunction hidden() {}\n"),
                ("lazy.mjs", "export default class Lazy {\n  wake() {}\n}\n"),
            ],
        ),
        (
            "Rust",
            "src/lib.rs",
            &[
                ("src/lib.rs", "mod cache;\npub mod text {\n    pub fn inner() {}\n}\nuse crate::cache::{policy::Policy, Cache as C};\n"),
                (
                    "src/cache.rs",
                    "mod policy;\nuse super::other;\n\n/// Keeps things.\n///\n/// At length.\n#[derive(Debug)]\npub struct Cache<K> {\n    map: Vec<K>,\n}\n\nimpl<K: Clone> Cache<K> {\n    /// Gets one.\n    pub fn get(&self, key: &K) -> Option<&K> {\n        None\n    }\n}\n",
                ),
                ("src/cache/policy.rs", "pub enum Policy { Lru, Fifo }\npub trait Evicts {\n    fn evict(&mut self);\n}\n"),
                ("src/other.rs", "pub const MOST: usize = 3;\n"),
            ],
        ),
        (
            "A test in Rust",
            "tests/all.rs",
            &[
                ("Cargo.toml", "[package]\nname = \"kept\"\n"),
                ("src/lib.rs", ""),
                ("tests/all.rs", "mod common;\nuse crate::common::Place;\nmod tests {\n    fn hidden() {}\n}\n"),
                ("tests/common/mod.rs", "pub struct Place;\n"),
            ],
        ),
        (
            "Go",
            "cmd/main.go",
            &[
                ("go.mod", "module \"example.com/app\" // Deprecated: use another.\n\ngo 1.22\n"),
                (
                    "cmd/main.go",
                    "package main\n\nimport (\n\t\"fmt\"\n\tc \"example.com/app/cache\"\n)\n\nfunc main() { fmt.Println(c.New()) }\n",
                ),
                (
                    "cache/cache.go",
                    "package cache\n\n// Cache keeps things.\ntype Cache struct{ size int }\n\n// New makes one.\nfunc New() *Cache { return nil }\n\nfunc (c *Cache) Get(key string) (string, bool) { return \"\", false }\n",
                ),
                ("cache/cache_test.go", "package cache\n"),
            ],
        ),
        (
            "Java",
            "app/src/main/java/com/acme/App.java",
            &[
                (
                    "app/src/main/java/com/acme/App.java",
                    "package com.acme;\nimport com.acme.cache.Cache;\nimport static com.acme.cache.Keys.KEY;\nimport java.util.List;\n\n/** The application. */\npublic class App extends Base {\n  public static void main(String[] args) {}\n}\n",
                ),
                (
                    "app/src/main/java/com/acme/cache/Cache.java",
                    "package com.acme.cache;\npublic interface Cache<K> {\n  K get(String name);\n}\n",
                ),
                (
                    "app/src/main/java/com/acme/cache/Keys.java",
                    "package com.acme.cache;\nfinal class Keys {\n  static final int KEY = 1;\n  static class Order {\n    int next() { return 1; }\n  }\n}\n",
                ),
            ],
        ),
        (
            "C",
            "src/main.c",
            &[
                (
                    "src/main.c",
                    "#include <stdio.h>\n#include \"cache.h\"\n\n/* Begins here. */\nint main(int argc, char **argv) {\n  return 0;\n}\n",
                ),
                (
                    "include/cache.h",
                    "#ifndef CACHE_H\n#define CACHE_H\nstruct cache;\n// Gets one.\nint cache_get(struct cache *c, const char *key);\ntypedef struct { int a; } pair;\n#endif\n",
                ),
            ],
        ),
        (
            "C++",
            "src/app.cpp",
            &[
                ("src/app.cpp", "#include \"app/cache.hpp\"\nnamespace app {\nint run() { return 0; }\n}\n"),
                (
                    "include/app/cache.hpp",
                    "#pragma once\nnamespace app {\n/// Keeps things.\ntemplate <typename K>\nclass Cache {\n public:\n  explicit Cache(int size);\n  int get(K key) const { return 0; }\n  const K *find(K key);\n private:\n  int size_;\n};\n}\n",
                ),
            ],
        ),
        (
            "Kotlin",
            "src/main/kotlin/com/acme/App.kt",
            &[
                (
                    "src/main/kotlin/com/acme/App.kt",
                    "package com.acme\n\nimport com.acme.cache.Cache\nimport com.acme.cache.Keys as K\nimport com.acme.text.shout\nimport kotlin.math.max\n\n/** Begins here. */\nfun main(args: Array<String>) {\n  println(max(1, 2))\n}\n",
                ),
                (
                    "src/main/kotlin/com/acme/cache/Cache.kt",
                    "package com.acme.cache\n\n/** Keeps things. */\ninterface Cache<K> {\n  fun find(key: K): String?\n}\nenum class Policy {\n  LRU, FIFO;\n  fun next(): Policy = LRU\n}\nobject Shared : Base() {\n  override fun run() {}\n}\nclass Entry(val key: String) {\n  constructor() : this(\"\") {\n    go()\n  }\n  private val hidden = 1\n  val size: Int get() = 1\n  companion object {\n    const val MOST = 3\n    fun of() = Entry()\n  }\n}\ntypealias Entries = List<Entry>\n",
                ),
                (
                    "src/main/kotlin/com/acme/text/Strings.kt",
                    "package com.acme.text\n\nfun String.shout() = uppercase()\nval String.quiet: String\n  get() = lowercase()\n",
                ),
                ("src/main/java/com/acme/cache/Keys.java", "package com.acme.cache;\npublic final class Keys {}\n"),
            ],
        ),
        (
            "C#",
            "src/App.cs",
            &[(
                "src/App.cs",
                "using System;\nnamespace Acme.Cache\n{\n    /// <summary>\n    /// Keeps things.\n    /// </summary>\n    public class Cache<K> : ICache where K : notnull\n    {\n        /// <summary>Makes one.</summary>\n        public Cache(int size) { }\n        /// True if a < b in the order of <see cref=\"Order\"/>.\n        [Obsolete]\n        public string Get(K key) => null;\n        public int Count { get; private set; } = 1;\n#if DEBUG\n        public void Check() { }\n#endif\n        class Entry\n        {\n            void Touch() { }\n        }\n    }\n    public record Point(int X, int Y);\n}\n",
            )],
        ),
        (
            "Swift",
            "Sources/App/Cache.swift",
            &[(
                "Sources/App/Cache.swift",
                "import Foundation\n\n/// Keeps things.\npublic struct Cache<K: Hashable> {\n    /// Makes one.\n    public init(size: Int) {}\n    func get(_ key: K) -> String? { nil }\n    private var hidden = 1\n    public var count: Int { 1 }\n    enum Policy { case lru }\n}\nprotocol Keeping {\n    func get(key: String) -> Int\n}\nfunc run() async throws {}\n",
            )],
        ),
        (
            "Bash",
            "bin/run.sh",
            &[
                (
                    "bin/run.sh",
                    "#!/usr/bin/env bash\nsource \"$(dirname \"$0\")/../lib/cache.sh\"\n. ./env.sh\n# shellcheck disable=SC2086\n# Runs it.\nrun() {\n  get \"$@\"\n}\nfunction stop {\n  exit\n}\nrun\n",
                ),
                ("bin/env.sh", "KEY=1\n"),
                ("lib/cache.sh", "# Gets one.\nget() { cat \"$1\"; }\n"),
            ],
        ),
        (
            "Ruby",
            "lib/keep.rb",
            &[
                ("lib/keep.rb", "require_relative 'keep/cache'\nmodule Keep\n  # Runs it.\n  def self.run(n = 1)\n  end\nend\n"),
                ("lib/keep/cache.rb", "module Keep\n  # Keeps things.\n  class Cache\n    def get(key)\n    end\n  end\nend\n"),
            ],
        ),
        (
            "PHP",
            "index.php",
            &[
                ("index.php", "<?php\nrequire_once __DIR__ . '/lib/cache.php';\nfunction run(int $n = 1): void {}\n"),
                (
                    "lib/cache.php",
                    "<?php\n/** Keeps things. */\nclass Cache {\n  public function get(string $key): ?string { return null; }\n}\n",
                ),
            ],
        ),
    ];
    let mut all = String::new();
    for (language, root, files) in projects {
        let repository = repository(files);
        all += &format!("== {language}\n{}\n", map(repository.path(), &[root]).stdout);
    }
    insta::assert_snapshot!(all);
}
