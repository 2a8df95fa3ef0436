//! What the client and the upstreams of a world do, and what they see.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use memchr::memmem;
use once_cell::sync::Lazy;
use parking_lot::Mutex;
use pingora::protocols::Stream;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use super::parser::Parser;
use super::rng::Rng;
use super::state::{SeenRequest, SeenUpstream, State, id_of};
use super::wire::{FarEnd, wire};
use super::world::{Body, BodyFraming, Call, Dial, Leave, Pace, Reply};
use crate::fake_stream::FakeStream;

/// Maximum length of a body.
const MAX_BODY: usize = 400_000;

/// Returns the bytes of a body. No part of one can be exchanged for another.
pub(super) fn pattern(key: usize, length: usize) -> Vec<u8> {
    static BASE: Lazy<Vec<u8>> = Lazy::new(|| {
        let mut rng = Rng::new(1);
        (0..131_101).flat_map(|_| rng.next().to_le_bytes()).collect()
    });
    let from = key * 104_729 % (BASE.len() - MAX_BODY);
    BASE[from..from + length].to_vec()
}

/// Returns the bytes of a request's body.
pub(super) fn sent_body(id: usize, length: usize) -> Vec<u8> {
    pattern(2 * id, length)
}

/// Returns the bytes of the body of an upstream's reply.
pub(super) fn replied_body(id: usize, reply: usize, length: usize) -> Vec<u8> {
    pattern(2 * (id * 10 + reply) + 1, length)
}

/// Returns a body in its framing.
fn framed(body: Body, bytes: &[u8]) -> Vec<u8> {
    let BodyFraming::Chunks { size, trailers } = body.framing else { return bytes.to_vec() };
    let mut out = Vec::new();
    for chunk in bytes.chunks(size) {
        out.extend_from_slice(format!("{:x};a=b\r\n", chunk.len()).as_bytes());
        out.extend_from_slice(chunk);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(if trailers { b"0\r\nX-Sum: 1\r\n\r\n" } else { b"0\r\n\r\n" });
    out
}

/// Opens a connection to an upstream.
pub(super) async fn dial(state: Arc<State>, time: Duration) -> io::Result<Stream> {
    let count = state.seen.lock().upstreams.len();
    let outcome = state.world.dials.get(count).copied().unwrap_or(Dial::Connect);
    let (near, far) = wire(state.world.upstream_mood, state.fork());
    let is_at_boundary = Arc::new(Mutex::new(true));
    let seen = SeenUpstream { tape: far.tape(), is_at_boundary: Arc::clone(&is_at_boundary) };
    state.seen.lock().upstreams.push(seen);
    match outcome {
        Dial::Connect => {
            tokio::spawn(serve_upstream(state, far, is_at_boundary));
            Ok(Box::new(FakeStream::new(near)))
        }
        Dial::Refuse => Err(io::ErrorKind::ConnectionRefused.into()),
        Dial::Never => {
            sleep(time).await;
            Err(io::ErrorKind::TimedOut.into())
        }
    }
}

/// The bytes that were read and not parsed, of a connection.
struct Input<'a> {
    far: &'a FarEnd,
    bytes: Vec<u8>,
}

impl Input<'_> {
    /// Reads more. Returns false at the end.
    async fn more(&mut self, max: usize) -> bool {
        let read = self.far.read(max).await;
        self.bytes.extend_from_slice(&read);
        !read.is_empty()
    }

    /// Takes everything up to a separator, without it. Returns `None` at the end.
    async fn until(&mut self, separator: &[u8], max: usize) -> Option<Vec<u8>> {
        let mut from = 0;
        loop {
            let found = memmem::find(&self.bytes[from..], separator);
            if let Some(at) = found {
                let taken = self.bytes[..from + at].to_vec();
                self.bytes.drain(..from + at + separator.len());
                return Some(taken);
            }
            from = self.bytes.len().saturating_sub(separator.len());
            if !self.more(max).await {
                return None;
            }
        }
    }
}

/// How far a request's body was read.
#[derive(Default)]
struct Progress {
    read: AtomicUsize,
    paused_at: AtomicUsize,
    is_complete: AtomicBool,
    changed: Notify,
}

