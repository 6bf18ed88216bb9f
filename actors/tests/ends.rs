//! How a run ends: to its end, drained, aborted, or broken; always reconciled, in one order.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use plan2geo_actors::ledger::Closing;
use plan2geo_actors::testkit::faults::fail_at;
use plan2geo_actors::testkit::{Gate, MemorySink, ScriptedKernel, ScriptedSource, eventually, number_of, numbered};
use plan2geo_actors::{
    Breaker, Durability, Ended, Engine, Existing, Failure, FailureKind, Found, OnFailure, RunError, SourceError, Stage,
    StopCause, Unit,
};

use crate::support::{check_books, config, dead, done, echo, malformed, plain, proof, run};

/// R26, R35, R62, R146: the order of starting and stopping.
#[test]
fn the_steps_come_in_their_order() {
    let (_directory, config) = config(2, 4);
    let (source, sink) = plain(20);
    let (summary, _) = run(config, source, sink, echo());
    let names: Vec<_> = summary.phases.iter().map(|phase| phase.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "audit_writer_started",
            "pool_started",
            "worker_started",
            "scan_started",
            "scan_ended",
            "worker_ended",
            "drained",
            "pool_ended",
            "audit_writer_ended",
            "reconciled"
        ]
    );
    assert_eq!((summary.threads_left, summary.exit_code()), (0, 0));
}

/// R93, R114, R135: draining, everything enumerated is finished and nothing more is asked for.
#[test]
fn a_drain_finishes_what_was_enumerated() {
    let (_directory, config) = config(2, 4);
    let place = config.directory.clone();
    let gate = Gate::closed();
    let source = ScriptedSource::units(1000);
    let asked = source.clone();
    let handle = Engine::new(config, source, MemorySink::stalled_at(&gate), echo()).start().unwrap();
    eventually("all places are taken", || asked.asked() == 7);
    handle.stop().drain("SIGTERM");
    gate.open();
    let summary = handle.join().unwrap();
    check_books(&place, &summary);
    assert_eq!((summary.enumerated, summary.extracted), (7, 7));
    assert_eq!((summary.ended, summary.exit_code()), (Ended::Interrupted, 130));
    assert!(!proof(&place).manifest_closed);
    assert!(!Closing::load(&place).unwrap().unwrap().complete);
}

/// R53, R93, R98, R114: aborting, what runs and what waits becomes `cancelled`, at once.
#[test]
fn an_abort_dead_letters_what_runs_and_what_waits() {
    let (_directory, config) = config(2, 4);
    let place = config.directory.clone();
    let kernel = ScriptedKernel::new(|unit, bytes, cx| {
        while number_of(unit) > 2 {
            cx.checkpoint()?;
            std::thread::yield_now();
        }
        done(bytes)
    });
    let source = ScriptedSource::units(1000);
    let asked = source.clone();
    let handle = Engine::new(config, source, MemorySink::default(), kernel.factory()).start().unwrap();
    eventually("both slots spin", || asked.asked() == 10 && handle.progress().read().done() == 3);
    let begun = std::time::Instant::now();
    handle.stop().abort("SIGINT twice");
    let summary = handle.join().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(2));
    let records = check_books(&place, &summary);
    assert_eq!((summary.extracted, summary.dead_letters, summary.exit_code()), (3, 7, 130));
    let stages: Vec<_> = dead(&records).into_iter().map(|(_, kind, stage)| (kind, stage)).collect();
    assert_eq!(stages.iter().filter(|at| **at == (FailureKind::Cancelled, Stage::Parse)).count(), 2);
    assert_eq!(stages.iter().filter(|at| **at == (FailureKind::Cancelled, Stage::Queue)).count(), 5);
}

/// An abort while stores are running waits for them: their outputs are real.
#[test]
fn an_abort_lets_running_stores_finish() {
    let (_directory, config) = config(2, 2);
    let place = config.directory.clone();
    let gate = Gate::closed();
    let handle = Engine::new(config, ScriptedSource::units(50), MemorySink::stalled_at(&gate), echo()).start().unwrap();
    eventually("two stores run", || gate.waiting() == 2);
    handle.stop().abort("the test");
    eventually("the queue is cleared", || handle.progress().read().done() == 3);
    gate.open();
    let summary = handle.join().unwrap();
    check_books(&place, &summary);
    assert_eq!((summary.extracted, summary.dead_letters), (2, 3));
}

