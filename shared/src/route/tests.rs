use proptest::prelude::*;

use super::*;
use crate::key::{KeyId, SecretId};
use crate::problem::Code;
use crate::request_id::RequestId;

fn code(method: &str, path: &str) -> Option<Code> {
    Route::parse(method, path).err().map(|problem| problem.code())
}

#[test]
fn tool_call_has_method_tool_and_action() {
    for tool in Tool::ALL {
        let path = format!("/v1/{tool}/generate");
        let action = Action::parse("generate").unwrap();
        let call = |method| Ok(Route::CallTool(ToolCall { method, tool, action }));
        assert_eq!(Route::parse("GET", &path), call(CallMethod::Get));
        assert_eq!(Route::parse("POST", &path), call(CallMethod::Post));
    }
}

#[test]
fn path_that_could_be_normalized_is_refused() {
    for path in [
        "//v1/qr/generate",
        "/v1//generate",
        "/v1/qr/",
        "/v1/qr/..",
        "/v1/./qr/x",
        "/v1/qr%2fgenerate",
        "/v1/qr/%67enerate",
        "/v1/qr\\generate",
        "/v1/qr/a;b",
        "/v1/qr/a b",
        "/v1/qr/\u{7f}",
        "v1/qr/x",
        "",
    ] {
        assert_eq!(code("GET", path), Some(codes::PATH_MALFORMED), "{path:?}");
    }
}

#[test]
fn preflight_is_never_refused() {
    let long = format!("/{}", "a".repeat(MAX_TARGET));
    for target in ["/v1/qrr/generate", "/v1/qr/%2f", "//", "*", "/\u{fc}", "/a#b", &long] {
        let (route, of) = Route::read("OPTIONS", target).unwrap();
        assert_eq!((route, of.query), (Route::Preflight(Methods::NONE), None), "{target}");
        assert!(Route::read("GET", target).is_err(), "{target}");
    }
    let (route, target) = Route::read("GET", "/v1/keys?limit=1").unwrap();
    assert_eq!((route, target.query), (Route::Keys(KeysRoute::List), Some("limit=1")));
}

#[test]
fn unknown_tool_gets_the_nearest_ones() {
    let problem = Route::parse("GET", "/v1/qrcode/generate").unwrap_err();
    assert_eq!(problem.code(), codes::TOOL_UNKNOWN);
    assert!(problem.detail().contains("qr"), "{}", problem.detail());
    assert_eq!(code("GET", "/v1/QR/generate"), Some(codes::TOOL_UNKNOWN));
}

#[test]
fn target_is_split_at_its_first_question_mark() {
    let target = Target::parse("/v1/qr/generate?url=https://x.y/?z&size=3").unwrap();
    assert_eq!((target.path, target.query), ("/v1/qr/generate", Some("url=https://x.y/?z&size=3")));
    assert!(Target::parse(&format!("/{}", "a".repeat(MAX_TARGET))).is_err());
    for target in ["/a b", "/a\r\n", "/ü", "/a#b", "*", "?a", "", "v1/qr/a"] {
        assert!(Target::parse(target).is_err(), "{target:?}");
    }
}

#[test]
fn absolute_form_names_its_host() {
    for (target, authority, path, query, path_and_query) in [
        ("http://a.test/v1/qr/a?b=c", "a.test", "/v1/qr/a", Some("b=c"), "/v1/qr/a?b=c"),
        ("https://a.test:8443/v1/qr/a", "a.test:8443", "/v1/qr/a", None, "/v1/qr/a"),
        ("HTTP://[::1]:80/", "[::1]:80", "/", None, "/"),
        ("http://a.test", "a.test", "/", None, ""),
        ("http://a.test?b=/c", "a.test", "/", Some("b=/c"), "?b=/c"),
        ("http://a.test//v1", "a.test", "//v1", None, "//v1"),
    ] {
        let of = Target { authority: Some(authority), path, query, path_and_query };
        assert_eq!(Target::parse(target), Ok(of), "{target}");
    }
    for target in [
        "http:///v1/qr/a",
        "http://",
        "http://user@a.test/v1/qr/a",
        "http://a.test:99999/v1/qr/a",
        "http://a,b/v1/qr/a",
        "http://a.test\\/v1/qr/a",
        "ftp://a.test/v1/qr/a",
        "http:/v1/qr/a",
        "a.test:443",
    ] {
        assert_eq!(Target::parse(target).map_err(|p| p.code()), Err(codes::PATH_MALFORMED), "{target}");
    }
    // A URL in the query is a part of the query.
    assert_eq!(Target::parse("/a?http://b.test/c").unwrap().authority, None);
    let long = |length: usize| format!("http://a.test/{}", "a".repeat(length));
    assert!(Target::parse(&long(MAX_TARGET - 1)).is_ok());
    assert_eq!(Target::parse(&long(MAX_TARGET)).map_err(|p| p.code()), Err(codes::TARGET_TOO_LONG));
}

