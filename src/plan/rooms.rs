//! Faces → rooms and wall bodies; drawn room outlines.
//!
//! A face is judged by its equivalent rectangle (the one with its area and perimeter): the space between the two
//! faces of a wall is as narrow as walls are in this drawing, a room is wider. Labels inside speak for a room, a
//! fill or many closing lines around speak against. What is no room is counted with the reason. Closed polylines
//! and polygons on room layers take precedence over derived rooms they agree with.

use std::collections::BTreeMap;

use rstar::primitives::{GeomWithData, Rectangle as Bounds};

use super::classify::Roles;
use super::dissolve::mended;
use super::graph::{Graph, OUTSIDE};
use super::grid::{Frame, GridPoint};
use super::input::{Drawn, Input};
use super::lines::{CLOSING, COLUMN, FILL, GLASS, WallLines};
use super::shape::{Locator, signed_area, simplified};
use super::{PlanOptions, Polygon, Role, RoomOrigin, SourceRef};
use crate::drawing::Point;
use crate::drawing::nest::Effort;
use crate::drawing::parts::Parts;
use crate::format::{Checkpoint, Interrupt, Pace};

/// What a face is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FaceKind {
    Room,
    /// Between the faces of a wall, or a filled wall.
    WallBody,
    /// Between the closing lines of an opening.
    Threshold,
    Column,
    /// A strip of a window drawn inside a wall.
    Glazing,
    /// Too small or too narrow for anything.
    Sliver,
    /// Sheet frame.
    SheetFrame,
}

impl FaceKind {
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Self::Room => "room",
            Self::WallBody => "wall_body",
            Self::Threshold => "threshold",
            Self::Column => "column",
            Self::Glazing => "glazing",
            Self::Sliver => "sliver",
            Self::SheetFrame => "sheet_frame",
        }
    }
}

/// A judged face.
#[derive(Debug, Clone)]
pub(crate) struct JudgedFace {
    pub kind: FaceKind,
    pub area: f64,
    /// Shorter side of the equivalent rectangle.
    pub width: f64,
    pub confidence: f64,
    pub note: &'static str,
}

/// A room before labels.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    pub polygon: Polygon,
    pub origin: RoomOrigin,
    pub source: Option<SourceRef>,
    pub confidence: f64,
    pub reason: String,
    /// Id or class of the source, where it has one.
    pub words: Option<String>,
}

/// Judges all faces. `label_faces` holds the number of room texts by face.
pub(crate) fn judge(
    graph: &Graph,
    frame: &Frame,
    lines: &WallLines,
    label_points: &[Point],
    scale: f64,
    options: &PlanOptions,
    checkpoint: &Checkpoint<'_>,
) -> Result<Vec<JudgedFace>, Interrupt> {
    let step = frame.step();
    let mut judged = Vec::with_capacity(graph.faces.len());
    let labels = labels_by_face(graph, frame, label_points);
    for face in 0..graph.faces.len() as u32 {
        if face % 1024 == 0 {
            checkpoint()?;
        }
        let area = graph.faces[face as usize].area_twice as f64 * 0.5 * step * step;
        let (mut perimeter, mut closing, mut fill, mut column) = (0.0, 0.0, 0.0, 0.0);
        for half in graph.boundary(face) {
            let (a, b) = (graph.point(graph.origin(half)), graph.point(graph.target(half)));
            let length = (a.distance_squared(b) as f64).sqrt() * step;
            let marks = graph.marks[(half / 2) as usize];
            perimeter += length;
            if marks & CLOSING != 0 {
                closing += length;
            }
            if marks & FILL != 0 {
                fill += length;
            }
            if marks & COLUMN != 0 {
                column += length;
            }
        }
        let width = equivalent_width(area, perimeter);
        let labelled = labels[face as usize] > 0;
        let aspect = if width > 0.0 { area / (width * width) } else { f64::INFINITY };
        let holes = !graph.faces[face as usize].holes.is_empty();
        let wall_like = lines.max_thickness * 1.12 + 0.01 * scale;
        let min_area = options.min_room_area_m2 * scale * scale;
        let (kind, confidence, note) = if column > 0.9 * perimeter && area < 4.0 * scale * scale {
            (FaceKind::Column, 0.9, "bounded by column lines")
        } else if closing > 0.38 * perimeter && width < 0.8 * scale && area < 4.0 * scale * scale {
            (FaceKind::Threshold, 0.9, "between closing lines")
        } else if lines.double && width <= wall_like && !(labelled && width > 0.3 * scale) {
            (FaceKind::WallBody, 0.9, "as narrow as the walls of the drawing")
        } else if fill > 0.6 * perimeter && width < 0.7 * scale && !labelled {
            (FaceKind::WallBody, 0.9, "inside a fill")
        } else if area < min_area && !(labelled && area > 0.6 * min_area) {
            let solid = lines.named && !labelled && width > 0.08 * scale;
            (if solid { FaceKind::Column } else { FaceKind::Sliver }, 0.7, "smaller than a room")
        } else if width < options.min_room_width_m * scale && !labelled {
            (if lines.double { FaceKind::WallBody } else { FaceKind::Sliver }, 0.7, "narrower than a room")
        } else if lines.double && width < 0.66 * scale && aspect > 6.0 && !labelled {
            (FaceKind::WallBody, 0.6, "long and narrow")
        } else if !lines.named && holes && is_sheet_frame(graph, face, &labels) {
            (FaceKind::SheetFrame, 0.8, "a frame around the plan")
        } else {
            let sure = if labelled {
                0.97
            } else if lines.named {
                0.9
            } else {
                0.75
            };
            (FaceKind::Room, sure, "enclosed by walls and closed openings")
        };
        judged.push(JudgedFace { kind, area, width, confidence, note });
    }
    Ok(judged)
}

