//! The request that is sent to an upstream.

use bytes::{Bytes, BytesMut};

use super::unsent::{AllSent, Unsent};
use crate::framing::{self, Framing, LAST_CHUNK};

/// A request that is sent to an upstream.
pub(crate) struct Upload {
    pub(super) body: Framing,
    pub(super) is_chunked: bool,
    /// The bytes that were read from the client and not parsed yet.
    pub(super) read: BytesMut,
    pub(super) unsent: Unsent,
    /// Whether the upstream is awaited, and not the client.
    pub(super) is_blocked: bool,
    /// The part of the body that was sent, or `None` if it cannot be sent again.
    pub(crate) replay: Option<Vec<u8>>,
    pub(super) stage: UploadStage,
}

/// The stage of an upload.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum UploadStage {
    /// The request is being sent.
    InFlight,
    /// The whole request was sent.
    Complete(AllSent),
    /// The upstream does not receive the rest.
    Aborted,
}

impl Upload {
    /// Starts to send a request with this head. The body is that of an `earlier` attempt, or else a
    /// new one, which `new` returns with its buffered bytes.
    pub(crate) fn begin(
        head: Vec<u8>,
        earlier: Option<Self>,
        new: impl FnOnce() -> (Framing, Vec<u8>),
    ) -> Self {
        let mut upload = earlier.unwrap_or_else(|| {
            let (body, buffered) = new();
            Self {
                body,
                is_chunked: body.is_chunked(),
                // Through `Bytes`, which takes the memory of a vector. `BytesMut` would copy it.
                read: BytesMut::from(Bytes::from(buffered)),
                unsent: Unsent::default(),
                is_blocked: false,
                replay: Some(Vec::new()),
                stage: UploadStage::InFlight,
            }
        });
        (upload.unsent, upload.is_blocked, upload.stage) = (Unsent::new(head), false, UploadStage::InFlight);
        let replay = upload.replay.as_deref().unwrap_or_default();
        if upload.is_chunked {
            framing::write_chunk(&mut upload.unsent.buffer.bytes, replay);
            // Only if the whole body was read. Otherwise the rest follows the replayed part.
            if upload.body.is_over() {
                upload.unsent.buffer.bytes.extend_from_slice(LAST_CHUNK);
            }
        } else {
            upload.unsent.buffer.bytes.extend_from_slice(replay);
        }
        upload
    }

    /// Ends a body that its stream delimits. Returns false for any other.
    pub(super) fn end(&mut self) -> bool {
        let has_ended = !self.body.is_over() && self.body.end();
        if has_ended {
            self.unsent.buffer.bytes.extend_from_slice(LAST_CHUNK);
        }
        has_ended
    }

    /// Returns true if the whole body was read.
    pub(crate) const fn is_read(&self) -> bool {
        self.body.is_over()
    }

    /// Returns the bytes that were read beyond the end of the body.
    pub(crate) fn leftover(&self) -> &[u8] {
        if self.body.is_over() { &self.read } else { &[] }
    }

    /// Returns true if the whole request was sent.
    pub(crate) fn is_complete(&self) -> bool {
        matches!(self.stage, UploadStage::Complete(_))
    }

    /// Returns true if the request is being sent.
    pub(super) fn is_in_flight(&self) -> bool {
        self.stage == UploadStage::InFlight
    }
}
