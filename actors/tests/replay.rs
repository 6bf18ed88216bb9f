//! Dead letters done again in a child run, and what a run would do, told without doing it.

use std::collections::BTreeMap;

use plan2geo_actors::testkit::{DirectorySink, MemorySink, ScriptedKernel, ScriptedSource, number_of, numbered};
use plan2geo_actors::{Durability, EngineConfig, Existing, FailureKind, Found, Reason, Replay, RunId, Stage, explain};

use crate::support::{config, dead, done, echo, malformed, proof, run};

fn told(config: &EngineConfig, source: &ScriptedSource) -> BTreeMap<String, Reason> {
    let mut told = BTreeMap::new();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let asked = explain(config, source, |id, reason| assert_eq!(told.insert(id.doc_id, reason), None));
    runtime.block_on(asked).unwrap();
    told
}

/// R31, R36, R100: a replay is a child run over the parent's dead letters; both are reconciled, and the parent stays as it was.
#[test]
fn a_replay_is_a_child_run_over_the_dead_letters() {
    let (directory, parent) = config(2, 4);
    let kernel =
        ScriptedKernel::new(|unit, bytes, _| if number_of(unit) % 4 == 1 { Err(malformed()) } else { done(bytes) });
    let (before, _) = run(parent.clone(), ScriptedSource::units(30), MemorySink::default(), kernel.factory());
    assert_eq!(before.dead_letters, 8);
    let books = std::fs::read(parent.directory.join("ledger.jsonl")).unwrap();

    // Meanwhile one was mended, one is gone, and something new came that is none of our business.
    let mut found: Vec<Found> = (0..30).map(numbered).collect();
    found[5].size = 9;
    found.remove(9);
    found.push(numbered(99));
    let source = Replay::open(&parent.directory, ScriptedSource::of(found), |_| true).unwrap();
    assert_eq!((source.len(), source.parent_run()), (8, before.run_id));
    let mut child = parent.clone();
    child.directory = directory.path().join("child");
    (child.run_id, child.parent_run) = (RunId::random(), Some(source.parent_run()));
    let (summary, records) = run(child, source, MemorySink::default(), echo());
    assert_eq!((summary.enumerated, summary.extracted, summary.dead_letters), (8, 7, 1));
    assert_eq!(summary.parent_run, Some(before.run_id));
    assert_eq!(dead(&records), [("unit-000000009".to_owned(), FailureKind::Vanished, Stage::Scan)]);
    assert_eq!(std::fs::read(parent.directory.join("ledger.jsonl")).unwrap(), books);
    assert!(proof(&parent.directory).is_complete());
}

/// Only the kinds that are asked for, and a listing that ends before the last of them.
#[test]
fn a_replay_takes_kinds_and_survives_a_short_listing() {
    let (directory, parent) = config(2, 4);
    let kernel = ScriptedKernel::new(|unit, bytes, _| match number_of(unit) % 3 {
        0 => Err(malformed()),
        1 => panic!("scripted"),
        _ => done(bytes),
    });
    run(parent.clone(), ScriptedSource::units(300), MemorySink::default(), kernel.factory());
    for (kind, listed, extracted) in
        [("malformed", 300, 100), ("panicked", 30, 10), ("timeout", 300, 0), ("malformed", 0, 0)]
    {
        let source = Replay::open(&parent.directory, ScriptedSource::units(listed), |wanted| wanted == kind).unwrap();
        let mut child = parent.clone();
        child.directory = directory.path().join(format!("{kind}-{listed}"));
        let (wanted, parent_run) = (source.len(), source.parent_run());
        (child.run_id, child.parent_run) = (RunId::random(), Some(parent_run));
        let (summary, records) = run(child, source, MemorySink::default(), echo());
        assert_eq!((summary.enumerated, summary.extracted), (wanted, extracted));
        assert!(dead(&records).iter().all(|(_, kind, _)| *kind == FailureKind::Vanished));
    }
}

/// Why each unit runs or not: for a fresh batch, an unfinished run, and a batch done again.
#[test]
fn every_unit_is_explained() {
    let (directory, mut first) = config(2, 4);
    first.durability = Durability::Full;
    let source = ScriptedSource::units(12);
    assert!(told(&first, &source).values().all(|reason| *reason == Reason::New));

    let kernel =
        ScriptedKernel::new(|unit, bytes, _| if number_of(unit) == 3 { Err(malformed()) } else { done(bytes) });
    let sink = DirectorySink::new(directory.path().join("out"));
    run(first.clone(), source.clone(), sink.clone(), kernel.factory());
    first.existing = Existing::Resume;
    let reasons = told(&first, &source);
    assert_eq!(reasons["unit-000000003"], Reason::DeadLetter);
    assert_eq!(reasons.values().filter(|reason| **reason == Reason::Extracted).count(), 11);

    let mut found: Vec<Found> = (0..12).map(numbered).collect();
    found[7].version = Some("2".to_owned());
    found.push(numbered(20));
    let mut again = first.clone();
    again.directory = directory.path().join("again");
    again.previous = Some(first.directory.clone());
    let reasons = told(&again, &ScriptedSource::of(found));
    assert_eq!(reasons["unit-000000003"], Reason::NotExtracted);
    assert_eq!(reasons["unit-000000007"], Reason::Changed);
    assert_eq!(reasons["unit-000000020"], Reason::New);
    assert_eq!(reasons["unit-000000001"], Reason::Unchanged);
    assert_eq!(reasons.values().filter(|reason| reason.runs()).count(), 3);
}
