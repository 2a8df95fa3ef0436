//! Uploads that are cut off, through edge and proxy.

use shared::tool::Tool;
use tests::{
    http::{Connection, Request},
    origin::{Arrival, Origin, OriginBehavior, http_response},
    proxy::ProxyConfig,
    stack::Edge,
    wait::{PATIENCE, wait_for},
};

/// Bytes of the first part of a body: more than edge and proxy hold back. It must never be taken for
/// the whole.
const BEGUN: usize = 200_000;

/// Returns the uploads that the tool has received.
fn uploads(tool: &Origin) -> Vec<Arrival> {
    tool.arrivals().into_iter().filter(|arrival| arrival.method == "POST").collect()
}

#[test]
fn upload_whose_client_aborts_reaches_the_tool_as_aborted() {
    let tool = Origin::start(OriginBehavior::Foreign(http_response("200 OK", &[], "executed")));
    let proxy = ProxyConfig::new()
        .section("server", "listen = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\n")
        .upstreams(Tool::Pdf, &[&tool.addr.to_string()])
        .start_and_wait();
    let edge = Edge::start(&proxy.url());
    let (key, _) = edge.issue("pro");
    let begun = format!("\"{}", "a".repeat(BEGUN - 1));
    let chunk = format!("{BEGUN:x}\r\n{begun}\r\n");
    let framings = [("Content-Length: 300000", &begun), ("Transfer-Encoding: chunked", &chunk)];
    for (nth, (framing, piece)) in framings.into_iter().enumerate() {
        let mut client = Connection::connect(edge.addr);
        let sent = format!(
            "POST /v1/pdf/merge HTTP/1.1\r\nHost: {}\r\nX-API-Key: {key}\r\n\
             Content-Type: application/json\r\n{framing}\r\n\r\n{piece}",
            edge.addr
        );
        client.write(sent.as_bytes());
        wait_for(PATIENCE, || (tool.begun() > nth).then_some(()));
        drop(client);
        let upload = wait_for(PATIENCE, || uploads(&tool).get(nth).cloned());
        assert!(!upload.complete, "{framing}: {upload:?}");
    }
}

/// The proxy refuses it, and tells the edge that the tool had a part of it.
#[test]
fn upload_that_stalls_within_the_tool_is_charged() {
    let tool = Origin::start(OriginBehavior::Foreign(http_response("200 OK", &[], "executed")));
    let proxy = ProxyConfig::new()
        .section("server", "listen = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\n")
        .line("clients", "idle_timeout = \"1s\"")
        .line("clients", "min_upload_rate = \"0B\"")
        .upstreams(Tool::Pdf, &[&tool.addr.to_string()])
        .start_and_wait();
    let edge = Edge::start(&proxy.url());
    for (sent, used) in [(BEGUN, 1), (1_000, 0)] {
        let (key, _) = edge.issue("pro");
        let mut client = Connection::connect(edge.addr);
        let head = format!(
            "POST /v1/pdf/merge HTTP/1.1\r\nHost: {}\r\nX-API-Key: {key}\r\n\
             Content-Type: application/json\r\nContent-Length: 300000\r\n\r\n",
            edge.addr
        );
        assert!(client.write(head.as_bytes()) && client.write("a".repeat(sent).as_bytes()));
        let refused = client.response("POST").unwrap();
        assert_eq!((refused.status, refused.code().as_str()), (408, "request-timeout"), "{}", refused.text());
        assert_eq!(refused.header("x-gateway-sent"), None, "it is for the edge");
        let me = Request::get("/v1/keys/me").key(&key).send(edge.addr).json();
        assert_eq!(me["usage"]["day"]["used"], used, "{sent} bytes: {me}");
    }
}
