//! ARC, CIRCLE, ELLIPSE, SPLINE and HELIX, and the curve through fit points.
//!
//! Arcs and circles lie in their object coordinate system and keep their exact form: a centre and two half axes,
//! which a tilted plane turns into an ellipse. Ellipses and splines are in the world; the parameters of a partial
//! ellipse are parameters, not angles. A spline is what its knots and weights say, whatever its flags say; only one
//! without control points is interpolated through its fit points.

use std::f64::consts::TAU;

use super::codes;
use super::ocs::cross;
use super::reader::{Common, Reader};
use crate::drawing::{PathWriter, Point, Spline, Symbol, Vec2};
use crate::format::ReadError;

/// Degrees beyond this are not worth evaluating; AutoCAD stops at 25.
const MAX_DEGREE: usize = 32;

impl<'a> Reader<'a, '_> {
    pub(super) fn arc(&mut self, kind: Symbol) -> Result<(), ReadError> {
        self.arc_or_circle(kind, true)
    }

    pub(super) fn circle(&mut self, kind: Symbol) -> Result<(), ReadError> {
        self.arc_or_circle(kind, false)
    }

    fn arc_or_circle(&mut self, kind: Symbol, partial: bool) -> Result<(), ReadError> {
        let mut common = Common::new();
        let mut centre = [0.0; 3];
        let mut radius = 0.0;
        let (mut start, mut end) = (0.0, 360.0);
        while let Some(tag) = self.field() {
            match tag.code {
                10 => centre[0] = self.real(tag),
                20 => centre[1] = self.real(tag),
                30 => centre[2] = self.real(tag),
                40 => radius = self.real(tag),
                50 => start = self.real(tag),
                51 => end = self.real(tag),
                _ => self.common(&mut common, tag),
            }
        }
        if self.is_elsewhere(kind, &common) {
            return Ok(());
        }
        if radius == 0.0 {
            self.left_out(&codes::NO_EXTENT, kind, &common);
            return Ok(());
        }
        let ocs = common.ocs();
        let (start, sweep) =
            if partial { (start.to_radians(), positive_sweep(end - start, 360.0).to_radians()) } else { (0.0, TAU) };
        let mut path = self.out.path();
        path.arc(ocs.point(centre), ocs.vector(radius, 0.0), ocs.vector(0.0, radius), start, sweep);
        if sweep >= TAU {
            path.close();
        }
        let path = path.finish()?;
        self.push_line(kind, &common, path)
    }

    pub(super) fn ellipse(&mut self, kind: Symbol) -> Result<(), ReadError> {
        let mut common = Common::new();
        let mut centre = Point::ZERO;
        let mut major = [0.0; 3];
        let (mut ratio, mut start, mut end) = (1.0, 0.0, TAU);
        while let Some(tag) = self.field() {
            match tag.code {
                10 => centre.x = self.real(tag),
                20 => centre.y = self.real(tag),
                11 => major[0] = self.real(tag),
                21 => major[1] = self.real(tag),
                31 => major[2] = self.real(tag),
                40 => ratio = self.real(tag),
                41 => start = self.real(tag),
                42 => end = self.real(tag),
                _ => self.common(&mut common, tag),
            }
        }
        if self.is_elsewhere(kind, &common) {
            return Ok(());
        }
        let normal = unit_or_up(common.normal);
        let minor = cross(normal, major);
        let (u, v) = (Vec2::new(major[0], major[1]), Vec2::new(minor[0], minor[1]) * ratio);
        if u == Vec2::ZERO && v == Vec2::ZERO {
            self.left_out(&codes::NO_EXTENT, kind, &common);
            return Ok(());
        }
        let sweep = positive_sweep(end - start, TAU);
        let mut path = self.out.path();
        path.arc(centre, u, v, start, sweep);
        if sweep >= TAU {
            path.close();
        }
        let path = path.finish()?;
        self.push_line(kind, &common, path)
    }

    pub(super) fn spline(&mut self, kind: Symbol) -> Result<(), ReadError> {
        let mut common = Common::new();
        let mut curve = RawSpline::default();
        let mut in_spline = true;
        while let Some(tag) = self.field() {
            match tag.code {
                // A helix repeats group codes for its axis behind its own subclass mark.
                100 => in_spline = tag.value != b"AcDbHelix",
                _ if !in_spline => self.common(&mut common, tag),
                10..=13 | 20..=23 => {
                    let value = self.real(tag);
                    curve.coordinate(tag.code, value);
                }
                40 => {
                    let knot = self.real(tag);
                    curve.knots.push(knot);
                }
                41 => {
                    let weight = self.real(tag);
                    curve.weights.push(weight);
                }
                70 => curve.closed = self.integer(tag) & 1 != 0,
                71 => curve.degree = self.integer(tag),
                _ => self.common(&mut common, tag),
            }
        }
        if self.is_elsewhere(kind, &common) {
            return Ok(());
        }
        if !curve.is_finite() {
            self.left_out(&codes::NOT_FINITE, kind, &common);
            return Ok(());
        }
        let closed = curve.closed;
        let (shape, repaired) = curve.solve();
        if repaired {
            let handle = common.handle;
            self.fixed(&codes::SPLINE_REPAIRED, || format!("spline {handle:X}"));
        }
        let mut path = self.out.path();
        match shape {
            Curve::Spline(spline) => {
                path.spline(spline);
                if closed {
                    path.close();
                }
            }
            Curve::Through { points, start, end } => write_fit_curve(&mut path, &points, start, end, closed),
            Curve::Nothing => {
                self.left_out(&codes::NO_EXTENT, kind, &common);
                return Ok(());
            }
        }
        let path = path.finish()?;
        self.push_line(kind, &common, path)
    }
}

