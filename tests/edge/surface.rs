//! Responses of the edge without a key: health, documentation, preflights, refusals.

use std::time::Duration;

use biolink::codes;
use portal::docs_page::DocsPage;
use portal::openapi;
use serde_json::json;
use shared::tool::Tool;
use tests::{
    faults::{self, Fate, Faults},
    http::{Connection, Request, Response},
    keys,
    origin::Origin,
    stack::{Edge, NOWHERE},
    wait::wait_for,
};

use super::pages::{created, issue};

fn ask(edge: &Edge, method: &str, target: &str) -> Response {
    Request::new(method, target).send(edge.addr)
}

/// Sends exactly these bytes on a new connection.
fn exchange(edge: &Edge, bytes: &[u8]) -> Response {
    let mut connection = Connection::connect(edge.addr);
    connection.write(bytes);
    connection.response("GET").unwrap()
}

#[test]
fn openapi_names_the_address_that_was_called() {
    let edge = Edge::shared();
    let response = ask(&edge, "GET", "/openapi.json");
    assert_eq!((response.status, response.header("content-type")), (200, Some("application/json")));
    assert_eq!(response.json(), openapi::document(&format!("http://{}", edge.addr)));
    assert_eq!(response.header("access-control-allow-origin"), Some("*"));
}

#[test]
fn openapi_names_the_configured_public_url() {
    let edge = Edge::start_with(NOWHERE, &["PUBLIC_URL=https://api.example.com/"]);
    let server = ask(&edge, "GET", "/openapi.json").json()["servers"][0]["url"].clone();
    assert_eq!(server, "https://api.example.com");
    assert!(ask(&edge, "GET", "/docs").text().contains("https://api.example.com/v1/keys/me"));
}

#[test]
fn docs_and_every_problem_page_are_200_html() {
    let edge = Edge::shared();
    let pages = codes::all().map(|code| format!("/problems/{}", code.as_str()));
    for page in pages.chain(DocsPage::ALL.map(|page| page.path().to_owned())) {
        let response = ask(&edge, "GET", &page);
        assert_eq!(
            (response.status, response.header("content-type")),
            (200, Some("text/html; charset=utf-8")),
            "{page}"
        );
        assert!(response.header("content-security-policy").unwrap().starts_with("default-src 'none'"));
        assert!(response.header("x-request-id").is_some());
    }
}

/// By its own address, or under that of the HTML for who accepts it.
#[test]
fn every_page_of_the_reference_is_there_as_markdown() {
    let edge = Edge::shared();
    for page in DocsPage::ALL {
        let twin = ask(&edge, "GET", &page.markdown_path());
        assert_eq!(
            (twin.status, twin.header("content-type")),
            (200, Some("text/markdown; charset=utf-8")),
            "{page:?}"
        );
        let text = twin.text();
        assert!(
            text.starts_with(&format!("# {}\n", page.title())) && !text.contains("server.invalid"),
            "{text}"
        );
        let link =
            format!("<link rel=\"alternate\" type=\"text/markdown\" href=\"{}\">", page.markdown_path());
        let html = ask(&edge, "GET", page.path());
        assert!(html.text().contains(&link), "{page:?}");
        assert_eq!(html.header("vary"), Some("accept-encoding, accept"));
        let accepted =
            Request::new("GET", page.path()).header("Accept", "text/markdown, */*").send(edge.addr);
        assert_eq!(accepted.text(), text, "{page:?}");
    }
}

#[test]
fn changelog_has_a_feed() {
    let response = ask(&Edge::shared(), "GET", "/docs/changelog.atom");
    assert_eq!((response.status, response.header("content-type")), (200, Some("application/atom+xml")));
    assert!(response.text().contains("<title>0.1.0, 2026-11-28</title>"));
}

#[test]
fn head_is_get_without_the_body() {
    let edge = Edge::shared();
    for page in ["/docs", "/openapi.json", "/healthz"] {
        let response = ask(&edge, "HEAD", page);
        assert_eq!((response.status, response.body.len()), (200, 0), "{page}");
    }
}

