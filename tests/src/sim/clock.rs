//! What a machine takes for the time.

use shared::time::UnixMillis;

/// A step of a machine's clock at a moment of true time.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// When, in milliseconds from the scenario's start.
    pub at: u64,
    /// By how many milliseconds.
    pub by: i64,
}

/// A clock that is off by some time, and steps.
#[derive(Clone, Debug)]
pub(super) struct MachineClock {
    offset: i64,
    /// The latest first.
    steps: Vec<(u64, i64)>,
}

impl MachineClock {
    pub(super) fn new(offset: i64, start: u64, steps: &[Step]) -> Self {
        let mut steps: Vec<_> = steps.iter().map(|step| (start + step.at, step.by)).collect();
        steps.sort_by_key(|&(at, _)| std::cmp::Reverse(at));
        Self { offset, steps }
    }

    /// What it shows at a true moment. Moments are asked for in order.
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
