//! The responses of a simulated tool and their bodies.

use std::pin::Pin;
use std::sync::LazyLock;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use serde_json::{Map, Value, json};
use tokio::time::{Instant, Sleep, sleep};

/// The response of a tool.
pub(super) type ToolResponse = Response<ToolBody>;

/// The body of a response. No variant copies its data.
pub(super) enum ToolBody {
    Full(Bytes),
    /// Filler bytes.
    Filler(Filler),
    /// A stream of server-sent events.
    Events(EventStream),
    /// The request body, streamed back.
    Echo(Incoming),
}

/// A stream of server-sent events, with a pause between them.
pub(super) struct EventStream {
    sent: u64,
    count: u64,
    pause: Duration,
    due: Pin<Box<Sleep>>,
}

impl EventStream {
    pub(super) fn new(count: u64, pause: Duration) -> Self {
        Self { sent: 0, count, pause, due: Box::pin(sleep(Duration::ZERO)) }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if self.sent == self.count {
            return Poll::Ready(None);
        }
        if self.sent > 0 {
            ready!(self.due.as_mut().poll(cx));
        }
        let event = format!("id: {0}\ndata: {{\"chunk\":{0},\"of\":{1}}}\n\n", self.sent, self.count);
        self.sent += 1;
        self.due.as_mut().reset(Instant::now() + self.pause);
        Poll::Ready(Some(event.into()))
    }
}

/// Bytes in which a missing or a repeated part shows.
#[derive(Clone, Debug)]
pub(super) struct Filler {
    length: u64,
    sent: u64,
}

/// The bytes that filler repeats. Their number is a prime, so that no buffer's length is a multiple of it.
static CONTENT: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut state = 1_u64;
    // A linear congruential generator (Knuth's MMIX), of which the highest byte is the best.
    let next = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.to_be_bytes()[0]
    };
    (0..65_521).map(next).collect()
});

impl Filler {
    pub(super) const fn new(length: u64) -> Self {
        Self { length, sent: 0 }
    }

    const fn remaining(&self) -> u64 {
        self.length - self.sent
    }
}

impl Iterator for Filler {
    type Item = Bytes;

    /// Takes the next chunk of at most 64 KiB.
    fn next(&mut self) -> Option<Bytes> {
        let content: &'static [u8] = &CONTENT;
        let at = usize::try_from(self.sent % content.len() as u64).unwrap_or_default();
        let rest = content.get(at..).unwrap_or_default();
        let length = usize::try_from(self.remaining()).unwrap_or(usize::MAX).min(rest.len());
        self.sent += length as u64;
        (length > 0).then(|| Bytes::from_static(rest).slice(..length))
    }
}

impl Body for ToolBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let next = match self.get_mut() {
            Self::Full(bytes) => Some(std::mem::take(bytes)).filter(|bytes| !bytes.is_empty()),
            Self::Filler(filler) => filler.next(),
            Self::Events(events) => ready!(events.poll(cx)),
            Self::Echo(body) => return Pin::new(body).poll_frame(cx),
        };
        Poll::Ready(next.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Full(bytes) => bytes.is_empty(),
            Self::Filler(filler) => filler.remaining() == 0,
            Self::Events(events) => events.sent == events.count,
            Self::Echo(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Full(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Filler(filler) => SizeHint::with_exact(filler.remaining()),
            Self::Events(_) => SizeHint::default(),
            Self::Echo(body) => body.size_hint(),
        }
    }
}

/// Returns a response with a body and its content type.
pub(super) fn with_body(status: StatusCode, content_type: &'static str, body: ToolBody) -> ToolResponse {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// Returns a JSON response.
pub(super) fn json(status: StatusCode, body: &Value) -> ToolResponse {
    with_body(status, "application/json", ToolBody::Full(body.to_string().into()))
}

/// Returns an error response: problem details (RFC 9457) with a `code`.
pub(super) fn error(status: StatusCode, code: &str, message: &str) -> ToolResponse {
    error_with(status, code, message, Map::new())
}

/// Returns the same with further members.
pub(super) fn error_with(
    status: StatusCode,
    code: &str,
    message: &str,
    members: Map<String, Value>,
) -> ToolResponse {
    let mut problem = json!({
        "type": "about:blank",
        "title": status.canonical_reason().unwrap_or("Error"),
        "status": status.as_u16(),
        "detail": message,
        "code": code,
    });
    if let Some(problem) = problem.as_object_mut() {
        problem.extend(members);
    }
    with_body(status, "application/problem+json", ToolBody::Full(problem.to_string().into()))
}

/// Returns 405 with the allowed methods.
pub(super) fn method_not_allowed(allow: &'static str) -> ToolResponse {
    let message = format!("method not allowed: expected {allow}");
    let mut response = error(StatusCode::METHOD_NOT_ALLOWED, "method-not-allowed", &message);
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allow));
    response
}
