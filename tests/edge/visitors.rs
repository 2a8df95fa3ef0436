//! What visitors open besides pages and links: reports, codes, cards, and the site's own files.

use std::fs;

use serde_json::{Value, json};
use tests::{
    http::{Request, Response},
    keys,
    stack::Edge,
};

/// Origins that are never called.
const NOWHERE: &str = "http://127.0.0.1:9";
/// The header in which the platform names the client's address.
const ADDRESS: &str = "CF-Connecting-IP";

/// Issues a key and publishes a page with it. Returns the key and the page.
fn publish(edge: &Edge, page: &Value) -> (String, Value) {
    let body = json!({"email": "ada@example.com", "name": "Ada", "tier": "free", "biolink_plan": "business",
        "admin_secret": keys::ADMIN_SECRET});
    let issued = Request::post("/v1/keys/issue", &body).send(edge.addr);
    let key = issued.json()["key"].as_str().unwrap().to_owned();
    let created = Request::post("/pages", page).key(&key).send(edge.addr);
    assert_eq!(created.status, 201, "{}", created.text());
    (key, created.json())
}

fn ada() -> Value {
    json!({"title": "Ada Example", "slug": "ada", "status": "published", "bio": "Mathematician, and writer",
        "links": [{"type": "email", "title": "Mail", "url": "ada@example.com"}]})
}

fn visit(edge: &Edge, path: &str) -> Response {
    Request::get(path).send(edge.addr)
}

fn report(edge: &Edge, form: &str, address: &str) -> Response {
    Request::new("POST", "/ada/report")
        .header("Content-Type", "application/x-www-form-urlencoded")
        .header(ADDRESS, address)
        .body(form)
        .send(edge.addr)
}

/// Returns true if a file below the folder holds the text.
fn is_stored(folder: &std::path::Path, text: &str) -> bool {
    fs::read_dir(folder).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        let holds = |bytes: Vec<u8>| bytes.windows(text.len()).any(|window| window == text.as_bytes());
        if path.is_dir() { is_stored(&path, text) } else { fs::read(&path).is_ok_and(holds) }
    })
}

#[test]
fn report_is_kept_without_the_address_of_its_sender() {
    let edge = Edge::start_stored(NOWHERE);
    publish(&edge, &ada());
    let form = visit(&edge, "/ada/report");
    assert_eq!((form.status, form.header("x-robots-tag")), (200, Some("noindex")));
    assert!(form.text().contains("action=\"/ada/report\"") && !form.text().contains("<script"));

    let sent = report(&edge, "reason=phishing&details=asks+for+a+password", "192.0.2.7");
    assert_eq!(sent.status, 200, "{}", sent.text());
    assert!(sent.text().contains("Thank you"));
    for place in ["asks for a password", "phishing"] {
        assert!(is_stored(edge.state(), place), "{place}");
    }
    assert!(!is_stored(edge.state(), "192.0.2.7"));
    assert!(!edge.process.output().contains("192.0.2.7"));
}

#[test]
fn address_reports_a_page_three_times_a_day() {
    let edge = Edge::start(NOWHERE);
    publish(&edge, &ada());
    let send = |address: &str| report(&edge, "reason=spam&details=", address).status;
    assert_eq!([0; 4].map(|_| send("192.0.2.7")), [200, 200, 200, 429]);
    assert_eq!(send("192.0.2.8"), 200, "another address");
    let refused = report(&edge, "reason=spam", "192.0.2.7");
    assert_eq!(refused.header("retry-after"), Some("86400"));
}

#[test]
fn report_that_is_malformed_or_of_another_site_is_not_kept() {
    let edge = Edge::start_stored(NOWHERE);
    publish(&edge, &ada());
    assert_eq!(report(&edge, "reason=boredom&details=never-kept", "192.0.2.7").status, 422);
    let long = format!("reason=spam&details={}", "x".repeat(20_000));
    assert_eq!(report(&edge, &long, "192.0.2.7").status, 413);
    let foreign = Request::new("POST", "/ada/report")
        .header("Content-Type", "application/x-www-form-urlencoded")
        .header("Sec-Fetch-Site", "cross-site")
        .body("reason=spam&details=never-kept")
        .send(edge.addr);
    assert!(
        foreign.status == 200 && foreign.text().contains("Report this page"),
        "the form, to be sent again"
    );
    let missing = Request { target: "/nobody/report".to_owned(), ..Request::new("POST", "") }
        .header("Content-Type", "application/x-www-form-urlencoded")
        .body("reason=spam&details=never-kept")
        .send(edge.addr);
    assert_eq!(missing.status, 404);
    assert!(!is_stored(edge.state(), "never-kept"));
}
