//! An HTTP/2 client that sends exactly the given frames (RFC 9113, section 4), with header blocks
//! that no library would encode (RFC 7541).

use std::net::SocketAddr;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use crate::{PATIENCE, Request};

pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
pub const PING: u8 = 6;
pub const WINDOW_UPDATE: u8 = 8;

const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const INITIAL_WINDOW_SIZE: u8 = 4;

/// An HTTP/2 connection without a library.
pub struct Frames {
    stream: TcpStream,
    unread: Vec<u8>,
}

/// A frame as received.
#[derive(Debug)]
pub struct Frame {
    pub kind: u8,
    pub stream: u32,
    pub payload: Vec<u8>,
}

impl Frames {
    /// Opens a connection with this initial window size for each stream.
    pub async fn connect(to: SocketAddr, window: u32) -> Self {
        let stream = TcpStream::connect(to).await.expect("a connection");
        let mut client = Self { stream, unread: Vec::new() };
        let setting = [&[0, INITIAL_WINDOW_SIZE][..], &window.to_be_bytes()].concat();
        client
            .write(&[b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", &frame(SETTINGS, 0, 0, &setting)[..]].concat())
            .await;
        client
    }

    /// Writes until everything is sent or the peer closes the connection.
    pub async fn write(&mut self, frames: &[u8]) {
        let _written = self.stream.write_all(frames).await;
    }

    /// Opens the window of a stream by so many bytes.
    pub async fn open_window(&mut self, stream: u32, bytes: u32) {
        self.write(&frame(WINDOW_UPDATE, 0, stream, &bytes.to_be_bytes())).await;
    }

    /// Returns the next frame of a stream, or `None` at the end of the connection.
    pub async fn next_of_stream(&mut self) -> Option<Frame> {
        loop {
            let frame = self.next().await?;
            if frame.stream > 0 {
                return Some(frame);
            }
        }
    }

    /// Returns the next frame, or `None` at the end of the connection.
    pub async fn next(&mut self) -> Option<Frame> {
        timeout(PATIENCE, self.read()).await.expect("a frame or an end in time")
    }

    async fn read(&mut self) -> Option<Frame> {
        loop {
            if let Some(header) = self.unread.first_chunk::<9>() {
                let [a, b, c, kind, _flags, d, e, f, g] = *header;
                let end = 9 + u32::from_be_bytes([0, a, b, c]) as usize;
                if self.unread.len() >= end {
                    let payload = self.unread.drain(..end).skip(9).collect();
                    let stream = u32::from_be_bytes([d, e, f, g]);
                    return Some(Frame { kind, stream, payload });
                }
            }
            if self.stream.read_buf(&mut self.unread).await.unwrap_or(0) == 0 {
                return None;
            }
        }
    }
}

/// Returns the HEADERS frame of a request without a body. `further` is appended to its header
/// block.
pub fn head(stream: u32, request: &Request, further: &[u8]) -> Vec<u8> {
    frame(HEADERS, END_STREAM | END_HEADERS, stream, &block(request, further))
}

/// Returns the HEADERS frame of a request whose body follows.
pub fn open(stream: u32, request: &Request) -> Vec<u8> {
    frame(HEADERS, END_HEADERS, stream, &block(request, &[]))
}

/// Returns a DATA frame.
pub fn data(stream: u32, bytes: &[u8]) -> Vec<u8> {
    frame(DATA, 0, stream, bytes)
}

/// Returns the trailers of a request, with this header block.
pub fn trailers(stream: u32, block: &[u8]) -> Vec<u8> {
    frame(HEADERS, END_STREAM | END_HEADERS, stream, block)
}

/// Returns a PING frame.
pub fn ping() -> Vec<u8> {
    frame(PING, 0, 0, &[0; 8])
}

fn block(request: &Request, further: &[u8]) -> Vec<u8> {
    let pseudo = [
        (":method", request.method.as_str()),
        (":scheme", "http"),
        (":path", &request.target),
        (":authority", request.authority()),
    ];
    let mut block: Vec<u8> = pseudo.into_iter().flat_map(|(name, value)| literal(name, value)).collect();
    for (name, value) in request.headers.iter().filter(|(name, _)| name != "Host") {
        block.extend(literal(&name.to_ascii_lowercase(), value));
    }
    block.extend_from_slice(further);
    block
}

/// Returns a header that is added to the dynamic table, as its newest entry.
pub fn stored(name: &str, value: &str) -> Vec<u8> {
    [&[0x40][..], &text(name), &text(value)].concat()
}

/// Returns `times` references to the newest entry of the dynamic table, one byte each.
pub fn repeated(times: usize) -> Vec<u8> {
    vec![0x80 | 62; times]
}

/// Returns a header that is not added to the dynamic table.
pub fn literal(name: &str, value: &str) -> Vec<u8> {
    [&[0x00][..], &text(name), &text(value)].concat()
}

fn text(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    match u8::try_from(text.len()) {
        Ok(short @ 0..127) => out.push(short),
        _ => {
            out.push(127);
            let mut rest = text.len() - 127;
            while rest >= 128 {
                out.push((rest % 128 + 128) as u8);
                rest /= 128;
            }
            out.push(rest as u8);
        }
    }
    out.extend_from_slice(text.as_bytes());
    out
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}
