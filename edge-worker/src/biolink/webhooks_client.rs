//! The client of webhooks, which are one Durable Object for each account.

use biolink::pages_api::Reply;
use biolink::webhooks_api::{WebhooksMessage, webhooks_unavailable};
use shared::json;
use shared::key::KeyId;
use shared::problem::Problem;
use shared::time::UnixMillis;
use worker::ObjectNamespace;

use crate::context::RequestContext;
use crate::runtime::durable_rpc::{self, RpcError};
use crate::runtime::log;

/// Timeout of a message, in milliseconds.
const TIMEOUT_MS: u64 = 5_000;
/// Time that a reader of events may wait beyond it, in milliseconds.
const WAIT_MS: u64 = 25_000;

/// Sends a message to the webhooks of an account. Returns the reply.
///
/// # Errors
/// If they fail or do not respond in time. They may have taken the message even so.
pub(crate) async fn call(
    webhooks: &ObjectNamespace,
    account: KeyId,
    message: &WebhooksMessage,
) -> Result<String, RpcError> {
    send(webhooks, account, message, TIMEOUT_MS).await
}

/// Sends a call of the REST API.
///
/// # Errors
/// `webhooks-unavailable`. They may have handled the call even so.
pub(crate) async fn request(
    context: &RequestContext<'_>,
    account: KeyId,
    message: &WebhooksMessage,
) -> Result<Reply, Problem> {
    let reply = send(&context.biolink()?.webhooks, account, message, TIMEOUT_MS + WAIT_MS).await;
    let reply = reply.and_then(|reply| Ok(json::from_str(&reply)?));
    reply.map_err(|error| unavailable(context, &error))
}

/// Returns the last alerts about endpoints of an account, described, each with its moment.
///
/// # Errors
/// `webhooks-unavailable`.
pub(crate) async fn alerts(
    context: &RequestContext<'_>,
    account: KeyId,
) -> Result<Vec<(UnixMillis, String)>, Problem> {
    let reply = call(&context.biolink()?.webhooks, account, &WebhooksMessage::ReadAlerts).await;
    let alerts = reply.and_then(|reply| Ok(json::from_str(&reply)?));
    alerts.map_err(|error| unavailable(context, &error))
}

fn unavailable(context: &RequestContext<'_>, error: &RpcError) -> Problem {
    log::error(log::Event("webhooks call failed"), Some(context.request.id), &[("error", error)]);
    webhooks_unavailable()
}

/// Returns the lines of the export: one for each endpoint, without its secrets.
///
/// # Errors
/// If the webhooks fail or do not respond in time.
pub(crate) async fn export(webhooks: &ObjectNamespace, account: KeyId) -> Result<String, RpcError> {
    Ok(json::from_str(&call(webhooks, account, &WebhooksMessage::Export).await?)?)
}

async fn send(
    webhooks: &ObjectNamespace,
    account: KeyId,
    message: &WebhooksMessage,
    timeout: u64,
) -> Result<String, RpcError> {
    let (name, message) = (account.to_string(), json::to_string(message)?);
    durable_rpc::timeout(timeout, durable_rpc::call(webhooks, &name, &message)).await
}
