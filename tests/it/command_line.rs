//! The commands: the same answers as the server's, in the manner of a shell.

use std::path::Path;

use serde_json::json;

use crate::common::{BINARY, Client, REPOSITORY, codeskim, codeskim_with_input, directory_of, eras};

const QUESTION: &str = "How are the probabilities of each line computed?";

#[tokio::test]
async fn commands_and_server_give_the_same_text() {
    let here = Path::new(REPOSITORY);
    let client = Client::start(here, eras()[0].clone()).await;
    let file = "src/skim/embedded/crf.rs";
    let as_shell = |text: String| text.replace("; lines A-B reads them", "; --lines A-B reads them");
    let read = client.text("read_file", json!({ "path": file, "context_focus_question": QUESTION })).await;
    assert_eq!(codeskim(here, &["read", file, "--focus", QUESTION]).stdout, as_shell(read));
    let range = client.text("read_file", json!({ "path": file, "start_line": 3, "end_line": 9 })).await;
    assert_eq!(codeskim(here, &["read", file, "--lines", "3-9"]).stdout, range);
    let head = client.text("head", json!({ "path": file, "lines": 3 })).await;
    assert_eq!(codeskim(here, &["head", "-n", "3", file]).stdout, head);
    let grep = client
        .text("grep", json!({ "pattern": "fn ", "path": "src", "glob": "*.rs", "context": 1, "context_focus_question": QUESTION }))
        .await;
    assert_eq!(codeskim(here, &["grep", "fn ", "src", "-g", "*.rs", "-C", "1", "--focus", QUESTION]).stdout, grep);
}

#[test]
fn a_path_that_is_a_glob_narrows_no_other() {
    let files = ["src/a.rs", "src/deep/b.rs", "tests/c.py", "tests/d.rs", "e.py"];
    let directory = directory_of(files.map(|path| (path, "needle\n")));
    let found = |arguments: &[&str]| {
        let mut paths: Vec<String> =
            codeskim(directory.path(), &[&["grep", "-l", "needle"], arguments].concat()).stdout.lines().map(str::to_owned).collect();
        paths.sort_unstable();
        paths
    };
    assert_eq!(found(&["src", "tests/*.py"]), ["src/a.rs", "src/deep/b.rs", "tests/c.py"]);
    assert_eq!(found(&["tests/*.py"]), ["tests/c.py"]);
    assert_eq!(found(&[".", "tests/*.py"]).len(), 5);
    assert_eq!(found(&["src", "-g", "*.py", "tests/*.py"]), ["tests/c.py"]);
}

#[test]
fn a_pipe_is_pruned() {
    let log: String = (0..400).map(|i| format!("tests/test_{i}.py::test_case_{i} PASSED\n")).collect::<String>()
        + "=== FAILURES ===\n___ test_login ___\n    def test_login():\n>       assert login('x') == 200\nE       assert 401 == 200\n\
           tests/test_auth.py:12: AssertionError\n=== 1 failed, 400 passed ===\n";
    let printed = codeskim_with_input(
        Path::new("/"),
        &["prune", "--focus", "which test failed first, and what was the assertion error?"],
        log.as_bytes(),
    );
    assert_eq!(printed.status, 0);
    assert!(printed.stdout.contains("E       assert 401 == 200\n"), "{}", printed.stdout);
    assert!(printed.stdout.len() * 2 < log.len(), "{}", printed.stdout);
    assert!(printed.stdout.starts_with("stdin: "), "{}", printed.stdout);
}

