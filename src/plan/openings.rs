//! Openings in walls, and the lines that close them.
//!
//! A proposal of `symbols.rs` is fitted: wall faces that end beside the hinge are run across the gap to the faces
//! that end beside the latch, or to the wall they would meet. Where walls run through, nothing needs closing. Then
//! wall ends that face each other over a gap without any symbol are closed too, up to a width; a gap with lines
//! along it is a window. The closing lines bound rooms like walls do, so that openings neither join nor split
//! rooms.

use std::collections::HashSet;

use super::gaps;
use super::grid::{Frame, SegmentIndex};
use super::net::Net;
use super::symbols::{Proposal, Reading};
use super::{OpeningKind, PlanOptions};
use crate::drawing::{Point, Vec2};
use crate::format::{Checkpoint, Interrupt};

/// An opening fitted into the walls.
#[derive(Debug, Clone)]
pub(crate) struct Fitted {
    pub kind: OpeningKind,
    pub line: [Point; 2],
    pub depth: Option<f64>,
    pub closings: Vec<(Point, Point)>,
    pub hinges: Vec<Point>,
    pub swing: Option<Point>,
    /// The proposal's item and group, if there was a symbol.
    pub source: Option<(u32, u32)>,
    pub confidence: f64,
    pub reason: String,
}

/// What fitting found.
#[derive(Debug, Default)]
pub(crate) struct Openings {
    pub fitted: Vec<Fitted>,
    /// Proposals that no wall holds, with their place.
    pub homeless: Vec<(Point, u32)>,
}

/// What the walls around a drawing allow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measures {
    pub scale: f64,
    pub max_thickness: f64,
    pub min_thickness: f64,
    /// Walls are drawn by their two faces.
    pub double: bool,
}

/// Fits proposals and finds bare gaps.
pub(crate) fn fit(
    net: &Net,
    proposals: &[Proposal],
    loose: &Loose,
    measures: Measures,
    options: &PlanOptions,
    checkpoint: &Checkpoint<'_>,
) -> Result<Openings, Interrupt> {
    let mut openings = Openings::default();
    let mut used: HashSet<u32> = HashSet::new();
    // Swings first: they say more than bundles of lines.
    let mut order: Vec<&Proposal> = proposals.iter().collect();
    order.sort_by_key(|proposal| (proposal.hinges.is_empty(), proposal.kind == OpeningKind::Window, proposal.item));
    for (turn, proposal) in order.into_iter().enumerate() {
        if turn % 128 == 0 {
            checkpoint()?;
        }
        let mut best: Option<(f64, Attempt)> = None;
        for reading in &proposal.readings {
            if let Some(attempt) = attempt(net, reading, proposal, measures, options) {
                let score = attempt.score + if reading.leaf { 5.0 } else { 0.0 };
                if best.as_ref().is_none_or(|known| score > known.0 + 1e-9) {
                    best = Some((score, attempt));
                }
            }
        }
        let Some((_, attempt)) = best.filter(|(_, attempt)| attempt.score > 0.0 || proposal.named) else {
            continue;
        };
        if attempt.score <= 0.0 {
            openings.homeless.push((proposal.readings[0].a, proposal.item));
            continue;
        }
        let slid = slid_aside(net, proposal, &attempt, &used, measures, options);
        let kind = if slid.is_some() { OpeningKind::SlidingDoor } else { proposal.kind };
        let attempt = slid.unwrap_or(attempt);
        used.extend(attempt.ends.iter().copied());
        let (confidence, reason) = attempt.verdict(proposal);
        openings.fitted.push(Fitted {
            kind,
            line: attempt.line,
            depth: attempt.depth,
            closings: attempt.closings,
            hinges: proposal.hinges.clone(),
            swing: proposal.swing,
            source: Some((proposal.item, proposal.group)),
            confidence,
            reason,
        });
    }
    merge_same(&mut openings.fitted, measures);
    gaps::bare_gaps(net, loose, &used, measures, options, &mut openings, checkpoint)?;
    Ok(openings)
}

/// One reading of a proposal, tried on the walls.
struct Attempt {
    line: [Point; 2],
    depth: Option<f64>,
    closings: Vec<(Point, Point)>,
    ends: Vec<u32>,
    /// Ten and more: closed between wall ends; three: walls run through; one: joined to what is near; 0: no wall.
    score: f64,
}

