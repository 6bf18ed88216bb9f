//! Killed by SIGKILL at named points and at random moments, again and again, and resumed: nothing is lost, nothing is done twice.
//!
//! The process that is killed is this test binary, started for the one test [`victim`] with the place to work in its environment.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use bytes::Bytes;
use plan2geo_actors::ledger::{Event, Faults, read, verify};
use plan2geo_actors::testkit::faults::{POINTS, kill_at};
use plan2geo_actors::testkit::{DirectorySink, ScriptedKernel, ScriptedSource, number_of};
use plan2geo_actors::{Engine, EngineConfig, Existing, Limits, Sink};

use crate::support::{done, malformed};

const UNITS: u64 = 40;
const PLACE: &str = "PLAN2GEO_CRASH_PLACE";
const POINT: &str = "PLAN2GEO_CRASH_POINT";

/// One attempt at the batch. Does nothing unless it is started by the tests below.
#[test]
#[ignore = "is started, and killed, by the other tests of this module"]
fn victim() {
    let Ok(place) = std::env::var(PLACE) else { return };
    let place = PathBuf::from(place);
    let faults = match std::env::var(POINT) {
        Ok(text) => {
            let (point, nth) = text.split_once(' ').unwrap();
            let point = POINTS.into_iter().find(|known| *known == point).unwrap();
            kill_at(point, nth.parse().unwrap())
        }
        Err(_) => Faults::default(),
    };
    attempt(&place, faults);
}

fn attempt(place: &Path, faults: Faults) -> plan2geo_actors::RunSummary {
    let mut config = EngineConfig::new(place.join("run"));
    config.limits = Limits { deadline: None, ..Limits::for_slots(3) };
    config.existing = Existing::Resume;
    config.rotate_bytes = Some(4000);
    config.faults = faults.clone();
    let log = OpenOptions::new().create(true).append(true).open(place.join("executed")).unwrap();
    let kernel = ScriptedKernel::new(move |unit, bytes, _| {
        (&log).write_all(format!("{}\n", unit.doc_id).as_bytes()).unwrap();
        if number_of(unit) % 7 == 3 { Err(malformed()) } else { done(bytes) }
    });
    let source = ScriptedSource::units(UNITS).reading(|unit| {
        // Long enough that a kill can fall into the middle of a write.
        Box::pin(async move { Ok(Bytes::from(unit.doc_id.repeat(2000))) })
    });
    let sink = DirectorySink::new(place.join("out")).with_faults(faults);
    Engine::new(config, source, sink, kernel.factory()).run().unwrap()
}

fn start(place: &Path, point: Option<(&str, u64)>) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "crash::victim", "--ignored", "--test-threads=1"]);
    command.env(PLACE, place).env_remove(POINT).stdout(Stdio::null()).stderr(Stdio::null());
    if let Some((point, nth)) = point {
        command.env(POINT, format!("{point} {nth}"));
    }
    command.spawn().unwrap()
}

/// What must hold after every kill. Returns the units that are recorded.
fn recorded(place: &Path) -> BTreeSet<String> {
    let run = place.join("run");
    if !run.join("ledger.jsonl").is_file() && !run.join("manifest.jsonl").is_file() {
        return BTreeSet::new();
    }
    let proof = verify(&run).unwrap();
    assert!(proof.is_sound(), "{:?}", proof.faults);
    let records: Vec<_> = read(&run).unwrap().filter_map(Result::ok).collect();
    let outputs = DirectorySink::new(place.join("out"));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for record in &records {
        if record.event == Event::Extracted {
            let digest = runtime.block_on(outputs.digest(record.output.as_ref().unwrap())).unwrap();
            assert_eq!(digest, record.output_sha256, "a recorded output is whole: {}", record.doc_id);
        }
    }
    let ids: BTreeSet<_> = records.iter().map(|record| record.doc_id.clone()).collect();
    assert_eq!(ids.len(), records.len(), "one line a unit");
    ids
}

fn executed(place: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(place.join("executed")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Follows one batch through its kills.
struct Batch {
    place: tempfile::TempDir,
    known: BTreeSet<String>,
    seen: usize,
    kills: u32,
}

impl Batch {
    fn new() -> Self {
        Self { place: tempfile::tempdir().unwrap(), known: BTreeSet::new(), seen: 0, kills: 0 }
    }

    /// Looks at what an attempt left: everything recorded before is still there, and none of it was done again.
    fn look(&mut self) {
        let now = recorded(self.place.path());
        assert!(now.is_superset(&self.known), "a recorded outcome was lost");
        let all = executed(self.place.path());
        for unit in &all[self.seen..] {
            assert!(!self.known.contains(unit), "{unit} was recorded and is done again");
        }
        (self.known, self.seen) = (now, all.len());
    }

    fn killed(&mut self, child: &mut Child) -> bool {
        let status = child.wait().unwrap();
        let killed = status.signal() == Some(9);
        assert!(killed || status.success(), "{status}");
        self.kills += u32::from(killed);
        self.look();
        killed
    }

    /// The last attempt runs to its end; the whole is as if nothing had happened.
    fn finish(mut self) -> u32 {
        let summary = attempt(self.place.path(), Faults::default());
        self.look();
        let proof = verify(&self.place.path().join("run")).unwrap();
        assert!(proof.is_complete(), "{proof:?}");
        assert_eq!((summary.exit_code(), summary.enumerated, summary.dead_letters), (3, UNITS, 6));
        assert_eq!(self.known.len() as u64, UNITS);
        let mut times = BTreeMap::new();
        for unit in executed(self.place.path()) {
            *times.entry(unit).or_insert(0) += 1;
        }
        assert_eq!(times.len() as u64, UNITS);
        self.kills
    }
}

/// R5, R77, R100, R103, R108, R114, R168: at every named point, at its first, second and a later passing.
#[test]
fn killed_at_every_named_point() {
    let mut kills = 0;
    for point in POINTS {
        let mut batch = Batch::new();
        for nth in [1, 2, 5, 3, 1] {
            let mut child = start(batch.place.path(), Some((point, nth)));
            batch.killed(&mut child);
        }
        assert!(batch.kills > 0, "{point} was never passed");
        kills += batch.finish();
    }
    assert!(kills >= 50, "{kills} kills");
}

/// R100, R114: at random moments, until the batch is done, and with another batch again.
#[test]
fn killed_at_random_moments() {
    let mut kills = 0;
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    while kills < 60 {
        let mut batch = Batch::new();
        loop {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let mut child = start(batch.place.path(), None);
            std::thread::sleep(Duration::from_micros(3000 + (state >> 33) % 25_000));
            drop(child.kill());
            if !batch.killed(&mut child) {
                break;
            }
        }
        kills += batch.finish();
    }
}
