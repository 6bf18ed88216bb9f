//! A sketch as SVG 1.1 with Inkscape layers. The writer is our own text; y points down, so the plan is flipped.

use std::fmt::Write;

use super::layout::{Point, bounds, point};
use super::names::layer;
use super::sketch::{Align, Frame, Mark, Role, Shape, Sketch, Vertex, arc_point, dimension_parts};
use super::spec::{DeclaredUnit, LayerScheme, Unit};
use super::style::Style;

/// Where a plan lies on its page: the frame from metres to user units with y still upward, and the page's size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Page {
    /// From metres to user units, y upward from the lower edge of the page.
    pub(super) frame: Frame,
    /// Width in user units.
    pub(super) width: f64,
    /// Height in user units.
    pub(super) height: f64,
}

/// A page that holds the rotated outline and a margin of 9 metres.
pub(super) fn page(outline: &geo::Polygon<f64>, unit_scale: f64, rotation: f64) -> Page {
    let turn = Frame { scale: 1.0, rotation, offset: point(0.0, 0.0) };
    let turned = outline.exterior().0.iter().map(|p| turn.point(*p));
    let (low, high) = bounds(&geo::Polygon::new(turned.collect(), vec![]));
    let margin = 9.0;
    let size = (high - low + point(2.0 * margin, 2.0 * margin)) * unit_scale;
    let offset = (point(margin, margin) - low) * unit_scale;
    Page { frame: Frame { scale: unit_scale, rotation, offset }, width: size.x.ceil(), height: size.y.ceil() }
}

struct Writer<'a> {
    out: String,
    page: Page,
    style: &'a Style,
    ids: u32,
}

