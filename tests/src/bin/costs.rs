//! Prints what a request without a key, or with a Free key, costs the operator, and renews the table in
//! docs/edge.md: `make costs`.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a program of the tests fails by panicking"
)]

use std::collections::BTreeMap;
use std::{fs, thread};

use serde_json::{Value, json};
use tests::{
    http::{Connection, Request},
    keys,
    origin::Origin,
    process::root,
    stack::Edge,
    wait::{PATIENCE, wait_for},
};

/// Dollars for a million operations, which the load tester has too.
const PRICES: &str = include_str!("../../../loadtest/prices.json");
/// The columns of the table, each the sum of some operations.
const COLUMNS: [&[&str]; 7] = [
    &["worker_requests"],
    &["object_requests"],
    &["object_rows_read"],
    &["object_rows_written"],
    &["kv_reads"],
    &["kv_writes", "kv_deletes", "kv_lists"],
    &["queue_operations"],
];
const HEAD: &str = "| request | Worker requests | object requests | rows read | rows written | KV reads | KV writes, deletes, lists | queue operations | $ per million |
|---|---:|---:|---:|---:|---:|---:|---:|---:|
";
const BEGIN: &str = "<!-- costs: `make costs` writes what follows -->\n";
const END: &str = "<!-- end of costs -->\n";
/// The agent of a person.
const PERSON: &str = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:127.0) Gecko/20100101 Firefox/127.0";

/// A worker with what the requests need.
struct Place {
    edge: Edge,
    origin: Origin,
    /// The path of a page's link.
    link: String,
}

/// Sends the nth request, with a key of the kind's own.
type Send = fn(&Place, u32, &mut String);

