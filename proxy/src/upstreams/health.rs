//! When an upstream is healthy: decided from evidence alone, so that it can be tested without a network.

use crate::config::ProbeConfig;

/// What is known of an upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// Nothing yet. It gets no calls.
    Unknown,
    /// It gets calls.
    Healthy,
    /// It gets no calls.
    Unhealthy,
}

/// Something that happened to an upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// It answered a probe as expected.
    ProbePassed,
    /// It did not.
    ProbeFailed,
    /// A connection for a call could not be made.
    ConnectFailed,
}

/// Health and what it rests on.
#[derive(Clone, Copy, Debug)]
pub(super) struct HealthState {
    pub(super) health: Health,
    passes: u32,
    failures: u32,
}

impl HealthState {
    pub(super) const fn new() -> Self {
        Self { health: Health::Unknown, passes: 0, failures: 0 }
    }

    /// The standing after one more piece of evidence. The first decides an unknown upstream; later ones have to
    /// come in a row. A refused connection is as good a reason as a failed probe, and only probes speak for it.
    pub(super) fn after(self, evidence: Evidence, thresholds: &ProbeConfig) -> Self {
        let (passes, failures) = match evidence {
            Evidence::ProbePassed => (self.passes.saturating_add(1), 0),
            Evidence::ProbeFailed | Evidence::ConnectFailed => (0, self.failures.saturating_add(1)),
        };
        let health = match self.health {
            Health::Unknown if passes > 0 => Health::Healthy,
            Health::Unknown => Health::Unhealthy,
            Health::Healthy if failures >= thresholds.fall => Health::Unhealthy,
            Health::Unhealthy if passes >= thresholds.rise => Health::Healthy,
            same @ (Health::Healthy | Health::Unhealthy) => same,
        };
        Self { health, passes, failures }
    }

    /// Passes in a row until it is healthy; 0 when it is.
    pub(super) fn passes_needed(self, thresholds: &ProbeConfig) -> u32 {
        match self.health {
            Health::Healthy => 0,
            Health::Unknown => 1,
            Health::Unhealthy => thresholds.rise.saturating_sub(self.passes).max(1),
        }
    }
}

impl Health {
    /// The word for it in metrics and on `/pools`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Healthy => "healthy",
            Self::Unhealthy => "unhealthy",
        }
    }
}

#[cfg(test)]
mod tests {
    use Evidence::{ConnectFailed, ProbeFailed, ProbePassed};

    use super::*;

    fn after(evidence: &[Evidence]) -> Health {
        let thresholds = ProbeConfig::default();
        evidence
            .iter()
            .fold(HealthState::new(), |standing, &evidence| standing.after(evidence, &thresholds))
            .health
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
