//! What bounds a run: exactly so many units are enumerated, queued, in progress.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use plan2geo_actors::testkit::{Gate, MemorySink, ScriptedKernel, ScriptedSource, eventually, number_of, numbered};
use plan2geo_actors::{Engine, Limits, Verdict};

use crate::support::{check_books, config, done, echo, plain, run};

/// R16, R38, R76, R95, R121, R123: a stalled sink lets exactly `slots + waiting + 1` units be enumerated, and no more.
#[test]
fn a_stalled_sink_lets_exactly_slots_plus_waiting_plus_one_be_enumerated() {
    for (slots, waiting) in [(1, 1), (2, 3), (4, 8), (3, 1)] {
        let (_directory, config) = config(slots, waiting);
        let place = config.directory.clone();
        let gate = Gate::closed();
        let source = ScriptedSource::units(200);
        let asked = source.clone();
        let handle = Engine::new(config, source, MemorySink::stalled_at(&gate), echo()).start().unwrap();
        let exactly = (slots + waiting + 1) as u64;
        eventually("the queue is full", || gate.waiting() == slots && asked.asked() == exactly);
        // Every credit is in the queue and every slot at the gate: there is nothing left that could ask the source.
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(asked.asked(), exactly);
        let progress = handle.progress().read();
        assert_eq!((progress.enumerated, progress.active, progress.waiting), (exactly, slots, waiting));
        assert_eq!(progress.done(), 0);
        gate.open();
        let summary = handle.join().unwrap();
        check_books(&place, &summary);
        assert_eq!(summary.extracted, 200);
        assert_eq!(summary.queue.peak, waiting);
        assert_eq!(summary.slots.peak, slots);
    }
}

/// R17, R18, R28, R39, R88, R89: never more units enumerated and unfinished than the bounds say, over the whole run.
#[test]
fn units_unfinished_never_exceed_the_bound() {
    let (slots, waiting) = (3, 5);
    let (_directory, config) = config(slots, waiting);
    let (active, peak) = (Arc::new(AtomicI64::new(0)), Arc::new(AtomicI64::new(0)));
    let (inside, most) = (Arc::clone(&active), Arc::clone(&peak));
    let source = ScriptedSource::units(2000).reading(move |unit| {
        let (inside, most) = (Arc::clone(&inside), Arc::clone(&most));
        Box::pin(async move {
            most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::task::yield_now().await;
            inside.fetch_sub(1, Ordering::SeqCst);
            Ok(Bytes::copy_from_slice(&number_of(&unit).to_be_bytes()))
        })
    });
    let asked = source.clone();
    let (stored, unfinished) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let worst = Arc::clone(&unfinished);
    let sink = MemorySink::default().before_store(move |_| {
        let finished = stored.fetch_add(1, Ordering::SeqCst);
        worst.fetch_max(asked.asked() - finished, Ordering::SeqCst);
        Box::pin(async { Ok(()) })
    });
    let (summary, _) = run(config, source, sink, echo());
    assert_eq!(summary.extracted, 2000);
    assert!(summary.queue.peak <= waiting, "{:?}", summary.queue);
    assert!(summary.slots.peak <= slots);
    assert!((1..=slots as i64).contains(&peak.load(Ordering::SeqCst)));
    assert_eq!(active.load(Ordering::SeqCst), 0);
    assert!(unfinished.load(Ordering::SeqCst) <= (slots + waiting + 1) as u64);
    assert_eq!(summary.slots.depth, 0);
}

