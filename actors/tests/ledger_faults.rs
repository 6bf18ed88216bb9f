//! A ledger that was changed is refused, and the place is named; one that was torn is told apart.

use std::fs::{OpenOptions, read};
use std::io::Write;
use std::path::{Path, PathBuf};

use plan2geo_actors::ledger::Verification;
use plan2geo_actors::testkit::{ScriptedKernel, number_of};
use proptest::prelude::*;
use tempfile::TempDir;

use crate::support::{config, done, malformed, plain, proof, run};

/// A finished run of some units, without the file that says how it was closed: what the chain alone can prove.
fn finished(units: u64, keep_closing: bool) -> (TempDir, PathBuf, Vec<u8>) {
    let (directory, config) = config(2, 4);
    let place = config.directory.clone();
    let kernel =
        ScriptedKernel::new(|unit, bytes, _| if number_of(unit) % 5 == 2 { Err(malformed()) } else { done(bytes) });
    let (source, sink) = plain(units);
    run(config, source, sink, kernel.factory());
    if !keep_closing {
        std::fs::remove_file(place.join("closed.json")).unwrap();
    }
    let ledger = read(place.join("ledger.jsonl")).unwrap();
    (directory, place, ledger)
}

fn put(place: &Path, name: &str, bytes: &[u8]) -> Verification {
    let mut file = OpenOptions::new().write(true).truncate(true).open(place.join(name)).unwrap();
    file.write_all(bytes).unwrap();
    proof(place)
}

/// Where each line begins, and where the file ends.
fn starts(bytes: &[u8]) -> Vec<usize> {
    let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
    std::iter::once(0).chain(ends).collect()
}

fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').collect()
}

/// R12, R59: a flipped bit anywhere but in the last line is found, and its line or the next is named.
#[test]
fn every_flipped_bit_is_found() {
    let (_directory, place, ledger) = finished(6, false);
    let starts = starts(&ledger);
    let last_line = starts[starts.len() - 2];
    for at in 0..last_line - 1 {
        let mut changed = ledger.clone();
        changed[at] ^= 1 << (at % 8);
        let found = put(&place, "ledger.jsonl", &changed);
        let line = starts.iter().filter(|start| **start <= at).count() as u64;
        // A line feed that is gone joins the last two lines; that is told from a tear only by the closing or a checkpoint.
        if found.faults.is_empty() && found.tear.is_some() {
            assert_eq!(line as usize, starts.len() - 2, "byte {at}");
            continue;
        }
        assert!(!found.is_sound(), "byte {at} of line {line}");
        let fault = &found.faults[0];
        assert!(fault.line == line || fault.line == line + 1, "byte {at} of line {line}: {fault}");
        assert_eq!(fault.byte, starts[fault.line as usize - 1] as u64, "{fault}");
    }
}

/// R12: with the closing in place, a flip in the very last line is found too, and so is a cut at the end of a line.
#[test]
fn the_closing_finds_what_a_chain_cannot() {
    let (_directory, place, ledger) = finished(12, true);
    assert!(proof(&place).is_complete());
    let starts = starts(&ledger);
    for at in starts[starts.len() - 2]..ledger.len() {
        let mut changed = ledger.clone();
        changed[at] ^= 1;
        assert!(!put(&place, "ledger.jsonl", &changed).is_complete(), "byte {at}");
    }
    for end in &starts[..starts.len() - 1] {
        let found = put(&place, "ledger.jsonl", &ledger[..*end]);
        assert!(!found.is_sound(), "cut at {end}");
    }
}

