//! What the PDF reader needs of PDF objects: stream data under a budget, and text strings.
//!
//! The library inflates a stream whole, whatever it grows to. [`Budget`] bounds that beforehand: a stream that cannot
//! outgrow the budget even at the greatest ratio of its filters is let through, any other is inflated once into
//! nothing, and counted.

use std::borrow::Cow;

use flate2::read::{DeflateDecoder, ZlibDecoder};
use hayro_syntax::Filter;
use hayro_syntax::object::Stream;
use memchr::memmem;

use crate::format::ReadError;

/// Greatest ratio of deflate (258 bytes from 2 bits).
const FLATE_RATIO: u64 = 1_032;
/// Greatest ratio of LZW (a 4,096 byte entry from 12 bits).
const LZW_RATIO: u64 = 2_731;
/// Greatest ratio of run lengths (128 bytes from 2).
const RUN_LENGTH_RATIO: u64 = 64;

/// Bytes that may still be decompressed.
#[derive(Debug)]
pub(super) struct Budget {
    left: u64,
    limit: u64,
}

impl Budget {
    pub(super) fn new(limit: u64) -> Self {
        Self { left: limit, limit }
    }

    /// Decoded data of a stream, or `None` if it cannot be decoded.
    pub(super) fn decode<'a>(&mut self, stream: &Stream<'a>) -> Result<Option<Cow<'a, [u8]>>, ReadError> {
        self.check(stream)?;
        let Ok(data) = stream.decoded_data() else { return Ok(None) };
        self.charge(data.len() as u64)?;
        Ok(Some(data))
    }

    /// Refuses a stream that would not fit, without keeping anything of it.
    pub(super) fn check(&self, stream: &Stream<'_>) -> Result<(), ReadError> {
        let data = stream.raw_data();
        let filters = stream.filters();
        let ratio = filters.iter().fold(1u64, |ratio, filter| ratio.saturating_mul(greatest_ratio(*filter)));
        if (data.len() as u64).saturating_mul(ratio) <= self.left {
            return Ok(());
        }
        match filters.as_slice() {
            [Filter::FlateDecode] if inflated_size(&data, self.left) <= self.left => Ok(()),
            _ => Err(self.exceeded()),
        }
    }

    /// Takes bytes from the budget.
    pub(super) fn charge(&mut self, bytes: u64) -> Result<(), ReadError> {
        self.left = self.left.checked_sub(bytes).ok_or_else(|| self.exceeded())?;
        Ok(())
    }

    fn exceeded(&self) -> ReadError {
        exceeded(self.limit)
    }
}

/// Refuses a document whose object streams would outgrow `limit` bytes; the library inflates them while it opens it.
pub(super) fn check_object_streams(bytes: &[u8], limit: u64) -> Result<(), ReadError> {
    let bodies = || ["ObjStm", "/XRef"].into_iter().flat_map(|name| stream_bodies(bytes, name.as_bytes()));
    let compressed: u64 = bodies().map(|body| body.len() as u64).sum();
    if compressed.saturating_mul(FLATE_RATIO) <= limit {
        return Ok(());
    }
    let mut left = limit;
    for body in bodies() {
        left = left.checked_sub(inflated_size(body, left)).ok_or_else(|| exceeded(limit))?;
    }
    Ok(())
}

/// Bodies of the streams whose dictionary says `name`.
fn stream_bodies<'d>(bytes: &'d [u8], name: &'d [u8]) -> impl Iterator<Item = &'d [u8]> {
    /// How far behind the type the dictionary of a stream may end.
    const REACH: usize = 4_096;
    memmem::find_iter(bytes, name).filter_map(move |at| {
        let head = bytes.get(at..bytes.len().min(at + REACH))?;
        let start = at + memmem::find(head, b"stream")? + "stream".len();
        let rest = bytes.get(start..)?;
        let body = rest.get(..memmem::find(rest, b"endstream").unwrap_or(rest.len()))?;
        Some(body.strip_prefix(b"\r\n").or_else(|| body.strip_prefix(b"\n")).unwrap_or(body))
    })
}

