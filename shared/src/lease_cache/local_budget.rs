//! The budget of a paid key while its meter is out of reach.

use crate::{
    policy::Policy,
    quota::{Decision, Usage},
    time::UnixMillis,
};

/// The budget is one part in this many of the key's minute, for each isolate.
const SHARE: u32 = 4;

/// A sliding window over the calls that one isolate admits without a meter. It has no limit for the
/// day.
#[derive(Debug, Default)]
pub(super) struct LocalBudget(Usage);

impl LocalBudget {
    /// Decides on one call and counts it if it passes.
    pub(super) fn admit(&mut self, policy: &Policy, now: UnixMillis) -> Decision {
        let minute = (policy.minute.get() / SHARE).max(1).try_into().unwrap_or(policy.minute);
        self.0.admit(&Policy { minute, day: None }, now)
    }
}
