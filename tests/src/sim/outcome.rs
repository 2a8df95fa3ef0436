//! The outcome of a scenario, measured against the promises.

use shared::{
    key::{KeyRecord, KeyStatus},
    lease_cache::Admission,
    meter::TTL_MS,
    policy::Policy,
    tier::Tier,
    time::UnixMillis,
};

use super::Scenario;

const MINUTE_MS: u64 = 60_000;

/// The maximum delay of a response in milliseconds. Calls admitted before a change of the limit may
/// overtake it.
const SLACK_MS: u64 = 3_000;

/// The outcome of a scenario.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The number of calls.
    pub calls: u32,
    /// The number of calls that waited for the meter.
    pub waited: u32,
    /// The number of messages to the meter, with retries.
    pub hops: u32,
    /// The number of calls that passed on the local budget, without the meter.
    pub degraded: u32,
    /// The number of calls that passed while the meter was out of reach, on leases too.
    pub passed_in_outage: u32,
    /// The number of calls that were made in that time.
    pub made_in_outage: u32,
    /// The number of these that the ideal limiter admits.
    pub ideal_in_outage: u32,
    /// The number of calls that were lent with writes which a fail-over lost.
    pub lost: u32,
    /// The number of calls that the ideal limiter admits.
    pub ideal: u32,
    /// The number of responses other than 200 to the client of a closed loop.
    pub refused: u32,
    /// The number of these at a time that `Retry-After` had named.
    pub misled: u32,
    passed: Vec<Passed>,
    in_force: Vec<InForce>,
    day_slack: u64,
    same_machine: bool,
}

/// An admitted call. Times are true times.
#[derive(Clone, Copy, Debug)]
struct Passed {
    /// The time at which the meter, or the isolate from a lease, counted it.
    decided: u64,
    /// The time at which the isolate admitted it.
    released: u64,
    /// Whether it ended in a 503 and was refunded.
    failed: bool,
    /// Whether it passed on the local budget.
    degraded: bool,
}

/// The policy of a key from a time on, or none if the key has ended.
#[derive(Clone, Copy, Debug)]
struct InForce {
    from: u64,
    policy: Option<Policy>,
    tier: Tier,
}

