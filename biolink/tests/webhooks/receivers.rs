//! Receivers with faults.

use biolink::webhooks::{AttemptResult, DisabledReason, MAX_ATTEMPTS, MAX_PENDING, WebhookKind};
use proptest::prelude::*;
use shared::time::UnixMillis;

use crate::world::{DAY, HOUR, MINUTE, Response, SECOND, START, State, World};

const fn status(status: u16) -> Response {
    (AttemptResult::Response { status, retry_after_ms: None }, 50)
}

/// A receiver that refuses connections until `back`.
fn down_until(back: UnixMillis) -> impl FnMut(UnixMillis, usize) -> Response {
    move |now, _| if now < back { (AttemptResult::ConnectionFailed, 10) } else { status(200) }
}

/// An event every `every` milliseconds for `length`: page views, and a publication for each 50.
fn events(every: u64, length: u64) -> impl Iterator<Item = (UnixMillis, WebhookKind)> {
    (0..length / every).map(move |n| {
        let kind = if n % 50 == 0 { WebhookKind::PagePublished } else { WebhookKind::PageView };
        (START.plus(n * every), kind)
    })
}

/// Checks what holds for every receiver.
fn check<R>(world: &World<R>) {
    for delivery in &world.deliveries {
        assert!(delivery.attempts.len() <= MAX_ATTEMPTS as usize, "{delivery:?}");
        assert!(delivery.attempts.is_sorted(), "{delivery:?}");
        assert!(delivery.attempts.first().is_none_or(|at| *at >= delivery.created_at), "{delivery:?}");
        assert!(!matches!(delivery.state, State::Pending { .. }), "{delivery:?}");
        if let State::Delivered { at } = delivery.state {
            assert!(delivery.attempts.iter().all(|attempt| *attempt <= at), "after its 2xx: {delivery:?}");
        }
        if delivery.state == State::Exhausted {
            let span = delivery.attempts[9].since(delivery.attempts[0]);
            assert!(span >= 75 * HOUR + 35 * MINUTE, "given up too early: {delivery:?}");
        }
    }
}

#[test]
fn receiver_that_is_down_for_three_days_gets_every_event() {
    for entropy in 0..50 {
        let back = START.plus(3 * DAY);
        let mut world = World::new(entropy, down_until(back));
        world.run(events(30 * MINUTE, 4 * DAY));
        check(&world);
        assert_eq!(world.in_state(|state| matches!(state, State::Delivered { .. })), 192);
        // A probe begins at least every 30 minutes. Only a last attempt keeps its own time.
        let early = world.deliveries.iter().filter(|delivery| delivery.attempts.len() < 10);
        for delivery in early.filter(|delivery| delivery.created_at < back) {
            assert!(delivery.attempts.last().unwrap().since(back) <= 31 * MINUTE, "{delivery:?}");
        }
        let attempts: usize = world.deliveries.iter().map(|delivery| delivery.attempts.len()).sum();
        assert!(attempts < 192 + 3 * 48 + 20, "{attempts} attempts: more than probes and deliveries");
    }
}

#[test]
fn lone_event_survives_an_outage_of_three_days() {
    for entropy in 0..200 {
        let mut world = World::new(entropy, down_until(START.plus(3 * DAY)));
        world.run([(START, WebhookKind::Click)]);
        check(&world);
        assert!(world.deliveries[0].is_delivered(), "{:?}", world.deliveries[0]);
    }
}

#[test]
fn backlog_of_an_outage_drops_the_oldest_visits() {
    let back = START.plus(3 * DAY);
    let mut world = World::new(1, down_until(back));
    world.run(events(10 * SECOND, 3 * DAY));
    check(&world);
    let (all, lost) = (world.deliveries.len() as u64, world.dropped.total());
    assert_eq!((all, all - lost), (25_920, MAX_PENDING));
    assert_eq!(world.dropped.of(WebhookKind::PageView), lost);
    let delivered = world.in_state(|state| matches!(state, State::Delivered { .. }));
    assert_eq!(delivered as u64, all - lost);
    let newest = world.deliveries.iter().rposition(|delivery| delivery.state == State::Dropped).unwrap();
    let older = world.deliveries[..newest].iter().filter(|delivery| delivery.kind.is_visit());
    assert!(older.clone().count() > 15_000);
    assert_eq!(older.filter(|delivery| delivery.state != State::Dropped).count(), 0, "the oldest first");
}

