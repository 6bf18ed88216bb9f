//! MULTILEADER, MESH and ACAD_TABLE, which the library leaves as bits.
//!
//! The first two are decoded (Open Design Specification 5.4.1, "MLeaderAnnotContext", and the order of the DXF
//! groups of MESH). A table's place is not, but its block is known and so is its picture: where the lines of both have the
//! same extents, the block moved onto the picture is the table.

use cadkit_dwg::DwgVersion;
use cadkit_dwg::native::{BitReader, DwgObject, ObjectData};

use super::document::Writer;
use super::raw;
use crate::format::proxy::{self, Figure};

/// More than this of anything in one object is not believed.
const MOST: usize = 1 << 16;

/// A leader of a MULTILEADER.
#[derive(Debug, Clone, PartialEq, Default)]
struct Leader {
    has_last: bool,
    has_dogleg: bool,
    last: [f64; 3],
    direction: [f64; 3],
    landing: f64,
    lines: Vec<Vec<[f64; 3]>>,
}

/// What a MULTILEADER shows at its end.
#[derive(Debug, Clone, PartialEq)]
enum Content {
    Nothing,
    Text { value: String, at: [f64; 3], direction: [f64; 3], rotation: f64, alignment: i16 },
    Block { handle: u64, at: [f64; 3], scale: [f64; 3], rotation: f64 },
}

#[derive(Debug, Clone, PartialEq)]
struct Multileader {
    leaders: Vec<Leader>,
    text_height: f64,
    content: Content,
}

/// The streams of an object: numbers, strings, handles.
struct Streams<'o> {
    version: DwgVersion,
    object: &'o DwgObject,
    data: BitReader<'o>,
    strings: Option<BitReader<'o>>,
    handles: BitReader<'o>,
}

impl<'o> Streams<'o> {
    fn new(version: DwgVersion, object: &'o DwgObject) -> Option<Self> {
        let all = BitReader::new(&object.raw);
        let handles = raw::own_handles(version, object)?;
        let strings = object.string_stream.map(|(start, end)| all.range(start, end));
        Some(Self { version, object, data: raw::data(version, object)?, strings, handles })
    }

    fn count(&mut self) -> Option<usize> {
        usize::try_from(self.data.bl().ok()?).ok().filter(|count| *count <= MOST)
    }

    fn string(&mut self) -> Option<String> {
        const LONGEST: u32 = 1 << 20;
        match &mut self.strings {
            Some(strings) => strings.tu(LONGEST).ok(),
            None if self.version.r2007_plus() => Some(String::new()),
            None => {
                let bytes = self.data.t_bytes(LONGEST).ok()?;
                Some(bytes.iter().map(|byte| char::from(*byte)).collect())
            }
        }
    }

    fn handle(&mut self) -> Option<u64> {
        self.handles.handle_abs(self.object.handle).ok()
    }

    /// A colour (2.11), passed over.
    fn colour(&mut self) -> Option<()> {
        self.data.bs().ok()?;
        if self.version.r2004_plus() {
            self.data.bl().ok()?;
            let names = self.data.rc().ok()?;
            for flag in [1, 2] {
                if names & flag != 0 {
                    self.string()?;
                }
            }
        }
        Some(())
    }
}

fn multileader(version: DwgVersion, object: &DwgObject) -> Option<Multileader> {
    let mut s = Streams::new(version, object)?;
    if version.r2010_plus() {
        s.data.bs().ok()?; // version of the class
    }
    let mut leaders = Vec::new();
    for _ in 0..s.count()? {
        leaders.push(leader(&mut s)?);
    }
    s.data.bd().ok()?; // scale
    s.data.bd3().ok()?; // base point of the content
    let text_height = s.data.bd().ok()?;
    s.data.bd().ok()?; // arrow size
    s.data.bd().ok()?; // landing gap
    for _ in 0..4 {
        s.data.bs().ok()?; // attachments and alignment
    }
    let content = if s.data.b().ok()? { text(&mut s)? } else { block(&mut s)? };
    Some(Multileader { leaders, text_height, content })
}

