//! A request of HTTP/2 in the words of HTTP/1.1. Nothing is repaired here: what contradicts itself is written down as it
//! is, for the one reader of heads to refuse.

use std::{
    collections::VecDeque,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::{Buf, Bytes};
use h2::RecvStream;
use http::{Method, header, request::Parts};
use tokio::io::ReadBuf;

/// The request as it is read: its head, then its body.
#[derive(Debug)]
pub(super) struct Request {
    body: RecvStream,
    framing: Framing,
    /// What can be read at once.
    pieces: VecDeque<Bytes>,
}

/// How the body's end is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framing {
    /// By its length, which the client stated and the library holds it to.
    Length,
    /// By its chunks.
    Chunks,
    /// All of it has been read, if there was one.
    Over,
}

impl Request {
    pub(super) fn new(head: &Parts, body: RecvStream) -> Self {
        let framing = match (body.is_end_stream(), head.headers.contains_key(header::CONTENT_LENGTH)) {
            (true, _) => Framing::Over,
            (false, true) => Framing::Length,
            (false, false) => Framing::Chunks,
        };
        let text = write(head, framing == Framing::Chunks);
        Self { body, framing, pieces: VecDeque::from([Bytes::from(text)]) }
    }

    /// Whether nothing more is to be read.
    pub(super) fn is_over(&self) -> bool {
        self.framing == Framing::Over && self.pieces.is_empty()
    }

    /// Reads some bytes, or none when it turns out that there are no more; the client took the request back when that
    /// fails.
    pub(super) fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<(), h2::Error>> {
        while self.pieces.is_empty() && self.framing != Framing::Over {
            ready!(self.poll_more(context))?;
        }
        while let Some(piece) = self.pieces.front_mut() {
            let now = piece.len().min(buffer.remaining());
            buffer.put_slice(&piece.split_to(now));
            if piece.has_remaining() {
                break;
            }
            self.pieces.pop_front();
        }
        Poll::Ready(Ok(()))
    }

    fn poll_more(&mut self, context: &mut Context<'_>) -> Poll<Result<(), h2::Error>> {
        let chunks = self.framing == Framing::Chunks;
        match ready!(Pin::new(&mut self.body).poll_data(context)).transpose()? {
            Some(data) if data.is_empty() => {}
            Some(data) => {
                // It is on its way to the tool: the client may send as much again.
                self.body.flow_control().release_capacity(data.len())?;
                if chunks {
                    self.pieces.push_back(format!("{:x}\r\n", data.len()).into());
                }
                self.pieces.push_back(data);
                if chunks {
                    self.pieces.push_back(Bytes::from_static(b"\r\n"));
                }
            }
            None => {
                if chunks {
                    self.pieces.push_back(Bytes::from_static(b"0\r\n\r\n"));
                }
                self.framing = Framing::Over;
            }
        }
        Poll::Ready(Ok(()))
    }
}

/// The head with its empty line. `:authority` is the Host; a Host beside it stays when it says something else, and is
/// then one too many.
fn write(head: &Parts, chunks: bool) -> Vec<u8> {
    let mut text = Vec::with_capacity(512);
    let authority = head.uri.authority().map(http::uri::Authority::as_str);
    let target = match head.uri.path_and_query() {
        Some(target) if head.method != Method::CONNECT => target.as_str(),
        Some(_) | None => authority.unwrap_or_default(),
    };
    text.extend_from_slice(head.method.as_str().as_bytes());
    text.push(b' ');
    // A line end in a target would begin a header of the client's making. As a NUL it is refused like any control.
    text.extend(target.bytes().map(|byte| if byte.is_ascii_control() { 0 } else { byte }));
    text.extend_from_slice(b" HTTP/1.1\r\n");
    if let Some(authority) = authority {
        line(&mut text, "host", authority.as_bytes());
    }
    for (name, value) in &head.headers {
        let repeats = name == header::HOST && Some(value.as_bytes()) == authority.map(str::as_bytes);
        if !repeats {
            line(&mut text, name.as_str(), value.as_bytes());
        }
    }
    if chunks {
        line(&mut text, "transfer-encoding", b"chunked");
    }
    text.extend_from_slice(b"\r\n");
    text
}

fn line(text: &mut Vec<u8>, name: &str, value: &[u8]) {
    text.extend_from_slice(name.as_bytes());
    text.extend_from_slice(b": ");
    text.extend_from_slice(value);
    text.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(request: http::request::Builder, chunks: bool) -> String {
        let (head, ()) = request.body(()).unwrap().into_parts();
        String::from_utf8(write(&head, chunks)).unwrap()
    }

    #[test]
    fn a_request_is_written_with_its_authority_as_host() {
        let request = http::Request::post("https://a.test:8443/v1/qr/x?b=c")
            .header("x-a", "b")
            .header("host", "a.test:8443");
        assert_eq!(
            written(request, true),
            "POST /v1/qr/x?b=c HTTP/1.1\r\nhost: a.test:8443\r\nx-a: b\r\ntransfer-encoding: chunked\r\n\r\n"
        );
        let request = http::Request::get("/").header("host", "b.test");
        assert_eq!(written(request, false), "GET / HTTP/1.1\r\nhost: b.test\r\n\r\n");
    }

    #[test]
    fn what_contradicts_itself_is_left_for_the_reader_to_refuse() {
        let request = http::Request::get("https://a.test/").header("host", "b.test");
        assert_eq!(written(request, false), "GET / HTTP/1.1\r\nhost: a.test\r\nhost: b.test\r\n\r\n");
        let request = http::Request::connect("a.test:443");
        assert_eq!(written(request, false), "CONNECT a.test:443 HTTP/1.1\r\nhost: a.test:443\r\n\r\n");
    }
}
