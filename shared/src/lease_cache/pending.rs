//! The outcomes and reports that the meter has not acknowledged yet.
//!
//! An admitted call is tallied as ended with 200: by the meter if it was asked, and by the next
//! batch if the call came from a lease. Only another outcome is reported after the call.

use serde::{Deserialize, Serialize};

use crate::key::SecretId;
use crate::label::Label;
use crate::meter::{Batch, LoggedCall, SecretCalls, Tally};
use crate::quota::ReservedUnits;
use crate::request_id::RequestId;
use crate::time::{UnixMillis, UtcDay};

/// Time after which outcomes are reported unless another request carries them before, in
/// milliseconds. The platform ends background work 30 seconds after its response.
const REPORT_AFTER_MS: u64 = 25_000;
/// The same for a refund, which another isolate may wait for.
const REFUND_AFTER_MS: u64 = 5_000;
/// The same for a debt, because the limit is exceeded until it is counted.
const DEBT_AFTER_MS: u64 = 1_000;
/// Time after which a batch without an acknowledgment is sent again, in milliseconds.
const RESEND_AFTER_MS: u64 = 5_000;

/// Maximum number of calls whose units a batch returns. Those of further ones stay charged.
const MAX_RETURNED: usize = 1_024;

const ASSUMED: u16 = Tally::ASSUMED;

/// A record of where an admitted call is counted, to pass to
/// [`LeaseCache::record_outcome`](super::LeaseCache::record_outcome).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Charge {
    place: Place,
    /// The named secret that made the call; `None` is the key's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    secret: Option<SecretId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Place {
    /// On this day of the meter's.
    Day(UtcDay),
    /// On the day of a reservation of units, which may still be returned.
    Units(ReservedUnits),
    /// On the local budget, as a debt.
    Debt,
}

/// The batch in flight and the one being gathered behind it.
#[derive(Debug, Default)]
pub(super) struct Pending {
    sending: Option<(Batch, UnixMillis)>,
    gathering: Gathering,
    number: u32,
}

#[derive(Debug, Default)]
struct Gathering {
    /// The batch before it is numbered.
    batch: Batch,
    due: Option<UnixMillis>,
}

impl Charge {
    pub(super) const fn on(day: UtcDay) -> Self {
        Self { place: Place::Day(day), secret: None }
    }

    /// Returns the charge of a call that the meter has counted on `day`.
    pub(super) const fn of(day: UtcDay, reserved: Option<ReservedUnits>) -> Self {
        match reserved {
            Some(reserved) => Self { place: Place::Units(reserved), secret: None },
            None => Self::on(day),
        }
    }

    /// Returns the charge of a call that this secret has made.
    pub(super) const fn by(self, secret: Option<SecretId>) -> Self {
        Self { secret, ..self }
    }

    /// Returns the units that are reserved for the call.
    pub const fn units(&self) -> u32 {
        match self.place {
            Place::Units(reserved) => reserved.units,
            Place::Day(_) | Place::Debt => 0,
        }
    }

    /// Returns the day of the meter's on which the call is counted, if it is counted.
    const fn day(&self) -> Option<UtcDay> {
        match self.place {
            Place::Day(day) | Place::Units(ReservedUnits { day, .. }) => Some(day),
            Place::Debt => None,
        }
    }
}

impl Pending {
    /// Tallies an admitted call that the meter has not tallied.
    pub(super) fn assume_success(&mut self, label: Label, now: UnixMillis) {
        count(&mut self.gathering.batch.ended, label, ASSUMED);
        self.gathering.expect_report(now.plus(REPORT_AFTER_MS));
    }

    /// Counts a call on the local budget, which the meter has yet to count.
    pub(super) fn add_debt(&mut self, secret: Option<SecretId>, now: UnixMillis) -> Charge {
        self.gathering.batch.debts = self.gathering.batch.debts.saturating_add(1);
        self.gathering.expect_report(now.plus(DEBT_AFTER_MS));
        self.count_secret(Charge { place: Place::Debt, secret })
    }

    /// Counts a call, which the meter has not admitted, for its secret. Returns its charge.
    pub(super) fn count_secret(&mut self, charge: Charge) -> Charge {
        if let Some(secret) = charge.secret {
            SecretCalls::charge(&mut self.gathering.batch.secrets, secret);
        }
        charge
    }

