//! Messages of lease caches outside of the edge, passed on to the meters of their keys.

use shared::meter::{BulkReply, HolderAsk, MeterFailure, Reply};

use super::rpc;
use crate::context::RequestContext;
use crate::gateway::key_store;
use crate::runtime::durable_rpc::RpcError;

/// Passes an ask on to its meter, within the time that a caller waits for it. A failure is logged.
pub(crate) async fn relay(context: &RequestContext<'_>, ask: &HolderAsk) -> BulkReply {
    match exchange(context, ask).await {
        Ok(Some(reply)) => reply.into(),
        // What KV said was logged.
        Ok(None) => BulkReply::Error(MeterFailure::Unavailable),
        Err(error) => {
            rpc::log_failure(context.request.id, Err(error));
            BulkReply::Error(MeterFailure::Unavailable)
        }
    }
}

/// Asks the meter first, because it nearly always knows the key. KV is read if it does not. Returns
/// `None` if neither knows the key, because KV failed: that is no reason to refuse it.
async fn exchange(context: &RequestContext<'_>, ask: &HolderAsk) -> Result<Option<Reply>, RpcError> {
    let name = ask.id().to_string();
    let reply = rpc::call(context, &name, &ask.unread()).await?;
    if !reply.refuses_as_invalid() {
        return Ok(Some(reply));
    }
    let read = key_store::find(&context.bindings.keys, &ask.id(), context.request.id).await;
    let is_read = read.is_ok();
    let reply = rpc::call(context, &name, &ask.with_record(read.ok().flatten())).await?;
    Ok(Some(reply).filter(|reply| is_read || !reply.refuses_as_invalid()))
}
