//! Curves → points, after the transform, with a stated bound on the error.
//!
//! The distance between a curve and each of its chords is at most `chord_error_m` and at most
//! `chord_error_ratio` × the least radius of curvature along that chord; see [`Flattening`]. The bound is exact for
//! circles and ellipses, and proved from the control points for polynomial curves up to degree three. For rational
//! splines and higher degrees the radius is that of the circle through the chord and the height of the control
//! polygon over it. Two floors keep the work finite: no curve is resolved below [`FINEST_M`], and none gets more
//! than [`MAX_CHORDS`] chords.
//!
//! Points depend on a curve's shape only, not on its direction: a circular arc is divided evenly, everything else
//! by halving, so that an arc and its reverse give the same points.

use super::expand::{CircularArc, Flattening, Polylines};
use super::{Affine, Point, Segment, Spline, Vec2};
use crate::format::{Interrupt, Pace};

/// Curves are not resolved finer than this: one micrometre.
pub const FINEST_M: f64 = 1e-6;

/// The most chords of one arc, and of one polynomial piece of a curve.
pub const MAX_CHORDS: u32 = 1 << 16;

const MAX_HALVINGS: u32 = 16;

/// Splines of a higher degree are drawn as their control polygon.
const MAX_DEGREE: usize = 64;

/// Points closer than this are the same point when curves are joined: a nanometre.
const SAME_M: f64 = 1e-9;

/// Flattens `segments`, mapped by `transform` to metres, and appends the subpaths to `out`.
///
/// Gives the circle or circular arc if the path consists of nothing else. Stops early when `out` holds more than
/// `max_points` points, within a curve too; the caller compares.
///
/// # Errors
/// [`Interrupt`] of the checkpoint behind `pace`, which counts the points and the work on curves.
pub fn flatten<'a>(
    segments: impl Iterator<Item = Segment<'a>>,
    transform: Affine,
    flattening: &Flattening,
    max_points: usize,
    pace: &Pace<'_>,
    out: &mut Polylines,
) -> Result<Option<CircularArc>, Interrupt> {
    let mut pen = Pen { start: out.points.len(), out, open: false, flattening: *flattening, max_points, pace };
    let mut arc = OneArc::default();
    let (mut current, mut start) = (Point::ZERO, Point::ZERO);
    for segment in segments {
        if pen.is_full() {
            break;
        }
        pace.step()?;
        match segment {
            Segment::Move(to) => {
                pen.end(false);
                pen.move_to(transform * to);
                arc.moved();
                (current, start) = (to, to);
            }
            Segment::Line(to) => {
                pen.line_to(transform * to);
                arc.other();
                current = to;
            }
            Segment::Bulge { to, bulge } => {
                match bulge_arc(current, to, bulge) {
                    Some((centre, u, v, sweep)) => {
                        let ellipse = Ellipse::new(transform, centre, u, v, 0.0, sweep);
                        arc.add(ellipse.circular(ellipse.centre + ellipse.u));
                        pen.ellipse(&ellipse, transform * current, transform * to)?;
                    }
                    None => {
                        pen.line_to(transform * to);
                        arc.other();
                    }
                }
                current = to;
            }
            Segment::Arc { centre, u, v, start, sweep } => {
                let ellipse = Ellipse::new(transform, centre, u, v, start, sweep);
                let first = ellipse.at(start);
                let end = if sweep.abs() == std::f64::consts::TAU { start } else { start + sweep };
                let (sin, cos) = end.sin_cos();
                if pen.open && pen.last().is_some_and(|last| (last - first).hypot() > 1e-6 * ellipse.size()) {
                    arc.other();
                }
                arc.add(ellipse.circular(first));
                pen.join(first);
                pen.ellipse(&ellipse, first, ellipse.centre + ellipse.u * cos + ellipse.v * sin)?;
                current = centre + u * cos + v * sin;
            }
            Segment::Cubic(a, b, to) => {
                pen.join(transform * current);
                pen.cubic([transform * current, transform * a, transform * b, transform * to])?;
                arc.other();
                current = to;
            }
            Segment::Spline(spline) => {
                pen.spline(spline, transform)?;
                arc.other();
                current = match pen.last() {
                    Some(last) if transform.determinant() != 0.0 => transform.inverse() * last,
                    _ => spline.control.last().copied().unwrap_or(current),
                };
            }
            Segment::Close => {
                arc.closed(pen.gap());
                current = start;
                pen.end(true);
            }
        }
    }
    pen.end(false);
    Ok(arc.found)
}

