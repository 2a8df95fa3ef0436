//! Outlier detection: ejects an upstream whose calls fail. A state machine over outcomes of calls,
//! with time as an argument.

use super::ejection::{CallFailure, EjectReason, Ejection, EjectionEnd, Returned};
use config::EjectConfig;
use transport::clock::{Monotonic, millis};

/// The recent outcomes of an upstream's calls, and its ejection.
#[derive(Clone, Copy, Debug)]
pub(super) struct OutlierState {
    consecutive_failures: u32,
    /// The start of the window in which `calls` and `failures` are counted.
    window: Monotonic,
    calls: u32,
    failures: u32,
    /// Number of ejections since the history was last cleared.
    ejections: u32,
    /// The end of the last ejection.
    until: Monotonic,
    /// Consecutive passed probes during the ejection.
    passes: u32,
    /// Whether no call has succeeded since the last ejection. A single failure then ejects.
    half_open: bool,
    /// Whether an operator has ejected the upstream, so that probes do not end the ejection.
    is_held: bool,
    /// The last ejection.
    last: Option<Ejection>,
    /// What ended the last ejection, or will end it. `None` once its end was reported.
    end: Option<EjectionEnd>,
}

/// The window of the failure rate.
const WINDOW_MS: u64 = 10_000;
/// Minimum number of calls in the window for a failure rate.
const MIN_CALLS: u32 = 20;

impl OutlierState {
    pub(super) const fn new() -> Self {
        let start = Monotonic::from_millis(0);
        Self {
            consecutive_failures: 0,
            window: start,
            calls: 0,
            failures: 0,
            ejections: 0,
            until: start,
            passes: 0,
            half_open: false,
            is_held: false,
            last: None,
            end: None,
        }
    }

    /// Returns the state of an upstream that an operator ejects until `until`.
    pub(super) const fn held(until: Monotonic, now: Monotonic) -> Self {
        let reason = EjectReason::Operator;
        let last = Some(Ejection { reason, last: None, consecutive: 0, failed: 0, calls: 0, at: now });
        let end = Some(EjectionEnd::Time);
        Self { until, window: until, half_open: true, is_held: true, last, end, ..Self::new() }
    }

    /// Returns the state of an upstream whose ejection an operator ends at `now`.
    pub(super) const fn released(self, now: Monotonic) -> Self {
        let end = Some(EjectionEnd::Operator);
        Self { until: now, window: now, last: self.last, end, ..Self::new() }
    }

    /// Returns the last ejection, which may have ended.
    pub(super) const fn last_ejection(&self) -> Option<Ejection> {
        self.last
    }

    /// Returns the end of the last ejection, once.
    pub(super) fn take_return(&mut self, now: Monotonic) -> Option<Returned> {
        if now < self.until {
            return None;
        }
        let (ejection, by) = self.last.zip(self.end.take())?;
        Some(Returned { ejection, by, after_ms: self.until.since(ejection.at) })
    }

    /// Returns the end of the ejection. It is in the past if the upstream is not ejected.
    pub(super) const fn until(&self) -> Monotonic {
        self.until
    }

    /// Returns true if no call has succeeded since the last ejection.
    pub(super) const fn is_half_open(&self) -> bool {
        self.half_open
    }

    /// Returns the state after the outcome of a call. `may_eject` is called only if the outcome
    /// justifies an ejection.
    pub(super) fn after_call(
        mut self,
        failure: Option<CallFailure>,
        rules: &EjectConfig,
        now: Monotonic,
        may_eject: impl FnOnce() -> bool,
    ) -> Self {
        if now < self.until {
            // The call started before the ejection.
            return self;
        }
        if now.since(self.window) >= WINDOW_MS {
            (self.window, self.calls, self.failures) = (now, 0, 0);
        }
        self.calls = self.calls.saturating_add(1);
        let Some(failure) = failure else {
            self.consecutive_failures = 0;
            self.half_open = false;
            // Only after a long time: a server that fails again and again would else begin with a
            // short ejection.
            if now.since(self.until) >= millis(rules.max_time) {
                self.ejections = 0;
            }
            return self;
        };
        self.failures = self.failures.saturating_add(1);
        self.consecutive_failures = self.consecutive_failures.saturating_add(1);
        match self.outlier_by(rules) {
            Some(reason) if may_eject() => self.ejected((reason, failure), rules, now),
            // An upstream that must stay is not half-open, because it has to take more than one
            // call.
            Some(_) => Self { half_open: false, ..self },
            None => self,
        }
    }

