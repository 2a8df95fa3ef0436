//! What happens to events while a part between the page and the receiver fails, and of webhooks when
//! their page or their account ends.

use serde_json::{Value, json};
use tests::{
    faults::{ACCOUNT, Fate, WEBHOOKS},
    http::Request,
    receiver::Receiver,
};

use super::{
    hooks::Hook,
    pages::{unique, until},
    site::{Site, person},
};

/// Starts a site with an endpoint for clicks.
fn start() -> (Site, Receiver, Hook) {
    with_endpoint(Site::start())
}

fn with_endpoint(site: Site) -> (Site, Receiver, Hook) {
    let receiver = Receiver::start();
    let hook = site.hook(&receiver, json!({"events": ["click"]}));
    (site, receiver, hook)
}

/// Returns the sequences within the page of what arrived.
fn sequences(receiver: &Receiver) -> Vec<u64> {
    let arrivals = receiver.arrivals();
    let mut found: Vec<_> =
        arrivals.iter().map(|arrival| arrival.json()["page_sequence"].as_u64().unwrap()).collect();
    found.sort_unstable();
    found
}

/// Returns the number of rows that wait in the store of the page.
fn outbox(site: &Site) -> u64 {
    site.stats().sql("SELECT COUNT(*) FROM outbox")[0][0].as_u64().unwrap()
}

#[test]
fn webhooks_that_fail_or_hang_get_the_events_later() {
    for fate in [Fate::Fail, Fate::Hang] {
        let (site, receiver, _) = start();
        site.faults.set(WEBHOOKS, fate);
        site.visit(&site.link(0));
        until(|| outbox(&site) == 1);
        site.visit(&site.link(0));
        site.events(2);
        assert_eq!(receiver.arrivals().len(), 0);
        site.faults.set(WEBHOOKS, Fate::Pass);
        receiver.wait(2);
        assert_eq!(sequences(&receiver), [1, 2], "{fate:?}");
        until(|| outbox(&site) == 0);
    }
}

#[test]
fn message_whose_reply_was_lost_is_logged_once() {
    let (site, receiver, _) = start();
    site.faults.set_once(WEBHOOKS, Fate::LoseReply);
    site.visit(&site.link(0));
    receiver.wait(1);
    until(|| outbox(&site) == 0);
    site.visit(&site.link(0));
    receiver.wait(2);
    assert_eq!(sequences(&receiver), [1, 2]);
    assert_eq!(site.get("/events")["data"].as_array().unwrap().len(), 2);
}

#[test]
fn publication_waits_for_webhooks_that_fail() {
    let (site, receiver) = (Site::start(), Receiver::start());
    site.hook(&receiver, json!({"events": ["page_published"]}));
    site.faults.set(WEBHOOKS, Fate::Fail);
    let path = format!("/pages/{}", site.id());
    for title in ["One", "Two"] {
        let changed = site.call("PATCH", &path, &json!({"title": title, "status": "published"}));
        assert_eq!(changed.status, 200, "{}", changed.text());
    }
    site.faults.set(WEBHOOKS, Fate::Pass);
    let arrivals = receiver.wait(2);
    let mut changes: Vec<_> = arrivals.iter().map(|arrival| arrival.json()["data"].clone()).collect();
    changes.sort_by_key(|data| data["page"]["revision"].as_u64());
    assert_eq!(changes[0]["changes"], json!(["/title"]));
    assert_eq!(changes[1]["page"]["previous_revision"], changes[0]["page"]["revision"]);
}

#[test]
fn account_that_fails_delays_events_and_loses_none() {
    let (site, receiver, _) = start();
    site.faults.set(ACCOUNT, Fate::Fail);
    // A redirect needs only the snapshot.
    site.visit(&site.link(0));
    until(|| outbox(&site) == 1);
    site.faults.set(ACCOUNT, Fate::Pass);
    let arrivals = receiver.wait(1);
    assert_eq!(arrivals[0].json()["data"]["click"]["link"]["title"], "News");
}

