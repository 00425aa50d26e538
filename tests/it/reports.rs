//! What public reports tell of tools of this kind: inputs that made them answer wrongly, or not at all, each with others of its kind.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::common::{Client, Printed, codeskim, codeskim_with_input, eras, gap};

/// The numbers of the lines that a view shows, from 1, and the lines.
fn shown(view: &str) -> Vec<(usize, &str)> {
    let (mut number, mut lines) = (0, Vec::new());
    for line in view.lines().skip(1) {
        match line.strip_prefix("⋮ ") {
            Some(left_out) => number = gap(left_out).1,
            None => {
                number += 1;
                lines.push((number, line));
            }
        }
    }
    lines
}

fn file(directory: &Path, name: &str, content: impl AsRef<[u8]>) {
    let path = directory.join(name);
    fs::create_dir_all(path.parent().expect("a directory")).expect("created");
    fs::write(path, content).expect("written");
}

/// Twelve records below headings of a form, of which the seventh has TLS on.
fn records(heading: &str) -> String {
    let record = |i: usize| {
        let workers = (0..8).map(|k| format!("worker_{k} = {}\n", 3 * k + i)).collect::<String>();
        let tls = if i == 7 { "on" } else { "off" };
        format!("{}\n{workers}listen = 0.0.0.0:{}\ntls = {tls}\n\n", heading.replace('N', &i.to_string()), 8000 + i)
    };
    (1..13).map(record).collect()
}

#[test]
fn a_kept_line_brings_the_heading_of_its_own_record() {
    for heading in [
        "==> conf/serviceN.conf <==",
        "=== serviceN ===",
        "### serviceN",
        "TASK [serviceN] ***************",
        "-[ RECORD N ]-----------------",
        "[serviceN]",
        "serviceN:",
        "serviceN | CHANGED | rc=0 >>",
        "$ ssh serviceN cat conf",
        "Name: service-N",
        "Issue #N: settings",
        "2026-11-N",
        "make[1]: Entering directory '/src/serviceN'",
    ] {
        let text = records(heading);
        let lines: Vec<&str> = text.lines().collect();
        let printed =
            codeskim_with_input(Path::new("."), &["prune", "--focus", "Which service has TLS turned on? (tls = on)"], text.as_bytes());
        let seen = shown(&printed.stdout);
        assert!(seen.iter().any(|(_, line)| *line == "tls = on"), "{heading}: {}", printed.stdout);
        for (number, line) in &seen {
            assert_eq!(lines[number - 1], *line, "{heading}: {}", printed.stdout);
            let own = (number - 1) / 12 * 12 + 1; // each record has twelve lines
            assert!(
                line.is_empty() || seen.iter().any(|(other, _)| *other == own),
                "{heading}: line {number} without its heading\n{}",
                printed.stdout
            );
        }
    }
}

#[test]
fn a_kept_line_brings_what_names_its_object() {
    let object = |i: usize, open: &str, field: &dyn Fn(&str, &str) -> String, close: &str| {
        let tls = if i == 7 { "on" } else { "off" };
        let others = (0..8).map(|k| field(&format!("worker_{k}"), &(3 * k + i).to_string())).collect::<String>();
        format!("{open}\n{}{others}{}{close}\n", field("name", &format!("service{i}")), field("tls", tls))
    };
    let json = (1..13)
        .map(|i| object(i, "  {", &|key, value| format!("    \"{key}\": \"{value}\",\n"), "    \"end\": true\n  },"))
        .collect::<String>();
    let xml =
        (1..13).map(|i| object(i, "  <server>", &|key, value| format!("    <{key}>{value}</{key}>\n"), "  </server>")).collect::<String>();
    let yaml = (1..13).map(|i| object(i, "---\nkind: Service", &|key, value| format!("{key}: {value}\n"), "end: true")).collect::<String>();
    let directory = tempfile::tempdir().expect("a directory");
    for (name, text) in [("a.json", format!("[\n{json}  {{}}\n]\n")), ("a.xml", format!("<all>\n{xml}</all>\n")), ("a.yaml", yaml)] {
        file(directory.path(), name, &text);
        let printed = codeskim(directory.path(), &["read", name, "--focus", "Which service has TLS turned on? (tls on)"]);
        let mut named = 0;
        let lines: Vec<&str> = text.lines().collect();
        for (number, line) in shown(&printed.stdout) {
            if line.contains("tls") {
                let own = (0..number).rev().find(|at| lines[*at].contains("name")).expect("it is in an object") + 1;
                assert!(shown(&printed.stdout).iter().any(|(other, _)| *other == own), "{name}: {}", printed.stdout);
                named += 1;
            }
        }
        assert!(named > 0 && printed.stdout.contains("service7"), "{name}: {}", printed.stdout);
    }
}

