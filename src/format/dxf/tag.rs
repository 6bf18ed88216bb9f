//! Bytes → tags: pairs of a group code and a value, from text or binary DXF, without allocating.
//!
//! A text file alternates lines: code, value, code, value. The tokenizer never fails: a code line that is no
//! number is skipped (a text with a line feed inside, a blank line) and counted, so that reading falls into step
//! again. What was skipped, and how the document ended, is asked for afterwards; [`super`] makes issues of it.
//!
//! Binary files carry one- or two-byte codes and typed values; the type follows from the code alone.

use super::number;

/// How the value of a tag is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Characters: everything in text files, strings in binary ones.
    Text,
    /// A little-endian double.
    Real,
    /// A little-endian integer of as many bytes as the value has.
    Integer,
    /// Raw bytes.
    Chunk,
}

/// One pair.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tag<'a> {
    /// Group code.
    pub(super) code: i32,
    /// How `value` is stored.
    pub(super) form: Form,
    /// The value, without its line end.
    pub(super) value: &'a [u8],
}

impl Tag<'_> {
    /// The value as a real, or `None` if it is not one by the book.
    #[inline]
    pub(super) fn real(&self) -> Option<f64> {
        match self.form {
            Form::Text => number::real(self.value),
            Form::Real => {
                self.value.first_chunk::<8>().map(|bytes| f64::from_le_bytes(*bytes)).filter(|v| v.is_finite())
            }
            Form::Integer => self.integer().map(|value| value as f64),
            Form::Chunk => None,
        }
    }

    /// The value as an integer, or `None` if it is not one.
    #[inline]
    pub(super) fn integer(&self) -> Option<i64> {
        match self.form {
            Form::Text => number::integer(self.value),
            Form::Integer => match *self.value {
                [a] => Some(i64::from(a)),
                [a, b] => Some(i64::from(i16::from_le_bytes([a, b]))),
                [a, b, c, d] => Some(i64::from(i32::from_le_bytes([a, b, c, d]))),
                [a, b, c, d, e, f, g, h] => Some(i64::from_le_bytes([a, b, c, d, e, f, g, h])),
                _ => None,
            },
            Form::Real => self.real().filter(|value| value.abs() < 9.0e15).map(|value| value as i64),
            Form::Chunk => None,
        }
    }

    /// The value as a handle; 0 if it is none.
    #[inline]
    pub(super) fn handle(&self) -> u64 {
        number::handle(self.value)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    /// Lines end with a line feed, perhaps after carriage returns.
    Lines,
    /// Lines end with a carriage return alone, or some with this and some with that.
    AnyEnd,
    /// Binary with codes of one byte (up to R12).
    BinaryShort,
    /// Binary with codes of two bytes (R13 and later).
    BinaryLong,
}

/// The tokenizer.
#[derive(Debug, Clone)]
pub(super) struct Tags<'a> {
    data: &'a [u8],
    position: usize,
    framing: Framing,
    /// Code lines skipped because they hold no number.
    pub(super) num_skipped: u64,
    /// Offset of the first line skipped.
    pub(super) first_skipped: Option<usize>,
    /// Whether the last pair was cut off.
    pub(super) truncated: bool,
    /// Whether the mark at the beginning of a binary file was not as it should be.
    pub(super) damaged_mark: bool,
}

/// What binary files begin with; CR, LF, SUB and NUL follow.
const MARK: &[u8] = b"AutoCAD Binary DXF";

/// Whether these bytes begin a binary DXF; the mark may have blanks before it, or its letters in another case.
pub(in crate::format) fn is_binary(data: &[u8]) -> bool {
    mark_end(data).is_some()
}

/// Offset behind the words of the mark.
fn mark_end(data: &[u8]) -> Option<usize> {
    let head = data.get(..data.len().min(64)).unwrap_or(data);
    let head = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head);
    let words = head.trim_ascii_start();
    let before = data.len().min(64) - words.len();
    words.get(..MARK.len()).filter(|mark| mark.eq_ignore_ascii_case(MARK)).map(|_| before + MARK.len())
}