/// R12: a line that was deleted, swapped, repeated or slipped in is found and named.
#[test]
fn deleted_swapped_and_repeated_lines_are_named() {
    let (_directory, place, ledger) = finished(10, false);
    let whole = lines(&ledger);
    for nth in 0..whole.len() - 1 {
        let mut deleted = whole.clone();
        deleted.remove(nth);
        let found = put(&place, "ledger.jsonl", &deleted.concat());
        assert!(found.faults[0].what.contains("1 missing before it"), "{}", found.faults[0]);
        assert_eq!(found.faults[0].line, nth as u64 + 1);
        assert_eq!(found.unaccounted, 1);

        let mut swapped = whole.clone();
        swapped.swap(nth, nth + 1);
        let found = put(&place, "ledger.jsonl", &swapped.concat());
        assert_eq!(found.faults[0].line, nth as u64 + 1, "{}", found.faults[0]);

        let mut repeated = whole.clone();
        repeated.insert(nth, whole[nth]);
        let found = put(&place, "ledger.jsonl", &repeated.concat());
        assert!(found.faults.iter().any(|fault| fault.what.contains("repeated")), "{:?}", found.faults);
    }
    assert!(put(&place, "ledger.jsonl", &ledger).is_complete());
}

/// R12: a line put back from another run does not fit.
#[test]
fn a_line_of_another_run_does_not_fit() {
    let (_directory, place, ledger) = finished(6, false);
    let (_other, _, foreign) = finished(6, false);
    let mut mixed = lines(&ledger);
    let stranger = lines(&foreign);
    mixed[3] = stranger[3];
    let found = put(&place, "ledger.jsonl", &mixed.concat());
    assert!(found.faults[0].what.contains("belongs to the run"), "{}", found.faults[0]);
}

/// R5, R12: cut anywhere within the last three lines, what remains is sound, the tear is named, and the lost units are named.
#[test]
fn a_torn_end_is_told_from_a_changed_past() {
    let (_directory, place, ledger) = finished(10, false);
    let starts = starts(&ledger);
    let third_last = starts[starts.len() - 4];
    for cut in third_last..ledger.len() {
        let found = put(&place, "ledger.jsonl", &ledger[..cut]);
        assert!(found.is_sound(), "cut at {cut}: {:?}", found.faults);
        let whole = starts.iter().rev().find(|start| **start <= cut).unwrap();
        assert_eq!(found.tear.is_some(), *whole != cut, "cut at {cut}");
        if let Some(tear) = &found.tear {
            assert_eq!((tear.byte, tear.bytes), (*whole as u64, (cut - whole) as u64));
        }
        let kept = starts.iter().filter(|start| **start <= cut).count() as u64 - 1;
        assert_eq!((found.lines, found.unaccounted), (kept, 10 - kept));
        assert_eq!(found.missing.len() as u64, 10 - kept);
    }
    for garbage in [&[0_u8; 4096][..], b"garbage without an end", b"garbage\nin two\nlines\n", b"{\"seq\":10}\n"] {
        let found = put(&place, "ledger.jsonl", &[&ledger[..], garbage].concat());
        assert!(found.is_sound(), "{:?}", found.faults);
        assert_eq!(found.tear.unwrap().bytes, garbage.len() as u64);
    }
}

/// R12: the manifest is proved as well: a changed, deleted or added unit is found.
#[test]
fn a_changed_manifest_is_found() {
    let (_directory, place, _) = finished(10, true);
    let manifest = read(place.join("manifest.jsonl")).unwrap();
    let whole = lines(&manifest);
    let mut shorter = whole.clone();
    shorter.remove(4);
    assert!(!put(&place, "manifest.jsonl", &shorter.concat()).is_sound());
    let changed = String::from_utf8(manifest.clone()).unwrap().replacen("unit-000000003", "unit-00000000x", 1);
    assert!(!put(&place, "manifest.jsonl", changed.as_bytes()).is_sound());
    assert!(put(&place, "manifest.jsonl", &manifest).is_complete());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// Whatever bytes stand in the files, reading them ends, with an answer and without a panic.
    #[test]
    fn any_bytes_end_with_an_answer(ledger in prop::collection::vec(any::<u8>(), 0..400), manifest in "[ -~\n]{0,300}") {
        let (_directory, place, _) = finished(2, false);
        put(&place, "ledger.jsonl", &ledger);
        put(&place, "manifest.jsonl", manifest.as_bytes());
    }
}
