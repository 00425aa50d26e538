//! The default skimmer: a few million parameters inside the binary, on the CPU.
//!
//! [`text`] turns lines into numbers, [`encoder`] into one vector a line that says how it meets the question, [`model`] lets the lines
//! read each other, [`answer`] says whether any of them answers, [`crf`] turns their scores into those of coherent runs, [`tree`] lets
//! headers and what they enclose lean on each other, and [`refine`] looks at each score again among the others. The trainer is in
//! `training/`; a golden test holds the two together.

pub mod answer;
pub mod attention;
pub mod bias;
pub mod crf;
pub mod encoder;
pub mod linear;
pub mod model;
pub mod product;
pub mod refine;
pub mod text;
pub mod tree;

use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use candle_core::{DType, Device};
use candle_nn::VarBuilder;
use codeskim_model::{CONFIG, VOCABULARY, WEIGHTS};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use tokio_util::sync::CancellationToken;

use self::answer::Guessed;
use self::crf::Crf;
use self::encoder::Encoder;
use self::model::LineModel;
use self::product::Precision;
use self::refine::Refiner;
use self::text::{Document, Vocabulary};
use super::{LineScores, SkimError, Skimmer, Thresholds};

/// Lines the model reads at once, little more than it was trained on: 800 lines make two windows for two cores.
const WINDOW: usize = 448;
/// A text of so many lines is one window: two would read most of them twice.
pub const ALONE: usize = 560;
/// Lines a window shares with the one before it, at least; the later one's scores hold from half of them on, far from both windows' edges.
const OVERLAP: usize = 64;

/// Texts of more windows are long.
const FEW: usize = 2;
/// Windows for each thread after which other long texts have their turn: those of one are done before any that came later.
const TURN: usize = 2;
/// The threads for long texts: a thread that waits for a part of its own window takes any other window meanwhile, and a short text is not to wait
/// for those of a long one.
static LONG: LazyLock<ThreadPool> = LazyLock::new(|| ThreadPoolBuilder::new().build().expect("threads can be started"));

/// `models/embedded/config.json`, as the trainer writes it.
#[derive(Debug, serde::Deserialize)]
pub struct Config {
    /// Rows of the embedding table.
    pub vocabulary_size: usize,
    /// Width of a subtoken vector.
    pub embedding: usize,
    /// Width of a line vector.
    pub width: usize,
    /// Blocks of the line model.
    pub layers: usize,
    /// Attention heads.
    pub heads: usize,
    /// Decision points.
    pub thresholds: Thresholds,
}

/// The embedded skimmer. Cheap to create; the model loads at its first use, or at `warm_up`.
#[derive(Default)]
pub struct Embedded {
    precision: Precision,
    loaded: OnceLock<Result<Loaded, String>>,
}

struct Loaded {
    vocabulary: &'static Vocabulary,
    encoder: Encoder,
    model: LineModel,
    crf: Crf,
    guessed: Guessed,
    refiner: Refiner,
    thresholds: Thresholds,
}

/// Scores before the CRF, for the golden test and for later stages that want them.
#[derive(Debug)]
pub struct Raw {
    /// Log-odds of each line on its own.
    pub emission: Vec<f32>,
    /// Log-odds that anything answers, before words that came with the question are weighed.
    pub answer: f32,
    /// How much of those words the text has, if there are any.
    pub found: Option<f32>,
    /// The line that encloses each line, itself at the top.
    pub parent: Vec<usize>,
    /// Which lines are blank.
    pub blank: Vec<bool>,
    /// Lexical evidence of each line.
    pub lexical: Vec<[f32; text::LEXICAL]>,
    /// Subtokens of the question.
    pub asked: usize,
}

impl Embedded {
    /// One that computes every product in 32 bits: the trainer's own arithmetic, and slower.
    pub fn exact() -> Self {
        Self { precision: Precision::Exact, ..Self::default() }
    }

    /// Log-odds of the lines, windows joined.
    ///
    /// # Errors
    /// A model that does not load or compute, or a cancelled call.
    pub fn raw(&self, lines: &[&str], question: &str, cancel: &CancellationToken) -> Result<Raw, SkimError> {
        let loaded = self.loaded()?;
        let document = Document::new(lines, question, loaded.vocabulary);
        if document.question.is_empty() {
            return Err(SkimError::NoWords);
        }
        let windows = windows(lines.len());
        let side_by_side = rayon::current_num_threads().div_ceil(windows.len().max(1));
        let score = |window: &Range<usize>| {
            if cancel.is_cancelled() {
                return Err(SkimError::Cancelled);
            }
            let encoded = loaded.encoder.encode(&document, window.clone())?;
            let (emission, answer) = loaded.model.forward(&encoded, side_by_side)?;
            Ok((window.start, emission, answer))
        };
        let mut parts = Vec::with_capacity(windows.len());
        let mut read =
            |turn: &[Range<usize>]| turn.par_iter().map(score).collect::<Result<Vec<_>, SkimError>>().map(|read| parts.extend(read));
        match windows.as_slice() {
            few if few.len() <= FEW => read(few)?,
            many => many.chunks(TURN * rayon::current_num_threads()).try_for_each(|turn| LONG.install(|| read(turn)))?,
        }
        let mut raw = Raw {
            emission: vec![0.0; lines.len()],
            answer: f32::NEG_INFINITY,
            found: document.found,
            blank: document.features.iter().map(|row| row[text::BLANK] > 0.0).collect(),
            lexical: document.features.iter().map(|row| std::array::from_fn(|column| row[text::FEATURES + column])).collect(),
            asked: document.question.len(),
            parent: document.parent,
        };
        for (i, (start, emission, answer)) in parts.into_iter().enumerate() {
            let skip = if i == 0 { 0 } else { OVERLAP / 2 };
            raw.emission[start + skip..start + emission.len()].copy_from_slice(&emission[skip..]);
            raw.answer = raw.answer.max(answer);
        }
        Ok(raw)
    }

