//! Issuing keys and reading their usage.

use std::thread;

use serde_json::{Value, json};
use tests::{
    http::{Request, Response},
    keys,
    stack::{Edge, NOWHERE, Stack},
};

fn issue(edge: &Edge, body: &Value) -> Response {
    Request::post("/v1/keys/issue", body).send(edge.addr)
}

fn complete() -> Value {
    json!({ "email": "ada@example.com", "name": "Ada", "tier": "free", "admin_secret": keys::ADMIN_SECRET })
}

#[test]
fn issued_key_has_its_tier_limits_and_holder() {
    let edge = Edge::shared();
    let response = issue(&edge, &complete());
    assert_eq!(response.status, 201, "{}", response.text());
    assert_eq!(response.header("cache-control"), Some("no-store"));
    let key = response.json();
    assert!(key["key"].as_str().unwrap().starts_with("utg_live_"));
    assert_eq!(key["tier"], "free");
    assert_eq!(key["holder"], json!({ "email": "ada@example.com", "name": "Ada" }));
    let units = json!({ "minute": null, "day": null, "month": null });
    assert_eq!(key["limits"], json!({ "minute": 10, "day": 100, "units": units }));
}

#[test]
fn issue_request_with_faults_is_422_naming_each() {
    let edge = Edge::shared();
    let body = json!({
        "email": "<EMAIL>", "name": "", "tier": "gold", "nmae": 1, "admin_secret": keys::ADMIN_SECRET,
    });
    let response = issue(&edge, &body);
    assert_eq!((response.status, response.code().as_str()), (422, "fields-invalid"));
    let errors = response.json()["errors"].clone();
    let pointers: Vec<_> = errors.as_array().unwrap().iter().map(|error| error["pointer"].clone()).collect();
    assert_eq!(pointers, ["#/email", "#/name", "#/tier", "#/nmae"]);
}