/// A difference of angles as a sweep in `(0, full]`; none at all is a full turn.
pub(super) fn positive_sweep(difference: f64, full: f64) -> f64 {
    let sweep = difference.rem_euclid(full);
    // Whole turns that are off by a rounding error must not become slivers, nor stay open.
    if sweep < full * 1e-12 || sweep > full * (1.0 - 1e-12) { full } else { sweep }
}

fn unit_or_up(normal: [f64; 3]) -> [f64; 3] {
    let length = normal.iter().map(|part| part * part).sum::<f64>().sqrt();
    if length.is_finite() && length > 1e-12 { normal.map(|part| part / length) } else { [0.0, 0.0, 1.0] }
}

/// A spline as its tags say it.
#[derive(Debug, Default)]
pub(super) struct RawSpline {
    pub(super) degree: i64,
    pub(super) closed: bool,
    pub(super) knots: Vec<f64>,
    pub(super) weights: Vec<f64>,
    pub(super) control: Vec<Point>,
    pub(super) fit: Vec<Point>,
    pub(super) start_tangent: Option<Vec2>,
    pub(super) end_tangent: Option<Vec2>,
}

/// What a spline's tags amount to.
#[derive(Debug, PartialEq)]
pub(super) enum Curve {
    /// A B-spline whose counts fit.
    Spline(Spline),
    /// A curve through points, perhaps with directions at its ends.
    Through { points: Vec<Point>, start: Option<Vec2>, end: Option<Vec2> },
    /// Too little to draw.
    Nothing,
}

impl RawSpline {
    /// Takes a coordinate of a control point (10), a fit point (11) or an end tangent (12, 13).
    pub(super) fn coordinate(&mut self, code: i32, value: f64) {
        match code {
            10 => self.control.push(Point::new(value, 0.0)),
            11 => self.fit.push(Point::new(value, 0.0)),
            12 => self.start_tangent = Some(Vec2::new(value, 0.0)),
            13 => self.end_tangent = Some(Vec2::new(value, 0.0)),
            20 => set_y(self.control.last_mut(), value),
            21 => set_y(self.fit.last_mut(), value),
            22 => self.start_tangent = self.start_tangent.map(|tangent| Vec2::new(tangent.x, value)),
            23 => self.end_tangent = self.end_tangent.map(|tangent| Vec2::new(tangent.x, value)),
            _ => {}
        }
    }

