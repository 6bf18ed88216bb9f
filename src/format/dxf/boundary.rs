//! Edges → rings: puts the edges of a hatch boundary end to end.
//!
//! Edges are taken in the order they come, turned round where that makes them meet; if the next one does not meet,
//! a few of the following are tried. A chain that has come back to its start is a ring, and the next edge begins
//! another. What does not meet at all is joined by a straight line and counted as a gap; joints within
//! [`MEETING`] of the boundary's size are rounding errors and not worth a word.

use crate::drawing::{Point, Spline, Vec2};

/// Ends closer than this part of the boundary's size meet.
const MEETING: f64 = 1e-6;

/// How many edges ahead are tried when the next one does not meet: enough for sorting slips, and bounded.
const LOOK_AHEAD: usize = 64;

/// The form of an edge in its plane.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum EdgeShape {
    /// Straight.
    Line(Point, Point),
    /// Elliptical arc `centre + u·cos t + v·sin t`, t from `start` over `sweep`, radians.
    Arc { centre: Point, u: Vec2, v: Vec2, start: f64, sweep: f64 },
    /// B-spline.
    Spline(Spline),
    /// Curve through points.
    Fit { points: Vec<Point>, start: Option<Vec2>, end: Option<Vec2>, closed: bool },
}

/// An edge with its ends.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Edge {
    pub(super) shape: EdgeShape,
    pub(super) start: Point,
    pub(super) end: Point,
}

/// Joints that did not meet.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(super) struct Gaps {
    pub(super) count: u64,
    pub(super) widest: f64,
}

impl Edge {
    pub(super) fn new(shape: EdgeShape) -> Self {
        let (start, end) = match &shape {
            EdgeShape::Line(from, to) => (*from, *to),
            EdgeShape::Arc { centre, u, v, start, sweep } => {
                let at = |parameter: f64| *centre + *u * parameter.cos() + *v * parameter.sin();
                let is_full = sweep.abs() >= std::f64::consts::TAU * (1.0 - 1e-9);
                (at(*start), if is_full { at(*start) } else { at(*start + *sweep) })
            }
            EdgeShape::Spline(spline) => spline_ends(spline),
            EdgeShape::Fit { points, closed, .. } => {
                let first = points.first().copied().unwrap_or_default();
                (first, if *closed { first } else { points.last().copied().unwrap_or_default() })
            }
        };
        Self { shape, start, end }
    }

    fn reverse(&mut self) {
        std::mem::swap(&mut self.start, &mut self.end);
        match &mut self.shape {
            EdgeShape::Line(from, to) => std::mem::swap(from, to),
            EdgeShape::Arc { start, sweep, .. } => {
                *start += *sweep;
                *sweep = -*sweep;
            }
            EdgeShape::Spline(spline) => {
                spline.control.reverse();
                spline.weights.reverse();
                let ends = spline.knots.first().copied().unwrap_or(0.0) + spline.knots.last().copied().unwrap_or(0.0);
                spline.knots.reverse();
                spline.knots.iter_mut().for_each(|knot| *knot = ends - *knot);
            }
            EdgeShape::Fit { points, start, end, .. } => {
                points.reverse();
                std::mem::swap(start, end);
                for tangent in [start, end] {
                    *tangent = tangent.map(|tangent| -tangent);
                }
            }
        }
    }
}

/// First and last point of the curve, by de Boor's recurrence at the ends of its domain.
fn spline_ends(spline: &Spline) -> (Point, Point) {
    let degree = spline.degree as usize;
    let count = spline.control.len();
    let at = |parameter: Option<&f64>, span: usize| {
        parameter.and_then(|parameter| de_boor(spline, *parameter, span)).unwrap_or_default()
    };
    (at(spline.knots.get(degree), degree), at(spline.knots.get(count), count - 1))
}

