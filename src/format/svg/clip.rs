//! Clip regions in drawing coordinates: what remains after the clips and viewports around an element.
//!
//! Most clips are rectangles, and most of those hold all that is drawn under them. So a region is a rectangle
//! until it must be more, and an item gets a clip only if it reaches out of it. Other regions are rings by
//! even-odd, intersected as polygons.

use std::collections::HashMap;

use geo::bool_ops::FillRule as OverlayRule;
use geo::{BooleanOps, Coord, LineString, MultiPolygon, OpType, Polygon};

use crate::drawing::{Clip, ClipId, DrawingBuilder, Point, Rect};
use crate::format::ReadError;

/// Regions with more points than this are not intersected with each other: the inner one counts.
const MOST_POINTS: usize = 50_000;

/// Index of a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct RegionId(u32);

/// Rings by even-odd.
pub(super) type Rings = Vec<Vec<Point>>;

#[derive(Debug)]
struct Region {
    bounds: Rect,
    /// `None`: the bounds themselves.
    rings: Option<Rings>,
    clip: Option<ClipId>,
}

/// All regions of a document.
#[derive(Debug, Default)]
pub(super) struct Regions {
    all: Vec<Region>,
    rectangles: HashMap<[u64; 4], RegionId>,
    num_points: u64,
    /// Intersections that were too large to be worked out.
    pub(super) num_too_large: u64,
}

impl Regions {
    /// The part of `outer` inside `rings`; `None` if nothing is left.
    ///
    /// # Errors
    /// When all clips together have more points than `limit`.
    pub(super) fn intersect(
        &mut self,
        outer: Option<RegionId>,
        rings: Rings,
        limit: u64,
    ) -> Result<Option<RegionId>, ReadError> {
        self.num_points += points_of(&rings) as u64;
        if self.num_points > limit {
            return Err(ReadError::Limit { what: "number of clip vertices".to_owned(), key: "vertices", limit });
        }
        let Some(bounds) = bounds_of(&rings) else { return Ok(None) };
        let rectangle = match rings.as_slice() {
            [ring] => as_rectangle(ring),
            _ => None,
        };
        let around = outer.and_then(|id| self.all.get(id.0 as usize));
        let (shared, rings) = match (around, rectangle) {
            (None, Some(_)) => (bounds, None),
            (None, None) => (bounds, Some(rings)),
            (Some(around), _) => {
                let shared = around.bounds.intersect(bounds);
                if shared.width() <= 0.0 || shared.height() <= 0.0 {
                    return Ok(None);
                }
                match (&around.rings, rectangle) {
                    (_, Some(_)) if shared == around.bounds => return Ok(outer),
                    (None, Some(_)) => (shared, None),
                    (None, None) if shared == bounds => (shared, Some(rings)),
                    (others, _) => {
                        let others = others.clone().unwrap_or_else(|| vec![corners(around.bounds).to_vec()]);
                        if points_of(&others) + points_of(&rings) > MOST_POINTS {
                            self.num_too_large += 1;
                            (shared, Some(rings))
                        } else {
                            let both = overlay(&rings, &others, OpType::Intersection);
                            let Some(shared) = bounds_of(&both) else { return Ok(None) };
                            (shared, Some(both))
                        }
                    }
                }
            }
        };
        let key = [shared.x0, shared.y0, shared.x1, shared.y1].map(f64::to_bits);
        let is_rectangle = rings.is_none();
        if is_rectangle && let Some(id) = self.rectangles.get(&key) {
            return Ok(Some(*id));
        }
        let id = RegionId(self.all.len() as u32);
        self.all.push(Region { bounds: shared, rings, clip: None });
        if is_rectangle {
            self.rectangles.insert(key, id);
        }
        Ok(Some(id))
    }

    /// What `bounds` need: nothing if the region holds them, else its clip. `Err` if they lie outside.
    pub(super) fn clip_for(
        &mut self,
        id: RegionId,
        bounds: Rect,
        builder: &mut DrawingBuilder,
    ) -> Result<Option<ClipId>, Outside> {
        let Some(region) = self.all.get_mut(id.0 as usize) else { return Ok(None) };
        let tolerance = 1e-9 * (region.bounds.width() + region.bounds.height());
        let reach = region.bounds.inflate(tolerance, tolerance);
        if bounds.x0 > reach.x1 || bounds.x1 < reach.x0 || bounds.y0 > reach.y1 || bounds.y1 < reach.y0 {
            return Err(Outside);
        }
        if region.rings.is_none()
            && bounds.x0 >= reach.x0
            && bounds.x1 <= reach.x1
            && bounds.y0 >= reach.y0
            && bounds.y1 <= reach.y1
        {
            return Ok(None);
        }
        let clip = *region.clip.get_or_insert_with(|| {
            let rings = region.rings.clone().unwrap_or_else(|| vec![corners(region.bounds).to_vec()]);
            builder.clip(Clip { rings, inverted: false })
        });
        Ok(Some(clip))
    }
}

/// Something lies outside a region.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Outside;

/// The union of regions that may overlap.
pub(super) fn union(mut shapes: Vec<Rings>) -> Rings {
    let Some(mut all) = shapes.pop() else { return Rings::new() };
    for shape in shapes {
        if points_of(&all) + points_of(&shape) > MOST_POINTS {
            all.extend(shape);
        } else {
            all = overlay(&all, &shape, OpType::Union);
        }
    }
    all
}

