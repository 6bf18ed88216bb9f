//! Going on with a run that ended early, and doing a finished batch again.

use std::fs::OpenOptions;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use plan2geo_actors::ledger::{Closing, Record};
use plan2geo_actors::testkit::{
    DirectorySink, Gate, MemorySink, ScriptedKernel, ScriptedSource, eventually, number_of, numbered,
};
use plan2geo_actors::{Durability, Ended, Engine, EngineConfig, Existing, Found, RunError, RunSummary};
use serde_json::json;

use crate::support::{config, done, echo, malformed, plain, records, run};

/// Lets so many units through, then drains; the journal is kept as for a real run.
fn interrupted(config: &EngineConfig, sink: &DirectorySink, source: ScriptedSource, after: u64) -> RunSummary {
    let gate = Gate::closed();
    let inside = gate.clone();
    let kernel = ScriptedKernel::new(move |unit, bytes, _| {
        if number_of(unit) >= after {
            inside.block();
        }
        done(bytes)
    });
    let handle = Engine::new(config.clone(), source, sink.clone(), kernel.factory()).start().unwrap();
    eventually("the first are done", || gate.waiting() == config.limits.slots);
    handle.stop().drain("the test");
    gate.open();
    handle.join().unwrap()
}

/// A kernel that notes what it was given.
fn noting() -> (ScriptedKernel, Arc<Mutex<Vec<u64>>>) {
    let seen: Arc<Mutex<Vec<u64>>> = Arc::default();
    let note = Arc::clone(&seen);
    let kernel = ScriptedKernel::new(move |unit, bytes, _| {
        note.lock().unwrap().push(number_of(unit));
        done(bytes)
    });
    (kernel, seen)
}

fn durable(config: EngineConfig) -> EngineConfig {
    EngineConfig { durability: Durability::Full, ..config }
}

/// R100, R103, R168: a drained run is gone on with; only the rest is done; names and trace ids stay.
#[test]
fn a_resume_does_only_the_rest() {
    let (directory, config) = config(2, 4);
    let mut config = durable(config);
    let sink = DirectorySink::new(directory.path().join("out"));
    let first = interrupted(&config, &sink, ScriptedSource::units(60), 20);
    assert_eq!((first.ended, first.exit_code()), (Ended::Interrupted, 130));
    let before = records(&config.directory);
    assert_eq!(before.len() as u64, first.enumerated);

    config.existing = Existing::Resume;
    let (kernel, seen) = noting();
    let (second, all) = run(config, ScriptedSource::units(60), sink, kernel.factory());
    assert_eq!((second.ended, second.exit_code(), second.resumed), (Ended::Completed, 0, true));
    assert_eq!((second.enumerated, second.extracted, second.recorded_before), (60, 60, first.enumerated));
    assert_eq!(second.run_id, first.run_id);
    assert_eq!(all[..before.len()], before[..]);
    let mut seen = seen.lock().unwrap().clone();
    seen.sort_unstable();
    assert_eq!(seen, (first.enumerated..60).collect::<Vec<_>>());
}

/// A finished run that is resumed does nothing and stays as it was.
#[test]
fn a_finished_run_resumed_does_nothing() {
    let (_directory, mut config) = config(2, 4);
    let (source, sink) = plain(10);
    run(config.clone(), source.clone(), sink.clone(), echo());
    let before = std::fs::read(config.directory.join("ledger.jsonl")).unwrap();
    config.existing = Existing::Resume;
    let ledger = config.directory.join("ledger.jsonl");
    let (kernel, seen) = noting();
    let (summary, _) = run(config, source, sink, kernel.factory());
    assert_eq!((summary.extracted, summary.exit_code(), seen.lock().unwrap().len()), (10, 0, 0));
    assert_eq!(std::fs::read(ledger).unwrap(), before);
}

/// Without being told so, nobody writes into a run that is there.
#[test]
fn an_existing_run_is_not_touched_unasked() {
    let (_directory, config) = config(2, 4);
    let (source, sink) = plain(3);
    run(config.clone(), source.clone(), sink.clone(), echo());
    let error = Engine::new(config, source, sink, echo()).run().unwrap_err();
    assert!(error.to_string().contains("there is a run already"), "{error}");
}

