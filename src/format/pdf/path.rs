//! Paths while they are built, in page space, and how they are written into a drawing.
//!
//! Producers draw lines as rectangles without height and as filled slivers of no area. A part of a path whose points
//! all lie on one line encloses nothing: it is written as the line it shows.

use kurbo::PathEl;

use crate::drawing::{BuildError, DrawingBuilder, Path, PathWriter, Point, Rect};

/// Greatest distance from a line of points that lie on it, points.
const FLAT: f64 = 1e-3;
/// Longest subpath that is looked at when it is stroked (a rectangle).
const LONGEST_FLAT_STROKE: usize = 6;

/// A step of a path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Element {
    Move(Point),
    Line(Point),
    Cubic(Point, Point, Point),
    Close,
}

impl Element {
    pub(super) fn as_kurbo(&self) -> PathEl {
        match *self {
            Self::Move(to) => PathEl::MoveTo(to),
            Self::Line(to) => PathEl::LineTo(to),
            Self::Cubic(a, b, to) => PathEl::CurveTo(a, b, to),
            Self::Close => PathEl::ClosePath,
        }
    }

    fn points(&self) -> impl Iterator<Item = Point> {
        let (first, second, third) = match *self {
            Self::Move(to) | Self::Line(to) => (Some(to), None, None),
            Self::Cubic(a, b, to) => (Some(a), Some(b), Some(to)),
            Self::Close => (None, None, None),
        };
        first.into_iter().chain(second).chain(third)
    }
}

/// Bounds of all points, control points included; `None` for a path without points or with one that is not finite.
pub(super) fn bounds(path: &[Element]) -> Option<Rect> {
    let mut bounds: Option<Rect> = None;
    for point in path.iter().flat_map(Element::points) {
        bounds = Some(bounds.map_or(Rect::from_points(point, point), |bounds| bounds.union_pt(point)));
    }
    // Extremes of all points: not finite if one of them is not, as `min` and `max` keep infinities; NaN is looked for.
    let finite = path.iter().flat_map(Element::points).all(|point| point.is_finite());
    bounds.filter(|_| finite)
}

/// Subpaths: each starts with a move.
pub(super) fn subpaths(path: &[Element]) -> impl Iterator<Item = &[Element]> {
    path.chunk_by(|_, next| !matches!(next, Element::Move(_)))
}

/// What a subpath shows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Shown {
    /// Nothing: a place without extent.
    Nothing,
    /// The line between two points.
    Line(Point, Point),
    /// Itself.
    Path,
}

/// What a filled subpath shows.
pub(super) fn shown_filled(subpath: &[Element]) -> Shown {
    let Some(Element::Move(start)) = subpath.first() else { return Shown::Nothing };
    let distance = |point: &Point| (*point - *start).hypot2();
    let points = || subpath.iter().flat_map(Element::points);
    let Some(far) = points().max_by(|a, b| distance(a).total_cmp(&distance(b))) else { return Shown::Nothing };
    let length = (far - *start).hypot();
    if length <= FLAT {
        return Shown::Nothing;
    }
    let direction = (far - *start) / length;
    let (mut least, mut most) = (0.0f64, 0.0f64);
    for point in points() {
        let step = point - *start;
        if step.cross(direction).abs() > FLAT {
            return Shown::Path;
        }
        least = least.min(step.dot(direction));
        most = most.max(step.dot(direction));
    }
    Shown::Line(*start + direction * least, *start + direction * most)
}

/// What a stroked subpath shows.
pub(super) fn shown_stroked(subpath: &[Element]) -> Shown {
    match subpath {
        [Element::Move(_)] | [Element::Move(_), Element::Close] => Shown::Nothing,
        [Element::Move(from), Element::Line(to)] if from == to => Shown::Nothing,
        [.., Element::Close] if subpath.len() <= LONGEST_FLAT_STROKE => shown_filled(subpath),
        _ => Shown::Path,
    }
}

/// Writes one path out of the subpaths for which `keep` gives something else than nothing.
pub(super) fn write<'e>(
    builder: &mut DrawingBuilder,
    subpaths: impl Iterator<Item = (&'e [Element], Shown)>,
) -> Result<Option<Path>, BuildError> {
    let mut writer = builder.path();
    for (subpath, shown) in subpaths {
        match shown {
            Shown::Nothing => {}
            Shown::Line(from, to) => {
                writer.move_to(from);
                writer.line_to(to);
            }
            Shown::Path => write_elements(&mut writer, subpath),
        }
    }
    writer.finish()
}

fn write_elements(writer: &mut PathWriter<'_>, elements: &[Element]) {
    // A last line to the start and a close are one closing: the ring must not get its first point twice.
    let start = match elements.first() {
        Some(Element::Move(start)) => Some(*start),
        _ => None,
    };
    for (index, element) in elements.iter().enumerate() {
        match *element {
            Element::Move(to) => writer.move_to(to),
            Element::Line(to) => {
                let closes = Some(to) == start && elements.get(index + 1) == Some(&Element::Close);
                if !closes {
                    writer.line_to(to);
                }
            }
            Element::Cubic(a, b, to) => writer.cubic_to(a, b, to),
            Element::Close => writer.close(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rectangle(x: f64, y: f64, width: f64, height: f64) -> Vec<Element> {
        let at = |dx: f64, dy: f64| Point::new(x + dx, y + dy);
        vec![
            Element::Move(at(0.0, 0.0)),
            Element::Line(at(width, 0.0)),
            Element::Line(at(width, height)),
            Element::Line(at(0.0, height)),
            Element::Close,
        ]
    }

    #[test]
    fn what_encloses_nothing_is_a_line() {
        let line = Shown::Line(Point::new(10.0, 20.0), Point::new(110.0, 20.0));
        assert_eq!(shown_filled(&rectangle(10.0, 20.0, 100.0, 0.0)), line);
        assert_eq!(shown_stroked(&rectangle(10.0, 20.0, 100.0, 0.0)), line);
        assert_eq!(shown_filled(&rectangle(10.0, 20.0, 100.0, 0.1)), Shown::Path);
        assert_eq!(shown_filled(&rectangle(10.0, 20.0, 0.0, 0.0)), Shown::Nothing);
    }

    #[test]
    fn subpaths_start_with_a_move() {
        let mut path = rectangle(0.0, 0.0, 1.0, 1.0);
        path.extend(rectangle(5.0, 5.0, 1.0, 1.0));
        assert_eq!(subpaths(&path).map(<[Element]>::len).collect::<Vec<_>>(), [5, 5]);
    }
}
