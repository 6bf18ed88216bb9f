//! Objects that the library keeps as bits: where their own data begins, and the few kinds needed here.
//!
//! Layouts follow the Open Design Specification for .dwg files 5.4.1, sections 20.1, 20.4.1 and those named below.
//! Everything is read under the library's bounds; whatever does not fit ends in `None`.

use cadkit_dwg::DwgVersion;
use cadkit_dwg::native::{BitReader, DwgObject};

/// More than this of anything in one object is not believed.
const MOST: usize = 1 << 16;

/// A reader at the first bit of an object's own data.
pub(super) fn data(version: DwgVersion, object: &DwgObject) -> Option<BitReader<'_>> {
    let mut bits = at_graphics(version, object)?;
    if object.is_entity {
        skip_graphics(version, &mut bits)?;
    }
    if version.r13_14() {
        bits.rl().ok()?; // size of the data in bits
    }
    if object.is_entity {
        skip_entity_common(version, &mut bits)?;
    } else {
        skip_reactors(version, &mut bits)?;
    }
    let end = object.string_stream.map_or(object.handle_stream_bit, |(start, _)| start);
    bits.set_end_bit(end);
    Some(bits)
}

/// Behind the type, the handle and the extended data: where the flag for graphics stands.
fn at_graphics(version: DwgVersion, object: &DwgObject) -> Option<BitReader<'_>> {
    let mut bits = BitReader::new(&object.raw);
    bits.ot(version.r2010_plus()).ok()?;
    if version.r2000_plus() && !version.r2010_plus() {
        bits.rl().ok()?; // size of the data in bits
    }
    bits.handle().ok()?;
    loop {
        let size = bits.bs().ok()?;
        if size == 0 {
            return Some(bits);
        }
        bits.handle().ok()?;
        bits.skip_bits(u64::try_from(size).ok()? * 8).ok()?;
    }
}

fn skip_graphics(version: DwgVersion, bits: &mut BitReader<'_>) -> Option<()> {
    let size = graphics_size(version, bits)?;
    bits.skip_bits(size.checked_mul(8)?).ok()
}

/// Bytes of graphics that follow; 0 if there are none.
fn graphics_size(version: DwgVersion, bits: &mut BitReader<'_>) -> Option<u64> {
    if !bits.b().ok()? {
        return Some(0);
    }
    if version.r2010_plus() { bits.bll().ok() } else { bits.rl().ok().map(u64::from) }
}

/// The graphics by which a program that does not know an entity can still show it.
pub(super) fn graphics(version: DwgVersion, object: &DwgObject) -> Option<Vec<u8>> {
    let mut bits = at_graphics(version, object)?;
    let size = usize::try_from(graphics_size(version, &mut bits)?).ok()?;
    if size == 0 || size as u64 > bits.remaining_bits() / 8 {
        return None;
    }
    bits.bytes(size).ok()
}

fn skip_reactors(version: DwgVersion, bits: &mut BitReader<'_>) -> Option<()> {
    bits.bl().ok()?; // number of reactors
    if version.r2004_plus() {
        bits.b().ok()?; // no extension dictionary
    }
    if version.r2013_plus() {
        bits.b().ok()?; // has data in the data store
    }
    Some(())
}

fn skip_entity_common(version: DwgVersion, bits: &mut BitReader<'_>) -> Option<()> {
    bits.bb().ok()?; // entity mode
    skip_reactors(version, bits)?;
    if version.r13_14() {
        bits.b().ok()?; // linetype by layer
    }
    if !version.r2004_plus() {
        bits.b().ok()?; // no links
    }
    let colour = bits.bs().ok()? as u16;
    if version.r2004_plus() {
        if colour & 0x4000 == 0 && colour & 0x8000 != 0 {
            bits.bl().ok()?;
        }
        if colour & 0x2000 != 0 {
            bits.bl().ok()?; // transparency
        }
    }
    bits.bd().ok()?; // linetype scale
    if version.r2000_plus() {
        bits.bb().ok()?; // linetype
        bits.bb().ok()?; // plot style
        if version.r2007_plus() {
            bits.bb().ok()?; // material
            bits.rc().ok()?; // shadows
        }
    }
    if version.r2010_plus() {
        bits.skip_bits(3).ok()?; // visual styles
    }
    bits.bs().ok()?; // invisible
    if version.r2000_plus() {
        bits.rc().ok()?; // lineweight
    }
    Some(())
}

