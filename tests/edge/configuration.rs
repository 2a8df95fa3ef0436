//! A worker that lacks a binding or a secret, or has a bad one: what it still serves.

use std::collections::BTreeSet;

use tests::{
    http::{Request, Response},
    keys,
    stack::{Edge, PROBE_BOUND, shared_origin},
    wait::wait_for,
};

/// Routes of bio-link pages: of visitors, owners, shops, agents and the operator.
const BIOLINK: [(&str, &str); 7] = [
    ("GET", "/ada"),
    ("GET", "/account"),
    ("GET", "/pages"),
    ("GET", "/webhooks"),
    ("GET", "/analytics"),
    ("GET", "/admin/reports"),
    ("POST", "/hooks/products/src_00000000000000000"),
];

/// Starts a worker without a binding, or with this value of a variable or a secret.
fn start(fault: &str) -> Edge {
    match fault.split_once('=') {
        Some(_) => Edge::start_with(&shared_origin(), &[fault]),
        None => Edge::start_without(&shared_origin(), fault),
    }
}

/// Starts it, and waits until its log names the fault.
fn start_and_wait(fault: &str) -> Edge {
    let edge = start(fault);
    assert_eq!(Request::get("/healthz").send(edge.addr).status, 200, "{fault}");
    // The first request that the other worker serves: it reads its bindings now.
    Request::get("/robots.txt").send(edge.addr);
    let name = fault.split('=').next().unwrap();
    wait_for(PROBE_BOUND, || {
        let output = edge.output();
        output.lines().any(|line| line.contains("invalid configuration") && line.contains(name)).then_some(())
    });
    edge
}

fn send(edge: &Edge, method: &str, path: &str, key: &str) -> Response {
    let request = match path.starts_with("/admin") {
        true => Request::new(method, path).header("Authorization", &format!("Bearer {}", keys::ADMIN_SECRET)),
        false => Request::new(method, path).key(key),
    };
    request.send(edge.addr)
}

/// Calls of a tool with a key that was issued elsewhere, which nothing but KV and the meter could know.
fn assert_tools_are_served(edge: &Edge, fault: &str) -> String {
    let (key, _) = keys::issued_at(shared::tier::Tier::Free, keys::now());
    for path in ["/v1/idea/generate", "/v1/keys/me"] {
        let response = Request::get(path).key(&key).send(edge.addr);
        assert_eq!(response.status, 200, "{fault} {path}: {}", response.text());
    }
    key
}

fn assert_not_configured(response: &Response, what: &str) {
    // Visitors see a page instead of a problem.
    let code = response.header("x-gateway-problem");
    assert_eq!((response.status, code), (503, Some("not-configured")), "{what}");
}

#[test]
fn missing_part_of_biolink_stops_its_routes_alone() {
    for fault in [
        "PAGES",
        "ACCOUNT",
        "SLUG",
        "REPORTS",
        "STATS",
        "SALT",
        "PRODUCT_SOURCE",
        "WEBHOOKS",
        "EVENTS",
        "WEBHOOK_ENCRYPTION_SECRET=",
        "WEBHOOK_ENCRYPTION_SECRET=short",
        "PAGES_HOST=not a host",
        "PUBLIC_URL=nowhere",
    ] {
        let edge = start_and_wait(fault);
        let key = assert_tools_are_served(&edge, fault);
        for (method, path) in BIOLINK {
            assert_not_configured(&send(&edge, method, path, &key), &format!("{fault} {path}"));
        }
        edge.issue("free");
    }
}

#[test]
fn bad_part_of_administration_stops_administration_alone() {
    for fault in ["ADMIN_SECRET=", "ADMIN_SECRET=short", "KEY_ENV=prod"] {
        let edge = start_and_wait(fault);
        let key = assert_tools_are_served(&edge, fault);
        assert_ne!(send(&edge, "GET", "/account", &key).status, 503, "{fault}");
        let body = serde_json::json!({"email": "ada@example.com", "name": "Ada", "tier": "free",
            "admin_secret": keys::ADMIN_SECRET});
        assert_not_configured(&Request::post("/v1/keys/issue", &body).send(edge.addr), fault);
    }
}

#[test]
fn missing_key_change_feed_stops_no_call() {
    let edge = start_and_wait("KEY_CHANGES");
    let key = assert_tools_are_served(&edge, "KEY_CHANGES");
    assert_ne!(send(&edge, "GET", "/account", &key).status, 503);
}

#[test]
fn missing_status_history_stops_nothing_but_itself() {
    let edge = start_and_wait("STATUS_HISTORY");
    assert_tools_are_served(&edge, "STATUS_HISTORY");
    assert_not_configured(&Request::get("/v1/status/history").send(edge.addr), "STATUS_HISTORY");
    assert_eq!(Request::get("/status").send(edge.addr).status, 200);
}

#[test]
fn bad_variable_with_a_default_is_logged_and_stops_nothing() {
    for fault in ["MAX_BODY_BYTES=ten", "ACCESS_LOG_SAMPLE=2", "ALLOW_HTTP=yes", "SECURITY_CONTACT=me"] {
        let edge = start_and_wait(fault);
        let key = assert_tools_are_served(&edge, fault);
        assert_ne!(send(&edge, "GET", "/account", &key).status, 503, "{fault}");
    }
}

/// Tools cannot be called without these. Each is named once, however many requests come.
#[test]
fn missing_part_of_calls_is_500_and_logged_once() {
    for fault in ["KEYS", "METER", "KEY_SIGNING_SECRET=", "GRANT_SECRET=short", "ORIGIN_URLS="] {
        let edge = start(fault);
        let codes: BTreeSet<String> =
            (0..3).map(|_| Request::get("/healthz").send(edge.addr).code()).collect();
        assert_eq!(codes, BTreeSet::from(["internal".to_owned()]), "{fault}");
        let name = fault.split('=').next().unwrap();
        let lines = || edge.output().matches("invalid configuration").count();
        wait_for(PROBE_BOUND, || edge.output().contains(name).then_some(()));
        assert_eq!(lines(), 1, "{fault}: {}", edge.output());
    }
}

/// What the gateway is if the worker of the pages' host does not exist: without its objects.
#[test]
fn missing_pages_worker_stops_biolink_alone() {
    let edge = Edge::start_without(&shared_origin(), "PAGES_WORKER");
    let key = assert_tools_are_served(&edge, "one of two");
    for (method, path) in BIOLINK {
        assert_not_configured(&send(&edge, method, path, &key), path);
    }
    edge.issue("free");
}
