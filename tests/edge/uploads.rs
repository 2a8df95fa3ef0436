//! Uploads to an origin: cut off, responded to early, refused.

use serde_json::json;
use tests::{
    http::{Connection, Request, Response},
    origin::{Origin, OriginBehavior, http_response},
    stack::Edge,
    wait::{PATIENCE, wait_for},
};

/// The first part of a body, which must never be taken for the whole.
const BEGUN: &str = "{\"amount\": 100";

/// The header lines of a response that does not wait for the whole body.
const EARLY: [&str; 2] = ["X-Request-Id: {id}", "Connection: close"];

/// The framing of a body.
#[derive(Clone, Copy, Debug)]
enum Framing {
    /// A length that the edge buffers whole before it calls an origin.
    ShortLength,
    /// A length beyond that.
    LongLength,
    Chunked,
}

/// The way in which an upload is cut off.
#[derive(Clone, Copy, Debug)]
enum Break {
    HalfClose,
    Close,
    /// A chunk with a size that is not a number.
    Malformed,
}

impl Framing {
    const fn header(self) -> &'static str {
        match self {
            Self::ShortLength => "Content-Length: 40",
            Self::LongLength => "Content-Length: 100000",
            Self::Chunked => "Transfer-Encoding: chunked",
        }
    }

    fn piece(self) -> String {
        match self {
            Self::ShortLength | Self::LongLength => BEGUN.to_owned(),
            Self::Chunked => format!("{:x}\r\n{BEGUN}\r\n", BEGUN.len()),
        }
    }
}

fn begin(edge: &Edge, key: &str, framing: Framing) -> Connection {
    let mut client = Connection::connect(edge.addr);
    let (host, header, piece) = (edge.addr, framing.header(), framing.piece());
    let begun = format!(
        "POST /v1/pdf/merge HTTP/1.1\r\nHost: {host}\r\nX-API-Key: {key}\r\n\
         Content-Type: application/json\r\n{header}\r\n\r\n{piece}"
    );
    client.write(begun.as_bytes());
    client
}

/// Breaks the upload off. Returns the response, or `None` if the client can no longer read one.
fn break_off(mut client: Connection, how: Break) -> Option<Response> {
    match how {
        Break::Close => return None,
        Break::HalfClose => client.close_half(),
        Break::Malformed => drop(client.write(b"zz\r\nrest\r\n0\r\n\r\n")),
    }
    Some(client.response("POST").unwrap())
}

#[test]
fn broken_upload_is_cut_at_the_origin() {
    let origin = Origin::good("executed");
    let edge = Edge::start(&origin.url());
    let (key, _) = edge.issue("pro");
    let breaks = [
        (Framing::LongLength, Break::HalfClose),
        (Framing::LongLength, Break::Close),
        (Framing::Chunked, Break::HalfClose),
        (Framing::Chunked, Break::Close),
        (Framing::Chunked, Break::Malformed),
    ];
    for (nth, (framing, how)) in breaks.into_iter().enumerate() {
        let client = begin(&edge, &key, framing);
        wait_for(PATIENCE, || (origin.begun() == nth + 1).then_some(()));
        if let Some(response) = break_off(client, how) {
            assert_eq!((response.status, response.code().as_str()), (400, "body-malformed"), "{how:?}");
        }
        let arrived = wait_for(PATIENCE, || origin.arrivals().get(nth).cloned());
        assert!(!arrived.complete, "{framing:?} {how:?} arrived whole: {arrived:?}");
    }
    let usage = Request::get("/v1/keys/me").key(&key).send(edge.addr).json();
    assert_eq!(usage["usage"]["day"]["used"], json!(0), "a proxy holds it back from the tool: {usage}");
}

