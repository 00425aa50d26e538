//! What a reader may rely on: without a question the exact text; with one, kept lines and gaps are exactly the file, kept lines are
//! byte-identical, and every gap can be read back.

use std::path::Path;
use std::sync::Arc;

use codeskim::prune::Limits;
use codeskim::skim::{LineScores, SkimError, Skimmer, Thresholds};
use codeskim::tools::{Options, Session, read_file};
use proptest::prelude::*;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::common::{Client, REPOSITORY, codeskim, eras, gap};

/// A piece of a rendered view, lines counted from 1.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece {
    Line(usize, String),
    Gap(usize, usize),
}

/// Reads a view as an agent would, going by nothing but the text.
pub fn understand(view: &str) -> Vec<Piece> {
    let (header, body) = view.split_once('\n').expect("a header line");
    if header.ends_with("the question leaves nothing out.") {
        return (1..).zip(body.split_inclusive('\n')).map(|(number, line)| Piece::Line(number, line.to_owned())).collect();
    }
    let (before, _) = header.split_once(" = lines left out").expect("the header explains the marker");
    let marker = before.rsplit(' ').next().expect("a marker");
    let mut next = 1;
    body.split_inclusive('\n')
        .map(|line| match line.strip_prefix(marker).and_then(|rest| rest.strip_prefix(' ')) {
            Some(range) => {
                let (from, to) = gap(range);
                next = to + 1;
                Piece::Gap(from, to)
            }
            None => {
                next += 1;
                Piece::Line(next - 1, line.to_owned())
            }
        })
        .collect()
}

/// Checks that pieces are the file, nothing missing, nothing twice; returns the gaps.
pub fn partition(pieces: &[Piece], file: &str) -> Vec<(usize, usize)> {
    let lines: Vec<_> = file.split_inclusive('\n').collect();
    let (mut next, mut gaps) = (1, Vec::new());
    for piece in pieces {
        match piece {
            Piece::Line(number, text) => {
                assert_eq!((*number, text.as_str()), (next, lines[next - 1]));
                next += 1;
            }
            Piece::Gap(from, to) => {
                assert!(*from == next && to >= from, "gap {from}-{to} where {next} comes next");
                gaps.push((*from, *to));
                next = to + 1;
            }
        }
    }
    assert_eq!(next, lines.len() + 1, "the view ends before the file does");
    gaps
}

/// Source files of this repository.
fn files() -> Vec<String> {
    let listed = codeskim(Path::new(REPOSITORY), &["--max-chars", "1000000", "grep", ".", "-g", "*.{rs,py,toml,md}"]);
    let paths = listed.stdout.lines().filter(|line| Path::new(REPOSITORY).join(line).is_file());
    paths.map(str::to_owned).collect()
}

#[tokio::test]
async fn every_file_of_this_repository_comes_back_whole_pruned_or_not() {
    const QUESTIONS: [&str; 2] = ["Where are errors turned into messages for the user?", "How is the loss computed?"];
    let client = Client::start_with(Path::new(REPOSITORY), eras()[1].clone(), &["--max-chars", "1000000"]).await;
    let files = files();
    let (mut pruned, mut whole) = (0, 0);
    for path in &files {
        let file = std::fs::read_to_string(Path::new(REPOSITORY).join(path)).expect("a file");
        if file.len() < 9_000_000 {
            assert_eq!(client.text("read_file", json!({ "path": path })).await, file, "{path}");
        }
        for question in QUESTIONS {
            let view = client.text("read_file", json!({ "path": path, "context_focus_question": question })).await;
            if view == file {
                whole += 1;
                continue;
            }
            pruned += 1;
            for (from, to) in partition(&understand(&view), &file) {
                let gap = client.text("read_file", json!({ "path": path, "start_line": from, "end_line": to })).await;
                assert_eq!(gap, file.split_inclusive('\n').skip(from - 1).take(to + 1 - from).collect::<String>(), "{path} {from}-{to}");
            }
        }
    }
    println!("{} files: {pruned} pruned views, {whole} whole", files.len());
    assert!(files.len() > 30 && pruned > 20, "{} files, {pruned} pruned", files.len());
}

