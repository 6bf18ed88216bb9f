//! The right and the duty to end one unit.
//!
//! A [`Ticket`] is not `Clone`. Settling it consumes it; dropping it unsettled, as a panic or a fault in the engine would, writes a dead letter.
//! So each unit gets exactly one terminal line, whatever happens between.

use std::sync::Arc;
use std::time::{Duration, Instant};

use actix::Addr;
use tokio::sync::mpsc;

use crate::audit_writer::AuditWriter;
use crate::failure::{Failure, FailureKind, Stage};
use crate::journal::Claim;
use crate::limits::Slot;
use crate::messages::{Held, Outcome, Terminal, Times};
use crate::outbox::Credit;
use crate::progress::Counters;
use crate::unit::Unit;

/// Makes tickets. One address serves them all, because each clone of an address would add a place to the mailbox.
#[derive(Debug, Clone)]
pub(crate) struct TicketOffice {
    audit: Arc<Addr<AuditWriter>>,
    counters: Arc<Counters>,
    outstanding: mpsc::Sender<()>,
}

impl TicketOffice {
    /// The receiver ends when every ticket is settled and durable and the office is closed.
    pub(crate) fn new(audit: Addr<AuditWriter>, counters: Arc<Counters>) -> (Self, mpsc::Receiver<()>) {
        let (outstanding, drained) = mpsc::channel(1);
        (Self { audit: Arc::new(audit), counters, outstanding }, drained)
    }

    /// A ticket for a unit that is durable in the manifest.
    ///
    /// `claim` is an output that may be there already.
    pub(crate) fn issue(&self, unit: Unit, index: u64, claim: Option<Claim>) -> Ticket {
        Ticket {
            inner: Some(Inner {
                office: self.clone(),
                unit: Arc::new(unit),
                index,
                claim,
                stage: Stage::Queue,
                issued: Instant::now(),
                attempts: 0,
                retry_waits: Vec::new(),
                times: Times::default(),
                held: Held { _outstanding: Some(self.outstanding.clone()), ..Held::default() },
            }),
        }
    }
}

/// The right and the duty to end one unit. See the [module documentation](self).
#[derive(Debug)]
pub(crate) struct Ticket {
    inner: Option<Inner>,
}

#[derive(Debug)]
struct Inner {
    office: TicketOffice,
    unit: Arc<Unit>,
    index: u64,
    claim: Option<Claim>,
    stage: Stage,
    issued: Instant,
    attempts: u32,
    retry_waits: Vec<Duration>,
    times: Times,
    held: Held,
}

impl Ticket {
    pub(crate) fn unit(&self) -> Option<&Arc<Unit>> {
        self.inner.as_ref().map(|inner| &inner.unit)
    }

    pub(crate) fn index(&self) -> u64 {
        self.inner.as_ref().map_or(0, |inner| inner.index)
    }

    /// The output that may be there already; asked for once.
    pub(crate) fn claim(&mut self) -> Option<Claim> {
        self.inner.as_mut()?.claim.take()
    }

    /// The unit has this slot from now on, until its record is durable.
    pub(crate) fn hold_slot(&mut self, slot: Arc<Slot>) {
        if let Some(inner) = &mut self.inner {
            inner.times.queue = inner.issued.elapsed();
            inner.held.slot = Some(slot);
        }
    }

    /// The unit keeps its place in the queue until its record is durable: one that failed before it was queued.
    pub(crate) fn hold_credit(&mut self, credit: Credit) {
        if let Some(inner) = &mut self.inner {
            inner.held.credit = Some(credit);
        }
    }

    /// Where the unit is from now on, so that a dropped ticket says where.
    pub(crate) fn enter(&mut self, stage: Stage) {
        if let Some(inner) = &mut self.inner {
            inner.stage = stage;
        }
    }

    pub(crate) fn begin_attempt(&mut self) {
        if let Some(inner) = &mut self.inner {
            inner.attempts += 1;
        }
    }

    /// Attempts begun so far.
    pub(crate) fn attempts(&self) -> u32 {
        self.inner.as_ref().map_or(0, |inner| inner.attempts)
    }

    pub(crate) fn waited(&mut self, wait: Duration) {
        if let Some(inner) = &mut self.inner {
            inner.retry_waits.push(wait);
        }
    }

    pub(crate) fn times(&mut self) -> Option<&mut Times> {
        self.inner.as_mut().map(|inner| &mut inner.times)
    }

    /// Ends the unit.
    pub(crate) fn settle(mut self, outcome: Outcome) {
        if let Some(inner) = self.inner.take() {
            inner.send(outcome);
        }
    }

    /// Ends the unit as a dead letter.
    pub(crate) fn fail(self, failure: Failure) {
        self.settle(Outcome::DeadLetter(failure));
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if let Some(inner) = self.inner.take() {
            let message = "the engine let go of the unit without an outcome";
            let failure = Failure::new(FailureKind::Dropped, inner.stage, message);
            inner.send(Outcome::DeadLetter(failure));
        }
    }
}

impl Inner {
    fn send(self, outcome: Outcome) {
        let terminal = Terminal {
            unit: self.unit,
            index: self.index,
            outcome,
            attempts: self.attempts,
            retry_waits: self.retry_waits,
            times: self.times,
            settled: Instant::now(),
            held: self.held,
        };
        // The mailbox has a place for every ticket there can be, so it is never full. It is closed only when the writer is gone;
        // then the unit stays without a line, and the Reconciler says so.
        if let Err(error) = self.office.audit.try_send(terminal) {
            self.office.counters.lose();
            tracing::error!(%error, "an outcome could not be handed to the audit writer");
        }
    }
}