/// An attack: the tool begins its work again and again, and the day of the key stays whole.
#[test]
fn upload_cut_after_100_kib_is_charged_once() {
    let origin = Origin::good("executed");
    let edge = Edge::start(&origin.url());
    let piece = "a".repeat(100 << 10);
    let chunk = format!("{:x}\r\n{piece}\r\n", piece.len());
    for (framing, piece) in [("Content-Length: 200000", &piece), ("Transfer-Encoding: chunked", &chunk)] {
        let (key, _) = edge.issue("free");
        let begun = origin.begun();
        let mut client = Connection::connect(edge.addr);
        let head = format!(
            "POST /v1/pdf/merge HTTP/1.1\r\nHost: {}\r\nX-API-Key: {key}\r\nContent-Type: application/json\r\n{framing}\r\n\r\n",
            edge.addr
        );
        assert!(client.write(head.as_bytes()) && client.write(piece.as_bytes()));
        wait_for(PATIENCE, || (origin.begun() > begun).then_some(()));
        drop(client);
        let me = wait_for(PATIENCE, || {
            let me = Request::get("/v1/keys/me").key(&key).send(edge.addr).json();
            (me["today"]["by_status"]["400"] == 1).then_some(me)
        });
        assert_eq!(me["usage"]["day"]["used"], json!(1), "{framing}: {me}");
    }
}

#[test]
fn broken_short_upload_reaches_no_origin() {
    let origin = Origin::good("executed");
    let edge = Edge::start(&origin.url());
    let (key, _) = edge.issue("pro");
    for how in [Break::Close, Break::HalfClose] {
        let client = begin(&edge, &key, Framing::ShortLength);
        if let Some(response) = break_off(client, how) {
            assert_eq!((response.status, response.code().as_str()), (400, "body-malformed"), "{how:?}");
        }
    }
    assert_eq!(origin.begun(), 0);
    let me = wait_for(PATIENCE, || {
        let me = Request::get("/v1/keys/me").key(&key).send(edge.addr).json();
        (me["today"]["by_status"]["400"] == 2).then_some(me)
    });
    assert_eq!(me["usage"]["day"]["used"], json!(0), "{me}");
}

#[test]
fn early_response_is_passed_on_before_the_upload_ends() {
    let large = "x".repeat(3_000_000);
    for (status, line) in [(413, "413 Content Too Large"), (200, "200 OK")] {
        let origin = Origin::start(OriginBehavior::RespondEarly(http_response(line, &EARLY, "early")));
        let edge = Edge::start(&origin.url());
        let (key, _) = edge.issue("pro");
        for framing in [Framing::LongLength, Framing::Chunked] {
            let mut client = begin(&edge, &key, framing);
            let response = client.response("POST").unwrap();
            assert_eq!((response.status, response.text().as_str()), (status, "early"), "{framing:?}");
        }
        let post = Request::new("POST", "/v1/pdf/merge").key(&key).header("Content-Type", "application/json");
        let declared = post.clone().body(large.clone()).send(edge.addr);
        assert_eq!(
            (declared.status, declared.text().as_str()),
            (status, "early"),
            "sent whole before reading"
        );
        let mut body = format!("{:x}\r\n", large.len()).into_bytes();
        body.extend_from_slice(large.as_bytes());
        body.extend_from_slice(b"\r\n0\r\n\r\n");
        let chunked = Request { body, ..post.header("Transfer-Encoding", "chunked") }.send(edge.addr);
        assert_eq!((chunked.status, chunked.text().as_str()), (status, "early"), "sent whole before reading");
    }
}

#[test]
fn upload_broken_after_an_early_response_is_cut_at_the_origin() {
    let origin = Origin::start(OriginBehavior::RespondEarly(http_response("200 OK", &EARLY, "early")));
    let edge = Edge::start(&origin.url());
    let (key, _) = edge.issue("pro");
    for (nth, framing) in [Framing::LongLength, Framing::Chunked].into_iter().enumerate() {
        let mut client = begin(&edge, &key, framing);
        assert_eq!(client.response("POST").unwrap().text(), "early");
        drop(client);
        let arrived = wait_for(PATIENCE, || origin.arrivals().get(nth).cloned());
        assert!(!arrived.complete, "{framing:?}: {arrived:?}");
    }
}

/// The edge cannot know afterwards how much of a POST reached an origin, so it probes the origin
/// first.
#[test]
fn post_passes_over_an_origin_silent_to_a_probe() {
    let large = format!("\"{}\"", "x".repeat(3_000_000));
    for body in ["{}", large.as_str()] {
        let (first, second) = (Origin::start(OriginBehavior::Silent), Origin::good("second"));
        let edge = Edge::start(&format!("{},{}", first.url(), second.url()));
        let (key, _) = edge.issue("pro");
        let post = Request::new("POST", "/v1/pdf/merge").key(&key).header("Content-Type", "application/json");
        assert_eq!(post.body(body).send(edge.addr).text(), "second");
        assert_eq!(second.arrivals().len(), 1);
        assert!(first.arrivals().iter().all(|arrival| arrival.method == "GET"), "{:?}", first.arrivals());
    }
}

