//! SIGTERM and SIGINT to a real process: the first drains, the second aborts, the third leaves with 130; the books are sound each time.
//!
//! The process is this test binary, started for the one test [`victim`].

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use plan2geo_actors::testkit::{DirectorySink, ScriptedKernel, ScriptedSource, eventually, number_of};
use plan2geo_actors::{Engine, EngineConfig, Existing, Level, Limits};

use crate::support::{done, proof};

const PLACE: &str = "PLAN2GEO_SIGNAL_PLACE";
/// Units of the victim that are done before its kernels wait.
const FREE: u64 = 6;

/// Works until its kernels wait for a file named `open`; exits with the code of the run. Does nothing unless started by the tests below.
#[test]
#[ignore = "is started, and signalled, by the other tests of this module"]
fn victim() {
    let Ok(place) = std::env::var(PLACE) else { return };
    let place = PathBuf::from(place);
    let mut config = EngineConfig::new(place.join("run"));
    config.limits = Limits { deadline: None, ..Limits::for_slots(2) };
    config.existing = Existing::Resume;
    config.signals = true;
    let patient = place.join("patient").is_file();
    let kernel = ScriptedKernel::new(move |unit, bytes, cx| {
        if number_of(unit) >= FREE {
            std::fs::File::create(place.join(format!("waits-{}", number_of(unit)))).unwrap();
            while !place.join("open").is_file() {
                // A patient kernel never looks whether it should give up.
                if !patient {
                    cx.checkpoint()?;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        done(bytes)
    });
    let sink = DirectorySink::new(PathBuf::from(std::env::var(PLACE).unwrap()).join("out"));
    let engine = Engine::new(config, ScriptedSource::units(500), sink, kernel.factory());
    let stop = engine.stop();
    // Says from outside how far the end has come.
    std::thread::spawn(move || {
        let place = PathBuf::from(std::env::var(PLACE).unwrap());
        for (level, name) in [(Level::Drain, "draining"), (Level::Abort, "aborting")] {
            futures::executor::block_on(stop.reached(level));
            std::fs::File::create(place.join(name)).unwrap();
        }
    });
    let summary = engine.run().unwrap();
    std::process::exit(summary.exit_code().into());
}

fn start(place: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "signals::victim", "--ignored", "--test-threads=1"]);
    let child = command.env(PLACE, place).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    eventually("both kernels wait", || {
        (FREE..FREE + 8).filter(|nth| place.join(format!("waits-{nth}")).is_file()).count() >= 2
            && records(place) >= FREE as usize
    });
    child
}

fn records(place: &Path) -> usize {
    std::fs::read_to_string(place.join("run/ledger.jsonl")).map_or(0, |text| text.lines().count())
}

fn signal(child: &Child, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(pid, signal).unwrap();
}

/// R93, R114, R135: SIGTERM lets what was enumerated finish, and the run can be gone on with.
#[test]
fn sigterm_drains() {
    let place = tempfile::tempdir().unwrap();
    let mut child = start(place.path());
    signal(&child, rustix::process::Signal::TERM);
    eventually("it drains", || place.path().join("draining").is_file());
    std::fs::File::create(place.path().join("open")).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let found = proof(&place.path().join("run"));
    assert!(found.is_sound() && found.closed && !found.manifest_closed, "{found:?}");
    assert_eq!((found.unaccounted, found.dead_letters), (0, 0));
    // Six free, two in slots, four waiting, one in the hand; a few more if one slot was quicker.
    assert!((FREE..500).contains(&found.enumerated));
    let again = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "signals::victim", "--ignored", "--test-threads=1"])
        .env(PLACE, place.path())
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert_eq!(again.code(), Some(0));
    assert!(proof(&place.path().join("run")).is_complete());
}

/// R93, R98, R114: a second signal, of either kind, dead-letters what runs and what waits within two seconds.
#[test]
fn a_second_signal_aborts() {
    let place = tempfile::tempdir().unwrap();
    let mut child = start(place.path());
    signal(&child, rustix::process::Signal::INT);
    eventually("it drains", || place.path().join("draining").is_file());
    let begun = std::time::Instant::now();
    signal(&child, rustix::process::Signal::TERM);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(begun.elapsed() < Duration::from_secs(2));
    let found = proof(&place.path().join("run"));
    assert!(found.is_sound() && found.unaccounted == 0, "{found:?}");
    assert_eq!(found.by_kind.get("cancelled"), Some(&found.dead_letters));
    assert!(found.dead_letters >= 2);
}

/// R114: a third signal leaves at once, even when no kernel ever looks up; what was recorded stays sound.
#[test]
fn a_third_signal_leaves_at_once() {
    let place = tempfile::tempdir().unwrap();
    std::fs::File::create(place.path().join("patient")).unwrap();
    let mut child = start(place.path());
    for heard in ["draining", "aborting"] {
        signal(&child, rustix::process::Signal::INT);
        eventually(heard, || place.path().join(heard).is_file());
    }
    signal(&child, rustix::process::Signal::INT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(proof(&place.path().join("run")).is_sound());
}