#[test]
fn receiver_that_hangs_has_a_minute_between_attempts() {
    let hang = |_: UnixMillis, _: usize| (AttemptResult::TimedOut, 15 * SECOND);
    let mut world = World::new(3, hang);
    world.run([(START, WebhookKind::Click)]);
    check(&world);
    let delivery = &world.deliveries[0];
    assert_eq!((delivery.state, delivery.attempts.len()), (State::Exhausted, 10));
    assert!(delivery.pauses().iter().all(|pause| *pause >= MINUTE), "{delivery:?}");
    assert!(world.disabled.is_none(), "three days are not five");
}

#[test]
fn receiver_that_hangs_for_five_days_is_disabled() {
    let hang = |_: UnixMillis, _: usize| (AttemptResult::TimedOut, 15 * SECOND);
    let mut world = World::new(3, hang);
    world.run(events(HOUR, 6 * DAY));
    check(&world);
    let (reason, at) = world.disabled.unwrap();
    assert_eq!(reason, DisabledReason::Failing);
    assert!((5 * DAY..5 * DAY + HOUR).contains(&at.since(START)), "{}", at.since(START) / HOUR);
    let last = world.deliveries.iter().filter_map(|delivery| delivery.attempts.last()).max().unwrap();
    assert!(*last <= at, "attempted after it was disabled");
    assert_eq!(world.in_state(|state| matches!(state, State::Delivered { .. })), 0);
}

#[test]
fn receiver_that_is_gone_gets_one_request() {
    let mut world = World::new(3, |_, _| status(410));
    world.run(events(HOUR, DAY));
    check(&world);
    assert_eq!(world.disabled.map(|(reason, _)| reason), Some(DisabledReason::Gone));
    assert_eq!((world.deliveries.len(), world.deliveries[0].attempts.len()), (1, 1));
}

#[test]
fn receiver_that_asks_for_a_pause_gets_it() {
    for (seconds, expected) in [(1, 60), (90, 90), (9_000, 120)] {
        let busy = move |now: UnixMillis, _: usize| {
            let asked = AttemptResult::Response { status: 429, retry_after_ms: Some(seconds * SECOND) };
            if now == START { (asked, 0) } else { status(204) }
        };
        let mut world = World::new(3, busy);
        world.run([(START, WebhookKind::Click)]);
        check(&world);
        assert_eq!(world.deliveries[0].pauses(), [expected * SECOND]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Each attempt fails with a fixed chance; outages of random length are in between.
    #[test]
    fn receiver_that_fails_at_random_gets_every_event(
        entropy: u64,
        percent in prop_oneof![Just(0), 1u64..70],
        outages in prop::collection::vec((0u64..48, 0u64..12), 0..4),
        every in prop::sample::select(vec![SECOND, 20 * SECOND, 10 * MINUTE]),
    ) {
        let mut state = entropy | 1;
        let receiver = move |now: UnixMillis, _: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let hours = now.since(START) / HOUR;
            let is_out = outages.iter().any(|(from, length)| (*from..from + length).contains(&hours));
            match state % 100 {
                _ if is_out => (AttemptResult::ConnectionFailed, 10),
                chance if chance < percent / 2 => (AttemptResult::TimedOut, 15 * SECOND),
                chance if chance < percent => status(503),
                _ => status(200),
            }
        };
        let mut world = World::new(entropy, receiver);
        world.run(events(every, 500 * every));
        check(&world);
        prop_assert_eq!(world.disabled, None);
        prop_assert_eq!(world.dropped.total(), 0);
        // An event fails only if ten attempts did, which `check` finds to be over three days.
        let exhausted = world.in_state(|state| state == State::Exhausted);
        let delivered = world.in_state(|state| matches!(state, State::Delivered { .. }));
        prop_assert_eq!(delivered + exhausted, 500);
        prop_assert!(percent > 0 || exhausted == 0, "{} exhausted by outages alone", exhausted);
    }
}
