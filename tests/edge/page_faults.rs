//! Pages while the object of an account, a slug, a product source or the reports fails, and after its
//! reply was lost.

use serde_json::{Value, json};
use tests::{
    faults::{ACCOUNT, Fate, Faults, PAGES_GET, PRODUCT_SOURCE, REPORTS, SLUG, SLUG_DONE},
    http::{Request, Response},
    keys,
    objects::Object,
    stack::{Edge, NOWHERE},
};

use super::{
    pages::{created, issue, until, visit},
    product_push::{standard, with_push},
    product_sync::{Store, rss},
    site::Site,
};

fn assert_unavailable(response: &Response) {
    assert_eq!(
        (response.status, response.code().as_str()),
        (503, "pages-unavailable"),
        "{}",
        response.text()
    );
    assert_eq!(response.header("retry-after"), Some("1"));
}

fn post(key: &str, slug: &str) -> Request {
    let page = json!({"title": "Ada", "slug": slug, "status": "published"});
    Request::post("/pages", &page).key(key).header("Idempotency-Key", "one")
}

/// The slug is held until the account has taken the claim back, which it does immediately.
#[test]
fn slug_claim_whose_reply_is_lost_can_be_repeated() {
    let faults = Faults::start();
    let edge = Edge::start_with_faults(NOWHERE, &faults);
    let (key, _) = issue(&edge, None);
    faults.set_once(SLUG, Fate::LoseReply);
    assert_unavailable(&post(&key, "ada").send(edge.addr));
    assert_eq!(faults.count(SLUG_DONE), 1, "the slug was claimed");
    until(|| post(&key, "ada").send(edge.addr).status == 201);
    assert_eq!(visit(&edge, "/ada").status, 200);
    let replayed = post(&key, "ada").send(edge.addr);
    assert_eq!((replayed.status, replayed.header("idempotency-replayed")), (201, Some("true")));
    assert_eq!(Request::get("/pages").key(&key).send(edge.addr).json()["total"], 1);
}

/// What the slug remembers of a claim is stored before its reply leaves.
#[test]
fn slug_object_restarted_after_a_claim_knows_it() {
    let faults = Faults::start();
    let edge = Edge::start_with_faults(NOWHERE, &faults);
    let ((ada, _), (bob, _)) = (issue(&edge, None), issue(&edge, None));
    let restart = || Object::slug(&edge, "ada").restart();

    faults.set_once(SLUG, Fate::LoseReply);
    assert_unavailable(&post(&ada, "ada").send(edge.addr));
    restart();
    until(|| post(&bob, "ada").send(edge.addr).status == 201);

    restart();
    assert_eq!(post(&ada, "ada").send(edge.addr).code(), "slug-taken");
    faults.set(PAGES_GET, Fate::Absent);
    faults.set_once(SLUG, Fate::Restart);
    assert_eq!(visit(&edge, "/ada").status, 200, "the slug knows its page");
}

/// It changes by the call, and by what happened to the tasks: they are settled together. What is due is
/// only read.
#[test]
fn publication_writes_the_account_as_often_as_it_changes() {
    let faults = Faults::start();
    let edge = Edge::start_with_faults(NOWHERE, &faults);
    let (key, id) = issue(&edge, None);
    let hook = json!({"url": "https://hooks.example.com/", "events": ["page_published"]});
    assert_eq!(Request::post("/webhooks", &hook).key(&key).send(edge.addr).status, 201);
    let (page, _) = created(&edge, &key, &json!({"title": "Ada", "slug": "ada"}));
    let account = Object::account(&edge, &id);
    let tasks = || account.sql("SELECT json_array_length(j, '$.outbox') FROM state")[0][0].as_u64().unwrap();
    until(|| tasks() == 0);
    account.sql("CREATE TABLE written (at)");
    account.sql("CREATE TRIGGER counted AFTER UPDATE ON state BEGIN INSERT INTO written VALUES (1); END");
    let publish = Request::post(&format!("/pages/{page}/publish"), &json!({})).key(&key);
    assert_eq!(publish.send(edge.addr).status, 200);
    until(|| tasks() == 0);
    assert_eq!(visit(&edge, "/ada").status, 200);
    assert_eq!(account.sql("SELECT COUNT(*) FROM written")[0][0], 2);
}

