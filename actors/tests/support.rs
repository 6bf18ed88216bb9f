//! What the tests share.

use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use plan2geo_actors::ledger::{Event, Record, Verification, read, verify};
use plan2geo_actors::testkit::{MemorySink, ScriptedKernel, ScriptedSource};
use plan2geo_actors::{
    Durability, Engine, EngineConfig, Extraction, Failure, FailureKind, Kernel, Limits, RetryPolicy, RunSummary, Sink,
    Source, Spooled, Stage,
};
use tempfile::TempDir;

/// A fresh directory, and a configuration for it: two slots, no waits, no fsync.
pub(crate) fn config(slots: usize, waiting: usize) -> (TempDir, EngineConfig) {
    let directory = tempfile::tempdir().unwrap();
    let mut config = EngineConfig::new(directory.path().join("run"));
    config.limits = Limits { waiting, deadline: None, ..Limits::for_slots(slots) };
    config.durability = Durability::Process;
    config.retry = RetryPolicy { base: Duration::from_millis(1), cap: Duration::from_millis(2), attempts: 3 };
    config.grace = Duration::from_secs(5);
    (directory, config)
}

/// Runs to the end; the books must be in order.
#[track_caller]
pub(crate) fn run<K: Kernel>(
    config: EngineConfig,
    source: impl Source,
    sink: impl Sink,
    factory: impl Fn() -> K + Send + Sync + 'static,
) -> (RunSummary, Vec<Record>) {
    let directory = config.directory.clone();
    let summary = Engine::new(config, source, sink, factory).run().unwrap();
    let records = check_books(&directory, &summary);
    (summary, records)
}

/// Every unit has exactly one line, and the summary says the same as the files.
#[track_caller]
pub(crate) fn check_books(directory: &Path, summary: &RunSummary) -> Vec<Record> {
    let proof = verify(directory).unwrap();
    assert!(proof.is_sound() && proof.tear.is_none(), "{proof:#?}");
    assert_eq!(proof.unaccounted, 0, "{:?}", proof.missing);
    assert!(summary.reconciled, "{:?}", summary.errors);
    let counted = (proof.enumerated, proof.extracted, proof.dead_letters);
    assert_eq!(counted, (summary.enumerated, summary.extracted, summary.dead_letters));
    assert_eq!(summary.enumerated, summary.extracted + summary.dead_letters);
    assert_eq!(proof.by_kind, summary.by_kind);
    let records = records(directory);
    let mut ids: Vec<_> = records.iter().map(Record::id).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), records.len());
    records
}

pub(crate) fn records(directory: &Path) -> Vec<Record> {
    read(directory).unwrap().map(Result::unwrap).collect()
}

pub(crate) fn proof(directory: &Path) -> Verification {
    verify(directory).unwrap()
}

/// The kinds of dead letters, in order of the units.
pub(crate) fn dead(records: &[Record]) -> Vec<(String, FailureKind, Stage)> {
    let mut dead: Vec<_> = records
        .iter()
        .filter(|record| record.event == Event::DeadLetter)
        .map(|record| (record.doc_id.clone(), record.kind().unwrap(), record.error.as_ref().unwrap().stage))
        .collect();
    dead.sort();
    dead
}

pub(crate) fn done(bytes: &Bytes) -> Result<Extraction, Failure> {
    Ok(Extraction::new(Spooled::from_bytes(bytes.clone())))
}

pub(crate) fn malformed() -> Failure {
    Failure::new(FailureKind::Malformed, Stage::Parse, "scripted")
}

pub(crate) fn plain(units: u64) -> (ScriptedSource, MemorySink) {
    (ScriptedSource::units(units), MemorySink::default())
}

pub(crate) fn echo() -> impl Fn() -> ScriptedKernel + Send + Sync + 'static {
    ScriptedKernel::echo().factory()
}
