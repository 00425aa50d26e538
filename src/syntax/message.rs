//! What a process and the child that reads for it say to each other: frames of a length and as many bytes, in postcard's format.

use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize};

use super::{Language, Syntax};

/// Longer frames are sent by nobody, in bytes.
pub const LONGEST: u32 = 1 << 28;

/// The longest answer about a text of so many bytes. That about ordinary code has half as many as the code.
pub fn longest_answer(bytes: usize) -> u32 {
    u32::try_from((64 << 10) + bytes.saturating_mul(16)).unwrap_or(LONGEST).min(LONGEST)
}

/// What a child is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Request<'a> {
    /// All that its grammar tells of a text: [`Answer::Syntax`].
    Read(Language, &'a str),
    /// Where a text cannot be read: [`Answer::FirstError`].
    FirstError(Language, &'a str),
}

impl Request<'_> {
    /// The text that is to be read.
    pub fn text(&self) -> &str {
        match self {
            Self::Read(_, text) | Self::FirstError(_, text) => text,
        }
    }
}

/// What it answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// What its grammar tells of a text.
    Syntax(Box<Syntax>),
    /// The line of the first place that cannot be read, 0-based.
    FirstError(Option<usize>),
}

/// What a child says first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The version of the program that it is of: another one may mean other things by what it says.
    pub version: String,
    /// What is around it.
    pub walls: Walls,
}

/// Which walls are around a child.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Walls {
    /// It can open no file and no connection.
    pub no_descriptors: bool,
    /// Linux's Landlock.
    pub landlock: bool,
    /// Linux's seccomp: all it can do is read, write, get memory and end.
    pub seccomp: bool,
}

/// A message as bytes.
pub fn encode(message: &impl Serialize) -> Vec<u8> {
    postcard::to_stdvec(message).expect("plain data, into memory")
}

/// A message from bytes.
///
/// # Errors
/// Bytes that are no such message.
pub fn decode<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> io::Result<T> {
    postcard::from_bytes(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Sends a frame.
///
/// # Errors
/// A frame that is too long, or a pipe that nobody reads.
pub fn send(output: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    let length = u32::try_from(bytes.len()).ok().filter(|length| *length <= LONGEST);
    let length = length.ok_or_else(|| io::Error::from(io::ErrorKind::FileTooLarge))?;
    output.write_all(&length.to_le_bytes())?;
    output.write_all(bytes)?;
    output.flush()
}

/// Receives a frame.
///
/// # Errors
/// A pipe that ends, or a frame of more than `most` bytes.
pub fn receive(input: &mut impl Read, most: u32) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    input.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length);
    if length > most {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let mut bytes = Vec::new(); // grows with what comes, not with what is announced
    input.take(length.into()).read_to_end(&mut bytes)?;
    if bytes.len() < length as usize { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(bytes) }
}
