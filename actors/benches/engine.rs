//! What the engine costs with nothing inside: units a second and microseconds a unit, beside tokio mpsc + rayon doing the same in the same run.
//!
//! `cargo bench -p plan2geo-actors --bench engine [-- UNITS]`

#![expect(clippy::print_stdout, reason = "a measurement prints its result")]
#![allow(missing_docs)]

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use plan2geo_actors::testkit::{NullSink, ScriptedKernel, ScriptedSource};
use plan2geo_actors::{Durability, Engine, EngineConfig, Limits, verify};
use sha2::{Digest, Sha256};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let units: u64 = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(100_000);
    let threads = Limits::default().threads;
    println!("{units} units of 8 bytes, null kernel, {threads} threads");
    println!("{:<44} {:>10} {:>9}", "", "units/s", "µs/unit");
    for round in 1..=2 {
        report(&format!("mpsc + rayon, no books ({round})"), units, mpsc_and_rayon(units, threads)?);
        for (slots, durability, name) in [
            (16, Durability::Process, "engine, 16 slots, books without fsync"),
            (256, Durability::Process, "engine, 256 slots, books without fsync"),
            (256, Durability::Full, "engine, 256 slots, books with fsync"),
        ] {
            report(&format!("{name} ({round})"), units, engine(units, slots, threads, durability)?);
        }
    }
    Ok(())
}

fn report(name: &str, units: u64, took: Duration) {
    let seconds = took.as_secs_f64();
    println!("{name:<44} {:>10.0} {:>9.2}", units as f64 / seconds, seconds * 1e6 / units as f64);
}

fn engine(units: u64, slots: usize, threads: usize, durability: Durability) -> Outcome<Duration> {
    let place = tempfile::tempdir()?;
    let mut config = EngineConfig::new(place.path().join("run"));
    config.limits = Limits { slots, waiting: slots * 2, threads, ..Limits::default() };
    config.durability = durability;
    let books = config.directory.clone();
    let source = ScriptedSource::units(units);
    let begun = Instant::now();
    let summary = Engine::new(config, source, NullSink, ScriptedKernel::echo().factory()).run()?;
    let took = begun.elapsed();
    assert_eq!((summary.extracted, summary.exit_code()), (units, 0));
    let begun = Instant::now();
    let proof = verify(&books)?;
    let megabytes = proof.bytes as f64 / 1e6;
    let lag = summary.loop_lag.p99_ms;
    println!(
        "    verified {megabytes:.0} MB at {:.0} MB/s; loop lag p99 {lag:.1} ms",
        megabytes / begun.elapsed().as_secs_f64()
    );
    Ok(took)
}

/// The same hand-offs without actors and without books: a bounded channel into a pool, and the digest of each output.
fn mpsc_and_rayon(units: u64, threads: usize) -> Outcome<Duration> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let done = AtomicU64::new(0);
    let begun = Instant::now();
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
    let took = begun.elapsed();
    assert_eq!(done.load(Ordering::Relaxed), units);
    Ok(took)
}
