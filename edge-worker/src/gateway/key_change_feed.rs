//! The client of the key-change feed, which one Durable Object keeps for all keys.
//!
//! No tool call waits for it. Meters append to it from their alarms. Only issuing a key with its
//! own limits or expiry waits for it.

use shared::json;
use shared::key::KeyRecord;
use shared::keys_api::{ChangesMessage, ChangesRequest};
use shared::problem::{Problem, codes};
use shared::request_id::RequestId;
use worker::ObjectNamespace;

use crate::context::RequestContext;
use crate::runtime::durable_rpc::{self, RpcError};
use crate::runtime::log;

/// The name of the only object.
const NAME: &str = "all";
/// Timeout of a request, in milliseconds.
pub(super) const TIMEOUT_MS: u64 = 2_000;

/// Appends a record to the feed. Idempotent. An old record changes nothing.
///
/// # Errors
/// If the object fails or does not respond in time. It may have taken the record even so.
pub(crate) async fn append(feed: &ObjectNamespace, record: &KeyRecord) -> Result<(), RpcError> {
    call(feed, &ChangesMessage::note(record), TIMEOUT_MS).await.map(drop)
}

/// Appends the record of a key that is about to be issued.
///
/// # Errors
/// `key-store-unavailable`. The key must not be issued then, because origins in direct mode would
/// not see its limits or expiry.
pub(crate) async fn append_issued(context: &RequestContext<'_>, record: &KeyRecord) -> Result<(), Problem> {
    let appended = append(context.bindings.key_changes()?, record).await;
    appended
        .map_err(|error| unavailable(log::Event("key-change feed append failed"), &error, context.request.id))
}

/// Returns a page of the feed, as JSON.
///
/// # Errors
/// `key-store-unavailable`.
pub(crate) async fn read(context: &RequestContext<'_>, request: ChangesRequest) -> Result<String, Problem> {
    let page = call(context.bindings.key_changes()?, &ChangesMessage::Read(request), TIMEOUT_MS).await;
    page.map_err(|error| unavailable(log::Event("key-change feed read failed"), &error, context.request.id))
}

/// Sends a message to the object. Returns its response.
///
/// # Errors
/// If the object fails or does not respond within `timeout_ms` milliseconds.
pub(super) async fn call(
    feed: &ObjectNamespace,
    message: &ChangesMessage,
    timeout_ms: u64,
) -> Result<String, RpcError> {
    let message = json::to_string(message)?;
    durable_rpc::timeout(timeout_ms, durable_rpc::call(feed, NAME, &message)).await
}

/// Logs a failure. Returns the problem for the client.
fn unavailable(event: log::Event, error: &RpcError, id: RequestId) -> Problem {
    log::error(event, Some(id), &[("error", error)]);
    let detail = "the key-change feed does not respond; a change may have been made even so";
    Problem::new(codes::KEY_STORE_UNAVAILABLE, detail).retry_after(1)
}
