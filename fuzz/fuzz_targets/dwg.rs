//! Any bytes as a DWG: read or refused, within small budgets. Start with `cargo fuzz run dwg`; tests/data/dwg is a
//! good seed.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use plan2geo::drawing::SourceFormat;
use plan2geo::format::{Limits, ReadOptions, Readers};

fuzz_target!(|data: &[u8]| {
    let bytes = Bytes::copy_from_slice(data);
    let limits = Limits { decompressed_bytes: 16 << 20, entities: 50_000, vertices: 500_000, ..Limits::default() };
    let options = ReadOptions { limits, ..ReadOptions::default() };
    let _ = Readers::default().read(SourceFormat::Dwg, "fuzz", &bytes, 1, &options, &|| Ok(()));
});
