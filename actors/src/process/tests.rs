//! The test program itself is the child: a test of the name `serve_for_tests` serves when a variable tells it to.

use std::process::Command;
use std::time::Duration;

use bytes::Bytes;

use super::*;
use crate::failure::{Failure, FailureKind, Stage};
use crate::kernel::{Extraction, Kernel, KernelContext, Signal};
use crate::source::Found;
use crate::spool::{SpoolSettings, Spooled};
use crate::unit::{RunId, Unit};

const VARIABLE: &str = "PLAN2GEO_TEST_CHILD";

/// Does what the document says.
struct Scripted;

impl Kernel for Scripted {
    fn extract(&mut self, unit: &Unit, bytes: Bytes, cx: &KernelContext) -> Result<Extraction, Failure> {
        match bytes.as_ref() {
            b"panic" => panic!("asked to"),
            b"abort" => std::process::abort(),
            b"exit" => std::process::exit(7),
            b"overflow" => Ok(Extraction::new(Spooled::from_bytes(descend(1).to_string()))),
            b"memory" => {
                let mut hoard: Vec<Vec<u8>> = Vec::new();
                loop {
                    hoard.push(vec![hoard.len() as u8; 8 << 20]);
                }
            }
            b"hang" => loop {
                std::thread::park();
            },
            b"spin" => {
                let mut number = 0_u64;
                loop {
                    number = std::hint::black_box(number.wrapping_add(1));
                }
            }
            b"refuse" => Err(Failure::new(FailureKind::Malformed, Stage::Parse, "as asked")),
            document => {
                cx.checkpoint()?;
                let mut extraction = Extraction::new(Spooled::from_bytes(document.to_ascii_uppercase()));
                extraction.attachments.push((".txt".to_owned(), Spooled::from_bytes(unit.doc_id.clone())));
                Ok(extraction.with_fact("chars", document.len()).with_fact("pid", std::process::id()))
            }
        }
    }
}

#[expect(unconditional_recursion, reason = "the overflow is the test")]
fn descend(depth: u64) -> u64 {
    let frame = std::hint::black_box([depth; 64]);
    descend(depth + 1) + frame[0]
}

#[test]
fn serve_for_tests() {
    if std::env::var_os(VARIABLE).is_some() {
        // The harness prints to standard output; the pipe is descriptor 3 (see `kernel`).
        let pipe = std::fs::OpenOptions::new().write(true).open("/dev/fd/3").unwrap();
        let served = child::serve_on(std::io::stdin().lock(), pipe, |_| Ok(Scripted));
        std::process::exit(i32::from(served.is_err()));
    }
}

fn kernel(limits: ProcessLimits) -> ProcessKernel {
    let command = || {
        let mut command = Command::new("sh");
        let serve = "exec \"$0\" --exact process::tests::serve_for_tests --nocapture 3>&1 1>/dev/null";
        command.args(["-c", serve]);
        command.arg(std::env::current_exe().unwrap()).env(VARIABLE, "1");
        command
    };
    ProcessKernel::new(command, serde_json::Value::Null, limits, SpoolSettings::default())
}

fn run(kernel: &mut ProcessKernel, document: &'static str) -> Result<Extraction, Failure> {
    run_within(kernel, document, None)
}

fn run_within(
    kernel: &mut ProcessKernel,
    document: &'static str,
    time: Option<Duration>,
) -> Result<Extraction, Failure> {
    let unit = Unit::from_found(Found::new("A/L02", 1, "A/L02", "text"), RunId::random(), None);
    let cx = KernelContext::new(time, SpoolSettings::default(), Signal::default());
    kernel.extract(&unit, Bytes::from_static(document.as_bytes()), &cx)
}

fn kind_and_message(outcome: Result<Extraction, Failure>) -> (FailureKind, String) {
    let failure = outcome.unwrap_err();
    assert_eq!(failure.stage, Stage::Parse);
    (failure.kind, failure.message)
}

