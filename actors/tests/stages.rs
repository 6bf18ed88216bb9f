//! Every stage can be the slow one, and each slows the listing in the same way; what each took is told apart.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use plan2geo_actors::ledger::{Closing, Faults};
use plan2geo_actors::testkit::{Gate, MemorySink, ScriptedKernel, ScriptedSource, eventually, number_of};
use plan2geo_actors::{Engine, EngineConfig};

use crate::support::{check_books, config, dead, done, echo, malformed, plain, run};

/// A stage to be stalled.
#[derive(Debug, Clone, Copy)]
enum Stalled {
    Read,
    Parse,
    Store,
    Record,
}

fn start(config: EngineConfig, stalled: Stalled, gate: &Gate, source: ScriptedSource) -> plan2geo_actors::RunHandle {
    let wait = gate.clone();
    match stalled {
        Stalled::Read => {
            let source = source.reading(move |_| {
                let wait = wait.clone();
                Box::pin(async move {
                    wait.pass().await;
                    Ok(Bytes::from_static(b"x"))
                })
            });
            Engine::new(config, source, MemorySink::default(), echo()).start().unwrap()
        }
        Stalled::Parse => {
            let kernel = ScriptedKernel::new(move |_, bytes, _| {
                wait.block();
                done(bytes)
            });
            Engine::new(config, source, MemorySink::default(), kernel.factory()).start().unwrap()
        }
        Stalled::Store => Engine::new(config, source, MemorySink::stalled_at(gate), echo()).start().unwrap(),
        Stalled::Record => {
            let faults = Faults(Some(Arc::new(move |point| {
                if point == "ledger.before_write" {
                    wait.block();
                }
                Ok(())
            })));
            Engine::new(EngineConfig { faults, ..config }, source, MemorySink::default(), echo()).start().unwrap()
        }
    }
}

/// R9, R19, R25, R64, R65, R69, R102, R109, R118: whichever stage stalls (even the disk under the ledger), exactly `slots + waiting + 1` units are enumerated, and
/// progress can be read all the while.
#[test]
fn whichever_stage_stalls_the_listing_stops_at_the_same_number() {
    let (slots, waiting) = (3, 5);
    let exactly = (slots + waiting + 1) as u64;
    for stalled in [Stalled::Read, Stalled::Parse, Stalled::Store, Stalled::Record] {
        let (_directory, config) = config(slots, waiting);
        let place = config.directory.clone();
        let gate = Gate::closed();
        let source = ScriptedSource::units(100);
        let asked = source.clone();
        let handle = start(config, stalled, &gate, source);
        eventually("the listing stands still", || {
            asked.asked() == exactly && handle.progress().read().waiting == waiting
        });
        let progress = handle.progress().read();
        assert_eq!((progress.active, progress.done()), (slots, 0), "{stalled:?}");
        let before = progress.oldest_waiting;
        std::thread::sleep(Duration::from_millis(15));
        let progress = handle.progress().read();
        assert!(progress.oldest_waiting >= before + Duration::from_millis(15));
        assert_eq!((asked.asked(), progress.enumerated), (exactly, exactly), "{stalled:?}");
        gate.open();
        let summary = handle.join().unwrap();
        check_books(&place, &summary);
        assert_eq!((summary.extracted, summary.queue.peak), (100, waiting), "{stalled:?}");
    }
}

/// R6, R71, R110, R112: a run is complete when every outcome is recorded and every output stored, not when everything was listed; the books say so without the
/// process.
#[test]
fn a_run_is_complete_when_every_outcome_is_recorded() {
    let (_directory, config) = config(2, 50);
    let place = config.directory.clone();
    let gate = Gate::closed();
    let handle = start(config, Stalled::Store, &gate, ScriptedSource::units(20));
    eventually("everything is listed", || handle.progress().read().listed);
    let progress = handle.progress().read();
    assert_eq!((progress.enumerated, progress.extracted, progress.dead_letters), (20, 0, 0));
    assert_eq!((progress.active, progress.waiting), (2, 17));
    assert_eq!(Closing::load(&place).unwrap(), None);
    assert!(!crate::support::proof(&place).is_complete());
    gate.open();
    let summary = handle.join().unwrap();
    check_books(&place, &summary);
    assert!(Closing::load(&place).unwrap().unwrap().complete && crate::support::proof(&place).is_complete());
}

/// R67, R116: time is told apart by stage, for each unit in its line and over the run.
#[test]
fn time_is_told_apart_by_stage() {
    let (_directory, config) = config(2, 4);
    let source = ScriptedSource::units(10).reading(|_| {
        Box::pin(async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            Ok(Bytes::from_static(b"x"))
        })
    });
    let kernel = ScriptedKernel::new(|unit, bytes, _| {
        std::thread::sleep(Duration::from_millis(40));
        if number_of(unit) == 4 { Err(malformed()) } else { done(bytes) }
    });
    let (summary, records) = run(config, source, MemorySink::default(), kernel.factory());
    assert_eq!(dead(&records).len(), 1);
    assert!(records.iter().all(|record| record.ms.read >= 19 && record.ms.parse >= 39), "{records:?}");
    assert!(records.iter().any(|record| record.ms.queue >= 50), "later ones waited");
    let stage = |name: &str| summary.stages[name].clone();
    assert_eq!(
        (stage("read").count, stage("parse").count, stage("write").count, stage("total").count),
        (10, 10, 9, 10)
    );
    assert!(stage("parse").p50_ms >= 35.0 && stage("read").p95_ms >= 18.0);
    assert!(stage("total").max_ms >= stage("parse").max_ms + stage("read").p50_ms * 0.9);
}

/// R144: a longer queue holds more units and does no more at once.
#[test]
fn a_longer_queue_does_no_more_at_once() {
    for waiting in [4, 64] {
        let (_directory, config) = config(2, waiting);
        let (source, sink) = plain(300);
        let (summary, _) = run(config, source, sink, echo());
        assert!(summary.slots.peak <= 2 && summary.queue.peak <= waiting);
    }
}

/// R3, R17, R127: what a run holds in memory does not grow with the number of its units: only so many documents are alive at one time.
#[test]
fn documents_alive_do_not_grow_with_the_batch() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    struct Document(Arc<(AtomicUsize, AtomicUsize)>, [u8; 1]);
    impl AsRef<[u8]> for Document {
        fn as_ref(&self) -> &[u8] {
            &self.1
        }
    }
    impl Drop for Document {
        fn drop(&mut self) {
            self.0.0.fetch_sub(1, Ordering::SeqCst);
        }
    }
    let mut peaks = Vec::new();
    for units in [40, 4000] {
        let (_directory, config) = config(3, 6);
        let alive = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
        let counted = Arc::clone(&alive);
        let source = ScriptedSource::units(units).reading(move |_| {
            let counted = Arc::clone(&counted);
            Box::pin(async move {
                counted.1.fetch_max(counted.0.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                Ok(Bytes::from_owner(Document(counted, [1])))
            })
        });
        let kernel = ScriptedKernel::new(|_, bytes, _| done(&Bytes::copy_from_slice(bytes)));
        let (summary, _) = run(config, source, MemorySink::default(), kernel.factory());
        assert_eq!((summary.extracted, alive.0.load(Ordering::SeqCst)), (units, 0));
        peaks.push(alive.1.load(Ordering::SeqCst));
    }
    assert!(peaks.iter().all(|peak| (1..=3).contains(peak)), "{peaks:?}");
}
