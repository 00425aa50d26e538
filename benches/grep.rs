//! `codeskim grep` against `rg`: the same matches, and the ratio of wall times in one run.
//!
//! ```text
//! cargo bench --bench grep [-- DIR ...]      needs rg on the PATH; searches this repository and each DIR
//! ```

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Rare, common, anchored, alternation with Unicode case, and a class with repetition.
const PATTERNS: [&str; 5] = ["FromResidual", "fn \\w+", "^use std::", "(?i)error|warning", "[a-z]{3,}_[a-z]{3,}_[a-z]{3,}\\("];
const RUNS: usize = 7;

type Found = BTreeSet<(String, usize)>;

fn run(program: &str, arguments: &[&str], directory: &Path) -> (String, Duration) {
    let began = Instant::now();
    let output = Command::new(program).args(arguments).current_dir(directory).output().unwrap_or_else(|error| panic!("{program}: {error}"));
    (String::from_utf8_lossy(&output.stdout).into_owned(), began.elapsed())
}

/// `path:12:text`, one a line.
fn of_rg(text: &str) -> Found {
    text.lines()
        .filter_map(|line| {
            let (path, rest) = line.split_once(':')?;
            Some((path.to_owned(), rest.split_once(':')?.0.parse().ok()?))
        })
        .collect()
}

/// A path, then `12:text` for each match, then an empty line.
fn of_codeskim(text: &str) -> Found {
    let (mut out, mut path) = (Found::new(), None);
    // A large result begins with a header.
    let text = if text.starts_with('"') { text.split_once('\n').map_or("", |(_, rest)| rest) } else { text };
    for line in text.split('\n') {
        match (line.is_empty(), path) {
            (true, _) => path = None,
            (false, None) => path = Some(line),
            (false, Some(path)) => {
                let number = line.split_once(':').and_then(|(number, _)| number.parse().ok());
                out.insert((path.to_owned(), number.unwrap_or_else(|| panic!("{path}: {line}"))));
            }
        }
    }
    out
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1000.0
}

fn main() {
    let trees: Vec<String> = std::iter::once(env!("CARGO_MANIFEST_DIR").to_owned())
        .chain(std::env::args().skip(1).filter(|argument| !argument.starts_with("--")))
        .collect();
    for tree in &trees {
        let directory = Path::new(tree);
        let files = run("rg", &["--files"], directory).0.lines().count();
        println!(
            "\n{files} files; median of {RUNS} runs, in ms\n{:<42} {:>9} {:>6} {:>8} {:>9} {:>6}",
            "pattern", "matches", "same", "rg", "codeskim", "ratio"
        );
        for pattern in PATTERNS {
            let rg = ["--no-heading", "-n", "--color=never", pattern];
            let ours = ["--max-chars", "1000000000", "grep", pattern];
            let (mut rg_times, mut our_times, mut found) = (Vec::new(), Vec::new(), None);
            for _ in 0..RUNS {
                let (theirs, time) = run("rg", &rg, directory);
                rg_times.push(time);
                let (text, time) = run(env!("CARGO_BIN_EXE_codeskim"), &ours, directory);
                our_times.push(time);
                found.get_or_insert((of_rg(&theirs), of_codeskim(&text)));
            }
            let (theirs, ours) = found.expect("at least one run");
            let (rg, codeskim) = (median(rg_times), median(our_times));
            let same = if theirs == ours { "yes" } else { "NO" };
            println!("{pattern:<42} {:>9} {same:>6} {rg:>8.1} {codeskim:>9.1} {:>6.2}", ours.len(), codeskim / rg);
            theirs.symmetric_difference(&ours).take(5).for_each(|(path, line)| println!("  only one has {path}:{line}"));
        }
    }
}
