//! The meter's state and its one entry.

mod change;
mod lasting;
mod lend;
mod response_cache;
mod snapshot;
mod withdraw;

use std::mem;

pub(super) use lasting::Lasting;
use response_cache::ResponseCache;
use serde::{Deserialize, Serialize};

use super::alerts::{Alert, Alerts};
use super::batches::{BatchOutcome, Batches};
use super::budget_shares::BudgetShares;
use super::lease::Lease;
use super::{
    AdminAttempt, Batch, CallLog, CallRow, HourCounts, Message, MeterRequest, MeterResponse, Reply, Tally,
    Verdict,
};
use crate::caller;
use crate::idempotency::IssueOnce;
use crate::key::{KeyError, KeyRecord, Scope, SecretId};
use crate::policy::{Policy, UnitLimits};
use crate::quota::{Counts, Decision, Denial, QuotaStatus, UnitUsage, Usage};
use crate::tier::Tier;
use crate::time::UnixMillis;

/// The state of one key's meter, stored as one JSON text.
///
/// ```
/// use shared::{
///     key::{ApiKey, KeyEnv, KeyId, KeyRecord},
///     lease_cache::LeaseCache,
///     meter::{Message, Meter, MeterRequest, Reply, Verdict},
///     secret::MacKeys,
///     tier::Tier,
///     time::UnixMillis,
/// };
///
/// # let now = UnixMillis(1_763_712_000_000);
/// # let keys = MacKeys::parse("0123456789abcdef0123456789abcdef").unwrap();
/// let (_, key) = ApiKey::mint(KeyEnv::Live, KeyId::new([7; 12]), Tier::Free, now, [9; 16], &keys);
/// let mut cache = LeaseCache::new(1);
/// cache.learn(KeyRecord { version: 1, ..KeyRecord::provisional(&key) });
/// let mut meter = Meter::default();
/// let mut verdicts = Vec::new();
/// for seq in 1..=11 {
///     let request = MeterRequest { seq, want: true, ..cache.read(&key, now) };
///     let Reply::Ask(response) = meter.handle(Message::Ask(request), now) else { unreachable!() };
///     verdicts.push(response.verdict);
/// }
/// assert!(verdicts[..10].iter().all(|verdict| *verdict == Verdict::Allow));
/// assert!(matches!(verdicts[10], Verdict::Deny(_)), "a Free key has ten calls a minute");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Meter {
    pub(super) usage: Usage,
    #[serde(skip_serializing_if = "is_default")]
    units: UnitUsage,
    record: Option<KeyRecord>,
    stored_version: u64,
    pub(super) leases: Vec<Lease>,
    last_lease: u64,
    batches: Batches,
    responses: ResponseCache,
    /// The responses that [`Meter::store`] has packed. Empty but in a stored state.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    packed_responses: Vec<u64>,
    tally: Tally,
    #[serde(skip_serializing_if = "BudgetShares::is_empty")]
    budget: BudgetShares,
    last_used: Option<UnixMillis>,
    #[serde(skip_serializing_if = "Alerts::is_unused")]
    alerts: Alerts,
    /// The hour that is being counted, from the epoch.
    hour: u64,
    /// The hour that has ended with the last message, for the shell to keep.
    #[serde(skip)]
    ended_hour: Option<HourCounts>,
    /// The last calls. A message that brings some is stored anyway.
    #[serde(skip_serializing_if = "CallLog::is_empty")]
    calls: CallLog,
    /// The rows of calls that are full since the last message, for the shell to store.
    #[serde(skip)]
    full_rows: Vec<CallRow>,
    /// Whether the last message has erased the holder, so that the shell erases what it has kept of them.
    #[serde(skip)]
    is_erased: bool,
    /// Set in a meter whose subject is an `Idempotency-Key`.
    #[serde(skip_serializing_if = "Option::is_none")]
    issue: Option<IssueOnce>,
}

/// The terms of a key: its limits and its tier.
struct Terms {
    policy: Policy,
    units: UnitLimits,
    tier: Tier,
}

