//! Waiting for conditions. A test polls a condition until it holds, and never sleeps for a fixed
//! time instead.

use std::{
    thread,
    time::{Duration, Instant},
};

/// The time limit for anything that must happen. Only a test that fails waits this long.
pub const PATIENCE: Duration = Duration::from_secs(60);

const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// The interval of a wait that has been long: polls of a worker, or of a proxy's metrics, cost more than they tell.
const MAX_POLL_INTERVAL: Duration = Duration::from_millis(25);

/// Polls until `condition` returns a value, and returns it. Blocks the thread.
///
/// # Panics
/// If `condition` returns no value within `limit`.
pub fn wait_for<T>(limit: Duration, condition: impl FnMut() -> Option<T>) -> T {
    poll(limit, condition).unwrap_or_else(|| panic!("did not happen within {limit:?}"))
}

/// Polls until `condition` returns a value. Returns `None` after `limit`.
pub(crate) fn poll<T>(limit: Duration, mut condition: impl FnMut() -> Option<T>) -> Option<T> {
    let start = Instant::now();
    while start.elapsed() < limit {
        if let Some(value) = condition() {
            return Some(value);
        }
        thread::sleep(poll_interval(start));
    }
    None
}

/// Polls until `condition` holds.
///
/// # Panics
/// If it does not hold within [`PATIENCE`]. The message contains `what`.
pub async fn until<F: Future<Output = bool>>(what: &str, mut condition: impl FnMut() -> F) {
    let start = Instant::now();
    while !condition().await {
        assert!(start.elapsed() < PATIENCE, "waited {PATIENCE:?} until {what}");
        tokio::time::sleep(poll_interval(start)).await;
    }
}

fn poll_interval(start: Instant) -> Duration {
    (start.elapsed() / 8).clamp(POLL_INTERVAL, MAX_POLL_INTERVAL)
}
