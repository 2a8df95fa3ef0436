//! What the holder of a key reads, free of charge: the state of its meter (`GET /v1/keys/me`), its past calls
//! (`/v1/usage`) and the log of its last ones (`/v1/usage/calls`).

use portal::endpoint::Endpoint;
use shared::json;
use shared::keys_api::{CallsRequest, HistoryRequest, describe_own};
use shared::problem::Problem;
use shared::response::Response;
use shared::route::KeysEndpoint;

use crate::access_log::AccessRecord;
use crate::context::RequestContext;
use crate::gateway::authenticate::authenticate;
use crate::gateway::meter_client::{self, SnapshotPart, with_quota};
use crate::gateway::{key_record, key_store};
use crate::runtime::clock;

/// `GET /v1/keys/me`
pub(crate) async fn handle(
    context: &RequestContext<'_>,
    access: &mut AccessRecord,
) -> Result<Response, Problem> {
    let key = authenticate(context)?;
    access.record_key(&key);
    let snapshot = meter_client::read(context, &key, SnapshotPart::State).await?;
    access.record_tier(snapshot.record.as_ref().map(|record| record.tier));
    let usage = describe_own(&snapshot, &key, clock::now()).ok_or_else(key_store::unavailable)?;
    let body = json::to_string(&usage).unwrap_or_default();
    Ok(with_quota(Response::json(body), &snapshot.response))
}

/// `GET /v1/usage`
pub(crate) async fn history(
    context: &RequestContext<'_>,
    query: Option<&str>,
    access: &mut AccessRecord,
) -> Result<Response, Problem> {
    let key = authenticate(context)?;
    access.record_key(&key);
    let request = HistoryRequest::read(query)?;
    let since = request.since_kept(clock::now());
    let part = SnapshotPart::Hours { since };
    let (_, snapshot) =
        key_record::read_with(context, &key, part, Endpoint::Keys(KeysEndpoint::ReadHistory), access).await?;
    let response = request.response(&snapshot, clock::now());
    Ok(with_quota(response, &snapshot.response))
}

/// `GET /v1/usage/calls`
pub(crate) async fn calls(
    context: &RequestContext<'_>,
    query: Option<&str>,
    access: &mut AccessRecord,
) -> Result<Response, Problem> {
    let key = authenticate(context)?;
    access.record_key(&key);
    let request = CallsRequest::read(query)?;
    let part = SnapshotPart::Calls(request.filter());
    let (_, snapshot) =
        key_record::read_with(context, &key, part, Endpoint::Keys(KeysEndpoint::ReadCalls), access).await?;
    let response = request.response(&snapshot.calls.unwrap_or_default());
    Ok(with_quota(response, &snapshot.response))
}
