//! The known paths, and the methods that each takes.

mod malformed_id;

use super::{
    admin::AdminPlace, docs::DocsPage, pages::PagesPlace, script::Script, site::SiteRoute, visit::Visit,
    webhooks::WebhooksPlace,
};
use crate::{
    action::Action,
    key::KeyId,
    method::{Method, Methods},
    page::SourceId,
    problem::{Code, Problem},
    tool::Tool,
};

/// A known path, whatever the method.
#[derive(Clone, Copy)]
pub(super) enum Place<'a> {
    Tool(Tool, Action<'a>),
    Keys,
    Issue,
    Own,
    OwnRotate,
    Key(KeyId),
    KeyRevoke(KeyId),
    KeyRotate(KeyId),
    KeyChanges,
    Health,
    Status,
    Landing,
    Mcp,
    OpenApi,
    Docs(DocsPage),
    Problem(Code),
    Script(Script),
    Site(SiteRoute),
    Pages(PagesPlace),
    Webhooks(WebhooksPlace),
    Admin(AdminPlace<'a>),
    PagesOpenApi,
    PushProducts(SourceId),
    Visit(Visit<'a>),
}

impl<'a> Place<'a> {
    /// Parses a path.
    ///
    /// # Errors
    /// Returns `path-malformed`, `tool-unknown` or `route-unknown`. The last one names an id that is
    /// malformed.
    pub(super) fn parse(path: &'a str) -> Result<Self, Problem> {
        Self::parse_path(path).map_err(|problem| match problem.code() {
            Code::RouteUnknown => malformed_id::explain(path).unwrap_or(problem),
            _ => problem,
        })
    }

    fn parse_path(path: &'a str) -> Result<Self, Problem> {
        let inner = path.strip_prefix('/').ok_or_else(|| malformed("the path does not begin with `/`"))?;
        if inner.is_empty() {
            return Ok(Self::Landing);
        }
        let mut first = [None; 5];
        let mut is_too_deep = false;
        for (number, segment) in inner.split('/').enumerate() {
            check_segment(segment)?;
            match first.get_mut(number) {
                Some(place) => *place = Some(segment),
                None => is_too_deep = true,
            }
        }
        if is_too_deep {
            return Err(unknown_route());
        }
        match first {
            [Some("healthz"), None, ..] => Ok(Self::Health),
            [Some("openapi.json"), None, ..] => Ok(Self::OpenApi),
            [Some("biolink"), Some("openapi.json"), None, ..] => Ok(Self::PagesOpenApi),
            [Some("console"), None, ..] => Ok(Self::Site(SiteRoute::Console)),
            [Some("docs"), None, ..] => Ok(Self::Docs(DocsPage::Gateway)),
            [Some("docs"), Some(page), None, ..] => {
                DocsPage::parse(page).map(Self::Docs).ok_or_else(unknown_route)
            }
            [Some("status"), None, ..] => Ok(Self::Site(SiteRoute::StatusPage)),
            [Some("llms.txt"), None, ..] => Ok(Self::Site(SiteRoute::LlmsTxt)),
            [Some(".well-known"), Some("api-catalog"), None, ..] => Ok(Self::Site(SiteRoute::ApiCatalog)),
            [Some("mcp"), None, ..] => Ok(Self::Mcp),
            [Some("robots.txt"), None, ..] => Ok(Self::Site(SiteRoute::Robots)),
            [Some("favicon.ico"), None, ..] => Ok(Self::Site(SiteRoute::Favicon)),
            [Some(".well-known"), Some("security.txt"), None, ..] => Ok(Self::Site(SiteRoute::SecurityTxt)),
            [Some("problems"), Some(code), None, ..] => {
                Code::parse(code).map(Self::Problem).ok_or_else(unknown_route)
            }
            [Some("assets"), Some(name), None, ..] => {
                Script::parse(name).map(Self::Script).ok_or_else(unknown_route)
            }
            [Some("internal"), Some("keys"), Some("changes"), None, ..] => Ok(Self::KeyChanges),
            [Some("admin"), rest @ ..] => AdminPlace::parse(rest).map(Self::Admin).ok_or_else(unknown_route),
            [Some("v1"), Some("status"), None, ..] => Ok(Self::Status),
            [Some("v1"), Some("keys"), rest @ ..] => Self::parse_keys(rest),
            [Some("v1"), Some(tool), Some(action), None, ..] => Self::parse_tool(tool, action),
            [Some("v1"), Some(tool), None, ..] if Tool::parse(tool).is_some() => Err(Problem::new(
                Code::RouteUnknown,
                format!("the action is missing: call /v1/{tool}/{{action}}"),
            )),
            [Some("v1"), ..] => Err(unknown_route()),
            [Some("webhooks" | "events"), ..] => {
                WebhooksPlace::parse(first).map(Self::Webhooks).ok_or_else(unknown_route)
            }
            [Some("hooks"), Some("products"), Some(source), None, ..] => {
                SourceId::parse(source).map(Self::PushProducts).ok_or_else(unknown_route)
            }
            _ => match PagesPlace::parse(first) {
                Some(place) => Ok(Self::Pages(place)),
                None => Visit::parse(first).map(Self::Visit).ok_or_else(unknown_route),
            },
        }
    }

    fn parse_keys(segments: [Option<&str>; 3]) -> Result<Self, Problem> {
        let id = |segment| KeyId::parse(segment).ok_or_else(unknown_route);
        match segments {
            [None, ..] => Ok(Self::Keys),
            [Some("issue"), None, _] => Ok(Self::Issue),
            [Some("me"), None, _] => Ok(Self::Own),
            [Some("me"), Some("rotate"), None] => Ok(Self::OwnRotate),
            [Some(segment), None, _] => id(segment).map(Self::Key),
            [Some(segment), Some("revoke"), None] => id(segment).map(Self::KeyRevoke),
            [Some(segment), Some("rotate"), None] => id(segment).map(Self::KeyRotate),
            _ => Err(unknown_route()),
        }
    }

    fn parse_tool(tool: &str, action: &'a str) -> Result<Self, Problem> {
        let tool = Tool::parse(tool).ok_or_else(|| unknown_tool(tool))?;
        match Action::parse(action) {
            Some(action) => Ok(Self::Tool(tool, action)),
            None => Err(malformed("an action has 1 to 64 characters")),
        }
    }

    /// Returns the methods that the path takes.
    pub(super) fn methods(self) -> Methods {
        use Method::{Delete, Get, Patch, Post};
        let methods = match self {
            Self::Tool(..) => Methods::of([Get, Post]),
            Self::Own => Methods::of([Get, Delete]),
            Self::Key(_) => Methods::of([Get, Patch]),
            Self::Mcp
            | Self::PushProducts(_)
            | Self::Issue
            | Self::OwnRotate
            | Self::KeyRevoke(_)
            | Self::KeyRotate(_) => Methods::of([Post]),
            Self::Keys
            | Self::KeyChanges
            | Self::Health
            | Self::Status
            | Self::Landing
            | Self::OpenApi
            | Self::PagesOpenApi
            | Self::Docs(_)
            | Self::Problem(_)
            | Self::Script(_)
            | Self::Site(_) => Methods::of([Get]),
            Self::Pages(place) => place.methods(),
            Self::Webhooks(place) => place.methods(),
            Self::Visit(visit) => visit.methods(),
            Self::Admin(place) => place.methods(),
        };
        if self.takes_head() { methods.with_head() } else { methods }
    }

    /// Returns true if a `HEAD` is a `GET` without its body. Tools have `GET` and `POST` only (spec
    /// section 4.2).
    pub(super) const fn takes_head(self) -> bool {
        !matches!(self, Self::Tool(..))
    }
}

/// Refuses a segment that another parser might normalize into something else.
fn check_segment(segment: &str) -> Result<(), Problem> {
    let unreserved = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b'~');
    match segment {
        "" => Err(malformed("the path has an empty segment; write single slashes and none at the end")),
        "." | ".." => Err(malformed("the path has a dot segment")),
        _ if segment.bytes().all(unreserved) => Ok(()),
        _ if segment.contains('%') => Err(malformed("the path is percent-encoded; no route needs that")),
        _ if segment.contains('\\') => Err(malformed("the path has a backslash")),
        _ => Err(malformed("the path has a character other than letters, digits and -._~")),
    }
}

fn unknown_route() -> Problem {
    Problem::new(Code::RouteUnknown, "no route has this path; tools are called at /v1/{tool}/{action}")
}

fn unknown_tool(segment: &str) -> Problem {
    let shown: String = segment.chars().take(Action::MAX_LEN).collect();
    let nearest = Tool::nearest(segment).iter().map(|tool| tool.as_str()).collect::<Vec<_>>();
    Problem::new(
        Code::ToolUnknown,
        format!("`{shown}` is not a tool; the nearest are {}", nearest.join(", ")),
    )
    .with_member("nearest", nearest)
}

/// Returns the refusal of a malformed path.
pub(super) fn malformed(detail: &'static str) -> Problem {
    Problem::new(Code::PathMalformed, detail)
}
