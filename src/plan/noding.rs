//! Noding: turns loose segments into edges that meet only at their ends.
//!
//! Works in passes on the integer grid. A pass merges end points that lie within the tolerance, joins segments to end
//! points that lie within the tolerance of them, and splits segments where they cross. An end that joins moves onto
//! the segment along its own line, so that both stay straight; only a point that other lines run straight through
//! bends the segment instead. Passes with the user's tolerance come first, then passes at one grid step until nothing
//! changes, because a rounded crossing bends its segments. Merging does not depend on the order of the input: candidate pairs are sorted by distance
//! and place, and a cluster may not grow wider than twice the tolerance, so chains of close points do not collapse.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::fresh::{Ends, Fresh};
use super::graph::Incidence;
use super::grid::{GridPoint, orientation};
use crate::drawing::arrange::{Stop, near_pairs};
use crate::drawing::nest::{self, Effort};
use crate::drawing::parts::Parts;
use crate::format::{Checkpoint, Interrupt, Pace};

/// Marks of a segment; edges that several segments share carry the marks of all.
pub type Marks = u8;

/// A segment to be noded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// One end.
    pub a: GridPoint,
    /// The other end.
    pub b: GridPoint,
    /// What it is.
    pub marks: Marks,
}

/// Edges that meet only at vertices.
#[derive(Debug, Clone, Default)]
pub struct Noded {
    /// Points, sorted, each once.
    pub vertices: Vec<GridPoint>,
    /// Ends by vertex number, smaller first; sorted, each pair once.
    pub edges: Vec<(u32, u32)>,
    /// Marks of the edges.
    pub marks: Vec<Marks>,
    /// Vertices that were merged into others.
    pub snapped: u64,
    /// Segments or pieces that lay on others.
    pub duplicates: u64,
    /// Whether the last pass changed nothing; `false` if the bound on passes was met first.
    pub stable: bool,
    /// There were more crossings or close points than allowed: the edges are not noded and no faces can be told.
    pub crowded: bool,
}

impl Noded {
    /// The edges as segments, for noding again with more.
    pub(crate) fn segments(&self) -> Vec<Segment> {
        let ends = |&(a, b): &(u32, u32)| (self.vertices[a as usize], self.vertices[b as usize]);
        self.edges.iter().map(ends).zip(&self.marks).map(|((a, b), &marks)| Segment { a, b, marks }).collect()
    }
}

/// Passes at the user's tolerance.
const TOLERANT_PASSES: usize = 3;
/// Passes at one grid step; two or three are usual.
const EXACT_PASSES: usize = 24;

/// Close points that may be merged in a pass, for each crossing that is allowed.
const PAIRS_PER_CROSSING: usize = 4;

/// How segments are noded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noding {
    /// Ends and lines closer than this are joined, grid steps.
    pub tolerance: f64,
    /// More crossings than this in one pass are given up, with [`Noded::crowded`].
    pub max_crossings: u64,
}

/// Nodes `segments`.
///
/// # Errors
/// [`Interrupt`] of the checkpoint.
pub fn node(segments: &[Segment], noding: Noding, checkpoint: &Checkpoint<'_>) -> Result<Noded, Interrupt> {
    let effort = Effort { pace: Pace::new(checkpoint), crossings: noding.max_crossings };
    let mut state = State::new(segments);
    match state.settle(noding.tolerance, &effort) {
        Ok(stable) => Ok(state.finish(stable, false)),
        Err(Stop::Entangled) => Ok(state.finish(false, true)),
        Err(Stop::Interrupted(interrupt)) => Err(interrupt),
    }
}

/// A fast hash for packed grid points; input comes from drawings, so it is mixed, but needs no secrecy: the map is
/// only asked for exact points and never iterated.
#[derive(Default)]
pub(crate) struct PointHasher(u64);

impl Hasher for PointHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_i32(&mut self, value: i32) {
        self.write_u64(u64::from(value.cast_unsigned()));
    }

    fn write_u64(&mut self, value: u64) {
        let mixed = (self.0.rotate_left(29) ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = mixed ^ (mixed >> 32);
    }
}

pub(crate) type PointMap<T> = HashMap<GridPoint, T, BuildHasherDefault<PointHasher>>;

