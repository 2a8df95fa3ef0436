//! Every error a client can see, as RFC 9457 problem details: one type, one table of codes, one
//! rendering.
//!
//! Why: docs/decisions/edge.md, "`X-Gateway-Problem` tells the gateway's errors from a tool's".

mod code;
pub mod codes;

use std::borrow::Cow;

use serde_json::{Value, json};
use thiserror::Error;

pub use code::{Code, Retry, Row};

use crate::headers::{self, Header};
use crate::request_id::RequestId;
use crate::response::Response;

/// The media type of a rendered problem (RFC 9457 section 6.1).
pub const MEDIA_TYPE: &str = "application/problem+json";

/// Bytes that hold most bodies.
const USUAL_BODY: usize = 384;

/// A response that is a refusal or a failure: its code, a text that helps the caller, and the
/// headers that belong to it.
///
/// The text never repeats a key, a secret or a body.
///
/// ```
/// use shared::{
///     problem::{Problem, codes},
///     request_id::RequestId,
/// };
///
/// let problem = Problem::new(codes::TOOL_UNAVAILABLE, "qr: no server is healthy").retry_after(5);
/// let response = problem.render(&RequestId([0; 16]));
/// assert_eq!(response.status, 503);
/// assert_eq!(response.header("content-type"), Some("application/problem+json"));
/// assert_eq!(response.header("retry-after"), Some("5"));
/// assert!(response.body.contains(r#""code":"tool-unavailable""#));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Problem {
    code: Code,
    detail: Cow<'static, str>,
    headers: Vec<Header>,
    /// Names, and values in JSON.
    members: Vec<(&'static str, Cow<'static, str>)>,
}

/// An error of one value of a JSON body.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{pointer}: {detail}")]
pub struct FieldError {
    /// JSON Pointer (RFC 6901) to the value, as a URI fragment: `#/email`.
    pub pointer: String,
    /// The fault, and what would be right.
    pub detail: String,
}

impl Problem {
    /// Returns a problem of this code; `detail` says what happened this time and what to do about
    /// it.
    pub fn new(code: Code, detail: impl Into<Cow<'static, str>>) -> Self {
        Self { code, detail: detail.into(), headers: Vec::new(), members: Vec::new() }
    }

    /// Returns a 422 that names every error of a body or a query.
    pub fn invalid_fields(errors: &[FieldError]) -> Self {
        let detail = match errors {
            [only] => only.to_string(),
            several => {
                format!("{} fields are not acceptable; `errors` names each", several.len())
            }
        };
        let errors = errors
            .iter()
            .map(|error| json!({ "pointer": error.pointer.as_str(), "detail": error.detail.as_str() }));
        Self::new(codes::FIELDS_INVALID, detail).with_member("errors", errors.collect::<Value>())
    }

    /// Returns the same problem with its own header; the name in lower case.
    pub fn with_header(
        mut self,
        name: impl Into<Cow<'static, str>>,
        value: impl Into<Cow<'static, str>>,
    ) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Adds headers of the response.
    pub fn with_headers<N: Into<Cow<'static, str>>, V: Into<Cow<'static, str>>>(
        mut self,
        more: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        self.headers.extend(more.into_iter().map(|(name, value)| (name.into(), value.into())));
        self
    }

    /// Returns the same problem with an extension member (RFC 9457 section 3.2).
    pub fn with_member(self, name: &'static str, value: impl Into<Value>) -> Self {
        self.with_json(name, value.into().to_string())
    }

    /// Returns the same problem with an extension member whose value is written in JSON already.
    pub fn with_json(mut self, name: &'static str, value: impl Into<Cow<'static, str>>) -> Self {
        self.members.push((name, value.into()));
        self
    }

    /// Returns the same problem with `Retry-After`, in whole seconds, at least one.
    pub fn retry_after(self, seconds: u64) -> Self {
        self.with_header("retry-after", itoa::Buffer::new().format(seconds.max(1)).to_owned())
    }

    /// Returns the code.
    pub const fn code(&self) -> Code {
        self.code
    }

    /// Returns the HTTP status.
    pub const fn status(&self) -> u16 {
        self.code.status()
    }

    /// Returns the description of what happened this time.
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// Returns the response's status, headers and body. `status` in the body always equals the HTTP
    /// status, and [`headers::PROBLEM`] the code.
    pub fn render(&self, request_id: &RequestId) -> Response {
        let mark = headers::header((headers::PROBLEM, self.code.as_str()));
        let challenge = self.code.challenge().map(|challenge| ("www-authenticate".into(), challenge));
        Response::new(self.status(), MEDIA_TYPE, "no-store", self.body(request_id))
            .with_headers([mark].into_iter().chain(challenge).chain(self.headers.iter().cloned()))
    }

