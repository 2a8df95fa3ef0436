//! Uploads that break off, through edge and proxy.

use shared::tool::Tool;
use tests::{
    http::Connection,
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
