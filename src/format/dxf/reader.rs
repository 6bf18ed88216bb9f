//! The state of reading one DXF document: tags in, [`DrawingBuilder`] out, issues on the side.
//!
//! What every entity needs lives here: fields of a record, numbers with their repairs, names with their caches,
//! and the way into the model, a block, or the count of another sheet. Records are read straight from the bytes;
//! names are decoded once per distinct spelling. What the entities mean is left to the modules beside this one.

use std::borrow::Cow;
use std::collections::HashMap;

use super::codes;
use super::colour;
use super::dimension::DimensionStyle;
use super::encoding::{CodePage, Decoder, Finding};
use super::number;
use super::ocs::Ocs;
use super::polyline::Vertex;
use super::tag::{Form, Tag, Tags};
use super::text;
use crate::drawing::{
    BlockId, Colour, DrawingBuilder, Geometry, Identity, InsertId, Item, LayerId, Path, Properties, SourceFormat,
    Symbol, Vec2,
};
use crate::format::{Checkpoint, Interrupt, ReadError, ReadOptions};
use crate::issue::{Code, Issues, Place};

/// Fields read, or passed over, between two looks at the deadline.
const FIELDS_BETWEEN_LOOKS: u32 = 1 << 14;

/// A map by raw bytes of the document.
pub(super) type RawMap<'a, T> = HashMap<&'a [u8], T, foldhash::fast::RandomState>;

/// Where entities go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Space {
    /// The model, or the open block.
    Drawn,
    /// Another sheet: counted only.
    Sheet,
    /// A definition that is not wanted: neither counted nor read.
    Nowhere,
}

/// What all entities have in common.
#[derive(Debug, Clone, Copy)]
pub(super) struct Common {
    pub(super) layer: Option<LayerId>,
    pub(super) colour: Colour,
    pub(super) handle: u64,
    pub(super) visible: bool,
    pub(super) paper: bool,
    pub(super) normal: [f64; 3],
}

impl Common {
    pub(super) fn new() -> Self {
        Self { layer: None, colour: Colour::ByLayer, handle: 0, visible: true, paper: false, normal: [0.0, 0.0, 1.0] }
    }

    /// The object coordinate system by its normal.
    #[inline]
    pub(super) fn ocs(&self) -> Ocs {
        if self.normal == [0.0, 0.0, 1.0] { Ocs::WORLD } else { Ocs::new(self.normal) }
    }

    /// The handle as an identity.
    pub(super) fn identity(&self) -> Identity {
        if self.handle == 0 { Identity::None } else { Identity::Handle(self.handle) }
    }
}

/// What must wait for the end of the document.
#[derive(Debug, Default)]
pub(super) struct Later {
    /// Block references with an extension dictionary, which may hold a clip boundary.
    pub(super) dictionaries: Vec<(u64, InsertId)>,
    /// Endless lines, clipped when the extents are known.
    pub(super) endless: Vec<Endless>,
}

/// A RAY or XLINE.
#[derive(Debug, Clone, Copy)]
pub(super) struct Endless {
    pub(super) kind: Symbol,
    pub(super) common: Common,
    pub(super) base: crate::drawing::Point,
    pub(super) direction: Vec2,
    pub(super) both_ways: bool,
    /// The block it stands in, if any.
    pub(super) block: Option<BlockId>,
}

