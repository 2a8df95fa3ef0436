//! The record of the caller's key, for calls that need a scope and that no quota counts.

use portal::endpoint::Endpoint;
use shared::key::{KeyRecord, SecretId, VerifiedKey};
use shared::meter::MeterSnapshot;
use shared::problem::Problem;

use crate::access_log::AccessRecord;
use crate::context::RequestContext;
use crate::gateway::authenticate::authenticate;
use crate::gateway::key_store;
use crate::gateway::meter_client::{self, SnapshotPart};

/// Authenticates the request for what an endpoint requires. Returns the record of its key, which the access
/// log gets to know.
///
/// # Errors
/// Those of the key, `scope-missing`, `meter-unavailable`, or `key-store-unavailable`.
pub(crate) async fn read(
    context: &RequestContext<'_>,
    endpoint: Endpoint,
    access: &mut AccessRecord,
) -> Result<KeyRecord, Problem> {
    Ok(read_caller(context, endpoint, access).await?.0)
}

/// Reads the record as [`read`]. Returns it with the id of the secret that the caller has of the key.
///
/// # Errors
/// As [`read`].
pub(crate) async fn read_caller(
    context: &RequestContext<'_>,
    endpoint: Endpoint,
    access: &mut AccessRecord,
) -> Result<(KeyRecord, Option<SecretId>), Problem> {
    let key = authenticate(context)?;
    access.record_key(&key);
    let (record, _) = read_with(context, &key, SnapshotPart::State, endpoint, access).await?;
    let secret = record.secret_id(&key);
    Ok((record, secret))
}

/// Reads the record of a verified key, with a part of its meter's snapshot, for what an endpoint requires. The access
/// log gets to know the record.
///
/// # Errors
/// As [`read`].
pub(crate) async fn read_with(
    context: &RequestContext<'_>,
    key: &VerifiedKey,
    part: SnapshotPart<'_>,
    endpoint: Endpoint,
    access: &mut AccessRecord,
) -> Result<(KeyRecord, MeterSnapshot), Problem> {
    let mut snapshot = meter_client::read(context, key, part).await?;
    let record = snapshot.record.take().ok_or_else(key_store::unavailable)?;
    access.record_tier(Some(record.tier));
    access.record_secret(record.secret_id(key));
    // Last, so that the access log says who was refused.
    record.permit(key, endpoint.requires().scope(), context.request.now)?;
    Ok((record, snapshot))
}
