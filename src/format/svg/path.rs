//! Path data and point lists → path segments in drawing coordinates.
//!
//! Arcs stay arcs: the endpoint form of SVG is turned into centre and half axes (SVG 1.1, appendix F.6), which
//! any transform keeps exact. Quadratic curves become cubic ones, also exactly. A fault in the data ends the
//! path there; what came before is drawn, as the specification asks.

use kurbo::{Affine, Point, Vec2};

use super::number::Scanner;
use crate::drawing::PathWriter;

/// Writes segments given in user coordinates, and remembers what kind of path they make.
#[derive(Debug)]
pub(super) struct Pen<'w, 'd> {
    writer: &'w mut PathWriter<'d>,
    to_drawing: Affine,
    current: Point,
    start: Point,
    /// A subpath has a point to continue from.
    open: bool,
    /// Segments of the open subpath.
    num_segments: u32,
    shape: PathShape,
}

/// What a path consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct PathShape {
    /// It has a curve or a subpath of two or more lines: it can hold an area.
    pub(super) can_be_filled: bool,
}

impl<'w, 'd> Pen<'w, 'd> {
    /// A pen whose user coordinates are mapped by `to_drawing`.
    pub(super) fn new(writer: &'w mut PathWriter<'d>, to_drawing: Affine) -> Self {
        Self {
            writer,
            to_drawing,
            current: Point::ZERO,
            start: Point::ZERO,
            open: false,
            num_segments: 0,
            shape: PathShape::default(),
        }
    }

    pub(super) fn shape(&self) -> PathShape {
        self.shape
    }

    pub(super) fn move_to(&mut self, to: Point) {
        self.current = to;
        self.start = to;
        self.open = false;
        self.num_segments = 0;
    }

    /// A `move` is only written when something follows, so that trailing moves leave no empty subpaths.
    fn begin(&mut self) {
        if !self.open {
            self.writer.move_to(self.to_drawing * self.current);
            self.open = true;
        }
        self.num_segments += 1;
    }

    pub(super) fn line_to(&mut self, to: Point) {
        self.begin();
        self.writer.line_to(self.to_drawing * to);
        self.current = to;
        self.shape.can_be_filled |= self.num_segments >= 2;
    }

    pub(super) fn cubic_to(&mut self, a: Point, b: Point, to: Point) {
        self.begin();
        self.writer.cubic_to(self.to_drawing * a, self.to_drawing * b, self.to_drawing * to);
        self.current = to;
        self.shape.can_be_filled = true;
    }

    fn quadratic_to(&mut self, control: Point, to: Point) {
        let from = self.current;
        self.cubic_to(from.lerp(control, 2.0 / 3.0), to.lerp(control, 2.0 / 3.0), to);
    }

    /// Part of an axis-parallel ellipse turned by `rotation` (radians), from parameter `start` over `sweep`.
    pub(super) fn ellipse_arc(&mut self, centre: Point, radii: Vec2, rotation: f64, start: f64, sweep: f64, to: Point) {
        self.begin();
        let (sin, cos) = rotation.sin_cos();
        let u = Vec2::new(radii.x * cos, radii.x * sin);
        let v = Vec2::new(-radii.y * sin, radii.y * cos);
        self.writer.arc(self.to_drawing * centre, self.map(u), self.map(v), start, sweep);
        self.current = to;
        self.shape.can_be_filled = true;
    }

    fn map(&self, vector: Vec2) -> Vec2 {
        let [a, b, c, d, _, _] = self.to_drawing.as_coeffs();
        Vec2::new(a * vector.x + c * vector.y, b * vector.x + d * vector.y)
    }

    pub(super) fn close(&mut self) {
        if self.open {
            self.writer.close();
        }
        self.move_to(self.start);
    }

    /// The arc command of path data: from the current point to `to` (SVG 1.1, F.6.5).
    fn arc_to(&mut self, radii: Vec2, x_axis_degrees: f64, large: bool, positive: bool, to: Point) {
        let from = self.current;
        let (mut rx, mut ry) = (radii.x.abs(), radii.y.abs());
        if from == to {
            return;
        }
        if rx == 0.0 || ry == 0.0 {
            self.line_to(to);
            return;
        }
        let rotation = x_axis_degrees.to_radians();
        let (sin, cos) = rotation.sin_cos();
        let half = (from - to) / 2.0;
        let (x, y) = (cos * half.x + sin * half.y, -sin * half.x + cos * half.y);
        let too_small = (x / rx).powi(2) + (y / ry).powi(2);
        if too_small > 1.0 {
            rx *= too_small.sqrt();
            ry *= too_small.sqrt();
        }
        let product = (rx * y).powi(2) + (ry * x).powi(2);
        let excess = ((rx * ry).powi(2) - product) / product;
        let factor = excess.max(0.0).sqrt() * if large == positive { -1.0 } else { 1.0 };
        let (cx, cy) = (factor * rx * y / ry, -factor * ry * x / rx);
        let middle = from.midpoint(to);
        let centre = Point::new(cos * cx - sin * cy + middle.x, sin * cx + cos * cy + middle.y);
        let first = ((y - cy) / ry).atan2((x - cx) / rx);
        let last = ((-y - cy) / ry).atan2((-x - cx) / rx);
        let mut sweep = last - first;
        if positive && sweep < 0.0 {
            sweep += std::f64::consts::TAU;
        } else if !positive && sweep > 0.0 {
            sweep -= std::f64::consts::TAU;
        }
        self.ellipse_arc(centre, Vec2::new(rx, ry), rotation, first, sweep, to);
    }
}

