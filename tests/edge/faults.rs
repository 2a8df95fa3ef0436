//! Every failure of a dependency has a decided outcome, and what costs a dependency something is counted.

use std::thread;

use serde_json::json;
use shared::{key::ApiKey, tier::Tier};
use tests::{
    faults::{Fate, Faults, KV_GET, KV_PUT, METER},
    http::{Request, Response},
    keys,
    process::wait_for,
    stack::{Edge, PROBE_BOUND, Proxy, Tools},
    vector::Credential,
};

struct World {
    edge: Edge,
    faults: Faults,
    _proxy: Proxy,
    _tools: Tools,
}

impl World {
    fn start() -> Self {
        let tools = Tools::start();
        let proxy = Proxy::start(&tools, "");
        let faults = Faults::start();
        let edge = Edge::start_with_faults(&proxy.url(), &faults);
        Self { edge, faults, _proxy: proxy, _tools: tools }
    }

    fn call(&self, key: &str) -> Response {
        Request::get("/v1/idea/generate").key(key).send(self.edge.addr)
    }

    fn usage(&self, key: &str) -> serde_json::Value {
        Request::get("/v1/keys/me").key(key).send(self.edge.addr).json()
    }
}

#[test]
fn garbage_and_forged_keys_cost_no_store_read_and_no_object_call() {
    let world = World::start();
    let (live, _) = world.edge.issue("free");
    let before = (world.faults.count(KV_GET), world.faults.count(METER));
    let mistyped = keys::present(Credential::Mistyped, &live).unwrap();
    for key in ["x", "utg_live_", &"a".repeat(79), &mistyped, &keys::forged()] {
        for _ in 0..5 {
            assert_eq!(world.call(key).status, 401);
        }
    }
    assert_eq!((world.faults.count(KV_GET), world.faults.count(METER)), before);
}

#[test]
fn a_fresh_key_works_at_once_though_kv_keeps_saying_no() {
    let world = World::start();
    world.faults.set(KV_GET, Fate::Absent);
    for tier in ["free", "pro", "enterprise"] {
        let (key, _) = world.edge.issue(tier);
        for _ in 0..5 {
            let answer = world.call(&key);
            assert_eq!(answer.status, 200, "{tier}: {}", answer.text());
        }
    }
}

#[test]
fn a_store_that_fails_is_503_for_a_key_nobody_knows_and_never_401() {
    let world = World::start();
    let (warm, _) = world.edge.issue("pro");
    assert_eq!(world.call(&warm).status, 200);
    world.faults.set(KV_GET, Fate::Fail);
    assert_eq!(world.call(&warm).status, 200, "its meter knows it");
    let (cold, _) = world.edge.issue("free");
    let answer = world.call(&cold);
    assert!(answer.status == 200 || answer.code() == "key-store-unavailable", "{}", answer.text());
}

#[test]
fn without_its_meter_free_waits_and_paid_goes_on_degraded_and_is_counted_later() {
    let world = World::start();
    let (free, _) = world.edge.issue("free");
    let (pro, _) = world.edge.issue("pro");
    assert_eq!((world.call(&free).status, world.call(&pro).status), (200, 200));
    wait_for(PROBE_BOUND * 2, || (world.usage(&pro)["usage"]["day"]["used"] == 1).then_some(()));
    world.faults.set(METER, Fate::Hang);
    let waits = world.call(&free);
    assert_eq!((waits.status, waits.code().as_str()), (503, "meter-unavailable"));
    assert!(waits.header("retry-after").unwrap().parse::<u64>().unwrap() >= 1);
    let degraded = wait_for(PROBE_BOUND, || {
        Some(world.call(&pro)).filter(|answer| answer.header("x-gateway-degraded").is_some())
    });
    assert_eq!((degraded.status, degraded.header("x-gateway-degraded")), (200, Some("meter")));
    world.faults.set(METER, Fate::Pass);
    // All that passed meanwhile is counted, and the free key goes on where it was.
    wait_for(PROBE_BOUND * 2, || {
        world.usage(&pro)["usage"]["day"]["used"].as_u64().filter(|&used| used >= 2)
    });
    wait_for(PROBE_BOUND, || (world.call(&free).status == 200).then_some(()));
}

#[test]
fn a_meter_that_fails_once_is_asked_again_and_one_that_is_overloaded_is_not() {
    let world = World::start();
    let (key, _) = world.edge.issue("free");
    world.faults.set(METER, Fate::FailOnce);
    assert_eq!(world.call(&key).status, 200);
    let (other, _) = world.edge.issue("free");
    let before = world.faults.count(METER);
    world.faults.set(METER, Fate::Overloaded);
    assert_eq!(world.call(&other).code(), "meter-unavailable");
    assert_eq!(world.faults.count(METER), before + 1);
}

