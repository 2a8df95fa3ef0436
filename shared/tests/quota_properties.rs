//! The promises of [`Usage`], for any order of calls, any steps of the clock and any changes of the
//! policy.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use proptest::collection::vec;
use proptest::prelude::*;
use shared::policy::{Policy, Window};
use shared::quota::{Clock, Decision, Denial, Rolling, Usage};
use shared::time::{UnixMillis, UtcDay};

const MINUTE_MS: u64 = 60_000;
const DAY_MS: u64 = 86_400_000;

/// A usage beside a second clock that is read alike, so that a test knows the key's own time.
struct Key {
    usage: Usage,
    clock: Clock,
    machine: u64,
    admitted: Vec<UnixMillis>,
}

impl Key {
    fn new(machine: u64) -> Self {
        Self { usage: Usage::default(), clock: Clock::default(), machine, admitted: Vec::new() }
    }

    fn step(&mut self, by: i64) {
        self.machine = self.machine.saturating_add_signed(by).max(1);
    }

    /// Makes a call now. Returns the moment on the key's own clock, and the decision.
    fn call(&mut self, policy: &Policy) -> (UnixMillis, Decision) {
        let decision = self.usage.admit(policy, UnixMillis(self.machine));
        let now = self.clock.read(UnixMillis(self.machine));
        if let Decision::Allow(_) = decision {
            self.admitted.push(now);
        }
        (now, decision)
    }

    /// Returns the time of the machine's clock at which the key's own clock shows `moment`.
    fn machine_at(&self, moment: UnixMillis) -> u64 {
        let far = self.machine + 1_000 * DAY_MS;
        let ahead = self.clock.clone_read(UnixMillis(far)).0 - far;
        moment.0 - ahead
    }
}

trait CloneRead {
    fn clone_read(&self, now: UnixMillis) -> UnixMillis;
}

impl CloneRead for Clock {
    fn clone_read(&self, now: UnixMillis) -> UnixMillis {
        let mut probe = *self;
        probe.read(now)
    }
}

fn policy() -> impl Strategy<Value = Policy> {
    let day = prop_oneof![Just(None), (1u32..60).prop_map(NonZeroU32::new)];
    (1u32..20, day).prop_map(|(minute, day)| Policy { minute: NonZeroU32::new(minute).unwrap(), day })
}

/// Steps of the machine's clock between two calls: mostly time passing, now and then a jump either
/// way.
fn step() -> impl Strategy<Value = i64> {
    prop_oneof![
        6 => 0i64..300,
        4 => 0i64..8_000,
        2 => 50_000i64..70_000,
        1 => Just(60_000i64),
        1 => -2_500i64..0,
        1 => -100_000_000i64..0,
        1 => 0i64..100_000_000,
    ]
}

/// Between one second and one minute before a midnight.
fn start() -> impl Strategy<Value = u64> {
    prop_oneof![Just(20_000 * DAY_MS - 30_000), 1_700_000_000_000u64..1_800_000_000_000]
}

