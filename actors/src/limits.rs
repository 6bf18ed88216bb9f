//! What bounds a run, and the gate that admits units by it.
//!
//! Four limits, four objects; none substitutes another. *Waiting* is the [`Outbox`](crate::outbox::Outbox). *In progress*, *starts per second*
//! and *bytes in flight* are the `Gate` of this module: the Worker passes it once a unit, and what it hands out, a `Slot`, rides with the
//! unit until its outcome is durable and its thread has returned.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::gauge::DepthGauge;
use crate::unit::MAX_UNIT_BYTES;

/// What bounds a run. Every field has a sound default; see [`Limits::default`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Units in progress: reading, parsing, writing, or waiting for their record to be durable.
    pub slots: usize,
    /// Units waiting between Scanner and Worker. A good value is 2 × slots; more adds memory, not speed.
    pub waiting: usize,
    /// Threads that run kernels.
    pub threads: usize,
    /// Stack of each of these threads, in bytes.
    pub stack_bytes: usize,
    /// The most units started in a second; `None` is no limit.
    pub starts_per_second: Option<f64>,
    /// The most bytes of documents in progress, by listed size; a larger document runs alone. `None` is no limit.
    pub bytes_in_flight: Option<u64>,
    /// Time for each stage of one unit (read, parse, write); `None` is no limit.
    pub deadline: Option<Duration>,
    /// Memory the process may hold, pages of mapped files left out; beyond it the largest document in progress is given up as
    /// `out_of_memory`. `None` is no limit.
    pub memory_bytes: Option<u64>,
    /// Bytes one unit may occupy in the queue.
    pub max_unit_bytes: usize,
}

impl Default for Limits {
    /// One thread a processor, two slots a thread so that reading and writing overlap with parsing, and two waiting a slot.
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let slots = threads * 2;
        Self {
            slots,
            waiting: slots * 2,
            threads,
            stack_bytes: 8 << 20,
            starts_per_second: None,
            bytes_in_flight: None,
            deadline: Some(Duration::from_secs(300)),
            memory_bytes: None,
            max_unit_bytes: MAX_UNIT_BYTES,
        }
    }
}

impl Limits {
    /// The default for that many slots: `waiting` = 2 × slots, one thread a slot.
    #[must_use]
    pub fn for_slots(slots: usize) -> Self {
        Self { slots, waiting: slots.saturating_mul(2), threads: slots, ..Self::default() }
    }

    /// Everything that is wrong, each with its key and value.
    ///
    /// # Errors
    ///
    /// A non-empty list.
    pub fn check(&self) -> Result<(), Vec<LimitError>> {
        let mut errors = Vec::new();
        let counts = [("slots", self.slots), ("waiting", self.waiting), ("threads", self.threads)];
        for (key, value) in counts {
            if value == 0 {
                errors.push(LimitError { key, message: "must be a positive integer, got 0".to_owned() });
            } else if value > MOST {
                errors.push(LimitError { key, message: format!("must be at most {MOST}, got {value}") });
            }
        }
        if let Some(rate) = self.starts_per_second
            && !(rate.is_finite() && rate > 0.0)
        {
            let message = format!("must be a positive number, got {rate}");
            errors.push(LimitError { key: "starts_per_second", message });
        }
        if self.bytes_in_flight == Some(0) {
            errors.push(LimitError { key: "bytes_in_flight", message: "must be positive, got 0".to_owned() });
        }
        if self.stack_bytes < 256 << 10 {
            let message = format!("must be at least 256 KiB, got {} bytes", self.stack_bytes);
            errors.push(LimitError { key: "stack_bytes", message });
        }
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    /// What is allowed and hardly meant.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.waiting < self.slots {
            warnings.push(format!(
                "QUEUE_TOO_SMALL: waiting {} is below slots {}: slots starve when listing is slow; use {}",
                self.waiting,
                self.slots,
                self.slots * 2
            ));
        }
        if self.waiting > self.slots.saturating_mul(8) {
            warnings.push(format!(
                "QUEUE_TOO_LARGE: waiting {} is above 8 × slots {}: it hides backpressure and adds no speed; use {}",
                self.waiting,
                self.slots,
                self.slots * 2
            ));
        }
        warnings
    }
}

