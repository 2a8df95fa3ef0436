//! One isolate's side of a key's [`Meter`](crate::meter): it admits calls without a message to the
//! meter.
//!
//! It is a pure state machine like the meter. Its shell calls [`LeaseCache::call`] for each call,
//! sends a [`MeterRequest`] to the meter if it must, and passes the response to
//! [`LeaseCache::handle_response`]. The cache never waits. Each call that needs the meter sends its
//! own request, and nothing of the cache is borrowed while that is in flight. The call's
//! [`CallWait`] says when the shell sends the request again ([`LeaseCache::retry`]), and when it
//! calls [`LeaseCache::handle_failure`]. Every response goes to [`LeaseCache::handle_response`],
//! however late: its leases and its verdict serve later calls.
//!
//! **Invariants.** A lease is spent only before `sent + ttl - MARGIN_MS` by the cache's clock,
//! where `sent` was read before the request left. A call is let through within the time that the
//! meter has counted it for ([`MeterRequest::admit_within_ms`]), and decided once. One that was
//! given up is withdrawn from the meter, and is never let through by a late response. A lease that
//! is returned can no longer be spent
//! when its report leaves. If the clock goes back, every lease ends, and so do those that are in
//! flight.
//!
//! Why: docs/decisions/limits.md, "A lease lasts ten seconds".

mod admission;
mod ask;
mod backoff;
mod cached_denial;
mod leases;
mod local_budget;
mod pending;
mod rate;
mod refused_secrets;
mod report_turn;
mod round_trip;
mod timeouts;
mod waiting;
mod without_meter;

pub use admission::{Admission, Step};
use backoff::Backoff;
use cached_denial::CachedDenial;
use leases::Leases;
use local_budget::LocalBudget;
pub use pending::Charge;
use pending::Pending;
use rate::Rate;
use refused_secrets::RefusedSecrets;
pub use report_turn::ReportTurn;
use report_turn::Turns;
use round_trip::RoundTrip;
pub use timeouts::{CallWait, STALL_MS, Timeouts, WaitEvent, WaitFailure, WaitStep};
use waiting::Waiting;

use crate::key::{KeyError, KeyRecord, Scope, SecretId, VerifiedKey};
use crate::label::Label;
use crate::meter::{LoggedCall, MeterRequest};
use crate::problem::codes;
use crate::quota::{CallEnd, MARGIN_MS, QuotaStatus, is_uncharged};
use crate::request_id::RequestId;
use crate::tier::Tier;
use crate::time::UnixMillis;

/// A lease that ends sooner than this is renewed with the next call, in milliseconds.
const RENEW_WITHIN_MS: u64 = 2_000;

/// Shortest time between two renewals, in milliseconds.
const RENEW_GAP_MS: u64 = 1_000;

/// A clock that goes back by no more than this, in milliseconds, is taken to stand still. Requests
/// may read the clock in another order than they act, and the margins allow for it. A larger step
/// back ends every lease.
const MAX_STEP_BACK_MS: u64 = 200;

/// A cache of one key's leases in one isolate, with the key's record and quota status.
///
/// ```
/// use shared::{
///     key::{ApiKey, KeyEnv, KeyId, KeyRecord},
///     lease_cache::{Admission, LeaseCache, Step},
///     meter::{Message, Meter, Reply},
///     secret::MacKeys,
///     tier::Tier,
///     time::UnixMillis,
///     tool::Tool,
/// };
///
/// # let now = UnixMillis(1_763_712_000_000);
/// # let keys = MacKeys::parse("0123456789abcdef0123456789abcdef").unwrap();
/// let (_, key) = ApiKey::mint(KeyEnv::Live, KeyId::new([7; 12]), Tier::Pro, now, [9; 16], &keys);
/// let mut cache = LeaseCache::new(1);
/// cache.learn(KeyRecord { version: 1, ..KeyRecord::provisional(&key) });
///
/// // Calls need the meter until it lends some, which it does for the second of two that come soon.
/// let mut meter = Meter::default();
/// for at in [now, now.plus(5)] {
///     let Step::Ask(request, _) = cache.call(&key, Tool::Qr, at) else { unreachable!() };
///     let Reply::Ask(response) = meter.handle(Message::Ask(request.clone()), at) else { unreachable!() };
///     let admission = cache.handle_response(&request, at, &response, at);
///     assert!(matches!(admission, Some(Admission::Allow { degraded: false, .. })));
/// }
///
/// // The next call is admitted without the meter.
/// let step = cache.call(&key, Tool::Qr, now.plus(10));
/// assert!(matches!(step, Step::Decided(Admission::Allow { .. }, _)));
/// ```
#[derive(Debug)]
pub struct LeaseCache {
    id: u64,
    seq: u32,
    record: Option<KeyRecord>,
    meter_version: Option<u64>,
    /// The moment of the meter's latest response, by its clock.
    heard: UnixMillis,
    leases: Leases,
    last: Option<(QuotaStatus, UnixMillis)>,
    denied: CachedDenial,
    denied_units: CachedDenial,
    refused: RefusedSecrets,
    rate: Rate,
    renewed: Option<UnixMillis>,
    pending: Pending,
    waiting: Waiting,
    round_trip: RoundTrip,
    backoff: Backoff,
    local_budget: LocalBudget,
    turns: Turns,
    latest: UnixMillis,
    /// The last request that was sent before the clock went back. Leases of requests up to this one
    /// are dropped, because their start is not known by this clock.
    untrusted_seq: u32,
}

