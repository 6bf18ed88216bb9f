//! Walks a drawing in metres: inserts resolved, curves flattened, clips applied, visibility decided.
//!
//! Shapes come in drawing order, each borrowed from buffers that are reused, so a drawing of any size costs the
//! memory of its largest shape. The walk keeps an explicit stack; block cycles and budgets end a branch or the
//! walk with an issue or an error, never the process.
//!
//! Rules of the drawing world that live here: layer-`0` content takes the layer of its insert; an insert on a
//! layer that is *off* hides only what resolves to that layer, one on a *frozen* layer hides all; base points;
//! array grids; XCLIP.

use std::collections::BTreeMap;
use std::rc::Rc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::flatten::flatten;
use super::nest::Effort;
use super::region::{Cut, Region, bounds_of, resolve_fill};
use super::{
    Affine, Attribute, Block, BlockId, ClipId, Colour, Drawing, Geometry, Identity, Insert, Item, LayerId, Path, Point,
    Properties, Rect, Text, Vec2,
};
use crate::format::{Checkpoint, Interrupt, Limits, Pace};
use crate::issue::{Code, Issues, Place};

/// A block contains itself.
pub static BLOCK_CYCLE: Code = Code::warning(
    "DRW101",
    "block contains itself; the inner reference was left out",
    "remove the block reference from its own definition",
);
/// A block reference without a definition.
pub static BLOCK_MISSING: Code = Code::warning(
    "DRW102",
    "block reference names a block that is not defined",
    "define the block, or bind or attach the external drawing it comes from",
);
/// A coordinate beyond [`FARTHEST_M`].
pub static COORDINATE_RANGE: Code = Code::error(
    "DRW103",
    "shape lies more than a million kilometres from the origin and was left out",
    "look for stray points, and check the unit of length",
);
/// A block reference that maps to nothing finite.
pub static TRANSFORM_INVALID: Code = Code::error(
    "DRW104",
    "block reference has a transform that is not finite and was left out",
    "check its insertion point and scales",
);
/// A clip boundary without area.
pub static CLIP_EMPTY: Code =
    Code::warning("DRW105", "clip boundary encloses nothing and was not applied", "delete or redraw the clip boundary");

/// More crossings than [`Limits::crossings`].
pub static ENTANGLED: Code = Code::error(
    "DRW106",
    "shape crosses itself or its clip too often, so that clip and fill rule were not applied",
    "redraw the shape or its clip, or raise the limit that is named",
);

/// Shapes with a coordinate farther than this from the origin are left out with an issue, metres.
pub const FARTHEST_M: f64 = 1e9;

/// How curves become points.
///
/// The distance between a curve and its chord is at most `chord_error_m` and at most `chord_error_ratio` of the
/// local radius, whichever is smaller.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Flattening {
    /// Greatest distance in metres.
    pub chord_error_m: f64,
    /// Greatest distance as a part of the local radius of curvature.
    pub chord_error_ratio: f64,
}

impl Default for Flattening {
    fn default() -> Self {
        Self { chord_error_m: 0.01, chord_error_ratio: 0.002 }
    }
}

/// One circular arc that a shape consists of, in metres: what door detection looks for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CircularArc {
    /// Centre.
    pub centre: Point,
    /// Radius.
    pub radius: f64,
    /// From the centre to the first point.
    pub towards_first: Vec2,
    /// Signed included angle, radians, positive counter-clockwise.
    pub sweep: f64,
}

/// Flattened subpaths: points of all of them, one after the other.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Polylines {
    /// All points, metres.
    pub points: Vec<Point>,
    /// For every subpath: one past its last point in `points`, and whether it is closed (the first point is
    /// **not** repeated at the end).
    pub ends: Vec<(u32, bool)>,
}

impl Polylines {
    /// The subpaths: their points and whether they are closed.
    pub fn iter(&self) -> impl Iterator<Item = (&[Point], bool)> + Clone {
        let mut start = 0usize;
        self.ends.iter().map(move |(end, closed)| {
            let run = self.points.get(start..*end as usize).unwrap_or(&[]);
            start = *end as usize;
            (run, *closed)
        })
    }

    /// The box around all points.
    pub fn bounds(&self) -> Option<Rect> {
        bounds_of(&self.points)
    }

    /// Empties it and keeps the memory.
    pub fn clear(&mut self) {
        self.points.clear();
        self.ends.clear();
    }
}

/// A block reference as a feature of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct PlacedSymbol<'a> {
    /// Insertion point, metres.
    pub at: Point,
    /// Rotation of the block's x axis, degrees counter-clockwise.
    pub rotation_deg: f64,
    /// Scales along the block's axes as drawn; y is negative if mirrored. Free of the unit of length.
    pub scale: (f64, f64),
    /// Name of the block.
    pub block: &'a str,
    /// Attribute values by tag, in drawing order.
    pub attributes: Vec<(&'a str, &'a str)>,
}

