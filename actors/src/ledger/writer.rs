//! The only writer of a ledger: one `write` and one `fdatasync` a batch, never again after an error.
//!
//! After a failed fsync nobody knows what the disk holds, so it is not repeated: the writer refuses everything from then on and the run
//! ends. What stands on disk is then decided by the next reader.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use sha2::{Digest, Sha256};

use super::checkpoint::Notary;
use super::record::{Position, write_line};
use super::{Faults, LEDGER, LedgerError, genesis, segment_path, sync_directory};
use crate::hex;
use crate::messages::Terminal;
use crate::unit::RunId;

/// Whether batches are made durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// `fdatasync` after each batch: survives the loss of power.
    #[default]
    Full,
    /// None: survives the loss of the process only. For measurements and tests.
    Process,
}

/// Where a ledger stands: continued on resume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) seq: u64,
    pub(crate) digest: [u8; 32],
    pub(crate) last: Option<Timestamp>,
}

impl Head {
    pub(crate) fn start(run: RunId) -> Self {
        Self { seq: 0, digest: genesis(run), last: None }
    }
}

pub(crate) struct LedgerWriter {
    directory: PathBuf,
    path: PathBuf,
    file: File,
    run: RunId,
    head: Head,
    head_hex: String,
    buffer: Vec<u8>,
    durability: Durability,
    faults: Faults,
    poisoned: bool,
    /// Bytes and first line of the open segment.
    segment_bytes: u64,
    segment_first: u64,
    rotate_bytes: Option<u64>,
    notary: Option<Notary>,
}

impl LedgerWriter {
    /// Opens the ledger for appending; `head` is where it ends now and `segment_first` the number of its first line.
    pub(crate) fn open(
        directory: &Path,
        run: RunId,
        head: Head,
        segment_first: u64,
        durability: Durability,
        faults: Faults,
        rotate_bytes: Option<u64>,
    ) -> Result<Self, LedgerError> {
        let path = directory.join(LEDGER);
        let file = OpenOptions::new().create(true).append(true).open(&path).map_err(LedgerError::io(&path))?;
        let segment_bytes = file.metadata().map_err(LedgerError::io(&path))?.len();
        sync_directory(directory).map_err(LedgerError::io(directory))?;
        Ok(Self {
            directory: directory.to_owned(),
            path,
            file,
            run,
            head_hex: hex::encode(&head.digest),
            head,
            buffer: Vec::new(),
            durability,
            faults,
            poisoned: false,
            segment_bytes,
            segment_first,
            rotate_bytes,
            notary: None,
        })
    }

    /// From now on with checkpoints.
    pub(crate) fn with_notary(mut self, notary: Option<Notary>) -> Self {
        self.notary = notary;
        self
    }

    /// The last checkpoint, when the run ends.
    pub(crate) fn conclude(&mut self) -> Result<(), LedgerError> {
        match &mut self.notary {
            Some(notary) if !self.poisoned => notary.committed(true),
            _ => Ok(()),
        }
    }

    /// Adds a line to the batch.
    pub(crate) fn add(&mut self, terminal: &Terminal) {
        // The clock may go backwards; the ledger does not.
        let now = Timestamp::now();
        let ts = self.head.last.map_or(now, |last| last.max(now));
        let begin = self.buffer.len();
        let position = Position { run: self.run, seq: self.head.seq, prev: &self.head_hex, ts };
        write_line(&mut self.buffer, terminal, &position);
        let line = &self.buffer[begin..];
        let digest = Sha256::digest(line);
        if let Some(notary) = &mut self.notary {
            notary.add(line);
        }
        self.buffer.push(b'\n');
        self.head = Head { seq: self.head.seq + 1, digest: digest.into(), last: Some(ts) };
        self.head_hex = hex::encode(&self.head.digest);
    }

    /// Writes the batch and makes it durable. On `Ok` every line added so far is on disk.
    pub(crate) fn commit(&mut self) -> Result<(), LedgerError> {
        if self.poisoned {
            let source = io::Error::other("an earlier write failed; the file is left as it is");
            return Err(LedgerError::Io { path: self.path.clone(), source });
        }
        if self.buffer.is_empty() {
            return Ok(());
        }
        let outcome = self.write_batch();
        self.poisoned = outcome.is_err();
        outcome.map_err(LedgerError::io(&self.path))?;
        self.buffer.clear();
        self.buffer.shrink_to(1 << 20);
        if let Some(notary) = &mut self.notary {
            let noted = notary.committed(false);
            self.poisoned = noted.is_err();
            noted?;
        }
        if self.rotate_bytes.is_some_and(|bound| self.segment_bytes >= bound) {
            let rotated = self.rotate();
            self.poisoned = rotated.is_err();
            rotated?;
        }
        Ok(())
    }

