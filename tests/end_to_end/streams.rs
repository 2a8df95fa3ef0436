//! Streams of events and large files through edge and proxy.

use shared::tool::Tool;
use tests::{
    EventTool, Proxy, ProxyConfig,
    http::{Connection, Request},
    stack::{Edge, Stack},
};

/// An edge with a proxy in front of a tool that streams events.
fn edge() -> (EventTool, Proxy, Edge) {
    let tool = EventTool::start();
    // Of the data center that the edge takes for the only one.
    let server = "listen = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\n";
    let config =
        ProxyConfig::new().section("server", server).upstreams(Tool::Qr, &[&tool.address.to_string()]);
    let proxy = config.line("clients", "calls_in_flight_per_key = 500").start_and_wait();
    let edge = Edge::start(&proxy.url());
    (tool, proxy, edge)
}

/// Returns the connection of a response that has begun.
fn listen(edge: &Edge, key: &str) -> Connection {
    let request = Request::get("/v1/qr/events").key(key).header("Host", &edge.addr.to_string());
    let mut client = Connection::connect(edge.addr);
    client.write(&request.bytes());
    let head = client.head().unwrap();
    assert!(head.contains("text/event-stream"), "{head}");
    client
}

/// Nothing between tool and client holds an event back until the next one.
#[test]
fn client_has_each_event_before_the_next_is_sent() {
    let (tool, _proxy, edge) = edge();
    let (key, _) = edge.issue("pro");
    let mut client = listen(&edge, &key);
    for _ in 0..100 {
        let event = tool.send();
        assert_eq!(client.chunk().as_deref(), Some(event.as_bytes()));
    }
}

#[test]
fn hundred_slow_streams_are_served_at_once() {
    let (tool, _proxy, edge) = edge();
    let (key, _) = edge.issue("enterprise");
    let mut clients: Vec<_> = (0..100).map(|_| listen(&edge, &key)).collect();
    for _ in 0..3 {
        let event = tool.send();
        for client in &mut clients {
            assert_eq!(client.chunk().as_deref(), Some(event.as_bytes()));
        }
    }
    let state = Request::get("/v1/keys/me").key(&key).send(edge.addr);
    assert_eq!(state.status, 200, "{}", state.text());
}

#[test]
fn hundred_mib_arrive_whole() {
    const LENGTH: usize = 100 << 20;
    let stack = Stack::shared();
    let (key, _) = stack.edge.issue("pro");
    let request = Request::get(&format!("/v1/image/bytes?n={LENGTH}")).key(&key);
    let response = request.send(stack.edge.addr);
    assert_eq!((response.status, response.body.len()), (200, LENGTH));
}