impl Attempt {
    fn verdict(&self, proposal: &Proposal) -> (f64, String) {
        let symbol = match (proposal.kind, proposal.hinges.is_empty()) {
            (OpeningKind::Window, _) => "window symbol",
            (_, true) => "door symbol without swing",
            (OpeningKind::DoubleDoor, _) => "two swings that meet",
            _ => "swing",
        };
        let named: f64 = if proposal.named { 0.05 } else { 0.0 };
        if self.score >= 10.0 {
            ((0.9 + named).min(0.98), format!("{symbol} between wall ends"))
        } else if self.score >= 3.0 {
            (0.8 + named, format!("{symbol} on a wall drawn through"))
        } else {
            (0.5 + named, format!("{symbol} near walls that do not line up with it"))
        }
    }
}

/// The gap a leaf without a swing was slid aside from: of its width, beside or partly under it in the same wall.
fn slid_aside(
    net: &Net,
    proposal: &Proposal,
    drawn: &Attempt,
    used: &HashSet<u32>,
    measures: Measures,
    options: &PlanOptions,
) -> Option<Attempt> {
    let [reading] = proposal.readings[..] else { return None };
    let whole = |attempt: &Attempt| attempt.ends.len() >= 2 * attempt.closings.len() && attempt.score >= 10.0;
    if !proposal.hinges.is_empty() || proposal.kind == OpeningKind::Window || whole(drawn) {
        return None;
    }
    let leaf = reading.b - reading.a;
    [1.0, -1.0, 2.0, -2.0, 3.0, -3.0].into_iter().find_map(|third| {
        let shift = leaf * (third / 3.0);
        let aside = Reading { a: reading.a + shift, b: reading.b + shift, leaf: false };
        let found = attempt(net, &aside, proposal, measures, options)?;
        let width = found.line[0].distance(found.line[1]) / leaf.hypot().max(f64::MIN_POSITIVE);
        let free = found.ends.iter().all(|end| !used.contains(end));
        (whole(&found) && free && (0.7..=1.15).contains(&width)).then_some(found)
    })
}

/// A wall face that ends beside an opening.
#[derive(Debug, Clone, Copy)]
struct WallEnd {
    vertex: u32,
    /// Along the opening from `a`.
    along: f64,
    /// Across it.
    across: f64,
    /// Direction the face would run on.
    way: Vec2,
}

