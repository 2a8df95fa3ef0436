//! A call that comes through the edge: its grant says whose it is.

use shared::{
    grant::{Grant, GrantFault},
    headers,
    problem::Problem,
    route::ToolCall,
    secret::MacKeys,
    time::UnixMillis,
};

use crate::{metrics::Bound, phases::fail, replay::FirstUse, state::State, wire::WireHead};

/// The grant of a call, good for this place and unused until now.
pub(super) fn verify(
    state: &State,
    now: UnixMillis,
    wire: &WireHead<'_>,
    call: &ToolCall<'_>,
    place: &str,
    keys: &MacKeys,
) -> Result<Grant, Problem> {
    let text = wire.only(headers::GRANT)?.ok_or(GrantFault::Missing)?;
    let grant = Grant::verify(text, call, wire.target, place, keys, now)?;
    match state.replay.first_use(&grant, now) {
        FirstUse::Yes => Ok(grant),
        FirstUse::No => Err(GrantFault::Replayed.into()),
        // Fails closed: a request that cannot be remembered could be made again.
        FirstUse::Unknown => {
            Err(fail::full(state, Bound::ReplayCapacity, "this origin takes no more calls within the minute"))
        }
    }
}
