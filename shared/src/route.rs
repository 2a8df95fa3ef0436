//! The one strict parser of method and path. Its result decides tool, limit and target; no other
//! code parses the path.

mod malformed_id;
mod path;
mod place;
mod refusal;
mod secret_call;
mod target;
mod tools_route;

pub use malformed_id::malformed_id;
pub use path::{Path, Segments};
use place::Place;
pub use refusal::unknown_route;
pub use secret_call::SecretCall;
pub use target::{MAX_TARGET, Target};
pub use tools_route::ToolsRoute;

use crate::action::Action;
use crate::key::{KeyId, SecretId};
use crate::method::{Method, Methods};
use crate::problem::{Problem, codes};
use crate::tool::Tool;

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

/// A request for the gateway, or for another part of the service.
///
/// ```
/// use shared::{
///     problem::codes,
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
/// assert_eq!((problem.status(), problem.code()), (405, codes::METHOD_NOT_ALLOWED));
/// // A path that two parsers could read differently is refused, never normalised.
/// assert_eq!(Route::read("GET", "/v1/qr/../keys").unwrap_err().code(), codes::PATH_MALFORMED);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route<'a> {
    /// `GET|POST /v1/{tool}/{action}`
    CallTool(ToolCall<'a>),
    /// A request of the keys API.
    Keys(KeysRoute),
    /// `GET /internal/keys/changes`
    KeyChanges,
    /// `POST /internal/meter`
    Meters,
    /// `GET /healthz`
    Health,
    /// `GET /v1/status`
    Status,
    /// A read of the catalog of the tools' actions.
    Tools(ToolsRoute),
    /// `OPTIONS` on one of these: the methods that the path takes, none if it is malformed.
    Preflight(Methods),
    /// A well-formed path of none of these, with the method if it is a known one. Another part of the
    /// service knows it, or nobody.
    Other(Option<Method>, Path<'a>),
}

/// A request of the keys API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeysRoute {
    /// `POST /v1/keys/issue`
    Issue,
    /// `GET /v1/keys/me`
    ReadOwn,
    /// `POST /v1/keys/me/rotate`
    RotateOwn,
    /// `DELETE /v1/keys/me`
    RevokeOwn,
    /// `GET /v1/usage`
    ReadHistory,
    /// `GET /v1/usage/calls`
    ReadCalls,
    /// `GET /v1/keys/me/alerts`
    ReadAlerts,
    /// `GET /v1/keys/me/secrets`
    ListSecrets,
    /// A change of a secret below that.
    Secret(SecretCall),
    /// `GET /v1/keys`
    List,
    /// `GET /v1/keys/{id}`
    Read(KeyId),
    /// `PATCH /v1/keys/{id}`
    Change(KeyId),
    /// `POST /v1/keys/{id}/revoke`
    Revoke(KeyId),
    /// `POST /v1/keys/{id}/rotate`
    Rotate(KeyId),
    /// `DELETE /v1/keys/{id}/secrets/{secret_id}`
    RevokeSecret(KeyId, SecretId),
}

impl<'a> Route<'a> {
    /// Parses the method and the target of a request. Returns its route and the parts of the target.
    /// An `OPTIONS` is never refused, because browsers show a page the response to the actual
    /// request only if the preflight has passed.
    ///
    /// # Errors
    /// As [`Target::parse`] and [`Route::parse`].
    pub fn read(method: &str, target: &'a str) -> Result<(Self, Target<'a>), Problem> {
        match Target::parse(target) {
            Ok(target) => Self::parse(method, target.path).map(|route| (route, target)),
            Err(_) if method.parse::<Method>() == Ok(Method::Options) => {
                Ok((Self::Preflight(Methods::NONE), Target::ASTERISK))
            }
            Err(problem) => Err(problem),
        }
    }