/// Far from each other, and among lines that look alike, no error is lost, nor the cause at the end of a stack trace.
#[test]
fn every_error_is_shown_where_errors_are_asked_for() {
    let mut log: Vec<String> = (0..300).map(|i| format!("cc -O2 -Iinclude -c src/file{i}.c -o build/file{i}.o\n")).collect();
    log[40] = "src/http.c:188:12: error: 'struct http_conn' has no member named 'sock'\n".to_owned();
    log[41] = "make: *** [Makefile:31: build/http.o] Error 1\n".to_owned();
    log[120] = "include/pool.h:7:1: error: unknown type name 'arena_t'\n".to_owned();
    log[260] = "src/timer.c:131:19: error: 'CLOCK_MONOTONIC' undeclared\n".to_owned();
    let printed = codeskim_with_input(Path::new("/"), &["prune", "--focus", "what are the compile errors?"], log.concat().as_bytes());
    for line in [40, 120, 260] {
        assert!(printed.stdout.contains(&log[line]), "{}", printed.stdout);
    }
    let frames = |class: &str| (0..30).map(|i| format!("\tat com.acme.{class}.call{i}({class}.java:{i})\n")).collect::<String>();
    let trace = format!(
        "INFO ready\nERROR request failed\ncom.acme.OrderException: no order\n{}Caused by: java.net.ConnectException: refused\n{}INFO next\n",
        frames("Order"),
        frames("Pool")
    );
    let printed =
        codeskim_with_input(Path::new("/"), &["prune", "--focus", "what is the root cause of the failed request?"], trace.as_bytes());
    assert!(printed.stdout.contains("Caused by: java.net.ConnectException: refused\n"), "{}", printed.stdout);
    assert!(printed.stdout.len() * 2 < trace.len(), "{}", printed.stdout);
}

#[test]
fn what_people_type_from_habit_is_understood() {
    let here = Path::new(REPOSITORY);
    let same = |typed: &[&str], meant: &[&str]| assert_eq!(codeskim(here, typed).stdout, codeskim(here, meant).stdout, "{typed:?}");
    same(&["grep", "-rn", "use std", "src/eval"], &["grep", "use std", "src/eval"]);
    same(&["head", "-3", "Cargo.toml"], &["head", "-n", "3", "Cargo.toml"]);
    same(&["read", "Cargo.toml", "--question", QUESTION], &["read", "Cargo.toml", "--focus", QUESTION]);
    same(&["--root", ".", "head", "-3", "Cargo.toml"], &["head", "-n", "3", "Cargo.toml"]);
    assert_eq!(codeskim(here, &["head", "-3", "Cargo.toml"]).stdout.lines().count(), 3);
}

#[test]
fn exit_statuses_are_those_of_grep() {
    let here = Path::new(REPOSITORY);
    assert_eq!(codeskim(here, &["grep", "name = \"codeskim\"", "Cargo.toml"]).status, 0);
    let none = codeskim(here, &["grep", "no such text", "Cargo.toml"]);
    assert_eq!((none.status, none.stdout.as_str()), (1, ""));
    assert!(none.stderr.contains("No match for \"no such text\""), "{}", none.stderr);
    assert!(codeskim(here, &["grep", "(?s)name.*?license", "Cargo.toml"]).stderr.contains("a match is within one line"));
    assert_eq!(codeskim(here, &["grep", "x", "missing"]).status, 2);
    assert_eq!(codeskim(here, &["read", "Cargo.toml", "--lines", "a-b"]).status, 2);
}

#[tokio::test]
async fn files_that_match_are_listed_without_their_lines() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = |name: &str| directory.path().join(name);
    std::fs::write(at("a.rs"), "let cat = 1;\nlet concat = 2;\n").expect("written");
    std::fs::write(at("b.rs"), "concat\n").expect("written");
    let client = Client::start(directory.path(), eras()[0].clone()).await;
    assert_eq!(client.text("grep", json!({ "pattern": "cat", "files_only": true })).await, "a.rs:2\nb.rs:1\n");
    let printed = |arguments: &[&str]| codeskim(directory.path(), arguments).stdout;
    assert_eq!(printed(&["grep", "-c", "cat"]), "a.rs:2\nb.rs:1\n");
    assert_eq!(printed(&["grep", "-l", "cat"]), "a.rs\nb.rs\n");
    assert_eq!(printed(&["grep", "-cw", "cat"]), "a.rs:1\n");
    assert_eq!(codeskim(directory.path(), &["grep", "-l", "dog"]).status, 1);
    std::fs::create_dir(at("many")).expect("created");
    (0..600).for_each(|i| std::fs::write(at(&format!("many/{i}.txt")), "cat\n").expect("written"));
    let cut = codeskim(directory.path(), &["--max-chars", "4000", "grep", "-l", "cat"]);
    assert!(cut.stdout.lines().all(|path| at(path).is_file()), "{}", cut.stdout);
    assert!(cut.stderr.starts_with("\"cat\": 603 matches in 602 files; left out: "), "{}", cut.stderr);
    assert_eq!(codeskim(directory.path(), &["grep", "-l", "cat", "--focus", "Which cat?"]).status, 2);
}

