//! HTTP/2 towards clients. Each stream is the client of one request, whose head and response stay the
//! fields and the data of frames. Decisions, deadlines and responses are those of HTTP/1.1.
//!
//! Why: docs/decisions/proxy.md, "Only the frames of HTTP/2 are the h2 crate's".

mod close_reason;
mod read_budget;
mod receiving;
mod refusal;
mod request;
mod response;
mod sending;
mod stream;
mod streams;
mod trailers;

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use h2::Reason;
use h2::server::{Builder, Connection};
use pingora::protocols::Stream;
use tokio::time::timeout;

pub(crate) use self::request::RequestFields;
pub(crate) use self::stream::Http2Stream;
pub use close_reason::CloseReason;

use self::read_budget::{BudgetedStream, ReadBudget};
use self::stream::{OpenedStream, Peer};
use self::streams::Streams;
use self::trailers::FrameReader;

use crate::drain::{Drain, InFlightGuard, Phase, WorkKind};
use crate::idle_clients::IdleClients;
use crate::limits::{ClientOptions, Limit};

/// The first bytes of a client's HTTP/2 connection (RFC 9113, section 3.4).
pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Initial window of each stream. The window of the connection is the same until a request has a
/// valid key or grant. After that it is as much for each stream, because bodies that are not read
/// must not stop the others.
const STREAM_WINDOW: u32 = 256 << 10;
/// The largest window (RFC 9113, section 6.9.1).
const MAX_WINDOW: u32 = (1 << 31) - 1;
/// Maximum number of buffered bytes of a response that the client does not receive.
const SEND_BUFFER: usize = 64 << 10;
/// The size beyond which h2 refuses a request with its own 431. The proxy refuses headers
/// beyond 64 KiB, as over HTTP/1.1. Here the target (8 KiB) and 32 bytes for each of 128 lines
/// count as well (RFC 9113, section 6.5.2).
const MAX_HEADER_LIST: u32 = 80 << 10;
/// The budget for data frames below 256 bytes that are not read yet: 2,000 frames of one byte. A
/// window counts only their bytes, while each frame takes half a KiB of memory. The default of h2
/// is half of the window, which allows 40 MiB of memory for 0.6 MiB of data.
const SMALL_FRAMES: usize = 512 << 10;
/// Maximum number of bytes that are read before their requests are started, until a request has a
/// valid key or grant.
const UNVERIFIED_READ: usize = 4 << 10;
/// The same after that.
const VERIFIED_READ: usize = 1 << 20;
/// Maximum time in which a connection without requests closes after GOAWAY.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

fn builder(options: &ClientOptions) -> Builder {
    let mut builder = Builder::new();
    builder
        .max_concurrent_streams(options.streams_per_connection)
        .initial_window_size(STREAM_WINDOW)
        .initial_connection_window_size(STREAM_WINDOW)
        .max_header_list_size(MAX_HEADER_LIST)
        .max_send_buffer_size(SEND_BUFFER)
        .data_frame_budget(SMALL_FRAMES)
        // The defaults of h2, which limit the cost of reset and malformed streams. They are
        // explicit because they protect the proxy from floods of them.
        .max_concurrent_reset_streams(50)
        .max_pending_accept_reset_streams(20)
        .max_local_error_reset_streams(Some(1024));
    builder
}

