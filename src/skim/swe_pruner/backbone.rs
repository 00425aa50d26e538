//! The backbone: Qwen3, a causal transformer, with those of its hidden states that the pruner reads.
//!
//! candle-transformers gives the last hidden state only, and its attention on a CPU takes four times as long as a product of matrices a few
//! hundred rows at a time. Shapes: n tokens, h heads of d numbers that share k heads of keys and values.

use candle_core::{D, DType, Device, Result, Tensor};
use candle_nn::{Embedding, Module, ops, rotary_emb};

use super::checkpoint::Checkpoint;
use super::linear::Linear;
use crate::skim::kernels::{Causal, Softmax, SwiGlu};

/// Rows of attention scores computed at once: enough for a product to be fast, few enough to stay in cache.
const ROWS: usize = 256;

/// The name of the embedding table.
pub const EMBEDDING: &str = "model.backbone.embed_tokens.weight";

/// What `config.json` of a Qwen3 model says.
#[derive(Debug, Clone, serde::Deserialize)]
pub struct Config {
    /// Rows of the embedding table.
    pub vocab_size: usize,
    /// Width of a hidden state.
    pub hidden_size: usize,
    /// Layers.
    pub num_hidden_layers: usize,
    /// Heads that ask.
    pub num_attention_heads: usize,
    /// Heads that are asked.
    pub num_key_value_heads: usize,
    /// Width of a head.
    pub head_dim: usize,
    /// Width inside the feed-forward layers.
    pub intermediate_size: usize,
    /// Base of the rotary frequencies.
    #[serde(default = "rope_theta")]
    pub rope_theta: f64,
    /// Added to the mean square before its root.
    pub rms_norm_eps: f64,
}

fn rope_theta() -> f64 {
    1e6
}

impl Config {
    /// Qwen/Qwen3-Reranker-0.6B, which the published checkpoints name but do not describe.
    pub const RERANKER_0_6B: Self = Self {
        vocab_size: 151_669,
        hidden_size: 1024,
        num_hidden_layers: 28,
        num_attention_heads: 16,
        num_key_value_heads: 8,
        head_dim: 128,
        intermediate_size: 3072,
        rope_theta: 1e6,
        rms_norm_eps: 1e-6,
    };
}

/// The model without a head.
pub struct Backbone {
    embedding: Embedding,
    layers: Vec<Layer>,
    norm: Tensor,
    config: Config,
    device: Device,
    /// What is computed in: float32 on a CPU, whatever the weights are stored in.
    compute: DType,
}

struct Layer {
    norm: Tensor,
    qkv: Linear,
    q_norm: Tensor,
    k_norm: Tensor,
    out: Linear,
    norm2: Tensor,
    gate_up: Linear,
    down: Linear,
}

/// Cosines and sines of the tokens' positions, (n, d / 2) each.
struct Rotary {
    cos: Tensor,
    sin: Tensor,
}

impl Backbone {
    /// Reads the tensors below `model.backbone`.
    pub fn new(config: &Config, checkpoint: &Checkpoint) -> Result<Self> {
        let (hidden, inside) = (config.hidden_size, config.intermediate_size);
        let (asking, asked) = (config.num_attention_heads * config.head_dim, config.num_key_value_heads * config.head_dim);
        let layer = |i: usize| {
            let name = |rest: &str| format!("model.backbone.layers.{i}.{rest}.weight");
            let linear = |parts: &[(&str, usize)], width: usize| {
                let parts: Vec<_> = parts.iter().map(|(rest, out)| (name(rest), *out)).collect();
                checkpoint.linear(&parts, width)
            };
            Ok(Layer {
                norm: checkpoint.vector(&name("input_layernorm"), hidden)?,
                qkv: linear(&[("self_attn.q_proj", asking), ("self_attn.k_proj", asked), ("self_attn.v_proj", asked)], hidden)?,
                q_norm: checkpoint.vector(&name("self_attn.q_norm"), config.head_dim)?,
                k_norm: checkpoint.vector(&name("self_attn.k_norm"), config.head_dim)?,
                out: linear(&[("self_attn.o_proj", hidden)], asking)?,
                norm2: checkpoint.vector(&name("post_attention_layernorm"), hidden)?,
                gate_up: linear(&[("mlp.gate_proj", inside), ("mlp.up_proj", inside)], hidden)?,
                down: linear(&[("mlp.down_proj", hidden)], inside)?,
            })
        };
        Ok(Self {
            embedding: Embedding::new(checkpoint.table(EMBEDDING, config.vocab_size, hidden)?, hidden),
            layers: (0..config.num_hidden_layers).map(layer).collect::<Result<_>>()?,
            norm: checkpoint.vector("model.backbone.norm.weight", hidden)?,
            config: config.clone(),
            device: checkpoint.device().clone(),
            compute: checkpoint.compute(),
        })
    }