/// The most slots, threads or waiting units.
const MOST: usize = 1 << 20;

/// One limit that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key} {message}")]
pub struct LimitError {
    /// The field of [`Limits`].
    pub key: &'static str,
    /// What it must be and what it is.
    pub message: String,
}

/// Admits units to their slot: slots, start rate, and bytes in flight with a lane for large documents.
#[derive(Debug)]
pub(crate) struct Gate {
    slots: Arc<Semaphore>,
    gauge: Arc<DepthGauge>,
    stuck: Arc<AtomicUsize>,
    bytes: Option<ByteBudget>,
    rate: Option<StartRate>,
}

/// Permits of the byte budget count blocks of this size, so that a semaphore of 32 bits reaches far enough.
const BLOCK: u64 = 4096;

#[derive(Debug)]
struct ByteBudget {
    blocks: u32,
    free: Arc<Semaphore>,
    /// One permit: at most one large document is in progress, so that two never add up.
    lane: Arc<Semaphore>,
    in_flight: Arc<AtomicU64>,
}

#[derive(Debug)]
struct StartRate {
    interval: Duration,
    next: Mutex<Option<Instant>>,
}

impl Gate {
    pub(crate) fn new(limits: &Limits, gauge: Arc<DepthGauge>) -> Self {
        let bytes = limits.bytes_in_flight.map(|budget| {
            let blocks = u32::try_from(budget.div_ceil(BLOCK)).unwrap_or(u32::MAX).clamp(1, MOST_BLOCKS);
            ByteBudget {
                blocks,
                free: Arc::new(Semaphore::new(blocks as usize)),
                lane: Arc::new(Semaphore::new(1)),
                in_flight: Arc::new(AtomicU64::new(0)),
            }
        });
        let rate = limits.starts_per_second.map(|per_second| StartRate {
            interval: Duration::try_from_secs_f64(1.0 / per_second).unwrap_or(Duration::MAX),
            next: Mutex::new(None),
        });
        Self { slots: Arc::new(Semaphore::new(limits.slots)), gauge, stuck: Arc::new(AtomicUsize::new(0)), bytes, rate }
    }

    /// Whether a document of that size goes through the lane for large ones: it takes more than half the budget.
    pub(crate) fn is_large(&self, size: u64) -> bool {
        self.bytes.as_ref().is_some_and(|budget| budget.weight(size) > budget.blocks / 2)
    }

    /// Whether a large document would have to wait for another one.
    pub(crate) fn lane_is_taken(&self) -> bool {
        self.bytes.as_ref().is_some_and(|budget| budget.lane.available_permits() == 0)
    }

    /// Waits for the lane if need be, then the bytes, the slot and the start rate, in that order: whoever waits holds no slot. `None` only if
    /// the gate was closed.
    pub(crate) async fn admit(&self, size: u64) -> Option<Slot> {
        let lane = match &self.bytes {
            Some(budget) if self.is_large(size) => Some(Arc::clone(&budget.lane).acquire_owned().await.ok()?),
            _ => None,
        };
        let bytes = match &self.bytes {
            Some(budget) => {
                let permits = Arc::clone(&budget.free).acquire_many_owned(budget.weight(size)).await.ok()?;
                budget.in_flight.fetch_add(size, Ordering::Relaxed);
                Some((permits, Arc::clone(&budget.in_flight), size))
            }
            None => None,
        };
        let slot = Arc::clone(&self.slots).acquire_owned().await.ok()?;
        let slot = Slot::new(self, slot, bytes, lane);
        if let Some(rate) = &self.rate {
            rate.wait().await;
        }
        Some(slot)
    }

