//! The ledger and what `codeskim stats` makes of it, through the built binary.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use codeskim::tokens::o200k;
use serde_json::{Value, json};

use crate::common::{BINARY, Client, FILE, QUESTION, REPOSITORY, Raw, eras, gap, initialize};

/// A place for a ledger.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a directory"))
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("notes/ledger.jsonl")
    }

    fn entries(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.path()).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(BINARY);
        command.args(arguments).current_dir(REPOSITORY).env("CODESKIM_LEDGER", self.path());
        command.stdin(Stdio::null());
        command
    }

    /// What a command prints.
    fn run(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments).output().expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    async fn client(&self, options: &[&str]) -> Client {
        Client::of(self.command(options).into(), eras()[0].clone()).await
    }

    /// What a command prints, and what is noted of it.
    fn noted(&self, arguments: &[&str]) -> (String, Value) {
        (self.run(arguments), self.entries().pop().expect("an entry"))
    }

    /// Waits until a server has written so many entries.
    fn wait_for(&self, count: usize) -> Vec<Value> {
        let late = Instant::now() + Duration::from_secs(60);
        loop {
            let entries = self.entries();
            if entries.len() >= count {
                return entries;
            }
            assert!(Instant::now() < late, "{} of {count} entries", entries.len());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn stats(&self) -> Value {
        serde_json::from_str(&self.run(&["stats", "--json"])).expect("JSON")
    }
}

/// The first gap of a view, as its first and last line.
fn first_gap(view: &str) -> (usize, usize) {
    gap(view.lines().find_map(|line| line.strip_prefix("⋮ ")).expect("a gap"))
}

#[tokio::test]
async fn a_session_is_noted_and_what_is_read_back_is_subtracted() {
    let place = Place::new();
    let client = place.client(&[]).await;
    client.0.list_all_tools().await.expect("a list");
    let whole = std::fs::read_to_string(Path::new(REPOSITORY).join(FILE)).expect("a file");
    let view = client.text("read_file", json!({ "path": FILE, "context_focus_question": QUESTION })).await;
    let (from, to) = first_gap(&view);
    let back = client.text("read_file", json!({ "path": FILE, "start_line": from, "end_line": to })).await;
    let found = client
        .text("grep", json!({ "pattern": "fn ", "path": "src/skim", "context_focus_question": "How is a broken server retried?" }))
        .await;
    let all = client.text("grep", json!({ "pattern": "fn ", "path": "src/skim" })).await;
    client.text("head", json!({ "path": "Cargo.toml" })).await;
    let entries = place.wait_for(6);

    let stats = place.stats();
    let tools = &stats["tools"];
    let saved = |whole: &str, view: &str| o200k(whole) as i64 - o200k(view) as i64;
    assert_eq!(tools["read_file"]["net"], saved(&whole, &view) - o200k(&back) as i64);
    assert_eq!((&tools["read_file"]["calls"], &tools["read_file"]["again"]), (&json!(2), &json!(o200k(&back))));
    let again = tools["grep"]["again"].as_i64().expect("a number");
    assert_eq!(tools["grep"]["net"], saved(&all, &found) - again);
    assert!(again > 0 && again <= o200k(&all) as i64, "the search without its question shows what was left out: {again}");
    assert_eq!(tools["head"]["net"], 0);
    assert_eq!(stats["total"]["schema"], codeskim::server::SCHEMA_TOKENS);
    assert_eq!(stats["projects"].as_object().expect("projects").keys().collect::<Vec<_>>(), [REPOSITORY]);

    assert_eq!(entries.len(), 6, "{entries:#?}");
    assert!(entries.iter().all(|entry| entry["session"] == entries[0]["session"]));
    let text = std::fs::read_to_string(place.path()).expect("a ledger");
    assert!(!text.contains("absolute target") && !text.contains("fn "), "no text is kept: {text}");
    #[cfg(unix)]
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&place.path().metadata().expect("a file").permissions()) & 0o777, 0o600);
}

