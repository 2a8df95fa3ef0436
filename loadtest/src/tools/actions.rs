//! The actions every simulated tool has: the few that load tests need, and for any other name an account of what
//! was received.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::{Request, Response, StatusCode};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use shared::tool::Tool;

use super::answer::{Answer, AnswerBody, Events, json, refusal, with_body};
use super::qr;

/// Bounds of what a query may ask for: enough for any test, and an end to each.
const MOST_BYTES: u64 = 1 << 30;
const MOST_CHUNKS: u64 = 100_000;
const LONGEST_WAIT_MS: u64 = 600_000;
/// JSON bodies up to this size are repeated in the account of what was received.
const REPEATED: usize = 16 * 1024;

/// Performs `action` of `tool`.
pub(super) async fn perform(tool: Tool, action: &str, request: Request<Incoming>) -> Answer {
    let special = match (tool, action) {
        (Tool::Qr, "generate") => return qr::respond(request).await,
        (_, "bytes") => bytes(&request),
        (_, "stream") => stream(&request),
        (_, "status") => status(&request),
        (_, "headers") => Ok(headers(&request)),
        (_, "echo") => return echo(request),
        (_, "slow") => match number(&request, "ms", 1000, LONGEST_WAIT_MS) {
            Ok(wait) => {
                tokio::time::sleep(Duration::from_millis(wait)).await;
                return received(tool, action, request).await;
            }
            Err(refused) => Err(refused),
        },
        _ => return received(tool, action, request).await,
    };
    special.unwrap_or_else(|refused| *refused)
}

/// `bytes?n=`: so many bytes with a `Content-Length`.
fn bytes(request: &Request<Incoming>) -> Result<Answer, Box<Answer>> {
    let length = number(request, "n", 1024, MOST_BYTES)?;
    Ok(with_body(StatusCode::OK, "application/octet-stream", AnswerBody::Filler(length)))
}

/// `stream?chunks=&pause_ms=`: server-sent events with a pause between them.
fn stream(request: &Request<Incoming>) -> Result<Answer, Box<Answer>> {
    let count = number(request, "chunks", 5, MOST_CHUNKS)?;
    let pause = number(request, "pause_ms", 100, LONGEST_WAIT_MS)?;
    let events = Events::new(count, Duration::from_millis(pause));
    Ok(with_body(StatusCode::OK, "text/event-stream", AnswerBody::Events(events)))
}

/// `status?code=`: an answer with that status.
fn status(request: &Request<Incoming>) -> Result<Answer, Box<Answer>> {
    let code = number(request, "code", 200, 599)?;
    let status = u16::try_from(code).ok().and_then(|code| StatusCode::from_u16(code).ok());
    match status.filter(|status| !status.is_informational()) {
        Some(status @ (StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED)) => {
            let mut answer = Response::new(AnswerBody::Whole(Bytes::new()));
            *answer.status_mut() = status;
            Ok(answer)
        }
        Some(status) => Ok(json(status, &json!({ "status": code }))),
        None => Err(out_of_range("code", "a status from 200 to 599")),
    }
}

/// `headers?name=value&…`: an answer with these headers, each as often as it is named.
fn headers(request: &Request<Incoming>) -> Answer {
    let mut answer = json(StatusCode::OK, &json!({ "status": 200 }));
    for (name, value) in form_urlencoded::parse(request.uri().query().unwrap_or_default().as_bytes()) {
        let parsed = (HeaderName::try_from(&*name), HeaderValue::from_str(&value));
        let (Ok(name), Ok(value)) = parsed else {
            return refusal(StatusCode::BAD_REQUEST, "header-invalid", &format!("{name} cannot be a header"));
        };
        answer.headers_mut().append(name, value);
    }
    answer
}

/// `echo`: the request's body, type and encoding, streamed back as it arrives.
fn echo(request: Request<Incoming>) -> Answer {
    let (head, body) = request.into_parts();
    let mut answer = Response::new(AnswerBody::Echo(body));
    for name in [CONTENT_TYPE, CONTENT_ENCODING] {
        if let Some(value) = head.headers.get(&name) {
            answer.headers_mut().insert(name, value.clone());
        }
    }
    answer
}

/// Any other action: an account of what reached the tool, for tests to compare.
async fn received(tool: Tool, action: &str, request: Request<Incoming>) -> Answer {
    let (head, body) = request.into_parts();
    let Ok(digest) = BodyDigest::read(body).await else {
        return refusal(
            StatusCode::BAD_REQUEST,
            "body-incomplete",
            "the body ended before its announced length",
        );
    };
    let account = json!({
        "tool": tool.as_str(),
        "action": action,
        "method": head.method.as_str(),
        "path": head.uri.path(),
        "query": head.uri.query(),
        "headers": named_values(&head.headers),
        "body": digest.account(),
    });
    json(StatusCode::OK, &account)
}

/// Headers by lower-case name; one that came more than once is a list.
fn named_values(headers: &HeaderMap) -> Map<String, Value> {
    let text = |value: &HeaderValue| Value::from(String::from_utf8_lossy(value.as_bytes()));
    headers
        .keys()
        .map(|name| {
            let mut values: Vec<Value> = headers.get_all(name).iter().map(text).collect();
            let value = if values.len() == 1 { values.remove(0) } else { values.into() };
            (name.as_str().to_owned(), value)
        })
        .collect()
}

/// A body's size and digest, and the body itself while it is small.
#[derive(Default)]
struct BodyDigest {
    size: u64,
    sha256: Sha256,
    small: Option<Vec<u8>>,
}

impl BodyDigest {
    async fn read(mut body: Incoming) -> Result<Self, hyper::Error> {
        let mut digest = Self { small: Some(Vec::new()), ..Self::default() };
        while let Some(frame) = body.frame().await {
            if let Ok(data) = frame?.into_data() {
                digest.add(&data);
            }
        }
        Ok(digest)
    }

    fn add(&mut self, data: &[u8]) {
        self.size += data.len() as u64;
        self.sha256.update(data);
        self.small =
            self.small.take().filter(|small| small.len() + data.len() <= REPEATED).map(|mut small| {
                small.extend_from_slice(data);
                small
            });
    }

    fn account(self) -> Value {
        let sha256: String = self.sha256.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        let json = self.small.and_then(|small| serde_json::from_slice::<Value>(&small).ok());
        json!({ "size": self.size, "sha256": sha256, "json": json })
    }
}

/// A whole number of the query, from 0 to `most`.
fn number(
    request: &Request<Incoming>,
    name: &'static str,
    default: u64,
    most: u64,
) -> Result<u64, Box<Answer>> {
    let query = request.uri().query().unwrap_or_default();
    let Some((_, text)) = form_urlencoded::parse(query.as_bytes()).find(|(key, _)| key == name) else {
        return Ok(default);
    };
    let number = text.parse().ok().filter(|&number| number <= most);
    number.ok_or_else(|| out_of_range(name, &format!("a whole number from 0 to {most}")))
}

fn out_of_range(name: &str, wanted: &str) -> Box<Answer> {
    Box::new(refusal(StatusCode::BAD_REQUEST, "query-invalid", &format!("`{name}` is {wanted}")))
}
