//! A connection from a client. It reads the head of each request whole and within bounds before anything is done about
//! it, and what cannot be a request is told apart as soon as it can be.
//!
//! All timers of a connection are one: the moment by which something has to happen, and who is to make it happen. A
//! wait that is over in time costs no more than a store to an atomic.

mod exchange;
mod known;

use std::{
    io,
    mem::MaybeUninit,
    net::{IpAddr, SocketAddr},
    pin::Pin,
    sync::atomic::{AtomicU8, AtomicU64, Ordering},
    task::{Context, Poll, ready},
    time::Duration,
};

use memchr::{memchr_iter, memmem};
use pingora_core::protocols::{Stream, UniqueID};
use shared::{
    problem::{Code, Problem},
    request::{Head, MAX_HEADER_BYTES},
    route::MAX_TARGET,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep},
};

use crate::{config::ClientConfig, http2::PREFACE, metrics::Bound, wire::WireHead};

/// The connection. What was read with a request's head is played back to whoever reads its body.
pub struct ClientStream {
    inner: Stream,
    /// The head of the request and what came with it.
    bytes: Vec<u8>,
    head_length: usize,
    played: usize,
    /// In milliseconds since the connection was made.
    deadline: AtomicU64,
    /// What the deadline was at first, in milliseconds from its beginning.
    time: AtomicU64,
    born: Instant,
    awaited: AtomicU8,
    overdue: AtomicU8,
    sleep: Option<Pin<Box<Sleep>>>,
    bounds: Bounds,
    /// Whether a request was read on this connection before.
    used: bool,
}

/// Who is at the other end of a connection.
#[must_use]
pub fn address(stream: &Stream) -> Option<IpAddr> {
    let digest = stream.get_socket_digest()?;
    digest.peer_addr()?.as_inet().map(SocketAddr::ip)
}

/// How long a client may take.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    header: Duration,
    idle: Duration,
    h2c: bool,
}

impl Bounds {
    const fn of(config: &ClientConfig) -> Self {
        Self { header: config.header_timeout, idle: config.idle_timeout, h2c: config.h2c }
    }
}

/// What is being waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Awaited {
    /// The client is to send more of its request. Every byte starts the time anew.
    Request = 1,
    /// The tool is to begin its answer.
    Answer = 2,
    /// The tool is to go on with its answer. Every byte that passes starts the time anew.
    RestOfAnswer = 3,
    /// One server of the tool is to begin its answer; another one could be asked instead.
    Try = 4,
    /// The client is to take more of what is there for it. Every byte that it takes starts the time anew.
    Taking = 5,
}

/// What the wait for a request came to.
#[derive(Debug)]
pub enum Arrival {
    /// A head that can be read in one way only.
    Request,
    /// The beginning of HTTP/2, which is allowed: it is played back.
    Http2,
    /// Something else: the connection ends with this problem.
    Refused(Box<Problem>),
    /// The client was silent for longer than this bound allows.
    Silent(Bound),
    /// The client has left.
    Nobody,
}

impl Awaited {
    const fn from_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Request),
            2 => Some(Self::Answer),
            3 => Some(Self::RestOfAnswer),
            4 => Some(Self::Try),
            5 => Some(Self::Taking),
            _ => None,
        }
    }
}

/// The request line and the header lines, with their ends.
const MAX_HEAD: usize = MAX_TARGET + MAX_HEADER_BYTES + 128;
/// Not an [`Awaited`].
const NOTHING: u8 = 0;

impl ClientStream {
    /// A connection that has just been accepted.
    #[must_use]
    pub fn new(inner: Stream, config: &ClientConfig) -> Self {
        Self {
            inner,
            bytes: Vec::new(),
            head_length: 0,
            played: 0,
            deadline: AtomicU64::new(0),
            time: AtomicU64::new(0),
            born: Instant::now(),
            awaited: AtomicU8::new(NOTHING),
            overdue: AtomicU8::new(NOTHING),
            sleep: None,
            bounds: Bounds::of(config),
            used: false,
        }
    }

    /// The head of the request as the client sent it, with its empty line.
    #[must_use]
    pub fn head(&self) -> &[u8] {
        self.bytes.get(..self.head_length).unwrap_or_default()
    }

