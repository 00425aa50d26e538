//! What a command of a shell prints: agents without a tool for it read files and search by commands.

use std::path::{Path, PathBuf};

use tree_sitter::{Node, Parser};

use super::event::Of;
use crate::workspace::given::{lexical, shown};

/// How lines of a file are printed, and all of it.
pub const READS: &str = "sed -n shows them, the same command again all of it";
/// Longer commands are not looked into, in bytes.
const LONGEST: usize = 4000;
/// Programs that print lines of files.
const VIEWERS: [&str; 13] =
    ["cat", "head", "tail", "sed", "nl", "awk", "bat", "less", "echo", "more", "type", "Get-Content", "Select-Object"];
/// Programs that change the files that they are given.
const CHANGERS: [&str; 7] = ["tee", "perl", "mv", "cp", "ed", "patch", "truncate"];
/// Characters of a word by which a shell means other words.
const OF_SHELL: [char; 6] = ['*', '?', '[', '{', '~', '\\'];
/// What a redirection may be: it keeps what is printed of errors away, or puts it to the rest.
const REDIRECTIONS: [&str; 3] = ["2>/dev/null", "2>&1", "&>/dev/null"];
/// Programs that search.
const SEARCHES: [&str; 8] = ["rg", "grep", "egrep", "fgrep", "ag", "ack", "findstr", "Select-String"];
/// What a command that is no more than programs one after the other consists of.
const PLAIN: [&str; 12] = [
    "program",
    "list",
    "pipeline",
    "redirected_statement",
    "command",
    "command_name",
    "word",
    "string",
    "string_content",
    "raw_string",
    "number",
    "concatenation",
];

/// What the output of a command is of; none where the agent chose the lines of files itself.
pub fn output_of(command: &str, about: &str, cwd: &Path) -> Option<Of> {
    let other = Of::Command(command.to_owned(), about.to_owned());
    let Some(mut programs) = programs(command) else { return Some(other) };
    let mut directory = cwd.to_owned();
    if let [first, _, ..] = programs.as_slice()
        && let [name, to] = first.words.as_slice()
        && name == "cd"
    {
        directory = lexical(to, &directory);
        programs.remove(0);
    }
    let is_viewer = |words: &Vec<String>| VIEWERS.contains(&words[0].as_str());
    // What only says something, or changes files, before another program is no view, nor is what another program reads.
    let is_in_place = |word: &String| word.starts_with("-i") || word.starts_with("--in-place");
    let shows = |words: &[String]| match words[0].as_str() {
        "echo" | "type" => false,
        "sed" => !words.iter().any(is_in_place),
        _ => true,
    };
    let mut pipelines = programs.chunk_by(|_, next| next.reads_another);
    let has_view = pipelines.any(|all| shows(&all[0].words) && all.iter().all(|program| is_viewer(&program.words)));
    let is_view = has_view || !programs.is_empty() && programs.iter().all(|program| is_viewer(&program.words));
    let words: Vec<&[String]> = programs.iter().map(|program| program.words.as_slice()).collect();
    match words.as_slice() {
        [words] if words.len() == 2 && words[0] == "cat" && !words[1].starts_with('-') && !words[1].contains(OF_SHELL) => {
            Some(Of::File(shown(&lexical(&words[1], &directory)), READS))
        }
        _ if is_view => None,
        [words] if words.len() > 1 && (SEARCHES.contains(&words[0].as_str()) || words[..2] == ["git", "grep"]) => {
            let skipped = if words[0] == "git" { 2 } else { 1 };
            let pattern = words[skipped..].iter().find(|word| !word.starts_with('-'))?;
            Some(Of::Search(pattern.clone()))
        }
        _ => Some(other),
    }
}

/// Whether a command prints lines of a file, or patches it, wherever it is run.
pub fn touches(command: &str, path: &Path) -> bool {
    if !path.file_name().and_then(|name| name.to_str()).is_some_and(|name| command.contains(name)) {
        return false;
    }
    if patched(command, &["*** Update File: ", "*** Add File: "]).any(|changed| path.ends_with(changed)) {
        return true;
    }
    let Some(programs) = programs(command) else { return true }; // it may do anything
    if programs.iter().any(|program| CHANGERS.contains(&program.words[0].as_str())) {
        return true;
    }
    match output_of(command, "", Path::new("")) {
        Some(Of::File(read, _)) => path.ends_with(named(&read)),
        None => true,
        Some(_) => false,
    }
}

/// What of a relative path names the file from wherever it is: what follows its last `..`.
fn named(path: &str) -> PathBuf {
    path.rsplit("../").next().unwrap_or_default().into()
}