/// A window found by its strips: middle line and depth.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Glazed {
    pub line: [Point; 2],
    pub depth: f64,
    pub strips: usize,
}

/// Finds windows that are drawn by lines along a wall between two lines across it: rectangular wall bodies that lie
/// side by side with common ends. Their faces become [`FaceKind::Glazing`]. Where at least as many windows are `shown` by
/// symbols, such strips are layers of walls.
pub(crate) fn glaze(
    graph: &Graph,
    frame: &Frame,
    judged: &mut [JudgedFace],
    max_thickness: f64,
    double: bool,
    shown: usize,
    scale: f64,
) -> Vec<Glazed> {
    // Where walls are single lines, a window is one thin box in them.
    let least = if double { 2 } else { 1 };
    struct Strip {
        face: u32,
        corners: [Point; 4],
        middle: Point,
        along: crate::drawing::Vec2,
        length: f64,
        width: f64,
    }
    let mut strips: Vec<Strip> = Vec::new();
    let mut strip_of: std::collections::HashMap<u32, u32> = std::collections::HashMap::new();
    for (face, judgement) in judged.iter().enumerate() {
        if !matches!(judgement.kind, FaceKind::WallBody | FaceKind::Sliver) || !graph.faces[face].holes.is_empty() {
            continue;
        }
        let Some(Rectangle { corners, along, length, width }) = rectangle(graph, frame, face as u32, scale) else {
            continue;
        };
        if (0.35 * scale..=9.0 * scale).contains(&length)
            && width < 0.9 * max_thickness + 0.02 * scale
            && width < 0.7 * length
        {
            strip_of.insert(face as u32, strips.len() as u32);
            let middle = corners[0].midpoint(corners[2]);
            strips.push(Strip { face: face as u32, corners, middle, along, length, width });
        }
    }
    let mut parts = Parts::new(strips.len());
    for number in 0..strips.len() as u32 {
        let own = &strips[number as usize];
        for half in graph.ring(graph.faces[own.face as usize].shell) {
            let Some(&other) = strip_of.get(&graph.face(half ^ 1)) else { continue };
            let mate = &strips[other as usize];
            let shift = (mate.middle - own.middle).dot(own.along).abs();
            if other != number
                && shift < 0.03 * scale
                && (mate.length - own.length).abs() < 0.06 * scale
                && own.along.cross(mate.along).abs() < 0.05
            {
                parts.join(number, other);
            }
        }
    }
    let mut stacks: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for number in 0..strips.len() as u32 {
        stacks.entry(parts.of(number)).or_default().push(number);
    }
    let mut found = Vec::new();
    let mut faces = Vec::new();
    for members in stacks.into_values() {
        let first = &strips[members[0] as usize];
        let thickness: f64 = members.iter().map(|member| strips[*member as usize].width).sum();
        if members.len() < least || thickness > 1.15 * max_thickness + 0.02 * scale || thickness > 0.8 * first.length {
            continue;
        }
        let (u, n) = (first.along, crate::drawing::Vec2::new(-first.along.y, first.along.x));
        let (mut low, mut high) = ((f64::INFINITY, f64::INFINITY), (f64::NEG_INFINITY, f64::NEG_INFINITY));
        for member in &members {
            for corner in &strips[*member as usize].corners {
                let w = *corner - first.middle;
                low = (low.0.min(w.dot(u)), low.1.min(w.dot(n)));
                high = (high.0.max(w.dot(u)), high.1.max(w.dot(n)));
            }
        }
        let middle = n * (0.5 * (low.1 + high.1));
        found.push(Glazed {
            line: [first.middle + u * low.0 + middle, first.middle + u * high.0 + middle],
            depth: high.1 - low.1,
            strips: members.len(),
        });
        faces.extend(members.iter().map(|member| strips[*member as usize].face));
    }
    if found.len() <= shown {
        return Vec::new();
    }
    for face in faces {
        judged[face as usize].kind = FaceKind::Glazing;
    }
    found
}

