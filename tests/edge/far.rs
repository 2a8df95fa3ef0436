//! Meters that are far away, or take long to be created. The delays are in the messages to the real
//! objects, both ways.

use serde_json::json;
use tests::{
    faults::{Fate, METER},
    http::{Request, Response},
    keys,
    stack::PROBE_BOUND,
    wait::wait_for,
};

use super::world::World;

/// A round trip around the world.
const FAR: Fate = Fate::Far { ms: 400 };

impl World {
    /// Returns the calls counted in the minute and on the day, with all that the isolate has to
    /// report.
    fn used(&self, key: &str) -> (u64, u64) {
        let usage = Request::get("/v1/keys/me").key(key).send(self.edge.addr).json();
        let of = |window: &str| usage["usage"][window]["used"].as_u64().unwrap();
        (of("minute"), of("day"))
    }
}

fn is_degraded(response: &Response) -> bool {
    response.header("x-gateway-degraded").is_some()
}

#[test]
fn free_key_far_from_its_meter_is_200_on_every_call() {
    let world = World::start();
    let (key, _) = world.edge.issue("free");
    world.faults.set(METER, FAR);
    for call in 0..8 {
        let response = world.call(&key);
        assert_eq!(response.status, 200, "call {call}: {}", response.text());
    }
    world.faults.set(METER, Fate::Pass);
    assert_eq!(world.used(&key), (8, 8));
}

#[test]
fn paid_key_far_from_its_meter_comes_to_leases() {
    let world = World::start();
    let (key, _) = world.edge.issue("pro");
    world.faults.set(METER, FAR);
    let mut calls = 0;
    wait_for(PROBE_BOUND, || {
        calls += 1;
        let response = world.call(&key);
        assert_eq!(response.status, 200, "{}", response.text());
        (!is_degraded(&response)).then_some(())
    });
    for _ in 0..20 {
        let response = world.call(&key);
        assert_eq!((response.status, is_degraded(&response)), (200, false), "{}", response.text());
    }
    world.faults.set(METER, Fate::Pass);
    assert_eq!(world.used(&key).1, calls + 20, "each call is counted once");
}

#[test]
fn key_is_issued_and_changed_far_from_every_object() {
    let world = World::start();
    world.faults.set(METER, FAR);
    let (key, _) = world.edge.issue("free");
    assert_eq!(world.call(&key).status, 200);
    assert_eq!(world.used(&key), (1, 1));
    let rotated = Request::new("POST", "/v1/keys/me/rotate").key(&key).send(world.edge.addr);
    assert_eq!(rotated.status, 200, "{}", rotated.text());
}

#[test]
fn first_call_waits_for_the_creation_of_the_meter() {
    let world = World::start();
    for ms in [320, 500, 1_500] {
        let (free, _) = world.edge.issue("free");
        let (pro, _) = world.edge.issue("pro");
        world.faults.set(METER, Fate::Create { ms });
        let response = world.call(&free);
        assert_eq!(response.status, 200, "{ms} ms: {}", response.text());
        assert_eq!(world.call(&pro).status, 200, "{ms} ms");
        assert_eq!((world.used(&free), world.used(&pro).1), ((1, 1), 1), "{ms} ms: each is charged once");
        world.faults.set(METER, Fate::Pass);
    }
}

/// The meter has counted the call before the isolate gives up, and its response comes after.
#[test]
fn call_of_a_503_charges_nothing() {
    let world = World::start();
    let (key, _) = world.edge.issue("free");
    world.faults.set(METER, Fate::Far { ms: 4_000 });
    let refused = world.call(&key);
    assert_eq!((refused.status, refused.code().as_str()), (503, "meter-unavailable"));
    world.faults.set(METER, Fate::Pass);
    assert_eq!(world.used(&key), (0, 0));
    wait_for(PROBE_BOUND, || (world.call(&key).status == 200).then_some(()));
    assert_eq!(world.used(&key), (1, 1));
}

#[test]
fn administrator_who_reads_a_fresh_key_creates_no_meter() {
    let world = World::start();
    let (_, id) = world.edge.issue("free");
    let path = format!("/v1/keys/{id}");
    let bearer = format!("Bearer {}", keys::ADMIN_SECRET);
    let before = world.faults.count(METER);
    let read = || Request::get(&path).header("Authorization", &bearer).send(world.edge.addr);
    assert_eq!(read().status, 200);
    assert!(world.faults.count(METER) <= before + 1, "only the meter of the administrator's address");
    let change = Request { method: "PATCH".to_owned(), ..Request::post(&path, &json!({ "tier": "pro" })) };
    assert_eq!(change.header("Authorization", &bearer).send(world.edge.addr).status, 200);
    assert_eq!(read().json()["tier"], "pro", "the meter is newer than what KV may show");
}