impl<'a> Tags<'a> {
    /// Starts at the first byte; finds out how the file is framed.
    pub(super) fn new(data: &'a [u8]) -> Self {
        let (framing, position, damaged_mark) = match mark_end(data) {
            Some(end) => binary_framing(data, end),
            None => {
                let bom = if data.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 };
                (text_framing(data.get(bom..).unwrap_or(&[])), bom, false)
            }
        };
        Self { data, position, framing, num_skipped: 0, first_skipped: None, truncated: false, damaged_mark }
    }

    /// Whether the file is binary.
    pub(super) fn is_binary(&self) -> bool {
        matches!(self.framing, Framing::BinaryShort | Framing::BinaryLong)
    }

    /// Whether carriage returns alone end lines.
    pub(super) fn returns_end_lines(&self) -> bool {
        self.framing == Framing::AnyEnd
    }

    /// All bytes.
    pub(super) fn data(&self) -> &'a [u8] {
        self.data
    }

    /// Offset of the next byte to read.
    #[inline]
    pub(super) fn position(&self) -> usize {
        self.position
    }

    /// Goes back, or on, to an offset that [`position`](Self::position) gave.
    pub(super) fn seek(&mut self, position: usize) {
        self.position = position;
    }

    /// The next pair; `None` at the end.
    #[inline]
    pub(super) fn next(&mut self) -> Option<Tag<'a>> {
        if self.framing != Framing::Lines {
            return self.next_rare();
        }
        // Fast entrance: the code line lies in eight bytes, blanks then digits, and ends with a line feed.
        let code = match self.data.get(self.position..).and_then(|rest| rest.first_chunk::<8>()) {
            Some(window) => match short_code(*window) {
                Some((code, length)) => {
                    self.position += length;
                    code
                }
                None => self.code_line()?,
            },
            None => self.code_line()?,
        };
        let start = self.position;
        if start >= self.data.len() {
            self.truncated = true;
            return None;
        }
        let end = line_end(self.data, start);
        if end >= self.data.len() {
            self.position = self.data.len();
        } else {
            self.position = end + 1;
        }
        let mut value = self.data.get(start..end).unwrap_or(&[]);
        while let [rest @ .., b'\r'] = value {
            value = rest;
        }
        Some(Tag { code, form: Form::Text, value })
    }

    /// The line that begins at an offset, without its end, and the offset of the next one; `None` at the end.
    fn line(&self, start: usize) -> Option<(&'a [u8], usize)> {
        let rest = self.data.get(start..).filter(|rest| !rest.is_empty())?;
        let found = match self.framing {
            Framing::AnyEnd => memchr::memchr2(b'\n', b'\r', rest),
            _ => memchr::memchr(b'\n', rest),
        };
        let Some(end) = found else { return Some((rest, self.data.len())) };
        let is_pair = rest.get(end..end + 2) == Some(b"\r\n");
        Some((&rest[..end], start + end + if is_pair { 2 } else { 1 }))
    }

    /// A code line that is not of the usual form: more blanks, a sign, garbage to be skipped.
    #[cold]
    fn code_line(&mut self) -> Option<i32> {
        let mut skipped = 0;
        let mut first = None;
        loop {
            let start = self.position;
            let (line, next) = self.line(start)?;
            self.position = next;
            let line = number::trim(line);
            if let Some(code) =
                number::integer(line).and_then(|code| i32::try_from(code).ok()).filter(|_| line.len() <= 11)
            {
                if next >= self.data.len() {
                    self.truncated = true;
                    return None;
                }
                // Blank lines at the very end are nothing, so skipped lines count once something follows them.
                self.num_skipped += skipped;
                self.first_skipped = self.first_skipped.or(first);
                return Some(code);
            }
            if line != b"\x1a" {
                skipped += 1;
                first.get_or_insert(start);
            }
        }
    }

    #[cold]
    fn next_rare(&mut self) -> Option<Tag<'a>> {
        match self.framing {
            Framing::Lines | Framing::AnyEnd => {
                let code = self.code_line()?;
                let (value, next) = self.line(self.position)?;
                self.position = next;
                Some(Tag { code, form: Form::Text, value })
            }
            Framing::BinaryShort | Framing::BinaryLong => self.next_binary(),
        }
    }

    fn next_binary(&mut self) -> Option<Tag<'a>> {
        if self.position >= self.data.len() {
            return None;
        }
        let tag = self.binary_pair();
        if tag.is_none() {
            self.truncated = true;
            self.position = self.data.len();
        }
        tag
    }

    fn binary_pair(&mut self) -> Option<Tag<'a>> {
        let code = if self.framing == Framing::BinaryShort {
            match *self.bytes(1)?.first()? {
                255 => self.two_byte_code()?,
                code => i32::from(code),
            }
        } else {
            self.two_byte_code()?
        };
        let (form, value) = match binary_form(code) {
            BinaryForm::Text => {
                let rest = self.data.get(self.position..)?;
                let end = memchr::memchr(0, rest)?;
                self.position += end + 1;
                (Form::Text, rest.get(..end)?)
            }
            BinaryForm::Real => (Form::Real, self.bytes(8)?),
            BinaryForm::Integer(width) => (Form::Integer, self.bytes(width)?),
            BinaryForm::Chunk => {
                let length = usize::from(*self.bytes(1)?.first()?);
                (Form::Chunk, self.bytes(length)?)
            }
        };
        Some(Tag { code, form, value })
    }

    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let bytes = self.data.get(self.position..self.position.checked_add(count)?)?;
        self.position += count;
        Some(bytes)
    }

    fn two_byte_code(&mut self) -> Option<i32> {
        let bytes = self.bytes(2)?.first_chunk::<2>()?;
        Some(i32::from(i16::from_le_bytes(*bytes)))
    }
}