/// Where data stopped being understood: a byte offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fault(pub(super) usize);

/// Draws path data.
///
/// # Errors
/// The offset of the first fault; everything before it is drawn.
pub(super) fn draw_path(data: &str, pen: &mut Pen<'_, '_>) -> Result<(), Fault> {
    let mut scanner = Scanner::new(data);
    let mut command = None;
    // Second control point of the last curve, for smooth ones, and the kind of curve it belongs to.
    let mut control: Option<(Point, u8)> = None;
    let mut first = true;
    loop {
        if scanner.at_end() {
            return Ok(());
        }
        let at = scanner.position();
        if let Some(letter) = scanner.peek().filter(u8::is_ascii_alphabetic) {
            scanner.skip_byte();
            command = Some(letter);
        } else if !scanner.at_number() {
            return Err(Fault(at));
        }
        let Some(letter) = command else { return Err(Fault(at)) };
        if first && !matches!(letter, b'm' | b'M') {
            return Err(Fault(at));
        }
        first = false;
        let kind = letter.to_ascii_lowercase();
        let origin = if letter.is_ascii_lowercase() { pen.current } else { Point::ZERO };
        let mut number = || scanner.number().ok_or(Fault(at));
        let mut point = || Ok(Point::new(origin.x + number()?, origin.y + number()?));
        let smooth_from = |of: u8, pen: &Pen<'_, '_>| match control {
            Some((control, kind)) if kind == of => pen.current + (pen.current - control),
            _ => pen.current,
        };
        let mut next_control = None;
        match kind {
            b'm' => {
                pen.move_to(point()?);
                // Further pairs after a move are lines.
                command = Some(if letter == b'm' { b'l' } else { b'L' });
            }
            b'l' => pen.line_to(point()?),
            b'h' => pen.line_to(Point::new(origin.x + number()?, pen.current.y)),
            b'v' => pen.line_to(Point::new(pen.current.x, origin.y + number()?)),
            b'c' => {
                let (a, b, to) = (point()?, point()?, point()?);
                pen.cubic_to(a, b, to);
                next_control = Some((b, b'c'));
            }
            b's' => {
                let a = smooth_from(b'c', pen);
                let (b, to) = (point()?, point()?);
                pen.cubic_to(a, b, to);
                next_control = Some((b, b'c'));
            }
            b'q' => {
                let (b, to) = (point()?, point()?);
                pen.quadratic_to(b, to);
                next_control = Some((b, b'q'));
            }
            b't' => {
                let b = smooth_from(b'q', pen);
                pen.quadratic_to(b, point()?);
                next_control = Some((b, b'q'));
            }
            b'a' => {
                let radii = Vec2::new(number()?, number()?);
                let rotation = number()?;
                let large = scanner.flag().ok_or(Fault(at))?;
                let positive = scanner.flag().ok_or(Fault(at))?;
                let mut number = || scanner.number().ok_or(Fault(at));
                let to = Point::new(origin.x + number()?, origin.y + number()?);
                pen.arc_to(radii, rotation, large, positive, to);
            }
            b'z' => {
                pen.close();
                // Numbers directly after a close are a fault.
                command = None;
            }
            _ => return Err(Fault(at)),
        }
        control = next_control;
    }
}

