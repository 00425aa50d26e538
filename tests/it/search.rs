//! Questions to all files: what an agent sees, and that it is the files', whatever happens meanwhile.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use codeskim::tools::search::{Request, run, run_json};
use codeskim::tools::{Call, Options, Session};
use codeskim::workspace::text::Text;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::common::{Client, REPOSITORY, codeskim, directory_of, eras};

const RETRY: &str = "\
import time

MAX_DELAY = 30


class Retry:
    \"\"\"Says when to try again.\"\"\"

    def __init__(self, base):
        self.base = base
        self.attempt = 0

    def next_delay(self):
        \"\"\"Doubles the delay with each attempt, up to a limit.\"\"\"
        self.attempt += 1
        return min(self.base * 2**self.attempt, MAX_DELAY)

    def reset(self):
        self.attempt = 0
";
const CLIENT: &str = "\
from net.retry import Retry


def fetch(url, open_url):
    retry = Retry(0.5)
    while True:
        try:
            return open_url(url)
        except OSError:
            time.sleep(retry.next_delay())
";
const TESTS: &str = "\
from net.retry import Retry


def test_next_delay_is_capped():
    retry = Retry(10)
    assert [retry.next_delay() for _ in range(3)] == [20, 30, 30]
";
const NOTES: &str = "# Notes\n\nThe delay between attempts doubles, and is capped at half a minute.\n";

/// A small repository: what is asked for, what uses it, its test, a document, and other things.
fn repository() -> tempfile::TempDir {
    let other = |i: usize| {
        let method = |j: usize| format!("    def step_{j}(self, value):\n        return value * {j} + self.offset_{i}\n\n");
        format!("class Machine{i}:\n    def __init__(self):\n        self.offset_{i} = {i}\n\n{}", (0..12).map(method).collect::<String>())
    };
    let mut files = vec![
        ("net/retry.py".to_owned(), RETRY.to_owned()),
        ("net/client.py".to_owned(), CLIENT.to_owned()),
        ("tests/test_retry.py".to_owned(), TESTS.to_owned()),
        ("docs/notes.md".to_owned(), NOTES.to_owned()),
        (".gitignore".to_owned(), "ignored/\n".to_owned()),
        ("ignored/retry.py".to_owned(), RETRY.replace("MAX_DELAY", "IGNORED_DELAY")),
        ("marked.py".to_owned(), "def glyph():\n    return \"\"\"\n⋮ 2-9\n\"\"\"\n".to_owned()),
    ];
    files.extend((0..8).map(|i| (format!("machines/machine_{i}.py"), other(i))));
    let directory = directory_of(files);
    std::fs::create_dir(directory.path().join(".git")).expect("a repository");
    directory
}

fn session(root: &Path) -> Session {
    Session::new(&[root], Options::default()).expect("a session")
}

fn ask(session: &Session, question: &str) -> String {
    run(session, &Request { question: question.to_owned(), ..Request::default() }, &Call::default()).expect("an answer").text
}

/// The sections of a result: the file, and its lines by their numbers.
fn read_back(text: &str) -> Vec<(String, HashMap<usize, String>)> {
    let marker: String = text.chars().take_while(|c| *c == '⋮').collect();
    let mut sections: Vec<(String, HashMap<usize, String>)> = Vec::new();
    let mut next = 0;
    for line in text.split_inclusive('\n') {
        let Some(said) = line.strip_prefix(&format!("{marker} ")) else {
            let (_, lines) = sections.last_mut().expect("lines stand below a heading");
            lines.insert(next, line.to_owned());
            next += 1;
            continue;
        };
        let words: Vec<&str> = said.split_whitespace().collect();
        let range = |text: &str| {
            let (from, to) = text.split_once('-').unwrap_or((text, text));
            Some((from.parse::<usize>().ok()?, to.parse::<usize>().ok()?))
        };
        if words.get(2) == Some(&"of") {
            sections.push((words[0].to_owned(), HashMap::new()));
            next = range(words[1]).expect("a range").0;
        } else if let Some((from, to)) = range(words[0].trim_end_matches(':')) {
            assert_eq!(from, next, "{said} in {text}");
            next = to + 1;
        }
    }
    sections
}

