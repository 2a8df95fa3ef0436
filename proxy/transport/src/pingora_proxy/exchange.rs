//! A request on its way through Pingora: what its phases and the client's session share.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Instant,
};

use bytes::{Buf as _, Bytes, BytesMut};
use parking_lot::Mutex;
use pingora_core::protocols::http::HttpTask;
use pingora_http::ResponseHeader;
use shared::problem::{Code, Problem};
use tokio_util::io::poll_read_buf;

use super::head;
use crate::{
    client::ClientStream,
    drain::InFlightGuard,
    framing::{self, Framing, LAST_CHUNK},
    hooks::{Attempt, Cause, Event, Limit, Phases, Timeouts},
    record::Record,
    relay::{
        exchange::ExchangeError,
        head::{BodyDelimiter, MAX_LINES, ResponseHead},
        outcome::{Next, Outcome},
        request::RequestFraming,
        respond::refuse,
        retry::{Recovery, record_late_failure, recover, was_processed},
        write_buf::WriteBuf,
    },
    response_deadline::{ResponseDeadline, ResponseTimeout},
};

/// How much of a body is read at once.
const READ_MUCH: usize = 64 << 10;
/// A body of this length is kept to be sent again.
const MAX_AGAIN: usize = 64 << 10;

/// The exchange, or nothing while a phase that waits has it to itself.
pub(super) struct Shared<P: Phases>(Arc<Mutex<Option<Box<Exchange<P>>>>>);

impl<P: Phases> Clone for Shared<P> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<P: Phases> Shared<P> {
    pub(super) fn new(exchange: Exchange<P>) -> Self {
        Self(Arc::new(Mutex::new(Some(Box::new(exchange)))))
    }

    /// Calls `f` with the exchange. Returns `None` if a phase has it.
    pub(super) fn with<R>(&self, f: impl FnOnce(&mut Exchange<P>) -> R) -> Option<R> {
        self.0.lock().as_deref_mut().map(f)
    }

    /// Takes the exchange.
    pub(super) fn take(&self) -> Option<Box<Exchange<P>>> {
        self.0.lock().take()
    }

    /// Returns an exchange that was taken.
    pub(super) fn put(&self, exchange: Box<Exchange<P>>) {
        *self.0.lock() = Some(exchange);
    }
}

/// A request, from its head to its log line.
pub(super) struct Exchange<P: Phases> {
    pub(super) phases: P,
    pub(super) client: Box<ClientStream>,
    pub(super) record: Record<P::Log>,
    /// Whether the connection must serve no other request.
    pub(super) is_last: bool,
    /// The call, once it was recognized.
    pub(super) call: Option<P::Call>,
    /// The call's way to an upstream, if it is forwarded.
    pub(super) forward: Option<Forward>,
    /// How the request ended, once it has.
    pub(super) ended: Option<Outcome>,
    /// What becomes of the client's connection.
    pub(super) next: Next,
    /// Whether somebody waits for the client since Pingora was polled.
    is_watched: bool,
    /// Whether the request is in the log.
    is_logged: bool,
    in_flight: Option<InFlightGuard>,
}

/// A call on its way.
pub(super) struct Forward {
    pub(super) request: RequestFraming,
    /// The attempt that is made, or that is to be made next.
    pub(super) attempt: Option<Attempt>,
    /// Whether that one was chosen and not made yet.
    pub(super) is_chosen: bool,
    /// Whether the attempt is made over HTTP/2.
    pub(super) is_http2: bool,
    /// Whether its connection had waited for it.
    pub(super) was_idle: bool,
    /// Whether the server's choice of a version was followed.
    pub(super) is_version_known: bool,
    /// Whether it is under way.
    is_running: bool,
    /// The time by which the upstream must make progress, unless the client must.
    deadline: ResponseDeadline,
    /// How the client's side broke off.
    pub(super) broken: Option<ExchangeError>,
    /// What the client is told if nothing else comes of it.
    pub(super) refusal: Option<Box<Problem>>,
    pub(super) upload: Upload,
    pub(super) download: Download,
}

