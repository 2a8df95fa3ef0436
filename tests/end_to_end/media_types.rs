//! Bodies of types that a pool does not take, refused by the edge before they are counted.

use shared::tool::Tool;
use tests::{FakeTool, Request, ToolBehavior, proxy::ProxyConfig, stack::Edge};
use tokio::runtime::Runtime;

const LISTEN: &str = "listen = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\n";

#[test]
fn bodies_of_another_type_do_not_use_up_the_minute() {
    let tool = Runtime::new().unwrap().block_on(FakeTool::start(ToolBehavior::Describe));
    let config = ProxyConfig::new()
        .section("server", LISTEN)
        .tool(Tool::Qr, &[&tool])
        .pool_line(Tool::Qr, "accept = [\"audio/*\"]");
    let proxy = config.start_and_wait();
    let edge = Edge::start(&proxy.url());
    let (key, _) = edge.issue("free");
    let post = |kind: &str| {
        let post = Request::new("POST", "/v1/qr/generate").key(&key).header("Content-Type", kind);
        post.body("{}").send(edge.addr)
    };
    for at in 0..20 {
        let kind = ["application/x-www-form-urlencoded", "text/plain", "application/octet-stream"][at % 3];
        let refused = post(kind);
        assert_eq!((refused.status, refused.code().as_str()), (415, "media-type-unsupported"));
        assert!(refused.header("accept").is_some_and(|types| types.contains("audio/*")), "{refused:?}");
    }
    assert_eq!(tool.calls(), 0);
    assert_eq!(post("audio/ogg").status, 200, "the pool takes it");
    let right = post("application/json");
    assert_eq!(right.status, 200);
    let quota = right.header("ratelimit").unwrap();
    assert!(quota.contains(r#""minute";r=8;"#) && quota.contains(r#""day";r=98;"#), "{quota}");
    let status = Request::get("/v1/status").send(edge.addr).json();
    assert_eq!(status.get("accepts"), None, "it is for the edge");
}
