//! Writes the ledger, alone, on an arbiter of its own: its thread may block on the disk, the event loop may not.
//!
//! A batch is whatever has come in while the disk was busy, at most [`commit_lines`](crate::EngineConfig::commit_lines): one write, one `fdatasync`, then the slots of
//! its units are given back. An idle writer commits at once, because a unit that waits for company holds a slot meanwhile. So a slow
//! disk slows the Scanner, and batches grow by themselves.
//!
//! After an error nothing is written again; the run is aborted.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use actix::{Actor, ActorContext, AsyncContext, Context, Handler, Message};

use crate::config::{Breaker, OnFailure};
use crate::failure::FailureKind;
use crate::hex;
use crate::ledger::writer::LedgerWriter;
use crate::messages::{Books, Close, Held, Outcome, Recorded, Terminal, Times};
use crate::progress::Counters;
use crate::shared::Shared;
use crate::stop::{Level, StopCause};
use crate::unit::Unit;

/// The only writer of the ledger. One per run.
pub(crate) struct AuditWriter {
    shared: Arc<Shared>,
    ledger: LedgerWriter,
    books: Books,
    pending: Vec<Pending>,
    flush_is_due: bool,
    failed: bool,
    failures: u64,
    recent: Recent,
}

/// A line that is not durable yet.
struct Pending {
    unit: Arc<Unit>,
    failure: Option<(FailureKind, String)>,
    times: Times,
    since: Instant,
    held: Held,
}

/// Stands behind everything that was in the mailbox when it was sent.
#[derive(Message)]
#[rtype(result = "()")]
struct Flush;

impl AuditWriter {
    /// `books` is what the ledger holds already.
    pub(crate) fn new(shared: Arc<Shared>, ledger: LedgerWriter, books: Books) -> Self {
        let recent = Recent::new(shared.config.breaker);
        Self { shared, ledger, books, pending: Vec::new(), flush_is_due: false, failed: false, failures: 0, recent }
    }

    fn commit(&mut self) {
        if self.pending.is_empty() || self.failed {
            self.pending.clear();
            return;
        }
        if let Err(error) = self.ledger.commit() {
            let message = format!("the ledger could not be written: {error}");
            tracing::error!("{message}");
            self.failed = true;
            self.shared.stop.raise(Level::Abort, StopCause::Ledger(message));
            self.pending.clear();
            return;
        }
        let batch = std::mem::take(&mut self.pending);
        let now = Instant::now();
        let counters = Arc::clone(&self.shared.counters);
        if let Some(last) = batch.last() {
            *counters.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(last.unit.id().to_string());
        }
        {
            let mut measured = self.shared.measured();
            for pending in &batch {
                measured.add_times(&pending.times, now.saturating_duration_since(pending.since));
                if let Some((kind, _)) = &pending.failure {
                    *measured.by_kind.entry(kind.as_str().to_owned()).or_default() += 1;
                }
            }
        }
        for pending in batch {
            self.books.add(&pending.unit);
            Counters::add(&counters.bytes_done, pending.unit.size);
            let counter = if pending.failure.is_some() { &counters.dead_letters } else { &counters.extracted };
            Counters::add(counter, 1);
            self.apply_policy(&pending);
            // Only now does the unit give back its slot.
            drop(pending.held);
        }
    }

    fn apply_policy(&mut self, pending: &Pending) {
        let config = &self.shared.config;
        let kind = pending.failure.as_ref().map(|(kind, _)| *kind);
        if let Some(what) = self.recent.add(kind) {
            self.shared.stop.raise(Level::Drain, StopCause::Breaker(what));
        }
        let Some((kind, message)) = &pending.failure else {
            return;
        };
        if *kind == FailureKind::Cancelled {
            return;
        }
        self.failures += 1;
        if config.on_failure == OnFailure::FailFast {
            let what = format!("{}: {message}", pending.unit.id());
            self.shared.stop.raise(Level::Drain, StopCause::FailFast(what));
        }
        if let Some(limit) = config.max_failures
            && self.failures > limit
        {
            self.shared.stop.raise(Level::Drain, StopCause::MaxFailures(limit));
        }
    }
}

