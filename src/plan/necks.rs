//! Openings that nothing shows, told by the texts: two room numbers in what would be one room.
//!
//! Where most rooms of a drawing hold exactly one text of a kind (numbers, stated areas; one layer, one height, one
//! pattern), a face that holds several of them has leaked through an opening that was missed, and one of them outside
//! of everything lies in a room that is open to the outside. All narrow ways through such a face are tried as closings:
//! from corner to corner and from corner to wall. Parts between them are joined again over the widest closing first,
//! unless that would bring two texts together; what then still divides are the narrowest necks. A neck must be clearly
//! narrower than what it divides. `gaps.rs` closes what geometry alone shows; this comes last and is least sure.

use std::collections::{BTreeMap, BTreeSet};

use super::graph::{Graph, OUTSIDE};
use super::grid::{Frame, GridPoint, SegmentIndex};
use super::labels::{RoomText, label_rooms};
use super::lines::{CLOSING, WALL};
use super::net::{Net, nearest_on};
use super::noding::{Noded, Noding, Segment, node};
use super::openings::Measures;
use super::rooms::{FaceKind, JudgedFace, equivalent_width};
use crate::drawing::Point;
use crate::drawing::parts::Parts;
use crate::format::{Checkpoint, Interrupt};

/// A neck may be this part as wide as the narrower of the spaces it divides.
const NARROWNESS: f64 = 0.75;

/// A way through a face that is closed.
#[derive(Debug, Clone)]
pub(crate) struct Neck {
    /// One line, or one a face of the wall.
    pub closings: Vec<(Point, Point)>,
    /// The texts it divides.
    pub texts: (String, String),
}

impl Neck {
    /// The middle line of the opening and how thick the wall is there.
    pub(crate) fn middle(&self) -> ([Point; 2], Option<f64>) {
        let Some(&(a, b)) = self.closings.first() else { return ([Point::ZERO; 2], None) };
        let Some(&(c, d)) = self.closings.get(1) else { return ([a, b], None) };
        let (c, d) = if (b - a).dot(d - c) >= 0.0 { (c, d) } else { (d, c) };
        let depth = ((b - a).cross(c - a) / a.distance(b).max(f64::MIN_POSITIVE)).abs();
        ([a.midpoint(c), b.midpoint(d)], Some(depth))
    }
}

/// What is looked for, and how wide it may be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Search {
    pub measures: Measures,
    /// Widest neck, metres.
    pub reach: f64,
    /// Smallest room, square metres.
    pub min_area: f64,
    pub max_crossings: u64,
}

/// The necks of all faces that hold several texts of a kind, and of texts outside.
pub(crate) fn find(
    noded: &Noded,
    graph: &Graph,
    frame: Frame,
    judged: &[JudgedFace],
    texts: &[RoomText],
    search: Search,
    checkpoint: &Checkpoint<'_>,
) -> Result<Vec<Neck>, Interrupt> {
    let crowded = crowded_faces(graph, &frame, judged, texts);
    if crowded.is_empty() || search.reach <= 0.0 {
        return Ok(Vec::new());
    }
    let net = Net::build(frame, noded.clone());
    let mut found = Vec::new();
    for (face, members) in crowded {
        checkpoint()?;
        let members: Vec<&RoomText> = members.into_iter().map(|number| &texts[number]).collect();
        found.extend(divide(&net, graph, face, &members, search, checkpoint)?);
    }
    Ok(found)
}