    /// Returns the one route that `method` and `path` name.
    ///
    /// # Errors
    /// Returns `path-malformed` for a path that two parsers could read differently, `tool-unknown`
    /// or `route-unknown` for an unknown one below `/v1`, and `method-not-allowed` with `Allow` for a
    /// known one with another method. An `OPTIONS` is never refused.
    pub fn parse(method: &str, path: &'a str) -> Result<Self, Problem> {
        let method = method.parse::<Method>().ok();
        match Path::parse(path).and_then(|path| Place::parse(path).map(|place| (path, place))) {
            Ok((path, None)) => Ok(Self::Other(method, path)),
            Ok((_, Some(place))) => {
                on_path(method, place.methods(), Self::Preflight, |method| route_of(place, method))
            }
            Err(_) if method == Some(Method::Options) => Ok(Self::Preflight(Methods::NONE)),
            Err(problem) => Err(problem),
        }
    }
}

/// Returns the route of a method on a known path, which takes `methods`. A `HEAD` has the route of the
/// `GET` where the path takes it.
///
/// # Errors
/// Returns `method-not-allowed` with `Allow`.
pub fn on_path<R>(
    method: Option<Method>,
    methods: Methods,
    preflight: impl FnOnce(Methods) -> R,
    route: impl FnOnce(Method) -> Option<R>,
) -> Result<R, Problem> {
    let known = match method {
        Some(Method::Options) => return Ok(preflight(methods)),
        Some(Method::Head) if methods.contains(Method::Head) => Some(Method::Get),
        method => method.filter(|method| methods.contains(*method)),
    };
    known.and_then(route).ok_or_else(|| not_allowed(methods))
}

fn not_allowed(methods: Methods) -> Problem {
    let allow = methods.allow();
    Problem::new(codes::METHOD_NOT_ALLOWED, format!("this path takes {allow}")).with_header("allow", allow)
}

/// Returns the route of a method, or `None` if the path does not take the method.
fn route_of(place: Place<'_>, method: Method) -> Option<Route<'_>> {
    let call = |method, tool, action| Route::CallTool(ToolCall { method, tool, action });
    let keys = |route| Some(Route::Keys(route));
    match (place, method) {
        (Place::Tool(tool, action), Method::Get) => Some(call(CallMethod::Get, tool, action)),
        (Place::Tool(tool, action), Method::Post) => Some(call(CallMethod::Post, tool, action)),
        (Place::Own, Method::Get) => keys(KeysRoute::ReadOwn),
        (Place::Own, Method::Delete) => keys(KeysRoute::RevokeOwn),
        (Place::Usage, Method::Get) => keys(KeysRoute::ReadHistory),
        (Place::Calls, Method::Get) => keys(KeysRoute::ReadCalls),
        (Place::Alerts, Method::Get) => keys(KeysRoute::ReadAlerts),
        (Place::OwnRotate, Method::Post) => keys(KeysRoute::RotateOwn),
        (Place::Secrets, Method::Get) => keys(KeysRoute::ListSecrets),
        (Place::Secrets, Method::Post) => keys(KeysRoute::Secret(SecretCall::Create)),
        (Place::Secret(id), Method::Patch) => keys(KeysRoute::Secret(SecretCall::Change(id))),
        (Place::Secret(id), Method::Delete) => keys(KeysRoute::Secret(SecretCall::Revoke(id))),
        (Place::SecretRotate(id), Method::Post) => keys(KeysRoute::Secret(SecretCall::Rotate(id))),
        (Place::Keys, Method::Get) => keys(KeysRoute::List),
        (Place::Issue, Method::Post) => keys(KeysRoute::Issue),
        (Place::Key(id), Method::Get) => keys(KeysRoute::Read(id)),
        (Place::Key(id), Method::Patch) => keys(KeysRoute::Change(id)),
        (Place::KeyRevoke(id), Method::Post) => keys(KeysRoute::Revoke(id)),
        (Place::KeyRotate(id), Method::Post) => keys(KeysRoute::Rotate(id)),
        (Place::KeySecret(id, secret), Method::Delete) => keys(KeysRoute::RevokeSecret(id, secret)),
        (Place::KeyChanges, Method::Get) => Some(Route::KeyChanges),
        (Place::Meters, Method::Post) => Some(Route::Meters),
        (Place::Health, Method::Get) => Some(Route::Health),
        (Place::Status, Method::Get) => Some(Route::Status),
        (Place::Tools(route), Method::Get) => Some(Route::Tools(route)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
