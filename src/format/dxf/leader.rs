//! LEADER, MULTILEADER and MLINE: entities of several lines, some with a text or a block at their end.

use super::codes;
use super::curve::write_fit_curve;
use super::insert::{placement, plain_insert};
use super::label::attachment;
use super::ocs::Ocs;
use super::reader::{Common, Reader};
use crate::drawing::{Geometry, Point, Symbol, Text, Vec2};
use crate::format::ReadError;

impl<'a> Reader<'a, '_> {
    pub(super) fn leader(&mut self, kind: Symbol) -> Result<(), ReadError> {
        let mut common = Common::new();
        let mut points: Vec<Point> = Vec::new();
        let mut curved = false;
        while let Some(tag) = self.field() {
            match tag.code {
                10 => points.push(Point::new(self.real(tag), 0.0)),
                20 => {
                    let y = self.real(tag);
                    set_y(&mut points, y);
                }
                72 => curved = self.integer(tag) == 1,
                _ => self.common(&mut common, tag),
            }
        }
        if self.is_elsewhere(kind, &common) {
            return Ok(());
        }
        if points.iter().all(|point| Some(point) == points.first()) {
            self.left_out(&codes::NO_EXTENT, kind, &common);
            return Ok(());
        }
        let mut path = self.out.path();
        if curved {
            write_fit_curve(&mut path, &points, None, None, false);
        } else {
            write_open(&mut path, &points);
        }
        let path = path.finish()?;
        self.push_line(kind, &common, path)
    }

    /// MLINE: every element is a line at its distance along the miters of the vertices.
    pub(super) fn mline(&mut self, kind: Symbol) -> Result<(), ReadError> {
        let mut common = Common::new();
        let mut vertices: Vec<MlineVertex> = Vec::new();
        let (mut closed, mut first_parameter) = (false, false);
        while let Some(tag) = self.field() {
            match tag.code {
                11 => vertices.push(MlineVertex { at: Point::new(self.real(tag), 0.0), ..MlineVertex::default() }),
                21 | 13 | 23 => {
                    let value = self.real(tag);
                    if let Some(vertex) = vertices.last_mut() {
                        match tag.code {
                            21 => vertex.at.y = value,
                            13 => vertex.miter.x = value,
                            _ => vertex.miter.y = value,
                        }
                    }
                }
                71 => closed = self.integer(tag) & 2 != 0,
                // Each element of a vertex announces its parameters; the first one is the distance.
                74 => first_parameter = true,
                41 if first_parameter => {
                    first_parameter = false;
                    let distance = self.real(tag);
                    if let Some(vertex) = vertices.last_mut() {
                        vertex.distances.push(distance);
                    }
                }
                41 | 42 => {}
                _ => self.common(&mut common, tag),
            }
        }
        if self.is_elsewhere(kind, &common) {
            return Ok(());
        }
        if vertices.len() < 2 {
            self.left_out(&codes::NO_EXTENT, kind, &common);
            return Ok(());
        }
        let num_elements = vertices.iter().map(|vertex| vertex.distances.len()).min().unwrap_or(0);
        let mut path = self.out.path();
        // Without elements the reference line itself is what there is.
        for element in 0..num_elements.max(1) {
            let at =
                |vertex: &MlineVertex| vertex.at + vertex.miter * vertex.distances.get(element).copied().unwrap_or(0.0);
            let points: Vec<Point> = vertices.iter().map(at).collect();
            write_open(&mut path, &points);
            if closed {
                path.close();
            }
        }
        let path = path.finish()?;
        self.push_line(kind, &common, path)
    }

    /// MULTILEADER: its lines with their landings, its text, its block.
    pub(super) fn multileader(&mut self, kind: Symbol) -> Result<(), ReadError> {
        let mut common = Common::new();
        let content = self.multileader_content(&mut common);
        if self.is_elsewhere(kind, &common) {
            return Ok(());
        }
        let mut num_parts = 0;
        if content.lines.iter().any(|line| line.len() >= 2) {
            let mut path = self.out.path();
            for line in content.lines.iter().filter(|line| line.len() >= 2) {
                write_open(&mut path, line);
            }
            if let Some(path) = path.finish()? {
                self.push(kind, &common, Geometry::Line(path))?;
                num_parts += 1;
            }
        }
        if !content.text.is_empty() {
            let value = self.join_mtext(&[content.text])?;
            let (horizontal, vertical) = attachment(content.alignment);
            let direction = content.direction.filter(|axis| *axis != Vec2::ZERO).unwrap_or_else(|| {
                let (sin, cos) = content.rotation.sin_cos();
                Vec2::new(cos, sin)
            });
            if content.text_at.is_finite() && direction.is_finite() {
                let height = if content.height.is_finite() { content.height.abs() } else { 0.0 };
                let text = Text {
                    value,
                    tag: None,
                    at: content.text_at,
                    direction,
                    height,
                    horizontal,
                    vertical,
                    box_width: None,
                };
                let text = self.out.text(text);
                self.push_more(kind, &common, Geometry::Text(text), &mut num_parts)?;
            }
        }
        let block = self.block_records.get(&content.block).copied();
        if let Some(block) = block
            && self.may_show(block)
        {
            let (sin, cos) = content.block_rotation.sin_cos();
            let transform = placement(&Ocs::WORLD, content.block_at, content.block_scale, sin, cos);
            if transform.is_finite() {
                let insert = self.out.insert(plain_insert(block, transform));
                self.push_more(kind, &common, Geometry::Insert(insert), &mut num_parts)?;
            }
        }
        if num_parts == 0 {
            self.left_out(&codes::NO_EXTENT, kind, &common);
        }
        Ok(())
    }

    /// Adds a part of an entity, which counts with its first part only.
    pub(super) fn push_more(
        &mut self,
        kind: Symbol,
        common: &Common,
        geometry: Geometry,
        num_parts: &mut u32,
    ) -> Result<(), ReadError> {
        *num_parts += 1;
        if *num_parts == 1 { self.push(kind, common, geometry) } else { self.push_part(kind, common, geometry) }
    }

    fn multileader_content(&mut self, common: &mut Common) -> LeaderContent<'a> {
        let mut content = LeaderContent::default();
        let mut part = LeaderPart::Entity;
        let mut landing = Landing::default();
        let mut first_line = 0;
        while let Some(tag) = self.field() {
            match (part, tag.code) {
                (LeaderPart::Entity, 300) => part = LeaderPart::Context,
                (LeaderPart::Entity, _) => self.common(common, tag),
                (LeaderPart::Context, 301) => part = LeaderPart::Entity,
                (LeaderPart::Context, 302) => {
                    part = LeaderPart::Leader;
                    landing = Landing::default();
                    first_line = content.lines.len();
                }
                (LeaderPart::Context, 304) => content.text = tag.value,
                (LeaderPart::Context, 12) => content.text_at.x = self.real(tag),
                (LeaderPart::Context, 22) => content.text_at.y = self.real(tag),
                (LeaderPart::Context, 13) => content.direction = Some(Vec2::new(self.real(tag), 0.0)),
                (LeaderPart::Context, 23) => {
                    let y = self.real(tag);
                    content.direction = content.direction.map(|axis| Vec2::new(axis.x, y));
                }
                (LeaderPart::Context, 41) => content.height = self.real(tag),
                (LeaderPart::Context, 42) => content.rotation = self.real(tag),
                (LeaderPart::Context, 171) => content.alignment = self.integer(tag),
                (LeaderPart::Context, 341) => content.block = tag.handle(),
                (LeaderPart::Context, 15 | 25 | 35) => {
                    content.block_at[tag.code as usize / 10 - 1] = self.real(tag);
                }
                (LeaderPart::Context, 16) => content.block_scale.x = self.real(tag),
                (LeaderPart::Context, 26) => content.block_scale.y = self.real(tag),
                (LeaderPart::Context, 46) => content.block_rotation = self.real(tag),
                (LeaderPart::Leader, 303) => {
                    part = LeaderPart::Context;
                    landing.extend(content.lines.get_mut(first_line..).unwrap_or(&mut []));
                }
                (LeaderPart::Leader, 304) => {
                    part = LeaderPart::Line;
                    content.lines.push(Vec::new());
                }
                (LeaderPart::Leader, 290) => landing.has_last = self.integer(tag) != 0,
                (LeaderPart::Leader, 291) => landing.has_dogleg = self.integer(tag) != 0,
                (LeaderPart::Leader, 10) => landing.last.x = self.real(tag),
                (LeaderPart::Leader, 20) => landing.last.y = self.real(tag),
                (LeaderPart::Leader, 11) => landing.direction.x = self.real(tag),
                (LeaderPart::Leader, 21) => landing.direction.y = self.real(tag),
                (LeaderPart::Leader, 40) => landing.length = self.real(tag),
                (LeaderPart::Line, 305) => part = LeaderPart::Leader,
                (LeaderPart::Line, 10) => {
                    let x = self.real(tag);
                    if let Some(line) = content.lines.last_mut() {
                        line.push(Point::new(x, 0.0));
                    }
                }
                (LeaderPart::Line, 20) => {
                    let y = self.real(tag);
                    if let Some(line) = content.lines.last_mut() {
                        set_y(line, y);
                    }
                }
                _ => {}
            }
        }
        content
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LeaderPart {
    Entity,
    Context,
    Leader,
    Line,
}

