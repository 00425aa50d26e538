//! What a checkpoint says of itself: the pruner's `config.json` and the backbone's.

use std::path::{Path, PathBuf};

use super::backbone;
use super::checkpoint::unusable;
use super::head::Kind;
use crate::error::{Result, quote};

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

/// Reads a JSON file of a checkpoint.
fn json<T: serde::de::DeserializeOwned>(directory: &Path, file: &Path) -> Result<T> {
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
pub fn configurations(directory: &Path) -> Result<(Config, backbone::Config)> {
    let config: Config = json(directory, &directory.join("config.json"))?;
    let named = PathBuf::from(&config.backbone_model_name_or_path);
    let places = [directory.join("backbone"), directory.join(&named)].map(|place| place.join("config.json"));
    let backbone = match places.iter().find(|place| place.is_file()) {
        Some(place) => json(directory, place)?,
        None if config.backbone_model_name_or_path.ends_with("Qwen3-Reranker-0.6B") => backbone::Config::RERANKER_0_6B,
        None => {
            let problem = format!(
                "its backbone {} is not known; put the backbone's config.json into a directory \"backbone\" beside it",
                quote(&config.backbone_model_name_or_path)
            );
            return Err(unusable(directory, problem));
        }
    };
    Ok((config, backbone))
}
