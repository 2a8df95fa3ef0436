//! Random numbers that are the same for a seed for ever: SplitMix64, of our own so that no update of a crate
//! changes what a seed means.

/// A source of random numbers.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// The source that `seed` names.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Any number.
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from `from` up to, not including, `to`; `from` when that is nothing.
    pub const fn range(&mut self, from: u64, to: u64) -> u64 {
        if to <= from { from } else { from + self.next() % (to - from) }
    }

    /// One of `items`, none more likely than another.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[usize::try_from(self.range(0, items.len() as u64)).unwrap()]
    }

    /// True `per_mille` times in a thousand.
    pub const fn chance(&mut self, per_mille: u64) -> bool {
        self.range(0, 1000) < per_mille
    }

    /// Between 0 and 1.
    #[allow(clippy::cast_precision_loss, reason = "53 bits are left, which a float holds")]
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Milliseconds until the next of events that come at random, `per_minute` of them a minute.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at most a few hours, never below 0"
    )]
    pub fn gap_ms(&mut self, per_minute: f64) -> u64 {
        (-(1.0 - self.unit()).ln() * 60_000.0 / per_minute).round() as u64
    }
}
