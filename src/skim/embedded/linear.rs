//! Affine maps of rows, in the precision that [`Matrix`] has.

use candle_core::{CpuStorage, CustomOp1, InplaceOp2, Layout, Result, Shape, Tensor};
use candle_nn::VarBuilder;

use super::product::{Matrix, Precision, Stored};
use crate::skim::kernels::{Norm, numbers, numbers_mut};

/// An affine map.
pub struct Linear {
    weight: Matrix,
    bias: Vec<f32>,
}

/// The map of a tensor, without what is below 0 where it is `rectified`.
struct Map<'a> {
    linear: &'a Linear,
    rectified: bool,
}

impl Linear {
    /// Reads `weight`, its `step`s and `bias`.
    pub fn new(width_in: usize, width_out: usize, vb: VarBuilder, precision: Precision) -> Result<Self> {
        Self::scaled(width_in, width_out, vb, precision, 0, 1.0)
    }

    /// With the first `columns` results times `scale`.
    pub fn scaled(width_in: usize, width_out: usize, vb: VarBuilder, precision: Precision, columns: usize, scale: f32) -> Result<Self> {
        let mut stored = Stored::load((width_in, width_out), width_out, &vb)?;
        let mut bias = vb.get(width_out, "bias")?.to_vec1()?;
        stored.steps[..columns].iter_mut().chain(&mut bias[..columns]).for_each(|x| *x *= scale);
        Ok(Self { weight: Matrix::new(stored, precision)?, bias })
    }

    /// Of weights that are stored as floats.
    pub fn exact(width_in: usize, width_out: usize, vb: VarBuilder) -> Result<Self> {
        Ok(Self { weight: Matrix::exact(&vb.get((width_in, width_out), "weight")?)?, bias: vb.get(width_out, "bias")?.to_vec1()? })
    }

    /// (n, width in) -> (n, width out)
    pub fn forward(&self, x: &Tensor) -> Result<Tensor> {
        x.apply_op1_no_bwd(&Map { linear: self, rectified: false })
    }

    /// The map without what is below 0.
    pub fn rectified(&self, x: &Tensor) -> Result<Tensor> {
        x.apply_op1_no_bwd(&Map { linear: self, rectified: true })
    }

    /// Adds the map of `x` to what is in `to`.
    pub fn add_to(&self, to: &Tensor, x: &Tensor) -> Result<()> {
        to.inplace_op2(x, self)
    }
}

impl CustomOp1 for Map<'_> {
    fn name(&self) -> &'static str {
        "map"
    }

    fn cpu_fwd(&self, x: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let Self { linear: Linear { weight, bias }, rectified } = self;
        let x = numbers(x, layout)?;
        let n = x.len() / weight.width();
        let mut out = vec![0.0; n * weight.columns()];
        weight.add(&mut out, x, bias, *rectified)?;
        Ok((CpuStorage::F32(out), (n, weight.columns()).into()))
    }
}

impl InplaceOp2 for Linear {
    fn name(&self) -> &'static str {
        "add-map"
    }

    fn cpu_fwd(&self, to: &mut CpuStorage, to_layout: &Layout, x: &CpuStorage, layout: &Layout) -> Result<()> {
        self.weight.add(numbers_mut(to, to_layout)?, numbers(x, layout)?, &self.bias, false)
    }
}

/// Reads the weight and bias of a norm over rows of `width`.
pub fn load_norm(width: usize, vb: &VarBuilder) -> Result<Norm> {
    Ok(Norm { weight: vb.get(width, "weight")?.to_vec1()?, bias: vb.get(width, "bias")?.to_vec1()? })
}
