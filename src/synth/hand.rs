//! The other hand: wall by wall, mixed conventions. A second style so that a reader is not fitted to the first.
//!
//! Nothing here goes through united wall bodies: every wall is two face lines or a box of its own, lines run on
//! where partitions meet them and walls run through columns; jambs are separate strokes, door leaves and arcs
//! are one polyline or two entities, furniture is loose lines, numbers stand in circles, names in capitals.

use super::draft::{cut_openings, interrupted, open_ring, stretches, with_arcs};
use super::furnish::furnish;
use super::layout::{
    Column, Floor, Opening, OpeningKind, Point, Wall, column_body, distance_to_segment, left_of, length, point,
};
use super::names::stated_area;
use super::random::Random;
use super::sheet::{frame_sheet, grid, measure};
use super::sketch::{Align, Mark, Role, Shape, Sketch, Vertex, closed};
use super::spec::WallDrawing;
use super::style::Style;
use super::symbols::{draw_door, map};

/// Draws a floor by the other hand.
pub fn draft(floor: &Floor, style: &Style, random: &Random) -> Sketch {
    let mut sketch = Sketch::default();
    let mut taste = random.fork("hand");
    let boxes = style.walls == WallDrawing::ClosedPolylines;
    let windows_cut = style.walls == WallDrawing::Filled || taste.chance(0.5);
    match style.walls {
        WallDrawing::SingleLines => single(&mut sketch, floor),
        WallDrawing::Filled => poche(&mut sketch, floor, true),
        _ => {
            if style.walls == WallDrawing::Hatched {
                poche(&mut sketch, floor, style.solid_hatch);
            }
            facade(&mut sketch, floor, windows_cut);
            for wall in joined(&floor.walls) {
                interior(&mut sketch, &wall, floor, windows_cut, boxes);
            }
            for opening in &floor.openings {
                jambs(&mut sketch, opening, windows_cut, &mut taste);
            }
        }
    }
    for column in &floor.columns {
        draw_column(&mut sketch, column, &mut taste);
    }
    for opening in &floor.openings {
        match opening.kind {
            OpeningKind::Window => window(&mut sketch, opening, &mut taste),
            OpeningKind::Door | OpeningKind::DoubleDoor if taste.chance(0.6) => swing(&mut sketch, opening, style),
            OpeningKind::Gap => threshold(&mut sketch, opening, &mut taste),
            _ => {
                let as_block = taste.chance(0.5);
                draw_door(&mut sketch, opening, style, as_block);
            }
        }
    }
    furnish(&mut sketch, floor, style, random);
    explode_furniture(&mut sketch);
    if style.room_polylines {
        for room in &floor.rooms {
            let shell = open_ring(room.outline.exterior());
            if shell.len() > 2 {
                sketch.draw(Role::RoomOutline, closed(&shell));
            }
        }
    }
    tags(&mut sketch, floor, style, &mut taste);
    if style.sheet {
        grid(&mut sketch, floor, style);
        measure(&mut sketch, floor, style);
        frame_sheet(&mut sketch, floor, style);
    }
    sketch
}

fn direction(wall: &Wall) -> Point {
    let span = wall.line[wall.line.len() - 1] - wall.line[0];
    span / length(span)
}

/// Interior walls of one thickness in one line are one wall.
fn joined(walls: &[Wall]) -> Vec<Wall> {
    let mut runs: Vec<Wall> = Vec::new();
    for wall in walls.iter().filter(|wall| !wall.exterior) {
        let same = runs.iter_mut().find(|run| {
            let (end, start) = (run.line[1], wall.line[0]);
            length(end - start) < 1e-6
                && (run.thickness - wall.thickness).abs() < 1e-9
                && length(direction(run) - direction(wall)) < 1e-6
        });
        match same {
            Some(run) => run.line[1] = wall.line[1],
            None => runs.push(wall.clone()),
        }
    }
    runs
}

/// How far the faces of a wall reach beyond `end` of its middle line (negative: stop before it).
fn reach(end: Point, along: Point, floor: &Floor) -> f64 {
    let mut result: f64 = 0.0;
    for other in &floor.walls {
        for pair in other.line.windows(2) {
            let span = pair[1] - pair[0];
            let slanted = (span.x * along.y - span.y * along.x).abs() < 1e-3 * length(span);
            if slanted || distance_to_segment(end, pair[0], pair[1]) > 1e-6 {
                continue;
            }
            let at_its_end = !other.exterior && (length(end - pair[0]) < 1e-6 || length(end - pair[1]) < 1e-6);
            let half = other.thickness / 2.0;
            if at_its_end && result >= 0.0 {
                result = result.max(half);
            } else if !at_its_end {
                result = result.min(0.0).min(-half);
            }
        }
    }
    result
}

