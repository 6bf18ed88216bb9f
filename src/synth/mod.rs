//! Floor plans with known truth, from a seed: for tests, measurements and samples.
//!
//! [`generate`] turns a [`Spec`] into the bytes of a drawing (DXF by the `dxf` crate, so that someone else's
//! writer is used, or SVG) and the GeoJSON of what it shows. A plan is made in stages that know nothing of later
//! ones: [`program`] decides which rooms lie where, [`layout`] gives walls bodies and rooms net outlines and
//! places openings, a hand ([`draft`] or [`hand`]) draws, [`defects`] spoil the wall lines, a writer gives it a
//! format. Everything is a function of the specification: the same specification is the same bytes.
//!
//! [`campus`] names many levels of many buildings lazily; [`huge`] streams one file larger than memory.

pub mod campus;
pub mod defects;
pub mod draft;
mod dxf;
mod furnish;
pub mod hand;
pub mod huge;
mod labels;
pub mod layout;
mod names;
mod openings;
pub mod program;
pub mod random;
mod sheet;
pub mod sketch;
mod spec;
mod style;
mod svg;
mod symbols;
mod tags;
pub mod truth;

use serde_json::{Map, Value, json};

pub use campus::{Campus, Plan};
pub use spec::{
    DeclaredUnit, Defects, DoorDrawing, Drafting, Format, LabelDrawing, Language, LayerScheme, Shape, Spec, Unit,
    WallDrawing,
};
pub use style::Style;

use layout::{Build, Floor, lay_out, point};
use random::Random;
use sketch::{Frame, Sketch};

/// A plan could not be generated or written.
#[derive(Debug, thiserror::Error)]
pub enum SynthError {
    /// The `dxf` crate refused.
    #[error("cannot write DXF: {reason}")]
    Dxf {
        /// What it said.
        reason: String,
    },
    /// The output failed.
    #[error("cannot write the generated plan: {source}")]
    Output {
        /// The cause.
        #[from]
        source: std::io::Error,
    },
}

/// A drawing and its truth.
#[derive(Debug, Clone)]
pub struct Generated {
    /// Format of `drawing`.
    pub format: Format,
    /// Bytes of the drawing.
    pub drawing: Vec<u8>,
    /// GeoJSON FeatureCollection in local metres.
    pub truth: Vec<u8>,
    /// Rooms with space, shafts included.
    pub rooms: usize,
}

/// Generates one plan.
///
/// # Errors
/// If the writer of DXF refuses; not for any specification known.
pub fn generate(spec: &Spec) -> Result<Generated, SynthError> {
    let style = Style::decide(spec);
    let floor = floor(spec, &style);
    let sketch = sketch(spec, &style, &floor);
    let scale = 1.0 / style.unit.metres();
    let (drawing, frame) = match style.format {
        Format::Dxf => {
            let frame = Frame { scale, rotation: style.rotation, offset: origin(spec, scale) };
            (dxf::write(&sketch, &style, frame)?, frame)
        }
        Format::Svg => {
            let page = svg::page(&floor.outline, scale, style.rotation);
            (svg::write(&sketch, &style, page), page.frame)
        }
    };
    let truth = truth::write(&floor, frame, metadata(spec, &style));
    let rooms = floor.rooms.iter().filter(|room| room.outline.exterior().0.len() > 3).count();
    Ok(Generated { format: style.format, drawing, truth, rooms })
}

/// The floor of a specification, with labels, before it is drawn.
pub fn floor(spec: &Spec, style: &Style) -> Floor {
    let building = Random::new(spec.building_seed.unwrap_or(spec.seed));
    let level = Random::new(spec.seed);
    let rooms = spec.rooms.unwrap_or_else(|| *building.fork("size").pick(&[1, 4, 6, 9, 14, 20, 28, 40, 60]));
    let shape = spec.shape.unwrap_or_else(|| {
        if rooms < 8 {
            Shape::Compact
        } else {
            *building.fork("shape").pick(&[
                Shape::Bar,
                Shape::Bar,
                Shape::Ell,
                Shape::You,
                Shape::Court,
                Shape::Compact,
            ])
        }
    });
    let program = program::program(shape, rooms, &building, &level);
    let mut build = Build::draw(&mut building.fork("build"), spec.level == 0);
    if style.walls == WallDrawing::SingleLines {
        build = build.single_line();
    }
    let mut floor = lay_out(&program, &build, &building, &level);
    let (mut house, mut random) = (building.fork("numbers"), level.fork("names"));
    names::label_rooms(&mut floor, spec.level, style.language, style.named, &mut house, &mut random);
    if spec.defects.text_off_centre {
        let mut random = level.fork("off centre");
        for room in floor.rooms.iter_mut().filter(|room| room.outline.exterior().0.len() > 3) {
            room.label_at = labels::off_centre(room, &mut random);
        }
    }
    floor
}