fn leader(s: &mut Streams<'_>) -> Option<Leader> {
    let mut leader = Leader {
        has_last: s.data.b().ok()?,
        has_dogleg: s.data.b().ok()?,
        last: s.data.bd3().ok()?,
        direction: s.data.bd3().ok()?,
        ..Leader::default()
    };
    for _ in 0..s.count()? {
        s.data.bd3().ok()?; // breaks of the landing
        s.data.bd3().ok()?;
    }
    s.data.bl().ok()?; // index
    leader.landing = s.data.bd().ok()?;
    for _ in 0..s.count()? {
        let count = s.count()?;
        leader.lines.push((0..count).map(|_| s.data.bd3().ok()).collect::<Option<_>>()?);
        for _ in 0..s.count()? {
            s.data.bl().ok()?; // breaks of a segment
            for _ in 0..s.count()? {
                s.data.bd3().ok()?;
                s.data.bd3().ok()?;
            }
        }
        s.data.bl().ok()?; // index
        if s.version.r2010_plus() {
            s.data.bs().ok()?; // kind
            s.colour()?;
            s.handle()?; // line type
            s.data.bl().ok()?; // lineweight
            s.data.bd().ok()?; // arrow size
            s.handle()?; // arrow
            s.data.bl().ok()?; // overrides
        }
    }
    if s.version.r2010_plus() {
        s.data.bs().ok()?; // direction of attachment
    }
    Some(leader)
}

fn text(s: &mut Streams<'_>) -> Option<Content> {
    let value = s.string()?;
    s.data.bd3().ok()?; // normal
    s.handle()?; // style
    let (at, direction, rotation) = (s.data.bd3().ok()?, s.data.bd3().ok()?, s.data.bd().ok()?);
    for _ in 0..3 {
        s.data.bd().ok()?; // width, height, spacing of lines
    }
    s.data.bs().ok()?; // style of the spacing
    s.colour()?;
    let alignment = s.data.bs().ok()?;
    Some(Content::Text { value, at, direction, rotation, alignment })
}

fn block(s: &mut Streams<'_>) -> Option<Content> {
    if !s.data.b().ok()? {
        return Some(Content::Nothing);
    }
    let handle = s.handle()?;
    s.data.bd3().ok()?; // normal
    Some(Content::Block { handle, at: s.data.bd3().ok()?, scale: s.data.bd3().ok()?, rotation: s.data.bd().ok()? })
}

/// Vertices of a MESH and its face list: a count and as many indices, face after face.
fn mesh(version: DwgVersion, object: &DwgObject) -> Option<(Vec<[f64; 3]>, Vec<i32>)> {
    let mut data = raw::data(version, object)?;
    data.bs().ok()?; // version
    data.b().ok()?; // blend creases
    data.bl().ok()?; // subdivision level
    let count = |value: i32| usize::try_from(value).ok().filter(|count| *count <= 16 * MOST);
    let num_vertices = count(data.bl().ok()?)?;
    let vertices = (0..num_vertices).map(|_| data.bd3().ok()).collect::<Option<Vec<_>>>()?;
    let num_entries = count(data.bl().ok()?)?;
    let faces = (0..num_entries).map(|_| data.bl().ok()).collect::<Option<Vec<_>>>()?;
    let fits = vertices.iter().flatten().all(|value| value.is_finite()) && !faces.is_empty();
    fits.then_some((vertices, faces))
}

