//! Any bytes as an SVG: read or refused, and expanded, within small budgets, the same twice. Start with
//! `cargo fuzz run svg`; tests/data/svg makes good seeds.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use plan2geo::drawing::expand::{ExpandOptions, expand};
use plan2geo::format::{Limits, ReadOptions, svg};

fuzz_target!(|data: &[u8]| {
    let limits = Limits {
        entities: 50_000,
        vertices: 500_000,
        expanded_shapes: 50_000,
        expanded_vertices: 500_000,
        decompressed_bytes: 8 << 20,
        ..Limits::default()
    };
    let bytes = Bytes::copy_from_slice(data);
    let options = ReadOptions { limits: limits.clone(), ..ReadOptions::default() };
    let Ok(read) = svg::read(&bytes, &options, &|| Ok(())) else { return };
    let again = svg::read(&bytes, &options, &|| Ok(())).expect("it was read before");
    assert_eq!(read.drawing.items, again.drawing.items);
    assert_eq!(read.issues, again.issues);
    let options = ExpandOptions { limits, ..ExpandOptions::default() };
    let _ = expand::<()>(&read.drawing, &options, &|| Ok(()), &mut |_| Ok(()));
});
