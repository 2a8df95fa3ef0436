//! Named secrets of a key: what each may do, and that they are one key.

use serde_json::{Value, json};
use tests::{
    http::{Request, Response},
    keys,
    stack::{Edge, PROBE_BOUND, Stack},
    wait::wait_for,
};

const SECRETS: &str = "/v1/keys/me/secrets";

fn send(edge: &Edge, method: &str, path: &str, key: &str, body: Option<&Value>) -> Response {
    let request = match body {
        Some(body) => Request { method: method.to_owned(), ..Request::post(path, body) },
        None => Request::new(method, path),
    };
    request.key(key).send(edge.addr)
}

fn create(edge: &Edge, key: &str, name: &str, scopes: &Value) -> Response {
    send(edge, "POST", SECRETS, key, Some(&json!({ "name": name, "scopes": scopes })))
}

/// Makes a secret. Returns its text and path.
fn secret(edge: &Edge, key: &str, scopes: &Value) -> (String, String) {
    let name = format!("for {scopes}");
    let created = create(edge, key, &name, scopes);
    assert_eq!(created.status, 201, "{}", created.text());
    let text = created.json()["key"].as_str().unwrap().to_owned();
    (text, created.header("location").unwrap().to_owned())
}

fn call(stack: &Stack, tool: &str, key: &str) -> Response {
    Request::get(&format!("/v1/{tool}/generate")).key(key).send(stack.edge.addr)
}

fn day_used(edge: &Edge, key: &str) -> Value {
    send(edge, "GET", "/v1/keys/me", key, None).json()["usage"]["day"]["used"].clone()
}

fn assert_missing(response: &Response, scope: &str) {
    assert_eq!((response.status, response.code().as_str()), (403, "scope-missing"), "{}", response.text());
    assert_eq!(response.json()["scope"], scope);
}

#[test]
fn secret_calls_the_tools_of_its_scopes_only() {
    let stack = Stack::shared();
    let (key, id) = stack.edge.issue("free");
    let (narrow, _) = secret(&stack.edge, &key, &json!({ "tools": ["idea"] }));
    assert!(narrow.starts_with("utg_") && narrow.len() == key.len() && narrow != key);
    assert_eq!(call(&stack, "idea", &narrow).status, 200);
    for _ in 0..20 {
        assert_missing(&call(&stack, "qr", &narrow), "tools:qr");
    }
    assert_missing(&send(&stack.edge, "GET", SECRETS, &narrow, None), "keys");
    assert_missing(&create(&stack.edge, &narrow, "more", &json!({ "tools": ["all"] })), "tools:all");
    assert_missing(&send(&stack.edge, "DELETE", "/v1/keys/me", &narrow, None), "tools:all");
    assert_ne!(call(&stack, "qr", &key).code(), "scope-missing", "the key's own secret has every scope");
    let usage = send(&stack.edge, "GET", "/v1/keys/me", &narrow, None);
    assert_eq!((&usage.json()["id"], &usage.json()["usage"]["day"]["used"]), (&json!(id), &json!(2)));
}

#[test]
fn secrets_share_the_quota_of_their_key() {
    let stack = Stack::shared();
    let (key, _) = stack.edge.issue("free");
    let mut callers = vec![key.clone()];
    callers.extend((1..=10).map(|number| {
        let tools = json!({ "tools": ["all"], "keys": number == 1 });
        let created = create(&stack.edge, &key, &format!("s{number}"), &tools);
        created.json()["key"].as_str().unwrap().to_owned()
    }));
    let eleventh = create(&stack.edge, &key, "s11", &json!({}));
    assert_eq!((eleventh.status, eleventh.code().as_str()), (409, "key-conflict"));
    let passed =
        callers.iter().cycle().take(33).filter(|key| call(&stack, "idea", key).status == 200).count();
    assert_eq!((passed, day_used(&stack.edge, &key)), (10, json!(10)));
}

