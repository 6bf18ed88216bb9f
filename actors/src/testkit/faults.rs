//! Faults at named points of the engine: an error, or the death of the process.
//!
//! Points: `manifest.before_write`, `manifest.after_write`, `manifest.after_sync`, `ledger.before_write`, `ledger.after_write`,
//! `ledger.after_sync`, `ledger.after_rename`, `store.before`, `store.after`, and those of the
//! [`DirectorySink`](super::DirectorySink): `sink.after_write`, `sink.after_sync`, `sink.after_rename`.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::ledger::Faults;

/// Every point there is, in the order a unit meets them.
pub const POINTS: [&str; 12] = [
    "manifest.before_write",
    "manifest.after_write",
    "manifest.after_sync",
    "store.before",
    "sink.after_write",
    "sink.after_sync",
    "sink.after_rename",
    "store.after",
    "ledger.before_write",
    "ledger.after_write",
    "ledger.after_sync",
    "ledger.after_rename",
];

/// Fails with an operating system error the `nth` time (from 1) that point is passed.
#[must_use]
pub fn fail_at(point: &'static str, nth: u64, os_error: i32) -> Faults {
    on(point, nth, move || Err(io::Error::from_raw_os_error(os_error)))
}

/// Kills the process by SIGKILL the `nth` time (from 1) that point is passed: no destructor runs and nothing is flushed.
#[cfg(unix)]
#[must_use]
pub fn kill_at(point: &'static str, nth: u64) -> Faults {
    on(point, nth, || {
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        // The signal is on its way.
        loop {
            std::thread::park();
        }
    })
}

fn on(point: &'static str, nth: u64, act: impl Fn() -> io::Result<()> + Send + Sync + 'static) -> Faults {
    let passed = AtomicU64::new(0);
    Faults(Some(Arc::new(move |at| {
        if at == point && passed.fetch_add(1, Ordering::SeqCst) + 1 == nth {
            return act();
        }
        Ok(())
    })))
}
