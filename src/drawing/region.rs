//! Regions: lines cut and areas intersected by a clip, non-zero fills turned into even-odd rings.
//!
//! Areas go through an arrangement on an integer grid, whose result is free of crossings. The grid is decimal
//! (10⁻⁷ m where coordinates are small enough), so that coordinates drawn in round numbers come back unchanged. Lines are cut in floating point, piece by piece.

use super::arrange::{Windings, arrange};
use super::expand::Polylines;
use super::nest::{GridAreas, GridPoint, GridRings};
use super::{Affine, Clip, FillRule, Point, Rect};

/// A clip region in metres.
#[derive(Debug, Clone)]
pub struct Region {
    rings: Polylines,
    bounds: Rect,
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
        Some(Self { rings, bounds, rectangle, inverted: clip.inverted })
    }

    /// Whether `point` is kept.
    pub fn contains(&self, point: Point) -> bool {
        self.inside(point) != self.inverted
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
        for (ring, _) in self.rings.iter() {
            let mut before = ring.last().copied().unwrap_or_default();
            for after in ring {
                if (before.y > point.y) != (after.y > point.y) {
                    let x = before.x + (after.x - before.x) * (point.y - before.y) / (after.y - before.y);
                    inside ^= point.x < x;
                }
                before = *after;
            }
        }
        inside
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

    /// Cuts `lines`. Gives whether anything was cut or removed.
    pub fn clip_lines(&self, lines: &mut Polylines, scratch: &mut Polylines) -> bool {
        let Some(bounds) = lines.bounds() else { return false };
        match self.trivially(bounds) {
            Some(true) => return false,
            Some(false) => {
                lines.clear();
                return true;
            }
            None => {}
        }
        scratch.clear();
        let mut cut = false;
        let mut crossings = Vec::new();
        for (points, closed) in lines.iter() {
            cut |= self.clip_line(points, closed, scratch, &mut crossings);
        }
        if cut {
            std::mem::swap(lines, scratch);
        }
        cut
    }

    fn clip_line(&self, points: &[Point], closed: bool, out: &mut Polylines, crossings: &mut Vec<f64>) -> bool {
        let first_piece = out.ends.len();
        let start = out.points.len();
        let (mut piece, mut cut, mut begins_inside) = (start, false, false);
        let edges = if closed { points.len() } else { points.len().saturating_sub(1) };
        for edge in 0..edges {
            let (a, b) = (points[edge], points[(edge + 1) % points.len()]);
            crossings.clear();
            self.crossings(a, b, crossings);
            crossings.push(1.0);
            crossings.sort_by(f64::total_cmp);
            let mut from = 0.0;
            for &to in crossings.iter() {
                if to <= from {
                    continue;
                }
                if self.contains(a.lerp(b, (from + to) / 2.0)) {
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
            return false;
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
        true
    }

    /// Parameters at which the edge from `a` to `b` meets the boundary.
    fn crossings(&self, a: Point, b: Point, found: &mut Vec<f64>) {
        let d = b - a;
        let (x0, x1, y0, y1) = (a.x.min(b.x), a.x.max(b.x), a.y.min(b.y), a.y.max(b.y));
        let r = &self.bounds;
        if x1 < r.x0 || x0 > r.x1 || y1 < r.y0 || y0 > r.y1 {
            return;
        }
        for (ring, _) in self.rings.iter() {
            let mut before = ring.last().copied().unwrap_or_default();
            for &after in ring {
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
                before = after;
            }
        }
    }

    /// Cuts the even-odd area of `rings`. Gives whether anything was cut or removed.
    pub fn clip_area(&self, rings: &mut Polylines) -> bool {
        let Some(bounds) = rings.bounds() else { return false };
        match self.trivially(bounds) {
            Some(true) => false,
            Some(false) => {
                rings.clear();
                true
            }
            None => {
                let inverted = self.inverted;
                let keep = |[area, clip]: Windings| area % 2 != 0 && (clip % 2 != 0) != inverted;
                overlay(rings, Some(&self.rings), keep)
            }
        }
    }
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
pub fn resolve_fill(rings: &mut Polylines, rule: FillRule) {
    if rule == FillRule::EvenOdd || rings.ends.is_empty() {
        return;
    }
    if let [(end, _)] = rings.ends[..]
        && is_convex(rings.points.get(..end as usize).unwrap_or(&[]))
    {
        return;
    }
    if are_apart(rings) && rings.iter().all(|(ring, _)| is_convex(ring)) {
        return;
    }
    overlay(rings, None, |[winding, _]| winding != 0);
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

/// Replaces `subject` by the area that `keep` accepts, as even-odd rings that do not cross. Gives whether it did: rings
/// too entangled to be resolved stay as they are.
fn overlay(subject: &mut Polylines, clip: Option<&Polylines>, keep: impl Fn(Windings) -> bool) -> bool {
    let Some(bounds) = subject.bounds() else { return false };
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
    if arrange(&on_grid(subject), clip.map(on_grid).as_ref(), keep, &mut areas).is_err() {
        return false;
    }
    subject.clear();
    for ring in areas.iter().flatten() {
        subject.points.extend(ring.iter().map(|p| Point::new(p.x as f64 / steps, p.y as f64 / steps)));
        subject.ends.push((subject.points.len() as u32, true));
    }
    true
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
