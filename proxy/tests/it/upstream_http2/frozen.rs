//! A server that stops responding while calls share its connection: they are ended when its probes
//! time out, as over HTTP/1.1 (`frozen.rs`), and not when a PING does.

use bytes::Bytes;
use shared::tool::Tool;

use super::{calling, pingora_proxy};
use tests::{
    Client, Request,
    grant::{call, post},
    http2_tool::{End, H2ToolBehavior, Http2Tool},
    proxy::Proxy,
    until,
};

/// No other timeout ends a call within the patience of a test.
const LONG: &str = "answer_timeout = \"10m\"\ntry_timeout = \"10m\"\npause_timeout = \"10m\"\nkeep_idle = \"5m\"\nprobe.timeout = \"500ms\"\nslow_start = \"0s\"";

/// Sends a request, and waits until the tool has it.
async fn begin(proxy: &Proxy, tool: &Http2Tool, request: Request) -> Client {
    let (before, mut client) = (tool.calls(), Client::connect(proxy.listen).await);
    client.write(&request.bytes()).await;
    until("the tool has the call", || async { tool.calls() > before }).await;
    client
}

#[tokio::test]
async fn calls_on_the_connection_of_a_frozen_upstream_are_ended() {
    let half = H2ToolBehavior::Respond(Vec::new(), vec![Bytes::from_static(b"half")], End::Never);
    let (tool, proxy) = calling(half, LONG).await;
    let mut begun = begin(&proxy, &tool, call("GET", "/v1/qr/a")).await;
    assert!(begun.head().await.is_some());
    assert_eq!(begun.chunk().await.as_deref(), Some(&b"half"[..]));
    tool.set(H2ToolBehavior::Wait);
    let mut post = begin(&proxy, &tool, post("/v1/qr/a", "{}")).await;
    let mut get = begin(&proxy, &tool, call("GET", "/v1/qr/a")).await;
    tool.freeze();
    for (client, method, may_be) in [(&mut post, "POST", true), (&mut get, "GET", false)] {
        let response = client.response(method).await.expect("a response");
        assert_eq!((response.status, response.problem().as_str()), (503, "tool-unavailable"), "{method}");
        assert_eq!(response.header("proxy-status"), Some("utg-proxy; error=destination_unavailable"));
        let detail = response.json()["detail"].as_str().unwrap().to_owned();
        assert_eq!(detail.contains("may have been executed"), may_be, "{detail}");
    }
    assert_eq!(begun.chunk().await, None, "broken off");
    let aborted = format!(
        r#"utg_upstream_responses_aborted_total{{by="upstream",tool="qr",upstream="{}"}}"#,
        tool.address
    );
    proxy.metric_is(&aborted, 1.0).await;
    tool.thaw();
    tool.set(H2ToolBehavior::Describe);
    until("it is healthy again", || async { proxy.upstream_health(Tool::Qr).await == ["healthy"] }).await;
    assert_eq!(proxy.send(call("GET", "/v1/qr/a")).await.status, 200, "over a new connection");
}

#[tokio::test]
async fn gets_at_a_frozen_upstream_are_retried_on_another() {
    let frozen = Http2Tool::start(H2ToolBehavior::Wait).await;
    let other = Http2Tool::start(H2ToolBehavior::Describe).await;
    let servers = [frozen.address.to_string(), other.address.to_string()];
    let config = pingora_proxy().upstreams(Tool::Qr, &[&servers[0], &servers[1]]);
    let proxy = config.pool_line(Tool::Qr, &format!("http2 = true\n{LONG}")).ready().await;
    let mut clients = Vec::new();
    for number in 1..=8 {
        let mut client = Client::connect(proxy.listen).await;
        client.write(&call("GET", "/v1/qr/a").bytes()).await;
        until("one of them has the call", || async { frozen.calls() + other.calls() == number }).await;
        clients.push(client);
    }
    assert!(frozen.in_flight() > 1, "{} calls", frozen.in_flight());
    frozen.freeze();
    for client in &mut clients {
        let response = client.response("GET").await.expect("a response");
        assert_eq!((response.status, response.complete), (200, true));
    }
    assert_eq!(other.calls(), 8);
}