/// Also of what needs a key or the admin secret, which is counted like the GET.
#[test]
fn head_of_the_apis_is_get_without_the_body() {
    let edge = Edge::shared();
    let (key, account) = issue(&edge, None);
    let (page, _) = created(&edge, &key, &json!({ "title": "Ada" }));
    for path in ["/v1/keys/me", "/pages", "/account", "/account/export", "/analytics", "/webhooks", "/events"]
        .map(str::to_owned)
        .into_iter()
        .chain([format!("/pages/{page}"), format!("/pages/{page}/revisions")])
    {
        let ask = |method: &str| Request::new(method, &path).key(&key).send(edge.addr);
        let (head, get) = (ask("HEAD"), ask("GET"));
        assert_eq!((head.status, head.body.len(), get.status), (200, 0, 200), "{path}");
        assert_eq!(head.header("content-type"), get.header("content-type"), "{path}");
        assert_eq!(head.header("etag"), get.header("etag"), "{path}");
        let rest =
            |of: &Response| of.header("ratelimit").map(|limit| limit.split("r=").nth(1).map(str::to_owned));
        assert_eq!(rest(&head).is_some(), rest(&get).is_some(), "{path}");
    }
    for path in ["/v1/keys", &format!("/v1/keys/{account}"), "/admin/reports"] {
        let head = Request::new("HEAD", path).send(edge.addr);
        assert_eq!((head.status, head.body.len()), (401, 0), "{path}");
        let admin =
            Request::new("HEAD", path).header("Authorization", &format!("Bearer {}", keys::ADMIN_SECRET));
        assert_eq!(admin.send(edge.addr).status, 200, "{path}");
    }
    let refused = Request::new("PUT", "/v1/keys/me").key(&key).send(edge.addr);
    assert_eq!((refused.status, refused.header("allow")), (405, Some("GET, HEAD, DELETE, OPTIONS")));
}

#[test]
fn preflight_without_a_key_lists_methods_and_headers() {
    let edge = Edge::shared();
    let response = Request::new("OPTIONS", "/v1/qr/generate")
        .header("Origin", "https://app.example.com")
        .header("Access-Control-Request-Method", "POST")
        .send(edge.addr);
    assert_eq!((response.status, response.body.len()), (204, 0));
    assert_eq!(
        response.header("access-control-allow-methods"),
        Some("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")
    );
    assert!(response.header("access-control-allow-headers").unwrap().contains("X-API-Key"));
}

#[test]
fn problem_type_leads_to_a_page() {
    let edge = Edge::shared();
    let problem = ask(&edge, "GET", "/v1/qr/generate").json();
    assert_eq!(problem["type"], "/problems/key-missing");
    assert_eq!(ask(&edge, "GET", problem["type"].as_str().unwrap()).status, 200);
}

#[test]
fn key_over_plain_http_is_403_https_required() {
    let edge = Edge::shared();
    let (key, _) = edge.issue("free");
    let named = |target: &str, key: Option<&str>| {
        let bytes = format!(
            "GET {target} HTTP/1.1\r\nHost: api.example.com\r\n{}\r\n",
            key.map(|key| format!("X-API-Key: {key}\r\n")).unwrap_or_default()
        );
        exchange(&edge, bytes.as_bytes())
    };
    for target in ["/v1/qr/generate", "/v1/keys/me"] {
        let response = named(target, Some(&key));
        assert_eq!((response.status, response.code().as_str()), (403, "https-required"), "{target}");
        assert_eq!(named(target, None).code(), "key-missing", "without a key nothing was given away");
    }
    assert_eq!(named("/healthz", None).status, 200);
    let issue = b"POST /v1/keys/issue HTTP/1.1\r\nHost: api.example.com\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
    assert_eq!(exchange(&edge, issue).code(), "https-required", "the body carries a secret");
}

#[test]
fn misconfigured_worker_is_500_and_logs_every_fault() {
    let edge = Edge::start_with(NOWHERE, &["ORIGIN_URLS=fra.example.com", "KEY_ENV=prod"]);
    let response = ask(&edge, "GET", "/healthz");
    assert_eq!((response.status, response.code().as_str()), (500, "internal"));
    let faults = ["ORIGIN_URLS has `fra.example.com`", "KEY_ENV must be live or test"];
    wait_for(Duration::from_secs(10), || {
        let log = edge.output();
        faults.iter().all(|fault| log.contains(fault)).then_some(())
    });
    assert!(!response.text().contains("ORIGIN"));
}

/// A report is cached for a second. Without one the response is 503.
#[test]
fn status_is_the_report_of_an_origin() {
    let report = shared::status::StatusReport::new(|tool| tool != Tool::Qr);
    let origin = Origin::good(&report.to_json());
    let edge = Edge::start(&origin.url());
    let asked: Vec<_> = (0..20).map(|_| ask(&edge, "GET", "/v1/status")).collect();
    assert!(asked.iter().all(|response| (response.status, response.text()) == (200, report.to_json())));
    assert!(origin.arrivals().len() < asked.len(), "a report serves for a second");
    let unknown = ask(&Edge::start(NOWHERE), "GET", "/v1/status");
    assert_eq!((unknown.status, unknown.code().as_str()), (503, "tool-unavailable"), "no report, no status");
}

/// People can always read it. Without an origin it says that.
#[test]
fn status_page_is_200_whatever_the_tools_do() {
    let report = shared::status::StatusReport::new(|tool| tool != Tool::Qr);
    let origin = Origin::good(&report.to_json());
    let page = ask(&Edge::start(&origin.url()), "GET", "/status");
    assert_eq!((page.status, page.header("cache-control")), (200, Some("private, no-cache")));
    assert!(page.text().contains("1 of 17 tools is not available"), "{}", page.text());
    let unknown = ask(&Edge::start(NOWHERE), "GET", "/status");
    assert_eq!(unknown.status, 200);
    assert!(unknown.text().contains("No tool can be reached."));
}

