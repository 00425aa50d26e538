//! Arithmetic that candle does one number at a time or not at all, on vectors and in place: softmax, SwiGLU, and what is done to each row.
//!
//! Every pair of lines costs the embedded skimmer one exponential a head and block, 13 million of them for 800 lines; the same goes for
//! every pair of tokens in a larger model. The standard library computes them one at a time; the one here is plain arithmetic, which the
//! compiler turns into vector instructions.

use candle_core::{CpuStorage, CustomOp1, Device, InplaceOp1, Layout, Result, Shape, Tensor, bail};
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

/// Numbers worked on side by side: one AVX-512 register, or several smaller ones.
const LANES: usize = 16;
/// Numbers that are worth a task of their own.
const TASK: usize = 1 << 16;
/// Added to a row's variance, as in the trainer.
const EPSILON: f32 = 1e-5;
/// The largest number of a row becomes this.
const LARGEST: f32 = 127.0;
/// What is no larger counts as 0.
const SMALLEST: f32 = 1e-30;
/// What stands for 0 in rounded rows and weights.
pub const ZERO: u8 = 128;
/// Adding this to a float rounds it to an integer, which then is in the low bits.
const ROUND: f32 = 12_582_912.0;

/// Softmax over the last dimension of (H, n, M).
pub enum Softmax<'a> {
    /// As it is.
    Plain,
    /// With (H, n, M) added first.
    Biased(&'a Tensor),
    /// Over the columns that a row sees.
    Causal(Causal),
}

/// Rows that see no column beyond their own position: `rows` of them from position `first` on, again and again.
#[derive(Debug, Clone, Copy)]
pub struct Causal {
    /// The position of the first row.
    pub first: usize,
    /// Rows until the positions begin again.
    pub rows: usize,
}

/// The product of the second half of each row and the SiLU of its first half: (n, 2 m) -> (n, m).
pub struct SwiGlu;

/// Each row of (n, D) less its mean, divided by its spread, times a weight, plus a bias. On the caller's thread: candle's shares out every row,
/// and of two threads that each normalise half of the rows one always waited for the other to wake.
pub struct Norm {
    /// D numbers.
    pub weight: Vec<f32>,
    /// D numbers.
    pub bias: Vec<f32>,
}

impl Causal {
    /// Columns that a row sees.
    fn seen(self, row: usize) -> usize {
        self.first + row % self.rows + 1
    }

    /// The same as something to add: (1, times * rows, columns) of 0 and minus infinity.
    pub fn mask(self, times: usize, columns: usize, device: &Device) -> Result<Tensor> {
        let row = |row| (0..columns).map(move |column| if column < self.seen(row) { 0.0 } else { f32::NEG_INFINITY });
        Tensor::from_iter((0..times * self.rows).flat_map(row), device)?.reshape((1, times * self.rows, columns))
    }
}

/// Some rows of scores, of `width` columns each, on their way to be weights.
///
/// A type of its own and not a closure, as only this way all of it is compiled for the widest registers that the machine has: the compiler
/// called a closure from there, compiled for the narrowest.
struct Rows<'a, S> {
    scores: &'a mut [f32],
    width: usize,
    /// As many numbers as there are scores, or none.
    bias: &'a [f32],
    /// Columns that a row sees.
    seen: S,
}

/// Gates and what they let through: [`SwiGlu`] of some rows.
struct Gates<'a> {
    out: &'a mut [f32],
    gate: &'a [f32],
    up: &'a [f32],
}

/// [`Norm`] of some rows.
struct Normalised<'a> {
    out: &'a mut [f32],
    x: &'a [f32],
    norm: &'a Norm,
}

/// [`add_rows`]
struct Added<'a> {
    to: &'a mut [f32],
    rows: &'a [f32],
    bias: &'a [f32],
    least: f32,
}

/// [`add_sums`]
struct Rescaled<'a> {
    to: &'a mut [f32],
    sums: &'a [i32],
    row_steps: &'a [f32],
    column_steps: &'a [f32],
    bias: &'a [f32],
    least: f32,
}

/// [`round_rows`]
struct Rounded<'a> {
    rows: &'a [f32],
    width: usize,
    out: &'a mut [u8],
}

impl<S: Fn(usize) -> usize> WithSimd for Rows<'_, S> {
    type Output = ();

    #[inline(always)]
    fn with_simd<V: Simd>(self, _: V) {
        let bias = self.bias.chunks_exact(self.width).map(Some).chain(std::iter::repeat(None));
        for (i, (row, bias)) in self.scores.chunks_exact_mut(self.width).zip(bias).enumerate() {
            for (score, bias) in row.iter_mut().zip(bias.unwrap_or_default()) {
                *score += bias;
            }
            let seen = (self.seen)(i);
            softmax(&mut row[..seen]);
            row[seen..].fill(0.0);
        }
    }
}

