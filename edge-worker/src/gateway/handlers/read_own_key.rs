//! Reads of a key's holder, free of charge: the state of its meter (`GET /v1/keys/me`), its past calls
//! (`/v1/usage`) and the log of its last ones (`/v1/usage/calls`).

use portal::endpoint::Endpoint;
use shared::json;
use shared::keys_api::{CallsRequest, HistoryRequest, describe_own};
use shared::response::Response;
use shared::route::KeysEndpoint;

use crate::caller::{Answer, Caller};
use crate::context::RequestContext;
use crate::gateway::authenticate::authenticate;
use crate::gateway::meter_client::{self, SnapshotPart, with_quota};
use crate::gateway::{key_record, key_store};
use crate::runtime::clock;

/// `GET /v1/keys/me`
pub(crate) async fn handle(context: &RequestContext<'_>) -> Answer {
    let key = authenticate(context)?;
    let caller = Caller::of(&key);
    let snapshot = caller.check(meter_client::read(context, &key, SnapshotPart::State).await)?;
    let usage = describe_own(&snapshot, &key, clock::now()).ok_or_else(key_store::unavailable);
    let response = usage.map(|usage| {
        let body = json::to_string(&usage).unwrap_or_default();
        with_quota(Response::json(body), &snapshot.response)
    });
    caller.with_tier(snapshot.record.as_ref()).answer(response)
}

/// `GET /v1/usage`
pub(crate) async fn history(context: &RequestContext<'_>, query: Option<&str>) -> Answer {
    let key = authenticate(context)?;
    let request = Caller::of(&key).check(HistoryRequest::read(query))?;
    let since = request.since_kept(clock::now());
    let (part, endpoint) = (SnapshotPart::Hours { since }, Endpoint::Keys(KeysEndpoint::ReadHistory));
    let found = key_record::read_with(context, &key, part, endpoint).await?;
    Ok(found.map(|(_, snapshot)| with_quota(request.response(&snapshot, clock::now()), &snapshot.response)))
}

/// `GET /v1/usage/calls`
pub(crate) async fn calls(context: &RequestContext<'_>, query: Option<&str>) -> Answer {
    let key = authenticate(context)?;
    let request = Caller::of(&key).check(CallsRequest::read(query))?;
    let part = SnapshotPart::Calls(request.filter());
    let found = key_record::read_with(context, &key, part, Endpoint::Keys(KeysEndpoint::ReadCalls)).await?;
    Ok(found.map(|(_, snapshot)| {
        with_quota(request.response(&snapshot.calls.unwrap_or_default()), &snapshot.response)
    }))
}
