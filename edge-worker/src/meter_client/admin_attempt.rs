//! Attempts with the admin secret, counted by a meter for each client address.

use shared::{
    meter::{Attempt, Message, Reply},
    problem::Problem,
    quota::Decision,
};

use super::rpc;
use crate::context::RequestContext;

/// Records an attempt from a client. Returns the decision of its meter.
///
/// # Errors
/// `meter-unavailable`: an attempt that cannot be counted must be refused.
pub(crate) async fn record_attempt(
    context: &RequestContext<'_>,
    caller: &str,
    attempt: Attempt,
) -> Result<Decision, Problem> {
    match rpc::call(context, caller, &Message::Attempt(attempt)).await {
        Ok(Reply::Attempt(decision)) => Ok(decision),
        other => Err(rpc::unavailable(context, other)),
    }
}
