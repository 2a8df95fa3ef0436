//! The upload of a request body to an origin.
//!
//! A short body of declared length is buffered first. If the client breaks it off, no origin sees
//! it, and it can be sent to a second origin. Any other body stays a stream of the runtime, piped
//! and not copied.
//!
//! The client's stream is never passed to the fetch itself. If it breaks, workerd ends a chunked
//! request as if it were complete (seen in 2026-04-26: `0\r\n\r\n` after a connection closed inside
//! a chunk). A pipe that leaves the other end open reports the break, and aborting the fetch then
//! cuts the request.
//!
//! Why: docs/decisions/edge.md, "A body of up to 64 KiB is received whole, any other is piped".

use std::cell::Cell;

use shared::origin::MAX_BUFFERED_BODY_BYTES;
use shared::problem::Problem;
use shared::route::CallMethod;
use wasm_bindgen::JsValue;
use worker::js_sys::{ArrayBuffer, BigInt, Promise};
use worker::web_sys;

use crate::context::RequestContext;
use crate::runtime::task::boxed;
use crate::runtime::{body, calls};

/// A request body to send.
pub(super) enum Upload {
    /// No body, or an empty one.
    Empty,
    /// A whole body in memory.
    Buffered(ArrayBuffer),
    /// A body that is still arriving. It can be sent once.
    Streamed { source: web_sys::ReadableStream, length: Option<u64>, is_spent: Cell<bool> },
}

/// A stream between client and origin.
pub(super) struct Pipe {
    /// The end that the origin receives.
    pub(super) readable: web_sys::ReadableStream,
    /// Resolves once the whole body was piped. Rejects if either side broke.
    pub(super) finished: Promise,
}

impl Upload {
    /// Buffers a short body. Prepares any other for streaming.
    ///
    /// # Errors
    /// `request-timeout` or `body-malformed`, of a short body.
    pub(super) async fn receive(context: &RequestContext<'_>, method: CallMethod) -> Result<Self, Problem> {
        let length = context.head.content_length;
        match (method, length) {
            // It was refused if its head states a body, and the runtime sends none.
            (CallMethod::Get, _) | (CallMethod::Post, Some(0)) => Ok(Self::Empty),
            (CallMethod::Post, Some(..=MAX_BUFFERED_BODY_BYTES)) => {
                Ok(Self::Buffered(boxed(body::receive(context.request)).await?))
            }
            (CallMethod::Post, _) => Ok(match context.request.raw.body() {
                Some(source) => Self::Streamed { source, length, is_spent: Cell::new(false) },
                None => Self::Empty,
            }),
        }
    }

    /// Starts to pipe a streamed body, which is possible once. Returns `None` for any other.
    pub(super) fn pipe(&self) -> Result<Option<Pipe>, JsValue> {
        let Self::Streamed { source, length, is_spent } = self else { return Ok(None) };
        // Before anything is read: what has left the client's stream cannot be sent again.
        is_spent.set(true);
        Pipe::start(source, *length).map(Some)
    }

    /// Returns true if the body can be sent to another origin.
    pub(super) const fn can_repeat(&self) -> bool {
        match self {
            Self::Empty | Self::Buffered(_) => true,
            Self::Streamed { is_spent, .. } => !is_spent.get(),
        }
    }
}

impl Pipe {
    /// Starts to pipe `source` in the background.
    fn start(source: &web_sys::ReadableStream, length: Option<u64>) -> Result<Self, JsValue> {
        let stream = match length {
            // So that the runtime sends `Content-Length`. A tool may refuse a chunked body.
            Some(length) => calls::construct_stream("FixedLengthStream", &[BigInt::from(length).into()])?,
            None => calls::identity_stream()?,
        };
        let finished = calls::pipe_body(source, &stream.writable());
        Ok(Self { readable: stream.readable(), finished })
    }

    /// Returns true if a tool may have received a part of an upload that was cut off for this `reason`.
    pub(super) fn is_sent(reason: &JsValue) -> bool {
        // Anything unknown counts as sent: a tool that has part of a call may have worked on it.
        reason.as_string().as_deref() != Some("nothing sent")
    }
}
