//! What is added to the attention of one line to another, learnt for their distance, their place in the tree of blocks and the words they share.
//!
//! The same as `Skimmer.bias` in `training/model.py`. Lines are those of one window.

use std::ops::Range;

use candle_core::{Device, Result, Tensor};
use candle_nn::VarBuilder;

use super::ALONE;

const DISTANCE_BUCKETS: usize = 32; // each way
/// What line j can be to line i: itself, the line that encloses it, one further out, one beside it in the same block, one that it encloses,
/// one further in.
const RELATIONS: usize = 6;
/// Blocks within blocks that are told apart.
const DEEPEST: usize = 12;

/// The learnt weights, a row for each attention head.
pub struct Bias {
    /// For the distances `1 - ALONE..ALONE`.
    distance: Vec<Vec<f32>>,
    /// The last is that of unrelated lines, 0.
    relation: Vec<[f32; RELATIONS + 1]>,
    shared: Vec<f32>,
}

/// How the lines of a window stand to each other.
pub struct Neighbours {
    lines: usize,
    /// What line j is to line i, at i * lines + j.
    relations: Vec<u8>,
    /// The distinct subtokens of each line, and the inverse length of their vector.
    words: Vec<(Vec<usize>, f32)>,
    /// The lines that have each subtoken, and the square of its weight.
    lines_with: Vec<(Vec<usize>, f32)>,
}

impl Neighbours {
    /// `parent`: the line that encloses each line, itself at the top; `tokens`: the subtokens of each line as numbers below `distinct`.
    pub fn new<'a>(parent: &[usize], tokens: impl Iterator<Item = &'a [usize]>, distinct: usize) -> Self {
        let n = parent.len();
        let mut words: Vec<(Vec<usize>, f32)> = vec![(Vec::new(), 0.0); n];
        let mut lines_with: Vec<(Vec<usize>, f32)> = vec![(Vec::new(), 0.0); distinct];
        for (line, tokens) in tokens.enumerate() {
            for token in tokens {
                let lines = &mut lines_with[*token].0;
                if lines.last() != Some(&line) {
                    lines.push(line);
                    words[line].0.push(*token);
                }
            }
        }
        for (lines, weight) in lines_with.iter_mut().filter(|(lines, _)| !lines.is_empty()) {
            *weight = (n as f32 / lines.len() as f32).ln().powi(2);
        }
        for (words, scale) in &mut words {
            *scale = 1.0 / (words.iter().map(|word| lines_with[*word].1).sum::<f32>() + 1e-6).sqrt();
        }
        Self { lines: n, relations: relations(parent), words, lines_with }
    }

    /// Cosines of line `i` with each line.
    fn shared(&self, i: usize) -> Vec<f32> {
        let mut out = vec![0.0; self.lines];
        let (words, scale) = &self.words[i];
        for (lines, weight) in words.iter().map(|word| &self.lines_with[*word]) {
            lines.iter().for_each(|line| out[*line] += weight);
        }
        out.iter_mut().zip(&self.words).for_each(|(sum, (_, other))| *sum *= scale * other);
        out[i] = 0.0;
        out
    }
}

impl Bias {
    /// Reads `distance` (H, 65), `relation` (H, 6) and `shared` (H, 1).
    pub fn new(heads: usize, vb: &VarBuilder) -> Result<Self> {
        let most = DISTANCE_BUCKETS as f32;
        let bucket = |apart: usize| ((1.0 + apart as f32).log2() * 4.0 + 0.5).floor().min(most) as usize;
        let spread = |head: Vec<f32>| {
            let before = (1..ALONE).rev().map(|apart| head[DISTANCE_BUCKETS - bucket(apart)]);
            before.chain((0..ALONE).map(|apart| head[DISTANCE_BUCKETS + bucket(apart)])).collect()
        };
        let relation = |head: Vec<f32>| std::array::from_fn(|i| head.get(i).copied().unwrap_or(0.0));
        Ok(Self {
            distance: vb.get((heads, 2 * DISTANCE_BUCKETS + 1), "distance")?.to_vec2()?.into_iter().map(spread).collect(),
            relation: vb.get((heads, RELATIONS), "relation")?.to_vec2()?.into_iter().map(relation).collect(),
            shared: vb.get((heads, 1), "shared")?.flatten_all()?.to_vec1()?,
        })
    }

    /// (H, rows, n) for some rows of a window's lines.
    pub fn rows(&self, neighbours: &Neighbours, rows: Range<usize>) -> Result<Tensor> {
        let n = neighbours.lines;
        let shared: Vec<_> = rows.clone().map(|i| neighbours.shared(i)).collect();
        let mut out = Vec::with_capacity(self.shared.len() * rows.len() * n);
        for ((distance, relation), weight) in self.distance.iter().zip(&self.relation).zip(&self.shared) {
            for (i, shared) in rows.clone().zip(&shared) {
                let (distance, relations) = (&distance[ALONE - 1 - i..][..n], &neighbours.relations[i * n..][..n]);
                out.extend(distance.iter().zip(relations).zip(shared).map(|((d, r), s)| d + relation[usize::from(*r)] + weight * s));
            }
        }
        Tensor::from_vec(out, (self.shared.len(), rows.len(), n), &Device::Cpu)
    }
}

/// For each pair of lines which of [`RELATIONS`], or none, the second is to the first.
fn relations(parent: &[usize]) -> Vec<u8> {
    let n = parent.len();
    let in_block = |line: usize| parent[line] != line;
    let mut out = vec![RELATIONS as u8; n * n];
    for i in (0..n).filter(|i| in_block(*i)) {
        (0..n).filter(|j| parent[*j] == parent[i] && in_block(*j)).for_each(|j| out[i * n + j] = 3);
    }
    for i in 0..n {
        out[i * n + i] = 0;
        let above = std::iter::successors(Some(i), |line| Some(parent[*line]).filter(|up| up != line)).skip(1).take(DEEPEST);
        for (step, up) in above.enumerate() {
            out[i * n + up] = if step == 0 { 1 } else { 2 };
            out[up * n + i] = if step == 0 { 4 } else { 5 };
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relations_are_those_of_the_tree() {
        let all = relations(&[0, 0, 1, 1, 0, 5]);
        let of = |i: usize| &all[i * 6..][..6];
        assert_eq!(of(0), [0, 4, 5, 5, 4, 6]);
        assert_eq!(of(1), [1, 0, 4, 4, 3, 6]);
        assert_eq!(of(2), [2, 1, 0, 3, 6, 6]);
        assert_eq!(of(5), [6, 6, 6, 6, 6, 0]);
    }

    #[test]
    fn lines_share_their_rare_words() {
        let tokens: [&[usize]; 4] = [&[0, 1, 1], &[1, 2], &[2, 2], &[]];
        let lines = Neighbours::new(&[0, 1, 2, 3], tokens.into_iter(), 3);
        let (rare, common) = (4f32.ln(), 2f32.ln());
        let length = |bag: &[f32]| bag.iter().map(|x| x * x).sum::<f32>().sqrt();
        let expected = common * common / (length(&[rare, common]) * length(&[common, common]));
        let shared = lines.shared(0);
        assert!((shared[1] - expected).abs() < 1e-5 && shared[0] == 0.0 && shared[2] == 0.0 && shared[3] == 0.0, "{shared:?} {expected}");
    }
}
