//! Walls: centre lines with thickness, bodies, and the wall graph.
//!
//! Inside every wall body, half-edges that face each other are paired; the line between them is a piece of centre
//! line, its thickness their distance. Pieces are run on to where they meet others and noded, so that pieces meet in
//! nodes; straight and gently bending runs of one thickness become one wall. Wall lines with rooms on both sides
//! are walls drawn by one line. Curved walls come out as polylines.

use super::graph::{Graph, OUTSIDE};
use super::grid::{Frame, GridPoint, SegmentIndex};
use super::lines::{CLOSING, WALL};
use super::noding::{Noding, Segment, node};
use super::rooms::{FaceKind, JudgedFace};
use super::{Polygon, Wall};
use crate::drawing::{Point, Vec2};
use crate::format::{Checkpoint, Interrupt, Pace};

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
    let pace = Pace::new(checkpoint);
    pair_faces(graph, frame, judged, max_thickness, scale, &mut pieces, &pace)?;
    extend(&mut pieces, scale, &pace)?;
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

/// Within the thickness of a wall no face of it sees so many others of the same body: it is one of a dense pattern, and
/// looks no further.
const MOST_FACES: usize = 1024;

/// Bodies with no more half-edges than this need no index.
const SMALL_BODY: usize = 32;

/// Pairs half-edges that face each other inside wall bodies, body by body.
fn pair_faces(
    graph: &Graph,
    frame: &Frame,
    judged: &[JudgedFace],
    max_thickness: f64,
    scale: f64,
    pieces: &mut Vec<Piece>,
    pace: &Pace<'_>,
) -> Result<(), Interrupt> {
    let thick = (max_thickness * 1.1).max(0.05 * scale);
    let mut found: Vec<(u32, Piece)> = Vec::new();
    for (face, judgement) in (0..graph.faces.len() as u32).zip(judged) {
        pace.step()?;
        if judgement.kind != FaceKind::WallBody {
            continue;
        }
        let mut halves: Vec<u32> = graph.boundary(face).collect();
        halves.sort_unstable();
        pair_body(graph, frame, &halves, thick, scale, &mut found, pace)?;
    }
    found.sort_by_key(|(half, _)| *half);
    pieces.extend(found.into_iter().map(|(_, piece)| piece));
    // Across a wall of length below its thickness the pair runs the wrong way: ends of caps.
    pieces.retain(|piece| piece.thickness == 0.0 || piece.a.distance(piece.b) >= 0.35 * piece.thickness);
    Ok(())
}

