//! The answer's way down.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Instant,
};

use bytes::{Buf as _, BytesMut};
use tokio_util::io::poll_read_buf;

use super::{Broken, Exchange, READ_MUCH, Stage};
use crate::{
    hooks::{Cause, Phases},
    http2::tools::Fault,
    relay::{
        framing::{self, Framing, LAST_CHUNK},
        head::{self, BodyDelimiter, ResponseHead},
        write_buf::WriteBuf,
    },
};

/// The answer on its way to the client.
pub(in crate::relay) struct Download {
    read: BytesMut,
    unsent: WriteBuf,
    /// Whether the client is who is waited for, and not the tool.
    blocked: bool,
    delimiter: BodyDelimiter,
    pub(in crate::relay) head: Option<ResponseHead>,
    stage: Stage,
    is_http10: bool,
    /// Whether the client is told that this answer is the connection's last.
    pub(in crate::relay) close: bool,
    /// Bytes of the body.
    pub(in crate::relay) passed: usize,
}

const READ: usize = 4 << 10;

impl Download {
    pub(in crate::relay) fn new(is_http10: bool, close: bool) -> Self {
        Self {
            read: BytesMut::new(),
            unsent: WriteBuf::default(),
            blocked: false,
            delimiter: BodyDelimiter::AsStated(None),
            head: None,
            stage: Stage::InFlight,
            is_http10,
            close,
            passed: 0,
        }
    }

    /// Whether the client can tell the end of its answer only by the end of the connection.
    pub(in crate::relay) fn is_delimited_by_close(&self) -> bool {
        self.delimiter == BodyDelimiter::Close
    }

    /// Whether the tool's connection can serve another call: all of the answer was read and nothing else came.
    pub(in crate::relay) fn leaves_clean(&self) -> bool {
        self.stage == Stage::Over
            && self.read.is_empty()
            && self.head.as_ref().is_some_and(|head| head.keep_alive)
    }
}

impl<P: Phases> Exchange<'_, P> {
    pub(super) fn poll_down(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Broken>> {
        let polled = self.poll_down_either(context);
        if self.down.unsent.has_moved() {
            self.deadline.record_sent();
        }
        let blocked = polled.is_pending() && self.down.unsent.is_stuck();
        if blocked && !self.down.blocked {
            self.arm_download();
        } else if self.down.blocked && !blocked && polled.is_pending() {
            self.arm_pause();
        }
        self.down.blocked = blocked;
        polled
    }

    /// Writes and reads in turn, as far as the client takes and the tool gives.
    fn poll_down_either(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Broken>> {
        loop {
            match ready!(self.down.unsent.poll_empty(self.client, context)) {
                Ok(()) if self.down.stage == Stage::Over => return Poll::Ready(Ok(())),
                Ok(()) => {}
                Err(_) => return Poll::Ready(Err(Broken::ClientLeft)),
            }
            match self.take_response() {
                Ok(true) => continue,
                Ok(false) => {}
                Err(broken) => return Poll::Ready(Err(broken)),
            }
            let much = self.down.head.is_some();
            self.down.read.reserve(if much { READ_MUCH } else { READ });
            match ready!(poll_read_buf(Pin::new(&mut *self.upstream), context, &mut self.down.read)) {
                Ok(0) if self.may_end_here() => self.end_down(),
                Ok(0) => return Poll::Ready(Err(self.upstream_broke(Cause::Terminated))),
                Ok(_) => {}
                Err(error) => return Poll::Ready(Err(self.upstream_failed(&error))),
            }
        }
    }

    /// Whether the end of the tool's connection is the end of its answer.
    fn may_end_here(&self) -> bool {
        self.down.head.as_ref().is_some_and(|head| head.body == Framing::UntilClose)
    }

    fn upstream_broke(&self, cause: Cause) -> Broken {
        Broken::Upstream(cause, self.down.head.is_some() || !self.down.read.is_empty())
    }

    /// What an error of reading from the tool says.
    fn upstream_failed(&self, error: &io::Error) -> Broken {
        match Fault::behind(error) {
            None | Some(Fault::Lost) => self.upstream_broke(Cause::Terminated),
            Some(Fault::Unprocessed) => Broken::Unprocessed,
            // The tool has said so: the connection is well.
            Some(Fault::Reset) => Broken::Upstream(Cause::Terminated, true),
            Some(Fault::Malformed) => Broken::Upstream(Cause::Malformed, true),
        }
    }

    /// Moves received bytes of the response into the write buffer. Returns true if there is progress to make without
    /// waiting.
    fn take_response(&mut self) -> Result<bool, Broken> {
        if self.down.head.is_none() && (!self.take_head()? || self.down.stage == Stage::Over) {
            return Ok(self.down.stage == Stage::Over);
        }
        let Some(head) = &mut self.down.head else { return Ok(true) };
        let begun = !self.down.unsent.bytes.is_empty();
        let part = match head.body.take(&self.down.read) {
            Ok(part) => part,
            Err(framing::Broken) => return Err(self.upstream_broke(Cause::Malformed)),
        };
        let over = head.body.is_over();
        self.down.read.advance(part.skip);
        let data = self.down.read.get(..part.data).unwrap_or_default();
        match self.down.delimiter {
            BodyDelimiter::Chunks => framing::write_chunk(&mut self.down.unsent.bytes, data),
            BodyDelimiter::AsStated(_) | BodyDelimiter::Close => {
                self.down.unsent.bytes.extend_from_slice(data)
            }
        }
        self.down.read.advance(part.data);
        self.down.passed += part.data;
        if over {
            self.end_down();
        }
        Ok(begun || over || part.data > 0)
    }

    fn take_head(&mut self) -> Result<bool, Broken> {
        if self.down.read.is_empty() {
            return Ok(false);
        }
        let Download { read, unsent, is_http10, close, delimiter, .. } = &mut self.down;
        // A response before the end of the body leaves a rest that is not read.
        let last = self.up.stage != Stage::Over || self.phases.drain().has_begun();
        let Self { phases, call, record, client, timeouts, deadline, .. } = self;
        let found = head::read_response(read, &mut unsent.bytes, |out, head, response| {
            *delimiter = head.delimiter(*is_http10);
            *close |= last || *delimiter == BodyDelimiter::Close;
            record.responded_at = Some(Instant::now());
            deadline.arm_pause(client, timeouts.pause);
            let lines = || response.headers.iter().map(|line| (line.name, line.value));
            let status_line = (head.status, response.reason.unwrap_or_default());
            head::write_response(out, status_line, lines, (*delimiter, *close), |head_lines| {
                phases.upstream_response_filter(call, record, head.status, head_lines);
            });
        });
        let head = match found {
            Ok(Some(head)) => head,
            Ok(None) => return Ok(false),
            Err(cause) => return Err(self.upstream_broke(cause)),
        };
        self.down.read.advance(head.length);
        if head.status >= 200 {
            let over = head.body.is_over();
            self.down.head = Some(head);
            if over {
                self.end_down();
            }
        }
        Ok(true)
    }

    fn end_down(&mut self) {
        if self.down.delimiter == BodyDelimiter::Chunks {
            self.down.unsent.bytes.extend_from_slice(LAST_CHUNK);
        }
        self.down.stage = Stage::Over;
    }
}
