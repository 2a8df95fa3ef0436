//! The number of requests to objects, which are what a call costs, and what objects leave behind.

use serde_json::{Value, json};
use shared::caller;
use tests::{
    faults::{Faults, METER},
    http::{Request, Response},
    keys,
    objects::Object,
    stack::{Edge, NOWHERE},
};

use super::world::World;

const ADDRESS: &str = "192.0.2.9";

impl World {
    /// Issues a key that its meter knows. The very first call of a key asks the meter twice, because
    /// KV is read only once the meter has said that it does not know the key.
    fn issue_known(&self, tier: &str) -> (String, String) {
        let (key, id) = self.edge.issue(tier);
        assert_eq!(Request::get("/v1/keys/me").key(&key).send(self.edge.addr).status, 200);
        (key, id)
    }

    /// Returns the fewest requests to its meter that a run with a new key takes, of three runs: on a busy machine a
    /// response may come later than a hedged request is sent.
    fn meter_requests(&self, tier: &str, run: impl Fn(&str, &str)) -> usize {
        let requests = (0..3).map(|_| {
            let (key, id) = self.issue_known(tier);
            let before = self.faults.count(METER);
            run(&key, &id);
            self.faults.count(METER) - before
        });
        requests.min().unwrap()
    }

    /// Returns what the meter of a key knows, past the count of requests.
    fn meter(&self, id: &str) -> Value {
        Object::meter(&self.edge, id).send(&json!({"show": {}})).json()["show"].take()
    }
}

fn list_keys(edge: &Edge, secret: &str) -> Response {
    let request = Request::get("/v1/keys").header("Authorization", &format!("Bearer {secret}"));
    request.header("CF-Connecting-IP", ADDRESS).send(edge.addr)
}

/// Returns true if the object has stored a state.
fn is_stored(object: &Object<'_>) -> bool {
    object.sql("SELECT count(*) FROM sqlite_master WHERE name = 'state'")[0][0] == 1
}

/// The meter tallies each call as it admits it, so there is nothing left to report.
#[test]
fn successful_free_call_is_one_object_request() {
    let world = World::start();
    let requests = world.meter_requests("free", |key, id| {
        for call in 1..=8 {
            assert_eq!(Request::get("/v1/idea/generate").key(key).send(world.edge.addr).status, 200);
            let state = world.meter(id);
            assert_eq!(
                (&state["tally"]["by_status"], state["day_used"].as_u64()),
                (&json!({"200": call}), Some(call))
            );
            assert_eq!(state["tally"]["by_tool"], json!({"idea": call}));
        }
    });
    assert_eq!(requests, 8);
}

/// A lease would cost the report of its end.
#[test]
fn first_paid_call_is_one_object_request_and_takes_no_lease() {
    let world = World::start();
    for tier in ["pro", "enterprise"] {
        let requests = world.meter_requests(tier, |key, id| {
            assert_eq!(Request::get("/v1/idea/generate").key(key).send(world.edge.addr).status, 200);
            let state = world.meter(id);
            assert_eq!(
                (&state["tally"]["by_status"], &state["reserved"]),
                (&json!({"200": 1}), &json!(0)),
                "{tier}"
            );
        });
        assert_eq!(requests, 1, "{tier}");
    }
}

/// The next call carries what the one before ended with.
#[test]
fn other_outcome_travels_with_the_next_call() {
    let world = World::start();
    let requests = world.meter_requests("free", |key, id| {
        for _ in 0..4 {
            let call = Request::get("/v1/pdf/status?code=404").key(key);
            assert_eq!(call.send(world.edge.addr).status, 404);
        }
        assert_eq!(world.meter(id)["tally"]["by_status"], json!({"200": 1, "404": 3}));
        let me = Request::get("/v1/keys/me").key(key).send(world.edge.addr).json();
        assert_eq!(me["today"]["by_status"], json!({"404": 4}), "reading carries it too");
    });
    assert_eq!(requests, 5, "one for each call, and one for the reading");
}

#[test]
fn refused_admin_secrets_cost_no_object_request() {
    let faults = Faults::start();
    let edge = Edge::start_with_faults(NOWHERE, &faults);
    let before = faults.count(METER);
    let statuses: Vec<u16> = (0..60).map(|_| list_keys(&edge, "wrong").status).collect();
    assert_eq!(statuses, [[403; 10].as_slice(), &[429; 50]].concat());
    assert_eq!(faults.count(METER) - before, 10, "the isolate refuses the eleventh itself");
    assert_eq!(list_keys(&edge, keys::ADMIN_SECRET).status, 429, "a right guess looks the same");
}

#[test]
fn object_that_counts_attempts_deletes_itself() {
    let faults = Faults::start();
    let edge = Edge::start_with_faults(NOWHERE, &faults);
    let name = caller::name(Some(ADDRESS), &keys::signing());
    let object = Object::meter(&edge, &name);
    assert_eq!(list_keys(&edge, keys::ADMIN_SECRET).status, 200);
    assert!(!is_stored(&object), "a right secret leaves nothing");

    for _ in 0..9 {
        assert_eq!(list_keys(&edge, "wrong").status, 403);
    }
    assert!(!is_stored(&object) && object.alarm().is_none(), "nine wrong ones are in memory");
    assert_eq!(list_keys(&edge, "wrong").status, 403);
    assert!(is_stored(&object) && object.alarm().is_some());
    object.run_alarm();
    assert!(is_stored(&object), "it still counts");

    object.sql("UPDATE state SET j = json_set(j, '$.usage.minute', json('[]'), '$.usage.day_used', 0)");
    object.restart();
    object.run_alarm();
    assert!(!is_stored(&object));
}

