//! Sends responses of the proxy itself.

use std::io;

use shared::problem::Problem;
use tokio::time::timeout;

use super::outcome::{Next, Outcome};
use super::request::{RequestFraming, new_record};
use crate::client::ClientStream;
use crate::framing::Framing;
use crate::hooks::{Event, Limit, Phases};
use crate::linger::BRIEF;
use crate::record::Record;
use crate::response::Response;

/// Maximum length of a body that is read to its end, so that the connection can be reused after a
/// refusal.
const SMALL_BODY: u64 = 64 << 10;

/// Responds with a problem.
pub(crate) async fn refuse<P: Phases>(
    phases: &P,
    client: &mut ClientStream,
    call: &P::Call,
    record: &mut Record<P::Log>,
    problem: &Problem,
    request: RequestFraming,
) -> Outcome {
    let response = phases.fail_to_proxy(Some(call), record, problem);
    respond(phases, client, response, request).await
}

/// Sends a response. The rest of a small body is read first, so that the connection can serve the
/// next request.
pub(crate) async fn respond(
    phases: &impl Phases,
    client: &mut ClientStream,
    response: Response,
    request: RequestFraming,
) -> Outcome {
    let is_read = discard_small_body(client, request.body, request.expects_continue).await;
    // Clients such as Python's `http.client` send everything before they read. A plain close would
    // reset the connection, and the response with it.
    let close = request.close || !is_read;
    let status = response.status();
    match send(phases, client, response, close, request.is_head).await {
        Ok(sent) => Outcome { status, sent, next: Next::after_response(close, is_read, request.max_body) },
        Err(_) => Outcome::client_closed(),
    }
}

/// Responds to a malformed request. Returns true if the response was sent: the connection needs a
/// lingering close then.
pub(crate) async fn refuse_unread<P: Phases>(
    phases: &P,
    client: &mut ClientStream,
    problem: &Problem,
) -> bool {
    let mut record = new_record(phases, client);
    let response = phases.fail_to_proxy(None, &mut record, problem);
    record.status = response.status();
    phases.logging(None, &record);
    client.release_head();
    send(phases, client, response, true, false).await.is_ok()
}

async fn send(
    phases: &impl Phases,
    client: &mut ClientStream,
    response: Response,
    close: bool,
    is_head: bool,
) -> io::Result<usize> {
    let is_refusal = response.is_refusal();
    let sent = client.send_response(response, close, is_head).await;
    if is_refusal && sent.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::TimedOut) {
        phases.record(Event::LimitExceeded(Limit::RefusalTimeout));
    }
    sent
}

/// Reads and discards a small body. Returns true if the whole body was read.
async fn discard_small_body(client: &mut ClientStream, body: Framing, expects_continue: bool) -> bool {
    match body {
        body if body.is_over() => true,
        // A stream serves no other request.
        _ if client.is_http2_stream() => false,
        // A client that waits for `100 Continue` sends no body after a refusal: there would be
        // nothing to read.
        Framing::Length(length) if length <= SMALL_BODY && !expects_continue => {
            let discarded =
                timeout(BRIEF, client.discard_body(usize::try_from(length).unwrap_or(usize::MAX)));
            // Bounded: a client that is refused must not hold its connection by sending slowly.
            discarded.await.is_ok_and(|result| result.is_ok())
        }
        Framing::Length(_) | Framing::Chunked(_) | Framing::UntilClose | Framing::Stream { .. } => false,
    }
}