impl LeaseCache {
    /// Returns an empty cache. `id` must be random and must not have been used before, in the same
    /// isolate either. The meter takes requests under a known `id` for retries.
    pub fn new(id: u64) -> Self {
        Self {
            id,
            seq: 0,
            record: None,
            meter_version: None,
            heard: UnixMillis::default(),
            leases: Leases::default(),
            last: None,
            denied: CachedDenial::default(),
            denied_units: CachedDenial::default(),
            refused: RefusedSecrets::default(),
            rate: Rate::default(),
            renewed: None,
            pending: Pending::default(),
            waiting: Waiting::default(),
            round_trip: RoundTrip::default(),
            backoff: Backoff::default(),
            local_budget: LocalBudget::default(),
            turns: Turns::default(),
            latest: UnixMillis::default(),
            untrusted_seq: 0,
        }
    }

    /// Returns the key's record as far as it is known here, for its tier and policy.
    pub const fn record(&self) -> Option<&KeyRecord> {
        self.record.as_ref()
    }

    /// Returns the tier of the key: that of its issue, if its record is not known here.
    pub fn tier(&self, key: &VerifiedKey) -> Tier {
        self.record.as_ref().map_or(key.issued_tier, |record| record.tier)
    }

    /// Returns the named secret that the text of `key` is of. `None` is the key's own.
    pub fn secret_id(&self, key: &VerifiedKey) -> Option<SecretId> {
        self.record.as_ref().and_then(|record| record.secret_id(key))
    }

    /// Returns true if the key's meter has responded.
    pub const fn has_met_meter(&self) -> bool {
        self.meter_version.is_some()
    }

    /// Takes over a stored record, unless a newer one is known.
    pub fn learn(&mut self, record: KeyRecord) {
        if self.record.as_ref().is_none_or(|own| own.version < record.version) {
            self.record = Some(record);
        }
    }

    /// Decides on one call, counted by `label`, that costs no units, here if possible. `now` is read at
    /// this moment.
    pub fn call(&mut self, key: &VerifiedKey, label: impl Into<Label>, now: UnixMillis) -> Step {
        self.call_priced(key, label, 0, now)
    }

    /// Decides on one call, counted by `label`, that costs at most `units`. Only the meter decides on a
    /// call of a key with limits in units that costs any.
    pub fn call_priced(
        &mut self,
        key: &VerifiedKey,
        label: impl Into<Label>,
        units: u32,
        now: UnixMillis,
    ) -> Step {
        let (label, now) = (label.into(), self.observe(now));
        // Before anything is counted: a flood of a refused secret must neither cost a message nor
        // raise the rate.
        if let Some(error) = self.refused_lately(key, label, now) {
            return Step::Decided(Admission::Refuse(error), None);
        }
        if self.must_reserve(units) {
            return self.call_reserving(key, label, units, now);
        }
        // After the calls that only a meter decides: they need no lease, and would make leases
        // larger.
        self.rate.count(now);
        if !self.is_usable(key, label, now) {
            return self.ask_meter(key, label, units, now);
        }
        // With its last call gone, nothing would be certain, although the meter has more. If it gives none, that
        // one passes.
        let has_more = self.last.is_some_and(|(quota, _)| quota.minute.remaining > 0);
        if has_more && self.leases.left(now) == 1 && !self.backoff.is_active(now) {
            return self.ask_meter(key, label, units, now);
        }
        // Leases come before the cached denial: the meter denied what it had not lent.
        if let Some(admission) = self.spend(key, Some(label), now) {
            let rate = self.rate.per_1000_seconds(now);
            let renewal = self.is_renewal_due(rate, now).then(|| self.request(key, None, rate, now));
            return Step::Decided(admission, renewal);
        }
        if let Some(denial) = self.denied.get(units, now) {
            return Step::Decided(Admission::Deny(denial, self.certain_quota(key, now)), None);
        }
        self.ask_meter(key, label, units, now)
    }