/// A text in its place.
#[derive(Debug, Clone, PartialEq)]
pub struct PlacedText<'a> {
    /// The text.
    pub text: &'a Text,
    /// Attribute tag, if it is an attribute value.
    pub tag: Option<&'a str>,
    /// Insertion point, metres.
    pub at: Point,
    /// Degrees counter-clockwise, 0 ≤ r < 360.
    pub rotation_deg: f64,
    /// Height in metres; 0 if unknown.
    pub height_m: f64,
}

/// What a shape is.
#[derive(Debug, Clone, PartialEq)]
pub enum Form<'a> {
    /// A point, metres.
    Point(Point),
    /// Stroked subpaths; closed ones are rings.
    Lines {
        /// The points.
        lines: &'a Polylines,
        /// Set if the shape is exactly one circular arc or circle.
        arc: Option<CircularArc>,
    },
    /// Rings of a fill, to be nested by even-odd (non-zero fills are resolved before).
    Area {
        /// The rings, all closed.
        rings: &'a Polylines,
    },
    /// A text.
    Text(PlacedText<'a>),
    /// A block reference; its content follows as shapes of their own.
    Symbol(PlacedSymbol<'a>),
}

/// One shape of the expanded drawing.
#[derive(Debug, Clone, PartialEq)]
pub struct Shape<'a> {
    /// What it is.
    pub form: Form<'a>,
    /// Running number in drawing order; the same for the same drawing.
    pub ordinal: u64,
    /// Kind of entity.
    pub entity: &'a str,
    /// Effective layer.
    pub layer: LayerId,
    /// Its name.
    pub layer_name: &'a str,
    /// Name of the innermost block it came through.
    pub block: Option<&'a str>,
    /// Insert depth; 0 in the model.
    pub depth: u32,
    /// Ordinal of the symbol shape of the outermost insert it came through.
    pub insert_ordinal: Option<u64>,
    /// Handle or id of the entity itself.
    pub identity: Identity,
    /// Colour, layer and block already resolved: 0xRRGGBB.
    pub colour: Option<u32>,
    /// As drawn, before resolution.
    pub drawn_colour: Colour,
    /// Stroke or polyline width, metres; 0 for hairlines.
    pub width_m: f64,
    /// Whether the drawing shows it.
    pub visible: bool,
    /// Facts of the source.
    pub properties: Properties,
}

/// How to expand.
#[derive(Debug, Clone, Default)]
pub struct ExpandOptions {
    /// How curves become points.
    pub flattening: Flattening,
    /// Also emit what the drawing hides, with [`Shape::visible`] unset.
    pub include_hidden: bool,
    /// Budgets: `expanded_shapes`, `expanded_vertices`, `crossings`, `block_depth`.
    pub limits: Limits,
}

/// What the drawing hides: layers off or frozen, invisible entities, and what lies in hidden inserts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Hidden {
    /// All of it.
    pub total: u64,
    /// By effective layer.
    pub by_layer: BTreeMap<String, u64>,
    /// By kind of entity.
    pub by_entity: BTreeMap<String, u64>,
}

/// What was met on the way.
#[derive(Debug, Clone, Default)]
pub struct ExpandReport {
    /// Shapes emitted.
    pub shapes: u64,
    /// Vertices of emitted lines and areas.
    pub vertices: u64,
    /// Emitted shapes by kind of entity.
    pub by_entity: BTreeMap<String, u64>,
    /// Emitted shapes by effective layer.
    pub by_layer: BTreeMap<String, u64>,
    /// Hidden shapes, emitted or not.
    pub hidden: Hidden,
    /// Shapes of which a clip left nothing.
    pub clipped: u64,
    /// What was wrong.
    pub issues: Issues,
    /// Box around all emitted points, metres.
    pub bounds: Option<Rect>,
}

/// Why a walk ended early.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExpandError<E> {
    /// The expanded drawing grew past a limit.
    #[error("{what} exceeds `limits.{key}` = {limit}")]
    Limit {
        /// What grew.
        what: &'static str,
        /// Key below `limits`.
        key: &'static str,
        /// Its value.
        limit: u64,
    },
    /// Deadline or cancellation.
    #[error(transparent)]
    Interrupted(#[from] Interrupt),
    /// What the receiver of the shapes returned.
    #[error("{0}")]
    Emit(E),
}

