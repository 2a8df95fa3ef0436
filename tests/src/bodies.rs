//! Bodies that a test compares byte by byte: a tool that sends and receives them, and clients that
//! do the same, fast and slowly.

use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use bytes::Bytes;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpSocket, TcpStream},
    time::timeout,
};

use crate::{
    PATIENCE, Request, Response, http2,
    runtime::{RUNTIME, listen},
};

/// The content of all bodies, each of which starts at another place. Its length is a prime, so that
/// no buffer's length divides it.
static CONTENT: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let next = |_| {
        // Xorshift.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..1_048_583).map(next).collect()
});

/// The rest of a body, of which so many bytes have come.
#[derive(Clone, Copy, Debug)]
pub struct Body {
    number: usize,
    at: usize,
    length: usize,
}

impl Body {
    /// Returns a body. Those of two numbers have no part in common.
    #[must_use]
    pub const fn new(number: usize, length: usize) -> Self {
        Self { number, at: 0, length }
    }

    /// Returns true if all of it has come.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.at == self.length
    }

    /// Takes the next bytes, at most so many.
    pub fn next(&mut self, max: usize) -> &'static [u8] {
        let from = (self.number * 7_919 + self.at) % CONTENT.len();
        let end = CONTENT.len().min(from + max.min(self.length - self.at));
        self.at += end - from;
        &CONTENT[from..end]
    }

    /// Compares the bytes that come next.
    ///
    /// # Errors
    /// Returns the place of the first byte that is another one.
    pub fn compare(&mut self, mut bytes: &[u8]) -> Result<(), String> {
        while !bytes.is_empty() {
            let before = self.at;
            let expected = self.next(bytes.len());
            let Some((now, rest)) = bytes.split_at_checked(expected.len()).filter(|_| !expected.is_empty())
            else {
                return Err(format!("{} bytes too many after {}", bytes.len(), self.length));
            };
            if now != expected {
                let same = now.iter().zip(expected).take_while(|(one, other)| one == other).count();
                return Err(format!("other bytes after {} of {}", before + same, self.length));
            }
            bytes = rest;
        }
        Ok(())
    }

    /// Returns an error unless all of it has come.
    ///
    /// # Errors
    /// Returns how much has come.
    pub fn end(&self) -> Result<(), String> {
        if self.is_over() { Ok(()) } else { Err(format!("cut after {} of {}", self.at, self.length)) }
    }
}

/// The speed of a client or a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// As fast as it can.
    Fast,
    /// In small pieces through a small buffer, and it lets others run in between.
    Slow,
}

impl Pace {
    const fn piece(self) -> usize {
        match self {
            Self::Fast => 64 << 10,
            Self::Slow => 5_000,
        }
    }

    /// Lets everything else run between two pieces, so that buffers fill up.
    async fn pause(self) {
        if self == Self::Slow {
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
        }
    }
}

/// A tool that sends the bodies that a call asks for, and compares those that it receives. A call
/// says in its query which body it is: `?number=7&length=65536`, and `&slow` or `&chunked`.
pub struct BodyTool {
    pub address: SocketAddr,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    whole: AtomicUsize,
    open: AtomicUsize,
}

/// A call that is served. Dropping it ends it.
struct Call<'a>(&'a Counts);

impl<'a> Call<'a> {
    fn begin(counts: &'a Counts) -> Self {
        counts.open.fetch_add(1, Ordering::SeqCst);
        Self(counts)
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::SeqCst);
    }
}

impl BodyTool {
    /// Starts it.
    #[must_use]
    pub fn start() -> Self {
        let (listener, address) = listen();
        let counts = Arc::<Counts>::default();
        let served = Arc::clone(&counts);
        RUNTIME.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let counts = Arc::clone(&served);
                tokio::spawn(async move {
                    // The end of the connection, or of the test.
                    let _ended = serve(stream, &counts).await;
                });
            }
        });
        Self { address, counts }
    }

    /// Returns the number of uploads that it has received, each of them whole.
    #[must_use]
    pub fn whole_uploads(&self) -> usize {
        self.counts.whole.load(Ordering::SeqCst)
    }

    /// Returns the number of calls whose body is not sent or received to its end.
    #[must_use]
    pub fn open_calls(&self) -> usize {
        self.counts.open.load(Ordering::SeqCst)
    }
}

/// Returns the target of a call to a [`BodyTool`].
#[must_use]
pub fn target(path: &str, number: usize, length: usize, more: &str) -> String {
    format!("{path}?number={number}&length={length}{more}")
}

