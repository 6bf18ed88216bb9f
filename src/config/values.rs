//! Values people write with a unit: sizes (`"512MiB"`) and spans of time (`"90s"`).
//!
//! Both are also accepted as bare numbers (bytes, seconds), and are written back in the shortest form that keeps
//! them exact, so that a shown configuration reads as a person would write it.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Key of the JSON Schema under which a value with a unit names its kind (`size` or `time`).
pub(crate) const KIND: &str = "x-plan2geo-kind";

/// A number of bytes, at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub u64);

/// A span of time, longer than zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(pub Duration);

/// Metres in one drawing unit: a positive number, or the name of a unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MetresPerUnit(pub f64);

/// Units of length that drawings are made in, in metres.
const LENGTH_UNITS: [(&str, f64); 8] = [
    ("mm", 0.001),
    ("cm", 0.01),
    ("dm", 0.1),
    ("m", 1.0),
    ("km", 1000.0),
    ("in", 0.0254),
    ("ft", 0.3048),
    ("yd", 0.9144),
];

/// Binary units first, so that writing prefers them.
const SIZE_UNITS: [(&str, u64); 10] = [
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("KB", 1_000),
    ("kB", 1_000),
    ("B", 1),
];

/// Milliseconds in each unit.
const TIME_UNITS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

impl Size {
    /// What a size looks like, for error messages.
    pub const EXPECTED: &str = "a size such as \"512MiB\" or \"2GB\", or a positive number of bytes";

    /// Reads `512MiB`, `2 GB`, `1.5GiB` or a plain number of bytes. `None` for anything else, zero included.
    pub fn parse(text: &str) -> Option<Self> {
        scaled(text, &SIZE_UNITS, 1).map(Self)
    }
}

impl Time {
    /// What a span of time looks like, for error messages.
    pub const EXPECTED: &str = "a time such as \"30s\", \"5m\" or \"2h\", or a positive number of seconds";

    /// Reads `250ms`, `30s`, `1.5h` or a plain number of seconds. `None` for anything else, zero included.
    pub fn parse(text: &str) -> Option<Self> {
        scaled(text, &TIME_UNITS, 1_000).map(|ms| Self(Duration::from_millis(ms)))
    }
}

/// `text` as a number times its unit, rounded; a bare number counts in `bare`.
fn scaled(text: &str, units: &[(&str, u64)], bare: u64) -> Option<u64> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit = unit.trim();
    let factor = if unit.is_empty() { bare } else { units.iter().find(|(name, _)| *name == unit)?.1 };
    let number = number.replace('_', "");
    let value = match number.parse::<u64>() {
        Ok(whole) => whole.checked_mul(factor)?,
        Err(_) => {
            let value = number.parse::<f64>().ok()? * factor as f64;
            if !value.is_finite() || value >= u64::MAX as f64 {
                return None;
            }
            value.round() as u64
        }
    };
    (value > 0).then_some(value)
}

fn shortest_exact(value: u64, units: &[(&str, u64)]) -> String {
    units
        .iter()
        .filter(|(_, factor)| value.is_multiple_of(*factor))
        .map(|(name, factor)| format!("{}{name}", value / factor))
        .min_by_key(String::len)
        .unwrap_or_else(|| value.to_string())
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shortest_exact(self.0, &SIZE_UNITS))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shortest_exact(u64::try_from(self.0.as_millis()).unwrap_or(u64::MAX), &TIME_UNITS))
    }
}

macro_rules! value_with_unit {
    ($type:ident, $kind:literal) => {
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Read;
                impl Visitor<'_> for Read {
                    type Value = $type;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($type::EXPECTED)
                    }

                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$type, E> {
                        $type::parse(text).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
                    }

                    fn visit_u64<E: de::Error>(self, number: u64) -> Result<$type, E> {
                        $type::parse(&number.to_string())
                            .ok_or_else(|| E::invalid_value(de::Unexpected::Unsigned(number), &self))
                    }

                    fn visit_i64<E: de::Error>(self, number: i64) -> Result<$type, E> {
                        $type::parse(&number.to_string())
                            .ok_or_else(|| E::invalid_value(de::Unexpected::Signed(number), &self))
                    }

                    fn visit_f64<E: de::Error>(self, number: f64) -> Result<$type, E> {
                        $type::parse(&number.to_string())
                            .ok_or_else(|| E::invalid_value(de::Unexpected::Float(number), &self))
                    }
                }
                deserializer.deserialize_any(Read)
            }
        }

        impl JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({
                    "anyOf": [{ "type": "number", "exclusiveMinimum": 0 }, { "type": "string" }],
                    "x-plan2geo-kind": $kind,
                })
            }
        }
    };
}

value_with_unit!(Size, "size");
value_with_unit!(Time, "time");

impl Serialize for MetresPerUnit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0)
    }
}

impl<'de> Deserialize<'de> for MetresPerUnit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(f64),
            Name(String),
        }
        let metres = match Written::deserialize(deserializer)? {
            Written::Number(metres) => Some(metres),
            Written::Name(name) => LENGTH_UNITS.iter().find(|(unit, _)| *unit == name).map(|(_, metres)| *metres),
        };
        metres
            .filter(|metres| *metres > 0.0 && metres.is_finite())
            .map(Self)
            .ok_or_else(|| de::Error::custom("must be a unit of length such as \"mm\", or a positive number of metres"))
    }
}

impl JsonSchema for MetresPerUnit {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "MetresPerUnit".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<&str> = LENGTH_UNITS.iter().map(|(name, _)| *name).collect();
        json_schema!({ "anyOf": [{ "type": "number", "exclusiveMinimum": 0 }, { "type": "string", "enum": names }] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_are_read_and_written_back() {
        for (text, bytes, shown) in [
            ("512MiB", 512 << 20, "512MiB"),
            ("1.5GiB", 1536 << 20, "1536MiB"),
            ("4GiB", 4 << 30, "4GiB"),
            ("2 GB", 2_000_000_000, "2GB"),
            ("1000", 1000, "1KB"),
            ("1_001", 1001, "1001B"),
        ] {
            let size = Size::parse(text).unwrap();
            assert_eq!((size.0, size.to_string().as_str()), (bytes, shown), "{text}");
        }
        for (text, millis, shown) in
            [("90s", 90_000, "90s"), ("120s", 120_000, "2m"), ("250ms", 250, "250ms"), ("30", 30_000, "30s")]
        {
            let time = Time::parse(text).unwrap();
            assert_eq!((time.0.as_millis(), time.to_string().as_str()), (millis, shown), "{text}");
        }
    }

    #[test]
    fn nonsense_is_no_size_and_no_time() {
        for text in ["", "0", "-1", "12 apples", "1.2.3MiB", "99999999999999999999", "MiB", "NaN", "1e400"] {
            assert_eq!(Size::parse(text), None, "{text}");
            assert_eq!(Time::parse(text), None, "{text}");
        }
    }
}