const THRESHOLDS: Thresholds = Thresholds { strict: 0.5, balanced: 0.5, generous: 0.5, answer: 0.5, doubt: 0.7 };

/// Gives each line the score it is told.
struct Told(Vec<f32>, f32);

impl Skimmer for Told {
    fn skim(&self, lines: &[&str], _: &str, _: &CancellationToken) -> Result<LineScores, SkimError> {
        let keep = self.0.iter().copied().cycle().take(lines.len()).collect();
        Ok(LineScores { keep, answer: self.1, thresholds: THRESHOLDS, note: None })
    }
}

/// Fails in the way it is told.
enum Broken {
    Error,
    Panic,
    NotANumber,
    TooFew,
}

impl Skimmer for Broken {
    fn skim(&self, lines: &[&str], _: &str, _: &CancellationToken) -> Result<LineScores, SkimError> {
        let keep = match self {
            Self::Error => return Err(SkimError::Unusable),
            Self::Panic => panic!("a bug"),
            Self::NotANumber => vec![f32::NAN; lines.len()],
            Self::TooFew => Vec::new(),
        };
        Ok(LineScores { keep, answer: 1.0, thresholds: THRESHOLDS, note: None })
    }
}

fn session(root: &Path, skimmer: impl Skimmer + 'static, most: usize) -> Session {
    let mut session =
        Session::new(&[root], Options { limits: Limits { most, ..Default::default() }, ..Options::default() }).expect("a session");
    session.skimmer = Arc::new(skimmer);
    session
}

fn read(session: &Session, path: &str, question: Option<&str>, lines: Option<(usize, usize)>) -> String {
    let request = read_file::Request {
        lines: lines.map(|(from, to)| (from, Some(to))).into_iter().collect(),
        context_focus_question: question.map(str::to_owned),
        ..read_file::Request::new(path)
    };
    read_file::run(session, &request, &Default::default()).expect("a text").text
}

#[test]
fn when_the_skimmer_fails_the_text_comes_whole_and_says_so() {
    let root = tempfile::tempdir().expect("a directory");
    let file = "some text\n".repeat(100);
    std::fs::write(root.path().join("a.txt"), &file).expect("written");
    for broken in [Broken::Error, Broken::Panic, Broken::NotANumber, Broken::TooFew] {
        let view = read(&session(root.path(), broken, 20_000), "a.txt", Some("What is it?"), None);
        let (header, body) = view.split_once('\n').expect("a header");
        assert!(header.starts_with("a.txt: the skimmer failed (") && header.ends_with("so nothing was pruned."), "{header}");
        assert_eq!(body, file);
    }
}

#[test]
fn a_long_text_is_cut_at_a_line_and_says_how_to_go_on() {
    let root = tempfile::tempdir().expect("a directory");
    let file: String = (1..=5000).map(|i| format!("line number {i}\n")).collect();
    std::fs::write(root.path().join("a.txt"), &file).expect("written");
    std::fs::write(root.path().join("wide.js"), format!("short\n{}\n", "x".repeat(30_000))).expect("written");
    let printed = codeskim(root.path(), &["read", "a.txt"]).stdout;
    assert!(printed.chars().count() <= 20_000);
    let gaps = partition(&understand(&printed), &file);
    assert!(matches!(gaps[..], [(from, 5000)] if from > 900), "{gaps:?}");
    let rest = codeskim(root.path(), &["read", "a.txt", "--lines", &format!("{}-", gaps[0].0)]).stdout;
    assert!(rest.starts_with(&format!("a.txt lines {}-5000 of 5000: ", gaps[0].0)), "{}", &rest[..200]);
    let wide = codeskim(root.path(), &["read", "wide.js"]).stdout;
    assert_eq!(
        wide,
        format!(
            "wide.js: ⋮ + = a line cut at 2000 characters; read it alone to see more.\nshort\n{} ⋮ +28000 characters\n",
            "x".repeat(2000)
        )
    );
    let alone = codeskim(root.path(), &["read", "wide.js", "--lines", "2-2"]).stdout;
    assert!(alone.chars().count() <= 20_000 && alone.chars().filter(|c| *c == 'x').count() > 19_000, "{}", alone.len());
}

