//! The study's control: a map of the same length, of files and symbols drawn at random from the same repository.

use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

use super::repository::Repository;
use super::{Closure, Entry, Map, Node, Options, count, render};
use crate::prune::language::Language;
use crate::repomap::symbols::symbols;

/// How far from the map's tokens the control's may be, in parts of them.
const CLOSE: f64 = 0.02;

/// A map of `tokens` tokens that has nothing to do with any task: as many roots, random files with random targets, random symbols.
pub fn random(roots: &[String], shape: &Closure, repository: &Repository<'_>, seed: u64, tokens: usize, options: &Options) -> Map {
    let mut rng = StdRng::seed_from_u64(seed);
    let languages: Vec<_> = shape.nodes.iter().map(|node| Language::of(&node.path)).collect();
    let mut files: Vec<String> = repository.all().iter().filter(|file| languages.contains(&Language::of(file))).cloned().collect();
    files.shuffle(&mut rng);
    let roots: Vec<String> = files.iter().take(roots.len()).cloned().collect();
    let nodes: Vec<Node> = files
        .iter()
        .enumerate()
        .map(|(i, path)| {
            let like = shape.nodes.get(i);
            let targets = like.map_or(0, |node| node.imports.len());
            let mut others = files.clone();
            others.partial_shuffle(&mut rng, targets.min(files.len()));
            let imports = others.into_iter().rev().filter(|other| other != path).take(targets).collect();
            Node { path: path.clone(), depth: like.map_or(super::DEPTH, |node| node.depth), imports }
        })
        .collect();
    let closure = Closure { nodes, skipped: Vec::new() };
    let mut entries = Vec::new();
    for (file, node) in closure.nodes.iter().enumerate() {
        let Ok(source) = repository.source(&node.path) else { continue };
        entries.extend(symbols(&source).into_iter().map(|symbol| Entry { file, symbol }));
        if entries.iter().map(|entry: &Entry| entry.symbol.signature.len() / 3).sum::<usize>() > 4 * tokens {
            break; // enough to choose from
        }
    }
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.shuffle(&mut rng);
    let options = Options { max_tokens: tokens, reserved: 0, ..options.clone() };
    let mut map = render(&roots, &closure, &entries, &order, &options);
    // The last symbol that did not fit is replaced by shorter ones until the map is as long as the other.
    let mut tried = 0;
    while (map.tokens as f64) < tokens as f64 * (1.0 - CLOSE) && tried < order.len() {
        let shown = map.shown;
        if shown < order.len() {
            let refused = order.remove(shown);
            order.push(refused);
        }
        tried += 1;
        let next = render(&roots, &closure, &entries, &order, &options);
        if next.tokens > map.tokens {
            map = next;
        }
    }
    debug_assert!(map.tokens <= tokens && map.tokens == count(&map.text));
    map
}
