//! The state of a request that Pingora forwards. Its phases and the client's session share it.

mod download;
mod request;
mod response;
mod timeouts;
mod upload;

use std::any::Any;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use parking_lot::Mutex;
use shared::problem::{Problem, codes};

use self::download::Download;
use self::upload::Upload;
use super::head::RequestHead;
use super::peer::AttemptConnection;
use crate::client::ClientStream;
use crate::drain::{InFlightGuard, WorkKind};
use crate::hooks::{Attempt, Event, Limit, Phases, Queued as _};
use crate::record::Record;
use crate::relay::exchange::ExchangeError;
use crate::relay::head::BodyDelimiter;
use crate::relay::outcome::{Next, Outcome};
use crate::relay::queue::await_turn;
use crate::relay::request::{RequestFraming, new_record};
use crate::relay::respond::refuse;
use crate::relay::retry::{FailedAttempt, Recovery, record_abort, recover};
use crate::response_deadline::{ResponseDeadline, ResponseTimeout};

tokio::task_local! {
    /// The exchange, of any product, whose request Pingora is polled for. Pingora asks for the
    /// context of a request without saying which one it is.
    static CURRENT: Arc<dyn Any + Send + Sync>;
}

/// A shared exchange. It is empty while a phase that waits has taken the exchange.
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

    /// Returns the exchange that was entered.
    pub(super) fn current() -> Option<Self> {
        let entered: Arc<dyn Any + Send + Sync> = CURRENT.try_with(Arc::clone).ok()?;
        entered.downcast().ok().map(Self)
    }

    /// Calls `f`, in which [`Shared::current`] is this exchange.
    pub(super) fn enter<R>(&self, f: impl FnOnce() -> R) -> R {
        CURRENT.sync_scope(self.clone().0, f)
    }

    /// Calls `f` with the exchange. Returns `None` if a phase has taken it.
    pub(super) fn with<R>(&self, f: impl FnOnce(&mut Exchange<P>) -> R) -> Option<R> {
        self.0.lock().as_deref_mut().map(f)
    }

    /// Takes the exchange.
    pub(super) fn take(&self) -> Option<Box<Exchange<P>>> {
        self.0.lock().take()
    }

    /// Puts back an exchange that was taken.
    pub(super) fn put(&self, exchange: Box<Exchange<P>>) {
        *self.0.lock() = Some(exchange);
    }
}

/// The error of an exchange whose client failed. The exchange has the cause.
#[derive(Clone, Copy, Debug)]
pub(super) struct Aborted;

/// A request, from its head to its log line.
pub(super) struct Exchange<P: Phases> {
    pub(super) phases: P,
    pub(super) client: Box<ClientStream>,
    pub(super) record: Record<P::Log>,
    /// Whether the connection must serve no other request.
    pub(super) is_last: bool,
    /// The call, once it was recognized.
    pub(super) call: Option<P::Call>,
    /// The state of a call that is forwarded.
    pub(super) forward: Option<Forward>,
    /// The outcome of the request, once it has ended.
    pub(super) outcome: Option<Outcome>,
    /// The next state of the client's connection.
    pub(super) next: Next,
    /// Whether Pingora has polled the client's session in this turn.
    is_watched: bool,
    /// Whether the request is logged.
    is_logged: bool,
    in_flight: Option<InFlightGuard>,
}

/// The state of a call that is forwarded.
pub(super) struct Forward {
    pub(super) request: RequestFraming,
    /// The head of the request to the upstream, unless it could not be written.
    pub(super) head: Option<RequestHead>,
    /// The current or the next attempt.
    pub(super) attempt: Option<Attempt>,
    /// Whether the attempt is the next one.
    pub(super) is_chosen: bool,
    /// Whether the attempt uses HTTP/2.
    pub(super) is_http2: bool,
    /// The connection of the attempt.
    pub(super) connection: Option<AttemptConnection>,
    /// Whether its connection was idle before.
    pub(super) was_idle: bool,
    /// Whether the version of HTTP was changed to the one that the server selects.
    pub(super) is_version_known: bool,
    /// Whether an attempt is in flight.
    is_running: bool,
    /// The deadline of the upstream.
    deadline: ResponseDeadline,
    /// The error that was found here, and not by Pingora.
    error: Option<ExchangeError>,
    /// The problem that the client gets if no response comes from an upstream.
    pub(super) refusal: Option<Box<Problem>>,
    pub(super) upload: Upload,
    download: Download,
}

impl Forward {
    pub(super) fn new(request: RequestFraming, head: Option<RequestHead>) -> Self {
        Self {
            request,
            head,
            attempt: None,
            is_chosen: false,
            is_http2: false,
            connection: None,
            was_idle: false,
            is_version_known: false,
            is_running: false,
            deadline: ResponseDeadline::new(),
            error: None,
            refusal: None,
            upload: Upload::new(request.body),
            download: Download::new(request.close),
        }
    }
}