/// Each fault has its own code: malformed JSON, another media type, too many bytes.
#[test]
fn issue_body_that_is_not_a_json_object_is_refused() {
    let edge = Edge::shared();
    let post = |kind: &str, body: &str| {
        Request::new("POST", "/v1/keys/issue").header("Content-Type", kind).body(body).send(edge.addr).code()
    };
    assert_eq!(post("application/json", "[]"), "body-malformed");
    assert_eq!(post("application/json", r#"{"tier":"free","tier":"pro"}"#), "body-malformed");
    assert_eq!(post("text/plain", &complete().to_string()), "media-type-unsupported");
    assert_eq!(post("application/json", &format!("\"{}\"", "a".repeat(20_000))), "body-too-large");
}

/// A body in a content coding is not read as if it were text.
#[test]
fn encoded_body_is_415_with_what_is_accepted() {
    let edge = Edge::shared();
    let request = Request::post("/v1/keys/issue", &complete()).header("Content-Encoding", "gzip");
    let refused = request.send(edge.addr);
    assert_eq!((refused.status, refused.code().as_str()), (415, "media-type-unsupported"));
    assert_eq!(refused.header("accept-encoding"), Some("identity"));
    let plain = Request::post("/v1/keys/issue", &complete()).header("Content-Encoding", "identity");
    assert_eq!(plain.send(edge.addr).status, 201);
}

/// The limits of a GET are those of a PATCH and of another key, and what is enforced stays as it is.
#[test]
fn limits_of_a_response_are_taken_back_unchanged() {
    let edge = Edge::shared();
    for (tier, own) in [
        ("free", json!(null)),
        ("enterprise", json!({ "minute": 7, "units": { "month": 90 } })),
        ("pro", json!({ "day": 8, "units": { "minute": 5, "day": 6 } })),
    ] {
        let mut body = complete();
        (body["tier"], body["limits"]) = (json!(tier), own);
        let issued = issue(&edge, &body).json();
        let path = format!("/v1/keys/{}", issued["id"].as_str().unwrap());
        let ask = |method: &str, body: Option<Value>| {
            let request = Request::new(method, &path)
                .header("Authorization", &format!("Bearer {}", keys::ADMIN_SECRET));
            let response = match body {
                Some(body) => request.header("Content-Type", "application/json").body(body.to_string()),
                None => request,
            }
            .send(edge.addr);
            assert_eq!(response.status, 200, "{}", response.text());
            response.json()
        };
        let told = || {
            let me = Request::get("/v1/keys/me").key(issued["key"].as_str().unwrap()).send(edge.addr);
            (me.header("ratelimit-policy").unwrap().to_owned(), me.json()["limits"].clone())
        };
        let former = told();
        let shown = ask("GET", None)["limits"].clone();
        assert_eq!((&issued["limits"], &former.1), (&shown, &shown));
        assert_eq!(ask("PATCH", Some(json!({ "limits": shown })))["limits"], shown);
        assert_eq!(told(), former);
        body["limits"] = shown.clone();
        assert_eq!(issue(&edge, &body).json()["limits"], shown);
    }
}

/// A merge patch (RFC 7396) changes one limit.
#[test]
fn null_limit_is_that_of_the_tier_and_patch_merges() {
    let edge = Edge::shared();
    let mut body = complete();
    body["limits"] = json!({ "minute": 7, "day": null });
    let issued = issue(&edge, &body);
    assert_eq!(issued.status, 201, "{}", issued.text());
    let calls = |key: &Value| [key["limits"]["minute"].clone(), key["limits"]["day"].clone()];
    assert_eq!(calls(&issued.json()), [json!(7), json!(100)]);
    let path = format!("/v1/keys/{}", issued.json()["id"].as_str().unwrap());
    let patch = |kind: &str, limits: Value| {
        Request::new("PATCH", &path)
            .header("Authorization", &format!("Bearer {}", keys::ADMIN_SECRET))
            .header("Content-Type", kind)
            .body(json!({ "limits": limits }).to_string())
            .send(edge.addr)
    };
    for (limits, expected) in [
        (json!({ "day": 5 }), [7, 5]),
        (json!({ "minute": 3, "day": null }), [3, 100]),
        (json!({ "minute": null }), [10, 100]),
    ] {
        let changed = patch("application/merge-patch+json", limits.clone());
        assert_eq!(changed.status, 200, "{}", changed.text());
        assert_eq!(calls(&changed.json()), expected.map(|calls| json!(calls)), "{limits}");
    }
    let refused = patch("text/plain", json!({ "day": 5 }));
    assert_eq!(refused.status, 415);
    assert_eq!(refused.header("accept-patch"), Some("application/merge-patch+json, application/json"));
}

/// The first ten are 403. Afterwards the right secret is 429 too, so that a correct guess does not
/// show.
#[test]
fn eleventh_parallel_wrong_admin_secret_is_429() {
    let edge = Edge::start(NOWHERE);
    let mut body = complete();
    body["admin_secret"] = json!("wrong");
    let codes: Vec<String> = thread::scope(|scope| {
        let guesses: Vec<_> = (0..30).map(|_| scope.spawn(|| issue(&edge, &body).code())).collect();
        guesses.into_iter().map(|guess| guess.join().unwrap()).collect()
    });
    let count = |code: &str| codes.iter().filter(|other| *other == code).count();
    assert_eq!((count("admin-secret-invalid"), count("attempts-exceeded")), (10, 20), "{codes:?}");
    let locked = issue(&edge, &complete());
    assert_eq!(locked.status, 429, "a guess that happens to be right must not show either");
    assert!(locked.header("retry-after").is_some());
}

#[test]
fn right_admin_secrets_are_not_limited() {
    let edge = Edge::shared();
    for _ in 0..15 {
        edge.issue("free");
    }
}

#[test]
fn usage_request_is_free_and_not_cached() {
    let stack = Stack::shared();
    let (key, id) = stack.edge.issue("free");
    for _ in 0..3 {
        assert_eq!(Request::get("/v1/pdf/merge").key(&key).send(stack.edge.addr).status, 200);
    }
    let read = || Request::get("/v1/keys/me").key(&key).send(stack.edge.addr);
    read();
    let response = read();
    assert_eq!(response.status, 200, "{}", response.text());
    assert_eq!(response.header("cache-control"), Some("no-store"));
    let usage = response.json();
    assert_eq!(usage["id"], json!(id));
    assert_eq!(usage["tier"], "free");
    assert!(response.header("ratelimit").unwrap().contains("\"minute\";r=7"), "{:?}", response.headers);
    assert!(!response.text().contains(&key[9..40]));
}

#[test]
fn usage_without_a_valid_key_is_401() {
    let edge = Edge::shared();
    assert_eq!(Request::get("/v1/keys/me").send(edge.addr).code(), "key-missing");
    assert_eq!(Request::get("/v1/keys/me").key(&keys::forged()).send(edge.addr).code(), "key-invalid");
}
