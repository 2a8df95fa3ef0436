//! `GET /v1/keys/me`: the meter's own state, free of charge.

use shared::{key::describe_usage, problem::Problem, quota::Standing, written::Written};

use crate::{authenticate::authenticate, clock, edge::Edge, key_store, log::Line, meter};

pub(crate) async fn handle(edge: &Edge<'_>, line: &mut Line) -> Result<Written, Problem> {
    let key = authenticate(&edge.head, &edge.address, edge.bindings)?;
    line.key_id = Some(key.id);
    let reading = meter::read(edge, &key).await?;
    line.tier = reading.record.as_ref().map(|record| record.tier);
    let usage = describe_usage(&reading, clock::now()).ok_or_else(key_store::unavailable)?;
    let headers = reading.answer.standing.as_ref().map(Standing::headers);
    Ok(Written::json(usage.to_string()).with_headers(headers.into_iter().flatten()))
}
