//! Texts that were turned into paths: found by their shape, and marked so that nobody takes them for walls.
//!
//! Programs that cannot embed a font draw every letter as a filled outline. Such outlines stand in rows: small, of one
//! height, a little apart, in drawing order, and curved or with many corners. Only a row of at least [`FEWEST`] is
//! believed, because a single outline may as well be a column or a chair. Marked areas have the property
//! `letter_like` and stay in the output; `plan` leaves them out. What the letters say is not read.

use crate::drawing::{Drawing, DrawingBuilder, Geometry, Item, Path, Point, Rect, Segment, Symbol};

/// Name of the property; its value is `true`.
pub(crate) const PROPERTY: &str = "letter_like";

/// Fewest outlines in a row.
const FEWEST: usize = 3;
/// Least part of a row that is curved or has many corners: `I`, `l`, `-` have few.
const LEAST_INTRICATE: f64 = 0.4;
/// Corners of an outline from which on it counts as intricate.
const MANY_CORNERS: usize = 10;
/// Greatest distance between neighbours, as a part of the height of the row: a space between words.
const FARTHEST: f64 = 0.9;
/// Distance from which on outlines stand apart, as a part of the height of the row. Rooms of a coloured plan touch.
const APART: f64 = 0.02;
/// Least part of the neighbours that must stand apart.
const LEAST_APART: f64 = 0.5;
/// Overlap from which on outlines lie on each other, as a part of the smaller one: pieces of furniture do.
const ON_EACH_OTHER: f64 = 0.3;
/// Greatest part of the neighbours that may lie on each other.
const MOST_ON_EACH_OTHER: f64 = 0.15;
/// Least part of the steps from one outline to the next that lead along the row.
const LEAST_ALONG: f64 = 0.8;
/// Least cosine of the angle between such a step and the row: accents and dots are beside it.
const ALONG: f64 = 0.5;
/// Least height of an outline as a part of the height of the row: dots and dashes.
const LOWEST: f64 = 0.08;
/// Longest outline as a part of the height of the row: `m`, `W`, ligatures.
const LONGEST: f64 = 2.0;
/// Greatest height as a part of the diagonal of the drawing, where units say nothing.
const PART_OF_DRAWING: f64 = 0.015;
/// Most outlines in one path that are looked at.
const MOST_OUTLINES: usize = 4_096;

/// Completes a drawing and marks texts that were turned into paths; `largest` is the greatest height of a letter in
/// drawing units, if units say what is a usual letter.
pub(crate) fn finish(mut builder: DrawingBuilder, largest: Option<f64>) -> Drawing {
    let pair = (builder.intern(PROPERTY), builder.intern("true"));
    let mut drawing = builder.finish();
    mark(&mut drawing, pair, largest);
    drawing
}

fn mark(drawing: &mut Drawing, pair: (Symbol, Symbol), largest: Option<f64>) {
    let largest = largest.unwrap_or_else(|| PART_OF_DRAWING * diagonal(drawing));
    let mut rows = Rows { drawing, largest, row: Row::default(), accepted: Vec::new() };
    for (index, item) in drawing.items.iter().enumerate() {
        rows.take(index, item);
    }
    rows.end();
    // An item is text if all of its outlines are.
    let accepted = rows.accepted;
    for same in accepted.chunk_by(|a, b| a.item == b.item) {
        let Some(first) = same.first() else { continue };
        if same.iter().map(|part| part.outlines).sum::<usize>() < first.of {
            continue;
        }
        let start = drawing.properties.len() as u32;
        let Some(item) = drawing.items.get_mut(first.item) else { continue };
        let old = item.properties;
        let kept = old.start as usize..(old.start + old.len) as usize;
        let kept: Vec<_> = drawing.properties.get(kept).unwrap_or(&[]).to_vec();
        drawing.properties.extend(kept);
        drawing.properties.push(pair);
        item.properties.start = start;
        item.properties.len = old.len + 1;
    }
}

/// How long the drawing is from corner to corner.
fn diagonal(drawing: &Drawing) -> f64 {
    let points = drawing.paths.points.iter().filter(|point| point.is_finite());
    let bounds = points.map(|point| Rect::from_points(*point, *point)).reduce(|all, point| all.union(point));
    bounds.map_or(0.0, |bounds| bounds.width().hypot(bounds.height()))
}

/// Outlines of one item that belong to a row.
#[derive(Debug, Clone, Copy)]
struct Part {
    item: usize,
    outlines: usize,
    /// Outlines of the item.
    of: usize,
}

/// One outline.
#[derive(Debug, Clone, Copy)]
struct Outline {
    bounds: Rect,
    intricate: bool,
}

impl Outline {
    fn extent(&self) -> f64 {
        self.bounds.width().max(self.bounds.height())
    }
}

