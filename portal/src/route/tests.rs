use biolink::codes;
use biolink::page::{DomainId, ImageId, LinkId, PageId, SourceId};
use biolink::route::{PagesEndpoint, VisitPart};
use shared::key::KeyId;
use shared::problem::Code;
use shared::request_id::RequestId;
use shared::url::Address;

use super::*;

fn code(method: &str, path: &str) -> Option<Code> {
    Route::parse(method, path).err().map(|problem| problem.code())
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
        let rendered = Route::parse(method, path).unwrap_err().render(&RequestId([0; 16]));
        assert_eq!(rendered.status, 405);
        assert_eq!(rendered.header("allow"), Some(allow), "{method} {path}");
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
    assert_eq!(code("HEAD", "/v1/qr/generate"), Some(codes::METHOD_NOT_ALLOWED));
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
        "/internal/meter".to_owned(),
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
        assert_eq!(code("TRACE", &path), Some(codes::METHOD_NOT_ALLOWED));
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
        assert_eq!(code("GET", path), Some(codes::ROUTE_UNKNOWN), "{path}");
    }
}

#[test]
fn every_pages_endpoint_has_a_route() {
    let (page, link) = (PageId::new([1; 12]), LinkId::new([2; 12]));
    for endpoint in PagesEndpoint::ALL {
        let path = endpoint.path().replace("{page_id}", &page.to_string());
        let path = path.replace("{link_id}", &link.to_string()).replace("{revision}", "7");
        let path = path.replace("{source_id}", &SourceId::new([3; 12]).to_string());
        let path = path.replace("{image_id}", &ImageId::new([4; 12]).to_string());
        let path = path.replace("{domain_id}", &DomainId::new([4; 12]).to_string());
        let Ok(Route::Biolink(biolink_route::Route::Pages(call))) =
            Route::parse(endpoint.method().as_str(), &path)
        else {
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
        let Ok(Route::Biolink(biolink_route::Route::Visit(visit))) = Route::parse("GET", &path) else {
            panic!("{path}")
        };
        assert_eq!((visit.slug().unwrap().as_str(), visit.part), ("ada", part));
        assert_eq!(code("POST", &path), Some(codes::METHOD_NOT_ALLOWED));
    }
    for (method, part) in [("GET", VisitPart::ReportForm), ("POST", VisitPart::Report)] {
        let Ok(Route::Biolink(biolink_route::Route::Visit(visit))) = Route::parse(method, "/ada/report")
        else {
            panic!("{method}")
        };
        assert_eq!(visit.part, part);
    }
}

#[test]
fn each_host_serves_its_own_routes() {
    let host = biolink_route::PagesHost::parse("pages.example", None).unwrap();
    let ask = |url: &str| {
        let address = Address::parse(url).unwrap();
        let (route, _) = Route::read("GET", address.target).unwrap();
        host.redirect(&address, route.served_by()).map_err(|problem| problem.status())
    };
    for path in ["/ada?a=b", "/ada/qr.png?size=256", "/q/ada", "/ada/report"] {
        assert_eq!(
            ask(&format!("https://api.example.com{path}")),
            Ok(Some(format!("https://pages.example{path}")))
        );
        assert_eq!(ask(&format!("https://pages.example{path}")), Ok(None));
    }
    for path in ["/robots.txt", "/favicon.ico", "/.well-known/security.txt"] {
        assert_eq!(ask(&format!("https://api.example.com{path}")), Ok(None), "{path}");
        assert_eq!(ask(&format!("http://pages.example{path}")), Ok(None), "{path}");
    }
    for path in ["/", "/pages", "/account", "/v1/qr/generate", "/healthz", "/docs", "/openapi.json"] {
        assert_eq!(ask(&format!("https://api.example.com{path}")), Ok(None), "{path}");
        assert_eq!(ask(&format!("https://pages.example{path}")), Err(404), "{path}");
    }
}

fn file<'a>(method: &str, path: &'a str) -> Result<ConsoleFile<'a>, Code> {
    match Route::parse(method, path) {
        Ok(Route::Console(file)) => Ok(file),
        Ok(other) => panic!("{other:?}"),
        Err(problem) => Err(problem.code()),
    }
}

#[test]
fn address_of_a_view_is_the_page_of_the_console() {
    for path in [
        "/console",
        "/console/",
        "/console/pages",
        "/console/pages/pg_08YYTcdbmMH1lMgsW",
        "/console/admin/pages/a.b",
        "/console/pages/",
    ] {
        assert_eq!(file("GET", path), Ok(ConsoleFile::Page), "{path}");
        assert_eq!(file("HEAD", path), Ok(ConsoleFile::Page), "{path}");
    }
}

#[test]
fn file_of_the_console_has_the_type_of_its_end() {
    for (name, media_type) in [
        ("assets/index-1a2b.js", "text/javascript; charset=utf-8"),
        ("assets/geist-latin-9z.woff2", "font/woff2"),
        ("licenses/geist-OFL.txt", "text/plain; charset=utf-8"),
    ] {
        assert_eq!(file("GET", &format!("/console/{name}")), Ok(ConsoleFile::Part { name, media_type }));
    }
    for path in [
        "/console/.env",
        "/console/assets/.git/a.js",
        "/console/assets/../index.js",
        "/console/assets",
        "/console/assets/index.html",
        "/console/assets/index.js.map",
        "/console/a%2fb",
        "/console//pages",
        "/console/sessions/ses_x",
        "/console/preview/a.js",
        "/consoles/pages",
    ] {
        let code = Route::parse("GET", path).err().map(|problem| problem.code());
        assert!(matches!(code, Some(codes::ROUTE_UNKNOWN | codes::PATH_MALFORMED)), "{path}: {code:?}");
    }
}

#[test]
fn preview_takes_post_alone() {
    assert_eq!(Route::parse("POST", "/console/preview"), Ok(Route::Portal(PortalRoute::Preview)));
    assert_eq!(code("GET", "/console/preview"), Some(codes::METHOD_NOT_ALLOWED));
    assert!(ConsoleFile::is_console("/console/preview"));
}

#[test]
fn console_is_its_page_and_what_is_below_it() {
    for target in ["/console", "/console?a", "/console/pages?limit=2", "/console/"] {
        assert!(ConsoleFile::is_console(target), "{target}");
    }
    for target in ["/", "/consoles", "/pages/console", "/assets/console.js", "/?/console/"] {
        assert!(!ConsoleFile::is_console(target), "{target}");
    }
}

#[test]
fn console_takes_no_method_that_changes() {
    for method in ["POST", "DELETE", "PATCH", "PUT", "TRACE"] {
        for path in ["/console", "/console/pages", "/console/assets/index-1a2b.js"] {
            assert_eq!(file(method, path), Err(codes::METHOD_NOT_ALLOWED), "{method} {path}");
        }
    }
}
