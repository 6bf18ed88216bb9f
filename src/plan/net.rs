//! The net of wall lines: noded edges with an index, rays, and the mending of ends.
//!
//! [`mend`] turns what people draw into what was meant: overshoots are cut, ends that fall short are run on to the
//! line or end they nearly meet, open ends of double walls are capped. All within the snap tolerance; every repair
//! is counted.

use super::graph::Incidence;
use super::grid::{Frame, SegmentIndex};
use super::lines::{COLUMN, FILL, MENDING, WALL};
use super::noding::{Marks, Noded, Noding, Segment, node};
use crate::drawing::parts::Parts;
use crate::drawing::{Point, Vec2};
use crate::format::{Checkpoint, Interrupt};

/// Noded wall lines that can be asked.
#[derive(Debug)]
pub(crate) struct Net {
    pub frame: Frame,
    pub noded: Noded,
    pub places: Vec<Point>,
    pub incidence: Incidence,
    index: SegmentIndex,
}

/// Where a ray met an edge.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hit {
    pub distance: f64,
    pub edge: u32,
    pub at: Point,
}

impl Net {
    pub(crate) fn build(frame: Frame, noded: Noded) -> Self {
        let places = noded.vertices.iter().map(|vertex| frame.metres(*vertex)).collect();
        let incidence = Incidence::build(noded.vertices.len(), &noded.edges);
        let index = SegmentIndex::build(noded.edges.len(), |edge| {
            let (a, b) = noded.edges[edge];
            (noded.vertices[a as usize], noded.vertices[b as usize])
        });
        Self { frame, noded, places, incidence, index }
    }

    pub(crate) fn place(&self, vertex: u32) -> Point {
        self.places[vertex as usize]
    }

    pub(crate) fn ends(&self, edge: u32) -> (Point, Point) {
        let (a, b) = self.noded.edges[edge as usize];
        (self.place(a), self.place(b))
    }

    pub(crate) fn degree(&self, vertex: u32) -> usize {
        self.incidence.of(vertex as usize).len()
    }

    /// Edges at a vertex, with the far vertex and the unit direction to it.
    pub(crate) fn spokes(&self, vertex: u32) -> impl Iterator<Item = (u32, u32, Vec2)> + '_ {
        let here = self.place(vertex);
        self.incidence.of(vertex as usize).iter().map(move |&edge| {
            let (a, b) = self.noded.edges[edge as usize];
            let far = if a == vertex { b } else { a };
            let way = self.place(far) - here;
            (edge, far, way / way.hypot().max(f64::MIN_POSITIVE))
        })
    }

    /// Calls `visit` once for every edge that may touch the box around `point`.
    pub(crate) fn edges_around(&self, point: Point, reach: f64, scratch: &mut Vec<u32>) {
        scratch.clear();
        let steps = self.frame.steps(reach).ceil() as i64;
        self.index.around(self.frame.grid(point), steps, |edge| scratch.push(edge));
        scratch.sort_unstable();
        scratch.dedup();
    }

    /// The first edge a ray meets beyond `skip` metres, not counting edges at `but`. A ray that passes the end of an
    /// edge within `slack` metres meets it.
    pub(crate) fn ray(&self, from: Point, way: Vec2, length: f64, but: u32, skip: f64, slack: f64) -> Option<Hit> {
        let slack = slack.max(self.frame.step());
        let chunk = (length / 4.0).max(0.25).min(length.max(f64::MIN_POSITIVE));
        let mut scratch = Vec::new();
        let mut start = 0.0;
        while start < length {
            let end = (start + chunk).min(length);
            let around = |start: f64, end: f64| {
                (from + way * (0.5 * (start + end)), 0.5 * (end - start) + slack + self.frame.step())
            };
            let mut first_among = |(middle, reach): (Point, f64)| {
                self.edges_around(middle, reach, &mut scratch);
                let mut best: Option<Hit> = None;
                for &edge in &scratch {
                    let (a, b) = self.noded.edges[edge as usize];
                    if a == but || b == but {
                        continue;
                    }
                    let (p, q) = (self.place(a), self.place(b));
                    if let Some(distance) = meets(from, way, p, q, slack)
                        && distance > skip
                        && distance <= length
                        && best.is_none_or(|hit| distance < hit.distance)
                    {
                        best = Some(Hit { distance, edge, at: from + way * distance });
                    }
                }
                best
            };
            // Where edges lie close the first of them is near: what is met within a part of the way is met first.
            let whole = around(start, end);
            if self.is_dense(whole) {
                let mut near = start;
                for part in [1.0 / 64.0, 1.0 / 16.0, 0.25] {
                    let far = start + part * (end - start);
                    let hit = first_among(around(near, far)).filter(|hit| hit.distance <= far);
                    if hit.is_some() {
                        return hit;
                    }
                    near = far;
                }
            }
            if let Some(hit) = first_among(whole)
                && hit.distance <= end + slack
            {
                return Some(hit);
            }
            start = end;
        }
        None
    }

    /// Whether so many edges may touch the box around a place that it is worth looking at a part of them first.
    fn is_dense(&self, (point, reach): (Point, f64)) -> bool {
        const MANY: usize = 256;
        self.index.count_around(self.frame.grid(point), self.frame.steps(reach).ceil() as i64) > MANY
    }

    /// The nearest point of any edge within `reach`.
    pub(crate) fn nearest(&self, point: Point, reach: f64, scratch: &mut Vec<u32>) -> Option<(f64, Point)> {
        self.edges_around(point, reach, scratch);
        let mut best: Option<(f64, Point)> = None;
        for &edge in scratch.iter() {
            let (a, b) = self.ends(edge);
            let at = nearest_on(a, b, point);
            let distance = at.distance(point);
            if distance <= reach && best.is_none_or(|known| distance < known.0) {
                best = Some((distance, at));
            }
        }
        best
    }
}

