//! Regions: lines cut and areas intersected by a clip, non-zero fills turned into even-odd rings.
//!
//! Areas go through an arrangement on an integer grid, whose result is free of crossings. The grid is decimal
//! (10⁻⁷ m where coordinates are small enough), so that coordinates drawn in round numbers come back unchanged. Lines
//! are cut in floating point, piece by piece. The edges of a clip lie in strips by height, and an area meets only the
//! part of a large clip around it, so that many shapes below a clip of many edges cost little.

use super::arrange::{Stop, Windings, arrange};
use super::expand::Polylines;
use super::nest::{Effort, GridAreas, GridPoint, GridRings};
use super::{Affine, Clip, FillRule, Point, Rect};
use crate::format::Interrupt;

/// Of a clip with more edges, only the part around an area is looked at.
const LARGE_CLIP: usize = 256;

/// What became of a shape, gravest last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cut {
    /// It is as it was, and rightly so.
    Untouched,
    /// Something was cut, removed or resolved.
    Done,
    /// It is as it was, because it has too many crossings.
    Entangled,
}

/// A clip region in metres.
#[derive(Debug, Clone)]
pub struct Region {
    rings: Polylines,
    bounds: Rect,
    edges: Edges,
    /// Set if the region is an upright rectangle.
    rectangle: bool,
    inverted: bool,
}

impl Region {
    /// The region of `clip`, mapped by `transform`; `None` if its rings enclose nothing.
    pub fn new(clip: &Clip, transform: Affine) -> Option<Self> {
        let mut rings = Polylines::default();
        for ring in &clip.rings {
            if ring.len() < 3 {
                continue;
            }
            rings.points.extend(ring.iter().map(|point| transform * *point));
            rings.ends.push((rings.points.len() as u32, true));
        }
        let bounds = rings.bounds()?;
        if bounds.area() <= 0.0 || !bounds.is_finite() {
            return None;
        }
        let rectangle = rings.ends.len() == 1 && is_upright(&rings.points, bounds);
        let edges = Edges::new(&rings, bounds);
        Some(Self { rings, bounds, edges, rectangle, inverted: clip.inverted })
    }

    /// Whether `point` is kept.
    pub fn contains(&self, point: Point) -> bool {
        self.inside(point) != self.inverted
    }

    /// Edges that a question about a point looks at, at most; for counting work.
    pub fn work_of(&self, point: Point) -> usize {
        self.edges.near(point).len()
    }

    fn inside(&self, point: Point) -> bool {
        let b = &self.bounds;
        if point.x < b.x0 || point.x > b.x1 || point.y < b.y0 || point.y > b.y1 {
            return false;
        }
        if self.rectangle {
            return true;
        }
        let mut inside = false;
        let near = self.edges.near(point);
        let point = self.edges.turned(point);
        for &edge in near {
            let (before, after) = self.edges.list[edge as usize];
            if (before.y > point.y) != (after.y > point.y) {
                let x = before.x + (after.x - before.x) * (point.y - before.y) / (after.y - before.y);
                inside ^= point.x < x;
            }
        }
        inside
    }

    /// What is decided for a shape in `bounds` because no edge of the boundary comes near it.
    fn decided(&self, bounds: Rect, effort: &Effort<'_>) -> Result<Option<bool>, Interrupt> {
        let trivially = self.trivially(bounds);
        if trivially.is_some() || self.rectangle {
            return Ok(trivially);
        }
        let mut met = false;
        let visited = self.edges.visit(bounds, effort, |before, after| {
            met |= before.x.max(after.x) >= bounds.x0
                && before.x.min(after.x) <= bounds.x1
                && before.y.max(after.y) >= bounds.y0
                && before.y.min(after.y) <= bounds.y1;
            !met
        });
        visited?;
        Ok((!met).then(|| self.contains(Point::new(bounds.x0, bounds.y0))))
    }

    /// What the bounds alone decide: everything of a shape in `bounds` is kept (`Some(true)`), nothing is
    /// (`Some(false)`), or it must be looked at.
    fn trivially(&self, bounds: Rect) -> Option<bool> {
        let (a, b) = (&self.bounds, &bounds);
        if b.x1 < a.x0 || b.x0 > a.x1 || b.y1 < a.y0 || b.y0 > a.y1 {
            return Some(self.inverted);
        }
        if self.rectangle && b.x0 >= a.x0 && b.x1 <= a.x1 && b.y0 >= a.y0 && b.y1 <= a.y1 {
            return Some(!self.inverted);
        }
        None
    }

