//! Doors and windows as drawn: swings with leaves, blocks, and bundles of lines on door and window layers.
//!
//! A swing is an arc; its centre is the hinge, one end is the open leaf, the other lies at the latch jamb, so the
//! opening runs from hinge to latch. Which end is which is told by the leaf (a line or thin rectangle from the
//! hinge); without one both readings are kept and the walls decide. Two swings that share their latch are a double
//! door. Everything else on door and window layers is bundled by block or by touch and read as a rectangle along
//! the wall. This module proposes; `openings.rs` fits the proposals into the walls.

use rstar::{AABB, RTree, primitives::GeomWithData, primitives::Rectangle};

use super::classify::Roles;
use super::grid::{Frame, SegmentIndex};
use super::input::{Input, NONE};
use super::measure::SwingArc;
use super::{OpeningKind, PlanOptions, Role};
use crate::drawing::parts::Parts;
use crate::drawing::{Point, Vec2};
use crate::format::{Checkpoint, Interrupt, Pace};

/// A proposal: an opening from `a` to `b`.
#[derive(Debug, Clone)]
pub(crate) struct Proposal {
    pub kind: OpeningKind,
    /// Readings, best first; the walls choose.
    pub readings: Vec<Reading>,
    pub hinges: Vec<Point>,
    pub swing: Option<Point>,
    /// Item or group it is from: ordinal of the shape for the source.
    pub item: u32,
    pub group: u32,
    /// All items of a bundle.
    pub members: Vec<u32>,
    /// Told by name or configuration, not only by shape.
    pub named: bool,
}

/// One way to read a proposal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading {
    pub a: Point,
    pub b: Point,
    /// The leaf was found where this reading wants it.
    pub leaf: bool,
}

/// Proposals, and which items are parts of symbols and no walls.
#[derive(Debug, Default)]
pub(crate) struct Symbols {
    pub proposals: Vec<Proposal>,
    pub taken: Vec<bool>,
}

/// What the straight lines beside arcs say.
pub(crate) struct Evidence {
    leaves: Leaves,
    /// By arc: how far a leaf covers the way to each end.
    covers: Vec<[f64; 2]>,
}

/// A piece that may be of a leaf.
#[derive(Debug, Clone, Copy, PartialEq)]
struct LeafPart {
    item: u32,
    /// The item is nothing but leaf.
    whole: bool,
    /// Share of the way from the hinge that it covers.
    covered: f64,
    /// How far it lies aside from the hinge, in radii.
    aside: f64,
}

/// Looks for leaves beside all arcs; free of scale.
pub(crate) fn evidence(
    input: &Input,
    roles: &Roles,
    arcs: &[SwingArc],
    checkpoint: &Checkpoint<'_>,
) -> Result<Evidence, Interrupt> {
    let pace = Pace::new(checkpoint);
    let leaves = Leaves::build(input, roles, arcs);
    let mut covers = Vec::with_capacity(arcs.len());
    for arc in arcs {
        let mut cover = [0.0f64; 2];
        for (cover, end) in cover.iter_mut().zip(arc.ends) {
            leaves.along(input, arc, end, &pace, |_, covered, _| *cover = cover.max(covered))?;
        }
        covers.push(cover);
    }
    Ok(Evidence { leaves, covers })
}

/// Radii of arcs that have a leaf: what tells the scale of a drawing.
pub(crate) fn leaf_radii(arcs: &[SwingArc], evidence: &Evidence) -> Vec<f64> {
    arcs.iter()
        .zip(&evidence.covers)
        .filter(|(arc, cover)| {
            let fits = arc.role == Role::Door || matches!(arc.role, Role::Unknown | Role::Wall);
            fits && (30.0..=110.0).contains(&arc.sweep_deg) && cover[0].max(cover[1]) >= 0.6
        })
        .map(|(arc, _)| arc.radius)
        .collect()
}

