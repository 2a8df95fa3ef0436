//! The salt of visitors' numbers, which this isolate knows for its day.

use std::cell::Cell;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use biolink::stats::SaltRequest;
use shared::json;
use shared::time::UtcDay;
use worker::ObjectNamespace;

use crate::runtime::durable_rpc::{self, RpcError};

/// The name of the only object.
const NAME: &str = "all";
/// Timeout of a request, in milliseconds. No visitor waits for it.
const TIMEOUT_MS: u64 = 2_000;

thread_local! {
    static KNOWN: Cell<Option<(UtcDay, [u8; 32])>> = const { Cell::new(None) };
}

/// Returns the salt of a day if this isolate knows it.
pub(crate) fn known(day: UtcDay) -> Option<[u8; 32]> {
    KNOWN.get().filter(|(of, _)| *of == day).map(|(_, salt)| salt)
}

/// Asks for the salt of a day.
///
/// # Errors
/// If the object fails or does not respond in time.
pub(crate) async fn fetch(salts: &ObjectNamespace, day: UtcDay) -> Result<[u8; 32], RpcError> {
    let message = json::to_string(&SaltRequest { day })?;
    let reply = durable_rpc::timeout(TIMEOUT_MS, durable_rpc::call(salts, NAME, &message)).await?;
    let bytes = STANDARD.decode(reply).ok().and_then(|bytes| bytes.try_into().ok());
    let salt = bytes.ok_or(RpcError::UnexpectedReply)?;
    KNOWN.set(Some((day, salt)));
    Ok(salt)
}
