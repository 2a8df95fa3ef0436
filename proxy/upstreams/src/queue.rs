//! The queue of a pool: how many calls wait for a permit, and which one is next.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

/// The calls that wait for a permit of a pool.
#[derive(Debug, Default)]
pub(super) struct Queue {
    pub(super) waiting: AtomicUsize,
    /// Wakes the call that has waited longest.
    pub(super) released: Notify,
}

impl Queue {
    /// Returns the number of waiting calls.
    pub(super) fn len(&self) -> usize {
        self.waiting.load(Ordering::SeqCst)
    }

    /// Wakes the call that has waited longest, if there is one.
    pub(super) fn wake_next(&self) {
        if self.len() > 0 {
            self.released.notify_one();
        }
    }
}