/// A face with four square corners.
struct Rectangle {
    corners: [Point; 4],
    /// Direction of the longer sides.
    along: crate::drawing::Vec2,
    length: f64,
    width: f64,
}

fn rectangle(graph: &Graph, frame: &Frame, face: u32, scale: f64) -> Option<Rectangle> {
    let ring: Vec<Point> = graph
        .ring(graph.faces[face as usize].shell)
        .take(65)
        .map(|half| frame.metres(graph.point(graph.origin(half))))
        .collect();
    if ring.len() > 64 || !graph.faces[face as usize].holes.is_empty() {
        return None;
    }
    let corners = simplified(&ring, 0.004 * scale);
    let [a, b, c, d] = corners[..] else { return None };
    let (p, q) = (b - a, c - b);
    let (first, second) = (p.hypot(), q.hypot());
    let square = p.dot(q).abs() < 0.05 * first * second && (d - a - q).hypot() < 0.05 * second.max(first);
    let (along, length, width) = if first >= second { (p / first, first, second) } else { (q / second, second, first) };
    square.then_some(Rectangle { corners: [a, b, c, d], along, length, width })
}

/// Finds windows that are drawn by lines along a wall that runs through: two or more loose lines of one length inside
/// a wall body, or one between two lines across the wall.
pub(crate) fn inlaid(
    graph: &Graph,
    frame: &Frame,
    judged: &[JudgedFace],
    pieces: impl Iterator<Item = (Point, Point)>,
    max_thickness: f64,
    scale: f64,
) -> Vec<Glazed> {
    use rstar::{RTree, primitives::GeomWithData};
    let body = |point: Point| {
        let face = graph.locate(frame.grid(point));
        judged.get(face as usize).is_some_and(|face| face.kind == FaceKind::WallBody).then_some(face)
    };
    let all = SamePlace::of(pieces.filter(|(a, b)| {
        let length = a.distance(*b);
        (0.4 * scale..=9.0 * scale).contains(&length) && length >= 1.05 * max_thickness
    }));
    let lines: Vec<(Point, Point)> = all
        .lines
        .iter()
        .copied()
        .filter(|(a, b)| {
            let length = a.distance(*b);
            let normal = crate::drawing::Vec2::new(a.y - b.y, b.x - a.x) / length * (0.008 * scale);
            let probes = [0.03, 0.5, 0.97].map(|part| a.lerp(*b, part));
            let first = body(probes[1] + normal);
            first.is_some()
                && probes.iter().all(|probe| body(*probe + normal) == first && body(*probe - normal) == first)
        })
        .collect();
    let tree = RTree::bulk_load(
        lines
            .iter()
            .enumerate()
            .map(|(number, (a, b))| {
                let middle = a.midpoint(*b);
                GeomWithData::new([middle.x, middle.y], number)
            })
            .collect(),
    );
    let mut done = vec![false; lines.len()];
    let mut found = Vec::new();
    for (number, (a, b)) in lines.iter().enumerate() {
        if done[number] {
            continue;
        }
        let length = a.distance(*b);
        let (u, middle) = ((*b - *a) / length, a.midpoint(*b));
        let mut offsets = vec![0.0];
        for near in tree.locate_within_distance([middle.x, middle.y], max_thickness * max_thickness) {
            let (p, q) = lines[near.data];
            let way = (q - p) / p.distance(q);
            let like = (p.distance(q) - length).abs() < 0.1 * length && u.cross(way).abs() < 0.05;
            let shift = p.midpoint(q) - middle;
            if near.data != number && like && shift.dot(u).abs() < 0.1 * length {
                done[near.data] = true;
                offsets.push(u.cross(shift));
            }
        }
        done[number] = true;
        offsets.sort_by(f64::total_cmp);
        offsets.dedup_by(|p, q| (*p - *q).abs() < 0.004 * scale);
        if offsets.len() == 1 {
            let side = crate::drawing::Vec2::new(-u.y, u.x) * (0.008 * scale);
            let cell = body(middle + side).and_then(|face| rectangle(graph, frame, face, scale));
            if let Some(cell) = cell
                && cell.along.cross(u).abs() < 0.05
                && (0.85 * cell.length..=1.02 * cell.length).contains(&length)
            {
                let shift = cell.along * (0.5 * cell.length);
                let centre = cell.corners[0].midpoint(cell.corners[2]);
                found.push(Glazed { line: [centre - shift, centre + shift], depth: cell.width, strips: 1 });
                continue;
            }
            // The wall runs on at both ends, and its faces are drawn once more beside the line.
            let past = u * (0.04 * scale);
            let here = body(middle + side);
            if [*a - past, *b + past].iter().all(|end| body(*end + side) == here && body(*end - side) == here) {
                offsets.extend(all.beside(*a, *b, max_thickness));
                offsets.sort_by(f64::total_cmp);
                if !(offsets.first().is_some_and(|low| *low < 0.0) && offsets.last().is_some_and(|high| *high > 0.0)) {
                    continue;
                }
            }
        }
        if let (true, Some(low), Some(high)) = (offsets.len() >= 2, offsets.first(), offsets.last()) {
            let shift = crate::drawing::Vec2::new(-u.y, u.x) * (0.5 * (low + high));
            found.push(Glazed { line: [*a + shift, *b + shift], depth: high - low, strips: offsets.len() });
        }
    }
    found
}

