//! Calls that ask the meter: their requests, and the responses or failures.

use super::{Admission, Charge, LeaseCache, MAX_STEP_BACK_MS, Timeouts};
use crate::key::{KeyError, VerifiedKey};
use crate::label::Label;
use crate::meter::{MeterRequest, MeterResponse, Verdict};
use crate::quota::MARGIN_MS;
use crate::time::UnixMillis;

impl LeaseCache {
    /// Returns the request for a call that the meter is to decide, whatever is held here, and its
    /// timeouts.
    pub fn ask(
        &mut self,
        key: &VerifiedKey,
        label: impl Into<Label>,
        now: UnixMillis,
    ) -> (MeterRequest, Timeouts) {
        self.ask_priced(key, label.into(), 0, now)
    }

    /// Returns the same for a call that costs at most `units`.
    pub(super) fn ask_priced(
        &mut self,
        key: &VerifiedKey,
        label: Label,
        units: u32,
        now: UnixMillis,
    ) -> (MeterRequest, Timeouts) {
        let now = self.observe(now);
        let timeouts = self.timeouts(key, units, now);
        // The meter counts the call later by this time, so it is short: a second copy brings a time
        // of its own.
        let until_ms = if self.round_trip.is_known() { timeouts.hedge_ms } else { timeouts.total_ms };
        let admit_within_ms = until_ms.min(timeouts.total_ms).max(MARGIN_MS);
        // A lease costs the report of its end. For calls that come rarely or need the meter anyway,
        // it saves none.
        let needs_no_lease = self.rate.is_sparse() || self.must_reserve(units);
        let rate = if needs_no_lease { 0 } else { self.rate.per_1000_seconds(now) };
        let request = MeterRequest { admit_within_ms, units, ..self.request(key, Some(label), rate, now) };
        self.waiting.open(request.seq, now);
        (request, timeouts)
    }

    /// Returns a further copy of a request ([`CallWait::next`](super::CallWait::next)). The meter
    /// counts the call until a minute after `admit_within_ms`, so that the response to this copy
    /// admits it until then.
    pub fn retry(&mut self, request: &MeterRequest, admit_within_ms: u64) -> MeterRequest {
        self.waiting.retry(request.seq, admit_within_ms);
        MeterRequest { retry: true, admit_within_ms, ..request.clone() }
    }

    /// Returns the request that replaces one which the meter refused because neither it nor the
    /// cache had the record ([`LeaseCache::lacks_record`]). KV was read meanwhile, and what it holds
    /// was learned.
    pub fn ask_again(
        &mut self,
        request: &MeterRequest,
        label: impl Into<Label>,
        now: UnixMillis,
    ) -> (MeterRequest, Timeouts) {
        self.waiting.close_denied(request.seq, now);
        let (again, timeouts) = self.ask_priced(&request.key, label.into(), request.units, now);
        (MeterRequest { unread: false, ..again }, timeouts)
    }

    /// Returns true if the response says nothing about the key, because KV was not read for it.
    pub fn lacks_record(request: &MeterRequest, response: &MeterResponse) -> bool {
        request.unread && response.verdict == Verdict::Refuse(KeyError::Invalid)
    }

    /// Applies the meter's response to `request`, or to its second copy. `sent` is when the request
    /// was sent first. Returns the decision on the call, or `None` if none waits for this response:
    /// it was decided before, or the response came later than the call may be let through.
    pub fn handle_response(
        &mut self,
        request: &MeterRequest,
        sent: UnixMillis,
        response: &MeterResponse,
        now: UnixMillis,
    ) -> Option<Admission> {
        let now = self.observe(now);
        // However late it comes, and whatever it says: the meter can be reached.
        self.backoff.reset();
        // Before the verdict: the lease that comes with a denial may let this very call through.
        self.apply(request, sent, response, now);
        match response.verdict {
            Verdict::Allow => self.handle_allowed(request, sent, response, now),
            Verdict::Deny(denial) => {
                // Kept even if no call waits for it: it decides the next ones.
                if denial.window.is_of_units() {
                    self.denied_units.store(denial, request.units, response.recheck_ms, now);
                } else {
                    self.denied.store(denial, 0, response.recheck_ms, now);
                }
                if !self.waiting.close_denied(request.seq, now) {
                    return None;
                }
                // Another request may have brought a lease while this one was in flight.
                let lent = self.spend_if_usable(request, now);
                Some(lent.unwrap_or_else(|| Admission::Deny(denial, self.quota(&request.key, now))))
            }
            Verdict::Refuse(_) if Self::lacks_record(request, response) => None,
            Verdict::Refuse(error) => {
                // Kept even if the call was decided before: it spares the meter the next ones.
                self.refused.insert(request.key.secret, error, now);
                self.waiting.close_denied(request.seq, now).then_some(Admission::Refuse(error))
            }
            Verdict::Noted => None,
        }
    }

