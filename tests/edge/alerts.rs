//! Alerts: from what a key's meter counts to the request that a receiver verifies and the list of its holder, each once.

use serde_json::{Value, json};
use shared::time::UnixMillis;
use tests::{
    faults::{Fate, WEBHOOKS},
    http::{Request, Response},
    keys,
    objects::Object,
    receiver::Receiver,
    stack::Edge,
};

use super::{pages::until, site::Site, world::World};

const HOUR: u64 = 3_600_000;
const DAY: u64 = 24 * HOUR;

/// Issues a key with this many calls a day. `more` are other members of its issue. Returns its text and its
/// id.
fn issue(edge: &Edge, day: u32, more: Value) -> (String, String) {
    let mut body = json!({
        "email": "ada@example.com", "name": "Ada", "tier": "free", "limits": {"minute": 1_000, "day": day},
        "admin_secret": keys::ADMIN_SECRET,
    });
    body.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
    let issued = Request::post("/v1/keys/issue", &body).send(edge.addr);
    assert_eq!(issued.status, 201, "{}", issued.text());
    let text = |name: &str| issued.json()[name].as_str().unwrap().to_owned();
    (text("key"), text("id"))
}

/// A key that has calls of a day, and a webhook for its alerts.
struct Alerted {
    world: World,
    receiver: Receiver,
    secret: String,
    key: String,
    id: String,
}

impl Alerted {
    /// Issues a key with this many calls a day. `more` are other members of its issue.
    fn start(day: u32, mut more: Value) -> Self {
        let (world, receiver) = (World::start(), Receiver::start());
        more["biolink_plan"] = json!("business");
        let (key, id) = issue(&world.edge, day, more);
        let kinds = json!(["quota_threshold", "quota_exceeded", "key_expiring"]);
        let hook = json!({"url": receiver.url("/alerts"), "events": kinds});
        let created = Request::post("/webhooks", &hook).key(&key).send(world.edge.addr);
        assert_eq!(created.status, 201, "{}", created.text());
        let secret = created.json()["secret"].as_str().unwrap().to_owned();
        Self { world, receiver, secret, key, id }
    }

    fn call(&self) -> Response {
        self.world.call(&self.key)
    }

    fn meter(&self) -> Object<'_> {
        Object::meter(&self.world.edge, &self.id)
    }

    /// Changes the stored state of the meter, which then reads it again.
    fn change_state(&self, path: &str, value: u64) {
        self.meter().sql(&format!("UPDATE state SET j = json_set(j, '$.{path}', {value})"));
        self.meter().restart();
    }

    /// Waits until the meter knows that its alerts are delivered. Returns the events that were logged.
    fn delivered(&self, count: usize) -> Vec<Value> {
        until(|| {
            let waiting = self.meter().sql("SELECT json_array_length(j, '$.alerts.outbox') FROM state");
            waiting == [[json!(0)]]
        });
        let events = Request::get("/events?limit=100").key(&self.key).send(self.world.edge.addr).json();
        let events = events["data"].as_array().unwrap().clone();
        assert_eq!(events.len(), count, "{events:?}");
        events
    }
}

#[test]
fn thresholds_and_the_first_refusal_arrive_signed_once() {
    let alerted = Alerted::start(10, json!({}));
    for calls in [5, 3, 2] {
        for _ in 0..calls {
            assert_eq!(alerted.call().status, 200);
        }
        // What was told is stored: nothing is told again.
        alerted.meter().restart();
    }
    let arrivals = alerted.receiver.wait(3);
    let mut told: Vec<_> = arrivals.iter().map(|arrival| arrival.json()["data"].clone()).collect();
    told.sort_by_key(|data| data["quota"]["percent"].as_u64());
    let figures =
        |data: &Value| [&data["quota"]["percent"], &data["quota"]["used"]].map(|n| n.as_u64().unwrap());
    assert_eq!(told.iter().map(figures).collect::<Vec<_>>(), [[50, 5], [80, 8], [100, 10]]);
    for arrival in &arrivals {
        arrival.verify(&alerted.secret).unwrap();
        let body = arrival.json();
        assert_eq!((&body["type"], &body["page_sequence"]), (&json!("quota_threshold"), &json!(0)));
        assert_eq!(
            (&body["data"]["key"]["id"], &body["data"]["quota"]["limit"]),
            (&json!(alerted.id), &json!(10))
        );
    }
    assert_eq!([alerted.call().status, alerted.call().status], [429, 429]);
    alerted.meter().restart();
    let exceeded = alerted.receiver.wait(4)[3].json();
    assert_eq!(
        (&exceeded["type"], &exceeded["data"]["quota"]["name"]),
        (&json!("quota_exceeded"), &json!("day"))
    );
    alerted.delivered(4);
    assert_eq!(alerted.receiver.count(), 4, "each arrives once");
}

