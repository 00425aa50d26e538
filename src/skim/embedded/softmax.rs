//! Attention weights from attention scores, in place.
//!
//! Every pair of lines costs one exponential a head and block, 13 million of them for 800 lines. The standard library computes them one at a
//! time; this one is plain arithmetic, which the compiler turns into vector instructions.

use candle_core::{CpuStorage, InplaceOp1, Layout, Result, Tensor, bail};

/// Numbers worked on side by side: one AVX-512 register, or several smaller ones.
const LANES: usize = 16;

/// Softmax over the last dimension of (H, n, M), with `bias` (H, n, M) added first.
pub struct Softmax<'a> {
    /// Added to the scores first.
    pub bias: Option<&'a Tensor>,
}

impl InplaceOp1 for Softmax<'_> {
    fn name(&self) -> &'static str {
        "softmax"
    }

    fn cpu_fwd(&self, scores: &mut CpuStorage, layout: &Layout) -> Result<()> {
        let (CpuStorage::F32(scores), Some((from, to))) = (scores, layout.contiguous_offsets()) else {
            bail!("scores must be contiguous f32");
        };
        let scores = &mut scores[from..to];
        let width = layout.dims().last().copied().unwrap_or(1);
        let arch = pulp::Arch::new();
        let Some(bias) = self.bias else {
            arch.dispatch(|| scores.chunks_exact_mut(width).for_each(softmax));
            return Ok(());
        };
        let (storage, layout) = bias.storage_and_layout();
        let (candle_core::Storage::Cpu(CpuStorage::F32(bias)), Some((from, to))) = (&*storage, layout.contiguous_offsets()) else {
            bail!("the bias must be contiguous f32");
        };
        let bias = &bias[from..to];
        if bias.len() != scores.len() {
            bail!("{} scores and a bias of {}", scores.len(), bias.len());
        }
        arch.dispatch(|| {
            for (row, bias) in scores.chunks_exact_mut(width).zip(bias.chunks_exact(width)) {
                row.iter_mut().zip(bias).for_each(|(score, bias)| *score += bias);
                softmax(row);
            }
        });
        Ok(())
    }
}

#[inline(always)]
fn softmax(row: &mut [f32]) {
    let top = reduce(row, f32::NEG_INFINITY, |a, b| if a > b { a } else { b });
    row.iter_mut().for_each(|score| *score = exp(*score - top));
    let scale = 1.0 / reduce(row, 0.0, |a, b| a + b);
    row.iter_mut().for_each(|weight| *weight *= scale);
}

#[inline(always)]
fn reduce(row: &[f32], start: f32, join: impl Fn(f32, f32) -> f32 + Copy) -> f32 {
    let mut lanes = [start; LANES];
    let chunks = row.chunks_exact(LANES);
    let rest = chunks.remainder().iter().copied().fold(start, join);
    for chunk in chunks {
        lanes.iter_mut().zip(chunk).for_each(|(lane, value)| *lane = join(*lane, *value));
    }
    lanes.into_iter().fold(rest, join)
}

/// e^x for x <= 0, within 3e-7 of its value: 2^k e^r with |r| <= ln 2 / 2, and Taylor's series for e^r. Below -87 it stays at e^-87.
#[inline(always)]
fn exp(x: f32) -> f32 {
    /// Adding this rounds to an integer, which then is in the low bits.
    const ROUND: f32 = 12_582_912.0;
    const LN_2_HIGH: f32 = 0.693_359_4;
    const LN_2_LOW: f32 = -2.121_944_4e-4;
    let x = if x > -87.0 { x } else { -87.0 };
    let rounded = x * std::f32::consts::LOG2_E + ROUND;
    let k = rounded - ROUND;
    let r = x - k * LN_2_HIGH - k * LN_2_LOW;
    let series = 1.0 + r * (1.0 + r * (1.0 / 2.0 + r * (1.0 / 6.0 + r * (1.0 / 24.0 + r * (1.0 / 120.0 + r * (1.0 / 720.0))))));
    let power = rounded.to_bits().wrapping_sub(ROUND.to_bits()).wrapping_add(127) << 23;
    f32::from_bits(power) * series
}

#[cfg(test)]
mod tests {
    use super::*;
    use candle_core::Device;

    #[test]
    fn exp_is_that_of_the_standard_library() {
        for i in 0..=87_000 {
            let x = -i as f32 / 1000.0;
            let wanted = f64::from(x).exp();
            assert!((f64::from(exp(x)) - wanted).abs() <= 4e-7 * wanted, "{x}: {} {wanted}", exp(x));
        }
        assert!(exp(f32::NEG_INFINITY) < 1e-37);
    }

    #[test]
    fn rows_become_weights_that_sum_to_one() {
        for width in [1, 15, 16, 37] {
            let scores: Vec<f32> = (0..2 * 3 * width).map(|i| ((i * 37) % 101) as f32 / 7.0 - 9.0).collect();
            let bias: Vec<f32> = scores.iter().rev().map(|score| score / 2.0).collect();
            let tensor = |values: &[f32]| Tensor::from_slice(values, (2, 3, width), &Device::Cpu).expect("a tensor");
            for bias in [None, Some(tensor(&bias))] {
                let got = tensor(&scores);
                let with = bias.as_ref().map_or_else(|| got.clone(), |bias| (&got + bias).expect("a sum"));
                let wanted = candle_nn::ops::softmax_last_dim(&with).expect("weights").flatten_all().and_then(|t| t.to_vec1::<f32>());
                got.inplace_op1(&Softmax { bias: bias.as_ref() }).expect("weights");
                let got = got.flatten_all().and_then(|t| t.to_vec1::<f32>()).expect("numbers");
                let far = got.iter().zip(wanted.expect("numbers")).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
                assert!(far < 1e-6, "{width}: {far}");
            }
        }
    }
}