/// Lines, to be found by their middles.
struct SamePlace {
    lines: Vec<(Point, Point)>,
    tree: rstar::RTree<GeomWithData<[f64; 2], usize>>,
}

impl SamePlace {
    fn of(lines: impl Iterator<Item = (Point, Point)>) -> Self {
        let lines: Vec<(Point, Point)> = lines.collect();
        let middles = lines.iter().enumerate().map(|(number, (a, b))| {
            let middle = a.midpoint(*b);
            GeomWithData::new([middle.x, middle.y], number)
        });
        let tree = rstar::RTree::bulk_load(middles.collect());
        Self { lines, tree }
    }

    /// How far to the left of `a → b` lines lie that begin and end where it does, within `reach`.
    fn beside(&self, a: Point, b: Point, reach: f64) -> Vec<f64> {
        let (length, middle) = (a.distance(b), a.midpoint(b));
        let u = (b - a) / length.max(f64::MIN_POSITIVE);
        let near = self.tree.locate_within_distance([middle.x, middle.y], reach * reach);
        near.filter_map(|near| {
            let (p, q) = self.lines[near.data];
            let shift = p.midpoint(q) - middle;
            let like = (p.distance(q) - length).abs() < 0.02 * length && u.cross(q - p).abs() < 0.05 * length;
            let off = u.cross(shift);
            (like && shift.dot(u).abs() < 0.02 * length && off.abs() > 0.02 * length.min(1.0)).then_some(off)
        })
        .collect()
    }
}

