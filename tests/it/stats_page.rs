//! The page of `codeskim stats --html`, through the built binary.

use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::common::BINARY;

/// A ledger, and a directory for pages.
struct Place(tempfile::TempDir);

impl Place {
    fn new(entries: &[Value]) -> Self {
        let place = Self(tempfile::tempdir().expect("a directory"));
        let text: String = entries.iter().map(|entry| format!("{entry}\n")).collect();
        std::fs::write(place.at("ledger.jsonl"), text).expect("written");
        place
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn stats(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(BINARY);
        command
            .arg("stats")
            .args(arguments)
            .current_dir(self.0.path())
            .envs([("CODESKIM_LEDGER", self.at("ledger.jsonl")), ("TZ", "UTC".into())]);
        command.output().expect("it runs")
    }

    /// The page of a period, and the figures of the same one.
    fn page(&self, period: &[&str]) -> (String, Value) {
        let said = self.stats(&[&["--html", "page.html"], period].concat());
        assert!(said.status.success(), "{said:?}");
        assert!(String::from_utf8_lossy(&said.stdout).ends_with("page.html.\n"), "{said:?}");
        let page = std::fs::read_to_string(self.at("page.html")).expect("a page");
        (page, serde_json::from_slice(&self.stats(&[&["--json"], period].concat()).stdout).expect("JSON"))
    }
}

fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970").as_millis() as u64
}

const DAY: u64 = 24 * 60 * 60 * 1000;

fn session(time: u64, session: &str, project: &str, client: &str) -> Value {
    json!({ "kind": "session", "time": time, "session": session, "project": project, "client": client, "schema": 873 })
}

fn call(time: u64, session: &str, project: &str, whole: usize, returned: usize) -> Value {
    json!({ "kind": "call", "time": time, "session": session, "project": project, "tool": "read_file", "whole": whole, "returned": returned })
}

/// Some weeks of two agents, a hook and a shell; of one text a part was read again.
fn weeks() -> Vec<Value> {
    let (now, project) = (now(), "/srv/app");
    let mut entries = vec![session(now - 20 * DAY, "a", project, "claude-code"), call(now - 20 * DAY, "a", project, 1_234_567, 98_765)];
    let part = |shown: Value, left_out: Value| json!([{ "of": "/srv/app/a.rs", "shown": shown, "left_out": left_out }]);
    for (whole, returned, parts) in
        [(9_000, 1_000, part(json!([[1, 10]]), json!([[11, 90, 8_000]]))), (2_000, 2_000, part(json!([[11, 30]]), json!([])))]
    {
        let mut call = call(now - 20 * DAY, "a", project, whole, returned);
        call["parts"] = parts;
        entries.push(call);
    }
    entries.push(session(now - 3 * DAY, "b", "/home/me/other", "codex"));
    entries.push(call(now - 3 * DAY, "b", "/home/me/other", 5_000, 700));
    let mut hook = call(now, "its own", project, 30_000, 4_000);
    (hook["tool"], hook["client"]) = ("hook".into(), "claude-code".into());
    entries.push(hook);
    let mut shell = call(now, "", project, 0, 1_500);
    shell.as_object_mut().expect("an object").remove("session");
    entries.push(shell);
    entries.push(call(now, "of a ledger that is gone", project, 100, 100));
    entries
}

/// The text of a piece of a page, without its tags.
fn text(html: &str) -> String {
    let text: String = html.split('<').map(|piece| piece.split_once('>').map_or(piece, |(_, text)| text)).collect();
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}

fn between<'a>(page: &'a str, from: &str, to: &str) -> &'a str {
    let rest = &page[page.find(from).unwrap_or_else(|| panic!("no {from}")) + from.len()..];
    &rest[..rest.find(to).expect("an end")]
}

/// The rows of a table of a page: what they are of, then their numbers.
fn rows(page: &str, table: &str) -> Vec<(String, Vec<i64>)> {
    let table = between(page, &format!("id=\"{table}\""), "</table>");
    let number = |cell: &str| text(&format!("<{cell}")).replace(',', "").parse().expect("a number");
    let row = |row: &str| {
        let mut cells = row.split("<td");
        (text(between(cells.next().expect("a name"), "\"row\">", "</th>")), cells.map(number).collect())
    };
    table.split("<tr").filter(|row| row.contains("\"row\"")).map(row).collect()
}