impl<P: Phases> Exchange<P> {
    pub(super) fn new(phases: P, mut client: Box<ClientStream>, is_last: bool) -> Self {
        client.begin_body();
        let record = new_record(&phases, &client);
        let in_flight = Some(phases.drain().track(WorkKind::Request));
        Self {
            phases,
            client,
            record,
            is_last,
            call: None,
            forward: None,
            outcome: None,
            next: Next::Close,
            is_watched: false,
            is_logged: false,
            in_flight,
        }
    }

    /// Starts a turn: Pingora is about to be polled.
    pub(super) fn begin_poll(&mut self) {
        self.is_watched = false;
    }

    /// Completes when the client leaves, or with a timeout of an attempt, while Pingora does not poll the
    /// session. That is while it connects, or waits for an upstream to read the body.
    pub(super) fn poll_unwatched(&mut self, context: &mut Context<'_>) -> Poll<ExchangeError> {
        let Some(forward) = self.forward.as_ref().filter(|_| !self.is_watched) else { return Poll::Pending };
        let closed = match forward.is_running {
            // While an attempt runs, what the client sends belongs to the upload, so nothing may be
            // read here.
            true => self.client.poll_closed_unread(context, forward.must_finish()),
            false if self.outcome.is_some() || forward.refusal.is_some() => Poll::Pending,
            false => self.client.poll_closed(context, false),
        };
        if closed.is_ready() {
            return Poll::Ready(ExchangeError::of_client(&self.client));
        }
        self.poll_deadline(context).map(ExchangeError::UpstreamTimedOut)
    }

    /// Waits until the client leaves or a timeout expires, while the upstream responds.
    pub(super) fn poll_idle(&mut self, context: &mut Context<'_>) -> Poll<()> {
        // Pingora has polled the session in this turn, so nothing else need look for the client.
        self.is_watched = true;
        let is_over = self.forward.as_ref().is_none_or(|forward| forward.download.is_over);
        // A client that has the whole response may close, which is no failure.
        let must_finish = is_over || self.forward.as_ref().is_some_and(Forward::must_finish);
        if self.client.poll_closed(context, must_finish).is_ready() {
            self.fail_client();
            return Poll::Ready(());
        }
        let mut timeout = ready!(self.poll_deadline(context));
        let Self { phases, call, .. } = self;
        // Reserved before the attempt is given up: when it was taken afterwards, many calls at once
        // found the budget empty and got 503, though their tool would have responded in time.
        if timeout == ResponseTimeout::Attempt
            && !call.as_mut().is_some_and(|call| phases.reserve_retry(call))
        {
            self.phases.record(Event::LimitExceeded(Limit::RetryPercent));
            self.arm_response();
            timeout = ready!(self.poll_deadline(context));
        }
        self.fail_with(ExchangeError::UpstreamTimedOut(timeout));
        Poll::Ready(())
    }

    /// Records that the client has disconnected.
    pub(super) fn client_closed(&mut self) {
        self.fail_with(ExchangeError::ClientClosed);
    }

    fn fail_client(&mut self) -> Aborted {
        self.fail_with(ExchangeError::of_client(&self.client))
    }

    /// Records an error that Pingora does not know.
    fn fail_with(&mut self, error: ExchangeError) -> Aborted {
        if let Some(forward) = &mut self.forward {
            forward.error = Some(error);
        }
        Aborted
    }

    /// Puts the call into a queue before its first attempt, if it has to wait.
    pub(super) fn enter_queue(&mut self) -> Option<P::Queued> {
        let is_first = self.forward.as_ref().is_some_and(|forward| !forward.is_chosen);
        self.call.as_mut().filter(|_| is_first).and_then(|call| self.phases.enter_queue(call))
    }

    /// Waits for the call's turn in the queue.
    pub(super) async fn await_turn(&mut self, queued: P::Queued) -> Result<(), Aborted> {
        let Self { client, call, .. } = self;
        let Some(call) = call else { return Ok(()) };
        if await_turn(client, queued.wait(call)).await.is_err() {
            self.outcome = Some(Outcome::client_closed());
            return Err(Aborted);
        }
        Ok(())
    }

