//! How long a drawing unit is: the codes of `$INSUNITS`, and a guess from the drawing itself when nothing is said.
//!
//! The guess weighs what floor plans have in common: leaves of doors swing through quarter circles of 0.6 to 1.4 m,
//! walls are 0.05 to 0.6 m thick, letters are 0.05 to 0.6 m high, a floor is tens of metres long. Each candidate
//! unit gets a score; the share of the best one is the confidence. A guess is never silent: its [`Units::from`] says
//! `inferred`, or `assumed` where the drawing has nothing to go by, and the reader reports it.
//!
//! What a drawing states is doubted later, with all that the plan knows: see [`crate::plan::units`].

use std::collections::{HashMap, HashSet};

use super::{BlockId, Drawing, Geometry, Item, Point, Rect, Segment, Units, Vec2};

/// Metres of one unit by the code of `$INSUNITS` (DXF reference, HEADER); `None` for unitless and unknown codes.
pub fn metres_of_insertion_units(code: i64) -> Option<f64> {
    const US_SURVEY_FOOT: f64 = 1200.0 / 3937.0;
    Some(match code {
        1 => 0.0254,
        2 => 0.3048,
        3 => 1609.344,
        4 => 0.001,
        5 => 0.01,
        6 => 1.0,
        7 => 1000.0,
        8 => 0.0254e-6,
        9 => 0.0254e-3,
        10 => 0.9144,
        11 => 1e-10,
        12 => 1e-9,
        13 => 1e-6,
        14 => 0.1,
        15 => 10.0,
        16 => 100.0,
        17 => 1e9,
        18 => 149_597_870_700.0,
        19 => 9_460_730_472_580_800.0,
        20 => 3.085_677_581_491_367e16,
        21 => US_SURVEY_FOOT,
        22 => US_SURVEY_FOOT / 12.0,
        23 => US_SURVEY_FOOT * 3.0,
        24 => US_SURVEY_FOOT * 5280.0,
        _ => return None,
    })
}

/// The units a plan may be drawn in, with what each is worth before the drawing is looked at.
const METRIC: [(f64, f64); 3] = [(0.001, 1.0), (1.0, 0.8), (0.01, 0.3)];
const IMPERIAL: [(f64, f64); 2] = [(0.0254, 0.4), (0.3048, 0.2)];

/// Infers the unit from the drawing. `metric` tells which system it is in, if something says so (`$MEASUREMENT`).
///
/// The confidence is below 1 always, and 0 if the drawing is empty.
pub fn infer(drawing: &Drawing, metric: Option<bool>) -> Units {
    let evidence = Evidence::gather(drawing);
    let candidates =
        METRIC.iter().filter(|_| metric != Some(false)).chain(IMPERIAL.iter().filter(|_| metric != Some(true)));
    let scored: Vec<(f64, f64)> = candidates.map(|(unit, prior)| (*unit, prior * evidence.score(*unit))).collect();
    let total: f64 = scored.iter().map(|(_, score)| score).sum();
    let best = scored.iter().copied().fold((0.001, 0.0), |best, next| if next.1 > best.1 { next } else { best });
    let found_something = evidence.longest > 0.0 && total > 0.0;
    Units {
        metres_per_unit: if found_something {
            best.0
        } else if metric == Some(false) {
            0.0254
        } else {
            0.001
        },
        from: if found_something { "inferred" } else { "assumed" }.to_owned(),
        confidence: Some(if found_something { (best.1 / total * 100.0).floor().min(99.0) / 100.0 } else { 0.0 }),
    }
}

/// The longest side of a drawing with these [`bounds`] in metres, if it is so large or small that the unit must be
/// wrong: beyond 50 km or below 0.2 m.
pub fn implausible_extent(bounds: Rect, metres_per_unit: f64) -> Option<f64> {
    let longest = longest_side(bounds) * metres_per_unit;
    (longest > 50_000.0 || longest > 0.0 && longest < 0.2).then_some(longest)
}

/// Whether [`bounds`] look like longitude and latitude: within their ranges, and the whole of it smaller than a building
/// would be in any unit of length.
pub fn looks_like_degrees(bounds: Rect) -> bool {
    let in_range = bounds.x0 >= -180.0 && bounds.x1 <= 180.0 && bounds.y0 >= -90.0 && bounds.y1 <= 90.0;
    let far_from_origin = bounds.x0.abs().max(bounds.x1.abs()) > 1.0 && bounds.y0.abs().max(bounds.y1.abs()) > 1.0;
    in_range && far_from_origin && longest_side(bounds) < 0.1 && longest_side(bounds) > 0.0
}

