//! The line model: a small transformer in which lines read each other and the question.
//!
//! Names and arithmetic are those of `training/model.py`. Shapes: N lines, Q question subtokens, D line width, H heads.

use candle_core::{CpuStorage, CustomOp1, InplaceOp2, Layout, Result, Shape, Tensor};
use candle_nn::VarBuilder;
use rayon::prelude::*;

use super::Config;
use super::bias::Bias;
use super::encoder::{Encoded, Encoder};
use super::product::{Matrix, Precision, Stored};
use super::text::QUESTION_TOKENS;
use crate::skim::kernels::{Norm, Softmax, numbers, numbers_mut};

/// Rows that are worth a task of their own.
const SMALLEST_PART: usize = 48;

/// An affine map.
struct Linear {
    weight: Matrix,
    bias: Vec<f32>,
}

/// The map of a tensor, without what is below 0 where it is `rectified`.
struct Map<'a> {
    linear: &'a Linear,
    rectified: bool,
}

/// One pre-norm block: attention over lines, attention from lines to the question, feed-forward.
struct Block {
    heads: usize,
    norm1: Norm,
    qkv: Linear,
    out: Linear,
    norm2: Norm,
    cross_q: Linear,
    cross_kv: Linear,
    cross_out: Linear,
    norm3: Norm,
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
    norm: Norm,
    emission: Linear,
    answer: Linear,
}

impl Linear {
    fn new(width_in: usize, width_out: usize, vb: VarBuilder, precision: Precision) -> Result<Self> {
        Self::scaled(width_in, width_out, vb, precision, 0, 1.0)
    }

    /// With the first `columns` results times `scale`.
    fn scaled(width_in: usize, width_out: usize, vb: VarBuilder, precision: Precision, columns: usize, scale: f32) -> Result<Self> {
        let mut stored = Stored::load((width_in, width_out), width_out, &vb)?;
        let mut bias = vb.get(width_out, "bias")?.to_vec1()?;
        stored.steps[..columns].iter_mut().chain(&mut bias[..columns]).for_each(|x| *x *= scale);
        Ok(Self { weight: Matrix::new(stored, precision)?, bias })
    }

    /// Of weights that are stored as floats.
    fn exact(width_in: usize, width_out: usize, vb: VarBuilder) -> Result<Self> {
        Ok(Self { weight: Matrix::exact(&vb.get((width_in, width_out), "weight")?)?, bias: vb.get(width_out, "bias")?.to_vec1()? })
    }

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        x.apply_op1_no_bwd(&Map { linear: self, rectified: false })
    }

    /// The map without what is below 0.
    fn rectified(&self, x: &Tensor) -> Result<Tensor> {
        x.apply_op1_no_bwd(&Map { linear: self, rectified: true })
    }

    /// Adds the map of `x` to what is in `to`.
    fn add_to(&self, to: &Tensor, x: &Tensor) -> Result<()> {
        to.inplace_op2(x, self)
    }
}

impl CustomOp1 for Map<'_> {
    fn name(&self) -> &'static str {
        "map"
    }

    fn cpu_fwd(&self, x: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let Self { linear: Linear { weight, bias }, rectified } = self;
        let x = numbers(x, layout)?;
        let n = x.len() / weight.width();
        let mut out = vec![0.0; n * weight.columns()];
        weight.add(&mut out, x, bias, *rectified)?;
        Ok((CpuStorage::F32(out), (n, weight.columns()).into()))
    }
}

impl InplaceOp2 for Linear {
    fn name(&self) -> &'static str {
        "add-map"
    }

    fn cpu_fwd(&self, to: &mut CpuStorage, to_layout: &Layout, x: &CpuStorage, layout: &Layout) -> Result<()> {
        self.weight.add(numbers_mut(to, to_layout)?, numbers(x, layout)?, &self.bias, false)
    }
}

impl Block {
    fn new(width: usize, heads: usize, vb: VarBuilder, precision: Precision) -> Result<Self> {
        let norm = |name| load_norm(width, &vb.pp(name));
        let map = |from, to, name| Linear::new(from, to, vb.pp(name), precision);
        let scale = 1.0 / ((width / heads) as f32).sqrt(); // of the queries, here and not at every call
        let queries = |to, name| Linear::scaled(width, to, vb.pp(name), precision, width, scale);
        Ok(Self {
            heads,
            norm1: norm("norm1")?,
            qkv: queries(3 * width, "qkv")?,
            out: map(width, width, "out")?,
            norm2: norm("norm2")?,
            cross_q: queries(width, "cross_q")?,
            cross_kv: map(width, 2 * width, "cross_kv")?,
            cross_out: map(width, width, "cross_out")?,
            norm3: norm("norm3")?,
            up: map(width, 3 * width, "up")?,
            down: map(3 * width, width, "down")?,
        })
    }