/// A kind of request: its name, the number that is measured, and how it is sent.
type Kind = (&'static str, Count, Send);

/// The number of requests that are measured.
#[derive(Clone, Copy)]
enum Count {
    /// Each comes once the one before has left nothing to do.
    Alone(u32),
    /// One after the other, within a second or two.
    Burst(u32),
}

use Count::{Alone, Burst};

/// Requests without a valid key.
const STRANGERS: &[Kind] = &[
    ("unknown path", Burst(20), |at, _, _| at.get("/v1/none/such", &[404])),
    ("`/docs`", Burst(20), |at, _, _| at.get("/docs", &[200])),
    ("`/v1/status`", Burst(20), |at, _, _| at.get("/v1/status", &[200, 503])),
    ("`/status`", Burst(20), |at, _, _| at.get("/status", &[200, 503])),
    ("`/tools`", Burst(20), |at, _, _| at.get("/tools", &[200, 503])),
    ("`/docs/tools`", Burst(20), |at, _, _| at.get("/docs/tools", &[200, 503])),
    ("no key", Burst(20), |at, _, _| at.get("/v1/idea/generate", &[401])),
    ("forged key", Burst(20), |at, _, _| at.send(&tool(&keys::forged()), &[401])),
    ("MCP without a key", Burst(20), |at, _, _| at.send(&mcp("initialize"), &[401])),
    ("wrong admin secret, each from a new network", Burst(50), |at, n, _| at.administer(n)),
    ("wrong admin secret, ten from each network", Burst(50), |at, n, _| {
        at.administer(1_000 + n.div_ceil(10))
    }),
    ("push to an unknown product source", Burst(20), |at, n, _| {
        at.send(&from(n, Request::post("/hooks/products/src_KAUWiorRuAf2Km7xM", &json!({}))), &[404]);
    }),
];

/// Requests of visitors.
const VISITORS: &[Kind] = &[
    ("page, alone in its second", Alone(2), |at, n, _| at.visit(n, "/ada", 200)),
    ("page, 100 in a second", Burst(100), |at, n, _| at.visit(n, "/ada", 200)),
    ("link, alone in its second", Alone(2), |at, n, _| at.visit(n, &at.link, 302)),
    ("link, 100 in a second", Burst(100), |at, n, _| at.visit(n, &at.link, 302)),
    ("QR code", Burst(20), |at, n, _| at.visit(n, "/ada/qr.svg", 200)),
    ("unknown page, each from a new network", Burst(50), |at, n, _| {
        at.visit(n, &format!("/nobody-{n}"), 404)
    }),
    ("report of a page, the first of a minute", Burst(7), |at, n, _| at.report(n, "ada")),
    ("report of a page, 300 within a minute", Burst(300), |at, n, _| at.report(n, "bob")),
];

/// Requests with a Free key that has no plan for pages.
const FREE_KEY: &[Kind] = &[
    ("tool call", Burst(8), |at, _, key| at.send(&tool(key), &[200])),
    ("tool call beyond the limit, 300 within a minute", Burst(300), |at, _, key| {
        at.send(&tool(key), &[200, 429])
    }),
    ("upload that is cut off", Burst(8), |at, _, key| at.cut_upload(key)),
    ("tool call with a revoked key", Burst(50), |at, n, key| at.call_revoked(n, key)),
    ("`GET /v1/keys/me`", Burst(50), |at, _, key| at.get_with(key, "/v1/keys/me", 200)),
    ("`GET /v1/keys/me/alerts`", Burst(50), |at, _, key| at.get_with(key, "/v1/keys/me/alerts", 200)),
    ("`/pages` without the plan", Burst(50), |at, _, key| at.get_with(key, "/pages", 403)),
    ("`GET /account`", Burst(50), |at, _, key| at.get_with(key, "/account", 200)),
    ("MCP `tools/list`", Burst(20), |at, _, key| at.send(&mcp("tools/list").key(key), &[200])),
    ("rotation, the first of a minute", Burst(20), |at, _, key| at.rotate(key)),
    ("rotation, 300 within a minute", Burst(300), |at, _, key| at.rotate(key)),
];

fn main() {
    let measure = |kinds: &[Kind]| {
        let place = Place::start();
        kinds.iter().map(|kind| place.measure(kind)).collect::<String>()
    };
    // Scoped, so that a panic ends the workers too.
    let rows = thread::scope(|scope| {
        let groups = [STRANGERS, VISITORS, FREE_KEY].map(|kinds| scope.spawn(move || measure(kinds)));
        joined(&groups.map(|group| group.join().unwrap()).concat())
    });
    println!("{HEAD}{rows}");
    let guide = root().join("docs/edge.md");
    let text = fs::read_to_string(&guide).unwrap();
    let (before, rest) = text.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    fs::write(guide, [before, BEGIN, HEAD, &rows, END, after].concat()).unwrap();
}

/// Returns the rows with those that follow each other and cost the same as one.
fn joined(rows: &str) -> String {
    let mut all: Vec<(String, &str)> = Vec::new();
    for row in rows.lines() {
        let (name, cells) = row.trim_start_matches("| ").split_once(" | ").unwrap();
        match all.last_mut() {
            Some((names, last)) if *last == cells => *names = format!("{names}, {name}"),
            _ => all.push((name.to_owned(), cells)),
        }
    }
    all.iter().map(|(names, cells)| format!("| {names} | {cells}\n")).collect()
}

fn tool(key: &str) -> Request {
    Request::get("/v1/idea/generate").key(key)
}

fn mcp(method: &str) -> Request {
    Request::post("/mcp", &json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {}}))
}

/// Returns the request as it comes from the nth network.
fn from(n: u32, request: Request) -> Request {
    request.header("CF-Connecting-IP", &format!("10.{}.{}.9", n >> 8 & 0xff, n & 0xff))
}

impl Place {
    fn start() -> Self {
        let origin = Origin::good("executed");
        let edge = Edge::start_with_counters(&origin.url());
        let body = json!({
            "email": "ada@example.com", "name": "Ada", "tier": "free", "biolink_plan": "business",
            "admin_secret": keys::ADMIN_SECRET,
        });
        let issued = Request::post("/v1/keys/issue", &body).send(edge.addr).json();
        let create = |slug: &str| {
            let links = json!([{"title": "News", "url": "https://example.com/"}]);
            let body = json!({"title": "Ada", "slug": slug, "status": "published", "links": links});
            Request::post("/pages", &body).key(issued["key"].as_str().unwrap()).send(edge.addr).json()
        };
        create("bob");
        let link = format!("/ada/l/{}", create("ada")["links"][0]["id"].as_str().unwrap());
        Self { edge, origin, link }
    }

