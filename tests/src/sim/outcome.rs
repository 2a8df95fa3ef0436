//! The outcome of a scenario, measured against the promises.

use shared::{
    key::{KeyRecord, KeyStatus},
    lease_cache::Admission,
    meter::TTL_MS,
    policy::{Policy, UnitLimits},
    tier::Tier,
    time::{UnixMillis, UtcDay},
};

use super::{Scenario, world::Waiting};

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
    /// The number of rows that the meter has written.
    pub rows: u32,
    /// The number of alarms of the meter.
    pub alarms: u32,
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
    /// The number of units that were reserved with such writes.
    pub lost_units: u32,
    /// The units of the calls that the ideal limiter admits, which knows what each will cost.
    pub ideal_units: u64,
    /// The fullest minute of units with a limiter that charges calls when their cost is known.
    pub minute_charged_afterwards: u32,
    /// The number of calls that the ideal limiter admits.
    pub ideal: u32,
    /// The number of responses other than 200 to the client of a closed loop.
    pub refused: u32,
    /// The number of calls that were not decided, because the meter did not respond.
    pub undecided: u32,
    /// The number of these at a time that `Retry-After` had named.
    pub misled: u32,
    /// The most trips to a server that only stores and compares until a message was decided.
    pub trips: u32,
    passed: Vec<Passed>,
    /// What admitted calls were told to be left of the minute and the day, with the time of the decision.
    told: Vec<(u64, u32, Option<u32>)>,
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
    /// The units that it costs.
    units: u32,
}

