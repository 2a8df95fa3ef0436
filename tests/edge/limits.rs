//! Rate limits and quotas, as a client sees them.

use std::thread;

use tests::{
    http::{Request, Response},
    stack::Stack,
};

fn call(stack: &Stack, key: &str) -> Response {
    Request::get("/v1/idea/generate").key(key).send(stack.edge.addr)
}

#[test]
fn eleventh_call_within_a_minute_is_429_on_free() {
    let stack = Stack::shared();
    let (key, _) = stack.edge.issue("free");
    for left in (0..10).rev() {
        let response = call(&stack, &key);
        assert_eq!(response.status, 200, "{}", response.text());
        assert_eq!(response.header("ratelimit-policy"), Some(r#""minute";q=10;w=60, "day";q=100;w=86400"#));
        assert!(response.header("ratelimit").unwrap().starts_with(&format!("\"minute\";r={left};t=")));
        assert!(response.header("server-timing").is_some());
    }
    let refused = call(&stack, &key);
    assert_eq!((refused.status, refused.code().as_str()), (429, "quota-exceeded"));
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=61).contains(&wait), "{wait}");
    assert_eq!(refused.json()["violated-policies"], serde_json::json!(["minute"]));
    assert!(refused.header("ratelimit").unwrap().contains("\"day\";r=90"), "a refused call is not charged");
}

#[test]
fn parallel_calls_on_a_fresh_free_key_admit_exactly_ten() {
    let stack = Stack::shared();
    let (key, _) = stack.edge.issue("free");
    let statuses: Vec<u16> = thread::scope(|scope| {
        let calls: Vec<_> = (0..60).map(|_| scope.spawn(|| call(&stack, &key).status)).collect();
        calls.into_iter().map(|call| call.join().unwrap()).collect()
    });
    let count = |status: u16| statuses.iter().filter(|other| **other == status).count();
    assert_eq!((count(200), count(429)), (10, 50), "{statuses:?}");
}

#[test]
fn usage_survives_a_restart_of_the_edge() {
    let mut stack = Stack::start_stored();
    let (key, _) = stack.edge.issue("free");
    for _ in 0..10 {
        assert_eq!(call(&stack, &key).status, 200);
    }
    stack.edge = stack.edge.restart(&stack.proxy.url());
    assert_eq!(call(&stack, &key).status, 429);
}

#[test]
fn enterprise_key_has_500_a_minute_and_no_daily_limit() {
    let stack = Stack::shared();
    let (key, _) = stack.edge.issue("enterprise");
    assert_eq!(call(&stack, &key).header("ratelimit-policy"), Some(r#""minute";q=500;w=60"#));
}
