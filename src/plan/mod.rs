//! Rooms, walls, openings and labels of a drawing, in metres.
//!
//! The way: [`Input`] collects the shapes of [`crate::drawing::expand`]; [`derive()`] classifies them, nodes and snaps
//! the wall lines on an integer grid, closes openings by wall-equivalent segments, traces faces, tells rooms from
//! wall bodies, and joins texts to rooms. Layer names come first, geometry second; every class says how sure it
//! is and why. `docs/rooms.md` explains the method and where it fails.
//!
//! Frame: the local metres of the expanded drawing, x to the right, y upward. Results do not depend on the order
//! of entities: rooms are sorted by place, and every choice is made by geometry or a canonical number.
//! Nothing here knows formats or GeoJSON.

mod adjacency;
mod band;
mod boxes;
mod cavity;
mod classify;
mod clusters;
pub mod codes;
mod company;
mod derive;
mod dissolve;
mod figures;
mod frames;
mod fresh;
mod gaps;
pub mod graph;
pub mod grid;
mod input;
mod labels;
mod lines;
mod measure;
pub mod names;
mod necks;
mod net;
pub mod noding;
mod openings;
pub mod options;
mod outline;
mod reading;
mod rooms;
mod shape;
mod signs;
mod symbols;
mod titles;
pub mod units;
mod usage;
mod views;
mod walls;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use classify::layers_by_name;
pub use codes::ALL as CODES;
pub use derive::derive;
pub use input::Input;
pub use options::{PlanOptions, RoomPolygons};
pub use titles::ViewKind;
pub use views::View;

use crate::drawing::{Identity, Point};
use crate::issue::Issues;

/// What a layer, block or shape stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Walls, their faces, fills and outlines.
    Wall,
    /// Columns and piers: solid like walls.
    Column,
    /// Doors and gates.
    Door,
    /// Windows and glazing within walls.
    Window,
    /// Closed outlines of rooms.
    Room,
    /// Outline of the level.
    Outline,
    /// Zones that group rooms.
    Zone,
    /// Texts that name rooms.
    Label,
    /// Stairs, ramps and escalators.
    Stair,
    /// Lifts and shafts.
    Shaft,
    /// Furniture, fittings and equipment.
    Furniture,
    /// Dimensions.
    Dimension,
    /// Other notes, symbols and texts.
    Annotation,
    /// Construction grid.
    Grid,
    /// Patterns and fills that bound nothing.
    Hatch,
    /// Frame and title block of the sheet.
    Sheet,
    /// Ground, roads, planting around the building.
    Site,
    /// Ceilings, pipes, wires: not part of the plan.
    Services,
    /// Nothing is known.
    #[default]
    Unknown,
}

/// An area with holes. Shell counter-clockwise, holes clockwise, first points not repeated; metres.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Polygon {
    /// Outer ring.
    pub shell: Vec<Point>,
    /// Inner rings.
    pub holes: Vec<Vec<Point>>,
}

/// Where a drawn thing is from.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceRef {
    /// Layer name.
    pub layer: String,
    /// Entity kind.
    pub entity: String,
    /// Handle or id; resolve names with `Drawing::string`.
    pub identity: Identity,
    /// Ordinal of the shape in the expanded drawing.
    pub ordinal: u64,
}

/// How a room was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RoomOrigin {
    /// A face between walls.
    Derived,
    /// A closed polyline or polygon on a room layer.
    Drawn,
}

/// A room: net interior.
#[derive(Debug, Clone, PartialEq)]
pub struct Room {
    /// 0-based index in [`Plan::rooms`]; what openings and labels refer to.
    pub index: u32,
    /// Its area.
    pub polygon: Polygon,
    /// Square metres, holes subtracted.
    pub area_m2: f64,
    /// Metres, outer ring only.
    pub perimeter_m: f64,
    /// A point well inside, for a label.
    pub label_point: Point,
    /// Room number as written.
    pub number: Option<String>,
    /// Room name as written, lines joined by a space.
    pub name: Option<String>,
    /// Area as written, square metres.
    pub stated_area_m2: Option<f64>,
    /// Further texts in it, in reading order.
    pub texts: Vec<String>,
    /// What it is used for where a word or a layer says so: `stairs`, `elevator`, `shaft`, `corridor`, `restroom`, `outdoor` …
    pub usage: Option<&'static str>,
    /// How it was found.
    pub origin: RoomOrigin,
    /// The drawn outline, for drawn rooms.
    pub source: Option<SourceRef>,
    /// The drawing on the sheet it is in, by its index in [`Plan::views`].
    pub view: Option<u32>,
    /// 0 to 1.
    pub confidence: f64,
    /// Why it is a room and what lowers the confidence.
    pub reason: String,
}

/// A wall piece between two nodes of the wall graph.
#[derive(Debug, Clone, PartialEq)]
pub struct Wall {
    /// Centre line, at least two points.
    pub centre_line: Vec<Point>,
    /// Metres; absent for walls drawn as one line.
    pub thickness_m: Option<f64>,
    /// Length of the centre line, metres.
    pub length_m: f64,
    /// Nodes of the wall graph at both ends; equal numbers meet.
    pub nodes: (u32, u32),
    /// On the outline of the level.
    pub exterior: bool,
    /// 0 to 1.
    pub confidence: f64,
    /// Why.
    pub reason: String,
}

/// Kind of an opening.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OpeningKind {
    /// A door with one leaf.
    Door,
    /// A door with two leaves.
    DoubleDoor,
    /// A sliding or folding door: no swing is drawn.
    SlidingDoor,
    /// A window.
    Window,
    /// A gap without a symbol.
    Gap,
}

