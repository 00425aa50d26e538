//! What codeskim's embedded skimmer has learnt. It is a package of its own because the registry takes 10 MB at most of each.

/// Its weights, in the format of safetensors.
pub static WEIGHTS: &[u8] = include_bytes!("model.safetensors");
/// Its shape and its decision points, in JSON.
pub static CONFIG: &str = include_str!("config.json");
/// Its subtokens, one a line.
pub static VOCABULARY: &str = include_str!("vocab.txt");