/// Distance along the ray to the segment, within `slack` of its ends.
fn meets(from: Point, way: Vec2, p: Point, q: Point, slack: f64) -> Option<f64> {
    let side = q - p;
    let det = way.cross(side);
    let length = side.hypot();
    if det.abs() < 0.02 * length {
        // Nearly parallel, as lines in one line are on a turned grid: where they cross says nothing; met end on.
        let (u, v) = (p - from, q - from);
        let (near, far) = if way.dot(u) <= way.dot(v) { (u, v) } else { (v, u) };
        if way.cross(near).abs() <= slack && way.dot(near) >= 0.0 {
            return Some(way.dot(near));
        }
        if det.abs() < 1e-9 * length || way.dot(far) < 0.0 {
            return None;
        }
    }
    let w = p - from;
    let distance = w.cross(side) / det;
    let place = w.cross(way) / det;
    let slack = slack / length.max(f64::MIN_POSITIVE);
    (distance >= 0.0 && (-slack..=1.0 + slack).contains(&place)).then_some(distance)
}

/// The point of `a → b` nearest to `point`.
pub(crate) fn nearest_on(a: Point, b: Point, point: Point) -> Point {
    let way = b - a;
    let length = way.hypot2();
    if length <= 0.0 {
        return a;
    }
    a.lerp(b, ((point - a).dot(way) / length).clamp(0.0, 1.0))
}

/// What [`mend`] did.
#[derive(Debug, Default)]
pub(crate) struct Mending {
    pub closed: Vec<(Point, Point)>,
    pub overshoots: Vec<(Point, Point)>,
    pub capped: u64,
    /// Ends that nearly meet but may not be joined (tolerance 0).
    pub open: Vec<(Point, Point)>,
}