/// Serves one connection to an upstream.
async fn serve_upstream(state: Arc<State>, far: FarEnd, is_at_boundary: Arc<Mutex<bool>>) {
    let mut input = Input { far: &far, bytes: Vec::new() };
    loop {
        let Some(head) = input.until(b"\r\n\r\n", 1 << 20).await else { return };
        *is_at_boundary.lock() = false;
        let head = String::from_utf8_lossy(&head).into_owned();
        let Some((id, framing)) = parse_request(&head) else {
            return state.violate(format!("an upstream got {:?}", head.get(..200).unwrap_or(&head)));
        };
        let (index, number) = {
            let mut seen = state.seen.lock();
            let number = seen.requests.iter().filter(|request| request.id == id).count();
            seen.requests.push(SeenRequest { id, body: Vec::new(), is_complete: false });
            (seen.requests.len() - 1, number)
        };
        let replies = &state.world.calls[id].replies;
        let number = number.min(replies.len() - 1);
        let reply = replies[number];
        let progress = Progress::default();
        let mut reads = pin!(read_body(&state, &mut input, framing, reply.reads, index, &progress));
        let mut writes = pin!(respond(&state, &far, id, number, reply, &progress));
        let (mut is_read, mut is_written) = (false, false);
        while !is_read || !is_written {
            let is_kept = tokio::select! {
                biased;
                is_whole = &mut reads, if !is_read => {
                    is_read = true;
                    is_whole
                }
                is_kept = &mut writes, if !is_written => {
                    is_written = true;
                    is_kept
                }
            };
            if !is_kept {
                return;
            }
        }
        if reply.close || reply.closes_silently || reply.body.framing == BodyFraming::UntilClose {
            return;
        }
        *is_at_boundary.lock() = true;
    }
}

/// Parses a request as the proxy sends it. Returns the number of its call, and its framing.
fn parse_request(head: &str) -> Option<(usize, BodyFraming)> {
    let mut lines = head.split("\r\n");
    let (method, rest) = lines.next()?.split_once(' ')?;
    let id = id_of(rest.strip_prefix('/')?.strip_suffix(" HTTP/1.1")?)?;
    let lines: Vec<_> = lines.map(|line| line.split_once(": ")).collect::<Option<_>>()?;
    let value = |name: &str| lines.iter().find(|line| line.0.eq_ignore_ascii_case(name)).map(|line| line.1);
    value("x-attempt")?;
    let framing = match (value("content-length"), value("transfer-encoding")) {
        (None, Some("chunked")) => BodyFraming::Chunks { size: 0, trailers: false },
        (Some(_), None) => BodyFraming::Length,
        (None, None) if method == "GET" => BodyFraming::None,
        _ => return None,
    };
    Some((id, framing))
}

/// Reads the body of a request. Returns true if all of it came.
async fn read_body(
    state: &State,
    input: &mut Input<'_>,
    framing: BodyFraming,
    pace: Pace,
    index: usize,
    progress: &Progress,
) -> bool {
    let id = state.seen.lock().requests[index].id;
    let length = state.world.calls[id].body.length;
    let take = |bytes: &[u8]| {
        state.seen.lock().requests[index].body.extend_from_slice(bytes);
        progress.read.fetch_add(bytes.len(), Relaxed);
        progress.changed.notify_waiters();
    };
    let is_whole = match framing {
        BodyFraming::Chunks { .. } => loop {
            let Some(line) = input.until(b"\r\n", pace.piece).await else { break false };
            let Ok(size) = usize::from_str_radix(&String::from_utf8_lossy(&line), 16) else {
                state.violate(format!("an upstream got the chunk {:?}", String::from_utf8_lossy(&line)));
                break false;
            };
            if size == 0 {
                break input.until(b"\r\n", pace.piece).await.is_some();
            }
            if !read_exactly(state, input, size, pace, progress, &take).await {
                break false;
            }
            if input.until(b"\r\n", pace.piece).await.is_none_or(|line| !line.is_empty()) {
                break false;
            }
        },
        BodyFraming::Length => read_exactly(state, input, length, pace, progress, &take).await,
        BodyFraming::None | BodyFraming::UntilClose => true,
    };
    if is_whole {
        state.seen.lock().requests[index].is_complete = true;
        progress.is_complete.store(true, Relaxed);
        progress.changed.notify_waiters();
    }
    is_whole
}

