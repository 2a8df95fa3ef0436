//! Forwards a call to one upstream after another, as long as it is retried.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use shared::problem::Problem;

use super::buffer::await_body;
use super::connect::{Connected, UpstreamConnector};
use super::exchange::{Download, Exchange, Upload};
use super::head;
use super::outcome::{Next, Outcome};
use super::queue::await_turn;
use super::request::RequestFraming;
use super::respond::refuse;
use super::retry::{FailedAttempt, Recovery, record_abort, recover};
use crate::client::ClientStream;
use crate::clock::{self, Monotonic};
use crate::framing::Framing;
use crate::hooks::{AfterFailure, Attempt, Phases, Queued as _};
use crate::record::Record;
use crate::response_deadline::ResponseDeadline;

/// A request on its way to an upstream.
pub(super) struct OutgoingRequest<'a> {
    pub(super) framing: RequestFraming,
    /// The head, without `Host`.
    pub(super) head: &'a [u8],
    /// Whether the whole body was read.
    pub(super) is_complete: bool,
}

/// The forwarder of one call.
pub(super) struct Forwarder<'a, P: Phases> {
    pub(super) connector: &'a UpstreamConnector,
    pub(super) phases: &'a P,
    pub(super) client: &'a mut ClientStream,
    pub(super) call: &'a mut P::Call,
    pub(super) record: &'a mut Record<P::Log>,
}

/// Returns the body of a request if it was buffered whole.
fn buffered_body(client: &ClientStream, framing: Framing) -> Option<&[u8]> {
    let Framing::Length(length) = framing else { return None };
    client.buffered().get(..usize::try_from(length).ok()?)
}