    /// Cuts `lines`.
    ///
    /// # Errors
    /// [`Interrupt`] of the effort's checkpoint.
    pub fn clip_lines(
        &self,
        lines: &mut Polylines,
        scratch: &mut Polylines,
        effort: &Effort<'_>,
    ) -> Result<Cut, Interrupt> {
        let Some(bounds) = lines.bounds() else { return Ok(Cut::Untouched) };
        match self.decided(bounds, effort)? {
            Some(true) => return Ok(Cut::Untouched),
            Some(false) => {
                lines.clear();
                return Ok(Cut::Done);
            }
            None => {}
        }
        scratch.clear();
        let mut cut = false;
        let mut crossings = Vec::new();
        let most = lines.points.len().saturating_add(usize::try_from(effort.crossings).unwrap_or(usize::MAX));
        for (points, closed) in lines.iter() {
            match self.clip_line(points, closed, scratch, &mut crossings, most, effort) {
                Ok(this) => cut |= this,
                Err(Stop::Entangled) => return Ok(Cut::Entangled),
                Err(Stop::Interrupted(interrupt)) => return Err(interrupt),
            }
        }
        if cut {
            std::mem::swap(lines, scratch);
        }
        Ok(if cut { Cut::Done } else { Cut::Untouched })
    }

    fn clip_line(
        &self,
        points: &[Point],
        closed: bool,
        out: &mut Polylines,
        crossings: &mut Vec<f64>,
        most: usize,
        effort: &Effort<'_>,
    ) -> Result<bool, Stop> {
        let first_piece = out.ends.len();
        let start = out.points.len();
        let (mut piece, mut cut, mut begins_inside) = (start, false, false);
        let edges = if closed { points.len() } else { points.len().saturating_sub(1) };
        for edge in 0..edges {
            let (a, b) = (points[edge], points[(edge + 1) % points.len()]);
            crossings.clear();
            self.crossings(a, b, crossings, effort)?;
            if out.ends.len() + crossings.len() > most {
                return Err(Stop::Entangled);
            }
            crossings.push(1.0);
            crossings.sort_by(f64::total_cmp);
            let mut from = 0.0;
            for &to in crossings.iter() {
                if to <= from {
                    continue;
                }
                let middle = a.lerp(b, (from + to) / 2.0);
                effort.steps(self.work_of(middle))?;
                if self.contains(middle) {
                    if out.points.len() == piece {
                        out.points.push(a.lerp(b, from));
                        begins_inside |= edge == 0 && from == 0.0;
                    }
                    let end = if to == 1.0 { b } else { a.lerp(b, to) };
                    // Crossings inside one edge that change nothing leave no vertex behind.
                    if from > 0.0 && out.points.len() > piece + 1 {
                        out.points.pop();
                    }
                    out.points.push(end);
                } else {
                    cut = true;
                    if out.points.len() > piece {
                        out.ends.push((out.points.len() as u32, false));
                        piece = out.points.len();
                    }
                }
                from = to;
            }
        }
        if !cut {
            out.points.truncate(start);
            out.ends.truncate(first_piece);
            out.points.extend_from_slice(points);
            out.ends.push((out.points.len() as u32, closed));
            return Ok(false);
        }
        if out.points.len() > piece {
            out.ends.push((out.points.len() as u32, false));
            // A ring that starts inside is cut somewhere else: its last piece runs on into its first.
            if closed && begins_inside && out.ends.len() > first_piece + 1 {
                let last = out.points.len() - piece;
                out.points[start..].rotate_right(last);
                out.ends.pop();
                let joint = start + last;
                out.points.remove(joint);
                for (end, _) in &mut out.ends[first_piece..] {
                    *end += last as u32 - 1;
                }
            }
        }
        Ok(true)
    }

