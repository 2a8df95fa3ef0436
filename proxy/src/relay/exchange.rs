//! One call over two connections: the body goes up and the answer comes down at once, each as fast as its reader takes
//! it, and neither is ever held whole.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::{Buf as _, BytesMut};
use pingora_core::protocols::Stream;
use tokio_util::io::poll_read_buf;

use super::{
    framing::{self, Framing, LAST_CHUNK},
    head::{self, Answer, Told},
    outbox::Outbox,
};
use crate::{
    client::{Awaited, ClientStream},
    ctx::RequestCtx,
    http2::tools::Fault,
    metrics::Bound,
    phases::{
        answer,
        body::{self, TooMuch},
        fail::{self, Cause},
    },
    state::State,
};

/// A call under way.
pub(super) struct Exchange<'a> {
    pub(super) state: &'a State,
    pub(super) ctx: &'a mut RequestCtx,
    pub(super) client: &'a mut ClientStream,
    pub(super) tool: &'a mut Stream,
    /// Whether the tool may tell that it has not looked at the request, which can then be sent again.
    pub(super) shared: bool,
    pub(super) up: Upload,
    pub(super) down: Download,
}

/// The request on its way to the tool.
pub(super) struct Upload {
    body: Framing,
    chunked: bool,
    /// What was read and not looked at.
    read: BytesMut,
    unsent: Outbox,
    /// Whether the tool is who is waited for, and not the client.
    blocked: bool,
    /// What was sent of the body, if it may have to be sent again.
    pub(super) again: Option<Vec<u8>>,
    stage: Stage,
}

/// The answer on its way to the client.
pub(super) struct Download {
    read: BytesMut,
    unsent: Outbox,
    /// Whether the client is who is waited for, and not the tool.
    blocked: bool,
    told: Told,
    pub(super) answer: Option<Answer>,
    stage: Stage,
    client_is_old: bool,
    /// Whether the client is told that this answer is the connection's last.
    pub(super) close: bool,
    /// Bytes of the body.
    pub(super) passed: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    UnderWay,
    Over,
    /// The other end takes no more.
    GivenUp,
}

/// How a call broke off.
#[derive(Debug)]
pub(super) enum Broken {
    /// The client has left.
    ClientLeft,
    /// The client's body is framed so that it cannot be read.
    ClientMalformed,
    /// The client's body is longer than it may be.
    TooLarge,
    /// Somebody was waited for too long.
    Overdue(Awaited),
    /// The tool failed; whether anything had come from it.
    Tool(Cause, bool),
    /// The tool has not looked at the request, and says so.
    Unprocessed,
}

const READ: usize = 4 << 10;
/// Of a body that goes on, more is read at once.
const READ_MUCH: usize = 64 << 10;
/// A body of this length is kept to be sent again: that of a GET, or of any request that a tool may refuse unread.
const MAX_AGAIN: usize = 64 << 10;

impl Upload {
    /// A request whose head is to be written: one that was begun before, or a new one with its body and what came of it.
    pub(super) fn begin(
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
                unsent: Outbox::default(),
                blocked: false,
                again: Some(Vec::new()),
                stage: Stage::UnderWay,
            }
        });
        (upload.unsent, upload.blocked, upload.stage) = (Outbox::new(head), false, Stage::UnderWay);
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
    pub(super) const fn is_read(&self) -> bool {
        self.body.is_over()
    }

    /// What was read beyond the body's end.
    pub(super) fn beyond(&self) -> &[u8] {
        if self.body.is_over() { &self.read } else { &[] }
    }

    /// Whether the whole request was sent.
    pub(super) fn is_over(&self) -> bool {
        self.stage == Stage::Over
    }
}

