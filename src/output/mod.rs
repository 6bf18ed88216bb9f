//! Features → bytes. The only place that knows output formats.
//!
//! [`geojson`] writes one FeatureCollection: features first, into a spool, while the topology hash, the counts and the
//! bounding box are taken; then the head with the metadata goes in front. [`shape`] makes valid geometry on
//! the output grid, [`fixed`] writes its numbers, [`metadata`] is what stands in the head, [`schema`] describes
//! all of it to other programs.

pub mod fixed;
pub mod geojson;
pub mod json;
pub mod metadata;
pub mod schema;
pub mod shape;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::drawing::{Point, Units};
use crate::issue::Code;

/// A shape that vanishes on the grid.
pub static TOO_SMALL: Code = Code::note(
    "OUT001",
    "shape is smaller than the output grid and was left out",
    "raise `output.decimals`, or check the unit of length",
);
/// An area whose rings cross.
pub static AREA_REPAIRED: Code = Code::warning(
    "OUT002",
    "area had rings that cross and was noded anew by the even-odd rule",
    "look at the boundary in the drawing",
);
/// An area that encloses nothing.
pub static AREA_FLAT: Code =
    Code::warning("OUT003", "area encloses nothing and was written as a line", "look at the boundary in the drawing");
/// A closed line that is no polygon.
pub static RING_CROSSES: Code = Code::note(
    "OUT004",
    "closed line crosses, touches or retraces itself and was written as a line, not as a polygon",
    "look at the line in the drawing if it was meant as an outline",
);
/// A part of a shape that vanishes on the grid.
pub static PART_TOO_SMALL: Code = Code::note(
    "OUT005",
    "part of a shape is smaller than the output grid and was left out",
    "raise `output.decimals`, or check the unit of length",
);
/// The projection gave no finite coordinates.
pub static NOT_PLACED: Code = Code::error(
    "OUT006",
    "shape could not be placed in the coordinate system of the output and was left out",
    "check the georeference, and look for stray points far from the building",
);

/// An area whose rings cross too often.
pub static AREA_ENTANGLED: Code = Code::error(
    "OUT007",
    "boundary of an area crosses itself too often to be resolved and was written as a line",
    "redraw the area",
);

/// Issue codes of this area.
pub static CODES: &[&Code] =
    &[&TOO_SMALL, &AREA_REPAIRED, &AREA_FLAT, &RING_CROSSES, &PART_TOO_SMALL, &NOT_PLACED, &AREA_ENTANGLED];

/// Which entities of the drawing become features of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Entities {
    /// All that the drawing shows.
    #[default]
    All,
    /// Those that no derived room, door, window or label stands for.
    Unmapped,
    /// None: only what was derived.
    None,
}

/// What goes into the output. Keys of `[output]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OutputOptions {
    /// Decimals of coordinates, at most 9. Absent: 4 in local metres, 8 in degrees.
    pub decimals: Option<u8>,
    /// Which entities become features.
    pub entities: Entities,
    /// Whether derived rooms, walls, openings and labels become features.
    pub derived: bool,
    /// Whether what the drawing hides becomes a feature with `"visible": false`.
    pub include_hidden: bool,
    /// Whether the text of a PDF page is written beside its output, in reading order, as `.txt`.
    pub page_text: bool,
}

impl Default for OutputOptions {
    fn default() -> Self {
        Self { decimals: None, entities: Entities::All, derived: true, include_hidden: false, page_text: false }
    }
}

/// From metres of the drawing's frame to coordinates of the output.
pub type PlaceFn<'a> = dyn Fn(Point) -> Point + 'a;

/// The frame of the output.
pub struct Frame<'a> {
    /// Its name in the metadata: `local-metres`, or the name of a coordinate system.
    pub crs: String,
    /// Decimals unless the options say otherwise.
    pub decimals: u8,
    /// The way there; `None` for local metres.
    pub place: Option<&'a PlaceFn<'a>>,
}

impl Frame<'_> {
    /// Metres as drawn.
    pub fn local_metres() -> Self {
        Self { crs: "local-metres".to_owned(), decimals: 4, place: None }
    }

    /// Metres for a drawing in these units. Where they may be too small, coordinates get more decimals, so that the output
    /// can still be scaled up.
    pub fn for_units(units: &Units) -> Self {
        let decimals = if units.may_be_too_small() { 7 } else { 4 };
        Self { decimals, ..Self::local_metres() }
    }
}
