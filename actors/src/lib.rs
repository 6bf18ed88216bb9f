//! A bounded, audited pipeline of five actors.
//!
//! Units are listed lazily by a [`Source`], worked on by a [`Kernel`] on a pool of threads, stored by a [`Sink`], and recorded in an
//! append-only ledger. Memory stays flat whatever the size of the batch, and at the end the books balance: every unit enumerated is
//! either extracted or named as a dead letter, or the run fails.
//!
//! The engine knows units, bytes and outcomes. It knows no file formats and no geometry; what it is used for is decided by the three traits.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

// In the order a unit meets them: what it is, where it comes from, what is done with it, where it goes …
pub mod document;
pub mod failure;
pub mod kernel;
pub mod process;
pub mod sink;
pub mod source;
pub mod spool;
pub mod unit;
// … the actors and the edge between them …
mod audit_writer;
mod messages;
pub mod outbox;
mod parser_pool;
mod reconciler;
mod scanner;
mod ticket;
mod worker;
// … what bounds, ends, repeats and watches them …
pub mod config;
pub mod gauge;
pub mod limits;
mod memory_guard;
mod monitor;
pub mod progress;
pub mod retry;
mod shared;
pub mod stop;
// … what is left on disk …
pub mod explain;
mod journal;
pub mod ledger;
mod previous;
pub mod replay;
mod resume;
// … the same idea without books …
pub mod bounded;
// … and the whole.
mod engine;
pub(crate) mod hex;
pub mod summary;
pub mod testkit;

pub use bounded::{BoundedError, Consumed, consume_bounded};
pub use config::{Breaker, EngineConfig, Existing, OnFailure};
pub use document::{DocumentSettings, DocumentWriter};
pub use engine::{Engine, RunError, RunHandle};
pub use explain::{Reason, explain};
pub use failure::{Failure, FailureKind, Stage};
pub use kernel::{Extraction, Kernel, KernelContext, Signal};
pub use ledger::{Durability, RunHeader, Verification, verify};
pub use limits::{LimitError, Limits};
pub use progress::{Progress, ProgressReader};
pub use replay::Replay;
pub use retry::RetryPolicy;
pub use sink::{Sink, Stored};
pub use source::{Found, Source, SourceError};
pub use spool::{Spool, SpoolReader, SpoolSettings, Spooled};
pub use stop::{Level, Stop, StopCause};
pub use summary::{Ended, RunSummary, Verdict};
pub use unit::{MAX_UNIT_BYTES, RunId, Unit, UnitId};