/// Sends a whole request before it reads anything, as Python's `http.client` does.
fn send_whole_then_read(edge: &Edge, head: &str, body: &[u8]) -> Option<Response> {
    let mut client = Connection::connect(edge.addr);
    let head = format!("{head}Host: {}\r\n\r\n", edge.addr);
    assert!(client.write(head.as_bytes()) && client.write(body), "the whole body is read");
    client.response("POST")
}

#[test]
fn refused_upload_gets_its_response_and_no_reset() {
    let origin = Origin::good("executed");
    let edge = Edge::start(&origin.url());
    let (key, _) = edge.issue("pro");
    let size = 8_000_000;
    let json = "Content-Type: application/json\r\n";
    let cases = [
        (401, format!("POST /v1/pdf/merge HTTP/1.1\r\n{json}")),
        (404, format!("POST /v1/nothing/merge HTTP/1.1\r\nX-API-Key: {key}\r\n{json}")),
        (405, format!("PUT /v1/pdf/merge HTTP/1.1\r\nX-API-Key: {key}\r\n{json}")),
        (415, "POST /v1/keys/issue HTTP/1.1\r\nContent-Type: text/plain\r\n".to_owned()),
        (413, format!("POST /v1/keys/issue HTTP/1.1\r\n{json}")),
    ];
    for (status, line) in cases {
        let declared = format!("{line}Content-Length: {size}\r\n");
        let response = send_whole_then_read(&edge, &declared, &vec![b'x'; size]);
        assert_eq!(response.unwrap().status, status, "declared length");
        let mut chunks = format!("{size:x}\r\n").into_bytes();
        chunks.resize(chunks.len() + size, b'x');
        chunks.extend_from_slice(b"\r\n0\r\n\r\n");
        let chunked = format!("{line}Transfer-Encoding: chunked\r\n");
        let response = send_whole_then_read(&edge, &chunked, &chunks);
        assert_eq!(response.unwrap().status, status, "chunked");
    }
    let over = 11 * 1024 * 1024;
    let line = format!("POST /v1/pdf/merge HTTP/1.1\r\nX-API-Key: {key}\r\n{json}Content-Length: {over}\r\n");
    let response = send_whole_then_read(&edge, &line, &vec![b'x'; over]).unwrap();
    assert_eq!(
        (response.status, response.code().as_str()),
        (413, "body-too-large"),
        "a little over the limit"
    );
    assert_eq!(origin.begun(), 0);
}

/// The client sends its body once it has read the refusal, and then the next request.
#[test]
fn refusal_does_not_wait_for_the_body() {
    let origin = Origin::good("executed");
    let edge = Edge::start(&origin.url());
    let (key, _) = edge.issue("pro");
    let over = 11 * 1024 * 1024;
    let json = "Content-Type: application/json\r\n";
    for (status, line) in [
        (413, format!("POST /v1/pdf/merge HTTP/1.1\r\nX-API-Key: {key}\r\n{json}")),
        (415, "POST /v1/keys/issue HTTP/1.1\r\nContent-Type: text/plain\r\n".to_owned()),
        (401, format!("POST /v1/pdf/merge HTTP/1.1\r\n{json}")),
    ] {
        let mut client = Connection::connect(edge.addr);
        client.write(format!("{line}Host: {}\r\nContent-Length: {over}\r\n\r\n", edge.addr).as_bytes());
        assert_eq!(client.response("POST").unwrap().status, status);
        assert!(client.write(&vec![b'x'; over]), "{status}");
        client.write(format!("GET /healthz HTTP/1.1\r\nHost: {}\r\n\r\n", edge.addr).as_bytes());
        assert_eq!(client.response("GET").expect("the connection is open").status, 200, "{status}");
    }
}

#[test]
fn refused_client_that_stops_sending_gets_its_response() {
    let edge = Edge::start("http://127.0.0.1:9");
    let mut client = Connection::connect(edge.addr);
    let head = "POST /v1/pdf/merge HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 900000\r\n\r\n{";
    client.write(head.as_bytes());
    assert_eq!(client.response("POST").unwrap().status, 401);
    assert!(client.is_closed());
}