#[test]
fn call_without_webhooks_is_503_and_changes_nothing() {
    let (site, _receiver, hook) = start();
    site.faults.set(WEBHOOKS, Fate::Fail);
    for (method, path) in [("GET", "/webhooks".to_owned()), ("DELETE", format!("/webhooks/{}", hook.id))] {
        let refused = site.call(method, &path, &Value::Null);
        assert_eq!((refused.status, &refused.json()["code"]), (503, &json!("webhooks-unavailable")));
        assert!(refused.header("retry-after").is_some() && refused.header("ratelimit").is_some());
    }
    site.faults.set(WEBHOOKS, Fate::Pass);
    assert_eq!(site.get("/webhooks")["data"].as_array().unwrap().len(), 1);
}

#[test]
fn object_that_restarts_goes_on() {
    let (site, receiver, hook) = start();
    site.visit(&site.link(0));
    receiver.wait(1);
    site.faults.set_once(WEBHOOKS, Fate::Restart);
    site.visit(&site.link(0));
    receiver.wait(2);
    assert_eq!(sequences(&receiver), [1, 2]);
    until(|| site.deliveries(&hook).iter().all(|one| one["status"] == "delivered"));
}

#[test]
fn bots_previews_and_own_visits_are_no_events() {
    let (site, receiver, _) = with_endpoint(Site::shared());
    let bot = Request::get(&site.link(0)).header("User-Agent", "Mozilla/5.0 (compatible; Googlebot/2.1)");
    site.send(&bot);
    site.send(&person(&format!("{}?notrack", site.link(0))));
    site.send(&Request { method: "HEAD".to_owned(), ..person(&site.link(0)) });
    site.visit(&site.link(0));
    receiver.wait(1);
    site.events(4);
    until(|| outbox(&site) == 0);
    assert_eq!(sequences(&receiver), [1]);
    let visit = receiver.arrivals()[0].json()["data"]["visit"].to_string();
    assert!(!visit.contains("Mozilla") && !visit.contains("127.0.0.1"), "{visit}");
}

#[test]
fn events_of_a_deleted_page_are_purged() {
    let (site, receiver, hook) = with_endpoint(Site::shared());
    receiver.respond("500 Internal Server Error");
    site.visit(&site.link(0));
    receiver.wait(1);
    assert_eq!(site.call("DELETE", &format!("/pages/{}", site.id()), &Value::Null).status, 204);
    until(|| site.get("/events")["data"] == json!([]));
    let account = site.account.to_string();
    let webhooks = site.webhooks(&account);
    until(|| site.deliveries(&hook)[0]["attempts"][0]["status"] == 500);
    webhooks.sql("UPDATE delivery SET due = 1");
    webhooks.run_alarm();
    until(|| site.deliveries(&hook)[0]["status"] == "dropped");
}

#[test]
fn export_has_webhooks_and_erasure_removes_them() {
    let (site, receiver, hook) = with_endpoint(Site::shared());
    site.visit(&site.link(0));
    receiver.wait(1);
    let export = site.call("GET", "/account/export", &Value::Null).text();
    assert!(export.contains(&format!("\"id\":\"{}\"", hook.id)) && !export.contains("whsec_"), "{export}");
    let erased = site.call("DELETE", &format!("/account/data?confirm={}", site.account), &Value::Null);
    assert_eq!(erased.status, 204, "{}", erased.text());
    let account = site.account.to_string();
    let webhooks = site.webhooks(&account);
    until(|| {
        ["state", "event", "delivery", "page"]
            .iter()
            .all(|table| webhooks.sql(&format!("SELECT * FROM {table}")).is_empty())
    });
    assert_eq!(site.get("/webhooks")["data"], json!([]));
}

#[test]
fn page_of_an_endpoint_gives_it_events_and_no_other_does() {
    let (site, receiver) = (Site::shared(), Receiver::start());
    let slug = unique("bob-page");
    let other = site.call(
        "POST",
        "/pages",
        &json!({"title": "Bob", "slug": slug, "status": "published", "links": [
        {"title": "B", "url": "https://example.com/b"}]}),
    );
    let other = other.json();
    let link = format!("/{slug}/l/{}", other["links"][0]["id"].as_str().unwrap());
    site.hook(&receiver, json!({"events": ["click"], "page_ids": [site.id()]}));
    site.visit(&link);
    site.events_of(other["id"].as_str().unwrap(), 1);
    site.visit(&site.link(0));
    let arrivals = receiver.wait(1);
    assert_eq!(arrivals[0].json()["data"]["page"]["id"], site.page["id"]);
    assert_eq!(site.get("/events")["data"].as_array().unwrap().len(), 1, "the log has only what is wanted");
}
