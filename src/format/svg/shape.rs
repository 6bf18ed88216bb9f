//! The basic shapes and `path` → segments.
//!
//! Circles and rounded corners are arcs, not polygons. What a shape needs from its surroundings is the viewport
//! (for percentages) and the font size (for `em`).

use std::f64::consts::{FRAC_PI_2, PI, TAU};

use kurbo::{Affine, Point, Vec2};

use super::number::{Axis, Length};
use super::path::{Pen, draw_path, draw_points};
use super::tree::{Kind, unescape};
use crate::drawing::expand::{Flattening, Polylines};
use crate::drawing::flatten::flatten;
use crate::drawing::nest::Effort;
use crate::drawing::region::resolve_fill;
use crate::drawing::{DrawingBuilder, FillRule, SourceFormat};
use crate::format::{Limits, Pace};

/// What lengths of an element refer to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Metrics {
    pub(super) viewport: (f64, f64),
    pub(super) font_size: f64,
}

/// Attributes of one element, as written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attributes<'s, 'a>(pub(super) &'s [(&'a str, &'a str)]);

impl<'a> Attributes<'_, 'a> {
    pub(super) fn get(self, name: &str) -> Option<&'a str> {
        self.0.iter().find(|(key, _)| *key == name).map(|(_, value)| *value)
    }

    /// A length in user units; `Err` names the attribute if it is not understood.
    pub(super) fn length(self, name: &'static str, axis: Axis, metrics: Metrics) -> Result<Option<f64>, Problem> {
        let Some(text) = self.get(name).filter(|text| !matches!(text.trim(), "" | "auto")) else { return Ok(None) };
        let length = Length::parse(text).ok_or(Problem::Value(name))?;
        Ok(Some(length.resolve(axis, metrics.viewport, metrics.font_size)))
    }
}

