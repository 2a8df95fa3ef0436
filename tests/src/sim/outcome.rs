//! What came of a scenario, and whether it kept the promises.

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

/// The longest way of an answer: a change of the limit may be overtaken by calls that were let through before it.
const SLACK_MS: u64 = 500;

/// What came of a scenario.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Calls that were made.
    pub calls: u32,
    /// Calls that waited for the meter.
    pub waited: u32,
    /// Messages to the meter, retries included.
    pub hops: u32,
    /// Calls that passed on the local budget, while the meter was out of reach.
    pub degraded: u32,
    /// Calls that the limiter that knows everything would have let through.
    pub ideal: u32,
    /// Answers to the client of a closed loop that were no 200.
    pub refused: u32,
    /// Of these, the ones at a moment that `Retry-After` had named.
    pub misled: u32,
    passed: Vec<Passed>,
    in_force: Vec<InForce>,
    day_slack: u64,
    same_machine: bool,
}

/// A call that passed, in true time.
#[derive(Clone, Copy, Debug)]
struct Passed {
    /// When it was counted: by the meter, or by the isolate that spent it from a lease.
    decided: u64,
    /// When the isolate let it through.
    released: u64,
    /// Whether it ended in a 503 and was given back.
    failed: bool,
}

/// What a key may do from a moment on; no policy when it may nothing.
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
        match admission {
            Admission::Allow { degraded: true, .. } => self.degraded += 1,
            Admission::Allow { degraded: false, .. } => {
                self.passed.push(Passed { decided, released, failed })
            }
            Admission::Deny(..) | Admission::Refuse(_) | Admission::Unavailable { .. } => {}
        }
    }

    pub(super) fn changed(&mut self, now: u64, record: &KeyRecord) {
        let active = record.status == KeyStatus::Active;
        let policy = active.then(|| record.policy());
        self.in_force.push(InForce { from: now, policy, tier: record.tier });
    }

    /// Calls that passed within the limits.
    #[must_use]
    pub fn admitted(&self) -> usize {
        self.passed.len()
    }

    /// Calls that waited for the meter, for each call.
    #[must_use]
    pub fn waits_per_call(&self) -> f64 {
        f64::from(self.waited) / f64::from(self.calls.max(1))
    }

    /// Messages to the meter, for each call.
    #[must_use]
    pub fn hops_per_call(&self) -> f64 {
        f64::from(self.hops) / f64::from(self.calls.max(1))
    }

    /// Calls that passed, those on the local budget among them, against the limiter that knows everything.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "a few thousand calls")]
    pub fn goodput(&self) -> f64 {
        (self.admitted() as f64 + f64::from(self.degraded)) / f64::from(self.ideal.max(1))
    }

    /// The most calls in any 60 seconds of true time, over the limit then in force.
    #[must_use]
    pub fn worst_minute(&self) -> f64 {
        let decided = self.worst(|passed| passed.decided);
        // Where the object moves between machines whose clocks differ, that uses the margin up.
        let released = if self.same_machine { self.worst(|passed| passed.released) } else { 0.0 };
        decided.max(released)
    }

    fn worst(&self, moment: impl Fn(&Passed) -> u64) -> f64 {
        let mut moments: Vec<u64> = self.passed.iter().map(moment).collect();
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

    /// The most calls of any UTC day that were not given back, over the day's limit.
    #[must_use]
    pub fn worst_day(&self) -> f64 {
        let days = self.passed.iter().map(|passed| UnixMillis(passed.decided).day());
        let mut days: Vec<_> = days.collect();
        days.dedup();
        let worst = days.into_iter().map(|day| {
            let (from, to) = (day.start().0 + self.day_slack, day.end().0);
            let kept =
                self.passed.iter().filter(|passed| !passed.failed && (from..to).contains(&passed.decided));
            let from = day.start().0.saturating_sub(TTL_MS + SLACK_MS);
            ratio(
                kept.count(),
                self.most_in_force(from, to, |policy| policy.day.map(std::num::NonZeroU32::get)),
            )
        });
        worst.fold(0.0, f64::max)
    }

    /// The largest limit in force between two moments; `None` is without limit.
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

    /// Calls that passed though the key had ended: on Free at all, else longer ago than a lease lasts.
    #[must_use]
    pub fn after_the_end(&self) -> usize {
        let Some(ended) = self.in_force.iter().find(|state| state.policy.is_none()) else { return 0 };
        let free = self.in_force.iter().all(|state| state.tier == Tier::Free);
        let late = |passed: &&Passed| match free {
            true => passed.decided > ended.from,
            false => passed.decided > ended.from + TTL_MS,
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
