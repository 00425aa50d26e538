//! SWE-Pruner (arXiv 2601.16746): the published 0.6B pruner, from its checkpoint, without Python.
//!
//! [`prompt`] makes tokens, [`backbone`] reads them, [`head`] gives each a logit for keeping, and [`checkpoint`] holds the tensors that
//! [`configuration`] describes. The scores are those of the PyPI package `swe-pruner` 0.1.1: `tests/it/swe_pruner.rs` holds the two
//! together.

pub mod backbone;
pub mod checkpoint;
pub mod configuration;
pub mod head;
pub mod linear;
pub mod prompt;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::{Mutex, OnceLock};

use candle_core::{D, Device, Tensor};
use tokenizers::Tokenizer;
use tokio_util::sync::CancellationToken;

use self::backbone::Backbone;
use self::checkpoint::{Checkpoint, unusable};
use self::configuration::{Config, configurations};
use self::head::Head;
pub use self::linear::Precision;
use self::prompt::{Characters, LEAST_CODE, Prompt, chunks};
use super::{LineScores, SkimError, Skimmer, Thresholds, joined};
use crate::error::Result;

/// Tokens that neighbouring chunks share unless a request says otherwise.
pub const OVERLAP: usize = 50;
/// Chunks of a text, at most: each takes seconds on a GPU, and a minute or more on a CPU.
const MOST_CHUNKS: usize = 64;
/// The published threshold for lines, with one on either side; its relevance score was not made to tell whether anything answers.
pub const THRESHOLDS: Thresholds = Thresholds { strict: 0.7, balanced: 0.5, generous: 0.3, answer: 0.0, doubt: 0.0 };

/// A token of the code and its score.
#[derive(Debug, Clone, PartialEq)]
pub struct Token {
    /// As the vocabulary writes it.
    pub word: String,
    /// Characters from and to.
    pub at: (usize, usize),
    /// The probability that it is kept.
    pub keep: f64,
}

/// What the model says of a text.
#[derive(Debug, Clone)]
pub struct Scores {
    /// The probability that the text has to do with the query.
    pub relevance: f64,
    /// The tokens of the text, in order.
    pub tokens: Vec<Token>,
    /// Tokens of the text by itself.
    pub code_tokens: usize,
    /// Tokens of the prompt.
    pub input_tokens: usize,
}

/// Why a text was not scored.
#[derive(Debug)]
pub enum Unscored {
    /// The query leaves too few tokens for code.
    QueryTooLong {
        /// Tokens left.
        left: isize,
        /// Tokens of the code.
        code_tokens: usize,
    },
    /// Anything else.
    Failed(SkimError),
}

impl From<SkimError> for Unscored {
    fn from(error: SkimError) -> Self {
        Self::Failed(error)
    }
}

/// The pruner. Its files are checked when it is opened; the weights load at `warm_up`, or at the first call where that may wait.
pub struct SwePruner {
    config: Config,
    backbone: backbone::Config,
    prompt: Prompt,
    checkpoint: Mutex<Option<Checkpoint>>,
    model: OnceLock<std::result::Result<Model, String>>,
    /// Whether a call waits for the weights.
    waits: bool,
}

struct Model {
    backbone: Backbone,
    head: Head,
    layers: Vec<usize>,
}

impl SwePruner {
    /// Opens a directory with config.json, tokenizer.json and model.safetensors. With `waits` the first call loads the weights; without, calls
    /// fail until `warm_up` has.
    ///
    /// # Errors
    /// Files that are missing, damaged or another model's, in one sentence.
    pub fn open(directory: &Path, precision: Precision, waits: bool) -> Result<Self> {
        let (config, backbone) = configurations(directory)?;
        let tokenizer = directory.join("tokenizer.json");
        let tokenizer =
            Tokenizer::from_file(&tokenizer).map_err(|error| unusable(directory, format!("tokenizer.json could not be read ({error})")))?;
        let prompt = Prompt::new(tokenizer, config.instruction.clone()).map_err(|problem| unusable(directory, problem))?;
        let checkpoint = Checkpoint::open(directory, device(), precision)?;
        let table = [backbone.vocab_size, backbone.hidden_size];
        checkpoint.check(backbone::EMBEDDING, &table).map_err(|error| unusable(directory, super::first_line(&error)))?;
        Ok(Self { config, backbone, prompt, checkpoint: Mutex::new(Some(checkpoint)), model: OnceLock::new(), waits })
    }

