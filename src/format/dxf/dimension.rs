//! DIMENSION and its relatives: the block that draws them or, without it, what their points say.
//!
//! CAD programs keep the picture of a dimension in an anonymous block, in world coordinates. Where that block is
//! missing or empty, [`Sketch`] draws extension lines, the dimension line (or arc) and the text from the definition
//! points: without arrows and gaps, in decimals of the dimension style. That it was done is an issue of its own.
//!
//! Angles and directions follow the DXF reference, "DIMENSION": group 13, 14, 15 and 10 are in the world, 11 and 16
//! in the object coordinate system.

use std::f64::consts::{PI, TAU};

use super::codes;
use super::reader::{Common, Reader, shown};
use crate::drawing::{Affine, Geometry, HorizontalAlign, Point, Symbol, Text, Vec2, VerticalAlign};
use crate::format::ReadError;

/// What of a dimension style shows in the text.
#[derive(Debug, Clone)]
pub(super) struct DimensionStyle<'a> {
    /// Height of the text, drawing units; 0 if not stated.
    height: f64,
    /// Factor of lengths (DIMLFAC).
    factor: f64,
    /// Decimals of lengths (DIMDEC) and of angles (DIMADEC; below 0 like lengths).
    decimals: i64,
    angle_decimals: i64,
    /// Text around the number (DIMPOST), `<>` where the number stands.
    post: &'a [u8],
}

impl Default for DimensionStyle<'_> {
    fn default() -> Self {
        Self { height: 0.0, factor: 1.0, decimals: 4, angle_decimals: 0, post: b"" }
    }
}

/// A dimension as its tags say it.
#[derive(Debug, Default)]
struct RawDimension<'a> {
    block: &'a [u8],
    style: &'a [u8],
    text: &'a [u8],
    /// Definition points 10 to 16, if given.
    points: [Option<[f64; 3]>; 7],
    /// Kind and flags (group 70).
    kind: i64,
    measurement: Option<f64>,
    /// Direction of the dimension line (50), slant of extension lines (52), of the text (53), of the axes (51), degrees.
    angle: f64,
    oblique: f64,
    text_angle: f64,
    horizontal: f64,
}

/// What is drawn instead of the block.
#[derive(Debug, Default, PartialEq)]
struct Sketch {
    lines: Vec<[Point; 2]>,
    /// Centre, radius, start and sweep.
    arc: Option<(Point, f64, f64, f64)>,
    /// What was measured: drawing units, or radians.
    measured: f64,
    is_angle: bool,
    /// Before the number: a radius or a diameter.
    mark: &'static str,
    /// Where the text stands unless the drawing says so, and its direction.
    text_at: Point,
    direction: Vec2,
}

