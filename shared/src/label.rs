//! The names that calls are counted by.
//!
//! Why: docs/decisions/limits.md, "The limiter counts by labels and knows no tools".

use std::num::NonZeroU8;

/// What a call is counted by, in one byte.
///
/// Meters, lease caches, counters and scopes compare and keep labels. They do not know what one stands
/// for: its text in messages and in stored state is given elsewhere, here by `tool/label.rs` as the
/// name of a tool. A program that counts something else gives other texts there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label(NonZeroU8);

impl Label {
    /// Returns the label with this code, which must have a text.
    pub(crate) const fn new(code: NonZeroU8) -> Self {
        Self(code)
    }

    /// Returns the code. It is stored, so that a label keeps it for ever.
    pub const fn code(self) -> u8 {
        self.0.get()
    }
}
