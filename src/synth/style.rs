//! The conventions of one drawing: what the specification states, and the rest drawn from the seed.

use super::random::Random;
use super::spec::{
    DeclaredUnit, DoorDrawing, Drafting, Format, LabelDrawing, Language, LayerScheme, Spec, Unit, WallDrawing,
};

/// Every choice of a drawing, made.
#[derive(Debug, Clone, PartialEq)]
pub struct Style {
    /// File format.
    pub format: Format,
    /// Whose hand.
    pub drafting: Drafting,
    /// Walls.
    pub walls: WallDrawing,
    /// Doors.
    pub doors: DoorDrawing,
    /// Labels.
    pub labels: LabelDrawing,
    /// Layers.
    pub layers: LayerScheme,
    /// Names.
    pub language: Language,
    /// Drawing unit.
    pub unit: Unit,
    /// What is said about it.
    pub declared: DeclaredUnit,
    /// Rooms have names beside numbers.
    pub named: bool,
    /// Areas are stated, in this variant.
    pub areas: Option<usize>,
    /// Numbers stand in a frame.
    pub number_frames: bool,
    /// Labels of small rooms at the façade stand outside with a leader.
    pub leaders: bool,
    /// Closed polylines of rooms.
    pub room_polylines: bool,
    /// Wall faces stop at windows.
    pub windows_cut: bool,
    /// Windows are blocks.
    pub window_blocks: bool,
    /// Wall ends at openings are closed by a line.
    pub jambs: bool,
    /// Leaves are thin boxes instead of lines.
    pub leaf_boxes: bool,
    /// How far leaves stand open, degrees.
    pub open_degrees: f64,
    /// Hinges on the middle line of the wall instead of its face.
    pub hinge_on_axis: bool,
    /// Left-hand doors are mirrored inserts of the right-hand block.
    pub mirrored: bool,
    /// Block names tell what they are.
    pub telling_blocks: bool,
    /// Dimensions, grid and title block.
    pub sheet: bool,
    /// Furniture.
    pub furniture: bool,
    /// Patterns.
    pub hatches: bool,
    /// Hatches are solid instead of lines.
    pub solid_hatch: bool,
    /// Square columns are part of the wall outlines.
    pub columns_merged: bool,
    /// Rotation of the plan, degrees.
    pub rotation: f64,
    /// Text height, metres.
    pub text_height: f64,
}

impl Style {
    /// Decides what `spec` leaves open.
    pub fn decide(spec: &Spec) -> Self {
        // Levels of one building are drawn by one office.
        let chance = Random::new(spec.building_seed.unwrap_or(spec.seed));
        let pick = |label: &str| chance.fork(label);
        let defects = &spec.defects;
        let format = spec.format.unwrap_or_else(|| *pick("format").pick(&[Format::Dxf, Format::Dxf, Format::Svg]));
        let mut walls = spec.walls.unwrap_or_else(|| {
            *pick("wall drawing").pick(&[
                WallDrawing::DoubleLines,
                WallDrawing::DoubleLines,
                WallDrawing::DoubleLines,
                WallDrawing::DoubleLines,
                WallDrawing::ClosedPolylines,
                WallDrawing::ClosedPolylines,
                WallDrawing::Hatched,
                WallDrawing::Hatched,
                WallDrawing::Filled,
                WallDrawing::SingleLines,
            ])
        });
        if defects.hatches && spec.walls.is_none() && pick("hatched walls").chance(0.4) {
            walls = WallDrawing::Hatched;
        }
        let layers = if defects.layers_all_on_0 && spec.layers.is_none() {
            LayerScheme::Zero
        } else {
            spec.layers.unwrap_or_else(|| {
                *pick("layers").pick(&[
                    LayerScheme::Aia,
                    LayerScheme::Aia,
                    LayerScheme::German,
                    LayerScheme::German,
                    LayerScheme::French,
                    LayerScheme::Iso13567,
                    LayerScheme::Numeric,
                ])
            })
        };
        let language = spec.language.unwrap_or_else(|| match layers {
            LayerScheme::Aia => Language::English,
            LayerScheme::German => Language::German,
            LayerScheme::French => Language::French,
            _ => *pick("language").pick(&[Language::English, Language::German, Language::French]),
        });
        let unit = spec.unit.unwrap_or_else(|| {
            *pick("unit").pick(&[
                Unit::Millimetre,
                Unit::Millimetre,
                Unit::Millimetre,
                Unit::Metre,
                Unit::Metre,
                Unit::Centimetre,
                Unit::Inch,
                Unit::Foot,
            ])
        });
        let declared = spec.declared_unit.unwrap_or_else(|| {
            if defects.wrong_units {
                *pick("declared").pick(&[DeclaredUnit::Missing, DeclaredUnit::Wrong])
            } else {
                DeclaredUnit::Right
            }
        });
        let mut taste = pick("taste");
        let solid = matches!(walls, WallDrawing::Hatched | WallDrawing::Filled | WallDrawing::ClosedPolylines);
        Self {
            format,
            drafting: spec.drafting.unwrap_or(Drafting::Cad),
            walls,
            doors: spec
                .doors
                .unwrap_or_else(|| *pick("doors").pick(&[DoorDrawing::Blocks, DoorDrawing::Blocks, DoorDrawing::Raw])),
            labels: spec.labels.unwrap_or_else(|| {
                *pick("labels").pick(&[
                    LabelDrawing::Texts,
                    LabelDrawing::Texts,
                    LabelDrawing::Mtext,
                    LabelDrawing::Attributes,
                    LabelDrawing::OneLine,
                ])
            }),
            layers,
            language,
            unit,
            declared,
            named: taste.chance(0.85),
            areas: taste.chance(0.6).then(|| taste.whole(0, 5) as usize),
            number_frames: taste.chance(0.25),
            leaders: taste.chance(0.25),
            room_polylines: spec.room_polylines.unwrap_or_else(|| pick("room polylines").chance(0.12)),
            windows_cut: taste.chance(0.7) || solid,
            window_blocks: taste.chance(0.4),
            jambs: taste.chance(0.8) || solid,
            leaf_boxes: taste.chance(0.4),
            open_degrees: if taste.chance(0.88) { 90.0 } else { 45.0 },
            hinge_on_axis: taste.chance(0.3) && walls != WallDrawing::SingleLines,
            mirrored: defects.mirrored_blocks,
            telling_blocks: taste.chance(0.7) && layers != LayerScheme::Numeric,
            sheet: spec.sheet.unwrap_or_else(|| pick("sheet").chance(0.7)),
            furniture: defects.furniture,
            hatches: defects.hatches,
            solid_hatch: pick("solid hatch").chance(0.5),
            columns_merged: pick("columns in walls").chance(0.4),
            rotation: if defects.rotated {
                (pick("rotation").between(-80.0, 80.0) * 100.0).round() / 100.0
            } else {
                0.0
            },
            text_height: *taste.pick(&[0.18, 0.2, 0.25]),
        }
    }
}