fn longest_side(bounds: Rect) -> f64 {
    bounds.width().max(bounds.height())
}

/// What speaks for a unit, in drawing units.
#[derive(Debug, Default)]
struct Evidence {
    /// Radii of arcs of about a quarter turn, or of an eighth, as half-open doors have.
    swings: Vec<f64>,
    /// Heights of texts.
    letters: Vec<f64>,
    /// Distances between neighbouring parallel lines.
    gaps: Vec<f64>,
    /// Longest side of the model.
    longest: f64,
}

/// At most so many of each kind are looked at.
const ENOUGH: usize = 4096;

impl Evidence {
    fn gather(drawing: &Drawing) -> Self {
        let mut evidence = Self::default();
        let mut lines = Vec::new();
        for item in &drawing.items {
            evidence.item(drawing, item, 1.0, &mut lines);
        }
        // Doors are blocks; their size is that of their first reference.
        let mut scales: Vec<(BlockId, f64)> = Vec::new();
        let mut seen: HashSet<BlockId> = HashSet::new();
        for insert in &drawing.inserts {
            if seen.insert(insert.block) {
                scales.push((insert.block, insert.transform.determinant().abs().sqrt()));
            }
        }
        for (block, scale) in scales {
            let items = drawing.block(block).map_or(&[][..], |block| &block.items);
            for item in items.iter().take(ENOUGH) {
                evidence.item(drawing, item, scale, &mut Vec::new());
            }
        }
        evidence.gaps = gaps(&mut lines);
        evidence.longest = bounds(drawing).map_or(0.0, longest_side);
        evidence
    }

    fn item(&mut self, drawing: &Drawing, item: &Item, scale: f64, lines: &mut Vec<(Point, Point)>) {
        match item.geometry {
            Geometry::Text(text) if self.letters.len() < ENOUGH => {
                let height = drawing.text(text).map_or(0.0, |text| text.height * scale);
                if height > 0.0 {
                    self.letters.push(height);
                }
            }
            Geometry::Line(path) if self.swings.len() < ENOUGH || lines.len() < ENOUGH => {
                let mut at = Point::ZERO;
                for segment in drawing.paths.segments(path) {
                    let (radius, sweep, to) = match segment {
                        Segment::Move(to) => {
                            at = to;
                            continue;
                        }
                        Segment::Line(to) => {
                            if lines.len() < ENOUGH {
                                lines.push((at, to));
                            }
                            at = to;
                            continue;
                        }
                        Segment::Bulge { to, bulge } => {
                            let radius = (to - at).hypot() * (1.0 + bulge * bulge) / (4.0 * bulge.abs());
                            (radius, 4.0 * bulge.atan(), to)
                        }
                        Segment::Arc { u, v, sweep, .. } if (u.hypot() - v.hypot()).abs() < 1e-6 * u.hypot() => {
                            (u.hypot(), sweep, at)
                        }
                        _ => continue,
                    };
                    if (40.0..=120.0).contains(&sweep.abs().to_degrees()) && self.swings.len() < ENOUGH {
                        self.swings.push(radius * scale);
                    }
                    at = to;
                }
            }
            _ => {}
        }
    }

    /// How well the drawing fits a unit of so many metres.
    fn score(&self, unit: f64) -> f64 {
        let share = |values: &[f64], low: f64, high: f64| {
            if values.is_empty() {
                return 0.0;
            }
            let fitting = values.iter().filter(|value| (low..=high).contains(&(**value * unit))).count();
            // A single piece of evidence weighs less than several.
            fitting as f64 / values.len().max(3) as f64
        };
        let extent = if self.longest > 0.0 {
            let off = (self.longest * unit / 40.0).ln() / 1.6;
            (-0.5 * off * off).exp()
        } else {
            0.0
        };
        (0.02 + extent)
            * (0.15 + share(&self.swings, 0.6, 1.4))
            * (0.3 + share(&self.letters, 0.05, 0.6))
            * (0.5 + share(&self.gaps, 0.05, 0.6))
    }
}

