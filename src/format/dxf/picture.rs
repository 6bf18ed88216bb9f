//! Entities of other programs (walls of AutoCAD Architecture, of Tangent, proxies of any kind) by the picture saved with them.
//!
//! The picture is bytes in groups 310 behind their number in group 92 or 160. What they mean is [`proxy`]'s; here its
//! figures become parts of one entity, which keeps the name of its own kind.

use std::f64::consts::TAU;

use super::codes;
use super::ocs::Ocs;
use super::polyline::{Vertex, write_polyline};
use super::reader::{Common, Reader};
use super::tag::Tag;
use crate::drawing::{FillRule, Geometry, HorizontalAlign, Path, Point, Symbol, Text, Vec2, VerticalAlign};
use crate::format::ReadError;
use crate::format::proxy::{self, Figure};

/// Collects the bytes of a picture while a record is read.
#[derive(Debug, Default)]
pub(super) struct Graphics {
    bytes: Vec<u8>,
    is_open: bool,
    is_binary: bool,
    most: usize,
}

impl Graphics {
    /// Takes a field; `false` if it is none of a picture.
    pub(super) fn take(&mut self, tag: &Tag<'_>) -> bool {
        match tag.code {
            92 | 160 if self.bytes.is_empty() => {
                self.is_open = true;
                false
            }
            310 if self.is_open => {
                // A picture beyond the limit is none, like one that is cut off.
                if self.bytes.len() + tag.value.len() > self.most {
                    self.is_open = false;
                } else if self.is_binary {
                    self.bytes.extend_from_slice(tag.value);
                } else {
                    let digits = tag.value.trim_ascii().chunks_exact(2);
                    self.bytes
                        .extend(digits.map_while(|pair| Some(hexadecimal(pair[0])? << 4 | hexadecimal(pair[1])?)));
                }
                true
            }
            _ => {
                self.is_open = false;
                false
            }
        }
    }

    /// The whole picture; it begins with its own length.
    fn finish(self) -> Option<Vec<u8>> {
        let length = u32::from_le_bytes(*self.bytes.first_chunk()?);
        (length as usize == self.bytes.len()).then_some(self.bytes)
    }
}

fn hexadecimal(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

impl Reader<'_, '_> {
    /// An empty picture, to be filled while the record is read.
    pub(super) fn graphics(&self) -> Graphics {
        let most = usize::try_from(self.options.limits.string_bytes).unwrap_or(usize::MAX);
        Graphics { is_binary: self.tags.is_binary(), most, ..Graphics::default() }
    }

    /// Adds an entity by its picture, or counts it as one that has no representation.
    pub(super) fn pictured(&mut self, kind: Symbol, common: &Common, graphics: Graphics) -> Result<(), ReadError> {
        let Some(bytes) = graphics.finish() else {
            self.unsupported(kind, common);
            return Ok(());
        };
        if self.is_elsewhere(kind, common) {
            return Ok(());
        }
        let picture = proxy::picture(&bytes);
        if picture.boxed.is_some() {
            self.left_out(&codes::ONLY_A_BOX, kind, common);
            return Ok(());
        }
        let mut num_parts = 0;
        for figure in picture.figures {
            self.figure(kind, common, figure, &mut num_parts)?;
        }
        if num_parts == 0 {
            self.out.count_unsupported_kind(kind);
        } else {
            self.report_entity(&codes::PICTURED, kind, common);
        }
        Ok(())
    }

    fn figure(&mut self, kind: Symbol, common: &Common, figure: Figure, num_parts: &mut u32) -> Result<(), ReadError> {
        let line = |path: Path| Geometry::Line(path);
        let geometry = match figure {
            Figure::Polyline { points, closed, filled } => {
                let mut path = self.out.path();
                for (index, [x, y, _]) in points.into_iter().enumerate() {
                    let point = Point::new(x, y);
                    if index == 0 { path.move_to(point) } else { path.line_to(point) }
                }
                if closed || filled {
                    path.close();
                }
                path.finish()?.map(|path| if filled { Geometry::Area(path, FillRule::EvenOdd) } else { line(path) })
            }
            Figure::Bulged { points, bulges, closed, elevation, normal } => {
                let bulges = bulges.into_iter().chain(std::iter::repeat(0.0));
                let vertices = points.into_iter().zip(bulges);
                let vertices: Vec<Vertex> = vertices.map(|([x, y], bulge)| Vertex { x, y, bulge }).collect();
                let mut path = self.out.path();
                write_polyline(&mut path, &vertices, closed, &Ocs::new(normal), elevation);
                path.finish()?.map(line)
            }
            Figure::Arc { centre: [x, y, _], radius, start, end } => {
                let mut path = self.out.path();
                let sweep = end.map_or(TAU, |end| (end - start).rem_euclid(TAU));
                path.circle_arc(Point::new(x, y), radius, start, sweep);
                if end.is_none() {
                    path.close();
                }
                path.finish()?.map(line)
            }
            Figure::Shell { points, faces } => {
                for face in faces {
                    let corners: Option<Vec<[f64; 3]>> = face.iter().map(|index| points.get(*index).copied()).collect();
                    let mut path = self.out.path();
                    for (index, [x, y, _]) in corners.unwrap_or_default().into_iter().enumerate() {
                        let point = Point::new(x, y);
                        if index == 0 { path.move_to(point) } else { path.line_to(point) }
                    }
                    path.close();
                    if let Some(path) = path.finish()? {
                        self.push_more(kind, common, Geometry::Area(path, FillRule::EvenOdd), num_parts)?;
                    }
                }
                None
            }
            Figure::Text { at: [x, y, _], direction, height, value } => {
                let text = Text {
                    value,
                    tag: None,
                    at: Point::new(x, y),
                    direction: Vec2::new(direction[0], direction[1]),
                    height,
                    horizontal: HorizontalAlign::Left,
                    vertical: VerticalAlign::Baseline,
                    box_width: None,
                };
                Some(Geometry::Text(self.out.text(text)))
            }
        };
        match geometry {
            Some(geometry) => self.push_more(kind, common, geometry, num_parts),
            None => Ok(()),
        }
    }
}