proptest! {
    #[test]
    fn no_sixty_seconds_and_no_day_exceed_the_limit(
        start in start(),
        calls in vec((step(), any::<prop::sample::Index>()), 1..400),
        policies in vec(policy(), 1..4),
    ) {
        let mut key = Key::new(start);
        for (step, pick) in calls {
            key.step(step);
            let policy = pick.get(&policies);
            let (now, decision) = key.call(policy);
            if let Decision::Allow(_) = decision {
                let minute = key.admitted.iter().filter(|at| now.since(**at) <= MINUTE_MS).count();
                prop_assert!(minute <= policy.minute.get() as usize, "{minute} in 60 s");
                let today = key.admitted.iter().filter(|at| at.day() == now.day()).count();
                let limit = policy.day.map_or(usize::MAX, |day| day.get() as usize);
                prop_assert!(today <= limit, "{today} on one day");
            }
        }
    }

    #[test]
    fn call_passes_at_the_moment_a_denial_names_and_not_before(
        start in start(),
        calls in vec(step(), 1..300),
        policy in policy(),
    ) {
        let mut key = Key::new(start);
        for step in calls {
            key.step(step);
            let (now, decision) = key.call(&policy);
            if let Decision::Deny(Denial { retry_ms, .. }, _) = decision {
                let at = key.machine_at(now.plus(retry_ms));
                let early = key.usage.clone().admit(&policy, UnixMillis(at - 1));
                prop_assert!(matches!(early, Decision::Deny(..)), "it passes 1 ms before");
                let then = key.usage.clone().admit(&policy, UnixMillis(at));
                prop_assert!(matches!(then, Decision::Allow(_)), "it does not pass");
            }
        }
    }

    #[test]
    fn exactly_the_remaining_calls_pass(
        start in start(),
        calls in vec(step(), 1..100),
        policy in policy(),
    ) {
        let mut key = Key::new(start);
        let mut quota = None;
        for step in calls {
            key.step(step);
            quota = Some(match key.call(&policy).1 {
                Decision::Allow(quota) | Decision::Deny(_, quota) => quota,
            });
        }
        let quota = quota.unwrap();
        let left = quota.day.map_or(u32::MAX, |day| day.remaining).min(quota.minute.remaining);
        for _ in 0..left {
            prop_assert!(matches!(key.call(&policy).1, Decision::Allow(_)));
        }
        let denied = key.call(&policy).1;
        prop_assert!(matches!(denied, Decision::Deny(..)));
    }

    #[test]
    fn day_with_refunds_never_exceeds_the_limit(
        start in start(),
        steps in vec((step(), 0u32..4, any::<bool>()), 1..300),
        policy in policy(),
    ) {
        let mut key = Key::new(start);
        let mut charged: BTreeMap<UtcDay, u32> = BTreeMap::new();
        for (step, refunds, late) in steps {
            key.step(step);
            let (now, decision) = key.call(&policy);
            if let Decision::Allow(_) = decision {
                *charged.entry(now.day()).or_default() += 1;
            }
            // A refund of the last day that had a call, which may be over.
            let last = if late { charged.keys().next_back() } else { charged.keys().next() };
            if let Some(day) = last.copied() {
                let given = refunds.min(charged[&day]);
                key.usage.refund(day, given);
                *charged.get_mut(&day).unwrap() -= given;
            }
            let limit = policy.day.map_or(u32::MAX, NonZeroU32::get);
            prop_assert!(charged.get(&now.day()).is_none_or(|calls| *calls <= limit));
        }
    }

    #[test]
    fn usage_continues_from_its_stored_text(
        start in start(),
        calls in vec(step(), 1..100),
        policy in policy(),
    ) {
        let mut key = Key::new(start);
        for step in calls {
            key.step(step);
            let mut restarted: Usage =
                serde_json::from_str(&serde_json::to_string(&key.usage).unwrap()).unwrap();
            let (_, decision) = key.call(&policy);
            prop_assert_eq!(restarted.admit(&policy, UnixMillis(key.machine)), decision);
            prop_assert_eq!(&restarted, &key.usage);
        }
    }

    #[test]
    fn window_holds_what_was_added_within_it(
        adds in vec((0u64..5_000_000, 1u32..5), 1..60),
        after in 0u64..4_000_000,
    ) {
        // An hour in steps of 10 s, as another quota may use it; counts come in any order.
        let mut hour = Rolling::<10_000, 3_600_000>::default();
        for &(at, n) in &adds {
            hour.add(UnixMillis(at), n);
        }
        let latest = adds.iter().map(|&(at, _)| at).max().unwrap();
        let now = latest + after;
        hour.expire(UnixMillis(now));
        let within = |span: u64| adds.iter().filter(|(at, _)| now - at <= span).map(|(_, n)| n).sum::<u32>();
        prop_assert!(within(3_600_000) <= hour.total());
        prop_assert!(hour.total() <= within(3_610_000));
    }

    #[test]
    fn clock_never_goes_back_and_never_runs_fast(
        start in 1_000_000_000u64..2_000_000_000,
        steps in vec(-500_000i64..1_000, 1..200),
        passing in vec(0u64..5_000, 200),
    ) {
        let mut clock = Clock::default();
        let (mut machine, mut before) = (start, clock.read(UnixMillis(start)));
        for (step, pass) in steps.into_iter().zip(passing) {
            // A step of the machine's clock back, then time that truly passes.
            machine = machine.saturating_add_signed(step.min(0)).max(1) + pass;
            let now = clock.read(UnixMillis(machine));
            prop_assert!(now >= before, "went back");
            prop_assert!(now.since(before) <= pass, "gained");
            before = now;
        }
    }
}

#[test]
fn denial_names_the_quota_that_stays_full_longer() {
    let own = Policy { minute: NonZeroU32::new(2).unwrap(), day: NonZeroU32::new(2) };
    let mut usage = Usage::default();
    let noon = UnixMillis(20_000 * DAY_MS + DAY_MS / 2);
    usage.admit(&own, noon);
    usage.admit(&own, noon);
    let Decision::Deny(denial, _) = usage.admit(&own, noon) else { panic!("admitted") };
    assert_eq!(denial, Denial { window: Window::Day, retry_ms: DAY_MS / 2 });
}
