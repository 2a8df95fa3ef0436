//! Domains of accounts: added, proved by DNS, shown by `Host`, and given back.

use serde_json::{Value, json};
use tests::{
    faults::{Fate, Faults, PAGES_GET},
    http::{Request, Response},
    resolver::Resolver,
    stack::{Edge, NOWHERE},
};

use crate::pages::{created, issue, request, unique, until};

fn edge(resolver: &Resolver, faults: Option<&Faults>) -> Edge {
    let variables = resolver.variables();
    let mut options: Vec<&str> = variables.iter().flat_map(|variable| ["--var", variable]).collect();
    let url = faults.map(Faults::url).unwrap_or_default();
    if faults.is_some() {
        options.extend(["--faults", &url]);
    }
    Edge::start_with_options(NOWHERE, &options)
}

fn visit(edge: &Edge, host: &str, path: &str) -> Response {
    Request::get(path)
        .header("Host", host)
        .header("User-Agent", "Mozilla/5.0 (X11; Linux) Firefox/140.0")
        .send(edge.addr)
}

fn page(edge: &Edge, key: &str, slug: &str) -> Value {
    let body = json!({"title": "Ada Example", "slug": slug, "status": "published",
        "links": [{"title": "News", "url": "https://example.com/news"}], "codes": [{"via": "flyer"}]});
    let (id, _) = created(edge, key, &body);
    Request::get(&format!("/pages/{id}")).key(key).send(edge.addr).json()
}

/// Adds a domain for a page, and sets its record.
pub(crate) fn add(edge: &Edge, resolver: &Resolver, key: &str, host: &str, page: &Value) -> Value {
    let added =
        Request::post("/domains", &json!({"host": host, "page_id": page["id"]})).key(key).send(edge.addr);
    assert_eq!(added.status, 201, "{}", added.text());
    let domain = added.json();
    assert_eq!(
        (&domain["status"], &domain["dns"][1]["value"]),
        (&json!("pending"), &json!("customers.example.net"))
    );
    let record = &domain["dns"][0];
    resolver.set(record["name"].as_str().unwrap(), record["value"].as_str().unwrap());
    domain
}

pub(crate) fn verify(edge: &Edge, key: &str, domain: &Value) -> Response {
    let path = format!("/domains/{}/verify", domain["id"].as_str().unwrap());
    Request::post(&path, &json!({})).key(key).send(edge.addr)
}

#[test]
fn page_is_shown_on_a_domain_until_it_is_removed() {
    let resolver = Resolver::start();
    let edge = edge(&resolver, None);
    let (key, account) = issue(&edge, None);
    let slug = unique("own");
    let page = page(&edge, &key, &slug);
    let host = "links.ada.example";
    assert_eq!(visit(&edge, host, "/").status, 404, "no account shows it");
    let domain = add(&edge, &resolver, &key, host, &page);
    let proved = verify(&edge, &key, &domain);
    assert_eq!((proved.status, &proved.json()["status"]), (200, &json!("active")), "{}", proved.text());

    until(|| visit(&edge, host, "/").status == 200);
    let shown = visit(&edge, host, "/");
    let link = page["links"][0]["id"].as_str().unwrap();
    let short = format!("/l/{}", &link[link.len() - 6..]);
    assert!(shown.text().contains(&format!("href=\"{short}\"")), "{}", shown.text());
    assert_eq!(visit(&edge, host, &short).status, 302);
    assert!(!shown.text().contains(&slug), "no address has the slug: {}", shown.text());
    let away = visit(&edge, host, &format!("/l/{link}"));
    assert_eq!((away.status, away.header("location")), (302, Some("https://example.com/news")));
    for (path, status, location) in [
        ("/q", 302, Some("/?via=qr")),
        ("/q/flyer", 302, Some("/?via=qr&via=flyer")),
        ("/s/flyer", 302, Some("/?via=flyer")),
        ("/qr.svg", 200, None),
        ("/report", 200, None),
        ("/robots.txt", 200, None),
        ("/pages", 404, None),
        ("/v1/status", 404, None),
        ("/docs", 404, None),
        ("/console", 404, None),
        ("/other-page", 404, None),
        (&format!("/{slug}"), 404, None),
    ] {
        let response = visit(&edge, host, path);
        assert_eq!((response.status, response.header("location")), (status, location), "{path}");
    }
    let key_on_domain = Request::get("/v1/keys/me").header("Host", host).key(&key).send(edge.addr);
    assert_eq!(key_on_domain.status, 404, "no API on it");
    assert_eq!(visit(&edge, "LINKS.ada.example:8443", "/").status, 200, "any case, any port");
    assert_eq!(visit(&edge, "gateway.example", &format!("/{slug}")).status, 200, "and as before");

    let renamed = request(
        "PATCH",
        &format!("/pages/{}", page["id"].as_str().unwrap()),
        &json!({"slug": unique("new")}),
    );
    assert_eq!(renamed.key(&key).send(edge.addr).status, 200);
    assert_eq!(visit(&edge, host, "/").status, 200, "it follows its page");
    let export = Request::get("/account/export").key(&key).send(edge.addr).text();
    assert!(export.contains("\"object\":\"domain\"") && export.contains(host), "{export}");
    let read = Request::get("/account").key(&key).send(edge.addr).json();
    assert_eq!(read["domains"], json!({"used": 1, "limit": 10}));

    let path = format!("/domains/{}", domain["id"].as_str().unwrap());
    assert_eq!(request("DELETE", &path, &json!({})).key(&key).send(edge.addr).status, 204);
    until(|| visit(&edge, host, "/").status == 404);
    assert_eq!(Request::get("/domains").key(&key).send(edge.addr).json()["data"], json!([]));

    let again = add(&edge, &resolver, &key, host, &page);
    // The host is given back right after its visitors see nothing.
    until(|| verify(&edge, &key, &again).json()["status"] == "active");
    until(|| visit(&edge, host, "/").status == 200);
    let erased =
        Request::new("DELETE", &format!("/account/data?confirm={account}")).key(&key).send(edge.addr);
    assert_eq!(erased.status, 204, "{}", erased.text());
    until(|| visit(&edge, host, "/").status == 404);
}

