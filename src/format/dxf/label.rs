//! TEXT, MTEXT, ATTRIB, ATTDEF and TOLERANCE: where a text stands and what it says.
//!
//! TEXT and attributes lie in their object coordinate system and are placed by their second point when they are
//! justified; MTEXT is in the world. An attribute of several lines keeps its text in an embedded object (group 101)
//! whose own points and heights must not overwrite those of the attribute.

use std::borrow::Cow;

use super::codes;
use super::ocs::Ocs;
use super::reader::{Common, Reader};
use super::text::{plain_mtext, plain_text};
use crate::drawing::{Geometry, HorizontalAlign, Point, Symbol, Text, Vec2, VerticalAlign};
use crate::format::ReadError;

/// Flags of ATTRIB and ATTDEF (group 70).
mod attribute_flag {
    pub(super) const INVISIBLE: i64 = 1;
    pub(super) const CONSTANT: i64 = 2;
}

/// A TEXT, ATTRIB or ATTDEF as its tags say it.
#[derive(Debug)]
pub(super) struct RawText<'a> {
    value: &'a [u8],
    /// Chunks of the embedded multi-line text, if any.
    lines: Vec<&'a [u8]>,
    embedded: bool,
    pub(super) tag: &'a [u8],
    at: [f64; 3],
    aligned: Option<[f64; 3]>,
    height: f64,
    rotation: f64,
    horizontal: i64,
    vertical: i64,
    flags: i64,
}

impl RawText<'_> {
    /// Whether an attribute is not to be shown.
    pub(super) fn is_invisible(&self) -> bool {
        self.flags & attribute_flag::INVISIBLE != 0
    }

    /// Insertion point, baseline direction and alignment.
    fn placement(&self, ocs: &Ocs) -> (Point, Vec2, HorizontalAlign, VerticalAlign) {
        let (sin, cos) = self.rotation.to_radians().sin_cos();
        let direction = ocs.vector(cos, sin);
        let at = ocs.point(self.at);
        let aligned = self.aligned.map(|point| ocs.point(point));
        let vertical = match self.vertical {
            1 => VerticalAlign::Bottom,
            2 => VerticalAlign::Middle,
            3 => VerticalAlign::Top,
            _ => VerticalAlign::Baseline,
        };
        match (self.horizontal, aligned) {
            // Aligned and fit: from the first point to the second.
            (3 | 5, Some(end)) if end != at => (at, end - at, HorizontalAlign::Left, VerticalAlign::Baseline),
            (1, Some(point)) => (point, direction, HorizontalAlign::Centre, vertical),
            (2, Some(point)) => (point, direction, HorizontalAlign::Right, vertical),
            (4, Some(point)) => (point, direction, HorizontalAlign::Centre, VerticalAlign::Middle),
            (0, Some(point)) if self.vertical != 0 => (point, direction, HorizontalAlign::Left, vertical),
            _ => (at, direction, HorizontalAlign::Left, VerticalAlign::Baseline),
        }
    }
}

