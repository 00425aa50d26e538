//! Lines of standard input, of which none is held in memory that is longer than a message may be.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};

/// Bytes of a message, at most.
pub const LONGEST: usize = 16 << 20;
/// Bytes that are kept of a longer one: its id may be among them.
const START: usize = 1 << 16;

/// A line of the input.
pub enum Line {
    /// As it came.
    Whole(Vec<u8>),
    /// The first bytes of one that is too long; the rest has been passed over.
    TooLong(Vec<u8>),
}

/// The lines of an input.
pub struct Lines<R>(BufReader<R>);

impl<R: AsyncRead + Unpin> Lines<R> {
    pub fn new(input: R) -> Self {
        Self(BufReader::new(input))
    }

    /// The next line; none at the end.
    pub async fn next(&mut self) -> io::Result<Option<Line>> {
        let mut line = Vec::new();
        (&mut self.0).take(LONGEST as u64 + 1).read_until(b'\n', &mut line).await?;
        Ok(match line.len() {
            0 => None,
            _ if line.len() <= LONGEST || line.ends_with(b"\n") => Some(Line::Whole(line)),
            _ => {
                pass_over(&mut self.0).await?;
                Some(Line::TooLong(line[..START].to_vec()))
            }
        })
    }
}

/// Reads on to the end of the line.
async fn pass_over(input: &mut (impl AsyncBufRead + Unpin)) -> io::Result<()> {
    loop {
        let part = input.fill_buf().await?;
        let end = memchr::memchr(b'\n', part);
        let length = end.map_or(part.len(), |end| end + 1);
        input.consume(length);
        if end.is_some() || length == 0 {
            return Ok(());
        }
    }
}
