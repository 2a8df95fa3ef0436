//! What the operator does against abuse, and what owners may do with their data: suspensions, the
//! deny list of hosts, export and erasure.

use std::{fs, path::Path, process::Command};

use biolink::{page::PageId, route::AdminEndpoint};
use serde_json::{Value, json};
use shared::key::KeyId;
use tests::{
    faults::{ACCOUNT, Fate, Faults, PAGES_DELETE, PAGES_GET, PAGES_PUT},
    http::{Request, Response},
    keys,
    stack::{Edge, NOWHERE},
};

use super::pages::{create, created, issue, issue_with, request, unique, until, visit};

pub(super) fn administer(edge: &Edge, method: &str, path: &str, body: Option<&Value>) -> Response {
    let plain = body.map_or_else(|| Request::new(method, path), |body| request(method, path, body));
    plain.header("Authorization", &format!("Bearer {}", keys::ADMIN_SECRET)).send(edge.addr)
}

/// Creates a page with one link. Returns its id and the path of the link.
pub(super) fn page_with_link(edge: &Edge, key: &str, slug: &str, url: &str) -> (String, String) {
    let body = json!({"title": "Ada", "slug": slug, "status": "published", "links": [{"title": "News", "url": url}]});
    let response = create(edge, key, &body);
    assert_eq!(response.status, 201, "{}", response.text());
    let page = response.json();
    let link = page["links"][0]["id"].as_str().unwrap();
    (page["id"].as_str().unwrap().to_owned(), format!("/{slug}/l/{link}"))
}

fn is_gone(response: &Response) -> bool {
    response.status == 410 && response.header("x-robots-tag") == Some("noindex")
}

#[test]
fn every_administrative_route_needs_the_admin_secret() {
    let edge = Edge::start(NOWHERE);
    for endpoint in AdminEndpoint::ALL {
        let path = endpoint
            .path()
            .replace("{page_id}", &PageId::new([1; 12]).to_string())
            .replace("{id}", &KeyId::new([1; 12]).to_string());
        let method = endpoint.method().as_str();
        let bare = request(method, &path, &json!({}));
        assert_eq!(bare.send(edge.addr).code(), "admin-required", "{method} {path}");
        let wrong = bare.header("Authorization", "Bearer wrong").send(edge.addr);
        assert!(["admin-secret-invalid", "attempts-exceeded"].contains(&&*wrong.code()), "{}", wrong.text());
    }
}

