//! A body that is written in HTTP/1.1 and sent in HTTP/2. It is our own side's, so that it is well-formed.

use std::{
    io,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use h2::{Reason, SendStream};

/// How the end of a body is told in HTTP/1.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// By its length.
    Length(u64),
    /// By its last chunk.
    Chunks,
    /// By the end of the connection.
    Rest,
}

/// The body, as far as it was written.
#[derive(Debug)]
pub(super) struct Sending {
    send: SendStream<Bytes>,
    next: Next,
    /// Whether the other end took nothing when it was last asked to.
    stuck: bool,
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// So many bytes.
    Length(u64),
    /// The rest of a line with a chunk's length, which is so far this. Digits after a semicolon do not count.
    Size(u64, bool),
    /// So many bytes of a chunk, then its line end.
    Chunk(u64),
    /// The lines after the last chunk; so many bytes of an empty line were there.
    Trailers(usize),
    /// Bytes until the end of the connection.
    Rest,
    /// Nothing: all of it was sent.
    Nothing,
}

impl Sending {
    /// A body of which nothing was written. One without any bytes was ended with the head.
    pub(super) const fn new(send: SendStream<Bytes>, framing: Framing) -> Self {
        let next = match framing {
            Framing::Length(0) => Next::Nothing,
            Framing::Length(length) => Next::Length(length),
            Framing::Chunks => Next::Size(0, false),
            Framing::Rest => Next::Rest,
        };
        Self { send, next, stuck: false }
    }

    /// Whether all of it was sent.
    pub(super) fn is_done(&self) -> bool {
        self.next == Next::Nothing
    }

    /// Whether the other end took nothing when it was last asked to.
    pub(super) const fn is_stuck(&self) -> bool {
        self.stuck
    }

    /// Whether so many bytes are all that the body lacks.
    pub(super) fn lacks(&self, bytes: usize) -> bool {
        self.next == Next::Length(bytes as u64)
    }

    /// Takes some of the bytes. How many, at least one.
    pub(super) fn poll_take(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let taken = self.poll_next(context, bytes);
        self.stuck = taken.is_pending();
        taken
    }

    fn poll_next(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let Some(first) = bytes.first().copied() else { return Poll::Ready(Ok(0)) };
        match &mut self.next {
            Next::Length(left) => {
                let sent = ready!(poll_send(&mut self.send, context, bytes, *left, true))?;
                *left -= sent as u64;
                if *left == 0 {
                    self.next = Next::Nothing;
                }
                Poll::Ready(Ok(sent))
            }
            Next::Chunk(left) => {
                // What is left counts the line end of the chunk, which is not sent.
                let sent = match *left {
                    0..=2 => bytes.len().min(usize::try_from(*left).unwrap_or(0)),
                    _ => ready!(poll_send(&mut self.send, context, bytes, *left - 2, false))?,
                };
                *left -= sent as u64;
                if *left == 0 {
                    self.next = Next::Size(0, false);
                }
                Poll::Ready(Ok(sent))
            }
            Next::Size(size, over) => {
                match (first, char::from(first).to_digit(16)) {
                    (b'\n', _) if *size == 0 => self.next = Next::Trailers(0),
                    (b'\n', _) => self.next = Next::Chunk(size.saturating_add(2)),
                    (_, Some(digit)) if !*over => *size = size.saturating_mul(16) + u64::from(digit),
                    _ => *over = true,
                }
                Poll::Ready(Ok(1))
            }
            Next::Trailers(empty) => {
                match (first, *empty) {
                    (b'\r', 0) => *empty = 1,
                    (b'\n', 1) => self.end()?,
                    // A trailer: it is left out until its line ends.
                    (b'\n', _) => *empty = 0,
                    _ => *empty = 2,
                }
                Poll::Ready(Ok(1))
            }
            Next::Rest => poll_send(&mut self.send, context, bytes, u64::MAX, false),
            Next::Nothing => Poll::Ready(Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "the message goes on after its end",
            ))),
        }
    }

    /// The end of what is written: a body without another end is complete now.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        if self.next == Next::Rest { self.end() } else { Ok(()) }
    }

    fn end(&mut self) -> io::Result<()> {
        self.send.send_data(Bytes::new(), true).map_err(io::Error::other)?;
        self.next = Next::Nothing;
        Ok(())
    }

    /// Waits until the other end wants nothing more of it.
    pub(super) fn poll_reset(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.send.poll_reset(context).map(|_reason| ())
    }

    /// Takes the message back, and with it what was not sent yet.
    pub(super) fn reset(&mut self, reason: Reason) {
        self.send.send_reset(reason);
    }
}

/// Sends as many of the bytes as the other end takes, of at most `left`, which are the last ones if `ends`.
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
