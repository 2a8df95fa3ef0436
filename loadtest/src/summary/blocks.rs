//! The calls of a run in blocks of time, and confidence intervals by a block bootstrap.
//!
//! Latencies of neighboring calls depend on each other, so whole blocks are drawn and not calls. Both
//! runs have the same schedule, so the same blocks are drawn from both.

use std::collections::BTreeMap;
use std::time::Duration;

use rand::RngExt as _;
use serde::{Deserialize, Serialize};

use crate::random;
use crate::record::CallRecord;

/// Values that are compared: p50, p90, p99 and p99.9 in milliseconds, good responses in percent, and
/// completed calls per second.
pub(crate) type Values = [f64; 6];

/// A confidence interval of a difference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Interval {
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// The calls of a run in blocks of time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Blocks {
    length: Duration,
    blocks: Vec<Block>,
}

/// A block. Its text is the numbers of calls, good responses and completed calls, and each bin with its
/// number of calls, because a report has thousands of bins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
struct Block {
    /// The number of calls by the bin of their latency.
    bins: BTreeMap<u16, u32>,
    calls: u64,
    success: u64,
    completed: u64,
}

/// The fewest blocks, of a run of up to this many seconds.
const MIN_BLOCKS: u64 = 30;
const MAX_BLOCKS: u64 = 200;
/// The times that blocks are drawn.
const RESAMPLES: u64 = 500;
/// The bins of latencies for each factor of e: each is 1 % wide.
const BINS_PER_E: f64 = 100.0;
/// The number of bins: the logarithm of the longest latency, 71 minutes in microseconds, is 22.2.
const BINS: usize = 2300;

impl From<Block> for String {
    fn from(block: Block) -> Self {
        let Block { bins, calls, success, completed } = block;
        let bins: Self = bins.iter().map(|(bin, calls)| format!(" {bin}:{calls}")).collect();
        format!("{calls} {success} {completed}{bins}")
    }
}

impl TryFrom<String> for Block {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let invalid = || format!("invalid block `{text}`: expected three numbers and bins");
        let mut words = text.split(' ');
        let mut number = || words.next()?.parse::<u64>().ok();
        let (calls, success, completed) = (number(), number(), number());
        let counts = calls.zip(success).zip(completed).ok_or_else(invalid)?;
        let bins = words.map(|word| {
            let (bin, calls) = word.split_once(':')?;
            Some((bin.parse().ok()?, calls.parse().ok()?))
        });
        let bins = bins.collect::<Option<_>>().ok_or_else(invalid)?;
        let ((calls, success), completed) = counts;
        Ok(Self { bins, calls, success, completed })
    }
}

impl Interval {
    /// Returns true if no difference is within the interval.
    pub(crate) fn has_zero(self) -> bool {
        self.low <= 0.0 && self.high >= 0.0
    }
}

impl Blocks {
    /// Returns empty blocks of a run in which calls become due for `length`.
    pub(crate) fn new(length: Duration) -> Self {
        // Long enough that neighboring calls fall in one block, and many enough to draw from.
        let count = length.as_secs().clamp(MIN_BLOCKS, MAX_BLOCKS);
        Self { length, blocks: (0..count).map(|_| Block::default()).collect() }
    }

    /// Adds a call.
    pub(crate) fn record(&mut self, record: &CallRecord) {
        let at = record.due.as_secs_f64() / self.length.as_secs_f64().max(1e-9);
        let at = index(at, self.blocks.len());
        let Some(block) = self.blocks.get_mut(at) else { return };
        *block.bins.entry(bin(record.latency())).or_default() += 1;
        block.calls += 1;
        block.success += u64::from(record.is_success());
        // The same calls as in the rate of the report, or its interval would lie beside it.
        block.completed += u64::from(record.status().is_some() && record.sent < self.length);
    }

    /// Returns the median latencies of the first and of the last third in milliseconds.
    pub(crate) fn medians_of_thirds(&self) -> (f64, f64) {
        let third = self.blocks.len() / 3;
        let median = |blocks: &[Block]| {
            let mut bins = vec![0_u64; BINS];
            for (&bin, &count) in blocks.iter().flat_map(|block| &block.bins) {
                if let Some(sum) = bins.get_mut(usize::from(bin)) {
                    *sum += u64::from(count);
                }
            }
            quantile(&bins, bins.iter().sum(), 0.5)
        };
        let (first, last) = (self.blocks.get(..third), self.blocks.get(self.blocks.len() - third..));
        (median(first.unwrap_or_default()), median(last.unwrap_or_default()))
    }