#[tokio::test]
async fn observing_returns_the_whole_and_counts_what_a_view_saves() {
    let (observed, pruned) = (Place::new(), Place::new());
    let whole = std::fs::read_to_string(Path::new(REPOSITORY).join(FILE)).expect("a file");
    for (place, options) in [(&observed, ["--observe"].as_slice()), (&pruned, &[])] {
        let client = place.client(options).await;
        let text = client.text("read_file", json!({ "path": FILE, "context_focus_question": QUESTION })).await;
        assert_eq!(text == whole, !options.is_empty(), "{text}");
        place.wait_for(2);
    }
    let (observed, pruned) = (observed.stats(), pruned.stats());
    let (observed, pruned) = (&observed["tools"]["read_file"], &pruned["tools"]["read_file"]);
    assert!(pruned["net"].as_i64().expect("a number") > 1_000);
    assert_eq!((&observed["would_save"], &observed["net"]), (&pruned["net"], &json!(0)));
    let place = Place::new();
    for refused in [["--observe", "--no-ledger"].as_slice(), &["--observe", "serve", "--http", "0"]] {
        assert_eq!(place.command(refused).output().expect("it runs").status.code(), Some(2), "{refused:?}");
    }
    assert_eq!(place.command(&["--observe"]).env("CODESKIM_LEDGER", "off").output().expect("it runs").status.code(), Some(2));
}

