//! From cells to a floor with bodies: wall solids, net rooms, openings, columns. Metres, y upward.
//!
//! The façade is the outline of all cells, offset by half its thickness to both sides (mitred). Interior walls
//! are rectangles along cell edges, long enough to fill their corners. What the walls leave of the inside, found
//! by exact polygon boolean operations, are the rooms; that is the truth the drawings are measured against. An
//! opening is only placed where samples on both sides lie in the rooms it claims to join.

use std::collections::BTreeMap;

use geo::orient::{Direction, Orient};
use geo::{Area, BooleanOps, Contains, Coord, LineString, MultiPolygon, Polygon, unary_union};

use super::program::{Program, RoomKind, Spot};
use super::random::Random;

/// Clear widths of doors with one leaf, metres.
pub const DOOR_WIDTHS: &[f64] = &[0.76, 0.81, 0.885, 0.9, 0.95, 1.01];
/// Clear widths of doors with two leaves, metres.
pub const DOUBLE_DOOR_WIDTHS: &[f64] = &[1.4, 1.6, 1.8, 2.0];
/// Clear widths of sliding doors, metres; the first only where no wider one fits.
pub const SLIDING_DOOR_WIDTHS: &[f64] = &[0.76, 0.9, 1.0, 1.2];

/// A point or vector, metres.
pub type Point = Coord<f64>;

/// A point from its coordinates.
pub fn point(x: f64, y: f64) -> Point {
    Coord { x, y }
}

/// Length of a vector.
pub fn length(v: Point) -> f64 {
    v.x.hypot(v.y)
}

/// A quarter turn counter-clockwise.
pub fn left_of(v: Point) -> Point {
    point(-v.y, v.x)
}

/// A vector of length 1; along x for the zero vector.
pub(super) fn unit_vector(v: Point) -> Point {
    let size = length(v);
    if size > 0.0 { v / size } else { point(1.0, 0.0) }
}

fn dot(a: Point, b: Point) -> f64 {
    a.x * b.x + a.y * b.y
}

/// A circle that some outline vertices lie on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Curve {
    /// Its centre.
    pub centre: Point,
    /// Its radius; faces of a curved wall are two circles with one centre.
    pub radius: f64,
}

/// A wall as truth: its middle line and thickness.
#[derive(Debug, Clone, PartialEq)]
pub struct Wall {
    /// Middle line, two points or more where it bends or curves.
    pub line: Vec<Point>,
    /// Metres.
    pub thickness: f64,
    /// Part of the façade.
    pub exterior: bool,
}

/// What an opening is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpeningKind {
    /// One leaf that swings.
    Door,
    /// Two leaves that swing.
    DoubleDoor,
    /// A leaf that slides.
    SlidingDoor,
    /// A passage without a leaf.
    Gap,
    /// A window.
    Window,
}

/// An opening in a straight wall.
#[derive(Debug, Clone, PartialEq)]
pub struct Opening {
    /// What it is.
    pub kind: OpeningKind,
    /// Middle of the opening, on the middle line of the wall.
    pub centre: Point,
    /// Unit vector along the wall.
    pub along: Point,
    /// Clear width, metres.
    pub width: f64,
    /// Thickness of the wall, metres.
    pub thickness: f64,
    /// Rooms on the left and right of `along`; `None` is outside.
    pub rooms: [Option<usize>; 2],
    /// The hinge is at the end of `along` instead of its start.
    pub hinge_at_end: bool,
    /// The leaf swings to the left of `along`.
    pub swings_left: bool,
}

impl Opening {
    /// Both ends on the middle line.
    pub fn ends(&self) -> [Point; 2] {
        let half = self.along * (self.width / 2.0);
        [self.centre - half, self.centre + half]
    }

    /// Its rectangle in the wall, `margin` metres deeper on both faces.
    pub fn body(&self, margin: f64) -> Polygon<f64> {
        let [a, b] = self.ends();
        rectangle(a, b, self.thickness / 2.0 + margin)
    }
}

