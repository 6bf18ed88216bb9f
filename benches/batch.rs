//! How many drawings a second, and how much memory, for 40, 400 and 4,000 plans?
//!
//! `cargo bench --bench batch` (`-- 40 400` for other counts). The plans are generated into a temporary folder (half DXF, half
//! SVG, about eight rooms, furniture; the same for everybody), then the program itself runs over them as a user
//! would run it. Peak memory is the high-water mark of the process as the kernel counts it, read while it runs.
//! The promise: it does not grow with the number of plans, so its ratio to the smallest batch is printed.

#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use plan2geo::synth::{Defects, Format, Spec, generate};

fn main() {
    // Cargo passes `--bench`.
    let counts: Vec<u64> = std::env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    let counts = if counts.is_empty() { vec![40, 400, 4000] } else { counts };
    println!(
        "{:>6} {:>9} {:>8} {:>12} {:>9} {:>9} {:>7}",
        "plans", "MB in", "s", "plans/s", "MB/s", "peak MiB", "ratio"
    );
    let mut first = None;
    for count in counts {
        let folder = tempfile::tempdir().unwrap();
        let bytes = plans(&folder.path().join("plans"), count);
        let (seconds, peak_kib) = run(folder.path());
        let reference = *first.get_or_insert(peak_kib);
        println!(
            "{count:>6} {:>9.1} {seconds:>8.2} {:>12.1} {:>9.1} {:>9.1} {:>7.3}",
            bytes as f64 / 1e6,
            count as f64 / seconds,
            bytes as f64 / 1e6 / seconds,
            peak_kib as f64 / 1024.0,
            peak_kib as f64 / reference as f64
        );
    }
}

/// Writes `count` plans; gives their bytes.
fn plans(folder: &Path, count: u64) -> u64 {
    let mut bytes = 0;
    for seed in 0..count {
        let format = if seed % 2 == 0 { Format::Dxf } else { Format::Svg };
        let defects = Defects { furniture: true, ..Defects::default() };
        // Forty plans come again and again, so that every batch has the same mix of sizes.
        let spec = Spec { rooms: Some(8), format: Some(format), defects, ..Spec::of_seed(seed % 40) };
        let made = generate(&spec).unwrap();
        let building = folder.join(format!("B{:03}", seed / 20));
        std::fs::create_dir_all(&building).unwrap();
        let path = building.join(format!("L{:02}.{}", seed % 20, format.extension()));
        File::create(path).unwrap().write_all(&made.drawing).unwrap();
        bytes += made.drawing.len() as u64;
    }
    bytes
}

/// Runs the program over the plans; gives seconds and the peak of its resident memory in KiB.
fn run(folder: &Path) -> (f64, u64) {
    let config = folder.join("batch.toml");
    File::create(&config)
        .unwrap()
        .write_all(b"[source]\nlocation = \"plans\"\n[output]\nlocation = \"out\"\n")
        .unwrap();
    let begun = Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_plan2geo"))
        .arg("run")
        .arg(&config)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    let code = loop {
        // The mark only rises, so the last value read before the end is the peak but for the last moments.
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let mark = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        peak = peak.max(mark.and_then(|mark| mark.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0));
        if let Some(code) = child.try_wait().unwrap() {
            break code;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    assert!(code.success(), "the run ended with {code}");
    (begun.elapsed().as_secs_f64(), peak)
}
