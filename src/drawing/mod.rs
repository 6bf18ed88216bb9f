//! The format-free drawing: layers, shapes, texts and blocks, in drawing units.
//!
//! Readers fill it through a [`DrawingBuilder`]; later stages never learn which format it came from. It is
//! compact on purpose (a drawing must not need more memory than its file): coordinates and path verbs live in
//! two vectors, strings are interned, blocks are kept once. Nothing is flattened here: arcs stay arcs, so that
//! a block inserted with unequal scales gets true ellipses.
//!
//! [`expand`] walks a drawing in metres: inserts are resolved, curves flattened, clips applied, visibility
//! decided, under a budget and without recursion. [`hash`] is the topology hash, [`scale`] decides units.
//!
//! Frame: x to the right, y **upward**, drawing units. Angles in radians counter-clockwise unless a name says
//! degrees. Readers of y-down formats (SVG, PDF) flip before they build.

mod absorb;
pub(crate) mod arrange;
mod builder;
pub mod expand;
pub mod flatten;
pub mod hash;
pub mod nest;
pub(crate) mod parts;
mod path;
pub mod region;
pub mod scale;
mod way;

use std::collections::BTreeMap;

pub use builder::{BuildError, DrawingBuilder, PathWriter, insert_transform};
pub use kurbo::{Affine, Point, Rect, Vec2};
pub use path::{Path, Paths, Segment, Segments, Spline};

use crate::issue::Code;

/// Issue codes of building, scaling and expanding a drawing (`DRW…`).
pub static CODES: &[&Code] = &[
    &expand::BLOCK_CYCLE,
    &expand::BLOCK_MISSING,
    &expand::COORDINATE_RANGE,
    &expand::TRANSFORM_INVALID,
    &expand::CLIP_EMPTY,
    &expand::ENTANGLED,
];

/// An interned string; [`Drawing::string`] gives it back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Symbol(pub(crate) u32);

/// Index into [`Drawing::layers`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LayerId(pub(crate) u32);

/// Index into [`Drawing::blocks`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId(pub(crate) u32);

impl BlockId {
    /// The block at that index of [`Drawing::blocks`].
    pub fn at(index: usize) -> Self {
        Self(index as u32)
    }
}

/// Index into [`Drawing::clips`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClipId(pub(crate) u32);

/// Index into [`Drawing::texts`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TextId(pub(crate) u32);

/// Index into [`Drawing::inserts`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InsertId(pub(crate) u32);

/// A run of name and value pairs in [`Drawing::properties`]; empty by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Properties {
    pub(crate) start: u32,
    pub(crate) len: u32,
}

/// The format a drawing was read from; `source_format` of the output.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum SourceFormat {
    /// AutoCAD drawing exchange, text or binary, also gzipped.
    Dxf,
    /// AutoCAD drawing database.
    Dwg,
    /// Scalable Vector Graphics, also gzipped.
    Svg,
    /// One page of a PDF.
    Pdf,
}

impl SourceFormat {
    /// `dxf`, `dwg`, `svg` or `pdf`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Dxf => "dxf",
            Self::Dwg => "dwg",
            Self::Svg => "svg",
            Self::Pdf => "pdf",
        }
    }
}

/// How long a drawing unit is, and how that is known.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Units {
    /// Metres in one drawing unit.
    pub metres_per_unit: f64,
    /// Where it is from: `$INSUNITS`, `$MEASUREMENT`, `viewBox`, `config`, `inferred`, `assumed` …
    pub from: String,
    /// How sure that is, up to 1.0, when it is inferred, assumed or doubted; absent when stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
}

impl Units {
    /// [`Units::from`] of a page that states no scale: its metres are metres of paper.
    pub const PAPER: &str = "paper";

    /// [`Units::confidence`] of a unit that the drawing states and its extent belies.
    pub const DOUBTED: f64 = 0.1;

    /// Whether a tenth of a millimetre in these units may be a coarse step of what was drawn: on paper without a scale,
    /// or when a small unit is doubted (a house that would be centimetres long).
    pub fn may_be_too_small(&self) -> bool {
        let doubted = self.confidence.is_some_and(|confidence| confidence <= Self::DOUBTED);
        self.from == Self::PAPER || (doubted && self.metres_per_unit < 0.1)
    }
}

/// A colour as drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Colour {
    /// That of the layer.
    #[default]
    ByLayer,
    /// That of the insert it comes through.
    ByBlock,
    /// 0xRRGGBB.
    Rgb(u32),
}