/// The row that is being read.
#[derive(Debug, Default)]
struct Row {
    parts: Vec<Part>,
    centres: Vec<Point>,
    last: Option<Outline>,
    height: f64,
    intricate: usize,
    apart: usize,
    on_each_other: usize,
}

struct Rows<'d> {
    drawing: &'d Drawing,
    largest: f64,
    row: Row,
    accepted: Vec<Part>,
}

impl Rows<'_> {
    fn take(&mut self, index: usize, item: &Item) {
        let Geometry::Area(path, _) = item.geometry else {
            // Texts may stand between; anything that is drawn ends a row.
            if !matches!(item.geometry, Geometry::Text(_)) {
                self.end();
            }
            return;
        };
        let outlines = self.outlines(path);
        if outlines.is_empty() {
            return self.end();
        }
        for outline in &outlines {
            if !self.row.continues(outline) {
                self.end();
            }
            self.row.push(outline);
            match self.row.parts.last_mut() {
                Some(part) if part.item == index => part.outlines += 1,
                _ => self.row.parts.push(Part { item: index, outlines: 1, of: outlines.len() }),
            }
        }
    }

    /// The outer outlines of a path; none if one is too large for a letter.
    fn outlines(&self, path: Path) -> Vec<Outline> {
        let mut outlines: Vec<Outline> = Vec::new();
        let mut open: Option<(Rect, usize, bool)> = None;
        let mut close = |open: &mut Option<(Rect, usize, bool)>| {
            let Some((bounds, corners, curved)) = open.take() else { return true };
            let outline = Outline { bounds, intricate: curved || corners >= MANY_CORNERS };
            if outline.extent() > LONGEST * self.largest || outlines.len() >= MOST_OUTLINES {
                return false;
            }
            match outlines.last_mut() {
                // The hole of an `o`, or the `o` around its hole.
                Some(last) if contains(last.bounds, bounds) => last.intricate |= outline.intricate,
                Some(last) if contains(bounds, last.bounds) => *last = outline,
                _ => outlines.push(outline),
            }
            true
        };
        for segment in self.drawing.paths.segments(path) {
            let (to, curved) = match segment {
                Segment::Move(to) => {
                    if !close(&mut open) {
                        return Vec::new();
                    }
                    open = Some((Rect::from_points(to, to), 0, false));
                    continue;
                }
                Segment::Line(to) => (to, false),
                Segment::Bulge { to, .. } | Segment::Cubic(_, _, to) => (to, true),
                Segment::Close => continue,
                Segment::Arc { .. } | Segment::Spline(_) => return Vec::new(),
            };
            if let Some((bounds, corners, any_curved)) = &mut open {
                *bounds = bounds.union_pt(to);
                *corners += 1;
                *any_curved |= curved;
            }
        }
        if close(&mut open) { outlines } else { Vec::new() }
    }

    fn end(&mut self) {
        let row = std::mem::take(&mut self.row);
        let count = row.centres.len() as f64;
        let is_text = row.centres.len() >= FEWEST
            && row.height <= self.largest
            && row.intricate as f64 >= LEAST_INTRICATE * count
            && row.apart as f64 >= LEAST_APART * (count - 1.0)
            && row.on_each_other as f64 <= MOST_ON_EACH_OTHER * (count - 1.0)
            && row.steps_along() >= LEAST_ALONG * (count - 1.0);
        if is_text {
            self.accepted.extend(row.parts);
        }
    }
}

impl Row {
    fn continues(&self, next: &Outline) -> bool {
        let Some(last) = &self.last else { return true };
        let height = self.height.max(next.extent().min(2.0 * self.height));
        let gap = gap(last.bounds, next.bounds);
        gap <= FARTHEST * height && next.extent() >= LOWEST * height && next.extent() <= LONGEST * self.height
            || gap <= FARTHEST * height
                && self.height <= next.extent() / LONGEST
                && self.height >= LOWEST * next.extent()
    }

    fn push(&mut self, next: &Outline) {
        let height = self.height.max(next.extent());
        if let Some(last) = &self.last {
            let overlap = last.bounds.intersect(next.bounds).area();
            let smaller = last.bounds.area().min(next.bounds.area());
            self.apart += usize::from(overlap <= 0.0 && gap(last.bounds, next.bounds) >= APART * height);
            self.on_each_other += usize::from(overlap > 0.0 && overlap >= ON_EACH_OTHER * smaller);
        }
        self.height = height;
        self.centres.push(next.bounds.center());
        self.intricate += usize::from(next.intricate);
        self.last = Some(*next);
    }
}

impl Row {
    /// How many steps from one outline to the next lead along the row.
    fn steps_along(&self) -> f64 {
        let (Some(first), Some(last)) = (self.centres.first(), self.centres.last()) else { return 0.0 };
        let row = *last - *first;
        let along = |pair: &&[Point]| (pair[1] - pair[0]).dot(row) >= ALONG * (pair[1] - pair[0]).hypot() * row.hypot();
        self.centres.windows(2).filter(along).count() as f64
    }
}

