//! DXF → [`Drawing`], in layers: [`tag`] (bytes → pairs), [`section`] (pairs → records in their sections), one
//! module a family of entities, [`reader`] between them, [`object`] and [`external`] for what is known at the end.
//!
//! One tolerant pass: whatever is odd in the framing is repaired and counted, and the document comes out the same.
//! With [`ReadOptions::strict`] a document that needed such a repair (codes `DXF1xx`) is refused instead. Text,
//! binary and gzipped files are read from their bytes without a second copy of them (but the unpacked one).
//!
//! `docs/formats.md` lists what becomes of every kind of entity.

mod boundary;
mod codes;
mod colour;
mod curve;
mod dimension;
mod encoding;
mod entity;
mod external;
mod first_form;
mod frame;
mod hatch;
mod insert;
mod label;
mod leader;
mod number;
mod object;
mod ocs;
mod oem;
mod picture;
mod polyline;
mod reader;
mod section;
mod solid;
mod tag;
mod text;

use std::borrow::Cow;
use std::io::Read as _;

use bytes::Bytes;

use super::{Checkpoint, Read, ReadError, ReadOptions};
use crate::drawing::{Drawing, Units, scale};
use crate::issue::{Issues, Place, Tally};

pub use codes::CODES;
pub(in crate::format) use first_form::is_first_form;
pub(in crate::format) use tag::is_binary;

use reader::{Reader, shown};
use section::{Ending, Header};

/// Reads a document.
///
/// # Errors
/// See [`ReadError`]: what is no DXF, is of a version or encoding nobody can read, grows past a limit, or, with
/// [`ReadOptions::strict`], needed repair.
pub fn read(bytes: &Bytes, options: &ReadOptions, checkpoint: &Checkpoint<'_>) -> Result<Read, ReadError> {
    read_nested(bytes, options, checkpoint, &mut Vec::new())
}

/// Counts the pairs of a document without reading them: the bound that `benches/read` measures reading against.
#[doc(hidden)]
pub fn count_pairs(bytes: &[u8]) -> (u64, f64) {
    let mut tags = tag::Tags::new(bytes);
    let (mut count, mut sum) = (0, 0.0);
    while let Some(tag) = tags.next() {
        count += 1;
        match tag.code {
            10..=59 | 210..=239 => sum += tag.real().unwrap_or(0.0),
            60..=79 | 90..=99 => sum += tag.integer().unwrap_or(0) as f64,
            _ => {}
        }
    }
    (count, sum)
}

/// Reads a document inside others; `path` names the external references on the way to it. Who draws on a layout and leaves
/// the model empty gets the layout.
fn read_nested(
    bytes: &[u8],
    options: &ReadOptions,
    checkpoint: &Checkpoint<'_>,
    path: &mut Vec<String>,
) -> Result<Read, ReadError> {
    let read = read_space(bytes, options, checkpoint, path, false)?;
    let drawing = &read.drawing;
    let is_shown = |kind: &str| !matches!(kind, "VIEWPORT" | "TEXT" | "MTEXT" | "ATTDEF");
    let on_layout: u64 = drawing.other_sheets.iter().filter(|(kind, _)| is_shown(kind)).map(|(_, count)| *count).sum();
    let left_out: u64 = drawing.unsupported.values().sum();
    if !drawing.items.is_empty() || on_layout <= left_out || !path.is_empty() {
        return Ok(read);
    }
    let mut layout = read_space(bytes, options, checkpoint, path, true)?;
    if layout.drawing.items.is_empty() {
        return Ok(read);
    }
    let count = layout.drawing.items.len();
    layout.issues.report(&codes::LAYOUT_READ, Place::Document, format!("{count} entities"));
    Ok(layout)
}