    /// Hidden states (n, hidden) in float32: `wanted` counts layers, in rising order; that after the last one is normed.
    ///
    /// # Errors
    /// Arithmetic that fails, or whatever `go_on` says between two layers.
    pub fn hidden_states<E: From<candle_core::Error>>(
        &self,
        ids: &[u32],
        wanted: &[usize],
        go_on: impl Fn() -> std::result::Result<(), E>,
    ) -> std::result::Result<Vec<Tensor>, E> {
        let ids = Tensor::new(ids, &self.device)?;
        let rotary = self.rotary(ids.elem_count())?;
        let mut x = self.embedding.forward(&ids)?.to_dtype(self.compute)?;
        let mut states = Vec::new();
        for (i, layer) in self.layers.iter().enumerate() {
            go_on()?;
            x = layer.forward(&x, &rotary, &self.config)?;
            if i + 1 == self.layers.len() {
                x = ops::rms_norm(&x, &self.norm, self.config.rms_norm_eps as f32)?;
            }
            for _ in wanted.iter().filter(|layer| **layer == i + 1) {
                states.push(x.to_dtype(DType::F32)?); // in a small model one layer may be wanted twice
            }
        }
        Ok(states)
    }

    /// How much a hidden state (hidden) resembles the embeddings of some tokens.
    pub fn resemblance(&self, state: &Tensor, tokens: &[u32]) -> Result<Vec<f32>> {
        let table = self.embedding.embeddings().index_select(&Tensor::new(tokens, &self.device)?, 0)?;
        table.to_dtype(DType::F32)?.matmul(&state.unsqueeze(1)?)?.flatten_all()?.to_vec1()
    }

    fn rotary(&self, n: usize) -> Result<Rotary> {
        let half = self.config.head_dim / 2;
        let frequency = |i: usize| 1.0 / self.config.rope_theta.powf(i as f64 / half as f64) as f32;
        let frequencies: Vec<f32> = (0..half).map(frequency).collect();
        let positions = Tensor::arange(0u32, n as u32, &self.device)?.to_dtype(DType::F32)?.unsqueeze(1)?;
        let angles = positions.matmul(&Tensor::new(frequencies, &self.device)?.unsqueeze(0)?)?;
        Ok(Rotary { cos: angles.cos()?.to_dtype(self.compute)?, sin: angles.sin()?.to_dtype(self.compute)? })
    }
}

impl Layer {
    fn forward(&self, x: &Tensor, rotary: &Rotary, config: &Config) -> Result<Tensor> {
        let eps = config.rms_norm_eps as f32;
        let x = (x + self.attend(&ops::rms_norm(x, &self.norm, eps)?, rotary, config)?)?;
        let inside = self.gate_up.forward(&ops::rms_norm(&x, &self.norm2, eps)?)?;
        let inside = if x.device().is_cpu() {
            inside.apply_op1_no_bwd(&SwiGlu)?
        } else {
            let halves = inside.chunk(2, 1)?;
            (ops::silu(&halves[0])? * &halves[1])?
        };
        x + self.down.forward(&inside)?
    }

    fn attend(&self, x: &Tensor, rotary: &Rotary, config: &Config) -> Result<Tensor> {
        let (n, _) = x.dims2()?;
        let (h, k, d) = (config.num_attention_heads, config.num_key_value_heads, config.head_dim);
        let qkv = self.qkv.forward(x)?;
        let heads = |from: usize, count: usize| qkv.narrow(1, from * d, count * d)?.reshape((n, count, d))?.transpose(0, 1)?.contiguous();
        let turned = |x: Tensor, norm: &Tensor| {
            let x = ops::rms_norm(&x, norm, config.rms_norm_eps as f32)?.unsqueeze(0)?;
            rotary_emb::rope(&x, &rotary.cos, &rotary.sin)?.squeeze(0)
        };
        let q = (turned(heads(0, h)?, &self.q_norm)? * (d as f64).powf(-0.5))?.reshape((k, h / k, n, d))?;
        let (keys, values) = (turned(heads(h, k)?, &self.k_norm)?, heads(h + k, k)?);
        let some = |from: usize| {
            let rows = ROWS.min(n - from);
            let (q, seen) = (q.narrow(2, from, rows)?.contiguous()?.reshape((k, h / k * rows, d))?, from + rows);
            let scores = q.matmul(&keys.narrow(1, 0, seen)?.t()?)?; // (k, h / k * rows, seen)
            let causal = Causal { first: from, rows };
            let weights = if x.device().is_cpu() {
                scores.inplace_op1(&Softmax::Causal(causal))?;
                scores
            } else {
                ops::softmax(&scores.broadcast_add(&causal.mask(h / k, seen, x.device())?.to_dtype(scores.dtype())?)?, D::Minus1)?
            };
            weights.matmul(&values.narrow(1, 0, seen)?.contiguous()?)?.reshape((h, rows, d))?.transpose(0, 1)?.reshape((rows, h * d))
        };
        let read = (0..n).step_by(ROWS).map(some).collect::<Result<Vec<_>>>()?;
        self.out.forward(&Tensor::cat(&read, 0)?)
    }
}