/// Faces with several texts of a kind that other rooms hold one of, and the outside if it holds some: face, texts.
fn crowded_faces(graph: &Graph, frame: &Frame, judged: &[JudgedFace], texts: &[RoomText]) -> BTreeMap<u32, Vec<usize>> {
    let mut kinds: BTreeMap<u32, BTreeMap<u32, Vec<usize>>> = BTreeMap::new();
    for (number, text) in texts.iter().enumerate() {
        let face = graph.locate(frame.grid(text.at));
        if face == OUTSIDE || judged.get(face as usize).is_some_and(|face| face.kind == FaceKind::Room) {
            kinds.entry(text.kind).or_default().entry(face).or_default().push(number);
        }
    }
    let mut crowded: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for faces in kinds.values() {
        let different = |members: &[usize]| {
            members.iter().map(|member| texts[*member].value.as_str()).collect::<BTreeSet<_>>().len()
        };
        let inside = || faces.iter().filter(|(face, _)| **face != OUTSIDE);
        let single = inside().filter(|(_, members)| different(members) == 1).count();
        let several = inside().count() - single;
        let trusted = faces.values().flatten().all(|member| texts[*member].trusted);
        if !label_rooms(single, several, trusted) {
            continue;
        }
        for (face, members) in faces {
            let out = *face == OUTSIDE;
            let leaks = if out { 3 * different(members) <= single } else { different(members) > 1 };
            let known = crowded.get(face).map_or(0, Vec::len);
            if leaks && members.len() > known {
                crowded.insert(*face, members.clone());
            }
        }
    }
    crowded
}

/// A possible closing.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    a: GridPoint,
    b: GridPoint,
    length: f64,
}

fn divide(
    net: &Net,
    graph: &Graph,
    face: u32,
    members: &[&RoomText],
    search: Search,
    checkpoint: &Checkpoint<'_>,
) -> Result<Vec<Neck>, Interrupt> {
    let candidates = candidates(net, graph, face, members, search, checkpoint)?;
    let mut segments: Vec<Segment> =
        boundary(graph, face).map(|half| ends_of(graph, half)).map(|(a, b)| Segment { a, b, marks: WALL }).collect();
    for dangle in &graph.dangles {
        let inside = dangle.chain.first().is_some_and(|tip| graph.locate(*tip) == face);
        let pieces = dangle.chain.windows(2).filter(|_| inside);
        segments.extend(pieces.map(|pair| Segment { a: pair[0], b: pair[1], marks: WALL }));
    }
    segments.extend(candidates.iter().map(|way| Segment { a: way.a, b: way.b, marks: CLOSING }));
    let local = node(&segments, Noding { tolerance: 1.0, max_crossings: search.max_crossings }, checkpoint)?;
    if local.crowded {
        return Ok(Vec::new());
    }
    let local = Graph::build(&local, checkpoint)?;
    let ways = Ways::of(&local, &candidates, face == OUTSIDE);
    let mut spaces = Spaces::new(&local, face == OUTSIDE);
    for member in members {
        let part = local.locate(net.frame.grid(member.at));
        let first = members.iter().position(|other| other.value == member.value);
        spaces.hold(part, first.unwrap_or(0));
    }
    for &(_, one, other) in &ways.widest_first {
        spaces.join(one, other);
    }
    let kept = spaces.narrow(&local, &ways, &candidates, net.frame.step(), search);
    Ok(necks(&candidates, &kept, members, net.frame, search))
}

fn ends_of(graph: &Graph, half: u32) -> (GridPoint, GridPoint) {
    (graph.point(graph.origin(half)), graph.point(graph.target(half)))
}

/// The half-edges around a face; of the outside, those around everything.
fn boundary(graph: &Graph, face: u32) -> impl Iterator<Item = u32> + '_ {
    let rings: Vec<u32> = if face == OUTSIDE {
        (0..graph.face_of_ring.len() as u32).filter(|ring| graph.face_of_ring[*ring as usize] == OUTSIDE).collect()
    } else {
        let own = &graph.faces[face as usize];
        std::iter::once(own.shell).chain(own.holes.iter().copied()).collect()
    };
    rings.into_iter().flat_map(|ring| graph.ring(ring))
}

