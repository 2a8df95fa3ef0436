//! A request that is sent repeatedly.

use std::fs;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Uri};
use serde::de::IgnoredAny;
use shared::headers::API_KEY;

use super::error::PlanErrorReason;
use super::flow::StepEnd;
use super::response_check::ResponseCheck;
use super::template::{Escape, Fields, Template, Variables, substitute};
use crate::keys::{KeyPool, PickedKey};
use crate::record::NO_KEY;
use crate::scenario::RequestSpec;
use crate::target::Target;

/// A request, as far as it is the same for every call.
pub(crate) struct PlannedRequest {
    pub(crate) name: String,
    /// Method and path with the fields of calls.
    pub(super) label: String,
    method: Method,
    path: Template,
    /// The text before the path: nothing for HTTP/1.1, scheme and authority for HTTP/2.
    base: String,
    constant_uri: Option<Uri>,
    headers: HeaderMap,
    changing_headers: Vec<(HeaderName, Template)>,
    body: PlannedBody,
    keys: Option<Arc<KeyPool>>,
    pub(super) check: Option<ResponseCheck>,
    pub(super) end: StepEnd,
    /// The index after that of the last step, if it is one of a flow, and otherwise that of the next request.
    pub(super) flow_end: usize,
}

enum PlannedBody {
    Constant(Bytes),
    Changing(Template),
}

