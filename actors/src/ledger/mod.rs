//! What a run leaves on disk, and how it is read and proved.
//!
//! * `run.json`: what the run is ([`RunHeader`]), written once.
//! * `manifest.jsonl`: one line per enumerated unit, durable before the unit is dispatched, closed with count and digest.
//! * `ledger.jsonl`: one line per terminal outcome, each holding the digest of the line before. Closed segments stand beside it as
//!   `ledger.<first seq>.jsonl`.
//! * `closed.json`: count and head of a ledger that was closed properly ([`Closing`]).
//!
//! The AuditWriter is the only writer of the ledger. Everything here is synchronous and runs on threads that may block.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::failure::FailureKind;
use crate::unit::{RunId, UnitId};

pub(crate) mod bitmap;
pub mod certificate;
pub mod checkpoint;
pub mod forward;
pub mod manifest;
pub mod read;
pub mod record;
pub mod run_file;
pub mod tree;
pub mod verify;
pub(crate) mod walk;
pub(crate) mod writer;

pub use certificate::{Certificate, CertifyError, certify};
pub use checkpoint::{
    Checkpoint, CheckpointSettings, CheckpointVerification, InclusionProof, NoteError, Signer, Verifier, prove,
    verify_checkpoints,
};
pub use forward::{ForwardError, Forwarded, forward};
pub use manifest::{ManifestEntry, ManifestLine, ManifestReader};
pub use read::{Records, read};
pub use record::{ErrorRecord, Event, Record, StageMillis};
pub use run_file::{Closing, RunHeader};
pub use verify::{Fault, Tear, Verification, verify};
pub use writer::Durability;

/// The version of line format, the key `v`.
pub const VERSION: u32 = 1;
/// The file of enumerated units.
pub const MANIFEST: &str = "manifest.jsonl";
/// The file of terminal outcomes.
pub const LEDGER: &str = "ledger.jsonl";
/// The longest line that is read, in bytes: a longer one is a fault, not a reason to fill memory.
pub const MAX_LINE: usize = 4 << 20;

/// Reading or writing the books failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// The file could not be opened, read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A line is not what it must be.
    #[error("{} is damaged at byte {byte} (line {line}): {what}", path.display())]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// Offset of the line.
        byte: u64,
        /// Number of the line in the file, counted from 1.
        line: u64,
        /// What is wrong with it.
        what: String,
    },
    /// Another process holds the run.
    #[error("{} is in use by {holder}", path.display())]
    InUse {
        /// The directory of the run.
        path: PathBuf,
        /// Who holds it, as it wrote itself down.
        holder: String,
    },
    /// The run on disk is not the one asked for.
    #[error("the run in {} cannot be resumed: {what}", path.display())]
    Mismatch {
        /// The directory of the run.
        path: PathBuf,
        /// The difference.
        what: String,
    },
}

impl LedgerError {
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }
}

/// What stands in the key `prev` of the first line: it ties a ledger to its run.
#[must_use]
pub fn genesis(run: RunId) -> [u8; 32] {
    Sha256::new().chain_update(b"plan2geo-actors ledger/1\n").chain_update(run.0.as_bytes()).finalize().into()
}

/// A number for a unit that depends on nothing but its identity. Sums of these compare sets without holding them.
#[must_use]
pub fn id_hash(doc_id: &str, page: u32) -> u128 {
    let digest: [u8; 32] = Sha256::new()
        .chain_update(doc_id.as_bytes())
        .chain_update([0])
        .chain_update(page.to_be_bytes())
        .finalize()
        .into();
    let mut first = [0; 16];
    first.copy_from_slice(&digest[..16]);
    u128::from_be_bytes(first)
}

/// As [`id_hash`].
#[must_use]
pub fn id_hash_of(id: &UnitId) -> u128 {
    id_hash(&id.doc_id, id.page.get())
}

/// Makes the names in a directory durable.
pub(crate) fn sync_directory(directory: &Path) -> io::Result<()> {
    #[cfg(unix)]
    File::open(directory)?.sync_all()?;
    #[cfg(not(unix))]
    let _ = directory;
    Ok(())
}

/// The segments of the ledger in a run's directory, oldest first; the open one last, if it is there.
pub(crate) fn segments(directory: &Path) -> Result<Vec<PathBuf>, LedgerError> {
    let mut closed = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(LedgerError::io(directory))? {
        let entry = entry.map_err(LedgerError::io(directory))?;
        let name = entry.file_name();
        let first =
            name.to_str().and_then(|name| name.strip_prefix("ledger.")?.strip_suffix(".jsonl")?.parse::<u64>().ok());
        if let Some(first) = first {
            closed.push((first, entry.path()));
        }
    }
    closed.sort();
    let mut paths: Vec<_> = closed.into_iter().map(|(_, path)| path).collect();
    let open = directory.join(LEDGER);
    if open.try_exists().map_err(LedgerError::io(&open))? {
        paths.push(open);
    }
    Ok(paths)
}

/// Whether a ledger holds a dead letter of one of these kinds. A search through the bytes, much quicker than reading the lines.
///
/// # Errors
///
/// When the ledger cannot be read.
pub fn holds_dead_letter(directory: &Path, kinds: &[FailureKind]) -> Result<bool, LedgerError> {
    // Quotes within a text are escaped, so this stands nowhere but in the error of a dead letter.
    let words: Vec<_> = kinds.iter().map(|kind| format!("\"error\":{{\"kind\":\"{kind}\"")).collect();
    let longest = words.iter().map(String::len).max().unwrap_or(0);
    let mut window = vec![0; 1 << 20];
    for path in segments(directory)? {
        let mut file = File::open(&path).map_err(LedgerError::io(&path))?;
        let mut kept = 0;
        loop {
            let read = io::Read::read(&mut file, &mut window[kept..]).map_err(LedgerError::io(&path))?;
            if read == 0 {
                break;
            }
            let filled = kept + read;
            if words.iter().any(|word| memchr::memmem::find(&window[..filled], word.as_bytes()).is_some()) {
                return Ok(true);
            }
            // A word may begin in this piece and end in the next.
            kept = filled.min(longest.saturating_sub(1));
            window.copy_within(filled - kept..filled, 0);
        }
    }
    Ok(false)
}

/// The place of a closed segment whose first line has that number.
pub(crate) fn segment_path(directory: &Path, first: u64) -> PathBuf {
    directory.join(format!("ledger.{first:012}.jsonl"))
}

/// A place in the engine where a test can inject a crash or an error. Does nothing otherwise.
pub type FaultHook = std::sync::Arc<dyn Fn(&'static str) -> io::Result<()> + Send + Sync>;

/// The hook, if there is one.
#[derive(Clone, Default)]
pub struct Faults(pub Option<FaultHook>);

impl Faults {
    /// Passes a named point.
    ///
    /// # Errors
    ///
    /// What the hook injects.
    pub fn at(&self, point: &'static str) -> io::Result<()> {
        self.0.as_ref().map_or(Ok(()), |hook| hook(point))
    }
}

impl std::fmt::Debug for Faults {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "Faults(injected)" } else { "Faults(none)" })
    }
}