    /// Refuses a call whose price the meter has refused just now, or asks the meter.
    fn call_reserving(&mut self, key: &VerifiedKey, label: Label, units: u32, now: UnixMillis) -> Step {
        match self.denied_units.get(units, now).filter(|_| self.is_usable(key, label, now)) {
            Some(denial) => {
                // Of units the denial says something, which is a second old at most.
                let QuotaStatus { units, .. } = self.quota(key, now);
                let quota = QuotaStatus { units, ..self.certain_quota(key, now) };
                Step::Decided(Admission::Deny(denial, quota), None)
            }
            None => self.ask_meter(key, label, units, now),
        }
    }

    /// Records the outcome of an admitted call. `uncharged` refunds it to its day, and all of its units:
    /// the tool was not available, or the gateway refused the call after it was counted.
    pub fn record_outcome(
        &mut self,
        label: impl Into<Label>,
        status: u16,
        uncharged: bool,
        charge: Charge,
        now: UnixMillis,
    ) {
        let now = self.observe(now);
        // First the outcome: a refund takes back what the outcome was tallied for.
        self.pending.record_outcome(label.into(), status, charge, now);
        if uncharged {
            self.pending.refund(charge, now);
        }
    }

    /// Records that an admitted call costs `units`. Returns what is reserved for it beyond that, and
    /// the charge that is left. A call costs no more than what was reserved.
    #[must_use]
    pub fn record_units(&mut self, charge: Charge, units: u32, now: UnixMillis) -> Charge {
        let now = self.observe(now);
        self.pending.return_units(charge, units, now)
    }

    /// Records that the response of an admitted call was cut off, whose outcome was recorded as `status`
    /// when it began: refunds the call to its day, unless it was refunded then, and tallies it as
    /// failed.
    pub fn record_aborted(&mut self, label: impl Into<Label>, status: u16, charge: Charge, now: UnixMillis) {
        let (label, now) = (label.into(), self.observe(now));
        self.pending.correct_outcome(label, status, codes::RESPONSE_ABORTED.status(), charge, now);
        if !is_uncharged(status, CallEnd::Responded) {
            self.pending.refund(charge, now);
        }
    }

    /// Logs a call that has ended so, if the log takes it: a failed one, or one of a sample. Only then is
    /// `call` made. A refusal of the key itself (401) is left out: the holder of such a key cannot read
    /// the log.
    pub fn log_call(
        &mut self,
        id: RequestId,
        status: u16,
        now: UnixMillis,
        call: impl FnOnce(UnixMillis) -> LoggedCall,
    ) {
        if !self.pending.takes_call(id, status) {
            return;
        }
        let call = call(now);
        if !call.is_of_refused_key() {
            let now = self.observe(now);
            self.pending.log_call(call, now);
        }
    }

    /// Returns the moment at which [`LeaseCache::flush`] is due: the end of the next lease, which
    /// carries all outcomes, or the moment to which they can wait, or that of a withdrawal, and not
    /// before the meter is asked again after a failure. `None` if nothing is pending.
    pub fn flush_at(&self) -> Option<UnixMillis> {
        let reports = self.leases.first_end().or_else(|| self.pending.due());
        // A withdrawal does not wait for a lease: its call stays counted until then, for nobody.
        let due = reports.into_iter().chain(self.waiting.due()).min()?;
        Some(due.max(self.backoff.until()))
    }

    /// Promises the next report to a request that began to work in the background at `started`.
    /// Returns `None` if nothing is pending, if another request will send it, or if this one ends
    /// before it is due.
    pub fn promise_report(&mut self, started: UnixMillis, now: UnixMillis) -> Option<ReportTurn> {
        let now = self.observe(now);
        self.flush_at().and_then(|due| self.turns.promise(due, started, now))
    }

    /// Returns the report to send in this turn, or `None` if none is due any more: another request
    /// has taken over, or has carried everything. It also requests the next lease of a key that is
    /// in use, if there is someone to report it.
    pub fn report(&mut self, key: &VerifiedKey, turn: ReportTurn, now: UnixMillis) -> Option<MeterRequest> {
        self.turns.end(turn).then(|| self.flush(key, turn.renews, now)).flatten()
    }

