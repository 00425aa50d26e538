//! The line model: a small transformer in which lines read each other and the question.
//!
//! Names and arithmetic are those of `training/model.py`. Shapes: N lines, Q question subtokens, D line width, H heads.

use candle_core::{D, Result, Tensor};
use candle_nn::{LayerNorm, Module, VarBuilder, layer_norm};
use rayon::prelude::*;

use super::Config;
use super::bias::Bias;
use super::encoder::{Encoded, Encoder};
use super::text::QUESTION_TOKENS;
use crate::skim::kernels::Softmax;

/// Rows that are worth a task of their own.
const SMALLEST_PART: usize = 48;

/// An affine map. Its weight is stored (in, out), the order in which the product reads it: the other way round, a quarter of the time of a
/// short text went into reordering it at every call.
struct Linear {
    weight: Tensor,
    bias: Tensor,
}

/// One pre-norm block: attention over lines, attention from lines to the question, feed-forward.
struct Block {
    heads: usize,
    norm1: LayerNorm,
    qkv: Linear,
    out: Linear,
    norm2: LayerNorm,
    cross_q: Linear,
    cross_kv: Linear,
    cross_out: Linear,
    norm3: LayerNorm,
    up: Linear,
    down: Linear,
}

/// Everything behind the encoder.
pub struct LineModel {
    input: Linear,
    question: Linear,
    /// (QUESTION_TOKENS, D)
    position: Tensor,
    blocks: Vec<Block>,
    bias: Bias,
    norm: LayerNorm,
    emission: Linear,
    answer: Linear,
}

impl Linear {
    fn new(width_in: usize, width_out: usize, vb: VarBuilder) -> Result<Self> {
        Ok(Self { weight: vb.get((width_in, width_out), "weight")?, bias: vb.get(width_out, "bias")? })
    }

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        x.matmul(&self.weight)?.broadcast_add(&self.bias)
    }
}

impl Block {
    fn new(width: usize, heads: usize, vb: VarBuilder) -> Result<Self> {
        let norm = |name| layer_norm(width, 1e-5, vb.pp(name));
        Ok(Self {
            heads,
            norm1: norm("norm1")?,
            qkv: Linear::new(width, 3 * width, vb.pp("qkv"))?,
            out: Linear::new(width, width, vb.pp("out"))?,
            norm2: norm("norm2")?,
            cross_q: Linear::new(width, width, vb.pp("cross_q"))?,
            cross_kv: Linear::new(width, 2 * width, vb.pp("cross_kv"))?,
            cross_out: Linear::new(width, width, vb.pp("cross_out"))?,
            norm3: norm("norm3")?,
            up: Linear::new(width, 3 * width, vb.pp("up"))?,
            down: Linear::new(3 * width, width, vb.pp("down"))?,
        })
    }

    /// `x`: the rows of (N, D) in parts that are computed side by side, `bias`: for each of them (H, part, N), `question` (Q, D).
    fn forward(&self, x: Vec<Tensor>, bias: &[Tensor], question: &Tensor) -> Result<Vec<Tensor>> {
        let width = question.dim(D::Minus1)?;
        let third = |t: &Tensor, i: usize| t.narrow(1, i * width, width);
        let qkv: Vec<Tensor> = x.par_iter().map(|x| self.qkv.forward(&self.norm1.forward(x)?)).collect::<Result<_>>()?;
        let all = |i: usize| Tensor::cat(&qkv.iter().map(|qkv| third(qkv, i)).collect::<Result<Vec<_>>>()?, 0);
        let (k, v) = (self.split(&all(1)?)?, self.split(&all(2)?)?);
        let kv = self.cross_kv.forward(question)?;
        let (cross_k, cross_v) = (self.split(&third(&kv, 0)?)?, self.split(&third(&kv, 1)?)?);
        let rest = |((x, qkv), bias): ((&Tensor, &Tensor), &Tensor)| {
            let read = self.attend(&third(qkv, 0)?, &k, &v, Some(bias))?;
            let x = (x + self.out.forward(&read)?)?;
            let read = self.attend(&self.cross_q.forward(&self.norm2.forward(&x)?)?, &cross_k, &cross_v, None)?;
            let x = (&x + self.cross_out.forward(&read)?)?;
            let hidden = self.up.forward(&self.norm3.forward(&x)?)?.relu()?;
            x + self.down.forward(&hidden)?
        };
        x.par_iter().zip(&qkv).zip(bias).map(rest).collect()
    }