    fn loaded(&self) -> Result<&Loaded, SkimError> {
        let loaded = self.loaded.get_or_init(|| Loaded::new(self.precision).map_err(|error| error.to_string()));
        loaded.as_ref().map_err(|error| SkimError::Model(candle_core::Error::Msg(error.clone())))
    }
}

impl Skimmer for Embedded {
    fn skim(&self, lines: &[&str], question: &str, cancel: &CancellationToken) -> Result<LineScores, SkimError> {
        let raw = self.raw(lines, question, cancel)?;
        let loaded = self.loaded()?;
        let probability = |log_odds: f32| 1.0 / (1.0 + (-log_odds).exp());
        let log_odds = tree::lean(&loaded.crf.log_odds(&raw.emission), &raw.parent);
        let scores = refine::Scores {
            log_odds: &log_odds,
            emission: &raw.emission,
            parent: &raw.parent,
            blank: &raw.blank,
            lexical: &raw.lexical,
            answer: raw.answer,
            asked: raw.asked,
        };
        let keep = loaded.refiner.refine(&scores).into_iter().map(probability).collect();
        let answer = raw.found.map_or(raw.answer, |found| loaded.guessed.weigh(raw.answer, found));
        Ok(LineScores { keep, answer: probability(answer), thresholds: loaded.thresholds, note: None })
    }

    /// A few seconds' worth, of searches that find more than most.
    fn room(&self) -> usize {
        2_000_000
    }

    fn warm_up(&self) {
        let _ = self.loaded();
    }
}

impl Loaded {
    fn new(precision: Precision) -> candle_core::Result<Self> {
        let config: Config = serde_json::from_str(CONFIG).map_err(candle_core::Error::wrap)?;
        let vb = VarBuilder::from_slice_safetensors(WEIGHTS, DType::F32, &Device::Cpu)?;
        let vocabulary = vocabulary();
        if vocabulary.size() != config.vocabulary_size {
            candle_core::bail!("the vocabulary has {} entries, the weights {}", vocabulary.size(), config.vocabulary_size);
        }
        Ok(Self {
            vocabulary,
            encoder: Encoder::new(&config, &vb, precision)?,
            model: LineModel::new(&config, &vb, precision)?,
            crf: Crf::new(&vb)?,
            guessed: Guessed::new(&vb)?,
            refiner: Refiner::new(&vb)?,
            thresholds: config.thresholds,
        })
    }
}

/// The subtokens that the shipped weights know.
pub fn vocabulary() -> &'static Vocabulary {
    static VOCABULARY_OF_WEIGHTS: OnceLock<Vocabulary> = OnceLock::new();
    VOCABULARY_OF_WEIGHTS.get_or_init(|| Vocabulary::new(VOCABULARY))
}

/// The same, each form of a word being a word of its own.
pub fn vocabulary_as_spelled() -> &'static Vocabulary {
    static AS_SPELLED: OnceLock<Vocabulary> = OnceLock::new();
    AS_SPELLED.get_or_init(|| Vocabulary::as_spelled(VOCABULARY))
}

/// Windows that cover `0..n`: one of at most [`ALONE`], or several of [`WINDOW`], neighbours sharing at least [`OVERLAP`] lines.
fn windows(n: usize) -> Vec<Range<usize>> {
    if n <= ALONE {
        return Vec::from_iter((n > 0).then_some(0..n));
    }
    let last = n - WINDOW;
    let starts = (0..last).step_by(WINDOW - OVERLAP).chain([last]);
    starts.map(|start| start..start + WINDOW).collect()
}

#[cfg(test)]
mod tests {
    use super::product::{LARGEST, whole};
    use super::*;

    #[test]
    fn no_sum_of_two_products_with_the_weights_overflows() {
        let weights = candle_core::safetensors::load_buffer(WEIGHTS, &Device::Cpu).expect("the weights");
        let bytes = weights.iter().filter(|(name, tensor)| tensor.dtype() == DType::U8 && *name != "encoder.embedding.weight");
        let mut matrices = 0;
        for (name, tensor) in bytes {
            let bytes: Vec<u8> = tensor.flatten_all().and_then(|t| t.to_vec1()).expect("bytes");
            assert!(bytes.into_iter().all(|byte| whole(byte).unsigned_abs() <= LARGEST), "{name}");
            matrices += 1;
        }
        assert!(matrices > 0);
    }

    #[test]
    fn the_longest_windows_are_read() {
        for n in [ALONE, ALONE + 1] {
            let scores = Embedded::default().skim(&vec!["let a = b();\n"; n], "What is called?", &CancellationToken::new());
            assert_eq!(scores.expect("scores").keep.len(), n);
        }
    }

    #[test]
    fn windows_cover_every_line_and_overlap() {
        for n in [0, 1, 448, ALONE, ALONE + 1, 700, 10_000] {
            let windows = windows(n);
            assert_eq!(windows.first().map_or(0, |w| w.start), 0);
            assert_eq!(windows.last().map_or(0, |w| w.end), n);
            assert!(windows.len() <= 1 || windows.iter().all(|w| w.len() == WINDOW) && n != ALONE, "{n}: {windows:?}");
            for pair in windows.windows(2) {
                assert!(pair[0].end >= pair[1].start + OVERLAP && pair[1].start > pair[0].start, "{n}: {pair:?}");
            }
        }
    }
}
