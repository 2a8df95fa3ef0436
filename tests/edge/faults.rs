//! Failures of the edge's dependencies, and the number of requests that it makes to them.

use std::thread;

use serde_json::json;
use shared::{key::ApiKey, tier::Tier};
use tests::{
    faults::{Fate, Faults, KV_GET, KV_PUT, METER},
    http::{Request, Response},
    keys,
    objects::Object,
    stack::{Edge, PROBE_BOUND, shared_origin},
    vector::Credential,
    wait::wait_for,
};

use super::world::World;

impl World {
    fn usage(&self, key: &str) -> serde_json::Value {
        Request::get("/v1/keys/me").key(key).send(self.edge.addr).json()
    }
}

/// Keys that are malformed, mistyped or forged are refused by their text alone.
#[test]
fn forged_keys_cost_no_store_read_and_no_meter_request() {
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

/// With one origin it is that of the timer, which the head of the response stops.
#[test]
fn call_makes_one_abort_controller() {
    for (others, expected) in [(0, 3), (1, 3)] {
        let faults = Faults::start();
        let origins = vec![shared_origin(); others + 1].join(",");
        let edge = Edge::start_with_faults(&origins, &faults);
        let (key, _) = edge.issue("pro");
        for _ in 0..3 {
            assert_eq!(Request::get("/v1/idea/generate").key(&key).send(edge.addr).status, 200);
        }
        let made = Request::get("/test/controllers").send(edge.addr).text();
        assert_eq!(made, expected.to_string(), "for 3 calls with {others} other origins");
    }
}

/// KV may report a new record as absent for a while. The meter of a key issued within the last hour
/// admits it by its MAC.
#[test]
fn fresh_key_is_admitted_while_kv_reports_it_absent() {
    let world = World::start();
    world.faults.set(KV_GET, Fate::Absent);
    for tier in ["free", "pro", "enterprise"] {
        let (key, _) = world.edge.issue(tier);
        for _ in 0..5 {
            let response = world.call(&key);
            assert_eq!(response.status, 200, "{tier}: {}", response.text());
        }
    }
}

/// Reads that are late are waited for, within their limit.
#[test]
fn late_kv_is_waited_for_and_hanging_kv_is_503() {
    let world = World::start();
    let (known, _) = world.edge.issue("free");
    assert_eq!(world.call(&known).status, 200);
    for (fate, expected) in
        [(Fate::Far { ms: 300 }, (401, "key-invalid")), (Fate::Hang, (503, "key-store-unavailable"))]
    {
        world.faults.set(KV_GET, fate);
        let (old, _) = keys::issued_at(Tier::Pro, keys::now().minus(2 * 3_600_000));
        let refused = world.call(&old);
        assert_eq!((refused.status, refused.code().as_str()), expected, "{fate:?}");
        assert_eq!(world.call(&known).status, 200, "{fate:?}: its meter has its record");
    }
}

/// The administrator cannot know whether the key is stored. The header makes the retry safe.
#[test]
fn issue_whose_kv_write_fails_can_be_repeated() {
    let world = World::start();
    let body = json!({
        "email": "ada@example.com", "name": "Ada", "tier": "free", "admin_secret": keys::ADMIN_SECRET,
    });
    for fate in [Fate::LoseReply, Fate::Fail, Fate::Hang] {
        let issue = Request::post("/v1/keys/issue", &body).header("Idempotency-Key", &format!("{fate:?}"));
        world.faults.set_once(KV_PUT, fate);
        let refused = issue.send(world.edge.addr);
        let seen = (refused.status, refused.code(), refused.header("retry-after").map(str::to_owned));
        assert_eq!(seen, (503, "key-store-unavailable".to_owned(), Some("1".to_owned())), "{fate:?}");
        let (issued, again) = (issue.send(world.edge.addr), issue.send(world.edge.addr));
        assert_eq!((issued.status, again.status), (201, 201), "{fate:?}: {}", issued.text());
        let key = issued.json()["key"].as_str().unwrap().to_owned();
        assert_eq!(again.json()["key"], key, "{fate:?}");
        assert_eq!(world.call(&key).status, 200, "{fate:?}");
    }
    let listed = Request::get("/v1/keys").header("Authorization", &format!("Bearer {}", keys::ADMIN_SECRET));
    let listed = listed.send(world.edge.addr).json();
    assert_eq!(listed["keys"].as_array().map(Vec::len), Some(3), "{listed}");
}

/// The first key list is copied from KV.
#[test]
fn hanging_kv_is_503_for_the_key_list() {
    let world = World::start();
    world.edge.issue("free");
    let list = Request::get("/v1/keys").header("Authorization", &format!("Bearer {}", keys::ADMIN_SECRET));
    for operation in ["/KEYS/list", KV_GET] {
        world.faults.set_once(operation, Fate::Hang);
        let refused = list.send(world.edge.addr);
        assert_eq!((refused.status, refused.code().as_str()), (503, "key-store-unavailable"), "{operation}");
    }
    assert_eq!(list.send(world.edge.addr).status, 200);
}

/// The meter knows the call that it is asked about again.
#[test]
fn call_whose_meter_reply_is_lost_is_charged_once() {
    let world = World::start();
    let (key, _) = world.edge.issue("free");
    for used in 1..=3 {
        world.faults.set_once(METER, Fate::LoseReply);
        assert_eq!(world.call(&key).status, 200);
        assert_eq!(world.usage(&key)["usage"]["minute"]["used"], used);
    }
}

/// A meter admits a key without a record only within an hour of its issue. This one is two hours
/// old and has no record, so it is 401 only once KV can say so.
#[test]
fn failed_kv_is_503_for_a_key_that_only_kv_could_know() {
    let world = World::start();
    let (known, _) = world.edge.issue("pro");
    assert_eq!(world.call(&known).status, 200);
    let (old, _) = keys::issued_at(Tier::Pro, keys::now().minus(2 * 3_600_000));
    world.faults.set(KV_GET, Fate::Fail);
    assert_eq!(world.call(&known).status, 200, "its meter has its record");
    let (fresh, _) = world.edge.issue("free");
    assert_eq!(world.call(&fresh).status, 200, "its meter admits it by its MAC");
    for _ in 0..2 {
        let refused = world.call(&old);
        assert_eq!((refused.status, refused.code().as_str()), (503, "key-store-unavailable"));
        assert_eq!(refused.header("retry-after"), Some("1"));
    }
    world.faults.set(KV_GET, Fate::Pass);
    let refused = world.call(&old);
    assert_eq!((refused.status, refused.code().as_str()), (401, "key-invalid"), "KV has no record of it");
}

/// Calls that pass while the meter is silent are counted once it responds again, and the free key
/// continues with the usage it had.
#[test]
fn silent_meter_is_503_for_free_and_degraded_for_paid() {
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
        Some(world.call(&pro)).filter(|response| response.header("x-gateway-degraded").is_some())
    });
    assert_eq!((degraded.status, degraded.header("x-gateway-degraded")), (200, Some("meter")));
    world.faults.set(METER, Fate::Pass);
    wait_for(PROBE_BOUND * 2, || {
        world.usage(&pro)["usage"]["day"]["used"].as_u64().filter(|&used| used >= 2)
    });
    wait_for(PROBE_BOUND, || (world.call(&free).status == 200).then_some(()));
}

