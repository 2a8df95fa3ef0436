//! The same bytes by the two ways to a tool: the edge with a proxy behind it, and a proxy in direct mode. Every
//! difference has a row in docs/transports.md.

use std::net::SocketAddr;

use serde_json::Value;
use shared::tool::Tool;
use tests::{
    FakeTool, ProxyConfig, ToolBehavior,
    http::{Connection, Response},
    proxy::Proxy,
    stack::Edge,
};

/// What came of a request.
#[derive(Debug, PartialEq)]
struct Outcome {
    status: u16,
    /// The code of the gateway's own problem.
    code: String,
    /// The lines of the heads that the tool received, in order, without what each way writes itself.
    received: Vec<String>,
    /// The body that the tool received.
    body: Option<String>,
}

/// An edge and a proxy in direct mode, with one tool behind both.
struct Ways {
    tool: FakeTool,
    edge: Edge,
    direct: Proxy,
    key: String,
    _behind: Proxy,
    _folder: tempfile::TempDir,
}

/// A request, where `ADDR` and `KEY` are filled in, and the cell of docs/transports.md that says how its
/// outcomes differ.
type Row = (String, Option<&'static str>);

/// What the runtime of the edge writes into each call.
const OF_THE_EDGE: [&str; 4] = ["accept-encoding", "cache-control", "pragma", "traceparent"];
/// What the proxy writes into each call.
const OF_THE_PROXY: [&str; 4] = ["x-request-id", "host", "x-gateway-key-id", "x-gateway-tier"];

impl Ways {
    fn start() -> Self {
        let tool = FakeTool::start_at("127.0.0.1:0".parse().unwrap(), ToolBehavior::Describe);
        let config = ProxyConfig::new().tool(Tool::Qr, &[&tool]);
        let behind = config.clone().start_and_wait();
        let edge = Edge::start(&format!("test={}", behind.url()));
        let folder = tempfile::tempdir().unwrap();
        let changes = format!("changes = \"http://{}\"", edge.addr);
        let direct = config.direct(&folder.path().join("keys")).line("keys", &changes).start_and_wait();
        let (key, _) = edge.issue("enterprise");
        Self { tool, edge, direct, key, _behind: behind, _folder: folder }
    }

    fn send(&self, addr: SocketAddr, request: &str) -> Option<Response> {
        let bytes = request.replace("KEY", &self.key).replace("ADDR", &addr.to_string());
        let mut client = Connection::connect(addr);
        client.write(bytes.as_bytes());
        client.response(request.split(' ').next()?)
    }

    /// Returns the outcomes at the edge and in direct mode.
    fn outcomes(&self, request: &str) -> [Outcome; 2] {
        [self.edge.addr, self.direct.listen].map(|addr| {
            let before = self.tool.received().len();
            let response = self.send(addr, request).unwrap_or_else(|| panic!("no response: {request:?}"));
            let heads = self.tool.received().split_off(before);
            let lines = heads.iter().flat_map(|head| head.trim_end().split("\r\n"));
            let mut received: Vec<_> = lines.filter(|line| !is_own(line)).map(str::to_owned).collect();
            received.sort();
            let seen: Value = serde_json::from_slice(&response.body).unwrap_or_default();
            let code = response.header("x-gateway-problem").unwrap_or_default().to_owned();
            Outcome {
                status: response.status,
                code,
                received,
                body: seen["body"].as_str().map(str::to_owned),
            }
        })
    }
}

fn is_own(line: &str) -> bool {
    let name = line.split(':').next().unwrap_or_default().to_ascii_lowercase();
    OF_THE_EDGE.iter().chain(&OF_THE_PROXY).any(|own| *own == name)
}

#[test]
fn request_is_the_same_at_the_edge_and_in_direct_mode() {
    let ways = Ways::start();
    let listed = std::fs::read_to_string(tests::process::root().join("docs/transports.md")).unwrap();
    let mut wrong = Vec::new();
    for (request, difference) in [bodies(), heads()].concat() {
        let [edge, direct] = ways.outcomes(&request);
        if (edge != direct) != difference.is_some() {
            wrong.push(format!("{request:?} {difference:?}\n   edge: {edge:?}\n direct: {direct:?}"));
        }
        assert!(difference.is_none_or(|cell| listed.contains(cell)), "not listed: {difference:?}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A body of a GET is not read by one way and left out by the other: the tool is not called.
#[test]
fn body_of_a_get_reaches_no_tool_by_either_way() {
    let ways = Ways::start();
    for (lines, body) in
        [("Content-Length: 4", "body"), ("Transfer-Encoding: chunked", "4\r\nbody\r\n0\r\n\r\n")]
    {
        let request =
            format!("GET /v1/qr/a HTTP/1.1\r\nHost: ADDR\r\nX-API-Key: KEY\r\n{lines}\r\n\r\n{body}");
        for outcome in ways.outcomes(&request) {
            assert_eq!((outcome.status, outcome.code.as_str()), (400, "header-malformed"), "{lines}");
        }
    }
    assert_eq!(ways.tool.calls(), 0);
}

#[test]
fn early_response_comes_by_both_ways_and_closes_in_direct_mode() {
    let ways = Ways::start();
    let early = b"HTTP/1.1 413 No\r\nContent-Length: 2\r\n\r\nno";
    let part = "a".repeat(100_000);
    let request = format!(
        "POST /v1/qr/a HTTP/1.1\r\nHost: ADDR\r\nX-API-Key: KEY\r\nContent-Type: application/json\r\n\
         Content-Length: 200000\r\n\r\n{part}"
    );
    let [edge, direct] = [ways.edge.addr, ways.direct.listen].map(|addr| {
        ways.tool.set(ToolBehavior::RespondEarly(early.to_vec()));
        ways.send(addr, &request).unwrap()
    });
    for response in [&edge, &direct] {
        assert_eq!((response.status, response.text().as_str()), (413, "no"));
    }
    assert_eq!(direct.header("connection"), Some("close"));
}

#[test]
fn informational_responses_of_a_tool_reach_no_client_by_either_way() {
    let ways = Ways::start();
    let response =
        "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    ways.tool.set(ToolBehavior::Respond(response.into()));
    let request = "GET /v1/qr/a HTTP/1.1\r\nHost: ADDR\r\nX-API-Key: KEY\r\n\r\n";
    for addr in [ways.edge.addr, ways.direct.listen] {
        let bytes = request.replace("KEY", &ways.key).replace("ADDR", &addr.to_string());
        let mut client = Connection::connect(addr);
        client.write(bytes.as_bytes());
        let head = client.head().unwrap();
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    }
}

/// Trailers of a tool end at the proxy, and the body is whole.
#[test]
fn trailers_of_a_tool_reach_no_client_by_either_way() {
    let ways = Ways::start();
    let response = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 1\r\n\r\n";
    ways.tool.set(ToolBehavior::Respond(response.into()));
    let request = "GET /v1/qr/a HTTP/1.1\r\nHost: ADDR\r\nX-API-Key: KEY\r\n\r\n";
    for addr in [ways.edge.addr, ways.direct.listen] {
        let response = ways.send(addr, request).unwrap();
        assert_eq!((response.status, response.text().as_str(), response.complete), (200, "ok", true));
        assert!(response.header("trailer").is_none() && response.header("x-sum").is_none());
    }
}

/// A request with these lines after its first ones, and this body.
fn request(method: &str, lines: &str, body: &str) -> String {
    format!("{method} /v1/qr/a HTTP/1.1\r\nHost: ADDR\r\nX-API-Key: KEY\r\n{lines}\r\n{body}")
}

/// Methods that take no body, and what announces one.
fn bodies() -> Vec<Row> {
    const JSON: &str = "Content-Type: application/json\r\n";
    let sized = format!("{JSON}Content-Length: 2\r\n");
    vec![
        (request("GET", "", ""), None),
        (request("GET", "Content-Length: 0\r\n", ""), Some("`Content-Length: 0` of a GET is left out")),
        (request("HEAD", "", ""), None),
        (request("HEAD", &sized, "{}"), None),
        (request("DELETE", &sized, "{}"), None),
        (request("PUT", &sized, "{}"), None),
        (request("OPTIONS", &sized, "{}"), None),
        (request("POST", &sized, "{}"), None),
        (request("POST", &format!("{sized}Expect: 100-continue\r\n"), "{}"), None),
        (request("POST", &format!("{sized}Expect: else\r\n"), "{}"), None),
        (request("POST", &format!("{JSON}Transfer-Encoding: chunked\r\n"), "2\r\n{}\r\n0\r\n\r\n"), None),
        (
            request(
                "POST",
                &format!("{JSON}Transfer-Encoding: chunked\r\nTrailer: X-T\r\n"),
                "2\r\n{}\r\n0\r\nX-T: 1\r\n\r\n",
            ),
            None,
        ),
    ]
}

/// Targets and header lines.
fn heads() -> Vec<Row> {
    let absolute = |host: &str| {
        let line = format!("GET http://{host}/v1/qr/a?b=c HTTP/1.1");
        request("GET", "", "").replace("GET /v1/qr/a HTTP/1.1", &line)
    };
    vec![
        (absolute("ADDR"), Some("`GET http://host/path` (absolute form) is refused")),
        (absolute("other.test"), Some("`GET http://host/path` (absolute form) is refused")),
        (request("GET", "X-T: a\r\nX-Other: b\r\nX-T: c\r\n", ""), None),
        (
            request("GET", "Accept: a/b\r\nAccept: c/d\r\n", ""),
            Some("Lines of one header that the platform knows, such as `Accept`, are joined"),
        ),
        (request("GET", "X-T: \u{e9}\r\n", ""), None),
        (request("GET", "X-T:\r\nX-T2:  a  b  \r\n", ""), None),
        (request("GET", "TE: trailers\r\nConnection: X-Hop\r\nX-Hop: a\r\n", ""), None),
        (request("GET", "Range: bytes=0-3\r\nIf-None-Match: \"a\"\r\n", ""), None),
        (request("GET", "", "").replace("HTTP/1.1", "HTTP/1.0"), None),
    ]
}