/// Time after which a call that was refused for its price may be asked for again, in milliseconds:
/// calls in flight return what they do not spend.
const UNITS_RECHECK_MS: u64 = 1_000;

impl Meter {
    /// Handles a message. Returns the reply, and whether the new state must be stored before the
    /// reply leaves: a message that only reads changes nothing but what time changes by itself, and
    /// wrong admin secrets below their limit are counted in memory alone.
    pub fn step(&mut self, message: Message, now: UnixMillis) -> (Reply, bool) {
        // Only then: a clone of the state for each call would cost as much as the call.
        let before = message.may_only_read().then(|| self.clone());
        let is_wrong_attempt = message == Message::Attempt(AdminAttempt::Wrong);
        let reply = self.handle(message, now);
        // A wrong admin secret must not cost a row: it is stored with the one that reaches the limit.
        if is_wrong_attempt && caller::has_attempts_left(&self.usage) {
            return (reply, false);
        }
        let is_changed = before.is_none_or(|mut before| {
            let now = before.usage.read_clock(now);
            before.roll(now);
            // What time changes by itself needs no row: it happens again after a restart.
            before.responses.expire(now);
            before != *self
        });
        (reply, is_changed)
    }

    /// Handles a message and returns the reply. The caller must store the new state before the
    /// reply leaves.
    pub fn handle(&mut self, message: Message, now: UnixMillis) -> Reply {
        // The key's own clock: the machine's may go back, which would open a window a second time.
        let now = self.usage.read_clock(now);
        let reply = self.reply(message, now);
        if let Some(record) = &self.record {
            self.alerts.update(record, (&self.usage, &self.units), now);
        }
        reply
    }

    /// Calls `store` with the state in the form that is stored.
    pub(super) fn store<T>(&mut self, store: impl FnOnce(&Self) -> T) -> T {
        let responses = mem::take(&mut self.responses);
        (self.responses, self.packed_responses) = responses.packed();
        let stored = store(self);
        (self.responses, self.packed_responses) = (responses, Vec::new());
        stored
    }

    /// Returns the state of one that was stored.
    pub(super) fn loaded(mut self) -> Self {
        self.responses.unpack(&mem::take(&mut self.packed_responses));
        self
    }

    fn reply(&mut self, message: Message, now: UnixMillis) -> Reply {
        match message {
            Message::Ask(request) => {
                let response = self.respond(&request, now);
                Reply::Ask(MeterResponse { budget: self.grant_budget(&request, now), ..response })
            }
            Message::Read(request)
            | Message::History { request, .. }
            | Message::Calls { request, .. }
            | Message::ReadAlerts(request) => Reply::Read(self.read(request, now)),
            Message::Change { record, by, change } => {
                self.adopt(record.as_ref());
                self.roll(now);
                Reply::Change(self.change(by.as_ref(), &change, now))
            }
            Message::Stored { version } => {
                // Writes to KV end in any order. An older one must not hide that a newer record is
                // still to be written.
                self.stored_version = self.stored_version.max(version);
                Reply::Stored
            }
            Message::Alerts { delivered } => {
                self.alerts.remove(&delivered, now);
                Reply::Stored
            }
            Message::Attempt(attempt) => Reply::Attempt(self.attempt(attempt, now)),
            Message::Issue(step) => Reply::Issue(IssueOnce::step(&mut self.issue, step, now)),
            Message::Show { record } => {
                self.adopt(record.as_ref());
                self.roll(now);
                Reply::Show(self.show(now))
            }
            // A shell that has sessions asks them first. Without them nobody is signed in.
            Message::Session(_) | Message::InSession { .. } => Reply::SignedOut,
        }
    }

    /// Returns the record that KV does not hold yet, for the shell to write.
    pub fn unstored(&self) -> Option<&KeyRecord> {
        self.record.as_ref().filter(|record| record.version > self.stored_version)
    }

    /// Forgets the holder and the names of secrets, for a store that others can read.
    pub fn forget_names(&mut self) {
        self.record = self.record.as_ref().map(KeyRecord::public);
    }

    /// Returns the key's record.
    pub const fn record(&self) -> Option<&KeyRecord> {
        self.record.as_ref()
    }

