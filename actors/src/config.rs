//! Everything an engine is told: where it keeps its books, what bounds it, and what it does about failures.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::ledger::{CheckpointSettings, Durability, Faults};
use crate::limits::Limits;
use crate::retry::RetryPolicy;
use crate::spool::SpoolSettings;
use crate::unit::RunId;

/// Everything an engine is told. [`EngineConfig::new`] has a default for each but the directory.
#[derive(Debug, Clone)]
pub struct EngineConfig {
    /// The run's own directory; made if need be.
    pub directory: PathBuf,
    /// The name of the run. A resume keeps that of the run on disk.
    pub run_id: RunId,
    /// The name of the batch that trace ids are made in: the same location and request give the same ids in every run, so outputs can be
    /// compared byte by byte. `None` takes the run.
    pub trace_namespace: Option<Uuid>,
    /// The run whose dead letters this one replays.
    pub parent_run: Option<RunId>,
    /// The request the batch belongs to; stands in every line.
    pub request_id: Option<String>,
    /// Name and version of the program, such as `plan2geo 0.1.0`.
    pub program: String,
    /// Every setting that decides what outputs are, by dotted key. A resume under others is refused.
    pub settings: BTreeMap<String, Value>,
    /// What bounds the run.
    pub limits: Limits,
    /// When attempts are repeated.
    pub retry: RetryPolicy,
    /// What a failure does to the run.
    pub on_failure: OnFailure,
    /// More dead letters than this end the run; `None` is no limit.
    pub max_failures: Option<u64>,
    /// Ends the run when one cause explains most of the recent failures; `None` never does.
    pub breaker: Option<Breaker>,
    /// What is there already when the run begins.
    pub existing: Existing,
    /// The directory of a finished run of the same batch: what has not changed since is carried over.
    pub previous: Option<PathBuf>,
    /// Where kernels put their output.
    pub spool: SpoolSettings,
    /// Whether the books survive the loss of power.
    pub durability: Durability,
    /// Lines in one batch of the ledger at most.
    pub commit_lines: usize,
    /// Bytes after which a segment of the ledger is closed; `None` keeps one file.
    pub rotate_bytes: Option<u64>,
    /// Signed statements of how the ledger stood, while the run goes on and at its end.
    pub checkpoints: Option<CheckpointSettings>,
    /// Whether SIGINT and SIGTERM drain, then abort, then leave with 130.
    pub signals: bool,
    /// A source that yields nothing for so long is noted as stalled.
    pub stall_after: Duration,
    /// A unit that waits for so long is noted as stuck.
    pub stuck_after: Duration,
    /// How long threads past their deadline, and stores running at an abort, are waited for.
    pub grace: Duration,
    /// Called when the process holds more memory than its budget, before a document is given up for it: makes the allocator give
    /// back what it keeps for later.
    pub relieve: Option<fn()>,
    /// Points where tests inject faults.
    pub faults: Faults,
}

impl EngineConfig {
    /// The defaults, with the books in that directory.
    #[must_use]
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            run_id: RunId::random(),
            trace_namespace: None,
            parent_run: None,
            request_id: None,
            program: concat!("plan2geo-actors ", env!("CARGO_PKG_VERSION")).to_owned(),
            settings: BTreeMap::new(),
            limits: Limits::default(),
            retry: RetryPolicy::default(),
            on_failure: OnFailure::Isolate,
            max_failures: None,
            breaker: None,
            existing: Existing::Refuse,
            previous: None,
            spool: SpoolSettings::default(),
            durability: Durability::Full,
            commit_lines: 256,
            rotate_bytes: None,
            checkpoints: None,
            signals: false,
            stall_after: Duration::from_secs(30),
            stuck_after: Duration::from_secs(60),
            grace: Duration::from_secs(10),
            relieve: None,
            faults: Faults::default(),
        }
    }

    /// The same under other limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }
}

/// What one failed unit does to the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// It becomes a dead letter and the run goes on.
    #[default]
    Isolate,
    /// The run enumerates nothing more, finishes what is enumerated, and fails.
    FailFast,
}

/// What to do about a run that is in the directory already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Existing {
    /// Do not begin.
    #[default]
    Refuse,
    /// Go on with it: only what has no outcome is done.
    Resume,
}

/// Ends a run when one cause explains most of the recent outcomes: a store that is down, a disk that is full.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Breaker {
    /// How many of the last outcomes are looked at.
    pub window: usize,
    /// The share of them, 0 to 1, that must have failed by one kind.
    pub share: f64,
}

impl Default for Breaker {
    /// 80 % of the last 50.
    fn default() -> Self {
        Self { window: 50, share: 0.8 }
    }
}