#[test]
fn output_attachments_and_facts_come_back_and_the_child_is_kept() {
    let mut kernel = kernel(ProcessLimits::default());
    let first = run(&mut kernel, "abc").unwrap();
    assert_eq!(first.output.in_memory().unwrap().as_ref(), b"ABC");
    assert_eq!(first.attachments[0].0, ".txt");
    assert_eq!(first.attachments[0].1.in_memory().unwrap().as_ref(), b"A/L02");
    assert_eq!(first.facts["chars"], 3);
    assert_ne!(first.facts["pid"], std::process::id());
    let second = run(&mut kernel, "defg").unwrap();
    assert_eq!(second.facts["pid"], first.facts["pid"], "one child for many units");
    let (kind, _) = kind_and_message(run(&mut kernel, "refuse"));
    assert_eq!(kind, FailureKind::Malformed);
    assert_eq!(run(&mut kernel, "x").unwrap().facts["pid"], first.facts["pid"], "a refusal costs no child");
}

// R50, R132, R169: however the child ends, it costs one unit, and the next one gets a fresh child.
#[test]
fn a_child_that_dies_costs_one_unit() {
    let mut kernel = kernel(ProcessLimits::default());
    for (document, kind, word) in [
        ("abort", FailureKind::Crashed, "signal 6"),
        ("exit", FailureKind::Crashed, "exit code 7"),
        ("overflow", FailureKind::Crashed, "overflow"),
        ("panic", FailureKind::Panicked, "panicked"),
    ] {
        let (got, message) = kind_and_message(run(&mut kernel, document));
        assert_eq!(got, kind, "{document}: {message}");
        assert!(message.contains(word), "{document}: {message}");
        assert_eq!(run(&mut kernel, "ok").unwrap().output.in_memory().unwrap().as_ref(), b"OK");
    }
}

// R98, R142: a child that hangs and never looks at its deadline is killed at it.
#[test]
fn a_child_that_hangs_is_killed_at_the_deadline() {
    let mut kernel = kernel(ProcessLimits::default());
    run(&mut kernel, "warm").unwrap();
    let (kind, _) = kind_and_message(run_within(&mut kernel, "hang", Some(Duration::from_millis(50))));
    assert_eq!(kind, FailureKind::Timeout);
    assert!(run(&mut kernel, "ok").is_ok());
}

// R98: an abort of the run kills the child.
#[test]
fn a_cancelled_unit_kills_its_child() {
    let mut kernel = kernel(ProcessLimits::default());
    run(&mut kernel, "warm").unwrap();
    let signal = Signal::default();
    let cx = KernelContext::new(None, SpoolSettings::default(), signal.clone());
    let unit = Unit::from_found(Found::new("A/L02", 1, "A/L02", "text"), RunId::random(), None);
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(30));
            signal.cancel();
        });
        kernel.extract(&unit, Bytes::from_static(b"hang"), &cx)
    });
    assert_eq!(kind_and_message(outcome).0, FailureKind::Cancelled);
}

// R139: memory and processor time are bounded by the system.
#[test]
fn limits_hold() {
    let mut small = kernel(ProcessLimits { memory_bytes: Some(1 << 30), ..ProcessLimits::default() });
    let (kind, message) = kind_and_message(run(&mut small, "memory"));
    assert_eq!(kind, FailureKind::OutOfMemory, "{message}");
    assert!(run(&mut small, "ok").is_ok());

    let mut slow = kernel(ProcessLimits { cpu_seconds: Some(1), ..ProcessLimits::default() });
    let (kind, message) = kind_and_message(run(&mut slow, "spin"));
    assert_eq!(kind, FailureKind::Timeout, "{message}");
}

#[test]
fn a_program_that_cannot_start_is_named() {
    let command = || Command::new("/nonexistent/program");
    let mut kernel =
        ProcessKernel::new(command, serde_json::Value::Null, ProcessLimits::default(), SpoolSettings::default());
    let (kind, message) = kind_and_message(run(&mut kernel, "abc"));
    assert_eq!(kind, FailureKind::Io);
    assert!(message.contains("cannot start"), "{message}");
}
