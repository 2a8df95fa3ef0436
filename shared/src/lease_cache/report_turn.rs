//! The turns in which requests report in the background.
//!
//! Why: docs/decisions/limits.md, "The report of a slow key's lease renews it".

use crate::meter::TTL_MS;
use crate::time::UnixMillis;

/// Time for which a request may work in the background, in milliseconds. The platform ends it 30
/// seconds after its response.
const BACKGROUND_MS: u64 = 29_000;
/// Time for which a request renews leases in the background, in milliseconds. It must still report
/// the last lease.
const RENEW_FOR_MS: u64 = BACKGROUND_MS - TTL_MS;
/// Time after which a report that was not sent when it was due is taken to be cancelled with its
/// request, in milliseconds. Timers may be late.
const CANCELLED_AFTER_MS: u64 = 500;

/// A report that one request has promised to send in the background.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReportTurn {
    number: u32,
    /// The moment at which it is sent.
    pub due: UnixMillis,
    /// True if the request lives long enough to report the next lease too, so that it may renew.
    pub(super) renews: bool,
}

/// The turn that was promised last.
#[derive(Debug, Default)]
pub(super) struct Turns {
    promised: Option<ReportTurn>,
    number: u32,
}

impl Turns {
    /// Promises the report that is due at `due` to a request that began to work in the background
    /// at `started`. Returns `None` if it ends before that, or if another request sends a report by
    /// then, which can renew leases or is as old as this one.
    pub(super) fn promise(
        &mut self,
        due: UnixMillis,
        started: UnixMillis,
        now: UnixMillis,
    ) -> Option<ReportTurn> {
        let lives_ms = due.since(started);
        let renews = lives_ms < RENEW_FOR_MS;
        let suffices = |other: ReportTurn| {
            now < other.due.plus(CANCELLED_AFTER_MS) && other.due <= due && (other.renews || !renews)
        };
        // One request in the background is enough. Without this, every call would wait to send the
        // same report.
        if lives_ms > BACKGROUND_MS || self.promised.is_some_and(suffices) {
            return None;
        }
        self.number = self.number.wrapping_add(1);
        self.promised = Some(ReportTurn { number: self.number, due, renews });
        self.promised
    }

    /// Ends a turn. Returns false if another request has taken it over.
    pub(super) fn end(&mut self, turn: ReportTurn) -> bool {
        self.promised.take_if(|promised| promised.number == turn.number).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: UnixMillis = UnixMillis(1_000_000);

    #[test]
    fn report_is_promised_once_and_again_if_it_is_due_sooner() {
        let mut turns = Turns::default();
        let late = turns.promise(START.plus(9_500), START, START).unwrap();
        assert_eq!(turns.promise(START.plus(9_500), START.plus(100), START.plus(100)), None);
        let soon = turns.promise(START.plus(5_000), START.plus(200), START.plus(200)).unwrap();
        assert!(!turns.end(late) && turns.end(soon) && !turns.end(soon));
    }

    #[test]
    fn report_that_was_cancelled_with_its_request_is_promised_again() {
        let mut turns = Turns::default();
        turns.promise(START.plus(1_000), START, START).unwrap();
        assert_eq!(turns.promise(START.plus(2_000), START, START.plus(1_499)), None, "it may be late");
        assert!(turns.promise(START.plus(2_000), START, START.plus(1_500)).is_some());
    }

    #[test]
    fn request_at_its_end_promises_nothing_and_gives_way_to_one_that_can_renew() {
        let mut turns = Turns::default();
        assert_eq!(turns.promise(START.plus(29_001), START, START.plus(20_000)), None);
        assert!(Turns::default().promise(START.plus(29_000), START, START.plus(20_000)).is_some());
        let due = START.plus(19_000);
        let last = turns.promise(due, START, START.plus(9_500)).unwrap();
        assert_eq!(turns.promise(due, START, START.plus(9_600)), None, "no better than the one it has");
        let next = turns.promise(due, START.plus(10_000), START.plus(10_000)).unwrap();
        assert!(!last.renews && next.renews);
        assert!(!turns.end(last) && turns.end(next));
    }
}