/// Walks `drawing` and gives every shape to `emit`, in drawing order.
///
/// What a file declares is weighed before anything is expanded: nested arrays that would make more shapes than
/// `limits.expanded_shapes` are refused at once, whatever they multiply to.
///
/// # Errors
/// [`ExpandError::Limit`] with key and number, what `checkpoint` returned, or what `emit` returned.
pub fn expand<E>(
    drawing: &Drawing,
    options: &ExpandOptions,
    checkpoint: &Checkpoint<'_>,
    emit: &mut dyn FnMut(&Shape<'_>) -> Result<(), E>,
) -> Result<ExpandReport, ExpandError<E>> {
    let cyclic = Weighing::new(drawing, &options.limits).weigh_all::<E>(checkpoint)?;
    let mut walk = Walk {
        drawing,
        options,
        cyclic,
        frames: Vec::new(),
        regions: Vec::new(),
        item_region: None,
        next_frame: 0,
        lines: Polylines::default(),
        scratch: Polylines::default(),
        ordinal: 0,
        report: ExpandReport::default(),
        tally: Tally::new(drawing),
        effort: Effort { pace: Pace::new(checkpoint), crossings: options.limits.crossings },
        emit,
    };
    walk.run(checkpoint)?;
    Ok(walk.finish())
}

/// What a block amounts to when it is expanded.
#[derive(Clone, Copy, Default)]
struct Weight {
    shapes: u64,
    vertices: u64,
    depth: u32,
}

/// Adds up what expansion will make, block by block, each once; finds the references that close a cycle.
struct Weighing<'d> {
    drawing: &'d Drawing,
    limits: &'d Limits,
    weights: Vec<Option<Weight>>,
    on_stack: Vec<bool>,
    cyclic: Vec<bool>,
}

impl<'d> Weighing<'d> {
    fn new(drawing: &'d Drawing, limits: &'d Limits) -> Self {
        Self {
            drawing,
            limits,
            weights: vec![None; drawing.blocks.len()],
            on_stack: vec![false; drawing.blocks.len()],
            cyclic: vec![false; drawing.inserts.len()],
        }
    }

    /// The inserts not to follow, by index.
    fn weigh_all<E>(mut self, checkpoint: &Checkpoint<'_>) -> Result<Vec<bool>, ExpandError<E>> {
        struct Step<'d> {
            block: Option<BlockId>,
            items: &'d [Item],
            next: usize,
            weight: Weight,
        }
        let mut stack = vec![Step { block: None, items: &self.drawing.items, next: 0, weight: Weight::default() }];
        let mut steps = 0u32;
        while let Some(step) = stack.last_mut() {
            steps = steps.wrapping_add(1);
            if steps.is_multiple_of(4096) {
                checkpoint()?;
            }
            let Some(item) = step.items.get(step.next) else {
                let (block, weight) = (step.block, step.weight);
                stack.pop();
                if let Some(BlockId(index)) = block {
                    self.weights[index as usize] = Some(weight);
                    self.on_stack[index as usize] = false;
                }
                continue;
            };
            let Geometry::Insert(id) = item.geometry else {
                step.next += 1;
                step.weight.shapes = step.weight.shapes.saturating_add(1);
                step.weight.vertices = step.weight.vertices.saturating_add(least_vertices(item));
                continue;
            };
            let Some(insert) = self.drawing.insert(id) else {
                step.next += 1;
                continue;
            };
            let inner = match self.drawing.block(insert.block) {
                Some(_) if self.on_stack[insert.block.0 as usize] => {
                    self.cyclic[id.0 as usize] = true;
                    Weight::default()
                }
                Some(block) => match self.weights[insert.block.0 as usize] {
                    Some(weight) => weight,
                    None => {
                        self.on_stack[insert.block.0 as usize] = true;
                        stack.push(Step {
                            block: Some(insert.block),
                            items: &block.items,
                            next: 0,
                            weight: Weight::default(),
                        });
                        continue;
                    }
                },
                None => Weight::default(),
            };
            step.next += 1;
            let cells = u64::from(insert.columns) * u64::from(insert.rows);
            let own = 1 + insert.attributes.len() as u64;
            let weight = &mut step.weight;
            weight.shapes = weight.shapes.saturating_add(cells.saturating_mul(inner.shapes.saturating_add(own)));
            weight.vertices = weight.vertices.saturating_add(cells.saturating_mul(inner.vertices));
            weight.depth = weight.depth.max(inner.depth.saturating_add(1));
            if stack.len() == 1 {
                let total = stack[0].weight;
                self.check(total)?;
            }
        }
        Ok(self.cyclic)
    }

    fn check<E>(&self, total: Weight) -> Result<(), ExpandError<E>> {
        let limits = self.limits;
        if total.depth > limits.block_depth {
            let limit = u64::from(limits.block_depth);
            return Err(ExpandError::Limit { what: "nesting of blocks", key: "block_depth", limit });
        }
        if total.shapes > limits.expanded_shapes {
            let limit = limits.expanded_shapes;
            return Err(ExpandError::Limit { what: "number of shapes", key: "expanded_shapes", limit });
        }
        if total.vertices > limits.expanded_vertices {
            let limit = limits.expanded_vertices;
            return Err(ExpandError::Limit { what: "number of expanded vertices", key: "expanded_vertices", limit });
        }
        Ok(())
    }
}