/// An MLINE (20.4.50) with all its vertices carry.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct MLine {
    pub(super) scale: f64,
    pub(super) justification: u8,
    pub(super) base: [f64; 3],
    pub(super) extrusion: [f64; 3],
    pub(super) flags: i16,
    pub(super) num_lines: u8,
    pub(super) vertices: Vec<MLineVertex>,
}

/// A vertex of an MLINE.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct MLineVertex {
    pub(super) at: [f64; 3],
    pub(super) direction: [f64; 3],
    pub(super) miter: [f64; 3],
    /// Parameters of each element of the style.
    pub(super) elements: Vec<Vec<f64>>,
}

pub(super) fn mline(version: DwgVersion, object: &DwgObject) -> Option<MLine> {
    let mut bits = data(version, object)?;
    let mut mline = MLine {
        scale: bits.bd().ok()?,
        justification: bits.rc().ok()?,
        base: bits.bd3().ok()?,
        extrusion: bits.bd3().ok()?,
        flags: bits.bs().ok()?,
        num_lines: bits.rc().ok()?,
        vertices: Vec::new(),
    };
    let num_vertices = bits.bs().ok()?;
    for _ in 0..num_vertices {
        let (at, direction, miter) = (bits.bd3().ok()?, bits.bd3().ok()?, bits.bd3().ok()?);
        let mut elements = Vec::new();
        for _ in 0..mline.num_lines {
            elements.push(reals(&mut bits)?);
            reals(&mut bits)?; // fill
        }
        mline.vertices.push(MLineVertex { at, direction, miter, elements });
    }
    Some(mline)
}

fn reals(bits: &mut BitReader<'_>) -> Option<Vec<f64>> {
    let count = usize::try_from(bits.bs().ok()?).ok()?;
    (0..count).map(|_| bits.bd().ok()).collect()
}

/// A curve as SPLINE (20.4.40) and HELIX begin.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Spline {
    pub(super) degree: i32,
    pub(super) closed: bool,
    pub(super) knots: Vec<f64>,
    pub(super) control_points: Vec<[f64; 3]>,
    pub(super) weights: Vec<f64>,
    pub(super) fit_points: Vec<[f64; 3]>,
}

/// The curve of a HELIX.
pub(super) fn helix(version: DwgVersion, object: &DwgObject) -> Option<Spline> {
    let mut bits = data(version, object)?;
    let mut by_fit_points = bits.bl().ok()? == 2;
    let mut spline = Spline::default();
    if version.r2013_plus() {
        let flags = bits.bl().ok()?;
        let knot_parameter = bits.bl().ok()?;
        if flags & 1 != 0 {
            by_fit_points = true;
        }
        if knot_parameter == 15 {
            by_fit_points = false;
        }
    }
    spline.degree = bits.bl().ok()?;
    let mut weighted = false;
    let (mut num_knots, mut num_control) = (0, 0);
    let num_fit;
    if by_fit_points {
        bits.bd().ok()?; // tolerance
        bits.bd3().ok()?; // tangents
        bits.bd3().ok()?;
        num_fit = count(bits.bl().ok()?)?;
    } else {
        bits.b().ok()?; // rational
        spline.closed = bits.b().ok()?;
        bits.b().ok()?; // periodic
        bits.bd().ok()?; // tolerances
        bits.bd().ok()?;
        num_knots = count(bits.bl().ok()?)?;
        num_control = count(bits.bl().ok()?)?;
        weighted = bits.b().ok()?;
        num_fit = 0;
    }
    for _ in 0..num_knots {
        spline.knots.push(bits.bd().ok()?);
    }
    for _ in 0..num_control {
        spline.control_points.push(bits.bd3().ok()?);
        if weighted {
            spline.weights.push(bits.bd().ok()?);
        }
    }
    for _ in 0..num_fit {
        spline.fit_points.push(bits.bd3().ok()?);
    }
    Some(spline)
}

fn count(count: i32) -> Option<usize> {
    usize::try_from(count).ok().filter(|count| *count <= MOST)
}