fn interior(sketch: &mut Sketch, wall: &Wall, floor: &Floor, windows_cut: bool, boxes: bool) {
    let along = direction(wall);
    let (a, b) = (wall.line[0], wall.line[1]);
    let (a, b) = (a - along * reach(a, along, floor), b + along * reach(b, along, floor));
    let side = left_of(along) * (wall.thickness / 2.0);
    let near = wall.thickness / 2.0 + 0.01;
    for (from, to) in stretches(a, b, floor, near, windows_cut) {
        if boxes {
            sketch.ring(Role::WallInner, &[from - side, to - side, to + side, from + side]);
        } else {
            sketch.draw(Role::WallInner, Shape::Line(from - side, to - side));
            sketch.draw(Role::WallInner, Shape::Line(from + side, to + side));
        }
    }
}

/// Both faces of the façade as lines that stop at openings, arcs where it is curved.
fn facade(sketch: &mut Sketch, floor: &Floor, windows_cut: bool) {
    let Some(wall) = floor.walls.iter().find(|wall| wall.exterior) else { return };
    let outside = std::iter::once(floor.outline.exterior()).chain(floor.outline.interiors());
    let inside = floor.facade_inside.iter();
    for ring in outside.chain(inside) {
        let vertices = with_arcs(&open_ring(ring), &floor.curves);
        for (index, vertex) in vertices.iter().enumerate() {
            let next = vertices[(index + 1) % vertices.len()].at;
            if vertex.bulge == 0.0 {
                for (from, to) in stretches(vertex.at, next, floor, wall.thickness / 2.0 + 0.01, windows_cut) {
                    sketch.draw(Role::WallOuter, Shape::Line(from, to));
                }
            } else {
                sketch.draw(Role::WallOuter, super::draft::edge(vertex.at, next, vertex.bulge));
            }
        }
    }
}

fn single(sketch: &mut Sketch, floor: &Floor) {
    for wall in &floor.walls {
        let role = if wall.exterior { Role::WallOuter } else { Role::WallInner };
        for pair in wall.line.windows(2) {
            interrupted(sketch, role, pair[0], pair[1], floor);
        }
    }
}

/// Every wall body filled for itself; fills overlap where walls meet.
fn poche(sketch: &mut Sketch, floor: &Floor, solid: bool) {
    for body in &floor.bodies {
        let cut = cut_openings(&geo::MultiPolygon(vec![body.clone()]), floor, true);
        for part in &cut {
            let rings = std::iter::once(part.exterior()).chain(part.interiors());
            let rings = rings.map(|ring| with_arcs(&open_ring(ring), &floor.curves)).collect();
            sketch.draw(Role::WallHatch, Shape::Hatch { rings, solid });
        }
    }
}

/// Strokes across the wall at both ends of an opening, a few millimetres long or short.
fn jambs(sketch: &mut Sketch, opening: &Opening, windows_cut: bool, random: &mut Random) {
    let window = opening.kind == OpeningKind::Window;
    let role = if window { Role::Window } else { Role::WallInner };
    if window && !windows_cut && random.chance(0.3) {
        return;
    }
    let side = left_of(opening.along) * (opening.thickness / 2.0);
    for end in opening.ends() {
        sketch.draw(role, Shape::Line(end - side, end + side));
    }
}

fn draw_column(sketch: &mut Sketch, column: &Column, random: &mut Random) {
    let ring = open_ring(column_body(column).exterior());
    if column.round {
        sketch.draw(Role::Column, Shape::Circle { centre: column.centre, radius: column.size / 2.0 });
    } else {
        sketch.ring(Role::Column, &ring);
        if random.chance(0.5) && ring.len() == 4 {
            sketch.draw(Role::Column, Shape::Line(ring[0], ring[2]));
            sketch.draw(Role::Column, Shape::Line(ring[1], ring[3]));
        }
    }
}

/// Three or four lines between the jambs.
fn window(sketch: &mut Sketch, opening: &Opening, random: &mut Random) {
    let [a, b] = opening.ends();
    let half = (opening.thickness / 2.0).max(0.05);
    let normal = left_of(opening.along);
    let mut depths = vec![-half, half, 0.0];
    if random.chance(0.5) {
        depths = vec![-half, half, -0.03, 0.03];
    }
    for depth in depths {
        sketch.draw(Role::Window, Shape::Line(a + normal * depth, b + normal * depth));
    }
}