/// Centre, half axes and sweep of the arc from `from` to `to`; `None` if it is a straight line.
fn bulge_arc(from: Point, to: Point, bulge: f64) -> Option<(Point, Vec2, Vec2, f64)> {
    let chord = to - from;
    if chord.hypot2() == 0.0 || bulge.abs() < 1e-12 {
        return None;
    }
    // The centre lies on the perpendicular through the middle, at (1 − b²) / 4b of the chord to its left.
    let offset = (1.0 - bulge * bulge) / (4.0 * bulge);
    let centre = from + chord * 0.5 + Vec2::new(-chord.y, chord.x) * offset;
    if !centre.is_finite() {
        return None;
    }
    let u = from - centre;
    Some((centre, u, Vec2::new(-u.y, u.x), 4.0 * bulge.atan()))
}

/// Whether a path consists of one circular arc, possibly in several pieces of the same circle.
#[derive(Default)]
struct OneArc {
    found: Option<CircularArc>,
    spoilt: bool,
}

impl OneArc {
    fn moved(&mut self) {
        if self.found.is_some() {
            self.other();
        }
    }

    fn other(&mut self) {
        self.found = None;
        self.spoilt = true;
    }

    fn closed(&mut self, gap: f64) {
        if self.found.is_some_and(|arc| gap > 1e-6 * arc.radius) {
            self.other();
        }
    }

    fn add(&mut self, arc: Option<CircularArc>) {
        let Some(arc) = arc.filter(|_| !self.spoilt) else { return self.other() };
        match &mut self.found {
            None => self.found = Some(arc),
            Some(before) => {
                let same = (before.centre - arc.centre).hypot() <= 1e-6 * before.radius
                    && (before.radius - arc.radius).abs() <= 1e-6 * before.radius
                    && before.sweep.signum() == arc.sweep.signum();
                if same {
                    before.sweep += arc.sweep;
                } else {
                    self.other();
                }
            }
        }
    }
}

/// An elliptical arc in metres: centre + u·cos t + v·sin t.
struct Ellipse {
    centre: Point,
    u: Vec2,
    v: Vec2,
    start: f64,
    sweep: f64,
}

impl Ellipse {
    fn new(transform: Affine, centre: Point, u: Vec2, v: Vec2, start: f64, sweep: f64) -> Self {
        Self { centre: transform * centre, u: linear(transform, u), v: linear(transform, v), start, sweep }
    }

    fn at(&self, t: f64) -> Point {
        let (sin, cos) = t.sin_cos();
        self.centre + self.u * cos + self.v * sin
    }

    /// The points that divide it into `count` parts of equal parameter, without its ends. Most of them are the one
    /// before turned on; every eighth is computed anew, so that rounding errors stay those of a few turns.
    fn divide(&self, count: u32, points: &mut Vec<Point>) {
        let (sin, cos) = (self.sweep / f64::from(count)).sin_cos();
        let (mut reach, mut along) = (Vec2::ZERO, Vec2::ZERO);
        for step in 1..count {
            if step % 8 == 1 {
                let (sin, cos) = (self.start + self.sweep * f64::from(step) / f64::from(count)).sin_cos();
                reach = self.u * cos + self.v * sin;
                along = self.v * cos - self.u * sin;
            } else {
                (reach, along) = (reach * cos + along * sin, along * cos - reach * sin);
            }
            points.push(self.centre + reach);
        }
    }

    fn size(&self) -> f64 {
        self.u.hypot().max(self.v.hypot())
    }

    fn is_circle(&self) -> bool {
        let (a, b) = (self.u.hypot(), self.v.hypot());
        a > 0.0 && (a - b).abs() <= 1e-9 * a && self.u.dot(self.v).abs() <= 1e-9 * a * b
    }

    /// As an arc that begins at `first`, if it is circular.
    fn circular(&self, first: Point) -> Option<CircularArc> {
        if !self.is_circle() {
            return None;
        }
        let turn = if self.u.cross(self.v) < 0.0 { -1.0 } else { 1.0 };
        Some(CircularArc {
            centre: self.centre,
            radius: self.u.hypot(),
            towards_first: first - self.centre,
            sweep: turn * self.sweep,
        })
    }