impl Writer<'_> {
    /// Writes a MULTILEADER; `false` if its bits make no sense.
    pub(super) fn multileader(&mut self, object: &DwgObject) -> bool {
        let Some(multileader) = multileader(self.file.version, object) else { return false };
        self.begin("MULTILEADER", object);
        self.tags.text(300, "CONTEXT_DATA{");
        self.tags.real(41, multileader.text_height);
        match &multileader.content {
            Content::Nothing => {}
            Content::Text { value, at, direction, rotation, alignment } => {
                self.tags.text(304, value);
                self.tags.point3(12, *at);
                self.tags.point3(13, *direction);
                self.tags.real(42, *rotation);
                self.tags.integer(171, i64::from(*alignment));
            }
            Content::Block { handle, at, scale, rotation } => {
                self.tags.handle(341, *handle);
                self.tags.point3(15, *at);
                self.tags.point3(16, *scale);
                self.tags.real(46, *rotation);
            }
        }
        for leader in &multileader.leaders {
            self.tags.text(302, "LEADER{");
            self.tags.integer(290, i64::from(leader.has_last));
            self.tags.integer(291, i64::from(leader.has_dogleg));
            self.tags.point3(10, leader.last);
            self.tags.point3(11, leader.direction);
            self.tags.real(40, leader.landing);
            for line in &leader.lines {
                self.tags.text(304, "LEADER_LINE{");
                for point in line {
                    self.tags.point3(10, *point);
                }
                self.tags.text(305, "}");
            }
            self.tags.text(303, "}");
        }
        self.tags.text(301, "}");
        true
    }

    /// Writes a MESH; `false` if its bits make no sense.
    pub(super) fn mesh(&mut self, object: &DwgObject) -> bool {
        let Some((vertices, faces)) = mesh(self.file.version, object) else { return false };
        self.begin("MESH", object);
        self.tags.count(92, vertices.len());
        for vertex in &vertices {
            self.tags.point3(10, *vertex);
        }
        self.tags.count(93, faces.len());
        for entry in &faces {
            self.tags.integer(90, i64::from(*entry));
        }
        self.tags.integer(94, 0);
        true
    }

    /// Writes an ACAD_TABLE by its block; `false` if block and picture do not agree.
    pub(super) fn table_by_block(&mut self, object: &DwgObject) -> bool {
        let Some((name, at)) = self.placed_table(object) else { return false };
        self.begin("ACAD_TABLE", object);
        self.tags.text(2, &name);
        self.tags.point3(10, at);
        true
    }

    fn placed_table(&self, object: &DwgObject) -> Option<(String, [f64; 3])> {
        let graphics = raw::graphics(self.file.version, object)?;
        let picture = proxy::picture(&graphics);
        let points = picture.figures.iter().filter_map(|figure| match figure {
            Figure::Polyline { points, filled: false, .. } => Some(points.as_slice()),
            _ => None,
        });
        let shown = extents(points.flatten().copied())?;
        let is_table = |handle: &u64| self.block_name(Some(*handle)).is_some_and(|name| name.starts_with("*T"));
        let handle = raw::handles(object).into_iter().find(is_table)?;
        let ObjectData::BlockHeader(header) = &self.object(handle)?.data else { return None };
        let lines = header.entities.iter().filter_map(|entity| match &self.object(*entity)?.data {
            ObjectData::Line(line) => Some([line.start, line.end]),
            _ => None,
        });
        let drawn = extents(lines.flatten())?;
        let size = (shown[2] - shown[0]).hypot(shown[3] - shown[1]);
        let same = |a: usize, b: usize| ((shown[b] - shown[a]) - (drawn[b] - drawn[a])).abs() <= 1e-9 * size;
        let agrees = same(0, 2) && same(1, 3);
        let name = self.block_name(Some(handle))?.to_owned();
        agrees.then_some((name, [shown[0] - drawn[0], shown[1] - drawn[1], 0.0]))
    }
}

/// Least and greatest x and y.
fn extents(points: impl Iterator<Item = [f64; 3]>) -> Option<[f64; 4]> {
    points.fold(None, |extents: Option<[f64; 4]>, [x, y, _]| {
        let [x0, y0, x1, y1] = extents.unwrap_or([x, y, x, y]);
        Some([x0.min(x), y0.min(y), x1.max(x), y1.max(y)])
    })
}
