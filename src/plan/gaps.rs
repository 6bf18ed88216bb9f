//! Openings without a symbol: wall ends that face each other, or the side of another wall.
//!
//! From each end of a wall that no door or window has closed, its faces are run on to what they meet. The width decides
//! whether that is an opening, and what lies along the gap which kind: lines make it a window, thin boxes a
//! sliding door. Ends of single lines may be drawn not quite in one line.

use std::collections::HashSet;

use super::lines::COLUMN;
use super::net::Net;
use super::openings::{Fitted, Loose, Measures, Openings};
use super::{OpeningKind, PlanOptions};
use crate::drawing::{Point, Vec2};
use crate::format::{Checkpoint, Interrupt};

/// The end of a wall: its two corners (or its one end), and where it points.
#[derive(Debug, Clone, Copy)]
struct Cap {
    corners: (u32, u32),
    way: Vec2,
    thickness: f64,
    /// How far the wall runs back from there, at least; looked at over half a metre.
    depth: f64,
    /// Belongs to a piece as small as a column or a pier.
    small: bool,
    /// Belongs to a piece that stands free: a stringer, a screen, a counter.
    free: bool,
    /// The side of a column, which walls run into.
    column: bool,
    /// The end face runs on past a corner as the side of another wall: the two meet there, and neither ends.
    turned: bool,
}

/// Between the corners of two walls, or a corner and a wall, no wider gap is an opening, metres: it is the width of a
/// corridor that goes round the corner.
const WIDEST_AT_CORNERS_M: f64 = 1.05;