    /// Whether the chord from t to t + h keeps the bound.
    fn is_flat(&self, t: f64, h: f64, flattening: &Flattening) -> bool {
        let area = self.u.cross(self.v).abs();
        let middle = t + h / 2.0;
        let towards = self.at(middle) - self.centre;
        let along = self.derivative(middle);
        let length = along.hypot();
        // An affine map keeps parallels and ratios, so the farthest point of the arc is the one in its middle.
        let lift = 1.0 - (h / 2.0).cos();
        let height = if length > 0.0 { lift * towards.cross(along).abs() / length } else { lift * towards.hypot() };
        if area <= f64::EPSILON * self.size() * self.size() {
            // Flattened to a line that turns at its ends: the ends must be met.
            return lift * towards.hypot() <= flattening.chord_error_m.min(FINEST_M.max(1e-9 * self.size()));
        }
        // |r'|² = m + n·cos 2(t − t₀): least at the nearer end, or at its minimum if that lies inside.
        let slowest = self.slowest(t, h);
        let radius = slowest.powi(3) / area;
        height <= bound(flattening, radius)
    }

    fn derivative(&self, t: f64) -> Vec2 {
        let (sin, cos) = t.sin_cos();
        self.v * cos - self.u * sin
    }

    /// The least |r'| for parameters from t to t + h.
    fn slowest(&self, t: f64, h: f64) -> f64 {
        let (uu, vv, uv) = (self.u.hypot2(), self.v.hypot2(), self.u.dot(self.v));
        // |r'|² = (uu + vv)/2 + (vv − uu)/2·cos 2t − uv·sin 2t, least where (cos 2t, sin 2t) opposes (…).
        let (c, s) = ((vv - uu) / 2.0, -uv);
        let swing = c.hypot(s);
        let lowest = s.atan2(c) / 2.0 + std::f64::consts::FRAC_PI_2;
        let (from, to) = if h < 0.0 { (t + h, t) } else { (t, t + h) };
        let first_after = lowest + ((from - lowest) / std::f64::consts::PI).ceil() * std::f64::consts::PI;
        if first_after <= to {
            return ((uu + vv) / 2.0 - swing).max(0.0).sqrt();
        }
        self.derivative(from).hypot().min(self.derivative(to).hypot())
    }
}

/// The greatest distance allowed where the radius of curvature is `radius`.
fn bound(flattening: &Flattening, radius: f64) -> f64 {
    flattening.chord_error_m.min((flattening.chord_error_ratio * radius).max(FINEST_M))
}

fn linear(transform: Affine, vector: Vec2) -> Vec2 {
    let [a, b, c, d, ..] = transform.as_coeffs();
    Vec2::new(a * vector.x + c * vector.y, b * vector.x + d * vector.y)
}

/// Number of chords of a circular arc.
fn chords(flattening: &Flattening, radius: f64, sweep: f64) -> u32 {
    let bound = bound(flattening, radius);
    let widest = if bound >= radius { std::f64::consts::FRAC_PI_2 } else { 2.0 * (1.0 - bound / radius).acos() };
    // A full circle gets its four extreme points when it starts at one, so that its box is exact.
    let whole = (sweep.abs() - std::f64::consts::TAU).abs() < 1e-9;
    let wanted = (sweep.abs() / widest.min(std::f64::consts::FRAC_PI_2) - 1e-9).ceil().max(1.0);
    let count = wanted.min(f64::from(MAX_CHORDS)) as u32;
    if whole { count.next_multiple_of(4) } else { count }
}

struct Pen<'a> {
    out: &'a mut Polylines,
    start: usize,
    open: bool,
    flattening: Flattening,
    max_points: usize,
    pace: &'a Pace<'a>,
}

