//! From subtokens to one vector a line: what the line says, and how it meets the question.
//!
//! Runs over flat lists of the subtokens that exist, so that short lines cost nothing, and computes what depends on a subtoken alone
//! once for each distinct one. Shapes: U distinct subtokens, S subtokens in the window, N lines, Q question subtokens, d vector width.

use std::collections::HashMap;
use std::ops::Range;

use candle_core::{Device, Result, Tensor};
use candle_nn::VarBuilder;
use rayon::prelude::*;

use super::Config;
use super::bias::Neighbours;
use super::product::{Matrix, Precision, Stored, whole};
use super::text::{Document, FEATURES, LEXICAL};

/// Kernel pooling (K-NRM, arXiv 1706.06613): soft counts of matches at these cosine similarities; the first one is the exact match.
const KERNELS: [(f32, f32); 7] = [(1.0, 0.03), (0.9, 0.1), (0.7, 0.1), (0.5, 0.1), (0.3, 0.1), (0.1, 0.1), (-0.1, 0.1)];
/// The similarity of a line without subtokens to anything.
const NO_MATCH: f32 = -1.0;
/// Sharpness of the pooling towards the question.
const TOWARDS: f32 = 8.0;
/// Lines each way over which a line's mean vector is compared with the question's.
const NEIGHBOURS: [usize; 3] = [0, 2, 6];
/// Lines that are worth a task of their own.
const TASK: usize = 32;

/// The trained parts of this stage.
pub struct Encoder {
    d: usize,
    /// (vocabulary, d), a step for each row, kept as it is stored: a text uses few of its rows.
    embedding: Stored,
    idf: Vec<f32>,
    conv: Convolution,
    conv2: Convolution,
    /// (d, d): both sides of a comparison go through it.
    matching: Matrix,
    /// d weights, then those of the two idf inputs, then the bias.
    match_weight: Vec<f32>,
    /// d weights, then that of idf, then the bias.
    pool: Vec<f32>,
}

/// Mixes each subtoken with its neighbours on the line.
struct Convolution {
    /// (d, 3d): the parts that read the subtoken before, at and after, side by side.
    weight: Matrix,
    bias: Vec<f32>,
}

/// A window, ready for the line model.
pub struct Encoded {
    /// (N, 4d + 3 kernels + neighbours + features)
    pub lines: Tensor,
    /// (Q, d)
    pub question: Tensor,
    /// How its lines stand to each other.
    pub neighbours: Neighbours,
}

/// Subtokens in order, as rows of the distinct ones.
struct Sequence {
    rows: Vec<usize>,
    /// Where each line begins in `rows`, then the length.
    starts: Vec<usize>,
}

impl Encoder {
    /// Reads `encoder`, `idf`, `match`, `match_weight` and `pool`.
    pub fn new(config: &Config, vb: &VarBuilder, precision: Precision) -> Result<Self> {
        let d = config.embedding;
        let inner = vb.pp("encoder");
        let flat = |name: &str, width: usize| -> Result<Vec<f32>> {
            let mut row = vb.get((1, width), &format!("{name}.weight"))?.flatten_all()?.to_vec1::<f32>()?;
            row.extend(vb.get(1, &format!("{name}.bias"))?.to_vec1::<f32>()?);
            Ok(row)
        };
        Ok(Self {
            d,
            embedding: Stored::load((config.vocabulary_size, d), config.vocabulary_size, &inner.pp("embedding"))?,
            idf: vb.get(config.vocabulary_size, "idf")?.to_vec1()?,
            conv: Convolution::new(d, &inner.pp("conv"), precision)?,
            conv2: Convolution::new(d, &inner.pp("conv2"), precision)?,
            matching: Matrix::new(Stored::load((d, d), d, &vb.pp("match"))?, precision)?,
            match_weight: flat("match_weight", d + 2)?,
            pool: flat("pool", d + 1)?,
        })
    }

    /// Width of a row of [`Encoded::lines`].
    pub fn output_width(embedding: usize) -> usize {
        4 * embedding + 3 * KERNELS.len() + NEIGHBOURS.len() + FEATURES + LEXICAL
    }