fn contains(outer: Rect, inner: Rect) -> bool {
    outer.x0 <= inner.x0 && outer.y0 <= inner.y0 && outer.x1 >= inner.x1 && outer.y1 >= inner.y1
}

/// Distance between two boxes, 0 if they overlap.
fn gap(a: Rect, b: Rect) -> f64 {
    let across = (b.x0 - a.x1).max(a.x0 - b.x1).max(0.0);
    let upward = (b.y0 - a.y1).max(a.y0 - b.y1).max(0.0);
    across.hypot(upward)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawing::{Colour, FillRule, Identity, Properties, SourceFormat};
    use crate::format::Limits;

    /// A round outline of this height at (x, y).
    fn round(builder: &mut DrawingBuilder, outlines: &[(f64, f64, f64)]) {
        let mut path = builder.path();
        for &(x, y, height) in outlines {
            let half = height / 2.0;
            path.move_to(Point::new(x, y));
            path.cubic_to(Point::new(x, y + half), Point::new(x, y + height), Point::new(x + half, y + height));
            path.cubic_to(Point::new(x + half, y + half), Point::new(x + half, y), Point::new(x, y));
            path.close();
        }
        let geometry = Geometry::Area(path.finish().unwrap().unwrap(), FillRule::NonZero);
        let entity = builder.intern("fill");
        let properties = builder.properties([("class", "ink")]);
        let layer = builder.layer("default");
        let item = Item {
            geometry,
            entity,
            layer,
            colour: Colour::ByLayer,
            width: 0.0,
            identity: Identity::None,
            visible: true,
            properties,
            clip: None,
        };
        builder.push(item).unwrap();
    }

    fn marked(draw: impl FnOnce(&mut DrawingBuilder)) -> Vec<bool> {
        let mut builder = DrawingBuilder::new(SourceFormat::Pdf, &Limits::default());
        draw(&mut builder);
        // The extent of the page.
        let mut path = builder.path();
        path.move_to(Point::new(0.0, 0.0));
        path.line_to(Point::new(1_000.0, 1_000.0));
        path.finish().unwrap();
        let drawing = finish(builder, Some(16.0));
        let is_marked = |properties: Properties| drawing.properties(properties).any(|(name, _)| name == PROPERTY);
        for item in &drawing.items {
            assert!(drawing.properties(item.properties).any(|pair| pair == ("class", "ink")));
        }
        drawing.items.iter().map(|item| is_marked(item.properties)).collect()
    }

    #[test]
    fn a_row_of_small_outlines_is_text() {
        let word =
            |builder: &mut DrawingBuilder| (0..4).for_each(|i| round(builder, &[(6.0 * f64::from(i), 50.0, 8.0)]));
        assert_eq!(marked(word), [true; 4]);
        let one_path =
            |builder: &mut DrawingBuilder| round(builder, &[(0.0, 0.0, 8.0), (6.0, 0.0, 8.0), (12.0, 0.0, 8.0)]);
        assert_eq!(marked(one_path), [true]);
    }

    #[test]
    fn columns_and_rooms_are_not() {
        let columns =
            |builder: &mut DrawingBuilder| (0..5).for_each(|i| round(builder, &[(60.0 * f64::from(i), 0.0, 8.0)]));
        assert_eq!(marked(columns), [false; 5], "far apart");
        let touching =
            |builder: &mut DrawingBuilder| (0..5).for_each(|i| round(builder, &[(4.0 * f64::from(i), 0.0, 8.0)]));
        assert_eq!(marked(touching), [false; 5], "touching");
        let large =
            |builder: &mut DrawingBuilder| (0..5).for_each(|i| round(builder, &[(50.0 * f64::from(i), 0.0, 60.0)]));
        assert_eq!(marked(large), [false; 5], "large");
        let two = |builder: &mut DrawingBuilder| (0..2).for_each(|i| round(builder, &[(6.0 * f64::from(i), 0.0, 8.0)]));
        assert_eq!(marked(two), [false; 2], "too few");
        let zigzag = |builder: &mut DrawingBuilder| {
            (0..6).for_each(|i| round(builder, &[(6.0 * f64::from(i), 10.0 * f64::from(i % 2), 8.0)]));
        };
        assert_eq!(marked(zigzag), [false; 6], "not in a row");
        let chairs = |builder: &mut DrawingBuilder| {
            (0..6).for_each(|i| round(builder, &[(10.0 * f64::from(i / 2), 0.0, 8.0 - f64::from(i % 2))]));
        };
        assert_eq!(marked(chairs), [false; 6], "on each other");
        let mixed = |builder: &mut DrawingBuilder| {
            round(builder, &[(0.0, 0.0, 8.0), (6.0, 0.0, 8.0), (12.0, 0.0, 8.0), (18.0, 0.0, 300.0)]);
        };
        assert_eq!(marked(mixed), [false], "one of its outlines is large");
    }
}