/// A reader at the first handle of an entity that is its kind's own, behind those every entity has (20.4.2).
pub(super) fn own_handles(version: DwgVersion, object: &DwgObject) -> Option<BitReader<'_>> {
    let common = object.common.entity.as_ref()?;
    let mut bits = BitReader::new(&object.raw);
    bits.seek_bit(object.handle_stream_bit).ok()?;
    let mut skip = |times: usize| (0..times).try_for_each(|_| bits.handle().ok().map(|_| ()));
    skip(usize::from(common.entity_mode == 0) + object.common.reactors.len())?;
    let has_dictionary = !version.r2004_plus() || object.common.xdictionary.is_some();
    skip(usize::from(has_dictionary))?;
    if version.r13_14() {
        skip(1)?; // layer
        skip(usize::from(common.linetype_flags == 3))?;
    }
    if !version.r2004_plus() && !common.no_links {
        skip(2)?;
    }
    skip(usize::from(version.r2004_plus() && common.color.has_book_reference))?;
    if version.r2000_plus() {
        skip(1)?; // layer
        for flags in [common.linetype_flags, common.material_flags, common.plotstyle_flags] {
            skip(usize::from(flags == 3))?;
        }
    }
    skip(common.visual_styles.iter().flatten().count())?;
    Some(bits)
}

/// All handles an object refers to, resolved; as far as they can be read.
pub(super) fn handles(object: &DwgObject) -> Vec<u64> {
    let mut handles = Vec::new();
    let mut bits = BitReader::new(&object.raw);
    if bits.seek_bit(object.handle_stream_bit).is_err() {
        return handles;
    }
    while bits.remaining_bits() >= 8 && handles.len() < MOST {
        let Ok(handle) = bits.handle_abs(object.handle) else { break };
        handles.push(handle);
    }
    handles
}

/// A SPATIAL_FILTER: the clip of a block reference.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SpatialFilter {
    pub(super) points: Vec<[f64; 2]>,
    pub(super) extrusion: [f64; 3],
    pub(super) origin: [f64; 3],
    pub(super) shown: bool,
    pub(super) front: Option<f64>,
    pub(super) back: Option<f64>,
    /// Maps the block reference's surroundings into the block: three rows of four.
    pub(super) inverse_block: [f64; 12],
    /// Maps into the coordinates of the clip.
    pub(super) clip: [f64; 12],
}

pub(super) fn spatial_filter(version: DwgVersion, object: &DwgObject) -> Option<SpatialFilter> {
    let mut bits = data(version, object)?;
    let count = usize::try_from(bits.bs().ok()?).ok().filter(|count| *count <= MOST)?;
    let points = (0..count).map(|_| bits.rd2().ok()).collect::<Option<Vec<_>>>()?;
    let (extrusion, origin) = (bits.bd3().ok()?, bits.bd3().ok()?);
    let shown = bits.bs().ok()? != 0;
    let mut plane = || Some(if bits.bs().ok()? != 0 { Some(bits.bd().ok()?) } else { None });
    let (front, back) = (plane()?, plane()?);
    Some(SpatialFilter {
        points,
        extrusion,
        origin,
        shown,
        front,
        back,
        inverse_block: twelve(&mut bits)?,
        clip: twelve(&mut bits)?,
    })
}

fn twelve(bits: &mut BitReader<'_>) -> Option<[f64; 12]> {
    let mut values = [0.0; 12];
    for value in &mut values {
        *value = bits.bd().ok()?;
    }
    Some(values)
}

/// Where a drawing lies on Earth: GEODATA of the versions 2010 and 2013.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct GeoData {
    pub(super) design: [f64; 3],
    pub(super) reference: [f64; 3],
    pub(super) scale: f64,
    pub(super) north: [f64; 2],
    /// Definition of the coordinate system.
    pub(super) system: String,
}

pub(super) fn geodata(version: DwgVersion, object: &DwgObject) -> Option<GeoData> {
    const LONGEST: u32 = 1 << 20;
    let mut bits = data(version, object)?;
    if !(2..=3).contains(&bits.bl().ok()?) {
        return None; // 2009 has the fields in another order
    }
    bits.bs().ok()?; // kind of coordinates
    let (design, reference) = (bits.bd3().ok()?, bits.bd3().ok()?);
    let scale = bits.bd().ok()?;
    bits.bl().ok()?; // horizontal unit
    bits.bd().ok()?;
    bits.bl().ok()?; // vertical unit
    bits.bd3().ok()?; // up
    let north = bits.rd2().ok()?;
    let (start, end) = object.string_stream?;
    let system = BitReader::new(&object.raw).range(start, end).tu(LONGEST).ok()?;
    Some(GeoData { design, reference, scale, north, system })
}
