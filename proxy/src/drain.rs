//! Counts what is under way, so that the process ends when it is done and not a grace period later.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

/// Requests under way, and whether the process was told to end.
#[derive(Debug, Default)]
pub struct Drain {
    under_way: AtomicUsize,
    begun: AtomicBool,
}

/// One request under way. It ends when this is dropped, also by a panic.
#[derive(Debug)]
pub struct UnderWay(Arc<Drain>);

impl Drain {
    /// Counts a request until the result is dropped.
    #[must_use]
    pub fn enter(self: &Arc<Self>) -> UnderWay {
        self.under_way.fetch_add(1, Ordering::Relaxed);
        UnderWay(Arc::clone(self))
    }

    /// From now on the process is ending.
    pub fn begin(&self) {
        self.begun.store(true, Ordering::Release);
    }

    /// Whether the process is ending.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.begun.load(Ordering::Acquire)
    }

    /// Requests under way.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.under_way.load(Ordering::Relaxed)
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, Ordering::Relaxed);
    }
}
