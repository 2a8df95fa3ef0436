//! The beginning of a connection in HTTP/2: what both sides say before anything else.

use std::{
    future::poll_fn,
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use h2::client::{Builder, Connection, SendRequest};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::{connection::MOST_STREAMS, frames::EmptyFrames};
use crate::clock::Monotonic;

/// What came over a connection: when last, which is never at first, and how many frames of answers with nothing in them.
#[derive(Debug, Default)]
pub(super) struct Heard {
    at: AtomicU64,
    empty: AtomicU32,
}

/// A connection that notes when something comes over it.
#[derive(Debug)]
pub(super) struct Listening<S> {
    stream: S,
    frames: EmptyFrames,
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
/// The library ends a connection, with all its calls, after a hundred frames in its life that have nothing in them and end
/// nothing. Some servers send one with every answer; so the connection gets no new calls long before.
const MOST_EMPTY: u32 = 10;
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
        // The library would end a connection over which many small pieces of answers wait, with all its calls. One client
        // that takes nothing, and those that have left, would end the calls of others; windows bound what is held.
        .data_frame_budget(usize::MAX)
        .max_concurrent_reset_streams(TAKEN_BACK)
        .max_local_error_reset_streams(Some(MOST_BROKEN));
    builder
}

/// Greets, and waits until the tool has done so: then it speaks HTTP/2, and has said how many calls it takes. To wait costs
/// a way there and back once for many calls, and nothing was sent before that could be lost.
pub(super) async fn greet<S: AsyncRead + AsyncWrite + Unpin>(stream: S) -> Result<Greeted<S>, Unfriendly> {
    let heard = Arc::new(Heard::default());
    let listening = Listening { stream, frames: EmptyFrames::default(), heard: Arc::clone(&heard) };
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
        self.at.load(Ordering::Acquire) == 0
    }

    pub(super) fn at(&self) -> Monotonic {
        Monotonic::from_millis(self.at.load(Ordering::Acquire))
    }

    /// Whether as many frames of answers had nothing in them as a connection is to bear.
    pub(super) fn is_worn(&self) -> bool {
        self.empty.load(Ordering::Acquire) >= MOST_EMPTY
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
        let this = &mut *self;
        if let Some(come @ [_, ..]) = buffer.filled().get(before..) {
            this.heard.at.store(Monotonic::now().millis().max(1), Ordering::Release);
            this.heard.empty.fetch_add(this.frames.among(come), Ordering::AcqRel);
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
