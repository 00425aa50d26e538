//! Interface-rooted repository maps, as in "Interface-Rooted Repo Maps for Token-Efficient Coding Agents: A Negative Result" (FARS).
//!
//! From the files that a task names, the files they import, three steps far; of those the signatures, nearest first, until 1,500 tokens are
//! used up. Put before a task such a map cost agents 20.8 % more tokens, so here it is a tool that is asked for, and [`control`] makes the
//! random map it has to beat. Beyond the study: other languages than Python, members of classes, and an order by what a question asks for.

pub mod control;
mod manifest;
pub mod repository;
pub mod resolve;
pub mod symbols;
pub mod task;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, LazyLock};

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use self::repository::{Repository, Skipped};
use self::symbols::Symbol;
use crate::error::one_line;
use crate::tokens::cl100k;

/// How far from a root a file may be, in imports.
pub const DEPTH: usize = 3;
/// cl100k tokens of a map, unless another number is asked for.
pub const TOKENS: usize = 1500;
/// Fewer make no map.
pub const LEAST_TOKENS: usize = 100;

/// The threads that read files: they wait for those who parse, and what is skimmed is not to wait for them.
static READERS: LazyLock<ThreadPool> = LazyLock::new(|| ThreadPoolBuilder::new().build().expect("threads can be started"));

/// What a map is made of.
#[derive(Debug, Clone)]
pub struct Options {
    /// cl100k tokens, as the map says of itself.
    pub max_tokens: usize,
    /// Written before every path, as the study has `/testbed/`.
    pub prefix: String,
    /// Files whose symbols the reader knows already.
    pub known: BTreeSet<String>,
}

/// A file in the closure.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Node {
    /// Its path.
    pub path: String,
    /// Imports from the nearest root to it.
    pub depth: usize,
    /// The files of the closure that it imports.
    pub imports: Vec<String>,
    /// What it offers.
    #[serde(skip)]
    pub symbols: Arc<[Symbol]>,
}

/// The files that can be reached from the roots.
#[derive(Debug, Default, serde::Serialize)]
pub struct Closure {
    /// In the order of the map: by depth, then by how many imports begin or end there, then by path.
    pub nodes: Vec<Node>,
    /// Files that are left out, and why.
    pub skipped: Vec<(String, Skipped)>,
}

/// Follows imports from the roots, breadth first; each file is parsed when it is reached, those of one depth at the same time.
pub fn closure(roots: &[String], repository: &Repository<'_>) -> Closure {
    let mut found = Closure::default();
    let mut reached: HashSet<String> = roots.iter().cloned().collect();
    let mut level = roots.to_vec();
    for depth in 0..=DEPTH {
        let read = |path: &String| {
            if repository.is_cancelled() {
                return Err(Skipped::Unreadable); // and so is the rest: nobody will see it
            }
            let file = repository.parsed(path)?;
            Ok((resolve::files(path, &file.imports, repository), Arc::clone(&file.symbols)))
        };
        let all: Vec<Result<_, Skipped>> = READERS.install(|| level.par_iter().with_max_len(1).map(read).collect());
        let mut next = Vec::new();
        for (path, file) in level.into_iter().zip(all) {
            match file {
                Ok((imports, symbols)) => {
                    next.extend(imports.iter().filter(|import| reached.insert((*import).clone())).cloned());
                    found.nodes.push(Node { path, depth, imports, symbols });
                }
                Err(why) => found.skipped.push((path, why)),
            }
        }
        level = next;
    }
    let inside: HashSet<String> = found.nodes.iter().map(|node| node.path.clone()).collect();
    let mut degree: HashMap<String, usize> = HashMap::new();
    for node in &mut found.nodes {
        node.imports.retain(|import| inside.contains(import));
        *degree.entry(node.path.clone()).or_default() += node.imports.len();
        node.imports.iter().for_each(|import| *degree.entry(import.clone()).or_default() += 1);
    }
    let degree = |node: &Node| degree.get(&node.path).copied().unwrap_or_default();
    found.nodes.sort_by(|a, b| a.depth.cmp(&b.depth).then(degree(b).cmp(&degree(a))).then(a.path.cmp(&b.path)));
    found
}

/// A symbol and the file it is in.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Place of its file in the closure.
    pub file: usize,
    /// The symbol.
    pub symbol: Symbol,
}

/// What a map may show, file by file in the order of the closure.
pub fn entries(closure: &Closure, options: &Options) -> Vec<Entry> {
    let unknown = closure.nodes.iter().enumerate().filter(|(_, node)| !options.known.contains(&node.path));
    unknown.flat_map(|(file, node)| node.symbols.iter().map(move |symbol| Entry { file, symbol: symbol.clone() })).collect()
}

/// A map as text.
#[derive(Debug, serde::Serialize)]
pub struct Map {
    /// The text, ended by a newline.
    pub text: String,
    /// Its cl100k tokens.
    pub tokens: usize,
    /// Symbols in it.
    pub shown: usize,
    /// Symbols there were to choose from.
    pub symbols: usize,
}

