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
        assert_eq!(Route::read("OPTIONS", target), Ok((Route::Preflight(&[]), None)), "{target}");
        assert!(Route::read("GET", target).is_err(), "{target}");
    }
    let (route, query) = Route::read("GET", "/v1/keys?limit=1").unwrap();
    assert_eq!((route, query), (Route::Gateway(GatewayRoute::ListKeys), Some("limit=1")));
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
        ("POST", "/healthz", "GET, HEAD, OPTIONS"),
    ] {
        let rendered = Route::parse(method, path).unwrap_err().render(&crate::request_id::RequestId([0; 16]));
        assert_eq!(rendered.status, 405);
        assert!(rendered.headers.contains(&("allow", allow.to_owned().into())), "{method} {path}");
    }
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
        for method in methods {
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
        assert!(methods.contains(&endpoint.method()), "{path}");
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
    for target in ["/a b", "/a\r\n", "/ü", "/a#b", "*", "http://x/"] {
        assert!(Target::parse(target).is_err(), "{target:?}");
    }
}

proptest! {
    #[test]
    fn every_route_has_exactly_one_path(path in "[/.%a-z0-9\\\\ ~_-]{0,24}|/v1/(qr|pdf|keys)/[!-~]{0,8}") {
        if let Ok(Route::CallTool(call)) = Route::parse("GET", &path) {
            prop_assert_eq!(format!("/v1/{}/{}", call.tool, call.action), path);
        }
    }
}
