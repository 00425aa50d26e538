//! Bytes to lines. A line is what ends in `\n`, kept with its terminator; nothing is added, trimmed or converted but the encoding.

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::ops::Range;

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_16BE, UTF_16LE, WINDOWS_1252};
use encoding_rs_io::DecodeReaderBytesBuilder;
use tokio_util::sync::CancellationToken;

use super::OpenFile;
use crate::error::{Error, Result, quote};

/// Bytes at the beginning of a file by which UTF-16 without a mark is recognised.
pub const SAMPLE: usize = 1024;
/// Files over this size are read by range only, and no range may be larger, in bytes.
pub const LARGEST: u64 = 10_000_000;
/// In larger files the lines behind a range are not counted, in bytes.
const COUNTED: u64 = 200_000_000;
/// A byte in so many may be a control character in a text, and one in so many zero or no UTF-8 where there are both.
const CONTROL_SHARE: usize = 20;
const FAULT_SHARE: usize = 50;
/// Bytes by which it is told what a file is that is not UTF-8, or has zeros in it.
pub const HEAD: usize = 1 << 16;

/// Decoded text and where its lines begin.
#[derive(Debug, Clone, Default)]
pub struct Text {
    content: String,
    /// Byte offset of each line, then the length.
    starts: Vec<usize>,
    /// Named when the bytes were not UTF-8, so that the text is not byte-identical.
    pub decoded_from: Option<Cow<'static, str>>,
}

impl Text {
    /// The lines of a string.
    pub fn new(content: String) -> Self {
        let mut starts = vec![0];
        starts.extend(content.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(i, _)| i + 1));
        if starts.last() != Some(&content.len()) {
            starts.push(content.len());
        }
        Self { content, starts, decoded_from: None }
    }

    /// The same, as decoded from something.
    #[must_use]
    pub fn decoded_from(self, what: Cow<'static, str>) -> Self {
        Self { decoded_from: Some(what), ..self }
    }

    /// Number of lines; a last line without terminator counts.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Whether there is no line.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The lines in a 0-based range, each with its terminator.
    pub fn lines(&self, range: Range<usize>) -> Vec<&str> {
        range.map(|i| &self.content[self.starts[i]..self.starts[i + 1]]).collect()
    }

    /// The lines in a 0-based range as a text of their own.
    pub fn part(&self, range: Range<usize>) -> Self {
        let bytes = self.starts[range.start]..self.starts[range.end];
        Self { decoded_from: self.decoded_from.clone(), ..Self::new(self.content[bytes].to_owned()) }
    }

    /// All of it.
    pub fn as_str(&self) -> &str {
        &self.content
    }
}

/// Lines of a file, and where in it they stand.
#[derive(Debug)]
pub struct Excerpt {
    /// The lines read.
    pub text: Text,
    /// 0-based number of the first of them.
    pub first: usize,
    /// The whole file, where the lines are a part of it and it is held anyway.
    pub whole: Option<Text>,
    /// Lines in the whole file; unknown when it is too large to count them.
    pub total: Option<usize>,
    /// The path that was asked for, where this is a file that looks like it.
    pub instead_of: Option<String>,
}

/// Reads the lines `start..=end` (1-based; both optional) of an open file.
///
/// # Errors
/// A binary file, a file or range that is too large, a range that is empty or begins beyond the end.
pub fn read(mut open: OpenFile, start: Option<usize>, end: Option<usize>, cancel: &CancellationToken) -> Result<Excerpt> {
    let from = start.unwrap_or(1);
    is_range(from, end)?;
    let unreadable = |path: &str, source| Error::Unreadable { path: quote(path), source };
    if open.bytes > LARGEST {
        if start.is_none() && end.is_none() {
            return Err(needs_range(&open));
        }
        return read_range(open, from, end.unwrap_or(usize::MAX), cancel);
    }
    let mut bytes = Vec::with_capacity(open.bytes as usize + 1);
    open.file.by_ref().take(LARGEST + 1).read_to_end(&mut bytes).map_err(|error| unreadable(&open.shown, error))?;
    if bytes.len() as u64 > LARGEST {
        open.bytes = open.file.metadata().map_or(bytes.len() as u64, |m| m.len()); // it grew since it was opened
        return Err(needs_range(&open));
    }
    let whole = decode(bytes).map_err(|_| Error::Binary { path: quote(&open.shown), bytes: open.bytes })?;
    Ok(Excerpt { instead_of: open.instead_of.take(), ..lines_of(whole, from, end, &open.shown)? })
}

