//! A soak: receivers that fail at random, hang and are restarted, and a worker that is restarted too.
//! Nothing that a page's store has committed is lost.

use std::{
    collections::{BTreeMap, BTreeSet},
    thread,
};

use serde_json::{Value, json};
use tests::{
    faults::{Fate, STATS, WEBHOOKS},
    origin::Arrival,
    receiver::{Receiver, ReceiverBehavior},
    sim::Rng,
};

use super::{
    hooks::Hook,
    pages::until,
    site::{Site, person},
};

const SEED: u64 = 7;
const ROUNDS: usize = 6;
const CONNECTIONS: usize = 4;
const CLICKS: usize = 40;
/// Requests that hang take 15 seconds each, so there are few.
const HANGS: [usize; 2] = [4, 60];
/// Time that passes when all that may be attempted was attempted, in milliseconds.
const LATER_MS: u64 = 12 * 3_600_000;

/// A receiver that is restarted now and then, with what it has responded.
struct Unreliable {
    receiver: Receiver,
    random: Rng,
    before: Vec<(Arrival, ReceiverBehavior)>,
    planned: Vec<ReceiverBehavior>,
}

impl Unreliable {
    fn start(seed: u64) -> Self {
        let mut unreliable = Self {
            receiver: Receiver::start(),
            random: Rng::new(seed),
            before: Vec::new(),
            planned: Vec::new(),
        };
        unreliable.plan(true);
        unreliable
    }

    /// Draws the behaviors of the next requests.
    fn plan(&mut self, has_hangs: bool) {
        let respond = |status| ReceiverBehavior::Respond(status, Vec::new());
        self.planned = (0..4_000)
            .map(|nth| match self.random.range(0, 100) {
                _ if has_hangs && HANGS.contains(&nth) => ReceiverBehavior::Hang,
                0..12 => respond("500 Internal Server Error"),
                12..18 => respond("429 Too Many Requests"),
                18..25 => ReceiverBehavior::HangUp,
                _ => respond("204 No Content"),
            })
            .collect();
        self.receiver.queue(self.planned.iter().cloned());
    }

    /// Stops it and starts it again at its address.
    fn restart(mut self) -> Self {
        let Self { receiver, mut before, planned, .. } = self;
        let addr = receiver.addr;
        before.extend(receiver.arrivals().into_iter().zip(planned));
        drop(receiver);
        self = Self { receiver: Receiver::start_at(addr), random: self.random, before, planned: Vec::new() };
        self.plan(false);
        self
    }

    /// Stops it. Returns each complete request with the response to it.
    fn stop(self) -> Vec<(Arrival, ReceiverBehavior)> {
        let Self { receiver, mut before, mut planned, .. } = self;
        let arrivals = receiver.arrivals();
        planned.resize(arrivals.len().max(planned.len()), accepted());
        before.extend(arrivals.into_iter().zip(planned));
        before.retain(|(arrival, _)| arrival.complete);
        before
    }
}

fn accepted() -> ReceiverBehavior {
    ReceiverBehavior::Respond("204 No Content", Vec::new())
}

const fn is_accepted(behavior: &ReceiverBehavior) -> bool {
    matches!(behavior, ReceiverBehavior::Respond(status, _) if status.as_bytes()[0] == b'2')
}

/// Returns the number of events that the page's store has committed.
fn committed(site: &Site) -> usize {
    let rows = site.stats().sql("SELECT COALESCE(SUM(rows), 0) FROM segment");
    usize::try_from(rows[0][0].as_u64().unwrap()).unwrap()
}

/// Has visitors follow a link. Returns once the page's store has committed it.
fn click(site: &Site) -> usize {
    let (before, link) = (committed(site), site.link(0));
    let follow = |connection, nth| {
        // A visitor who clicks often is not counted.
        let request = person(&link).header("CF-Connecting-IP", &format!("198.51.{connection}.{nth}"));
        assert_eq!(site.send(&request).status, 302);
    };
    thread::scope(|scope| {
        for connection in 0..CONNECTIONS {
            let follow = &follow;
            scope.spawn(move || (0..CLICKS).for_each(|nth| follow(connection, nth)));
        }
    });
    until(|| committed(site) >= before + CONNECTIONS * CLICKS);
    CONNECTIONS * CLICKS
}

