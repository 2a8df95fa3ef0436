//! Reads the body of a request.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use h2::RecvStream;
use tokio::io::ReadBuf;

/// A body that is received. h2 compares it with its stated length.
#[derive(Debug)]
pub(super) struct Receiving {
    body: RecvStream,
    has_ended: bool,
    /// The bytes that can be read without waiting.
    piece: Bytes,
}

impl Receiving {
    pub(super) fn new(body: RecvStream) -> Self {
        Self { has_ended: body.is_end_stream(), body, piece: Bytes::new() }
    }

    /// Returns true if the body has ended and all of it was read.
    pub(super) fn is_over(&self) -> bool {
        self.has_ended && self.piece.is_empty()
    }

    /// Reads some bytes, or none at the end of the body.
    pub(super) fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<(), h2::Error>> {
        while !self.is_over() {
            if self.piece.is_empty() {
                ready!(self.poll_more(context))?;
            }
            let now = self.piece.len().min(buffer.remaining());
            buffer.put_slice(&self.piece.split_to(now));
            if now > 0 || buffer.remaining() == 0 {
                break;
            }
        }
        Poll::Ready(Ok(()))
    }

    fn poll_more(&mut self, context: &mut Context<'_>) -> Poll<Result<(), h2::Error>> {
        match ready!(Pin::new(&mut self.body).poll_data(context)).transpose()? {
            Some(data) => {
                // The bytes are forwarded, so the peer may send as many again.
                self.body.flow_control().release_capacity(data.len())?;
                self.piece = data;
            }
            None => self.has_ended = true,
        }
        Poll::Ready(Ok(()))
    }
}
