//! The times for which a call waits for the meter.

/// Time after which a call that has no other way is refused, in milliseconds.
pub(super) const LONGEST_MS: u64 = 3_000;

/// The timeouts of a request that a call waits for, in milliseconds after it was first sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Silence after which the request is sent again.
    pub hedge_ms: u64,
    /// The end of the wait.
    pub total_ms: u64,
}

impl Timeouts {
    /// The timeouts of a request to an object of unknown distance.
    pub const FIRST: Self = Self { hedge_ms: 1_000, total_ms: LONGEST_MS };
}
