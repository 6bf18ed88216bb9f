//! Why a unit ended as a dead letter: a stable kind, the stage it happened in, a message, and whether it may pass.
//!
//! Kinds never change meaning; they are what people group and filter by. The message is for reading only. Sources, kernels and
//! sinks make failures; the engine adds its own (`timeout`, `cancelled`, `panicked`, `dropped`).

use std::fmt;
use std::io;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The cause of a dead letter, as written in the ledger (snake case).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FailureKind {
    /// Reading or writing failed for a reason that has no kind of its own.
    Io,
    /// It was listed, and gone when it was read.
    Vanished,
    /// It exists and may not or cannot be read: permissions, a link loop, a name that is no text.
    Unreadable,
    /// No bytes.
    Empty,
    /// The content changed between listing and reading.
    Changed,
    /// The bytes are not what their format says.
    Malformed,
    /// Sound, but of a kind or version that is not handled.
    Unsupported,
    /// Locked with a password.
    Encrypted,
    /// Pictures only; nothing to extract.
    RasterOnly,
    /// A limit was exceeded; the message holds the number.
    Limit,
    /// The deadline of the unit passed.
    Timeout,
    /// The run was aborted before the unit was finished.
    Cancelled,
    /// The kernel panicked.
    Panicked,
    /// The process that worked on the unit died.
    Crashed,
    /// The process that worked on the unit exceeded its memory, or the unit was given up to keep the run within its own.
    OutOfMemory,
    /// The store asked to be called less often.
    Throttled,
    /// The store could not be reached.
    Connection,
    /// No room left where the output goes.
    DiskFull,
    /// The engine let go of the unit without an outcome: a fault in the engine itself.
    Dropped,
}

impl FailureKind {
    /// Every kind, in the order of documentation.
    pub const ALL: [Self; 19] = [
        Self::Io,
        Self::Vanished,
        Self::Unreadable,
        Self::Empty,
        Self::Changed,
        Self::Malformed,
        Self::Unsupported,
        Self::Encrypted,
        Self::RasterOnly,
        Self::Limit,
        Self::Timeout,
        Self::Cancelled,
        Self::Panicked,
        Self::Crashed,
        Self::OutOfMemory,
        Self::Throttled,
        Self::Connection,
        Self::DiskFull,
        Self::Dropped,
    ];

    /// The stable name, as in the ledger.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Io => "io",
            Self::Vanished => "vanished",
            Self::Unreadable => "unreadable",
            Self::Empty => "empty",
            Self::Changed => "changed",
            Self::Malformed => "malformed",
            Self::Unsupported => "unsupported",
            Self::Encrypted => "encrypted",
            Self::RasterOnly => "raster_only",
            Self::Limit => "limit",
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
            Self::Panicked => "panicked",
            Self::Crashed => "crashed",
            Self::OutOfMemory => "out_of_memory",
            Self::Throttled => "throttled",
            Self::Connection => "connection",
            Self::DiskFull => "disk_full",
            Self::Dropped => "dropped",
        }
    }

    /// The kind of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// What a person can do about it, in one sentence.
    #[must_use]
    pub const fn remedy(self) -> &'static str {
        match self {
            Self::Io => "read the message, mend the disk or the share, then replay",
            Self::Vanished => "find out who moves files during a run, then replay",
            Self::Unreadable => "grant read permission or mend the link or the name, then replay",
            Self::Empty => "ask for the document again: it has no bytes",
            Self::Changed => "run again when nobody writes to the source",
            Self::Malformed => "open and save it again with the program that made it",
            Self::Unsupported => "save it in a format or version that is handled",
            Self::Encrypted => "remove the password, then replay",
            Self::RasterOnly => "ask for the vector original: this holds pictures only",
            Self::Limit => "raise the named limit if the document is trusted, then replay",
            Self::Timeout => "raise the deadline, or look why this one is slow",
            Self::Cancelled => "replay it: it was given up when the run was aborted",
            Self::Panicked => "report it with the document: this is a fault in the program",
            Self::Crashed => "report it with the document: this is a fault in the program",
            Self::OutOfMemory => "raise the memory limit, then replay",
            Self::Throttled => "lower the slots or the start rate, then replay",
            Self::Connection => "check the network and the store, then replay",
            Self::DiskFull => "make room, then replay",
            Self::Dropped => "report it: this is a fault in the engine",
        }
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Where a unit was when it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Being listed by the source.
    Scan,
    /// Waiting for a slot.
    Queue,
    /// Its bytes being read.
    Read,
    /// In the kernel.
    Parse,
    /// Its output being stored.
    Write,
    /// Its outcome being recorded.
    Audit,
}