/// Shorter side of the rectangle with this area and perimeter; of the square of the area if there is none.
pub(crate) fn equivalent_width(area: f64, perimeter: f64) -> f64 {
    let half = 0.5 * perimeter;
    let root = half * half - 4.0 * area;
    if root <= 0.0 { area.max(0.0).sqrt() } else { 0.5 * (half - root.sqrt()) }
}

/// A rectangle around the plan with nothing in its sides: on its own, or with a title block in a corner.
fn is_sheet_frame(graph: &Graph, face: u32, labels: &[u32]) -> bool {
    let shell = graph.faces[face as usize].shell;
    let (mut outside, mut alone) = (false, true);
    let mut points = Vec::new();
    for half in graph.ring(shell) {
        let beyond = graph.face(half ^ 1);
        outside |= beyond == OUTSIDE;
        alone &= beyond == OUTSIDE;
        if graph.marks[(half / 2) as usize] & (CLOSING | GLASS) != 0 {
            return false;
        }
        points.push(graph.point(graph.origin(half)));
    }
    let shell_area = graph.ring_area[shell as usize] as f64;
    let holes = &graph.faces[face as usize].holes;
    let held: f64 = holes.iter().map(|ring| -(graph.ring_area[*ring as usize] as f64)).sum();
    if !outside || held <= 0.15 * shell_area || 0.5 * shell_area < 0.85 * box_area(&points) {
        return false;
    }
    // With a title block beside it, the frame must hold what is labelled, and not in itself.
    alone || labels.iter().sum::<u32>() >= 4 && labels[face as usize] * 4 <= labels.iter().sum::<u32>()
}

/// Area of the rectangle around points along their longest side, square steps.
fn box_area(points: &[GridPoint]) -> f64 {
    let ways = points.iter().zip(points.iter().cycle().skip(1)).map(|(a, b)| a.to(*b));
    let Some((x, y)) = ways.max_by_key(|(x, y)| x * x + y * y) else { return 0.0 };
    let length = ((x * x + y * y) as f64).sqrt().max(f64::MIN_POSITIVE);
    let (ux, uy) = (x as f64 / length, y as f64 / length);
    let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
    for point in points {
        let (px, py) = (f64::from(point.x), f64::from(point.y));
        for (side, value) in [ux * px + uy * py, ux * py - uy * px].into_iter().enumerate() {
            low[side] = low[side].min(value);
            high[side] = high[side].max(value);
        }
    }
    (high[0] - low[0]) * (high[1] - low[1])
}

fn labels_by_face(graph: &Graph, frame: &Frame, label_points: &[Point]) -> Vec<u32> {
    let mut counts = vec![0u32; graph.faces.len()];
    for point in label_points {
        let face = graph.locate(frame.grid(*point));
        if let Some(count) = counts.get_mut(face as usize) {
            *count += 1;
        }
    }
    counts
}

/// The polygon of a face in metres.
pub(crate) fn polygon(graph: &Graph, frame: &Frame, face: u32) -> Polygon {
    let (shell, holes) = graph.simple_rings(face);
    let ring = |points: Vec<super::grid::GridPoint>| {
        let metres: Vec<Point> = points.into_iter().map(|point| frame.metres(point)).collect();
        simplified(&metres, 1.01 * frame.step())
    };
    Polygon { shell: ring(shell), holes: holes.into_iter().map(ring).collect() }
}

