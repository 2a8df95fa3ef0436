//! A load generator for one peer: a closed loop, or an open loop at a fixed rate.

use std::cell::{Cell, RefCell};
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use async_channel::{Receiver, Sender};
use memchr::memmem;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::{LocalSet, spawn_local};
use tokio::time::sleep;

use crate::http2::Http2Connection;
use crate::message::{Credential, RequestShape, RequestWriter, content_length, status};
use crate::secure::Certificate;

/// The protocol of a load.
#[derive(Clone)]
pub(crate) enum Protocol {
    Http1,
    /// HTTP/1.1 over TLS.
    Https(Rc<Certificate>),
    /// HTTP/2 over TLS, with [`STREAMS`] calls at a time on each connection.
    Http2(Rc<Certificate>),
}

/// The number of calls that share an HTTP/2 connection.
pub(crate) const STREAMS: usize = 8;

/// The load on one peer: address, credential, request and number of calls at a time.
#[derive(Clone)]
pub(crate) struct Load {
    pub(crate) address: SocketAddr,
    pub(crate) credential: Credential,
    pub(crate) shape: RequestShape,
    pub(crate) expected: u16,
    pub(crate) connections: usize,
    pub(crate) protocol: Protocol,
}

/// State shared by all connections of a slice.
#[derive(Default)]
struct SliceState {
    responses: Cell<u64>,
    /// The first error of any connection.
    error: RefCell<Option<io::Error>>,
    /// Whether the warm-up is over. Before, any status is accepted: the first call of a limit
    /// passes.
    is_measuring: Cell<bool>,
    is_done: Cell<bool>,
    /// Due times of an open loop. The next free connection takes one.
    due: Option<Receiver<Instant>>,
    latencies: RefCell<Vec<u32>>,
    /// The last HTTP/2 connection that was opened, and how many callers it has.
    shared: RefCell<Option<(Http2Connection, usize)>>,
}

impl SliceState {
    /// Returns true if each of so many connections had the time for a call, or one has failed.
    fn has_begun(&self, connections: usize) -> bool {
        self.responses.get() >= 2 * connections as u64 || self.error.borrow().is_some()
    }
}

/// The result of one slice.
pub(crate) struct SliceResult {
    /// Responses received within the slice.
    pub(crate) responses: u64,
    /// The slice's duration.
    pub(crate) elapsed: Duration,
    /// Latencies in microseconds, sorted, from a call's due time to its response. Empty unless the
    /// rate is fixed.
    pub(crate) latencies: Vec<u32>,
}

const WARM_UP: Duration = Duration::from_millis(150);

impl Load {
    /// Load the peer for `duration`, after a warm-up. With an `interval` it is an open loop: calls
    /// are due that far apart.
    ///
    /// `observe` runs at the beginning and at the end of the slice, while calls continue.
    ///
    /// # Errors
    /// Returns the first unexpected status or the first failed connection.
    pub(crate) async fn run(
        &self,
        duration: Duration,
        interval: Option<Duration>,
        mut observe: impl AsyncFnMut() -> io::Result<()>,
    ) -> io::Result<SliceResult> {
        let tasks = LocalSet::new();
        let due = interval.map(|interval| {
            let (sender, receiver) = async_channel::unbounded();
            tasks.spawn_local(schedule_calls(interval, sender));
            receiver
        });
        let state = Rc::new(SliceState { due, ..SliceState::default() });
        for number in 0..self.connections {
            let (state, load) = (Rc::clone(&state), self.clone());
            tasks.spawn_local(async move {
                if let Err(error) = load.run_connection(&state, number).await {
                    state.error.borrow_mut().get_or_insert(error);
                }
            });
        }
        let slice = tasks
            .run_until(async {
                sleep(WARM_UP).await;
                // Handshakes can take longer than that, and belong to no call over a kept connection.
                while !state.has_begun(self.connections) {
                    sleep(WARM_UP / 10).await;
                }
                state.is_measuring.set(true);
                observe().await?;
                state.latencies.borrow_mut().clear();
                let (before, start) = (state.responses.get(), Instant::now());
                sleep(duration).await;
                let (responses, elapsed) = (state.responses.get() - before, start.elapsed());
                let mut latencies = state.latencies.take();
                observe().await?;
                state.is_done.set(true);
                // An HTTP/2 connection lives as long as one of its callers.
                state.shared.take();
                let _was_open = state.due.as_ref().map(Receiver::close);
                latencies.sort_unstable();
                Ok::<_, io::Error>(SliceResult { responses, elapsed, latencies })
            })
            .await?;
        tasks.await;
        match state.error.take() {
            Some(error) => Err(error),
            None => Ok(slice),
        }
    }