#[test]
fn the_page_has_the_figures_of_the_same_period() {
    let place = Place::new(&weeks());
    for period in [[].as_slice(), &["--days", "7"]] {
        let (page, figures) = place.page(period);
        let net = figures["total"]["net"].as_i64().expect("a number");
        assert_eq!(between(&page, "id=\"net\">", "<").replace(',', ""), net.to_string());
        for (table, key) in [("tool", "tools"), ("project", "projects"), ("client", "clients"), ("day", "days")] {
            let shown = rows(&page, table);
            let expected = figures[key].as_object().expect("an object");
            for (name, numbers) in &shown {
                let figures = expected.get(name).cloned().unwrap_or_else(|| json!({}));
                let of = |what: &str| figures[what].as_i64().unwrap_or(0);
                assert_eq!(*numbers, ["calls", "whole", "again", "returned", "net"].map(of), "{name}");
            }
            assert!(expected.keys().all(|key| shown.iter().any(|(name, _)| name == key)), "{shown:?}");
        }
        let sum = between(&page, "id=\"sum\"", "</table>");
        for (what, sign) in [("whole", ""), ("again", "-"), ("returned", "-"), ("schema", "-"), ("net", "")] {
            let number = format!("{sign}{}", figures["total"][what]);
            assert!(what == "again" && number == "-0" || text(sum).replace(',', "").contains(&number), "{what}: {number} in {}", text(sum));
        }
    }
    let (page, figures) = place.page(&[]);
    assert!(figures["total"]["again"].as_i64().expect("a number") > 0, "something was read again: {figures}");
    let clients: Vec<_> = figures["clients"].as_object().expect("clients").keys().collect();
    assert_eq!(clients, ["claude-code", "codex", "shell", "unknown"]);
    assert_eq!(figures["clients"]["claude-code"]["calls"], 4, "the hook's call is of the agent");
    assert_eq!(rows(&page, "day").len(), 21, "days without a call are shown too");
    assert_eq!(page.matches("<g class=\"day\">").count(), 21);
    assert_eq!(rows(&place.page(&["--days", "7"]).0, "day").len(), 7);
    assert!(page.contains(">1,280,667<"), "thousands are told apart");
}

#[test]
fn names_are_escaped_and_nothing_is_fetched() {
    let evil = "</style><script>alert('1')</script>\" onload=\"x\" & <img src=https://example.org/x>\u{202e}\u{1b}[31m";
    let now = now();
    let mut asked = call(now, "a", &format!("/srv/{evil}"), 100, 50);
    (asked["tool"], asked["question"]) = (evil.into(), evil.into());
    let place = Place::new(&[session(now, "a", &format!("/srv/{evil}"), evil), asked]);
    let (page, figures) = place.page(&[]);
    assert_eq!(page.matches("&lt;script&gt;alert('1')&lt;/script&gt;&quot; onload=&quot;x&quot; &amp; &lt;img").count(), 3, "{page}");
    assert!(!page.contains("<script") && !page.contains("<img") && !page.contains("onload=\"") && !page.contains('\u{1b}'), "{page}");
    assert_eq!(figures["clients"].as_object().expect("clients").keys().collect::<Vec<_>>(), [evil]);
    let said = place.stats(&[]);
    assert!(!String::from_utf8_lossy(&said.stdout).contains('\u{1b}'), "{said:?}");
    // What is left beside the names asks for nothing.
    let (page, _) = Place::new(&weeks()).page(&[]);
    for fetches in ["http:", "https:", "src=", "href=", "url(", "@import", "<link", "<script", "<iframe"] {
        assert!(!page.contains(fetches), "{fetches}");
    }
    assert!(page.contains("content=\"default-src 'none'; style-src 'unsafe-inline'\""));
}

#[test]
fn a_page_without_figures_says_so() {
    let place = Place::new(&[]);
    let (page, _) = place.page(&[]);
    assert!(text(&page).contains("Nothing is in the ledger yet; it will be "), "{page}");
    let place = Place::new(&[call(now() - 20 * DAY, "a", "/srv/app", 100, 50)]);
    let (page, _) = place.page(&["--days", "2"]);
    assert!(text(&page).contains(" is of these days."), "{page}");
}

#[test]
fn a_page_takes_the_place_of_a_file_and_of_nothing_else() {
    let place = Place::new(&weeks());
    std::fs::write(place.at("page.html"), "old").expect("written");
    place.page(&[]);
    let left: Vec<_> = std::fs::read_dir(place.0.path()).expect("a directory").map(|entry| entry.expect("an entry").file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
    std::fs::create_dir(place.at("directory")).expect("created");
    let refused = |path: &str, why: &str| {
        let said = place.stats(&["--html", path]);
        let words = String::from_utf8_lossy(&said.stderr).into_owned();
        assert_eq!((said.status.code(), words.lines().count(), said.stdout.len()), (Some(2), 1, 0), "{said:?}");
        assert!(words.contains(why) && words.ends_with("; name another file.\n"), "{words}");
    };
    refused("missing/page.html", "there is no such directory");
    refused("directory", "is a directory");
    #[cfg(unix)]
    {
        std::fs::write(place.at("precious"), "kept").expect("written");
        std::os::unix::fs::symlink("precious", place.at("link")).expect("a link");
        refused("link", "it is a link");
        assert_eq!(std::fs::read_to_string(place.at("precious")).expect("a file"), "kept");
        let _socket = std::os::unix::net::UnixListener::bind(place.at("socket")).expect("a socket");
        refused("socket", "it is not a regular file");
    }
    assert_eq!(place.stats(&["--html", "page.html", "--json"]).status.code(), Some(2));
}
