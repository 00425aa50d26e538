//! From subtokens to one vector a line: what the line says, and how it meets the question.
//!
//! Runs over flat lists of the subtokens that exist, so that short lines cost nothing, and computes what depends on a subtoken alone
//! once for each distinct one. Shapes: U distinct subtokens, S subtokens in the window, N lines, Q question subtokens, d vector width.

use std::collections::HashMap;
use std::ops::Range;

use candle_core::{DType, Device, Result, Tensor};
use candle_nn::VarBuilder;
use half::f16;
use half::slice::HalfFloatSliceExt;

use super::Config;
use super::text::{Document, FEATURES, LEXICAL};

/// Kernel pooling (K-NRM, arXiv 1706.06613): soft counts of matches at these cosine similarities; the first one is the exact match.
const KERNELS: [(f32, f32); 7] = [(1.0, 0.03), (0.9, 0.1), (0.7, 0.1), (0.5, 0.1), (0.3, 0.1), (0.1, 0.1), (-0.1, 0.1)];
/// The similarity of a line without subtokens to anything.
const NO_MATCH: f32 = -1.0;
/// Sharpness of the pooling towards the question.
const TOWARDS: f32 = 8.0;

/// The trained parts of this stage.
pub struct Encoder {
    d: usize,
    /// (vocabulary, d), kept in half precision: a text uses few of its rows.
    embedding: Vec<f16>,
    idf: Vec<f32>,
    /// (d, 3d): the parts of the convolution that read the subtoken before, at and after, side by side.
    conv: Tensor,
    conv_bias: Vec<f32>,
    /// d weights, then those of the two idf inputs, then the bias.
    match_weight: Vec<f32>,
    /// d weights, then that of idf, then the bias.
    pool: Vec<f32>,
}

/// A window, ready for the line model.
pub struct Encoded {
    /// (N, 4d + 3 kernels + features)
    pub lines: Tensor,
    /// (Q, d)
    pub question: Tensor,
}

/// Subtokens in order, as rows of the distinct ones.
struct Sequence {
    rows: Vec<usize>,
    /// Where each line begins in `rows`, then the length.
    starts: Vec<usize>,
}

impl Encoder {
    /// Reads `embedding`, `idf`, `conv`, `match_weight` and `pool`.
    pub fn new(config: &Config, vb: &VarBuilder) -> Result<Self> {
        let d = config.embedding;
        let table = vb.get_with_hints_dtype((config.vocabulary_size, d), "embedding.weight", Default::default(), DType::F16)?;
        let conv = vb.get((d, 3 * d), "conv.weight")?;
        let parts: Vec<_> = (0..3).map(|i| conv.narrow(1, i * d, d)?.t()).collect::<Result<_>>()?;
        let flat = |name: &str, width: usize| -> Result<Vec<f32>> {
            let mut row = vb.get((1, width), &format!("{name}.weight"))?.flatten_all()?.to_vec1::<f32>()?;
            row.extend(vb.get(1, &format!("{name}.bias"))?.to_vec1::<f32>()?);
            Ok(row)
        };
        Ok(Self {
            d,
            embedding: table.flatten_all()?.to_vec1()?,
            idf: vb.get(config.vocabulary_size, "idf")?.to_vec1()?,
            conv: Tensor::cat(&parts, 1)?.contiguous()?,
            conv_bias: vb.get(d, "conv.bias")?.to_vec1()?,
            match_weight: flat("match_weight", d + 2)?,
            pool: flat("pool", d + 1)?,
        })
    }

