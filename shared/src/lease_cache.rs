//! One isolate's side of a key's [`Meter`](crate::meter): what it may admit without asking.
//!
//! It is a pure state machine like the meter. Its shell calls [`LeaseCache::call`] for each
//! call, sends a [`MeterRequest`] to the meter if it must, and passes the response to
//! [`LeaseCache::answered`]. It never waits: each request that has to ask makes its own way, and
//! nothing is borrowed while it is on it.
//!
//! **Invariants.** A lease is spent only before `sent + ttl - MARGIN_MS` by the cache's clock,
//! where `sent` was read before the request left. A lease that is given back is unspendable before its report
//! leaves. A clock seen to go back ends every lease, and those that are on their way.

mod admission;
mod leases;
mod outage;
mod pending;
mod rate;
mod refused;

pub use admission::{Admission, Step};
use leases::Leases;
use outage::Outage;
pub use pending::Charge;
use pending::Pending;
use rate::Rate;
use refused::Refused;

use crate::{
    key::{KeyFault, KeyRecord, VerifiedKey},
    meter::{MeterRequest, MeterResponse, Verdict},
    policy::Policy,
    quota::{Decision, Denial, QuotaStatus, Usage},
    tier::Tier,
    time::{UnixMillis, UtcDay},
    tool::Tool,
};

/// Timeout for the meter's response, a retry included, in milliseconds.
pub const ANSWER_WITHIN_MS: u64 = 300;

/// The longest that a denial is believed, in milliseconds: a key may be upgraded meanwhile.
const BELIEVE_DENIAL_MS: u64 = 30_000;

/// A lease that runs out sooner than this is renewed with the next call, in milliseconds.
const RENEW_WITHIN_MS: u64 = 2_000;

/// Renewals follow each other no closer than this, in milliseconds.
const RENEW_GAP_MS: u64 = 1_000;

/// While the meter is out of reach a holder admits a paid key's calls up to this fraction of its minute.
const LOCAL_SHARE: u32 = 4;

/// A clock that goes back by no more than this, in milliseconds, is taken to stand still: requests may read it in
/// another order than they act, and the margins are made for it. A larger step back ends every lease.
const STANDS_STILL_MS: u64 = 200;

/// A cache of one key's leases in one isolate, with the key's record and quota status.
#[derive(Debug)]
pub struct LeaseCache {
    id: u64,
    seq: u32,
    record: Option<KeyRecord>,
    meter_version: Option<u64>,
    leases: Leases,
    last: Option<(QuotaStatus, UnixMillis)>,
    denied: Option<Denied>,
    refused: Refused,
    rate: Rate,
    renewed: Option<UnixMillis>,
    pending: Pending,
    outage: Outage,
    local: Usage,
    latest: UnixMillis,
    /// Questions up to this one left before the clock went back: their leases have no beginning to count from.
    distrusted: u32,
}

/// A denial, when it came, and for how many milliseconds the meter need not be asked again.
#[derive(Clone, Copy, Debug)]
struct Denied {
    denial: Denial,
    at: UnixMillis,
    for_ms: u64,
}

impl LeaseCache {
    /// Returns an empty cache. `id` is random and this cache's alone: one that
    /// takes the place of another, in the same isolate too, has another `id`, or the meter would
    /// take its questions for repeated ones.
    #[must_use]
    pub fn new(id: u64) -> Self {
        Self {
            id,
            seq: 0,
            record: None,
            meter_version: None,
            leases: Leases::default(),
            last: None,
            denied: None,
            refused: Refused::default(),
            rate: Rate::default(),
            renewed: None,
            pending: Pending::default(),
            outage: Outage::default(),
            local: Usage::default(),
            latest: UnixMillis::default(),
            distrusted: 0,
        }
    }

    /// Returns the key's record as far as it is known here, for its tier and policy.
    #[must_use]
    pub const fn record(&self) -> Option<&KeyRecord> {
        self.record.as_ref()
    }

    /// Takes over what the store shows, unless something newer is known.
    pub fn learn(&mut self, record: KeyRecord) {
        if self.record.as_ref().is_none_or(|own| own.version < record.version) {
            self.record = Some(record);
        }
    }

    /// Decides on one call, here if possible. `now` is read at this moment.
    pub fn call(&mut self, key: &VerifiedKey, now: UnixMillis) -> Step {
        let now = self.observe(now);
        self.rate.count(now);
        if let Some(fault) = self.refused.find(&key.secret, now) {
            return Step::Decided(Admission::Refuse(fault), None);
        }
        if !self.usable(key, now) {
            return self.ask_or_do_without(key, now);
        }
        if let Some(admission) = self.spend(key, now) {
            let renew = self.renewal_due(now).then(|| self.ask(key, false, now));
            return Step::Decided(admission, renew);
        }
        if let Some(admission) = self.denial(key, now) {
            return Step::Decided(admission, None);
        }
        self.ask_or_do_without(key, now)
    }

