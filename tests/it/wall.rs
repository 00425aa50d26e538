//! Nothing in a file stops the server, fills its memory or holds up other calls, whatever a grammar does with it.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use codeskim::prune::render::LONGEST_LINE;
use codeskim::syntax::message::{Answer, Hello, Walls, decode, encode, receive, send};
use codeskim::syntax::worker::ARGUMENT;
use codeskim::syntax::{Language, Reader, Unread, grammar};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::common::{BINARY, Client, FILE, QUESTION, REPOSITORY, codeskim, eras};
use crate::serving::{post, serve};
use crate::trust::{Piece, partition, understand};

/// Bytes that the server and its children may take together.
const MOST_MEMORY: u64 = 1_500_000_000;
/// Calls with hostile files at once: as many as the server works on.
const AT_ONCE: usize = 4;

fn fixture(name: &str) -> String {
    std::fs::read_to_string(Path::new(REPOSITORY).join(name)).expect("a file")
}

/// Files that crash, hang or fill a process that shows them to a grammar as they are, by name; ordinary code stands around each text.
fn hostile() -> Vec<(String, String)> {
    let in_lines = |text: &str, times: usize| format!("{text}\n").repeat(times);
    let deep: String = (0..511).map(|i| format!("{}{}if x:\n", "\t".repeat(i / 8), " ".repeat(i % 8))).collect();
    let words: Vec<String> = [252, 252, 252, 251].iter().map(|length| format!("<<{}", "K".repeat(*length))).collect();
    let python = "def f():\n    x\n".repeat(30);
    let texts: Vec<(&str, &str, Vec<String>)> = vec![
        (
            "tests/fixtures/cache.sh",
            "sh",
            vec![
                "echo {\u{f0301}}".to_owned(),
                "icons=({\u{f0301}} b)".to_owned(),
                "echo {1..\u{f0301}}".to_owned(),
                in_lines("a|", 10_000),
                in_lines("${a#", 8_000),
            ],
        ),
        (
            "tests/fixtures/cache.rb",
            "rb",
            vec![
                format!("x = <<{}", "K".repeat(256)),
                format!("x=<<\"K{}", "\n".repeat(256)),
                format!("f({})", words.join(",")),
                "%(".repeat(50_000),
                "require_relative(".repeat(20_000),
            ],
        ),
        (
            "training/mine.py",
            "py",
            vec![
                format!("{python}{}", in_lines("/*", 6_400)),
                format!("{python}{}", in_lines("//*", 4_500)),
                format!("{deep}{}{}\"a\"", "\t".repeat(63), " ".repeat(7)),
                in_lines("#", 8_000),
            ],
        ),
        ("tests/fixtures/Cache.java", "java", vec!["a<".repeat(16_000), "a<b<".repeat(7_500)]),
        (
            "tests/fixtures/cache.cpp",
            "cpp",
            vec![
                in_lines("a<0&&", 5_000),
                in_lines("a<b|", 7_500),
                "a<b>::".repeat(16_000),
                format!("long x = 1{};", "'1".repeat(100_000)),
            ],
        ),
        ("tests/fixtures/Cache.cs", "cs", vec!["(a)-".repeat(7_500), "(a)&".repeat(6_000), "a{".repeat(50_000)]),
        ("tests/fixtures/cache.ts", "ts", vec![in_lines("a<b,", 6_000), in_lines("->", 6_000), format!("f{}", "()".repeat(20_000))]),
        ("tests/fixtures/cache.tsx", "tsx", vec![in_lines("a<b,", 6_000), in_lines("/*", 6_000)]),
        ("tests/fixtures/cache.js", "js", vec![in_lines("->", 6_000), in_lines("/*", 6_000)]),
        ("tests/fixtures/cache.kt", "kt", vec![in_lines("a.b<", 6_000), "<<".repeat(15_000), "@a".to_owned()]),
        ("tests/fixtures/cache.c", "c", vec!["(a)*".repeat(25_000), "MAX_SIZE ".repeat(20_000), in_lines("/*", 6_000)]),
        ("tests/fixtures/store.h", "h", vec!["a<".repeat(50_000)]),
        ("tests/fixtures/cache.go", "go", vec![in_lines("/*", 6_000), in_lines("->", 6_000)]),
        ("tests/fixtures/cache.php", "php", vec![in_lines("/*", 6_000), "@a".repeat(15_000)]),
        ("tests/fixtures/cache.swift", "swift", vec!["\n/*".repeat(6_000), in_lines("&", 6_000), "#if".to_owned()]),
        (
            "src/prune/render.rs",
            "rs",
            vec![
                "if(a){".repeat(100_000),
                "r#\"".repeat(33_000),
                format!("use {}{};", format!("{}{{", "a::".repeat(30)).repeat(30), "a,".repeat(10_000)),
                in_lines("// a", 6_000),
                in_lines("#[a]", 6_000),
            ],
        ),
    ];
    let mut files = Vec::new();
    for (ordinary, ending, texts) in texts {
        let ordinary = fixture(ordinary);
        for (i, text) in texts.iter().enumerate() {
            files.push((format!("{i}.{ending}"), format!("{ordinary}{text}\n{ordinary}")));
            if text.len() < 1000 {
                files.push((format!("{i}-at-end.{ending}"), format!("{ordinary}{text}")));
            }
        }
    }
    files
}