/// Finds door and window symbols.
pub(crate) fn find(
    input: &Input,
    roles: &Roles,
    arcs: &[SwingArc],
    evidence: Evidence,
    scale: f64,
    options: &PlanOptions,
    checkpoint: &Checkpoint<'_>,
) -> Result<Symbols, Interrupt> {
    let mut symbols = Symbols { proposals: Vec::new(), taken: vec![false; input.items.len()] };
    let mut swings: Vec<(SwingArc, [f64; 2])> = Vec::new();
    let pace = Pace::new(checkpoint);
    let Evidence { leaves, covers } = evidence;
    let mut parts: Vec<LeafPart> = Vec::new();
    for (arc, cover) in arcs.iter().zip(covers) {
        pace.step()?;
        let named = arc.role == Role::Door;
        let (low, high) = if named { (0.2, 4.0) } else { (0.45, 1.6) };
        let radius_fits = (low * scale..=high * scale).contains(&arc.radius);
        let sweep_fits = if named { arc.sweep_deg >= 25.0 } else { (28.0..=190.0).contains(&arc.sweep_deg) };
        if !radius_fits || !sweep_fits {
            continue;
        }
        // An arc without leaf on a wall layer is a curved wall; on an unknown layer it needs a leaf too.
        if !named && cover[0].max(cover[1]) < 0.6 {
            continue;
        }
        symbols.taken[arc.item as usize] = true;
        for (cover, end) in cover.iter().zip(arc.ends) {
            if *cover >= 0.6 {
                leaves.parts(input, arc, end, &mut parts, &pace)?;
                // An open leaf may lie along a wall: the face is aside of what begins at the hinge.
                let is_door = |part: &LeafPart| roles.items[part.item as usize] == Role::Door;
                let covering = || parts.iter().filter(|part| part.covered >= 0.6);
                let named = covering().any(is_door);
                let nearest = covering().map(|part| part.aside).fold(f64::INFINITY, f64::min);
                for part in &parts {
                    let is_leaf = part.whole && !named && part.aside <= nearest + 0.06;
                    if is_leaf || is_door(part) {
                        symbols.taken[part.item as usize] = true;
                    }
                }
            }
        }
        swings.push((*arc, cover));
    }
    drop(leaves);
    pair_swings(&swings, &mut symbols, &pace)?;
    bundles(input, roles, &swings, scale, options, &mut symbols, checkpoint)?;
    Ok(symbols)
}

