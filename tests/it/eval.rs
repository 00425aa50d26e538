//! `codeskim eval`, `--keep` and `--budget`, as someone with labels of their own would use them.

use std::path::Path;

use serde_json::{Value, json};

use crate::common::{REPOSITORY, codeskim, gap};

const FILE: &str = "src/workspace/walk.rs";
const QUESTION: &str = "How are hidden and ignored files kept out of the walk?";

/// Labels on this repository's own code: one question of three kinds on each of two files.
fn labels(directory: &Path) -> Vec<Value> {
    let text = |path: &str| std::fs::read_to_string(Path::new(REPOSITORY).join(path)).expect("a file");
    let lines = |path: &str| text(path).lines().map(str::to_owned).collect::<Vec<_>>();
    let with = |lines: &[String], needles: &[&str]| -> Vec<usize> {
        (0..lines.len()).filter(|i| needles.iter().any(|needle| lines[*i].contains(needle))).collect()
    };
    let rust = lines(FILE);
    let python = lines("training/mine.py");
    let records = vec![
        json!({ "lang": "rust", "kind": "narrow", "question": QUESTION, "keep": with(&rust, &["hidden", "ignore"]), "lines": rust }),
        json!({ "lang": "python", "kind": "narrow", "question": "Which comments are too short to be questions?",
                "keep": with(&python, &["def first_sentence", "len(text) >= 20"]), "lines": python }),
        json!({ "lang": "python", "kind": "absent", "question": "How is the TLS handshake retried?", "keep": [], "lines": python }),
    ];
    let file: String = records.iter().map(|record| format!("{record}\n")).collect();
    std::fs::write(directory.join("labels.jsonl"), file).expect("written");
    records
}

#[test]
fn figures_count_what_was_labelled() {
    let directory = tempfile::tempdir().expect("a directory");
    let records = labels(directory.path());
    let printed = codeskim(directory.path(), &["eval", "labels.jsonl", "--baseline", "bm25", "--json"]);
    assert_eq!(printed.status, 0, "{printed:?}");
    let reports: Vec<Value> = serde_json::from_str(&printed.stdout).expect("JSON");
    assert_eq!(reports.len(), 2);
    for report in &reports {
        let all = &report["all"];
        assert_eq!((all["answerable"].as_u64(), all["absent"].as_u64()), (Some(2), Some(1)), "{report}");
        let f1 = all["scored"]["f1"].as_f64().expect("F1");
        let (p, r) = (all["scored"]["precision"].as_f64().expect("P"), all["scored"]["recall"].as_f64().expect("R"));
        assert!((f1 * (p + r) - 2.0 * p * r).abs() < 1e-9 && (0.0..=1.0).contains(&f1), "{report}");
        let recall: Vec<f64> = all["recall_at"].as_array().expect("recalls").iter().filter_map(Value::as_f64).collect();
        assert!(recall.is_sorted(), "{recall:?}");
        assert_eq!(report["languages"]["python"]["absent"], 1);
        let counted: u64 = report["calibration"].as_array().expect("bins").iter().filter_map(|bin| bin["lines"].as_u64()).sum();
        let lines = |record: &Value| {
            record["lines"].as_array().expect("lines").iter().filter(|line| !line.as_str().unwrap_or("").trim().is_empty()).count()
        };
        assert_eq!(counted as usize, records[..2].iter().map(lines).sum::<usize>());
    }
}

#[test]
fn what_scores_lines_elsewhere_is_what_is_measured() {
    let directory = tempfile::tempdir().expect("a directory");
    labels(directory.path());
    let printed = codeskim(directory.path(), &["eval", "labels.jsonl", "--remote", "http://127.0.0.1:1"]);
    assert!(printed.status == 2 && printed.stderr.contains("the server at http://127.0.0.1:1/prune did not answer"), "{printed:?}");
    let printed = codeskim(directory.path(), &["eval", "labels.jsonl", "--remote", "http://127.0.0.1:1", "--model", "."]);
    assert!(printed.status == 2 && printed.stderr.contains("choose with --skimmer"), "{printed:?}");
    let printed = codeskim(directory.path(), &["eval", "labels.jsonl", "--remote", "http://127.0.0.1:1", "--skimmer", "embedded"]);
    assert_eq!(printed.status, 0, "{printed:?}");
}

#[test]
fn a_report_is_read_by_people() {
    let directory = tempfile::tempdir().expect("a directory");
    labels(directory.path());
    let printed = codeskim(directory.path(), &["eval", "labels.jsonl", "--baseline", "bm25", "--examples", "1"]);
    for part in [
        "embedded: 2 questions with an answer, 1 without",
        "BM25, 3 lines each way: 2",
        "recall@20",
        "= shown and marked, + shown only, - marked only",
        QUESTION,
    ] {
        assert!(printed.stdout.contains(part), "{part}: {}", printed.stdout);
    }
}