/// A search with nothing to search in takes no pipe for it, and says so where that may be why it finds nothing.
#[cfg(unix)]
#[test]
fn a_pipe_into_a_search_is_not_silently_ignored() {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("log"), "panicked\n").expect("written");
    std::fs::write(directory.path().join("old"), "aborted\n").expect("written");
    let said = |arguments: &[&str]| {
        let mut command = std::process::Command::new(BINARY);
        let log = std::fs::File::open(directory.path().join("log")).expect("a file");
        let output = command.args(arguments).current_dir(directory.path()).stdin(log).output().expect("it runs");
        String::from_utf8(output.stderr).expect("UTF-8")
    };
    for pattern in ["no such text", "aborted"] {
        assert!(said(&["grep", pattern]).ends_with("Standard input was not searched; codeskim prune reads it.\n"), "{pattern}");
        assert!(!said(&["grep", pattern, "."]).contains("Standard input"));
    }
    assert_eq!(codeskim(directory.path(), &["grep", "aborted"]).stderr, "");
}

#[tokio::test]
async fn lines_have_their_numbers_where_that_is_asked_for() {
    let here = Path::new(REPOSITORY);
    let client = Client::start(here, eras()[0].clone()).await;
    let file = "src/skim/embedded/crf.rs";
    let text = std::fs::read_to_string(here.join(file)).expect("a file");
    let numbered: Vec<String> = text.split_inclusive('\n').enumerate().map(|(i, line)| format!("{}:{line}", i + 1)).collect();
    let range = client.text("read_file", json!({ "path": file, "start_line": 9, "end_line": 10, "line_numbers": true })).await;
    let header = format!("{file} lines 9-10 of {}: 2 of 2 lines. Each begins with its number.\n", numbered.len());
    assert_eq!(range, header + &numbered[8] + &numbered[9]);
    assert_eq!(codeskim(here, &["read", file, "-n", "--lines", "9-10"]).stdout, range);
    let view = client.text("read_file", json!({ "path": file, "line_numbers": "true", "context_focus_question": QUESTION })).await;
    let shown: Vec<&str> = view.split_inclusive('\n').skip(1).filter(|line| !line.starts_with('⋮')).collect();
    assert!(!shown.is_empty() && shown.len() < numbered.len() * 2 / 3, "{view}");
    assert!(shown.iter().all(|line| numbered.iter().any(|whole| whole == line)), "{view}");
}

#[test]
fn of_a_long_line_what_the_question_names_is_shown() {
    let directory = tempfile::tempdir().expect("a directory");
    let functions: String = (0..5000).map(|i| format!("function f{i}(a){{return a+{i}}};")).collect();
    std::fs::write(directory.path().join("min.js"), &functions).expect("written");
    let focus = ["--focus", "What does f4711 return? (function)"];
    let read = codeskim(directory.path(), &[&["read", "min.js"], &focus[..]].concat()).stdout;
    let piped = codeskim_with_input(Path::new("/"), &[&["prune"], &focus[..]].concat(), functions.as_bytes()).stdout;
    for shown in [&read, &piped] {
        assert!(shown.contains("function f4711(a){return a+4711};") && shown.contains("around words of the question"), "{shown}");
        assert!(shown.chars().count() < 2300, "{}", shown.len());
    }
    assert!(read.contains("leave the question out to see more") && piped.contains("a saved copy (tee) has all of it"));
    assert!(codeskim(directory.path(), &["read", "min.js"]).stdout.chars().count() > 19_000);
}

#[test]
fn a_name_that_is_nowhere_is_said_to_be() {
    let arguments =
        ["read", "src/workspace/mod.rs", "--focus", "Where is foo_bar_baz checked beside open_file? (is_escape, no_such_guess)"];
    let shown = codeskim(Path::new(REPOSITORY), &arguments).stdout;
    assert!(shown.contains("\"foo_bar_baz\" is on none of the ") && !shown.contains("no_such_guess"), "{shown}");
}