/// Pairs the half-edges of one wall body that face each other.
fn pair_body(
    graph: &Graph,
    frame: &Frame,
    halves: &[u32],
    thick: f64,
    scale: f64,
    found: &mut Vec<(u32, Piece)>,
    pace: &Pace<'_>,
) -> Result<(), Interrupt> {
    let index = (halves.len() > SMALL_BODY).then(|| {
        SegmentIndex::build(halves.len(), |number| {
            let half = halves[number];
            (graph.point(graph.origin(half)), graph.point(graph.target(half)))
        })
    });
    pace.steps(4 * halves.len())?;
    // Where cells are larger than a wall is thick, a smaller reach looks at the same ones.
    let cell = index.as_ref().map_or(0.0, |index| frame.step() * index.cell().0.min(index.cell().1) as f64);
    let coarse = cell >= thick;
    let mut near: Vec<u32> = Vec::new();
    // By place in the list: the last look it was met in.
    let mut met_in = vec![0u32; halves.len()];
    let mut look = 0u32;
    for &half in halves {
        if graph.marks[(half / 2) as usize] & CLOSING != 0 {
            continue;
        }
        let (a, b) = ends(graph, frame, half);
        let length = a.distance(b);
        if length < 0.01 * scale {
            continue;
        }
        let u = (b - a) / length;
        let n = Vec2::new(-u.y, u.x);
        // Opposite half-edges: distance, interval along ours, number.
        let mut opposite: Vec<(f64, f64, f64, u32)> = Vec::new();
        let weigh = |other: u32| {
            let (p, q) = ends(graph, frame, other);
            let other_length = p.distance(q);
            let slack = if length.min(other_length) < 0.5 * scale { 0.97 } else { 0.995 };
            if other == half || other_length < 0.01 * scale || u.dot((q - p) / other_length) > -slack {
                return None;
            }
            let distance = 0.5 * ((p - a).dot(n) + (q - a).dot(n));
            let (from, to) = ((q - a).dot(u).max(0.0), (p - a).dot(u).min(length));
            let faces = distance > 0.01 * scale && distance <= thick && to - from > 0.005 * scale;
            faces.then_some((distance, from, to, other))
        };
        match &index {
            None => {
                pace.steps(halves.len())?;
                opposite.extend(halves.iter().filter_map(|other| weigh(*other)));
            }
            Some(index) => {
                near.clear();
                look = look.wrapping_add(1);
                // A box this large is seen whole from half the way to the next place that is looked from, at any angle.
                let reach = 1.52 * thick;
                let at_once = coarse && around(index, frame, (a, b), reach, look, &mut met_in, &mut near, pace)?;
                if at_once {
                    opposite.extend(near.iter().filter_map(|place| weigh(halves[*place as usize])));
                } else {
                    near.clear();
                    look = look.wrapping_add(1);
                }
                // From near to far, until the nearest ones hide whatever is behind them.
                let parts = [0.125, 0.25, 0.5, 1.0].into_iter().filter(|_| !at_once);
                for part in parts {
                    let reach = part * thick;
                    let first = near.len();
                    if !around(index, frame, (a, b), reach, look, &mut met_in, &mut near, pace)? {
                        break;
                    }
                    opposite.extend(near[first..].iter().filter_map(|place| weigh(halves[*place as usize])));
                    let shown = opposite.iter().filter(|(distance, ..)| *distance <= 0.75 * reach);
                    let mut hidden: Vec<(f64, f64)> = shown.map(|(_, from, to, _)| (*from, *to)).collect();
                    if subtract_all(length, &mut hidden) <= 0.0 {
                        break;
                    }
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
                    let (a, b) = (a + u * from + shift, a + u * to + shift);
                    found.push((half, Piece { a, b, thickness: distance, exterior }));
                }
            }
            taken.push((from, to));
        }
    }
    Ok(())
}

/// Appends what lies around a segment within a reach and was not met in this look yet, by place in the list; `false` if that
/// is too much to look at.
#[expect(clippy::too_many_arguments, reason = "one caller, in its inner loop")]
fn around(
    index: &SegmentIndex,
    frame: &Frame,
    (a, b): (Point, Point),
    reach: f64,
    look: u32,
    met_in: &mut [u32],
    near: &mut Vec<u32>,
    pace: &Pace<'_>,
) -> Result<bool, Interrupt> {
    let first = near.len();
    let steps = (a.distance(b) / (1.5 * reach)).ceil().clamp(1.0, 4096.0) as usize;
    let reach = frame.steps(reach).ceil() as i64;
    let mut seen = None;
    for step in 0..=steps {
        let point = frame.grid(a.lerp(b, step as f64 / steps as f64));
        let cells = index.cells_around(point, reach);
        if seen.replace(cells) == Some(cells) {
            continue;
        }
        let mut work = 0;
        index.around(point, reach, |place| {
            work += 1;
            if met_in[place as usize] != look {
                met_in[place as usize] = look;
                near.push(place);
            }
        });
        pace.steps(work + 1)?;
        if near.len() > MOST_FACES + steps {
            near.truncate(first);
            return Ok(false);
        }
    }
    near[first..].sort_unstable();
    Ok(true)
}

/// Length of an interval from 0 that others leave uncovered.
fn subtract_all(length: f64, covered: &mut [(f64, f64)]) -> f64 {
    covered.sort_by(|p, q| p.0.total_cmp(&q.0));
    let (mut left, mut reached) = (0.0, 0.0f64);
    for &(from, to) in covered.iter() {
        left += (from - reached).max(0.0);
        reached = reached.max(to);
    }
    left + (length - reached).max(0.0)
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
fn extend(pieces: &mut [Piece], scale: f64, pace: &Pace<'_>) -> Result<(), Interrupt> {
    if pieces.is_empty() {
        return Ok(());
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
            pace.steps(near.len())?;
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
    Ok(())
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
