//! `GET /v1/usage/calls`: the log of a key's last calls, free of charge.

use portal::endpoint::Endpoint;
use shared::keys_api::CallsRequest;
use shared::problem::Problem;
use shared::response::Response;
use shared::route::KeysEndpoint;

use crate::access_log::AccessRecord;
use crate::context::RequestContext;
use crate::gateway::authenticate::authenticate;
use crate::gateway::key_record;
use crate::gateway::meter_client::{SnapshotPart, with_quota};
use crate::runtime::outline::{boxed, outlined};

pub(crate) async fn handle(
    context: &RequestContext<'_>,
    query: Option<&str>,
    access: &mut AccessRecord,
) -> Result<Response, Problem> {
    let key = outlined(|| authenticate(context))?;
    access.record_key(&key);
    let request = outlined(|| CallsRequest::read(query))?;
    let part = SnapshotPart::Calls(request.filter());
    let (_, snapshot) =
        boxed(key_record::read_with(context, &key, part, Endpoint::Keys(KeysEndpoint::ReadCalls), access))
            .await?;
    let response = outlined(|| request.response(&snapshot.calls.unwrap_or_default()));
    Ok(with_quota(response, &snapshot.response))
}
