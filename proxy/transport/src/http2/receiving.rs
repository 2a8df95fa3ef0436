//! A message that comes in HTTP/2 and is read in HTTP/1.1.

use std::{
    collections::VecDeque,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::{Buf, Bytes};
use h2::RecvStream;
use tokio::io::ReadBuf;

/// The message as it is read: its head, then its body.
#[derive(Debug)]
pub(super) struct Receiving {
    body: RecvStream,
    framing: Framing,
    /// What can be read at once.
    pieces: VecDeque<Bytes>,
}

/// How the body's end is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// By its length, which was stated and the library holds the other end to: so many bytes are to come.
    Length(u64),
    /// By its chunks.
    Chunks,
    /// All of it has come, if there was one.
    Over,
}

impl Receiving {
    /// A message with this head.
    pub(super) fn new(head: Vec<u8>, body: RecvStream, framing: Framing) -> Self {
        Self { body, framing, pieces: VecDeque::from([Bytes::from(head)]) }
    }

    /// The body of a message whose head is held elsewhere.
    pub(super) fn body(body: RecvStream, framing: Framing) -> Self {
        Self { body, framing, pieces: VecDeque::new() }
    }

    /// Whether nothing more is to be read.
    pub(super) fn is_over(&self) -> bool {
        self.framing == Framing::Over && self.pieces.is_empty()
    }

    /// Whether all of it was read save its end, which says nothing new.
    pub(super) fn lacks_only_its_end(&self) -> bool {
        self.framing == Framing::Length(0) && self.pieces.is_empty()
    }

    /// Reads some bytes, or none when it turns out that there are no more; it breaks off when that fails.
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

    /// Waits for the end of what was read whole.
    pub(super) fn poll_end(&mut self, context: &mut Context<'_>) -> Poll<()> {
        while self.framing != Framing::Over {
            if ready!(self.poll_more(context)).is_err() {
                break;
            }
        }
        Poll::Ready(())
    }

    fn poll_more(&mut self, context: &mut Context<'_>) -> Poll<Result<(), h2::Error>> {
        let chunks = self.framing == Framing::Chunks;
        match ready!(Pin::new(&mut self.body).poll_data(context)).transpose()? {
            Some(data) if data.is_empty() => {}
            Some(data) => {
                // It is on its way further: the other end may send as much again.
                self.body.flow_control().release_capacity(data.len())?;
                if let Framing::Length(left) = &mut self.framing {
                    *left = left.saturating_sub(data.len() as u64);
                }
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
