//! The clean hand: united walls, one convention throughout. Floor → [`Sketch`].

use geo::{BooleanOps, LineString, MultiPolygon, Polygon, unary_union};

use super::furnish::furnish;
use super::labels::label;
use super::layout::{Curve, Floor, OpeningKind, Point, column_body, distance_to_segment, length, tidy};
use super::random::Random;
use super::sheet::{frame_sheet, measure};
use super::sketch::{Role, Shape, Sketch, Vertex, closed};
use super::spec::{DoorDrawing, WallDrawing};
use super::style::Style;
use super::symbols::{draw_door, draw_window};

/// Draws a floor cleanly.
pub fn draft(floor: &Floor, style: &Style, random: &Random) -> Sketch {
    let mut sketch = Sketch::default();
    if style.sheet {
        super::sheet::grid(&mut sketch, floor, style);
    }
    walls(&mut sketch, floor, style);
    for opening in &floor.openings {
        if opening.kind == OpeningKind::Window {
            draw_window(&mut sketch, opening, style);
        } else {
            draw_door(&mut sketch, opening, style, style.doors == DoorDrawing::Blocks);
        }
    }
    furnish(&mut sketch, floor, style, random);
    finish(&mut sketch, floor, style, random);
    sketch
}

/// Room outlines, labels, dimensions and title block: common to all hands.
pub fn finish(sketch: &mut Sketch, floor: &Floor, style: &Style, random: &Random) {
    if style.room_polylines {
        for room in &floor.rooms {
            let shell = open_ring(room.outline.exterior());
            if shell.len() > 2 {
                sketch.draw(Role::RoomOutline, closed(&shell));
            }
        }
    }
    label(sketch, floor, style, &mut random.fork("label drawing"));
    if style.sheet {
        measure(sketch, floor, style);
        frame_sheet(sketch, floor, style);
    }
}

/// The points of a closed ring without the repeated last one.
pub fn open_ring(ring: &LineString<f64>) -> Vec<Point> {
    let mut points = ring.0.clone();
    if points.len() > 1 && points.first() == points.last() {
        points.pop();
    }
    points
}

/// Wall bodies with openings cut out of them (windows only if `windows`).
pub fn cut_openings(solid: &MultiPolygon<f64>, floor: &Floor, windows: bool) -> MultiPolygon<f64> {
    let holes: Vec<Polygon<f64>> = floor
        .openings
        .iter()
        .filter(|opening| windows || opening.kind != OpeningKind::Window)
        .map(|opening| opening.body(0.005))
        .collect();
    if holes.is_empty() { solid.clone() } else { tidy(solid.difference(&unary_union(&holes))) }
}

fn walls(sketch: &mut Sketch, floor: &Floor, style: &Style) {
    if style.walls == WallDrawing::SingleLines {
        single_lines(sketch, floor);
        return;
    }
    let mut solid = floor.solid.clone();
    for column in &floor.columns {
        let body = column_body(column);
        if style.columns_merged && !column.round {
            solid = tidy(solid.union(&body));
        } else if column.round {
            sketch.draw(Role::Column, Shape::Circle { centre: column.centre, radius: column.size / 2.0 });
        } else {
            sketch.ring(Role::Column, &open_ring(body.exterior()));
        }
    }
    let cut = cut_openings(&solid, floor, style.windows_cut);
    for part in &cut {
        let rings: Vec<Vec<Vertex>> = std::iter::once(part.exterior())
            .chain(part.interiors())
            .map(|ring| with_arcs(&open_ring(ring), &floor.curves))
            .collect();
        match style.walls {
            WallDrawing::DoubleLines => {
                for ring in &rings {
                    faces(sketch, ring, floor, style);
                }
            }
            WallDrawing::ClosedPolylines => outlines(sketch, &rings),
            WallDrawing::Hatched => {
                outlines(sketch, &rings);
                sketch.draw(Role::WallHatch, Shape::Hatch { rings, solid: style.solid_hatch });
            }
            WallDrawing::Filled => sketch.draw(Role::WallOuter, Shape::Hatch { rings, solid: true }),
            WallDrawing::SingleLines => {}
        }
    }
}

fn outlines(sketch: &mut Sketch, rings: &[Vec<Vertex>]) {
    for ring in rings {
        sketch.draw(Role::WallOuter, Shape::Polyline { vertices: ring.clone(), closed: true });
    }
}

/// The edges of a ring as lines and arcs, without jambs if the style leaves them out.
fn faces(sketch: &mut Sketch, ring: &[Vertex], floor: &Floor, style: &Style) {
    for (index, vertex) in ring.iter().enumerate() {
        let next = ring[(index + 1) % ring.len()].at;
        let middle = (vertex.at + next) / 2.0;
        if !style.jambs && vertex.bulge == 0.0 && is_jamb(floor, vertex.at, next) {
            continue;
        }
        let outer = floor.walls.iter().filter(|wall| wall.exterior).any(|wall| {
            let reach = wall.thickness / 2.0 + 0.01;
            wall.line.windows(2).any(|pair| distance_to_segment(middle, pair[0], pair[1]) < reach)
        });
        let role = if outer || vertex.bulge != 0.0 { Role::WallOuter } else { Role::WallInner };
        sketch.draw(role, edge(vertex.at, next, vertex.bulge));
    }
}

