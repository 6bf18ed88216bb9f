//! Which lines are wall lines.
//!
//! Where layer or block names say it, they are taken at their word. Otherwise geometry decides: lines that run
//! parallel at the distance of a wall are the faces of walls; how thick walls are in this drawing is read from the
//! distances that occur most. If hardly any line has such a partner, walls are drawn as single lines and every
//! line counts that is no symbol, dimension, stair or frame.

use rstar::{RTree, primitives::GeomWithData};

use super::band;
use super::cavity;
use super::classify::Roles;
use super::company::{CROWD, Company, Thickness, is_tread, keep_company};
use super::grid::{Frame, SegmentIndex};
use super::input::{Drawn, Input, Item, NONE, bounds};
use super::noding::Marks;
use super::{PlanOptions, Role};
use crate::drawing::Point;
use crate::format::{Checkpoint, Interrupt};

/// A line of a wall.
pub(crate) const WALL: Marks = 1;
/// Closes an opening.
pub(crate) const CLOSING: Marks = 2;
/// Closes a small gap or the open end of a wall.
pub(crate) const MENDING: Marks = 4;
/// Outline of a filled wall.
pub(crate) const FILL: Marks = 8;
/// Outline of a column.
pub(crate) const COLUMN: Marks = 16;
/// A window line that had to stand in for a wall.
pub(crate) const GLASS: Marks = 32;

/// Ends, item and marks of a straight piece.
pub(super) type LinePiece = (Point, Point, u32, Marks);

/// How walls are taken to be drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Faces {
    /// Names tell the walls; how they are drawn is read from those.
    Named,
    /// By their two faces if many lines have a partner.
    AsTheyLook,
    /// As single lines, whatever runs in pairs.
    Single,
}

/// The chosen lines.
#[derive(Debug, Default)]
pub(crate) struct WallLines {
    pub segments: Vec<(Point, Point, Marks)>,
    /// Names told them, not geometry.
    pub named: bool,
    /// Walls are drawn by their two faces.
    pub double: bool,
    /// The thickest wall that occurs, metres.
    pub max_thickness: f64,
    /// Pieces that were looked at and are no walls, nor treads.
    pub dropped: Vec<(Point, Point)>,
    /// By item: whether it is taken as wall.
    pub used: Vec<bool>,
    /// By item: whether its pieces were weighed.
    pub looked_at: Vec<bool>,
    /// Items that are treads of stairs.
    pub treads: Vec<bool>,
    /// Items with lines between the two faces of a wall, along its layers.
    pub layers: Vec<bool>,
}

/// Shorter lines are taken for marks, metres.
const SHORTEST_M: f64 = 0.02;

/// Smaller outlines are no columns, metres.
const FRAME_M: f64 = 0.11;

/// Widths of lines that are walls and not pens or markings, metres.
const WALL_WIDTHS: std::ops::RangeInclusive<f64> = 0.04..=0.65;