    /// Scores the tokens of `code` for `query`; chunks of a long text share `overlap` tokens.
    ///
    /// # Errors
    /// A query that leaves no room, a model that is not there or does not compute, or a cancelled call.
    pub fn score(&self, query: &str, code: &str, overlap: usize, cancel: &CancellationToken) -> std::result::Result<Scores, Unscored> {
        let model = self.model()?;
        let room = self.prompt.room(query)?;
        let tokens = self.prompt.tokens(code)?;
        let code_tokens = tokens.ids.len();
        if room.code < LEAST_CODE as isize {
            return Err(Unscored::QueryTooLong { left: room.code, code_tokens });
        }
        let input_tokens = room.query + code_tokens + room.frame;
        let most = room.code as usize;
        if code_tokens <= most {
            let (relevance, tokens) = self.read(model, query, code, 0, cancel)?;
            return Ok(Scores { relevance, tokens, code_tokens, input_tokens });
        }
        let characters = Characters::new(code);
        let chunks = chunks(&tokens.offsets, most, overlap);
        if chunks.len() > MOST_CHUNKS {
            return Err(SkimError::TooLarge(format!("{} chunks are too many to read", chunks.len())).into());
        }
        let (mut relevance, mut found) = (0.0, BTreeMap::<(usize, usize), (String, Vec<f64>)>::new());
        for (from, to) in chunks {
            let (score, tokens) = self.read(model, query, characters.slice(from, to), from, cancel)?;
            relevance = f64::max(relevance, score);
            for token in tokens.into_iter().filter(|token| token.at.0 < characters.len()) {
                found.entry(token.at).or_insert_with(|| (token.word, Vec::new())).1.push(token.keep);
            }
        }
        let mean = |scores: Vec<f64>| scores.iter().sum::<f64>() / scores.len() as f64;
        let tokens = found.into_iter().map(|(at, (word, scores))| Token { word, at, keep: mean(scores) }).collect();
        Ok(Scores { relevance, tokens, code_tokens, input_tokens })
    }

    /// Tokens of the prompt for a text that fits into one.
    ///
    /// # Errors
    /// A tokenizer that fails.
    pub fn input_tokens(&self, query: &str, code: &str) -> std::result::Result<usize, SkimError> {
        Ok(self.prompt.input(query, code)?.ids.len())
    }

    /// Tokens of a text.
    ///
    /// # Errors
    /// A tokenizer that fails.
    pub fn tokens(&self, text: &str) -> std::result::Result<usize, SkimError> {
        Ok(self.prompt.tokens(text)?.ids.len())
    }

    /// Whether the weights are in memory.
    pub fn is_loaded(&self) -> bool {
        self.model.get().is_some_and(std::result::Result::is_ok)
    }

    /// The relevance of one chunk and its tokens, `shift` characters into the text.
    fn read(
        &self,
        model: &Model,
        query: &str,
        chunk: &str,
        shift: usize,
        cancel: &CancellationToken,
    ) -> std::result::Result<(f64, Vec<Token>), SkimError> {
        let input = self.prompt.input(query, chunk)?;
        let go_on = || if cancel.is_cancelled() { Err(SkimError::Cancelled) } else { Ok(()) };
        let states = model.backbone.hidden_states(&input.ids, &model.layers, go_on)?;
        let last = states.last().ok_or(SkimError::Unusable)?.get(input.ids.len() - 1)?;
        let answers = model.backbone.resemblance(&last, &self.prompt.answers)?;
        let logits = model.head.forward(&Tensor::cat(&states, D::Minus1)?)?;
        let tokens = input.offsets.iter().enumerate().map(|(i, (from, to))| {
            let at = input.document + i;
            Token { word: self.prompt.word(input.ids[at]), at: (shift + from, shift + to), keep: probability(logits[at]) }
        });
        let (relevance, tokens) = (probability(answers[1] - answers[0]), tokens.collect::<Vec<_>>());
        let usable = relevance.is_finite() && tokens.iter().all(|token| token.keep.is_finite());
        if usable { Ok((relevance, tokens)) } else { Err(SkimError::Unusable) }
    }