/// The reader.
pub(super) struct Reader<'a, 'o> {
    pub(super) tags: Tags<'a>,
    /// Name of the record that begins next; `None` at the end of the document.
    pub(super) record: Option<&'a [u8]>,
    pub(super) out: DrawingBuilder,
    pub(super) issues: Issues,
    pub(super) options: &'o ReadOptions,
    checkpoint: &'o Checkpoint<'o>,
    decoder: Decoder<'a>,
    layers: RawMap<'a, LayerId>,
    layers_by_name: HashMap<String, LayerId>,
    last_layer: Option<(&'a [u8], LayerId)>,
    blocks: RawMap<'a, BlockId>,
    blocks_by_name: HashMap<String, BlockId>,
    symbols: RawMap<'a, Symbol>,
    /// Hatch patterns as properties, stored once per name.
    pub(super) patterns: RawMap<'a, Properties>,
    /// Names of the blocks by the handles of their table records.
    pub(super) block_records: HashMap<u64, BlockId>,
    /// Dimension styles by name in lower case.
    pub(super) dimension_styles: HashMap<String, DimensionStyle<'a>>,
    /// Names of application classes in order; proxies refer to them by number.
    pub(super) classes: Vec<&'a [u8]>,
    pub(super) space: Space,
    /// What lies on the active layout is read like the model.
    pub(super) layout: bool,
    pub(super) open_block: Option<BlockId>,
    /// Whether the BLOCKS section has come.
    pub(super) seen_blocks: bool,
    /// Whether it is still to come, once somebody had to know.
    pub(super) blocks_follow: Option<bool>,
    /// Extension dictionary of the record being read.
    pub(super) dictionary: u64,
    /// Hand the embedded-object mark (101) to the record's reader instead of skipping what follows.
    pub(super) wants_embedded: bool,
    pub(super) later: Later,
    pub(super) vertices: Vec<Vertex>,
    num_records: u64,
    num_fields: u32,
    /// Why the document was left in the middle of a record.
    pub(super) interrupted: Option<Interrupt>,
    /// Line breaks counted up to an offset, so that a million issues count every line once.
    lines: (usize, u64),
}

impl<'a, 'o> Reader<'a, 'o> {
    pub(super) fn new(data: &'a [u8], options: &'o ReadOptions, checkpoint: &'o Checkpoint<'o>) -> Self {
        let tags = Tags::new(data);
        Self {
            decoder: Decoder::new(data, tags.is_binary(), None, None, None),
            tags,
            record: None,
            out: DrawingBuilder::new(SourceFormat::Dxf, &options.limits),
            issues: Issues::new(),
            options,
            checkpoint,
            layers: RawMap::default(),
            layers_by_name: HashMap::new(),
            last_layer: None,
            blocks: RawMap::default(),
            blocks_by_name: HashMap::new(),
            symbols: RawMap::default(),
            patterns: RawMap::default(),
            block_records: HashMap::new(),
            dimension_styles: HashMap::new(),
            classes: Vec::new(),
            space: Space::Drawn,
            layout: false,
            open_block: None,
            seen_blocks: false,
            blocks_follow: None,
            dictionary: 0,
            wants_embedded: false,
            later: Later::default(),
            vertices: Vec::new(),
            num_records: 0,
            num_fields: 0,
            interrupted: None,
            lines: (0, 1),
        }
    }

    /// Sets how strings are decoded.
    pub(super) fn set_encoding(&mut self, version: Option<&str>, declared: Option<CodePage>, stated: Option<CodePage>) {
        self.decoder = Decoder::new(self.tags.data(), self.tags.is_binary(), version, declared, stated);
    }

    // ---- records -----------------------------------------------------------------------------------------------

    /// The next field of the current record, or `None` at its end. Comments, extended data and application groups
    /// are passed over.
    #[inline]
    pub(super) fn field(&mut self) -> Option<Tag<'a>> {
        loop {
            let Some(tag) = self.tags.next() else {
                self.record = None;
                return None;
            };
            if self.is_time_to_stop() {
                return None;
            }
            match tag.code {
                0 => {
                    self.record = Some(number::trim(tag.value));
                    return None;
                }
                101.. | ..=-1 => {
                    if let Some(tag) = self.rare_field(tag)? {
                        return Some(tag);
                    }
                }
                _ => return Some(tag),
            }
        }
    }