/// Such a key is never over its limit, whatever its meter does.
#[test]
fn key_that_refuses_without_its_meter_is_503_and_can_be_changed() {
    let world = World::start();
    let bearer = format!("Bearer {}", keys::ADMIN_SECRET);
    let issue = json!({
        "email": "ada@example.com", "name": "Ada", "tier": "pro", "admin_secret": keys::ADMIN_SECRET,
        "when_meter_unreachable": "refuse",
    });
    let issued = Request::post("/v1/keys/issue", &issue).send(world.edge.addr).json();
    assert_eq!(issued["when_meter_unreachable"], "refuse");
    let text = |name: &str| issued[name].as_str().unwrap().to_owned();
    let (key, id) = (text("key"), text("id"));
    let is_degraded = |response: &Response| response.header("x-gateway-degraded").is_some();
    let first_without_meter = || {
        // A call that no lease serves.
        wait_for(PROBE_BOUND * 2, || {
            Some(world.call(&key)).filter(|response| response.status != 200 || is_degraded(response))
        })
    };
    assert_eq!(world.call(&key).status, 200);
    world.faults.set(METER, Fate::Fail);
    let refused = first_without_meter();
    assert_eq!((refused.status, refused.code().as_str()), (503, "meter-unavailable"));

    world.faults.set(METER, Fate::Pass);
    let change = Request {
        method: "PATCH".to_owned(),
        ..Request::post(&format!("/v1/keys/{id}"), &json!({ "when_meter_unreachable": "continue" }))
    };
    let changed = change.header("Authorization", &bearer).send(world.edge.addr).json();
    assert_eq!(changed["when_meter_unreachable"], "continue");
    wait_for(PROBE_BOUND, || (world.call(&key).status == 200).then_some(()));
    world.faults.set(METER, Fate::Fail);
    let degraded = first_without_meter();
    assert_eq!((degraded.status, degraded.header("x-gateway-degraded")), (200, Some("meter")));
}

