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
mod held;
mod pending;
mod rate;

pub use admission::{Admission, Step};
use held::Held;
pub use pending::Charge;
use pending::Pending;
use rate::Rate;

use crate::{
    key::{KeyFault, KeyRecord, SecretHash, VerifiedKey},
    meter::{Answer, Ask, Report, Verdict},
    policy::Policy,
    quota::{Decision, Denial, Standing, Usage},
    tier::Tier,
    time::{UnixMillis, UtcDay},
    tool::Tool,
};

/// Within this time the meter must have answered, a retry included, in milliseconds.
pub const ANSWER_WITHIN_MS: u64 = 300;

/// How long a meter that did not answer is left alone, in milliseconds: at first, and at most. A message or two
/// may be lost; only a meter that stays silent is spared.
const OUTAGE_MS: u64 = 1_000;
const MAX_OUTAGE_MS: u64 = 5_000;

/// The longest that a refusal is believed, in milliseconds: a key may be upgraded or switched on meanwhile.
const BELIEVE_DENIAL_MS: u64 = 30_000;
const BELIEVE_REFUSAL_MS: u64 = 5_000;

/// Secrets of one key whose refusal is remembered: the current one, the former one, and then some.
const MAX_REFUSED: usize = 4;

/// What runs out sooner than this is renewed with the next call, in milliseconds.
const RENEW_WITHIN_MS: u64 = 2_000;

/// Renewals follow each other no closer than this, in milliseconds.
const RENEW_GAP_MS: u64 = 1_000;

/// While the meter is out of reach a holder admits a paid key's calls up to this fraction of its minute.
const LOCAL_SHARE: u32 = 4;