/// The corners that stick out into a face: reflex vertices of its boundary and the tips of lines that end in it.
fn corners(graph: &Graph, face: u32) -> Vec<GridPoint> {
    let mut found = Vec::new();
    for half in boundary(graph, face) {
        let ((a, b), (_, c)) = (ends_of(graph, half), ends_of(graph, graph.next[half as usize]));
        let ((ax, ay), (bx, by)) = (a.to(b), b.to(c));
        let (ax, ay, bx, by) = (ax as f64, ay as f64, bx as f64, by as f64);
        let turn = (ax * by - ay * bx) / (ax.hypot(ay) * bx.hypot(by)).max(1.0);
        if turn < -0.15 || ax * bx + ay * by < 0.0 && turn < 0.0 {
            found.push(b);
        }
    }
    found.extend(
        graph.dangles.iter().filter_map(|dangle| dangle.chain.first()).filter(|tip| graph.locate(**tip) == face),
    );
    found.sort_unstable();
    found.dedup();
    found
}

/// All straight ways through the face from a corner to another or to a wall, no longer than the reach; shortest first.
fn candidates(
    net: &Net,
    graph: &Graph,
    face: u32,
    members: &[&RoomText],
    search: Search,
    checkpoint: &Checkpoint<'_>,
) -> Result<Vec<Candidate>, Interrupt> {
    let frame = net.frame;
    let scale = search.measures.scale;
    let shortest = 2.5 * frame.step();
    let mut corners = corners(graph, face);
    if face == OUTSIDE {
        // What lies far from the texts closes no room around them.
        corners.retain(|corner| members.iter().any(|text| text.at.distance(frame.metres(*corner)) <= 15.0 * scale));
    }
    let is_corner = |point: GridPoint| corners.binary_search(&point).is_ok();
    let mut found: Vec<Candidate> = Vec::new();
    let mut scratch = Vec::new();
    for (turn, &corner) in corners.iter().enumerate() {
        if turn % 64 == 0 {
            checkpoint()?;
        }
        let here = frame.metres(corner);
        net.edges_around(here, search.reach, &mut scratch);
        let mut targets: Vec<GridPoint> = Vec::new();
        for &edge in &scratch {
            let (a, b) = net.noded.edges[edge as usize];
            let ends = [net.noded.vertices[a as usize], net.noded.vertices[b as usize]];
            if ends.contains(&corner) {
                continue;
            }
            targets.extend(ends.into_iter().filter(|end| *end > corner && is_corner(*end)));
            let (p, q) = (net.place(a), net.place(b));
            let foot = nearest_on(p, q, here);
            if foot != p && foot != q {
                targets.push(frame.grid(foot));
            }
        }
        targets.sort_unstable();
        targets.dedup();
        for target in targets {
            let there = frame.metres(target);
            let length = here.distance(there);
            if !(shortest..=search.reach).contains(&length) || graph.locate(frame.grid(here.midpoint(there))) != face {
                continue;
            }
            if is_clear(net, here, there, &mut Vec::new()) {
                found.push(Candidate { a: corner, b: target, length });
            }
        }
    }
    found.sort_by(|p, q| p.length.total_cmp(&q.length).then((p.a, p.b).cmp(&(q.a, q.b))));
    Ok(found)
}

/// Whether no line lies across the way but at its ends.
fn is_clear(net: &Net, a: Point, b: Point, scratch: &mut Vec<u32>) -> bool {
    let way = b - a;
    let length = way.hypot();
    let slack = 2.0 * net.frame.step();
    net.edges_around(a.midpoint(b), 0.5 * length, scratch);
    !scratch.iter().any(|&edge| {
        let (p, q) = net.ends(edge);
        let (off_p, off_q) = (way.cross(p - a) / length, way.cross(q - a) / length);
        if off_p.abs() <= slack && off_q.abs() <= slack {
            // In one line with the way: it must not lie on it.
            let (s, t) = (way.dot(p - a) / length, way.dot(q - a) / length);
            return s.max(t) > slack && s.min(t) < length - slack;
        }
        if off_p.min(off_q) > slack || off_p.max(off_q) < -slack {
            return false;
        }
        let met = p.lerp(q, off_p / (off_p - off_q));
        let along = way.dot(met - a) / length;
        (slack..=length - slack).contains(&along)
    })
}

