//! The study's control: a map of the same length, of files and symbols drawn at random from the same repository.

use std::sync::Arc;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::repository::Repository;
use super::{Closure, Entry, Map, Node, Options, by_closure, cut, render, shown};
use crate::syntax::Language;
use crate::tokens::cl100k;

/// Tokens beyond the wanted number up to which symbols are written before the map is cut to it.
const BEYOND: usize = 300;

/// A map of `tokens` tokens that has nothing to do with any task: as many roots, random files with random targets, random symbols.
pub fn random(roots: &[String], shape: &Closure, repository: &Repository<'_>, seed: u64, tokens: usize, options: &Options) -> Map {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let languages: Vec<_> = shape.nodes.iter().map(|node| Language::of(&node.path)).collect();
    let mut files: Vec<String> = repository.all().iter().filter(|file| languages.contains(&Language::of(file))).cloned().collect();
    files.shuffle(&mut rng);
    let roots: Vec<String> = files.iter().take(roots.len()).cloned().collect();
    let nodes: Vec<Node> = files
        .iter()
        .enumerate()
        .map(|(i, path)| {
            let like = shape.nodes.get(i);
            let targets = like.map_or(0, |node| node.imports.len()).min(files.len().saturating_sub(1));
            let picked = rand::seq::index::sample(&mut rng, files.len(), targets + usize::from(targets > 0));
            let imports = picked.into_iter().map(|other| files[other].clone()).filter(|other| other != path).take(targets).collect();
            Node { path: path.clone(), depth: like.map_or(super::DEPTH, |node| node.depth), imports, symbols: Arc::default() }
        })
        .collect();
    let closure = Closure { nodes, skipped: Vec::new() };
    let mut entries = Vec::new();
    for (file, node) in closure.nodes.iter().enumerate() {
        let Ok(parsed) = repository.parsed(&node.path) else { continue };
        entries.extend(parsed.symbols.iter().map(|symbol| Entry { file, symbol: symbol.clone() }));
        if entries.iter().map(|entry: &Entry| entry.symbol.signature.len() / 3).sum::<usize>() > 4 * tokens {
            break; // enough to choose from
        }
    }
    let mut order = by_closure(&entries);
    let top = entries.iter().filter(|entry| !entry.symbol.member).count();
    order[..top].shuffle(&mut rng);
    order[top..].shuffle(&mut rng);
    let map = render(&roots, &closure, &entries, &order, options, tokens + BEYOND, "");
    let text = cut(map.text, tokens);
    Map { tokens: cl100k(&text), shown: shown(&text), text, ..map }
}