impl<'a> Reader<'a, '_> {
    pub(super) fn text(&mut self, kind: Symbol) -> Result<(), ReadError> {
        let mut common = Common::new();
        let raw = self.raw_text(&mut common, false);
        if self.is_elsewhere(kind, &common) {
            return Ok(());
        }
        let text = self.finish_text(&raw, &common, None)?;
        self.push_text(kind, &common, text)
    }

    /// An ATTDEF is a template: in a block it is drawn only if its value is constant; in the model CAD programs
    /// show its tag.
    pub(super) fn attribute_definition(&mut self, kind: Symbol) -> Result<(), ReadError> {
        let mut common = Common::new();
        let mut raw = self.raw_text(&mut common, true);
        if self.is_elsewhere(kind, &common) {
            return Ok(());
        }
        let constant = raw.flags & attribute_flag::CONSTANT != 0;
        if self.open_block.is_some() && !constant {
            self.out.count_read(kind);
            return Ok(());
        }
        if !constant {
            raw.value = raw.tag;
            raw.lines.clear();
        }
        common.visible &= !raw.is_invisible();
        let text = self.finish_text(&raw, &common, None)?;
        self.push_text(kind, &common, text)
    }

    /// An ATTRIB that does not follow its block reference.
    pub(super) fn attribute_alone(&mut self, kind: Symbol) -> Result<(), ReadError> {
        let mut common = Common::new();
        let raw = self.raw_text(&mut common, true);
        if self.is_elsewhere(kind, &common) {
            return Ok(());
        }
        self.report_entity(&codes::ATTRIBUTE_ALONE, kind, &common);
        common.visible &= !raw.is_invisible();
        let tag = self.symbol(raw.tag);
        let text = self.finish_text(&raw, &common, Some(tag))?;
        self.push_text(kind, &common, text)
    }

    /// Reads the fields of a TEXT, or of an attribute, which has its vertical alignment in another group.
    pub(super) fn raw_text(&mut self, common: &mut Common, attribute: bool) -> RawText<'a> {
        let mut raw = RawText {
            value: b"",
            lines: Vec::new(),
            embedded: false,
            tag: b"",
            at: [0.0; 3],
            aligned: None,
            height: 0.0,
            rotation: 0.0,
            horizontal: 0,
            vertical: 0,
            flags: 0,
        };
        self.wants_embedded = attribute;
        while let Some(tag) = self.field() {
            if raw.embedded {
                if matches!(tag.code, 1 | 3) {
                    raw.lines.push(tag.value);
                }
                continue;
            }
            match tag.code {
                1 => raw.value = tag.value,
                2 => raw.tag = tag.value,
                10 | 20 | 30 => raw.at[tag.code as usize / 10 - 1] = self.real(tag),
                11 | 21 | 31 => {
                    let value = self.real(tag);
                    raw.aligned.get_or_insert([0.0; 3])[tag.code as usize / 10 - 1] = value;
                }
                40 => raw.height = self.real(tag),
                50 => raw.rotation = self.real(tag),
                70 if attribute => raw.flags = self.integer(tag),
                72 => raw.horizontal = self.integer(tag),
                73 if !attribute => raw.vertical = self.integer(tag),
                74 if attribute => raw.vertical = self.integer(tag),
                101 => raw.embedded = true,
                _ => self.common(common, tag),
            }
        }
        self.wants_embedded = false;
        raw
    }

    /// Makes the text: its characters and its place.
    pub(super) fn finish_text(
        &mut self,
        raw: &RawText<'a>,
        common: &Common,
        tag: Option<Symbol>,
    ) -> Result<Text, ReadError> {
        let value = if raw.lines.iter().all(|line| line.is_empty()) {
            let page = self.code_page();
            plain_text(&self.decode(raw.value)?, page)
        } else {
            self.join_mtext(&raw.lines)?
        };
        let (at, direction, horizontal, vertical) = raw.placement(&common.ocs());
        Ok(Text {
            value,
            tag,
            at,
            direction,
            height: if raw.height.is_finite() { raw.height.abs() } else { 0.0 },
            horizontal,
            vertical,
            box_width: None,
        })
    }

    pub(super) fn push_text(&mut self, kind: Symbol, common: &Common, text: Text) -> Result<(), ReadError> {
        if !text.at.is_finite() || !text.direction.is_finite() {
            self.left_out(&codes::NOT_FINITE, kind, common);
            return Ok(());
        }
        // A text of blanks, or of formatting alone, shows nothing.
        if text.value.trim().is_empty() {
            self.left_out(&codes::NO_EXTENT, kind, common);
            return Ok(());
        }
        let text = self.out.text(text);
        self.push(kind, common, Geometry::Text(text))
    }

    /// Chunks of a formatted text (groups 3 and 1) in plain characters.
    pub(super) fn join_mtext(&mut self, chunks: &[&'a [u8]]) -> Result<String, ReadError> {
        let page = self.code_page();
        // Characters and escapes may be split between chunks, so bytes are joined before they are decoded.
        let joined: Cow<'_, [u8]> = match chunks {
            [only] => Cow::Borrowed(*only),
            _ => {
                self.check_length(chunks.iter().map(|chunk| chunk.len()).sum())?;
                Cow::Owned(chunks.concat())
            }
        };
        let decoded = self.decode(&joined)?;
        Ok(plain_mtext(&decoded, page))
    }

    pub(super) fn mtext(&mut self, kind: Symbol) -> Result<(), ReadError> {
        let mut common = Common::new();
        let raw = self.raw_mtext(&mut common);
        if self.is_elsewhere(kind, &common) {
            return Ok(());
        }
        let text = self.finish_mtext(raw, &common)?;
        self.push_text(kind, &common, text)
    }

    /// Reads the fields of an MTEXT.
    pub(super) fn raw_mtext(&mut self, common: &mut Common) -> RawMtext<'a> {
        let mut raw = RawMtext::default();
        let mut axis: Option<Vec2> = None;
        while let Some(tag) = self.field() {
            match tag.code {
                1 | 3 => raw.chunks.push(tag.value),
                10 => raw.at.x = self.real(tag),
                20 => raw.at.y = self.real(tag),
                // The direction is given by an axis or an angle; the last one counts.
                11 => axis = Some(Vec2::new(self.real(tag), 0.0)),
                21 => {
                    let y = self.real(tag);
                    axis = axis.map(|axis| Vec2::new(axis.x, y));
                }
                50 => {
                    raw.rotation = Some(self.real(tag));
                    axis = None;
                }
                40 => raw.height = self.real(tag),
                41 => raw.width = self.real(tag),
                71 => raw.attachment = self.integer(tag),
                _ => self.common(common, tag),
            }
        }
        raw.axis = axis.filter(|axis| axis.is_finite() && *axis != Vec2::ZERO);
        raw
    }

    pub(super) fn finish_mtext(&mut self, raw: RawMtext<'a>, common: &Common) -> Result<Text, ReadError> {
        let value = self.join_mtext(&raw.chunks)?;
        let direction = raw.axis.unwrap_or_else(|| {
            let (sin, cos) = raw.rotation.unwrap_or(0.0).to_radians().sin_cos();
            common.ocs().vector(cos, sin)
        });
        let (horizontal, vertical) = attachment(raw.attachment);
        Ok(Text {
            value,
            tag: None,
            at: raw.at,
            direction,
            height: if raw.height.is_finite() { raw.height.abs() } else { 0.0 },
            horizontal,
            vertical,
            box_width: Some(raw.width).filter(|width| width.is_finite() && *width > 0.0),
        })
    }

    /// TOLERANCE: a feature control frame as a text, its cells separated by bars.
    pub(super) fn tolerance(&mut self, kind: Symbol) -> Result<(), ReadError> {
        let mut common = Common::new();
        let mut at = Point::ZERO;
        let mut direction = Vec2::new(1.0, 0.0);
        let mut value: &'a [u8] = b"";
        while let Some(tag) = self.field() {
            match tag.code {
                1 => value = tag.value,
                10 => at.x = self.real(tag),
                20 => at.y = self.real(tag),
                11 => direction.x = self.real(tag),
                21 => direction.y = self.real(tag),
                _ => self.common(&mut common, tag),
            }
        }
        if self.is_elsewhere(kind, &common) {
            return Ok(());
        }
        let value = self.join_mtext(&[value])?.replace("%%v", " | ").replace("%%V", " | ");
        let text = Text {
            value,
            tag: None,
            at,
            direction,
            height: 0.0,
            horizontal: HorizontalAlign::Left,
            vertical: VerticalAlign::Middle,
            box_width: None,
        };
        self.push_text(kind, &common, text)
    }
}

/// An MTEXT as its tags say it.
#[derive(Debug, Default)]
pub(super) struct RawMtext<'a> {
    pub(super) chunks: Vec<&'a [u8]>,
    at: Point,
    axis: Option<Vec2>,
    rotation: Option<f64>,
    height: f64,
    width: f64,
    attachment: i64,
}

/// The nine attachment points: three columns in three rows from the top.
pub(super) fn attachment(number: i64) -> (HorizontalAlign, VerticalAlign) {
    let number = if (1..=9).contains(&number) { number - 1 } else { 0 };
    let horizontal = match number % 3 {
        0 => HorizontalAlign::Left,
        1 => HorizontalAlign::Centre,
        _ => HorizontalAlign::Right,
    };
    let vertical = match number / 3 {
        0 => VerticalAlign::Top,
        1 => VerticalAlign::Middle,
        _ => VerticalAlign::Bottom,
    };
    (horizontal, vertical)
}