    /// Records the outcome of an admitted call. Nothing is assumed of a call on the local budget.
    pub(super) fn record_outcome(&mut self, label: Label, status: u16, charge: Charge, now: UnixMillis) {
        let gathered = &mut self.gathering;
        match charge.day() {
            None => {
                count(&mut gathered.batch.ended, label, status);
                gathered.expect_report(now.plus(DEBT_AFTER_MS));
            }
            Some(_) if status == ASSUMED => {}
            // The assumption has not left yet, so that no correction is needed.
            Some(_) if take(&mut gathered.batch.ended, label, ASSUMED) => {
                count(&mut gathered.batch.ended, label, status);
            }
            Some(day) if gathered.begin(day) => {
                count(&mut gathered.batch.corrected, label, status);
                gathered.expect_report(now.plus(REPORT_AFTER_MS));
            }
            Some(_) => {}
        }
    }

    /// Corrects a recorded outcome. One that was reported already can be corrected only if it is the
    /// assumed one.
    pub(super) fn correct_outcome(
        &mut self,
        label: Label,
        recorded: u16,
        status: u16,
        charge: Charge,
        now: UnixMillis,
    ) {
        match charge.day() {
            Some(_) if recorded == ASSUMED => self.record_outcome(label, status, charge, now),
            None if take(&mut self.gathering.batch.ended, label, recorded) => {
                self.record_outcome(label, status, charge, now);
            }
            Some(_) | None => {}
        }
    }

    /// Refunds a call to the day it was counted on, and returns its units. A day that is over takes no
    /// refund. A debt that is in flight already stays.
    pub(super) fn refund(&mut self, charge: Charge, now: UnixMillis) {
        let _all_returned = self.return_units(charge, 0, now);
        let gathered = &mut self.gathering;
        match charge.day() {
            // It is in the batch in flight, which must not change. The debt stays, which is too
            // strict and never too generous.
            None if gathered.batch.debts == 0 => {}
            None => {
                gathered.batch.debts -= 1;
                if let Some(secret) = charge.secret {
                    SecretCalls::take(&mut gathered.batch.secrets, secret);
                }
            }
            // A refund of a day that is over would raise the limit of the next one.
            Some(day) if gathered.begin(day) => {
                gathered.batch.refunds = gathered.batch.refunds.saturating_add(1);
                if let Some(secret) = charge.secret {
                    SecretCalls::refund(&mut gathered.batch.secrets, secret);
                }
                gathered.expect_report(now.plus(REFUND_AFTER_MS));
            }
            Some(_) => {}
        }
    }

    /// Returns the units that are reserved for a call beyond `spent`. Returns the charge that is left.
    pub(super) fn return_units(&mut self, charge: Charge, spent: u32, now: UnixMillis) -> Charge {
        let Place::Units(reserved) = charge.place else { return charge };
        let units = reserved.units.saturating_sub(spent);
        let gathered = &mut self.gathering;
        // What does not fit stays charged.
        if units == 0 || gathered.batch.returned.len() >= MAX_RETURNED {
            return charge;
        }
        gathered.batch.returned.push(ReservedUnits { units, ..reserved });
        gathered.expect_report(now.plus(REFUND_AFTER_MS));
        Charge { place: Place::Units(ReservedUnits { units: spent, ..reserved }), ..charge }
    }

    /// Returns true if the log takes a call that has ended so.
    pub(super) const fn takes_call(&self, id: RequestId, status: u16) -> bool {
        self.gathering.batch.calls.takes(id, status)
    }

    /// Adds a call to the log. A success waits for a message that is sent anyway.
    pub(super) fn log_call(&mut self, call: LoggedCall, now: UnixMillis) {
        let calls = &mut self.gathering.batch.calls;
        calls.add(call);
        // A log entry alone is no reason for a message. Successes travel with one that is sent
        // anyway.
        if calls.has_failed() {
            self.gathering.expect_report(now.plus(REPORT_AFTER_MS));
        }
    }

    /// Returns true if nothing is lost with it but successes of the log.
    pub(super) const fn is_empty(&self) -> bool {
        self.sending.is_none() && self.gathering.is_empty()
    }

    /// Returns the moment at which a batch must be sent if no other request has carried it, or
    /// `None` if there is none.
    pub(super) fn due(&self) -> Option<UnixMillis> {
        let resend = self.sending.as_ref().map(|(_, at)| at.plus(RESEND_AFTER_MS));
        resend.into_iter().chain(self.gathering.due.filter(|_| !self.gathering.is_empty())).min()
    }

