//! The times for which a call waits for the meter.
//!
//! Why: docs/decisions/limits.md, "A stalled isolate asks again instead of refusing".

/// Time after which a call that has no other way is refused, in milliseconds.
pub(super) const LONGEST_MS: u64 = 3_000;

/// A timer that fires later than this after it is due, in milliseconds, shows that the isolate did
/// not run meanwhile. Whatever came in that time is late through no fault of the sender's.
pub const STALL_MS: u64 = 100;

/// Maximum number of copies of a request that a call waits for. A third one leaves only after a
/// stall.
const MAX_COPIES: u32 = 3;

/// The timeouts of a request that a call waits for, in milliseconds after it was first sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Silence after which the request is sent again.
    pub hedge_ms: u64,
    /// The end of the wait.
    pub total_ms: u64,
}

impl Timeouts {
    /// The timeouts of a request to an object of unknown distance.
    pub const FIRST: Self = Self { hedge_ms: 1_000, total_ms: LONGEST_MS };
}

/// The wait of one call for the meter: when its request is sent again, and when the call is given
/// up. All times are milliseconds since the first copy was sent.
///
/// The first copy is followed by a second one after an error, after a silence, or if the response
/// comes too late to admit the call. If the isolate itself stalls, the meter has had less time than
/// it was given: the wait is extended by one round trip and another copy is sent.
///
/// ```
/// use shared::lease_cache::{CallWait, Timeouts, WaitEvent, WaitStep};
///
/// let mut wait = CallWait::new(Timeouts { hedge_ms: 150, total_ms: 3_000 });
/// assert_eq!(wait.due_ms(), 150);
/// // The isolate did not run for 0.4 s, and the response is too late to admit the call.
/// let step = wait.next(WaitEvent::LateResponse, 400);
/// assert_eq!(step, WaitStep::SendAgain { admit_within_ms: 3_000 });
/// assert_eq!(wait.due_ms(), 3_000);
/// ```
#[derive(Debug)]
pub struct CallWait {
    timeouts: Timeouts,
    due_ms: u64,
    copies: u32,
    has_response: bool,
    /// The time for which this process did not run, in milliseconds. The meter was not given that.
    stalled_ms: u64,
}

/// An event for a call that still waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitEvent {
    /// The timer fired that was set to [`CallWait::due_ms`].
    Timer,
    /// The timer fired, and the meter's server is known to respond: the request is on its way there, behind
    /// others. Neither is a further copy of use, nor is the meter out of reach.
    StillOnTheWay,
    /// A response came that decides nothing: it came later than it may admit the call.
    LateResponse,
    /// A copy failed.
    Error {
        /// True if a further copy would make it worse, because the object is overloaded.
        is_final: bool,
    },
    /// No copy is in flight any more.
    NothingInFlight,
}

/// The next step of a call that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitStep {
    /// Wait for other copies until [`CallWait::due_ms`].
    Continue,
    /// Send the request again ([`LeaseCache::retry`](super::LeaseCache::retry)), and wait until the
    /// new [`CallWait::due_ms`].
    SendAgain {
        /// Time within which a response to this copy admits the call.
        admit_within_ms: u64,
    },
    /// Decide without the meter.
    GiveUp(WaitFailure),
}

/// The reason for which a call was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitFailure {
    /// The meter did not respond, or failed.
    Silent,
    /// The meter responded, too late to admit the call.
    Late,
    /// The isolate did not run.
    Stalled,
}

impl WaitFailure {
    /// Returns true if it says that the meter is out of reach, so that other calls need not try.
    pub const fn is_outage(self) -> bool {
        match self {
            Self::Silent => true,
            Self::Late | Self::Stalled => false,
        }
    }
}

impl CallWait {
    /// Returns the wait of a call whose first copy is sent now.
    pub const fn new(timeouts: Timeouts) -> Self {
        let Timeouts { hedge_ms, total_ms } = timeouts;
        let due_ms = if hedge_ms < total_ms { hedge_ms } else { total_ms };
        Self { timeouts, due_ms, copies: 1, has_response: false, stalled_ms: 0 }
    }

