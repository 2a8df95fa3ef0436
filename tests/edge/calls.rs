//! The log of a key's last calls.

use serde_json::{Value, json};
use shared::tool::Tool;
use tests::{
    http::{Request, Response},
    objects::Object,
    origin::{Origin, OriginBehavior},
    stack::{Edge, Stack},
};

use super::world::World;

const FAILING: &str = "/v1/pdf/status?code=404";

fn read(edge: &Edge, key: &str, query: &str) -> Response {
    let response = Request::get(&format!("/v1/usage/calls?{query}")).key(key).send(edge.addr);
    assert_eq!(response.status, 200, "{}", response.text());
    response
}

fn calls(edge: &Edge, key: &str, query: &str) -> Vec<Value> {
    read(edge, key, query).json()["calls"].as_array().unwrap().clone()
}

/// Returns the calls with those that the worker with pages has refused. It reports them within half a minute, and immediately
/// when a session of the console reads there.
pub(crate) fn reported(edge: &Edge, key: &str, query: &str) -> Vec<Value> {
    let begun = Request::new("PUT", "/console/session").key(key).send(edge.addr);
    let cookie = begun.header("set-cookie").unwrap().split(';').next().unwrap();
    let request = Request::get("/v1/usage/calls").header("cookie", cookie);
    let shown = request.header("sec-fetch-site", "same-origin").header("sec-fetch-dest", "empty");
    assert_eq!(shown.send(edge.addr).status, 200);
    calls(edge, key, query)
}

/// Returns some members of each call.
fn members(calls: &[Value], names: &[&str]) -> Vec<Value> {
    calls.iter().map(|call| names.iter().map(|name| call[*name].clone()).collect()).collect()
}

fn send(edge: &Edge, key: &str, path: &str, times: usize) {
    for _ in 0..times {
        Request::get(path).key(key).send(edge.addr);
    }
}

fn sum(calls: &[Value], count: impl Fn(&Value) -> u64) -> u64 {
    calls.iter().map(count).sum()
}

#[test]
fn calls_are_listed_with_what_is_known_and_survive_a_restart() {
    let mut stack = Stack::start_stored();
    let (key, _) = stack.edge.issue("free");
    assert_eq!(calls(&stack.edge, &key, ""), Vec::<Value>::new());
    let good = Request::get("/v1/idea/generate").key(&key).send(stack.edge.addr);
    let posted = Request::post("/v1/idea/echo", &json!({ "a": 1 })).key(&key).send(stack.edge.addr);
    assert_eq!((good.status, posted.status), (200, 200));
    assert_eq!(Request::get(FAILING).key(&key).send(stack.edge.addr).status, 404);
    stack.tools.stop(Tool::Qr);
    let refused = Request::get("/v1/qr/generate").key(&key).send(stack.edge.addr);
    let plan = Request::get("/webhooks").key(&key).send(stack.edge.addr);
    assert_eq!((refused.status, plan.status), (503, 403));
    let seen = reported(&stack.edge, &key, "");
    let names = ["tool", "action", "path", "status", "code", "request_bytes", "sampled", "repeated"];
    assert_eq!(
        members(&seen, &names),
        [
            json!([null, null, "/webhooks", 403, "plan-required", 0, 1, 0]),
            json!(["qr", "generate", null, 503, "tool-unavailable", 0, 1, 0]),
            json!(["pdf", "status", null, 404, null, 0, 1, 0]),
            json!(["idea", "echo", null, 200, null, 7, 1, 0]),
            json!(["idea", "generate", null, 200, null, 0, 1, 0]),
        ]
    );
    let ids = [plan, refused].map(|response| json!(response.header("x-request-id").unwrap()));
    assert_eq!([&seen[0]["request_id"], &seen[1]["request_id"]], [&ids[0], &ids[1]]);
    assert_eq!(seen[4]["response_bytes"], json!(good.body.len()), "{}", seen[4]);
    assert!(seen[4]["tool_ms"].is_u64() && seen[4]["edge_ms"].is_u64(), "{}", seen[4]);
    assert_eq!((&seen[0]["tool_ms"], &seen[0]["response_bytes"]), (&Value::Null, &Value::Null));
    stack.edge = stack.edge.restart(&stack.proxy.url());
    assert_eq!(calls(&stack.edge, &key, ""), seen);
}