/// KV takes no write, so only the account can know.
#[test]
fn links_of_a_suspended_page_stop_before_kv_knows() {
    let faults = Faults::start();
    let edge = Edge::start_with_faults(NOWHERE, &faults);
    let (key, _) = issue(&edge, None);
    let (id, link) = page_with_link(&edge, &key, "ada", "https://example.com/news");
    until(|| faults.count(PAGES_PUT) >= 2);
    let before = visit(&edge, "/ada");
    assert_eq!((before.status, visit(&edge, &link).status), (200, 302));

    faults.set(PAGES_PUT, Fate::Fail);
    let path = format!("/admin/pages/{id}");
    let suspended =
        administer(&edge, "POST", &format!("{path}/suspend"), Some(&json!({"reason": "phishing"})));
    assert_eq!((suspended.status, &suspended.json()["suspension"]["reason"]), (200, &json!("phishing")));
    let stopped = visit(&edge, &link);
    assert!(is_gone(&stopped), "{} {}", stopped.status, stopped.text());
    assert!(!stopped.text().contains("phishing"));
    assert_eq!(visit(&edge, "/ada").status, 200, "KV knows nothing yet");
    faults.set(PAGES_PUT, Fate::Pass);
    until(|| is_gone(&visit(&edge, "/ada")));

    let read = Request::get(&format!("/pages/{id}")).key(&key).send(edge.addr);
    assert_eq!((read.status, &read.json()["suspended"]), (200, &json!(true)));
    assert!(!read.text().contains("phishing"));
    let publish = Request::new("POST", &format!("/pages/{id}/publish")).key(&key).send(edge.addr);
    assert_eq!((publish.status, publish.code().as_str()), (403, "page-suspended"));
    assert_eq!(administer(&edge, "GET", &path, None).json()["suspension"]["reason"], "phishing");
    let by_slug = administer(&edge, "GET", "/admin/pages/ada", None).json();
    assert_eq!((by_slug["id"].as_str(), &by_slug["suspended"]), (Some(id.as_str()), &json!(true)));

    let restored = administer(&edge, "POST", "/admin/pages/ada/restore", None);
    assert_eq!((restored.status, &restored.json()["suspension"]), (200, &Value::Null));
    until(|| visit(&edge, "/ada").status == 200);
    let (after, followed) = (visit(&edge, "/ada"), visit(&edge, &link));
    // The single-use image at the end is new for each visit.
    let content = |page: &Response| page.text().split("/seen/").next().map(str::to_owned);
    assert_eq!(content(&after), content(&before));
    assert_eq!((followed.status, followed.header("location")), (302, Some("https://example.com/news")));
    let bad = administer(&edge, "POST", "/admin/pages/ada/suspend", Some(&json!({"reason": 7, "why": "x"})));
    assert_eq!((bad.status, bad.json()["errors"].as_array().map(Vec::len)), (422, Some(2)));
    assert_eq!(administer(&edge, "POST", "/admin/pages/nobody/suspend", None).code(), "page-unknown");
}

#[test]
fn links_lead_on_while_the_account_does_not_respond() {
    let faults = Faults::start();
    let edge = Edge::start_with_faults(NOWHERE, &faults);
    let (key, _) = issue(&edge, None);
    let (_, link) = page_with_link(&edge, &key, "ada", "https://example.com/news");
    until(|| faults.count(PAGES_PUT) >= 2);
    for fate in [Fate::Fail, Fate::Hang, Fate::Overloaded] {
        faults.set(ACCOUNT, fate);
        assert_eq!(visit(&edge, &link).status, 302, "{fate:?}");
    }
}

#[test]
fn suspended_account_shows_none_of_its_pages() {
    let edge = Edge::shared();
    let (key, account) = issue(&edge, None);
    let (shared, _) = issue(&edge, Some(&account));
    let [ada, bob, eve] = ["ada", "bob", "eve"].map(unique);
    let at = |slug: &str| visit(&edge, &format!("/{slug}"));
    let (_, link) = page_with_link(&edge, &key, &ada, "https://example.com/news");
    page_with_link(&edge, &shared, &bob, "https://example.com/news");
    let (other, _) = issue(&edge, None);
    page_with_link(&edge, &other, &eve, "https://example.com/news");
    let path = format!("/admin/accounts/{account}");
    let suspended = administer(&edge, "POST", &format!("{path}/suspend"), None);
    assert_eq!((suspended.status, suspended.json()["pages"].as_array().map(Vec::len)), (200, Some(2)));
    assert!(is_gone(&visit(&edge, &link)));
    until(|| is_gone(&at(&ada)) && is_gone(&at(&bob)));
    assert_eq!(at(&eve).status, 200);
    let seen = Request::get("/account").key(&shared).send(edge.addr).json();
    assert_eq!(seen["suspended"], true);
    let body = json!({"title": "x", "status": "published"});
    assert_eq!(create(&edge, &shared, &body).code(), "page-suspended");
    assert_eq!(administer(&edge, "POST", &format!("{path}/restore"), None).json()["suspended"], false);
    until(|| at(&ada).status == 200 && at(&bob).status == 200);
    let unknown = format!("/admin/accounts/{}/suspend", KeyId::new([9; 12]));
    assert_eq!(administer(&edge, "POST", &unknown, None).code(), "key-unknown");
}

