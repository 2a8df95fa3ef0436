//! Half-open state of a circuit breaker: after an ejection, one call probes the upstream while
//! others avoid it.

use std::sync::atomic::{AtomicU8, Ordering};

/// The half-open state of an upstream, shared by all threads.
#[derive(Debug, Default)]
pub(super) struct HalfOpen(AtomicU8);

/// The role of a call towards an upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallRole {
    /// An ordinary call: the upstream is not half-open.
    Ordinary,
    /// The trial call of a half-open upstream. Its outcome decides about the upstream.
    Trial,
    /// A call that should avoid the upstream while the trial call is in flight.
    Avoid,
}

const CLOSED: u8 = 0;
const HALF_OPEN: u8 = 1;
const TRIAL_IN_FLIGHT: u8 = 2;

impl HalfOpen {
    /// Follows outlier detection after the outcome of a call. Each ejection allows one trial call.
    pub(super) fn update(&self, is_half_open: bool, ejected: bool) {
        if ejected {
            self.0.store(HALF_OPEN, Ordering::Release);
        } else if !is_half_open && self.0.load(Ordering::Relaxed) != CLOSED {
            self.0.store(CLOSED, Ordering::Release);
        }
    }

    /// Returns true while the trial call is in flight.
    pub(super) fn has_trial_call(&self) -> bool {
        self.0.load(Ordering::Acquire) == TRIAL_IN_FLIGHT
    }

    /// Returns the role of one more call, and reserves the trial for it if that is free.
    pub(super) fn assign_role(&self) -> CallRole {
        if self.0.load(Ordering::Acquire) == CLOSED {
            return CallRole::Ordinary;
        }
        // One winner: two trials at once would be two calls for a server that may be broken.
        match self.0.compare_exchange(HALF_OPEN, TRIAL_IN_FLIGHT, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => CallRole::Trial,
            Err(TRIAL_IN_FLIGHT) => CallRole::Avoid,
            // The trial has just succeeded in another thread.
            Err(_) => CallRole::Ordinary,
        }
    }

    /// Ends the trial call. If its outcome was not recorded, another call may be the trial.
    pub(super) fn end_trial(&self) {
        // Fails if the outcome was recorded: the state is then half-open again, or closed.
        let _recorded =
            self.0.compare_exchange(TRIAL_IN_FLIGHT, HALF_OPEN, Ordering::AcqRel, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_open_allows_one_trial_call() {
        let state = HalfOpen::default();
        assert_eq!([state.assign_role(), state.assign_role()], [CallRole::Ordinary; 2]);
        state.update(true, true);
        assert_eq!([state.assign_role(), state.assign_role()], [CallRole::Trial, CallRole::Avoid]);
        // The trial call ended without an outcome: the next call is the trial.
        state.end_trial();
        assert_eq!([state.assign_role(), state.assign_role()], [CallRole::Trial, CallRole::Avoid]);
        state.update(true, true);
        state.end_trial();
        assert_eq!(state.assign_role(), CallRole::Trial);
        state.update(false, false);
        state.end_trial();
        assert_eq!([state.assign_role(), state.assign_role()], [CallRole::Ordinary; 2]);
    }
}
