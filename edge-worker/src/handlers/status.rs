//! `GET /v1/status`.

use shared::{origin::Failure, problem::Problem, written::Written};

use crate::{edge::Edge, origin};

/// Which tools are available, as the first origin that answers sees it.
///
/// # Errors
/// `tool-unavailable` when none does: then nothing is known.
pub(crate) async fn tools(edge: &Edge<'_>) -> Result<Written, Problem> {
    let report = origin::status(edge).await.ok_or_else(|| Failure::Refused.problem())?;
    Ok(Written::json(report.to_json()))
}
