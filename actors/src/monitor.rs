//! Watches a run from its own event loop: how late the loop is, memory and its budget, open files, and units that
//! do not move.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::gauge::{MemorySample, open_files, resident_bytes};
use crate::shared::Shared;
use crate::stop::{Level, StopCause};

const TICK: Duration = Duration::from_millis(20);
/// Timers are good to a millisecond; later than that is the loop.
const TIMER: Duration = Duration::from_millis(1);
const SAMPLE_EVERY: Duration = Duration::from_millis(200);

/// Runs until it is dropped.
pub(crate) async fn watch(shared: Arc<Shared>, begun: Instant) {
    let mut sampled: Option<Instant> = None;
    let mut stuck_since: Option<Instant> = None;
    let mut noted_stuck = false;
    loop {
        let before = Instant::now();
        guard_memory(&shared);
        if sampled.is_none_or(|at| at.elapsed() >= SAMPLE_EVERY) {
            sampled = Some(before);
            sample(&shared, begun);
        }
        let oldest = shared.queue.oldest();
        if !noted_stuck && oldest >= shared.config.stuck_after {
            noted_stuck = true;
            shared.note("STUCK_UNIT", format!("a unit has waited for {:.1} s", oldest.as_secs_f64()));
        }
        let held = shared.gate.stuck() >= shared.config.limits.threads.min(shared.config.limits.slots);
        stuck_since = if held { stuck_since.or(Some(before)) } else { None };
        if stuck_since.is_some_and(|since| since.elapsed() >= shared.config.grace) {
            let what = "every pool thread is held by a unit past its deadline; nothing can go on".to_owned();
            shared.stop.raise(Level::Abort, StopCause::PoolStuck(what));
        }
        let slept = Instant::now();
        tokio::time::sleep(TICK).await;
        let late = slept.elapsed().saturating_sub(TICK + TIMER);
        shared.measured().loop_lag.add(late);
    }
}

/// Above the budget the largest document in progress is given up.
fn guard_memory(shared: &Shared) {
    let Some((resident, of_files)) = resident_bytes() else { return };
    let private = resident.saturating_sub(of_files);
    {
        let mut measured = shared.measured();
        measured.peak_private = measured.peak_private.max(private);
    }
    let Some(budget) = shared.config.limits.memory_bytes.filter(|budget| private > *budget) else { return };
    if !shared.memory_guard.may_choose() {
        return;
    }
    // What documents before left with the allocator is given back first.
    if let Some(relieve) = &shared.config.relieve {
        relieve();
        let now = resident_bytes().map_or(private, |(resident, of_files)| resident.saturating_sub(of_files));
        if now <= budget {
            return;
        }
    }
    shared.memory_guard.give_up_the_largest(private, budget);
}

/// Takes one sample of memory and open files.
pub(crate) fn sample(shared: &Shared, begun: Instant) {
    let resident = resident_bytes();
    let files = open_files().unwrap_or(0);
    let (units, waiting) = (shared.counters.done(), shared.queue.depth());
    let mut measured = shared.measured();
    measured.open_files = measured.open_files.max(files);
    if let Some((resident, of_files)) = resident {
        let at_ms = begun.elapsed().as_millis() as u64;
        measured.memory.add(MemorySample { at_ms, units, waiting, resident, of_files });
    }
}