/// R93, R98, R114: a kernel, a read and a store that never return are left behind when the grace is over; the books are
/// closed without them, and a resume does the rest.
#[test]
fn what_never_returns_is_left_behind_after_the_grace() {
    for hangs in ["kernel", "read", "store"] {
        let (_folder, mut config) = config(2, 4);
        config.grace = Duration::from_millis(50);
        let gate = Gate::closed();
        let hang = |here: &'static str| {
            let gate = gate.clone();
            move |unit: &Unit| {
                if hangs == here && number_of(unit) == 3 {
                    gate.block();
                }
            }
        };
        let (in_kernel, in_read, in_store) = (hang("kernel"), Arc::new(hang("read")), Arc::new(hang("store")));
        let kernel = ScriptedKernel::new(move |unit, bytes, _| {
            in_kernel(unit);
            done(bytes)
        });
        let source = ScriptedSource::units(20).reading(move |unit| {
            let in_read = Arc::clone(&in_read);
            Box::pin(async move {
                let read = tokio::task::spawn_blocking(move || {
                    in_read(&unit);
                    Bytes::from_static(b"document")
                });
                Ok(read.await.unwrap())
            })
        });
        let sink = MemorySink::default().before_store(move |unit| {
            let in_store = Arc::clone(&in_store);
            Box::pin(async move {
                tokio::task::spawn_blocking(move || in_store(&unit)).await.unwrap();
                Ok(())
            })
        });
        let handle = Engine::new(config.clone(), source, sink, kernel.factory()).start().unwrap();
        eventually("something hangs", || gate.waiting() == 1);
        handle.stop().drain("SIGINT");
        handle.stop().abort("SIGINT");
        // It is still held: this returns all the same.
        let summary = handle.join().unwrap();
        assert_eq!(gate.waiting(), 1, "{hangs}");
        assert_eq!(summary.exit_code(), 130, "{hangs}");
        let records = check_books(&config.directory, &summary);
        assert!(dead(&records).iter().any(|(unit, kind, _)| unit.ends_with("003") && *kind == FailureKind::Cancelled));
        gate.open();
        config.existing = Existing::Resume;
        let (source, sink) = plain(20);
        let (summary, _) = run(config, source, sink, echo());
        assert_eq!((summary.ended, summary.enumerated), (Ended::Completed, 20));
    }
}

/// R86, R92: `fail_fast` stops admission, finishes what was admitted, and names the unit.
#[test]
fn fail_fast_stops_and_names_the_unit() {
    let (_directory, mut config) = config(2, 4);
    config.on_failure = OnFailure::FailFast;
    let kernel =
        ScriptedKernel::new(|unit, bytes, _| if number_of(unit) == 30 { Err(malformed()) } else { done(bytes) });
    let (source, sink) = plain(10_000);
    let (summary, _) = run(config, source, sink, kernel.factory());
    assert_eq!((summary.ended, summary.exit_code(), summary.dead_letters), (Ended::Failed, 1, 1));
    assert!(summary.enumerated < 1000, "{}", summary.enumerated);
    assert!(
        matches!(summary.cause, Some(StopCause::FailFast(what)) if what.starts_with("unit-000000030: parse: malformed"))
    );
}

/// More dead letters than allowed end the run; so does one cause that explains most of them.
#[test]
fn too_many_failures_end_the_run() {
    let (_directory, mut capped) = config(2, 4);
    capped.max_failures = Some(5);
    let kernel = ScriptedKernel::new(|_, _, _| Err(malformed()));
    let (source, sink) = plain(10_000);
    let (summary, _) = run(capped, source, sink, kernel.clone().factory());
    assert_eq!((summary.cause.clone(), summary.exit_code()), (Some(StopCause::MaxFailures(5)), 1));
    assert!((6..1000).contains(&summary.dead_letters));

    let (_directory, mut broken) = config(2, 4);
    broken.breaker = Some(Breaker { window: 20, share: 0.8 });
    let source = ScriptedSource::units(10_000)
        .reading(|_| Box::pin(async { Err(Failure::new(FailureKind::Connection, Stage::Read, "no route to host")) }));
    let (summary, _) = run(broken, source, MemorySink::default(), kernel.factory());
    assert!(
        matches!(&summary.cause, Some(StopCause::Breaker(what)) if what.contains("`connection`")),
        "{:?}",
        summary.cause
    );
    assert!((20..1000).contains(&summary.dead_letters));
}

/// R54: a source that ends with an error ends the run, reconciled and failed; what was listed before is finished.
#[test]
fn a_source_that_breaks_off_is_a_failed_and_reconciled_run() {
    let (_directory, config) = config(2, 4);
    let source = ScriptedSource::listing(|nth| {
        Box::pin(async move {
            if nth < 25 {
                return Some(Ok(numbered(nth)));
            }
            Some(Err(SourceError::List { location: "plans".to_owned(), message: "input/output error".to_owned() }))
        })
    });
    let (summary, _) = run(config, source, MemorySink::default(), echo());
    assert_eq!((summary.extracted, summary.ended, summary.exit_code()), (25, Ended::Failed, 1));
    assert!(summary.cause.unwrap().to_string().contains("cannot list plans"));
}

/// R104: a unit named twice, or out of order, ends the run; it is never done twice.
#[test]
fn a_listing_out_of_order_is_refused() {
    for last in ["unit-000000004", "unit-000000001"] {
        let (_directory, config) = config(2, 4);
        let mut found: Vec<_> = (0..5).map(numbered).collect();
        found.push(Found::new(last, 1, last, "number").with_size(8));
        let (summary, records) = run(config, ScriptedSource::of(found), MemorySink::default(), echo());
        assert_eq!((records.len(), summary.exit_code()), (5, 1));
        assert!(summary.cause.unwrap().to_string().contains("ascending order"));
    }
}

