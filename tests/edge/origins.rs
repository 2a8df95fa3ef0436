//! The choice of an origin for a call, and the retry at another.

use serde_json::json;
use tests::{
    http::{Connection, Request, Response},
    origin::{Origin, OriginBehavior, http_response},
    stack::{Edge, PROBE_BOUND},
    wait::wait_for,
};

/// An origin that refuses connections: nothing listens on this port.
const REFUSED: &str = "http://127.0.0.1:9";

struct Pair {
    edge: Edge,
    key: String,
    first: Origin,
    second: Origin,
}

impl Pair {
    /// Starts an origin of this behavior, a healthy second one, and an edge in front of both.
    fn start(behavior: OriginBehavior) -> Self {
        let (first, second) = (Origin::start(behavior), Origin::good("second"));
        let edge = Edge::start(&format!("{},{}", first.url(), second.url()));
        let (key, _) = edge.issue("pro");
        Self { edge, key, first, second }
    }

    fn get(&self) -> Response {
        Request::get("/v1/pdf/merge").key(&self.key).send(self.edge.addr)
    }

    fn post(&self, body: &str) -> Response {
        post(&self.edge, &self.key, body)
    }
}

fn post(edge: &Edge, key: &str, body: &str) -> Response {
    let request = Request::new("POST", "/v1/pdf/merge").key(key).header("Content-Type", "application/json");
    request.body(body).send(edge.addr)
}

/// Returns a JSON string that is larger than one chunk of a stream.
fn large() -> String {
    format!("\"{}\"", "x".repeat(3_000_000))
}

/// Returns the response of a proxy none of whose servers of a tool is healthy.
fn no_server(sent: &[&str]) -> OriginBehavior {
    let headers = ["X-Gateway-Problem: tool-unavailable", "Retry-After: 5", "Proxy-Status: utg-proxy"];
    OriginBehavior::Respond(http_response("503 Service Unavailable", &[&headers, sent].concat(), "{}"))
}

/// The memory is the tool's own: another tool is called at the first origin.
#[test]
fn tool_without_a_server_is_called_at_the_next_origin() {
    let pair = Pair::start(no_server(&[]));
    for (nth, response) in [pair.post("{}"), pair.get(), pair.post("{\"a\":1}")].into_iter().enumerate() {
        assert_eq!((response.status, response.text().as_str()), (200, "second"));
        let told = response.header("proxy-status").is_some();
        assert_eq!(told, nth == 0, "only the first call went astray: {response:?}");
    }
    assert_eq!((pair.first.arrivals().len(), pair.second.arrivals().len()), (1, 3));
    let other = Request::get("/v1/qr/generate").key(&pair.key).send(pair.edge.addr);
    let status = r#"edge; next-hop="default"; details="tried before: default""#;
    assert_eq!((other.text().as_str(), other.header("proxy-status")), ("second", Some(status)));
    assert_eq!(pair.first.arrivals().len(), 2);
}

#[test]
fn call_that_reached_a_tool_is_not_sent_to_the_next_origin() {
    let pair = Pair::start(no_server(&["X-Gateway-Sent: 1"]));
    for response in [pair.post("{}"), pair.get()] {
        assert_eq!((response.status, response.header("x-gateway-problem")), (503, Some("tool-unavailable")));
    }
    assert_eq!((pair.first.arrivals().len(), pair.second.arrivals().len()), (2, 0));
}

/// A tool's own 503 is a response like any other.
#[test]
fn tools_own_503_is_not_sent_to_the_next_origin() {
    let behavior = OriginBehavior::Respond(http_response("503 Service Unavailable", &[], "busy"));
    let pair = Pair::start(behavior);
    assert_eq!((pair.get().text(), pair.second.arrivals().len()), ("busy".to_owned(), 0));
}

#[test]
fn tool_that_is_out_everywhere_costs_one_attempt_a_call() {
    let (first, second) = (Origin::start(no_server(&[])), Origin::start(no_server(&[])));
    let edge = Edge::start(&format!("{},{}", first.url(), second.url()));
    let (key, _) = edge.issue("pro");
    for _ in 0..5 {
        let response = post(&edge, &key, "{}");
        assert_eq!((response.status, response.header("x-gateway-problem")), (503, Some("tool-unavailable")));
        assert_eq!(response.header("proxy-status"), Some("utg-proxy"));
        assert_eq!(response.header("retry-after"), Some("5"));
    }
    let attempts = first.arrivals().len() + second.arrivals().len();
    // One call tries the other origin again if the test takes longer than 5 s.
    assert!((6..=7).contains(&attempts), "{attempts} attempts for 5 calls: the first one tried both");
}

