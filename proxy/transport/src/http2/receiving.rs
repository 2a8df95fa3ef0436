//! Reads an HTTP/2 message as HTTP/1.1.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use h2::RecvStream;
use tokio::io::ReadBuf;

/// A message that is received as HTTP/2 and read as HTTP/1.1.
#[derive(Debug)]
pub(super) struct Receiving {
    body: RecvStream,
    framing: Framing,
    /// The bytes that can be read without waiting.
    pieces: VecDeque<Bytes>,
}

/// The framing of the body in HTTP/1.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// A content length, of which so many bytes are left. h2 enforces it.
    Length(u64),
    /// Chunks.
    Chunks,
    /// None: the body is complete.
    Over,
}

impl Receiving {
    /// Returns the body of a message whose head is read separately.
    pub(super) fn body(body: RecvStream, framing: Framing) -> Self {
        Self { body, framing, pieces: VecDeque::new() }
    }

    /// Returns true if the message was read completely.
    pub(super) fn is_over(&self) -> bool {
        self.framing == Framing::Over && self.pieces.is_empty()
    }

    /// Reads some bytes, or none at the end of the message.
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
            // Written as a chunk, an empty DATA frame would be the last one and cut the body.
            Some(data) if data.is_empty() => {}
            Some(data) => {
                // The bytes are forwarded, so the peer may send as many again.
                self.body.flow_control().release_capacity(data.len())?;
                if let Framing::Length(left) = &mut self.framing {
                    // h2 has checked the length already, so this only finds the end.
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