/// Chooses the wall lines.
pub(crate) fn choose(
    input: &Input,
    roles: &Roles,
    taken: &[bool],
    faces: Faces,
    scale: f64,
    options: &PlanOptions,
    checkpoint: &Checkpoint<'_>,
) -> Result<WallLines, Interrupt> {
    let mut lines = WallLines {
        used: vec![false; input.items.len()],
        looked_at: vec![false; input.items.len()],
        treads: vec![false; input.items.len()],
        layers: vec![false; input.items.len()],
        ..WallLines::default()
    };
    let mut pieces: Vec<(Point, Point, u32, Marks)> = Vec::new();
    let mut named_pieces = 0usize;
    for (number, item) in input.items.iter().enumerate() {
        let role = roles.items[number];
        if taken[number] || !matches!(role, Role::Wall | Role::Column) {
            continue;
        }
        let mut marks = if role == Role::Column { WALL | COLUMN } else { WALL };
        if item.drawn == Drawn::Area {
            marks |= FILL;
        }
        named_pieces += usize::from(role == Role::Wall);
        if is_wide(item, scale) {
            pieces.extend(bands(input, item).map(|(a, b)| (a, b, number as u32, marks | FILL)));
            continue;
        }
        pieces.extend(input.segments(item).map(|(a, b)| (a, b, number as u32, marks)));
    }
    lines.named = named_pieces >= 2 || (named_pieces == 1 && pieces.len() >= 4);
    if !lines.named && options.geometry {
        let bubbles = Bubbles::find(input, roles, scale);
        let wide = wide_are_walls(input, roles, taken, scale);
        for (number, item) in input.items.iter().enumerate() {
            let role = roles.items[number];
            let thin_fill = role == Role::Hatch && item.drawn == Drawn::Area;
            if taken[number] || !(role == Role::Unknown || thin_fill) || !candidate(input, number, scale) {
                continue;
            }
            if bubbles.ends_at(input, item) {
                continue;
            }
            if wide && is_wide(item, scale) {
                pieces.extend(bands(input, item).map(|(a, b)| (a, b, number as u32, WALL | FILL)));
                continue;
            }
            let marks = if item.drawn == Drawn::Area { WALL | FILL } else { WALL };
            pieces.extend(input.segments(item).map(|(a, b)| (a, b, number as u32, marks)));
        }
        links(input, roles, taken, scale, &mut pieces);
        stubs(input, roles, taken, scale, &mut pieces);
    }
    pieces.retain(|(a, b, _, _)| a != b);
    if pieces.is_empty() {
        return Ok(lines);
    }
    let mut boxy: Vec<bool> = if lines.named {
        vec![false; input.items.len()]
    } else {
        input.items.iter().map(|item| item.drawn == Drawn::Lines && is_box(input, item, scale)).collect()
    };
    let faces = if lines.named { Faces::Named } else { faces };
    let weigh =
        |pieces: &[LinePiece], boxy: &[bool]| Weighed::of(input, pieces, boxy, faces, scale, options, checkpoint);
    let mut weighed = weigh(&pieces, &boxy)?;
    // Rooms as small as furniture have walls around them, and are then the other face of those walls.
    if weighed.thickness.double && unbox(&weighed, &mut boxy, scale) {
        weighed = weigh(&pieces, &boxy)?;
    }
    let known = lines.named && roles.items.contains(&Role::Window);
    if weighed.thickness.double
        && let Some(inner) = cavity::between_faces(&weighed.pieces, &weighed.company, known, scale, options)
    {
        let mut twins = weighed.twins.iter();
        pieces.retain(|piece| {
            let inner = twins.next().is_some_and(|twin| inner[*twin as usize]);
            if inner {
                lines.layers[piece.2 as usize] = true;
                lines.used[piece.2 as usize] = true;
                lines.looked_at[piece.2 as usize] = true;
            }
            !inner
        });
        weighed = weigh(&pieces, &boxy)?;
    }
    let all_pieces = &pieces;
    let Weighed { pieces, twins, company, shares, thickness } = weighed;
    lines.double = thickness.double;
    lines.max_thickness = thickness.max;
    let mut keep = vec![true; pieces.len()];
    let mut treaded = vec![false; pieces.len()];
    if !lines.named {
        let treads = treads(&pieces, &company, scale);
        let pattern = |number: u32| {
            let piece = pieces.get(number as usize).zip(company.get(number as usize));
            piece.is_some_and(|((a, b, _, _), own)| own.is_pattern(a.distance(*b)))
        };
        // A line with one on each side is a wall with a window in it; a pattern goes on.
        let goes_on = |own: &Company| thickness.double || own.partner.iter().any(|partner| pattern(*partner));
        let crossed = crossed(&pieces, scale);
        let boxes = box_sides(input, &pieces, &company, &boxy, &thickness);
        for (number, (a, b, item, marks)) in pieces.iter().enumerate() {
            let own = &company[number];
            let length = a.distance(*b);
            if treads[number] {
                lines.treads[*item as usize] = true;
                treaded[number] = true;
                keep[number] = false;
            } else if marks & FILL != 0 {
                keep[number] = true;
            } else if own.is_pattern(length) && goes_on(own) || crossed[number] {
                keep[number] = false;
            } else if thickness.double {
                let layer = shares.layers.get(&input.items[*item as usize].layer).copied().unwrap_or(0.0);
                let occurs = (0..2).any(|side| thickness.occurs(own.near[side]) || thickness.occurs(own.main[side].0));
                let paired = occurs && own.cover >= 0.4 * length;
                let short = length <= 1.3 * thickness.max;
                let furniture = boxy[*item as usize] && boxes.get(item).is_none_or(|sides| *sides < 3);
                keep[number] = (paired || short) && layer >= 0.2 && !furniture;
            } else {
                keep[number] = !(boxy[*item as usize] && small_box(input, *item, scale));
            }
        }
        if thickness.double {
            rescue(&pieces, &mut keep, &lines.treads, &boxy, scale);
        }
    }
    for (&(a, b, item, marks), twin) in all_pieces.iter().zip(twins) {
        lines.looked_at[item as usize] = true;
        lines.treads[item as usize] |= treaded[twin as usize];
        if keep[twin as usize] {
            lines.used[item as usize] = true;
            lines.segments.push((a, b, marks));
        } else if !lines.treads[item as usize] {
            lines.dropped.push((a, b));
        }
    }
    Ok(lines)
}

