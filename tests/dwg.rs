//! The DWG reader: one real drawing that is also there as DXF, old versions, damage and limits.
//!
//! What each kind of entity becomes is tested beside the reader, with entities put into this drawing.

use std::path::Path;

use bytes::Bytes;
use plan2geo::drawing::SourceFormat;
use plan2geo::format::{Limits, Read, ReadError, ReadOptions, Readers};
use plan2geo::kernel::{ConvertOptions, Document, convert};

fn data(name: &str) -> Bytes {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/dwg").join(name);
    Bytes::from(std::fs::read(path).unwrap())
}

fn sample() -> Bytes {
    data("block_visibility.dwg")
}

fn read_with(bytes: &Bytes, options: &ReadOptions) -> Result<Read, ReadError> {
    Readers::default().read(SourceFormat::Dwg, "test", bytes, 1, options, &|| Ok(()))
}

// R120
#[test]
fn a_drawing_is_the_same_as_dwg_and_as_dxf() {
    let as_dwg = Document { name: "a.dwg", ..Document::default() };
    let as_dwg = convert(sample(), &as_dwg, ConvertOptions::default()).unwrap();
    let as_dxf = Document { name: "a.dxf.gz", ..Document::default() };
    let as_dxf = convert(data("block_visibility.dxf.gz"), &as_dxf, ConvertOptions::default()).unwrap();
    assert_eq!(as_dwg.topology_hash, as_dxf.topology_hash);
    assert_eq!((as_dwg.features, as_dwg.entities), (as_dxf.features, as_dxf.entities));
    assert!(as_dwg.features > 0);
}

#[test]
fn version_units_and_kinds_are_those_of_the_drawing() {
    let read = read_with(&sample(), &ReadOptions::default()).unwrap();
    let drawing = &read.drawing;
    assert_eq!((drawing.format, drawing.version.as_deref()), (SourceFormat::Dwg, Some("AC1032")));
    assert_eq!((drawing.units.metres_per_unit, drawing.units.from.as_str()), (0.0254, "$INSUNITS"));
    let census: Vec<_> = drawing.census.iter().map(|(kind, count)| (kind.as_str(), *count)).collect();
    assert_eq!(census, [("CIRCLE", 13), ("INSERT", 4), ("LINE", 26), ("LWPOLYLINE", 22)]);
    let again = read_with(&sample(), &ReadOptions::default()).unwrap();
    assert_eq!(format!("{drawing:?}"), format!("{:?}", again.drawing));
}

#[test]
fn versions_that_are_not_read_are_refused_by_name() {
    for (start, name) in [
        (&b"AC1009\0\0\0\0"[..], "DWG version AC1009 (R11/R12)"),
        (b"AC1006....", "DWG version AC1006 (R10)"),
        (b"AC2.10\0\0\0\0", "DWG version AC2.10 (2.10)"),
        (b"AC1.40\0\0\0\0", "DWG version AC1.40 (1.40)"),
        (b"AC1077....", "DWG version AC1077 (unknown, newer than 2018)"),
    ] {
        let error = read_with(&Bytes::from_static(start), &ReadOptions::default()).unwrap_err();
        assert_eq!(error.kind(), "unsupported");
        assert!(error.to_string().contains(name), "{error}");
        assert!(error.to_string().contains("save it as"), "{error}");
    }
    let error = read_with(&Bytes::from_static(b"PK\x03\x04zip"), &ReadOptions::default()).unwrap_err();
    assert_eq!(error.kind(), "malformed");
}

#[test]
fn damage_is_refused_or_told_and_never_ends_the_process() {
    let whole = sample();
    for at in (6..whole.len()).step_by(1_501) {
        let _ = read_with(&whole.slice(..at), &ReadOptions::default());
        let mut turned = whole.to_vec();
        turned[at] ^= 0x55;
        if let Ok(read) = read_with(&Bytes::from(turned), &ReadOptions::default()) {
            assert_eq!(read.drawing.format, SourceFormat::Dwg);
        }
    }
    let error = read_with(&whole.slice(..100), &ReadOptions::default()).unwrap_err();
    assert_eq!(error.kind(), "malformed");
}

#[test]
fn limits_end_the_reading_with_their_number() {
    let limits = Limits { entities: 10, ..Limits::default() };
    let error = read_with(&sample(), &ReadOptions { limits, ..Default::default() }).unwrap_err();
    assert_eq!(error.to_string(), "number of entities exceeds `limits.entities` = 10");
    let limits = Limits { decompressed_bytes: 10_000, ..Limits::default() };
    let error = read_with(&sample(), &ReadOptions { limits, ..Default::default() }).unwrap_err();
    assert!(error.to_string().contains("`limits.decompressed_bytes` = 10000"), "{error}");
}
