//! The keys API of a proxy in direct mode.

use std::fs;

use serde_json::{Value, json};
use tests::keys::{ADMIN_SECRET, HOLDERS, LISTS};

use super::{Direct, call};
use tests::{Request, Response, ToolBehavior, proxy::ProxyConfig};

impl Direct {
    pub(super) async fn issuing() -> Self {
        Self::with(ToolBehavior::Describe, |config: ProxyConfig| {
            config.line("keys", "admin_secret = \"${ADMIN_SECRET}\"")
        })
        .await
    }

    async fn ask_to_issue(&self, secret: &str, more: Value) -> Response {
        let mut body =
            json!({ "admin_secret": secret, "email": "ada@example.com", "name": "Ada", "tier": "pro" });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.proxy.send(Request::new("POST", "/v1/keys/issue").json(&body.to_string())).await
    }

    /// Issues a key. Returns its text and id.
    pub(super) async fn issue(&self, more: Value) -> (String, String) {
        let issued = self.ask_to_issue(ADMIN_SECRET, more).await;
        assert_eq!(issued.status, 201, "{issued:?}");
        let told = issued.json();
        (told["key"].as_str().unwrap().to_owned(), told["id"].as_str().unwrap().to_owned())
    }

    pub(super) async fn administer(&self, method: &str, target: &str, body: Option<Value>) -> Response {
        let request = Request::new(method, target).header("Authorization", &format!("Bearer {ADMIN_SECRET}"));
        let request = match body {
            Some(body) => request.json(&body.to_string()),
            None => request,
        };
        self.proxy.send(request).await
    }
}