    /// As [`Gate::admit`] when nothing has to be waited for.
    pub(crate) fn try_admit(&self, size: u64) -> Option<Slot> {
        if self.rate.is_some() {
            return None;
        }
        let lane = match &self.bytes {
            Some(budget) if self.is_large(size) => Some(Arc::clone(&budget.lane).try_acquire_owned().ok()?),
            _ => None,
        };
        let permits = match &self.bytes {
            Some(budget) => Some(Arc::clone(&budget.free).try_acquire_many_owned(budget.weight(size)).ok()?),
            None => None,
        };
        let slot = Arc::clone(&self.slots).try_acquire_owned().ok()?;
        let bytes = self.bytes.as_ref().zip(permits).map(|(budget, permits)| {
            budget.in_flight.fetch_add(size, Ordering::Relaxed);
            (permits, Arc::clone(&budget.in_flight), size)
        });
        Some(Slot::new(self, slot, bytes, lane))
    }

    /// Slots whose unit is dead-lettered while its thread has not returned.
    pub(crate) fn stuck(&self) -> usize {
        self.stuck.load(Ordering::Relaxed)
    }

    /// Bytes of the documents in progress; 0 without a budget.
    pub(crate) fn bytes_in_flight(&self) -> u64 {
        self.bytes.as_ref().map_or(0, |budget| budget.in_flight.load(Ordering::Relaxed))
    }
}

/// 4 TiB in blocks: below the limit of a semaphore on every platform.
const MOST_BLOCKS: u32 = 1 << 29;

impl ByteBudget {
    /// A document larger than the budget weighs as much as the budget: it waits for all of it and runs alone.
    fn weight(&self, size: u64) -> u32 {
        u32::try_from(size.div_ceil(BLOCK)).unwrap_or(u32::MAX).min(self.blocks)
    }
}

impl StartRate {
    async fn wait(&self) {
        let mut next = self.next.lock().await;
        if let Some(at) = *next {
            tokio::time::sleep_until(at).await;
        }
        *next = Instant::now().checked_add(self.interval);
    }
}

/// The right to be in progress. Given back by `Drop`: after the record is durable and the pool thread has returned.
#[derive(Debug)]
pub(crate) struct Slot {
    _slot: OwnedSemaphorePermit,
    bytes: Option<(OwnedSemaphorePermit, Arc<AtomicU64>, u64)>,
    _lane: Option<OwnedSemaphorePermit>,
    gauge: Arc<DepthGauge>,
    stuck: Arc<AtomicUsize>,
    is_stuck: std::sync::atomic::AtomicBool,
}

impl Slot {
    fn new(
        gate: &Gate,
        slot: OwnedSemaphorePermit,
        bytes: Option<(OwnedSemaphorePermit, Arc<AtomicU64>, u64)>,
        lane: Option<OwnedSemaphorePermit>,
    ) -> Self {
        gate.gauge.put();
        Self {
            _slot: slot,
            bytes,
            _lane: lane,
            gauge: Arc::clone(&gate.gauge),
            stuck: Arc::clone(&gate.stuck),
            is_stuck: false.into(),
        }
    }