    /// From now on this is waited for, so long; each call replaces the one before.
    pub fn wait_for(&self, awaited: Awaited, time: Duration) {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        self.overdue.store(NOTHING, Ordering::Relaxed);
        self.awaited.store(awaited as u8, Ordering::Relaxed);
        self.time.store(millis(time), Ordering::Relaxed);
        self.deadline.store(millis(self.born.elapsed() + time), Ordering::Relaxed);
    }

    /// From now on the client is to send more of its request.
    pub fn wait_for_more(&self) {
        self.wait_for(Awaited::Request, self.bounds.idle);
    }

    /// From now on the client is to take what is there for it.
    pub fn wait_for_taking(&self) {
        self.wait_for(Awaited::Taking, self.bounds.idle);
    }

    /// What was waited for too long.
    #[must_use]
    pub fn overdue(&self) -> Option<Awaited> {
        Awaited::from_number(self.overdue.load(Ordering::Relaxed))
    }

    /// Starts the time anew if this is what is waited for.
    fn progress(&self, awaited: Awaited) {
        if self.awaited.load(Ordering::Relaxed) == awaited as u8 {
            self.wait_for(awaited, Duration::from_millis(self.time.load(Ordering::Relaxed)));
        }
    }

    /// From the next request on these bounds hold.
    pub const fn keep_within(&mut self, config: &ClientConfig) {
        self.bounds = Bounds::of(config);
    }

    /// Reads the head of the next request. While nothing has come, nothing is held for it.
    pub async fn arrival(&mut self) -> Arrival {
        self.forget_request();
        // A request of which some has come is waited for like any other that has begun.
        let mut begun = !self.bytes.is_empty();
        let first = if self.used && !begun { self.bounds.idle } else { self.bounds.header };
        self.wait_for(Awaited::Request, first);
        let arrival = std::future::poll_fn(|context| self.poll_head(context, &mut begun)).await;
        self.used = true;
        match arrival {
            // Its requests have times of their own.
            Arrival::Http2 => self.awaited.store(NOTHING, Ordering::Relaxed),
            _ => self.wait_for(Awaited::Request, self.bounds.idle),
        }
        arrival
    }

    /// What bounds the wait for the first byte of a request.
    const fn first_bound(&self) -> Bound {
        if self.used { Bound::IdleTimeout } else { Bound::HeaderTimeout }
    }

    /// Drops what was played back; bytes beyond it are the beginning of the next request.
    fn forget_request(&mut self) {
        self.bytes.drain(..self.played.min(self.bytes.len()));
        if self.bytes.is_empty() {
            self.bytes = Vec::new();
        }
        self.played = 0;
        self.head_length = 0;
        self.overdue.store(NOTHING, Ordering::Relaxed);
    }

    /// `begun`: something of the request has come, if only an empty line before it, so that its time runs.
    fn poll_head(&mut self, context: &mut Context<'_>, begun: &mut bool) -> Poll<Arrival> {
        loop {
            if let Some(arrival) = self.look() {
                return Poll::Ready(arrival);
            }
            match ready!(self.poll_more(context)) {
                Ok(0) | Err(_) if *begun && self.overdue().is_some() => {
                    let problem = Problem::new(Code::RequestTimeout, "the headers were not complete in time");
                    return Poll::Ready(Arrival::Refused(Box::new(problem)));
                }
                Ok(0) | Err(_) if self.overdue().is_some() => {
                    return Poll::Ready(Arrival::Silent(self.first_bound()));
                }
                Ok(0) | Err(_) => return Poll::Ready(Arrival::Nobody),
                Ok(_) if !std::mem::replace(begun, true) => {
                    self.wait_for(Awaited::Request, self.bounds.header);
                }
                Ok(_) => {}
            }
        }
    }

