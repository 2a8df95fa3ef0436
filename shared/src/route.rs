//! The one strict parser of method and path. Its result decides tool, limit and target; no other
//! code parses the path.

use crate::{
    action::Action,
    key::KeyId,
    method::{Method, allow},
    problem::{Code, Problem},
    tool::Tool,
};

/// The longest request target (path and query), in bytes.
pub const MAX_TARGET: usize = 8_192;

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route<'a> {
    /// `GET|POST /v1/{tool}/{action}`
    CallTool(ToolCall<'a>),
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
    /// `GET /internal/keys/changes`
    KeyChanges,
    /// `GET /healthz`
    Health,
    /// `GET /v1/status`
    Status,
    /// `GET /openapi.json`
    OpenApi,
    /// `GET /docs`
    Docs,
    /// `GET /problems/{code}`
    ProblemPage(Code),
    /// `OPTIONS` on any path: the methods it takes, none if it leads nowhere.
    Preflight(&'static [Method]),
}

/// Path and query of a request, parted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target<'a> {
    /// The path, from its first slash.
    pub path: &'a str,
    /// The query after the first `?`, which tools get unchanged.
    pub query: Option<&'a str>,
}

impl<'a> Target<'a> {
    /// Parts a request target in origin form.
    ///
    /// # Errors
    /// Returns `target-too-long`, or `path-malformed` when it is not visible ASCII beginning with a
    /// slash, or has a fragment.
    pub fn parse(target: &'a str) -> Result<Self, Problem> {
        if target.len() > MAX_TARGET {
            return Err(Problem::new(
                Code::TargetTooLong,
                format!("path and query have {} bytes of {MAX_TARGET} allowed", target.len()),
            ));
        }
        if !target.bytes().all(|b| b.is_ascii_graphic() && b != b'#') {
            return Err(malformed("the path and query may hold visible ASCII only, and no `#`"));
        }
        if !target.starts_with('/') {
            return Err(malformed("the path does not begin with `/`"));
        }
        Ok(match target.split_once('?') {
            Some((path, query)) => Self { path, query: Some(query) },
            None => Self { path: target, query: None },
        })
    }
}

impl<'a> Route<'a> {
    /// Reads method and target of a request: its route and its query. An `OPTIONS` is never refused, whatever its target,
    /// because a browser shows a page the response to the request that follows only if the preflight has passed.
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
    /// and `route-unknown` for one that leads nowhere, `method-not-allowed` with `Allow` for one
    /// that leads somewhere else. None for `OPTIONS`.
    pub fn parse(method: &str, path: &'a str) -> Result<Self, Problem> {
        let (place, method) = (Place::parse(path), Method::parse(method));
        if method == Some(Method::Options) {
            return Ok(Self::Preflight(place.map_or(&[], Place::methods)));
        }
        let place = place?;
        method.and_then(|method| place.route(method)).ok_or_else(|| not_allowed(place.methods()))
    }
}

/// A path that leads somewhere, whatever the method.
#[derive(Clone, Copy)]
enum Place<'a> {
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
    OpenApi,
    Docs,
    Problem(Code),
}

impl<'a> Place<'a> {
    fn parse(path: &'a str) -> Result<Self, Problem> {
        let inner = path.strip_prefix('/').ok_or_else(|| malformed("the path does not begin with `/`"))?;
        if inner.is_empty() {
            return Err(nowhere());
        }
        let mut first = [None; 5];
        for (number, segment) in inner.split('/').enumerate() {
            check_segment(segment)?;
            first.get_mut(number).into_iter().for_each(|place| *place = Some(segment));
        }
        match first {
            [Some("healthz"), None, ..] => Ok(Self::Health),
            [Some("openapi.json"), None, ..] => Ok(Self::OpenApi),
            [Some("docs"), None, ..] => Ok(Self::Docs),
            [Some("problems"), Some(code), None, ..] => {
                Code::parse(code).map(Self::Problem).ok_or_else(nowhere)
            }
            [Some("internal"), Some("keys"), Some("changes"), None, ..] => Ok(Self::KeyChanges),
            [Some("v1"), Some("status"), None, ..] => Ok(Self::Status),
            [Some("v1"), Some("keys"), rest @ ..] => Self::parse_keys(rest),
            [Some("v1"), Some(tool), Some(action), None, ..] => Self::parse_tool(tool, action),
            [Some("v1"), Some(tool), None, ..] if Tool::parse(tool).is_some() => Err(Problem::new(
                Code::RouteUnknown,
                format!("the action is missing: call /v1/{tool}/{{action}}"),
            )),
            _ => Err(nowhere()),
        }
    }

