//! Multi-head attention.

use candle_core::{Result, Tensor};

use crate::skim::kernels::Softmax;

/// How a vector of D numbers is divided among heads.
#[derive(Debug, Clone, Copy)]
pub struct Heads {
    count: usize,
    /// D / count
    width: usize,
}

impl Heads {
    /// `count` heads of vectors of `width` numbers.
    ///
    /// # Errors
    /// A width that cannot be divided among them.
    pub fn new(count: usize, width: usize) -> Result<Self> {
        if !width.is_multiple_of(count) {
            candle_core::bail!("width {width} cannot be divided among {count} heads");
        }
        Ok(Self { count, width: width / count })
    }

    /// What queries are multiplied by.
    pub fn scale(self) -> f32 {
        1.0 / (self.width as f32).sqrt()
    }

    /// Of (n, several D) the columns from `i` D on, by heads: (H, n, D / H)
    pub fn split(self, x: &Tensor, i: usize) -> Result<Tensor> {
        let (n, width) = x.dims2()?;
        x.reshape((n, width / self.width, self.width))?.narrow(1, i * self.count, self.count)?.transpose(0, 1)?.contiguous()
    }

    /// Attention of the first D columns of `q`, which are scaled already, over keys and values that are split: (n, D)
    pub fn attend(self, q: &Tensor, k: &Tensor, v: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
        let scores = self.split(q, 0)?.matmul(&k.t()?)?; // (H, n, M)
        scores.inplace_op1(&bias.map_or(Softmax::Plain, Softmax::Biased))?;
        scores.matmul(v)?.transpose(0, 1)?.flatten_from(1)
    }
}