fn de_boor(spline: &Spline, parameter: f64, span: usize) -> Option<Point> {
    let degree = spline.degree as usize;
    // Homogeneous coordinates, so that weights need no special case.
    let mut points: Vec<[f64; 3]> = (0..=degree)
        .map(|offset| {
            let index = (span + offset).checked_sub(degree)?;
            let point = spline.control.get(index)?;
            let weight = spline.weights.get(index).copied().unwrap_or(1.0);
            Some([point.x * weight, point.y * weight, weight])
        })
        .collect::<Option<_>>()?;
    for level in 1..=degree {
        for offset in (level..=degree).rev() {
            let low = *spline.knots.get((span + offset).checked_sub(degree)?)?;
            let high = *spline.knots.get(span + offset + 1 - level)?;
            let part = if high > low { (parameter - low) / (high - low) } else { 0.0 };
            for axis in 0..3 {
                points[offset][axis] = points[offset - 1][axis] * (1.0 - part) + points[offset][axis] * part;
            }
        }
    }
    let [x, y, weight] = points[degree];
    (weight != 0.0).then(|| Point::new(x / weight, y / weight))
}

/// Puts edges into rings; each edge begins where the one before ends, up to a gap that was counted.
pub(super) fn rings(edges: Vec<Edge>, gaps: &mut Gaps) -> Vec<Vec<Edge>> {
    let size = extent(&edges);
    let meeting = size * MEETING;
    let meets = |a: Point, b: Point| (a - b).hypot() <= meeting;
    let mut rings = Vec::new();
    let mut waiting: std::collections::VecDeque<Edge> = edges.into();
    while let Some(first) = waiting.pop_front() {
        let mut ring = vec![first];
        loop {
            let (start, end) = (ring[0].start, ring[ring.len() - 1].end);
            // A closed edge alone (a full circle) is a ring; a chain is one when it has come back.
            if meets(start, end) && (ring.len() > 1 || !is_short(&ring[0], meeting)) {
                break;
            }
            let Some(mut next) = take_next(&mut waiting, &mut ring, &meets) else {
                // Whatever is open now is closed by a straight line.
                note_gap(gaps, start, end, meeting);
                break;
            };
            let end = ring[ring.len() - 1].end;
            if !meets(end, next.start) {
                if meets(end, next.end) || (end - next.end).hypot() < (end - next.start).hypot() {
                    next.reverse();
                }
                note_gap(gaps, end, next.start, meeting);
            }
            if meets(end, next.start) {
                // A rounding error between two edges is no edge of its own.
                next.start = end;
            }
            ring.push(next);
        }
        rings.push(ring);
    }
    rings
}

/// The next edge of the chain: the first one if it meets, else one of the following that does, else the first one
/// anyway. May turn round a chain of one edge, because its direction is not known before it meets another.
fn take_next(
    waiting: &mut std::collections::VecDeque<Edge>,
    ring: &mut [Edge],
    meets: &impl Fn(Point, Point) -> bool,
) -> Option<Edge> {
    let touches = |end: Point, edge: &Edge| meets(end, edge.start) || meets(end, edge.end);
    let end = ring[ring.len() - 1].end;
    if touches(end, waiting.front()?) {
        return waiting.pop_front();
    }
    if let [only] = ring
        && touches(only.start, waiting.front()?)
    {
        only.reverse();
        return waiting.pop_front();
    }
    let found = waiting.iter().take(LOOK_AHEAD).position(|edge| touches(end, edge));
    waiting.remove(found.unwrap_or(0))
}

fn note_gap(gaps: &mut Gaps, from: Point, to: Point, meeting: f64) {
    let width = (to - from).hypot();
    if width > meeting {
        gaps.count += 1;
        gaps.widest = gaps.widest.max(width);
    }
}

/// Whether an edge that begins where it ends is only a point, and no ring of its own.
fn is_short(edge: &Edge, meeting: f64) -> bool {
    match &edge.shape {
        EdgeShape::Line(..) => true,
        EdgeShape::Arc { u, v, sweep, .. } => u.hypot().max(v.hypot()) * sweep.abs() <= meeting,
        EdgeShape::Spline(spline) => spline.control.iter().all(|point| (*point - edge.start).hypot() <= meeting),
        EdgeShape::Fit { points, .. } => points.iter().all(|point| (*point - edge.start).hypot() <= meeting),
    }
}

