//! What the actors of one run share: settings, the three traits, counters, gauges and notes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::config::EngineConfig;
use crate::gauge::{DepthGauge, Histogram, MemorySeries};
use crate::limits::Gate;
use crate::memory_guard::MemoryGuard;
use crate::messages::Times;
use crate::progress::Counters;
use crate::sink::Sink;
use crate::source::Source;
use crate::stop::Stop;
use crate::unit::RunId;
use uuid::Uuid;

pub(crate) struct Shared {
    pub(crate) config: EngineConfig,
    pub(crate) source: Arc<dyn Source>,
    pub(crate) sink: Arc<dyn Sink>,
    pub(crate) stop: Stop,
    pub(crate) counters: Arc<Counters>,
    pub(crate) queue: Arc<DepthGauge>,
    pub(crate) slots: Arc<DepthGauge>,
    pub(crate) gate: Arc<Gate>,
    pub(crate) memory_guard: MemoryGuard,
    /// The name of the run and what trace ids are made in, once its directory is open: a resume keeps the one on disk.
    pub(crate) identity: OnceLock<(RunId, Uuid)>,
    measured: Mutex<Measured>,
}

/// What is measured beside counters and depth.
#[derive(Default)]
pub(crate) struct Measured {
    pub(crate) stages: [Histogram; 6],
    pub(crate) by_kind: BTreeMap<String, u64>,
    pub(crate) loop_lag: Histogram,
    pub(crate) memory: MemorySeries,
    /// The most memory that could not be taken back, in bytes.
    pub(crate) peak_private: u64,
    pub(crate) open_files: usize,
    pub(crate) notes: Vec<Note>,
    pub(crate) notes_dropped: u64,
    pub(crate) phases: Vec<Phase>,
}

/// Something worth knowing about a run, with a stable code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Such as `SCANNER_STALLED`; never changes meaning.
    pub code: String,
    /// For people.
    pub message: String,
}

/// When a step of the run was reached; proves the order of starting and stopping.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phase {
    /// Which step.
    pub name: String,
    /// Milliseconds since the start of the run.
    pub at_ms: u64,
}

/// Names of the rows in a report of stages, in order.
pub(crate) const STAGE_NAMES: [&str; 6] = ["queue", "read", "parse", "write", "audit", "total"];
const AUDIT: usize = 4;
const TOTAL: usize = 5;
const MOST_NOTES: usize = 100;

impl Shared {
    pub(crate) fn new(config: EngineConfig, source: Arc<dyn Source>, sink: Arc<dyn Sink>, stop: Stop) -> Self {
        let slots = Arc::new(DepthGauge::new(config.limits.slots));
        Self {
            queue: Arc::new(DepthGauge::new(config.limits.waiting)),
            gate: Arc::new(Gate::new(&config.limits, Arc::clone(&slots))),
            slots,
            memory_guard: MemoryGuard::default(),
            config,
            source,
            sink,
            stop,
            counters: Arc::default(),
            identity: OnceLock::new(),
            measured: Mutex::default(),
        }
    }

    pub(crate) fn run_id(&self) -> RunId {
        self.identity.get().map_or(self.config.run_id, |(run, _)| *run)
    }

    pub(crate) fn trace_namespace(&self) -> Uuid {
        self.identity.get().map_or(self.config.run_id.0, |(_, namespace)| *namespace)
    }

    pub(crate) fn measured(&self) -> MutexGuard<'_, Measured> {
        self.measured.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn note(&self, code: &str, message: String) {
        tracing::warn!(code, "{message}");
        let mut measured = self.measured();
        if measured.notes.len() < MOST_NOTES {
            measured.notes.push(Note { code: code.to_owned(), message });
        } else {
            measured.notes_dropped += 1;
        }
    }
}

impl Measured {
    /// The times of a unit whose record is durable.
    pub(crate) fn add_times(&mut self, times: &Times, audit: Duration) {
        let rows = [times.queue, times.read, times.parse, times.write];
        let mut total = audit;
        for (row, time) in rows.into_iter().enumerate() {
            total += time;
            // A stage that was never entered has no time.
            if !time.is_zero() {
                self.stages[row].add(time);
            }
        }
        self.stages[AUDIT].add(audit);
        self.stages[TOTAL].add(total);
    }
}
