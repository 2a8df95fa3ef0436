//! The answer's way down.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::{Buf as _, BytesMut};
use tokio_util::io::poll_read_buf;

use super::{Broken, Exchange, READ_MUCH, Stage};
use crate::{
    http2::tools::Fault,
    phases::{answer, fail::Cause},
    relay::{
        framing::{self, Framing, LAST_CHUNK},
        head::{self, Answer, Told},
        outbox::Outbox,
    },
};

/// The answer on its way to the client.
pub(in crate::relay) struct Download {
    read: BytesMut,
    unsent: Outbox,
    /// Whether the client is who is waited for, and not the tool.
    blocked: bool,
    told: Told,
    pub(in crate::relay) answer: Option<Answer>,
    stage: Stage,
    client_is_old: bool,
    /// Whether the client is told that this answer is the connection's last.
    pub(in crate::relay) close: bool,
    /// Bytes of the body.
    pub(in crate::relay) passed: usize,
}

const READ: usize = 4 << 10;

impl Download {
    pub(in crate::relay) fn new(client_is_old: bool, close: bool) -> Self {
        Self {
            read: BytesMut::new(),
            unsent: Outbox::default(),
            blocked: false,
            told: Told::AsSaid(None),
            answer: None,
            stage: Stage::UnderWay,
            client_is_old,
            close,
            passed: 0,
        }
    }

    /// Whether the client can tell the end of its answer only by the end of the connection.
    pub(in crate::relay) fn is_told_by_close(&self) -> bool {
        self.told == Told::Close
    }

    /// Whether the tool's connection can serve another call: all of the answer was read and nothing else came.
    pub(in crate::relay) fn leaves_clean(&self) -> bool {
        self.stage == Stage::Over
            && self.read.is_empty()
            && self.answer.as_ref().is_some_and(|answer| answer.lasts)
    }
}

impl Exchange<'_> {
    pub(super) fn poll_down(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Broken>> {
        let polled = self.poll_down_either(context);
        let blocked = polled.is_pending() && self.down.unsent.is_stuck();
        if blocked && !self.down.blocked {
            self.client.wait_for_taking();
        } else if self.down.blocked && !blocked && polled.is_pending() {
            answer::goes_on(self.client, self.ctx);
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
            match self.take_answer() {
                Ok(true) => continue,
                Ok(false) => {}
                Err(broken) => return Poll::Ready(Err(broken)),
            }
            let much = self.down.answer.is_some();
            self.down.read.reserve(if much { READ_MUCH } else { READ });
            match ready!(poll_read_buf(Pin::new(&mut *self.tool), context, &mut self.down.read)) {
                Ok(0) if self.may_end_here() => self.end_down(),
                Ok(0) => return Poll::Ready(Err(self.tool_broke(Cause::Terminated))),
                Ok(_) => {}
                Err(error) => return Poll::Ready(Err(self.tool_failed(&error))),
            }
        }
    }

    /// Whether the end of the tool's connection is the end of its answer.
    fn may_end_here(&self) -> bool {
        self.down.answer.as_ref().is_some_and(|answer| answer.body == Framing::UntilClose)
    }

    fn tool_broke(&self, cause: Cause) -> Broken {
        Broken::Tool(cause, self.down.answer.is_some() || !self.down.read.is_empty())
    }

    /// What an error of reading from the tool says.
    fn tool_failed(&self, error: &io::Error) -> Broken {
        match Fault::behind(error) {
            None | Some(Fault::Lost) => self.tool_broke(Cause::Terminated),
            Some(Fault::Unprocessed) => Broken::Unprocessed,
            // The tool has said so: the connection is well.
            Some(Fault::Reset) => Broken::Tool(Cause::Terminated, true),
            Some(Fault::Malformed) => Broken::Tool(Cause::Malformed, true),
        }
    }

    /// Moves what was read of the answer to what is to be written; whether there is something to do now.
    fn take_answer(&mut self) -> Result<bool, Broken> {
        if self.down.answer.is_none() && (!self.take_head()? || self.down.stage == Stage::Over) {
            return Ok(self.down.stage == Stage::Over);
        }
        let Some(answer) = &mut self.down.answer else { return Ok(true) };
        let begun = !self.down.unsent.bytes.is_empty();
        let part = match answer.body.take(&self.down.read) {
            Ok(part) => part,
            Err(framing::Broken) => return Err(self.tool_broke(Cause::Malformed)),
        };
        let over = answer.body.is_over();
        self.down.read.advance(part.skip);
        let data = self.down.read.get(..part.data).unwrap_or_default();
        match self.down.told {
            Told::Chunks => framing::write_chunk(&mut self.down.unsent.bytes, data),
            Told::AsSaid(_) | Told::Close => self.down.unsent.bytes.extend_from_slice(data),
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
        let Download { read, unsent, client_is_old, close, told, .. } = &mut self.down;
        // An answer before the end of the body leaves a rest that nobody will read.
        let last = self.up.stage != Stage::Over || self.state.drain.has_begun();
        let (state, client, ctx) = (self.state, &*self.client, &mut *self.ctx);
        let found = head::read_answer(read, &mut unsent.bytes, |out, answer, response, nominated| {
            *told = answer.told(*client_is_old);
            *close |= last || *told == Told::Close;
            answer::begun(state, client, ctx, answer.status);
            head::write_answer(out, response, nominated, *told, *close, ctx, state.direct.is_some());
        });
        let answer = match found {
            Ok(Some(answer)) => answer,
            Ok(None) => return Ok(false),
            Err(cause) => return Err(self.tool_broke(cause)),
        };
        self.down.read.advance(answer.length);
        if answer.status >= 200 {
            let over = answer.body.is_over();
            self.down.answer = Some(answer);
            if over {
                self.end_down();
            }
        }
        Ok(true)
    }

    fn end_down(&mut self) {
        if self.down.told == Told::Chunks {
            self.down.unsent.bytes.extend_from_slice(LAST_CHUNK);
        }
        self.down.stage = Stage::Over;
    }
}
