//! What a run is and how it was closed: two small JSON files, written whole or not at all.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::record::{timestamp, write_value};
use super::{LedgerError, VERSION, sync_directory};
use crate::hex;
use crate::unit::RunId;

const HEADER: &str = "run.json";
const CLOSING: &str = "closed.json";

/// What a run is: written before anything else and never changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunHeader {
    /// When it was begun, RFC 3339.
    pub created: String,
    /// The run whose dead letters this one replays.
    #[serde(default)]
    pub parent_run: Option<RunId>,
    /// The run whose unchanged outputs this one takes over.
    #[serde(default)]
    pub previous_run: Option<RunId>,
    /// Name and version of the program.
    pub program: String,
    /// The request the batch belongs to.
    #[serde(default)]
    pub request_id: Option<String>,
    /// Its name.
    pub run_id: RunId,
    /// Every setting that decides what outputs are, by its dotted key.
    pub settings: BTreeMap<String, Value>,
    /// SHA-256 over program and settings: what must be equal for a resume.
    pub settings_sha256: String,
    /// What trace ids are made in.
    pub trace_namespace: Uuid,
    /// Version of the formats in this directory.
    pub v: u32,
}

impl RunHeader {
    /// The header of a run that begins now.
    #[must_use]
    pub fn new(run_id: RunId, program: impl Into<String>, settings: BTreeMap<String, Value>) -> Self {
        let program = program.into();
        Self {
            created: timestamp(Timestamp::now()),
            parent_run: None,
            previous_run: None,
            request_id: None,
            run_id,
            settings_sha256: settings_digest(&program, &settings),
            program,
            settings,
            trace_namespace: run_id.0,
            v: VERSION,
        }
    }

    /// Reads the header in a run's directory; `None` if there is none.
    ///
    /// # Errors
    ///
    /// When it is there and cannot be read.
    pub fn load(directory: &Path) -> Result<Option<Self>, LedgerError> {
        load(&directory.join(HEADER))
    }

    /// What differs from the settings of another run, one line a key: `key: this → other`.
    #[must_use]
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let mut lines = Vec::new();
        if self.program != other.program {
            lines.push(format!("program: {} → {}", self.program, other.program));
        }
        let keys: std::collections::BTreeSet<_> = self.settings.keys().chain(other.settings.keys()).collect();
        let show = |value: Option<&Value>| value.map_or_else(|| "(unset)".to_owned(), Value::to_string);
        for key in keys {
            let (ours, theirs) = (self.settings.get(key), other.settings.get(key));
            if ours != theirs {
                lines.push(format!("{key}: {} → {}", show(ours), show(theirs)));
            }
        }
        lines
    }

    pub(crate) fn store(&self, directory: &Path) -> Result<(), LedgerError> {
        store(directory, HEADER, self)
    }
}

fn settings_digest(program: &str, settings: &BTreeMap<String, Value>) -> String {
    let mut bytes = program.as_bytes().to_vec();
    for (key, value) in settings {
        bytes.push(b'\n');
        bytes.extend_from_slice(key.as_bytes());
        bytes.push(b'=');
        write_value(&mut bytes, value);
    }
    hex::encode(&Sha256::digest(&bytes))
}

/// How a ledger stood when its run ended properly. Finds a ledger that was cut at the end of a line, which a chain alone cannot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closing {
    /// Whether the listing came to its end and every unit has its outcome: nothing is left to resume.
    pub complete: bool,
    /// Units in the manifest.
    pub enumerated: u64,
    /// Digest of the last line, or what `prev` of a first line would be.
    pub head: String,
    /// Lines in the ledger.
    pub lines: u64,
    /// When, RFC 3339.
    pub ts: String,
}

impl Closing {
    /// Reads the closing in a run's directory; `None` if the run has not ended properly.
    ///
    /// # Errors
    ///
    /// When it is there and cannot be read.
    pub fn load(directory: &Path) -> Result<Option<Self>, LedgerError> {
        load(&directory.join(CLOSING))
    }

    pub(crate) fn store(&self, directory: &Path) -> Result<(), LedgerError> {
        store(directory, CLOSING, self)
    }

    /// Taken away when a run goes on.
    pub(crate) fn remove(directory: &Path) -> Result<(), LedgerError> {
        let path = directory.join(CLOSING);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(LedgerError::io(&path)(error)),
            _ => sync_directory(directory).map_err(LedgerError::io(directory)),
        }
    }
}

fn load<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, LedgerError> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(LedgerError::io(path)(error)),
    };
    serde_json::from_slice(&bytes).map(Some).map_err(|error| LedgerError::Damaged {
        path: path.to_owned(),
        byte: 0,
        line: 1,
        what: error.to_string(),
    })
}

fn store(directory: &Path, name: &str, value: &impl Serialize) -> Result<(), LedgerError> {
    let path = directory.join(name);
    let temporary = directory.join(format!("{name}.new"));
    let write = || -> io::Result<()> {
        let mut bytes = Vec::new();
        write_value(&mut bytes, &serde_json::to_value(value)?);
        bytes.push(b'\n');
        let mut file = File::create(&temporary)?;
        file.write_all(&bytes)?;
        file.sync_all()?;
        std::fs::rename(&temporary, &path)?;
        sync_directory(directory)
    };
    write().map_err(LedgerError::io(&path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_named_by_key() {
        let run = RunId::random();
        let one =
            RunHeader::new(run, "p 1", BTreeMap::from([("a.b".to_owned(), 1.into()), ("c".to_owned(), true.into())]));
        let two = RunHeader::new(run, "p 2", BTreeMap::from([("a.b".to_owned(), 2.into())]));
        assert_eq!(one.differences(&two), ["program: p 1 → p 2", "a.b: 1 → 2", "c: true → (unset)"]);
        assert_ne!(one.settings_sha256, two.settings_sha256);
        assert!(one.differences(&one).is_empty());
    }

    #[test]
    fn header_and_closing_survive_the_disk() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(RunHeader::load(directory.path()).unwrap(), None);
        let header = RunHeader::new(RunId::random(), "p", BTreeMap::new());
        header.store(directory.path()).unwrap();
        assert_eq!(RunHeader::load(directory.path()).unwrap(), Some(header));
    }
}
