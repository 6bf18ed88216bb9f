//! What the engine costs with nothing inside: units a second and microseconds a unit, beside tokio mpsc + rayon doing the same in the same run.
//!
//! `cargo bench -p plan2geo-actors --bench engine [-- UNITS]`

#![expect(clippy::print_stdout, reason = "a measurement prints its result")]
#![allow(missing_docs)]

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use plan2geo_actors::testkit::{NullSink, ScriptedKernel, ScriptedSource};
use plan2geo_actors::{Durability, Engine, EngineConfig, Existing, Limits, RunSummary, verify};
use sha2::{Digest, Sha256};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let units: u64 = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(100_000);
    let threads = Limits::default().threads;
    println!("{units} units of 8 bytes, null kernel, {threads} threads");
    println!("{:<42} {:>10} {:>9} {:>13}", "", "units/s", "µs/unit", "CPU µs/unit");
    for round in 1..=2 {
        measure(&format!("mpsc + rayon, no books ({round})"), units, || mpsc_and_rayon(units, threads))?;
        for (slots, durability, name) in [
            (16, Durability::Process, "engine, 16 slots, books without fsync"),
            (256, Durability::Process, "engine, 256 slots, books without fsync"),
            (256, Durability::Full, "engine, 256 slots, books with fsync"),
        ] {
            let place = tempfile::tempdir()?;
            let config = config(place.path(), slots, threads, durability);
            let summary = measure(&format!("{name} ({round})"), units, || run(config, units))?;
            println!(
                "    loop lag p99 {:.1} ms, peak RSS {:.0} MB",
                summary.loop_lag.p99_ms,
                summary.memory.peak as f64 / 1e6
            );
            if round == 2 {
                prove(place.path())?;
            }
        }
    }
    resume(units, threads)
}

/// Runs `work`, and prints what a unit took of time and of processors.
fn measure<T>(name: &str, units: u64, work: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    let (begun, cpu) = (Instant::now(), cpu_seconds());
    let answer = work()?;
    let seconds = begun.elapsed().as_secs_f64();
    let each = |seconds: f64| seconds * 1e6 / units as f64;
    println!("{name:<42} {:>10.0} {:>9.2} {:>13.2}", units as f64 / seconds, each(seconds), each(cpu_seconds() - cpu));
    Ok(answer)
}

/// Processor time of this process, where the system tells: on a busy machine it says more than the clock.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<_> = stat.rsplit(')').next().unwrap_or_default().split_ascii_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|ticks| ticks.parse::<f64>().ok()).unwrap_or_default();
    (ticks(11) + ticks(12)) / 100.0
}

fn config(place: &Path, slots: usize, threads: usize, durability: Durability) -> EngineConfig {
    let mut config = EngineConfig::new(place.join("run"));
    config.limits = Limits { slots, waiting: slots * 2, threads, ..Limits::default() };
    config.durability = durability;
    config
}

fn run(config: EngineConfig, units: u64) -> Outcome<RunSummary> {
    let summary =
        Engine::new(config, ScriptedSource::units(units), NullSink, ScriptedKernel::echo().factory()).run()?;
    assert_eq!((summary.extracted, summary.exit_code()), (units, 0));
    Ok(summary)
}

fn prove(place: &Path) -> Outcome<()> {
    let begun = Instant::now();
    let proof = verify(&place.join("run"))?;
    assert!(proof.is_complete());
    let megabytes = proof.bytes as f64 / 1e6;
    println!("    verified {megabytes:.0} MB at {:.0} MB/s", megabytes / begun.elapsed().as_secs_f64());
    Ok(())
}

/// A run that was drained just before its end, gone on with: replay of everything, and the little that is left.
fn resume(units: u64, threads: usize) -> Outcome<()> {
    let place = tempfile::tempdir()?;
    let mut config = config(place.path(), 256, threads, Durability::Process);
    let source = ScriptedSource::units(units + 1_000_000);
    let handle = Engine::new(config.clone(), source, NullSink, ScriptedKernel::echo().factory()).start()?;
    while handle.progress().read().done() < units {
        std::thread::sleep(Duration::from_millis(1));
    }
    handle.stop().drain("the measurement");
    let before = handle.join()?;
    config.existing = Existing::Resume;
    let begun = Instant::now();
    let summary = run(config, before.enumerated + 100)?;
    assert_eq!(summary.recorded_before, before.enumerated);
    println!(
        "resume after {} units: books open after {:.2} s, {:.2} s in all, peak RSS {:.0} MB",
        before.enumerated,
        summary.phases.iter().find(|phase| phase.name == "scan_started").map_or(0.0, |phase| phase.at_ms as f64 / 1e3),
        begun.elapsed().as_secs_f64(),
        summary.memory.peak as f64 / 1e6
    );
    Ok(())
}

/// The same hand-offs without actors and without books: a bounded channel into a pool, and the digest of each output.
fn mpsc_and_rayon(units: u64, threads: usize) -> Outcome<()> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let done = AtomicU64::new(0);
    runtime.block_on(async {
        let (send, mut receive) = tokio::sync::mpsc::channel::<u64>(512);
        let (answer, mut answers) = tokio::sync::mpsc::channel::<[u8; 32]>(512);
        let scanner = async move {
            for unit in 0..units {
                if send.send(unit).await.is_err() {
                    return;
                }
            }
        };
        let worker = async move {
            while let Some(unit) = receive.recv().await {
                let answer = answer.clone();
                let Ok(place) = answer.reserve_owned().await else {
                    return;
                };
                pool.spawn(move || {
                    let bytes = Bytes::copy_from_slice(&unit.to_be_bytes());
                    place.send(Sha256::digest(&bytes).into());
                });
            }
        };
        let writer = async {
            while answers.recv().await.is_some() {
                done.fetch_add(1, Ordering::Relaxed);
            }
        };
        tokio::join!(scanner, worker, writer);
    });
    assert_eq!(done.load(Ordering::Relaxed), units);
    Ok(())
}
