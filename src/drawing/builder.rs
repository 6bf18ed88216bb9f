//! What readers call: builds a [`Drawing`] under its limits.
//!
//! The builder interns strings, creates layers and blocks when they are first named, and refuses with the limit
//! and its number when a drawing grows past it. It knows no format and judges no geometry, except that
//! coordinates must be finite: a path that meets one that is not is dropped by [`PathWriter::finish`], and the
//! reader reports it.

use std::collections::HashMap;

use super::path::Verb;
use super::{
    Affine, Block, BlockId, Clip, ClipId, Drawing, GeoReference, Insert, InsertId, Item, Layer, LayerId, Path, Paths,
    Point, Properties, SourceFormat, Spline, Symbol, Text, TextId, Units, Vec2,
};
use crate::format::Limits;

/// A drawing grew past a limit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} exceeds `limits.{key}` = {limit}")]
pub struct BuildError {
    /// What grew: `entities`, `vertices`, …
    pub what: &'static str,
    /// The key of the limit in the configuration, below `limits`.
    pub key: &'static str,
    /// Its value.
    pub limit: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    read: u64,
    unsupported: u64,
    other_sheets: u64,
}

/// Builds a [`Drawing`].
#[derive(Debug)]
pub struct DrawingBuilder {
    drawing: Drawing,
    symbols: HashMap<Box<str>, Symbol, foldhash::fast::RandomState>,
    layers: HashMap<Symbol, LayerId, foldhash::fast::RandomState>,
    blocks: HashMap<Symbol, BlockId, foldhash::fast::RandomState>,
    /// Counts by symbol of the kind, because a kind is counted with every item.
    counts: Vec<Counts>,
    open_block: Option<BlockId>,
    num_items: u64,
    limits: Limits,
}

impl DrawingBuilder {
    /// An empty drawing.
    pub fn new(format: SourceFormat, limits: &Limits) -> Self {
        Self {
            drawing: Drawing {
                format,
                version: None,
                application: None,
                units: Units { metres_per_unit: 1.0, from: "assumed".to_owned(), confidence: Some(0.0) },
                layers: Vec::new(),
                blocks: Vec::new(),
                items: Vec::new(),
                texts: Vec::new(),
                inserts: Vec::new(),
                clips: Vec::new(),
                properties: Vec::new(),
                paths: Paths::default(),
                georeference: None,
                census: Default::default(),
                unsupported: Default::default(),
                other_sheets: Default::default(),
                strings: Vec::new(),
            },
            symbols: HashMap::default(),
            layers: HashMap::default(),
            blocks: HashMap::default(),
            counts: Vec::new(),
            open_block: None,
            num_items: 0,
            limits: limits.clone(),
        }
    }

    /// The drawing so far.
    pub fn drawing(&self) -> &Drawing {
        &self.drawing
    }

    /// The limits it is built under.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Interns `text`.
    pub fn intern(&mut self, text: &str) -> Symbol {
        if let Some(symbol) = self.symbols.get(text) {
            return *symbol;
        }
        let symbol = Symbol(self.drawing.strings.len() as u32);
        self.drawing.strings.push(text.into());
        self.symbols.insert(text.into(), symbol);
        symbol
    }

    /// The layer of that name; created, not declared, if it is new.
    pub fn layer(&mut self, name: &str) -> LayerId {
        let name = self.intern(name);
        if let Some(id) = self.layers.get(&name) {
            return *id;
        }
        let id = LayerId(self.drawing.layers.len() as u32);
        self.drawing.layers.push(Layer {
            name,
            colour: None,
            off: false,
            frozen: false,
            inherits: false,
            declared: false,
        });
        self.layers.insert(name, id);
        id
    }

    /// To set the state of a layer.
    pub fn layer_mut(&mut self, id: LayerId) -> Option<&mut Layer> {
        self.drawing.layers.get_mut(id.0 as usize)
    }