/// Says what is wrong with a range of lines that is none.
fn is_range(from: usize, end: Option<usize>) -> Result<()> {
    if from == 0 {
        return Err(Error::bad_argument("The range begins at line 0, and lines count from 1."));
    }
    match end {
        Some(end) if end < from => {
            let problem = format!("The range ends at line {end}, before line {from} where it begins; give one that goes forward.");
            Err(Error::bad_argument(problem))
        }
        _ => Ok(()),
    }
}

/// The lines `from..=end` (1-based) of a text that is known.
///
/// # Errors
/// A range that is none, or begins beyond the end.
pub fn lines_of(whole: Text, from: usize, end: Option<usize>, shown: &str) -> Result<Excerpt> {
    is_range(from, end)?;
    let total = whole.len();
    if from > total.max(1) {
        return Err(Error::BeyondEnd { path: quote(shown), start: from, total });
    }
    if from == 1 && end.is_none_or(|end| end >= total) {
        return Ok(Excerpt { text: whole, first: 0, whole: None, total: Some(total), instead_of: None });
    }
    let text = whole.part(from - 1..end.unwrap_or(total).min(total));
    Ok(Excerpt { text, first: from - 1, whole: Some(whole), total: Some(total), instead_of: None })
}

fn needs_range(open: &OpenFile) -> Error {
    Error::NeedsRange { path: quote(&open.shown), megabytes: open.bytes.div_ceil(1_000_000), limit: LARGEST / 1_000_000 }
}

/// A range of a file too large to hold: one pass, keeping only the lines asked for.
fn read_range(mut open: OpenFile, from: usize, end: usize, cancel: &CancellationToken) -> Result<Excerpt> {
    let unreadable = |source: io::Error| Error::Unreadable { path: quote(&open.shown), source };
    let binary = || Error::Binary { path: quote(&open.shown), bytes: open.bytes };
    let mut mark = [0; 4];
    open.file.read_exact(&mut mark).and_then(|()| open.file.seek(SeekFrom::Start(0))).map_err(unreadable)?;
    let (marked, uncounted, instead_of) = (utf16_mark(&mark), open.bytes > COUNTED, open.instead_of.take());
    let utf8 = DecodeReaderBytesBuilder::new().bom_sniffing(true).utf8_passthru(true).build(open.file);
    let mut reader = BufReader::with_capacity(1 << 16, utf8);
    let (mut kept, mut number, mut ended, mut total) = (Vec::new(), 0usize, true, None);
    loop {
        if cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let buffer = reader.fill_buf().map_err(unreadable)?;
        if buffer.is_empty() {
            total = Some(number);
            break;
        }
        if uncounted && ended && number == end {
            break;
        }
        let (length, newline) = match memchr::memchr(b'\n', buffer) {
            Some(i) => (i + 1, true),
            None => (buffer.len(), false),
        };
        number += usize::from(ended);
        ended = newline;
        if (from..=end).contains(&number) {
            if kept.len() + length > LARGEST as usize {
                let megabytes = LARGEST / 1_000_000;
                let advice = if number == from { "this line cannot be shown" } else { "ask for fewer lines" };
                return Err(Error::bad_argument(format!(
                    "Lines {from}-{number} of {} are more than {megabytes} MB; {advice}.",
                    quote(&open.shown)
                )));
            }
            kept.extend_from_slice(&buffer[..length]);
        }
        reader.consume(length);
    }
    if from > number {
        return Err(Error::BeyondEnd { path: quote(&open.shown), start: from, total: number });
    }
    let decoded = decode(kept).map_err(|_| binary())?;
    let text = Text { decoded_from: marked.map(|encoding| encoding.name().into()).or(decoded.decoded_from.clone()), ..decoded };
    Ok(Excerpt { text, first: from - 1, whole: None, total, instead_of })
}