impl Stage {
    /// The stable name, as in the ledger.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Scan => "scan",
            Self::Queue => "queue",
            Self::Read => "read",
            Self::Parse => "parse",
            Self::Write => "write",
            Self::Audit => "audit",
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a unit, or one attempt at it, failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{stage}: {kind}: {message}")]
pub struct Failure {
    /// The stable cause.
    pub kind: FailureKind,
    /// Where it happened.
    pub stage: Stage,
    /// For people; lower case, no full stop, no secrets.
    pub message: String,
    /// Whether the same attempt may succeed later, so that a retry makes sense.
    #[serde(default)]
    pub transient: bool,
    /// How long the other side asked to wait before a retry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<Duration>,
}

impl Failure {
    /// A failure that no retry will mend.
    #[must_use]
    pub fn new(kind: FailureKind, stage: Stage, message: impl Into<String>) -> Self {
        Self { kind, stage, message: message.into(), transient: false, retry_after: None }
    }

    /// The same, worth a retry.
    #[must_use]
    pub fn transient(mut self) -> Self {
        self.transient = true;
        self
    }

    /// The same, worth a retry after that time.
    #[must_use]
    pub fn retry_after(mut self, wait: Duration) -> Self {
        self.transient = true;
        self.retry_after = Some(wait);
        self
    }

    /// The failure that an operating system error is. `what` names the thing, such as a relative path.
    ///
    /// Transient are: interruptions, timeouts, lost connections and too many open files.
    #[must_use]
    pub fn from_io(stage: Stage, what: &str, error: &io::Error) -> Self {
        use io::ErrorKind as E;
        const EIO: i32 = 5;
        const ENFILE: i32 = 23;
        const EMFILE: i32 = 24;
        let (kind, transient) = match error.kind() {
            E::NotFound => (FailureKind::Vanished, false),
            E::PermissionDenied => (FailureKind::Unreadable, false),
            E::StorageFull | E::QuotaExceeded => (FailureKind::DiskFull, false),
            E::ConnectionRefused | E::ConnectionReset | E::ConnectionAborted | E::NotConnected | E::BrokenPipe => {
                (FailureKind::Connection, true)
            }
            E::HostUnreachable | E::NetworkUnreachable | E::NetworkDown | E::StaleNetworkFileHandle => {
                (FailureKind::Connection, true)
            }
            E::TimedOut | E::WouldBlock | E::Interrupted => (FailureKind::Io, true),
            E::OutOfMemory => (FailureKind::OutOfMemory, false),
            _ => match error.raw_os_error() {
                Some(EMFILE | ENFILE) => (FailureKind::Io, true),
                Some(EIO) => (FailureKind::Io, false),
                _ => (FailureKind::Io, false),
            },
        };
        let kind = match (stage, kind) {
            // On the writing side a missing or forbidden place says nothing about the document.
            (Stage::Write | Stage::Audit, FailureKind::Vanished | FailureKind::Unreadable) => FailureKind::Io,
            (_, kind) => kind,
        };
        Self { kind, stage, message: format!("{what}: {error}"), transient, retry_after: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_stable_and_unique() {
        for kind in FailureKind::ALL {
            assert_eq!(serde_json::to_string(&kind).unwrap(), format!("\"{kind}\""));
            assert_eq!(FailureKind::from_name(kind.as_str()), Some(kind));
        }
        let names: std::collections::BTreeSet<_> = FailureKind::ALL.iter().map(|kind| kind.as_str()).collect();
        assert_eq!(names.len(), FailureKind::ALL.len());
    }

    /// R151, R166: too many open files passes by itself; a missing file does not.
    #[test]
    fn operating_system_errors_have_kinds() {
        let emfile = Failure::from_io(Stage::Read, "a", &io::Error::from_raw_os_error(24));
        assert!(emfile.transient);
        let gone = Failure::from_io(Stage::Read, "a", &io::Error::from_raw_os_error(2));
        assert_eq!((gone.kind, gone.transient), (FailureKind::Vanished, false));
        let full = Failure::from_io(Stage::Write, "a", &io::Error::from_raw_os_error(28));
        assert_eq!(full.kind, FailureKind::DiskFull);
        let no_folder = Failure::from_io(Stage::Write, "a", &io::Error::from_raw_os_error(2));
        assert_eq!(no_folder.kind, FailureKind::Io);
    }
}
