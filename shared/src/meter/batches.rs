//! Which batches were taken, so that each is taken once.

use serde::{Deserialize, Serialize};

use crate::time::UtcDay;

/// Holders whose batches are told apart on one day. What a holder beyond them would give back is not given back.
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

/// Whether a batch is taken. Where that is not known, calls are counted a second time rather than given back so.
pub(super) enum Taken {
    Now,
    Before,
    Unsure,
}
