//! How long a large batch takes to be gone on with, and what memory that takes.
//!
//! `cargo run --release -p plan2geo-actors --example resume_books [-- UNITS]`
//!
//! A run of UNITS units (a million if not said) is drained shortly before its end. Then a process of its own resumes it, as `plan2geo run`
//! would after a crash: it replays ledger and manifest, lists the source again, and does the little that is left.

#![allow(clippy::print_stdout, missing_docs)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use plan2geo_actors::gauge::peak_resident_bytes;
use plan2geo_actors::testkit::{NullSink, ScriptedKernel, ScriptedSource};
use plan2geo_actors::{Durability, Engine, EngineConfig, Existing, Limits};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [word, directory, units] = arguments.as_slice()
        && word == "resume"
    {
        return resume(Path::new(directory), units.parse()?);
    }
    let units = arguments.first().map_or(Ok(1_000_000), |units| units.parse())?;
    let place = tempfile::tempdir()?;
    let directory = place.path().join("run");
    let engine = Engine::new(
        config(&directory),
        ScriptedSource::units(units + 1_000_000),
        NullSink,
        ScriptedKernel::echo().factory(),
    );
    let handle = engine.start()?;
    while handle.progress().read().done() < units {
        std::thread::sleep(Duration::from_millis(1));
    }
    handle.stop().drain("the measurement");
    let before = handle.join()?;
    let size = |name: &str| std::fs::metadata(directory.join(name)).map_or(0.0, |metadata| metadata.len() as f64 / 1e6);
    println!(
        "{} units: manifest {:.0} MB, ledger {:.0} MB",
        before.enumerated,
        size("manifest.jsonl"),
        size("ledger.jsonl")
    );
    let arguments = ["resume".to_owned(), directory.display().to_string(), before.enumerated.to_string()];
    let ended = Command::new(std::env::current_exe()?).args(arguments).status()?;
    if ended.success() { Ok(()) } else { Err("the resume failed".into()) }
}

fn config(directory: &Path) -> EngineConfig {
    let mut config = EngineConfig::new(PathBuf::from(directory));
    config.limits = Limits { slots: 256, waiting: 512, ..Limits::default() };
    config.durability = Durability::Process;
    config.existing = Existing::Resume;
    config
}

fn resume(directory: &Path, recorded: u64) -> Outcome<()> {
    let begun = Instant::now();
    let source = ScriptedSource::units(recorded + 100);
    let summary = Engine::new(config(directory), source, NullSink, ScriptedKernel::echo().factory()).run()?;
    if (summary.recorded_before, summary.enumerated, summary.exit_code()) != (recorded, recorded + 100, 0) {
        return Err(format!("not what was left: {summary:?}").into());
    }
    let opened = summary.phases.iter().find(|phase| phase.name == "scan_started").map_or(0, |phase| phase.at_ms);
    println!(
        "resumed: books open after {:.2} s, all done and reconciled after {:.2} s, peak memory {:.1} MB",
        opened as f64 / 1e3,
        begun.elapsed().as_secs_f64(),
        peak_resident_bytes().unwrap_or(0) as f64 / 1e6
    );
    Ok(())
}
