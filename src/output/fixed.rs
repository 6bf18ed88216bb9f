//! Grid integers → decimal text, the inner loop of the output.
//!
//! A coordinate is a whole number of grid steps, so its text is digits with a point between them: no float
//! formatting, no rounding, and the reader gets back exactly what was decided on the grid. Trailing zeros are
//! dropped (`12.5`, not `12.5000`), `-0` cannot occur.

/// The most decimals that can be written.
pub const MAX_DECIMALS: u8 = 9;

const PAIRS: &[u8; 200] = b"00010203040506070809101112131415161718192021222324252627282930313233343536373839\
40414243444546474849505152535455565758596061626364656667686970717273747576777879\
8081828384858687888990919293949596979899";

const POWERS: [u64; 10] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];

/// Grid steps in one unit: 10 to the power of `decimals`, which is at most [`MAX_DECIMALS`].
pub fn steps(decimals: u8) -> f64 {
    POWERS[usize::from(decimals.min(MAX_DECIMALS))] as f64
}

/// Appends `value` ÷ 10^`decimals` in decimal digits. More than [`MAX_DECIMALS`] decimals are taken as that many.
pub fn write(out: &mut Vec<u8>, value: i64, decimals: u8) {
    let mut text = [0; ROOM];
    let start = write_before(&mut text, ROOM, value, decimals);
    out.extend_from_slice(&text[start..]);
}

/// Appends `[x,y]`.
pub fn write_position(out: &mut Vec<u8>, x: i64, y: i64, decimals: u8) {
    if decimals == 4 && x.unsigned_abs() < SHORT && y.unsigned_abs() < SHORT {
        return write_short_position(out, x, y);
    }
    // Written backward into room for both, then copied with a fixed length, which needs no call, and cut.
    let mut text = [b']'; 2 * BOTH];
    let mut start = write_before(&mut text, BOTH - 1, y, decimals);
    start -= 1;
    text[start] = b',';
    start = write_before(&mut text, start, x, decimals);
    start -= 1;
    text[start] = b'[';
    let end = out.len() + BOTH - start;
    if let Some(whole) = text[start..].first_chunk::<BOTH>() {
        out.extend_from_slice(whole);
        out.truncate(end);
    }
}

/// Room for two numbers, brackets and a comma.
const BOTH: usize = 64;

/// Below it a number of four decimals has at most four digits before the point.
const SHORT: u64 = 100_000_000;

/// Bytes of room for a short position: more than it can take.
const SHORT_ROOM: usize = 40;

/// Metres on the grid of 0.1 mm within ten kilometres: nearly every position there is. Four digits at a time, without a branch
/// that depends on how many of them count, and to their place at once.
fn write_short_position(out: &mut Vec<u8>, x: i64, y: i64) {
    let start = out.len();
    out.resize(start + SHORT_ROOM, b']');
    if let Some(text) = out.last_chunk_mut() {
        text[0] = b'[';
        let middle = put_short(text, 1, x);
        text[middle] = b',';
        let end = put_short(text, middle + 1, y);
        text[end] = b']';
        out.truncate(start + end + 1);
    }
}

/// Writes `value` ÷ 10⁴ from `at` on, and gives where it ends: at most ten bytes on, of up to 14 written.
#[inline]
fn put_short(text: &mut [u8; SHORT_ROOM], mut at: usize, value: i64) -> usize {
    let magnitude = value.unsigned_abs() as u32;
    let (whole, part) = (four_digits(magnitude / 10_000), four_digits(magnitude % 10_000));
    text[at] = b'-';
    at += usize::from(value < 0);
    // Zeros in front, but the last digit stays: the lowest byte is the first digit.
    let leading = (whole.trailing_zeros() / 8).min(3);
    put(text, at, (whole | ZEROS) >> (8 * leading));
    at += 4 - leading as usize;
    text[at] = b'.';
    put(text, at + 1, part | ZEROS);
    let significant = 4 - (part.leading_zeros() / 8) as usize;
    at + significant + usize::from(significant > 0)
}

/// Four `0`.
const ZEROS: u32 = 0x3030_3030;

fn put(text: &mut [u8; SHORT_ROOM], at: usize, digits: u32) {
    if let Some(place) = text.get_mut(at..at + 4) {
        place.copy_from_slice(&digits.to_le_bytes());
    }
}

/// The decimal digits of a number below 10⁴, a byte each, the first one lowest.
#[inline]
fn four_digits(number: u32) -> u32 {
    // Halves by 100, then both by 10 at once; the products are exact for numbers so small.
    let hundreds = (number * 5_243) >> 19;
    let pairs = hundreds | (number - hundreds * 100) << 16;
    let tens = ((pairs * 103) >> 10) & 0x000f_000f;
    tens | (pairs - tens * 10) << 8
}

