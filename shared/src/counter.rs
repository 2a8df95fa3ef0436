//! One key's calls, counted where they are made: what a [`Meter`](crate::meter::Meter) counts, for
//! a process that is asked about every call of the key itself, so that it lends nothing. It decides
//! by the same [`Counts`] as a meter does, and is small, since such a process has one for each key.
//!
//! **Promise.** As [`Usage`](crate::quota::Usage)'s, on the clock of the process that holds the
//! counter: each `now` is read off one [`Clock`](crate::quota::Clock). What a clock that was ahead
//! has stored is dropped ([`Counter::drop_future`]).
//!
//! Why: docs/decisions/direct-mode.md, "Direct mode counts with one counter of 72 bytes per key".

mod minute;
mod stored;
mod today;

use crate::key::KeyRecord;
use crate::label::Label;
use crate::meter::{MeterResponse, MeterSnapshot};
use crate::policy::Policy;
use crate::problem::codes;
use crate::quota::{CallEnd, Counts, Decision, Denial, is_uncharged};
use crate::time::{UnixMillis, UtcDay};
use minute::Minute;
pub use stored::CounterError;
use today::Today;

/// The counts of one key. 72 bytes for a key that makes few calls; one that makes many needs more
/// until its minute and its day are over.
#[derive(Clone, Debug, Default)]
pub struct Counter {
    minute: Minute,
    today: Today,
    /// The epoch for a key that was never used.
    last_used: UnixMillis,
    /// Days from the epoch, which fit for longer than dates do.
    day: u32,
    day_used: u32,
}

impl Counter {
    /// Decides on one call of a key with this policy, and counts it if it passes.
    pub fn admit(&mut self, policy: &Policy, now: UnixMillis) -> Decision {
        self.admit_unless(None, policy, now)
    }

    /// Decides on one call that is denied for its price, if there is such a denial, and counts it if it
    /// passes.
    pub fn admit_unless(&mut self, too_dear: Option<Denial>, policy: &Policy, now: UnixMillis) -> Decision {
        self.roll(now);
        // Both reasons, so that the caller is told the later moment and does not come back in vain.
        let is_full = self.free(policy) == 0;
        let denial = if is_full { Some(self.denial(policy, now).longer(too_dear)) } else { too_dear };
        if let Some(denial) = denial {
            return Decision::Deny(denial, self.status(policy, now));
        }
        self.spend(now);
        Decision::Allow(self.status(policy, now))
    }

    /// Counts a call that another process admitted.
    pub fn count(&mut self, now: UnixMillis) {
        self.roll(now);
        self.spend(now);
    }

    /// Records the outcome of an admitted call. `uncharged` is the day on which it was admitted, if
    /// it is refunded to that day. The minute keeps it, because the minute protects the tools.
    pub fn record_outcome(
        &mut self,
        label: impl Into<Label>,
        status: u16,
        uncharged: Option<UtcDay>,
        now: UnixMillis,
    ) {
        self.roll(now);
        // A call of yesterday must not raise today's limit.
        if uncharged.is_some_and(|day| narrow(day) == self.day) {
            self.day_used = self.day_used.saturating_sub(1);
        }
        self.today.add(label.into(), status);
        self.last_used = now;
    }

    /// Records that the response of a call was cut off, whose outcome was recorded as `status` when it
    /// began: refunds the call to the `day` on which it was admitted, unless it was refunded then, and
    /// tallies it as failed.
    pub fn record_aborted(&mut self, label: impl Into<Label>, status: u16, day: UtcDay, now: UnixMillis) {
        self.roll(now);
        if narrow(day) == self.day {
            if !is_uncharged(status, CallEnd::Responded) {
                self.day_used = self.day_used.saturating_sub(1);
            }
            self.today.correct(label.into(), status, codes::RESPONSE_ABORTED.status());
        }
    }

    /// Returns everything that is counted of a key, for `GET /v1/keys/me`. `record` may be
    /// provisional.
    pub fn read(&mut self, record: KeyRecord, now: UnixMillis) -> MeterSnapshot {
        self.roll(now);
        let quota = Some(self.status(&record.policy(), now));
        MeterSnapshot {
            response: MeterResponse { quota, ..MeterResponse::noted(record.version, now.day()) },
            record: Some(record),
            minute_used: self.in_minute(),
            day_used: self.in_day(),
            reserved: 0,
            units: None,
            tally: self.today.tally(),
            last_used: Some(self.last_used).filter(|at| *at > UnixMillis::default()),
            refusals: None,
            hours: Vec::new(),
            calls: None,
            alerts: Vec::new(),
        }
    }

    /// Returns true if nothing counts any more and the last call lies before yesterday, so that
    /// nothing but the moment of that call is lost with the counter.
    pub fn is_over(&self, now: UnixMillis) -> bool {
        // Cheap, and true of few counters. The clone that follows is not made for each of a million
        // keys.
        let long_ago = narrow(self.last_used.day()).saturating_add(1) < narrow(now.day());
        if !long_ago {
            return false;
        }
        let mut later = self.clone();
        later.roll(now);
        later.in_minute() == 0 && later.day_used == 0
    }

    /// Drops what lies further ahead of `now` than stored moments may
    /// ([`UnixMillis::latest_stored`]). Returns true if there was any. A key could not be used until
    /// then otherwise.
    ///
    /// ```
    /// use shared::{counter::Counter, quota::Counts, time::UnixMillis};
    ///
    /// let now = UnixMillis(1_763_712_000_000);
    /// let mut counter = Counter::default();
    /// counter.count(now);
    /// counter.count(now.plus(4 * 86_400_000));
    /// assert!(counter.drop_future(now) && !counter.drop_future(now));
    /// assert_eq!((counter.in_minute(), counter.in_day()), (0, 0));
    /// ```
    pub fn drop_future(&mut self, now: UnixMillis) -> bool {
        let latest = now.latest_stored();
        let mut has_dropped = self.minute.drop_after(latest);
        if self.day > narrow(latest.day()) {
            (self.day, self.day_used, self.today) = (narrow(now.day()), 0, Today::default());
            has_dropped = true;
        }
        if self.last_used > latest {
            self.last_used = now;
            has_dropped = true;
        }
        has_dropped
    }

    fn spend(&mut self, now: UnixMillis) {
        self.minute.add(now, 1);
        self.day_used = self.day_used.saturating_add(1);
        self.last_used = now;
    }

    /// Forgets what no longer counts at `now`.
    fn roll(&mut self, now: UnixMillis) {
        self.minute.expire(now);
        let day = narrow(now.day());
        // Only forward: a clock that went back would open the day a second time.
        if day > self.day {
            self.day = day;
            self.day_used = 0;
            self.today = Today::default();
        }
    }
}

impl Counts for Counter {
    fn in_minute(&self) -> u32 {
        self.minute.total()
    }

    fn freed_at(&self, n: u32) -> Option<UnixMillis> {
        self.minute.freed_at(n)
    }

    fn in_day(&self) -> u32 {
        self.day_used
    }
}

fn narrow(day: UtcDay) -> u32 {
    u32::try_from(day.0).unwrap_or(u32::MAX)
}