    /// Returns the problem as an event of an event stream: `error`, with the body of the response that
    /// it would be as its data.
    pub fn render_event(&self, request_id: &RequestId) -> String {
        format!("event: error\ndata: {}\n\n", self.body(request_id))
    }

    /// Put together from its parts, since refusals come in floods. What comes from the table of
    /// codes has nothing in it that JSON would escape, as a test finds.
    fn body(&self, request_id: &RequestId) -> String {
        let (code, status) = (self.code.as_str(), self.status());
        let mut number = itoa::Buffer::new();
        let mut text = String::with_capacity(USUAL_BODY);
        for part in [
            r#"{"type":""#,
            self.code.type_base(),
            code,
            r#"","title":""#,
            self.code.title(),
            r#"","status":"#,
            number.format(status),
            r#","detail":"#,
        ] {
            text.push_str(part);
        }
        // No early exit, so that the compiler vectorizes the loop.
        let is_plain = |plain, byte: u8| plain & (byte >= b' ') & (byte != b'"') & (byte != b'\\');
        if self.detail.bytes().fold(true, is_plain) {
            text.push('"');
            text.push_str(&self.detail);
            text.push('"');
        } else {
            // A text always serializes.
            text.push_str(&serde_json::to_string(&self.detail).unwrap_or_default());
        }
        let id = request_id.text();
        for part in [
            r#","code":""#,
            code,
            r#"","request_id":""#,
            std::str::from_utf8(&id).unwrap_or_default(),
            r#"","retry":""#,
            self.code.retry().as_str(),
            r#"""#,
        ] {
            text.push_str(part);
        }
        for (name, value) in &self.members {
            for part in [r#",""#, name, r#"":"#, value] {
                text.push_str(part);
            }
        }
        text.push('}');
        text
    }
}

/// Returns the problem of a response that was cut off after it had begun.
pub fn response_aborted() -> Problem {
    Problem::new(codes::RESPONSE_ABORTED, "the tool cut off its response; what came before may be incomplete")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn body_has_the_status_of_the_response() {
        let details = ["why, \"so\"?", "a \\ and a\ttab", "plain, of two bytes: é"];
        for (&code, detail) in codes::TABLE.iter().zip(details.into_iter().cycle()) {
            let rendered = Problem::new(code, detail).render(&RequestId([7; 16]));
            let body: Value = serde_json::from_str(&rendered.body).unwrap();
            assert_eq!(body["status"], rendered.status);
            assert_eq!(body["code"], code.as_str());
            assert_eq!(rendered.header("x-gateway-problem"), Some(code.as_str()));
            assert_eq!(body["request_id"], "07".repeat(16));
            assert_eq!(body["retry"], code.retry().as_str());
            assert_eq!(body["type"].as_str().map(|uri| uri.ends_with(code.as_str())), Some(true));
            assert_eq!((&body["title"], &body["detail"]), (&code.title().into(), &detail.into()));
        }
    }

    #[test]
    fn event_is_one_event_whose_data_is_the_problem() {
        let event = response_aborted().render_event(&RequestId([7; 16]));
        let data =
            event.strip_prefix("event: error\ndata: ").and_then(|rest| rest.strip_suffix("\n\n")).unwrap();
        assert!(!data.contains(['\n', '\r']));
        let body: Value = serde_json::from_str(data).unwrap();
        assert_eq!((&body["code"], &body["status"]), (&json!("response-aborted"), &json!(503)));
    }

    #[test]
    fn every_401_has_a_challenge() {
        for &code in codes::TABLE {
            let rendered = Problem::new(code, "why").render(&RequestId([7; 16]));
            let challenged = rendered.headers.iter().any(|(name, _)| *name == "www-authenticate");
            assert_eq!(challenged, rendered.status == 401, "{}", code.as_str());
        }
    }

    #[test]
    fn every_error_of_a_body_is_named_with_its_pointer() {
        let error =
            |pointer: &str| FieldError { pointer: pointer.to_owned(), detail: "is missing".to_owned() };
        let problem = Problem::invalid_fields(&[error("#/email"), error("#/name")]);
        let body: Value = serde_json::from_str(&problem.render(&RequestId([0; 16])).body).unwrap();
        assert_eq!(body["errors"][1]["pointer"], "#/name");
        assert_eq!(body["errors"].as_array().map(Vec::len), Some(2));
    }
}