/// Rooms that the drawing outlines itself.
pub(crate) fn drawn(
    input: &Input,
    roles: &Roles,
    scale: f64,
    options: &PlanOptions,
    counts: &mut BTreeMap<&'static str, u64>,
    checkpoint: &Checkpoint<'_>,
) -> Result<Vec<Candidate>, Interrupt> {
    let effort = Effort { pace: Pace::new(checkpoint), crossings: options.max_crossings };
    let mut found: Vec<Candidate> = Vec::new();
    let close = 0.05 * scale;
    for (number, item) in input.items.iter().enumerate() {
        if roles.items[number] != Role::Room {
            continue;
        }
        let class = &roles.layers[item.layer as usize];
        let entity = input.text(item.entity);
        if entity.eq_ignore_ascii_case("HATCH") && input.text(item.words).contains("ANSI") {
            continue;
        }
        let mut rings: Vec<Vec<Point>> = Vec::new();
        for (points, closed) in input.subpaths(item) {
            let mut ring = points.to_vec();
            if ring.len() > 2 && ring.first().zip(ring.last()).is_some_and(|(a, b)| a.distance(*b) <= close) {
                ring.pop();
            } else if !closed && item.drawn == Drawn::Lines {
                continue;
            }
            if ring.len() >= 3 {
                rings.push(ring);
            }
        }
        for polygon in nest(rings, &effort)? {
            if polygon.area() < options.min_room_area_m2 * scale * scale {
                *counts.entry("drawn_too_small").or_default() += 1;
                continue;
            }
            found.push(Candidate {
                polygon,
                origin: RoomOrigin::Drawn,
                source: Some(SourceRef {
                    layer: input.layers[item.layer as usize].name.clone(),
                    entity: entity.to_owned(),
                    identity: item.identity,
                    ordinal: item.ordinal,
                }),
                confidence: if class.role == Role::Room { class.confidence.max(0.7) } else { 0.8 },
                reason: format!("closed {entity} on a room layer"),
                words: (item.words != super::input::NONE).then(|| input.text(item.words).to_owned()),
            });
        }
    }
    without_doubles(found, counts, &effort.pace)
}

/// Shells and holes of rings by even-odd nesting.
fn nest(rings: Vec<Vec<Point>>, effort: &Effort<'_>) -> Result<Vec<Polygon>, Interrupt> {
    if let Some(polygons) = mended(&rings, effort)? {
        return Ok(polygons);
    }
    let pace = &effort.pace;
    if rings.len() == 1 {
        let one = |ring| Polygon { shell: oriented(ring, true), holes: Vec::new() };
        return Ok(rings.into_iter().map(one).collect());
    }
    let sizes: Vec<f64> = rings.iter().map(|ring| signed_area(ring).abs()).collect();
    let mut order: Vec<usize> = (0..rings.len()).collect();
    order.sort_by(|p, q| sizes[*q].total_cmp(&sizes[*p]).then(p.cmp(q)));
    let mut polygons: Vec<Polygon> = Vec::new();
    // Vertices of each polygon: what a look into it costs.
    let mut weights: Vec<usize> = Vec::new();
    let mut boxes: rstar::RTree<GeomWithData<Bounds<[f64; 2]>, usize>> = rstar::RTree::new();
    for number in order {
        let ring = rings[number].clone();
        let Some(&probe) = ring.first() else { continue };
        // The smallest shell around it; a ring inside a hole starts a new polygon.
        let mut parent = None;
        for entry in boxes.locate_in_envelope_intersecting(rstar::AABB::from_point([probe.x, probe.y])) {
            pace.steps(weights[entry.data])?;
            if parent.is_none_or(|known| entry.data > known) && polygons[entry.data].contains(probe) {
                parent = Some(entry.data);
            }
        }
        match parent {
            Some(parent) => {
                weights[parent] += ring.len();
                polygons[parent].holes.push(oriented(ring, false));
            }
            None => {
                if let Some((low, high)) = super::input::bounds(&ring) {
                    let bounds = Bounds::from_corners([low.x, low.y], [high.x, high.y]);
                    boxes.insert(GeomWithData::new(bounds, polygons.len()));
                }
                weights.push(ring.len());
                polygons.push(Polygon { shell: oriented(ring, true), holes: Vec::new() });
            }
        }
    }
    Ok(polygons)
}

fn oriented(mut ring: Vec<Point>, counter_clockwise: bool) -> Vec<Point> {
    if (signed_area(&ring) > 0.0) != counter_clockwise {
        ring.reverse();
    }
    ring
}

