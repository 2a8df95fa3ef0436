//! A server that stops responding while calls wait for it: its connections are closed when its probes
//! time out.

use std::time::Duration;

use shared::tool::Tool;

use tests::{
    Client, FakeTool, Request, ToolBehavior,
    grant::{call, post},
    proxy::{Proxy, ProxyConfig},
    until,
};

/// No other timeout ends a call within the patience of a test.
const LONG: &str = "answer_timeout = \"10m\"\ntry_timeout = \"10m\"\npause_timeout = \"10m\"\nkeep_idle = \"5m\"\nprobe.timeout = \"500ms\"\nslow_start = \"0s\"";

const HALF: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf";

fn config(tools: &[&FakeTool]) -> ProxyConfig {
    ProxyConfig::new().tool(Tool::Qr, tools).pool_line(Tool::Qr, LONG)
}

/// Sends a request, and waits until the tool has it.
async fn begin(proxy: &Proxy, tool: &FakeTool, request: Request) -> Client {
    let (before, mut client) = (tool.calls(), Client::connect(proxy.listen).await);
    client.write(&request.bytes()).await;
    until("the tool has the call", || async { tool.calls() > before }).await;
    client
}

/// Lets the tool respond to nothing, as a stopped process does: the system still accepts connections.
fn freeze(tool: &FakeTool) {
    tool.set(ToolBehavior::Wait);
    tool.drip_probes(Duration::from_secs(600));
}

/// Lets the tool respond again, and waits until it finds all its connections closed.
async fn thaw(tool: &FakeTool) {
    tool.thaw();
    until("its connections are closed", || async {
        tool.release();
        tool.connections() == 0
    })
    .await;
}

async fn is_unhealthy(proxy: &Proxy) {
    until("it is unhealthy", || async { proxy.upstream_health(Tool::Qr).await[0] == "unhealthy" }).await;
}

#[tokio::test]
async fn get_at_a_frozen_upstream_is_retried_on_another() {
    let (frozen, other) =
        (FakeTool::start(ToolBehavior::Wait).await, FakeTool::start(ToolBehavior::Describe).await);
    let proxy = config(&[&frozen, &other]).ready().await;
    // On a new connection, and on one that was idle before.
    for was_idle in [false, true] {
        frozen.set(ToolBehavior::Describe);
        if was_idle {
            until("it has an idle connection", || async {
                assert_eq!(proxy.send(call("GET", "/v1/qr/a")).await.status, 200);
                frozen.connections() == 1
            })
            .await;
        }
        frozen.set(ToolBehavior::Wait);
        let mut waiting = Vec::new();
        while waiting.is_empty() {
            let (before, at_other) = (frozen.calls(), other.calls());
            let mut client = Client::connect(proxy.listen).await;
            client.write(&call("GET", "/v1/qr/a").bytes()).await;
            let arrived = || async { frozen.calls() > before || other.calls() > at_other };
            until("one of them has the call", arrived).await;
            if frozen.calls() > before {
                waiting.push(client);
            } else {
                assert_eq!(client.response("GET").await.unwrap().status, 200);
            }
        }
        freeze(&frozen);
        for client in &mut waiting {
            let response = client.response("GET").await.expect("a response");
            assert_eq!((response.status, response.complete), (200, true));
        }
        thaw(&frozen).await;
        until("it is healthy again", || async {
            proxy.upstream_health(Tool::Qr).await == ["healthy", "healthy"]
        })
        .await;
    }
}

#[tokio::test]
async fn post_at_a_frozen_upstream_is_503_and_may_have_been_executed() {
    let frozen = FakeTool::start(ToolBehavior::Wait).await;
    let proxy = config(&[&frozen]).ready().await;
    let mut post = begin(&proxy, &frozen, post("/v1/qr/a", "{}")).await;
    let mut get = begin(&proxy, &frozen, call("GET", "/v1/qr/a")).await;
    freeze(&frozen);
    for (client, method, may_be) in [(&mut post, "POST", true), (&mut get, "GET", false)] {
        let response = client.response(method).await.expect("a response");
        assert_eq!((response.status, response.problem().as_str()), (503, "tool-unavailable"), "{method}");
        assert_eq!(response.header("proxy-status"), Some("utg-proxy; error=destination_unavailable"));
        assert!(response.header("retry-after").is_some());
        let detail = response.json()["detail"].as_str().unwrap().to_owned();
        assert_eq!(detail.contains("may have been executed"), may_be, "{detail}");
    }
    thaw(&frozen).await;
    assert_eq!(frozen.calls(), 2);
}

#[tokio::test]
async fn response_of_a_frozen_upstream_is_broken_off() {
    let frozen = FakeTool::start(ToolBehavior::Respond(HALF.to_vec())).await;
    let proxy = config(&[&frozen]).ready().await;
    let mut client = Client::connect(proxy.listen).await;
    client.write(&call("GET", "/v1/qr/a").bytes()).await;
    until("the tool has the call", || async { frozen.calls() == 1 }).await;
    freeze(&frozen);
    let response = client.response("GET").await.expect("a response");
    assert_eq!((response.status, response.body.as_slice(), response.complete), (200, &b"half"[..], false));
    let aborted = format!(
        r#"utg_upstream_responses_aborted_total{{by="upstream",tool="qr",upstream="{}"}}"#,
        frozen.address
    );
    proxy.metric_is(&aborted, 1.0).await;
}

/// It may be finishing its calls before it exits.
#[tokio::test]
async fn upstream_that_responds_to_probes_keeps_its_calls() {
    let tool = FakeTool::start(ToolBehavior::Wait).await;
    let proxy = config(&[&tool]).ready().await;
    let mut client = begin(&proxy, &tool, post("/v1/qr/a", "{}")).await;
    tool.set_healthy(false);
    is_unhealthy(&proxy).await;
    tool.release();
    assert_eq!(client.response("POST").await.unwrap().status, 200);
}

#[tokio::test]
async fn calls_stay_if_close_connections_is_false() {
    let tool = FakeTool::start(ToolBehavior::Wait).await;
    let proxy = config(&[&tool]).pool_line(Tool::Qr, "probe.close_connections = false").ready().await;
    let mut client = begin(&proxy, &tool, post("/v1/qr/a", "{}")).await;
    tool.drip_probes(Duration::from_secs(600));
    is_unhealthy(&proxy).await;
    tool.release();
    assert_eq!(client.response("POST").await.unwrap().status, 200);
}
