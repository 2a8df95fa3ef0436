//! One isolate's side of a key's [`Meter`](crate::meter): what it may admit without asking.
//!
//! A holder is a pure state machine like the meter. Its shell asks [`Holder::call`] about each call, carries an
//! [`Ask`] to the meter where it must, and brings the answer back to [`Holder::answered`]. It never waits: each
//! request that has to ask makes its own way, and nothing is borrowed while it is on it.
//!
//! **Invariants.** A lease is spent only before `sent + ttl - MARGIN_MS` by the holder's clock, where `sent` was
//! read before the ask left. What is given back is unspendable before the report of it leaves. A clock seen to go
//! back ends every lease, and those that are on their way.

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
    meter::{Answer, Ask, Verdict},
    policy::Policy,
    quota::{Decision, Denial, Standing, Usage},
    tier::Tier,
    time::{UnixMillis, UtcDay},
    tool::Tool,
};

/// Within this time the meter must have answered, a retry included, in milliseconds.
pub const ANSWER_WITHIN_MS: u64 = 300;

/// The longest that a denial is believed, in milliseconds: a key may be upgraded meanwhile.
const BELIEVE_DENIAL_MS: u64 = 30_000;

/// What runs out sooner than this is renewed with the next call, in milliseconds.
const RENEW_WITHIN_MS: u64 = 2_000;

/// Renewals follow each other no closer than this, in milliseconds.
const RENEW_GAP_MS: u64 = 1_000;

/// While the meter is out of reach a holder admits a paid key's calls up to this fraction of its minute.
const LOCAL_SHARE: u32 = 4;

/// A clock that goes back by no more than this, in milliseconds, is taken to stand still: requests may read it in
/// another order than they act, and the margins are made for it. A larger step back ends every lease.
const STANDS_STILL_MS: u64 = 200;

/// What one isolate knows and holds of one key.
#[derive(Debug)]
pub struct Holder {
    id: u64,
    seq: u32,
    record: Option<KeyRecord>,
    meter_version: Option<u64>,
    leases: Leases,
    last: Option<(Standing, UnixMillis)>,
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

impl Holder {
    /// A holder that knows nothing yet. `id` is random and this holder's alone: one that takes the place of another,
    /// in the same isolate too, has another `id`, or the meter would take its questions for repeated ones.
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

    /// The key's record as far as it is known here, for its tier and policy.
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

    /// Takes the meter's answer to `ask`, which left at `sent` (for a retry: when it left first), and says what
    /// became of the call. `None` when none waited.
    pub fn answered(
        &mut self,
        ask: &Ask,
        sent: UnixMillis,
        answer: &Answer,
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

    /// Takes note that the meter did not answer `ask` in time, and decides without it. `None` when no call waited.
    pub fn unanswered(&mut self, ask: &Ask, now: UnixMillis) -> Option<Admission> {
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

    /// When the next lease ends here, at which moment [`Holder::flush`] is due.
    #[must_use]
    pub fn flush_at(&self) -> Option<UnixMillis> {
        self.leases.first_end()
    }

    /// What to tell the meter once a lease has ended, or when calls have and no lease's end will carry it: to be
    /// sent in the background. With `renew`, a key that is in use asks for its next lease by the same way. `None`
    /// when there is nothing to tell.
    pub fn flush(&mut self, key: &VerifiedKey, renew: bool, now: UnixMillis) -> Option<Ask> {
        let now = self.observe(now);
        let ended = self.leases.first_end().is_some_and(|end| end <= now);
        let only_pending = self.leases.is_empty() && self.pending.any();
        if self.outage.lasts(now) || !(ended || only_pending) {
            return None;
        }
        let rate = if renew && self.leases.ended_in_use(now) { self.rate.per_1000_seconds(now) } else { 0 };
        Some(Ask { rate, ..self.ask(key, false, now) })
    }

    /// An ask for no call, to read the meter's state with everything reported.
    pub fn read(&mut self, key: &VerifiedKey, now: UnixMillis) -> Ask {
        let now = self.observe(now);
        Ask { rate: 0, ..self.ask(key, false, now) }
    }

    /// Whether nothing is held that somebody would miss, so that the isolate may forget this holder.
    #[must_use]
    pub fn idle(&self) -> bool {
        self.leases.is_empty() && !self.pending.any()
    }

    /// The moment it is. A clock that went back makes every `until` doubtful: what is held is dropped, to be counted
    /// as spent.
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

    /// What an answer tells beside its verdict. Answers may overtake each other.
    fn take_news(&mut self, ask: &Ask, sent: UnixMillis, answer: &Answer, now: UnixMillis) {
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

    /// Whether the key may be used as far as is known here.
    fn usable(&self, key: &VerifiedKey, now: UnixMillis) -> bool {
        self.record.as_ref().is_some_and(|record| record.check(key, now).is_ok())
    }

    fn ask_or_do_without(&mut self, key: &VerifiedKey, now: UnixMillis) -> Step {
        if self.outage.lasts(now) {
            return Step::Decided(self.without_meter(key, now), None);
        }
        Step::Ask(self.ask(key, true, now))
    }

    /// A denial that was answered, as long as it holds.
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

    fn standing(&self, key: &VerifiedKey, now: UnixMillis) -> Standing {
        match self.last {
            Some((standing, at)) => standing.after(now.since(at)).with_held(self.leases.left(now)),
            None => Standing::whole(&self.record_or_word(key).policy()),
        }
    }

    /// The record, or what the key's MAC vouches for.
    fn record_or_word(&self, key: &VerifiedKey) -> KeyRecord {
        self.record.clone().unwrap_or_else(|| KeyRecord::provisional(key))
    }

    /// Whether what is in hand runs out soon, by time or by calls, and nobody has asked for more just now.
    fn renewal_due(&mut self, now: UnixMillis) -> bool {
        let used_soon =
            u64::from(self.rate.per_1000_seconds(now)).saturating_mul(RENEW_WITHIN_MS) / 1_000_000;
        let low = u64::from(self.leases.left(now)) <= used_soon;
        let ending = self.leases.last_end().is_none_or(|end| end.since(now) < RENEW_WITHIN_MS);
        let recently = self.renewed.is_some_and(|at| now.since(at) < RENEW_GAP_MS);
        (low || ending) && !recently && !self.outage.lasts(now)
    }

    fn ask(&mut self, key: &VerifiedKey, want: bool, now: UnixMillis) -> Ask {
        self.seq = self.seq.wrapping_add(1);
        self.renewed = Some(now);
        let version = self.record.as_ref().map_or(0, |record| record.version);
        let news = self.meter_version.is_none_or(|known| known < version);
        Ask {
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