fn exceeded(limit: u64) -> ReadError {
    ReadError::Limit { what: "size of decompressed PDF streams".to_owned(), key: "decompressed_bytes", limit }
}

fn greatest_ratio(filter: Filter) -> u64 {
    match filter {
        Filter::FlateDecode => FLATE_RATIO,
        Filter::LzwDecode => LZW_RATIO,
        Filter::RunLengthDecode => RUN_LENGTH_RATIO,
        _ => 1,
    }
}

/// Size after inflating; stops as soon as it is greater than `enough`.
fn inflated_size(data: &[u8], enough: u64) -> u64 {
    let zlib = count(ZlibDecoder::new(data), enough);
    if zlib > 0 { zlib } else { count(DeflateDecoder::new(data), enough) }
}

fn count(mut reader: impl std::io::Read, enough: u64) -> u64 {
    let mut buffer = vec![0u8; 1 << 16];
    let mut total = 0u64;
    while total <= enough {
        match reader.by_ref().read(&mut buffer) {
            Ok(0) | Err(_) => break,
            Ok(read) => total += read as u64,
        }
    }
    total
}

/// A PDF text string: UTF-16 or UTF-8 with a byte order mark, else PDFDocEncoding (PDF 2.0, 7.9.2.2).
pub(super) fn text_string(bytes: &[u8]) -> String {
    match bytes {
        [0xFE, 0xFF, rest @ ..] => utf16(rest, u16::from_be_bytes),
        [0xFF, 0xFE, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xEF, 0xBB, 0xBF, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        _ => bytes.iter().map(|byte| pdf_doc_character(*byte)).collect(),
    }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    char::decode_utf16(units).map(|character| character.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

/// PDFDocEncoding (PDF 2.0, annex D.3).
fn pdf_doc_character(byte: u8) -> char {
    const LOW: [char; 8] = ['˘', 'ˇ', 'ˆ', '˙', '˝', '˛', '˚', '˜'];
    const HIGH: [char; 33] = [
        '•', '†', '‡', '…', '—', '–', 'ƒ', '⁄', '‹', '›', '−', '‰', '„', '“', '”', '‘', '’', '‚', '™', 'ﬁ', 'ﬂ', 'Ł',
        'Œ', 'Š', 'Ÿ', 'Ž', 'ı', 'ł', 'œ', 'š', 'ž', '\u{FFFD}', '€',
    ];
    match byte {
        0x18..=0x1F => LOW[usize::from(byte - 0x18)],
        0x80..=0xA0 => HIGH[usize::from(byte - 0x80)],
        _ => char::from(byte),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_strings_of_all_encodings() {
        assert_eq!(text_string(b"A-WALL"), "A-WALL");
        assert_eq!(text_string(b"\xFE\xFF\x04\x1A"), "К");
        assert_eq!(text_string(b"\xFF\xFE\x1A\x04"), "К");
        assert_eq!(text_string(b"\xEF\xBB\xBF\xC3\xA9"), "é");
        assert_eq!(text_string(b"T\xFCr \x85 \xA0"), "Tür – €");
    }

    #[test]
    fn object_streams_that_outgrow_the_limit_are_refused_before_they_are_inflated() {
        let zeros = vec![0u8; 1 << 20];
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        std::io::Write::write_all(&mut encoder, &zeros).unwrap();
        let mut document = b"%PDF-1.5\n1 0 obj\n<< /Type /ObjStm /Filter /FlateDecode >>\nstream\r\n".to_vec();
        document.extend(encoder.finish().unwrap());
        document.extend_from_slice(b"\nendstream\nendobj\n");
        assert!(check_object_streams(&document, 2 << 20).is_ok());
        let error = check_object_streams(&document, 1 << 19).unwrap_err();
        assert_eq!(error.kind(), "limit");
        assert!(error.to_string().contains("524288"), "{error}");
    }
}
