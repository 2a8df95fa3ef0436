//! Requests to a meter, with a timeout, a retry and a hedged second request.

use std::pin::pin;

use futures_util::future::{Either, select};
use shared::{
    json,
    lease_cache::Timeouts,
    meter::{Message, Reply},
    problem::{Code, Problem},
    request_id::RequestId,
};
use worker::ObjectNamespace;

use crate::{
    context::RequestContext,
    durable_rpc::{self, RpcError},
    log, promise,
};

/// Sends a message to the meter of this name, within the time that a caller waits for it.
///
/// After a failure the message is sent once more by a new stub, unless the object is overloaded.
/// After a silence ([`Timeouts::FIRST`]) it is sent a second time, and the first success counts.
/// That is safe because a meter responds to a repeated message in the same way.
///
/// # Errors
/// If both fail, or no response arrives in time.
pub(super) async fn call(
    context: &RequestContext<'_>,
    name: &str,
    message: &Message,
) -> Result<Reply, RpcError> {
    let Timeouts { hedge_ms, total_ms } = Timeouts::FIRST;
    let meter = &context.bindings.meter;
    let attempts = async {
        let first = pin!(send(meter, name, message));
        let silence = pin!(promise::sleep(hedge_ms));
        match select(first, silence).await {
            Either::Left((Err(error), _)) if !error.is_overloaded() => send(meter, name, message).await,
            Either::Left((reply, _)) => reply,
            Either::Right(((), first)) => match select(first, pin!(send(meter, name, message))).await {
                Either::Left((Err(_), second)) => second.await,
                Either::Right((Err(_), first)) => first.await,
                Either::Left((reply, _)) | Either::Right((reply, _)) => reply,
            },
        }
    };
    durable_rpc::timeout(total_ms, attempts).await
}

/// Sends a message once.
///
/// # Errors
/// If the request fails.
pub(super) async fn send(meter: &ObjectNamespace, name: &str, message: &Message) -> Result<Reply, RpcError> {
    let reply = durable_rpc::call(meter, name, &serde_json::to_string(message)?).await?;
    Ok(json::from_str(&reply)?)
}

/// Logs a failed call, or a reply that belongs to another message.
pub(super) fn log_failure(id: RequestId, reply: Result<Reply, RpcError>) {
    let error = reply.err().unwrap_or(RpcError::UnexpectedReply);
    log::error("meter call failed", Some(id), &[("error", &error)]);
}

/// Logs a failed call. Returns the problem for the client.
pub(super) fn unavailable(context: &RequestContext<'_>, reply: Result<Reply, RpcError>) -> Problem {
    log_failure(context.request.id, reply);
    Problem::new(Code::MeterUnavailable, "the meter does not respond; nothing was counted").retry_after(1)
}
