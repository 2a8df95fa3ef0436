//! The numbers of the batches that were taken, so that each is taken once.

use serde::{Deserialize, Serialize};

use crate::time::UtcDay;

/// Maximum number of lease caches whose batches are tracked on one day. Refunds of others are
/// dropped.
const MAX_HOLDERS: usize = 128;

/// The last batch taken from each holder today.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Batches {
    day: UtcDay,
    last: Vec<(u64, u32)>,
}

impl Batches {
    pub(super) fn roll(&mut self, day: UtcDay) {
        if self.day != day {
            self.day = day;
            self.last.clear();
        }
    }

    /// Records the batch of this number from `holder`.
    pub(super) fn take(&mut self, holder: u64, number: u32) -> BatchOutcome {
        let room = self.last.len() < MAX_HOLDERS;
        match self.last.iter_mut().find(|(other, _)| *other == holder) {
            Some((_, last)) if number <= *last => BatchOutcome::Duplicate,
            Some((_, last)) => {
                *last = number;
                BatchOutcome::New
            }
            None if room => {
                self.last.push((holder, number));
                BatchOutcome::New
            }
            None => BatchOutcome::Untracked,
        }
    }
}

/// The outcome of taking a batch.
pub(super) enum BatchOutcome {
    /// It was not taken before.
    New,
    /// It was taken before.
    Duplicate,
    /// Its holder is not tracked, so it may be a duplicate. Its calls are counted and its refunds
    /// are not.
    Untracked,
}
