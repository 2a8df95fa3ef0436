//! The availability of a server: its health and its ejection by outlier detection.

use std::sync::atomic::Ordering;

use super::Upstream;
use crate::ejection::{CallFailure, Ejection, Returned};
use crate::health::{Evidence, Health};
use crate::outlier::OutlierState;
use config::{AdminState, PoolSettings, ProbeConfig};
use transport::clock::Monotonic;

/// The standing of an upstream that may get calls. Calls prefer the first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It gets calls.
    Available,
    /// It is half-open and its trial call is in flight. Calls avoid it.
    InTrial,
    /// It is ejected. It gets calls only if no other upstream is left, like the hosts of Envoy's
    /// panic mode.
    Ejected,
}

impl Standing {
    /// All standings, in the order of preference.
    pub(crate) const ALL: [Self; 3] = [Self::Available, Self::InTrial, Self::Ejected];
}

impl Upstream {
    /// Returns the health.
    pub fn health(&self) -> Health {
        self.state.health.load()
    }

    /// Returns the standing, or `None` if the upstream must not get calls: it is drained, off or not
    /// healthy.
    pub(crate) fn standing(&self, now: Monotonic) -> Option<Standing> {
        if self.config.admin_state != AdminState::Active || self.health() != Health::Healthy {
            return None;
        }
        Some(match (self.ejected_for(now) > 0, self.has_trial_call()) {
            (true, _) => Standing::Ejected,
            (false, true) => Standing::InTrial,
            (false, false) => Standing::Available,
        })
    }

    /// Returns true if the upstream gets calls in panic mode: it is active and was probed.
    pub(crate) fn is_active(&self) -> bool {
        self.config.admin_state == AdminState::Active && self.health() != Health::Unknown
    }

    /// Returns true if the upstream is active, healthy and not ejected.
    pub fn is_available(&self, now: Monotonic) -> bool {
        match self.standing(now) {
            Some(Standing::Available | Standing::InTrial) => true,
            Some(Standing::Ejected) | None => false,
        }
    }

    /// Returns the milliseconds until the ejection ends: 0 if the upstream is not ejected.
    pub fn ejected_for(&self, now: Monotonic) -> u64 {
        Monotonic::from_millis(self.state.ejected_until.load(Ordering::Acquire)).since(now)
    }

    /// Records a probe or a failed connection. Returns the new health if it has changed.
    pub(crate) fn record_evidence(
        &self,
        evidence: Evidence,
        thresholds: &ProbeConfig,
        now: Monotonic,
    ) -> Option<Health> {
        let mut state = self.state.health_state.lock();
        let before = state.health;
        *state = state.after(evidence, thresholds);
        let after = state.health;
        // Not from unknown: at the start of the process all are new, and a slow start would slow
        // all alike.
        if before == Health::Unhealthy && after == Health::Healthy {
            self.state.recovered_at.store(now.millis().max(1), Ordering::Release);
        }
        self.state.health.store(after);
        // Before the other lock, so that the two are never held together.
        drop(state);
        let passed = evidence == Evidence::ProbePassed;
        // A connection that fails is no probe, and must not undo the passes of those that count.
        if self.ejected_for(now) > 0 && evidence != Evidence::ConnectFailed {
            let mut outlier = self.state.outlier_state.lock();
            *outlier = outlier.after_probe(passed, thresholds.rise, now);
            self.eject_until(outlier.until());
        }
        (before != after).then_some(after)
    }

    /// Records the outcome of a call. Returns the end of an ejection that was not reported yet, and the
    /// ejection by the outcome. `may_eject` is called only if the outcome justifies one.
    pub(crate) fn record_outcome(
        &self,
        failure: Option<CallFailure>,
        settings: &PoolSettings,
        now: Monotonic,
        may_eject: impl FnOnce() -> bool,
    ) -> (Option<Returned>, Option<Ejection>) {
        let mut outlier = self.state.outlier_state.lock();
        let returned = outlier.take_return(now);
        let before = outlier.until();
        *outlier = outlier.after_call(failure, &settings.eject, now, may_eject);
        let ejected = before != outlier.until();
        if ejected {
            self.eject_until(outlier.until());
        }
        self.state.half_open.update(outlier.is_half_open(), ejected);
        (returned, outlier.last_ejection().filter(|_| ejected))
    }

    /// Returns the last ejection, which may have ended.
    pub fn last_ejection(&self) -> Option<Ejection> {
        self.state.outlier_state.lock().last_ejection()
    }

    /// Returns the end of the last ejection, once.
    pub(crate) fn take_return(&self, now: Monotonic) -> Option<Returned> {
        self.state.outlier_state.lock().take_return(now)
    }

    /// Ejects the upstream until a time, because an operator wants it.
    pub fn eject(&self, until: Monotonic, now: Monotonic) {
        self.replace_outlier_state(|_| OutlierState::held(until, now), true);
    }

    /// Ends the ejection of the upstream.
    pub fn uneject(&self, now: Monotonic) {
        if self.ejected_for(now) > 0 {
            self.replace_outlier_state(|state| state.released(now), false);
        }
    }

    fn replace_outlier_state(&self, after: impl FnOnce(OutlierState) -> OutlierState, ejected: bool) {
        let mut outlier = self.state.outlier_state.lock();
        *outlier = after(*outlier);
        self.eject_until(outlier.until());
        self.state.half_open.update(outlier.is_half_open(), ejected);
    }

    fn eject_until(&self, until: Monotonic) {
        self.state.ejected_until.store(until.millis(), Ordering::Release);
        // The slow start begins when the ejection ends.
        self.state.recovered_at.store(until.millis(), Ordering::Release);
    }

    /// Returns the time of the next probe.
    pub fn next_probe(&self) -> Monotonic {
        Monotonic::from_millis(self.state.next_probe.load(Ordering::Relaxed))
    }

    /// Returns the milliseconds until the upstream is healthy if all probes pass from now on. An
    /// ejection does not matter: the last upstream gets calls in spite of it. Returns `None` if it is
    /// drained or off.
    pub(crate) fn recovers_in(&self, probe: &ProbeConfig, now: Monotonic) -> Option<u64> {
        if self.config.admin_state != AdminState::Active {
            return None;
        }
        Some(match self.state.health_state.lock().passes_needed(probe) {
            0 => 0,
            passes => self.next_probe().plus(probe.interval.saturating_mul(passes - 1)).since(now),
        })
    }

    /// Sets the time of the next probe.
    pub(crate) fn schedule_probe(&self, moment: Monotonic) {
        self.state.next_probe.store(moment.millis(), Ordering::Relaxed);
    }
}