    /// Applies the meter's response to `ask`, which was sent at `sent` (a retry: when it was sent
    /// first), and returns what became of the call, or `None` if no call waited.
    pub fn answered(
        &mut self,
        ask: &MeterRequest,
        sent: UnixMillis,
        answer: &MeterResponse,
        now: UnixMillis,
    ) -> Option<Admission> {
        let now = self.observe(now);
        self.outage.end();
        self.take_news(ask, sent, answer, now);
        match answer.verdict {
            Verdict::Allow => {
                self.denied = None;
                Some(self.allowed(&ask.key, answer.day, now))
            }
            Verdict::Deny(denial) => {
                let for_ms = answer.recheck_ms.unwrap_or(denial.retry_ms).min(denial.retry_ms);
                self.denied = Some(Denied { denial, at: now, for_ms: for_ms.min(BELIEVE_DENIAL_MS) });
                let lent = self.spend_if_usable(&ask.key, now);
                Some(lent.unwrap_or_else(|| Admission::Deny(denial, self.standing(&ask.key, now))))
            }
            Verdict::Refuse(fault) => {
                self.refused.believe(ask.key.secret, fault, now);
                ask.want.then_some(Admission::Refuse(fault))
            }
            Verdict::Noted => None,
        }
    }

    /// Records that the meter did not respond to `ask` in time, and decides without it. Returns
    /// `None` if no call waited.
    pub fn unanswered(&mut self, ask: &MeterRequest, now: UnixMillis) -> Option<Admission> {
        let now = self.observe(now);
        self.outage.begin(now);
        let spent = || self.spend_if_usable(&ask.key, now);
        ask.want.then(spent)?.or_else(|| Some(self.without_meter(&ask.key, now)))
    }

    /// Notes how an admitted call ended. `uncharged` gives it back to the day: the tool was not available, or the
    /// gateway refused the call after it was counted.
    pub fn ended(&mut self, tool: Tool, status: u16, uncharged: bool, charge: Charge) {
        self.pending.ended(tool, status);
        if uncharged {
            self.pending.give_back(charge);
        }
    }

    /// Returns the moment at which the next lease ends. [`LeaseCache::flush`] is due then.
    #[must_use]
    pub fn flush_at(&self) -> Option<UnixMillis> {
        self.leases.first_end()
    }

    /// Returns the report to send to the meter once a lease has ended, or once calls have ended and
    /// no lease's end will carry it: to be sent in the background. With `renew`, a key that is in
    /// use asks for its next lease by the same way. `None` if there is nothing to report.
    pub fn flush(&mut self, key: &VerifiedKey, renew: bool, now: UnixMillis) -> Option<MeterRequest> {
        let now = self.observe(now);
        let ended = self.leases.first_end().is_some_and(|end| end <= now);
        let only_pending = self.leases.is_empty() && self.pending.any();
        if self.outage.lasts(now) || !(ended || only_pending) {
            return None;
        }
        let rate = if renew && self.leases.ended_in_use(now) { self.rate.per_1000_seconds(now) } else { 0 };
        Some(MeterRequest { rate, ..self.ask(key, false, now) })
    }

    /// Returns a request for no call, to read the meter's state with everything reported.
    pub fn read(&mut self, key: &VerifiedKey, now: UnixMillis) -> MeterRequest {
        let now = self.observe(now);
        MeterRequest { rate: 0, ..self.ask(key, false, now) }
    }

    /// Returns true if the cache holds no lease and no report, so that the isolate may drop it.
    #[must_use]
    pub fn idle(&self) -> bool {
        self.leases.is_empty() && !self.pending.any()
    }

    /// Returns the current moment. A clock that went back makes every `until` doubtful: what is held
    /// is dropped, to be counted as spent.
    fn observe(&mut self, now: UnixMillis) -> UnixMillis {
        if self.latest.since(now) > STANDS_STILL_MS {
            self.leases.drop_all();
            self.distrusted = self.seq;
            self.renewed = None;
            self.denied = None;
            self.refused.forget();
            self.outage.end();
            self.latest = now;
        }
        self.latest = self.latest.max(now);
        self.latest
    }

    /// Applies everything in a response but its verdict. Responses may overtake each other.
    fn take_news(&mut self, ask: &MeterRequest, sent: UnixMillis, answer: &MeterResponse, now: UnixMillis) {
        self.meter_version = self.meter_version.max(Some(answer.version));
        if let Some(record) = &answer.record {
            self.learn(record.clone());
        }
        self.pending.acknowledge(answer.batch);
        if let Some(terms) = answer.lease.filter(|_| ask.seq > self.distrusted) {
            self.leases.take(terms, sent, answer.day);
        }
        if let Some(standing) = answer.standing {
            self.last = Some((standing, now));
            if standing.minute.remaining > 0 && standing.day.is_none_or(|day| day.remaining > 0) {
                self.denied = None;
            }
        }
    }

