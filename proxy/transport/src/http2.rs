//! HTTP/2 towards clients. Each of its streams is served as if it were a connection with one HTTP/1.1 request: what reads
//! requests strictly, keeps time and answers is there once, and holds for both.

mod answer;
mod head;
mod receiving;
mod request;
mod sending;
mod stream;
mod streams;
pub mod tools;
mod turns;
mod waiting;

use std::{future::poll_fn, pin::pin, sync::Arc, task::Poll, time::Duration};

use bytes::Bytes;
use h2::{
    Reason,
    server::{Builder, Connection},
};
use pingora_core::protocols::Stream;
pub use stream::Http2Stream;
use streams::Streams;
use tokio::time::timeout;
use turns::{Turn, Turns};

use crate::{
    drain::{Drain, Phase, UnderWay},
    limits::{ClientOptions, Limit},
};

/// What a client says before anything else (RFC 9113, section 3.4).
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// How a connection came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The client closed it, or went away.
    Closed,
    /// It did not begin in time.
    Timeout,
    /// It had no request for too long.
    Idle,
    /// It was used up: it had as many requests as a connection may have, or the process is ending.
    Done,
    /// The client broke the protocol.
    Broken,
    /// The client made requests only to take them back.
    Flood,
}

impl End {
    /// Every one there is.
    pub const ALL: [Self; 6] =
        [Self::Closed, Self::Timeout, Self::Idle, Self::Done, Self::Broken, Self::Flood];

    /// Its name in metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Timeout => "timeout",
            Self::Idle => "idle",
            Self::Done => "done",
            Self::Broken => "broken",
            Self::Flood => "flood",
        }
    }
}

/// What a client may send of one body before somebody has read it. As long as a connection has not sent a valid key or
/// grant it is what it may send of all; after that it is so much for each body, because those that nobody reads must
/// not stop the others.
const STREAM_WINDOW: u32 = 256 << 10;
/// The largest window (RFC 9113, section 6.9.1).
const MAX_WINDOW: u32 = (1 << 31) - 1;
/// What is held of an answer that the client does not take.
const SEND_BUFFER: usize = 64 << 10;
/// Beyond this the library refuses a request by itself, with a bare 431. What is refused in words is beyond 64 KiB as
/// in HTTP/1.1: here the target (8 KiB), and 32 bytes for each of 128 lines, count as well (RFC 9113, section 6.5.2).
const MAX_HEADER_LIST: u32 = 80 << 10;
/// What pieces of bodies may lack of 256 bytes, all that nobody has read together: 2,000 of one byte. A window counts their
/// bytes only, while each takes half a KiB. The library would allow half of the window: 40 MiB for a client's 0.6.
const SMALL_FRAMES: usize = 512 << 10;
/// What is read of a connection at once, before the requests in it are begun: until it has sent a valid key or grant, and
/// after that.
const UNVERIFIED_TURN: usize = 4 << 10;
const TURN: usize = 1 << 20;
/// How long a connection that was told to end may take for it when it has no request.
const FAREWELL: Duration = Duration::from_secs(1);

fn builder(options: &ClientOptions) -> Builder {
    let mut builder = Builder::new();
    builder
        .max_concurrent_streams(options.streams_per_connection)
        .initial_window_size(STREAM_WINDOW)
        .initial_connection_window_size(STREAM_WINDOW)
        .max_header_list_size(MAX_HEADER_LIST)
        .max_send_buffer_size(SEND_BUFFER)
        .data_frame_budget(SMALL_FRAMES)
        // The library's own defaults, which bound what requests cost that are taken back or broken. They are written
        // out because they are what stands between us and such floods.
        .max_concurrent_reset_streams(50)
        .max_pending_accept_reset_streams(20)
        .max_local_error_reset_streams(Some(1024));
    builder
}