/// A room as truth.
#[derive(Debug, Clone, PartialEq)]
pub struct Room {
    /// What it is for.
    pub kind: RoomKind,
    /// Net outline between wall faces, with columns as holes.
    pub outline: Polygon<f64>,
    /// Number, such as `101`; empty if the plan does not number it.
    pub number: String,
    /// Name, such as `Office`; empty if the plan does not name it.
    pub name: String,
    /// Where a label stands well.
    pub label_at: Point,
}

impl Room {
    /// Net area, m².
    pub fn area(&self) -> f64 {
        self.outline.unsigned_area()
    }
}

/// A column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Column {
    /// Its middle.
    pub centre: Point,
    /// Side or diameter, metres.
    pub size: f64,
    /// A circle instead of a square.
    pub round: bool,
}

/// A floor.
#[derive(Debug, Clone)]
pub struct Floor {
    /// Outer faces of the façade; courtyards are holes.
    pub outline: Polygon<f64>,
    /// Inner faces of the façade: the outer ring first, then around courtyards.
    pub facade_inside: Vec<LineString<f64>>,
    /// Middle lines of all walls.
    pub walls: Vec<Wall>,
    /// Bodies of all walls, openings not cut.
    pub solid: MultiPolygon<f64>,
    /// Each wall as a body of its own (the façade in one piece), openings not cut.
    pub bodies: Vec<Polygon<f64>>,
    /// Rooms.
    pub rooms: Vec<Room>,
    /// Doors, windows and passages; none overlap.
    pub openings: Vec<Opening>,
    /// Free-standing and wall columns.
    pub columns: Vec<Column>,
    /// Circles of curved façades.
    pub curves: Vec<Curve>,
}

/// Thicknesses and tastes of a floor.
#[derive(Debug, Clone, Copy)]
pub struct Build {
    /// Metres.
    pub exterior: f64,
    /// Between rooms and corridors, metres.
    pub corridor: f64,
    /// Between rooms, metres.
    pub partition: f64,
    /// Around stairs, lifts and shafts, metres.
    pub core: f64,
    /// A corner of the building may be cut off and an end bulge out.
    pub irregular: bool,
    /// Columns in large rooms and on façades.
    pub columns: bool,
    /// Doors lead out of the building.
    pub ground: bool,
}

impl Build {
    /// Drawn from the building's chance.
    pub fn draw(random: &mut Random, ground: bool) -> Self {
        Self {
            exterior: *random.pick(&[0.24, 0.3, 0.365, 0.4, 0.45]),
            corridor: *random.pick(&[0.125, 0.15, 0.175, 0.2]),
            partition: *random.pick(&[0.08, 0.1, 0.115, 0.125]),
            core: *random.pick(&[0.2, 0.24, 0.25]),
            irregular: random.chance(0.35),
            columns: random.chance(0.5),
            ground,
        }
    }

    /// Walls without thickness (2 mm): for plans drawn with single lines.
    pub fn single_line(self) -> Self {
        Self { exterior: 0.002, corridor: 0.002, partition: 0.002, core: 0.002, columns: false, ..self }
    }
}

/// A straight stretch of wall between the same two rooms; sides are left and right of `a` → `b`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    pub(super) a: Point,
    pub(super) b: Point,
    pub(super) thickness: f64,
    pub(super) sides: [Option<usize>; 2],
}

impl Piece {
    pub(super) fn length(&self) -> f64 {
        length(self.b - self.a)
    }
}