    fn is_finite(&self) -> bool {
        self.control.iter().chain(&self.fit).all(|point| point.is_finite())
    }

    /// Makes the counts fit; says whether anything had to be replaced.
    pub(super) fn solve(mut self) -> (Curve, bool) {
        if self.control.len() < 2 {
            let points = if self.fit.len() >= 2 { self.fit } else { return (Curve::Nothing, false) };
            let (start, end) = (self.start_tangent, self.end_tangent);
            return (Curve::Through { points, start, end }, false);
        }
        let first = self.control.first().copied();
        if self.control.iter().all(|point| Some(*point) == first) {
            return (Curve::Nothing, false);
        }
        let mut repaired = false;
        let most = (self.control.len() - 1).min(MAX_DEGREE);
        let degree = match usize::try_from(self.degree) {
            Ok(degree) if (1..=most).contains(&degree) => degree,
            _ => {
                repaired = true;
                self.knots.clear();
                most.min(3)
            }
        };
        let all_equal = self.weights.windows(2).all(|pair| pair[0] == pair[1]);
        let sound = self.weights.iter().all(|weight| weight.is_finite() && *weight > 0.0);
        if self.weights.len() != self.control.len() || all_equal || !sound {
            repaired |= !(self.weights.is_empty() || all_equal && sound);
            self.weights.clear();
        }
        if !knots_fit(&mut self.knots, self.control.len(), degree) {
            repaired = true;
            self.knots = clamped_knots(self.control.len(), degree);
        }
        let spline = Spline { degree: degree as u32, control: self.control, weights: self.weights, knots: self.knots };
        (Curve::Spline(spline), repaired)
    }
}

fn set_y(point: Option<&mut Point>, y: f64) {
    if let Some(point) = point {
        point.y = y;
    }
}

/// Whether the knots can be used: as many as needed and with a domain. Tiny steps back are smoothed.
fn knots_fit(knots: &mut [f64], num_control: usize, degree: usize) -> bool {
    if knots.len() != num_control + degree + 1 || knots.iter().any(|knot| !knot.is_finite()) {
        return false;
    }
    let (low, high) = (knots[degree], knots[num_control]);
    let slack = (high - low).abs() * 1e-9;
    let mut highest = knots[0];
    for knot in knots.iter_mut() {
        if *knot < highest - slack {
            return false;
        }
        highest = highest.max(*knot);
        *knot = highest;
    }
    knots[num_control] > knots[degree]
}

/// Knots of a curve from its first to its last control point, evenly spaced between.
fn clamped_knots(num_control: usize, degree: usize) -> Vec<f64> {
    let last = num_control - degree;
    (0..num_control + degree + 1).map(|index| index.saturating_sub(degree).min(last) as f64).collect()
}

/// Writes the smooth curve through `points` as cubic Béziers: a C² cubic spline over chord lengths, with the given
/// end directions, else with no curvature at its ends; a closed one is smooth everywhere.
pub(super) fn write_fit_curve(
    path: &mut PathWriter<'_>,
    points: &[Point],
    start: Option<Vec2>,
    end: Option<Vec2>,
    closed: bool,
) {
    let Some(first) = points.first().copied() else { return };
    path.move_to(first);
    write_fit_segments(path, points, start, end, closed);
    if closed {
        path.close();
    }
}