/// Cuts overshoots, joins ends, caps double walls; gives the net that results.
pub(crate) fn mend(
    net: Net,
    tolerance: f64,
    listing: f64,
    thickness: (f64, f64),
    double: bool,
    noding: Noding,
    checkpoint: &Checkpoint<'_>,
) -> Result<(Net, Mending), Interrupt> {
    let mut mending = Mending::default();
    let num_vertices = net.noded.vertices.len() as u32;
    let ends: Vec<u32> = (0..num_vertices).filter(|vertex| net.degree(*vertex) == 1).collect();
    if tolerance <= 0.0 {
        list_open(&net, &ends, listing, &mut mending);
        return Ok((net, mending));
    }
    let mut cut = vec![false; net.noded.edges.len()];
    let mut added: Vec<(Point, Point, Marks)> = Vec::new();
    let mut done = vec![false; num_vertices as usize];
    let mut scratch = Vec::new();
    for &vertex in &ends {
        let Some((edge, far, inward)) = net.spokes(vertex).next() else { continue };
        let length = net.place(vertex).distance(net.place(far));
        // What goes on just beyond its end has not gone too far.
        let short = net.degree(far) >= 3 && length <= tolerance;
        if short && continuation(&net, vertex, -inward, length, &mut scratch).is_none() {
            cut[edge as usize] = true;
            done[vertex as usize] = true;
            mending.overshoots.push((net.place(vertex), net.place(far)));
        }
    }
    for (turn, &vertex) in ends.iter().enumerate() {
        if turn % 1024 == 0 {
            checkpoint()?;
        }
        if done[vertex as usize] {
            continue;
        }
        let here = net.place(vertex);
        let Some((own_edge, _, inward)) = net.spokes(vertex).next() else { continue };
        let way = -inward;
        // Another free end close by, best of those ahead.
        net.edges_around(here, tolerance, &mut scratch);
        let mut partner: Option<(f64, u32)> = None;
        for &edge in &scratch {
            let (a, b) = net.noded.edges[edge as usize];
            for other in [a, b] {
                if other == vertex || edge == own_edge && net.degree(other) != 1 {
                    continue;
                }
                let distance = here.distance(net.place(other));
                let free = net.degree(other) == 1 && !done[other as usize];
                if distance <= tolerance && free && partner.is_none_or(|best| (distance, other) < best) {
                    partner = Some((distance, other));
                }
            }
        }
        // The same wall goes on beyond the gap, whatever else touches it there.
        if let Some(other) = continuation(&net, vertex, way, tolerance, &mut scratch) {
            added.push((here, net.place(other), WALL | MENDING));
            done[vertex as usize] = true;
            done[other as usize] = true;
            mending.closed.push((here, net.place(other)));
            continue;
        }
        // Who draws walls as one line may leave their thickness open where they meet; no opening is as narrow.
        let reach = if double { tolerance } else { 6.0 * tolerance };
        let ahead = net.ray(here, way, reach, vertex, 0.0, 0.0).filter(|hit| !cut[hit.edge as usize]);
        if let Some((distance, other)) = partner
            && ahead.is_none_or(|hit| hit.distance + 1e-9 >= 0.5 * distance)
        {
            let there = net.place(other);
            let other_way = net.spokes(other).next().map_or(Vec2::ZERO, |spoke| -spoke.2);
            match corner(here, way, there, other_way, 2.0 * tolerance) {
                Some(at) => {
                    added.push((here, at, WALL | MENDING));
                    added.push((at, there, WALL | MENDING));
                }
                None => added.push((here, there, WALL | MENDING)),
            }
            done[vertex as usize] = true;
            done[other as usize] = true;
            mending.closed.push((here, there));
            continue;
        }
        let target = ahead.map(|hit| hit.at).or_else(|| nearest_foreign(&net, vertex, tolerance, &mut scratch));
        if let Some(at) = target {
            added.push((here, at, WALL | MENDING));
            done[vertex as usize] = true;
            mending.closed.push((here, at));
        }
    }
    corners(&net, tolerance, &mut added, &mut mending, checkpoint)?;
    if double {
        cap(&net, &ends, &mut done, thickness, &mut added, &mut mending);
    }
    if added.is_empty() && !cut.contains(&true) {
        return Ok((net, mending));
    }
    let mut segments = Vec::with_capacity(cut.len() + added.len());
    for (edge, segment) in net.noded.segments().into_iter().enumerate() {
        if !cut[edge] {
            segments.push(segment);
        }
    }
    for (a, b, marks) in added {
        segments.push(Segment { a: net.frame.grid(a), b: net.frame.grid(b), marks });
    }
    let frame = net.frame;
    let mut noded = node(&segments, noding, checkpoint)?;
    noded.snapped += net.noded.snapped;
    noded.duplicates = net.noded.duplicates;
    Ok((Net::build(frame, noded), mending))
}

