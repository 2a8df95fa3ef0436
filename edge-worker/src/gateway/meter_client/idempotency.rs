//! The progress of issuing a key, kept by a meter for each `Idempotency-Key`.

use shared::idempotency::{IssueStep, IssueTurn};
use shared::meter::{Message, Reply};
use shared::problem::Problem;

use super::rpc;
use crate::context::RequestContext;

/// Records a step of issuing a key with the meter of this name. Returns how to proceed.
///
/// # Errors
/// `meter-unavailable`.
pub(crate) async fn issue(
    context: &RequestContext<'_>,
    name: &str,
    step: IssueStep,
) -> Result<IssueTurn, Problem> {
    match rpc::call(context, name, &Message::Issue(step)).await {
        Ok(Reply::Issue(turn)) => Ok(turn),
        other => Err(rpc::unavailable(context, other)),
    }
}
