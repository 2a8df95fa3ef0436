//! The beginning of a connection in HTTP/2: what both sides say before anything else.

use std::{
    future::poll_fn,
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use h2::client::{Builder, Connection, SendRequest};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::connection::MOST_STREAMS;
use crate::clock::Monotonic;

/// When something came over a connection last; never, at first.
#[derive(Debug)]
pub(super) struct Heard(AtomicU64);

/// A connection that notes when something comes over it.
#[derive(Debug)]
pub(super) struct Listening<S> {
    stream: S,
    heard: Arc<Heard>,
}

/// A connection whose tool speaks HTTP/2.
pub(super) struct Greeted<S> {
    pub(super) send: SendRequest<Bytes>,
    /// It is this that reads and writes for all calls, when it is polled.
    pub(super) connection: Connection<Listening<S>, Bytes>,
    pub(super) heard: Arc<Heard>,
}

/// Why there is no greeting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfriendly {
    /// The server does not speak HTTP/2.
    Malformed,
    /// It does, and has ended this very connection.
    Left,
    /// It has closed the connection without a word.
    Closed,
}

/// What a tool may send of one answer before its client has taken it.
const STREAM_WINDOW: u32 = 128 << 10;
/// As much for every call: clients that take nothing keep no room from others.
const CONNECTION_WINDOW: u32 = STREAM_WINDOW * MOST_STREAMS;
/// What is held of a request that the tool does not take.
const SEND_BUFFER: usize = 64 << 10;
/// Beyond this the library refuses an answer by itself; below it we do, and say why.
const MAX_HEADER_LIST: u32 = 128 << 10;
/// What is remembered of requests that clients have taken back, so that what still comes of them is no surprise.
const TAKEN_BACK: usize = 1_024;
/// After so many broken answers a connection ends, with all its calls. The library's own default would let a tool that breaks
/// one call in a thousand take the others with it again and again.
const MOST_BROKEN: usize = 1 << 16;

fn builder() -> Builder {
    let mut builder = Builder::new();
    builder
        .enable_push(false)
        // None until the tool has said how many it takes.
        .initial_max_send_streams(0)
        .initial_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_header_list_size(MAX_HEADER_LIST)
        .max_send_buffer_size(SEND_BUFFER)
        .max_concurrent_reset_streams(TAKEN_BACK)
        .max_local_error_reset_streams(Some(MOST_BROKEN));
    builder
}

/// Greets, and waits until the tool has done so: then it speaks HTTP/2, and has said how many calls it takes. To wait costs
/// a way there and back once for many calls, and nothing was sent before that could be lost.
pub(super) async fn greet<S: AsyncRead + AsyncWrite + Unpin>(stream: S) -> Result<Greeted<S>, Unfriendly> {
    let heard = Arc::new(Heard(AtomicU64::new(0)));
    let listening = Listening { stream, heard: Arc::clone(&heard) };
    let (send, mut connection) = builder().handshake(listening).await.map_err(|_error| Unfriendly::Closed)?;
    poll_fn(|context| {
        let ended = Pin::new(&mut connection).poll(context);
        match (ended, connection.max_concurrent_send_streams() > 0) {
            (Poll::Pending, true) => Poll::Ready(Ok(())),
            (Poll::Pending, false) => Poll::Pending,
            (Poll::Ready(_), true) => Poll::Ready(Err(Unfriendly::Left)),
            (Poll::Ready(_), false) if heard.is_silence() => Poll::Ready(Err(Unfriendly::Closed)),
            (Poll::Ready(_), false) => Poll::Ready(Err(Unfriendly::Malformed)),
        }
    })
    .await?;
    Ok(Greeted { send, connection, heard })
}

impl From<Unfriendly> for io::Error {
    fn from(unfriendly: Unfriendly) -> Self {
        match unfriendly {
            Unfriendly::Malformed => Self::other("the answer is not HTTP/2"),
            Unfriendly::Left | Unfriendly::Closed => io::ErrorKind::UnexpectedEof.into(),
        }
    }
}

impl Heard {
    fn is_silence(&self) -> bool {
        self.0.load(Ordering::Acquire) == 0
    }

    pub(super) fn at(&self) -> Monotonic {
        Monotonic::from_millis(self.0.load(Ordering::Acquire))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Listening<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        if buffer.filled().len() > before {
            self.heard.0.store(Monotonic::now().millis().max(1), Ordering::Release);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Listening<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