/// What lies on one side of an opening.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// A room by its index.
    Room(u32),
    /// The outside of the level.
    Outside,
    /// Could not be told.
    Unknown,
}

/// An opening in a wall.
#[derive(Debug, Clone, PartialEq)]
pub struct Opening {
    /// 0-based index in [`Plan::openings`].
    pub index: u32,
    /// What it is.
    pub kind: OpeningKind,
    /// From jamb to jamb along the middle of the wall.
    pub line: [Point; 2],
    /// Metres.
    pub width_m: f64,
    /// Thickness of the wall it is in, if known, metres.
    pub depth_m: Option<f64>,
    /// Hinges: one for a door, two for a double door, none where not drawn.
    pub hinges: Vec<Point>,
    /// A point in the swept area of the leaves, if drawn: the side the door opens to.
    pub swing: Option<Point>,
    /// What lies on the left and on the right of `line`.
    pub sides: [Side; 2],
    /// Name of the block, if it is one.
    pub block: Option<String>,
    /// Where it is from, if a symbol was drawn.
    pub source: Option<SourceRef>,
    /// 0 to 1.
    pub confidence: f64,
    /// Why.
    pub reason: String,
}

/// What a text says about a room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LabelKind {
    /// A room number.
    Number,
    /// A name or use.
    Name,
    /// An area.
    Area,
    /// Something else.
    Other,
}

/// A line of text that was read as a label.
#[derive(Debug, Clone, PartialEq)]
pub struct Label {
    /// The line.
    pub text: String,
    /// What it says.
    pub kind: LabelKind,
    /// Middle of the text.
    pub at: Point,
    /// Height, metres.
    pub height_m: f64,
    /// The room it belongs to.
    pub room: Option<u32>,
    /// Ordinal of the text's shape in the expanded drawing.
    pub ordinal: u64,
}

/// One edge of the room graph.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Passage {
    /// One side.
    pub from: Side,
    /// The other side.
    pub to: Side,
    /// Index of the opening.
    pub opening: u32,
    /// Metres.
    pub width_m: f64,
}

/// The room graph.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Adjacency {
    /// Doors and gaps between rooms, or a room and the outside (windows are no passages).
    pub passages: Vec<Passage>,
    /// Rooms that no chain of passages joins to the outside or to the largest part of the graph.
    pub unreachable: Vec<u32>,
}

/// From what a class was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ClassSource {
    /// The configuration.
    Config,
    /// A shipped table of names.
    Name,
    /// Geometry.
    Geometry,
    /// Nothing told it.
    None,
}

/// The class of a layer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LayerClass {
    /// Layer name.
    pub layer: String,
    /// What it stands for.
    pub role: Role,
    /// 0 to 1.
    pub confidence: f64,
    /// From what.
    pub source: ClassSource,
    /// In words: the rule or the measurement.
    pub reason: String,
    /// Shapes on it.
    pub shapes: u64,
    /// Metres of lines on it.
    pub length_m: f64,
    /// For layers nothing is known of: a role that the geometry suggests, to be put into the configuration.
    pub suggestion: Option<Role>,
}

/// Geometry of a diagnostic.
#[derive(Debug, Clone, PartialEq)]
pub enum DiagnosticGeometry {
    /// A place.
    Point(Point),
    /// A line.
    Line(Vec<Point>),
    /// An area.
    Area(Polygon),
}

/// One snap, dangle, discarded face or conflict, kept when [`PlanOptions::diagnostics`] asks for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnostic {
    /// The code it is counted under.
    pub code: &'static str,
    /// What exactly.
    pub detail: String,
    /// Where.
    pub geometry: DiagnosticGeometry,
}

/// What was counted on the way; for metadata and reports.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Counts {
    /// Segments taken as wall lines.
    pub wall_segments: u64,
    /// Their length, metres.
    pub wall_length_m: f64,
    /// Length of wall lines that bound a room or a wall body, metres.
    pub wall_length_used_m: f64,
    /// End points moved onto others.
    pub snapped_points: u64,
    /// Gaps closed at wall ends.
    pub closed_gaps: u64,
    /// Overshoots cut off.
    pub overshoots: u64,
    /// Duplicate or overlapping pieces merged.
    pub duplicates: u64,
    /// Dangling ends left out.
    pub dangles: u64,
    /// Faces traced.
    pub faces: u64,
    /// Faces that are no rooms, by reason.
    pub discarded_faces: BTreeMap<&'static str, u64>,
    /// Texts read.
    pub texts: u64,
    /// Rooms with a number or a name.
    pub labelled_rooms: u64,
    /// Factor by which lengths of the drawing seem to be off (1 = plausible).
    pub scale_hint: f64,
}

/// What was found in a drawing.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// Rooms, sorted by place (top to bottom, left to right).
    pub rooms: Vec<Room>,
    /// Wall pieces.
    pub walls: Vec<Wall>,
    /// Areas of wall bodies and columns.
    pub wall_areas: Vec<Polygon>,
    /// Doors, windows and gaps.
    pub openings: Vec<Opening>,
    /// Texts read as labels.
    pub labels: Vec<Label>,
    /// Outline of the level: one polygon a part; empty if unknown.
    pub level_outline: Vec<Polygon>,
    /// The room graph.
    pub adjacency: Adjacency,
    /// Classes of layers, by name.
    pub classes: Vec<LayerClass>,
    /// Drawings on the sheet, if it holds several.
    pub views: Vec<View>,
    /// Snaps, dangles and discarded faces with their geometry, if asked for.
    pub diagnostics: Vec<Diagnostic>,
    /// What was wrong.
    pub issues: Issues,
    /// What was counted.
    pub counts: Counts,
    /// What the drawing says about its unit, where that is not what it was read in.
    pub unit: Option<units::Finding>,
}
