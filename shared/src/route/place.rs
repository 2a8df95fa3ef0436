//! The known paths of the gateway, and the methods that each takes.

use super::malformed_id::malformed_id;
use super::path::Path;
use super::refusal::{malformed, unknown_route};
use super::tools_route::ToolsRoute;
use crate::action::Action;
use crate::key::{KeyId, SecretId};
use crate::method::{Method, Methods};
use crate::problem::{Problem, codes};
use crate::tool::Tool;

/// A known path, whatever the method.
#[derive(Clone, Copy)]
pub(super) enum Place<'a> {
    Tool(Tool, Action<'a>),
    Keys,
    Issue,
    Own,
    OwnRotate,
    Usage,
    Calls,
    Alerts,
    Secrets,
    Secret(SecretId),
    SecretRotate(SecretId),
    Key(KeyId),
    KeyRevoke(KeyId),
    KeyRotate(KeyId),
    KeySecret(KeyId, SecretId),
    KeyChanges,
    Meters,
    Health,
    Status,
    Tools(ToolsRoute),
}

impl<'a> Place<'a> {
    /// Finds a path; `None` if it is not the gateway's.
    ///
    /// # Errors
    /// Returns `tool-unknown`, `path-malformed` for an action, or `route-unknown` for what lies below
    /// `/v1` otherwise. The last one names an id that is malformed.
    pub(super) fn parse(path: Path<'a>) -> Result<Option<Self>, Problem> {
        match path.segments() {
            [Some("healthz"), None, ..] => Ok(Some(Self::Health)),
            [Some("internal"), Some("keys"), Some("changes"), None, ..] => Ok(Some(Self::KeyChanges)),
            [Some("internal"), Some("meter"), None, ..] => Ok(Some(Self::Meters)),
            [Some("v1"), Some("usage"), None, ..] => Ok(Some(Self::Usage)),
            [Some("v1"), Some("usage"), Some("calls"), None, ..] => Ok(Some(Self::Calls)),
            [Some("v1"), Some("status"), None, ..] => Ok(Some(Self::Status)),
            // What lies below is the edge's alone.
            [Some("v1"), Some("status"), ..] => Ok(None),
            [Some("tools"), rest @ ..] => Self::parse_tools(rest).map(Some),
            [Some("v1"), Some("keys"), rest @ ..] => Self::parse_keys(rest).map(Some),
            [Some("v1"), Some(tool), Some(action), None, ..] => Self::parse_tool(tool, action).map(Some),
            [Some("v1"), Some(tool), None, ..] if tool.parse::<Tool>().is_ok() => Err(Problem::new(
                codes::ROUTE_UNKNOWN,
                format!("the action is missing: call /v1/{tool}/{{action}}"),
            )),
            [Some("v1"), ..] => Err(unknown_route()),
            _ => Ok(None),
        }
    }

    fn parse_keys(segments: [Option<&str>; 4]) -> Result<Self, Problem> {
        let id = |segment| {
            KeyId::parse(segment)
                .ok_or_else(|| malformed_id(segment, "a key", &KeyId::new([0; KeyId::BYTES]).to_string()))
        };
        let secret = |segment| {
            SecretId::parse(segment).ok_or_else(|| {
                malformed_id(segment, "a secret", &SecretId::new([0; SecretId::BYTES]).to_string())
            })
        };
        match segments {
            [None, ..] => Ok(Self::Keys),
            [Some("issue"), None, ..] => Ok(Self::Issue),
            [Some("me"), None, ..] => Ok(Self::Own),
            [Some("me"), Some("rotate"), None, _] => Ok(Self::OwnRotate),
            [Some("me"), Some("alerts"), None, _] => Ok(Self::Alerts),
            [Some("me"), Some("secrets"), None, _] => Ok(Self::Secrets),
            [Some("me"), Some("secrets"), Some(segment), None] => secret(segment).map(Self::Secret),
            [Some("me"), Some("secrets"), Some(segment), Some("rotate")] => {
                secret(segment).map(Self::SecretRotate)
            }
            [Some(segment), None, ..] => id(segment).map(Self::Key),
            [Some(segment), Some("revoke"), None, _] => id(segment).map(Self::KeyRevoke),
            [Some(segment), Some("rotate"), None, _] => id(segment).map(Self::KeyRotate),
            [Some(segment), Some("secrets"), Some(named), None] => {
                Ok(Self::KeySecret(id(segment)?, secret(named)?))
            }
            _ => Err(unknown_route()),
        }
    }

    fn parse_tools(segments: [Option<&str>; 5]) -> Result<Self, Problem> {
        match segments {
            [None, ..] => Ok(Self::Tools(ToolsRoute::List)),
            [Some("openapi.json"), None, ..] => Ok(Self::Tools(ToolsRoute::OpenApi)),
            [Some(tool), None, ..] => match tool.parse::<Tool>() {
                Ok(tool) => Ok(Self::Tools(ToolsRoute::Read(tool))),
                Err(_) => Err(unknown_tool(tool)),
            },
            _ => Err(unknown_route()),
        }
    }

    fn parse_tool(tool: &str, action: &'a str) -> Result<Self, Problem> {
        let tool = tool.parse::<Tool>().map_err(|_| unknown_tool(tool))?;
        match Action::parse(action) {
            Some(action) => Ok(Self::Tool(tool, action)),
            None => Err(malformed("an action has 1 to 64 characters")),
        }
    }

    /// Returns the methods that the path takes. A `HEAD` is a `GET` without its body, but for tools,
    /// which have `GET` and `POST` only (spec section 4.2).
    pub(super) fn methods(self) -> Methods {
        use Method::{Delete, Get, Patch, Post};
        match self {
            Self::Tool(..) => Methods::of([Get, Post]),
            Self::Own => Methods::of([Get, Delete]).with_head(),
            Self::Key(_) => Methods::of([Get, Patch]).with_head(),
            Self::Secrets => Methods::of([Get, Post]).with_head(),
            Self::Secret(_) => Methods::of([Patch, Delete]),
            Self::KeySecret(..) => Methods::of([Delete]),
            Self::Issue
            | Self::OwnRotate
            | Self::SecretRotate(_)
            | Self::KeyRevoke(_)
            | Self::KeyRotate(_)
            | Self::Meters => Methods::of([Post]),
            Self::Keys
            | Self::Usage
            | Self::Calls
            | Self::Alerts
            | Self::KeyChanges
            | Self::Health
            | Self::Status
            | Self::Tools(_) => Methods::of([Get]).with_head(),
        }
    }
}

fn unknown_tool(segment: &str) -> Problem {
    let shown: String = segment.chars().take(Action::MAX_LEN).collect();
    let nearest = Tool::nearest(segment).iter().map(|tool| tool.as_str()).collect::<Vec<_>>();
    Problem::new(
        codes::TOOL_UNKNOWN,
        format!("`{shown}` is not a tool; the nearest are {}", nearest.join(", ")),
    )
    .with_member("nearest", nearest)
}
