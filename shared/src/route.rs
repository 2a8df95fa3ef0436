//! The one strict parser of method and path. Its result decides tool, limit and target; no other
//! code parses the path.

mod admin;
mod console;
mod docs;
mod pages;
mod pages_host;
mod place;
mod script;
mod site;
mod target;
mod visit;
mod webhooks;

pub use admin::{AdminCall, AdminEndpoint, AdminTarget};
pub use console::{ConsoleCall, ConsoleRead, ConsoleView};
pub use docs::DocsPage;
pub use pages::{PagesCall, PagesEndpoint, PagesTarget};
pub use pages_host::PagesHost;
use place::Place;
pub use script::Script;
pub use site::SiteRoute;
pub use target::{MAX_TARGET, Target};
pub use visit::{Visit, VisitEndpoint, VisitPart};
pub use webhooks::{WebhooksCall, WebhooksEndpoint, WebhooksTarget};

use crate::{
    action::Action,
    key::KeyId,
    method::{Method, Methods},
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
/// let (route, target) = Route::read("POST", "/v1/qr/generate?size=256").unwrap();
/// let Route::CallTool(call) = route else { unreachable!() };
/// assert_eq!((call.method, call.tool, call.action.as_str()), (CallMethod::Post, Tool::Qr, "generate"));
/// assert_eq!(target.query, Some("size=256"));
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
    /// A file of the host itself.
    Site(SiteRoute),
    /// A call of the pages API.
    Pages(PagesCall),
    /// A call of the webhooks API.
    Webhooks(WebhooksCall),
    /// A call of the operator of pages.
    Admin(AdminCall<'a>),
    /// A view of the console.
    Console(ConsoleCall<'a>),
    /// `GET /biolink/openapi.json`
    PagesOpenApi,
    /// `POST /mcp`: a message of the Model Context Protocol.
    Mcp,
    /// `POST /hooks/products/{source_id}`: a shop pushes changes.
    PushProducts(SourceId),
    /// A route of visitors: pages, links, codes, cards and reports.
    Visit(Visit<'a>),
    /// `OPTIONS` on any path: the methods that the path takes, none if it is unknown.
    Preflight(Methods),
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
    /// `GET /`
    Landing,
    /// `GET /openapi.json`
    OpenApi,
    /// `GET /docs` and the pages below it
    Docs(DocsPage),
    /// `GET /problems/{code}`
    ProblemPage(Code),
    /// `GET /assets/{file}`
    Script(Script),
}

impl<'a> Route<'a> {
    /// Returns true for a route of bio-link pages, which needs their stores. A view of the console
    /// needs what the read behind it needs, and a message of the Model Context Protocol what its tool
    /// needs.
    #[must_use]
    pub const fn is_of_biolink(&self) -> bool {
        match self {
            Self::Pages(_) | Self::Webhooks(_) | Self::Admin(_) | Self::PushProducts(_) | Self::Visit(_) => {
                true
            }
            Self::CallTool(_)
            | Self::Gateway(_)
            | Self::KeyChanges
            | Self::Health
            | Self::Status
            | Self::Site(_)
            | Self::Console(_)
            | Self::PagesOpenApi
            | Self::Mcp
            | Self::Preflight(_) => false,
        }
    }

    /// Parses the method and the target of a request. Returns its route and the parts of the target.
    /// An `OPTIONS` is never refused, because browsers show a page the response to the actual
    /// request only if the preflight has passed.
    ///
    /// # Errors
    /// As [`Target::parse`] and [`Route::parse`].
    pub fn read(method: &str, target: &'a str) -> Result<(Self, Target<'a>), Problem> {
        match Target::parse(target) {
            Ok(target) => Self::parse(method, target.path).map(|route| (route, target)),
            Err(_) if Method::parse(method) == Some(Method::Options) => {
                Ok((Self::Preflight(Methods::NONE), Target::ASTERISK))
            }
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
        let method = Method::parse(method);
        if let Some(api_path) = ConsoleCall::api_path(path) {
            return Self::parse_view(method, api_path);
        }
        let place = Place::parse(path);
        if method == Some(Method::Options) {
            return Ok(Self::Preflight(place.map_or(Methods::NONE, Place::methods)));
        }
        let place = place?;
        method.and_then(|method| route_of(place, method)).ok_or_else(|| not_allowed(place.methods()))
    }

    fn parse_view(method: Option<Method>, api_path: &'a str) -> Result<Self, Problem> {
        let call = ConsoleCall::parse(api_path);
        match method {
            Some(Method::Options) => {
                Ok(Self::Preflight(call.map_or(Methods::NONE, |_| ConsoleCall::methods())))
            }
            Some(Method::Get | Method::Head) => call.map(Self::Console),
            _ => call.and_then(|_| Err(not_allowed(ConsoleCall::methods()))),
        }
    }
}

impl<'a> From<ConsoleRead<'a>> for Route<'a> {
    fn from(read: ConsoleRead<'a>) -> Self {
        match read {
            ConsoleRead::OwnKey => Self::Gateway(GatewayRoute::ReadOwnKey),
            ConsoleRead::Keys => Self::Gateway(GatewayRoute::ListKeys),
            ConsoleRead::Key(id) => Self::Gateway(GatewayRoute::ReadKey(id)),
            ConsoleRead::Status => Self::Status,
            ConsoleRead::Pages(call) => Self::Pages(call),
            ConsoleRead::Webhooks(call) => Self::Webhooks(call),
            ConsoleRead::Admin(call) => Self::Admin(call),
        }
    }
}

/// Returns the route of a method on a path, or `None` if the path does not take the method. A `HEAD`
/// has the route of the `GET`, unless a tool would get it.
fn route_of(place: Place<'_>, method: Method) -> Option<Route<'_>> {
    let call = |method, tool, action| Route::CallTool(ToolCall { method, tool, action });
    let own = |route| Some(Route::Gateway(route));
    let method = if method == Method::Head && place.takes_head() { Method::Get } else { method };
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
        (Place::Health, Method::Get) => Some(Route::Health),
        (Place::Status, Method::Get) => Some(Route::Status),
        (Place::Landing, Method::Get) => own(GatewayRoute::Landing),
        (Place::OpenApi, Method::Get) => own(GatewayRoute::OpenApi),
        (Place::Docs(page), Method::Get) => own(GatewayRoute::Docs(page)),
        (Place::Problem(code), Method::Get) => own(GatewayRoute::ProblemPage(code)),
        (Place::Script(script), Method::Get) => own(GatewayRoute::Script(script)),
        (Place::Site(route), Method::Get) => Some(Route::Site(route)),
        (Place::Pages(place), method) => place.call(method).map(Route::Pages),
        (Place::Webhooks(place), method) => place.call(method).map(Route::Webhooks),
        (Place::Mcp, Method::Post) => Some(Route::Mcp),
        (Place::PushProducts(id), Method::Post) => Some(Route::PushProducts(id)),
        (Place::PagesOpenApi, Method::Get) => Some(Route::PagesOpenApi),
        (Place::Visit(visit), method) => visit.with(method).map(Route::Visit),
        (Place::Admin(place), method) => place.call(method).map(Route::Admin),
        _ => None,
    }
}

fn not_allowed(methods: Methods) -> Problem {
    let allow = methods.allow();
    Problem::new(Code::MethodNotAllowed, format!("this path takes {allow}")).with_header("allow", allow)
}

#[cfg(test)]
mod tests;