/// What was wrong with a shape; what could be drawn is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Problem {
    /// A value that is not understood, by attribute.
    Value(&'static str),
    /// A fault in path data or points at a byte of the value.
    Data(&'static str, usize),
    /// A value longer than `limits.string_bytes`.
    TooLong(&'static str),
}

/// Draws a shape with `pen`. Shapes without extent draw nothing, as the specification asks.
///
/// # Errors
/// The first problem; with data faults, what precedes the fault is drawn.
pub(super) fn draw(
    kind: Kind,
    attributes: Attributes<'_, '_>,
    metrics: Metrics,
    max_bytes: u64,
    pen: &mut Pen<'_, '_>,
) -> Result<(), Problem> {
    let length = |name, axis| attributes.length(name, axis, metrics);
    let data = |name: &'static str| match attributes.get(name) {
        Some(value) if value.len() as u64 > max_bytes => Err(Problem::TooLong(name)),
        value => Ok(unescape(value.unwrap_or(""))),
    };
    match kind {
        Kind::Path => draw_path(&data("d")?, pen).map_err(|fault| Problem::Data("d", fault.0)),
        Kind::Polyline | Kind::Polygon => {
            draw_points(&data("points")?, kind == Kind::Polygon, pen).map_err(|fault| Problem::Data("points", fault.0))
        }
        Kind::Line => {
            let from = Point::new(length("x1", Axis::X)?.unwrap_or(0.0), length("y1", Axis::Y)?.unwrap_or(0.0));
            let to = Point::new(length("x2", Axis::X)?.unwrap_or(0.0), length("y2", Axis::Y)?.unwrap_or(0.0));
            pen.move_to(from);
            pen.line_to(to);
            Ok(())
        }
        Kind::Circle | Kind::Ellipse => {
            let centre = Point::new(length("cx", Axis::X)?.unwrap_or(0.0), length("cy", Axis::Y)?.unwrap_or(0.0));
            let radii = if kind == Kind::Circle {
                let radius = length("r", Axis::Both)?.unwrap_or(0.0);
                Vec2::new(radius, radius)
            } else {
                let (rx, ry) = (length("rx", Axis::X)?, length("ry", Axis::Y)?);
                Vec2::new(rx.or(ry).unwrap_or(0.0), ry.or(rx).unwrap_or(0.0))
            };
            if radii.x < 0.0 || radii.y < 0.0 {
                return Err(Problem::Value(if kind == Kind::Circle { "r" } else { "rx" }));
            }
            if radii.x > 0.0 && radii.y > 0.0 {
                let start = centre + Vec2::new(radii.x, 0.0);
                pen.move_to(start);
                pen.ellipse_arc(centre, radii, 0.0, 0.0, TAU, start);
                pen.close();
            }
            Ok(())
        }
        Kind::Rect => {
            let (x, y) = (length("x", Axis::X)?.unwrap_or(0.0), length("y", Axis::Y)?.unwrap_or(0.0));
            let (width, height) = (length("width", Axis::X)?, length("height", Axis::Y)?);
            let (width, height) = (width.unwrap_or(0.0), height.unwrap_or(0.0));
            if width < 0.0 || height < 0.0 {
                return Err(Problem::Value(if width < 0.0 { "width" } else { "height" }));
            }
            if width == 0.0 || height == 0.0 {
                return Ok(());
            }
            let (rx, ry) = (length("rx", Axis::X)?, length("ry", Axis::Y)?);
            let corner = |own: Option<f64>, other: Option<f64>, side: f64| {
                own.or(other).filter(|radius| *radius > 0.0).unwrap_or(0.0).min(side / 2.0)
            };
            rectangle(pen, x, y, width, height, corner(rx, ry, width), corner(ry, rx, height));
            Ok(())
        }
        _ => Ok(()),
    }
}

/// A rectangle, with elliptical corners if both radii are positive.
fn rectangle(pen: &mut Pen<'_, '_>, x: f64, y: f64, width: f64, height: f64, rx: f64, ry: f64) {
    let (right, bottom) = (x + width, y + height);
    if rx <= 0.0 || ry <= 0.0 {
        pen.move_to(Point::new(x, y));
        pen.line_to(Point::new(right, y));
        pen.line_to(Point::new(right, bottom));
        pen.line_to(Point::new(x, bottom));
        pen.close();
        return;
    }
    let radii = Vec2::new(rx, ry);
    // Centre of each corner, parameter at its start, end point of its arc, and the corner's start.
    let corners = [
        (Point::new(right - rx, y + ry), -FRAC_PI_2, Point::new(right - rx, y), Point::new(right, y + ry)),
        (Point::new(right - rx, bottom - ry), 0.0, Point::new(right, bottom - ry), Point::new(right - rx, bottom)),
        (Point::new(x + rx, bottom - ry), FRAC_PI_2, Point::new(x + rx, bottom), Point::new(x, bottom - ry)),
        (Point::new(x + rx, y + ry), PI, Point::new(x, y + ry), Point::new(x + rx, y)),
    ];
    pen.move_to(Point::new(x + rx, y));
    let mut at = Point::new(x + rx, y);
    for (centre, start, from, to) in corners {
        if from != at {
            pen.line_to(from);
        }
        pen.ellipse_arc(centre, radii, 0.0, start, FRAC_PI_2, to);
        at = to;
    }
    pen.close();
}

/// Chords of a clip outline keep within this part of the radius.
const OUTLINE: Flattening = Flattening { chord_error_m: f64::MAX, chord_error_ratio: 0.0005 };

/// Points of an outline that a clip is made from at most: what bounds the work on it.
const MOST_POINTS: usize = 1 << 20;

/// The area of a shape as rings by even-odd, mapped by `frame`. `None` if it cannot be drawn, or has too many points.
pub(super) fn outline(
    kind: Kind,
    attributes: Attributes<'_, '_>,
    metrics: Metrics,
    frame: Affine,
    rule: FillRule,
    limits: &Limits,
) -> Option<Vec<Vec<Point>>> {
    let mut scratch = DrawingBuilder::new(SourceFormat::Svg, limits);
    let mut writer = scratch.path();
    // What could be drawn before a fault counts here as well.
    let _fault = draw(kind, attributes, metrics, limits.string_bytes, &mut Pen::new(&mut writer, frame));
    let path = writer.finish().ok()??;
    let mut lines = Polylines::default();
    let effort = Effort { pace: Pace::free(), crossings: limits.crossings };
    let segments = scratch.drawing().paths.segments(path);
    flatten(segments, Affine::IDENTITY, &OUTLINE, MOST_POINTS, &effort.pace, &mut lines).ok()?;
    if lines.points.len() > MOST_POINTS {
        return None;
    }
    // What is too entangled to be resolved clips by even-odd.
    resolve_fill(&mut lines, rule, &effort).ok()?;
    Some(lines.iter().map(|(ring, _)| ring.to_vec()).filter(|ring| ring.len() > 2).collect())
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::drawing::Segment;

    fn drawn(kind: Kind, attributes: &[(&str, &str)]) -> Result<String, Problem> {
        let mut builder = DrawingBuilder::new(SourceFormat::Svg, &Limits::default());
        let mut writer = builder.path();
        let metrics = Metrics { viewport: (200.0, 100.0), font_size: 10.0 };
        let mut pen = Pen::new(&mut writer, Affine::IDENTITY);
        draw(kind, Attributes(attributes), metrics, 1000, &mut pen)?;
        let path = writer.finish().unwrap();
        let drawing = builder.finish();
        let letters = path.map(|path| {
            let letter = |segment| match segment {
                Segment::Move(to) => format!("M{to}"),
                Segment::Line(to) => format!("L{to}"),
                Segment::Arc { centre, .. } => format!("A{centre}"),
                Segment::Close => "Z".to_owned(),
                _ => "?".to_owned(),
            };
            drawing.paths.segments(path).map(letter).collect::<Vec<_>>().join(" ")
        });
        Ok(letters.unwrap_or_default())
    }

    #[test]
    fn shapes() {
        let square = drawn(Kind::Rect, &[("x", "10%"), ("width", "1em"), ("height", "5")]).unwrap();
        assert_eq!(square, "M(20, 0) L(30, 0) L(30, 5) L(20, 5) Z");
        let round = drawn(Kind::Rect, &[("width", "10"), ("height", "4"), ("rx", "9")]).unwrap();
        assert_eq!(round, "M(5, 0) A(5, 2) A(5, 2) A(5, 2) A(5, 2) Z");
        assert_eq!(drawn(Kind::Circle, &[("r", "2")]).unwrap(), "M(2, 0) A(0, 0) Z");
        assert_eq!(drawn(Kind::Ellipse, &[("rx", "2"), ("ry", "auto")]).unwrap(), "M(2, 0) A(0, 0) Z");
        assert_eq!(drawn(Kind::Polygon, &[("points", "0,0 1,0 1,1")]).unwrap(), "M(0, 0) L(1, 0) L(1, 1) Z");
        assert_eq!(drawn(Kind::Polyline, &[("points", "0,0 1,0")]).unwrap(), "M(0, 0) L(1, 0)");
        assert_eq!(drawn(Kind::Line, &[("x2", "3")]).unwrap(), "M(0, 0) L(3, 0)");
    }

    #[test]
    fn shapes_without_extent_and_with_faults() {
        assert_eq!(drawn(Kind::Rect, &[("width", "10")]).unwrap(), "");
        assert_eq!(drawn(Kind::Circle, &[]).unwrap(), "");
        assert_eq!(drawn(Kind::Rect, &[("width", "-1"), ("height", "1")]), Err(Problem::Value("width")));
        assert_eq!(drawn(Kind::Line, &[("x2", "wide")]), Err(Problem::Value("x2")));
        assert_eq!(drawn(Kind::Path, &[("d", &"M0 0 ".repeat(300))]), Err(Problem::TooLong("d")));
        assert_eq!(drawn(Kind::Polygon, &[("points", "0,0 1,1 2")]), Err(Problem::Data("points", 8)));
    }
}
