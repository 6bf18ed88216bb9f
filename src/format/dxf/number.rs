//! Numbers in text DXF: decimal reals and integers, by hand because they are most of a file.
//!
//! The exact path covers what CAD programs write (at most 19 digits, small exponents); anything else goes to
//! `fast-float2`, which rounds correctly. [`lenient_real`] is the repairing entrance for `1,5` and `1.0E 20`;
//! the caller reports that it was used.

/// Powers of ten that a double holds exactly.
const EXACT_POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

/// Largest integer below which every integer is exact in a double.
const EXACT_MANTISSA: u64 = 1 << 53;

/// A real as written by the book, blanks around it allowed; `None` for anything else, including infinities.
#[inline]
pub(super) fn real(text: &[u8]) -> Option<f64> {
    let text = trim(text);
    let (negative, digits) = match text.first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let mut mantissa = 0u64;
    let mut position = 0usize;
    while let Some(digit) = digits.get(position).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10) {
        mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(digit));
        position += 1;
    }
    let mut num_digits = position;
    let mut scale = 0usize;
    if digits.get(position) == Some(&b'.') {
        position += 1;
        let start = position;
        if let Some(chunk) = digits.get(position..position + 8).and_then(|chunk| chunk.first_chunk::<8>())
            && let Some(value) = eight_digits(*chunk)
        {
            mantissa = mantissa.wrapping_mul(100_000_000).wrapping_add(value);
            position += 8;
        }
        while let Some(digit) = digits.get(position).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10) {
            mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(digit));
            position += 1;
        }
        scale = position - start;
        num_digits += scale;
    }
    if position != digits.len() || num_digits == 0 || num_digits > 19 || mantissa > EXACT_MANTISSA || scale > 22 {
        return slow_real(text);
    }
    let value = mantissa as f64 / EXACT_POWERS[scale];
    Some(if negative { -value } else { value })
}

/// Eight decimal digits at once, or `None` if one of the bytes is not a digit.
#[inline]
fn eight_digits(chunk: [u8; 8]) -> Option<u64> {
    let word = u64::from_le_bytes(chunk);
    let low = word.wrapping_sub(0x3030_3030_3030_3030);
    if (word.wrapping_add(0x4646_4646_4646_4646) | low) & 0x8080_8080_8080_8080 != 0 {
        return None;
    }
    let pairs = low.wrapping_mul(10).wrapping_add(low >> 8);
    let lower = (pairs & 0x0000_00FF_0000_00FF).wrapping_mul(0x000F_4240_0000_0064);
    let upper = ((pairs >> 16) & 0x0000_00FF_0000_00FF).wrapping_mul(0x0000_2710_0000_0001);
    Some(lower.wrapping_add(upper) >> 32)
}

#[cold]
fn slow_real(text: &[u8]) -> Option<f64> {
    // The parser behind this takes `nan` and `inf` too, which no valid DXF holds.
    let begins_like_a_number = text.iter().take(2).any(|byte| byte.is_ascii_digit() || *byte == b'.');
    fast_float2::parse::<f64, _>(text).ok().filter(|value| begins_like_a_number && value.is_finite())
}

/// A real with the damage seen in the field: decimal comma, blanks inside, thousands of digits, a tail that is no
/// number (`12.5mm`). `None` if there is no number to be had (`1.#QNAN`, words).
#[cold]
pub(super) fn lenient_real(text: &[u8]) -> Option<f64> {
    let mut cleaned: Vec<u8> = Vec::with_capacity(text.len().min(64));
    for byte in text.iter().take(512) {
        match byte {
            b' ' | b'\t' | b'\0' => {}
            b',' => cleaned.push(b'.'),
            b'd' | b'D' => cleaned.push(b'e'),
            other => cleaned.push(*other),
        }
    }
    if cleaned.contains(&b'#') {
        return None;
    }
    if let Some(value) = real(&cleaned) {
        return Some(value);
    }
    let end = cleaned.iter().position(|byte| !matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'))?;
    real(cleaned.get(..end)?)
}

/// An integer, blanks around it allowed; a real with nothing behind the point counts too (`1.0`).
#[inline]
pub(super) fn integer(text: &[u8]) -> Option<i64> {
    let text = trim(text);
    let (negative, digits) = match text.first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    if digits.is_empty() || digits.len() > 18 {
        return integer_from_real(text);
    }
    let mut value = 0i64;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return integer_from_real(text);
        }
        value = value * 10 + i64::from(digit);
    }
    Some(if negative { -value } else { value })
}