    /// What the bytes so far come to; `None` while the head is not complete.
    fn look(&mut self) -> Option<Arrival> {
        // An empty line before a request is to be overlooked (RFC 9112 section 2.2).
        while self.bytes.starts_with(b"\r\n") {
            self.bytes.drain(..2);
        }
        if self.bounds.h2c && !self.used && may_be_preface(&self.bytes) {
            return (self.bytes.len() >= PREFACE.len()).then_some(Arrival::Http2);
        }
        let refused = |problem| Some(Arrival::Refused(Box::new(problem)));
        match memmem::find(&self.bytes, b"\r\n\r\n") {
            Some(end) => {
                self.head_length = end + 4;
                let read = WireHead::parse(self.head()).and_then(|wire| Head::read(wire.lines()).map(|_| ()));
                read.map_or_else(refused, |()| Some(Arrival::Request))
            }
            None if self.bytes.len() > MAX_HEAD => refused(Problem::new(
                Code::HeadersTooLarge,
                format!("the headers have more than {MAX_HEADER_BYTES} bytes"),
            )),
            None if is_no_request(&self.bytes) => {
                refused(Problem::new(Code::HeaderMalformed, "this is no HTTP/1.1 request"))
            }
            None => None,
        }
    }

    /// Reads once, through a buffer that is gone when there is nothing to read.
    fn poll_more(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let mut space = [const { MaybeUninit::uninit() }; 4096];
        let mut buffer = ReadBuf::uninit(&mut space);
        ready!(self.poll_inner(context, &mut buffer))?;
        self.bytes.extend_from_slice(buffer.filled());
        Poll::Ready(Ok(buffer.filled().len()))
    }

    /// Reads, or fails when whoever is waited for is overdue.
    fn poll_inner(&mut self, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match Pin::new(&mut self.inner).poll_read(context, buffer) {
            Poll::Pending => self.poll_overdue(context).map(Err),
            read @ Poll::Ready(_) => read,
        }
    }

    pub(crate) fn poll_overdue(&mut self, context: &mut Context<'_>) -> Poll<io::Error> {
        loop {
            let awaited = self.awaited.load(Ordering::Relaxed);
            if awaited == NOTHING {
                return Poll::Pending;
            }
            let deadline = self.born + Duration::from_millis(self.deadline.load(Ordering::Relaxed));
            let sleep = self.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
            // A timer that goes off too early is set again; only one that is too late has to be moved beforehand.
            if sleep.deadline() > deadline {
                sleep.as_mut().reset(deadline);
            }
            ready!(sleep.as_mut().poll(context));
            if sleep.deadline() < deadline {
                sleep.as_mut().reset(deadline);
                continue;
            }
            self.awaited.store(NOTHING, Ordering::Relaxed);
            self.overdue.store(awaited, Ordering::Relaxed);
            self.sleep = None;
            return Poll::Ready(io::ErrorKind::TimedOut.into());
        }
    }
}

/// Whether these bytes begin HTTP/2, or are the beginning of what does.
fn may_be_preface(bytes: &[u8]) -> bool {
    bytes.starts_with(PREFACE) || (PREFACE.starts_with(bytes) && !bytes.is_empty())
}

/// Whether no more bytes can make a request of these: one that is no letter at the beginning, or a bare line feed.
fn is_no_request(bytes: &[u8]) -> bool {
    let bare = |at: usize| at.checked_sub(1).and_then(|before| bytes.get(before)) != Some(&b'\r');
    bytes.first().is_some_and(|first| !first.is_ascii_alphabetic() && *first != b'\r')
        || memchr_iter(b'\n', bytes).any(bare)
}

impl AsyncRead for ClientStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let unplayed = this.bytes.get(this.played..).unwrap_or_default();
        if !unplayed.is_empty() {
            let (now, _) = unplayed.split_at(unplayed.len().min(buffer.remaining()));
            buffer.put_slice(now);
            this.played += now.len();
            return Poll::Ready(Ok(()));
        }
        ready!(this.poll_inner(context, buffer))?;
        this.progress(Awaited::Request);
        this.progress(Awaited::RestOfAnswer);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for ClientStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.inner).poll_write(context, bytes));
        self.progress(Awaited::Taking);
        self.progress(Awaited::RestOfAnswer);
        Poll::Ready(written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.inner).poll_write_vectored(context, pieces));
        self.progress(Awaited::Taking);
        self.progress(Awaited::RestOfAnswer);
        Poll::Ready(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }
}

impl std::fmt::Debug for ClientStream {
    /// Without the bytes: they hold keys.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientStream").field("id", &self.id()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

    use super::*;

