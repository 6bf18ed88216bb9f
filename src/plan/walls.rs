//! Walls: centre lines with thickness, bodies, and the wall graph.
//!
//! Inside every wall body, half-edges that face each other are paired; the line between them is a piece of centre
//! line, its thickness their distance. Pieces are run on to where they meet others and noded, so that pieces meet in
//! nodes; straight and gently bending runs of one thickness become one wall. Wall lines with rooms on both sides
//! are walls drawn by one line. Curved walls come out as polylines.

use super::graph::{Graph, OUTSIDE};
use super::grid::{Frame, GridPoint, SegmentIndex};
use super::lines::{CHECK_EVERY, CLOSING, CROWD, WALL};
use super::noding::{Noding, Segment, node};
use super::rooms::{FaceKind, JudgedFace};
use super::{Polygon, Wall};
use crate::drawing::{Point, Vec2};
use crate::format::{Checkpoint, Interrupt};

/// A piece of centre line.
#[derive(Debug, Clone, Copy)]
struct Piece {
    a: Point,
    b: Point,
    /// 0 for walls of one line.
    thickness: f64,
    exterior: bool,
}

/// Walls, their bodies, and the length of wall lines that bound something.
pub(crate) struct Walls {
    pub walls: Vec<Wall>,
    pub areas: Vec<Polygon>,
    pub used_length: f64,
}

/// Finds walls in the judged faces.
pub(crate) fn find(
    graph: &Graph,
    frame: &Frame,
    judged: &[JudgedFace],
    max_thickness: f64,
    scale: f64,
    free: &[Vec<Point>],
    checkpoint: &Checkpoint<'_>,
) -> Result<Walls, Interrupt> {
    let is_body = |face: u32| {
        face != OUTSIDE
            && matches!(judged[face as usize].kind, FaceKind::WallBody | FaceKind::Sliver | FaceKind::Column)
    };
    let mut used_length = 0.0;
    let mut pieces = Vec::new();
    for edge in 0..graph.edges.len() as u32 {
        if graph.marks[edge as usize] & WALL == 0 {
            continue;
        }
        let (left, right) = (graph.face(2 * edge), graph.face(2 * edge + 1));
        let (a, b) = ends(graph, frame, 2 * edge);
        used_length += a.distance(b);
        let wall_side = |face: u32| {
            is_body(face)
                || (face != OUTSIDE && matches!(judged[face as usize].kind, FaceKind::Threshold | FaceKind::Glazing))
        };
        if graph.marks[edge as usize] & CLOSING == 0 && !wall_side(left) && !wall_side(right) {
            pieces.push(Piece { a, b, thickness: 0.0, exterior: left == OUTSIDE || right == OUTSIDE });
        }
    }
    for chain in free {
        for pair in chain.windows(2) {
            pieces.push(Piece { a: pair[0], b: pair[1], thickness: 0.0, exterior: false });
        }
    }
    pair_faces(graph, frame, judged, max_thickness, scale, &mut pieces, checkpoint)?;
    extend(&mut pieces, scale);
    let walls = chains(frame, &pieces, scale, checkpoint)?;
    let areas = (0..graph.faces.len() as u32)
        .filter(|face| matches!(judged[*face as usize].kind, FaceKind::WallBody | FaceKind::Column))
        .map(|face| super::rooms::polygon(graph, frame, face))
        .collect();
    Ok(Walls { walls, areas, used_length })
}

fn ends(graph: &Graph, frame: &Frame, half: u32) -> (Point, Point) {
    (frame.metres(graph.point(graph.origin(half))), frame.metres(graph.point(graph.target(half))))
}

