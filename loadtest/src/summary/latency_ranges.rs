//! Latencies in ranges, for a histogram.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::distribution::Distribution;

/// The calls with latencies in a range.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LatencyRange {
    /// The lower end in milliseconds, which belongs to the range.
    pub(crate) from_ms: f64,
    /// The upper end in milliseconds.
    pub(crate) to_ms: f64,
    /// The number of calls.
    pub(crate) calls: u64,
}

/// The ranges of a power of ten.
const RANGES_PER_DECADE: f64 = 20.0;

/// Returns the ranges that have calls, in ascending order. All have the same ratio of their ends.
#[allow(clippy::cast_possible_truncation, reason = "the logarithm of 71 minutes in microseconds is below 10")]
pub(crate) fn latency_ranges(latencies: &Distribution) -> Vec<LatencyRange> {
    let mut counts: BTreeMap<i32, u64> = BTreeMap::new();
    latencies.for_each(|micros, count| {
        // A power of ten begins a range in spite of rounding.
        let range = (micros.max(1) as f64).log10() * RANGES_PER_DECADE + 1e-9;
        *counts.entry(range.floor() as i32).or_default() += count;
    });
    let end = |range: i32| 10_f64.powf(f64::from(range) / RANGES_PER_DECADE) / 1000.0;
    counts
        .into_iter()
        .map(|(range, calls)| LatencyRange { from_ms: end(range), to_ms: end(range + 1), calls })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn every_latency_is_in_its_range() {
        let mut times = Distribution::default();
        let micros = [0, 1, 10, 11, 1000, 1000, 123_456];
        for micros in micros {
            times.record(Duration::from_micros(micros));
        }
        let ranges = latency_ranges(&times);
        assert_eq!(ranges.iter().map(|range| range.calls).sum::<u64>(), 7);
        for micros in micros {
            let ms = micros.max(1) as f64 / 1000.0;
            let within = |range: &&LatencyRange| range.from_ms <= ms * 1.000_001 && ms < range.to_ms;
            assert_eq!(ranges.iter().filter(within).count(), 1, "{micros} µs");
        }
        times.compress();
        assert_eq!(latency_ranges(&times).iter().map(|range| range.calls).sum::<u64>(), 7);
        assert_eq!(latency_ranges(&Distribution::default()), []);
    }
}