    /// The block of that name; named but not defined, if it is new.
    pub fn block(&mut self, name: &str) -> BlockId {
        let name = self.intern(name);
        if let Some(id) = self.blocks.get(&name) {
            return *id;
        }
        let id = BlockId(self.drawing.blocks.len() as u32);
        self.drawing.blocks.push(Block { name, base: Point::ZERO, items: Vec::new(), defined: false, external: None });
        self.blocks.insert(name, id);
        id
    }

    /// To set what a block is beside its content.
    pub fn block_mut(&mut self, id: BlockId) -> Option<&mut Block> {
        self.drawing.blocks.get_mut(id.0 as usize)
    }

    /// From here on, items go into this block.
    pub fn open_block(&mut self, id: BlockId, base: Point) {
        if let Some(block) = self.drawing.blocks.get_mut(id.0 as usize) {
            block.base = base;
            block.defined = true;
        }
        self.open_block = Some(id);
    }

    /// From here on, further items go into this block, which was defined before.
    pub fn reopen_block(&mut self, id: BlockId) {
        self.open_block = Some(id);
    }

    /// From here on, items go into the model.
    pub fn close_block(&mut self) {
        self.open_block = None;
    }

    /// Adds an item to the open block or the model, and counts it in the census.
    ///
    /// # Errors
    /// When the drawing has more items than `limits.entities`.
    pub fn push(&mut self, item: Item) -> Result<(), BuildError> {
        self.num_items += 1;
        if self.num_items > self.limits.entities {
            return Err(BuildError { what: "number of entities", key: "entities", limit: self.limits.entities });
        }
        self.counts_of(item.entity).read += 1;
        match self.open_block.and_then(|id| self.drawing.blocks.get_mut(id.0 as usize)) {
            Some(block) => block.items.push(item),
            None => self.drawing.items.push(item),
        }
        Ok(())
    }

    /// Counts an entity as read that is no item of its own: an attribute value, a template.
    pub fn count_read(&mut self, kind: Symbol) {
        self.counts_of(kind).read += 1;
    }

    /// Takes back one count of [`push`](Self::push): for entities that consist of several items.
    pub fn uncount_read(&mut self, kind: Symbol) {
        let counts = self.counts_of(kind);
        counts.read = counts.read.saturating_sub(1);
    }

    /// Counts an entity that is not represented.
    pub fn count_unsupported(&mut self, kind: &str) {
        let kind = self.intern(kind);
        self.count_unsupported_kind(kind);
    }

    /// Counts an entity that is not represented.
    pub fn count_unsupported_kind(&mut self, kind: Symbol) {
        self.counts_of(kind).unsupported += 1;
    }

    /// Counts an entity that lies on another sheet.
    pub fn count_other_sheet(&mut self, kind: &str) {
        let kind = self.intern(kind);
        self.count_other_sheet_kind(kind);
    }

    /// Counts an entity that lies on another sheet.
    pub fn count_other_sheet_kind(&mut self, kind: Symbol) {
        self.counts_of(kind).other_sheets += 1;
    }

    fn counts_of(&mut self, kind: Symbol) -> &mut Counts {
        let index = kind.0 as usize;
        if index >= self.counts.len() {
            self.counts.resize(index + 1, Counts::default());
        }
        &mut self.counts[index]
    }

    /// Stores a text.
    pub fn text(&mut self, text: Text) -> TextId {
        self.drawing.texts.push(text);
        TextId(self.drawing.texts.len() as u32 - 1)
    }

    /// To complete a text.
    pub fn text_mut(&mut self, id: TextId) -> Option<&mut Text> {
        self.drawing.texts.get_mut(id.0 as usize)
    }

    /// Stores a block reference.
    pub fn insert(&mut self, insert: Insert) -> InsertId {
        self.drawing.inserts.push(insert);
        InsertId(self.drawing.inserts.len() as u32 - 1)
    }

    /// To complete a block reference (attributes follow it).
    pub fn insert_mut(&mut self, id: InsertId) -> Option<&mut Insert> {
        self.drawing.inserts.get_mut(id.0 as usize)
    }

