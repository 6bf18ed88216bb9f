//! What a run looks like while it runs: a [`Progress`] is a reading of counters and gauges, taken whenever somebody asks.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::gauge::DepthGauge;
use crate::limits::Gate;
use crate::stop::{Level, Stop};

/// One reading of a run. All numbers are measured; none is the difference of two others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Since the start of the run.
    pub elapsed: Duration,
    /// Units enumerated so far.
    pub enumerated: u64,
    /// Whether the listing is over, so that `enumerated` is the total.
    pub listed: bool,
    /// Units extracted, their records durable.
    pub extracted: u64,
    /// Units dead-lettered, their records durable.
    pub dead_letters: u64,
    /// Units that had their outcome before this attempt; part of `enumerated`, `extracted` and `dead_letters`.
    pub resumed: u64,
    /// Units waiting for a slot.
    pub waiting: usize,
    /// Units in progress.
    pub active: usize,
    /// Age of the oldest waiting unit.
    pub oldest_waiting: Duration,
    /// Bytes of documents in progress, by listed size.
    pub bytes_in_flight: u64,
    /// Bytes of documents enumerated, by listed size.
    pub bytes_enumerated: u64,
    /// Bytes of documents with an outcome, by listed size.
    pub bytes_done: u64,
    /// Repeated attempts so far.
    pub retries: u64,
    /// Whether the run is being ended, and how.
    pub level: Level,
    /// The unit recorded last.
    pub last: Option<String>,
}

impl Progress {
    /// Units with an outcome.
    #[must_use]
    pub fn done(&self) -> u64 {
        self.extracted + self.dead_letters
    }

    /// Time left, weighted by bytes: only once the listing is over and something is done.
    #[must_use]
    pub fn remaining(&self) -> Option<Duration> {
        let fresh = self.done().saturating_sub(self.resumed);
        if !self.listed || fresh == 0 {
            return None;
        }
        // A constant weight a unit, so that many empty files do not read as free.
        const UNIT_BYTES: f64 = 16_384.0;
        let done = self.bytes_done as f64 + fresh as f64 * UNIT_BYTES;
        let left_units = self.enumerated.saturating_sub(self.done()) as f64;
        let left = self.bytes_enumerated.saturating_sub(self.bytes_done) as f64 + left_units * UNIT_BYTES;
        Duration::try_from_secs_f64(self.elapsed.as_secs_f64() * left / done).ok()
    }
}

/// Counters of a run, written by the actors.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) enumerated: AtomicU64,
    pub(crate) listed: AtomicBool,
    pub(crate) extracted: AtomicU64,
    pub(crate) dead_letters: AtomicU64,
    pub(crate) resumed: AtomicU64,
    pub(crate) bytes_enumerated: AtomicU64,
    pub(crate) bytes_done: AtomicU64,
    pub(crate) bytes_read: AtomicU64,
    pub(crate) retries: AtomicU64,
    pub(crate) lost: AtomicU64,
    pub(crate) last: Mutex<Option<String>>,
}

impl Counters {
    pub(crate) fn add(counter: &AtomicU64, more: u64) {
        counter.fetch_add(more, Ordering::Relaxed);
    }

    pub(crate) fn get(counter: &AtomicU64) -> u64 {
        counter.load(Ordering::Relaxed)
    }

    /// An outcome that reached nobody.
    pub(crate) fn lose(&self) {
        Self::add(&self.lost, 1);
    }

    pub(crate) fn done(&self) -> u64 {
        Self::get(&self.extracted) + Self::get(&self.dead_letters)
    }
}

/// Takes readings of a run. Cheap to clone; usable from any thread, also after the run.
#[derive(Debug, Clone)]
pub struct ProgressReader {
    pub(crate) begun: Instant,
    pub(crate) counters: Arc<Counters>,
    pub(crate) queue: Arc<DepthGauge>,
    pub(crate) slots: Arc<DepthGauge>,
    pub(crate) gate: Arc<Gate>,
    pub(crate) stop: Stop,
}

impl ProgressReader {
    /// A reading now.
    #[must_use]
    pub fn read(&self) -> Progress {
        let counters = &*self.counters;
        Progress {
            elapsed: self.begun.elapsed(),
            enumerated: Counters::get(&counters.enumerated),
            listed: counters.listed.load(Ordering::Relaxed),
            extracted: Counters::get(&counters.extracted),
            dead_letters: Counters::get(&counters.dead_letters),
            resumed: Counters::get(&counters.resumed),
            waiting: self.queue.depth(),
            active: self.slots.depth(),
            oldest_waiting: self.queue.oldest(),
            bytes_in_flight: self.gate.bytes_in_flight(),
            bytes_enumerated: Counters::get(&counters.bytes_enumerated),
            bytes_done: Counters::get(&counters.bytes_done),
            retries: Counters::get(&counters.retries),
            level: self.stop.level(),
            last: counters.last.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }
}