#[cfg(unix)]
#[test]
fn a_result_that_cannot_be_written_is_a_failure() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("a full device");
    let arguments = ["read", "LICENSE-MIT", "--lines", "3"];
    let status = std::process::Command::new(BINARY).args(arguments).current_dir(REPOSITORY).stdout(full).status();
    assert_eq!(status.expect("it runs").code(), Some(2));
}

#[cfg(unix)]
#[test]
fn a_closed_pipe_is_no_failure() {
    let script = format!("{BINARY} --max-chars 1000000 read Cargo.lock | head -n 1; exit ${{PIPESTATUS[0]}}");
    let output = std::process::Command::new("bash").args(["-c", &script]).current_dir(REPOSITORY).output().expect("bash");
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}

#[test]
fn a_pipe_loses_nothing() {
    let here = Path::new(REPOSITORY);
    let log = [&b"ok\n".repeat(100)[..], b"FAILED: a\0b \xff\n"].concat();
    let printed = codeskim_with_input(here, &["prune", "--focus", "which test failed?"], &log);
    assert_eq!(printed.status, 0);
    assert!(printed.stdout.contains("FAILED: a\0b ÿ\n") && printed.stdout.contains("Decoded from Latin-1."), "{}", printed.stdout);
    let odd = [&b"ok\n".repeat(100)[..], b"FAILED: a\x01\x02\x03\x04\x05\x06\x07\xff\n", &[1; 90], b"\n"].concat();
    let printed = codeskim_with_input(here, &["prune", "--focus", "which test failed?"], &odd);
    assert!(printed.stdout.contains("\u{fffd}\n") && printed.stdout.contains("bytes that are no text"), "{}", printed.stdout);
    assert_eq!(codeskim_with_input(here, &["prune", "--focus", "?"], &log).status, 2);
    let endless: String = (0..60_000).map(|i| format!("line {i}\n")).collect();
    let printed = codeskim_with_input(here, &["prune", "--focus", "what is in line 7?"], "x\n".repeat(600_000).as_bytes());
    assert!(printed.stdout.starts_with("stdin lines 100001-600000 of 600000: "), "{:.100}", printed.stdout);
    for line in ["line 7", "line 59990"] {
        let printed = codeskim_with_input(here, &["prune", "--focus", &format!("What does {line} say?")], endless.as_bytes());
        assert!(printed.stdout.starts_with("stdin: "), "{:.100}", printed.stdout);
        assert!(
            printed.stdout.contains("Of 60000 lines the 50000 nearest to the question's words were skimmed."),
            "{:.300}",
            printed.stdout
        );
        assert!(printed.stdout.contains(&format!("\n{line}\n")), "{}", printed.stdout);
    }
}

#[test]
fn a_question_is_asked_of_all_matches_and_not_only_of_the_first() {
    let directory = tempfile::tempdir().expect("a directory");
    let noise: String = (0..6_000).map(|i| format!("        log.debug(\"loaded the table of contents, page {i}\")\n")).collect();
    std::fs::write(directory.path().join("a.py"), noise).expect("written");
    std::fs::write(directory.path().join("z.py"), "log.error(\"retry limit reached, giving up\")\n").expect("written");
    let printed = codeskim(directory.path(), &["grep", "log", "--focus", "What is logged when the retry limit is reached?"]);
    assert!(printed.stdout.contains("z.py\n1:log.error") && !printed.stdout.contains("were looked at"), "{}", printed.stdout);
}

