//! Clip regions of the graphics state, in page space.
//!
//! Nearly all clips of plans are rectangles, and nearly all of those hold what is drawn under them. So a region is a
//! rectangle until it must be more, and an item gets a clip only if it reaches out of it. Other regions are rings
//! (even-odd); they are cut by rectangles exactly, and by each other with polygon intersection.

use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;

use geo::bool_ops::FillRule as OverlayRule;
use geo::{BooleanOps, Coord, LineString, MultiPolygon, OpType, Polygon};
use kurbo::PathEl;

use crate::drawing::{Clip, ClipId, DrawingBuilder, FillRule, Point, Rect};
use crate::format::ReadError;

use super::path::Element;

/// How far something may reach over a border without being cut, points.
const TOLERANCE: f64 = 0.01;
/// Greatest distance of a flattened clip from its curve, points.
const FLATNESS: f64 = 0.02;
/// Regions with more points than this are not intersected with each other: the later one counts.
const MOST_POINTS: usize = 20_000;

/// Where painting shows.
#[derive(Debug)]
pub(super) struct Region {
    /// Bounds; the region itself if there are no rings.
    bounds: Rect,
    rings: Option<Vec<Vec<Point>>>,
    id: Cell<Option<ClipId>>,
}

/// How something lies to a region.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Relation {
    Inside,
    Across,
    Outside,
}

impl Region {
    pub(super) fn rectangle(bounds: Rect) -> Rc<Self> {
        Rc::new(Self { bounds, rings: None, id: Cell::new(None) })
    }

    fn of_rings(rings: Vec<Vec<Point>>, within: Rect) -> Rc<Self> {
        let points = rings.iter().flatten();
        let bounds = points.fold(None, |bounds: Option<Rect>, point| {
            Some(bounds.map_or(Rect::from_points(*point, *point), |bounds| bounds.union_pt(*point)))
        });
        match bounds {
            Some(bounds) => Rc::new(Self { bounds: overlap(bounds, within), rings: Some(rings), id: Cell::new(None) }),
            None => Self::rectangle(Rect::from_origin_size(within.origin(), (0.0, 0.0))),
        }
    }

    pub(super) fn relation(&self, bounds: Rect) -> Relation {
        let region = self.bounds;
        if bounds.x0 > region.x1 + TOLERANCE
            || bounds.x1 < region.x0 - TOLERANCE
            || bounds.y0 > region.y1 + TOLERANCE
            || bounds.y1 < region.y0 - TOLERANCE
        {
            return Relation::Outside;
        }
        let contained = bounds.x0 >= region.x0 - TOLERANCE
            && bounds.x1 <= region.x1 + TOLERANCE
            && bounds.y0 >= region.y0 - TOLERANCE
            && bounds.y1 <= region.y1 + TOLERANCE;
        if contained && self.rings.is_none() { Relation::Inside } else { Relation::Across }
    }

    pub(super) fn contains(&self, point: Point) -> bool {
        self.relation(Rect::from_points(point, point)) != Relation::Outside
    }
}

/// Makes regions, and the clips of a drawing from them.
#[derive(Debug, Default)]
pub(super) struct Clipper {
    rectangles: HashMap<[u64; 4], ClipId>,
    points: u64,
    /// Regions that were too large to be intersected.
    pub(super) too_large: u64,
}

impl Clipper {
    /// The clip of a region.
    pub(super) fn id(&mut self, region: &Region, builder: &mut DrawingBuilder) -> ClipId {
        if let Some(id) = region.id.get() {
            return id;
        }
        let id = match &region.rings {
            Some(rings) => builder.clip(Clip { rings: rings.clone(), inverted: false }),
            None => {
                let Rect { x0, y0, x1, y1 } = region.bounds;
                *self.rectangles.entry([x0, y0, x1, y1].map(f64::to_bits)).or_insert_with(|| {
                    let corners = [(x0, y0), (x1, y0), (x1, y1), (x0, y1)].map(Point::from);
                    builder.clip(Clip { rings: vec![corners.to_vec()], inverted: false })
                })
            }
        };
        region.id.set(Some(id));
        id
    }