    /// Stores a clip region.
    pub fn clip(&mut self, clip: Clip) -> ClipId {
        self.drawing.clips.push(clip);
        ClipId(self.drawing.clips.len() as u32 - 1)
    }

    /// Stores name and value pairs.
    pub fn properties<'a>(&mut self, pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Properties {
        let start = self.drawing.properties.len() as u32;
        for (name, value) in pairs {
            let pair = (self.intern(name), self.intern(value));
            self.drawing.properties.push(pair);
        }
        Properties { start, len: self.drawing.properties.len() as u32 - start }
    }

    /// `inherited` with `pairs` added; a name in `pairs` replaces the inherited one of that name.
    pub fn extend_properties<'a>(
        &mut self,
        inherited: Properties,
        pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Properties {
        let own = self.properties(pairs);
        let (own_start, own_end) = (own.start as usize, (own.start + own.len) as usize);
        for index in inherited.start as usize..(inherited.start + inherited.len) as usize {
            let Some(pair) = self.drawing.properties.get(index).copied() else { break };
            let names = self.drawing.properties.get(own_start..own_end).unwrap_or(&[]);
            if !names.iter().any(|(name, _)| *name == pair.0) {
                self.drawing.properties.push(pair);
            }
        }
        Properties { start: own.start, len: self.drawing.properties.len() as u32 - own.start }
    }

    /// Stores one name and value pair, already interned.
    pub fn property(&mut self, name: Symbol, value: Symbol) -> Properties {
        let start = self.drawing.properties.len() as u32;
        self.drawing.properties.push((name, value));
        Properties { start, len: 1 }
    }

    /// Starts a path.
    pub fn path(&mut self) -> PathWriter<'_> {
        let paths = &mut self.drawing.paths;
        let (verbs, points) = (paths.verbs.len(), paths.points.len());
        PathWriter { splines: paths.splines.len(), paths, verbs, points, finite: true, limit: self.limits.vertices }
    }

    /// Appends path data of another drawing; splines are referred to by number, so their references are moved on.
    pub(super) fn append_paths(&mut self, other: &Paths) {
        let paths = &mut self.drawing.paths;
        let first_spline = paths.splines.len() as f64;
        let mut points = other.points.as_slice();
        for verb in &other.verbs {
            let (head, tail) = points.split_at(verb.num_points().min(points.len()));
            points = tail;
            if *verb == Verb::Spline {
                paths.points.extend(head.iter().map(|index| Point::new(index.x + first_spline, index.y)));
            } else {
                paths.points.extend_from_slice(head);
            }
        }
        paths.verbs.extend_from_slice(&other.verbs);
        paths.splines.extend(other.splines.iter().cloned());
    }

    /// Sets the unit of length.
    pub fn set_units(&mut self, units: Units) {
        self.drawing.units = units;
    }

    /// Sets version and writing program.
    pub fn set_origin(&mut self, version: Option<String>, application: Option<String>) {
        self.drawing.version = version;
        self.drawing.application = application;
    }

    /// Sets the georeference.
    pub fn set_georeference(&mut self, georeference: GeoReference) {
        self.drawing.georeference = Some(georeference);
    }

    /// The finished drawing.
    pub fn finish(mut self) -> Drawing {
        let drawing = &mut self.drawing;
        for (kind, counts) in drawing.strings.iter().zip(&self.counts) {
            for (number, by_kind) in [
                (counts.read, &mut drawing.census),
                (counts.unsupported, &mut drawing.unsupported),
                (counts.other_sheets, &mut drawing.other_sheets),
            ] {
                if number > 0 {
                    by_kind.insert(kind.to_string(), number);
                }
            }
        }
        drawing.items.shrink_to_fit();
        drawing.texts.shrink_to_fit();
        drawing.inserts.shrink_to_fit();
        drawing.properties.shrink_to_fit();
        drawing.paths.verbs.shrink_to_fit();
        drawing.paths.points.shrink_to_fit();
        self.drawing
    }
}

