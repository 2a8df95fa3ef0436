//! The steps of a user: what is captured of each response, and how long the user thinks.

use std::time::Duration;

use hyper::header::HeaderName;
use rand::RngExt as _;
use serde_json::Value;
use serde_json_path::JsonPath;

use super::error::PlanErrorReason;
use super::response_check::CheckFailure;
use super::template::Variables;
use crate::duration;
use crate::http::Observed;
use crate::keys::PickedKey;
use crate::random;
use crate::record::CheckKind;
use crate::scenario::RequestSpec;

/// A user between two steps.
#[derive(Clone, Debug)]
pub(crate) struct FlowState {
    /// The number of the call that began the flow. All steps have its random values and its row of data.
    pub(super) nth: u64,
    /// The index of the next step's request.
    pub(super) request: usize,
    /// The index after that of the last step.
    pub(super) end: usize,
    /// The key of the first step.
    pub(super) key: Option<PickedKey>,
    pub(super) captured: Variables,
}

/// The end of a step.
pub(super) struct StepEnd {
    captures: Vec<(String, Source)>,
    /// The least and the longest time until the next step.
    think: (Duration, Duration),
}

/// The place of a value in a response.
enum Source {
    Pointer(String),
    Path(String, Box<JsonPath>),
    Header(HeaderName),
}

impl StepEnd {
    /// Plans the end of a step.
    pub(super) fn new(spec: &RequestSpec) -> Result<Self, PlanErrorReason> {
        let captures = spec.capture.iter().map(|(name, source)| Ok((name.clone(), Source::parse(source)?)));
        let think = spec.think.as_deref().map_or(Ok((Duration::ZERO, Duration::ZERO)), think)?;
        Ok(Self { captures: captures.collect::<Result<_, PlanErrorReason>>()?, think })
    }

    pub(super) const fn needs_body(&self) -> bool {
        !self.captures.is_empty()
    }

    /// Returns the time until the next step of the user that call number `nth` began.
    pub(super) fn think(&self, nth: u64) -> Duration {
        let (from, to) = self.think;
        from + (to - from).mul_f64(random::at(0x7417, nth).random::<f64>())
    }

    /// Captures the values of a response.
    pub(super) fn capture(&self, response: &Observed<'_>) -> Result<Variables, CheckFailure> {
        let body = || serde_json::from_slice::<Value>(response.body).unwrap_or_default();
        // Without captures the body was not kept, and is not worth parsing.
        let json = if self.captures.is_empty() { Value::Null } else { body() };
        let captured = self.captures.iter().map(|(name, source)| {
            let value = source.find(&json, response);
            let missing = || CheckFailure {
                kind: CheckKind::Capture,
                found: format!("no string, number or truth value for `{name}` at {}", source.text()),
            };
            Ok((name.clone(), value.ok_or_else(missing)?))
        });
        captured.collect()
    }
}

impl Source {
    fn parse(text: &str) -> Result<Self, PlanErrorReason> {
        let invalid = || PlanErrorReason::Capture(text.to_owned());
        if text.starts_with('/') {
            // No JSONPath begins with a slash (RFC 9535, section 2.1.1), and each JSON Pointer into
            // a value does (RFC 6901).
            return Ok(Self::Pointer(text.to_owned()));
        }
        if let Some(name) = text.strip_prefix("header ") {
            return HeaderName::try_from(name.trim()).map(Self::Header).map_err(|_invalid| invalid());
        }
        let path = JsonPath::parse(text).map_err(|_invalid| invalid())?;
        Ok(Self::Path(text.to_owned(), Box::new(path)))
    }

    fn find(&self, json: &Value, response: &Observed<'_>) -> Option<String> {
        match self {
            Self::Pointer(pointer) => json.pointer(pointer).and_then(scalar),
            Self::Path(_, path) => path.query(json).first().and_then(scalar),
            Self::Header(name) => response.headers.get(name)?.to_str().ok().map(str::to_owned),
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Pointer(text) | Self::Path(text, _) => text.clone(),
            Self::Header(name) => format!("header {name}"),
        }
    }
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        // A list or an object in a path would only look like a value.
        _ => None,
    }
}

/// Parses `1s` or `1s..3s`.
fn think(text: &str) -> Result<(Duration, Duration), PlanErrorReason> {
    let (from, to) = text.split_once("..").unwrap_or((text, text));
    let times = duration::parse(from.trim()).zip(duration::parse(to.trim()));
    times.filter(|(from, to)| from <= to).ok_or_else(|| PlanErrorReason::Think(text.to_owned()))
}