/// Bytes that a process and its children have in memory.
fn memory_of(process: u32) -> u64 {
    let status = |of: &str, key: &str| {
        let status = std::fs::read_to_string(format!("/proc/{of}/status")).ok()?;
        status.lines().find_map(|line| line.strip_prefix(key)?.split_whitespace().next()?.parse::<u64>().ok())
    };
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.file_name());
    let processes = processes.filter_map(|name| name.into_string().ok()).filter(|name| name.parse::<u32>().is_ok());
    let family = processes.filter(|name| *name == process.to_string() || status(name, "PPid:") == Some(process.into()));
    family.filter_map(|name| status(&name, "VmRSS:")).sum::<u64>() * 1024
}

/// A server and a way to call its tools from any thread.
struct Server<'a> {
    process: u32,
    call: &'a (dyn Fn(&'static str, Value) -> String + Sync),
}

/// Counts one less where its scope ends, also by a panic.
struct Leaves<'a>(&'a AtomicUsize);

impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Checks that what a view shows and its gaps are the file; of lines that are cut, that they are there.
fn partition_but_for_long_lines(view: &str, file: &str) {
    let lines: Vec<&str> = file.split_inclusive('\n').collect();
    let whole = |piece| match piece {
        Piece::Line(number, text) if text != lines[number - 1] => {
            assert!(lines[number - 1].len() > LONGEST_LINE, "{text}");
            Piece::Line(number, lines[number - 1].to_owned())
        }
        piece => piece,
    };
    partition(&understand(view).into_iter().map(whole).collect::<Vec<_>>(), file);
}

/// Calls the server with all hostile files, several at once, and with ordinary ones beside them.
fn attack(directory: &Path, server: &Server<'_>) {
    let files = hostile();
    for (name, text) in &files {
        std::fs::write(directory.join(name), text).expect("written");
    }
    let ordinary = fixture(FILE);
    std::fs::write(directory.join("ordinary.rs"), &ordinary).expect("written");
    let read = |name: &str| (server.call)("read_file", json!({ "path": name, "context_focus_question": QUESTION }));
    let wanted = read("ordinary.rs");
    assert!(wanted.contains("through_links"), "{wanted}");
    let (next, left, most, slowest) = (AtomicUsize::new(0), AtomicUsize::new(AT_ONCE), AtomicU64::new(0), Mutex::new(Duration::ZERO));
    let by_indentation = AtomicUsize::new(0);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                let _left = Leaves(&left);
                while let Some((name, text)) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let began = Instant::now();
                    let view = read(name);
                    if view.contains("lines left out") {
                        partition_but_for_long_lines(&view, text);
                    }
                    by_indentation.fetch_add(usize::from(view.contains("Lines go together by indentation")), Ordering::Relaxed);
                    let map = (server.call)("repo_map", json!({ "roots": [name] }));
                    assert!(map.contains("IR-RepoMap"), "{name}: {map}");
                    println!("{name}: {:.1} s", began.elapsed().as_secs_f64());
                }
            });
        }
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                most.fetch_max(memory_of(server.process), Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(10));
            }
        });
        while left.load(Ordering::Relaxed) > 0 {
            let began = Instant::now();
            assert_eq!(read("ordinary.rs"), wanted);
            let mut slowest = slowest.lock().expect("no panic");
            *slowest = began.elapsed().max(*slowest);
        }
        done.store(true, Ordering::Relaxed);
    });
    let (most, slowest) = (most.into_inner(), slowest.into_inner().expect("no panic"));
    let by_indentation = by_indentation.into_inner();
    println!(
        "{} files, {by_indentation} by indentation; {} MB at most; the slowest ordinary call {slowest:?}",
        files.len(),
        most / 1_000_000
    );
    assert!(slowest < Duration::from_secs(10), "{slowest:?}: ordinary calls wait for the others"); // on a machine that does other things, too
    assert!(most < MOST_MEMORY, "{most} bytes");
    assert!(by_indentation > files.len() / 4, "{by_indentation}: the texts do not do what they are here for");
    assert_eq!(read("ordinary.rs"), wanted);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_files_over_stdio() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut command = tokio::process::Command::new(BINARY);
    command.current_dir(directory.path());
    let (client, process) = Client::of_process(command, eras()[0].clone()).await;
    let runtime = tokio::runtime::Handle::current();
    let call = |tool, arguments| runtime.block_on(client.text(tool, arguments));
    tokio::task::block_in_place(|| {
        std::thread::scope(|scope| {
            scope.spawn(|| attack(directory.path(), &Server { process, call: &call }));
        });
    });
}