impl WithSimd for Gates<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<V: Simd>(self, _: V) {
        for ((out, gate), up) in self.out.iter_mut().zip(self.gate).zip(self.up) {
            let e = exp(-gate.abs());
            let sigmoid = if *gate >= 0.0 { 1.0 } else { e } / (1.0 + e);
            *out = gate * sigmoid * up;
        }
    }
}

impl WithSimd for Normalised<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<V: Simd>(self, _: V) {
        let width = self.norm.weight.len();
        for (out, row) in self.out.chunks_exact_mut(width).zip(self.x.chunks_exact(width)) {
            let mean = reduce(row, 0.0, |a, b| a + b) / width as f32;
            for (out, x) in out.iter_mut().zip(row) {
                *out = (x - mean) * (x - mean);
            }
            let scale = 1.0 / (reduce(out, 0.0, |a, b| a + b) / width as f32 + EPSILON).sqrt();
            for (((out, x), weight), bias) in out.iter_mut().zip(row).zip(&self.norm.weight).zip(&self.norm.bias) {
                *out = (x - mean) * scale * weight + bias;
            }
        }
    }
}

impl WithSimd for Added<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<V: Simd>(self, _: V) {
        let width = self.bias.len();
        for (to, row) in self.to.chunks_exact_mut(width).zip(self.rows.chunks_exact(width)) {
            for ((to, x), bias) in to.iter_mut().zip(row).zip(self.bias) {
                *to = at_least(self.least, *to + x + bias);
            }
        }
    }
}

impl WithSimd for Rescaled<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<V: Simd>(self, _: V) {
        let width = self.bias.len();
        for ((to, sums), row_step) in self.to.chunks_exact_mut(width).zip(self.sums.chunks_exact(width)).zip(self.row_steps) {
            for (((to, sum), step), bias) in to.iter_mut().zip(sums).zip(self.column_steps).zip(self.bias) {
                *to = at_least(self.least, *to + *sum as f32 * (row_step * step) + bias);
            }
        }
    }
}

impl WithSimd for Rounded<'_> {
    type Output = Vec<f32>;

    #[inline(always)]
    fn with_simd<V: Simd>(self, _: V) -> Vec<f32> {
        let rows = self.rows.chunks_exact(self.width).zip(self.out.chunks_exact_mut(self.width));
        let mut steps = Vec::with_capacity(rows.len());
        for (row, out) in rows {
            let largest = reduce(row, SMALLEST, |a, b| if a > b.abs() { a } else { b.abs() });
            let scale = LARGEST / largest;
            for (out, x) in out.iter_mut().zip(row) {
                *out = (x * scale + (ROUND + f32::from(ZERO))).to_bits() as u8;
            }
            steps.push(largest / LARGEST);
        }
        steps
    }
}

#[inline(always)]
fn at_least(least: f32, x: f32) -> f32 {
    if x > least { x } else { least }
}

/// Below nothing, or below 0.
fn least(rectified: bool) -> f32 {
    if rectified { 0.0 } else { f32::NEG_INFINITY }
}

/// Adds (n, D), and a bias of D numbers to each row, to (n, D). Nothing below 0 is left where it is `rectified`.
pub fn add_rows(to: &mut [f32], rows: &[f32], bias: &[f32], rectified: bool) {
    Arch::new().dispatch(Added { to, rows, bias, least: least(rectified) });
}

/// The same for sums of products of rounded numbers, which are worth the product of their row's and their column's step.
pub fn add_sums(to: &mut [f32], sums: &[i32], row_steps: &[f32], column_steps: &[f32], bias: &[f32], rectified: bool) {
    Arch::new().dispatch(Rescaled { to, sums, row_steps, column_steps, bias, least: least(rectified) });
}

/// Each row of (n, width) as whole steps, written with [`ZERO`] added. Gives what a step is worth in each row.
pub fn round_rows(rows: &[f32], width: usize, out: &mut [u8]) -> Vec<f32> {
    Arch::new().dispatch(Rounded { rows, width, out })
}

impl CustomOp1 for Norm {
    fn name(&self) -> &'static str {
        "norm"
    }

    fn cpu_fwd(&self, x: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let x = numbers(x, layout)?;
        let mut out = vec![0.0; x.len()];
        Arch::new().dispatch(Normalised { out: &mut out, x, norm: self });
        Ok((CpuStorage::F32(out), layout.shape().clone()))
    }
}

