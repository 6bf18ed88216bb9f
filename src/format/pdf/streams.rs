//! Streams that the library decodes while it opens a document, measured beforehand.
//!
//! Opening decodes cross-reference streams and object streams, and takes any stream for an object stream that a
//! cross-reference names. So every stream of the file is found by its dictionary, in the raw bytes, and must stay
//! below the limit by itself; object streams, which stay in memory, together. A stream that cannot outgrow
//! the limit at the greatest ratio of its filters is only looked at, so that ordinary documents cost a scan
//! of their dictionaries. Dictionaries are read here without resolving references, under a bound of work.

use memchr::memmem;

use super::filters::{self, Stage};
use super::objects::exceeded;
use crate::format::ReadError;

/// Work on dictionaries, as a multiple of the file's size: they may overlap only if someone meant harm.
const MOST_WORK: usize = 16;
/// Greatest ratio that encrypted object streams are believed to have together; each has the greatest there is.
const USUAL_RATIO: u64 = 64;
/// Longest dictionary that is looked for where none is announced by `obj`, bytes.
const LONGEST_STRAY: usize = 64 << 10;
/// Deepest nesting of arrays and dictionaries that is followed.
const DEEPEST: usize = 256;

/// Refuses a document with a stream that would outgrow `limit` bytes while the library opens it.
pub(super) fn check(bytes: &[u8], limit: u64) -> Result<(), ReadError> {
    let mut weigher = Weigher { bytes, limit, object_streams: 0, encrypted_streams: 0 };
    let mut streams = Vec::new();
    let mut encrypted = false;
    let (mut covered, mut work) = (0, 0);
    for at in memmem::find_iter(bytes, b"<<") {
        let announced = follows_object(bytes, at);
        if at < covered && !announced {
            continue;
        }
        let reach = if announced { bytes.len() } else { bytes.len().min(at + LONGEST_STRAY) };
        let (dict, end) = Entries::read(bytes.get(..reach).unwrap_or(bytes), at);
        work += if announced { end - at } else { 0 };
        if work > bytes.len().saturating_mul(MOST_WORK) {
            return Err(super::malformed("its dictionaries overlap"));
        }
        let Some(dict) = dict else { continue };
        covered = covered.max(end);
        encrypted |= dict.encrypt;
        if let Some(body) = stream_after(bytes, end) {
            streams.push((dict, body));
        }
    }
    streams.iter().try_for_each(|(dict, body)| weigher.weigh(dict, *body, encrypted))
}

struct Weigher<'d> {
    bytes: &'d [u8],
    limit: u64,
    object_streams: u64,
    encrypted_streams: u64,
}

impl Weigher<'_> {
    fn weigh(&mut self, dict: &Entries, body: usize, encrypted: bool) -> Result<(), ReadError> {
        if dict.columns > self.limit / 512 {
            return Err(exceeded(self.limit)); // room for a row is made before there is data
        }
        let data = self.bytes.get(body..).unwrap_or(&[]);
        // Data ends by itself; where it is said to end only tells whether it can be harmful.
        let to_end = || memmem::find(data, b"endstream").unwrap_or(data.len());
        let size = dict.length.map_or_else(to_end, |length| data.len().min(length)).max(1) as u64;
        let is_kept = dict.is_object_stream;
        let bound = filters::bound(&dict.stages, size);
        if encrypted && !dict.is_cross_reference {
            self.encrypted_streams += if is_kept { size } else { 0 };
            let together = self.encrypted_streams.saturating_mul(USUAL_RATIO);
            return if is_kept && bound.max(together) > self.limit { Err(exceeded(self.limit)) } else { Ok(()) };
        }
        let together = self.object_streams.saturating_add(bound);
        if if is_kept { together } else { bound } <= self.limit {
            self.object_streams += if is_kept { bound } else { 0 };
            return Ok(());
        }
        let found = filters::measure(&dict.stages, data, dict.early_change, self.limit);
        self.object_streams = self.object_streams.saturating_add(if is_kept { found } else { 0 });
        if found.max(self.object_streams) > self.limit { Err(exceeded(self.limit)) } else { Ok(()) }
    }
}

/// What a dictionary says about the stream behind it.
#[derive(Debug, Default, PartialEq)]
struct Entries {
    stages: Vec<Stage>,
    /// The length, if it stands there and is not a reference.
    length: Option<usize>,
    columns: u64,
    early_change: bool,
    is_object_stream: bool,
    is_cross_reference: bool,
    encrypt: bool,
}

/// A token of PDF syntax.
#[derive(Debug, PartialEq)]
enum Token<'d> {
    Open,
    Close,
    OpenArray,
    CloseArray,
    Name(Vec<u8>),
    Other(&'d [u8]),
}

impl Entries {
    /// The dictionary at `at` if there is one, and how far it was read.
    fn read(bytes: &[u8], at: usize) -> (Option<Self>, usize) {
        let mut lexer = Lexer { bytes, at: at + 2 };
        (Self::read_from(&mut lexer), lexer.at.min(bytes.len()))
    }