    /// Encodes the lines of `window`.
    pub fn encode(&self, document: &Document, window: Range<usize>) -> Result<Encoded> {
        let d = self.d;
        // 1. Distinct subtokens (U, d) and the sequences over them
        let mut row_of = HashMap::new();
        let mut distinct = Vec::new();
        let mut row = |id: u32| {
            *row_of.entry(id).or_insert_with(|| {
                distinct.push(id);
                distinct.len() - 1
            })
        };
        let lines = Sequence::new(document.tokens[window.clone()].iter().map(Vec::as_slice), &mut row);
        let asked = Sequence::new(std::iter::once(document.question.as_slice()), &mut row);
        let mut raw = vec![0f32; distinct.len() * d];
        for (out, id) in raw.chunks_exact_mut(d).zip(&distinct) {
            let (bytes, step) = (&self.embedding.bytes[*id as usize * d..][..d], self.embedding.steps[*id as usize]);
            out.iter_mut().zip(bytes).for_each(|(out, byte)| *out = f32::from(whole(*byte)) * step);
        }
        // 2. Subtokens mixed with their neighbours, twice: (S, d) and (Q, d)
        let mixed = product(&raw, &self.conv.weight)?;
        let contextual = |sequence: &Sequence| {
            let once = self.conv.mix(&sequence.starts, &raw, &mixed, |i| sequence.rows[i]);
            let again = product(&once, &self.conv2.weight)?;
            Ok::<_, candle_core::Error>(self.conv2.mix(&sequence.starts, &once, &again, |i| i))
        };
        let (h, hq) = (contextual(&lines)?, contextual(&asked)?);
        let q = asked.rows.len();
        // 3. How much each question subtoken matters
        let question_idf = &document.question_idf;
        let idf: Vec<f32> = document.question.iter().map(|id| self.idf[*id as usize]).collect();
        let weight: Vec<f32> = (0..q)
            .map(|i| {
                let w = &self.match_weight;
                let logit = dot(&hq[i * d..][..d], &w[..d]) + w[d] * idf[i] + w[d + 1] * question_idf[i] + w[d + 2];
                1.0 / (1.0 + (-logit).exp())
            })
            .collect();
        // 4. Similarity of every subtoken, mixed (S, Q) and as written (U, Q), to every question subtoken
        let eq: Vec<f32> = asked.rows.iter().flat_map(|r| &raw[r * d..][..d]).copied().collect();
        let similar = similarity(&product(&h, &self.matching)?, &product(&hq, &self.matching)?, d)?;
        let literal = similarity(&raw, &eq, d)?;
        // 5. One row a line
        let about = about(&hq, &weight, d);
        let normal = [normalised(&weight), normalised(&idf), normalised(question_idf)];
        let n = window.len();
        let (mut line, mut towards) = (vec![0f32; n * d], vec![0f32; n * d]);
        let (mut kernels, mut total) = (vec![0f32; n * 3 * KERNELS.len()], vec![0f32; n * d]);
        let rows = line.par_chunks_exact_mut(d).zip(towards.par_chunks_exact_mut(d)).zip(total.par_chunks_exact_mut(d));
        rows.zip(kernels.par_chunks_exact_mut(3 * KERNELS.len())).enumerate().with_min_len(TASK).for_each(
            |(i, (((line, towards), total), kernels))| {
                let span = lines.starts[i]..lines.starts[i + 1];
                let rows = &lines.rows[span.clone()];
                let vectors = &h[span.start * d..span.end * d];
                let matches = &similar[span.start * q..span.end * q];
                let best = best_match(matches.chunks_exact(q), q);
                let best_literal = best_match(rows.iter().map(|r| &literal[r * q..][..q]), q);
                count_matches(&best, &best_literal, &normal, kernels);
                let importance = vectors
                    .chunks_exact(d)
                    .zip(rows)
                    .map(|(v, r)| dot(v, &self.pool[..d]) + self.pool[d] * self.idf[distinct[*r] as usize] + self.pool[d + 1]);
                pool_into(line, vectors, importance.collect());
                let pull = matches.chunks_exact(q).map(|m| m.iter().zip(&weight).map(|(m, w)| m * w).fold(0.0, f32::max) * TOWARDS);
                pool_into(towards, vectors, pull.collect());
                vectors.chunks_exact(d).for_each(|vector| add(total, vector));
            },
        );
        let cosines = cosines(&total, &hq, d);
        let parent: Vec<usize> =
            window.clone().map(|line| document.parent[line].checked_sub(window.start).unwrap_or(line - window.start)).collect();
        let mut out = Vec::with_capacity(n * Self::output_width(d));
        for (i, position) in window.clone().enumerate() {
            let up = parent[i];
            let own = &line[i * d..][..d];
            out.extend_from_slice(own);
            out.extend_from_slice(&towards[i * d..][..d]);
            out.extend(own.iter().zip(&about).map(|(a, b)| a * b));
            out.extend_from_slice(&line[up * d..][..d]);
            out.extend_from_slice(&kernels[i * 3 * KERNELS.len()..][..3 * KERNELS.len()]);
            out.extend(cosines.iter().map(|cosines| cosines[i]));
            out.extend_from_slice(&document.features[position]);
        }
        Ok(Encoded {
            lines: Tensor::from_vec(out, (n, Self::output_width(d)), &Device::Cpu)?,
            question: Tensor::from_vec(hq, (q, d), &Device::Cpu)?,
            neighbours: Neighbours::new(&parent, lines.starts.windows(2).map(|span| &lines.rows[span[0]..span[1]]), distinct.len()),
        })
    }
}

