//! The files of one root as the map sees them: by path, read once, parsed once.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Mutex;

use tokio_util::sync::CancellationToken;
use tree_sitter::Tree;

use crate::prune::language::Language;
use crate::workspace::text::{LARGEST, read};
use crate::workspace::{Location, Workspace};

/// Larger files are made by programs and say little about a repository, in bytes.
const LARGEST_SOURCE: u64 = 1_000_000;

/// A parsed file.
pub struct Source {
    /// Its text.
    pub text: String,
    /// Its language.
    pub language: Language,
    /// Its syntax.
    pub tree: Tree,
}

/// Why a file is not in the map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Skipped {
    /// It does not parse.
    Syntax,
    /// It is too large to have been written by hand.
    Large,
    /// It cannot be read, or is in no language that is known.
    Unreadable,
}

/// The files beneath one root. Paths are relative to it, with slashes.
pub struct Repository<'a> {
    workspace: &'a Workspace,
    base: Location,
    cancel: &'a CancellationToken,
    exists: RefCell<HashMap<String, bool>>,
    sources: RefCell<HashMap<String, Result<Rc<Source>, Skipped>>>,
    all: OnceCell<Vec<String>>,
}

impl<'a> Repository<'a> {
    /// The repository that a place is in.
    pub fn new(workspace: &'a Workspace, place: &Location, cancel: &'a CancellationToken) -> Self {
        let base = workspace.beside(place, "");
        Self { workspace, base, cancel, exists: RefCell::default(), sources: RefCell::default(), all: OnceCell::new() }
    }

    /// The path of a place in this repository.
    pub fn path_of(&self, place: &Location) -> String {
        Workspace::relative(place)
    }

    /// Whether there is a file of this path.
    pub fn is_file(&self, path: &str) -> bool {
        if let Some(known) = self.exists.borrow().get(path) {
            return *known;
        }
        let found = !path.is_empty() && self.workspace.is_file(&self.workspace.beside(&self.base, path));
        self.exists.borrow_mut().insert(path.to_owned(), found);
        found
    }

    /// Whether there is a directory of this path.
    pub fn is_directory(&self, path: &str) -> bool {
        let key = format!("{path}/");
        if let Some(known) = self.exists.borrow().get(&key) {
            return *known;
        }
        let found = !path.is_empty() && self.workspace.is_directory_at(&self.workspace.beside(&self.base, path));
        self.exists.borrow_mut().insert(key, found);
        found
    }

    /// Whether the call was withdrawn.
    pub fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// A file, parsed.
    ///
    /// # Errors
    /// Why it is not in the map.
    pub fn source(&self, path: &str) -> Result<Rc<Source>, Skipped> {
        if let Some(known) = self.sources.borrow().get(path) {
            return known.clone();
        }
        let source = self.parse(path).map(Rc::new);
        self.sources.borrow_mut().insert(path.to_owned(), source.clone());
        source
    }

    fn parse(&self, path: &str) -> Result<Source, Skipped> {
        let language = Language::of(path).ok_or(Skipped::Unreadable)?;
        let open = self.workspace.open_location(&self.workspace.beside(&self.base, path)).map_err(|_| Skipped::Unreadable)?;
        if open.bytes > LARGEST_SOURCE.min(LARGEST) {
            return Err(Skipped::Large);
        }
        let text = read(open, None, None, self.cancel).map_err(|_| Skipped::Unreadable)?.text.as_str().to_owned();
        let tree = language.parser().parse(&text, None).ok_or(Skipped::Syntax)?;
        // Other grammars find errors in valid code, macros above all.
        if language == Language::Python && (tree.root_node().has_error() || is_no_python(tree.root_node())) {
            return Err(Skipped::Syntax);
        }
        Ok(Source { text, language, tree })
    }

    /// What follows `start` on the first line of a file that begins with it.
    pub fn line_of(&self, path: &str, start: &str) -> Option<String> {
        let open = self.workspace.open_location(&self.workspace.beside(&self.base, path)).ok()?;
        let text = read(open, None, None, self.cancel).ok()?.text;
        text.as_str().lines().find_map(|line| line.strip_prefix(start).map(str::to_owned))
    }

    /// All files in known languages, in order; .gitignore and its kin respected.
    pub fn all(&self) -> &[String] {
        self.all.get_or_init(|| {
            let found = Mutex::new(Vec::new());
            let visit = |place: Location| {
                let path = Workspace::relative(&place);
                if Language::of(&path).is_some() {
                    found.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(path);
                }
            };
            // Without a glob there is nothing to refuse.
            let _ = self.workspace.walk(&self.base, None, self.cancel, visit);
            let mut found = found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
            found.sort_unstable();
            found
        })
    }
}

/// What the grammar takes and Python does not: statements of Python 2, and blocks without any.
fn is_no_python(root: tree_sitter::Node<'_>) -> bool {
    let mut found = false;
    walk(root, &mut |node| {
        found |= matches!(node.kind(), "print_statement" | "exec_statement") || node.kind() == "block" && node.named_child_count() == 0;
        !is_expression(node.kind())
    });
    found
}

/// Nodes of Python in which there are no statements, but for those of lambdas, which are none.
pub fn is_expression(kind: &str) -> bool {
    matches!(
        kind,
        "expression_statement"
            | "return_statement"
            | "parameters"
            | "argument_list"
            | "decorator"
            | "assert_statement"
            | "delete_statement"
    )
}

/// Calls `visit` on a node and, where it says so, on everything in it, in order.
pub fn walk<'t>(root: tree_sitter::Node<'t>, visit: &mut impl FnMut(tree_sitter::Node<'t>) -> bool) {
    let mut cursor = root.walk();
    loop {
        if visit(cursor.node()) && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return;
            }
        }
    }
}

/// The directory of a path; empty at the top.
pub fn directory(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}

/// A path below a directory, `.` and `..` resolved; `None` for one that leads out of the repository.
pub fn join(directory: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = directory.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}
