//! Lists the source into the manifest and hands each unit to the Worker, as fast as the Worker takes them and no faster.
//!
//! The order is always: a credit, the finding, the line in the manifest, its fsync, the dispatch. So nothing is enumerated that has no place,
//! and nothing is dispatched that a crash could forget. Findings that are ready at once share one fsync, as far as there are credits.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use actix::{Actor, Context, Handler, ResponseFuture};
use futures::StreamExt;
use futures::stream::{BoxStream, FusedStream};

use crate::failure::{Failure, FailureKind, Stage};
use crate::journal::Claim;
use crate::ledger::LedgerError;
use crate::ledger::manifest::{ManifestEntry, ManifestWriter};
use crate::messages::{Books, Scan, ScanEnd, Work};
use crate::outbox::{Credit, Outbox};
use crate::previous::{Carry, Previous};
use crate::progress::Counters;
use crate::resume::Before;
use crate::shared::Shared;
use crate::source::{Found, SourceError};
use crate::stop::{Level, StopCause};
use crate::ticket::TicketOffice;
use crate::unit::{Unit, UnitId};
use crate::worker::Worker;

/// Lists the source. One per run.
pub(crate) struct Scanner {
    job: Option<ScanJob>,
}

/// What the Scanner works with; it leaves the actor when the listing begins.
pub(crate) struct ScanJob {
    pub(crate) shared: Arc<Shared>,
    pub(crate) outbox: Arc<Outbox<Worker>>,
    pub(crate) office: TicketOffice,
    pub(crate) manifest: ManifestWriter,
    pub(crate) before: Before,
    pub(crate) previous: Option<Previous>,
}

impl Scanner {
    pub(crate) fn new(job: ScanJob) -> Self {
        Self { job: Some(job) }
    }
}

impl Actor for Scanner {
    type Context = Context<Self>;
}

impl Handler<Scan> for Scanner {
    type Result = ResponseFuture<ScanEnd>;

    fn handle(&mut self, _: Scan, _: &mut Self::Context) -> Self::Result {
        let job = self.job.take();
        Box::pin(async move {
            match job {
                Some(job) => Listing::new(job).run().await,
                None => ScanEnd {
                    books: Books::default(),
                    complete: false,
                    vanished: 0,
                    vanished_names: Vec::new(),
                    appeared: 0,
                },
            }
        })
    }
}

type Findings = futures::stream::Fuse<BoxStream<'static, Result<Found, SourceError>>>;

struct Listing {
    shared: Arc<Shared>,
    outbox: Arc<Outbox<Worker>>,
    office: TicketOffice,
    /// Away while a blocking thread writes.
    files: Option<Files>,
    before: Before,
    last: Option<UnitId>,
    books: Books,
    error: Option<SourceError>,
}

/// What is read and written on a thread that may block.
struct Files {
    manifest: ManifestWriter,
    previous: Option<Previous>,
}

/// A unit on its way into the manifest.
struct Entry {
    unit: Unit,
    failure: Option<Failure>,
    claim: Option<Claim>,
}

/// The most units that share one fsync of the manifest.
const BATCH: usize = 256;

impl Listing {
    fn new(job: ScanJob) -> Self {
        let ScanJob { shared, outbox, office, manifest, before, previous } = job;
        let books = before.books;
        let files = Some(Files { manifest, previous });
        Self { shared, outbox, office, files, before, last: None, books, error: None }
    }

    async fn run(mut self) -> ScanEnd {
        let complete = self.list().await;
        self.shared.counters.listed.store(true, Ordering::Relaxed);
        if let Some(error) = &self.error {
            self.shared.stop.raise(Level::Drain, StopCause::Source(error.to_string()));
        }
        let previous = self.files.and_then(|files| files.previous);
        let (gone, vanished_names) =
            previous.map_or((0, Vec::new()), |earlier| (earlier.vanished, earlier.vanished_names));
        ScanEnd {
            books: self.books,
            complete,
            vanished: self.before.vanished + gone,
            vanished_names,
            appeared: self.before.appeared,
        }
    }