    /// Parameters at which the edge from `a` to `b` meets the boundary.
    fn crossings(&self, a: Point, b: Point, found: &mut Vec<f64>, effort: &Effort<'_>) -> Result<(), Interrupt> {
        let d = b - a;
        let (x0, x1, y0, y1) = (a.x.min(b.x), a.x.max(b.x), a.y.min(b.y), a.y.max(b.y));
        let r = &self.bounds;
        if x1 < r.x0 || x0 > r.x1 || y1 < r.y0 || y0 > r.y1 {
            return effort.step();
        }
        self.edges.visit(Rect::new(x0, y0, x1, y1), effort, |before, after| {
            let e = after - before;
            let across = d.cross(e);
            if across != 0.0 {
                let towards = before - a;
                let t = towards.cross(e) / across;
                let s = towards.cross(d) / across;
                if t > 0.0 && t < 1.0 && (-1e-12..=1.0 + 1e-12).contains(&s) {
                    found.push(t);
                }
            } else if d.cross(before - a) == 0.0 {
                // Along the boundary: its ends may divide what is kept from what is not.
                let length = d.hypot2();
                for end in [before, after] {
                    let t = (end - a).dot(d) / length;
                    if t > 0.0 && t < 1.0 {
                        found.push(t);
                    }
                }
            }
            true
        })
    }

    /// Cuts the even-odd area of `rings`.
    ///
    /// # Errors
    /// [`Interrupt`] of the effort's checkpoint.
    pub fn clip_area(&self, rings: &mut Polylines, effort: &Effort<'_>) -> Result<Cut, Interrupt> {
        let Some(bounds) = rings.bounds() else { return Ok(Cut::Untouched) };
        match self.decided(bounds, effort)? {
            Some(true) => Ok(Cut::Untouched),
            Some(false) => {
                rings.clear();
                Ok(Cut::Done)
            }
            None => {
                let inverted = self.inverted;
                let keep = |[area, clip]: Windings| area % 2 != 0 && (clip % 2 != 0) != inverted;
                if self.edges.list.len() > LARGE_CLIP {
                    effort.steps(self.edges.list.len())?;
                    let rim = 0.01 * (bounds.width() + bounds.height()) + 1e-3;
                    let window = window(&self.rings, bounds.inflate(rim, rim));
                    return overlay(rings, Some(&window), keep, effort);
                }
                overlay(rings, Some(&self.rings), keep, effort)
            }
        }
    }
}

/// The edges of a clip, in strips along the axis on which they are shorter.
#[derive(Debug, Clone)]
struct Edges {
    /// Whether strips run upward, by x. Then `list` has x and y exchanged, so that everything else speaks of heights.
    upward: bool,
    list: Vec<(Point, Point)>,
    from: f64,
    size: f64,
    starts: Vec<u32>,
    members: Vec<u32>,
}

impl Edges {
    /// So many edges lie in one strip.
    const FEW: usize = 32;

    fn new(rings: &Polylines, bounds: Rect) -> Self {
        let mut list = Vec::with_capacity(rings.points.len());
        for (ring, _) in rings.iter() {
            let mut before = ring.last().copied().unwrap_or_default();
            for &after in ring {
                list.push((before, after));
                before = after;
            }
        }
        let (width, height) = (bounds.width().max(f64::MIN_POSITIVE), bounds.height().max(f64::MIN_POSITIVE));
        // Edges over a level and over an upright line, on average.
        let tall: f64 = list.iter().map(|(before, after)| (after.y - before.y).abs() / height).sum();
        let wide: f64 = list.iter().map(|(before, after)| (after.x - before.x).abs() / width).sum();
        let upward = list.len() > Self::FEW && wide < 0.5 * tall;
        let (over, from, size) = if upward { (wide, bounds.x0, width) } else { (tall, bounds.y0, height) };
        let strips = if list.len() <= Self::FEW { 1.0 } else { 4.0 * list.len() as f64 / over.max(1.0) };
        let strips = (strips as usize).clamp(1, list.len().max(1));
        let mut edges = Self { upward, list, from, size, starts: vec![0; strips + 1], members: Vec::new() };
        if upward {
            for (before, after) in &mut edges.list {
                (*before, *after) = (exchanged(*before), exchanged(*after));
            }
        }
        for index in 0..edges.list.len() {
            let (first, last) = edges.span(index);
            for strip in first..=last {
                edges.starts[strip + 1] += 1;
            }
        }
        for strip in 0..strips {
            edges.starts[strip + 1] += edges.starts[strip];
        }
        let mut filled = edges.starts.clone();
        let mut members = vec![0; edges.starts.last().copied().unwrap_or(0) as usize];
        for index in 0..edges.list.len() {
            let (first, last) = edges.span(index);
            for strip in first..=last {
                members[filled[strip] as usize] = index as u32;
                filled[strip] += 1;
            }
        }
        edges.members = members;
        edges
    }