    /// Width of a row of [`Encoded::lines`].
    pub fn output_width(embedding: usize) -> usize {
        4 * embedding + 3 * KERNELS.len() + FEATURES + LEXICAL
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
            self.embedding[*id as usize * d..][..d].convert_to_f32_slice(out);
        }
        let raw_tensor = Tensor::from_slice(&raw, (distinct.len(), d), &Device::Cpu)?;
        let mixed = raw_tensor.matmul(&self.conv)?.flatten_all()?.to_vec1::<f32>()?;
        // 2. Subtokens mixed with their neighbours: (S, d) and (Q, d)
        let h = self.contextual(&lines, &raw, &mixed);
        let hq = self.contextual(&asked, &raw, &mixed);
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
        let hq_unit = Tensor::from_vec(unit(&hq, d), (q, d), &Device::Cpu)?;
        let eq: Vec<f32> = asked.rows.iter().flat_map(|r| &raw[r * d..][..d]).copied().collect();
        let eq_unit = Tensor::from_vec(unit(&eq, d), (q, d), &Device::Cpu)?;
        let similar = similarity(&unit(&h, d), &hq_unit)?;
        let literal = similarity(&unit(&raw, d), &eq_unit)?;
        // 5. One row a line
        let about = about(&hq, &weight, d);
        let normal = [normalised(&weight), normalised(&idf), normalised(question_idf)];
        let n = window.len();
        let (mut line, mut towards) = (vec![0f32; n * d], vec![0f32; n * d]);
        let mut kernels = Vec::with_capacity(n * 3 * KERNELS.len());
        for i in 0..n {
            let span = lines.starts[i]..lines.starts[i + 1];
            let rows = &lines.rows[span.clone()];
            let vectors = &h[span.start * d..span.end * d];
            let matches = &similar[span.start * q..span.end * q];
            let best = best_match(matches.chunks_exact(q), q);
            let best_literal = best_match(rows.iter().map(|r| &literal[r * q..][..q]), q);
            count_matches(&best, &best_literal, &normal, &mut kernels);
            let importance = vectors
                .chunks_exact(d)
                .zip(rows)
                .map(|(v, r)| dot(v, &self.pool[..d]) + self.pool[d] * self.idf[distinct[*r] as usize] + self.pool[d + 1]);
            pool_into(&mut line[i * d..][..d], vectors, importance.collect());
            let pull = matches.chunks_exact(q).map(|m| m.iter().zip(&weight).map(|(m, w)| m * w).fold(0.0, f32::max) * TOWARDS);
            pool_into(&mut towards[i * d..][..d], vectors, pull.collect());
        }
        let mut out = Vec::with_capacity(n * Self::output_width(d));
        for (i, position) in window.clone().enumerate() {
            let parent = document.parent[position];
            let up = if parent < window.start { i } else { parent - window.start };
            let own = &line[i * d..][..d];
            out.extend_from_slice(own);
            out.extend_from_slice(&towards[i * d..][..d]);
            out.extend(own.iter().zip(&about).map(|(a, b)| a * b));
            out.extend_from_slice(&line[up * d..][..d]);
            out.extend_from_slice(&kernels[i * 3 * KERNELS.len()..][..3 * KERNELS.len()]);
            out.extend_from_slice(&document.features[position]);
        }
        Ok(Encoded {
            lines: Tensor::from_vec(out, (n, Self::output_width(d)), &Device::Cpu)?,
            question: Tensor::from_vec(hq, (q, d), &Device::Cpu)?,
        })
    }

    /// Each subtoken's vector plus a rectified mix of it and its neighbours on the line.
    fn contextual(&self, sequence: &Sequence, raw: &[f32], mixed: &[f32]) -> Vec<f32> {
        let d = self.d;
        let mut out = vec![0f32; sequence.rows.len() * d];
        for span in sequence.starts.windows(2) {
            let rows = &sequence.rows[span[0]..span[1]];
            for (i, row) in rows.iter().enumerate() {
                let out = &mut out[(span[0] + i) * d..][..d];
                out.copy_from_slice(&self.conv_bias);
                let mut add =
                    |row: usize, part: usize| mixed[row * 3 * d + part * d..][..d].iter().zip(&mut *out).for_each(|(m, o)| *o += m);
                if i > 0 {
                    add(rows[i - 1], 0);
                }
                add(*row, 1);
                if let Some(after) = rows.get(i + 1) {
                    add(*after, 2);
                }
                out.iter_mut().zip(&raw[row * d..][..d]).for_each(|(o, e)| *o = o.max(0.0) + e);
            }
        }
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

/// Rows divided by their length.
fn unit(x: &[f32], d: usize) -> Vec<f32> {
    x.chunks_exact(d)
        .flat_map(|row| {
            let scale = 1.0 / (dot(row, row) + 1e-6).sqrt();
            row.iter().map(move |value| value * scale)
        })
        .collect()
}

/// (rows, d) against (Q, d): rows x Q, flat.
fn similarity(rows: &[f32], question: &Tensor) -> Result<Vec<f32>> {
    let (_, d) = question.dims2()?;
    let rows = Tensor::from_slice(rows, (rows.len() / d, d), &Device::Cpu)?;
    rows.matmul(&question.t()?)?.flatten_all()?.to_vec1()
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
fn count_matches(best: &[f32], literal: &[f32], weights: &[Vec<f32>; 3], out: &mut Vec<f32>) {
    let kernel = |x: f32, (mean, width): (f32, f32)| ((x - mean).powi(2) * (-0.5 / (width * width))).exp();
    let at = out.len();
    out.resize(at + 3 * KERNELS.len(), 0.0);
    for (k, shape) in KERNELS.into_iter().enumerate() {
        for (i, (mixed, written)) in best.iter().zip(literal).enumerate() {
            let written = kernel(*written, shape);
            out[at + k] += weights[0][i] * kernel(*mixed, shape);
            out[at + KERNELS.len() + k] += weights[1][i] * written;
            out[at + 2 * KERNELS.len() + k] += weights[2][i] * written;
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