fn attempt(
    net: &Net,
    reading: &Reading,
    proposal: &Proposal,
    measures: Measures,
    options: &PlanOptions,
) -> Option<Attempt> {
    let scale = measures.scale;
    let width = reading.a.distance(reading.b);
    if width <= 0.0 {
        return None;
    }
    let limit = if proposal.kind == OpeningKind::Window { 60.0 } else { options.max_opening_width_m };
    if !proposal.named && width > limit * scale {
        return None;
    }
    let u = (reading.b - reading.a) / width;
    let n = Vec2::new(-u.y, u.x);
    let slack = (0.3 * width).clamp(0.15 * scale, 0.4 * scale);
    let band = measures.max_thickness + 0.12 * scale;
    let from = wall_ends(net, reading.a, u, n, slack, band, scale);
    let mut to = wall_ends(net, reading.b, -u, -n, slack, band, scale);
    for end in &mut to {
        end.along = width - end.along;
        end.across = -end.across;
    }
    // The wall an opening is in passes by it; ends further off belong to other walls.
    let beside =
        |ends: &[WallEnd]| ends.iter().any(|end| end.across.abs() <= 0.5 * measures.max_thickness + 0.1 * scale);
    let (mut from, mut to) = (from, to);
    if !beside(&from) && !beside(&to) {
        from.clear();
        to.clear();
    }
    let mut closings: Vec<(WallEnd, Point, f64)> = Vec::new();
    let mut matched = vec![false; to.len()];
    let mut ends = Vec::new();
    for end in &from {
        let mut best: Option<(f64, usize)> = None;
        for (number, other) in to.iter().enumerate() {
            let off = (end.across - other.across).abs();
            if off <= 0.03 * scale + 0.01 * width && other.along > end.along && best.is_none_or(|known| off < known.0) {
                best = Some((off, number));
            }
        }
        if let Some((_, number)) = best {
            matched[number] = true;
            ends.extend([end.vertex, to[number].vertex]);
            closings.push((*end, net.place(to[number].vertex), to[number].along));
        } else if let Some(hit) = net.ray(
            net.place(end.vertex),
            end.way,
            width - end.along + slack + 0.1 * scale,
            end.vertex,
            0.02 * scale,
            0.02 * scale,
        ) {
            let along = end.along + hit.distance;
            if along >= width - slack {
                ends.push(end.vertex);
                closings.push((*end, hit.at, along));
            }
        }
    }
    for (number, end) in to.iter().enumerate() {
        if matched[number] {
            continue;
        }
        if let Some(hit) = net.ray(
            net.place(end.vertex),
            end.way,
            end.along + slack + 0.1 * scale,
            end.vertex,
            0.02 * scale,
            0.02 * scale,
        ) {
            let along = end.along - hit.distance;
            if along <= slack {
                ends.push(end.vertex);
                closings.push((WallEnd { along, ..*end }, hit.at, end.along));
            }
        }
    }
    if !closings.is_empty() {
        let low = closings.iter().map(|closing| closing.0.across).fold(f64::INFINITY, f64::min);
        let high = closings.iter().map(|closing| closing.0.across).fold(f64::NEG_INFINITY, f64::max);
        let start = closings.iter().map(|closing| closing.0.along).sum::<f64>() / closings.len() as f64;
        let end = closings.iter().map(|closing| closing.2).sum::<f64>() / closings.len() as f64;
        let middle = n * (0.5 * (low + high));
        return Some(Attempt {
            line: [reading.a + u * start + middle, reading.a + u * end + middle],
            depth: (closings.len() >= 2 && high - low >= measures.min_thickness).then_some(high - low),
            score: 10.0 + closings.len().min(2) as f64,
            closings: closings.iter().map(|closing| (net.place(closing.0.vertex), closing.1)).collect(),
            ends,
        });
    }
    if let Some((low, high)) = through(net, reading, u, n, width, band) {
        let middle = n * (0.5 * (low + high));
        return Some(Attempt {
            line: [reading.a + middle, reading.b + middle],
            depth: (high - low >= measures.min_thickness).then_some(high - low),
            closings: Vec::new(),
            ends: Vec::new(),
            score: 3.0,
        });
    }
    let mut scratch = Vec::new();
    let reach = (0.5 * scale).min(0.6 * width);
    let a = net.nearest(reading.a, reach, &mut scratch);
    let b = net.nearest(reading.b, reach, &mut scratch);
    match (a, b) {
        (Some((_, a)), Some((_, b))) if a.distance(b) >= 0.5 * width => {
            Some(Attempt { line: [a, b], depth: None, closings: vec![(a, b)], ends: Vec::new(), score: 1.0 })
        }
        _ => Some(Attempt {
            line: [reading.a, reading.b],
            depth: None,
            closings: Vec::new(),
            ends: Vec::new(),
            score: 0.0,
        }),
    }
}

/// Vertices near `at` where a wall face along `u` comes from behind and does not go on.
fn wall_ends(net: &Net, at: Point, u: Vec2, n: Vec2, slack: f64, band: f64, scale: f64) -> Vec<WallEnd> {
    let mut scratch = Vec::new();
    net.edges_around(at, slack.max(band), &mut scratch);
    let mut vertices: Vec<u32> = scratch
        .iter()
        .flat_map(|edge| {
            let (a, b) = net.noded.edges[*edge as usize];
            [a, b]
        })
        .collect();
    vertices.sort_unstable();
    vertices.dedup();
    let mut ends = Vec::new();
    for vertex in vertices {
        let w = net.place(vertex) - at;
        let (along, across) = (w.dot(u), w.dot(n));
        if along.abs() > slack || across.abs() > band {
            continue;
        }
        let mut back: Option<Vec2> = None;
        let mut on = false;
        for (_, _, way) in net.spokes(vertex) {
            let ahead = way.dot(u);
            if ahead < -0.985 {
                back = Some(-way);
            }
            on |= ahead > 0.97;
        }
        if let Some(way) = back
            && !on
        {
            ends.push(WallEnd { vertex, along, across, way });
        }
    }
    ends.sort_by(|p, q| p.across.abs().total_cmp(&q.across.abs()).then(p.vertex.cmp(&q.vertex)));
    // The end of a wall that the one with the opening stands on is none: a nearer face, and not of a frame in the opening,
    // begins in line with it.
    let begins: Vec<f64> = ends.iter().map(|end| end.along - run_back(net, end.vertex, end.way, 2.0 * slack)).collect();
    let crosses = |outer: &WallEnd, inner: usize| {
        let toward = (ends[inner].across - outer.across).signum();
        let nearer = ends[inner].across.abs() + 0.02 * slack < outer.across.abs();
        nearer
            && ends[inner].along - begins[inner] >= 0.15 * scale
            && (begins[inner] - outer.along).abs() <= 0.05 * slack
            && net.spokes(outer.vertex).any(|(_, _, way)| toward * way.dot(n) > 0.97)
    };
    let kept = ends.iter().filter(|outer| !(0..ends.len()).any(|inner| crosses(outer, inner)));
    kept.copied().collect()
}