/// The sum of the local budgets must not grow with the number of isolates.
#[test]
fn isolate_that_never_met_the_meter_of_a_paid_key_is_503() {
    let world = World::start();
    let (key, _) = world.edge.issue("enterprise");
    world.faults.set(METER, Fate::Fail);
    let refused = world.call(&key);
    assert_eq!((refused.status, refused.code().as_str()), (503, "meter-unavailable"));
    world.faults.set(METER, Fate::Pass);
    wait_for(PROBE_BOUND, || (world.call(&key).status == 200).then_some(()));
}

#[test]
fn failed_meter_is_retried_and_overloaded_is_not() {
    let world = World::start();
    let (key, _) = world.edge.issue("free");
    world.faults.set_once(METER, Fate::Fail);
    assert_eq!(world.call(&key).status, 200);
    let (other, _) = world.edge.issue("free");
    let before = world.faults.count(METER);
    world.faults.set(METER, Fate::Overloaded);
    assert_eq!(world.call(&other).code(), "meter-unavailable");
    assert_eq!(world.faults.count(METER), before + 1);
}

#[test]
fn changed_record_is_written_again_after_kv_fails() {
    let world = World::start();
    let (_, id) = world.edge.issue("free");
    let written = world.faults.count(KV_PUT);
    world.faults.set_once(KV_PUT, Fate::Fail);
    let change = Request {
        method: "PATCH".to_owned(),
        ..Request::post(&format!("/v1/keys/{id}"), &json!({ "tier": "pro" }))
    };
    let bearer = format!("Bearer {}", keys::ADMIN_SECRET);
    assert_eq!(change.header("Authorization", &bearer).send(world.edge.addr).status, 200);
    wait_for(PROBE_BOUND, || (world.faults.count(KV_PUT) == written + 2).then_some(()));
    wait_for(PROBE_BOUND, || {
        // What KV has comes with a new copy.
        Object::key_changes(&world.edge).sql("DELETE FROM keys; UPDATE copy SET ended = NULL");
        let listed = Request::get("/v1/keys").header("Authorization", &bearer).send(world.edge.addr).json();
        (listed["keys"][0]["tier"] == "pro").then_some(())
    });
    assert_eq!(world.faults.count(KV_PUT), written + 2, "one that failed, one that did not");
}

/// The new key text carries the current tier.
#[test]
fn rotation_reads_kv_once_and_asks_the_meter_once() {
    let world = World::start();
    let (_, id) = world.edge.issue("free");
    let bearer = format!("Bearer {}", keys::ADMIN_SECRET);
    let request = |method: &str, path: &str| {
        let request = Request::post(path, &json!({ "tier": "pro" })).header("Authorization", &bearer);
        assert_eq!(Request { method: method.to_owned(), ..request }.send(world.edge.addr).status, 200);
    };
    request("PATCH", &format!("/v1/keys/{id}"));
    // Issuing asks the meter of the client's address whether the admin secret may be tried. Each
    // other administrative call asks that, and the key's meter once.
    wait_for(PROBE_BOUND, || (world.faults.count(METER) == 1 + 2).then_some(()));
    let read = world.faults.count(KV_GET);
    let rotate = Request::new("POST", &format!("/v1/keys/{id}/rotate")).header("Authorization", &bearer);
    let rotated = rotate.send(world.edge.addr);
    assert_eq!(rotated.status, 200, "{}", rotated.text());
    let key = rotated.json()["key"].as_str().unwrap().to_owned();
    let text = ApiKey::parse(&key).unwrap().verify(&keys::signing()).unwrap();
    assert_eq!(text.issued_tier, Tier::Pro, "the new text says the tier of today");
    wait_for(PROBE_BOUND, || (world.faults.count(METER) >= 3 + 2).then_some(()));
    assert_eq!((world.faults.count(KV_GET), world.faults.count(METER)), (read + 1, 3 + 2));
}