/// What a MULTILEADER shows.
#[derive(Debug)]
struct LeaderContent<'a> {
    lines: Vec<Vec<Point>>,
    text: &'a [u8],
    text_at: Point,
    direction: Option<Vec2>,
    rotation: f64,
    height: f64,
    alignment: i64,
    block: u64,
    block_at: [f64; 3],
    block_scale: Vec2,
    block_rotation: f64,
}

impl Default for LeaderContent<'_> {
    fn default() -> Self {
        Self {
            lines: Vec::new(),
            text: b"",
            text_at: Point::ZERO,
            direction: None,
            rotation: 0.0,
            height: 0.0,
            alignment: 1,
            block: 0,
            block_at: [0.0; 3],
            block_scale: Vec2::new(1.0, 1.0),
            block_rotation: 0.0,
        }
    }
}

/// Where the lines of a leader run together and land at its content.
#[derive(Debug, Default)]
struct Landing {
    has_last: bool,
    has_dogleg: bool,
    last: Point,
    direction: Vec2,
    length: f64,
}

impl Landing {
    fn extend(&self, lines: &mut [Vec<Point>]) {
        if !self.has_last || !self.last.is_finite() {
            return;
        }
        let end = self.last + self.direction * self.length;
        for line in lines {
            line.push(self.last);
            if self.has_dogleg && end.is_finite() && end != self.last {
                line.push(end);
            }
        }
    }
}

#[derive(Debug, Default)]
struct MlineVertex {
    at: Point,
    miter: Vec2,
    distances: Vec<f64>,
}

fn set_y(points: &mut [Point], y: f64) {
    if let Some(last) = points.last_mut() {
        last.y = y;
    }
}

fn write_open(path: &mut crate::drawing::PathWriter<'_>, points: &[Point]) {
    if let Some((first, rest)) = points.split_first() {
        path.move_to(*first);
        rest.iter().for_each(|point| path.line_to(*point));
    }
}
