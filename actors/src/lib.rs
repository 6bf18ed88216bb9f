//! A bounded, audited pipeline of five actors.
//!
//! Units are listed lazily by a [`Source`], worked on by a [`Kernel`] on a pool of threads, stored by a [`Sink`], and recorded in an
//! append-only ledger. Memory stays flat whatever the size of the batch, and at the end the books balance: every unit enumerated is
//! either extracted or named as a dead letter, or the run fails.
//!
//! The engine knows units, bytes and outcomes. It knows no file formats and no geometry; what it is used for is decided by the three traits.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

pub mod failure;
pub(crate) mod hex;
pub mod kernel;
pub mod process;
pub mod sink;
pub mod source;
pub mod spool;
pub mod unit;

pub use failure::{Failure, FailureKind, Stage};
pub use kernel::{Extraction, Kernel, KernelContext, Signal};
pub use sink::{Sink, Stored};
pub use source::{Found, Source, SourceError};
pub use spool::{Spool, SpoolReader, SpoolSettings, Spooled};
pub use unit::{MAX_UNIT_BYTES, RunId, Unit, UnitId};
