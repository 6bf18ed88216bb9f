//! Where outputs go: a [`Sink`] stores them whole or not at all.
//!
//! # Order of calls
//!
//! [`Sink::prepare`] once, before the first unit. Then for each extracted unit [`Sink::place`], whose answer is noted, and
//! [`Sink::store`], which may be repeated after a transient failure and after a crash: storing the same unit again must end in the same
//! place with the same bytes. [`Sink::digest`] is called on resume and on verification. The futures run on the event loop; blocking work
//! belongs into `spawn_blocking`.
//!
//! # Invariants
//!
//! * **Whole or absent**: nobody ever sees half an output (temporary file, fsync, rename, fsync of the directory; or one put).
//! * **Durable before `Ok`**: the ledger line that follows claims it.
//! * **Inside**: a place never lies outside the sink's root, whatever `doc_id` says.

use async_trait::async_trait;

use crate::failure::Failure;
use crate::kernel::Extraction;
use crate::unit::Unit;

/// Stores outputs. The invariants stand in the [module documentation](self).
#[async_trait]
pub trait Sink: Send + Sync + 'static {
    /// Checks that outputs can be stored at all, before anything is read.
    ///
    /// # Errors
    ///
    /// Ends the run with this failure; nothing has been enumerated then.
    async fn prepare(&self) -> Result<(), Failure> {
        Ok(())
    }

    /// The name of the unit's main output, relative to the root of the sink. Pure: no I/O, the same in every run.
    fn place(&self, unit: &Unit) -> String;

    /// Stores the output and its attachments.
    ///
    /// # Errors
    ///
    /// A [`Failure`] at [`Stage::Write`](crate::Stage::Write): `disk_full`, `io`, or transient ones, which are retried.
    async fn store(&self, unit: &Unit, extraction: &Extraction) -> Result<Stored, Failure>;

    /// SHA-256 (lower-case hexadecimal) of what is stored at that place, or `None` if nothing is.
    ///
    /// # Errors
    ///
    /// A [`Failure`] if it is there and cannot be read.
    async fn digest(&self, output: &str) -> Result<Option<String>, Failure>;
}

/// What was stored, as the ledger claims it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Relative to the root of the sink: what [`Sink::place`] said.
    pub output: String,
    /// SHA-256 of the main output, lower-case hexadecimal.
    pub sha256: String,
}
