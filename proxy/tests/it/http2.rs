//! HTTP/2 towards clients: the responses of HTTP/1.1, and the limits of what only HTTP/2 has.

mod calls;
mod connections;
mod limits;

use shared::tool::Tool;
use tests::{
    FakeTool, Request, ToolBehavior,
    proxy::{Proxy, ProxyConfig},
};

/// Starts a proxy with HTTP/2 without TLS and short timeouts.
async fn short_timeouts(behavior: ToolBehavior) -> (FakeTool, Proxy) {
    let tool = FakeTool::start(behavior).await;
    let config =
        ProxyConfig::new().tool(Tool::Qr, &[&tool]).short_timeouts(Tool::Qr).line("clients", "h2c = true");
    (tool, config.ready().await)
}

/// Starts a proxy with HTTP/2 without TLS. `lines` is appended to `[clients]`.
async fn h2c(behavior: ToolBehavior, lines: &str) -> (FakeTool, Proxy) {
    let tool = FakeTool::start(behavior).await;
    let config = ProxyConfig::new().tool(Tool::Qr, &[&tool]).line("clients", &format!("h2c = true\n{lines}"));
    (tool, config.ready().await)
}

/// Waits until so many connections were closed for a reason.
async fn closed(proxy: &Proxy, reason: &str, count: f64) {
    let series = format!("utg_http2_connections_closed_total{{reason=\"{reason}\"}}");
    proxy.metric_is(&series, count).await;
}

fn get(target: &str) -> Request {
    Request::new("GET", target)
}