#[test]
fn log_has_neither_address_nor_user_agent_nor_query() {
    let World { edge, .. } = &World::start();
    let (key, id) = edge.issue("free");
    let request = Request::get("/v1/idea/generate?private=yes").key(&key);
    let request = request.header("CF-Connecting-IP", "192.0.2.77").header("User-Agent", "spy-agent");
    request.send(edge.addr);
    assert_eq!(calls(edge, &key, "").len(), 1);
    let stored = Object::meter(edge, &id).sql("SELECT j FROM state");
    let stored = stored[0][0].as_str().unwrap();
    assert!(stored.contains("generate"), "the call is there: {stored}");
    for private in ["192.0.2.77", "spy-agent", "private"] {
        assert!(!stored.contains(private), "{private}: {stored}");
    }
}

/// However many fail, they are listed or counted, and a row has many.
#[test]
fn burst_of_failures_is_bounded_and_counted_whole() {
    let World { edge, .. } = &World::start();
    let (key, id) = edge.issue("enterprise");
    send(edge, &key, FAILING, 400);
    let listed = calls(edge, &key, "limit=1000");
    assert_eq!(sum(&listed, |call| 1 + call["repeated"].as_u64().unwrap()), 400);
    assert_eq!(read(edge, &key, "").json()["dropped"], 0);
    let rows = Object::meter(edge, &id).sql("SELECT count(*) FROM sqlite_master WHERE name = 'calls'");
    let rows = match rows[0][0].as_u64() {
        Some(1) => Object::meter(edge, &id).sql("SELECT count(*) FROM calls")[0][0].as_u64().unwrap(),
        _ => 0,
    };
    assert!(rows <= listed.len() as u64 / 64, "{rows} rows for {} calls", listed.len());
}

#[test]
fn burst_of_successes_is_a_sample_that_says_so() {
    let World { edge, .. } = &World::start();
    let (key, _) = edge.issue("enterprise");
    send(edge, &key, "/v1/idea/generate", 400);
    let listed = calls(edge, &key, "limit=1000");
    let stands_for = sum(&listed, |call| call["sampled"].as_u64().unwrap());
    assert!((100..1_600).contains(&stands_for), "{} calls stand for {stands_for}", listed.len());
    assert!(listed.len() < 400, "{}", listed.len());
}

#[test]
fn filters_pages_and_table_have_the_same_calls() {
    let World { edge, .. } = &World::start();
    let (key, _) = edge.issue("pro");
    send(edge, &key, FAILING, 3);
    send(edge, &key, "/v1/idea/generate", 2);
    Request::get("/webhooks").key(&key).send(edge.addr);
    let all = reported(edge, &key, "");
    assert_eq!(all.len(), 6);
    for (query, expected) in [
        ("tool=pdf", 3),
        ("status=4xx", 4),
        ("status=404&tool=pdf", 3),
        ("code=plan-required", 1),
        ("status=5xx", 0),
        ("from=2100-01-01T00:00:00Z", 0),
        ("to=2100-01-01T00:00:00Z", 6),
        (&format!("request_id={}", all[2]["request_id"].as_str().unwrap()), 1),
    ] {
        assert_eq!(calls(edge, &key, query).len(), expected, "{query}");
    }
    let first = read(edge, &key, "limit=4").json();
    let rest = read(edge, &key, &format!("limit=4&cursor={}", first["cursor"].as_str().unwrap())).json();
    let pages = [first["calls"].as_array().unwrap().clone(), rest["calls"].as_array().unwrap().clone()];
    assert_eq!((pages.concat(), &rest["cursor"]), (all, &Value::Null));
    let table = read(edge, &key, "format=csv&tool=pdf");
    assert_eq!(table.header("content-type"), Some("text/csv; charset=utf-8; header=present"));
    assert_eq!(table.text().matches(",pdf,status,,404,").count(), 3, "{}", table.text());
    let wrong = Request::get("/v1/usage/calls?status=9xx").key(&key).send(edge.addr);
    assert_eq!((wrong.status, wrong.code().as_str()), (422, "fields-invalid"));
    assert_eq!(Request::get("/v1/usage/calls").send(edge.addr).code(), "key-missing");
}