/// Builds the floor of a programme. `building` decides what all levels share, `random` the rest.
pub fn lay_out(program: &Program, build: &Build, building: &Random, random: &Random) -> Floor {
    let pieces = pieces(program, build);
    let (interior, exterior): (Vec<Piece>, Vec<Piece>) =
        pieces.into_iter().partition(|piece| piece.sides.iter().all(Option::is_some));
    let mut rings = outline_rings(&exterior);
    let mut curves = Vec::new();
    if build.irregular {
        let mut shape = building.fork("irregular");
        if let Some(ring) = rings.first_mut() {
            cut_corner(ring, &interior, &mut shape);
            if shape.chance(0.7) {
                curves = bulge_an_end(ring, &exterior, build.exterior, &mut shape);
            }
        }
    }
    let half = build.exterior / 2.0;
    let outline =
        Polygon::new(offset_ring(&rings[0], -half), rings[1..].iter().map(|r| offset_ring(r, -half)).collect());
    let inside = Polygon::new(offset_ring(&rings[0], half), rings[1..].iter().map(|r| offset_ring(r, half)).collect());
    let mut bodies: Vec<Polygon<f64>> =
        interior.iter().enumerate().map(|(index, piece)| interior_body(piece, index, &interior)).collect();
    let interior_solid = if bodies.is_empty() { MultiPolygon::new(vec![]) } else { unary_union(&bodies) };
    let free = tidy(inside.difference(&interior_solid));

    let mut rooms = rooms_of(program, &free);
    let mut columns = Vec::new();
    if build.columns {
        columns = place_columns(&rooms, &exterior, build, &mut building.fork("columns"));
        for room in &mut rooms {
            for column in &columns {
                let cut = tidy(room.outline.difference(&column_body(column)));
                if let Some(largest) = largest(cut) {
                    room.outline = largest;
                }
            }
        }
    }
    let facade = tidy(outline.difference(&inside));
    let mut parts: Vec<Polygon<f64>> = facade.0.clone();
    parts.extend(bodies.iter().cloned());
    let solid = tidy(unary_union(&parts));
    bodies.splice(0..0, facade.0);

    for room in &mut rooms {
        room.label_at = inner_point(&room.outline);
    }
    let mut walls: Vec<Wall> = rings
        .iter()
        .map(|ring| Wall {
            line: ring.iter().chain(ring.first()).copied().collect(),
            thickness: build.exterior,
            exterior: true,
        })
        .collect();
    walls.extend(interior.iter().map(|piece| Wall {
        line: vec![piece.a, piece.b],
        thickness: piece.thickness,
        exterior: false,
    }));
    let facade_inside = std::iter::once(inside.exterior()).chain(inside.interiors()).cloned().collect();
    let mut floor =
        Floor { outline, facade_inside, walls, solid, bodies, rooms, openings: Vec::new(), columns, curves };
    super::openings::place_openings(&mut floor, &interior, &exterior, build, random);
    floor
}

/// The body of a column.
pub fn column_body(column: &Column) -> Polygon<f64> {
    let half = column.size / 2.0;
    if column.round {
        let ring = (0..24).map(|step| {
            let angle = f64::from(step) * std::f64::consts::TAU / 24.0;
            column.centre + point(angle.cos(), angle.sin()) * half
        });
        Polygon::new(ring.collect(), vec![])
    } else {
        rectangle(column.centre - point(half, 0.0), column.centre + point(half, 0.0), half)
    }
}

/// The rectangle `half` metres to both sides of a line, counter-clockwise.
pub fn rectangle(a: Point, b: Point, half: f64) -> Polygon<f64> {
    let side = left_of(unit_vector(b - a)) * half;
    Polygon::new(LineString(vec![a - side, b - side, b + side, a + side]), vec![])
}