/// Pairs half-edges that face each other inside wall bodies.
fn pair_faces(
    graph: &Graph,
    frame: &Frame,
    judged: &[JudgedFace],
    max_thickness: f64,
    scale: f64,
    pieces: &mut Vec<Piece>,
    checkpoint: &Checkpoint<'_>,
) -> Result<(), Interrupt> {
    let index = SegmentIndex::build(graph.edges.len(), |edge| {
        let (a, b) = graph.edges[edge];
        (graph.point(a), graph.point(b))
    });
    let thick = (max_thickness * 1.1).max(0.05 * scale);
    let reach = frame.steps(thick).ceil() as i64;
    let mut near: Vec<u32> = Vec::new();
    // By edge: the last half-edge it was met from.
    let mut met_from = vec![OUTSIDE; graph.edges.len()];
    let mut work = 0usize;
    for half in 0..(graph.edges.len() * 2) as u32 {
        if work > CHECK_EVERY || half % 2048 == 0 {
            checkpoint()?;
            work = 0;
        }
        let face = graph.face(half);
        if face == OUTSIDE
            || judged[face as usize].kind != FaceKind::WallBody
            || graph.marks[(half / 2) as usize] & CLOSING != 0
        {
            continue;
        }
        let (a, b) = ends(graph, frame, half);
        let length = a.distance(b);
        if length < 0.01 * scale {
            continue;
        }
        let u = (b - a) / length;
        let n = Vec2::new(-u.y, u.x);
        near.clear();
        let steps = (length / (1.5 * thick)).ceil().clamp(1.0, 4096.0) as usize;
        let mut seen = None;
        for step in 0..=steps {
            let point = frame.grid(a.lerp(b, step as f64 / steps as f64));
            let cells = index.cells_around(point, reach);
            if near.len() > CROWD || seen.replace(cells) == Some(cells) {
                continue;
            }
            index.around(point, reach, |edge| {
                work += 1;
                if met_from[edge as usize] != half {
                    met_from[edge as usize] = half;
                    near.push(edge);
                }
            });
        }
        if near.len() > CROWD {
            continue;
        }
        near.sort_unstable();
        work += near.len();
        // Opposite half-edges of the same face: distance, interval along ours, number, exterior.
        let mut opposite: Vec<(f64, f64, f64, u32)> = Vec::new();
        for &edge in &near {
            for other in [2 * edge, 2 * edge + 1] {
                if other == half || graph.face(other) != face {
                    continue;
                }
                let (p, q) = ends(graph, frame, other);
                let other_length = p.distance(q);
                let slack = if length.min(other_length) < 0.5 * scale { 0.97 } else { 0.995 };
                if other_length < 0.01 * scale || u.dot((q - p) / other_length) > -slack {
                    continue;
                }
                let distance = 0.5 * ((p - a).dot(n) + (q - a).dot(n));
                let (from, to) = ((q - a).dot(u).max(0.0), (p - a).dot(u).min(length));
                if distance > 0.01 * scale && distance <= thick && to - from > 0.005 * scale {
                    opposite.push((distance, from, to, other));
                }
            }
        }
        opposite.sort_by(|p, q| p.0.total_cmp(&q.0).then(p.3.cmp(&q.3)));
        let mut taken: Vec<(f64, f64)> = Vec::new();
        for (distance, from, to, other) in opposite {
            for (from, to) in subtract(from, to, &taken) {
                if half < other && to - from >= (0.3 * distance).min(0.02 * scale) {
                    let shift = n * (0.5 * distance);
                    let exterior = graph.face(half ^ 1) == OUTSIDE || graph.face(other ^ 1) == OUTSIDE;
                    pieces.push(Piece {
                        a: a + u * from + shift,
                        b: a + u * to + shift,
                        thickness: distance,
                        exterior,
                    });
                }
            }
            taken.push((from, to));
        }
    }
    // Across a wall of length below its thickness the pair runs the wrong way: ends of caps.
    pieces.retain(|piece| piece.thickness == 0.0 || piece.a.distance(piece.b) >= 0.35 * piece.thickness);
    Ok(())
}

/// Parts of an interval that others do not cover.
fn subtract(from: f64, to: f64, taken: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut parts = vec![(from, to)];
    for &(start, end) in taken {
        let mut next = Vec::with_capacity(parts.len());
        for (low, high) in parts {
            if end <= low || start >= high {
                next.push((low, high));
                continue;
            }
            if start > low {
                next.push((low, start));
            }
            if end < high {
                next.push((end, high));
            }
        }
        parts = next;
    }
    parts
}

