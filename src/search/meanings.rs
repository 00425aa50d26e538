//! How near questions and code are in meaning where they share no word: by vectors of words, trained by `training/meanings.py`.
//!
//! A text is the sum of the vectors of its words, each by its weight and by the logarithm of how often it stands there. The method is that of
//! fastText and its kin (Joulin et al. 2016), with a weight for each word in place of its idf.

use std::sync::LazyLock;

use safetensors::SafeTensors;

use super::terms::Term;

/// Numbers of a vector.
pub const SIZE: usize = 128;

static WORDS: LazyLock<Words> = LazyLock::new(|| Words::read(include_bytes!("../../models/search/words.safetensors")));

/// The words that have vectors.
struct Words {
    /// In order.
    terms: Vec<Term>,
    vectors: Vec<[i8; SIZE]>,
    /// What a word of a question counts, times what a step of its vector is worth.
    asked: Vec<f32>,
    /// The same of a word of code.
    told: Vec<f32>,
}

impl Words {
    fn read(bytes: &[u8]) -> Self {
        let tensors = SafeTensors::deserialize(bytes).expect("the vectors are what training/meanings.py writes");
        let of = |name: &str| tensors.tensor(name).expect("each tensor is there").data().to_vec();
        let floats = |name: &str| of(name).chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
        Self {
            terms: of("terms").chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect(),
            vectors: of("vectors").chunks_exact(SIZE).map(|row| std::array::from_fn(|i| row[i].cast_signed())).collect(),
            asked: floats("asked"),
            told: floats("told"),
        }
    }
}

/// A word that has a vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Word(u16);

impl Word {
    /// The word of a term, if it has a vector.
    pub fn of(term: Term) -> Option<Self> {
        WORDS.terms.binary_search(&term).ok().and_then(|at| u16::try_from(at).ok()).map(Self)
    }
}

/// What a text means: the direction of the sum of its words.
#[derive(Debug, Clone)]
pub struct Meaning([f32; SIZE]);

impl Default for Meaning {
    fn default() -> Self {
        Self([0.0; SIZE])
    }
}

impl Meaning {
    /// Of a question.
    pub fn asked(words: &[Word]) -> Self {
        let mut words = words.to_vec();
        words.sort_unstable();
        words.dedup();
        let mut sum = Self::default();
        words.iter().for_each(|word| sum.add(*word, WORDS.asked[usize::from(word.0)]));
        sum
    }

    /// Of code, by its words in any order.
    pub fn told(words: &mut [Word]) -> Self {
        words.sort_unstable();
        let mut sum = Self::default();
        for same in words.chunk_by(|a, b| a == b) {
            sum.add(same[0], WORDS.told[usize::from(same[0].0)] * (1.0 + same.len() as f32).log2());
        }
        sum
    }

    /// With as much of another as it has itself of each word.
    pub fn with(&self, other: &Self, times: f32) -> Self {
        Self(std::array::from_fn(|i| self.0[i] + times * other.0[i]))
    }

    fn add(&mut self, word: Word, weight: f32) {
        self.0.iter_mut().zip(&WORDS.vectors[usize::from(word.0)]).for_each(|(sum, x)| *sum += weight * f32::from(*x));
    }

    /// How near it is to another: the cosine, 0 where one of them has no words.
    pub fn near(&self, other: &Self) -> f32 {
        let product = |a: &Self, b: &Self| a.0.iter().zip(&b.0).map(|(a, b)| a * b).sum::<f32>();
        product(self, other) / (product(self, self) * product(other, other)).sqrt().max(f32::MIN_POSITIVE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::terms::Terms;

    fn words(text: &str) -> Vec<Word> {
        let mut words = Vec::new();
        Terms::default().each(text.as_bytes(), |term| words.extend(Word::of(term)));
        words
    }

    #[test]
    fn what_means_the_same_is_near() {
        let question = Meaning::asked(&words("How are passwords stored?"));
        let near = |code: &str| question.near(&Meaning::told(&mut words(code)));
        assert!(near("digest = bcrypt(credentials, salt); save(digest)") > near("for row in rows: draw(row, canvas)") + 0.1);
        assert_eq!(near(""), 0.0);
    }

    #[test]
    fn terms_are_those_of_the_trainer() {
        let forms = "parser retry configuration initialize routes buffers cached normalise queries iterator serialized utf";
        assert_eq!(words(forms).len(), forms.split(' ').count());
    }
}
