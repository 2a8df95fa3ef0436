//! The meters of many keys in one request, as a proxy in direct mode that holds leases asks them, and what a meter
//! knows after the runtime has evicted it.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use shared::{
    key::{ApiKey, KeyError, VerifiedKey},
    lease_cache::{Admission, LeaseCache, Step},
    meter::{
        BulkReplies, BulkReply, BulkRequest, HolderAsk, MeterFailure, MeterRequest, MeterResponse, Reply,
        Verdict,
    },
    origin_token::OriginToken,
    secret::MacKeys,
    tier::Tier,
    tool::Tool,
};
use tests::{
    faults::{Fate, Faults, KV_GET, METER},
    http::{Request, Response},
    keys,
    objects::Object,
    stack::{Edge, NOWHERE, Stack},
    wait::{PATIENCE, wait_for},
};

use super::world::World;

fn token(secret: &str) -> String {
    let token = OriginToken { data_center: "fra".to_owned(), issued_at: keys::now() };
    token.sign(&MacKeys::parse(secret).unwrap())
}

fn post(edge: &Edge, body: &str, token: &str) -> Response {
    Request::new("POST", BulkRequest::PATH).json(body).header("Authorization", token).send(edge.addr)
}

fn ask(edge: &Edge, asks: Vec<HolderAsk>) -> Vec<BulkReply> {
    let request = BulkRequest::new(asks).unwrap();
    let response = post(edge, &request.to_json(), &token(keys::GRANT_SECRET));
    assert_eq!(response.status, 200, "{}", response.text());
    BulkReplies::from_json(&response.body, request.asks().len()).unwrap().into_replies()
}

fn responded(reply: BulkReply) -> MeterResponse {
    match reply {
        BulkReply::Reply(Reply::Ask(response)) => response,
        other => panic!("{other:?}"),
    }
}

fn verified(key: &str) -> VerifiedKey {
    ApiKey::parse(key).unwrap().verify(&keys::signing()).unwrap()
}

fn first_request(key: &VerifiedKey, holder: u64) -> MeterRequest {
    match LeaseCache::new(holder).call(key, Tool::Qr, keys::now()) {
        Step::Ask(request, _) => request,
        Step::Decided(..) => panic!("a new cache has no lease"),
    }
}

/// A holder outside of the edge: what a proxy is for each key.
struct Holder<'a> {
    edge: &'a Edge,
    key: VerifiedKey,
    cache: LeaseCache,
    asks: usize,
}

impl Holder<'_> {
    fn admits(&mut self) -> bool {
        let now = keys::now();
        let (request, is_waiting) = match self.cache.call(&self.key, Tool::Qr, now) {
            Step::Ask(request, _) => (request, None),
            Step::Decided(admission, Some(renewal)) => (renewal, Some(admission)),
            Step::Decided(admission, None) => return matches!(admission, Admission::Allow { .. }),
        };
        self.asks += 1;
        let asked = HolderAsk::ask(request);
        let response = responded(ask(self.edge, vec![asked.clone()]).remove(0));
        let decided = self.cache.handle_response(asked.request(), now, &response, keys::now());
        matches!(decided.or(is_waiting), Some(Admission::Allow { .. }))
    }
}

/// The proxy decides most calls in memory, and the isolate too.
#[test]
fn isolate_and_holder_outside_admit_exactly_one_limit() {
    let stack = Stack::shared();
    let (key, _) = stack.edge.issue("pro");
    let mut holder = Holder { edge: &stack.edge, key: verified(&key), cache: LeaseCache::new(71), asks: 0 };
    let (mut inside, mut outside) = (0, 0);
    for _ in 0..120 {
        outside += u32::from(holder.admits());
        let response = Request::get("/v1/idea/generate").key(&key).send(stack.edge.addr);
        inside += u32::from(response.status == 200);
    }
    assert_eq!(inside + outside, 100, "{inside} inside, {outside} outside");
    assert!(inside >= 20 && outside >= 20, "{inside} inside, {outside} outside");
    assert!(holder.asks < 80, "{} asks for 120 calls", holder.asks);
    let shown = Request::get("/v1/keys/me").key(&key).send(stack.edge.addr).json();
    // What the holder has spent since its last report is lent to it.
    let minute = &shown["usage"]["minute"];
    assert_eq!((&minute["remaining"], minute["used"].as_u64() >= Some(90)), (&0.into(), true), "{shown}");
}

/// The record is known to KV alone, with its own limits. It leaves without its holder.
#[test]
fn holder_outside_learns_records_from_the_edge_without_names() {
    let edge = Edge::shared();
    let mut body = json!({ "email": "ada@example.com", "name": "Ada", "tier": "pro" });
    body["limits"] = json!({ "minute": 3 });
    body["admin_secret"] = json!(keys::ADMIN_SECRET);
    let issued = Request::post("/v1/keys/issue", &body).send(edge.addr).json();
    let key = verified(issued["key"].as_str().unwrap());

    let fresh = keys::issued_at(Tier::Pro, keys::now().minus(86_400_000)).0;
    let asks = [&key, &verified(&fresh)].map(|key| HolderAsk::ask(first_request(key, 72)));
    let read = HolderAsk::read(first_request(&key, 73));
    let mut replies = ask(&edge, asks.into_iter().chain([read]).collect());
    let Some(BulkReply::Reply(Reply::Read(snapshot))) = replies.pop() else { panic!("{replies:?}") };
    assert_eq!(
        responded(replies.remove(1)).verdict,
        Verdict::Refuse(KeyError::Invalid),
        "an old unknown key"
    );
    let response = responded(replies.remove(0));
    assert_eq!(response.verdict, Verdict::Allow);
    for record in [response.record.unwrap(), snapshot.record.unwrap()] {
        assert_eq!((record.policy().minute.get(), record.holder), (3, None));
    }
}