/// Reads so many bytes of a body. Returns false at the end.
async fn read_exactly(
    state: &State,
    input: &mut Input<'_>,
    length: usize,
    pace: Pace,
    progress: &Progress,
    take: &(impl Fn(&[u8]) + Sync),
) -> bool {
    let mut left = length;
    while left > 0 {
        if pace.stops_after.is_some_and(|stop| progress.read.load(Relaxed) >= stop) {
            state.fall_silent();
            std::future::pending::<()>().await;
        }
        let mut paused_at = progress.paused_at.load(Relaxed);
        pace.wait(progress.read.load(Relaxed), &mut paused_at).await;
        progress.paused_at.store(paused_at, Relaxed);
        if input.bytes.is_empty() && !input.more(pace.piece).await {
            return false;
        }
        let now = input.bytes.len().min(left);
        take(&input.bytes[..now]);
        input.bytes.drain(..now);
        left -= now;
    }
    true
}

/// Sends the reply to a request. Returns false if the upstream leaves.
async fn respond(
    state: &State,
    far: &FarEnd,
    id: usize,
    number: usize,
    reply: Reply,
    progress: &Progress,
) -> bool {
    loop {
        let changed = progress.changed.notified();
        let is_due = reply.early.is_some_and(|early| progress.read.load(Relaxed) >= early);
        if is_due || progress.is_complete.load(Relaxed) {
            break;
        }
        changed.await;
    }
    if reply.delay > 0 {
        sleep(Duration::from_millis(reply.delay)).await;
    }
    let mut out = Vec::new();
    if reply.informational {
        out.extend_from_slice(b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n");
    }
    let version = if reply.is_http10 { "HTTP/1.0" } else { "HTTP/1.1" };
    let mut head = format!("{version} {} Reason\r\nX-Id: {id}\r\nX-Reply: {number}\r\n", reply.status);
    match reply.body.framing {
        BodyFraming::Length => head += &format!("Content-Length: {}\r\n", reply.body.length),
        BodyFraming::Chunks { .. } => head += "Transfer-Encoding: chunked\r\n",
        BodyFraming::None | BodyFraming::UntilClose => {}
    }
    if reply.close {
        head += "Connection: close\r\n";
    }
    out.extend_from_slice(head.as_bytes());
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(&framed(reply.body, &replied_body(id, number, reply.body.length)));
    let length = out.len();
    if reply.has_extra {
        out.extend_from_slice(b"EXTRA");
    }
    let end = reply.leaves_after.map_or(out.len(), |(at, _)| at.min(out.len()));
    // Only the end of the connection ends such a response.
    let ends = match (reply.body.framing, reply.leaves_after) {
        (BodyFraming::UntilClose, Some((_, leave))) => leave == Leave::Close,
        _ => true,
    };
    // It stops between two pieces.
    let stops = |stop: usize| stop.next_multiple_of(reply.writes.piece) < length;
    if end >= length && ends && !reply.writes.stops_after.is_some_and(stops) {
        state.seen.lock().whole.push((id, number));
    }
    if !write_paced(state, far, &out[..end], reply.writes, &mut 0).await {
        return false;
    }
    match reply.leaves_after {
        Some((_, leave)) => {
            leave_now(state, far, leave).await;
            false
        }
        None if reply.has_extra => {
            // Whoever has dropped the bytes before takes this for the next response.
            sleep(Duration::from_millis(20)).await;
            let poison = format!("HTTP/1.1 200 OK\r\nX-Id: {id}\r\nContent-Length: 6\r\n\r\nPOISON");
            far.write(poison.as_bytes()).await
        }
        None => true,
    }
}

async fn leave_now(state: &State, far: &FarEnd, leave: Leave) {
    match leave {
        Leave::Close => {}
        Leave::Reset => far.reset(),
        Leave::Silence => {
            state.fall_silent();
            std::future::pending::<()>().await;
        }
    }
}

/// Writes bytes at a pace. Returns false if the proxy has closed the connection.
async fn write_paced(state: &State, far: &FarEnd, bytes: &[u8], pace: Pace, written: &mut usize) -> bool {
    for piece in bytes.chunks(pace.piece) {
        if pace.stops_after.is_some_and(|stop| *written >= stop) {
            state.fall_silent();
            std::future::pending::<()>().await;
        }
        if pace.pause > 0 {
            sleep(Duration::from_millis(pace.pause)).await;
        }
        if !far.write(piece).await {
            return false;
        }
        *written += piece.len();
    }
    true
}

/// The client of one HTTP/1.1 connection.
pub(super) struct Http1Client {
    state: Arc<State>,
    far: FarEnd,
    parser: Mutex<Parser>,
    is_over: AtomicBool,
    changed: Notify,
}

impl Http1Client {
    pub(super) fn new(state: &Arc<State>, far: FarEnd) -> Self {
        let parser = Mutex::default();
        Self {
            state: Arc::clone(state),
            far,
            parser,
            is_over: AtomicBool::new(false),
            changed: Notify::new(),
        }
    }

    /// Sends all requests and reads all responses. Returns the parser at the end of the connection,
    /// or never if the client falls silent.
    pub(super) async fn run(self) -> Parser {
        tokio::select! {
            // A client whose requests are sent still reads.
            _ = async { tokio::join!(self.write(), self.read()) } => {}
            () = self.leave_early() => {}
        }
        drop(self.far);
        self.parser.into_inner()
    }

    /// Leaves at the time that the world has, if it has one.
    async fn leave_early(&self) {
        let Some((at, leave)) = self.state.world.client.leaves_at else {
            return std::future::pending().await;
        };
        sleep(Duration::from_millis(at)).await;
        self.state.leave(None);
        leave_now(&self.state, &self.far, leave).await;
    }

    async fn wait_until(&self, is_true: impl Fn(&Parser) -> bool + Send) {
        loop {
            let changed = self.changed.notified();
            if self.is_over.load(Relaxed) || is_true(&self.parser.lock()) {
                return;
            }
            changed.await;
        }
    }

    async fn write(&self) {
        let world = &self.state.world;
        let mut written = 0;
        for (id, call) in world.calls.iter().enumerate() {
            if !world.client.is_pipelined {
                self.wait_until(|parser| parser.complete() >= id).await;
            }
            if self.is_over.load(Relaxed)
                || !write_paced(&self.state, &self.far, &head(id, call), Pace::FAST, &mut 0).await
            {
                return;
            }
            if call.expects_continue {
                let continued = |parser: &Parser| parser.informational > 0 || parser.complete() > id;
                let _waited = timeout(Duration::from_secs(1), self.wait_until(continued)).await;
            }
            let body = framed(call.body, &sent_body(id, call.body.length));
            if !write_paced(&self.state, &self.far, &body, world.client.writes, &mut written).await {
                return;
            }
        }
    }

    async fn read(&self) {
        let pace = self.state.world.client.reads;
        let leaves_after = self.state.world.client.leaves_after;
        let (mut count, mut paused_at, calls) = (0, 0, self.state.world.calls.len());
        while self.parser.lock().complete() < calls {
            if pace.stops_after.is_some_and(|stop| count >= stop) {
                self.state.fall_silent();
                std::future::pending::<()>().await;
            }
            if let Some((_, leave)) = leaves_after.filter(|(after, _)| count >= *after) {
                self.is_over.store(true, Relaxed);
                self.changed.notify_waiters();
                if leave == Leave::Close {
                    // Dropping the end would wait for the writer.
                    self.far.close();
                }
                if leave != Leave::Silence {
                    self.state.leave(None);
                }
                return leave_now(&self.state, &self.far, leave).await;
            }
            pace.wait(count, &mut paused_at).await;
            let bytes = self.far.read(pace.piece).await;
            if bytes.is_empty() {
                if !self.far.tape().was_reset() {
                    self.parser.lock().end();
                }
                break;
            }
            count += bytes.len();
            let fed = self.parser.lock().feed(&bytes);
            if let Err(violation) = fed {
                self.state.violate(format!("the client got {violation}"));
                break;
            }
            self.changed.notify_waiters();
        }
        self.is_over.store(true, Relaxed);
        self.changed.notify_waiters();
    }
}

/// Returns the head of a request.
fn head(id: usize, call: &Call) -> Vec<u8> {
    let method = if call.is_post { "POST" } else { "GET" };
    let version = if call.is_http10 { "HTTP/1.0" } else { "HTTP/1.1" };
    let mut head = format!("{method} /{id} {version}\r\nHost: a.test\r\n");
    match call.body.framing {
        BodyFraming::Length => head += &format!("Content-Length: {}\r\n", call.body.length),
        BodyFraming::Chunks { .. } => head += "Transfer-Encoding: chunked\r\n",
        BodyFraming::None | BodyFraming::UntilClose => {}
    }
    if call.expects_continue {
        head += "Expect: 100-continue\r\n";
    }
    if call.close {
        head += "Connection: close\r\n";
    }
    if call.filler > 0 {
        head += &format!("X-Filler: {}\r\n", "f".repeat(call.filler));
    }
    (head + "\r\n").into_bytes()
}