/// Distances between neighbouring parallel lines that overlap, axis by axis: most are thicknesses of walls.
fn gaps(lines: &mut [(Point, Point)]) -> Vec<f64> {
    let mut gaps = Vec::new();
    for turned in [false, true] {
        // Lines along x by their y; along y the same with the axes swapped.
        let mut runs: Vec<(f64, f64, f64)> = lines
            .iter()
            .filter_map(|(from, to)| {
                let swap = |point: &Point| if turned { Vec2::new(point.y, point.x) } else { point.to_vec2() };
                let (from, to) = (swap(from), swap(to));
                let is_along = (to.y - from.y).abs() <= 1e-9 * (to.x - from.x).abs() && to.x != from.x;
                is_along.then(|| (from.y, from.x.min(to.x), from.x.max(to.x)))
            })
            .collect();
        runs.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (index, (y, low, high)) in runs.iter().enumerate() {
            let next = runs[index + 1..]
                .iter()
                .take(16)
                .find(|(other, from, to)| *other > *y && from.max(*low) < to.min(*high));
            if let Some((other, ..)) = next {
                gaps.push(other - y);
            }
        }
    }
    gaps
}

/// The box around the model by its stored points, block references one level deep; curves may stick out a little.
pub fn bounds(drawing: &Drawing) -> Option<Rect> {
    rough_bounds(drawing, &drawing.items)
}

/// The box around what items show, by their stored points; curves may stick out of it a little, and of block
/// references the box of the block is taken one level deep.
pub(crate) fn rough_bounds(drawing: &Drawing, items: &[Item]) -> Option<Rect> {
    let mut bounds = Bounds::default();
    // Boxes of blocks, found once each.
    let mut blocks: HashMap<BlockId, Option<Rect>> = HashMap::new();
    for item in items {
        let Geometry::Insert(insert) = item.geometry else {
            bounds.item(drawing, item);
            continue;
        };
        let Some(insert) = drawing.insert(insert) else { continue };
        let inner = *blocks.entry(insert.block).or_insert_with(|| {
            let block = drawing.block(insert.block)?;
            let mut inner = Bounds::default();
            block.items.iter().for_each(|item| inner.item(drawing, item));
            inner.rect.map(|rect| rect - block.base.to_vec2())
        });
        match inner {
            Some(inner) => {
                let rect = insert.transform.transform_rect_bbox(inner);
                bounds.point(Point::new(rect.x0, rect.y0));
                bounds.point(Point::new(rect.x1, rect.y1));
            }
            None => bounds.point(insert.transform * Point::ZERO),
        }
    }
    bounds.rect
}

#[derive(Debug, Default)]
struct Bounds {
    rect: Option<Rect>,
}

impl Bounds {
    fn point(&mut self, point: Point) {
        if point.is_finite() {
            let spot = Rect::from_points(point, point);
            self.rect = Some(self.rect.map_or(spot, |rect| rect.union(spot)));
        }
    }

