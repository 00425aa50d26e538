//! What bad input gets: one clear sentence, and a server that goes on.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use codeskim::workspace::Workspace;
use serde_json::{Value, json};

use crate::common::{Client, codeskim, directory_of, eras};

/// Longest message for any input, in characters.
const LONGEST: usize = 700;

fn bad_directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    let at = |name: &str| directory.path().join(name);
    std::fs::write(at("text.txt"), "one\ntwo\n").expect("written");
    std::fs::create_dir(at("folder")).expect("created");
    std::fs::write(at("folder/deep.rs"), "fn deep() {}\n").expect("written");
    std::fs::write(at("program"), b"\x7fELF\0\0\0").expect("written");
    std::fs::write(at("secret"), "hidden\n").expect("written");
    std::fs::set_permissions(at("secret"), std::fs::Permissions::from_mode(0o000)).expect("set");
    symlink("/etc/passwd", at("out")).expect("linked");
    symlink("/etc", at("etc")).expect("linked");
    symlink("nowhere", at("dangling")).expect("linked");
    symlink("loop", at("loop")).expect("linked");
    assert!(std::process::Command::new("mkfifo").arg(at("fifo")).status().expect("mkfifo").success());
    std::fs::write(at("large.txt"), "line\n".repeat(2_500_000)).expect("written");
    directory
}