#[test]
fn small_texts_and_small_savings_come_whole() {
    let root = tempfile::tempdir().expect("a directory");
    let small = "x = 1\n".repeat(39);
    let large = "x = 1\n".repeat(400);
    std::fs::write(root.path().join("small.py"), &small).expect("written");
    std::fs::write(root.path().join("large.py"), &large).expect("written");
    let nothing = session(root.path(), Told(vec![0.6, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1], 1.0), 20_000);
    let all = |name: &str, lines: usize, text: &str| format!("{name}: all {lines} lines; the question leaves nothing out.\n{text}");
    assert_eq!(read(&nothing, "small.py", Some("What is x?"), None), all("small.py", 39, &small));
    assert_eq!(read(&nothing, "small.py", None, None), small);
    assert_ne!(read(&nothing, "large.py", Some("What is x?"), None), large);
    let nearly_all = session(root.path(), Told(vec![0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.1], 1.0), 20_000);
    assert_eq!(read(&nearly_all, "large.py", Some("What is x?"), None), all("large.py", 400, &large));
}

#[test]
fn lines_of_which_none_can_be_picked_come_whole() {
    let root = tempfile::tempdir().expect("a directory");
    let file = "end\n".repeat(60);
    std::fs::write(root.path().join("a.txt"), &file).expect("written");
    let shown = read(&session(root.path(), Told(vec![0.9], 1.0), 20_000), "a.txt", Some("What ends?"), None);
    assert_eq!(shown, format!("a.txt: all 60 lines; the question leaves nothing out.\n{file}"));
}

#[test]
fn a_definition_that_the_question_names_is_shown_whatever_its_scores() {
    let root = tempfile::tempdir().expect("a directory");
    let python: String = (0..40).map(|i| format!("def read_{i}(x):\n    a = {i}\n    return a + x\n\n")).collect();
    let c: String = (0..40).map(|i| format!("static int *read_{i}(int x)\n{{\n    return x + {i};\n}}\n\n")).collect();
    for (path, file, shown) in [
        ("a.py", python, "def read_7(x):\n    a = 7\n    return a + x\n"),
        ("a.c", c, "static int *read_7(int x)\n{\n    return x + 7;\n}\n"),
    ] {
        std::fs::write(root.path().join(path), &file).expect("written");
        let session = session(root.path(), Told(vec![0.0], 0.1), 20_000);
        let view = read(&session, path, Some("How does read_7 work?"), None);
        partition(&understand(&view), &file);
        assert!(view.contains(shown) && !view.contains("read_8("), "{view}");
        assert!(read(&session, path, Some("How does read_99 work?"), None).contains("nothing in these"), "{path}");
    }
}

#[test]
fn an_outline_names_as_many_definitions_as_may_be() {
    let root = tempfile::tempdir().expect("a directory");
    let method = |i: usize| format!("    def method_{i}(\n        self,\n    ):\n        return {i}\n\n");
    let file: String = std::iter::once("class A:\n".to_owned()).chain((0..100).map(method)).collect();
    std::fs::write(root.path().join("a.py"), &file).expect("written");
    let view = read(&session(root.path(), Told(vec![0.1], 0.1), 20_000), "a.py", Some("What is there?"), None);
    assert!(view.contains("⋮ 1-501: A 1-500, method_0 2-5, method_1 7-10, ") && view.ends_with(", method_38 192-195, 61 more\n"), "{view}");
}

