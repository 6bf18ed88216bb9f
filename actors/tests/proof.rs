//! What can be shown to others: checkpoints, proofs of single lines, certificates, and lines handed on.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use plan2geo_actors::ledger::forward::{HttpJson, Line, Syslog, Target, tcp};
use plan2geo_actors::ledger::{CertifyError, CheckpointSettings, Signer, certify, forward, prove, verify_checkpoints};
use plan2geo_actors::testkit::{MemorySink, ScriptedKernel, ScriptedSource, number_of};
use plan2geo_actors::{Existing, UnitId};
use tempfile::TempDir;

use crate::support::{config, done, malformed, plain, records, run};

fn signer() -> Signer {
    Signer::generate("records.example").unwrap()
}

fn kernel() -> ScriptedKernel {
    ScriptedKernel::new(|unit, bytes, _| if number_of(unit) % 6 == 1 { Err(malformed()) } else { done(bytes) })
}

fn finished(units: u64, signer: &Signer) -> (TempDir, PathBuf) {
    let (directory, mut config) = config(2, 4);
    config.rotate_bytes = Some(4000);
    config.checkpoints = Some(CheckpointSettings {
        signer: signer.clone(),
        every: Duration::ZERO,
        also: Some(directory.path().join("elsewhere.ckpt")),
    });
    let place = config.directory.clone();
    run(config, ScriptedSource::units(units), MemorySink::default(), kernel().factory());
    (directory, place)
}