/// (tool, arguments, what the sentence must say)
fn cases() -> Vec<(&'static str, Value, &'static str)> {
    let long = "x".repeat(15_000_000);
    vec![
        ("read_file", json!({ "path": "missing.txt" }), "There is no file \"missing.txt\""),
        ("read_file", json!({ "path": "deep.rs" }), "did you mean \"folder/deep.rs\""),
        ("read_file", json!({ "path": "text.txt:2" }), "for line 2 of \"text.txt\" give lines 2-"),
        ("read_file", json!({ "path": "./text.txt:2:14:" }), "for line 2 of \"./text.txt\" give lines 2-"),
        ("read_file", json!({ "path": "text.txt:2-4" }), "for line 2 of \"text.txt\" give lines 2-"),
        ("read_file", json!({ "path": "text.txt/x" }), "There is no file"),
        ("read_file", json!({ "path": "dangling" }), "There is no file"),
        ("read_file", json!({ "path": "loop" }), "could not be read"),
        ("read_file", json!({ "path": "folder" }), "is a directory"),
        ("read_file", json!({ "path": "." }), "is a directory, with "),
        ("read_file", json!({ "path": "fifo" }), "not a regular file"),
        ("read_file", json!({ "path": "program" }), "binary file (7 bytes)"),
        ("read_file", json!({ "path": "../x" }), "is outside the root"),
        ("read_file", json!({ "path": "folder/../../x" }), "is outside the root"),
        ("read_file", json!({ "path": "/etc/passwd" }), "is outside the root"),
        ("read_file", json!({ "path": "out" }), "is outside the root"),
        ("read_file", json!({ "path": "etc/passwd" }), "is outside the root"),
        ("read_file", json!({ "path": "" }), "give a path, or a symbol"),
        ("read_file", json!({ "path": "a\u{0}b" }), "cannot be a path"),
        ("read_file", json!({ "path": long }), "cannot be a path"),
        ("read_file", json!({ "path": "text.txt", "start_line": 3 }), "Line 3 is beyond the end of \"text.txt\", which has 2 lines"),
        ("read_file", json!({ "path": "text.txt", "start_line": 2, "end_line": 1 }), "before line 2 where it begins"),
        ("read_file", json!({ "path": "text.txt", "start_line": 0 }), "count from 1"),
        ("read_file", json!({ "path": "text.txt", "start_line": -1 }), "start_line: -1 is not a whole number"),
        ("read_file", json!({ "path": "text.txt", "start_line": "x" }), "\"x\" is not a whole number"),
        ("read_file", json!({ "path": "text.txt", "lines": "two" }), "\"two\" is no range of lines"),
        ("read_file", json!({ "path": "text.txt", "lines": "2-1" }), "before line 2 where it begins"),
        ("read_file", json!({ "path": "text.txt", "lines": "1,2-1" }), "The range 2-1 is none"),
        ("read_file", json!({ "path": "text.txt", "lines": "0,1" }), "lines count from 1"),
        ("read_file", json!({ "path": "text.txt", "lines": "1,9" }), "Line 9 is beyond the end"),
        ("read_file", json!({ "path": "text.txt", "lines": "1", "start_line": 1 }), "give lines alone"),
        ("read_file", json!({ "path": "text.txt", "lines": {} }), "are needed"),
        ("read_file", json!({ "symbol": "a b" }), "\"a b\" is no name"),
        ("read_file", json!({ "symbol": ["x".repeat(300)] }), "is no name"),
        ("read_file", json!({ "symbol": vec!["x"; 30] }), "30 names are more than 20"),
        ("read_file", json!({ "symbol": "x", "path": "missing.py" }), "There is no file \"missing.py\""),
        ("read_file", json!({ "symbol": "x", "path": "/etc" }), "is outside the root"),
        ("read_file", json!({ "symbol": "x", "lines": "1" }), "symbol and lines (--symbol, --lines) are two ways"),
        ("read_file", json!({ long.as_str(): 1 }), "unknown field"),
        ("read_file", json!({}), "give a path, or a symbol"),
        ("read_file", json!({ "path": "text.txt", "context_focus_question": "?" }), "The focus question is empty"),
        ("read_file", json!({ "path": "text.txt", "context_focus_question": "why? ".repeat(20_000) }), "has 99999 characters"),
        ("read_file", json!({ "path": "large.txt" }), "13 MB"),
        ("read_file", json!({ "path": "large.txt", "start_line": 2_500_001 }), "which has 2500000 lines"),
        ("head", json!({ "path": "text.txt", "lines": 0 }), "lines is 0"),
        ("head", json!({ "path": "fifo" }), "not a regular file"),
        ("grep", json!({ "pattern": "a(b" }), "unclosed group at character 2"),
        ("grep", json!({ "pattern": "é[z-a]" }), "at character 3"),
        ("grep", json!({ "pattern": "" }), "The pattern is empty"),
        ("grep", json!({ "pattern": "a\nb" }), "cannot be searched for line by line"),
        ("grep", json!({ "pattern": "(((((x{999}){999}){999}){999}){999})" }), "cannot be searched for"),
        ("grep", json!({ "pattern": long, "literal": true }), "cannot be searched for"),
        ("grep", json!({ "pattern": "x", "glob": "a{b" }), "The glob \"a{b\" is not valid"),
        ("grep", json!({ "pattern": "x", "glob": "{".repeat(20_000) + "a" + &"}".repeat(20_000) }), "is longer than 1000 characters"),
        ("grep", json!({ "pattern": "x", "glob": "{".repeat(900) }), "is not valid"),
        ("read_file", json!({ "path": "text.txt", "a\nb": 1 }), "unknown field"),
        ("read_file", json!({ "path": "no\n⋮ 2-9" }), "There is no file"),
        ("grep", json!({ "pattern": "x", "path": "missing" }), "There is no file \"missing\""),
        ("grep", json!({ "pattern": "x", "path": "-" }), "codeskim prune reads standard input"),
        ("grep", json!({ "pattern": "x", "ignore_case": "maybe" }), "ignore_case: true or false is needed"),
        ("grep", json!({ "pattern": "x", "files_only": true, "context_focus_question": "Why x?" }), "files_only (-l, -c) shows no lines"),
        ("repo_map", json!({ "roots": 3 }), "roots: a list of texts is needed"),
        ("grep", json!({ "pattern": "root", "path": "/etc" }), "is outside the root"),
        ("grep", json!({ "pattern": "root", "path": "etc" }), "is outside the root"),
        ("grep", json!({ "pattern": "x", "path": "fifo" }), "not a regular file"),
        ("grep", json!({ "pattern": "ELF", "path": "program" }), "binary file"),
    ]
}