impl PlannedRequest {
    /// Plans a request. `keys` is the pool that it takes keys from.
    pub(super) fn new(
        spec: &RequestSpec,
        target: &Target,
        http2: bool,
        fields: Fields<'_>,
        keys: Option<Arc<KeyPool>>,
    ) -> Result<Self, PlanErrorReason> {
        let method = Method::from_bytes(spec.method.as_bytes())
            .map_err(|_invalid| PlanErrorReason::Method(spec.method.clone()))?;
        let path = Template::parse(&spec.path, fields, Escape::Url)?;
        // HTTP/2 has scheme and authority in the request (RFC 9113, section 8.3.1), where HTTP/1.1
        // has `Host`.
        let base = if http2 { target.to_string() } else { String::new() };
        let sample = path.render(0, &Variables::new());
        // A path that is no URI would otherwise be found in the first call, and be sent as `/`.
        let sample_uri = Uri::try_from(format!("{base}{sample}")).ok().filter(|_| sample.starts_with('/'));
        let sample_uri = sample_uri.ok_or_else(|| PlanErrorReason::Path(sample.clone()))?;
        let mut planned = Self {
            name: spec.name.clone(),
            label: format!("{method} {}", substitute(&spec.path, fields.variables)),
            method,
            constant_uri: path.constant().is_some().then_some(sample_uri),
            path,
            base,
            headers: HeaderMap::new(),
            changing_headers: Vec::new(),
            body: body(spec, fields)?,
            keys,
            end: StepEnd::new(spec)?,
            flow_end: 0,
            check: spec.check.as_ref().map(|check| ResponseCheck::new(check, fields)).transpose()?,
        };
        if !http2 && let Ok(host) = HeaderValue::from_str(target.authority()) {
            planned.headers.insert(HOST, host);
        }
        if spec.body.is_some() || spec.body_file.is_some() || spec.body_bytes.is_some() {
            planned.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        for (name, value) in &spec.headers {
            planned.add_header(name, value, fields)?;
        }
        // Text that says it is something else is not checked as JSON.
        if !has_own_type(spec) {
            planned.body.check_json()?;
        }
        Ok(planned)
    }

    fn add_header(&mut self, name: &str, value: &str, fields: Fields<'_>) -> Result<(), PlanErrorReason> {
        let invalid = || PlanErrorReason::Header(format!("{name}: {value}"));
        let header = HeaderName::try_from(name).map_err(|_invalid| invalid())?;
        let template = Template::parse(value, fields, Escape::None)?;
        match template.constant() {
            Some(text) => {
                let value = HeaderValue::from_str(text).map_err(|_invalid| invalid())?;
                self.headers.insert(header, value);
            }
            None => self.changing_headers.push((header, template)),
        }
        Ok(())
    }

    /// Returns the key of call number `nth`.
    pub(super) fn pick_key(&self, nth: u64) -> Option<PickedKey> {
        self.keys.as_ref().and_then(|keys| keys.pick(nth))
    }

    /// Returns the request of call number `nth`, and the number of its key.
    pub(super) fn render(
        &self,
        nth: u64,
        key: Option<PickedKey>,
        captured: &Variables,
    ) -> (Request<Full<Bytes>>, u32) {
        let body = match &self.body {
            PlannedBody::Constant(bytes) => bytes.clone(),
            PlannedBody::Changing(template) => template.render(nth, captured).into(),
        };
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self.uri(nth, captured);
        *request.headers_mut() = self.headers.clone();
        for (name, template) in &self.changing_headers {
            if let Ok(value) = HeaderValue::try_from(template.render(nth, captured)) {
                request.headers_mut().insert(name, value);
            }
        }
        let Some(PickedKey { value, number }) = key else { return (request, NO_KEY) };
        // After the headers of the scenario: the record names this key, so the call must have it.
        request.headers_mut().insert(API_KEY, value);
        (request, number)
    }

    fn uri(&self, nth: u64, captured: &Variables) -> Uri {
        let render =
            || Uri::try_from(format!("{}{}", self.base, self.path.render(nth, captured))).unwrap_or_default();
        self.constant_uri.clone().unwrap_or_else(render)
    }
}

impl PlannedBody {
    /// Returns an error if the body of the first call is neither empty nor JSON.
    fn check_json(&self) -> Result<(), PlanErrorReason> {
        /// The part of a body that an error shows.
        const SHOWN: usize = 60;
        let body = match self {
            Self::Constant(bytes) => bytes.clone(),
            Self::Changing(template) => template.render(0, &Variables::new()).into(),
        };
        // A request without a body is no broken JSON.
        if body.is_empty() {
            return Ok(());
        }
        let parsed = serde_json::from_slice::<IgnoredAny>(&body);
        parsed.map(drop).map_err(|source| {
            let shown = String::from_utf8_lossy(&body).chars().take(SHOWN).collect();
            PlanErrorReason::Json { body: shown, source }
        })
    }
}

/// Returns true if a header says what the body is. Otherwise it is JSON.
fn has_own_type(spec: &RequestSpec) -> bool {
    spec.headers.keys().any(|name| name.eq_ignore_ascii_case(CONTENT_TYPE.as_str()))
}

fn body(spec: &RequestSpec, fields: Fields<'_>) -> Result<PlannedBody, PlanErrorReason> {
    if let Some(path) = &spec.body_file {
        let bytes = fs::read(path).map_err(|source| PlanErrorReason::Body { path: path.clone(), source })?;
        return Ok(PlannedBody::Constant(bytes.into()));
    }
    if let Some(size) = spec.body_bytes {
        return Ok(PlannedBody::Constant(json_string(size)));
    }
    let is_json = !has_own_type(spec);
    let escape = if is_json { Escape::Json } else { Escape::None };
    let template = Template::parse(spec.body.as_deref().unwrap_or_default(), fields, escape)?;
    Ok(match template.constant() {
        Some(text) => PlannedBody::Constant(text.to_owned().into()),
        None => PlannedBody::Changing(template),
    })
}

/// Returns a JSON string of `size` bytes with its quotation marks.
fn json_string(size: u32) -> Bytes {
    let inner = usize::try_from(size.saturating_sub(2)).unwrap_or(0);
    let mut text = Vec::with_capacity(inner + 2);
    text.push(b'"');
    text.resize(inner + 1, b'x');
    text.push(b'"');
    text.into()
}