/// The policy of a key from a time on, or none if the key has ended.
#[derive(Clone, Copy, Debug)]
struct InForce {
    from: u64,
    policy: Option<Policy>,
    units: UnitLimits,
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
            rows: 0,
            alarms: 0,
            degraded: 0,
            passed_in_outage: 0,
            made_in_outage: 0,
            ideal_in_outage: 0,
            lost: 0,
            lost_units: 0,
            ideal_units: 0,
            minute_charged_afterwards: 0,
            ideal: 0,
            refused: 0,
            misled: 0,
            trips: 0,
            undecided: 0,
            passed: Vec::new(),
            told: Vec::new(),
            in_force: vec![InForce {
                from: 0,
                policy: Some(scenario.policy()),
                units: scenario.own_limits().units,
                tier: scenario.tier,
            }],
            day_slack: lost + scenario.faults.machines_behind,
            same_machine: scenario.faults.machines_behind == 0,
        }
    }

    pub(super) fn served(&mut self, admission: &Admission, call: &Waiting, decided: u64, released: u64) {
        match *admission {
            Admission::Allow { degraded, quota, .. } => {
                if !degraded {
                    self.told.push((decided, quota.minute.remaining, quota.day.map(|day| day.remaining)));
                }
                self.degraded += u32::from(degraded);
                let failed = call.fails;
                let units = call.priced.filter(|_| !failed).map_or(0, |priced| priced.cost().units);
                self.passed.push(Passed { decided, released, failed, degraded, units });
            }
            Admission::Unavailable { .. } => self.undecided += 1,
            Admission::Deny(..) | Admission::Refuse(_) => {}
        }
    }

    pub(super) fn changed(&mut self, now: u64, record: &KeyRecord) {
        let active = record.status == KeyStatus::Active;
        let policy = active.then(|| record.policy());
        self.in_force.push(InForce { from: now, policy, units: record.limits.units, tier: record.tier });
    }

    /// Returns the number of calls that passed, on the local budget too.
    #[must_use]
    pub fn admitted(&self) -> usize {
        self.passed.len()
    }

    /// Returns the most calls that an admitted call was told to be left beyond those that were, of the minute
    /// or the day. The policy must not have changed.
    #[must_use]
    pub fn told_too_much(&self) -> u32 {
        let Some(policy) = self.in_force.first().and_then(|state| state.policy) else { return 0 };
        let told = self.told.iter().map(|&(at, minute, day)| {
            // What was decided in the same moment may have been later.
            let before = || self.passed.iter().filter(move |passed| passed.decided < at);
            let in_minute = before().filter(|passed| passed.decided + MINUTE_MS > at).count() + 1;
            let today = |passed: &&Passed| UnixMillis(passed.decided).day() == UnixMillis(at).day();
            let in_day = before().filter(|passed| !passed.failed).filter(today).count();
            let excess = |told: u32, limit: std::num::NonZeroU32, used: usize| {
                (told + u32::try_from(used).unwrap()).saturating_sub(limit.get())
            };
            let of_day = policy.day.zip(day).map(|(limit, told)| excess(told, limit, in_day));
            excess(minute, policy.minute, in_minute).max(of_day.unwrap_or(0))
        });
        told.max().unwrap_or(0)
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
        let weight = |passed: &Passed| u32::from(counts(passed));
        self.worst_at_both_moments(&weight, &|state| {
            Some(state.policy.map_or(0, |policy| policy.minute.get()))
        })
    }

    /// Returns the maximum ratio of units in any 60 seconds of true time, any UTC day and any month to
    /// the limit in force.
    #[must_use]
    pub fn worst_units(&self) -> f64 {
        let weight = |passed: &Passed| passed.units;
        let limit = |limit: Option<std::num::NonZeroU32>| limit.map_or(u32::MAX, std::num::NonZeroU32::get);
        let minute = self.worst_at_both_moments(&weight, &|state| Some(limit(state.units.minute)));
        let days = self.periods(|at| (UnixMillis(at).day(), UtcDay(UnixMillis(at).day().0 + 1)));
        let day = self.worst_period(&days, &weight, &|state| Some(limit(state.units.day)));
        let months = self.periods(|at| UnixMillis(at).day().month());
        let month = self.worst_period(&months, &weight, &|state| Some(limit(state.units.month)));
        minute.max(day).max(month)
    }

    /// Returns the units of the calls that passed.
    #[must_use]
    pub fn units(&self) -> u64 {
        self.passed.iter().map(|passed| u64::from(passed.units)).sum()
    }

    fn worst_at_both_moments(
        &self,
        weight: &dyn Fn(&Passed) -> u32,
        limit: &dyn Fn(&InForce) -> Option<u32>,
    ) -> f64 {
        let decided = self.worst(weight, limit, &|passed| passed.decided);
        // An object that moves between machines with different clocks uses the margin up.
        let released =
            if self.same_machine { self.worst(weight, limit, &|passed| passed.released) } else { 0.0 };
        decided.max(released)
    }

    fn worst(
        &self,
        weight: &dyn Fn(&Passed) -> u32,
        limit: &dyn Fn(&InForce) -> Option<u32>,
        moment: &dyn Fn(&Passed) -> u64,
    ) -> f64 {
        let mut moments: Vec<(u64, u32)> =
            self.passed.iter().map(|passed| (moment(passed), weight(passed))).collect();
        moments.retain(|&(_, weight)| weight > 0);
        moments.sort_unstable();
        let (mut first, mut sum) = (0, 0u64);
        let mut worst = 0.0f64;
        for &(now, weight) in &moments {
            sum += u64::from(weight);
            while moments[first].0 + MINUTE_MS < now {
                sum -= u64::from(moments[first].1);
                first += 1;
            }
            let from = now.saturating_sub(MINUTE_MS + TTL_MS + SLACK_MS);
            worst = worst.max(ratio(sum, self.most_in_force(from, now, limit)));
        }
        worst
    }

    /// Returns the periods in which calls passed: their first days, and those after them.
    fn periods(&self, of: impl Fn(u64) -> (UtcDay, UtcDay)) -> Vec<(UtcDay, UtcDay)> {
        let mut periods: Vec<_> = self.passed.iter().map(|passed| of(passed.decided)).collect();
        periods.dedup();
        periods
    }

    fn worst_period(
        &self,
        periods: &[(UtcDay, UtcDay)],
        weight: &dyn Fn(&Passed) -> u32,
        limit: &dyn Fn(&InForce) -> Option<u32>,
    ) -> f64 {
        let worst = periods.iter().map(|&(first, next)| {
            let (from, to) = (first.start().0 + self.day_slack, next.start().0);
            let of_period = self.passed.iter().filter(|passed| (from..to).contains(&passed.decided));
            let sum = of_period.map(|passed| u64::from(weight(passed))).sum();
            let from = first.start().0.saturating_sub(TTL_MS + SLACK_MS);
            ratio(sum, self.most_in_force(from, to, limit))
        });
        worst.fold(0.0, f64::max)
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
        let days = self.periods(|at| (UnixMillis(at).day(), UtcDay(UnixMillis(at).day().0 + 1)));
        let weight = |passed: &Passed| u32::from(counts(passed) && !passed.failed);
        let limit = |state: &InForce| match state.policy {
            // A key that has ended limits everything.
            None => Some(0),
            Some(policy) => policy.day.map(std::num::NonZeroU32::get),
        };
        self.worst_period(&days, &weight, &limit)
    }

    /// Returns the largest limit in force between two times, or `None` if there was none.
    fn most_in_force(&self, from: u64, to: u64, limit: &dyn Fn(&InForce) -> Option<u32>) -> Option<u32> {
        let mut most = 0;
        for (place, state) in self.in_force.iter().enumerate() {
            let until = self.in_force.get(place + 1).map_or(u64::MAX, |next| next.from);
            if state.from <= to && from <= until {
                most = most.max(limit(state)?);
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
fn ratio(sum: u64, limit: Option<u32>) -> f64 {
    match limit {
        None => 0.0,
        Some(limit) => sum as f64 / f64::from(limit.max(1)),
    }
}
