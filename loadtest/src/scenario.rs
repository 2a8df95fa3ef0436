//! The named scenarios: what is called, and what happens to the gateway meanwhile.

mod script;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use clap::ValueEnum;
use http_body_util::Full;
use hyper::header::{CONTENT_TYPE, HOST, HeaderValue};
use hyper::{Method, Request, Uri};
use shared::headers::API_KEY;
use shared::tool::Tool;

pub use script::{Script, ScriptError, play};

use crate::driver::{CallKind, CallTemplate};
use crate::target::Target;

/// A load pattern, with the events and the checks that belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Scenario {
    /// Calls are evenly spaced.
    Steady,
    /// All calls of a second are sent at its beginning.
    Burst,
    /// The rate exceeds the key's limit: exactly the limit succeeds, the rest gets 429 with
    /// Retry-After.
    OverLimit,
    /// The tool is stopped after a third of the run and started again after two thirds.
    ToolDies,
    /// The key is rotated half-way. From then on the old and the new key are used in turn.
    KeyRotation,
}

impl Scenario {
    /// Returns the name used on the command line and in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Steady => "steady",
            Self::Burst => "burst",
            Self::OverLimit => "over-limit",
            Self::ToolDies => "tool-dies",
            Self::KeyRotation => "key-rotation",
        }
    }
}

/// The event of a run. Times are counted from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScenarioEvent {
    /// No event.
    None,
    /// A tool was stopped and started again.
    Outage(Outage),
    /// The key was rotated.
    Rotation {
        /// The time at which the new key was available.
        at: Duration,
    },
}

/// The times of a tool outage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    /// The stop was requested.
    pub stopping: Duration,
    /// The tool had stopped.
    pub stopped: Duration,
    /// The start was requested.
    pub starting: Duration,
    /// The tool was listening again.
    pub started: Duration,
}

/// The request of every call, without its key.
#[derive(Clone, Debug)]
pub struct CallSpec {
    /// The path and query.
    pub path: Uri,
    /// The JSON body of a POST, or `None` for a GET.
    pub body: Option<Bytes>,
}

impl CallSpec {
    /// Returns a template for the call. The key is marked sensitive, so that `Debug` does not print
    /// it.
    #[must_use]
    pub fn template(&self, target: &Target, kind: CallKind, key: Option<&HeaderValue>) -> CallTemplate {
        let mut request = Request::new(Full::new(self.body.clone().unwrap_or_default()));
        *request.method_mut() = if self.body.is_some() { Method::POST } else { Method::GET };
        *request.uri_mut() = self.path.clone();
        let headers = request.headers_mut();
        if let Ok(host) = HeaderValue::from_str(target.authority()) {
            headers.insert(HOST, host);
        }
        if self.body.is_some() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        if let Some(key) = key {
            headers.insert(API_KEY, key.clone());
        }
        CallTemplate { kind, request }
    }

    /// Returns the called tool, or `None` if the path is not `/v1/{tool}/…`.
    #[must_use]
    pub fn tool(&self) -> Option<Tool> {
        Tool::parse(self.path.path().strip_prefix("/v1/")?.split('/').next()?)
    }

    /// Returns a call to a tool other than `tool`, to check that an outage does not affect it.
    fn for_other_tool(tool: Tool) -> Self {
        let other = if tool == Tool::Biolink { Tool::Build } else { Tool::Biolink };
        let path = Uri::try_from(format!("/v1/{other}/generate")).unwrap_or_default();
        Self { path, body: None }
    }
}

/// Returns the templates that a scenario starts with: one per key, and in `tool-dies` one more per
/// key for another tool.
#[must_use]
pub fn templates(
    scenario: Scenario,
    target: &Target,
    spec: &CallSpec,
    keys: &[HeaderValue],
) -> Arc<[CallTemplate]> {
    let keys: Vec<Option<&HeaderValue>> =
        if keys.is_empty() { vec![None] } else { keys.iter().map(Some).collect() };
    let other = spec.tool().filter(|_| scenario == Scenario::ToolDies).map(CallSpec::for_other_tool);
    keys.into_iter()
        .flat_map(|key| {
            let main = spec.template(target, CallKind::Main, key);
            let other = other.as_ref().map(|other| other.template(target, CallKind::OtherTool, key));
            [Some(main), other].into_iter().flatten()
        })
        .collect()
}
