//! `GET /v1/usage/calls`: the log of a key's last calls, free of charge.

use shared::key::Scope;
use shared::keys_api::CallsRequest;
use shared::problem::Problem;
use shared::quota::QuotaStatus;
use shared::response::Response;

use crate::access_log::AccessRecord;
use crate::context::RequestContext;
use crate::gateway::authenticate::authenticate;
use crate::gateway::key_store;
use crate::gateway::meter_client::{self, SnapshotPart};
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
    let snapshot = boxed(meter_client::read(context, &key, part)).await?;
    let record = snapshot.record.as_ref().ok_or_else(key_store::unavailable)?;
    access.tier = Some(record.tier);
    access.secret_id = record.secret_id(&key);
    record.permit(&key, Some(Scope::Keys), context.request.now)?;
    let headers = snapshot.response.quota.as_ref().map(QuotaStatus::headers);
    let page = snapshot.calls.unwrap_or_default();
    let response = outlined(|| request.response(&page));
    Ok(response.with_headers(headers.into_iter().flatten()))
}