/// The numbers of a contiguous f32 tensor.
pub fn numbers<'a>(storage: &'a CpuStorage, layout: &Layout) -> Result<&'a [f32]> {
    match (storage, layout.contiguous_offsets()) {
        (CpuStorage::F32(numbers), Some((from, to))) => Ok(&numbers[from..to]),
        _ => bail!("a contiguous f32 tensor is needed"),
    }
}

/// The same, to be changed.
pub fn numbers_mut<'a>(storage: &'a mut CpuStorage, layout: &Layout) -> Result<&'a mut [f32]> {
    match (storage, layout.contiguous_offsets()) {
        (CpuStorage::F32(numbers), Some((from, to))) => Ok(&mut numbers[from..to]),
        _ => bail!("a contiguous f32 tensor is needed"),
    }
}

impl InplaceOp1 for Softmax<'_> {
    fn name(&self) -> &'static str {
        "softmax"
    }

    fn cpu_fwd(&self, scores: &mut CpuStorage, layout: &Layout) -> Result<()> {
        let scores = numbers_mut(scores, layout)?;
        let width = layout.dims().last().copied().unwrap_or(1).max(1);
        let arch = Arch::new();
        let Self::Biased(bias) = self else {
            let seen_by = |row| if let Self::Causal(causal) = self { causal.seen(row).min(width) } else { width };
            let some = TASK.div_ceil(width);
            scores.par_chunks_mut(some * width).enumerate().for_each(|(task, scores)| {
                arch.dispatch(Rows { scores, width, bias: &[], seen: |i| seen_by(task * some + i) });
            });
            return Ok(());
        };
        let (storage, layout) = bias.storage_and_layout();
        let candle_core::Storage::Cpu(bias) = &*storage else { bail!("the bias is not on the CPU") };
        let bias = numbers(bias, layout)?;
        if bias.len() != scores.len() {
            bail!("{} scores and a bias of {}", scores.len(), bias.len());
        }
        arch.dispatch(Rows { scores, width, bias, seen: |_| width });
        Ok(())
    }
}

impl CustomOp1 for SwiGlu {
    fn name(&self) -> &'static str {
        "swiglu"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let (x, &[n, width]) = (numbers(storage, layout)?, layout.dims()) else { bail!("what is gated must be a matrix") };
        let half = width / 2;
        let mut out = vec![0.0; n * half];
        let arch = Arch::new();
        out.par_chunks_exact_mut(half).zip(x.par_chunks_exact(width)).for_each(|(out, row)| {
            let (gate, up) = row.split_at(half);
            arch.dispatch(Gates { out, gate, up });
        });
        Ok((CpuStorage::F32(out), (n, half).into()))
    }
}

#[inline(always)]
fn softmax(row: &mut [f32]) {
    let top = reduce(row, f32::NEG_INFINITY, |a, b| if a > b { a } else { b });
    for score in &mut *row {
        *score = exp(*score - top);
    }
    let scale = 1.0 / reduce(row, 0.0, |a, b| a + b);
    for weight in row {
        *weight *= scale;
    }
}

#[inline(always)]
fn reduce(row: &[f32], start: f32, join: impl Fn(f32, f32) -> f32 + Copy) -> f32 {
    let mut lanes = [start; LANES];
    let chunks = row.chunks_exact(LANES);
    let rest = chunks.remainder().iter().copied().fold(start, join);
    for chunk in chunks {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane = join(*lane, *value);
        }
    }
    lanes.into_iter().fold(rest, join)
}

