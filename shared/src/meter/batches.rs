//! Which batches were taken, so that each is taken once.

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

    pub(super) fn take(&mut self, holder: u64, number: u32) -> Taken {
        let room = self.last.len() < MAX_HOLDERS;
        match self.last.iter_mut().find(|(other, _)| *other == holder) {
            Some((_, last)) if number <= *last => Taken::Before,
            Some((_, last)) => {
                *last = number;
                Taken::Now
            }
            None if room => {
                self.last.push((holder, number));
                Taken::Now
            }
            None => Taken::Unsure,
        }
    }
}

/// The outcome of taking a batch. If it is unsure, calls are counted twice rather than refunded
/// twice.
pub(super) enum Taken {
    Now,
    Before,
    Unsure,
}