/// Drops repeated outlines and such as hold several others (gross areas).
fn without_doubles(
    mut found: Vec<Candidate>,
    counts: &mut BTreeMap<&'static str, u64>,
    pace: &Pace<'_>,
) -> Result<Vec<Candidate>, Interrupt> {
    found.sort_by(|p, q| {
        p.polygon.area().total_cmp(&q.polygon.area()).then_with(|| {
            let ordinal = |c: &Candidate| c.source.as_ref().map_or(0, |source| source.ordinal);
            ordinal(p).cmp(&ordinal(q))
        })
    });
    let locator = Locator::build(found.iter().enumerate().map(|(number, room)| (number as u32, &room.polygon)));
    let middles: Vec<Point> = found.iter().map(|room| room.polygon.point_inside()).collect();
    let areas: Vec<f64> = found.iter().map(|room| room.polygon.area()).collect();
    let mut drop = vec![false; found.len()];
    let mut held = vec![(0u32, 0.0f64); found.len()];
    for small in 0..found.len() {
        for big in locator.candidates(middles[small]) {
            let big = big as usize;
            pace.steps(found[big].polygon.shell.len())?;
            if big == small || drop[small] || !found[big].polygon.contains(middles[small]) {
                continue;
            }
            let like = (areas[big] - areas[small]).abs() <= 0.02 * areas[big];
            if like && big > small && found[small].polygon.contains(middles[big]) {
                drop[big] = true;
                *counts.entry("drawn_twice").or_default() += 1;
            } else if areas[big] > areas[small] {
                held[big].0 += 1;
                held[big].1 += areas[small];
            }
        }
    }
    for number in 0..found.len() {
        if held[number].0 >= 2 && held[number].1 > 0.5 * areas[number] && !drop[number] {
            drop[number] = true;
            *counts.entry("drawn_around_rooms").or_default() += 1;
        }
    }
    let mut flags = drop.into_iter();
    found.retain(|_| !flags.next().unwrap_or(false));
    Ok(found)
}

/// How drawn and derived rooms agree.
#[derive(Debug, Default)]
pub(crate) struct Agreement {
    /// Derived rooms that a drawn one stands for.
    pub matched: u64,
    /// Drawn rooms whose area differs from the derived one by more than a tenth: place, drawn, derived.
    pub differing: Vec<(Point, f64, f64)>,
}

/// Joins drawn and derived rooms; drawn ones win where both tell of the same space.
pub(crate) fn join(mut drawn: Vec<Candidate>, derived: Vec<Candidate>, scale: f64) -> (Vec<Candidate>, Agreement) {
    let mut agreement = Agreement::default();
    // An outline around several derived rooms is a gross area.
    let middles: Vec<(Point, f64)> =
        derived.iter().map(|room| (room.polygon.point_inside(), room.polygon.area())).collect();
    if middles.len() >= 3 {
        let mut tree = rstar::RTree::new();
        for (number, (middle, _)) in middles.iter().enumerate() {
            tree.insert(rstar::primitives::GeomWithData::new([middle.x, middle.y], number));
        }
        drawn.retain(|room| {
            let Some((low, high)) = room.polygon.bounds() else { return true };
            let inside: Vec<f64> = tree
                .locate_in_envelope(rstar::AABB::from_corners([low.x, low.y], [high.x, high.y]))
                .filter(|entry| room.polygon.contains(middles[entry.data].0))
                .map(|entry| middles[entry.data].1)
                .collect();
            // Stalls are parts of the room that is drawn around them: small, beside what is left of it.
            let area = room.polygon.area();
            let parts = inside.iter().filter(|part| **part >= (0.15 * area).min(4.0 * scale * scale)).count();
            inside.len() < 3 || parts < 2 || inside.iter().sum::<f64>() < 0.4 * area
        });
    }
    if drawn.is_empty() {
        return (derived, agreement);
    }
    open_rings(&mut drawn, &derived);
    let locator = Locator::build(drawn.iter().enumerate().map(|(number, room)| (number as u32, &room.polygon)));
    let mut rooms = Vec::new();
    let mut covered = vec![0.0f64; derived.len()];
    let derived_locator =
        Locator::build(derived.iter().enumerate().map(|(number, room)| (number as u32, &room.polygon)));
    for room in &drawn {
        let middle = room.polygon.point_inside();
        for number in derived_locator.candidates(middle) {
            if derived[number as usize].polygon.contains(middle) {
                covered[number as usize] += room.polygon.area();
            }
        }
    }
    for (number, room) in derived.into_iter().enumerate() {
        let middle = room.polygon.point_inside();
        let area = room.polygon.area();
        let within =
            locator.candidates(middle).into_iter().find(|other| drawn[*other as usize].polygon.contains(middle));
        if let Some(other) = within {
            agreement.matched += 1;
            let stated = drawn[other as usize].polygon.area();
            if (stated - area).abs() > 0.1 * stated.max(area) {
                agreement.differing.push((middle, stated, area));
            }
        } else if covered[number] <= 0.3 * area {
            rooms.push(room);
        }
    }
    rooms.extend(drawn);
    (rooms, agreement)
}