impl Pen<'_> {
    /// Whether there are more points than allowed, so that going on is in vain.
    fn is_full(&self) -> bool {
        self.out.points.len() > self.max_points
    }

    fn last(&self) -> Option<Point> {
        self.out.points.get(self.start..)?.last().copied()
    }

    fn move_to(&mut self, to: Point) {
        self.start = self.out.points.len();
        self.open = true;
        self.out.points.push(to);
    }

    fn line_to(&mut self, to: Point) {
        if !self.open {
            return self.move_to(to);
        }
        if self.last() != Some(to) {
            self.out.points.push(to);
        }
    }

    /// A line to the start of a curve, unless the pen is there already.
    fn join(&mut self, to: Point) {
        if !self.open {
            return self.move_to(to);
        }
        if self.last().is_some_and(|last| (last - to).hypot() > SAME_M) {
            self.out.points.push(to);
        }
    }

    /// Distance from the last to the first point of the subpath.
    fn gap(&self) -> f64 {
        match (self.last(), self.out.points.get(self.start)) {
            (Some(last), Some(first)) => (last - *first).hypot(),
            _ => 0.0,
        }
    }

    fn end(&mut self, closed: bool) {
        if !self.open {
            return;
        }
        self.open = false;
        let len = self.out.points.len() - self.start;
        // A path that comes back to its start is closed, whether or not it says so.
        let returns = len > 3 && self.gap() <= SAME_M.max(1e-12 * self.reach());
        if len > 1 && (returns || (closed && self.gap() <= SAME_M)) {
            self.out.points.pop();
        }
        self.out.ends.push((self.out.points.len() as u32, closed || returns));
        self.start = self.out.points.len();
    }

    fn reach(&self) -> f64 {
        self.last().map_or(0.0, |point| point.x.abs().max(point.y.abs()))
    }

    fn ellipse(&mut self, ellipse: &Ellipse, first: Point, last: Point) -> Result<(), Interrupt> {
        self.join(first);
        if ellipse.is_circle() {
            let count = chords(&self.flattening, ellipse.u.hypot(), ellipse.sweep);
            self.pace.steps(count as usize)?;
            ellipse.divide(count, &mut self.out.points);
        } else {
            self.halve_ellipse(ellipse)?;
        }
        self.line_to(last);
        Ok(())
    }

    fn halve_ellipse(&mut self, ellipse: &Ellipse) -> Result<(), Interrupt> {
        let pieces = ((ellipse.sweep.abs() / std::f64::consts::FRAC_PI_2) - 1e-9).ceil().max(1.0) as u32;
        let step = ellipse.sweep / f64::from(pieces);
        for piece in 0..pieces {
            let mut stack = [(0.0, 0.0, 0u32); MAX_HALVINGS as usize + 2];
            stack[0] = (ellipse.start + step * f64::from(piece), step, 0);
            let mut len = 1;
            while len > 0 {
                self.pace.step()?;
                len -= 1;
                let (t, h, halvings) = stack[len];
                if halvings >= MAX_HALVINGS || ellipse.is_flat(t, h, &self.flattening) {
                    let ends = piece + 1 == pieces && len == 0;
                    if !ends {
                        self.out.points.push(ellipse.at(t + h));
                    }
                } else {
                    stack[len] = (t + h / 2.0, h / 2.0, halvings + 1);
                    stack[len + 1] = (t, h / 2.0, halvings + 1);
                    len += 2;
                }
            }
        }
        Ok(())
    }

    fn cubic(&mut self, curve: [Point; 4]) -> Result<(), Interrupt> {
        let mut stack = [(curve, 0u32); MAX_HALVINGS as usize + 2];
        let mut len = 1;
        while len > 0 {
            self.pace.step()?;
            len -= 1;
            let (piece, halvings) = stack[len];
            if halvings >= MAX_HALVINGS || cubic_is_flat(&piece, &self.flattening) {
                self.line_to(piece[3]);
            } else {
                let (left, right) = halve_cubic(&piece);
                stack[len] = (right, halvings + 1);
                stack[len + 1] = (left, halvings + 1);
                len += 2;
            }
        }
        Ok(())
    }

    fn spline(&mut self, spline: &Spline, transform: Affine) -> Result<(), Interrupt> {
        let degree = spline.degree as usize;
        let control = spline.control.len();
        let fits = degree >= 1 && control > degree && spline.knots.len() > control + degree;
        if !fits || degree > MAX_DEGREE || degree == 1 {
            for (index, point) in spline.control.iter().enumerate() {
                let point = transform * *point;
                if index == 0 {
                    self.join(point)
                } else {
                    self.line_to(point)
                }
                self.pace.step()?;
            }
            return Ok(());
        }
        let rational = spline.weights.iter().any(|weight| *weight != 1.0);
        let hull_holds = spline.weights.iter().all(|weight| *weight > 0.0);
        let mut work = Vec::with_capacity(degree + 1);
        let mut piece: Vec<[f64; 3]> = Vec::with_capacity(degree + 1);
        let mut first = true;
        for span in degree..control {
            let (from, to) = (spline.knots[span], spline.knots[span + 1]);
            if from >= to {
                continue;
            }
            if self.is_full() {
                break;
            }
            self.pace.steps(degree * degree)?;
            bezier(spline, span, transform, &mut work, &mut piece);
            if first {
                self.join(project(&piece[0]));
                first = false;
            }
            match (degree, rational) {
                (2, false) => {
                    let [a, b, c] = [project(&piece[0]), project(&piece[1]), project(&piece[2])];
                    self.cubic([a, a.lerp(b, 2.0 / 3.0), c.lerp(b, 2.0 / 3.0), c])?;
                }
                (3, false) => {
                    self.cubic([project(&piece[0]), project(&piece[1]), project(&piece[2]), project(&piece[3])])?;
                }
                _ if hull_holds => self.rational(&piece)?,
                _ => {
                    self.pace.steps(64 * degree * degree)?;
                    for step in 1..=64 {
                        let point = evaluate(&piece, f64::from(step) / 64.0, &mut work);
                        if point.is_finite() {
                            self.line_to(point);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// A Bézier piece of any degree with positive weights, in homogeneous coordinates.
    fn rational(&mut self, piece: &[[f64; 3]]) -> Result<(), Interrupt> {
        let order = piece.len();
        let mut stack: Vec<[f64; 3]> = piece.to_vec();
        let mut halvings = vec![0u32];
        let mut right = Vec::with_capacity(order);
        while let Some(depth) = halvings.pop() {
            if self.is_full() {
                break;
            }
            self.pace.steps(order)?;
            let base = stack.len() - order;
            if depth >= MAX_HALVINGS || hull_is_flat(&stack[base..], &self.flattening) {
                let end = project(&stack[stack.len() - 1]);
                stack.truncate(base);
                self.line_to(end);
                continue;
            }
            // de Casteljau at one half: the left half stays in place, the right half goes below it.
            self.pace.steps(order * order / 2)?;
            let left = &mut stack[base..];
            right.clear();
            for level in 1..order {
                right.push(left[order - 1]);
                for index in (level..order).rev() {
                    left[index] = middle(&left[index - 1], &left[index]);
                }
            }
            right.push(left[order - 1]);
            right.reverse();
            stack.extend_from_slice(&right);
            let (left, right) = stack[base..].split_at_mut(order);
            left.swap_with_slice(right);
            halvings.push(depth + 1);
            halvings.push(depth + 1);
        }
        Ok(())
    }
}

/// The Bézier control points of the span from knot `span` to the next, in `piece`.
///
/// Control point j is the polar form at `degree − j` times the first knot and j times the second. Knots are inserted
/// at both ends in turn (Boehm): first the polar forms f(from, …, from, next knots), then those with `to` in place of
/// the next knots; together as many steps as one point by de Boor takes twice.
fn bezier(spline: &Spline, span: usize, transform: Affine, work: &mut Vec<[f64; 3]>, piece: &mut Vec<[f64; 3]>) {
    let degree = spline.degree as usize;
    let (from, to) = (spline.knots[span], spline.knots[span + 1]);
    work.clear();
    for index in span - degree..=span {
        let weight = spline.weights.get(index).copied().unwrap_or(1.0);
        let point = transform * spline.control[index];
        work.push([point.x * weight, point.y * weight, weight]);
    }
    let mix = |before: &[f64; 3], after: &[f64; 3], part: f64| {
        [0, 1, 2].map(|axis| before[axis] + (after[axis] - before[axis]) * part)
    };
    // `piece` k: f(from × k, the next `degree − k` knots).
    piece.clear();
    piece.push(work[degree]);
    for level in 1..=degree {
        for offset in (level..=degree).rev() {
            let index = span - degree + offset;
            let (low, high) = (spline.knots[index], spline.knots[index + degree - level + 1]);
            let part = if high > low { (from - low) / (high - low) } else { 0.0 };
            work[offset] = mix(&work[offset - 1], &work[offset], part);
        }
        piece.push(work[degree]);
    }
    // After `level` rounds `piece` k: f(from × k, to × level, …), up to k = degree − level, where nothing else is left.
    for level in 1..=degree {
        for k in 0..=degree - level {
            let next = spline.knots[span + 1 + degree - level - k];
            let part = if next > from { (to - from) / (next - from) } else { 0.0 };
            piece[k] = mix(&piece[k + 1], &piece[k], part);
        }
    }
    piece.reverse();
}

fn project(point: &[f64; 3]) -> Point {
    if point[2] == 1.0 { Point::new(point[0], point[1]) } else { Point::new(point[0] / point[2], point[1] / point[2]) }
}

fn middle(a: &[f64; 3], b: &[f64; 3]) -> [f64; 3] {
    [(a[0] + b[0]) / 2.0, (a[1] + b[1]) / 2.0, (a[2] + b[2]) / 2.0]
}

fn evaluate(piece: &[[f64; 3]], t: f64, work: &mut Vec<[f64; 3]>) -> Point {
    work.clear();
    work.extend_from_slice(piece);
    for level in 1..work.len() {
        for index in 0..work.len() - level {
            let after = work[index + 1];
            for (value, after) in work[index].iter_mut().zip(after) {
                *value += (after - *value) * t;
            }
        }
    }
    work.first().map_or(Point::ZERO, project)
}

fn halve_cubic(p: &[Point; 4]) -> ([Point; 4], [Point; 4]) {
    let ab = p[0].midpoint(p[1]);
    let bc = p[1].midpoint(p[2]);
    let cd = p[2].midpoint(p[3]);
    let abc = ab.midpoint(bc);
    let bcd = bc.midpoint(cd);
    let m = abc.midpoint(bcd);
    ([p[0], ab, abc, m], [m, bcd, cd, p[3]])
}

/// Distance of `point` from the chord, and whether it lies beside it rather than beyond its ends.
fn from_chord(point: Point, start: Point, chord: Vec2, length: f64) -> (f64, bool) {
    let towards = point - start;
    if length <= 0.0 {
        return (towards.hypot(), false);
    }
    let along = towards.dot(chord) / length;
    if along < 0.0 {
        (towards.hypot(), false)
    } else if along > length {
        ((towards - chord).hypot(), false)
    } else {
        (towards.cross(chord).abs() / length, true)
    }
}

fn cubic_is_flat(p: &[Point; 4], flattening: &Flattening) -> bool {
    let chord = p[3] - p[0];
    let length = chord.hypot();
    let (a, a_beside) = from_chord(p[1], p[0], chord, length);
    let (b, b_beside) = from_chord(p[2], p[0], chord, length);
    // 3t(1 − t)·max is the farthest a curve gets whose inner control points are `max` away on the same side.
    let height = if a_beside && b_beside { 0.75 * a.max(b) } else { a.max(b) };
    if height > flattening.chord_error_m {
        return false;
    }
    if height <= FINEST_M {
        return true;
    }
    // Least radius along the piece: |B'|³ ÷ |B' × B''|, both bounded by their Bernstein coefficients.
    let (q0, q1, q2) = ((p[1] - p[0]) * 3.0, (p[2] - p[1]) * 3.0, (p[3] - p[2]) * 3.0);
    let slowest = q0.dot(chord).min(q1.dot(chord)).min(q2.dot(chord)) / length;
    if slowest <= 0.0 {
        return false;
    }
    let bend = 2.0 * q0.cross(q1).abs().max(q0.cross(q2).abs() / 2.0).max(q1.cross(q2).abs());
    height * bend <= flattening.chord_error_ratio * slowest.powi(3)
}

fn hull_is_flat(piece: &[[f64; 3]], flattening: &Flattening) -> bool {
    let (Some(first), Some(last)) = (piece.first(), piece.last()) else { return true };
    let (start, end) = (project(first), project(last));
    let chord = end - start;
    let length = chord.hypot();
    let mut height = 0.0f64;
    for point in piece {
        height = height.max(from_chord(project(point), start, chord, length).0);
    }
    // On a circle a chord of length c and height s has the radius c² ÷ 8s.
    height <= flattening.chord_error_m
        && (height <= FINEST_M || height <= length * (flattening.chord_error_ratio / 8.0).sqrt())
}
