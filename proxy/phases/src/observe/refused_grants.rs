//! Refused grants in the diagnostic log: one line for each reason in ten seconds, because a wrong secret or
//! clock refuses every call. The access log has each of them.

use std::fmt;

use parking_lot::Mutex;
use shared::grant::{GrantRefusal, RefusalReason};
use strum::VariantArray;
use transport::clock::Monotonic;

/// Minimum time between two lines of the same reason.
const EVERY_MS: u64 = 10_000;

/// When each reason was last logged.
#[derive(Debug, Default)]
pub(crate) struct RefusedGrants(Mutex<[Reported; RefusalReason::VARIANTS.len()]>);

#[derive(Clone, Copy, Debug, Default)]
struct Reported {
    at: Option<Monotonic>,
    /// Refusals since then that have no line.
    more: u64,
}

impl RefusedGrants {
    /// Counts a refusal. Returns the number of those before it that have no line, if it is to have one.
    pub(crate) fn record(&self, reason: RefusalReason, now: Monotonic) -> Option<u64> {
        let mut reported = self.0.lock();
        let of = reported.get_mut(reason as usize)?;
        if of.at.is_some_and(|at| now.since(at) < EVERY_MS) {
            of.more = of.more.saturating_add(1);
            return None;
        }
        let more = std::mem::take(&mut of.more);
        of.at = Some(now);
        Some(more)
    }
}

/// The fields of a refusal in a line of the log.
pub(crate) struct Fields<'a>(pub(crate) &'a GrantRefusal);

impl fmt::Display for Fields<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "reason={}", self.0)?;
        if let Some(id) = self.0.request_id {
            write!(f, " edge_request_id={id}")?;
        }
        self.0.named.as_ref().map_or(Ok(()), |named| write!(f, " edge_says={named}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_a_line_in_ten_seconds() {
        let (log, at) = (RefusedGrants::default(), Monotonic::from_millis);
        assert_eq!(log.record(RefusalReason::Clock, at(5)), Some(0));
        assert_eq!(log.record(RefusalReason::Forgotten, at(5)), Some(0));
        assert_eq!(log.record(RefusalReason::Clock, at(6)), None);
        assert_eq!(log.record(RefusalReason::Clock, at(10_004)), None);
        assert_eq!(log.record(RefusalReason::Clock, at(10_005)), Some(2));
        assert_eq!(log.record(RefusalReason::Clock, at(20_005)), Some(0));
    }
}