#[test]
fn programs_find_the_descriptions_by_links_catalog_and_llms_txt() {
    let edge = Edge::shared();
    for path in ["/", "/docs"] {
        let links = ask(&edge, "HEAD", path).header("link").unwrap().to_owned();
        assert!(links.contains("</openapi.json>; rel=\"service-desc\""), "{path}: {links}");
    }
    let catalog = ask(&edge, "GET", "/.well-known/api-catalog");
    assert!(catalog.header("content-type").unwrap().starts_with("application/linkset+json"));
    for set in catalog.json()["linkset"].as_array().unwrap() {
        let described = set["service-desc"][0]["href"].as_str();
        for href in described.into_iter().chain(set["service-doc"][0]["href"].as_str()) {
            let path = href.strip_prefix(&format!("http://{}", edge.addr)).unwrap();
            assert_eq!(ask(&edge, "GET", path).status, 200, "{href}");
        }
    }
    let text = ask(&edge, "GET", "/llms.txt");
    assert_eq!(text.header("content-type"), Some("text/plain; charset=utf-8"));
    assert!(text.text().contains(&format!("curl --fail-with-body http://{}/v1/qr/generate", edge.addr)));
}

/// Calls and refusals need no asset.
#[test]
fn asset_that_cannot_be_read_is_500_and_calls_continue() {
    let faults = Faults::start();
    let origin = Origin::good("{}");
    let edge = Edge::start_with_faults(&origin.url(), &faults);
    let (key, _) = edge.issue("free");
    for (fate, error) in [
        (Fate::Fail, "ASSETS fails"),
        (Fate::Absent, "the response has status 404"),
        (Fate::Hang, "no response within 1000 ms"),
    ] {
        faults.set(faults::ASSETS, fate);
        let response = ask(&edge, "GET", "/docs");
        assert_eq!((response.status, response.code().as_str()), (500, "internal"), "{fate:?}");
        wait_for(Duration::from_secs(10), || {
            let log = edge.output();
            (log.contains("asset read failed: ") && log.contains(error)).then_some(())
        });
        assert_eq!(Request::get("/v1/qr/generate").key(&key).send(edge.addr).status, 200, "{fate:?}");
    }
    faults.set(faults::ASSETS, Fate::Pass);
    assert_eq!(ask(&edge, "GET", "/docs").status, 200);
}

#[test]
fn document_that_the_client_has_is_304() {
    let edge = Edge::shared();
    for page in ["/", "/docs", "/openapi.json", "/biolink/openapi.json", "/problems/key-missing"] {
        let tag = ask(&edge, "GET", page).header("etag").unwrap().to_owned();
        let known = Request::get(page).header("If-None-Match", &tag).send(edge.addr);
        assert_eq!(
            (known.status, known.body.len(), known.header("etag")),
            (304, 0, Some(tag.as_str())),
            "{page}"
        );
    }
}

/// The local runtime serves plain HTTP. Its `MF-Original-URL` header stands for a URL over TLS.
#[test]
fn response_over_https_has_strict_transport_security() {
    let edge = Edge::shared();
    let asked = |url: &str| Request::get("/healthz").header("MF-Original-URL", url).send(edge.addr);
    let secure = asked("https://api.example.com/healthz");
    assert_eq!(secure.header("strict-transport-security"), Some("max-age=31536000"), "{secure:?}");
    assert_eq!(asked("http://api.example.com/healthz").header("strict-transport-security"), None);
}

/// Applications behind a proxy trust some of these to name the client or the target. The others
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

/// The runtime checks `Host` before the worker runs, and may respond by itself.
#[test]
fn invalid_host_is_not_served_at_the_edge() {
    let edge = Edge::shared();
    for host in ["a.example, b.example", "user@example.com", "example.com:http", "example.com/v1"] {
        let response = Request::get("/healthz").header("Host", host).send(edge.addr);
        assert!(response.status >= 400, "{host}: {response:?}");
    }
}

#[test]
fn connection_is_usable_after_a_refused_call() {
    let edge = Edge::shared();
    let (key, _) = edge.issue("free");
    let mut client = Connection::connect(edge.addr);
    let body = "x".repeat(20_000);
    for (sent_key, status) in [("nonsense", 401), (key.as_str(), 503), ("nonsense", 401), (key.as_str(), 503)]
    {
        let request = format!(
            "POST /v1/qr/generate HTTP/1.1\r\nHost: {}\r\nX-API-Key: {sent_key}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            edge.addr,
            body.len()
        );
        client.write(request.as_bytes());
        assert_eq!(client.response("POST").unwrap().status, status);
    }
}