#[test]
fn lease_saves_paid_calls_the_meter_request() {
    let world = World::start();
    let (key, _) = world.edge.issue("enterprise");
    let before = world.faults.count(METER);
    for _ in 0..100 {
        assert_eq!(world.call(&key).status, 200);
    }
    let asked = world.faults.count(METER) - before;
    assert!(asked <= 40, "{asked} messages for 100 calls");
}

/// A trap ends the wasm instance of the isolate. The next request makes another, with new objects.
#[test]
fn trap_in_wasm_fails_one_request_and_loses_no_count() {
    let world = World::start();
    let (key, _) = world.edge.issue("free");
    for used in [2, 4, 6] {
        assert_eq!(world.call(&key).status, 200);
        assert_eq!(Request::get("/test/trap").send(world.edge.addr).status, 500);
        assert_eq!(world.call(&key).status, 200, "with a new instance");
        assert_eq!(world.usage(&key)["usage"]["minute"]["used"], used);
    }
}

/// Sends calls of one key over 8 parallel connections. Returns how many were 200 and how many 429.
///
/// # Panics
/// If the meter did not respond in time to one of them: such a call passes on the local budget, or is a 503.
fn flood(world: &World, key: &str, calls: usize) -> (usize, usize) {
    let responses: Vec<Response> = thread::scope(|scope| {
        let connection = |number: usize| {
            let calls = (number..calls).step_by(8);
            scope.spawn(move || calls.map(|_| world.call(key)).collect::<Vec<_>>())
        };
        let connections: Vec<_> = (0..8).map(connection).collect();
        connections.into_iter().flat_map(|connection| connection.join().unwrap()).collect()
    });
    let is_timely = |response: &&Response| {
        matches!(response.status, 200 | 429) && response.header("x-gateway-degraded").is_none()
    };
    let timely = responses.iter().filter(is_timely).count();
    assert_eq!((responses.len(), timely), (calls, calls), "the meter responds to every call in time");
    let count = |status: u16| responses.iter().filter(|response| response.status == status).count();
    (count(200), count(429))
}

#[test]
fn parallel_calls_on_a_fresh_pro_key_admit_exactly_100() {
    let world = World::start();
    let (key, _) = world.edge.issue("pro");
    assert_eq!(flood(&world, &key, 500), (100, 400));
}

/// The stored row of the meter holds every call that was admitted before.
#[test]
fn calls_before_and_after_a_meter_restart_admit_exactly_100() {
    let world = World::start();
    let (key, _) = world.edge.issue("pro");
    let (before, _) = flood(&world, &key, 50);
    assert_eq!(before, 50);
    let asked = world.faults.count(METER);
    world.faults.set_once(METER, Fate::Restart);
    assert_eq!(flood(&world, &key, 450), (50, 400));
    assert!(world.faults.count(METER) > asked, "the meter was asked after its restart");
}

/// A lease whose response the restart destroys counts as spent (docs/limits.md), so fewer calls may
/// pass, and never more.
#[test]
fn meter_restart_during_parallel_calls_admits_at_most_100() {
    let world = World::start();
    let (key, _) = world.edge.issue("pro");
    let before = world.faults.count(METER);
    let (admitted, _) = thread::scope(|scope| {
        let flood = scope.spawn(|| flood(&world, &key, 500));
        wait_for(PROBE_BOUND, || (world.faults.count(METER) > before).then_some(()));
        world.faults.set_once(METER, Fate::Restart);
        flood.join().unwrap()
    });
    assert!(world.faults.count(METER) > before + 1, "the meter was asked after its restart");
    assert!((1..=100).contains(&admitted), "{admitted} calls were admitted");
}
