//! How fast are DWG drawings read, beside what cadkit 0.5 alone needs to make its own document, in the same run?
//!
//! `cargo bench --bench dwg` takes the sample of the tests; `PLAN2GEO_DWG_FOLDER=… cargo bench --bench dwg` the files
//! of a folder. CPU time of this thread, best of five.

#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

mod clock;

use std::path::PathBuf;

use bytes::Bytes;
use clock::best_of;
use plan2geo::drawing::SourceFormat;
use plan2geo::format::{ReadOptions, Readers};

fn main() {
    let sample = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/dwg");
    let folder = std::env::var("PLAN2GEO_DWG_FOLDER").map_or(sample, PathBuf::from);
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let drawings = paths.iter().filter(|path| path.extension().is_some_and(|extension| extension == "dwg"));
    let files: Vec<Bytes> = drawings.map(|path| std::fs::read(path).unwrap().into()).collect();
    let bytes = files.iter().map(Bytes::len).sum::<usize>();
    // A small sample is read again and again: the clock of a thread moves in steps.
    let rounds = (20_000_000 / bytes.max(1)).max(1);
    let megabytes = (rounds * bytes) as f64 / 1e6;

    let ours = best_of(5, || {
        for bytes in files.iter().cycle().take(rounds * files.len()) {
            let read = Readers::default().read(SourceFormat::Dwg, "", bytes, 1, &ReadOptions::default(), &|| Ok(()));
            drop(std::hint::black_box(read));
        }
    });
    let options = cadkit_core::ReadOptions::new();
    let theirs = best_of(5, || {
        for bytes in files.iter().cycle().take(rounds * files.len()) {
            drop(std::hint::black_box(cadkit_dwg::read(bytes, &options)));
        }
    });
    println!("{} files, {megabytes:.1} MB, CPU seconds of the best of five runs", files.len());
    for (name, seconds) in [("plan2geo read", ours), ("cadkit read", theirs)] {
        println!(
            "{name:<16} {seconds:>8.4} s {:>7.1} MB/s  {:>5.2} of cadkit's time",
            megabytes / seconds,
            seconds / theirs
        );
    }
}