proptest! {
    #[test]
    fn every_route_has_exactly_one_path(path in "[/.%a-z0-9\\\\ ~_-]{0,24}|/v1/(qr|pdf|keys)/[!-~]{0,8}") {
        if let Ok(Route::CallTool(call)) = Route::parse("GET", &path) {
            prop_assert_eq!(format!("/v1/{}/{}", call.tool, call.action), path);
        }
    }
}

#[test]
fn administrator_ends_a_secret_below_its_key() {
    let (key, id) = (KeyId::new([1; 12]), SecretId::new([7; 8]));
    let path = format!("/v1/keys/{key}/secrets/{id}");
    assert_eq!(Route::parse("DELETE", &path), Ok(Route::Keys(KeysRoute::RevokeSecretOf(key, id))));
    for (method, path, code) in [
        ("GET", path.as_str(), codes::METHOD_NOT_ALLOWED),
        ("DELETE", &format!("/v1/keys/{key}/secrets/{key}"), codes::ROUTE_UNKNOWN),
        ("DELETE", &format!("/v1/keys/{id}/secrets/{id}"), codes::ROUTE_UNKNOWN),
        ("DELETE", &format!("/v1/keys/{key}/secrets"), codes::ROUTE_UNKNOWN),
        ("DELETE", &format!("{path}/rotate"), codes::ROUTE_UNKNOWN),
    ] {
        assert_eq!(Route::parse(method, path).unwrap_err().code(), code, "{method} {path}");
    }
}

#[test]
fn named_secrets_lie_below_the_own_key() {
    let id = SecretId::new([7; 8]);
    let route = |method, path: &str| match Route::parse(method, &format!("/v1/keys/me/secrets{path}")) {
        Ok(Route::Keys(route)) => Ok(route),
        Ok(other) => panic!("{other:?}"),
        Err(problem) => Err(problem.code()),
    };
    assert_eq!(route("GET", ""), Ok(KeysRoute::ListSecrets));
    assert_eq!(route("POST", ""), Ok(KeysRoute::CreateSecret));
    assert_eq!(route("PATCH", &format!("/{id}")), Ok(KeysRoute::ChangeSecret(id)));
    assert_eq!(route("DELETE", &format!("/{id}")), Ok(KeysRoute::RevokeSecret(id)));
    assert_eq!(route("POST", &format!("/{id}/rotate")), Ok(KeysRoute::RotateSecret(id)));
    assert_eq!(route("GET", &format!("/{id}")), Err(codes::METHOD_NOT_ALLOWED));
    for path in ["/sec_x", "/key_00000000000000000", &format!("/{id}/revoke"), &format!("/{id}/rotate/x")] {
        assert_eq!(route("POST", path), Err(codes::ROUTE_UNKNOWN), "{path}");
    }
}

#[test]
fn wrong_method_is_405_with_allow() {
    for (method, path, allow) in [
        ("DELETE", "/v1/qr/generate", "GET, POST, OPTIONS"),
        ("get", "/v1/qr/generate", "GET, POST, OPTIONS"),
        ("BREW", "/v1/keys/issue", "POST, OPTIONS"),
        ("HEAD", "/v1/qr/generate", "GET, POST, OPTIONS"),
        ("POST", "/healthz", "GET, HEAD, OPTIONS"),
        ("PUT", "/v1/keys/me", "GET, HEAD, DELETE, OPTIONS"),
    ] {
        let rendered = Route::parse(method, path).unwrap_err().render(&RequestId([0; 16]));
        assert_eq!(rendered.status, 405);
        assert_eq!(rendered.header("allow"), Some(allow), "{method} {path}");
    }
}

#[test]
fn path_of_another_part_is_other_with_its_segments() {
    for path in ["/", "/pages", "/docs/pages", "/mcp", "/ada/l/x", "/internal", "/v2/a"] {
        let Ok(Route::Other(method, found)) = Route::parse("DELETE", path) else { panic!("{path}") };
        assert_eq!((method, found.as_str()), (Some(Method::Delete), path));
        let segments: Vec<_> = found.segments().into_iter().flatten().collect();
        assert_eq!(format!("/{}", segments.join("/")), path);
    }
    assert_eq!(code("GET", "/a/b/c/d/e/f/g"), Some(codes::ROUTE_UNKNOWN));
}
