//! Streams one GeoJSON FeatureCollection (RFC 7946).
//!
//! Features are written as they come, each on a line of its own, through one buffer that is reused; the topology
//! hash, counts and bounding box are taken on the way. [`head`] makes what stands in front. `docs/geojson.md` is
//! the contract with readers of the output.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;

use super::json::{write_name, write_number_member, write_object, write_string, write_text_member};
use super::metadata::Metadata;
use super::shape::{Findings, Gridded, Made};
use super::{
    AREA_ENTANGLED, AREA_FLAT, AREA_REPAIRED, Entities, Frame, NOT_PLACED, OutputOptions, PART_TOO_SMALL, RING_CROSSES,
    TOO_SMALL, fixed,
};
use crate::drawing::expand::{Flattening, Form, PlacedSymbol, PlacedText, Shape};
use crate::drawing::hash::{STEPS_PER_METRE, TopologyHasher};
use crate::drawing::nest::{Effort, GridPoint};
use crate::drawing::{Drawing, Identity, Point, Properties};
use crate::format::{Checkpoint, Interrupt, Pace};
use crate::issue::{Code, Issues, Place};
use crate::plan::{Label, LabelKind};

mod derived;

pub use derived::LevelFacts;

/// What stands after the last feature.
const TAIL: &[u8] = b"\n]}\n";

/// Bytes of features from which on the head of a collection is filled up with blanks to [`HEAD_ROOM`].
const LARGE_BODY: u64 = 1 << 20;

/// Bytes of the head of a large collection, if it needs no more. Known before the head is, they let features be written to their
/// place at once.
pub const HEAD_ROOM: u64 = 32 << 10;

/// Bytes gathered before they are handed on.
const CHUNK: usize = 64 << 10;

/// Decimals of lengths, areas and angles.
const MEASURE_DECIMALS: u8 = 4;

/// Writes features.
pub struct FeatureWriter<'a, W> {
    sink: W,
    buffer: Vec<u8>,
    drawing: &'a Drawing,
    frame: &'a Frame<'a>,
    options: &'a OutputOptions,
    decimals: u8,
    steps: f64,
    hash_grid_is_output_grid: bool,
    gridded: Gridded,
    effort: Effort<'a>,
    hasher: TopologyHasher,
    ids: Ids,
    layers: Vec<Vec<u8>>,
    labels: HashMap<u64, LabelFacts>,
    mapped: HashSet<u64>,
    summary: Summary,
    bounds: Option<[i64; 4]>,
}

/// What a derived label adds to the feature of its text.
struct LabelFacts {
    kind: LabelKind,
    room: Option<u32>,
}

/// What was written.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    /// Number of features.
    pub features: u64,
    /// Features by class.
    pub classes: BTreeMap<&'static str, u64>,
    /// West, south, east, north in coordinates of the output, as JSON numbers; empty without features.
    pub bbox: Vec<u8>,
    /// The topology hash of what the drawing shows.
    pub topology_hash: String,
    /// Positions written.
    pub vertices: u64,
    /// Shapes that vanished on the grid or could not be placed.
    pub dropped: u64,
    /// Shapes left out by [`OutputOptions::entities`].
    pub omitted: u64,
    /// What was wrong with geometry.
    pub issues: Issues,
}

impl<'a, W: io::Write> FeatureWriter<'a, W> {
    /// Writes to `sink`.
    pub fn new(
        sink: W,
        drawing: &'a Drawing,
        flattening: &Flattening,
        options: &'a OutputOptions,
        frame: &'a Frame<'a>,
    ) -> Self {
        let decimals = options.decimals.unwrap_or(frame.decimals).min(fixed::MAX_DECIMALS);
        let steps = fixed::steps(decimals);
        let layers = drawing.layers.iter().map(|layer| {
            let mut member = Vec::new();
            write_text_member(&mut member, "layer", drawing.string(layer.name));
            member
        });
        Self {
            sink,
            buffer: Vec::with_capacity(2 * CHUNK),
            drawing,
            frame,
            options,
            decimals,
            steps,
            hash_grid_is_output_grid: frame.place.is_none() && steps == STEPS_PER_METRE,
            gridded: Gridded::default(),
            effort: Effort::unbounded(),
            hasher: TopologyHasher::new(flattening),
            ids: Ids::default(),
            layers: layers.collect(),
            labels: HashMap::new(),
            mapped: HashSet::new(),
            summary: Summary::default(),
            bounds: None,
        }
    }