fn attempt_from(edge: &Edge, address: &str, secret: &str) -> Response {
    let request = Request::get("/v1/keys").header("Authorization", &format!("Bearer {secret}"));
    request.header("CF-Connecting-IP", address).send(edge.addr)
}

/// The prices of the platform, in dollars per million: worker requests, object requests and rows.
const PRICES: [(&str, f64); 3] =
    [("worker_requests", 0.30), ("object_requests", 0.15), ("object_rows_written", 1.00)];

/// Returns what the edge has cost so far, in dollars, times a million.
fn cost(edge: &Edge) -> f64 {
    let counters = edge.counters();
    let addr = counters.strip_prefix("http://").unwrap().parse().unwrap();
    let operations = Request::get("/").send(addr).json()["operations"].take();
    PRICES.iter().map(|(name, price)| operations[name].as_f64().unwrap() * price).sum()
}

/// However many of them each new address sends.
#[test]
fn million_wrong_admin_secrets_cost_less_than_a_dollar() {
    for each in [1, 5, 10, 11] {
        let edge = Edge::start_with_counters(NOWHERE);
        let (before, addresses) = (cost(&edge), 220 / each);
        for n in 0..addresses {
            // Each address is in its own network.
            let address = format!("198.51.{n}.9");
            for sent in 1..=each {
                let expected = if sent > 10 { 429 } else { 403 };
                assert_eq!(attempt_from(&edge, &address, "wrong").status, expected, "{address}, {sent}");
            }
        }
        let of_one = (cost(&edge) - before) / f64::from(addresses * each);
        assert!(of_one < 1.0, "${of_one:.2} a million with {each} from each address");
    }
}

/// A wrong secret beyond the limit of its network, from an address that has sent none.
#[test]
fn network_of_many_wrong_admin_secrets_is_429() {
    let edge = Edge::start(NOWHERE);
    let mut taken = 0;
    for n in 0..250 {
        let refused = attempt_from(&edge, &format!("2001:db8:7:{n:x}::1"), "wrong");
        assert!(matches!(refused.status, 403 | 429), "{}", refused.text());
        taken += usize::from(refused.status == 403);
    }
    // The count begins anew with each minute.
    assert!(matches!(taken, 100..=200), "{taken}");
    let elsewhere = attempt_from(&edge, "2001:db8:8::1", keys::ADMIN_SECRET);
    assert_eq!(elsewhere.status, 200, "{}", elsewhere.text());
}

/// Sends requests until one is 429. Returns how many came before it, and the refusal.
fn until_429(limit: usize, mut send: impl FnMut() -> Response) -> (usize, Response) {
    for passed in 0..=limit {
        let response = send();
        if response.status == 429 {
            return (passed, response);
        }
    }
    panic!("{limit} requests passed");
}

/// The counts begin anew with each minute, so up to twice as many pass.
#[test]
fn free_key_that_rotates_in_a_loop_is_429() {
    let edge = Edge::start(NOWHERE);
    let (mut key, _) = edge.issue("free");
    let (passed, refused) = until_429(60, || {
        let rotated = Request::new("POST", "/v1/keys/me/rotate").key(&key).send(edge.addr);
        if rotated.status == 200 {
            key = rotated.json()["key"].as_str().unwrap().to_owned();
        }
        rotated
    });
    assert_eq!((refused.status, refused.code().as_str()), (429, "too-many-requests"), "{}", refused.text());
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!(passed >= 30 && (1..=60).contains(&wait), "{passed}, {wait}");
    assert_eq!(Request::get("/v1/keys/me").key(&key).send(edge.addr).status, 200, "the newest key works");
    let (other, _) = edge.issue("free");
    let elsewhere = Request::new("POST", "/v1/keys/me/rotate").key(&other).send(edge.addr);
    assert_eq!(elsewhere.status, 200, "another key has its own count");
}

/// A bio-link call of a key without the plan counts with them.
#[test]
fn key_that_reads_its_state_1000_times_a_minute_is_429() {
    let edge = Edge::start(NOWHERE);
    let (key, _) = edge.issue("free");
    for (path, least) in [("/v1/keys/me", 1_000), ("/pages", 0)] {
        let (passed, refused) = until_429(2_000, || Request::get(path).key(&key).send(edge.addr));
        assert_eq!(refused.code(), "too-many-requests", "{}", refused.text());
        assert!(passed >= least && refused.header("retry-after").is_some(), "{path}: {passed}");
    }
}

#[test]
fn unknown_key_leaves_no_object() {
    let faults = Faults::start();
    let edge = Edge::start_with_faults(NOWHERE, &faults);
    let (key, id) = keys::issued_at(shared::tier::Tier::Free, keys::now().minus(2 * 3_600_000));
    assert_eq!(Request::get("/v1/idea/generate").key(&key).send(edge.addr).code(), "key-invalid");
    assert!(!is_stored(&Object::meter(&edge, &id.to_string())));
}