impl Actor for AuditWriter {
    type Context = Context<Self>;
}

impl Handler<Terminal> for AuditWriter {
    type Result = ();

    fn handle(&mut self, terminal: Terminal, ctx: &mut Self::Context) {
        if self.failed {
            // Dropped without a line: the Reconciler will say so, and a resume will do it.
            return;
        }
        self.ledger.add(&terminal);
        let Terminal { unit, outcome, times, settled, held, .. } = terminal;
        self.pending.push(Pending {
            unit,
            failure: match outcome {
                Outcome::Extracted(_) => None,
                Outcome::DeadLetter(failure) => Some((failure.kind, failure.to_string())),
            },
            times,
            since: settled,
            held,
        });
        if self.pending.len() >= self.shared.config.commit_lines {
            self.commit();
        } else if !self.flush_is_due {
            self.flush_is_due = true;
            ctx.notify(Flush);
        }
    }
}

impl Handler<Flush> for AuditWriter {
    type Result = ();

    fn handle(&mut self, _: Flush, _: &mut Self::Context) {
        self.flush_is_due = false;
        self.commit();
    }
}

impl Handler<Close> for AuditWriter {
    type Result = actix::MessageResult<Close>;

    fn handle(&mut self, _: Close, ctx: &mut Self::Context) -> Self::Result {
        self.commit();
        if !self.failed
            && let Err(error) = self.ledger.conclude()
        {
            let message = format!("the last checkpoint could not be written: {error}");
            self.failed = true;
            self.shared.stop.raise(Level::Abort, StopCause::Ledger(message));
        }
        ctx.stop();
        let head = self.ledger.head();
        actix::MessageResult(Recorded { books: self.books, lines: head.seq, head: hex::encode(&head.digest) })
    }
}

/// The last outcomes, for the breaker.
struct Recent {
    breaker: Option<Breaker>,
    window: VecDeque<Option<FailureKind>>,
    counts: BTreeMap<FailureKind, usize>,
}

impl Recent {
    fn new(breaker: Option<Breaker>) -> Self {
        Self { breaker, window: VecDeque::new(), counts: BTreeMap::new() }
    }

    /// One more outcome. Says what is wrong when one cause that lies outside the documents explains most of the window.
    fn add(&mut self, kind: Option<FailureKind>) -> Option<String> {
        let breaker = self.breaker?;
        let kind = kind.filter(|kind| is_environment(*kind));
        self.window.push_back(kind);
        if let Some(kind) = kind {
            *self.counts.entry(kind).or_default() += 1;
        }
        if self.window.len() > breaker.window
            && let Some(Some(gone)) = self.window.pop_front()
            && let Some(count) = self.counts.get_mut(&gone)
        {
            *count -= 1;
        }
        if self.window.len() < breaker.window {
            return None;
        }
        let (kind, count) = self.counts.iter().max_by_key(|(_, count)| **count)?;
        let share = *count as f64 / breaker.window as f64;
        (share >= breaker.share)
            .then(|| format!("{count} of the last {} units ended as `{kind}`: {}", breaker.window, kind.remedy()))
    }
}

/// Kinds that say something about the surroundings, not about the document.
fn is_environment(kind: FailureKind) -> bool {
    use FailureKind as K;
    matches!(
        kind,
        K::Io | K::Unreadable | K::Vanished | K::Throttled | K::Connection | K::DiskFull | K::Crashed | K::OutOfMemory
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_breaker_trips_on_one_cause_from_outside_only() {
        let mut recent = Recent::new(Some(Breaker { window: 10, share: 0.8 }));
        for _ in 0..30 {
            assert_eq!(recent.add(Some(FailureKind::Malformed)), None);
        }
        for nth in 0..8 {
            let tripped = recent.add(Some(FailureKind::DiskFull));
            assert_eq!(tripped.is_some(), nth == 7, "{nth}");
        }
        let mut mixed = Recent::new(Some(Breaker { window: 10, share: 0.8 }));
        for nth in 0..100 {
            assert_eq!(mixed.add((nth % 2 == 0).then_some(FailureKind::Io)), None);
        }
    }
}
