//! The life cycle of a key: change, revocation, rotation, expiry, usage.

use serde_json::{Value, json};
use tests::{
    http::{Request, Response},
    keys,
    stack::{Edge, NOWHERE, PROBE_BOUND, Stack},
    wait::wait_for,
};

fn admin(edge: &Edge, method: &str, path: &str, body: Option<Value>) -> Response {
    let request = match body {
        Some(body) => Request { method: method.to_owned(), ..Request::post(path, &body) },
        None => Request::new(method, path),
    };
    request.header("Authorization", &format!("Bearer {}", keys::ADMIN_SECRET)).send(edge.addr)
}

fn call(stack: &Stack, key: &str) -> Response {
    Request::get("/v1/idea/generate").key(key).send(stack.edge.addr)
}

fn usage(edge: &Edge, key: &str) -> Response {
    Request::get("/v1/keys/me").key(key).send(edge.addr)
}

#[test]
fn administrative_call_without_the_admin_secret_is_401() {
    let edge = Edge::shared();
    let (_, id) = edge.issue("free");
    let paths = [
        ("GET", "/v1/keys".to_owned()),
        ("GET", format!("/v1/keys/{id}")),
        ("PATCH", format!("/v1/keys/{id}")),
        ("POST", format!("/v1/keys/{id}/revoke")),
        ("POST", format!("/v1/keys/{id}/rotate")),
        ("DELETE", format!("/v1/keys/{id}/secrets/sec_00000000000")),
    ];
    for (method, path) in &paths {
        let without = Request::new(method, path).send(edge.addr);
        assert_eq!((without.status, without.code().as_str()), (401, "admin-required"), "{method} {path}");
        assert!(without.header("www-authenticate").unwrap().starts_with("Bearer"));
    }
    let wrong = Request::get("/v1/keys").header("Authorization", "Bearer wrong").send(edge.addr);
    assert_eq!(wrong.code(), "admin-secret-invalid");
}

#[test]
fn listed_keys_come_in_pages_without_secrets() {
    let edge = Edge::start(NOWHERE);
    let mut issued: Vec<(String, String)> = (0..5).map(|_| edge.issue("free")).collect();
    let mut listed = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = admin(&edge, "GET", &format!("/v1/keys?limit=2&cursor={cursor}"), None);
        assert_eq!(page.status, 200, "{}", page.text());
        let page = page.json();
        assert!(page["keys"].as_array().unwrap().len() <= 2);
        listed.extend(
            page["keys"].as_array().unwrap().iter().map(|key| key["id"].as_str().unwrap().to_owned()),
        );
        match page["cursor"].as_str() {
            Some(next) => cursor = next.to_owned(),
            None => break,
        }
    }
    let mut ids: Vec<_> = issued.iter().map(|(_, id)| id.clone()).collect();
    ids.sort();
    listed.sort();
    assert_eq!(listed, ids);
    let (key, id) = issued.remove(0);
    let read = admin(&edge, "GET", &format!("/v1/keys/{id}"), None);
    assert_eq!(read.json()["holder"]["email"], "ada@example.com");
    assert!(!read.text().contains(&key[9..40]) && !read.text().contains("\"secret\""));
    let unknown = admin(&edge, "GET", "/v1/keys/key_00000000000000000", None);
    assert_eq!((unknown.status, unknown.code().as_str()), (404, "key-unknown"));
}

/// The changed record reaches the list as well.
#[test]
fn changed_tier_and_limit_apply_to_the_next_call() {
    let stack = Stack::start();
    let (key, id) = stack.edge.issue("free");
    assert!(call(&stack, &key).header("ratelimit-policy").unwrap().starts_with("\"minute\";q=10;"));
    let change = json!({ "tier": "pro", "limits": { "minute": 250 } });
    let changed = admin(&stack.edge, "PATCH", &format!("/v1/keys/{id}"), Some(change));
    assert_eq!((changed.status, &changed.json()["tier"]), (200, &json!("pro")), "{}", changed.text());
    let response = call(&stack, &key);
    assert!(
        response.header("ratelimit-policy").unwrap().starts_with("\"minute\";q=250;"),
        "{:?}",
        response.headers
    );
    // The meter enters the record into the list in the background.
    wait_for(PROBE_BOUND, || {
        let listed = admin(&stack.edge, "GET", "/v1/keys", None).json();
        (listed["keys"][0]["tier"] == "pro").then_some(())
    });
}

/// A revoked key cannot be enabled again.
#[test]
fn revoked_free_key_is_401_at_the_next_call() {
    let stack = Stack::shared();
    let (key, id) = stack.edge.issue("free");
    assert_eq!(call(&stack, &key).status, 200);
    assert_eq!(
        admin(&stack.edge, "POST", &format!("/v1/keys/{id}/revoke"), None).json()["status"],
        "revoked"
    );
    let refused = call(&stack, &key);
    assert_eq!((refused.status, refused.code().as_str()), (401, "key-revoked"));
    let again = admin(&stack.edge, "PATCH", &format!("/v1/keys/{id}"), Some(json!({ "disabled": false })));
    assert_eq!((again.status, again.code().as_str()), (409, "key-conflict"));
}