#[test]
fn words_that_identify_are_found() {
    let directory = tempfile::tempdir().expect("a directory");
    let stock = (0..120).map(|i| format!("SKU-{i:04},{},{}\n", 3 * i, i % 5)).collect::<String>();
    file(directory.path(), "stock.csv", format!("sku,warehouse_qty,reserved_qty\n{stock}"));
    let log = (0..200)
        .map(|i| format!("12:00:{:02} request {} served by tier{} in {} ms\n", i % 60, 48_000 + i, i % 90, 7 * i % 40))
        .collect::<String>();
    file(directory.path(), "requests.log", log);
    let table = (0..100).map(|i| format!("node-{i:<4} Ready    worker   {}d   10.0.0.{i}\n", i % 9)).collect::<String>();
    file(directory.path(), "nodes.txt", format!("NAME      STATUS   ROLES    AGE  IP\n{table}"));
    for (name, question, wanted) in [
        ("stock.csv", "How many units of SKU-0077 are reserved? (reserved_qty)", "SKU-0077,231,2"),
        ("stock.csv", "What is the stock of sku-0113 in the warehouse? (warehouse_qty)", "SKU-0113,339,3"),
        ("requests.log", "How long did request 48153 take? (served, ms)", "request 48153 served"),
        ("requests.log", "Which requests did tier33 serve? (request, ms)", "served by tier33 in"),
        ("nodes.txt", "What is the address of node-64? (ip)", "10.0.0.64"),
    ] {
        let printed = codeskim(directory.path(), &["read", name, "--focus", question]);
        assert!(printed.stdout.contains(wanted), "{question}\n{}", printed.stdout);
    }
}

#[test]
fn terminal_output_is_read_as_a_terminal_shows_it() {
    let frames = (1..90).map(|i| format!("Building {i} of 90\r")).collect::<String>();
    let steps = (0..60).map(|i| format!("\x1b[32mstep {i}\x1b[0m done\n")).collect::<String>();
    let error = "\x1b[1;31merror\x1b[0m: the link failed: undefined symbol \x1b[4mfrob\x1b[24m\n";
    let text = format!("{frames}{error}{steps}wr\x08\x08ab\n");
    let question = ["--focus", "Why did the link fail?"];
    let pruned = codeskim_with_input(Path::new("."), &["prune", question[0], question[1]], text.as_bytes()).stdout;
    let directory = tempfile::tempdir().expect("a directory");
    file(directory.path(), "build.log", &text);
    let read = codeskim(directory.path(), &["read", "build.log", question[0], question[1]]).stdout;
    for view in [pruned, read] {
        assert!(view.contains("\nerror: the link failed: undefined symbol frob\n"), "{view}");
        assert!(!view.contains(['\r', '\x1b', '\x08']), "{view}");
    }
    assert_eq!(codeskim(directory.path(), &["read", "build.log"]).stdout, text, "without a question the bytes stay");
}

#[test]
fn a_text_with_zeros_in_it_is_a_text() {
    let directory = tempfile::tempdir().expect("a directory");
    file(directory.path(), "a.log", "alpha is a line of a log\nbeta \0has a needle in it\ngamma is the last line of this log\n".repeat(3));
    file(directory.path(), "late.c", format!("{}char *s = \"a\0b\"; // needle\n", "int f(void);\n".repeat(9000)));
    let packed: Vec<u8> = (0..5000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 11) as u8).collect();
    file(directory.path(), "packed.bin", packed);
    let found = codeskim(directory.path(), &["grep", "needle"]).stdout;
    assert!(found.contains("beta \0has a needle in it") && found.contains("late.c") && !found.contains("packed.bin"), "{found}");
    assert!(codeskim(directory.path(), &["read", "a.log", "--lines", "2"]).stdout.contains("beta \0has"));
    let refused = codeskim(directory.path(), &["read", "packed.bin"]);
    assert!(refused.stderr.contains("is a binary file"), "{refused:?}");
    let none = codeskim(directory.path(), &["grep", "nothing like this"]);
    assert!(
        none.stdout.contains("Passed over: 1 binary file, \"packed.bin\".")
            || none.stderr.contains("Passed over: 1 binary file, \"packed.bin\"."),
        "{none:?}"
    );
}

