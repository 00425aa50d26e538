//! Ignore files: the same files are listed as ripgrep's own walker lists, and nothing that takes their place is waited for.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use codeskim::workspace::Workspace;
use proptest::prelude::*;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::common::{Client, eras};

/// Directories below one that is outside of the root, which is `r`.
const DIRECTORIES: [&str; 8] = ["", "r", "r/a", "r/a/b", "r/a/b/a", "r/c", "r/.h", "r/c/b"];
const NAMES: [&str; 6] = ["x.py", "y.rs", ".hidden", "b.txt", "Z.py", "a b"];
const LINES: [&str; 40] = [
    "x.py",
    "!x.py",
    "/x.py",
    "!/x.py",
    "*.py",
    "!*.py",
    "*.rs",
    "a/",
    "!a/",
    "a",
    "/a",
    "b/",
    "/b/",
    "!b/",
    "a/b",
    "a/*",
    "!a/b",
    "**/b",
    "b/**",
    "a/**/a",
    "/r/a",
    "r/c/",
    "c/x.py",
    "/c/*.py",
    ".hidden",
    "!.hidden",
    ".h/",
    "!.h",
    "!.h/",
    "*",
    "!*/",
    "#x.py",
    "\\!x.py",
    "[",
    "{x,y}.*",
    "a\\ b",
    "x.py  ",
    "\u{feff}y.rs",
    "Z.*\r",
    "",
];

/// An ignore file: in which directory, of which kind, with which lines.
fn files() -> impl Strategy<Value = Vec<(usize, &'static str, Vec<&'static str>)>> {
    let kind = prop::sample::select(vec![".ignore", ".gitignore", ".gitignore", ".git/info/exclude", ".git/HEAD", ".jj/x"]);
    let lines = prop::collection::vec(prop::sample::select(LINES.to_vec()), 0..5);
    prop::collection::vec((0..DIRECTORIES.len(), kind, lines), 0..9)
}

/// The files that ripgrep's walker lists.
fn theirs(from: &Path) -> BTreeSet<String> {
    let walk = ignore::WalkBuilder::new(from).current_dir(from).build();
    let files = walk.flatten().filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
    files.map(|entry| entry.path().display().to_string()).collect()
}

fn ours(workspace: &Workspace, at: Option<&str>) -> BTreeSet<String> {
    let found = Mutex::new(BTreeSet::new());
    for start in workspace.locate(at).expect("there") {
        let visit = |file| found.lock().expect("whole").extend([workspace.absolute(&file).display().to_string()]);
        assert_eq!(workspace.walk(&start, &[], &CancellationToken::new(), visit).expect("walked"), 0);
    }
    found.into_inner().expect("whole")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]
    #[test]
    fn what_is_listed_is_what_ripgrep_lists(files in files(), within in 0..DIRECTORIES.len() - 1) {
        let place = tempfile::tempdir().expect("a directory");
        let top = place.path().canonicalize().expect("a path");
        for directory in DIRECTORIES {
            fs::create_dir_all(top.join(directory)).expect("created");
            NAMES.into_iter().for_each(|name| fs::write(top.join(directory).join(name), "text\n").expect("written"));
        }
        for (directory, file, lines) in &files {
            let file = top.join(DIRECTORIES[*directory]).join(file);
            fs::create_dir_all(file.parent().expect("a directory")).expect("created");
            fs::write(file, lines.join("\n")).expect("written");
        }
        let workspace = Workspace::open(&[top.join("r")]).expect("a root");
        let within = DIRECTORIES[within + 1];
        let beneath = within.strip_prefix("r/");
        prop_assert_eq!(ours(&workspace, beneath), theirs(&top.join(within)), "{} of {:?}", within, files);
    }
}

/// A FIFO may take the place of an ignore file at any moment: opening it would wait for its writer, for ever.
#[tokio::test(flavor = "multi_thread")]
async fn a_pipe_that_takes_the_place_of_an_ignore_file_is_not_waited_for() {
    let root = tempfile::tempdir().expect("a directory");
    let directories: Vec<_> = (0..30).map(|number| root.path().join(format!("d{number}"))).collect();
    for directory in &directories {
        fs::create_dir(directory).expect("created");
        fs::write(directory.join("seen.txt"), "needle\n").expect("written");
        fs::write(directory.join(".gitignore"), "x\n").expect("written");
        assert!(std::process::Command::new("mkfifo").arg(directory.join(".pipe")).status().expect("mkfifo runs").success());
    }
    let stop = AtomicBool::new(false);
    let client = Client::start(root.path(), eras()[0].clone()).await;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let exchange = |directory: &PathBuf| {
                renameat_with(CWD, directory.join(".gitignore"), CWD, directory.join(".pipe"), RenameFlags::EXCHANGE).expect("exchanged");
            };
            while !stop.load(Ordering::Relaxed) {
                directories.iter().for_each(exchange);
            }
        });
        let calls = async {
            for _ in 0..1000 {
                let call = client.call("grep", json!({ "pattern": "needle" }));
                if tokio::time::timeout(Duration::from_secs(20), call).await.is_err() {
                    stop.store(true, Ordering::Relaxed);
                    panic!("a call waits");
                }
            }
            stop.store(true, Ordering::Relaxed);
        };
        tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(calls));
    });
}