/// A line, or the arc of a bulge.
pub fn edge(a: Point, b: Point, bulge: f64) -> Shape {
    if bulge == 0.0 {
        return Shape::Line(a, b);
    }
    let chord = b - a;
    let half = length(chord) / 2.0;
    let radius = half * (1.0 + bulge * bulge) / (2.0 * bulge.abs());
    // Distance of the centre from the chord's middle, to the left for bulges below 1.
    let height = half * (1.0 - bulge * bulge) / (2.0 * bulge);
    let centre = (a + b) / 2.0 + super::layout::left_of(chord) / (2.0 * half) * height;
    let angle = |p: Point| (p - centre).y.atan2((p - centre).x).to_degrees();
    let (start, end) = if bulge > 0.0 { (angle(a), angle(b)) } else { (angle(b), angle(a)) };
    Shape::Arc { centre, radius, start, end }
}

fn is_jamb(floor: &Floor, a: Point, b: Point) -> bool {
    floor.openings.iter().any(|opening| {
        opening.ends().iter().any(|end| {
            let near = |p: Point| (length(p - *end) - opening.thickness / 2.0).abs() < 2e-3;
            near(a) && near(b) && length(b - a) > opening.thickness - 2e-3
        })
    })
}

/// Runs of vertices on one circle become one vertex with a bulge.
pub fn with_arcs(ring: &[Point], curves: &[Curve]) -> Vec<Vertex> {
    let count = ring.len();
    let on = |p: Point| curves.iter().position(|curve| (length(p - curve.centre) - curve.radius).abs() < 3e-5);
    let marks: Vec<Option<usize>> = ring.iter().map(|p| on(*p)).collect();
    let first = (0..count).find(|&i| marks[i].is_none()).unwrap_or(0);
    let mut vertices = Vec::with_capacity(count);
    let mut step = 0;
    while step < count {
        let index = (first + step) % count;
        let mut run = 0;
        if let Some(curve) = marks[index] {
            while step + run + 1 < count && marks[(first + step + run + 1) % count] == Some(curve) {
                run += 1;
            }
            if run >= 3 {
                let last = ring[(index + run) % count];
                let centre = curves[curve].centre;
                let angle = |p: Point| (p - centre).y.atan2((p - centre).x);
                let turns = angle(ring[(index + 1) % count]) - angle(ring[index]);
                let ccw = turns.sin() > 0.0;
                let tau = std::f64::consts::TAU;
                let sweep = (angle(last) - angle(ring[index])).rem_euclid(tau);
                let sweep = if ccw { sweep } else { sweep - tau };
                vertices.push(Vertex { at: ring[index], bulge: (sweep / 4.0).tan() });
                step += run;
                continue;
            }
        }
        vertices.push(Vertex { at: ring[index], bulge: 0.0 });
        step += 1;
    }
    vertices
}

/// Middle lines of walls, interrupted at openings.
fn single_lines(sketch: &mut Sketch, floor: &Floor) {
    for wall in &floor.walls {
        let role = if wall.exterior { Role::WallOuter } else { Role::WallInner };
        let ring: Vec<Point> = wall.line.clone();
        let vertices = if wall.exterior { with_arcs(&ring[..ring.len() - 1], &floor.curves) } else { Vec::new() };
        if vertices.is_empty() {
            for pair in ring.windows(2) {
                interrupted(sketch, role, pair[0], pair[1], floor);
            }
        } else {
            for (index, vertex) in vertices.iter().enumerate() {
                let next = vertices[(index + 1) % vertices.len()].at;
                if vertex.bulge == 0.0 {
                    interrupted(sketch, role, vertex.at, next, floor);
                } else {
                    sketch.draw(role, edge(vertex.at, next, vertex.bulge));
                }
            }
        }
    }
}

/// A line with the openings on it left out.
pub fn interrupted(sketch: &mut Sketch, role: Role, a: Point, b: Point, floor: &Floor) {
    for (from, to) in stretches(a, b, floor, 0.02, true) {
        sketch.draw(role, Shape::Line(from, to));
    }
}

/// The stretches of a line that no opening within `reach` of it interrupts.
pub fn stretches(a: Point, b: Point, floor: &Floor, reach: f64, windows: bool) -> Vec<(Point, Point)> {
    let size = length(b - a);
    let along = (b - a) / size;
    let position = |p: Point| (p - a).x * along.x + (p - a).y * along.y;
    let mut cuts: Vec<(f64, f64)> = floor
        .openings
        .iter()
        .filter(|opening| windows || opening.kind != OpeningKind::Window)
        .filter_map(|opening| {
            let ends = opening.ends();
            let near = ends.iter().all(|end| distance_to_segment(*end, a, b) < reach);
            near.then(|| {
                let (p, q) = (position(ends[0]), position(ends[1]));
                (p.min(q), p.max(q))
            })
        })
        .collect();
    cuts.sort_by(|p, q| p.0.total_cmp(&q.0));
    let mut from = 0.0;
    let mut parts = Vec::new();
    for (low, high) in cuts {
        if low > from {
            parts.push((a + along * from, a + along * low));
        }
        from = high;
    }
    if size > from {
        parts.push((a + along * from, b));
    }
    parts
}