/// Where an edge must be split: edge, place along it, vertex.
type Cut = (u32, f64, u32);

struct State {
    vertices: Vec<GridPoint>,
    edges: Vec<(u32, u32)>,
    marks: Vec<Marks>,
    snapped: u64,
    duplicates: u64,
    /// Edges that came through the last splitting whole, by their ends, sorted: among them nothing is to be split at the tolerance
    /// of that time, nor at a smaller one.
    looked_at: Vec<Ends>,
}

impl State {
    /// All passes; says whether the last changed nothing.
    fn settle(&mut self, tolerance: f64, effort: &Effort<'_>) -> Result<bool, Stop> {
        if tolerance > 1.0 {
            for _ in 0..TOLERANT_PASSES {
                let merged = self.merge_vertices(tolerance, effort)?;
                let split = self.split(tolerance, effort)?;
                if !merged && !split {
                    break;
                }
            }
        }
        for _ in 0..EXACT_PASSES {
            if !self.split(1.0, effort)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn new(segments: &[Segment]) -> Self {
        let ends = segments.iter().flat_map(|segment| [segment.a, segment.b]);
        let mut ends: Vec<(GridPoint, u32)> = ends.zip(0..).collect();
        ends.sort_unstable();
        let mut vertices: Vec<GridPoint> = Vec::with_capacity(segments.len());
        let mut edges = vec![(0, 0); segments.len()];
        for (point, end) in ends {
            if vertices.last() != Some(&point) {
                vertices.push(point);
            }
            let number = (vertices.len() - 1) as u32;
            let edge: &mut (u32, u32) = &mut edges[(end / 2) as usize];
            *if end.is_multiple_of(2) { &mut edge.0 } else { &mut edge.1 } = number;
        }
        vertices.shrink_to_fit();
        let marks = segments.iter().map(|segment| segment.marks).collect();
        let mut state = Self { vertices, edges, marks, snapped: 0, duplicates: 0, looked_at: Vec::new() };
        state.normalize();
        state
    }

    /// Drops edges without length, orders ends, sorts, merges equals.
    fn normalize(&mut self) {
        let mut pairs: Vec<(u32, u32, Marks)> = self
            .edges
            .iter()
            .zip(&self.marks)
            .filter(|((a, b), _)| a != b)
            .map(|(&(a, b), &marks)| (a.min(b), a.max(b), marks))
            .collect();
        pairs.sort_unstable();
        self.edges.clear();
        self.marks.clear();
        for (a, b, marks) in pairs {
            if self.edges.last() == Some(&(a, b)) {
                self.duplicates += 1;
                if let Some(last) = self.marks.last_mut() {
                    *last |= marks;
                }
            } else {
                self.edges.push((a, b));
                self.marks.push(marks);
            }
        }
    }

    /// Sorts vertices by place again, without those no edge uses.
    fn renumber(&mut self) {
        let mut used: Vec<u32> = self.edges.iter().flat_map(|&(a, b)| [a, b]).collect();
        used.sort_unstable();
        used.dedup();
        used.sort_unstable_by_key(|&vertex| self.vertices[vertex as usize]);
        let mut numbers = vec![u32::MAX; self.vertices.len()];
        let mut vertices: Vec<GridPoint> = Vec::with_capacity(used.len());
        for vertex in used {
            let point = self.vertices[vertex as usize];
            if vertices.last() != Some(&point) {
                vertices.push(point);
            }
            numbers[vertex as usize] = (vertices.len() - 1) as u32;
        }
        for (a, b) in &mut self.edges {
            *a = numbers[*a as usize];
            *b = numbers[*b as usize];
        }
        self.vertices = vertices;
        self.normalize();
    }

    /// Merges vertices within `tolerance`; says whether any were.
    fn merge_vertices(&mut self, tolerance: f64, effort: &Effort<'_>) -> Result<bool, Stop> {
        effort.pace.steps(8 * self.vertices.len())?;
        let most = usize::try_from(effort.crossings).unwrap_or(usize::MAX).saturating_mul(PAIRS_PER_CROSSING);
        let reach = tolerance.floor() as i64;
        let limit = (tolerance * tolerance) as i64;
        let mut pairs: Vec<(i64, u32, u32)> = Vec::new();
        // Vertices are sorted by x: those of a column as wide as the reach follow each other, and what is close to them lies in
        // it and the next one.
        let column = |vertex: u32| i64::from(self.vertices[vertex as usize].x).div_euclid(reach.max(1));
        let height = |vertex: u32| i64::from(self.vertices[vertex as usize].y);
        let mut order: Vec<u32> = (0..self.vertices.len() as u32).collect();
        let mut starts: Vec<usize> = Vec::new();
        for run in order.chunk_by_mut(|p, q| column(*p) == column(*q)) {
            starts.push(run[0] as usize);
            run.sort_unstable_by_key(|vertex| height(*vertex));
        }
        starts.push(order.len());
        for (number, bounds) in starts.windows(2).enumerate() {
            let own = &order[bounds[0]..bounds[1]];
            let next = starts.get(number + 2).map_or(&[][..], |end| &order[bounds[1]..*end]);
            let beside = next.first().is_some_and(|vertex| column(*vertex) == column(own[0]) + 1);
            let next = if beside { next } else { &[] };
            let mut first = 0;
            for (place, &vertex) in own.iter().enumerate() {
                let y = height(vertex);
                while next.get(first).is_some_and(|other| height(*other) < y - reach) {
                    first += 1;
                }
                let near = |other: &&u32| height(**other) <= y + reach;
                let mut looked = 1;
                for &other in own[place + 1..].iter().take_while(near).chain(next[first..].iter().take_while(near)) {
                    looked += 1;
                    let distance = self.vertices[vertex as usize].distance_squared(self.vertices[other as usize]);
                    if distance <= limit {
                        pairs.push((distance, vertex.min(other), vertex.max(other)));
                    }
                }
                effort.pace.steps(looked)?;
                if pairs.len() > most {
                    return Err(Stop::Entangled);
                }
            }
        }
        if pairs.is_empty() {
            return Ok(false);
        }
        pairs.sort_unstable();
        let mut clusters = Clusters::new(&self.vertices, 2 * reach);
        for (_, a, b) in pairs {
            clusters.join(a, b);
        }
        let mut degree = vec![0u32; self.vertices.len()];
        for &(a, b) in &self.edges {
            degree[a as usize] += 1;
            degree[b as usize] += 1;
        }
        let chosen = clusters.representatives(&self.vertices, &degree);
        let mut merged = 0;
        for (vertex, &target) in chosen.iter().enumerate() {
            merged += u64::from(target as usize != vertex);
        }
        self.snapped += merged;
        for (a, b) in &mut self.edges {
            *a = chosen[*a as usize];
            *b = chosen[*b as usize];
        }
        self.renumber();
        Ok(merged > 0)
    }

    /// Splits edges at vertices within `tolerance` of them and at crossings; says whether any was.
    fn split(&mut self, tolerance: f64, effort: &Effort<'_>) -> Result<bool, Stop> {
        // Both boxes are widened, so half the reach for each.
        let slack = (0.5 * tolerance).ceil() as i64;
        effort.pace.steps(4 * self.edges.len())?;
        let now = self.ends();
        let fresh = Fresh::find(&std::mem::take(&mut self.looked_at), &now, 2 * slack);
        self.looked_at = now;
        let (vertices, edges) = (&self.vertices, &self.edges);
        // The first edge at a vertex answers for it, so that it is looked at once near each edge.
        let mut first_at = vec![u32::MAX; vertices.len()];
        for (edge, &(a, b)) in edges.iter().enumerate().rev() {
            first_at[a as usize] = edge as u32;
            first_at[b as usize] = edge as u32;
        }
        let most = usize::try_from(effort.crossings).unwrap_or(usize::MAX);
        let wide = |vertex: u32| {
            let GridPoint { x, y } = vertices[vertex as usize];
            nest::GridPoint { x: i64::from(x), y: i64::from(y) }
        };
        let edge = |place: usize| fresh.beside[place] as usize;
        let ends = |place: usize| (wide(edges[edge(place)].0), wide(edges[edge(place)].1));
        let mut found: (Vec<Cut>, Vec<(u32, u32, GridPoint)>) = Default::default();
        near_pairs(fresh.beside.len(), ends, slack, effort, &mut found, |(cuts, crossings), one, other| {
            let (first, second) = (edge(one.min(other)), edge(one.max(other)));
            if !fresh.any_of(first, second) {
                return Ok(());
            }
            let ((a, b), (c, d)) = (edges[first], edges[second]);
            let at = |vertex: u32| vertices[vertex as usize];
            for (edge, (from, to), near, vertex) in [
                (first, (a, b), second, c),
                (first, (a, b), second, d),
                (second, (c, d), first, a),
                (second, (c, d), first, b),
            ] {
                if first_at[vertex as usize] == near as u32
                    && vertex != from
                    && vertex != to
                    && let Some(place) = place_on(at(from), at(to), at(vertex), tolerance)
                {
                    cuts.push((edge as u32, place, vertex));
                }
            }
            if a != c
                && a != d
                && b != c
                && b != d
                && let Some(point) = crossing(at(a), at(b), at(c), at(d), tolerance)
            {
                crossings.push((first as u32, second as u32, point));
            }
            if crossings.len().max(cuts.len() / 4) > most { Err(Stop::Entangled) } else { Ok(()) }
        })?;
        let (mut cuts, mut crossings) = found;
        effort.pace.steps(8 * (edges.len() + cuts.len() + crossings.len()))?;
        if !crossings.is_empty() {
            crossings.sort_unstable();
            let mut numbers: PointMap<u32> = PointMap::default();
            let known = self.vertices.len();
            for (first, second, point) in crossings {
                let number = match self.vertices[..known].binary_search(&point) {
                    Ok(number) => number as u32,
                    Err(_) => *numbers.entry(point).or_insert_with(|| {
                        self.vertices.push(point);
                        (self.vertices.len() - 1) as u32
                    }),
                };
                for edge in [first, second] {
                    let (a, b) = self.edges[edge as usize];
                    if a != number && b != number {
                        let place = projection(self.vertices[a as usize], self.vertices[b as usize], point);
                        cuts.push((edge, place, number));
                    }
                }
            }
        }
        if cuts.is_empty() {
            return Ok(false);
        }
        if tolerance > 1.0 {
            self.slide_ends(tolerance, &mut cuts);
        }
        cuts.sort_unstable_by(|p, q| p.0.cmp(&q.0).then(p.1.total_cmp(&q.1)).then(p.2.cmp(&q.2)));
        cuts.dedup_by(|p, q| p.0 == q.0 && p.2 == q.2);
        // What was cut may come to be once more when ends merge, and is new then.
        let mut cut = cuts.iter().map(|cut| cut.0).peekable();
        let mut numbers = 0u32..;
        self.looked_at.retain(|_| {
            let number = numbers.next();
            let mut whole = true;
            while cut.next_if(|cut| Some(*cut) == number).is_some() {
                whole = false;
            }
            whole
        });
        let mut edges = Vec::with_capacity(self.edges.len() + cuts.len());
        let mut marks = Vec::with_capacity(self.edges.len() + cuts.len());
        let mut next = 0usize;
        for (edge, &(a, b)) in self.edges.iter().enumerate() {
            let mut from = a;
            while next < cuts.len() && cuts[next].0 as usize == edge {
                edges.push((from, cuts[next].2));
                marks.push(self.marks[edge]);
                from = cuts[next].2;
                next += 1;
            }
            edges.push((from, b));
            marks.push(self.marks[edge]);
        }
        self.edges = edges;
        self.marks = marks;
        self.renumber();
        Ok(true)
    }

    /// Moves ends onto the segments they are to cut, each onto the nearest.
    fn slide_ends(&mut self, tolerance: f64, cuts: &mut [Cut]) {
        let incidence = Incidence::build(self.vertices.len(), &self.edges);
        let mut order: Vec<usize> = (0..cuts.len()).collect();
        order.sort_unstable_by_key(|&cut| (cuts[cut].2, cuts[cut].0));
        let mut moves: Vec<(usize, GridPoint)> = Vec::new();
        for run in order.chunk_by(|&p, &q| cuts[p].2 == cuts[q].2) {
            let vertex = cuts[run[0]].2;
            let here = self.vertices[vertex as usize];
            let far = |&edge: &u32| {
                let (a, b) = self.edges[edge as usize];
                self.vertices[if a == vertex { b } else { a } as usize]
            };
            let spokes: Vec<GridPoint> = incidence.of(vertex as usize).iter().map(far).collect();
            if runs_through(here, &spokes) {
                continue;
            }
            let off = |&&cut: &&usize| {
                let (a, b) = self.edges[cuts[cut].0 as usize];
                distance_across(self.vertices[a as usize], self.vertices[b as usize], here)
            };
            let Some(&cut) = run.iter().min_by(|p, q| off(p).total_cmp(&off(q))) else { continue };
            let (a, b) = self.edges[cuts[cut].0 as usize];
            if let Some(target) = slid(self.vertices[a as usize], self.vertices[b as usize], here, &spokes, tolerance) {
                moves.push((cut, target));
            }
        }
        for (cut, target) in moves {
            let (edge, place, vertex) = &mut cuts[cut];
            let (a, b) = self.edges[*edge as usize];
            *place = projection(self.vertices[a as usize], self.vertices[b as usize], target);
            self.snapped += u64::from(self.vertices[*vertex as usize] != target);
            self.vertices[*vertex as usize] = target;
        }
    }

    /// All edges by their ends: sorted, as edges and vertices are.
    fn ends(&self) -> Vec<Ends> {
        let at = |vertex: u32| self.vertices[vertex as usize];
        self.edges.iter().map(|&(a, b)| (at(a), at(b))).collect()
    }

    fn finish(self, stable: bool, crowded: bool) -> Noded {
        Noded {
            vertices: self.vertices,
            edges: self.edges,
            marks: self.marks,
            snapped: self.snapped,
            duplicates: self.duplicates,
            stable,
            crowded,
        }
    }
}

/// Where `point` projects onto `a → b` (0 to 1), if strictly inside and within `tolerance` of it.
#[inline]
fn place_on(a: GridPoint, b: GridPoint, point: GridPoint, tolerance: f64) -> Option<f64> {
    let (dx, dy) = a.to(b);
    let (px, py) = a.to(point);
    let along = dx * px + dy * py;
    let length_squared = dx * dx + dy * dy;
    if along <= 0 || along >= length_squared {
        return None;
    }
    let across = (dx * py - dy * px) as f64;
    (across * across <= tolerance * tolerance * length_squared as f64).then(|| along as f64 / length_squared as f64)
}

/// Whether two of the lines from `here` to `spokes` are one straight line, within three degrees.
fn runs_through(here: GridPoint, spokes: &[GridPoint]) -> bool {
    let ways: Vec<(f64, f64)> = spokes
        .iter()
        .map(|far| {
            let (x, y) = here.to(*far);
            let length = ((x * x + y * y) as f64).sqrt().max(f64::MIN_POSITIVE);
            (x as f64 / length, y as f64 / length)
        })
        .collect();
    // Where many lines meet, some two of them do.
    spokes.len() > 16
        || ways.iter().enumerate().any(|(number, p)| ways[number + 1..].iter().any(|q| p.0 * q.0 + p.1 * q.1 < -0.9986))
}

/// How far `point` lies from the line through `a` and `b`, steps.
fn distance_across(a: GridPoint, b: GridPoint, point: GridPoint) -> f64 {
    let (dx, dy) = a.to(b);
    let (px, py) = a.to(point);
    ((dx * py - dy * px) as f64).abs() / ((dx * dx + dy * dy) as f64).sqrt().max(1.0)
}

/// Where `here`, an end of lines to `spokes`, comes to lie on `a → b`: along the line that meets it most squarely, or
/// straight across if none does. Never beyond the ends of `a → b`, nor further than twice the tolerance.
fn slid(a: GridPoint, b: GridPoint, here: GridPoint, spokes: &[GridPoint], tolerance: f64) -> Option<GridPoint> {
    let (dx, dy) = a.to(b);
    let (dx, dy) = (dx as f64, dy as f64);
    let length = dx.hypot(dy);
    let (px, py) = a.to(here);
    let (px, py) = (px as f64, py as f64);
    let square = |way: &(f64, f64)| (dx * way.1 - dy * way.0).abs() / (length * way.0.hypot(way.1)).max(1.0);
    let along = spokes
        .iter()
        .map(|far| {
            let (x, y) = here.to(*far);
            (x as f64, y as f64)
        })
        .filter(|way| square(way) >= 0.5)
        .max_by(|p, q| square(p).total_cmp(&square(q)));
    let place = match along {
        Some((x, y)) => (px * y - py * x) / (dx * y - dy * x),
        None => (dx * px + dy * py) / (length * length),
    };
    let point = |place: f64| {
        (place > 0.0 && place < 1.0).then(|| GridPoint {
            x: (f64::from(a.x) + dx * place).round() as i32,
            y: (f64::from(a.y) + dy * place).round() as i32,
        })
    };
    point(place).filter(|target| (here.distance_squared(*target) as f64).sqrt() <= 2.0 * tolerance)
}

fn projection(a: GridPoint, b: GridPoint, point: GridPoint) -> f64 {
    let (dx, dy) = a.to(b);
    let (px, py) = a.to(point);
    (dx * px + dy * py) as f64 / ((dx * dx + dy * dy) as f64).max(1.0)
}

/// The rounded crossing of two segments that cross properly, away from all four ends (an end within the tolerance
/// of the other segment is a cut at that end, not a crossing).
#[inline]
fn crossing(a: GridPoint, b: GridPoint, c: GridPoint, d: GridPoint, tolerance: f64) -> Option<GridPoint> {
    let to_c = orientation(a, b, c);
    let to_d = orientation(a, b, d);
    if to_c == 0 || to_d == 0 || (to_c > 0) == (to_d > 0) {
        return None;
    }
    let to_a = orientation(c, d, a);
    let to_b = orientation(c, d, b);
    if to_a == 0 || to_b == 0 || (to_a > 0) == (to_b > 0) {
        return None;
    }
    let near = |from: GridPoint, to: GridPoint, point: GridPoint| place_on(from, to, point, tolerance).is_some();
    if near(a, b, c) || near(a, b, d) || near(c, d, a) || near(c, d, b) {
        return None;
    }
    let place = to_a as f64 / (to_a as f64 - to_b as f64);
    let (dx, dy) = a.to(b);
    Some(GridPoint {
        x: (f64::from(a.x) + dx as f64 * place).round() as i32,
        y: (f64::from(a.y) + dy as f64 * place).round() as i32,
    })
}

/// Points in sets that may not grow wider than a limit.
struct Clusters {
    parts: Parts,
    boxes: Vec<[i32; 4]>,
    width: i64,
}

impl Clusters {
    fn new(points: &[GridPoint], width: i64) -> Self {
        Self {
            parts: Parts::new(points.len()),
            boxes: points.iter().map(|point| [point.x, point.y, point.x, point.y]).collect(),
            width,
        }
    }

    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.parts.of(a), self.parts.of(b));
        if a == b {
            return;
        }
        let (p, q) = (self.boxes[a as usize], self.boxes[b as usize]);
        let joined = [p[0].min(q[0]), p[1].min(q[1]), p[2].max(q[2]), p[3].max(q[3])];
        let wide = i64::from(joined[2]) - i64::from(joined[0]);
        let high = i64::from(joined[3]) - i64::from(joined[1]);
        if wide.max(high) <= self.width {
            self.parts.join(a, b);
            self.boxes[a.min(b) as usize] = joined;
        }
    }

