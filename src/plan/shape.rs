//! Areas in metres: measures, containment, a point inside, simplification, and finding the area under a point.

use rstar::primitives::{GeomWithData, Rectangle};
use rstar::{AABB, RTree};

use super::Polygon;
use super::input::bounds;
use crate::drawing::Point;

impl Polygon {
    /// Square metres, holes subtracted.
    pub fn area(&self) -> f64 {
        signed_area(&self.shell).abs() - self.holes.iter().map(|hole| signed_area(hole).abs()).sum::<f64>()
    }

    /// Length of the outer ring, metres.
    pub fn perimeter(&self) -> f64 {
        super::input::path_length(&self.shell, true)
    }

    /// Whether a point lies inside; points on the rim may fall either way.
    pub fn contains(&self, point: Point) -> bool {
        inside(&self.shell, point) && !self.holes.iter().any(|hole| inside(hole, point))
    }

    /// Low and high corner; `None` without points.
    pub fn bounds(&self) -> Option<(Point, Point)> {
        bounds(&self.shell)
    }

    /// A point well inside: the middle of the widest of several level chords, unless the rim passes close by. The
    /// first vertex if there is none.
    pub fn point_inside(&self) -> Point {
        let fallback = self.shell.first().copied().unwrap_or(Point::ZERO);
        let Some((low, high)) = self.bounds() else { return fallback };
        let mut best: Option<(f64, Point)> = None;
        for part in [0.5, 0.35, 0.65, 0.2, 0.8, 0.42, 0.58, 0.1, 0.9, 0.03, 0.97] {
            let y = low.y + (high.y - low.y) * part;
            let mut crossings: Vec<f64> = Vec::new();
            for ring in std::iter::once(&self.shell).chain(&self.holes) {
                for (a, b) in ring_edges(ring) {
                    if (a.y > y) != (b.y > y) {
                        crossings.push(a.x + (b.x - a.x) * (y - a.y) / (b.y - a.y));
                    }
                }
            }
            crossings.sort_by(f64::total_cmp);
            for pair in crossings.chunks_exact(2) {
                // Chords near the middle are better places than slightly longer ones at the rim.
                let central = 1.0 - (part - 0.5f64).abs();
                let is_better = |width: f64| width > 0.0 && best.is_none_or(|known| width * central > known.0 * 1.05);
                let width = pair[1] - pair[0];
                if is_better(width) {
                    let middle = Point::new(0.5 * (pair[0] + pair[1]), y);
                    let width = width.min(4.0 * self.clearance(middle));
                    if is_better(width) {
                        best = Some((width * central, middle));
                    }
                }
            }
        }
        best.map_or(fallback, |(_, point)| point)
    }

    /// Distance from a point to the nearest place of the rim.
    fn clearance(&self, point: Point) -> f64 {
        let rings = std::iter::once(&self.shell).chain(&self.holes);
        rings.flat_map(|ring| ring_edges(ring)).map(|(a, b)| distance_to(a, b, point)).fold(f64::INFINITY, f64::min)
    }
}

/// Distance from a point to the straight piece from `a` to `b`.
fn distance_to(a: Point, b: Point, point: Point) -> f64 {
    let way = b - a;
    let along = ((point - a).dot(way) / way.hypot2().max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
    (a + way * along).distance(point)
}

/// Edges of a ring, the closing one included.
pub(crate) fn ring_edges(ring: &[Point]) -> impl Iterator<Item = (Point, Point)> + '_ {
    ring.iter().copied().zip(ring.iter().copied().cycle().skip(1))
}

/// Signed area of a ring, positive counter-clockwise.
pub(crate) fn signed_area(ring: &[Point]) -> f64 {
    super::lines::ring_area(ring)
}

fn inside(ring: &[Point], point: Point) -> bool {
    let mut odd = false;
    for (a, b) in ring_edges(ring) {
        if (a.y > point.y) != (b.y > point.y) && point.x < a.x + (b.x - a.x) * (point.y - a.y) / (b.y - a.y) {
            odd = !odd;
        }
    }
    odd
}

/// Takes out repeated vertices and such as lie on the line of their neighbours within `tolerance`.
pub(crate) fn simplified(ring: &[Point], tolerance: f64) -> Vec<Point> {
    let mut kept: Vec<Point> = Vec::with_capacity(ring.len());
    let count = ring.len();
    for (number, &point) in ring.iter().enumerate() {
        let before = kept.last().copied().unwrap_or(ring[(number + count - 1) % count]);
        let after = ring[(number + 1) % count];
        let way = after - before;
        let length = way.hypot();
        let spike = length <= tolerance;
        let off = if spike { before.distance(point) } else { (way.cross(point - before) / length).abs() };
        let between = way.dot(point - before) > 0.0 && way.dot(after - point) > 0.0;
        if point.distance(before) <= tolerance && !kept.is_empty() || (!spike && off <= tolerance && between) {
            continue;
        }
        kept.push(point);
    }
    if kept.len() < 3 { ring.to_vec() } else { kept }
}

/// Finds the areas under a point.
#[derive(Debug)]
pub(crate) struct Locator {
    tree: RTree<GeomWithData<Rectangle<[f64; 2]>, u32>>,
}

impl Locator {
    pub(crate) fn build<'a>(areas: impl Iterator<Item = (u32, &'a Polygon)>) -> Self {
        let boxes = areas
            .filter_map(|(number, area)| {
                let (low, high) = area.bounds()?;
                Some(GeomWithData::new(Rectangle::from_corners([low.x, low.y], [high.x, high.y]), number))
            })
            .collect();
        Self { tree: RTree::bulk_load(boxes) }
    }

    /// Numbers of areas whose box holds the point, ascending.
    pub(crate) fn candidates(&self, point: Point) -> Vec<u32> {
        let mut found: Vec<u32> = self
            .tree
            .locate_in_envelope_intersecting(AABB::from_point([point.x, point.y]))
            .map(|entry| entry.data)
            .collect();
        found.sort_unstable();
        found
    }

    /// Numbers of areas whose box meets the box, ascending.
    pub(crate) fn in_box(&self, low: Point, high: Point) -> Vec<u32> {
        let mut found: Vec<u32> = self
            .tree
            .locate_in_envelope_intersecting(AABB::from_corners([low.x, low.y], [high.x, high.y]))
            .map(|entry| entry.data)
            .collect();
        found.sort_unstable();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(points: &[(f64, f64)]) -> Vec<Point> {
        points.iter().map(|&(x, y)| Point::new(x, y)).collect()
    }

    #[test]
    fn the_point_inside_a_horseshoe_is_inside() {
        let shape = Polygon {
            shell: ring(&[(0., 0.), (10., 0.), (10., 10.), (9., 10.), (9., 1.), (1., 1.), (1., 10.), (0., 10.)]),
            holes: vec![],
        };
        assert!(shape.contains(shape.point_inside()));
        assert!((shape.area() - 28.0).abs() < 1e-9);
    }

    #[test]
    fn the_point_inside_a_ring_is_not_on_its_rim() {
        let square = |low: f64, high: f64| ring(&[(low, low), (high, low), (high, high), (low, high)]);
        let shape = Polygon { shell: square(0.0, 20.0), holes: vec![square(2.0, 18.0)] };
        assert!(shape.clearance(shape.point_inside()) > 0.5);
    }

    #[test]
    fn vertices_on_a_straight_side_go() {
        let square = ring(&[(0., 0.), (5., 0.), (10., 0.), (10., 10.), (5., 10.), (0., 10.), (0., 4.)]);
        assert_eq!(simplified(&square, 1e-6).len(), 4);
    }
}