/// A header takes room itself: what comes whole without one may not below one.
#[tokio::test]
async fn a_search_that_is_cut_does_not_say_that_it_is_whole() {
    for (files, lines, hidden) in [(5, 75, false), (2, 190, true)] {
        let line = format!("needle {}\n", "x".repeat(40));
        let mut all: Vec<(String, String)> = (0..files).map(|i| (format!("f{i}.txt"), line.repeat(lines))).collect();
        all.extend(hidden.then(|| (".hidden.txt".to_owned(), line.clone())));
        let directory = directory_of(all);
        let client = Client::start(directory.path(), eras()[0].clone()).await;
        let found = client.text("grep", json!({ "pattern": "needle" })).await;
        let (header, _) = found.split_once('\n').expect("a header");
        assert!(header.contains("left out; ") && !header.contains(" all ") && !header.contains("without a question"), "{header}");
        assert!(found.chars().count() <= 20_000);
    }
}

#[tokio::test]
async fn bad_input_gets_one_sentence_and_the_server_lives() {
    let directory = bad_directory();
    for era in eras() {
        let client = Client::start(directory.path(), era).await;
        for (tool, arguments, expected) in cases() {
            let shown: String = arguments.to_string().chars().take(100).collect();
            let answer = client.call(tool, arguments).await;
            assert!(answer.is_error && answer.text.contains(expected), "{tool} {shown}: {}", answer.text);
            assert!(answer.text.chars().count() <= LONGEST && !answer.text.contains('\n'), "{tool} {shown}: {}", answer.text);
            assert!(answer.text.ends_with('.'), "{tool} {shown}: {}", answer.text);
        }
        assert_eq!(client.text("read_file", json!({ "path": "text.txt" })).await, "one\ntwo\n");
    }
}

#[tokio::test]
async fn a_file_without_permission_is_named_as_such() {
    let directory = bad_directory();
    if std::fs::read(directory.path().join("secret")).is_ok() {
        let open = |path: &str| Workspace::open(&[directory.path()]).expect("a root").open_file(path).map(|_| ()).expect_err("a refusal");
        assert!(open("loop").to_string().contains("\"loop\" could not be read: "), "root may read all files, but there are other reasons");
        return;
    }
    let client = Client::start(directory.path(), eras()[0].clone()).await;
    let answer = client.call("read_file", json!({ "path": "secret" })).await;
    assert!(answer.is_error && answer.text.contains("\"secret\" could not be read: Permission denied"), "{answer:?}");
}

#[tokio::test]
async fn quoted_numbers_nulls_and_blanks_are_taken_as_meant() {
    let directory = bad_directory();
    let client = Client::start(directory.path(), eras()[1].clone()).await;
    let arguments = json!({ "path": "text.txt", "start_line": 2.0 });
    assert_eq!(client.text("read_file", arguments).await, "two\n");
    let arguments = json!({ "path": "text.txt", "start_line": "2", "end_line": null, "context_focus_question": null });
    assert_eq!(client.text("read_file", arguments).await, "two\n");
    let arguments = json!({ "path": "folder/deep.rs", "start_line": "", "end_line": " ", "line_numbers": "" });
    assert_eq!(client.text("read_file", arguments).await, client.text("read_file", json!({ "path": "folder/deep.rs" })).await);
    let arguments = json!({ "pattern": "two", "path": "", "glob": "", "context": null, "context_focus_question": " " });
    assert_eq!(client.text("grep", arguments).await, "text.txt\n2:two\n");
    let arguments = json!({ "pattern": "TWO", "ignore_case": "True", "literal": "", "files_only": null });
    assert_eq!(client.text("grep", arguments).await, "text.txt\n2:two\n");
    for roots in ["folder/deep.rs", "[\"folder/deep.rs\"]"] {
        assert!(client.text("repo_map", json!({ "roots": roots })).await.contains("fn deep()"), "{roots}");
    }
}

