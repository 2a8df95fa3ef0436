//! Administration of keys: list, usage, idempotent issuing, holders.

use std::{collections::HashSet, thread};

use serde_json::{Value, json};
use tests::{
    http::{Request, Response},
    keys,
    stack::{Edge, NOWHERE, PROBE_BOUND, Stack},
    wait::wait_for,
};

use super::{abuse::administer, calls::reported};

fn issue(edge: &Edge, email: &str, tier: &str, idempotency_key: Option<&str>) -> Response {
    let body = json!({ "email": email, "name": "Ada", "tier": tier, "admin_secret": keys::ADMIN_SECRET });
    let request = Request::post("/v1/keys/issue", &body);
    match idempotency_key {
        Some(key) => request.header("Idempotency-Key", key),
        None => request,
    }
    .send(edge.addr)
}

/// Returns the ids on all pages for this query, and the number of pages.
fn list(edge: &Edge, query: &str) -> (Vec<String>, usize) {
    let (mut ids, mut cursor, mut pages) = (Vec::new(), String::new(), 0);
    loop {
        let page = administer(edge, "GET", &format!("/v1/keys?{query}&cursor={cursor}"), None);
        assert_eq!(page.status, 200, "{}", page.text());
        let page = page.json();
        ids.extend(page["keys"].as_array().unwrap().iter().map(|key| key["id"].as_str().unwrap().to_owned()));
        pages += 1;
        match page["cursor"].as_str() {
            // No byte of it needs percent-encoding, and an encoded one means the same.
            Some(next) => {
                assert!(next.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_'), "{next}");
                cursor = next.bytes().map(|b| format!("%{b:02X}")).collect();
            }
            None => return (ids, pages),
        }
    }
}

#[test]
fn list_is_filtered_by_email_tier_and_status_over_pages() {
    let edge = Edge::start(NOWHERE);
    let ids = |responses: Vec<Response>| -> HashSet<String> {
        responses.iter().map(|response| response.json()["id"].as_str().unwrap().to_owned()).collect()
    };
    let ada = ids((0..5).map(|_| issue(&edge, "ada+x@example.com", "pro", None)).collect());
    let bob = ids((0..4).map(|_| issue(&edge, "bob@example.com", "free", None)).collect());
    let found = |query: &str| {
        let (listed, pages) = list(&edge, query);
        let set: HashSet<_> = listed.iter().cloned().collect();
        assert_eq!(set.len(), listed.len(), "each key once");
        (set, pages)
    };
    assert_eq!(found("limit=2").0.len(), 9);
    for query in
        ["limit=2&email=ADA%2Bx%40example.com", "limit=2&email=ada+x@example.com", "limit=2&tier=pro"]
    {
        assert_eq!(
            found(query),
            (ada.clone(), 3),
            "{query}: pages are full though keys between are left out"
        );
    }
    assert_eq!(found("limit=100&tier=free&email=bob@example.com"), (bob, 1));
    assert_eq!(found("status=revoked").0.len(), 0);
}

#[test]
fn concurrent_right_admin_secrets_are_not_throttled() {
    let edge = Edge::shared();
    let statuses: Vec<u16> = thread::scope(|scope| {
        let sent: Vec<_> =
            (0..40).map(|_| scope.spawn(|| administer(&edge, "GET", "/v1/keys", None).status)).collect();
        sent.into_iter().map(|sent| sent.join().unwrap()).collect()
    });
    assert_eq!(statuses, [200; 40]);
}

#[test]
fn usage_is_shown_to_an_administrator_on_request() {
    let stack = Stack::shared();
    let (key, id) = stack.edge.issue("free");
    for _ in 0..3 {
        assert_eq!(Request::get("/v1/pdf/merge").key(&key).send(stack.edge.addr).status, 200);
    }
    let path = format!("/v1/keys/{id}");
    let plain = administer(&stack.edge, "GET", &path, None).json();
    assert_eq!((plain["id"].as_str(), plain.get("usage")), (Some(id.as_str()), None));
    let shown = administer(&stack.edge, "GET", &format!("{path}?include=usage"), None).json();
    assert_eq!(
        (&shown["usage"]["minute"]["used"], &shown["usage"]["day"]["remaining"]),
        (&json!(3), &json!(97))
    );
    assert!(shown["last_used_at"].is_string() && shown["rotation"].is_null(), "{shown}");
    assert_eq!(administer(&stack.edge, "POST", &format!("{path}/rotate"), None).status, 200);
    administer(&stack.edge, "POST", &format!("{path}/revoke"), None);
    let revoked = administer(&stack.edge, "GET", &format!("{path}?include=usage"), None).json();
    assert_eq!(revoked["status"], "revoked", "{revoked}");
    assert!(revoked["rotation"]["former_key_valid_until"].is_string());
    assert_eq!(revoked["usage"]["minute"]["used"], 3);
}

/// Repeats the request after a revocation, with another body, and ten times in parallel.
#[test]
fn issue_repeated_under_idempotency_key_gets_the_same_key() {
    let edge = Edge::start_stored(NOWHERE);
    let first = issue(&edge, "ada@example.com", "pro", Some("order-17"));
    assert_eq!(first.status, 201, "{}", first.text());
    let again = issue(&edge, "ada@example.com", "pro", Some("order-17"));
    assert_eq!((again.status, again.text()), (201, first.text()));
    assert_eq!(again.header("location"), first.header("location"));
    let other = issue(&edge, "bob@example.com", "pro", Some("order-17"));
    assert_eq!((other.status, other.code().as_str()), (422, "idempotency-key-reused"));
    assert_ne!(issue(&edge, "ada@example.com", "pro", Some("order-18")).text(), first.text());

    let (key, id) =
        (first.json()["key"].as_str().unwrap().to_owned(), first.json()["id"].as_str().unwrap().to_owned());
    administer(&edge, "POST", &format!("/v1/keys/{id}/revoke"), None);
    assert_eq!(
        issue(&edge, "ada@example.com", "pro", Some("order-17")).text(),
        first.text(),
        "it is shown again"
    );
    let usage = Request::get("/v1/keys/me").key(&key).send(edge.addr);
    assert_eq!(usage.code(), "key-revoked", "and what became of it since stays");
    wait_for(PROBE_BOUND, || {
        let listed = administer(&edge, "GET", "/v1/keys?status=revoked", None).json();
        (listed["keys"][0]["id"] == json!(id)).then_some(())
    });

    let responses: Vec<Response> = thread::scope(|scope| {
        let send = || issue(&edge, "eve@example.com", "free", Some("order-19"));
        let sent: Vec<_> = (0..10).map(|_| scope.spawn(send)).collect();
        sent.into_iter().map(|sent| sent.join().unwrap()).collect()
    });
    let issued: HashSet<String> =
        responses.iter().filter(|own| own.status == 201).map(Response::text).collect();
    let busy = responses
        .iter()
        .filter(|own| own.code() == "idempotency-conflict" && own.header("retry-after").is_some());
    assert_eq!((issued.len(), busy.count()), (1, responses.iter().filter(|own| own.status != 201).count()));
    assert_eq!(list(&edge, "email=eve@example.com").0.len(), 1, "ten at once have issued one key");
}

/// The holder of an active key is corrected first.
#[test]
fn holder_of_a_revoked_key_is_erased() {
    let edge = Edge::start_stored(NOWHERE);
    let (key, id) = edge.issue("free");
    let path = format!("/v1/keys/{id}");
    let patch = |body: Value| administer(&edge, "PATCH", &path, Some(&body));
    let grace = json!({ "email": "grace@example.com", "name": "Grace" });
    assert_eq!(patch(json!({ "holder": grace })).json()["holder"], grace);
    let own = Request::get("/v1/keys/me").key(&key).send(edge.addr).json();
    assert_eq!(own["holder"], grace);
    administer(&edge, "POST", &format!("{path}/revoke"), None);
    assert_eq!(patch(json!({ "holder": null, "tier": "pro" })).code(), "key-conflict");
    let erased = patch(json!({ "holder": null }));
    assert_eq!((erased.status, erased.json()["holder"].clone()), (200, Value::Null), "{}", erased.text());
    wait_for(PROBE_BOUND, || {
        let listed = administer(&edge, "GET", "/v1/keys", None).json();
        listed["keys"][0]["holder"].is_null().then_some(())
    });
}

/// Names of secrets say whose they are, and so may what was called.
#[test]
fn erased_holder_leaves_no_name_and_no_call() {
    let edge = Edge::shared();
    let (key, id) = edge.issue("free");
    let body = json!({ "name": "Grace's laptop", "scopes": { "tools": ["idea"] } });
    let made = Request::post("/v1/keys/me/secrets", &body).key(&key).send(edge.addr).json();
    let read = |path: &str| Request::get(path).key(&key).send(edge.addr);
    // More than a row of the log takes.
    (0..70).for_each(|_| assert_eq!(read("/webhooks").status, 403));
    let calls = || reported(&edge, &key, "limit=1000").len();
    assert!(calls() >= 70);
    let erased = administer(&edge, "PATCH", &format!("/v1/keys/{id}"), Some(&json!({ "holder": null })));
    assert_eq!(erased.status, 200, "{}", erased.text());
    assert_eq!((calls(), read("/v1/keys/me").json()["refusals"].clone()), (0, json!([])));
    let secrets = read("/v1/keys/me/secrets");
    assert_eq!(secrets.json()["secrets"][0]["name"], made["id"], "{}", secrets.text());
    assert_eq!(read("/webhooks").status, 403);
    assert_eq!(calls(), 1, "the log goes on");
}