/// A layer and its state.
#[derive(Debug, Clone, PartialEq)]
pub struct Layer {
    /// Name as in the drawing, decoded.
    pub name: Symbol,
    /// 0xRRGGBB, if it has one.
    pub colour: Option<u32>,
    /// Switched off: what resolves to this layer is hidden (an insert on it does not hide content on others).
    pub off: bool,
    /// Frozen: also hides everything inserted through an insert on it.
    pub frozen: bool,
    /// DXF layer `0`: content inside a block takes the layer of the insert.
    pub inherits: bool,
    /// Whether a layer table or layer element declared it (otherwise only entities name it).
    pub declared: bool,
}

/// How an entity can be found again in its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Identity {
    /// It has no name of its own.
    #[default]
    None,
    /// A DXF or DWG handle, written in upper-case hexadecimal.
    Handle(u64),
    /// An SVG `id` or the like.
    Name(Symbol),
}

/// Which parts of an area are inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FillRule {
    /// Nesting decides (hatches, most fills).
    #[default]
    EvenOdd,
    /// Winding number other than zero (SVG and PDF default).
    NonZero,
}

/// What is drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Geometry {
    /// A point entity.
    Point(Point),
    /// A stroked path; closed subpaths are rings and become polygons.
    Line(Path),
    /// A filled path: every subpath is a ring of the area, closed or not.
    Area(Path, FillRule),
    /// A text with its place.
    Text(TextId),
    /// A block reference, expanded while iterating.
    Insert(InsertId),
}

/// One entity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Item {
    /// What is drawn.
    pub geometry: Geometry,
    /// The name of the entity kind in its format: `LWPOLYLINE`, `path`, `fill` …
    pub entity: Symbol,
    /// Its layer.
    pub layer: LayerId,
    /// Its colour.
    pub colour: Colour,
    /// Stroke or polyline width in drawing units; 0 for hairlines.
    pub width: f32,
    /// Handle or id.
    pub identity: Identity,
    /// Visible by itself (the layer may still hide it).
    pub visible: bool,
    /// Further facts of the source: `class`, `data-*`, hatch pattern, …
    pub properties: Properties,
    /// Clip applied to it, in the coordinates of its block or of the drawing.
    pub clip: Option<ClipId>,
}

/// Horizontal place of the insertion point in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HorizontalAlign {
    /// At its left end.
    #[default]
    Left,
    /// In its middle.
    Centre,
    /// At its right end.
    Right,
}

/// Vertical place of the insertion point in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum VerticalAlign {
    /// On the baseline of the (first) line.
    #[default]
    Baseline,
    /// At the lower edge.
    Bottom,
    /// In the middle.
    Middle,
    /// At the upper edge.
    Top,
}

/// A text in plain characters; lines are separated by `\n`.
#[derive(Debug, Clone, PartialEq)]
pub struct Text {
    /// Plain text, format codes resolved.
    pub value: String,
    /// Attribute tag, if it is the value of a block attribute.
    pub tag: Option<Symbol>,
    /// Insertion point.
    pub at: Point,
    /// Baseline direction, not normalized: its length does not matter, its angle is the rotation.
    pub direction: Vec2,
    /// Height of a capital letter in drawing units; 0 if unknown.
    pub height: f64,
    /// Where `at` lies in the text.
    pub horizontal: HorizontalAlign,
    /// Where `at` lies in the text.
    pub vertical: VerticalAlign,
    /// Width of the text box in drawing units (MTEXT reference width), if any.
    pub box_width: Option<f64>,
}

/// A block reference.
#[derive(Debug, Clone, PartialEq)]
pub struct Insert {
    /// What is inserted.
    pub block: BlockId,
    /// Maps block coordinates **minus the base point** to the surrounding block or the drawing.
    pub transform: Affine,
    /// Grid of an array insert; 1 × 1 otherwise. Zero counts mean nothing is drawn.
    pub columns: u32,
    /// Rows of the grid.
    pub rows: u32,
    /// Step of a column in the surrounding coordinates (already rotated).
    pub column_step: Vec2,
    /// Step of a row in the surrounding coordinates (already rotated).
    pub row_step: Vec2,
    /// Attribute values. They are in the surrounding coordinates, not the block's.
    pub attributes: Vec<Attribute>,
    /// Clip in block coordinates (XCLIP), applied to the content.
    pub clip: Option<ClipId>,
}

