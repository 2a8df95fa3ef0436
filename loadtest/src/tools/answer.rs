//! The answers of a simulated tool and the few kinds of body they have.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use serde_json::{Value, json};
use tokio::time::{Instant, Sleep, sleep};

/// A tool's answer.
pub(super) type Answer = Response<AnswerBody>;

/// What an answer carries. None of them copies what it sends.
pub(super) enum AnswerBody {
    Whole(Bytes),
    /// So many bytes of filler.
    Filler(u64),
    Events(Events),
    /// The request's own body, as it arrives.
    Echo(Incoming),
}

/// A stream of server-sent events with a pause before every one but the first.
pub(super) struct Events {
    sent: u64,
    count: u64,
    pause: Duration,
    due: Pin<Box<Sleep>>,
}

impl Events {
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

static FILLER: [u8; 64 * 1024] = [b'.'; 64 * 1024];

fn next_filler(left: &mut u64) -> Option<Bytes> {
    let length = usize::try_from(*left).unwrap_or(usize::MAX).min(FILLER.len());
    *left -= length as u64;
    (length > 0).then(|| Bytes::from_static(&FILLER).slice(..length))
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let next = match self.get_mut() {
            Self::Whole(bytes) => Some(std::mem::take(bytes)).filter(|bytes| !bytes.is_empty()),
            Self::Filler(left) => next_filler(left),
            Self::Events(events) => ready!(events.poll(cx)),
            Self::Echo(body) => return Pin::new(body).poll_frame(cx),
        };
        Poll::Ready(next.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(bytes) => bytes.is_empty(),
            Self::Filler(left) => *left == 0,
            Self::Events(events) => events.sent == events.count,
            Self::Echo(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Filler(left) => SizeHint::with_exact(*left),
            Self::Events(_) => SizeHint::default(),
            Self::Echo(body) => body.size_hint(),
        }
    }
}

/// An answer with this body and content type.
pub(super) fn with_body(status: StatusCode, content_type: &'static str, body: AnswerBody) -> Answer {
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    answer
}

pub(super) fn json(status: StatusCode, body: &Value) -> Answer {
    with_body(status, "application/json", AnswerBody::Whole(body.to_string().into()))
}

/// A refusal in the tool's own words: `{"error": {"code", "message"}}`.
pub(super) fn refusal(status: StatusCode, code: &str, message: &str) -> Answer {
    json(status, &json!({ "error": { "code": code, "message": message } }))
}

pub(super) fn method_not_allowed(allow: &'static str) -> Answer {
    let message = format!("this takes {allow}");
    let mut answer = refusal(StatusCode::METHOD_NOT_ALLOWED, "method-not-allowed", &message);
    answer.headers_mut().insert(ALLOW, HeaderValue::from_static(allow));
    answer
}