    fn model(&self) -> std::result::Result<&Model, SkimError> {
        if !self.waits && self.model.get().is_none() {
            return Err(SkimError::Loading);
        }
        self.load()
    }

    fn load(&self) -> std::result::Result<&Model, SkimError> {
        let loaded = self.model.get_or_init(|| {
            let checkpoint = self.checkpoint.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
            let checkpoint = checkpoint.ok_or("it was given up while loading")?;
            Model::new(&self.config, &self.backbone, &checkpoint).map_err(|error| super::first_line(&error))
        });
        loaded.as_ref().map_err(|error| SkimError::Model(candle_core::Error::Msg(error.clone())))
    }
}

impl Model {
    fn new(config: &Config, backbone: &backbone::Config, checkpoint: &Checkpoint) -> candle_core::Result<Self> {
        let layers = config.layers(backbone.num_hidden_layers);
        let width = layers.len() * backbone.hidden_size;
        Ok(Self {
            backbone: Backbone::new(backbone, checkpoint)?,
            head: Head::new(
                config.compression_head_type,
                width,
                config.bottleneck,
                config.num_fusion_layers,
                config.num_heads,
                checkpoint,
            )?,
            layers,
        })
    }
}

impl Skimmer for SwePruner {
    fn skim(&self, lines: &[&str], question: &str, cancel: &CancellationToken) -> std::result::Result<LineScores, SkimError> {
        let (code, contents) = joined(lines);
        let scores = self.score(question, &code, OVERLAP, cancel).map_err(|unscored| match unscored {
            Unscored::Failed(error) => error,
            Unscored::QueryTooLong { .. } => SkimError::Model(candle_core::Error::Msg("the question leaves no room for code".to_owned())),
        })?;
        Ok(LineScores { keep: of_lines(&scores.tokens, &contents), answer: scores.relevance as f32, thresholds: THRESHOLDS, note: None })
    }

    fn warm_up(&self) {
        if let Err(error) = self.load() {
            tracing::error!(%error, "the model did not load");
        }
    }
}

/// The score of each character of a text: that of its token, the last one where tokens share it.
pub fn by_character(tokens: &[Token], characters: usize) -> Vec<Option<f64>> {
    let mut out = vec![None; characters];
    for token in tokens {
        let (from, to) = (token.at.0.min(characters), token.at.1.min(characters));
        out[from..to.max(from)].fill(Some(token.keep.clamp(0.0, 1.0)));
    }
    out
}

/// The scores of lines whose contents are at these characters: the mean of their characters' tokens, 0 for a line without any.
pub fn of_lines(tokens: &[Token], contents: &[Range<usize>]) -> Vec<f32> {
    let characters = by_character(tokens, contents.last().map_or(0, |last| last.end));
    contents.iter().map(|content| mean(&characters[content.clone()]).unwrap_or(0.0) as f32).collect()
}

/// The mean of the scores there are.
pub fn mean(scores: &[Option<f64>]) -> Option<f64> {
    let (count, sum) = scores.iter().flatten().fold((0, 0.0), |(count, sum), score| (count + 1, sum + score));
    (count > 0).then(|| sum / f64::from(count))
}

fn probability(logit: f32) -> f64 {
    f64::from(1.0 / (1.0 + (-logit).exp()))
}

/// Where the model is computed: on a GPU if this build can use one and there is one.
fn device() -> Device {
    let device = if cfg!(feature = "metal") { Device::metal_if_available(0) } else { Device::cuda_if_available(0) };
    device.unwrap_or_else(|error| {
        tracing::warn!("no GPU can be used, so the CPU is: {}", super::first_line(&error));
        Device::Cpu
    })
}