    /// Returns the state after a probe. `rise` consecutive passes end the first ejection early,
    /// twice as many the second, and so on. A probe that passes although calls fail thus brings the
    /// upstream back less and less often.
    pub(super) fn after_probe(mut self, passed: bool, rise: u32, now: Monotonic) -> Self {
        if now >= self.until || self.is_held {
            return self;
        }
        self.passes = if passed { self.passes.saturating_add(1) } else { 0 };
        if self.passes >= rise.saturating_mul(self.factor()) {
            (self.until, self.end) = (now, Some(EjectionEnd::Probes));
        }
        self
    }

    /// Returns the rule that the upstream has broken.
    fn outlier_by(&self, rules: &EjectConfig) -> Option<EjectReason> {
        let rate = u64::from(self.failures) * 100 >= u64::from(self.calls) * rules.failure_percent;
        // Before the other rules: the trial decides, however few calls there were.
        if self.half_open {
            return Some(EjectReason::Trial);
        }
        if self.consecutive_failures >= rules.failures {
            return Some(EjectReason::Consecutive);
        }
        (self.calls >= MIN_CALLS && rate).then_some(EjectReason::Share)
    }

    fn ejected(
        self,
        (reason, last): (EjectReason, CallFailure),
        rules: &EjectConfig,
        now: Monotonic,
    ) -> Self {
        let ejection = Ejection {
            reason,
            last: Some(last),
            consecutive: self.consecutive_failures,
            failed: self.failures,
            calls: self.calls,
            at: now,
        };
        let ejections = self.ejections.saturating_add(1);
        let end = Some(EjectionEnd::Time);
        // The counts begin anew. Failures of before would eject it again at the first call.
        let next = Self { ejections, last: Some(ejection), end, ..Self::new() };
        let time = rules.base_time.saturating_mul(next.factor()).min(rules.max_time);
        let until = now.plus(time);
        // The next window starts when the ejection ends.
        Self { until, window: until, half_open: true, ..next }
    }