/// The bytes of an SVG file.
pub(super) fn write(sketch: &Sketch, style: &Style, page: Page) -> Vec<u8> {
    let mut writer = Writer { out: String::new(), page, style, ids: 0 };
    writer.head();
    writer.blocks(sketch);
    writer.layers(sketch);
    writer.out.push_str("</svg>\n");
    writer.out.into_bytes()
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// At most five decimals, none if not needed.
fn number(value: f64) -> String {
    let text = format!("{value:.5}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

impl Writer<'_> {
    fn head(&mut self) {
        let (w, h) = (number(self.page.width), number(self.page.height));
        let physical = |unit: Unit| match unit {
            Unit::Millimetre => Some(("mm", 1.0)),
            Unit::Centimetre => Some(("cm", 1.0)),
            Unit::Inch => Some(("in", 1.0)),
            Unit::Metre => Some(("mm", 1000.0)),
            Unit::Foot => Some(("in", 12.0)),
        };
        let size = match self.style.declared {
            DeclaredUnit::Right => physical(self.style.unit),
            DeclaredUnit::Wrong => physical(super::dxf::wrong(self.style.unit)),
            DeclaredUnit::Missing => None,
        };
        let (width, height) = match size {
            Some((suffix, factor)) => {
                (number(self.page.width * factor) + suffix, number(self.page.height * factor) + suffix)
            }
            None => (w.clone(), h.clone()),
        };
        let hair = number(0.02 * self.page.frame.scale);
        let _ = writeln!(
            self.out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" \
             xmlns:xlink=\"http://www.w3.org/1999/xlink\" \
             xmlns:inkscape=\"http://www.inkscape.org/namespaces/inkscape\" \
             width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {w} {h}\">\n\
             <style>line,path,polyline,polygon,circle{{fill:none;stroke:#222;stroke-width:{hair}}} \
             .fill{{fill:#888;stroke:none}} .thin{{stroke:#777}} text{{font-family:sans-serif;fill:#000}}</style>"
        );
    }

    fn blocks(&mut self, sketch: &Sketch) {
        if sketch.blocks.is_empty() {
            return;
        }
        self.out.push_str("<defs>\n");
        for (name, marks) in &sketch.blocks {
            let _ = writeln!(self.out, "<g id=\"{}\">", escape(name));
            for mark in marks {
                // Block coordinates keep y upward; the insert's transform flips them.
                let frame = self.page.frame.unit_only();
                self.shape(&mark.shape, &|p| frame.point(p), frame, true, "");
            }
            self.out.push_str("</g>\n");
        }
        self.out.push_str("</defs>\n");
    }

    fn layers(&mut self, sketch: &Sketch) {
        let mut groups: Vec<(&str, Vec<&Mark>)> = Vec::new();
        for mark in &sketch.marks {
            let name = layer(self.style.layers, mark.role);
            match groups.iter_mut().find(|(other, _)| *other == name) {
                Some((_, marks)) => marks.push(mark),
                None => groups.push((name, vec![mark])),
            }
        }
        for (name, marks) in groups {
            if self.style.layers == LayerScheme::Zero {
                self.out.push_str("<g>\n");
            } else {
                self.ids += 1;
                let _ = writeln!(
                    self.out,
                    "<g inkscape:groupmode=\"layer\" inkscape:label=\"{}\" id=\"layer{}\">",
                    escape(name),
                    self.ids
                );
            }
            for mark in marks {
                let thin =
                    matches!(mark.role, Role::Grid | Role::Dimension | Role::Frame | Role::Leader | Role::Furniture);
                let class = if thin { " class=\"thin\"" } else { "" };
                let (page, frame) = (self.page, self.page.frame);
                let at = |p: Point| {
                    let q = page.frame.point(p);
                    point(q.x, page.height - q.y)
                };
                self.shape(&mark.shape, &at, frame, false, class);
            }
            self.out.push_str("</g>\n");
        }
    }

    /// Writes a shape; `at` maps its points, `upward` tells that y still points up there (inside blocks).
    fn shape(&mut self, shape: &Shape, at: &dyn Fn(Point) -> Point, frame: Frame, upward: bool, class: &str) {
        let pair = |p: Point| {
            let q = at(p);
            format!("{} {}", number(q.x), number(q.y))
        };
        match shape {
            Shape::Line(a, b) => {
                let (a, b) = (at(*a), at(*b));
                let [x1, y1, x2, y2] = [a.x, a.y, b.x, b.y].map(number);
                let _ = writeln!(self.out, "<line{class} x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>");
            }
            Shape::Polyline { vertices, closed } => {
                let path = path_data(vertices, *closed, &pair, frame, upward);
                let _ = writeln!(self.out, "<path{class} d=\"{path}\"/>");
            }
            Shape::Arc { centre, radius, start, end } => {
                let sweep = (end - start).rem_euclid(360.0);
                let large = i32::from(sweep > 180.0);
                // Counter-clockwise with y upward is the negative direction once y points down.
                let positive = i32::from(upward);
                let (from, to) = (arc_point(*centre, *radius, *start), arc_point(*centre, *radius, *end));
                let r = number(frame.length(*radius));
                let _ = writeln!(
                    self.out,
                    "<path{class} d=\"M{}A{r} {r} 0 {large} {positive} {}\"/>",
                    pair(from),
                    pair(to)
                );
            }
            Shape::Circle { centre, radius } => {
                let c = at(*centre);
                let [x, y, r] = [c.x, c.y, frame.length(*radius)].map(number);
                let _ = writeln!(self.out, "<circle{class} cx=\"{x}\" cy=\"{y}\" r=\"{r}\"/>");
            }
            Shape::Text { at: place, height, rotation, value, align } => {
                self.text(at(*place), frame.length(*height), frame.angle(*rotation), &[value.as_str()], *align);
            }
            Shape::Paragraph { at: place, height, rotation, lines, .. } => {
                let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
                self.text(at(*place), frame.length(*height), frame.angle(*rotation), &lines, Align::Centre);
            }
            Shape::Insert { block, at: place, rotation, scale, attributes } => {
                let p = at(*place);
                let angle = frame.angle(*rotation);
                let [x, y, turn] = [p.x, p.y, -angle].map(number);
                let [sx, sy] = [scale.0, -scale.1].map(number);
                let _ = writeln!(
                    self.out,
                    "<use xlink:href=\"#{}\" transform=\"translate({x} {y}) rotate({turn}) scale({sx} {sy})\"/>",
                    escape(block)
                );
                for attribute in attributes {
                    let height = frame.length(attribute.height);
                    self.text(at(attribute.at), height, angle, &[attribute.value.as_str()], Align::Centre);
                }
            }
            Shape::Hatch { rings, .. } => {
                let path: String =
                    rings.iter().map(|ring| path_data(ring, true, &pair, frame, upward)).collect::<Vec<_>>().join(" ");
                let _ = writeln!(self.out, "<path class=\"fill\" fill-rule=\"evenodd\" d=\"{path}\"/>");
            }
            Shape::Dimension { a, b, through, height, value } => {
                for part in dimension_parts(*a, *b, *through, *height, value) {
                    self.shape(&part, at, frame, upward, class);
                }
            }
        }
    }

    /// `height` is that of capitals; the font size is larger by 1/0.72.
    fn text(&mut self, at: Point, height: f64, rotation: f64, lines: &[&str], align: Align) {
        let size = height / 0.72;
        let step = height * 1.6;
        let first = match align {
            Align::Left => 0.0,
            Align::Centre => height / 2.0 - step * (lines.len() as f64 - 1.0) / 2.0,
        };
        let anchor = if align == Align::Centre { " text-anchor=\"middle\"" } else { "" };
        let turn = if rotation == 0.0 {
            String::new()
        } else {
            format!(" transform=\"rotate({} {} {})\"", number(-rotation), number(at.x), number(at.y))
        };
        let (x, font) = (number(at.x), number(size));
        let _ = write!(self.out, "<text{anchor} font-size=\"{font}\"{turn}");
        match lines {
            [line] => {
                let _ = write!(self.out, " x=\"{x}\" y=\"{}\">{}", number(at.y + first), escape(line));
            }
            _ => {
                self.out.push('>');
                for (index, line) in lines.iter().enumerate() {
                    let y = number(at.y + first + step * index as f64);
                    let _ = write!(self.out, "<tspan x=\"{x}\" y=\"{y}\">{}</tspan>", escape(line));
                }
            }
        }
        self.out.push_str("</text>\n");
    }
}

/// Path data of a polyline with bulges.
fn path_data(vertices: &[Vertex], closed: bool, pair: &dyn Fn(Point) -> String, frame: Frame, upward: bool) -> String {
    let mut path = String::new();
    let count = vertices.len();
    for (index, vertex) in vertices.iter().enumerate() {
        if index == 0 {
            path = format!("M{}", pair(vertex.at));
        }
        let last = index + 1 == count;
        if last && !closed {
            break;
        }
        let next = vertices[(index + 1) % count].at;
        if vertex.bulge == 0.0 {
            if !last {
                let _ = write!(path, "L{}", pair(next));
            }
        } else {
            let chord = super::layout::length(next - vertex.at);
            let radius = chord * (1.0 + vertex.bulge * vertex.bulge) / (4.0 * vertex.bulge.abs());
            let r = number(frame.length(radius));
            let large = i32::from(vertex.bulge.abs() > 1.0);
            let positive = i32::from((vertex.bulge > 0.0) == upward);
            let _ = write!(path, "A{r} {r} 0 {large} {positive} {}", pair(next));
        }
    }
    if closed {
        path.push('Z');
    }
    path
}
