//! What the model reads: a chat about a query and a document, the document in chunks where it is too long.
//!
//! Positions are those of characters, as in the published implementation, whose every step this follows: two instructions of different
//! length are counted and used, and a chunk is made of tokens but read again as text.

use tokenizers::Tokenizer;

use crate::skim::SkimError;

/// Tokens the model reads at once.
pub const MOST_TOKENS: usize = 8192;
/// Fewer tokens left for code are not worth asking.
pub const LEAST_CODE: usize = 100;

/// What comes before and after the query and the document, in the backbone's chat form.
const BEFORE: &str = "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct provided. Note that \
    the answer can only be \"yes\" or \"no\".<|im_end|>\n<|im_start|>user\n";
const AFTER: &str = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n";
/// The instruction with which the room for code is counted.
const COUNTED: &str = "Given a web search query, retrieve relevant passages that answer the query";

/// Tokens of one text, and where their characters are.
pub struct Tokens {
    /// Their numbers.
    pub ids: Vec<u32>,
    /// Characters from and to, each.
    pub offsets: Vec<(usize, usize)>,
}

/// A tokenizer and the parts of the prompt that never change.
pub struct Prompt {
    tokenizer: Tokenizer,
    before: Vec<u32>,
    after: Vec<u32>,
    /// The tokens of "no" and "yes".
    pub answers: [u32; 2],
    instruction: String,
}

/// A prompt with a document in it.
pub struct Input {
    /// All tokens.
    pub ids: Vec<u32>,
    /// Where among them the document begins.
    pub document: usize,
    /// Characters of each of the document's tokens.
    pub offsets: Vec<(usize, usize)>,
}

/// A text and where its characters are.
pub struct Characters<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

/// How many tokens a query takes and leaves.
pub struct Room {
    /// Tokens of the query with its instruction.
    pub query: usize,
    /// Those of the prompt around it.
    pub frame: usize,
    /// Those left for code; negative where the query alone is too long.
    pub code: isize,
}

fn instruct(instruction: &str, query: &str) -> String {
    format!("<Instruct>: {instruction}\n<Query>: {query}\n<Document>: ")
}

fn failed(error: &dyn std::fmt::Display) -> SkimError {
    SkimError::Model(candle_core::Error::Msg(format!("tokenizing failed: {error}")))
}

impl<'a> Characters<'a> {
    /// Finds the characters of a text.
    pub fn new(text: &'a str) -> Self {
        Self { text, starts: text.char_indices().map(|(at, _)| at).chain([text.len()]).collect() }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Some of them.
    pub fn slice(&self, from: usize, to: usize) -> &'a str {
        &self.text[self.starts[from]..self.starts[to]]
    }
}

impl Prompt {
    /// Prepares the prompt.
    ///
    /// # Errors
    /// A tokenizer without the words the model answers with, in words.
    pub fn new(tokenizer: Tokenizer, instruction: String) -> Result<Self, String> {
        let word = |word: &str| {
            tokenizer.token_to_id(word).ok_or_else(|| format!("tokenizer.json has no token \"{word}\", so it is another model's"))
        };
        let ids = |text| tokenizer.encode(text, false).map(|encoding| encoding.get_ids().to_vec()).map_err(|error| error.to_string());
        Ok(Self { before: ids(BEFORE)?, after: ids(AFTER)?, answers: [word("no")?, word("yes")?], instruction, tokenizer })
    }

    /// The tokens of a text.
    pub fn tokens(&self, text: &str) -> Result<Tokens, SkimError> {
        let encoding = self.tokenizer.encode_char_offsets(text, false).map_err(|error| failed(&error))?;
        Ok(Tokens { ids: encoding.get_ids().to_vec(), offsets: encoding.get_offsets().to_vec() })
    }

    /// A token as the vocabulary writes it.
    pub fn word(&self, id: u32) -> String {
        self.tokenizer.id_to_token(id).unwrap_or_default()
    }

    /// What a query leaves for code.
    pub fn room(&self, query: &str) -> Result<Room, SkimError> {
        let query = self.tokens(&instruct(COUNTED, query))?.ids.len();
        let frame = self.before.len() + self.after.len();
        Ok(Room { query, frame, code: MOST_TOKENS as isize - frame as isize - query as isize })
    }

    /// The prompt for a query and a document, which is cut off where it does not fit.
    pub fn input(&self, query: &str, document: &str) -> Result<Input, SkimError> {
        let query = self.tokens(&instruct(&self.instruction, query))?.ids;
        let Tokens { ids: mut code, mut offsets } = self.tokens(document)?;
        let room = MOST_TOKENS.saturating_sub(self.before.len() + self.after.len() + query.len());
        code.truncate(room);
        offsets.truncate(room);
        let start = self.before.len() + query.len();
        Ok(Input { ids: [&self.before[..], &query, &code, &self.after].concat(), document: start, offsets })
    }
}

/// Characters from and to of the chunks of a text with these tokens, `most` tokens each, of which neighbours share `overlap`.
pub fn chunks(offsets: &[(usize, usize)], most: usize, overlap: usize) -> Vec<(usize, usize)> {
    let overlap = if most <= overlap { 0 } else { overlap };
    let starts = (0..offsets.len()).step_by(most - overlap);
    let last = starts.clone().position(|start| start + most >= offsets.len());
    starts
        .take(last.map_or(usize::MAX, |last| last + 1))
        .map(|start| (offsets[start].0, offsets[(start + most).min(offsets.len()) - 1].1))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_cover_all_tokens_and_overlap() {
        let offsets: Vec<_> = (0..100).map(|i| (2 * i, 2 * i + 2)).collect();
        assert_eq!(chunks(&offsets, 100, 10), [(0, 200)]);
        assert_eq!(chunks(&offsets, 60, 10), [(0, 120), (100, 200)]);
        assert_eq!(chunks(&offsets, 60, 90), [(0, 120), (120, 200)]);
        assert!(chunks(&[], 60, 10).is_empty());
    }
}
