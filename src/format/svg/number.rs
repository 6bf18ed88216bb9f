//! Numbers and lengths as SVG and CSS write them.
//!
//! [`Scanner`] reads the compact number lists of path data and points (`1-.5.5e2`). A number of up to 19 digits
//! whose power of ten is exact in binary64 is converted directly, which is exact (Clinger 1990, "How to read
//! floating point numbers accurately"); all others go to a correctly rounding parser. [`Length`] is a number
//! with its unit, resolved against a viewport and a font size.

/// Reads numbers from a list.
#[derive(Debug, Clone)]
pub(super) struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { bytes: text.as_bytes(), at: 0 }
    }

    /// Bytes read so far.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Takes one byte.
    pub(super) fn skip_byte(&mut self) {
        self.at += 1;
    }

    pub(super) fn skip_white_space(&mut self) {
        while self.peek().is_some_and(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0c)) {
            self.at += 1;
        }
    }

    /// White space with at most one comma in it.
    pub(super) fn skip_separator(&mut self) {
        self.skip_white_space();
        if self.peek() == Some(b',') {
            self.at += 1;
            self.skip_white_space();
        }
    }

    /// Whether nothing but separators is left.
    pub(super) fn at_end(&mut self) -> bool {
        self.skip_separator();
        self.at >= self.bytes.len()
    }

    /// Whether a number may start here.
    pub(super) fn at_number(&self) -> bool {
        self.peek().is_some_and(|byte| byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'.'))
    }

    /// A number after an optional separator. On `None` nothing but the separator is taken.
    pub(super) fn number(&mut self) -> Option<f64> {
        self.skip_separator();
        let (value, len) = leading_number(self.bytes.get(self.at..)?)?;
        self.at += len;
        Some(value)
    }

    /// An arc flag: one digit, which may stand directly before the next number.
    pub(super) fn flag(&mut self) -> Option<bool> {
        self.skip_separator();
        let flag = match self.peek()? {
            b'0' => false,
            b'1' => true,
            _ => return None,
        };
        self.at += 1;
        Some(flag)
    }
}

/// The number at the start of `bytes` and its length in bytes.
#[inline]
pub(super) fn leading_number(bytes: &[u8]) -> Option<(f64, usize)> {
    let negative = bytes.first() == Some(&b'-');
    let mut at = usize::from(negative || bytes.first() == Some(&b'+'));
    let mut mantissa = 0u64;
    let mut num_digits = 0u32;
    let mut scale = 0i32;
    let mut digits = |at: &mut usize, after_point: bool| {
        let start = *at;
        while let Some(digit) = bytes.get(*at).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10) {
            if num_digits > 0 || digit > 0 {
                num_digits += 1;
            }
            mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(digit));
            scale -= i32::from(after_point);
            *at += 1;
        }
        *at > start
    };
    let whole = digits(&mut at, false);
    let mut fraction = false;
    if bytes.get(at) == Some(&b'.') {
        let mut after = at + 1;
        fraction = digits(&mut after, true);
        // "1." is a number, "." is none.
        if fraction || whole {
            at = after;
        }
    }
    if !whole && !fraction {
        return None;
    }
    let mut exponent = 0i32;
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let sign = bytes.get(at + 1).copied();
        let mut after = at + 1 + usize::from(matches!(sign, Some(b'+' | b'-')));
        let start = after;
        while let Some(digit) = bytes.get(after).filter(|byte| byte.is_ascii_digit()) {
            exponent = (exponent * 10 + i32::from(digit - b'0')).min(10_000);
            after += 1;
        }
        // "1em" and "1ex" are lengths, not exponents.
        if after > start {
            at = after;
            if sign == Some(b'-') {
                exponent = -exponent;
            }
        } else {
            exponent = 0;
        }
    }
    let power = scale + exponent;
    let value = if num_digits <= 19 && mantissa <= 1 << 53 && (-22..=22).contains(&power) {
        let exact = mantissa as f64;
        let factor = POWERS.get(power.unsigned_abs() as usize).copied().unwrap_or(1.0);
        let size = if power < 0 { exact / factor } else { exact * factor };
        if negative { -size } else { size }
    } else {
        let number = bytes.get(usize::from(bytes.first() == Some(&b'+'))..at)?;
        fast_float2::parse(number).ok()?
    };
    Some((value, at))
}

const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

/// CSS pixels (the user unit of SVG) in an inch.
pub(super) const PIXELS_PER_INCH: f64 = 96.0;

/// Units of lengths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// User units, also written `px`.
    User,
    Millimetre,
    Centimetre,
    Inch,
    Point,
    Pica,
    Quarter,
    Percent,
    FontSize,
    XHeight,
}

/// A number with its unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Length {
    pub(super) value: f64,
    pub(super) unit: Unit,
}

/// Which side of the viewport a percentage refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Axis {
    X,
    Y,
    /// The diagonal divided by √2 (SVG 2, section 8.9).
    Both,
}