#[tokio::test]
async fn a_grep_without_a_match_names_the_nearest_place() {
    let directory = repository();
    for era in eras() {
        let client = Client::start(directory.path(), era).await;
        let grep = async |arguments: Value| client.text("grep", arguments).await;
        let nearest = " Nearest by its words: net/retry.py 13-16 Retry.next_delay.\n";
        let missed = grep(json!({ "pattern": r"def\s+next_retry_delay\(" })).await;
        assert!(missed.starts_with("No match for ") && missed.ends_with(nearest), "{missed}");
        let narrow = grep(json!({ "pattern": "next_retry_delay", "path": "machines" })).await;
        assert!(narrow.starts_with("No match for ") && !narrow.contains("Nearest"), "{narrow}");
        for pattern in ["quaternion_product", r"^\d{9}$"] {
            let missed = grep(json!({ "pattern": pattern })).await;
            assert!(missed.starts_with("No match for ") && !missed.contains("Nearest"), "{missed}");
        }
    }
}

#[tokio::test]
async fn a_question_is_answered_from_all_files() {
    let directory = repository();
    let client = Client::start(directory.path(), eras()[1].clone()).await;
    let calls = [
        json!({ "question": "How is the delay between retries capped?" }),
        json!({ "question": "Retry" }),
        json!({ "question": "How is the delay between retries capped?", "path": "net", "max_tokens": 120 }),
        json!({ "question": "Which test checks that the delay is capped?" }),
        json!({ "question": "Where is glyph defined?" }),
        json!({ "question": "Where are quaternions multiplied?" }),
        json!({ "question": "Which step of the machine writes to the log?", "max_tokens": 200 }),
        json!({ "question": "Where are attempts to connect to the database counted?" }),
    ];
    let mut shown = String::new();
    for arguments in calls {
        let _ = write!(shown, "=== {arguments}\n{}", client.text("search", arguments.clone()).await);
    }
    insta::assert_snapshot!("search", shown);
}

#[tokio::test]
async fn both_eras_get_the_same_and_a_shell_too() {
    let directory = repository();
    let question = "How is the delay between retries capped?";
    let mut texts = Vec::new();
    for era in eras() {
        let client = Client::start(directory.path(), era).await;
        texts.push(client.text("search", json!({ "question": question })).await);
    }
    texts.push(codeskim(directory.path(), &["search", question]).stdout);
    assert!(texts[0] == texts[1] && texts[1] == texts[2], "{texts:?}");
    assert!(texts[0].contains("return min(self.base * 2**self.attempt, MAX_DELAY)") && !texts[0].contains("IGNORED_DELAY"), "{}", texts[0]);
}

#[test]
fn json_names_the_lines_that_are_shown() {
    let directory = repository();
    let printed = codeskim(directory.path(), &["search", "How is the delay between retries capped?", "--json"]);
    let found: Value = serde_json::from_str(&printed.stdout).expect("JSON");
    let first = &found["results"][0];
    assert_eq!((first["path"].as_str(), first["definition"].as_str()), (Some("net/retry.py"), Some("Retry.next_delay")), "{found}");
    let (shown, text) = (ask(&session(directory.path()), "How is the delay between retries capped?"), Text::new(RETRY.to_owned()));
    for range in
        found["results"].as_array().expect("a list").iter().filter(|it| it["path"] == "net/retry.py").flat_map(|it| it["lines"].as_array())
    {
        for range in range {
            let (from, to) = (range[0].as_u64().expect("a line") as usize, range[1].as_u64().expect("a line") as usize);
            assert!(shown.contains(&text.lines(from - 1..to).concat()), "{range} of {shown}");
        }
    }
    let nothing = codeskim(directory.path(), &["search", "Where are quaternions multiplied?", "--json"]);
    let nothing: Value = serde_json::from_str(&nothing.stdout).expect("JSON");
    assert_eq!(nothing["results"], json!([]));
    let nearest = codeskim(directory.path(), &["search", "Where are attempts to connect to the database counted?", "--json"]);
    let nearest: Value = serde_json::from_str(&nearest.stdout).expect("JSON");
    assert_eq!((&nearest["results"], nearest["nearest"][0]["path"].as_str()), (&json!([]), Some("net/retry.py")), "{nearest}");
}

