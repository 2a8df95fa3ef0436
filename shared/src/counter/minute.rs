//! The calls of one key's last minute, in few bytes while they are few.

use crate::quota::RollingMinute;
use crate::time::UnixMillis;

/// A compact form of [`RollingMinute`], equal in every result.
#[derive(Clone, Debug)]
pub(super) enum Minute {
    Few(Few),
    /// For busy keys, until their minute is empty.
    Many(Box<RollingMinute>),
}

/// Buckets one after another, the oldest first; those after the last are empty.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Few {
    /// The number of the first bucket, as bytes, so that [`Minute`] takes 32 of them and not 40.
    first: [u8; 8],
    /// Each bucket's distance from the first, and its count, which is 0 for an empty place.
    buckets: [(u8, u8); Self::MOST],
}

impl Default for Minute {
    fn default() -> Self {
        Self::Few(Few::default())
    }
}

impl Minute {
    /// Forgets what has left the window at `now`.
    pub(super) fn expire(&mut self, now: UnixMillis) {
        match self {
            Self::Few(few) => few.expire(now),
            Self::Many(many) => {
                many.expire(now);
                // A burst must not cost its key the larger form for ever.
                if many.total() == 0 {
                    *self = Self::default();
                }
            }
        }
    }

    /// Counts `n` at the moment `at`.
    pub(super) fn add(&mut self, at: UnixMillis, n: u32) {
        match self {
            Self::Few(few) => {
                if few.add(RollingMinute::bucket(at), n).is_none() {
                    let mut many = RollingMinute::default();
                    few.iter().for_each(|(bucket, count)| many.add_to(bucket, count));
                    many.add(at, n);
                    *self = Self::Many(Box::new(many));
                }
            }
            Self::Many(many) => many.add(at, n),
        }
    }

    pub(super) fn total(&self) -> u32 {
        match self {
            Self::Few(few) => few.buckets.iter().map(|&(_, count)| u32::from(count)).sum(),
            Self::Many(many) => many.total(),
        }
    }

    /// Returns the same as [`RollingMinute::freed_at`].
    pub(super) fn freed_at(&self, n: u32) -> Option<UnixMillis> {
        match self {
            Self::Few(few) => {
                let mut freed = 0u32;
                few.iter().find_map(|(bucket, count)| {
                    freed = freed.saturating_add(count);
                    (freed >= n).then(|| RollingMinute::leaves_at(bucket))
                })
            }
            Self::Many(many) => many.freed_at(n),
        }
    }

    /// Drops the buckets that begin after `latest`. Returns true if there were any.
    pub(super) fn drop_after(&mut self, latest: UnixMillis) -> bool {
        let (kept, dropped): (Vec<_>, Vec<_>) =
            self.buckets().into_iter().partition(|&(bucket, _)| RollingMinute::begins_at(bucket) <= latest);
        if !dropped.is_empty() {
            *self = Self::default();
            kept.into_iter().for_each(|(bucket, count)| self.add_to(bucket, count));
        }
        !dropped.is_empty()
    }

    /// Returns every bucket's number with its count, the oldest first.
    pub(super) fn buckets(&self) -> Vec<(u64, u32)> {
        match self {
            Self::Few(few) => few.iter().collect(),
            Self::Many(many) => many.buckets().collect(),
        }
    }

    /// Counts `n` in a bucket.
    pub(super) fn add_to(&mut self, bucket: u64, n: u32) {
        self.add(RollingMinute::begins_at(bucket), n);
    }
}

impl Few {
    const MOST: usize = 11;

    fn iter(&self) -> impl Iterator<Item = (u64, u32)> {
        let first = u64::from_ne_bytes(self.first);
        let used = self.buckets.iter().take_while(|&&(_, count)| count > 0);
        used.map(move |&(after, count)| (first.saturating_add(u64::from(after)), u32::from(count)))
    }

    fn expire(&mut self, now: UnixMillis) {
        let gone = self.iter().take_while(|&(bucket, _)| RollingMinute::leaves_at(bucket) <= now).count();
        if gone == 0 {
            return;
        }
        let rest = Self::default();
        *self = self.iter().skip(gone).fold(rest, |mut rest, (bucket, count)| {
            // What had a place has one now: there are fewer, and they lie no further apart.
            let _placed = rest.add(bucket, count);
            rest
        });
    }

    /// `None`, with nothing counted, when there is no room.
    fn add(&mut self, bucket: u64, n: u32) -> Option<()> {
        let used = self.iter().count();
        if used == 0 {
            self.first = bucket.to_ne_bytes();
        }
        let after = u8::try_from(bucket.checked_sub(u64::from_ne_bytes(self.first))?).ok()?;
        let n = u8::try_from(n).ok()?;
        match used.checked_sub(1).and_then(|last| self.buckets.get_mut(last)) {
            // The places are in order. The larger form takes what comes late.
            Some((last, _)) if *last > after => None,
            Some((last, count)) if *last == after => {
                *count = count.checked_add(n)?;
                Some(())
            }
            _ => {
                *self.buckets.get_mut(used)? = (after, n);
                Some(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixMillis = UnixMillis(1_763_712_000_000);

    #[test]
    fn minute_is_small_again_after_a_busy_one() {
        assert_eq!(size_of::<Minute>(), 32);
        let mut minute = Minute::default();
        for tick in 0..240 {
            minute.add(NOW.plus(tick * 250), 1);
        }
        assert!(matches!(minute, Minute::Many(_)) && minute.total() == 240);
        minute.expire(NOW.plus(200_000));
        assert!(matches!(minute, Minute::Few(_)) && minute.total() == 0);
    }

    #[test]
    fn few_calls_in_order_stay_small() {
        let mut minute = Minute::default();
        for at in [0, 100, 250, 30_000, 60_000] {
            minute.add(NOW.plus(at), 2);
        }
        assert!(matches!(minute, Minute::Few(_)) && minute.total() == 10);
        minute.expire(NOW.plus(60_000 + 250 + 300));
        assert!(matches!(minute, Minute::Few(_)) && minute.total() == 6);
        minute.add(NOW.plus(40_000), 1);
        assert!(matches!(minute, Minute::Many(_)) && minute.total() == 7, "out of order");
    }

    #[test]
    fn calls_of_one_bucket_take_one_place() {
        let mut minute = Minute::default();
        for _ in 0..100 {
            minute.add(NOW, 1);
        }
        assert!(matches!(minute, Minute::Few(_)) && minute.total() == 100);
    }

    #[test]
    fn calls_at_once_and_out_of_order_are_counted() {
        let mut minute = Minute::default();
        minute.add(NOW, 255);
        minute.add(NOW.plus(100), 1);
        minute.add(NOW.minus(9_000), 3);
        assert_eq!(minute.total(), 259);
        assert_eq!(
            minute.freed_at(3),
            Some(RollingMinute::leaves_at(RollingMinute::bucket(NOW.minus(9_000))))
        );
    }
}