/// Whether a line is as wide as a wall, and not as a pen or a marking.
pub(crate) fn is_wide(item: &Item, scale: f64) -> bool {
    WALL_WIDTHS.contains(&(item.width / scale))
}

/// The faces of a wide line.
fn bands<'a>(input: &'a Input, item: &'a Item) -> impl Iterator<Item = (Point, Point)> + 'a {
    input.subpaths(item).flat_map(|(points, closed)| band::faces(points, closed, item.width))
}

/// Whether wide lines that nothing is known of are walls: they are longer than all marks and underlines, and a good part
/// of what is drawn.
fn wide_are_walls(input: &Input, roles: &Roles, taken: &[bool], scale: f64) -> bool {
    let (mut wide, mut total) = (0.0, 0.0);
    for (number, item) in input.items.iter().enumerate() {
        if taken[number] || roles.items[number] != Role::Unknown || item.drawn != Drawn::Lines || item.arc != NONE {
            continue;
        }
        let length: f64 = input.segments(item).map(|(a, b)| a.distance(b)).sum();
        total += length;
        // A line shorter than it is wide is a dot or an arrow head.
        wide += if is_wide(item, scale) && length > 2.0 * item.width { length } else { 0.0 };
    }
    wide >= 10.0 * scale && wide >= 0.12 * total
}

/// Pieces with what runs along them, and what that says about the walls of the drawing.
struct Weighed {
    /// Each place once.
    pieces: Vec<LinePiece>,
    /// By piece as drawn: the one that stands for it.
    twins: Vec<u32>,
    company: Vec<Company>,
    shares: Shares,
    thickness: Thickness,
}

impl Weighed {
    fn of(
        input: &Input,
        pieces: &[LinePiece],
        boxy: &[bool],
        faces: Faces,
        scale: f64,
        options: &PlanOptions,
        checkpoint: &Checkpoint<'_>,
    ) -> Result<Self, Interrupt> {
        let (pieces, twins) = distinct(pieces, input, boxy);
        let company = keep_company(&pieces, boxy, scale, options, checkpoint)?;
        let shares = Shares::read(input, &pieces, &company, scale);
        let double = shares.double && faces != Faces::Single;
        let thickness = Thickness::read(&pieces, &company, scale, options, faces == Faces::Named, double);
        Ok(Self { pieces, twins, company, shares, thickness })
    }
}

/// Boxes large enough to stand in, with a longer line at the distance of a wall along three of their sides and none on
/// any, are no furniture; says whether there are any.
fn unbox(weighed: &Weighed, boxy: &mut [bool], scale: f64) -> bool {
    let mut sides: std::collections::BTreeMap<u32, u32> = std::collections::BTreeMap::new();
    for ((a, b, item, _), own) in weighed.pieces.iter().zip(&weighed.company) {
        if !boxy[*item as usize] {
            continue;
        }
        let length = a.distance(*b);
        let walled = (0..2).any(|side| {
            let (near, overlap, partner) = own.main[side];
            let partner = weighed.pieces.get(partner as usize);
            let fits = near > 0.0 && near <= 1.1 * weighed.thickness.max && overlap >= 0.9 * length;
            fits && partner.is_some_and(|(p, q, other, _)| other != item && p.distance(*q) >= length)
        });
        let against = own.touched || length < 0.9 * scale;
        *sides.entry(*item).or_default() += if against { 1 << 16 } else { u32::from(walled) };
    }
    let mut any = false;
    for (item, sides) in sides {
        if (3..1 << 16).contains(&sides) {
            boxy[item as usize] = false;
            any = true;
        }
    }
    any
}

/// The pieces without such as are drawn again on the same layer, and for each piece the one that stands for it. Sides of
/// boxes stand for themselves. Thousands of lines on top of each other would otherwise all be each other's neighbours.
fn distinct(pieces: &[LinePiece], input: &Input, boxy: &[bool]) -> (Vec<LinePiece>, Vec<u32>) {
    let key = |&(a, b, item, marks): &LinePiece| {
        let boxy = boxy.get(item as usize).copied().unwrap_or(false);
        let owner = if boxy { (1, item) } else { (0, input.items[item as usize].layer) };
        ([a.x, a.y, b.x, b.y].map(f64::to_bits), marks, owner)
    };
    // Only asked, never walked: its order decides nothing.
    let mut known = std::collections::HashMap::with_capacity(pieces.len());
    let mut kept = Vec::with_capacity(pieces.len());
    let mut twins = Vec::with_capacity(pieces.len());
    for piece in pieces {
        let twin = *known.entry(key(piece)).or_insert_with(|| {
            kept.push(*piece);
            (kept.len() - 1) as u32
        });
        twins.push(twin);
    }
    (kept, twins)
}

