//! What is known of a server: its health by its probes, and whether it is out because its calls failed.

use std::sync::atomic::Ordering;

use super::Upstream;
use crate::{
    config::{AdminState, PoolSettings, ProbeConfig},
    upstreams::health::{Evidence, Health},
};
use transport::clock::Monotonic;

pub(super) const UNKNOWN: u8 = 0;
const HEALTHY: u8 = 1;
const UNHEALTHY: u8 = 2;

impl Upstream {
    /// What its probes came to.
    #[must_use]
    pub fn health(&self) -> Health {
        match self.live.health.load(Ordering::Acquire) {
            HEALTHY => Health::Healthy,
            UNHEALTHY => Health::Unhealthy,
            _ => Health::Unknown,
        }
    }

    /// Whether it gets new calls.
    #[must_use]
    pub fn is_available(&self, now: Monotonic) -> bool {
        self.config.admin_state == AdminState::Active
            && self.health() == Health::Healthy
            && self.ejected_for(now) == 0
    }

    /// Milliseconds until its ejection ends; 0 when it is not ejected.
    #[must_use]
    pub fn ejected_for(&self, now: Monotonic) -> u64 {
        Monotonic::from_millis(self.live.out_until.load(Ordering::Acquire)).since(now)
    }

    /// Takes a probe or a failed connection in; the new health, when it has changed.
    pub fn observe(&self, evidence: Evidence, thresholds: &ProbeConfig, now: Monotonic) -> Option<Health> {
        let mut standing = self.live.standing.lock();
        let before = standing.health;
        *standing = standing.after(evidence, thresholds);
        let after = standing.health;
        if before == Health::Unhealthy && after == Health::Healthy {
            self.live.back_at.store(now.millis().max(1), Ordering::Release);
        }
        self.live.health.store(
            match after {
                Health::Unknown => UNKNOWN,
                Health::Healthy => HEALTHY,
                Health::Unhealthy => UNHEALTHY,
            },
            Ordering::Release,
        );
        drop(standing);
        let passed = evidence == Evidence::ProbePassed;
        if self.ejected_for(now) > 0 && evidence != Evidence::ConnectFailed {
            let mut ejection = self.live.ejection.lock();
            *ejection = ejection.after_probe(passed, thresholds.rise, now);
            self.eject_until(ejection.until());
        }
        (before != after).then_some(after)
    }

    /// Takes the end of a call in; whether the upstream was ejected for it.
    pub(crate) fn record_outcome(
        &self,
        failed: bool,
        settings: &PoolSettings,
        now: Monotonic,
        may_eject: impl FnOnce() -> bool,
    ) -> bool {
        let mut ejection = self.live.ejection.lock();
        let before = ejection.until();
        *ejection = ejection.after_call(failed, &settings.eject, now, may_eject);
        let ejected = before != ejection.until();
        if ejected {
            self.eject_until(ejection.until());
        }
        self.live.trial.set(ejection.is_on_trial(), ejected);
        ejected
    }

    fn eject_until(&self, until: Monotonic) {
        self.live.out_until.store(until.millis(), Ordering::Release);
        self.live.back_at.store(until.millis(), Ordering::Release);
    }

    /// When it is probed next.
    #[must_use]
    pub fn next_probe(&self) -> Monotonic {
        Monotonic::from_millis(self.live.next_probe.load(Ordering::Relaxed))
    }

    /// Milliseconds until it can get calls, if all probes pass from now on; `None` when it is not to get any.
    pub(crate) fn recovers_in(&self, probe: &ProbeConfig, now: Monotonic) -> Option<u64> {
        if self.config.admin_state != AdminState::Active {
            return None;
        }
        let probes = match self.live.standing.lock().passes_needed(probe) {
            0 => 0,
            passes => self.next_probe().plus(probe.interval.saturating_mul(passes - 1)).since(now),
        };
        Some(probes.max(self.ejected_for(now)))
    }

    /// Notes when it is probed next.
    pub fn schedule_probe(&self, moment: Monotonic) {
        self.live.next_probe.store(moment.millis(), Ordering::Relaxed);
    }
}
