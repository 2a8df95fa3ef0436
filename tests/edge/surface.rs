//! What the edge answers without a key: health, descriptions, preflights, and what it refuses outright.

use std::{io::Write, net::TcpStream, time::Duration};

use shared::{openapi, problem::Code, tool::Tool};
use tests::{
    http::{Request, Response},
    origin::Origin,
    process::wait_for,
    stack::Edge,
};

const NOWHERE: &str = "http://127.0.0.1:9";

fn ask(edge: &Edge, method: &str, target: &str) -> Response {
    Request::new(method, target).send(edge.addr)
}

#[test]
fn the_description_is_the_one_that_shared_makes_with_the_address_that_was_called() {
    let edge = Edge::start(NOWHERE);
    let answer = ask(&edge, "GET", "/openapi.json");
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
    assert_eq!(answer.json(), openapi::document(&format!("http://{}", edge.addr)));
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
}

#[test]
fn a_public_address_that_is_configured_is_the_one_that_is_told() {
    let edge = Edge::start_with(NOWHERE, &["PUBLIC_URL=https://api.example.com/"]);
    let server = ask(&edge, "GET", "/openapi.json").json()["servers"][0]["url"].clone();
    assert_eq!(server, "https://api.example.com");
    assert!(ask(&edge, "GET", "/docs").text().contains("https://api.example.com/v1/keys/issue"));
}

#[test]
fn the_reference_and_every_problems_page_stand_alone() {
    let edge = Edge::start(NOWHERE);
    let pages = Code::ALL.map(|code| format!("/problems/{}", code.as_str()));
    for page in pages.iter().map(String::as_str).chain(["/docs"]) {
        let answer = ask(&edge, "GET", page);
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (200, Some("text/html; charset=utf-8")),
            "{page}"
        );
        assert!(answer.header("content-security-policy").unwrap().starts_with("default-src 'none'"));
        assert!(answer.header("x-request-id").is_some());
    }
}

#[test]
fn head_is_get_without_the_body() {
    let edge = Edge::start(NOWHERE);
    for page in ["/docs", "/openapi.json", "/healthz"] {
        let answer = ask(&edge, "HEAD", page);
        assert_eq!((answer.status, answer.body.len()), (200, 0), "{page}");
    }
}

#[test]
fn a_preflight_is_free_and_says_what_a_browser_may_send() {
    let edge = Edge::start(NOWHERE);
    let answer = Request::new("OPTIONS", "/v1/qr/generate")
        .header("Origin", "https://app.example.com")
        .header("Access-Control-Request-Method", "POST")
        .send(edge.addr);
    assert_eq!((answer.status, answer.body.len()), (204, 0));
    assert_eq!(
        answer.header("access-control-allow-methods"),
        Some("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")
    );
    assert!(answer.header("access-control-allow-headers").unwrap().contains("X-API-Key"));
}

#[test]
fn a_problems_type_leads_to_a_page() {
    let edge = Edge::start(NOWHERE);
    let problem = ask(&edge, "GET", "/v1/qr/generate").json();
    assert_eq!(problem["type"], "/problems/key-missing");
    assert_eq!(ask(&edge, "GET", problem["type"].as_str().unwrap()).status, 200);
}

#[test]
fn a_key_over_plain_http_is_refused_and_not_redirected() {
    let edge = Edge::start(NOWHERE);
    let (key, _) = edge.issue("free");
    let named = |target: &str, key: Option<&str>| {
        let bytes = format!(
            "GET {target} HTTP/1.1\r\nHost: api.example.com\r\n{}\r\n",
            key.map(|key| format!("X-API-Key: {key}\r\n")).unwrap_or_default()
        );
        Response::of_exchange(edge.addr, bytes.as_bytes())
    };
    for target in ["/v1/qr/generate", "/v1/keys/me"] {
        let answer = named(target, Some(&key));
        assert_eq!((answer.status, answer.code().as_str()), (403, "https-required"), "{target}");
        assert_eq!(named(target, None).code(), "key-missing", "without a key nothing was given away");
    }
    assert_eq!(named("/healthz", None).status, 200);
    let issue = b"POST /v1/keys/issue HTTP/1.1\r\nHost: api.example.com\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
    assert_eq!(Response::of_exchange(edge.addr, issue).code(), "https-required", "the body carries a secret");
}

#[test]
fn a_worker_without_its_configuration_says_so_in_the_log_and_500_to_clients() {
    let edge = Edge::start_with(NOWHERE, &["ORIGIN_URLS=fra.example.com", "KEY_ENV=prod"]);
    let answer = ask(&edge, "GET", "/healthz");
    assert_eq!((answer.status, answer.code().as_str()), (500, "internal"));
    let told = ["ORIGIN_URLS has `fra.example.com`", "KEY_ENV must be live or test"];
    wait_for(Duration::from_secs(10), || {
        let log = edge.process.output();
        told.iter().all(|fault| log.contains(fault)).then_some(())
    });
    assert!(!answer.text().contains("ORIGIN"));
}