/// e^x for x <= 0, within 4e-7 of its value: 2^k e^r with |r| <= ln 2 / 2, and Taylor's series for e^r. Below -87 it stays at e^-87.
#[inline(always)]
fn exp(x: f32) -> f32 {
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
    fn rows_become_the_weights_that_candle_makes() {
        for width in [1, 15, 16, 37] {
            let scores: Vec<f32> = (0..2 * 3 * width).map(|i| ((i * 37) % 101) as f32 / 7.0 - 9.0).collect();
            let bias: Vec<f32> = scores.iter().rev().map(|score| score / 2.0).collect();
            let tensor = |values: &[f32]| Tensor::from_slice(values, (2, 3, width), &Device::Cpu).expect("a tensor");
            for bias in [None, Some(tensor(&bias))] {
                let got = tensor(&scores);
                let with = bias.as_ref().map_or_else(|| got.clone(), |bias| (&got + bias).expect("a sum"));
                let wanted = candle_nn::ops::softmax_last_dim(&with).expect("weights").flatten_all().and_then(|t| t.to_vec1::<f32>());
                got.inplace_op1(&bias.as_ref().map_or(Softmax::Plain, Softmax::Biased)).expect("weights");
                let got = got.flatten_all().and_then(|t| t.to_vec1::<f32>()).expect("numbers");
                let near = got.iter().zip(wanted.expect("numbers")).all(|(a, b)| (a - b).abs() < 1e-6);
                assert!(near, "{width}: {got:?}");
            }
        }
    }

    #[test]
    fn rows_are_normalised_and_added_as_candle_does() {
        let (n, width) = (5, 37);
        let of = |seed: usize, len: usize| (0..len).map(|i| ((i * seed) % 101) as f32 / 7.0 - 6.0).collect::<Vec<f32>>();
        let tensor = |values: &[f32], rows: usize| Tensor::from_slice(values, (rows, width), &Device::Cpu).expect("a tensor");
        let (x, y, weight, bias) = (of(37, n * width), of(53, n * width), of(11, width), of(29, width));
        let far = |a: Tensor, b: Tensor| (a - b).and_then(|t| t.abs()?.max_all()?.to_scalar::<f32>()).expect("a number");
        let line = |values: &[f32]| Tensor::from_slice(values, width, &Device::Cpu).expect("a tensor");
        let wanted = candle_nn::ops::layer_norm(&tensor(&x, n), &line(&weight), &line(&bias), EPSILON).expect("rows");
        let got = tensor(&x, n).apply_op1_no_bwd(&Norm { weight, bias: bias.clone() }).expect("rows");
        assert!(far(got, wanted) < 1e-5);
        let sum = (tensor(&x, n).broadcast_add(&line(&bias)).expect("a sum") + tensor(&y, n)).expect("a sum");
        for (rectified, wanted) in [(false, sum.clone()), (true, sum.relu().expect("no less than 0"))] {
            let mut got = x.clone();
            add_rows(&mut got, &y, &bias, rectified);
            assert!(far(tensor(&got, n), wanted) < 1e-5);
        }
    }

    #[test]
    fn rounded_rows_are_within_half_a_step() {
        let (n, width) = (5, 37);
        let rows: Vec<f32> = (0..n * width).map(|i| ((i * 37) % 101) as f32 / 7.0 - 6.0).chain(std::iter::repeat_n(0.0, width)).collect();
        let mut out = vec![0; rows.len()];
        let steps = round_rows(&rows, width, &mut out);
        for ((row, out), step) in rows.chunks_exact(width).zip(out.chunks_exact(width)).zip(steps) {
            let near = |(x, byte): (&f32, &u8)| (x - (f32::from(*byte) - f32::from(ZERO)) * step).abs() <= 0.501 * step;
            assert!(row.iter().zip(out).all(near), "{row:?} {out:?}");
        }
    }

    #[test]
    fn a_row_sees_nothing_beyond_its_position() {
        let causal = Causal { first: 2, rows: 3 };
        let scores: Vec<f32> = (0..6 * 5).map(|i| ((i * 37) % 11) as f32 / 3.0).collect();
        let scores = Tensor::from_vec(scores, (1, 6, 5), &Device::Cpu).expect("a tensor");
        let mask = causal.mask(2, 5, &Device::Cpu).expect("a mask");
        let wanted = candle_nn::ops::softmax_last_dim(&(&scores + mask).expect("a sum")).expect("weights");
        scores.inplace_op1(&Softmax::Causal(causal)).expect("weights");
        let far = (scores - wanted).and_then(|t| t.abs()?.max_all()?.to_scalar::<f32>()).expect("a number");
        assert!(far < 1e-6, "{far}");
    }

    #[test]
    fn a_gate_is_the_silu_of_the_first_half() {
        let x: Vec<f32> = (0..4 * 20).map(|i| ((i * 37) % 101) as f32 / 3.0 - 17.0).collect();
        let x = Tensor::from_vec(x, (4, 20), &Device::Cpu).expect("a tensor");
        let halves = x.chunk(2, 1).expect("halves");
        let wanted = candle_nn::ops::silu(&halves[0]).and_then(|gate| gate * &halves[1]).expect("a product");
        let far = (x.apply_op1_no_bwd(&SwiGlu).expect("a product") - wanted).and_then(|t| t.abs()?.max_all()?.to_scalar::<f32>());
        assert!(far.as_ref().is_ok_and(|far| *far < 1e-4), "{far:?}");
    }
}
