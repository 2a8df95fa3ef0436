//! Random numbers that depend on a seed and the number of a call alone, so that a run can be
//! repeated and split over machines.

use rand::SeedableRng;
use rand::rngs::SmallRng;

/// Returns a generator for call number `nth`.
pub(crate) fn at(seed: u64, nth: u64) -> SmallRng {
    SmallRng::seed_from_u64(seed ^ nth.wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

/// Returns the fractional part of `nth` × golden ratio as 32 bits: a low-discrepancy sequence.
///
/// Of any `n` consecutive numbers about `share × n` are below a share, without a period that a load
/// test could match.
pub(crate) fn spread(nth: u64) -> u32 {
    u32::try_from(nth.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32).unwrap_or(u32::MAX)
}
