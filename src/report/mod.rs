//! What a run came to, for people: `report.json` and one offline HTML page beside the ledger.
//!
//! The engine's [`RunSummary`] holds what was measured; [`Report`] adds what one pass over the ledger tells (dead letters by
//! cause, the slowest and largest drawings, issues by code, formats) and judges it: the checklist of a defensible
//! run, and what to do next. Memory stays flat: everything that could grow with the batch is capped and its count kept.
//!
//! [`html`] draws it; this module computes and does not format.

mod checklist;
pub mod html;
mod plot;
mod tally;

use std::collections::BTreeMap;
use std::path::Path;

use plan2geo_actors::RunSummary;
use plan2geo_actors::ledger::{self, LedgerError};
use serde::Serialize;

pub use checklist::{Check, Outcome};
pub use tally::{Cause, Example, FormatTally, UnitTime, root_cause};

use crate::source::Skipped;

/// Identifies the shape of `report.json`.
pub const SCHEMA: &str = "plan2geo-report/1";

/// What a report is made of beside the ledger.
#[derive(Debug, Clone)]
pub struct Context {
    /// Where the drawings came from.
    pub source: String,
    /// Where the results went.
    pub output: String,
    /// What the source left out.
    pub skipped: Skipped,
    /// `run.request_id`.
    pub request_id: Option<String>,
    /// `run.deadline`.
    pub deadline: Option<jiff::Timestamp>,
    /// Bound of the queue, slots, threads: as they were in force.
    pub limits: LimitsInForce,
}

/// The limits a run had, after defaults were resolved.
#[derive(Debug, Clone, Serialize)]
pub struct LimitsInForce {
    /// `limits.queue`.
    pub queue: usize,
    /// `limits.slots`.
    pub slots: usize,
    /// `limits.threads`.
    pub threads: usize,
    /// `limits.memory_budget`, bytes.
    pub memory_budget: Option<u64>,
    /// `limits.in_flight_bytes`.
    pub in_flight_bytes: Option<u64>,
    /// `run.isolation`.
    pub isolation: &'static str,
}

/// The deadline of the batch against its end.
#[derive(Debug, Clone, Serialize)]
pub struct Deadline {
    /// When it had to be done, RFC 3339.
    pub at: String,
    /// Seconds left at the end; negative when late.
    pub seconds_left: i64,
    /// Whether it was met.
    pub met: bool,
}

/// A whole report.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Exit code of the run.
    pub exit_code: u8,
    /// Where the drawings came from.
    pub source: String,
    /// Where the results went.
    pub output: String,
    /// `run.request_id`.
    pub request_id: Option<String>,
    /// The deadline, if there was one.
    pub deadline: Option<Deadline>,
    /// The limits in force.
    pub limits: LimitsInForce,
    /// What the engine measured.
    pub summary: RunSummary,
    /// What the source left out, by reason.
    pub skipped: Skipped,
    /// Dead letters by cause, the most frequent first.
    pub causes: Vec<Cause>,
    /// Dead letters whose cause did not fit into the list.
    pub other_causes: u64,
    /// Issues of all outputs by code.
    pub issues: BTreeMap<String, u64>,
    /// Units by format.
    pub formats: BTreeMap<String, FormatTally>,
    /// The slowest conversions, the slowest first.
    pub slowest: Vec<UnitTime>,
    /// The largest documents, the largest first.
    pub largest: Vec<UnitTime>,
    /// What a defensible run has to show, judged by what was measured.
    pub checklist: Vec<Check>,
    /// What to do next, in order of importance.
    pub advice: Vec<String>,
}

impl Report {
    /// Reads the ledger of a finished run once and judges it.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn new(summary: RunSummary, directory: &Path, context: Context) -> Result<Self, LedgerError> {
        let mut tally = tally::Tally::default();
        for record in ledger::read(directory)? {
            tally.add(&record?);
        }
        let deadline = context.deadline.map(|at| deadline(at, &summary));
        let (causes, other_causes) = tally.causes();
        let checklist = checklist::judge(&summary, &context.limits);
        let mut report = Self {
            schema: SCHEMA,
            exit_code: summary.exit_code(),
            source: context.source,
            output: context.output,
            request_id: context.request_id,
            deadline,
            limits: context.limits,
            summary,
            skipped: context.skipped,
            causes,
            other_causes,
            issues: tally.issues,
            formats: tally.formats,
            slowest: tally.slowest.into_sorted(),
            largest: tally.largest.into_sorted(),
            checklist,
            advice: Vec::new(),
        };
        report.advice = checklist::advice(&report);
        Ok(report)
    }
}

fn deadline(at: jiff::Timestamp, summary: &RunSummary) -> Deadline {
    let finished = summary.finished.parse::<jiff::Timestamp>().unwrap_or_else(|_| jiff::Timestamp::now());
    let seconds_left = at.as_second() - finished.as_second();
    Deadline { at: at.to_string(), seconds_left, met: seconds_left >= 0 }
}

#[cfg(test)]
mod tests;
