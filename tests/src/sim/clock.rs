//! The clock of a machine.

use shared::time::UnixMillis;

/// A step of a machine's clock.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The true time in milliseconds from the scenario's start.
    pub at: u64,
    /// The size in milliseconds.
    pub by: i64,
}

/// A clock with an offset and steps.
#[derive(Clone, Debug)]
pub(super) struct MachineClock {
    offset: i64,
    /// Steps to come, the latest first.
    steps: Vec<(u64, i64)>,
}

impl MachineClock {
    pub(super) fn new(offset: i64, start: u64, steps: &[Step]) -> Self {
        let mut steps: Vec<_> = steps.iter().map(|step| (start + step.at, step.by)).collect();
        steps.sort_by_key(|&(at, _)| std::cmp::Reverse(at));
        Self { offset, steps }
    }

    /// Returns the time that it shows at a true time. Must be called in the order of true times.
    pub(super) fn read(&mut self, now: u64) -> UnixMillis {
        while let Some(&(at, by)) = self.steps.last() {
            if now < at {
                break;
            }
            self.offset += by;
            self.steps.pop();
        }
        UnixMillis(now.checked_add_signed(self.offset).unwrap())
    }
}
