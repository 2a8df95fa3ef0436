//! When calls themselves show that an upstream is sick: decided from their ends alone, with time as data.

use crate::config::EjectConfig;
use transport::clock::{Monotonic, millis};

/// How an upstream's calls went, and until when it gets none.
#[derive(Clone, Copy, Debug)]
pub(super) struct OutlierState {
    failures_in_a_row: u32,
    window: Monotonic,
    calls: u32,
    failures: u32,
    /// How often it was ejected without having been well for long in between.
    times: u32,
    until: Monotonic,
    passes: u32,
    /// Whether it has not served a call well since it came back: then one failure is enough.
    on_trial: bool,
}

/// The ratio of failures is that of so long.
const WINDOW_MS: u64 = 10_000;
/// Fewer calls than this have no ratio.
const FEWEST_CALLS: u32 = 20;

impl OutlierState {
    pub(super) const fn new() -> Self {
        let start = Monotonic::from_millis(0);
        Self {
            failures_in_a_row: 0,
            window: start,
            calls: 0,
            failures: 0,
            times: 0,
            until: start,
            passes: 0,
            on_trial: false,
        }
    }

    /// Until when the upstream gets no calls; in the past when it gets some.
    pub(super) const fn until(&self) -> Monotonic {
        self.until
    }

    /// Whether it has not served a call well since it was ejected.
    pub(super) const fn is_on_trial(&self) -> bool {
        self.on_trial
    }

    /// After the end of a call. `may_eject` is asked only when the upstream ought to be ejected.
    pub(super) fn after_call(
        mut self,
        failed: bool,
        rules: &EjectConfig,
        now: Monotonic,
        may_eject: impl FnOnce() -> bool,
    ) -> Self {
        if now < self.until {
            // A call that began before the ejection says nothing new.
            return self;
        }
        if now.since(self.window) >= WINDOW_MS {
            (self.window, self.calls, self.failures) = (now, 0, 0);
        }
        self.calls = self.calls.saturating_add(1);
        if !failed {
            self.failures_in_a_row = 0;
            self.on_trial = false;
            if now.since(self.until) >= millis(rules.longest) {
                self.times = 0;
            }
            return self;
        }
        self.failures = self.failures.saturating_add(1);
        self.failures_in_a_row = self.failures_in_a_row.saturating_add(1);
        match self.is_sick(rules) {
            true if may_eject() => self.ejected(rules, now),
            // One that must stay is not on trial: the calls that it has to take would wait for each other.
            true => Self { on_trial: false, ..self },
            false => self,
        }
    }

    /// After a probe. As many passes in a row as would make an unhealthy upstream healthy end the first ejection, twice
    /// as many the second, and so on: a probe that is wrong about an upstream cannot bring it back for ever.
    pub(super) fn after_probe(mut self, passed: bool, rise: u32, now: Monotonic) -> Self {
        if now >= self.until {
            return self;
        }
        self.passes = if passed { self.passes.saturating_add(1) } else { 0 };
        if self.passes >= rise.saturating_mul(self.factor()) {
            self.until = now;
        }
        self
    }

    fn is_sick(&self, rules: &EjectConfig) -> bool {
        let ratio = u64::from(self.failures) * 100 >= u64::from(self.calls) * rules.failure_percent;
        self.on_trial || self.failures_in_a_row >= rules.failures || (self.calls >= FEWEST_CALLS && ratio)
    }

    fn ejected(self, rules: &EjectConfig, now: Monotonic) -> Self {
        let times = self.times.saturating_add(1);
        let next = Self { times, ..Self::new() };
        let time = rules.time.saturating_mul(next.factor()).min(rules.longest);
        let until = now.plus(time);
        // The window of what comes afterwards begins with its return.
        Self { until, window: until, on_trial: true, ..next }
    }

    /// 1, 2, 4 and so on with each ejection.
    fn factor(&self) -> u32 {
        1u32.checked_shl(self.times.saturating_sub(1)).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Monotonic {
        Monotonic::from_millis(millis)
    }

    fn rules() -> EjectConfig {
        EjectConfig::default()
    }

    fn calls(mut ejection: OutlierState, ends: &[bool], now: u64) -> OutlierState {
        for failed in ends {
            ejection = ejection.after_call(*failed, &rules(), at(now), || true);
        }
        ejection
    }

    #[test]
    fn five_consecutive_failures_eject_and_four_do_not() {
        let sick = calls(OutlierState::new(), &[true; 5], 1_000);
        assert_eq!(sick.until().millis(), 6_000);
        assert_eq!(
            calls(OutlierState::new(), &[true, true, true, true, false, true], 1_000).until().millis(),
            0
        );
    }

    #[test]
    fn failure_rate_of_half_ejects_and_a_third_does_not() {
        let half = [true, false].repeat(10);
        assert!(calls(OutlierState::new(), &half, 1_000).until() < at(1_000), "the last one was well");
        let half = [false, true].repeat(10);
        assert!(calls(OutlierState::new(), &half, 1_000).until() > at(1_000));
        let third = [false, false, true].repeat(30);
        assert_eq!(calls(OutlierState::new(), &third, 1_000).until().millis(), 0);
    }

    #[test]
    fn ejection_time_doubles_up_to_the_longest() {
        let mut ejection = calls(OutlierState::new(), &[true; 5], 1_000);
        let mut now = 1_000;
        let mut times = Vec::new();
        for _ in 0..6 {
            times.push(ejection.until().since(at(now)) / 1_000);
            now = ejection.until().millis();
            ejection = calls(ejection, &[true], now);
        }
        assert_eq!(times, [5, 10, 20, 40, 60, 60]);
    }

    #[test]
    fn long_success_resets_the_ejection_time() {
        let ejection = calls(OutlierState::new(), &[true; 5], 1_000);
        let well = calls(ejection, &[false], 70_000);
        assert_eq!(calls(well, &[true; 5], 71_000).until().millis(), 76_000);
    }

    #[test]
    fn passed_probes_end_an_ejection_early() {
        let mut ejection = calls(OutlierState::new(), &[true; 5], 1_000);
        for (again, needed) in [(1u64, 2), (2, 4), (3, 8)] {
            let passes = (1..).find(|_| {
                ejection = ejection.after_probe(true, 2, at(again * 10_000 - 9_000 + 1));
                ejection.until() <= at(again * 10_000 - 8_999)
            });
            assert_eq!(passes, Some(needed));
            ejection = calls(ejection, &[true], again * 10_000 + 1_000);
        }
    }

    #[test]
    fn ejection_never_exceeds_the_longest_time() {
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..200 {
            let (mut ejection, mut now) = (OutlierState::new(), 0);
            for _ in 0..500 {
                now += random.u64(0..3_000);
                ejection = match random.bool() {
                    true => ejection.after_call(random.bool(), &rules(), at(now), || true),
                    false => ejection.after_probe(random.bool(), 2, at(now)),
                };
                assert!(ejection.until().since(at(now)) <= 60_000);
            }
        }
    }

    #[test]
    fn ejection_that_is_not_allowed_does_not_happen() {
        let mut ejection = OutlierState::new();
        for _ in 0..100 {
            ejection = ejection.after_call(true, &rules(), at(1_000), || false);
        }
        assert_eq!(ejection.until().millis(), 0);
    }
}
