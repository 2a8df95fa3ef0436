//! The client of the stores of events, of which each page has one.

use biolink::events::PageDelivery;
use biolink::page::PageId;
use biolink::stats::StatsMessage;
use shared::json;
use worker::ObjectNamespace;

use crate::runtime::durable_rpc::{self, RpcError};
use crate::runtime::log;

/// Timeout of a message, in milliseconds: a reader may ask for millions of events.
const TIMEOUT_MS: u64 = 15_000;

/// Sends a message to the store of a page. Returns the reply as JSON.
///
/// # Errors
/// If the object fails or does not respond in time. It may have handled the message even so.
pub(crate) async fn call(
    stats: &ObjectNamespace,
    page: &PageId,
    message: &StatsMessage,
) -> Result<String, RpcError> {
    call_within(TIMEOUT_MS, stats, page, message).await
}

/// Gives events to the store of their page. Returns true if it says within `ms` milliseconds that it
/// has them.
pub(crate) async fn append(stats: &ObjectNamespace, delivery: &PageDelivery, ms: u64) -> bool {
    let PageDelivery { account, page, parts, .. } = delivery;
    let message = StatsMessage::Append { account: *account, page: *page, parts: parts.clone() };
    match call_within(ms, stats, page, &message).await {
        Ok(_) => true,
        Err(error) => {
            log::error(log::Event("events not stored"), None, &[("page", page), ("error", &error)]);
            false
        }
    }
}

/// Returns the lines of the export after a row of the store, and the row that they are of; `None` at
/// its end.
///
/// # Errors
/// As [`call`].
pub(crate) async fn export(
    stats: &ObjectNamespace,
    page: &PageId,
    after: u64,
) -> Result<Option<(u64, String)>, RpcError> {
    Ok(json::from_str(&call(stats, page, &StatsMessage::Export(after)).await?)?)
}

async fn call_within(
    ms: u64,
    stats: &ObjectNamespace,
    page: &PageId,
    message: &StatsMessage,
) -> Result<String, RpcError> {
    let (name, message) = (page.to_string(), json::to_string(message)?);
    durable_rpc::timeout(ms, durable_rpc::call(stats, &name, &message)).await
}