/// The larger side of the box around all ends and centres.
fn extent(edges: &[Edge]) -> f64 {
    let mut low = Point::new(f64::INFINITY, f64::INFINITY);
    let mut high = Point::new(f64::NEG_INFINITY, f64::NEG_INFINITY);
    let mut include = |point: Point| {
        low = Point::new(low.x.min(point.x), low.y.min(point.y));
        high = Point::new(high.x.max(point.x), high.y.max(point.y));
    };
    for edge in edges {
        include(edge.start);
        include(edge.end);
        if let EdgeShape::Arc { centre, u, v, .. } = &edge.shape {
            let reach = Vec2::new(u.x.hypot(v.x), u.y.hypot(v.y));
            include(*centre - reach);
            include(*centre + reach);
        }
    }
    let size = (high.x - low.x).max(high.y - low.y);
    if size.is_finite() { size } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(x0: f64, y0: f64, x1: f64, y1: f64) -> Edge {
        Edge::new(EdgeShape::Line(Point::new(x0, y0), Point::new(x1, y1)))
    }

    fn chain(ring: &[Edge]) -> Vec<(f64, f64)> {
        ring.iter().map(|edge| (edge.start.x, edge.start.y)).collect()
    }

    #[test]
    fn edges_in_any_direction_and_order_make_a_ring() {
        let square = [(0.0, 0.0), (10.0, 0.0), (10.0, 10.0), (0.0, 10.0)];
        for edges in [
            vec![
                line(0.0, 0.0, 10.0, 0.0),
                line(10.0, 0.0, 10.0, 10.0),
                line(10.0, 10.0, 0.0, 10.0),
                line(0.0, 10.0, 0.0, 0.0),
            ],
            vec![
                line(0.0, 0.0, 10.0, 0.0),
                line(10.0, 10.0, 10.0, 0.0),
                line(0.0, 10.0, 10.0, 10.0),
                line(0.0, 10.0, 0.0, 0.0),
            ],
            vec![
                line(0.0, 0.0, 10.0, 0.0),
                line(10.0, 10.0, 0.0, 10.0),
                line(0.0, 10.0, 0.0, 0.0),
                line(10.0, 0.0, 10.0, 10.0),
            ],
        ] {
            let mut gaps = Gaps::default();
            let rings = rings(edges, &mut gaps);
            assert_eq!((rings.len(), gaps.count), (1, 0));
            assert_eq!(chain(&rings[0]), square);
        }
    }

    #[test]
    fn the_first_edge_may_be_the_wrong_way_round() {
        let mut gaps = Gaps::default();
        let rings =
            rings(vec![line(10.0, 0.0, 0.0, 0.0), line(10.0, 0.0, 5.0, 8.0), line(5.0, 8.0, 0.0, 0.0)], &mut gaps);
        assert_eq!((rings.len(), gaps.count), (1, 0));
        assert_eq!(chain(&rings[0]), [(0.0, 0.0), (10.0, 0.0), (5.0, 8.0)]);
    }

    #[test]
    fn two_loops_in_one_path_are_two_rings() {
        let circle = |x: f64| {
            Edge::new(EdgeShape::Arc {
                centre: Point::new(x, 0.0),
                u: Vec2::new(1.0, 0.0),
                v: Vec2::new(0.0, 1.0),
                start: 0.0,
                sweep: std::f64::consts::TAU,
            })
        };
        let mut gaps = Gaps::default();
        assert_eq!(rings(vec![circle(0.0), circle(10.0)], &mut gaps).len(), 2);
        assert_eq!(gaps.count, 0);
    }

    #[test]
    fn gaps_are_closed_and_counted() {
        let mut gaps = Gaps::default();
        let open = vec![line(0.0, 0.0, 10.0, 0.0), line(10.0, 0.5, 10.0, 10.0), line(10.0, 10.0, 0.0, 0.2)];
        assert_eq!(rings(open, &mut gaps).len(), 1);
        assert_eq!((gaps.count, gaps.widest), (2, 0.5));
    }

    #[test]
    fn reversed_splines_end_where_they_began() {
        let spline = Spline {
            degree: 2,
            control: vec![Point::ZERO, Point::new(1.0, 2.0), Point::new(3.0, 2.0), Point::new(4.0, 0.0)],
            weights: vec![1.0, 0.5, 2.0, 1.0],
            knots: vec![0.0, 0.0, 0.0, 0.3, 1.0, 1.0, 1.0],
        };
        let mut edge = Edge::new(EdgeShape::Spline(spline));
        assert_eq!((edge.start, edge.end), (Point::ZERO, Point::new(4.0, 0.0)));
        edge.reverse();
        let again = Edge::new(edge.shape.clone());
        assert!((again.start - edge.start).hypot() < 1e-12 && (again.end - edge.end).hypot() < 1e-12);
    }
}