/// Writes one path into the drawing; [`finish`](Self::finish) gives it back.
#[derive(Debug)]
pub struct PathWriter<'a> {
    paths: &'a mut Paths,
    verbs: usize,
    points: usize,
    splines: usize,
    finite: bool,
    limit: u64,
}

impl PathWriter<'_> {
    fn push(&mut self, verb: Verb, points: &[Point]) {
        self.finite &= points.iter().all(|point| point.is_finite());
        self.paths.verbs.push(verb);
        self.paths.points.extend_from_slice(points);
    }

    /// Starts a subpath.
    pub fn move_to(&mut self, to: Point) {
        self.push(Verb::Move, &[to]);
    }

    /// Straight to.
    pub fn line_to(&mut self, to: Point) {
        self.push(Verb::Line, &[to]);
    }

    /// Arc by bulge; a bulge of 0 is a line.
    pub fn bulge_to(&mut self, to: Point, bulge: f64) {
        if bulge == 0.0 {
            self.line_to(to);
        } else {
            self.push(Verb::Bulge, &[to, Point::new(bulge, 0.0)]);
        }
    }

    /// Elliptical arc; see [`super::Segment::Arc`].
    pub fn arc(&mut self, centre: Point, u: Vec2, v: Vec2, start: f64, sweep: f64) {
        self.push(Verb::Arc, &[centre, u.to_point(), v.to_point(), Point::new(start, sweep)]);
    }

    /// Circular arc, counter-clockwise for a positive `sweep` (radians).
    pub fn circle_arc(&mut self, centre: Point, radius: f64, start: f64, sweep: f64) {
        self.arc(centre, Vec2::new(radius, 0.0), Vec2::new(0.0, radius), start, sweep);
    }

    /// Cubic Bézier.
    pub fn cubic_to(&mut self, a: Point, b: Point, to: Point) {
        self.push(Verb::Cubic, &[a, b, to]);
    }

    /// B-spline. A spline whose counts do not fit is not written and makes the path invalid.
    pub fn spline(&mut self, spline: Spline) {
        let fits = spline.degree >= 1
            && spline.control.len() > spline.degree as usize
            && spline.knots.len() == spline.control.len() + spline.degree as usize + 1
            && (spline.weights.is_empty() || spline.weights.len() == spline.control.len())
            && spline.control.iter().all(|point| point.is_finite())
            && spline.knots.iter().all(|knot| knot.is_finite())
            && spline.knots.windows(2).all(|pair| pair[0] <= pair[1])
            && spline.weights.iter().all(|weight| weight.is_finite());
        self.finite &= fits;
        let index = self.paths.splines.len() as f64;
        self.paths.splines.push(spline);
        self.push(Verb::Spline, &[Point::new(index, 0.0)]);
    }

    /// Closes the subpath.
    pub fn close(&mut self) {
        self.push(Verb::Close, &[]);
    }

    /// Whether nothing was written yet.
    pub fn is_empty(&self) -> bool {
        self.paths.verbs.len() == self.verbs
    }

    /// The path, or `None` if it is empty or has a coordinate that is not finite (nothing is kept then).
    ///
    /// # Errors
    /// When the drawing has more path points than `limits.vertices`.
    pub fn finish(self) -> Result<Option<Path>, BuildError> {
        if self.is_empty() || !self.finite {
            self.paths.verbs.truncate(self.verbs);
            self.paths.points.truncate(self.points);
            self.paths.splines.truncate(self.splines);
            return Ok(None);
        }
        let limit = self.limit.min(u64::from(u32::MAX));
        if self.paths.points.len() as u64 > limit {
            return Err(BuildError { what: "number of vertices", key: "vertices", limit });
        }
        Ok(Some(Path { verbs: (self.verbs as u32, self.paths.verbs.len() as u32), points: self.points as u32 }))
    }
}

/// The transform of a DXF-like insert in the plane: scale, then rotate, then move. Base points are not part of it.
pub fn insert_transform(at: Point, scale: Vec2, rotation: f64) -> Affine {
    Affine::translate(at.to_vec2()) * Affine::rotate(rotation) * Affine::scale_non_uniform(scale.x, scale.y)
}
