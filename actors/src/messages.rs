//! Every message, in the order they flow: Scanner → Worker → pool → AuditWriter → Reconciler.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix::Message;
use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};

use crate::failure::Failure;
use crate::kernel::{Extraction, Signal};
use crate::ledger::StageMillis;
use crate::limits::Slot;
use crate::outbox::Credit;
use crate::sink::Stored;
use crate::ticket::Ticket;
use crate::unit::{Unit, UnitId};

/// Asks the Scanner to list the whole source. Answered when it is done, drained or failed.
#[derive(Message)]
#[rtype(result = "ScanEnd")]
pub(crate) struct Scan;

/// How the listing ended.
#[derive(Debug)]
pub(crate) struct ScanEnd {
    pub(crate) books: Books,
    /// The source came to its end and the manifest is closed.
    pub(crate) complete: bool,
    /// Entries that were enumerated in an earlier attempt and are gone, or appeared behind the listing since.
    pub(crate) vanished: u64,
    /// The first of those that an earlier run had.
    pub(crate) vanished_names: Vec<UnitId>,
    pub(crate) appeared: u64,
}

/// One unit on its way to a slot.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Work {
    pub(crate) ticket: Ticket,
    /// The place it takes in the queue; given back when the Worker takes the unit.
    pub(crate) credit: Credit,
}

/// Tells the Worker that no unit follows. A type of its own, so no unit can be taken for it.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct EndOfWork;

/// One unit for a kernel.
#[derive(Message)]
#[rtype(result = "Result<Parsed, Failure>")]
pub(crate) struct Parse {
    pub(crate) unit: Arc<Unit>,
    pub(crate) bytes: Bytes,
    pub(crate) signal: Signal,
    /// Told when a thread begins: the deadline counts from there.
    pub(crate) started: oneshot::Sender<Instant>,
    /// Rides along, so that the unit counts as in progress until the thread returns, whatever became of it meanwhile.
    pub(crate) slot: Arc<Slot>,
}

/// What a thread made of a unit.
pub(crate) struct Parsed {
    pub(crate) extraction: Extraction,
    pub(crate) took: Duration,
}

/// The end of a unit. Made by a [`Ticket`] and by nothing else.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Terminal {
    pub(crate) unit: Arc<Unit>,
    pub(crate) index: u64,
    pub(crate) outcome: Outcome,
    pub(crate) attempts: u32,
    pub(crate) retry_waits: Vec<Duration>,
    pub(crate) times: Times,
    pub(crate) settled: Instant,
    /// What is given back when the record is durable, by being dropped.
    pub(crate) held: Held,
}

/// The only two ends there are.
#[derive(Debug)]
pub(crate) enum Outcome {
    Extracted(Box<Done>),
    DeadLetter(Failure),
}

#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) stored: Stored,
    pub(crate) bytes: u64,
    pub(crate) output_bytes: u64,
    pub(crate) facts: BTreeMap<String, serde_json::Value>,
}

/// Time spent in each stage so far.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Times {
    pub(crate) queue: Duration,
    pub(crate) read: Duration,
    pub(crate) parse: Duration,
    pub(crate) write: Duration,
}

impl Times {
    pub(crate) fn millis(&self) -> StageMillis {
        let ms = |duration: Duration| duration.as_millis() as u64;
        StageMillis { parse: ms(self.parse), queue: ms(self.queue), read: ms(self.read), write: ms(self.write) }
    }
}

/// What a unit holds until its record is durable.
#[derive(Debug, Default)]
pub(crate) struct Held {
    pub(crate) slot: Option<Arc<Slot>>,
    pub(crate) credit: Option<Credit>,
    /// Counts the unit as outstanding.
    pub(crate) _outstanding: Option<mpsc::Sender<()>>,
}

/// Asks the AuditWriter to commit what it has, to let go of the file and to say what it recorded.
#[derive(Message)]
#[rtype(result = "Recorded")]
pub(crate) struct Close;

/// What the AuditWriter recorded.
#[derive(Debug, Clone)]
pub(crate) struct Recorded {
    pub(crate) books: Books,
    pub(crate) lines: u64,
    pub(crate) head: String,
}

/// Asks the Reconciler whether the books balance.
#[derive(Message)]
#[rtype(result = "crate::reconciler::Balance")]
pub(crate) struct Reconcile {
    /// Absent if the Scanner died.
    pub(crate) scanned: Option<Books>,
    /// Absent if the AuditWriter died.
    pub(crate) recorded: Option<Books>,
}

/// A set of units in constant space: how many, and the sum of a hash of each. Two sets with equal books are the same set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Books {
    pub(crate) count: u64,
    pub(crate) sum: u128,
}

impl Books {
    pub(crate) fn add(&mut self, unit: &Unit) {
        self.add_hash(crate::ledger::id_hash(&unit.doc_id, unit.page.get()));
    }

    pub(crate) fn add_hash(&mut self, hash: u128) {
        self.count += 1;
        self.sum = self.sum.wrapping_add(hash);
    }
}