/// Adds what is too short to be a wall but joins the ends of two candidates: walls are cut anywhere.
fn links(input: &Input, roles: &Roles, taken: &[bool], scale: f64, pieces: &mut Vec<LinePiece>) {
    let short = |points: &[Point]| matches!(points, [a, b] if a != b && a.distance(*b) <= SHORTEST_M * scale * 1.5);
    let links: Vec<usize> = (0..input.items.len())
        .filter(|number| {
            let item = &input.items[*number];
            let plain = item.drawn == Drawn::Lines && item.arc == NONE && roles.items[*number] == Role::Unknown;
            plain && !taken[*number] && short(input.points_of(item)) && !candidate(input, *number, scale)
        })
        .collect();
    if links.is_empty() {
        return;
    }
    let ends = pieces.iter().flat_map(|(a, b, item, _)| [(*a, *item), (*b, *item)]);
    let ends = RTree::bulk_load(ends.map(|(end, item)| GeomWithData::new([end.x, end.y], item)).collect());
    let reach = 0.005 * scale;
    let meets =
        |point: Point| ends.locate_within_distance([point.x, point.y], reach * reach).next().map(|end| end.data);
    for number in links {
        if let [a, b] = *input.points_of(&input.items[number])
            && let (Some(first), Some(second)) = (meets(a), meets(b))
            && first != second
        {
            pieces.push((a, b, number as u32, WALL));
        }
    }
}

/// Adds filled boxes smaller than a wall piece that stand with one side on a fill taken for a wall: what is left of a
/// wall between another one and an opening.
fn stubs(input: &Input, roles: &Roles, taken: &[bool], scale: f64, pieces: &mut Vec<LinePiece>) {
    let small = |points: &[Point]| {
        let closed = points.len() == 5 && points[0].distance(points[4]) < 0.001 * scale;
        let square = (closed || points.len() == 4) && (0..3).all(|at| points[at] != points[at + 1]);
        square && {
            let (p, q) = (points[1] - points[0], points[2] - points[1]);
            let sizes = 0.04 * scale..=0.6 * scale;
            p.dot(q).abs() < 0.02 * p.hypot() * q.hypot() && sizes.contains(&p.hypot()) && sizes.contains(&q.hypot())
        }
    };
    let stubs: Vec<usize> = (0..input.items.len())
        .filter(|number| {
            let item = &input.items[*number];
            let fill = item.drawn == Drawn::Area && item.parts.1 - item.parts.0 == 1;
            let open = matches!(roles.items[*number], Role::Unknown | Role::Hatch) && !taken[*number];
            fill && open && small(input.points_of(item)) && !candidate(input, *number, scale)
        })
        .collect();
    let fills: Vec<LinePiece> = pieces.iter().filter(|piece| piece.3 & FILL != 0).copied().collect();
    if stubs.is_empty() || fills.is_empty() {
        return;
    }
    let frame = Frame::holding(fills.iter().flat_map(|piece| [piece.0, piece.1]), Frame::STEP_M * scale.min(1.0));
    let index = SegmentIndex::build(fills.len(), |piece| (frame.grid(fills[piece].0), frame.grid(fills[piece].1)));
    let reach = 0.01 * scale;
    for number in stubs {
        let item = &input.items[number];
        let mut stands = false;
        for (from, to) in input.segments(item) {
            let length = from.distance(to);
            let way = (to - from) / length.max(f64::MIN_POSITIVE);
            index.around(frame.grid(from.midpoint(to)), frame.steps(0.5 * length + reach).ceil() as i64, |piece| {
                let (p, q, other, _) = fills[piece as usize];
                let beside = [p, q].iter().all(|end| way.cross(*end - from).abs() <= reach);
                let (u, v) = (way.dot(p - from), way.dot(q - from));
                let shared = u.max(v).min(length) - u.min(v).max(0.0);
                let layered = input.items[other as usize].layer == item.layer;
                stands |= layered && beside && shared >= 0.5 * length.min(p.distance(q)) && shared > reach;
            });
        }
        if stands {
            pieces.extend(input.segments(item).map(|(a, b)| (a, b, number as u32, WALL | FILL)));
        }
    }
}