/// The least number of vertices an item makes when its curves are flattened.
fn least_vertices(item: &Item) -> u64 {
    match item.geometry {
        Geometry::Line(path) | Geometry::Area(path, _) => u64::from(path.verbs.1.saturating_sub(path.verbs.0)),
        _ => 0,
    }
}

/// One open block, or the model, on the way.
struct Frame<'d> {
    number: u64,
    items: &'d [Item],
    next: usize,
    /// Coordinates of the content → metres.
    transform: Affine,
    /// What content on an inheriting layer takes.
    layer: Option<LayerId>,
    /// What BYBLOCK content takes.
    colour: Option<u32>,
    hidden: bool,
    block: Option<&'d str>,
    insert_ordinal: Option<u64>,
    /// Clip regions in force outside.
    regions: usize,
    /// The insert it comes through, and which of its cells this is.
    cell: Option<(Reference<'d>, u64)>,
}

/// A block reference being expanded.
#[derive(Clone, Copy)]
struct Reference<'d> {
    item: &'d Item,
    insert: &'d Insert,
    block: &'d Block,
    name: &'d str,
    /// Surroundings → metres.
    outer: Affine,
    layer: LayerId,
    colour: Option<u32>,
    hidden: bool,
    symbol_visible: bool,
    follow: bool,
}

/// What an entity resolved to.
struct Resolved {
    layer: LayerId,
    colour: Option<u32>,
    visible: bool,
}

struct Walk<'d, 'e, E> {
    drawing: &'d Drawing,
    options: &'e ExpandOptions,
    cyclic: Vec<bool>,
    frames: Vec<Frame<'d>>,
    regions: Vec<Rc<Region>>,
    /// The region of the last clipped item, by clip and frame: neighbours share it.
    item_region: Option<(ClipId, u64, Option<Rc<Region>>)>,
    next_frame: u64,
    lines: Polylines,
    scratch: Polylines,
    ordinal: u64,
    report: ExpandReport,
    tally: Tally,
    effort: Effort<'e>,
    emit: &'e mut dyn FnMut(&Shape<'_>) -> Result<(), E>,
}