/// Edges of all cells, cut where cells end, with the rooms on both sides; neighbours in line are joined again.
fn pieces(program: &Program, build: &Build) -> Vec<Piece> {
    type Line = (bool, i64);
    let mut lines: BTreeMap<Line, Vec<(i64, i64, usize, bool)>> = BTreeMap::new();
    let mut slanted: BTreeMap<(Spot, Spot), [Option<usize>; 2]> = BTreeMap::new();
    for cell in &program.cells {
        for (index, &from) in cell.corners.iter().enumerate() {
            let to = cell.corners[(index + 1) % cell.corners.len()];
            if from.y == to.y {
                // Counter-clockwise: an edge to the right has its cell above, that is on the left of +x.
                let left = to.x > from.x;
                lines.entry((true, from.y)).or_default().push((from.x.min(to.x), from.x.max(to.x), cell.room, left));
            } else if from.x == to.x {
                let left = to.y > from.y;
                lines.entry((false, from.x)).or_default().push((from.y.min(to.y), from.y.max(to.y), cell.room, left));
            } else {
                let forward = from < to;
                let sides = slanted.entry((from.min(to), from.max(to))).or_default();
                sides[usize::from(!forward)] = Some(cell.room);
            }
        }
    }
    let metres = |spot: Spot| point(spot.x as f64 / 1000.0, spot.y as f64 / 1000.0);
    let thickness = |sides: [Option<usize>; 2]| match sides {
        [Some(a), Some(b)] => {
            let kinds = [program.kinds[a], program.kinds[b]];
            let any = |wanted: &[RoomKind]| kinds.iter().any(|kind| wanted.contains(kind));
            if any(&[RoomKind::Stairs, RoomKind::Lift, RoomKind::Shaft]) {
                build.core
            } else if any(&[RoomKind::Corridor, RoomKind::Lobby]) {
                build.corridor
            } else {
                build.partition
            }
        }
        _ => build.exterior,
    };
    let mut pieces = Vec::new();
    for (&(horizontal, at), edges) in &lines {
        let mut cuts: Vec<i64> = edges.iter().flat_map(|edge| [edge.0, edge.1]).collect();
        cuts.sort_unstable();
        cuts.dedup();
        let mut open: Option<(i64, i64, [Option<usize>; 2])> = None;
        let mut runs = Vec::new();
        for pair in cuts.windows(2) {
            let mut sides = [None, None];
            for edge in edges.iter().filter(|edge| edge.0 <= pair[0] && edge.1 >= pair[1]) {
                sides[usize::from(!edge.3)] = Some(edge.2);
            }
            let wall = sides[0] != sides[1];
            open = match open {
                Some((low, high, same)) if wall && high == pair[0] && same == sides => Some((low, pair[1], sides)),
                other => {
                    runs.extend(other);
                    wall.then_some((pair[0], pair[1], sides))
                }
            };
        }
        runs.extend(open);
        for (low, high, sides) in runs {
            let (a, b) = if horizontal {
                (Spot { x: low, y: at }, Spot { x: high, y: at })
            } else {
                (Spot { x: at, y: low }, Spot { x: at, y: high })
            };
            pieces.push(Piece { a: metres(a), b: metres(b), thickness: thickness(sides), sides });
        }
    }
    for ((a, b), sides) in slanted {
        pieces.push(Piece { a: metres(a), b: metres(b), thickness: build.partition, sides });
    }
    pieces
}

fn key(p: Point) -> (i64, i64) {
    ((p.x * 1000.0).round() as i64, (p.y * 1000.0).round() as i64)
}

/// Closed rings of the building's outline on wall middles, inside on the left, the outer ring first.
fn outline_rings(exterior: &[Piece]) -> Vec<Vec<Point>> {
    let mut next: BTreeMap<(i64, i64), Vec<(Point, Point)>> = BTreeMap::new();
    for piece in exterior {
        let (from, to) = if piece.sides[0].is_some() { (piece.a, piece.b) } else { (piece.b, piece.a) };
        next.entry(key(from)).or_default().push((from, to));
    }
    let mut rings = Vec::new();
    while let Some(&start) = next.keys().next() {
        let mut ring = Vec::new();
        let mut at = start;
        while let Some(edges) = next.get_mut(&at) {
            let Some((from, to)) = edges.pop() else { break };
            if edges.is_empty() {
                next.remove(&at);
            }
            ring.push(from);
            at = key(to);
        }
        let count = ring.len();
        let straight = |i: usize| {
            let (before, here, after) = (ring[(i + count - 1) % count], ring[i], ring[(i + 1) % count]);
            let (u, v) = (here - before, after - here);
            (u.x * v.y - u.y * v.x).abs() < 1e-9
        };
        let corners: Vec<Point> = (0..count).filter(|&i| !straight(i)).map(|i| ring[i]).collect();
        if corners.len() >= 3 {
            rings.push(corners);
        }
    }
    rings.sort_by(|a, b| signed_area(b).abs().total_cmp(&signed_area(a).abs()));
    rings
}