impl<'a> Reader<'a, '_> {
    /// DIMENSION, ARC_DIMENSION and LARGE_RADIAL_DIMENSION.
    pub(super) fn dimension(&mut self, kind: Symbol, name: &[u8]) -> Result<(), ReadError> {
        let mut common = Common::new();
        let mut raw = RawDimension::default();
        while let Some(tag) = self.field() {
            match tag.code {
                1 => raw.text = tag.value,
                2 => raw.block = tag.value,
                3 => raw.style = tag.value,
                10..=16 | 20..=26 | 30..=36 => {
                    let value = self.real(tag);
                    let point = raw.points[tag.code as usize % 10].get_or_insert([0.0; 3]);
                    point[tag.code as usize / 10 - 1] = value;
                }
                42 => raw.measurement = Some(self.real(tag)),
                50 => raw.angle = self.real(tag),
                51 => raw.horizontal = self.real(tag),
                52 => raw.oblique = self.real(tag),
                53 => raw.text_angle = self.real(tag),
                70 => raw.kind = self.integer(tag),
                _ => self.common(&mut common, tag),
            }
        }
        if self.is_elsewhere(kind, &common) {
            return Ok(());
        }
        // Copies of a dimension share its block and are moved by this vector.
        let offset = raw.points[2].filter(|point| point.iter().all(|part| part.is_finite())).unwrap_or([0.0; 3]);
        let offset = common.ocs().point(offset).to_vec2();
        let block = (!raw.block.is_empty()).then(|| self.block(raw.block));
        if block.is_some_and(|block| self.may_show(block) && !self.is_blank(block)) {
            return self.push_picture(kind, &common, raw.block, Affine::translate(offset));
        }
        let kind_of_dimension = if name == b"ARC_DIMENSION" { ARC_LENGTH } else { raw.kind & 15 };
        let is_jogged = name == b"LARGE_RADIAL_DIMENSION";
        match raw.sketch(&common, if is_jogged { RADIUS } else { kind_of_dimension }) {
            Some(sketch) => self.push_sketch(kind, &common, &raw, &sketch),
            None => self.push_picture(kind, &common, b"", Affine::IDENTITY),
        }
    }

    fn push_sketch(
        &mut self,
        kind: Symbol,
        common: &Common,
        raw: &RawDimension<'a>,
        sketch: &Sketch,
    ) -> Result<(), ReadError> {
        let handle = common.handle;
        self.fixed(&codes::DIMENSION_SKETCHED, || format!("{handle:X}, block `{}`", shown(raw.block)));
        let mut path = self.out.path();
        for [from, to] in &sketch.lines {
            if from != to {
                path.move_to(*from);
                path.line_to(*to);
            }
        }
        if let Some((centre, radius, start, sweep)) = sketch.arc {
            path.circle_arc(centre, radius, start, sweep);
        }
        if path.is_empty() {
            self.left_out(&codes::NO_EXTENT, kind, common);
            return Ok(());
        }
        let path = path.finish()?;
        let is_drawn = path.is_some();
        self.push_line(kind, common, path)?;
        let value = self.dimension_text(raw, sketch)?;
        if !is_drawn || value.is_empty() {
            return Ok(());
        }
        let given =
            raw.points[1].map(|point| common.ocs().point(point)).filter(|at| at.is_finite() && *at != Point::ZERO);
        let direction = if raw.text_angle != 0.0 && raw.text_angle.is_finite() {
            let (sin, cos) = raw.text_angle.to_radians().sin_cos();
            common.ocs().vector(cos, sin)
        } else {
            readable(sketch.direction)
        };
        let text = Text {
            value,
            tag: None,
            at: given.unwrap_or(sketch.text_at),
            direction,
            height: self.dimension_style(raw.style).height,
            horizontal: HorizontalAlign::Centre,
            vertical: if given.is_some() { VerticalAlign::Middle } else { VerticalAlign::Bottom },
            box_width: None,
        };
        let text = self.out.text(text);
        self.push_part(kind, common, Geometry::Text(text))
    }

    /// The text a user wrote, `<>` in it replaced by what was measured; a single blank suppresses the text.
    fn dimension_text(&mut self, raw: &RawDimension<'a>, sketch: &Sketch) -> Result<String, ReadError> {
        let written = self.join_mtext(&[raw.text])?;
        if !raw.text.is_empty() && written.trim().is_empty() {
            return Ok(String::new());
        }
        if !written.is_empty() && !written.contains("<>") {
            return Ok(written);
        }
        let style = self.dimension_style(raw.style);
        let stated = raw.measurement.filter(|value| value.is_finite() && *value > 0.0);
        let measured = stated.unwrap_or(sketch.measured);
        let (number, decimals) = if sketch.is_angle {
            (measured.to_degrees(), if style.angle_decimals < 0 { style.decimals } else { style.angle_decimals })
        } else {
            (measured * style.factor, style.decimals)
        };
        let mut text = decimal(number, decimals);
        if sketch.is_angle {
            text.push('°');
        } else {
            text.insert_str(0, sketch.mark);
        }
        let post = self.join_mtext(&[style.post])?;
        if !sketch.is_angle && !post.is_empty() {
            text = if post.contains("<>") { post.replace("<>", &text) } else { text + &post };
        }
        Ok(if written.is_empty() { text } else { written.replace("<>", &text) })
    }

    fn dimension_style(&mut self, name: &'a [u8]) -> DimensionStyle<'a> {
        let name = self.name(name).to_lowercase();
        let found = self.dimension_styles.get(&name).or_else(|| self.dimension_styles.get("standard"));
        found.cloned().unwrap_or_default()
    }

    /// A record of the DIMSTYLE table.
    pub(super) fn dimension_style_record(&mut self) {
        let mut style = DimensionStyle::default();
        let mut name = None;
        let mut scale = 1.0;
        while let Some(tag) = self.field() {
            match tag.code {
                2 => name = Some(tag.value),
                3 => style.post = tag.value,
                40 => scale = self.real(tag),
                140 => style.height = self.real(tag),
                144 => style.factor = self.real(tag),
                179 => style.angle_decimals = self.integer(tag),
                271 => style.decimals = self.integer(tag),
                _ => {}
            }
        }
        let Some(name) = name else { return };
        // A scale of 0 is one that depends on the viewport.
        let scale = if scale.is_finite() && scale > 0.0 { scale } else { 1.0 };
        style.height = if style.height.is_finite() { (style.height * scale).abs() } else { 0.0 };
        style.factor = if style.factor.is_finite() && style.factor != 0.0 { style.factor.abs() } else { 1.0 };
        let name = self.name(name).to_lowercase();
        self.dimension_styles.entry(name).or_insert(style);
    }

    /// Whether a block is defined and draws nothing.
    fn is_blank(&self, block: crate::drawing::BlockId) -> bool {
        let is_open = self.open_block == Some(block);
        self.out.drawing().block(block).is_some_and(|block| block.defined && block.items.is_empty()) && !is_open
    }
}