/// A closed rectangle of the size of furniture.
fn is_box(input: &Input, item: &Item, scale: f64) -> bool {
    let points = input.points_of(item);
    let Some((_, closed)) = input.subpaths(item).next() else { return false };
    let repeated = points.len() == 5 && points[0].distance(points[4]) < 0.001 * scale;
    if item.parts.1 - item.parts.0 != 1 || !(repeated || (points.len() == 4 && closed)) {
        return false;
    }
    let (p, q) = (points[1] - points[0], points[2] - points[1]);
    let (first, second) = (p.hypot(), q.hypot());
    let square = p.dot(q).abs() < 0.05 * first * second;
    square && first.min(second) >= 0.2 * scale && first.max(second) <= 2.7 * scale
}

/// A box that nobody could walk around in.
fn small_box(input: &Input, item: u32, scale: f64) -> bool {
    let points = input.points_of(&input.items[item as usize]);
    ring_area(points).abs() < 2.2 * scale * scale
}

/// By box: how many of its sides run along something at the distance of a wall that is not drawn inside of it. A box as
/// narrow as a wall is a pier, and all its sides count.
fn box_sides(
    input: &Input,
    pieces: &[(Point, Point, u32, Marks)],
    company: &[Company],
    boxy: &[bool],
    thickness: &Thickness,
) -> std::collections::BTreeMap<u32, u32> {
    let mut sides: std::collections::BTreeMap<u32, u32> = std::collections::BTreeMap::new();
    let boxes = || pieces.iter().zip(company).filter(|((_, _, item, _), _)| boxy[*item as usize]);
    // Furniture stands with its back to a wall; a piece of wall lies in one line with it.
    let mut longest: std::collections::BTreeMap<u32, f64> = std::collections::BTreeMap::new();
    for ((a, b, item, _), _) in boxes() {
        let length = longest.entry(*item).or_default();
        *length = length.max(a.distance(*b));
    }
    let back = |(a, b, item, _): &LinePiece| longest.get(item).is_some_and(|length| a.distance(*b) >= 0.9 * length);
    let against: std::collections::BTreeSet<u32> =
        boxes().filter(|(piece, own)| own.touched && back(piece)).map(|(piece, _)| piece.2).collect();
    for ((a, b, item, _), own) in boxes() {
        let length = a.distance(*b);
        let rows = (0..2).flat_map(|side| [own.main[side], (own.near[side], own.overlap[side], own.partner[side])]);
        let found = rows.filter(|(near, overlap, _)| {
            let known = thickness.is_common(*near) || thickness.occurs(*near) && !against.contains(item);
            known && *overlap >= 0.5 * length
        });
        let corners = input.points_of(&input.items[*item as usize]);
        let found = found.filter(|(_, _, partner)| {
            // Seats in a sofa, a basin in a counter.
            let inner = |(p, q, other, _): &LinePiece| other != item && [p, q].iter().all(|end| is_in(corners, **end));
            !pieces.get(*partner as usize).is_some_and(inner)
        });
        // Both long sides of a pier count twice, which makes three and more.
        let weight = found.map(|(_, _, partner)| {
            let own = pieces.get(partner as usize).is_some_and(|piece| piece.2 == *item);
            if own { 2 } else { 1 }
        });
        *sides.entry(*item).or_default() += weight.max().unwrap_or(0);
    }
    sides
}

/// Whether a point lies in a convex ring or on it.
fn is_in(ring: &[Point], point: Point) -> bool {
    let turn = ring_area(ring).signum();
    let sides = ring.iter().zip(ring.iter().cycle().skip(1));
    sides.into_iter().all(|(a, b)| turn * (*b - *a).cross(point - *a) >= -1e-6 * a.distance(*b).max(1e-6))
}

/// Treads of stairs: equal neighbours on both sides, and the first and last of such a flight.
fn treads(pieces: &[(Point, Point, u32, Marks)], company: &[Company], scale: f64) -> Vec<bool> {
    let length = |number: usize| pieces[number].0.distance(pieces[number].1);
    let alike: Vec<bool> = (0..pieces.len()).map(|number| is_tread(&company[number], length(number), scale)).collect();
    // Three lines are a window in a thick wall; a flight goes on.
    let inner: Vec<bool> = (0..pieces.len())
        .map(|number| {
            let partners = company[number].partner.iter().zip(company[number].near);
            let goes_on = partners
                .filter(|(_, near)| *near > 0.0)
                .any(|(partner, _)| alike.get(*partner as usize) == Some(&true));
            alike[number] && goes_on
        })
        .collect();
    (0..pieces.len())
        .map(|number| {
            let own = &company[number];
            inner[number]
                || (0..2).any(|side| {
                    let partner = own.partner[side] as usize;
                    let near = own.near[side];
                    near > 0.0
                        && inner.get(partner) == Some(&true)
                        && (near - company[partner].near[0]).abs() < 0.03 * scale
                        && (length(number) - length(partner)).abs() < 0.15 * length(partner)
                })
        })
        .collect()
}