fn signed_area(ring: &[Point]) -> f64 {
    let count = ring.len();
    (0..count).map(|i| ring[i].x * ring[(i + 1) % count].y - ring[(i + 1) % count].x * ring[i].y).sum::<f64>() / 2.0
}

/// Moves every edge of a ring to its left by `distance` and joins the edges by mitres.
fn offset_ring(ring: &[Point], distance: f64) -> LineString<f64> {
    let count = ring.len();
    let moved = (0..count).map(|i| {
        let (before, here, after) = (ring[(i + count - 1) % count], ring[i], ring[(i + 1) % count]);
        let (n0, n1) = (left_of(unit_vector(here - before)), left_of(unit_vector(after - here)));
        let bisector = n0 + n1;
        here + bisector * (distance / (dot(bisector, n0)))
    });
    LineString(moved.collect())
}

/// Cuts one convex corner of the outline off, away from interior walls.
fn cut_corner(ring: &mut Vec<Point>, interior: &[Piece], random: &mut Random) {
    let count = ring.len();
    let first = random.whole(0, count as i64 - 1) as usize;
    for index in (0..count).map(|step| (first + step) % count) {
        let (before, here, after) = (ring[(index + count - 1) % count], ring[index], ring[(index + 1) % count]);
        let (u, v) = (unit_vector(before - here), unit_vector(after - here));
        let convex = dot(left_of(here - before), after - here) > 0.0;
        let size = random.between(1.0, 2.0);
        let crowded = interior.iter().flat_map(|wall| [wall.a, wall.b]).any(|end| length(end - here) < size + 1.6);
        if convex && !crowded && length(before - here) > 2.0 * size && length(after - here) > 2.0 * size {
            ring.splice(index..=index, [here + u * size, here + v * size]);
            return;
        }
    }
}

/// Replaces one straight façade edge that belongs to a single room by an arc outward.
fn bulge_an_end(ring: &mut Vec<Point>, exterior: &[Piece], thickness: f64, random: &mut Random) -> Vec<Curve> {
    let count = ring.len();
    for index in 0..count {
        let (a, b) = (ring[index], ring[(index + 1) % count]);
        let whole = exterior.iter().any(|piece| {
            let ends = [key(piece.a), key(piece.b)];
            ends.contains(&key(a)) && ends.contains(&key(b))
        });
        let (before, after) = (ring[(index + count - 1) % count], ring[(index + 2) % count]);
        let convex = dot(left_of(a - before), b - a) > 0.0 && dot(left_of(b - a), after - b) > 0.0;
        let chord = length(b - a);
        if !whole || !convex || !(3.0..=12.0).contains(&chord) {
            continue;
        }
        let sweep = random.between(1.2, 2.4);
        let radius = chord / 2.0 / (sweep / 2.0).sin();
        let normal = left_of(unit_vector(b - a));
        let centre = (a + b) / 2.0 + normal * (radius * (sweep / 2.0).cos());
        let start = (a - centre).y.atan2((a - centre).x);
        let steps = 32;
        let arc = (1..steps).map(|step| {
            let angle = start + sweep * f64::from(step) / f64::from(steps);
            centre + point(angle.cos(), angle.sin()) * radius
        });
        let arc: Vec<Point> = arc.collect();
        ring.splice(index + 1..index + 1, arc);
        // A mitre offset of a regular polyline leaves its vertices on a circle, a hair beyond the offset.
        let reach = thickness / 2.0 / (sweep / f64::from(steps) / 2.0).cos();
        return vec![
            Curve { centre, radius: radius + reach },
            Curve { centre, radius: radius - reach },
            Curve { centre, radius },
        ];
    }
    Vec::new()
}

