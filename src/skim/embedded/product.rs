//! Products of rows with trained weights, in eight bits.
//!
//! These products were two thirds of the time of a reading, and processors multiply bytes three to four times as fast as floats. Each row is
//! rounded to 8 bits by its own largest number, each column of weights was to 7 when it was exported: a sum of two products of them fits the
//! 16 bits in which older processors add them, so that every machine gets the same sums. What is lost is less than `codeskim eval` can tell
//! (`training/LOG.md`).

use candle_core::{DType, Device, Result, Shape, Storage, Tensor, bail};
use candle_nn::VarBuilder;
use rten_gemm::{GemmExecutor, GemmInputA, GemmInputB, GemmOptions, PackedBMatrix, QuantParams};
use rten_tensor::NdTensorView;

use crate::skim::kernels::{self, ZERO, numbers};

/// Rows multiplied at a time: their sums stay in the cache until they are floats again.
const SOME: usize = 64;

/// Steps of a stored weight, at most: two products of a byte with it fit 16 bits.
#[cfg(test)]
pub(super) const LARGEST: u8 = 63;

/// How products are computed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Precision {
    /// In eight bits.
    #[default]
    Rounded,
    /// In 32 bits, as the trainer does: what the golden test compares.
    Exact,
}

/// Weights as they are stored: whole steps, each written with [`ZERO`] added.
pub struct Stored {
    /// Of a weight row after row.
    pub bytes: Vec<u8>,
    /// What one step is worth.
    pub steps: Vec<f32>,
}

/// What rows are multiplied with.
pub struct Matrix {
    width: usize,
    columns: usize,
    weights: Weights,
}

enum Weights {
    Exact(Tensor),
    Rounded {
        packed: PackedBMatrix<i8>,
        /// What one step is worth in each column.
        steps: Vec<f32>,
    },
}

impl Stored {
    /// Reads `weight`, of that shape, and its `steps` steps.
    pub fn load(shape: impl Into<Shape>, steps: usize, vb: &VarBuilder) -> Result<Self> {
        let bytes = vb.get_with_hints_dtype(shape, "weight", Default::default(), DType::U8)?.flatten_all()?.to_vec1()?;
        Ok(Self { bytes, steps: vb.get(steps, "step")?.to_vec1()? })
    }
}

/// The steps that a stored byte stands for.
pub fn whole(byte: u8) -> i8 {
    byte.wrapping_sub(ZERO) as i8
}

impl Matrix {
    /// Weights with a step for each column, each of 63 steps at most: a test holds the shipped ones to that.
    pub fn new(stored: Stored, precision: Precision) -> Result<Self> {
        let Stored { bytes, steps } = stored;
        let (width, columns) = (bytes.len() / steps.len(), steps.len());
        match precision {
            Precision::Exact => {
                let weight = bytes.iter().zip(steps.iter().cycle()).map(|(byte, step)| f32::from(whole(*byte)) * step).collect();
                Self::exact(&Tensor::from_vec(weight, (width, columns), &Device::Cpu)?)
            }
            Precision::Rounded => {
                let weight: Vec<i8> = bytes.into_iter().map(whole).collect();
                let packed = GemmExecutor::<u8, i8, i32>::new().prepack_b(NdTensorView::from_data([width, columns], &weight[..]));
                Ok(Self { width, columns, weights: Weights::Rounded { packed, steps } })
            }
        }
    }

    /// Multiplies with (width of a row, columns) in 32 bits.
    pub fn exact(weight: &Tensor) -> Result<Self> {
        let (width, columns) = weight.dims2()?;
        Ok(Self { width, columns, weights: Weights::Exact(weight.contiguous()?) })
    }

    /// Width of a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Width of a product.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Adds to each row of `to` the product of a row of `rows`, and the bias; nothing below 0 is left where it is `rectified`.
    pub fn add(&self, to: &mut [f32], rows: &[f32], bias: &[f32], rectified: bool) -> Result<()> {
        match &self.weights {
            Weights::Exact(weight) => {
                let product = Tensor::from_slice(rows, (rows.len() / self.width, self.width), &Device::Cpu)?.matmul(weight)?;
                let (storage, layout) = product.storage_and_layout();
                let Storage::Cpu(storage) = &*storage else { bail!("the product is not on the CPU") };
                kernels::add_rows(to, numbers(storage, layout)?, bias, rectified);
                Ok(())
            }
            Weights::Rounded { packed, steps } => {
                let mut sums = vec![0; to.len().min(SOME * self.columns)];
                let mut bytes = vec![ZERO; rows.len().min(SOME * self.width)];
                let mut chunks = to.chunks_mut(SOME * self.columns).zip(rows.chunks(SOME * self.width));
                chunks.try_for_each(|(to, rows)| {
                    let (sums, bytes) = (&mut sums[..to.len()], &mut bytes[..rows.len()]);
                    let row_steps = kernels::round_rows(rows, self.width, bytes);
                    let zeros = [ZERO; SOME];
                    let of_rows = Some(QuantParams { zero_point: &zeros[..row_steps.len()] });
                    let left = GemmInputA::Unpacked(NdTensorView::from_data([row_steps.len(), self.width], &*bytes));
                    let options = GemmOptions { a_quant: of_rows, ..Default::default() };
                    let product = GemmExecutor::<u8, i8, i32>::new().gemm(sums, left, GemmInputB::Packed(packed), options);
                    product.map_err(candle_core::Error::wrap)?;
                    kernels::add_sums(to, sums, &row_steps, steps, bias, rectified);
                    Ok(())
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounded_products_are_near_the_exact_ones() {
        for (n, width, columns) in [(1, 32, 16), (5, 192, 48), (150, 100, 37)] {
            let of = |seed: usize, len: usize| (0..len).map(|i| ((i * seed) % 101) as f32 / 50.0 - 1.0).collect::<Vec<f32>>();
            let (rows, bias, before) = (of(37, n * width), of(11, columns), of(53, n * columns));
            let bytes: Vec<u8> = (0..width * columns).map(|i| ZERO - 63 + ((i * 29) % 127) as u8).collect();
            let steps: Vec<f32> = (1..=columns).map(|i| i as f32 / (20 * columns) as f32).collect();
            for rectified in [false, true] {
                let sums = |precision| {
                    let mut to = before.clone();
                    let stored = Stored { bytes: bytes.clone(), steps: steps.clone() };
                    Matrix::new(stored, precision).and_then(|m| m.add(&mut to, &rows, &bias, rectified)).expect("a product");
                    to
                };
                let (exact, rounded) = (sums(Precision::Exact), sums(Precision::Rounded));
                let spread = (exact.iter().map(|x| x * x).sum::<f32>() / exact.len() as f32).sqrt();
                let apart = exact.iter().zip(&rounded).map(|(a, b)| (a - b).abs());
                let (far, mean) = (apart.clone().fold(0.0, f32::max), apart.sum::<f32>() / exact.len() as f32);
                assert!(far > 0.0 && far < 0.1 * spread && mean < 0.02 * spread, "{n} x {width} x {columns}: {far}, {mean} of {spread}");
            }
        }
    }

    #[test]
    fn rows_of_zeros_give_zeros() {
        let stored = Stored { bytes: vec![ZERO + 63; 16 * 8], steps: vec![1.0; 8] };
        let mut to = vec![0.0; 24];
        Matrix::new(stored, Precision::Rounded).and_then(|m| m.add(&mut to, &[0.0; 48], &[0.0; 8], false)).expect("a product");
        assert_eq!(to, [0.0; 24]);
    }
}
