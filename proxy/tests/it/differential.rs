//! The same bytes, sent over both transports: what the tool receives and what the client gets is
//! the same, but for the rows of `tests/vectors/transports.tsv`.

use serde_json::Value;
use shared::tool::Tool;
use tests::{
    Client, FakeTool, Request, ToolBehavior,
    grant::{Signer, call},
    proxy::{Proxy, ProxyConfig},
    transport::{Transport, known},
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

    /// Sends bytes that `bytes` makes, with a grant of its own, over both transports.
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

/// A request (its method, target and text), and the row of the table that says how its outcomes
/// differ.
type RequestCase = ((&'static str, String, String), Option<&'static str>);

/// A response of the tool, and the row of the table that says how its outcomes differ.
type ResponseCase = (String, Option<&'static str>);

/// A GET with these lines after its first one.
fn get(lines: &str) -> (&'static str, String, String) {
    ("GET", GET.to_owned(), format!("GET {GET} HTTP/1.1\r\nHost: gateway.test\r\nGRANT\r\n{lines}\r\n"))
}

/// A GET of this target.
fn target(target: &str) -> (&'static str, String, String) {
    ("GET", target.to_owned(), format!("GET {target} HTTP/1.1\r\nHost: gateway.test\r\nGRANT\r\n\r\n"))
}

/// A POST with these lines and this body.
fn post(lines: &str, body: &str) -> (&'static str, String, String) {
    let head =
        format!("POST {GET} HTTP/1.1\r\nHost: gateway.test\r\nContent-Type: application/json\r\nGRANT\r\n");
    ("POST", GET.to_owned(), format!("{head}{lines}\r\n{body}"))
}

/// A request that begins with these lines, with the grant of a GET where they say so.
fn raw(text: &str) -> (&'static str, String, String) {
    ("GET", GET.to_owned(), text.to_owned())
}

#[tokio::test]
async fn requests_are_the_same_on_both_transports() {
    let pair = Pair::start().await;
    let cases = [header_lines(), targets(), bodies(), heads()].concat();
    let mut wrong = Vec::new();
    for ((method, target, text), row) in &cases {
        let outcomes = pair.outcomes(|| with_grant(text.as_bytes(), method, target), 1).await;
        wrong.extend(undocumented(text, *row, outcomes));
    }
    assert_none(&wrong);
}

/// Requests with header lines of all kinds.
fn header_lines() -> Vec<RequestCase> {
    let long = "x".repeat(7_000);
    let nominations = (0..20).map(|number| format!("X-N{number}")).collect::<Vec<_>>().join(", ");
    vec![
        (get(""), None),
        (get("Accept: */*\r\nUser-Agent: test/1\r\nAccept-Encoding: gzip\r\n"), None),
        (get("x-lower: a\r\nX-UPPER: b\r\nX-Mixed-cAsE: c\r\n"), None),
        (get("X-Twice: a\r\nX-Other: b\r\nX-Twice: c\r\n"), None),
        (get("X-Empty:\r\nX-Spaces:    a  b   \r\nX-Tab:\ta\tb\t\r\n"), None),
        (get("X-Name: é\r\n"), None),
        (get(&format!("X-Long: {long}\r\n")), None),
        (get("Cookie: a=1\r\nCookie: b=2\r\n"), None),
        (get("Authorization: Bearer x\r\nX-API-Key: utg_live_x\r\nForwarded: for=1\r\n"), None),
        (get("X-Gateway-Key-Id: forged\r\nX-Gateway-Tier: enterprise\r\nX-Request-Id: mine\r\n"), None),
        (get("X-Forwarded-For: 1.2.3.4\r\nX-Forwarded-Proto: https\r\nVia: 1.1 a\r\n"), None),
        (get("Connection: close\r\n"), None),
        (get("Connection: keep-alive\r\nKeep-Alive: timeout=5\r\n"), None),
        (get("Connection: X-Hop, x-other\r\nX-Hop: a\r\nX-Other: b\r\nX-Stays: c\r\n"), None),
        (get("Connection: X-Hop\r\nConnection: X-Other\r\nX-Hop: a\r\nX-Other: b\r\n"), None),
        (get("Connection: host, x-request-id, x-forwarded-for\r\n"), None),
        (get("Connection: \"X-Hop\"\r\nX-Hop: a\r\n"), None),
        (get(&format!("Connection: {nominations}\r\nX-N3: a\r\n")), None),
        (get("Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: a\r\n"), None),
        (get("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: a\r\n"), None),
        (get("TE: trailers\r\nTrailer: X-Sum\r\n"), None),
        (get("Proxy-Authorization: a\r\nProxy-Connection: keep-alive\r\n"), None),
        (get("Content-Length: 0\r\n"), None),
        (get("Content-Length: 4\r\n\r\nbody"), None),
        (get("Range: bytes=0-3\r\nIf-None-Match: \"a\"\r\nIf-Modified-Since: x\r\n"), None),
    ]
}

/// Requests with odd targets.
fn targets() -> Vec<RequestCase> {
    vec![
        (target("/v1/qr/a?"), None),
        (target("/v1/qr/a?b=c%20d&e[]=1&f=a+b;g=*"), None),
        (target("/v1/qr/a?q={\"b\":1}"), Some(known("target_characters"))),
        (target("/v1/qr/a?q={b}"), None),
        (target("/v1/qr/a?q=<x>"), Some(known("target_characters"))),
        (target("/v1/qr/a?q=`^|\\"), None),
        (target("/v1/qr/a?a=b?c=d"), None),
        (target("/v1/qr/a?a#b"), None),
        (target("/v1/qr/a/"), None),
        (target("/v1/qr/../a"), None),
        (target("/v1/qr/%61"), None),
        (target("//v1/qr/a"), None),
        (target("http://gateway.test/v1/qr/a"), None),
        (target("http://other.test/v1/qr/a"), None),
        (target("*"), None),
        (target("gateway.test:443"), None),
        (target("/v1/qr/é"), None),
        (target("/v1/nothing/a"), None),
        (target("/healthz"), None),
    ]
}

/// Requests with a body, and their framing.
fn bodies() -> Vec<RequestCase> {
    let large = "a".repeat(200_000);
    vec![
        (post("Content-Length: 7\r\n", "{\"a\":1}"), None),
        (post("Content-Length: 0\r\n", ""), None),
        (post("", ""), None),
        (post("Content-Length: 07\r\n", "{\"a\":1}"), None),
        (post(&format!("Content-Length: {}\r\n", large.len()), &large), None),
        (post("Transfer-Encoding: chunked\r\n", "7\r\n{\"a\":1}\r\n0\r\n\r\n"), None),
        (post("Transfer-Encoding: chunked\r\n", "0\r\n\r\n"), None),
        (post("transfer-encoding: CHUNKED\r\n", "1;a=b\r\n1\r\n1\r\n2\r\n0\r\nX-Sum: 1\r\n\r\n"), None),
        (post("Transfer-Encoding: chunked\r\n", &format!("30d40\r\n{large}\r\n0\r\n\r\n")), None),
        (post("Transfer-Encoding: chunked\r\n", "x\r\n1\r\n0\r\n\r\n"), None),
        (post("Transfer-Encoding: chunked\r\n", "1\r\n12\r\n0\r\n\r\n"), None),
        (post("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"), None),
        (post("Transfer-Encoding: identity\r\n", ""), None),
        (post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), None),
        (post("Transfer-Encoding: chunked\r\nContent-Length: 7\r\n", "0\r\n\r\n"), None),
        (post("Content-Length: 2, 2\r\n", "{}"), None),
        (post("Content-Length: 2\r\nContent-Length: 2\r\n", "{}"), None),
        (post("Content-Length: +2\r\n", "{}"), None),
        (post("Content-Length: 99999999999999999999\r\n", "{}"), None),
        (post("Content-Length: 20000000\r\n", ""), None),
        (post("Content-Length: 2\r\nExpect: 100-continue\r\n", "{}"), None),
        (post("Content-Length: 2\r\nExpect: something\r\n", "{}"), None),
        (post("Content-Length: 2\r\nContent-Encoding: gzip\r\n", "{}"), None),
    ]
}

/// Requests whose first line or `Host` is odd.
fn heads() -> Vec<RequestCase> {
    vec![
        (raw("get /v1/qr/a HTTP/1.1\r\nHost: a\r\nGRANT\r\n\r\n"), None),
        (raw("PATCH /v1/qr/a HTTP/1.1\r\nHost: a\r\nGRANT\r\n\r\n"), None),
        (raw("OPTIONS /v1/qr/a HTTP/1.1\r\nHost: a\r\nOrigin: http://a\r\n\r\n"), None),
        (raw("CONNECT gateway.test:443 HTTP/1.1\r\nHost: gateway.test:443\r\n\r\n"), None),
        (raw("TRACE /v1/qr/a HTTP/1.1\r\nHost: a\r\n\r\n"), None),
        (raw("GET /v1/qr/a HTTP/1.0\r\nGRANT\r\n\r\n"), None),
        (raw("GET /v1/qr/a HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\nGRANT\r\n\r\n"), None),
        (raw("GET /v1/qr/a HTTP/1.1\r\nGRANT\r\n\r\n"), None),
        (raw("GET /v1/qr/a HTTP/1.1\r\nHost: a\r\nHost: a\r\nGRANT\r\n\r\n"), None),
        (raw("GET /v1/qr/a HTTP/1.1\r\nHost:\r\nGRANT\r\n\r\n"), None),
        (raw("GET /v1/qr/a HTTP/1.1\r\nHost: user@gateway.test\r\nGRANT\r\n\r\n"), None),
        (raw("GET /v1/qr/a HTTP/1.1\r\nHost: a b/c\r\nGRANT\r\n\r\n"), None),
        (raw("GET /v1/qr/a HTTP/1.1\r\nHost: a\r\n folded\r\nGRANT\r\n\r\n"), None),
        (raw("GET /v1/qr/a HTTP/1.1\r\nHost : a\r\nGRANT\r\n\r\n"), None),
        (raw("GET /v1/qr/a HTTP/1.1\r\nHost: a\r\nX-Nul: \0\r\nGRANT\r\n\r\n"), None),
        (raw("GET /v1/qr/a HTTP/1.1\r\nHost: a\r\nX(: a\r\nGRANT\r\n\r\n"), None),
        (raw("GET  /v1/qr/a HTTP/1.1\r\nHost: a\r\nGRANT\r\n\r\n"), None),
        (raw("GET /v1/qr/a HTTP/1.2\r\nHost: a\r\nGRANT\r\n\r\n"), None),
        (raw("GET /v1/qr/a HTTP/2.0\r\nHost: a\r\nGRANT\r\n\r\n"), None),
        (raw("GET /v1/qr/a\r\nHost: a\r\nGRANT\r\n\r\n"), None),
        (raw("GET /v1/qr/a HTTP/1.1\nHost: a\n\n"), None),
        (raw("\r\nGET /v1/qr/a HTTP/1.1\r\nHost: a\r\nGRANT\r\n\r\n"), None),
        (raw("\x16\x03\x01\x02"), None),
    ]
}

#[tokio::test]
async fn pipelined_requests_are_the_same_on_both_transports() {
    let pair = Pair::start().await;
    let (method, target, first) = post("Content-Length: 2\r\n", "{}");
    let (_, _, last) = get("");
    let bytes = || {
        let posted = with_grant(first.as_bytes(), method, &target);
        [posted, with_grant(last.as_bytes(), "GET", &target)].concat()
    };
    let (relay, pingora_proxy) = pair.outcomes(bytes, 2).await;
    assert_eq!(relay.responses.len(), 2);
    assert_eq!(undocumented("two at once", None, (relay, pingora_proxy)), None);
}

#[tokio::test]
async fn responses_are_the_same_on_both_transports() {
    let pair = Pair::start().await;
    let cases = [response_bodies(), response_headers(), statuses()].concat();
    let mut wrong = Vec::new();
    for (response, row) in &cases {
        for version in ["1.0", "1.1"] {
            let text = format!("GET {GET} HTTP/{version}\r\nHost: a\r\nGRANT\r\n\r\n");
            let behavior = ToolBehavior::RespondAndClose(response.clone().into_bytes());
            pair.tool.set(behavior.clone());
            let relay = pair.outcome(&pair.relay, &with_grant(text.as_bytes(), "GET", GET), 1).await;
            pair.tool.set(behavior);
            let other = pair.outcome(&pair.pingora_proxy, &with_grant(text.as_bytes(), "GET", GET), 1).await;
            wrong.extend(undocumented(response, *row, (relay, other)));
        }
    }
    assert_none(&wrong);
}

/// Responses with a body, and their framing.
fn response_bodies() -> Vec<ResponseCase> {
    let long = "a".repeat(200_000);
    vec![
        (ok("Content-Length: 2\r\n", "ok"), None),
        (ok("Content-Length: 0\r\n", ""), None),
        (ok("Transfer-Encoding: chunked\r\n", "2\r\nok\r\n0\r\n\r\n"), None),
        (ok("Transfer-Encoding: chunked\r\n", "1;a=b\r\no\r\n1\r\nk\r\n0\r\nX-Sum: 1\r\n\r\n"), None),
        (ok("", "until the end"), None),
        (ok(&format!("Content-Length: {}\r\n", long.len()), &long), None),
        (ok("Content-Length: 2\r\nContent-Length: 2\r\n", "ok"), None),
        (ok("Content-Length: 2, 2\r\n", "ok"), None),
        (ok("Content-Length: 2\r\nContent-Length: 3\r\n", "ok"), None),
        (ok("Content-Length: -2\r\n", "ok"), None),
        (ok("Content-Length: +2\r\n", "ok"), None),
        (ok("Content-Length: two\r\n", "ok"), None),
        (
            ok("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "2\r\nok\r\n0\r\n\r\n"),
            Some(known("response_length_and_chunks")),
        ),
        (ok("Transfer-Encoding: gzip\r\n", "ok"), None),
        (ok("Transfer-Encoding: gzip, chunked\r\n", "2\r\nok\r\n0\r\n\r\n"), None),
        (ok("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "2\r\nok\r\n0\r\n\r\n"), None),
        (ok("Content-Length: 5\r\n", "ok"), None),
        (ok("Content-Length: 2\r\n", "ok and more"), None),
        (ok("Transfer-Encoding: chunked\r\n", "2\r\nok\r\n"), None),
        (
            ok("Transfer-Encoding: chunked\r\n", "x\r\nok\r\n0\r\n\r\n"),
            Some(known("response_malformed_chunks")),
        ),
        (
            ok("Transfer-Encoding: chunked\r\n", "2\r\nokay\r\n0\r\n\r\n"),
            Some(known("response_malformed_chunks")),
        ),
    ]
}

/// Responses with header lines of all kinds.
fn response_headers() -> Vec<ResponseCase> {
    let many = (0..300).map(|number| format!("X-{number}: a\r\n")).collect::<String>();
    let huge = format!("X-Huge: {}\r\n", "a".repeat(70_000));
    vec![
        (ok("X-A: b\r\nx-lower: c\r\nX-A: d\r\nContent-Length: 2\r\n", "ok"), None),
        (ok("Set-Cookie: a=b\r\nServer: s\r\nX-Powered-By: p\r\nContent-Length: 2\r\n", "ok"), None),
        (ok("Connection: X-Hop\r\nX-Hop: a\r\nX-Stays: b\r\nContent-Length: 2\r\n", "ok"), None),
        (ok("Connection: close\r\nContent-Length: 2\r\n", "ok"), None),
        (ok("Connection: keep-alive\r\nKeep-Alive: timeout=1\r\nContent-Length: 2\r\n", "ok"), None),
        (ok("Cache-Control: public\r\nETag: \"a\"\r\nVary: Accept\r\nContent-Length: 2\r\n", "ok"), None),
        (ok("X-Gateway-Problem: forged\r\nX-Request-Id: forged\r\nContent-Length: 2\r\n", "ok"), None),
        (ok("Trailer: X-Sum\r\nUpgrade: h2c\r\nProxy-Authenticate: a\r\nContent-Length: 2\r\n", "ok"), None),
        (ok("X-Empty:\r\nX-Name: é\r\nX-Tab: a\tb\r\nContent-Length: 2\r\n", "ok"), None),
        (ok(&format!("{many}Content-Length: 2\r\n"), "ok"), None),
        (ok(&format!("{huge}Content-Length: 2\r\n"), "ok"), None),
        (ok("X-Folded: a\r\n b\r\nContent-Length: 2\r\n", "ok"), Some(known("response_folded_header"))),
        (ok("X Space: a\r\nContent-Length: 2\r\n", "ok"), None),
        (ok("X-Nul: a\0b\r\nContent-Length: 2\r\n", "ok"), None),
    ]
}

/// Responses whose status line is odd.
fn statuses() -> Vec<ResponseCase> {
    vec![
        ("HTTP/1.1 200 OK\nContent-Length: 2\n\nok".to_owned(), None),
        ("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok".to_owned(), None),
        ("HTTP/1.0 200 OK\r\n\r\nuntil the end".to_owned(), None),
        ("HTTP/1.1 200 Quite Well\r\nContent-Length: 2\r\n\r\nok".to_owned(), None),
        ("HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\nok".to_owned(), None),
        ("HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok".to_owned(), None),
        ("HTTP/1.1 204 No Content\r\n\r\n".to_owned(), None),
        ("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n".to_owned(), None),
        ("HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\nContent-Length: 5\r\n\r\n".to_owned(), None),
        ("HTTP/1.1 418 I'm a teapot\r\nContent-Length: 2\r\n\r\nok".to_owned(), None),
        ("HTTP/1.1 500 No\r\nRetry-After: 7\r\nContent-Length: 2\r\n\r\nno".to_owned(), None),
        ("HTTP/1.1 503 No\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n".to_owned(), None),
        ("HTTP/1.1 301 Moved\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n".to_owned(), None),
        ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_owned(), None),
        (
            "HTTP/1.1 103 Hints\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_owned(),
            None,
        ),
        ("HTTP/1.1 101 Switching\r\nUpgrade: a\r\nConnection: upgrade\r\n\r\nbytes".to_owned(), None),
        ("HTTP/1.1 99 Odd\r\nContent-Length: 2\r\n\r\nok".to_owned(), None),
        ("HTTP/1.1 600 Odd\r\nContent-Length: 2\r\n\r\nok".to_owned(), None),
        ("HTTP/1.1 999 Odd\r\nContent-Length: 2\r\n\r\nok".to_owned(), None),
        ("HTTP/2 200 OK\r\nContent-Length: 2\r\n\r\nok".to_owned(), None),
        ("ICY 200 OK\r\nContent-Length: 2\r\n\r\nok".to_owned(), None),
        ("SSH-2.0-OpenSSH_9\r\n".to_owned(), None),
        ("HTTP/1.1 200 OK\r\nContent-".to_owned(), None),
        (String::new(), None),
    ]
}

/// A response with status 200.
fn ok(lines: &str, body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\n{lines}\r\n{body}")
}

/// What the tests above leave out of the comparison must be there all the same.
#[tokio::test]
async fn response_has_its_date_and_id_on_both_transports() {
    let pair = Pair::start().await;
    for proxy in [&pair.relay, &pair.pingora_proxy] {
        let response = proxy.send(call("GET", GET)).await;
        assert!(response.header("date").is_some() && response.header("x-gateway-proof").is_some());
        let said: Value = response.json();
        assert_eq!(said["headers"]["x-request-id"].as_str(), response.header("x-request-id"));
    }
}
