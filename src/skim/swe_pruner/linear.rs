//! Affine maps, their weights as they are stored.

use candle_core::quantized::{GgmlDType, QMatMul, QTensor};
use candle_core::{DType, Module, Result, Tensor};

/// What the weights of the backbone are kept in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Precision {
    /// 32 bits: twice the memory of the checkpoint
    #[default]
    F32,
    /// 16 bits, as in the checkpoint
    Bf16,
    /// 8 bits, quantized while loading: the fastest on a CPU, and the least memory
    Q8,
}

/// `x W^T + b`.
pub struct Linear {
    weight: Weight,
    bias: Option<Tensor>,
}

enum Weight {
    /// (out, in)
    Dense(Tensor),
    Quantized(QMatMul),
}

impl Linear {
    /// From a weight (out, in) and, for heads, a bias (out).
    pub fn new(weight: Tensor, bias: Option<Tensor>) -> Self {
        Self { weight: Weight::Dense(weight), bias }
    }

    /// The same in 8 bits.
    pub fn quantized(weight: &Tensor) -> Result<Self> {
        let weight = QMatMul::from_qtensor(QTensor::quantize(weight, GgmlDType::Q8_0)?)?;
        Ok(Self { weight: Weight::Quantized(weight), bias: None })
    }

    /// (n, in) -> (n, out). On a CPU a product of 16-bit numbers is slower than widening the weight first.
    pub fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let product = match &self.weight {
            Weight::Quantized(weight) => weight.forward(x)?,
            Weight::Dense(weight) if weight.dtype() == x.dtype() => x.matmul(&weight.t()?)?,
            Weight::Dense(weight) => x.matmul(&weight.to_dtype(DType::F32)?.t()?)?,
        };
        match &self.bias {
            Some(bias) => product.broadcast_add(bias),
            None => Ok(product),
        }
    }
}