#[test]
fn a_changed_record_reaches_a_store_that_fails_at_first() {
    let world = World::start();
    let (_, id) = world.edge.issue("free");
    let written = world.faults.count(KV_PUT);
    world.faults.set(KV_PUT, Fate::FailOnce);
    let change = Request {
        method: "PATCH".to_owned(),
        ..Request::post(&format!("/v1/keys/{id}"), &json!({ "tier": "pro" }))
    };
    let bearer = format!("Bearer {}", keys::ADMIN_SECRET);
    assert_eq!(change.header("Authorization", &bearer).send(world.edge.addr).status, 200);
    wait_for(PROBE_BOUND, || {
        let listed = Request::get("/v1/keys").header("Authorization", &bearer).send(world.edge.addr).json();
        (listed["keys"][0]["tier"] == "pro").then_some(())
    });
    assert_eq!(world.faults.count(KV_PUT), written + 2, "one that failed, one that did not");
}

#[test]
fn a_rotation_asks_the_store_and_the_meter_once() {
    let world = World::start();
    let (_, id) = world.edge.issue("free");
    let bearer = format!("Bearer {}", keys::ADMIN_SECRET);
    let request = |method: &str, path: &str| {
        let request = Request::post(path, &json!({ "tier": "pro" })).header("Authorization", &bearer);
        assert_eq!(Request { method: method.to_owned(), ..request }.send(world.edge.addr).status, 200);
    };
    request("PATCH", &format!("/v1/keys/{id}"));
    // Each administrative call also counts an attempt at the admin secret, and takes it back when it is answered.
    wait_for(PROBE_BOUND, || (world.faults.count(METER) == 2 + 3).then_some(()));
    let read = world.faults.count(KV_GET);
    let rotate = Request::new("POST", &format!("/v1/keys/{id}/rotate")).header("Authorization", &bearer);
    let rotated = rotate.send(world.edge.addr);
    assert_eq!(rotated.status, 200, "{}", rotated.text());
    let key = rotated.json()["key"].as_str().unwrap().to_owned();
    let text = ApiKey::parse(&key).unwrap().verify(&keys::signing()).unwrap();
    assert_eq!(text.issued_tier, Tier::Pro, "the new text says the tier of today");
    wait_for(PROBE_BOUND, || (world.faults.count(METER) >= 5 + 3).then_some(()));
    assert_eq!((world.faults.count(KV_GET), world.faults.count(METER)), (read + 1, 5 + 3));
}

#[test]
fn a_lease_spares_paid_calls_the_way_to_the_meter() {
    let world = World::start();
    let (key, _) = world.edge.issue("enterprise");
    let before = world.faults.count(METER);
    for _ in 0..100 {
        assert_eq!(world.call(&key).status, 200);
    }
    let asked = world.faults.count(METER) - before;
    assert!(asked <= 40, "{asked} messages for 100 calls");
}

/// 500 calls of one key over 8 connections at once: how many passed and how many were refused.
fn flood(world: &World, key: &str) -> (usize, usize) {
    let statuses: Vec<u16> = thread::scope(|scope| {
        let connection = |calls: usize| {
            scope.spawn(move || (0..calls).map(|_| world.call(key).status).collect::<Vec<_>>())
        };
        let connections: Vec<_> = [63, 63, 63, 63, 62, 62, 62, 62].map(connection).into();
        connections.into_iter().flat_map(|connection| connection.join().unwrap()).collect()
    });
    let count = |status: u16| statuses.iter().filter(|other| **other == status).count();
    assert_eq!(statuses.len(), 500);
    (count(200), count(429))
}

#[test]
fn five_hundred_parallel_calls_on_a_fresh_pro_key_admit_exactly_a_hundred() {
    let world = World::start();
    let (key, _) = world.edge.issue("pro");
    assert_eq!(flood(&world, &key), (100, 400));
}

#[test]
fn the_same_holds_when_the_object_is_restarted_in_the_middle() {
    let world = World::start();
    let (key, _) = world.edge.issue("pro");
    let before = world.faults.count(METER);
    let outcome = thread::scope(|scope| {
        let flood = scope.spawn(|| flood(&world, &key));
        wait_for(PROBE_BOUND, || (world.faults.count(METER) > before).then_some(()));
        world.faults.set(METER, Fate::RestartOnce);
        flood.join().unwrap()
    });
    assert!(world.faults.count(METER) > before + 1, "the object was asked after its restart");
    assert_eq!(outcome, (100, 400));
}