/// How far a wall face runs straight back from its end at `vertex`, which points along `way`: looked at over `reach`.
fn run_back(net: &Net, vertex: u32, way: Vec2, reach: f64) -> f64 {
    let start = net.place(vertex);
    let (mut at, mut length) = (vertex, 0.0);
    for _ in 0..16 {
        let back = net.spokes(at).find(|(_, _, spoke)| spoke.dot(way) < -0.985);
        let Some((_, far, _)) = back.filter(|_| length < reach) else { break };
        at = far;
        length = start.distance(net.place(at));
    }
    length
}

/// The offsets of the two nearest wall faces that run along the whole opening.
fn through(net: &Net, reading: &Reading, u: Vec2, n: Vec2, width: f64, band: f64) -> Option<(f64, f64)> {
    let mut scratch = Vec::new();
    let middle = reading.a.midpoint(reading.b);
    net.edges_around(middle, 0.5 * width + band, &mut scratch);
    let mut faces: Vec<(f64, f64)> = Vec::new();
    for &edge in &scratch {
        let (p, q) = net.ends(edge);
        let length = p.distance(q);
        if u.cross((q - p) / length.max(f64::MIN_POSITIVE)).abs() > 0.08 {
            continue;
        }
        let (s, t) = ((p - reading.a).dot(u), (q - reading.a).dot(u));
        let covered = s.max(t).min(width) - s.min(t).max(0.0);
        let across = 0.5 * ((p - reading.a).dot(n) + (q - reading.a).dot(n));
        if covered > 0.0 && across.abs() <= band {
            match faces.iter_mut().find(|face| (face.0 - across).abs() < 0.015 * width.min(2.0)) {
                Some(face) => face.1 += covered,
                None => faces.push((across, covered)),
            }
        }
    }
    faces.retain(|face| face.1 >= 0.6 * width);
    faces.sort_by(|p, q| p.0.abs().total_cmp(&q.0.abs()));
    let first = faces.first()?.0;
    let second = faces.get(1).map_or(first, |face| face.0);
    Some((first.min(second), first.max(second)))
}

/// Of openings in the same place only the one that says most stays.
fn merge_same(fitted: &mut Vec<Fitted>, measures: Measures) {
    let tree: rstar::RTree<rstar::primitives::GeomWithData<[f64; 2], usize>> = rstar::RTree::bulk_load(
        fitted
            .iter()
            .enumerate()
            .map(|(number, opening)| {
                let middle = opening.line[0].midpoint(opening.line[1]);
                rstar::primitives::GeomWithData::new([middle.x, middle.y], number)
            })
            .collect(),
    );
    let mut drop = vec![false; fitted.len()];
    for (number, opening) in fitted.iter().enumerate() {
        if drop[number] {
            continue;
        }
        let middle = opening.line[0].midpoint(opening.line[1]);
        let width = opening.line[0].distance(opening.line[1]);
        let reach = 0.5 * width;
        for near in tree.locate_within_distance([middle.x, middle.y], reach * reach) {
            let other = near.data;
            if other <= number || drop[other] {
                continue;
            }
            let mate = &fitted[other];
            let mate_width = mate.line[0].distance(mate.line[1]);
            let u = (opening.line[1] - opening.line[0]) / width.max(f64::MIN_POSITIVE);
            let v = (mate.line[1] - mate.line[0]) / mate_width.max(f64::MIN_POSITIVE);
            let away = (mate.line[0].midpoint(mate.line[1]) - middle).dot(u).abs();
            if u.cross(v).abs() < 0.2
                && away < 0.35 * width.max(mate_width)
                && mate_width < 1.6 * width.max(0.3 * measures.scale)
            {
                drop[other] = true;
            }
        }
    }
    let mut flags = drop.into_iter();
    fitted.retain(|_| !flags.next().unwrap_or(false));
}