/// Runs piece ends on to the pieces they would meet within a wall's thickness.
fn extend(pieces: &mut [Piece], scale: f64) {
    if pieces.is_empty() {
        return;
    }
    let frame = Frame::holding(pieces.iter().flat_map(|piece| [piece.a, piece.b]), Frame::STEP_M * scale.min(1.0));
    let index = SegmentIndex::build(pieces.len(), |piece| (frame.grid(pieces[piece].a), frame.grid(pieces[piece].b)));
    let thickest = pieces.iter().map(|piece| piece.thickness).fold(0.0, f64::max);
    let mut moved: Vec<(usize, bool, Point)> = Vec::new();
    let mut near = Vec::new();
    for (number, piece) in pieces.iter().enumerate() {
        if piece.thickness == 0.0 {
            continue;
        }
        for at_end in [false, true] {
            let (tip, tail) = if at_end { (piece.b, piece.a) } else { (piece.a, piece.b) };
            let length = tip.distance(tail);
            if length <= 0.0 {
                continue;
            }
            let way = (tip - tail) / length;
            let reach = 0.75 * thickest.max(piece.thickness) + 0.02 * scale;
            near.clear();
            index.around(frame.grid(tip), frame.steps(2.0 * reach).ceil() as i64, |other| near.push(other));
            near.sort_unstable();
            near.dedup();
            let mut best: Option<(f64, f64)> = None;
            for &other in &near {
                let mate = &pieces[other as usize];
                if other as usize == number {
                    continue;
                }
                let side = mate.b - mate.a;
                let mate_length = side.hypot();
                let det = way.cross(side);
                if mate_length <= 0.0 {
                    continue;
                }
                let limit = 0.5 * piece.thickness.max(mate.thickness) * 1.5 + 0.02 * scale;
                if det.abs() < 0.15 * mate_length {
                    // In line: meet end on, over the width of a crossing wall.
                    for end in [mate.a, mate.b] {
                        let w = end - tip;
                        if way.cross(w).abs() < 0.02 * scale && (0.0..=2.0 * limit).contains(&way.dot(w)) {
                            let distance = way.dot(w);
                            if best.is_none_or(|known| distance < known.0) {
                                best = Some((distance, distance));
                            }
                        }
                    }
                    continue;
                }
                let w = mate.a - tip;
                let distance = w.cross(side) / det;
                let place = w.cross(way) / det;
                let beyond = limit / mate_length;
                if (-limit..=limit).contains(&distance)
                    && (-beyond..=1.0 + beyond).contains(&place)
                    && best.is_none_or(|known| distance.abs() < known.0.abs())
                {
                    best = Some((distance.abs(), distance));
                }
            }
            if let Some((_, distance)) = best
                && distance > -0.9 * length
            {
                moved.push((number, at_end, tip + way * distance));
            }
        }
    }
    for (number, at_end, to) in moved {
        if at_end {
            pieces[number].b = to;
        } else {
            pieces[number].a = to;
        }
    }
}

/// Middle lines hardly cross: more than this for each is no wall graph any more.
const CROSSINGS_PER_PIECE: u64 = 64;

