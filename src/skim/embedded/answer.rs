//! Whether anything answers: the question reads the lines, and what it finds of each subtoken is weighed.
//!
//! Words that the code may use, where some come with the question, are then weighed by themselves.
//!
//! Names and arithmetic are those of `Reader` and `Guessed` in `training/model.py`. Shapes: N lines, Q question subtokens, D line width, H heads.

use candle_core::{Result, Tensor};
use candle_nn::VarBuilder;

use super::attention::Heads;
use super::linear::{Linear, load_norm};
use super::product::Precision;
use crate::skim::kernels::{Norm, Softmax};

/// The document head.
pub struct Answer {
    heads: Heads,
    norm: Norm,
    q: Linear,
    kv: Linear,
    found: Linear,
    weight: Linear,
    answer: Linear,
}

impl Answer {
    /// Reads `reader` and `answer`.
    pub fn new(width: usize, heads: Heads, vb: &VarBuilder, precision: Precision) -> Result<Self> {
        let reader = vb.pp("reader");
        Ok(Self {
            heads,
            norm: load_norm(width, &reader.pp("norm"))?,
            q: Linear::scaled(width, width, reader.pp("q"), precision, width, heads.scale())?,
            kv: Linear::new(width, 2 * width, reader.pp("kv"), precision)?,
            found: Linear::new(2 * width, width, reader.pp("found"), precision)?,
            weight: Linear::exact(width, 1, reader.pp("weight"))?,
            answer: Linear::exact(4 * width, 1, vb.pp("answer"))?,
        })
    }

    /// The log-odds that any of the lines `x` (N, D) answers the question (Q, D).
    pub fn forward(&self, x: &Tensor, question: &Tensor) -> Result<f32> {
        let question = question.apply_op1_no_bwd(&self.norm)?;
        let kv = self.kv.forward(x)?;
        let read = self.heads.attend(&self.q.forward(&question)?, &self.heads.split(&kv, 0)?, &self.heads.split(&kv, 1)?, None)?;
        let found = self.found.rectified(&Tensor::cat(&[&question, &read], 1)?)?;
        let weight = self.weight.forward(&found)?.reshape((1, 1, found.dim(0)?))?;
        weight.inplace_op1(&Softmax::Plain)?;
        let weighed = weight.squeeze(0)?.matmul(&found)?.squeeze(0)?;
        let summary = Tensor::cat(&[x.max(0)?, x.mean(0)?, weighed, found.max(0)?], 0)?.unsqueeze(0)?;
        Ok(self.answer.forward(&summary)?.flatten_all()?.to_vec1::<f32>()?[0])
    }
}

/// What words that the code may use say after the document head has spoken.
///
/// The head reads them as it reads the question's own, whose absence tells little; a text that answers has most of the words that are guessed.
pub struct Guessed {
    /// Of the head's log-odds, and of the share of the words that is found.
    weight: [f32; 2],
    bias: f32,
}

impl Guessed {
    /// Reads the weights below `guessed`.
    pub fn new(vb: &VarBuilder) -> Result<Self> {
        let vb = vb.pp("guessed.weigh");
        let weight = vb.get((2, 1), "weight")?.flatten_all()?.to_vec1::<f32>()?;
        Ok(Self { weight: [weight[0], weight[1]], bias: vb.get(1, "bias")?.to_vec1::<f32>()?[0] })
    }

    /// The log-odds that anything answers, from those of the head and the share of the words that is [`found`](super::text::Document::found).
    pub fn weigh(&self, answer: f32, found: f32) -> f32 {
        self.weight[0] * answer + self.weight[1] * found + self.bias
    }
}
