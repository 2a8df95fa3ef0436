//! A receiver that is down for days. Time is data: what the webhooks have stored becomes older.

use std::collections::BTreeSet;

use serde_json::json;
use tests::receiver::{Receiver, ReceiverBehavior};

use super::{pages::until, site::Site};

const MINUTE_MS: u64 = 60_000;
const STEP_MINUTES: u64 = 30;
const OUTAGE_MINUTES: u64 = 72 * 60;
/// An event happens so often.
const EVENT_MINUTES: u64 = 12 * 60;
/// An attempt just before the end of the outage is followed by the next one within 30 hours.
const MAX_MINUTES: u64 = OUTAGE_MINUTES + 31 * 60;

#[test]
fn receiver_that_is_down_for_three_days_gets_everything() {
    let (site, receiver) = (Site::start(), Receiver::start());
    let hook = site.hook(&receiver, json!({"mode": "single"}));
    receiver.set(ReceiverBehavior::HangUp);
    let (mut minutes, mut events) = (0, 0);
    while minutes < OUTAGE_MINUTES {
        if minutes % EVENT_MINUTES == 0 {
            for path in [site.path.clone(), site.link(0), site.code()] {
                site.visit(&path);
            }
            events += 3;
            until(|| site.logged().len() == events);
        }
        site.settle();
        site.pass_time(STEP_MINUTES * MINUTE_MS);
        minutes += STEP_MINUTES;
    }
    site.settle();
    let endpoint = site.get(&format!("/webhooks/{}", hook.id));
    assert_eq!(endpoint["health"]["circuit"], "open", "{endpoint}");
    assert_eq!(endpoint["warnings"][0]["percent"], 50, "{endpoint}");
    let during = receiver.count();

    receiver.respond("204 No Content");
    let back = minutes;
    let waiting = || site.stored_deliveries().iter().filter(|one| one["state"] != "delivered").count();
    let mut after_an_hour = events;
    while waiting() > 0 {
        assert!(minutes < MAX_MINUTES, "{:?}", site.stored_deliveries());
        site.pass_time(STEP_MINUTES * MINUTE_MS);
        minutes += STEP_MINUTES;
        site.settle();
        if minutes == back + 60 {
            after_an_hour = waiting();
        }
    }
    let arrivals = receiver.arrivals();
    println!(
        "{events} events, {during} attempts in {} hours of outage; {after_an_hour} events left an hour after it, all delivered within {} hours",
        OUTAGE_MINUTES / 60,
        (minutes - back) / 60,
    );
    let logged = site.logged();
    let expected: BTreeSet<_> = logged.iter().map(|event| event["id"].as_str()).collect();
    let arrived: BTreeSet<_> =
        arrivals[during..].iter().map(|arrival| arrival.header("webhook-id")).collect();
    assert_eq!((expected.len(), &arrived), (events, &expected));
    assert_eq!(arrivals.len(), during + events, "each arrives once after the outage");
    for arrival in &arrivals {
        assert!(arrival.verify(&hook.secret).is_ok());
    }
    for delivery in site.stored_deliveries() {
        assert!(delivery["attempts"].as_array().unwrap().len() <= 10, "{delivery}");
    }
    let endpoint = site.get(&format!("/webhooks/{}", hook.id));
    assert_eq!(
        (&endpoint["status"], &endpoint["health"]["circuit"]),
        (&json!("enabled"), &json!("closed")),
        "{endpoint}"
    );
}
