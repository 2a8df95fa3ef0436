//! Distributions of times: exact while there are few, a histogram above.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// The significant digits of a histogram: a value in it is at most 0.1 % off.
pub(crate) const HISTOGRAM_DIGITS: u8 = 3;

/// A distribution of times with a resolution of 1 µs.
#[derive(Clone, Debug)]
pub(crate) enum Distribution {
    /// Every time, in microseconds.
    Exact(Vec<u32>),
    /// A high dynamic range histogram of microseconds.
    Histogram(Box<Histogram<u64>>),
}

/// Quantiles in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Quantiles {
    /// The mean.
    pub(crate) mean: f64,
    /// The median.
    pub(crate) p50: f64,
    /// The 90th percentile.
    pub(crate) p90: f64,
    /// The 95th percentile.
    pub(crate) p95: f64,
    /// The 99th percentile.
    pub(crate) p99: f64,
    /// The 99.9th percentile.
    pub(crate) p99_9: f64,
    /// The 99.99th percentile.
    pub(crate) p99_99: f64,
    /// The maximum.
    pub(crate) max: f64,
}

impl Default for Distribution {
    fn default() -> Self {
        Self::Exact(Vec::new())
    }
}

impl Distribution {
    /// Adds a time.
    pub(crate) fn record(&mut self, time: Duration) {
        let micros = u32::try_from(time.as_micros()).unwrap_or(u32::MAX);
        match self {
            Self::Exact(times) => times.push(micros),
            Self::Histogram(histogram) => record(histogram, micros),
        }
    }

    /// Returns true if there are no times.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds all times of another distribution.
    pub(crate) fn merge(&mut self, other: &Self) {
        match (self, other) {
            (Self::Exact(times), Self::Exact(others)) => times.extend(others),
            (Self::Histogram(histogram), Self::Exact(others)) => {
                others.iter().for_each(|&micros| record(histogram, micros));
            }
            (Self::Histogram(histogram), Self::Histogram(other)) => {
                // Both resize themselves, so a value is never out of range.
                let _infallible = histogram.add(&**other);
            }
            (exact, Self::Histogram(_)) => {
                // A merge begins with an empty distribution, which is exact.
                exact.compress();
                exact.merge(other);
            }
        }
    }

    /// Turns an exact distribution into a histogram.
    pub(crate) fn compress(&mut self) {
        let Self::Exact(times) = self else { return };
        let Ok(mut histogram) = Histogram::new(HISTOGRAM_DIGITS) else { return };
        histogram.auto(true);
        times.iter().for_each(|&micros| record(&mut histogram, micros));
        *self = Self::Histogram(Box::new(histogram));
    }

    /// Returns quantiles by the nearest-rank method, in the order of `percents`. Returns zeros if
    /// there are no times.
    pub(crate) fn percentiles<const N: usize>(&self, percents: [f64; N]) -> [f64; N] {
        match self {
            Self::Exact(times) => {
                let mut times = times.clone();
                times.sort_unstable();
                percents.map(|percent| {
                    let rank = nearest_rank(times.len(), percent);
                    times.get(rank).map_or(0.0, |&micros| f64::from(micros) / 1000.0)
                })
            }
            Self::Histogram(_) => percents.map(|percent| self.at_rank(nearest_rank(self.len(), percent))),
        }
    }

    /// Returns the least and the greatest value that a percentile can have, in milliseconds, if
    /// `more` unknown times are added.
    pub(crate) fn percentile_bounds(&self, percent: f64, more: u64) -> (f64, f64) {
        let more = usize::try_from(more).unwrap_or(usize::MAX);
        let rank = nearest_rank(self.len().saturating_add(more), percent);
        let low = rank.checked_sub(more).map_or(0.0, |rank| self.at_rank(rank));
        // If all calls to come are slower, the rank may lie among them, and nothing bounds it yet.
        let high = if rank < self.len() { self.at_rank(rank) } else { f64::INFINITY };
        (low, high)
    }