    const CONFIG: ClientConfig = ClientConfig {
        header_timeout: Duration::from_secs(20),
        idle_timeout: Duration::from_secs(60),
        requests_per_connection: 1,
        connections: 1,
        connections_per_address: 1,
        calls_in_flight_per_key: 1,
        refusals_per_second: 1,
        streams_per_connection: 1,
        h2c: false,
    };

    fn connected() -> (DuplexStream, ClientStream) {
        let (client, server) = duplex(1 << 20);
        (client, ClientStream::new(Box::new(server), &CONFIG))
    }

    async fn refusal(stream: &mut ClientStream) -> Code {
        match stream.arrival().await {
            Arrival::Refused(problem) => problem.code(),
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_that_comes_in_pieces_is_played_back_whole_with_what_follows_it() {
        let (mut client, mut stream) = connected();
        let sent = b"\r\nPOST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc";
        let writer = tokio::spawn(async move {
            for byte in sent {
                client.write_all(&[*byte]).await.unwrap();
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            client
        });
        assert!(matches!(stream.arrival().await, Arrival::Request));
        assert!(stream.head().starts_with(b"POST /a HTTP/1.1\r\n") && stream.head().ends_with(b"3\r\n\r\n"));
        let mut read = vec![0; sent.len() - 2];
        stream.read_exact(&mut read).await.unwrap();
        assert_eq!(read, sent[2..]);
        drop(writer.await);
        assert!(matches!(stream.arrival().await, Arrival::Nobody));
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_has_twenty_seconds_however_it_drips_and_an_idle_connection_sixty() {
        let (mut client, mut stream) = connected();
        let begun = Instant::now();
        let writer = tokio::spawn(async move {
            client.write_all(b"GET / HTTP/1.1\r\nA: ").await.unwrap();
            while client.write_all(b"a").await.is_ok() && begun.elapsed() < Duration::from_secs(30) {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        });
        assert_eq!(refusal(&mut stream).await, Code::RequestTimeout);
        assert!((20..22).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
        writer.abort();

        let (mut client, mut stream) = connected();
        client.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
        assert!(matches!(stream.arrival().await, Arrival::Request));
        stream.read_exact(&mut [0; 27]).await.unwrap();
        let begun = Instant::now();
        assert!(matches!(stream.arrival().await, Arrival::Silent(Bound::IdleTimeout)));
        assert!((60..62).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn what_cannot_become_a_request_is_refused_without_waiting() {
        for sent in [
            &b"\x16\x03\x01\x02\x00"[..],
            b"GET / HTTP/1.1\nHost",
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            b"x\r\n\r\n",
        ] {
            let (mut client, mut stream) = connected();
            client.write_all(sent).await.unwrap();
            assert_eq!(refusal(&mut stream).await, Code::HeaderMalformed, "{sent:?}");
        }
        let (mut client, mut stream) = connected();
        client.write_all(b"GET / HTTP/1.1\r\nA: ").await.unwrap();
        client.write_all(&b"a".repeat(MAX_HEAD)).await.unwrap();
        assert_eq!(refusal(&mut stream).await, Code::HeadersTooLarge);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_waited_for_too_long_is_named_and_nothing_else() {
        let (_client, mut stream) = connected();
        stream.wait_for(Awaited::Answer, Duration::from_secs(35));
        let begun = Instant::now();
        assert_eq!(stream.read(&mut [0]).await.unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert_eq!(stream.overdue(), Some(Awaited::Answer));
        assert_eq!(begun.elapsed().as_secs(), 35);

        let (_client, mut stream) = connected();
        stream.wait_for(Awaited::Answer, Duration::from_secs(35));
        assert!(tokio::time::timeout(Duration::from_secs(30), stream.read(&mut [0])).await.is_err());
        stream.wait_for(Awaited::Request, Duration::from_secs(35));
        assert!(tokio::time::timeout(Duration::from_secs(30), stream.read(&mut [0])).await.is_err());
        assert_eq!(stream.overdue(), None);
        stream.wait_for(Awaited::Request, Duration::from_secs(1));
        assert!(stream.read(&mut [0]).await.is_err());
        assert_eq!(stream.overdue(), Some(Awaited::Request));
    }
}