/// The encoding that a byte order mark names.
fn utf16_mark(bytes: &[u8]) -> Option<&'static encoding_rs::Encoding> {
    match bytes {
        [0xff, 0xfe, 0, 0, ..] => None, // UTF-32
        [0xff, 0xfe, ..] => Some(UTF_16LE),
        [0xfe, 0xff, ..] => Some(UTF_16BE),
        _ => None,
    }
}

/// What a file is to be decoded from that begins so and has so many bytes, if that is neither UTF-8 nor told by a mark.
pub fn encoding_of(head: &[u8], bytes: u64) -> Option<&'static Encoding> {
    if utf16_mark(head).is_some() {
        return None;
    }
    unmarked_utf16(head, bytes).or_else(|| match looks_like_text(head, bytes > head.len() as u64).then(|| Guess::of(head)).flatten() {
        Some(Guess::Other(encoding)) => Some(encoding),
        _ => None,
    })
}

/// What bytes that are not UTF-8 are decoded from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guess {
    /// UTF-8 with faults: more of it is right than wrong.
    Faulty,
    /// Another encoding.
    Other(&'static Encoding),
}

impl Guess {
    /// From the first bytes of a text; none where they are UTF-8, or the beginning of it.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let head = &bytes[..bytes.len().min(HEAD)];
        if std::str::from_utf8(head).is_ok() {
            return None;
        }
        match is_faulty(head, bytes.len() > HEAD)? {
            true => Some(Self::Faulty),
            false => {
                let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
                detector.feed(head, true);
                Some(Self::Other(detector.guess(None, Utf8Detection::Deny)))
            }
        }
    }

    /// The bytes as text, and the name of what they were taken for.
    pub fn decode(self, bytes: &[u8]) -> (String, Cow<'static, str>) {
        match self {
            Self::Faulty => (String::from_utf8_lossy(bytes).into_owned(), "UTF-8 with invalid bytes, shown as \u{fffd}".into()),
            Self::Other(encoding) => {
                let name =
                    if encoding == WINDOWS_1252 { "Latin-1".into() } else { format!("{}, which is a guess", encoding.name()).into() };
                (encoding.decode_without_bom_handling(bytes).0.into_owned(), name)
            }
        }
    }
}

/// A line as text: in UTF-8, or as what it is taken for by itself.
pub fn decode_line(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) if is_faulty(bytes, false) == Some(true) => Guess::Faulty.decode(bytes).0,
        Err(_) => Guess::Other(WINDOWS_1252).decode(bytes).0,
    }
}

/// Whether bytes are UTF-8 with faults, more of it right than wrong; none where they are without. They may be cut within a character.
fn is_faulty(bytes: &[u8], is_cut: bool) -> Option<bool> {
    let (mut right, mut wrong) = (0, 0);
    let mut chunks = bytes.utf8_chunks().peekable();
    while let Some(chunk) = chunks.next() {
        right += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        wrong += usize::from(!(chunk.invalid().is_empty() || is_cut && chunks.peek().is_none()));
    }
    (wrong > 0).then_some(right > wrong)
}

/// Anything as text: what does not decode is replaced.
pub fn decode_anything(bytes: Vec<u8>) -> Text {
    decode(bytes).unwrap_or_else(|bytes| {
        let replaced = Text::new(String::from_utf8_lossy(&bytes).into_owned());
        Text { decoded_from: Some("UTF-8 with bytes that are no text".into()), ..replaced }
    })
}