/// The request's body on its way up.
pub(super) struct Upload {
    body: Framing,
    /// Whether what the connection holds of it was taken from there.
    is_begun: bool,
    /// Bytes of it that were read.
    received: u64,
    /// What was read and not looked at.
    read: BytesMut,
    /// What was taken, if it may have to be sent again.
    again: Option<BytesMut>,
    /// What this attempt sends again first.
    replay: Option<Bytes>,
    /// Bytes that were sent in this attempt.
    sent: u64,
    /// Whether the client is who is waited for.
    is_awaited: bool,
}

/// The response on its way down.
pub(super) struct Download {
    pub(super) status: u16,
    /// The head for the client, until it is written.
    head: Vec<u8>,
    delimiter: BodyDelimiter,
    close: bool,
    unsent: WriteBuf,
    /// Whether the client is who is waited for, and not the upstream.
    is_blocked: bool,
    /// Bytes of the body.
    sent: usize,
    is_over: bool,
}

impl Forward {
    pub(super) fn new(request: RequestFraming) -> Self {
        Self {
            request,
            attempt: None,
            is_chosen: false,
            is_http2: false,
            was_idle: false,
            is_version_known: false,
            is_running: false,
            deadline: ResponseDeadline::new(),
            broken: None,
            refusal: None,
            upload: Upload {
                body: request.body,
                is_begun: false,
                received: 0,
                read: BytesMut::new(),
                again: Some(BytesMut::new()),
                replay: None,
                sent: 0,
                is_awaited: false,
            },
            download: Download {
                status: 0,
                head: Vec::new(),
                delimiter: BodyDelimiter::AsStated(None),
                close: request.close,
                unsent: WriteBuf::default(),
                is_blocked: false,
                sent: 0,
                is_over: false,
            },
        }
    }
}

impl Upload {
    /// Returns what the connection holds beyond the body.
    fn leftover(&self) -> &[u8] {
        if self.body.is_over() { &self.read } else { &[] }
    }

    /// Begins the body of another attempt.
    fn begin(&mut self) {
        self.sent = 0;
        self.replay =
            self.again.as_ref().filter(|again| !again.is_empty()).map(|again| again.clone().freeze());
    }

    /// Returns true if all of the body was handed on.
    const fn is_over(&self) -> bool {
        self.body.is_over() && self.replay.is_none()
    }

    /// Returns true if the request has no body.
    pub(super) const fn is_empty(&self) -> bool {
        self.body.is_over() && self.received == 0
    }

    pub(super) const fn is_replayable(&self) -> bool {
        self.again.is_some()
    }

