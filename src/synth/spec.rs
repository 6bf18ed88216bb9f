//! What to generate: every choice can be stated, and what is not stated is drawn from the seed.

use serde::{Deserialize, Serialize};

/// File format of a drawing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum Format {
    /// AutoCAD 2010 text DXF.
    Dxf,
    /// SVG 1.1.
    Svg,
}

impl Format {
    /// Extension without the dot.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Dxf => "dxf",
            Self::Svg => "svg",
        }
    }
}

/// The shape of the building.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum Shape {
    /// A flat or pavilion without corridor, cut by random splits.
    Compact,
    /// One wing.
    Bar,
    /// Two wings.
    Ell,
    /// Three wings.
    You,
    /// Four wings around a courtyard.
    Court,
}

/// Whose hand drew it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum Drafting {
    /// Clean outlines of the united walls, blocks, one convention a drawing.
    Cad,
    /// Wall by wall: lines run through T-junctions, walls through columns, jambs as own strokes, mixed conventions.
    Hand,
}

/// How walls are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum WallDrawing {
    /// Both faces as lines (and arcs).
    DoubleLines,
    /// Both faces as polylines that close.
    ClosedPolylines,
    /// Outlines and hatches or fills.
    Hatched,
    /// Fills alone.
    Filled,
    /// One line in the middle; rooms then reach to it.
    SingleLines,
}

/// How doors are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum DoorDrawing {
    /// A block inserted, rotated and mirrored.
    Blocks,
    /// An arc and a leaf line.
    Raw,
}

/// How rooms are labelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum LabelDrawing {
    /// Number, name and area as texts below each other.
    Texts,
    /// One multi-line text with format codes.
    Mtext,
    /// A block with attributes and a frame around the number.
    Attributes,
    /// `101 Office` in one line.
    OneLine,
}

/// Layer names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum LayerScheme {
    /// US National CAD Standard: `A-WALL`.
    Aia,
    /// German words: `WAND`, `TÜR`.
    German,
    /// French words: `MUR`, `PORTE`.
    French,
    /// ISO 13567 codes.
    Iso13567,
    /// Numbers that say nothing.
    Numeric,
    /// Everything on layer 0.
    Zero,
}

/// The length of a drawing unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum Unit {
    /// 0.001 m.
    Millimetre,
    /// 0.01 m.
    Centimetre,
    /// 1 m.
    Metre,
    /// 0.0254 m.
    Inch,
    /// 0.3048 m.
    Foot,
}

impl Unit {
    /// Length in metres.
    pub fn metres(self) -> f64 {
        match self {
            Self::Millimetre => 0.001,
            Self::Centimetre => 0.01,
            Self::Metre => 1.0,
            Self::Inch => 0.0254,
            Self::Foot => 0.3048,
        }
    }

    /// Value of `$INSUNITS`.
    pub fn insunits(self) -> i16 {
        match self {
            Self::Millimetre => 4,
            Self::Centimetre => 5,
            Self::Metre => 6,
            Self::Inch => 1,
            Self::Foot => 2,
        }
    }
}

/// What the drawing says about its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum DeclaredUnit {
    /// The truth.
    Right,
    /// Nothing (`$INSUNITS` = 0; an SVG without physical size).
    Missing,
    /// Another unit than the one drawn in.
    Wrong,
}

/// Language of names and layer-free texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum Language {
    /// English.
    English,
    /// German.
    German,
    /// French.
    French,
}

/// Named faults of a drawing, each off by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Defects {
    /// Wall ends stop short of each other by up to 8 mm.
    pub gap: bool,
    /// Wall ends run past each other by up to 12 mm.
    pub overshoot: bool,
    /// Wall lines are drawn twice, whole or in part.
    pub duplicate: bool,
    /// The drawing states no unit or a wrong one.
    pub wrong_units: bool,
    /// Furniture, sanitary objects and counters, also touching walls.
    pub furniture: bool,
    /// Pattern lines and hatches in walls and floors.
    pub hatches: bool,
    /// The whole plan is rotated.
    pub rotated: bool,
    /// Door blocks are mirrored by negative scales.
    pub mirrored_blocks: bool,
    /// All entities lie on layer 0.
    pub layers_all_on_0: bool,
    /// Every wall coordinate is off by up to 0.4 mm.
    pub jitter: bool,
    /// Wall lines are broken into collinear pieces, in random order and direction.
    pub broken_walls: bool,
    /// Labels stand near a wall or a corner of their room.
    pub text_off_centre: bool,
}

