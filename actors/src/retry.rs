//! When a failed attempt is repeated: transient failures only, with growing, jittered, bounded waits.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::failure::Failure;

/// How often and after what waits an attempt is repeated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RetryPolicy {
    /// Attempts in all; 1 is no retry.
    pub attempts: u32,
    /// The wait before the second attempt; it doubles each time.
    pub base: Duration,
    /// No wait is longer, whatever the other side asks for.
    pub cap: Duration,
}

impl Default for RetryPolicy {
    /// Four attempts, from 250 ms up to 30 s.
    fn default() -> Self {
        Self { attempts: 4, base: Duration::from_millis(250), cap: Duration::from_secs(30) }
    }
}

impl RetryPolicy {
    /// The wait before the next attempt, or `None` if there is none. `attempt` is the one that failed, counted from 1.
    ///
    /// The wait is between half and all of `base × 2^(attempt − 1)`, at least what the other side asked for, at most `cap`.
    /// The jitter comes from the unit, so that waits differ between units and a run can be repeated.
    #[must_use]
    pub fn wait(&self, attempt: u32, failure: &Failure, unit: Uuid) -> Option<Duration> {
        if !failure.transient || attempt >= self.attempts {
            return None;
        }
        let doubled = 1_u32.checked_shl(attempt.saturating_sub(1)).unwrap_or(u32::MAX);
        let full = self.base.saturating_mul(doubled).min(self.cap);
        let digest = Sha256::new().chain_update(unit.as_bytes()).chain_update(attempt.to_be_bytes()).finalize();
        let jitter = f64::from(digest.first().copied().unwrap_or(0)) / 255.0;
        let wait = full.mul_f64(0.5 + jitter / 2.0);
        Some(wait.max(failure.retry_after.unwrap_or_default()).min(self.cap))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::{FailureKind, Stage};

    /// R151: bounded exponential waits; permanent failures are not repeated; Retry-After is honoured up to the cap.
    #[test]
    fn waits_grow_within_bounds() {
        let policy = RetryPolicy::default();
        let failure = Failure::new(FailureKind::Throttled, Stage::Read, "503").transient();
        for attempt in 1..4 {
            let wait = policy.wait(attempt, &failure, Uuid::from_u128(9)).unwrap();
            let full = Duration::from_millis(250 << (attempt - 1));
            assert!(wait >= full / 2 && wait <= full, "{attempt}: {wait:?}");
        }
        assert_eq!(policy.wait(4, &failure, Uuid::nil()), None);
        let permanent = Failure::new(FailureKind::Malformed, Stage::Parse, "no");
        assert_eq!(policy.wait(1, &permanent, Uuid::nil()), None);
        let asked = failure.clone().retry_after(Duration::from_secs(3));
        assert_eq!(policy.wait(1, &asked, Uuid::nil()), Some(Duration::from_secs(3)));
        let rude = failure.retry_after(Duration::from_secs(3000));
        assert_eq!(policy.wait(1, &rude, Uuid::nil()), Some(policy.cap));
        let many = RetryPolicy { attempts: 1000, ..policy };
        assert!(many.wait(999, &rude, Uuid::nil()).unwrap() <= many.cap);
    }
}
