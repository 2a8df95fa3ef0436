//! The calls about endpoints of an account, from path to response.

use biolink::fetch_url::FetchPolicy;
use biolink::pages_api::Once;
use biolink::route::{Place, Route};
use biolink::webhooks::EncryptionKeys;
use biolink::webhooks_api::{EndpointCall, Endpoints, WebhooksOperation, WebhooksRequest};
use serde_json::{Value, json};
use shared::key::KeyId;
use shared::method::Method;
use shared::route::Path;
use shared::time::UnixMillis;

const NOW: UnixMillis = UnixMillis(1_763_726_400_000);

/// An account with its endpoints.
struct World {
    endpoints: Endpoints,
    seed: u8,
    keys: EncryptionKeys,
}

/// A call, and its `Idempotency-Key` with a digest of the body.
struct Sent<'a> {
    method: Method,
    path: &'a str,
    query: Option<&'a str>,
    body: Value,
    once: Option<(&'a str, &'a str)>,
}

impl World {
    fn new() -> Self {
        let keys = EncryptionKeys::parse("0123456789abcdef0123456789abcdef").unwrap();
        Self { endpoints: Endpoints::default(), seed: 0, keys }
    }

    /// Makes a call. Returns the status and the body, of a refusal its code.
    fn send(&mut self, sent: Sent<'_>) -> (u16, Value) {
        let place = Place::parse(Path::parse(sent.path).unwrap()).unwrap();
        let Some(Route::Webhooks(call)) = place.route(sent.method) else { panic!("{}", sent.path) };
        let body = if sent.body.is_null() { String::new() } else { sent.body.to_string() };
        let (operation, dry_run) = match WebhooksOperation::parse(&call, sent.query, body.into_bytes()) {
            Ok(parsed) => parsed,
            Err(problem) => return (problem.code().status(), json!(problem.code().as_str())),
        };
        self.seed += 1;
        let once =
            sent.once.map(|(name, fingerprint)| Once { name: name.into(), fingerprint: fingerprint.into() });
        let request = WebhooksRequest {
            account: KeyId::new([1; 12]),
            request_id: [2; 16],
            seed: [self.seed; 32],
            base: "https://p.example".to_owned(),
            host: "api.example".to_owned(),
            pages: Vec::new(),
            operation,
            dry_run,
            once,
        };
        let policy = FetchPolicy::new(["api.example"], false);
        let call = EndpointCall { request: &request, policy: &policy, keys: &self.keys, now: NOW };
        match self.endpoints.handle(&call) {
            Ok(response) => (response.status, serde_json::from_str(&response.body).unwrap_or_default()),
            Err(problem) => (problem.code().status(), json!(problem.code().as_str())),
        }
    }

    fn call(&mut self, method: Method, path: &str, body: Value) -> (u16, Value) {
        self.send(Sent { method, path, query: None, body, once: None })
    }
}

fn endpoint(host: &str) -> Value {
    json!({"url": format!("https://{host}/hook"), "events": ["page_view"]})
}

#[test]
fn endpoint_is_created_read_changed_and_deleted() {
    let mut world = World::new();
    let (status, created) = world.call(Method::Post, "/webhooks", endpoint("shop.example"));
    assert_eq!(status, 201, "{created}");
    let path = format!("/webhooks/{}", created["id"].as_str().unwrap());
    let secret = format!("{path}/secret");
    assert_eq!(world.call(Method::Get, &secret, Value::Null).1["secret"], created["secret"]);
    let (status, read) = world.call(Method::Get, &path, Value::Null);
    assert_eq!((status, read.get("secret")), (200, None));
    assert_eq!(world.call(Method::Get, "/webhooks", Value::Null).1["data"], json!([read]));
    let description = json!({"description": "new"});
    let tried = Sent {
        method: Method::Patch,
        path: &path,
        query: Some("dry_run=true"),
        body: description.clone(),
        once: None,
    };
    assert_eq!(world.send(tried).1["description"], "new");
    assert_eq!(world.call(Method::Get, &path, Value::Null).1["description"], read["description"]);
    assert_eq!(world.call(Method::Patch, &path, description).1["description"], "new");
    let (status, rotated) = world.call(Method::Post, &format!("{secret}/rotate"), json!({}));
    assert_eq!(status, 200, "{rotated}");
    assert!(rotated["secret"] != created["secret"]);
    assert_eq!(world.call(Method::Get, &secret, Value::Null).1["secret"], rotated["secret"]);
    assert!(!world.endpoints.is_empty() && world.endpoints.receivers().count() == 1);
    assert_eq!(world.call(Method::Delete, &path, Value::Null).0, 204);
    for method in [Method::Get, Method::Patch, Method::Delete] {
        let body = if method == Method::Patch { json!({}) } else { Value::Null };
        assert_eq!(world.call(method, &path, body), (404, json!("webhook-unknown")), "{method:?}");
    }
    assert_eq!(world.call(Method::Post, &format!("{secret}/rotate"), json!({})).0, 404);
    assert!(world.endpoints.is_empty());
}