#[test]
fn a_shell_keeps_the_same_ledger_and_it_can_be_turned_off() {
    let place = Place::new();
    let (view, _) = place.noted(&["read", FILE, "--focus", QUESTION]);
    let (from, to) = first_gap(&view);
    let (back, entry) = place.noted(&["read", FILE, "--lines", &format!("{from}-{to}")]);
    assert_eq!((&entry["tool"], &entry["question"]), (&json!("read"), &Value::Null));
    assert_eq!(entry["parts"], json!([{ "of": Path::new(REPOSITORY).join(FILE), "shown": [[from, to]] }]));
    place.noted(&["map", "src/main.rs"]);
    let stats = place.stats();
    assert_eq!(stats["tools"]["read"]["again"], o200k(&back));
    assert!(stats["tools"]["map"]["net"].as_i64().expect("a number") < 0, "a map takes the place of nothing");
    assert_eq!(stats["total"]["sessions"], 0, "a shell pays for no list of tools");
    let (_, entry) = place.noted(&["read", FILE, "--focus", QUESTION, "--ledger-questions"]);
    assert_eq!(entry["question"], QUESTION);
    let (whole, entry) = place.noted(&["head", "-n", "200", FILE, "--focus", QUESTION, "--observe"]);
    assert_eq!((whole.lines().count(), &entry["observed"]), (200, &json!(true)));
    let log: String = std::fs::read_to_string(Path::new(REPOSITORY).join("src/hub.rs")).expect("a file");
    let pipe = || {
        let mut child = place
            .command(&["prune", "--focus", "Why does fetching fail?"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("it starts");
        child.stdin.take().expect("piped").write_all(log.as_bytes()).expect("written");
        assert!(child.wait().expect("it ends").success());
        place.stats()["tools"]["prune"]["net"].as_i64().expect("a number")
    };
    assert!(pipe() > pipe(), "the same text again saves nothing");
    let before = place.entries().len();
    place.run(&["read", FILE, "--focus", QUESTION, "--no-ledger"]);
    assert!(place.command(&["read", FILE]).env("CODESKIM_LEDGER", "off").output().expect("it runs").status.success());
    assert_eq!(place.entries().len(), before);
}

#[test]
fn stats_are_a_picture_and_survive_a_broken_ledger() {
    let place = Place::new();
    assert!(place.run(&["stats"]).starts_with("Nothing is in the ledger yet; it will be "));
    std::fs::create_dir_all(place.path().parent().expect("a directory")).expect("made");
    let call = |time: u64, tool: &str, project: &str, whole: usize, returned: usize| json!({ "kind": "call", "time": time, "session": "a", "project": project, "tool": tool, "whole": whole, "returned": returned });
    let session =
        json!({ "kind": "session", "time": 1_760_000_000_000_u64, "session": "a", "project": "/srv/app", "client": "x", "schema": 873 });
    let lines = [
        session,
        call(1_760_000_000_000, "read_file", "/srv/app", 40_000, 9_000),
        call(1_760_000_500_000, "grep", "/srv/app", 12_000, 4_500),
        call(1_760_100_000_000, "repo_map", "/srv/app", 0, 1_500),
        call(1_760_100_000_000, "read_file", "/home/me/some/very/long/path/to/another/project", 1_000, 900),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(place.path(), format!("{text}{{\"kind\":\"call\",\"ti\n")).expect("written");
    let output = place.command(&["stats"]).env("TZ", "UTC").output().expect("it runs");
    insta::assert_snapshot!(String::from_utf8(output.stdout).expect("UTF-8"));
    assert!(place.run(&["stats", "--days", "7"]).ends_with(" is of these days.\n"));
    std::fs::write(place.path(), format!("{text}{{\"half")).expect("cut off");
    place.run(&["read", FILE, "--focus", QUESTION]);
    let figures: Value = serde_json::from_str(&place.run(&["stats", "--json"])).expect("JSON");
    assert_eq!(figures["total"]["calls"], 5, "what comes after a line that was cut off counts: {figures}");
}

#[tokio::test]
async fn a_ledger_that_cannot_be_written_costs_nothing() {
    let place = Place::new();
    std::fs::write(place.0.path().join("notes"), "in the way").expect("written");
    assert!(place.run(&["read", FILE, "--focus", QUESTION]).starts_with(FILE));
    let client = place.client(&[]).await;
    assert!(client.text("read_file", json!({ "path": FILE, "context_focus_question": QUESTION })).await.starts_with(FILE));
}

#[cfg(unix)]
#[test]
fn a_server_that_is_told_to_stop_keeps_what_is_noted() {
    use rustix::process::{Pid, Signal, kill_process};
    for signal in [Signal::TERM, Signal::INT] {
        let place = Place::new();
        let mut raw = Raw::of(&mut place.command(&[]));
        raw.begin();
        raw.call(0, "head", json!({ "path": FILE, "lines": 3 }));
        while raw.receive()["id"] != 0 {}
        place.wait_for(2); // the vocabulary is read, which may take long on a busy machine
        for id in 1..=20 {
            raw.call(id, "head", json!({ "path": FILE, "lines": 3 }));
            while raw.receive()["id"] != id {}
        }
        let process = Pid::from_raw(raw.child.id() as i32).expect("a process");
        kill_process(process, signal).expect("sent");
        let (_, status) = raw.rest();
        assert_eq!((place.entries().len(), status), (22, Some(0)), "{signal:?}");
    }
}

#[test]
fn what_waits_for_a_ledger_that_another_holds_has_a_limit() {
    let place = Place::new();
    let lock = place.path().with_extension("lock");
    std::fs::create_dir_all(lock.parent().expect("a directory")).expect("created");
    let held = std::fs::File::create(lock).expect("a file");
    held.lock().expect("held");
    let mut raw = Raw::of(place.command(&[]).stderr(Stdio::piped()));
    raw.begin();
    for id in 1..=1500 {
        raw.call(id, "head", json!({ "path": FILE, "lines": 1 }));
        while raw.receive()["id"] != id {}
    }
    drop(held);
    place.wait_for(1000);
    let mut stderr = raw.child.stderr.take().expect("piped");
    raw.end();
    let mut said = String::new();
    stderr.read_to_string(&mut said).expect("UTF-8");
    assert_eq!(said.matches("some are not noted").count(), 1, "{said}");
    let entries = place.entries().len();
    assert!(entries <= 1010, "{entries} of 1501");
}

#[test]
fn what_a_client_writes_is_cut() {
    let place = Place::new();
    let mut raw = Raw::of(&mut place.command(&["--ledger-questions"]));
    let mut request = initialize(0);
    request["params"]["clientInfo"]["name"] = "é".repeat(1 << 20).into();
    raw.send(request.to_string());
    raw.receive();
    let path = format!("{}{FILE}", "./".repeat(100_000));
    let question = format!("{}{QUESTION}", " ".repeat(100_000));
    for path in [FILE, &path] {
        raw.call(1, "read_file", json!({ "path": path, "context_focus_question": question }));
        while raw.receive()["id"] != 1 {}
    }
    let entries = place.wait_for(2);
    raw.end();
    assert_eq!(entries[0]["client"], "é".repeat(200));
    assert_eq!(entries[1]["question"], QUESTION);
    assert!(entries.iter().all(|entry| entry.to_string().len() < 10_000), "nothing in it is long");
}
