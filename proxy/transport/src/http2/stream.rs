//! One stream of an HTTP/2 connection: a request and its response.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream};
use http::Method;
use pingora::protocols::{SocketDigest, Stream, UniqueIDType};
use tokio::io::ReadBuf;

use super::receiving::Receiving;
use super::request::RequestFields;
use super::response::ResponseSender;
use super::streams::{StreamSlot, Streams};
use super::trailers::MalformedTrailers;
use super::{refusal, request};
use crate::outgoing_head::Fields;

/// One request and its response. Dropping it before the response is complete resets the stream.
#[derive(Debug)]
pub(crate) struct Http2Stream {
    number: u32,
    request: Receiving,
    response: ResponseSender,
    peer: Arc<Peer>,
    slot: StreamSlot,
    /// Maximum number of milliseconds in which the client receives the refusal that is written, or
    /// 0 if the response is not a refusal.
    refusal_timeout: AtomicU32,
}

/// The head of a request and its stream, which are moved without their bytes.
pub(super) type OpenedStream = (Arc<RequestFields>, Box<Http2Stream>);

/// The identity of a connection, which its streams share.
#[derive(Debug)]
pub(super) struct Peer {
    id: UniqueIDType,
    socket: Option<Arc<SocketDigest>>,
    trailers: Arc<MalformedTrailers>,
}

impl Peer {
    pub(super) fn of(connection: &Stream) -> Arc<Self> {
        Arc::new(Self {
            id: connection.id(),
            socket: connection.get_socket_digest(),
            trailers: Arc::default(),
        })
    }

    /// Returns the streams whose trailers are malformed.
    pub(super) const fn trailers(&self) -> &Arc<MalformedTrailers> {
        &self.trailers
    }
}

impl Http2Stream {
    /// Opens the stream of a request. Returns the head of the request, and the stream. Refuses the stream and
    /// returns `None` if the connection would hold too many bytes.
    pub(super) fn open(
        request: http::Request<RecvStream>,
        mut respond: SendResponse<Bytes>,
        peer: &Arc<Peer>,
        streams: &Arc<Streams>,
    ) -> Option<OpenedStream> {
        let (head, body) = request.into_parts();
        let Some(slot) = streams.open(request::length(&head)) else {
            // Says that nothing was processed, so that the client may repeat even a POST (RFC 9113,
            // section 8.7).
            respond.send_reset(Reason::REFUSED_STREAM);
            return None;
        };
        let number = body.stream_id().as_u32();
        if !request::has_valid_path(&head) || peer.trailers.has(number) {
            respond.send_reset(Reason::PROTOCOL_ERROR);
            return None;
        }
        let head_only = head.method == Method::HEAD;
        let head = Arc::new(RequestFields::new(head, body.is_end_stream()));
        let stream = Box::new(Self {
            number,
            request: Receiving::new(body),
            response: ResponseSender::new(respond, head_only),
            peer: Arc::clone(peer),
            slot,
            refusal_timeout: AtomicU32::new(0),
        });
        Some((head, stream))
    }

    /// Records that the request has a valid key or grant. The connection may hold more bytes then.
    pub(crate) fn accept(&self) {
        self.slot.accept();
    }

    /// Records that the head of the request was freed.
    pub(crate) fn release_head(&self) {
        self.slot.release();
    }

    /// Makes writes of a refusal complete immediately. The stream is reset if the client does not
    /// receive it in this time.
    pub(crate) fn begin_refusal(&self, timeout: Duration) {
        let timeout = u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX);
        self.refusal_timeout.store(timeout, Ordering::Relaxed);
    }

    /// Resets the stream if the trailers of the request are malformed.
    fn check_trailers(&mut self) -> io::Result<()> {
        if !self.peer.trailers.has(self.number) {
            return Ok(());
        }
        self.response.reset(Reason::PROTOCOL_ERROR);
        Err(io::ErrorKind::InvalidData.into())
    }

    /// Handles bytes that the client does not receive now: they wait, or are sent by a separate task.
    fn hold(&mut self, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if !self.slot.try_hold_response(bytes.len()) {
            self.response.reset(Reason::ENHANCE_YOUR_CALM);
            return Poll::Ready(Err(io::ErrorKind::OutOfMemory.into()));
        }
        let timeout = self.refusal_timeout.load(Ordering::Relaxed);
        if timeout == 0 {
            return Poll::Pending;
        }
        let Some(sending) = self.response.take_last(bytes.len()) else { return Poll::Pending };
        // A task of its own takes a tenth of the memory of the one that serves the request.
        let rest = Bytes::copy_from_slice(bytes);
        let timeout = Duration::from_millis(timeout.into());
        tokio::spawn(refusal::send(sending, rest, timeout, self.slot.detach_response()));
        Poll::Ready(Ok(bytes.len()))
    }

    /// Reads bytes of the body. After them, it completes once the client resets the stream.
    pub(crate) fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.request.is_over() {
            let before = buffer.filled().len();
            if ready!(self.request.poll_read(context, buffer)).is_err() {
                self.slot.record_reset();
                return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
            }
            self.check_trailers()?;
            if buffer.filled().len() > before {
                return Poll::Ready(Ok(()));
            }
        }
        // No other request follows: this is the end after the response. Before it, only a reset is.
        if self.response.is_done() {
            return Poll::Ready(Ok(()));
        }
        self.response.poll_reset(context).map(|()| {
            self.slot.record_reset();
            Err(io::ErrorKind::ConnectionReset.into())
        })
    }

    /// Returns true if the body has ended and all of it was read.
    pub(crate) fn has_ended(&self) -> bool {
        self.request.is_over()
    }

    /// Sends `100 Continue`.
    pub(crate) fn send_continue(&mut self) -> io::Result<()> {
        self.check_trailers()?;
        self.response.send_continue()
    }

    /// Sends the head of a response with a body of this length, or one that [`Self::finish`] ends.
    pub(crate) fn send_head(&mut self, head: Fields, length: Option<u64>) -> io::Result<()> {
        self.check_trailers()?;
        self.response.send_head(head, length)
    }

    /// Sends some bytes of the body of the response.
    pub(crate) fn poll_write(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        // A malformed request is an error of its stream (RFC 9113, section 8.1.1), even if its
        // trailers come after the response has begun.
        self.check_trailers()?;
        match self.response.poll_write(context, bytes) {
            Poll::Pending => self.hold(bytes),
            written @ Poll::Ready(_) => written,
        }
    }

    /// Ends the response, if its length does not.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        self.response.finish()
    }

    /// Returns the id of the connection.
    pub(crate) fn id(&self) -> UniqueIDType {
        self.peer.id
    }

    /// Returns the socket of the connection.
    pub(crate) fn socket(&self) -> Option<Arc<SocketDigest>> {
        self.peer.socket.clone()
    }
}