#[test]
fn denied_host_is_refused_at_write_and_at_redirect() {
    let edge = Edge::start_stored(NOWHERE);
    let (key, _) = issue(&edge, None);
    let (id, link) = page_with_link(&edge, &key, "ada", "https://www.evil.example/login");
    let (_, good) = page_with_link(&edge, &key, "bob", "https://example.com/");
    assert_eq!(visit(&edge, &link).status, 302);
    let path = "/admin/denied-hosts";
    let hosts = json!({"hosts": ["Evil.example", "a.evil.example"]});
    let replaced = administer(&edge, "PUT", path, Some(&hosts));
    assert_eq!(
        (replaced.status, &replaced.json()["hosts"]),
        (200, &json!(["evil.example"])),
        "{}",
        replaced.text()
    );

    let check = |edge: &Edge| {
        assert!(is_gone(&visit(edge, &link)));
        assert_eq!(visit(edge, &good).status, 302);
        let page = visit(edge, "/ada");
        assert!(page.status == 200 && !page.text().contains("News"), "{}", page.text());
        let body = json!({"title": "x", "links": [{"title": "x", "url": "https://evil.example/"}]});
        let refused = create(edge, &key, &body);
        assert_eq!((refused.status, &refused.json()["errors"][0]["pointer"]), (422, &json!("#/links/0/url")));
        assert!(refused.text().contains("evil.example"));
        let renamed = request("PATCH", &format!("/pages/{id}"), &json!({"title": "Ada L."})).key(&key);
        assert_eq!(renamed.send(edge.addr).status, 200);
        assert_eq!(administer(edge, "GET", path, None).json()["hosts"], json!(["evil.example"]));
    };
    check(&edge);
    let edge = edge.restart(NOWHERE);
    check(&edge);

    let bad = administer(&edge, "PUT", path, Some(&json!({"hosts": ["https://a.example", "b"], "x": 1})));
    let pointers: Vec<_> = bad.json()["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| e["pointer"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        (bad.status, pointers.as_slice()),
        (422, &["#/hosts/0", "#/hosts/1", "#/x"].map(str::to_owned)[..])
    );
    assert_eq!(administer(&edge, "PUT", path, Some(&json!({"hosts": []}))).status, 200);
    assert_eq!(visit(&edge, &link).status, 302);
}

#[test]
fn deny_list_is_kept_while_kv_fails() {
    let faults = Faults::start();
    let edge = Edge::start_with_faults(NOWHERE, &faults);
    faults.set(PAGES_GET, Fate::Fail);
    let (key, _) = issue(&edge, None);
    let (_, link) = page_with_link(&edge, &key, "ada", "https://evil.example/");
    assert_eq!(visit(&edge, &link).status, 302, "an isolate that has never seen the list denies nothing");
    let hosts = json!({"hosts": ["evil.example"]});
    for fate in [Fate::Fail, Fate::Hang] {
        faults.set(PAGES_PUT, fate);
        let failed = administer(&edge, "PUT", "/admin/denied-hosts", Some(&hosts));
        assert_eq!((failed.status, failed.code().as_str()), (503, "pages-unavailable"), "{fate:?}");
        assert_eq!(visit(&edge, &link).status, 302, "nothing was changed");
    }
    faults.set(PAGES_PUT, Fate::Pass);
    assert_eq!(administer(&edge, "PUT", "/admin/denied-hosts", Some(&hosts)).status, 200);
    assert!(is_gone(&visit(&edge, &link)), "the copy in memory holds while KV fails");
    assert_eq!(administer(&edge, "GET", "/admin/denied-hosts", None).status, 503);
}