/// A resume under settings that would change outputs is refused, with the difference.
#[test]
fn changed_settings_are_refused_with_the_difference() {
    let (_directory, mut config) = config(2, 4);
    config.settings.insert("plan.snap_m".to_owned(), json!(0.01));
    let (source, sink) = plain(3);
    run(config.clone(), source.clone(), sink.clone(), echo());
    config.existing = Existing::Resume;
    config.settings.insert("plan.snap_m".to_owned(), json!(0.02));
    config.program = "plan2geo-actors 9".to_owned();
    let error = Engine::new(config, source, sink, echo()).run().unwrap_err().to_string();
    assert!(error.contains("plan.snap_m: 0.01 → 0.02") && error.contains("→ plan2geo-actors 9"), "{error}");
}

/// R101: the second engine on one directory is refused and told who holds it.
#[test]
fn two_runs_on_one_directory_do_not_meet() {
    let (_directory, mut config) = config(1, 1);
    config.existing = Existing::Resume;
    let gate = Gate::closed();
    let sink = MemorySink::stalled_at(&gate);
    let first = Engine::new(config.clone(), ScriptedSource::units(5), sink.clone(), echo()).start().unwrap();
    eventually("the first holds it", || gate.waiting() == 1);
    let error = Engine::new(config, ScriptedSource::units(5), sink, echo()).run().unwrap_err();
    let expected = format!("is in use by process {} since", std::process::id());
    assert!(matches!(error, RunError::Ledger(_)) && error.to_string().contains(&expected), "{error}");
    gate.open();
    assert_eq!(first.join().unwrap().extracted, 5);
}