#[test]
fn lists_of_words_are_not_named_as_nearest() {
    let words = "attempt\nconnect\ndatabase\ncount\ndelay\nretry\n".repeat(5);
    let directory = directory_of([("net/retry.py", RETRY), ("words.txt", words.as_str())]);
    let asked = ask(&session(directory.path()), "How is a delay of the warehouse printed on invoices of tenants?");
    assert!(
        asked.starts_with("Nothing in 2 files seems to answer this. Nearest: net/retry.py ") && !asked.contains("words.txt"),
        "{asked}"
    );
}

#[test]
fn what_is_called_in_another_file_is_told() {
    let directory = directory_of([
        (
            "src/pool/Limit.java",
            "package pool;\n\npublic class Limit {\n    static int cap(int seconds) {\n        return Math.min(seconds, 30);\n    }\n}\n",
        ),
        (
            "src/app/Backoff.java",
            "package app;\n\nimport pool.Limit;\n\npublic class Backoff {\n    /** Doubles the delay with each attempt. */\n    int next(int attempt) {\n        return Limit.cap(1 << attempt);\n    }\n}\n",
        ),
    ]);
    let session = session(directory.path());
    let said = "Backoff.next: calls Limit.cap src/pool/Limit.java:4-6";
    let all = ask(&session, "How is the delay doubled with each attempt?");
    assert!(all.contains(said), "{all}");
    // The file that is called is beside what was searched.
    let request = Request {
        question: "How is the delay doubled with each attempt?".to_owned(),
        path: Some("src/app".to_owned()),
        ..Request::default()
    };
    let narrow = run(&session, &request, &Call::default()).expect("an answer").text;
    assert!(narrow.contains(said) && !narrow.contains("also likely"), "{narrow}");
}

#[tokio::test]
async fn what_cannot_be_asked_is_refused_in_a_sentence() {
    let directory = repository();
    let client = Client::start(directory.path(), eras()[1].clone()).await;
    let long = "why ".repeat(600);
    let refused = [
        (json!({}), "missing field `question`"),
        (json!({ "question": "  " }), "ask a complete one"),
        (json!({ "question": "?!" }), "ask a complete one"),
        (json!({ "question": long }), "ask in 2000 at most"),
        (json!({ "question": "Retry", "path": "nowhere" }), "There is no file"),
        (json!({ "question": "Retry", "path": "../.." }), "outside"),
        (json!({ "question": "Retry", "max_tokens": 10 }), "at least"),
        (json!({ "question": "Retry", "max_tokens": -1 }), "max_tokens"),
        (json!({ "question": "Retry", "depth": 3 }), "unknown field `depth`"),
        (json!({ "question": ["Retry"] }), "question"),
    ];
    for (arguments, reason) in refused {
        let answer = client.call("search", arguments.clone()).await;
        assert!(answer.is_error && answer.text.contains(reason) && answer.text.lines().count() == 1, "{arguments}: {answer:?}");
    }
    let printed = codeskim(directory.path(), &["search", "Where are quaternions multiplied?"]);
    assert_eq!((printed.status, printed.stdout.as_str()), (1, ""));
}

#[test]
fn a_change_on_disk_is_seen_by_the_next_call() {
    let directory = repository();
    let session = session(directory.path());
    let question = "Where is the zeppelin inflated?";
    assert!(!ask(&session, question).contains("def inflate"));
    let path = directory.path().join("net/zeppelin.py");
    std::fs::write(&path, "def inflate(zeppelin):\n    zeppelin.gas += 1\n").expect("written");
    assert!(ask(&session, question).contains("def inflate(zeppelin)"));
    std::fs::write(&path, "def inflate_all(zeppelins):\n    for zeppelin in zeppelins:\n        zeppelin.gas += 1\n").expect("written");
    assert!(ask(&session, question).contains("def inflate_all(zeppelins)"));
    std::fs::remove_file(&path).expect("removed");
    assert!(!ask(&session, question).contains("inflate"));
}

