//! The one strict parser of method and path. Its result decides tool, limit and target; no other
//! code parses the path.

mod admin;
mod pages;
mod pages_host;
mod place;
mod site;
mod target;
mod visit;
mod webhooks;

pub use admin::{AdminCall, AdminEndpoint, AdminTarget};
pub use pages::{PagesCall, PagesEndpoint, PagesTarget};
pub use pages_host::PagesHost;
use place::Place;
pub use site::SiteRoute;
pub use target::{MAX_TARGET, Target};
pub use visit::{Visit, VisitEndpoint, VisitPart};
pub use webhooks::{WebhooksCall, WebhooksEndpoint, WebhooksTarget};

use crate::{
    action::Action,
    key::KeyId,
    method::{Method, allow},
    page::SourceId,
    problem::{Code, Problem},
    tool::Tool,
};

/// The two operations of a tool, with and without a body (spec section 4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CallMethod {
    /// `{tool}_get`
    Get,
    /// `{tool}_post`
    Post,
}

impl CallMethod {
    /// Returns the method of the request.
    #[must_use]
    pub const fn method(self) -> Method {
        match self {
            Self::Get => Method::Get,
            Self::Post => Method::Post,
        }
    }
}

/// A call of a tool, as the path spells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolCall<'a> {
    /// The operation: with or without a body.
    pub method: CallMethod,
    /// The tool.
    pub tool: Tool,
    /// The action of the tool.
    pub action: Action<'a>,
}

