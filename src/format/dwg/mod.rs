//! The DWG reader: a database, decoded by `cadkit-dwg`, is told over as DXF, and the DXF reader makes the drawing.
//!
//! So there is one place that knows what an entity means, and the same drawing gives the same shapes in both
//! formats. The detour costs little: numbers are handed over in binary, and reading them is a small part of decoding
//! the database. `document`, `entity`, `objects`, `annotation`, `acis` and
//! `pictures` write; `raw` reads what the library keeps as bits, `proxy` the
//! pictures of entities whose program is not here.
//!
//! R14 to 2018 (AC1014 to AC1032); R13 as far as it goes. Older and unknown versions are refused by name.

mod acis;
mod annotation;
mod document;
mod entity;
mod fit;
mod objects;
mod pictures;
mod raw;
mod tags;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::Bytes;
use cadkit_core::{Error, LimitKind};
use cadkit_dwg::native::{DwgFile, read_native};

use super::{Checkpoint, Limits, Read, ReadError, ReadOptions, dxf};
use crate::drawing::{Drawing, SourceFormat};
use crate::issue::{Code, Issues, Place};
use document::{Beside, Writer};

static DAMAGED: Code = Code::warning(
    "DWG101",
    "the database is damaged in places",
    "run RECOVER and AUDIT on the file; what could be read was read",
);
static UNDECODED: Code = Code::error(
    "DWG102",
    "objects could not be decoded: what they show is missing",
    "save the drawing as DXF, or in another DWG version",
);
static MISPLACED: Code = Code::warning(
    "DWG103",
    "block lists entities that are missing or belong to another block",
    "run AUDIT on the file",
);

static PICTURES: Code = Code::note(
    "DWG104",
    "entities of another program are shown by the picture saved with them",
    "export the drawing to plain AutoCAD entities if something looks wrong",
);
static BOXES: Code = Code::warning(
    "DWG105",
    "entities of another program are known only by a box around them",
    "set PROXYGRAPHICS to 1 in the program that has them and save again, or export to plain AutoCAD entities",
);
static WALLS_AS_BOXES: Code = Code::error(
    "DWG106",
    "walls of another program that do not run along an axis are missing",
    "set PROXYGRAPHICS to 1 in the program that has them and save again, or export to plain AutoCAD entities",
);

/// Issue codes of this format. Those of what the drawing says (`DXF…`) apply as well.
pub static CODES: &[&Code] = &[&DAMAGED, &UNDECODED, &MISPLACED, &PICTURES, &BOXES, &WALLS_AS_BOXES];

/// Reads a document.
///
/// # Errors
/// [`ReadError::Unsupported`] names a version that is not read; see [`ReadError`] for the rest.
pub fn read(bytes: &Bytes, options: &ReadOptions, checkpoint: &Checkpoint<'_>) -> Result<Read, ReadError> {
    check_version(bytes)?;
    checkpoint()?;
    let file = decode(bytes, options)?;
    checkpoint()?;
    let mut issues = Issues::new();
    report_warnings(&file, &mut issues);
    let version = file.version.magic();
    let (document, beside) = guarded(|| Writer::new(&file, &options.limits, checkpoint).document())??;
    drop(file);

    let as_dxf = ReadOptions {
        limits: options.limits.clone(),
        encoding: None, // all strings are decoded
        metres_per_unit: options.metres_per_unit,
        strict: false,
        raster_only_as_empty: options.raster_only_as_empty,
        external: options.external.clone(),
    };
    let mut read = dxf::read(&Bytes::from(document), &as_dxf, checkpoint)?;
    read.drawing.format = SourceFormat::Dwg;
    read.drawing.version = Some(version.to_owned());
    report_beside(&beside, &mut issues);
    pictures::restore_kinds(&mut read.drawing, &beside.pictured);
    restore_unknown(&mut read.drawing);
    issues.merge(read.issues);
    read.issues = issues;
    Ok(read)
}

/// Refuses what the library does not read, saying what it is.
fn check_version(bytes: &Bytes) -> Result<(), ReadError> {
    let Some(magic) = bytes.get(..6) else {
        return Err(malformed("shorter than its version"));
    };
    if cadkit_dwg::sniff(bytes) {
        return Ok(());
    }
    let magic = String::from_utf8_lossy(magic).into_owned();
    let release = match magic.as_str() {
        "MC0.0\0" => "1.0",
        "AC1.2\0" => "1.2",
        "AC1.3\0" => "1.3",
        "AC1.40" => "1.40",
        "AC1.50" => "2.05",
        "AC2.10" => "2.10",
        "AC2.21" | "AC2.22" => "2.2",
        "AC1001" => "2.5",
        "AC1002" => "2.6",
        "AC1003" => "2.6",
        "AC1004" => "R9",
        "AC1006" => "R10",
        "AC1007" | "AC1009" => "R11/R12",
        "AC1010" | "AC1011" => "R13 beta",
        _ if magic.starts_with("AC10") => "unknown, newer than 2018",
        _ => return Err(malformed(format!("does not begin with a DWG version but with {magic:?}"))),
    };
    Err(ReadError::Unsupported {
        what: format!("DWG version {} ({release})", magic.trim_end_matches('\0')),
        remedy: "save it as DWG 2018 or older (R14 or newer), or as DXF".to_owned(),
    })
}

