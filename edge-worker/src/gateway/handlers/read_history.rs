//! `GET /v1/usage`: the past calls of a key, free of charge.

use shared::keys_api::HistoryRequest;
use shared::problem::Problem;
use shared::response::Response;

use crate::access_log::AccessRecord;
use crate::context::RequestContext;
use crate::gateway::authenticate::authenticate;
use crate::gateway::meter_client::{self, SnapshotPart};
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
    let snapshot = boxed(meter_client::read(context, &key, SnapshotPart::Hours { since })).await?;
    access.tier = snapshot.record.as_ref().map(|record| record.tier);
    let response = outlined(|| request.response(&snapshot, clock::now()));
    Ok(meter_client::with_quota(response, &snapshot.response))
}