/// R12, R59: checkpoints kept elsewhere find a ledger that was cut or written anew, which its chain cannot.
#[test]
fn checkpoints_find_a_ledger_that_was_cut_or_written_anew() {
    let signer = signer();
    let (directory, place) = finished(30, &signer);
    let elsewhere = directory.path().join("elsewhere.ckpt");
    let found = verify_checkpoints(&place, &elsewhere, &signer.verifier()).unwrap();
    assert_eq!((found.faults.len(), found.covered, found.lines), (0, 30, 30));
    assert!(found.good >= 2);
    assert_eq!(std::fs::read(place.join("ledger.ckpt")).unwrap(), std::fs::read(&elsewhere).unwrap());

    // Cut at the end of a line, and the closing taken away: sound for the chain.
    let path = place.join("ledger.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    let last = text.trim_end().rfind('\n').map_or(0, |at| at + 1);
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(last as u64).unwrap();
    std::fs::remove_file(place.join("closed.json")).unwrap();
    let found = verify_checkpoints(&place, &elsewhere, &signer.verifier()).unwrap();
    assert!(found.faults[0].what.contains("29 lines and checkpoint"), "{:?}", found.faults);

    // Somebody else's key proves nothing.
    let stranger = Signer::generate("records.example").unwrap().verifier();
    let found = verify_checkpoints(&place, &elsewhere, &stranger).unwrap();
    assert_eq!(found.good, 0);
    assert!(found.faults[0].what.contains("not signed by"));
}

/// A resumed run goes on with the same tree.
#[test]
fn a_resumed_run_goes_on_with_its_checkpoints() {
    let signer = signer();
    let (_directory, mut config) = config(2, 4);
    config.checkpoints =
        Some(CheckpointSettings { signer: signer.clone(), every: Duration::from_secs(3600), also: None });
    let place = config.directory.clone();
    let kept = ScriptedSource::units(500);
    let handle = plan2geo_actors::Engine::new(config.clone(), kept.clone(), MemorySink::default(), kernel().factory())
        .start()
        .unwrap();
    plan2geo_actors::testkit::eventually("some are done", || handle.progress().read().done() > 20);
    handle.stop().drain("the test");
    let first = handle.join().unwrap();
    config.existing = Existing::Resume;
    run(config, kept, MemorySink::default(), kernel().factory());
    let found = verify_checkpoints(&place, &place.join("ledger.ckpt"), &signer.verifier()).unwrap();
    assert_eq!((found.faults.len(), found.covered), (0, 500));
    assert!(first.enumerated < 500 && found.good >= 3, "{found:?}");
}

/// One line is proved to somebody who has the public key and the proof; a changed line, path or number is not.
#[test]
fn one_line_is_proved_offline() {
    let signer = signer();
    let (_directory, place) = finished(30, &signer);
    let unit = |nth: u64| UnitId { doc_id: format!("unit-{nth:09}"), page: std::num::NonZeroU32::MIN };
    for nth in [0, 7, 13, 29] {
        let proof = prove(&place, &unit(nth), &signer).unwrap();
        let text = serde_json::to_string(&proof).unwrap();
        let mut received: plan2geo_actors::ledger::InclusionProof = serde_json::from_str(&text).unwrap();
        assert_eq!(received.check(&signer.verifier()).unwrap().size, 30);
        assert!(received.line.contains(&unit(nth).doc_id));
        received.line = received.line.replace("EXTRACTED", "EXTRACTEE").replace("DEAD_LETTER", "DEAD_LETTES");
        assert!(received.check(&signer.verifier()).unwrap_err().to_string().contains("does not lead to the root"));
        let mut shifted = proof.clone();
        shifted.seq = (shifted.seq + 1) % 30;
        assert!(shifted.check(&signer.verifier()).is_err());
    }
    let error = prove(&place, &unit(77), &signer).unwrap_err().to_string();
    assert!(error.contains("unit-000000077 has no line"), "{error}");
}

/// R60: a certificate is had for complete books only; it is signed, and a changed one is found.
#[test]
fn a_certificate_needs_complete_books() {
    let signer = signer();
    let (_directory, place) = finished(20, &signer);
    let certificate = certify(&place, &signer).unwrap();
    let of = &certificate.statement;
    assert_eq!((of.enumerated, of.extracted, of.dead_letters, of.gaps), (20, 16, 4, 0));
    certificate.check(&signer.verifier()).unwrap();
    let mut changed = certificate.clone();
    changed.statement.dead_letters = 0;
    assert!(changed.check(&signer.verifier()).is_err());
    let page = certificate.to_html();
    assert!(page.contains(&of.run_id.to_string()) && page.contains("<th>Without an outcome</th><td>0</td>"));
    assert!(!page.contains("PRIVATE"));

    let (_directory, config) = config(2, 4);
    let place = config.directory.clone();
    let (source, sink) = plain(10);
    run(config, source, sink, kernel().factory());
    std::fs::remove_file(place.join("closed.json")).unwrap();
    let lines = std::fs::read_to_string(place.join("ledger.jsonl")).unwrap();
    let cut = lines.trim_end().rfind('\n').unwrap() + 1;
    std::fs::OpenOptions::new().write(true).open(place.join("ledger.jsonl")).unwrap().set_len(cut as u64).unwrap();
    match certify(&place, &signer) {
        Err(CertifyError::Incomplete(reasons)) => {
            assert_eq!(reasons, ["unaccounted_pages:1", "the run was not finished; resume it"])
        }
        other => panic!("{other:?}"),
    }
}

/// Takes batches, and fails when it is told to.
#[derive(Default)]
struct Collector {
    taken: Vec<Line>,
    fail_from: Option<u64>,
}

impl Target for Collector {
    fn send(&mut self, lines: &[Line]) -> std::io::Result<()> {
        if self.fail_from.is_some_and(|from| lines.iter().any(|line| line.seq >= from)) {
            return Err(std::io::ErrorKind::ConnectionReset.into());
        }
        self.taken.extend_from_slice(lines);
        Ok(())
    }
}

/// R12: every line is handed on, in order, through all segments, going on from the cursor after a failure.
#[test]
fn every_line_is_handed_on_at_least_once() {
    let (directory, place) = finished(40, &signer());
    let cursor = directory.path().join("cursor.json");
    let mut collector = Collector { fail_from: Some(23), ..Collector::default() };
    let error = forward(&place, &cursor, &mut collector, 7).unwrap_err().to_string();
    assert!(error.starts_with("line ") && collector.taken.len() <= 23, "{error}");
    collector.fail_from = None;
    let answer = forward(&place, &cursor, &mut collector, 7).unwrap();
    assert_eq!(answer.next, 40);
    assert_eq!(forward(&place, &cursor, &mut collector, 7).unwrap().sent, 0);
    let taken: Vec<_> = collector.taken.iter().map(|line| line.seq).collect();
    assert_eq!(taken, (0..40).collect::<Vec<_>>());
    let kept = records(&place);
    for (line, record) in collector.taken.iter().zip(&kept) {
        assert_eq!((line.event, &line.ts), (record.event, &record.ts));
        assert!(serde_json::from_str::<serde_json::Value>(&line.json).is_ok());
    }
}

/// A long ledger is not read from its start for the last few lines, and none of them is missed.
#[test]
fn a_cursor_deep_in_a_long_ledger_is_found() {
    let (directory, config) = config(4, 8);
    let place = config.directory.clone();
    let (source, sink) = plain(2500);
    run(config, source, sink, kernel().factory());
    let cursor = directory.path().join("cursor.json");
    let run_id = plan2geo_actors::RunHeader::load(&place).unwrap().unwrap().run_id;
    for from in [1, 777, 1999, 2499, 2500] {
        put_cursor(&cursor, &format!(r#"{{"run_id":"{run_id}","seq":{from}}}"#));
        let mut collector = Collector::default();
        let answer = forward(&place, &cursor, &mut collector, 1000).unwrap();
        assert_eq!((answer.sent, answer.next), (2500 - from, 2500));
        assert_eq!(collector.taken.first().map(|line| line.seq), (from < 2500).then_some(from));
    }
}

fn put_cursor(path: &Path, text: &str) {
    std::fs::File::create(path).unwrap().write_all(text.as_bytes()).unwrap();
}

/// The two connections speak what collectors understand.
#[test]
fn lines_go_out_as_syslog_and_as_http() {
    let (directory, place) = finished(6, &signer());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut received = String::new();
        stream.read_to_string(&mut received).unwrap();
        received
    });
    let mut target = Syslog::over(tcp(address), "host one", "plan2geo");
    forward(&place, &directory.path().join("syslog.json"), &mut target, 100).unwrap();
    drop(target);
    let received = server.join().unwrap();
    let mut rest = received.as_str();
    let mut messages = Vec::new();
    while let Some((length, after)) = rest.split_once(' ') {
        let length: usize = length.parse().unwrap();
        messages.push(&after[..length]);
        rest = &after[length..];
    }
    assert_eq!(messages.len(), 6);
    assert!(
        messages
            .iter()
            .any(|message| message.starts_with("<132>1 ") && message.contains(" DEAD_LETTER [plan2geo@32473 run="))
    );
    assert!(
        messages
            .iter()
            .any(|message| message.starts_with("<134>1 ") && message.contains(" hostone plan2geo - EXTRACTED "))
    );

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let server = std::thread::spawn(move || {
        let mut bodies = Vec::new();
        for answer in ["503 Service Unavailable", "204 No Content"] {
            let (mut stream, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut length = 0;
            loop {
                let mut header = String::new();
                reader.read_line(&mut header).unwrap();
                if let Some(value) = header.strip_prefix("Content-Length: ") {
                    length = value.trim().parse().unwrap();
                }
                if header == "\r\n" {
                    break;
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            bodies.push(String::from_utf8(body).unwrap());
            write!(stream, "HTTP/1.1 {answer}\r\nContent-Length: 0\r\n\r\n").unwrap();
        }
        bodies
    });
    let cursor = directory.path().join("http.json");
    let mut target = HttpJson::over(tcp(address.as_str()), address, "/ingest");
    assert!(forward(&place, &cursor, &mut target, 100).unwrap_err().to_string().contains("503 Service Unavailable"));
    assert_eq!(forward(&place, &cursor, &mut target, 100).unwrap().next, 6);
    let bodies = server.join().unwrap();
    assert_eq!(bodies[0].lines().next(), bodies[1].lines().next());
}