    /// Returns the batch to send now: the same one until it is acknowledged. `since` is the moment
    /// of the meter's latest response, by its clock.
    pub(super) fn batch(&mut self, since: UnixMillis, now: UnixMillis) -> Option<Batch> {
        let batch = match self.sending.take() {
            // Sent again as it was. The meter takes each number once, so what was added would be
            // lost.
            Some((batch, _)) => batch,
            None if self.gathering.is_empty() && self.gathering.batch.calls.is_empty() => return None,
            None => self.seal(since),
        };
        self.sending = Some((batch.clone(), now));
        Some(batch)
    }

    pub(super) fn acknowledge(&mut self, number: u32) {
        // An acknowledgment of an older batch may come late, and says nothing about this one.
        if self.sending.as_ref().is_some_and(|(batch, _)| batch.number <= number) {
            self.sending = None;
        }
    }

    /// Makes everything due, because no moment before this one means anything once the clock went
    /// back.
    pub(super) fn expedite(&mut self, now: UnixMillis) {
        self.gathering.due = Some(now);
        if let Some((_, sent)) = &mut self.sending {
            *sent = now;
        }
    }

    fn seal(&mut self, since: UnixMillis) -> Batch {
        // What ends from now on goes into the next batch: the meter takes each number once.
        let Gathering { batch, due: _ } = std::mem::take(&mut self.gathering);
        self.number = self.number.saturating_add(1);
        Batch { number: self.number, since, ..batch }
    }
}

impl Gathering {
    /// Returns true if there is nothing to report. A success of the log alone is no reason to.
    const fn is_empty(&self) -> bool {
        // Every field by name, so that a new one is not forgotten here and lost.
        let Batch { number: _, since: _, day: _, refunds, debts, ended, corrected, calls, returned, secrets } =
            &self.batch;
        *refunds == 0
            && *debts == 0
            && ended.is_empty()
            && corrected.is_empty()
            && !calls.has_failed()
            && returned.is_empty()
            && secrets.is_empty()
    }

    /// Begins the refunds and corrections of a day. A batch holds those of one day. Returns false if
    /// the day is over.
    fn begin(&mut self, day: UtcDay) -> bool {
        let batch = &mut self.batch;
        if day > batch.day {
            batch.day = day;
            // Refunds of the former day that were sent with the new one would raise its limit.
            batch.refunds = 0;
            batch.corrected.clear();
            SecretCalls::clear_refunds(&mut batch.secrets);
        }
        day == batch.day
    }

    fn expect_report(&mut self, at: UnixMillis) {
        self.due = Some(self.due.map_or(at, |due| due.min(at)));
    }
}

fn count(calls: &mut Vec<(Label, u16, u32)>, label: Label, status: u16) {
    match calls.iter_mut().find(|(t, s, _)| (*t, *s) == (label, status)) {
        Some((_, _, calls)) => *calls = calls.saturating_add(1),
        None => calls.push((label, status, 1)),
    }
}

