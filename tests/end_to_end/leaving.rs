//! Clients that leave the edge, seen by the tool behind the proxy.

use shared::tool::Tool;
use tests::{
    FakeTool, Request, ToolBehavior,
    http::Connection,
    proxy::ProxyConfig,
    stack::Edge,
    wait::{PATIENCE, wait_for},
};
use tokio::runtime::Runtime;

const IN_FLIGHT: &str = r#"utg_calls_in_flight{tool="qr"}"#;

const LISTEN: &str = "listen = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\n";

/// The edge ends its call of the proxy, and the pool decides what that means for the tool.
#[test]
fn client_that_leaves_the_edge_frees_its_slot() {
    let runtime = Runtime::new().unwrap();
    for must_finish in [false, true] {
        let tool = runtime.block_on(FakeTool::start(ToolBehavior::Wait));
        let finishes = format!("finish_when_client_leaves = {must_finish}");
        let config = ProxyConfig::new()
            .section("server", LISTEN)
            .tool(Tool::Qr, &[&tool])
            .pool_line(Tool::Qr, &finishes);
        let proxy = config.start_and_wait();
        let edge = Edge::start(&proxy.url());
        let (key, _) = edge.issue("pro");
        let target = "/v1/qr/generate";
        let requests = [Request::get(target).key(&key), Request::new("POST", target).key(&key).json("{}")];
        for (count, request) in (1..).zip(requests) {
            tool.set(ToolBehavior::Wait);
            let mut client = Connection::connect_abortive(edge.addr);
            client.write(&request.header("Host", &edge.addr.to_string()).bytes());
            wait_for(PATIENCE, || (tool.calls() == count).then_some(()));
            drop(client);
            wait_for(PATIENCE, || {
                let me = Request::get("/v1/keys/me").key(&key).send(edge.addr).json();
                (me["today"]["by_status"]["499"] == count).then_some(())
            });
            if must_finish {
                let in_flight = runtime.block_on(proxy.metric(IN_FLIGHT));
                assert_eq!((in_flight, tool.aborted()), (Some(1.0), 0));
                tool.release();
            } else {
                wait_for(PATIENCE, || (tool.aborted() == count).then_some(()));
            }
            runtime.block_on(proxy.metric_is(IN_FLIGHT, 0.0));
        }
        let me = Request::get("/v1/keys/me").key(&key).send(edge.addr).json();
        assert_eq!((&me["usage"]["day"]["used"], tool.calls()), (&2.into(), 2), "{me}");
    }
}
