//! What stands in the head of an output: where it is from, what it is, what was counted, what was wrong.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::drawing::expand::Hidden;
use crate::drawing::{GeoReference, Units};
use crate::issue::Issues;
use crate::plan::{Adjacency, Counts as PlanCounts, LayerClass, View};

/// Version of the output's form. It changes when a reader of the old form would misread the new one.
pub const SCHEMA: &str = "plan2geo/1";

/// Program and version, as `metadata.generator` names them.
pub const GENERATOR: &str = concat!("plan2geo ", env!("CARGO_PKG_VERSION"));

/// Members of `metadata`, in the order they are written.
#[derive(Debug, Clone, Serialize)]
pub struct Metadata<'a> {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Name of the document, as its source names it.
    pub source: &'a str,
    /// Page or sheet, from 1; absent for documents of one page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page: Option<u32>,
    /// `dxf`, `dwg`, `svg` or `pdf`.
    pub source_format: &'static str,
    /// Version of the format as it names itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_version: Option<&'a str>,
    /// Program that wrote the document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub application: Option<&'a str>,
    /// SHA-256 of the document, lower-case hexadecimal.
    pub source_sha256: String,
    /// Ordinal of the floor, 0 the ground floor; `null` if unknown.
    pub floor_level: Option<i32>,
    /// Name of the floor as written; `null` if unknown.
    pub level_name: Option<&'a str>,
    /// Follows the unit through ledger and logs; `null` outside a run.
    pub trace_id: Option<String>,
    /// The request the unit is part of.
    pub request_id: Option<&'a str>,
    /// See [`crate::drawing::hash`].
    pub topology_hash: String,
    /// Unit of length of the drawing.
    pub units: &'a Units,
    /// Frame of all coordinates.
    pub crs: &'a str,
    /// Where the drawing says it lies on Earth; absent if it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub georeference: Option<Georeference<'a>>,
    /// Numbers.
    pub counts: Counts<'a>,
    /// Classes of layers.
    pub layers: &'a [LayerClass],
    /// Drawings on the sheet; absent where it holds one.
    #[serde(skip_serializing_if = "<[View]>::is_empty")]
    pub views: &'a [View],
    /// The room graph; absent without rooms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adjacency: Option<&'a Adjacency>,
    /// Problems by code.
    pub issues: &'a Issues,
    /// [`GENERATOR`].
    pub generator: &'static str,
}

/// Members of `metadata.georeference`: as the drawing states it, not applied to coordinates.
#[derive(Debug, Clone, Serialize)]
pub struct Georeference<'a> {
    /// The coordinate system: an identifier, or its definition.
    pub system: &'a str,
    /// A point of the output, local metres.
    pub design_point: [f64; 2],
    /// The same point in the system; longitude, latitude where it has degrees.
    pub reference_point: [f64; 2],
    /// North in the output, of unit length.
    pub north: [f64; 2],
    /// Units of the system in a metre of the output; metres where the system has degrees.
    pub scale: f64,
}

impl<'a> Georeference<'a> {
    /// What a drawing states, in local metres. `None` if its north has no direction.
    pub fn of(stated: &'a GeoReference, units: &Units) -> Option<Self> {
        let metres = units.metres_per_unit;
        let north = stated.north / stated.north.hypot();
        north.is_finite().then(|| Self {
            system: &stated.system,
            design_point: [stated.design_point.x * metres, stated.design_point.y * metres],
            reference_point: [stated.reference_point.x, stated.reference_point.y],
            north: [north.x, north.y],
            scale: stated.scale / metres,
        })
    }
}

/// Members of `metadata.counts`.
#[derive(Debug, Clone, Serialize)]
pub struct Counts<'a> {
    /// Features in this collection.
    pub features: u64,
    /// Features by class.
    pub classes: &'a BTreeMap<&'static str, u64>,
    /// Entities read, by kind, before blocks are expanded.
    pub read: &'a BTreeMap<String, u64>,
    /// Shapes after expansion, by kind: what the drawing shows (with `include_hidden`, also what it hides).
    pub shapes: &'a BTreeMap<String, u64>,
    /// Shapes by layer.
    pub shapes_by_layer: &'a BTreeMap<String, u64>,
    /// What the drawing hides.
    pub hidden: &'a Hidden,
    /// Shapes of which a clip left nothing.
    pub clipped: u64,
    /// Shapes that were too small, too far away or could not be placed.
    pub dropped: u64,
    /// Shapes left out on request (`output.entities`).
    pub omitted: u64,
    /// Entities met but not represented, by kind.
    pub unsupported: &'a BTreeMap<String, u64>,
    /// Entities on other sheets, by kind.
    pub other_sheets: &'a BTreeMap<String, u64>,
    /// Vertices written.
    pub vertices: u64,
    /// Characters of the page text that are not white space; PDF only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chars: Option<u64>,
    /// What was counted while rooms were derived; absent if nothing was derived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<&'a PlanCounts>,
}