impl Defects {
    /// The names of all defects, in the order of the fields.
    pub const NAMES: [&'static str; 12] = [
        "gap",
        "overshoot",
        "duplicate",
        "wrong_units",
        "furniture",
        "hatches",
        "rotated",
        "mirrored_blocks",
        "layers_all_on_0",
        "jitter",
        "broken_walls",
        "text_off_centre",
    ];

    /// The switch of a name.
    pub fn switch(&mut self, name: &str) -> Option<&mut bool> {
        Some(match name {
            "gap" => &mut self.gap,
            "overshoot" => &mut self.overshoot,
            "duplicate" => &mut self.duplicate,
            "wrong_units" => &mut self.wrong_units,
            "furniture" => &mut self.furniture,
            "hatches" => &mut self.hatches,
            "rotated" => &mut self.rotated,
            "mirrored_blocks" => &mut self.mirrored_blocks,
            "layers_all_on_0" => &mut self.layers_all_on_0,
            "jitter" => &mut self.jitter,
            "broken_walls" => &mut self.broken_walls,
            "text_off_centre" => &mut self.text_off_centre,
            _ => return None,
        })
    }

    /// Everything wrong at once.
    pub fn all() -> Self {
        let mut defects = Self::default();
        for name in Self::NAMES {
            if let Some(switch) = defects.switch(name) {
                *switch = true;
            }
        }
        defects
    }
}

/// One plan to generate. What is `None` is drawn from `seed`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Spec {
    /// Decides everything that is not stated.
    pub seed: u64,
    /// Decides the outline of the building; levels of one building share it. `None`: as `seed`.
    pub building_seed: Option<u64>,
    /// Level above ground: 0 is the ground floor. Room numbers start with it.
    pub level: i32,
    /// About how many rooms; the outcome differs by a few. `None`: 1 to 60.
    pub rooms: Option<u32>,
    /// File format.
    pub format: Option<Format>,
    /// Shape of the building.
    pub shape: Option<Shape>,
    /// Drafting style.
    pub drafting: Option<Drafting>,
    /// How walls are drawn.
    pub walls: Option<WallDrawing>,
    /// How doors are drawn.
    pub doors: Option<DoorDrawing>,
    /// How rooms are labelled.
    pub labels: Option<LabelDrawing>,
    /// Layer names.
    pub layers: Option<LayerScheme>,
    /// Drawing unit.
    pub unit: Option<Unit>,
    /// What the drawing says about it. Without the defect `wrong_units` and unstated: right.
    pub declared_unit: Option<DeclaredUnit>,
    /// Language of names.
    pub language: Option<Language>,
    /// Each room also drawn as a closed polyline on a room layer.
    pub room_polylines: Option<bool>,
    /// Dimensions, grid, title block and paper space.
    pub sheet: Option<bool>,
    /// Faults.
    pub defects: Defects,
}

impl Default for Spec {
    fn default() -> Self {
        Self {
            seed: 1,
            building_seed: None,
            level: 0,
            rooms: None,
            format: None,
            shape: None,
            drafting: None,
            walls: None,
            doors: None,
            labels: None,
            layers: None,
            unit: None,
            declared_unit: None,
            language: None,
            room_polylines: None,
            sheet: None,
            defects: Defects::default(),
        }
    }
}

impl Spec {
    /// The plan of `seed` with everything else drawn from it.
    pub fn of_seed(seed: u64) -> Self {
        Self { seed, ..Self::default() }
    }
}