#[test]
fn hostile_files_over_http() {
    let directory = tempfile::tempdir().expect("a directory");
    let served = serve(&["--http", "0", "--root", &directory.path().display().to_string()], None);
    let call = |tool, arguments| {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": tool, "arguments": arguments } });
        let (status, answer) = post(&format!("{}/mcp", served.base), &[("MCP-Protocol-Version", "2025-11-25")], &body);
        assert!(status == 200 && answer["result"]["isError"] == false, "{answer}");
        answer["result"]["content"][0]["text"].as_str().expect("text").to_owned()
    };
    attack(directory.path(), &Server { process: served.child.id(), call: &call });
}

/// A text that ended a child is known by its content, whatever it is called.
#[test]
fn what_failed_is_not_tried_again() {
    let cancel = CancellationToken::new();
    let reader = Reader::guarded(BINARY.into());
    let bomb = format!("def f():\n    x\n{}", "/*\n".repeat(6400));
    assert_eq!(reader.access(&cancel).read(Language::Python, &bomb).map(drop), Err(Unread::TooLarge));
    let began = Instant::now();
    for _ in 0..100 {
        assert_eq!(reader.access(&cancel).read(Language::Python, &bomb).map(drop), Err(Unread::TooLarge));
    }
    assert!(began.elapsed() < Duration::from_secs(5), "a hundred children would have taken longer");
    assert!(reader.access(&cancel).read(Language::Python, "def f():\n    pass\n").is_ok());
}

#[test]
fn a_call_that_is_withdrawn_ends_its_child() {
    let reader = Reader::guarded(BINARY.into());
    let cancel = CancellationToken::new();
    let slow = "a<b>::".repeat(1_500_000);
    let began = std::thread::scope(|scope| {
        let reading = scope.spawn(|| reader.access(&cancel).read(Language::Cpp, &slow).map(drop));
        std::thread::sleep(Duration::from_millis(300));
        cancel.cancel();
        let began = Instant::now();
        assert_eq!(reading.join().expect("no panic"), Err(Unread::Cancelled));
        began.elapsed()
    });
    println!("given up after {began:?}");
    assert!(began < Duration::from_secs(1), "{began:?}");
}

/// Without a child there are no grammars, and all else is as it was.
#[test]
fn a_program_that_is_none_leaves_views_by_indentation() {
    let reader = Reader::guarded("/nowhere/codeskim".into());
    assert_eq!(reader.access(&CancellationToken::new()).read(Language::Rust, "fn f() {}\n").map(drop), Err(Unread::NoChild));
    let other = Reader::guarded("/bin/true".into());
    assert_eq!(other.access(&CancellationToken::new()).read(Language::Rust, "fn f() {}\n").map(drop), Err(Unread::NoChild));
}

/// A program that is run in place of codeskim: its first frame is codeskim's, and what it says then is `says`.
#[cfg(unix)]
fn liar(directory: &Path, says: &str) -> std::path::PathBuf {
    use std::os::unix::fs::PermissionsExt;

    let (hello, program) = (directory.join("hello"), directory.join("liar"));
    let mut frame = Vec::new();
    let first = Hello { version: env!("CARGO_PKG_VERSION").to_owned(), walls: Walls::default() };
    send(&mut frame, &encode(&first)).expect("into memory");
    std::fs::write(&hello, frame).expect("written");
    std::fs::write(&program, format!("#!/bin/sh\n{}\n", says.replace("HELLO", &hello.display().to_string()))).expect("written");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("set");
    program
}