/// Pairs of equal lines that cross in their middles: the sign of a shaft or a void.
fn crossed(pieces: &[(Point, Point, u32, Marks)], scale: f64) -> Vec<bool> {
    let slanted = |number: usize| pieces[number].0.distance(pieces[number].1) > 0.5 * scale;
    let tree: RTree<GeomWithData<[f64; 2], usize>> = RTree::bulk_load(
        (0..pieces.len())
            .filter(|number| slanted(*number))
            .map(|number| {
                let middle = pieces[number].0.midpoint(pieces[number].1);
                GeomWithData::new([middle.x, middle.y], number)
            })
            .collect(),
    );
    let mut found = vec![false; pieces.len()];
    for number in (0..pieces.len()).filter(|number| slanted(*number)) {
        let (a, b, _, _) = pieces[number];
        let (middle, length) = (a.midpoint(b), a.distance(b));
        let reach = 0.02 * length;
        for near in tree.locate_within_distance([middle.x, middle.y], reach * reach) {
            let (p, q, _, _) = pieces[near.data];
            let like = (p.distance(q) - length).abs() < 0.02 * length;
            let turned = ((b - a).cross(q - p) / (length * p.distance(q))).abs() > 0.25;
            found[number] |= near.data != number && like && turned;
        }
    }
    found
}

/// What ends at a point.
enum Ends {
    /// One that is asked for.
    Kept,
    /// So many that it is a pattern.
    Pattern,
    /// By number.
    Free(Vec<u32>),
}

/// Keeps lines without company that lead from one open wall end to another over a few corners: the outer faces of
/// columns, bays and niches.
fn rescue(pieces: &[(Point, Point, u32, Marks)], keep: &mut [bool], treads: &[bool], boxy: &[bool], scale: f64) {
    let cell = 0.03 * scale;
    let key = |point: Point| ((point.x / cell).round() as i64, (point.y / cell).round() as i64);
    let mut ends: std::collections::HashMap<(i64, i64), Vec<u32>> = std::collections::HashMap::new();
    for (number, (a, b, _, _)) in pieces.iter().enumerate() {
        for point in [a, b] {
            ends.entry(key(*point)).or_default().push(number as u32);
        }
    }
    let at = |point: Point, but: u32, stop: &dyn Fn(u32) -> bool| -> Ends {
        let (x, y) = key(point);
        let mut found = Vec::new();
        for dx in -1..=1 {
            for dy in -1..=1 {
                for &number in ends.get(&(x + dx, y + dy)).into_iter().flatten() {
                    let (a, b, _, _) = pieces[number as usize];
                    if number != but && a.distance(point).min(b.distance(point)) <= cell {
                        if stop(number) {
                            return Ends::Kept;
                        }
                        found.push(number);
                    }
                }
            }
        }
        if found.len() > CROWD {
            return Ends::Pattern;
        }
        found.sort_unstable();
        found.dedup();
        Ends::Free(found)
    };
    let before = keep.to_vec();
    let usable = |number: u32| {
        let (a, b, item, _) = pieces[number as usize];
        !before[number as usize] && !treads[item as usize] && !boxy[item as usize] && a.distance(b) <= 4.0 * scale
    };
    for (number, (a, b, _, _)) in pieces.iter().enumerate() {
        if !before[number] {
            continue;
        }
        for tip in [*a, *b] {
            let Ends::Free(around) = at(tip, number as u32, &|other| before[other as usize]) else { continue };
            // Depth first over at most four pieces; stops at the first open end of another kept piece.
            let mut stack: Vec<(Point, Vec<u32>)> =
                around.into_iter().filter(|other| usable(*other)).map(|other| (tip, vec![other])).collect();
            let mut steps = 0;
            while let Some((from, path)) = stack.pop() {
                steps += 1;
                let Some(&last) = path.last() else { continue };
                if steps > 64 {
                    break;
                }
                let (p, q, _, _) = pieces[last as usize];
                let far = if p.distance(from) <= q.distance(from) { q } else { p };
                let next = match at(far, last, &|other| before[other as usize] && other != number as u32) {
                    Ends::Free(next) => next,
                    Ends::Pattern => continue,
                    Ends::Kept => {
                        for piece in path {
                            keep[piece as usize] = true;
                        }
                        break;
                    }
                };
                if path.len() < 4 {
                    for other in next {
                        if usable(other) && !path.contains(&other) {
                            let mut longer = path.clone();
                            longer.push(other);
                            stack.push((far, longer));
                        }
                    }
                }
            }
        }
    }
}

