//! Every way a unit can end, each in exactly one terminal line.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use plan2geo_actors::ledger::Event;
use plan2geo_actors::testkit::{Gate, MemorySink, ScriptedKernel, ScriptedSource, eventually, number_of, numbered};
use plan2geo_actors::{Ended, Engine, Failure, FailureKind, Found, Stage};
use serde_json::Value;

use crate::support::{check_books, config, dead, done, echo, malformed, plain, run};

/// R14, R22, R27, R30, R31, R51, R58, R165: bad units are isolated; their neighbours finish; the exit code tells.
#[test]
fn three_corrupt_of_a_hundred_are_three_dead_letters() {
    let (_directory, config) = config(4, 8);
    let kernel = ScriptedKernel::new(|unit, bytes, _| match number_of(unit) {
        0 | 41 | 99 => Err(malformed()),
        _ => done(bytes),
    });
    let (source, sink) = plain(100);
    let stored = sink.clone();
    let (summary, records) = run(config, source, sink, kernel.factory());
    assert_eq!((summary.extracted, summary.dead_letters, summary.exit_code()), (97, 3, 3));
    assert_eq!(stored.stored().len(), 97);
    let names: Vec<_> = dead(&records).into_iter().map(|(name, ..)| name).collect();
    assert_eq!(names, ["unit-000000000", "unit-000000041", "unit-000000099"]);
}

/// R27, R145, R169: a panic in a kernel is one dead letter with its place; the thread goes on with a new kernel.
#[test]
fn a_panic_costs_one_unit() {
    let (_directory, config) = config(2, 4);
    let made = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&made);
    let kernel = ScriptedKernel::new(|unit, bytes, _| {
        assert!(number_of(unit) % 10 != 3, "scripted panic");
        done(bytes)
    });
    let factory = kernel.factory();
    let (source, sink) = plain(50);
    let (summary, records) = run(config, source, sink, move || {
        count.fetch_add(1, Ordering::SeqCst);
        factory()
    });
    assert_eq!((summary.extracted, summary.dead_letters), (45, 5));
    assert!(dead(&records).iter().all(|(_, kind, stage)| (*kind, *stage) == (FailureKind::Panicked, Stage::Parse)));
    let message = &records.iter().find_map(|record| record.error.as_ref()).unwrap().message;
    assert!(message.starts_with("scripted panic (") && message.contains("outcomes.rs:"), "{message}");
    // One a thread at first, and at most one more for each panic.
    assert!((3..=7).contains(&made.load(Ordering::SeqCst)), "{made:?}");
}

/// A factory that panics costs the unit, not the thread.
#[test]
fn a_panicking_factory_costs_units_not_threads() {
    let (_directory, config) = config(1, 2);
    let calls = AtomicU32::new(0);
    let (source, sink) = plain(5);
    let (summary, records) = run(config, source, sink, move || {
        assert!(calls.fetch_add(1, Ordering::SeqCst) != 0, "no kernel today");
        ScriptedKernel::echo()
    });
    assert_eq!((summary.extracted, summary.dead_letters), (4, 1));
    assert_eq!(dead(&records)[0].1, FailureKind::Panicked);
}

/// R27: panics in the source and in the sink are isolated as well.
#[test]
fn panics_beside_the_kernel_are_isolated() {
    let (_directory, config) = config(2, 4);
    let source = ScriptedSource::units(10).reading(|unit| {
        Box::pin(async move {
            assert!(number_of(&unit) != 2, "in the source");
            Ok(Bytes::from_static(b"x"))
        })
    });
    let sink = MemorySink::default().before_store(|unit| {
        Box::pin(async move {
            assert!(number_of(&unit) != 7, "in the sink");
            Ok(())
        })
    });
    let (summary, records) = run(config, source, sink, echo());
    assert_eq!(summary.extracted, 8);
    let kinds: Vec<_> = dead(&records).into_iter().map(|(_, kind, stage)| (kind, stage)).collect();
    assert_eq!(kinds, [(FailureKind::Panicked, Stage::Read), (FailureKind::Panicked, Stage::Write)]);
}

