//! Areas in metres: measures, containment, a point inside, simplification, and finding the area under a point.

use std::cell::OnceCell;

use rstar::primitives::{GeomWithData, Rectangle};
use rstar::{AABB, RTree};

use super::Polygon;
use super::input::bounds;
use crate::drawing::Point;
use crate::format::{Interrupt, Pace};

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
    is_odd(ring_edges(ring), point)
}

/// Whether a ray from the point to the right meets an odd number of edges.
fn is_odd(edges: impl Iterator<Item = (Point, Point)>, point: Point) -> bool {
    let mut odd = false;
    for (a, b) in edges {
        if (a.y > point.y) != (b.y > point.y) && point.x < a.x + (b.x - a.x) * (point.y - a.y) / (b.y - a.y) {
            odd = !odd;
        }
    }
    odd
}

/// The edges of a ring by rows, so that a point is compared with those of its own row only.
#[derive(Debug)]
struct Rows {
    low: f64,
    rows_per_metre: f64,
    starts: Vec<u32>,
    /// Numbers of edges, row by row.
    edges: Vec<u32>,
}

impl Rows {
    /// Rings with no more edges than this need none.
    const FEW: usize = 64;

    fn of(ring: &[Point]) -> Option<Self> {
        let count = ring.len();
        let (low, high) = bounds(ring).filter(|_| count > Self::FEW)?;
        // Rows as high as edges are on average: an edge lies in about two of them.
        let sum: f64 = ring_edges(ring).map(|(a, b)| (b.y - a.y).abs()).sum();
        let height = high.y - low.y;
        let num_rows = ((height * count as f64 / sum) as usize).clamp(1, count);
        let mut rows = Self {
            low: low.y,
            rows_per_metre: num_rows as f64 / height,
            starts: vec![0; num_rows + 1],
            edges: Vec::new(),
        };
        let span = |rows: &Self, (a, b): (Point, Point)| rows.row(a.y.min(b.y))..=rows.row(a.y.max(b.y));
        for edge in ring_edges(ring) {
            for row in span(&rows, edge) {
                rows.starts[row + 1] += 1;
            }
        }
        for row in 0..num_rows {
            rows.starts[row + 1] += rows.starts[row];
        }
        let mut filled = rows.starts.clone();
        rows.edges = vec![0; rows.starts[num_rows] as usize];
        for (number, edge) in (0..).zip(ring_edges(ring)) {
            for row in span(&rows, edge) {
                rows.edges[filled[row] as usize] = number;
                filled[row] += 1;
            }
        }
        Some(rows)
    }

    /// Grows with `y`, so that what spans a height lies in its row.
    fn row(&self, y: f64) -> usize {
        (((y - self.low) * self.rows_per_metre) as usize).min(self.starts.len() - 2)
    }

    /// Numbers of the edges in the row of a place.
    fn beside(&self, point: Point) -> &[u32] {
        let row = self.row(point.y);
        &self.edges[self.starts[row] as usize..self.starts[row + 1] as usize]
    }

    fn is_inside(&self, ring: &[Point], point: Point) -> bool {
        let edges = self.beside(point);
        let ends = |&edge: &u32| (ring[edge as usize], ring[(edge as usize + 1) % ring.len()]);
        is_odd(edges.iter().map(ends), point)
    }
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
pub(crate) struct Locator<'a> {
    /// By place in `areas`.
    tree: RTree<GeomWithData<Rectangle<[f64; 2]>, u32>>,
    areas: Vec<Located<'a>>,
}

#[derive(Debug)]
struct Located<'a> {
    number: u32,
    area: &'a Polygon,
    /// Of shell and holes, from the first time they are asked for.
    rows: OnceCell<Vec<Option<Rows>>>,
}