/// The segments of [`write_fit_curve`], from a current point that is the first of `points`.
pub(super) fn write_fit_segments(
    path: &mut PathWriter<'_>,
    points: &[Point],
    start: Option<Vec2>,
    end: Option<Vec2>,
    closed: bool,
) {
    let mut points: Vec<Point> = points.to_vec();
    points.dedup();
    let Some(first) = points.first().copied() else { return };
    if closed && points.len() > 2 && points.last() == Some(&first) {
        points.pop();
    }
    let periodic = closed && points.len() > 2;
    if periodic {
        points.push(first);
    }
    let lengths: Vec<f64> = points.windows(2).map(|pair| (pair[1] - pair[0]).hypot()).collect();
    let slopes = if periodic {
        periodic_slopes(&points, &lengths)
    } else {
        let direction = |tangent: Option<Vec2>| {
            tangent.filter(|tangent| tangent.is_finite() && tangent.hypot() > 1e-12).map(|tangent| tangent.normalize())
        };
        open_slopes(&points, &lengths, direction(start), direction(end))
    };
    for ((ends, length), slopes) in points.windows(2).zip(&lengths).zip(slopes.windows(2)) {
        let reach = *length / 3.0;
        path.cubic_to(ends[0] + slopes[0] * reach, ends[1] - slopes[1] * reach, ends[1]);
    }
}

/// First derivatives at the points of an open cubic spline, by the tridiagonal system of continuous curvature.
fn open_slopes(points: &[Point], lengths: &[f64], start: Option<Vec2>, end: Option<Vec2>) -> Vec<Vec2> {
    let count = points.len();
    if count < 2 {
        return vec![Vec2::ZERO; count];
    }
    let (mut lower, mut diagonal, mut upper) = (vec![0.0; count], vec![1.0; count], vec![0.0; count]);
    let mut right = vec![Vec2::ZERO; count];
    let chord = |index: usize| (points[index + 1] - points[index]) / lengths[index];
    match start {
        Some(direction) => right[0] = direction,
        None => {
            diagonal[0] = 2.0;
            upper[0] = 1.0;
            right[0] = chord(0) * 3.0;
        }
    }
    for index in 1..count - 1 {
        let (before, after) = (lengths[index - 1], lengths[index]);
        lower[index] = after;
        diagonal[index] = 2.0 * (before + after);
        upper[index] = before;
        right[index] = (chord(index - 1) * after + chord(index) * before) * 3.0;
    }
    match end {
        Some(direction) => right[count - 1] = direction,
        None => {
            lower[count - 1] = 1.0;
            diagonal[count - 1] = 2.0;
            right[count - 1] = chord(count - 2) * 3.0;
        }
    }
    solve_tridiagonal(&lower, &diagonal, &upper, right)
}

/// First derivatives of a closed spline; the last point repeats the first. The two corner entries of the cyclic
/// system are taken out by the Sherman–Morrison formula.
fn periodic_slopes(points: &[Point], lengths: &[f64]) -> Vec<Vec2> {
    let count = lengths.len();
    let chord = |index: usize| (points[index + 1] - points[index]) / lengths[index];
    let before = |index: usize| if index == 0 { count - 1 } else { index - 1 };
    let lower: Vec<f64> = lengths.to_vec();
    let upper: Vec<f64> = (0..count).map(|index| lengths[before(index)]).collect();
    let mut diagonal: Vec<f64> = (0..count).map(|index| 2.0 * (lengths[before(index)] + lengths[index])).collect();
    let right: Vec<Vec2> = (0..count)
        .map(|index| (chord(before(index)) * lengths[index] + chord(index) * lengths[before(index)]) * 3.0)
        .collect();
    let (corner_low, corner_high) = (upper[count - 1], lower[0]);
    let gamma = -diagonal[0];
    diagonal[0] -= gamma;
    diagonal[count - 1] -= corner_low * corner_high / gamma;
    let plain = solve_tridiagonal(&lower, &diagonal, &upper, right);
    let mut column = vec![Vec2::ZERO; count];
    column[0].x = gamma;
    column[count - 1].x += corner_low;
    let correction = solve_tridiagonal(&lower, &diagonal, &upper, column);
    let ratio = corner_high / gamma;
    let scale = 1.0 / (1.0 + correction[0].x + ratio * correction[count - 1].x);
    let factor = (plain[0] + plain[count - 1] * ratio) * scale;
    let mut slopes: Vec<Vec2> =
        plain.iter().zip(&correction).map(|(plain, correction)| *plain - factor * correction.x).collect();
    slopes.push(slopes[0]);
    slopes
}