/// Serves an HTTP/2 connection until it is closed. `serve` is called with the head of each request and
/// its stream. It must not wait. `exceeded` is called for each limit that a
/// request exceeds.
pub(crate) async fn serve(
    connection: Stream,
    options: &ClientOptions,
    drain: &Arc<Drain>,
    idle_clients: &IdleClients,
    mut serve: impl FnMut(Arc<RequestFields>, Box<Http2Stream>) + Send,
    exceeded: impl Fn(Limit) + Send + Sync + 'static,
) -> CloseReason {
    let mut phase = drain.phase();
    let peer = Peer::of(&connection);
    let budget = ReadBudget::new(UNVERIFIED_READ);
    let frames = FrameReader::new(PREFACE.len(), peer.trailers());
    let handshake = builder(options).handshake(BudgetedStream::new(connection, &budget, frames));
    let handshaken = tokio::select! {
        biased;
        handshaken = timeout(options.header_timeout, handshake) => handshaken,
        _ = phase.wait_for(|phase| *phase == Phase::Closing) => return CloseReason::Done,
    };
    let mut connection = match handshaken {
        Ok(Ok(inner)) => {
            Http2Connection { inner, budget, verified: false, unsent: None, drain: Arc::clone(drain) }
        }
        Ok(Err(error)) => return CloseReason::of(&error),
        Err(_elapsed) => return CloseReason::Timeout,
    };
    let streams = Arc::new(Streams::new(exceeded));
    let mut closing = None;
    loop {
        let idle_timeout = connection.idle_timeout(options, &streams, closing);
        // A connection that is opened during the delay serves a request first. Otherwise its client would
        // open one after the other.
        let last_phase = if streams.opened() > 0 { Phase::Delaying } else { Phase::Draining };
        let accepted = tokio::select! {
            biased;
            // Requests that arrive before the client has received GOAWAY are served. It sends the
            // others elsewhere.
            _ = phase.wait_for(|phase| *phase >= last_phase), if closing.is_none() => {
                closing = Some(CloseReason::Done);
                connection.inner.graceful_shutdown();
                continue;
            }
            () = streams.verified(), if !connection.verified => {
                connection.widen_window(options);
                continue;
            }
            accepted = connection.accept(&peer, &streams) => accepted,
            reason = streams.idle_for(idle_timeout, idle_clients) => match closing {
                Some(reason) => return reason,
                None => {
                    closing = Some(reason);
                    connection.inner.graceful_shutdown();
                    continue;
                }
            },
        };
        match accepted {
            None => return closing.unwrap_or(CloseReason::Closed),
            // An error after GOAWAY is the end that was asked for, and not the client's fault.
            Some(Err(error)) => return closing.unwrap_or_else(|| CloseReason::of(&error)),
            Some(Ok(opened)) => {
                if let Some((head, stream)) = opened {
                    serve(head, stream);
                    // Requests that are decided hold nothing. A burst of compressed heads was once
                    // begun as a whole before the first was decided, and held 45 MiB more.
                    streams.yield_while_crowded().await;
                }
                // Rapid reset (CVE-2023-44487): a reset costs the client a frame, and the proxy a
                // request.
                if streams.is_flood() {
                    connection.abort(Reason::ENHANCE_YOUR_CALM).await;
                    return CloseReason::Flood;
                }
                if closing.is_none() && streams.opened() >= options.requests_per_connection {
                    closing = Some(CloseReason::Done);
                    connection.inner.graceful_shutdown();
                }
            }
        }
    }
}

/// An HTTP/2 connection of a client. The process does not exit while it has data to send.
struct Http2Connection {
    inner: Connection<BudgetedStream, Bytes>,
    budget: Arc<ReadBudget>,
    /// Whether a request had a valid key or grant.
    verified: bool,
    unsent: Option<InFlightGuard>,
    drain: Arc<Drain>,
}

impl Http2Connection {
    /// Opens the stream of the next request, unless it is refused. Polling it reads and writes for all streams.
    async fn accept(
        &mut self,
        peer: &Arc<Peer>,
        streams: &Arc<Streams>,
    ) -> Option<Result<Option<OpenedStream>, h2::Error>> {
        poll_fn(|context| {
            // Opened here, because each future on the way would copy what h2 returns.
            let accepted = pin!(self.inner.accept()).poll(context);
            let accepted =
                accepted.map_ok(|(request, respond)| Http2Stream::open(request, respond, peer, streams));
            // Responses that wait for the client's window belong to no request any more. Without
            // the guard the process would exit before they are sent.
            match (self.inner.has_streams(), &self.unsent) {
                (true, None) => self.unsent = Some(self.drain.track(WorkKind::Sending)),
                (false, Some(_)) => self.unsent = None,
                (true, Some(_)) | (false, None) => {}
            }
            // The requests that were read are started. Other tasks of this thread run before more
            // is read.
            let budget = if self.verified { VERIFIED_READ } else { UNVERIFIED_READ };
            if accepted.is_pending() && self.budget.renew(budget) {
                context.waker().wake_by_ref();
            }
            accepted
        })
        .await
    }

    /// Widens the window of the connection, so that the bodies of all its requests can be sent at
    /// once.
    fn widen_window(&mut self, options: &ClientOptions) {
        self.verified = true;
        // With one window for all, four uploads that a tool did not read stopped every other one.
        let window = options.streams_per_connection.saturating_mul(STREAM_WINDOW);
        self.inner.set_target_window_size(window.min(MAX_WINDOW));
    }

    /// Returns the maximum time without a request in flight. A part of a response may still have to
    /// be sent then.
    fn idle_timeout(
        &self,
        options: &ClientOptions,
        streams: &Streams,
        closing: Option<CloseReason>,
    ) -> Duration {
        match closing {
            Some(_) if !self.inner.has_streams() => CLOSE_TIMEOUT,
            None if streams.opened() == 0 => options.header_timeout,
            Some(_) | None => options.idle_timeout,
        }
    }

    /// Sends GOAWAY with this reason and closes the connection with all its streams.
    async fn abort(&mut self, reason: Reason) {
        self.inner.abrupt_shutdown(reason);
        let closed = poll_fn(|context| match self.inner.poll_closed(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(_) => Poll::Ready(()),
        });
        let _closed = timeout(CLOSE_TIMEOUT, closed).await;
    }
}