#[test]
fn refusing_origin_is_passed_over_by_every_kind_of_call() {
    let second = Origin::good("second");
    let edge = Edge::start(&format!("{REFUSED},{}", second.url()));
    let (key, _) = edge.issue("pro");
    let large = large();
    for body in ["{}", "{\"a\":1}", &large, ""] {
        let response = post(&edge, &key, body);
        assert_eq!((response.status, response.text().as_str()), (200, "second"), "{} bytes", body.len());
    }
    let got = Request::get("/v1/pdf/merge").key(&key).send(edge.addr);
    assert_eq!(got.text(), "second");
    let arrived: Vec<_> = second.arrivals().iter().map(|arrival| arrival.body.len()).collect();
    assert_eq!(arrived, [2, 7, large.len(), 0, 0], "each call once and whole");
}

#[test]
fn refusing_origin_is_passed_over_by_a_chunked_body() {
    let second = Origin::good("second");
    let edge = Edge::start(&format!("{REFUSED},{}", second.url()));
    let (key, _) = edge.issue("pro");
    let request = Request {
        body: b"3\r\n{\"a\r\n4\r\n\":1}\r\n0\r\n\r\n".to_vec(),
        ..Request::new("POST", "/v1/pdf/merge")
            .key(&key)
            .header("Content-Type", "application/json")
            .header("Transfer-Encoding", "chunked")
    };
    assert_eq!(request.send(edge.addr).text(), "second");
    let arrivals = second.arrivals();
    assert_eq!((arrivals.len(), arrivals[0].body.as_slice()), (1, br#"{"a":1}"#.as_slice()));
}

#[test]
fn post_is_not_retried_after_the_origin_received_it() {
    let pair = Pair::start(OriginBehavior::HangUp);
    let large = large();
    for body in ["{\"a\":1}", &large, ""] {
        let response = pair.post(body);
        assert_eq!(
            (response.status, response.code().as_str()),
            (503, "tool-unavailable"),
            "{} bytes",
            body.len()
        );
        assert!(response.header("retry-after").is_some() && response.header("proxy-status").is_some());
    }
    assert_eq!(pair.first.arrivals().len(), 3);
    assert_eq!(pair.second.arrivals().len(), 0);
}

#[test]
fn get_is_retried_after_the_origin_hangs_up() {
    let pair = Pair::start(OriginBehavior::HangUp);
    assert_eq!(pair.get().text(), "second");
    assert_eq!((pair.first.arrivals().len(), pair.second.arrivals().len()), (1, 1));
}

#[test]
fn upload_cut_by_the_origin_is_503_and_not_retried() {
    let pair = Pair::start(OriginBehavior::HangUpAfter(1_000_000));
    assert_eq!(pair.post(&large()).code(), "tool-unavailable");
    assert_eq!(pair.second.arrivals().len(), 0);
}

/// The second call must not reach the silent origin at all: its silence is remembered.
#[test]
fn silent_origin_is_passed_over_and_then_tried_last() {
    let pair = Pair::start(OriginBehavior::Silent);
    assert_eq!(pair.get().text(), "second");
    let tried = pair.first.arrivals().len();
    assert!(tried > 0, "the silent origin was tried first");
    assert_eq!(pair.post("{\"a\":1}").text(), "second");
    assert_eq!(pair.first.arrivals().len(), tried, "its silence is remembered");
}

/// A load balancer in front of a proxy responds by itself. It may have passed a POST on before, so
/// that is not retried; a GET is.
#[test]
fn response_without_proof_is_503_origin_invalid() {
    for status in ["200 OK", "403 Forbidden", "502 Bad Gateway"] {
        let pair =
            Pair::start(OriginBehavior::Unproven(http_response(status, &["X-Request-Id: {id}"], "<html>")));
        let posted = pair.post("{\"a\":1}");
        assert_eq!((posted.status, posted.code().as_str()), (503, "origin-invalid"), "{status}");
        assert!(!posted.text().contains("html"));
        assert_eq!(pair.second.arrivals().len(), 0, "{status}");
        assert_eq!(pair.get().text(), "second", "{status}");
    }
}

#[test]
fn platform_response_that_it_cannot_connect_is_passed_over() {
    let pair = Pair::start(OriginBehavior::Unproven(http_response("521 Web Server Is Down", &[], "<html>")));
    assert_eq!(pair.post("{\"a\":1}").text(), "second");
    assert_eq!((pair.first.arrivals().len(), pair.second.arrivals().len()), (1, 1));
    assert_eq!(pair.get().text(), "second");
}

#[test]
fn foreign_web_server_is_passed_over_and_never_gets_a_post() {
    for status in ["200 OK", "403 Forbidden"] {
        let foreign = OriginBehavior::Foreign(http_response(status, &["Content-Type: text/html"], "<html>"));
        let pair = Pair::start(foreign.clone());
        assert_eq!(pair.post("{\"a\":1}").text(), "second", "{status}");
        assert!(pair.first.arrivals().iter().all(|arrival| arrival.method == "GET"), "only the probe");
        let pair = Pair::start(foreign.clone());
        assert_eq!(pair.get().text(), "second", "{status}");

        let alone = Origin::start(foreign);
        let edge = Edge::start(&alone.url());
        let (key, _) = edge.issue("pro");
        for response in [post(&edge, &key, "{}"), Request::get("/v1/pdf/merge").key(&key).send(edge.addr)] {
            assert_eq!((response.status, response.code().as_str()), (503, "origin-invalid"), "{status}");
            assert!(!response.text().contains("html"));
            assert_eq!(response.header("proxy-status"), Some("edge; error=http_protocol_error"));
        }
        let usage = Request::get("/v1/keys/me").key(&key).send(edge.addr).json();
        assert_eq!(usage["usage"]["day"]["used"], json!(0), "nothing is charged: {usage}");
        assert_eq!(Request::get("/v1/status").send(edge.addr).status, 503, "nor is its status believed");
    }
}

/// A proxy that refuses a request before it has verified the grant cannot prove itself.
#[test]
fn refusal_without_proof_is_believed_by_its_code_only() {
    let refusal = http_response(
        "431 Request Header Fields Too Large",
        &["X-Gateway-Problem: headers-too-large"],
        "<html>",
    );
    let pair = Pair::start(OriginBehavior::Unproven(refusal));
    let response = pair.post("{\"a\":1}");
    assert_eq!((response.status, response.code().as_str()), (431, "headers-too-large"));
    assert_eq!(pair.second.arrivals().len(), 0, "another origin would refuse it too");
}

#[test]
fn tool_5xx_is_passed_on_unchanged() {
    let named = http_response("502 Bad Gateway", &["X-Request-Id: {id}"], "the tool's own");
    let pair = Pair::start(OriginBehavior::Respond(named));
    let response = pair.post("{\"a\":1}");
    assert_eq!((response.status, response.text().as_str()), (502, "the tool's own"));
}

/// Its 401 never reaches the client, because the key is valid.
#[test]
fn origin_that_rejects_the_grant_is_passed_over() {
    let lines = ["X-Gateway-Problem: grant-invalid", "X-Gateway-Grant-Refusal: clock off_by_ms=45000"];
    let refusal = http_response("401 Unauthorized", &lines, "{}");
    let pair = Pair::start(OriginBehavior::Unproven(refusal.clone()));
    assert_eq!(pair.post("{\"a\":1}").text(), "second");
    let alone = Origin::start(OriginBehavior::Unproven(refusal));
    let edge = Edge::start(&alone.url());
    let (key, _) = edge.issue("pro");
    let response = post(&edge, &key, "{\"a\":1}");
    assert_eq!(
        (response.status, response.code().as_str()),
        (503, "tool-unavailable"),
        "never 401: the key is good"
    );
    assert!(
        !format!("{response:?}").to_lowercase().contains("refusal"),
        "the client does not learn why: {response:?}"
    );
    let id = response.header("x-request-id").unwrap().to_owned();
    let reason = "grant rejected: clock off_by_ms=45000";
    let is_logged = |line: &str| line.contains(&id) && line.contains(reason);
    wait_for(PROBE_BOUND, || edge.output().lines().any(is_logged).then_some(()));
    let sent = alone.arrivals();
    assert!(
        sent.iter().all(|arrival| arrival.header("x-gateway-data-center") == Some("default")),
        "{sent:?}"
    );
}

/// The minute counts it.
#[test]
fn dead_origin_is_503_that_the_day_does_not_count() {
    let edge = Edge::start(REFUSED);
    let (key, _) = edge.issue("pro");
    let response = Request::get("/v1/pdf/merge").key(&key).send(edge.addr);
    assert_eq!((response.status, response.code().as_str()), (503, "tool-unavailable"));
    assert_eq!(response.json()["detail"], "pdf: no data center could be reached");
    assert_eq!(response.header("proxy-status"), Some("edge; error=destination_unavailable"));
    assert!(response.header("ratelimit").unwrap().contains("\"minute\";r=99"), "the minute keeps it");
    let usage = Request::get("/v1/keys/me").key(&key).send(edge.addr).json();
    assert_eq!(usage["usage"]["day"]["used"], json!(0), "the day does not: {usage}");
    assert_eq!(usage["usage"]["minute"]["used"], json!(1));
}

#[test]
fn response_keeps_tool_headers_and_loses_gateway_headers() {
    let lines = [
        "Location: /elsewhere",
        "Set-Cookie: a=1; Path=/",
        "Set-Cookie: b=2; Path=/",
        "X-Request-Id: forged",
        "X-Gateway-Tier: enterprise",
        "RateLimit: \"minute\";r=1000000",
        "Server-Timing: db;dur=5",
        "ETag: \"v1\"",
    ];
    let origin = Origin::start(OriginBehavior::Respond(http_response("303 See Other", &lines, "moved")));
    let edge = Edge::start(&origin.url());
    let (key, _) = edge.issue("free");
    let response = Request::get("/v1/pdf/merge").key(&key).send(edge.addr);
    assert_eq!(
        (response.status, response.text().as_str()),
        (303, "moved"),
        "a redirect is the client's to follow"
    );
    assert_eq!(response.header("location"), Some("/elsewhere"));
    assert_eq!(response.header("etag"), Some("\"v1\""));
    assert_eq!(response.header("content-length"), Some("5"));
    let all = |name: &str| response.header_values(name);
    assert_eq!(all("set-cookie"), ["a=1; Path=/", "b=2; Path=/"]);
    assert_eq!(all("x-gateway-tier"), Vec::<&str>::new());
    assert_eq!(all("x-gateway-proof"), Vec::<&str>::new());
    assert_ne!(all("x-request-id"), ["forged"]);
    assert!(all("ratelimit")[0].contains("\"minute\";r=9"), "{:?}", all("ratelimit"));
    assert!(all("server-timing").join(", ").starts_with("db;dur=5"), "{:?}", all("server-timing"));
}

#[test]
fn bodies_stream_both_ways_piece_by_piece() {
    let origin = Origin::start(OriginBehavior::Echo);
    let edge = Edge::start(&origin.url());
    let (key, _) = edge.issue("free");
    let mut client = Connection::connect(edge.addr);
    let head = format!(
        "POST /v1/narrate/echo HTTP/1.1\r\nHost: {}\r\nX-API-Key: {key}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
        edge.addr
    );
    client.write(head.as_bytes());
    // Each piece is sent only once the one before was echoed.
    for (nth, piece) in ["\"first", " second", " third\""].into_iter().enumerate() {
        client.write(format!("{:x}\r\n{piece}\r\n", piece.len()).as_bytes());
        if nth == 0 {
            let head = client.head().unwrap();
            assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        }
        let mut received = Vec::new();
        while received.len() < piece.len() {
            received.extend(client.chunk().unwrap());
        }
        assert_eq!(String::from_utf8(received).unwrap(), piece);
    }
    client.write(b"0\r\n\r\n");
    assert_eq!(client.chunk(), Some(Vec::new()), "the end of the body");
}

#[test]
fn compressed_response_is_passed_on_byte_for_byte() {
    /// `hello hello hello hello`, as gzip.
    const PACKED: [u8; 28] = [
        31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 203, 72, 205, 201, 201, 87, 200, 64, 39, 1, 227, 81, 61, 141, 23, 0,
        0, 0,
    ];
    let head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 28\r\n\r\n";
    let origin = Origin::start(OriginBehavior::Respond([head.as_slice(), &PACKED].concat()));
    let edge = Edge::start(&origin.url());
    let (key, _) = edge.issue("free");
    let response = Request::get("/v1/pdf/merge").key(&key).header("Accept-Encoding", "gzip").send(edge.addr);
    assert_eq!(response.header("content-encoding"), Some("gzip"));
    assert_eq!(response.body, PACKED);
}

#[test]
fn response_without_content_has_none() {
    let origin = Origin::start(OriginBehavior::Respond(b"HTTP/1.1 204 No Content\r\n\r\n".to_vec()));
    let edge = Edge::start(&origin.url());
    let (key, _) = edge.issue("free");
    let response = post(&edge, &key, "{\"a\":1}");
    assert_eq!((response.status, response.body.len()), (204, 0));
}

#[test]
fn forwarded_request_has_a_grant_and_no_client_secrets() {
    let origin = Origin::good("ok");
    let edge = Edge::start(&origin.url());
    let (key, _) = edge.issue("free");
    let request = Request::new("POST", "/v1/qr/generate?a=\"x\"&b='y'&c={z}|")
        .key(&key)
        .header("Content-Type", "application/json")
        .header("Cookie", "session=hush")
        .header("Authorization", "Bearer hush")
        .header("X-Gateway-Grant", "forged")
        .header("CF-Connecting-IP", "192.0.2.1")
        .header("Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
        .header("Cache-Control", "max-age=7");
    assert_eq!(request.body("{\"a\":1}").send(edge.addr).status, 200);
    let arrival = origin.arrivals().remove(0);
    assert_eq!(arrival.target, "/v1/qr/generate?a=%22x%22&b=%27y%27&c={z}|", "as the grant says");
    assert_eq!(arrival.header("content-length"), Some("7"));
    assert!(arrival.header("traceparent").unwrap().starts_with("00-0af7"));
    for name in ["x-api-key", "cookie", "authorization", "cf-connecting-ip", "transfer-encoding"] {
        assert_eq!(arrival.header(name), None, "{name}");
    }
    assert!(!format!("{arrival:?}").contains(&key[9..40]));
}
