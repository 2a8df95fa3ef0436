//! Exact quantiles of durations.

use std::time::Duration;

use serde::Serialize;

/// Quantiles in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Quantiles {
    /// The median.
    pub p50: f64,
    /// The 90th percentile.
    pub p90: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The maximum.
    pub max: f64,
}

impl Quantiles {
    /// Computes quantiles by the nearest-rank method: each is one of the given times. Returns zeros
    /// if there are none.
    pub(super) fn new(times: impl Iterator<Item = Duration>) -> Self {
        let mut times: Vec<Duration> = times.collect();
        times.sort_unstable();
        let at = |percent: usize| {
            let rank = (times.len() * percent).div_ceil(100).saturating_sub(1);
            times.get(rank).map_or(0.0, millis)
        };
        Self { p50: at(50), p90: at(90), p99: at(99), max: at(100) }
    }
}

/// Returns milliseconds with a resolution of 1 µs, and at most 71 minutes.
fn millis(time: &Duration) -> f64 {
    f64::from(u32::try_from(time.as_micros()).unwrap_or(u32::MAX)) / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantile_is_nearest_rank() {
        let quantiles = Quantiles::new((1..=200).rev().map(Duration::from_millis));
        assert_eq!(quantiles, Quantiles { p50: 100.0, p90: 180.0, p99: 198.0, max: 200.0 });
        assert_eq!(Quantiles::new([].into_iter()), Quantiles::default());
        let one = Quantiles::new([Duration::from_millis(7)].into_iter());
        assert_eq!(one, Quantiles { p50: 7.0, p90: 7.0, p99: 7.0, max: 7.0 });
    }
}