    /// (n, D) -> (H, n, D / H)
    fn split(&self, x: &Tensor) -> Result<Tensor> {
        let (n, width) = x.dims2()?;
        x.reshape((n, self.heads, width / self.heads))?.transpose(0, 1)?.contiguous()
    }

    /// Multi-head attention of (n, D) over keys and values that are split into heads.
    fn attend(&self, q: &Tensor, k: &Tensor, v: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
        let (n, width) = q.dims2()?;
        let q = (self.split(q)? * (1.0 / ((width / self.heads) as f64).sqrt()))?;
        let scores = q.matmul(&k.t()?)?; // (H, n, M)
        scores.inplace_op1(&bias.map_or(Softmax::Plain, Softmax::Biased))?;
        scores.matmul(v)?.transpose(0, 1)?.reshape((n, width))
    }
}

impl LineModel {
    /// Reads everything that [`Encoder`] does not.
    pub fn new(config: &Config, vb: &VarBuilder) -> Result<Self> {
        let (width, heads) = (config.width, config.heads);
        if width % heads != 0 {
            candle_core::bail!("width {width} cannot be divided among {heads} heads");
        }
        Ok(Self {
            input: Linear::new(Encoder::output_width(config.embedding), width, vb.pp("input"))?,
            question: Linear::new(config.embedding, width, vb.pp("question"))?,
            position: vb.get((QUESTION_TOKENS, width), "position")?,
            blocks: (0..config.layers).map(|i| Block::new(width, heads, vb.pp("blocks").pp(i))).collect::<Result<_>>()?,
            bias: Bias::new(heads, vb)?,
            norm: layer_norm(width, 1e-5, vb.pp("norm"))?,
            emission: Linear::new(width, 1, vb.pp("emission"))?,
            answer: Linear::new(2 * width, 1, vb.pp("answer"))?,
        })
    }

    /// The log-odds of each line, and those of anything answering. The rows are computed in `parts` side by side.
    pub fn forward(&self, encoded: &Encoded, parts: usize) -> Result<(Vec<f32>, f32)> {
        let n = encoded.lines.dim(0)?;
        let size = n.div_ceil(parts).max(SMALLEST_PART);
        let ranges: Vec<(usize, usize)> = (0..n).step_by(size).map(|start| (start, size.min(n - start))).collect();
        let question = self.question.forward(&encoded.question)?;
        let question = (&question + self.position.narrow(0, 0, question.dim(0)?)?)?;
        let bias = |(start, size): &(usize, usize)| self.bias.rows(&encoded.neighbours, *start..start + size);
        let bias: Vec<Tensor> = ranges.par_iter().map(bias).collect::<Result<_>>()?;
        let input = |(start, size)| self.input.forward(&encoded.lines.narrow(0, start, size)?);
        let mut x: Vec<Tensor> = ranges.par_iter().map(|range| input(*range)).collect::<Result<_>>()?;
        for block in &self.blocks {
            x = block.forward(x, &bias, &question)?;
        }
        let x = self.norm.forward(&Tensor::cat(&x, 0)?)?;
        let summary = Tensor::cat(&[x.max(0)?, x.mean(0)?], 0)?.unsqueeze(0)?;
        let answer = self.answer.forward(&summary)?.flatten_all()?.to_vec1::<f32>()?[0];
        Ok((self.emission.forward(&x)?.flatten_all()?.to_vec1()?, answer))
    }
}
