//! The console: views are reads of the API, under the same rules.

use serde_json::{Value, json};
use tests::{
    http::{Request, Response},
    keys,
    stack::Edge,
};

use super::pages::{create, issue, request, unique};

fn view(edge: &Edge, path: &str, key: &str) -> Response {
    Request::get(&format!("/console{path}")).key(key).send(edge.addr)
}

fn administer(edge: &Edge, path: &str) -> Response {
    let secret = format!("Bearer {}", keys::ADMIN_SECRET);
    Request::get(&format!("/console{path}")).header("Authorization", &secret).send(edge.addr)
}

#[test]
fn view_is_html_that_no_cache_keeps() {
    let edge = Edge::shared();
    let (key, _) = edge.issue("free");
    let response = view(&edge, "/v1/keys/me", &key);
    assert_eq!(response.status, 200, "{}", response.text());
    assert_eq!(response.header("content-type"), Some("text/html; charset=utf-8"));
    assert_eq!(response.header("cache-control"), Some("no-store"));
    assert_eq!(response.header("x-robots-tag"), Some("noindex"));
    assert!(response.text().contains("ada@example.com"), "{}", response.text());
    assert!(!response.text().contains(&key));
    let head = Request::new("HEAD", "/console/v1/keys/me").key(&key).send(edge.addr);
    assert_eq!((head.status, head.text().as_str()), (200, ""));
}

#[test]
fn console_is_for_pages_of_the_same_origin_only() {
    let edge = Edge::shared();
    let (key, _) = edge.issue("free");
    let is_shared = |method, path| {
        let response =
            Request::new(method, path).key(&key).header("origin", "https://b.example").send(edge.addr);
        let names = ["access-control-allow-origin", "access-control-expose-headers", "timing-allow-origin"];
        names.map(|name| response.header(name).is_some())
    };
    for path in ["/console", "/console/v1/keys/me", "/console/v1/keys", "/console/nothing"] {
        assert_eq!(is_shared("GET", path), [false; 3], "{path}");
        assert_eq!(is_shared("OPTIONS", path), [false; 3], "{path}");
    }
    assert_eq!(is_shared("GET", "/v1/keys/me"), [true; 3]);
}

#[test]
fn kept_key_signs_in_scripts_of_this_origin_only() {
    let edge = Edge::shared();
    let (key, _) = edge.issue("free");
    let kept = Request::new("PUT", "/console/session").key(&key).send(edge.addr);
    let cookie = kept.header("set-cookie").unwrap();
    let (pair, attributes) = cookie.split_once("; ").unwrap();
    assert_eq!((kept.status, attributes), (204, "Path=/; Max-Age=2592000; HttpOnly; SameSite=Strict"));
    assert_eq!(kept.header("cache-control"), Some("no-store"));
    assert!(!pair.contains(&key));
    let status = |method, path, site: &str, target: &str| {
        let request = Request::new(method, path).header("cookie", pair).header("sec-fetch-site", site);
        request.header("sec-fetch-dest", target).send(edge.addr).status
    };
    assert_eq!(status("GET", "/console/v1/keys/me", "same-origin", "empty"), 200);
    assert_eq!(status("GET", "/v1/keys/me", "same-origin", "empty"), 200);
    assert_eq!(status("POST", "/v1/keys/me/rotate", "same-site", "empty"), 401);
    assert_eq!(status("DELETE", "/v1/keys/me", "cross-site", "empty"), 401);
    assert_eq!(status("GET", "/console/v1/keys/me", "same-origin", "document"), 401);
    assert_eq!(status("GET", "/v1/qr/generate", "same-origin", "empty"), 401, "tools take a key only");
    assert_eq!(status("GET", "/v1/keys", "same-origin", "empty"), 401);
    let another = edge.issue("pro").0;
    let own = Request::get("/v1/keys/me").key(&another).header("cookie", pair);
    let own = own.header("sec-fetch-site", "same-origin").header("sec-fetch-dest", "empty").send(edge.addr);
    assert_eq!(own.json()["tier"], "pro", "a key that is sent comes first");
}

