//! Counters of what clients do in vain.

use crate::time::UnixMillis;

/// Counts what clients do in vain within a minute, in one byte for each [`bucket`](crate::caller::bucket). It protects the
/// machine that has it, and knows no address.
#[derive(Debug, Default)]
pub struct MinuteCounters {
    minute: u64,
    counts: Vec<u8>,
}

impl MinuteCounters {
    /// Returns counters at zero.
    pub const fn new() -> Self {
        Self { minute: 0, counts: Vec::new() }
    }

    /// Counts one.
    pub fn record(&mut self, bucket: u16, now: UnixMillis) {
        let minute = now.seconds() / 60;
        // Allocated with the first failure: most isolates never see one.
        if self.minute != minute || self.counts.is_empty() {
            self.minute = minute;
            self.counts.clear();
            self.counts.resize(usize::from(u16::MAX) + 1, 0);
        }
        if let Some(count) = self.counts.get_mut(usize::from(bucket)) {
            *count = count.saturating_add(1);
        }
    }

    /// Returns the count of this minute.
    pub fn count(&self, bucket: u16, now: UnixMillis) -> u8 {
        let count = self.counts.get(usize::from(bucket)).copied();
        count.filter(|_| self.minute == now.seconds() / 60).unwrap_or(0)
    }
}