/// Joins swings that share a latch, and proposes openings.
fn pair_swings(swings: &[(SwingArc, [f64; 2])], symbols: &mut Symbols, pace: &Pace<'_>) -> Result<(), Interrupt> {
    let tree: RTree<GeomWithData<[f64; 2], usize>> = RTree::bulk_load(
        swings
            .iter()
            .enumerate()
            .flat_map(|(number, (arc, _))| arc.ends.map(|end| GeomWithData::new([end.x, end.y], number)))
            .collect(),
    );
    let mut paired = vec![false; swings.len()];
    for (number, (arc, leaf)) in swings.iter().enumerate() {
        if paired[number] {
            continue;
        }
        // A partner whose latch end meets ours, of like radius, hinged on the other side.
        let mut partner: Option<(f64, usize, Point)> = None;
        for (end, &latch) in arc.ends.iter().enumerate() {
            if leaf[end] >= 0.6 && leaf[1 - end] < 0.6 {
                continue;
            }
            let reach = 0.25 * arc.radius;
            for near in tree.locate_within_distance([latch.x, latch.y], reach * reach) {
                pace.step()?;
                let other = near.data;
                if other <= number || paired[other] {
                    continue;
                }
                let (mate, mate_leaf) = &swings[other];
                let mate_end = usize::from(mate.ends[1].distance(latch) < mate.ends[0].distance(latch));
                if mate_leaf[mate_end] >= 0.6 && mate_leaf[1 - mate_end] < 0.6 {
                    continue;
                }
                let apart = arc.centre.distance(mate.centre);
                let straight = (latch - arc.centre).normalize().dot((mate.centre - latch).normalize());
                if apart > 1.5 * arc.radius.min(mate.radius) && straight > 0.94 {
                    let gap = mate.ends[mate_end].distance(latch);
                    if partner.is_none_or(|best| gap < best.0) {
                        partner = Some((gap, other, mate.centre));
                    }
                }
            }
        }
        let source = (arc.item, arc.group);
        let named = arc.role == Role::Door;
        if let Some((_, other, far)) = partner {
            paired[number] = true;
            paired[other] = true;
            let swing = arc.middle.midpoint(swings[other].0.middle);
            symbols.proposals.push(Proposal {
                kind: OpeningKind::DoubleDoor,
                readings: vec![Reading { a: arc.centre, b: far, leaf: true }],
                hinges: vec![arc.centre, far],
                swing: Some(swing),
                item: source.0,
                group: source.1,
                members: vec![source.0],
                named,
            });
            continue;
        }
        let mut readings: Vec<(f64, Reading)> = if arc.sweep_deg > 150.0 {
            // A leaf that swings both ways: closed, it points at the middle of the arc.
            vec![(1.0, Reading { a: arc.centre, b: arc.middle, leaf: true })]
        } else {
            (0..2)
                .map(|end| {
                    let open = leaf[1 - end];
                    let reading = Reading { a: arc.centre, b: arc.ends[end], leaf: open >= 0.6 && open >= leaf[end] };
                    (open - leaf[end], reading)
                })
                .collect()
        };
        if arc.sweep_deg < 60.0 {
            // Half-open leaves: the latch is where a quarter turn would end, on either side.
            let turned: Vec<(f64, Reading)> = readings
                .iter()
                .filter_map(|(weight, reading)| {
                    let open = if reading.b == arc.ends[0] { arc.ends[1] } else { arc.ends[0] };
                    let (u, v) = (open - arc.centre, reading.b - arc.centre);
                    let side = u.cross(v).signum();
                    let quarter = Vec2::new(-u.y * side, u.x * side);
                    (arc.sweep_deg < 80.0)
                        .then_some((weight - 0.5, Reading { b: arc.centre + quarter, leaf: false, ..*reading }))
                })
                .collect();
            readings.extend(turned);
        }
        readings.sort_by(|p, q| q.0.total_cmp(&p.0).then_with(|| order(p.1.b, q.1.b)));
        symbols.proposals.push(Proposal {
            kind: OpeningKind::Door,
            readings: readings.into_iter().map(|(_, reading)| reading).collect(),
            hinges: vec![arc.centre],
            swing: Some(arc.centre.lerp(arc.middle, 0.7)),
            item: source.0,
            group: source.1,
            members: vec![source.0],
            named,
        });
    }
    Ok(())
}

fn order(p: Point, q: Point) -> std::cmp::Ordering {
    p.x.total_cmp(&q.x).then(p.y.total_cmp(&q.y))
}

/// Straight pieces that may be door leaves.
struct Leaves {
    pieces: Vec<(Point, Point, u32)>,
    index: SegmentIndex,
    frame: Frame,
}

impl Leaves {
    fn build(input: &Input, roles: &Roles, arcs: &[SwingArc]) -> Self {
        let shortest = arcs.iter().map(|arc| arc.radius).fold(f64::INFINITY, f64::min);
        let longest = arcs.iter().map(|arc| arc.radius).fold(0.0, f64::max);
        let mut pieces = Vec::new();
        for (number, item) in input.items.iter().enumerate() {
            let fits = matches!(
                roles.items[number],
                Role::Door | Role::Unknown | Role::Wall | Role::Window | Role::Room | Role::Annotation
            );
            if !fits || item.arc != NONE {
                continue;
            }
            for (a, b) in input.segments(item) {
                let length = a.distance(b);
                if length >= 0.25 * shortest && length <= 1.5 * longest {
                    pieces.push((a, b, number as u32));
                }
            }
        }
        let frame =
            Frame::holding(pieces.iter().flat_map(|piece| [piece.0, piece.1]), Frame::STEP_M * shortest.min(1.0));
        let index =
            SegmentIndex::build(pieces.len(), |piece| (frame.grid(pieces[piece].0), frame.grid(pieces[piece].1)));
        Self { pieces, index, frame }
    }

