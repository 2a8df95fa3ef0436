//! The meter's state and its one entry.

mod change;

use serde::{Deserialize, Serialize};

use super::{
    Attempt, Batch, LeaseTerms, Message, MeterRequest, MeterResponse, MeterSnapshot, Reply, TTL_MS, Tally,
    Verdict,
    batches::{Batches, Taken},
    lease::Lease,
};
use crate::{
    caller,
    idempotency::IssueOnce,
    key::{KeyFault, KeyRecord},
    policy::Policy,
    quota::{Counts, Decision, Usage},
    tier::Tier,
    time::{UnixMillis, UtcDay},
};

/// Time in milliseconds for which responses are kept for retries, and how many are.
const KEEP_RESPONSES_MS: u64 = 5_000;
const MAX_CACHED_RESPONSES: usize = 16;

/// The smallest lease that is granted. Less than that is better left for all.
const MIN_LEASE: u32 = 2;

/// The shortest lease that is granted, in milliseconds: the last of a day are too short to be of use.
const MIN_TTL_MS: u64 = 2_000;

/// The state of one key's meter, stored as one JSON text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Meter {
    usage: Usage,
    record: Option<KeyRecord>,
    stored_version: u64,
    leases: Vec<Lease>,
    last_lease: u64,
    batches: Batches,
    given: Vec<CachedResponse>,
    tally: Tally,
    last_used: Option<UnixMillis>,
    /// Of a meter that has a request to issue a key for a subject.
    #[serde(skip_serializing_if = "Option::is_none")]
    issue: Option<IssueOnce>,
}

/// A response kept for retries. A denial too: the cache may have it already when the same request
/// comes again, and what is given then is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct CachedResponse {
    at: UnixMillis,
    holder: u64,
    seq: u32,
    verdict: Verdict,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lease: Option<LeaseTerms>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    recheck_ms: Option<u64>,
    day: UtcDay,
}

impl Meter {
    /// Handles a message and returns the reply. The caller must store the new state before the
    /// reply leaves.
    pub fn handle(&mut self, message: Message, now: UnixMillis) -> Reply {
        let now = self.usage.read_clock(now);
        match message {
            Message::Ask(ask) => Reply::Ask(self.ask(ask, now)),
            Message::Read(ask) => Reply::Read(self.read(ask, now)),
            Message::Change { record, by, change } => {
                self.adopt(record.as_ref());
                self.roll(now);
                Reply::Change(self.change(by.as_ref(), &change, now))
            }
            Message::Stored { version } => {
                self.stored_version = self.stored_version.max(version);
                Reply::Stored
            }
            Message::Attempt(attempt) => Reply::Attempt(self.attempt(attempt, now)),
            Message::Issue(step) => Reply::Issue(IssueOnce::step(&mut self.issue, step, now)),
            Message::Show { record } => {
                self.adopt(record.as_ref());
                self.roll(now);
                Reply::Show(self.show(now))
            }
        }
    }

    /// Returns the record that KV does not hold yet, for the shell to write.
    #[must_use]
    pub fn unstored(&self) -> Option<&KeyRecord> {
        self.record.as_ref().filter(|record| record.version > self.stored_version)
    }

    fn ask(&mut self, ask: MeterRequest, now: UnixMillis) -> MeterResponse {
        self.given.retain(|given| now.since(given.at) < KEEP_RESPONSES_MS);
        let given =
            self.given.iter().find(|given| given.holder == ask.holder && given.seq == ask.seq).copied();
        let mut answer = match given {
            Some(given) => self.repeat(&ask, given, now),
            None => self.answer_first(&ask, now),
        };
        // A provisional record has version 0, as has a holder without any.
        let news = |record: &&KeyRecord| record.version > ask.version || record.version == 0;
        answer.record = self.record.as_ref().filter(news).cloned();
        answer
    }

    fn repeat(&self, ask: &MeterRequest, given: CachedResponse, now: UnixMillis) -> MeterResponse {
        let CachedResponse { verdict, lease, recheck_ms, day, .. } = given;
        let standing = self.record.as_ref().map(|record| self.assumed().standing(&record.policy(), now));
        MeterResponse { standing, lease, recheck_ms, day, ..self.answer(ask, verdict) }
    }