/// The rectangle of an interior wall, lengthened so that corners with other interior walls are full.
fn interior_body(piece: &Piece, index: usize, interior: &[Piece]) -> Polygon<f64> {
    let along = unit_vector(piece.b - piece.a);
    let reach = |end: Point| {
        interior
            .iter()
            .enumerate()
            .filter(|(other, wall)| {
                let direction = unit_vector(wall.b - wall.a);
                let offset = end - wall.a;
                let position = dot(offset, direction);
                *other != index
                    && dot(direction, along).abs() < 1e-6
                    && dot(offset, left_of(direction)).abs() < 1e-6
                    && position > -1e-6
                    && position < wall.length() + 1e-6
            })
            .map(|(_, wall)| wall.thickness / 2.0)
            .fold(0.0, f64::max)
    };
    rectangle(piece.a - along * reach(piece.a), piece.b + along * reach(piece.b), piece.thickness / 2.0)
}

/// Rounds to a micrometre, drops rings and parts without area, turns shells counter-clockwise.
pub fn tidy(shapes: MultiPolygon<f64>) -> MultiPolygon<f64> {
    let ring = |line: &LineString<f64>| {
        let mut points: Vec<Point> = Vec::with_capacity(line.0.len());
        for p in &line.0 {
            let rounded = point((p.x * 1e6).round() / 1e6, (p.y * 1e6).round() / 1e6);
            if points.last() != Some(&rounded) {
                points.push(rounded);
            }
        }
        points.pop();
        let count = points.len();
        let corners = (0..count).filter(|&i| {
            let (u, v) = (points[i] - points[(i + count - 1) % count], points[(i + 1) % count] - points[i]);
            (u.x * v.y - u.y * v.x).abs() > 2e-6 * (length(u) + length(v)) || dot(u, v) < 0.0
        });
        corners.map(|i| points[i]).collect::<LineString<f64>>()
    };
    let area = |line: &LineString<f64>| Polygon::new(line.clone(), vec![]).unsigned_area();
    let parts = shapes.0.iter().filter_map(|part| {
        let shell = ring(part.exterior());
        let holes = part.interiors().iter().map(ring).filter(|hole| area(hole) > 1e-6).collect();
        (area(&shell) > 1e-6).then(|| Polygon::new(shell, holes).orient(Direction::Default))
    });
    MultiPolygon(parts.collect())
}

fn largest(shapes: MultiPolygon<f64>) -> Option<Polygon<f64>> {
    shapes.0.into_iter().max_by(|a, b| a.unsigned_area().total_cmp(&b.unsigned_area()))
}

/// The part of the free space that holds the cells of each room. A room that got no space is left out with the
/// rooms behind it keeping their order; numbers are given later.
fn rooms_of(program: &Program, free: &MultiPolygon<f64>) -> Vec<Room> {
    let mut rooms = Vec::new();
    for (index, kind) in program.kinds.iter().enumerate() {
        let cell = program.cells.iter().find(|cell| cell.room == index);
        let seed = cell.map(|cell| {
            let count = cell.corners.len() as f64;
            let sum = cell.corners.iter().fold((0, 0), |sum, corner| (sum.0 + corner.x, sum.1 + corner.y));
            point(sum.0 as f64 / count / 1000.0, sum.1 as f64 / count / 1000.0)
        });
        let part = seed.and_then(|seed| free.0.iter().find(|part| part.contains(&seed)));
        let outline = part.cloned().unwrap_or_else(|| Polygon::new(LineString(vec![]), vec![]));
        rooms.push(Room {
            kind: *kind,
            outline,
            number: String::new(),
            name: String::new(),
            label_at: seed.unwrap_or(point(0.0, 0.0)),
        });
    }
    rooms
}

