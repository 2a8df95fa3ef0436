//! A call that comes through the edge: its grant says whose it is.

use shared::{
    grant::{Grant, GrantError},
    headers,
    problem::Problem,
    route::ToolCall,
    secret::MacKeys,
};

use crate::{call::Record, observe::metrics::Bound, phases::outage, replay::FirstUse, state::State};
use transport::wire::WireHead;

/// Verifies the grant of a call, which must be for this data center and unused. Notes in `record` the request's id and what
/// proves to the edge that the response is ours.
pub(super) fn verify(
    state: &State,
    record: &mut Record,
    wire: &WireHead<'_>,
    call: &ToolCall<'_>,
    place: &str,
    keys: &MacKeys,
) -> Result<Grant, Problem> {
    let text = wire.only(headers::GRANT)?.ok_or(GrantError::Missing)?;
    let now = record.started.time;
    let (grant, proof) = Grant::verify(text, call, wire.target, place, keys, now)?;
    let mut accept = || {
        record.log.request_id = grant.request_id;
        record.log.proof = Some(proof);
    };
    match state.replay.first_use(&grant, now) {
        FirstUse::Yes => {
            accept();
            Ok(grant)
        }
        FirstUse::No => Err(GrantError::Replayed.into()),
        // Fails closed: a request that cannot be remembered could be made again.
        FirstUse::Unknown => {
            accept();
            Err(outage::full(
                state,
                Bound::ReplayCapacity,
                "this origin takes no more calls within the minute",
            ))
        }
    }
}
