//! The sessions of the console: how they end, and what a copy of a cookie can do.

use serde_json::{Value, json};
use tests::{
    faults::{Fate, METER},
    http::{Request, Response},
    objects::Object,
    stack::{Edge, Stack},
};

use super::pages;
use super::world::World;

const SESSION: &str = "/console/session";
const SESSIONS: &str = "/console/sessions";
const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0";
const DAY_MS: u64 = 86_400_000;

/// Signs a browser in. Returns its cookie.
fn sign_in(edge: &Edge, key: &str) -> String {
    let begun = Request::new("PUT", SESSION).key(key).header("user-agent", FIREFOX).send(edge.addr);
    assert_eq!(begun.status, 204, "{}", begun.text());
    begun.header("set-cookie").unwrap().split(';').next().unwrap().to_owned()
}

/// Returns a request as a script of the console makes it.
fn scripted(method: &str, path: &str, cookie: &str) -> Request {
    let request = Request::new(method, path).header("cookie", cookie);
    request.header("sec-fetch-site", "same-origin").header("sec-fetch-dest", "empty")
}

fn send(edge: &Edge, method: &str, path: &str, cookie: &str) -> Response {
    scripted(method, path, cookie).send(edge.addr)
}

/// Returns the status of a read with a cookie.
fn read(edge: &Edge, cookie: &str) -> u16 {
    send(edge, "GET", "/v1/keys/me", cookie).status
}

/// Returns the sessions of a key as a browser reads them.
fn listed(edge: &Edge, cookie: &str) -> Vec<Value> {
    let list = send(edge, "GET", SESSIONS, cookie);
    assert_eq!((list.status, list.header("content-type")), (200, Some("application/json")));
    list.json()["sessions"].as_array().unwrap().clone()
}

/// Returns the path at which a session is ended.
fn path_of(session: &Value) -> String {
    format!("{SESSIONS}/{}", session["id"].as_str().unwrap())
}

