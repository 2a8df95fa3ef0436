//! `GET /v1/keys/me`: the meter's own state, free of charge.

use shared::{keys_api::describe_usage, problem::Problem, quota::QuotaStatus, response::Response};

use crate::{authenticate::authenticate, clock, context::RequestContext, key_store, log::Line, meter_client};

pub(crate) async fn handle(context: &RequestContext<'_>, line: &mut Line) -> Result<Response, Problem> {
    let key = authenticate(&context.head, &context.address, context.bindings)?;
    line.key_id = Some(key.id);
    let reading = meter_client::read(context, &key).await?;
    line.tier = reading.record.as_ref().map(|record| record.tier);
    let usage = describe_usage(&reading, clock::now()).ok_or_else(key_store::unavailable)?;
    let headers = reading.response.quota.as_ref().map(QuotaStatus::headers);
    Ok(Response::json(usage.to_string()).with_headers(headers.into_iter().flatten()))
}