    /// Lets a call through that the meter has counted, if it still waits for this response and has
    /// time left. If not, it may pass on a lease that the response has brought.
    fn handle_allowed(
        &mut self,
        request: &MeterRequest,
        sent: UnixMillis,
        response: &MeterResponse,
        now: UnixMillis,
    ) -> Option<Admission> {
        // The end of the wait and further copies come by timers, which a step of the clock does not
        // delay. A response to a copy that comes after another one was sent has the clock only.
        let hidden_ms = if self.waiting.is_for(request) { 0 } else { MAX_STEP_BACK_MS };
        let in_time = now.since(sent).saturating_add(hidden_ms) <= request.admit_within_ms;
        if in_time && self.waiting.is_open(request.seq) {
            self.waiting.close(request.seq);
            self.denied.clear();
            if !response.tallied {
                self.assume_success(request.tool, now);
            }
            let charge = Charge::of(response.day, response.reserved).by(self.secret_id(&request.key));
            return Some(self.allow(&request.key, charge, now));
        }
        // The call was decided before, by a copy or without the meter. It is decided once.
        if !self.waiting.is_open(request.seq) {
            return None;
        }
        let lent = self.spend_if_usable(request, now)?;
        // It passes on the lease instead. Counted by the meter as well, it would be charged twice.
        self.waiting.withdraw(request.seq, now);
        Some(lent)
    }

    /// Records that `request` failed or got no response in time, so that other calls need not ask,
    /// and decides as [`LeaseCache::give_up`].
    pub fn handle_failure(&mut self, request: &MeterRequest, now: UnixMillis) -> Option<Admission> {
        let now = self.observe(now);
        self.backoff.record_failure(now);
        self.give_up(request, now)
    }

    /// Decides on the call of a request without the meter. The meter is told not to count the call.
    /// Returns `None` if no call waited.
    pub fn give_up(&mut self, request: &MeterRequest, now: UnixMillis) -> Option<Admission> {
        let now = self.observe(now);
        // The meter may have counted it, though no response came. It takes that back, should it
        // have.
        if !self.waiting.withdraw(request.seq, now) {
            return None;
        }
        let lent = self.spend_if_usable(request, now);
        Some(lent.unwrap_or_else(|| self.decide_without_meter(&request.key, request.units, now)))
    }

    /// Applies everything in a response but its verdict. Responses may overtake each other.
    fn apply(&mut self, request: &MeterRequest, sent: UnixMillis, response: &MeterResponse, now: UnixMillis) {
        self.meter_version = self.meter_version.max(Some(response.version));
        // Responses overtake each other. An older moment would make the next batch look as if it
        // might be a duplicate.
        self.heard = self.heard.max(response.at);
        if let Some(record) = &response.record {
            self.learn(record.clone());
        }
        self.pending.acknowledge(response.batch);
        self.waiting.acknowledge(&request.withdrawn);
        // Reads are sent again without a mark.
        if request.want && !request.retry && request.seq > self.untrusted_seq {
            self.round_trip.record(now.since(sent));
        }
        if request.seq > self.untrusted_seq {
            if let Some(terms) = response.lease {
                self.leases.add(terms, sent, response.day, now);
            }
            if let Some(share) = response.budget {
                self.local_budget.learn(share, request.seq, sent);
            }
        }
        if let Some(quota) = response.quota {
            self.last = Some((quota, now));
            // There is room again. A cached denial would refuse calls that would pass.
            if quota.minute.remaining > 0 && quota.day.is_none_or(|day| day.remaining > 0) {
                self.denied.clear();
            }
        }
    }
}