#[tokio::test]
async fn encodings_and_terminators_are_kept_or_named() {
    let directory = tempfile::tempdir().expect("a directory");
    let write = |name: &str, bytes: &[u8]| std::fs::write(directory.path().join(name), bytes).expect("written");
    let utf16: Vec<u8> = [0xfeffu16].into_iter().chain("naïve\r\nzwei\r\n".encode_utf16()).flat_map(u16::to_le_bytes).collect();
    write("utf16.txt", &utf16);
    write("latin1.txt", b"caf\xe9\n");
    write("crlf.txt", b"one\r\ntwo\r\n\r\nfour");
    write("bom.txt", b"\xef\xbb\xbfone\n");
    write("empty.txt", b"");
    let client = Client::start(directory.path(), eras()[0].clone()).await;
    let read = async |name: &str| client.text("read_file", json!({ "path": name })).await;
    assert_eq!(read("utf16.txt").await, "utf16.txt: Decoded from UTF-16LE.\nnaïve\r\nzwei\r\n");
    assert_eq!(read("latin1.txt").await, "latin1.txt: Decoded from Latin-1.\ncafé\n");
    assert_eq!(read("crlf.txt").await, "one\r\ntwo\r\n\r\nfour");
    assert_eq!(read("bom.txt").await, "\u{feff}one\n");
    assert_eq!(read("empty.txt").await, "empty.txt is empty: it has no lines.\n");
    let odd: Vec<u8> = "zwei zeilen\n".repeat(200).encode_utf16().flat_map(u16::to_le_bytes).chain([b'x']).collect();
    write("odd.txt", &odd); // half a character too much: no text, however it is looked at
    assert!(client.call("read_file", json!({ "path": "odd.txt" })).await.text.contains("binary file (4801 bytes)"));
    write("unmarked.txt", &"eins\nzwei\n".encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<_>>());
    assert_eq!(read("unmarked.txt").await, "unmarked.txt: Decoded from UTF-16BE.\neins\nzwei\n");
    write("late.bin", &[&b"needle\n".repeat(20)[..], &[0; 900]].concat());
    let missed = client.text("grep", json!({ "pattern": "needle" })).await;
    assert!(
        missed.starts_with("No match for \"needle\"") && missed.contains("Passed over: 2 binary files, \"late.bin\" the first."),
        "{missed}"
    );
    let found = "latin1.txt\n1:café\n\nunmarked.txt\n2:zwei\n\nutf16.txt\n2:zwei\r\n";
    assert_eq!(client.text("grep", json!({ "pattern": "zwei|caf" })).await, found);
}

#[test]
fn commands_fail_with_the_same_sentences_and_status_2() {
    let directory = bad_directory();
    let printed = codeskim(directory.path(), &["read", "missing.txt"]);
    assert_eq!((printed.status, printed.stdout.as_str()), (2, ""));
    assert!(printed.stderr.starts_with("codeskim: There is no file \"missing.txt\""), "{}", printed.stderr);
    assert_eq!(codeskim(directory.path(), &["grep", "a(b"]).status, 2);
    let printed = codeskim(directory.path(), &["--root", "nowhere", "read", "x"]);
    assert!(printed.status == 2 && printed.stderr.ends_with("; give --root an existing directory.\n"), "{printed:?}");
    let printed = codeskim(directory.path(), &["map", "text.txt"]);
    assert!(printed.status == 2 && printed.stderr.contains("\"text.txt\" is no source file and has none in it"), "{printed:?}");
    std::fs::write(directory.path().join("empty.txt"), "").expect("written");
    let printed = codeskim(directory.path(), &["read", "empty.txt"]);
    assert_eq!((printed.status, printed.stdout.as_str()), (0, ""), "what is printed is the text");
    assert!(printed.stderr.contains("empty.txt is empty: it has no lines."), "{printed:?}");
    assert_eq!(codeskim(Path::new("/"), &["--root", "folder"]).status, 2);
}