/// The nearest vertex ahead of a free end, within `reach`, from which a line goes on in the same direction and none comes
/// back.
fn continuation(net: &Net, vertex: u32, way: Vec2, reach: f64, scratch: &mut Vec<u32>) -> Option<u32> {
    let here = net.place(vertex);
    net.edges_around(here, reach, scratch);
    let mut best: Option<(f64, u32)> = None;
    for &edge in scratch.iter() {
        let (a, b) = net.noded.edges[edge as usize];
        for other in [a, b] {
            let gap = net.place(other) - here;
            let distance = gap.hypot();
            let ahead = gap.dot(way) > 0.9 * distance && distance <= reach && distance > 0.0;
            if other == vertex || !ahead || best.is_some_and(|known| known <= (distance, other)) {
                continue;
            }
            let goes_on = net.spokes(other).any(|(_, far, spoke)| far != vertex && spoke.dot(way) > 0.98);
            let comes_back = net.spokes(other).any(|(_, _, spoke)| spoke.dot(way) < -0.9);
            if goes_on && !comes_back {
                best = Some((distance, other));
            }
        }
    }
    best.map(|(_, other)| other)
}

/// Joins corners of filled walls that nearly touch another one in front of them: walls that were meant to meet leave a
/// slit between them, which no end shows.
fn corners(
    net: &Net,
    tolerance: f64,
    added: &mut Vec<(Point, Point, Marks)>,
    mending: &mut Mending,
    checkpoint: &Checkpoint<'_>,
) -> Result<(), Interrupt> {
    let mut scratch = Vec::new();
    for vertex in 0..net.noded.vertices.len() as u32 {
        if vertex % 1024 == 0 {
            checkpoint()?;
        }
        if net.degree(vertex) != 2 {
            continue;
        }
        let filled = |edge: u32| net.noded.marks[edge as usize] & FILL != 0;
        let ways: Vec<Vec2> = net.spokes(vertex).filter(|spoke| filled(spoke.0)).map(|spoke| spoke.2).collect();
        let [first, second] = ways[..] else { continue };
        // From about 60 to 120 degrees; a blunter one is a bend in a line, a sharper one a symbol.
        if first.dot(second).abs() > 0.5 {
            continue;
        }
        let here = net.place(vertex);
        let Some(at) = nearest_foreign(net, vertex, tolerance, &mut scratch) else { continue };
        let way = at - here;
        let length = way.hypot();
        if length > net.frame.step() && way.dot(first) <= 0.2 * length && way.dot(second) <= 0.2 * length {
            added.push((here, at, WALL | MENDING));
            mending.closed.push((here, at));
        }
    }
    Ok(())
}

/// Where two lines that both end would meet, if that is within `reach` ahead of both.
fn corner(a: Point, a_way: Vec2, b: Point, b_way: Vec2, reach: f64) -> Option<Point> {
    let det = a_way.cross(b_way);
    if det.abs() < 0.2 {
        return None;
    }
    let s = (b - a).cross(b_way) / det;
    let t = (b - a).cross(a_way) / det;
    ((-reach..=reach).contains(&s) && (-reach..=reach).contains(&t)).then(|| a + a_way * s)
}

fn nearest_foreign(net: &Net, vertex: u32, reach: f64, scratch: &mut Vec<u32>) -> Option<Point> {
    let here = net.place(vertex);
    net.edges_around(here, reach, scratch);
    let own: Vec<u32> = net.spokes(vertex).flat_map(|(_, far, _)| [far, vertex]).collect();
    let mut best: Option<(f64, Point)> = None;
    for &edge in scratch.iter() {
        let (a, b) = net.noded.edges[edge as usize];
        if own.contains(&a) || own.contains(&b) {
            continue;
        }
        let at = nearest_on(net.place(a), net.place(b), here);
        let distance = at.distance(here);
        if distance <= reach && best.is_none_or(|known| distance < known.0) {
            best = Some((distance, at));
        }
    }
    best.map(|(_, at)| at)
}

