//! Health checking: a state machine over probes and failed connections, without I/O.

use std::sync::atomic::{AtomicU8, Ordering};

use strum::IntoStaticStr;

use config::ProbeConfig;

/// The health of an upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr)]
#[strum(const_into_str, serialize_all = "lowercase")]
pub enum Health {
    /// Not probed yet. It gets no calls.
    Unknown,
    /// It gets calls.
    Healthy,
    /// It gets no calls.
    Unhealthy,
}

/// An event that bears on the health of an upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// A probe passed.
    ProbePassed,
    /// A probe failed.
    ProbeFailed,
    /// A connection for a call failed.
    ConnectFailed,
}

/// The health of an upstream, with its consecutive passes and failures.
#[derive(Clone, Copy, Debug)]
pub(super) struct HealthState {
    pub(super) health: Health,
    passes: u32,
    failures: u32,
}

/// A [`Health`] that threads read without a lock.
#[derive(Debug)]
pub(super) struct AtomicHealth(AtomicU8);

impl HealthState {
    pub(super) const fn new() -> Self {
        Self { health: Health::Unknown, passes: 0, failures: 0 }
    }

    /// Returns the state after one more event. The first event decides an unknown upstream. After
    /// that, `rise` or `fall` consecutive events are needed. A failed connection counts as a failed
    /// probe, but only probes count as passes.
    pub(super) fn after(self, evidence: Evidence, thresholds: &ProbeConfig) -> Self {
        let (passes, failures) = match evidence {
            Evidence::ProbePassed => (self.passes.saturating_add(1), 0),
            // Failures must be consecutive, and so must passes: a server that does both is neither.
            Evidence::ProbeFailed | Evidence::ConnectFailed => (0, self.failures.saturating_add(1)),
        };
        let health = match self.health {
            Health::Unknown if passes > 0 => Health::Healthy,
            // One failure is enough before the first pass: nothing speaks for the server yet.
            Health::Unknown => Health::Unhealthy,
            Health::Healthy if failures >= thresholds.fall => Health::Unhealthy,
            Health::Unhealthy if passes >= thresholds.rise => Health::Healthy,
            same @ (Health::Healthy | Health::Unhealthy) => same,
        };
        Self { health, passes, failures }
    }

    /// Returns the number of consecutive passes until the upstream is healthy: 0 if it is.
    pub(super) fn passes_needed(self, thresholds: &ProbeConfig) -> u32 {
        match self.health {
            Health::Healthy => 0,
            Health::Unknown => 1,
            Health::Unhealthy => thresholds.rise.saturating_sub(self.passes).max(1),
        }
    }
}

impl AtomicHealth {
    pub(super) const fn new() -> Self {
        Self(AtomicU8::new(Health::Unknown as u8))
    }

    pub(super) fn load(&self) -> Health {
        match self.0.load(Ordering::Acquire) {
            health if health == Health::Healthy as u8 => Health::Healthy,
            health if health == Health::Unhealthy as u8 => Health::Unhealthy,
            _ => Health::Unknown,
        }
    }

    pub(super) fn store(&self, health: Health) {
        self.0.store(health as u8, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use Evidence::{ConnectFailed, ProbeFailed, ProbePassed};

    use super::*;

    fn after(evidence: &[Evidence]) -> Health {
        let thresholds = ProbeConfig::default();
        evidence.iter().fold(HealthState::new(), |state, &evidence| state.after(evidence, &thresholds)).health
    }

    #[test]
    fn first_probe_decides_an_unknown_upstream() {
        assert_eq!(after(&[]), Health::Unknown);
        assert_eq!(after(&[ProbePassed]), Health::Healthy);
        assert_eq!(after(&[ProbeFailed]), Health::Unhealthy);
    }

    #[test]
    fn healthy_upstream_falls_after_three_failures() {
        assert_eq!(after(&[ProbePassed, ProbeFailed, ConnectFailed]), Health::Healthy);
        assert_eq!(after(&[ProbePassed, ProbeFailed, ConnectFailed, ProbeFailed]), Health::Unhealthy);
        assert_eq!(
            after(&[ProbePassed, ProbeFailed, ProbeFailed, ProbePassed, ProbeFailed]),
            Health::Healthy
        );
    }

    #[test]
    fn unhealthy_upstream_rises_after_two_passes() {
        assert_eq!(after(&[ProbeFailed, ProbePassed]), Health::Unhealthy);
        assert_eq!(after(&[ProbeFailed, ProbePassed, ConnectFailed, ProbePassed]), Health::Unhealthy);
        assert_eq!(after(&[ProbeFailed, ProbePassed, ProbePassed]), Health::Healthy);
    }
}
