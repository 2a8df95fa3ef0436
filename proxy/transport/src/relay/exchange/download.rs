//! The response that is sent to a client.

use bytes::BytesMut;

use super::unsent::Unsent;
use crate::relay::head::{BodyDelimiter, ResponseHead};

/// A response that is sent to a client.
pub(crate) struct Download {
    pub(super) read: BytesMut,
    pub(super) unsent: Unsent,
    /// Whether the client is awaited, and not the upstream.
    pub(super) is_blocked: bool,
    pub(super) delimiter: BodyDelimiter,
    /// The head of the final response, once it was received.
    pub(crate) head: Option<ResponseHead>,
    /// Whether the whole response was received. The end of it may be unsent.
    pub(super) is_received: bool,
    pub(super) is_http10: bool,
    /// Whether the connection of the client is closed after the response.
    pub(crate) close: bool,
    /// The number of bytes of the body that were received.
    pub(super) body_bytes: usize,
}

impl Download {
    pub(crate) fn new(is_http10: bool, close: bool) -> Self {
        Self {
            read: BytesMut::new(),
            unsent: Unsent::default(),
            is_blocked: false,
            delimiter: BodyDelimiter::AsStated(None),
            head: None,
            is_received: false,
            is_http10,
            close,
            body_bytes: 0,
        }
    }

    /// Returns the status of the response, or 0 if it has not started.
    pub(crate) fn status(&self) -> u16 {
        self.head.as_ref().map_or(0, |head| head.status)
    }

    /// Returns the number of bytes of the body that were sent to the client.
    pub(crate) fn sent_bytes(&self) -> usize {
        let is_chunked = self.delimiter == BodyDelimiter::Chunks;
        self.body_bytes.saturating_sub(self.unsent.body_bytes(is_chunked))
    }

    /// Returns true if only the end of the connection delimits the response for the client.
    pub(crate) fn is_delimited_by_close(&self) -> bool {
        self.delimiter == BodyDelimiter::Close
    }

    /// Returns true if the connection of the upstream can serve another call: the response is
    /// complete and nothing follows it.
    pub(crate) fn can_reuse_connection(&self) -> bool {
        // Bytes after a response would be taken for the next one, which is for another client.
        self.is_received && self.read.is_empty() && self.head.as_ref().is_some_and(|head| head.keep_alive)
    }
}