    fn parse_keys(segments: [Option<&str>; 3]) -> Result<Self, Problem> {
        let id = |segment| KeyId::parse(segment).ok_or_else(nowhere);
        match segments {
            [None, ..] => Ok(Self::Keys),
            [Some("issue"), None, _] => Ok(Self::Issue),
            [Some("me"), None, _] => Ok(Self::Own),
            [Some("me"), Some("rotate"), None] => Ok(Self::OwnRotate),
            [Some(segment), None, _] => id(segment).map(Self::Key),
            [Some(segment), Some("revoke"), None] => id(segment).map(Self::KeyRevoke),
            [Some(segment), Some("rotate"), None] => id(segment).map(Self::KeyRotate),
            _ => Err(nowhere()),
        }
    }

    fn parse_tool(tool: &str, action: &'a str) -> Result<Self, Problem> {
        let tool = Tool::parse(tool).ok_or_else(|| unknown_tool(tool))?;
        match Action::parse(action) {
            Some(action) => Ok(Self::Tool(tool, action)),
            None => Err(malformed("an action has 1 to 64 characters")),
        }
    }

    const fn methods(self) -> &'static [Method] {
        match self {
            Self::Tool(..) => &[Method::Get, Method::Post],
            Self::Own => &[Method::Get, Method::Delete],
            Self::Key(_) => &[Method::Get, Method::Patch],
            Self::Keys | Self::KeyChanges => &[Method::Get],
            Self::Issue | Self::OwnRotate | Self::KeyRevoke(_) | Self::KeyRotate(_) => &[Method::Post],
            Self::Health | Self::Status | Self::OpenApi | Self::Docs | Self::Problem(_) => {
                &[Method::Get, Method::Head]
            }
        }
    }

    fn route(self, method: Method) -> Option<Route<'a>> {
        let call = |method, tool, action| Route::CallTool(ToolCall { method, tool, action });
        match (self, method) {
            (Self::Tool(tool, action), Method::Get) => Some(call(CallMethod::Get, tool, action)),
            (Self::Tool(tool, action), Method::Post) => Some(call(CallMethod::Post, tool, action)),
            (Self::Own, Method::Get) => Some(Route::ReadOwnKey),
            (Self::Own, Method::Delete) => Some(Route::RevokeOwnKey),
            (Self::OwnRotate, Method::Post) => Some(Route::RotateOwnKey),
            (Self::Keys, Method::Get) => Some(Route::ListKeys),
            (Self::Issue, Method::Post) => Some(Route::IssueKey),
            (Self::Key(id), Method::Get) => Some(Route::ReadKey(id)),
            (Self::Key(id), Method::Patch) => Some(Route::ChangeKey(id)),
            (Self::KeyRevoke(id), Method::Post) => Some(Route::RevokeKey(id)),
            (Self::KeyRotate(id), Method::Post) => Some(Route::RotateKey(id)),
            (Self::KeyChanges, Method::Get) => Some(Route::KeyChanges),
            (Self::Health, Method::Get | Method::Head) => Some(Route::Health),
            (Self::Status, Method::Get | Method::Head) => Some(Route::Status),
            (Self::OpenApi, Method::Get | Method::Head) => Some(Route::OpenApi),
            (Self::Docs, Method::Get | Method::Head) => Some(Route::Docs),
            (Self::Problem(code), Method::Get | Method::Head) => Some(Route::ProblemPage(code)),
            _ => None,
        }
    }
}

/// Refuses what another parser might normalise into something else.
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

