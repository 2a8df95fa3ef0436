//! A flag that ends a run early.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// A flag that ends a run early, shared by threads and tasks.
#[derive(Clone, Debug, Default)]
pub(crate) struct StopFlag(Arc<OnceLock<Instant>>);

impl StopFlag {
    /// Sets the flag. No further call becomes due.
    pub(crate) fn set(&self) {
        // The first moment counts: a later reason must not move the deadline of the calls in
        // flight.
        self.0.get_or_init(Instant::now);
    }

    /// Returns true if the flag is set.
    pub(crate) fn is_set(&self) -> bool {
        self.since().is_some()
    }

    /// Returns the time at which the flag was set.
    pub(crate) fn since(&self) -> Option<Instant> {
        self.0.get().copied()
    }
}
