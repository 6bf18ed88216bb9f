//! Header, tables, blocks and spaces of a drawing database as a DXF document.
//!
//! Who owns what: from R2004 a block record lists its entities; before, entities name their owner (or their space)
//! and stand in a chain. An entity is written once, where its owner is, whatever the lists repeat.

use std::collections::{BTreeMap, HashMap, HashSet};

use cadkit_dwg::native::{BlockHeader, CmColor, DwgFile, DwgObject, ObjectData};

use super::pictures::Pictured;
use super::tags::Tags;
use crate::format::{Checkpoint, Limits, ReadError};

/// Records between two looks at the deadline.
const CHECK_EVERY: u64 = 256;
const BLOCK_HEADER: u16 = 0x31;
const LAYER: u16 = 0x33;

/// What cannot be said in DXF.
#[derive(Debug, Default)]
pub(super) struct Beside {
    /// Entities that a picture stands for, by handle.
    pub(super) pictured: BTreeMap<u64, Pictured>,
    /// Boxes around walls that are no walls.
    pub(super) boxes_left_out: u64,
    /// Listed objects that do not exist or belong to someone else.
    pub(super) misplaced: u64,
}

/// Writes a database as DXF.
pub(super) struct Writer<'f> {
    pub(super) file: &'f DwgFile,
    pub(super) tags: Tags,
    pub(super) beside: Beside,
    layers: HashMap<u64, &'f str>,
    blocks: HashMap<u64, String>,
    members: HashMap<Owner, Vec<u64>>,
    claimed: HashSet<u64>,
    checkpoint: &'f Checkpoint<'f>,
    limits: &'f Limits,
    num_records: u64,
    /// If the drawing says it.
    pub(super) metres_per_unit: Option<f64>,
    /// Whether the entities being written lie in a paper space.
    pub(super) in_paper: bool,
    /// Extension dictionaries of written block references.
    pub(super) dictionaries: Vec<u64>,
}

/// Owner of an entity before R2004.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Owner {
    Block(u64),
    /// Entity mode: 1 paper, 2 model.
    Space(u8),
}

/// What a block record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Model,
    Paper,
    Block,
}

impl<'f> Writer<'f> {
    pub(super) fn new(file: &'f DwgFile, limits: &'f Limits, checkpoint: &'f Checkpoint<'f>) -> Self {
        let mut layers = HashMap::new();
        for (handle, object) in &file.objects {
            if let ObjectData::Layer(layer) = &object.data {
                layers.insert(*handle, layer.entry.name.as_str());
            }
        }
        Self {
            file,
            tags: Tags::new(),
            beside: Beside::default(),
            layers,
            blocks: block_names(file),
            members: members(file),
            claimed: HashSet::new(),
            checkpoint,
            limits,
            num_records: 0,
            metres_per_unit: metres_per_unit(file),
            in_paper: false,
            dictionaries: Vec::new(),
        }
    }

    /// The whole document.
    ///
    /// # Errors
    /// Deadline, cancellation, or a limit.
    pub(super) fn document(mut self) -> Result<(Vec<u8>, Beside), ReadError> {
        self.header();
        self.classes();
        self.tables();
        let records = self.table("BLOCK_CONTROL_OBJECT", BLOCK_HEADER);
        let mut model = Vec::new();
        self.begin_section("BLOCKS");
        for handle in records {
            let Some(ObjectData::BlockHeader(header)) = self.object(handle).map(|object| &object.data) else {
                continue;
            };
            let role = self.role(handle);
            let entities = self.entities_of(handle, header, role);
            if role == Role::Model {
                model.extend(entities);
            } else {
                self.block(handle, header, role, &entities)?;
            }
        }
        self.end_section();
        self.begin_section("ENTITIES");
        for entity in model {
            self.write_entity(entity)?;
        }
        self.end_section();
        self.begin_section("OBJECTS");
        self.objects();
        self.end_section();
        Ok((self.tags.finish(), self.beside))
    }

    fn begin_section(&mut self, name: &str) {
        self.tags.record("SECTION");
        self.tags.text(2, name);
    }

    fn end_section(&mut self) {
        self.tags.record("ENDSEC");
    }

    fn header(&mut self) {
        self.begin_section("HEADER");
        // All strings are decoded by now, and UTF-8 is what this version says they are.
        self.tags.text(9, "$ACADVER");
        self.tags.text(1, "AC1032");
        self.tags.text(9, "$DWGCODEPAGE");
        self.tags.text(3, code_page(self.file.encoding));
        for (name, value) in [
            ("$INSUNITS", self.file.header.int("INSUNITS")),
            ("$MEASUREMENT", self.file.header.int("MEASUREMENT").or(self.file.measurement.map(i64::from))),
        ] {
            if let Some(value) = value {
                self.tags.text(9, name);
                self.tags.integer(70, value);
            }
        }
        self.end_section();
    }

