//! A sink over a plain directory: temporary file, sync, rename, sync of the directory. For examples and crash tests.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use sha2::{Digest, Sha256};

use super::below;
use crate::failure::{Failure, FailureKind, Stage};
use crate::hex;
use crate::kernel::Extraction;
use crate::ledger::Faults;
use crate::sink::{Sink, Stored};
use crate::spool::Spooled;
use crate::unit::Unit;

/// Stores each output as a file below a root.
#[derive(Debug, Clone)]
pub struct DirectorySink {
    root: PathBuf,
    faults: Faults,
}

impl DirectorySink {
    /// Outputs go below this directory; it is made if need be.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), faults: Faults::default() }
    }

    /// With points where tests inject faults: `sink.after_write`, `sink.after_sync`, `sink.after_rename`.
    #[must_use]
    pub fn with_faults(mut self, faults: Faults) -> Self {
        self.faults = faults;
        self
    }
}

#[async_trait]
impl Sink for DirectorySink {
    async fn prepare(&self) -> Result<(), Failure> {
        let probe = || -> io::Result<()> {
            std::fs::create_dir_all(&self.root)?;
            tempfile::tempfile_in(&self.root).map(drop)
        };
        probe().map_err(|error| Failure::from_io(Stage::Write, &self.root.display().to_string(), &error))
    }

    fn place(&self, unit: &Unit) -> String {
        if unit.page.get() == 1 {
            format!("{}.out", unit.doc_id)
        } else {
            format!("{}.p{}.out", unit.doc_id, unit.page)
        }
    }

    async fn store(&self, unit: &Unit, extraction: &Extraction) -> Result<Stored, Failure> {
        let output = self.place(unit);
        let path = below(&self.root, &output);
        let mut files = vec![(path.clone(), extraction.output.clone())];
        for (suffix, attachment) in &extraction.attachments {
            let mut name = path.clone().into_os_string();
            name.push(suffix);
            files.push((name.into(), attachment.clone()));
        }
        let faults = self.faults.clone();
        let written =
            blocking(move || files.iter().try_for_each(|(path, bytes)| write_whole(path, bytes, &faults))).await?;
        written.map_err(|error| Failure::from_io(Stage::Write, &output, &error))?;
        Ok(Stored { output, sha256: extraction.output.sha256_hex() })
    }

    async fn digest(&self, output: &str) -> Result<Option<String>, Failure> {
        let path = below(&self.root, output);
        match blocking(move || digest_of(&path)).await? {
            Ok(digest) => Ok(Some(digest)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Failure::from_io(Stage::Write, output, &error)),
        }
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Failure> {
    let ended = |error: tokio::task::JoinError| Failure::new(FailureKind::Panicked, Stage::Write, error.to_string());
    tokio::task::spawn_blocking(work).await.map_err(ended)
}

fn write_whole(path: &Path, bytes: &Spooled, faults: &Faults) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(directory)?;
    let mut temporary = tempfile::Builder::new().prefix(".new-").tempfile_in(directory)?;
    io::copy(&mut bytes.reader(), temporary.as_file_mut())?;
    temporary.flush()?;
    faults.at("sink.after_write")?;
    temporary.as_file().sync_all()?;
    faults.at("sink.after_sync")?;
    temporary.persist(path).map_err(|error| error.error)?;
    faults.at("sink.after_rename")?;
    crate::ledger::sync_directory(directory)
}

fn digest_of(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok(hex::encode(&hasher.finalize()));
        }
        hasher.update(&buffer[..read]);
    }
}
