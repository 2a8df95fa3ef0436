//! The named scenarios: what is called, and what is done to the gateway meanwhile.

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

pub use script::{Script, play};

use crate::driver::{Stream, Template};
use crate::target::Target;

/// A load and the story that goes with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Scenario {
    /// Evenly spread calls.
    Steady,
    /// The same number of calls a second, all at its beginning.
    Burst,
    /// More calls than the key's limit: exactly the limit gets through, the rest is told when to come back.
    OverLimit,
    /// A third of the way in the tool is stopped, at two thirds it is started again.
    ToolDies,
    /// Half-way the key is replaced; from then on the old and the new one take turns.
    KeyRotation,
}

impl Scenario {
    /// Its name on the command line and in reports.
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

/// What happened to the gateway during a run, counted from its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moments {
    /// Nothing.
    Quiet,
    /// A tool went and came back.
    Outage(Outage),
    /// The key was replaced.
    Rotation {
        /// When the new key was there.
        at: Duration,
    },
}

/// The moments of a tool that goes and comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    /// It is told to stop.
    pub stopping: Duration,
    /// It has stopped.
    pub stopped: Duration,
    /// It is told to start.
    pub starting: Duration,
    /// It has started.
    pub started: Duration,
}

/// What every call asks for.
#[derive(Clone, Debug)]
pub struct Ask {
    /// The path and query.
    pub path: Uri,
    /// A JSON body makes it a POST; without one it is a GET.
    pub body: Option<Bytes>,
}

impl Ask {
    /// The call as a template. The key's value is marked sensitive, so that no `Debug` shows it.
    #[must_use]
    pub fn template(&self, target: &Target, stream: Stream, key: Option<&HeaderValue>) -> Template {
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
        Template { stream, request }
    }

    /// The tool that is called, if the path is the gateway's.
    #[must_use]
    pub fn tool(&self) -> Option<Tool> {
        Tool::parse(self.path.path().strip_prefix("/v1/")?.split('/').next()?)
    }

    /// A call to another tool, to see that it is left alone.
    fn of_another_tool(tool: Tool) -> Self {
        let other = if tool == Tool::Biolink { Tool::Build } else { Tool::Biolink };
        let path = Uri::try_from(format!("/v1/{other}/generate")).unwrap_or_default();
        Self { path, body: None }
    }
}

/// The calls that a scenario begins with, in turn: one for each key and, where a tool dies, as many to another.
#[must_use]
pub fn templates(scenario: Scenario, target: &Target, ask: &Ask, keys: &[HeaderValue]) -> Arc<[Template]> {
    let keys: Vec<Option<&HeaderValue>> =
        if keys.is_empty() { vec![None] } else { keys.iter().map(Some).collect() };
    let other = ask.tool().filter(|_| scenario == Scenario::ToolDies).map(Ask::of_another_tool);
    keys.into_iter()
        .flat_map(|key| {
            let main = ask.template(target, Stream::Main, key);
            let bystander = other.as_ref().map(|other| other.template(target, Stream::Bystander, key));
            [Some(main), bystander].into_iter().flatten()
        })
        .collect()
}