/// The files of a patch in Codex's form, after one of these marks.
pub fn patched<'a>(patch: &'a str, marks: &'a [&str]) -> impl Iterator<Item = &'a Path> {
    patch.lines().filter_map(|line| marks.iter().find_map(|mark| line.strip_prefix(mark))).map(Path::new)
}

/// A program with its arguments.
struct Program {
    words: Vec<String>,
    /// Whether it reads what another one prints.
    reads_another: bool,
}

/// The programs of a command; none where there is more to it than programs one after the other.
fn programs(command: &str) -> Option<Vec<Program>> {
    if command.len() > LONGEST {
        return None;
    }
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    let tree = parser.parse(command, None)?;
    let mut programs = Vec::new();
    walk(tree.root_node(), command, &mut programs)?;
    Some(programs)
}

fn walk(node: Node<'_>, command: &str, programs: &mut Vec<Program>) -> Option<()> {
    if node.kind() == "file_redirect" {
        let said: String = command[node.byte_range()].split_whitespace().collect();
        return REDIRECTIONS.contains(&said.as_str()).then_some(());
    }
    if node.is_named() && !PLAIN.contains(&node.kind()) {
        return None;
    }
    if node.kind() == "command" {
        let word = |node: Node<'_>| {
            is_plain(node).then(|| command[node.byte_range()].trim_matches(['\'', '"']).to_owned()).filter(|word| !word.is_empty())
        };
        programs.push(Program { words: node.named_children(&mut node.walk()).map(word).collect::<Option<_>>()?, reads_another: false });
        return Some(());
    }
    let from = programs.len();
    node.children(&mut node.walk()).try_for_each(|child| walk(child, command, programs))?;
    if node.kind() == "pipeline" {
        programs[from..].iter_mut().skip(1).for_each(|program| program.reads_another = true);
    }
    Some(())
}

fn is_plain(node: Node<'_>) -> bool {
    (!node.is_named() || PLAIN.contains(&node.kind())) && node.children(&mut node.walk()).all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_commands_print_is_told() {
        let top = if cfg!(windows) { "C:" } else { "" };
        let of = |command: &str| output_of(command, "", Path::new(&format!("{top}/w")));
        let file = |path: &str| Some(Of::File(format!("{top}{path}"), READS));
        assert_eq!(of("cat src/main.rs"), file("/w/src/main.rs"));
        assert_eq!(of("cd src && cat 'a b.rs'"), file("/w/src/a b.rs"));
        assert_eq!(of("cat src/../src/./main.rs"), file("/w/src/main.rs"));
        assert_eq!(of("cat src/main.rs 2>/dev/null"), file("/w/src/main.rs"));
        assert_eq!(of(&format!("cat {top}/x/a.py")), file("/x/a.py"));
        for chosen in [
            "sed -n '1,200p' src/main.rs",
            "head -300 a.rs",
            "cat a.rs | head -100",
            "nl -ba a.rs | sed -n '5,400p'",
            "cat a.rs b.rs",
            "cat -n a.rs",
            "cat src/*.rs",
            "cat ~/a.rs",
            "sed -n '1,200p' a.rs 2>/dev/null",
            "wc -l a.rs && sed -n '1,400p' a.rs",
            "sed -n '1,200p' a.rs || true",
            "git status; cat a.rs",
        ] {
            assert_eq!(of(chosen), None, "{chosen}");
        }
        for (search, pattern) in [("rg -n 'fn main' src", "fn main"), ("git grep -n foo", "foo"), ("cd a && grep -rn \"x y\" .", "x y")] {
            assert_eq!(of(search), Some(Of::Search(pattern.to_owned())), "{search}");
        }
        for other in [
            "cargo test",
            "cargo test 2>&1 | tail -400",
            "echo tests && cargo test",
            "sed -i 's/a/b/' src/lib.rs && cargo test",
            "cat cases.txt | xargs -n1 pytest",
            "type python3 && pytest -v",
            "for f in *; do cat $f; done",
            "cat $(ls)",
            "cat a > b",
            "cat <<E\nx\nE",
            "",
            "rg",
        ] {
            assert_eq!(of(other), Some(Of::Command(other.to_owned(), String::new())), "{other}");
        }
    }

    #[test]
    fn what_was_printed_or_patched_is_known() {
        let touched = |command: &str| touches(command, Path::new("/w/src/a.rs"));
        for command in [
            "cat src/a.rs",
            "sed -n 1,20p src/a.rs",
            "cat > src/a.rs <<'E'\nx\nE",
            "tee src/a.rs",
            "apply_patch <<'E'\n*** Begin Patch\n*** Update File: src/a.rs\n@@\nE",
        ] {
            assert!(touched(command), "{command}");
        }
        for command in ["cat src/b.rs", "rg x src/a.rs", "*** Update File: src/b.rs", "cargo test"] {
            assert!(!touched(command), "{command}");
        }
    }
}
