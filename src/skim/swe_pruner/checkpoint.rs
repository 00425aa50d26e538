//! The tensors of a checkpoint: `model.safetensors`.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use candle_core::{DType, Device, Error as Failure, Result, Tensor, bail};
use safetensors::tensor::{Metadata, TensorInfo};

use super::linear::{Linear, Precision};
use crate::error::Error;

/// Longer headers are not those of a model, in bytes.
const LONGEST_HEADER: u64 = 100 << 20;

/// A problem with the files in a directory.
pub(super) fn unusable(directory: &Path, problem: impl std::fmt::Display) -> Error {
    Error::Model { directory: crate::error::quote(&directory.display().to_string()), problem: crate::error::shorten(&problem.to_string()) }
}

/// The tensors of a checkpoint, read one by one: a map of the file into memory would take the process down with it if somebody cut it.
pub struct Checkpoint {
    file: File,
    /// Where in the file the data begins.
    data: u64,
    tensors: Metadata,
    device: Device,
    precision: Precision,
}

impl Checkpoint {
    /// Reads what the file says of itself and checks that it is whole.
    ///
    /// # Errors
    /// A file that is missing, cut off or of another format.
    pub fn open(directory: &Path, device: Device, precision: Precision) -> crate::error::Result<Self> {
        let cannot = |error: std::io::Error| unusable(directory, format!("model.safetensors could not be read ({error})"));
        let broken = |how: String| unusable(directory, format!("model.safetensors is damaged or incomplete ({how}); fetch it again"));
        let mut file = File::open(directory.join("model.safetensors")).map_err(cannot)?;
        let length = file.metadata().map_err(cannot)?.len();
        let mut size = [0; 8];
        file.read_exact(&mut size).map_err(|_| broken(format!("it has {length} bytes")))?;
        let size = u64::from_le_bytes(size);
        if size > LONGEST_HEADER.min(length) {
            return Err(broken("it does not begin with a header".to_owned()));
        }
        let mut header = Vec::new();
        (&file).take(size).read_to_end(&mut header).map_err(cannot)?;
        let tensors: Metadata = serde_json::from_slice(&header).map_err(|error| broken(error.to_string()))?;
        let (data, wanted) = (8 + size, 8 + size + tensors.data_len() as u64);
        if length != wanted {
            return Err(broken(format!("it has {length} bytes in place of {wanted}")));
        }
        Ok(Self { file, data, tensors, device, precision })
    }

    /// Where the model is computed.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// What the backbone is computed in: float32 on a CPU.
    pub fn compute(&self) -> DType {
        if self.device.is_cpu() { DType::F32 } else { self.stored() }
    }

    fn stored(&self) -> DType {
        if self.precision == Precision::Bf16 { DType::BF16 } else { DType::F32 }
    }

    /// Whether a tensor is there and has this shape.
    pub fn check(&self, name: &str, shape: &[usize]) -> Result<&TensorInfo> {
        let Some(found) = self.tensors.info(name) else { bail!("model.safetensors has no {name}, so it is another model's") };
        if found.shape != shape {
            bail!("{name} has the shape {:?} in place of {shape:?}, so it is another model's", found.shape);
        }
        Ok(found)
    }

    /// A tensor of this shape as it is stored.
    fn load(&self, name: &str, shape: &[usize]) -> Result<Tensor> {
        let info = self.check(name, shape)?;
        let (from, to) = info.data_offsets;
        let mut bytes = vec![0; to - from];
        (&self.file).seek(SeekFrom::Start(self.data + from as u64)).map_err(Failure::wrap)?;
        (&self.file).read_exact(&mut bytes).map_err(Failure::wrap)?;
        Tensor::from_raw_buffer(&bytes, info.dtype.try_into()?, shape, &self.device)
    }

    /// One weight of the backbone from several (out, in), one above the other.
    pub fn linear(&self, parts: &[(String, usize)], width: usize) -> Result<Linear> {
        let parts: Vec<Tensor> =
            parts.iter().map(|(name, out)| self.load(name, &[*out, width])?.to_dtype(self.stored())).collect::<Result<_>>()?;
        let weight = if parts.len() == 1 { parts[0].clone() } else { Tensor::cat(&parts, 0)? };
        if self.precision == Precision::Q8 { Linear::quantized(&weight) } else { Ok(Linear::new(weight, None)) }
    }

    /// A table of the backbone, kept as the checkpoint has it: only a few of its rows are read.
    pub fn table(&self, name: &str, rows: usize, width: usize) -> Result<Tensor> {
        self.load(name, &[rows, width])
    }

    /// A vector of the backbone.
    pub fn vector(&self, name: &str, width: usize) -> Result<Tensor> {
        self.load(name, &[width])?.to_dtype(self.compute())
    }

    /// A vector of the head, which is computed in float32.
    pub fn head_vector(&self, name: &str, width: usize) -> Result<Tensor> {
        self.load(name, &[width])?.to_dtype(DType::F32)
    }

    /// A layer of the head.
    pub fn affine(&self, weight: &str, bias: &str, from: usize, to: usize) -> Result<Linear> {
        Ok(Linear::new(self.load(weight, &[to, from])?.to_dtype(DType::F32)?, Some(self.head_vector(bias, to)?)))
    }
}