/// The drawn floor, faults included.
pub fn sketch(spec: &Spec, style: &Style, floor: &Floor) -> Sketch {
    let random = Random::new(spec.seed);
    let mut sketch = match style.drafting {
        Drafting::Cad => draft::draft(floor, style, &random),
        Drafting::Hand => hand::draft(floor, style, &random),
    };
    defects::apply(&mut sketch, &spec.defects, &random);
    sketch
}

/// The layer that marks of a role lie on.
pub fn layer_name(scheme: LayerScheme, role: sketch::Role) -> &'static str {
    names::layer(scheme, role)
}

/// Where the plan lies in model space: near the origin, or far away as in a site plan.
fn origin(spec: &Spec, scale: f64) -> layout::Point {
    let mut random = Random::new(spec.building_seed.unwrap_or(spec.seed)).fork("origin");
    let metres = match random.whole(0, 3) {
        0 => point(0.0, 0.0),
        1 => point(100.0, 50.0),
        2 => point(-35.0, 12.0),
        _ => point(random.whole(1, 40) as f64 * 100.0, random.whole(1, 40) as f64 * 100.0),
    };
    point((metres.x * scale).round(), (metres.y * scale).round())
}

fn metadata(spec: &Spec, style: &Style) -> Map<String, Value> {
    let mut metadata = Map::new();
    metadata.insert("schema".to_owned(), json!("plan2geo-truth/1"));
    metadata.insert("crs".to_owned(), json!("local-metres"));
    metadata.insert("metres_per_unit".to_owned(), json!(style.unit.metres()));
    metadata.insert("floor_level".to_owned(), json!(spec.level));
    metadata.insert("spec".to_owned(), serde_json::to_value(spec).unwrap_or(Value::Null));
    metadata.insert(
        "style".to_owned(),
        json!({
            "format": style.format, "drafting": style.drafting, "walls": style.walls, "doors": style.doors,
            "labels": style.labels, "layers": style.layers, "unit": style.unit, "declared_unit": style.declared,
            "rotation_deg": style.rotation, "room_polylines": style.room_polylines,
        }),
    );
    metadata
}

#[cfg(test)]
mod tests {
    use geo::{Area, BooleanOps};

    use super::*;

    #[test]
    fn the_same_specification_is_the_same_bytes() {
        for seed in 0..6 {
            let spec = Spec { defects: Defects::all(), ..Spec::of_seed(seed) };
            let (one, two) = (generate(&spec).unwrap(), generate(&spec).unwrap());
            assert!(one.drawing == two.drawing && one.truth == two.truth, "seed {seed}");
        }
    }

    #[test]
    fn rooms_do_not_overlap_and_lie_within_the_outline() {
        for seed in 0..12 {
            let spec = Spec::of_seed(seed);
            let floor = floor(&spec, &Style::decide(&spec));
            for (index, room) in floor.rooms.iter().enumerate() {
                assert!(room.area() > 0.5, "seed {seed}: room {index} has {} m²", room.area());
                let outside = room.outline.difference(&floor.outline).unsigned_area();
                assert!(outside < 1e-6, "seed {seed}: room {index} is {outside} m² outside");
                for other in &floor.rooms[..index] {
                    assert!(room.outline.intersection(&other.outline).unsigned_area() < 1e-6, "seed {seed}");
                }
            }
        }
    }

    #[test]
    fn rooms_and_walls_fill_the_outline() {
        for seed in 0..12 {
            let spec = Spec::of_seed(seed);
            let floor = floor(&spec, &Style::decide(&spec));
            let columns: Vec<_> = floor.columns.iter().map(layout::column_body).collect();
            let walls = floor.solid.union(&geo::unary_union(&columns)).intersection(&floor.outline);
            let rooms: f64 = floor.rooms.iter().map(layout::Room::area).sum();
            let gap = floor.outline.unsigned_area() - rooms - walls.unsigned_area();
            assert!(gap.abs() < 1e-3, "seed {seed}: {gap} m² belong to nobody");
        }
    }

    #[test]
    fn every_room_that_people_enter_has_an_opening() {
        let mut closed = 0;
        let mut rooms = 0;
        for seed in 0..30 {
            let spec = Spec::of_seed(seed);
            let floor = floor(&spec, &Style::decide(&spec));
            for (index, room) in floor.rooms.iter().enumerate() {
                if room.kind != program::RoomKind::Shaft {
                    rooms += 1;
                    closed += usize::from(!floor.openings.iter().any(|o| o.rooms.contains(&Some(index))));
                }
            }
        }
        assert!(closed * 100 <= rooms, "{closed} of {rooms} rooms have neither door nor window");
    }
}