/// Kinds of group 70.
const ALIGNED: i64 = 1;
const ANGULAR: i64 = 2;
const DIAMETER: i64 = 3;
const RADIUS: i64 = 4;
const ANGULAR_BY_POINTS: i64 = 5;
const ORDINATE: i64 = 6;
/// The number some programs give to ARC_DIMENSION.
const ARC_LENGTH: i64 = 8;
/// The flag of an ordinate along x.
const ORDINATE_X: i64 = 64;

impl RawDimension<'_> {
    /// What the points amount to; `None` if those the kind needs are missing.
    fn sketch(&self, common: &Common, kind: i64) -> Option<Sketch> {
        let ocs = common.ocs();
        let point = |number: usize| -> Option<Point> {
            let [x, y, z] = self.points[number - 10]?;
            let point = if number == 16 { ocs.point([x, y, z]) } else { Point::new(x, y) };
            point.is_finite().then_some(point)
        };
        match kind {
            ANGULAR => {
                let (a, b, c, d) = (point(13)?, point(14)?, point(15)?, point(10)?);
                angle_of_lines([a, b], [c, d], point(16).unwrap_or(d))
            }
            ANGULAR_BY_POINTS => angle_at(point(15)?, point(13)?, point(14)?, point(10)?),
            ARC_LENGTH => {
                let (centre, from, to) = (point(15)?, point(13)?, point(14)?);
                let mut sketch = angle_at(centre, from, to, point(10)?)?;
                sketch.measured *= (from - centre).hypot();
                sketch.is_angle = false;
                Some(sketch)
            }
            DIAMETER | RADIUS => {
                let (from, to) = (point(10)?, point(15)?);
                let mark = if kind == RADIUS { "R" } else { "Ø" };
                Some(Sketch { mark, ..straight(from, to, Vec::new()) })
            }
            ORDINATE => {
                let (origin, feature, end) = (point(10)?, point(13)?, point(14)?);
                let (sin, cos) = (-self.horizontal).to_radians().sin_cos();
                let (x_axis, y_axis) = (ocs.vector(cos, sin), ocs.vector(-sin, cos));
                let axis = if self.kind & ORDINATE_X != 0 { x_axis } else { y_axis };
                let measured = (feature - origin).dot(axis).abs();
                Some(Sketch { measured, text_at: end, ..straight(feature, end, Vec::new()) })
            }
            _ => {
                let (at, from, to) = (point(10)?, point(13)?, point(14)?);
                let along = if kind == ALIGNED && from != to {
                    (to - from).normalize()
                } else {
                    let (sin, cos) = self.angle.to_radians().sin_cos();
                    ocs.vector(cos, sin)
                };
                let slant = if self.oblique == 0.0 || !self.oblique.is_finite() { 90.0 } else { self.oblique };
                let (sin, cos) = slant.to_radians().sin_cos();
                let extension = Vec2::new(along.x * cos - along.y * sin, along.x * sin + along.y * cos);
                // Where the extension line of a point meets the dimension line.
                let foot = |point: Point| {
                    let side = along.cross(extension);
                    point + extension * (along.cross(at - point) / side)
                };
                let (a, b) = (foot(from), foot(to));
                (a.is_finite() && b.is_finite()).then(|| straight(a, b, vec![[from, a], [to, b]]))
            }
        }
    }
}

/// A dimension line from `a` to `b` and its extension lines.
fn straight(a: Point, b: Point, mut lines: Vec<[Point; 2]>) -> Sketch {
    lines.push([a, b]);
    Sketch { lines, measured: (b - a).hypot(), text_at: a.midpoint(b), direction: b - a, ..Sketch::default() }
}

/// The angle at `vertex` from one point to another, its arc through `on_arc`.
fn angle_at(vertex: Point, from: Point, to: Point, on_arc: Point) -> Option<Sketch> {
    let radius = (on_arc - vertex).hypot();
    let direction = |point: Point| (point - vertex).atan2();
    let turn = (direction(to) - direction(from)).rem_euclid(TAU);
    let passes = (direction(on_arc) - direction(from)).rem_euclid(TAU);
    let (start, sweep) = if passes <= turn { (direction(from), turn) } else { (direction(to), TAU - turn) };
    if radius == 0.0 || sweep == 0.0 || !radius.is_finite() {
        return None;
    }
    let on = |point: Point| vertex + Vec2::from_angle(direction(point)) * radius;
    Some(arc_sketch(vertex, radius, start, sweep, vec![[from, on(from)], [to, on(to)]]))
}