#[test]
fn meters_without_a_right_token_or_body_are_refused() {
    let edge = Edge::shared();
    let text =
        BulkRequest::new(vec![HolderAsk::ask(first_request(&verified(&keys::fresh(Tier::Free).0), 75))])
            .unwrap()
            .to_json();
    for token in ["Bearer x".to_owned(), token(keys::KEY_SIGNING_SECRET)] {
        let response = post(&edge, &text, &token);
        assert_eq!((response.status, response.code().as_str()), (401, "origin-token-invalid"), "{token}");
    }
    let token = token(keys::GRANT_SECRET);
    let show = text.replace(r#""ask":"#, r#""show":"#);
    for body in ["{}", r#"{"asks":[]}"#, show.as_str()] {
        let response = post(&edge, body, &token);
        assert_eq!((response.status, response.code().as_str()), (400, "body-malformed"), "{body:.60}");
    }
    let response = post(&edge, &" ".repeat(BulkRequest::MAX_BYTES + 1), &token);
    assert_eq!((response.status, response.code().as_str()), (413, "body-too-large"));
    let response = Request::get(BulkRequest::PATH).header("Authorization", &token).send(edge.addr);
    assert_eq!(response.status, 405);
}

/// An outage of the store is no reason to refuse a key, and no other key's matter.
#[test]
fn meter_that_fails_is_unavailable_for_its_key_alone() {
    let faults = Faults::start();
    let edge = Edge::start_with_faults(NOWHERE, &faults);
    let known = verified(&edge.issue("pro").0);
    let old = verified(&keys::issued_at(Tier::Pro, keys::now().minus(86_400_000)).0);
    assert_eq!(
        responded(ask(&edge, vec![HolderAsk::ask(first_request(&known, 76))]).remove(0)).verdict,
        Verdict::Allow
    );

    faults.set(KV_GET, Fate::Fail);
    let asks = [&old, &known].map(|key| HolderAsk::ask(first_request(key, 77)));
    let mut replies = ask(&edge, asks.to_vec());
    assert_eq!(responded(replies.pop().unwrap()).verdict, Verdict::Allow);
    assert_eq!(replies, [BulkReply::Error(MeterFailure::Unavailable)]);

    faults.set(KV_GET, Fate::Pass);
    faults.set(METER, Fate::Fail);
    let replies = ask(&edge, asks.to_vec());
    assert_eq!(replies, [(); 2].map(|()| BulkReply::Error(MeterFailure::Unavailable)));
}

/// Waits until the runtime has evicted an object that nobody has asked since: it evicts what was idle for some seconds.
fn evict_idle_objects(edge: &Edge) {
    let names: Vec<_> = (0..60).map(|n| format!("idle-{n}")).collect();
    let objects = names.iter().map(|name| Object::meter(edge, name));
    let mut idle: Vec<_> = objects.map(|object| (object, object.instance())).collect();
    let (begun, mut asked_after) = (Instant::now(), Duration::ZERO);
    wait_for(PATIENCE, || {
        // Each is asked once, because that keeps an object alive.
        let (object, instance) = idle.pop_if(|_| begun.elapsed() > asked_after)?;
        asked_after += Duration::from_secs(1);
        (object.instance() != instance).then_some(())
    });
}

/// Returns what a meter counts: calls of the day, those that are lent, and statuses.
fn counted(meter: &Object<'_>) -> Value {
    let state = meter.send(&json!({"show": {}})).json()["show"].take();
    json!([state["day_used"], state["reserved"], state["tally"]["by_status"]])
}

/// The last report of an isolate takes no call, so that no reserve was stored with it: it was in memory only.
#[test]
fn evicted_meter_has_all_calls_and_statuses_that_were_reported() {
    let world = World::start();
    let (key, id) = world.edge.issue("pro");
    for _ in 0..12 {
        assert_eq!(world.call(&key).status, 200);
    }
    let meter = Object::meter(&world.edge, &id);
    let all = json!([12, 0, {"200": 12}]);
    wait_for(PATIENCE, || (counted(&meter) == all).then_some(()));
    let instance = meter.instance();
    evict_idle_objects(&world.edge);
    assert_ne!(meter.instance(), instance);
    assert_eq!(counted(&meter), all);
}

/// Calls of a reserve are not stored, and count all the same. What is left of it does not: a key that pauses would
/// lose it with each pause.
#[test]
fn evicted_meter_counts_what_it_lent_and_nothing_of_its_reserve() {
    let world = World::start();
    let (key, id) = world.edge.issue("enterprise");
    let key = verified(&key);
    let call = |seq: u32| {
        let asks = (1..=8).map(|holder| MeterRequest { seq, ..first_request(&key, holder) });
        let replies = ask(&world.edge, asks.map(HolderAsk::ask).collect());
        assert!(replies.into_iter().all(|reply| responded(reply).verdict == Verdict::Allow));
    };
    let meter = Object::meter(&world.edge, &id);
    let stored = || meter.sql("SELECT json_extract(j, '$.usage') FROM state");
    let calls = || [0, 1].map(|place| counted(&meter)[place].as_u64().unwrap()).iter().sum::<u64>();
    (1..8).for_each(call);
    let before = stored();
    call(8);
    assert_eq!(stored(), before, "the reserve covers them");
    let made = calls();
    assert!(made >= 64, "{made}");
    let instance = meter.instance();
    // Twice, because the alarm that ends the reserve keeps it in memory for longer.
    evict_idle_objects(&world.edge);
    evict_idle_objects(&world.edge);
    assert_ne!(meter.instance(), instance);
    assert_eq!(calls(), made);
}
