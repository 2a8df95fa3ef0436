//! Responses that the origin cuts off, and event streams.

use std::time::Duration;

use serde_json::{Value, json};
use shared::{origin::RESPONSE_TIMEOUT_MS, tool::Tool};
use tests::{
    http::{Connection, Request},
    origin::{Origin, OriginBehavior},
    stack::{Edge, Stack},
};
use tokio::runtime::Builder;

const EVENTS: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

/// Returns an event stream of these chunks, without its end.
fn events(chunks: &[&str]) -> Vec<u8> {
    let chunks = chunks.iter().map(|chunk| format!("{:x}\r\n{chunk}\r\n", chunk.len()));
    format!("{EVENTS}{}", chunks.collect::<String>()).into_bytes()
}

/// Returns the calls that are counted today, the calls by status, and the logged refusals.
fn usage(edge: &Edge, key: &str) -> (Value, Value, Value) {
    let body = Request::get("/v1/keys/me").key(key).send(edge.addr).json();
    let refusals = body["refusals"].as_array().unwrap().iter();
    let refusals = refusals.map(|group| json!([group["code"], group["route"], group["count"]])).collect();
    (body["usage"]["day"]["used"].clone(), body["today"]["by_status"].clone(), refusals)
}

/// Returns the data of the last event, which must be an `error`.
fn last_error(text: &str) -> Value {
    let data = text.rsplit_once("event: error\ndata: ").unwrap_or_else(|| panic!("{text:?}")).1;
    serde_json::from_str(data.strip_suffix("\n\n").unwrap()).unwrap()
}

#[test]
fn broken_event_stream_ends_with_an_error_event() {
    for (chunks, whole) in [
        (&["data: one\n\n", "data: two\n\n"][..], "data: one\n\ndata: two\n\n"),
        (&["data: one\n\ndata: tw"], "data: one\n\n"),
        (
            &["id: 1\r\ndata: one\r\n\r\n", "da", "ta: two\r\nda"],
            "id: 1\r\ndata: one\r\n\r\ndata: two\r\nevent: incomplete\n\n",
        ),
        (&[], ""),
    ] {
        let origin = Origin::start(OriginBehavior::BreakOff(events(chunks)));
        let edge = Edge::start(&origin.url());
        let (key, _) = edge.issue("pro");
        let response = Request::get("/v1/pdf/merge").key(&key).send(edge.addr);
        assert_eq!((response.status, response.complete), (200, true));
        let (text, error) = (response.text(), last_error(&response.text()));
        assert_eq!(text.split_once("event: error\n").unwrap().0, whole);
        let id = response.header("x-request-id").unwrap();
        assert_eq!((&error["code"], &error["request_id"]), (&json!("response-aborted"), &json!(id)));
        let refused = json!([["response-aborted", "/v1/pdf/{action}", 1]]);
        assert_eq!(usage(&edge, &key), (json!(0), json!({ "503": 1 }), refused), "{chunks:?}");
    }
}

#[test]
fn whole_event_stream_is_unchanged_and_counted() {
    let chunks = ["data: one\n\n", ": comment\n", "data: {\"a\":", "1}\n\ndata", ": without an end"];
    let mut bytes = events(&chunks);
    bytes.extend_from_slice(b"0\r\n\r\n");
    let origin = Origin::start(OriginBehavior::Respond(bytes));
    let edge = Edge::start(&origin.url());
    let (key, _) = edge.issue("pro");
    let response = Request::get("/v1/pdf/merge").key(&key).send(edge.addr);
    assert_eq!((response.text(), response.complete), (chunks.concat(), true));
    assert_eq!(response.header("content-type"), Some("text/event-stream"));
    assert_eq!(usage(&edge, &key), (json!(1), json!({ "200": 1 }), json!([])));
}

/// The timer for the head of a response must not end a stream that is read when it fires.
#[test]
fn event_stream_outlasts_the_timeout_of_its_head() {
    let pause = Duration::from_millis(RESPONSE_TIMEOUT_MS + 1_000);
    let rest = b"b\r\ndata: two\n\n\r\n0\r\n\r\n".to_vec();
    let origin = Origin::start(OriginBehavior::Pause(events(&["data: one\n\n"]), pause, rest));
    let edge = Edge::start(&origin.url());
    let (key, _) = edge.issue("pro");
    let response = Request::get("/v1/pdf/merge").key(&key).send(edge.addr);
    assert_eq!((response.text().as_str(), response.complete), ("data: one\n\ndata: two\n\n", true));
    assert_eq!(usage(&edge, &key), (json!(1), json!({ "200": 1 }), json!([])));
}

/// A client sees that bytes are missing.
#[test]
fn declared_length_of_a_broken_response_is_kept() {
    for kind in ["application/octet-stream", "text/event-stream"] {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: 100\r\n\r\nhalf");
        let origin = Origin::start(OriginBehavior::BreakOff(head.into_bytes()));
        let edge = Edge::start(&origin.url());
        let (key, _) = edge.issue("pro");
        let response = Request::get("/v1/pdf/merge").key(&key).send(edge.addr);
        assert_eq!((response.status, response.header("content-length")), (200, Some("100")), "{kind}");
        assert_eq!((response.text().as_str(), response.complete), ("half", false), "{kind}");
    }
}

/// Calls the tool's stream. Returns the connection after the first event.
fn call_stream(stack: &Stack, key: &str, query: &str) -> Connection {
    let mut connection = Connection::connect(stack.edge.addr);
    let request = Request::get(&format!("/v1/image/stream?{query}")).key(key);
    connection.write(&request.header("Host", &stack.edge.addr.to_string()).bytes());
    assert!(connection.head().unwrap().starts_with("HTTP/1.1 200"));
    assert!(!connection.chunk().unwrap().is_empty());
    connection
}

#[test]
fn stream_of_a_tool_that_dies_ends_with_an_error_event() {
    let stack = Stack::start();
    let (key, _) = stack.edge.issue("pro");
    let mut connection = call_stream(&stack, &key, "chunks=1000&pause_ms=100");
    stack.tools.stop(Tool::Image);
    let mut text = Vec::new();
    while let Some(chunk) = connection.chunk().filter(|chunk| !chunk.is_empty()) {
        text.extend(chunk);
    }
    assert_eq!(last_error(&String::from_utf8(text).unwrap())["code"], "response-aborted");
    assert_eq!(usage(&stack.edge, &key).0, 0, "refunded");
}

#[test]
fn stream_that_the_client_leaves_is_counted() {
    let stack = Stack::start();
    let (key, _) = stack.edge.issue("pro");
    drop(call_stream(&stack, &key, "chunks=100000&pause_ms=10"));
    // The edge has cancelled the call once the proxy has none.
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(stack.proxy.metric_is("utg_requests_in_flight", 0.0));
    assert_eq!(usage(&stack.edge, &key), (json!(1), json!({ "200": 1 }), json!([])));
}
