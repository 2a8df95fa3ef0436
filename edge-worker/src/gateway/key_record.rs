//! The record of the caller's key, for calls that need a scope and that no quota counts.

use portal::endpoint::Endpoint;
use shared::key::{KeyRecord, VerifiedKey};
use shared::meter::MeterSnapshot;
use shared::problem::Problem;

use crate::caller::{Answer, Caller, Found};
use crate::context::RequestContext;
use crate::gateway::authenticate::authenticate;
use crate::gateway::key_store;
use crate::gateway::meter_client::{self, SnapshotPart};

/// Authenticates the request for what an endpoint requires. Returns the record of its key.
///
/// # Errors
/// Those of the key, `scope-missing`, `meter-unavailable`, or `key-store-unavailable`.
pub(crate) async fn read(context: &RequestContext<'_>, endpoint: Endpoint) -> Answer<KeyRecord> {
    let key = authenticate(context)?;
    let found = read_with(context, &key, SnapshotPart::State, endpoint).await?;
    Ok(found.map(|(record, _)| record))
}

/// Reads the record of a verified key, with a part of its meter's snapshot, for what an endpoint requires.
///
/// # Errors
/// As [`read`].
pub(crate) async fn read_with(
    context: &RequestContext<'_>,
    key: &VerifiedKey,
    part: SnapshotPart<'_>,
    endpoint: Endpoint,
) -> Answer<(KeyRecord, MeterSnapshot)> {
    let caller = Caller::of(key);
    let mut snapshot = caller.check(meter_client::read(context, key, part).await)?;
    let record = caller.check(snapshot.record.take().ok_or_else(key_store::unavailable))?;
    let caller = caller.with_record(&record, key);
    // Last, so that the access log says who was refused.
    let permitted = record.permit(key, endpoint.requires().scope(), context.request.now);
    caller.check(permitted.map_err(Problem::from))?;
    Ok(Found { value: (record, snapshot), caller })
}
