//! The log of a key's last refusals, in `GET /v1/keys/me`.

use serde_json::{Value, json};
use shared::tool::Tool;
use tests::{
    http::{Request, Response},
    stack::Stack,
};

use super::calls::reported;

fn call(stack: &Stack, key: &str) -> Response {
    Request::get("/v1/idea/generate").key(key).send(stack.edge.addr)
}

/// Returns code, route and count of each group.
fn refusals(stack: &Stack, key: &str) -> Vec<Value> {
    let body = Request::get("/v1/keys/me").key(key).send(stack.edge.addr).json();
    let groups = body["refusals"].as_array().unwrap_or_else(|| panic!("{body}"));
    groups.iter().map(|group| json!([group["code"], group["route"], group["count"]])).collect()
}

#[test]
fn refusals_are_shown_by_code_and_route_and_survive_a_restart() {
    let mut stack = Stack::start_stored();
    let (key, _) = stack.edge.issue("free");
    assert_eq!(refusals(&stack, &key), Vec::<Value>::new());
    for _ in 0..10 {
        assert_eq!(call(&stack, &key).status, 200);
    }
    for _ in 0..3 {
        assert_eq!(call(&stack, &key).status, 429);
    }
    let plan = Request::get("/webhooks").key(&key).send(stack.edge.addr);
    assert_eq!(plan.status, 403, "{}", plan.text());
    reported(&stack.edge, &key, "");
    let seen = refusals(&stack, &key);
    // The last one of each may be of one millisecond, so their order is not certain.
    for (code, route, count) in
        [("plan-required", "/webhooks", 1), ("quota-exceeded", "/v1/idea/{action}", 3)]
    {
        assert!(seen.contains(&json!([code, route, count])), "{seen:?}");
    }
    assert_eq!(seen.len(), 2, "{seen:?}");
    stack.edge = stack.edge.restart(&stack.proxy.url());
    assert_eq!(refusals(&stack, &key), seen);
}

#[test]
fn refusal_by_the_proxy_is_shown() {
    let stack = Stack::start();
    let (key, _) = stack.edge.issue("pro");
    stack.tools.stop(Tool::Idea);
    let status = call(&stack, &key).status;
    assert_eq!(status, 503);
    let seen = refusals(&stack, &key);
    assert_eq!(seen.len(), 1, "{seen:?}");
    assert_eq!((&seen[0][1], &seen[0][2]), (&json!("/v1/idea/{action}"), &json!(1)));
}
