//! Forwards a call to one upstream after another, as long as it is retried.

use std::time::Instant;

use shared::problem::Problem;

use super::{
    buffer::await_body,
    connect::{Connected, UpstreamConnector},
    exchange::{Download, Exchange, Upload},
    head,
    outcome::{Next, Outcome},
    request::RequestFraming,
    respond::refuse,
    retry::{Recovery, record_abort, recover},
};
use crate::{
    client::ClientStream,
    clock::Monotonic,
    hooks::{AfterFailure, Attempt, Phases},
    record::Record,
    response_deadline::ResponseDeadline,
};

/// Forwards a call: its request's framing, its head without `Host`, and whether its whole body was
/// read.
pub(super) async fn forward<P: Phases>(
    connector: &UpstreamConnector,
    phases: &P,
    client: &mut ClientStream,
    call: &mut P::Call,
    record: &mut Record<P::Log>,
    (mut request, head, is_complete): (RequestFraming, &[u8], bool),
) -> Outcome {
    if !is_complete {
        // Boxed, so that calls whose body was read with its head hold no memory for it.
        if let Err(outcome) = Box::pin(await_body(phases, client, call, record, request)).await {
            return outcome;
        }
        request.expects_continue = false;
    }
    match phases.upstream_peer(call, record) {
        Ok(attempt) => run_attempts(connector, phases, client, call, record, (request, head), attempt).await,
        Err(problem) => refuse(phases, client, call, record, &problem, request).await,
    }
}

/// Runs one attempt after another, until the response has started or the call is not retried.
async fn run_attempts<P: Phases>(
    connector: &UpstreamConnector,
    phases: &P,
    client: &mut ClientStream,
    call: &mut P::Call,
    record: &mut Record<P::Log>,
    (mut request, head): (RequestFraming, &[u8]),
    mut attempt: Attempt,
) -> Outcome {
    let mut upload: Option<Upload> = None;
    loop {
        let connected =
            connect_or_retry(connector, phases, call, record, &mut attempt, request.is_idempotent);
        let Connected { mut stream, owner, reused } = match connected.await {
            Ok(connected) => connected,
            Err(problem) => {
                return give_up(phases, client, call, record, &problem, request, upload.as_ref()).await;
            }
        };
        // The whole body was read, or there is none. The protocol still requires the response 100.
        let expects = std::mem::take(&mut request.expects_continue) && !request.is_http10;
        if expects && client.send_continue().await.is_err() {
            return Outcome::client_closed();
        }
        client.arm_upload();
        let head = head::address_request(head, &attempt.target.authority);
        let up = begin_upload(client, &request, head, upload.take());
        record.sent_at = Some(Instant::now());
        let mut deadline = ResponseDeadline::new();
        deadline.watch(&attempt.target);
        let mut exchange = Exchange {
            phases,
            call: &mut *call,
            record: &mut *record,
            client: &mut *client,
            upstream: &mut stream,
            timeouts: attempt.timeouts,
            deadline,
            is_idempotent: request.is_idempotent,
            up,
            down: Download::new(request.is_http10, request.close),
        };
        let result = exchange.run().await;
        let Exchange { up, down, .. } = exchange;
        let status = down.status();
        let error = match result {
            Ok(()) => {
                if up.is_complete() && down.can_reuse_connection() {
                    attempt.target.keep_idle(stream, owner, Monotonic::now(), connector.semaphore());
                }
                client.unread(up.leftover());
                // Over TLS, a close without close_notify looks like a truncated response.
                let is_whole = up.is_complete() && !down.is_delimited_by_close();
                let next = Next::after_response(down.close, is_whole, request.max_body);
                return Outcome { status, sent: down.body_bytes, next };
            }
            Err(error) => error,
        };
        error.record(phases);
        drop(stream);
        if status != 0 {
            record_abort(record, &error);
            return Outcome { status, sent: down.body_bytes, next: Next::Close };
        }
        let state = (reused, up.replay.is_some());
        match recover(phases, client, call, record, error, state) {
            Recovery::Retry(next) => (attempt, upload) = (next, Some(up)),
            Recovery::ClientClosed => return Outcome::client_closed(),
            Recovery::Refuse(problem) => {
                return give_up(phases, client, call, record, &problem, request, Some(&up)).await;
            }
        }
    }
}

/// Connects to the upstream of an attempt, or to the next one as long as the product retries.
async fn connect_or_retry<P: Phases>(
    connector: &UpstreamConnector,
    phases: &P,
    call: &mut P::Call,
    record: &mut Record<P::Log>,
    attempt: &mut Attempt,
    is_idempotent: bool,
) -> Result<Connected, Box<Problem>> {
    loop {
        record.attempts += 1;
        let in_flight = phases.drain().requests();
        let connected = connector.connect(&attempt.target, is_idempotent, in_flight).await;
        let error = match connected {
            Ok(connected) => return Ok(connected),
            Err(error) => error,
        };
        match phases.fail_to_connect(call, record, &error) {
            AfterFailure::Retry(next) => *attempt = next,
            AfterFailure::GiveUp(problem) => return Err(problem),
        }
    }
}

/// Starts the upload of a request, or restarts that of an earlier attempt.
fn begin_upload(
    client: &mut ClientStream,
    request: &RequestFraming,
    head: Vec<u8>,
    earlier: Option<Upload>,
) -> Upload {
    Upload::begin(head, earlier, || {
        let buffered = if request.body.is_over() { Vec::new() } else { client.take_buffered() };
        (request.body, buffered)
    })
}

/// Refuses a call, a part of whose body may have been read.
async fn give_up<P: Phases>(
    phases: &P,
    client: &mut ClientStream,
    call: &P::Call,
    record: &mut Record<P::Log>,
    problem: &Problem,
    request: RequestFraming,
    upload: Option<&Upload>,
) -> Outcome {
    let request = match upload {
        Some(upload) => {
            client.unread(upload.leftover());
            request.after_read(upload.is_read())
        }
        None => request,
    };
    refuse(phases, client, call, record, problem, request).await
}
