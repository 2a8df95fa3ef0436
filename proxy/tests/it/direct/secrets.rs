//! Named secrets of a key on a proxy in direct mode.

use serde_json::{Value, json};
use shared::key::{ApiKey, KeyEnv, KeyRecord, NamedSecret, Scope, Scopes, SecretHash, SecretId};
use shared::tier::Tier;
use shared::time::UnixMillis;
use shared::tool::Tool;
use tests::{FakeEdge, Request, Response, ToolBehavior, keys, until};

use super::Direct;
use super::changes::{asking, code, record};

const SECRETS: &str = "/v1/keys/me/secrets";

impl Direct {
    async fn send(&self, method: &str, path: &str, key: &str, body: Value) -> Response {
        let request = Request::new(method, path).header("X-API-Key", key);
        let request = if body.is_null() { request } else { request.json(&body.to_string()) };
        self.proxy.send(request).await
    }

    /// Makes a secret. Returns its text and path.
    async fn secret(&self, key: &str, scopes: Value) -> (String, String) {
        let body = json!({ "name": format!("for {scopes}"), "scopes": scopes });
        let created = self.send("POST", SECRETS, key, body).await;
        assert_eq!(created.status, 201, "{created:?}");
        let created = created.json();
        let path = format!("{SECRETS}/{}", created["id"].as_str().unwrap());
        (created["key"].as_str().unwrap().to_owned(), path)
    }
}

/// The authority over keys: the same rules and responses as at the edge.
#[tokio::test]
async fn secrets_share_the_quota_of_their_key_over_a_restart() {
    let direct = Direct::issuing().await;
    let (key, _) = direct.issue(json!({ "limits": { "minute": 6 } })).await;
    let (qr, path) = direct.secret(&key, json!({ "tools": ["qr"], "keys": true })).await;
    let (other, _) = direct.secret(&key, json!({ "tools": ["pdf"] })).await;
    assert_eq!((direct.pass(&qr, 2).await, direct.pass(&key, 2).await), (2, 2));
    let refused = direct.call(&other).await;
    let refusal = refused.json();
    assert_eq!(
        (refused.status, &refusal["code"], &refusal["scope"]),
        (403, &json!("scope-missing"), &json!("tools:qr"))
    );
    let listed = direct.send("GET", SECRETS, &qr, Value::Null).await.json();
    assert_eq!(listed["secrets"].as_array().unwrap().len(), 2, "{listed}");
    assert_eq!(direct.send("GET", SECRETS, &other, Value::Null).await.json()["scope"], "keys");

    let direct = direct.restart("TERM").await;
    assert_eq!(direct.pass(&qr, 5).await, 2, "six in all");
    let rotated = direct.send("POST", &format!("{path}/rotate"), &qr, json!({ "grace_seconds": 0 })).await;
    let new = rotated.json()["key"].as_str().unwrap().to_owned();
    assert_eq!(direct.call(&qr).await.json()["code"], "key-invalid");
    assert_eq!(direct.send("DELETE", &path, &new, Value::Null).await.status, 204);
    assert_eq!(direct.call(&new).await.json()["code"], "key-invalid");
    assert_eq!(direct.call(&key).await.json()["code"], "quota-exceeded", "the key goes on");
}

/// Its text proves nothing: until the feed names it, a named secret is unknown.
#[tokio::test]
async fn named_secret_follows_the_feed() {
    let (key, _) = keys::fresh(Tier::Pro);
    let own = record(&key, 2);
    let named = |number: u8| {
        let now = UnixMillis(1_763_712_000_000);
        let minted = ApiKey::mint_named(KeyEnv::Live, own.id, Tier::Pro, now, [number; 16], &keys::signing());
        minted.0.reveal()
    };
    let with = |version, scopes| {
        let secret = NamedSecret {
            id: SecretId::new([1; 8]),
            name: String::new(),
            scopes,
            hash: SecretHash::of(&[1; 16]),
            former: None,
            created_at: UnixMillis(0),
            expires_at: None,
            connection: None,
        };
        KeyRecord { version, secrets: vec![secret], ..own.clone() }
    };
    let edge = FakeEdge::start(Vec::new()).await;
    let direct = Direct::with(ToolBehavior::Describe, |config| asking(config, &edge)).await;
    let text = named(1);
    assert_eq!(code(&direct, &text).await.as_deref(), Some("key-invalid"), "not in the feed yet");
    edge.push(with(3, Scopes::NONE.with(Scope::Tool(Tool::Qr.label()))));
    until("the secret is known", || async { code(&direct, &text).await.is_none() }).await;
    assert_eq!(code(&direct, &named(2)).await.as_deref(), Some("key-invalid"), "another one");
    edge.push(with(4, Scopes::NONE.with(Scope::Tool(Tool::Pdf.label()))));
    until("it is narrowed", || async { code(&direct, &text).await.is_some() }).await;
    assert_eq!(code(&direct, &text).await.as_deref(), Some("scope-missing"));
    edge.push(KeyRecord { version: 5, ..own.clone() });
    until("it is revoked", || async { code(&direct, &text).await.as_deref() == Some("key-invalid") }).await;
    assert_eq!(code(&direct, &key).await, None, "the key goes on");
    let made = direct.send("GET", SECRETS, &key, Value::Null).await;
    assert_eq!(made.json()["code"], "route-unknown", "secrets are made at the edge");
}

