//! A view of code still parses, whichever lines are picked, and says where its lines belong.

use std::path::Path;

use codeskim::prune::Material;
use codeskim::prune::code::Code;
use codeskim::prune::structure::{complete, parses, repair};
use codeskim::syntax::{Access, Language, Reader, grammar};
use proptest::prelude::*;
use tokio_util::sync::CancellationToken;

use crate::common::REPOSITORY;

/// One file for each grammar: fixtures, and code of this repository.
pub const FILES: [&str; 18] = [
    "tests/fixtures/cache.c",
    "tests/fixtures/cache.cpp",
    "tests/fixtures/Cache.cs",
    "tests/fixtures/cache.go",
    "tests/fixtures/Cache.java",
    "tests/fixtures/cache.js",
    "tests/fixtures/cache.kt",
    "tests/fixtures/cache.php",
    "tests/fixtures/cache.rb",
    "tests/fixtures/cache.sh",
    "tests/fixtures/cache.swift",
    "tests/fixtures/cache.tsx",
    "tests/fixtures/cache.ts",
    "tests/fixtures/store.h",
    "training/mine.py",
    "src/prune/render.rs",
    "tests/fixtures/components/App.vue",
    "tests/fixtures/components/components/Badge.svelte",
];

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(REPOSITORY).join(path)).expect("a file")
}