    /// The unit has its outcome, and its thread or store has not returned.
    pub(crate) fn mark_stuck(&self) {
        if !self.is_stuck.swap(true, Ordering::Relaxed) {
            self.stuck.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if self.is_stuck.load(Ordering::Relaxed) {
            self.stuck.fetch_sub(1, Ordering::Relaxed);
        }
        if let Some((_, in_flight, size)) = &self.bytes {
            in_flight.fetch_sub(*size, Ordering::Relaxed);
        }
        self.gauge.take();
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    fn gate(limits: &Limits) -> Gate {
        Gate::new(limits, Arc::new(DepthGauge::new(limits.slots)))
    }

    /// R82, R83, R47: limits are positive integers, and the message says so.
    #[test]
    fn impossible_limits_are_named_all_at_once() {
        let limits = Limits {
            slots: 0,
            waiting: 0,
            starts_per_second: Some(-1.0),
            bytes_in_flight: Some(0),
            ..Limits::default()
        };
        let errors = limits.check().unwrap_err();
        let keys: Vec<_> = errors.iter().map(|error| error.key).collect();
        assert_eq!(keys, ["slots", "waiting", "starts_per_second", "bytes_in_flight"]);
        assert_eq!(errors[0].to_string(), "slots must be a positive integer, got 0");
        assert!(serde_json::from_str::<Limits>(r#"{"slots":true}"#).is_err());
        assert!(serde_json::from_str::<Limits>(r#"{"slots":2.5}"#).is_err());
        assert!(serde_json::from_str::<Limits>(r#"{"slots":-1}"#).is_err());
        assert!(serde_json::from_str::<Limits>(r#"{"slots":"2"}"#).is_err());
    }

    /// R130, R137, R158, R159, R160: twice the slots by default; a warning below slots and above 8 × slots.
    #[test]
    fn a_queue_out_of_proportion_is_warned_of() {
        let limits = Limits::for_slots(4);
        assert_eq!(limits.waiting, 8);
        assert!(limits.warnings().is_empty());
        assert!(Limits { waiting: 3, ..limits.clone() }.warnings()[0].starts_with("QUEUE_TOO_SMALL"));
        assert!(Limits { waiting: 33, ..limits }.warnings()[0].starts_with("QUEUE_TOO_LARGE"));
    }

    /// R66, R73: two documents of 900 MB under a budget of 1 GB run one after the other; small ones pass beside the first.
    #[tokio::test]
    async fn large_documents_run_one_after_the_other() {
        let limits = Limits { bytes_in_flight: Some(1 << 30), ..Limits::for_slots(8) };
        let gate = gate(&limits);
        let first = gate.try_admit(900 << 20).unwrap();
        assert!(gate.lane_is_taken());
        assert!(gate.admit(900 << 20).now_or_never().is_none());
        let small = gate.try_admit(1 << 20).unwrap();
        assert_eq!(gate.bytes_in_flight(), 901 << 20);
        drop(first);
        let second = gate.admit(900 << 20).now_or_never().flatten().unwrap();
        drop((small, second));
        assert_eq!(gate.bytes_in_flight(), 0);
    }

    /// R73: one document larger than the whole budget waits for all of it and then runs alone.
    #[tokio::test]
    async fn a_document_larger_than_the_budget_runs_alone() {
        let limits = Limits { bytes_in_flight: Some(1 << 20), ..Limits::for_slots(8) };
        let gate = gate(&limits);
        let small = gate.try_admit(4096).unwrap();
        assert!(gate.try_admit(5 << 30).is_none());
        drop(small);
        let large = gate.try_admit(5 << 30).unwrap();
        assert!(gate.try_admit(1).is_none());
        drop(large);
        assert!(gate.try_admit(1).is_some());
    }

    /// R66, R67: the start rate binds while slots are free.
    #[tokio::test(start_paused = true)]
    async fn the_start_rate_spaces_the_starts() {
        let limits = Limits { starts_per_second: Some(10.0), ..Limits::for_slots(8) };
        let gate = gate(&limits);
        let begin = Instant::now();
        for _ in 0..5 {
            drop(gate.admit(0).await.unwrap());
        }
        assert_eq!(begin.elapsed(), Duration::from_millis(400));
    }

    #[tokio::test]
    async fn a_stuck_slot_is_counted_until_it_is_dropped() {
        let gate = gate(&Limits::for_slots(1));
        let slot = gate.try_admit(0).unwrap();
        slot.mark_stuck();
        slot.mark_stuck();
        assert_eq!(gate.stuck(), 1);
        assert!(gate.try_admit(0).is_none());
        drop(slot);
        assert_eq!(gate.stuck(), 0);
    }
}