/// What a child says is not believed: floods, lengths that no answer has, answers to something else, syntax of another text.
#[cfg(unix)]
#[test]
fn a_child_that_lies_is_a_child_that_fails() {
    let directory = tempfile::tempdir().expect("a directory");
    let cancel = CancellationToken::new();
    let other = grammar::read(Language::Rust, &"fn f() {\n    go();\n}\n".repeat(50));
    let mut answer = Vec::new();
    send(&mut answer, &encode(&Answer::Syntax(Box::new(other)))).expect("into memory");
    let file = directory.path().join("answer");
    std::fs::write(&file, answer).expect("written");
    let says = ["cat HELLO /dev/zero", "cat HELLO; tr '\\0' '\\377' < /dev/zero", &format!("cat HELLO {}; sleep 60", file.display())];
    for says in says {
        let reader = Reader::guarded(liar(directory.path(), says));
        assert_eq!(reader.access(&cancel).read(Language::Rust, "fn f() {}\n").map(drop), Err(Unread::Crashed), "{says}");
    }
}

/// A child that something else has ended says nothing of the text.
#[cfg(unix)]
#[test]
fn a_child_that_was_ended_while_it_waited_is_replaced() {
    let directory = tempfile::tempdir().expect("a directory");
    let mark = directory.path().join("mark").display().to_string();
    let once = format!("if [ -e {mark} ]; then exec {BINARY} \"$@\"; fi\n: > {mark}\ncat HELLO");
    let reader = Reader::guarded(liar(directory.path(), &once));
    reader.warm_up();
    std::thread::sleep(Duration::from_millis(200));
    assert!(reader.access(&CancellationToken::new()).read(Language::Rust, "fn f() {}\n").is_ok());
}

/// Nothing but reading, writing, memory and ending is left to any thread of a child.
#[cfg(target_os = "linux")]
#[test]
fn a_child_is_closed_in() {
    let mut child = Command::new(BINARY).arg(ARGUMENT).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    let hello = receive(child.stdout.as_mut().expect("piped"), 1000).expect("a frame");
    let Hello { walls, .. } = decode(&hello).expect("its first");
    let kernel_has_landlock = std::fs::read_to_string("/sys/kernel/security/lsm").is_ok_and(|modules| modules.contains("landlock"));
    assert!(walls.no_descriptors && walls.seccomp && (walls.landlock || !kernel_has_landlock), "{walls:?}");
    let tasks: Vec<_> = std::fs::read_dir(format!("/proc/{}/task", child.id())).expect("its threads").flatten().collect();
    for task in &tasks {
        let status = std::fs::read_to_string(task.path().join("status")).expect("its status");
        assert!(status.contains("Seccomp:\t2") && status.contains("NoNewPrivs:\t1"), "{status}");
    }
    assert!(tasks.len() > 1, "the clock has a thread");
    drop(child.stdin.take());
    assert!(child.wait().expect("it ends").success());
}

/// What a reader is told when a file could not be read by its grammar.
#[test]
fn the_header_says_that_lines_go_together_by_indentation() {
    let directory = tempfile::tempdir().expect("a directory");
    let ordinary = fixture("training/mine.py");
    std::fs::write(directory.path().join("a.py"), format!("{ordinary}{}", "/*\n".repeat(6400))).expect("written");
    let printed = codeskim(directory.path(), &["read", "a.py", "--focus", "How does it find the block of code that a comment describes?"]);
    let header = printed.stdout.lines().next().expect("a header");
    insta::assert_snapshot!(header.split_once(" lines").expect("a count").1, @". Lines go together by indentation, as parsing took too much memory. ⋮ = lines left out; --lines A-B reads them.");
}

/// Code as people write it is read within the limits, on any tree of sources, with what it needs of them:
/// `CODESKIM_CORPUS=DIR cargo test --test it ordinary_code -- --ignored --nocapture`
#[test]
#[ignore = "needs a corpus"]
fn ordinary_code() {
    let root = std::env::var("CODESKIM_CORPUS").expect("CODESKIM_CORPUS names a directory");
    let (reader, cancel) = (Reader::guarded(BINARY.into()), CancellationToken::new());
    let (mut files, mut failed, mut slowest) = (0, Vec::new(), (Duration::ZERO, String::new()));
    for entry in ignore::WalkBuilder::new(root).standard_filters(false).build().flatten() {
        let path = entry.path().display().to_string();
        let (Some(language), Ok(text)) = (Language::of(&path), std::fs::read_to_string(entry.path())) else { continue };
        let began = Instant::now();
        if let Err(why) = reader.access(&cancel).read(language, &text) {
            failed.push(format!("{path} ({} bytes): {why}", text.len()));
        }
        files += 1;
        if text.len() < 100_000 && began.elapsed() > slowest.0 {
            slowest = (began.elapsed(), path);
        }
    }
    println!("{files} files, the slowest of less than 100 kB {slowest:?}; {} not read:\n{}", failed.len(), failed.join("\n"));
}
