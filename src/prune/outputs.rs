//! Outputs of commands: which of their lines are shown whatever is asked.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickBuilder};

/// Lines at the beginning and at the end of an output that stay: what ran, and how it ended.
const FIRST: usize = 3;
const LAST: usize = 12;
/// Lines before and after one that says what went wrong, that stay with it.
const BEFORE: usize = 1;
const AFTER: usize = 3;
/// What is in lines that say what went wrong, in any case.
const FAILURES: [&str; 45] = [
    "error",
    "fail",
    "fatal",
    "panic",
    "exception",
    "traceback",
    "assert",
    "segfault",
    "segmentation fault",
    "abort",
    "killed",
    "not found",
    "no such",
    "denied",
    "undefined",
    "cannot",
    "can't",
    "could not",
    "couldn't",
    "unable to",
    "refused",
    "timed out",
    "timeout",
    "not ok",
    "err!",
    "conflict",
    "exit status",
    "exit code",
    "exited",
    "core dumped",
    "crash",
    "backoff",
    "unhealthy",
    "invalid",
    "missing",
    "critical",
    "severe",
    "cve-",
    "unresolved",
    "rejected",
    "✗",
    "✘",
    "✖",
    "✕",
    "●",
];
/// What is in lines that say how much there was, or how it went.
const TOTALS: [&str; 20] = [
    "passed",
    "test result",
    "tests:",
    "test suites:",
    "ran ",
    "total",
    "summary",
    "finished",
    "problems",
    "insertions(+)",
    "deletions(-)",
    "files changed",
    "file changed",
    "succeeded",
    "successfully",
    "up to date",
    "vulnerabilities",
    "warnings generated",
    "build success",
    "skipped",
];
/// How lines begin in which test runners show what was expected.
const DETAILS: [&str; 9] = ["____", "E  ", "E\t", ">  ", "FAIL", "--- FAIL", "+++", "thread '", "  left:"];

/// How lines begin, and end, that programs print whenever things go well.
const ROUTINE_STARTS: [&str; 25] = [
    "Compiling ",
    "Checking ",
    "Downloaded ",
    "Downloading ",
    "Fetching ",
    "Installing ",
    "Collecting ",
    "Requirement already satisfied",
    "Using cached ",
    "Get:",
    "Hit:",
    "Unpacking ",
    "Selecting ",
    "Preparing to unpack ",
    "Setting up ",
    "--- PASS",
    "=== RUN",
    "=== PAUSE",
    "=== CONT",
    "✓ ",
    "✔ ",
    "√ ",
    "PASS ",
    "ok  \t",
    "npm http fetch GET 200",
];
/// How many of the starts are before the name of what something is done with.
const DOINGS: usize = 7;
const ROUTINE_ENDS: [&str; 3] = [" ... ok", " PASSED", "... passed"];

static FAILURE: LazyLock<AhoCorasick> = LazyLock::new(|| any_of(&FAILURES));
static TOTAL: LazyLock<AhoCorasick> = LazyLock::new(|| any_of(&TOTALS));

fn any_of(words: &[&str]) -> AhoCorasick {
    AhoCorasickBuilder::new().ascii_case_insensitive(true).build(words).expect("words can be looked for")
}

/// The lines that always stay, one flag a line.
pub fn always_shown(lines: &[&str]) -> Vec<bool> {
    let mut stays = vec![false; lines.len()];
    for (i, line) in lines.iter().enumerate() {
        stays[i] |= i < FIRST || i + LAST >= lines.len();
        if is_routine(line) && !goes_wrong(line) {
            continue; // a test of errors that went well
        }
        if FAILURE.is_match(*line) || DETAILS.iter().any(|start| line.starts_with(start)) {
            stays[i.saturating_sub(BEFORE)..(i + 1 + AFTER).min(lines.len())].fill(true);
        }
        stays[i] |= TOTAL.is_match(*line);
    }
    stays
}

/// Whether a line that says what is done with something says, after its name, that it failed.
fn goes_wrong(line: &str) -> bool {
    let line = line.trim();
    let of = ROUTINE_STARTS[..DOINGS].iter().find_map(|start| line.strip_prefix(start));
    let after = of.and_then(|of| of.split_once(' ')).map(|(_, after)| after.split_once('(').map_or(after, |(before, _)| before));
    after.is_some_and(|after| FAILURE.is_match(after)) // in brackets is where it is, or who wants it
}

/// Whether a line says only that something went well, or on.
pub fn is_routine(line: &str) -> bool {
    let line = line.trim();
    let without_share = line.strip_suffix("%]").and_then(|line| line.rsplit_once('[')).map_or(line, |(line, _)| line.trim_end());
    ROUTINE_STARTS.iter().any(|start| line.starts_with(start)) || ROUTINE_ENDS.iter().any(|end| without_share.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_well_is_routine() {
        for line in
            ["test a::b ... ok", "tests/a.py::test_b PASSED    [ 12%]", "   Compiling serde v1.0.1", "  ✓ adds (2 ms)", "=== RUN   TestA"]
        {
            assert!(is_routine(line), "{line}");
        }
        for line in ["test a::b ... FAILED", "tests/a.py::test_b FAILED [ 12%]", "PASSED", "  ✗ adds", "warning: unused"] {
            assert!(!is_routine(line), "{line}");
        }
    }

    #[test]
    fn what_is_done_with_something_may_go_wrong() {
        for line in ["Downloading https://x/m.bin ... failed: 403 Forbidden", "Installing foo: finished with status 'error'"] {
            assert!(is_routine(line) && goes_wrong(line), "{line}");
        }
        for line in [
            "   Compiling error-chain v1.0.1",
            "   Compiling api v0.1.0 (/home/me/error-tracker/api)",
            "Collecting iniconfig (from pytest-timeout)",
            "=== RUN   TestError",
        ] {
            assert!(is_routine(line) && !goes_wrong(line), "{line}");
        }
    }

    #[test]
    fn what_went_wrong_stays() {
        let mut lines: Vec<String> = (0..200).map(|i| format!("tests/test_{i}.py ....")).collect();
        lines[90] = "E   AssertionError: 1 != 2".to_owned();
        lines[150] = "=== 1 failed, 300 passed in 3.1s ===".to_owned();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let shown: Vec<usize> = always_shown(&lines).iter().enumerate().filter(|(_, shown)| **shown).map(|(i, _)| i).collect();
        let expected = (0..3).chain(89..94).chain(149..154).chain(188..200).collect::<Vec<_>>();
        assert_eq!(shown, expected);
    }
}
