//! URLs of customers that lead back to the gateway: none is called, and nothing that calls one counts.

use std::sync::Arc;

use biolink::events::Dimension;
use serde_json::{Value, json};
use tests::{
    faults::Faults,
    http::Request,
    receiver::Receiver,
    resolver::Resolver,
    shop::Shop,
    stack::{Edge, NOWHERE},
};

use super::{
    domains::{add, verify},
    hooks::Hook,
    pages::{issue, until},
    product_sync::{Store, rss},
    site::Site,
};

const DOMAIN: &str = "links.loop.example";
const TARGET: &str = "customers.example.net";

/// A site at a worker that gets its own requests to [`DOMAIN`] and [`TARGET`] back.
fn site(resolver: &Resolver) -> Site {
    let faults = Faults::start();
    let (variables, url) = (resolver.variables(), faults.url());
    let mut options = vec!["--faults", &url, "--home", DOMAIN, "--home", TARGET];
    options.extend(variables.iter().flat_map(|variable| ["--var", variable]));
    Site::publish(Arc::new(Edge::start_with_options(NOWHERE, &options)), Arc::new(faults))
}

/// Has an account prove the domain.
fn prove(site: &Site, resolver: &Resolver, key: &str, page: &Value) {
    let domain = add(&site.edge, resolver, key, DOMAIN, page);
    until(|| verify(&site.edge, key, &domain).json()["status"] == "active");
}

/// Waits until the domain shows a page.
fn wait_for_page(site: &Site) {
    until(|| Request::get("/robots.txt").header("Host", DOMAIN).send(site.edge.addr).status == 200);
}

/// Waits for the first attempt of the newest delivery. Returns how it ended.
fn first_attempt(site: &Site, hook: &Hook) -> Value {
    let attempt = || site.deliveries(hook)[0]["attempts"][0].clone();
    until(|| !site.deliveries(hook).is_empty() && attempt().is_object());
    attempt()["error"].clone()
}

#[test]
fn webhook_that_leads_back_after_it_was_made_is_not_called() {
    let resolver = Resolver::start();
    let site = site(&resolver);
    let ping = format!("/ping/{}", site.page["links"][1]["id"].as_str().unwrap());
    let receiver = Receiver::start();
    let hook = site.hook(&receiver, json!({"events": ["click"], "url": format!("http://{DOMAIN}{ping}")}));
    prove(&site, &resolver, &site.key, &site.page);
    wait_for_page(&site);
    site.visit(&site.link(0));
    assert_eq!(first_attempt(&site, &hook), "address_refused");
    assert_eq!(site.events(1).len(), 1, "one click is one event");

    // As an earlier version has stored it.
    let url = format!("http://{TARGET}{}", site.ping());
    site.change_endpoints(|endpoint| endpoint["url"] = json!(url));
    site.visit(&site.link(0));
    until(|| site.deliveries(&hook).len() == 2);
    assert_eq!(first_attempt(&site, &hook), "address_refused");
    assert_eq!(site.events(2).len(), 2);
}

#[test]
fn feed_that_leads_back_after_it_was_made_is_not_fetched() {
    let resolver = Resolver::start();
    let store = Store { site: site(&resolver), shop: Shop::start() };
    let source = store.create(&json!({"url": format!("http://{DOMAIN}/")}));
    let id = source["id"].as_str().unwrap();
    assert_eq!(store.wait_for_runs(id, 1)["http_status"], 404, "no account shows it yet");
    prove(&store.site, &resolver, &store.site.key, &store.site.page);
    wait_for_page(&store.site);
    let run = store.run_again(id);
    assert_eq!(run["outcome"], "failed", "{run}");
    assert!(run["error"].to_string().contains("must not lead to this gateway"), "{run}");
    store.site.visit(&store.site.path);
    assert_eq!(store.site.events(1).len(), 1, "the view of the visitor alone");
}

#[test]
fn host_that_the_gateway_serves_is_refused_for_webhooks_and_feeds() {
    let resolver = Resolver::start();
    let site = site(&resolver);
    let sources = format!("/pages/{}/product-sources", site.id());
    let hook = site.hook(&Receiver::start(), json!({}));
    let source = site.call("POST", &sources, &json!({"url": Shop::start().url("/feed")}));
    assert_eq!(source.status, 201, "{}", source.text());
    let source = format!("{sources}/{}", source.json()["id"].as_str().unwrap());
    let (other, _) = issue(&site.edge, None);
    prove(&site, &resolver, &other, &json!({"id": null}));
    let tried = json!({"url": format!("http://{DOMAIN}/"), "events": ["click"]});
    until(|| site.call("POST", "/webhooks?dry_run=true", &tried).status == 422);
    for url in
        [format!("http://{DOMAIN}/hook"), format!("http://{DOMAIN}:8443/"), format!("http://{TARGET}/a")]
    {
        for (method, path, body) in [
            ("POST", "/webhooks", json!({"url": url, "events": ["click"]})),
            ("PATCH", &*format!("/webhooks/{}", hook.id), json!({"url": url})),
            ("POST", &*sources, json!({"url": url})),
            ("PATCH", &*source, json!({"url": url})),
        ] {
            let refused = site.call(method, path, &body);
            assert_eq!(refused.status, 422, "{method} {path} {url}: {}", refused.text());
            assert!(refused.text().contains("must not lead to this gateway"), "{}", refused.text());
        }
    }
    let elsewhere = json!({"url": "http://links.other.example/hook", "events": ["click"]});
    assert_eq!(site.call("POST", "/webhooks", &elsewhere).status, 201);
}

#[test]
fn visit_with_the_gateways_own_agent_does_not_count() {
    let store = Store::shared();
    let site = &store.site;
    let receiver = Receiver::start();
    site.hook(&receiver, json!({"events": ["click"]}));
    store.shop.set("/feed", rss(&["Poster"]));
    store.create_for("/feed", json!({}));
    site.visit(&site.link(0));
    let hooks = receiver.wait(1)[0].header("user-agent").unwrap().to_owned();
    let visits = store.shop.visits();
    let feeds = visits[0].headers.iter().find_map(|line| line.strip_prefix("user-agent: ")).unwrap();
    for agent in [&*hooks, feeds] {
        for path in [site.path.clone(), site.link(0), site.product(), site.code()] {
            let visit = Request::get(&path).header("User-Agent", agent);
            assert!(site.send(&visit).status < 400, "{agent} {path}");
        }
        let ping = Request { method: "POST".to_owned(), ..Request::get(&site.ping()) };
        assert_eq!(site.send(&ping.header("User-Agent", agent).body("{}")).status, 204, "{agent}");
    }
    let events = site.events(11);
    let ignored: Vec<_> = events.iter().map(|event| event.value(Dimension::Ignored)).collect();
    assert_eq!(
        (
            ignored.iter().filter(|it| it.is_empty()).count(),
            ignored.iter().filter(|it| **it == "bot:other").count()
        ),
        (1, 10),
        "{ignored:?}"
    );
    assert_eq!(receiver.arrivals().len(), 1, "what does not count is no event");
}