#[test]
fn secret_is_listed_changed_rotated_and_revoked() {
    let stack = Stack::shared();
    let (key, _) = stack.edge.issue("free");
    let (admin, _) = secret(&stack.edge, &key, &json!({ "tools": ["all"], "keys": true }));
    let (old, path) = secret(&stack.edge, &admin, &json!({ "tools": ["qr"] }));
    let listed = send(&stack.edge, "GET", SECRETS, &admin, None);
    assert_eq!(listed.json()["secrets"].as_array().unwrap().len(), 2);
    assert!(!listed.text().contains("utg_") && !listed.text().contains("hash"), "{}", listed.text());
    assert_missing(&call(&stack, "idea", &old), "tools:idea");

    let change = json!({ "name": "CI", "scopes": { "tools": ["idea"] } });
    let changed = send(&stack.edge, "PATCH", &path, &admin, Some(&change));
    assert_eq!((changed.status, &changed.json()["name"]), (200, &json!("CI")), "{}", changed.text());
    wait_for(PROBE_BOUND, || (call(&stack, "idea", &old).status == 200).then_some(()));
    let taken = create(&stack.edge, &admin, "CI", &json!({}));
    assert_eq!((taken.status, taken.code().as_str()), (409, "key-conflict"));

    let rotate = format!("{path}/rotate");
    let rotated = send(&stack.edge, "POST", &rotate, &admin, Some(&json!({ "grace_seconds": 0 })));
    assert_eq!(rotated.status, 200, "{}", rotated.text());
    let new = rotated.json()["key"].as_str().unwrap().to_owned();
    assert_eq!(call(&stack, "idea", &old).code(), "key-invalid");
    assert_eq!(call(&stack, "idea", &new).status, 200);

    assert_eq!(send(&stack.edge, "DELETE", &path, &admin, None).status, 204);
    assert_eq!(call(&stack, "idea", &new).code(), "key-invalid", "from the next call on");
    for (method, path) in [("DELETE", &path), ("PATCH", &path), ("POST", &rotate)] {
        let gone = send(
            &stack.edge,
            method,
            path,
            &admin,
            Some(&json!({ "name": "x" })).filter(|_| method == "PATCH"),
        );
        assert_eq!((gone.status, gone.code().as_str()), (404, "secret-unknown"), "{method}");
    }
    assert_eq!(call(&stack, "idea", &key).status, 200);
}

#[test]
fn own_rotation_keeps_named_secrets_and_revocation_ends_them() {
    let stack = Stack::shared();
    let (key, _) = stack.edge.issue("free");
    let (named, _) =
        secret(&stack.edge, &key, &json!({ "tools": ["all"], "biolink": "admin", "keys": true }));
    let grace = json!({ "grace_seconds": 0 });
    let rotated = send(&stack.edge, "POST", "/v1/keys/me/rotate", &named, Some(&grace));
    assert_eq!(rotated.status, 200, "a secret with every scope stands for the key: {}", rotated.text());
    let new = rotated.json()["key"].as_str().unwrap().to_owned();
    assert_eq!(call(&stack, "idea", &key).code(), "key-invalid");
    assert_eq!((call(&stack, "idea", &named).status, call(&stack, "idea", &new).status), (200, 200));
    assert_eq!(send(&stack.edge, "DELETE", "/v1/keys/me", &new, None).status, 200);
    assert_eq!(call(&stack, "idea", &named).code(), "key-revoked");
}

#[test]
fn biolink_scope_says_who_reads_and_who_writes() {
    let edge = Edge::shared();
    let body = json!({
        "email": "ada@example.com", "name": "Ada", "tier": "pro", "biolink_plan": "business",
        "admin_secret": keys::ADMIN_SECRET,
    });
    let key =
        Request::post("/v1/keys/issue", &body).send(edge.addr).json()["key"].as_str().unwrap().to_owned();
    let page = json!({ "title": "Ada" });
    let (none, _) = secret(&edge, &key, &json!({ "tools": ["all"], "keys": true }));
    let (reader, _) = secret(&edge, &key, &json!({ "biolink": "read" }));
    let (writer, _) = secret(&edge, &key, &json!({ "biolink": "write" }));
    for path in ["/pages", "/account", "/webhooks"] {
        assert_missing(&send(&edge, "GET", path, &none, None), "biolink:read");
        for key in [&reader, &writer, &key] {
            let read = send(&edge, "GET", path, key, None);
            assert_eq!(read.status, 200, "{path}: {}", read.text());
        }
    }
    for key in [&none, &reader] {
        let write = send(&edge, "POST", "/pages", key, Some(&page));
        assert_missing(&write, "biolink:write");
    }
    assert_missing(&send(&edge, "POST", "/webhooks", &reader, Some(&json!({}))), "biolink:write");
    let written = send(&edge, "POST", "/pages", &writer, Some(&page));
    assert_ne!(written.code(), "scope-missing", "{}", written.text());
}