#[test]
fn a_text_that_does_not_answer_gets_its_outline_and_a_plain_word() {
    let root = tempfile::tempdir().expect("a directory");
    let body = "    a = 1\n    b = 2\n    return a + b\n";
    let file: String = (0..30).map(|i| format!("def function_{i}(x):\n{body}\n")).collect();
    std::fs::write(root.path().join("a.py"), &file).expect("written");
    let view = read(&session(root.path(), Told(vec![0.0], 0.1), 20_000), "a.py", Some("Where is the moon?"), None);
    assert!(view.starts_with("a.py: nothing in these 150 lines seems to answer the question; what is in them is named"), "{view}");
    let shown = |view: &str| -> Vec<String> {
        let pieces = understand(view);
        partition(&pieces, &file);
        pieces.into_iter().filter_map(|piece| if let Piece::Line(_, text) = piece { Some(text.to_string()) } else { None }).collect()
    };
    assert!(
        shown(&view).is_empty() && view.contains("⋮ 1-150: function_0 1-4, function_1 6-9, ") && view.contains(", function_29 146-149\n"),
        "{view}"
    );
    // Lines that stand out are not hidden by a "none".
    let told = Told(vec![0.0, 0.0, 0.99, 0.0, 0.0], 0.1);
    let likely = shown(&read(&session(root.path(), told, 20_000), "a.py", Some("Where is the moon?"), None));
    assert_eq!(likely.iter().filter(|line| line.starts_with("    b = 2")).count(), 8, "{likely:?}");
}

#[test]
fn a_text_that_may_not_answer_says_so() {
    let root = tempfile::tempdir().expect("a directory");
    let body: String = (0..8).map(|i| format!("    step_{i}(x)\n")).collect();
    let file: String = (0..30).map(|i| format!("def function_{i}(x):\n{body}\n")).collect();
    std::fs::write(root.path().join("a.py"), &file).expect("written");
    let header = |answer: f32, question: &str| {
        let scores = (0..300).map(|line| if line == 1 { 0.99 } else { 0.0 }).collect();
        let view = read(&session(root.path(), Told(scores, answer), 20_000), "a.py", Some(question), None);
        partition(&understand(&view), &file);
        view.lines().next().expect("a header").to_owned()
    };
    let (doubtful, plain) = (" of 300 lines, which may not answer the question. ⋮ =", " of 300 lines. ⋮ =");
    assert!(header(0.6, "Where is the moon?").contains(doubtful));
    assert!(header(0.7, "Where is the moon?").contains(plain));
    assert!(header(0.6, "What does function_7 add?").contains(plain), "what is named is there");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Any text, any scores, any limit: the view is the file, and what it leaves out comes back by its range.
    #[test]
    fn any_view_of_any_text_is_the_file(
        rows in prop::collection::vec("[ -~]{0,30}|⋮+ [0-9]{1,3}-[0-9]{1,3}|[ \t]{0,6}[{}()\\[\\]:;a-z⋮\"']{0,12}|é\r", 40..160),
        ends_with_newline: bool,
        scores in prop::collection::vec(0f32..1.0, 1..50),
        answer in 0f32..1.0,
        extension in prop::sample::select(vec!["py", "rs", "ts", "go", "c", "txt", "md"]),
        most in 1000usize..6000,
    ) {
        let root = tempfile::tempdir().expect("a directory");
        let mut file = rows.join("\n");
        if ends_with_newline {
            file.push('\n');
        }
        prop_assume!(!file.is_empty());
        let path = format!("a.{extension}");
        std::fs::write(root.path().join(&path), &file).expect("written");
        let session = session(root.path(), Told(scores, answer), most);
        let whole = read(&session, &path, None, None);
        if file.chars().count() <= most {
            prop_assert_eq!(&whole, &file);
        } else {
            partition(&understand(&whole), &file);
        }
        let view = read(&session, &path, Some("Which lines matter?"), None);
        prop_assert!(view.chars().count() <= most);
        if view != file {
            for (from, to) in partition(&understand(&view), &file) {
                let expected: String = file.split_inclusive('\n').skip(from - 1).take(to + 1 - from).collect();
                if expected.chars().count() <= most {
                    prop_assert_eq!(read(&session, &path, None, Some((from, to))), expected);
                }
            }
        }
    }
}