impl<'d, E> Walk<'d, '_, E> {
    fn run(&mut self, checkpoint: &Checkpoint<'_>) -> Result<(), ExpandError<E>> {
        let scale = self.drawing.units.metres_per_unit;
        self.next_frame = 1;
        self.frames.push(Frame {
            number: 0,
            items: &self.drawing.items,
            next: 0,
            transform: Affine::scale(scale),
            layer: None,
            colour: None,
            hidden: false,
            block: None,
            insert_ordinal: None,
            regions: 0,
            cell: None,
        });
        let mut steps = 0u32;
        while let Some(frame) = self.frames.last_mut() {
            steps = steps.wrapping_add(1);
            if steps.is_multiple_of(256) {
                checkpoint()?;
            }
            match frame.items.get(frame.next) {
                Some(item) => {
                    frame.next += 1;
                    self.item(item)?;
                }
                None => self.leave()?,
            }
        }
        Ok(())
    }

    fn item(&mut self, item: &'d Item) -> Result<(), ExpandError<E>> {
        if let Geometry::Insert(id) = item.geometry {
            return match self.drawing.insert(id) {
                Some(insert) => self.insert(item, insert, self.cyclic.get(id.0 as usize) == Some(&true)),
                None => Ok(()),
            };
        }
        let Some(frame) = self.frames.last() else { return Ok(()) };
        let resolved = self.resolve(frame, item.layer, item.colour, item.visible);
        let (transform, number) = (frame.transform, frame.number);
        let ordinal = self.count(resolved.visible, resolved.layer, item.entity.0)?;
        if !resolved.visible && !self.options.include_hidden {
            return Ok(());
        }
        self.prepare_item_region(item.clip, number, transform)?;
        match item.geometry {
            Geometry::Point(at) => {
                let at = transform * at;
                if self.clips_away(item.clip, at)? {
                    return Ok(());
                }
                self.emit(Form::Point(at), item, &resolved, ordinal)
            }
            Geometry::Text(id) => {
                let Some(text) = self.drawing.text(id) else { return Ok(()) };
                let placed = place_text(self.drawing, text, transform);
                if self.clips_away(item.clip, placed.at)? {
                    return Ok(());
                }
                self.emit(Form::Text(placed), item, &resolved, ordinal)
            }
            Geometry::Line(path) => {
                let arc = self.flatten(path, transform)?;
                let mut lines = std::mem::take(&mut self.lines);
                let cut = self.clip_lines(item, &mut lines)?;
                let done = if lines.ends.is_empty() {
                    self.report.clipped += u64::from(cut);
                    Ok(())
                } else {
                    let arc = arc.filter(|_| !cut);
                    self.emit(Form::Lines { lines: &lines, arc }, item, &resolved, ordinal)
                };
                self.lines = lines;
                done
            }
            Geometry::Area(path, rule) => {
                self.flatten(path, transform)?;
                let mut rings = std::mem::take(&mut self.lines);
                for (_, closed) in &mut rings.ends {
                    *closed = true;
                }
                if within_reach(&rings.points) {
                    let done = resolve_fill(&mut rings, rule, &self.effort)?;
                    self.note_entangled(done, item, &rings);
                }
                let cut = self.clip_area(item, &mut rings)?;
                let done = if rings.ends.is_empty() {
                    self.report.clipped += u64::from(cut);
                    Ok(())
                } else {
                    self.emit(Form::Area { rings: &rings }, item, &resolved, ordinal)
                };
                self.lines = rings;
                done
            }
            Geometry::Insert(_) => Ok(()),
        }
    }

    fn insert(&mut self, item: &'d Item, insert: &'d Insert, cyclic: bool) -> Result<(), ExpandError<E>> {
        let Some(frame) = self.frames.last() else { return Ok(()) };
        let Some(block) = self.drawing.block(insert.block) else { return Ok(()) };
        if insert.columns == 0 || insert.rows == 0 {
            return Ok(());
        }
        let name = self.drawing.string(block.name);
        let resolved = self.resolve(frame, item.layer, item.colour, item.visible);
        let frozen = self.drawing.layer(resolved.layer).is_some_and(|layer| layer.frozen);
        let reference = Reference {
            item,
            insert,
            block,
            name,
            outer: frame.transform,
            layer: resolved.layer,
            colour: resolved.colour,
            hidden: frame.hidden || !item.visible || frozen,
            symbol_visible: resolved.visible,
            follow: !cyclic,
        };
        let place = self.position(reference.outer * insert.transform.translation().to_point());
        if !is_finite(insert.transform) || !insert.column_step.is_finite() || !insert.row_step.is_finite() {
            self.report.issues.report(&TRANSFORM_INVALID, Place::Document, name);
            return Ok(());
        }
        if cyclic {
            self.report.issues.report(&BLOCK_CYCLE, place, name);
        } else if !block.defined {
            self.report.issues.report(&BLOCK_MISSING, place, name);
        }
        self.enter(reference, 0)
    }

    /// Draws a cell of a block reference: its symbol, its attributes, then a frame for its content.
    fn enter(&mut self, reference: Reference<'d>, cell: u64) -> Result<(), ExpandError<E>> {
        let Reference { item, insert, block, .. } = reference;
        let columns = u64::from(insert.columns.max(1));
        let step = insert.column_step * (cell % columns) as f64 + insert.row_step * (cell / columns) as f64;
        let surroundings = reference.outer * Affine::translate(step);
        let placed = surroundings * insert.transform;
        let transform = placed * Affine::translate(-block.base.to_vec2());
        let ordinal = self.count(reference.symbol_visible, reference.layer, item.entity.0)?;
        let (outer_ordinal, outer_number) =
            self.frames.last().map_or((None, 0), |frame| (frame.insert_ordinal, frame.number));
        let resolved = Resolved { layer: reference.layer, colour: reference.colour, visible: reference.symbol_visible };
        self.prepare_item_region(item.clip, outer_number, reference.outer)?;
        let at = placed.translation().to_point();
        let clipped = !self.keeps(item.clip, at)?;
        if !clipped && (resolved.visible || self.options.include_hidden) {
            let symbol = self.symbol(&reference, placed);
            self.emit(Form::Symbol(symbol), item, &resolved, ordinal)?;
        }
        let insert_ordinal = Some(outer_ordinal.unwrap_or(ordinal));
        for attribute in &insert.attributes {
            self.attribute(&reference, attribute, surroundings, insert_ordinal)?;
        }
        let outside = self.regions.len();
        if let Some(region) = self.item_region(item.clip) {
            self.regions.push(region);
        }
        if let Some(clip) = insert.clip.and_then(|id| self.drawing.clip(id)) {
            // The boundary is in block coordinates, before the base point is taken off.
            self.effort.steps(clip.rings.iter().map(Vec::len).sum())?;
            match Region::new(clip, transform) {
                Some(region) => self.regions.push(Rc::new(region)),
                None => self.report.issues.report(&CLIP_EMPTY, self.position(at), reference.name),
            }
        }
        let number = self.next_frame;
        self.next_frame += 1;
        self.frames.push(Frame {
            number,
            items: if reference.follow { &block.items } else { &[] },
            next: 0,
            transform,
            layer: Some(reference.layer),
            colour: reference.colour,
            hidden: reference.hidden,
            block: Some(reference.name),
            insert_ordinal,
            regions: outside,
            cell: Some((reference, cell)),
        });
        Ok(())
    }

    /// Ends a frame; the next cell of an array takes its place.
    fn leave(&mut self) -> Result<(), ExpandError<E>> {
        let Some(frame) = self.frames.pop() else { return Ok(()) };
        self.regions.truncate(frame.regions);
        if let Some((reference, cell)) = frame.cell {
            let cells = u64::from(reference.insert.columns) * u64::from(reference.insert.rows);
            if cell + 1 < cells {
                return self.enter(reference, cell + 1);
            }
        }
        Ok(())
    }

    fn symbol(&self, reference: &Reference<'d>, placed: Affine) -> PlacedSymbol<'d> {
        let [a, b, c, d, x, y] = placed.as_coeffs();
        let unit = self.drawing.units.metres_per_unit;
        let along = a.hypot(b);
        let across = if along > 0.0 { (a * d - b * c) / along } else { c.hypot(d) };
        PlacedSymbol {
            at: Point::new(x, y),
            rotation_deg: degrees(Vec2::new(a, b)),
            scale: (along / unit, across / unit),
            block: reference.name,
            attributes: reference
                .insert
                .attributes
                .iter()
                .filter_map(|attribute| {
                    let text = self.drawing.text(attribute.text)?;
                    Some((self.drawing.string(attribute.tag), text.value.as_str()))
                })
                .collect(),
        }
    }

    fn attribute(
        &mut self,
        reference: &Reference<'d>,
        attribute: &'d Attribute,
        surroundings: Affine,
        insert_ordinal: Option<u64>,
    ) -> Result<(), ExpandError<E>> {
        let Some(text) = self.drawing.text(attribute.text) else { return Ok(()) };
        let own = self.drawing.layer(attribute.layer);
        let layer = if own.is_some_and(|layer| layer.inherits) { reference.layer } else { attribute.layer };
        let state = self.drawing.layer(layer);
        let visible = attribute.visible && !reference.hidden && !state.is_some_and(|layer| layer.off || layer.frozen);
        let ordinal = self.count_attribute(visible, layer)?;
        if !visible && !self.options.include_hidden {
            return Ok(());
        }
        let mut placed = place_text(self.drawing, text, surroundings);
        placed.tag = Some(self.drawing.string(attribute.tag));
        if !self.keeps(None, placed.at)? {
            self.report.clipped += 1;
            return Ok(());
        }
        if !within_reach(&[placed.at]) {
            self.report.issues.report(&COORDINATE_RANGE, Place::Document, "ATTRIB");
            return Ok(());
        }
        self.grow(&[placed.at]);
        let shape = Shape {
            form: Form::Text(placed),
            ordinal,
            entity: ATTRIBUTE,
            layer,
            layer_name: self.drawing.layer_name(layer),
            block: Some(reference.name),
            depth: self.frames.len() as u32,
            insert_ordinal,
            identity: attribute.identity,
            colour: state.and_then(|layer| layer.colour),
            drawn_colour: Colour::ByLayer,
            width_m: 0.0,
            visible,
            properties: Properties::default(),
        };
        self.report.shapes += 1;
        self.tally.attributes += 1;
        self.tally.emitted_layer(layer);
        (self.emit)(&shape).map_err(ExpandError::Emit)
    }

    fn resolve(&self, frame: &Frame<'d>, layer: LayerId, colour: Colour, visible: bool) -> Resolved {
        let inherits = self.drawing.layer(layer).is_some_and(|layer| layer.inherits);
        let layer = frame.layer.filter(|_| inherits).unwrap_or(layer);
        let state = self.drawing.layer(layer);
        let colour = match colour {
            Colour::Rgb(rgb) => Some(rgb),
            Colour::ByLayer => state.and_then(|layer| layer.colour),
            Colour::ByBlock => frame.colour,
        };
        let shown = !state.is_some_and(|layer| layer.off || layer.frozen);
        Resolved { layer, colour, visible: visible && shown && !frame.hidden }
    }

    /// Gives the next ordinal and counts what is hidden.
    fn count(&mut self, visible: bool, layer: LayerId, entity: u32) -> Result<u64, ExpandError<E>> {
        if !visible {
            self.tally.hide(layer, Some(entity));
        }
        self.next_ordinal()
    }

    fn count_attribute(&mut self, visible: bool, layer: LayerId) -> Result<u64, ExpandError<E>> {
        if !visible {
            self.tally.hide(layer, None);
        }
        self.next_ordinal()
    }

    fn next_ordinal(&mut self) -> Result<u64, ExpandError<E>> {
        let limit = self.options.limits.expanded_shapes;
        if self.ordinal >= limit {
            return Err(ExpandError::Limit { what: "number of shapes", key: "expanded_shapes", limit });
        }
        self.ordinal += 1;
        Ok(self.ordinal - 1)
    }

    /// Fills `self.lines`.
    fn flatten(&mut self, path: Path, transform: Affine) -> Result<Option<CircularArc>, ExpandError<E>> {
        self.lines.clear();
        let limit = self.options.limits.expanded_vertices;
        let left = usize::try_from(limit.saturating_sub(self.report.vertices)).unwrap_or(usize::MAX);
        let segments = self.drawing.paths.segments(path);
        let arc = flatten(segments, transform, &self.options.flattening, left, &self.effort.pace, &mut self.lines)?;
        if self.lines.points.len() > left {
            return Err(ExpandError::Limit { what: "number of expanded vertices", key: "expanded_vertices", limit });
        }
        Ok(arc)
    }

    /// Makes the clip of an item ready for [`Self::keeps`], [`Self::clip_lines`] and [`Self::clip_area`].
    fn prepare_item_region(&mut self, clip: Option<ClipId>, frame: u64, transform: Affine) -> Result<(), Interrupt> {
        let Some(id) = clip else { return Ok(()) };
        if self.item_region.as_ref().is_some_and(|(last, number, _)| *last == id && *number == frame) {
            return Ok(());
        }
        let clip = self.drawing.clip(id);
        self.effort.steps(clip.map_or(0, |clip| clip.rings.iter().map(Vec::len).sum()))?;
        let region = clip.and_then(|clip| Region::new(clip, transform));
        if region.is_none() {
            self.report.issues.report(&CLIP_EMPTY, Place::Document, "clip of an entity");
        }
        self.item_region = Some((id, frame, region.map(Rc::new)));
        Ok(())
    }

    fn item_region(&self, clip: Option<ClipId>) -> Option<Rc<Region>> {
        clip?;
        self.item_region.as_ref().and_then(|(_, _, region)| region.clone())
    }

    /// The regions in force for an item with this clip, from the outside in.
    fn regions(&self, clip: Option<ClipId>) -> impl Iterator<Item = &Rc<Region>> {
        let own = clip.and(self.item_region.as_ref()).and_then(|(_, _, region)| region.as_ref());
        self.regions.iter().chain(own)
    }

    fn keeps(&self, clip: Option<ClipId>, at: Point) -> Result<bool, Interrupt> {
        for region in self.regions(clip) {
            self.effort.steps(region.work_of(at))?;
            if !region.contains(at) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn clips_away(&mut self, clip: Option<ClipId>, at: Point) -> Result<bool, Interrupt> {
        let away = !self.keeps(clip, at)?;
        self.report.clipped += u64::from(away);
        Ok(away)
    }

    fn clip_lines(&mut self, item: &Item, lines: &mut Polylines) -> Result<bool, Interrupt> {
        let mut scratch = std::mem::take(&mut self.scratch);
        let mut worst = Cut::Untouched;
        for region in self.regions(item.clip) {
            worst = worst.max(region.clip_lines(lines, &mut scratch, &self.effort)?);
        }
        self.scratch = scratch;
        self.note_entangled(worst, item, lines);
        Ok(worst != Cut::Untouched)
    }

    fn clip_area(&mut self, item: &Item, rings: &mut Polylines) -> Result<bool, Interrupt> {
        let mut worst = Cut::Untouched;
        for region in self.regions(item.clip) {
            worst = worst.max(region.clip_area(rings, &self.effort)?);
        }
        self.note_entangled(worst, item, rings);
        Ok(worst != Cut::Untouched)
    }

    fn note_entangled(&mut self, cut: Cut, item: &Item, lines: &Polylines) {
        if cut == Cut::Entangled {
            let place = lines.points.first().map_or(Place::Document, |point| self.position(*point));
            let entity = self.drawing.string(item.entity);
            let limit = self.options.limits.crossings;
            let detail = format!("{entity}: more crossings than `limits.crossings` = {limit}");
            self.report.issues.report(&ENTANGLED, place, detail);
        }
    }

    fn emit(&mut self, form: Form<'_>, item: &Item, resolved: &Resolved, ordinal: u64) -> Result<(), ExpandError<E>> {
        let points: &[Point] = match &form {
            Form::Point(at) => std::slice::from_ref(at),
            Form::Text(text) => std::slice::from_ref(&text.at),
            Form::Symbol(symbol) => std::slice::from_ref(&symbol.at),
            Form::Lines { lines, .. } => &lines.points,
            Form::Area { rings } => &rings.points,
        };
        if !within_reach(points) {
            self.report.issues.report(&COORDINATE_RANGE, Place::Document, self.drawing.string(item.entity));
            return Ok(());
        }
        self.grow(points);
        if matches!(form, Form::Lines { .. } | Form::Area { .. }) {
            self.report.vertices += points.len() as u64;
        }
        let Some(frame) = self.frames.last() else { return Ok(()) };
        let width_m =
            if item.width > 0.0 { f64::from(item.width) * frame.transform.determinant().abs().sqrt() } else { 0.0 };
        let shape = Shape {
            form,
            ordinal,
            entity: self.drawing.string(item.entity),
            layer: resolved.layer,
            layer_name: self.drawing.layer_name(resolved.layer),
            block: frame.block,
            depth: self.frames.len() as u32 - 1,
            insert_ordinal: frame.insert_ordinal,
            identity: item.identity,
            colour: resolved.colour,
            drawn_colour: item.colour,
            width_m: if width_m.is_finite() { width_m } else { 0.0 },
            visible: resolved.visible,
            properties: item.properties,
        };
        self.report.shapes += 1;
        self.tally.emitted(resolved.layer, item.entity.0);
        (self.emit)(&shape).map_err(ExpandError::Emit)
    }

    fn grow(&mut self, points: &[Point]) {
        if let Some(bounds) = bounds_of(points) {
            self.report.bounds = Some(self.report.bounds.map_or(bounds, |before| before.union(bounds)));
        }
    }

    fn position(&self, at: Point) -> Place {
        if at.is_finite() { Place::Position { x: at.x, y: at.y } } else { Place::Document }
    }

    fn finish(self) -> ExpandReport {
        let mut report = self.report;
        self.tally.write(self.drawing, &mut report);
        report
    }
}

/// The entity kind of attribute values.
const ATTRIBUTE: &str = "ATTRIB";

fn place_text<'d>(drawing: &'d Drawing, text: &'d Text, transform: Affine) -> PlacedText<'d> {
    let [a, b, c, d, ..] = transform.as_coeffs();
    let direction = if text.direction.hypot2() > 0.0 { text.direction } else { Vec2::new(1.0, 0.0) };
    let along = Vec2::new(a * direction.x + c * direction.y, b * direction.x + d * direction.y);
    let unit = direction / direction.hypot();
    let upward = Vec2::new(-a * unit.y + c * unit.x, -b * unit.y + d * unit.x);
    PlacedText {
        text,
        tag: text.tag.map(|tag| drawing.string(tag)),
        at: transform * text.at,
        rotation_deg: degrees(along),
        height_m: if text.height > 0.0 { text.height * upward.hypot() } else { 0.0 },
    }
}

/// Direction of `vector` in degrees, 0 ≤ d < 360, free of noise in the last digits.
fn degrees(vector: Vec2) -> f64 {
    let degrees = vector.y.atan2(vector.x).to_degrees();
    let clean = (degrees * 1e9).round() / 1e9;
    let turned = if clean < 0.0 { clean + 360.0 } else { clean };
    if turned >= 360.0 { 0.0 } else { turned + 0.0 }
}

fn within_reach(points: &[Point]) -> bool {
    points.iter().all(|point| point.x.abs() <= FARTHEST_M && point.y.abs() <= FARTHEST_M)
}

fn is_finite(transform: Affine) -> bool {
    transform.as_coeffs().iter().all(|value| value.is_finite())
}

/// Counts by index while walking, names at the end.
struct Tally {
    entities: Vec<u64>,
    layers: Vec<u64>,
    hidden_entities: Vec<u64>,
    hidden_layers: Vec<u64>,
    attributes: u64,
    hidden_attributes: u64,
}

impl Tally {
    fn new(drawing: &Drawing) -> Self {
        // Entity kinds are interned early, but nothing promises it.
        let (strings, layers) = (drawing.strings.len(), drawing.layers.len());
        Self {
            entities: vec![0; strings],
            layers: vec![0; layers],
            hidden_entities: vec![0; strings],
            hidden_layers: vec![0; layers],
            attributes: 0,
            hidden_attributes: 0,
        }
    }

    fn emitted(&mut self, layer: LayerId, entity: u32) {
        bump(&mut self.entities, entity);
        self.emitted_layer(layer);
    }

    fn emitted_layer(&mut self, layer: LayerId) {
        bump(&mut self.layers, layer.0);
    }

    fn hide(&mut self, layer: LayerId, entity: Option<u32>) {
        bump(&mut self.hidden_layers, layer.0);
        match entity {
            Some(entity) => bump(&mut self.hidden_entities, entity),
            None => self.hidden_attributes += 1,
        }
    }

    fn write(self, drawing: &Drawing, report: &mut ExpandReport) {
        let strings = |counts: &[u64], attributes: u64| {
            let mut named = BTreeMap::new();
            for (name, count) in drawing.strings.iter().zip(counts).filter(|(_, count)| **count > 0) {
                named.insert(name.to_string(), *count);
            }
            if attributes > 0 {
                *named.entry(ATTRIBUTE.to_owned()).or_insert(0) += attributes;
            }
            named
        };
        let layers = |counts: &[u64]| {
            let named = drawing.layers.iter().zip(counts).filter(|(_, count)| **count > 0);
            named.map(|(layer, count)| (drawing.string(layer.name).to_owned(), *count)).collect::<BTreeMap<_, _>>()
        };
        report.by_entity = strings(&self.entities, self.attributes);
        report.by_layer = layers(&self.layers);
        report.hidden.by_entity = strings(&self.hidden_entities, self.hidden_attributes);
        report.hidden.by_layer = layers(&self.hidden_layers);
        report.hidden.total = report.hidden.by_layer.values().sum();
    }
}

fn bump(counts: &mut [u64], index: u32) {
    if let Some(count) = counts.get_mut(index as usize) {
        *count += 1;
    }
}

#[cfg(test)]
mod tests;