#[test]
fn the_tools_status_is_the_proxys_word() {
    let report = shared::status::StatusReport::new(|tool| tool != Tool::Qr);
    let origin = Origin::good(&report.to_json());
    let edge = Edge::start(&origin.url());
    let asked: Vec<_> = (0..20).map(|_| ask(&edge, "GET", "/v1/status")).collect();
    assert!(asked.iter().all(|answer| (answer.status, answer.text()) == (200, report.to_json())));
    assert!(origin.arrivals().len() < asked.len(), "a report serves for a second");
    let unknown = ask(&Edge::start(NOWHERE), "GET", "/v1/status");
    assert_eq!(
        (unknown.status, unknown.code().as_str()),
        (503, "tool-unavailable"),
        "what is not known is not told"
    );
}

#[test]
fn document_that_the_client_has_is_304() {
    let edge = Edge::start(NOWHERE);
    for page in ["/docs", "/openapi.json", "/problems/key-missing"] {
        let tag = ask(&edge, "GET", page).header("etag").unwrap().to_owned();
        let known = Request::get(page).header("If-None-Match", &tag).send(edge.addr);
        assert_eq!(
            (known.status, known.body.len(), known.header("etag")),
            (304, 0, Some(tag.as_str())),
            "{page}"
        );
    }
}

/// The local runtime serves plain HTTP; this header of it stands for an address over TLS.
#[test]
fn responses_over_https_ask_browsers_to_stay_there() {
    let edge = Edge::start(NOWHERE);
    let asked = |url: &str| Request::get("/healthz").header("MF-Original-URL", url).send(edge.addr);
    let secure = asked("https://api.example.com/healthz");
    assert_eq!(secure.header("strict-transport-security"), Some("max-age=31536000"), "{secure:?}");
    assert_eq!(asked("http://api.example.com/healthz").header("strict-transport-security"), None);
}

/// Applications behind a proxy believe these: who the client is, and what it really asks for. The others
/// concern the client's connection only.
#[test]
fn trusted_and_nominated_headers_do_not_leave_the_edge() {
    let origin = Origin::good("{}");
    let edge = Edge::start(&origin.url());
    let (key, _) = edge.issue("free");
    let withheld = [
        "X-Forwarded-Client-Cert",
        "X-Forwarded-User",
        "X-Forwarded-Prefix",
        "Proxy",
        "X-Original-URL",
        "X-Rewrite-URL",
        "X-HTTP-Method-Override",
        "X-User-Id",
        "X-Remote-User",
        "X-Middleware-Subrequest",
        "HTTP2-Settings",
        "X-Mine",
        "X-Mine-Too",
    ];
    let request = Request::get("/v1/qr/generate").key(&key).header("Connection", "X-Mine, HTTP2-Settings");
    let request = withheld.iter().fold(request, |request, name| request.header(name, "hush"));
    let request = request.header("Connection", "x-mine-too").header("X-Requested-With", "tests");
    assert_eq!(request.send(edge.addr).status, 200);
    let arrivals = origin.arrivals();
    let leaked: Vec<_> = arrivals[0].headers.iter().filter(|(_, value)| value.contains("hush")).collect();
    assert!(leaked.is_empty(), "{leaked:?}");
    assert_eq!(arrivals[0].header("x-requested-with"), Some("tests"));
}

/// The runtime looks at `Host` before the worker and may answer by itself, in its own words.
#[test]
fn invalid_host_is_not_served_at_the_edge() {
    let edge = Edge::start(NOWHERE);
    for host in ["a.example, b.example", "user@example.com", "example.com:http", "example.com/v1"] {
        let answer = Request::get("/healthz").header("Host", host).send(edge.addr);
        assert!(answer.status >= 400, "{host}: {answer:?}");
    }
}

#[test]
fn a_connection_is_good_for_the_next_call_after_a_refused_one() {
    let edge = Edge::start(NOWHERE);
    let (key, _) = edge.issue("free");
    let mut client = TcpStream::connect(edge.addr).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let body = "x".repeat(20_000);
    for (sent_key, status) in [("nonsense", 401), (key.as_str(), 503), ("nonsense", 401), (key.as_str(), 503)]
    {
        let request = format!(
            "POST /v1/qr/generate HTTP/1.1\r\nHost: {}\r\nX-API-Key: {sent_key}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            edge.addr,
            body.len()
        );
        client.write_all(request.as_bytes()).unwrap();
        assert_eq!(Response::read_from(&mut client).unwrap().status, status);
    }
}
