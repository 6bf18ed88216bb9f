//! What is done with the bytes of a unit: a [`Kernel`] turns them into an [`Extraction`] on a thread of the pool.
//!
//! # Order of calls
//!
//! A factory makes one kernel on each pool thread, so a kernel may keep buffers and need not be `Send`. `extract` is called once an attempt
//! under `catch_unwind`; after a panic the kernel is dropped and the factory makes another. The kernel does no I/O except through what it is
//! handed: its bytes and the [`Spool`]s of its [`KernelContext`].
//!
//! # Deadline and cancellation
//!
//! A thread cannot be stopped from outside. The kernel calls [`KernelContext::checkpoint`] once an entity, page or a few thousand steps
//! and returns its error at once. A kernel that does not is dead-lettered as `timeout` all the same, but its thread and its slot stay
//! occupied until it returns, and its late result is thrown away.
//!
//! # Isolation
//!
//! A kernel that drives a child process (send the bytes, await the answer, kill the child when a checkpoint fails) plugs in here as any other:
//! the pool needs to know nothing of processes.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::failure::{Failure, FailureKind, Stage};
use crate::spool::{Spool, SpoolSettings, Spooled};
use crate::unit::Unit;

/// Turns bytes into an extraction. The rules stand in the [module documentation](self).
pub trait Kernel: 'static {
    /// Works on one unit.
    ///
    /// # Errors
    ///
    /// A [`Failure`] at [`Stage::Parse`]: usually `malformed`, `unsupported`, `encrypted`, `raster_only`, `limit`, or what
    /// [`KernelContext::checkpoint`] returned.
    fn extract(&mut self, unit: &Unit, bytes: Bytes, cx: &KernelContext) -> Result<Extraction, Failure>;
}

/// What a kernel made of a unit.
#[derive(Debug, Clone)]
pub struct Extraction {
    /// The main output.
    pub output: Spooled,
    /// Outputs that stand beside it: a suffix such as `.txt`, and the bytes.
    pub attachments: Vec<(String, Spooled)>,
    /// Goes into the ledger line as additional keys, such as `features`, `chars` or `topology_hash`. Keys of the
    /// ledger itself are not overwritten.
    pub facts: BTreeMap<String, serde_json::Value>,
}

impl Extraction {
    /// An extraction with nothing but its output.
    #[must_use]
    pub fn new(output: Spooled) -> Self {
        Self { output, attachments: Vec::new(), facts: BTreeMap::new() }
    }

    /// With one more fact for the ledger.
    #[must_use]
    pub fn with_fact(mut self, key: impl Into<String>, value: impl Into<serde_json::Value>) -> Self {
        self.facts.insert(key.into(), value.into());
        self
    }
}

/// Deadline, cancellation and spools for one call of a kernel. Cheap to clone; may be shared between threads.
#[derive(Debug, Clone)]
pub struct KernelContext {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    signal: Signal,
    deadline: Option<(Instant, Duration)>,
    calls: AtomicU32,
    spool: SpoolSettings,
}

impl KernelContext {
    /// A context that gives up after `deadline`, counted from now. For use outside an engine pass `Signal::default()`.
    #[must_use]
    pub fn new(deadline: Option<Duration>, spool: SpoolSettings, signal: Signal) -> Self {
        let deadline = deadline.and_then(|allowed| Some((Instant::now().checked_add(allowed)?, allowed)));
        Self { shared: Arc::new(Shared { signal, deadline, calls: AtomicU32::new(0), spool }) }
    }

    /// A context without deadline, with spools of the default size: for one conversion outside an engine.
    #[must_use]
    pub fn unbounded() -> Self {
        Self::new(None, SpoolSettings::default(), Signal::default())
    }

    /// Whether to go on. Costs two atomic operations; the clock is read every 32nd call, since the engine's own
    /// watchdog raises the signal at the deadline.
    ///
    /// # Errors
    ///
    /// `timeout` after the deadline, `cancelled` when the run is aborted, `out_of_memory` when the process is past its budget.
    pub fn checkpoint(&self) -> Result<(), Failure> {
        match self.shared.signal.0.cause.load(Ordering::Relaxed) {
            Signal::RUN => {}
            Signal::TIMEOUT => return Err(self.timed_out()),
            Signal::EXHAUSTED => return Err(self.shared.signal.exhausted()),
            _ => {
                return Err(Failure::new(FailureKind::Cancelled, Stage::Parse, "the run was aborted"));
            }
        }
        if self.shared.deadline.is_some() {
            let calls = self.shared.calls.fetch_add(1, Ordering::Relaxed);
            if calls.is_multiple_of(32) {
                return self.in_time();
            }
        }
        Ok(())
    }