#[test]
fn session_begins_with_a_key_and_ends() {
    let edge = Edge::shared();
    let refused = Request::new("PUT", "/console/session").send(edge.addr);
    assert_eq!((refused.status, refused.code().as_str()), (401, "key-missing"));
    assert_eq!(refused.header("set-cookie"), None);
    let state = Request::get("/console/session").send(edge.addr);
    assert_eq!((state.status, state.text().as_str()), (200, r#"{"signed_in":false}"#));
    let ended = Request::new("DELETE", "/console/session").send(edge.addr);
    assert_eq!(ended.status, 204);
    assert!(ended.header("set-cookie").unwrap().starts_with("utg_console=; Path=/; Max-Age=0;"));
}

#[test]
fn view_needs_what_its_read_needs() {
    let edge = Edge::shared();
    let (key, _) = issue(&edge, None);
    let codes = [
        (Request::get("/console/v1/keys/me").send(edge.addr), 401, "key-missing"),
        (view(&edge, "/v1/keys", &key), 401, "admin-required"),
        (view(&edge, "/admin/reports", &key), 401, "admin-required"),
        (view(&edge, "/pages", &edge.issue("free").0), 403, "plan-required"),
        (view(&edge, "/pages/pg_08YYTcdbmMH1lMgsW", &key), 404, "page-unknown"),
        (view(&edge, "/pages?color=red", &key), 422, "fields-invalid"),
        // A table has texts of visitors as they are.
        (view(&edge, "/analytics?format=csv&group_by=page", &key), 404, "route-unknown"),
        (view(&edge, "/v1/usage?format=csv", &key), 404, "route-unknown"),
        (view(&edge, "/v1/usage/calls?format=csv", &key), 404, "route-unknown"),
    ];
    for (response, status, code) in codes {
        assert_eq!((response.status, response.code().as_str()), (status, code));
        assert_eq!(response.header("content-type"), Some("application/problem+json"), "{code}");
        assert_eq!(response.header("cache-control"), Some("no-store"), "{code}");
    }
    let wrong = Request::get("/console/v1/keys").header("Authorization", "Bearer wrong").send(edge.addr);
    assert_eq!(wrong.code(), "admin-secret-invalid");
}

#[test]
fn view_of_another_account_is_not_found() {
    let edge = Edge::shared();
    let ((owner, _), (other, _)) = (issue(&edge, None), issue(&edge, None));
    let page = create(&edge, &owner, &json!({ "title": "Ada", "slug": unique("ada") })).json();
    let path = format!("/pages/{}", page["id"].as_str().unwrap());
    assert_eq!(view(&edge, &path, &owner).status, 200);
    assert_eq!(view(&edge, &path, &other).code(), "page-unknown");
}

#[test]
fn only_reads_with_a_view_are_served() {
    let edge = Edge::shared();
    let (key, _) = issue(&edge, None);
    for path in ["/v1/qr/generate", "/account/export", "/docs", "/v1/keys/issue", "/events", "/ada"] {
        assert_eq!(view(&edge, path, &key).code(), "route-unknown", "{path}");
    }
    for method in ["POST", "DELETE", "PATCH"] {
        let response = Request::new(method, "/console/v1/keys/me").key(&key).send(edge.addr);
        assert_eq!(response.code(), "method-not-allowed", "{method}");
        assert_eq!(response.header("allow"), Some("GET, HEAD, OPTIONS"));
    }
    assert_eq!(view(&edge, "/v1/keys/me", &key).status, 200, "the key was not revoked");
}

/// A view of the pages API is a call like the read behind it, and one of the key's usage is not.
#[test]
fn view_counts_as_its_read() {
    let edge = Edge::shared();
    let (key, _) = issue(&edge, None);
    let remaining = || {
        let response = Request::get("/account").key(&key).send(edge.addr);
        response.json()["calls"]["remaining"].as_u64().unwrap()
    };
    let before = remaining();
    assert_eq!(view(&edge, "/v1/keys/me", &key).status, 200);
    assert_eq!(view(&edge, "/pages", &key).status, 200);
    assert_eq!(before - remaining(), 1, "the view of the pages");
}

#[test]
fn preview_is_free_and_stores_nothing() {
    let edge = Edge::shared();
    let (key, _) = issue(&edge, None);
    let preview =
        |key: &str, body: &Value| request("POST", "/console/preview", body).key(key).send(edge.addr);
    let account = || Request::get("/account").key(&key).send(edge.addr).json();
    let before = account();
    let slug = unique("ada");
    let page = json!({ "title": "Ada", "slug": slug, "status": "published",
        "links": [{ "title": "News", "url": "https://example.com/news" }] });
    let shown = preview(&key, &page);
    assert_eq!((shown.status, shown.header("content-type")), (200, Some("text/html; charset=utf-8")));
    assert!(shown.text().contains("<h1>Ada</h1>") && shown.text().contains("News"), "{}", shown.text());
    assert_eq!(account(), before);
    assert_eq!(Request::get(&format!("/{slug}")).send(edge.addr).status, 404);

    let refused = preview(&key, &json!({ "links": [{ "url": "javascript:alert(1)" }] }));
    assert_eq!((refused.status, refused.code().as_str()), (422, "fields-invalid"));
    assert_eq!(preview(&edge.issue("free").0, &page).code(), "plan-required");
    let without_key = request("POST", "/console/preview", &page).send(edge.addr);
    assert_eq!(without_key.code(), "key-missing");
    let get = view(&edge, "/preview", &key);
    assert_eq!((get.code().as_str(), get.header("allow")), ("method-not-allowed", Some("POST, OPTIONS")));
}

#[test]
fn text_of_a_user_is_shown_as_text() {
    let edge = Edge::shared();
    let (key, account) = issue(&edge, None);
    let title = "<img src=x onerror=alert(1)>";
    let page =
        create(&edge, &key, &json!({ "title": title, "slug": unique("ada"), "status": "published" })).json();
    let id = page["id"].as_str().unwrap();
    let views = [
        view(&edge, "/pages", &key),
        view(&edge, &format!("/pages/{id}"), &key),
        administer(&edge, &format!("/admin/pages/{id}")),
        administer(&edge, &format!("/admin/accounts/{account}")),
    ];
    for response in views {
        let html = response.text();
        assert!(response.status == 200 && html.contains("&lt;img") && !html.contains("<img"), "{html}");
    }
}

#[test]
fn page_of_the_console_needs_no_key() {
    let edge = Edge::shared();
    let page = Request::get("/console").send(edge.addr);
    assert_eq!((page.status, page.header("x-robots-tag")), (200, Some("noindex")));
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
    let script = Request::get("/assets/console.js").send(edge.addr);
    assert_eq!((script.status, script.header("content-type")), (200, Some("text/javascript; charset=utf-8")));
}
