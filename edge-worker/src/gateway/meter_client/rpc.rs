//! Requests to a meter, with a timeout, a retry and a hedged second request.

use std::pin::pin;

use futures_util::future::{Either, select};
use shared::json;
use shared::lease_cache::Timeouts;
use shared::meter::{Message, Reply, signed_out};
use shared::problem::{Problem, codes};
use shared::request_id::RequestId;
use worker::ObjectNamespace;

use crate::context::RequestContext;
use crate::runtime::durable_rpc::{self, RpcError};
use crate::runtime::{log, promise};

/// Sends a message to the meter of this name, within the time that a caller waits for it.
///
/// After a failure the message is sent once more by a new stub, unless the object is overloaded.
/// After a silence ([`Timeouts::FIRST`]) it is sent a second time, and the first success counts.
/// That is safe because a meter responds to a repeated message in the same way.
///
/// A browser that is signed in sends all messages to the meter of its key in its session.
///
/// # Errors
/// If both fail, or no response arrives in time.
pub(super) async fn call(
    context: &RequestContext<'_>,
    name: &str,
    message: &Message,
) -> Result<Reply, RpcError> {
    let text = &write(context, name, message)?;
    let Timeouts { hedge_ms, total_ms } = Timeouts::FIRST;
    let rest_ms = total_ms.saturating_sub(hedge_ms);
    let meter = &context.bindings.meter;
    let mut first = pin!(send_text(meter, name, text));
    // One timer at a time: nearly every response comes before the first one ends.
    match promise::timeout(hedge_ms, first.as_mut()).await {
        // By a new stub: the runtime may leave one that failed broken.
        Some(Err(error)) if !error.is_overloaded() => {
            durable_rpc::timeout(rest_ms, send_text(meter, name, text)).await
        }
        Some(reply) => reply,
        None => {
            let second = pin!(send_text(meter, name, text));
            durable_rpc::timeout(rest_ms, first_success(first, second)).await
        }
    }
}

/// Returns the text of a message to the meter of this name.
fn write(context: &RequestContext<'_>, name: &str, message: &Message) -> Result<String, RpcError> {
    let text = json::to_string(message)?;
    Ok(match context.session {
        // Other meters, such as that of an `Idempotency-Key`, know nothing of the session.
        Some(session) if session.key.id.to_string() == name => Message::in_session(session.id, &text),
        _ => text,
    })
}

/// Returns the reply of the copy that succeeds first, or the error of the last one.
async fn first_success<F: Future<Output = Result<Reply, RpcError>> + Unpin>(
    first: F,
    second: F,
) -> Result<Reply, RpcError> {
    match select(first, second).await {
        // An error that comes first proves nothing: the other copy may be about to succeed.
        Either::Left((Err(_), other)) | Either::Right((Err(_), other)) => other.await,
        Either::Left((reply, _)) | Either::Right((reply, _)) => reply,
    }
}

/// Sends a message once.
///
/// # Errors
/// If the request fails.
pub(super) async fn send(meter: &ObjectNamespace, name: &str, message: &Message) -> Result<Reply, RpcError> {
    send_text(meter, name, &json::to_string(message)?).await
}

async fn send_text(meter: &ObjectNamespace, name: &str, text: &str) -> Result<Reply, RpcError> {
    let reply = durable_rpc::call(meter, name, text).await?;
    Ok(json::from_str(&reply)?)
}

/// Logs a failed call, or a reply that belongs to another message.
pub(super) fn log_failure(id: RequestId, reply: Result<Reply, RpcError>) {
    let error = reply.err().unwrap_or(RpcError::UnexpectedReply);
    log::error(log::Event("meter call failed"), Some(id), &[("error", &error)]);
}

/// Logs a failed call, unless the browser was signed out. Returns the problem for the client.
pub(super) fn unavailable(context: &RequestContext<'_>, reply: Result<Reply, RpcError>) -> Problem {
    if matches!(reply, Ok(Reply::SignedOut)) {
        return signed_out();
    }
    log_failure(context.request.id, reply);
    Problem::new(codes::METER_UNAVAILABLE, "the meter does not respond; nothing was counted").retry_after(1)
}