    /// Returns true if the key may be used by the record known here.
    fn usable(&self, key: &VerifiedKey, now: UnixMillis) -> bool {
        self.record.as_ref().is_some_and(|record| record.check(key, now).is_ok())
    }

    fn ask_or_do_without(&mut self, key: &VerifiedKey, now: UnixMillis) -> Step {
        if self.outage.lasts(now) {
            return Step::Decided(self.without_meter(key, now), None);
        }
        Step::Ask(self.ask(key, true, now))
    }

    /// Returns the cached denial while it holds.
    fn denial(&mut self, key: &VerifiedKey, now: UnixMillis) -> Option<Admission> {
        let elapsed = now.since(self.denied?.at);
        self.denied = self.denied.filter(|denied| elapsed < denied.for_ms);
        let denial = self.denied?.denial;
        let retry_ms = denial.retry_ms.saturating_sub(elapsed);
        Some(Admission::Deny(Denial { retry_ms, ..denial }, self.standing(key, now)))
    }

    fn spend(&mut self, key: &VerifiedKey, now: UnixMillis) -> Option<Admission> {
        let day = self.leases.spend(now)?;
        Some(self.allowed(key, day, now))
    }

    /// Spends what another request has brought while this one was asking.
    fn spend_if_usable(&mut self, key: &VerifiedKey, now: UnixMillis) -> Option<Admission> {
        self.usable(key, now).then(|| self.spend(key, now)).flatten()
    }

    fn allowed(&self, key: &VerifiedKey, day: UtcDay, now: UnixMillis) -> Admission {
        Admission::Allow { standing: self.standing(key, now), degraded: false, charge: Charge::on(day) }
    }

    fn standing(&self, key: &VerifiedKey, now: UnixMillis) -> QuotaStatus {
        match self.last {
            Some((standing, at)) => standing.after(now.since(at)).with_held(self.leases.left(now)),
            None => QuotaStatus::whole(&self.record_or_word(key).policy()),
        }
    }

    /// Returns the record, or the provisional one that the key's MAC proves.
    fn record_or_word(&self, key: &VerifiedKey) -> KeyRecord {
        self.record.clone().unwrap_or_else(|| KeyRecord::provisional(key))
    }

    /// Returns true if the leases run out soon, by time or by calls, and no renewal was sent just
    /// now.
    fn renewal_due(&mut self, now: UnixMillis) -> bool {
        let used_soon =
            u64::from(self.rate.per_1000_seconds(now)).saturating_mul(RENEW_WITHIN_MS) / 1_000_000;
        let low = u64::from(self.leases.left(now)) <= used_soon;
        let ending = self.leases.last_end().is_none_or(|end| end.since(now) < RENEW_WITHIN_MS);
        let recently = self.renewed.is_some_and(|at| now.since(at) < RENEW_GAP_MS);
        (low || ending) && !recently && !self.outage.lasts(now)
    }

    fn ask(&mut self, key: &VerifiedKey, want: bool, now: UnixMillis) -> MeterRequest {
        self.seq = self.seq.wrapping_add(1);
        self.renewed = Some(now);
        let version = self.record.as_ref().map_or(0, |record| record.version);
        let news = self.meter_version.is_none_or(|known| known < version);
        MeterRequest {
            holder: self.id,
            seq: self.seq,
            key: *key,
            want,
            rate: self.rate.per_1000_seconds(now),
            record: self.record.clone().filter(|_| news),
            version,
            reports: self.leases.report(now),
            batch: self.pending.batch(),
        }
    }

    /// Free keys wait: their limit is small, and their calls always ask. Paid keys go on, up to a share of their
    /// minute for each isolate; the meter counts those calls when it is back. That a key is revoked stays true; any
    /// other fault may have been mended since, and only the meter knows.
    fn without_meter(&mut self, key: &VerifiedKey, now: UnixMillis) -> Admission {
        let retry_ms = self.outage.left_ms(now);
        let record = self.record_or_word(key);
        match (record.check(key, now), record.tier) {
            (Err(KeyFault::Revoked), _) => Admission::Refuse(KeyFault::Revoked),
            (Err(_), _) | (Ok(()), Tier::Free) => Admission::Unavailable { retry_ms },
            (Ok(()), Tier::Pro | Tier::Enterprise) => self.on_local_budget(&record.policy(), now),
        }
    }

    fn on_local_budget(&mut self, policy: &Policy, now: UnixMillis) -> Admission {
        let minute = (policy.minute.get() / LOCAL_SHARE).max(1).try_into().unwrap_or(policy.minute);
        match self.local.admit(&Policy { minute, day: None }, now) {
            Decision::Allow(standing) => {
                let charge = self.pending.owe();
                Admission::Allow { standing, degraded: true, charge }
            }
            Decision::Deny(denial, standing) => Admission::Deny(denial, standing),
        }
    }
}