/// Reads the model, or the active layout in its place.
fn read_space(
    bytes: &[u8],
    options: &ReadOptions,
    checkpoint: &Checkpoint<'_>,
    path: &mut Vec<String>,
    layout: bool,
) -> Result<Read, ReadError> {
    let data = narrow(unpack(bytes, options)?);
    check_kind(&data)?;
    let told = first_form::tell_over(&data);
    let data: &[u8] = told.as_deref().unwrap_or(&data);
    let mut reader = Reader::new(data, options, checkpoint);
    reader.layout = layout;
    if told.is_some() {
        reader.issues.fixed(&codes::FIRST_FORM, Place::Document, "");
    }
    let (header, ending) = reader.document()?;
    reader.finish_endless()?;
    reader.report_framing(ending);
    if ending.num_sections == 0 && reader.out.drawing().items.is_empty() {
        return Err(ReadError::Malformed {
            format: "DXF",
            reason: format!("no section found; the file begins with `{}`", shown(data)),
        });
    }
    reader.resolve_external(path)?;
    let Reader { mut out, mut issues, .. } = reader;
    if options.strict {
        refuse_repairs(&issues)?;
    }
    out.set_origin(header.version.clone(), None);
    let mut drawing = out.finish();
    note_undeclared_layers(&drawing, &mut issues);
    drawing.units = decide_units(&drawing, &header, options, &mut issues);
    Ok(Read::new(drawing, issues))
}

/// The bytes themselves, or what a gzipped file holds.
fn unpack<'a>(bytes: &'a [u8], options: &ReadOptions) -> Result<Cow<'a, [u8]>, ReadError> {
    if bytes.is_empty() {
        return Err(ReadError::Empty);
    }
    if !bytes.starts_with(&[0x1F, 0x8B]) {
        return Ok(Cow::Borrowed(bytes));
    }
    let limit = options.limits.decompressed_bytes;
    let mut unpacked = Vec::new();
    let result = flate2::read::MultiGzDecoder::new(bytes).take(limit.saturating_add(1)).read_to_end(&mut unpacked);
    if unpacked.len() as u64 > limit {
        return Err(ReadError::Limit { what: "unpacked size".to_owned(), key: "decompressed_bytes", limit });
    }
    match result {
        // What came before a damaged end is a truncated document, and read as one.
        Err(error) if unpacked.is_empty() => {
            Err(ReadError::Malformed { format: "DXF", reason: format!("gzip data is damaged: {error}") })
        }
        _ if unpacked.is_empty() => Err(ReadError::Empty),
        _ => Ok(Cow::Owned(unpacked)),
    }
}

/// Text in UTF-16, marked or not, as UTF-8.
fn narrow(data: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    let encoding = match *data {
        [0xFF, 0xFE, ..] => encoding_rs::UTF_16LE,
        [0xFE, 0xFF, ..] => encoding_rs::UTF_16BE,
        // A code begins with a digit or a blank.
        [b' ' | b'0'..=b'9', 0, _, 0, ..] => encoding_rs::UTF_16LE,
        [0, b' ' | b'0'..=b'9', 0, _, ..] => encoding_rs::UTF_16BE,
        _ => return data,
    };
    // The mark stays, as that of UTF-8, and says that something was odd.
    let text = encoding.decode_without_bom_handling(&data).0;
    let mark = if text.starts_with('\u{FEFF}') { "" } else { "\u{FEFF}" };
    Cow::Owned([mark, &text].concat().into_bytes())
}

/// Refuses what is another kind of file, with what a user can do about it.
fn check_kind(data: &[u8]) -> Result<(), ReadError> {
    let unsupported =
        |what: &str, remedy: &str| Err(ReadError::Unsupported { what: what.to_owned(), remedy: remedy.to_owned() });
    let is_dwg = data.starts_with(b"AC1") && data.get(3..6).is_some_and(|rest| rest.iter().all(u8::is_ascii_digit));
    if is_dwg && !data.get(..16).is_some_and(|head| head.contains(&b'\n')) {
        return unsupported("DWG file with the name of a DXF", "rename it to .dwg");
    }
    if data.iter().all(u8::is_ascii_whitespace) {
        return Err(ReadError::Empty);
    }
    Ok(())
}

/// Strict reading: the first repair of the framing is the reason for refusal.
fn refuse_repairs(issues: &Issues) -> Result<(), ReadError> {
    let is_repair = |id: &str, tally: &Tally| {
        id.starts_with("DXF1") && id != codes::AFTER_EOF.id && id != codes::UNUSUAL_FRAMING.id && tally.count > 0
    };
    match issues.iter().find(|(id, tally)| is_repair(id, tally)) {
        None => Ok(()),
        Some((id, tally)) => {
            let place = tally.samples.first().map_or(Place::Document, |sample| sample.at);
            let detail = tally.samples.first().map_or("", |sample| &sample.detail);
            Err(ReadError::Malformed { format: "DXF", reason: format!("{id} at {place}: {} ({detail})", tally.title) })
        }
    }
}