    /// Sorts out a field beyond 100: `Some(Some(tag))` to hand it on, `Some(None)` to go on with the next one,
    /// `None` at the end of the record.
    #[inline]
    fn rare_field(&mut self, tag: Tag<'a>) -> Option<Option<Tag<'a>>> {
        match tag.code {
            101 if !self.wants_embedded => {
                self.skip_record();
                None
            }
            102 => self.skip_group(tag.value).then_some(None),
            999.. | ..=-1 => Some(None),
            _ => Some(Some(tag)),
        }
    }

    /// Passes over the rest of the record.
    pub(super) fn skip_record(&mut self) {
        loop {
            match self.tags.next() {
                None => {
                    self.record = None;
                    return;
                }
                Some(tag) if tag.code == 0 => {
                    self.record = Some(number::trim(tag.value));
                    return;
                }
                Some(_) if self.is_time_to_stop() => return,
                Some(_) => {}
            }
        }
    }

    /// Counts a field; now and then looks at deadline and cancellation, within records that have no end, too. If it is
    /// time, the document ends here, and whoever reads it asks for [`Reader::interrupted`].
    #[inline]
    fn is_time_to_stop(&mut self) -> bool {
        self.num_fields = self.num_fields.wrapping_add(1);
        self.num_fields.is_multiple_of(FIELDS_BETWEEN_LOOKS) && self.must_stop()
    }

    #[cold]
    fn must_stop(&mut self) -> bool {
        match (self.checkpoint)() {
            Ok(()) => false,
            Err(interrupt) => {
                self.interrupted = Some(interrupt);
                self.tags.seek(self.tags.data().len());
                self.record = None;
                true
            }
        }
    }

    /// Passes over a `{NAME … }` group; `false` if the record ended in it.
    #[cold]
    fn skip_group(&mut self, name: &[u8]) -> bool {
        let name = number::trim(name);
        if !name.starts_with(b"{") {
            return true;
        }
        let of_dictionary = name == b"{ACAD_XDICTIONARY";
        loop {
            let before = self.tags.position();
            let Some(tag) = self.tags.next() else {
                self.record = None;
                return false;
            };
            match tag.code {
                0 => {
                    self.record = Some(number::trim(tag.value));
                    return false;
                }
                102 if number::trim(tag.value).starts_with(b"{") => {
                    self.tags.seek(before);
                    return true;
                }
                102 => return true,
                360 if of_dictionary => self.dictionary = tag.handle(),
                // A group without its end: what follows belongs to the entity.
                100 => {
                    self.tags.seek(before);
                    return true;
                }
                _ if self.is_time_to_stop() => return false,
                _ => {}
            }
        }
    }

    /// Counts a record and looks at deadline and cancellation now and then.
    #[inline]
    pub(super) fn count_record(&mut self) -> Result<(), ReadError> {
        self.num_records += 1;
        if self.num_records.is_multiple_of(256) {
            (self.checkpoint)()?;
        }
        Ok(())
    }

    /// Takes the fields every entity has.
    #[inline]
    pub(super) fn common(&mut self, common: &mut Common, tag: Tag<'a>) {
        match tag.code {
            5 => common.handle = tag.handle(),
            8 => common.layer = Some(self.layer(tag.value)),
            62 if !matches!(common.colour, Colour::Rgb(rgb) if rgb & 0xFF00_0000 != 0) => {
                common.colour = colour::of_entity(self.integer(tag));
            }
            // True colours win over the index; the mark in the top byte is taken off by `push`.
            420 => common.colour = Colour::Rgb(self.integer(tag) as u32 & 0x00FF_FFFF | 0xFF00_0000),
            60 => common.visible = self.integer(tag) == 0,
            67 => common.paper = self.integer(tag) == 1,
            210 => common.normal[0] = self.real(tag),
            220 => common.normal[1] = self.real(tag),
            230 => common.normal[2] = self.real(tag),
            _ => {}
        }
    }

    /// The engine's checkpoint.
    pub(super) fn checkpoint(&self) -> &'o Checkpoint<'o> {
        self.checkpoint
    }

    // ---- values ------------------------------------------------------------------------------------------------

    /// A real; repaired if need be, NaN if there is no number.
    #[inline]
    pub(super) fn real(&mut self, tag: Tag<'a>) -> f64 {
        match tag.real() {
            Some(value) => value,
            None => self.odd_real(tag),
        }
    }

    #[cold]
    fn odd_real(&mut self, tag: Tag<'a>) -> f64 {
        let shown = || shown(tag.value);
        if tag.form == Form::Text
            && let Some(value) = number::lenient_real(tag.value)
        {
            self.fixed(&codes::NUMBER_REPAIRED, || format!("`{}` was read as {value}", shown()));
            return value;
        }
        self.report(&codes::NOT_A_NUMBER, || format!("`{}` in group {}", shown(), tag.code));
        f64::NAN
    }

    /// An integer; 0 if there is none.
    #[inline]
    pub(super) fn integer(&mut self, tag: Tag<'a>) -> i64 {
        match tag.integer() {
            Some(value) => value,
            None => self.odd_integer(tag),
        }
    }

    #[cold]
    fn odd_integer(&mut self, tag: Tag<'a>) -> i64 {
        let value = if tag.form == Form::Text { number::lenient_real(tag.value) } else { None };
        match value {
            Some(value) if value.abs() < 9.0e15 => {
                let value = value as i64;
                self.fixed(&codes::NUMBER_REPAIRED, || format!("`{}` was read as {value}", shown(tag.value)));
                value
            }
            _ => {
                self.report(&codes::NOT_A_NUMBER, || format!("`{}` in group {}", shown(tag.value), tag.code));
                0
            }
        }
    }

    /// The characters of a string, escapes left in.
    pub(super) fn decode<'s>(&mut self, raw: &'s [u8]) -> Result<Cow<'s, str>, ReadError> {
        self.check_length(raw.len())?;
        let (text, finding) = self.decoder.decode(raw);
        let code = match finding {
            Finding::Plain => None,
            Finding::UnexpectedUtf8 => Some(&codes::UNEXPECTED_UTF8),
            Finding::NotUtf8 => Some(&codes::NOT_UTF8),
            Finding::AssumedCodePage => Some(&codes::NO_CODE_PAGE),
        };
        if let Some(code) = code {
            self.report(code, || excerpt(&text));
        }
        if matches!(text, Cow::Owned(_)) && text.contains(char::REPLACEMENT_CHARACTER) {
            self.report(&codes::UNDECODABLE, || excerpt(&text));
        }
        Ok(text)
    }

    /// Refuses strings beyond the limit.
    pub(super) fn check_length(&self, length: usize) -> Result<(), ReadError> {
        let limit = self.options.limits.string_bytes;
        if length as u64 > limit {
            return Err(ReadError::Limit { what: "length of a string".to_owned(), key: "string_bytes", limit });
        }
        Ok(())
    }

    /// The code page for codes inside texts.
    pub(super) fn code_page(&self) -> CodePage {
        self.decoder.code_page()
    }

    /// A name: decoded, escapes resolved, blanks at the ends taken off. Never fails: a name beyond the limit is cut.
    pub(super) fn name<'s>(&mut self, raw: &'s [u8]) -> Cow<'s, str> {
        let raw = number::trim(raw);
        let limit = usize::try_from(self.options.limits.string_bytes).unwrap_or(usize::MAX);
        let decoded = self.decode(raw.get(..raw.len().min(limit)).unwrap_or(raw)).unwrap_or_default();
        text::unescape(decoded)
    }

    /// The symbol of a name, decoded once per spelling.
    pub(super) fn symbol(&mut self, raw: &'a [u8]) -> Symbol {
        if let Some(symbol) = self.symbols.get(raw) {
            return *symbol;
        }
        let name = self.name(raw);
        let symbol = self.out.intern(&name);
        self.symbols.insert(raw, symbol);
        symbol
    }

    /// The layer of a name; names that differ in case only are one layer.
    #[inline]
    pub(super) fn layer(&mut self, raw: &'a [u8]) -> LayerId {
        if let Some((last, id)) = self.last_layer
            && last == raw
        {
            return id;
        }
        let id = match self.layers.get(raw) {
            Some(id) => *id,
            None => self.new_layer(raw),
        };
        self.last_layer = Some((raw, id));
        id
    }

    fn new_layer(&mut self, raw: &'a [u8]) -> LayerId {
        let name = self.name(raw).into_owned();
        let id = match self.layers_by_name.get(&name.to_lowercase()) {
            Some(id) => *id,
            None => {
                let id = self.out.layer(&name);
                if name == "0"
                    && let Some(layer) = self.out.layer_mut(id)
                {
                    layer.inherits = true;
                }
                self.layers_by_name.insert(name.to_lowercase(), id);
                id
            }
        };
        self.layers.insert(raw, id);
        id
    }

    /// The block of a name; names that differ in case only are one block.
    pub(super) fn block(&mut self, raw: &'a [u8]) -> BlockId {
        if let Some(id) = self.blocks.get(raw) {
            return *id;
        }
        let name = self.name(raw).into_owned();
        let id = match self.blocks_by_name.get(&name.to_lowercase()) {
            Some(id) => *id,
            None => {
                let id = self.out.block(&name);
                self.blocks_by_name.insert(name.to_lowercase(), id);
                id
            }
        };
        self.blocks.insert(raw, id);
        id
    }

    // ---- the way out -------------------------------------------------------------------------------------------

    /// Whether an entity goes nowhere in the plan: counts it and says so.
    #[inline]
    pub(super) fn is_elsewhere(&mut self, kind: Symbol, common: &Common) -> bool {
        if self.space == Space::Drawn && (!common.paper || self.layout) {
            return false;
        }
        if self.space != Space::Nowhere {
            self.out.count_other_sheet_kind(kind);
        }
        true
    }

    /// Counts an entity that has no representation.
    pub(super) fn unsupported(&mut self, kind: Symbol, common: &Common) {
        if !self.is_elsewhere(kind, common) {
            self.out.count_unsupported_kind(kind);
        }
    }

    /// Adds an entity. To be called for entities that are not elsewhere.
    #[inline]
    pub(super) fn push(&mut self, kind: Symbol, common: &Common, geometry: Geometry) -> Result<(), ReadError> {
        self.push_item(kind, common, geometry, 0.0, Properties::default())
    }

    /// Adds an entity with a width and properties.
    #[inline]
    pub(super) fn push_item(
        &mut self,
        kind: Symbol,
        common: &Common,
        geometry: Geometry,
        width: f64,
        properties: Properties,
    ) -> Result<(), ReadError> {
        let layer = match common.layer {
            Some(layer) => layer,
            None => self.layer(b"0"),
        };
        let item = Item {
            geometry,
            entity: kind,
            layer,
            colour: plain_colour(common.colour),
            width: if width.is_finite() { width.abs() as f32 } else { 0.0 },
            identity: common.identity(),
            visible: common.visible,
            properties,
            clip: None,
        };
        self.out.push(item)?;
        Ok(())
    }

    /// Adds a stroked path, or reports why there is none.
    pub(super) fn push_line(&mut self, kind: Symbol, common: &Common, path: Option<Path>) -> Result<(), ReadError> {
        match path {
            Some(path) => self.push(kind, common, Geometry::Line(path)),
            None => {
                self.left_out(&codes::NOT_FINITE, kind, common);
                Ok(())
            }
        }
    }

    /// Reports and counts an entity that was left out.
    #[cold]
    pub(super) fn left_out(&mut self, code: &'static Code, kind: Symbol, common: &Common) {
        self.out.count_unsupported_kind(kind);
        self.report_entity(code, kind, common);
    }

    /// Reports something about an entity.
    #[cold]
    pub(super) fn report_entity(&mut self, code: &'static Code, kind: Symbol, common: &Common) {
        let kind = self.out.drawing().string(kind).to_owned();
        self.report(code, || format!("{kind} {:X}", common.handle));
    }

    // ---- issues ------------------------------------------------------------------------------------------------

    /// Reports something that was left as it is.
    #[cold]
    pub(super) fn report(&mut self, code: &'static Code, detail: impl FnOnce() -> String) {
        self.record_issue(code, false, detail);
    }

    /// Reports something that was repaired.
    #[cold]
    pub(super) fn fixed(&mut self, code: &'static Code, detail: impl FnOnce() -> String) {
        self.record_issue(code, true, detail);
    }

    fn record_issue(&mut self, code: &'static Code, fixed: bool, detail: impl FnOnce() -> String) {
        // Samples beyond the first few are not kept, so they need neither a line nor words.
        let (place, detail) = if self.issues.count(code) < Issues::MAX_SAMPLES as u64 {
            (self.place(self.tags.position()), detail())
        } else {
            (Place::Document, String::new())
        };
        if fixed {
            self.issues.fixed(code, place, detail);
        } else {
            self.issues.report(code, place, detail);
        }
    }

    /// The line (or the byte of a binary file) that ends at an offset.
    pub(super) fn place(&mut self, position: usize) -> Place {
        if self.tags.is_binary() {
            return Place::Byte { byte: position as u64 };
        }
        let end = position.saturating_sub(1);
        let (from, line) = if end >= self.lines.0 { self.lines } else { (0, 1) };
        let run = self.tags.data().get(from..end.min(self.tags.data().len())).unwrap_or(&[]);
        let ends = if self.tags.returns_end_lines() {
            let lone = |at: usize| run[at] == b'\r' || at == 0 || run[at - 1] != b'\r';
            memchr::memchr2_iter(b'\n', b'\r', run).filter(|at| lone(*at)).count()
        } else {
            memchr::memchr_iter(b'\n', run).count()
        };
        let line = line + ends as u64;
        self.lines = (end, line);
        Place::Line { line }
    }
}

/// A colour without the mark that [`Reader::common`] uses.
pub(super) fn plain_colour(colour: Colour) -> Colour {
    match colour {
        Colour::Rgb(rgb) => Colour::Rgb(rgb & 0x00FF_FFFF),
        other => other,
    }
}

/// The first characters of raw bytes, for messages.
pub(super) fn shown(raw: &[u8]) -> String {
    excerpt(&String::from_utf8_lossy(raw.get(..raw.len().min(80)).unwrap_or(raw)))
}

fn excerpt(text: &str) -> String {
    text.chars().take(40).map(|character| if character.is_control() { ' ' } else { character }).collect()
}