#[test]
fn a_path_that_several_roots_have_is_searched_in_all_of_them_and_read_in_none() {
    let arguments = ["--root", "src/eval", "--root", "tests", "grep", "^use ", "."];
    let printed = codeskim(Path::new(REPOSITORY), &arguments);
    let read = codeskim(Path::new(REPOSITORY), &["--root", "src/eval", "--root", "src/ledger", "read", "mod.rs"]);
    assert_eq!(read.status, 2);
    assert!(
        read.stderr.contains("\"mod.rs\" is in several roots; ask for \"") && read.stderr.contains("/src/ledger/mod.rs\"."),
        "{}",
        read.stderr
    );
    assert!(printed.stdout.contains("tests/it/trust.rs") && printed.stdout.contains("src/eval/"), "{}", printed.stdout);
    let both = codeskim(Path::new(REPOSITORY), &["grep", "^use std::", "src/hub.rs", "src/eval"]);
    assert!(
        both.stdout.contains("src/hub.rs\n") && both.stdout.contains("src/eval/mod.rs\n") && !both.stdout.contains("src/tools"),
        "{}",
        both.stdout
    );
    let missing = codeskim(Path::new(REPOSITORY), &["grep", "one of several globs", "src", "missing"]);
    assert!(
        missing.status == 0 && missing.stdout.contains("There is no \"missing\".") && missing.stdout.contains("src/tools/grep.rs"),
        "{}",
        missing.stdout
    );
    assert_eq!(codeskim(Path::new(REPOSITORY), &["grep", "use", "missing", "nowhere"]).status, 2);
}

#[test]
fn context_before_and_after_and_several_globs_are_those_of_grep() {
    let directory = tempfile::tempdir().expect("a directory");
    let lines: String = (1..=9).map(|i| format!("{}\n", if i == 5 { "needle".to_owned() } else { i.to_string() })).collect();
    for name in ["a.txt", "b.md", "c.rs"] {
        std::fs::write(directory.path().join(name), &lines).expect("a file");
    }
    let shown = |arguments: &[&str]| codeskim(directory.path(), &[&["grep", "needle"], arguments].concat()).stdout;
    assert_eq!(shown(&["a.txt", "-B", "2", "-A1"]), "a.txt\n3-3\n4-4\n5:needle\n6-6\n");
    assert_eq!(shown(&["a.txt", "-C", "2", "-A", "0"]), "a.txt\n3-3\n4-4\n5:needle\n", "the closer word holds");
    assert_eq!(shown(&["-g", "*.txt", "-g", "*.md"]), "a.txt\n5:needle\n\nb.md\n5:needle\n");
    assert_eq!(shown(&["-g", "!*.txt", "-g", "!c.*"]), "b.md\n5:needle\n");
    assert_eq!(shown(&["-g", "*.txt", "-g", "!a.*"]), "", "the last glob that matches decides");
    assert_eq!(shown(&["-g", "!a.*", "-g", "*.txt"]), "a.txt\n5:needle\n", "the last glob that matches decides");
    assert_eq!(shown(&["a.txt", "-A2", "-A1"]), shown(&["a.txt", "-A1"]), "so does the last number");
    let cut = shown(&["a.txt", "-A", "51"]);
    assert!(
        cut.starts_with("\"needle\": all 1 match in 1 file. context 51 is cut to 50; read the file for more.\na.txt\n5:needle\n"),
        "{cut}"
    );
}

#[test]
fn context_never_hides_its_match() {
    let directory = tempfile::tempdir().expect("a directory");
    let long: String = (0..40).map(|i| format!("{i} {}\n", if i == 30 { "needle".to_owned() } else { "hay ".repeat(450) })).collect();
    std::fs::write(directory.path().join("a.txt"), long).expect("a file");
    let printed = codeskim(directory.path(), &["grep", "needle", "-C", "20"]);
    assert!(printed.stdout.contains("\n31:30 needle\n"), "{:.300}", printed.stdout);
    let header = printed.stdout.lines().next().expect("a header");
    assert_eq!(header, "\"needle\": 1 of 1 match, in 1 of 1 file. Not all of the context fits; ask for less of it.");
}

#[cfg(unix)]
#[test]
fn a_search_leaves_standard_input_to_the_next_command() {
    let script =
        format!("while read word; do '{BINARY}' grep -l \"$word\" src/hub.rs src/error.rs; '{BINARY}' grep -l \"$word\" -g hub.rs; done");
    let mut child = std::process::Command::new("sh")
        .args(["-c", &script])
        .current_dir(REPOSITORY)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("it starts");
    std::io::Write::write_all(&mut child.stdin.take().expect("piped"), b"endpoint\ncache\n").expect("written");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(String::from_utf8_lossy(&output.stdout).matches("src/hub.rs").count(), 4, "{output:?}");
}