/// The code of a line that ends within eight bytes, and the length of the line with its end.
///
/// Eight bytes at once: the line feed is found by the zero-byte trick, digits are moved to the top of the word,
/// and blanks before them count as zeros.
#[inline]
fn short_code(window: [u8; 8]) -> Option<(i32, usize)> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let word = u64::from_le_bytes(window);
    let feeds = word ^ (ONES * 0x0A);
    let found = feeds.wrapping_sub(ONES) & !feeds & (ONES << 7);
    if found == 0 {
        return None;
    }
    let length = (found.trailing_zeros() / 8) as usize;
    let mut digits = length;
    if length >= 1 && window[length - 1] == b'\r' {
        digits -= 1;
    }
    if digits == 0 {
        return None;
    }
    let shifted = word << (64 - 8 * digits as u32);
    let filled = u64::MAX << (64 - 8 * digits as u32);
    // Every byte is a digit (0x3d) or a blank (0x20), and the last one is a digit.
    let high = shifted & (ONES * 0xF0);
    let is_digit = (high >> 4) & ONES;
    let nibbles = shifted & (ONES * 0x0F);
    let only_digits_and_blanks = (high & (ONES * 0xE0)) == (filled & (ONES * 0x20))
        && nibbles & !(is_digit * 0x0F) == 0
        && (nibbles + ONES * 6) & (ONES * 0x10) == 0;
    // Digits form one run at the end: the bytes before the first digit are blanks.
    if !only_digits_and_blanks || is_digit >> 56 == 0 || !one_run(is_digit) {
        return None;
    }
    let pairs = nibbles.wrapping_mul(10).wrapping_add(nibbles >> 8);
    let lower = (pairs & 0x0000_00FF_0000_00FF).wrapping_mul(0x000F_4240_0000_0064);
    let upper = ((pairs >> 16) & 0x0000_00FF_0000_00FF).wrapping_mul(0x0000_2710_0000_0001);
    Some(((lower.wrapping_add(upper) >> 32) as i32, length + 1))
}

/// Whether the set bytes (0x01 each) are one run that reaches the top byte.
#[inline]
fn one_run(is_digit: u64) -> bool {
    // Adding the lowest set byte carries through a run that reaches the top, leaving nothing.
    let all = is_digit * 0xFF;
    let lowest = all & all.wrapping_neg();
    all.wrapping_add(lowest) == 0
}

/// Offset of the line feed at or after `from`, or the length of the data.
#[inline]
fn line_end(data: &[u8], from: usize) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let mut at = from;
    let mut chunks = 0;
    while let Some(chunk) = data.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let feeds = u64::from_le_bytes(*chunk) ^ (ONES * 0x0A);
        let found = feeds.wrapping_sub(ONES) & !feeds & (ONES << 7);
        if found != 0 {
            return at + (found.trailing_zeros() / 8) as usize;
        }
        at += 8;
        chunks += 1;
        if chunks == 4 {
            break;
        }
    }
    let rest = data.get(at..).unwrap_or(&[]);
    at + memchr::memchr(b'\n', rest).unwrap_or(rest.len())
}

/// How the lines of a text file end: if a carriage return stands inside of what line feeds make the first line, carriage
/// returns end lines, too.
fn text_framing(data: &[u8]) -> Framing {
    let head = data.get(..data.len().min(1 << 16)).unwrap_or(data).trim_ascii_start();
    let line = head.get(..memchr::memchr(b'\n', head).unwrap_or(head.len())).unwrap_or(head);
    if memchr::memchr(b'\r', line.trim_ascii_end()).is_some() { Framing::AnyEnd } else { Framing::Lines }
}