/// Renders a map: entries in the order given until `limit` tokens are used up, each below its file, in the order of the closure, a member below
/// what it belongs to. `tail` follows the map and counts as well.
pub fn render(roots: &[String], closure: &Closure, entries: &[Entry], order: &[usize], options: &Options, limit: usize, tail: &str) -> Map {
    let name = |path: &str| one_line(&format!("{}{path}", options.prefix));
    let limit_of_symbols = limit.saturating_sub(cl100k(tail));
    let mut head = Head::new("[IR-RepoMap | auto-generated]\nInterface roots:\n");
    head.list(roots.iter().map(|root| format!("- {}", name(root))), limit_of_symbols / 4);
    head.push(&format!("\nImport closure (depth<={DEPTH}, budget<={} tokens):\n", options.max_tokens));
    let edges = closure.nodes.iter().filter(|node| !node.imports.is_empty()).map(|node| {
        let imports: Vec<_> = node.imports.iter().map(|import| name(import)).collect();
        format!("- {} -> {}", name(&node.path), imports.join(", "))
    });
    head.list(edges, limit_of_symbols / 2);
    head.push("\nSymbols:\n");
    let write = |chosen: &BTreeSet<usize>| {
        let mut text = head.text.clone();
        let mut file = None;
        for entry in chosen.iter().map(|entry| &entries[*entry]) {
            if file != Some(entry.file) {
                text.push_str(&format!("{}\n", name(&closure.nodes[entry.file].path)));
                file = Some(entry.file);
            }
            text.push_str(&format!("{}\n", entry.symbol.line()));
        }
        text.push_str(tail);
        text
    };
    let owner = |entry: usize| (0..entry).rev().find(|other| !entries[*other].symbol.member).filter(|_| entries[entry].symbol.member);
    let (mut chosen, mut files, mut used) = (BTreeSet::new(), HashSet::new(), head.tokens);
    let mut last = Vec::new();
    for &entry in order {
        let file = entries[entry].file;
        let new: Vec<usize> = owner(entry).into_iter().chain([entry]).filter(|entry| !chosen.contains(entry)).collect();
        let heading = if files.contains(&file) { 0 } else { cl100k(&format!("{}\n", name(&closure.nodes[file].path))) };
        let cost = heading + new.iter().map(|entry| cl100k(&format!("{}\n", entries[*entry].symbol.line()))).sum::<usize>();
        if used + cost > limit_of_symbols {
            break;
        }
        used += cost;
        files.insert(file);
        chosen.extend(&new);
        last.extend(new);
    }
    // Tokens across line ends may add up to a few more than those of the lines.
    let mut text = write(&chosen);
    while cl100k(&text) > limit
        && let Some(entry) = last.pop()
    {
        chosen.remove(&entry);
        text = write(&chosen);
    }
    let text = cut(text, limit);
    Map { tokens: cl100k(&text), shown: shown(&text), symbols: entries.len(), text }
}

/// How many symbols are in the text of a map.
fn shown(text: &str) -> usize {
    let symbols = text.split_once("\nSymbols:\n").map_or("", |(_, symbols)| symbols);
    symbols.lines().filter(|line| line.trim_start().starts_with("- ")).count()
}

/// The beginning of a map, and its tokens.
struct Head {
    text: String,
    tokens: usize,
}

impl Head {
    fn new(text: &str) -> Self {
        Self { text: text.to_owned(), tokens: cl100k(text) }
    }

    fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.tokens += cl100k(text);
    }

    /// Lines until there are `limit` tokens in all, lists that do not fit cut at a comma, and how many more there are.
    fn list(&mut self, lines: impl Iterator<Item = String>, limit: usize) {
        let mut left_out = 0;
        for line in lines {
            let line = format!("{line}\n");
            if left_out == 0 && self.tokens + cl100k(&line) <= limit {
                self.push(&line);
            } else {
                if left_out == 0 && line.contains(", ") && self.tokens < limit {
                    let part = cut(line, limit - self.tokens);
                    if let Some((part, _)) = part.rsplit_once(", ") {
                        self.push(&format!("{part}, …\n"));
                        continue;
                    }
                }
                left_out += 1;
            }
        }
        if left_out > 0 {
            self.push(&format!("- … {left_out} more\n"));
        }
    }
}

/// The beginning of a text that has so many tokens at most, ended by a newline where it is cut.
pub fn cut(text: String, limit: usize) -> String {
    if cl100k(&text) <= limit {
        return text;
    }
    let bounds: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    // As good as monotonous: a longer beginning has more tokens, but for a few at its end.
    let mut fits = bounds.partition_point(|end| cl100k(&text[..*end]) < limit);
    loop {
        let part = format!("{}\n", text[..bounds[fits.min(bounds.len() - 1)]].trim_end());
        if fits == 0 || cl100k(&part) <= limit {
            return part;
        }
        fits -= 1;
    }
}

/// The study's order: as the closure has the files, top levels before members.
pub fn by_closure(entries: &[Entry]) -> Vec<usize> {
    let (members, top): (Vec<usize>, Vec<usize>) = (0..entries.len()).partition(|entry| entries[*entry].symbol.member);
    top.into_iter().chain(members).collect()
}
