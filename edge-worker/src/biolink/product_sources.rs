//! The client of product sources, each of which is a Durable Object.

use biolink::page::SourceId;
use biolink::product_sync::SourceMessage;
use shared::json;
use worker::ObjectNamespace;

use crate::runtime::durable_rpc::{self, RpcError};

/// Timeout of a message, in milliseconds. A push waits for an edit of the account.
const TIMEOUT_MS: u64 = 15_000;

/// Sends a message to a source. Returns the reply as JSON.
///
/// # Errors
/// If the object fails or does not respond in time. It may have taken the message even so.
pub(crate) async fn call(
    sources: &ObjectNamespace,
    id: &SourceId,
    message: &SourceMessage,
) -> Result<String, RpcError> {
    let (name, message) = (id.to_string(), json::to_string(message)?);
    durable_rpc::timeout(TIMEOUT_MS, durable_rpc::call(sources, &name, &message)).await
}
