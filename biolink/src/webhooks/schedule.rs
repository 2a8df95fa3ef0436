//! The schedule of attempts: ten over about three days.
//!
//! Why: docs/decisions/webhooks.md, "The last attempt is 75 h 35 min after the first, or later".

use shared::time::UnixMillis;

use super::attempt::AttemptResult;

/// Most attempts to deliver an event to an endpoint.
pub const MAX_ATTEMPTS: u32 = 10;

/// Seconds between an attempt and the one before it.
const DELAYS_S: [u64; 10] = [0, 5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];
/// The shortest pause after an attempt that showed an overload, in seconds.
const OVERLOAD_S: u64 = 60;
/// The time from the first attempt to the last one, in milliseconds, if no attempt takes any.
const SPAN_MS: u64 = 272_105_000;

/// An attempt that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FinishedAttempt {
    /// Its number, from 1.
    pub number: u32,
    /// The moment at which the first attempt of this delivery began.
    pub first_at: UnixMillis,
    /// The moment at which this one ended.
    pub ended_at: UnixMillis,
    /// Its result.
    pub result: AttemptResult,
}

/// The state of a delivery after an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextStep {
    /// The event was delivered.
    Delivered,
    /// The next attempt is due at this moment.
    RetryAt(UnixMillis),
    /// All attempts are used up.
    Exhausted,
    /// The receiver responded with 410: its endpoint is disabled.
    Gone,
}

impl FinishedAttempt {
    /// Returns what follows. `entropy` spreads the next attempt by up to 20 % to both sides.
    ///
    /// `Retry-After` is honored between the usual delay and twice as much. After an overload (429,
    /// 502, 504 or a timeout) the usual delay is at least a minute. The last attempt is never sooner
    /// than 75 h 35 min after the first, so that no event is lost to an outage of three days.
    pub fn next_step(&self, entropy: u64) -> NextStep {
        if self.result.is_success() {
            return NextStep::Delivered;
        }
        if self.result.is_gone() {
            return NextStep::Gone;
        }
        let Some(delay_s) = usize::try_from(self.number).ok().and_then(|next| DELAYS_S.get(next)) else {
            return NextStep::Exhausted;
        };
        let due = self.ended_at.plus(self.delay_ms(*delay_s, entropy));
        let is_last = self.number.saturating_add(1) == MAX_ATTEMPTS;
        // The spread may have made the delays before it shorter, in sum by hours.
        NextStep::RetryAt(if is_last { due.max(self.first_at.plus(SPAN_MS)) } else { due })
    }

    fn delay_ms(&self, delay_s: u64, entropy: u64) -> u64 {
        let floor_ms = if self.result.is_overload() { OVERLOAD_S * 1000 } else { 0 };
        let base_ms = (delay_s * 1000).max(floor_ms);
        match self.result.retry_after_ms() {
            // Bounded on both sides: a receiver may slow retries down, and neither stop nor hurry
            // them.
            Some(wanted_ms) => wanted_ms.clamp(base_ms, base_ms * 2),
            // Spread, so that what failed together in an outage does not come back in one moment.
            None => (base_ms * (800 + entropy % 401) / 1000).max(floor_ms),
        }
    }
}

/// Returns true if a delivery that waits may be attempted before it is due, because its endpoint has
/// recovered. The last attempt keeps its time: the endpoint may fail again.
pub const fn may_bring_forward(attempts: u32) -> bool {
    attempts + 1 < MAX_ATTEMPTS
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FAILED: AttemptResult = AttemptResult::Response { status: 500, retry_after_ms: None };
    /// An entropy that changes nothing.
    const MIDDLE: u64 = 200;

    fn after(number: u32, result: AttemptResult, entropy: u64) -> NextStep {
        let at = UnixMillis(1_000_000_000);
        FinishedAttempt { number, first_at: at, ended_at: at, result }.next_step(entropy)
    }

    fn delay(number: u32, result: AttemptResult, entropy: u64) -> u64 {
        match after(number, result, entropy) {
            NextStep::RetryAt(at) => at.since(UnixMillis(1_000_000_000)),
            other => panic!("{other:?}"),
        }
    }

    const fn asked(status: u16, seconds: u64) -> AttemptResult {
        AttemptResult::Response { status, retry_after_ms: Some(seconds * 1000) }
    }

    #[test]
    fn ten_attempts_are_made_over_three_days() {
        let (first_at, mut at, mut delays) = (UnixMillis(1_000), UnixMillis(1_000), vec![0]);
        for number in 1.. {
            let attempt = FinishedAttempt { number, first_at, ended_at: at, result: FAILED };
            let NextStep::RetryAt(next) = attempt.next_step(MIDDLE) else {
                assert_eq!(attempt.next_step(MIDDLE), NextStep::Exhausted);
                break;
            };
            delays.push(next.since(at) / 1000);
            at = next;
        }
        assert_eq!(delays, DELAYS_S);
        assert_eq!(at.since(first_at), SPAN_MS);
    }

    #[test]
    fn success_and_410_end_the_delivery() {
        let response = |status| AttemptResult::Response { status, retry_after_ms: None };
        for status in [200, 202, 204] {
            assert_eq!(after(1, response(status), 0), NextStep::Delivered);
            assert_eq!(after(10, response(status), 0), NextStep::Delivered);
        }
        assert_eq!(after(1, response(410), 0), NextStep::Gone);
        assert_eq!(after(10, response(410), 0), NextStep::Gone);
        for status in [301, 302, 400, 401, 404, 500] {
            assert_eq!(delay(1, response(status), MIDDLE), 5_000, "{status}");
        }
    }

    #[test]
    fn retry_after_is_honored_up_to_twice_the_delay() {
        for (status, seconds, expected) in
            [(503, 1, 300), (503, 450, 450), (503, 9_000, 600), (429, 450, 450), (200, 9, 0)]
        {
            let result = asked(status, seconds);
            match after(2, result, 0) {
                NextStep::RetryAt(_) => assert_eq!(delay(2, result, 0), expected * 1000, "{status}"),
                other => assert_eq!((other, expected), (NextStep::Delivered, 0)),
            }
        }
        assert_eq!(delay(1, asked(429, 90), 0), 90_000);
        assert_eq!(delay(1, asked(503, 90), 0), 10_000);
        assert_eq!(delay(2, asked(503, u64::MAX / 1000), 0), 600_000);
    }

    #[test]
    fn overloaded_receiver_has_a_minute() {
        let response = |status| AttemptResult::Response { status, retry_after_ms: None };
        for result in [response(429), response(502), response(504), AttemptResult::TimedOut] {
            assert_eq!(delay(1, result, 0), 60_000);
            assert_eq!(delay(2, result, MIDDLE), 300_000);
        }
        assert_eq!(delay(1, response(503), 0), 4_000);
        assert_eq!(delay(1, AttemptResult::ConnectionFailed, 0), 4_000);
    }

    #[test]
    fn last_attempt_keeps_its_time() {
        assert!(may_bring_forward(8) && !may_bring_forward(9));
    }

    proptest! {
        #[test]
        fn jitter_is_20_percent_and_the_last_attempt_is_never_early(number in 1u32..10, entropy: u64) {
            let (delay, usual) = (delay(number, FAILED, entropy), DELAYS_S[number as usize] * 1000);
            if number == 9 {
                prop_assert!(delay >= SPAN_MS);
            } else {
                prop_assert!(delay * 10 >= usual * 8 && delay * 10 <= usual * 12, "{delay}");
            }
        }
    }
}