    /// Returns the alerts that wait for their delivery, the oldest first.
    pub fn alerts(&self) -> &[Alert] {
        self.alerts.waiting()
    }

    /// Takes the alerts of the last message, for the shell to list.
    pub fn take_raised_alerts(&mut self) -> Vec<Alert> {
        self.alerts.take_raised()
    }

    /// Returns the moment at which there is an alert to deliver: a past one if it waits. The shell then
    /// sends [`Message::Alerts`], and delivers [`Meter::alerts`].
    pub fn next_alert_at(&self) -> Option<UnixMillis> {
        self.record.as_ref().and_then(|record| self.alerts.due(record))
    }

    /// Returns the last calls that are in no row yet.
    pub const fn calls(&self) -> &CallLog {
        &self.calls
    }

    /// Takes the rows of calls that are full since the last message, for the shell to store with the
    /// state.
    pub fn take_full_rows(&mut self) -> Vec<CallRow> {
        mem::take(&mut self.full_rows)
    }

    /// Returns true if there are rows of calls for the shell to store with the state.
    pub(super) const fn has_full_rows(&self) -> bool {
        !self.full_rows.is_empty()
    }

    /// Returns true if the last message has erased the holder: once, for the shell to erase the rows of calls and
    /// alerts.
    pub const fn take_erased(&mut self) -> bool {
        mem::replace(&mut self.is_erased, false)
    }

    /// Takes the hour that has ended with the last message, for the shell to store by its number before
    /// it stores the state: it may come twice.
    pub const fn take_ended_hour(&mut self) -> Option<HourCounts> {
        self.ended_hour.take()
    }

    /// Returns the milliseconds after which nothing of the state matters, for the shell to delete
    /// it. `None` if it must be kept, as a key's must.
    pub fn expires_in(&self, now: UnixMillis) -> Option<u64> {
        if self.record.is_some() || !self.leases.is_empty() {
            return None;
        }
        let issue = self.issue.as_ref().map(IssueOnce::ends_at).unwrap_or_default();
        Some(issue.max(self.usage.ends_at()).since(self.usage.clone().read_clock(now)))
    }

    fn respond(&mut self, request: &MeterRequest, now: UnixMillis) -> MeterResponse {
        self.responses.expire(now);
        // First: a call that is given back makes room for the one that asks.
        self.withdraw(request, now);
        let mut response = match self.responses.find(request) {
            // The withdrawal came before its request. Its call waits no more, and must not be
            // counted.
            Some(cached) if cached.is_withdrawn() => {
                self.settle(request, now);
                self.response(request)
            }
            // The record may have changed since the call was counted.
            Some(_) if self.record.as_ref().is_some_and(|own| permit(own, request, now).is_err()) => {
                self.respond_first(request, now)
            }
            Some(_) => {
                self.postpone(request);
                let Some(cached) = self.responses.find(request) else { return self.response(request) };
                MeterResponse { quota: self.quota(now), ..cached.apply(self.response(request)) }
            }
            None => self.respond_first(request, now),
        };
        // A provisional record has version 0, and so has a cache without any.
        let is_news = |record: &&KeyRecord| record.version > request.version || record.version == 0;
        response.record = self.record.as_ref().filter(is_news).cloned();
        response.at = now;
        response.tallied = request.tool.is_some() && response.verdict == Verdict::Allow;
        response
    }

    fn respond_first(&mut self, request: &MeterRequest, now: UnixMillis) -> MeterResponse {
        self.adopt(request.record.as_ref());
        self.settle(request, now);
        let response = self.decide(request, now);
        let refused = matches!(response.verdict, Verdict::Refuse(_));
        // Kept for a retry. Counted again by its second copy, a call would cost two.
        if response.lease.is_some() || request.want && !refused {
            self.responses.store(request, &response, self.secret_id(request), now);
        }
        response
    }

