//! What an error of a store means for a unit: its kind, and whether it may pass.
//!
//! Messages of the client name URLs and statuses, never credentials. They are shortened: the body of an error page is no help.

use std::error::Error as _;
use std::fmt::Write as _;

use object_store::Error;
use object_store::client::{HttpError, HttpErrorKind};
use plan2geo_actors::{Failure, FailureKind, Stage};

use super::Store;

const LONGEST_MESSAGE: usize = 300;

impl Store {
    /// The failure that an error of the store is. `what` names the object.
    pub(super) fn failure(&self, stage: Stage, what: &str, error: &Error) -> Failure {
        let (kind, transient) = match error {
            Error::NotFound { .. } => (FailureKind::Vanished, false),
            Error::Precondition { .. } => (FailureKind::Changed, false),
            Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => (FailureKind::Unreadable, false),
            error => match (status(error), connection(error)) {
                (Some(429 | 503), _) => (FailureKind::Throttled, true),
                (Some(500 | 502 | 504 | 408), _) | (None, true) => (FailureKind::Connection, true),
                (Some(507), _) => (FailureKind::DiskFull, false),
                _ => (FailureKind::Io, false),
            },
        };
        let kind = match (stage, kind) {
            // On the writing side a missing or forbidden place says nothing about the document.
            (Stage::Write, FailureKind::Vanished | FailureKind::Unreadable) => FailureKind::Io,
            (_, kind) => kind,
        };
        let mut message = format!("{what}: ");
        let _ = write!(message, "{}", one_line(&chain(error)));
        let failure = Failure::new(kind, stage, message);
        match (transient, self.pace.wait()) {
            (true, Some(wait)) => failure.retry_after(wait),
            (true, None) => failure.transient(),
            (false, _) => failure,
        }
    }
}

/// The HTTP status at the bottom of an error. The client keeps it in its text only.
fn status(error: &Error) -> Option<u16> {
    let text = chain(error);
    let (_, after) = text.rsplit_once("status code: ")?;
    after.get(..3)?.parse().ok()
}

fn connection(error: &Error) -> bool {
    let mut cause = error.source();
    while let Some(inner) = cause {
        if let Some(http) = inner.downcast_ref::<HttpError>() {
            return http.kind() != HttpErrorKind::Unknown;
        }
        cause = inner.source();
    }
    false
}

fn chain(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let more = inner.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = inner.source();
    }
    text
}

fn one_line(text: &str) -> String {
    let text = text.split_once("<?xml").map_or(text, |(before, _)| before);
    let mut line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((at, _)) = line.char_indices().nth(LONGEST_MESSAGE) {
        line.truncate(at);
        line.push('…');
    }
    line.trim_end_matches([':', ' ']).to_owned()
}