    fn read_from(lexer: &mut Lexer<'_>) -> Option<Self> {
        let mut entries = Self { early_change: true, ..Self::default() };
        let (mut depth, mut key, mut inner_key) = (1usize, Vec::new(), Vec::new());
        let mut awaits_value = false;
        loop {
            let token = lexer.next()?;
            match token {
                Token::Open | Token::OpenArray if depth >= DEEPEST => return None,
                Token::Open | Token::OpenArray => depth += 1,
                Token::Close | Token::CloseArray => {
                    depth -= 1;
                    if depth == 0 {
                        return Some(entries);
                    }
                    awaits_value = false;
                }
                Token::Name(name) if depth == 1 && !awaits_value => {
                    entries.encrypt |= name == b"Encrypt";
                    if matches!(&*name, b"Filter" | b"F") {
                        entries.stages.clear();
                    }
                    (key, awaits_value) = (name, true);
                }
                Token::Name(name) => {
                    entries.name(&key, &name);
                    inner_key = name;
                    awaits_value &= depth > 1;
                }
                Token::Other(word) => {
                    let number = || std::str::from_utf8(word).ok()?.parse::<u64>().ok();
                    match (&*key, &*inner_key) {
                        (b"Length", _) if depth == 1 && awaits_value => {
                            entries.length = number().and_then(|length| usize::try_from(length).ok());
                        }
                        (b"Length", _) if depth == 1 && word == b"R" => entries.length = None,
                        (b"DecodeParms" | b"DP", b"Columns") => {
                            entries.columns = entries.columns.max(number().unwrap_or(0))
                        }
                        (b"DecodeParms" | b"DP", b"EarlyChange") if word == b"0" => entries.early_change = false,
                        // A reference to filters, which is not followed here.
                        (b"Filter" | b"F", _) if word == b"R" => entries.stages.extend([Stage::Unknown; 3]),
                        _ => {}
                    }
                    awaits_value &= depth > 1;
                }
            }
        }
    }

    fn name(&mut self, key: &[u8], name: &[u8]) {
        match key {
            b"Filter" | b"F" => self.stages.push(Stage::by_name(name)),
            b"Type" => {
                self.is_object_stream |= name == b"ObjStm";
                self.is_cross_reference |= name == b"XRef";
            }
            _ => {}
        }
    }
}

struct Lexer<'d> {
    bytes: &'d [u8],
    at: usize,
}

impl<'d> Lexer<'d> {
    fn next(&mut self) -> Option<Token<'d>> {
        self.at = skip_space(self.bytes, self.at);
        let rest = self.bytes.get(self.at..)?;
        let (token, length) = match rest {
            [] => return None,
            [b'<', b'<', ..] => (Token::Open, 2),
            [b'>', b'>', ..] => (Token::Close, 2),
            [b'[', ..] => (Token::OpenArray, 1),
            [b']', ..] => (Token::CloseArray, 1),
            [b'/', name @ ..] => {
                let name = regular(name);
                (Token::Name(unescaped(name)), 1 + name.len())
            }
            [b'<', ..] => (Token::Other(&[]), memchr::memchr(b'>', rest)? + 1),
            [b'(', ..] => {
                let length = string_length(rest);
                self.at += length.map_or(rest.len(), |_| 0);
                (Token::Other(&[]), length?)
            }
            [b')' | b'>', ..] => return None,
            _ => {
                let word = regular(rest);
                (Token::Other(word), word.len().max(1))
            }
        };
        self.at += length;
        Some(token)
    }
}

/// The part up to white space or a delimiter.
fn regular(bytes: &[u8]) -> &[u8] {
    let ends = |byte: &u8| is_space(*byte) || b"()<>[]{}/%".contains(byte);
    bytes.split(ends).next().unwrap_or(&[])
}

fn is_space(byte: u8) -> bool {
    matches!(byte, 0 | b'\t' | b'\n' | 0x0C | b'\r' | b' ')
}

