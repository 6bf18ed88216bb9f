//! What is worked on: a [`Unit`] is one page or sheet of one document.
//!
//! A unit is small and immutable and holds coordinates only, never bytes of the document: a queue of units costs
//! a few kilobytes whatever the batch size. The engine does not interpret `format`, `floor_level` or `level_name`; they are
//! labels carried from the source to the kernel, the ledger and the output.

use std::fmt;
use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::source::Found;

/// The most bytes one unit may occupy: the strings and the struct itself.
///
/// A longer one is dead-lettered as `limit`, because the bound on memory rests on it.
pub const MAX_UNIT_BYTES: usize = 1024;

/// The name of one run. Its textual form is used for directories and in every ledger line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(pub Uuid);

impl RunId {
    /// A fresh random name.
    #[must_use]
    pub fn random() -> Self {
        Self(Uuid::new_v4())
    }
}

impl From<RunId> for Uuid {
    fn from(run: RunId) -> Self {
        run.0
    }
}

/// The trace id of a unit: `UUIDv5(namespace, doc_id NUL page)`, so the same in every run over that namespace.
#[must_use]
pub fn trace_id(namespace: Uuid, doc_id: &str, page: NonZeroU32) -> Uuid {
    let mut name = Vec::with_capacity(doc_id.len() + 11);
    name.extend_from_slice(doc_id.as_bytes());
    name.push(0);
    name.extend_from_slice(page.to_string().as_bytes());
    Uuid::new_v5(&namespace, &name)
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::str::FromStr for RunId {
    type Err = uuid::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Uuid::parse_str(text).map(Self)
    }
}

/// What names a unit within a run.
///
/// The order is that of the `doc_id` bytes, then the page: the order in which a [`Source`](crate::Source) yields.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct UnitId {
    /// The document, as the source names it.
    pub doc_id: String,
    /// The page or sheet, counted from 1.
    pub page: NonZeroU32,
}

impl fmt::Display for UnitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.page.get() == 1 { f.write_str(&self.doc_id) } else { write!(f, "{} page {}", self.doc_id, self.page) }
    }
}

/// One page or sheet of one document: coordinates, never bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unit {
    /// The document, as the source names it: for files the path below the source's root, without its suffix or with it, as
    /// the source decides, but the same in every run.
    pub doc_id: String,
    /// The page or sheet, counted from 1.
    pub page: NonZeroU32,
    /// Where the bytes are: canonical, without credentials, signature or query.
    pub location: String,
    /// A label for the kind of bytes; the engine knows no formats.
    pub format: String,
    /// The ordinal of the floor: 0 is the ground floor. Unknown is `None`, never 0.
    #[serde(default)]
    pub floor_level: Option<i32>,
    /// The name of the floor as written in the source, such as `L02` or `1.OG`.
    #[serde(default)]
    pub level_name: Option<String>,
    /// The request this unit is part of, for accounting against a clock.
    #[serde(default)]
    pub request_id: Option<String>,
    /// The size of the document in bytes, as listed. Admission by bytes in flight uses it.
    pub size: u64,
    /// Identity of the content as listed: an etag, or `mtime-nanoseconds`.
    #[serde(default)]
    pub version: Option<String>,
    /// Travels with the unit into the output, the ledger and the logs; see [`trace_id`].
    pub trace_id: Uuid,
}

impl Unit {
    /// The unit that a finding of the source becomes. The namespace decides the trace id: that of the batch, or the run.
    #[must_use]
    pub fn from_found(found: Found, namespace: impl Into<Uuid>, request_id: Option<&str>) -> Self {
        let trace_id = trace_id(namespace.into(), &found.doc_id, found.page);
        Self {
            doc_id: found.doc_id,
            page: found.page,
            location: found.location,
            format: found.format,
            floor_level: found.floor_level,
            level_name: found.level_name,
            request_id: found.request_id.or_else(|| request_id.map(str::to_owned)),
            size: found.size,
            version: found.version,
            trace_id,
        }
    }

    /// What names this unit within its run.
    #[must_use]
    pub fn id(&self) -> UnitId {
        UnitId { doc_id: self.doc_id.clone(), page: self.page }
    }

    /// Bytes this unit occupies: the struct and its strings.
    #[must_use]
    pub fn footprint(&self) -> usize {
        let optional = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        size_of::<Self>()
            + self.doc_id.len()
            + self.location.len()
            + self.format.len()
            + optional(&self.level_name)
            + optional(&self.request_id)
            + optional(&self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit() -> Unit {
        Unit::from_found(
            Found::new("A/L02", 1, "plans/A/L02.dxf", "dxf").with_size(48_211),
            RunId(Uuid::nil()),
            Some("REQ-77"),
        )
    }

    /// R20, R122: a unit holds coordinates only and stays under 1 KiB.
    #[test]
    fn a_unit_is_small() {
        assert!(unit().footprint() < MAX_UNIT_BYTES, "{}", unit().footprint());
        assert!(size_of::<Unit>() <= 256, "{}", size_of::<Unit>());
    }

    /// R21: round trip, and a page 0 is refused.
    #[test]
    fn a_unit_survives_json_and_page_zero_does_not() {
        let text = serde_json::to_string(&unit()).unwrap();
        assert_eq!(serde_json::from_str::<Unit>(&text).unwrap(), unit());
        let zero = text.replace("\"page\":1", "\"page\":0");
        assert!(serde_json::from_str::<Unit>(&zero).is_err());
    }

    /// R29: the trace id belongs to batch and unit, so a resume and another run find the same.
    #[test]
    fn the_trace_id_is_the_same_in_every_run_and_differs_between_units() {
        let batch = Uuid::from_u128(7);
        let one = NonZeroU32::MIN;
        let two = NonZeroU32::new(2).unwrap();
        assert_eq!(trace_id(batch, "a", one), trace_id(batch, "a", one));
        assert_ne!(trace_id(batch, "a", one), trace_id(batch, "a", two));
        assert_ne!(trace_id(batch, "a", one), trace_id(Uuid::from_u128(8), "a", one));
        assert_ne!(trace_id(batch, "a1", one), trace_id(batch, "a", NonZeroU32::new(11).unwrap()));
    }
}