/// R94, R98: a kernel that looks at its checkpoint is stopped at the deadline and gives its slot back.
#[test]
fn a_cooperative_kernel_times_out_and_frees_its_slot() {
    let (_directory, mut config) = config(1, 2);
    config.limits.deadline = Some(Duration::from_millis(50));
    let kernel = ScriptedKernel::new(|unit, bytes, cx| {
        while number_of(unit) == 1 {
            cx.checkpoint()?;
            std::thread::yield_now();
        }
        done(bytes)
    });
    let (source, sink) = plain(4);
    let (summary, records) = run(config, source, sink, kernel.factory());
    assert_eq!((summary.extracted, summary.threads_left), (3, 0));
    assert_eq!(dead(&records), [("unit-000000001".to_owned(), FailureKind::Timeout, Stage::Parse)]);
}

/// R94, R111: a kernel that never returns is dead-lettered at its deadline while its thread and slot stay occupied; the others go on; its late result is
/// thrown away.
#[test]
fn a_stuck_kernel_is_dead_lettered_while_its_thread_is_stuck() {
    let (_directory, mut config) = config(2, 2);
    config.limits.deadline = Some(Duration::from_millis(100));
    let place = config.directory.clone();
    let gate = Gate::closed();
    let inside = gate.clone();
    let kernel = ScriptedKernel::new(move |unit, bytes, _| {
        if number_of(unit) == 0 {
            inside.block();
        }
        done(bytes)
    });
    let (source, sink) = plain(20);
    let stored = sink.clone();
    let handle = Engine::new(config, source, sink, kernel.factory()).start().unwrap();
    eventually("all others are through while one thread is stuck", || handle.progress().read().done() == 20);
    assert_eq!(gate.waiting(), 1);
    assert_eq!(handle.progress().read().active, 1);
    gate.open();
    let summary = handle.join().unwrap();
    let records = check_books(&place, &summary);
    assert_eq!((summary.extracted, summary.threads_left), (19, 0));
    assert_eq!(dead(&records), [("unit-000000000".to_owned(), FailureKind::Timeout, Stage::Parse)]);
    assert!(!stored.stored().contains_key("unit-000000000.1.out"));
}

/// R94: when every thread is held by units past their deadline, the run ends and says so; nothing hangs.
#[test]
fn a_pool_that_is_stuck_altogether_ends_the_run() {
    let (_directory, mut config) = config(2, 2);
    config.limits.deadline = Some(Duration::from_millis(30));
    config.grace = Duration::from_millis(200);
    let gate = Gate::closed();
    let inside = gate.clone();
    let kernel = ScriptedKernel::new(move |_, bytes, _| {
        inside.block();
        done(bytes)
    });
    let (source, sink) = plain(50);
    let (summary, records) = run(config, source, sink, kernel.factory());
    gate.open();
    assert_eq!((summary.ended, summary.exit_code(), summary.extracted), (Ended::Failed, 1, 0));
    assert_eq!(summary.threads_left, 2);
    assert!(summary.cause.unwrap().to_string().contains("every pool thread is held"));
    assert_eq!(dead(&records).iter().filter(|(_, kind, _)| *kind == FailureKind::Timeout).count(), 2);
}

