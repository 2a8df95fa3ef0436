//! The calls that wait for the meter, and those that were given up.

use crate::meter::MeterRequest;
use crate::time::UnixMillis;

/// Time after which a call that still waits is given up, in milliseconds: its request was
/// cancelled, and the runtime dropped it.
const CANCELLED_MS: u64 = 60_000;
/// Time after which a withdrawal is sent unless another request carries it before, in milliseconds.
const WITHDRAW_AFTER_MS: u64 = 1_000;
/// Time after which a withdrawal without an acknowledgment is sent again, in milliseconds.
const RESEND_AFTER_MS: u64 = 5_000;
/// Maximum number of withdrawals that one request carries. Older ones are dropped, and those calls
/// stay counted.
const MAX_WITHDRAWN: usize = 64;

/// The calls that wait, by the sequence numbers of their requests. Each is decided once: what
/// arrives later finds it closed.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    open: Vec<Open>,
    withdrawn: Vec<u32>,
    due: Option<UnixMillis>,
}

#[derive(Debug)]
struct Open {
    seq: u32,
    since: UnixMillis,
    /// The time within which the copy that was sent last admits the call, in milliseconds. `None`
    /// while there is one copy only.
    again_within_ms: Option<u64>,
}

impl Waiting {
    /// Adds the call of a request. Withdraws those that were cancelled.
    pub(super) fn open(&mut self, seq: u32, now: UnixMillis) {
        let is_cancelled = |open: &mut Open| now.since(open.since) > CANCELLED_MS;
        let cancelled: Vec<Open> = self.open.extract_if(.., is_cancelled).collect();
        // The meter may have counted them, and no one was let through.
        for open in cancelled {
            self.push(open.seq, now);
        }
        self.open.push(Open { seq, since: now, again_within_ms: None });
    }

    /// Records that the request is sent again, with this time to admit the call.
    pub(super) fn retry(&mut self, seq: u32, admit_within_ms: u64) {
        for open in self.open.iter_mut().filter(|open| open.seq == seq) {
            open.again_within_ms = Some(admit_within_ms);
        }
    }

    /// Returns true if the call waits, and this is the copy of its request that was sent last.
    pub(super) fn is_for(&self, request: &MeterRequest) -> bool {
        let again_within_ms = request.retry.then_some(request.admit_within_ms);
        self.open.iter().any(|open| open.seq == request.seq && open.again_within_ms == again_within_ms)
    }

    /// Returns true if the call waits, for whatever copy of its request.
    pub(super) fn is_open(&self, seq: u32) -> bool {
        self.open.iter().any(|open| open.seq == seq)
    }

    /// Ends the wait of a call that the meter has admitted.
    pub(super) fn close(&mut self, seq: u32) {
        self.open.retain(|open| open.seq != seq);
    }

    /// Ends the wait of a call that does not pass on the meter's count, and withdraws it there.
    /// Returns false if none waits.
    pub(super) fn withdraw(&mut self, seq: u32, now: UnixMillis) -> bool {
        let waits = self.is_open(seq);
        if waits {
            self.close(seq);
            self.push(seq, now);
        }
        waits
    }

    /// Ends the wait of a call that the meter has denied. A second copy of its request, if there is
    /// one, must not be counted either. Returns false if none waits.
    pub(super) fn close_denied(&mut self, seq: u32, now: UnixMillis) -> bool {
        let is_retried = self.open.iter().any(|open| open.seq == seq && open.again_within_ms.is_some());
        // The second copy may arrive after the denial, when there is room again, and be counted for
        // nobody.
        if is_retried {
            return self.withdraw(seq, now);
        }
        let waits = self.is_open(seq);
        self.close(seq);
        waits
    }

    /// Returns the withdrawals for a request that is sent now.
    pub(super) fn withdrawn(&mut self, now: UnixMillis) -> Vec<u32> {
        // Every request carries all of them until one is acknowledged, so that a message may be
        // lost.
        self.due = self.due.map(|_| now.plus(RESEND_AFTER_MS));
        self.withdrawn.clone()
    }

    /// Returns the moment at which the withdrawals must be sent if no other request has carried
    /// them, or `None` if there are none.
    pub(super) const fn due(&self) -> Option<UnixMillis> {
        self.due
    }

    /// Makes the withdrawals due, because no moment before this one means anything once the clock
    /// went back.
    pub(super) fn expedite(&mut self, now: UnixMillis) {
        self.due = self.due.map(|_| now);
    }

    pub(super) const fn has_withdrawn(&self) -> bool {
        !self.withdrawn.is_empty()
    }

    /// Forgets the withdrawals that the meter has got.
    pub(super) fn acknowledge(&mut self, withdrawn: &[u32]) {
        self.withdrawn.retain(|seq| !withdrawn.contains(seq));
        self.due = self.due.filter(|_| !self.withdrawn.is_empty());
    }

    fn push(&mut self, seq: u32, now: UnixMillis) {
        self.withdrawn.push(seq);
        let due = now.plus(WITHDRAW_AFTER_MS);
        self.due = Some(self.due.map_or(due, |other| other.min(due)));
        // The oldest are dropped, whose calls will have left the window first.
        let surplus = self.withdrawn.len().saturating_sub(MAX_WITHDRAWN);
        self.withdrawn.drain(..surplus);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixMillis = UnixMillis(1_763_726_400_000);

    #[test]
    fn denied_call_is_withdrawn_only_if_it_was_sent_twice() {
        let mut waiting = Waiting::default();
        waiting.open(1, NOW);
        waiting.open(2, NOW);
        waiting.retry(2, 300);
        assert!(waiting.close_denied(1, NOW) && !waiting.has_withdrawn());
        assert!(waiting.close_denied(2, NOW) && waiting.has_withdrawn());
        assert!(!waiting.close_denied(2, NOW), "it waits no more");
        assert_eq!((waiting.withdrawn(NOW), waiting.due()), (vec![2], Some(NOW.plus(5_000))));
        waiting.expedite(NOW.minus(9));
        assert_eq!(waiting.due(), Some(NOW.minus(9)));
        waiting.acknowledge(&[2]);
        assert_eq!((waiting.has_withdrawn(), waiting.due()), (false, None));
    }

    #[test]
    fn call_that_waits_for_more_than_a_minute_is_withdrawn() {
        let mut waiting = Waiting::default();
        waiting.open(1, NOW);
        waiting.open(2, NOW.plus(60_000));
        assert!(!waiting.has_withdrawn());
        waiting.open(3, NOW.plus(60_001));
        assert_eq!(waiting.withdrawn(NOW.plus(60_001)), [1]);
    }
}
