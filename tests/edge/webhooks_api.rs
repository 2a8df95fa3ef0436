//! The REST API of webhooks: endpoints, their secrets, and what may be asked of deliveries and events.

use biolink::webhooks::WebhookKind;
use serde_json::{Value, json};
use tests::{http::Request, receiver::Receiver, stack::Edge};

use super::{
    pages::{issue, issue_with, request},
    site::Site,
};

const URL: &str = "https://crm.example/hook";

fn create(edge: &Edge, key: &str, body: &Value) -> tests::http::Response {
    Request::post("/webhooks", body).key(key).send(edge.addr)
}

#[test]
fn endpoint_is_created_read_changed_and_deleted() {
    let site = Site::shared();
    let body = json!({"url": URL, "events": ["click"], "description": "CRM", "headers": {"X-Tenant": "7"}});
    let created = site.call("POST", "/webhooks", &body);
    assert_eq!(created.status, 201, "{}", created.text());
    let shown = created.json();
    let path = format!("/webhooks/{}", shown["id"].as_str().unwrap());
    assert_eq!(created.header("location"), Some(path.as_str()));
    assert!(shown["secret"].as_str().unwrap().starts_with("whsec_"));
    assert_eq!(shown["headers"], json!({"x-tenant": "7"}));
    let read = site.get(&path);
    assert_eq!((read.get("headers"), &read["header_names"]), (None, &json!(["x-tenant"])));
    assert_eq!(
        (&read["secret"], &read["mode"], &read["status"]),
        (&Value::Null, &json!("single"), &json!("enabled"))
    );
    assert_eq!(site.get(&format!("{path}/secret"))["secret"], shown["secret"]);
    assert_eq!(site.get("/webhooks")["data"], json!([read]));
    let changed = site.call("PATCH", &path, &json!({"events": ["qr_scan"], "enabled": false}));
    assert_eq!((changed.status, &changed.json()["status"]), (200, &json!("disabled")));
    assert_eq!(
        (changed.json().get("headers"), &changed.json()["header_names"]),
        (None, &json!(["x-tenant"]))
    );
    let changed = site.call("PATCH", &path, &json!({"headers": {"x-team": "a"}}));
    let changed = changed.json();
    assert_eq!(
        (&changed["headers"], &changed["header_names"]),
        (&json!({"x-team": "a"}), &json!(["x-team", "x-tenant"]))
    );
    assert_eq!(site.call("DELETE", &path, &Value::Null).status, 204);
    for (method, path) in [("GET", path.clone()), ("DELETE", path.clone()), ("GET", format!("{path}/stats"))]
    {
        let gone = site.call(method, &path, &Value::Null);
        assert_eq!((gone.status, &gone.json()["code"]), (404, &json!("webhook-unknown")), "{method} {path}");
    }
}

#[test]
fn each_call_counts_against_the_hour() {
    let site = Site::shared();
    let left = || {
        let response = site.call("GET", "/webhooks", &Value::Null);
        let limit = response.header("ratelimit").unwrap().to_owned();
        limit.split("r=").nth(1).unwrap().split(';').next().unwrap().parse::<u32>().unwrap()
    };
    assert_eq!(left() - 1, left());
    let refused = site.call("GET", "/webhooks/whe_00000000000000000", &Value::Null);
    assert!(refused.header("ratelimit").is_some(), "a refusal says so too");
}

#[test]
fn plan_without_the_api_has_no_webhooks() {
    let edge = Edge::shared();
    let (key, _) = issue_with(&edge, "standard", None);
    let refused = create(&edge, &key, &json!({"url": URL, "events": ["click"]}));
    assert_eq!((refused.status, &refused.json()["code"]), (403, &json!("plan-required")));
    let schema = Request::get("/events/schemas/click").key(&key).send(edge.addr);
    assert_eq!(schema.status, 403);
}