/// Cuts the last lines off a ledger, as if they had never become durable.
fn forget(directory: &Path, lines: usize, also: u64) -> Vec<Record> {
    let all = records(directory);
    let path = directory.join("ledger.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    let keep: usize = text.split_inclusive('\n').take(all.len() - lines).map(str::len).sum();
    OpenOptions::new().write(true).open(&path).unwrap().set_len(keep as u64 + also).unwrap();
    drop(std::fs::remove_file(directory.join("closed.json")));
    all[all.len() - lines..].to_vec()
}

/// R107, R108: outputs that were stored before the crash are recognised by their digest and recorded, not made again; a damaged one is made again.
#[test]
fn units_in_flight_at_a_crash_are_unresolved_until_looked_at() {
    let (directory, config) = config(2, 4);
    let mut config = durable(config);
    let out = directory.path().join("out");
    let sink = DirectorySink::new(&out);
    let first = interrupted(&config, &sink, ScriptedSource::units(40), 20);
    let forgotten = forget(&config.directory, 3, 0);
    let damaged = &forgotten[1];
    std::fs::remove_file(out.join(damaged.output.as_ref().unwrap())).unwrap();

    config.existing = Existing::Resume;
    let (kernel, seen) = noting();
    let (summary, all) = run(config, ScriptedSource::units(40), sink, kernel.factory());
    assert_eq!((summary.extracted, summary.recorded_before), (40, first.enumerated - 3));
    let mut seen = seen.lock().unwrap().clone();
    seen.sort_unstable();
    let mut wanted: Vec<_> = (first.enumerated..40).chain([damaged.index]).collect();
    wanted.sort_unstable();
    assert_eq!(seen, wanted);
    for record in &forgotten {
        let again = all.iter().find(|again| again.index == record.index).unwrap();
        assert_eq!(
            (&again.output_sha256, again.trace_id, again.bytes),
            (&record.output_sha256, record.trace_id, record.bytes)
        );
    }
}

/// R168: a torn end is moved aside, byte for byte, and the run goes on; for every place it can be torn at.
#[test]
fn a_torn_end_is_moved_aside_and_done_again() {
    let (_directory, base) = config(2, 4);
    let (source, sink) = plain(8);
    run(base.clone(), source.clone(), sink.clone(), echo());
    let ledger = std::fs::read(base.directory.join("ledger.jsonl")).unwrap();
    let last = ledger[..ledger.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    let mut cuts: Vec<_> = (last + 1..ledger.len()).step_by(37).collect();
    cuts.push(ledger.len() - 1);
    for cut in cuts {
        let (_other, mut config) = config(2, 4);
        copy(&base.directory, &config.directory);
        std::fs::remove_file(config.directory.join("closed.json")).unwrap();
        OpenOptions::new()
            .write(true)
            .open(config.directory.join("ledger.jsonl"))
            .unwrap()
            .set_len(cut as u64)
            .unwrap();
        config.existing = Existing::Resume;
        let place = config.directory.clone();
        let (summary, _) = run(config, source.clone(), sink.clone(), echo());
        assert_eq!((summary.extracted, summary.recorded_before), (8, 7), "cut at {cut}");
        assert!(summary.notes.iter().any(|note| note.code == "LEDGER_TORN"));
        let torn = names(&place).into_iter().find(|name| name.starts_with("ledger.torn.")).unwrap();
        assert_eq!(std::fs::read(place.join(torn)).unwrap(), ledger[last..cut]);
    }
}

/// A fault within is never repaired: the resume is refused and the file is left as it is.
#[test]
fn a_damaged_ledger_is_refused() {
    let (_directory, mut config) = config(2, 4);
    let (source, sink) = plain(8);
    run(config.clone(), source.clone(), sink.clone(), echo());
    let path = config.directory.join("ledger.jsonl");
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    let mut file = OpenOptions::new().write(true).open(&path).unwrap();
    std::io::Write::write_all(&mut file, &bytes).unwrap();
    config.existing = Existing::Resume;
    let error = Engine::new(config, source, sink, echo()).run().unwrap_err();
    assert!(error.to_string().contains("is damaged at byte"), "{error}");
    assert_eq!(std::fs::read(path).unwrap(), bytes);
}

/// What vanished or appeared between the attempts is noted and costs nobody an outcome.
#[test]
fn what_changed_in_the_source_meanwhile_is_noted() {
    let (directory, config) = config(1, 1);
    let mut config = durable(config);
    let sink = DirectorySink::new(directory.path().join("out"));
    let even: Vec<_> = (0..40).map(|nth| numbered(nth * 2)).collect();
    let first = interrupted(&config, &sink, ScriptedSource::of(even.clone()), 20);
    assert!(first.enumerated < 40);
    // One enumerated entry is gone, one appeared among the enumerated, one appeared after.
    let mut later = even;
    later.remove(2);
    later.insert(4, numbered(9));
    later.push(numbered(101));
    config.existing = Existing::Resume;
    let (summary, all) = run(config, ScriptedSource::of(later), sink, echo());
    assert_eq!((summary.vanished, summary.appeared), (1, 1));
    assert_eq!((summary.enumerated, all.len()), (41, 41));
    assert!(summary.notes.iter().any(|note| note.code == "APPEARED"));
}

/// A batch done again does only what is new, changed, failed before or damaged; the rest is carried over with its outputs untouched.
#[test]
fn a_finished_batch_done_again_does_only_what_changed() {
    let (directory, first) = config(2, 4);
    let out = directory.path().join("out");
    let sink = DirectorySink::new(&out);
    let kernel = ScriptedKernel::new(|unit, bytes, _| {
        if number_of(unit) == 5 { Err(malformed()) } else { Ok(done(bytes)?.with_fact("chars", 8)) }
    });
    let (before, old) = run(first.clone(), ScriptedSource::units(30), sink.clone(), kernel.factory());
    assert_eq!(before.dead_letters, 1);

    std::fs::remove_file(out.join("unit-000000012.out")).unwrap();
    let mut found: Vec<Found> = (0..30).map(numbered).collect();
    found[20].version = Some("2".to_owned());
    found.remove(25);
    found.push(numbered(40));
    let mut second = first.clone();
    second.directory = directory.path().join("again");
    second.run_id = plan2geo_actors::RunId::random();
    second.previous = Some(first.directory.clone());
    let untouched = std::fs::metadata(out.join("unit-000000003.out")).unwrap().modified().unwrap();
    let (kernel, seen) = noting();
    let (summary, new) = run(second.clone(), ScriptedSource::of(found.clone()), sink.clone(), kernel.factory());
    assert_eq!((summary.enumerated, summary.extracted, summary.vanished), (30, 30, 1));
    assert_eq!(summary.vanished_units[0].doc_id, "unit-000000025");
    let mut seen = seen.lock().unwrap().clone();
    seen.sort_unstable();
    assert_eq!(seen, [5, 12, 20, 40]);
    assert_eq!(std::fs::metadata(out.join("unit-000000003.out")).unwrap().modified().unwrap(), untouched);
    let three = |records: &[Record]| records.iter().find(|record| record.doc_id.ends_with('3')).unwrap().clone();
    let (carried, original) = (three(&new), three(&old));
    assert_eq!(carried.facts["carried_from"], before.run_id.to_string());
    assert_eq!((carried.facts["chars"].clone(), carried.trace_id), (json!(8), original.trace_id));
    assert_eq!(carried.output_sha256, original.output_sha256);

    // And once more: now nothing is left to do.
    let mut third = second.clone();
    third.directory = directory.path().join("once more");
    third.previous = Some(second.directory);
    let (kernel, seen) = noting();
    let (summary, _) = run(third, ScriptedSource::of(found), sink, kernel.factory());
    assert_eq!((summary.extracted, seen.lock().unwrap().len()), (30, 0));
}

/// A batch that is done again, interrupted and gone on with still carries over what has not changed, also behind the interruption.
#[test]
fn a_batch_done_again_and_interrupted_carries_over_to_its_end() {
    let (directory, first) = config(2, 4);
    let sink = DirectorySink::new(directory.path().join("out"));
    run(first.clone(), ScriptedSource::units(200), sink.clone(), echo());
    // One of the first and one of the last are gone.
    let found: Vec<Found> = (0..200).filter(|nth| ![1, 198].contains(nth)).map(numbered).collect();
    let mut again = first.clone();
    again.directory = directory.path().join("again");
    again.run_id = plan2geo_actors::RunId::random();
    again.previous = Some(first.directory.clone());
    let (kernel, seen) = noting();
    // The listing stalls in its middle.
    let half: Vec<Found> = found[..100].to_vec();
    let stalling = ScriptedSource::listing(move |nth| {
        let found = half.get(nth as usize).cloned();
        Box::pin(async move {
            match found {
                Some(found) => Some(Ok(found)),
                None => std::future::pending().await,
            }
        })
    });
    let handle = Engine::new(again.clone(), stalling, sink.clone(), kernel.clone().factory()).start().unwrap();
    eventually("half of it is carried over", || handle.progress().read().done() == 100);
    handle.stop().drain("the test");
    let interrupted = handle.join().unwrap();
    let header = plan2geo_actors::RunHeader::load(&again.directory).unwrap().unwrap();
    assert_eq!(header.previous_run, plan2geo_actors::RunHeader::load(&first.directory).unwrap().map(|run| run.run_id));
    again.existing = Existing::Resume;
    let (summary, _) = run(again, ScriptedSource::of(found), sink, kernel.factory());
    assert_eq!((summary.enumerated, summary.extracted, summary.vanished), (198, 198, 2));
    assert_eq!((summary.recorded_before, interrupted.enumerated), (100, 100));
    assert!(seen.lock().unwrap().is_empty(), "nothing had changed");
}

/// R100: the ledger goes on in a new segment when one is full; closed ones are read-only; all are read as one.
#[test]
fn a_rotated_ledger_is_one_ledger() {
    let (directory, config) = config(2, 4);
    let mut config = durable(config);
    config.rotate_bytes = Some(3000);
    let sink = DirectorySink::new(directory.path().join("out"));
    let first = interrupted(&config, &sink, ScriptedSource::units(60), 25);
    config.existing = Existing::Resume;
    let place = config.directory.clone();
    let (summary, all) = run(config, ScriptedSource::units(60), sink, echo());
    assert_eq!((summary.extracted, summary.recorded_before), (60, first.enumerated));
    let closed: Vec<_> = names(&place).into_iter().filter(|name| name.starts_with("ledger.0")).collect();
    assert!(closed.len() >= 4, "{closed:?}");
    for name in &closed {
        let path = place.join(name);
        assert!(std::fs::metadata(&path).unwrap().permissions().readonly());
        let first_seq: u64 = name["ledger.".len()..name.len() - ".jsonl".len()].parse().unwrap();
        let text = std::fs::read_to_string(path).unwrap();
        assert!(text.contains(&format!("\"seq\":{first_seq},")));
    }
    assert_eq!(all.iter().map(|record| record.seq).collect::<Vec<_>>(), (0..60).collect::<Vec<_>>());
    assert!(Closing::load(&place).unwrap().unwrap().complete);
}

/// A resume whose first attempt died before anything was enumerated begins as if it were the first.
#[test]
fn a_run_that_died_at_once_begins_again() {
    let (_directory, mut config) = config(2, 4);
    config.existing = Existing::Resume;
    let calls = AtomicU32::new(0);
    config.faults = plan2geo_actors::testkit::faults::fail_at("manifest.before_write", 1, 5);
    let (source, sink) = plain(5);
    let summary = Engine::new(config.clone(), source.clone(), sink.clone(), echo()).run().unwrap();
    assert_eq!((summary.enumerated, summary.exit_code()), (0, 1));
    config.faults = plan2geo_actors::ledger::Faults::default();
    let (summary, _) = run(config, source, sink, move || {
        calls.fetch_add(1, Ordering::SeqCst);
        ScriptedKernel::echo()
    });
    assert_eq!((summary.extracted, summary.exit_code()), (5, 0));
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for name in names(from) {
        std::fs::copy(from.join(&name), to.join(&name)).unwrap();
    }
}
