//! What was found and is no unit: counted by reason, so that nothing is left out silently.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

/// Counts of what was left out, and of what was taken with a warning.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// How much was left out, by reason.
    pub left_out: BTreeMap<String, u64>,
    /// Files whose extension says another format than their bytes.
    pub extension_disagrees: u64,
}

impl Skipped {
    /// Everything that was left out.
    pub fn total(&self) -> u64 {
        self.left_out.values().sum()
    }
}

/// The counts while they grow.
#[derive(Debug, Clone, Default)]
pub(super) struct SkipCount(Arc<Mutex<Skipped>>);

/// Different reasons kept; a source full of odd extensions must not grow them without end.
const MAX_REASONS: usize = 64;

impl SkipCount {
    pub(super) fn skip(&self, reason: &str) {
        let mut skipped = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let full = skipped.left_out.len() >= MAX_REASONS && !skipped.left_out.contains_key(reason);
        let reason = if full { "other files" } else { reason };
        *skipped.left_out.entry(reason.to_owned()).or_default() += 1;
    }

    pub(super) fn extension_disagrees(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extension_disagrees += 1;
    }

    pub(super) fn get(&self) -> Skipped {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A scan starts from nothing.
    pub(super) fn reset(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Skipped::default();
    }
}