#[test]
fn labels_that_cannot_be_used_are_named() {
    let directory = tempfile::tempdir().expect("a directory");
    for (content, sentence) in [
        ("", "holds no records; give one JSON object a line."),
        ("\n{\"question\"", "Line 2 of \"bad.jsonl\" is not a record: "),
        ("\u{feff}{\"question\"", "Line 1 of \"bad.jsonl\" is not a record: EOF"),
        (r#"{"question":"why is it so?","lines":["a"],"keep":[1]}"#, "it names index 1 of 1 lines, counted from 0."),
        (r#"{"question":" ","lines":["a"],"keep":[0]}"#, "Line 1 of \"bad.jsonl\" is not a record: The focus question is empty"),
        (r#"{"question":"why is it so?","lines":["a", " "],"keep":[1]}"#, "none of the lines it keeps counts."),
    ] {
        std::fs::write(directory.path().join("bad.jsonl"), content).expect("written");
        let printed = codeskim(directory.path(), &["eval", "bad.jsonl"]);
        assert_eq!((printed.status, printed.stdout.as_str()), (2, ""), "{printed:?}");
        assert!(printed.stderr.contains(sentence) && printed.stderr.lines().count() == 1, "{printed:?}");
    }
    std::fs::write(directory.path().join("bad.jsonl"), b"\n\xff\n").expect("written");
    let printed = codeskim(directory.path(), &["eval", "bad.jsonl"]);
    assert!(printed.stderr.contains("Line 2 of \"bad.jsonl\" is not a record: it is not UTF-8."), "{printed:?}");
    let printed = codeskim(directory.path(), &["eval", "missing.jsonl"]);
    assert!(printed.status == 2 && printed.stderr.contains("\"missing.jsonl\" could not be read"), "{printed:?}");
}

/// Search results are read as the search itself gives them, odd ones as plain text; neither stops the run.
#[test]
fn search_results_of_every_shape_are_measured() {
    let directory = tempfile::tempdir().expect("a directory");
    let shapes: [&[&str]; 6] = [
        &["== a.rs", "3: fn a() {}", "4- }", "9: fn b() {}"],
        &["== a.rs", "== b.rs", "1: x"],
        &["== a.rs"],
        &["== a.rs", "0: x"],
        &["== Title", "text of an AsciiDoc file", ""],
        &["== a.rs", "1st of all"],
    ];
    for lines in shapes {
        let record =
            json!({ "question": "Where is it?", "lines": lines, "keep": [lines.len() - 1 - usize::from(lines.last() == Some(&""))] });
        std::fs::write(directory.path().join("labels.jsonl"), record.to_string()).expect("written");
        let printed = codeskim(directory.path(), &["eval", "labels.jsonl", "--baseline", "bm25", "--examples", "1"]);
        assert_eq!(printed.status, 0, "{lines:?}: {printed:?}");
    }
}

/// The shown line numbers of a view: those that no gap holds.
fn shown(view: &str, total: usize) -> Vec<bool> {
    let mut shown = vec![true; total];
    for (from, to) in view.lines().filter_map(|line| line.strip_prefix("⋮ ")).map(gap) {
        shown[from - 1..to].fill(false);
    }
    shown
}

#[test]
fn a_more_generous_view_holds_the_stricter_one() {
    let file = "src/prune/structure.rs";
    let total = std::fs::read_to_string(Path::new(REPOSITORY).join(file)).expect("a file").lines().count();
    let view = |keep: &str| {
        let printed =
            codeskim(Path::new(REPOSITORY), &["read", file, "--focus", "How is a view repaired that does not parse?", "--keep", keep]);
        assert!(printed.stdout.contains("⋮"), "{}", printed.stdout);
        shown(&printed.stdout, total)
    };
    let views = ["strict", "balanced", "generous"].map(view);
    let count = |view: &[bool]| view.iter().filter(|shown| **shown).count();
    assert!(count(&views[0]) < count(&views[2]), "{:?}", views.each_ref().map(|view| count(view)));
    for pair in views.windows(2) {
        assert!(pair[0].iter().zip(&pair[1]).all(|(strict, generous)| !strict || *generous));
    }
}

#[test]
fn a_budget_is_kept() {
    let file = ["read", "src/prune/structure.rs", "--focus", "How is a view repaired that does not parse?"];
    let unanswered = ["read", "src/prune/structure.rs", "--focus", "Which colours does the payment form's button have?"];
    let search = ["grep", "fn ", "src", "--focus", "Where is a path outside the roots refused?"];
    for (arguments, budget) in [file.as_slice(), &unanswered, &search].into_iter().flat_map(|a| ["150", "400", "1200"].map(|b| (a, b))) {
        let printed = codeskim(Path::new(REPOSITORY), &[arguments, &["--keep", "generous", "--budget", budget]].concat());
        let tokens = tiktoken_rs::o200k_base_singleton().encode_ordinary(&printed.stdout).len();
        assert!(tokens <= budget.parse().expect("a number"), "{tokens} of {budget}: {}", printed.stdout);
        assert!(tokens > 60 && !printed.stdout.contains(" 0 of "), "{}", printed.stdout);
    }
}