#[test]
fn other_encodings_are_read_and_searched() {
    let directory = tempfile::tempdir().expect("a directory");
    for (name, text, word) in [
        ("GBK", "你好世界，这是一个测试文件。读取配置失败，请重试。\n", "配置"),
        ("Big5", "這是一個測試檔案，讀取設定失敗，請再試一次。\n", "設定"),
        ("Shift_JIS", "設定ファイルの読み込みに失敗しました。もう一度お試しください。\n", "設定ファイル"),
        ("EUC-JP", "設定ファイルの読み込みに失敗しました。もう一度お試しください。\n", "設定ファイル"),
        ("EUC-KR", "설정 파일을 읽지 못했습니다. 다시 시도하십시오.\n", "설정"),
        ("windows-1251", "Не удалось прочитать файл настроек, попробуйте ещё раз.\n", "настроек"),
        ("KOI8-R", "Не удалось прочитать файл настроек, попробуйте ещё раз.\n", "настроек"),
    ] {
        let encoding = encoding_rs::Encoding::for_label(name.as_bytes()).expect("an encoding");
        file(directory.path(), "a.txt", encoding.encode(&text.repeat(3)).0);
        let read = codeskim(directory.path(), &["read", "a.txt"]).stdout;
        assert!(read.contains(text) && read.contains("which is a guess"), "{name}: {read}");
        let found = codeskim(directory.path(), &["grep", word, "."]).stdout;
        assert!(found.contains(text.trim_end()), "{name}: {found}");
    }
    file(directory.path(), "a.txt", b"un caf\xe9 noir\n");
    assert!(codeskim(directory.path(), &["grep", "café", "."]).stdout.contains("un café noir"));
}

#[test]
fn names_that_look_like_another_find_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    for name in ["cafe\u{301}.txt", "a\u{202f}b.txt", "it\u{2019}s.txt", "src/Main.rs", "config.yml", "n\u{2013}m.txt", "with space.txt"] {
        file(at, name, format!("this is {name}\n"));
    }
    let read = |path: &str| codeskim(at, &["read", path]);
    for (asked, name) in [
        ("caf\u{e9}.txt", "cafe\u{301}.txt"),
        ("a b.txt", "a\u{202f}b.txt"),
        ("it's.txt", "it\u{2019}s.txt"),
        ("config.yaml", "config.yml"),
        ("n-m.txt", "n\u{2013}m.txt"),
        #[cfg(unix)] // on Windows both are the file's name
        ("SRC/main.rs", "src/Main.rs"),
        #[cfg(unix)]
        (".\\src\\Main.rs", "src/Main.rs"),
    ] {
        let printed = read(asked);
        assert!(printed.stdout.ends_with(&format!("this is {name}\n")) && printed.stdout.contains("There is no"), "{asked}: {printed:?}");
        let found = codeskim(at, &["grep", "this is", asked]).stdout;
        assert!(found.contains(&format!("this is {name}")) && found.contains("looks like it"), "{asked}: {found}");
    }
    let root = dunce::canonicalize(at).expect("a path").display().to_string().replace('\\', "/");
    let url = format!("file://{}{root}/with%20space.txt", if cfg!(windows) { "/" } else { "" });
    assert_eq!(read(&url).stdout, "this is with space.txt\n");
    #[cfg(unix)] // on Windows they are one file
    {
        file(at, "A.txt", "1\n");
        file(at, "a.TXT", "2\n");
        let several = read("a.txt");
        assert!(several.status == 2 && several.stderr.contains("did you mean \"A.txt\" or \"a.TXT\""), "{several:?}");
    }
    assert!(read("other.rs").stderr.contains("There is no file \"other.rs\""));
}

#[test]
fn lines_end_before_their_carriage_return() {
    let directory = tempfile::tempdir().expect("a directory");
    file(directory.path(), "a.txt", "foo\r\nbar\r\n\r\nfoo bar\r\n");
    let found = |pattern: &str| codeskim(directory.path(), &["grep", pattern, "a.txt"]).stdout;
    assert_eq!(found("foo$").lines().filter(|line| line.contains("foo")).count(), 1, "{}", found("foo$"));
    assert!(found("^bar$").contains("2:bar") && found("^$").contains("3:") && found("r.$").is_empty(), "{}", found("^$"));
    assert!(found("(?<=foo )bar$").contains("4:foo bar"));
    assert!(found("foo\\r").contains("1:foo"));
}

#[test]
fn a_pattern_may_look_around_and_never_runs_away() {
    let directory = tempfile::tempdir().expect("a directory");
    file(directory.path(), "a.rs", "let port = 80;\nlet import = 1;\nabab\nfoo.unwrap()\nbar.unwrap_or(1)\n");
    file(directory.path(), "long.txt", format!("{}!\n", "a".repeat(5000)));
    let found = |pattern: &str| codeskim(directory.path(), &["grep", pattern, "a.rs"]).stdout;
    assert_eq!(found("(?<!im)port"), "a.rs\n1:let port = 80;\n");
    assert_eq!(found("unwrap(?!_or)"), "a.rs\n4:foo.unwrap()\n");
    assert_eq!(found("(ab)\\1"), "a.rs\n3:abab\n");
    assert_eq!(found("(?i)LET(?= port)"), "a.rs\n1:let port = 80;\n");
    let began = std::time::Instant::now();
    let refused = codeskim(directory.path(), &["grep", "(?=(a+)+$)b|(a+)+\\1$", "."]);
    assert!(refused.status == 2 && refused.stderr.contains("goes back too often"), "{refused:?}");
    assert!(began.elapsed().as_secs() < 60);
    let bad = codeskim(directory.path(), &["grep", "(?<=a+", "a.rs"]);
    assert!(bad.status == 2 && bad.stderr.contains("is not a regular expression"), "{bad:?}");
}