    /// `true` if the source came to its end and the manifest is closed.
    async fn list(&mut self) -> bool {
        if !self.dispatch_unfinished().await {
            return false;
        }
        if self.before.closed {
            return true;
        }
        let mut findings = self.shared.source.scan().fuse();
        while let Some(batch) = self.gather(&mut findings).await {
            if !batch.is_empty() && !self.admit(batch).await {
                return false;
            }
        }
        let ended = findings.is_terminated() && self.error.is_none();
        if !ended {
            return false;
        }
        if let Err(error) = self.before.rest_vanished() {
            return self.fail_manifest(&error);
        }
        let closed = self.with_files(|files| {
            if let Some(previous) = &mut files.previous {
                previous.rest_vanished()?;
            }
            files.manifest.close()
        });
        match closed.await {
            Ok(()) => true,
            Err(error) => self.fail_manifest(&error),
        }
    }

    /// The units of an earlier attempt that have no outcome yet.
    async fn dispatch_unfinished(&mut self) -> bool {
        loop {
            let (entry, claim) = match self.before.next_unfinished() {
                Ok(Some(unfinished)) => unfinished,
                Ok(None) => return true,
                Err(error) => return self.fail_manifest(&error),
            };
            let Some(credit) = self.credit().await else {
                return false;
            };
            let ManifestEntry { index, unit, failure } = entry;
            Counters::add(&self.shared.counters.bytes_enumerated, unit.size);
            self.dispatch(credit, index, Entry { unit, failure, claim });
        }
    }

    /// A place in the queue, or `None` when the run is being ended.
    async fn credit(&self) -> Option<Credit> {
        tokio::select! {
            biased;
            () = self.shared.stop.reached(Level::Drain) => None,
            credit = self.outbox.credit() => Some(credit),
        }
    }

    /// Waits for a place, then for a finding, then takes along what is ready at once. `None` at the end.
    async fn gather(&mut self, findings: &mut Findings) -> Option<Vec<(Credit, Found)>> {
        let credit = self.credit().await?;
        let first = self.next_finding(findings).await?;
        let mut batch = Vec::new();
        if !self.accept(first, credit, &mut batch) {
            return None;
        }
        while batch.len() < BATCH {
            let Some(credit) = self.outbox.try_credit() else {
                break;
            };
            let Some(Some(found)) = futures::FutureExt::now_or_never(findings.next()) else {
                break;
            };
            if !self.accept(found, credit, &mut batch) {
                break;
            }
        }
        Some(batch)
    }

    async fn next_finding(&self, findings: &mut Findings) -> Option<Result<Found, SourceError>> {
        loop {
            tokio::select! {
                biased;
                () = self.shared.stop.reached(Level::Drain) => return None,
                found = findings.next() => return found,
                // Not an end: slots go on, and the listing may as well.
                () = tokio::time::sleep(self.shared.config.stall_after) => self.shared.note(
                    "SCANNER_STALLED",
                    format!("the source has yielded nothing for {:.1} s", self.shared.config.stall_after.as_secs_f64()),
                ),
            }
        }
    }

    /// Checks the order and puts the finding into the batch, unless it was enumerated before. `false` ends the listing.
    fn accept(&mut self, found: Result<Found, SourceError>, credit: Credit, batch: &mut Vec<(Credit, Found)>) -> bool {
        if self.error.is_some() {
            return false;
        }
        let found = match found {
            Ok(found) => found,
            Err(error) => {
                self.error = Some(error);
                return !batch.is_empty();
            }
        };
        let id = found.id();
        if let Some(before) = &self.last
            && *before >= id
        {
            self.error = Some(SourceError::OutOfOrder { before: before.clone(), found: id });
            return !batch.is_empty();
        }
        match self.before.knows(&found) {
            Ok(true) => {
                let previous = self.files.as_mut().and_then(|files| files.previous.as_mut());
                if let Some(Err(error)) = previous.map(|previous| previous.pass(&id)) {
                    return self.fail_manifest(&error);
                }
            }
            Ok(false) => batch.push((credit, found)),
            Err(error) => return self.fail_manifest(&error),
        }
        self.last = Some(id);
        true
    }