    fn classes(&mut self) {
        self.begin_section("CLASSES");
        for class in &self.file.classes {
            self.tags.record("CLASS");
            self.tags.text(1, &class.dxf_name);
            self.tags.text(2, &class.cpp_class_name);
            self.tags.text(3, &class.app_name);
        }
        self.end_section();
    }

    fn tables(&mut self) {
        self.begin_section("TABLES");
        self.tags.record("TABLE");
        self.tags.text(2, "LAYER");
        for handle in self.table("LAYER_CONTROL_OBJECT", LAYER) {
            let Some(ObjectData::Layer(layer)) = self.object(handle).map(|object| &object.data) else { continue };
            self.tags.record("LAYER");
            self.tags.handle(5, handle);
            self.tags.text(2, &layer.entry.name);
            self.tags.integer(70, i64::from(layer.frozen));
            let colour = Colour::of(&layer.color);
            let index = match colour {
                Colour::Index(index) => i64::from(index),
                _ => 7,
            };
            let is_on = layer.on && layer.color.index >= 0;
            self.tags.integer(62, if is_on { index } else { -index });
            if let Colour::Rgb(rgb) = colour {
                self.tags.integer(420, i64::from(rgb));
            }
        }
        self.tags.record("ENDTAB");
        self.tags.record("TABLE");
        self.tags.text(2, "BLOCK_RECORD");
        for handle in self.table("BLOCK_CONTROL_OBJECT", BLOCK_HEADER) {
            let Some(name) = self.blocks.get(&handle) else { continue };
            self.tags.record("BLOCK_RECORD");
            self.tags.handle(5, handle);
            self.tags.text(2, name);
        }
        self.tags.record("ENDTAB");
        self.end_section();
    }

    fn block(&mut self, handle: u64, header: &BlockHeader, role: Role, entities: &[u64]) -> Result<(), ReadError> {
        let name = self.blocks.get(&handle).cloned().unwrap_or_default();
        self.tags.record("BLOCK");
        self.tags.text(2, &name);
        let external = if header.is_xref { 4 } else { 0 } | if header.is_overlaid { 8 } else { 0 };
        self.tags.integer(70, external | i64::from(header.anonymous));
        self.tags.point3(10, header.base_point);
        self.tags.text(1, &header.xref_path);
        self.in_paper = role == Role::Paper;
        for entity in entities {
            self.write_entity(*entity)?;
        }
        self.in_paper = false;
        self.tags.record("ENDBLK");
        Ok(())
    }

    fn write_entity(&mut self, handle: u64) -> Result<(), ReadError> {
        let Some(object) = self.object(handle) else { return Ok(()) };
        self.num_records += 1;
        if self.num_records.is_multiple_of(CHECK_EVERY) {
            (self.checkpoint)()?;
            let limit = self.limits.decompressed_bytes;
            if self.tags.len() as u64 > limit {
                return Err(ReadError::Limit {
                    what: "size of the drawing".to_owned(),
                    key: "decompressed_bytes",
                    limit,
                });
            }
        }
        self.entity(object);
        Ok(())
    }

    // who is who

