//! Says of each unit what a run would do with it and why, without doing anything.

use std::fmt;

use futures::StreamExt;
use serde::{Deserialize, Serialize};

use crate::config::EngineConfig;
use crate::engine::RunError;
use crate::journal::Journal;
use crate::ledger::bitmap::Bitmap;
use crate::ledger::manifest::{ManifestLine, ManifestReader};
use crate::ledger::record::Event;
use crate::ledger::walk::walk;
use crate::ledger::{LedgerError, RunHeader};
use crate::previous::{Carry, Previous};
use crate::source::Source;
use crate::stop::StopCause;
use crate::unit::{Unit, UnitId};

/// What a run would do with a unit, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reason {
    /// Runs: it was never enumerated.
    New,
    /// Runs: enumerated by an attempt that ended before it had an outcome.
    Unfinished,
    /// Runs, unless its output stands there with the digest that was noted: it was being stored when the attempt ended.
    Unresolved,
    /// Does not run: extracted in this run already.
    Extracted,
    /// Does not run: a dead letter of this run already; a replay would do it.
    DeadLetter,
    /// Runs: its size, version, format or floor differs from the finished batch, or its version is unknown.
    Changed,
    /// Runs: the finished batch could not extract it.
    NotExtracted,
    /// Does not run, if its output stands there with the digest it had: nothing changed since the finished batch.
    Unchanged,
    /// Does not run: the source cannot offer it, and it becomes a dead letter at once.
    Unreadable,
}

impl Reason {
    /// Whether the kernel would see it.
    #[must_use]
    pub fn runs(self) -> bool {
        matches!(self, Self::New | Self::Unfinished | Self::Unresolved | Self::Changed | Self::NotExtracted)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::New => "runs: new",
            Self::Unfinished => "runs: an earlier attempt ended before it was done",
            Self::Unresolved => "is looked at: an earlier attempt ended while it was being stored",
            Self::Extracted => "done: extracted already",
            Self::DeadLetter => "done: a dead letter already",
            Self::Changed => "runs: changed since the finished batch",
            Self::NotExtracted => "runs: the finished batch could not extract it",
            Self::Unchanged => "carried over: unchanged since the finished batch",
            Self::Unreadable => "cannot run: the source could not offer it",
        })
    }
}

/// Tells of each unit, in no particular order, what a run with this configuration would do. Holds one bit a unit of the run on disk.
///
/// # Errors
///
/// When the books cannot be read or the source cannot be listed.
pub async fn explain(
    config: &EngineConfig,
    source: &dyn Source,
    mut tell: impl FnMut(UnitId, Reason),
) -> Result<(), RunError> {
    let directory = &config.directory;
    let header = RunHeader::load(directory)?;
    let mut listed = None;
    if let Some(header) = &header {
        if told_of_run(config, header, &mut tell)? {
            return Ok(());
        }
        listed = Some(ManifestReader::open(directory)?);
    }
    let mut previous = match &config.previous {
        Some(previous) => Some(Previous::open(previous)?),
        None => None,
    };
    let namespace = config.trace_namespace.unwrap_or(config.run_id.0);
    let mut known: Option<UnitId> = None;
    let mut findings = source.scan();
    while let Some(found) = findings.next().await {
        let found = found.map_err(|error| RunError::Source(StopCause::Source(error.to_string())))?;
        let id = found.id();
        // What the manifest has was told of above; what sorts among it and is not in it is not part of the run.
        if let Some(reader) = &mut listed {
            while known.as_ref().is_none_or(|known| *known < id) {
                match reader.next_id(|doc_id, page| UnitId { doc_id: doc_id.to_owned(), page })? {
                    Some(next) => known = Some(next),
                    None => break,
                }
            }
            if known.as_ref().is_some_and(|known| *known >= id) {
                continue;
            }
        }
        if found.failure.is_some() {
            tell(id, Reason::Unreadable);
            continue;
        }
        let unit = Unit::from_found(found, namespace, config.request_id.as_deref());
        let carry = match &mut previous {
            Some(previous) => previous.look_up(&unit)?,
            None => Carry::New,
        };
        let reason = match carry {
            Carry::New => Reason::New,
            Carry::Changed => Reason::Changed,
            Carry::NotExtracted => Reason::NotExtracted,
            Carry::Unchanged { .. } => Reason::Unchanged,
        };
        tell(id, reason);
    }
    Ok(())
}

/// Tells of the units in the manifest. `true` if the manifest is closed, so that nothing else belongs to the run.
fn told_of_run(
    config: &EngineConfig,
    header: &RunHeader,
    tell: &mut impl FnMut(UnitId, Reason),
) -> Result<bool, LedgerError> {
    let directory = &config.directory;
    let (mut extracted, mut dead) = (Bitmap::default(), Bitmap::default());
    walk(directory, header.run_id, |envelope| {
        let set = if envelope.event == Event::Extracted { &mut extracted } else { &mut dead };
        set.insert(envelope.index);
        None
    })?;
    let mut done = extracted.clone();
    done.union(&dead);
    let claims = Journal::claims(directory, &done)?;
    let mut manifest = ManifestReader::open(directory)?;
    while let Some(line) = manifest.next_line()? {
        let ManifestLine::Unit(entry) = line else { continue };
        let reason = if extracted.contains(entry.index) {
            Reason::Extracted
        } else if dead.contains(entry.index) {
            Reason::DeadLetter
        } else if entry.failure.is_some() {
            Reason::Unreadable
        } else if claims.contains_key(&entry.index) {
            Reason::Unresolved
        } else {
            Reason::Unfinished
        };
        tell(entry.unit.id(), reason);
    }
    Ok(manifest.is_closed())
}