    /// Makes `warm_up` calls on each connection, and `calls` more on the same ones. `observe` runs
    /// before and after those, while none is in flight.
    ///
    /// # Errors
    /// Returns the first unexpected status, the first failed connection, or an error of `observe`.
    pub(crate) async fn run_calls(
        &self,
        warm_up: usize,
        calls: usize,
        mut observe: impl FnMut() -> io::Result<()>,
    ) -> io::Result<()> {
        let state = Rc::new(SliceState::default());
        let make = async |callers: Vec<Caller>, calls: usize| {
            let call = |mut caller: Caller| {
                let (state, load) = (Rc::clone(&state), self.clone());
                spawn_local(async move {
                    for _ in 0..calls {
                        caller.call(&load, &state).await?;
                    }
                    Ok::<_, io::Error>(caller)
                })
            };
            let running: Vec<_> = callers.into_iter().map(call).collect();
            let mut callers = Vec::with_capacity(running.len());
            for caller in running {
                callers.push(caller.await??);
            }
            Ok::<_, io::Error>(callers)
        };
        let tasks = LocalSet::new();
        tasks
            .run_until(async {
                let mut callers = Vec::with_capacity(self.connections);
                for number in 0..self.connections {
                    callers.push(Caller::connect(self, &state, number).await?);
                }
                let callers = make(callers, warm_up).await?;
                state.is_measuring.set(true);
                observe()?;
                let _callers = make(callers, calls).await?;
                observe()
            })
            .await
    }

    async fn run_connection(&self, state: &SliceState, number: usize) -> io::Result<()> {
        let mut caller = Caller::connect(self, state, number).await?;
        while !state.is_done.get() {
            let due = match &state.due {
                None => None,
                Some(due) => match due.recv().await {
                    Ok(due) => Some(due),
                    Err(_closed) => break,
                },
            };
            caller.call(self, state).await?;
            state.responses.set(state.responses.get() + 1);
            if let Some(due) = due {
                let micros = due.elapsed().as_micros().try_into().unwrap_or(u32::MAX);
                state.latencies.borrow_mut().push(micros);
            }
        }
        Ok(())
    }

    /// Returns its own connection, or one that it shares.
    async fn connect(&self, state: &SliceState) -> io::Result<Connection> {
        let Protocol::Http2(certificate) = &self.protocol else {
            return Connection::open(self.address, &self.protocol).await;
        };
        if let Some((connection, callers)) = state.shared.borrow_mut().as_mut()
            && *callers < STREAMS
        {
            *callers += 1;
            return Ok(Connection::Http2(connection.clone()));
        }
        let connection = Http2Connection::open(self.address, certificate).await?;
        *state.shared.borrow_mut() = Some((connection.clone(), 1));
        Ok(Connection::Http2(connection))
    }

    fn check_status(&self, status: u16) -> io::Result<()> {
        if status == self.expected {
            return Ok(());
        }
        Err(io::Error::other(format!("unexpected status {status}, expected {}", self.expected)))
    }
}

/// Makes one call after the other.
struct Caller {
    requests: RequestWriter,
    request: Vec<u8>,
    connection: Connection,
    is_first: bool,
}

impl Caller {
    async fn connect(load: &Load, state: &SliceState, number: usize) -> io::Result<Self> {
        let start = next_sequence_start() + 1_009 * number as u64;
        let requests = RequestWriter::new(load.credential.clone(), load.shape, start);
        Ok(Self { requests, request: Vec::new(), connection: load.connect(state).await?, is_first: true })
    }

    /// Makes a call, on a new connection if the last one was to be closed.
    async fn call(&mut self, load: &Load, state: &SliceState) -> io::Result<()> {
        self.requests.write_next(&mut self.request);
        if !self.is_first && load.shape.close {
            self.connection = load.connect(state).await?;
        }
        self.is_first = false;
        let status = self.connection.call(&self.request).await?;
        // The sliding window of a limit frees a few slots as its minute moves on.
        let is_freed_slot = status == 200 && load.expected == 429;
        if !is_freed_slot && state.is_measuring.get() { load.check_status(status) } else { Ok(()) }
    }
}

/// Returns a number far from all earlier ones. A grant is valid once, so no two connections may
/// share request ids.
fn next_sequence_start() -> u64 {
    thread_local! {
        static START: Cell<u64> = const { Cell::new(1) };
    }
    START.with(|start| {
        start.set(start.get() + (1 << 32));
        start.get()
    })
}