    fn item(&mut self, drawing: &Drawing, item: &Item) {
        match item.geometry {
            Geometry::Point(point) => self.point(point),
            Geometry::Text(text) => {
                if let Some(text) = drawing.text(text) {
                    self.point(text.at);
                }
            }
            Geometry::Insert(_) => {}
            Geometry::Line(path) | Geometry::Area(path, _) => {
                for segment in drawing.paths.segments(path) {
                    match segment {
                        Segment::Move(to) | Segment::Line(to) | Segment::Bulge { to, .. } => self.point(to),
                        Segment::Arc { centre, u, v, .. } => {
                            let reach = Vec2::new(u.x.hypot(v.x), u.y.hypot(v.y));
                            self.point(centre - reach);
                            self.point(centre + reach);
                        }
                        Segment::Cubic(a, b, to) => [a, b, to].into_iter().for_each(|point| self.point(point)),
                        Segment::Spline(spline) => spline.control.iter().for_each(|point| self.point(*point)),
                        Segment::Close => {}
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawing::{Affine, Colour, DrawingBuilder, Identity, Insert, LayerId, Properties, SourceFormat, Symbol};
    use crate::format::Limits;

    struct Plan {
        out: DrawingBuilder,
        kind: Symbol,
        layer: LayerId,
    }

    impl Plan {
        fn new() -> Self {
            let mut out = DrawingBuilder::new(SourceFormat::Dxf, &Limits::default());
            let (kind, layer) = (out.intern("LINE"), out.layer("0"));
            Self { out, kind, layer }
        }

        fn push(&mut self, geometry: Geometry) {
            let item = Item {
                geometry,
                entity: self.kind,
                layer: self.layer,
                colour: Colour::ByLayer,
                width: 0.0,
                identity: Identity::None,
                visible: true,
                properties: Properties::default(),
                clip: None,
            };
            self.out.push(item).unwrap();
        }

        fn rectangle(&mut self, width: f64, height: f64) {
            let mut path = self.out.path();
            path.move_to(Point::ZERO);
            for (x, y) in [(width, 0.0), (width, height), (0.0, height)] {
                path.line_to(Point::new(x, y));
            }
            path.close();
            let path = path.finish().unwrap().unwrap();
            self.push(Geometry::Line(path));
        }

        fn door(&mut self, radius: f64) {
            let mut path = self.out.path();
            path.circle_arc(Point::new(radius, radius), radius, 0.0, std::f64::consts::FRAC_PI_2);
            let path = path.finish().unwrap().unwrap();
            self.push(Geometry::Line(path));
        }
    }

    #[test]
    fn all_codes_of_insertion_units() {
        assert_eq!((0..=25).filter_map(metres_of_insertion_units).count(), 24);
        for (code, metres) in
            [(1, 0.0254), (2, 0.3048), (4, 0.001), (5, 0.01), (6, 1.0), (14, 0.1), (21, 0.3048006096012192)]
        {
            assert_eq!(metres_of_insertion_units(code), Some(metres), "{code}");
        }
        assert_eq!(metres_of_insertion_units(0), None);
        assert_eq!(metres_of_insertion_units(-4), None);
    }

    #[test]
    fn doors_tell_the_unit() {
        for (radius, metric, expected) in [
            (900.0, None, 0.001),
            (0.9, None, 1.0),
            (90.0, Some(true), 0.01),
            (36.0, Some(false), 0.0254),
            (3.0, Some(false), 0.3048),
        ] {
            let mut plan = Plan::new();
            plan.rectangle(radius * 30.0, radius * 20.0);
            for _ in 0..5 {
                plan.door(radius);
            }
            let units = infer(&plan.out.finish(), metric);
            assert_eq!(units.metres_per_unit, expected, "radius {radius}");
            assert_eq!(units.from, "inferred");
            assert!(units.confidence.is_some_and(|confidence| confidence > 0.5 && confidence < 1.0), "{units:?}");
        }
    }

    #[test]
    fn a_bare_outline_is_guessed_with_little_confidence() {
        let mut plan = Plan::new();
        plan.rectangle(5000.0, 4000.0);
        let units = infer(&plan.out.finish(), None);
        assert_eq!(units.metres_per_unit, 0.001);
        assert!(units.confidence.is_some_and(|confidence| confidence < 0.7), "{units:?}");
        let nothing = infer(&Plan::new().out.finish(), Some(false));
        assert_eq!(
            (nothing.metres_per_unit, nothing.from.as_str(), nothing.confidence),
            (0.0254, "assumed", Some(0.0))
        );
    }

    #[test]
    fn doors_in_blocks_count_with_the_scale_of_their_reference() {
        let mut plan = Plan::new();
        plan.rectangle(30.0, 20.0);
        let block = plan.out.block("DOOR");
        plan.out.open_block(block, Point::ZERO);
        for _ in 0..3 {
            plan.door(900.0);
        }
        plan.out.close_block();
        let insert = plan.out.insert(Insert {
            block,
            transform: Affine::scale(0.001),
            columns: 1,
            rows: 1,
            column_step: Vec2::ZERO,
            row_step: Vec2::ZERO,
            attributes: Vec::new(),
            clip: None,
        });
        plan.push(Geometry::Insert(insert));
        assert_eq!(infer(&plan.out.finish(), Some(true)).metres_per_unit, 1.0);
    }

    #[test]
    fn degrees_and_absurd_extents_are_noticed() {
        let mut plan = Plan::new();
        let mut path = plan.out.path();
        path.move_to(Point::new(15.43, 47.06));
        path.line_to(Point::new(15.4303, 47.0602));
        let path = path.finish().unwrap().unwrap();
        plan.push(Geometry::Line(path));
        assert!(looks_like_degrees(bounds(&plan.out.finish()).unwrap()));
        let mut plan = Plan::new();
        plan.rectangle(80_000.0, 60_000.0);
        let bounds = bounds(&plan.out.finish()).unwrap();
        assert!(!looks_like_degrees(bounds));
        assert_eq!(implausible_extent(bounds, 1.0), Some(80_000.0));
        assert_eq!(implausible_extent(bounds, 0.001), None);
    }
}