/// Closes what no symbol has closed: `used` are the ends that one has.
pub(super) fn bare_gaps(
    net: &Net,
    loose: &Loose,
    used: &HashSet<u32>,
    measures: Measures,
    options: &PlanOptions,
    openings: &mut Openings,
    checkpoint: &Checkpoint<'_>,
) -> Result<(), Interrupt> {
    if options.max_bare_gap_m <= 0.0 {
        return Ok(());
    }
    let scale = measures.scale;
    let caps = caps(net, used, measures, checkpoint)?;
    let mut by_corner: std::collections::HashMap<u32, Vec<usize>> = std::collections::HashMap::new();
    for (number, cap) in caps.iter().enumerate() {
        by_corner.entry(cap.corners.0).or_default().push(number);
        by_corner.entry(cap.corners.1).or_default().push(number);
    }
    let reach = options.max_bare_gap_m * scale;
    let far = (options.max_opening_width_m * scale).max(reach);
    let thickest = options.max_wall_thickness_m * scale;
    let mut closed = vec![false; caps.len()];
    let ends = line_ends(net, &caps);
    let mut scratch = Vec::new();
    for number in 0..caps.len() {
        if number % 256 == 0 {
            checkpoint()?;
        }
        let cap = caps[number];
        if closed[number] {
            continue;
        }
        let corners = [net.place(cap.corners.0), net.place(cap.corners.1)];
        let single = cap.corners.0 == cap.corners.1;
        if single && let Some(other) = opposite(net, &caps, &ends, &closed, number, 0.8 * reach, measures, options) {
            let end = net.place(caps[other].corners.0);
            let band = 0.12 * scale;
            let slides = loose.slides(corners[0], end, band);
            let glass = !slides && loose.along(corners[0], end, band) + inner_lines(net, corners[0], end, band) > 0;
            closed[number] = true;
            closed[other] = true;
            openings.fitted.push(Fitted {
                kind: match (slides, glass) {
                    (true, _) => OpeningKind::SlidingDoor,
                    (_, true) => OpeningKind::Window,
                    _ => OpeningKind::Gap,
                },
                line: [corners[0], end],
                depth: None,
                closings: vec![(corners[0], end)],
                hinges: Vec::new(),
                swing: None,
                source: None,
                confidence: 0.6,
                reason: "gap between two lines that nearly line up".to_owned(),
            });
            continue;
        }
        let Some(first) = net.ray(corners[0], cap.way, far, cap.corners.0, 0.02 * scale, 0.02 * scale) else {
            continue;
        };
        let second = if single {
            first
        } else {
            match net.ray(corners[1], cap.way, far, cap.corners.1, 0.02 * scale, 0.02 * scale) {
                Some(hit) => hit,
                None => continue,
            }
        };
        let gap = 0.5 * (first.distance + second.distance);
        if (first.distance - second.distance).abs() > 0.25 * gap.min(scale) || gap < options.min_opening_width_m * scale
        {
            continue;
        }
        // What was met: the end of another wall, or the side of one.
        let facing = facing_cap(net, &caps, &by_corner, cap, first.at.midpoint(second.at), &mut scratch, number);
        let band = (0.5 * cap.thickness + 0.05 * scale).max(0.12 * scale);
        let start = corners[0].midpoint(corners[1]);
        if !measures.double && single_is_filled(net, cap, gap) {
            continue;
        }
        let end = start + cap.way * gap;
        let hidden =
            if single { runs_past(net, start, end, band) } else { is_inside_wall(net, cap, start, gap, thickest) };
        if hidden {
            continue;
        }
        let slides = loose.slides(start, end, band);
        let lines = if slides {
            0
        } else {
            let inner = if single { band } else { 0.5 * cap.thickness - 0.015 * scale };
            loose.along(start, end, band) + inner_lines(net, start, end, inner)
        };
        let drawn = lines > 0 || slides;
        let limit = if drawn { far } else { reach };
        let ends = !cap.turned || facing.is_some_and(|other| !caps[other].turned);
        if !ends && !drawn && gap > WIDEST_AT_CORNERS_M * scale {
            continue;
        }
        let side_limit = 0.62 * reach;
        let accepted = match facing {
            Some(other) => {
                // Two piers face each other everywhere; glass between them makes them a wall.
                let piers = cap.small && caps[other].small && lines < 2;
                gap <= if single && !drawn { 0.8 * limit } else { limit } && !piers
            }
            // Where a wall sticks out of another a little, as junctions are drawn wall by wall, or a pier, nothing ends.
            None => {
                let stub = cap.depth < (0.35 * scale).max(1.3 * cap.thickness) && gap > 1.1 * scale;
                // From a column to the side of a wall, lines are a wall.
                let wall = cap.column && gap > 1.1 * scale;
                (!cap.free && !stub || drawn) && !wall && gap <= if drawn { far } else { side_limit }
            }
        };
        if !accepted || (single && facing.is_none() && gap > 1.35 * scale && !drawn) {
            continue;
        }
        let mut closings = vec![(corners[0], first.at)];
        if !single {
            closings.push((corners[1], second.at));
        }
        if let Some(other) = facing {
            closed[other] = true;
            if !single {
                let mate = caps[other];
                // A thicker wall on the other side keeps its own corners; a ray ends on its face.
                for closing in &mut closings {
                    for corner in [mate.corners.0, mate.corners.1] {
                        let place = net.place(corner);
                        if place.distance(closing.1) < 0.03 * scale {
                            closing.1 = place;
                        }
                    }
                }
            } else {
                let mate = net.place(caps[other].corners.0);
                if mate.distance(closings[0].1) < 0.06 * scale {
                    closings[0].1 = mate;
                }
            }
        }
        closed[number] = true;
        let kind = match (lines, slides) {
            (_, true) => OpeningKind::SlidingDoor,
            (0, false) => OpeningKind::Gap,
            _ => OpeningKind::Window,
        };
        let reason = match (kind, facing) {
            (OpeningKind::SlidingDoor, _) => "gap in a wall with panels along it".to_owned(),
            (OpeningKind::Window, _) => format!("gap in a wall with {lines} lines along it"),
            (_, Some(_)) => "gap between two wall ends".to_owned(),
            _ => "gap between a wall end and a wall".to_owned(),
        };
        openings.fitted.push(Fitted {
            kind,
            line: [start, first.at.midpoint(second.at)],
            depth: (!single).then_some(cap.thickness),
            closings,
            hinges: Vec::new(),
            swing: None,
            source: None,
            confidence: if facing.is_some() { 0.75 } else { 0.6 },
            reason,
        });
    }
    Ok(())
}

/// Ends of walls of one line, by place.
type LineEnds = rstar::RTree<rstar::primitives::GeomWithData<[f64; 2], usize>>;