/// The edges of the closings: which closing, and what lies on both sides.
struct Ways {
    widest_first: Vec<(u32, u32, u32)>,
}

impl Ways {
    fn of(local: &Graph, candidates: &[Candidate], out: bool) -> Self {
        let index = SegmentIndex::build(candidates.len(), |way| (candidates[way].a, candidates[way].b));
        let mut widest_first = Vec::new();
        for (edge, marks) in local.marks.iter().enumerate() {
            if marks & WALL != 0 {
                continue;
            }
            let (a, b) = ends_of(local, 2 * edge as u32);
            let middle = GridPoint { x: a.x.midpoint(b.x), y: a.y.midpoint(b.y) };
            let mut parent = u32::MAX;
            index.around(middle, 2, |way| {
                let Candidate { a: p, b: q, .. } = candidates[way as usize];
                if way < parent && beside(p, q, a) && beside(p, q, b) {
                    parent = way;
                }
            });
            let sides = (local.face(2 * edge as u32), local.face(2 * edge as u32 + 1));
            if parent != u32::MAX && (out || sides.0 != OUTSIDE && sides.1 != OUTSIDE) {
                widest_first.push((parent, sides.0, sides.1));
            }
        }
        widest_first.sort_unstable_by(|p, q| q.cmp(p));
        Self { widest_first }
    }
}

/// Within two steps of the segment `p → q`.
fn beside(p: GridPoint, q: GridPoint, point: GridPoint) -> bool {
    let ((dx, dy), (px, py)) = (p.to(q), p.to(point));
    let length = ((dx * dx + dy * dy) as f64).sqrt().max(1.0);
    let along = (dx * px + dy * py) as f64 / length;
    ((dx * py - dy * px) as f64).abs() <= 2.0 * length && (-2.0..=length + 2.0).contains(&along)
}

/// Faces joined to spaces, each with at most one text.
struct Spaces {
    parts: Parts,
    text: Vec<Option<usize>>,
}

/// The text of the outside: none of the drawing.
const NOWHERE: usize = usize::MAX;

impl Spaces {
    fn new(local: &Graph, out: bool) -> Self {
        let count = local.faces.len();
        let mut text = vec![None; count + 1];
        if out {
            text[count] = Some(NOWHERE);
        }
        Self { parts: Parts::new(count + 1), text }
    }

    fn slot(&self, face: u32) -> u32 {
        face.min(self.parts.len() as u32 - 1)
    }

    fn of(&mut self, face: u32) -> u32 {
        self.parts.of(self.slot(face))
    }

    fn hold(&mut self, face: u32, text: usize) {
        let slot = self.slot(face) as usize;
        self.text[slot].get_or_insert(text);
    }

    fn join(&mut self, one: u32, other: u32) {
        let (one, other) = (self.of(one), self.of(other));
        let differ = matches!((self.text[one as usize], self.text[other as usize]), (Some(p), Some(q)) if p != q);
        if one != other && !differ {
            self.merge(one, other);
        }
    }

    fn merge(&mut self, one: u32, other: u32) {
        let text = self.text[one as usize].or(self.text[other as usize]);
        self.parts.join(one, other);
        self.text[one.min(other) as usize] = text;
    }