fn assert_signed_out(edge: &Edge, cookie: &str) {
    for path in ["/v1/keys/me", "/v1/usage", "/v1/keys/me/secrets", "/account", SESSIONS] {
        let refused = send(edge, "GET", path, cookie);
        assert_eq!((refused.status, refused.code().as_str()), (401, "key-missing"), "{path}");
    }
    assert_eq!(send(edge, "GET", SESSION, cookie).text(), r#"{"signed_in":false}"#);
}

#[test]
fn copy_of_a_cookie_is_401_after_sign_out() {
    let edge = Edge::shared();
    let (key, _) = edge.issue("free");
    let (cookie, other) = (sign_in(&edge, &key), sign_in(&edge, &key));
    assert_eq!(send(&edge, "GET", SESSION, &cookie).text(), r#"{"signed_in":true}"#);
    assert_eq!(send(&edge, "GET", SESSIONS, &cookie).status, 200);
    let ended = send(&edge, "DELETE", SESSION, &cookie);
    assert_eq!(ended.status, 204);
    assert!(ended.header("set-cookie").unwrap().starts_with("utg_console=; Path=/; Max-Age=0;"));
    assert_signed_out(&edge, &cookie);
    assert_eq!(send(&edge, "DELETE", SESSION, &cookie).status, 204, "once more changes nothing");
    assert_eq!(
        (read(&edge, &other), Request::get("/v1/keys/me").key(&key).send(edge.addr).status),
        (200, 200)
    );
}

#[test]
fn sign_out_everywhere_ends_every_session_and_no_key() {
    let edge = Edge::shared();
    let (key, _) = edge.issue("free");
    let cookies = [(); 3].map(|()| sign_in(&edge, &key));
    let stranger = sign_in(&edge, &edge.issue("free").0);
    let ended = send(&edge, "DELETE", SESSIONS, &cookies[0]);
    assert_eq!((ended.status, ended.header("set-cookie").is_some()), (204, true));
    for cookie in &cookies {
        assert_signed_out(&edge, cookie);
    }
    assert_eq!(
        (read(&edge, &stranger), Request::get("/v1/keys/me").key(&key).send(edge.addr).status),
        (200, 200)
    );
    // A holder whose browser is lost has the key.
    let lost = sign_in(&edge, &key);
    assert_eq!(Request::new("DELETE", SESSIONS).key(&key).send(edge.addr).status, 204);
    assert_signed_out(&edge, &lost);
}

#[test]
fn listed_session_can_be_signed_out() {
    let edge = Edge::shared();
    let (key, _) = edge.issue("free");
    let (own, other) = (sign_in(&edge, &key), sign_in(&edge, &key));
    let view = send(&edge, "GET", SESSIONS, &own).text();
    assert!(!view.contains(&key) && !view.contains("Gecko"), "{view}");
    // The newest comes first.
    let [second, first] = &listed(&edge, &own)[..] else { panic!("{view}") };
    assert_eq!([&second["is_own"], &first["is_own"]], [false, true]);
    for session in [first, second] {
        assert_eq!(session["browser"], "Firefox on Linux");
        let [begun, used] = ["begun_at", "used_at"].map(|member| session[member].as_str().unwrap());
        assert!(begun.ends_with('Z') && used >= begun, "{session}");
    }
    let path = &path_of(second);
    assert_eq!(send(&edge, "DELETE", path, &own).status, 204);
    assert_signed_out(&edge, &other);
    assert_eq!((read(&edge, &own), listed(&edge, &own).len()), (200, 1));
    let stranger = sign_in(&edge, &edge.issue("free").0);
    assert_eq!(send(&edge, "DELETE", path, &stranger).status, 204, "a name of nobody's");
    assert_eq!(send(&edge, "DELETE", "/console/sessions/ses_x", &own).code(), "route-unknown");
}

/// The stored moments are moved back, as if it were so much later now.
#[test]
fn session_ends_after_thirty_days_or_seven_unused() {
    let World { edge, .. } = &World::start();
    let (key, id) = edge.issue("free");
    let meter = Object::meter(edge, &id);
    let age = |member: &str, ms: u64| {
        let moved = format!("json_extract(j, '$[0].{member}') - {ms}");
        meter.sql(&format!("UPDATE sessions SET j = json_set(j, '$[0].{member}', {moved})"));
        meter.restart();
    };
    const MARGIN_MS: u64 = 600_000;
    for (member, days) in [("begun_at", 30), ("used_at", 7)] {
        let cookie = sign_in(edge, &key);
        age(member, days * DAY_MS - MARGIN_MS);
        assert_eq!(read(edge, &cookie), 200, "{member}");
        age(member, days * DAY_MS);
        assert_signed_out(edge, &cookie);
        assert_eq!(Request::new("DELETE", SESSIONS).key(&key).send(edge.addr).status, 204);
    }
}

#[test]
fn twenty_first_session_ends_the_oldest() {
    let edge = Edge::shared();
    let (key, _) = edge.issue("free");
    let cookies: Vec<_> = (0..21).map(|_| sign_in(&edge, &key)).collect();
    assert_signed_out(&edge, &cookies[0]);
    assert_eq!((read(&edge, &cookies[1]), read(&edge, &cookies[20])), (200, 200));
    assert_eq!(listed(&edge, &cookies[20]).len(), 20);
}

#[test]
fn cookie_renews_neither_itself_nor_the_key() {
    let edge = Edge::shared();
    let (key, _) = pages::issue(&edge, None);
    let cookie = sign_in(&edge, &key);
    let renewed = send(&edge, "PUT", SESSION, &cookie);
    assert_eq!(
        (renewed.status, renewed.code().as_str(), renewed.header("set-cookie")),
        (401, "key-missing", None)
    );
    for (method, path) in [
        ("POST", "/v1/keys/me/rotate"),
        ("DELETE", "/v1/keys/me"),
        ("POST", "/v1/keys/me/secrets"),
        ("PATCH", "/v1/keys/me/secrets/sec_0123456789a"),
        ("POST", "/v1/keys/me/secrets/sec_0123456789a/rotate"),
        ("DELETE", "/v1/keys/me/secrets/sec_0123456789a"),
        ("DELETE", "/account/data"),
        ("GET", "/account/export"),
        ("POST", "/webhooks"),
        ("GET", "/webhooks/whe_F8ilatlehuG4fNrZJ/secret"),
        ("POST", "/webhooks/whe_F8ilatlehuG4fNrZJ/secret/rotate"),
    ] {
        let refused = send(&edge, method, path, &cookie);
        assert_eq!((refused.status, refused.code().as_str()), (403, "sign-in-required"), "{method} {path}");
    }
    assert_eq!((read(&edge, &cookie), send(&edge, "GET", "/pages", &cookie).status), (200, 200));
    // The key that is typed again is sent beside the cookie.
    let rotated = scripted("POST", "/v1/keys/me/rotate", &cookie).key(&key).json(r#"{"grace_seconds":0}"#);
    assert_eq!(rotated.send(edge.addr).status, 200);
    assert_eq!(send(&edge, "GET", "/v1/keys/me", &cookie).code(), "key-invalid", "its secret was replaced");
}

#[test]
fn cookie_reaches_no_tool() {
    let stack = Stack::shared();
    let edge = &stack.edge;
    let (key, _) = edge.issue("free");
    let cookie = sign_in(edge, &key);
    let call = json!({ "name": "call_tool", "arguments": { "tool": "idea", "action": "generate" } });
    for (method, params) in [("tools/call", call), ("tools/list", json!({})), ("ping", json!({}))] {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let request = Request::post("/mcp", &message).header("cookie", &cookie);
        let request = request.header("sec-fetch-site", "same-origin").header("sec-fetch-dest", "empty");
        let refused = request.send(edge.addr);
        assert_eq!((refused.status, refused.code().as_str()), (401, "key-missing"), "{method}");
    }
    assert_eq!(send(edge, "GET", "/v1/idea/generate", &cookie).code(), "key-missing");
    let used = send(edge, "GET", "/v1/keys/me", &cookie).json();
    assert_eq!(used["usage"]["day"]["used"], 0, "nothing was called");
}

#[test]
fn secret_without_keys_signs_out_itself_alone() {
    let edge = Edge::shared();
    let (key, _) = edge.issue("free");
    let body = json!({ "name": "Reader", "scopes": { "biolink": "read" } });
    let made = Request::post("/v1/keys/me/secrets", &body).key(&key).send(edge.addr).json();
    let (own, narrow) = (sign_in(&edge, &key), sign_in(&edge, made["key"].as_str().unwrap()));
    let others = listed(&edge, &own);
    let path = path_of(others.iter().find(|session| session["is_own"] == false).unwrap());
    for (method, path) in [("GET", SESSIONS), ("DELETE", SESSIONS), ("DELETE", &path)] {
        let refused = send(&edge, method, path, &narrow);
        assert_eq!((refused.status, refused.code().as_str()), (403, "scope-missing"), "{method} {path}");
    }
    assert_eq!(send(&edge, "DELETE", SESSION, &narrow).status, 204);
    assert_signed_out(&edge, &narrow);
    assert_eq!(read(&edge, &own), 200);
}

/// Sessions are beside the state that calls of tools load and store.
#[test]
fn sessions_cost_no_call_of_a_tool() {
    let World { edge, .. } = &World::start();
    let (key, id) = edge.issue("free");
    let meter = Object::meter(edge, &id);
    let cookie = sign_in(edge, &key);
    assert_eq!(Request::get("/v1/idea/generate").key(&key).send(edge.addr).status, 200);
    let stored = |table: &str| meter.sql(&format!("SELECT j FROM {table}"))[0][0].to_string();
    assert!(!stored("state").contains("ses_"));
    let before = stored("sessions");
    assert!(before.contains("ses_") && !before.contains("Gecko"), "{before}");
    assert_eq!([(); 3].map(|()| read(edge, &cookie)), [200; 3]);
    assert_eq!(stored("sessions"), before, "a read within five minutes writes nothing");
}

#[test]
fn session_without_its_meter_is_not_taken() {
    let world = World::start();
    let (key, _) = world.edge.issue("pro");
    let cookie = sign_in(&world.edge, &key);
    world.faults.set(METER, Fate::Fail);
    let refused = send(&world.edge, "GET", "/v1/keys/me", &cookie);
    assert_eq!((refused.status, refused.code().as_str()), (503, "meter-unavailable"));
    assert_eq!(send(&world.edge, "DELETE", SESSION, &cookie).code(), "meter-unavailable");
    world.faults.set(METER, Fate::Pass);
    assert_eq!(read(&world.edge, &cookie), 200, "it was not signed out, and the browser knows");
}