#[test]
fn nothing_outside_the_roots_is_read_and_what_is_no_text_is_passed_over() {
    let (directory, outside) = (repository(), tempfile::tempdir().expect("a directory"));
    std::fs::write(outside.path().join("secret.py"), "def secret_zeppelin():\n    pass\n").expect("written");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(outside.path().join("secret.py"), directory.path().join("link.py")).expect("a link");
        std::os::unix::fs::symlink(outside.path(), directory.path().join("linked")).expect("a link");
    }
    std::fs::write(directory.path().join("binary.py"), b"def zeppelin():\n\0\0\0\x01\xff\xfe").expect("written");
    std::fs::write(directory.path().join("large.py"), "def zeppelin():\n    pass\n".repeat(60_000)).expect("written");
    let shown = ask(&session(directory.path()), "Where is the zeppelin?");
    assert!(!shown.contains("def secret_zeppelin") && !shown.contains("def zeppelin"), "{shown}");
    assert!(shown.contains("over 1 MB: 1 source file"), "{shown}");
}

#[test]
fn searches_at_once_do_not_wait_for_each_other() {
    let file = |i: usize| (format!("d{}/f{i}.py", i % 50), format!("def step_{i}(value):\n    return value + {i}\n"));
    let directory = directory_of((0..3000).map(file));
    let session = Arc::new(session(directory.path()));
    let (done, all) = std::sync::mpsc::channel();
    for thread in 0..6 {
        let (session, done) = (Arc::clone(&session), done.clone());
        std::thread::spawn(move || (0..12).for_each(|i| drop(done.send(ask(&session, &format!("Where is step {}?", thread * 12 + i))))));
    }
    drop(done);
    for searched in 0..72 {
        all.recv_timeout(Duration::from_secs(240)).unwrap_or_else(|_| panic!("searches wait for each other after {searched}"));
    }
}

#[test]
fn a_file_that_is_too_large_for_a_search_is_refused() {
    let directory = directory_of([("server.log", "request served\n".repeat(100_000)), ("a.py", "request = 1\n".to_owned())]);
    let request = Request { question: "Where is the request?".into(), path: Some("server.log".into()), ..Request::default() };
    let refused = run(&session(directory.path()), &request, &Call::default()).expect_err("a refusal");
    let said = "\"server.log\" has 2 MB, and a search looks at files of up to 1 MB; use grep, or read_file with a question.";
    assert_eq!(refused.to_string(), said);
}

#[test]
fn files_of_the_same_path_in_two_roots_are_told_apart() {
    let source = |within: &str| format!("import os\n\n\ndef {within}(key):\n    return lookup_key(key)\n");
    let defined = "def lookup_key(key):\n    return os.environ[key]\n";
    let one = directory_of([("a.py", source("first")), ("b.py", defined.to_owned())]);
    let two = directory_of([("a.py", format!("# more\n{}", source("second")))]);
    let session = Session::new(&[one.path(), two.path()], Options::default()).expect("a session");
    let shown = ask(&session, "lookup_key");
    assert!(shown.contains("a.py:5 in first") && shown.contains("a.py:6 in second"), "{shown}");
    // A file that is named beside the directory that it is in is searched once.
    let named = one.path().join("a.py").display().to_string();
    let request = Request { question: "lookup_key".into(), path: Some(".".into()), more_paths: vec![named], ..Request::default() };
    let text = run(&session, &request, &Call::default()).expect("an answer").text;
    assert_eq!(text.matches("def first").count(), 1, "{text}");
}

