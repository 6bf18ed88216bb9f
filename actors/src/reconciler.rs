//! Says whether the books balance: every unit enumerated has its outcome, or the run fails.
//!
//! While a run goes on, both sides are kept in constant space (how many, and an order-free sum of a hash of each). At its end the claim is made
//! once more from the files alone, and units without an outcome are named from the manifest.

use std::path::PathBuf;
use std::sync::Arc;

use actix::{Actor, Context, Handler, ResponseFuture};

use crate::ledger::verify::{Verification, verify_run};
use crate::messages::{Books, Reconcile};
use crate::shared::Shared;
use crate::unit::{RunId, UnitId};

/// Compares what was enumerated with what was recorded. One per run.
pub(crate) struct Reconciler {
    shared: Arc<Shared>,
}

/// How the books stand.
#[derive(Debug)]
pub(crate) struct Balance {
    pub(crate) balanced: bool,
    pub(crate) unaccounted: u64,
    pub(crate) missing: Vec<UnitId>,
    pub(crate) errors: Vec<String>,
}

impl Reconciler {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }
}

impl Actor for Reconciler {
    type Context = Context<Self>;
}

impl Handler<Reconcile> for Reconciler {
    type Result = ResponseFuture<Balance>;

    fn handle(&mut self, ask: Reconcile, _: &mut Self::Context) -> Self::Result {
        let directory = self.shared.config.directory.clone();
        let run = self.shared.run_id();
        Box::pin(async move { weigh(ask.scanned, ask.recorded, directory, run).await })
    }
}

async fn weigh(scanned: Option<Books>, recorded: Option<Books>, directory: PathBuf, run: RunId) -> Balance {
    let proved = tokio::task::spawn_blocking(move || verify_run(&directory, run)).await;
    let mut errors = Vec::new();
    let mut missing = Vec::new();
    let mut unaccounted = 0;
    match proved {
        Ok(Ok(verification)) => {
            compare_with_files(scanned, recorded, &verification, &mut errors);
            unaccounted = verification.unaccounted;
            missing = verification.missing;
        }
        Ok(Err(error)) => errors.push(error.to_string()),
        Err(error) => errors.push(format!("the books could not be read back: {error}")),
    }
    if let (Some(scanned), Some(recorded)) = (scanned, recorded)
        && scanned != recorded
    {
        // In case the files are worse off than the counts.
        unaccounted = unaccounted.max(scanned.count.abs_diff(recorded.count)).max(1);
    }
    if unaccounted > 0 {
        errors.insert(0, format!("unaccounted_pages:{unaccounted}"));
    }
    Balance { balanced: errors.is_empty(), unaccounted, missing, errors }
}

fn compare_with_files(scanned: Option<Books>, recorded: Option<Books>, files: &Verification, errors: &mut Vec<String>) {
    errors.extend(files.faults.iter().map(ToString::to_string));
    if let Some(tear) = &files.tear {
        errors.push(format!("{} ends with {} torn bytes", tear.path.display(), tear.bytes));
    }
    if let Some(scanned) = scanned
        && scanned.count != files.enumerated
    {
        errors.push(format!("{} units were enumerated and the manifest has {}", scanned.count, files.enumerated));
    }
    if let Some(recorded) = recorded
        && recorded.count != files.lines
    {
        errors.push(format!("{} outcomes were recorded and the ledger has {} lines", recorded.count, files.lines));
    }
}