/// A request that the service accepts. A request is exactly one of these or a [`Problem`].
///
/// ```
/// use shared::{
///     problem::Code,
///     route::{CallMethod, Route},
///     tool::Tool,
/// };
///
/// let (route, query) = Route::read("POST", "/v1/qr/generate?size=256").unwrap();
/// let Route::CallTool(call) = route else { unreachable!() };
/// assert_eq!((call.method, call.tool, call.action.as_str()), (CallMethod::Post, Tool::Qr, "generate"));
/// assert_eq!(query, Some("size=256"));
///
/// let problem = Route::read("DELETE", "/v1/qr/generate").unwrap_err();
/// assert_eq!((problem.status(), problem.code()), (405, Code::MethodNotAllowed));
/// // A path that two parsers could read differently is refused, never normalised.
/// assert_eq!(Route::read("GET", "/v1/qr/../keys").unwrap_err().code(), Code::PathMalformed);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route<'a> {
    /// `GET|POST /v1/{tool}/{action}`
    CallTool(ToolCall<'a>),
    /// A request that the gateway serves itself.
    Gateway(GatewayRoute),
    /// `GET /internal/keys/changes`
    KeyChanges,
    /// `GET /healthz`
    Health,
    /// `GET /v1/status`
    Status,
    /// A file or page of the host itself.
    Site(SiteRoute),
    /// A call of the pages API.
    Pages(PagesCall),
    /// A call of the webhooks API.
    Webhooks(WebhooksCall),
    /// A call of the operator of pages.
    Admin(AdminCall<'a>),
    /// `GET /biolink/openapi.json`
    PagesOpenApi,
    /// `POST /hooks/products/{source_id}`: a shop pushes changes.
    PushProducts(SourceId),
    /// A route of visitors: pages, links, codes, cards and reports.
    Visit(Visit<'a>),
    /// `OPTIONS` on any path: the methods that the path takes, none if it is unknown.
    Preflight(&'static [Method]),
}

/// A request for the keys API or the documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GatewayRoute {
    /// `POST /v1/keys/issue`
    IssueKey,
    /// `GET /v1/keys/me`
    ReadOwnKey,
    /// `POST /v1/keys/me/rotate`
    RotateOwnKey,
    /// `DELETE /v1/keys/me`
    RevokeOwnKey,
    /// `GET /v1/keys`
    ListKeys,
    /// `GET /v1/keys/{id}`
    ReadKey(KeyId),
    /// `PATCH /v1/keys/{id}`
    ChangeKey(KeyId),
    /// `POST /v1/keys/{id}/revoke`
    RevokeKey(KeyId),
    /// `POST /v1/keys/{id}/rotate`
    RotateKey(KeyId),
    /// `GET /openapi.json`
    OpenApi,
    /// `GET /docs`
    Docs,
    /// `GET /problems/{code}`
    ProblemPage(Code),
}

impl<'a> Route<'a> {
    /// Parses the method and the target of a request. Returns its route and its query. An `OPTIONS`
    /// is never refused, because browsers show a page the response to the actual request only if
    /// the preflight has passed.
    ///
    /// # Errors
    /// As [`Target::parse`] and [`Route::parse`].
    pub fn read(method: &str, target: &'a str) -> Result<(Self, Option<&'a str>), Problem> {
        match Target::parse(target) {
            Ok(Target { path, query }) => Self::parse(method, path).map(|route| (route, query)),
            Err(_) if Method::parse(method) == Some(Method::Options) => Ok((Self::Preflight(&[]), None)),
            Err(problem) => Err(problem),
        }
    }

    /// Returns the one route that `method` and `path` name.
    ///
    /// # Errors
    /// Returns `path-malformed` for a path that two parsers could read differently, `tool-unknown`
    /// or `route-unknown` for an unknown one, and `method-not-allowed` with `Allow` for a known one
    /// with another method. An `OPTIONS` is never refused.
    pub fn parse(method: &str, path: &'a str) -> Result<Self, Problem> {
        let (place, method) = (Place::parse(path), Method::parse(method));
        if method == Some(Method::Options) {
            return Ok(Self::Preflight(place.map_or(&[], Place::methods)));
        }
        let place = place?;
        method.and_then(|method| route_of(place, method)).ok_or_else(|| not_allowed(place.methods()))
    }
}

/// Returns the route of a method on a path, or `None` if the path does not take the method.
fn route_of(place: Place<'_>, method: Method) -> Option<Route<'_>> {
    let call = |method, tool, action| Route::CallTool(ToolCall { method, tool, action });
    let own = |route| Some(Route::Gateway(route));
    match (place, method) {
        (Place::Tool(tool, action), Method::Get) => Some(call(CallMethod::Get, tool, action)),
        (Place::Tool(tool, action), Method::Post) => Some(call(CallMethod::Post, tool, action)),
        (Place::Own, Method::Get) => own(GatewayRoute::ReadOwnKey),
        (Place::Own, Method::Delete) => own(GatewayRoute::RevokeOwnKey),
        (Place::OwnRotate, Method::Post) => own(GatewayRoute::RotateOwnKey),
        (Place::Keys, Method::Get) => own(GatewayRoute::ListKeys),
        (Place::Issue, Method::Post) => own(GatewayRoute::IssueKey),
        (Place::Key(id), Method::Get) => own(GatewayRoute::ReadKey(id)),
        (Place::Key(id), Method::Patch) => own(GatewayRoute::ChangeKey(id)),
        (Place::KeyRevoke(id), Method::Post) => own(GatewayRoute::RevokeKey(id)),
        (Place::KeyRotate(id), Method::Post) => own(GatewayRoute::RotateKey(id)),
        (Place::KeyChanges, Method::Get) => Some(Route::KeyChanges),
        (Place::Health, Method::Get | Method::Head) => Some(Route::Health),
        (Place::Status, Method::Get | Method::Head) => Some(Route::Status),
        (Place::OpenApi, Method::Get | Method::Head) => own(GatewayRoute::OpenApi),
        (Place::Docs, Method::Get | Method::Head) => own(GatewayRoute::Docs),
        (Place::Problem(code), Method::Get | Method::Head) => own(GatewayRoute::ProblemPage(code)),
        (Place::Site(route), Method::Get | Method::Head) => Some(Route::Site(route)),
        (Place::Pages(place), method) => place.call(method).map(Route::Pages),
        (Place::Webhooks(place), method) => place.call(method).map(Route::Webhooks),
        (Place::PushProducts(id), Method::Post) => Some(Route::PushProducts(id)),
        (Place::PagesOpenApi, Method::Get | Method::Head) => Some(Route::PagesOpenApi),
        (Place::Visit(visit), method) => visit.with(method).map(Route::Visit),
        (Place::Admin(place), method) => place.call(method).map(Route::Admin),
        _ => None,
    }
}

fn not_allowed(methods: &[Method]) -> Problem {
    let allow = allow(methods);
    Problem::new(Code::MethodNotAllowed, format!("this path takes {allow}")).with_header("allow", allow)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::page::{LinkId, PageId, Slug};

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
            let rendered =
                Route::parse(method, path).unwrap_err().render(&crate::request_id::RequestId([0; 16]));
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
            "/llms.txt",
        ] {
            assert_eq!(code("GET", path), Some(Code::RouteUnknown), "{path}");
        }
    }

    #[test]
    fn every_pages_endpoint_has_a_route_and_no_page_can_have_its_path() {
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
        for path in crate::endpoint::Endpoint::all().map(|endpoint| endpoint.path()) {
            let first = path.split('/').nth(1).unwrap();
            assert!(first == "{slug}" || Slug::parse(first).is_err(), "{path}: {first} must be reserved");
        }
        for first in
            ["llms.txt", "mcp", "console", "admin", "biolink", "docs", "q", ".well-known", "internal"]
        {
            assert!(Slug::parse(first).is_err(), "{first} must be reserved");
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
}
