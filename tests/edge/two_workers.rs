//! The two workers of the edge, with a host for pages: the gateway, and the one of that host, which owns the
//! objects of bio-link, and to which the gateway hands over what it does not serve. What happens to the latter
//! must not reach calls of tools.
//!
//! Why: docs/decisions/edge.md, "Two Workers have a file each".

use std::{cell::Cell, time::Duration};

use biolink::{
    events::{Buffer, Event, EventKind, deliveries},
    page::PageId,
    stats::StatsMessage,
};
use serde_json::{Value, json};
use shared::{key::KeyId, time::UnixMillis};
use tests::{
    faults::{Fate, Faults, METER},
    http::{Request, Response},
    keys,
    objects::Object,
    stack::{Edge, shared_origin},
    wait::wait_for,
};

use super::{
    pages::{created, issue, until},
    site::PERSON,
};

const PAGES_HOST: &str = "pages.example";
const REPORT: &str = "/analytics?metrics=views,visitors&group_by=country&interval=30d";

/// Both workers, with a proxy and its tools behind the gateway.
struct Pair {
    gateway: Edge,
    faults: Faults,
}

impl Pair {
    fn start() -> Self {
        let faults = Faults::start();
        let options = ["--var", &format!("PAGES_HOST={PAGES_HOST}"), "--faults", &faults.url()];
        let gateway = Edge::start_with_options(&shared_origin(), &options);
        Self { gateway, faults }
    }

    /// Calls a tool.
    fn call(&self, key: &str) -> Response {
        let response = Request::get("/v1/idea/generate").key(key).send(self.gateway.addr);
        assert_eq!((response.status, response.header("x-gateway-degraded")), (200, None));
        response
    }

    /// Calls a tool. Returns the number of messages to meters meanwhile.
    fn messages_of_call(&self, key: &str) -> usize {
        let before = self.faults.count(METER);
        self.call(key);
        self.faults.count(METER) - before
    }

    /// Sends a request to the worker of the pages' host.
    fn visit(&self, path: &str) -> Response {
        let request = Request::get(path).header("Host", PAGES_HOST).header("User-Agent", PERSON);
        request.send(self.gateway.addr)
    }

    fn used(&self, key: &str) -> Value {
        let shown = Request::get("/v1/keys/me").key(key).send(self.gateway.addr).json();
        shown["usage"]["day"]["used"].clone()
    }

    fn report(&self, key: &str) -> Value {
        let response = Request::get(REPORT).key(key).send(self.gateway.addr);
        assert_eq!(response.status, 200, "{}", response.text());
        response.json()
    }
}

fn page() -> Value {
    json!({"title": "Ada Example", "slug": "ada", "status": "published"})
}

/// Gives events of so many visitors to the store of a page.
fn store_views(gateway: &Edge, account: &str, page: &str, count: u64) {
    let account: KeyId = serde_json::from_value(json!(account)).unwrap();
    let (id, now) = (PageId::parse(page).unwrap(), keys::now());
    let mut buffer = Buffer::new([7; 8]);
    let mut batches = Vec::new();
    for visitor in 1..=count {
        let at = UnixMillis(now.0 - (count - visitor));
        buffer.push(account, id, &Event { visitor, ..Event::new(at, EventKind::View) });
        if visitor % 400 == 0 || visitor == count {
            batches.extend(buffer.take());
        }
    }
    for delivery in deliveries(batches) {
        for parts in delivery.parts.chunks(50) {
            let message = StatsMessage::Append { account, page: id, parts: parts.to_vec() };
            let response = Object::stats(gateway, page).send(&serde_json::to_value(message).unwrap());
            assert_eq!(response.status, 200, "{}", response.text());
        }
    }
}

/// The gateway has the API, its objects are the other worker's, which has the pages and the queue.
#[test]
fn page_of_the_gateways_api_is_served_and_counted_by_the_other() {
    let pair = Pair::start();
    let (key, _) = issue(&pair.gateway, None);
    created(&pair.gateway, &key, &page());
    let elsewhere = Request::get("/ada").send(pair.gateway.addr);
    assert_eq!((elsewhere.status, elsewhere.header("location")), (308, Some("http://pages.example/ada")));
    let shown = pair.visit("/ada");
    assert_eq!(shown.status, 200, "{}", shown.text());
    assert_eq!(pair.visit("/v1/idea/generate").code(), "route-unknown");
    until(|| pair.report(&key)["totals"]["views"] == 1);
    pair.call(&key);
}