fn lines(response: &Response) -> Vec<Value> {
    assert_eq!((response.status, response.header("content-type")), (200, Some("application/x-ndjson")));
    response.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn export_reads_back_into_the_same_pages() {
    let edge = Edge::shared();
    let (key, account) = issue(&edge, None);
    let pages: Vec<_> =
        (0..3).map(|_| page_with_link(&edge, &key, &unique("page"), "https://example.com/").0).collect();
    let path = format!("/pages/{}", pages[1]);
    let patched =
        request("PATCH", &path, &json!({"title": "\u{fc}\u{1f600}", "metadata": {"k": "v"}})).key(&key);
    assert_eq!(patched.send(edge.addr).status, 200);

    let export = Request::get("/account/export").key(&key).send(edge.addr);
    assert!(export.header("ratelimit").is_some());
    let lines = lines(&export);
    let kinds: Vec<_> = lines.iter().map(|line| line["object"].as_str().unwrap()).collect();
    let expected =
        ["account", "key", "page", "revision", "page", "revision", "revision", "page", "revision", "end"];
    assert_eq!(kinds, expected);
    assert_eq!((&lines[0]["id"], &lines[1]["holder"]["email"]), (&json!(account), &json!("ada@example.com")));
    for line in lines.iter().filter(|line| line["object"] == "page") {
        let path = format!("/pages/{}", line["id"].as_str().unwrap());
        let read = Request::get(&path).key(&key).send(edge.addr);
        assert_eq!(read.json(), *line);
        let back = request("PUT", &path, line).key(&key).send(edge.addr);
        assert_eq!(back.json()["revision"], line["revision"], "nothing changes: {}", back.text());
    }
    for line in lines.iter().filter(|line| line["object"] == "revision") {
        let (page, number) = (line["page"].as_str().unwrap(), line["revision"].as_u64().unwrap());
        let read =
            Request::get(&format!("/pages/{page}/revisions/{number}")).key(&key).send(edge.addr).json();
        assert_eq!((&read["document"], &read["metadata"]), (&line["document"], &line["metadata"]));
    }
    let (poor, _) = issue_with(&edge, "none", None);
    let empty = Request::get("/account/export").key(&poor).send(edge.addr);
    assert_eq!(self::lines(&empty).len(), 3, "every plan may export");
}

/// Returns the files below a folder that hold a text. Of databases it looks at the rows, because
/// the file and its log keep bytes of what was deleted until they are overwritten.
fn files_with(folder: &Path, text: &str) -> Vec<String> {
    const DUMP: &str = "import sqlite3, sys; print(*sqlite3.connect(sys.argv[1]).iterdump(), sep='\\n')";
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        let bytes = match extension {
            _ if path.is_dir() => {
                found.extend(files_with(&path, text));
                continue;
            }
            "sqlite-wal" | "sqlite-shm" => continue,
            "sqlite" => {
                let dumped = Command::new("python3").args(["-c", DUMP]).arg(&path).output().unwrap();
                assert!(dumped.status.success(), "{}", String::from_utf8_lossy(&dumped.stderr));
                dumped.stdout
            }
            _ => fs::read(&path).unwrap(),
        };
        if bytes.windows(text.len()).any(|part| part == text.as_bytes()) {
            found.push(path.display().to_string());
        }
    }
    found
}

