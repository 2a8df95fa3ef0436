//! The ideal limiter: exact and without delay. No limiter admits more.

use std::collections::VecDeque;

use shared::{policy::Policy, time::UnixMillis};

/// An exact sliding window of a minute, and a day.
#[derive(Default)]
pub(super) struct Ideal {
    minute: VecDeque<u64>,
    day: u64,
    day_used: u32,
    pub(super) admitted: u32,
}

impl Ideal {
    /// Decides on a call at the true time `now`. `fails` says that the tool will be unavailable.
    pub(super) fn call(&mut self, policy: Option<Policy>, now: u64, fails: bool) {
        while self.minute.front().is_some_and(|&at| at + 60_000 < now) {
            self.minute.pop_front();
        }
        if UnixMillis(now).day().0 != self.day {
            self.day = UnixMillis(now).day().0;
            self.day_used = 0;
        }
        let Some(policy) = policy else { return };
        let minute_full = self.minute.len() >= policy.minute.get() as usize;
        if minute_full || policy.day.is_some_and(|day| self.day_used >= day.get()) {
            return;
        }
        self.minute.push_back(now);
        self.day_used += u32::from(!fails);
        self.admitted += 1;
    }
}
