//! The limit certificate: proves from the client's own log that no window of 60 seconds held more
//! calls than the limit of their key.

use std::collections::HashMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::record::{CallRecord, NO_KEY};

const MINUTE: Duration = Duration::from_secs(60);

/// The limit certificate of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct LimitCertificate {
    /// The keys with an admitted call and an announced limit.
    pub(crate) keys: usize,
    /// The keys of which at least one call got 429 because of the limit.
    pub(crate) limited_keys: usize,
    /// The keys with an admitted call, but without an announced limit.
    #[serde(skip)]
    pub(crate) unlimited_keys: usize,
    /// The keys that were admitted more often than their limit.
    pub(crate) violations: usize,
    /// The fullest window: admitted calls, divided by the limit.
    #[serde(skip)]
    pub(crate) fullest_window: f64,
    /// The smallest share of its limit that a limited key could use.
    pub(crate) usable: Option<f64>,
    /// The smallest announced limit, in calls per minute.
    pub(crate) least_limit: Option<u32>,
    /// The fullest window in a sentence: its calls, its key and the limit.
    pub(crate) fullest: Option<String>,
}

/// The admitted calls of each key, as far as windows are not evaluated yet.
#[derive(Debug)]
pub(crate) struct LimitAudit {
    keys: HashMap<u32, KeyAudit>,
    /// The time after which no call is still in flight.
    timeout: Duration,
}

#[derive(Debug, Default)]
struct KeyAudit {
    limit: u32,
    limited: bool,
    /// The times at which each admitted call was sent and done.
    calls: Vec<(Duration, Duration)>,
    maximum: usize,
    maximum_from: Duration,
    /// The time from which on windows that are over are evaluated.
    prune_at: Duration,
}

impl LimitAudit {
    pub(crate) fn new(timeout: Duration) -> Self {
        Self { keys: HashMap::new(), timeout }
    }

    /// Adds a call.
    pub(crate) fn record(&mut self, record: &CallRecord) {
        use crate::record::CallOutcome::Completed;
        let Completed { status, minute_quota, code, .. } = record.outcome else { return };
        if record.key == NO_KEY {
            return;
        }
        let key = self.keys.entry(record.key).or_default();
        // The limit of a key may change within the run, and no window exceeds the larger one.
        key.limit = key.limit.max(minute_quota);
        // A 429 of the tool behind the gateway says nothing about the key's limit.
        if status == 429 && code.is_some() {
            key.limited = true;
        }
        if record.is_admitted() {
            key.calls.push((record.sent, record.done));
            // Records come in batches and out of order. A window is only counted once no call of it
            // can follow.
            let complete = MINUTE + self.timeout * 2;
            // Once in a while, because each prune sorts all calls of the key.
            if record.done >= key.prune_at {
                key.prune_at = record.done + complete;
                key.prune(record.done.saturating_sub(complete));
            }
        }
    }

    /// Evaluates the remaining windows and returns the certificate.
    pub(crate) fn certificate(mut self) -> LimitCertificate {
        let mut certificate = LimitCertificate::default();
        for (&number, key) in &mut self.keys {
            key.evaluate(Duration::MAX);
            if key.limit > 0 {
                let least = certificate.least_limit.unwrap_or(key.limit);
                certificate.least_limit = Some(least.min(key.limit));
            }
            if key.maximum == 0 {
                continue;
            }
            if key.limit == 0 {
                // Calls that announce no limit are not proven to hold one.
                certificate.unlimited_keys += 1;
                continue;
            }
            certificate.add(number, key);
        }
        certificate
    }
}

impl LimitCertificate {
    fn add(&mut self, number: u32, key: &KeyAudit) {
        let limit = usize::try_from(key.limit).unwrap_or(usize::MAX);
        let share = key.maximum as f64 / f64::from(key.limit);
        self.keys += 1;
        self.violations += usize::from(key.maximum > limit);
        if key.limited {
            self.limited_keys += 1;
            self.usable = Some(self.usable.map_or(share, |least| least.min(share)));
        }
        if share > self.fullest_window {
            self.fullest_window = share;
            let (pool, number) = (number >> 22, number & ((1 << 22) - 1));
            let from_s = key.maximum_from.as_secs_f64();
            self.fullest = Some(format!(
                "{} calls in 60 s from {from_s:.1} s, limit {limit} (key {number} of pool {pool})",
                key.maximum
            ));
        }
    }

    /// Returns true if a limit was announced and no key was admitted more often than its limit.
    pub(crate) const fn is_exact(&self) -> bool {
        self.keys > 0 && self.violations == 0 && self.unlimited_keys == 0
    }
}

impl KeyAudit {
    /// Evaluates all windows that begin before `until` with a call.
    fn evaluate(&mut self, until: Duration) {
        let (calls, from) = fullest_until(&self.calls, MINUTE, until);
        if calls > self.maximum {
            (self.maximum, self.maximum_from) = (calls, from);
        }
    }