    /// Brings the count up to `now`: what was reported, then what has ended without a report, then
    /// what has left the window. A lease never outlasts its day, so all of it is counted on the day
    /// it was granted.
    fn settle(&mut self, request: &MeterRequest, now: UnixMillis) {
        for report in &request.reports {
            if let Some(lease) = self.leases.iter_mut().find(|lease| lease.id == report.lease) {
                lease.apply(report, &mut self.usage);
                self.last_used = Some(now);
            }
            // What is left of a closed lease is free at this moment, ten seconds earlier than by
            // its end.
            self.leases.retain(|lease| lease.id != report.lease || !report.closed);
        }
        self.roll(now);
        if let Some(batch) = &request.batch {
            self.take_batch(request.holder, batch, now);
        }
    }

    fn roll(&mut self, now: UnixMillis) {
        for lease in self.leases.extract_if(.., |lease| lease.until <= now) {
            // Nothing was heard of it, so all of it counts as spent: too strict by what the holder
            // did not use, and never too generous.
            self.usage.spend(lease.until, lease.left);
        }
        if now.hour() > self.hour {
            self.ended_hour = self.count_hour();
            self.hour = now.hour();
        }
        self.usage.roll(now);
        if self.units != UnitUsage::default() {
            self.units.roll(now);
        }
        self.tally.roll(self.usage.day());
        self.batches.roll(self.usage.day());
    }

    /// Returns the counts of the hour; `None` if its day has no call yet.
    fn count_hour(&self) -> Option<HourCounts> {
        let (_, calls) = self.usage.used();
        let counts = || HourCounts { hour: self.hour, calls, tally: self.tally.clone() };
        (calls > 0 && self.record.is_some()).then(counts)
    }

    fn take_batch(&mut self, holder: u64, batch: &Batch, now: UnixMillis) {
        let is_new = match self.batches.take(holder, batch, now) {
            BatchOutcome::Duplicate => return,
            BatchOutcome::New => true,
            // Debts and outcomes are counted: twice is too strict at worst. Refunds are not, which
            // twice would exceed the limit.
            BatchOutcome::Untracked => false,
        };
        self.full_rows.extend(self.calls.add(&batch.calls, self.record.as_ref(), now));
        self.usage.spend(now, batch.debts);
        for &(label, status, calls) in &batch.ended {
            self.tally.add(label, status, calls);
        }
        for calls in &batch.secrets {
            self.tally.charge(calls.id, calls.charged);
        }
        for &reserved in batch.returned.iter().filter(|_| is_new) {
            self.units.give_back(reserved, reserved.units);
        }
        // A refund of another day would raise the limit of this one.
        if is_new && batch.day == self.usage.day() {
            self.usage.refund(batch.day, batch.refunds);
            for &(_, status, calls) in &batch.corrected {
                self.tally.correct(Tally::ASSUMED, status, calls);
            }
            for calls in &batch.secrets {
                self.tally.refund(calls.id, calls.refunded);
            }
        }
        if !batch.ended.is_empty() {
            self.last_used = Some(now);
        }
    }

    fn decide(&mut self, request: &MeterRequest, now: UnixMillis) -> MeterResponse {
        // The stored record may say that the key is revoked. KV is read before its text alone is
        // believed.
        if !request.unread {
            self.adopt_provisional(&request.key, now);
        }
        let usable = match &self.record {
            Some(record) => {
                let terms = Terms { policy: record.policy(), units: record.limits.units, tier: record.tier };
                permit(record, request, now).map(|()| terms)
            }
            None => Err(KeyError::Invalid),
        };
        match usable {
            Err(error) => MeterResponse { verdict: Verdict::Refuse(error), ..self.response(request) },
            Ok(terms) => self.admit(request, &terms, now),
        }
    }