#[test]
fn a_pattern_without_a_bound_is_refused_and_long_lines_are_told() {
    let directory = tempfile::tempdir().expect("a directory");
    file(directory.path(), "a.txt", format!("{}z\nabz\n", "a".repeat(60_000)));
    let found = codeskim(directory.path(), &["grep", "(?:(?=.*z)a)*b", "a.txt"]);
    assert!(found.stdout.contains("Passed over, as the pattern looks around: 1 line of over 8000 bytes."), "{found:?}");
    assert!(found.stdout.ends_with("2:abz\n"), "{found:?}");
    file(directory.path(), "b.txt", format!("{}z\n", "a".repeat(7_000)));
    let refused = codeskim(directory.path(), &["grep", "(?:(?=.*z)a)*b", "b.txt"]);
    assert!(refused.status == 2 && refused.stderr.contains("goes back too often"), "{refused:?}");
    let deep = format!("{}a{}(?=b)", "(".repeat(5000), ")".repeat(5000));
    for pattern in ["(?:(?:(?=.*z)a)*b)*c", "(?=(?:(?:(?!z)a)+b)+)a", "(?<n>a\\g<n>?b)(?=c)", &deep] {
        let refused = codeskim(directory.path(), &["grep", pattern, "a.txt"]);
        assert!(refused.status == 2 && refused.stderr.lines().count() == 1, "{:.80}: {:.300}", pattern, refused.stderr);
    }
}

#[tokio::test]
async fn words_for_nothing_are_no_arguments() {
    let directory = tempfile::tempdir().expect("a directory");
    file(directory.path(), "a.txt", "one\ntwo\n");
    let [era, _] = eras();
    let client = Client::start(directory.path(), era).await;
    for nothing in ["null", "None", "undefined", "NULL", "nil", " none "] {
        let read =
            json!({ "path": "a.txt", "context_focus_question": nothing, "lines": nothing, "symbol": nothing, "line_numbers": nothing });
        assert_eq!(client.text("read_file", read).await, "one\ntwo\n", "{nothing}");
        let search = json!({ "pattern": "two", "path": nothing, "glob": nothing, "context": nothing, "context_focus_question": nothing, "literal": nothing });
        assert_eq!(client.text("grep", search).await, "a.txt\n2:two\n", "{nothing}");
    }
    assert_eq!(client.text("grep", json!({ "pattern": "two", "glob": ["*.rs", "*.txt"] })).await, "a.txt\n2:two\n");
    let many = client.call("grep", json!({ "pattern": "two", "glob": vec!["*.txt"; 200_000] })).await;
    assert!(many.is_error && many.text.contains("200000 globs are more than 100"), "{many:?}");
}

#[test]
fn what_was_not_searched_is_told() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    for name in [".github/workflows/ci.yml", ".env.example", "src/deep/a.rs", "src/b.py", ".git/config"] {
        file(at, name, "deploy the site\n");
    }
    let grep = |arguments: &[&str]| {
        let Printed { stdout, stderr, .. } = codeskim(at, &[&["grep", "deploy"], arguments].concat());
        stdout + &stderr
    };
    assert!(grep(&[]).contains("2 hidden files match: path or glob has to name them"), "{}", grep(&[]));
    let none = codeskim(at, &["grep", "deploy", "--glob", "*.yml"]);
    assert!((none.stdout + &none.stderr).contains("1 hidden file matches"));
    for (glob, name) in [
        (".github/**", ".github/workflows/ci.yml"),
        ("**/.env*", ".env.example"),
        ("./src/**", "src/deep/a.rs"),
        ("src/", "src/b.py"),
        ("./src/*.py", "src/b.py"),
        ("src\\deep\\*.rs", "src/deep/a.rs"),
    ] {
        assert!(grep(&["--glob", glob]).contains(name), "{glob}: {}", grep(&["--glob", glob]));
        assert!(!grep(&["--glob", glob]).contains(".git/config"));
    }
    for (path, name) in [
        ("./src/**", "src/deep/a.rs"),
        ("src/", "src/b.py"),
        ("src/**/*.rs", "src/deep/a.rs"),
        ("*/b.py", "src/b.py"),
        (".github/*/*.yml", ".github/workflows/ci.yml"),
    ] {
        assert!(grep(&[path]).contains(name), "{path}: {}", grep(&[path]));
    }
}