/// One address has everything: what the gateway's file lacks is the other worker's response, byte for byte.
#[test]
fn route_of_the_other_worker_is_served_at_the_gateways_address() {
    let pair = Pair::start();
    let (key, _) = pair.gateway.issue("free");
    let send = |request: Request| request.send(pair.gateway.addr);
    let shown = |method: &str, path: &str| {
        let response = send(Request::new(method, path));
        assert_eq!(response.header_values("x-request-id").len(), 1, "{method} {path}");
        (response.status, response.header("content-type").unwrap_or_default().to_owned())
    };
    for (method, path, status, media_type) in [
        ("GET", "/console", 200, "text/html; charset=utf-8"),
        ("GET", "/docs", 200, "text/html; charset=utf-8"),
        ("GET", "/status", 200, "text/html; charset=utf-8"),
        ("GET", "/openapi.json", 200, "application/json"),
        ("GET", "/biolink/openapi.json", 200, "application/json"),
        ("GET", "/problems/pages-unavailable", 200, "text/html; charset=utf-8"),
        ("GET", "/robots.txt", 200, "text/plain; charset=utf-8"),
        ("GET", "/.well-known/oauth-protected-resource", 200, "application/json"),
        ("GET", "/v1/status/history", 200, "application/json"),
        ("GET", "/v1/keys/me/alerts", 401, "application/problem+json"),
        ("GET", "/account", 401, "application/problem+json"),
        ("GET", "/nowhere/at/all", 404, "application/problem+json"),
        ("PATCH", "/status", 405, "application/problem+json"),
    ] {
        assert_eq!(shown(method, path), (status, media_type.to_owned()), "{method} {path}");
    }
    for path in ["/v1/idea/generate", "/pages", "/mcp"] {
        let preflight = send(Request::new("OPTIONS", path));
        assert!(preflight.header("access-control-allow-methods").unwrap().contains("POST"), "{path}");
    }
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "call_tool", "arguments": {"tool": "idea", "action": "generate"}}});
    let called = send(Request::post("/mcp", &body).key(&key));
    assert_eq!(
        (called.status, &called.json()["result"]["isError"]),
        (200, &json!(false)),
        "{}",
        called.text()
    );
    assert_eq!(pair.used(&key), 1);
}

/// A session of the console is the other worker's, and so are the key's own routes that it signs.
#[test]
fn session_of_the_console_reads_its_key_at_the_gateways_address() {
    let pair = Pair::start();
    let (key, _) = pair.gateway.issue("free");
    let begun = Request::new("PUT", "/console/session").key(&key).send(pair.gateway.addr);
    let cookie = begun.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let read = |path: &str| {
        let request = Request::get(path).header("cookie", &cookie).header("sec-fetch-site", "same-origin");
        request.header("sec-fetch-dest", "empty").send(pair.gateway.addr).status
    };
    assert_eq!((read("/v1/keys/me"), read("/v1/usage"), read("/v1/idea/generate")), (200, 200, 401));
}

/// What is handed over fails with the worker that serves it. Calls do not.
#[test]
fn unreachable_pages_worker_is_500_and_logged_and_stops_no_call() {
    let pair = Pair::start();
    let (key, _) = pair.gateway.issue("free");
    pair.faults.set("/PAGES_WORKER/fetch", Fate::Fail);
    for path in ["/pages", "/ada", "/console"] {
        let response = Request::get(path).key(&key).send(pair.gateway.addr);
        assert_eq!(
            (response.status, response.header("x-gateway-problem")),
            (500, Some("internal")),
            "{path}"
        );
    }
    wait_for(Duration::from_secs(10), || {
        pair.gateway.output().contains("pages worker unreachable").then_some(())
    });
    pair.call(&key);
    assert_eq!(Request::get("/v1/keys/me").key(&key).send(pair.gateway.addr).status, 200);
    assert_eq!(pair.visit("/robots.txt").status, 200, "its own host does not pass the gateway");
}

/// A trap ends the wasm instance of an isolate, and with it the leases that the instance has.
#[test]
fn trap_in_pages_leaves_the_gateways_lease() {
    let pair = Pair::start();
    let (key, _) = pair.gateway.issue("enterprise");
    let calls = Cell::new(0);
    let messages = || {
        calls.set(calls.get() + 1);
        pair.messages_of_call(&key)
    };
    let is_leased = || (messages() == 0).then_some(());
    wait_for(Duration::from_secs(30), is_leased);
    // A lease lasts ten seconds, so it may end meanwhile.
    wait_for(Duration::from_secs(30), || {
        assert_eq!(pair.visit("/test/trap").status, 500);
        is_leased()
    });
    assert_eq!(Request::get("/test/trap").send(pair.gateway.addr).status, 500);
    assert!(messages() > 0, "a trap in the gateway loses the lease");
    assert_eq!(pair.visit("/robots.txt").status, 200, "with a new instance");
}

#[test]
fn report_over_many_events_delays_no_call_into_degraded_mode() {
    let pair = Pair::start();
    let (owner, account) = issue(&pair.gateway, None);
    let (page, _) = created(&pair.gateway, &owner, &page());
    store_views(&pair.gateway, &account, &page, 100_000);
    let (key, _) = pair.gateway.issue("free");
    let called = std::thread::scope(|scope| {
        let reports = scope.spawn(|| (0..3).map(|_| pair.report(&owner)).collect::<Vec<_>>());
        let mut called = 0;
        // A minute of a free key has ten calls.
        while called < 10 && (called == 0 || !reports.is_finished()) {
            pair.call(&key);
            called += 1;
        }
        for report in reports.join().unwrap() {
            assert_eq!(report["totals"], json!({"views": 100_000, "visitors": 100_000}));
        }
        called
    });
    assert_eq!(pair.used(&key), called, "the meter has counted every call");
}