pub(super) fn corners(bounds: Rect) -> [Point; 4] {
    let Rect { x0, y0, x1, y1 } = bounds;
    [(x0, y0), (x1, y0), (x1, y1), (x0, y1)].map(Point::from)
}

fn points_of(rings: &Rings) -> usize {
    rings.iter().map(Vec::len).sum()
}

fn bounds_of(rings: &Rings) -> Option<Rect> {
    let mut points = rings.iter().flatten();
    let first = *points.next()?;
    let bounds = points.fold(Rect::from_points(first, first), |bounds, point| bounds.union_pt(*point));
    (bounds.width() > 0.0 && bounds.height() > 0.0 && bounds.is_finite()).then_some(bounds)
}

/// The rectangle a ring is, if its sides are parallel to the axes.
fn as_rectangle(ring: &[Point]) -> Option<Rect> {
    let ring = match ring {
        [first, inner @ .., last] if first == last && inner.len() == 3 => ring.get(..4)?,
        ring => ring,
    };
    let [a, b, c, d] = ring else { return None };
    let upright = a.x == b.x && b.y == c.y && c.x == d.x && d.y == a.y;
    let lying = a.y == b.y && b.x == c.x && c.y == d.y && d.x == a.x;
    (upright || lying).then(|| Rect::from_points(*a, *c))
}

fn overlay(a: &Rings, b: &Rings, operation: OpType) -> Rings {
    let result = polygons(a).boolean_op_with_fill_rule(&polygons(b), operation, OverlayRule::EvenOdd);
    let rings = result.iter().flat_map(|polygon| std::iter::once(polygon.exterior()).chain(polygon.interiors()));
    let open = |ring: &LineString| {
        let len = ring.0.len().saturating_sub(1);
        ring.0.iter().take(len).map(|coord| Point::new(coord.x, coord.y)).collect()
    };
    rings.map(open).collect()
}

fn polygons(rings: &Rings) -> MultiPolygon {
    let ring = |ring: &Vec<Point>| LineString(ring.iter().map(|point| Coord { x: point.x, y: point.y }).collect());
    MultiPolygon(rings.iter().map(|points| Polygon::new(ring(points), Vec::new())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawing::SourceFormat;
    use crate::format::Limits;

    fn square(x0: f64, y0: f64, x1: f64, y1: f64) -> Rings {
        vec![corners(Rect::new(x0, y0, x1, y1)).to_vec()]
    }

    #[test]
    fn rectangles_stay_rectangles() {
        let mut regions = Regions::default();
        let outer = regions.intersect(None, square(0., 0., 10., 10.), 1000).unwrap();
        assert_eq!(regions.intersect(outer, square(-5., -5., 20., 20.), 1000).unwrap(), outer);
        let inner = regions.intersect(outer, square(5., 5., 20., 20.), 1000).unwrap().unwrap();
        assert_eq!(regions.all[inner.0 as usize].bounds, Rect::new(5., 5., 10., 10.));
        assert!(regions.all[inner.0 as usize].rings.is_none());
        assert_eq!(regions.intersect(outer, square(11., 11., 12., 12.), 1000).unwrap(), None);
        assert!(regions.intersect(None, square(0., 0., 1., 1.), 3).is_err());
    }

    #[test]
    fn polygons_are_intersected_and_joined() {
        let mut regions = Regions::default();
        let triangle = vec![vec![Point::new(0., 0.), Point::new(20., 0.), Point::new(0., 20.)]];
        let outer = regions.intersect(None, triangle, 1000).unwrap();
        let cut = regions.intersect(outer, square(5., 5., 30., 30.), 1000).unwrap().unwrap();
        let area = |rings: &Rings| {
            let ring = &rings[0];
            let next = ring.iter().cycle().skip(1);
            ring.iter().zip(next).map(|(a, b)| a.to_vec2().cross(b.to_vec2())).sum::<f64>().abs() / 2.0
        };
        assert!((area(regions.all[cut.0 as usize].rings.as_ref().unwrap()) - 50.0).abs() < 1e-6);
        let joined = union(vec![square(0., 0., 2., 2.), square(1., 0., 3., 2.)]);
        assert_eq!(joined.len(), 1);
        assert!((area(&joined) - 6.0).abs() < 1e-6);
    }

    #[test]
    fn only_what_reaches_out_is_clipped() {
        let mut regions = Regions::default();
        let mut builder = DrawingBuilder::new(SourceFormat::Svg, &Limits::default());
        let id = regions.intersect(None, square(0., 0., 10., 10.), 1000).unwrap().unwrap();
        assert_eq!(regions.clip_for(id, Rect::new(0., 0., 10., 10.), &mut builder), Ok(None));
        assert_eq!(regions.clip_for(id, Rect::new(11., 0., 12., 10.), &mut builder), Err(Outside));
        let clip = regions.clip_for(id, Rect::new(5., 5., 12., 10.), &mut builder).unwrap();
        assert!(clip.is_some());
        assert_eq!(regions.clip_for(id, Rect::new(5., 5., 99., 10.), &mut builder).unwrap(), clip);
        assert_eq!(builder.finish().clips.len(), 1);
    }
}