#[test]
fn disabled_key_can_be_enabled_again() {
    let stack = Stack::shared();
    let (key, id) = stack.edge.issue("free");
    let set = |disabled: bool| {
        admin(&stack.edge, "PATCH", &format!("/v1/keys/{id}"), Some(json!({ "disabled": disabled })))
    };
    assert_eq!(set(true).json()["status"], "disabled");
    assert_eq!(call(&stack, &key).code(), "key-disabled");
    assert_eq!(set(false).json()["status"], "active");
    wait_for(PROBE_BOUND, || (call(&stack, &key).status == 200).then_some(()));
}

#[test]
fn expired_key_is_401_key_expired() {
    let stack = Stack::shared();
    let (key, id) = stack.edge.issue("free");
    let soon = shared::time::UnixMillis(now_ms() + 1_500).to_rfc3339();
    let set = admin(&stack.edge, "PATCH", &format!("/v1/keys/{id}"), Some(json!({ "expires_at": soon })));
    assert_eq!(set.status, 200, "{}", set.text());
    wait_for(PROBE_BOUND, || (call(&stack, &key).code() == "key-expired").then_some(()));
}

fn now_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    u64::try_from(since.as_millis()).unwrap()
}

#[test]
fn rotated_key_keeps_its_usage_and_the_old_text_its_grace() {
    let stack = Stack::shared();
    let (old, id) = stack.edge.issue("free");
    for _ in 0..4 {
        assert_eq!(call(&stack, &old).status, 200);
    }
    let rotated = Request::new("POST", "/v1/keys/me/rotate").key(&old).send(stack.edge.addr);
    assert_eq!(rotated.status, 200, "{}", rotated.text());
    let new = rotated.json()["key"].as_str().unwrap().to_owned();
    assert_ne!(new, old);
    assert_eq!(rotated.json()["id"], json!(id));
    assert!(rotated.json()["rotation"]["former_key_valid_until"].is_string());
    assert_eq!(call(&stack, &old).status, 200, "within its grace");
    let response = call(&stack, &new);
    assert_eq!(response.status, 200, "{}", response.text());
    assert!(
        response.header("ratelimit").unwrap().starts_with("\"minute\";r=4;"),
        "{:?}",
        response.header("ratelimit")
    );
    let by_old = Request::new("POST", "/v1/keys/me/rotate").key(&old).send(stack.edge.addr);
    assert_eq!(by_old.code(), "key-conflict", "a replaced secret cannot take the key over");
    assert!(usage(&stack.edge, &new).json()["rotation"]["former_key_valid_until"].is_string());
}

#[test]
fn rotation_without_grace_ends_the_old_key_at_once() {
    let stack = Stack::shared();
    let (old, id) = stack.edge.issue("free");
    assert_eq!(call(&stack, &old).status, 200);
    let path = format!("/v1/keys/{id}/rotate");
    let rotated = admin(&stack.edge, "POST", &path, Some(json!({ "grace_seconds": 0 })));
    let new = rotated.json()["key"].as_str().unwrap().to_owned();
    assert_eq!(call(&stack, &old).code(), "key-invalid");
    assert_eq!(call(&stack, &new).status, 200);
}

#[test]
fn holder_can_revoke_a_key() {
    let stack = Stack::shared();
    let (key, _) = stack.edge.issue("pro");
    assert_eq!(call(&stack, &key).status, 200);
    let ended = Request::new("DELETE", "/v1/keys/me").key(&key).send(stack.edge.addr);
    assert_eq!((ended.status, &ended.json()["status"]), (200, &json!("revoked")), "{}", ended.text());
    assert_eq!(call(&stack, &key).code(), "key-revoked");
}

#[test]
fn reported_usage_is_what_was_called() {
    let stack = Stack::shared();
    let (key, _) = stack.edge.issue("pro");
    for _ in 0..12 {
        assert_eq!(call(&stack, &key).status, 200);
    }
    for _ in 0..3 {
        let response = Request::get("/v1/pdf/status?code=404").key(&key).send(stack.edge.addr);
        assert_eq!(response.status, 404);
    }
    let reported = wait_for(PROBE_BOUND, || {
        let reported = usage(&stack.edge, &key).json();
        (reported["today"]["by_tool"]["pdf"] == 3).then_some(reported)
    });
    assert_eq!(reported["today"]["by_tool"], json!({ "idea": 12, "pdf": 3 }));
    assert_eq!(reported["today"]["by_status"], json!({ "200": 12, "404": 3 }));
    assert_eq!(reported["usage"]["day"]["limit"], 10_000);
    assert!(reported["last_used_at"].is_string());
    // Calls that are leased and not spent count as used until the lease ends.
    wait_for(PROBE_BOUND * 2, || {
        (usage(&stack.edge, &key).json()["usage"]["day"]["used"] == 15).then_some(())
    });
}