fn solve_tridiagonal(lower: &[f64], diagonal: &[f64], upper: &[f64], mut right: Vec<Vec2>) -> Vec<Vec2> {
    let count = right.len();
    let mut factors = vec![0.0; count];
    let mut pivot = diagonal[0];
    right[0] /= pivot;
    for index in 1..count {
        factors[index] = upper[index - 1] / pivot;
        pivot = diagonal[index] - lower[index] * factors[index];
        right[index] = (right[index] - right[index - 1] * lower[index]) / pivot;
    }
    for index in (0..count - 1).rev() {
        right[index] = right[index] - right[index + 1] * factors[index + 1];
    }
    right
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: Vec2, b: Vec2) -> bool {
        (a - b).hypot() < 1e-9
    }

    #[test]
    fn sweeps_are_positive_and_at_most_a_turn() {
        assert_eq!(positive_sweep(90.0, 360.0), 90.0);
        assert_eq!(positive_sweep(-90.0, 360.0), 270.0);
        assert_eq!(positive_sweep(0.0, 360.0), 360.0);
        assert_eq!(positive_sweep(TAU - 1e-15, TAU), TAU);
    }

    #[test]
    fn points_on_a_line_make_a_straight_curve() {
        let points = [Point::new(0.0, 0.0), Point::new(1.0, 1.0), Point::new(4.0, 4.0)];
        let lengths: Vec<f64> = points.windows(2).map(|pair| (pair[1] - pair[0]).hypot()).collect();
        for slope in open_slopes(&points, &lengths, None, None) {
            assert!(close(slope, Vec2::new(0.5f64.sqrt(), 0.5f64.sqrt())), "{slope:?}");
        }
    }

    #[test]
    fn a_closed_curve_through_a_square_is_symmetric() {
        let mut points = vec![Point::new(1.0, 0.0), Point::new(0.0, 1.0), Point::new(-1.0, 0.0), Point::new(0.0, -1.0)];
        points.push(points[0]);
        let lengths: Vec<f64> = points.windows(2).map(|pair| (pair[1] - pair[0]).hypot()).collect();
        let slopes = periodic_slopes(&points, &lengths);
        assert_eq!(slopes.len(), 5);
        for (point, slope) in points.iter().zip(&slopes) {
            // At every corner the curve runs at a right angle to the radius, counter-clockwise.
            assert!(slope.dot(point.to_vec2()).abs() < 1e-9 && point.to_vec2().cross(*slope) > 0.5, "{slope:?}");
        }
    }

    #[test]
    fn splines_are_made_to_fit() {
        let control: Vec<Point> = (0..5).map(|i| Point::new(f64::from(i), f64::from(i * i))).collect();
        let sound = RawSpline {
            degree: 3,
            control: control.clone(),
            knots: vec![-3.4e-13, 0.0, 0.0, 0.0, 0.5, 1.0, 1.0, 1.0, 1.0],
            ..RawSpline::default()
        };
        let (curve, repaired) = sound.solve();
        assert!(!repaired);
        assert!(matches!(curve, Curve::Spline(spline) if spline.knots.len() == 9 && spline.degree == 3));
        let missing = RawSpline { degree: 3, control: control.clone(), knots: vec![0.0; 3], ..RawSpline::default() };
        let (curve, repaired) = missing.solve();
        assert!(repaired);
        let expected = vec![0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 2.0, 2.0, 2.0];
        assert!(matches!(curve, Curve::Spline(spline) if spline.knots == expected));
        let high = RawSpline { degree: 9, control: control[..2].to_vec(), ..RawSpline::default() };
        assert!(matches!(high.solve(), (Curve::Spline(spline), true) if spline.degree == 1));
        assert_eq!(RawSpline::default().solve(), (Curve::Nothing, false));
    }
}