    /// Returns the report to send to the meter in the background, or `None` if none is due. With
    /// `renew`, it also requests the next lease of a key that is in use.
    pub fn flush(&mut self, key: &VerifiedKey, renew: bool, now: UnixMillis) -> Option<MeterRequest> {
        let now = self.observe(now);
        // Another request has carried everything meanwhile. A report of its own would be a message
        // for nothing.
        if self.flush_at().is_none_or(|due| now < due) {
            return None;
        }
        let rate = if renew && self.leases.ended_in_use(now) { self.rate.per_1000_seconds(now) } else { 0 };
        // One lease for all that is left costs one report of its end.
        if rate > 0 && self.round_trip.takes_few_calls(rate) {
            self.leases.end_all(now);
        }
        Some(self.request(key, None, rate, now))
    }

    /// Returns the last report of a holder that ends, which returns all leases. `None` if it holds
    /// nothing.
    pub fn give_back(&mut self, key: &VerifiedKey, now: UnixMillis) -> Option<MeterRequest> {
        let now = self.observe(now);
        // Ended first, so that the report returns them. What is reported as closed cannot be spent
        // any more.
        self.leases.end_all(now);
        (!self.is_idle()).then(|| self.request(key, None, 0, now))
    }

    /// Returns a request for no call, to read the meter's state with everything reported.
    pub fn read(&mut self, key: &VerifiedKey, now: UnixMillis) -> MeterRequest {
        let now = self.observe(now);
        self.request(key, None, 0, now)
    }

    /// Returns true if the cache holds no lease and no report, so that the isolate may drop it.
    pub const fn is_idle(&self) -> bool {
        self.leases.is_empty() && self.pending.is_empty() && !self.waiting.has_withdrawn()
    }

    /// Returns the current moment. If the clock went back, no `until` can be trusted: every lease
    /// is dropped, and the meter counts it as spent.
    fn observe(&mut self, now: UnixMillis) -> UnixMillis {
        if self.latest.since(now) > MAX_STEP_BACK_MS {
            // Their ends were computed from the later clock. Spent by this one, they would outlast
            // the meter's reservation.
            self.leases.drop_all();
            // Leases that are on their way have the same fault.
            self.untrusted_seq = self.seq;
            // A moment that lies in the future now would stop renewals until the clock has caught
            // up.
            self.renewed = None;
            self.denied.clear();
            self.denied_units.clear();
            self.refused.clear();
            self.backoff.reset();
            self.local_budget.distrust();
            self.pending.expedite(now);
            self.waiting.expedite(now);
            self.latest = now;
        }
        self.latest = self.latest.max(now);
        self.latest
    }

    /// Returns true if the key may make the call by the record known here.
    fn is_usable(&self, key: &VerifiedKey, label: Label, now: UnixMillis) -> bool {
        self.permit(key, label, now).is_some_and(|permitted| permitted.is_ok())
    }

    fn permit(&self, key: &VerifiedKey, label: Label, now: UnixMillis) -> Option<Result<(), KeyError>> {
        self.record.as_ref().map(|record| record.permit(key, Some(Scope::Tool(label)), now))
    }

    /// Returns the reason for which the meter has refused the secret lately. If it lacked a scope, the
    /// refusal has brought the record, which says whether the secret may make this call.
    fn refused_lately(&mut self, key: &VerifiedKey, label: Label, now: UnixMillis) -> Option<KeyError> {
        match self.refused.find(&key.secret, now)? {
            KeyError::OutOfScope(_) => {
                // The secret may make other calls. Only the missing scope is refused without the
                // meter.
                let refusal = self.permit(key, label, now)?.err();
                refusal.filter(|error| matches!(error, KeyError::OutOfScope(_)))
            }
            error => Some(error),
        }
    }

    /// Returns true if a call that costs at most `units` needs a reservation of the meter.
    fn must_reserve(&self, units: u32) -> bool {
        units > 0 && self.record.as_ref().is_some_and(|record| !record.limits.units.is_none())
    }

    fn ask_meter(&mut self, key: &VerifiedKey, label: Label, units: u32, now: UnixMillis) -> Step {
        // Each call would wait for the whole timeout of a meter that is known not to respond.
        if self.backoff.is_active(now) {
            return Step::Decided(self.decide_without_meter(key, units, now), None);
        }
        let (request, timeouts) = self.ask_priced(key, label, units, now);
        Step::Ask(request, timeouts)
    }

