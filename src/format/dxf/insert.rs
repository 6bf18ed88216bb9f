//! Block references: INSERT with its attributes, and ACAD_TABLE, which shows a block of its own.
//!
//! A block reference lies in its object coordinate system; an array turns with it. Attribute values follow it as
//! records of their own, whether group 66 announces them or not.

use super::codes;
use super::ocs::Ocs;
use super::reader::{Common, Reader, shown};
use crate::drawing::{Affine, Attribute, BlockId, Geometry, Insert, Point, Symbol, Vec2};
use crate::format::ReadError;

impl<'a> Reader<'a, '_> {
    pub(super) fn insert(&mut self, kind: Symbol) -> Result<(), ReadError> {
        let mut common = Common::new();
        let mut name: &'a [u8] = b"";
        let mut at = [0.0; 3];
        let mut scale = Vec2::new(1.0, 1.0);
        let mut rotation = 0.0;
        let (mut columns, mut rows, mut spacing) = (1i64, 1i64, Vec2::ZERO);
        let mut attributes_follow = false;
        while let Some(tag) = self.field() {
            match tag.code {
                2 => name = tag.value,
                10 | 20 | 30 => at[tag.code as usize / 10 - 1] = self.real(tag),
                41 => scale.x = self.real(tag),
                42 => scale.y = self.real(tag),
                44 => spacing.x = self.real(tag),
                45 => spacing.y = self.real(tag),
                50 => rotation = self.real(tag),
                66 => attributes_follow = self.integer(tag) == 1,
                70 => columns = self.integer(tag),
                71 => rows = self.integer(tag),
                _ => self.common(&mut common, tag),
            }
        }
        let dictionary = self.dictionary;
        let elsewhere = self.is_elsewhere(kind, &common);
        let attributes = self.attributes(attributes_follow, elsewhere)?;
        if elsewhere {
            return Ok(());
        }
        let (columns, rows) = self.grid(columns, rows, spacing)?;
        let ocs = common.ocs();
        let (sin, cos) = rotation.to_radians().sin_cos();
        let block = self.block(name);
        let insert = Insert {
            block,
            transform: placement(&ocs, at, scale, sin, cos),
            columns,
            rows,
            column_step: ocs.vector(cos * spacing.x, sin * spacing.x),
            row_step: ocs.vector(-sin * spacing.y, cos * spacing.y),
            attributes,
            clip: None,
        };
        self.push_insert(kind, &common, insert, dictionary)
    }

    fn push_insert(&mut self, kind: Symbol, common: &Common, insert: Insert, dictionary: u64) -> Result<(), ReadError> {
        let finite = insert.transform.is_finite() && insert.column_step.is_finite() && insert.row_step.is_finite();
        if !finite {
            self.left_out(&codes::NOT_FINITE, kind, common);
            return Ok(());
        }
        let insert = self.out.insert(insert);
        if dictionary != 0 {
            self.later.dictionaries.push((dictionary, insert));
        }
        self.push(kind, common, Geometry::Insert(insert))
    }

    /// Counts of an array. A count of zero draws nothing; a negative one, or copies that coincide, is one.
    fn grid(&mut self, columns: i64, rows: i64, spacing: Vec2) -> Result<(u32, u32), ReadError> {
        if columns == 1 && rows == 1 {
            return Ok((1, 1));
        }
        let mut count = |number: i64, step: f64| {
            if number < 0 || number > 1 && step == 0.0 {
                self.fixed(&codes::ARRAY_REPAIRED, || format!("{number} copies at a distance of {step}"));
                1
            } else {
                number as u64
            }
        };
        let (columns, rows) = (count(columns, spacing.x), count(rows, spacing.y));
        let limit = self.options.limits.expanded_shapes;
        if columns.checked_mul(rows).is_none_or(|all| all > limit) {
            return Err(ReadError::Limit {
                what: format!("array of {columns} × {rows} block references"),
                key: "expanded_shapes",
                limit,
            });
        }
        let narrow = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        Ok((narrow(columns), narrow(rows)))
    }

    /// The ATTRIB records behind a block reference, up to their SEQEND.
    fn attributes(&mut self, announced: bool, elsewhere: bool) -> Result<Vec<Attribute>, ReadError> {
        let mut attributes: Vec<Attribute> = Vec::new();
        let mut found = false;
        while let Some(record) = self.record {
            if record.eq_ignore_ascii_case(b"ATTRIB") {
                found = true;
                self.count_record()?;
                if let Some(attribute) = self.attribute(record, elsewhere)? {
                    attributes.push(attribute);
                }
            } else if record == b"MTEXT" && announced && found {
                // Attributes of several lines in R2004: the text follows as an entity of its own.
                let mut common = Common::new();
                let raw = self.raw_mtext(&mut common);
                let value = self.join_mtext(&raw.chunks)?;
                let last = attributes.last().map(|attribute| attribute.text);
                if let Some(text) = last.and_then(|text| self.out.text_mut(text)) {
                    text.value = value;
                }
            } else {
                break;
            }
        }
        if (announced || found) && self.record.is_some_and(|record| record.eq_ignore_ascii_case(b"SEQEND")) {
            self.skip_record();
        }
        attributes.shrink_to_fit();
        Ok(attributes)
    }

    fn attribute(&mut self, record: &'a [u8], elsewhere: bool) -> Result<Option<Attribute>, ReadError> {
        let kind = self.symbol(record);
        let mut common = Common::new();
        let raw = self.raw_text(&mut common, true);
        // An attribute is where its block reference is, whatever it says itself.
        common.paper = elsewhere;
        if elsewhere {
            self.is_elsewhere(kind, &common);
            return Ok(None);
        }
        let tag = self.symbol(raw.tag);
        let text = self.finish_text(&raw, &common, Some(tag))?;
        if !text.at.is_finite() || !text.direction.is_finite() {
            self.left_out(&codes::NOT_FINITE, kind, &common);
            return Ok(None);
        }
        self.out.count_read(kind);
        let layer = match common.layer {
            Some(layer) => layer,
            None => self.layer(b"0"),
        };
        Ok(Some(Attribute {
            tag,
            text: self.out.text(text),
            layer,
            visible: common.visible && !raw.is_invisible(),
            identity: common.identity(),
        }))
    }

    /// ACAD_TABLE: the block that draws it, at its corner and along its direction.
    pub(super) fn table(&mut self, kind: Symbol) -> Result<(), ReadError> {
        let mut common = Common::new();
        let mut name: Option<&'a [u8]> = None;
        let mut at = [None; 2];
        let mut direction = Vec2::new(1.0, 0.0);
        let mut in_table = false;
        while let Some(tag) = self.field() {
            match tag.code {
                100 => in_table |= tag.value == b"AcDbTable",
                2 if name.is_none() => name = Some(tag.value),
                10 if at[0].is_none() => at[0] = Some(self.real(tag)),
                20 if at[1].is_none() => at[1] = Some(self.real(tag)),
                11 if in_table => direction.x = self.real(tag),
                21 if in_table => direction.y = self.real(tag),
                // Cells repeat group codes of entities (62, 60 …) behind the subclass mark.
                5 | 8 | 67 => self.common(&mut common, tag),
                60 | 62 | 420 if !in_table => self.common(&mut common, tag),
                _ => {}
            }
        }
        if self.is_elsewhere(kind, &common) {
            return Ok(());
        }
        let at = Point::new(at[0].unwrap_or(0.0), at[1].unwrap_or(0.0));
        let angle = if direction.is_finite() { direction.y.atan2(direction.x) } else { 0.0 };
        let transform = Affine::translate(at.to_vec2()) * Affine::rotate(angle);
        self.push_picture(kind, &common, name.unwrap_or(b""), transform)
    }

    /// Shows a block without base point, grid or attributes.
    pub(super) fn push_picture(
        &mut self,
        kind: Symbol,
        common: &Common,
        name: &'a [u8],
        transform: Affine,
    ) -> Result<(), ReadError> {
        let block = if name.is_empty() { None } else { Some(self.block(name)) };
        match block {
            Some(block) if self.may_show(block) => self.push_insert(kind, common, plain_insert(block, transform), 0),
            _ => {
                let handle = common.handle;
                self.report(&codes::NO_PICTURE, || format!("{handle:X}, block `{}`", shown(name)));
                self.out.count_unsupported_kind(kind);
                Ok(())
            }
        }
    }

    /// Whether a block is defined, or may still be because its section has not come yet.
    pub(super) fn may_show(&mut self, block: BlockId) -> bool {
        self.out.drawing().block(block).is_some_and(|block| block.defined) || !self.seen_blocks && self.blocks_follow()
    }

    /// Whether a section of blocks follows somewhere; looked for once.
    fn blocks_follow(&mut self) -> bool {
        let rest = self.tags.data().get(self.tags.position()..).unwrap_or(&[]);
        let follows = self.blocks_follow.unwrap_or_else(|| memchr::memmem::find(rest, b"BLOCKS").is_some());
        self.blocks_follow = Some(follows);
        follows
    }

    /// Adds a further item of an entity that was counted already.
    pub(super) fn push_part(&mut self, kind: Symbol, common: &Common, geometry: Geometry) -> Result<(), ReadError> {
        self.push(kind, common, geometry)?;
        self.out.uncount_read(kind);
        Ok(())
    }
}

/// A single block reference.
pub(super) fn plain_insert(block: BlockId, transform: Affine) -> Insert {
    Insert {
        block,
        transform,
        columns: 1,
        rows: 1,
        column_step: Vec2::ZERO,
        row_step: Vec2::ZERO,
        attributes: Vec::new(),
        clip: None,
    }
}

/// Scale, turn by the angle of that sine and cosine, move; then from the object system to the plan.
pub(super) fn placement(ocs: &Ocs, at: [f64; 3], scale: Vec2, sin: f64, cos: f64) -> Affine {
    let x = ocs.vector(cos * scale.x, sin * scale.x);
    let y = ocs.vector(-sin * scale.y, cos * scale.y);
    let origin = ocs.point(at);
    Affine::new([x.x, x.y, y.x, y.y, origin.x, origin.y])
}
