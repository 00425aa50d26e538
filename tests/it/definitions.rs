//! Definitions by name, and searches that say which definition a match is in: what an agent sees, through the built binary.

use std::path::Path;

use serde_json::{Value, json};

use crate::common::{Client, REPOSITORY, codeskim, directory_of, eras, settled};

const STORE: &str = "import json\nfrom app.cache import lookup\n\nMAX_SIZE = 3\n\n\nclass Store:\n    @property\n    def size(self):\n        return \
                     MAX_SIZE\n\n    def get(self, key):\n        found = lookup(key)\n        return found\n\n";
const CACHE: &str = "def lookup(key):\n    return json.loads(key)\n\n\ndef get(key):\n    return lookup(key)\n";
const MAIN: &str = "from app.store import Store\n\n\ndef main():\n    store = Store()\n    print(store.get('a'))\n";
const TESTS: &str = "def get():\n    pass\n\n\ndef test_get():\n    assert Store().get('a') is None\n";
const QUEUE: &str = "/// A queue.\npub struct Queue;\n\nimpl Queue {\n    /// Takes one.\n    #[inline]\n    pub fn take(&self) -> u8 {\n        1\n    }\n}\n";
const MARKED: &str = "def marked():\n    return \"\"\"\n⋮ 2-9\n\"\"\"\n";

/// A small repository.
fn repository() -> tempfile::TempDir {
    let methods: String = (0..30).map(|i| format!("    def method_{i}(self):\n        return {i}\n\n")).collect();
    let store = format!("{STORE}{methods}");
    directory_of([
        ("app/store.py", store.as_str()),
        ("app/cache.py", CACHE),
        ("app/main.py", MAIN),
        ("tests/test_store.py", TESTS),
        ("lib/queue.rs", QUEUE),
        ("marked.py", MARKED),
    ])
}

/// The answers to some calls, one below the other.
async fn answers(tool: &'static str, calls: &[Value]) -> String {
    let directory = repository();
    let client = Client::start(directory.path(), eras()[1].clone()).await;
    let mut shown = String::new();
    for arguments in calls {
        let text = settled(&client.text(tool, arguments.clone()).await, directory.path());
        shown.push_str(&format!("=== {arguments}\n{text}"));
    }
    shown
}

#[tokio::test]
async fn definitions_are_read_by_name() {
    let calls = [
        json!({ "symbol": "Store.get" }),
        json!({ "symbol": "get" }),
        json!({ "symbol": "Store" }),
        json!({ "symbol": ["Queue::take", "MAX_SIZE", "marked"] }),
        json!({ "symbol": "Queue", "line_numbers": true }),
        json!({ "symbol": "get", "path": "tests" }),
        json!({ "symbol": "Stor.gett, Store.Get, lookup" }),
        json!({ "symbol": "nothing_like_it" }),
        json!({ "symbol": "method_7", "path": "app/main.py" }),
        json!({ "path": "app/store.py", "lines": "1-2,12-14" }),
        json!({ "path": "app/cache.py", "lines": [5, "1-2"], "line_numbers": true }),
    ];
    insta::assert_snapshot!("definitions", answers("read_file", &calls).await);
}

#[tokio::test]
async fn searches_say_which_definition_a_match_is_in() {
    let calls = [
        json!({ "pattern": "lookup|MAX_SIZE" }),
        json!({ "pattern": "def get", "context": 1 }),
        json!({ "pattern": "get", "context": 60, "path": "app/main.py" }),
        json!({ "pattern": "return \\d", "glob": "store.py", "path": "app", "context_focus_question": "What does method_7 return?" }),
        json!({ "pattern": "get", "glob": "test_*.py", "path": "tests" }),
        json!({ "pattern": "get", "context": 2, "context_focus_question": "Where is the store asked for a key? (Store, lookup)" }),
    ];
    insta::assert_snapshot!("searches", answers("grep", &calls).await);
}

#[test]
fn a_shell_reads_by_name_too() {
    let here = Path::new(REPOSITORY);
    let one = codeskim(here, &["read", "--symbol", "Workspace::locate", "src/workspace"]);
    assert!(one.status == 0 && one.stdout.starts_with("⋮ src/workspace/mod.rs "), "{}", one.stdout);
    assert!(one.stdout.contains(": Workspace.locate\n") && one.stdout.contains("src/tools/places.rs:"), "{}", one.stdout);
    let none = codeskim(here, &["read", "--symbol", "no_such_thing", "src/skim"]);
    assert!(none.status == 1 && none.stdout.is_empty(), "{}", none.stdout);
    assert!(none.stderr.starts_with("No definition of \"no_such_thing\" in \"src/skim\" ("), "{}", none.stderr);
    for wrong in
        [&["read"][..], &["read", "Cargo.toml", "src/lib.rs"], &["read", "--symbol", "run", "--lines", "3"], &["read", "-s", "a b"]]
    {
        assert_eq!(codeskim(here, wrong).status, 2, "{wrong:?}");
    }
}

/// What is shown of definitions are the lines of their file that the heading names.
#[test]
fn shown_lines_are_those_of_the_file() {
    let here = Path::new(REPOSITORY);
    let file = "src/workspace/text.rs";
    let text = std::fs::read_to_string(here.join(file)).expect("a file");
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let names = ["Text", "Text.part", "Excerpt", "read", "needs_range", "read_range", "utf16_mark", "decode_line", "decode", "LARGEST"];
    for name in names {
        let shown = codeskim(here, &["read", "--symbol", name, file]).stdout;
        let mut sections = 0;
        let mut rest = shown.split_inclusive('\n').peekable();
        while let Some(heading) = rest.next() {
            let Some(range) = heading.strip_prefix(&format!("⋮ {file} ")) else { continue };
            let (range, _) = range.split_once(" of ").expect("a total");
            let (from, to) = range.split_once('-').unwrap_or((range, range));
            let (from, to): (usize, usize) = (from.parse().expect("a number"), to.parse().expect("a number"));
            let body: Vec<&str> = std::iter::from_fn(|| rest.next_if(|line| !line.starts_with('⋮'))).collect();
            assert_eq!(body, lines[from - 1..to], "{name}");
            sections += 1;
        }
        assert!(sections > 0, "{name}: {shown}");
    }
}