    /// For every point the point that stands for its set: most edges, then nearest to the middle, then by place.
    fn representatives(&mut self, points: &[GridPoint], degree: &[u32]) -> Vec<u32> {
        let mut chosen: Vec<u32> = (0..points.len() as u32).map(|item| self.parts.of(item)).collect();
        let mut best: Vec<u32> = (0..points.len() as u32).collect();
        let rank = |item: u32, frame: [i32; 4]| {
            let point = points[item as usize];
            let off = (2 * i64::from(point.x) - i64::from(frame[0]) - i64::from(frame[2])).abs()
                + (2 * i64::from(point.y) - i64::from(frame[1]) - i64::from(frame[3])).abs();
            (std::cmp::Reverse(degree[item as usize]), off, item)
        };
        for item in 0..points.len() as u32 {
            let root = chosen[item as usize];
            let frame = self.boxes[root as usize];
            if rank(item, frame) < rank(best[root as usize], frame) {
                best[root as usize] = item;
            }
        }
        for item in &mut chosen {
            *item = best[*item as usize];
        }
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(x: i32, y: i32) -> GridPoint {
        GridPoint { x, y }
    }

    fn segment(a: (i32, i32), b: (i32, i32)) -> Segment {
        Segment { a: at(a.0, a.1), b: at(b.0, b.1), marks: 1 }
    }

    fn noding(tolerance: f64, max_crossings: u64) -> Noding {
        Noding { tolerance, max_crossings }
    }

    fn free() -> Result<(), Interrupt> {
        Ok(())
    }

    #[test]
    fn a_cross_becomes_four_edges() {
        let noded =
            node(&[segment((0, 0), (100, 100)), segment((0, 100), (100, 0))], noding(1.0, 1_000), &free).unwrap();
        assert_eq!(noded.edges.len(), 4);
        assert!(noded.vertices.contains(&at(50, 50)));
        assert!(noded.stable);
    }

    #[test]
    fn an_end_beside_a_line_moves_and_the_line_stays_straight() {
        // Short of the line and beyond it, square and slanting.
        for (far, near, met) in [
            ((500, 900), (500, 30), (500, 0)),
            ((500, 900), (500, -30), (500, 0)),
            ((400, 900), (490, 30), (493, 0)),
            ((500, 1000), (520, -20), (520, 0)),
        ] {
            let noded = node(&[segment((0, 0), (1000, 0)), segment(far, near)], noding(50.0, 1_000), &free).unwrap();
            assert_eq!(noded.edges.len(), 3, "{near:?}");
            assert!(noded.vertices.contains(&at(met.0, met.1)), "{near:?}: {:?}", noded.vertices);
            assert_eq!(noded.snapped, 1);
        }
        // A line whose end lies beside a junction of others bends to it.
        let cross = [segment((500, -500), (500, 10)), segment((500, 10), (500, 500)), segment((0, 0), (1000, 0))];
        let noded = node(&cross, noding(50.0, 1_000), &free).unwrap();
        assert!(noded.vertices.contains(&at(500, 10)));
        assert_eq!(noded.edges.len(), 4);
    }

    #[test]
    fn overlapping_collinear_pieces_are_merged_with_all_marks() {
        let mut second = segment((50, 0), (150, 0));
        second.marks = 2;
        let noded = node(&[segment((0, 0), (100, 0)), second], noding(1.0, 1_000), &free).unwrap();
        assert_eq!(noded.edges.len(), 3);
        assert_eq!(noded.duplicates, 1);
        assert!(noded.marks.contains(&3));
    }

    #[test]
    fn the_order_of_segments_changes_nothing() {
        let mut segments: Vec<Segment> = (0..40)
            .map(|i| segment((i * 7 % 100, i * 13 % 90), (i * 31 % 97, i * 17 % 89)))
            .filter(|segment| segment.a != segment.b)
            .collect();
        let first = node(&segments, noding(3.0, 1_000), &free).unwrap();
        segments.reverse();
        for segment in &mut segments {
            std::mem::swap(&mut segment.a, &mut segment.b);
        }
        let second = node(&segments, noding(3.0, 1_000), &free).unwrap();
        assert_eq!(first.vertices, second.vertices);
        assert_eq!(first.edges, second.edges);
        assert!(first.stable);
    }

    #[test]
    fn chains_of_close_points_do_not_collapse() {
        let segments: Vec<Segment> = (0..100).map(|i| segment((i * 4, 0), (i * 4 + 4, 0))).collect();
        let noded = node(&segments, noding(5.0, 1_000), &free).unwrap();
        let last = noded.vertices.last().copied().unwrap();
        assert!(last.x > 380);
        assert!(noded.vertices.len() > 20);
    }

    #[test]
    fn too_many_crossings_are_refused_and_said() {
        let lattice: Vec<Segment> = (0..40)
            .flat_map(|i| [segment((0, 10 * i), (500, 10 * i + 3)), segment((10 * i, 0), (10 * i + 3, 500))])
            .collect();
        assert!(node(&lattice, noding(1.0, 500), &free).unwrap().crowded);
        let noded = node(&lattice, noding(1.0, 2_000), &free).unwrap();
        assert!(!noded.crowded && noded.stable);
    }
}