fn note_undeclared_layers(drawing: &Drawing, issues: &mut Issues) {
    // Files without a layer table declare nothing and lack nothing.
    if drawing.layers.iter().any(|layer| layer.declared) {
        for layer in drawing.layers.iter().filter(|layer| !layer.declared) {
            issues.fixed(&codes::LAYER_UNDECLARED, Place::Document, drawing.string(layer.name));
        }
    }
}

/// What the user says, else `$INSUNITS`, else a guess within the system that `$MEASUREMENT` names.
fn decide_units(drawing: &Drawing, header: &Header, options: &ReadOptions, issues: &mut Issues) -> Units {
    if let Some(metres_per_unit) = options.metres_per_unit {
        return Units { metres_per_unit, from: "config".to_owned(), confidence: None };
    }
    let bounds = scale::bounds(drawing);
    if bounds.is_some_and(scale::looks_like_degrees) {
        issues.report(&codes::DEGREES, Place::Document, "");
    }
    if let Some(metres_per_unit) = header.insertion_units.and_then(scale::metres_of_insertion_units) {
        let implausible = bounds.and_then(|bounds| scale::implausible_extent(bounds, metres_per_unit));
        if let Some(longest) = implausible {
            let detail = format!("the longest side would be {longest:.3} m");
            issues.report(&codes::UNITS_IMPLAUSIBLE, Place::Document, detail);
        }
        let confidence = implausible.map(|_| Units::DOUBTED);
        return Units { metres_per_unit, from: "$INSUNITS".to_owned(), confidence };
    }
    let metric = header.measurement.map(|measurement| measurement != 0);
    let mut units = scale::infer(drawing, metric);
    if let Some(metric) = metric {
        units.from = format!("$MEASUREMENT ({}), {}", if metric { "metric" } else { "imperial" }, units.from);
    }
    let confidence = units.confidence.unwrap_or(0.0);
    let detail = format!("1 unit = {} m, {}, confidence {confidence:.2}", units.metres_per_unit, units.from);
    issues.report(&codes::UNITS_ASSUMED, Place::Document, detail);
    units
}

impl Reader<'_, '_> {
    /// Reports how the document was framed and how it ended.
    fn report_framing(&mut self, ending: Ending) {
        let data = self.tags.data();
        if self.tags.num_skipped > 0 {
            let place = self.place(self.tags.first_skipped.unwrap_or(0) + 1);
            let line_end = self.tags.first_skipped.map_or(0, |start| {
                let rest = data.get(start..).unwrap_or(&[]);
                start + memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len())
            });
            let line = self.tags.first_skipped.and_then(|start| data.get(start..line_end)).unwrap_or(&[]);
            self.issues.fixed(&codes::LINES_SKIPPED, place, format!("`{}`", shown(line)));
            self.issues.add(&codes::LINES_SKIPPED, self.tags.num_skipped - 1, Place::Document, "");
        }
        if data.starts_with(b"\xEF\xBB\xBF") || self.tags.returns_end_lines() {
            self.issues.fixed(&codes::UNUSUAL_FRAMING, Place::Document, "");
        }
        if self.tags.damaged_mark {
            self.issues.fixed(&codes::BINARY_MARK, Place::Document, shown(data.get(..24).unwrap_or(data)));
        }
        if self.tags.truncated {
            let place = self.place(data.len());
            self.issues.report(&codes::TRUNCATED, place, "");
        } else if !ending.found_end {
            let place = self.place(data.len());
            self.issues.fixed(&codes::NO_EOF, place, "");
        } else {
            let rest = data.get(self.tags.position()..).unwrap_or(&[]);
            let num_left = rest.iter().filter(|byte| !byte.is_ascii_whitespace() && **byte != 0x1A).count();
            if num_left > 0 {
                let place = self.place(self.tags.position());
                self.issues.report(&codes::AFTER_EOF, place, format!("{num_left} bytes"));
            }
        }
    }
}