/// Text in UTF-8, in UTF-16 with or without a mark, or in what [`Guess`] takes it for.
///
/// # Errors
/// What is not text, as it came.
pub fn decode(bytes: Vec<u8>) -> std::result::Result<Text, Vec<u8>> {
    let marked = utf16_mark(&bytes);
    if let Some(encoding) = marked.or_else(|| unmarked_utf16(&bytes, bytes.len() as u64)) {
        let (content, faulty) = encoding.decode_with_bom_removal(&bytes);
        let name = match (faulty, marked) {
            (false, _) => encoding.name(),
            (true, Some(_)) => "UTF-16 with invalid characters, shown as \u{fffd}",
            (true, None) => return Err(bytes),
        };
        return Ok(Text { decoded_from: Some(name.into()), ..Text::new(content.into_owned()) });
    }
    if !is_text(&bytes) {
        return Err(bytes);
    }
    match String::from_utf8(bytes) {
        Ok(content) => Ok(Text::new(content)),
        Err(error) => {
            let bytes = error.into_bytes();
            let guess = Guess::of(&bytes).unwrap_or(Guess::Other(WINDOWS_1252)); // whose fault comes late
            let (content, from) = guess.decode(&bytes);
            Ok(Text { decoded_from: Some(from), ..Text::new(content) })
        }
    }
}

/// Whether bytes are a text, though they may have some zeros or other control characters in it: by their beginning, middle and end.
fn is_text(bytes: &[u8]) -> bool {
    looks_like_text(&bytes[..bytes.len().min(HEAD)], bytes.len() > HEAD)
        && behind_head(bytes.len() as u64).all(|from| looks_like_text(&bytes[from as usize..from as usize + HEAD], true))
}

/// Where the parts begin, each as long as the head, by which it is told beside the head whether so many bytes are a text.
pub fn behind_head(bytes: u64) -> impl Iterator<Item = u64> {
    let end = bytes.saturating_sub(HEAD as u64);
    [end / 2, end].into_iter().filter(|from| *from > 0)
}

/// The same of some bytes, which may be cut within a character.
pub fn looks_like_text(bytes: &[u8], is_cut: bool) -> bool {
    let is_utf8 = match std::str::from_utf8(bytes) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none() && is_cut,
    };
    if is_utf8 && memchr::memchr(0, bytes).is_none() {
        return true;
    }
    let control = bytes.iter().filter(|byte| byte.is_ascii_control() && !byte.is_ascii_whitespace() && **byte != 0x1b).count();
    let zeros = memchr::memchr_iter(0, bytes).count();
    // Zeros are in texts of no other encoding.
    let faults = || bytes.utf8_chunks().filter(|chunk| !chunk.invalid().is_empty()).count();
    let is_rare = control * CONTROL_SHARE <= bytes.len() || is_utf8 && control == 1 && bytes.len() > 2;
    is_rare && (is_utf8 || zeros == 0 || (zeros + faults()) * FAULT_SHARE <= bytes.len())
}

