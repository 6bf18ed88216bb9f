//! Dead letters done again: a source that lists only what another run could not extract.
//!
//! The run over it is a child: a run of its own with its own books, whose [`parent_run`](crate::EngineConfig::parent_run) is the other. The
//! parent's ledger is never touched. Entries are listed anew by the source itself, so a drawing that was mended since is read as it is now; one that the
//! source does not list any more is enumerated and dead-lettered as `vanished`.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt;
use futures::stream::{BoxStream, Fuse};

use crate::failure::{Failure, FailureKind, Stage};
use crate::ledger::bitmap::Bitmap;
use crate::ledger::manifest::{ManifestEntry, ManifestLine, ManifestReader};
use crate::ledger::record::Event;
use crate::ledger::walk::walk;
use crate::ledger::{LedgerError, RunHeader};
use crate::source::{Found, Source, SourceError};
use crate::unit::{RunId, Unit};

/// The dead letters of a run, as a source.
#[derive(Debug, Clone)]
pub struct Replay<S> {
    inner: S,
    directory: PathBuf,
    parent: RunHeader,
    dead: Arc<Bitmap>,
}

impl<S: Source> Replay<S> {
    /// The dead letters in the books of that directory whose kind (as in the ledger) is wanted; `inner` is the source of that run.
    ///
    /// # Errors
    ///
    /// When the books cannot be read, or were changed after they were written.
    pub fn open(directory: &Path, inner: S, wanted: impl Fn(&str) -> bool) -> Result<Self, LedgerError> {
        let parent = RunHeader::load(directory)?.ok_or_else(|| LedgerError::Mismatch {
            path: directory.to_owned(),
            what: "there is no run.json".to_owned(),
        })?;
        let mut dead = Bitmap::default();
        let walked = walk(directory, parent.run_id, |envelope| {
            let kind = envelope.error.as_ref().map_or("unknown", |error| error.kind.as_str());
            if envelope.event == Event::DeadLetter && wanted(kind) {
                dead.insert(envelope.index);
            }
            None
        })?;
        if let Some(fault) = walked.faults.into_iter().next() {
            return Err(LedgerError::Damaged {
                path: fault.path,
                byte: fault.byte,
                line: fault.line,
                what: fault.what,
            });
        }
        Ok(Self { inner, directory: directory.to_owned(), parent, dead: Arc::new(dead) })
    }

    /// The run they come from: what [`EngineConfig::parent_run`](crate::EngineConfig::parent_run) must be.
    #[must_use]
    pub fn parent_run(&self) -> RunId {
        self.parent.run_id
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.dead.count()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[async_trait]
impl<S: Source> Source for Replay<S> {
    fn scan(&self) -> BoxStream<'static, Result<Found, SourceError>> {
        let state = match ManifestReader::open(&self.directory) {
            Ok(manifest) => Ok(Merge {
                listing: self.inner.scan().fuse(),
                manifest,
                dead: Arc::clone(&self.dead),
                left: self.dead.count(),
                next: None,
                ready: VecDeque::new(),
            }),
            Err(error) => Err(Some(broken(&self.directory, &error.to_string()))),
        };
        let directory = self.directory.clone();
        futures::stream::unfold(state, move |state| {
            let directory = directory.clone();
            async move {
                match state {
                    Err(error) => error.map(|error| (Err(error), Err(None))),
                    Ok(mut merge) => match merge.next(&directory).await {
                        Ok(found) => found.map(|found| (Ok(found), Ok(merge))),
                        Err(error) => Some((Err(error), Err(None))),
                    },
                }
            }
        })
        .boxed()
    }

    async fn read(&self, unit: &Unit) -> Result<Bytes, Failure> {
        self.inner.read(unit).await
    }
}

fn broken(directory: &Path, message: &str) -> SourceError {
    SourceError::List { location: directory.display().to_string(), message: message.to_owned() }
}

/// Two sorted streams: what the source lists now, and what was a dead letter.
struct Merge {
    listing: Fuse<BoxStream<'static, Result<Found, SourceError>>>,
    manifest: ManifestReader,
    dead: Arc<Bitmap>,
    left: u64,
    next: Option<Box<ManifestEntry>>,
    ready: VecDeque<Found>,
}

impl Merge {
    async fn next(&mut self, directory: &Path) -> Result<Option<Found>, SourceError> {
        loop {
            if let Some(found) = self.ready.pop_front() {
                return Ok(Some(found));
            }
            if self.next.is_none() {
                self.next = self.next_dead(directory)?;
            }
            // Nothing wanted any more: the rest of the listing is of no interest.
            let Some(dead) = &self.next else { return Ok(None) };
            let wanted = dead.unit.id();
            let found = self.listing.next().await.transpose()?;
            match found {
                Some(found) if found.id() < wanted => {}
                Some(found) if found.id() == wanted => {
                    self.next = None;
                    return Ok(Some(found));
                }
                found => {
                    // It is past: everything wanted before what was found is gone.
                    let limit = found.as_ref().map(Found::id);
                    while let Some(dead) = self.next.take() {
                        let id = dead.unit.id();
                        match &limit {
                            Some(limit) if id > *limit => {
                                self.next = Some(dead);
                                break;
                            }
                            Some(limit) if id == *limit => {
                                self.ready.extend(found.clone());
                                break;
                            }
                            _ => self.ready.push_back(vanished(*dead)),
                        }
                        self.next = self.next_dead(directory)?;
                        if self.ready.len() >= MOST_READY && limit.is_none() {
                            break;
                        }
                    }
                }
            }
        }
    }

    fn next_dead(&mut self, directory: &Path) -> Result<Option<Box<ManifestEntry>>, SourceError> {
        let read = |error: LedgerError| broken(directory, &error.to_string());
        while self.left > 0 {
            if !self.dead.contains(self.manifest.count()) {
                self.manifest.skip_unit().map_err(read)?;
                continue;
            }
            self.left -= 1;
            let Some(ManifestLine::Unit(entry)) = self.manifest.next_line().map_err(read)? else { return Ok(None) };
            return Ok(Some(entry));
        }
        Ok(None)
    }
}

/// Vanished entries handed on at one time, once the listing is over.
const MOST_READY: usize = 64;

fn vanished(entry: ManifestEntry) -> Found {
    let unit = entry.unit;
    let message = "it was a dead letter before and the source does not list it any more";
    Found {
        doc_id: unit.doc_id,
        page: unit.page,
        location: unit.location,
        format: unit.format,
        floor_level: unit.floor_level,
        level_name: unit.level_name,
        request_id: unit.request_id,
        size: unit.size,
        version: unit.version,
        failure: Some(Failure::new(FailureKind::Vanished, Stage::Scan, message)),
    }
}
