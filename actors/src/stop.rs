//! How a run is told to end early: a value outside the mailboxes, because a message behind a full queue would come too late.
//!
//! `run < drain < abort`. Draining, the Scanner asks its source for nothing more and everything enumerated is finished. Aborting, what
//! runs and what waits becomes a dead letter `cancelled`. The first cause is kept; consequences do not hide it.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio::sync::watch;

/// How far the end has come. Only ever rises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Go on.
    Run,
    /// Enumerate nothing more; finish what is enumerated.
    Drain,
    /// Dead-letter what runs and what waits.
    Abort,
}

/// Why a run ends early.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "cause", content = "detail")]
#[non_exhaustive]
pub enum StopCause {
    /// SIGINT, SIGTERM or [`Stop::drain`] by the caller.
    Asked(String),
    /// The policy is `fail_fast` and this happened.
    FailFast(String),
    /// More dead letters than allowed.
    MaxFailures(u64),
    /// One cause explains most of the recent failures.
    Breaker(String),
    /// The source could not list on.
    Source(String),
    /// The ledger or the manifest could not be written.
    Ledger(String),
    /// Every pool thread is held by a unit that has passed its deadline.
    PoolStuck(String),
}

impl std::fmt::Display for StopCause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Asked(by) => write!(f, "stopped by {by}"),
            Self::FailFast(what) => write!(f, "stopped at the first failure: {what}"),
            Self::MaxFailures(limit) => write!(f, "stopped after more than {limit} dead letters"),
            Self::Breaker(what) => write!(f, "stopped because one cause explains most failures: {what}"),
            Self::Source(what) | Self::Ledger(what) | Self::PoolStuck(what) => f.write_str(what),
        }
    }
}

const A_MOMENT: Duration = Duration::from_millis(100);

/// A handle to end a run early. Cheap to clone; usable from any thread.
#[derive(Debug, Clone)]
pub struct Stop {
    level: Arc<watch::Sender<Level>>,
    aborted: Arc<OnceLock<Instant>>,
    cause: Arc<Mutex<Option<StopCause>>>,
}

impl Default for Stop {
    fn default() -> Self {
        Self { level: Arc::new(watch::Sender::new(Level::Run)), aborted: Arc::default(), cause: Arc::default() }
    }
}

impl Stop {
    /// Enumerate nothing more and finish what is enumerated.
    pub fn drain(&self, by: impl Into<String>) {
        self.raise(Level::Drain, StopCause::Asked(by.into()));
    }

    /// Dead-letter what runs and what waits.
    pub fn abort(&self, by: impl Into<String>) {
        self.raise(Level::Abort, StopCause::Asked(by.into()));
    }

    /// Raises the level; a lower one than the present is ignored, and the first cause stays.
    pub fn raise(&self, level: Level, cause: StopCause) {
        self.cause.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(cause);
        if level == Level::Abort {
            self.aborted.get_or_init(Instant::now);
        }
        self.level.send_if_modified(|now| {
            let rises = level > *now;
            if rises {
                *now = level;
            }
            rises
        });
    }

    /// The level now.
    #[must_use]
    pub fn level(&self) -> Level {
        *self.level.borrow()
    }

    /// What is left of a grace that an abort grants once, whatever has to be waited for; all of it while nothing is aborted. A moment at
    /// least, since what gives up at once needs one.
    pub(crate) fn grace_left(&self, grace: Duration) -> Duration {
        self.aborted.get().map_or(grace, |at| grace.saturating_sub(at.elapsed()).max(A_MOMENT))
    }

    /// Why, once the level has risen.
    #[must_use]
    pub fn cause(&self) -> Option<StopCause> {
        self.cause.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until the level is at least that.
    pub async fn reached(&self, level: Level) {
        let mut watch = self.level.subscribe();
        // The sender lives in `self`, so this cannot fail.
        let _ = watch.wait_for(|now| *now >= level).await;
    }
}

/// Listens to SIGINT and SIGTERM for the life of the task: the first drains, the second aborts, the third leaves with 130.
pub(crate) async fn listen_to_signals(stop: Stop) {
    let mut heard = 0_u32;
    loop {
        let name = next_signal().await;
        heard += 1;
        tracing::warn!(signal = name, heard, "asked to stop");
        match heard {
            1 => stop.drain(name),
            2 => stop.abort(name),
            // The outputs are whole or absent and the ledger ends with a whole batch at every moment, so leaving is safe.
            _ => std::process::exit(130),
        }
    }
}

#[cfg(unix)]
async fn next_signal() -> &'static str {
    use std::cell::RefCell;
    use tokio::signal::unix::{SignalKind, signal};
    // Registered once: a listener made anew for each call could miss a signal in between.
    thread_local! {
        static LISTENERS: RefCell<Option<(tokio::signal::unix::Signal, tokio::signal::unix::Signal)>> = const { RefCell::new(None) };
    }
    let taken = LISTENERS.with_borrow_mut(Option::take);
    let listeners = match taken {
        Some(pair) => Some(pair),
        None => signal(SignalKind::interrupt()).ok().zip(signal(SignalKind::terminate()).ok()),
    };
    let Some((mut interrupt, mut terminate)) = listeners else {
        return std::future::pending().await;
    };
    let name = tokio::select! {
        _ = interrupt.recv() => "SIGINT",
        _ = terminate.recv() => "SIGTERM",
    };
    LISTENERS.with_borrow_mut(|place| *place = Some((interrupt, terminate)));
    name
}

#[cfg(not(unix))]
async fn next_signal() -> &'static str {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
    "ctrl-c"
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[test]
    fn the_level_only_rises_and_the_first_cause_stays() {
        let stop = Stop::default();
        assert!(stop.reached(Level::Drain).now_or_never().is_none());
        stop.raise(Level::Abort, StopCause::MaxFailures(3));
        stop.drain("SIGINT");
        assert_eq!(stop.level(), Level::Abort);
        assert_eq!(stop.cause(), Some(StopCause::MaxFailures(3)));
        assert!(stop.reached(Level::Drain).now_or_never().is_some());
    }
}