#[test]
fn lines_are_the_files_while_they_are_written() {
    let directory = repository();
    let path = directory.path().join("net/retry.py");
    let versions: Vec<String> = (0..6).map(|i| format!("{}{RETRY}", "# a comment\n".repeat(i * 3))).collect();
    let (stop, new) = (AtomicBool::new(false), directory.path().join("net/.new"));
    std::thread::scope(|scope| {
        let _stops = Stops(&stop);
        scope.spawn(|| {
            for version in versions.iter().cycle() {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                // At once, as a line that is half written is not what is looked for here.
                let written = std::fs::write(&new, version).and_then(|()| std::fs::rename(&new, &path));
                let is_open = written.as_ref().is_err_and(|error| error.kind() == std::io::ErrorKind::PermissionDenied);
                assert!(written.is_ok() || cfg!(windows) && is_open, "{written:?}"); // Windows may refuse while another reads it
            }
        });
        let session = session(directory.path());
        let until = Instant::now() + Duration::from_secs(3);
        while Instant::now() < until {
            for (file, lines) in read_back(&ask(&session, "How is the delay between retries capped?")) {
                if file == "net/retry.py" {
                    let is_of = |version: &String| {
                        let all: Vec<&str> = version.split_inclusive('\n').collect();
                        lines.iter().all(|(number, line)| all.get(number - 1) == Some(&line.as_str()))
                    };
                    assert!(versions.iter().any(is_of), "{lines:?}");
                }
            }
        }
    });
}

/// Ends what runs beside a test, also where that fails.
struct Stops<'a>(&'a AtomicBool);

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_call_that_is_withdrawn_ends() {
    let session = session(Path::new(REPOSITORY));
    let call = Call::default();
    call.cancel.cancel();
    let answer = run(&session, &Request { question: "Where are gaps marked?".to_owned(), ..Request::default() }, &call);
    assert!(answer.is_err());
}

/// Shown lines are the files', gaps and lines together go on from each other, and JSON says the same lines.
fn holds(directory: &Path, question: &str, tokens: usize) {
    let session = session(directory);
    let request = Request { question: question.to_owned(), max_tokens: Some(tokens), ..Request::default() };
    let text = run(&session, &request, &Call::default()).expect("an answer").text;
    let json: Value = serde_json::from_str(&run_json(&session, &request, &Call::default()).expect("an answer").text).expect("JSON");
    let mut said: HashMap<String, Vec<usize>> = HashMap::new();
    for result in json["results"].as_array().expect("a list") {
        for range in result["lines"].as_array().expect("a list") {
            let line = |at: usize| range[at].as_u64().expect("a line") as usize;
            said.entry(result["path"].as_str().expect("a path").to_owned()).or_default().extend(line(0)..=line(1));
        }
    }
    if !text.starts_with('⋮') {
        assert!(said.is_empty(), "{text}");
        return;
    }
    for (file, lines) in read_back(&text) {
        let whole = std::fs::read_to_string(directory.join(&file)).expect("a file");
        let all: Vec<&str> = whole.split_inclusive('\n').collect();
        for (number, line) in &lines {
            let real = all[number - 1];
            assert!(line == real || *line == format!("{real}\n"), "{file}:{number}: {line:?} for {real:?}");
        }
        let (mut shown, mut named) = (lines.into_keys().collect::<Vec<_>>(), said.remove(&file).unwrap_or_default());
        shown.sort_unstable();
        named.sort_unstable();
        assert_eq!(shown, named, "{file}");
    }
    assert!(said.is_empty(), "{said:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn any_answer_is_the_files(
        files in prop::collection::vec(("[a-d]{1,3}\\.(py|rs|md|txt|c)", prop::collection::vec("[ ]{0,8}(def [a-c]{1,2}\\(x\\):|fn [a-c]\\(\\) \\{|\\}|class [A-C]:|⋮ [0-9]-[0-9]|[a-d ]{0,12}|# [a-c]+|)", 1..60)), 1..5),
        question in "[A-D]?[a-d]{1,3}( [a-d]{1,3}){0,3}",
        tokens in 100usize..900,
    ) {
        let directory = tempfile::tempdir().expect("a directory");
        for (name, lines) in &files {
            std::fs::write(directory.path().join(name), lines.join("\n")).expect("written");
        }
        holds(directory.path(), &question, tokens);
    }
}

#[test]
fn answers_from_this_repository_are_its_files() {
    for question in
        ["How are gaps marked?", "What stops a grammar that takes too long?", "SKIM", "Where is the ledger written? (ledger, append, lock)"]
    {
        holds(Path::new(REPOSITORY), question, 2000);
    }
}