    /// Returns the values of drawn blocks. Each draw is a place in the run from 0 to 1.
    fn values(&self, draws: &[f64]) -> Values {
        let mut bins = vec![0_u64; BINS];
        let (mut calls, mut success, mut completed) = (0, 0, 0);
        for draw in draws {
            let Some(block) = self.blocks.get(index(*draw, self.blocks.len())) else { continue };
            for (&bin, &count) in &block.bins {
                if let Some(sum) = bins.get_mut(usize::from(bin)) {
                    *sum += u64::from(count);
                }
            }
            calls += block.calls;
            success += block.success;
            completed += block.completed;
        }
        let [p50, p90, p99, p99_9] = [0.5, 0.9, 0.99, 0.999].map(|share| quantile(&bins, calls, share));
        let percent = success as f64 * 100.0 / (calls as f64).max(1.0);
        let drawn = self.length.as_secs_f64() * draws.len() as f64 / self.blocks.len() as f64;
        [p50, p90, p99, p99_9, percent, completed as f64 / drawn.max(1e-9)]
    }
}

/// Returns the 95 % confidence intervals of the differences between two runs.
pub(crate) fn difference_intervals(before: &Blocks, after: &Blocks) -> [Interval; 6] {
    let mut differences: [Vec<f64>; 6] = Default::default();
    for nth in 0..RESAMPLES {
        let mut random = random::at(0xb007, nth);
        let draws: Vec<f64> = before.blocks.iter().map(|_| random.random::<f64>()).collect();
        let pairs = before.values(&draws).into_iter().zip(after.values(&draws));
        for (list, (before, after)) in differences.iter_mut().zip(pairs) {
            list.push(after - before);
        }
    }
    differences.map(|mut list| {
        list.sort_by(f64::total_cmp);
        let at = |share: f64| list.get(index(share, list.len())).copied().unwrap_or(0.0);
        Interval { low: at(0.025), high: at(0.975) }
    })
}

/// Returns the index of a place from 0 to 1 among `count`.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below `count`")]
fn index(place: f64, count: usize) -> usize {
    ((place.max(0.0) * count as f64) as usize).min(count.saturating_sub(1))
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 2217")]
fn bin(latency: Duration) -> u16 {
    ((latency.as_micros().clamp(1, u128::from(u32::MAX)) as f64).ln() * BINS_PER_E) as u16
}

/// Returns the latency in milliseconds that this share of the calls does not exceed.
fn quantile(bins: &[u64], calls: u64, share: f64) -> f64 {
    let wanted = calls as f64 * share;
    let mut sum = 0;
    let at = bins.iter().position(|count| {
        sum += count;
        sum > 0 && sum as f64 >= wanted
    });
    at.map_or(0.0, |bin| ((bin as f64 + 0.5) / BINS_PER_E).exp() / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::tests::{call, status};
    use rand_distr::{Distribution as _, LogNormal};

    /// A run of 20 s and 4,000 calls, whose latencies are spread around `median_ms`.
    fn run(median_ms: f64, seed: u64) -> Blocks {
        let mut blocks = Blocks::new(Duration::from_secs(20));
        let spread = LogNormal::new(median_ms.ln(), 0.5).unwrap();
        for nth in 0..4000 {
            let mut record = call(nth * 5, status(200));
            let latency = spread.sample(&mut random::at(seed, nth)) / 1000.0;
            record.done = record.due + Duration::from_secs_f64(latency);
            blocks.record(&record);
        }
        blocks
    }

    #[test]
    fn interval_holds_the_difference_of_both_runs() {
        let [p50, .., success, rate] = difference_intervals(&run(10.0, 1), &run(11.0, 2));
        assert!(p50.low > 0.5 && p50.low < 1.0 && p50.high > 1.0 && p50.high < 1.5, "{p50:?}");
        assert!(success.has_zero() && rate.has_zero(), "{success:?} {rate:?}");
        let same = difference_intervals(&run(10.0, 1), &run(10.0, 2));
        assert!(same[..3].iter().all(|interval| interval.has_zero()), "{same:?}");
    }

    /// One slow second of twenty moves p99, and another sample of seconds might not have had it.
    #[test]
    fn interval_of_one_bad_block_has_zero() {
        let mut stalled = run(10.0, 2);
        let block = &mut stalled.blocks[7];
        block.bins = BTreeMap::from([(bin(Duration::from_secs(1)), u32::try_from(block.calls).unwrap())]);
        let [.., p99, _, _, _] = difference_intervals(&run(10.0, 1), &stalled);
        assert!(p99.high > 500.0 && p99.has_zero(), "{p99:?}");
    }

    #[test]
    fn blocks_of_a_report_are_read_back() {
        let blocks = run(10.0, 1);
        let text = serde_json::to_string(&blocks).unwrap();
        let again: Blocks = serde_json::from_str(&text).unwrap();
        assert_eq!((again.blocks, again.length), (blocks.blocks, blocks.length));
        for text in ["", "1 2", "1 2 3 4", "a 2 3"] {
            assert!(Block::try_from(text.to_owned()).is_err(), "{text}");
        }
    }

    #[test]
    fn quantile_is_within_one_percent() {
        let draws: Vec<f64> = (0..30).map(|nth| (f64::from(nth) + 0.5) / 30.0).collect();
        let [p50, .., rate] = run(10.0, 1).values(&draws);
        assert!((p50 - 10.0).abs() < 0.3, "{p50}");
        assert!((rate - 200.0).abs() < 1.0, "{rate}");
    }
}