/// The angle between two lines, in the sector that holds `on_arc`.
fn angle_of_lines(first: [Point; 2], second: [Point; 2], on_arc: Point) -> Option<Sketch> {
    let (u, v) = (first[1] - first[0], second[1] - second[0]);
    let side = u.cross(v);
    if side == 0.0 {
        return None;
    }
    let vertex = first[0] + u * ((second[0] - first[0]).cross(v) / side);
    let radius = (on_arc - vertex).hypot();
    if !vertex.is_finite() || radius == 0.0 {
        return None;
    }
    let mut rays = [u.atan2(), (-u).atan2(), v.atan2(), (-v).atan2()];
    rays.sort_by(f64::total_cmp);
    let wanted = (on_arc - vertex).atan2();
    let before = rays.iter().rev().find(|ray| **ray <= wanted).copied().unwrap_or(rays[3] - TAU);
    let after = rays.iter().find(|ray| **ray > wanted).copied().unwrap_or(rays[0] + TAU);
    let mut lines = Vec::new();
    for angle in [before, after] {
        // From the end of its line that is nearer, unless the line reaches the arc.
        let end = vertex + Vec2::from_angle(angle) * radius;
        let own = if u.cross(end - vertex).abs() * v.hypot() <= v.cross(end - vertex).abs() * u.hypot() {
            first
        } else {
            second
        };
        let reaches = (end - own[0]).dot(end - own[1]) <= 0.0;
        let near = if (end - own[0]).hypot() < (end - own[1]).hypot() { own[0] } else { own[1] };
        if !reaches {
            lines.push([near, end]);
        }
    }
    Some(arc_sketch(vertex, radius, before, after - before, lines))
}

fn arc_sketch(centre: Point, radius: f64, start: f64, sweep: f64, lines: Vec<[Point; 2]>) -> Sketch {
    let middle = Vec2::from_angle(start + sweep / 2.0);
    Sketch {
        lines,
        arc: Some((centre, radius, start, sweep)),
        measured: sweep,
        is_angle: true,
        mark: "",
        text_at: centre + middle * radius,
        direction: Vec2::new(-middle.y, middle.x),
    }
}

/// A direction turned so that text along it is not upside down.
fn readable(direction: Vec2) -> Vec2 {
    if !direction.is_finite() || direction == Vec2::ZERO {
        return Vec2::new(1.0, 0.0);
    }
    let angle = direction.atan2();
    if angle > PI / 2.0 + 1e-9 || angle <= -PI / 2.0 + 1e-9 { -direction } else { direction }
}

/// A number with at most so many decimals, without zeros at its end.
fn decimal(value: f64, decimals: i64) -> String {
    let text = format!("{value:.*}", usize::try_from(decimals.clamp(0, 8)).unwrap_or(0));
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: Point, b: Point) -> bool {
        (a - b).hypot() < 1e-9
    }

    #[test]
    fn the_angle_of_two_lines_lies_where_the_arc_is() {
        let along_x = [Point::new(2.0, 0.0), Point::new(8.0, 0.0)];
        let along_y = [Point::new(0.0, 1.0), Point::new(0.0, 3.0)];
        for (on_arc, start) in
            [((3.0, 3.0), 0.0), ((-3.0, 3.0), PI / 2.0), ((-3.0, -3.0), -PI), ((3.0, -3.0), -PI / 2.0)]
        {
            let sketch = angle_of_lines(along_x, along_y, Point::new(on_arc.0, on_arc.1)).unwrap();
            let (centre, radius, from, sweep) = sketch.arc.unwrap();
            assert!(close(centre, Point::ZERO) && (radius - 18f64.sqrt()).abs() < 1e-9);
            assert!(((from - start).rem_euclid(TAU)).min((start - from).rem_euclid(TAU)) < 1e-9, "{from} {start}");
            assert!((sweep - PI / 2.0).abs() < 1e-9);
        }
        assert!(angle_of_lines(along_x, along_x, Point::new(1.0, 1.0)).is_none());
    }

    #[test]
    fn numbers_have_no_zeros_at_their_end() {
        assert_eq!(decimal(2.5, 4), "2.5");
        assert_eq!(decimal(1500.0, 0), "1500");
        assert_eq!(decimal(0.126, 2), "0.13");
        assert_eq!(decimal(-0.0001, 2), "0");
    }
}