/// Returns the alerts that a key lists.
fn listed(edge: &Edge, key: &str) -> Vec<Value> {
    let response = Request::get("/v1/keys/me/alerts").key(key).send(edge.addr);
    assert_eq!(response.status, 200, "{}", response.text());
    assert!(response.header("ratelimit").is_some());
    response.json()["alerts"].as_array().unwrap().clone()
}

/// Returns the kind of each alert, and what it is about in short.
fn summaries(alerts: &[Value]) -> Vec<Value> {
    let summary = |alert: &Value| {
        let quota = &alert["data"]["quota"];
        json!([alert["type"], quota["name"], quota["percent"], alert["data"]["webhook"]["disabled_reason"]])
    };
    alerts.iter().map(summary).collect()
}

/// A Free key has no webhooks. What was listed is there after a restart, and a call that raises nothing
/// stores nothing.
#[test]
fn key_without_webhooks_lists_its_alerts_once() {
    let World { edge, .. } = &World::start();
    let (key, id) = issue(edge, 3, json!({}));
    let meter = Object::meter(edge, &id);
    let call = || Request::get("/v1/idea/generate").key(&key).send(edge.addr).status;
    assert_eq!((call(), listed(edge, &key)), (200, vec![]));
    assert_eq!(meter.sql("SELECT count(*) FROM sqlite_master WHERE name = 'recent'"), [[json!(0)]]);
    assert_eq!([call(), call(), call(), call()], [200, 200, 429, 429]);
    meter.restart();
    let exceeded = json!(["quota_exceeded", "day", null, null]);
    let threshold = |percent: u8| json!(["quota_threshold", "day", percent, null]);
    let alerts = listed(edge, &key);
    assert_eq!(summaries(&alerts), [exceeded, threshold(100), threshold(80), threshold(50)]);
    assert_eq!(alerts[0]["data"]["key"]["id"], json!(id));
    assert_eq!(meter.sql("SELECT count(*) FROM recent"), [[json!(4)]]);
    let body = json!({ "name": "Build server", "scopes": { "tools": ["idea"], "biolink": "write" } });
    let secret = Request::post("/v1/keys/me/secrets", &body).key(&key).send(edge.addr).json();
    let refused = Request::get("/v1/keys/me/alerts").key(secret["key"].as_str().unwrap()).send(edge.addr);
    assert_eq!((refused.status, refused.json()["scope"].take()), (403, json!("keys")));
    assert_eq!(Request::get("/v1/keys/me/alerts").send(edge.addr).code(), "key-missing");
}

#[test]
fn last_fifty_alerts_of_thirty_days_are_listed() {
    let World { edge, .. } = &World::start();
    let (key, id) = issue(edge, 1, json!({}));
    let meter = Object::meter(edge, &id);
    assert_eq!(Request::get("/v1/idea/generate").key(&key).send(edge.addr).status, 200);
    let number = || meter.sql("SELECT count(*) FROM recent")[0][0].as_u64().unwrap();
    assert_eq!((listed(edge, &key).len(), number()), (3, 3));
    meter.sql(
        "WITH RECURSIVE c(n) AS (SELECT 1 UNION SELECT n + 1 FROM c WHERE n < 60)
        INSERT INTO recent (id, at, j) SELECT 'copy' || c.n, at, j FROM c, recent WHERE recent.n = 1",
    );
    // The three thresholds are raised again, as if those in the list were of another day.
    let raise = || {
        meter.sql("UPDATE recent SET id = 'former' || n");
        meter.sql("UPDATE state SET j = json_remove(j, '$.alerts.day_calls')");
        meter.restart();
        listed(edge, &key).len()
    };
    assert_eq!((raise(), number()), (50, 50));
    meter.sql(&format!("UPDATE recent SET at = at - {} WHERE n % 2 = 0", 30 * DAY));
    assert_eq!((listed(edge, &key).len(), number()), (25, 50), "what is too old is never listed");
    // Of the 25 that are left, two are more than 50 numbers old.
    assert_eq!((raise(), number()), (26, 26), "and it is dropped with the next one");
}

