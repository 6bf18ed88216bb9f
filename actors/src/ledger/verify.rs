//! Proves the books of a run from its files alone: every link of the chain, one terminal line a unit, manifest against ledger.
//!
//! What this cannot see is a ledger that was rewritten from the start by somebody who can write all files of the run; a signed checkpoint
//! kept elsewhere is for that. A cut at the end of a line is seen when the run was closed properly.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::bitmap::Bitmap;
use super::manifest::{ManifestLine, ManifestReader};
use super::record::Event;
pub use super::walk::{Fault, Tear};
use super::walk::{MOST_FAULTS, walk};
use super::{Closing, LEDGER, LedgerError, MANIFEST, RunHeader, id_hash};
use crate::hex;
use crate::unit::{RunId, UnitId};

/// What [`verify`] found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verification {
    /// The run.
    pub run_id: RunId,
    /// Units in the manifest.
    pub enumerated: u64,
    /// Whether the listing came to its end.
    pub manifest_closed: bool,
    /// Lines `EXTRACTED`.
    pub extracted: u64,
    /// Lines `DEAD_LETTER`.
    pub dead_letters: u64,
    /// Dead letters by kind.
    pub by_kind: BTreeMap<String, u64>,
    /// Lines in the ledger.
    pub lines: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Digest of the last line.
    pub head: String,
    /// Whether the run was closed properly, and the ledger still stands as it did then.
    pub closed: bool,
    /// Units without an outcome.
    pub unaccounted: u64,
    /// The first of them, at most 100.
    pub missing: Vec<UnitId>,
    /// What was changed after it was written; at most 100.
    pub faults: Vec<Fault>,
    /// An end that was never finished; what a crash leaves.
    pub tear: Option<Tear>,
}

impl Verification {
    /// Whether nothing was changed: an unfinished run may be sound.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.faults.is_empty()
    }

    /// Whether the books are sound, whole and balanced: every unit of a finished listing has its outcome.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.is_sound() && self.tear.is_none() && self.manifest_closed && self.unaccounted == 0
    }
}

/// Proves the books in a run's directory.
///
/// Takes one pass over each file and 8 bytes a unit.
///
/// # Errors
///
/// When a file cannot be read, or there is no run. What is wrong *in* the files is in the [`Verification`].
pub fn verify(directory: &Path) -> Result<Verification, LedgerError> {
    let header = RunHeader::load(directory)?
        .ok_or_else(|| LedgerError::Mismatch { path: directory.to_owned(), what: "there is no run.json".to_owned() })?;
    verify_run(directory, header.run_id)
}

pub(crate) fn verify_run(directory: &Path, run: RunId) -> Result<Verification, LedgerError> {
    let mut faults = Vec::new();
    let (ids, manifest_closed, manifest_bytes) = match read_ids(directory, &mut faults) {
        Err(LedgerError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => (Vec::new(), false, 0),
        other => other?,
    };
    let mut seen = Bitmap::default();
    let (mut extracted, mut dead_letters) = (0, 0);
    let mut by_kind = BTreeMap::new();
    let walked = walk(directory, run, |envelope| {
        match envelope.event {
            Event::Extracted => extracted += 1,
            Event::DeadLetter => {
                dead_letters += 1;
                let kind = envelope.error.as_ref().map_or("unknown", |error| error.kind.as_str());
                match by_kind.get_mut(kind) {
                    Some(count) => *count += 1,
                    None => drop(by_kind.insert(kind.to_owned(), 1)),
                }
            }
        }
        let Some(id) = usize::try_from(envelope.index).ok().and_then(|index| ids.get(index)) else {
            return Some(format!("its unit {} was never enumerated", envelope.index));
        };
        if *id != short_id(&envelope.doc_id, envelope.page) {
            return Some(format!("its unit {} is another one in the manifest", envelope.index));
        }
        (!seen.insert(envelope.index)).then(|| format!("its unit {} has a terminal line already", envelope.index))
    })?;
    faults.extend(walked.faults);
    let head = hex::encode(&walked.head);
    let closing = Closing::load(directory)?;
    if let Some(closing) = &closing {
        check_closing(directory, closing, &head, walked.lines, ids.len() as u64, &mut faults);
    }
    faults.truncate(MOST_FAULTS);
    let unaccounted = ids.len() as u64 - seen.count();
    let missing = if unaccounted == 0 { Vec::new() } else { name_missing(directory, &seen)? };
    Ok(Verification {
        run_id: run,
        enumerated: ids.len() as u64,
        manifest_closed,
        extracted,
        dead_letters,
        by_kind,
        lines: walked.lines,
        bytes: walked.bytes + manifest_bytes,
        head,
        closed: closing.is_some(),
        unaccounted,
        missing,
        faults,
        tear: walked.tear,
    })
}

fn check_closing(
    directory: &Path,
    closing: &Closing,
    head: &str,
    lines: u64,
    enumerated: u64,
    faults: &mut Vec<Fault>,
) {
    let mut fault = |file: &str, what: String| {
        faults.push(Fault { path: directory.join(file), byte: 0, line: 0, what });
    };
    if closing.lines != lines {
        fault(LEDGER, format!("the run was closed with {} lines and there are {lines}", closing.lines));
    } else if closing.head != head {
        fault(LEDGER, "its last line is not the one the run was closed with".to_owned());
    }
    if closing.enumerated != enumerated {
        fault(MANIFEST, format!("the run was closed with {} units and there are {enumerated}", closing.enumerated));
    }
}

/// A short number for each unit of the manifest, in order.
fn read_ids(directory: &Path, faults: &mut Vec<Fault>) -> Result<(Vec<u64>, bool, u64), LedgerError> {
    let mut manifest = ManifestReader::open(directory)?;
    let mut ids = Vec::new();
    loop {
        match manifest.next_id(|doc_id, page| short_id(doc_id, page.get())) {
            Ok(Some(id)) => ids.push(id),
            Ok(None) => break,
            Err(LedgerError::Damaged { path, byte, line, what }) => {
                faults.push(Fault { path, byte, line, what });
                break;
            }
            Err(error) => return Err(error),
        }
    }
    // The closing line ends the loop; anything behind it is a fault.
    if faults.is_empty()
        && let Err(LedgerError::Damaged { path, byte, line, what }) = manifest.next_line()
    {
        faults.push(Fault { path, byte, line, what });
    }
    Ok((ids, manifest.is_closed(), manifest.offset()))
}

/// Names units of the manifest that are not in `seen`, at most 100.
pub(crate) fn name_missing(directory: &Path, seen: &Bitmap) -> Result<Vec<UnitId>, LedgerError> {
    let mut missing = Vec::new();
    let mut manifest = ManifestReader::open(directory)?;
    while let Ok(Some(line)) = manifest.next_line() {
        if let ManifestLine::Unit(entry) = line
            && !seen.contains(entry.index)
        {
            missing.push(entry.unit.id());
            if missing.len() == MOST_FAULTS {
                break;
            }
        }
    }
    Ok(missing)
}

pub(crate) fn short_id(doc_id: &str, page: u32) -> u64 {
    id_hash(doc_id, page) as u64
}