fn decode(bytes: &Bytes, options: &ReadOptions) -> Result<DwgFile, ReadError> {
    let mut reading = cadkit_core::ReadOptions::new().with_limits(library_limits(&options.limits));
    if let Some(encoding) = &options.encoding {
        reading = reading.with_fallback_codepage(encoding.clone());
    }
    guarded(|| read_native(bytes, &reading))?.map_err(|error| match error {
        Error::LimitExceeded { limit, message } => limit_error(limit, message, &options.limits),
        Error::Unsupported(what) => {
            ReadError::Unsupported { what: format!("DWG feature: {what}"), remedy: "save it as DXF".to_owned() }
        }
        error => malformed(error.to_string()),
    })
}

fn library_limits(limits: &Limits) -> cadkit_core::Limits {
    let narrow = |limit: u64| u32::try_from(limit).unwrap_or(u32::MAX);
    cadkit_core::Limits::new()
        .with_max_input_bytes(limits.document_bytes)
        .with_max_decompressed_bytes(limits.decompressed_bytes)
        // Tables, dictionaries and styles are objects as well.
        .with_max_objects(limits.entities.saturating_mul(2).saturating_add(100_000))
        .with_max_depth(limits.block_depth)
        .with_max_string_bytes(narrow(limits.string_bytes))
        .with_max_vertices(narrow(limits.vertices))
        .with_max_total_vertices(limits.vertices)
}

fn limit_error(limit: LimitKind, message: String, limits: &Limits) -> ReadError {
    let (key, limit) = match limit {
        LimitKind::InputBytes => ("document_bytes", limits.document_bytes),
        LimitKind::DecompressedBytes => ("decompressed_bytes", limits.decompressed_bytes),
        LimitKind::StringBytes => ("string_bytes", limits.string_bytes),
        LimitKind::Vertices | LimitKind::TotalVertices => ("vertices", limits.vertices),
        LimitKind::Depth => ("block_depth", u64::from(limits.block_depth)),
        _ => ("entities", limits.entities),
    };
    ReadError::Limit { what: message, key, limit }
}

fn report_warnings(file: &DwgFile, issues: &mut Issues) {
    for warning in &file.warnings {
        let at = warning.offset.map_or(Place::Document, |byte| Place::Byte { byte });
        let code = match warning.code.as_str() {
            "dwg.decode_error" | "dwg.object_error" => &UNDECODED,
            _ => &DAMAGED,
        };
        issues.report(code, at, warning.message.clone());
    }
}

/// Takes the mark off the names of kinds without content.
fn restore_unknown(drawing: &mut Drawing) {
    for counts in [&mut drawing.unsupported, &mut drawing.other_sheets] {
        let marked: Vec<String> = counts.keys().filter(|kind| kind.starts_with(entity::UNKNOWN)).cloned().collect();
        for kind in marked {
            if let (Some(count), Some(name)) = (counts.remove(&kind), kind.strip_prefix(entity::UNKNOWN)) {
                *counts.entry(name.to_owned()).or_default() += count;
            }
        }
    }
}

fn report_beside(beside: &Beside, issues: &mut Issues) {
    issues.add(&MISPLACED, beside.misplaced, Place::Document, "references");
    issues.add(&WALLS_AS_BOXES, beside.boxes_left_out, Place::Document, "walls");
    let mut kinds: BTreeMap<(&str, bool), u64> = BTreeMap::new();
    for entity in beside.pictured.values() {
        *kinds.entry((&entity.kind, entity.boxed)).or_default() += 1;
    }
    for ((kind, boxed), count) in kinds {
        issues.add(if boxed { &BOXES } else { &PICTURES }, count, Place::Document, format!("{count} {kind}"));
    }
}

/// Runs library code on input bytes; a panic in it is a malformed document, not the end of the thread.
fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, ReadError> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| malformed("its structure made the DWG library fail"))
}

fn malformed(reason: impl Into<String>) -> ReadError {
    ReadError::Malformed { format: "dwg", reason: reason.into() }
}
