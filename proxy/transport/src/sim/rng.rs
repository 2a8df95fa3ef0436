//! SplitMix64, a pseudorandom number generator. It is our own so that no update of a crate changes
//! the meaning of a seed.

/// A pseudorandom number generator.
#[derive(Clone, Debug)]
pub(super) struct Rng(u64);

impl Rng {
    /// Returns the generator for a seed.
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns a number of all 64 bits.
    pub(super) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number in `from..to`, or `from` if the range is empty.
    pub(super) fn range(&mut self, from: usize, to: usize) -> usize {
        if to <= from { from } else { from + usize::try_from(self.next() % (to - from) as u64).unwrap() }
    }

    /// Returns one of `items`, each with the same probability.
    pub(super) fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.range(0, items.len())]
    }

    /// Returns true with a probability in percent.
    pub(super) fn chance(&mut self, percent: usize) -> bool {
        self.range(0, 100) < percent
    }

    /// Returns a generator that is independent of this one.
    pub(super) const fn fork(&mut self) -> Self {
        Self(self.next())
    }
}
