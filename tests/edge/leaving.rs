//! Clients that leave: the call of the origin ends with them, and is settled.

use serde_json::{Value, json};
use tests::{
    http::{Connection, Request},
    origin::{Origin, OriginBehavior},
    stack::Edge,
    wait::{PATIENCE, wait_for},
};

const LENGTH: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 100\r\n\r\nhalf";
const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n";
const EVENTS: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\nb\r\ndata: one\n\n\r\n";

fn requests(key: &str) -> [Request; 3] {
    let large = format!("\"{}\"", "a".repeat(200_000));
    let post = Request::new("POST", "/v1/pdf/merge").key(key);
    [Request::get("/v1/pdf/merge").key(key), post.clone().json("{}"), post.json(&large)]
}

fn me(edge: &Edge, key: &str) -> Value {
    Request::get("/v1/keys/me").key(key).send(edge.addr).json()
}

fn begin(edge: &Edge, request: Request) -> Connection {
    let mut client = Connection::connect_abortive(edge.addr);
    client.write(&request.header("Host", &edge.addr.to_string()).bytes());
    client
}

/// Returns how often a text is in the log. workerd prints a line after its request.
fn logged(edge: &Edge, text: &str) -> usize {
    edge.output().matches(text).count()
}

/// The origin is silent all the time: nothing but the end of the connection can be noticed.
#[test]
fn client_that_leaves_ends_the_call_at_its_origin() {
    let hold = || Origin::start(OriginBehavior::Hold(Vec::new()));
    let (origin, other) = (hold(), hold());
    for origins in [origin.url(), format!("{},{}", origin.url(), other.url())] {
        let edge = Edge::start(&origins);
        let (key, _) = edge.issue("pro");
        let before = origin.begun();
        for (nth, request) in (1..).zip(requests(&key)) {
            let client = begin(&edge, request);
            wait_for(PATIENCE, || (origin.arrivals().len() == before + nth).then_some(()));
            assert_eq!(origin.left(), before + nth - 1);
            drop(client);
            wait_for(PATIENCE, || (origin.left() == before + nth).then_some(()));
        }
        let me =
            wait_for(PATIENCE, || Some(me(&edge, &key)).filter(|me| me["today"]["by_status"]["499"] == 3));
        assert_eq!(me["usage"]["day"]["used"], 3, "the tool may have worked for it: {me}");
        let calls = Request::get("/v1/usage/calls?status=499").key(&key).send(edge.addr).json();
        assert_eq!(calls["calls"].as_array().map(Vec::len), Some(3), "{calls}");
        wait_for(PATIENCE, || (logged(&edge, "\"status\":499") == 3).then_some(()));
        edge.end();
        let output = edge.output();
        for fault in ["origin call failed", "rror:", "xception", "Uncaught"] {
            assert!(!output.contains(fault), "{fault}: {output}");
        }
    }
    assert_eq!((origin.begun(), other.begun()), (6, 0), "no call is repeated for nobody");
}

#[test]
fn client_that_leaves_amid_a_response_ends_it() {
    for head in [LENGTH, CHUNKED, EVENTS] {
        let origin = Origin::start(OriginBehavior::Hold(head.into()));
        let edge = Edge::start(&origin.url());
        let (key, _) = edge.issue("pro");
        for (nth, request) in (1..).zip(requests(&key)) {
            let mut client = begin(&edge, request);
            assert!(client.head().is_some(), "{head}");
            drop(client);
            wait_for(PATIENCE, || (origin.left() == nth).then_some(()));
        }
        let me = me(&edge, &key);
        assert_eq!(
            (&me["usage"]["day"]["used"], &me["today"]["by_status"]),
            (&json!(3), &json!({ "200": 3 }))
        );
        wait_for(PATIENCE, || (logged(&edge, "\"action\":\"merge\"") == 3).then_some(()));
        edge.end();
        let output = edge.output();
        assert!(!output.contains("response aborted") && !output.contains("xception"), "{head}: {output}");
    }
}

/// A message of MCP is not cancelled by the end of its connection (its section on transports).
#[test]
fn mcp_call_goes_on_without_its_client() {
    let origin = Origin::start(OriginBehavior::Hold(Vec::new()));
    let edge = Edge::start(&origin.url());
    let (key, _) = edge.issue("pro");
    let call = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "call_tool", "arguments": { "tool": "pdf", "action": "merge" } },
    });
    let request = Request::post("/mcp", &call).key(&key);
    let client = begin(&edge, request);
    wait_for(PATIENCE, || (origin.arrivals().len() == 1).then_some(()));
    drop(client);
    // This is served after the end has arrived.
    assert_eq!(Request::get("/healthz").send(edge.addr).status, 200);
    assert_eq!(origin.left(), 0);
}