#[test]
fn retry_of_a_creation_gets_the_same_endpoint_and_secret() {
    let site = Site::shared();
    let body = json!({"url": URL, "events": ["click"]});
    let send = |body: &Value| {
        site.send(&Request::post("/webhooks", body).key(&site.key).header("Idempotency-Key", "one"))
    };
    let (first, again) = (send(&body), send(&body));
    assert_eq!((first.status, again.status), (201, 201));
    assert_eq!(first.json(), again.json());
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    assert_eq!(site.get("/webhooks")["data"].as_array().unwrap().len(), 1);
    let other = send(&json!({"url": URL, "events": ["qr_scan"]}));
    assert_eq!((other.status, &other.json()["code"]), (422, &json!("idempotency-key-reused")));

    let named = json!({"name": "CI", "scopes": {"biolink": "write"}});
    let named = site.call("POST", "/v1/keys/me/secrets", &named).json()["key"].as_str().unwrap().to_owned();
    let by_another = Request::post("/webhooks", &body).key(&named).header("Idempotency-Key", "one");
    let by_another = site.send(&by_another).json();
    assert_ne!(by_another["id"], first.json()["id"], "it has names of its own");
    assert_ne!(by_another["secret"], first.json()["secret"]);

    let rotate = format!("/webhooks/{}/secret/rotate", first.json()["id"].as_str().unwrap());
    assert_eq!(site.call("POST", &rotate, &json!({})).status, 200);
    assert_eq!(send(&body).json()["code"], "idempotency-conflict", "the new secret is for who reads secrets");
}

#[test]
fn account_has_at_most_ten_endpoints() {
    let site = Site::shared();
    let body = json!({"url": URL, "events": ["click"]});
    for _ in 0..10 {
        assert_eq!(site.call("POST", "/webhooks", &body).status, 201);
    }
    let refused = site.call("POST", "/webhooks", &body);
    assert_eq!((refused.status, &refused.json()["code"]), (403, &json!("webhook-limit-reached")));
    assert_eq!(site.call("POST", "/webhooks?dry_run=true", &body).status, 403);
}

#[test]
fn dry_run_stores_nothing() {
    let site = Site::shared();
    let tried = site.call("POST", "/webhooks?dry_run=true", &json!({"url": URL, "events": ["click"]}));
    assert_eq!((tried.status, tried.json().get("secret")), (200, Some(&Value::Null)));
    assert_eq!(site.get("/webhooks")["data"], json!([]));
}

#[test]
fn private_and_own_addresses_are_refused() {
    let variables = ["ALLOW_PRIVATE_FETCH=0", "PUBLIC_URL=https://api.example.com"];
    let edge = Edge::start_with("https://origin.invalid", &variables);
    let (key, _) = issue(&edge, None);
    for url in [
        "http://crm.example/hook",
        "https://127.0.0.1/hook",
        "https://2130706433/hook",
        "https://[::1]/hook",
        "https://localhost/hook",
        "https://router.local./hook",
        "https://api.example.com/v1/status",
        "https://API.example.com./v1/status",
        "https://user@crm.example/hook",
        "https://crm.example:22/hook",
    ] {
        let refused = create(&edge, &key, &json!({"url": url, "events": ["click"]}));
        assert_eq!(refused.status, 422, "{url}: {}", refused.text());
        assert_eq!(refused.json()["errors"][0]["pointer"], "#/url", "{url}");
    }
    assert_eq!(create(&edge, &key, &json!({"url": URL, "events": ["click"]})).status, 201);
}

#[test]
fn secret_is_nowhere_at_rest_in_clear() {
    let (site, receiver) = (Site::shared(), Receiver::start());
    let hook = site.hook(&receiver, json!({}));
    let account = site.account.to_string();
    let stored = site.webhooks(&account).sql("SELECT k, j FROM state");
    let text = Value::from(stored.into_iter().map(Value::from).collect::<Vec<_>>()).to_string();
    assert!(text.contains(&hook.id), "{text}");
    let bare = hook.secret.strip_prefix("whsec_").unwrap();
    assert!(!text.contains(bare) && !text.contains("whsec_"));
}

#[test]
fn rotated_secret_signs_with_the_one_before_until_the_grace_period_ends() {
    let (site, receiver) = (Site::shared(), Receiver::start());
    let hook = site.hook(&receiver, json!({"events": ["click"]}));
    let path = format!("/webhooks/{}/secret/rotate", hook.id);
    let rotated = site.call("POST", &path, &json!({})).json();
    let new = rotated["secret"].as_str().unwrap().to_owned();
    assert_ne!(new, hook.secret);
    site.visit(&site.link(0));
    let arrivals = receiver.wait(1);
    let signatures = arrivals[0].header("webhook-signature").unwrap();
    assert_eq!(signatures.split(' ').count(), 2, "{signatures}");
    arrivals[0].verify(&hook.secret).unwrap();
    arrivals[0].verify(&new).unwrap();
    let last = site.call("POST", &path, &json!({"grace_period_seconds": 0})).json();
    site.visit(&site.link(0));
    let arrivals = receiver.wait(2);
    arrivals[1].verify(last["secret"].as_str().unwrap()).unwrap();
    assert!(arrivals[1].verify(&new).is_err() && arrivals[1].verify(&hook.secret).is_err());
}