/// Circles that mark the ends of grid lines.
struct Bubbles {
    circles: Vec<(Point, f64)>,
    index: Option<(SegmentIndex, Frame)>,
}

impl Bubbles {
    fn find(input: &Input, roles: &Roles, scale: f64) -> Self {
        let mut circles = Vec::new();
        for (number, item) in input.items.iter().enumerate() {
            if item.arc == NONE || !matches!(roles.items[number], Role::Unknown | Role::Grid | Role::Annotation) {
                continue;
            }
            let arc = input.arcs[item.arc as usize];
            if arc.sweep.abs() > 6.0 && (0.1 * scale..=2.5 * scale).contains(&arc.radius) {
                circles.push((arc.centre, arc.radius));
            }
        }
        // What is written in a bubble tells it from a stool that touches a wall.
        if input.texts.iter().any(|text| !text.value.is_empty()) {
            let places = input.texts.iter().map(|text| GeomWithData::new([text.middle.x, text.middle.y], ()));
            let places = RTree::bulk_load(places.collect());
            circles.retain(|(centre, radius)| {
                places.locate_within_distance([centre.x, centre.y], 0.49 * radius * radius).next().is_some()
            });
        }
        let index = (!circles.is_empty()).then(|| {
            let frame = Frame::holding(circles.iter().map(|circle| circle.0), Frame::STEP_M * scale.min(1.0));
            let index = SegmentIndex::build(circles.len(), |circle| {
                let centre = frame.grid(circles[circle].0);
                (centre, centre)
            });
            (index, frame)
        });
        Self { circles, index }
    }

    /// Whether a long straight line ends on the rim of a circle and points at its centre.
    fn ends_at(&self, input: &Input, item: &Item) -> bool {
        let Some((index, frame)) = &self.index else { return false };
        let points = input.points_of(item);
        let [a, b] = points else { return false };
        let length = a.distance(*b);
        let widest = self.circles.iter().map(|circle| circle.1).fold(0.0, f64::max);
        let mut found = false;
        for (tip, tail) in [(*a, *b), (*b, *a)] {
            index.around(frame.grid(tip), frame.steps(1.2 * widest).ceil() as i64, |circle| {
                let (centre, radius) = self.circles[circle as usize];
                let way = (tip - tail) / length.max(f64::MIN_POSITIVE);
                let off = (tip.distance(centre) - radius).abs();
                let aims = way.cross(centre - tip).abs() < 0.15 * radius && way.dot(centre - tip) > 0.0;
                found |= length > 3.0 * radius && off < 0.15 * radius && aims;
            });
        }
        found
    }
}

/// How much of the unknown layers looks like walls.
struct Shares {
    /// By layer: length that runs in pairs or bounds thin fills, as a part of all.
    layers: std::collections::BTreeMap<u32, f64>,
    /// Walls are drawn by their two faces.
    double: bool,
}

