//! The calls of an account within an hour.

use serde::{Deserialize, Serialize};

use crate::{codes, policy::CALLS_PER_HOUR};
use shared::{
    headers::{Header, RATE_LIMIT, RATE_LIMIT_POLICY},
    problem::Problem,
    quota::Rolling,
    time::UnixMillis,
};

const HOUR_MS: u64 = 3_600_000;
/// A tenth of a percent of the hour: what a call stays counted beyond it.
const BUCKET_MS: u64 = 3_600;

/// A sliding window over the calls of the last hour.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct HourlyCalls(Rolling<BUCKET_MS, HOUR_MS>);

/// The rest of an account's hour: the calls that remain, and the time to its reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct HourStatus {
    /// As [`HourlyCalls::remaining`].
    remaining: u32,
    /// As [`HourlyCalls::reset_seconds`].
    reset_seconds: u64,
}

impl HourlyCalls {
    /// Counts a call.
    ///
    /// # Errors
    /// Returns `quota-exceeded` if the hour is used up. The call is not counted then.
    pub(super) fn admit(&mut self, now: UnixMillis) -> Result<(), Problem> {
        if self.remaining(now) > 0 {
            self.0.add(now, 1);
            return Ok(());
        }
        // Never 0: a client that comes back at once would be refused again.
        let wait = self.0.freed_at(1).map_or(1, |at| now.seconds_until(at)).max(1);
        let detail = format!(
            "the account may make {CALLS_PER_HOUR} calls of the bio-link API in any hour; the next one passes in {wait} s"
        );
        let problem = Problem::new(codes::QUOTA_EXCEEDED, detail).retry_after(wait);
        Err(problem.with_member("violated-policies", vec!["hour"]))
    }

    /// Returns the calls that would pass now.
    pub(super) fn remaining(&mut self, now: UnixMillis) -> u32 {
        self.0.expire(now);
        CALLS_PER_HOUR.saturating_sub(self.0.total())
    }

    /// Returns the seconds until more is to be had; 0 if the hour is whole.
    pub(super) fn reset_seconds(&self, now: UnixMillis) -> u64 {
        self.0.freed_at(1).map_or(0, |at| now.seconds_until(at))
    }

    /// Returns what is left of the hour.
    pub(super) fn status(&mut self, now: UnixMillis) -> HourStatus {
        HourStatus { remaining: self.remaining(now), reset_seconds: self.reset_seconds(now) }
    }
}

impl HourStatus {
    /// Returns `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-11).
    pub(super) fn headers(self) -> [Header; 2] {
        let Self { remaining, reset_seconds } = self;
        [
            (RATE_LIMIT_POLICY.into(), format!("\"hour\";q={CALLS_PER_HOUR};w=3600").into()),
            (RATE_LIMIT.into(), format!("\"hour\";r={remaining};t={reset_seconds}").into()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousand_calls_pass_in_any_hour_and_the_next_one_is_told_when() {
        let (mut calls, now) = (HourlyCalls::default(), UnixMillis(1_763_712_000_000));
        assert!((0..1_000).all(|n| calls.admit(now.plus(n)).is_ok()));
        let problem = calls.admit(now.plus(1_000)).unwrap_err();
        assert_eq!(problem.code(), codes::QUOTA_EXCEEDED);
        let [policy, limit] = calls.status(now.plus(1_000)).headers();
        assert_eq!((&*policy.1, &*limit.1), ("\"hour\";q=1000;w=3600", "\"hour\";r=0;t=3603"));
        assert!(calls.admit(now.plus(3_599_999)).is_err());
        assert!(calls.admit(now.plus(3_604_000)).is_ok());
        let stored = serde_json::to_string(&calls).unwrap();
        assert_eq!(serde_json::from_str::<HourlyCalls>(&stored).unwrap(), calls);
    }
}