    /// The part of `region` inside `path`.
    ///
    /// # Errors
    /// When all clips together have more points than `limit`.
    pub(super) fn intersect(
        &mut self,
        region: &Rc<Region>,
        path: &[Element],
        rule: FillRule,
        limit: u64,
    ) -> Result<Rc<Region>, ReadError> {
        let mut rings = rings(path);
        self.points += rings.iter().map(|ring| ring.len() as u64).sum::<u64>();
        if self.points > limit {
            return Err(ReadError::Limit { what: "number of clip vertices".to_owned(), key: "vertices", limit });
        }
        if let [ring] = rings.as_slice()
            && let Some(rectangle) = as_rectangle(ring)
        {
            let bounds = overlap(region.bounds, rectangle);
            if bounds == region.bounds {
                return Ok(Rc::clone(region));
            }
            return Ok(match &region.rings {
                None => Region::rectangle(bounds),
                Some(rings) => Region::of_rings(rings.iter().map(|ring| cut(ring, bounds)).collect(), bounds),
            });
        }
        if rule == FillRule::NonZero && rings.len() > 1 && points(&rings) <= MOST_POINTS {
            rings = overlay(&rings, &[], OpType::Union, OverlayRule::NonZero);
        }
        let both = match &region.rings {
            Some(others) if points(others) + points(&rings) <= MOST_POINTS => {
                overlay(&rings, others, OpType::Intersection, OverlayRule::EvenOdd)
            }
            Some(_) => {
                self.too_large += 1;
                rings
            }
            None => rings,
        };
        Ok(Region::of_rings(both.iter().map(|ring| cut(ring, region.bounds)).collect(), region.bounds))
    }
}

fn points(rings: &[Vec<Point>]) -> usize {
    rings.iter().map(Vec::len).sum()
}

/// The overlap of two rectangles; empty at the nearest corner if they have none.
fn overlap(a: Rect, b: Rect) -> Rect {
    let (x0, y0) = (a.x0.max(b.x0), a.y0.max(b.y0));
    Rect::new(x0, y0, a.x1.min(b.x1).max(x0), a.y1.min(b.y1).max(y0))
}

/// Flattened subpaths, each closed.
fn rings(path: &[Element]) -> Vec<Vec<Point>> {
    let mut rings: Vec<Vec<Point>> = Vec::new();
    kurbo::flatten(path.iter().map(Element::as_kurbo), FLATNESS, |element| match element {
        PathEl::MoveTo(point) => rings.push(vec![point]),
        PathEl::LineTo(point) => {
            if let Some(ring) = rings.last_mut() {
                ring.push(point);
            }
        }
        _ => {}
    });
    for ring in &mut rings {
        if ring.len() > 1 && ring.first() == ring.last() {
            ring.pop();
        }
    }
    rings.retain(|ring| ring.len() > 1);
    rings
}

/// The rectangle a ring is, if its sides are parallel to the axes.
fn as_rectangle(ring: &[Point]) -> Option<Rect> {
    let near = |a: f64, b: f64| (a - b).abs() < 1e-6;
    let corners: Vec<Point> = match ring {
        [a, b] => vec![*a, *b, *b, *a], // a rectangle without height
        _ => ring.to_vec(),
    };
    let [a, b, c, d] = corners.as_slice() else { return None };
    let upright = near(a.x, b.x) && near(b.y, c.y) && near(c.x, d.x) && near(d.y, a.y);
    let lying = near(a.y, b.y) && near(b.x, c.x) && near(c.y, d.y) && near(d.x, a.x);
    (upright || lying).then(|| Rect::from_points(*a, *c))
}