#[tokio::test]
async fn key_lifecycle_survives_a_restart() {
    let direct = Direct::issuing().await;
    let (key, id) = direct.issue(json!({ "limits": { "minute": 5 } })).await;
    assert_eq!(direct.pass(&key, 7).await, 5);
    let named = format!("/v1/keys/{id}");
    let changed =
        direct.administer("PATCH", &named, Some(json!({ "tier": "enterprise", "limits": null }))).await;
    assert_eq!((changed.status, changed.json()["tier"].as_str()), (200, Some("enterprise")), "{changed:?}");
    assert_eq!(direct.pass(&key, 3).await, 3, "a change holds from the next call on");
    let rotated = direct
        .proxy
        .send(
            Request::new("POST", "/v1/keys/me/rotate")
                .header("X-API-Key", &key)
                .json(r#"{"grace_seconds":0}"#),
        )
        .await;
    let new = rotated.json()["key"].as_str().unwrap().to_owned();
    assert_eq!(direct.call(&key).await.json()["code"], "key-invalid");
    assert_eq!(direct.call(&new).await.status, 200);

    let direct = direct.restart("TERM").await;
    assert_eq!(
        direct.me(&new).await["usage"]["day"]["used"],
        9,
        "usage goes on under the new secret, and over a restart"
    );
    assert_eq!(direct.me(&new).await["holder"]["email"], "ada@example.com");
    let listed = direct.administer("GET", "/v1/keys?limit=1", None).await.json();
    assert_eq!((listed["keys"][0]["id"].as_str(), &listed["cursor"]), (Some(id.as_str()), &Value::Null));
    assert_eq!(direct.administer("POST", &format!("{named}/revoke"), None).await.status, 200);
    assert_eq!(direct.call(&new).await.json()["code"], "key-revoked");

    let direct = direct.restart("KILL").await;
    assert_eq!(
        direct.call(&new).await.json()["code"],
        "key-revoked",
        "what was answered is kept, also by a crash"
    );
    assert_eq!(
        direct.administer("GET", "/v1/keys/key_00000000000000000", None).await.json()["code"],
        "key-unknown"
    );
}

#[tokio::test]
async fn wrong_admin_secret_is_throttled_after_ten_attempts() {
    let direct = Direct::issuing().await;
    for _ in 0..10 {
        let refused = direct.ask_to_issue("not-the-admin-secret-of-anybody-here", json!({})).await;
        assert_eq!(refused.json()["code"], "admin-secret-invalid");
    }
    let stopped = direct.ask_to_issue(ADMIN_SECRET, json!({})).await;
    assert_eq!((stopped.status, stopped.json()["code"].as_str()), (429, Some("attempts-exceeded")));
}

#[tokio::test]
async fn concurrent_right_admin_secrets_are_not_throttled() {
    let direct = Direct::issuing().await;
    let sent = (0..40).map(|_| direct.administer("GET", "/v1/keys", None));
    let answers = futures_util::future::join_all(sent).await;
    assert!(answers.iter().all(|response| response.status == 200), "{answers:?}");
}

#[tokio::test]
async fn issue_with_same_idempotency_key_returns_same_key() {
    let direct = Direct::issuing().await;
    let issue = async |direct: &Direct, name: &str, key: &str| {
        let body =
            json!({ "admin_secret": ADMIN_SECRET, "email": "ada@example.com", "name": name, "tier": "pro" });
        let request = Request::new("POST", "/v1/keys/issue").header("Idempotency-Key", key);
        direct.proxy.send(request.json(&body.to_string())).await
    };
    let first = issue(&direct, "Ada", "order-17").await;
    assert_eq!(first.status, 201, "{first:?}");
    assert_eq!(issue(&direct, "Ada", "order-17").await.body, first.body);
    let other = issue(&direct, "Bob", "order-17").await;
    assert_eq!((other.status, other.json()["code"].as_str()), (422, Some("idempotency-key-reused")));
    assert_ne!(issue(&direct, "Ada", "order-18").await.body, first.body);
    let id = first.json()["id"].as_str().unwrap().to_owned();
    direct.administer("POST", &format!("/v1/keys/{id}/revoke"), None).await;
    let direct = direct.restart("KILL").await;
    assert_eq!(issue(&direct, "Ada", "order-17").await.body, first.body);
    let key = first.json()["key"].as_str().unwrap().to_owned();
    assert_eq!(direct.call(&key).await.json()["code"], "key-revoked", "what became of it since stays");
    assert_eq!(direct.administer("GET", "/v1/keys", None).await.json()["keys"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn keys_are_listed_with_usage_changed_and_erased() {
    let direct = Direct::issuing().await;
    let (key, id) = direct.issue(json!({})).await;
    for _ in 0..3 {
        direct.issue(json!({ "email": "bob+x@example.com", "tier": "free" })).await;
    }
    direct.pass(&key, 2).await;
    let named = format!("/v1/keys/{id}");
    let plain = direct.administer("GET", &named, None).await.json();
    assert!(plain.get("usage").is_none(), "{plain}");
    let shown = direct.administer("GET", &format!("{named}?include=usage"), None).await.json();
    assert_eq!((&shown["usage"]["day"]["used"], &shown["rotation"]), (&2.into(), &Value::Null));
    assert!(shown["last_used_at"].is_string());
    let page = direct.administer("GET", "/v1/keys?limit=2&email=BOB%2Bx@example.com", None).await.json();
    let cursor = page["cursor"].as_str().unwrap();
    let next = format!("/v1/keys?limit=2&email=bob+x@example.com&cursor={cursor}");
    let next = direct.administer("GET", &next, None).await.json();
    assert_eq!((page["keys"].as_array().unwrap().len(), next["keys"].as_array().unwrap().len()), (2, 1));
    assert_eq!(next["cursor"], Value::Null);
    direct.administer("POST", &format!("{named}/revoke"), None).await;
    let erased = direct.administer("PATCH", &named, Some(json!({ "holder": null }))).await;
    assert_eq!((erased.status, &erased.json()["holder"]), (200, &Value::Null), "{erased:?}");
    let direct = direct.restart("KILL").await;
    let listed = direct.administer("GET", "/v1/keys?status=revoked", None).await;
    assert_eq!(listed.json()["keys"][0]["holder"], Value::Null);
    let file = fs::read_to_string(direct.state().with_extension("records")).unwrap();
    assert!(file.contains("bob+x@example.com") && !file.contains("ada@example.com"), "{file}");
}

/// The list is the same as the edge's.
#[tokio::test]
async fn key_list_is_searched_and_sorted_whatever_the_size_of_its_pages() {
    let direct = Direct::issuing().await;
    for (name, email) in HOLDERS {
        direct.issue(json!({ "name": name, "email": email, "tier": "free" })).await;
    }
    for (query, expected) in LISTS {
        for limit in [1, 2, 100] {
            let (mut found, mut cursor) = (Vec::new(), String::new());
            loop {
                let target = format!("/v1/keys?{query}&limit={limit}&cursor={cursor}");
                let page = direct.administer("GET", &target, None).await.json();
                let emails = page["keys"].as_array().unwrap().iter().map(|key| &key["holder"]["email"]);
                found.extend(emails.map(|email| email.as_str().unwrap().to_owned()));
                match page["cursor"].as_str() {
                    Some(next) => next.clone_into(&mut cursor),
                    None => break,
                }
            }
            assert_eq!(found, expected, "{query}, {limit}");
        }
    }
    let refused = direct.administer("GET", "/v1/keys?sort=tier", None).await;
    assert_eq!((refused.status, refused.json()["code"].as_str()), (422, Some("fields-invalid")));
}

/// A proxy has no meter that could be out of reach. An edge that gets the key later has.
#[tokio::test]
async fn choice_for_an_unreachable_meter_is_kept() {
    let direct = Direct::issuing().await;
    let (key, id) = direct.issue(json!({ "when_meter_unreachable": "refuse" })).await;
    let named = format!("/v1/keys/{id}");
    let direct = direct.restart("KILL").await;
    let kept = direct.administer("GET", &named, None).await.json();
    assert_eq!(
        (kept["when_meter_unreachable"].as_str(), direct.call(&key).await.status),
        (Some("refuse"), 200)
    );
    let change = json!({ "when_meter_unreachable": "continue" });
    let changed = direct.administer("PATCH", &named, Some(change)).await;
    assert_eq!(changed.json()["when_meter_unreachable"], "continue", "{changed:?}");
    let refused = direct.administer("PATCH", &named, Some(json!({ "when_meter_unreachable": "x" }))).await;
    assert_eq!((refused.status, refused.json()["code"].as_str()), (422, Some("fields-invalid")));
}

#[tokio::test]
async fn keys_api_without_admin_secret_is_404() {
    let direct = Direct::start(ToolBehavior::Describe).await;
    for request in [
        Request::new("POST", "/v1/keys/issue").json("{}"),
        Request::new("GET", "/v1/keys").header("Authorization", &format!("Bearer {ADMIN_SECRET}")),
    ] {
        let refused = direct.proxy.send(request).await;
        assert_eq!((refused.status, refused.json()["code"].as_str()), (404, Some("route-unknown")));
    }
}

#[tokio::test]
async fn keys_and_secrets_are_not_in_files_or_logs() {
    let direct = Direct::with(ToolBehavior::Describe, |config| {
        config.line("keys", "admin_secret = \"${ADMIN_SECRET}\"").line("log", "level = \"debug\"")
    })
    .await;
    let (key, _) = direct.issue(json!({})).await;
    direct.call(&key).await;
    direct.proxy.send(call(&format!("{key}x"))).await;
    direct.me(&key).await;
    let mut direct = direct;
    direct.proxy.signal("TERM");
    direct.proxy.exited().await;
    let files =
        fs::read_dir(direct.folder.path()).unwrap().map(|entry| fs::read(entry.unwrap().path()).unwrap());
    let mut written: Vec<_> = files.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).collect();
    assert_eq!(written.len(), 2);
    written.push(direct.proxy.output());
    assert!(written[2].contains("\"status\":200"), "{}", written[2]);
    for text in written {
        for secret in [&key[9..40], &key[40..70], ADMIN_SECRET, "Bearer"] {
            assert!(!text.contains(secret), "{text}");
        }
    }
}

/// As at the edge: see the test of this name there.
#[tokio::test]
async fn limits_of_a_response_are_taken_back_unchanged() {
    let direct = Direct::issuing().await;
    for (tier, own) in [
        ("free", json!(null)),
        ("enterprise", json!({ "minute": 7, "units": { "month": 90 } })),
        ("pro", json!({ "day": 8, "units": { "minute": 5, "day": 6 } })),
    ] {
        let (key, id) = direct.issue(json!({ "tier": tier, "limits": own })).await;
        let named = format!("/v1/keys/{id}");
        let told = async || {
            let me = direct.proxy.send(Request::new("GET", "/v1/keys/me").header("X-API-Key", &key)).await;
            (me.header("ratelimit-policy").unwrap().to_owned(), me.json()["limits"].clone())
        };
        let former = told().await;
        let shown = direct.administer("GET", &named, None).await.json()["limits"].clone();
        assert_eq!(former.1, shown);
        let changed = direct.administer("PATCH", &named, Some(json!({ "limits": shown }))).await;
        assert_eq!((changed.status, &changed.json()["limits"]), (200, &shown), "{changed:?}");
        assert_eq!(told().await, former);
        let (_, other) = direct.issue(json!({ "tier": tier, "limits": shown })).await;
        let other = direct.administer("GET", &format!("/v1/keys/{other}"), None).await;
        assert_eq!(other.json()["limits"], shown);
    }
}

/// As at the edge: see `null_limit_is_that_of_the_tier_and_patch_merges` there.
#[tokio::test]
async fn merge_patch_is_taken_and_encoded_body_is_415() {
    let direct = Direct::issuing().await;
    let (key, id) = direct.issue(json!({ "limits": { "minute": 7, "day": null } })).await;
    let patch = |header: (&'static str, &'static str), limits: Value| {
        let request = Request::new("PATCH", &format!("/v1/keys/{id}"))
            .header("Authorization", &format!("Bearer {ADMIN_SECRET}"))
            .json(&json!({ "limits": limits }).to_string());
        let headers = request.headers.into_iter().filter(|(name, _)| !name.eq_ignore_ascii_case(header.0));
        let request = Request { headers: headers.collect(), ..request };
        direct.proxy.send(request.header(header.0, header.1))
    };
    let changed = patch(("Content-Type", "application/merge-patch+json"), json!({ "day": 5 })).await;
    assert_eq!(changed.status, 200, "{changed:?}");
    let limits = changed.json()["limits"].clone();
    assert_eq!((&limits["minute"], &limits["day"]), (&json!(7), &json!(5)));
    let refused = patch(("Content-Type", "text/plain"), json!({})).await;
    let accepted = Some("application/merge-patch+json, application/json");
    assert_eq!((refused.status, refused.header("accept-patch")), (415, accepted));
    let encoded = patch(("Content-Encoding", "gzip"), json!({})).await;
    assert_eq!((encoded.status, encoded.header("accept-encoding")), (415, Some("identity")));
    let head = direct.proxy.send(Request::new("HEAD", "/v1/keys/me").header("X-API-Key", &key)).await;
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert!(head.header("ratelimit").is_some());
}
