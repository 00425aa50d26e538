//! What is learnt on top of the backbone: attention over the states of three of its layers, and one logit a token.

use candle_core::{D, Result, Tensor};
use candle_nn::{LayerNorm, Module, ops};

use super::checkpoint::Checkpoint;
use super::linear::Linear;
use crate::skim::kernels::Softmax;

/// Rows of attention scores computed at once.
const ROWS: usize = 256;
/// PyTorch's.
const EPS: f64 = 1e-5;

/// How token logits are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Emissions for dropping and keeping, of which the CRF was trained; the logit is their difference.
    Crf,
    /// Three layers.
    Ffn,
    /// Two layers with a tanh between.
    Simple,
}

/// The fusion layers and the compression head.
pub struct Head {
    fusion: Vec<Fusion>,
    norm: Option<LayerNorm>,
    layers: Vec<Linear>,
    kind: Kind,
}

/// PyTorch's MultiheadAttention, its input added, normed.
struct Fusion {
    heads: usize,
    qkv: Linear,
    out: Linear,
    norm: LayerNorm,
}

impl Head {
    /// Reads the tensors of the fusion layers and the head over states of `width` numbers.
    pub fn new(kind: Kind, width: usize, bottleneck: usize, fusions: usize, heads: usize, checkpoint: &Checkpoint) -> Result<Self> {
        if !width.is_multiple_of(heads) {
            candle_core::bail!("num_heads is {heads}, which does not divide the fused width {width}");
        }
        let name = match kind {
            Kind::Crf => "model.compression_head.feature_extractor",
            Kind::Ffn | Kind::Simple => "model.compression_head",
        };
        let layer =
            |at: usize, from: usize, to: usize| checkpoint.affine(&format!("{name}.{at}.weight"), &format!("{name}.{at}.bias"), from, to);
        let layers = match kind {
            Kind::Crf => vec![layer(1, width, bottleneck)?, layer(4, bottleneck, 2)?],
            Kind::Ffn => vec![layer(1, width, 2 * bottleneck)?, layer(4, 2 * bottleneck, bottleneck)?, layer(7, bottleneck, 1)?],
            Kind::Simple => vec![layer(0, width, bottleneck)?, layer(2, bottleneck, 1)?],
        };
        Ok(Self {
            fusion: (0..fusions).map(|i| Fusion::new(i, width, heads, checkpoint)).collect::<Result<_>>()?,
            norm: (kind != Kind::Simple).then(|| layer_norm(checkpoint, &format!("{name}.0"), width)).transpose()?,
            layers,
            kind,
        })
    }

    /// (n, width) -> n logits for keeping.
    pub fn forward(&self, states: &Tensor) -> Result<Vec<f32>> {
        let mut x = states.clone();
        for fusion in &self.fusion {
            x = fusion.forward(&x)?;
        }
        if let Some(norm) = &self.norm {
            x = norm.forward(&x)?;
        }
        for (i, layer) in self.layers.iter().enumerate() {
            x = layer.forward(&x)?;
            if i + 1 < self.layers.len() {
                x = if self.kind == Kind::Simple { x.tanh()? } else { x.gelu_erf()? };
            }
        }
        let x = if self.kind == Kind::Crf { (x.narrow(1, 1, 1)? - x.narrow(1, 0, 1)?)? } else { x };
        x.flatten_all()?.to_vec1()
    }
}

impl Fusion {
    fn new(i: usize, width: usize, heads: usize, checkpoint: &Checkpoint) -> Result<Self> {
        let name = format!("model.fusion_layers.{i}");
        Ok(Self {
            heads,
            qkv: checkpoint.affine(&format!("{name}.in_proj_weight"), &format!("{name}.in_proj_bias"), width, 3 * width)?,
            out: checkpoint.affine(&format!("{name}.out_proj.weight"), &format!("{name}.out_proj.bias"), width, width)?,
            norm: layer_norm(checkpoint, &format!("model.fusion_norms.{i}"), width)?,
        })
    }

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let (n, width) = x.dims2()?;
        let d = width / self.heads;
        let qkv = self.qkv.forward(x)?;
        let heads = |third: usize| qkv.narrow(1, third * width, width)?.reshape((n, self.heads, d))?.transpose(0, 1)?.contiguous();
        let (q, k, v) = ((heads(0)? * (d as f64).powf(-0.5))?, heads(1)?, heads(2)?);
        let some = |from: usize| {
            let rows = ROWS.min(n - from);
            let scores = q.narrow(1, from, rows)?.contiguous()?.matmul(&k.t()?)?;
            let weights = if x.device().is_cpu() {
                scores.inplace_op1(&Softmax::Plain)?;
                scores
            } else {
                ops::softmax(&scores, D::Minus1)?
            };
            weights.matmul(&v)?.transpose(0, 1)?.reshape((rows, width))
        };
        let read = (0..n).step_by(ROWS).map(some).collect::<Result<Vec<_>>>()?;
        self.norm.forward(&(self.out.forward(&Tensor::cat(&read, 0)?)? + x)?)
    }
}

fn layer_norm(checkpoint: &Checkpoint, name: &str, width: usize) -> Result<LayerNorm> {
    let part = |part: &str| checkpoint.head_vector(&format!("{name}.{part}"), width);
    Ok(LayerNorm::new(part("weight")?, part("bias")?, EPS))
}
