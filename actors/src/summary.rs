//! What a run came to, in numbers: made once at its end, serialisable, the base of every report.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::gauge::{DepthReport, MemorySample, Plateau, TimeReport};
pub use crate::shared::{Note, Phase};
use crate::stop::StopCause;
use crate::unit::{RunId, UnitId};

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// The source came to its end and every unit has its outcome.
    Completed,
    /// It was asked to stop; it can be resumed.
    Interrupted,
    /// Something ended it; see the cause.
    Failed,
}

/// Who waited for whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The queue stood empty: listing is what takes the time.
    ScannerBound,
    /// The queue stood at its bound: working is what takes the time.
    WorkerBound,
    /// Neither, most of the time.
    Balanced,
    /// Fewer units than would fill the queue twice.
    TooShort,
}

/// Memory over the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MemoryReport {
    /// The most resident bytes of the process.
    pub peak: u64,
    /// The most bytes seen that were no pages of files: what cannot be taken back.
    #[serde(default)]
    pub peak_private: u64,
    /// Whether it stood still in the second half.
    pub plateau: Plateau,
    /// Growth in the second half, in bytes per 1,000 units.
    pub bytes_per_thousand: Option<f64>,
    /// At most 512 samples.
    pub samples: Vec<MemorySample>,
}

/// What a run came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunSummary {
    /// The run.
    pub run_id: RunId,
    /// The run whose dead letters it replayed.
    pub parent_run: Option<RunId>,
    /// Name and version of the program.
    pub program: String,
    /// When this attempt began, RFC 3339.
    pub started: String,
    /// When it ended, RFC 3339.
    pub finished: String,
    /// Milliseconds between the two.
    pub elapsed_ms: u64,
    /// How it ended.
    pub ended: Ended,
    /// Why it ended early, if it did.
    pub cause: Option<StopCause>,
    /// Whether the books balance.
    pub reconciled: bool,
    /// Why they do not.
    pub errors: Vec<String>,
    /// Units in the manifest.
    pub enumerated: u64,
    /// Units extracted.
    pub extracted: u64,
    /// Units dead-lettered.
    pub dead_letters: u64,
    /// Dead letters by kind.
    pub by_kind: BTreeMap<String, u64>,
    /// Units without an outcome.
    pub unaccounted: u64,
    /// The first of them, at most 100.
    pub missing: Vec<UnitId>,
    /// Whether an earlier attempt was gone on with.
    pub resumed: bool,
    /// Outcomes that earlier attempts had recorded; part of the counts above.
    pub recorded_before: u64,
    /// Units an earlier listing had and this one has not.
    pub vanished: u64,
    /// The first of them, at most 100.
    pub vanished_units: Vec<UnitId>,
    /// Entries that appeared behind the listing of an earlier attempt and are not part of this run.
    pub appeared: u64,
    /// Repeated attempts.
    pub retries: u64,
    /// Bytes of documents read.
    pub bytes_read: u64,
    /// Time per stage: queue, read, parse, write, audit, total.
    pub stages: BTreeMap<String, TimeReport>,
    /// The queue between Scanner and Worker, until the listing was over.
    pub queue: DepthReport,
    /// The slots, over the whole run.
    pub slots: DepthReport,
    /// Time the Scanner spent waiting for a place in the queue.
    pub blocked_ms: f64,
    /// Who waited for whom.
    pub verdict: Verdict,
    /// How late the event loop was.
    pub loop_lag: TimeReport,
    /// Memory.
    pub memory: MemoryReport,
    /// The most open files seen.
    pub open_files: usize,
    /// Pool threads that had to be left behind, because their kernel did not return.
    pub threads_left: usize,
    /// Lines in the ledger.
    pub ledger_lines: u64,
    /// Digest of its last line.
    pub ledger_head: String,
    /// What else is worth knowing.
    pub notes: Vec<Note>,
    /// The steps of the run in their order.
    pub phases: Vec<Phase>,
}

impl RunSummary {
    /// 0 all extracted; 1 the run failed; 3 finished and reconciled with dead letters; 4 not reconciled; 130 interrupted.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match (self.ended, &self.cause) {
            // The books cannot balance when they cannot be written: that is the failure to report.
            (_, Some(StopCause::Ledger(_))) => 1,
            _ if !self.reconciled => 4,
            (Ended::Failed, _) => 1,
            (Ended::Interrupted, _) => 130,
            (Ended::Completed, _) if self.dead_letters > 0 => 3,
            (Ended::Completed, _) => 0,
        }
    }

    /// The milliseconds at which a step was reached.
    #[must_use]
    pub fn phase(&self, name: &str) -> Option<usize> {
        self.phases.iter().position(|phase| phase.name == name)
    }
}

/// The verdict of a reading of the queue.
pub(crate) fn verdict(queue: &DepthReport) -> Verdict {
    if queue.total < 2 * queue.bound as u64 {
        Verdict::TooShort
    } else if queue.share_at_bound >= 0.5 {
        Verdict::WorkerBound
    } else if queue.share_at_zero >= 0.5 {
        Verdict::ScannerBound
    } else {
        Verdict::Balanced
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R161: the histogram of the queue decides.
    #[test]
    fn the_verdict_follows_the_queue() {
        let queue = |at_zero, at_bound, total| {
            verdict(&DepthReport {
                bound: 8,
                share_at_zero: at_zero,
                share_at_bound: at_bound,
                total,
                ..DepthReport::default()
            })
        };
        assert_eq!(queue(0.9, 0.0, 100), Verdict::ScannerBound);
        assert_eq!(queue(0.0, 0.9, 100), Verdict::WorkerBound);
        assert_eq!(queue(0.3, 0.3, 100), Verdict::Balanced);
        assert_eq!(queue(0.9, 0.0, 15), Verdict::TooShort);
    }
}
