//! Authentication of a call by its grant, behind an edge.

use shared::grant::{Grant, GrantError};
use shared::headers;
use shared::route::ToolCall;

use super::refused_grant::Refused;
use super::wait::{Awaited, VerifiedGrant};
use crate::call::Record;
use crate::outage;
use crate::state::{EdgeMode, State};
use direct::replay::{FirstUse, StoredUse};
use transport::hooks::Limit;
use transport::request_head::RawHead;

/// The next step for a call with a valid grant.
pub(super) enum GrantStep {
    /// It may be forwarded.
    Verified(Grant),
    /// The store of used grants is to say whether it is the first use.
    Wait(Awaited),
}

/// Verifies the grant of a call, which must be for this data center and unused. Writes the request
/// id and the proof for the edge to `record`.
///
/// # Errors
/// Returns what is wrong with the grant, or `tool-overloaded` if the replay cache is full.
pub(super) fn verify(
    state: &State,
    edge: &EdgeMode,
    record: &mut Record,
    raw: &RawHead<'_>,
    (call, path_and_query): (&ToolCall<'_>, &str),
    data_center: &str,
) -> Result<GrantStep, Refused> {
    let text = raw.only(headers::GRANT)?.ok_or(GrantError::Missing)?;
    let now = record.started.time;
    let keys = &edge.config.load().keys;
    let verified = Grant::verify(text, call, path_and_query, data_center, keys, now)?;
    // The grant is verified first, so that strangers cost the store nothing.
    match &edge.used_grants {
        Some(used) => {
            let stored = used.record(data_center, verified.0.request_id);
            Ok(GrantStep::Wait(Awaited::Store(verified, Box::pin(stored))))
        }
        None => use_once(state, edge, record, verified, StoredUse::Unknown).map(GrantStep::Verified),
    }
}

/// Uses a valid grant. Writes the request id and the proof for the edge to `record`.
///
/// # Errors
/// Returns that it was used before, or `tool-overloaded` if the replay cache is full.
pub(super) fn use_once(
    state: &State,
    edge: &EdgeMode,
    record: &mut Record,
    (grant, proof): VerifiedGrant,
    stored: StoredUse,
) -> Result<Grant, Refused> {
    let mut accept = || {
        record.log.request_id = grant.request_id;
        record.log.proof = Some(proof);
    };
    match edge.replay.first_use(&grant, stored, record.started.time) {
        FirstUse::Yes => {
            accept();
            Ok(grant)
        }
        FirstUse::No => Err(GrantError::Replayed.into()),
        FirstUse::Forgotten => Err(GrantError::Forgotten.into()),
        // Fail closed: a request that is not in the cache could be replayed.
        FirstUse::Unknown => {
            accept();
            let detail = "this origin accepts no more calls within this minute";
            Err(outage::full(state, Limit::ReplayCapacity, detail).into())
        }
    }
}
