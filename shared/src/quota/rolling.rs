//! Calls of the last window, in buckets.
//!
//! Why: docs/decisions/limits.md, "The meter counts in buckets of 250 ms and keeps calls 0.3 s
//! longer".

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::time::UnixMillis;

/// A sliding window: the counts of the last `WINDOW_MS`, in buckets of `BUCKET_MS`.
///
/// A count leaves one bucket's length after the window has passed its bucket's beginning: a little
/// late and never early. So no interval of the window's length, wherever it begins, holds more than
/// was allowed together; the price is `BUCKET_MS / WINDOW_MS` of the rate that could be sustained.
///
/// ```
/// use shared::{quota::Rolling, time::UnixMillis};
///
/// let mut minute = Rolling::<250, 60_000>::default();
/// minute.add(UnixMillis(1_000), 3);
/// minute.add(UnixMillis(30_000), 2);
/// assert_eq!((minute.total(), minute.freed_at(3)), (5, Some(UnixMillis(61_250))));
/// minute.expire(UnixMillis(61_250));
/// assert_eq!(minute.total(), 2);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<u64>", into = "Vec<u64>")]
pub struct Rolling<const BUCKET_MS: u64, const WINDOW_MS: u64> {
    /// Bucket numbers (time over `BUCKET_MS`), rising, each with its count, which is never 0.
    buckets: VecDeque<(u64, u32)>,
    total: u32,
}

impl<const BUCKET_MS: u64, const WINDOW_MS: u64> Rolling<BUCKET_MS, WINDOW_MS> {
    /// Forgets what has left the window at `now`.
    pub fn expire(&mut self, now: UnixMillis) {
        while let Some(&(bucket, count)) = self.buckets.front() {
            if now < Self::leaves_at(bucket) {
                break;
            }
            self.buckets.pop_front();
            self.total = self.total.saturating_sub(count);
        }
    }

    /// Counts `n` at the moment `at`, which may lie in the past or, for what is assumed, ahead.
    pub fn add(&mut self, at: UnixMillis, n: u32) {
        if n == 0 {
            return;
        }
        self.total = self.total.saturating_add(n);
        let bucket = Self::bucket(at);
        match self.buckets.back_mut() {
            Some((last, count)) if *last == bucket => *count = count.saturating_add(n),
            // Reports of leases come later than calls that were counted directly.
            Some((last, _)) if *last > bucket => self.insert(bucket, n),
            _ => self.buckets.push_back((bucket, n)),
        }
    }

    fn insert(&mut self, bucket: u64, n: u32) {
        let place = self.buckets.partition_point(|&(other, _)| other < bucket);
        match self.buckets.get_mut(place) {
            Some((other, count)) if *other == bucket => *count = count.saturating_add(n),
            _ => self.buckets.insert(place, (bucket, n)),
        }
    }

    /// Takes back `n` that were counted at the moment `at`, unless they have left the window.
    pub fn remove(&mut self, at: UnixMillis, n: u32) {
        let Ok(place) = self.buckets.binary_search_by_key(&Self::bucket(at), |&(bucket, _)| bucket) else {
            return;
        };
        if let Some((_, count)) = self.buckets.get_mut(place) {
            let removed = n.min(*count);
            *count = count.saturating_sub(removed);
            self.total = self.total.saturating_sub(removed);
            if *count == 0 {
                // No bucket is empty: the stored form would grow by calls that were given back.
                self.buckets.remove(place);
            }
        }
    }

    /// Returns all that is in the window.
    pub const fn total(&self) -> u32 {
        self.total
    }

    /// Returns the moment by which at least `n` of the counts will have left, if nothing is added;
    /// `None` if there are fewer than `n`.
    pub fn freed_at(&self, n: u32) -> Option<UnixMillis> {
        let mut freed = 0u32;
        self.buckets.iter().find_map(|&(bucket, count)| {
            freed = freed.saturating_add(count);
            (freed >= n).then(|| Self::leaves_at(bucket))
        })
    }

    /// Returns every bucket's number with its count, the oldest first.
    pub(crate) fn buckets(&self) -> impl Iterator<Item = (u64, u32)> {
        self.buckets.iter().copied()
    }

    /// Counts `n` in a bucket.
    pub(crate) fn add_to(&mut self, bucket: u64, n: u32) {
        self.add(Self::begins_at(bucket), n);
    }

