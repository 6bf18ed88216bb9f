//! The tokenizer of DXF alone: any bytes, never a panic, always forward.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let (count, sum) = plan2geo::format::dxf::count_pairs(data);
    // Every pair of a text file takes at least two line ends, of a binary one at least two bytes.
    assert!(count <= data.len() as u64 / 2 + 1);
    assert!(!sum.is_nan());
});
