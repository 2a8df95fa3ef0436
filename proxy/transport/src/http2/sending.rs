//! Sends an HTTP/1.1 body as HTTP/2. The proxy writes it itself, so its framing is not checked.

use std::io;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use h2::{Reason, SendStream};

/// The framing of an HTTP/1.1 body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// A content length.
    Length(u64),
    /// Chunks.
    Chunks,
    /// The end of the connection.
    Rest,
}

/// A body that is written as HTTP/1.1 and sent as HTTP/2.
#[derive(Debug)]
pub(super) struct Sending {
    send: SendStream<Bytes>,
    next: Next,
    /// Whether the last write was blocked by flow control.
    stuck: bool,
}

/// The next part of the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// So many bytes of the body.
    Length(u64),
    /// The rest of a line with the size of a chunk, the size so far, and whether its digits have
    /// ended.
    Size(u64, bool),
    /// So many bytes of a chunk, including its line end.
    Chunk(u64),
    /// The lines after the last chunk, with the number of bytes of an empty line so far.
    Trailers(usize),
    /// All bytes until the end of the connection.
    Rest,
    /// None: the body is complete.
    Nothing,
}

impl Sending {
    /// Returns a body that has not started. An empty body has ended with its head.
    pub(super) const fn new(send: SendStream<Bytes>, framing: Framing) -> Self {
        let next = match framing {
            Framing::Length(0) => Next::Nothing,
            Framing::Length(length) => Next::Length(length),
            Framing::Chunks => Next::Size(0, false),
            Framing::Rest => Next::Rest,
        };
        Self { send, next, stuck: false }
    }

    /// Returns true if the body is complete.
    pub(super) fn is_done(&self) -> bool {
        self.next == Next::Nothing
    }

    /// Returns true if the last write was blocked by flow control.
    pub(super) const fn is_stuck(&self) -> bool {
        self.stuck
    }

    /// Returns true if exactly so many bytes complete the body.
    pub(super) fn remaining_is(&self, bytes: usize) -> bool {
        self.next == Next::Length(bytes as u64)
    }

    /// Sends some of the bytes. Returns their number, which is at least one.
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
                // The count includes the line end of the chunk, which is not sent.
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
                    // Two more for the line end behind the chunk, which is not sent.
                    (b'\n', _) => self.next = Next::Chunk(size.saturating_add(2)),
                    // Digits of an extension are none of the size (RFC 9112, section 7.1.1).
                    (_, Some(digit)) if !*over => *size = size.saturating_mul(16) + u64::from(digit),
                    _ => *over = true,
                }
                Poll::Ready(Ok(1))
            }
            Next::Trailers(empty) => {
                match (first, *empty) {
                    (b'\r', 0) => *empty = 1,
                    (b'\n', 1) => self.end()?,
                    // A trailer is dropped up to the end of its line.
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

    /// Ends a body that is delimited by the end of the connection.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        if self.next == Next::Rest { self.end() } else { Ok(()) }
    }

    fn end(&mut self) -> io::Result<()> {
        self.send.send_data(Bytes::new(), true).map_err(io::Error::other)?;
        self.next = Next::Nothing;
        Ok(())
    }

    /// Completes when the peer resets the stream.
    pub(super) fn poll_reset(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.send.poll_reset(context).map(|_reason| ())
    }

    /// Resets the stream and drops the data that was not sent.
    pub(super) fn reset(&mut self, reason: Reason) {
        self.send.send_reset(reason);
    }
}

/// Sends as many bytes as flow control allows, up to `left`. `ends` means that the body ends after
/// `left` bytes.
fn poll_send(
    send: &mut SendStream<Bytes>,
    context: &mut Context<'_>,
    bytes: &[u8],
    left: u64,
    ends: bool,
) -> Poll<io::Result<usize>> {
    let wanted = bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX));
    // h2 assigns window only to what was asked for. Without this, the capacity never comes.
    send.reserve_capacity(wanted);
    let capacity = loop {
        match send.capacity() {
            0 => match ready!(send.poll_capacity(context)) {
                // A wake-up is no promise: the capacity is asked for again.
                Some(Ok(_)) => {}
                Some(Err(error)) => return Poll::Ready(Err(io::Error::other(error))),
                None => return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
            },
            capacity => break capacity,
        }
    };
    let now = bytes.get(..wanted.min(capacity)).unwrap_or(bytes);
    // With the last bytes: an empty frame for the end alone would cost each response one more
    // frame.
    let end = ends && now.len() as u64 == left;
    send.send_data(Bytes::copy_from_slice(now), end).map_err(io::Error::other)?;
    Poll::Ready(Ok(now.len()))
}
