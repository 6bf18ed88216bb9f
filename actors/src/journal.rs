//! Notes of outputs about to be stored, so that a crash between output and record need not repeat the work.
//!
//! One line before each store: where the output goes and what its digest will be. It is written, not synced: a lost note only means that the unit
//! is run again. On resume a unit without an outcome whose output stands there with that digest is recorded, not run.

use std::collections::{BTreeMap, HashMap};
use std::fs::{File, OpenOptions};
use std::io::{BufReader, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::kernel::Extraction;
use crate::ledger::bitmap::Bitmap;
use crate::ledger::manifest::read_line;
use crate::ledger::{Durability, LedgerError};

const FILE: &str = "inflight.jsonl";

/// An output that is said to be there already. It is believed only after its digest was looked at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Claim {
    /// Bytes of the document it was made from.
    pub(crate) bytes: u64,
    /// For the ledger, as the kernel gave them.
    pub(crate) facts: BTreeMap<String, Value>,
    /// Relative to the root of the sink.
    pub(crate) output: String,
    pub(crate) output_bytes: u64,
    pub(crate) output_sha256: String,
}

#[derive(Serialize, Deserialize)]
struct Line {
    index: u64,
    #[serde(flatten)]
    claim: Claim,
}

/// Writes the notes of one run.
#[derive(Debug, Clone)]
pub(crate) struct Journal {
    file: Option<Arc<Mutex<File>>>,
}

impl Journal {
    /// Opens the notes of a run. Without durability there are none.
    pub(crate) fn open(directory: &Path, durability: Durability) -> Result<Self, LedgerError> {
        if durability == Durability::Process {
            return Ok(Self { file: None });
        }
        let path = directory.join(FILE);
        let file = OpenOptions::new().create(true).append(true).open(&path).map_err(LedgerError::io(&path))?;
        Ok(Self { file: Some(Arc::new(Mutex::new(file))) })
    }

    /// Notes that this output is about to be stored.
    pub(crate) fn storing(&self, index: u64, output: &str, extraction: &Extraction, bytes: u64) {
        let Some(file) = &self.file else { return };
        let claim = Claim {
            bytes,
            facts: extraction.facts.clone(),
            output: output.to_owned(),
            output_bytes: extraction.output.len(),
            output_sha256: extraction.output.sha256_hex(),
        };
        let Ok(mut line) = serde_json::to_vec(&Line { index, claim }) else {
            return;
        };
        line.push(b'\n');
        // A note that is lost costs a repetition, nothing else; a full disk shows itself at the ledger.
        if let Err(error) = file.lock().unwrap_or_else(PoisonError::into_inner).write_all(&line) {
            tracing::warn!(%error, "an output about to be stored could not be noted");
        }
    }

    /// The last note of each unit without an outcome: about as many as there were slots.
    pub(crate) fn claims(directory: &Path, done: &Bitmap) -> Result<HashMap<u64, Claim>, LedgerError> {
        let path = directory.join(FILE);
        let mut claims = HashMap::new();
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(claims),
            Err(error) => return Err(LedgerError::io(&path)(error)),
        };
        let mut file = BufReader::with_capacity(256 << 10, file);
        let mut line = Vec::new();
        loop {
            let whole = read_line(&mut file, &mut line).map_err(LedgerError::io(&path))?;
            if line.is_empty() {
                return Ok(claims);
            }
            // Half a note is none.
            if whole
                && let Ok(Line { index, claim }) = serde_json::from_slice(&line)
                && !done.contains(index)
            {
                claims.insert(index, claim);
            }
        }
    }

    /// Takes the notes of a finished run away.
    pub(crate) fn remove(directory: &Path) {
        drop(std::fs::remove_file(directory.join(FILE)));
    }
}
