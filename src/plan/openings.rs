//! Openings in walls, and the lines that close them.
//!
//! A proposal of `symbols.rs` is fitted: wall faces that end beside the hinge are run across the gap to the faces
//! that end beside the latch, or to the wall they would meet. Where walls run through, nothing needs closing. Then
//! wall ends that face each other over a gap without any symbol are closed too, up to a width; a gap with lines
//! along it is a window. The closing lines bound rooms like walls do, so that openings neither join nor split
//! rooms.

use std::collections::HashSet;

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
        used.extend(attempt.ends.iter().copied());
        let (confidence, reason) = attempt.verdict(proposal);
        openings.fitted.push(Fitted {
            kind: proposal.kind,
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
    bare_gaps(net, loose, &used, measures, options, &mut openings, checkpoint)?;
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
    let from = wall_ends(net, reading.a, u, n, slack, band);
    let mut to = wall_ends(net, reading.b, -u, -n, slack, band);
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
fn wall_ends(net: &Net, at: Point, u: Vec2, n: Vec2, slack: f64, band: f64) -> Vec<WallEnd> {
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
    ends
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

    /// Whether thin boxes along `a → b` cover most of it.
    fn slides(&self, a: Point, b: Point, band: f64) -> bool {
        let width = a.distance(b);
        let u = (b - a) / width.max(f64::MIN_POSITIVE);
        let mut found = Vec::new();
        let reach = self.frame.steps(0.5 * width + band).ceil() as i64;
        self.panel_index.around(self.frame.grid(a.midpoint(b)), reach, |panel| found.push(panel));
        found.sort_unstable();
        found.dedup();
        let mut covered = 0.0;
        for panel in found {
            let (p, q) = self.panels[panel as usize];
            let (s, t) = ((p - a).dot(u), (q - a).dot(u));
            let across = u.cross(p - a).abs().max(u.cross(q - a).abs());
            if across <= band {
                covered += (s.max(t).min(width) - s.min(t).max(0.0)).max(0.0);
            }
        }
        covered >= 0.6 * width
    }

    /// How many lines run along `a → b` within `band` of it, over at least four fifths of it.
    fn along(&self, a: Point, b: Point, band: f64) -> usize {
        let width = a.distance(b);
        let u = (b - a) / width.max(f64::MIN_POSITIVE);
        let mut found = Vec::new();
        let reach = self.frame.steps(0.5 * width + band).ceil() as i64;
        self.index.around(self.frame.grid(a.midpoint(b)), reach, |piece| found.push(piece));
        found.sort_unstable();
        found.dedup();
        found
            .into_iter()
            .filter(|piece| {
                let (p, q) = self.pieces[*piece as usize];
                let (s, t) = ((p - a).dot(u), (q - a).dot(u));
                let across = u.cross(p - a).abs().max(u.cross(q - a).abs());
                let covered = s.max(t).min(width) - s.min(t).max(0.0);
                across <= band && covered >= 0.8 * width && s.max(t) - s.min(t) <= 1.3 * width
            })
            .count()
    }
}

/// The end of a wall: its two corners (or its one end), and where it points.
#[derive(Debug, Clone, Copy)]
struct Cap {
    corners: (u32, u32),
    way: Vec2,
    thickness: f64,
    /// Belongs to a piece as small as a column or a pier.
    small: bool,
    /// Belongs to a piece that stands free: a stringer, a screen, a counter.
    free: bool,
}

fn bare_gaps(
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
    let mut closed = vec![false; caps.len()];
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
        let slides = loose.slides(start, start + cap.way * gap, band);
        let lines = if slides {
            0
        } else {
            let inner = if single { band } else { 0.5 * cap.thickness - 0.015 * scale };
            loose.along(start, start + cap.way * gap, band) + inner_lines(net, start, start + cap.way * gap, inner)
        };
        let drawn = lines > 0 || slides;
        let limit = if drawn { far } else { reach };
        let side_limit = 0.62 * reach;
        let accepted = match facing {
            Some(other) => {
                // Two piers face each other everywhere; glass between them makes them a wall.
                let piers = cap.small && caps[other].small && lines < 2;
                gap <= if single && !drawn { 0.8 * limit } else { limit } && !piers
            }
            None => (!cap.free || drawn) && gap <= if drawn { far } else { side_limit },
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

/// How many wall lines run inside a gap from end to end: the panes of a window that no name told from walls.
fn inner_lines(net: &Net, a: Point, b: Point, band: f64) -> usize {
    let width = a.distance(b);
    if band <= 0.0 || width <= 0.0 {
        return 0;
    }
    let u = (b - a) / width;
    let mut scratch = Vec::new();
    net.edges_around(a.midpoint(b), 0.5 * width + band, &mut scratch);
    let mut rows: Vec<(f64, f64)> = Vec::new();
    for &edge in &scratch {
        let (p, q) = net.ends(edge);
        let (s, t) = ((p - a).dot(u), (q - a).dot(u));
        let (low, high) = (s.min(t).max(0.0), s.max(t).min(width));
        let (from, to) = (u.cross(p - a), u.cross(q - a));
        if high - low > 0.0 && from.abs().max(to.abs()) <= band && (to - from).abs() < 0.1 * (high - low).max(1e-9) {
            match rows.iter_mut().find(|row| (row.0 - 0.5 * (from + to)).abs() < 0.01 * width) {
                Some(row) => row.1 += high - low,
                None => rows.push((0.5 * (from + to), high - low)),
            }
        }
    }
    rows.iter().filter(|row| row.1 >= 0.8 * width).count()
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
                    small: small(vertex),
                    free: free(vertex),
                });
            }
            continue;
        }
        for (_, first, across) in net.spokes(vertex) {
            let Some((last, thickness)) = walk_cap(net, vertex, first, across, thick) else { continue };
            if last <= vertex || thickness < thin || used.contains(&last) {
                continue;
            }
            for way in [Vec2::new(-across.y, across.x), Vec2::new(across.y, -across.x)] {
                let ends = (ends_here(net, vertex, way, thickness), ends_here(net, last, way, thickness));
                if let (Some(first), Some(second)) = ends {
                    // The longer face knows the direction of the wall best.
                    let way = if first.0 >= second.0 { first.1 } else { second.1 };
                    caps.push(Cap {
                        corners: (vertex, last),
                        way,
                        thickness,
                        small: small(vertex),
                        free: free(vertex),
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
fn ends_here(net: &Net, vertex: u32, way: Vec2, thickness: f64) -> Option<(f64, Vec2)> {
    let mut back: Option<(f64, Vec2)> = None;
    for (_, far, spoke) in net.spokes(vertex) {
        if spoke.dot(way) > 0.9 {
            return None;
        }
        let length = net.place(vertex).distance(net.place(far));
        if spoke.dot(way) < -0.985 && length > 0.25 * thickness && back.is_none_or(|known| length > known.0) {
            back = Some((length, -spoke));
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