    fn answer_first(&mut self, ask: &MeterRequest, now: UnixMillis) -> MeterResponse {
        self.adopt(ask.record.as_ref());
        self.settle(ask, now);
        let answer = self.decide(ask, now);
        let MeterResponse { verdict, lease, recheck_ms, day, .. } = answer;
        let refused = matches!(verdict, Verdict::Refuse(_));
        if lease.is_some() || ask.want && !refused {
            self.given.push(CachedResponse {
                at: now,
                holder: ask.holder,
                seq: ask.seq,
                verdict,
                lease,
                recheck_ms,
                day,
            });
            let surplus = self.given.len().saturating_sub(MAX_CACHED_RESPONSES);
            self.given.drain(..surplus);
        }
        answer
    }

    /// Brings the count up to `now`: what was reported, then what has ended without a report, then what has left
    /// the window. A lease never outlasts its day, so all of it is counted on the day it was granted.
    fn settle(&mut self, ask: &MeterRequest, now: UnixMillis) {
        for report in &ask.reports {
            if let Some(lease) = self.leases.iter_mut().find(|lease| lease.id == report.lease) {
                lease.apply(report, &mut self.usage);
                self.last_used = Some(now);
            }
            self.leases.retain(|lease| lease.id != report.lease || !report.closed);
        }
        self.roll(now);
        if let Some(batch) = &ask.batch {
            self.take_batch(ask.holder, batch, now);
        }
    }

    fn roll(&mut self, now: UnixMillis) {
        for lease in self.leases.extract_if(.., |lease| lease.until <= now) {
            self.usage.spend(lease.until, lease.left);
        }
        self.usage.roll(now);
        self.tally.roll(self.usage.day());
        self.batches.roll(self.usage.day());
    }

    fn take_batch(&mut self, holder: u64, batch: &Batch, now: UnixMillis) {
        match self.batches.take(holder, batch.number) {
            Taken::Before => return,
            Taken::Now => self.usage.refund(batch.day, batch.refunds),
            Taken::Unsure => {}
        }
        self.usage.spend(now, batch.debts);
        for &(tool, status, calls) in &batch.ended {
            self.tally.add(tool, status, calls);
        }
        if !batch.ended.is_empty() {
            self.last_used = Some(now);
        }
    }

    fn decide(&mut self, ask: &MeterRequest, now: UnixMillis) -> MeterResponse {
        self.take_at_its_word(&ask.key, now);
        let usable = match &self.record {
            Some(record) => record.check(&ask.key, now).map(|()| (record.policy(), record.tier)),
            None => Err(KeyFault::Invalid),
        };
        match usable {
            Err(fault) => self.answer(ask, Verdict::Refuse(fault)),
            Ok((policy, tier)) => self.admit(ask, &policy, tier, now),
        }
    }

    fn admit(&mut self, ask: &MeterRequest, policy: &Policy, tier: Tier, now: UnixMillis) -> MeterResponse {
        let assumed = self.assumed();
        let verdict = if !ask.want {
            Verdict::Noted
        } else if assumed.free(policy) == 0 {
            Verdict::Deny(assumed.denial(policy, now))
        } else {
            self.usage.spend(now, 1);
            self.last_used = Some(now);
            Verdict::Allow
        };
        let lease = self.lend(ask, policy, tier, now);
        let standing = Some(self.assumed().standing(policy, now));
        let recheck_ms = match verdict {
            Verdict::Deny(_) => self.first_return(now),
            Verdict::Allow | Verdict::Noted | Verdict::Refuse(_) => None,
        };
        MeterResponse { standing, lease, recheck_ms, ..self.answer(ask, verdict) }
    }

    /// Returns the usage as if every lease were spent to its end. A decision based on it stays
    /// right whatever becomes of them.
    fn assumed(&self) -> Usage {
        let mut usage = self.usage.clone();
        for lease in &self.leases {
            usage.spend(lease.until, lease.left);
        }
        usage
    }

