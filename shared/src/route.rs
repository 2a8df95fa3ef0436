//! The one strict parser of method and path. Its result decides tool, limit and target; no other
//! code parses the path.

mod endpoints;
mod keys_route;
mod malformed_id;
mod parameter;
mod path;
mod refusal;
mod secret_call;
mod service_route;
mod target;
mod tools_route;

pub use endpoints::{Endpoint, EndpointRoute, Parameters, Template};
pub use keys_route::{KeysEndpoint, KeysRoute};
pub use malformed_id::malformed_id;
pub use parameter::Parameter;
pub use path::{Path, Segments};
use refusal::malformed;
pub use refusal::unknown_route;
pub use secret_call::SecretCall;
pub use service_route::ServiceRoute;
pub use target::{MAX_TARGET, Target};
pub use tools_route::{ToolsEndpoint, ToolsRoute};

use crate::action::Action;
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
/// // A path that two parsers could read differently is refused, never normalized.
/// assert_eq!(Route::read("GET", "/v1/qr/../keys").unwrap_err().code(), codes::PATH_MALFORMED);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route<'a> {
    /// `GET|POST /v1/{tool}/{action}`
    CallTool(ToolCall<'a>),
    /// A request of the keys API.
    Keys(KeysRoute),
    /// A request for the state of the service, or of one part of it to another.
    Service(ServiceRoute),
    /// A read of the catalog of the tools' actions.
    Tools(ToolsRoute),
    /// `OPTIONS` on one of these: the methods that the path takes, none if it is malformed.
    Preflight(Methods),
    /// A well-formed path of none of these, with the method if it is a known one. Perhaps another
    /// part of the service knows it.
    Other(Option<Method>, Path<'a>),
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
        match Path::parse(path).and_then(|path| Self::of(method, path)) {
            Err(_) if method == Some(Method::Options) => Ok(Self::Preflight(Methods::NONE)),
            read => read,
        }
    }

    fn of(method: Option<Method>, path: Path<'a>) -> Result<Self, Problem> {
        let segments = path.segments();
        let known = match segments {
            [Some("v1"), Some("keys" | "usage"), ..] => {
                KeysRoute::find(segments, method, Self::Preflight, Self::Keys)?
            }
            [Some("tools"), ..] => ToolsRoute::find(segments, method, Self::Preflight, Self::Tools)?,
            [Some("healthz" | "internal"), ..] | [Some("v1"), Some("status"), ..] => {
                ServiceRoute::find(segments, method, Self::Preflight, Self::Service)?
            }
            _ => None,
        };
        if let Some(route) = known {
            return Ok(route);
        }
        match segments {
            // What lies below is the edge's alone.
            [Some("v1"), Some("status"), ..] => Ok(Self::Other(method, path)),
            [Some("v1"), Some("keys"), ..] | [Some("tools"), ..] => Err(unknown_route()),
            [Some("v1"), Some(tool), Some(action), None, ..] => Self::call_tool(method, tool, action),
            [Some("v1"), Some(tool), None, ..] if tool.parse::<Tool>().is_ok() => Err(Problem::new(
                codes::ROUTE_UNKNOWN,
                format!("the action is missing: call /v1/{tool}/{{action}}"),
            )),
            [Some("v1"), ..] => Err(unknown_route()),
            _ => Ok(Self::Other(method, path)),
        }
    }

    fn call_tool(method: Option<Method>, tool: &str, action: &'a str) -> Result<Self, Problem> {
        let tool = Tool::read(tool)?;
        let action = Action::parse(action).ok_or_else(|| malformed("an action has 1 to 64 characters"))?;
        // Without `HEAD`: tools have `GET` and `POST` only (spec section 4.2).
        let methods = Methods::of([Method::Get, Method::Post]);
        on_path(method, methods, Self::Preflight, |method| {
            let method = if method == Method::Post { CallMethod::Post } else { CallMethod::Get };
            Some(Self::CallTool(ToolCall { method, tool, action }))
        })
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

#[cfg(test)]
mod tests;
