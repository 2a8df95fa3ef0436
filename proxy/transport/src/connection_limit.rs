//! The limit of idle connections, shared by all upstreams.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A counting semaphore that never waits.
#[derive(Debug)]
pub(crate) struct Semaphore {
    limit: usize,
    used: AtomicUsize,
}

/// A permit of a [`Semaphore`]. Dropping it releases the permit.
#[derive(Debug)]
pub(crate) struct Permit(Arc<Semaphore>);

impl Semaphore {
    /// Creates a semaphore with `limit` permits.
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit, used: AtomicUsize::new(0) })
    }

    /// Acquires a permit. Returns `None` if the limit is reached.
    pub(crate) fn try_acquire(self: &Arc<Self>) -> Option<Permit> {
        // Made before the check: if there is no permit left, dropping it takes the count back.
        let permit = Permit(Arc::clone(self));
        (self.used.fetch_add(1, Ordering::Relaxed) < self.limit).then_some(permit)
    }

    /// Returns the number of permits in use.
    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.used.fetch_sub(1, Ordering::Relaxed);
    }
}
