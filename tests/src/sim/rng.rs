//! SplitMix64, a pseudorandom number generator. It is our own so that no update of a crate changes
//! the meaning of a seed.

/// A pseudorandom number generator.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// Returns the generator for a seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns a number of all 64 bits.
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number in `from..to`, or `from` if the range is empty.
    pub const fn range(&mut self, from: u64, to: u64) -> u64 {
        if to <= from { from } else { from + self.next() % (to - from) }
    }

    /// Returns one of `items`, each with the same probability.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[usize::try_from(self.range(0, items.len() as u64)).unwrap()]
    }

    /// Returns true with a probability in per mille.
    pub const fn chance(&mut self, per_mille: u64) -> bool {
        self.range(0, 1000) < per_mille
    }

    /// Returns a number between 0 and 1.
    #[allow(clippy::cast_precision_loss, reason = "53 bits are left, which a float holds")]
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns the milliseconds to the next event of a Poisson process with `per_minute` events a
    /// minute.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at most a few hours, never below 0"
    )]
    pub fn gap_ms(&mut self, per_minute: f64) -> u64 {
        (-(1.0 - self.unit()).ln() * 60_000.0 / per_minute).round() as u64
    }
}