#[tokio::test]
async fn a_harmful_ignore_file_hides_its_directory() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = |name: &str| directory.path().join(name);
    std::fs::create_dir_all(at("vendored/sub")).expect("created");
    std::fs::write(at("a.txt"), "needle\n").expect("written");
    std::fs::write(at("vendored/b.txt"), "needle\n").expect("written");
    symlink("vendored/sub", at("link")).expect("linked");
    let (rules, outside) = (at("vendored/.gitignore"), tempfile::NamedTempFile::new().expect("a file"));
    let client = Client::start(directory.path(), eras()[0].clone()).await;
    let nested = |file: &Path| std::fs::write(file, format!("x\n{}a{}\n", "{".repeat(100_000), "}".repeat(100_000))).expect("written");
    let huge = |file: &Path| std::fs::write(file, "x\n".repeat(600_000)).expect("written");
    let wild = |file: &Path| std::fs::write(file, "?.a\n".repeat(3000)).expect("written");
    let pipe = |file: &Path| assert!(std::process::Command::new("mkfifo").arg(file).status().expect("mkfifo").success());
    let device = |file: &Path| symlink("/dev/zero", file).expect("linked");
    let elsewhere = |file: &Path| symlink(outside.path(), file).expect("linked");
    for harm in [&nested as &dyn Fn(&Path), &huge, &wild, &pipe, &device, &elsewhere] {
        harm(&rules);
        assert!(client.call("read_file", json!({ "path": "b.txt" })).await.text.contains("There is no file \"b.txt\""));
        let found = client.text("grep", json!({ "pattern": "needle" })).await;
        assert!(found.ends_with("1 path could not be read.\na.txt\n1:needle\n"), "{found}");
        assert_eq!(client.text("grep", json!({ "pattern": "needle", "path": "vendored/b.txt" })).await, "vendored/b.txt\n1:needle\n");
        for (tool, arguments) in [
            ("grep", json!({ "pattern": "needle", "path": "vendored" })),
            ("grep", json!({ "pattern": "needle", "path": "link" })),
            ("repo_map", json!({ "roots": ["vendored"] })),
        ] {
            let refused = client.call(tool, arguments).await;
            assert!(refused.is_error && refused.text.contains("vendored/.gitignore\" is no ordinary ignore file"), "{refused:?}");
        }
        std::fs::remove_file(&rules).expect("removed");
    }
    std::fs::write(&rules, "# ?\n".repeat(3000) + "x\n").expect("written");
    std::fs::set_permissions(&rules, std::fs::Permissions::from_mode(0o000)).expect("set");
    assert_eq!(client.text("grep", json!({ "pattern": "needle", "path": "vendored" })).await, "vendored/b.txt\n1:needle\n");
    std::fs::remove_file(&rules).expect("removed");
    symlink("../a.txt", &rules).expect("linked");
    assert_eq!(client.text("grep", json!({ "pattern": "needle", "path": "vendored" })).await, "vendored/b.txt\n1:needle\n");
}

#[tokio::test]
async fn no_nesting_overflows_the_stack() {
    let directory = tempfile::tempdir().expect("a directory");
    for (name, open, inside, close) in [
        ("a.c", "#if A\n", "int x;\n", "#endif\n"),
        ("b.rs", "mod m {\n", "fn f() {}\n", "}\n"),
        ("c.cpp", "{\n", ";\n", "}\n"),
        ("d.cpp", "namespace n {\n", "int x;\n", "}\n"),
        ("f.cpp", "template<class T>\n", "int x;\n", "\n"),
        ("e.rs", "{", "a", "}"),
    ] {
        let start = if name == "e.rs" { "use " } else { "" };
        std::fs::write(directory.path().join(name), [start, &open.repeat(5000), inside, &close.repeat(5000), ";\n"].concat())
            .expect("a file");
        let client = Client::start(directory.path(), eras()[0].clone()).await;
        for question in ["Which colours does the payment form's button have?", "Where is x declared, or f defined?"] {
            let answer = client.call("read_file", json!({ "path": name, "context_focus_question": question })).await;
            assert!(!answer.is_error && !answer.text.is_empty(), "{name}: {}", answer.text);
        }
        let map = client.call("repo_map", json!({ "roots": [name] })).await;
        assert!(!map.is_error, "{name}: {}", map.text);
    }
}