impl Shares {
    fn read(input: &Input, pieces: &[(Point, Point, u32, Marks)], company: &[Company], scale: f64) -> Self {
        let mut by_layer: std::collections::BTreeMap<u32, (f64, f64)> = std::collections::BTreeMap::new();
        // What lies outside of all pairs (frames, dimension lines) says nothing about how walls are drawn.
        let paired = pieces.iter().zip(company).filter(|((a, b, _, marks), own)| {
            let length = a.distance(*b);
            marks & FILL != 0 || (length > 0.5 * scale && own.cover > 0.5 * length && !own.is_pattern(length))
        });
        let ends: Vec<Point> = paired.flat_map(|((a, b, _, _), _)| [*a, *b]).collect();
        let region = bounds(&ends).map(|(low, high)| {
            let rim = crate::drawing::Vec2::new(0.6 * scale, 0.6 * scale);
            (low - rim, high + rim)
        });
        let within = |point: Point| {
            region.is_none_or(|(low, high)| (low.x..=high.x).contains(&point.x) && (low.y..=high.y).contains(&point.y))
        };
        let (mut total, mut walls, mut fills) = (0.0, 0.0, 0.0);
        for ((a, b, item, marks), own) in pieces.iter().zip(company) {
            let length = a.distance(*b);
            let counts = within(*a) && within(*b);
            fills += if marks & FILL != 0 { length } else { 0.0 };
            let like = if marks & FILL != 0 {
                length
            } else if is_tread(own, length, scale) || own.is_pattern(length) {
                0.0
            } else {
                own.cover.min(length)
            };
            let entry = by_layer.entry(input.items[*item as usize].layer).or_default();
            entry.0 += length;
            entry.1 += like;
            if counts {
                total += length;
                walls += like;
            }
        }
        let best =
            by_layer.values().filter(|(all, like)| *like >= 0.5 * all).map(|(_, like)| *like).fold(0.0, f64::max);
        let double = walls >= 0.45 * total || best >= 0.25 * total || (fills >= 0.12 * total && fills >= 10.0 * scale);
        let layers =
            by_layer.into_iter().map(|(layer, (all, like))| (layer, like / all.max(f64::MIN_POSITIVE))).collect();
        Self { layers, double }
    }
}

/// Whether an item of unknown role may be a wall at all.
fn candidate(input: &Input, number: usize, scale: f64) -> bool {
    let item = &input.items[number];
    let points = input.points_of(item);
    let Some((low, high)) = bounds(points) else { return false };
    let (wide, high) = (high.x - low.x, high.y - low.y);
    let extent = wide.max(high);
    let entity = input.text(item.entity).to_ascii_uppercase();
    if matches!(entity.as_str(), "HATCH" | "CIRCLE" | "ELLIPSE" | "POINT" | "INSERT") && item.drawn == Drawn::Lines {
        return false;
    }
    if item.group != NONE && extent < 3.5 * scale {
        // Content of small block instances: symbols and furniture.
        return false;
    }
    if item.drawn == Drawn::Area {
        // Fills are walls only if they are thin.
        let mut area = 0.0;
        let mut perimeter = 0.0;
        for (ring, _) in input.subpaths(item) {
            area += ring_area(ring);
            perimeter += super::input::path_length(ring, true);
        }
        return perimeter > 0.0 && 2.0 * area.abs() / perimeter < 0.6 * scale && extent > 0.3 * scale;
    }
    if panel(input, item, scale).is_some() || is_frame(input, item, extent, scale) {
        return false;
    }
    if item.arc != NONE {
        let arc = input.arcs[item.arc as usize];
        return arc.sweep.abs() < 6.0 && arc.radius > 0.8 * scale;
    }
    if points.len() > 24 && extent < 1.5 * scale {
        return false;
    }
    extent > SHORTEST_M * scale
}

/// A closed outline smaller than any column: the frame or a mullion of a window, a hinge, a mark.
fn is_frame(input: &Input, item: &Item, extent: f64, scale: f64) -> bool {
    let points = input.points_of(item);
    let back = points.first().zip(points.last()).is_some_and(|(first, last)| first.distance(*last) < 0.001 * scale);
    let closed = points.len() >= 4 && (back || input.subpaths(item).all(|(_, closed)| closed));
    closed && extent <= FRAME_M * scale
}

/// The middle line of a closed box thinner than any wall and no longer than a door: a leaf or the panel of a
/// sliding door.
pub(crate) fn panel(input: &Input, item: &Item, scale: f64) -> Option<(Point, Point)> {
    let points = input.points_of(item);
    if !(4..=5).contains(&points.len()) || item.parts.1 - item.parts.0 != 1 {
        return None;
    }
    let (_, closed) = input.subpaths(item).next()?;
    let repeated = points.len() == 5 && points[0].distance(points[4]) < 0.001 * scale;
    if !(repeated || (closed && points.len() == 4)) {
        return None;
    }
    let (first, second) = (points[0].distance(points[1]), points[1].distance(points[2]));
    if first.min(second) > 0.07 * scale || !(0.3 * scale..=2.5 * scale).contains(&first.max(second)) {
        return None;
    }
    Some(if first >= second {
        (points[0].midpoint(points[3]), points[1].midpoint(points[2]))
    } else {
        (points[0].midpoint(points[1]), points[2].midpoint(points[3]))
    })
}

/// Signed area of a ring.
pub(crate) fn ring_area(ring: &[Point]) -> f64 {
    let Some(&base) = ring.first() else { return 0.0 };
    0.5 * ring.windows(2).map(|pair| (pair[0] - base).cross(pair[1] - base)).sum::<f64>()
}