fn line_ends(net: &Net, caps: &[Cap]) -> LineEnds {
    let ends = caps.iter().enumerate().filter(|(_, cap)| cap.corners.0 == cap.corners.1);
    LineEnds::bulk_load(
        ends.map(|(number, cap)| {
            let place = net.place(cap.corners.0);
            rstar::primitives::GeomWithData::new([place.x, place.y], number)
        })
        .collect(),
    )
}

/// The end of a wall of one line that faces another such end over a gap, where a free hand drew them not quite in
/// one line; nothing may stand between them. Ends in one line are met by a ray.
#[allow(clippy::too_many_arguments, reason = "what a gap is looked for with")]
fn opposite(
    net: &Net,
    caps: &[Cap],
    ends: &LineEnds,
    closed: &[bool],
    own: usize,
    reach: f64,
    measures: Measures,
    options: &PlanOptions,
) -> Option<usize> {
    let (cap, scale) = (caps[own], measures.scale);
    let here = net.place(cap.corners.0);
    let mut best: Option<(f64, usize, f64)> = None;
    for near in ends.locate_within_distance([here.x, here.y], reach * reach) {
        let other = near.data;
        let way = net.place(caps[other].corners.0) - here;
        let (along, across) = (way.dot(cap.way), way.cross(cap.way).abs());
        let faces = caps[other].way.dot(cap.way) < -0.95;
        let lines_up = across <= (0.15 * along).min(0.2 * scale).max(0.02 * scale);
        let both_small = cap.small && caps[other].small;
        let narrow = along < options.min_opening_width_m * scale;
        if other == own || closed[other] || !faces || !lines_up || both_small || narrow {
            continue;
        }
        if best.is_none_or(|known| (along, other) < (known.0, known.1)) {
            best = Some((along, other, across));
        }
    }
    let (_, other, _) = best.filter(|(_, _, across)| *across > 0.02 * scale)?;
    let way = net.place(caps[other].corners.0) - here;
    let length = way.hypot();
    let hit = net.ray(here, way / length, length, cap.corners.0, 0.02 * scale, 0.0);
    hit.is_none_or(|hit| hit.distance >= length - 0.03 * scale).then_some(other)
}

/// Lines along a gap at one distance beside it.
struct Row {
    /// To the left of the gap's line.
    off: f64,
    /// How much of the gap they run along.
    along: f64,
    /// From where to where they run, from the start of the gap.
    from: f64,
    to: f64,
}

/// The wall lines along the gap `a → b`, up to `band` beside it.
fn rows(net: &Net, a: Point, b: Point, band: f64) -> Vec<Row> {
    let width = a.distance(b);
    if band <= 0.0 || width <= 0.0 {
        return Vec::new();
    }
    let u = (b - a) / width;
    let mut scratch = Vec::new();
    net.edges_around(a.midpoint(b), 0.5 * width + band, &mut scratch);
    let mut rows: Vec<Row> = Vec::new();
    for &edge in &scratch {
        let (p, q) = net.ends(edge);
        let (s, t) = ((p - a).dot(u), (q - a).dot(u));
        let (low, high) = (s.min(t).max(0.0), s.max(t).min(width));
        let (first, last) = (u.cross(p - a), u.cross(q - a));
        let along = (high - low).max(0.0);
        let parallel = (last - first).abs() < 0.1 * (s - t).abs();
        // Edges that only touch the gap's ends tell how far a line runs.
        if high >= low && parallel && first.abs().max(last.abs()) <= band {
            let (off, from, to) = (0.5 * (first + last), s.min(t), s.max(t));
            match rows.iter_mut().find(|row| (row.off - off).abs() < 0.01 * width) {
                Some(row) => {
                    (row.along, row.from, row.to) = (row.along + along, row.from.min(from), row.to.max(to));
                }
                None => rows.push(Row { off, along, from, to }),
            }
        }
    }
    rows
}

/// How many wall lines run inside a gap from end to end: the panes of a window that no name told from walls.
fn inner_lines(net: &Net, a: Point, b: Point, band: f64) -> usize {
    let width = a.distance(b);
    rows(net, a, b, band).into_iter().filter(|row| row.along >= 0.8 * width).count()
}

/// Whether a line runs past the gap `a → b` on from both its ends: a face of a wall, beside which something ends.
fn runs_past(net: &Net, a: Point, b: Point, band: f64) -> bool {
    let width = a.distance(b);
    let past = |row: &Row| row.along >= 0.95 * width && row.from < -0.1 * band && row.to > width + 0.1 * band;
    rows(net, a, b, band).iter().any(past)
}