/// Sends due times until the channel is closed. It spins, because timers of the runtime have a
/// resolution of 1 ms.
async fn schedule_calls(interval: Duration, due: Sender<Instant>) {
    let mut next = Instant::now();
    while !due.is_closed() {
        while next <= Instant::now() {
            if due.try_send(next).is_err() {
                return;
            }
            next += interval;
        }
        tokio::task::yield_now().await;
    }
}

/// Returns `count` connections that have made one call each and are now idle.
pub(crate) async fn open_idle(load: &Load, count: usize) -> io::Result<Vec<Connection>> {
    let mut held = Vec::with_capacity(count);
    let mut request = Vec::new();
    let mut requests = RequestWriter::new(load.credential.clone(), load.shape, next_sequence_start());
    for _ in 0..count {
        let mut connection = Connection::open(load.address, &load.protocol).await?;
        requests.write_next(&mut request);
        load.check_status(connection.call(&request).await?)?;
        held.push(connection);
    }
    Ok(held)
}

/// Returns connections on each of which one request was sent.
pub(crate) async fn open_streams(load: &Load, count: usize) -> io::Result<Vec<TcpStream>> {
    let mut streams = Vec::with_capacity(count);
    let mut request = Vec::new();
    let mut requests = RequestWriter::new(load.credential.clone(), load.shape, next_sequence_start());
    for _ in 0..count {
        let mut stream = TcpStream::connect(load.address).await?;
        requests.write_next(&mut request);
        stream.write_all(&request).await?;
        streams.push(stream);
    }
    Ok(streams)
}

/// Makes `count` calls in sequence, each on a new connection that is closed before the next one
/// opens.
pub(crate) async fn call_in_sequence(load: &Load, count: usize) -> io::Result<()> {
    for _ in 0..count {
        drop(open_idle(load, 1).await?);
    }
    Ok(())
}

/// Sends one POST with a body of `bytes` bytes.
pub(crate) async fn stream_body(load: &Load, bytes: u64) -> io::Result<()> {
    let chunk = vec![b'7'; 64 << 10];
    let mut stream = TcpStream::connect(load.address).await?;
    let mut head = Vec::new();
    RequestWriter::new(load.credential.clone(), load.shape, next_sequence_start())
        .write_next_head(bytes, &mut head);
    stream.write_all(&head).await?;
    for _ in 0..bytes / chunk.len() as u64 {
        stream.write_all(&chunk).await?;
    }
    load.check_status(Http1Connection::over(stream).call(&[]).await?)
}

/// A connection to a peer.
pub(crate) enum Connection {
    Http1(Http1Connection),
    Http2(Http2Connection),
}

impl Connection {
    /// Opens a connection with HTTP/1.1.
    async fn open(address: SocketAddr, protocol: &Protocol) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self::Http1(match protocol {
            Protocol::Http1 => Http1Connection::over(stream),
            Protocol::Https(certificate) | Protocol::Http2(certificate) => {
                Http1Connection::over(certificate.connect(stream, false).await?)
            }
        }))
    }

    async fn call(&mut self, request: &[u8]) -> io::Result<u16> {
        match self {
            Self::Http1(connection) => connection.call(request).await,
            Self::Http2(connection) => connection.call(request).await,
        }
    }
}

/// A byte stream, with TLS or without.
trait ByteStream: AsyncRead + AsyncWrite + Unpin {}

impl<T: AsyncRead + AsyncWrite + Unpin> ByteStream for T {}

/// A keep-alive connection with HTTP/1.1.
pub(crate) struct Http1Connection {
    stream: Box<dyn ByteStream>,
    bytes: Vec<u8>,
}

impl Http1Connection {
    fn over(stream: impl ByteStream + 'static) -> Self {
        Self { stream: Box::new(stream), bytes: vec![0; 32 << 10] }
    }

    /// Sends a request, reads the whole response and returns its status.
    async fn call(&mut self, request: &[u8]) -> io::Result<u16> {
        self.stream.write_all(request).await?;
        let mut held = 0;
        let (end, length, status) = loop {
            let read = self.stream.read(self.bytes.get_mut(held..).unwrap_or_default()).await?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            held += read;
            let received = self.bytes.get(..held).unwrap_or_default();
            if let Some(end) = memmem::find(received, b"\r\n\r\n") {
                let head = received.get(..end).unwrap_or_default();
                break (end + 4, content_length(head).unwrap_or(0), status(head));
            }
        };
        let mut missing = length.saturating_sub(held - end);
        while missing > 0 {
            let read = self.stream.read(&mut self.bytes).await?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            missing = missing.saturating_sub(read);
        }
        Ok(status)
    }
}