/// Mostly-ASCII UTF-16 without a byte order mark: every other byte is zero. `head` is the beginning of a file of so many bytes.
fn unmarked_utf16(head: &[u8], bytes: u64) -> Option<&'static encoding_rs::Encoding> {
    let sample = &head[..head.len().min(SAMPLE) & !1];
    if sample.len() < 4 || bytes % 2 == 1 {
        return None;
    }
    let zeros = |offset: usize| sample.iter().skip(offset).step_by(2).filter(|byte| **byte == 0).count();
    let half = sample.len() / 2;
    match (zeros(0), zeros(1)) {
        (0, odd) if odd * 10 > half * 9 => Some(UTF_16LE),
        (even, 0) if even * 10 > half * 9 => Some(UTF_16BE),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn utf16_and_latin1_are_decoded_and_named() {
        let utf16: Vec<u8> = "é\nb".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let marked = decode([vec![0xff, 0xfe], utf16].concat()).expect("text");
        assert_eq!((marked.as_str(), marked.decoded_from.as_deref()), ("é\nb", Some("UTF-16LE")));
        let unmarked: Vec<u8> = "fn main() {}\n".encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!(decode(unmarked).expect("text").decoded_from.as_deref(), Some("UTF-16BE"));
        let latin = decode(b"caf\xe9\r\n".to_vec()).expect("text");
        assert_eq!((latin.as_str(), latin.decoded_from.as_deref()), ("café\r\n", Some("Latin-1")));
        let broken = decode("✓ one\n✓ two\n".bytes().chain([0xff, b'\n']).collect()).expect("text");
        assert_eq!(broken.as_str(), "✓ one\n✓ two\n\u{fffd}\n");
        let half: Vec<u8> = [0xfeff, 0x61, 0xd800, 0x62].into_iter().flat_map(u16::to_be_bytes).chain([0]).collect();
        let half = decode(half).expect("text");
        assert_eq!((half.as_str(), half.decoded_from.as_deref().map(|name| &name[..11])), ("a\u{fffd}b\u{fffd}", Some("UTF-16 with")));
        assert!(decode([0xfeff, 0x61, 0x0a].into_iter().flat_map(u32::to_le_bytes).collect()).is_err(), "UTF-32");
        assert!(decode(b"\x7fELF\0\0\0\x01".to_vec()).is_err());
        assert!(decode(vec![0x80, 1, 2, 3, 4, 5, 6, 7]).is_err());
    }

    #[test]
    fn other_encodings_are_guessed() {
        for (name, text) in [
            ("GBK", "你好世界，这是一个测试文件。读取配置失败\n"),
            ("Big5", "這是一個測試檔案，讀取設定失敗，請再試一次\n"),
            ("Shift_JIS", "設定ファイルの読み込みに失敗しました。もう一度お試しください\n"),
            ("EUC-JP", "設定ファイルの読み込みに失敗しました。もう一度お試しください\n"),
            ("EUC-KR", "설정 파일을 읽지 못했습니다. 다시 시도하십시오\n"),
            ("windows-1251", "Не удалось прочитать файл настроек, попробуйте ещё раз\n"),
            ("KOI8-U", "Не удалось прочитать файл настроек, попробуйте ещё раз\n"),
        ] {
            let encoding = Encoding::for_label(name.as_bytes()).expect("an encoding");
            let decoded = decode(encoding.encode(text).0.into_owned()).expect("text");
            assert_eq!((decoded.as_str(), decoded.decoded_from.as_deref()), (text, Some(format!("{name}, which is a guess").as_str())));
        }
    }

    #[test]
    fn a_text_may_have_zeros() {
        let text = "fn main() {\n    let a = 1;\n}\n".repeat(4) + "// \0 \0\n";
        assert_eq!(decode(text.clone().into_bytes()).expect("text").as_str(), text);
        assert!(decode(b"a\0b\n".to_vec()).is_ok() && decode(b"alpha\nbe\0ta\n".to_vec()).is_ok());
        let archive: Vec<u8> = (0..4000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        assert!(decode(archive.clone()).is_err(), "as random as what is packed");
        let weights = [text.repeat(HEAD / 50).into_bytes(), archive.repeat(40)].concat();
        assert!(decode(weights).is_err(), "a text comes before it");
        assert!(decode([b"name\0\0\0\0\0\0\0\0\0\0".as_slice(), b"text"].concat()).is_err());
    }

    proptest! {
        #[test]
        fn lines_joined_are_the_text(content in "[a-c\r\n ]{0,60}") {
            let text = Text::new(content.clone());
            prop_assert_eq!(text.lines(0..text.len()).concat(), content.clone());
            prop_assert_eq!(text.len(), content.split_inclusive('\n').count());
        }
    }
}