    /// Returns the time at which the call is woken if nothing decides it before.
    pub const fn due_ms(&self) -> u64 {
        self.due_ms
    }

    /// Returns what follows from an event at `elapsed_ms`.
    pub fn next(&mut self, event: WaitEvent, elapsed_ms: u64) -> WaitStep {
        let Timeouts { hedge_ms, total_ms } = self.timeouts;
        let is_stalled = elapsed_ms > self.due_ms.saturating_add(STALL_MS);
        let is_first = self.copies == 1;
        if is_stalled {
            // A stalled isolate once refused calls whose responses were there, unread. The meter is
            // given that time back.
            self.stalled_ms = self.stalled_ms.saturating_add(elapsed_ms.saturating_sub(self.due_ms));
        }
        let longest_ms = LONGEST_MS.saturating_add(self.stalled_ms);
        // A further copy would stand behind the first one, and an outage would be declared amid
        // replies.
        if event == WaitEvent::StillOnTheWay && elapsed_ms < longest_ms {
            self.due_ms = elapsed_ms.saturating_add(hedge_ms.min(total_ms)).min(longest_ms);
            return WaitStep::Continue;
        }
        let sends_again = match event {
            WaitEvent::Timer | WaitEvent::StillOnTheWay => {
                is_first && hedge_ms < total_ms && elapsed_ms < total_ms
            }
            WaitEvent::LateResponse => {
                self.has_response = true;
                is_first
            }
            // An overloaded object only gets worse by a second copy.
            WaitEvent::Error { is_final } => is_first && !is_final,
            WaitEvent::NothingInFlight => false,
        };
        if sends_again || is_stalled && self.copies < MAX_COPIES && !matches!(event, WaitEvent::Error { .. })
        {
            self.copies = self.copies.saturating_add(1);
            let extended_ms = elapsed_ms.saturating_add(hedge_ms.min(total_ms));
            self.due_ms = if is_stalled { extended_ms.max(total_ms) } else { total_ms };
            return WaitStep::SendAgain { admit_within_ms: self.due_ms };
        }
        match event {
            WaitEvent::LateResponse | WaitEvent::Error { .. } => WaitStep::Continue,
            WaitEvent::Timer | WaitEvent::StillOnTheWay | WaitEvent::NothingInFlight => {
                WaitStep::GiveUp(match (self.has_response, is_stalled) {
                    (true, _) => WaitFailure::Late,
                    (false, true) => WaitFailure::Stalled,
                    (false, false) => WaitFailure::Silent,
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FREE: Timeouts = Timeouts { hedge_ms: 150, total_ms: 3_000 };
    const PAID: Timeouts = Timeouts { hedge_ms: 150, total_ms: 300 };

    const fn again(admit_within_ms: u64) -> WaitStep {
        WaitStep::SendAgain { admit_within_ms }
    }

    #[test]
    fn silence_sends_a_second_copy_and_ends_at_the_deadline() {
        let mut wait = CallWait::new(FREE);
        assert_eq!(wait.next(WaitEvent::Timer, 150), again(3_000));
        assert_eq!(wait.next(WaitEvent::Timer, 3_001), WaitStep::GiveUp(WaitFailure::Silent));
        let mut impatient = CallWait::new(Timeouts { hedge_ms: 1_000, total_ms: 300 });
        assert_eq!(impatient.due_ms(), 300);
        assert_eq!(impatient.next(WaitEvent::Timer, 300), WaitStep::GiveUp(WaitFailure::Silent));
    }

    #[test]
    fn copy_that_would_leave_at_the_end_of_the_wait_is_not_sent() {
        for (hedge_ms, step) in [(299, again(300)), (300, WaitStep::GiveUp(WaitFailure::Silent))] {
            let mut wait = CallWait::new(Timeouts { hedge_ms, total_ms: 300 });
            assert_eq!(wait.due_ms(), hedge_ms);
            assert_eq!(wait.next(WaitEvent::Timer, hedge_ms), step);
        }
        let outages =
            [WaitFailure::Silent, WaitFailure::Late, WaitFailure::Stalled].map(WaitFailure::is_outage);
        assert_eq!(outages, [true, false, false]);
    }

    #[test]
    fn late_response_sends_a_copy_within_the_deadline() {
        for stall_ms in [301, 400, 800, 2_500] {
            let mut wait = CallWait::new(FREE);
            assert_eq!(wait.next(WaitEvent::LateResponse, stall_ms), again(3_000));
            assert_eq!(wait.due_ms(), 3_000);
            assert_eq!(wait.next(WaitEvent::LateResponse, stall_ms + 1), WaitStep::Continue);
        }
    }

    #[test]
    fn stall_extends_the_wait_of_a_paid_call_by_a_round_trip() {
        for event in [WaitEvent::Timer, WaitEvent::LateResponse] {
            let mut wait = CallWait::new(PAID);
            assert_eq!(wait.next(event, 400), again(550));
            assert_eq!(
                wait.next(WaitEvent::Timer, 550),
                WaitStep::GiveUp(match event {
                    WaitEvent::LateResponse => WaitFailure::Late,
                    _ => WaitFailure::Silent,
                })
            );
        }
    }

    #[test]
    fn stall_in_the_second_wait_sends_a_third_copy_and_no_fourth() {
        let mut wait = CallWait::new(PAID);
        assert_eq!(wait.next(WaitEvent::Timer, 150), again(300));
        assert_eq!(wait.next(WaitEvent::Timer, 900), again(1_050));
        let failure = WaitFailure::Stalled;
        assert_eq!(wait.next(WaitEvent::Timer, 1_900), WaitStep::GiveUp(failure));
        assert!(!failure.is_outage());
    }

    #[test]
    fn call_whose_meter_responds_waits_as_long_as_any() {
        let mut wait = CallWait::new(PAID);
        for elapsed_ms in (150..3_000).step_by(150) {
            assert_eq!(wait.next(WaitEvent::StillOnTheWay, elapsed_ms), WaitStep::Continue);
            assert_eq!(wait.due_ms(), elapsed_ms + 150);
        }
        assert_eq!(wait.next(WaitEvent::StillOnTheWay, 3_000), WaitStep::GiveUp(WaitFailure::Silent));
        let mut silent = CallWait::new(PAID);
        assert_eq!(silent.next(WaitEvent::StillOnTheWay, 150), WaitStep::Continue);
        assert_eq!(silent.next(WaitEvent::Timer, 300), WaitStep::GiveUp(WaitFailure::Silent));
    }

    #[test]
    fn pause_of_the_process_is_not_the_meters_time() {
        let mut wait = CallWait::new(PAID);
        assert_eq!(wait.next(WaitEvent::Timer, 30_000), again(30_150));
        for elapsed_ms in (30_150..32_800).step_by(150) {
            assert_eq!(wait.next(WaitEvent::StillOnTheWay, elapsed_ms), WaitStep::Continue);
        }
        assert_eq!(wait.next(WaitEvent::StillOnTheWay, 32_850), WaitStep::GiveUp(WaitFailure::Silent));
    }

    #[test]
    fn error_is_retried_once_unless_the_object_is_overloaded() {
        let mut wait = CallWait::new(FREE);
        assert_eq!(wait.next(WaitEvent::Error { is_final: false }, 10), again(3_000));
        assert_eq!(wait.next(WaitEvent::Error { is_final: false }, 20), WaitStep::Continue);
        assert_eq!(wait.next(WaitEvent::NothingInFlight, 20), WaitStep::GiveUp(WaitFailure::Silent));
        let mut overloaded = CallWait::new(FREE);
        assert_eq!(overloaded.next(WaitEvent::Error { is_final: true }, 10), WaitStep::Continue);
        assert_eq!(overloaded.next(WaitEvent::NothingInFlight, 10), WaitStep::GiveUp(WaitFailure::Silent));
    }
}
