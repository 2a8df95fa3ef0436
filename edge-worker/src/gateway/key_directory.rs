//! The client of the directory of keys, which the object of the key-change feed keeps for administrators.
//!
//! No tool call waits for it.

use shared::key::KeyRecord;
use shared::keys_api::ChangesMessage;
use shared::problem::{Problem, codes};
use worker::ObjectNamespace;

use crate::context::RequestContext;
use crate::gateway::key_change_feed::{self, TIMEOUT_MS};
use crate::runtime::durable_rpc::RpcError;
use crate::runtime::log;

/// Timeout of a request for a page, in milliseconds. The first one waits for the copy of the records.
const LIST_TIMEOUT_MS: u64 = 10_000;

/// Enters a record. Idempotent. An old record changes nothing.
///
/// # Errors
/// If the object fails or does not respond in time. It may have taken the record even so.
pub(crate) async fn enter(objects: &ObjectNamespace, record: &KeyRecord) -> Result<(), RpcError> {
    let message = ChangesMessage::Enter(record.clone());
    key_change_feed::call(objects, &message, TIMEOUT_MS).await.map(drop)
}

/// Enters the record of a key that was issued. If that fails, the next copy of the records brings it.
pub(crate) async fn enter_issued(context: &RequestContext<'_>, record: &KeyRecord) {
    let Ok(objects) = context.bindings.key_changes() else { return };
    if let Err(error) = enter(objects, record).await {
        log::error(log::Event("key directory entry failed"), Some(context.request.id), &[("error", &error)]);
    }
}

/// Returns a page of the directory, for the message of a `ListRequest`.
///
/// # Errors
/// `key-store-unavailable`.
pub(crate) async fn list(context: &RequestContext<'_>, request: String) -> Result<String, Problem> {
    let objects = context.bindings.key_changes()?;
    let page = key_change_feed::call(objects, &ChangesMessage::List(request), LIST_TIMEOUT_MS).await;
    let (detail, retry_after_s) = match page {
        // An empty list would say that there are no keys.
        Ok(page) if page.is_empty() => {
            ("the directory of keys is being filled from the key store; try again in a moment", 5)
        }
        Ok(page) => return Ok(page),
        Err(error) => {
            log::error(log::Event("key list failed"), Some(context.request.id), &[("error", &error)]);
            ("the directory of keys does not respond", 1)
        }
    };
    Err(Problem::new(codes::KEY_STORE_UNAVAILABLE, detail).retry_after(retry_after_s))
}