/// Takes a call out. Returns false if there is none.
fn take(calls: &mut Vec<(Label, u16, u32)>, label: Label, status: u16) -> bool {
    let Some(place) = calls.iter().position(|&(t, s, _)| (t, s) == (label, status)) else { return false };
    if let Some((_, _, left)) = calls.get_mut(place) {
        *left = left.saturating_sub(1);
    }
    calls.retain(|&(_, _, left)| left > 0);
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::Tool;

    const QR: Label = Tool::Qr.label();

    const NOW: UnixMillis = UnixMillis(1_763_712_000_000);

    const DEBT: Charge = Charge { place: Place::Debt, secret: None };

    type Record = fn(&mut Pending);

    fn today() -> Charge {
        Charge::on(NOW.day())
    }

    fn yesterday() -> Charge {
        Charge::on(UtcDay(NOW.day().0 - 1))
    }

    #[test]
    fn batch_has_refunds_and_corrections_of_its_day_only() {
        for (first, second, refunds) in
            [(today(), yesterday(), 1), (yesterday(), today(), 1), (today(), today(), 2)]
        {
            let mut pending = Pending::default();
            for charge in [first, second] {
                pending.record_outcome(QR, 503, charge, NOW);
                pending.refund(charge, NOW);
            }
            let batch = pending.batch(NOW, NOW).unwrap();
            assert_eq!((batch.day, batch.refunds), (NOW.day(), refunds));
            assert_eq!(batch.corrected, [(QR, 503, refunds)]);
        }
    }

    #[test]
    fn each_outcome_is_due_at_its_time_and_at_once_after_a_step_of_the_clock() {
        let call = |status| LoggedCall::new(RequestId([7; 16]), NOW, status);
        let cases: [(Record, u64); 5] = [
            (|pending| pending.assume_success(QR, NOW), 25_000),
            (|pending| pending.record_outcome(QR, 503, today(), NOW), 25_000),
            (|pending| pending.refund(today(), NOW), 5_000),
            (|pending| assert_eq!(pending.add_debt(None, NOW), DEBT), 1_000),
            (|pending| pending.record_outcome(QR, 503, DEBT, NOW), 1_000),
        ];
        for (record, after_ms) in cases {
            let mut pending = Pending::default();
            assert_eq!((pending.is_empty(), pending.due()), (true, None));
            pending.log_call(call(200), NOW);
            assert_eq!((pending.is_empty(), pending.due()), (true, None), "a success can wait");
            pending.log_call(call(429), NOW);
            assert_eq!((pending.is_empty(), pending.due()), (false, Some(NOW.plus(25_000))));
            record(&mut pending);
            assert_eq!(pending.due(), Some(NOW.plus(after_ms)));
            pending.expedite(NOW.minus(9_000));
            assert_eq!(pending.due(), Some(NOW.minus(9_000)));
            assert!(pending.batch(NOW, NOW).is_some());
            assert_eq!((pending.is_empty(), pending.due()), (false, Some(NOW.plus(5_000))), "sent again");
            pending.expedite(NOW.minus(9_000));
            assert_eq!(pending.due(), Some(NOW.minus(4_000)));
            pending.acknowledge(0);
            assert!(!pending.is_empty());
            pending.acknowledge(1);
            assert_eq!((pending.is_empty(), pending.due()), (true, None));
        }
    }

    #[test]
    fn outcome_before_the_report_needs_no_correction() {
        let mut pending = Pending::default();
        pending.assume_success(QR, NOW);
        pending.record_outcome(QR, 503, today(), NOW);
        let batch = pending.batch(NOW, NOW).unwrap();
        assert_eq!((batch.ended, batch.corrected), (vec![(QR, 503, 1)], vec![]));
    }

    #[test]
    fn calls_of_a_secret_are_counted_with_their_refunds() {
        let secret = SecretId::new([2; 8]);
        let (by, own) = (|charge: Charge| charge.by(Some(secret)), today());
        let mut pending = Pending::default();
        for charge in [by(today()), by(today()), own] {
            assert_eq!(pending.count_secret(charge), charge);
        }
        let debt = pending.add_debt(Some(secret), NOW);
        for charge in [by(yesterday()), by(today()), own, debt] {
            pending.refund(charge, NOW);
        }
        let batch = pending.batch(NOW, NOW).unwrap();
        assert_eq!(batch.secrets, [SecretCalls { id: secret, charged: 2, refunded: 1 }]);
        assert_eq!((batch.debts, batch.refunds), (0, 2));
        pending.refund(debt, NOW);
        pending.acknowledge(1);
        assert_eq!(pending.batch(NOW, NOW), None, "a debt that was sent stays");
    }

    #[test]
    fn success_travels_with_what_is_sent_anyway() {
        let mut pending = Pending::default();
        let call = LoggedCall::new(RequestId([7; 16]), NOW, 200);
        pending.log_call(call.clone(), NOW);
        assert!(pending.is_empty());
        let batch = pending.batch(NOW, NOW).unwrap();
        assert!(!batch.calls.is_empty() && !batch.calls.has_failed());
        assert_eq!(pending.due(), Some(NOW.plus(5_000)), "what was sent is sent until it has arrived");
    }

    #[test]
    fn aborted_debt_is_tallied_once_and_one_in_flight_stays() {
        let mut pending = Pending::default();
        let debt = pending.add_debt(None, NOW);
        pending.record_outcome(QR, 201, debt, NOW);
        pending.correct_outcome(QR, 201, 503, debt, NOW);
        assert_eq!(pending.batch(NOW, NOW).unwrap().ended, [(QR, 503, 1)]);
        pending.correct_outcome(QR, 503, 504, debt, NOW);
        pending.correct_outcome(QR, 201, 503, today(), NOW);
        pending.acknowledge(1);
        assert_eq!(pending.batch(NOW, NOW), None);
    }
}