#[test]
fn repeated_creation_under_an_idempotency_key_makes_one_secret() {
    let stack = Stack::shared();
    let edge = &stack.edge;
    let ((key, _), (other, _)) = (edge.issue("free"), edge.issue("free"));
    let create = |key: &str, name: &str| {
        let body = json!({ "name": name, "scopes": { "tools": ["idea"] } });
        Request::post(SECRETS, &body).key(key).header("Idempotency-Key", "order-17").send(edge.addr)
    };
    let first = create(&key, "CI");
    assert_eq!(first.status, 201, "{}", first.text());
    let text = first.json()["key"].as_str().unwrap().to_owned();
    let again = create(&key, "CI");
    assert_eq!((again.status, again.header("location")), (201, first.header("location")));
    assert_eq!(again.body, first.body);
    let reused = create(&key, "CD");
    assert_eq!((reused.status, reused.code().as_str()), (422, "idempotency-key-reused"));
    let of_other = create(&other, "CI");
    assert_eq!(of_other.status, 201, "another key has names of its own");
    assert_ne!(of_other.body, first.body);
    assert_missing(&create(&text, "CI"), "keys");
    let listed = send(edge, "GET", SECRETS, &key, None).json();
    assert_eq!(listed["secrets"].as_array().unwrap().len(), 1, "{listed}");
    assert_eq!(send(edge, "DELETE", first.header("location").unwrap(), &key, None).status, 204);
    assert_eq!(create(&key, "CI").code(), "idempotency-conflict", "what became of it since stays");
    assert_eq!(call(&stack, "idea", &text).code(), "key-invalid");
}

/// Another secret of the key may have made it grow since. A text that was shown then would rotate the key.
#[test]
fn replayed_creation_does_not_show_a_widened_secret() {
    let edge = Edge::shared();
    let (key, _) = edge.issue("free");
    let (maker, _) = secret(&edge, &key, &json!({ "tools": ["idea"], "keys": true }));
    let create = || {
        let body = json!({ "name": "CI", "scopes": { "tools": ["idea"] } });
        Request::post(SECRETS, &body).key(&maker).header("Idempotency-Key", "order-17").send(edge.addr)
    };
    let first = create();
    assert_eq!((first.status, create().body), (201, first.body.clone()));
    let path = first.header("location").unwrap();
    for change in [
        json!({ "scopes": { "tools": ["all"], "biolink": "write", "keys": true } }),
        json!({ "scopes": { "tools": ["idea"] }, "name": "other" }),
        json!({ "name": "CI", "expires_at": "2099-01-01T00:00:00Z" }),
    ] {
        assert_eq!(send(&edge, "PATCH", path, &key, Some(&change)).status, 200);
        let replayed = create();
        assert_eq!((replayed.status, replayed.code().as_str()), (409, "idempotency-conflict"), "{change}");
        assert!(!replayed.text().contains("utg_"), "{}", replayed.text());
    }
    assert_eq!(send(&edge, "PATCH", path, &key, Some(&json!({ "expires_at": null }))).status, 200);
    assert_eq!(create().body, first.body, "it is again what was asked for");
    let rotated = send(&edge, "POST", &format!("{path}/rotate"), &key, Some(&json!({ "grace_seconds": 60 })));
    assert_eq!((rotated.status, create().code().as_str()), (200, "idempotency-conflict"));
}

/// It would never end: whoever has its text could take its expiry away, or make a secret without one.
#[test]
fn secret_that_expires_makes_nothing_that_lasts_longer() {
    let edge = Edge::shared();
    let (key, _) = edge.issue("free");
    let all = json!({ "tools": ["all"], "biolink": "admin", "keys": true });
    let end = "2099-01-01T00:00:00Z";
    let make = |key: &str, name: &str, expires_at: &Value, once: bool| {
        let body = json!({ "name": name, "scopes": all, "expires_at": expires_at });
        let request = Request::post(SECRETS, &body).key(key);
        if once { request.header("Idempotency-Key", name) } else { request }.send(edge.addr)
    };
    let made = make(&key, "ending", &json!(end), false);
    let own = made.header("location").unwrap().to_owned();
    let ending = made.json()["key"].as_str().unwrap().to_owned();
    let (_, endless) = secret(&edge, &key, &json!({ "tools": ["idea"] }));
    let refused = |response: &Response| {
        assert_eq!((response.status, response.code().as_str()), (409, "key-conflict"), "{}", response.text());
        assert!(response.text().contains(end), "{}", response.text());
    };
    for expires_at in [json!(null), json!("2099-01-01T00:00:01Z")] {
        refused(&make(&ending, "child", &expires_at, false));
        refused(&make(&ending, "child", &expires_at, true));
        refused(&send(&edge, "PATCH", &own, &ending, Some(&json!({ "expires_at": expires_at }))));
        refused(&send(&edge, "PATCH", &endless, &ending, Some(&json!({ "expires_at": expires_at }))));
    }
    refused(&send(&edge, "PATCH", &endless, &ending, Some(&json!({ "name": "mine" }))));
    refused(&send(&edge, "POST", &format!("{endless}/rotate"), &ending, None));
    refused(&send(&edge, "POST", "/v1/keys/me/rotate", &ending, None));
    let child = make(&ending, "child", &json!(end), true);
    assert_eq!((child.status, &child.json()["expires_at"]), (201, &json!(end)), "{}", child.text());
    let earlier = send(&edge, "PATCH", &own, &ending, Some(&json!({ "expires_at": "2098-01-01T00:00:00Z" })));
    assert_eq!(earlier.status, 200, "{}", earlier.text());
    assert_eq!(send(&edge, "PATCH", &own, &key, Some(&json!({ "expires_at": null }))).status, 200);
}