    /// Returns the row of a kind: operations for each request, and dollars for a million.
    fn measure(&self, (name, count, send): &Kind) -> String {
        let (mut key, _) = self.edge.issue("free");
        // The first one creates what the others find.
        send(self, 0, &mut key);
        let before = self.settled();
        let (Alone(number) | Burst(number)) = *count;
        for n in 1..=number {
            send(self, n, &mut key);
            if let Alone(_) = count {
                self.settled();
            }
        }
        let after = self.settled();
        let each = |name: &str| (after[name] - before[name]) / f64::from(number);
        let prices: Value = serde_json::from_str(PRICES).unwrap();
        let price = |name: &str| prices["dollars_per_million"][name].as_f64().unwrap();
        let duration = ["seconds", "gb"].map(|part| prices["object_request"][part].as_f64().unwrap());
        let dollars = after.keys().map(|name| each(name) * price(name)).sum::<f64>()
            + each("object_requests") * price("object_gb_seconds") * duration.iter().product::<f64>();
        let cell = |names: &[&str]| match names.iter().map(|name| each(name)).sum::<f64>() {
            0.0 => "–".to_owned(),
            sum => format!("{sum:.2}"),
        };
        format!("| {name} | {} | {dollars:.2} |\n", COLUMNS.map(cell).join(" | "))
    }

    /// Waits until nothing has happened for longer than events wait for others. Returns the operations.
    fn settled(&self) -> BTreeMap<String, f64> {
        let mut last = (self.operations(), keys::now());
        wait_for(PATIENCE, || {
            let (operations, now) = (self.operations(), keys::now());
            if operations != last.0 {
                last = (operations, now);
            }
            (now.0 - last.1.0 > 1_300).then(|| last.0.clone())
        })
    }

    fn operations(&self) -> BTreeMap<String, f64> {
        let addr = self.edge.counters().strip_prefix("http://").unwrap().parse().unwrap();
        serde_json::from_value(Request::get("/").send(addr).json()["operations"].take()).unwrap()
    }

    fn send(&self, request: &Request, statuses: &[u16]) {
        let response = request.send(self.edge.addr);
        assert!(statuses.contains(&response.status), "{}: {}", request.target, response.text());
    }

    fn get(&self, path: &str, statuses: &[u16]) {
        self.send(&Request::get(path), statuses);
    }

    fn get_with(&self, key: &str, path: &str, status: u16) {
        self.send(&Request::get(path).key(key), &[status]);
    }

    fn visit(&self, n: u32, path: &str, status: u16) {
        self.send(&from(n, Request::get(path).header("User-Agent", PERSON)), &[status]);
    }

    fn administer(&self, n: u32) {
        self.send(&from(n, Request::get("/v1/keys").header("Authorization", "Bearer wrong")), &[403]);
    }

    fn report(&self, n: u32, slug: &str) {
        let request = Request::new("POST", &format!("/{slug}/report"));
        let form = request.header("Content-Type", "application/x-www-form-urlencoded");
        self.send(&from(n, form.body("reason=spam&details=x")), &[200]);
    }

    /// Replaces the key, unless it is refused.
    fn rotate(&self, key: &mut String) {
        let rotated = Request::new("POST", "/v1/keys/me/rotate").key(key).send(self.edge.addr);
        assert!([200, 429].contains(&rotated.status), "{}", rotated.text());
        if let Some(next) = rotated.json()["key"].as_str() {
            next.clone_into(key);
        }
    }

    fn call_revoked(&self, n: u32, key: &str) {
        if n == 0 {
            self.send(&Request::new("DELETE", "/v1/keys/me").key(key), &[200]);
        }
        self.send(&tool(key), &[401]);
    }

    /// Breaks a long upload off once it has reached the origin.
    fn cut_upload(&self, key: &str) {
        let begun = self.origin.begun();
        let mut client = Connection::connect(self.edge.addr);
        let head = format!(
            "POST /v1/pdf/merge HTTP/1.1\r\nHost: {}\r\nX-API-Key: {key}\r\nContent-Type: application/json\r\n\
             Content-Length: 200000\r\n\r\n{}",
            self.edge.addr,
            "a".repeat(100 << 10)
        );
        assert!(client.write(head.as_bytes()));
        wait_for(PATIENCE, || (self.origin.begun() > begun).then_some(()));
    }
}