    /// Writes the batch into the manifest, makes it durable, and dispatches it.
    async fn admit(&mut self, batch: Vec<(Credit, Found)>) -> bool {
        let config = &self.shared.config;
        let mut entries = Vec::with_capacity(batch.len());
        let mut credits = Vec::with_capacity(batch.len());
        for (credit, mut found) in batch {
            let failure = found.failure.take();
            let unit = Unit::from_found(found, self.shared.trace_namespace(), config.request_id.as_deref());
            let failure = failure.or_else(|| too_long(&unit, config.limits.max_unit_bytes));
            entries.push(Entry { unit, failure, claim: None });
            credits.push(credit);
        }
        let written = self.with_files(move |files| {
            if let Some(previous) = &mut files.previous {
                for entry in &mut entries {
                    if let Carry::Unchanged { trace_id, claim } = previous.look_up(&entry.unit)? {
                        entry.unit.trace_id = trace_id;
                        entry.claim = Some(*claim);
                    }
                }
            }
            let first = files.manifest.count();
            let lines: Vec<_> = entries.iter().map(|entry| (&entry.unit, entry.failure.as_ref())).collect();
            files.manifest.add(&lines)?;
            Ok((first, entries))
        });
        let (first, entries) = match written.await {
            Ok(written) => written,
            Err(error) => return self.fail_manifest(&error),
        };
        for (nth, (credit, entry)) in credits.into_iter().zip(entries).enumerate() {
            self.books.add(&entry.unit);
            let counters = &self.shared.counters;
            Counters::add(&counters.enumerated, 1);
            Counters::add(&counters.bytes_enumerated, entry.unit.size);
            self.dispatch(credit, first + nth as u64, entry);
        }
        true
    }

    /// Sends a unit that is durable in the manifest on, or ends it at once.
    fn dispatch(&mut self, credit: Credit, index: u64, entry: Entry) {
        let Entry { unit, failure, claim } = entry;
        let mut ticket = self.office.issue(unit, index, claim);
        if let Some(failure) = failure {
            ticket.hold_credit(credit);
            ticket.fail(failure);
            return;
        }
        // If the Worker is gone the ticket dies with the message and settles itself.
        if let Err(error) = self.outbox.post(credit, |credit| Work { ticket, credit }) {
            tracing::error!(%error, "a unit could not be handed to the worker");
        }
    }

    /// Runs `work` on a thread that may block.
    async fn with_files<T, F>(&mut self, work: F) -> Result<T, LedgerError>
    where
        T: Send + 'static,
        F: FnOnce(&mut Files) -> Result<T, LedgerError> + Send + 'static,
    {
        let gone = || LedgerError::Io {
            path: self.shared.config.directory.join(crate::ledger::MANIFEST),
            source: std::io::Error::other("the thread that writes it has ended"),
        };
        let mut files = self.files.take().ok_or_else(gone)?;
        let (files, outcome) = tokio::task::spawn_blocking(move || {
            let outcome = work(&mut files);
            (files, outcome)
        })
        .await
        .map_err(|_| gone())?;
        self.files = Some(files);
        outcome
    }

    fn fail_manifest(&self, error: &LedgerError) -> bool {
        self.shared.stop.raise(Level::Abort, StopCause::Ledger(error.to_string()));
        false
    }
}

fn too_long(unit: &Unit, limit: usize) -> Option<Failure> {
    let footprint = unit.footprint();
    (footprint > limit).then(|| {
        let message = format!("its names take {footprint} bytes and the limit is {limit}");
        Failure::new(FailureKind::Limit, Stage::Scan, message)
    })
}