/// Distance from a point to the nearest edge of a polygon.
pub fn clearance(outline: &Polygon<f64>, at: Point) -> f64 {
    let rings = std::iter::once(outline.exterior()).chain(outline.interiors());
    rings.flat_map(LineString::lines).map(|edge| distance_to_segment(at, edge.start, edge.end)).fold(f64::MAX, f64::min)
}

/// Distance from a point to a segment.
pub fn distance_to_segment(at: Point, a: Point, b: Point) -> f64 {
    let along = b - a;
    let size = dot(along, along);
    let t = if size > 0.0 { (dot(at - a, along) / size).clamp(0.0, 1.0) } else { 0.0 };
    length(at - (a + along * t))
}

/// Bounding box as low and high corner.
pub fn bounds(outline: &Polygon<f64>) -> (Point, Point) {
    let mut low = point(f64::MAX, f64::MAX);
    let mut high = point(f64::MIN, f64::MIN);
    for p in &outline.exterior().0 {
        low = point(low.x.min(p.x), low.y.min(p.y));
        high = point(high.x.max(p.x), high.y.max(p.y));
    }
    (low, high)
}

/// The point of a 15 × 15 lattice inside the outline that is farthest from its edges.
pub fn inner_point(outline: &Polygon<f64>) -> Point {
    if outline.exterior().0.len() < 4 {
        return point(0.0, 0.0);
    }
    let (low, high) = bounds(outline);
    let mut best = (f64::MIN, low);
    for row in 1..16 {
        for column in 1..16 {
            let at = point(
                low.x + (high.x - low.x) * f64::from(column) / 16.0,
                low.y + (high.y - low.y) * f64::from(row) / 16.0,
            );
            let room = clearance(outline, at);
            if room > best.0 + 1e-6 && outline.contains(&at) {
                best = (room, at);
            }
        }
    }
    best.1
}

fn place_columns(rooms: &[Room], exterior: &[Piece], build: &Build, random: &mut Random) -> Vec<Column> {
    let mut columns = Vec::new();
    let size = *random.pick(&[0.3, 0.35, 0.4]);
    let round = random.chance(0.3);
    for room in rooms {
        let large = matches!(room.kind, RoomKind::OpenSpace | RoomKind::Lobby | RoomKind::Classroom);
        let (low, high) = bounds(&room.outline);
        if !large || high.x - low.x < 5.0 && high.y - low.y < 5.0 {
            continue;
        }
        for share in [1.0 / 3.0, 2.0 / 3.0] {
            let along_x = high.x - low.x > high.y - low.y;
            let at = if along_x {
                point(low.x + (high.x - low.x) * share, (low.y + high.y) / 2.0)
            } else {
                point((low.x + high.x) / 2.0, low.y + (high.y - low.y) * share)
            };
            let at = point((at.x * 100.0).round() / 100.0, (at.y * 100.0).round() / 100.0);
            if room.outline.contains(&at) && clearance(&room.outline, at) > size {
                columns.push(Column { centre: at, size, round });
            }
        }
    }
    if random.chance(0.4) {
        // Wall columns where façade pieces meet: they stand out of the wall into the rooms.
        for piece in exterior.iter().filter(|piece| piece.length() > 3.0) {
            let size = build.exterior + 0.2;
            if random.chance(0.5) {
                columns.push(Column { centre: piece.a, size, round: false });
            }
        }
        columns.sort_by_key(|column| key(column.centre));
        columns.dedup_by_key(|column| key(column.centre));
    }
    columns
}