    fn write_batch(&mut self) -> io::Result<()> {
        self.faults.at("ledger.before_write")?;
        self.file.write_all(&self.buffer)?;
        self.faults.at("ledger.after_write")?;
        if self.durability == Durability::Full {
            self.file.sync_data()?;
        }
        self.faults.at("ledger.after_sync")?;
        self.segment_bytes += self.buffer.len() as u64;
        Ok(())
    }

    /// Closes the open segment, makes it read-only, and begins the next.
    fn rotate(&mut self) -> Result<(), LedgerError> {
        let closed = segment_path(&self.directory, self.segment_first);
        // Never over another segment, whatever went wrong before: a rename would replace it without a word.
        if closed.try_exists().map_err(LedgerError::io(&closed))? {
            let source = io::Error::from(io::ErrorKind::AlreadyExists);
            return Err(LedgerError::Io { path: closed, source });
        }
        std::fs::rename(&self.path, &closed).map_err(LedgerError::io(&self.path))?;
        self.faults.at("ledger.after_rename").map_err(LedgerError::io(&self.path))?;
        let mut permissions = self.file.metadata().map_err(LedgerError::io(&closed))?.permissions();
        permissions.set_readonly(true);
        std::fs::set_permissions(&closed, permissions).map_err(LedgerError::io(&closed))?;
        self.file =
            OpenOptions::new().create_new(true).append(true).open(&self.path).map_err(LedgerError::io(&self.path))?;
        sync_directory(&self.directory).map_err(LedgerError::io(&self.directory))?;
        self.segment_bytes = 0;
        self.segment_first = self.head.seq;
        Ok(())
    }

    /// Where the ledger ends. Lines not yet committed are counted.
    pub(crate) fn head(&self) -> &Head {
        &self.head
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::failure::{Failure, FailureKind, Stage};
    use crate::messages::{Held, Outcome, Times};
    use crate::source::Found;
    use crate::unit::Unit;

    fn terminal(index: u64) -> Terminal {
        let unit = Unit::from_found(Found::new(format!("unit-{index}"), 1, "x", "x"), RunId::random(), None);
        Terminal {
            unit: Arc::new(unit),
            index,
            outcome: Outcome::DeadLetter(Failure::new(FailureKind::Empty, Stage::Read, "no bytes")),
            attempts: 1,
            retry_waits: Vec::new(),
            times: Times::default(),
            settled: std::time::Instant::now(),
            held: Held::default(),
        }
    }

    fn writer(directory: &Path, head: Head, faults: Faults) -> LedgerWriter {
        LedgerWriter::open(directory, RunId(uuid::Uuid::nil()), head, 0, Durability::Process, faults, None).unwrap()
    }

    /// The clock of the machine was set back an hour between two attempts: the ledger does not go back with it.
    #[test]
    fn times_never_go_backwards() {
        let directory = tempfile::tempdir().unwrap();
        let later = Timestamp::now() + jiff::SignedDuration::from_hours(1);
        let head = Head { last: Some(later), ..Head::start(RunId(uuid::Uuid::nil())) };
        let mut ledger = writer(directory.path(), head, Faults::default());
        ledger.add(&terminal(0));
        ledger.commit().unwrap();
        let record = super::super::read(directory.path()).unwrap().next().unwrap().unwrap();
        assert_eq!(record.ts, super::super::record::timestamp(later));
    }

    /// After a failed fsync nothing is written and nothing is synced again.
    #[test]
    fn nothing_is_written_after_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let faults = crate::testkit::faults::fail_at("ledger.after_write", 1, 5);
        let mut ledger = writer(directory.path(), Head::start(RunId(uuid::Uuid::nil())), faults);
        ledger.add(&terminal(0));
        assert!(ledger.commit().is_err());
        let before = std::fs::read(directory.path().join(LEDGER)).unwrap();
        ledger.add(&terminal(1));
        assert!(ledger.commit().unwrap_err().to_string().contains("an earlier write failed"));
        assert_eq!(std::fs::read(directory.path().join(LEDGER)).unwrap(), before);
    }
}
