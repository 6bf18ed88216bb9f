//! Keeps the process within its memory: beyond the budget the largest document in progress is given up.
//!
//! A thread cannot be held to an amount of memory, and what a document will take is not known from its size. So the monitor looks
//! at what the process holds, pages of mapped files left out; above the budget the kernel of the largest document is told to give
//! up, and its unit becomes a dead letter `out_of_memory` instead of the whole run being killed. One at a time: the next is
//! not chosen before the last has let go. Which documents are in progress together is chance, so one that was not alone is tried once
//! more with nothing beside it ([`MemoryGuard::turn`]), and what becomes of it does not hang on the others. Kernels in child
//! processes take none of this memory and are never chosen for long.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};

use crate::kernel::Signal;

/// What a document that let go gave back is seen after this time.
const SETTLE: Duration = Duration::from_millis(200);

/// The documents that kernels work on.
#[derive(Debug, Default)]
pub(crate) struct MemoryGuard {
    state: Mutex<State>,
    /// Shared by those that work beside others, held whole by one that works alone.
    turns: Arc<RwLock<()>>,
}

/// The right to have a kernel work, beside others or alone.
#[derive(Debug)]
pub(crate) enum Turn {
    Shared { _turn: OwnedRwLockReadGuard<()> },
    Alone { _turn: OwnedRwLockWriteGuard<()> },
}

#[derive(Debug, Default)]
struct State {
    /// By index of the unit.
    running: BTreeMap<u64, (u64, Signal)>,
    chosen: Option<u64>,
    /// Whether others were in progress beside the chosen one.
    crowded: bool,
    quiet_until: Option<Instant>,
}

/// A document that a kernel works on; dropped when it is done.
pub(crate) struct Watched<'g> {
    guard: &'g MemoryGuard,
    index: u64,
}

impl Watched<'_> {
    /// Whether this one was told to give up and others were in progress then, or are now that it lets go.
    pub(crate) fn was_crowded_out(&self) -> bool {
        let state = self.guard.state();
        state.chosen == Some(self.index) && (state.crowded || state.running.len() > 1)
    }
}

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        let mut state = self.guard.state();
        state.running.remove(&self.index);
        if state.chosen == Some(self.index) {
            state.chosen = None;
            state.quiet_until = Some(Instant::now() + SETTLE);
        }
    }
}

impl MemoryGuard {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the turn of a document. Nothing begins beside one that is `alone`, and it begins when all others have ended.
    pub(crate) async fn turn(&self, alone: bool) -> Turn {
        let turns = Arc::clone(&self.turns);
        if alone {
            Turn::Alone { _turn: turns.write_owned().await }
        } else {
            Turn::Shared { _turn: turns.read_owned().await }
        }
    }

    /// A kernel begins with a document of that size.
    pub(crate) fn watch(&self, index: u64, size: u64, signal: Signal) -> Watched<'_> {
        self.state().running.insert(index, (size, signal));
        Watched { guard: self, index }
    }

    /// Whether one may be chosen now: none is on its way out, and one is there.
    pub(crate) fn may_choose(&self) -> bool {
        let state = self.state();
        state.chosen.is_none()
            && !state.running.is_empty()
            && state.quiet_until.is_none_or(|until| Instant::now() >= until)
    }

    /// Tells the largest document, of equal ones the last listed, to give up.
    pub(crate) fn give_up_the_largest(&self, used: u64, budget: u64) {
        let mut state = self.state();
        state.crowded = state.running.len() > 1;
        let largest = state.running.iter().max_by_key(|(index, (size, _))| (*size, **index));
        if let Some((index, (_, signal))) = largest {
            signal.exhaust(used, budget);
            state.chosen = Some(*index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_is_chosen_and_the_next_only_when_it_has_let_go() {
        let guard = MemoryGuard::default();
        assert!(!guard.may_choose());
        let (small, large) = (Signal::default(), Signal::default());
        let small_watched = guard.watch(1, 10, small.clone());
        let watched = guard.watch(0, 20, large.clone());
        assert!(guard.may_choose());
        guard.give_up_the_largest(2, 1);
        assert!(large.is_raised() && !small.is_raised());
        assert!(watched.was_crowded_out());
        assert!(!guard.may_choose());
        drop(watched);
        assert!(!guard.may_choose(), "what it gave back is not seen at once");
        guard.state().quiet_until = None;
        assert!(guard.may_choose());
        guard.give_up_the_largest(2, 1);
        assert!(small.is_raised() && !small_watched.was_crowded_out(), "it was alone");
    }
}