#[test]
fn secret_without_scopes_sees_itself_and_no_more() {
    let stack = Stack::shared();
    let (key, id) = stack.edge.issue("free");
    let (none, path) = secret(&stack.edge, &key, &json!({}));
    let (caller, _) = secret(&stack.edge, &key, &json!({ "tools": ["idea"] }));
    assert_missing(&call(&stack, "idea", &none), "tools:idea");
    let read = |key: &str, path: &str| send(&stack.edge, "GET", path, key, None);
    let own = read(&none, "/v1/keys/me").json();
    assert_eq!(own.as_object().unwrap().keys().collect::<Vec<_>>(), ["id", "secret"]);
    assert_eq!((&own["id"], own["secret"]["id"].as_str()), (&json!(id), path.rsplit('/').next()));
    let shares = read(&caller, "/v1/keys/me");
    assert_eq!(shares.json()["usage"]["day"]["used"], 0);
    assert!(!shares.text().contains('@') && !shares.text().contains("refusals"), "{}", shares.text());
    assert!(read(&key, "/v1/keys/me").text().contains('@'));
    for key in [&none, &caller] {
        for path in ["/v1/usage", "/v1/usage/calls", "/v1/keys/me/alerts", SECRETS] {
            assert_missing(&read(key, path), "keys");
        }
    }
}

/// A request that fails holds its name for no other.
#[test]
fn failed_creation_under_an_idempotency_key_can_be_repeated() {
    let edge = Edge::shared();
    let (key, _) = edge.issue("free");
    let (_, path) = secret(&edge, &key, &json!({}));
    let body = json!({ "name": "for {}", "scopes": {} });
    let create = || Request::post(SECRETS, &body).key(&key).header("Idempotency-Key", "one").send(edge.addr);
    assert_eq!(create().code(), "key-conflict", "the name is taken");
    assert_eq!(send(&edge, "DELETE", &path, &key, None).status, 204);
    let made = create();
    assert_eq!((made.status, create().body), (201, made.body));
}

#[test]
fn administrator_sees_the_secrets_of_a_key_and_ends_one() {
    let stack = Stack::shared();
    let edge = &stack.edge;
    let (key, id) = edge.issue("free");
    let (named, path) = secret(edge, &key, &json!({ "tools": ["idea"] }));
    let administer = |method: &str, path: &str| {
        let bearer = format!("Bearer {}", keys::ADMIN_SECRET);
        Request::new(method, path).header("Authorization", &bearer).send(edge.addr)
    };
    for query in ["", "?include=usage"] {
        let shown = administer("GET", &format!("/v1/keys/{id}{query}"));
        let secrets = &shown.json()["secrets"];
        assert_eq!((&secrets[0]["scopes"]["tools"], &secrets[1]), (&json!(["idea"]), &Value::Null));
        assert!(!shown.text().contains("utg_") && !shown.text().contains("hash"), "{}", shown.text());
    }
    let own = send(edge, "GET", "/v1/keys/me", &named, None).json();
    assert_eq!(own.get("secrets"), None, "a secret without the scope `keys` sees no other");

    let secret_id = path.rsplit('/').next().unwrap();
    let path = format!("/v1/keys/{id}/secrets/{secret_id}");
    let refused = send(edge, "DELETE", &path, &key, None);
    assert_eq!((refused.status, refused.code().as_str()), (401, "admin-required"));
    assert_eq!(call(&stack, "idea", &named).status, 200);
    assert_eq!(administer("DELETE", &path).status, 204);
    assert_eq!(call(&stack, "idea", &named).code(), "key-invalid", "from the next call on");
    let again = administer("DELETE", &path);
    assert_eq!((again.status, again.code().as_str()), (404, "secret-unknown"));
    assert_eq!(call(&stack, "idea", &key).status, 200, "the key goes on");
}
