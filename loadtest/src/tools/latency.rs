//! Latency distributions of simulated tools.

use std::time::Duration;

use rand_distr::{Distribution, Exp, LogNormal, Pareto};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::random;

/// A distribution of latencies. No latency exceeds 10 minutes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum LatencyDistribution {
    /// Many small delays with a long tail, as services have.
    LogNormal {
        /// The median.
        median_ms: f64,
        /// The 99th percentile.
        p99_ms: f64,
    },
    /// Independent delays, as those of a queue.
    Exponential {
        /// The mean.
        mean_ms: f64,
    },
    /// A heavy tail.
    Pareto {
        /// The minimum.
        min_ms: f64,
        /// The exponent: the smaller, the heavier the tail. 1 to 10.
        shape: f64,
    },
}

/// A distribution with parameters that are out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "invalid latency: expected log_normal with 0 < median_ms <= p99_ms, exponential with mean_ms, or pareto with min_ms and \
     shape from 1 to 10, and no time above 600000"
)]
pub struct DistributionError;

/// The 99th percentile of the standard normal distribution.
const NORMAL_P99: f64 = 2.326_347_874;
const MAX_MS: f64 = 600_000.0;

impl LatencyDistribution {
    /// Returns an error if a parameter is out of range.
    pub(super) fn check(self) -> Result<Self, DistributionError> {
        let is_time = |ms: f64| ms > 0.0 && ms <= MAX_MS;
        let valid = match self {
            Self::LogNormal { median_ms, p99_ms } => {
                is_time(median_ms) && is_time(p99_ms) && median_ms <= p99_ms
            }
            Self::Exponential { mean_ms } => is_time(mean_ms),
            Self::Pareto { min_ms, shape } => is_time(min_ms) && (1.0..=10.0).contains(&shape),
        };
        if valid { Ok(self) } else { Err(DistributionError) }
    }

    /// Returns the latency of call number `nth`.
    pub(super) fn sample(self, nth: u64) -> Duration {
        let mut random = random::at(0x51a7, nth);
        let ms = match self {
            Self::LogNormal { median_ms, p99_ms } => {
                let sigma = (p99_ms / median_ms).ln() / NORMAL_P99;
                LogNormal::new(median_ms.ln(), sigma).map_or(median_ms, |spread| spread.sample(&mut random))
            }
            Self::Exponential { mean_ms } => {
                Exp::new(mean_ms.recip()).map_or(mean_ms, |spread| spread.sample(&mut random))
            }
            Self::Pareto { min_ms, shape } => {
                Pareto::new(min_ms, shape).map_or(min_ms, |spread| spread.sample(&mut random))
            }
        };
        Duration::from_secs_f64(ms.clamp(0.0, MAX_MS) / 1000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn percentile(distribution: LatencyDistribution, percent: usize) -> f64 {
        let mut samples: Vec<_> = (0..20_000).map(|nth| distribution.sample(nth)).collect();
        samples.sort_unstable();
        samples[20_000 * percent / 100].as_secs_f64() * 1000.0
    }

    #[test]
    fn samples_have_the_stated_percentiles() {
        let log_normal = LatencyDistribution::LogNormal { median_ms: 20.0, p99_ms: 200.0 };
        let exponential = LatencyDistribution::Exponential { mean_ms: 10.0 };
        let pareto = LatencyDistribution::Pareto { min_ms: 5.0, shape: 2.0 };
        // Medians: the median itself, mean × ln 2, and min × 2^(1/shape).
        let cases =
            [(log_normal, 50, 20.0), (log_normal, 99, 200.0), (exponential, 50, 6.93), (pareto, 50, 7.07)];
        for (distribution, percent, expected) in cases {
            let found = percentile(distribution, percent);
            assert!((found - expected).abs() < expected * 0.1, "{distribution:?} p{percent}: {found}");
        }
    }

    #[test]
    fn parameter_out_of_range_is_error() {
        let invalid = [
            LatencyDistribution::LogNormal { median_ms: 20.0, p99_ms: 10.0 },
            LatencyDistribution::Exponential { mean_ms: 0.0 },
            LatencyDistribution::Pareto { min_ms: 700_000.0, shape: 2.0 },
            LatencyDistribution::Pareto { min_ms: 1.0, shape: f64::NAN },
        ];
        assert!(invalid.iter().all(|distribution| distribution.check() == Err(DistributionError)));
    }
}