/// Cuts a ring by a rectangle (Sutherland and Hodgman 1974).
fn cut(ring: &[Point], by: Rect) -> Vec<Point> {
    // Inward distance from each side: (weight of x, weight of y, border).
    let sides = [(1.0, 0.0, by.x0), (-1.0, 0.0, -by.x1), (0.0, 1.0, by.y0), (0.0, -1.0, -by.y1)];
    let mut ring = ring.to_vec();
    for (x, y, border) in sides {
        let distance = |point: Point| x * point.x + y * point.y;
        let Some(mut previous) = ring.last().copied() else { break };
        let mut kept = Vec::with_capacity(ring.len() + 4);
        for point in ring {
            let (from, to) = (distance(previous) - border, distance(point) - border);
            if (from < 0.0) != (to < 0.0) {
                kept.push(previous.lerp(point, from / (from - to)));
            }
            if to >= 0.0 {
                kept.push(point);
            }
            previous = point;
        }
        ring = kept;
    }
    ring
}

fn overlay(a: &[Vec<Point>], b: &[Vec<Point>], operation: OpType, rule: OverlayRule) -> Vec<Vec<Point>> {
    let result = polygons(a).boolean_op_with_fill_rule(&polygons(b), operation, rule);
    let rings = result.iter().flat_map(|polygon| std::iter::once(polygon.exterior()).chain(polygon.interiors()));
    rings
        .map(|ring| {
            let open = ring.0.len().saturating_sub(1);
            ring.0.iter().take(open).map(|coord| Point::new(coord.x, coord.y)).collect()
        })
        .collect()
}

fn polygons(rings: &[Vec<Point>]) -> MultiPolygon {
    let ring = |ring: &Vec<Point>| LineString(ring.iter().map(|point| Coord { x: point.x, y: point.y }).collect());
    MultiPolygon(rings.iter().map(|points| Polygon::new(ring(points), Vec::new())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn polygon(points: &[(f64, f64)]) -> Vec<Element> {
        let mut path: Vec<Element> = Vec::new();
        for (index, point) in points.iter().enumerate() {
            let point = Point::from(*point);
            path.push(if index == 0 { Element::Move(point) } else { Element::Line(point) });
        }
        path.push(Element::Close);
        path
    }

    fn area(region: &Region) -> f64 {
        let Some(rings) = &region.rings else { return region.bounds.area() };
        let signed = |ring: &Vec<Point>| {
            let next = ring.iter().cycle().skip(1);
            ring.iter().zip(next).map(|(a, b)| a.to_vec2().cross(b.to_vec2())).sum::<f64>() / 2.0
        };
        rings.iter().map(signed).sum::<f64>().abs()
    }

    #[test]
    fn rectangles_stay_rectangles_and_polygons_are_cut() {
        let mut clipper = Clipper::default();
        let page = Region::rectangle(Rect::new(0.0, 0.0, 100.0, 100.0));
        let all = polygon(&[(-5.0, -5.0), (200.0, -5.0), (200.0, 200.0), (-5.0, 200.0)]);
        let same = clipper.intersect(&page, &all, FillRule::NonZero, 100).unwrap();
        assert!(Rc::ptr_eq(&page, &same), "a clip that covers the page is none");

        let triangle = polygon(&[(50.0, 50.0), (150.0, 50.0), (50.0, 150.0)]);
        let cut = clipper.intersect(&page, &triangle, FillRule::NonZero, 100).unwrap();
        assert!((area(&cut) - 2500.0).abs() < 1e-6, "{cut:?}");
        let square = polygon(&[(60.0, 60.0), (80.0, 60.0), (70.0, 80.0)]);
        let both = clipper.intersect(&cut, &square, FillRule::NonZero, 100).unwrap();
        assert!((area(&both) - 200.0).abs() < 1e-3, "{both:?}");
        assert_eq!(both.relation(Rect::new(0.0, 0.0, 50.0, 50.0)), Relation::Outside);
    }

    #[test]
    fn clips_are_bounded() {
        let page = Region::rectangle(Rect::new(0.0, 0.0, 100.0, 100.0));
        let path = polygon(&[(0.0, 0.0), (1.0, 0.0), (1.0, 1.0)]);
        let error = Clipper::default().intersect(&page, &path, FillRule::EvenOdd, 2).unwrap_err();
        assert_eq!(error.kind(), "limit");
    }
}
