//! The line model: a small transformer in which lines read each other and the question.
//!
//! Names and arithmetic are those of `training/model.py`. Shapes: N lines, Q question subtokens, D line width, H heads.

use candle_core::{Result, Tensor};
use candle_nn::VarBuilder;
use rayon::prelude::*;

use super::Config;
use super::answer::Answer;
use super::attention::Heads;
use super::bias::Bias;
use super::encoder::{Encoded, Encoder};
use super::linear::{Linear, load_norm};
use super::product::Precision;
use super::text::QUESTION_TOKENS;
use crate::skim::kernels::Norm;

/// Rows that are worth a task of their own.
const SMALLEST_PART: usize = 48;

/// One pre-norm block: attention over lines, attention from lines to the question, feed-forward.
struct Block {
    heads: Heads,
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
    answer: Answer,
}

impl Block {
    fn new(width: usize, heads: Heads, vb: VarBuilder, precision: Precision) -> Result<Self> {
        let norm = |name| load_norm(width, &vb.pp(name));
        let map = |from, to, name| Linear::new(from, to, vb.pp(name), precision);
        let queries = |to, name| Linear::scaled(width, to, vb.pp(name), precision, width, heads.scale()); // here and not at every call
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
        let all = |i: usize| Tensor::cat(&qkv.iter().map(|qkv| self.heads.split(qkv, i)).collect::<Result<Vec<_>>>()?, 1);
        let (k, v) = (all(1)?, all(2)?);
        let kv = self.cross_kv.forward(question)?;
        let (cross_k, cross_v) = (self.heads.split(&kv, 0)?, self.heads.split(&kv, 1)?);
        let rest = |((x, qkv), bias): ((&Tensor, &Tensor), &Tensor)| {
            let read = self.heads.attend(qkv, &k, &v, Some(bias))?;
            self.out.add_to(x, &read)?;
            let read = self.heads.attend(&self.cross_q.forward(&x.apply_op1_no_bwd(&self.norm2)?)?, &cross_k, &cross_v, None)?;
            self.cross_out.add_to(x, &read)?;
            let hidden = self.up.rectified(&x.apply_op1_no_bwd(&self.norm3)?)?;
            self.down.add_to(x, &hidden)
        };
        x.par_iter().zip(&qkv).zip(bias).try_for_each(rest)
    }
}

impl LineModel {
    /// Reads everything that [`Encoder`] does not.
    pub fn new(config: &Config, vb: &VarBuilder, precision: Precision) -> Result<Self> {
        let (width, heads) = (config.width, Heads::new(config.heads, config.width)?);
        Ok(Self {
            input: Linear::new(Encoder::output_width(config.embedding), width, vb.pp("input"), precision)?,
            question: Linear::new(config.embedding, width, vb.pp("question"), precision)?,
            position: vb.get((QUESTION_TOKENS, width), "position")?,
            blocks: (0..config.layers).map(|i| Block::new(width, heads, vb.pp("blocks").pp(i), precision)).collect::<Result<_>>()?,
            bias: Bias::new(config.heads, vb)?,
            norm: load_norm(width, &vb.pp("norm"))?,
            emission: Linear::exact(width, 1, vb.pp("emission"))?,
            answer: Answer::new(width, heads, vb, precision)?,
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
        Ok((self.emission.forward(&x)?.flatten_all()?.to_vec1()?, self.answer.forward(&x, &question)?))
    }
}