    /// Calls `visit` with the pieces that lie on the way from the hinge to `end`: item, share of the way that it covers, and how far
    /// it lies aside from the hinge, in radii. A piece may come more than once.
    fn along(
        &self,
        input: &Input,
        arc: &SwingArc,
        end: Point,
        pace: &Pace<'_>,
        mut visit: impl FnMut(u32, f64, f64),
    ) -> Result<(), Interrupt> {
        let radius = arc.radius;
        let direction = (end - arc.centre) / radius.max(f64::MIN_POSITIVE);
        let middle = self.frame.grid(arc.centre.midpoint(end));
        let reach = (self.frame.steps(radius) * 0.65).ceil() as i64;
        let mut steps = 1;
        self.index.around(middle, reach, |piece| {
            steps += 1;
            let (p, q, item) = self.pieces[piece as usize];
            let other_group = input.items[item as usize].group;
            if arc.group != NONE && other_group != arc.group {
                return;
            }
            let (u, v) = (p - arc.centre, q - arc.centre);
            let across = direction.cross(u).abs().max(direction.cross(v).abs());
            let (from, to) = (direction.dot(u).min(direction.dot(v)), direction.dot(u).max(direction.dot(v)));
            if across > 0.13 * radius || from < -0.2 * radius || to > 1.2 * radius {
                return;
            }
            let covered = (to.min(radius) - from.max(0.0)) / radius;
            if covered > 0.3 {
                visit(item, covered, across / radius);
            }
        });
        pace.steps(steps)
    }

    /// The pieces that lie on the way from the hinge to `end`.
    fn parts(
        &self,
        input: &Input,
        arc: &SwingArc,
        end: Point,
        parts: &mut Vec<LeafPart>,
        pace: &Pace<'_>,
    ) -> Result<(), Interrupt> {
        let radius = arc.radius;
        let direction = (end - arc.centre) / radius.max(f64::MIN_POSITIVE);
        let mut steps = 0;
        parts.clear();
        self.along(input, arc, end, pace, |item, covered, aside| {
            let all = input.points_of(&input.items[item as usize]);
            steps += all.len();
            let whole = all.iter().all(|point| {
                let w = *point - arc.centre;
                direction.cross(w).abs() <= 0.2 * radius
                    && direction.dot(w) >= -0.25 * radius
                    && direction.dot(w) <= 1.25 * radius
            });
            parts.push(LeafPart { item, whole, covered, aside });
        })?;
        pace.steps(steps)
    }
}

/// Reads what else lies on door and window layers, bundled by block instance or by touch.
fn bundles(
    input: &Input,
    roles: &Roles,
    swings: &[(SwingArc, [f64; 2])],
    scale: f64,
    options: &PlanOptions,
    symbols: &mut Symbols,
    checkpoint: &Checkpoint<'_>,
) -> Result<(), Interrupt> {
    let pace = Pace::new(checkpoint);
    let mut with_swing = vec![false; input.items.len()];
    let mut swing_groups: Vec<u32> = swings.iter().map(|(arc, _)| arc.group).filter(|group| *group != NONE).collect();
    swing_groups.sort_unstable();
    for (arc, _) in swings {
        with_swing[arc.item as usize] = true;
    }
    for role in [Role::Door, Role::Window] {
        let members: Vec<u32> = (0..input.items.len() as u32)
            .filter(|number| {
                roles.items[*number as usize] == role && !input.points_of(&input.items[*number as usize]).is_empty()
            })
            .collect();
        for number in &members {
            symbols.taken[*number as usize] = true;
        }
        checkpoint()?;
        for bundle in bundle(input, &members, 0.04 * scale, &pace)? {
            let swung = bundle.iter().any(|number| {
                let item = &input.items[*number as usize];
                with_swing[*number as usize] || (item.group != NONE && swing_groups.binary_search(&item.group).is_ok())
            });
            if swung {
                continue;
            }
            let Some(shape) = long_rectangle(input, &bundle) else { continue };
            let width = shape.a.distance(shape.b);
            let limit = if role == Role::Window { 60.0 } else { options.max_opening_width_m };
            if width < 0.3 * scale || width > limit * scale {
                continue;
            }
            let kind = match role {
                Role::Window => OpeningKind::Window,
                _ if shape.parallels >= 2 => OpeningKind::SlidingDoor,
                _ => OpeningKind::Door,
            };
            symbols.proposals.push(Proposal {
                kind,
                readings: vec![Reading { a: shape.a, b: shape.b, leaf: false }],
                hinges: Vec::new(),
                swing: None,
                item: bundle[0],
                group: input.items[bundle[0] as usize].group,
                members: bundle,
                named: true,
            });
        }
    }
    Ok(())
}