/// The value of a block attribute, drawn as a text and kept as a property of the insert.
#[derive(Debug, Clone, PartialEq)]
pub struct Attribute {
    /// Tag name.
    pub tag: Symbol,
    /// The drawn value.
    pub text: TextId,
    /// Layer of the attribute.
    pub layer: LayerId,
    /// Invisible attributes keep their value as a property but are not drawn.
    pub visible: bool,
    /// Handle or id.
    pub identity: Identity,
}

/// A block definition.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// Name as in the drawing, decoded.
    pub name: Symbol,
    /// Base point, subtracted from the content before the insert's transform.
    pub base: Point,
    /// Content in drawing order.
    pub items: Vec<Item>,
    /// Whether a definition was met (inserts may name blocks that never appear).
    pub defined: bool,
    /// Path of the external drawing, if it is an XREF.
    pub external: Option<String>,
}

/// A clip region: rings by even-odd rule.
#[derive(Debug, Clone, PartialEq)]
pub struct Clip {
    /// Boundary rings, implicitly closed.
    pub rings: Vec<Vec<Point>>,
    /// Keep the outside instead of the inside.
    pub inverted: bool,
}

/// Where the drawing says it lies on Earth (GEODATA of DXF and DWG, geospatial viewports of PDF).
#[derive(Debug, Clone, PartialEq)]
pub struct GeoReference {
    /// The coordinate system as the drawing names it (XML or identifier).
    pub system: String,
    /// Point of the drawing, drawing units.
    pub design_point: Point,
    /// The same point in the coordinate system (or longitude, latitude in degrees).
    pub reference_point: Point,
    /// North direction in drawing coordinates.
    pub north: Vec2,
    /// Scale from drawing units to the units of the system; to metres where the system has degrees.
    pub scale: f64,
}

/// A drawing: see the module's page.
#[derive(Debug, Clone)]
pub struct Drawing {
    /// Format it was read from.
    pub format: SourceFormat,
    /// Version of the format as it names itself (`AC1027`, `PDF 1.7`).
    pub version: Option<String>,
    /// Program that wrote it, if it says so.
    pub application: Option<String>,
    /// Length of a drawing unit.
    pub units: Units,
    /// All layers, in the order met. Names are unique.
    pub layers: Vec<Layer>,
    /// All blocks, in the order met.
    pub blocks: Vec<Block>,
    /// The model: what is drawn, in drawing order.
    pub items: Vec<Item>,
    /// Texts referred to by items and attributes.
    pub texts: Vec<Text>,
    /// Block references.
    pub inserts: Vec<Insert>,
    /// Clip regions.
    pub clips: Vec<Clip>,
    /// Name and value pairs, referred to by [`Properties`].
    pub properties: Vec<(Symbol, Symbol)>,
    /// Path verbs and coordinates.
    pub paths: Paths,
    /// Georeference, if the drawing has one.
    pub georeference: Option<GeoReference>,
    /// Entities read into the model or a block, by kind, before expansion (`INSERT` counts once).
    pub census: BTreeMap<String, u64>,
    /// Entities met but not represented, by kind: counted, never silent.
    pub unsupported: BTreeMap<String, u64>,
    /// Entities left out because they are on another sheet (paper space), by kind.
    pub other_sheets: BTreeMap<String, u64>,
    pub(crate) strings: Vec<Box<str>>,
}

impl Drawing {
    /// The text of an interned string.
    pub fn string(&self, symbol: Symbol) -> &str {
        self.strings.get(symbol.0 as usize).map_or("", |text| text)
    }

    /// A layer.
    pub fn layer(&self, id: LayerId) -> Option<&Layer> {
        self.layers.get(id.0 as usize)
    }

    /// The name of a layer.
    pub fn layer_name(&self, id: LayerId) -> &str {
        self.layer(id).map_or("", |layer| self.string(layer.name))
    }

    /// A block.
    pub fn block(&self, id: BlockId) -> Option<&Block> {
        self.blocks.get(id.0 as usize)
    }

    /// A text.
    pub fn text(&self, id: TextId) -> Option<&Text> {
        self.texts.get(id.0 as usize)
    }

    /// A block reference.
    pub fn insert(&self, id: InsertId) -> Option<&Insert> {
        self.inserts.get(id.0 as usize)
    }

    /// A clip region.
    pub fn clip(&self, id: ClipId) -> Option<&Clip> {
        self.clips.get(id.0 as usize)
    }

    /// Name and value pairs of an item.
    pub fn properties(&self, properties: Properties) -> impl Iterator<Item = (&str, &str)> {
        let start = properties.start as usize;
        let run = self.properties.get(start..start + properties.len as usize).unwrap_or(&[]);
        run.iter().map(|(name, value)| (self.string(*name), self.string(*value)))
    }
}