impl Convolution {
    fn new(d: usize, vb: &VarBuilder, precision: Precision) -> Result<Self> {
        Ok(Self { weight: Matrix::new(Stored::load((d, 3 * d), 3 * d, vb)?, precision)?, bias: vb.get(d, "bias")?.to_vec1()? })
    }

    /// Each subtoken's vector plus a rectified mix of it and its neighbours on the line. `row` says where in `vectors`, and in their
    /// products with the weight `mixed`, the subtoken at a position is.
    fn mix(&self, starts: &[usize], vectors: &[f32], mixed: &[f32], row: impl Fn(usize) -> usize + Sync) -> Vec<f32> {
        let d = self.bias.len();
        let length = starts.last().copied().unwrap_or(0);
        let mut begins = vec![false; length + 1]; // does a line begin here, or the end
        starts.iter().for_each(|start| begins[*start] = true);
        let mut out = vec![0f32; length * d];
        out.par_chunks_exact_mut(d).enumerate().with_min_len(8 * TASK).for_each(|(i, out)| {
            out.copy_from_slice(&self.bias);
            let mut part = |at: usize, part: usize| add(out, &mixed[row(at) * 3 * d + part * d..][..d]);
            if !begins[i] {
                part(i - 1, 0);
            }
            part(i, 1);
            if !begins[i + 1] {
                part(i + 1, 2);
            }
            out.iter_mut().zip(&vectors[row(i) * d..][..d]).for_each(|(o, e)| *o = o.max(0.0) + e);
        });
        out
    }
}

impl Sequence {
    fn new<'a>(lines: impl Iterator<Item = &'a [u32]>, row: &mut impl FnMut(u32) -> usize) -> Self {
        let (mut rows, mut starts) = (Vec::new(), vec![0]);
        for line in lines {
            rows.extend(line.iter().map(|id| row(*id)));
            starts.push(rows.len());
        }
        Self { rows, starts }
    }
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// A vector's length, never 0.
fn length(row: &[f32]) -> f32 {
    (dot(row, row) + 1e-6).sqrt()
}

/// Rows divided by their length.
fn unit(x: &[f32], d: usize) -> Vec<f32> {
    let mut out = x.to_vec();
    out.par_chunks_exact_mut(d).with_min_len(8 * TASK).for_each(|row| {
        let scale = 1.0 / length(row);
        row.iter_mut().for_each(|value| *value *= scale);
    });
    out
}

fn add(to: &mut [f32], vector: &[f32]) {
    to.iter_mut().zip(vector).for_each(|(to, value)| *to += value);
}