    /// Completes immediately. Fails if the client has left, so that nothing is sent for it.
    pub(super) fn check_client(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Aborted>> {
        // The upstream is awaited from now on.
        self.client.disarm();
        let has_left = self.client.poll_closed(context, false).is_ready();
        if has_left {
            self.outcome = Some(Outcome::client_closed());
        }
        Poll::Ready(if has_left { Err(Aborted) } else { Ok(()) })
    }

    /// Decides what follows a failed exchange. Returns true if the call is retried.
    pub(super) fn fail(&mut self, error: ExchangeError) -> bool {
        error.record(&self.phases);
        let Self { phases, client, record, call, forward, outcome, .. } = self;
        let (Some(forward), Some(call)) = (forward, call) else { return false };
        forward.is_running = false;
        // The deadline of this attempt must not end the next one.
        forward.deadline.disarm();
        let (status, sent) = (forward.download.status, forward.download.sent_bytes());
        if status != 0 {
            if !forward.download.is_over {
                record_abort(record, &error);
                // Only the end of the connection delimits this body. Closed normally, a broken
                // response would pass for a complete one.
                if forward.download.delimiter == BodyDelimiter::Close {
                    client.reset_on_close();
                }
            }
            *outcome = Some(Outcome { status, sent, next: Next::Close });
            return false;
        }
        let is_processed = forward.is_http2 && was_processed(record, forward.request.is_idempotent);
        let failed = FailedAttempt {
            error,
            // A connection that was idle may have been closed by the server before it read
            // anything, so the request is sent again. Not if it was surely received.
            was_idle: forward.was_idle && !is_processed,
            is_replayable: forward.upload.is_replayable(),
        };
        match recover(phases, client, call, record, failed) {
            Recovery::Retry(attempt) => {
                forward.choose(attempt);
                return true;
            }
            Recovery::ClientClosed => *outcome = Some(Outcome::client_closed()),
            Recovery::Refuse(problem) => forward.refusal = Some(problem),
        }
        false
    }

    /// Responds to a call that no upstream has responded to.
    pub(super) async fn conclude(&mut self) {
        let Self { phases, client, record, call, forward, outcome, .. } = self;
        let (Some(forward), Some(call), None) = (forward, call, &outcome) else { return };
        let problem = forward.refusal.take();
        let problem =
            problem.unwrap_or_else(|| Problem::new(codes::INTERNAL, "the call has no outcome").into());
        let mut request = forward.request;
        if forward.upload.is_begun {
            client.unread(forward.upload.leftover());
            // What the upload has read is no longer on the connection, so only the rest is drained.
            request = request.after_read(forward.upload.body.is_over());
        }
        *outcome = Some(refuse(phases, client, call, record, &problem, request).await);
    }

    /// Logs the request.
    pub(super) fn log(&mut self) {
        // A request has one line, whoever ends it.
        if std::mem::replace(&mut self.is_logged, true) {
            return;
        }
        let outcome = self.outcome.unwrap_or_else(|| self.completed());
        self.next = outcome.next;
        (self.record.status, self.record.sent) = (outcome.status, outcome.sent);
        self.phases.logging(self.call.as_ref(), &self.record);
        // Its permits are released before the client's next request.
        self.call = None;
        self.in_flight = None;
    }

    /// Records that the request is logged, and what follows it.
    pub(super) fn end_logged(&mut self, next: Next) {
        (self.next, self.is_logged) = (next, true);
    }

    /// Does the same for an exchange that cannot be retried.
    pub(super) fn fail_finally(&mut self, error: ExchangeError) {
        if let Some(forward) = &mut self.forward {
            // Without what was kept, the call counts as not replayable.
            forward.upload.kept = None;
        }
        self.fail(error);
    }

    /// Returns the outcome of a call whose response is complete.
    fn completed(&mut self) -> Outcome {
        let Some(Forward { upload, download, request, .. }) = &self.forward else {
            return Outcome::client_closed();
        };
        // Bytes beyond the body are the next request's.
        self.client.unread(upload.leftover());
        // If the upstream responded early, the rest of the body is still on the connection, and
        // would be read as the next request.
        let is_whole = upload.body.is_over() && download.delimiter != BodyDelimiter::Close;
        let next = Next::after_response(download.close, is_whole, request.max_body);
        Outcome { status: download.status, sent: download.sent_bytes(), next }
    }

    /// Takes the error that was found here, or else that of the upstream.
    pub(super) fn take_error(&mut self, of_upstream: impl FnOnce() -> ExchangeError) -> ExchangeError {
        let error = self.forward.as_mut().and_then(|forward| forward.error.take());
        error.unwrap_or_else(of_upstream)
    }
}

impl Forward {
    /// Returns true if the call continues when its client leaves.
    fn must_finish(&self) -> bool {
        self.attempt.as_ref().is_some_and(|attempt| attempt.must_finish)
    }

    /// Sets the next attempt.
    pub(super) fn choose(&mut self, attempt: Attempt) {
        self.attempt = Some(attempt);
        self.is_chosen = true;
    }
}

/// Returns true if a request that cannot be sent again was sent over a shared connection so long
/// ago that the upstream must have received it. The end of the connection is a failure of the
/// upstream then, and not of a stale connection.
fn was_processed<L>(record: &Record<L>, is_idempotent: bool) -> bool {
    const RECEIVED_AFTER: Duration = Duration::from_secs(1);
    !is_idempotent && record.sent_at.is_some_and(|sent| sent.elapsed() >= RECEIVED_AFTER)
}