/// R44, R161: with slow workers the queue stands at its bound; with a slow source it stands empty.
#[test]
fn the_queue_tells_who_is_slow() {
    let (_directory, mut slow_work) = config(2, 4);
    slow_work.limits.starts_per_second = Some(300.0);
    let (source, sink) = plain(120);
    let (summary, _) = run(slow_work, source, sink, echo());
    assert_eq!(summary.verdict, Verdict::WorkerBound, "{:?}", summary.queue);
    assert_eq!(summary.queue.peak, 4);
    assert!(summary.blocked_ms > 0.0);

    let (_directory, slow_source) = config(2, 4);
    let source = ScriptedSource::listing(|nth| {
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(5)).await;
            (nth < 60).then(|| Ok(numbered(nth)))
        })
    });
    let (summary, _) = run(slow_source, source, MemorySink::default(), echo());
    assert_eq!(summary.verdict, Verdict::ScannerBound, "{:?}", summary.queue);
    // R45: and it says that the bound was never needed.
    assert!(summary.notes.iter().any(|note| note.code == "QUEUE_NEVER_FULL"), "{:?}", summary.notes);
}

/// R15, R37, R66: the bounds are independent: changing one leaves the peak of the other.
#[test]
fn waiting_and_slots_are_independent() {
    for (slots, waiting) in [(2, 2), (2, 16), (6, 2)] {
        let (_directory, config) = config(slots, waiting);
        let gate = Gate::closed();
        let handle =
            Engine::new(config, ScriptedSource::units(100), MemorySink::stalled_at(&gate), echo()).start().unwrap();
        eventually("both are full", || {
            let progress = handle.progress().read();
            (progress.active, progress.waiting) == (slots, waiting)
        });
        gate.open();
        let summary = handle.join().unwrap();
        assert_eq!((summary.slots.peak, summary.queue.peak), (slots, waiting));
    }
}

/// R73: with a budget of bytes, two large documents run one after the other, and small ones pass beside them.
#[test]
fn large_documents_do_not_meet() {
    let (_directory, mut config) = config(4, 4);
    config.limits.bytes_in_flight = Some(1 << 30);
    let large = Arc::new(AtomicI64::new(0));
    let small_beside_large = Arc::new(AtomicU64::new(0));
    let (inside, beside) = (Arc::clone(&large), Arc::clone(&small_beside_large));
    let source = ScriptedSource::listing(|nth| {
        let size = if nth % 3 == 0 { 900 << 20 } else { 1 << 20 };
        Box::pin(async move { (nth < 60).then(|| Ok(numbered(nth).with_size(size))) })
    })
    .reading(move |unit| {
        let (inside, beside) = (Arc::clone(&inside), Arc::clone(&beside));
        Box::pin(async move {
            if unit.size > 512 << 20 {
                assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two large documents at one time");
                tokio::time::sleep(Duration::from_millis(2)).await;
                inside.fetch_sub(1, Ordering::SeqCst);
            } else if inside.load(Ordering::SeqCst) > 0 {
                beside.fetch_add(1, Ordering::SeqCst);
            }
            Ok(Bytes::from_static(b"x"))
        })
    });
    let (summary, _) = run(config, source, MemorySink::default(), echo());
    assert_eq!(summary.extracted, 60);
    assert!(small_beside_large.load(Ordering::SeqCst) > 0);
}

/// R1, R73: a document larger than the whole budget runs, alone.
#[test]
fn a_document_beyond_the_budget_runs_alone() {
    let (_directory, mut config) = config(4, 4);
    config.limits.bytes_in_flight = Some(1 << 20);
    let inside = Arc::new(AtomicI64::new(0));
    let count = Arc::clone(&inside);
    let source = ScriptedSource::listing(|nth| {
        let size = if nth == 5 { 8 << 30 } else { 4096 };
        Box::pin(async move { (nth < 12).then(|| Ok(numbered(nth).with_size(size))) })
    })
    .reading(move |unit| {
        let count = Arc::clone(&count);
        Box::pin(async move {
            let others = count.fetch_add(1, Ordering::SeqCst);
            if unit.size > 1 << 20 {
                assert_eq!(others, 0);
            }
            tokio::task::yield_now().await;
            count.fetch_sub(1, Ordering::SeqCst);
            Ok(Bytes::from_static(b"x"))
        })
    });
    let (summary, _) = run(config, source, MemorySink::default(), echo());
    assert_eq!(summary.extracted, 12);
}

