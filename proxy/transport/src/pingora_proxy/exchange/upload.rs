//! The state of a request's body.

use bytes::{Buf as _, Bytes, BytesMut};

use crate::framing::{Framing, FramingError};

/// The body of a request.
pub(crate) struct Upload {
    pub(super) body: Framing,
    /// Whether the bytes that the connection had buffered were taken.
    pub(super) is_begun: bool,
    /// Bytes of the body that were read.
    pub(super) received: u64,
    /// The bytes that were read and not parsed yet.
    pub(super) read: BytesMut,
    /// The part of the body that was read, or `None` if it cannot be sent again.
    pub(super) kept: Option<BytesMut>,
    /// The part that this attempt sends again first.
    pub(super) replay: Option<Bytes>,
    /// Bytes of the body that were sent in this attempt.
    pub(super) sent: u64,
    /// Whether the client is awaited, and not the upstream.
    pub(super) is_awaited: bool,
}

impl Upload {
    pub(super) fn new(body: Framing) -> Self {
        Self {
            body,
            is_begun: false,
            received: 0,
            read: BytesMut::new(),
            kept: Some(BytesMut::new()),
            replay: None,
            sent: 0,
            is_awaited: false,
        }
    }

    /// Returns the bytes that were read beyond the end of the body.
    pub(super) fn leftover(&self) -> &[u8] {
        // Before the end of the body, the rest is part of it and not the next request.
        if self.body.is_over() { &self.read } else { &[] }
    }

    /// Starts the body of an attempt.
    pub(super) fn begin(&mut self) {
        self.sent = 0;
        self.replay = self.kept.as_ref().filter(|kept| !kept.is_empty()).map(|kept| kept.clone().freeze());
    }

    /// Returns true if the whole body was handed to Pingora.
    pub(super) const fn is_over(&self) -> bool {
        self.body.is_over() && self.replay.is_none()
    }

    /// Returns true if the request has no body.
    pub(crate) const fn is_empty(&self) -> bool {
        self.body.is_over() && self.received == 0
    }

    /// Returns true if all that was read of the body can be sent again.
    pub(super) const fn is_replayable(&self) -> bool {
        self.kept.is_some()
    }

    /// Parses the bytes that were read. Returns nothing if more are needed, or the body is over.
    pub(super) fn take(&mut self) -> Result<BytesMut, FramingError> {
        let mut whole = BytesMut::new();
        loop {
            let part = self.body.take(&self.read)?;
            self.read.advance(part.skip);
            if part.data == 0 {
                return Ok(whole);
            }
            let data = self.read.split_to(part.data);
            if whole.is_empty() {
                whole = data;
            } else {
                whole.extend_from_slice(&data);
            }
        }
    }
}