impl Length {
    /// Reads a length; `None` if it is none.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (value, len) = leading_number(text.as_bytes())?;
        let suffix = text.get(len..)?.trim();
        Some(Self { value, unit: Unit::parse(suffix)? })
    }

    /// Metres, if it has a physical unit; `px` and numbers without unit are not physical.
    pub(super) fn metres(self) -> Option<f64> {
        // Divisions, so that round sizes stay round.
        Some(match self.unit {
            Unit::Millimetre => self.value / 1000.0,
            Unit::Centimetre => self.value / 100.0,
            Unit::Quarter => self.value / 4000.0,
            Unit::Inch => self.value * 25.4 / 1000.0,
            Unit::Point => self.value * 25.4 / 72_000.0,
            Unit::Pica => self.value * 25.4 / 6000.0,
            _ => return None,
        })
    }

    /// User units. Percentages refer to `viewport` (width, height), `em` and `ex` to `font_size`.
    pub(super) fn resolve(self, axis: Axis, viewport: (f64, f64), font_size: f64) -> f64 {
        match self.unit {
            Unit::Percent => {
                let side = match axis {
                    Axis::X => viewport.0,
                    Axis::Y => viewport.1,
                    Axis::Both => viewport.0.hypot(viewport.1) / std::f64::consts::SQRT_2,
                };
                self.value / 100.0 * side
            }
            Unit::FontSize => self.value * font_size,
            Unit::XHeight => self.value * font_size / 2.0,
            unit => self.value * unit.pixels().unwrap_or(1.0),
        }
    }
}

impl Unit {
    fn parse(suffix: &str) -> Option<Self> {
        Some(match suffix {
            "" => Self::User,
            "%" => Self::Percent,
            _ => match suffix.to_ascii_lowercase().as_str() {
                "px" => Self::User,
                "mm" => Self::Millimetre,
                "cm" => Self::Centimetre,
                "in" => Self::Inch,
                "pt" => Self::Point,
                "pc" => Self::Pica,
                "q" => Self::Quarter,
                "em" | "rem" => Self::FontSize,
                "ex" => Self::XHeight,
                _ => return None,
            },
        })
    }

    /// Pixels in one, for absolute units.
    fn pixels(self) -> Option<f64> {
        Some(match self {
            Self::User => 1.0,
            Self::Millimetre => PIXELS_PER_INCH / 25.4,
            Self::Centimetre => PIXELS_PER_INCH / 2.54,
            Self::Inch => PIXELS_PER_INCH,
            Self::Point => PIXELS_PER_INCH / 72.0,
            Self::Pica => PIXELS_PER_INCH / 6.0,
            Self::Quarter => PIXELS_PER_INCH / 101.6,
            Self::Percent | Self::FontSize | Self::XHeight => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn compact_lists_are_cut_where_numbers_end() {
        let mut scanner = Scanner::new("1-.5.5e2,+3  .25-1e-3,1.,x");
        let mut numbers = Vec::new();
        while let Some(number) = scanner.number() {
            numbers.push(number);
        }
        assert_eq!(numbers, [1.0, -0.5, 50.0, 3.0, 0.25, -0.001, 1.0]);
        assert_eq!(scanner.peek(), Some(b'x'));
    }

    #[test]
    fn flags_may_touch_the_next_number() {
        let mut scanner = Scanner::new("0110-5");
        assert_eq!((scanner.flag(), scanner.flag(), scanner.number()), (Some(false), Some(true), Some(10.0)));
        assert_eq!(Scanner::new("2").flag(), None);
    }

    #[test]
    fn what_is_no_number() {
        for text in ["", ".", "-", "+", "e5", "inf", "NaN", "-.e1", "#"] {
            assert_eq!(leading_number(text.as_bytes()), None, "{text}");
        }
        assert_eq!(leading_number(b"1e"), Some((1.0, 1)));
        assert_eq!(leading_number(b"1em"), Some((1.0, 1)));
        assert_eq!(leading_number(b"-0"), Some((-0.0, 2)));
        assert_eq!(leading_number(b"1e999").map(|(value, _)| value), Some(f64::INFINITY));
    }

    #[test]
    fn lengths_resolve() {
        let at = |text: &str| Length::parse(text).map(|l| l.resolve(Axis::X, (200.0, 100.0), 10.0));
        assert_eq!(at("10"), Some(10.0));
        assert_eq!(at("10px"), Some(10.0));
        assert_eq!(at("50%"), Some(100.0));
        assert_eq!(at("1in"), Some(96.0));
        assert_eq!(at("25.4mm"), Some(96.0));
        assert_eq!(at("2em"), Some(20.0));
        assert_eq!(at("3furlong"), None);
        assert!((Length::parse("72pt").unwrap().metres().unwrap() - 0.0254).abs() < 1e-12);
        assert_eq!(Length::parse("72px").unwrap().metres(), None);
    }

    proptest! {
        #[test]
        fn numbers_agree_with_the_standard_library(text in "[-+]?[0-9]{1,25}(\\.[0-9]{0,25})?([eE][-+]?[0-9]{1,3})?") {
            let expected: f64 = text.parse().unwrap();
            prop_assert_eq!(leading_number(text.as_bytes()), Some((expected, text.len())));
        }
    }
}