    pub(super) fn object(&self, handle: u64) -> Option<&'f DwgObject> {
        self.file.objects.get(&handle)
    }

    pub(super) fn layer_name(&self, handle: Option<u64>) -> Option<&'f str> {
        self.layers.get(&handle?).copied()
    }

    pub(super) fn block_name(&self, handle: Option<u64>) -> Option<&str> {
        self.blocks.get(&handle?).map(String::as_str)
    }

    /// Entries of a table, or every record of its kind if the table is lost.
    fn table(&self, control: &str, kind: u16) -> Vec<u64> {
        let control = self.file.header.handle(control).and_then(|handle| self.object(handle));
        let Some(ObjectData::Control(control)) = control.map(|object| &object.data) else {
            let all = self.file.objects.values().filter(|object| object.type_code == kind);
            return all.map(|object| object.handle).collect();
        };
        let mut seen = HashSet::new();
        let entries = control.entries.iter().chain(&control.extra).copied();
        entries.filter(|handle| *handle != 0 && seen.insert(*handle)).collect()
    }

    fn role(&self, handle: u64) -> Role {
        let is = |name: &str| self.file.header.handle(name) == Some(handle);
        let name = self.blocks.get(&handle).map(|name| name.to_ascii_lowercase()).unwrap_or_default();
        if is("BLOCK_RECORD_MODEL_SPACE") || name == "*model_space" {
            Role::Model
        } else if is("BLOCK_RECORD_PAPER_SPACE") || name.starts_with("*paper_space") {
            Role::Paper
        } else {
            Role::Block
        }
    }

    /// Entities of a block record in drawing order, each claimed once.
    fn entities_of(&mut self, handle: u64, header: &BlockHeader, role: Role) -> Vec<u64> {
        let mode = match role {
            Role::Model => Some(2),
            Role::Paper if self.is_first_paper(handle) => Some(1),
            _ => None,
        };
        let listed =
            if self.file.version.r2004_plus() { header.entities.clone() } else { self.chained(handle, header, mode) };
        let mut entities = Vec::with_capacity(listed.len());
        for entity in listed {
            let belongs = self.object(entity).is_some_and(|object| {
                object.is_entity
                    && match object.common.entity.as_ref().map(|common| common.entity_mode) {
                        None | Some(0) => object.common.owner == Some(handle),
                        named => named == mode,
                    }
            });
            if belongs && self.claimed.insert(entity) {
                entities.push(entity);
            } else {
                self.beside.misplaced += 1;
            }
        }
        entities
    }

    fn is_first_paper(&self, handle: u64) -> bool {
        match self.file.header.handle("BLOCK_RECORD_PAPER_SPACE") {
            Some(first) => first == handle,
            None => self.blocks.get(&handle).is_some_and(|name| name.eq_ignore_ascii_case("*paper_space")),
        }
    }

    /// Members of a block before R2004: in the order of the chain if it holds all of them, else by handle.
    fn chained(&self, handle: u64, header: &BlockHeader, mode: Option<u8>) -> Vec<u64> {
        let mut members: Vec<u64> = self.members.get(&Owner::Block(handle)).cloned().unwrap_or_default();
        if let Some(mode) = mode {
            members.extend(self.members.get(&Owner::Space(mode)).into_iter().flatten());
            members.sort_unstable();
            members.dedup();
        }
        let (Some(first), Some(last)) = (header.first_entity, header.last_entity) else { return members };
        let wanted: HashSet<u64> = members.iter().copied().collect();
        let mut seen = HashSet::new();
        let mut chain = Vec::with_capacity(members.len());
        let mut next = Some(first);
        // Attributes and vertices stand between the members, so the chain may be longer than they are.
        while let Some(object) = next.filter(|handle| seen.insert(*handle)).and_then(|handle| self.object(handle)) {
            if wanted.contains(&object.handle) {
                chain.push(object.handle);
            }
            next = if object.handle == last { None } else { next_in_chain(object) };
        }
        if chain.len() == members.len() { chain } else { members }
    }

    /// Attributes of an insert or vertices of a polyline: as listed, or the chain from first to last.
    pub(super) fn children(&mut self, listed: &[u64], is_range: bool, kinds: &[u16]) -> Vec<&'f DwgObject> {
        let file = self.file;
        let mut children = Vec::new();
        let is_child = |object: &DwgObject| kinds.contains(&object.type_code);
        if !is_range {
            for object in listed.iter().filter_map(|handle| file.objects.get(handle)) {
                if is_child(object) && self.claimed.insert(object.handle) {
                    children.push(object);
                }
            }
            return children;
        }
        let (mut next, last) = (listed.first().copied(), listed.get(1).copied());
        while let Some(object) = next.and_then(|handle| file.objects.get(&handle)) {
            if !is_child(object) || !self.claimed.insert(object.handle) {
                break;
            }
            children.push(object);
            next = if Some(object.handle) == last { None } else { next_in_chain(object) };
        }
        children
    }
}

/// The entity behind one in the chain of R13 to R2000; without links it has the next handle.
fn next_in_chain(object: &DwgObject) -> Option<u64> {
    let common = object.common.entity.as_ref()?;
    match common.next {
        Some(next) if !common.no_links => Some(next),
        _ => object.handle.checked_add(1),
    }
}

fn members(file: &DwgFile) -> HashMap<Owner, Vec<u64>> {
    let mut members: HashMap<Owner, Vec<u64>> = HashMap::new();
    if file.version.r2004_plus() {
        return members;
    }
    for object in file.objects.values() {
        let Some(common) = &object.common.entity else { continue };
        // Parts of others: ATTRIB, VERTEX in its kinds, and the marks around blocks and sequences.
        let is_part = matches!(object.type_code, 0x02 | 0x0A..=0x0E)
            || matches!(object.data, ObjectData::Block { .. } | ObjectData::EndBlock | ObjectData::Seqend);
        let owner = match (common.entity_mode, object.common.owner) {
            (0, Some(owner)) => Owner::Block(owner),
            (0, None) => continue,
            (mode, _) => Owner::Space(mode),
        };
        if !is_part {
            members.entry(owner).or_default().push(object.handle);
        }
    }
    members
}