impl Download {
    pub(super) fn new(client_is_old: bool, close: bool) -> Self {
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
    pub(super) fn is_told_by_close(&self) -> bool {
        self.told == Told::Close
    }

    /// Whether the tool's connection can serve another call: all of the answer was read and nothing else came.
    pub(super) fn leaves_clean(&self) -> bool {
        self.stage == Stage::Over
            && self.read.is_empty()
            && self.answer.as_ref().is_some_and(|answer| answer.lasts)
    }
}

impl Exchange<'_> {
    /// Carries the call out, until the client has the whole answer.
    pub(super) async fn run(&mut self) -> Result<(), Broken> {
        // What has come of the body goes out together with the head.
        self.take_body()?;
        std::future::poll_fn(|context| self.poll(context)).await
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Broken>> {
        if self.up.stage == Stage::UnderWay
            && let Poll::Ready(Err(broken)) = self.poll_up(context)
        {
            return Poll::Ready(Err(broken));
        }
        if let Poll::Ready(ended) = self.poll_down(context) {
            return Poll::Ready(ended);
        }
        // While the body comes, whoever reads it notices when the client leaves.
        let left = match self.up.stage {
            Stage::UnderWay => self.client.poll_overdue(context),
            Stage::Over | Stage::GivenUp => self.client.poll_left(context),
        };
        if left.is_ready() && body::has_to_wait_on(self.client, self.ctx) {
            self.state.metrics.hit(Bound::RetryPercent);
            return self.client.poll_overdue(context).map(|_| Err(self.client_broke()));
        }
        left.map(|_| Err(self.client_broke()))
    }

    fn client_broke(&self) -> Broken {
        self.client.overdue().map_or(Broken::ClientLeft, Broken::Overdue)
    }

    fn poll_up(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Broken>> {
        let polled = self.poll_up_either(context);
        let blocked = polled.is_pending() && self.up.unsent.is_stuck();
        let moved = self.up.unsent.has_moved();
        if blocked && (moved || !self.up.blocked) {
            body::wait_for_tool(self.client, self.ctx);
        } else if self.up.blocked && !blocked && polled.is_pending() {
            body::wait_for_client(self.client, self.ctx);
        }
        self.up.blocked = blocked;
        polled
    }

    /// Writes and reads in turn, as far as the tool takes and the client gives.
    fn poll_up_either(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Broken>> {
        loop {
            if ready!(self.up.unsent.poll_empty(self.tool, context)).is_err() {
                // The tool may have answered before it closed: what comes down will tell.
                return self.end_up(Stage::GivenUp);
            }
            if self.up.body.is_over() {
                body::complete(self.client, self.ctx, self.up.again.is_some());
                return self.end_up(Stage::Over);
            }
            self.up.read.reserve(READ_MUCH);
            match ready!(poll_read_buf(Pin::new(&mut *self.client), context, &mut self.up.read)) {
                Ok(0) | Err(_) => return Poll::Ready(Err(self.client_broke())),
                Ok(_) => {}
            }
            if let Err(broken) = self.take_body() {
                return Poll::Ready(Err(broken));
            }
        }
    }

    fn end_up(&mut self, stage: Stage) -> Poll<Result<(), Broken>> {
        if stage == Stage::GivenUp {
            body::wait_for_tool(self.client, self.ctx);
        }
        self.up.stage = stage;
        Poll::Ready(Ok(()))
    }

    /// Moves what was read of the body to what is to be written.
    fn take_body(&mut self) -> Result<(), Broken> {
        let up = &mut self.up;
        let was_over = up.body.is_over();
        let repeatable = self.shared || self.ctx.call.as_ref().is_some_and(fail::may_be_sent_again);
        loop {
            let part = up.body.take(&up.read).map_err(|_| Broken::ClientMalformed)?;
            up.read.advance(part.skip);
            let data = up.read.get(..part.data).unwrap_or_default();
            if data.is_empty() {
                break;
            }
            body::count(self.ctx, data.len()).map_err(|TooMuch| Broken::TooLarge)?;
            match &mut up.again {
                Some(again) if repeatable && again.len() + data.len() <= MAX_AGAIN => {
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

    fn poll_down(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Broken>> {
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