/// A panicking listing is a failed run whose books still balance.
#[test]
fn a_panicking_listing_is_a_failed_run() {
    let (_directory, config) = config(2, 4);
    let source = ScriptedSource::listing(|nth| {
        Box::pin(async move {
            assert!(nth < 9, "listing panics");
            Some(Ok(numbered(nth)))
        })
    });
    let (summary, _) = run(config, source, MemorySink::default(), echo());
    assert_eq!((summary.ended, summary.exit_code()), (Ended::Failed, 1));
}

/// R142: a source that stalls is noted, and neither slots nor the run hang.
#[test]
fn a_stalled_source_is_noted_and_can_be_drained() {
    let (_directory, mut config) = config(2, 4);
    config.stall_after = Duration::from_millis(20);
    let gate = Gate::closed();
    let wait = gate.clone();
    let source = ScriptedSource::listing(move |nth| {
        let wait = wait.clone();
        Box::pin(async move {
            if nth == 10 {
                wait.pass().await;
            }
            (nth < 20).then(|| Ok(numbered(nth)))
        })
    });
    let handle = Engine::new(config, source, MemorySink::default(), echo()).start().unwrap();
    eventually("the first ten are done", || handle.progress().read().extracted == 10);
    std::thread::sleep(Duration::from_millis(50));
    gate.open();
    let summary = handle.join().unwrap();
    assert_eq!((summary.extracted, summary.exit_code()), (20, 0));
    assert!(summary.notes.iter().any(|note| note.code == "SCANNER_STALLED"));
}

/// R46, R40, R112: outcomes that could not be recorded are unaccounted, with their number and names, and the exit code is not 0.
#[test]
fn a_ledger_that_cannot_be_written_stops_the_run() {
    for point in ["ledger.before_write", "ledger.after_write"] {
        const ENOSPC: i32 = 28;
        let (_directory, mut config) = config(2, 4);
        config.faults = fail_at(point, 3, ENOSPC);
        let place = config.directory.clone();
        let summary = Engine::new(config, ScriptedSource::units(1000), MemorySink::default(), echo()).run().unwrap();
        assert_eq!((summary.ended, summary.reconciled, summary.exit_code()), (Ended::Failed, false, 1));
        assert!(summary.unaccounted > 0 || point == "ledger.after_write");
        if summary.unaccounted > 0 {
            assert_eq!(summary.errors[0], format!("unaccounted_pages:{}", summary.unaccounted));
            // Lines that were written and not made durable stand in the file, and are not counted on.
            assert!(summary.missing.len() as u64 <= summary.unaccounted);
        }
        assert!(summary.cause.unwrap().to_string().contains("the ledger could not be written"));
        assert!(summary.enumerated < 100, "the scanner stopped");
        // Never closed properly, and nothing was written after the failure.
        assert_eq!(Closing::load(&place).unwrap(), None);
        assert!(proof(&place).is_sound());
    }
}

/// A manifest that cannot be written stops the run before anything unlisted is dispatched.
#[test]
fn a_manifest_that_cannot_be_written_stops_the_run() {
    const EIO: i32 = 5;
    let (_directory, mut config) = config(2, 4);
    config.faults = fail_at("manifest.before_write", 2, EIO);
    let summary = Engine::new(config, ScriptedSource::units(1000), MemorySink::default(), echo()).run().unwrap();
    assert_eq!((summary.ended, summary.exit_code()), (Ended::Failed, 1));
    assert_eq!(summary.unaccounted, 0);
    assert_eq!(summary.enumerated, summary.extracted + summary.dead_letters);
}

/// A sink that is not ready ends everything before anything is enumerated.
#[test]
fn a_sink_that_is_not_ready_is_found_first() {
    let (directory, config) = config(1, 1);
    let file = directory.path().join("a file");
    std::fs::File::create(&file).unwrap();
    let sink = plan2geo_actors::testkit::DirectorySink::new(file.join("below"));
    let error = Engine::new(config, ScriptedSource::units(1), sink, echo()).run().unwrap_err();
    assert!(matches!(error, RunError::Sink(_)), "{error}");
}

/// R145: a thousand short runs, none loses a unit at its end. Full durability on a few of them.
#[test]
fn short_runs_lose_nothing_at_their_end() {
    for nth in 0..40 {
        let (_directory, mut config) = config(1 + nth % 3, 1 + nth % 5);
        if nth % 10 == 0 {
            config.durability = Durability::Full;
        }
        let (source, sink) = plain((nth % 7) as u64);
        let (summary, _) = run(config, source, sink, echo());
        assert_eq!(summary.exit_code(), 0, "{summary:?}");
    }
}

/// The engine has its own thread, so it runs from inside another runtime as well.
#[tokio::test]
async fn it_runs_inside_another_runtime() {
    let (_directory, config) = config(1, 2);
    let source = ScriptedSource::units(3).reading(|_| Box::pin(async { Ok(Bytes::from_static(b"x")) }));
    let handle = Engine::new(config, source, MemorySink::default(), echo()).start().unwrap();
    let summary = tokio::task::spawn_blocking(move || handle.join()).await.unwrap().unwrap();
    assert_eq!(summary.extracted, 3);
}