#[test]
fn alerts_wait_for_webhooks_that_fail_and_calls_do_not() {
    let alerted = Alerted::start(4, json!({}));
    alerted.world.faults.set(WEBHOOKS, Fate::Fail);
    for _ in 0..4 {
        assert_eq!(alerted.call().status, 200);
    }
    until(|| alerted.world.faults.count(WEBHOOKS) > 1);
    assert_eq!(alerted.receiver.count(), 0);
    // The object restarts meanwhile, and the reply to the first message that arrives is lost.
    alerted.meter().restart();
    alerted.world.faults.set_once(WEBHOOKS, Fate::LoseReply);
    alerted.meter().set_alarm(keys::now());
    alerted.receiver.wait(3);
    let events = alerted.delivered(3);
    assert!(events.iter().all(|event| event["type"] == "quota_threshold"), "{events:?}");
    assert_eq!(alerted.receiver.count(), 3, "each arrives once");
}

/// The stored state is changed as if the key had been issued long ago and expired soon.
#[test]
fn expiry_is_told_by_the_alarm_alone() {
    let expires = UnixMillis(keys::now().0 / 1_000 * 1_000).plus(30 * DAY);
    let alerted = Alerted::start(100, json!({"expires_at": expires.to_rfc3339()}));
    assert_eq!(alerted.call().status, 200);
    until(|| alerted.meter().alarm() == Some(expires.minus(7 * DAY)));
    alerted.change_state("record.issued_at", keys::now().minus(30 * DAY).0);
    for (left, days) in [(6 * DAY, 7), (12 * HOUR, 1)] {
        let expires = keys::now().plus(left);
        alerted.change_state("record.expires_at", expires.0);
        alerted.change_state("alerts.expiries_until", expires.minus(days * DAY).0 - 1);
        alerted.meter().run_alarm();
        alerted.meter().run_alarm();
        let arrivals = alerted.receiver.wait(if days == 7 { 1 } else { 2 });
        let body = arrivals.last().unwrap().json();
        assert_eq!((&body["type"], &body["data"]["within_days"]), (&json!("key_expiring"), &json!(days)));
        assert_eq!(body["data"]["expires_at"], expires.to_rfc3339_ms());
    }
    alerted.delivered(2);
}

#[test]
fn webhook_that_fails_is_told_to_the_others() {
    let (site, failing, other) = (Site::shared(), Receiver::start(), Receiver::start());
    let hook = json!({"url": other.url("/alerts"), "events": ["webhook_failing"]});
    assert_eq!(site.call("POST", "/webhooks", &hook).status, 201);
    failing.respond("500 Internal Server Error");
    let hook = site.hook(&failing, json!({"events": ["click"]}));
    for _ in 0..5 {
        site.visit(&site.link(0));
    }
    let told = other.wait(1)[0].json();
    assert_eq!((&told["type"], &told["page_sequence"]), (&json!("webhook_failing"), &json!(0)));
    let webhook = &told["data"]["webhook"];
    assert_eq!((&webhook["id"], &webhook["status"]), (&json!(hook.id), &json!("enabled")));
    assert_eq!(
        (&webhook["url"], &webhook["consecutive_failures"]),
        (&json!(failing.url("/hook")), &json!(5))
    );
    failing.respond("410 Gone");
    site.settle();
    site.pass_time(2 * 60_000);
    let told = other.wait(2)[1].json();
    let webhook = &told["data"]["webhook"];
    assert_eq!((&webhook["status"], &webhook["disabled_reason"]), (&json!("disabled"), &json!("gone")));
    assert_eq!(listed(&site.edge, &site.key)[0]["data"], told["data"], "it is listed as it is sent");
}

/// No webhook is left that could get the event.
#[test]
fn only_webhook_that_fails_is_listed_for_secrets_that_may_read_of_it() {
    let (site, failing) = (Site::shared(), Receiver::start());
    failing.respond("410 Gone");
    let hook = site.hook(&failing, json!({"events": ["click"]}));
    site.visit(&site.link(0));
    failing.wait(1);
    until(|| !listed(&site.edge, &site.key).is_empty());
    let alerts = listed(&site.edge, &site.key);
    assert_eq!(summaries(&alerts), [json!(["webhook_failing", null, null, "gone"])]);
    assert_eq!(alerts[0]["data"]["webhook"]["id"], json!(hook.id));
    let seen = |name: &str, biolink: &str| {
        let body = json!({ "name": name, "scopes": { "biolink": biolink, "keys": true } });
        let made = Request::post("/v1/keys/me/secrets", &body).key(&site.key).send(site.edge.addr);
        assert_eq!(made.status, 201, "{}", made.text());
        listed(&site.edge, made.json()["key"].as_str().unwrap())
    };
    assert_eq!(seen("Reader", "read"), alerts);
    assert_eq!(seen("Other", "none"), Vec::<Value>::new());
    let erased = site.call("DELETE", &format!("/account/data?confirm={}", site.account), &json!({}));
    assert_eq!(erased.status, 204, "{}", erased.text());
    until(|| listed(&site.edge, &site.key).is_empty());
}