/// Leaf and arc of each wing as one open polyline: hinge, tip, latch.
fn swing(sketch: &mut Sketch, opening: &Opening, style: &Style) {
    let normal = left_of(opening.along) * if opening.swings_left { 1.0 } else { -1.0 };
    let face = if style.hinge_on_axis { point(0.0, 0.0) } else { normal * (opening.thickness / 2.0) };
    let [start, end] = opening.ends();
    let double = opening.kind == OpeningKind::DoubleDoor;
    let width = if double { opening.width / 2.0 } else { opening.width };
    let wings: &[bool] = if double { &[false, true] } else { &[opening.hinge_at_end] };
    for at_end in wings {
        let axis = if *at_end { opening.along * -1.0 } else { opening.along };
        let hinge = if *at_end { end } else { start } + face;
        let (tip, latch) = (hinge + normal * width, hinge + axis * width);
        // From tip to latch the arc turns towards the latch: clockwise if the swing lies left of the axis.
        let left = left_of(axis).x * normal.x + left_of(axis).y * normal.y > 0.0;
        let bulge = (std::f64::consts::FRAC_PI_8).tan() * if left { -1.0 } else { 1.0 };
        let vertices =
            vec![Vertex { at: hinge, bulge: 0.0 }, Vertex { at: tip, bulge }, Vertex { at: latch, bulge: 0.0 }];
        sketch.draw(Role::Door, Shape::Polyline { vertices, closed: false });
    }
}

/// A passage: nothing, or one or two lines of a threshold.
fn threshold(sketch: &mut Sketch, opening: &Opening, random: &mut Random) {
    let [a, b] = opening.ends();
    let side = left_of(opening.along) * (opening.thickness / 2.0);
    let lines = random.whole(0, 2);
    for sign in [1.0, -1.0].into_iter().take(lines as usize) {
        sketch.draw(Role::Door, Shape::Line(a + side * sign, b + side * sign));
    }
}

/// Furniture blocks become loose lines, as after an explode.
fn explode_furniture(sketch: &mut Sketch) {
    let mut marks = Vec::with_capacity(sketch.marks.len());
    for mark in std::mem::take(&mut sketch.marks) {
        match &mark.shape {
            Shape::Insert { block, at, rotation, .. } if matches!(mark.role, Role::Furniture | Role::Sanitary) => {
                let (sin, cos) = rotation.to_radians().sin_cos();
                let place = |p: Point| *at + point(p.x * cos - p.y * sin, p.x * sin + p.y * cos);
                let turn = |degrees: f64| degrees + rotation;
                for part in sketch.blocks.get(block).into_iter().flatten() {
                    let shape = map(&part.shape, &place, &turn, false);
                    marks.push(Mark { role: mark.role, shape, paper: false });
                }
            }
            _ => marks.push(mark),
        }
    }
    sketch.marks = marks;
    sketch.blocks.retain(|name, _| {
        sketch.marks.iter().any(|mark| matches!(&mark.shape, Shape::Insert { block, .. } if block == name))
    });
}

/// Numbers in a circle or underlined, names in capitals, areas below.
fn tags(sketch: &mut Sketch, floor: &Floor, style: &Style, random: &mut Random) {
    let circled = random.chance(0.6);
    for room in floor.rooms.iter().filter(|room| !(room.number.is_empty() && room.name.is_empty())) {
        let area = style.areas.map_or_else(String::new, |variant| stated_area(room.area(), style.language, variant));
        let name = room.name.to_uppercase();
        let longest = name.chars().count().max(area.chars().count()).max(room.number.chars().count() + 2);
        let free = super::layout::clearance(&room.outline, room.label_at);
        let height = style.text_height.min(2.0 * free / (longest as f64 * 0.8)).max(0.07);
        let mut at = room.label_at + point(0.0, height * 1.2);
        let line = |sketch: &mut Sketch, role, at: Point, text: &str, height: f64| {
            let shape = Shape::Text { at, height, rotation: 0.0, value: text.to_owned(), align: Align::Centre };
            sketch.draw(role, shape);
        };
        if !name.is_empty() {
            line(sketch, Role::RoomName, at, &name, height);
            at = at - point(0.0, height * 1.9);
        }
        if !room.number.is_empty() {
            line(sketch, Role::RoomNumber, at, &room.number, height);
            let half = (room.number.chars().count() as f64 * 0.4 + 0.3) * height;
            if circled {
                sketch.draw(Role::RoomNumber, Shape::Circle { centre: at, radius: half.max(height) });
            } else {
                let low = at - point(0.0, height * 0.7);
                sketch.draw(Role::RoomNumber, Shape::Line(low - point(half, 0.0), low + point(half, 0.0)));
            }
            at = at - point(0.0, height * 2.0 + if circled { (half - height).max(0.0) } else { 0.0 });
        }
        if !area.is_empty() {
            line(sketch, Role::RoomName, at, &area, height * 0.9);
        }
    }
}