#[test]
fn erased_account_leaves_nothing_in_any_store() {
    let edge = Edge::start_stored(NOWHERE);
    let (key, account) = issue(&edge, None);
    let body = |slug: &str| json!({"title": "Quetzalcoatl", "slug": slug, "status": "published", "metadata": {"note": "Quetzalcoatl"}});
    let post = Request::post("/pages", &body("kept")).key(&key).header("Idempotency-Key", "order-17");
    assert_eq!(post.send(edge.addr).status, 201);
    let (id, _) = created(&edge, &key, &body("gone"));
    assert_eq!(Request::new("DELETE", &format!("/pages/{id}")).key(&key).send(edge.addr).status, 204);
    until(|| visit(&edge, "/kept").status == 200 && visit(&edge, "/gone").status == 410);

    let path = format!("/account/data?confirm={account}");
    let unconfirmed = Request::new("DELETE", "/account/data").key(&key).send(edge.addr);
    assert_eq!((unconfirmed.status, unconfirmed.text().contains(&account)), (422, true));
    let tried = Request::new("DELETE", &format!("{path}&dry_run=true")).key(&key).send(edge.addr);
    assert_eq!((tried.status, visit(&edge, "/kept").status), (204, 200));
    for _ in 0..2 {
        assert_eq!(Request::new("DELETE", &path).key(&key).send(edge.addr).status, 204);
    }
    until(|| visit(&edge, "/kept").status == 404 && visit(&edge, "/gone").status == 404);
    let other = issue(&edge, None).0;
    assert_eq!(create(&edge, &other, &body("kept")).code(), "slug-taken", "for 30 days");
    created(&edge, &other, &json!({"title": "Huitzilopochtli", "status": "published", "slug": "other"}));
    until(|| visit(&edge, "/other").status == 200);
    let account = Request::get("/account").key(&key).send(edge.addr).json();
    assert_eq!(account["pages"]["used"], 0);
    edge.end();
    for text in ["Quetzalcoatl", "page:kept", "page:gone", "order-17"] {
        assert_eq!(files_with(edge.state(), text), Vec::<String>::new(), "{text}");
    }
    let found = files_with(edge.state(), "Huitzilopochtli");
    assert!(["/do/", "/kv/"].iter().all(|part| found.iter().any(|file| file.contains(part))), "{found:?}");
}

#[test]
fn erasure_goes_on_after_kv_has_failed() {
    let faults = Faults::start();
    let edge = Edge::start_with_faults(NOWHERE, &faults);
    let (key, account) = issue(&edge, None);
    page_with_link(&edge, &key, "ada", "https://example.com/");
    until(|| faults.count(PAGES_PUT) >= 2);
    faults.set(PAGES_DELETE, Fate::Fail);
    let path = format!("/account/data?confirm={account}");
    assert_eq!(Request::new("DELETE", &path).key(&key).send(edge.addr).status, 204);
    until(|| faults.count(PAGES_DELETE) >= 2);
    assert_eq!(visit(&edge, "/ada").status, 200, "KV still has it");
    faults.set(PAGES_DELETE, Fate::Pass);
    until(|| visit(&edge, "/ada").status == 404);
    assert_eq!(administer(&edge, "GET", "/admin/pages/ada", None).code(), "page-unknown");
}

/// The key and its account remain, without a person.
#[test]
fn erased_holder_is_in_no_store() {
    let edge = Edge::start_stored(NOWHERE);
    let body = json!({"email": "quetzal@example.com", "name": "Quetzalcoatl", "tier": "pro",
        "limits": {"minute": 5}, "admin_secret": keys::ADMIN_SECRET});
    let issued = Request::post("/v1/keys/issue", &body).header("Idempotency-Key", "order-17").send(edge.addr);
    assert_eq!(issued.status, 201, "{}", issued.text());
    let path = format!("/v1/keys/{}", issued.json()["id"].as_str().unwrap());
    let corrected =
        json!({"holder": {"email": "quetzal@example.com", "name": "Quetzalcoatl II"}, "tier": "free"});
    assert_eq!(
        administer(&edge, "PATCH", &path, Some(&corrected)).json()["holder"]["name"],
        "Quetzalcoatl II"
    );
    let erased = administer(&edge, "PATCH", &path, Some(&json!({"holder": null})));
    assert_eq!((erased.status, &erased.json()["holder"]), (200, &Value::Null));
    until(|| administer(&edge, "GET", "/v1/keys", None).json()["keys"][0]["holder"].is_null());
    edge.end();
    for text in ["Quetzalcoatl", "quetzal@example.com"] {
        assert_eq!(files_with(edge.state(), text), Vec::<String>::new(), "{text}");
    }
    assert!(!files_with(edge.state(), path.trim_start_matches("/v1/keys/")).is_empty(), "the key stays");
}