async fn serve(mut stream: TcpStream, counts: &Counts) -> io::Result<()> {
    let mut held = Vec::new();
    loop {
        let head = loop {
            if let Some(end) = held.windows(4).position(|four| four == b"\r\n\r\n") {
                let head: Vec<u8> = held.drain(..end + 4).collect();
                break String::from_utf8_lossy(&head).into_owned();
            }
            if stream.read_buf(&mut held).await? == 0 {
                return Ok(());
            }
        };
        let line = head.lines().next().unwrap_or_default();
        let number = |name: &str| {
            let (_, rest) = line.split_once(name)?;
            rest.split(['&', ' ']).next()?.parse().ok()
        };
        let (Some(id), Some(length)) = (number("number="), number("length=")) else {
            // A probe.
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await?;
            continue;
        };
        let _open = Call::begin(counts);
        let pace = if line.contains("&slow") { Pace::Slow } else { Pace::Fast };
        if head.starts_with("POST") {
            let is_chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
            let received = receive(&mut stream, &mut held, Body::new(id, length), is_chunked, pace).await?;
            counts.whole.fetch_add(usize::from(received.is_ok()), Ordering::SeqCst);
            let text = received.map_or_else(|error| error, |()| "whole".to_owned());
            let response = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{text}", text.len());
            stream.write_all(response.as_bytes()).await?;
            continue;
        }
        let mut body = Body::new(id, length);
        if line.contains("&chunked") {
            stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").await?;
            while !body.is_over() {
                let piece = body.next(pace.piece());
                let chunk = [format!("{:x}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat();
                stream.write_all(&chunk).await?;
                pace.pause().await;
            }
            stream.write_all(b"0\r\n\r\n").await?;
            continue;
        }
        stream.write_all(format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n").as_bytes()).await?;
        while !body.is_over() {
            stream.write_all(body.next(pace.piece())).await?;
            pace.pause().await;
        }
    }
}

/// Receives a body and compares it.
async fn receive(
    stream: &mut TcpStream,
    held: &mut Vec<u8>,
    mut body: Body,
    is_chunked: bool,
    pace: Pace,
) -> io::Result<Result<(), String>> {
    let mut result = Ok(());
    loop {
        let size = if is_chunked {
            let line = read_until_line(stream, held).await?;
            usize::from_str_radix(line.trim(), 16).unwrap()
        } else {
            body.length
        };
        let mut left = size;
        while left > 0 {
            if held.is_empty() {
                pace.pause().await;
                held.reserve(pace.piece());
                if stream.take(pace.piece() as u64).read_buf(held).await? == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
            let now = held.len().min(left);
            result = result.and_then(|()| body.compare(&held[..now]));
            held.drain(..now);
            left -= now;
        }
        if !is_chunked {
            break;
        }
        read_until_line(stream, held).await?;
        if size == 0 {
            break;
        }
    }
    Ok(result.and_then(|()| body.end()))
}

async fn read_until_line(stream: &mut TcpStream, held: &mut Vec<u8>) -> io::Result<String> {
    loop {
        if let Some(end) = held.windows(2).position(|two| two == b"\r\n") {
            let line: Vec<u8> = held.drain(..end + 2).collect();
            return Ok(String::from_utf8_lossy(&line).into_owned());
        }
        if stream.read_buf(held).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

/// Connects. A slow client has a small buffer.
///
/// # Panics
/// If there is no connection.
pub async fn connect(to: SocketAddr, pace: Pace) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    if pace == Pace::Slow {
        socket.set_recv_buffer_size(8 << 10).unwrap();
        socket.set_send_buffer_size(8 << 10).unwrap();
    }
    socket.connect(to).await.expect("a connection")
}

/// A client of HTTP/1.1 that compares bodies while they come.
pub struct BodyClient<S> {
    stream: S,
    held: Vec<u8>,
    pace: Pace,
}

impl<S: AsyncRead + AsyncWrite + Unpin> BodyClient<S> {
    /// Returns the client of a connection.
    pub const fn over(stream: S, pace: Pace) -> Self {
        Self { stream, held: Vec::new(), pace }
    }

    /// Sends a request and, while it reads nothing, its body.
    ///
    /// # Errors
    /// Returns an error if the connection is closed or the peer stops reading.
    pub async fn send(&mut self, request: &Request, mut body: Body) -> Result<(), String> {
        let sends = async {
            self.stream.write_all(&request.bytes()).await?;
            while !body.is_over() {
                self.stream.write_all(body.next(self.pace.piece())).await?;
                self.pace.pause().await;
            }
            self.stream.flush().await
        };
        in_time("the request is not taken", sends).await?.map_err(|error| error.to_string())
    }

    /// Reads the next response and compares its body, or returns the body if it is not the expected
    /// one's.
    ///
    /// # Errors
    /// Returns what is wrong with it.
    pub async fn receive(&mut self, mut body: Body) -> Result<(), String> {
        let response = self.head().await?;
        if response.status != 200 {
            return Err(format!("status {}", response.status));
        }
        match response.header("content-length") {
            Some(length) => {
                let length: usize = length.parse().map_err(|_| "no length".to_owned())?;
                if length != body.length {
                    return Err(format!("a length of {length} and not {}", body.length));
                }
                self.compare(&mut body, length).await?;
            }
            None => loop {
                let line = self.line().await?;
                let size =
                    usize::from_str_radix(line.trim(), 16).map_err(|_| format!("the chunk {line:?}"))?;
                self.compare(&mut body, size).await?;
                self.line().await?;
                if size == 0 {
                    break;
                }
            },
        }
        body.end()
    }

    /// Reads the response to an upload.
    ///
    /// # Errors
    /// Returns what is wrong with it, or what the tool says of the upload.
    pub async fn uploaded(&mut self) -> Result<(), String> {
        let response = self.head().await?;
        let length = response.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        while self.held.len() < length {
            self.more(length).await?;
        }
        let text: Vec<u8> = self.held.drain(..length).collect();
        match (response.status, text.as_slice()) {
            (200, b"whole") => Ok(()),
            (status, text) => Err(format!("status {status}: {}", String::from_utf8_lossy(text))),
        }
    }

    async fn head(&mut self) -> Result<Response, String> {
        loop {
            if let Some(end) = self.held.windows(4).position(|four| four == b"\r\n\r\n") {
                let head: Vec<u8> = self.held.drain(..end + 4).collect();
                let head = String::from_utf8_lossy(&head).into_owned();
                let response = Response::parse_head(&head).ok_or_else(|| format!("the head {head:?}"))?;
                if response.status >= 200 {
                    return Ok(response);
                }
                continue;
            }
            self.more(usize::MAX).await?;
        }
    }

    async fn line(&mut self) -> Result<String, String> {
        loop {
            if let Some(end) = self.held.windows(2).position(|two| two == b"\r\n") {
                let line: Vec<u8> = self.held.drain(..end + 2).collect();
                return Ok(String::from_utf8_lossy(&line).into_owned());
            }
            self.more(usize::MAX).await?;
        }
    }

    async fn compare(&mut self, body: &mut Body, length: usize) -> Result<(), String> {
        let mut left = length;
        while left > 0 {
            if self.held.is_empty() {
                self.pace.pause().await;
                self.more(usize::MAX).await.map_err(|error| format!("{error} after {}", body.at))?;
            }
            let now = self.held.len().min(left);
            body.compare(&self.held[..now])?;
            self.held.drain(..now);
            left -= now;
        }
        Ok(())
    }

    async fn more(&mut self, max: usize) -> Result<(), String> {
        let max = self.pace.piece().min(max);
        self.held.reserve(max);
        let mut limited = (&mut self.stream).take(max as u64);
        let read = in_time("nothing comes", limited.read_buf(&mut self.held)).await?;
        match read {
            Ok(0) => Err("the connection ends".to_owned()),
            Ok(_) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }
}

async fn in_time<T>(what: &str, future: impl Future<Output = T>) -> Result<T, String> {
    timeout(PATIENCE, future).await.map_err(|_elapsed| format!("{what} for {PATIENCE:?}"))
}

/// Opens an HTTP/2 connection. That of a slow client has small windows.
///
/// # Panics
/// If there is none.
pub async fn http2_over(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    pace: Pace,
) -> h2::client::SendRequest<Bytes> {
    let mut builder = h2::client::Builder::new();
    if pace == Pace::Slow {
        builder.initial_window_size(10_000);
    }
    let (send, connection) = builder.handshake(stream).await.expect("a handshake");
    tokio::spawn(connection);
    send
}

/// Does a call over HTTP/2: an upload if the request is a POST, and else a download. Compares every
/// byte.
///
/// # Errors
/// Returns what is wrong.
///
/// # Panics
/// If HTTP/2 cannot express the request.
pub async fn http2_call(
    send: h2::client::SendRequest<Bytes>,
    request: &Request,
    mut body: Body,
    pace: Pace,
) -> Result<(), String> {
    let as_text = |error: h2::Error| error.to_string();
    let is_upload = request.method == "POST";
    let mut send = send.ready().await.map_err(as_text)?;
    let head = http2::head(request).expect("a request that HTTP/2 can express");
    let (response, mut stream) = send.send_request(head, !is_upload).map_err(as_text)?;
    while is_upload && !body.is_over() {
        stream.reserve_capacity(pace.piece());
        let room = std::future::poll_fn(|context| stream.poll_capacity(context));
        let room =
            in_time("the body is not taken", room).await?.ok_or("the stream is closed")?.map_err(as_text)?;
        let piece = body.next(room.min(pace.piece()));
        stream.send_data(Bytes::from_static(piece), body.is_over()).map_err(as_text)?;
        pace.pause().await;
    }
    let (head, mut received) = in_time("no response comes", response).await?.map_err(as_text)?.into_parts();
    let mut text = Vec::new();
    while let Some(data) = in_time("nothing comes", received.data()).await? {
        let data = data.map_err(|error| format!("{error} after {} of {}", body.at, body.length))?;
        if is_upload {
            text.extend_from_slice(&data)
        } else {
            body.compare(&data)?
        }
        pace.pause().await;
        received.flow_control().release_capacity(data.len()).map_err(as_text)?;
    }
    match (head.status.as_u16(), is_upload) {
        (200, false) => body.end(),
        (200, true) if text == b"whole" => Ok(()),
        (status, _) => Err(format!("status {status}: {}", String::from_utf8_lossy(&text))),
    }
}