/// R3, R139: two units that are too much together; who was given up beside the other is tried again with nothing beside it.
#[cfg(target_os = "linux")]
#[test]
fn a_unit_crowded_out_of_memory_is_tried_alone() {
    let (_directory, mut config) = config(2, 4);
    // No process is so small, so whoever works long enough is given up.
    config.limits.memory_bytes = Some(1);
    let together = std::sync::Barrier::new(2);
    let begun: Mutex<HashMap<u64, u32>> = Mutex::default();
    let kernel = ScriptedKernel::new(move |unit, bytes, cx| {
        let times = *begun.lock().unwrap().entry(number_of(unit)).and_modify(|times| *times += 1).or_insert(1);
        if times == 1 {
            together.wait();
            loop {
                cx.checkpoint()?;
                std::thread::yield_now();
            }
        }
        done(bytes)
    });
    let (source, sink) = plain(2);
    let (summary, records) = run(config, source, sink, kernel.factory());
    assert_eq!((summary.extracted, summary.dead_letters), (1, 1), "the other was alone when it was given up");
    assert_eq!(summary.by_kind.keys().collect::<Vec<_>>(), ["out_of_memory"]);
    let mut attempts: Vec<_> =
        records.iter().map(|record| (record.event == Event::Extracted, record.attempts)).collect();
    attempts.sort();
    assert_eq!(attempts, [(false, 1), (true, 2)]);
}

/// R151: transient failures are repeated with waits that stand in the ledger; permanent ones and the last attempt are not.
#[test]
fn transient_failures_are_repeated() {
    let (_directory, mut config) = config(2, 4);
    config.retry.attempts = 4;
    let tries: Arc<Mutex<HashMap<u64, u32>>> = Arc::default();
    let source = ScriptedSource::units(3).reading(move |unit| {
        let number = number_of(&unit);
        let tries = {
            let mut tries = tries.lock().unwrap();
            let tries = tries.entry(number).or_default();
            *tries += 1;
            *tries
        };
        Box::pin(async move {
            let busy = Failure::new(FailureKind::Throttled, Stage::Read, "503 slow down").transient();
            match (number, tries) {
                (0, 4..) => Ok(Bytes::from_static(b"x")),
                (0 | 1, _) => Err(busy),
                _ => Err(Failure::new(FailureKind::Vanished, Stage::Read, "gone")),
            }
        })
    });
    let (summary, mut records) = run(config, source, MemorySink::default(), echo());
    records.sort_by_key(|record| record.index);
    let seen: Vec<_> = records.iter().map(|record| (record.event, record.attempts, record.retry_ms.len())).collect();
    assert_eq!(seen, [(Event::Extracted, 4, 3), (Event::DeadLetter, 4, 3), (Event::DeadLetter, 1, 0)]);
    assert_eq!(summary.retries, 6);
}

/// A store that fails for a moment is repeated without parsing again.
#[test]
fn a_repeated_store_does_not_parse_again() {
    let (_directory, config) = config(1, 2);
    let parsed = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&parsed);
    let kernel = ScriptedKernel::new(move |_, bytes, _| {
        count.fetch_add(1, Ordering::SeqCst);
        done(bytes)
    });
    let failed = AtomicU32::new(0);
    let sink = MemorySink::default().before_store(move |_| {
        let first = failed.fetch_add(1, Ordering::SeqCst) < 2;
        let failure = Failure::new(FailureKind::Connection, Stage::Write, "reset").transient();
        Box::pin(async move { if first { Err(failure) } else { Ok(()) } })
    });
    let (summary, records) = run(config, ScriptedSource::units(1), sink, kernel.factory());
    assert_eq!((summary.extracted, records[0].attempts, parsed.load(Ordering::SeqCst)), (1, 3, 1));
}

/// R129: what cannot be a unit is enumerated and named, never skipped.
#[test]
fn unreadable_entries_are_dead_letters() {
    let (_directory, config) = config(2, 4);
    let mut found: Vec<_> = (0..10).map(numbered).collect();
    let failure = Failure::new(FailureKind::Unreadable, Stage::Scan, "permission denied");
    found[4] = Found::unreadable("unit-000000004", "closed/", failure);
    found.push(Found::new("z".repeat(2000), 1, "z", "x"));
    let (summary, records) = run(config, ScriptedSource::of(found), MemorySink::default(), echo());
    assert_eq!((summary.enumerated, summary.extracted, summary.dead_letters), (11, 9, 2));
    let kinds: Vec<_> = dead(&records).into_iter().map(|(_, kind, stage)| (kind, stage)).collect();
    assert_eq!(kinds, [(FailureKind::Unreadable, Stage::Scan), (FailureKind::Limit, Stage::Scan)]);
}