/// Names of blocks. Anonymous records hold only `*U` or `*D`; their number is their place in the table, and the
/// BLOCK entity has it spelled out.
fn block_names(file: &DwgFile) -> HashMap<u64, String> {
    let control = file.header.handle("BLOCK_CONTROL_OBJECT").and_then(|handle| file.objects.get(&handle));
    let places: HashMap<u64, usize> = match control.map(|object| &object.data) {
        Some(ObjectData::Control(control)) => {
            control.entries.iter().enumerate().map(|(place, handle)| (*handle, place)).collect()
        }
        _ => HashMap::new(),
    };
    let mut names = HashMap::new();
    for (handle, object) in &file.objects {
        let ObjectData::BlockHeader(header) = &object.data else { continue };
        let begin = header.block_entity.and_then(|handle| file.objects.get(&handle)).map(|object| &object.data);
        let spelled = match begin {
            Some(ObjectData::Block { name }) if !name.is_empty() => Some(name.as_str()),
            _ => None,
        };
        let short = header.entry.name.as_str();
        let numbered = || places.get(handle).map(|place| format!("{short}{place}"));
        let is_short = header.anonymous && short.starts_with('*') && short.len() <= 2;
        let name = match spelled {
            // A dynamic block's copy is anonymous although its BLOCK has the name of the original.
            Some(spelled) if is_short && !spelled.starts_with('*') => numbered(),
            Some(spelled) => Some(spelled.to_owned()),
            None if is_short => numbered(),
            None => None,
        };
        let name =
            name.unwrap_or_else(|| if short.is_empty() { format!("*BLOCK_{handle:X}") } else { short.to_owned() });
        names.insert(*handle, name);
    }
    names
}

/// Metres in a drawing unit by `$INSUNITS`, for the units walls are drawn in.
fn metres_per_unit(file: &DwgFile) -> Option<f64> {
    match file.header.int("INSUNITS")? {
        1 => Some(0.0254),
        2 => Some(0.3048),
        4 => Some(0.001),
        5 => Some(0.01),
        6 => Some(1.0),
        14 => Some(0.1),
        _ => None,
    }
}

/// A stored colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Colour {
    ByLayer,
    ByBlock,
    Index(u8),
    Rgb(u32),
}

impl Colour {
    /// The method is in the top byte of the long form (Open Design Specification, 2.11).
    pub(super) fn of(colour: &CmColor) -> Self {
        if let Some(value) = colour.value {
            match value >> 24 {
                0xC0 | 0xC8 => return Self::ByLayer,
                0xC1 => return Self::ByBlock,
                0xC2 => return Self::Rgb(value & 0x00FF_FFFF),
                0xC3 => return Self::indexed((value & 0xFF) as u16),
                _ if colour.index == 0 && value != 0 => return Self::Rgb(value & 0x00FF_FFFF),
                _ => {}
            }
        }
        Self::indexed(colour.index.unsigned_abs())
    }

    fn indexed(index: u16) -> Self {
        match u8::try_from(index) {
            Ok(0) => Self::ByBlock,
            Ok(index) => Self::Index(index),
            Err(_) => Self::ByLayer,
        }
    }
}

/// The code page that `%%nnn` codes in texts refer to.
fn code_page(encoding: &str) -> &'static str {
    match encoding.to_ascii_lowercase().as_str() {
        "windows-1250" => "ANSI_1250",
        "windows-1251" => "ANSI_1251",
        "windows-1253" => "ANSI_1253",
        "windows-1254" => "ANSI_1254",
        "windows-1255" => "ANSI_1255",
        "windows-1256" => "ANSI_1256",
        "windows-1257" => "ANSI_1257",
        "windows-1258" => "ANSI_1258",
        "windows-874" => "ANSI_874",
        "shift_jis" => "ANSI_932",
        "gbk" | "gb18030" => "ANSI_936",
        "euc-kr" => "ANSI_949",
        "big5" => "ANSI_950",
        _ => "ANSI_1252",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_by_method() {
        let of = |index, value| {
            let mut colour = CmColor::default();
            (colour.index, colour.value) = (index, value);
            Colour::of(&colour)
        };
        assert_eq!(of(256, None), Colour::ByLayer);
        assert_eq!(of(0, None), Colour::ByBlock);
        assert_eq!(of(-5, None), Colour::Index(5));
        assert_eq!(of(0, Some(0xC200_1020)), Colour::Rgb(0x1020));
        assert_eq!(of(0, Some(0xC300_0007)), Colour::Index(7));
        assert_eq!(of(0, Some(0xC000_0000)), Colour::ByLayer);
    }
}
