//! The sessions of the console, which the meter of their key has.

use shared::key::{FreeCall, KeyId};
use shared::meter::{Message, Reply, Session, SessionStep};
use shared::problem::Problem;

use super::{free_calls, rpc};
use crate::context::RequestContext;

/// Changes or reads the sessions of a key. Returns those that have not ended.
///
/// # Errors
/// `too-many-requests`, `meter-unavailable`, or `key-missing` if the session that asks has ended.
pub(crate) async fn step_sessions(
    context: &RequestContext<'_>,
    key: &KeyId,
    step: SessionStep,
) -> Result<Vec<Session>, Problem> {
    if step != SessionStep::List {
        free_calls::record(key, FreeCall::Change)?;
    }
    match rpc::call(context, &key.to_string(), &Message::Session(step)).await {
        Ok(Reply::Sessions(sessions)) => Ok(sessions),
        other => Err(rpc::unavailable(context, other)),
    }
}