impl Located<'_> {
    /// The same as [`Polygon::contains`], in steps of the edges that are looked at.
    fn contains(&self, point: Point, pace: &Pace<'_>) -> Result<bool, Interrupt> {
        let rings = || std::iter::once(&self.area.shell).chain(&self.area.holes);
        let rows = match self.rows.get() {
            Some(rows) => rows,
            None => {
                pace.steps(4 * rings().map(Vec::len).sum::<usize>())?;
                self.rows.get_or_init(|| rings().map(|ring| Rows::of(ring)).collect())
            }
        };
        for (number, (ring, rows)) in rings().zip(rows).enumerate() {
            let (steps, inside) = match rows {
                Some(rows) => (rows.beside(point).len(), rows.is_inside(ring, point)),
                None => (ring.len(), inside(ring, point)),
            };
            pace.steps(steps)?;
            // In the shell, and in none of the holes.
            if inside != (number == 0) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl<'a> Locator<'a> {
    pub(crate) fn build(areas: impl Iterator<Item = (u32, &'a Polygon)>) -> Self {
        let areas: Vec<_> = areas.map(|(number, area)| Located { number, area, rows: OnceCell::new() }).collect();
        let boxes = (0..)
            .zip(&areas)
            .filter_map(|(place, located)| {
                let (low, high) = located.area.bounds()?;
                Some(GeomWithData::new(Rectangle::from_corners([low.x, low.y], [high.x, high.y]), place))
            })
            .collect();
        Self { tree: RTree::bulk_load(boxes), areas }
    }

    fn meeting(&self, corners: AABB<[f64; 2]>) -> impl Iterator<Item = &Located<'a>> {
        self.tree.locate_in_envelope_intersecting(corners).map(|entry| &self.areas[entry.data as usize])
    }

    /// Numbers of areas whose box holds the point, ascending.
    pub(crate) fn candidates(&self, point: Point) -> Vec<u32> {
        self.in_box(point, point)
    }

    /// Numbers of areas that hold the point, ascending; quicker than [`Polygon::contains`] where many points are asked for.
    ///
    /// # Errors
    /// [`Interrupt`] of the checkpoint.
    pub(crate) fn holding(&self, point: Point, pace: &Pace<'_>) -> Result<Vec<u32>, Interrupt> {
        let mut found = Vec::new();
        for located in self.meeting(AABB::from_point([point.x, point.y])) {
            if located.contains(point, pace)? {
                found.push(located.number);
            }
        }
        found.sort_unstable();
        Ok(found)
    }

    /// Numbers of areas whose box meets the box, ascending.
    pub(crate) fn in_box(&self, low: Point, high: Point) -> Vec<u32> {
        let boxes = AABB::from_corners([low.x, low.y], [high.x, high.y]);
        let mut found: Vec<u32> = self.meeting(boxes).map(|located| located.number).collect();
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

    #[test]
    fn rows_tell_the_same_as_all_edges() {
        // A comb of long and short teeth, an outline with many vertices, and one without height.
        let mut comb: Vec<Point> = vec![Point::new(0.0, -1.0)];
        for tooth in 0..40 {
            let (x, y) = (f64::from(tooth), f64::from(tooth * 7 % 11) + 0.25);
            comb.extend([Point::new(x, y), Point::new(x + 0.5, y), Point::new(x + 0.5, 0.0), Point::new(x + 1.0, 0.0)]);
        }
        comb.push(Point::new(40.0, -1.0));
        let round: Vec<Point> =
            (0..500).map(|i| (f64::from(i) * 0.4).sin_cos()).map(|(y, x)| Point::new(9.0 * x, 5.0 * y)).collect();
        let flat: Vec<Point> = (0..100).map(|i| Point::new(f64::from(i), 2.0)).collect();
        for shell in [comb, round, flat] {
            let hole = shell.iter().map(|point| point.lerp(Point::new(4.0, 2.0), 0.5)).collect();
            let area = Polygon { shell, holes: vec![hole] };
            let locator = Locator::build(std::iter::once((7, &area)));
            for step in 0..4_000 {
                // Many of the points have the height of a vertex.
                let point = Point::new(f64::from(step % 97) * 0.5 - 4.0, f64::from(step % 61) * 0.25 - 2.0);
                let expected = if area.contains(point) { vec![7] } else { vec![] };
                assert_eq!(locator.holding(point, &Pace::free()).unwrap(), expected, "{point}");
            }
        }
    }
}
