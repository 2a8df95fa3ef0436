//! Responses of all kinds.

use serde_json::Value;
use tests::{ToolBehavior, grant::call};

use super::{GET, Pair, assert_none, undocumented, with_grant};

/// A response of the tool, and the row of the table that says how its outcomes differ.
type ResponseCase = (String, Option<&'static str>);

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
        (ok("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "2\r\nok\r\n0\r\n\r\n"), None),
        (ok("Transfer-Encoding: gzip\r\n", "ok"), None),
        (ok("Transfer-Encoding: gzip, chunked\r\n", "2\r\nok\r\n0\r\n\r\n"), None),
        (ok("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "2\r\nok\r\n0\r\n\r\n"), None),
        (ok("Content-Length: 5\r\n", "ok"), None),
        (ok("Content-Length: 2\r\n", "ok and more"), None),
        (ok("Transfer-Encoding: chunked\r\n", "2\r\nok\r\n"), None),
        (chunks("x\r\nok\r\n0\r\n\r\n"), None),
        (chunks("2\r\nokay\r\n0\r\n\r\n"), None),
        (chunks("5\r\nhello\r\n\r\nworld\r\n0\r\n\r\n"), None),
        (chunks("\r\nhello"), None),
        (chunks("2\nok\n0\n\n"), None),
        (chunks("2\r\nok\n0\r\n\r\n"), None),
        (chunks("2 \r\nok\r\n0\r\n\r\n"), None),
        (chunks(" 2\r\nok\r\n0\r\n\r\n"), None),
        (chunks("2\t; a=\"b\"\r\nok\r\n0;c\r\n\r\n"), None),
        (chunks("2;a=\0\r\nok\r\n0\r\n\r\n"), None),
        (chunks("2\x0c\r\nok\r\n0\r\n\r\n"), None),
        (chunks("0x2\r\nok\r\n0\r\n\r\n"), None),
        (chunks("-2\r\nok\r\n0\r\n\r\n"), None),
        (chunks("0000000000000002\r\nok\r\n0000\r\n\r\n"), None),
        (chunks("00000000000000002\r\nok\r\n0\r\n\r\n"), None),
        (chunks("ffffffffffffffff\r\nok"), None),
        (chunks("7fffffffffffffff\r\nok"), None),
        (chunks("fffffffffffffffff\r\nok"), None),
        (chunks(&format!("2;{}\r\nok\r\n0\r\n\r\n", "x".repeat(200))), None),
        (chunks(&format!("2;{}\r\nok\r\n0\r\n\r\n", "x".repeat(300))), None),
        (chunks(&format!("2\r\nok\r\n0\r\n{}\r\n", "X-A: b\r\n".repeat(200))), None),
        (chunks(&format!("2\r\nok\r\n0\r\n{}\r\n", "X-A: b\r\n".repeat(2_000))), None),
        (chunks("2\r\nok\r\n0\r\nX-Sum\r\n\r\n"), None),
        (chunks("2\r\nok\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"), None),
        (chunks("2\r\nok\r\n0\r\n"), None),
        (chunks("2\r\nok"), None),
        (chunks("2"), None),
        (chunks(""), None),
    ]
}

/// A response with this body in chunks.
fn chunks(body: &str) -> String {
    ok("Transfer-Encoding: chunked\r\n", body)
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
        (ok("X-Folded: a\r\n b\r\nContent-Length: 2\r\n", "ok"), None),
        (ok("X Space: a\r\nContent-Length: 2\r\n", "ok"), None),
        (ok("X-Space : a\r\nContent-Length: 2\r\n", "ok"), None),
        (ok(": a\r\nContent-Length: 2\r\n", "ok"), None),
        (ok("No colon\r\nContent-Length: 2\r\n", "ok"), None),
        (ok("X-Cr: a\rb\r\nContent-Length: 2\r\n", "ok"), None),
        (ok("X-Del: a\x7fb\r\nContent-Length: 2\r\n", "ok"), None),
        (ok(&format!("X-Long: {}\r\nContent-Length: 2\r\n", "a".repeat(60_000)), "ok"), None),
        (ok(&format!("{}Content-Length: 2\r\n", "X-A: b\r\n".repeat(255)), "ok"), None),
        (ok("Content-Length:  2  \r\n", "ok"), None),
        (ok("Content-Length: 02\r\n", "ok"), None),
        (ok("Content-Length: 99999999999999999999\r\n", "ok"), None),
        (ok("Content-Length: \r\n", "ok"), None),
        (ok("Transfer-Encoding: CHUNKED\r\n", "2\r\nok\r\n0\r\n\r\n"), None),
        (ok("Transfer-Encoding: identity\r\nContent-Length: 2\r\n", "ok"), None),
        (ok("Transfer-Encoding: chunked, gzip\r\n", "ok"), None),
        (ok("Date: yesterday\r\nContent-Length: 2\r\n", "ok"), None),
        (ok("Content-Encoding: gzip\r\nContent-Length: 2\r\n", "ok"), None),
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
        ("HTTP/1.1 200 \u{fc}\r\nContent-Length: 2\r\n\r\nok".to_owned(), None),
        ("HTTP/1.1 200 a\tb\r\nContent-Length: 2\r\n\r\nok".to_owned(), None),
        ("HTTP/1.1  200 OK\r\nContent-Length: 2\r\n\r\nok".to_owned(), None),
        ("HTTP/1.1 0200 OK\r\nContent-Length: 2\r\n\r\nok".to_owned(), None),
        ("\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_owned(), None),
        ("http/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_owned(), None),
        ("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n".to_owned(), None),
        ("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok".to_owned(), None),
        ("HTTP/1.1 204 No\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n".to_owned(), None),
        ("HTTP/1.1 205 Reset\r\nContent-Length: 2\r\n\r\nok".to_owned(), None),
        ("HTTP/1.1 304 Not\r\nTransfer-Encoding: chunked\r\n\r\n".to_owned(), None),
        ("HTTP/1.1 206 Part\r\nContent-Range: bytes 0-1/5\r\nContent-Length: 2\r\n\r\nok".to_owned(), None),
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

/// Checks the headers that the comparison leaves out.
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