#[cold]
fn integer_from_real(text: &[u8]) -> Option<i64> {
    real(text).filter(|value| value.fract() == 0.0 && value.abs() < 9.0e15).map(|value| value as i64)
}

/// A hexadecimal handle; 0 if it is none.
#[inline]
pub(super) fn handle(text: &[u8]) -> u64 {
    let mut value = 0u64;
    for byte in trim(text) {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'A'..=b'F' => byte - b'A' + 10,
            b'a'..=b'f' => byte - b'a' + 10,
            _ => return 0,
        };
        if value >> 60 != 0 {
            return 0;
        }
        value = value << 4 | u64::from(digit);
    }
    value
}

/// Without blanks, tabs and carriage returns at both ends.
#[inline]
pub(super) fn trim(mut text: &[u8]) -> &[u8] {
    while let [b' ' | b'\t' | b'\r', rest @ ..] = text {
        text = rest;
    }
    while let [rest @ .., b' ' | b'\t' | b'\r' | b'\0'] = text {
        text = rest;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reals_as_the_standard_library_reads_them() {
        for text in [
            "0",
            "0.0",
            "-0.0",
            "1",
            "-1.5",
            "+2.25",
            "812345.6234567891",
            "0.1",
            "123456789.12345678",
            "1e3",
            "1.5E-7",
            "-3.4e-13",
            "9007199254740993",
            "0.30000000000000004",
            "1e308",
            "4.9e-324",
            ".5",
            "5.",
            "12345678.87654321",
            "179769313486231570000000000000000000000",
            "0.000000000000000000000000012345",
            "63.78136999999999546",
        ] {
            let expected: f64 = text.parse().unwrap();
            assert_eq!(real(text.as_bytes()).map(f64::to_bits), Some(expected.to_bits()), "{text}");
        }
        assert_eq!(real(b"  12.5 \r"), Some(12.5));
    }

    #[test]
    fn what_is_no_real_is_refused() {
        for text in
            ["", " ", "nan", "inf", "-inf", "1.#QNAN", "1,5", "1.0E 20", "abc", "1.2.3", "-", ".", "1e999", "0x10"]
        {
            assert_eq!(real(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn lenient_reals_take_commas_and_blanks_only() {
        assert_eq!(lenient_real(b"1,5"), Some(1.5));
        assert_eq!(lenient_real(b"1.0E 20"), Some(1.0e20));
        assert_eq!(lenient_real(b"12.5mm"), Some(12.5));
        assert_eq!(lenient_real(b"1.#QNAN"), None);
        assert_eq!(lenient_real(b"-1.#IND"), None);
        assert_eq!(lenient_real(b"word"), None);
        assert_eq!(lenient_real(b""), None);
    }

    #[test]
    fn integers_and_handles() {
        assert_eq!(integer(b"    70 "), Some(70));
        assert_eq!(integer(b"-7"), Some(-7));
        assert_eq!(integer(b"1.0"), Some(1));
        assert_eq!(integer(b"1.5"), None);
        assert_eq!(integer(b"99999999999999999999"), None);
        assert_eq!(handle(b"2F"), 0x2f);
        assert_eq!(handle(b"ffffffffffffffff"), u64::MAX);
        assert_eq!(handle(b"1ffffffffffffffff"), 0);
        assert_eq!(handle(b"xyz"), 0);
    }
}
