//! Pingora's answer in HTTP/1.1, sent as HTTP/2. The answer is our own side's, so that it is well-formed; where it is not,
//! the stream is reset.

use std::{
    io,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use h2::{Reason, SendStream, server::SendResponse};
use http::{HeaderName, HeaderValue, Response, StatusCode, header};

/// The answer as it is written.
#[derive(Debug)]
pub(super) struct Answer {
    /// Whether the request asks for no body, whatever the answer says of its length.
    head_only: bool,
    /// Whether the client took nothing when it was last asked to.
    stuck: bool,
    state: State,
}

/// What comes next.
#[derive(Debug)]
enum State {
    /// The rest of a head.
    Head(SendResponse<Bytes>, Vec<u8>),
    /// So many bytes.
    Length(SendStream<Bytes>, u64),
    /// The rest of a line with a chunk's length, which is so far this. Digits after a semicolon do not count.
    Size(SendStream<Bytes>, u64, bool),
    /// So many bytes of a chunk, then its line end.
    Chunk(SendStream<Bytes>, u64),
    /// The lines after the last chunk; so many bytes of an empty line were there.
    Trailers(SendStream<Bytes>, usize),
    /// Bytes until the end of the connection.
    Rest(SendStream<Bytes>),
    /// Nothing: all of it was sent.
    Done,
    /// Nothing: it could not be sent.
    Failed,
}

/// What becomes of a body.
enum Body {
    None,
    Length(u64),
    Chunks,
    Rest,
}

/// No answer of ours has a longer head: the tools' are held to 64 KiB.
const MAX_HEAD: usize = 128 << 10;

impl Answer {
    pub(super) const fn new(respond: SendResponse<Bytes>, head_only: bool) -> Self {
        Self { head_only, stuck: false, state: State::Head(respond, Vec::new()) }
    }

    pub(super) const fn is_done(&self) -> bool {
        matches!(self.state, State::Done)
    }

    /// Waits until the client takes the request back.
    pub(super) fn poll_taken_back(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let reset = match &mut self.state {
            State::Head(respond, _) => respond.poll_reset(context),
            State::Length(send, _)
            | State::Size(send, _, _)
            | State::Chunk(send, _)
            | State::Trailers(send, _)
            | State::Rest(send) => send.poll_reset(context),
            State::Done | State::Failed => return Poll::Ready(()),
        };
        reset.map(|_reason| ())
    }

    /// Takes some bytes of the answer. How many, at least one.
    pub(super) fn poll_write(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let mut taken = 0;
        while let Some(rest) = bytes.get(taken..).filter(|rest| !rest.is_empty()) {
            match self.poll_take(context, rest) {
                Poll::Ready(Ok(more)) => {
                    self.stuck = false;
                    taken += more;
                }
                Poll::Ready(Err(error)) => {
                    self.state = State::Failed;
                    return Poll::Ready(Err(error));
                }
                Poll::Pending => {
                    self.stuck = true;
                    return if taken > 0 { Poll::Ready(Ok(taken)) } else { Poll::Pending };
                }
            }
        }
        Poll::Ready(Ok(taken))
    }

    /// The end of what is written: an answer without another end is complete now.
    pub(super) fn finish(&mut self) {
        if let State::Rest(send) = &mut self.state {
            let sent = send.send_data(Bytes::new(), true);
            self.state = sent.map_or(State::Failed, |()| State::Done);
        }
    }

    /// What is held of an answer that goes no further. A client that takes nothing would never get to a reset behind it.
    fn give_up(&mut self) {
        let (State::Length(send, _)
        | State::Size(send, _, _)
        | State::Chunk(send, _)
        | State::Trailers(send, _)
        | State::Rest(send)) = &mut self.state
        else {
            return;
        };
        if self.stuck {
            send.send_reset(Reason::INTERNAL_ERROR);
        }
    }

    fn poll_take(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.state {
            State::Head(_, head) => {
                let taken = take_head(head, bytes);
                if head.ends_with(b"\r\n\r\n") {
                    self.send_head()?;
                } else if head.len() > MAX_HEAD {
                    return Poll::Ready(Err(broken("its head does not end")));
                }
                Poll::Ready(Ok(taken))
            }
            State::Length(send, left) => {
                let sent = ready!(poll_send(send, context, bytes, *left, true))?;
                *left -= sent as u64;
                if *left == 0 {
                    self.state = State::Done;
                }
                Poll::Ready(Ok(sent))
            }
            State::Chunk(send, left) => {
                // What is left counts the line end of the chunk, which is not sent.
                let sent = match *left {
                    0..=2 => bytes.len().min(usize::try_from(*left).unwrap_or(0)),
                    _ => ready!(poll_send(send, context, bytes, *left - 2, false))?,
                };
                *left -= sent as u64;
                if *left == 0 {
                    self.become_size();
                }
                Poll::Ready(Ok(sent))
            }
            State::Size(_, size, over) => {
                let Some(byte) = bytes.first() else { return Poll::Ready(Ok(0)) };
                match (*byte, char::from(*byte).to_digit(16)) {
                    (b'\n', _) => self.become_chunk(),
                    (_, Some(digit)) if !*over => *size = size.saturating_mul(16) + u64::from(digit),
                    _ => *over = true,
                }
                Poll::Ready(Ok(1))
            }
            State::Trailers(send, empty) => {
                let Some(byte) = bytes.first() else { return Poll::Ready(Ok(0)) };
                match (*byte, *empty) {
                    (b'\r', 0) => *empty = 1,
                    (b'\n', 1) => {
                        send.send_data(Bytes::new(), true).map_err(io::Error::other)?;
                        self.state = State::Done;
                    }
                    // A trailer: it is left out until its line ends.
                    (b'\n', _) => *empty = 0,
                    _ => *empty = 2,
                }
                Poll::Ready(Ok(1))
            }
            State::Rest(send) => poll_send(send, context, bytes, u64::MAX, false),
            State::Done => Poll::Ready(Err(broken("it goes on after its end"))),
            State::Failed => Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
        }
    }

    /// Sends the head that was gathered.
    fn send_head(&mut self) -> io::Result<()> {
        let State::Head(mut respond, head) = std::mem::replace(&mut self.state, State::Failed) else {
            return Ok(());
        };
        let (response, framing) = read_head(&head).ok_or_else(|| broken("its head cannot be read"))?;
        if response.status().is_informational() {
            respond.send_informational(response).map_err(io::Error::other)?;
            self.state = State::Head(respond, Vec::new());
            return Ok(());
        }
        let none =
            self.head_only || matches!(response.status(), StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
        let body = if none { Body::None } else { framing };
        let end = matches!(body, Body::None | Body::Length(0));
        let send = respond.send_response(response, end).map_err(io::Error::other)?;
        self.state = match body {
            Body::None | Body::Length(0) => State::Done,
            Body::Length(length) => State::Length(send, length),
            Body::Chunks => State::Size(send, 0, false),
            Body::Rest => State::Rest(send),
        };
        Ok(())
    }

    fn become_size(&mut self) {
        self.state = match std::mem::replace(&mut self.state, State::Failed) {
            State::Chunk(send, _) => State::Size(send, 0, false),
            other => other,
        };
    }

    fn become_chunk(&mut self) {
        self.state = match std::mem::replace(&mut self.state, State::Failed) {
            State::Size(send, 0, _) => State::Trailers(send, 0),
            State::Size(send, size, _) => State::Chunk(send, size.saturating_add(2)),
            other => other,
        };
    }
}

impl Drop for Answer {
    /// The library resets the stream of an answer that is not complete, after what was written of it.
    fn drop(&mut self) {
        self.give_up();
    }
}

/// Adds bytes up to the end of the head, if it is among them; how many.
fn take_head(head: &mut Vec<u8>, bytes: &[u8]) -> usize {
    const END: &[u8] = b"\r\n\r\n";
    let before = head.len();
    head.extend_from_slice(bytes);
    let from = before.saturating_sub(END.len() - 1);
    let end = head.get(from..).and_then(|rest| memchr::memmem::find(rest, END));
    if let Some(end) = end {
        head.truncate(from + end + END.len());
    }
    head.len() - before
}

/// The head without what is of HTTP/1.1 alone, and how its body's end is told.
fn read_head(head: &[u8]) -> Option<(Response<()>, Body)> {
    let mut lines = head.strip_suffix(b"\r\n\r\n")?.split(|byte| *byte == b'\n');
    let status = StatusCode::from_bytes(lines.next()?.get(9..12)?).ok()?;
    let mut response = Response::new(());
    *response.status_mut() = status;
    let (mut length, mut chunks) = (None, false);
    for line in lines {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let colon = memchr::memchr(b':', line)?;
        let (name, value) = line.split_at_checked(colon)?;
        let (name, value) =
            (HeaderName::from_bytes(name).ok()?, HeaderValue::from_bytes(value.get(1..)?.trim_ascii()).ok()?);
        if name == header::TRANSFER_ENCODING {
            chunks = true;
        }
        if name == header::CONTENT_LENGTH {
            length = value.to_str().ok()?.parse().ok();
        }
        if !is_of_one_hop(&name) {
            response.headers_mut().append(name, value);
        }
    }
    let body = match (chunks, length) {
        (true, _) => Body::Chunks,
        (false, Some(length)) => Body::Length(length),
        (false, None) => Body::Rest,
    };
    Some((response, body))
}

/// Headers that HTTP/2 forbids (RFC 9113, section 8.2.2).
fn is_of_one_hop(name: &HeaderName) -> bool {
    matches!(*name, header::CONNECTION | header::TRANSFER_ENCODING | header::UPGRADE)
        || matches!(name.as_str(), "keep-alive" | "proxy-connection")
}

/// Sends as many of the bytes as the client takes, of at most `left`, which are the last ones if `ends`.
fn poll_send(
    send: &mut SendStream<Bytes>,
    context: &mut Context<'_>,
    bytes: &[u8],
    left: u64,
    ends: bool,
) -> Poll<io::Result<usize>> {
    let wanted = bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX));
    send.reserve_capacity(wanted);
    let capacity = loop {
        match send.capacity() {
            0 => match ready!(send.poll_capacity(context)) {
                Some(Ok(_)) => {}
                Some(Err(error)) => return Poll::Ready(Err(io::Error::other(error))),
                None => return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
            },
            capacity => break capacity,
        }
    };
    let now = bytes.get(..wanted.min(capacity)).unwrap_or(bytes);
    let end = ends && now.len() as u64 == left;
    send.send_data(Bytes::copy_from_slice(now), end).map_err(io::Error::other)?;
    Poll::Ready(Ok(now.len()))
}

fn broken(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_taken_up_to_its_end_in_whatever_pieces_it_comes() {
        let whole = b"HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody";
        for size in 1..whole.len() {
            let (mut head, mut taken) = (Vec::new(), 0);
            for piece in whole.chunks(size) {
                if !head.ends_with(b"\r\n\r\n") {
                    taken += take_head(&mut head, piece);
                }
            }
            assert_eq!((head.as_slice(), taken), (&whole[..whole.len() - 4], whole.len() - 4), "{size}");
        }
    }

    #[test]
    fn what_is_of_one_hop_alone_is_left_out() {
        let head =
            b"HTTP/1.1 200 OK\r\nConnection: close\r\nX-A: b\r\nx-a: c\r\nTransfer-Encoding: chunked\r\n\r\n";
        let (response, body) = read_head(head).unwrap();
        assert!(matches!(body, Body::Chunks));
        assert_eq!(response.headers().len(), 2);
        assert_eq!(response.headers().get_all("x-a").iter().collect::<Vec<_>>(), ["b", "c"]);
    }
}
