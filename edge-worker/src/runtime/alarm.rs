//! Alarms of the objects.

use shared::time::UnixMillis;
use worker::{Response, Result, ScheduledTime, State as ObjectState, js_sys};

use crate::runtime::{clock, log};

/// Ends a run of an alarm: sets the next one, or after a failure one that tries again after `retry_ms`
/// milliseconds. Logs the event `failed`, and `not_set` if no alarm can be set.
///
/// # Errors
/// Never returns the error of the run: the platform gives up on an alarm that fails, and its work
/// would stay undone.
pub(crate) async fn end(
    object: &ObjectState,
    ran: Result<Option<UnixMillis>>,
    retry_ms: u64,
    [failed, not_set]: [log::Event; 2],
) -> Result<Response> {
    let next = ran.unwrap_or_else(|error| {
        log::error(failed, None, &[("error", &error)]);
        Some(clock::now().plus(retry_ms))
    });
    if let Some(next) = next
        && let Err(error) = set(object, next).await
    {
        log::error(not_set, None, &[("error", &error)]);
    }
    Response::empty()
}

/// Sets the alarm for a moment, unless it is set for an earlier one.
///
/// # Errors
/// If the runtime fails to.
pub(crate) async fn ensure(object: &ObjectState, at: UnixMillis) -> Result<()> {
    let armed = object.storage().get_alarm().await?.and_then(|armed| u64::try_from(armed).ok());
    if armed.is_some_and(|armed| armed <= at.0) {
        return Ok(());
    }
    set(object, at).await
}

/// Sets the alarm for a moment.
///
/// # Errors
/// If the runtime fails to.
pub(crate) async fn set(object: &ObjectState, at: UnixMillis) -> Result<()> {
    // Not an integer: that is an offset, and its clock may have gone on by a millisecond.
    let moment = js_sys::Date::new(&(at.0 as f64).into());
    object.storage().set_alarm(ScheduledTime::new(moment)).await
}