/// Draws a list of points, closed or not. A single odd number at the end is a fault; what precedes it is drawn.
///
/// # Errors
/// The offset of the first fault.
pub(super) fn draw_points(data: &str, closed: bool, pen: &mut Pen<'_, '_>) -> Result<(), Fault> {
    let mut scanner = Scanner::new(data);
    let mut num_points = 0u64;
    let outcome = loop {
        if scanner.at_end() {
            break Ok(());
        }
        let at = scanner.position();
        let (Some(x), Some(y)) = (scanner.number(), scanner.number()) else { break Err(Fault(at)) };
        let to = Point::new(x, y);
        if num_points == 0 {
            pen.move_to(to)
        } else {
            pen.line_to(to)
        }
        num_points += 1;
    };
    if closed && num_points >= 2 {
        pen.close();
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawing::{DrawingBuilder, Segment, SourceFormat};
    use crate::format::Limits;

    fn drawn(data: &str) -> (Vec<String>, Result<(), Fault>) {
        let mut builder = DrawingBuilder::new(SourceFormat::Svg, &Limits::default());
        let mut writer = builder.path();
        let outcome = draw_path(data, &mut Pen::new(&mut writer, Affine::IDENTITY));
        let path = writer.finish().unwrap();
        let drawing = builder.finish();
        let show = |p: Point| format!("{},{}", (p.x * 1e6).round() / 1e6, (p.y * 1e6).round() / 1e6);
        let segments = path.map(|path| {
            let each = drawing.paths.segments(path).map(|segment| match segment {
                Segment::Move(to) => format!("M{}", show(to)),
                Segment::Line(to) => format!("L{}", show(to)),
                Segment::Cubic(a, b, to) => format!("C{} {} {}", show(a), show(b), show(to)),
                Segment::Arc { centre, u, start, sweep, .. } => {
                    format!("A{} r{:.3} {:.3} {:.3}", show(centre), u.hypot(), start, sweep)
                }
                Segment::Close => "Z".to_owned(),
                other => format!("{other:?}"),
            });
            each.collect()
        });
        (segments.unwrap_or_default(), outcome)
    }

    fn whole(data: &str) -> String {
        let (segments, outcome) = drawn(data);
        assert_eq!(outcome, Ok(()), "{data}");
        segments.join(" ")
    }

    #[test]
    fn commands_relative_absolute_and_implicit() {
        assert_eq!(whole("M1 2 3 4L5 6"), "M1,2 L3,4 L5,6");
        assert_eq!(whole("m1 2 3 4l5 6"), "M1,2 L4,6 L9,12");
        assert_eq!(whole("M0 0h10v5H2V1z"), "M0,0 L10,0 L10,5 L2,5 L2,1 Z");
        assert_eq!(whole("M1,1l1,0z m5 5h1"), "M1,1 L2,1 Z M6,6 L7,6");
        assert_eq!(whole("M0 0L1 0zL5 5"), "M0,0 L1,0 Z M0,0 L5,5");
        assert_eq!(whole("M0 0M5 5M7 7"), "");
        assert_eq!(whole("M0 0L1 1M5 5"), "M0,0 L1,1");
    }

    #[test]
    fn curves_and_their_smooth_forms() {
        assert_eq!(whole("M0 0C1 1 2 1 3 0S5-1 6 0"), "M0,0 C1,1 2,1 3,0 C4,-1 5,-1 6,0");
        assert_eq!(whole("M0 0Q3 3 6 0T12 0"), "M0,0 C2,2 4,2 6,0 C8,-2 10,-2 12,0");
        assert_eq!(whole("M0 0S1 1 2 0"), "M0,0 C0,0 1,1 2,0");
    }

    #[test]
    fn arcs_get_their_centre() {
        assert_eq!(whole("M10 0A10 10 0 0 1 0 10"), "M10,0 A0,0 r10.000 0.000 1.571");
        assert_eq!(whole("M10 0A10 10 0 1 0 0 10"), "M10,0 A0,0 r10.000 0.000 -4.712");
        assert_eq!(whole("M10 0a10 10 0 01-10 10"), "M10,0 A0,0 r10.000 0.000 1.571");
        // Radii that are too small grow until the arc reaches.
        assert_eq!(whole("M-10 0A1 1 0 0 1 10 0"), "M-10,0 A0,0 r10.000 3.142 3.142");
        assert_eq!(whole("M0 0A0 5 0 0 1 10 0"), "M0,0 L10,0");
        assert_eq!(whole("M0 0A5 5 0 0 1 0 0"), "");
    }

    #[test]
    fn everything_before_a_fault_is_drawn() {
        for (data, expected, at) in [
            ("M0 0L1 1L2", "M0,0 L1,1", 8),
            ("M0 0L1 1 ,, 5", "M0,0 L1,1", 10),
            ("L1 1", "", 0),
            ("M0 0L1 1x", "M0,0 L1,1", 8),
            ("M0 0h1z5", "M0,0 L1,0 Z", 7),
            ("M0 0 A1 1 0 2 0 5 5", "", 5),
        ] {
            let (segments, outcome) = drawn(data);
            assert_eq!((segments.join(" ").as_str(), outcome), (expected, Err(Fault(at))), "{data}");
        }
    }

    #[test]
    fn transforms_keep_arcs_exact() {
        let mut builder = DrawingBuilder::new(SourceFormat::Svg, &Limits::default());
        let mut writer = builder.path();
        let squeeze = Affine::scale_non_uniform(2.0, -1.0);
        draw_path("M1 0A1 1 0 0 1 0 1", &mut Pen::new(&mut writer, squeeze)).unwrap();
        let path = writer.finish().unwrap().unwrap();
        let Some(Segment::Arc { u, v, .. }) = builder.drawing().paths.segments(path).nth(1) else { panic!("no arc") };
        assert_eq!((u, v), (Vec2::new(2.0, 0.0), Vec2::new(0.0, -1.0)));
    }
}