    /// The closings that divide spaces much wider than themselves, with the texts on both sides; others are opened.
    fn narrow(
        &mut self,
        local: &Graph,
        ways: &Ways,
        candidates: &[Candidate],
        step: f64,
        search: Search,
    ) -> BTreeMap<u32, (usize, usize)> {
        let count = self.parts.len();
        let (mut area, mut rim) = (vec![0.0; count], vec![0.0; count]);
        for (number, face) in local.faces.iter().enumerate() {
            area[self.of(number as u32) as usize] += face.area_twice as f64 * 0.5 * step * step;
        }
        for edge in 0..local.edges.len() as u32 {
            let (one, other) = (self.of(local.face(2 * edge)), self.of(local.face(2 * edge + 1)));
            let (a, b) = ends_of(local, 2 * edge);
            if one != other || local.marks[edge as usize] & WALL != 0 {
                let length = (a.distance_squared(b) as f64).sqrt() * step;
                rim[one as usize] += length;
                rim[other as usize] += length;
            }
        }
        let out = self.of(OUTSIDE);
        let beyond = self.text[out as usize] == Some(NOWHERE);
        let width = |part: u32| {
            if beyond && part == out {
                f64::INFINITY
            } else if area[part as usize] < search.min_area {
                0.0
            } else {
                equivalent_width(area[part as usize], rim[part as usize])
            }
        };
        let mut pairs: BTreeMap<(u32, u32), f64> = BTreeMap::new();
        for &(way, one, other) in &ways.widest_first {
            let (one, other) = (self.of(one), self.of(other));
            if one != other {
                let longest = pairs.entry((one.min(other), one.max(other))).or_default();
                *longest = longest.max(candidates[way as usize].length);
            }
        }
        let refused: Vec<(u32, u32)> = pairs
            .into_iter()
            .filter(|((one, other), longest)| *longest > NARROWNESS * width(*one).min(width(*other)))
            .map(|(pair, _)| pair)
            .collect();
        for (one, other) in refused {
            let (one, other) = (self.of(one), self.of(other));
            if one != other {
                self.merge(one, other);
            }
        }
        let mut kept = BTreeMap::new();
        for &(way, one, other) in &ways.widest_first {
            let (one, other) = (self.of(one), self.of(other));
            if one != other
                && let (Some(first), Some(second)) = (self.text[one as usize], self.text[other as usize])
            {
                kept.insert(way, (first.min(second), first.max(second)));
            }
        }
        kept
    }
}

/// The closings that were kept, with those on the other face of the wall.
fn necks(
    candidates: &[Candidate],
    kept: &BTreeMap<u32, (usize, usize)>,
    members: &[&RoomText],
    frame: Frame,
    search: Search,
) -> Vec<Neck> {
    let Measures { scale, max_thickness, min_thickness, .. } = search.measures;
    let line = |way: u32| {
        let Candidate { a, b, .. } = candidates[way as usize];
        (frame.metres(a), frame.metres(b))
    };
    let text = |number: usize| members.get(number).map_or_else(|| "the outside".to_owned(), |text| text.value.clone());
    let mut done: BTreeSet<u32> = BTreeSet::new();
    let mut found = Vec::new();
    for (&way, &(first, second)) in kept {
        if done.contains(&way) {
            continue;
        }
        let (a, b) = line(way);
        let length = a.distance(b);
        let along = (b - a) / length.max(f64::MIN_POSITIVE);
        let twin = (0..candidates.len() as u32)
            .filter(|other| *other != way && !done.contains(other))
            .filter_map(|other| {
                let (p, q) = line(other);
                let shift = p.midpoint(q) - a.midpoint(b);
                let straight = along.dot(q - p).abs() > 0.985 * p.distance(q);
                let like = (p.distance(q) - length).abs() < 0.1 * length + 0.02 * scale;
                let off = along.cross(shift).abs();
                let beside = (min_thickness..=max_thickness + 0.02 * scale).contains(&off);
                (straight && like && beside && along.dot(shift).abs() < 0.1 * length).then_some((off, other))
            })
            .min_by(|p, q| p.0.total_cmp(&q.0).then(p.1.cmp(&q.1)));
        done.insert(way);
        let mut closings = vec![(a, b)];
        if let Some((_, other)) = twin {
            done.insert(other);
            closings.push(line(other));
        }
        found.push(Neck { closings, texts: (text(first), text(second)) });
    }
    found
}
