//! Rotation of a signing secret while events are delivered.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use serde_json::{Value, json};
use tests::receiver::{Receiver, ReceiverBehavior};

use super::{
    hooks::Hook,
    pages::until,
    site::{Site, person},
};

const ROTATIONS: usize = 6;
/// Deliveries between two steps.
const STEP: usize = 15;
/// Clicks that are not delivered yet, at most.
const AHEAD: usize = 30;

/// Follows a link again and again until `stop`. Returns the number of clicks.
fn click_steadily(site: &Site, receiver: &Receiver, stop: &AtomicBool) -> usize {
    let (link, mut clicks) = (site.link(0), 0);
    while !stop.load(Ordering::Relaxed) {
        // A visitor who clicks so often is not counted.
        let address = format!("198.51.{}.{}", clicks / 256, clicks % 256);
        let request = person(&link).header("CF-Connecting-IP", &address);
        assert_eq!(site.send(&request).status, 302);
        clicks += 1;
        until(|| stop.load(Ordering::Relaxed) || clicks < receiver.count() + AHEAD);
    }
    clicks
}

/// Waits for a step's deliveries.
fn wait_for_step(receiver: &Receiver) {
    let count = receiver.count();
    until(|| receiver.count() >= count + STEP);
}

/// Rotates. The receiver takes the new secret only after a while.
fn rotate(site: &Site, receiver: &Receiver, hook: &Hook) {
    let path = format!("/webhooks/{}/secret/rotate", hook.id);
    let response = site.call("POST", &path, &json!({"grace_period_seconds": 3_600}));
    assert_eq!(response.status, 200, "{}", response.text());
    wait_for_step(receiver);
    receiver.set(ReceiverBehavior::Verify(response.json()["secret"].as_str().unwrap().to_owned()));
    wait_for_step(receiver);
}

/// The grace period of the older secrets ends. The object may store its state once more before it is
/// restarted, and so undo the change.
fn expire_old_secrets(site: &Site) {
    let is_expired = |secret: &Value| secret["expires_at"] == json!(1);
    until(|| {
        site.change_endpoints(|endpoint| {
            for secret in endpoint["secrets"].as_array_mut().unwrap().iter_mut().skip(1) {
                secret["expires_at"] = json!(1);
            }
        });
        let endpoints = site.stored_endpoints();
        endpoints
            .iter()
            .all(|endpoint| endpoint["secrets"].as_array().unwrap().iter().skip(1).all(is_expired))
    });
}

/// Stops the clicks when it is dropped, also by a test that fails.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn rotation_under_load_fails_no_verification() {
    let (site, receiver) = (Site::start(), Receiver::start());
    let hook = site.hook(&receiver, json!({"events": ["click"], "mode": "single"}));
    receiver.set(ReceiverBehavior::Verify(hook.secret.clone()));
    let stop = AtomicBool::new(false);
    let clicks = thread::scope(|scope| {
        let clicks = scope.spawn(|| click_steadily(&site, &receiver, &stop));
        let running = StopOnDrop(&stop);
        wait_for_step(&receiver);
        for rotation in 1..=ROTATIONS {
            rotate(&site, &receiver, &hook);
            // Every second time three secrets are live.
            if rotation % 2 == 0 {
                expire_old_secrets(&site);
                wait_for_step(&receiver);
            }
        }
        drop(running);
        clicks.join().unwrap()
    });
    until(|| site.logged().len() == clicks);
    site.settle();
    let deliveries = site.stored_deliveries();
    let attempts: Vec<_> =
        deliveries.iter().flat_map(|delivery| delivery["attempts"].as_array().unwrap()).collect();
    let refused = attempts.iter().filter(|attempt| attempt["status"] != 204).count();
    let signatures = |count: usize| {
        let of = |header: &str| header.split(' ').count();
        let arrivals = receiver.arrivals();
        arrivals.iter().filter(|arrival| of(arrival.header("webhook-signature").unwrap()) == count).count()
    };
    println!(
        "{ROTATIONS} rotations, {clicks} clicks, {} attempts with 1, 2 and 3 signatures ({}, {}, {}), {refused} refused",
        attempts.len(),
        signatures(1),
        signatures(2),
        signatures(3),
    );
    assert_eq!(deliveries.len(), clicks);
    assert_eq!(refused, 0, "{attempts:?}");
    assert!((1..=3).all(|count| signatures(count) >= STEP));
}