/// Serves a connection that speaks HTTP/2 until it ends. `serve` is given the head of each request, in HTTP/1.1, and its
/// stream; it must not wait. `exceeded` is called for each limit that a request runs into.
pub async fn serve(
    connection: Stream,
    options: &ClientOptions,
    drain: &Arc<Drain>,
    mut serve: impl FnMut(Vec<u8>, Http2Stream) + Send,
    exceeded: impl Fn(Limit) + Send + Sync + 'static,
) -> End {
    let mut phase = drain.phase();
    let peer = stream::Peer::of(&connection);
    let turn = Turn::new(UNVERIFIED_TURN);
    let greeting = builder(options).handshake(Turns::new(connection, &turn));
    let greeted = tokio::select! {
        biased;
        greeted = timeout(options.header_timeout, greeting) => greeted,
        _ = phase.wait_for(|phase| *phase == Phase::Ending) => return End::Done,
    };
    let mut connection = match greeted {
        Ok(Ok(connection)) => {
            Conversation { connection, turn, verified: false, unsent: None, drain: Arc::clone(drain) }
        }
        Ok(Err(error)) => return End::of(&error),
        Err(_elapsed) => return End::Timeout,
    };
    let streams = Arc::new(Streams::new(exceeded));
    let mut ending = None;
    loop {
        let patience = connection.patience(options, &streams, ending);
        let accepted = tokio::select! {
            biased;
            // Requests that come before the client has heard it are served; it makes the others somewhere else.
            _ = phase.wait_for(|phase| *phase >= Phase::Leaving), if ending.is_none() => {
                ending = Some(End::Done);
                connection.connection.graceful_shutdown();
                continue;
            }
            () = streams.verified(), if !connection.verified => {
                connection.widen(options);
                continue;
            }
            accepted = connection.accept() => accepted,
            () = streams.unused_for(patience) => match ending {
                Some(end) => return end,
                None => {
                    ending = Some(End::Idle);
                    connection.connection.graceful_shutdown();
                    continue;
                }
            },
        };
        match accepted {
            None => return ending.unwrap_or(End::Closed),
            Some(Err(error)) => return ending.unwrap_or_else(|| End::of(&error)),
            Some(Ok((request, respond))) => {
                if let Some((head, stream)) = Http2Stream::begin(request, respond, &peer, &streams) {
                    serve(head, stream);
                    streams.make_room().await;
                }
                if streams.is_flood() {
                    connection.end_abruptly(Reason::ENHANCE_YOUR_CALM).await;
                    return End::Flood;
                }
                if ending.is_none() && streams.begun() >= options.requests_per_connection {
                    ending = Some(End::Done);
                    connection.connection.graceful_shutdown();
                }
            }
        }
    }
}

/// The connection. While it has anything to send the process is not to end.
struct Conversation {
    connection: Connection<Turns, Bytes>,
    turn: Arc<Turn>,
    /// Whether one of its requests had a valid key or grant.
    verified: bool,
    unsent: Option<UnderWay>,
    drain: Arc<Drain>,
}

type Accepted = Option<Result<(http::Request<h2::RecvStream>, h2::server::SendResponse<Bytes>), h2::Error>>;

impl Conversation {
    /// The next request. It is this that reads and writes for all streams.
    async fn accept(&mut self) -> Accepted {
        poll_fn(|context| {
            let accepted = pin!(self.connection.accept()).poll(context);
            match (self.connection.has_streams(), &self.unsent) {
                (true, None) => self.unsent = Some(self.drain.sending()),
                (false, Some(_)) => self.unsent = None,
                (true, Some(_)) | (false, None) => {}
            }
            // What has come is begun; others on this thread go on before more is read.
            if accepted.is_pending() && self.turn.renew(if self.verified { TURN } else { UNVERIFIED_TURN }) {
                context.waker().wake_by_ref();
            }
            accepted
        })
        .await
    }

    /// Lets the client send the bodies of all its requests at once.
    fn widen(&mut self, options: &ClientOptions) {
        self.verified = true;
        let window = options.streams_per_connection.saturating_mul(STREAM_WINDOW);
        self.connection.set_target_window_size(window.min(MAX_WINDOW));
    }

    /// How long there may be no request under way. Of one that was answered something may still have to be sent.
    fn patience(&self, options: &ClientOptions, streams: &Streams, ending: Option<End>) -> Duration {
        match ending {
            Some(_) if !self.connection.has_streams() => FAREWELL,
            None if streams.begun() == 0 => options.header_timeout,
            Some(_) | None => options.idle_timeout,
        }
    }

    /// Ends the connection with all its streams, and tells the client why.
    async fn end_abruptly(&mut self, reason: Reason) {
        self.connection.abrupt_shutdown(reason);
        let farewell = poll_fn(|context| match self.connection.poll_closed(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(_) => Poll::Ready(()),
        });
        let _over = timeout(FAREWELL, farewell).await;
    }
}

impl End {
    fn of(error: &h2::Error) -> Self {
        // What the library itself calls a flood.
        let flood = error.reason() == Some(Reason::ENHANCE_YOUR_CALM) && error.is_library();
        match error.is_io() || error.is_remote() {
            true => Self::Closed,
            false if flood => Self::Flood,
            false => Self::Broken,
        }
    }
}
