//! The console of a proxy in direct mode: the files that were built, and what the gateway has.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::json;
use tests::{FakeEdge, Request, Response, ToolBehavior, proxy::ProxyConfig};

use super::{Direct, changes::asking};

/// The policy that browsers hold the app to at the edge.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self'; \
    connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types preview";

/// Returns the folder with the app as it was built.
fn dist() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../portal/web/dist")
}

async fn get(direct: &Direct, path: &str) -> Response {
    direct.proxy.send(Request::new("GET", path)).await
}

#[tokio::test]
async fn address_of_a_view_gets_the_app_under_the_policy_of_the_edge() {
    let direct = Direct::start(ToolBehavior::Describe).await;
    let built = fs::read(dist().join("index.html")).unwrap();
    for path in [
        "/console",
        "/console/",
        "/console/?a=b",
        "/console?a=b",
        "/console/developers/usage",
        "/console/admin/keys/a",
    ] {
        let response = get(&direct, path).await;
        assert!((response.status, &response.body) == (200, &built), "{path}: {response:?}");
        for (name, value) in [
            ("content-type", "text/html; charset=utf-8"),
            ("content-security-policy", POLICY),
            ("cache-control", "public, max-age=0, must-revalidate"),
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("x-robots-tag", "noindex"),
        ] {
            assert_eq!(response.header_values(name), [value], "{path}");
        }
        let known = Request::new("GET", path).header("If-None-Match", response.header("etag").unwrap());
        assert_eq!(direct.proxy.send(known).await.status, 304, "{path}");
    }
}

#[tokio::test]
async fn every_file_of_the_app_is_served_as_it_was_built() {
    let direct = Direct::start(ToolBehavior::Describe).await;
    let mut ends = Vec::new();
    for file in fs::read_dir(dist().join("assets")).unwrap() {
        let file = file.unwrap().path();
        let name = file.file_name().unwrap().to_str().unwrap();
        let path = format!("/console/assets/{name}");
        let response = get(&direct, &path).await;
        assert!(response.status == 200 && response.body == fs::read(&file).unwrap(), "{path}");
        let media_type = match name.rsplit_once('.').unwrap().1 {
            "css" => "text/css; charset=utf-8",
            "js" => "text/javascript; charset=utf-8",
            "svg" => "image/svg+xml",
            "woff2" => "font/woff2",
            "png" => "image/png",
            other => panic!("{other}"),
        };
        assert_eq!(response.header_values("content-type"), [media_type], "{path}");
        let kept = ["public, max-age=31536000, immutable"];
        assert_eq!(response.header_values("cache-control"), kept, "{path}");
        assert_eq!(response.header("x-content-type-options"), Some("nosniff"), "{path}");
        ends.push(media_type);
    }
    assert!(ends.contains(&"font/woff2") && ends.contains(&"text/javascript; charset=utf-8"), "{ends:?}");
    let license = get(&direct, "/console/licenses/geist-OFL.txt").await;
    assert!(String::from_utf8(license.body).unwrap().contains("SIL OPEN FONT LICENSE"));
}

#[tokio::test]
async fn path_out_of_the_console_reaches_no_file() {
    let direct = Direct::start(ToolBehavior::Describe).await;
    for path in [
        "/console/assets/index-00000000.js",
        "/console/.fingerprint",
        "/console/sessions",
        "/console/preview",
    ] {
        let response = get(&direct, path).await;
        assert_eq!((response.status, response.code().as_str()), (404, "route-unknown"), "{path}");
    }
    for path in [
        "/console/../documents.json",
        "/console/assets/..%2f..%2fdocuments.json",
        "/console/assets/",
        "/console//etc/passwd",
    ] {
        let response = get(&direct, path).await;
        assert!(matches!(response.status, 400 | 404), "{path}: {response:?}");
        assert_eq!(response.header("content-type"), Some("application/problem+json"), "{path}");
    }
    for (method, path) in [("POST", "/console"), ("PUT", "/console/session"), ("DELETE", "/console/session")]
    {
        let response = direct.proxy.send(Request::new(method, path)).await;
        assert_eq!((response.status, response.header("allow")), (405, Some("GET, HEAD, OPTIONS")), "{path}");
    }
}

#[tokio::test]
async fn console_learns_what_the_gateway_has() {
    let told = async |direct: &Direct| {
        let response = get(direct, "/console/session").await;
        assert_eq!((response.status, response.header("set-cookie")), (200, None), "{response:?}");
        assert_eq!(response.header("cache-control"), Some("no-store"));
        response.json()
    };
    let of = |issues_keys, has_admin| json!({ "signed_in": false, "direct": { "issues_keys": issues_keys, "has_admin": has_admin } });
    assert_eq!(told(&Direct::issuing().await).await, of(true, true));
    assert_eq!(told(&Direct::start(ToolBehavior::Describe).await).await, of(true, false));
    let edge = FakeEdge::start(Vec::new()).await;
    let follows = |config: ProxyConfig| asking(config, &edge);
    assert_eq!(told(&Direct::with(ToolBehavior::Describe, follows).await).await, of(false, false));
}