/// Writes a number so that it ends before `end`, and gives where it begins.
#[inline]
fn write_before(text: &mut [u8], end: usize, value: i64, decimals: u8) -> usize {
    // Division by a constant is several times cheaper than by a variable, so the usual scales are spelt out.
    match decimals {
        4 => write_scaled::<4>(text, end, value),
        8 => write_scaled::<8>(text, end, value),
        3 => write_scaled::<3>(text, end, value),
        0 => write_scaled::<0>(text, end, value),
        1 => write_scaled::<1>(text, end, value),
        2 => write_scaled::<2>(text, end, value),
        5 => write_scaled::<5>(text, end, value),
        6 => write_scaled::<6>(text, end, value),
        7 => write_scaled::<7>(text, end, value),
        _ => write_scaled::<9>(text, end, value),
    }
}

/// Appends `value` rounded to `decimals`; for lengths, areas and angles. Not finite values become `null`.
pub fn write_float(out: &mut Vec<u8>, value: f64, decimals: u8) {
    if !value.is_finite() {
        out.extend_from_slice(b"null");
        return;
    }
    write(out, crate::drawing::nest::nearest(value * steps(decimals)), decimals.min(MAX_DECIMALS));
}

/// Room for a sign, 19 digits, a point and a zero before it.
const ROOM: usize = 24;

#[inline]
fn write_scaled<const DECIMALS: usize>(text: &mut [u8], end: usize, value: i64) -> usize {
    let magnitude = value.unsigned_abs();
    // At most nine decimals: the part behind the point fits into 32 bits, where division costs less.
    let (mut whole, mut part) = (magnitude / POWERS[DECIMALS], (magnitude % POWERS[DECIMALS]) as u32);
    let mut start = end;
    if DECIMALS > 0 && part != 0 {
        let mut left = DECIMALS;
        while part % 10 == 0 {
            part /= 10;
            left -= 1;
        }
        while left >= 2 {
            let pair = (part % 100) as usize * 2;
            part /= 100;
            start -= 2;
            left -= 2;
            text[start] = PAIRS[pair];
            text[start + 1] = PAIRS[pair + 1];
        }
        if left == 1 {
            start -= 1;
            text[start] = b'0' + part as u8;
        }
        start -= 1;
        text[start] = b'.';
    }
    while whole >= 100 {
        let pair = (whole % 100) as usize * 2;
        whole /= 100;
        start -= 2;
        text[start] = PAIRS[pair];
        text[start + 1] = PAIRS[pair + 1];
    }
    if whole >= 10 {
        let pair = whole as usize * 2;
        start -= 2;
        text[start] = PAIRS[pair];
        text[start + 1] = PAIRS[pair + 1];
    } else {
        start -= 1;
        text[start] = b'0' + whole as u8;
    }
    if value < 0 {
        start -= 1;
        text[start] = b'-';
    }
    start
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(value: i64, decimals: u8) -> String {
        let mut out = Vec::new();
        write(&mut out, value, decimals);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn digits_points_and_signs() {
        let cases = [
            (0, 4, "0"),
            (1, 4, "0.0001"),
            (-1, 4, "-0.0001"),
            (125_000, 4, "12.5"),
            (-120_000, 4, "-12"),
            (1_000_000, 4, "100"),
            (9_999, 4, "0.9999"),
            (123_456_789, 8, "1.23456789"),
            (-17_999_999_999, 8, "-179.99999999"),
            (7, 0, "7"),
            (i64::MAX, 4, "922337203685477.5807"),
            (i64::MIN, 4, "-922337203685477.5808"),
            (i64::MIN, 9, "-9223372036.854775808"),
            (i64::MIN, 0, "-9223372036854775808"),
        ];
        for (value, decimals, expected) in cases {
            assert_eq!(text(value, decimals), expected);
        }
        let mut out = Vec::new();
        write_float(&mut out, f64::NAN, 4);
        write_float(&mut out, -0.00001, 4);
        assert_eq!(out, b"null0");
    }

    #[test]
    fn positions_are_two_numbers_in_brackets() {
        for (x, y, decimals, expected) in [
            (125_000, -1, 4, "[12.5,-0.0001]"),
            (i64::MIN, i64::MIN, 9, "[-9223372036.854775808,-9223372036.854775808]"),
            (0, 7, 0, "[0,7]"),
        ] {
            let mut out = b"before".to_vec();
            write_position(&mut out, x, y, decimals);
            assert_eq!(out, [b"before", expected.as_bytes()].concat());
        }
    }

    #[test]
    fn short_positions_read_like_long_ones() {
        let numbers =
            (0..=10_000).chain([99_999, 100_000, 123_456, 9_990_000, 10_000_000, 12_345_678, 99_999_999, 100_000_000]);
        for number in numbers {
            let mut out = Vec::new();
            write_position(&mut out, number, -number, 4);
            assert_eq!(String::from_utf8(out).unwrap(), format!("[{},{}]", text(number, 4), text(-number, 4)));
        }
    }

    proptest! {
        #[test]
        fn reads_back_as_the_float_nearest_to_the_grid_value(value in -(1i64 << 50)..(1i64 << 50), decimals in 0u8..=9) {
            let parsed: f64 = text(value, decimals).parse().unwrap();
            prop_assert_eq!(parsed, value as f64 / steps(decimals));
            prop_assert!(!text(value, decimals).ends_with('.'));
        }
    }
}