/// An outline cannot say that a room goes round something. Where the walls tell the same room with other rooms in
/// its middle, what encloses them is taken out of the outline too.
fn open_rings(drawn: &mut [Candidate], derived: &[Candidate]) {
    let rings: Vec<u32> =
        (0..derived.len() as u32).filter(|number| !derived[*number as usize].polygon.holes.is_empty()).collect();
    if rings.is_empty() {
        return;
    }
    let middles: Vec<Point> = derived.iter().map(|room| room.polygon.point_inside()).collect();
    let locator = Locator::build(rings.iter().map(|number| (*number, &derived[*number as usize].polygon)));
    for room in drawn.iter_mut().filter(|room| room.polygon.holes.is_empty()) {
        let Some((low, high)) = room.polygon.bounds() else { continue };
        let area = room.polygon.area();
        for number in locator.in_box(low, high) {
            let ring = &derived[number as usize].polygon;
            let gross = signed_area(&ring.shell).abs();
            if (gross - area).abs() > 0.1 * gross.max(area) || !room.polygon.contains(middles[number as usize]) {
                continue;
            }
            for hole in &ring.holes {
                let inner = Polygon { shell: hole.clone(), holes: Vec::new() };
                let holds_room = middles.iter().any(|middle| inner.contains(*middle));
                if holds_room && hole.iter().all(|point| room.polygon.contains(*point)) {
                    room.polygon.holes.push(hole.clone());
                }
            }
            break;
        }
    }
}

/// Closed shapes of unknown role that tile like rooms: plans that are drawn as coloured areas.
pub(crate) fn fills(
    input: &Input,
    roles: &Roles,
    scale: f64,
    options: &PlanOptions,
    checkpoint: &Checkpoint<'_>,
) -> Result<Vec<Candidate>, Interrupt> {
    let effort = Effort { pace: Pace::new(checkpoint), crossings: options.max_crossings };
    let mut found: Vec<Candidate> = Vec::new();
    for (number, item) in input.items.iter().enumerate() {
        if roles.items[number] != Role::Unknown || item.drawn != Drawn::Area {
            continue;
        }
        let rings: Vec<Vec<Point>> =
            input.subpaths(item).filter(|(points, _)| points.len() >= 3).map(|(points, _)| points.to_vec()).collect();
        for polygon in nest(rings, &effort)? {
            let area = polygon.area();
            let width = equivalent_width(area, polygon.perimeter());
            if area < (2.0 * options.min_room_area_m2).max(1.0) * scale * scale
                || width < 2.0 * options.min_room_width_m * scale
            {
                continue;
            }
            found.push(Candidate {
                polygon,
                origin: RoomOrigin::Drawn,
                source: Some(SourceRef {
                    layer: input.layers[item.layer as usize].name.clone(),
                    entity: input.text(item.entity).to_owned(),
                    identity: item.identity,
                    ordinal: item.ordinal,
                }),
                confidence: 0.55,
                reason: "a filled area the size of a room".to_owned(),
                words: (item.words != super::input::NONE).then(|| input.text(item.words).to_owned()),
            });
        }
    }
    let mut counts = BTreeMap::new();
    without_doubles(found, &mut counts, &effort.pace)
}
