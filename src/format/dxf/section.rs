//! Sections of a document: header variables, classes, the layer and block tables, block definitions, and the
//! loop over entities. OBJECTS is read by [`super::object`].
//!
//! Sections are taken in the order they come. A section without its end, records outside of any section, a second
//! definition of a block: read what is there, say what was odd.

use super::codes;
use super::encoding::CodePage;
use super::number;
use super::reader::{Reader, Space, shown};
use super::{colour, entity};
use crate::drawing::Point;
use crate::format::ReadError;

/// What the header says about the drawing as a whole.
#[derive(Debug, Default, Clone)]
pub(super) struct Header {
    /// `$ACADVER`.
    pub(super) version: Option<String>,
    /// `$INSUNITS`, if stated; 0 is "unitless".
    pub(super) insertion_units: Option<i64>,
    /// `$MEASUREMENT`: 0 imperial, 1 metric.
    pub(super) measurement: Option<i64>,
}

impl<'a> Reader<'a, '_> {
    /// Reads all sections.
    pub(super) fn document(&mut self) -> Result<(Header, Ending), ReadError> {
        let mut header = Header { version: self.header_value(b"$ACADVER"), ..Header::default() };
        self.choose_encoding(header.version.as_deref());
        let mut num_sections = 0;
        self.skip_record();
        while let Some(record) = self.record {
            if record.eq_ignore_ascii_case(b"EOF") {
                break;
            } else if record.eq_ignore_ascii_case(b"SECTION") {
                num_sections += 1;
                self.check_case(record);
                self.section(&mut header)?;
            } else if record.eq_ignore_ascii_case(b"ENDSEC") {
                self.skip_record();
            } else {
                self.report(&codes::OUTSIDE_SECTION, || shown(record));
                self.entities(End::Section)?;
                // Whatever stopped the entities is no entity either: go on behind it.
                if self.record.is_some_and(is_block_mark) {
                    self.skip_record();
                }
            }
        }
        if let Some(interrupt) = self.interrupted.take() {
            return Err(interrupt.into());
        }
        let found_end = self.record.is_some();
        Ok((header, Ending { num_sections, found_end }))
    }

    fn section(&mut self, header: &mut Header) -> Result<(), ReadError> {
        let mut name = None;
        // The name is the first field; a header's variables follow it at once.
        while name.is_none() {
            match self.field() {
                Some(tag) if tag.code == 2 => name = Some(number::trim(tag.value)),
                Some(_) => {}
                None => break,
            }
        }
        let name = name.unwrap_or(b"");
        self.check_case(name);
        let upper = name.to_ascii_uppercase();
        match upper.as_slice() {
            b"HEADER" => self.header(header),
            b"CLASSES" => {
                self.skip_record();
                self.class_list();
            }
            b"TABLES" => {
                self.skip_record();
                self.tables();
            }
            b"BLOCKS" => {
                self.skip_record();
                self.blocks_follow = Some(true);
                self.block_definitions()?;
                self.seen_blocks = true;
            }
            b"ENTITIES" => {
                self.skip_record();
                self.entities(End::Section)?;
            }
            b"OBJECTS" => {
                self.skip_record();
                self.objects()?;
            }
            _ => {
                self.skip_record();
                self.skip_section();
            }
        }
        match self.record {
            Some(end) if end.eq_ignore_ascii_case(b"ENDSEC") => self.skip_record(),
            Some(next) if is_section_mark(next) => {
                self.fixed(&codes::NO_END_MARK, || format!("section {}", shown(name)));
            }
            // Block marks among entities, or the end of the document, which is reported on its own.
            Some(_) => self.skip_section(),
            None => {}
        }
        Ok(())
    }

    fn check_case(&mut self, name: &[u8]) {
        if name.iter().any(u8::is_ascii_lowercase) {
            self.fixed(&codes::NAME_CASE, || shown(name));
        }
    }

    fn skip_section(&mut self) {
        while let Some(record) = self.record {
            if is_section_mark(record) {
                return;
            }
            self.skip_record();
        }
    }

    /// The value of a header variable before the header is read: encodings are needed from the first string on.
    fn header_value(&self, variable: &[u8]) -> Option<String> {
        let at = memchr::memmem::find(self.tags.data(), variable)?;
        let mut tags = self.tags.clone();
        if tags.is_binary() {
            tags.seek(at + variable.len() + 1);
        } else {
            let rest = self.tags.data().get(at..)?;
            let line_end = memchr::memchr2(b'\n', b'\r', rest)?;
            let feed = usize::from(rest.get(line_end..line_end + 2) == Some(b"\r\n"));
            tags.seek(at + line_end + feed + 1);
        }
        let value = tags.next()?;
        (1..=9).contains(&value.code).then(|| String::from_utf8_lossy(number::trim(value.value)).into_owned())
    }

    fn choose_encoding(&mut self, version: Option<&str>) {
        let stated = self.options.encoding.as_deref().and_then(CodePage::by_name);
        let name = self.header_value(b"$DWGCODEPAGE").filter(|name| !name.is_empty());
        let declared = name.as_deref().and_then(CodePage::by_name);
        if let (Some(name), None, None) = (&name, declared, stated) {
            let name = name.clone();
            self.report(&codes::UNKNOWN_CODE_PAGE, move || name);
        }
        self.set_encoding(version, declared, stated);
    }

    fn header(&mut self, header: &mut Header) {
        let mut variable: &[u8] = b"";
        while let Some(tag) = self.field() {
            match (tag.code, variable) {
                (9, _) => variable = number::trim(tag.value),
                (70, b"$INSUNITS") => header.insertion_units = Some(self.integer(tag)),
                (70, b"$MEASUREMENT") => header.measurement = Some(self.integer(tag)),
                _ => {}
            }
        }
    }

    fn class_list(&mut self) {
        while let Some(record) = self.record {
            if is_section_mark(record) {
                return;
            }
            let mut name: &[u8] = b"";
            while let Some(tag) = self.field() {
                if tag.code == 1 {
                    name = number::trim(tag.value);
                }
            }
            if record.eq_ignore_ascii_case(b"CLASS") {
                self.classes.push(name);
            }
        }
    }

    fn tables(&mut self) {
        while let Some(record) = self.record {
            if record.eq_ignore_ascii_case(b"LAYER") {
                self.layer_record();
            } else if record.eq_ignore_ascii_case(b"BLOCK_RECORD") {
                self.block_record();
            } else if record.eq_ignore_ascii_case(b"DIMSTYLE") {
                self.dimension_style_record();
            } else if is_section_mark(record) {
                return;
            } else {
                self.skip_record();
            }
        }
    }

    fn layer_record(&mut self) {
        let (mut name, mut flags, mut index, mut true_colour) = (None, 0, 7, None);
        while let Some(tag) = self.field() {
            match tag.code {
                2 => name = Some(tag.value),
                70 => flags = self.integer(tag),
                62 => index = self.integer(tag),
                420 => true_colour = Some(self.integer(tag) as u32 & 0x00FF_FFFF),
                _ => {}
            }
        }
        let Some(name) = name else { return };
        let id = self.layer(name);
        if let Some(layer) = self.out.layer_mut(id) {
            layer.declared = true;
            layer.off = index < 0;
            layer.frozen = flags & 1 != 0;
            layer.colour = true_colour.or_else(|| u8::try_from(index.unsigned_abs()).ok().and_then(colour::rgb));
        }
    }

    fn block_record(&mut self) {
        let (mut name, mut handle) = (None, 0);
        while let Some(tag) = self.field() {
            match tag.code {
                2 => name = name.or(Some(tag.value)),
                5 => handle = tag.handle(),
                _ => {}
            }
        }
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            let block = self.block(name);
            self.block_records.insert(handle, block);
        }
    }

    fn block_definitions(&mut self) -> Result<(), ReadError> {
        while let Some(record) = self.record {
            if is_section_mark(record) {
                return Ok(());
            }
            if record.eq_ignore_ascii_case(b"BLOCK") {
                self.block_definition()?;
            } else if is_block_mark(record) {
                self.skip_record();
            } else {
                self.report(&codes::OUTSIDE_SECTION, || shown(record));
                self.entities(End::Block)?;
            }
        }
        Ok(())
    }

    fn block_definition(&mut self) -> Result<(), ReadError> {
        let (mut name, mut flags, mut path): (&[u8], i64, &[u8]) = (b"", 0, b"");
        let mut base = Point::ZERO;
        while let Some(tag) = self.field() {
            match tag.code {
                2 => name = tag.value,
                1 => path = tag.value,
                70 => flags = self.integer(tag),
                10 => base.x = self.real(tag),
                20 => base.y = self.real(tag),
                _ => {}
            }
        }
        if !base.is_finite() {
            base = Point::ZERO;
        }
        let upper = number::trim(name).to_ascii_uppercase();
        let is_active = self.layout && matches!(upper.as_slice(), b"*PAPER_SPACE" | b"$PAPER_SPACE");
        if is_active {
            // Its entities are those of the drawing.
        } else if upper.starts_with(b"*PAPER_SPACE") || upper.starts_with(b"$PAPER_SPACE") {
            self.space = Space::Sheet;
        } else if !upper.starts_with(b"*MODEL_SPACE") && !upper.starts_with(b"$MODEL_SPACE") {
            let id = self.block(name);
            let defined = self.out.drawing().block(id).is_some_and(|block| block.defined);
            if defined {
                self.report(&codes::BLOCK_TWICE, || shown(name));
                self.space = Space::Nowhere;
            } else {
                self.out.open_block(id, base);
                self.open_block = Some(id);
                // Flag 4 is an external reference, 8 one that is overlaid; 16 external but dependent.
                if flags & 12 != 0 && !path.is_empty() {
                    let path = self.name(path).into_owned();
                    if let Some(block) = self.out.block_mut(id) {
                        block.external = Some(path);
                    }
                }
            }
        }
        self.entities(End::Block)?;
        self.out.close_block();
        self.open_block = None;
        self.space = Space::Drawn;
        match self.record {
            Some(end) if end.eq_ignore_ascii_case(b"ENDBLK") => self.skip_record(),
            Some(_) => self.fixed(&codes::NO_END_MARK, || format!("block {}", shown(name))),
            None => {}
        }
        Ok(())
    }

    /// Reads entities until the section, or the block, ends.
    fn entities(&mut self, end: End) -> Result<(), ReadError> {
        while let Some(record) = self.record {
            if is_section_mark(record) || end == End::Block && is_block_mark(record) {
                return Ok(());
            }
            if is_block_mark(record) {
                self.report(&codes::OUTSIDE_SECTION, || shown(record));
                self.skip_record();
                continue;
            }
            self.count_record()?;
            entity::read(self, record)?;
        }
        Ok(())
    }
}

/// How the document ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ending {
    /// Sections met.
    pub(super) num_sections: u32,
    /// Whether EOF was found.
    pub(super) found_end: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Section,
    Block,
}

#[inline]
pub(super) fn is_section_mark(record: &[u8]) -> bool {
    match record.len() {
        3 => record.eq_ignore_ascii_case(b"EOF"),
        6 => record.eq_ignore_ascii_case(b"ENDSEC"),
        7 => record.eq_ignore_ascii_case(b"SECTION"),
        _ => false,
    }
}

#[inline]
fn is_block_mark(record: &[u8]) -> bool {
    match record.len() {
        5 => record.eq_ignore_ascii_case(b"BLOCK"),
        6 => record.eq_ignore_ascii_case(b"ENDBLK"),
        _ => false,
    }
}