    /// [`KernelContext::checkpoint`] for whoever looks seldom: the clock is read each time.
    pub(crate) fn check_now(&self) -> Result<(), Failure> {
        self.checkpoint()?;
        self.in_time()
    }

    fn in_time(&self) -> Result<(), Failure> {
        match self.shared.deadline {
            Some((at, _)) if Instant::now() >= at => Err(self.timed_out()),
            _ => Ok(()),
        }
    }

    /// The time left, if there is a deadline.
    #[must_use]
    pub fn remaining(&self) -> Option<Duration> {
        self.shared.deadline.map(|(at, _)| at.saturating_duration_since(Instant::now()))
    }

    /// A place to write output to: memory first, beyond a threshold a temporary file without a name.
    #[must_use]
    pub fn spool(&self) -> Spool {
        Spool::new(self.shared.spool.clone())
    }

    pub(crate) fn timed_out(&self) -> Failure {
        let allowed = self.shared.deadline.map_or(Duration::ZERO, |(_, allowed)| allowed);
        Failure::new(FailureKind::Timeout, Stage::Parse, format!("not finished after {:.1} s", allowed.as_secs_f64()))
    }
}

/// Tells a running kernel to give up. Raised by the engine's watchdog or an abort; the first cause stays.
#[derive(Debug, Clone, Default)]
pub struct Signal(Arc<Raised>);

#[derive(Debug, Default)]
struct Raised {
    cause: AtomicU8,
    /// Memory of the process and its budget, once the cause is `EXHAUSTED`.
    memory: OnceLock<(u64, u64)>,
}

impl Signal {
    const RUN: u8 = 0;
    const TIMEOUT: u8 = 1;
    const CANCEL: u8 = 2;
    const EXHAUSTED: u8 = 3;

    /// The deadline passed.
    pub fn time_out(&self) {
        self.raise(Self::TIMEOUT);
    }

    /// The run is aborted.
    pub fn cancel(&self) {
        self.raise(Self::CANCEL);
    }

    /// The process holds more memory than its budget, and this document is the one to be given up.
    pub(crate) fn exhaust(&self, used: u64, budget: u64) {
        self.0.memory.get_or_init(|| (used, budget));
        self.raise(Self::EXHAUSTED);
    }

    /// Whether it was raised, for whatever cause.
    #[must_use]
    pub fn is_raised(&self) -> bool {
        self.0.cause.load(Ordering::Relaxed) != Self::RUN
    }

    fn raise(&self, cause: u8) {
        // A signal already raised keeps its cause.
        let _ = self.0.cause.compare_exchange(Self::RUN, cause, Ordering::Relaxed, Ordering::Relaxed);
    }

    fn exhausted(&self) -> Failure {
        let (used, budget) = self.0.memory.get().copied().unwrap_or_default();
        let message = format!(
            "given up as the largest document in progress: the process held {used} bytes of memory and its budget is {budget}"
        );
        Failure::new(FailureKind::OutOfMemory, Stage::Parse, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkpoint_tells_timeout_from_cancellation_and_the_first_cause_stays() {
        let signal = Signal::default();
        let cx = KernelContext::new(Some(Duration::from_secs(3600)), SpoolSettings::default(), signal.clone());
        assert!(cx.checkpoint().is_ok());
        signal.time_out();
        signal.cancel();
        assert_eq!(cx.checkpoint().unwrap_err().kind, FailureKind::Timeout);

        let signal = Signal::default();
        let cx = KernelContext::new(None, SpoolSettings::default(), signal.clone());
        signal.cancel();
        assert_eq!(cx.checkpoint().unwrap_err().kind, FailureKind::Cancelled);
    }

    #[test]
    fn a_passed_deadline_is_seen_without_a_watchdog() {
        let cx = KernelContext::new(Some(Duration::ZERO), SpoolSettings::default(), Signal::default());
        assert_eq!(cx.checkpoint().unwrap_err().kind, FailureKind::Timeout);
    }
}
