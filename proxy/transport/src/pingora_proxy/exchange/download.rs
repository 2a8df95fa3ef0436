//! The state of a response.

use std::io;

use crate::client::ClientStream;
use crate::outgoing_head::OutgoingHead;
use crate::relay::head::BodyDelimiter;
use crate::relay::write_buf::WriteBuf;

/// The response to the client.
pub(super) struct Download {
    /// The status, or 0 if the response has not started.
    pub(super) status: u16,
    /// The head for the client, until it is written, and the length of its body if it is known.
    pub(super) head: Option<(OutgoingHead, Option<u64>)>,
    pub(super) delimiter: BodyDelimiter,
    /// Whether the response announces that the connection is closed.
    pub(super) close: bool,
    pub(super) unsent: WriteBuf,
    /// Whether the client is awaited, and not the upstream.
    pub(super) is_blocked: bool,
    /// The number of bytes of the body that were received.
    pub(super) body_bytes: usize,
    /// Whether the client has the whole response.
    pub(super) is_over: bool,
}

impl Download {
    pub(super) fn new(close: bool) -> Self {
        Self {
            status: 0,
            head: None,
            delimiter: BodyDelimiter::AsStated(None),
            close,
            unsent: WriteBuf::default(),
            is_blocked: false,
            body_bytes: 0,
            is_over: false,
        }
    }

    /// Begins the response with its head, unless that was done.
    pub(super) fn begin(&mut self, client: &mut ClientStream) -> io::Result<()> {
        let Some((head, length)) = self.head.take() else { return Ok(()) };
        client.begin_response(head, length, &mut self.unsent.bytes)?;
        self.unsent.end_head();
        Ok(())
    }

    /// Returns the number of bytes of the body that were sent to the client.
    pub(super) fn sent_bytes(&self) -> usize {
        let is_chunked = self.delimiter == BodyDelimiter::Chunks;
        self.body_bytes.saturating_sub(self.unsent.unsent_body(is_chunked))
    }
}