    /// A point in the axes of `list`; also back.
    fn turned(&self, point: Point) -> Point {
        if self.upward { exchanged(point) } else { point }
    }

    fn strip(&self, height: f64) -> usize {
        let strips = self.starts.len() - 1;
        (((height - self.from) / self.size * strips as f64) as usize).min(strips - 1)
    }

    fn span(&self, edge: usize) -> (usize, usize) {
        let (before, after) = self.list[edge];
        (self.strip(before.y.min(after.y)), self.strip(before.y.max(after.y)))
    }

    fn at(&self, strip: usize) -> &[u32] {
        &self.members[self.starts[strip] as usize..self.starts[strip + 1] as usize]
    }

    /// Edges that may lie beside a point.
    fn near(&self, point: Point) -> &[u32] {
        self.at(self.strip(self.turned(point).y))
    }

    /// Calls `visit` once for every edge that may reach into a box, until it returns `false`.
    fn visit(
        &self,
        bounds: Rect,
        effort: &Effort<'_>,
        mut visit: impl FnMut(Point, Point) -> bool,
    ) -> Result<(), Interrupt> {
        let (low, high) = if self.upward { (bounds.x0, bounds.x1) } else { (bounds.y0, bounds.y1) };
        let first = self.strip(low);
        for strip in first..=self.strip(high) {
            let members = self.at(strip);
            effort.steps(members.len() + 1)?;
            for &edge in members {
                // Seen in the first strip that both share.
                if strip == self.span(edge as usize).0.max(first) {
                    let (before, after) = self.list[edge as usize];
                    if !visit(self.turned(before), self.turned(after)) {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }
}

fn exchanged(point: Point) -> Point {
    Point::new(point.y, point.x)
}

/// Rings cut to a box: inside it they divide the plane as before.
fn window(rings: &Polylines, bounds: Rect) -> Polylines {
    let mut out = Polylines::default();
    let (mut ring, mut cut): (Vec<Point>, Vec<Point>) = (Vec::new(), Vec::new());
    for (points, _) in rings.iter() {
        ring.clear();
        ring.extend_from_slice(points);
        for (vertical, rim, above) in
            [(true, bounds.x0, true), (true, bounds.x1, false), (false, bounds.y0, true), (false, bounds.y1, false)]
        {
            let place = |point: Point| if vertical { point.x } else { point.y };
            let keeps = |point: Point| if above { place(point) >= rim } else { place(point) <= rim };
            cut.clear();
            let Some(mut before) = ring.last().copied() else { break };
            for &after in &ring {
                if keeps(before) != keeps(after) {
                    let at = before.lerp(after, (rim - place(before)) / (place(after) - place(before)));
                    cut.push(if vertical { Point::new(rim, at.y) } else { Point::new(at.x, rim) });
                }
                if keeps(after) {
                    cut.push(after);
                }
                before = after;
            }
            std::mem::swap(&mut ring, &mut cut);
        }
        if ring.len() > 2 {
            out.points.extend_from_slice(&ring);
            out.ends.push((out.points.len() as u32, true));
        }
    }
    out
}

fn is_upright(points: &[Point], bounds: Rect) -> bool {
    let on_corner = |point: &Point| {
        (point.x == bounds.x0 || point.x == bounds.x1) && (point.y == bounds.y0 || point.y == bounds.y1)
    };
    let mut before = points.last();
    points.len() == 4
        && points.iter().all(|point| {
            let side = before.is_some_and(|before| (before.x == point.x) != (before.y == point.y));
            before = Some(point);
            side && on_corner(point)
        })
}

/// Turns rings filled by `rule` into rings of the same area by the even-odd rule.
///
/// # Errors
/// [`Interrupt`] of the effort's checkpoint.
pub fn resolve_fill(rings: &mut Polylines, rule: FillRule, effort: &Effort<'_>) -> Result<Cut, Interrupt> {
    if rule == FillRule::EvenOdd || rings.ends.is_empty() {
        return Ok(Cut::Untouched);
    }
    effort.steps(rings.points.len())?;
    if let [(end, _)] = rings.ends[..]
        && is_convex(rings.points.get(..end as usize).unwrap_or(&[]))
    {
        return Ok(Cut::Untouched);
    }
    if are_apart(rings) && rings.iter().all(|(ring, _)| is_convex(ring)) {
        return Ok(Cut::Untouched);
    }
    overlay(rings, None, |[winding, _]| winding != 0, effort)
}

/// Whether the boxes of the rings do not touch each other. Few rings only; more are taken to touch.
fn are_apart(rings: &Polylines) -> bool {
    if rings.ends.len() > 16 {
        return false;
    }
    let boxes: Vec<Rect> = rings.iter().filter_map(|(ring, _)| bounds_of(ring)).collect();
    boxes
        .iter()
        .enumerate()
        .all(|(index, a)| boxes[..index].iter().all(|b| a.x1 < b.x0 || b.x1 < a.x0 || a.y1 < b.y0 || b.y1 < a.y0))
}

/// Whether the ring turns to one side only and goes round once.
fn is_convex(ring: &[Point]) -> bool {
    let n = ring.len();
    if n < 4 {
        return true;
    }
    let (mut side, mut flips, mut before) = (0.0f64, 0u32, 0.0f64);
    for index in 0..n {
        let (a, b, c) = (ring[index], ring[(index + 1) % n], ring[(index + 2) % n]);
        let turn = (b - a).cross(c - b);
        if turn != 0.0 {
            if side * turn < 0.0 {
                return false;
            }
            side = turn;
        } else if (b - a).dot(c - b) < 0.0 {
            return false;
        }
        let dx = if b.x == a.x { before } else { (b.x - a.x).signum() };
        flips += u32::from(before != 0.0 && dx != before);
        before = dx;
    }
    // Going round once, x turns back twice: once inside the walk if it starts at an extreme point, else twice.
    side != 0.0 && flips <= 2
}

/// Replaces `subject` by the area that `keep` accepts, as even-odd rings that do not cross.
fn overlay(
    subject: &mut Polylines,
    clip: Option<&Polylines>,
    keep: impl Fn(Windings) -> bool,
    effort: &Effort<'_>,
) -> Result<Cut, Interrupt> {
    let Some(bounds) = subject.bounds() else { return Ok(Cut::Untouched) };
    let bounds = clip.and_then(Polylines::bounds).map_or(bounds, |clip| bounds.union(clip));
    let reach = bounds.x0.abs().max(bounds.y0.abs()).max(bounds.x1.abs()).max(bounds.y1.abs()) + 1.0;
    // Decimal steps: 10⁻⁷ m as long as coordinates keep to the 53 bits of their own precision.
    let finest = (f64::from(1 << 30) * f64::from(1 << 22) / reach).log10().floor().min(7.0) as i32;
    let steps = 10f64.powi(finest);
    let on_grid = |lines: &Polylines| {
        let mut rings = GridRings::default();
        for (ring, _) in lines.iter() {
            rings.push(ring.iter().map(|point| GridPoint::nearest(*point, steps)));
        }
        rings
    };
    let mut areas = GridAreas::default();
    effort.steps(subject.points.len() + clip.map_or(0, |clip| clip.points.len()))?;
    match arrange(&on_grid(subject), clip.map(on_grid).as_ref(), keep, effort, &mut areas) {
        Ok(()) => {}
        Err(Stop::Entangled) => return Ok(Cut::Entangled),
        Err(Stop::Interrupted(interrupt)) => return Err(interrupt),
    }
    subject.clear();
    for ring in areas.iter().flatten() {
        subject.points.extend(ring.iter().map(|p| Point::new(p.x as f64 / steps, p.y as f64 / steps)));
        subject.ends.push((subject.points.len() as u32, true));
    }
    Ok(Cut::Done)
}

/// The box around `points`.
pub(crate) fn bounds_of(points: &[Point]) -> Option<Rect> {
    let (first, rest) = points.split_first()?;
    let mut bounds = Rect::new(first.x, first.y, first.x, first.y);
    for point in rest {
        bounds.x0 = bounds.x0.min(point.x);
        bounds.x1 = bounds.x1.max(point.x);
        bounds.y0 = bounds.y0.min(point.y);
        bounds.y1 = bounds.y1.max(point.y);
    }
    Some(bounds)
}