    /// Calls `visit` with each time in microseconds and with how often it occurs.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(u64, u64)) {
        match self {
            Self::Exact(times) => times.iter().for_each(|&micros| visit(micros.into(), 1)),
            Self::Histogram(histogram) => histogram
                .iter_recorded()
                .for_each(|value| visit(value.value_iterated_to(), value.count_at_value())),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Exact(times) => times.len(),
            Self::Histogram(histogram) => usize::try_from(histogram.len()).unwrap_or(usize::MAX),
        }
    }

    /// Returns the value with this index in ascending order in milliseconds, or 0 if there is none.
    fn at_rank(&self, rank: usize) -> f64 {
        match self {
            Self::Exact(times) if rank >= times.len() => 0.0,
            Self::Exact(times) => {
                let mut times = times.clone();
                let (_, micros, _) = times.select_nth_unstable(rank);
                f64::from(*micros) / 1000.0
            }
            Self::Histogram(histogram) => {
                // The middle of the rank's share, because rounding must not select the next one.
                let share = (rank as f64 + 0.5) / histogram.len().max(1) as f64;
                // A bucket stands for its highest value, which may be above the longest call.
                histogram.value_at_quantile(share).min(histogram.max()) as f64 / 1000.0
            }
        }
    }

    /// Returns the mean in milliseconds.
    pub(crate) fn mean(&self) -> f64 {
        match self {
            Self::Exact(times) if times.is_empty() => 0.0,
            Self::Exact(times) => {
                times.iter().copied().map(f64::from).sum::<f64>() / times.len() as f64 / 1000.0
            }
            Self::Histogram(histogram) => histogram.mean() / 1000.0,
        }
    }

    /// Returns the usual quantiles.
    pub(crate) fn quantiles(&self) -> Quantiles {
        let [p50, p90, p95, p99, p99_9, p99_99, max] =
            self.percentiles([50.0, 90.0, 95.0, 99.0, 99.9, 99.99, 100.0]);
        Quantiles { mean: self.mean(), p50, p90, p95, p99, p99_9, p99_99, max }
    }
}

fn record(histogram: &mut Histogram<u64>, micros: u32) {
    // It resizes itself, so a value is never out of range.
    let _infallible = histogram.record(micros.into());
}

/// Returns the index of the smallest value that `percent` of all values do not exceed.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most `length`")]
fn nearest_rank(length: usize, percent: f64) -> usize {
    // 99.9 % of 1,000 is 999.0000000000001 in floating point: the rank is 999.
    let rank = (length as f64 * percent / 100.0 - 1e-6).ceil() as usize;
    rank.clamp(1, length.max(1)) - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random;
    use rand_distr::{Distribution as _, LogNormal};

    fn exact(times: impl IntoIterator<Item = u64>) -> Distribution {
        let mut distribution = Distribution::default();
        times.into_iter().for_each(|micros| distribution.record(Duration::from_micros(micros)));
        distribution
    }

    #[test]
    fn quantile_is_nearest_rank() {
        let quantiles = exact((1..=1000).rev().map(|ms| ms * 1000)).quantiles();
        let expected = Quantiles {
            mean: 500.5,
            p50: 500.0,
            p90: 900.0,
            p95: 950.0,
            p99: 990.0,
            p99_9: 999.0,
            p99_99: 1000.0,
            max: 1000.0,
        };
        assert_eq!(quantiles, expected);
        assert_eq!(exact([]).quantiles(), Quantiles::default());
        assert!((exact([7000]).quantiles().p50 - 7.0).abs() < 1e-9);
    }

    #[test]
    fn percentile_bounds_hold_for_any_further_times() {
        let hundred = exact((1..=100).map(|ms| ms * 1000));
        assert_eq!(hundred.percentile_bounds(50.0, 0), (50.0, 50.0));
        assert_eq!(hundred.percentile_bounds(99.0, 100), (98.0, f64::INFINITY));
        assert_eq!(hundred.percentile_bounds(10.0, 100), (0.0, 20.0));
        assert_eq!(hundred.percentile_bounds(50.0, 1_000_000), (0.0, f64::INFINITY));
        assert_eq!(exact([]).percentile_bounds(99.0, 0), (0.0, f64::INFINITY));
        let mut histogram = hundred;
        histogram.compress();
        assert_eq!(histogram.percentile_bounds(10.0, 100).0, 0.0);
        assert!((histogram.percentile_bounds(99.0, 100).0 - 98.0).abs() < 0.1);
    }

    /// Latencies between 20 µs and minutes, in histograms that were merged from several.
    #[test]
    fn histogram_is_within_its_stated_error_of_exact_quantiles() {
        let spread = LogNormal::new(9.0, 2.5).unwrap();
        let times: Vec<u64> = (0..200_000_u64)
            .map(|n| Duration::from_secs_f64(spread.sample(&mut random::at(1, n)) / 1e6))
            .map(|time| u64::try_from(time.as_micros()).unwrap())
            .collect();
        let exact_all = exact(times.iter().copied());
        let mut merged = Distribution::default();
        for part in times.chunks(30_000) {
            let mut part = exact(part.iter().copied());
            part.compress();
            merged.merge(&part);
        }
        let percents = [1.0, 50.0, 90.0, 95.0, 99.0, 99.9, 99.99, 100.0];
        let pairs = exact_all.percentiles(percents).into_iter().zip(merged.percentiles(percents));
        for ((exact, estimated), percent) in pairs.zip(percents) {
            let error = (estimated - exact).abs() / exact;
            assert!(error <= 0.001, "p{percent}: {estimated} instead of {exact}");
        }
        assert!((merged.mean() - exact_all.mean()).abs() / exact_all.mean() <= 0.001);
    }
}
