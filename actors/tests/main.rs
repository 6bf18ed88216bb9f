//! Everything the engine promises, seen from outside. One binary; a module for each promise.

#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod bounds;
mod conformance;
#[cfg(unix)]
mod crash;
mod ends;
mod ledger_faults;
mod outcomes;
mod proof;
mod properties;
mod replay;
mod resume;
#[cfg(unix)]
mod signals;
mod stages;
mod support;