#[test]
fn endpoint_is_created_once_for_an_idempotency_key() {
    let mut world = World::new();
    let create = |fingerprint| Sent {
        method: Method::Post,
        path: "/webhooks",
        query: None,
        body: endpoint("shop.example"),
        once: Some(("k", fingerprint)),
    };
    let first = world.send(create("a"));
    assert_eq!(world.send(create("a")), first, "with the same secret");
    assert_eq!(world.send(create("b")), (422, json!("idempotency-key-reused")));
    assert_eq!(world.endpoints.describe_each(NOW).count(), 1);
    let tried = Sent { query: Some("dry_run=true"), once: None, ..create("a") };
    assert_eq!(world.send(tried).0, 200);
    assert_eq!(world.endpoints.describe_each(NOW).count(), 1);
}

/// All of it happens within a millisecond: the clock of an object stands still while it works.
#[test]
fn repeated_creation_shows_nothing_that_came_later() {
    for (method, part, body) in [
        (Method::Post, "/secret/rotate", json!({"grace_period_seconds": 0})),
        (Method::Patch, "", json!({"headers": {"authorization": "Bearer later"}})),
        (Method::Patch, "", json!({"description": "later"})),
    ] {
        let mut world = World::new();
        let create = || Sent {
            method: Method::Post,
            path: "/webhooks",
            query: None,
            body: endpoint("shop.example"),
            once: Some(("k", "a")),
        };
        let first = world.send(create()).1;
        let path = format!("/webhooks/{}{part}", first["id"].as_str().unwrap());
        assert_eq!(world.call(method, &path, body.clone()).0, 200, "{body}");
        assert_eq!(world.send(create()), (409, json!("idempotency-conflict")), "{body}");
    }
}

#[test]
fn change_shows_the_values_of_headers_that_it_sets() {
    let mut world = World::new();
    let mut body = endpoint("shop.example");
    body["headers"] = json!({"authorization": "Bearer first", "x-tenant": "7"});
    let created = world.call(Method::Post, "/webhooks", body).1;
    let path = format!("/webhooks/{}", created["id"].as_str().unwrap());
    for (headers, shown) in [
        (json!({"x-team": "a"}), json!({"x-team": "a"})),
        (json!({"x-team": "b", "x-tenant": "7"}), json!({"x-team": "b"})),
        (json!({"x-team": null}), json!({})),
    ] {
        let changed = world.call(Method::Patch, &path, json!({ "headers": headers })).1;
        assert_eq!(changed["headers"], shown);
        assert_eq!(changed["header_names"].as_array().unwrap()[0], "authorization");
    }
}

#[test]
fn malformed_calls_and_endpoints_are_refused() {
    let mut world = World::new();
    for body in [endpoint("api.example"), endpoint("10.0.0.1"), json!({}), json!({"url": 1})] {
        assert_eq!(world.call(Method::Post, "/webhooks", body.clone()).1, "fields-invalid", "{body}");
    }
    for (path, query) in [("/webhooks", "dry_run=true"), ("/webhooks", "a=1"), ("/events", "a=1")] {
        let sent = Sent { method: Method::Get, path, query: Some(query), body: Value::Null, once: None };
        assert_eq!(world.send(sent).1, "fields-invalid", "{path}?{query}");
    }
    for query in ["dry_run=1", "a=1"] {
        let (method, body) = (Method::Post, endpoint("shop.example"));
        let sent = Sent { method, path: "/webhooks", query: Some(query), body, once: None };
        assert_eq!(world.send(sent).1, "fields-invalid", "{query}");
    }
    let mut created = 0;
    let last = loop {
        let (status, body) = world.call(Method::Post, "/webhooks", endpoint("shop.example"));
        if status != 201 {
            break body;
        }
        created += 1;
    };
    assert_eq!((created, last), (biolink::webhooks::MAX_ENDPOINTS, json!("webhook-limit-reached")));
}
