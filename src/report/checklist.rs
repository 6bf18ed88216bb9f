//! What a defensible run has to show, judged by what was measured, and what to do next.

use plan2geo_actors::RunSummary;
use plan2geo_actors::gauge::{DepthReport, Plateau};
use plan2geo_actors::summary::{Ended, Verdict};
use serde::Serialize;

use super::{LimitsInForce, Report};

/// Greatest lateness of the event loop, 99th percentile, that counts as responsive.
const LOOP_LAG_MS: f64 = 50.0;

/// How a check came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Measured, and as it should be.
    Pass,
    /// Measured, and not as it should be.
    Fail,
    /// The run was too short to tell.
    Unknown,
}

/// One line of the checklist.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Check {
    /// What is checked.
    pub title: &'static str,
    /// How it came out.
    pub outcome: Outcome,
    /// The numbers.
    pub evidence: String,
}

/// The checklist of R55 to R62.
pub(super) fn judge(summary: &RunSummary, limits: &LimitsInForce) -> Vec<Check> {
    let check = |title, good: bool, evidence| Check {
        title,
        outcome: if good { Outcome::Pass } else { Outcome::Fail },
        evidence,
    };
    let queue = &summary.queue;
    let recorded = summary.extracted + summary.dead_letters;
    vec![
        check(
            "the queue is bounded and held its bound",
            queue.peak <= queue.bound,
            format!("bound {}, peak {}", queue.bound, queue.peak),
        ),
        check(
            "drawings in progress stayed within the slots",
            summary.slots.peak <= limits.slots,
            format!("slots {}, peak {}", limits.slots, summary.slots.peak),
        ),
        Check {
            title: "conversion ran off the event loop",
            outcome: match summary.loop_lag.count {
                0 => Outcome::Unknown,
                _ if summary.loop_lag.p99_ms < LOOP_LAG_MS => Outcome::Pass,
                _ => Outcome::Fail,
            },
            evidence: format!(
                "on {} {}s; event loop late by {:.1} ms at the 99th percentile",
                limits.threads, limits.isolation, summary.loop_lag.p99_ms
            ),
        },
        check(
            "every failure cost one drawing and is named",
            summary.by_kind.values().sum::<u64>() == summary.dead_letters,
            format!("{} dead letters in {} kinds", summary.dead_letters, summary.by_kind.len()),
        ),
        check(
            "exactly one terminal line a drawing",
            summary.ledger_lines == recorded,
            format!("{} lines for {recorded} outcomes", summary.ledger_lines),
        ),
        check(
            "extracted and dead letters add up to what was enumerated",
            summary.reconciled,
            format!("{} + {} of {}", summary.extracted, summary.dead_letters, summary.enumerated),
        ),
        Check {
            title: "memory stood still",
            outcome: match summary.memory.plateau {
                Plateau::Flat => Outcome::Pass,
                Plateau::Growing => Outcome::Fail,
                Plateau::Unknown => Outcome::Unknown,
            },
            evidence: match summary.memory.bytes_per_thousand {
                Some(growth) => format!("{:.2} MB per 1,000 drawings in the second half", growth / 1e6),
                None => "too few samples".to_owned(),
            },
        },
        check(
            "the pipeline drained and nothing was left running",
            summary.threads_left == 0 && summary.unaccounted == 0,
            format!(
                "{} threads left behind, {} drawings without an outcome",
                summary.threads_left, summary.unaccounted
            ),
        ),
    ]
}

/// Whether a queue had the chance to fill and never did: its bound protects nothing.
fn never_full(queue: &DepthReport) -> bool {
    queue.total > 4 * queue.bound as u64 && queue.peak < queue.bound
}

/// What to do next, in order of importance.
pub(super) fn advice(report: &Report) -> Vec<String> {
    let summary = &report.summary;
    let mut advice = Vec::new();
    if !summary.reconciled {
        advice.push(format!(
            "The books do not balance: {} drawings have no outcome. Run the same configuration again; it does only the rest.",
            summary.unaccounted
        ));
    }
    if summary.ended == Ended::Interrupted {
        advice
            .push("The run was interrupted. Run the same configuration again; it goes on where it stopped.".to_owned());
    }
    if let Some(cause) = report.causes.first() {
        let share = 100 * cause.count / summary.dead_letters.max(1);
        advice.push(format!(
            "{} of {} dead letters ({share} %) have one cause, “{}”: {}.",
            cause.count, summary.dead_letters, cause.cause, cause.remedy
        ));
    }
    if let Some(deadline) = report.deadline.as_ref().filter(|deadline| !deadline.met) {
        advice.push(format!("The deadline {} was missed by {} s.", deadline.at, -deadline.seconds_left));
    }
    if summary.memory.plateau == Plateau::Growing {
        advice.push("Memory grew with the batch: report it, with report.json.".to_owned());
    }
    if report.limits.memory_budget.is_some_and(|budget| summary.memory.peak_private > budget) {
        advice.push(
            "Memory went past `limits.memory_budget`: lower `limits.threads`, or raise `limits.memory_per_drawing` to what \
             the largest drawings take."
                .to_owned(),
        );
    }
    match summary.verdict {
        Verdict::WorkerBound => advice.push(
            "Converting takes the time (the queue stood full). More cores make it faster; a longer queue does not."
                .to_owned(),
        ),
        Verdict::ScannerBound => {
            advice.push(
                "Listing takes the time (the queue stood empty). A nearer or faster store makes it faster.".to_owned(),
            );
        }
        Verdict::Balanced | Verdict::TooShort => {}
    }
    if never_full(&summary.queue) {
        advice.push(format!(
            "QUEUE_NEVER_FULL: of {} places at most {} were taken; a shorter `limits.queue` does as well.",
            summary.queue.bound, summary.queue.peak
        ));
    }
    if report.skipped.extension_disagrees > 0 {
        advice.push(format!(
            "{} files are of another format than their extension says; they were read as what they are.",
            report.skipped.extension_disagrees
        ));
    }
    advice
}

#[cfg(test)]
mod tests {
    use super::*;

    // R45: a queue that never fills is said, unless the batch was too small to fill it.
    #[test]
    fn a_queue_that_never_fills_is_said() {
        let queue = |bound, peak, total| never_full(&DepthReport { bound, peak, total, ..DepthReport::default() });
        assert!(queue(8, 3, 100));
        assert!(!queue(8, 8, 100));
        assert!(!queue(8, 3, 20));
    }
}