impl Outcome {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let steps = scenario.faults.meter_steps.iter();
        // A step back that is large costs the key's clock the time since it was last read.
        let lost = steps.map(|step| step.by.unsigned_abs().min(30_000)).sum::<u64>();
        Self {
            calls: 0,
            waited: 0,
            hops: 0,
            degraded: 0,
            passed_in_outage: 0,
            made_in_outage: 0,
            ideal_in_outage: 0,
            lost: 0,
            ideal: 0,
            refused: 0,
            misled: 0,
            passed: Vec::new(),
            in_force: vec![InForce { from: 0, policy: Some(scenario.policy()), tier: scenario.tier }],
            day_slack: lost + scenario.faults.machines_behind,
            same_machine: scenario.faults.machines_behind == 0,
        }
    }

    pub(super) fn served(&mut self, admission: &Admission, failed: bool, decided: u64, released: u64) {
        match *admission {
            Admission::Allow { degraded, .. } => {
                self.degraded += u32::from(degraded);
                self.passed.push(Passed { decided, released, failed, degraded });
            }
            Admission::Deny(..) | Admission::Refuse(_) | Admission::Unavailable { .. } => {}
        }
    }

    pub(super) fn changed(&mut self, now: u64, record: &KeyRecord) {
        let active = record.status == KeyStatus::Active;
        let policy = active.then(|| record.policy());
        self.in_force.push(InForce { from: now, policy, tier: record.tier });
    }

    /// Returns the number of calls that passed, on the local budget too.
    #[must_use]
    pub fn admitted(&self) -> usize {
        self.passed.len()
    }

    /// Returns the share of calls that waited for the meter.
    #[must_use]
    pub fn waits_per_call(&self) -> f64 {
        f64::from(self.waited) / f64::from(self.calls.max(1))
    }

    /// Returns the messages to the meter per call.
    #[must_use]
    pub fn hops_per_call(&self) -> f64 {
        f64::from(self.hops) / f64::from(self.calls.max(1))
    }

    /// Returns the ratio of admitted calls to those of the ideal limiter.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "a few thousand calls")]
    pub fn goodput(&self) -> f64 {
        self.admitted() as f64 / f64::from(self.ideal.max(1))
    }

    /// Returns the maximum ratio of calls in any 60 seconds of true time to the limit in force, those
    /// on the local budget among them.
    #[must_use]
    pub fn worst_minute(&self) -> f64 {
        self.worst_minute_of(|_| true)
    }

    /// Returns the same of the calls that the meter has counted.
    #[must_use]
    pub fn worst_counted_minute(&self) -> f64 {
        self.worst_minute_of(|passed| !passed.degraded)
    }

    fn worst_minute_of(&self, counts: impl Fn(&Passed) -> bool) -> f64 {
        let decided = self.worst(&counts, |passed| passed.decided);
        // An object that moves between machines with different clocks uses the margin up.
        let released = if self.same_machine { self.worst(&counts, |passed| passed.released) } else { 0.0 };
        decided.max(released)
    }

    fn worst(&self, counts: impl Fn(&Passed) -> bool, moment: impl Fn(&Passed) -> u64) -> f64 {
        let counted = self.passed.iter().filter(|passed| counts(passed));
        let mut moments: Vec<u64> = counted.map(moment).collect();
        moments.sort_unstable();
        let mut first = 0;
        let mut worst = 0.0f64;
        for (last, &now) in moments.iter().enumerate() {
            while moments[first] + MINUTE_MS < now {
                first += 1;
            }
            let from = now.saturating_sub(MINUTE_MS + TTL_MS + SLACK_MS);
            let limit = self.most_in_force(from, now, |policy| Some(policy.minute.get()));
            worst = worst.max(ratio(last - first + 1, limit));
        }
        worst
    }

    /// Returns the maximum ratio of unrefunded calls of a UTC day to the limit of the day, those on the
    /// local budget among them.
    #[must_use]
    pub fn worst_day(&self) -> f64 {
        self.worst_day_of(|_| true)
    }

    /// Returns the same of the calls that the meter has counted.
    #[must_use]
    pub fn worst_counted_day(&self) -> f64 {
        self.worst_day_of(|passed| !passed.degraded)
    }

    fn worst_day_of(&self, counts: impl Fn(&Passed) -> bool) -> f64 {
        let days = self.passed.iter().map(|passed| UnixMillis(passed.decided).day());
        let mut days: Vec<_> = days.collect();
        days.dedup();
        let worst = days.into_iter().map(|day| {
            let (from, to) = (day.start().0 + self.day_slack, day.end().0);
            let kept = self
                .passed
                .iter()
                .filter(|passed| counts(passed) && !passed.failed && (from..to).contains(&passed.decided));
            let from = day.start().0.saturating_sub(TTL_MS + SLACK_MS);
            ratio(
                kept.count(),
                self.most_in_force(from, to, |policy| policy.day.map(std::num::NonZeroU32::get)),
            )
        });
        worst.fold(0.0, f64::max)
    }

    /// Returns the largest limit in force between two times, or `None` if there was none.
    fn most_in_force(&self, from: u64, to: u64, limit: impl Fn(Policy) -> Option<u32>) -> Option<u32> {
        let mut most = 0;
        for (place, state) in self.in_force.iter().enumerate() {
            let until = self.in_force.get(place + 1).map_or(u64::MAX, |next| next.from);
            if state.from <= to
                && from <= until
                && let Some(policy) = state.policy
            {
                most = most.max(limit(policy)?);
            }
        }
        Some(most)
    }

    /// Returns the number of calls admitted after the end of the key, or for paid tiers after the
    /// end of its last lease.
    #[must_use]
    pub fn after_the_end(&self) -> usize {
        let Some(ended) = self.in_force.iter().find(|state| state.policy.is_none()) else { return 0 };
        let free = self.in_force.iter().all(|state| state.tier == Tier::Free);
        // A call on the local budget cannot know of the end.
        let late = |passed: &&Passed| match free {
            true => passed.decided > ended.from,
            false => !passed.degraded && passed.decided > ended.from + TTL_MS,
        };
        self.passed.iter().filter(late).count()
    }
}

#[allow(clippy::cast_precision_loss, reason = "a few thousand calls")]
fn ratio(calls: usize, limit: Option<u32>) -> f64 {
    match limit {
        None => 0.0,
        Some(limit) => calls as f64 / f64::from(limit.max(1)),
    }
}
