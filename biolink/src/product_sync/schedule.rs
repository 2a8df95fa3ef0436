//! The moments at which a source runs.

use shared::{secret::sha256, time::UnixMillis};

use crate::page::SourceId;

/// The time between two runs, in milliseconds: 6 hours.
pub(super) const INTERVAL_MS: u64 = 6 * 3_600_000;
/// The shortest time between a run and the first one of the schedule, in milliseconds.
pub(super) const SETTLE_MS: u64 = 3_600_000;
/// The first wait after a failure, in milliseconds.
const RETRY_MS: u64 = 900_000;
/// The longest wait that a shop may ask for with `Retry-After`, in milliseconds.
const MAX_RETRY_AFTER_MS: u64 = 24 * 3_600_000;
/// The time without success after which a source pauses, in milliseconds: 7 days.
pub(super) const PAUSE_AFTER_MS: u64 = 7 * 24 * 3_600_000;

/// Returns the next moment of the schedule of a source. Sources run at moments that depend on their
/// id, so that they spread over the interval.
pub(super) fn next(id: &SourceId, now: UnixMillis) -> UnixMillis {
    let [a, b, c, d, ..] = sha256(&[b"utg.source-phase.v1", id.to_string().as_bytes()]);
    let phase = u64::from(u32::from_be_bytes([a, b, c, d]));
    let earliest = now.plus(SETTLE_MS);
    let past = earliest.0.saturating_sub(phase) % INTERVAL_MS;
    if past == 0 { earliest } else { earliest.plus(INTERVAL_MS.saturating_sub(past)) }
}

/// Returns the next time after this many failures in a row. A shop that asks for more time gets it.
pub(super) fn after_failure(failures: u32, retry_after_ms: Option<u64>, now: UnixMillis) -> UnixMillis {
    let doublings = failures.saturating_sub(1).min(8).saturating_mul(2);
    let wait = RETRY_MS.saturating_mul(1 << doublings).min(INTERVAL_MS);
    // Bounded: a mistake in the header must not stop a source for a year.
    now.plus(wait.max(retry_after_ms.unwrap_or(0).min(MAX_RETRY_AFTER_MS)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_six_hours_apart_and_spread() {
        let now = UnixMillis(1_795_000_000_000);
        let mut quarters = [0; 4];
        for seed in 0..200 {
            let id = SourceId::new([seed; 12]);
            let first = next(&id, now);
            assert!((SETTLE_MS..=SETTLE_MS + INTERVAL_MS).contains(&first.since(now)), "{seed}");
            // An alarm comes a little late, and the schedule stays.
            assert_eq!(next(&id, first.plus(2_000)).since(first), INTERVAL_MS);
            quarters[usize::try_from(first.since(now).saturating_sub(SETTLE_MS) * 4 / (INTERVAL_MS + 1))
                .unwrap()] += 1;
        }
        assert!(quarters.iter().all(|count| *count > 25), "{quarters:?}");
    }

    #[test]
    fn failures_wait_longer_and_retry_after_is_honored() {
        let now = UnixMillis(1_000);
        let minutes = |failures, asked| after_failure(failures, asked, now).since(now) / 60_000;
        assert_eq!([1, 2, 3, 4, 99].map(|failures| minutes(failures, None)), [15, 60, 240, 360, 360]);
        assert_eq!(minutes(1, Some(3_600_000)), 60);
        assert_eq!(minutes(3, Some(3_600_000)), 240);
        assert_eq!(minutes(1, Some(u64::MAX)), 24 * 60);
    }
}