/// Members of one block instance, or that touch (within `margin`).
fn bundle(input: &Input, members: &[u32], margin: f64, pace: &Pace<'_>) -> Result<Vec<Vec<u32>>, Interrupt> {
    let mut parts = Parts::new(members.len());
    let mut by_group: std::collections::BTreeMap<u32, u32> = std::collections::BTreeMap::new();
    let mut boxes = Vec::new();
    for (number, member) in members.iter().enumerate() {
        let item = &input.items[*member as usize];
        if item.group != NONE {
            let first = *by_group.entry(item.group).or_insert(number as u32);
            parts.join(first, number as u32);
        } else if let Some((low, high)) = input.bounds(item) {
            boxes.push(GeomWithData::new(
                Rectangle::from_corners([low.x - margin, low.y - margin], [high.x + margin, high.y + margin]),
                number as u32,
            ));
        }
    }
    let tree = RTree::bulk_load(boxes.clone());
    for own in &boxes {
        let envelope = AABB::from_corners(own.geom().lower(), own.geom().upper());
        for other in tree.locate_in_envelope_intersecting(envelope) {
            pace.step()?;
            if other.data > own.data {
                parts.join(own.data, other.data);
            }
        }
    }
    let mut bundles: std::collections::BTreeMap<u32, Vec<u32>> = std::collections::BTreeMap::new();
    for number in 0..members.len() as u32 {
        bundles.entry(parts.of(number)).or_default().push(members[number as usize]);
    }
    Ok(bundles.into_values().collect())
}

struct LongRectangle {
    a: Point,
    b: Point,
    parallels: usize,
}

/// The middle line of the rectangle around a bundle, along its longest straight piece.
fn long_rectangle(input: &Input, bundle: &[u32]) -> Option<LongRectangle> {
    let mut longest: Option<(f64, Point, Point)> = None;
    for number in bundle {
        for (a, b) in input.segments(&input.items[*number as usize]) {
            let length = a.distance(b);
            if longest.is_none_or(|best| length > best.0 * 1.000_001) {
                longest = Some((length, a, b));
            }
        }
    }
    let (length, a, b) = longest?;
    if length <= 0.0 {
        return None;
    }
    let along = (b - a) / length;
    let across = Vec2::new(-along.y, along.x);
    let (mut u0, mut u1, mut v0, mut v1) = (f64::INFINITY, f64::NEG_INFINITY, f64::INFINITY, f64::NEG_INFINITY);
    for number in bundle {
        for point in input.points_of(&input.items[*number as usize]) {
            let w = *point - a;
            u0 = u0.min(along.dot(w));
            u1 = u1.max(along.dot(w));
            v0 = v0.min(across.dot(w));
            v1 = v1.max(across.dot(w));
        }
    }
    let mut parallels = 0;
    for number in bundle {
        for (p, q) in input.segments(&input.items[*number as usize]) {
            parallels +=
                usize::from((q - p).dot(along).abs() > 0.45 * length && (q - p).cross(along).abs() < 0.05 * length);
        }
    }
    let middle = across * (0.5 * (v0 + v1));
    let (mut start, mut end) = (a + along * u0 + middle, a + along * u1 + middle);
    if v1 - v0 > u1 - u0 {
        // Higher than long: the longest piece lay across.
        let mid = 0.5 * (u0 + u1);
        start = a + along * mid + across * v0;
        end = a + along * mid + across * v1;
    }
    if order(end, start).is_lt() {
        std::mem::swap(&mut start, &mut end);
    }
    Some(LongRectangle { a: start, b: end, parallels })
}
