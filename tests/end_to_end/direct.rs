//! A proxy in direct mode that reads key changes from the edge.

use std::time::Duration;

use serde_json::json;
use tests::{
    http::{Request, Response},
    keys::ADMIN_SECRET,
    proxy::ProxyConfig,
    stack::{Edge, Tools},
    wait::wait_for,
};

/// The time within which a change of a key is known, by the design.
const KNOWN_WITHIN: Duration = Duration::from_secs(10);

fn administer(edge: &Edge, method: &str, target: &str) -> Response {
    let request = Request::new(method, target).header("Authorization", &format!("Bearer {ADMIN_SECRET}"));
    request.send(edge.addr)
}

#[test]
fn key_revoked_at_the_edge_is_401_in_direct_mode() {
    let tools = Tools::start();
    let behind = ProxyConfig::for_tools(&tools).start_and_wait();
    let edge = Edge::start(&behind.url());
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("keys");
    let direct = ProxyConfig::for_tools(&tools).direct(&state);
    let direct = direct.line("keys", &format!("changes = \"http://{}\"", edge.addr)).start_and_wait();
    let (key, id) = edge.issue("pro");
    let call = |proxy: &tests::Proxy| Request::get("/v1/qr/generate?url=x").key(&key).send(proxy.listen);
    let first = call(&direct);
    assert_eq!(first.header("ratelimit-policy"), Some(r#""minute";q=100;w=60, "day";q=10000;w=86400"#));
    let limited = Request::post(&format!("/v1/keys/{id}"), &json!({ "limits": { "minute": 7 } }));
    let limited = Request { method: "PATCH".to_owned(), ..limited };
    let limited = limited.header("Authorization", &format!("Bearer {ADMIN_SECRET}")).send(edge.addr);
    assert_eq!(limited.status, 200, "{}", limited.text());
    wait_for(KNOWN_WITHIN, || {
        call(&direct).header("ratelimit-policy").is_some_and(|policy| policy.contains("q=7;")).then_some(())
    });
    assert_eq!(administer(&edge, "POST", &format!("/v1/keys/{id}/revoke")).status, 200);
    let refused = wait_for(KNOWN_WITHIN, || Some(call(&direct)).filter(|response| response.status == 401));
    assert_eq!(refused.code(), "key-revoked");

    drop(edge);
    assert_eq!(call(&direct).code(), "key-revoked", "a change that is known holds without the edge");
    let (another, _) = tests::keys::fresh(shared::tier::Tier::Free);
    let response = Request::get("/v1/keys/me").key(&another).send(direct.listen);
    assert_eq!(response.status, 200, "{}", response.text());
}

/// The edge's isolates and proxies in direct mode are holders of the same meter.
#[test]
fn key_used_at_the_edge_and_in_direct_mode_has_one_limit() {
    let tools = Tools::start();
    let behind = ProxyConfig::for_tools(&tools).start_and_wait();
    let edge = Edge::start(&behind.url());
    let folder = tempfile::tempdir().unwrap();
    let changes = format!("changes = \"http://{}\"", edge.addr);
    let direct = ["a", "b"].map(|name| {
        let config = ProxyConfig::for_tools(&tools).direct(&folder.path().join(name));
        config.line("keys", &changes).section("limits", "authority = \"edge\"\n").start_and_wait()
    });
    let places = [edge.addr, direct[0].listen, direct[1].listen];
    let issued = Request::post(
        "/v1/keys/issue",
        &json!({
            "email": "ada@example.com", "name": "Ada", "tier": "pro", "admin_secret": ADMIN_SECRET,
            "limits": { "minute": 60, "day": 60 }, "when_meter_unreachable": "refuse",
        }),
    );
    let issued = issued.send(edge.addr).json();
    let key = issued["key"].as_str().unwrap();
    let call = |place: usize| {
        let response = Request::get("/v1/idea/generate?topic=x").key(key).send(places[place % 3]);
        assert!(matches!(response.status, 200 | 429), "{}", response.text());
        response.status
    };
    let mut passed = 0;
    // What a place holds when its calls are over passes with its next ones.
    for round in 0.. {
        let more = (0..30).filter(|&number| call(number) == 200).count();
        passed += more;
        if passed >= 60 && more == 0 {
            break;
        }
        assert!(round < 500, "{passed}");
    }
    assert_eq!(passed, 60);
}