    /// Returns the number of the bucket that a moment lies in.
    pub(crate) const fn bucket(at: UnixMillis) -> u64 {
        at.0 / BUCKET_MS
    }

    /// Returns the first moment of a bucket.
    pub(crate) const fn begins_at(bucket: u64) -> UnixMillis {
        UnixMillis(bucket.saturating_mul(BUCKET_MS))
    }

    /// Returns the moment from which a bucket's counts no longer count.
    pub(crate) const fn leaves_at(bucket: u64) -> UnixMillis {
        UnixMillis(bucket.saturating_add(1).saturating_mul(BUCKET_MS).saturating_add(WINDOW_MS))
    }
}

/// Stored as pairs in one flat list: how many buckets after the one before, and the count.
impl<const B: u64, const W: u64> From<Vec<u64>> for Rolling<B, W> {
    fn from(stored: Vec<u64>) -> Self {
        let mut rolling = Self::default();
        let mut bucket = 0u64;
        let (pairs, _) = stored.as_chunks::<2>();
        for &[gap, count] in pairs {
            bucket = bucket.saturating_add(gap);
            rolling.add_to(bucket, u32::try_from(count).unwrap_or(u32::MAX));
        }
        rolling
    }
}

impl<const B: u64, const W: u64> From<Rolling<B, W>> for Vec<u64> {
    fn from(rolling: Rolling<B, W>) -> Self {
        let mut before = 0u64;
        let pairs = rolling.buckets.iter().flat_map(|&(bucket, count)| {
            let gap = bucket.saturating_sub(before);
            before = bucket;
            [gap, u64::from(count)]
        });
        pairs.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Minute = Rolling<250, 60_000>;

    #[test]
    fn count_leaves_the_window_at_most_one_bucket_late() {
        let mut minute = Minute::default();
        minute.add(UnixMillis(100_249), 1);
        minute.expire(UnixMillis(160_249));
        assert_eq!(minute.total(), 1);
        minute.expire(UnixMillis(160_250));
        assert_eq!(minute.total(), 0);
    }

    #[test]
    fn counts_are_kept_in_any_order() {
        let mut minute = Minute::default();
        for at in [5_000, 1_000, 3_000, 1_100] {
            minute.add(UnixMillis(at), 1);
        }
        assert_eq!(minute.total(), 4);
        assert_eq!(minute.freed_at(1), Some(UnixMillis(61_250)));
        assert_eq!(minute.freed_at(3), Some(UnixMillis(63_250)));
        assert_eq!(minute.freed_at(5), None);
    }

    #[test]
    fn removed_count_frees_its_bucket_only() {
        let mut minute = Minute::default();
        minute.add(UnixMillis(1_000), 2);
        minute.add(UnixMillis(2_000), 1);
        minute.remove(UnixMillis(1_100), 1);
        assert_eq!((minute.total(), minute.freed_at(1)), (2, Some(UnixMillis(61_250))));
        minute.remove(UnixMillis(1_000), 1);
        assert_eq!((minute.total(), minute.freed_at(1)), (1, Some(UnixMillis(62_250))));
        minute.remove(UnixMillis(1_000), 1);
        assert_eq!(minute.total(), 1, "it has left");
    }

    #[test]
    fn bucket_is_counted_and_removed_as_one() {
        for order in [[1_000, 1_100, 9_000], [9_000, 1_000, 1_100], [1_000, 9_000, 1_100]] {
            let mut minute = Minute::default();
            order.into_iter().for_each(|at| minute.add(UnixMillis(at), 1));
            assert_eq!(minute.buckets().collect::<Vec<_>>(), [(4, 2), (36, 1)], "{order:?}");
            minute.remove(UnixMillis(1_200), 5);
            assert_eq!(minute.buckets().collect::<Vec<_>>(), [(36, 1)], "{order:?}");
            assert_eq!(minute.total(), 1, "{order:?}");
        }
    }

    #[test]
    fn window_reads_back_from_its_stored_form() {
        let mut minute = Minute::default();
        minute.add(UnixMillis(1_000), 3);
        minute.add(UnixMillis(9_000), 2);
        let text = serde_json::to_string(&minute).unwrap();
        assert_eq!(serde_json::from_str::<Minute>(&text).unwrap(), minute);
    }
}
