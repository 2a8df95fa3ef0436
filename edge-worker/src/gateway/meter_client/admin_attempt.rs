//! Attempts with the admin secret, counted in the isolate, and by a meter for each client address.

use std::cell::RefCell;

use shared::caller::{self, AttemptGuard, GuardStep};
use shared::meter::{AdminAttempt, Message, Reply};
use shared::problem::Problem;

use super::rpc;
use crate::context::RequestContext;
use crate::runtime::clock;

thread_local! {
    static GUARD: RefCell<AttemptGuard> = const { RefCell::new(AttemptGuard::new()) };
}

/// Decides on an admin secret from a client at this address, `right` or wrong: in this isolate, and
/// unless it decides alone, by the meter of the address.
///
/// # Errors
/// `admin-secret-invalid`, `attempts-exceeded`, or `meter-unavailable`: an attempt that cannot be
/// counted must be refused.
pub(crate) async fn admit_attempt(
    context: &RequestContext<'_>,
    address: Option<&str>,
    right: bool,
) -> Result<(), Problem> {
    let keys = &context.bindings.signing;
    let (caller, network) = (caller::name(address, keys), caller::network_bucket(address, "attempts", keys));
    match GUARD.with_borrow_mut(|guard| guard.attempt(&caller, network, right, clock::now()))? {
        // A flood of attempts must not reach the objects, each of which costs money.
        GuardStep::Decided => caller::compared(right),
        GuardStep::AskMeter => {
            let attempt = if right { AdminAttempt::Right } else { AdminAttempt::Wrong };
            match rpc::call(context, &caller, &Message::Attempt(attempt)).await {
                Ok(Reply::Attempt(decision)) => {
                    // So that an address that is locked out is refused here for as long, without
                    // the object.
                    GUARD.with_borrow_mut(|guard| guard.record(&caller, &decision, clock::now()));
                    caller::admitted(&decision, right)
                }
                other => Err(rpc::unavailable(context, other)),
            }
        }
    }
}
