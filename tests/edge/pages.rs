//! Bio-link pages: the REST API, and what visitors get.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Duration,
};

use serde_json::{Value, json};
use tests::{
    faults::{Fate, Faults, PAGES_GET, PAGES_PUT, SLUG, SLUG_DONE},
    http::{Request, Response},
    keys,
    stack::{Edge, NOWHERE},
    wait::wait_for,
};

/// Returns a name that no other page has.
pub(crate) fn unique(name: &str) -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    format!("{name}-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Issues a key with the plan that has pages. Returns its text and its account.
pub(crate) fn issue(edge: &Edge, account: Option<&str>) -> (String, String) {
    issue_with(edge, "business", account)
}

pub(crate) fn issue_with(edge: &Edge, plan: &str, account: Option<&str>) -> (String, String) {
    let body = json!({
        "email": "ada@example.com", "name": "Ada", "tier": "free", "biolink_plan": plan, "account": account,
        "admin_secret": keys::ADMIN_SECRET,
    });
    let response = Request::post("/v1/keys/issue", &body).send(edge.addr);
    assert_eq!(response.status, 201, "{}", response.text());
    let text = |name: &str| response.json()[name].as_str().unwrap().to_owned();
    (text("key"), text("account"))
}

pub(crate) fn request(method: &str, path: &str, body: &Value) -> Request {
    Request { method: method.to_owned(), ..Request::post(path, body) }
}

pub(crate) fn create(edge: &Edge, key: &str, body: &Value) -> Response {
    Request::post("/pages", body).key(key).send(edge.addr)
}

pub(crate) fn created(edge: &Edge, key: &str, body: &Value) -> (String, String) {
    let response = create(edge, key, body);
    assert_eq!(response.status, 201, "{}", response.text());
    let id = response.json()["id"].as_str().unwrap().to_owned();
    (id, response.header("etag").unwrap().to_owned())
}

pub(crate) fn visit(edge: &Edge, path: &str) -> Response {
    Request::get(path).send(edge.addr)
}

/// Waits until the outbox has told what was decided.
pub(crate) fn until(mut condition: impl FnMut() -> bool) {
    wait_for(Duration::from_secs(30), || condition().then_some(()));
}

fn ada(slug: &str) -> Value {
    json!({"title": "Ada Example", "slug": slug, "status": "published", "links": [
        {"title": "News", "url": "https://example.com/news?a=1"},
        {"title": "Later", "url": "https://example.com/later", "visible_from": "2099-01-01T00:00:00Z"}]})
}

#[test]
fn page_without_a_locale_has_the_language_of_the_request() {
    let edge = Edge::shared();
    let (key, _) = issue(&edge, None);
    let create = |languages: &str| {
        let price = json!({"amount": "1899.00", "currency": "EUR"});
        let item = json!({"title": "Lampa", "url": "https://shop.example.com/1", "price": price});
        let body = json!({"title": "Sklep", "status": "published", "products": {"items": [item]}});
        let created =
            Request::post("/pages", &body).key(&key).header("Accept-Language", languages).send(edge.addr);
        assert_eq!(created.status, 201, "{}", created.text());
        created.json()
    };
    let page = create("pl-PL,pl;q=0.9,en-US;q=0.8");
    assert_eq!(page["locale"], "pl-PL");
    let shown = visit(&edge, &format!("/{}", page["slug"].as_str().unwrap())).text();
    for expected in ["<html lang=\"pl-PL\"", "Zgłoś tę stronę", "1899,00\u{a0}€"] {
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
    assert_eq!(create("*")["locale"], "pl-PL", "as the other page");
}

#[test]
fn page_is_created_visited_changed_and_deleted() {
    let edge = Edge::shared();
    let (key, _) = issue(&edge, None);
    let (slug, later) = (unique("ada"), unique("lovelace"));
    let (here, there) = (format!("/{slug}"), format!("/{later}"));
    let (id, etag) = created(&edge, &key, &ada(&slug));
    let path = format!("/pages/{id}");

    let page = visit(&edge, &here);
    assert_eq!(page.status, 200, "{}", page.text());
    assert!(page.text().contains("<h1>Ada Example</h1>") && !page.text().contains("Later"));
    assert!(page.header("content-security-policy").unwrap().starts_with("default-src 'none'"));
    assert_eq!(visit(&edge, &here.to_uppercase()).status, 200);
    let again = visit(&edge, &here);
    assert_eq!((again.header("etag"), again.header("cache-control")), (None, Some("private, no-cache")));
    assert_ne!(again.body, page.body, "each visit has a single-use image of its own");

    let read = Request::get(&path).key(&key).send(edge.addr);
    assert_eq!((read.status, read.header("etag")), (200, Some(etag.as_str())));
    let unchanged = Request::get(&path).key(&key).header("If-None-Match", &etag).send(edge.addr);
    assert_eq!(unchanged.status, 304);
    let links = read.json()["links"].clone();
    let link = |n: usize| format!("{here}/l/{}", links[n]["id"].as_str().unwrap());
    let followed = visit(&edge, &link(0));
    assert_eq!((followed.status, followed.header("location")), (302, Some("https://example.com/news?a=1")));
    assert_eq!(followed.header("cache-control"), Some("no-store"));
    assert_eq!(visit(&edge, &link(1)).status, 404, "not yet");

    let patched = request("PATCH", &path, &json!({"slug": later, "title": "Ada L.", "status": "published"}))
        .key(&key)
        .header("If-Match", &etag)
        .send(edge.addr);
    assert_eq!((patched.status, &patched.json()["status"]), (200, &json!("published")), "{}", patched.text());
    until(|| {
        let moved = visit(&edge, &here);
        moved.status == 301 && moved.header("location") == Some(there.as_str())
    });
    until(|| visit(&edge, &there).text().contains("<h1>Ada L.</h1>"));
    let late = request("PATCH", &path, &json!({"title": "x"})).key(&key).header("If-Match", &etag);
    assert_eq!(late.send(edge.addr).code(), "revision-mismatch");

    assert_eq!(Request::new("DELETE", &path).key(&key).send(edge.addr).status, 204);
    assert_eq!(Request::get(&path).key(&key).send(edge.addr).code(), "page-unknown");
    until(|| visit(&edge, &there).status == 410);
    assert_eq!(visit(&edge, "/never").status, 404);
}

#[test]
fn page_with_faults_is_422_naming_each() {
    let edge = Edge::shared();
    let (key, _) = issue(&edge, None);
    let body = json!({"username": "ada", "links": [{"title": "x", "url": "javascript:alert(1)", "is_enabled": true}],
        "theme": {"light": {"fg": "#999"}}});
    let response = create(&edge, &key, &body);
    assert_eq!((response.status, response.code().as_str()), (422, "fields-invalid"));
    let errors = response.json()["errors"].clone();
    let errors: Vec<_> = errors.as_array().unwrap().iter().map(|e| e["pointer"].as_str().unwrap()).collect();
    let expected = ["#/title", "#/theme/light", "#/links/0/url", "#/links/0/is_enabled", "#/username"];
    assert_eq!(errors, expected, "{}", response.text());
}

/// Returns the statuses of requests that are sent at the same time.
fn at_once(edge: &Edge, requests: Vec<Request>) -> Vec<u16> {
    thread::scope(|scope| {
        let sent: Vec<_> =
            requests.into_iter().map(|request| scope.spawn(move || request.send(edge.addr).status)).collect();
        sent.into_iter().map(|sent| sent.join().unwrap()).collect()
    })
}

fn count(statuses: &[u16], status: u16) -> usize {
    statuses.iter().filter(|other| **other == status).count()
}

#[test]
fn one_of_fifty_puts_with_one_etag_wins() {
    let edge = Edge::shared();
    let (key, _) = issue(&edge, None);
    let slug = unique("ada");
    let (id, etag) = created(&edge, &key, &ada(&slug));
    let put = |n: u32| {
        let body = json!({"title": format!("Ada {n}"), "slug": format!("{slug}-{n}")});
        request("PUT", &format!("/pages/{id}"), &body).key(&key).header("If-Match", &etag)
    };
    let statuses = at_once(&edge, (0..50).map(put).collect());
    assert_eq!((count(&statuses, 200), count(&statuses, 412)), (1, 49), "{statuses:?}");
}

#[test]
fn one_of_forty_creations_gets_the_last_place() {
    let edge = Edge::shared();
    let (key, _) = issue(&edge, None);
    for _ in 0..24 {
        created(&edge, &key, &json!({"title": "x"}));
    }
    let post = Request::post("/pages", &json!({"title": "y"})).key(&key);
    let statuses = at_once(&edge, vec![post; 40]);
    assert_eq!((count(&statuses, 201), count(&statuses, 403)), (1, 39), "{statuses:?}");
    let account = Request::get("/account").key(&key).send(edge.addr).json();
    assert_eq!(account["pages"], json!({"used": 25, "limit": 25}));
}

#[test]
fn one_of_two_accounts_gets_a_slug() {
    let edge = Edge::shared();
    let holders = [issue(&edge, None).0, issue(&edge, None).0];
    let body = json!({"title": "x", "slug": unique("wanted")});
    let posts = (0..20).map(|n| Request::post("/pages", &body).key(&holders[n % 2])).collect();
    let statuses = at_once(&edge, posts);
    assert_eq!((count(&statuses, 201), count(&statuses, 409)), (1, 19), "{statuses:?}");
    let refused = create(&edge, &holders[0], &body);
    assert_eq!(refused.code(), "slug-taken");
    let free = refused.json()["suggestions"][0].as_str().unwrap().to_owned();
    assert_eq!(create(&edge, &holders[0], &json!({"title": "x", "slug": free})).status, 201);
}

#[test]
fn key_needs_the_plan_and_may_share_an_account() {
    let edge = Edge::shared();
    let (poor, _) = issue_with(&edge, "standard", None);
    let refused = create(&edge, &poor, &ada(&unique("ada")));
    assert_eq!((refused.status, refused.code().as_str()), (403, "plan-required"));
    assert!(refused.text().contains("PATCH /v1/keys/{id}"));
    let account = Request::get("/account").key(&poor).send(edge.addr);
    assert_eq!((account.status, &account.json()["analytics"]["window_days"]), (200, &json!(90)));
    assert_eq!(Request::get("/pages").send(edge.addr).code(), "key-missing");

    let (first, account) = issue(&edge, None);
    let (second, shared) = issue(&edge, Some(&account));
    assert_eq!(account, shared);
    let (id, _) = created(&edge, &first, &ada(&unique("ada")));
    let listed = Request::get("/pages").key(&second).send(edge.addr);
    assert_eq!((&listed.json()["data"][0]["id"], listed.status), (&json!(id), 200));
    assert_eq!(listed.header("ratelimit-policy"), Some("\"hour\";q=1000;w=3600"));
    assert!(listed.header("ratelimit").unwrap().starts_with("\"hour\";r=998;t="), "{listed:?}");
    let (other, _) = issue(&edge, None);
    assert_eq!(Request::get(&format!("/pages/{id}")).key(&other).send(edge.addr).code(), "page-unknown");
}

#[test]
fn links_and_revisions_are_changed_under_one_etag() {
    let edge = Edge::shared();
    let (key, _) = issue(&edge, None);
    let (id, etag) = created(&edge, &key, &ada(&unique("ada")));
    let links = format!("/pages/{id}/links");
    let send = |request: Request| {
        let response = request.key(&key).send(edge.addr);
        assert_eq!(response.status, 200, "{}", response.text());
        (response.json(), response.header("etag").unwrap().to_owned())
    };
    let added = Request::post(&links, &json!({"title": "3", "url": "https://example.com/3"}));
    let (page, second) = send(added.clone().header("If-Match", &etag));
    assert_eq!(added.key(&key).header("If-Match", &etag).send(edge.addr).status, 412);
    let ids: Vec<_> = page["links"].as_array().unwrap().iter().map(|link| link["id"].clone()).collect();
    let order = json!({"order": [ids[2], ids[1], ids[0]]});
    let (page, third) = send(request("PUT", &format!("{links}/order"), &order).header("If-Match", &second));
    assert_eq!(page["links"][0]["id"], ids[2]);
    let one = format!("{links}/{}", ids[2].as_str().unwrap());
    let (page, _) = send(request("PATCH", &one, &json!({"title": "Third"})).header("If-Match", &third));
    assert_eq!(page["links"][0]["title"], "Third");
    let (page, _) = send(Request::new("DELETE", &one));
    assert_eq!(page["links"].as_array().map(Vec::len), Some(2));
    let (page, _) = send(Request::new("POST", &format!("/pages/{id}/revisions/1/restore")));
    assert_eq!((&page["links"][0]["title"], &page["revision"]), (&json!("News"), &json!(6)));
}

#[test]
fn retry_with_an_idempotency_key_makes_one_page() {
    let edge = Edge::shared();
    let (key, _) = issue(&edge, None);
    let post = Request::post("/pages", &ada(&unique("ada"))).key(&key).header("Idempotency-Key", "order-17");
    let first = post.send(edge.addr);
    let again = post.send(edge.addr);
    assert_eq!((first.status, again.status), (201, 201), "{}", again.text());
    assert_eq!((first.body, again.header("idempotency-replayed")), (again.body.clone(), Some("true")));
    let other =
        Request::post("/pages", &json!({"title": "x"})).key(&key).header("Idempotency-Key", "order-17");
    assert_eq!(other.send(edge.addr).code(), "idempotency-key-reused");
    let slug = unique("try-it");
    let tried = Request::post("/pages?dry_run=true", &json!({"title": "Try", "slug": slug})).key(&key);
    assert_eq!((tried.send(edge.addr).status, visit(&edge, &format!("/{slug}")).status), (200, 404));
    assert_eq!(Request::get("/pages").key(&key).send(edge.addr).json()["total"], 1);
}

/// KV caches absence: a page that was just published may be looked up in vain.
#[test]
fn published_page_is_shown_while_kv_reports_it_absent_or_fails() {
    let faults = Faults::start();
    let edge = Edge::start_with_faults(NOWHERE, &faults);
    let (key, _) = issue(&edge, None);
    faults.set(PAGES_GET, Fate::Absent);
    created(&edge, &key, &ada("ada"));
    for _ in 0..3 {
        assert_eq!(visit(&edge, "/ada").status, 200);
        assert_eq!(visit(&edge, "/nobody").status, 404);
    }
    faults.set(PAGES_GET, Fate::Fail);
    assert_eq!(visit(&edge, "/ada").status, 200);
}

/// Visitors who opened the address too early have put its absence into every cache.
#[test]
fn page_is_live_at_once_after_visits_to_its_draft() {
    let edge = Edge::shared();
    let (key, _) = issue(&edge, None);
    let slug = unique("ada");
    let path = format!("/{slug}");
    let mut draft = ada(&slug);
    draft["status"] = "draft".into();
    let (id, _) = created(&edge, &key, &draft);
    for _ in 0..3 {
        assert_eq!(visit(&edge, &path).status, 404);
    }
    let published = Request::new("POST", &format!("/pages/{id}/publish")).key(&key).send(edge.addr);
    assert_eq!(published.status, 200, "{}", published.text());
    assert_eq!(visit(&edge, &path).status, 200);
}

/// A snapshot that KV does not take is written again.
#[test]
fn snapshot_is_written_once_kv_takes_it() {
    let faults = Faults::start();
    let edge = Edge::start_with_faults(NOWHERE, &faults);
    let (key, _) = issue(&edge, None);
    faults.set_once(PAGES_PUT, Fate::Fail);
    created(&edge, &key, &ada("ada"));
    // The page's slug, its code, and the one that failed again.
    until(|| faults.count(PAGES_PUT) >= 3);
    assert_eq!(visit(&edge, "/ada").status, 200);
}

#[test]
fn account_is_kept_over_a_restart() {
    let edge = Edge::start_stored(NOWHERE);
    let (key, _) = issue(&edge, None);
    let (id, etag) = created(&edge, &key, &ada("ada"));
    let edge = edge.restart(NOWHERE);
    let read = Request::get(&format!("/pages/{id}")).key(&key).send(edge.addr);
    assert_eq!((read.status, read.header("etag")), (200, Some(etag.as_str())), "{}", read.text());
    assert_eq!(visit(&edge, "/ada").status, 200);
    assert_eq!(create(&edge, &issue(&edge, None).0, &ada("ada")).code(), "slug-taken");
}

/// The account gives up after two seconds and takes the claim back, and the claim arrives behind that.
#[test]
fn slug_claim_that_arrives_late_leaves_slug_free() {
    let faults = Faults::start();
    let edge = Edge::start_with_faults(NOWHERE, &faults);
    let ((ada, _), (bob, _)) = (issue(&edge, None), issue(&edge, None));
    let body = json!({ "title": "Ada", "slug": "ada" });
    faults.set_once(SLUG, Fate::Late { ms: 4_000 });
    assert_eq!(create(&edge, &ada, &body).status, 503);
    until(|| faults.count(SLUG_DONE) == 1);
    let created = create(&edge, &bob, &body);
    assert_eq!(created.status, 201, "{}", created.text());
}
