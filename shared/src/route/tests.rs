use proptest::prelude::*;

use super::*;
use crate::page::{LinkId, PageId};

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
        assert_eq!(code("GET", path), Some(Code::PathMalformed), "{path:?}");
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
    assert_eq!((route, target.query), (Route::Gateway(GatewayRoute::ListKeys), Some("limit=1")));
}

#[test]
fn unknown_tool_gets_the_nearest_ones() {
    let problem = Route::parse("GET", "/v1/qrcode/generate").unwrap_err();
    assert_eq!(problem.code(), Code::ToolUnknown);
    assert!(problem.detail().contains("qr"), "{}", problem.detail());
    assert_eq!(code("GET", "/v1/QR/generate"), Some(Code::ToolUnknown));
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
        ("PUT", "/pages", "GET, HEAD, POST, OPTIONS"),
        ("HEAD", "/mcp", "POST, OPTIONS"),
    ] {
        let rendered = Route::parse(method, path).unwrap_err().render(&crate::request_id::RequestId([0; 16]));
        assert_eq!(rendered.status, 405);
        assert!(rendered.headers.contains(&("allow", allow.to_owned().into())), "{method} {path}");
    }
}

/// A `HEAD` is a `GET` without its body wherever the gateway itself serves the path.
#[test]
fn head_has_the_route_of_get_except_at_tools() {
    let (page, key) = (PageId::new([1; 12]), KeyId::new([3; 12]));
    for path in [
        "/v1/keys",
        "/v1/keys/me",
        "/pages",
        "/account/export",
        "/analytics",
        "/webhooks",
        "/events",
        "/admin/reports",
        "/internal/keys/changes",
        "/ada",
        &format!("/v1/keys/{key}"),
        &format!("/pages/{page}/revisions"),
    ] {
        assert_eq!(Route::parse("HEAD", path), Route::parse("GET", path), "{path}");
        assert!(Route::parse("HEAD", path).is_ok(), "{path}");
    }
    assert_eq!(code("HEAD", "/v1/qr/generate"), Some(Code::MethodNotAllowed));
}

#[test]
fn every_listed_method_has_a_route() {
    let id = KeyId::new([3; 12]);
    for path in [
        "/v1/qr/x".to_owned(),
        "/v1/keys".to_owned(),
        "/v1/keys/issue".to_owned(),
        "/v1/keys/me".to_owned(),
        "/v1/keys/me/rotate".to_owned(),
        format!("/v1/keys/{id}"),
        format!("/v1/keys/{id}/revoke"),
        format!("/v1/keys/{id}/rotate"),
        "/internal/keys/changes".to_owned(),
        "/healthz".to_owned(),
        "/v1/status".to_owned(),
        "/openapi.json".to_owned(),
        "/biolink/openapi.json".to_owned(),
        "/docs".to_owned(),
        "/problems/key-missing".to_owned(),
        "/".to_owned(),
        "/robots.txt".to_owned(),
        "/favicon.ico".to_owned(),
        "/.well-known/security.txt".to_owned(),
    ] {
        let Ok(Route::Preflight(methods)) = Route::parse("OPTIONS", &path) else { panic!("{path}") };
        for method in methods.iter() {
            assert!(Route::parse(method.as_str(), &path).is_ok(), "{method} {path}");
        }
        assert_eq!(code("TRACE", &path), Some(Code::MethodNotAllowed));
    }
}

#[test]
fn path_below_a_route_is_unknown() {
    for path in [
        "/v1/keys/x",
        "/v1/keys/me/x",
        "/v1/qr/a/b",
        "/v1/qr",
        "/v1",
        "/problems/x",
        "/docs/x",
        "/pages/x",
        "/account/x",
        "/ada/x",
        "/ad",
        "/q",
        "/q/ad",
        "/.well-known",
        "/llms.txt/x",
    ] {
        assert_eq!(code("GET", path), Some(Code::RouteUnknown), "{path}");
    }
}

#[test]
fn every_pages_endpoint_has_a_route() {
    let (page, link) = (PageId::new([1; 12]), LinkId::new([2; 12]));
    for endpoint in PagesEndpoint::ALL {
        let path = endpoint.path().replace("{page_id}", &page.to_string());
        let path = path.replace("{link_id}", &link.to_string()).replace("{revision}", "7");
        let path = path.replace("{source_id}", &SourceId::new([3; 12]).to_string());
        let Ok(Route::Pages(call)) = Route::parse(endpoint.method().as_str(), &path) else {
            panic!("{path}")
        };
        assert_eq!(call.endpoint, endpoint);
        let Ok(Route::Preflight(methods)) = Route::parse("OPTIONS", &path) else { panic!("{path}") };
        assert!(methods.contains(endpoint.method()), "{path}");
    }
}

#[test]
fn page_is_visited_by_its_slug_in_any_case() {
    let link = LinkId::new([2; 12]);
    for (path, part) in [
        ("/ada".to_owned(), VisitPart::Page),
        ("/ADA".to_owned(), VisitPart::Page),
        (format!("/Ada/l/{link}"), VisitPart::Link(link)),
        ("/Ada/card.vcf".to_owned(), VisitPart::Card),
        ("/ada/qr.svg".to_owned(), VisitPart::QrSvg),
        ("/ada/qr.png".to_owned(), VisitPart::QrPng),
        ("/ada/products.xml".to_owned(), VisitPart::ProductsXml),
        ("/ada/products.json".to_owned(), VisitPart::ProductsJson),
        ("/q/ADA".to_owned(), VisitPart::Code),
    ] {
        let Ok(Route::Visit(visit)) = Route::parse("GET", &path) else { panic!("{path}") };
        assert_eq!((visit.slug().unwrap().as_str(), visit.part), ("ada", part));
        assert_eq!(code("POST", &path), Some(Code::MethodNotAllowed));
    }
    for (method, part) in [("GET", VisitPart::ReportForm), ("POST", VisitPart::Report)] {
        let Ok(Route::Visit(visit)) = Route::parse(method, "/ada/report") else { panic!("{method}") };
        assert_eq!(visit.part, part);
    }
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
        assert_eq!(Target::parse(target).map_err(|p| p.code()), Err(Code::PathMalformed), "{target}");
    }
    // A URL in the query is a part of the query.
    assert_eq!(Target::parse("/a?http://b.test/c").unwrap().authority, None);
    let long = |length: usize| format!("http://a.test/{}", "a".repeat(length));
    assert!(Target::parse(&long(MAX_TARGET - 1)).is_ok());
    assert_eq!(Target::parse(&long(MAX_TARGET)).map_err(|p| p.code()), Err(Code::TargetTooLong));
}

proptest! {
    #[test]
    fn every_route_has_exactly_one_path(path in "[/.%a-z0-9\\\\ ~_-]{0,24}|/v1/(qr|pdf|keys)/[!-~]{0,8}") {
        if let Ok(Route::CallTool(call)) = Route::parse("GET", &path) {
            prop_assert_eq!(format!("/v1/{}/{}", call.tool, call.action), path);
        }
    }
}