    /// Returns the factor of the ejection time: 1, 2, 4 and so on with each ejection.
    fn factor(&self) -> u32 {
        1u32.checked_shl(self.ejections.saturating_sub(1)).unwrap_or(u32::MAX)
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

    fn failure(failed: bool) -> Option<CallFailure> {
        failed.then_some(CallFailure::NoResponse)
    }

    fn calls(mut state: OutlierState, outcomes: &[bool], now: u64) -> OutlierState {
        for failed in outcomes {
            state = state.after_call(failure(*failed), &rules(), at(now), || true);
        }
        state
    }

    #[test]
    fn five_consecutive_failures_eject_and_four_do_not() {
        let ejected = calls(OutlierState::new(), &[true; 5], 1_000);
        assert_eq!(ejected.until().millis(), 6_000);
        assert_eq!(
            calls(OutlierState::new(), &[true, true, true, true, false, true], 1_000).until().millis(),
            0
        );
    }

    #[test]
    fn failure_rate_of_half_ejects_and_a_third_does_not() {
        let half = [true, false].repeat(10);
        assert!(calls(OutlierState::new(), &half, 1_000).until() < at(1_000), "the last call succeeded");
        let half = [false, true].repeat(10);
        assert!(calls(OutlierState::new(), &half, 1_000).until() > at(1_000));
        let third = [false, false, true].repeat(30);
        assert_eq!(calls(OutlierState::new(), &third, 1_000).until().millis(), 0);
    }

    #[test]
    fn ejection_time_doubles_up_to_the_longest() {
        let mut state = calls(OutlierState::new(), &[true; 5], 1_000);
        let mut now = 1_000;
        let mut times = Vec::new();
        for _ in 0..6 {
            times.push(state.until().since(at(now)) / 1_000);
            now = state.until().millis();
            state = calls(state, &[true], now);
        }
        assert_eq!(times, [5, 10, 20, 40, 60, 60]);
    }

    #[test]
    fn long_success_resets_the_ejection_time() {
        let state = calls(OutlierState::new(), &[true; 5], 1_000);
        let well = calls(state, &[false], 70_000);
        assert_eq!(calls(well, &[true; 5], 71_000).until().millis(), 76_000);
    }

    #[test]
    fn passed_probes_end_an_ejection_early() {
        let mut state = calls(OutlierState::new(), &[true; 5], 1_000);
        for (again, needed) in [(1u64, 2), (2, 4), (3, 8)] {
            let passes = (1..).find(|_| {
                state = state.after_probe(true, 2, at(again * 10_000 - 9_000 + 1));
                state.until() <= at(again * 10_000 - 8_999)
            });
            assert_eq!(passes, Some(needed));
            state = calls(state, &[true], again * 10_000 + 1_000);
        }
    }

    #[test]
    fn ejection_by_an_operator_ends_with_its_time_only() {
        let mut state = OutlierState::held(at(60_000), at(0));
        for now in 0..50 {
            state = calls(state.after_probe(true, 2, at(now * 1_000)), &[true, false], now * 1_000);
        }
        assert_eq!(state.until(), at(60_000));
        assert!(calls(state, &[false], 60_000).until() <= at(60_000));
        let failed = calls(state, &[true], 60_000);
        assert_eq!(failed.until(), at(65_000), "it is half-open afterwards");
        let returned = failed.after_probe(true, 1, at(60_001));
        assert_eq!(returned.until(), at(60_001), "an ejection by its calls ends as usual");
        assert_eq!(calls(OutlierState::new().released(at(5_000)), &[true; 4], 6_000).until(), at(5_000));
    }

    #[test]
    fn ejection_never_exceeds_the_longest_time() {
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..200 {
            let (mut state, mut now) = (OutlierState::new(), 0);
            for _ in 0..500 {
                now += random.u64(0..3_000);
                state = match random.bool() {
                    true => state.after_call(failure(random.bool()), &rules(), at(now), || true),
                    false => state.after_probe(random.bool(), 2, at(now)),
                };
                assert!(state.until().since(at(now)) <= 60_000);
            }
        }
    }

    #[test]
    fn ejection_that_is_not_allowed_does_not_happen() {
        let mut state = OutlierState::new();
        for _ in 0..100 {
            state = state.after_call(failure(true), &rules(), at(1_000), || false);
        }
        assert_eq!(state.until().millis(), 0);
    }

    #[test]
    fn ejection_says_its_rule_and_figures() {
        let of = |state: OutlierState| state.last_ejection().map(|ejection| ejection.to_string());
        let consecutive = calls(OutlierState::new(), &[false, true, true, true, true, true], 1_000);
        let text = "reason=consecutive consecutive=5 failed=5 of=6 last=\"no whole response\"";
        assert_eq!(of(consecutive).as_deref(), Some(text));
        let mut share = calls(OutlierState::new(), &[false, true].repeat(9), 1_000);
        share = calls(share, &[false], 1_000);
        share = share.after_call(Some(CallFailure::Status(503)), &rules(), at(1_000), || true);
        let text = "reason=share consecutive=1 failed=10 of=20 last=\"status 503\"";
        assert_eq!(of(share).as_deref(), Some(text));
        let slow = CallFailure::Slow { took_ms: 900, typical_ms: 30 };
        let trial = consecutive.after_call(Some(slow), &rules(), at(6_000), || true);
        let text = "reason=trial consecutive=1 failed=1 of=1 \
                    last=\"slow: 900 ms, where the others typically take 30 ms\"";
        assert_eq!(of(trial).as_deref(), Some(text));
        assert_eq!(of(OutlierState::held(at(9), at(1))).as_deref(), Some("reason=operator"));
        assert_eq!(of(OutlierState::new()), None);
    }

    #[test]
    fn return_is_reported_once_with_what_ended_it() {
        let ended = |mut state: OutlierState, now| {
            let returned = state.take_return(at(now)).map(|one| (one.by, one.after_ms));
            assert_eq!(state.take_return(at(now)), None, "once");
            returned
        };
        let ejected = calls(OutlierState::new(), &[true; 5], 1_000);
        assert_eq!(ended(ejected, 5_999), None);
        assert_eq!(ended(ejected, 9_000), Some((EjectionEnd::Time, 5_000)));
        let probed = ejected.after_probe(true, 1, at(2_000));
        assert_eq!(ended(probed, 2_000), Some((EjectionEnd::Probes, 1_000)));
        assert_eq!(ended(ejected.released(at(3_000)), 3_000), Some((EjectionEnd::Operator, 2_000)));
        assert_eq!(ended(OutlierState::new(), 1_000), None);
    }
}