/// How wide the codes of a binary file are, where its pairs begin, and whether the mark that ends at `mark_end` has
/// another form than it should: line ends may have been changed by a transfer, or bytes have been lost.
fn binary_framing(data: &[u8], mark_end: usize) -> (Framing, usize, bool) {
    let rest = data.get(mark_end..).unwrap_or(&[]);
    let is_sound = data.starts_with(MARK) && rest.starts_with(b"\r\n\x1a\0");
    let mut position = mark_end + rest.iter().take(4).take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
    position += usize::from(data.get(position) == Some(&0x1A));
    let pairs = data.get(position..).unwrap_or(&[]);
    let num_zeros = pairs.iter().take(4).take_while(|byte| **byte == 0).count();
    let name = pairs.get(num_zeros..).unwrap_or(&[]);
    // The first pair says which zeros belong to its code: the second one has a code of one byte or of two.
    if let Some(after) = name.get(b"SECTION\0".len()..)
        && name.get(..b"SECTION".len()).is_some_and(|name| name.eq_ignore_ascii_case(b"SECTION"))
    {
        let framing = if after.starts_with(&[2, 0]) { Framing::BinaryLong } else { Framing::BinaryShort };
        let width = if framing == Framing::BinaryLong { 2 } else { 1 };
        if num_zeros >= width {
            let begin = position + num_zeros - width;
            return (framing, begin, !is_sound || begin != mark_end + 4);
        }
    }
    position += usize::from(num_zeros > 0);
    let framing = match data.get(position..) {
        // A comment (999 = 0x03E7) or a section with two-byte codes; a one-byte comment begins with 255.
        Some([0, 0, ..] | [0xE7, 0x03, ..]) => Framing::BinaryLong,
        _ => Framing::BinaryShort,
    };
    (framing, position, !is_sound)
}

enum BinaryForm {
    Text,
    Real,
    Integer(usize),
    Chunk,
}