/// Whether the faces of a wall at most `thickest` run along a gap on both sides: what ends there is the frame of a window
/// or a layer of the wall.
fn is_inside_wall(net: &Net, cap: Cap, start: Point, gap: f64, thickest: f64) -> bool {
    let mut sides = [f64::INFINITY; 2];
    for row in rows(net, start, start + cap.way * gap, thickest - 0.5 * cap.thickness) {
        // The faces of what ends would lie at half its thickness.
        if row.along >= 0.9 * gap && row.off.abs() > 0.5 * cap.thickness + 0.05 * thickest {
            let side = &mut sides[usize::from(row.off < 0.0)];
            *side = side.min(row.off.abs());
        }
    }
    sides[0] + sides[1] <= thickest
}

/// Whether a line runs on from the middle of a cap over most of the gap: a wall of one line between two boxes.
fn single_is_filled(net: &Net, cap: Cap, gap: f64) -> bool {
    if cap.corners.0 == cap.corners.1 {
        return false;
    }
    let (first, last) = (net.place(cap.corners.0), net.place(cap.corners.1));
    let across = (last - first) / first.distance(last).max(f64::MIN_POSITIVE);
    let mut at = cap.corners.0;
    let mut onward = 0;
    for _ in 0..8 {
        let Some((_, far, _)) = net.spokes(at).find(|(_, _, way)| way.dot(across) > 0.985) else { break };
        at = far;
        if at == cap.corners.1 {
            break;
        }
        onward += net
            .spokes(at)
            .filter(|(_, far, way)| {
                way.dot(cap.way) > 0.985 && net.place(at).distance(net.place(*far)) > 0.6 * gap.min(2.0 * cap.thickness)
            })
            .count();
    }
    onward == 1
}

/// The cap that a ray's end lies on, if it faces back.
fn facing_cap(
    net: &Net,
    caps: &[Cap],
    by_corner: &std::collections::HashMap<u32, Vec<usize>>,
    cap: Cap,
    at: Point,
    scratch: &mut Vec<u32>,
    own: usize,
) -> Option<usize> {
    let reach = cap.thickness.max(0.1);
    net.edges_around(at, reach, scratch);
    let mut best: Option<(f64, usize)> = None;
    for &edge in scratch.iter() {
        let (a, b) = net.noded.edges[edge as usize];
        for vertex in [a, b] {
            for &number in by_corner.get(&vertex).into_iter().flatten() {
                let other = caps[number];
                if number == own || other.way.dot(cap.way) > -0.97 {
                    continue;
                }
                let (p, q) = (net.place(other.corners.0), net.place(other.corners.1));
                let off = super::net::nearest_on(p, q, at).distance(at);
                let like = other.thickness.max(cap.thickness) < 2.5 * other.thickness.min(cap.thickness).max(0.02);
                if off <= 0.5 * reach.min(0.12) && like && best.is_none_or(|known| off < known.0) {
                    best = Some((off, number));
                }
            }
        }
    }
    best.map(|(_, number)| number)
}

