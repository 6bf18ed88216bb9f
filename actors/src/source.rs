//! Where units come from: a [`Source`] lists lazily and reads one unit at a time.
//!
//! # Order of calls
//!
//! The Scanner calls [`Source::scan`] once a run and polls the stream only while there is room in the queue. A slot calls
//! [`Source::read`] when it owns the unit, never earlier; a read may be repeated after a transient failure. Both run on
//! the event loop: blocking work belongs into `spawn_blocking` or a thread of the source's own.
//!
//! # Invariants
//!
//! * **Lazy**: memory does not grow with the number of entries (one directory at a time is fine).
//! * **Sorted**: strictly ascending by the bytes of `doc_id`, then by `page`. A directory therefore sorts as if its name
//!   ended with `/` (`a-b.dxf` stands before `a/c.dxf`), as object stores list. Resume is a merge of two
//!   sorted streams; the Scanner ends the run with an error on the first finding out of order or named twice.
//! * **Nothing skipped**: what is found and cannot be a unit (an unreadable directory, a link loop, a name that is no text)
//!   is yielded by [`Found::unreadable`] and becomes a dead letter.
//! * **No secrets**: `location` holds no credentials, signature or query.
//! * `Err` ends the stream: listing itself cannot go on. The run is then reconciled and fails.

use std::num::NonZeroU32;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;

use crate::failure::Failure;
use crate::unit::{Unit, UnitId};

/// Lists and reads units. The invariants stand in the [module documentation](self).
#[async_trait]
pub trait Source: Send + Sync + 'static {
    /// The units of the batch, lazily and in order.
    fn scan(&self) -> BoxStream<'static, Result<Found, SourceError>>;

    /// The bytes of the document this unit belongs to.
    ///
    /// # Errors
    ///
    /// A [`Failure`] at [`Stage::Read`](crate::Stage::Read): `vanished`, `unreadable`, `empty`, `changed`, `io`, or transient ones, which
    /// are retried.
    async fn read(&self, unit: &Unit) -> Result<Bytes, Failure>;
}

/// One entry as listed: what becomes a [`Unit`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// See [`Unit::doc_id`].
    pub doc_id: String,
    /// See [`Unit::page`].
    pub page: NonZeroU32,
    /// See [`Unit::location`].
    pub location: String,
    /// See [`Unit::format`].
    pub format: String,
    /// See [`Unit::floor_level`].
    pub floor_level: Option<i32>,
    /// See [`Unit::level_name`].
    pub level_name: Option<String>,
    /// The request this entry belongs to, where it differs from that of the run.
    pub request_id: Option<String>,
    /// See [`Unit::size`].
    pub size: u64,
    /// See [`Unit::version`].
    pub version: Option<String>,
    /// Set when the entry is known to be unusable already: it is enumerated and goes straight to the dead letters.
    pub failure: Option<Failure>,
}

impl Found {
    /// An entry with nothing but its coordinates. A page of 0 is taken as 1.
    #[must_use]
    pub fn new(doc_id: impl Into<String>, page: u32, location: impl Into<String>, format: impl Into<String>) -> Self {
        Self {
            doc_id: doc_id.into(),
            page: NonZeroU32::new(page).unwrap_or(NonZeroU32::MIN),
            location: location.into(),
            format: format.into(),
            floor_level: None,
            level_name: None,
            request_id: None,
            size: 0,
            version: None,
            failure: None,
        }
    }

    /// An entry that is enumerated and already failed.
    #[must_use]
    pub fn unreadable(doc_id: impl Into<String>, location: impl Into<String>, failure: Failure) -> Self {
        Self { failure: Some(failure), ..Self::new(doc_id, 1, location, "unknown") }
    }

    /// With its size in bytes.
    #[must_use]
    pub fn with_size(mut self, size: u64) -> Self {
        self.size = size;
        self
    }

    /// With the identity of its content.
    #[must_use]
    pub fn with_version(mut self, version: impl Into<String>) -> Self {
        self.version = Some(version.into());
        self
    }

    /// With its floor.
    #[must_use]
    pub fn with_level(mut self, floor_level: Option<i32>, level_name: Option<String>) -> Self {
        self.floor_level = floor_level;
        self.level_name = level_name;
        self
    }

    /// What names it.
    #[must_use]
    pub fn id(&self) -> UnitId {
        UnitId { doc_id: self.doc_id.clone(), page: self.page }
    }
}

/// Listing cannot go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// The root of the source is missing or may not be listed.
    #[error("cannot list {location}: {message}")]
    List {
        /// What was to be listed, without credentials.
        location: String,
        /// Why it failed.
        message: String,
    },
    /// The source broke its promise of order; found by the Scanner.
    #[error("the source yielded {found} after {before}: entries must come in ascending order, each once")]
    OutOfOrder {
        /// The entry before.
        before: UnitId,
        /// The entry that should have come earlier, or not again.
        found: UnitId,
    },
}
