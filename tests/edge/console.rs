//! The console: the files of its web app, the cookie of who stays signed in, and the preview.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tests::{
    http::{Request, Response},
    stack::Edge,
};

use super::pages::{issue, request, unique};

/// What browsers are told of the app: its own files and the service itself, and no text becomes HTML but the preview's.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self'; \
    connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types preview";

/// Returns the folder with the app as it was built.
fn dist() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../portal/web/dist")
}

fn get(edge: &Edge, path: &str) -> Response {
    Request::get(path).send(edge.addr)
}

#[test]
fn address_of_a_view_gets_the_app_under_its_policy() {
    let edge = Edge::shared();
    let built = fs::read_to_string(dist().join("index.html")).unwrap();
    for path in [
        "/console",
        "/console/",
        "/console?a=b",
        "/console/pages/pg_08YYTcdbmMH1lMgsW",
        "/console/admin/keys",
    ] {
        let response = get(&edge, path);
        assert_eq!((response.status, response.text()), (200, built.clone()), "{path}");
        for (name, value) in [
            ("content-type", "text/html; charset=utf-8"),
            ("content-security-policy", POLICY),
            ("cache-control", "public, max-age=0, must-revalidate"),
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("x-robots-tag", "noindex"),
        ] {
            assert_eq!(response.header(name), Some(value), "{path}");
        }
        let etag = response.header("etag").unwrap();
        let again = Request::get(path).header("if-none-match", etag).send(edge.addr);
        assert_eq!((again.status, again.text().as_str()), (304, ""), "{path}");
    }
    let head = Request::new("HEAD", "/console/pages").send(edge.addr);
    assert_eq!((head.status, head.text().as_str()), (200, ""));
}

#[test]
fn every_file_of_the_app_is_served_as_it_was_built() {
    let edge = Edge::shared();
    let types = [
        ("css", "text/css; charset=utf-8"),
        ("js", "text/javascript; charset=utf-8"),
        ("png", "image/png"),
        ("svg", "image/svg+xml"),
        ("woff2", "font/woff2"),
    ];
    let mut seen = Vec::new();
    for file in fs::read_dir(dist().join("assets")).unwrap() {
        let file = file.unwrap().path();
        let name = file.file_name().unwrap().to_str().unwrap();
        let path = format!("/console/assets/{name}");
        let response = get(&edge, &path);
        assert_eq!(response.status, 200, "{path}");
        assert!(response.body == fs::read(&file).unwrap(), "{path} has other bytes");
        let end = name.rsplit_once('.').unwrap().1.to_owned();
        let media_type = types.iter().find(|(known, _)| *known == end).unwrap().1;
        assert_eq!(response.header("content-type"), Some(media_type), "{path}");
        assert_eq!(response.header("cache-control"), Some("public, max-age=31536000, immutable"), "{path}");
        assert_eq!(response.header("x-content-type-options"), Some("nosniff"), "{path}");
        seen.push(end);
    }
    assert!(types.iter().all(|(end, _)| seen.iter().any(|seen| seen == end)), "{seen:?}");
    let license = get(&edge, "/console/licenses/geist-OFL.txt");
    assert!(license.status == 200 && license.text().contains("SIL OPEN FONT LICENSE"), "{}", license.text());
}

#[test]
fn file_that_the_app_lacks_is_404() {
    let edge = Edge::shared();
    for path in [
        "/console/assets/index-00000000.js",
        "/console/assets/index.html",
        "/console/.env",
        "/console/assets/..%2Findex.html",
    ] {
        let response = get(&edge, path);
        assert_eq!((response.status, response.code().as_str()), (404, "route-unknown"), "{path}");
        assert_eq!(response.header("content-type"), Some("application/problem+json"), "{path}");
        assert_eq!(response.header("cache-control"), Some("no-store"), "{path}");
    }
    for method in ["POST", "DELETE", "PATCH"] {
        let response = Request::new(method, "/console/pages").send(edge.addr);
        assert_eq!(response.code(), "method-not-allowed", "{method}");
        assert_eq!(response.header("allow"), Some("GET, HEAD, OPTIONS"));
    }
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
    for path in
        ["/console", "/console/pages", "/console/session", "/console/sessions", "/console/nothing.html"]
    {
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
    assert_eq!(status("GET", "/v1/keys/me", "same-origin", "empty"), 200);
    assert_eq!(status("POST", "/v1/keys/me/rotate", "same-site", "empty"), 401);
    assert_eq!(status("DELETE", "/v1/keys/me", "cross-site", "empty"), 401);
    assert_eq!(status("GET", "/v1/keys/me", "same-origin", "document"), 401);
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
    let get = get(&edge, "/console/preview");
    assert_eq!((get.code().as_str(), get.header("allow")), ("method-not-allowed", Some("POST, OPTIONS")));
}