/// All wall ends that no symbol has closed yet.
fn caps(
    net: &Net,
    used: &HashSet<u32>,
    measures: Measures,
    checkpoint: &Checkpoint<'_>,
) -> Result<Vec<Cap>, Interrupt> {
    let extents = extents(net);
    let small = |vertex: u32| extents[vertex as usize] <= 1.3 * measures.scale;
    let free = |vertex: u32| extents[vertex as usize] <= 5.0 * measures.scale;
    let mut caps = Vec::new();
    let (thin, thick) = (measures.min_thickness, measures.max_thickness + 0.02 * measures.scale);
    let deep = 0.5 * measures.scale;
    for vertex in 0..net.noded.vertices.len() as u32 {
        if vertex % 4096 == 0 {
            checkpoint()?;
        }
        if used.contains(&vertex) {
            continue;
        }
        if net.degree(vertex) == 1 {
            if let Some((_, _, inward)) = net.spokes(vertex).next() {
                caps.push(Cap {
                    corners: (vertex, vertex),
                    way: -inward,
                    thickness: 0.0,
                    depth: f64::INFINITY,
                    small: small(vertex),
                    free: free(vertex),
                    column: false,
                    turned: false,
                });
            }
            continue;
        }
        for (edge, first, across) in net.spokes(vertex) {
            let Some((last, thickness)) = walk_cap(net, vertex, first, across, thick) else { continue };
            if last <= vertex || thickness < thin || used.contains(&last) {
                continue;
            }
            let turned = net.spokes(vertex).any(|(_, _, way)| way.dot(across) < -0.985);
            for way in [Vec2::new(-across.y, across.x), Vec2::new(across.y, -across.x)] {
                let ends = (ends_here(net, vertex, way, thickness, deep), ends_here(net, last, way, thickness, deep));
                if let (Some(first), Some(second)) = ends {
                    // The longer face knows the direction of the wall best.
                    let way = if first.0 >= second.0 { first.1 } else { second.1 };
                    caps.push(Cap {
                        corners: (vertex, last),
                        way,
                        thickness,
                        depth: first.0.max(second.0),
                        small: small(vertex),
                        free: free(vertex),
                        column: net.noded.marks[edge as usize] & COLUMN != 0,
                        turned,
                    });
                }
            }
        }
    }
    Ok(caps)
}

/// Walks straight on from `vertex` to the next corner within `limit`.
fn walk_cap(net: &Net, vertex: u32, first: u32, across: Vec2, limit: f64) -> Option<(u32, f64)> {
    let start = net.place(vertex);
    let mut at = first;
    for _ in 0..8 {
        let length = start.distance(net.place(at));
        if length > limit {
            return None;
        }
        let onward = net.spokes(at).find(|(_, _, way)| way.dot(across) > 0.985).map(|(_, far, _)| far);
        match onward {
            Some(far) => at = far,
            None => return Some((at, length)),
        }
    }
    None
}

/// A wall face comes to `vertex` against `way` and does not go on: its length to the next vertex and direction.
fn ends_here(net: &Net, vertex: u32, way: Vec2, thickness: f64, deep: f64) -> Option<(f64, Vec2)> {
    let mut back: Option<(f64, Vec2)> = None;
    for (_, far, spoke) in net.spokes(vertex) {
        if spoke.dot(way) > 0.9 {
            return None;
        }
        if spoke.dot(way) >= -0.985 {
            continue;
        }
        // The face may be cut into short pieces, of which the first says little about its direction.
        let here = net.place(vertex);
        let mut last = far;
        for _ in 0..16 {
            if here.distance(net.place(last)) >= deep.max(2.0 * thickness) {
                break;
            }
            let before = (net.place(last) - here) / here.distance(net.place(last)).max(f64::MIN_POSITIVE);
            let onward = net.spokes(last).find(|(_, next, way)| way.dot(before) > 0.985 && *next != vertex);
            let Some((_, next, _)) = onward else { break };
            last = next;
        }
        let length = here.distance(net.place(last));
        if length > 0.25 * thickness && back.is_none_or(|known| length > known.0) {
            back = Some((length, (here - net.place(last)) / length));
        }
    }
    back
}

/// By vertex: how far its connected piece of wall extends.
fn extents(net: &Net) -> Vec<f64> {
    let count = net.noded.vertices.len();
    let mut piece = vec![u32::MAX; count];
    let mut boxes: Vec<(Point, Point)> = Vec::new();
    let mut stack = Vec::new();
    for start in 0..count as u32 {
        if piece[start as usize] != u32::MAX {
            continue;
        }
        let number = boxes.len() as u32;
        boxes.push((net.place(start), net.place(start)));
        piece[start as usize] = number;
        stack.push(start);
        while let Some(vertex) = stack.pop() {
            let place = net.place(vertex);
            let frame = &mut boxes[number as usize];
            frame.0 = Point::new(frame.0.x.min(place.x), frame.0.y.min(place.y));
            frame.1 = Point::new(frame.1.x.max(place.x), frame.1.y.max(place.y));
            for (_, far, _) in net.spokes(vertex) {
                if piece[far as usize] == u32::MAX {
                    piece[far as usize] = number;
                    stack.push(far);
                }
            }
        }
    }
    piece
        .into_iter()
        .map(|number| {
            let (low, high) = boxes[number as usize];
            (high.x - low.x).max(high.y - low.y)
        })
        .collect()
}