/// Does something with access to grammars: the texts here are known, and read in this process.
fn with_access<T>(act: impl FnOnce(&Access<'_>) -> T) -> T {
    act(&Reader::unguarded().access(&CancellationToken::new()))
}

fn shown(path: &str, needle: &[&str]) -> String {
    let file = read(path);
    let lines: Vec<_> = file.split_inclusive('\n').collect();
    let mut kept: Vec<bool> = lines.iter().map(|line| needle.iter().any(|needle| line.contains(needle))).collect();
    assert!(kept.contains(&true), "{path} has no line with {needle:?}");
    with_access(|access| Code::new(path, &lines, 0, access).complete(&mut kept));
    let mut out = String::new();
    for piece in codeskim::prune::pieces(&kept) {
        match piece {
            codeskim::prune::Piece::Lines(range) => lines[range].iter().for_each(|line| out.push_str(line)),
            codeskim::prune::Piece::Gap(_) => out.push_str("⋮\n"),
        }
    }
    out
}

/// In every language one line in the middle of a method brings its statement, conditions, method and class, and nothing of the others.
#[test]
fn a_line_brings_its_headers_and_closers() {
    for path in &FILES[..14] {
        let name = path.rsplit('/').next().expect("a name").replace('.', "_");
        insta::assert_snapshot!(format!("structure_{name}"), shown(path, &["EVICT"]));
    }
}

/// A part that begins inside a method is completed as the whole file is.
#[test]
fn a_part_of_a_file_is_completed_as_the_file_is() {
    for path in &FILES[..14] {
        let file = read(path);
        let lines: Vec<_> = file.split_inclusive('\n').collect();
        let wanted = lines.iter().position(|line| line.contains("EVICT")).expect("a line");
        let mut whole: Vec<bool> = (0..lines.len()).map(|line| line == wanted).collect();
        let range = wanted - 2..lines.len();
        let mut part = whole[range.clone()].to_vec();
        with_access(|access| {
            Code::new(path, &lines, 0, access).complete(&mut whole);
            Code::part(path, &lines, range.clone(), access).complete(&mut part);
        });
        assert_eq!(part, whole[range], "{path}");
    }
}

/// What is shown of a branch says on which condition it is.
#[test]
fn branches_bring_their_conditions() {
    let files: [(&str, &[&str]); 3] = [
        ("tests/fixtures/cache.swift", &["fputs", "clock += 2"]),
        ("tests/fixtures/Cache.cs", &["Console.Error.WriteLine(message)"]),
        ("tests/fixtures/cache.sh", &["    ls\n", "count=$((count + 1))"]),
    ];
    let views = files.map(|(path, needle)| format!("== {path}\n{}", shown(path, needle)));
    insta::assert_snapshot!(views.concat());
}

#[test]
fn a_script_that_is_not_for_a_shell_is_no_shell_script() {
    let lines = ["#!/usr/bin/env php\n", "<?php\n", "function f() {\n", "  go();\n", "  stop();\n", "}\n"];
    let mut kept = [false, false, false, true, false, false];
    with_access(|access| Code::new("run.sh", &lines, 0, access).complete(&mut kept));
    assert_eq!(kept, [false, false, true, true, false, false]);
}

#[test]
fn without_a_grammar_lines_bring_what_they_are_indented_under() {
    let lines = ["jobs:\n", "  build:\n", "    steps:\n", "      - run: make\n", "  test:\n", "    steps:\n", "      - run: make test\n"];
    let mut kept = [false, false, false, false, false, false, true];
    with_access(|access| Code::new("ci.yaml", &lines, 0, access).complete(&mut kept));
    assert_eq!(kept, [true, false, false, false, true, true, true]);
    let lines = ["# A\n", "text\n", "## B\n", "```\n", "# not a heading\n", "```\n", "answer\n"];
    let mut kept = [false, false, false, false, false, false, true];
    with_access(|access| Code::new("a.md", &lines, 0, access).complete(&mut kept));
    assert_eq!(kept, [true, false, true, false, false, false, true]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_view_parses_where_the_file_does(path in prop::sample::select(&FILES[..]), picks in prop::collection::vec(any::<prop::sample::Index>(), 1..12)) {
        let file = read(path);
        let lines: Vec<_> = file.split_inclusive('\n').collect();
        let language = Language::of(path).expect("a grammar");
        let syntax = grammar::read(language, &file);
        prop_assert!(!syntax.has_errors, "{path} does not parse itself");
        let mut kept = vec![false; lines.len()];
        picks.iter().for_each(|pick| kept[pick.index(lines.len())] = true);
        let picked = kept.clone();
        complete(&syntax, &lines, &mut kept);
        prop_assert!(with_access(|access| parses(&syntax, &lines, &kept, access)), "completion alone leaves an error");
        if syntax.begins.is_empty() {
            let shown = |(i, line)| if kept[i] { syntax.line(i, line) } else { "\n".into() };
            let view: String = lines.iter().copied().enumerate().map(shown).collect();
            prop_assert_eq!(grammar::first_error(syntax.grammar, &view), None);
        }
        prop_assert!(picked.iter().zip(&kept).all(|(picked, kept)| !picked || *kept), "a picked line was lost");
    }
}

/// The same on any tree of sources, with the share of views that needed repair:
/// `CODESKIM_CORPUS=DIR cargo test --test it corpus -- --ignored --nocapture`
#[test]
#[ignore = "needs a corpus"]
fn corpus() {
    let root = std::env::var("CODESKIM_CORPUS").expect("CODESKIM_CORPUS names a directory");
    let mut counts = std::collections::BTreeMap::<String, [usize; 4]>::new();
    let mut seed = 1u64;
    for entry in ignore::WalkBuilder::new(root).standard_filters(false).sort_by_file_name(Ord::cmp).build().flatten() {
        let path = entry.path().display().to_string();
        let (Some(language), Ok(file)) = (Language::of(&path), std::fs::read_to_string(entry.path())) else { continue };
        let lines: Vec<_> = file.split_inclusive('\n').collect();
        if !(60..3000).contains(&lines.len()) || file.len() > 150_000 {
            continue;
        }
        let syntax = grammar::read(language, &file);
        let count = counts.entry(format!("{language:?}")).or_default();
        if count[0] + count[1] >= 400 {
            continue;
        }
        if syntax.has_errors {
            count[0] += 1;
            continue;
        }
        count[1] += 1;
        let mut kept = vec![false; lines.len()];
        for _ in 0..3 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let at = (seed >> 33) as usize % lines.len();
            let end = (at + 3).min(lines.len());
            kept[at..end].fill(true);
        }
        let parses = |kept: &[bool]| with_access(|access| parses(&syntax, &lines, kept, access));
        complete(&syntax, &lines, &mut kept);
        count[2] += usize::from(!parses(&kept));
        if !parses(&kept) && std::env::var_os("CODESKIM_SHOW").is_some() {
            println!("repaired: {path}");
        }
        with_access(|access| repair(&syntax, &lines, &mut kept, access));
        assert!(parses(&kept), "{path}");
        count[3] += usize::from(!kept.contains(&false));
    }
    for (language, [bad, good, repaired, whole]) in counts {
        assert!(repaired * 20 <= good && whole * 100 <= good, "{language}: {repaired} of {good} views repaired, {whole} whole");
        println!("{language}: {good} files that parse ({bad} do not), {repaired} views repaired, {whole} of them whole");
    }
}