/// Nodes the pieces and joins runs between junctions.
fn chains(frame: &Frame, pieces: &[Piece], scale: f64, checkpoint: &Checkpoint<'_>) -> Result<Vec<Wall>, Interrupt> {
    let segments: Vec<Segment> = pieces
        .iter()
        .map(|piece| Segment {
            a: frame.grid(piece.a),
            b: frame.grid(piece.b),
            marks: u8::from(piece.thickness > 0.0) | (u8::from(piece.exterior) << 1),
        })
        .filter(|segment| segment.a != segment.b)
        .collect();
    // Middle lines of walls that were noded themselves: where they are too crowded after all, they stay as they are.
    let noding =
        Noding { tolerance: frame.steps(0.015 * scale), max_crossings: CROSSINGS_PER_PIECE * segments.len() as u64 };
    let noded = node(&segments, noding, checkpoint)?;
    let index = SegmentIndex::build(pieces.len(), |piece| (frame.grid(pieces[piece].a), frame.grid(pieces[piece].b)));
    let around = super::graph::Incidence::build(noded.vertices.len(), &noded.edges);
    let mut near = Vec::new();
    let thickness: Vec<f64> = noded
        .edges
        .iter()
        .map(|&(a, b)| {
            let (p, q) = (frame.metres(noded.vertices[a as usize]), frame.metres(noded.vertices[b as usize]));
            let middle = p.midpoint(q);
            let way = (q - p) / p.distance(q).max(f64::MIN_POSITIVE);
            near.clear();
            index.around(frame.grid(middle), frame.steps(0.03 * scale).ceil() as i64, |piece| near.push(piece));
            near.sort_unstable();
            near.dedup();
            let mut best: Option<(f64, f64)> = None;
            for &piece in &near {
                let piece = &pieces[piece as usize];
                let along = (piece.b - piece.a) / piece.a.distance(piece.b).max(f64::MIN_POSITIVE);
                let off = super::net::nearest_on(piece.a, piece.b, middle).distance(middle)
                    + 0.1 * scale * along.cross(way).abs();
                if best.is_none_or(|known| off < known.0) {
                    best = Some((off, piece.thickness));
                }
            }
            best.map_or(0.0, |known| known.1)
        })
        .collect();
    let place = |vertex: u32| frame.metres(noded.vertices[vertex as usize]);
    let same = |p: u32, q: u32| (thickness[p as usize] - thickness[q as usize]).abs() <= 0.012 * scale;
    let goes_on = |vertex: u32| -> bool {
        let edges = around.of(vertex as usize);
        let [first, second] = edges else { return false };
        if !same(*first, *second) || noded.marks[*first as usize] & 2 != noded.marks[*second as usize] & 2 {
            return false;
        }
        let far = |edge: u32| {
            let (a, b) = noded.edges[edge as usize];
            if a == vertex { b } else { a }
        };
        let here = place(vertex);
        let (u, v) = (here - place(far(*first)), place(far(*second)) - here);
        u.dot(v) > 0.85 * u.hypot() * v.hypot()
    };
    let mut done = vec![false; noded.edges.len()];
    let mut walls = Vec::new();
    let mut starts: Vec<u32> = (0..noded.edges.len() as u32).collect();
    // Runs that start at a junction first, closed rings of wall last.
    starts.sort_by_key(|edge| {
        let (a, b) = noded.edges[*edge as usize];
        (goes_on(a) && goes_on(b), *edge)
    });
    for start in starts {
        if done[start as usize] {
            continue;
        }
        let (a, b) = noded.edges[start as usize];
        let (first, mut at) = if goes_on(a) && !goes_on(b) { (b, a) } else { (a, b) };
        let mut run = vec![first, at];
        let mut edge = start;
        done[start as usize] = true;
        while goes_on(at) && at != first {
            let Some(&next) = around.of(at as usize).iter().find(|next| **next != edge) else { break };
            if done[next as usize] {
                break;
            }
            done[next as usize] = true;
            let (p, q) = noded.edges[next as usize];
            at = if p == at { q } else { p };
            edge = next;
            run.push(at);
        }
        let line: Vec<Point> = run.iter().map(|vertex| place(*vertex)).collect();
        let line = straightened(&line, 0.003 * scale);
        let length: f64 = line.windows(2).map(|pair| pair[0].distance(pair[1])).sum();
        let thick = thickness[start as usize];
        if length < 0.5 * thick || length < 0.03 * scale {
            continue;
        }
        walls.push(Wall {
            centre_line: line,
            thickness_m: (thick > 0.0).then_some(thick),
            length_m: length,
            nodes: (first, at),
            exterior: noded.marks[start as usize] & 2 != 0,
            confidence: if thick > 0.0 { 0.9 } else { 0.8 },
            reason: if thick > 0.0 { "two faces that run side by side" } else { "a line between two spaces" }
                .to_owned(),
        });
    }
    renumber(&mut walls);
    Ok(walls)
}

/// Node numbers without gaps, in order of first use.
fn renumber(walls: &mut [Wall]) {
    let mut numbers: std::collections::HashMap<u32, u32> = std::collections::HashMap::new();
    for wall in walls {
        let next = numbers.len() as u32;
        let first = *numbers.entry(wall.nodes.0).or_insert(next);
        let next = numbers.len() as u32;
        let second = *numbers.entry(wall.nodes.1).or_insert(next);
        wall.nodes = (first, second);
    }
}

/// Inner points that lie on the line of their neighbours go.
fn straightened(line: &[Point], tolerance: f64) -> Vec<Point> {
    let mut kept: Vec<Point> = Vec::with_capacity(line.len());
    for (number, &point) in line.iter().enumerate() {
        if number > 0
            && number + 1 < line.len()
            && let (Some(before), Some(after)) = (kept.last(), line.get(number + 1))
        {
            let way = *after - *before;
            let off = (way.cross(point - *before) / way.hypot().max(f64::MIN_POSITIVE)).abs();
            if off <= tolerance && way.dot(point - *before) > 0.0 {
                continue;
            }
        }
        kept.push(point);
    }
    kept
}

/// Outer boundaries of everything that is not inside something else.
pub(crate) fn outline(graph: &Graph, frame: &Frame) -> Vec<Polygon> {
    let mut parts = Vec::new();
    for ring in 0..graph.ring_start.len() as u32 {
        if graph.ring_area[ring as usize] >= 0 || graph.face_of_ring[ring as usize] != OUTSIDE {
            continue;
        }
        for part in graph.divided(ring) {
            let mut points: Vec<Point> = part.into_iter().map(|point: GridPoint| frame.metres(point)).collect();
            points.reverse();
            if super::shape::signed_area(&points) > 0.0 {
                let shell = super::shape::simplified(&points, 1.01 * frame.step());
                parts.push(Polygon { shell, holes: Vec::new() });
            }
        }
    }
    parts
}