    /// Looks at a checkpoint while it works, and resolves no more than so many crossings within one area. What the
    /// checkpoint returns comes back as an [`io::Error`] that holds the [`Interrupt`]: see [`interrupted`].
    #[must_use]
    pub fn with_effort(mut self, checkpoint: &'a Checkpoint<'a>, crossings: u64) -> Self {
        self.effort = Effort { pace: Pace::new(checkpoint), crossings };
        self
    }

    /// Takes a shape of the expanded drawing: into the hash, and as a feature.
    ///
    /// # Errors
    /// When the sink cannot be written, or the checkpoint says so.
    pub fn shape(&mut self, shape: &Shape<'_>) -> io::Result<()> {
        let mut made = None;
        if shape.visible {
            let mut to_grid = |point| GridPoint::nearest(point, STEPS_PER_METRE);
            let (kind, findings) = grid(&mut self.gridded, &shape.form, &self.effort, &mut to_grid)?;
            match kind {
                Made::Nothing => {}
                Made::Areas => self.hasher.areas(&self.gridded.areas),
                Made::Lines => {
                    for (line, closed) in self.gridded.lines() {
                        self.hasher.line(line, closed);
                    }
                }
                Made::Point => {
                    if let (Form::Point(_), Some(at)) = (&shape.form, self.gridded.points().first()) {
                        self.hasher.point(*at);
                    }
                }
            }
            if self.hash_grid_is_output_grid {
                made = Some((kind, findings));
            }
        }
        if self.leaves_out(shape) {
            self.summary.omitted += 1;
            return Ok(());
        }
        let (kind, findings) = match made {
            Some(made) => made,
            None => {
                let (steps, place) = (self.steps, self.frame.place);
                let mut lost = false;
                let mut to_grid = |point| to_output(point, place, steps, &mut lost);
                let made = grid(&mut self.gridded, &shape.form, &self.effort, &mut to_grid)?;
                if lost {
                    self.summary.dropped += 1;
                    self.note(&NOT_PLACED, false, shape);
                    return Ok(());
                }
                made
            }
        };
        if kind == Made::Nothing {
            self.summary.dropped += 1;
            self.note(&TOO_SMALL, false, shape);
            return Ok(());
        }
        self.note_findings(findings, shape);
        let class = match (&shape.form, kind) {
            (Form::Text(_), _) => "label",
            (Form::Symbol(_), _) => "symbol",
            (_, Made::Areas) => "area",
            (_, Made::Point) => "point",
            _ => "line",
        };
        self.begin(class);
        self.ids.write(&mut self.buffer, shape, self.drawing);
        self.geometry(kind);
        self.properties(class, shape);
        self.end()
    }

    /// Ends the collection and gives back the sink.
    ///
    /// # Errors
    /// When the sink cannot be written.
    pub fn finish(mut self) -> io::Result<(W, Summary)> {
        self.buffer.extend_from_slice(TAIL);
        self.sink.write_all(&self.buffer)?;
        if let Some([x0, y0, x1, y1]) = self.bounds {
            for (index, value) in [x0, y0, x1, y1].into_iter().enumerate() {
                if index > 0 {
                    self.summary.bbox.push(b',');
                }
                fixed::write(&mut self.summary.bbox, value, self.decimals);
            }
        }
        self.summary.topology_hash = self.hasher.finish();
        Ok((self.sink, self.summary))
    }

    fn leaves_out(&self, shape: &Shape<'_>) -> bool {
        match self.options.entities {
            Entities::All => false,
            Entities::None => true,
            Entities::Unmapped => self.mapped.contains(&shape.ordinal),
        }
    }