    fn admit(&mut self, request: &MeterRequest, terms: &Terms, now: UnixMillis) -> MeterResponse {
        let Terms { policy, units: limits, tier } = terms;
        // By what may still be spent of leases: promised to a call as well, it would be given out
        // twice.
        let assumed = self.assumed();
        let mut reserved = None;
        let priced = (request.units > 0 && !limits.is_none()).then_some(request.units);
        let too_dear = priced.and_then(|units| self.price_denial(limits, units, now));
        let verdict = if !request.want {
            Verdict::Noted
        } else if assumed.free(policy) == 0 {
            Verdict::Deny(assumed.denial(policy, now).longer(too_dear))
        } else if let Some(denial) = too_dear {
            Verdict::Deny(denial)
        } else {
            // Counted when it may be let through at the latest. A far caller could otherwise let it
            // into a later minute than it is counted in.
            let at = Usage::counted_at(now, request.admit_within_ms);
            self.usage.spend(at, 1);
            reserved = priced.map(|units| self.units.reserve(units, at, self.usage.day()));
            self.last_used = Some(now);
            if let Some(label) = request.tool {
                self.tally.add(label, Tally::ASSUMED, 1);
            }
            if let Some(secret) = self.secret_id(request) {
                self.tally.charge(secret, 1);
            }
            Verdict::Allow
        };
        if let (Verdict::Deny(denial), Some(record)) = (verdict, &self.record) {
            self.alerts.record_denial(record, denial.window, now);
        }
        // After the call itself is counted: it comes first, and a lease is of what is left.
        let lease = self.lend(request, policy, *tier, now);
        let quota = self.quota(now);
        let recheck_ms = match verdict {
            Verdict::Deny(denial) if denial.window.is_of_units() => Some(UNITS_RECHECK_MS),
            Verdict::Deny(_) => self.first_return(now),
            Verdict::Allow | Verdict::Noted | Verdict::Refuse(_) => None,
        };
        MeterResponse { verdict, quota, lease, reserved, recheck_ms, ..self.response(request) }
    }

    /// Returns the reason for which a call of this price is refused, if the key has not as many units
    /// left.
    fn price_denial(&mut self, limits: &UnitLimits, units: u32, now: UnixMillis) -> Option<Denial> {
        self.units.roll(now);
        self.units.denial(limits, units, now)
    }

    /// Returns the usage as if every lease were spent to its end. A decision based on it stays
    /// right whatever happens to them.
    pub(super) fn assumed(&self) -> Usage {
        let mut usage = self.usage.clone();
        for lease in &self.leases {
            usage.spend(lease.until, lease.left);
        }
        usage
    }

    fn quota(&self, now: UnixMillis) -> Option<QuotaStatus> {
        self.record.as_ref().map(|record| {
            let limits = record.limits.units;
            let units = (!limits.is_none()).then(|| self.units.status(&limits, now));
            QuotaStatus { units, ..self.assumed().status(&record.policy(), now) }
        })
    }

    /// Returns a response that decides nothing. It acknowledges the request's batch, which was
    /// taken now or before.
    fn response(&self, request: &MeterRequest) -> MeterResponse {
        let batch = request.batch.as_ref().map_or(0, |batch| batch.number);
        let version = self.record.as_ref().map_or(0, |record| record.version);
        MeterResponse { batch, ..MeterResponse::noted(version, self.usage.day()) }
    }

    /// Returns the cache's share of the local budget, if the key has one.
    fn grant_budget(&mut self, request: &MeterRequest, now: UnixMillis) -> Option<u32> {
        // A refused key gets no share. Its calls would pass while the meter is out of reach.
        let record = self.record.as_ref().filter(|record| record.check(&request.key, now).is_ok())?;
        match record.local_budget() {
            0 => None,
            budget => self.budget.grant(request, budget, now),
        }
    }

    /// Returns the named secret that the request's key is of.
    fn secret_id(&self, request: &MeterRequest) -> Option<SecretId> {
        self.record.as_ref().and_then(|record| record.secret_id(&request.key))
    }

    fn attempt(&mut self, attempt: AdminAttempt, now: UnixMillis) -> Decision {
        caller::attempt(&mut self.usage, attempt == AdminAttempt::Right, now)
    }
}

/// Checks that the key of a request may be used, for the call that waits.
fn permit(record: &KeyRecord, request: &MeterRequest, now: UnixMillis) -> Result<(), KeyError> {
    record.permit(&request.key, request.tool.map(Scope::Tool), now)
}

fn is_default(units: &UnitUsage) -> bool {
    *units == UnitUsage::default()
}