/// What one isolate knows and holds of one key.
#[derive(Debug)]
pub struct Holder {
    id: u64,
    seq: u32,
    record: Option<KeyRecord>,
    meter_version: Option<u64>,
    leases: Vec<Held>,
    last: Option<(Standing, UnixMillis)>,
    denied: Option<Denied>,
    refused: Vec<(SecretHash, KeyFault, UnixMillis)>,
    rate: Rate,
    renewed: Option<UnixMillis>,
    pending: Pending,
    outage_until: UnixMillis,
    outage_ms: u64,
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
    /// A holder that knows nothing yet. `id` is random and the isolate's own.
    #[must_use]
    pub fn new(id: u64) -> Self {
        Self {
            id,
            seq: 0,
            record: None,
            meter_version: None,
            leases: Vec::new(),
            last: None,
            denied: None,
            refused: Vec::new(),
            rate: Rate::default(),
            renewed: None,
            pending: Pending::default(),
            outage_until: UnixMillis::default(),
            outage_ms: OUTAGE_MS,
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

    /// Decides on one call, here if possible. `now` is read at this moment: a reading from before another call's
    /// looks like a clock that went back, and costs every lease.
    pub fn call(&mut self, key: &VerifiedKey, now: UnixMillis) -> Step {
        self.observe(now);
        self.rate.count(now);
        if let Some(admission) = self.refusal(key, now) {
            return Step::Decided(admission, None);
        }
        if let Some(admission) = self.spend(key, now) {
            let renew = self.renewal_due(now).then(|| self.ask(key, false, now));
            return Step::Decided(admission, renew);
        }
        if let Some(admission) = self.denial(key, now) {
            return Step::Decided(admission, None);
        }
        if now < self.outage_until {
            return Step::Decided(self.without_meter(key, now), None);
        }
        Step::Ask(self.ask(key, true, now))
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
        self.observe(now);
        self.outage_until = UnixMillis::default();
        self.outage_ms = OUTAGE_MS;
        self.take_news(ask, sent, answer, now);
        match answer.verdict {
            Verdict::Allow => {
                self.denied = None;
                Some(self.allowed(&ask.key, answer.day, now))
            }
            Verdict::Deny(denial) => {
                let for_ms = answer.recheck_ms.unwrap_or(denial.retry_ms).min(denial.retry_ms);
                self.denied = Some(Denied { denial, at: now, for_ms: for_ms.min(BELIEVE_DENIAL_MS) });
                // Another request may have brought a lease meanwhile.
                let lent = self.spend(&ask.key, now);
                Some(lent.unwrap_or_else(|| Admission::Deny(denial, self.standing(&ask.key, now))))
            }
            Verdict::Refuse(fault) => {
                self.believe_refusal(ask.key.secret, fault, now);
                ask.want.then_some(Admission::Refuse(fault))
            }
            Verdict::Noted => None,
        }
    }

    /// Takes note that the meter did not answer `ask` in time, and decides without it. `None` when no call waited.
    pub fn unanswered(&mut self, ask: &Ask, now: UnixMillis) -> Option<Admission> {
        self.observe(now);
        self.outage_until = now.plus(self.outage_ms);
        self.outage_ms = self.outage_ms.saturating_mul(2).min(MAX_OUTAGE_MS);
        ask.want.then(|| self.spend(&ask.key, now).unwrap_or_else(|| self.without_meter(&ask.key, now)))
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
        self.leases.iter().map(|lease| lease.until).min()
    }

    /// What to tell the meter once a lease has ended, or when calls have and no lease's end will carry it: to be
    /// sent in the background. With `renew`, a key that is in use asks for its next lease by the same way. `None`
    /// when there is nothing to tell.
    pub fn flush(&mut self, key: &VerifiedKey, renew: bool, now: UnixMillis) -> Option<Ask> {
        self.observe(now);
        let ended = self.leases.iter().any(|lease| lease.until <= now);
        let only_pending = self.leases.is_empty() && self.pending.any();
        if now < self.outage_until || !(ended || only_pending) {
            return None;
        }
        let used = self.leases.iter().any(|lease| lease.until <= now && lease.used());
        let rate = if renew && used { self.rate.per_1000_seconds(now) } else { 0 };
        Some(Ask { rate, ..self.ask(key, false, now) })
    }

    /// An ask for no call, to read the meter's state with everything reported.
    pub fn read(&mut self, key: &VerifiedKey, now: UnixMillis) -> Ask {
        self.observe(now);
        Ask { rate: 0, ..self.ask(key, false, now) }
    }

    /// Whether nothing is held that somebody would miss, so that the isolate may forget this holder.
    #[must_use]
    pub fn idle(&self) -> bool {
        self.leases.is_empty() && !self.pending.any()
    }

    /// A clock that went back makes every `until` doubtful: what is held is dropped, to be counted as spent.
    fn observe(&mut self, now: UnixMillis) {
        if now < self.latest {
            self.leases.clear();
            self.distrusted = self.seq;
            self.denied = None;
            self.outage_until = UnixMillis::default();
        }
        self.latest = now;
    }

    /// What an answer tells beside its verdict. Answers may overtake each other.
    fn take_news(&mut self, ask: &Ask, sent: UnixMillis, answer: &Answer, now: UnixMillis) {
        self.meter_version = self.meter_version.max(Some(answer.version));
        if let Some(record) = &answer.record {
            self.learn(record.clone());
        }
        self.pending.acknowledge(answer.batch);
        if let Some(terms) = answer.lease.filter(|_| ask.seq > self.distrusted) {
            self.leases.push(Held::new(terms, sent, answer.day));
        }
        if let Some(standing) = answer.standing {
            self.last = Some((standing, now));
            if standing.minute.remaining > 0 && standing.day.is_none_or(|day| day.remaining > 0) {
                self.denied = None;
            }
        }
    }

    fn believe_refusal(&mut self, secret: SecretHash, fault: KeyFault, now: UnixMillis) {
        self.refused.retain(|&(other, _, until)| other != secret && now < until);
        self.refused.truncate(MAX_REFUSED - 1);
        self.refused.push((secret, fault, now.plus(BELIEVE_REFUSAL_MS)));
    }

    fn refusal(&mut self, key: &VerifiedKey, now: UnixMillis) -> Option<Admission> {
        self.refused.retain(|&(_, _, until)| now < until);
        let refused = self.refused.iter().find(|(secret, _, _)| *secret == key.secret);
        refused.map(|&(_, fault, _)| Admission::Refuse(fault))
    }

    /// A denial that was answered, as long as it holds.
    fn denial(&mut self, key: &VerifiedKey, now: UnixMillis) -> Option<Admission> {
        let elapsed = now.since(self.denied?.at);
        self.denied = self.denied.filter(|denied| elapsed < denied.for_ms);
        let denial = self.denied?.denial;
        let retry_ms = denial.retry_ms.saturating_sub(elapsed);
        Some(Admission::Deny(Denial { retry_ms, ..denial }, self.standing(key, now)))
    }

    /// Spends from what is held, if the key may be used as far as is known here.
    fn spend(&mut self, key: &VerifiedKey, now: UnixMillis) -> Option<Admission> {
        let record = self.record.as_ref()?;
        if record.check(key, now).is_err() {
            return None;
        }
        let lease = self.leases.iter_mut().find(|lease| lease.spendable(now))?;
        lease.spend(now);
        let day = lease.day;
        Some(self.allowed(key, day, now))
    }

    fn allowed(&self, key: &VerifiedKey, day: UtcDay, now: UnixMillis) -> Admission {
        Admission::Allow { standing: self.standing(key, now), degraded: false, charge: Charge::on(day) }
    }

    fn standing(&self, key: &VerifiedKey, now: UnixMillis) -> Standing {
        match self.last {
            Some((standing, at)) => standing.after(now.since(at)).with_held(self.held(now)),
            None => Standing::whole(&self.record_or_word(key).policy()),
        }
    }

    /// The record, or what the key's MAC vouches for.
    fn record_or_word(&self, key: &VerifiedKey) -> KeyRecord {
        self.record.clone().unwrap_or_else(|| KeyRecord::provisional(key))
    }

    fn held(&self, now: UnixMillis) -> u32 {
        let spendable = self.leases.iter().filter(|lease| lease.spendable(now));
        spendable.fold(0, |sum, lease| sum.saturating_add(lease.left))
    }

    /// Whether what is in hand runs out soon, by time or by calls, and nobody has asked for more just now.
    fn renewal_due(&mut self, now: UnixMillis) -> bool {
        let used_soon =
            u64::from(self.rate.per_1000_seconds(now)).saturating_mul(RENEW_WITHIN_MS) / 1_000_000;
        let low = u64::from(self.held(now)) <= used_soon;
        let ends = self.leases.iter().map(|lease| lease.until).max().unwrap_or_default();
        let ending = ends.since(now) < RENEW_WITHIN_MS;
        let recently = self.renewed.is_some_and(|at| now.since(at) < RENEW_GAP_MS);
        (low || ending) && !recently && now >= self.outage_until
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
            reports: self.reports(now),
            batch: self.pending.batch(),
        }
    }

    /// Running totals of all that is held. What has ended or is used up is given back with this report.
    fn reports(&mut self, now: UnixMillis) -> Vec<Report> {
        let reports = self.leases.iter().map(|lease| lease.report(now)).collect();
        self.leases.retain(|lease| lease.spendable(now));
        reports
    }

    /// Free keys wait: their limit is small, and their calls always ask. Paid keys go on, up to a share of their
    /// minute for each isolate; the meter counts those calls when it is back.
    fn without_meter(&mut self, key: &VerifiedKey, now: UnixMillis) -> Admission {
        let retry_ms = self.outage_until.since(now);
        let record = self.record_or_word(key);
        if let Err(fault) = record.check(key, now) {
            return Admission::Refuse(fault);
        }
        match record.tier {
            Tier::Free => Admission::Unavailable { retry_ms },
            Tier::Pro | Tier::Enterprise => self.on_local_budget(&record.policy(), now),
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
