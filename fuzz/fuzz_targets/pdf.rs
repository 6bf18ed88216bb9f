//! Any bytes as a PDF: every page is read or refused, within small budgets. Start with `cargo fuzz run pdf`;
//! tests/data/pdf and any plan make good seeds.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use plan2geo::drawing::SourceFormat;
use plan2geo::format::pdf::count_pages;
use plan2geo::format::{Limits, ReadOptions, Readers};

fuzz_target!(|data: &[u8]| {
    let bytes = Bytes::copy_from_slice(data);
    let limits = Limits { decompressed_bytes: 8 << 20, entities: 50_000, vertices: 500_000, ..Limits::default() };
    let Ok(pages) = count_pages(&bytes, &limits) else { return };
    let options = ReadOptions { limits, raster_only_as_empty: true, ..ReadOptions::default() };
    let mut readers = Readers::default();
    for page in 1..=pages.min(3) {
        let _ = readers.read(SourceFormat::Pdf, "fuzz", &bytes, page, &options, &|| Ok(()));
    }
});
