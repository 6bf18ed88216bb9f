//! What the PDF reader needs of PDF objects: stream data under a budget, and text strings.
//!
//! The library decodes a stream whole, whatever it grows to. [`Budget`] bounds that beforehand: as long as streams could
//! not outgrow it even at the greatest ratio of their filters they are let through; from then on each is measured.
//! What the library decodes while it opens a document is `streams`'s part.

use std::borrow::Cow;

use hayro_syntax::Filter;
use hayro_syntax::object::{Array, Dict, Stream};

use super::filters::{self, Stage};
use crate::format::ReadError;

/// Bytes that may still be decompressed.
#[derive(Debug)]
pub(super) struct Budget {
    left: u64,
    limit: u64,
    /// What streams that were let through without being measured may have become.
    unmeasured: u64,
}

impl Budget {
    pub(super) fn new(limit: u64) -> Self {
        Self { left: limit, limit, unmeasured: 0 }
    }

    /// Decoded data of a stream, or `None` if it cannot be decoded.
    pub(super) fn decode<'a>(&mut self, stream: &Stream<'a>) -> Result<Option<Cow<'a, [u8]>>, ReadError> {
        let data = stream.raw_data();
        let stages = stages(stream);
        if self.measure(stream, &stages, &data)? > self.left {
            // Damaged data may hide more than it shows: what it shows is taken, without the library.
            if stages != [Stage::Flate] {
                return Err(self.exceeded());
            }
            let shown = filters::inflate_to_fault(&data, self.left);
            self.charge(shown.len() as u64)?;
            return Ok(Some(shown.into()));
        }
        let Ok(data) = stream.decoded_data() else { return Ok(None) };
        self.charge(data.len() as u64)?;
        Ok(Some(data))
    }

    /// Refuses a stream that the library will decode and that does not fit; takes what it may become.
    pub(super) fn admit(&mut self, stream: &Stream<'_>) -> Result<(), ReadError> {
        let data = stream.raw_data();
        let stages = stages(stream);
        let bound = filters::bound(&stages, data.len() as u64);
        if self.unmeasured.saturating_add(bound) <= self.left {
            self.unmeasured += bound;
            return Ok(());
        }
        let size = self.measure(stream, &stages, &data)?;
        self.charge(size)
    }

    /// The size a stream has at its greatest stage, or more than is left.
    fn measure(&self, stream: &Stream<'_>, stages: &[Stage], data: &[u8]) -> Result<u64, ReadError> {
        if row_bytes(stream) > self.limit {
            return Err(self.exceeded());
        }
        let bound = filters::bound(stages, data.len() as u64);
        if bound <= self.left {
            return Ok(bound);
        }
        let early_change = parameters(stream).all(|dict| dict.get::<u8>("EarlyChange") != Some(0));
        Ok(filters::measure(stages, data, early_change, self.left))
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

pub(super) fn exceeded(limit: u64) -> ReadError {
    ReadError::Limit { what: "size of decompressed PDF streams".to_owned(), key: "decompressed_bytes", limit }
}

fn stages(stream: &Stream<'_>) -> Vec<Stage> {
    let stage = |filter: &Filter| match filter {
        Filter::FlateDecode => Stage::Flate,
        Filter::LzwDecode => Stage::Lzw,
        Filter::RunLengthDecode => Stage::RunLength,
        Filter::Ascii85Decode => Stage::Ascii85,
        Filter::AsciiHexDecode => Stage::AsciiHex,
        Filter::DctDecode | Filter::CcittFaxDecode | Filter::Jbig2Decode | Filter::JpxDecode => Stage::Image,
        Filter::Crypt => Stage::Nothing,
    };
    stream.filters().iter().map(stage).collect()
}

/// The parameters of a stream's filters.
fn parameters<'a>(stream: &Stream<'a>) -> impl Iterator<Item = Dict<'a>> {
    let dict = stream.dict().clone();
    ["DecodeParms", "DP"].into_iter().flat_map(move |key| {
        let listed: Vec<Dict<'a>> =
            dict.get::<Array<'a>>(key).map(|all| all.iter::<Dict<'a>>().collect()).unwrap_or_default();
        dict.get::<Dict<'a>>(key).into_iter().chain(listed)
    })
}

/// Bytes of a row by the parameters of a predictor, for which the library makes room before there is data.
fn row_bytes(stream: &Stream<'_>) -> u64 {
    const BITS_OF_A_PIXEL: u64 = 255 * 16;
    let columns = parameters(stream).filter_map(|dict| dict.get::<usize>("Columns"));
    columns.map(|columns| (columns as u64).saturating_mul(BITS_OF_A_PIXEL) / 8).max().unwrap_or(0)
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
}