impl<P: Phases> Forwarder<'_, P> {
    /// Forwards the call.
    pub(super) async fn forward(&mut self, mut request: OutgoingRequest<'_>) -> Outcome {
        let Self { phases, client, call, record, .. } = self;
        if !request.is_complete {
            // Boxed, so that calls whose body was read with its head hold no memory for it.
            if let Err(outcome) = Box::pin(await_body(*phases, client, call, record, request.framing)).await {
                return outcome;
            }
            // `100 Continue` was sent when the body was buffered, and is not sent again.
            request.framing.expects_continue = false;
        }
        if let Some(queued) = phases.enter_queue(call)
            // Boxed, so that calls that need not wait hold no memory for it.
            && Box::pin(await_turn(client, queued.wait(call))).await.is_err()
        {
            return Outcome::client_closed();
        }
        match phases.upstream_peer(call, record) {
            Ok(attempt) => {
                phases.mirror(call, request.head, buffered_body(client, request.framing.body));
                self.run_attempts(request, attempt).await
            }
            // Boxed, so that calls that an upstream takes hold no memory for it.
            Err(problem) => Box::pin(refuse(*phases, client, call, record, &problem, request.framing)).await,
        }
    }

    /// Runs one attempt after another, until the response has started or the call is not retried.
    async fn run_attempts(&mut self, request: OutgoingRequest<'_>, mut attempt: Attempt) -> Outcome {
        let OutgoingRequest { mut framing, head, .. } = request;
        let mut upload: Option<Upload> = None;
        loop {
            let Connected { mut stream, owner, dialed } =
                match self.connect_or_retry(&mut attempt, framing.is_idempotent).await {
                    Ok(connected) => connected,
                    Err(Some(problem)) => return self.give_up(&problem, framing, upload.as_ref()).await,
                    Err(None) => return Outcome::client_closed(),
                };
            let Self { connector, phases, client, call, record } = self;
            // The whole body was read, or there is none. The protocol still requires the response 100.
            let expects = std::mem::take(&mut framing.expects_continue) && !framing.is_http10;
            if expects && client.send_continue().await.is_err() {
                return Outcome::client_closed();
            }
            // Connecting has disarmed it. The client is awaited again.
            client.arm_upload();
            let head = head::address_request(*phases, call, head, &attempt.target.options.authority, dialed);
            let up = begin_upload(client, &framing, head, upload.take());
            record.sent_at = Some(clock::instant());
            let mut deadline = ResponseDeadline::new();
            // A frozen upstream held its calls until their timeout although probes had found it.
            deadline.watch(&attempt.target);
            let mut exchange = Exchange {
                phases: *phases,
                call: &mut **call,
                record: &mut **record,
                client,
                upstream: &mut stream,
                pipes: connector.pipes(),
                timeouts: attempt.timeouts,
                deadline,
                is_idempotent: framing.is_idempotent,
                must_finish: attempt.must_finish,
                up,
                down: Download::new(framing.is_http10, framing.close),
            };
            let result = exchange.run().await;
            let Exchange { up, down, .. } = exchange;
            let status = down.status();
            let error = match result {
                Ok(_sent) => {
                    // After a response before the end of the upload, the upstream would take the
                    // rest for a request.
                    if up.is_complete() && down.can_reuse_connection() {
                        attempt.target.keep_idle(stream, owner, Monotonic::now(), connector.semaphore());
                    }
                    client.unread(up.leftover());
                    // Over TLS, a close without close_notify looks like a truncated response.
                    let is_whole = up.is_complete() && !down.is_delimited_by_close();
                    let next = Next::after_response(down.close, is_whole, framing.max_body);
                    return Outcome { status, sent: down.sent_bytes(), next };
                }
                Err(error) => error,
            };
            error.record(*phases);
            // Closed before a retry is chosen: the upstream stops working on a call that nobody
            // awaits any more.
            drop(stream);
            if status != 0 {
                record_abort(record, &error);
                if down.is_delimited_by_close() {
                    client.reset_on_close();
                }
                return Outcome { status, sent: down.sent_bytes(), next: Next::Close };
            }
            let failed =
                FailedAttempt { error, was_idle: dialed.is_none(), is_replayable: up.replay.is_some() };
            match recover(*phases, client, call, record, failed) {
                Recovery::Retry(next) => (attempt, upload) = (next, Some(up)),
                Recovery::ClientClosed => return Outcome::client_closed(),
                Recovery::Refuse(problem) => return self.give_up(&problem, framing, Some(&up)).await,
            }
        }
    }

    /// Connects to the upstream of an attempt, or to the next one as long as the product retries. Stops
    /// with `None` when the client leaves.
    async fn connect_or_retry(
        &mut self,
        attempt: &mut Attempt,
        is_idempotent: bool,
    ) -> Result<Connected, Option<Box<Problem>>> {
        // The upstream is awaited now.
        self.client.disarm();
        loop {
            // Nothing is sent for a client that has left before, or while an attempt failed.
            if poll_fn(|context| Poll::Ready(self.client.poll_closed(context, false).is_ready())).await {
                return Err(None);
            }
            self.record.attempts += 1;
            let in_flight = self.phases.drain().requests();
            let connected = {
                let mut connect = pin!(self.connector.connect(&attempt.target, is_idempotent, in_flight));
                poll_fn(|context| match connect.as_mut().poll(context) {
                    Poll::Pending => self.client.poll_closed(context, false).map(|_left| None),
                    connected => connected.map(Some),
                })
                .await
            };
            let error = match connected.ok_or(None)? {
                Ok(connected) => return Ok(connected),
                Err(error) => error,
            };
            match self.phases.fail_to_connect(self.call, self.record, &error) {
                AfterFailure::Retry(next) => *attempt = next,
                AfterFailure::GiveUp(problem) => return Err(Some(problem)),
            }
        }
    }

    /// Refuses the call, a part of whose body may have been read.
    async fn give_up(
        &mut self,
        problem: &Problem,
        framing: RequestFraming,
        upload: Option<&Upload>,
    ) -> Outcome {
        let framing = match upload {
            Some(upload) => {
                // What follows the body is the next request. It was lost when a retry could not
                // connect.
                self.client.unread(upload.leftover());
                framing.after_read(upload.is_read())
            }
            None => framing,
        };
        // Boxed, so that calls that an upstream takes hold no memory for it.
        Box::pin(refuse(self.phases, self.client, self.call, self.record, problem, framing)).await
    }
}

/// Starts the upload of a request, or restarts that of an earlier attempt.
fn begin_upload(
    client: &mut ClientStream,
    framing: &RequestFraming,
    head: Vec<u8>,
    earlier: Option<Upload>,
) -> Upload {
    Upload::begin(head, earlier, || {
        let buffered = if framing.body.is_over() { Vec::new() } else { client.take_buffered() };
        (framing.body, buffered)
    })
}