    /// Takes the next bytes of the body out of what was read. Returns nothing if more is needed, or the body is over.
    fn take(&mut self) -> Result<BytesMut, framing::FramingError> {
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

impl<P: Phases> Exchange<P> {
    pub(super) fn new(phases: P, mut client: Box<ClientStream>, is_last: bool) -> Self {
        client.begin_body();
        let record = Record::new(phases.new_log(client.is_tls()), client.max_body());
        let in_flight = Some(phases.drain().track_request());
        Self {
            phases,
            client,
            record,
            is_last,
            call: None,
            forward: None,
            ended: None,
            next: Next::Close,
            is_watched: false,
            is_logged: false,
            in_flight,
        }
    }

    /// Notes that Pingora is about to be polled.
    pub(super) fn begin_poll(&mut self) {
        self.is_watched = false;
    }

    /// Ready with how the exchange broke off if nobody else watches the client, and what is waited for is overdue. That is
    /// when Pingora waits for an upstream to take more of a body, and does not read from the client meanwhile.
    pub(super) fn poll_unwatched(&mut self, context: &mut Context<'_>) -> Poll<ExchangeError> {
        if self.is_watched || !self.forward.as_ref().is_some_and(|forward| forward.is_running) {
            return Poll::Pending;
        }
        if self.client.poll_timeout(context).is_ready() {
            return Poll::Ready(ExchangeError::of_client(&self.client));
        }
        self.poll_deadline(context).map(ExchangeError::UpstreamTimedOut)
    }

    /// Completes once when the upstream's time is over.
    fn poll_deadline(&mut self, context: &mut Context<'_>) -> Poll<ResponseTimeout> {
        let Some(forward) = &mut self.forward else { return Poll::Pending };
        forward.deadline.poll(&mut self.client, context)
    }

    /// Begins an attempt, over a connection that was made.
    pub(super) fn begin_attempt(&mut self) {
        self.record.sent_at = Some(Instant::now());
        let Some(forward) = &mut self.forward else { return };
        forward.is_running = true;
        forward.upload.begin();
        if forward.upload.is_over() {
            return self.request_sent();
        }
        if !std::mem::replace(&mut forward.upload.is_begun, true) {
            forward.upload.read = BytesMut::from(self.client.take_buffered().as_slice());
        }
        self.arm_upstream();
    }

    /// Counts bytes of the body that are about to be sent.
    pub(super) fn filter_body(&mut self, length: usize) -> Result<(), ()> {
        let (Some(forward), Some(call)) = (&mut self.forward, &self.call) else { return Err(()) };
        forward.upload.sent = forward.upload.sent.saturating_add(length as u64);
        self.record.received = self.record.received.max(forward.upload.sent);
        if let Err(problem) = self.phases.request_body_filter(call, self.record.received) {
            forward.broken = Some(ExchangeError::BodyRefused(problem));
            return Err(());
        }
        if forward.upload.is_over() {
            self.request_sent();
        } else {
            self.arm_upstream();
        }
        Ok(())
    }

    /// Records that the whole request was handed on, and arms the timeout of the response.
    fn request_sent(&mut self) {
        let now = Instant::now();
        let completed = *self.record.completed_at.get_or_insert(now);
        if self.record.responded_at.is_some() {
            return self.arm_pause();
        }
        let Some((forward, timeouts)) = timed(&mut self.forward) else { return };
        let left = timeouts.response.saturating_sub(now.duration_since(completed));
        let (timeout, time) = match timeouts.attempt {
            Some(attempt)
                if attempt < left && forward.request.is_idempotent && forward.upload.is_replayable() =>
            {
                (ResponseTimeout::Attempt, attempt)
            }
            Some(_) | None => (ResponseTimeout::Response, left),
        };
        forward.deadline.arm(&mut self.client, timeout, time);
    }

    /// Arms the timeout of the response again, after the attempt timed out.
    fn arm_response(&mut self) {
        let waited = self.record.completed_at.map(|completed| completed.elapsed()).unwrap_or_default();
        let Some((forward, timeouts)) = timed(&mut self.forward) else { return };
        let left = timeouts.response.saturating_sub(waited);
        forward.deadline.arm(&mut self.client, ResponseTimeout::Response, left);
    }

    /// Arms the timeout of an upstream that reads the body. It is that of the response.
    fn arm_upstream(&mut self) {
        let has_responded = self.record.responded_at.is_some();
        let Some((forward, timeouts)) = timed(&mut self.forward) else { return };
        forward.upload.is_awaited = false;
        if has_responded {
            forward.deadline.arm_pause(&mut self.client, timeouts.pause);
        } else {
            forward.deadline.arm(&mut self.client, ResponseTimeout::Response, timeouts.response);
        }
    }

    /// Arms the timeout of a client that sends its body, unless the response has started.
    fn arm_upload(&mut self) {
        let Some(forward) = &mut self.forward else { return };
        if std::mem::replace(&mut forward.upload.is_awaited, true) {
            return;
        }
        if self.record.responded_at.is_some() {
            self.arm_pause();
        } else {
            forward.deadline.disarm();
            self.client.arm_upload();
        }
    }

    /// Arms the timeout of the next piece of the response.
    fn arm_pause(&mut self) {
        let Some((forward, timeouts)) = timed(&mut self.forward) else { return };
        forward.deadline.arm_pause(&mut self.client, timeouts.pause);
    }

    /// Whether nothing is left to be read of the request.
    pub(super) fn is_body_done(&self) -> bool {
        let is_done = |forward: &Forward| forward.upload.is_over() || forward.download.is_over;
        self.forward.as_ref().is_none_or(is_done)
    }

    /// Reads the next piece of the body. Ready with `None` at its end.
    pub(super) fn poll_body(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Bytes>, ()>> {
        self.is_watched = true;
        loop {
            let Some(forward) = &mut self.forward else { return Poll::Ready(Ok(None)) };
            if let Some(data) = forward.upload.replay.take() {
                return Poll::Ready(Ok(Some(data)));
            }
            let Ok(data) = forward.upload.take() else {
                forward.broken = Some(ExchangeError::ClientMalformed);
                return Poll::Ready(Err(()));
            };
            if !data.is_empty() {
                forward.upload.received += data.len() as u64;
                let is_replayable = forward.is_http2 || forward.request.is_idempotent;
                match &mut forward.upload.again {
                    Some(again) if is_replayable && again.len() + data.len() <= MAX_AGAIN => {
                        again.extend_from_slice(&data);
                    }
                    again => *again = None,
                }
                return Poll::Ready(Ok(Some(data.freeze())));
            }
            if forward.upload.body.is_over() || forward.download.is_over {
                return Poll::Ready(Ok(None));
            }
            self.arm_upload();
            let Some(forward) = &mut self.forward else { return Poll::Ready(Ok(None)) };
            forward.upload.read.reserve(READ_MUCH);
            match poll_read_buf(Pin::new(&mut *self.client), context, &mut forward.upload.read) {
                Poll::Ready(Ok(0) | Err(_)) => return Poll::Ready(Err(self.client_broke())),
                Poll::Ready(Ok(read)) => forward.deadline.record_received(read),
                Poll::Pending => {
                    let timeout = ready!(self.poll_deadline(context));
                    return Poll::Ready(Err(self.broke(ExchangeError::UpstreamTimedOut(timeout))));
                }
            }
        }
    }

    /// Waits for the client to leave, or for what is awaited to be overdue, while the upstream works.
    pub(super) fn poll_idle(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.is_watched = true;
        if self.client.poll_closed(context).is_ready() {
            self.client_broke();
            return Poll::Ready(());
        }
        let mut timeout = ready!(self.poll_deadline(context));
        let can_retry = self.call.as_ref().is_some_and(|call| self.phases.can_retry(call));
        if timeout == ResponseTimeout::Attempt && !can_retry {
            self.phases.record(Event::LimitExceeded(Limit::RetryBudget));
            self.arm_response();
            timeout = ready!(self.poll_deadline(context));
        }
        self.broke(ExchangeError::UpstreamTimedOut(timeout));
        Poll::Ready(())
    }

    /// Notes that the client has left.
    pub(super) fn client_left(&mut self) {
        self.broke(ExchangeError::ClientClosed);
    }

    fn client_broke(&mut self) {
        self.broke(ExchangeError::of_client(&self.client));
    }

    /// Notes how the client's side broke off.
    fn broke(&mut self, broken: ExchangeError) {
        if let Some(forward) = &mut self.forward {
            forward.broken = Some(broken);
        }
    }

    /// Takes the head of a response, and lets the product write it.
    pub(super) fn begin_response(&mut self, response: &ResponseHeader) -> Result<(), ()> {
        let status = response.status.as_u16();
        if response.status.is_informational() && status != 101 {
            return Ok(());
        }
        let has_begun = self.phases.drain().has_begun();
        let Self { phases, client, record, call, forward, .. } = self;
        let (Some(forward), Some(call)) = (forward, call) else { return Err(()) };
        let Forward { download, upload, request, attempt, broken, deadline, .. } = forward;
        let lines = || head::lines(response);
        let read = match ResponseHead::read(status, true, 0, lines) {
            Ok(_) if response.headers.len() > MAX_LINES => {
                *broken = Some(ExchangeError::Upstream { cause: Cause::Malformed, has_responded: true });
                return Err(());
            }
            Ok(read) => read,
            Err(cause) => {
                *broken = Some(ExchangeError::Upstream { cause, has_responded: true });
                return Err(());
            }
        };
        download.status = status;
        download.delimiter = read.delimiter(request.is_http10);
        // A response before the end of the body leaves a rest that is not read.
        download.close |= !upload.body.is_over() || has_begun || download.delimiter == BodyDelimiter::Close;
        record.responded_at = Some(Instant::now());
        if let Some(attempt) = attempt {
            deadline.arm_pause(client, attempt.timeouts.pause);
        }
        let status_line = (status, response.get_reason_phrase().unwrap_or_default());
        let how = (download.delimiter, download.close);
        crate::relay::head::write_response(&mut download.head, status_line, lines, how, |head| {
            phases.upstream_response_filter(call, record, status, head);
        });
        Ok(())
    }

    /// Moves pieces of the response into the write buffer. Returns true if it is the end of the response.
    ///
    /// # Errors
    /// Returns why the upstream has not sent the rest.
    pub(super) fn take_response(&mut self, tasks: Vec<HttpTask>) -> Result<bool, Box<pingora_core::Error>> {
        let Some(Forward { download, .. }) = &mut self.forward else { return Ok(true) };
        let mut is_over = false;
        for task in tasks {
            is_over |= match task {
                // Nothing was written for an informational response.
                HttpTask::Header(_, is_over) => is_over && download.status != 0,
                HttpTask::Body(data, is_over) => {
                    let data = data.unwrap_or_default();
                    download.flush_head();
                    match download.delimiter {
                        BodyDelimiter::Chunks => framing::write_chunk(&mut download.unsent.bytes, &data),
                        BodyDelimiter::AsStated(_) | BodyDelimiter::Close => {
                            download.unsent.bytes.extend_from_slice(&data);
                        }
                    }
                    download.sent += data.len();
                    is_over
                }
                // They look like headers that were checked.
                HttpTask::Trailer(_) | HttpTask::Done => true,
                HttpTask::UpgradedBody(..) => false,
                HttpTask::Failed(error) => {
                    download.flush_head();
                    return Err(error);
                }
            };
        }
        download.flush_head();
        // Over HTTP/2 the end of the stream may come later, or not at all.
        is_over |= download.status != 0
            && download.delimiter == BodyDelimiter::AsStated(u64::try_from(download.sent).ok());
        if is_over && download.delimiter == BodyDelimiter::Chunks {
            download.unsent.bytes.extend_from_slice(LAST_CHUNK);
        }
        Ok(is_over)
    }

    /// Writes what there is for the client.
    pub(super) fn poll_response(&mut self, context: &mut Context<'_>, is_over: bool) -> Poll<Result<(), ()>> {
        self.is_watched = true;
        let Some(Forward { download, deadline, .. }) = &mut self.forward else { return Poll::Ready(Ok(())) };
        let polled = download.unsent.poll_flush_to(&mut *self.client, context);
        if download.unsent.take_progress() {
            deadline.record_sent();
        }
        match polled {
            Poll::Ready(Ok(())) => {
                download.is_over = is_over;
                if std::mem::replace(&mut download.is_blocked, false) && !is_over {
                    self.arm_pause();
                }
                return Poll::Ready(Ok(()));
            }
            Poll::Ready(Err(_)) => {}
            Poll::Pending => {
                if !std::mem::replace(&mut download.is_blocked, true) {
                    deadline.disarm();
                    self.client.arm_download();
                }
                ready!(self.client.poll_timeout(context));
            }
        }
        self.client_broke();
        Poll::Ready(Err(()))
    }

    /// Notes that the exchange broke off, and decides whether it is tried again. Returns true if it is.
    pub(super) fn fail(&mut self, broken: ExchangeError) -> bool {
        broken.record(&self.phases);
        let Self { phases, client, record, call, forward, ended, .. } = self;
        let (Some(forward), Some(call)) = (forward, call) else { return false };
        forward.is_running = false;
        forward.deadline.disarm();
        let Download { status, sent, .. } = forward.download;
        if status != 0 {
            record_late_failure(phases, call, record, &broken);
            *ended = Some(Outcome { status, sent, next: Next::Close });
            return false;
        }
        // The server had time to take the request: then the end of the connection is its failure.
        let is_taken = forward.is_http2 && was_processed(record, forward.request.is_idempotent);
        let state = (forward.was_idle && !is_taken, forward.upload.is_replayable());
        match recover(phases, client, call, record, broken, state) {
            Recovery::Retry(attempt) => {
                forward.choose(attempt);
                return true;
            }
            Recovery::ClientClosed => *ended = Some(Outcome::client_closed()),
            Recovery::Refuse(problem) => forward.refusal = Some(problem),
        }
        false
    }

    /// Responds with the problem that the call came to, if it came to one.
    pub(super) async fn conclude(&mut self) {
        let Self { phases, client, record, call, forward, ended, .. } = self;
        let (Some(forward), Some(call), None) = (forward, call, &ended) else { return };
        let problem = forward.refusal.take();
        let problem =
            problem.unwrap_or_else(|| Problem::new(Code::Internal, "the call came to no end").into());
        let mut request = forward.request;
        if forward.upload.is_begun {
            client.unread(forward.upload.leftover());
            request = request.after_read(forward.upload.body.is_over());
        }
        *ended = Some(refuse(phases, client, call, record, &problem, request).await);
    }

    /// Logs the request.
    pub(super) fn log(&mut self) {
        if std::mem::replace(&mut self.is_logged, true) {
            return;
        }
        let ended = self.ended.unwrap_or_else(|| self.completed());
        self.next = ended.next;
        (self.record.status, self.record.sent) = (ended.status, ended.sent);
        self.phases.logging(self.call.as_ref(), &self.record);
        // What it holds is free before the client's next request.
        self.call = None;
        self.in_flight = None;
    }

    /// Notes that the request is in the log, and what follows it.
    pub(super) fn end_logged(&mut self, next: Next) {
        (self.next, self.is_logged) = (next, true);
    }

    /// Notes that an exchange broke off that cannot be tried again.
    pub(super) fn fail_finally(&mut self, broken: ExchangeError) {
        if let Some(forward) = &mut self.forward {
            forward.upload.again = None;
        }
        self.fail(broken);
    }

    /// Returns how a call ended whose response was carried.
    fn completed(&mut self) -> Outcome {
        let Some(Forward { upload, download, request, .. }) = &self.forward else {
            return Outcome::client_closed();
        };
        self.client.unread(upload.leftover());
        let is_whole = upload.body.is_over() && download.delimiter != BodyDelimiter::Close;
        let next = Next::after_response(download.close, is_whole, request.max_body);
        Outcome { status: download.status, sent: download.sent, next }
    }

    /// Returns what went wrong with the client, or with the upstream as Pingora says.
    pub(super) fn take_broken(&mut self, of_upstream: impl FnOnce() -> ExchangeError) -> ExchangeError {
        let broken = self.forward.as_mut().and_then(|forward| forward.broken.take());
        broken.unwrap_or_else(of_upstream)
    }
}

/// Returns a call on its way, and how long its upstream may take.
fn timed(forward: &mut Option<Forward>) -> Option<(&mut Forward, Timeouts)> {
    let forward = forward.as_mut()?;
    let timeouts = forward.attempt.as_ref()?.timeouts;
    Some((forward, timeouts))
}

impl Forward {
    /// Sets the next attempt.
    pub(super) fn choose(&mut self, attempt: Attempt) {
        self.attempt = Some(attempt);
        self.is_chosen = true;
    }
}

impl Download {
    fn flush_head(&mut self) {
        let head = std::mem::take(&mut self.head);
        if self.unsent.bytes.is_empty() {
            self.unsent.bytes = head;
        } else {
            self.unsent.bytes.extend_from_slice(&head);
        }
    }
}
