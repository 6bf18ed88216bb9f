//! The whole DXF reader and the expansion behind it, under small limits: any bytes, never a panic, a hang or a blow-up.

#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use plan2geo::drawing::expand::{ExpandOptions, expand};
use plan2geo::format::{Limits, ReadOptions, dxf};

fuzz_target!(|data: &[u8]| {
    let limits = Limits {
        entities: 100_000,
        vertices: 1_000_000,
        expanded_shapes: 100_000,
        expanded_vertices: 1_000_000,
        decompressed_bytes: 16 << 20,
        ..Limits::default()
    };
    let bytes = Bytes::copy_from_slice(data);
    let options = ReadOptions { limits: limits.clone(), ..ReadOptions::default() };
    let Ok(read) = dxf::read(&bytes, &options, &|| Ok(())) else { return };
    // The same bytes are the same drawing.
    let again = dxf::read(&bytes, &options, &|| Ok(())).expect("it was read before");
    assert_eq!(read.drawing.census, again.drawing.census);
    assert_eq!(read.issues, again.issues);
    let options = ExpandOptions { limits, ..ExpandOptions::default() };
    let _ = expand::<()>(&read.drawing, &options, &|| Ok(()), &mut |_| Ok(()));
});
