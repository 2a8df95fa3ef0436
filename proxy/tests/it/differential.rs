//! The same bytes, sent over both transports: what the tool receives and what the client gets is
//! the same, but for the rows of `tests/vectors/transports.tsv`.

mod early_responses;
mod requests;
mod responses;

use shared::tool::Tool;
use tests::{
    Client, FakeTool, Request, ToolBehavior,
    grant::{Signer, call},
    proxy::{Proxy, ProxyConfig},
    transport::Transport,
};

/// The outcome of a request.
#[derive(Clone, Debug, PartialEq)]
struct Outcome {
    /// The heads that the tool received, with their lines in order.
    received: Vec<Vec<String>>,
    /// The status of each response, its header lines in order, its body and whether that is
    /// complete.
    responses: Vec<(u16, Vec<String>, String, bool)>,
    /// Whether the connection serves another request.
    is_kept: bool,
}

/// Two proxies with the same tool.
struct Pair {
    tool: FakeTool,
    relay: Proxy,
    pingora_proxy: Proxy,
}

impl Pair {
    async fn start() -> Self {
        let tool = FakeTool::start(ToolBehavior::Describe).await;
        let lines = "eject_percent = 0\nprobe.interval = \"1h\"\nanswer_timeout = \"5s\"";
        // Whether a connection was used before is chance, and makes a difference if the tool closes
        // it.
        let config = ProxyConfig::new()
            .section("", "idle_upstream_connections = 0\n")
            .tool(Tool::Qr, &[&tool])
            .pool_line(Tool::Qr, lines);
        let relay = config.clone().transport(Transport::Relay).ready().await;
        let pingora_proxy = config.transport(Transport::PingoraProxy).ready().await;
        Self { tool, relay, pingora_proxy }
    }

    /// Sends bytes that `bytes` makes, with its own grant, over both transports.
    async fn outcomes(&self, bytes: impl Fn() -> Vec<u8>, responses: usize) -> (Outcome, Outcome) {
        (
            self.outcome(&self.relay, &bytes(), responses).await,
            self.outcome(&self.pingora_proxy, &bytes(), responses).await,
        )
    }

    async fn outcome(&self, proxy: &Proxy, bytes: &[u8], expected: usize) -> Outcome {
        let before = self.tool.received().len();
        let mut client = Client::connect(proxy.listen).await;
        client.try_write(bytes).await;
        let (mut responses, mut is_kept) = (Vec::new(), true);
        while is_kept && responses.len() < expected {
            match client.response("GET").await {
                Some(response) => {
                    is_kept = response.complete && response.header("connection") != Some("close");
                    let id = response.header("x-request-id").unwrap_or("none").to_owned();
                    let body = response.text().replace(&id, "ID");
                    responses.push((response.status, lines(&response.headers), body, response.complete));
                }
                None => is_kept = false,
            }
        }
        self.tool.set(ToolBehavior::Describe);
        if is_kept {
            is_kept = client.try_write(&call("GET", "/v1/qr/last").bytes()).await
                && client.response("GET").await.is_some_and(|response| response.status == 200);
        }
        let received = self.tool.received().split_off(before);
        let received =
            received.iter().filter(|head| !head.starts_with("GET /last ")).map(|head| normal(head));
        Outcome { received: received.collect(), responses, is_kept }
    }
}

/// The header lines of a response, without what is another one each time.
fn lines(headers: &[(String, String)]) -> Vec<String> {
    const CHANGING: [&str; 3] = ["date", "x-request-id", "x-gateway-proof"];
    let kept = headers.iter().filter(|(name, _)| !CHANGING.contains(&name.to_ascii_lowercase().as_str()));
    let mut lines: Vec<_> = kept
        .map(|(name, value)| if name == "content-length" { name.clone() } else { format!("{name}: {value}") })
        .collect();
    lines.sort();
    lines
}

/// The lines of a request's head. The order of different headers means nothing (RFC 9110, section 5.3).
fn normal(head: &str) -> Vec<String> {
    let mut lines = head.trim_end().split("\r\n").map(|line| match line.split_once(": ") {
        Some(("x-request-id", _)) => "x-request-id: ID".to_owned(),
        _ => line.to_owned(),
    });
    let first = lines.next();
    let mut lines: Vec<_> = lines.collect();
    lines.sort_by_key(|line| line.split(':').next().map(str::to_owned));
    first.into_iter().chain(lines).collect()
}

/// Fills a fresh grant for a call into a request.
fn with_grant(text: &[u8], method: &str, target: &str) -> Vec<u8> {
    let grant = Signer::default().try_grant(&Request::new(method, target)).unwrap_or_default();
    let text = String::from_utf8_lossy(text).replace("GRANT", &format!("X-Gateway-Grant: {grant}"));
    text.into_bytes()
}

/// Returns what is wrong if the outcomes differ and no row of the table says so, or do not although
/// one does.
fn undocumented(what: &str, row: Option<&str>, (relay, pingora_proxy): (Outcome, Outcome)) -> Option<String> {
    let differ = relay != pingora_proxy;
    (differ != row.is_some()).then(|| {
        let shown: String = what.chars().take(200).collect();
        format!("{shown:?} ({row:?})\n        relay: {relay:?}\npingora-proxy: {pingora_proxy:?}\n")
    })
}

fn assert_none(wrong: &[String]) {
    assert!(wrong.is_empty(), "{} of the outcomes:\n{}", wrong.len(), wrong.join("\n"));
}

const GET: &str = "/v1/qr/a";
