//! Visits to addresses that have no page.

use shared::{minute_counters::MinuteCounters, problem::Problem, time::UnixMillis};

use crate::{codes, policy::UNKNOWN_PAGES_PER_MINUTE};

/// Refuses a client that has opened too many addresses without a page. `bucket` is its own in
/// `counters`.
///
/// # Errors
/// Returns `too-many-requests`.
pub fn check_unknown_pages(counters: &MinuteCounters, bucket: u16, now: UnixMillis) -> Result<(), Problem> {
    if counters.count(bucket, now) < UNKNOWN_PAGES_PER_MINUTE {
        return Ok(());
    }
    let detail = "this address opens too many addresses that have no page";
    Err(Problem::new(codes::TOO_MANY_REQUESTS, detail).retry_after(60 - now.seconds() % 60))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_that_opens_too_many_unknown_pages_waits_for_the_next_minute() {
        let (mut counters, now) = (MinuteCounters::new(), UnixMillis(1_763_712_000_000 + 20_000));
        for _ in 0..UNKNOWN_PAGES_PER_MINUTE {
            assert!(check_unknown_pages(&counters, 7, now).is_ok());
            counters.record(7, now);
        }
        let refused = check_unknown_pages(&counters, 7, now)
            .unwrap_err()
            .render(&shared::request_id::RequestId([0; 16]));
        assert_eq!((refused.status, refused.header("retry-after")), (429, Some("40")));
        assert!(check_unknown_pages(&counters, 8, now).is_ok());
        assert!(check_unknown_pages(&counters, 7, now.plus(40_000)).is_ok());
    }
}