/// R10, R49, R57, R125, R128: with every pool thread busy the event loop is on time, and progress can be read.
#[test]
fn the_loop_stays_on_time_while_every_thread_is_busy() {
    let (_directory, config) = config(2, 4);
    let kernel = ScriptedKernel::new(|_, bytes, _| {
        let begun = std::time::Instant::now();
        while begun.elapsed() < Duration::from_millis(20) {
            std::hint::spin_loop();
        }
        done(bytes)
    });
    let (source, sink) = plain(60);
    let (summary, _) = run(config, source, sink, kernel.factory());
    assert_eq!(summary.extracted, 60);
    assert!(summary.loop_lag.count > 5);
    assert!(summary.loop_lag.p50_ms < 50.0, "{:?}", summary.loop_lag);
}

/// R47, R83: a limit of zero never starts.
#[test]
fn a_limit_of_zero_never_starts() {
    let (_directory, mut config) = config(1, 1);
    config.limits = Limits { slots: 0, waiting: 0, ..config.limits };
    let (source, sink) = plain(1);
    let error = Engine::new(config, source, sink, echo()).run().unwrap_err();
    assert!(error.to_string().contains("slots must be a positive integer, got 0"), "{error}");
    assert!(error.to_string().contains("waiting must be a positive integer, got 0"), "{error}");
}

/// R11, R96: the source is asked lazily: ten million entries start at once and cost no memory.
#[test]
fn a_listing_of_ten_million_starts_at_once() {
    let (_directory, config) = config(2, 4);
    let source = ScriptedSource::units(10_000_000);
    let handle = Engine::new(config, source, MemorySink::default(), echo()).start().unwrap();
    eventually("units come out", || handle.progress().read().extracted > 20);
    handle.stop().drain("the test");
    let summary = handle.join().unwrap();
    assert!(summary.enumerated < 1_000_000);
    assert_eq!(summary.enumerated, summary.extracted);
    assert_eq!(summary.exit_code(), 130);
}

/// R1, R2, R61: a set of 41,000 units of 40 KB to 900 MB (as listed) under a budget of 1 GB in flight: reconciled, within the budget, each line with its request.
#[test]
fn forty_one_thousand_units_are_reconciled_within_the_budget() {
    const UNITS: u64 = 41_000;
    let (_directory, mut config) = config(16, 32);
    config.limits.threads = 2;
    config.limits.bytes_in_flight = Some(1 << 30);
    config.request_id = Some("REQ-41000".to_owned());
    let place = config.directory.clone();
    let (inside, most) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let peak = Arc::clone(&most);
    let source = ScriptedSource::listing(|nth| {
        // Spread over four orders of magnitude, most of them small.
        let size = if nth % 1000 == 0 { 900_000_000 } else { 40_000 << (nth % 10) };
        Box::pin(async move { (nth < UNITS).then(|| Ok(numbered(nth).with_size(size))) })
    })
    .reading(move |unit| {
        let (inside, most) = (Arc::clone(&inside), Arc::clone(&most));
        Box::pin(async move {
            most.fetch_max(inside.fetch_add(unit.size, Ordering::SeqCst) + unit.size, Ordering::SeqCst);
            tokio::task::yield_now().await;
            inside.fetch_sub(unit.size, Ordering::SeqCst);
            Ok(Bytes::from_static(b"page"))
        })
    });
    let summary = Engine::new(config, source, plan2geo_actors::testkit::NullSink, echo()).run().unwrap();
    assert_eq!((summary.enumerated, summary.extracted, summary.exit_code()), (UNITS, UNITS, 0));
    assert!(summary.reconciled && summary.unaccounted == 0);
    assert!(peak.load(Ordering::SeqCst) <= 1 << 30);
    assert!(summary.memory.samples.len() <= 512 && summary.memory.peak > 0);
    let requests = plan2geo_actors::ledger::read(&place).unwrap().map(|record| record.unwrap().request_id);
    assert!(requests.take(100).all(|request| request.as_deref() == Some("REQ-41000")));
}
