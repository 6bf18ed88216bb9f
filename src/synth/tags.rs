//! DXF tags written by hand, as a stream: for HATCH, which the `dxf` crate cannot write, and for files larger
//! than memory ([`super::huge`]). Everything else is written by the crate, so that someone else's writer is used.

use std::io::{self, Write};

use super::layout::Point;
use super::sketch::{Align, AttributeValue, Frame, Shape, Vertex};

/// Writes tags and hands out handles.
pub(super) struct TagWriter<W: Write> {
    out: W,
    next_handle: u64,
}

impl<W: Write> TagWriter<W> {
    /// Handles start at `first_handle`.
    pub(super) fn new(out: W, first_handle: u64) -> Self {
        Self { out, next_handle: first_handle }
    }

    /// The output and the next free handle.
    pub(super) fn into_inner(self) -> (W, u64) {
        (self.out, self.next_handle)
    }

    /// The output.
    pub(super) fn output(&self) -> &W {
        &self.out
    }

    /// A tag.
    ///
    /// # Errors
    /// Of the output.
    pub(super) fn tag(&mut self, code: i16, value: impl std::fmt::Display) -> io::Result<()> {
        let line = format!("{code:>3}\r\n{value}\r\n");
        self.out.write_all(line.as_bytes())
    }

    /// A number with a decimal point, as readers of DXF expect.
    fn real(&mut self, code: i16, value: f64) -> io::Result<()> {
        if value == value.trunc() { self.tag(code, format_args!("{value:.1}")) } else { self.tag(code, value) }
    }

    fn point(&mut self, code: i16, p: Point) -> io::Result<()> {
        self.real(code, p.x)?;
        self.real(code + 10, p.y)?;
        self.real(code + 20, 0.0)
    }

    /// The head of an entity.
    ///
    /// # Errors
    /// Of the output.
    pub(super) fn entity(&mut self, kind: &str, layer: &str, subclass: &str) -> io::Result<()> {
        self.tag(0, kind)?;
        self.handle()?;
        self.tag(100, "AcDbEntity")?;
        self.tag(8, layer)?;
        self.tag(100, subclass)
    }

    fn handle(&mut self) -> io::Result<()> {
        let handle = self.next_handle;
        self.next_handle += 1;
        self.tag(5, format_args!("{handle:X}"))
    }

    /// A shape in the model, on `layer`.
    ///
    /// # Errors
    /// Of the output.
    pub(super) fn shape(&mut self, shape: &Shape, layer: &str, frame: Frame) -> io::Result<()> {
        match shape {
            Shape::Line(a, b) => {
                self.entity("LINE", layer, "AcDbLine")?;
                self.point(10, frame.point(*a))?;
                self.point(11, frame.point(*b))
            }
            Shape::Polyline { vertices, closed } => {
                self.entity("LWPOLYLINE", layer, "AcDbPolyline")?;
                self.tag(90, vertices.len())?;
                self.tag(70, i16::from(*closed))?;
                for vertex in vertices {
                    let at = frame.point(vertex.at);
                    self.real(10, at.x)?;
                    self.real(20, at.y)?;
                    if vertex.bulge != 0.0 {
                        self.real(42, vertex.bulge)?;
                    }
                }
                Ok(())
            }
            Shape::Circle { centre, radius } => {
                self.entity("CIRCLE", layer, "AcDbCircle")?;
                self.point(10, frame.point(*centre))?;
                self.real(40, frame.length(*radius))
            }
            Shape::Arc { centre, radius, start, end } => {
                self.entity("ARC", layer, "AcDbCircle")?;
                self.point(10, frame.point(*centre))?;
                self.real(40, frame.length(*radius))?;
                self.tag(100, "AcDbArc")?;
                self.real(50, frame.angle(*start))?;
                self.real(51, frame.angle(*end))
            }
            Shape::Text { at, height, rotation, value, align } => {
                self.entity("TEXT", layer, "AcDbText")?;
                self.text_body(frame.point(*at), frame.length(*height), frame.angle(*rotation), value, *align)?;
                self.tag(100, "AcDbText")?;
                if *align == Align::Centre { self.tag(73, 2) } else { Ok(()) }
            }
            Shape::Paragraph { at, height, rotation, lines, formatted } => {
                self.entity("MTEXT", layer, "AcDbMText")?;
                self.point(10, frame.point(*at))?;
                self.real(40, frame.length(*height))?;
                self.tag(71, 5)?;
                self.tag(1, paragraph(lines, *formatted))?;
                self.real(50, frame.angle(*rotation))
            }
            Shape::Insert { block, at, rotation, scale, attributes } => {
                self.insert(block, *at, *rotation, *scale, attributes, layer, frame)
            }
            Shape::Hatch { rings, solid } => self.hatch(rings, *solid, layer, frame),
            Shape::Dimension { a, b, through, height, value } => {
                for part in super::sketch::dimension_parts(*a, *b, *through, *height, value) {
                    self.shape(&part, layer, frame)?;
                }
                Ok(())
            }
        }
    }