    fn spend(&mut self, key: &VerifiedKey, label: Option<Label>, now: UnixMillis) -> Option<Admission> {
        let day = self.leases.spend(now)?;
        self.assume_success(label, now);
        let charge = self.pending.count_secret(Charge::on(day).by(self.secret_id(key)));
        let quota = self.certain_quota(key, now);
        Some(Admission::Allow { quota, degraded: false, charge })
    }

    /// Tallies an admitted call that the meter has not tallied.
    fn assume_success(&mut self, label: Option<Label>, now: UnixMillis) {
        if let Some(label) = label {
            self.pending.assume_success(label, now);
        }
    }

    /// Spends what another request has brought while this one was in flight.
    fn spend_if_usable(&mut self, request: &MeterRequest, now: UnixMillis) -> Option<Admission> {
        let key = &request.key;
        let is_usable = request.tool.is_none_or(|label| self.is_usable(key, label, now));
        let may_spend = is_usable && !self.must_reserve(request.units);
        may_spend.then(|| self.spend(key, request.tool, now)).flatten()
    }

    fn allow(&self, key: &VerifiedKey, charge: Charge, now: UnixMillis) -> Admission {
        Admission::Allow { quota: self.quota(key, now), degraded: false, charge }
    }

    /// Returns the quota status for a call that was decided without the meter: what this cache can give
    /// for sure, because others may have used the rest since the meter has responded.
    fn certain_quota(&self, key: &VerifiedKey, now: UnixMillis) -> QuotaStatus {
        match self.last {
            Some((quota, at)) => {
                let held_ms = self.leases.last_end().map_or(0, |end| end.since(now));
                quota.certain(self.leases.left(now), held_ms, now.since(at))
            }
            None => QuotaStatus::whole(&self.record_or_provisional(key).policy()),
        }
    }

    /// Returns the quota status for a call on which the meter has decided just now.
    fn quota(&self, key: &VerifiedKey, now: UnixMillis) -> QuotaStatus {
        match self.last {
            Some((quota, at)) => quota.after(now.since(at)).with_held(self.leases.left(now)),
            None => QuotaStatus::whole(&self.record_or_provisional(key).policy()),
        }
    }

    fn record_or_provisional(&self, key: &VerifiedKey) -> KeyRecord {
        self.record.clone().unwrap_or_else(|| KeyRecord::provisional(key))
    }

    /// Returns true if the leases end soon, by time or by calls, and no renewal was sent just now.
    /// The end of a lease by time is awaited if hardly a call comes in a round trip: the report of
    /// the end renews it, in one message instead of two.
    fn is_renewal_due(&self, rate: u32, now: UnixMillis) -> bool {
        let used_soon = u64::from(rate).saturating_mul(RENEW_WITHIN_MS) / 1_000_000;
        let low = u64::from(self.leases.left(now)) <= used_soon;
        let ending = self.leases.last_end().is_none_or(|end| end.since(now) < RENEW_WITHIN_MS)
            && !self.round_trip.takes_few_calls(rate);
        let recently = self.renewed.is_some_and(|at| now.since(at) < RENEW_GAP_MS);
        (low || ending) && !recently && !self.backoff.is_active(now)
    }

    /// Returns a request for a call, counted by `label`, or for no call, and for a lease if `rate`, the
    /// calls in 1,000 seconds, is not zero.
    fn request(
        &mut self,
        key: &VerifiedKey,
        label: Option<Label>,
        rate: u32,
        now: UnixMillis,
    ) -> MeterRequest {
        self.seq = self.seq.wrapping_add(1);
        // Every request may bring a lease, so the next renewal need not follow immediately.
        self.renewed = Some(now);
        let version = self.record.as_ref().map_or(0, |record| record.version);
        // A meter that has the record needs only its version.
        let is_news = self.meter_version.is_none_or(|known| known < version);
        MeterRequest {
            holder: self.id,
            seq: self.seq,
            key: *key,
            want: label.is_some(),
            tool: label,
            units: 0,
            admit_within_ms: MARGIN_MS,
            retry: false,
            unread: self.record.is_none(),
            withdrawn: self.waiting.withdrawn(now),
            rate,
            record: self.record.clone().filter(|_| is_news),
            version,
            reports: self.leases.report(now),
            batch: self.pending.batch(self.heard, now),
            budget: self.local_budget.held(now),
        }
    }
}
