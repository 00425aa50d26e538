//! A checkpoint as it is published: `config.json`, `tokenizer.json` and `model.safetensors` in one directory.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use candle_core::{DType, Device, Error as Failure, Result, Tensor, bail};
use safetensors::tensor::{Metadata, TensorInfo};

use super::backbone;
use super::head::Kind;
use super::linear::{Linear, Precision};
use crate::error::Error;

/// Longer headers are not those of a model, in bytes.
const LONGEST_HEADER: u64 = 100 << 20;

/// The pruner's part of `config.json`.
#[derive(Debug, Clone, serde::Deserialize)]
pub struct Config {
    /// Where the backbone's own configuration is: a directory, or the name of a model on the hub.
    pub backbone_model_name_or_path: String,
    /// Width inside the head.
    #[serde(default = "bottleneck")]
    pub bottleneck: usize,
    /// Attention layers over the fused states.
    #[serde(default = "one")]
    pub num_fusion_layers: usize,
    /// Their heads.
    #[serde(default = "eight")]
    pub num_heads: usize,
    /// Whether the states of three layers are read, or only those of the last.
    #[serde(default = "yes")]
    pub use_multi_layer_fusion: bool,
    /// How far up the first of the three is.
    #[serde(default = "a_quarter")]
    pub early_layer_ratio: f64,
    /// How far up the second is.
    #[serde(default = "a_half")]
    pub middle_layer_ratio: f64,
    /// The form of the head.
    #[serde(default = "crf")]
    pub compression_head_type: Kind,
    /// What the model is told to judge.
    #[serde(default = "instruction")]
    pub instruction: String,
}

// What the published implementation takes where a checkpoint says nothing.
fn bottleneck() -> usize {
    256
}
fn one() -> usize {
    1
}
fn eight() -> usize {
    8
}
fn yes() -> bool {
    true
}
fn a_quarter() -> f64 {
    0.25
}
fn a_half() -> f64 {
    0.5
}
fn crf() -> Kind {
    Kind::Crf
}
fn instruction() -> String {
    "Given a query, judge if the document(code) is related to query.".to_owned()
}

impl Config {
    /// Layers whose states are read, in rising order.
    pub fn layers(&self, layers: usize) -> Vec<usize> {
        let at = |ratio: f64| ((layers as f64 * ratio) as usize).max(1);
        if self.use_multi_layer_fusion { vec![at(self.early_layer_ratio), at(self.middle_layer_ratio), layers] } else { vec![layers] }
    }
}

/// A problem with the files in a directory.
pub(super) fn unusable(directory: &Path, problem: impl std::fmt::Display) -> Error {
    Error::Model { directory: crate::error::quote(&directory.display().to_string()), problem: crate::error::shorten(&problem.to_string()) }
}

/// Reads a JSON file of a checkpoint.
fn json<T: serde::de::DeserializeOwned>(directory: &Path, file: &Path) -> crate::error::Result<T> {
    let name = file.file_name().unwrap_or_default().display();
    let text = std::fs::read_to_string(file).map_err(|error| {
        unusable(
            directory,
            format!("{name} could not be read ({error}); the directory needs config.json, tokenizer.json and model.safetensors"),
        )
    })?;
    serde_json::from_str(&text).map_err(|error| unusable(directory, format!("{name} is not the configuration of a pruner ({error})")))
}

/// The configurations of a checkpoint: the pruner's and the backbone's.
///
/// # Errors
/// Files that are missing, or describe another model.
pub fn configurations(directory: &Path) -> crate::error::Result<(Config, backbone::Config)> {
    let config: Config = json(directory, &directory.join("config.json"))?;
    let named = PathBuf::from(&config.backbone_model_name_or_path);
    let places = [directory.join("backbone"), directory.join(&named)].map(|place| place.join("config.json"));
    let backbone = match places.iter().find(|place| place.is_file()) {
        Some(place) => json(directory, place)?,
        None if config.backbone_model_name_or_path.ends_with("Qwen3-Reranker-0.6B") => backbone::Config::RERANKER_0_6B,
        None => {
            let problem = format!(
                "its backbone {} is not known; put the backbone's config.json into a directory \"backbone\" beside it",
                crate::error::quote(&config.backbone_model_name_or_path)
            );
            return Err(unusable(directory, problem));
        }
    };
    Ok((config, backbone))
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
