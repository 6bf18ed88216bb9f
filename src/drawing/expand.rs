//! Walks a drawing in metres: inserts resolved, curves flattened, clips applied, visibility decided.
//!
//! Shapes come in drawing order, each borrowed from buffers that are reused, so a drawing of any size costs the
//! memory of its largest shape. The walk keeps an explicit stack; block cycles and budgets end a branch or the
//! walk with an issue or an error, never the process.
//!
//! Rules of the drawing world that live here: layer-`0` content takes the layer of its insert; an insert on a
//! layer that is *off* hides only what resolves to that layer, one on a *frozen* layer hides all; base points;
//! array grids; XCLIP.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Colour, Identity, LayerId, Point, Properties, Text};

/// How curves become points.
///
/// The distance between a curve and its chord is at most `chord_error_m` and at most `chord_error_ratio` of the
/// local radius, whichever is smaller.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Flattening {
    /// Greatest distance in metres.
    pub chord_error_m: f64,
    /// Greatest distance as a part of the local radius of curvature.
    pub chord_error_ratio: f64,
}

impl Default for Flattening {
    fn default() -> Self {
        Self { chord_error_m: 0.01, chord_error_ratio: 0.002 }
    }
}

/// One circular arc that a shape consists of, in metres: what door detection looks for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CircularArc {
    /// Centre.
    pub centre: Point,
    /// Radius.
    pub radius: f64,
    /// Angle of the first point, radians.
    pub start: f64,
    /// Signed included angle, radians, positive counter-clockwise.
    pub sweep: f64,
}

/// Flattened subpaths: points of all of them, one after the other.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Polylines {
    /// All points, metres.
    pub points: Vec<Point>,
    /// For every subpath: one past its last point in `points`, and whether it is closed (the first point is
    /// **not** repeated at the end).
    pub ends: Vec<(u32, bool)>,
}

impl Polylines {
    /// The subpaths: their points and whether they are closed.
    pub fn iter(&self) -> impl Iterator<Item = (&[Point], bool)> {
        let mut start = 0usize;
        self.ends.iter().map(move |(end, closed)| {
            let run = self.points.get(start..*end as usize).unwrap_or(&[]);
            start = *end as usize;
            (run, *closed)
        })
    }

    /// Empties it and keeps the memory.
    pub fn clear(&mut self) {
        self.points.clear();
        self.ends.clear();
    }
}

/// A block reference as a feature of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct PlacedSymbol<'a> {
    /// Insertion point, metres.
    pub at: Point,
    /// Rotation of the block's x axis, degrees counter-clockwise.
    pub rotation_deg: f64,
    /// Scales along the block's axes as drawn; y is negative if mirrored. Free of the unit of length.
    pub scale: (f64, f64),
    /// Name of the block.
    pub block: &'a str,
    /// Attribute values by tag, in drawing order.
    pub attributes: Vec<(&'a str, &'a str)>,
}

/// A text in its place.
#[derive(Debug, Clone, PartialEq)]
pub struct PlacedText<'a> {
    /// The text.
    pub text: &'a Text,
    /// Attribute tag, if it is an attribute value.
    pub tag: Option<&'a str>,
    /// Insertion point, metres.
    pub at: Point,
    /// Degrees counter-clockwise, 0 ≤ r < 360.
    pub rotation_deg: f64,
    /// Height in metres; 0 if unknown.
    pub height_m: f64,
}

/// What a shape is.
#[derive(Debug, Clone, PartialEq)]
pub enum Form<'a> {
    /// A point, metres.
    Point(Point),
    /// Stroked subpaths; closed ones are rings.
    Lines {
        /// The points.
        lines: &'a Polylines,
        /// Set if the shape is exactly one circular arc or circle.
        arc: Option<CircularArc>,
    },
    /// Rings of a fill, to be nested by even-odd (non-zero fills are resolved before).
    Area {
        /// The rings, all closed.
        rings: &'a Polylines,
    },
    /// A text.
    Text(PlacedText<'a>),
    /// A block reference; its content follows as shapes of their own.
    Symbol(PlacedSymbol<'a>),
}

/// One shape of the expanded drawing.
#[derive(Debug, Clone, PartialEq)]
pub struct Shape<'a> {
    /// What it is.
    pub form: Form<'a>,
    /// Running number in drawing order; the same for the same drawing.
    pub ordinal: u64,
    /// Kind of entity.
    pub entity: &'a str,
    /// Effective layer.
    pub layer: LayerId,
    /// Its name.
    pub layer_name: &'a str,
    /// Name of the innermost block it came through.
    pub block: Option<&'a str>,
    /// Insert depth; 0 in the model.
    pub depth: u32,
    /// Ordinal of the symbol shape of the outermost insert it came through.
    pub insert_ordinal: Option<u64>,
    /// Handle or id of the entity itself.
    pub identity: Identity,
    /// Colour, layer and block already resolved: 0xRRGGBB.
    pub colour: Option<u32>,
    /// As drawn, before resolution.
    pub drawn_colour: Colour,
    /// Stroke or polyline width, metres; 0 for hairlines.
    pub width_m: f64,
    /// Whether the drawing shows it.
    pub visible: bool,
    /// Facts of the source.
    pub properties: Properties,
}