/// The type of a value by its group code (DXF reference, "Group Code Value Types").
fn binary_form(code: i32) -> BinaryForm {
    match code {
        10..=59 | 110..=149 | 210..=239 | 460..=469 | 1010..=1059 => BinaryForm::Real,
        60..=79 | 170..=179 | 270..=289 | 370..=389 | 400..=409 | 1060..=1070 => BinaryForm::Integer(2),
        90..=99 | 420..=429 | 440..=459 | 1071 => BinaryForm::Integer(4),
        160..=169 => BinaryForm::Integer(8),
        290..=299 => BinaryForm::Integer(1),
        310..=319 | 1004 => BinaryForm::Chunk,
        _ => BinaryForm::Text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(data: &[u8]) -> Vec<(i32, Vec<u8>)> {
        let mut tags = Tags::new(data);
        std::iter::from_fn(|| tags.next()).map(|tag| (tag.code, tag.value.to_vec())).collect()
    }

    fn pairs(expected: &[(i32, &str)]) -> Vec<(i32, Vec<u8>)> {
        expected.iter().map(|(code, value)| (*code, value.as_bytes().to_vec())).collect()
    }

    #[test]
    fn all_line_ends_and_paddings_read_the_same() {
        let expected = pairs(&[(0, "SECTION"), (2, "ENTITIES"), (10, "1.5"), (1001, "ACAD"), (0, "EOF")]);
        for text in [
            "  0\nSECTION\n  2\nENTITIES\n 10\n1.5\n1001\nACAD\n  0\nEOF\n",
            "0\r\nSECTION\r\n2\r\nENTITIES\r\n10\r\n1.5\r\n1001\r\nACAD\r\n0\r\nEOF\r\n",
            "  0\rSECTION\r  2\rENTITIES\r 10\r1.5\r1001\rACAD\r  0\rEOF\r",
            "       0  \nSECTION\n\t2\nENTITIES\n          10\n1.5\n 1001 \nACAD\n0\nEOF",
            "\u{FEFF}  0\nSECTION\n  2\nENTITIES\n 10\n1.5\n1001\nACAD\n  0\nEOF",
        ] {
            assert_eq!(read(text.as_bytes()), expected, "{text:?}");
        }
    }

    #[test]
    fn short_codes_are_exact() {
        for code in (0..=1071).chain([5555, 99999, 123_456]) {
            for line in [format!("{code}\n"), format!("{code:>3}\n"), format!("{code}\r\n")] {
                let mut window = [b'7'; 8];
                if line.len() <= 8 {
                    window[..line.len()].copy_from_slice(line.as_bytes());
                    assert_eq!(short_code(window), Some((code, line.len())), "{line:?}");
                }
            }
        }
        for line in [
            "AB\n     ",
            "1 2\n    ",
            "-5\n     ",
            "12 \n    ",
            " \n      ",
            "\n1234567",
            "1.0\n    ",
            "#5\n     ",
            "12345678",
        ] {
            let mut window = [0u8; 8];
            window.copy_from_slice(&line.as_bytes()[..8]);
            assert_eq!(short_code(window), None, "{line:?}");
        }
    }

    #[test]
    fn falls_into_step_after_a_line_feed_inside_a_text() {
        let mut tags = Tags::new(b"  1\nfirst line\nsecond line\n 40\n2.5\n");
        assert_eq!(tags.next().unwrap().value, b"first line");
        let height = tags.next().unwrap();
        assert_eq!((height.code, height.real()), (40, Some(2.5)));
        assert_eq!((tags.num_skipped, tags.first_skipped), (1, Some(15)));
        assert!(tags.next().is_none() && !tags.truncated);
    }

    #[test]
    fn a_pair_cut_off_is_noticed() {
        let mut tags = Tags::new(b"  0\nLINE\n 10\n");
        assert!(tags.next().is_some());
        assert!(tags.next().is_none());
        assert!(tags.truncated);
    }

    #[test]
    fn lines_may_end_in_several_ways() {
        let expected = pairs(&[(0, "SECTION"), (2, "ENTITIES"), (1, ""), (0, "EOF")]);
        for text in [
            "0\rSECTION\n2\rENTITIES\n1\r\n\r\n0\nEOF\r",
            "0\r\r\nSECTION\r\r\n2\r\r\nENTITIES\r\r\n1\r\r\n\r\r\n0\r\r\nEOF\r\r\n",
        ] {
            assert_eq!(read(text.as_bytes()), expected, "{text:?}");
        }
    }

    #[test]
    fn marks_of_binary_files_may_be_damaged() {
        let short: &[u8] = b"\0SECTION\0\x02HEADER\0";
        let long: &[u8] = b"\0\0SECTION\0\x02\0HEADER\0";
        let expected = pairs(&[(0, "SECTION"), (2, "HEADER")]);
        for (mark, is_sound) in [
            (&b"AutoCAD Binary DXF\r\n\x1a\0"[..], true),
            (b"AutoCAD Binary DXF\n\x1a\0", false),
            (b"AutoCAD Binary DXF\r\r\n\x1a\0", false),
            (b"AutoCAD Binary DXF\r\n\x1a", false),
            (b"AutoCAD Binary DXF\r\n\0", false),
            (b"AUTOCAD BINARY DXF\r\n\x1a\0", false),
            (b"\xEF\xBB\xBFAutoCAD Binary DXF\r\n\x1a\0", false),
            (b"\r\nAutoCAD Binary DXF\r\n\x1a\0", false),
        ] {
            for content in [short, long] {
                let data = [mark, content].concat();
                assert_eq!(read(&data), expected, "{mark:?} {content:?}");
                assert_eq!(Tags::new(&data).damaged_mark, !is_sound, "{mark:?}");
            }
        }
    }

    #[test]
    fn empty_values_are_values() {
        assert_eq!(read(b"  1\n\n  7\nx\n"), pairs(&[(1, ""), (7, "x")]));
    }

    #[test]
    fn binary_with_short_and_long_codes() {
        let mut short = b"AutoCAD Binary DXF\r\n\x1a\0".to_vec();
        short.extend(b"\0LINE\0");
        short.push(10);
        short.extend(1.5f64.to_le_bytes());
        short.push(62);
        short.extend((-3i16).to_le_bytes());
        short.extend([255, 0xE9, 0x03]);
        short.extend(b"ACAD\0");
        let mut long = b"AutoCAD Binary DXF\r\n\x1a\0".to_vec();
        long.extend(b"\0\0LINE\0");
        long.extend([10, 0]);
        long.extend(1.5f64.to_le_bytes());
        long.extend([62, 0]);
        long.extend((-3i16).to_le_bytes());
        long.extend([0xE9, 0x03]);
        long.extend(b"ACAD\0");
        for data in [short, long] {
            let mut tags = Tags::new(&data);
            assert!(tags.is_binary());
            assert_eq!(tags.next().unwrap().value, b"LINE");
            assert_eq!(tags.next().unwrap().real(), Some(1.5));
            assert_eq!(tags.next().unwrap().integer(), Some(-3));
            let name = tags.next().unwrap();
            assert_eq!((name.code, name.value), (1001, &b"ACAD"[..]));
            assert!(tags.next().is_none() && !tags.truncated);
        }
    }
}
