//! Attempts with the admin secret, counted by a meter for each client address.

use std::cell::RefCell;

use shared::{
    caller::RefusedCallers,
    meter::{Attempt, Message, Reply},
    problem::Problem,
    quota::Decision,
};

use super::rpc;
use crate::{clock, context::RequestContext};

thread_local! {
    static REFUSED: RefCell<RefusedCallers> = const { RefCell::new(RefusedCallers::new()) };
}

/// Records an attempt from a client. Returns the decision of its meter, or the denial that this
/// isolate had from it and that still holds.
///
/// # Errors
/// `meter-unavailable`: an attempt that cannot be counted must be refused.
pub(crate) async fn record_attempt(
    context: &RequestContext<'_>,
    caller: &str,
    attempt: Attempt,
) -> Result<Decision, Problem> {
    if let Some(denied) = REFUSED.with_borrow(|callers| callers.find(caller, clock::now())) {
        return Ok(denied);
    }
    match rpc::call(context, caller, &Message::Attempt(attempt)).await {
        Ok(Reply::Attempt(decision)) => {
            REFUSED.with_borrow_mut(|callers| callers.record(caller, &decision, clock::now()));
            Ok(decision)
        }
        other => Err(rpc::unavailable(context, other)),
    }
}