/// As at the edge: its text would never end, and who has no scope sees nothing of the key and its holder.
#[tokio::test]
async fn secret_neither_outlives_its_maker_nor_sees_its_key() {
    let direct = Direct::issuing().await;
    let (key, id) = direct.issue(json!({})).await;
    let end = "2099-01-01T00:00:00Z";
    let all = json!({ "tools": ["all"], "biolink": "admin", "keys": true });
    let body = |name: &str, at: Value| json!({ "name": name, "scopes": all, "expires_at": at });
    let made = direct.send("POST", SECRETS, &key, body("ending", json!(end))).await.json();
    let (ending, own) =
        (made["key"].as_str().unwrap(), format!("{SECRETS}/{}", made["id"].as_str().unwrap()));
    let (none, _) = direct.secret(&key, json!({})).await;
    for (method, path, body) in [
        ("POST", SECRETS, body("child", Value::Null)),
        ("PATCH", &own, json!({ "expires_at": null })),
        ("POST", "/v1/keys/me/rotate", json!({})),
    ] {
        let refused = direct.send(method, path, ending, body).await;
        assert_eq!((refused.status, &refused.json()["code"]), (409, &json!("key-conflict")), "{path}");
        assert!(refused.json()["detail"].as_str().unwrap().contains(end), "{refused:?}");
    }
    assert_eq!(direct.send("POST", SECRETS, ending, body("child", json!(end))).await.status, 201);

    let seen = direct.send("GET", "/v1/keys/me", &none, Value::Null).await.json();
    assert_eq!(seen.as_object().unwrap().keys().collect::<Vec<_>>(), ["id", "secret"]);
    assert_eq!((&seen["id"], &seen["secret"]["name"]), (&json!(id), &json!("for {}")));
    let whole = direct.send("GET", "/v1/keys/me", &key, Value::Null).await.json();
    assert!(whole["holder"]["email"].is_string() && whole["secret"].is_null(), "{whole}");
}

#[tokio::test]
async fn repeated_creation_under_an_idempotency_key_makes_one_secret() {
    let direct = Direct::issuing().await;
    let (key, id) = direct.issue(json!({})).await;
    let create = async |direct: &Direct, key: &str, name: &str| {
        let body = json!({ "name": name, "scopes": { "tools": ["qr"] } }).to_string();
        let request = Request::new("POST", SECRETS).header("X-API-Key", key);
        direct.proxy.send(request.header("Idempotency-Key", "order-17").json(&body)).await
    };
    let first = create(&direct, &key, "CI").await;
    assert_eq!(first.status, 201, "{first:?}");
    let text = first.json()["key"].as_str().unwrap().to_owned();
    assert_eq!(create(&direct, &key, "CI").await.body, first.body);
    assert_eq!(create(&direct, &key, "CD").await.json()["code"], "idempotency-key-reused");
    assert_eq!(create(&direct, &text, "CI").await.json()["scope"], "keys");
    let direct = direct.restart("KILL").await;
    assert_eq!(create(&direct, &key, "CI").await.body, first.body);
    assert_eq!(direct.call(&text).await.status, 200);

    let shown = direct.administer("GET", &format!("/v1/keys/{id}"), None).await.json();
    assert_eq!((&shown["secrets"][0]["name"], &shown["secrets"][1]), (&json!("CI"), &Value::Null));
    let path = format!("/v1/keys/{id}/secrets/{}", shown["secrets"][0]["id"].as_str().unwrap());
    let refused = direct.send("DELETE", &path, &key, Value::Null).await;
    assert_eq!(refused.json()["code"], "admin-required");
    assert_eq!(direct.administer("DELETE", &path, None).await.status, 204);
    assert_eq!(direct.call(&text).await.json()["code"], "key-invalid");
    assert_eq!(direct.administer("DELETE", &path, None).await.json()["code"], "secret-unknown");
    let replayed = create(&direct, &key, "CI").await;
    assert_eq!(replayed.json()["code"], "idempotency-conflict", "what became of it since stays");
}

/// Another secret of the key may have made it grow since. A text that was shown then would rotate the key.
#[tokio::test]
async fn replayed_creation_does_not_show_a_widened_secret() {
    let direct = Direct::issuing().await;
    let (key, _) = direct.issue(json!({})).await;
    let (maker, _) = direct.secret(&key, json!({ "tools": ["qr"], "keys": true })).await;
    let create = async |direct: &Direct| {
        let body = json!({ "name": "CI", "scopes": { "tools": ["qr"] } }).to_string();
        let request = Request::new("POST", SECRETS).header("X-API-Key", &maker);
        direct.proxy.send(request.header("Idempotency-Key", "order-17").json(&body)).await
    };
    let first = create(&direct).await;
    assert_eq!((first.status, create(&direct).await.body), (201, first.body.clone()));
    let path = format!("{SECRETS}/{}", first.json()["id"].as_str().unwrap());
    let wide = json!({ "scopes": { "tools": ["all"], "biolink": "write", "keys": true } });
    assert_eq!(direct.send("PATCH", &path, &key, wide).await.status, 200);
    let direct = direct.restart("TERM").await;
    let replayed = create(&direct).await;
    assert_eq!((replayed.status, &replayed.json()["code"]), (409, &json!("idempotency-conflict")));
    let narrow = json!({ "scopes": { "tools": ["qr"] } });
    assert_eq!(direct.send("PATCH", &path, &key, narrow).await.status, 200);
    assert_eq!(create(&direct).await.body, first.body, "it is again what was asked for");
    let rotate = json!({ "grace_seconds": 60 });
    assert_eq!(direct.send("POST", &format!("{path}/rotate"), &key, rotate).await.status, 200);
    assert_eq!(create(&direct).await.json()["code"], "idempotency-conflict");
}