/// Lets time pass until everything is delivered.
fn drain(site: &Site) {
    let waiting = || {
        site.stored_deliveries()
            .iter()
            .any(|one| !["delivered", "failed"].contains(&one["state"].as_str().unwrap()))
    };
    until(|| site.stats().sql("SELECT COUNT(*) FROM outbox")[0][0] == 0);
    while waiting() {
        site.settle();
        site.pass_time(LATER_MS);
    }
}

/// Returns the ids of the events of a request.
fn events_of(arrival: &Arrival) -> Vec<String> {
    let mut body = arrival.json();
    let events = match body["type"] == "batch" {
        true => body["data"]["events"].take(),
        false => json!([body]),
    };
    events.as_array().unwrap().iter().map(|event| event["id"].as_str().unwrap().to_owned()).collect()
}

/// Returns the number of attempts, and of those after an attempt whose 2xx was recorded.
fn count_attempts(deliveries: &[Value], hook: &Hook) -> (usize, usize) {
    let (mut all, mut repeated) = (0, 0);
    for delivery in deliveries.iter().filter(|delivery| delivery["endpoint"] == hook.id.as_str()) {
        let attempts = delivery["attempts"].as_array().unwrap();
        let is_success = |attempt: &Value| attempt["status"].as_u64().is_some_and(|status| status / 100 == 2);
        all += attempts.len();
        repeated += attempts.iter().skip_while(|attempt| !is_success(attempt)).skip(1).count();
    }
    (all, repeated)
}

#[test]
fn soak_loses_no_committed_event() {
    let site = Site::start_stored();
    let (mut single, mut auto) = (Unreliable::start(SEED), Unreliable::start(SEED + 1));
    let hooks = [
        site.hook(&single.receiver, json!({"mode": "single"})),
        site.hook(&auto.receiver, json!({"mode": "auto"})),
    ];
    let (mut site, mut clicks) = (site, 0);
    for round in 0..ROUNDS {
        match round {
            1 => site.faults.set_once(WEBHOOKS, Fate::LoseReply),
            2 | 5 => (single, auto) = (single.restart(), auto.restart()),
            4 => {
                site.faults.set_once(WEBHOOKS, Fate::Restart);
                site.faults.set_once(STATS, Fate::Restart);
            }
            _ => {}
        }
        clicks += click(&site);
        if round % 2 == 1 {
            site = site.restart();
        }
    }
    drain(&site);

    let (logged, deliveries) = (site.logged(), site.stored_deliveries());
    assert_eq!((committed(&site), logged.len()), (clicks, clicks));
    let ids: BTreeSet<_> = logged.iter().map(|event| event["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(ids.len(), clicks);
    for (receiver, hook) in [single, auto].into_iter().zip(&hooks) {
        let (attempts, repeated) = count_attempts(&deliveries, hook);
        let arrivals = receiver.stop();
        let (mut accepted, mut again) = (BTreeMap::new(), 0);
        let mut arrived = BTreeSet::new();
        for (arrival, behavior) in &arrivals {
            assert!(arrival.verify(&hook.secret).is_ok());
            let id = arrival.header("webhook-id").unwrap();
            again += usize::from(accepted.contains_key(id));
            if is_accepted(behavior) {
                accepted.insert(id, ());
                arrived.extend(events_of(arrival));
            }
        }
        let lost = ids.difference(&arrived).count();
        println!(
            "{clicks} events committed, {lost} lost, {} deliveries, {attempts} attempts, {repeated} after a 2xx that was recorded, \
             {} requests, {again} after a 2xx that was sent",
            accepted.len(),
            arrivals.len(),
        );
        assert_eq!(lost, 0);
        assert!(repeated * 1_000 < attempts, "{repeated} of {attempts}");
    }
}