#[test]
fn call_names_its_secret_and_the_log_needs_the_scope_keys() {
    let World { edge, .. } = &World::start();
    let (key, _) = edge.issue("pro");
    let body = json!({ "name": "Build server", "scopes": { "tools": ["idea"] } });
    let secret = Request::post("/v1/keys/me/secrets", &body).key(&key).send(edge.addr).json();
    let text = secret["key"].as_str().unwrap();
    send(edge, text, "/v1/idea/generate", 1);
    send(edge, text, "/v1/pdf/status", 1);
    let listed = calls(edge, &key, "");
    let expected =
        [json!(["pdf", 403, "scope-missing", secret["id"]]), json!(["idea", 200, null, secret["id"]])];
    assert_eq!(members(&listed, &["tool", "status", "code", "secret_id"]), expected);
    let refused = Request::get("/v1/usage/calls").key(text).send(edge.addr);
    assert_eq!((refused.status, refused.json()["scope"].take()), (403, json!("keys")));
}

/// Whoever refuses a call before the key's record is read does not know the secret. The log does all the same.
#[test]
fn early_refusal_names_its_secret() {
    let World { edge, .. } = &World::start();
    let (key, _) = edge.issue("pro");
    let body = json!({ "name": "Build server", "scopes": { "tools": ["idea"] } });
    let secret = Request::post("/v1/keys/me/secrets", &body).key(&key).send(edge.addr).json();
    for own in [secret["key"].as_str().unwrap(), &key] {
        assert_eq!(Request::get("/no/such/route").key(own).send(edge.addr).status, 404);
    }
    let mut listed = members(&reported(edge, &key, ""), &["status", "code", "secret_id"]);
    listed.sort_by_key(|call| call[2].is_null());
    let found = |id| json!([404, "route-unknown", id]);
    assert_eq!(listed, [found(secret["id"].clone()), found(Value::Null)]);
}

/// At `/mcp` a key may be a bearer token, also in what is refused before it is read.
#[test]
fn early_refusal_at_mcp_is_listed_for_a_bearer_token() {
    let World { edge, .. } = &World::start();
    let (key, _) = edge.issue("pro");
    let bearer = format!("Bearer {key}");
    for path in ["/mcp", "/mcp?toolsets=qr", "/v1/keys"] {
        let status = Request::new("DELETE", path).header("Authorization", &bearer).send(edge.addr).status;
        assert_eq!(status, 405, "{path}");
    }
    let listed = members(&reported(edge, &key, ""), &["status", "code"]);
    assert_eq!(listed, [json!([405, "method-not-allowed"]), json!([405, "method-not-allowed"])]);
}

#[test]
fn stream_that_breaks_off_is_one_failed_call() {
    let events = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\nb\r\ndata: one\n\n\r\n";
    let origin = Origin::start(OriginBehavior::BreakOff(events.into()));
    let edge = Edge::start(&origin.url());
    let (key, _) = edge.issue("pro");
    let response = Request::get("/v1/pdf/merge").key(&key).send(edge.addr);
    assert_eq!(response.status, 200);
    let listed = calls(&edge, &key, "");
    let expected = json!(["pdf", "merge", 503, "response-aborted", response.header("x-request-id"), null]);
    let names = ["tool", "action", "status", "code", "request_id", "response_bytes"];
    assert_eq!(members(&listed, &names), [expected]);
}

/// What is refused before anyone asks for the key is the holder's call all the same, if the key is valid.
#[test]
fn refusal_before_the_key_is_read_is_listed() {
    let World { edge, .. } = &World::start();
    let (key, _) = edge.issue("pro");
    let at = |method: &str, path: &str, key: &str| Request::new(method, path).key(key).send(edge.addr).status;
    let refused = [
        ("GET", "/v1/nothing/generate", 404),
        ("GET", "/no/such/route", 404),
        ("DELETE", "/v1/keys/me/alerts", 405),
        ("GET", "/v1//generate", 400),
        ("GET", "/v1/keys", 401),
    ];
    for (method, path, status) in refused {
        assert_eq!(at(method, path, &key), status, "{method} {path}");
    }
    // A key that is not valid is nobody's.
    assert_eq!(at("GET", "/no/such/route", "utg_live_nonsense"), 404);
    let listed = members(&reported(edge, &key, ""), &["path", "status", "code"]);
    let mut statuses: Vec<_> = listed.iter().map(|call| call[1].as_u64().unwrap()).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [400, 401, 404, 404, 405], "{listed:?}");
    assert!(listed.iter().all(|call| call[2].is_string()), "{listed:?}");
}