/// Lines that are no walls; a gap with some of them along it is a window.
#[derive(Debug)]
pub(crate) struct Loose {
    pieces: Vec<(Point, Point)>,
    index: SegmentIndex,
    panels: Vec<(Point, Point)>,
    panel_index: SegmentIndex,
    frame: Frame,
}

impl Loose {
    /// `panels`: middle lines of thin boxes, which are leaves or panels of sliding doors.
    pub(crate) fn build(frame: Frame, pieces: Vec<(Point, Point)>, panels: Vec<(Point, Point)>) -> Self {
        let panel_index =
            SegmentIndex::build(panels.len(), |panel| (frame.grid(panels[panel].0), frame.grid(panels[panel].1)));
        let index =
            SegmentIndex::build(pieces.len(), |piece| (frame.grid(pieces[piece].0), frame.grid(pieces[piece].1)));
        Self { pieces, index, panels, panel_index, frame }
    }

    /// Whether leaves of a sliding door are drawn along the gap `a → b`: thin boxes that cover most of it, one box of its
    /// width that stands in it or beside it (an open leaf, along the wall or in its pocket), or lines that each cover a
    /// part of it and all of it together.
    pub(super) fn slides(&self, a: Point, b: Point, band: f64) -> bool {
        let width = a.distance(b);
        let slack = 0.1 * width;
        let (boxes, lines) = (Along { a, b, band, reach: 1.3 * width }, Along { a, b, band, reach: 0.6 * width });
        let mut covered = 0.0;
        for (_, from, to) in boxes.of(&self.panels, &self.panel_index, self.frame) {
            covered += (to.min(width) - from.max(0.0)).max(0.0);
            let touches = from <= width + slack && to >= -slack && (from >= -slack || to <= width + slack);
            if touches && (0.6 * width..=1.35 * width).contains(&(to - from)) {
                return true;
            }
        }
        if covered >= 0.6 * width {
            return true;
        }
        let mut leaves: Vec<(f64, f64, f64)> = lines
            .of(&self.pieces, &self.index, self.frame)
            .into_iter()
            .filter(|(_, from, to)| {
                (0.3 * width..=0.8 * width).contains(&(to - from)) && *from >= -slack && *to <= width + slack
            })
            .collect();
        leaves.sort_by(|p, q| p.1.total_cmp(&q.1).then(p.0.total_cmp(&q.0)));
        let (mut reached, mut beside) = (0.0f64, false);
        for (number, (across, from, to)) in leaves.iter().enumerate() {
            if *from > reached + slack {
                return false;
            }
            // Pieces of one line are no leaves: those of a door lie side by side.
            beside |= number > 0 && leaves[..number].iter().all(|leaf| (leaf.0 - across).abs() > 0.004 * width);
            reached = reached.max(*to);
        }
        beside && reached >= 0.85 * width
    }

    /// How many lines run along `a → b` within `band` of it, over at least four fifths of it.
    pub(super) fn along(&self, a: Point, b: Point, band: f64) -> usize {
        let width = a.distance(b);
        Along { a, b, band, reach: 0.5 * width }
            .of(&self.pieces, &self.index, self.frame)
            .into_iter()
            .filter(|(_, from, to)| to.min(width) - from.max(0.0) >= 0.8 * width && to - from <= 1.3 * width)
            .count()
    }
}

/// A gap, and how far beside its line and around its middle is looked.
struct Along {
    a: Point,
    b: Point,
    band: f64,
    reach: f64,
}

impl Along {
    /// The pieces along the gap: how far across they lie, and from where to where they run along it.
    fn of(&self, pieces: &[(Point, Point)], index: &SegmentIndex, frame: Frame) -> Vec<(f64, f64, f64)> {
        let Self { a, b, band, reach } = *self;
        let u = (b - a) / a.distance(b).max(f64::MIN_POSITIVE);
        let mut found = Vec::new();
        index.around(frame.grid(a.midpoint(b)), frame.steps(reach + band).ceil() as i64, |piece| found.push(piece));
        found.sort_unstable();
        found.dedup();
        let along = |piece: u32| {
            let (p, q) = pieces[piece as usize];
            let (from, to) = ((p - a).dot(u), (q - a).dot(u));
            let (first, last) = (u.cross(p - a), u.cross(q - a));
            let parallel = (first - last).abs() <= 0.05 * (to - from).abs();
            let near = first.abs().max(last.abs()) <= band;
            (parallel && near).then_some((0.5 * (first + last), from.min(to), from.max(to)))
        };
        found.into_iter().filter_map(along).collect()
    }
}