/// R90: nothing to do is done at once.
#[test]
fn an_empty_source_finishes_cleanly() {
    let (_directory, config) = config(2, 4);
    let (source, sink) = plain(0);
    let (summary, records) = run(config, source, sink, echo());
    assert_eq!((summary.enumerated, records.len(), summary.exit_code()), (0, 0, 0));
    assert_eq!(summary.ended, Ended::Completed);
}

/// R8, R13, R23, R24, R29, R41, R59: the line of an extraction, key by key, in canonical form.
#[test]
fn a_line_is_canonical_and_has_every_key() {
    let (_directory, mut config) = config(1, 2);
    config.request_id = Some("REQ-77".to_owned());
    let ledger = config.directory.join("ledger.jsonl");
    let kernel = ScriptedKernel::new(|unit, bytes, _| {
        if number_of(unit) == 1 {
            return Err(malformed());
        }
        // A fact cannot replace a key of the ledger.
        Ok(done(bytes)?
            .with_fact("chars", 8)
            .with_fact("doc_id", "forged")
            .with_fact("é", serde_json::json!({"b": 1, "a": [2]})))
    });
    let (source, sink) = plain(2);
    let (summary, records) = run(config, source, sink, kernel.factory());
    let text = std::fs::read_to_string(ledger).unwrap();
    let lines: Vec<_> = text.lines().collect();
    for line in &lines {
        let value: Value = serde_json::from_str(line).unwrap();
        assert_eq!(serde_json::to_string(&value).unwrap(), *line, "sorted keys, no spaces");
    }
    let extracted = records.iter().position(|record| record.event == Event::Extracted).unwrap();
    let value: Value = serde_json::from_str(lines[extracted]).unwrap();
    let keys: Vec<_> = value.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        keys,
        [
            "attempts",
            "bytes",
            "chars",
            "doc_id",
            "event",
            "floor_level",
            "format",
            "index",
            "ms",
            "output",
            "output_bytes",
            "output_sha256",
            "page",
            "prev",
            "request_id",
            "run_id",
            "seq",
            "trace_id",
            "ts",
            "v",
            "é"
        ]
    );
    assert_eq!(value["doc_id"], "unit-000000000");
    assert_eq!(value["request_id"], "REQ-77");
    assert_eq!(value["run_id"], summary.run_id.to_string());
    let ts = value["ts"].as_str().unwrap();
    assert!(ts.len() == 32 && ts.ends_with("+00:00") && ts.parse::<jiff::Timestamp>().is_ok(), "{ts}");
    let dead = records.iter().find(|record| record.event == Event::DeadLetter).unwrap();
    assert_eq!(dead.location.as_deref(), Some("unit-000000001"));
    assert_eq!((dead.size, dead.version.as_deref()), (Some(8), Some("1")));
    assert_eq!(
        records[0].trace_id,
        plan2geo_actors::unit::trace_id(summary.run_id.0, &records[0].doc_id, records[0].page)
    );
}

/// R72: bytes are read only when a slot owns the unit.
#[test]
fn bytes_are_read_after_the_unit_left_the_queue() {
    let (_directory, config) = config(2, 6);
    let gate = Gate::closed();
    let reads = Arc::new(AtomicU32::new(0));
    let (count, wait) = (Arc::clone(&reads), gate.clone());
    let source = ScriptedSource::units(30).reading(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        let wait = wait.clone();
        Box::pin(async move {
            wait.pass().await;
            Ok(Bytes::from_static(b"x"))
        })
    });
    let handle = Engine::new(config, source, MemorySink::default(), echo()).start().unwrap();
    eventually("the queue is full", || handle.progress().read().waiting == 6);
    eventually("both slots read", || gate.waiting() == 2);
    assert_eq!(reads.load(Ordering::SeqCst), 2);
    gate.open();
    assert_eq!(handle.join().unwrap().extracted, 30);
}
