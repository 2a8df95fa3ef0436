//! The first call after an ejection: alone, until it is known how it went.

use std::sync::atomic::{AtomicU8, Ordering};

/// Whether an upstream is on trial, and whether a call is trying it.
#[derive(Debug, Default)]
pub(super) struct HalfOpen(AtomicU8);

/// What a call may do with an upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TrialTurn {
    /// Use it like any other.
    Free,
    /// Try it; others wait for what comes of it.
    Trial,
    /// Leave it to the call that tries it.
    Wait,
}

const NONE: u8 = 0;
const OPEN: u8 = 1;
const TAKEN: u8 = 2;

impl HalfOpen {
    /// Notes whether the upstream is on trial. A new ejection makes a new trial.
    pub(super) fn set(&self, on_trial: bool, ejected: bool) {
        if ejected {
            self.0.store(OPEN, Ordering::Release);
        } else if !on_trial && self.0.load(Ordering::Relaxed) != NONE {
            self.0.store(NONE, Ordering::Release);
        }
    }

    /// Whether a call is trying it.
    pub(super) fn is_taken(&self) -> bool {
        self.0.load(Ordering::Acquire) == TAKEN
    }

    /// The turn of one more call.
    pub(super) fn turn(&self) -> TrialTurn {
        if self.0.load(Ordering::Acquire) == NONE {
            return TrialTurn::Free;
        }
        match self.0.compare_exchange(OPEN, TAKEN, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => TrialTurn::Trial,
            Err(TAKEN) => TrialTurn::Wait,
            Err(_) => TrialTurn::Free,
        }
    }

    /// The call that tried it is over, be it known how it went or not.
    pub(super) fn over(&self) {
        // It is open already, or none any more, when it is known.
        let _known = self.0.compare_exchange(TAKEN, OPEN, Ordering::AcqRel, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_open_allows_one_trial_call() {
        let trial = HalfOpen::default();
        assert_eq!([trial.turn(), trial.turn()], [TrialTurn::Free; 2]);
        trial.set(true, true);
        assert_eq!([trial.turn(), trial.turn()], [TrialTurn::Trial, TrialTurn::Wait]);
        // It left without a word: another one tries.
        trial.over();
        assert_eq!([trial.turn(), trial.turn()], [TrialTurn::Trial, TrialTurn::Wait]);
        trial.set(true, true);
        trial.over();
        assert_eq!(trial.turn(), TrialTurn::Trial);
        trial.set(false, false);
        trial.over();
        assert_eq!([trial.turn(), trial.turn()], [TrialTurn::Free; 2]);
    }
}