/// Joins the free ends of the two faces of a wall.
fn cap(
    net: &Net,
    ends: &[u32],
    done: &mut [bool],
    thickness: (f64, f64),
    added: &mut Vec<(Point, Point, Marks)>,
    mending: &mut Mending,
) {
    let mut scratch = Vec::new();
    for &vertex in ends {
        if done[vertex as usize] {
            continue;
        }
        let here = net.place(vertex);
        let Some((_, _, inward)) = net.spokes(vertex).next() else { continue };
        net.edges_around(here, thickness.1, &mut scratch);
        let mut best: Option<(f64, u32)> = None;
        for &edge in &scratch {
            let (a, b) = net.noded.edges[edge as usize];
            for other in [a, b] {
                if other == vertex || net.degree(other) != 1 || done[other as usize] {
                    continue;
                }
                let Some((_, _, other_inward)) = net.spokes(other).next() else { continue };
                let across = net.place(other) - here;
                let distance = across.hypot();
                let square = inward.dot(across).abs() <= 0.25 * distance;
                if (thickness.0..=thickness.1).contains(&distance)
                    && inward.dot(other_inward) > 0.97
                    && square
                    && best.is_none_or(|known| (distance, other) < known)
                {
                    best = Some((distance, other));
                }
            }
        }
        if let Some((_, other)) = best {
            done[vertex as usize] = true;
            done[other as usize] = true;
            added.push((here, net.place(other), WALL | MENDING));
            mending.capped += 1;
        }
    }
}

fn list_open(net: &Net, ends: &[u32], reach: f64, mending: &mut Mending) {
    let mut scratch = Vec::new();
    for &vertex in ends {
        let here = net.place(vertex);
        net.edges_around(here, reach, &mut scratch);
        let mut best: Option<(f64, u32)> = None;
        for &edge in &scratch {
            let (a, b) = net.noded.edges[edge as usize];
            for other in [a, b] {
                let distance = here.distance(net.place(other));
                if other > vertex
                    && net.degree(other) == 1
                    && distance <= reach
                    && best.is_none_or(|known| (distance, other) < known)
                {
                    best = Some((distance, other));
                }
            }
        }
        if let Some((_, other)) = best {
            mending.open.push((here, net.place(other)));
        }
    }
}

/// Takes out connected pieces no larger than `extent` steps that are neither filled nor columns.
pub(crate) fn drop_small(noded: &mut Noded, extent: f64) {
    let count = noded.vertices.len();
    let mut parts = Parts::new(count);
    for &(a, b) in &noded.edges {
        parts.join(a, b);
    }
    let mut boxes: Vec<[i32; 4]> = vec![[i32::MAX, i32::MAX, i32::MIN, i32::MIN]; count];
    for (vertex, point) in noded.vertices.iter().enumerate() {
        let frame = &mut boxes[parts.of(vertex as u32) as usize];
        *frame = [frame[0].min(point.x), frame[1].min(point.y), frame[2].max(point.x), frame[3].max(point.y)];
    }
    let mut solid = vec![false; count];
    for (edge, &(a, _)) in noded.edges.iter().enumerate() {
        if noded.marks[edge] & (FILL | COLUMN) != 0 {
            solid[parts.of(a) as usize] = true;
        }
    }
    let keep: Vec<bool> = noded
        .edges
        .iter()
        .map(|&(a, _)| {
            let top = parts.of(a) as usize;
            let frame = boxes[top];
            let size = (i64::from(frame[2]) - i64::from(frame[0])).max(i64::from(frame[3]) - i64::from(frame[1]));
            solid[top] || size as f64 > extent
        })
        .collect();
    let mut flags = keep.iter();
    noded.edges.retain(|_| *flags.next().unwrap_or(&true));
    let mut flags = keep.iter();
    noded.marks.retain(|_| *flags.next().unwrap_or(&true));
}

/// Nodes loose segments of metres.
pub(crate) fn node_metres(
    frame: &Frame,
    segments: &[(Point, Point, Marks)],
    noding: Noding,
    checkpoint: &Checkpoint<'_>,
) -> Result<Noded, Interrupt> {
    let segments: Vec<Segment> = segments
        .iter()
        .map(|(a, b, marks)| Segment { a: frame.grid(*a), b: frame.grid(*b), marks: *marks })
        .filter(|segment| segment.a != segment.b)
        .collect();
    node(&segments, noding, checkpoint)
}