fn malformed(detail: &'static str) -> Problem {
    Problem::new(Code::PathMalformed, detail)
}

fn nowhere() -> Problem {
    Problem::new(Code::RouteUnknown, "no route has this path; tools are called at /v1/{tool}/{action}")
}

fn unknown_tool(segment: &str) -> Problem {
    let shown: String = segment.chars().take(Action::MAX_LEN).collect();
    let nearest = Tool::nearest(segment).iter().map(|tool| tool.as_str()).collect::<Vec<_>>();
    Problem::new(Code::ToolUnknown, format!("`{shown}` is no tool; the nearest are {}", nearest.join(", ")))
        .with_member("nearest", nearest)
}

fn not_allowed(methods: &[Method]) -> Problem {
    let allow = allow(methods);
    Problem::new(Code::MethodNotAllowed, format!("this path takes {allow}")).with_header("allow", allow)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn code(method: &str, path: &str) -> Option<Code> {
        Route::parse(method, path).err().map(|problem| problem.code())
    }

    #[test]
    fn a_tool_call_is_method_tool_and_action() {
        for tool in Tool::ALL {
            let path = format!("/v1/{tool}/generate");
            let action = Action::parse("generate").unwrap();
            let call = |method| Ok(Route::CallTool(ToolCall { method, tool, action }));
            assert_eq!(Route::parse("GET", &path), call(CallMethod::Get));
            assert_eq!(Route::parse("POST", &path), call(CallMethod::Post));
        }
    }

    #[test]
    fn what_could_be_normalised_into_another_route_is_refused() {
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
        assert_eq!((route, query), (Route::ListKeys, Some("limit=1")));
    }

    #[test]
    fn an_unknown_tool_is_met_with_the_nearest_ones() {
        let problem = Route::parse("GET", "/v1/qrcode/generate").unwrap_err();
        assert_eq!(problem.code(), Code::ToolUnknown);
        assert!(problem.detail().contains("qr"), "{}", problem.detail());
        assert_eq!(code("GET", "/v1/QR/generate"), Some(Code::ToolUnknown));
    }

    #[test]
    fn a_wrong_method_is_told_the_right_ones() {
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
    fn every_method_a_place_names_leads_to_a_route() {
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
            "/docs".to_owned(),
            "/problems/key-missing".to_owned(),
        ] {
            let Ok(Route::Preflight(methods)) = Route::parse("OPTIONS", &path) else { panic!("{path}") };
            for method in methods {
                assert!(Route::parse(method.as_str(), &path).is_ok(), "{method} {path}");
            }
            assert_eq!(code("TRACE", &path), Some(Code::MethodNotAllowed));
        }
    }

    #[test]
    fn keys_is_not_a_tool_and_nothing_lies_below_a_route() {
        for path in
            ["/v1/keys/x", "/v1/keys/me/x", "/v1/qr/a/b", "/v1/qr", "/v1", "/", "/problems/x", "/docs/x"]
        {
            assert_eq!(code("GET", path), Some(Code::RouteUnknown), "{path}");
        }
    }

    #[test]
    fn a_target_is_parted_at_its_first_question_mark() {
        let target = Target::parse("/v1/qr/generate?url=https://x.y/?z&size=3").unwrap();
        assert_eq!((target.path, target.query), ("/v1/qr/generate", Some("url=https://x.y/?z&size=3")));
        assert!(Target::parse(&format!("/{}", "a".repeat(MAX_TARGET))).is_err());
        for target in ["/a b", "/a\r\n", "/ü", "/a#b", "*", "http://x/"] {
            assert!(Target::parse(target).is_err(), "{target:?}");
        }
    }

    proptest! {
        #[test]
        fn a_path_is_one_route_written_one_way_or_refused(path in "[/.%a-z0-9\\\\ ~_-]{0,24}|/v1/(qr|pdf|keys)/[!-~]{0,8}") {
            if let Ok(Route::CallTool(call)) = Route::parse("GET", &path) {
                prop_assert_eq!(format!("/v1/{}/{}", call.tool, call.action), path);
            }
        }
    }
}
