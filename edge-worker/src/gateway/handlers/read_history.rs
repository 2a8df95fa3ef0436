//! `GET /v1/usage`: the past calls of a key, free of charge.

use portal::endpoint::Endpoint;
use shared::keys_api::HistoryRequest;
use shared::problem::Problem;
use shared::response::Response;
use shared::route::KeysEndpoint;

use crate::access_log::AccessRecord;
use crate::context::RequestContext;
use crate::gateway::authenticate::authenticate;
use crate::gateway::key_record;
use crate::gateway::meter_client::{SnapshotPart, with_quota};
use crate::runtime::clock;
use crate::runtime::outline::{boxed, outlined};

pub(crate) async fn handle(
    context: &RequestContext<'_>,
    query: Option<&str>,
    access: &mut AccessRecord,
) -> Result<Response, Problem> {
    let key = outlined(|| authenticate(context))?;
    access.record_key(&key);
    let request = outlined(|| HistoryRequest::read(query))?;
    let since = request.since_kept(clock::now());
    let part = SnapshotPart::Hours { since };
    let (_, snapshot) =
        boxed(key_record::read_with(context, &key, part, Endpoint::Keys(KeysEndpoint::ReadHistory), access))
            .await?;
    let response = outlined(|| request.response(&snapshot, clock::now()));
    Ok(with_quota(response, &snapshot.response))
}