    /// `x`: the rows of (N, D) in parts that are computed side by side, in place; `bias`: for each of them (H, part, N), `question` (Q, D).
    fn forward(&self, x: &[Tensor], bias: &[Tensor], question: &Tensor) -> Result<()> {
        let qkv: Vec<Tensor> = x.par_iter().map(|x| self.qkv.forward(&x.apply_op1_no_bwd(&self.norm1)?)).collect::<Result<_>>()?;
        let all = |i: usize| Tensor::cat(&qkv.iter().map(|qkv| self.split(qkv, i)).collect::<Result<Vec<_>>>()?, 1);
        let (k, v) = (all(1)?, all(2)?);
        let kv = self.cross_kv.forward(question)?;
        let (cross_k, cross_v) = (self.split(&kv, 0)?, self.split(&kv, 1)?);
        let rest = |((x, qkv), bias): ((&Tensor, &Tensor), &Tensor)| {
            let read = self.attend(qkv, &k, &v, Some(bias))?;
            self.out.add_to(x, &read)?;
            let read = self.attend(&self.cross_q.forward(&x.apply_op1_no_bwd(&self.norm2)?)?, &cross_k, &cross_v, None)?;
            self.cross_out.add_to(x, &read)?;
            let hidden = self.up.rectified(&x.apply_op1_no_bwd(&self.norm3)?)?;
            self.down.add_to(x, &hidden)
        };
        x.par_iter().zip(&qkv).zip(bias).try_for_each(rest)
    }

    /// Of (n, several D) the columns from `i` D on, by heads: (H, n, D / H)
    fn split(&self, x: &Tensor, i: usize) -> Result<Tensor> {
        let (n, width) = x.dims2()?;
        let head = self.out.bias.len() / self.heads;
        x.reshape((n, width / head, head))?.narrow(1, i * self.heads, self.heads)?.transpose(0, 1)?.contiguous()
    }

    /// Multi-head attention of the first D columns of `q`, which are scaled already, over keys and values that are split into heads: (n, D)
    fn attend(&self, q: &Tensor, k: &Tensor, v: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
        let scores = self.split(q, 0)?.matmul(&k.t()?)?; // (H, n, M)
        scores.inplace_op1(&bias.map_or(Softmax::Plain, Softmax::Biased))?;
        scores.matmul(v)?.transpose(0, 1)?.flatten_from(1)
    }
}

fn load_norm(width: usize, vb: &VarBuilder) -> Result<Norm> {
    Ok(Norm { weight: vb.get(width, "weight")?.to_vec1()?, bias: vb.get(width, "bias")?.to_vec1()? })
}

impl LineModel {
    /// Reads everything that [`Encoder`] does not.
    pub fn new(config: &Config, vb: &VarBuilder, precision: Precision) -> Result<Self> {
        let (width, heads) = (config.width, config.heads);
        if width % heads != 0 {
            candle_core::bail!("width {width} cannot be divided among {heads} heads");
        }
        Ok(Self {
            input: Linear::new(Encoder::output_width(config.embedding), width, vb.pp("input"), precision)?,
            question: Linear::new(config.embedding, width, vb.pp("question"), precision)?,
            position: vb.get((QUESTION_TOKENS, width), "position")?,
            blocks: (0..config.layers).map(|i| Block::new(width, heads, vb.pp("blocks").pp(i), precision)).collect::<Result<_>>()?,
            bias: Bias::new(heads, vb)?,
            norm: load_norm(width, &vb.pp("norm"))?,
            emission: Linear::exact(width, 1, vb.pp("emission"))?,
            answer: Linear::exact(2 * width, 1, vb.pp("answer"))?,
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
        let x: Vec<Tensor> = ranges.par_iter().map(|range| input(*range)).collect::<Result<_>>()?;
        for block in &self.blocks {
            block.forward(&x, &bias, &question)?;
        }
        let x = Tensor::cat(&x, 0)?.apply_op1_no_bwd(&self.norm)?;
        let summary = Tensor::cat(&[x.max(0)?, x.mean(0)?], 0)?.unsqueeze(0)?;
        let answer = self.answer.forward(&summary)?.flatten_all()?.to_vec1::<f32>()?[0];
        Ok((self.emission.forward(&x)?.flatten_all()?.to_vec1()?, answer))
    }
}