    /// Evaluates the windows that began before `until`, which are complete, and forgets the calls
    /// that no later window contains.
    fn prune(&mut self, until: Duration) {
        self.evaluate(until);
        self.calls.retain(|&(sent, _)| sent >= until);
    }
}

/// Returns the number of calls in the fullest window of this length, and its start. A call is the times at
/// which it was sent and done.
///
/// A window is sure to contain the calls that were sent and completed within it, because the gateway
/// counted them in between. The number found is therefore never higher than what the gateway admitted.
pub(crate) fn fullest_window(calls: &[(Duration, Duration)], window: Duration) -> (usize, Duration) {
    fullest_until(calls, window, Duration::MAX)
}

/// Returns the same of the windows that begin before `until`.
fn fullest_until(calls: &[(Duration, Duration)], window: Duration, until: Duration) -> (usize, Duration) {
    let (mut sent, mut done): (Vec<Duration>, Vec<Duration>) = calls.iter().copied().unzip();
    sent.sort_unstable();
    done.sort_unstable();
    let (mut ended, mut fullest) = (0, (0, Duration::ZERO));
    for (earlier, &from) in sent.iter().enumerate().take_while(|&(_, &from)| from < until) {
        while done.get(ended).is_some_and(|&moment| moment < from + window) {
            // Only calls that were sent and done within the window were surely admitted in it.
            ended += 1;
        }
        let calls = ended.saturating_sub(earlier);
        if calls > fullest.0 {
            fullest = (calls, from);
        }
    }
    fullest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::CallOutcome;
    use shared::problem::codes;

    fn record(key: u32, at_ms: u64, admitted: bool, quota: u32) -> CallRecord {
        let sent = Duration::from_millis(at_ms);
        let (status, code) = if admitted { (200, None) } else { (429, Some(codes::QUOTA_EXCEEDED)) };
        let outcome = CallOutcome::Completed {
            status,
            code,
            retry_after: !admitted,
            bytes: 0,
            minute_quota: quota,
            failed_check: None,
            stream: None,
        };
        let (waited, done) = (Duration::ZERO, sent + Duration::from_millis(1));
        CallRecord { request: 0, key, due: sent, sent, waited, done, outcome }
    }

    fn certificate(calls: impl IntoIterator<Item = CallRecord>) -> LimitCertificate {
        let mut audit = LimitAudit::new(Duration::from_secs(1));
        calls.into_iter().for_each(|record| audit.record(&record));
        audit.certificate()
    }

    fn ten_in_a_minute() -> impl Iterator<Item = CallRecord> {
        (0..10).map(|n| record(0, n * 6000, true, 10))
    }

    #[test]
    fn one_call_over_limit_in_60_seconds_is_violation() {
        // The eleventh call is in the 60th second after the first, then in the 61st.
        let over = certificate(ten_in_a_minute().chain([record(0, 59_900, true, 10)]));
        assert_eq!((over.violations, over.is_exact()), (1, false));
        let fullest = "11 calls in 60 s from 0.0 s, limit 10 (key 0 of pool 0)";
        assert_eq!(over.fullest.as_deref(), Some(fullest));
        assert!(certificate(ten_in_a_minute().chain([record(0, 60_100, true, 10)])).is_exact());
        let refused = certificate(ten_in_a_minute().chain([record(0, 59_900, false, 10)]));
        assert!(refused.is_exact());
        assert_eq!((refused.limited_keys, refused.usable), (1, Some(1.0)));
    }

    #[test]
    fn keys_are_counted_apart() {
        let two = certificate(ten_in_a_minute().chain((0..10).map(|n| record(1, n, true, 10))));
        assert_eq!((two.keys, two.violations), (2, 0));
    }

    #[test]
    fn call_completed_after_60_seconds_is_not_counted() {
        let mut late = record(0, 1, true, 10);
        late.done = Duration::from_millis(60_500);
        assert!(certificate((0..10).map(|n| record(0, n, true, 10)).chain([late])).is_exact());
    }

    #[test]
    fn unannounced_limit_is_not_exact() {
        assert!(!certificate([record(0, 0, true, 0)]).is_exact());
        assert!(!certificate([]).is_exact());
    }

    /// A window early in a long run is found although its calls are forgotten by the end.
    #[test]
    fn pruned_window_is_still_a_violation() {
        let burst = (0..21).map(|n| record(0, 200_000 + n, true, 20));
        let long = (0..40_000).map(|n| record(0, 300_000 + n * 3_000, true, 20));
        let before = (0..10).map(|n| record(0, n * 10_000, true, 20));
        let found = certificate(before.chain(burst).chain(long));
        assert_eq!(found.violations, 1, "{found:?}");
        assert!(found.fullest.as_ref().unwrap().contains(" from 200.0 s, "), "{found:?}");
    }
}