/// The length of a string with its parentheses.
fn string_length(bytes: &[u8]) -> Option<usize> {
    let mut depth = 0usize;
    let mut at = 0;
    loop {
        match bytes.get(at)? {
            b'\\' => at += 1,
            b'(' => depth += 1,
            b')' if depth <= 1 => return Some(at + 1),
            b')' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
}

/// A name with its `#53` resolved.
fn unescaped(name: &[u8]) -> Vec<u8> {
    let digit = |byte: Option<&u8>| char::from(*byte?).to_digit(16);
    let mut plain = Vec::with_capacity(name.len());
    let mut at = 0;
    while let Some(&byte) = name.get(at) {
        match (byte, digit(name.get(at + 1)), digit(name.get(at + 2))) {
            (b'#', Some(high), Some(low)) => {
                plain.push((high << 4 | low) as u8);
                at += 3;
            }
            _ => {
                plain.push(byte);
                at += 1;
            }
        }
    }
    plain
}

/// Where white space and comments end.
fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    loop {
        match bytes.get(at) {
            Some(&byte) if is_space(byte) => at += 1,
            Some(b'%') => {
                let rest = bytes.get(at..).unwrap_or(&[]);
                at += memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
            }
            _ => return at,
        }
    }
}

/// Whether `obj` stands before.
fn follows_object(bytes: &[u8], at: usize) -> bool {
    bytes.get(..at).is_some_and(|before| before.trim_ascii_end().ends_with(b"obj"))
}

/// Where the data begins of a stream whose dictionary ends at `end`.
fn stream_after(bytes: &[u8], end: usize) -> Option<usize> {
    let at = skip_space(bytes, end);
    let rest = bytes.get(at..)?.strip_prefix(b"stream")?;
    let skipped = match rest {
        [b'\r', b'\n', ..] => 2,
        [b'\r' | b'\n', ..] => 1,
        _ => return None,
    };
    Some(at + b"stream".len() + skipped)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn deflate(data: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(data).unwrap();
        encoder.finish().unwrap()
    }

    fn document(dict: &str, body: &[u8]) -> Vec<u8> {
        let mut document = format!("%PDF-1.5\n1 0 obj\n{dict}\nstream\r\n").into_bytes();
        document.extend_from_slice(body);
        document.extend_from_slice(b"\nendstream\nendobj\n");
        document
    }

    #[test]
    fn dictionaries_are_read_as_they_are_written() {
        let text = b"<</Type/Obj#53tm % /Type /Page\n/Length 12 0 R/DecodeParms[null<</Columns 5/EarlyChange 0>>]\
            /Filter[/AHx/Fl]/X(a \\) (b) >>)/Y<2>/Z<</Filter/LZW>>>>stream\n";
        let (entries, end) = Entries::read(text, 0);
        let expected = Entries {
            stages: vec![Stage::AsciiHex, Stage::Flate],
            columns: 5,
            is_object_stream: true,
            ..Entries::default()
        };
        assert_eq!(entries, Some(expected));
        assert_eq!(stream_after(text, end), Some(text.len()));
        assert_eq!(Entries::read(b"<</Length 7/Filter/DCT>>", 0).0.unwrap().length, Some(7));
        assert!(Entries::read(b"<</Encrypt 7 0 R>>", 0).0.unwrap().encrypt);
        assert!(Entries::read(b"<</A ) >>", 0).0.is_none());
    }

    /// A document of some hundred bytes that would become gigabytes while it is opened.
    #[test]
    fn streams_that_outgrow_the_limit_are_refused_before_they_are_decoded() {
        let zeros = vec![0u8; 1 << 22];
        let (once, twice) = (deflate(&zeros), deflate(&deflate(&zeros)));
        assert!(twice.len() < 300);
        for (dict, body) in [
            ("<< /Type /ObjStm /Filter /FlateDecode >>", &once),
            ("<< /Type /ObjStm /Length 10 0 R /Filter /Fl >>", &once),
            ("<< /Type /Obj#53tm /Filter [ /Flate#44ecode /Fl ] >>", &twice),
            ("<< /Filter 7 0 R >>", &twice),
            ("<< /Type /XRef /W [1 2 1] /Filter [/FlateDecode /FlateDecode] >>", &twice),
            ("<< /X (5 0 obj << >> ) /Filter [/FlateDecode /FlateDecode] >>", &twice),
            ("<< /Filter [/Fl/Fl] /Length 5 >>", &twice),
        ] {
            let document = document(dict, body);
            assert!(check(&document, 8 << 20).is_ok(), "{dict}");
            let error = check(&document, 1 << 20).unwrap_err();
            assert_eq!(error.kind(), "limit", "{dict}");
            assert!(error.to_string().contains("1048576"), "{error}");
        }
        let columns = document("<< /Filter /Fl /DecodeParms << /Predictor 12 /Columns 99999999999999 >> >>", &once);
        assert_eq!(check(&columns, 1 << 30).unwrap_err().kind(), "limit");
    }

    #[test]
    fn object_streams_count_together_and_others_alone() {
        let part = deflate(&vec![0u8; 600_000]);
        for (kind, is_kept) in [("ObjStm", true), ("Metadata", false)] {
            let one = document(&format!("<< /Type /{kind} /Filter /FlateDecode >>"), &part);
            assert!(check(&one, 1 << 20).is_ok());
            assert_eq!(check(&one.repeat(2), 1 << 20).is_err(), is_kept);
        }
    }

    #[test]
    fn encrypted_streams_are_weighed_by_their_size() {
        let noise: Vec<u8> = (0..4_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 11) as u8).collect();
        let mut bytes = document("<< /Type /ObjStm /Filter /FlateDecode >>", &noise);
        bytes.extend_from_slice(b"trailer << /Encrypt 5 0 R >>");
        assert!(check(&bytes, 8 << 20).is_ok());
        assert!(check(&bytes, 1 << 20).is_err());
    }

    #[test]
    fn nested_beginnings_are_bounded_work() {
        for endless in [&b"1 0 obj<<"[..], b"1 0 obj<<("] {
            assert_eq!(check(&endless.repeat(20_000), 1 << 20).unwrap_err().kind(), "malformed");
        }
        let closed = [b"1 0 obj<</A ".repeat(200), b">>".repeat(200)].concat();
        assert_eq!(check(&closed, 1 << 20).unwrap_err().kind(), "malformed");
    }
}
