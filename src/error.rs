//! What a tool says when it cannot do what was asked: one sentence that tells the reader what to do.

use std::io;

/// Longest piece of user input that is quoted in a message, in characters.
const QUOTE: usize = 120;

/// A refusal or failure, worded for the agent or person that made the call.
///
/// User input inside the messages has been through [`quote`], so a message is always short.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nothing has this name inside the roots.
    #[error("There is no file {path} in {roots}{hint}.")]
    NotFound {
        /// The path as asked for, quoted.
        path: String,
        /// The roots that were searched.
        roots: String,
        /// ": did you mean …", or what else to do.
        hint: String,
    },
    /// The path leads out of every root, directly or through a link.
    #[error("{path} is outside {roots}, and nothing else may be read; start codeskim with --root DIR to allow another directory.")]
    OutsideRoots {
        /// The path as asked for, quoted.
        path: String,
        /// The roots.
        roots: String,
    },
    /// A directory was given where a file is needed.
    #[error("{path} is a directory, with {entries}; name a file in it, or use grep to search it.")]
    IsDirectory {
        /// The path, quoted.
        path: String,
        /// What is in it, directories with a slash.
        entries: String,
    },
    /// A FIFO, socket or device.
    #[error("{0} is not a regular file (a pipe, socket or device), so it is not read.")]
    NotRegular(String),
    /// The file holds bytes that are not text.
    #[error("{path} is a binary file ({bytes} bytes), so there are no lines to show.")]
    Binary {
        /// The path, quoted.
        path: String,
        /// Its size.
        bytes: u64,
    },
    /// The operating system refused to open or read the file.
    #[error("{path} could not be read: {source}; check its permissions or choose another file.")]
    Unreadable {
        /// The path, quoted.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// Too large to be read as a whole.
    #[error("{path} has {megabytes} MB, more than the {limit} MB that are read at once; give lines A-B (--lines A-B).")]
    NeedsRange {
        /// The path, quoted.
        path: String,
        /// Its size.
        megabytes: u64,
        /// The limit.
        limit: u64,
    },
    /// The first line asked for comes after the last one.
    #[error("Line {start} is beyond the end of {path}, which has {total} lines.")]
    BeyondEnd {
        /// The path, quoted.
        path: String,
        /// The first line asked for.
        start: usize,
        /// Lines in the file.
        total: usize,
    },
    /// The files of a model that cannot be used.
    #[error("The model in {directory} cannot be used: {problem}.")]
    Model {
        /// Where its files are, quoted.
        directory: String,
        /// What is wrong and what to do.
        problem: String,
    },
    /// An argument that cannot be right whatever the file.
    #[error("{0}")]
    BadArgument(String),
    /// Something else than the files and the arguments did not do what it should: the network, a write, a server, a skimmer.
    #[error("{0}")]
    Failed(String),
    /// The caller withdrew the call.
    #[error("The call was cancelled.")]
    Cancelled,
}

/// The result of a tool.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// A [`Error::BadArgument`] from its sentence.
    pub fn bad_argument(message: impl Into<String>) -> Self {
        Self::BadArgument(message.into())
    }

    /// A [`Error::Failed`] from its sentence.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::Failed(message.into())
    }
}

/// "1 match", "2 matches", "3 files".
pub fn counted(n: usize, what: &str) -> String {
    let plural = if what.ends_with("ch") { "es" } else { "s" };
    format!("{n} {what}{}", if n == 1 { "" } else { plural })
}

/// The beginning of a message that may repeat user input, on one line.
pub fn shorten(message: &str) -> String {
    match message.char_indices().nth(2 * QUOTE) {
        Some((end, _)) => format!("{}…", one_line(&message[..end])),
        None => one_line(message),
    }
}

/// A text with its control characters escaped, so that it cannot begin a line of its own.
pub fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { c.escape_debug().to_string() } else { c.to_string() }).collect()
}

/// User input in double quotes, control characters escaped, cut in the middle when it is long.
pub fn quote(input: &str) -> String {
    if input.char_indices().nth(QUOTE).is_none() {
        return format!("\"{}\"", one_line(input));
    }
    let head = input.char_indices().nth(QUOTE / 2).map_or(input.len(), |(i, _)| i);
    let tail = input.char_indices().rev().nth(QUOTE / 4 - 1).map_or(0, |(i, _)| i);
    format!("\"{}…{}\" ({} characters)", one_line(&input[..head]), one_line(&input[tail..]), input.chars().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_input_is_quoted_whole_and_long_input_is_cut() {
        assert_eq!(quote("a\nb"), r#""a\nb""#);
        let long = quote(&"é".repeat(15_000_000));
        assert!(long.chars().count() < 150, "{long}");
        assert!(long.ends_with("(15000000 characters)"), "{long}");
    }
}
