//! One call over two connections. The request and the response are transferred at the same time,
//! each as fast as its receiver reads, and neither is held as a whole.
//!
//! Why: docs/decisions/proxy.md, "Only what was sent completes a transfer".

mod down;
mod download;
mod error;
mod splice;
mod timeouts;
mod unsent;
mod up;
mod upload;

use std::task::{Context, Poll, ready};

use pingora::protocols::Stream;

pub(crate) use self::download::Download;
pub(crate) use self::error::ExchangeError;
use self::unsent::{AllSent, Receiver};
pub(crate) use self::upload::Upload;
use crate::client::ClientStream;
use crate::hooks::{Event, Limit, Phases, Timeouts};
use crate::pipe::PipePool;
use crate::record::Record;
use crate::response_deadline::{ResponseDeadline, ResponseTimeout};
use crate::socket::splice_end;
use crate::splice_end::SpliceEnd;

/// A call in flight.
pub(super) struct Exchange<'a, P: Phases> {
    pub(super) phases: &'a P,
    pub(super) call: &'a mut P::Call,
    pub(super) record: &'a mut Record<P::Log>,
    pub(super) client: &'a mut ClientStream,
    pub(super) upstream: &'a mut Stream,
    pub(super) pipes: &'a PipePool,
    pub(super) timeouts: Timeouts,
    pub(super) deadline: ResponseDeadline,
    /// Whether the request's method is idempotent (RFC 9110, section 9.2.2).
    pub(super) is_idempotent: bool,
    /// Whether the call continues when its client leaves.
    pub(super) must_finish: bool,
    pub(super) up: Upload,
    pub(super) down: Download,
}

/// Size of one read of a body.
const READ_SIZE: usize = 64 << 10;

impl<P: Phases> Exchange<'_, P> {
    /// Runs the call until the client has received the whole response.
    pub(super) async fn run(&mut self) -> Result<AllSent, ExchangeError> {
        // The buffered part of the body is sent together with the head.
        self.take_body()?;
        if self.client.has_ended() {
            self.up.end();
        }
        std::future::poll_fn(|context| self.poll(context)).await
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<AllSent, ExchangeError>> {
        if self.up.is_in_flight()
            && let Poll::Ready(Err(error)) = self.poll_up(context)
        {
            return Poll::Ready(Err(error));
        }
        // After the upload: a response that begins before the body is sent makes its connection the
        // last one.
        if let Poll::Ready(result) = self.poll_down(context) {
            return Poll::Ready(result);
        }
        // While the body is read, its reader notices that the client leaves.
        let closed = match (self.up.is_in_flight(), self.up.is_blocked) {
            (true, false) => self.client.poll_timeout(context),
            (true, true) => self.client.poll_closed_unread(context, self.must_finish),
            (false, _) => self.client.poll_closed(context, self.must_finish),
        };
        if closed.is_ready() {
            return Poll::Ready(Err(self.client_error()));
        }
        let mut timeout = ready!(self.deadline.poll(self.client, context));
        // The retry is reserved before the attempt is given up. Taken afterwards, it was gone at
        // times, and the call was 503 though its upstream would have responded.
        if timeout == ResponseTimeout::Attempt && !self.phases.reserve_retry(self.call) {
            self.phases.record(Event::LimitExceeded(Limit::RetryPercent));
            self.arm_response();
            timeout = ready!(self.deadline.poll(self.client, context));
        }
        Poll::Ready(Err(ExchangeError::UpstreamTimedOut(timeout)))
    }

    fn client_error(&self) -> ExchangeError {
        ExchangeError::of_client(self.client)
    }
}

impl Receiver for ClientStream {
    fn splice_end(&self) -> Option<&dyn SpliceEnd> {
        Self::splice_end(self)
    }

    fn record_spliced(&mut self, bytes: usize) {
        self.record_sent(bytes);
    }
}

impl Receiver for Stream {
    fn splice_end(&self) -> Option<&dyn SpliceEnd> {
        splice_end(self)
    }

    fn record_spliced(&mut self, _bytes: usize) {}
}