/// (rows, width) times (width, columns), flat, a part of the rows on each processor.
fn product(rows: &[f32], weight: &Matrix) -> Result<Vec<f32>> {
    let (width, columns) = (weight.width(), weight.columns());
    let n = rows.len() / width;
    let size = n.div_ceil(rayon::current_num_threads()).max(4 * TASK);
    let (mut out, none) = (vec![0.0; n * columns], vec![0.0; columns]);
    let parts = out.par_chunks_mut(size * columns).zip(rows.par_chunks(size * width));
    parts.try_for_each(|(out, rows)| weight.add(out, rows, &none, false))?;
    Ok(out)
}

/// Cosines of (rows, d) with (Q, d): rows x Q, flat.
fn similarity(rows: &[f32], question: &[f32], d: usize) -> Result<Vec<f32>> {
    let question = Tensor::from_vec(unit(question, d), (question.len() / d, d), &Device::Cpu)?;
    product(&unit(rows, d), &Matrix::exact(&question.t()?)?)
}

/// Cosines of the question's mean vector with that of each line and its neighbours, for each width of [`NEIGHBOURS`].
fn cosines(total: &[f32], hq: &[f32], d: usize) -> [Vec<f32>; NEIGHBOURS.len()] {
    let mut whole = vec![0f32; d];
    hq.chunks_exact(d).for_each(|vector| add(&mut whole, vector));
    let whole = unit(&whole, d);
    NEIGHBOURS.map(|half| {
        let mut sum = vec![0f64; d];
        let line = |i: usize| &total[i * d..][..d];
        let n = total.len() / d;
        (0..half.min(n)).for_each(|i| sum.iter_mut().zip(line(i)).for_each(|(s, v)| *s += f64::from(*v)));
        (0..n)
            .map(|i| {
                if i + half < n {
                    sum.iter_mut().zip(line(i + half)).for_each(|(s, v)| *s += f64::from(*v));
                }
                if i > half {
                    sum.iter_mut().zip(line(i - half - 1)).for_each(|(s, v)| *s -= f64::from(*v));
                }
                let mean: Vec<f32> = sum.iter().map(|s| (s / (2 * half + 1) as f64) as f32).collect();
                dot(&mean, &whole) / length(&mean)
            })
            .collect()
    })
}

/// The question's weighted mean vector.
fn about(hq: &[f32], weight: &[f32], d: usize) -> Vec<f32> {
    let total = weight.iter().sum::<f32>() + 1e-4;
    let mut out = vec![0f32; d];
    for (row, w) in hq.chunks_exact(d).zip(weight) {
        out.iter_mut().zip(row).for_each(|(o, h)| *o += h * w / total);
    }
    out
}

fn normalised(weight: &[f32]) -> Vec<f32> {
    let total = weight.iter().sum::<f32>() + 1e-4;
    weight.iter().map(|w| w / total).collect()
}

fn best_match<'a>(rows: impl Iterator<Item = &'a [f32]>, q: usize) -> Vec<f32> {
    let mut best = vec![NO_MATCH; q];
    for row in rows {
        best.iter_mut().zip(row).for_each(|(b, m)| *b = b.max(*m));
    }
    best
}

/// Soft counts by learnt weight, by general idf and by idf in this text.
fn count_matches(best: &[f32], literal: &[f32], weights: &[Vec<f32>; 3], out: &mut [f32]) {
    let kernel = |x: f32, (mean, width): (f32, f32)| ((x - mean).powi(2) * (-0.5 / (width * width))).exp();
    for (k, shape) in KERNELS.into_iter().enumerate() {
        for (i, (mixed, written)) in best.iter().zip(literal).enumerate() {
            let written = kernel(*written, shape);
            out[k] += weights[0][i] * kernel(*mixed, shape);
            out[KERNELS.len() + k] += weights[1][i] * written;
            out[2 * KERNELS.len() + k] += weights[2][i] * written;
        }
    }
}

/// Softmax over `scores`, then the weighted sum of the vectors; nothing where there are none.
fn pool_into(out: &mut [f32], vectors: &[f32], mut scores: Vec<f32>) {
    let top = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    scores.iter_mut().for_each(|score| *score = (*score - top).exp());
    let total: f32 = scores.iter().sum();
    for (vector, score) in vectors.chunks_exact(out.len()).zip(&scores) {
        out.iter_mut().zip(vector).for_each(|(o, v)| *o += v * score / total);
    }
}