/// The account has the page, and the client cannot know it.
#[test]
fn creation_whose_reply_is_lost_is_replayed() {
    let faults = Faults::start();
    let edge = Edge::start_with_faults(NOWHERE, &faults);
    let (key, _) = issue(&edge, None);
    faults.set_once(ACCOUNT, Fate::LoseReply);
    let lost = post(&key, "ada").send(edge.addr);
    assert_unavailable(&lost);
    assert!(lost.text().contains("may have been made"), "{}", lost.text());
    let replayed = post(&key, "ada").send(edge.addr);
    assert_eq!((replayed.status, replayed.header("idempotency-replayed")), (201, Some("true")));
    assert_eq!(Request::get("/pages").key(&key).send(edge.addr).json()["total"], 1);
}

fn report(site: &Site) -> Response {
    let form = Request::new("POST", &site.at("/report")).header("CF-Connecting-IP", "192.0.2.7");
    let form = form.header("Content-Type", "application/x-www-form-urlencoded").header("Accept", "text/html");
    site.send(&form.body("reason=spam&details=x"))
}

fn kept(site: &Site) -> usize {
    let listed = Request::get(&format!("/admin/reports?page={}", site.id()));
    let listed = listed.header("Authorization", &format!("Bearer {}", keys::ADMIN_SECRET));
    site.send(&listed).json()["reports"].as_array().unwrap().len()
}

/// A report whose reply is lost is kept, and sending it again takes another of the sender's three.
#[test]
fn report_is_503_with_its_object_down_and_page_is_served() {
    let site = Site::start();
    for (fate, expected) in [(Fate::Fail, 0), (Fate::Hang, 0), (Fate::LoseReply, 1)] {
        site.faults.set_once(REPORTS, fate);
        let refused = report(&site);
        assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")), "{fate:?}");
        assert!(refused.text().starts_with("<!DOCTYPE html>"), "{}", refused.text());
        assert_eq!((site.visit(&site.path), kept(&site)), (200, expected), "{fate:?}");
    }
    site.faults.set_once(REPORTS, Fate::Restart);
    assert_eq!((report(&site).status, kept(&site)), (200, 2));
    assert_eq!((report(&site).status, report(&site).status), (200, 429));
}

#[test]
fn product_source_that_fails_is_503_and_page_is_served() {
    let store = Store::start();
    store.shop.set("/feed", rss(&["Mug"]));
    let id = store.create_for("/feed", json!({}));
    store.wait_for_titles(&["Mug"]);
    store.site.faults.set(PRODUCT_SOURCE, Fate::Fail);
    for (method, rest) in [
        ("GET", String::new()),
        ("GET", format!("/{id}")),
        ("GET", format!("/{id}/runs")),
        ("POST", format!("/{id}/refresh")),
    ] {
        assert_unavailable(&store.call(method, &rest, &Value::Null));
    }
    assert_eq!(store.titles(), ["Engine", "Mug"]);
    // The account has a new source, and tells its object as soon as that responds.
    let made = store.create(&json!({"url": store.shop.url("/other")}));
    store.shop.set("/other", rss(&["Pot"]));
    store.site.faults.set(PRODUCT_SOURCE, Fate::Far { ms: 500 });
    store.wait_for_runs(made["id"].as_str().unwrap(), 1);
    store.wait_for_titles(&["Mug", "Pot"]);
    assert_eq!(store.read(&id)["id"], json!(id));
}

/// The source has the push. The shop repeats it.
#[test]
fn push_whose_reply_is_lost_is_taken_once() {
    let store = Store::start();
    let (id, secret) = with_push(&store, json!({}));
    let mug = json!({"external_id": "m", "title": "Mug", "url": "https://shop.example/m"});
    let push = || standard(&store, &id, &secret, "msg_1", &json!({ "upsert": [mug] }).to_string());
    store.site.faults.set_once(PRODUCT_SOURCE, Fate::LoseReply);
    assert_unavailable(&push());
    store.wait_for_titles(&["Mug"]);
    store.site.faults.set_once(PRODUCT_SOURCE, Fate::Restart);
    let again = push();
    assert_eq!((again.status, &again.json()["result"]), (200, &json!("ignored")));
    assert_eq!(store.titles(), ["Engine", "Mug"]);
}