    fn text_body(&mut self, at: Point, height: f64, rotation: f64, value: &str, align: Align) -> io::Result<()> {
        self.point(10, at)?;
        self.real(40, height)?;
        self.tag(1, value)?;
        self.real(50, rotation)?;
        if align == Align::Centre {
            self.tag(72, 1)?;
            self.point(11, at)?;
        }
        Ok(())
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one INSERT")]
    fn insert(
        &mut self,
        block: &str,
        at: Point,
        rotation: f64,
        scale: (f64, f64),
        attributes: &[AttributeValue],
        layer: &str,
        frame: Frame,
    ) -> io::Result<()> {
        self.entity("INSERT", layer, "AcDbBlockReference")?;
        if !attributes.is_empty() {
            self.tag(66, 1)?;
        }
        self.tag(2, block)?;
        self.point(10, frame.point(at))?;
        self.real(41, scale.0)?;
        self.real(42, scale.1)?;
        self.real(43, 1.0)?;
        self.real(50, frame.angle(rotation))?;
        for attribute in attributes {
            self.entity("ATTRIB", layer, "AcDbText")?;
            let (at, height) = (frame.point(attribute.at), frame.length(attribute.height));
            self.text_body(at, height, frame.angle(rotation), &attribute.value, Align::Centre)?;
            self.tag(100, "AcDbAttribute")?;
            self.tag(2, attribute.tag)?;
            self.tag(70, 0)?;
            self.tag(74, 2)?;
        }
        if !attributes.is_empty() {
            self.tag(0, "SEQEND")?;
            self.handle()?;
            self.tag(100, "AcDbEntity")?;
            self.tag(8, layer)?;
        }
        Ok(())
    }

    fn hatch(&mut self, rings: &[Vec<Vertex>], solid: bool, layer: &str, frame: Frame) -> io::Result<()> {
        self.entity("HATCH", layer, "AcDbHatch")?;
        for (code, value) in [(10, 0.0), (20, 0.0), (30, 0.0), (210, 0.0), (220, 0.0), (230, 1.0)] {
            self.real(code, value)?;
        }
        self.tag(2, if solid { "SOLID" } else { "ANSI31" })?;
        self.tag(70, i16::from(solid))?;
        self.tag(71, 0)?;
        self.tag(91, rings.len())?;
        for (index, ring) in rings.iter().enumerate() {
            // 1 external, 2 polyline, 16 outermost.
            self.tag(92, if index == 0 { 3 } else { 18 })?;
            self.tag(72, i16::from(ring.iter().any(|vertex| vertex.bulge != 0.0)))?;
            self.tag(73, 1)?;
            self.tag(93, ring.len())?;
            for vertex in ring {
                let at = frame.point(vertex.at);
                self.real(10, at.x)?;
                self.real(20, at.y)?;
                if ring.iter().any(|vertex| vertex.bulge != 0.0) {
                    self.real(42, vertex.bulge)?;
                }
            }
            self.tag(97, 0)?;
        }
        self.tag(75, 0)?;
        self.tag(76, 1)?;
        if !solid {
            let step = frame.length(0.08);
            self.real(52, 0.0)?;
            self.real(41, 1.0)?;
            self.tag(77, 0)?;
            self.tag(78, 1)?;
            for (code, value) in [(53, 45.0), (43, 0.0), (44, 0.0), (45, -step), (46, step)] {
                self.real(code, value)?;
            }
            self.tag(79, 0)?;
        }
        self.tag(98, 0)
    }
}

/// The text of a paragraph with MTEXT codes.
pub(super) fn paragraph(lines: &[String], formatted: bool) -> String {
    let escape =
        |line: &String| line.replace('\\', "\\\\").replace('{', "\\{").replace('}', "\\}").replace('²', "\\U+00B2");
    let mut parts: Vec<String> = lines.iter().map(escape).collect();
    if formatted && let Some(first) = parts.first_mut() {
        *first = format!("{{\\fArial|b1|i0|c0|p34;\\H1.2x;{first}}}");
    }
    parts.join("\\P")
}