#[test]
fn host_of_another_account_or_of_the_service_is_refused() {
    let resolver = Resolver::start();
    let edge = edge(&resolver, None);
    let ((first, _), (second, _)) = (issue(&edge, None), issue(&edge, None));
    let (mine, theirs) = (page(&edge, &first, &unique("mine")), page(&edge, &second, &unique("theirs")));
    let host = "b\u{fc}cher.example";
    let domain = add(&edge, &resolver, &first, host, &mine);
    assert_eq!(domain["host"], "xn--bcher-kva.example");
    until(|| verify(&edge, &first, &domain).json()["status"] == "active");
    let other = add(&edge, &resolver, &second, host, &theirs);
    let taken = verify(&edge, &second, &other);
    assert_eq!((taken.status, &taken.json()["code"]), (409, &json!("domain-taken")), "{}", taken.text());
    for (host, expected) in [
        ("gateway.example", "belongs to this service"),
        ("x.customers.example.net", "belongs to this service"),
        ("127.0.0.1", "IP address"),
        ("localhost", "single label"),
        ("https://ada.example", "alone"),
    ] {
        let refused = Request::post("/domains", &json!({"host": host})).key(&second).send(edge.addr);
        assert_eq!(refused.status, 422, "{host}");
        assert!(refused.text().contains(expected), "{host}: {}", refused.text());
    }
    resolver.set("_utg-verify.down.example", "down");
    let waiting =
        Request::post("/domains", &json!({"host": "down.example"})).key(&second).send(edge.addr).json();
    let unknown = verify(&edge, &second, &waiting);
    assert_eq!((unknown.status, &unknown.json()["last_check"]["result"]), (200, &json!("unknown")));
}

/// Hosts that no account can have and the service has not.
const NO_HOSTS: [&str; 8] = [
    "shop_1.customer.example",
    "10.1.2.3",
    "links.example..",
    "gateway.example.",
    "pages.example.",
    "x.pages.example",
    "pages.example:444",
    "edge",
];

#[test]
fn host_that_nobody_has_gets_neither_api_nor_console() {
    let resolver = Resolver::start();
    let domains = resolver.variables();
    let mut with_domains: Vec<&str> = domains.iter().map(String::as_str).collect();
    with_domains.push("PAGES_HOST=pages.example");
    let without = ["PUBLIC_URL=https://gateway.example", "PAGES_HOST=pages.example"];
    for (variables, more) in [
        (&*with_domains, &["customers.example.net", "x.customers.example.net", "x.gateway.example"][..]),
        (&without, &[]),
    ] {
        let edge = Edge::start_with(NOWHERE, variables);
        for host in NO_HOSTS.iter().chain(more) {
            for path in ["/console", "/docs", "/healthz", "/v1/keys/me", "/account", "/ada", "/robots.txt"] {
                let refused = visit(&edge, host, path);
                assert_eq!(
                    (refused.status, refused.code()),
                    (404, "route-unknown".to_owned()),
                    "{host} {path}"
                );
            }
        }
        // What the pages' Worker serves, and what the gateway's alone does.
        for host in ["gateway.example", "GATEWAY.example:8443", "gateway.ada.workers.dev", "localhost"] {
            assert_eq!(visit(&edge, host, "/console").status, 200, "{host}");
            // No origin is reachable. The pages' Worker has no such route.
            let status = visit(&edge, host, "/v1/status");
            assert_eq!((status.status, status.code()), (503, "tool-unavailable".to_owned()), "{host}");
        }
        assert_eq!(visit(&edge, "pages.example", "/robots.txt").status, 200);
    }
}

#[test]
fn domain_is_shown_while_kv_fails() {
    let (resolver, faults) = (Resolver::start(), Faults::start());
    let edge = edge(&resolver, Some(&faults));
    let (key, _) = issue(&edge, None);
    let page = page(&edge, &key, &unique("kv"));
    let domain = add(&edge, &resolver, &key, "kv.example", &page);
    assert_eq!(verify(&edge, &key, &domain).json()["status"], "active");
    until(|| visit(&edge, "kv.example", "/").status == 200);
    faults.set(PAGES_GET, Fate::Fail);
    assert_eq!(visit(&edge, "kv.example", "/").status, 200, "its account says what it shows");
    assert_eq!(visit(&edge, "unknown.example", "/").status, 404);
}

#[test]
fn gateway_without_a_target_has_no_domains() {
    let edge = Edge::shared();
    let (key, _) = issue(&edge, None);
    let refused = Request::post("/domains", &json!({"host": "ada.example"})).key(&key).send(edge.addr);
    assert_eq!((refused.status, &refused.json()["code"]), (503, &json!("not-configured")));
    let slug = unique("any-host");
    page(&edge, &key, &slug);
    until(|| visit(&edge, "ada.example", &format!("/{slug}")).status == 200);
}
