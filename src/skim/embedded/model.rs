//! The line model: a small transformer in which lines read each other and the question.
//!
//! Names and arithmetic are those of `training/model.py`. Shapes: N lines, Q question subtokens, D line width, H heads.

use candle_core::{D, Device, Result, Tensor};
use candle_nn::ops::softmax_last_dim;
use candle_nn::{LayerNorm, Linear, Module, VarBuilder, layer_norm, linear};

use super::encoder::{Encoded, Encoder};
use super::text::QUESTION_TOKENS;
use super::{Config, WINDOW};

const DISTANCE_BUCKETS: usize = 32; // each way

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
    /// (H, WINDOW, WINDOW): the learnt bias for the distance between two lines.
    bias: Tensor,
    norm: LayerNorm,
    emission: Linear,
    answer: Linear,
}

impl Block {
    fn new(width: usize, heads: usize, vb: VarBuilder) -> Result<Self> {
        let norm = |name| layer_norm(width, 1e-5, vb.pp(name));
        Ok(Self {
            heads,
            norm1: norm("norm1")?,
            qkv: linear(width, 3 * width, vb.pp("qkv"))?,
            out: linear(width, width, vb.pp("out"))?,
            norm2: norm("norm2")?,
            cross_q: linear(width, width, vb.pp("cross_q"))?,
            cross_kv: linear(width, 2 * width, vb.pp("cross_kv"))?,
            cross_out: linear(width, width, vb.pp("cross_out"))?,
            norm3: norm("norm3")?,
            up: linear(width, 3 * width, vb.pp("up"))?,
            down: linear(3 * width, width, vb.pp("down"))?,
        })
    }

    /// `x` (N, D), `bias` (H, N, N), `question` (Q, D) -> (N, D)
    fn forward(&self, x: &Tensor, bias: &Tensor, question: &Tensor) -> Result<Tensor> {
        let width = x.dim(D::Minus1)?;
        let qkv = self.qkv.forward(&self.norm1.forward(x)?)?;
        let part = |t: &Tensor, i: usize| t.narrow(1, i * width, width);
        let read = self.attend(&part(&qkv, 0)?, &part(&qkv, 1)?, &part(&qkv, 2)?, Some(bias))?;
        let x = (x + self.out.forward(&read)?)?;
        let kv = self.cross_kv.forward(question)?;
        let read = self.attend(&self.cross_q.forward(&self.norm2.forward(&x)?)?, &part(&kv, 0)?, &part(&kv, 1)?, None)?;
        let x = (&x + self.cross_out.forward(&read)?)?;
        let hidden = self.up.forward(&self.norm3.forward(&x)?)?.relu()?;
        x + self.down.forward(&hidden)?
    }

    /// Multi-head attention of (N, D) over (M, D).
    fn attend(&self, q: &Tensor, k: &Tensor, v: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
        let (n, width) = q.dims2()?;
        let head = width / self.heads;
        let split = |t: &Tensor| t.reshape((t.dim(0)?, self.heads, head))?.transpose(0, 1)?.contiguous(); // (H, n, D / H)
        let q = (split(q)? * (1.0 / (head as f64).sqrt()))?;
        let scores = q.matmul(&split(k)?.t()?)?; // (H, N, M)
        let scores = match bias {
            Some(bias) => (scores + bias)?,
            None => scores,
        };
        softmax_last_dim(&scores)?.matmul(&split(v)?)?.transpose(0, 1)?.reshape((n, width))
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
            input: linear(Encoder::output_width(config.embedding), width, vb.pp("input"))?,
            question: linear(config.embedding, width, vb.pp("question"))?,
            position: vb.get((QUESTION_TOKENS, width), "position")?,
            blocks: (0..config.layers).map(|i| Block::new(width, heads, vb.pp("blocks").pp(i))).collect::<Result<_>>()?,
            bias: distance_bias(&vb.get((heads, 2 * DISTANCE_BUCKETS + 1), "distance")?)?,
            norm: layer_norm(width, 1e-5, vb.pp("norm"))?,
            emission: linear(width, 1, vb.pp("emission"))?,
            answer: linear(2 * width, 1, vb.pp("answer"))?,
        })
    }

    /// The log-odds of each line, and those of anything answering.
    pub fn forward(&self, encoded: &Encoded) -> Result<(Vec<f32>, f32)> {
        let mut x = self.input.forward(&encoded.lines)?;
        let n = x.dim(0)?;
        let question = self.question.forward(&encoded.question)?;
        let question = (&question + self.position.narrow(0, 0, question.dim(0)?)?)?;
        let bias = self.bias.narrow(1, 0, n)?.narrow(2, 0, n)?.contiguous()?;
        for block in &self.blocks {
            x = block.forward(&x, &bias, &question)?;
        }
        let x = self.norm.forward(&x)?;
        let summary = Tensor::cat(&[x.max(0)?, x.mean(0)?], 0)?.unsqueeze(0)?;
        let answer = self.answer.forward(&summary)?.flatten_all()?.to_vec1::<f32>()?[0];
        Ok((self.emission.forward(&x)?.flatten_all()?.to_vec1()?, answer))
    }
}

/// Spreads (H, 2 DISTANCE_BUCKETS + 1) over the line pairs of a full window: logarithmic buckets, signed.
fn distance_bias(distance: &Tensor) -> Result<Tensor> {
    let most = DISTANCE_BUCKETS as f32;
    let bucket = |apart: usize| ((1.0 + apart as f32).log2() * 4.0 + 0.5).floor().min(most) as usize;
    let buckets: Vec<usize> = (0..WINDOW).map(bucket).collect();
    let mut out = Vec::new();
    for head in distance.to_vec2::<f32>()? {
        for i in 0..WINDOW {
            out.extend(
                (0..WINDOW).map(|j| if j >= i { head[DISTANCE_BUCKETS + buckets[j - i]] } else { head[DISTANCE_BUCKETS - buckets[i - j]] }),
            );
        }
    }
    Tensor::from_vec(out, (distance.dim(0)?, WINDOW, WINDOW), &Device::Cpu)
}