#[test]
fn test_event_is_marked_logged_and_not_counted() {
    let (site, receiver) = (Site::shared(), Receiver::start());
    let hook = site.hook(&receiver, json!({"events": ["click"]}));
    for kind in WebhookKind::ALL.map(WebhookKind::as_str) {
        let sent = site.call("POST", &format!("/webhooks/{}/test", hook.id), &json!({"type": kind}));
        assert_eq!(sent.status, 202, "{}", sent.text());
    }
    let arrivals = receiver.wait(WebhookKind::ALL.len());
    for arrival in &arrivals {
        arrival.verify(&hook.secret).unwrap();
        assert_eq!(arrival.json()["test"], true);
    }
    super::pages::until(|| site.deliveries(&hook).iter().all(|one| one["status"] == "delivered"));
    assert_eq!(site.get("/events")["data"], json!([]), "a test is no event");
    site.call("PATCH", &format!("/webhooks/{}", hook.id), &json!({"enabled": false}));
    let refused = site.call("POST", &format!("/webhooks/{}/test", hook.id), &json!({"type": "click"}));
    assert_eq!(refused.status, 422);
}

#[test]
fn schema_of_each_kind_has_an_example() {
    let site = Site::shared();
    for kind in WebhookKind::ALL.map(WebhookKind::as_str) {
        let schema = site.get(&format!("/events/schemas/{kind}"));
        assert_eq!((&schema["type"], &schema["example_event"]["type"]), (&json!(kind), &json!(kind)));
    }
    assert_eq!(site.call("GET", "/events/schemas/visit", &Value::Null).status, 404);
}

#[test]
fn events_of_an_unknown_page_are_404() {
    let site = Site::shared();
    let (other, _) = issue(&site.edge, None);
    let page = site.page["id"].as_str().unwrap();
    for (key, page) in [(&site.key, "pg_00000000000000000"), (&other, page)] {
        let unknown = site.send(&Request::get(&format!("/events?page_id={page}")).key(key));
        assert_eq!((unknown.status, unknown.code().as_str()), (404, "page-unknown"), "{page}");
    }
    let own = site.send(&Request::get(&format!("/events?page_id={page}")).key(&site.key));
    assert_eq!(own.status, 200, "{}", own.text());
    let twice = site.send(&Request::get("/events?limit=1&limit=2&pgae=1").key(&site.key));
    assert!(twice.json()["detail"].as_str().unwrap().contains("`limit`"), "{}", twice.text());
    let unknown = site.send(&Request::get("/events?pgae=1").key(&site.key));
    assert!(unknown.json()["detail"].as_str().unwrap().contains("`pgae`"), "{}", unknown.text());
}

#[test]
fn another_account_sees_nothing() {
    let (site, receiver) = (Site::shared(), Receiver::start());
    let hook = site.hook(&receiver, json!({"events": ["click"]}));
    site.visit(&site.link(0));
    receiver.wait(1);
    let event = site.get("/events")["data"][0]["id"].as_str().unwrap().to_owned();
    let delivery = site.deliveries(&hook)[0]["id"].as_str().unwrap().to_owned();
    let (other, _) = issue(&site.edge, None);
    for path in [
        format!("/webhooks/{}", hook.id),
        format!("/webhooks/{}/secret", hook.id),
        format!("/webhooks/{}/deliveries/{delivery}", hook.id),
        format!("/events/{event}"),
    ] {
        assert_eq!(site.send(&Request::get(&path).key(&other)).status, 404, "{path}");
        assert_eq!(site.send(&Request::get(&path).key(&site.key)).status, 200, "{path}");
    }
    let retry = request("POST", &format!("/webhooks/{}/deliveries/{delivery}/retry", hook.id), &json!({}));
    assert_eq!(site.send(&retry.key(&other)).status, 404);
}