    /// Lends what the holder will use before the lease ends and a little for chance, less what it will have used of
    /// others by then: it renews early when that was too little. But no more than its share of half of what is
    /// free, or an eighth where many share, so that a holder that goes quiet strands little.
    fn lend(
        &mut self,
        ask: &MeterRequest,
        policy: &Policy,
        tier: Tier,
        now: UnixMillis,
    ) -> Option<LeaseTerms> {
        match tier {
            Tier::Free => return None,
            Tier::Pro | Tier::Enterprise => {}
        }
        let ttl_ms = TTL_MS.min(now.day().end().since(now));
        if ttl_ms < MIN_TTL_MS {
            return None;
        }
        let uses = |ms: u64| u64::from(ask.rate).saturating_mul(ms).div_ceil(1_000_000);
        let held = self.leases.iter().filter(|lease| lease.holder == ask.holder);
        let in_hand = held.map(|lease| uses(lease.until.since(now)).min(u64::from(lease.left))).sum();
        let mean = uses(ttl_ms);
        let wanted = mean.saturating_add(mean.isqrt()).saturating_add(1).saturating_sub(in_hand);
        let free = self.assumed().free(policy);
        let share = (free / 2 / self.sharers(ask.holder)).max(free / 8);
        let calls = share.min(u32::try_from(wanted).unwrap_or(u32::MAX));
        if calls < MIN_LEASE {
            return None;
        }
        self.last_lease = self.last_lease.saturating_add(1);
        let terms = LeaseTerms { id: self.last_lease, calls, ttl_ms };
        self.leases.push(Lease::new(terms, ask.holder, now));
        Some(terms)
    }

    /// Holders that have leases, `holder` among them.
    fn sharers(&self, holder: u64) -> u32 {
        let mut holders: Vec<u64> = self.leases.iter().map(|lease| lease.holder).collect();
        holders.push(holder);
        holders.sort_unstable();
        holders.dedup();
        u32::try_from(holders.len()).unwrap_or(u32::MAX)
    }

    /// In how many milliseconds the first lease ends whose holder may give something back.
    fn first_return(&self, now: UnixMillis) -> Option<u64> {
        let lent = self.leases.iter().filter(|lease| lease.left > 0);
        lent.map(|lease| lease.until.since(now)).min()
    }

    /// Makes a response. A batch that came is acknowledged: it was taken now, or before.
    fn answer(&self, ask: &MeterRequest, verdict: Verdict) -> MeterResponse {
        MeterResponse {
            verdict,
            standing: None,
            lease: None,
            record: None,
            version: self.record.as_ref().map_or(0, |record| record.version),
            batch: ask.batch.as_ref().map_or(0, |batch| batch.number),
            day: self.usage.day(),
            recheck_ms: None,
        }
    }

    fn reserved(&self) -> u32 {
        self.leases.iter().fold(0, |sum, lease| sum.saturating_add(lease.left))
    }

    fn read(&mut self, ask: MeterRequest, now: UnixMillis) -> MeterSnapshot {
        let answer = self.ask(MeterRequest { want: false, rate: 0, ..ask }, now);
        let (minute_used, day_used) = self.usage.used();
        MeterSnapshot {
            answer,
            record: self.record.clone(),
            minute_used,
            day_used,
            reserved: self.reserved(),
            tally: self.tally.clone(),
            last_used: self.last_used,
        }
    }

    /// Everything that is known of the key, whatever its state, for an administrator.
    fn show(&self, now: UnixMillis) -> Option<MeterSnapshot> {
        let record = self.record.clone()?;
        let (minute_used, day_used) = self.usage.used();
        let answer = MeterResponse {
            verdict: Verdict::Noted,
            standing: Some(self.assumed().standing(&record.policy(), now)),
            lease: None,
            record: None,
            version: record.version,
            batch: 0,
            day: self.usage.day(),
            recheck_ms: None,
        };
        Some(MeterSnapshot {
            answer,
            record: Some(record),
            minute_used,
            day_used,
            reserved: self.reserved(),
            tally: self.tally.clone(),
            last_used: self.last_used,
        })
    }

    fn attempt(&mut self, attempt: Attempt, now: UnixMillis) -> Decision {
        caller::attempt(&mut self.usage, attempt == Attempt::Right, now)
    }
}
