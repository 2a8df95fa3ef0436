//! Requests of all kinds.

use tests::transport::known;

use super::{GET, Pair, assert_none, undocumented, with_grant};

/// A request (its method, target and text), and the row of the table that says how its outcomes
/// differ.
type RequestCase = ((&'static str, String, String), Option<&'static str>);

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
        (target("https://other.test:8443/v1/qr/a?b=http://c/?d"), None),
        (target("http://other.test"), None),
        (target("http://user@other.test/v1/qr/a"), None),
        (target("ftp://other.test/v1/qr/a"), None),
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
        (post("Transfer-Encoding: chunked\r\n", "1\x0c\r\n1\r\n0\r\n\r\n"), None),
        (post("Transfer-Encoding: chunked\r\n", "1;a=\0\r\n1\r\n0\r\n\r\n"), None),
        (post("Transfer-Encoding: chunked\r\n", "1 ; a=b\r\n1\r\n0\r\n\r\n"), None),
        (post("Transfer-Encoding: chunked\r\n", "\r\n1\r\n0\r\n\r\n"), None),
        (post("Transfer-Encoding: chunked\r\n", "0\r\nX-Sum\r\n\r\n"), None),
        (post("Transfer-Encoding: chunked\r\n", "ffffffffffffffff\r\n"), None),
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
