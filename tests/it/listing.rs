//! Files that are listed again without a walk: the same as a walk lists, whatever was changed between.

use std::fs;
use std::path::Path;
use std::time::Duration;

use codeskim::workspace::Workspace;
use codeskim::workspace::listing::{Listed, SETTLED};
use proptest::prelude::*;
use tokio_util::sync::CancellationToken;

/// What may happen between two searches.
#[derive(Debug, Clone)]
enum Change {
    Write(usize),
    Grow(usize),
    Remove(usize),
    Rename(usize, usize),
    Directory(usize),
    Ignore(usize, &'static str),
    Exclude(&'static str),
    Link(usize),
    Nothing,
}

const DIRECTORIES: [&str; 4] = [".", "a", "a/b", "c"];
const FILES: [&str; 5] = ["x.py", "a/x.py", "a/b/y.py", "c/z.rs", "c/x.py"];

fn change() -> impl Strategy<Value = Change> {
    let (file, directory) = (0..FILES.len(), 0..DIRECTORIES.len());
    let rules = prop::sample::select(vec!["x.py\n", "b/\n", "*.rs\n", "\n"]);
    prop_oneof![
        file.clone().prop_map(Change::Write),
        file.clone().prop_map(Change::Grow),
        file.clone().prop_map(Change::Remove),
        (file.clone(), file).prop_map(|(from, to)| Change::Rename(from, to)),
        directory.clone().prop_map(Change::Directory),
        (directory.clone(), rules.clone()).prop_map(|(at, rules)| Change::Ignore(at, rules)),
        rules.prop_map(Change::Exclude),
        directory.prop_map(Change::Link),
        Just(Change::Nothing),
    ]
}

/// Makes a change; one that cannot be made is none.
fn apply(root: &Path, change: &Change) {
    let file = |at: &usize| root.join(FILES[*at]);
    let directory = |at: &usize| root.join(DIRECTORIES[*at]);
    let _ = match change {
        Change::Write(at) => fs::write(file(at), "one\n"),
        Change::Grow(at) => fs::read_to_string(file(at)).and_then(|text| fs::write(file(at), text + "more\n")),
        Change::Remove(at) => fs::remove_file(file(at)),
        Change::Rename(from, to) => fs::rename(file(from), file(to)),
        Change::Directory(at) if directory(at).exists() => fs::remove_dir_all(directory(at)),
        Change::Directory(at) => fs::create_dir_all(directory(at)),
        Change::Ignore(at, rules) => fs::write(directory(at).join(".gitignore"), rules),
        Change::Exclude(rules) => fs::write(root.join(".git/info/exclude"), rules),
        Change::Link(at) => fs::rename(directory(at), root.join("moved")).and_then(|()| link(&root.join("moved"), &directory(at))),
        Change::Nothing => Ok(()),
    };
}

#[cfg(unix)]
fn link(to: &Path, from: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(to, from)
}

#[cfg(not(unix))]
fn link(to: &Path, from: &Path) -> std::io::Result<()> {
    fs::rename(to, from)
}

fn sorted(files: &[Listed]) -> Vec<String> {
    let mut all: Vec<String> = files.iter().map(|listed| format!("{} {:?}", listed.file.path(), listed.stamp)).collect();
    all.sort();
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn a_second_look_sees_what_a_walk_sees(changes in prop::collection::vec(change(), 1..4)) {
        let directory = tempfile::tempdir().expect("a directory");
        let root = directory.path().join("root");
        fs::create_dir_all(root.join(".git/info")).expect("a repository");
        DIRECTORIES.iter().for_each(|path| fs::create_dir_all(root.join(path)).expect("a directory"));
        FILES.iter().for_each(|path| fs::write(root.join(path), "one\n").expect("a file"));
        let workspace = Workspace::open(&[&root]).expect("a root");
        let start = workspace.locate(None).expect("the root").remove(0);
        let list = || workspace.list(&start, &CancellationToken::new()).expect("a listing");
        prop_assert!(list().look_again(&workspace).is_none(), "what was made just now is not trusted");
        std::thread::sleep(SETTLED + Duration::from_millis(20));
        let settled = list();
        prop_assert!(settled.look_again(&workspace).is_some());
        changes.iter().for_each(|change| apply(&root, change));
        if let Some(seen) = settled.look_again(&workspace) {
            prop_assert_eq!(sorted(&seen), sorted(list().files()), "{:?}", changes);
        }
    }
}
