//! The request's way up.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::{Buf as _, BytesMut};
use tokio_util::io::poll_read_buf;

use super::{Broken, Exchange, READ_MUCH, Stage};
use crate::{
    hooks::Phases,
    relay::{
        framing::{self, Framing, LAST_CHUNK},
        write_buf::WriteBuf,
    },
};

/// The request on its way to the tool.
pub(crate) struct Upload {
    body: Framing,
    chunked: bool,
    /// What was read and not looked at.
    read: BytesMut,
    unsent: WriteBuf,
    /// Whether the tool is who is waited for, and not the client.
    blocked: bool,
    /// What was sent of the body, if it may have to be sent again.
    pub(in crate::relay) again: Option<Vec<u8>>,
    pub(super) stage: Stage,
}

/// A body of this length is kept to be sent again: that of a GET, or of any request that a tool may refuse unread.
const MAX_AGAIN: usize = 64 << 10;

impl Upload {
    /// A request whose head is to be written: one that was begun before, or a new one with its body and what came of it.
    pub(in crate::relay) fn begin(
        head: Vec<u8>,
        before: Option<Self>,
        new: impl FnOnce() -> (Framing, Vec<u8>),
    ) -> Self {
        let mut upload = before.unwrap_or_else(|| {
            let (body, come) = new();
            Self {
                body,
                chunked: matches!(body, Framing::Chunked(_)),
                read: BytesMut::from(come.as_slice()),
                unsent: WriteBuf::default(),
                blocked: false,
                again: Some(Vec::new()),
                stage: Stage::InFlight,
            }
        });
        (upload.unsent, upload.blocked, upload.stage) = (WriteBuf::new(head), false, Stage::InFlight);
        let again = upload.again.as_deref().unwrap_or_default();
        if upload.chunked {
            framing::write_chunk(&mut upload.unsent.bytes, again);
            if upload.body.is_over() {
                upload.unsent.bytes.extend_from_slice(LAST_CHUNK);
            }
        } else {
            upload.unsent.bytes.extend_from_slice(again);
        }
        upload
    }

    /// Whether the whole body was read.
    pub(in crate::relay) const fn is_read(&self) -> bool {
        self.body.is_over()
    }

    /// Returns what was read beyond the body's end.
    pub(in crate::relay) fn leftover(&self) -> &[u8] {
        if self.body.is_over() { &self.read } else { &[] }
    }

    /// Whether the whole request was sent.
    pub(in crate::relay) fn is_over(&self) -> bool {
        self.stage == Stage::Over
    }
}

impl<P: Phases> Exchange<'_, P> {
    pub(super) fn poll_up(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Broken>> {
        let polled = self.poll_up_either(context);
        let blocked = polled.is_pending() && self.up.unsent.is_stuck();
        let moved = self.up.unsent.has_moved();
        if blocked && (moved || !self.up.blocked) {
            self.arm_upstream();
        } else if self.up.blocked && !blocked && polled.is_pending() {
            self.arm_upload();
        }
        self.up.blocked = blocked;
        polled
    }

    /// Writes and reads in turn, as far as the tool takes and the client gives.
    fn poll_up_either(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Broken>> {
        loop {
            if ready!(self.up.unsent.poll_empty(self.upstream, context)).is_err() {
                // The tool may have answered before it closed: what comes down will tell.
                return self.end_up(Stage::GivenUp);
            }
            if self.up.body.is_over() {
                self.request_sent();
                return self.end_up(Stage::Over);
            }
            self.up.read.reserve(READ_MUCH);
            match ready!(poll_read_buf(Pin::new(&mut *self.client), context, &mut self.up.read)) {
                Ok(0) | Err(_) => return Poll::Ready(Err(self.client_broke())),
                Ok(read) => self.deadline.record_received(read),
            }
            if let Err(broken) = self.take_body() {
                return Poll::Ready(Err(broken));
            }
        }
    }

    fn end_up(&mut self, stage: Stage) -> Poll<Result<(), Broken>> {
        if stage == Stage::GivenUp {
            self.arm_upstream();
        }
        self.up.stage = stage;
        Poll::Ready(Ok(()))
    }

    /// Moves what was read of the body to what is to be written.
    pub(super) fn take_body(&mut self) -> Result<(), Broken> {
        let up = &mut self.up;
        let was_over = up.body.is_over();
        let is_replayable = self.shared || self.is_idempotent;
        loop {
            let part = up.body.take(&up.read).map_err(|_| Broken::ClientMalformed)?;
            up.read.advance(part.skip);
            let data = up.read.get(..part.data).unwrap_or_default();
            if data.is_empty() {
                break;
            }
            self.record.received = self.record.received.saturating_add(data.len() as u64);
            let filtered = self.phases.request_body_filter(self.call, self.record.received);
            filtered.map_err(Broken::BodyRefused)?;
            match &mut up.again {
                Some(again) if is_replayable && again.len() + data.len() <= MAX_AGAIN => {
                    again.extend_from_slice(data)
                }
                again => *again = None,
            }
            if up.chunked {
                framing::write_chunk(&mut up.unsent.bytes, data);
            } else {
                up.unsent.bytes.extend_from_slice(data);
            }
            up.read.advance(part.data);
        }
        if up.chunked && up.body.is_over() && !was_over {
            up.unsent.bytes.extend_from_slice(LAST_CHUNK);
        }
        Ok(())
    }
}