    /// Starts a feature: everything before its id.
    fn begin(&mut self, class: &'static str) {
        let start: &[u8] = if self.summary.features == 0 { b"" } else { b",\n" };
        self.buffer.extend_from_slice(start);
        self.buffer.extend_from_slice(br#"{"type":"Feature","id":""#);
        self.summary.features += 1;
        *self.summary.classes.entry(class).or_insert(0) += 1;
    }

    /// Ends a feature and hands on a full buffer.
    fn end(&mut self) -> io::Result<()> {
        self.buffer.extend_from_slice(b"}}");
        if self.buffer.len() >= CHUNK {
            self.sink.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }

    /// Writes what is in `self.gridded`.
    fn geometry(&mut self, kind: Made) {
        let mut pen = Pen { out: &mut self.buffer, decimals: self.decimals, bounds: &mut self.bounds, positions: 0 };
        pen.text(r#","geometry":{"type":""#);
        match kind {
            Made::Areas => {
                let several = self.gridded.areas.len() > 1;
                pen.text(if several { r#"MultiPolygon","coordinates":["# } else { r#"Polygon","coordinates":"# });
                for (index, polygon) in self.gridded.areas.iter().enumerate() {
                    pen.text(if index > 0 { ",[" } else { "[" });
                    for (index, ring) in polygon.enumerate() {
                        pen.comma(index);
                        pen.positions(ring, true);
                    }
                    pen.text("]");
                }
                pen.text(if several { "]}" } else { "}" });
            }
            Made::Lines => {
                let several = self.gridded.lines().nth(1).is_some();
                pen.text(if several { r#"MultiLineString","coordinates":["# } else { r#"LineString","coordinates":"# });
                for (index, (line, closed)) in self.gridded.lines().enumerate() {
                    pen.comma(index);
                    pen.positions(line, closed);
                }
                pen.text(if several { "]}" } else { "}" });
            }
            Made::Point | Made::Nothing => {
                pen.text(r#"Point","coordinates":"#);
                for point in self.gridded.points().iter().take(1) {
                    pen.position(*point);
                }
                pen.text("}");
            }
        }
        self.summary.vertices += pen.positions;
    }

    fn properties(&mut self, class: &str, shape: &Shape<'_>) {
        let out = &mut self.buffer;
        out.extend_from_slice(br#","properties":{"class":""#);
        out.extend_from_slice(class.as_bytes());
        out.push(b'"');
        if let Form::Text(text) = &shape.form {
            write_text_member(out, "name", &text.text.value);
        }
        match self.layers.get(shape.layer.0 as usize) {
            Some(member) => out.extend_from_slice(member),
            None => write_text_member(out, "layer", shape.layer_name),
        }
        write_text_member(out, "entity", shape.entity);
        write_identity(out, shape.identity, self.drawing);
        match &shape.form {
            Form::Text(text) => write_text(out, text, self.labels.get(&shape.ordinal)),
            Form::Symbol(symbol) => write_symbol(out, symbol),
            _ => {}
        }
        if let (Some(block), false) = (shape.block, matches!(shape.form, Form::Symbol(_))) {
            write_text_member(out, "block", block);
        }
        if let Some(colour) = shape.colour {
            write_name(out, "colour");
            write_colour(out, colour);
        }
        if shape.width_m > 0.0 {
            write_number_member(out, "width_m", shape.width_m, MEASURE_DECIMALS);
        }
        if shape.properties != Properties::default() {
            let pairs: Vec<(&str, &str)> = self.drawing.properties(shape.properties).collect();
            write_name(out, "source");
            write_object(out, pairs.into_iter());
        }
        if !shape.visible {
            out.extend_from_slice(br#","visible":false"#);
        }
    }

    fn note_findings(&mut self, findings: Findings, shape: &Shape<'_>) {
        if findings == Findings::default() {
            return;
        }
        if findings.repaired {
            self.note(&AREA_REPAIRED, true, shape);
        }
        if findings.entangled {
            self.note(&AREA_ENTANGLED, true, shape);
        }
        if findings.flat {
            self.note(&AREA_FLAT, true, shape);
        }
        if findings.crosses {
            self.note(&RING_CROSSES, true, shape);
        }
        if findings.vanished > 0 {
            self.note(&PART_TOO_SMALL, false, shape);
        }
    }

    fn note(&mut self, code: &'static Code, fixed: bool, shape: &Shape<'_>) {
        let at = first_point(&shape.form).map_or(Place::Document, |point| Place::Position { x: point.x, y: point.y });
        // Samples beyond the first few are not kept, so their text is not made either.
        let kept = self.summary.issues.count(code) < Issues::MAX_SAMPLES as u64;
        let mut detail = if kept { self.describe(shape) } else { String::new() };
        if kept && std::ptr::eq(code, &raw const AREA_ENTANGLED) {
            detail.push_str(&format!(": more crossings than `limits.crossings` = {}", self.effort.crossings));
        }
        if fixed {
            self.summary.issues.fixed(code, at, detail);
        } else {
            self.summary.issues.report(code, at, detail);
        }
    }

    fn describe(&self, shape: &Shape<'_>) -> String {
        let name = match shape.identity {
            Identity::None => String::new(),
            Identity::Handle(handle) => format!(" {handle:X}"),
            Identity::Name(name) => format!(" {}", self.drawing.string(name)),
        };
        format!("{}{name} on layer {}", shape.entity, shape.layer_name)
    }
}

/// Everything before the first feature. In front of a large body it is filled up to [`HEAD_ROOM`].
///
/// # Errors
/// When the metadata cannot be serialized, which would be a fault of this program.
pub fn head(metadata: &Metadata<'_>, summary: &Summary, body_len: u64) -> io::Result<Vec<u8>> {
    let mut out = br#"{"type":"FeatureCollection","metadata":"#.to_vec();
    serde_json::to_writer(&mut out, metadata)?;
    if !summary.bbox.is_empty() {
        out.extend_from_slice(br#","bbox":["#);
        out.extend_from_slice(&summary.bbox);
        out.push(b']');
    }
    out.extend_from_slice(b",\"features\":[");
    let room = HEAD_ROOM as usize - 1;
    if body_len >= LARGE_BODY && out.len() <= room {
        out.resize(room, b' ');
    }
    out.push(b'\n');
    Ok(out)
}

/// The interrupt of the checkpoint that an error of a [`FeatureWriter`] holds.
pub fn interrupted(error: &io::Error) -> Option<&Interrupt> {
    error.get_ref().and_then(|inner| inner.downcast_ref())
}

fn grid(
    gridded: &mut Gridded,
    form: &Form<'_>,
    effort: &Effort<'_>,
    to_grid: &mut impl FnMut(Point) -> GridPoint,
) -> io::Result<(Made, Findings)> {
    let single = |made| Ok((made, Findings::default()));
    let made = match form {
        Form::Point(at) => single(gridded.point(to_grid(*at))),
        Form::Text(text) => single(gridded.point(to_grid(text.at))),
        Form::Symbol(symbol) => single(gridded.point(to_grid(symbol.at))),
        Form::Lines { lines, .. } => gridded.stroke(lines, effort, to_grid),
        Form::Area { rings } => gridded.fill(rings, effort, to_grid),
    };
    made.map_err(io::Error::other)
}

/// The grid point of the output; sets `lost` if the placed coordinates are not finite or far out of range.
fn to_output(point: Point, place: Option<&super::PlaceFn<'_>>, steps: f64, lost: &mut bool) -> GridPoint {
    let placed = place.map_or(point, |place| place(point));
    *lost |= !(placed.x.abs() <= 1e9 && placed.y.abs() <= 1e9);
    GridPoint::nearest(placed, steps)
}

fn first_point(form: &Form<'_>) -> Option<Point> {
    match form {
        Form::Point(at) => Some(*at),
        Form::Text(text) => Some(text.at),
        Form::Symbol(symbol) => Some(symbol.at),
        Form::Lines { lines, .. } | Form::Area { rings: lines } => lines.points.first().copied(),
    }
}

struct Pen<'b> {
    out: &'b mut Vec<u8>,
    decimals: u8,
    bounds: &'b mut Option<[i64; 4]>,
    positions: u64,
}

impl Pen<'_> {
    fn text(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn comma(&mut self, index: usize) {
        if index > 0 {
            self.out.push(b',');
        }
    }

    fn position(&mut self, at: GridPoint) {
        fixed::write_position(self.out, at.x, at.y, self.decimals);
        self.positions += 1;
        let bounds = self.bounds.get_or_insert([at.x, at.y, at.x, at.y]);
        bounds[0] = bounds[0].min(at.x);
        bounds[1] = bounds[1].min(at.y);
        bounds[2] = bounds[2].max(at.x);
        bounds[3] = bounds[3].max(at.y);
    }

    /// An array of positions; a closed one repeats its first at the end.
    fn positions(&mut self, points: &[GridPoint], closed: bool) {
        self.out.push(b'[');
        let again = points.iter().take(usize::from(closed));
        for (index, point) in points.iter().chain(again).enumerate() {
            self.comma(index);
            self.position(*point);
        }
        self.out.push(b']');
    }
}

fn write_identity(out: &mut Vec<u8>, identity: Identity, drawing: &Drawing) {
    match identity {
        Identity::None => {}
        Identity::Handle(handle) => {
            write_name(out, "handle");
            out.push(b'"');
            write_hex(out, handle);
            out.push(b'"');
        }
        Identity::Name(name) => write_text_member(out, "source_id", drawing.string(name)),
    }
}

fn write_text(out: &mut Vec<u8>, text: &PlacedText<'_>, facts: Option<&LabelFacts>) {
    if let Some(tag) = text.tag {
        write_text_member(out, "tag", tag);
    }
    write_number_member(out, "rotation", text.rotation_deg, MEASURE_DECIMALS);
    if text.height_m > 0.0 {
        write_number_member(out, "height_m", text.height_m, MEASURE_DECIMALS);
    }
    if let Some(facts) = facts {
        write_label_facts(out, facts);
    }
}

fn write_label_facts(out: &mut Vec<u8>, facts: &LabelFacts) {
    let kind = match facts.kind {
        LabelKind::Number => "number",
        LabelKind::Name => "name",
        LabelKind::Area => "area",
        LabelKind::Other => "other",
    };
    write_text_member(out, "label_kind", kind);
    if let Some(room) = facts.room {
        write_name(out, "room");
        out.extend_from_slice(format!("\"room/{room}\"").as_bytes());
    }
}

impl From<&Label> for LabelFacts {
    fn from(label: &Label) -> Self {
        Self { kind: label.kind, room: label.room }
    }
}

fn write_symbol(out: &mut Vec<u8>, symbol: &PlacedSymbol<'_>) {
    write_text_member(out, "block", symbol.block);
    write_number_member(out, "rotation", symbol.rotation_deg, MEASURE_DECIMALS);
    if symbol.scale != (1.0, 1.0) {
        write_name(out, "scale");
        out.push(b'[');
        fixed::write_float(out, symbol.scale.0, 6);
        out.push(b',');
        fixed::write_float(out, symbol.scale.1, 6);
        out.push(b']');
    }
    if !symbol.attributes.is_empty() {
        write_name(out, "attributes");
        write_object(out, symbol.attributes.iter().copied());
    }
}

fn write_colour(out: &mut Vec<u8>, rgb: u32) {
    out.extend_from_slice(b"\"#");
    for shift in [20, 16, 12, 8, 4, 0] {
        out.push(b"0123456789abcdef"[(rgb >> shift) as usize & 15]);
    }
    out.push(b'"');
}

/// Upper-case hexadecimal without leading zeros, as handles are written.
fn write_hex(out: &mut Vec<u8>, value: u64) {
    let digits = (64 - value.leading_zeros()).div_ceil(4).max(1);
    for digit in (0..digits).rev() {
        out.push(b"0123456789ABCDEF"[(value >> (4 * digit)) as usize & 15]);
    }
}

/// Ids of features: stable from run to run and unique within the collection.
///
/// The first entity with a handle or id that is drawn in the model itself has just that; everything else (content of
/// blocks, handles that occur again, entities without a name) has `#` and its ordinal after it. Names that hold
/// `#` or `/` always do, so that no name can look like another id.
#[derive(Default)]
struct Ids {
    /// Handles in the order of most drawings, which is ascending: told by looking at the last one.
    ascending: Vec<u64>,
    /// Those that came out of order.
    others: HashSet<u64, foldhash::fast::RandomState>,
    names: HashSet<u32>,
}

impl Ids {
    /// Whether a handle has not occurred before.
    fn is_first(&mut self, handle: u64) -> bool {
        if self.ascending.last().is_none_or(|last| *last < handle) {
            self.ascending.push(handle);
            return true;
        }
        self.ascending.binary_search(&handle).is_err() && self.others.insert(handle)
    }

    /// Writes an id and the quote that ends it.
    fn write(&mut self, out: &mut Vec<u8>, shape: &Shape<'_>, drawing: &Drawing) {
        let top = shape.depth == 0;
        let plain = match shape.identity {
            Identity::None => false,
            Identity::Handle(handle) => {
                write_hex(out, handle);
                top && self.is_first(handle)
            }
            Identity::Name(symbol) => {
                let name = drawing.string(symbol);
                out.pop();
                write_string(out, name);
                out.pop();
                top && !name.contains(['#', '/']) && !name.is_empty() && self.names.insert(symbol.0)
            }
        };
        if !plain {
            out.push(b'#');
            fixed::write(out, i64::try_from(shape.ordinal).unwrap_or(i64::MAX), 0);
        }
        out.push(b'"');
    }
}
