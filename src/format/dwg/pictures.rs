//! Entities by their picture, as DXF records that carry the entity's handle; and the names they get back afterwards.
//!
//! A box around a wall is the wall if the wall runs along an axis. A thick box is one around a wall that does not,
//! and would be a wall that is not there: it is left out and counted.

use std::collections::{BTreeMap, HashSet};

use cadkit_dwg::native::DwgObject;

use super::document::Writer;
use super::raw;
use crate::drawing::{Drawing, Identity, Item, Properties, Symbol};
use crate::format::proxy::{self, Figure, Picture};

/// Greatest thickness of a wall, metres.
const THICKEST_WALL_M: f64 = 0.8;
/// Greatest thickness of a wall as a part of its length, when the unit is not known.
const THICKEST_PART: f64 = 0.25;

/// An entity that a picture stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pictured {
    pub(super) kind: String,
    /// The picture is a box around the entity.
    pub(super) boxed: bool,
}

impl Writer<'_> {
    /// Writes the picture of an entity; `false` if there is none that may be shown.
    pub(super) fn picture(&mut self, object: &DwgObject) -> bool {
        let Some(graphics) = raw::graphics(self.file.version, object) else { return false };
        let picture = proxy::picture(&graphics);
        if picture.figures.is_empty() {
            return false;
        }
        if self.is_false_wall(&object.type_name, &picture) {
            self.beside.boxes_left_out += 1;
            return false;
        }
        for figure in &picture.figures {
            self.figure(object, figure);
        }
        let boxed = picture.boxed.is_some();
        self.beside.pictured.insert(object.handle, Pictured { kind: object.type_name.clone(), boxed });
        true
    }

    fn is_false_wall(&self, kind: &str, picture: &Picture) -> bool {
        let Some([width, height]) = picture.boxed else { return false };
        let (thickness, length) = (width.min(height), width.max(height));
        kind.ends_with("WALL")
            && match self.metres_per_unit {
                Some(metres) => thickness * metres > THICKEST_WALL_M,
                None => thickness > length * THICKEST_PART,
            }
    }

    fn figure(&mut self, object: &DwgObject, figure: &Figure) {
        match figure {
            Figure::Polyline { points, closed, filled: false } => {
                self.begin("LWPOLYLINE", object);
                self.tags.count(90, points.len());
                self.tags.integer(70, i64::from(*closed));
                for [x, y, _] in points {
                    self.tags.point2(10, [*x, *y]);
                }
            }
            Figure::Polyline { points, .. } => {
                self.begin("HATCH", object);
                self.tags.text(2, "SOLID");
                self.tags.integer(70, 1);
                self.tags.integer(91, 1);
                self.tags.integer(92, 1 | 2);
                self.tags.integer(72, 0);
                self.tags.integer(73, 1);
                self.tags.count(93, points.len());
                for [x, y, _] in points {
                    self.tags.point2(10, [*x, *y]);
                }
                self.tags.integer(97, 0);
                self.tags.integer(75, 0);
                self.tags.integer(76, 1);
                self.tags.integer(98, 0);
            }
            Figure::Bulged { points, bulges, closed, elevation, normal } => {
                self.begin("LWPOLYLINE", object);
                self.tags.count(90, points.len());
                self.tags.integer(70, i64::from(*closed));
                self.tags.real(38, *elevation);
                for (index, point) in points.iter().enumerate() {
                    self.tags.point2(10, *point);
                    if let Some(bulge) = bulges.get(index).filter(|bulge| **bulge != 0.0) {
                        self.tags.real(42, *bulge);
                    }
                }
                self.tags.extrusion(*normal);
            }
            Figure::Arc { centre, radius, start, end } => {
                self.begin(if end.is_some() { "ARC" } else { "CIRCLE" }, object);
                self.tags.point3(10, *centre);
                self.tags.real(40, *radius);
                if let Some(end) = end {
                    self.tags.angle(50, *start);
                    self.tags.angle(51, *end);
                }
            }
            Figure::Shell { points, faces } => self.shell(object, points, faces),
            Figure::Text { at, direction, height, value } => {
                self.begin("TEXT", object);
                self.tags.point3(10, *at);
                self.tags.real(40, *height);
                self.tags.text(1, value);
                self.tags.angle(50, direction[1].atan2(direction[0]));
            }
        }
    }

    /// A shell as the one kind of polyline that has faces; faces of more corners are cut into fans of four.
    fn shell(&mut self, object: &DwgObject, points: &[[f64; 3]], faces: &[Vec<usize>]) {
        if points.len() > i16::MAX as usize || faces.is_empty() {
            return;
        }
        self.begin("POLYLINE", object);
        self.tags.integer(66, 1);
        self.tags.integer(70, 64);
        self.tags.count(71, points.len());
        self.tags.count(72, faces.len());
        for point in points {
            self.tags.record("VERTEX");
            self.tags.point3(10, *point);
            self.tags.integer(70, 64 | 128);
        }
        for face in faces {
            let Some((first, rest)) = face.split_first() else { continue };
            let mut at = 0;
            while at + 1 < rest.len() {
                let corners = rest.get(at..rest.len().min(at + 3)).unwrap_or(&[]);
                self.tags.record("VERTEX");
                self.tags.integer(70, 128);
                for (code, corner) in (71..).zip(std::iter::once(first).chain(corners)) {
                    self.tags.count(code, corner + 1);
                }
                at += corners.len() - 1;
            }
        }
        self.tags.record("SEQEND");
    }
}

/// Gives the entities their own kinds back, and counts each once however many records its picture took.
pub(super) fn restore_kinds(drawing: &mut Drawing, pictured: &BTreeMap<u64, Pictured>) {
    if pictured.is_empty() {
        return;
    }
    let mut kinds: BTreeMap<&str, Symbol> = BTreeMap::new();
    let outline = (intern(drawing, "outline"), intern(drawing, "bounding-box"));
    for entity in pictured.values() {
        if !kinds.contains_key(entity.kind.as_str()) {
            kinds.insert(&entity.kind, intern(drawing, &entity.kind));
        }
    }
    let boxed = Properties { start: drawing.properties.len() as u32, len: 1 };
    drawing.properties.push(outline);

    let mut renamed: BTreeMap<Symbol, u64> = BTreeMap::new();
    let mut found: HashSet<u64> = HashSet::new();
    let mut restore = |item: &mut Item| {
        let Identity::Handle(handle) = item.identity else { return };
        let Some(entity) = pictured.get(&handle) else { return };
        let Some(kind) = kinds.get(entity.kind.as_str()) else { return };
        *renamed.entry(item.entity).or_default() += 1;
        found.insert(handle);
        item.entity = *kind;
        if entity.boxed {
            item.properties = boxed;
        }
    };
    drawing.items.iter_mut().for_each(&mut restore);
    drawing.blocks.iter_mut().flat_map(|block| &mut block.items).for_each(&mut restore);

    for (kind, count) in renamed {
        let name = drawing.string(kind).to_owned();
        if let Some(total) = drawing.census.get_mut(&name) {
            *total = total.saturating_sub(count);
            if *total == 0 {
                drawing.census.remove(&name);
            }
        }
    }
    for handle in found {
        if let Some(entity) = pictured.get(&handle) {
            *drawing.census.entry(entity.kind.clone()).or_default() += 1;
        }
    }
}

fn intern(drawing: &mut Drawing, text: &str) -> Symbol {
    let known = drawing.strings.iter().position(|known| &**known == text);
    let index = known.unwrap_or_else(|| {
        drawing.strings.push(text.into());
        drawing.strings.len() - 1
    });
    Symbol(index as u32)
}
